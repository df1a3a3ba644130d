//! Results that are to be made again, when several workers were asked to do so.
//!
//! Used by the pool right after it has taken a job.

use crate::domain::job::{Entry, JobState};
use crate::engine::Pool;
use crate::engine::queue::Waiting;
use crate::store::{Claim, ReleaseReason, StoreError};

impl Pool<'_> {
    /// Lets go of a result that somebody else has made again since this worker read the
    /// run: nobody wants it, or pays for it, once more.
    pub(super) fn unless_redone(
        &self,
        waiting: &Waiting,
        claim: Claim,
    ) -> Result<Claim, StoreError> {
        let Claim::Taken(lease) = claim else {
            return Ok(claim);
        };
        if waiting.planned.entry != Entry::Redo || waiting.tried || !lease.redone {
            return Ok(Claim::Taken(lease));
        }
        let now = self.clock.now();
        let reason = ReleaseReason::Interrupted;
        self.store.release(&lease, reason, None, now)?;
        Ok(Claim::Changed(JobState::Completed {
            attempt: lease.attempt,
            simulated: false,
        }))
    }
}
