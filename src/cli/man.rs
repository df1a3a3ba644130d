//! `archi3d man`: manual pages made from the same definitions as `--help`.

use std::path::{Path, PathBuf};

use clap::{Args, CommandFactory};
use clap_mangen::Man;

use crate::cli::Cli;
use crate::cli::error::{CliError, ErrorKind, Exit};
use crate::cli::ui::Ui;

/// The options of `man`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  archi3d man | man -l -
      read the page of the whole program
  archi3d man ~/.local/share/man/man1 && man archi3d-run-worker
      install a page for every command")]
pub struct ManArgs {
    /// The folder to write one page per command into [default: print the page of
    /// the whole program]
    #[arg(value_name = "DIR")]
    dir: Option<PathBuf>,
}

/// Writes or prints manual pages.
pub fn run(args: &ManArgs, ui: &Ui) -> Result<Exit, CliError> {
    let mut command = Cli::command().disable_help_subcommand(true);
    command.build();
    let Some(folder) = &args.dir else {
        let mut page = Vec::new();
        let printed = page_of(&command).render(&mut page);
        printed.map_err(|error| failed(error, Path::new("standard output")))?;
        ui.script(&String::from_utf8_lossy(&page))?;
        return Ok(Exit::Done);
    };
    let written = std::fs::create_dir_all(folder)
        .and_then(|()| write_pages(&command, folder))
        .map_err(|error| failed(error, folder))?;
    ui.say(&format!("{written} pages in {}", folder.display()));
    Ok(Exit::Done)
}

/// Writes the pages of a command and of all below it; returns how many.
fn write_pages(command: &clap::Command, folder: &Path) -> std::io::Result<usize> {
    page_of(command).generate_to(folder)?;
    let mut written = 1;
    for below in command.get_subcommands().filter(|one| !one.is_hide_set()) {
        written += write_pages(below, folder)?;
    }
    Ok(written)
}

fn page_of(command: &clap::Command) -> Man {
    let version = concat!("archi3d ", env!("CARGO_PKG_VERSION"));
    Man::new(command.clone()).source(version).manual("archi3d")
}

fn failed(error: std::io::Error, place: &Path) -> CliError {
    let context = format!("cannot write manual pages to {}", place.display());
    let source = anyhow::Error::new(error).context(context);
    CliError::new(ErrorKind::Setup, source).hint("name a folder that can be written")
}
