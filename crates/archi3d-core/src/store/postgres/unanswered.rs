//! Claims whose answers were lost.

use std::time::{Duration, Instant};

use super::claim::{self, Hold};
use super::connect::Connection;
use super::ending;
use super::error::PgResult;
use super::handing::given_back;
use super::worker::PgStore;
use crate::store::ReleaseReason;

/// Whether jobs may be ours that nobody here knows of, because the answer to a claim was lost.
#[derive(Debug, Default)]
pub(super) struct Unanswered {
    asked: bool,
    /// Until then such a claim may still be committed: the server took it, and only we stopped waiting.
    late: Option<Instant>,
}

impl Unanswered {
    pub(super) fn ask(&mut self) {
        self.asked = true;
    }

    pub(super) fn answer(&mut self) {
        self.asked = false;
    }

    pub(super) fn is_open(&self) -> bool {
        self.asked || self.late.is_some()
    }

    /// Whoever comes later than one lease after it was asked has no lease left.
    pub(super) fn look(&mut self, lease: Duration) {
        let now = Instant::now();
        if std::mem::take(&mut self.asked) {
            self.late = Some(now + lease);
        }
        self.late.take_if(|late| *late <= now);
    }
}

impl PgStore {
    /// Gives back what was claimed for us without our hearing of it: nothing of it has begun.
    pub(super) fn give_back_unanswered(&self, unanswered: &mut Unanswered) -> PgResult<()> {
        if unanswered.is_open() {
            self.link.ask(Duration::ZERO, |c| self.release_unknown(c))?;
            unanswered.look(self.link.lease);
        }
        Ok(())
    }

    /// Gives back what the server has as ours and nobody here knows of.
    pub(super) fn release_unknown(&self, connection: &mut Connection) -> PgResult<()> {
        let mine = claim::mine(connection, self.link.run_no, &self.link.worker)?;
        let unknown = |hold: &Hold| {
            // In this order: whoever lets go of a job has put its ending into the spool before.
            !self.link.has(hold) && self.spool().waiting().iter().all(|e| e.hold() != hold)
        };
        let unknown: Vec<Hold> = mine.into_iter().filter(unknown).collect();
        if unknown.is_empty() {
            return Ok(());
        }
        let how = given_back(ReleaseReason::Interrupted);
        ending::release(connection, &unknown, &how).map(drop)
    }
}
