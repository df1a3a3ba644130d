//! What a worker would do with a run, what it would cost and how long it would take.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Serialize, Serializer};

use super::seconds;
use crate::domain::id::{JobId, RunId};
use crate::domain::money::Usd;
use crate::domain::order::JobOrder;
use crate::domain::reason::ReasonCode;
use crate::domain::time::Timestamp;
use crate::ops::find::JobName;
use crate::ops::money::Money;

/// What would become of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum PlannedAction {
    /// It would run.
    Run,
    /// Its result would be asked for; it is bought already.
    #[serde(rename = "re-attach")]
    Reattach,
    /// The result of an identical job would be copied.
    Reuse,
    /// Somebody works on it.
    Busy,
    /// It is selected, but something keeps it from starting or succeeding.
    Blocked,
    /// It would be left alone.
    Skip,
}

impl PlannedAction {
    /// Every fate, in the order people want to see them.
    pub const ALL: [Self; 6] = [
        Self::Run,
        Self::Reattach,
        Self::Reuse,
        Self::Busy,
        Self::Blocked,
        Self::Skip,
    ];

    /// Returns the word for people and programs.
    pub fn word(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Reattach => "re-attach",
            Self::Reuse => "reuse",
            Self::Busy => "busy",
            Self::Blocked => "blocked",
            Self::Skip => "skip",
        }
    }

    /// Tells whether the worker would carry it out.
    pub fn starts(self) -> bool {
        matches!(self, Self::Run | Self::Reattach | Self::Reuse)
    }
}

/// Why a job has its fate.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Reason {
    /// In a word that programs can rely on.
    pub code: ReasonCode,
    /// In words that follow a number of jobs.
    #[serde(skip)]
    pub words: String,
    /// What is known of this job; the same words where that is no more.
    #[serde(rename = "reason")]
    pub of_job: String,
}

impl Reason {
    pub(in crate::ops) fn new(code: ReasonCode, words: impl Into<String>) -> Self {
        let words = words.into();
        Self {
            code,
            of_job: words.clone(),
            words,
        }
    }

    pub(in crate::ops) fn with_detail(self, detail: String) -> Self {
        Self {
            of_job: detail,
            ..self
        }
    }
}

/// A reason and how many jobs have it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ReasonCount {
    /// What would become of them.
    pub fate: PlannedAction,
    /// The reason in a word.
    pub code: ReasonCode,
    /// The reason in words that follow a number.
    #[serde(rename = "reason")]
    pub words: String,
    /// How many.
    pub jobs: usize,
}

/// One job of a plan.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct JobPlan {
    /// The job.
    pub job_id: JobId,
    /// What it is known by; the algorithm is the one that carries it out.
    #[serde(flatten)]
    pub name: JobName,
    /// What would become of it.
    pub fate: PlannedAction,
    /// Why.
    #[serde(flatten)]
    pub reason: Reason,
    /// What it would cost.
    #[serde(flatten)]
    pub price: PlannedCost,
}

/// The jobs of one algorithm.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AlgoPlan {
    /// Its key.
    pub algo: String,
    /// How many jobs have each fate, by [`PlannedAction::ALL`].
    #[serde(rename = "counts", serialize_with = "by_fate")]
    pub fates: [usize; PlannedAction::ALL.len()],
    /// What one generation costs.
    #[serde(rename = "unit_price_usd")]
    pub unit_usd: Option<f64>,
    /// The costs of those that would start.
    pub cost: Sums,
    /// Half of its earlier jobs took no longer than this.
    pub median_s: Option<f64>,
    /// How long its jobs take with the parallelism given.
    #[serde(rename = "time_s", serialize_with = "seconds")]
    pub time: Option<Duration>,
}

/// Results that jobs would buy although identical ones exist.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Identical {
    /// How many.
    pub results: usize,
    /// What copying them would save.
    pub saves_usd: Usd,
    /// Whether only some jobs were looked at: reading pictures takes time.
    pub at_least: bool,
}

/// Prices that a service was asked for some time ago.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ListedPrices {
    /// The algorithms that have them.
    pub algos: Vec<String>,
    /// When the oldest of them was told.
    pub fetched_at: Timestamp,
    /// How long ago that was, in seconds.
    pub age_s: u64,
    /// Who told it.
    pub source: String,
}

/// What a worker would do.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Plan {
    /// The run.
    pub run_id: RunId,
    /// When this was read.
    pub at: Timestamp,
    /// Whether it is about a rehearsal.
    pub dry_run: bool,
    /// How many jobs would run at once.
    pub max_parallel: usize,
    /// The order in which jobs are taken.
    pub order: JobOrder,
    /// How many jobs have each fate, by [`PlannedAction::ALL`].
    #[serde(rename = "counts", serialize_with = "by_fate")]
    pub fates: [usize; PlannedAction::ALL.len()],
    /// Every job that the filters match, as the manifest has them; those that are
    /// selected in the order in which they are taken.
    pub jobs: Vec<JobPlan>,
    /// The same by algorithm.
    pub algos: Vec<AlgoPlan>,
    /// The costs of all that would start.
    pub cost: Sums,
    /// How long it takes; nothing if some algorithm has no past.
    #[serde(rename = "time_s", serialize_with = "seconds")]
    pub time: Option<Duration>,
    /// The money of the run as it stands before.
    pub money: Money,
    /// What the ledger of the run says afterwards, if every job that starts costs what it is
    /// expected to.
    pub after_usd: Usd,
    /// The reasons of each fate with their counts, the most first.
    pub reasons: Vec<ReasonCount>,
    /// Prices that a service was asked for, where jobs that would start have them.
    #[serde(rename = "listed_prices")]
    pub listed: Option<ListedPrices>,
    /// What `--reuse` would copy instead of buying, where it was not asked for.
    pub identical: Identical,
    /// How `--jobs` was understood, if it matches a job.
    #[serde(skip)]
    pub reading: Option<String>,
    /// What looked wrong while reading, one sentence each.
    pub warnings: Vec<String>,
}

impl Plan {
    /// Returns how many jobs would start.
    pub fn starting(&self) -> usize {
        starting(&self.fates)
    }
}

/// Returns how many of the jobs counted by [`PlannedAction::ALL`] would start.
pub fn starting(fates: &[usize; PlannedAction::ALL.len()]) -> usize {
    let starts = PlannedAction::ALL.into_iter().filter(|fate| fate.starts());
    starts.map(|fate| fates[fate as usize]).sum()
}

/// Returns the reasons of each fate with their counts, the most first.
pub(in crate::ops) fn reasons(jobs: &[JobPlan]) -> Vec<ReasonCount> {
    let mut counted: BTreeMap<(PlannedAction, &str, &str), (ReasonCode, usize)> = BTreeMap::new();
    for job in jobs {
        let code = job.reason.code;
        let key = (job.fate, code.word(), job.reason.words.as_str());
        counted.entry(key).or_insert((code, 0)).1 += 1;
    }
    let counted = counted.into_iter();
    let mut reasons: Vec<ReasonCount> = counted
        .map(|((fate, _, words), (code, jobs))| ReasonCount {
            fate,
            code,
            words: words.to_owned(),
            jobs,
        })
        .collect();
    reasons.sort_by_key(|reason| (reason.fate, std::cmp::Reverse(reason.jobs)));
    reasons
}

fn by_fate<S: Serializer>(
    counts: &[usize; PlannedAction::ALL.len()],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_map(PlannedAction::ALL.map(|fate| (fate, counts[fate as usize])))
}

/// What one job costs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PlannedCost {
    /// Whether it costs something that nobody knows.
    pub unknown: bool,
    /// What it is expected to cost.
    pub expected: Usd,
    /// What it costs if every attempt is billed.
    pub worst: Usd,
    /// What is reserved for it already.
    pub reserved: Usd,
    /// What the ledger does not hold yet.
    pub new: Usd,
    /// What it does not hold yet of this day.
    pub new_today: Usd,
}

impl Serialize for PlannedCost {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let known = |usd: Usd| (!self.unknown).then_some(usd);
        serializer.collect_map([
            ("expected_usd", known(self.expected)),
            ("worst_usd", known(self.worst)),
            ("new_usd", known(self.new)),
        ])
    }
}

/// The costs of several jobs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Sums {
    /// What they are expected to cost.
    pub expected_usd: Usd,
    /// What they cost if every attempt is billed.
    pub worst_usd: Usd,
    /// What is reserved for them already.
    pub reserved_usd: Usd,
    /// What the ledger does not hold yet.
    pub new_usd: Usd,
    /// How many cost something that nobody knows.
    #[serde(rename = "unknown_price_jobs")]
    pub unknown: usize,
    /// Whether a limit keeps the worst case from being worse.
    pub worst_capped: bool,
}
