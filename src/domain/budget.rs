//! Money: what is spent, what is reserved, and whether one more job may start.
//!
//! A job's price is reserved before it starts and settled when it ends. A
//! reservation whose worker died stays reserved, so it counts as spent, until
//! the job's next attempt takes it over or somebody settles it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::domain::id::{JobId, RunId};
use crate::domain::time::Timestamp;

/// One line of the ledger.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// When.
    pub at: Timestamp,
    /// For which run.
    pub run_id: RunId,
    /// For which job.
    pub job_id: JobId,
    /// What happened to its money.
    #[serde(flatten)]
    pub change: Change,
}

/// What happened to a job's money.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Change {
    /// So much is set aside; replaces an earlier reservation of the same job.
    Reserved {
        /// The worst case, in dollars.
        usd: f64,
    },
    /// The reservation is over and so much was spent.
    Settled {
        /// What it cost, in dollars.
        usd: f64,
    },
}

/// The limits in force; nothing means no limit.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Caps {
    /// For the whole run.
    pub run_usd: Option<f64>,
    /// For one day, in UTC, over all runs of the workspace.
    pub day_usd: Option<f64>,
}

impl Caps {
    /// Tells whether there is any limit.
    pub fn any(self) -> bool {
        self.run_usd.is_some() || self.day_usd.is_some()
    }
}

/// Dollars are compared in millionths, so that three times 0.1 is 0.3.
type Micros = i64;

fn micros(usd: f64) -> Micros {
    let rounded = (usd * 1e6).round();
    if !rounded.is_finite() || rounded <= 0.0 {
        return 0;
    }
    #[expect(clippy::cast_possible_truncation, reason = "clamped to what fits")]
    let value = rounded.min(9e18) as Micros;
    value
}

fn usd(micros: Micros) -> f64 {
    micros as f64 / 1e6
}

/// The sums of a ledger.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Ledger {
    spent_by_run: BTreeMap<RunId, Micros>,
    spent_by_day: BTreeMap<String, Micros>,
    reserved: BTreeMap<(RunId, JobId), (Micros, String)>,
}

/// The answer to a wish to start a job.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Grant {
    /// It may start, and so much of the tightest limit is used then.
    Yes {
        /// From 0 to 1; 0 without limits.
        used: f64,
    },
    /// It may not.
    No {
        /// Which limit says so.
        cap: CapKind,
        /// The limit.
        cap_usd: f64,
        /// What is spent and reserved already.
        committed_usd: f64,
    },
}

/// Which limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CapKind {
    /// The run's.
    Run,
    /// The day's.
    Day,
}

/// How the money of a run stands.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Standing {
    /// What was spent.
    pub spent_usd: f64,
    /// What is set aside.
    pub reserved_usd: f64,
}

impl Ledger {
    /// Takes one line in.
    pub fn take(&mut self, entry: &Entry) {
        let key = (entry.run_id.clone(), entry.job_id.clone());
        let day = day_of(entry.at);
        match entry.change {
            Change::Reserved { usd } => {
                self.reserved.insert(key, (micros(usd), day));
            }
            Change::Settled { usd } => {
                self.reserved.remove(&key);
                *self.spent_by_run.entry(key.0).or_default() += micros(usd);
                *self.spent_by_day.entry(day).or_default() += micros(usd);
            }
        }
    }

    /// Decides whether a job that costs `price` may start. What is reserved for
    /// the same job already does not count twice.
    pub fn grant(&self, run: &RunId, job: &JobId, price: f64, caps: Caps, now: Timestamp) -> Grant {
        let own = (run.clone(), job.clone());
        let others = |keep: &dyn Fn(&RunId, &str) -> bool| -> Micros {
            self.reserved
                .iter()
                .filter(|(key, (_, day))| **key != own && keep(&key.0, day))
                .map(|(_, (usd, _))| usd)
                .sum()
        };
        let today = day_of(now);
        let by_run = self.spent_by_run.get(run).copied().unwrap_or(0) + others(&|r, _| r == run);
        let by_day =
            self.spent_by_day.get(&today).copied().unwrap_or(0) + others(&|_, day| day == today);
        let mut used = 0.0f64;
        for (kind, cap, committed) in [
            (CapKind::Run, caps.run_usd, by_run),
            (CapKind::Day, caps.day_usd, by_day),
        ] {
            let Some(cap_usd) = cap else { continue };
            let after = committed + micros(price);
            if after > micros(cap_usd) {
                return Grant::No {
                    cap: kind,
                    cap_usd,
                    committed_usd: usd(committed),
                };
            }
            if cap_usd > 0.0 {
                used = used.max(usd(after) / cap_usd);
            }
        }
        Grant::Yes { used }
    }

    /// Returns how the money of a run stands.
    pub fn standing(&self, run: &RunId) -> Standing {
        let reserved = self.reserved.iter().filter(|(key, _)| key.0 == *run);
        Standing {
            spent_usd: usd(self.spent_by_run.get(run).copied().unwrap_or(0)),
            reserved_usd: usd(reserved.map(|(_, (usd, _))| usd).sum()),
        }
    }

    /// Returns what is reserved for a job, if anything is.
    pub fn reserved_for(&self, run: &RunId, job: &JobId) -> Option<f64> {
        let key = (run.clone(), job.clone());
        self.reserved.get(&key).map(|(micros, _)| usd(*micros))
    }
}

fn day_of(at: Timestamp) -> String {
    at.iso().chars().take(10).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn now() -> Timestamp {
        Timestamp::parse("2026-01-01T12:00:00Z").unwrap()
    }

    fn run() -> RunId {
        RunId::parse("r").unwrap()
    }

    fn job(n: usize) -> JobId {
        JobId::parse(&format!("j{n}")).unwrap()
    }

    fn entry(n: usize, change: Change) -> Entry {
        Entry {
            at: now(),
            run_id: run(),
            job_id: job(n),
            change,
        }
    }

    const DOLLAR: Caps = Caps {
        run_usd: Some(1.0),
        day_usd: None,
    };

    #[test]
    fn three_jobs_of_thirty_cents_fit_into_a_dollar() {
        let mut ledger = Ledger::default();
        for n in 0..3 {
            assert!(matches!(
                ledger.grant(&run(), &job(n), 0.3, DOLLAR, now()),
                Grant::Yes { .. }
            ));
            ledger.take(&entry(n, Change::Reserved { usd: 0.3 }));
        }
        let refused = ledger.grant(&run(), &job(3), 0.3, DOLLAR, now());
        assert_eq!(
            refused,
            Grant::No {
                cap: CapKind::Run,
                cap_usd: 1.0,
                committed_usd: 0.9
            }
        );
    }

    #[test]
    fn ten_jobs_of_ten_cents_fit_exactly() {
        let mut ledger = Ledger::default();
        for n in 0..10 {
            assert!(matches!(
                ledger.grant(&run(), &job(n), 0.1, DOLLAR, now()),
                Grant::Yes { .. }
            ));
            ledger.take(&entry(n, Change::Settled { usd: 0.1 }));
        }
        assert!(matches!(
            ledger.grant(&run(), &job(10), 0.000_001, DOLLAR, now()),
            Grant::No { .. }
        ));
    }

    #[test]
    fn the_next_attempt_of_a_job_takes_its_reservation_over() {
        let mut ledger = Ledger::default();
        ledger.take(&entry(1, Change::Reserved { usd: 0.9 }));
        assert!(matches!(
            ledger.grant(&run(), &job(2), 0.2, DOLLAR, now()),
            Grant::No { .. }
        ));
        assert!(matches!(
            ledger.grant(&run(), &job(1), 0.9, DOLLAR, now()),
            Grant::Yes { .. }
        ));
        ledger.take(&entry(1, Change::Settled { usd: 0.5 }));
        assert_eq!(
            ledger.standing(&run()),
            Standing {
                spent_usd: 0.5,
                reserved_usd: 0.0
            }
        );
    }

    #[test]
    fn a_day_is_over_at_midnight_and_counts_all_runs() {
        let caps = Caps {
            run_usd: None,
            day_usd: Some(1.0),
        };
        let mut ledger = Ledger::default();
        let mut other = entry(1, Change::Settled { usd: 1.0 });
        other.run_id = RunId::parse("other").unwrap();
        ledger.take(&other);
        assert!(matches!(
            ledger.grant(&run(), &job(2), 0.1, caps, now()),
            Grant::No {
                cap: CapKind::Day,
                ..
            }
        ));
        let tomorrow = now().plus(std::time::Duration::from_secs(86_400));
        assert!(matches!(
            ledger.grant(&run(), &job(2), 0.1, caps, tomorrow),
            Grant::Yes { .. }
        ));
    }

    proptest! {
        #[test]
        fn what_is_committed_never_exceeds_the_cap(
            steps in proptest::collection::vec((0usize..6, 0.0f64..0.5, any::<bool>()), 0..60)
        ) {
            let mut ledger = Ledger::default();
            for (n, price, settle) in steps {
                if settle && ledger.reserved_for(&run(), &job(n)).is_some() {
                    let reserved = ledger.reserved_for(&run(), &job(n)).unwrap();
                    ledger.take(&entry(n, Change::Settled { usd: reserved }));
                } else if matches!(ledger.grant(&run(), &job(n), price, DOLLAR, now()), Grant::Yes { .. }) {
                    ledger.take(&entry(n, Change::Reserved { usd: price }));
                }
                let standing = ledger.standing(&run());
                prop_assert!(standing.spent_usd + standing.reserved_usd <= 1.000_001);
            }
        }
    }
}
