//! Counts what came of the jobs of a pool, and why some did not start.

use std::collections::BTreeMap;
use std::time::Duration;

use super::event::Summary;
use crate::domain::id::AlgoKey;

/// What came of the jobs so far.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) summary: Summary,
    pub(super) total_duration: Duration,
    /// Providers that kept jobs from starting, and what they said.
    pub(super) closed: BTreeMap<AlgoKey, String>,
    /// Algorithms that cannot make anything, why, and how many jobs that concerns.
    pub(super) unusable: BTreeMap<String, (String, usize)>,
    /// Algorithms that were paused and kept jobs from starting, and why.
    pub(super) paused: BTreeMap<AlgoKey, (String, usize)>,
}

impl Tally {
    pub(super) fn blocked(&mut self, provider: &AlgoKey, reason: &str) {
        self.summary.blocked += 1;
        self.closed.insert(provider.clone(), reason.to_owned());
    }

    pub(super) fn unusable(&mut self, algo: String, reason: String) {
        self.summary.blocked += 1;
        self.unusable.entry(algo).or_insert((reason, 0)).1 += 1;
    }

    pub(super) fn paused(&mut self, algo: &AlgoKey, reason: &str) {
        self.summary.blocked += 1;
        let paused = self.paused.entry(algo.clone());
        paused.or_insert_with(|| (reason.to_owned(), 0)).1 += 1;
    }
}
