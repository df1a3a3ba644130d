//! Everything that happens while a worker runs, as plain data.
//!
//! The same stream feeds the log, the console and machine output; none of them
//! looks anywhere else.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json};

use crate::domain::budget::{Caps, Level};
use crate::domain::id::{JobId, RunId};
use crate::domain::job::Entry;
use crate::domain::patch::WorkerFacts;
use crate::domain::retry::ErrorClass;
use crate::domain::time::Timestamp;

/// Something that happened, and when.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// When.
    pub at: Timestamp,
    /// In which run.
    pub run_id: RunId,
    /// What.
    pub kind: EventKind,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum EventKind {
    /// The worker is about to take its first job.
    WorkerStarted(Box<WorkerStarted>),
    /// A job was taken and its adapter starts.
    JobStarted {
        /// The job.
        job_id: JobId,
        /// Which attempt.
        attempt: u32,
        /// The algorithm that carries it out.
        algo: String,
        /// What was there before.
        entry: Entry,
    },
    /// An adapter says how far it is.
    JobProgress {
        /// The job.
        job_id: JobId,
        /// From 0 to 1.
        fraction: f64,
        /// What it does.
        message: Option<String>,
    },
    /// A job has a result.
    JobCompleted {
        /// The job.
        job_id: JobId,
        /// How long the attempt took.
        #[serde(rename = "duration_s", serialize_with = "seconds")]
        duration: Duration,
        /// The model, relative to the workspace.
        #[serde(rename = "gen_object_path")]
        object: String,
        /// Its previews, relative to the workspace.
        #[serde(rename = "preview_paths")]
        previews: Vec<String>,
        /// Whether it was only rehearsed.
        simulated: bool,
    },
    /// A job gets a copy of an earlier result.
    JobReused {
        /// The job.
        job_id: JobId,
        /// Which attempt.
        #[serde(skip)]
        attempt: u32,
        /// The run of the earlier one.
        from_run: RunId,
        /// The earlier one.
        from_job: JobId,
    },
    /// A job ended without a result; with `redo` its old one stands.
    JobFailed {
        /// The job.
        job_id: JobId,
        /// The product shown.
        product_id: String,
        /// The algorithm that carried it out.
        algo: String,
        /// How long the attempt took.
        #[serde(rename = "duration_s", serialize_with = "seconds")]
        duration: Duration,
        /// What kind of failure.
        class: ErrorClass,
        /// One line.
        error: String,
        /// Whether an older result stands.
        #[serde(skip)]
        redo: bool,
    },
    /// A job was given back unfinished.
    JobReleased {
        /// The job.
        job_id: JobId,
        /// Why, in words.
        reason: String,
    },
    /// A job failed and waits for another attempt.
    JobPutOff {
        /// The job.
        job_id: JobId,
        /// What kind of failure.
        class: ErrorClass,
        /// One line.
        error: String,
        /// How long it waits.
        #[serde(rename = "after_s", serialize_with = "seconds")]
        after: Duration,
    },
    /// A provider was closed for every worker of the workspace.
    ProviderClosed {
        /// The provider.
        provider: String,
        /// What it said.
        reason: String,
        /// Until when; nothing means until somebody opens it.
        until: Option<Timestamp>,
    },
    /// Most of a spending limit is spent or set aside.
    BudgetWarning(Level),
    /// A job was not started because of a spending limit; told once.
    BudgetReached(Level),
    /// An algorithm failed too often in a row and pauses for every worker.
    BreakerOpened {
        /// The algorithm.
        algo: String,
        /// How often, and the last error.
        reason: String,
    },
    /// The first jobs of an algorithm, which went on trial, have ended.
    CanaryEnded(CanaryResult),
    /// A job was taken out on request.
    JobCancelled {
        /// The job.
        job_id: JobId,
    },
    /// A job could not be had now.
    JobBusy {
        /// The job.
        job_id: JobId,
    },
    /// The worker had lost the job when it ended.
    JobFenced {
        /// The job.
        job_id: JobId,
        /// Where its result was put, relative to the workspace.
        kept_at: Option<String>,
    },
    /// A dead worker's result was published in its name.
    RolledForward {
        /// The job.
        job_id: JobId,
    },
    /// Something a person should know; nothing is lost.
    Warning {
        /// The sentence.
        message: String,
    },
    /// Something a person may like to know.
    Notice {
        /// The sentence.
        message: String,
    },
    /// The worker is done.
    WorkerSummary(Summary),
}

/// What a worker set out to do.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct WorkerStarted {
    /// The `--jobs` filter as typed, and how it was understood.
    pub jobs_filter: Option<String>,
    /// `contains`, `glob` or `regex`.
    pub jobs_filter_kind: Option<String>,
    /// The statuses selected, separated by commas.
    pub only_status: String,
    /// The `--algo` filter.
    pub algo: Option<String>,
    /// The size of the pool.
    pub max_parallel: usize,
    /// The adapter forced on all jobs.
    pub adapter: Option<String>,
    /// Whether this is a rehearsal.
    pub dry_run: bool,
    /// Whether the first failure stops it.
    pub fail_fast: bool,
    /// Whether completed jobs run again.
    pub redo: bool,
    /// At most this many jobs start.
    pub limit: Option<usize>,
    /// The order in which jobs are taken.
    pub order: String,
    /// How many jobs of each algorithm go first on trial.
    pub canary: Option<usize>,
    /// The spending limits in force.
    #[serde(flatten)]
    pub caps: Caps,
    /// How many jobs were selected.
    pub total_jobs: usize,
    /// How many of each algorithm.
    #[serde(skip)]
    pub jobs_of_algo: BTreeMap<String, usize>,
    /// What those that may start are expected to cost, as far as prices are known.
    pub expected_cost_usd: f64,
    /// How many of these have no known price.
    pub unpriced_jobs: usize,
    /// Whether some of them may be copied instead of bought.
    #[serde(skip)]
    pub reuse: bool,
    /// The worker's id.
    pub worker_id: String,
    /// Who runs the jobs.
    #[serde(flatten, serialize_with = "worker_fields")]
    pub worker: WorkerFacts,
}

/// How the canaries of one algorithm did.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct CanaryResult {
    /// The algorithm.
    pub algo: String,
    /// How many ended with a result.
    pub completed: usize,
    /// How many ended without one.
    pub failed: usize,
    /// What they cost.
    pub spent_usd: f64,
    /// Of the failed, those that may have been billed with nobody knows what.
    pub possibly_billed: usize,
    /// How long one took on average, in seconds.
    pub avg_duration_s: f64,
    /// How many jobs of the algorithm wait behind them.
    pub waiting: usize,
}

/// What ended a worker whose filters match no job of the run.
pub const NO_MATCH: &str = "no_match";

/// So many jobs that are left are named at most; one more says that there are too many.
pub const NAMED_AT_MOST: usize = 20;

/// The jobs that a worker leaves, by name where they are few.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Left {
    /// Jobs that were not started.
    pub waiting: Vec<JobId>,
    /// Jobs that were started, and were given back or wait for another attempt.
    pub begun: Vec<JobId>,
    /// Redos that may have been billed and cannot be looked up.
    pub redos_in_doubt: Vec<JobId>,
    /// How many failed although they were billed, or count as if they were.
    pub billed: usize,
}

impl Left {
    /// Adds a name where there is room for it.
    pub fn note(names: &mut Vec<JobId>, job: &JobId) {
        if names.len() <= NAMED_AT_MOST {
            names.push(job.clone());
        }
    }
}

/// How a worker's work ended.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Summary {
    /// Attempts that ended, with or without result.
    pub processed: usize,
    /// Attempts that ended with a result.
    pub completed: usize,
    /// Of these, copies of earlier results.
    pub reused: usize,
    /// Attempts that ended without one.
    pub failed: usize,
    /// Jobs left alone: done already, not selected by status, or busy.
    pub skipped: usize,
    /// Of the skipped, those that somebody else was working on.
    pub busy: usize,
    /// Of the busy, those whose lock another program did not let go.
    pub locked: usize,
    /// Jobs given back because the worker was stopped.
    pub released: usize,
    /// Failures that were followed by another attempt.
    pub retried: usize,
    /// Jobs not started because their provider is closed or their algorithm paused.
    pub blocked: usize,
    /// How the canaries did, if there were any.
    pub canaries: Vec<CanaryResult>,
    /// Jobs not started because of a spending limit.
    pub blocked_by_budget: usize,
    /// Of these, the ones whose price nobody knows.
    pub unpriced_blocked: usize,
    /// What those with a price would cost.
    pub blocked_cost_usd: f64,
    /// The limit that kept them from starting, as it stands at the end.
    pub budget: Option<Level>,
    /// What the attempts of this worker cost.
    pub spent_usd: f64,
    /// Jobs taken out while they ran.
    pub cancelled: usize,
    /// Results that came after their lease was lost.
    pub fenced: usize,
    /// Results of dead workers that were published in their name.
    pub rolled_forward: usize,
    /// Of the failed, those that may have been billed and cannot be looked up.
    pub in_doubt: usize,
    /// Endings that are safe in the journal but could not be published.
    pub unrecorded: usize,
    /// Of these, results that the disk has not confirmed to keep.
    pub unconfirmed: usize,
    /// Endings of this worker that the registry does not show: somebody changed it meanwhile.
    pub without_row: usize,
    /// Whether rows contradict the manifest; their jobs were left alone.
    #[serde(skip)]
    pub contradicted: bool,
    /// Jobs whose holder is dead and that were not selected.
    pub resumable: usize,
    /// Selected jobs that were not started before the worker stopped.
    pub not_started: usize,
    /// Mean duration of the processed attempts, in seconds.
    pub avg_duration_s: f64,
    /// From start to end, in seconds.
    pub elapsed_s: f64,
    /// The size of the pool.
    pub max_parallel: usize,
    /// Whether it was a rehearsal.
    pub dry_run: bool,
    /// Why it stopped early, if it did (`fail_fast`, `interrupted`, `store`,
    /// `budget`, `limit`, `canary`), or [`NO_MATCH`].
    pub stopped_by: Option<String>,
    /// The jobs that are left.
    #[serde(skip)]
    pub left: Box<Left>,
}

/// Takes events, in order, from any thread.
pub trait Sink: Send + Sync {
    /// Takes one event. Must not fail: trouble with a sink never harms a job.
    fn report(&self, event: &Event);
}

/// Hands every event to several sinks, in their order.
pub struct Sinks(pub Vec<Arc<dyn Sink>>);

impl Sink for Sinks {
    fn report(&self, event: &Event) {
        for sink in &self.0 {
            sink.report(event);
        }
    }
}

impl Event {
    /// Returns the event as one flat JSON object, as logs and machines read it.
    pub fn to_json(&self) -> Map<String, Value> {
        let mut object = Map::new();
        for (name, value) in [
            ("event", Value::Null),
            ("timestamp", json!(self.at.iso())),
            ("run_id", json!(self.run_id)),
        ] {
            object.insert(name.into(), value);
        }
        if let Value::Object(fields) = json!(self.kind) {
            object.extend(fields);
        }
        if matches!(self.kind, EventKind::JobFailed { redo: true, .. }) {
            object.insert("event".into(), json!("redo_failed"));
        }
        object
    }
}

/// Writes a time in seconds, to the microsecond.
fn seconds<S: Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(time.as_micros() as f64 / 1e6)
}

fn worker_fields<S: Serializer>(worker: &WorkerFacts, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map([
        ("worker_host", &worker.host),
        ("worker_user", &worker.user),
        ("worker_gpu", &worker.gpu),
        ("worker_env", &worker.env),
        ("worker_commit", &worker.commit),
    ])
}
