//! Whether the jobs of an algorithm may start: what makes it can be used, its provider is
//! open and it is not paused, whoever closed or paused it.
//!
//! Asked for one job where jobs are listed, and for a whole lane where a store hands them out.

use std::sync::Arc;
use std::time::Duration;

use crate::domain::id::AlgoKey;
use crate::domain::text::one_line;
use crate::engine::attempt::Failure;
use crate::engine::breaker::PAUSE;
use crate::engine::dispatcher::{Answer, Cause, Tally, Waiting};
use crate::engine::event::EventKind;
use crate::engine::executor::Executor;
use crate::engine::{Algorithm, lanes};
use crate::store::JobRecord;
use crate::store::providers::{Closable, Closure, Permit};

/// What the provider and the breaker of a lane let start.
pub(super) enum Look {
    /// Its jobs.
    Open,
    /// One job, which tries for all workers whether the algorithm works again.
    Probe(Arc<Permit>),
    /// Nothing at this moment.
    Wait,
    /// Nothing until somebody does something about it.
    Blocked(Blocked),
}

/// Why nothing starts, which is told when the run is over.
pub(super) enum Blocked {
    Provider(AlgoKey, String),
    Algo(AlgoKey, String),
}

impl Blocked {
    /// Counts so many jobs that do not start.
    pub(super) fn count(&self, tally: &mut Tally, jobs: usize) {
        match self {
            Self::Provider(provider, reason) => tally.blocked(provider, reason, jobs),
            Self::Algo(algo, reason) => tally.paused(algo, reason, jobs),
        }
    }
}

impl Executor<'_> {
    /// Returns what keeps an algorithm from making anything now, if something does.
    pub(super) fn obstacle_to(
        &self,
        algorithm: Result<&Algorithm, String>,
        algo: &str,
    ) -> Option<String> {
        match algorithm {
            Ok(algorithm) => algorithm
                .obstacle_now(self.conditions.workspace.root())
                .or_else(|| self.dispatch.denied(&account_of(algorithm, algo))),
            Err(reason) => Some(reason),
        }
    }

    /// Returns the job if something can make it now; otherwise leaves it as it is: what
    /// is wrong with the set-up is no failure of the job.
    pub(super) fn unless_unusable(&self, waiting: Waiting) -> Result<Waiting, Answer> {
        let job = &waiting.planned.job;
        let algo = self.algo_of(job);
        let Some(obstacle) = self.obstacle_to(self.algorithm_of(job), &algo) else {
            return Ok(waiting);
        };
        self.dispatch
            .count(|tally| tally.unusable(&algo, obstacle, 1));
        Err(Answer::Over)
    }

    /// Notes that a provider refuses the account's key: this run asks it no more.
    pub(super) fn deny(&self, job: &JobRecord, reason: &str) {
        let algo = self.algo_of(job);
        let account = match self.algorithm_of(job) {
            Ok(algorithm) => account_of(algorithm, &algo),
            Err(_) => algo,
        };
        self.dispatch.deny(account, one_line(reason));
    }

    /// Returns the job if its provider is open and its algorithm not paused; otherwise keeps
    /// it for later, or counts it as blocked where only a person can open the provider.
    pub(super) fn unless_closed(&self, mut waiting: Waiting) -> Result<Waiting, Answer> {
        let algo = self.breaker_key(&waiting);
        match self.look(waiting.lane, algo.as_ref()) {
            Look::Open => Ok(waiting),
            Look::Probe(probe) => {
                waiting.probe = Some(probe);
                Ok(waiting)
            }
            Look::Wait => Err(Answer::Held(Box::new(waiting))),
            Look::Blocked(blocked) => {
                self.dispatch.count(|tally| blocked.count(tally, 1));
                Err(Answer::Over)
            }
        }
    }

    /// Looks whether the jobs of a lane may start; `algo` is named if it can be paused.
    pub(super) fn look(&self, lane: usize, algo: Option<&AlgoKey>) -> Look {
        match (self.look_at_provider(lane), algo) {
            (Look::Open, Some(algo)) => self.look_at_breaker(lane, algo),
            (look, _) => look,
        }
    }

    fn look_at_provider(&self, lane: usize) -> Look {
        let Some((gate, lanes::Gate { provider, .. })) = self.lanes.gate_of(lane) else {
            return Look::Open;
        };
        if !self.dispatch.may_look(gate) {
            return Look::Wait;
        }
        let providers = &self.conditions.providers;
        let closure = providers.closed_to_worker(Closable::Provider, provider, self.clock.now());
        match closure {
            Ok(None) => Look::Open,
            Ok(Some(closure)) => match closure.until {
                Some(until) => {
                    let cause = Cause::Closed(until, closure.reason);
                    self.dispatch.refused(gate, cause);
                    Look::Wait
                }
                None => Look::Blocked(Blocked::Provider(provider.clone(), closure.reason)),
            },
            Err(error) if error.is_away() => Look::Wait,
            // What cannot be read may close it: nothing is bought on a guess.
            Err(error) => {
                let reason = format!("whether it is open cannot be read: {}", error.in_full());
                Look::Blocked(Blocked::Provider(provider.clone(), reason))
            }
        }
    }

    /// Of a paused algorithm one job of all workers may try, some time after the last failure.
    fn look_at_breaker(&self, lane: usize, algo: &AlgoKey) -> Look {
        let providers = &self.conditions.providers;
        let now = self.clock.now();
        let blocked = |reason| Look::Blocked(Blocked::Algo(algo.clone(), reason));
        let pause = match providers.closed(Closable::Algo, algo, now) {
            Ok(None) => return Look::Open,
            Ok(Some(pause)) => pause,
            Err(error) if error.is_away() => return Look::Wait,
            // Whoever paused it had a reason.
            Err(error) => {
                let reason = format!("whether it is paused cannot be read: {}", error.in_full());
                return blocked(reason);
            }
        };
        if now < pause.closed_at.plus(PAUSE) {
            return blocked(pause.reason);
        }
        let gate = self.lanes.gate_of(lane).map(|(gate, _)| gate);
        match (providers.try_probe(algo), gate) {
            (Ok(Some(probe)), _) => {
                self.report(EventKind::Notice {
                    message: format!(
                        "algo {algo} was paused; one job tries whether it works again"
                    ),
                });
                Look::Probe(Arc::new(probe))
            }
            (Ok(None), Some(gate)) => {
                let cause = Cause::Probe(algo.to_string());
                self.dispatch.refused(gate, cause);
                Look::Wait
            }
            (Ok(None), None) if self.handing.is_some() => Look::Wait,
            (Err(error), _) if error.is_away() => Look::Wait,
            _ => blocked(pause.reason),
        }
    }

    /// Closes a provider for every worker of the workspace; tells whether it is
    /// closed now. If not, its job must not come back at once for ever.
    pub(super) fn close_provider(
        &self,
        provider: &AlgoKey,
        failure: &Failure,
        time: Option<Duration>,
    ) -> bool {
        let now = self.clock.now();
        let closure = Closure {
            provider: provider.clone(),
            closed_at: now,
            until: time.map(|time| now.plus(time)),
            reason: one_line(&failure.message),
        };
        let closed = self
            .conditions
            .providers
            .close(Closable::Provider, &closure);
        // Only now: a look meanwhile may have found it open.
        self.dispatch.look_again();
        match closed {
            Ok(true) => {}
            Ok(false) => return true,
            Err(error) => {
                self.report(EventKind::Warning {
                    message: format!(
                        "provider {provider} asked for a pause but could not be closed: {}",
                        error.in_full()
                    ),
                });
                return false;
            }
        }
        self.report(EventKind::ProviderClosed {
            provider: provider.to_string(),
            reason: closure.reason,
            until: closure.until,
        });
        true
    }
}

/// Returns the name of the account that an algorithm uses.
fn account_of(algorithm: &Algorithm, algo: &str) -> String {
    let provider = algorithm.provider.as_ref();
    provider.map_or_else(|| algo.to_owned(), AlgoKey::to_string)
}
