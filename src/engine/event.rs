//! Everything that happens while a worker runs, as plain data.
//!
//! The same stream feeds the log, the console and machine output; none of them
//! looks anywhere else.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

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
#[derive(Debug, Clone, PartialEq)]
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
        duration: Duration,
        /// The model, relative to the workspace.
        object: String,
        /// Its previews, relative to the workspace.
        previews: Vec<String>,
        /// Whether it was only rehearsed.
        simulated: bool,
    },
    /// A job gets a copy of an earlier result.
    JobReused {
        /// The job.
        job_id: JobId,
        /// Which attempt.
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
        duration: Duration,
        /// What kind of failure.
        class: ErrorClass,
        /// One line.
        error: String,
        /// Whether an older result stands.
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
#[derive(Debug, Clone, Default, PartialEq)]
pub struct WorkerStarted {
    /// The `--jobs` filter as typed, and how it was understood.
    pub jobs_filter: Option<String>,
    /// `contains`, `glob` or `regex`.
    pub jobs_filter_kind: Option<String>,
    /// The statuses selected.
    pub only_status: Vec<String>,
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
    pub caps: Caps,
    /// How many jobs were selected.
    pub total_jobs: usize,
    /// How many of each algorithm.
    pub jobs_of_algo: BTreeMap<String, usize>,
    /// What those that may start are expected to cost, as far as prices are known.
    pub expected_cost_usd: f64,
    /// How many of these have no known price.
    pub unpriced_jobs: usize,
    /// Whether some of them may be copied instead of bought.
    pub reuse: bool,
    /// The worker's id.
    pub worker_id: String,
    /// Who runs the jobs.
    pub worker: WorkerFacts,
}

/// How the canaries of one algorithm did.
#[derive(Debug, Clone, Default, PartialEq)]
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
#[derive(Debug, Clone, Default, PartialEq)]
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
        let (name, fields) = self.kind.name_and_fields();
        let mut object = Map::new();
        object.insert("event".into(), json!(name));
        object.insert("timestamp".into(), json!(self.at.iso()));
        object.insert("run_id".into(), json!(self.run_id.as_str()));
        if let Value::Object(fields) = fields {
            object.extend(fields);
        }
        object
    }
}

impl EventKind {
    fn name_and_fields(&self) -> (&'static str, Value) {
        match self {
            Self::WorkerStarted(started) => ("worker_started", started.fields()),
            Self::JobStarted {
                job_id,
                attempt,
                algo,
                entry,
            } => (
                "job_started",
                json!({"job_id": job_id, "attempt": attempt, "algo": algo, "entry": entry}),
            ),
            Self::JobProgress {
                job_id,
                fraction,
                message,
            } => (
                "job_progress",
                json!({"job_id": job_id, "fraction": fraction, "message": message}),
            ),
            Self::JobCompleted {
                job_id,
                duration,
                object,
                previews,
                simulated,
            } => (
                "job_completed",
                json!({
                    "job_id": job_id, "duration_s": rounded(*duration),
                    "gen_object_path": object, "preview_paths": previews, "simulated": simulated,
                }),
            ),
            Self::JobReused {
                job_id,
                from_run,
                from_job,
                ..
            } => (
                "job_reused",
                json!({"job_id": job_id, "from_run": from_run, "from_job": from_job}),
            ),
            Self::JobFailed {
                job_id,
                product_id,
                algo,
                duration,
                class,
                error,
                redo,
            } => (
                if *redo { "redo_failed" } else { "job_failed" },
                json!({
                    "job_id": job_id, "product_id": product_id, "algo": algo,
                    "duration_s": rounded(*duration),
                    "class": class, "error": error,
                }),
            ),
            Self::JobReleased { job_id, reason } => {
                ("job_released", json!({"job_id": job_id, "reason": reason}))
            }
            Self::JobPutOff {
                job_id,
                class,
                error,
                after,
            } => (
                "job_put_off",
                json!({
                    "job_id": job_id, "class": class, "error": error,
                    "after_s": rounded(*after),
                }),
            ),
            Self::ProviderClosed {
                provider,
                reason,
                until,
            } => (
                "provider_closed",
                json!({"provider": provider, "reason": reason, "until": until}),
            ),
            Self::BudgetWarning(level) => ("budget_warning", level_fields(level)),
            Self::BudgetReached(level) => ("budget_reached", level_fields(level)),
            Self::BreakerOpened { algo, reason } => {
                ("breaker_opened", json!({"algo": algo, "reason": reason}))
            }
            Self::CanaryEnded(result) => ("canary_ended", result.fields()),
            Self::JobCancelled { job_id } => ("job_cancelled", json!({"job_id": job_id})),
            Self::JobBusy { job_id } => ("job_busy", json!({"job_id": job_id})),
            Self::JobFenced { job_id, kept_at } => {
                ("job_fenced", json!({"job_id": job_id, "kept_at": kept_at}))
            }
            Self::RolledForward { job_id } => ("rolled_forward", json!({"job_id": job_id})),
            Self::Warning { message } => ("warning", json!({"message": message})),
            Self::Notice { message } => ("notice", json!({"message": message})),
            Self::WorkerSummary(summary) => ("worker_summary", summary.fields()),
        }
    }
}

impl WorkerStarted {
    fn fields(&self) -> Value {
        json!({
            "jobs_filter": self.jobs_filter,
            "jobs_filter_kind": self.jobs_filter_kind,
            "only_status": self.only_status.join(","),
            "algo": self.algo,
            "max_parallel": self.max_parallel,
            "adapter": self.adapter,
            "dry_run": self.dry_run,
            "fail_fast": self.fail_fast,
            "redo": self.redo,
            "limit": self.limit,
            "order": self.order,
            "canary": self.canary,
            "budget_run_usd": self.caps.run_usd,
            "budget_day_usd": self.caps.day_usd,
            "total_jobs": self.total_jobs,
            "expected_cost_usd": self.expected_cost_usd,
            "unpriced_jobs": self.unpriced_jobs,
            "worker_id": self.worker_id,
            "worker_host": self.worker.host,
            "worker_user": self.worker.user,
            "worker_gpu": self.worker.gpu,
            "worker_env": self.worker.env,
            "worker_commit": self.worker.commit,
        })
    }
}

impl Summary {
    /// Returns the counts as a JSON object.
    pub fn fields(&self) -> Value {
        json!({
            "processed": self.processed,
            "completed": self.completed,
            "reused": self.reused,
            "failed": self.failed,
            "skipped": self.skipped,
            "busy": self.busy,
            "released": self.released,
            "retried": self.retried,
            "blocked": self.blocked,
            "canaries": self.canaries.iter().map(CanaryResult::fields).collect::<Vec<_>>(),
            "blocked_by_budget": self.blocked_by_budget,
            "unpriced_blocked": self.unpriced_blocked,
            "blocked_cost_usd": self.blocked_cost_usd,
            "budget": self.budget.as_ref().map(level_fields),
            "spent_usd": self.spent_usd,
            "cancelled": self.cancelled,
            "fenced": self.fenced,
            "rolled_forward": self.rolled_forward,
            "in_doubt": self.in_doubt,
            "unrecorded": self.unrecorded,
            "unconfirmed": self.unconfirmed,
            "without_row": self.without_row,
            "locked": self.locked,
            "resumable": self.resumable,
            "not_started": self.not_started,
            "avg_duration_s": self.avg_duration_s,
            "elapsed_s": self.elapsed_s,
            "max_parallel": self.max_parallel,
            "dry_run": self.dry_run,
            "stopped_by": self.stopped_by,
        })
    }
}

impl CanaryResult {
    fn fields(&self) -> Value {
        json!({
            "algo": self.algo,
            "completed": self.completed,
            "failed": self.failed,
            "spent_usd": self.spent_usd,
            "possibly_billed": self.possibly_billed,
            "avg_duration_s": self.avg_duration_s,
            "waiting": self.waiting,
        })
    }
}

fn level_fields(level: &Level) -> Value {
    json!({
        "cap": level.cap.word(),
        "cap_usd": level.cap_usd,
        "spent_usd": level.spent_usd,
        "reserved_usd": level.reserved_usd,
        "left_usd": level.left_usd(),
    })
}

fn rounded(duration: Duration) -> f64 {
    duration.as_micros() as f64 / 1e6
}
