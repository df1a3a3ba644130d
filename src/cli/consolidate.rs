//! `archi3d consolidate`: the registry brought in line with what is on disk.

use std::collections::HashSet;
use std::fmt::Write as _;

use clap::Args;

use crate::cli::Global;
use crate::cli::error::{CliError, Exit};
use crate::cli::resume::quoted;
use crate::cli::run_arg::RunArg;
use crate::cli::status::{lines_of, plain_table};
use crate::cli::ui::Ui;
use crate::cli::waiting;
use crate::cli::working::while_working;
use archi3d_core::domain::filter::parse_statuses;
use archi3d_core::domain::text::{counted, one_line};
use archi3d_core::ops::OpsError;
use archi3d_core::ops::consolidate::{ConsolidateReport, ConsolidateRequest, JobNote, consolidate};

/// How many lines of one kind are shown.
const SHOWN: usize = 50;

/// The options of `consolidate`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  archi3d consolidate r1 --dry-run
      show what would change and why
  archi3d consolidate r1
      set the rows right; cells that are right keep their bytes
  archi3d consolidate r1 --strict --json
      for machines: exit 1 and nothing written if a person must decide

For each row the first that fits decides: completed without a usable model becomes
failed; marker .completed with a model means completed; .failed means failed; a fresh
.inprogress means running; anything else stays. Rows with the same key become one: the
furthest (completed, failed, running, enqueued) stays and takes over what it lacks.

A model that cannot be read is reported and its row not changed. Markers of jobs that have no
row at all are reported too: `archi3d batch create` with the same run makes the rows again,
and `archi3d consolidate` then fills them.")]
pub struct ConsolidateArgs {
    #[command(flatten)]
    run: RunArg,
    /// Show what would change and write only the log line
    #[arg(long)]
    dry_run: bool,
    /// If there is a problem that only a person can set right, write nothing and exit 1
    #[arg(long)]
    strict: bool,
    /// Only rows in one of these states, separated by commas
    #[arg(long, value_name = "LIST", allow_hyphen_values = true)]
    only_status: Option<String>,
    /// Leave every status as it is and only fill in cells
    #[arg(long)]
    no_fix_status: bool,
    /// Correct the status by markers and models; on unless --no-fix-status is given
    #[arg(long, conflicts_with = "no_fix_status")]
    fix_status: bool,
    /// Look at no more than this many rows
    #[arg(long, value_name = "N")]
    max_rows: Option<usize>,
}

/// Sets the rows right and says what changed.
pub fn run(args: &ConsolidateArgs, global: &Global, ui: &Ui) -> Result<Exit, CliError> {
    let context = global.context()?;
    let request = ConsolidateRequest {
        run_id: args.run.or_only(&context, ui)?,
        dry_run: args.dry_run,
        strict: args.strict,
        only_status: args
            .only_status
            .as_deref()
            .map(parse_statuses)
            .transpose()?,
        fix_status: !args.no_fix_status,
        max_rows: args.max_rows,
    };
    let mut waiting = waiting::for_registry(ui);
    let work = || consolidate(&context, &request, &mut waiting);
    let report = while_working(ui, "comparing rows with what is on disk", work)
        .map_err(|error| CliError::from(OpsError::from(error)))?;
    for warning in context.settings.warnings.iter().chain(&report.warnings) {
        ui.warn(warning);
    }
    if ui.is_json() {
        ui.answer(&report.told())?;
    } else {
        ui.data(&to_text(&report))?;
    }
    say_findings(&report, ui);
    if report.is_refused() {
        ui.hint("nothing was written because of --strict; set the problems right, or leave it out");
        return Ok(Exit::JobsFailed);
    }
    if report.written && report.downgraded_missing_output > 0 {
        let command = format!(
            "archi3d run worker --run-id {} --only-status failed",
            quoted(report.run_id.as_str())
        );
        ui.hint(&format!("to make lost results again: {command}"));
    }
    if report.dry_run && report.updated > 0 {
        ui.hint("the same command without --dry-run makes these changes");
    }
    Ok(Exit::Done)
}

fn say_findings(report: &ConsolidateReport, ui: &Ui) {
    let shown = |finding: &JobNote| format!("job {}: {}", finding.job_id, finding.text);
    // People have read the reasons of a change in its line already.
    let changes = report.changes.iter().take(SHOWN);
    let told: HashSet<(&str, &str)> = changes
        .filter(|_| !ui.is_json())
        .flat_map(|change| {
            let job = change.job_id.as_str();
            change.reasons.iter().map(move |why| (job, why.as_str()))
        })
        .collect();
    let is_new = |p: &&JobNote| !told.contains(&(p.job_id.as_str(), p.text.as_str()));
    let problems: Vec<&JobNote> = report.problems.iter().filter(is_new).collect();
    for problem in problems.iter().take(SHOWN) {
        ui.warn(&shown(problem));
    }
    if problems.len() > SHOWN {
        let more = problems.len() - SHOWN;
        ui.warn(&format!("… and {more} more problems; --json shows all"));
    }
    for note in &report.notes {
        ui.detail(&shown(note));
    }
    if !report.notes.is_empty() && !ui.is_verbose() {
        let count = report.notes.len();
        ui.say(&format!(
            "{count} rows were left as they are for a reason; -v shows it"
        ));
    }
}

fn to_text(report: &ConsolidateReport) -> String {
    let would = if report.dry_run || report.is_refused() {
        "would change"
    } else {
        "changed"
    };
    let mut text = format!(
        "run {}: {} looked at, {} {would}, {} as they should be",
        report.run_id,
        counted(report.considered, "row"),
        report.updated,
        report.unchanged
    );
    for (count, what) in [
        (
            report.marker_mismatches_fixed,
            "with another status than their markers",
        ),
        (
            report.downgraded_missing_output,
            "completed without a usable model",
        ),
        (
            report.conflicts_resolved,
            "keys with several rows, which become one",
        ),
    ] {
        if count > 0 {
            let _ = write!(text, "\n  {count} {what}");
        }
    }
    if report.changes.is_empty() {
        return text;
    }
    let mut table = plain_table();
    table.set_header(["  job", "status", "cells", "why"]);
    for change in report.changes.iter().take(SHOWN) {
        let status = if change.before == change.after {
            change.after.clone()
        } else {
            format!("{} → {}", change.before, change.after)
        };
        let cells: Vec<&str> = change.cells.keys().map(String::as_str).collect();
        table.add_row([
            format!("  {}", change.job_id),
            one_line(&status),
            cells.join(" "),
            one_line(&change.reasons.join("; ")),
        ]);
    }
    let _ = write!(text, "\n\n{}", lines_of(&table).trim_end());
    if report.changes.len() > SHOWN {
        let more = report.changes.len() - SHOWN;
        let _ = write!(text, "\n  … and {more} more; --json shows all");
    }
    text
}
