//! Algorithms that fail again and again: a breaker pauses them, and canaries try
//! them out before the rest is spent on.
//!
//! Only failures that speak about the algorithm count; a picture that is missing
//! says nothing about it.

use crate::domain::id::AlgoKey;
use crate::domain::patch::Span;
use crate::domain::retry::ErrorClass;
use crate::domain::text::one_line;
use crate::engine::Pool;
use crate::engine::event::{CanaryResult, EventKind};
use crate::engine::queue::Waiting;
use crate::workspace::provider::{Closure, ProviderGate};

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

impl Pool<'_> {
    /// Returns the job if its algorithm is not paused; otherwise counts it as
    /// kept back.
    pub(super) fn wait_for_breaker(&self, waiting: Waiting) -> Option<Waiting> {
        let Some(key) = self.breaker_key(&waiting) else {
            return Some(waiting);
        };
        let gate = ProviderGate::breakers(&self.conditions.workspace);
        match gate.closed(&key, self.clock.now()) {
            Ok(Some(pause)) => {
                self.count(|tally| tally.paused(&key, &pause.reason));
                None
            }
            // A folder that cannot be read pauses nothing.
            Ok(None) | Err(_) => Some(waiting),
        }
    }

    fn breaker_key(&self, waiting: &Waiting) -> Option<AlgoKey> {
        let job = &waiting.planned.job;
        let most = self.carrier_of(job).ok()?.breaker_failures;
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
        let in_a_row = {
            let mut record = self.lanes.record(waiting.lane);
            if waiting.canary {
                let trial = &mut record.canaries;
                trial.duration += span.duration;
                trial.spent_usd += usd.unwrap_or_default();
                match ended {
                    Ended::Completed => trial.completed += 1,
                    Ended::Failed(..) => {
                        trial.failed += 1;
                        let unknown = matches!(ended, Ended::Failed(ErrorClass::Unknown, _));
                        trial.possibly_billed += usize::from(unknown && usd.is_none());
                        trial.telling += usize::from(telling);
                    }
                }
            }
            match ended {
                Ended::Completed => record.failures_in_a_row = 0,
                Ended::Failed(..) => record.failures_in_a_row += u32::from(telling),
            }
            record.failures_in_a_row
        };
        if let Ended::Failed(_, error) = ended
            && telling
        {
            self.trip(waiting, in_a_row, error);
        }
    }

    /// Pauses the algorithm for every worker if it failed too often in a row.
    fn trip(&self, waiting: &Waiting, in_a_row: u32, error: &str) {
        let job = &waiting.planned.job;
        let most = self.carrier_of(job).map_or(0, |c| c.breaker_failures);
        let Some(algo) = self.breaker_key(waiting).filter(|_| in_a_row >= most) else {
            return;
        };
        let pause = Closure {
            provider: algo.clone(),
            closed_at: self.clock.now(),
            until: None,
            reason: format!(
                "{in_a_row} failures in a row, the last: {}",
                one_line(error)
            ),
        };
        let gate = ProviderGate::breakers(&self.conditions.workspace);
        let standing = gate.closed(&algo, pause.closed_at);
        if standing.is_ok_and(|standing| standing.is_some()) {
            return;
        }
        match gate.close(&pause) {
            Ok(()) => self.report(EventKind::BreakerOpened {
                algo: algo.to_string(),
                reason: pause.reason,
            }),
            Err(error) => self.report(EventKind::Warning {
                message: format!("algo {algo} fails again and again but cannot be paused: {error}"),
            }),
        }
    }

    /// Tells whether more than the canaries of a lane may run, once these ended.
    pub(super) fn is_released(&self, lane: usize) -> bool {
        match self.conditions.canary {
            None => true,
            Some(canary) => canary.release && self.lanes.record(lane).canaries.telling == 0,
        }
    }

    /// Tells how the canaries did, and how many jobs wait behind them.
    pub(super) fn tell_of_canaries(&self) -> Vec<CanaryResult> {
        if self.conditions.canary.is_none() {
            return Vec::new();
        }
        let mut results = Vec::new();
        for (lane, algo) in self.lanes.algos() {
            let trial = self.lanes.record(lane).canaries.clone();
            let ended = trial.completed + trial.failed;
            let mean = trial.duration.as_secs_f64() / (ended.max(1) as f64);
            let result = CanaryResult {
                algo: algo.to_owned(),
                completed: trial.completed,
                failed: trial.failed,
                spent_usd: (trial.spent_usd * 1e6).round() / 1e6,
                possibly_billed: trial.possibly_billed,
                avg_duration_s: (mean * 1e6).round() / 1e6,
                waiting: self.queue.remaining_in(lane),
            };
            self.report(EventKind::CanaryEnded(result.clone()));
            results.push(result);
        }
        results
    }
}
