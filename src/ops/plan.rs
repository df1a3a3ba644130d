//! `run plan`: what `run worker` would do with the same options, what it would
//! cost and how long it would take.
//!
//! Asks the same functions as the worker (`domain::select`, the carriers, the
//! ledger), job by job in the order in which it would take them. Takes no lock
//! and writes nothing. `decide` has the decisions, `cost` the money, `total` the
//! sums and the time.

use std::collections::BTreeMap;
use std::time::Duration;

use std::collections::BTreeSet;

use crate::domain::id::AlgoKey;
use crate::domain::id::{JobId, RunId};
use crate::domain::order::JobOrder;
use crate::domain::time::Timestamp;
use crate::ops::money::{self, Money};
use crate::ops::select::{self, WorkerRequest};
use crate::ops::{OpsContext, OpsError};
use crate::store::JobRecord;
use crate::store::csv;

mod cost;
mod decide;
mod total;
mod words;

pub use cost::{Price, Sums, usd};
pub(super) use decide::Planner;
pub(super) use total::past_medians;

/// What would become of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fate {
    /// It would run.
    Run,
    /// Its result would be asked for; it is bought already.
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

impl Fate {
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
#[derive(Debug, Clone, PartialEq)]
pub struct Reason {
    /// In a word that programs can rely on.
    pub code: &'static str,
    /// In words that follow a number of jobs.
    pub words: String,
    /// More about this job, where the words are about all of its kind.
    pub detail: Option<String>,
}

impl Reason {
    fn new(code: &'static str, words: impl Into<String>) -> Self {
        Self {
            code,
            words: words.into(),
            detail: None,
        }
    }

    fn with_detail(self, detail: String) -> Self {
        Self {
            detail: Some(detail),
            ..self
        }
    }

    /// Returns what is known of this job.
    pub fn of_job(&self) -> &str {
        self.detail.as_deref().unwrap_or(&self.words)
    }
}

/// One job of a plan.
#[derive(Debug, Clone, PartialEq)]
pub struct JobPlan {
    /// The job.
    pub job_id: JobId,
    /// Its product.
    pub product_id: String,
    /// Its variant; may be empty.
    pub variant: String,
    /// The algorithm that carries it out.
    pub algo: String,
    /// What would become of it.
    pub fate: Fate,
    /// Why.
    pub reason: Reason,
    /// What it would cost.
    pub price: Price,
}

/// The jobs of one algorithm.
#[derive(Debug, Clone, PartialEq)]
pub struct AlgoPlan {
    /// Its key.
    pub algo: String,
    /// How many jobs have each fate, by [`Fate::ALL`].
    pub fates: [usize; Fate::ALL.len()],
    /// What one generation costs.
    pub unit_usd: Option<f64>,
    /// The costs of those that would start.
    pub cost: Sums,
    /// Half of its earlier jobs took no longer than this.
    pub median_s: Option<f64>,
    /// How long its jobs take with the parallelism given.
    pub time: Option<Duration>,
}

/// Results that jobs would buy although identical ones exist.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Identical {
    /// How many.
    pub results: usize,
    /// What copying them would save, in millionths of a dollar.
    pub saves_micros: i64,
    /// Whether only some jobs were looked at: reading pictures takes time.
    pub at_least: bool,
}

/// Prices that a service was asked for some time ago.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedPrices {
    /// The algorithms that have them.
    pub algos: Vec<String>,
    /// When the oldest of them was told.
    pub fetched_at: Timestamp,
    /// Who told it.
    pub source: String,
}

/// What a worker would do.
#[derive(Debug, Clone, PartialEq)]
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
    /// Every job that the filters match, as the manifest has them; those that are
    /// selected in the order in which they are taken.
    pub jobs: Vec<JobPlan>,
    /// The same by algorithm.
    pub algos: Vec<AlgoPlan>,
    /// The costs of all that would start.
    pub cost: Sums,
    /// How long it takes; nothing if some algorithm has no past.
    pub time: Option<Duration>,
    /// The money of the run as it stands before.
    pub money: Money,
    /// Prices that a service was asked for, where jobs that would start have them.
    pub listed: Option<ListedPrices>,
    /// What `--reuse` would copy instead of buying, where it was not asked for.
    pub identical: Identical,
    /// How `--jobs` was understood, if it matches a job.
    pub reading: Option<String>,
    /// What looked wrong while reading, one sentence each.
    pub warnings: Vec<String>,
}

impl Plan {
    /// Returns how many jobs have this fate.
    pub fn count(&self, fate: Fate) -> usize {
        self.jobs.iter().filter(|job| job.fate == fate).count()
    }

    /// Returns what the ledger of the run says afterwards if every job that
    /// starts costs what it is expected to.
    pub fn after_usd(&self) -> f64 {
        usd(cost::micros(self.money.spent_usd)
            + cost::micros(self.money.reserved_usd)
            + self.cost.new_micros)
    }

    /// Returns the reasons of each fate with their counts, the most first.
    pub fn reasons(&self) -> Vec<(Fate, &Reason, usize)> {
        let mut counted: BTreeMap<(Fate, &str, &str), (&Reason, usize)> = BTreeMap::new();
        for job in &self.jobs {
            let key = (job.fate, job.reason.code, job.reason.words.as_str());
            counted.entry(key).or_insert((&job.reason, 0)).1 += 1;
        }
        let mut reasons: Vec<_> = counted
            .into_iter()
            .map(|((fate, ..), (reason, count))| (fate, reason, count))
            .collect();
        reasons.sort_by_key(|(fate, _, count)| (*fate, std::cmp::Reverse(*count)));
        reasons
    }
}

/// Reads a run and says what a worker would do with it.
pub fn run_plan(context: &OpsContext, request: &WorkerRequest) -> Result<Plan, OpsError> {
    if let Some(key) = &request.adapter {
        select::known_algo(context, key)?;
    }
    let now = context.clock.now();
    let run = csv::read_run(&context.workspace, &request.run_id, request.rhythm, now)?;
    let ledger = money::ledger(context)?;
    let mut planner = Planner::new(context, request, &ledger, now)?.looking_for_copies();
    let mut warnings = run.warnings;
    warnings.extend(context.settings.prices.problem.clone());
    let filter = select::among(&request.query, &run.jobs);
    warnings.extend(select::unmatched(&filter, &request.run_id, &run.jobs));
    warnings.extend(given_up(context, &run.jobs));
    let reading = filter.reading();
    let jobs = planner.plan_all(run.jobs, &filter);
    Ok(Plan {
        reading,
        ..planner.finish(jobs, warnings)
    })
}

/// Tells of models among the jobs that their service gives up.
fn given_up(context: &OpsContext, jobs: &[JobRecord]) -> Vec<String> {
    let keys: BTreeSet<&AlgoKey> = jobs
        .iter()
        .filter_map(|job| job.algo.as_ref().ok())
        .collect();
    let said = keys.into_iter().filter_map(|key| {
        let settings = context.settings.algo(key.as_str())?;
        let words = super::adapters::deprecated(settings)?;
        Some(format!("algo {key} is deprecated: {words}"))
    });
    said.collect()
}
