//! `archi3d init`: an empty workspace.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;

use crate::cli::Global;
use crate::cli::error::{CliError, Exit};
use crate::cli::resume::quoted;
use crate::cli::ui::Ui;
use archi3d_core::ops::init::{InitReport, init};
use archi3d_core::ops::{enclosing_workspace, is_taken_by_default};

/// The options of `init`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  archi3d init chairs
  cd chairs && archi3d init

Nothing that is there is ever changed: the same command on an existing workspace adds
what it lacks.")]
pub struct InitArgs {
    /// The folder to make [default: --workspace, else the current folder]
    #[arg(value_name = "DIR")]
    dir: Option<PathBuf>,
}

/// Makes what is missing and says so.
pub fn run(args: &InitArgs, global: &Global, ui: &Ui) -> Result<Exit, CliError> {
    let given = args.dir.as_deref().or(global.workspace.as_deref());
    let report = init(given.unwrap_or(Path::new(".")))?;
    if ui.is_json() {
        ui.answer(&report)?;
    } else {
        ui.data(&to_text(&report))?;
    }
    if let Some(outer) = enclosing_workspace(&report.workspace) {
        ui.warn(&format!(
            "this workspace lies inside another one, {}: commands typed in here take the inner \
             one; if that was a mistake, delete what was made",
            outer.display()
        ));
    }
    // From elsewhere, or where something names another workspace, the command says which.
    let here = std::env::current_dir().and_then(|here| here.canonicalize());
    let is_here = here.is_ok_and(|here| here == report.workspace);
    let option = if is_here && is_taken_by_default(&report.workspace) {
        String::new()
    } else {
        let typed = given.unwrap_or(&report.workspace).display().to_string();
        format!(" --workspace {}", quoted(&typed))
    };
    ui.hint(&format!(
        "put pictures into dataset/<product>/images/, then: archi3d catalog build{option}"
    ));
    Ok(Exit::Done)
}

fn to_text(report: &InitReport) -> String {
    let mut text = format!("workspace {}", report.workspace.display());
    for (what, names) in [("made", &report.made), ("was there", &report.kept)] {
        for name in names {
            let _ = write!(text, "\n  {what:<10}{name}");
        }
    }
    text
}
