//! What a plan costs: per job, and summed up in millionths of a dollar so that
//! three times $0.1 is $0.3.
//!
//! *Expected*: every job that starts is billed once, at its unit price. *Worst*:
//! every attempt that its retries allow is billed, though by the classes of
//! failure only the last one should be; never more than the limits leave. *New*: what the ledger does not hold yet;
//! a reservation that an earlier attempt left is taken over.

use super::Planner;
use crate::domain::budget::CapKind;
use crate::domain::id::AlgoKey;
use crate::domain::money::Usd;
use crate::domain::reason::ReasonCode;
use crate::ops::view::plan::{JobPlan, PlannedAction, PlannedCost, Reason, Sums};
use crate::store::{JobRecord, JobSnapshot};

impl Sums {
    /// Keeps the worst case below what the limits leave.
    pub(super) fn cap(&mut self, most: Option<Usd>) {
        if let Some(most) = most.filter(|most| *most < self.worst_usd) {
            self.worst_usd = most;
            self.worst_capped = true;
        }
    }

    pub(super) fn add(&mut self, price: &PlannedCost) {
        self.join(&Self {
            expected_usd: price.expected,
            worst_usd: price.worst,
            reserved_usd: price.reserved,
            new_usd: price.new,
            unknown: usize::from(price.unknown),
            worst_capped: false,
        });
    }

    pub(super) fn join(&mut self, other: &Self) {
        self.expected_usd += other.expected_usd;
        self.worst_usd += other.worst_usd;
        self.reserved_usd += other.reserved_usd;
        self.new_usd += other.new_usd;
        self.unknown += other.unknown;
    }
}

impl Planner<'_> {
    /// Returns the most that these jobs can cost under the limits: what these leave,
    /// what is reserved for the jobs already, and what is bought already, which asks
    /// no limit.
    pub(super) fn most(&self, jobs: &[JobPlan]) -> Option<Usd> {
        let left = self.limits.iter().map(|limit| limit.left_usd);
        let left = left
            .min()
            .filter(|_| !self.request.dry_run && !self.prices_blocked)?;
        let starts = jobs.iter().filter(|job| job.fate.starts());
        let beside = starts.map(|job| match job.fate {
            PlannedAction::Reattach => job.price.worst.max(job.price.reserved),
            _ => job.price.reserved,
        });
        Some(left + beside.sum())
    }

    /// Returns what a job costs if it starts.
    pub(super) fn price(&self, job: &JobRecord, fate: PlannedAction) -> PlannedCost {
        let algorithm = self.algorithm_of(job).filter(|_| !self.request.dry_run);
        let Some(algorithm) = algorithm else {
            return PlannedCost::default();
        };
        let failures = match &job.snapshot {
            JobSnapshot::Known { failures, .. } => *failures,
            _ => 0,
        };
        // What may have been billed and is bought anew counts as spent and is not
        // taken over.
        let given_up = fate != PlannedAction::Reattach && !algorithm.adapter.reconciles();
        let own = self.money.reserved.get(&job.job_id);
        let own = own.filter(|_| !given_up);
        let reserved = own.map_or(Usd::ZERO, |own| Usd::of(own.usd).or_nothing());
        let key = self.key_of(job).map(AlgoKey::as_str).unwrap_or_default();
        let highest_cost = self.highest_cost.get(key).copied().unwrap_or_default();
        let Some(unit) = algorithm.price.unit_usd.map(|usd| usd.max(highest_cost)) else {
            return PlannedCost {
                unknown: true,
                reserved,
                ..PlannedCost::default()
            };
        };
        let today = own.map_or(
            Usd::ZERO,
            |own| if own.today { reserved } else { Usd::ZERO },
        );
        let more = algorithm.retry.retries.saturating_sub(failures);
        // What is bought already is asked for again, not bought again.
        let billed = if fate == PlannedAction::Reattach {
            1
        } else {
            1 + more as usize
        };
        let unit = Usd::of(unit).or_nothing();
        PlannedCost {
            unknown: false,
            expected: unit,
            worst: unit.times(billed),
            reserved,
            new: (unit - reserved).or_nothing(),
            new_today: (unit - today).or_nothing(),
        }
    }

    /// Returns what a job costs when it can start.
    pub(super) fn price_later(&self, job: &JobRecord) -> PlannedCost {
        if self.algorithm_of(job).is_none() {
            return PlannedCost {
                unknown: true,
                ..PlannedCost::default()
            };
        }
        let fate = if self.reattaches(job) {
            PlannedAction::Reattach
        } else {
            PlannedAction::Run
        };
        self.price(job, fate)
    }

    /// Returns why a limit would refuse a job, as the engine does: what is bought
    /// already asks no limit.
    pub(super) fn too_dear(&self, fate: PlannedAction, price: &PlannedCost) -> Option<Reason> {
        if fate != PlannedAction::Run || self.request.dry_run {
            return None;
        }
        // What is ordered over the network has a limit, whatever else has none.
        if price.unknown && (self.caps.any() || self.prices_blocked) {
            let words = "of unknown price, which do not start under a spending limit";
            return Some(Reason::new(ReasonCode::UnknownPrice, words));
        }
        let over = self.limits.iter().find(|limit| {
            // What an earlier day has reserved is none of today's.
            let (planned, new) = if limit.of == CapKind::Day.word() {
                (self.planned_today, price.new_today)
            } else {
                (self.planned, price.new)
            };
            Usd::of(limit.used_usd) + planned + new > Usd::of(limit.cap_usd)
        });
        let over = over.filter(|_| price.expected > Usd::ZERO)?;
        let words = format!("beyond the limit of the {} (${:.2})", over.of, over.cap_usd);
        Some(Reason::new(ReasonCode::OverBudget, words))
    }
}
