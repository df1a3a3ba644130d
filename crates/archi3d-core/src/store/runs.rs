//! Runs as people look at them, whichever store has them.
//!
//! `ops` asks a [`Runs`] and shapes the same views from the same types on every store. What every
//! implementation promises:
//! - it only looks, but for [`Runs::settle_by_hand`] and [`Runs::open`]: takes no lock that a worker waits for, and
//!   changes nothing;
//! - what it tells of a run is no older than the call, but for [`Runs::counts`] and times of endings on files, which are in
//!   rows that are written a moment later; all times are by the clock of [`Runs::now`];
//! - money counts as it counts for limits: what was spent or set aside before a run came to the store is part of it;
//! - an attempt is told once, also where it was made before the run came to the store.

use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::{Hash as _, Hasher as _};
use std::sync::Arc;

use serde::Serialize;

use crate::domain::budget::{AttemptKey, Balance, ByHand};
use crate::domain::id::{AlgoKey, JobId, Nonce, RunId};
use crate::domain::item_name::ItemName;
use crate::domain::lease::Rhythm;
use crate::domain::text::one_line;
use crate::domain::time::Timestamp;
use crate::store::attempt::RunAttempts;
use crate::store::overview::{Overview, RunCounts};
use crate::store::providers::{Closable, Closure};
use crate::store::reuse::ReuseIndex;
use crate::store::{JobRecord, RunJobs, StoreError};
use crate::workspace::paths::Workspace;

/// Runs, to be looked at.
pub trait Runs: Send + Sync {
    /// Returns the moment, by the clock that all times of the store are told by.
    fn now(&self) -> Result<Timestamp, StoreError>;

    /// Returns how often holders beat, and how long silence is borne.
    fn rhythm(&self, run: &RunId) -> Result<Rhythm, StoreError>;

    /// Returns a run at a glance; quick on a million jobs.
    fn overview(&self, run: &RunId) -> Result<Overview, StoreError>;

    /// Counts a run by status, as its rows say; what workers have just ended may not be in them yet.
    fn counts(&self, run: &RunId) -> Result<RunCounts, StoreError>;

    /// Returns every job of a run in the order of its manifest; `rhythm` judges holders that do not say their own.
    fn jobs(&self, run: &RunId, rhythm: Rhythm) -> Result<RunJobs, StoreError>;

    /// Returns the jobs that a word may mean, as [`may_mean`] says.
    fn jobs_like(&self, run: &RunId, word: &str) -> Result<Vec<JobRecord>, StoreError>;

    /// Returns every attempt of a run or of one of its jobs, and the jobs that it lists.
    fn attempts(&self, run: &RunId, only: Option<&JobId>) -> Result<RunAttempts, StoreError>;

    /// Returns every attempt on record, whatever became of the tables of the run.
    fn recorded_attempts(&self, run: &RunId) -> Result<RunAttempts, StoreError>;

    /// Returns the algorithms of a run's jobs.
    fn algos(&self, run: &RunId) -> Result<AlgoIndex, StoreError>;

    /// Returns the money of a run in full: sums, reservations, what people settled.
    fn money(&self, run: &RunId) -> Result<RunMoney, StoreError>;

    /// Ends the reservation of a job with what a person says it cost.
    fn settle_by_hand(&self, run: &RunId, job: &JobId, usd: f64) -> Result<(), StoreError>;

    /// Returns what jobs of each algorithm turned out to cost where that was more than had been reserved: of this
    /// run, and of every run today.
    fn highest_costs(&self, run: &RunId) -> Result<HashMap<String, f64>, StoreError>;

    /// Returns the providers or algorithms that are closed for all workers now.
    fn closed(&self, what: Closable) -> Result<Vec<Closure>, StoreError>;

    /// Opens a provider, or lets an algorithm continue, for all workers; tells whether it was closed.
    fn open(&self, what: Closable, key: &AlgoKey) -> Result<bool, StoreError>;

    /// Returns how long real jobs of each algorithm took in all runs: half of them no longer.
    fn medians(&self) -> Result<HashMap<String, f64>, StoreError>;

    /// Returns jobs that a dead worker had finished and the next start publishes, with their attempts.
    fn unpublished(&self, run: &RunId) -> Result<HashMap<JobId, u32>, StoreError>;

    /// Returns where earlier results are found that can be copied.
    fn reuse(&self) -> Arc<dyn ReuseIndex>;
}

/// What a person knows a job by.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct JobName {
    /// Its product.
    pub product_id: String,
    /// Its variant; may be empty.
    pub variant: String,
    /// Its algorithm, as the tables have it.
    pub algo: String,
}

impl JobName {
    /// Returns the name of a job.
    pub fn of(record: &JobRecord) -> Self {
        Self {
            product_id: record.product_id.clone(),
            variant: record.variant.clone(),
            algo: match &record.algo {
                Ok(key) => key.to_string(),
                Err(text) => text.clone(),
            },
        }
    }

    /// Returns the product, with its variant where it has one.
    pub fn item(&self) -> String {
        item(&self.product_id, &self.variant)
    }
}

/// Returns a product as people name it: with its variant where it has one.
pub fn item(product: &str, variant: &str) -> String {
    match variant.trim() {
        "" | "default" => one_line(product),
        variant => one_line(&format!("{product}:{variant}")),
    }
}

/// Lists the runs that have a folder in a workspace.
pub fn all(workspace: &Workspace) -> Result<Vec<RunId>, StoreError> {
    workspace.run_ids().map_err(|error| StoreError::Refused {
        message: format!("{} cannot be listed: {error}", workspace.runs().display()),
        hint: None,
    })
}

/// Returns the jobs that a word may mean: the one with this id, else those that begin so or are of this product.
pub fn may_mean<'a, T>(
    jobs: &'a [T],
    word: &str,
    parts: impl Fn(&'a T) -> (&'a str, &'a str, &'a str),
) -> Vec<&'a T> {
    if let Some(whole) = jobs.iter().find(|job| parts(job).0 == word) {
        return vec![whole];
    }
    let Ok(item) = ItemName::parse(word) else {
        return Vec::new();
    };
    let meant = |job: &&'a T| {
        let (id, product, variant) = parts(job);
        id.starts_with(word) || item.matches(product, variant)
    };
    jobs.iter().filter(meant).collect()
}

/// The money of a run in full.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RunMoney {
    /// The sums.
    pub balance: Balance,
    /// What is reserved for jobs.
    pub reserved: BTreeMap<JobId, Reserved>,
    /// What people said was billed, in the order in which they said it.
    pub by_hand: Vec<ByHand>,
    /// The attempts whose money is settled, of jobs that a person said something of; may name others.
    pub settled: HashSet<Nonce>,
}

/// Money that is set aside for a job.
#[derive(Debug, Clone, PartialEq)]
pub struct Reserved {
    /// Whose it is.
    pub attempt_key: AttemptKey,
    /// How much.
    pub usd: f64,
    /// Whether it counts for today.
    pub today: bool,
}

/// The algorithms of a run's jobs, found by their ids.
#[derive(Debug, Default)]
pub struct AlgoIndex {
    names: Vec<String>,
    /// By hash.
    jobs: Vec<(u64, u16)>,
}

impl AlgoIndex {
    /// Joins names and jobs, each with the hash of its id and the place of its algorithm's name.
    pub fn new(names: Vec<String>, mut jobs: Vec<(u64, u16)>) -> Self {
        jobs.sort_unstable();
        Self { names, jobs }
    }

    /// Returns the algorithm of a job, if it is known.
    pub fn of(&self, job: &JobId) -> Option<&str> {
        let hash = id_hash(job.as_str().as_bytes());
        let place = self.jobs.partition_point(|(known, _)| *known < hash);
        let (_, algo) = self.jobs.get(place).filter(|(known, _)| *known == hash)?;
        self.names.get(usize::from(*algo)).map(String::as_str)
    }
}

/// Returns the hash by which a job is found: nothing but sums and counts may rest on it.
pub fn id_hash(id: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    id.hash(&mut hasher);
    hasher.finish()
}
