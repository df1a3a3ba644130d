//! `archi3d run cancel`: takes jobs out of a run, or puts them back, and says
//! what became of each kind.

use std::sync::Arc;

use clap::Args;
use serde::Serialize;

use crate::cli::Global;
use crate::cli::confirm;
use crate::cli::error::{CliError, Exit};
use crate::cli::resume::quoted;
use crate::cli::selection_args::SelectionArgs;
use crate::cli::ui::Ui;
use archi3d_core::domain::id::RunId;
use archi3d_core::domain::job::Status;
use archi3d_core::ops::cancel::{
    CancelReport, CancelRequest, OpenPurchase, Preview, Warn, cancel_jobs,
};

/// How many purchases are named one by one.
const NAMED: usize = 10;

/// The options of `run cancel`.
#[derive(Debug, Args)]
#[command(
    mut_arg("only_status", |arg| arg.help(
        "Only jobs in one of these states, separated by commas [default: enqueued,running; \
         with --undo: cancelled,running]"
    )),
    after_help = "Examples:
  archi3d run cancel r1
      cancel everything that waits or runs
  archi3d run cancel r1 --only-status enqueued
      let running jobs finish
  archi3d run cancel r1 --algo trellis_single --item 335888
      cancel some jobs
  archi3d run cancel r1 --undo
      put cancelled jobs back

Waiting jobs, and jobs whose worker is dead, are cancelled at once. Live workers
stop their jobs at their next heartbeat. Completed and failed jobs stay as they are."
)]
pub struct CancelArgs {
    #[command(flatten)]
    selection: SelectionArgs,

    /// Put cancelled jobs back, and take back requests that no worker has seen yet
    #[arg(long)]
    undo: bool,

    /// Ask nothing: take every question as answered with yes
    #[arg(long, short = 'y')]
    yes: bool,

    /// Continue where file locks cannot be trusted; only safe if no other machine
    /// works on the run
    #[arg(long)]
    allow_unsafe_locks: bool,
}

/// Takes jobs out or puts them back.
pub fn run(args: &CancelArgs, global: &Global, ui: &Ui) -> Result<Exit, CliError> {
    let query = args.selection.read()?;
    let context = global.context()?;
    let request = CancelRequest {
        run_id: args.selection.run.or_only(&context, ui)?,
        query,
        only: None,
        undo: args.undo,
        allow_unsafe_locks: args.allow_unsafe_locks,
    };
    let printer = ui.clone();
    let warn: Warn = Arc::new(move |message| printer.warn(message));
    let confirmed = |preview: &Preview| args.yes || agreed(&request, preview, ui);
    let Some(report) = cancel_jobs(&context, &request, &confirmed, &warn)? else {
        ui.say("nothing was changed");
        return Ok(Exit::Done);
    };
    show(&request, &report, ui)
}

/// Asks a person before work that goes on is thrown away.
fn agreed(request: &CancelRequest, preview: &Preview, ui: &Ui) -> bool {
    if request.undo || preview.live == 0 || !confirm::can_ask(ui) {
        return true;
    }
    confirm::ask(&format!(
        "{} of run {} would be stopped, and what has been bought for them may still be billed. Continue?",
        jobs(preview.live, "running job", "running jobs"),
        request.run_id
    ))
}

fn show(request: &CancelRequest, report: &CancelReport, ui: &Ui) -> Result<Exit, CliError> {
    let exit = match report.preview.matched {
        0 => Exit::NoMatch,
        _ => Exit::Done,
    };
    if let Some(reading) = &report.preview.reading {
        ui.say(reading);
    }
    if ui.is_json() {
        #[derive(Serialize)]
        struct Answer<'a> {
            run_id: &'a RunId,
            undo: bool,
            #[serde(flatten)]
            report: &'a CancelReport,
            exit_code: u8,
        }
        ui.answer(&Answer {
            run_id: &request.run_id,
            undo: request.undo,
            report,
            exit_code: exit.code(),
        })?;
    } else {
        ui.say(&sentence(request, report));
    }
    for OpenPurchase { job_id, request_id } in report.purchases.iter().take(NAMED) {
        ui.warn(&format!(
            "job {job_id} had been bought (request {request_id}) and may be billed; the id is kept, and --undo resumes it"
        ));
    }
    if report.purchases.len() > NAMED {
        ui.warn(&format!(
            "… and {} more; `archi3d run attempts --run-id {}` shows all",
            report.purchases.len() - NAMED,
            request.run_id
        ));
    }
    if !report.asked.is_empty() {
        ui.hint(
            "running jobs are stopped at their worker's next heartbeat (within 10 s unless \
             --heartbeat-secs says otherwise); one that ends before stays as it ended",
        );
    }
    if report.cancelled + report.asked.len() > 0 {
        ui.hint(&format!(
            "to put them back: archi3d run cancel --run-id {} --undo",
            quoted(request.run_id.as_str())
        ));
    }
    Ok(exit)
}

/// Says in one line what became of the jobs.
fn sentence(request: &CancelRequest, report: &CancelReport) -> String {
    let run = &request.run_id;
    let preview = &report.preview;
    if preview.matched == 0 {
        return format!("run {run}: no job matches");
    }
    let mut parts = Vec::new();
    let mut add = |count: usize, one: &str, many: &str| {
        if count > 0 {
            parts.push(jobs(count, one, many));
        }
    };
    add(report.cancelled, "job cancelled", "jobs cancelled");
    let asked = report.asked.len();
    add(
        asked,
        "running job asked to stop",
        "running jobs asked to stop",
    );
    let stopped = report.redo_stopped;
    add(
        stopped,
        "redo stopped (the older result is kept)",
        "redos stopped (the older results are kept)",
    );
    add(report.restored, "job put back", "jobs put back");
    let withdrawn = report.requests_withdrawn;
    add(
        withdrawn,
        "request to stop taken back",
        "requests to stop taken back",
    );
    let ended = report.ended_meanwhile;
    add(ended, "job ended meanwhile", "jobs ended meanwhile");
    if parts.is_empty() {
        parts.push(if request.undo {
            "nothing to put back".to_owned()
        } else {
            "nothing to cancel".to_owned()
        });
    }
    let rest: Vec<String> = [
        (preview.completed, Status::Completed),
        (preview.failed, Status::Failed),
        (preview.already_cancelled, Status::Cancelled),
    ]
    .iter()
    .filter(|(count, _)| *count > 0)
    .map(|(count, status)| format!("{count} {status}"))
    .collect();
    if !rest.is_empty() {
        parts.push(format!("left as they are: {}", rest.join(", ")));
    }
    format!("run {run}: {}", parts.join("; "))
}

fn jobs(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}
