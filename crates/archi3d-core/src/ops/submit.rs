//! Runs that are asked for over the network: planned, checked, made once.
//!
//! The same parameters lead to the same run, and the same key to the same answer, whoever dies in
//! between: what is asked for is noted first (`log`), the run is made under the name noted, and
//! making it again adds nothing. `orders` has what workers that follow are to do.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;
use serde_json::{Map, Value};

use crate::domain::id::RunId;
use crate::domain::item_name::ItemName;
use crate::domain::job::Status;
use crate::domain::money::Usd;
use crate::domain::plan::{AlgoError, ItemFilter};
use crate::domain::time::Timestamp;
use crate::ops::batch::{self, BatchRequest, ConfiguredAlgos};
use crate::ops::events;
use crate::ops::names::{self, RunLine};
use crate::ops::status::run_status;
use crate::ops::{OpsContext, OpsError};
use crate::store::error::StoreError;

mod log;
mod orders;
mod planned;

pub use log::{Intent, RequestKey, RetryOrder};
pub use orders::{Retry, WorkOrder, orders, retry, take_retry};

use log::{Held, Line, Lines};
use planned::{items, planned, summary};

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
#[derive(Debug, Clone, PartialEq)]
pub enum Submitted {
    /// There is a new run.
    Made(Box<Intent>),
    /// An earlier one will do; the word says why.
    Deduplicated(Box<Intent>, &'static str),
    /// The request was answered before, with this.
    Replayed {
        /// The status.
        status: u16,
        /// The body, byte for byte.
        body: String,
    },
}

/// Why a submission is refused.
#[derive(Debug, thiserror::Error)]
pub enum SubmitError {
    /// An algorithm is not configured.
    #[error("{0}")]
    UnknownAlgo(AlgoError),
    /// The catalogue has no such item.
    #[error("the catalogue has no item {0:?}")]
    UnknownItem(String),
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
    /// It costs more than it may.
    #[error("{jobs} jobs are expected to cost ${}; {limit} is {allowed:.2}", expected.dollars())]
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

/// Says what a submission would do and cost; writes nothing.
pub fn plan(context: &OpsContext, asked: &Submission) -> Result<SubmissionPlan, SubmitError> {
    let lines = Lines::read(&context.workspace)?;
    let (runs, _) = names::runs(context)?;
    let mut planned = planned(context, asked)?.0;
    planned.existing = earlier(context, &lines, &runs, asked).map(|(intent, status)| Existing {
        run_id: intent.run_id.clone(),
        status,
    });
    Ok(planned)
}

/// Makes the run, or finds the one that will do.
pub fn submit(context: &OpsContext, asked: &Submission) -> Result<Submitted, SubmitError> {
    let mut held = Held::take(&context.workspace)?.ok_or(SubmitError::Busy)?;
    let now = context.clock.now();
    if let Some(key) = &asked.key
        && let Some(known) = with_key(&held.lines, key, now)?
    {
        return match known {
            Known::Answered(status, body) => Ok(Submitted::Replayed { status, body }),
            Known::Begun(intent) => finish(context, asked, &mut held, *intent),
        };
    }
    let (runs, _) = names::runs(context)?;
    if let Some(begun) = begun(&held.lines, asked) {
        return finish(context, asked, &mut held, begun);
    }
    if let Some((intent, status)) = earlier(context, &held.lines, &runs, asked) {
        let word = if status == Status::Completed {
            "finished"
        } else {
            "active"
        };
        return Ok(Submitted::Deduplicated(Box::new(intent.clone()), word));
    }
    let (plan, _) = planned(context, asked)?;
    check(asked, &plan, &held.lines, now)?;
    let run_id = free_name(context, asked, &runs)?;
    let intent = Intent {
        at: now,
        run_id,
        payload_hash: asked.payload_hash.clone(),
        parameters: asked.parameters.clone(),
        dedupes: asked.dedupe != Dedupe::None,
        key: asked.key.clone(),
        by: asked.by.clone(),
        max_cost_usd: asked.max_cost_usd,
        max_parallel: asked.max_parallel,
        start: asked.start,
        notes: asked.notes.clone(),
        expected_usd: plan.expected_usd.dollars(),
        plan: serde_json::to_value(&plan).expect("plain data can always be written"),
    };
    held.add(Line::Intent(Box::new(intent.clone())))?;
    finish(context, asked, &mut held, intent)
}

/// Remembers what was answered to a request with a key.
pub fn remember(
    context: &OpsContext,
    scope: &str,
    status: u16,
    body: &str,
) -> Result<(), SubmitError> {
    let mut held = Held::take(&context.workspace)?.ok_or(SubmitError::Busy)?;
    held.add(Line::Answered {
        at: context.clock.now(),
        scope: scope.to_owned(),
        status,
        body: body.to_owned(),
    })?;
    Ok(())
}

/// Returns the submissions that led to runs, by run.
pub fn intents(context: &OpsContext) -> Result<BTreeMap<RunId, Intent>, OpsError> {
    let lines = Lines::read(&context.workspace)?;
    let made = lines.made;
    let intents = lines.intents.into_iter();
    let made = intents.filter(|intent| made.contains_key(&intent.run_id));
    Ok(made.map(|intent| (intent.run_id.clone(), intent)).collect())
}

/// How a run stands in a word: at work, else waiting, else the worst of how its jobs ended. What
/// was only rehearsed waits.
pub fn standing(line: &RunLine) -> Status {
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

/// Returns the line of a run with what its markers know and the table does not yet.
pub fn seen_now(context: &OpsContext, line: &RunLine) -> Result<RunLine, OpsError> {
    let mut line = line.clone();
    if let Ok(run) = RunId::parse(&line.run) {
        let status = run_status(context, &run)?;
        (line.counts, line.rehearsed) = (status.counts, status.rehearsed);
    }
    Ok(line)
}

/// What is known of a key.
enum Known {
    Answered(u16, String),
    Begun(Box<Intent>),
}

fn with_key(lines: &Lines, key: &RequestKey, now: Timestamp) -> Result<Option<Known>, SubmitError> {
    let young = |at: Timestamp| now.since(at) < REMEMBERED;
    let of_key = |intent: &&Intent| {
        let own = intent.key.as_ref();
        own.is_some_and(|own| own.scope == key.scope) && young(intent.at)
    };
    let Some(intent) = lines.intents.iter().rev().find(of_key) else {
        // A request that led to no run of its own has only its answer.
        let answer = lines
            .answers
            .get(&key.scope)
            .filter(|answer| young(answer.0));
        return match answer {
            None => Ok(None),
            Some((_, status, body)) => match body.split_once('\n') {
                Some((fingerprint, body)) if fingerprint == key.fingerprint => {
                    Ok(Some(Known::Answered(*status, body.to_owned())))
                }
                _ => Err(SubmitError::KeyReused),
            },
        };
    };
    let same = intent
        .key
        .as_ref()
        .is_some_and(|own| own.fingerprint == key.fingerprint);
    if !same {
        return Err(SubmitError::KeyReused);
    }
    Ok(Some(match lines.answers.get(&key.scope) {
        Some((_, status, body)) => {
            let body = body.split_once('\n').map_or("", |(_, body)| body);
            Known::Answered(*status, body.to_owned())
        }
        None => Known::Begun(Box::new(intent.clone())),
    }))
}

/// Returns a submission of the same parameters that somebody died over.
fn begun(lines: &Lines, asked: &Submission) -> Option<Intent> {
    let same = |intent: &&Intent| {
        intent.payload_hash == asked.payload_hash
            && intent.dedupes
            && asked.dedupe != Dedupe::None
            && !lines.made.contains_key(&intent.run_id)
    };
    lines.intents.iter().rev().find(same).cloned()
}

/// Returns the run that will do instead of a new one, and how it stands.
fn earlier<'l>(
    context: &OpsContext,
    lines: &'l Lines,
    runs: &[RunLine],
    asked: &Submission,
) -> Option<(&'l Intent, Status)> {
    if asked.dedupe == Dedupe::None {
        return None;
    }
    let mut same = lines.intents.iter().rev().filter(|intent| {
        intent.payload_hash == asked.payload_hash
            && intent.dedupes
            && lines.made.contains_key(&intent.run_id)
    });
    same.find_map(|intent| {
        let line = runs
            .iter()
            .find(|line| line.run == intent.run_id.as_str())?;
        let status =
            seen_now(context, line).map_or_else(|_| standing(line), |line| standing(&line));
        let will_do = match status {
            Status::Enqueued | Status::Running => true,
            Status::Completed => asked.dedupe == Dedupe::ActiveOrFinished,
            Status::Failed | Status::Cancelled => false,
        };
        will_do.then_some((intent, status))
    })
}

/// Makes the run that was noted, or what is missing of it.
fn finish(
    context: &OpsContext,
    asked: &Submission,
    held: &mut Held,
    intent: Intent,
) -> Result<Submitted, SubmitError> {
    if !held.lines.made.contains_key(&intent.run_id) {
        let request = BatchRequest {
            run_id: Some(intent.run_id.clone()),
            algos: Some(asked.algos.join(",")),
            filter: ItemFilter::default(),
            dry_run: false,
            items: Some(items(context, asked)?),
        };
        let configured = ConfiguredAlgos::of(&context.settings);
        batch::create(
            &context.workspace,
            &*context.clock,
            &configured,
            &request,
            &mut |waited| waited < Duration::from_secs(30),
        )
        .map_err(OpsError::from)?;
        held.add(Line::Made {
            at: context.clock.now(),
            run_id: intent.run_id.clone(),
        })?;
        let by = Map::from_iter([("by".to_owned(), Value::from(intent.by.as_str()))]);
        events::note(context, "run_created", &intent.run_id, by);
    }
    Ok(Submitted::Made(Box::new(intent)))
}

fn free_name(
    context: &OpsContext,
    asked: &Submission,
    runs: &[RunLine],
) -> Result<RunId, SubmitError> {
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
    let known = runs.iter().any(|line| line.run == run_id.as_str());
    if known
        || context
            .workspace
            .run(run_id)
            .root()
            .symlink_metadata()
            .is_ok()
    {
        return Err(SubmitError::RunIdTaken(run_id.clone()));
    }
    Ok(run_id.clone())
}

fn check(
    asked: &Submission,
    plan: &SubmissionPlan,
    lines: &Lines,
    now: Timestamp,
) -> Result<(), SubmitError> {
    if asked
        .if_plan
        .as_ref()
        .is_some_and(|hash| *hash != plan.hash)
    {
        return Err(SubmitError::PlanChanged(Box::new(plan.clone())));
    }
    let costs = plan.expected_usd > Usd::ZERO || plan.unknown_price_jobs > 0;
    let allowed = match asked.max_cost_usd {
        Some(allowed) => Some(("max_cost_usd", allowed)),
        None if costs => return Err(SubmitError::MaxCostMissing(plan.expected_usd)),
        None => None,
    };
    let left = asked.daily_cap_usd.map(|cap| {
        (
            "what is left of the token's daily cap",
            cap - ordered_today(lines, &asked.by, now),
        )
    });
    for (limit, allowed) in allowed.into_iter().chain(left) {
        if plan.expected_usd > Usd::of(allowed.max(0.0)) {
            return Err(SubmitError::TooDear {
                jobs: plan.jobs,
                expected: plan.expected_usd,
                limit,
                allowed,
            });
        }
    }
    Ok(())
}

fn ordered_today(lines: &Lines, by: &str, now: Timestamp) -> f64 {
    let today = now.as_datetime().date_naive();
    let is_today = |at: Timestamp| at.as_datetime().date_naive() == today;
    let runs = lines
        .intents
        .iter()
        .filter(|one| one.by == by && is_today(one.at));
    let retries = lines
        .retries
        .iter()
        .filter(|one| one.by == by && is_today(one.at));
    runs.map(|one| one.expected_usd)
        .chain(retries.map(|one| one.expected_usd))
        .sum()
}
