//! Jobs that cost nothing, taken ahead of the threads that will run them.

use std::time::{Duration, Instant};

use crate::cancel::Stage;
use crate::domain::lease::Lease;
use crate::engine::Pool;
use crate::engine::served::{LONGEST_WAIT, Served};

/// How often endings that were kept are sent.
const SEND_EVERY: Duration = Duration::from_millis(2);

impl Pool<'_> {
    /// Tells whether fewer than half of the jobs are there that are to be taken ahead.
    pub(super) fn runs_short(&self, served: &Served) -> bool {
        let ahead = self.ahead();
        if ahead == 0 {
            return false;
        }
        let buffer = served.buffer();
        let open = buffer.again.is_none_or(|again| again <= Instant::now());
        // Where none is left, whoever waits for one asks, and hears whether that was all.
        (1..=ahead / 2).contains(&buffer.ready.len()) && !buffer.asking && open
    }

    /// Returns how many jobs are taken ahead; none where the first ones are on trial.
    pub(super) fn ahead(&self) -> usize {
        let on_trial = self.conditions.canary.is_some();
        if on_trial { 0 } else { self.conditions.ahead }
    }

    /// Keeps the leases of jobs that were taken ahead.
    pub(super) fn keep_ahead(&self) {
        let Some(served) = self.served.as_ref().filter(|_| self.conditions.ahead > 0) else {
            return;
        };
        let ready: Vec<Lease> = {
            let buffer = served.buffer();
            let ready = buffer.ready.iter();
            ready.map(|handed| handed.lease.clone()).collect()
        };
        if !ready.is_empty() {
            self.store.keep_ahead(&ready.iter().collect::<Vec<_>>());
        }
    }

    /// Sends endings that were kept, until the pool ends.
    pub(super) fn send_kept(&self) {
        while !self.heartbeat.has_ended() {
            if self.cancel.stage() != Stage::Go || self.halted().is_some() {
                // At once: threads may be busy with their last jobs for long.
                self.served.iter().for_each(|one| self.give_back_ready(one));
            }
            let pause = match self.store.send_kept() {
                Ok(None) => SEND_EVERY,
                Ok(Some(0)) => LONGEST_WAIT,
                Ok(Some(_)) => {
                    self.served.iter().for_each(Served::wake);
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
