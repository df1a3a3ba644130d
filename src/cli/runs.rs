//! `archi3d run list`: the runs of a workspace at a glance.

use clap::Args;

use crate::cli::Global;
use crate::cli::error::{CliError, Exit};
use crate::cli::table::{Fitted, Page};
use crate::cli::ui::Ui;
use archi3d_core::domain::job::Status;
use archi3d_core::domain::text::{counted, one_line};
use archi3d_core::ops::names::{RunLine, runs};

/// The options of `run list`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  archi3d run list
  archi3d run list --json | jq -r '.runs[].run_id'

The counts are those of the registry, and of the fleet where a run lives in one; `archi3d run
status ID` looks closer.")]
pub struct ListArgs {}

/// Reads the registry and prints its runs.
pub fn run(global: &Global, ui: &Ui) -> Result<Exit, CliError> {
    let context = global.context()?;
    let (runs, troubles) = runs(&context)?;
    for trouble in troubles {
        ui.warn(&trouble);
    }
    if ui.is_json() {
        ui.list("runs", &runs)?;
    } else {
        ui.data(&to_text(&runs, Page::of_terminal()))?;
    }
    Ok(Exit::Done)
}

fn to_text(runs: &[RunLine], page: Page) -> String {
    if runs.is_empty() {
        return "no runs yet; `archi3d batch create` makes one".to_owned();
    }
    let mut header = vec!["run", "created", "jobs"];
    let some_rehearsed = runs.iter().any(|line| line.rehearsed > 0);
    for status in Status::ALL {
        if status == Status::Completed {
            let word = if some_rehearsed {
                "made"
            } else {
                status.word()
            };
            header.extend([word, "rehearsed"]);
        } else {
            header.push(status.word());
        }
    }
    header.push("remark");
    let columns = header.len();
    let mut table = Fitted::new(header)
        .cut(&[0, columns - 1])
        .right(2..columns - 1);
    let shown = |count: usize| match count {
        0 => String::new(),
        count => count.to_string(),
    };
    let mut zone = None;
    // What was made last stands last, and is the run that is meant where none is named.
    let mut runs: Vec<&RunLine> = runs.iter().collect();
    runs.sort_by_key(|line| (line.jobs > 0, line.created));
    for line in runs {
        zone = line.created.or(zone);
        let created = line.created.map(|at| page.zone.minute(at));
        let mut cells = vec![
            one_line(&line.run),
            created.unwrap_or_default(),
            line.jobs.to_string(),
        ];
        for status in Status::ALL {
            let count = line.counts[status as usize];
            if status == Status::Completed {
                cells.push(shown(count.saturating_sub(line.rehearsed)));
                cells.push(shown(line.rehearsed));
            } else {
                cells.push(shown(count));
            }
        }
        cells.push(remark(line));
        table.row(cells);
    }
    table.drop_empty();
    let mut lines = table.lines(page);
    lines.extend(zone.map(|at| format!("times in {}", page.zone.name(at))));
    lines.join("\n")
}

fn remark(line: &RunLine) -> String {
    let mut words = Vec::new();
    if line.other > 0 {
        let rows = counted(line.other, "row");
        words.push(format!("{rows} with an unknown status"));
    }
    if !line.has_manifest {
        words.push("no manifest under runs/".to_owned());
    } else if line.jobs == 0 {
        words.push("no rows".to_owned());
    }
    match (&line.fleet, line.as_pulled) {
        (Some(_), true) => words.push("in a fleet, as pulled last".to_owned()),
        (Some(_), false) => words.push("in a fleet".to_owned()),
        (None, _) => {}
    }
    words.join(", ")
}
