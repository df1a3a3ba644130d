//! `archi3d man`: manual pages made from the same definitions as `--help`.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::{Args, CommandFactory};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};

use crate::cli::Cli;
use crate::cli::error::{CliError, ErrorKind, Exit};
use crate::cli::help::EXIT_CODES;
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
    let mut command = Cli::command();
    // The options that every command understands are on the page of the program alone.
    command.build();
    let command = command.mut_subcommands(without_global);
    let Some(folder) = &args.dir else {
        let mut page = Vec::new();
        let printed = render(&command, &mut page);
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
    let man = page_of(command);
    let path = folder.join(man.get_filename());
    render(command, &mut std::fs::File::create(path)?)?;
    let mut written = 1;
    for below in command.get_subcommands().filter(|one| !one.is_hide_set()) {
        written += write_pages(below, folder)?;
    }
    Ok(written)
}

/// Writes one page: what clap knows, then examples, notes and how the program ends.
fn render(command: &clap::Command, to: &mut dyn Write) -> std::io::Result<()> {
    let man = page_of(command);
    man.render_title(to)?;
    man.render_name_section(to)?;
    man.render_synopsis_section(to)?;
    man.render_description_section(to)?;
    if command
        .get_arguments()
        .any(|argument| !argument.is_hide_set())
    {
        man.render_options_section(to)?;
    }
    if command.has_subcommands() {
        man.render_subcommands_section(to)?;
    }
    let after = command.get_after_help().map(ToString::to_string);
    let (notes, examples) = apart(after.as_deref().unwrap_or_default());
    let mut roff = Roff::new();
    section(&mut roff, "EXAMPLES", &examples);
    section(&mut roff, "NOTES", &notes);
    roff.control("SH", ["EXIT STATUS"]);
    for (code, meaning) in EXIT_CODES {
        roff.control("TP", []);
        roff.text([bold(*code)]);
        roff.text([roman(*meaning)]);
    }
    if command.get_name() != "archi3d" {
        roff.control("SH", ["SEE ALSO"]);
        roff.text([
            bold("archi3d"),
            roman("(1) has the options that every command understands."),
        ]);
    }
    roff.to_writer(to)
}

fn without_global(command: clap::Command) -> clap::Command {
    let command = command.mut_args(|argument| {
        let told_once = argument.is_global_set();
        argument.hide(told_once)
    });
    command.mut_subcommands(without_global)
}

fn section(roff: &mut Roff, name: &str, lines: &[&str]) {
    if lines.is_empty() {
        return;
    }
    roff.control("SH", [name]);
    roff.control("nf", []);
    for line in lines {
        roff.text([roman(*line)]);
    }
    roff.control("fi", []);
}

/// Takes the text below a command's help apart into notes and examples.
fn apart(text: &str) -> (Vec<&str>, Vec<&str>) {
    let (mut notes, mut examples) = (Vec::new(), Vec::new());
    let mut in_examples = false;
    for line in text.lines() {
        if line == "Examples:" {
            in_examples = true;
        } else if in_examples && (line.starts_with(' ') || line.is_empty()) {
            examples.push(line);
        } else {
            in_examples = false;
            notes.push(line);
        }
    }
    for lines in [&mut notes, &mut examples] {
        while lines.last().is_some_and(|line| line.is_empty()) {
            lines.pop();
        }
    }
    (notes, examples)
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
