//! `archi3d registry rebuild`: the registry made again from what is recorded.

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::cli::Global;
use crate::cli::error::{CliError, Exit};
use crate::cli::run::parse_run_id;
use crate::cli::ui::Ui;
use crate::cli::waiting;
use crate::cli::working::while_working;
use archi3d_core::domain::text::counted;
use archi3d_core::ops::rebuild::{RebuildReport, RebuildRequest, rebuild};

/// What can be done with the registry.
#[derive(Debug, Subcommand)]
pub enum RegistryCommand {
    /// Make the rows again from journals, markers and the records of each run
    Rebuild(RebuildArgs),
}

/// The options of `registry rebuild`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  archi3d registry rebuild --dry-run
      show what would change
  archi3d registry rebuild
      make a lost or spoilt tables/generations.csv again; the file as it was is kept
      as tables/generations.csv.before-rebuild-<time>
  archi3d registry rebuild --output /tmp/again.csv
      write the table elsewhere and leave everything as it is

Rows as they were made come from runs/<run>/rows.csv, what happened to them from
runs/<run>/state. Columns of other tools and notes are kept from the table as it is, or
taken from copies of it in tables/ where the table lost them. For runs made before there
was a rows.csv, the manifest and the item table are asked; `created_at` stays blank then.
A manifest that is missing is made again from the rows: the same jobs, no others.
Workers may keep running.")]
pub struct RebuildArgs {
    /// Only the rows of this run
    #[arg(long, value_name = "ID", allow_hyphen_values = true)]
    run_id: Option<String>,
    /// Show what would change and write nothing
    #[arg(long)]
    dry_run: bool,
    /// Write the table to this new file instead
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Carries out the command.
pub fn run(command: &RegistryCommand, global: &Global, ui: &Ui) -> Result<Exit, CliError> {
    let RegistryCommand::Rebuild(args) = command;
    let request = RebuildRequest {
        run_id: args.run_id.as_deref().map(parse_run_id).transpose()?,
        dry_run: args.dry_run,
        output: args.output.clone(),
    };
    let context = global.context()?;
    let mut waiting = waiting::for_registry(ui);
    let work = || rebuild(&context, &request, &mut waiting);
    let report = while_working(ui, "making the registry again", work)?;
    for warning in context.settings.warnings.iter().chain(&report.warnings) {
        ui.warn(warning);
    }
    if ui.is_json() {
        ui.answer(&report)?;
    } else {
        ui.data(&to_text(&report))?;
    }
    if report.dry_run && !(report.unchanged && report.listed.is_empty()) {
        ui.hint("the same command without --dry-run makes these changes");
    }
    Ok(Exit::Done)
}

fn to_text(report: &RebuildReport) -> String {
    let rows = counted(report.rows_after, "row");
    let would = if report.dry_run { "would be " } else { "" };
    let mut lists = String::new();
    for list in &report.listed {
        let _ = write!(lists, "\njobs {would}listed again from the rows: {list}");
    }
    if report.unchanged && report.written.is_none() {
        let nothing = if lists.is_empty() {
            "; nothing was written"
        } else {
            ""
        };
        return format!("{rows}: the registry says just what is recorded{nothing}{lists}");
    }
    let mut text = format!("registry: {rows}, {} before", report.rows_before);
    let mut line = |count: usize, what: &str| {
        if count > 0 {
            let _ = write!(text, "\n  {count} {what}");
        }
    };
    line(report.restored, &format!("{would}restored"));
    line(
        report.from_manifest,
        "of these from the manifest and the item table: created_at is blank",
    );
    line(
        report.from_traces,
        "of these by their markers alone: what they show is blank",
    );
    let columns: Vec<String> = report
        .corrected_columns
        .iter()
        .map(|(column, rows)| format!("{column} {rows}"))
        .collect();
    let columns = columns.join(", ");
    line(report.corrected, &format!("{would}corrected ({columns})"));
    line(report.unrecorded, "kept as they are: no record knows them");
    for id in report.ids.iter().take(20) {
        let _ = write!(text, "\n  id: {id}");
    }
    for copied in &report.copied {
        let _ = write!(text, "\n  taken: {copied}");
    }
    if let Some(kept) = &report.kept_as {
        let _ = write!(text, "\nthe table as it was: {kept}");
    }
    if let Some(written) = &report.written {
        let _ = write!(text, "\nwritten: {written}");
    }
    text + &lists
}
