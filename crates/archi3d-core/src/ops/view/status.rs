//! How a run stands, and its jobs one by one.

use std::time::Duration;

use serde::Serialize;

use super::{by_status, seconds};
use crate::domain::forecast::Pace;
use crate::domain::id::{JobId, RunId};
use crate::domain::job::Status;
use crate::domain::lease::Verdict;
use crate::domain::money::Usd;
use crate::domain::time::Timestamp;
use crate::ops::find::JobName;
use crate::ops::money::Money;
use crate::store::providers::Closure;

pub use crate::store::Progress;

/// How a run stands.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunStatus {
    /// The run.
    pub run_id: RunId,
    /// When this was read.
    pub at: Timestamp,
    /// How many jobs are in each state, by [`Status::ALL`].
    #[serde(serialize_with = "by_status")]
    pub counts: [usize; Status::ALL.len()],
    /// How many jobs there are.
    pub total: usize,
    /// Jobs whose row has a status that is not ours; in no count.
    pub unknown_status: usize,
    /// Jobs of the manifest that have no row; in no count.
    pub without_row: usize,
    /// Of the completed, those that were only rehearsed.
    pub rehearsed: usize,
    /// The others: jobs that have a result that is more than a rehearsal.
    pub made: usize,
    /// The same, by algorithm.
    pub algos: Vec<AlgoStatus>,
    /// How fast it goes, if anything ended lately.
    pub pace: Option<Pace>,
    /// How long the rest takes at this pace; nothing if nobody works or nothing
    /// is known yet.
    #[serde(rename = "time_left_s", serialize_with = "seconds")]
    pub time_left: Option<Duration>,
    /// The money of the run, and what the rest costs.
    pub money: MoneyToFinish,
    /// The jobs that somebody works on, or worked on when it died.
    pub running: Vec<RunningJobView>,
    /// Providers that are closed, which keeps jobs from starting.
    #[serde(rename = "closed_providers")]
    pub closed: Vec<Closure>,
    /// Its algorithms that a breaker has paused for workers that run.
    #[serde(rename = "paused_algos")]
    pub paused: Vec<Closure>,
    /// A worker of this machine is there, whether or not it holds a job.
    #[serde(skip)]
    pub worker_lives: bool,
    /// The jobs that ended without a result.
    pub failures: Vec<FailedJobView>,
    /// The same, grouped by what they say, the most first.
    pub failure_groups: Vec<FailureGroup>,
    /// What looked wrong while reading, one sentence each.
    pub warnings: Vec<String>,
    /// For how long the longest has ended that the registry does not show.
    #[serde(skip)]
    pub behind: Duration,
    /// When its first row was made, if that was read.
    #[serde(skip)]
    pub created: Option<Timestamp>,
}

/// The jobs of one algorithm.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AlgoStatus {
    /// Its key, as the tables have it.
    pub algo: String,
    /// How many jobs are in each state, by [`Status::ALL`].
    #[serde(serialize_with = "by_status")]
    pub counts: [usize; Status::ALL.len()],
    /// Of the completed, those that were only rehearsed.
    #[serde(skip)]
    pub rehearsed: usize,
    /// Half of its completed jobs took no longer than this.
    pub median_s: Option<f64>,
    /// What was spent on it, failures too, in dollars.
    pub cost_usd: Usd,
    /// What one costs by the configuration.
    #[serde(rename = "unit_price_usd")]
    pub unit_usd: Option<f64>,
}

/// The money of a run, and what waits or runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MoneyToFinish {
    /// What is spent and reserved.
    #[serde(flatten)]
    pub of_run: Money,
    /// What the rest costs, as far as prices are known.
    pub to_finish_usd: Usd,
    /// Jobs of the rest that have no known price.
    #[serde(rename = "to_finish_unpriced_jobs")]
    pub unpriced: usize,
    /// What was spent on jobs that the registry does not have.
    pub not_registered_usd: Usd,
}

/// Whether the holder of a job lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Liveness {
    /// It does.
    Alive,
    /// It has not been heard for a while.
    Silent,
    /// It is gone.
    Dead,
}

impl Liveness {
    /// Returns what a verdict about a holder means; a job without one has nobody alive.
    pub fn of(verdict: Option<Verdict>) -> Self {
        match verdict {
            Some(Verdict::Alive) => Self::Alive,
            Some(Verdict::Watch(_)) => Self::Silent,
            Some(Verdict::Dead) | None => Self::Dead,
        }
    }

    /// Returns the word for people.
    pub fn word(self) -> &'static str {
        match self {
            Self::Alive => "alive",
            Self::Silent => "silent",
            Self::Dead => "dead",
        }
    }
}

/// The jobs of a run, one by one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct JobList {
    /// The run.
    pub run_id: RunId,
    /// Its jobs, in the order of the manifest.
    pub jobs: Vec<ListedJob>,
}

/// One job of a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ListedJob {
    /// The job.
    pub job_id: JobId,
    /// What it is known by.
    #[serde(flatten)]
    pub name: JobName,
    /// Its state in a word; a job that was only rehearsed is `rehearsed`.
    pub state: String,
    /// Its model, or the folder of its results, relative to the workspace.
    pub result: Option<String>,
}

/// A job that somebody holds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunningJobView {
    /// The job.
    pub job_id: JobId,
    /// What it is known by.
    #[serde(flatten)]
    pub name: JobName,
    /// Which attempt it is.
    pub attempt: u32,
    /// Who holds it.
    pub worker: String,
    /// On which machine, if known.
    pub host: Option<String>,
    /// How long it has been held.
    #[serde(rename = "age_s", serialize_with = "seconds")]
    pub age: Option<Duration>,
    /// How long ago its holder last showed that it lives.
    #[serde(rename = "last_beat_age_s", serialize_with = "seconds")]
    pub last_beat_age: Option<Duration>,
    /// Whether the holder lives.
    pub verdict: Liveness,
    /// How far it is, as of the last beat.
    pub progress: Option<Progress>,
    /// It has run for more than twice the median of its algorithm.
    pub slow: bool,
    /// Its holder counts as alive but has not beaten for a while.
    pub stalled: bool,
    /// Somebody asked for it to be stopped.
    pub cancel_asked: bool,
}

/// A job that ended without a result.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FailedJobView {
    /// The job.
    pub job_id: JobId,
    /// What it is known by.
    #[serde(flatten)]
    pub name: JobName,
    /// Why, on one line.
    pub message: String,
}

/// Failures that say the same but for names and numbers.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FailureGroup {
    /// How many.
    pub count: usize,
    /// What the newest of them says.
    pub message: String,
    /// The newest of them.
    #[serde(rename = "newest_job_id")]
    pub job_id: JobId,
    /// What that is known by.
    #[serde(skip)]
    pub name: JobName,
    /// When that was, if known.
    #[serde(rename = "newest_at")]
    pub last: Option<Timestamp>,
    /// The algorithms concerned.
    pub algos: Vec<String>,
}

impl RunStatus {
    /// Returns how many jobs have this status.
    pub fn count(&self, status: Status) -> usize {
        self.counts[status as usize]
    }

    /// Tells whether a live worker holds a job.
    pub fn is_worked_on(&self) -> bool {
        let mut running = self.running.iter();
        running.any(|job| job.verdict != Liveness::Dead)
    }

    /// Tells whether nothing happens any more by itself: no worker holds a job, and none waits.
    pub fn is_over(&self) -> bool {
        !self.is_worked_on() && self.count(Status::Enqueued) == 0
    }
}
