//! `archi3d run remove`: takes a run out of the workspace that has nothing to lose.

use std::fmt::Write as _;

use clap::Args;
use serde::Serialize;

use crate::cli::Global;
use crate::cli::confirm;
use crate::cli::error::{CliError, Exit};
use crate::cli::run::parse_run_id;
use crate::cli::table::dollars;
use crate::cli::ui::Ui;
use crate::cli::waiting;
use archi3d_core::domain::id::RunId;
use archi3d_core::domain::text::counted;
use archi3d_core::ops::remove::{Removal, remove_run};

/// The options of `run remove`.
#[derive(Debug, Args)]
#[command(
    after_help = "Only a run without results is removed: one whose jobs wait, failed, were cancelled or
were rehearsed. A run with a model, an open purchase or money still reserved is refused,
with the list. What was spent stays in tables/budget.jsonl.

Examples:
  archi3d run remove r2
  archi3d run remove r2 --yes"
)]
pub struct RemoveArgs {
    /// The run
    #[arg(
        value_name = "RUN",
        required_unless_present = "run_id",
        conflicts_with = "run_id"
    )]
    run: Option<String>,
    /// The run, named by an option instead of by its place
    #[arg(long, value_name = "ID", allow_hyphen_values = true)]
    run_id: Option<String>,
    /// Ask nothing: take every question as answered with yes
    #[arg(long, short = 'y')]
    yes: bool,
}

/// Removes the run and says what went.
pub fn run(args: &RemoveArgs, global: &Global, ui: &Ui) -> Result<Exit, CliError> {
    let name = args.run.as_deref().or(args.run_id.as_deref());
    let run_id = parse_run_id(name.unwrap_or_default())?;
    let context = global.context()?;
    let agrees = |removal: &Removal| {
        args.yes || confirm::can_ask(ui) && confirm::ask(&format!("{}. Remove it?", what(removal)))
    };
    let mut waiting = waiting::for_registry(ui);
    let Some(removal) = remove_run(&context, &run_id, &agrees, &mut waiting)? else {
        return Err(CliError::usage("not confirmed: nothing was removed")
            .hint("add --yes to remove it without a question"));
    };
    if ui.is_json() {
        ui.answer(&Answer {
            run_id: &removal.run_id,
            removed: true,
            rows: removal.rows,
            rehearsed: removal.rehearsed,
            failed: removal.failed,
            spent_usd: removal.spent_usd,
        })?;
    } else {
        ui.say(&format!("removed: {}", what(&removal)));
    }
    Ok(Exit::Done)
}

#[derive(Serialize)]
struct Answer<'a> {
    run_id: &'a RunId,
    removed: bool,
    rows: usize,
    rehearsed: usize,
    failed: usize,
    spent_usd: f64,
}

fn what(removal: &Removal) -> String {
    let mut text = format!("run {}, {}", removal.run_id, counted(removal.rows, "job"));
    for (count, word) in [(removal.rehearsed, "rehearsed"), (removal.failed, "failed")] {
        if count > 0 {
            let _ = write!(text, ", {count} {word}");
        }
    }
    if removal.spent_usd > 0.0 {
        let spent = dollars(removal.spent_usd);
        let _ = write!(text, " ({spent} spent stays in tables/budget.jsonl)");
    }
    text
}
