//! How the money of a run stands, read from the workspace's ledger.
//!
//! `run plan`, `run status` and `run explain` ask here. Reads only; reserving and
//! settling is the engine's business.

use std::collections::{BTreeSet, HashMap};
use std::io;

use serde::Serialize;

use crate::domain::budget::{Caps, Ledger, Level};
use crate::domain::id::{JobId, RunId};
use crate::domain::money::Usd;
use crate::domain::time::Timestamp;
use crate::ops::select::WorkerRequest;
use crate::ops::{OpsContext, OpsError, budget};
use crate::store::files;
use crate::store::files::LedgerFile;

/// The money of a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Money {
    /// What was spent.
    pub spent_usd: f64,
    /// What is set aside for jobs that run or may have been billed.
    pub reserved_usd: f64,
    /// The limits in force.
    pub limits: Vec<Limit>,
}

/// A limit and what is used of it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Limit {
    /// `run` or `day`.
    pub of: &'static str,
    /// The limit.
    pub cap_usd: f64,
    /// What is spent or set aside of it.
    pub used_usd: f64,
    /// What is left of it.
    pub left_usd: Usd,
}

/// Returns the limits that a worker with these options keeps.
pub(super) fn caps(context: &OpsContext, request: &WorkerRequest) -> Caps {
    budget::caps(&context.settings, request.spending.budget_usd)
}

/// Reads the ledger of a workspace.
pub(super) fn ledger(context: &OpsContext) -> Result<Ledger, OpsError> {
    LedgerFile::read(&context.workspace).map_err(|error| unreadable(&error))
}

/// Reads it with what each job of a run costs.
pub(super) fn ledger_by_job(context: &OpsContext, run: &RunId) -> Result<Ledger, OpsError> {
    LedgerFile::read_by_job(&context.workspace, run).map_err(|error| unreadable(&error))
}

fn unreadable(error: &io::Error) -> OpsError {
    OpsError::Setup {
        message: format!("tables/budget.jsonl cannot be read: {error}"),
        hint: Some("see that it is a plain file that you may read".into()),
    }
}

/// Returns how the money of a run stands in a ledger.
pub(super) fn in_ledger(ledger: &Ledger, run_id: &RunId, caps: Caps, now: Timestamp) -> Money {
    let standing = ledger.standing(run_id);
    let limit = |level: Level| Limit {
        of: level.cap.word(),
        cap_usd: level.cap_usd,
        used_usd: level.spent_usd + level.reserved_usd,
        left_usd: Usd::of(level.left_usd()),
    };
    Money {
        spent_usd: standing.spent_usd,
        reserved_usd: standing.reserved_usd,
        limits: ledger
            .level(run_id, caps, now)
            .into_iter()
            .map(limit)
            .collect(),
    }
}

/// Returns what jobs of each algorithm turned out to cost where that was more than
/// their entry says: of this run, and of every run today. Only a limit needs it.
pub(super) fn highest_cost(
    context: &OpsContext,
    request: &WorkerRequest,
    ledger: &Ledger,
    now: Timestamp,
) -> Result<HashMap<String, f64>, OpsError> {
    let mut highest_cost = HashMap::new();
    if request.dry_run || !caps(context, request).any() {
        return Ok(highest_cost);
    }
    let name = |run: &RunId, job: &JobId| (run.to_string(), job.to_string());
    let dearer = || ledger.dearer(&request.run_id, now);
    let wanted: BTreeSet<_> = dearer().map(|(run, job, _)| name(run, job)).collect();
    if wanted.is_empty() {
        return Ok(highest_cost);
    }
    let algos = files::algos_of(&context.workspace, &wanted)?;
    for (run, job, usd) in dearer() {
        if let Some(algo) = algos.get(&name(run, job)) {
            let most = highest_cost.entry(algo.clone()).or_insert(usd);
            *most = most.max(usd);
        }
    }
    Ok(highest_cost)
}
