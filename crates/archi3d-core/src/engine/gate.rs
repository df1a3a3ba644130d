//! Providers that are closed: no job of theirs starts, whoever closed them.

use std::sync::PoisonError;
use std::time::Duration;

use crate::domain::id::AlgoKey;
use crate::domain::text::one_line;
use crate::engine::attempt::Failure;
use crate::engine::event::EventKind;
use crate::engine::queue::Waiting;
use crate::engine::waits::Cause;
use crate::engine::{Carrier, Pool};
use crate::store::JobRecord;
use crate::store::providers::{Closable, Closure};

impl Pool<'_> {
    /// Returns the job if something can make it now; otherwise leaves it as it is: what
    /// is wrong with the set-up is no failure of the job.
    pub(super) fn unless_unusable(&self, waiting: Waiting) -> Option<Waiting> {
        let job = &waiting.planned.job;
        let obstacle = match self.carrier_of(job) {
            Ok(carrier) => carrier
                .obstacle_now(self.conditions.workspace.root())
                .or_else(|| self.denied_to(carrier, &self.algo_of(job))),
            Err(reason) => Some(reason),
        };
        let Some(obstacle) = obstacle else {
            return Some(waiting);
        };
        let algo = self.algo_of(job);
        self.count(|tally| tally.unusable(algo, obstacle));
        None
    }

    /// Notes that a provider refuses the account's key: this pool asks it no more.
    pub(super) fn deny(&self, job: &JobRecord, reason: &str) {
        let provider = self.carrier_of(job).ok().and_then(|c| c.provider.clone());
        let name = provider.map_or_else(|| self.algo_of(job), |key| key.to_string());
        let denied = self.denied.lock();
        let mut denied = denied.unwrap_or_else(PoisonError::into_inner);
        denied.insert(name, one_line(reason));
    }

    /// Returns what the provider of an algorithm said when it refused the account's key.
    pub(super) fn denied_to(&self, carrier: &Carrier, algo: &str) -> Option<String> {
        let provider = carrier.provider.as_ref();
        let name = provider.map_or_else(|| algo.to_owned(), AlgoKey::to_string);
        let denied = self.denied.lock();
        let denied = denied.unwrap_or_else(PoisonError::into_inner);
        denied.get(&name).cloned()
    }

    /// Returns the job if its provider is open; otherwise keeps it for later, or
    /// counts it as blocked where only a person can open the provider.
    pub(super) fn wait_for_provider(&self, waiting: Waiting) -> Option<Waiting> {
        let Some(lane) = self.lanes.gate_of(waiting.lane) else {
            return Some(waiting);
        };
        if !lane.waits.may_look() {
            self.queue.put_first(waiting);
            return None;
        }
        let provider = &lane.provider;
        let providers = &self.conditions.providers;
        let closure = providers.closed_to_worker(Closable::Provider, provider, self.clock.now());
        let closure = match closure {
            Ok(Some(closure)) => closure,
            Ok(None) => return Some(waiting),
            Err(error) if error.is_away() => {
                self.queue.put_first(waiting);
                return None;
            }
            // What cannot be read may close it: nothing is bought on a guess.
            Err(error) => {
                let reason = format!("whether it is open cannot be read: {}", error.in_full());
                self.count(|tally| tally.blocked(provider, &reason));
                return None;
            }
        };
        match closure.until {
            Some(until) => {
                lane.waits.refused(Cause::Closed(until, closure.reason));
                self.queue.put_first(waiting);
            }
            None => self.count(|tally| tally.blocked(provider, &closure.reason)),
        }
        None
    }

    /// Closes a provider for every worker of the workspace; tells whether it is
    /// closed now. If not, its job must not come back at once for ever.
    pub(super) fn close_provider(
        &self,
        provider: &AlgoKey,
        failure: &Failure,
        time: Option<Duration>,
    ) -> bool {
        self.look_again();
        let now = self.clock.now();
        let closure = Closure {
            provider: provider.clone(),
            closed_at: now,
            until: time.map(|time| now.plus(time)),
            reason: one_line(&failure.message),
        };
        match self
            .conditions
            .providers
            .close(Closable::Provider, &closure)
        {
            Ok(true) => {}
            Ok(false) => return true,
            Err(error) => {
                self.report(EventKind::Warning {
                    message: format!(
                        "provider {provider} has to be left alone but could not be closed: {}",
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
