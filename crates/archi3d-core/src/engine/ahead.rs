//! Jobs that cost nothing, taken ahead of the threads that will run them.

use std::time::Duration;

use crate::cancel::Stage;
use crate::engine::dispatcher::LONGEST_WAIT;
use crate::engine::executor::Executor;
use crate::store::Handing;

/// How often endings that were kept are sent.
const SEND_EVERY: Duration = Duration::from_millis(2);

impl Executor<'_> {
    /// Returns how many jobs are taken ahead; none where the first ones are on trial.
    pub(super) fn ahead(&self) -> usize {
        let on_trial = self.conditions.canary.is_some();
        if on_trial { 0 } else { self.conditions.ahead }
    }

    /// Keeps the leases of jobs that were taken ahead.
    pub(super) fn keep_ahead(&self) {
        let Some(source) = self.handing.filter(|_| self.conditions.ahead > 0) else {
            return;
        };
        let ready = self.dispatch.ready_leases();
        if !ready.is_empty() {
            source.keep_ahead(&ready.iter().collect::<Vec<_>>());
        }
    }

    /// Sends endings that were kept, until the run is over.
    pub(super) fn send_kept(&self, source: &dyn Handing) {
        while !self.heartbeat.has_ended() {
            if self.cancel.stage() != Stage::Go || self.dispatch.halted().is_some() {
                // At once: threads may be busy with their last jobs for long.
                self.give_back_ready(source);
            }
            let pause = match source.send_kept() {
                Ok(None) => SEND_EVERY,
                Ok(Some(0)) => LONGEST_WAIT,
                Ok(Some(_)) => {
                    self.dispatch.ask_at_once();
                    continue;
                }
                Err(error) => {
                    self.store_failed("cannot send endings", &error);
                    LONGEST_WAIT
                }
            };
            std::thread::sleep(pause);
        }
    }
}
