//! `archi3d run list`: the runs of a workspace at a glance.

use clap::Args;
use serde_json::{Map, Value, json};

use crate::cli::Global;
use crate::cli::error::{CliError, Exit};
use crate::cli::table::{lines_of, right, straight_table};
use crate::cli::ui::Ui;
use crate::domain::job::Status;
use crate::domain::text::{counted, one_line};
use crate::ops::OpsContext;
use crate::ops::names::{RunLine, runs};

/// The options of `run list`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  archi3d run list
  archi3d run list --json | jq -r '.runs[].run_id'

The counts are those of the registry; `archi3d run status --run-id ID` looks closer.")]
pub struct ListArgs {}

/// Reads the registry and prints its runs.
pub fn run(global: &Global, ui: &Ui) -> Result<Exit, CliError> {
    let context = OpsContext::open(global.workspace.as_deref())?;
    let runs = runs(&context)?;
    if ui.is_json() {
        let runs: Vec<Value> = runs.iter().map(to_json).collect();
        ui.data_json(&json!({ "runs": runs }))?;
    } else {
        ui.data(&to_text(&runs))?;
    }
    Ok(Exit::Done)
}

fn to_json(line: &RunLine) -> Value {
    let counts: Map<String, Value> = Status::ALL
        .iter()
        .map(|status| (status.to_string(), json!(line.counts[*status as usize])))
        .collect();
    json!({
        "run_id": line.run,
        "jobs": line.jobs(),
        "counts": counts,
        "other_status": line.other,
        "has_manifest": line.has_manifest,
    })
}

fn to_text(runs: &[RunLine]) -> String {
    if runs.is_empty() {
        return "no runs yet; `archi3d batch create` makes one".to_owned();
    }
    let mut table = straight_table();
    let mut header = vec!["run".to_owned(), "jobs".to_owned()];
    header.extend(Status::ALL.iter().map(ToString::to_string));
    header.push(String::new());
    table.set_header(header);
    for line in runs {
        let mut cells = vec![one_line(&line.run), line.jobs().to_string()];
        cells.extend(line.counts.iter().map(|count| match count {
            0 => String::new(),
            count => count.to_string(),
        }));
        cells.push(remark(line));
        table.add_row(cells);
    }
    right(&mut table, 1..2 + Status::ALL.len());
    lines_of(&table).trim_end().to_owned()
}

fn remark(line: &RunLine) -> String {
    let mut words = Vec::new();
    if line.other > 0 {
        let rows = counted(line.other, "row");
        words.push(format!("{rows} with a status that is not ours"));
    }
    if !line.has_manifest {
        words.push("no manifest under runs/".to_owned());
    } else if line.jobs() == 0 {
        words.push("no rows".to_owned());
    }
    words.join(", ")
}
