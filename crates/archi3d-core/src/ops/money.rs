//! How the money of a run stands.
//!
//! `run plan`, `run status` and `run explain` ask here. Reads only; reserving and
//! settling is the engine's business.

use serde::Serialize;

use crate::domain::budget::{Balance, Caps, Level};
use crate::domain::money::Usd;
use crate::ops::select::WorkerRequest;
use crate::ops::{OpsContext, budget};

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

impl Money {
    /// Returns how the money of a run stands under some limits.
    pub(super) fn of(balance: &Balance, caps: Caps) -> Self {
        let limit = |level: Level| Limit {
            of: level.cap.word(),
            cap_usd: level.cap_usd,
            used_usd: level.spent_usd + level.reserved_usd,
            left_usd: Usd::of(level.left_usd()),
        };
        Self {
            spent_usd: balance.run.spent_usd,
            reserved_usd: balance.run.reserved_usd,
            limits: balance.levels(caps).into_iter().map(limit).collect(),
        }
    }
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
