//! What a plan costs: per job, and summed up in millionths of a dollar so that
//! three times $0.1 is $0.3.
//!
//! *Expected*: every job that starts is billed once, at its unit price. *Worst*:
//! every attempt that its retries allow is billed, though by the classes of
//! failure only the last one should be; never more than the limits leave. *New*: what the ledger does not hold yet;
//! a reservation that an earlier attempt left is taken over.

use super::{Fate, JobPlan, Planner, Reason};
use crate::domain::budget::CapKind;
use crate::domain::id::AlgoKey;
use crate::store::{JobRecord, Standing};

/// What one job costs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Price {
    /// Whether it costs something that nobody knows.
    pub unknown: bool,
    /// What it is expected to cost.
    pub expected_micros: i64,
    /// What it costs if every attempt is billed.
    pub worst_micros: i64,
    /// What is reserved for it already.
    pub reserved_micros: i64,
    /// What the ledger does not hold yet.
    pub new_micros: i64,
    /// What it does not hold yet of this day.
    pub new_today_micros: i64,
}

/// The costs of several jobs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sums {
    /// What they are expected to cost.
    pub expected_micros: i64,
    /// What they cost if every attempt is billed.
    pub worst_micros: i64,
    /// What is reserved for them already.
    pub reserved_micros: i64,
    /// What the ledger does not hold yet.
    pub new_micros: i64,
    /// How many cost something that nobody knows.
    pub unknown: usize,
    /// Whether a limit keeps the worst case from being worse.
    pub worst_capped: bool,
}

impl Sums {
    /// Keeps the worst case below what the limits leave.
    pub(super) fn cap(&mut self, most_micros: Option<i64>) {
        if let Some(most) = most_micros.filter(|most| *most < self.worst_micros) {
            self.worst_micros = most;
            self.worst_capped = true;
        }
    }

    pub(super) fn add(&mut self, fate: Fate, price: &Price) {
        if !fate.starts() {
            return;
        }
        self.join(&Self {
            expected_micros: price.expected_micros,
            worst_micros: price.worst_micros,
            reserved_micros: price.reserved_micros,
            new_micros: price.new_micros,
            unknown: usize::from(price.unknown),
            worst_capped: false,
        });
    }

    pub(super) fn join(&mut self, other: &Self) {
        self.expected_micros += other.expected_micros;
        self.worst_micros += other.worst_micros;
        self.reserved_micros += other.reserved_micros;
        self.new_micros += other.new_micros;
        self.unknown += other.unknown;
    }
}

/// Returns dollars in millionths.
pub(super) fn micros(usd: f64) -> i64 {
    #[expect(clippy::cast_possible_truncation, reason = "clamped to what fits")]
    let micros = (usd * 1e6).round().clamp(0.0, 9e15) as i64;
    micros
}

/// Returns millionths in dollars.
pub fn usd(micros: i64) -> f64 {
    micros as f64 / 1e6
}

impl Planner<'_> {
    /// Returns the most that these jobs can cost under the limits: what these leave,
    /// what is reserved for the jobs already, and what is bought already, which asks
    /// no limit.
    pub(super) fn most_micros(&self, jobs: &[JobPlan]) -> Option<i64> {
        let left = self.limits.iter().map(|limit| micros(limit.left_usd()));
        let left = left.min().filter(|_| !self.request.dry_run)?;
        let starts = jobs.iter().filter(|job| job.fate.starts());
        let beside = starts.map(|job| match job.fate {
            Fate::Reattach => job.price.worst_micros.max(job.price.reserved_micros),
            _ => job.price.reserved_micros,
        });
        Some(left.saturating_add(beside.sum()))
    }

    /// Returns what a job costs if it starts.
    pub(super) fn price(&self, job: &JobRecord, fate: Fate) -> Price {
        let carrier = self.carrier_of(job).filter(|_| !self.request.dry_run);
        let Some(carrier) = carrier else {
            return Price::default();
        };
        let failures = match &job.standing {
            Standing::Known { failures, .. } => *failures,
            _ => 0,
        };
        // What may have been billed and is bought anew counts as spent and is not
        // taken over.
        let given_up = fate != Fate::Reattach && !carrier.adapter.reconciles();
        let reserved = self.ledger.reserved_for(&self.request.run_id, &job.job_id);
        let reserved = reserved.filter(|_| !given_up);
        let reserved_micros = micros(reserved.unwrap_or_default());
        let key = self.key_of(job).map(AlgoKey::as_str).unwrap_or_default();
        let dearest = self.dearest.get(key).copied().unwrap_or_default();
        let Some(unit) = carrier.price.unit_usd.map(|usd| micros(usd.max(dearest))) else {
            return Price {
                unknown: true,
                reserved_micros,
                ..Price::default()
            };
        };
        let today = self
            .ledger
            .reserved_today(&self.request.run_id, &job.job_id, self.now);
        let today_micros = micros(today.filter(|_| !given_up).unwrap_or_default());
        let more = carrier.retry.retries.saturating_sub(failures);
        // What is bought already is asked for again, not bought again.
        let billed = if fate == Fate::Reattach {
            1
        } else {
            1 + i64::from(more)
        };
        Price {
            unknown: false,
            expected_micros: unit,
            worst_micros: unit.saturating_mul(billed),
            reserved_micros,
            new_micros: (unit - reserved_micros).max(0),
            new_today_micros: (unit - today_micros).max(0),
        }
    }

    /// Returns why a limit would refuse a job, as the engine does: what is bought
    /// already asks no limit.
    pub(super) fn too_dear(&self, fate: Fate, price: &Price) -> Option<Reason> {
        if fate != Fate::Run || self.request.dry_run || !self.caps.any() {
            return None;
        }
        if price.unknown {
            let words = "of unknown price, which do not start under a spending limit";
            return Some(Reason::new("unknown_price", words));
        }
        let over = self.limits.iter().find(|limit| {
            // What an earlier day has reserved is none of today's.
            let (planned, new) = if limit.of == CapKind::Day.word() {
                (self.planned_today_micros, price.new_today_micros)
            } else {
                (self.planned_micros, price.new_micros)
            };
            micros(limit.used_usd) + planned + new > micros(limit.cap_usd)
        });
        let over = over.filter(|_| price.expected_micros > 0)?;
        let words = format!("beyond the limit of the {} (${:.2})", over.of, over.cap_usd);
        Some(Reason::new("over_budget", words))
    }
}
