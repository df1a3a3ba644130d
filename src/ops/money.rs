//! How the money of a run stands, read from the workspace's ledger.
//!
//! `run plan`, `run status` and `run explain` ask here. Reads only; reserving and
//! settling is the engine's business.

use crate::domain::budget::{Caps, Ledger, Level};
use crate::domain::id::RunId;
use crate::domain::time::Timestamp;
use crate::ops::run::WorkerRequest;
use crate::ops::{OpsContext, OpsError, budget};
use crate::workspace::ledger::LedgerFile;

/// The money of a run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Money {
    /// What was spent.
    pub spent_usd: f64,
    /// What is set aside for jobs that run or may have been billed.
    pub reserved_usd: f64,
    /// The limits in force.
    pub limits: Vec<Limit>,
}

/// A limit and what is used of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limit {
    /// `run` or `day`.
    pub of: &'static str,
    /// The limit.
    pub cap_usd: f64,
    /// What is spent or set aside of it.
    pub used_usd: f64,
}

impl Limit {
    /// Returns what is left of it.
    pub fn left_usd(&self) -> f64 {
        (((self.cap_usd - self.used_usd) * 1e6).round() / 1e6).max(0.0)
    }
}

/// Returns the limits that a worker with these options keeps.
pub(super) fn caps(context: &OpsContext, request: &WorkerRequest) -> Caps {
    budget::caps(&context.settings, request.spending.budget_usd)
}

/// Reads the ledger of a workspace.
pub(super) fn ledger(context: &OpsContext) -> Result<Ledger, OpsError> {
    LedgerFile::read(&context.workspace).map_err(|error| OpsError::Setup {
        message: format!("tables/budget.jsonl cannot be read: {error}"),
        hint: Some("see that it is a plain file that you may read".into()),
    })
}

/// Returns how the money of a run stands under these limits.
pub(super) fn of_run(
    context: &OpsContext,
    run_id: &RunId,
    caps: Caps,
    now: Timestamp,
) -> Result<Money, OpsError> {
    Ok(in_ledger(&ledger(context)?, run_id, caps, now))
}

/// Returns how the money of a run stands in a ledger.
pub(super) fn in_ledger(ledger: &Ledger, run_id: &RunId, caps: Caps, now: Timestamp) -> Money {
    let standing = ledger.standing(run_id);
    let limit = |level: Level| Limit {
        of: level.cap.word(),
        cap_usd: level.cap_usd,
        used_usd: level.spent_usd + level.reserved_usd,
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
