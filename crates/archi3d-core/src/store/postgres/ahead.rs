//! Jobs that are taken ahead of the threads that will run them, and endings that wait to be sent together.
//!
//! Opt-in, and only for jobs that cost nothing. What is held ahead has a short lease, so that others have it soon after
//! this worker was killed; an ending is on this machine's disk before anybody goes on.

use super::claim::{self, Hold};
use super::ending::{self, Success};
use super::handing::given_back;
use super::record;
use super::worker::PgStore;
use crate::domain::lease::Lease;
use crate::store::{ReleaseReason, StoreError};

impl PgStore {
    /// Keeps the leases of jobs that nobody has begun, for a short while.
    pub(super) fn renew_ahead(&self, leases: &[&Lease]) {
        let holds: Result<Vec<Hold>, StoreError> =
            leases.iter().map(|lease| self.link.hold(lease)).collect();
        if let (Ok(holds), Some(ahead)) = (holds, self.ahead) {
            let pulses: Vec<claim::Pulse> = holds
                .into_iter()
                .map(|hold| record::pulse(hold, None))
                .collect();
            let worker = self.link.worker.as_str();
            // Whoever starts one of them looks whether it is still ours.
            let _ = self.link.beat(|c| claim::beat(c, &pulses, worker, ahead));
        }
    }

    /// Gives them back, all in one statement.
    pub(super) fn give_back_ahead(&self, leases: &[&Lease]) -> Result<(), StoreError> {
        let holds: Result<Vec<Hold>, StoreError> =
            leases.iter().map(|lease| self.link.hold(lease)).collect();
        let (holds, how) = (holds?, given_back(ReleaseReason::Interrupted));
        // If that fails, their leases run out soon.
        let released = self
            .link
            .ask(self.patience(), |c| ending::release(c, &holds, &how));
        self.link.forget(&holds);
        Ok(released.map(drop)?)
    }

    /// Tells whether a result may wait on this machine's disk until it is sent with others: never one that cost money.
    pub(super) fn may_wait(&self, lease: &Lease, success: &Success) -> bool {
        let free = success.simulated || success.cost_micros == Some(0);
        self.ahead.is_some() && free && lease.request_id.is_none() && lease.intent.is_none()
    }
}
