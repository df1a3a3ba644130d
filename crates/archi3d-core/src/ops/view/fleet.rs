//! What `fleet` commands answer.

use std::time::Duration;

use chrono::{DateTime, Utc};
use serde::Serialize;

use crate::domain::id::RunId;
use crate::domain::money::Usd;
use crate::engine::event::Summary;

/// The schema of a store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Schema {
    /// The server, without any password.
    pub server: String,
    /// The database.
    pub database: String,
    /// Its version.
    pub version: i32,
    /// The version that this program makes.
    pub newest: i32,
    /// The steps that were applied just now.
    pub applied: Vec<i32>,
}

/// What a worker of many runs did.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Served {
    /// Jobs that got a result.
    pub completed: usize,
    /// Of these, copies of earlier results.
    pub reused: usize,
    /// Jobs that failed.
    pub failed: usize,
    /// Jobs that were given back.
    pub released: usize,
    /// Jobs that others took over.
    pub fenced: usize,
    /// What they cost.
    pub spent_usd: f64,
}

impl Served {
    /// Adds what came of one run.
    pub(in crate::ops) fn count(&mut self, summary: &Summary) {
        self.completed += summary.completed;
        self.reused += summary.reused;
        self.failed += summary.failed;
        self.released += summary.released;
        self.fenced += summary.fenced;
        self.spent_usd = (Usd::of(self.spent_usd) + Usd::of(summary.spent_usd)).dollars();
    }
}

/// A run that was handed over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Pushed {
    /// The run.
    pub run_id: RunId,
    /// The server, without any password.
    pub server: String,
    /// The database.
    pub database: String,
    /// Jobs that were handed over just now.
    pub added: usize,
    /// Jobs that were there already.
    pub known: usize,
    /// Whether the run was there already.
    pub again: bool,
    /// Who handed it over first.
    pub pushed_by: String,
    /// Where its pictures and results lie; nothing means in the workspace.
    pub artifacts: Option<String>,
    /// Pictures that were put there just now; all others were there.
    pub pictures_put: usize,
    /// How many bytes these were.
    pub bytes_put: u64,
    /// What was left out and why, one sentence each.
    pub warnings: Vec<String>,
}

/// What came back from a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Pulled {
    /// The run.
    pub run_id: RunId,
    /// Its jobs.
    pub jobs: usize,
    /// Those that wait.
    pub enqueued: usize,
    /// Those that run.
    pub running: usize,
    /// Those that have a result.
    pub completed: usize,
    /// Those that failed.
    pub failed: usize,
    /// Those that were taken out.
    pub cancelled: usize,
    /// Rows that say something new.
    pub rows_changed: usize,
    /// Rows that were gone and are there again.
    pub rows_restored: usize,
    /// Results whose folder got its name only now.
    pub published: usize,
    /// Results of which files are missing or differ; their rows were left as they are.
    pub missing: Vec<MissingResult>,
    /// Where results came from; nothing means that they lie in the workspace.
    pub artifacts: Option<String>,
    /// Whether nothing waits or runs any more.
    pub over: bool,
}

/// A result that is not where it should be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MissingResult {
    /// The job.
    pub job_id: String,
    /// What is wrong, with the file.
    pub what: String,
}

/// The runs of a store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FleetRuns {
    /// The server, without any password.
    pub server: String,
    /// Its runs, oldest first.
    pub runs: Vec<FleetRun>,
}

/// A run of a store, counted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FleetRun {
    /// Its id.
    pub run_id: String,
    /// Its jobs.
    pub jobs: usize,
    /// Those that wait.
    pub waiting: usize,
    /// Those that run.
    pub running: usize,
    /// Those that have a result.
    pub completed: usize,
    /// Those that were only rehearsed.
    pub rehearsed: usize,
    /// Those that failed.
    pub failed: usize,
    /// Those that were taken out.
    pub cancelled: usize,
    /// When it was handed over.
    pub pushed_at: DateTime<Utc>,
    /// By whom.
    pub pushed_by: Option<String>,
    /// From which folder.
    pub workspace: Option<String>,
    /// When all of it had come back.
    pub pulled_at: Option<DateTime<Utc>>,
}

/// The workers of a store.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Workers {
    /// The server, without any password.
    pub server: String,
    /// In the order in which they came up.
    pub workers: Vec<WorkerLine>,
}

/// A worker as others see it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WorkerLine {
    /// Its name.
    pub worker_id: String,
    /// Its machine.
    pub host: String,
    /// Its process id.
    pub pid: u32,
    /// The program's version.
    pub version: String,
    /// The run it serves; nothing means every run.
    pub run_id: Option<String>,
    /// `alive`, `slow`, `silent` or `ended`.
    pub health: &'static str,
    /// What it said it was doing.
    pub state: String,
    /// How many jobs it runs at once.
    pub slots: u32,
    /// How many jobs it holds.
    pub holds: usize,
    /// When it came up.
    pub started: DateTime<Utc>,
    /// How long ago it was heard of.
    #[serde(rename = "silent_s", serialize_with = "super::micro_seconds")]
    pub silent: Duration,
    /// How long its leases last without a beat.
    #[serde(rename = "lease_s", serialize_with = "super::micro_seconds")]
    pub lease: Duration,
}

/// What a sweep did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct SweepReport {
    /// Leases that had expired.
    pub expired: usize,
    /// Jobs that wait again.
    pub requeued: usize,
    /// Jobs that took too many workers with them and failed.
    pub failed: usize,
    /// Jobs that were to be stopped and are out now.
    pub cancelled: usize,
    /// Redos that ended: their older result stands.
    pub kept: usize,
}

/// What was forgotten.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct PruneReport {
    /// Error boundaries.
    pub checkpoints: usize,
    /// Workers that are long gone.
    pub workers: usize,
    /// Keys of requests that have expired.
    pub keys: usize,
    /// Jobs of runs that were pulled.
    pub jobs: usize,
    /// Such runs of which nothing is left.
    pub runs: usize,
    /// Files in buckets that nothing refers to.
    pub blobs: usize,
    /// How many bytes these were.
    pub bytes: u64,
}
