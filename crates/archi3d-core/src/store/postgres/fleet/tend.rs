//! The housekeeping of a fleet: who is there, whose leases have expired, what may be forgotten.

use std::time::Duration;

use super::{PgFleet, bytes};
use crate::domain::id::{JobId, RunId};
use crate::store::StoreError;
use crate::store::fleet::pushed_mark;
use crate::store::fleet::{PruneReport, SeenWorker, SweepReport};
use crate::store::postgres::{Connection, act, import, keep, membership, migrate, money};
use crate::trace;

/// How long a lease lasts where nobody says otherwise.
const LEASE: Duration = Duration::from_secs(60);

/// So many leases are taken back in one statement.
const BATCH: usize = 1_000;

/// Of the error boundaries of each job so many stay.
const CHECKPOINTS: usize = 20;

/// Returns the workers that serve a run, or all of them.
pub(super) fn workers(
    context: &PgFleet,
    run_id: Option<&RunId>,
) -> Result<Vec<SeenWorker>, StoreError> {
    let runs = context.all_runs()?;
    let run_no = match run_id {
        None => None,
        Some(run_id) => {
            let run = runs.ask(|c| import::run(c, run_id.as_str()))?;
            let run = run.ok_or_else(|| StoreError::Refused {
                message: format!("{} has no run {run_id}", context.url),
                hint: Some("`archi3d fleet runs` shows the runs".into()),
            })?;
            Some(run.run_no)
        }
    };
    runs.ask(|c| membership::workers(c, run_no))
}

/// Returns what workers had when they fell silent, each job with its worker and run.
pub(super) fn lost_jobs(
    context: &PgFleet,
    workers: &[String],
) -> Result<Vec<(String, RunId, JobId)>, StoreError> {
    let runs = context.all_runs()?;
    runs.ask(|c| membership::lost_jobs(c, workers))
}

/// Takes expired leases of every run back, and settles the money of what the dead had ended.
pub(super) fn sweep(context: &PgFleet) -> Result<SweepReport, StoreError> {
    let _span = trace::span("sweep");
    let mut connection = context.connect("sweep")?;
    // A fail-over is noted before any lease is judged.
    migrate::require(&mut connection)?;
    let mut report = SweepReport::default();
    loop {
        let swept = act::sweep(&mut connection, BATCH, LEASE, None)?;
        report.expired += swept.total();
        report.requeued += swept.requeued;
        report.failed += swept.failed;
        report.cancelled += swept.cancelled;
        report.kept += swept.kept;
        if swept.total() < BATCH {
            trace::set("recovered", report.requeued + report.failed);
            money::settle_ended(&mut connection, None)?;
            return Ok(report);
        }
    }
}

/// Notes in this workspace which of its runs the database has forgotten.
fn note_forgotten(context: &PgFleet, connection: &mut Connection) -> Result<(), StoreError> {
    for run_id in context.workspace.run_ids().unwrap_or_default() {
        let Ok(mark) = pushed_mark(&context.workspace, &run_id) else {
            continue;
        };
        if mark.pulled && import::run(connection, run_id.as_str())?.is_none() {
            super::unknown_run(context, &run_id, &mark);
        }
    }
    Ok(())
}

/// Forgets what is old, then what nothing refers to.
pub(super) fn prune(
    context: &PgFleet,
    days: u32,
    grace: Duration,
    artifacts: Option<&str>,
) -> Result<PruneReport, StoreError> {
    let mut connection = context.connect("prune")?;
    // Nothing is forgotten where buckets are not to be touched; and those of runs that go are cleaned, too.
    let prunable = bytes::prunable(context, &mut connection, artifacts, grace)?;
    let pruned = keep::prune(&mut connection, CHECKPOINTS, days)?;
    note_forgotten(context, &mut connection)?;
    let removed = bytes::remove_unreferred(&prunable, &mut connection, grace)?;
    Ok(PruneReport {
        blobs: removed.blobs,
        bytes: removed.bytes,
        checkpoints: pruned.checkpoints,
        workers: pruned.workers,
        keys: pruned.keys,
        jobs: pruned.jobs,
        runs: pruned.runs,
    })
}
