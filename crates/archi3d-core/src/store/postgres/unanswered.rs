//! Claims whose answers were lost.

use std::time::{Duration, Instant};

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
