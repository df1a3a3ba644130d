//! Runs that are asked for over the network: planned, checked, made once.
//!
//! The same parameters lead to the same run, and the same key to the same answer, whoever dies in
//! between. On files what is asked for is noted first (`log`), the run is made under the name noted, and
//! making it again adds nothing; those who ask at once share these steps (`queue`). Where a fleet is named the run, its jobs, and the answer are one
//! transaction (`fleet`). `orders` has what workers that follow are to do.

use std::time::Duration;

use serde::Serialize;
use serde_json::{Map, Value};

use crate::domain::id::RunId;
use crate::domain::item_name::ItemName;
use crate::domain::job::Status;
use crate::domain::money::Usd;
use crate::domain::plan::AlgoError;
use crate::domain::text::{counted, dollars};
use crate::domain::time::Timestamp;
use crate::ops::names::{self, RunLine};
use crate::ops::status::run_status;
use crate::ops::view::status::RunStatus;
use crate::ops::{OpsContext, OpsError};
use crate::store::error::StoreError;
use crate::trace;

mod asked;
mod cap;
mod files;
#[cfg(feature = "postgres")]
mod fleet;
mod limit;
mod log;
mod orders;
mod planned;
mod queue;
mod undo;

pub(super) use asked::{as_chosen, asked_for};
pub use asked::{intent_of, intents};
pub use limit::{bounded, limit_usd};
pub use log::{Intent, RequestKey, RetryOrder};
pub use orders::{Following, Retried, Retry, Spent, WorkOrder, orders, put_back, retry};
#[cfg(feature = "postgres")]
pub(super) use orders::{Terms, terms};

pub use undo::undo;

pub use cap::damaged_lines;
use cap::fits_cap;
use planned::{planned, summary};

/// How long an answer is remembered.
pub const REMEMBERED: Duration = Duration::from_secs(30 * 86_400);

/// When an earlier run is given back instead of making one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dedupe {
    /// While it is at work, or if it ended without a failure.
    ActiveOrFinished,
    /// While it is at work.
    Active,
    /// Never: the same is bought again on purpose.
    None,
}

/// What somebody asks for.
#[derive(Debug, Clone, PartialEq)]
pub struct Submission {
    /// What is hashed.
    pub parameters: Value,
    /// Its hash in canonical form.
    pub payload_hash: String,
    /// The algorithms.
    pub algos: Vec<String>,
    /// The items of the catalogue; empty means all of them.
    pub items: Vec<ItemName>,
    /// Pictures that were uploaded, by hash; they are one new item.
    pub images: Vec<String>,
    /// What is chosen instead of the defaults of the algorithms.
    pub options: Map<String, Value>,
    /// What the run is to be called.
    pub run_id: Option<RunId>,
    /// When an earlier run will do.
    pub dedupe: Dedupe,
    /// What it may cost.
    pub max_cost_usd: Option<f64>,
    /// The plan that was confirmed.
    pub if_plan: Option<String>,
    /// How many jobs may run at once.
    pub max_parallel: Option<usize>,
    /// Whether workers that follow take it.
    pub start: bool,
    /// What the person noted.
    pub notes: Option<String>,
    /// Who asks.
    pub by: String,
    /// What they may order in a day.
    pub daily_cap_usd: Option<f64>,
    /// The key of the request.
    pub key: Option<RequestKey>,
}

/// What a submission would do and cost.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SubmissionPlan {
    /// Names this plan: jobs, what becomes of each, and prices.
    pub hash: String,
    /// The hash of the parameters.
    pub payload_hash: String,
    /// How many jobs.
    pub jobs: usize,
    /// Of these, the ones that would be made.
    pub start: usize,
    /// The ones that would be copied from an earlier run.
    pub reuse: usize,
    /// The ones that cannot start now.
    pub blocked: usize,
    /// What they are expected to cost.
    pub expected_usd: Usd,
    /// What they cost if every attempt is billed.
    pub worst_usd: Usd,
    /// How many cost something that nobody knows.
    pub unknown_price_jobs: usize,
    /// The same by algorithm.
    pub algos: Vec<PlannedAlgo>,
    /// What looked wrong, one sentence each.
    pub warnings: Vec<String>,
    /// The run that would be given back instead.
    pub existing: Option<Existing>,
    /// An algorithm whose jobs would be bought if anybody knew what they cost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priceless: Option<String>,
}

impl SubmissionPlan {
    /// Tells whether it costs something, as far as anybody knows.
    fn costs(&self) -> bool {
        self.expected_usd > Usd::ZERO || self.unknown_price_jobs > 0
    }

    fn noted(&self) -> Value {
        serde_json::to_value(self).expect("plain data can always be written")
    }
}

/// The jobs of one algorithm in a plan.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PlannedAlgo {
    /// Its key.
    pub algo: String,
    /// How many jobs.
    pub jobs: usize,
    /// What one costs.
    pub unit_price_usd: Option<f64>,
    /// What they are expected to cost.
    pub expected_usd: Usd,
    /// Why they cannot start, if they cannot.
    pub problem: Option<String>,
}

/// A run that is there already.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Existing {
    /// The run.
    pub run_id: RunId,
    /// How it stands.
    pub status: Status,
}

/// What became of a submission.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Submitted {
    /// The status of the answer.
    pub status: u16,
    /// Its body, byte for byte.
    pub body: String,
    /// The run.
    pub run_id: Option<RunId>,
    /// Whether an older answer is given again.
    pub replayed: bool,
}

/// Returns the run that an answer is about.
fn run_named(body: &str) -> Option<RunId> {
    let body: Value = serde_json::from_str(body).ok()?;
    RunId::parse(body["run_id"].as_str()?).ok()
}

/// A run that was made, or that will do; the word says why no new one was made.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome<'a> {
    /// How it stands.
    pub line: RunLine,
    /// What was asked for when it was made.
    pub intent: &'a Intent,
    /// Why it will do.
    pub deduplicated: Option<&'static str>,
    /// What is not as it was asked for, one sentence each.
    pub warnings: Vec<String>,
}

impl Outcome<'_> {
    /// Writes the answer down.
    fn told(&self, written: Written) -> Submitted {
        Submitted {
            status: if self.deduplicated.is_some() {
                200
            } else {
                201
            },
            body: written(self),
            run_id: Some(self.intent.run_id.clone()),
            replayed: false,
        }
    }

    fn made(intent: &Intent) -> Outcome<'_> {
        let jobs = intent.plan["jobs"].as_u64().unwrap_or_default();
        let jobs = usize::try_from(jobs).unwrap_or_default();
        let mut counts = [0; Status::ALL.len()];
        counts[Status::Enqueued as usize] = jobs;
        let line = RunLine {
            run: intent.run_id.to_string(),
            jobs,
            counts,
            other: 0,
            rehearsed: 0,
            created: Some(intent.at),
            has_manifest: true,
            fleet: None,
            as_pulled: false,
        };
        Outcome {
            line,
            intent,
            deduplicated: None,
            warnings: Vec::new(),
        }
    }
}

/// Writes the answer to a submission, which is kept with its key.
pub type Written = fn(&Outcome<'_>) -> String;

/// Why a submission is refused.
#[derive(Debug, thiserror::Error)]
pub enum SubmitError {
    /// An algorithm is not configured.
    #[error("{0}")]
    UnknownAlgo(AlgoError),
    /// The catalogue has no such item.
    #[error("the catalogue has no item {0:?}")]
    UnknownItem(String),
    /// None of the algorithms has such a default.
    #[error("{algos}: no option {name:?} in `defaults`{}", listed(known))]
    UnknownOption {
        /// The option.
        name: String,
        /// The algorithms.
        algos: String,
        /// What they have.
        known: String,
    },
    /// A picture was not uploaded.
    #[error("there is no upload {0:?}")]
    UnusablePicture(String),
    /// Nothing would be made.
    #[error("this makes no job: {0}")]
    NoJobs(String),
    /// The plan is another one now.
    #[error("the plan has changed since it was confirmed")]
    PlanChanged(Box<SubmissionPlan>),
    /// It costs, and nobody said how much it may.
    #[error("this costs money, so max_cost_usd must say how much it may cost")]
    MaxCostMissing(Usd),
    /// It is to be bought again on purpose, and nobody could tell a second request from a repeated one.
    #[error("this buys the same again, so it needs an Idempotency-Key")]
    KeyMissing,
    /// It costs more than it may.
    #[error("{}; {limit} is {allowed:.2}", expectation(*jobs, *expected))]
    TooDear {
        /// How many jobs.
        jobs: usize,
        /// What they are expected to cost.
        expected: Usd,
        /// Which limit.
        limit: &'static str,
        /// What it allows.
        allowed: f64,
    },
    /// It costs more than the run may still cost.
    #[error(
        "{}; of the run's max_cost_usd of {allowed:.2}, {left:.2} is left",
        expectation(*jobs, *expected)
    )]
    OverRun {
        /// How many jobs.
        jobs: usize,
        /// What they are expected to cost.
        expected: Usd,
        /// What the run may cost.
        allowed: f64,
        /// What is left of it.
        left: f64,
    },
    /// It may cost more than the token has left for today.
    #[error(
        "{} may cost up to {}; what is left of the token's daily cap is {left:.2}",
        counted(*jobs, "job"),
        dollars(most.dollars())
    )]
    OverCap {
        /// How many jobs.
        jobs: usize,
        /// The most they may cost: if every attempt is billed, and not above `max_cost_usd`.
        most: Usd,
        /// What is left.
        left: f64,
    },
    /// It would let the run cost more than it counts, and the token has a cap.
    #[error(
        "the token has a daily cap and this order counts less; max_cost_usd may be {most:.2} at most"
    )]
    OverRaise {
        /// What it is expected to cost.
        expected: Usd,
        /// What the run may cost.
        most: f64,
    },
    /// Nobody knows what it costs, and the token has a cap.
    #[error("there is no known price for {}, and the token has a daily cap", counted(*.0, "job"))]
    Unpriced(usize),
    /// Nobody knows what it costs, so it would start under no limit, and what is submitted has one.
    #[error(
        "algo {0} has no known price, so its jobs never start under a cost limit; give it a unit_price_usd in config/adapters.yaml (0 if it is free)"
    )]
    NoPrice(String),
    /// The run has another beginning.
    #[error("there is a run called {0}")]
    RunIdTaken(RunId),
    /// The name cannot be used.
    #[error("{0}")]
    BadRunId(String),
    /// The key was used for something else.
    #[error("this Idempotency-Key was used with another body")]
    KeyReused,
    /// Others are submitting.
    #[error("other submissions are being carried out")]
    Busy,
    /// The workspace failed.
    #[error(transparent)]
    Ops(#[from] OpsError),
}

impl From<StoreError> for SubmitError {
    fn from(error: StoreError) -> Self {
        Self::Ops(error.into())
    }
}

fn listed(known: &str) -> String {
    match known {
        "" => ", which are empty".to_owned(),
        known => format!("; there are {known}"),
    }
}

/// Says what a submission would do and cost; writes nothing.
pub fn plan(context: &OpsContext, asked: &Submission) -> Result<SubmissionPlan, SubmitError> {
    let mut planned = planned(context, asked)?.plan;
    #[cfg(feature = "postgres")]
    if let Some(server) = context.fleet()? {
        planned.existing = fleet::existing(context, &*server, asked)?;
        return Ok(planned);
    }
    planned.existing = files::existing(context, asked)?;
    Ok(planned)
}

/// Makes the run, or finds the one that will do; `written` makes the answer.
pub fn submit(
    context: &OpsContext,
    asked: &Submission,
    written: Written,
) -> Result<Submitted, SubmitError> {
    #[cfg(feature = "postgres")]
    if let Some(server) = context.fleet()? {
        return fleet::submit(context, &*server, asked, written);
    }
    files::submit(context, asked, written)
}

impl Submission {
    fn noted(&self, at: Timestamp, run_id: RunId, plan: &SubmissionPlan) -> Intent {
        Intent {
            at,
            run_id,
            payload_hash: self.payload_hash.clone(),
            parameters: self.parameters.clone(),
            dedupes: self.dedupe != Dedupe::None,
            key: self.key.clone(),
            by: self.by.clone(),
            max_cost_usd: self.max_cost_usd,
            max_parallel: self.max_parallel,
            start: self.start,
            notes: self.notes.clone(),
            expected_usd: plan.expected_usd.dollars(),
            committed_usd: self.daily_cap_usd.map(|_| self.most(plan).dollars()),
            plan: plan.noted(),
            traceparent: trace::here().map(|place| place.to_string()),
        }
    }

    /// Returns the most that it may cost: if every attempt is billed, and not above what it may.
    fn most(&self, plan: &SubmissionPlan) -> Usd {
        let allowed = self.max_cost_usd.map(Usd::of);
        allowed.map_or(plan.worst_usd, |allowed| allowed.min(plan.worst_usd))
    }

    /// Tells whether a run that stands so will do.
    fn is_content_with(&self, status: Status) -> bool {
        match status {
            Status::Enqueued | Status::Running => self.dedupe != Dedupe::None,
            Status::Completed => self.dedupe == Dedupe::ActiveOrFinished,
            Status::Failed | Status::Cancelled => false,
        }
    }
}

/// Says why a run that stands so will do.
fn word_of(status: Status) -> &'static str {
    if status == Status::Completed {
        "finished"
    } else {
        "active"
    }
}

/// How a run stands in a word: at work, else waiting, else the worst of how its jobs ended. What
/// was only rehearsed waits.
pub fn status_of(line: &RunLine) -> Status {
    let has = |status: Status| line.counts[status as usize] > 0;
    if has(Status::Running) {
        Status::Running
    } else if has(Status::Enqueued) || line.rehearsed > 0 || line.jobs == 0 {
        Status::Enqueued
    } else if has(Status::Failed) {
        Status::Failed
    } else if has(Status::Cancelled) {
        Status::Cancelled
    } else {
        Status::Completed
    }
}

/// Returns a run as it stands this moment.
pub fn seen_now(context: &OpsContext, run: &RunId) -> Result<RunLine, OpsError> {
    Ok(line_of(run, &run_status(context, run)?))
}

/// Returns a run as its status has it; when it was made is told where that was read.
pub fn line_of(run: &RunId, status: &RunStatus) -> RunLine {
    RunLine {
        run: run.to_string(),
        jobs: status.total,
        counts: status.counts,
        other: status.unknown_status,
        rehearsed: status.rehearsed,
        created: status.created,
        has_manifest: true,
        fleet: None,
        as_pulled: false,
    }
}

/// Makes the folders of runs that a fleet has and that have none here, or the one: a server died before it made them.
pub fn arrive(context: &OpsContext, only: Option<&RunId>) -> Result<(), OpsError> {
    #[cfg(feature = "postgres")]
    if let Some(server) = context.fleet()? {
        fleet::arrive(context, &*server, only)?;
    }
    #[cfg(not(feature = "postgres"))]
    let _ = (context, only);
    Ok(())
}

/// Returns what the run is to be called.
fn name_of(asked: &Submission) -> Result<RunId, SubmitError> {
    let Some(run_id) = &asked.run_id else {
        let name = uuid::Uuid::now_v7().to_string();
        return RunId::parse(&name).map_err(|error| SubmitError::BadRunId(error.to_string()));
    };
    if run_id.as_str().starts_with(['=', '+', '@']) {
        return Err(SubmitError::BadRunId(format!(
            "run id {:?} starts like a formula, which a spreadsheet would run",
            run_id.as_str()
        )));
    }
    Ok(run_id.clone())
}

/// Tells whether the workspace has something under the name that somebody chose.
fn is_taken(context: &OpsContext, asked: &Submission) -> Result<bool, OpsError> {
    let Some(run_id) = &asked.run_id else {
        return Ok(false);
    };
    let (runs, _) = names::runs(context)?;
    let folder = context.workspace.run(run_id).root().symlink_metadata();
    Ok(folder.is_ok() || runs.iter().any(|line| line.run == run_id.as_str()))
}

fn check(
    asked: &Submission,
    plan: &SubmissionPlan,
    ordered: Option<f64>,
) -> Result<(), SubmitError> {
    if asked
        .if_plan
        .as_ref()
        .is_some_and(|hash| *hash != plan.hash)
    {
        return Err(SubmitError::PlanChanged(Box::new(plan.clone())));
    }
    if let Some(algo) = &plan.priceless {
        return Err(SubmitError::NoPrice(algo.clone()));
    }
    let costs = plan.costs();
    let allowed = match asked.max_cost_usd {
        Some(allowed) => Some(("max_cost_usd", allowed)),
        None if costs => return Err(SubmitError::MaxCostMissing(plan.expected_usd)),
        None => None,
    };
    if costs && asked.dedupe == Dedupe::None && asked.key.is_none() {
        return Err(SubmitError::KeyMissing);
    }
    if let Some((limit, allowed)) = allowed
        && plan.expected_usd > Usd::of(allowed)
    {
        return Err(SubmitError::TooDear {
            jobs: plan.jobs,
            expected: plan.expected_usd,
            limit,
            allowed,
        });
    }
    match asked.daily_cap_usd.zip(ordered) {
        Some((cap, ordered)) => fits_cap(plan, asked.most(plan), cap - ordered),
        None => Ok(()),
    }
}

/// Says what jobs are expected to cost.
fn expectation(jobs: usize, expected: Usd) -> String {
    let are = if jobs == 1 { "is" } else { "are" };
    let (jobs, expected) = (counted(jobs, "job"), dollars(expected.dollars()));
    format!("{jobs} {are} expected to cost {expected}")
}
