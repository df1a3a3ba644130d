//! What became of every attempt of a run: the ledger, as stores hand it out.
//!
//! `ops` shows it to people. Nothing is decided by it.

use std::collections::HashMap;
use std::path::PathBuf;

use serde::Serialize;

use crate::domain::id::{JobId, Nonce, WorkerId};
use crate::domain::job::Entry;
use crate::domain::retry::ErrorClass;
use crate::domain::time::Timestamp;
use crate::store::runs::JobName;

/// Every attempt of a run, by job in the order of the manifest, then by number.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RunAttempts {
    /// The attempts.
    pub attempts: Vec<AttemptRecord>,
    /// Every job that is listed, whether it was tried or not, with what it is known by.
    pub jobs: Vec<(JobId, JobName)>,
    /// What could not be read, one sentence each.
    pub warnings: Vec<String>,
    /// How many lines could not be read.
    pub damaged_lines: usize,
    /// Journals with whole lines that could not be read, and how many.
    pub damaged_journals: Vec<(PathBuf, usize)>,
    /// The workers that were gone before their journals were read, with the length of
    /// these: they are whole.
    pub ended: HashMap<WorkerId, u64>,
}

/// One attempt.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AttemptRecord {
    /// The job.
    pub job_id: JobId,
    /// Its number, from 1. A worker that died while it took the job may have
    /// used the same one.
    pub attempt: u32,
    /// Who made it.
    pub worker: WorkerId,
    /// On which machine, if the journal tells.
    pub host: Option<String>,
    /// What was there before.
    pub entry: Entry,
    /// When the job was taken.
    pub started: Timestamp,
    /// When the attempt ended, if anybody noted it.
    pub ended: Option<Timestamp>,
    /// What became of it.
    pub outcome: AttemptOutcome,
    /// What kind of failure it was.
    pub class: Option<ErrorClass>,
    /// From start to end, in seconds.
    pub duration_s: Option<f64>,
    /// What it cost, if anything was billed or may have been.
    pub cost_usd: Option<f64>,
    /// The provider's name for what was bought.
    pub request_id: Option<String>,
    /// When it noted that it was about to buy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub intent_at: Option<Timestamp>,
    /// When it noted what it had bought, or had found to be bought.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub submitted_at: Option<Timestamp>,
    /// Whether it re-attached to a purchase of an earlier attempt.
    pub resumed: bool,
    /// Where the price comes from.
    pub price_source: Option<String>,
    /// Whether it was only rehearsed.
    pub simulated: bool,
    /// What names it in the ledger of money.
    #[serde(skip)]
    pub nonce: Nonce,
    /// Whether it was ended while its adapter may have been buying.
    #[serde(skip)]
    pub cut_off: bool,
    /// Whether what it bought is over and brings nothing any more.
    #[serde(skip)]
    pub void: bool,
    /// Why it failed, on one line.
    pub error: Option<String>,
}

impl AttemptRecord {
    /// Returns an attempt of which nothing but its beginning is known.
    pub fn begun(job_id: JobId, attempt: u32, worker: WorkerId, started: Timestamp) -> Self {
        Self {
            job_id,
            attempt,
            worker,
            host: None,
            entry: Entry::Fresh,
            started,
            ended: None,
            outcome: AttemptOutcome::Interrupted,
            class: None,
            duration_s: None,
            cost_usd: None,
            request_id: None,
            resumed: false,
            price_source: None,
            simulated: false,
            nonce: Nonce::new(""),
            cut_off: false,
            void: false,
            intent_at: None,
            submitted_at: None,
            error: None,
        }
    }

    /// Returns a completed attempt of a job.
    #[cfg(test)]
    pub(crate) fn example(job: &str, number: u32) -> Self {
        let job_id = JobId::parse(job).expect("valid");
        let worker = WorkerId::parse("w-1-x").expect("valid");
        let started = Timestamp::parse("2026-01-01T00:00:00Z").expect("valid");
        Self {
            outcome: AttemptOutcome::Completed,
            ..Self::begun(job_id, number, worker, started)
        }
    }
}

/// What became of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AttemptOutcome {
    /// It brought the result.
    Completed,
    /// It failed, and that was the end.
    Failed,
    /// It failed and was followed, or is to be followed, by another one.
    PutOff,
    /// The job was given back unfinished.
    Released,
    /// Somebody took the job out.
    Cancelled,
    /// It ended after somebody else had taken the job.
    Fenced,
    /// Nobody noted an end, and nobody works on it.
    Interrupted,
    /// It goes on.
    Running,
}

impl AttemptOutcome {
    /// Returns the word for people.
    pub fn word(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::PutOff => "deferred",
            Self::Released => "released",
            Self::Cancelled => "cancelled",
            Self::Fenced => "fenced",
            Self::Interrupted => "interrupted",
            Self::Running => "running",
        }
    }
}
