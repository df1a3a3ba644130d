//! The housekeeping of a fleet: who is there, whose leases have expired, what may be forgotten.

use std::time::Duration;

use super::bytes;
use crate::domain::id::RunId;
use crate::ops::view::fleet::{PruneReport, SweepReport, WorkerLine, Workers};
use crate::ops::{OpsContext, OpsError};
use crate::store::postgres::crew::{self, Health};
use crate::store::postgres::{act, import, keep, migrate, money};

/// How long a lease lasts where nobody says otherwise.
pub const LEASE: Duration = Duration::from_secs(60);

/// So many leases are taken back in one statement.
const BATCH: usize = 1_000;

/// Of the error boundaries of each job so many stay.
const CHECKPOINTS: usize = 20;

/// Returns the workers that serve a run, or all of them. Those that ended are left out unless `all`.
pub fn workers(
    context: &OpsContext,
    run_id: Option<&RunId>,
    all: bool,
) -> Result<Workers, OpsError> {
    let mut connection = super::connect(context, "workers")?;
    let run_no = match run_id {
        None => None,
        Some(run_id) => {
            let run = import::run(&mut connection, run_id.as_str())?;
            let run = run.ok_or_else(|| OpsError::Setup {
                message: format!("{} has no run {run_id}", connection.url()),
                hint: Some("`archi3d fleet runs` shows the runs".into()),
            })?;
            Some(run.run_no)
        }
    };
    let seen = crew::workers(&mut connection, run_no)?;
    let seen = seen
        .into_iter()
        .filter(|worker| all || worker.health() != Health::Ended);
    let workers = seen.map(|worker| WorkerLine {
        health: match worker.health() {
            Health::Alive => "alive",
            Health::Slow => "slow",
            Health::Silent => "silent",
            Health::Ended => "ended",
        },
        worker_id: worker.worker_id,
        host: worker.host,
        pid: worker.pid,
        version: worker.version,
        run_id: worker.run_id,
        // What it said when it came up tells little; what it holds tells what it does.
        state: match (worker.state.as_str(), worker.holds) {
            ("ended", _) => "ended",
            (_, 0) => "idle",
            _ => "working",
        }
        .to_owned(),
        slots: worker.slots,
        holds: worker.holds,
        started: worker.started,
        silent: worker.silent,
        lease: worker.lease,
    });
    Ok(Workers {
        server: connection.url().to_string(),
        workers: workers.collect(),
    })
}

/// Takes expired leases of every run back, and settles the money of what the dead had ended.
pub fn sweep(context: &OpsContext) -> Result<SweepReport, OpsError> {
    let mut connection = super::connect(context, "sweep")?;
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
            money::settle_ended(&mut connection, None)?;
            return Ok(report);
        }
    }
}

/// Forgets what is older than so many days: error boundaries, workers that are gone, and runs of which everything was
/// pulled.
///
/// Then what nothing refers to goes from the buckets, if it has been there for longer than `grace`: a result that was not
/// pulled is referred to by its run.
pub fn prune(
    context: &OpsContext,
    days: u32,
    grace: Duration,
    artifacts: Option<&str>,
) -> Result<PruneReport, OpsError> {
    let mut connection = super::connect(context, "prune")?;
    let pruned = keep::prune(&mut connection, CHECKPOINTS, days)?;
    let removed = bytes::remove_unreferred(context, &mut connection, artifacts, grace)?;
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
