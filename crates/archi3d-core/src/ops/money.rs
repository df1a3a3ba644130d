//! How the money of a run stands.
//!
//! `run plan`, `run status` and `run explain` ask here. Reads only; reserving and
//! settling is the engine's business.

use serde::Serialize;

use crate::config::Settings;
use crate::domain::budget::{Balance, Level};
use crate::domain::money::Usd;
use crate::ops::budget;
use crate::ops::select::Spending;

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
    /// Returns how the money of a run stands under the limits that a worker keeps.
    pub(super) fn of(balance: &Balance, settings: &Settings, spending: &Spending) -> Self {
        let caps = budget::caps(settings, spending);
        let limit = |level: Level| Limit {
            of: level.cap.word(),
            set_by: budget::set_by(settings, spending, level.cap),
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
    /// Who said it: `max_cost_usd` of the order, `--budget-usd`, or a key of `global.yaml`.
    pub set_by: &'static str,
    /// The limit.
    pub cap_usd: f64,
    /// What is spent or set aside of it.
    pub used_usd: f64,
    /// What is left of it.
    pub left_usd: Usd,
}
