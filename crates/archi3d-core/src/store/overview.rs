//! A run at a glance, as stores hand it out: counts, who works, what failed,
//! what ended lately.
//!
//! `ops` makes forecasts and figures of it. Nothing is decided by it.

use std::time::Duration;

use crate::domain::budget::Balance;
use crate::domain::id::JobId;
use crate::domain::job::Status;
use crate::domain::money::Usd;
use crate::domain::time::Timestamp;
use crate::store::runs::JobName;
use crate::store::{Holder, Progress};

/// A run at a glance.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Overview {
    /// A worker of this machine lives, whether or not it holds a job.
    pub worker_lives: bool,
    /// The algorithms of the run's jobs, in the order of their first row.
    pub algos: Vec<AlgoOverview>,
    /// Every job there is.
    pub total: usize,
    /// Jobs whose row has a status that is not ours, and no marker.
    pub unknown_status: usize,
    /// Jobs of the manifest that have no row.
    pub without_row: usize,
    /// Who works, or worked when it died; in the order of the table.
    pub running: Vec<RunningJob>,
    /// What ended without a result, in the order of the table.
    pub failures: Vec<FailedJob>,
    /// What ended last, newest first.
    pub recent: Vec<EndedJob>,
    /// What was spent and is reserved, of the run and of today.
    pub balance: Balance,
    /// What was spent on jobs that are not among those counted.
    pub not_registered_usd: Usd,
    /// What looked wrong while reading, one sentence each.
    pub warnings: Vec<String>,
    /// For how long the longest has ended that its row does not show.
    pub behind: Duration,
    /// When its first row was made, if that was read.
    pub created: Option<Timestamp>,
}

/// How many rows of a run have each status.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunCounts {
    /// Its id, as the table has it.
    pub run: String,
    /// By [`Status::ALL`].
    pub counts: [usize; Status::ALL.len()],
    /// Rows whose status is none of ours.
    pub other: usize,
    /// Of the completed, those that were only rehearsed.
    pub rehearsed: usize,
    /// When its first row was made, if a row tells.
    pub created: Option<Timestamp>,
}

/// The jobs of one algorithm.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AlgoOverview {
    /// Its key, as the table has it.
    pub algo: String,
    /// How many jobs have each status, by [`Status::ALL`].
    pub counts: [usize; Status::ALL.len()],
    /// Of the completed, those that were only rehearsed.
    pub rehearsed: usize,
    /// How long its real jobs took that were completed, in seconds: the mean and the median.
    pub took: Option<Took>,
    /// What was spent on its jobs.
    pub spent_usd: Usd,
}

/// How long jobs took, in seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Took {
    /// All of them together, divided by how many they are.
    pub mean_s: f64,
    /// Half of them took no longer.
    pub median_s: f64,
}

impl AlgoOverview {
    /// Returns how many jobs have this status.
    pub fn count(&self, status: Status) -> usize {
        self.counts[status as usize]
    }
}

/// A job that a worker holds.
#[derive(Debug, Clone, PartialEq)]
pub struct RunningJob {
    /// The job.
    pub job_id: JobId,
    /// The position of its algorithm in [`Overview::algos`].
    pub algo: usize,
    /// What it is known by.
    pub name: JobName,
    /// Which attempt it is.
    pub attempt: u32,
    /// Who holds it.
    pub holder: Option<Holder>,
    /// How far it is, if it says so.
    pub progress: Option<Progress>,
}

/// A job that ended without a result.
#[derive(Debug, Clone, PartialEq)]
pub struct FailedJob {
    /// The job.
    pub job_id: JobId,
    /// The position of its algorithm in [`Overview::algos`].
    pub algo: usize,
    /// What it is known by.
    pub name: JobName,
    /// Why, on one line.
    pub message: String,
    /// When, if the row tells.
    pub ended: Option<Timestamp>,
}

/// A job that ended.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EndedJob {
    /// The position of its algorithm in [`Overview::algos`].
    pub algo: usize,
    /// When.
    pub ended: Timestamp,
    /// How long it took, in seconds.
    pub took_s: f64,
    /// Whether it was only rehearsed.
    pub simulated: bool,
}
