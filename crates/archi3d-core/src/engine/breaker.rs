//! Algorithms that fail again and again: a breaker pauses them, and canaries try
//! them out before the rest is spent on.
//!
//! Only failures that speak about the algorithm count; a picture that is missing
//! says nothing about it.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::domain::id::AlgoKey;
use crate::domain::money::Usd;
use crate::domain::patch::Span;
use crate::domain::retry::ErrorClass;
use crate::domain::text::one_line;
use crate::engine::dispatcher::Waiting;
use crate::engine::event::{CanaryResult, EventKind};
use crate::engine::executor::Executor;
use crate::store::providers::{Closable, Closure};

/// How long after its last failure a paused algorithm is tried with one job.
pub const PAUSE: Duration = Duration::from_mins(10);

/// How many jobs of each algorithm go first on trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Canary {
    /// So many.
    pub per_algo: usize,
    /// Whether the rest of an algorithm goes on by itself when none of its
    /// canaries failed; otherwise nothing more is started.
    pub release: bool,
}

/// How a job of a lane ended.
pub(super) enum Ended<'a> {
    /// With a result.
    Completed,
    /// Without one.
    Failed(ErrorClass, &'a str),
}

/// Tells whether a failure speaks about the algorithm rather than about the job.
fn speaks_of_the_algo(class: ErrorClass) -> bool {
    match class {
        ErrorClass::Transient | ErrorClass::Permanent | ErrorClass::Unknown => true,
        // A provider without credit is closed, which is another matter.
        ErrorClass::BadInput | ErrorClass::OutOfCredit => false,
    }
}

impl Executor<'_> {
    /// Returns the algorithm of a job if failures can pause it.
    pub(super) fn breaker_key(&self, waiting: &Waiting) -> Option<AlgoKey> {
        let job = &waiting.planned.job;
        let most = self.algorithm_of(job).ok()?.breaker_failures;
        let algo = AlgoKey::parse(&self.algo_of(job)).ok();
        algo.filter(|_| most > 0)
    }

    /// Notes how a job ended: for the breaker, and for its algorithm's trial.
    pub(super) fn lane_ended(
        &self,
        waiting: &Waiting,
        ended: &Ended<'_>,
        span: Span,
        usd: Option<f64>,
    ) {
        let telling = match ended {
            Ended::Completed => false,
            Ended::Failed(class, _) => speaks_of_the_algo(*class),
        };
        if waiting.canary {
            self.dispatch.note_trial(waiting.lane, |trial| {
                trial.duration += span.duration;
                trial.spent_usd += usd.unwrap_or_default();
                match ended {
                    Ended::Completed => trial.completed += 1,
                    Ended::Failed(class, _) => {
                        let unknown = *class == ErrorClass::Unknown;
                        trial.failed += 1;
                        trial.possibly_billed += usize::from(unknown && usd.is_none());
                    }
                }
            });
        }
        let Some(algo) = self.breaker_key(waiting) else {
            return;
        };
        if waiting.probe.is_some() {
            self.probe_ended(&algo, ended, telling);
            return;
        }
        let failed = match ended {
            Ended::Failed(_, error) if telling => Some(error),
            Ended::Completed => None,
            Ended::Failed(..) => return,
        };
        let forced = self.conditions.forced.is_some();
        if failed.is_none() && !forced && self.store.counts_successes() {
            return;
        }
        let in_a_row = self.conditions.providers.ended(&algo, failed.is_some());
        match (in_a_row, failed) {
            (Ok(in_a_row), Some(error)) => self.trip(waiting, &algo, in_a_row, error),
            (Ok(_), None) => {}
            (Err(error), _) => self.warn_once(format!(
                "the failures in a row of algo {algo} cannot be counted: {}",
                error.in_full()
            )),
        }
    }

    /// Lets a paused algorithm go on for everybody, or pauses it anew. A job that says
    /// nothing about it leaves that to the next one.
    fn probe_ended(&self, algo: &AlgoKey, ended: &Ended<'_>, telling: bool) {
        let providers = &self.conditions.providers;
        match ended {
            Ended::Completed if providers.open(Closable::Algo, algo).is_ok() => {
                self.report(EventKind::Notice {
                    message: format!("algo {algo} works again and continues"),
                });
            }
            Ended::Failed(_, error) if telling => {
                self.pause(algo, format!("it failed again: {}", one_line(error)));
            }
            _ => {}
        }
    }

    /// Pauses the algorithm for every worker if it failed too often in a row.
    fn trip(&self, waiting: &Waiting, algo: &AlgoKey, in_a_row: u32, error: &str) {
        let job = &waiting.planned.job;
        let most = self.algorithm_of(job).map_or(0, |c| c.breaker_failures);
        if in_a_row < most {
            return;
        }
        let providers = &self.conditions.providers;
        let closed = providers.closed(Closable::Algo, algo, self.clock.now());
        if closed.is_ok_and(|closed| closed.is_some()) {
            return;
        }
        let last = one_line(error);
        let reason = format!("{in_a_row} failures in a row, the last: {last}");
        self.pause(algo, reason);
    }

    fn pause(&self, algo: &AlgoKey, reason: String) {
        let pause = Closure {
            provider: algo.clone(),
            closed_at: self.clock.now(),
            until: None,
            reason,
        };
        let closed = self.conditions.providers.close(Closable::Algo, &pause);
        self.dispatch.look_again();
        match closed {
            Ok(_) => self.report(EventKind::BreakerOpened {
                algo: algo.to_string(),
                reason: pause.reason,
            }),
            Err(error) => self.report(EventKind::Warning {
                message: format!(
                    "algo {algo} fails again and again but cannot be paused: {}",
                    error.in_full()
                ),
            }),
        }
    }

    /// Tells how the canaries did, and how many jobs wait behind them.
    pub(super) fn tell_of_canaries(
        &self,
        unclaimed: &BTreeMap<String, usize>,
    ) -> Vec<CanaryResult> {
        if self.conditions.canary.is_none() {
            return Vec::new();
        }
        let mut results = Vec::new();
        for (lane, algo) in self.lanes.algos() {
            let trial = self.dispatch.trial(lane);
            let ended = trial.completed + trial.failed;
            let mean = trial.duration.as_secs_f64() / (ended.max(1) as f64);
            let result = CanaryResult {
                algo: algo.to_owned(),
                completed: trial.completed,
                failed: trial.failed,
                spent_usd: Usd::of(trial.spent_usd).dollars(),
                possibly_billed: trial.possibly_billed,
                avg_duration_s: (mean * 1e6).round() / 1e6,
                waiting: self.dispatch.remaining_in(lane) + unclaimed.get(algo).unwrap_or(&0),
            };
            self.report(EventKind::CanaryEnded(result.clone()));
            results.push(result);
        }
        results
    }
}
