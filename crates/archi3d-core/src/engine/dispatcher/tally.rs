//! Counts what came of the jobs of a run, and why some did not start.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::domain::id::AlgoKey;
use crate::engine::event::Summary;

/// What came of the jobs so far.
#[derive(Debug, Default)]
pub(in crate::engine) struct Tally {
    pub(in crate::engine) summary: Summary,
    pub(in crate::engine) total_duration: Duration,
    /// Providers that kept jobs from starting, and what they said.
    pub(in crate::engine) closed: BTreeMap<AlgoKey, String>,
    /// Algorithms that cannot make anything, why, and how many jobs that concerns.
    pub(in crate::engine) unusable: BTreeMap<String, (String, usize)>,
    /// Algorithms that were paused and kept jobs from starting, and why.
    pub(in crate::engine) paused: BTreeMap<AlgoKey, (String, usize)>,
}

impl Tally {
    /// Notes that a closed provider keeps so many jobs from starting.
    pub(in crate::engine) fn blocked(&mut self, provider: &AlgoKey, reason: &str, jobs: usize) {
        self.summary.blocked += jobs;
        self.closed.insert(provider.clone(), reason.to_owned());
    }

    /// Notes that nothing can make so many jobs of an algorithm.
    pub(in crate::engine) fn unusable(&mut self, algo: &str, reason: String, jobs: usize) {
        self.summary.blocked += jobs;
        let unusable = self.unusable.entry(algo.to_owned()).or_default();
        *unusable = (reason, unusable.1 + jobs);
    }

    /// Notes that the pause of an algorithm keeps so many jobs from starting.
    pub(in crate::engine) fn paused(&mut self, algo: &AlgoKey, reason: &str, jobs: usize) {
        self.summary.blocked += jobs;
        let paused = self.paused.entry(algo.clone()).or_default();
        *paused = (reason.to_owned(), paused.1 + jobs);
    }
}
