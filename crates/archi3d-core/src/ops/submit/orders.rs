//! What workers that follow are to do: runs that were submitted to be started, and failed jobs that were put back.
//!
//! Who asks for failed jobs to be tried again has them wait in the store itself: the order is noted, its jobs are put
//! back, and that is noted. Whoever finds an order whose jobs were not put back does that ([`put_back`]); an order names
//! the attempts in which its jobs failed, so nothing is tried again twice for it. From then on they are jobs that wait.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::domain::filter::{JobQuery, JobsFilter};
use crate::domain::id::{JobId, RunId};
use crate::domain::job::{JobState, Status};
use crate::domain::lease::Rhythm;
use crate::domain::money::Usd;
use crate::domain::time::Timestamp;
use crate::ops::names::{self, RunLine};
use crate::ops::plan::plan_again;
use crate::ops::select::WorkerRequest;
use crate::ops::view::plan::{Plan, PlannedAction};
use crate::ops::{OpsContext, OpsError, identity};
use crate::platform::fault;
use crate::store::bounds::refuse_links_outside;
use crate::store::error::IoContext as _;
use crate::store::{JobRecord, JobSnapshot};
use crate::workspace::lock::FileLock;

#[cfg(feature = "postgres")]
use super::cap::under_cap;
use super::cap::{fits_cap, ordered_anywhere};
use super::limit::{again, allowed};
use super::log::{Again, Held, Intent, Line, Lines, RequestKey, RetryOrder};
use super::{REMEMBERED, SubmissionPlan, SubmitError, asked_for, summary};

/// What a worker that follows is to do next.
#[derive(Debug, Clone, PartialEq)]
pub struct WorkOrder {
    /// The run.
    pub run_id: RunId,
    /// What the run may cost; nothing is known of runs that were not submitted.
    pub max_cost_usd: Option<f64>,
    /// How many jobs may run at once.
    pub max_parallel: Option<usize>,
    /// Whether earlier results are copied.
    pub reuse: bool,
    /// The jobs that are meant, where nobody wanted the whole run started; else all that wait.
    pub jobs: Option<Vec<JobId>>,
}

/// Orders to retry that led to nothing that still waits, as far as somebody has looked.
#[derive(Debug, Default)]
pub struct Spent(HashSet<String>);

/// The right to carry out an order, until it is dropped.
#[derive(Debug)]
pub struct Following(#[expect(dead_code, reason = "held until it is dropped")] Option<FileLock>);

impl WorkOrder {
    /// Takes the right to carry it out; nothing if it is another's. Where somebody said how many jobs of a run may run at
    /// once, one worker of those that follow has it, and the number is that worker's.
    pub fn take(&self, context: &OpsContext) -> Result<Option<Following>, OpsError> {
        if self.max_parallel.is_none() {
            return Ok(Some(Following(None)));
        }
        let paths = context.workspace.run(&self.run_id);
        refuse_links_outside(&context.workspace, Some(&self.run_id))?;
        std::fs::create_dir_all(paths.state()).context("create", &paths.state())?;
        let path = paths.follow_lock();
        let lock = FileLock::try_acquire(&path).context("lock", &path)?;
        Ok(lock.map(|lock| Following(Some(lock))))
    }

    /// Returns the jobs that are meant, as `--jobs` has them; where one pattern cannot name all of them, the next look comes
    /// to the rest.
    pub fn pattern(&self) -> Option<String> {
        let jobs = self.jobs.as_ref()?.iter();
        Some(JobsFilter::naming(jobs.map(JobId::as_str)))
    }
}

/// A wish to try failed jobs again.
#[derive(Debug, Clone, PartialEq)]
pub struct Retry {
    /// The run.
    pub run_id: RunId,
    /// Which of its jobs.
    pub query: JobQuery,
    /// Whether jobs are bought again that may have been billed.
    pub resubmit_unknown: bool,
    /// What the run may cost in all from now on, if that is to change.
    pub max_cost_usd: Option<f64>,
    /// The plan that was confirmed.
    pub if_plan: Option<String>,
    /// Whether it is only asked what this would do and cost.
    pub dry_run: bool,
    /// Who asks.
    pub by: String,
    /// What they may order in a day.
    pub daily_cap_usd: Option<f64>,
    /// The key of the request.
    pub key: Option<RequestKey>,
}

/// What became of a wish to try again.
#[derive(Debug, Clone, PartialEq)]
pub enum Retried {
    /// It would do and cost this; nothing was written.
    Planned(SubmissionPlan),
    /// The jobs wait again: what that does and costs.
    Noted(SubmissionPlan),
    /// The request was answered before: the answer, byte for byte.
    Replayed(String),
}

/// Failed jobs that were put back, of a run that nobody wanted started.
struct Named {
    run_id: RunId,
    intent: Option<Arc<Intent>>,
    retry: RetryOrder,
    again: Again,
}

/// Returns what is to be done, runs in the order in which they were asked for. Orders whose jobs were not put back are
/// carried out first.
pub fn orders(context: &OpsContext, spent: &mut Spent) -> Result<Vec<WorkOrder>, OpsError> {
    put_back_on_files(context)?;
    #[cfg_attr(
        not(feature = "postgres"),
        expect(unused_mut, reason = "a fleet adds some")
    )]
    let (mut orders, mut named) = on_files(context)?;
    #[cfg(feature = "postgres")]
    if let Some(server) = context.fleet()? {
        for task in super::fleet::open(context, &*server)?.0 {
            match (task.intent, task.retry) {
                (Some(intent), None) if intent.start => {
                    orders.push(order_of(Some(&intent), &task.run_id, task.again, None));
                }
                (intent, Some(retry)) if task.is_taken => named.push(Named {
                    run_id: task.run_id,
                    intent: intent.map(Arc::new),
                    retry,
                    again: task.again,
                }),
                (_, Some(retry)) => carry_out(context, &retry)?,
                (_, None) => {}
            }
        }
    }
    orders.extend(still_waiting(context, named, spent)?);
    Ok(orders)
}

/// What a worker that serves all runs may do with one.
#[cfg(feature = "postgres")]
pub(in crate::ops) enum Terms {
    /// Nobody asked for it over the network.
    Open,
    /// What was asked for.
    Order(WorkOrder),
    /// Nobody wanted it started, and nothing of it is to be tried again.
    Waits,
}

/// Says what a worker that serves all runs of a fleet may do with this one.
#[cfg(feature = "postgres")]
pub(in crate::ops) fn terms(context: &OpsContext, run: &RunId) -> Result<Terms, OpsError> {
    let server = context.required_fleet()?;
    let intent = super::fleet::readable(&*server, run)?;
    let again = super::fleet::again(&*server, run)?;
    if intent.as_ref().is_none_or(|intent| intent.start) {
        let order = order_of(intent.as_ref(), run, again, None);
        let is_bound = intent.is_some() || order.max_cost_usd.is_some();
        return Ok(if is_bound {
            Terms::Order(order)
        } else {
            Terms::Open
        });
    }
    let tasks = super::fleet::open(context, &*server)?.0.into_iter();
    let named = tasks.filter(|task| task.run_id == *run && task.is_taken);
    let named = named.filter_map(|task| {
        Some(Named {
            run_id: task.run_id,
            intent: task.intent.map(Arc::new),
            retry: task.retry?,
            again: task.again,
        })
    });
    let order = still_waiting(context, named.collect(), &mut Spent::default())?.pop();
    Ok(order.map_or(Terms::Waits, Terms::Order))
}

fn on_files(context: &OpsContext) -> Result<(Vec<WorkOrder>, Vec<Named>), OpsError> {
    let lines = Lines::read(&context.workspace)?;
    if lines.intents.is_empty() && lines.retries.is_empty() {
        return Ok((Vec::new(), Vec::new()));
    }
    let (runs, _) = names::runs(context)?;
    let is_open = |line: &&RunLine| {
        let open = [Status::Enqueued, Status::Running];
        line.rehearsed > 0 || open.iter().any(|status| line.counts[*status as usize] > 0)
    };
    let open: HashSet<&str> = runs
        .iter()
        .filter(|line| line.fleet.is_none())
        .filter(is_open)
        .map(|line| line.run.as_str())
        .collect();
    let mut orders = Vec::new();
    for intent in lines.intents.iter().filter(|intent| intent.start) {
        let run = &intent.run_id;
        if open.contains(run.as_str()) && lines.made.contains_key(run) {
            orders.push(order_of(Some(intent), run, lines.retries_of(run), None));
        }
    }
    let mut named = Vec::new();
    for retry in &lines.retries {
        let intent = lines.of_run(&retry.run_id);
        // Where the run is to be started they wait as its other jobs do.
        if open.contains(retry.run_id.as_str()) && !intent.is_some_and(|intent| intent.start) {
            named.push(Named {
                run_id: retry.run_id.clone(),
                intent: intent.cloned(),
                retry: RetryOrder::clone(retry),
                again: lines.retries_of(&retry.run_id),
            });
        }
    }
    Ok((orders, named))
}

fn order_of(
    intent: Option<&Intent>,
    run: &RunId,
    again: Again,
    jobs: Option<Vec<JobId>>,
) -> WorkOrder {
    WorkOrder {
        run_id: run.clone(),
        max_cost_usd: allowed(intent, again),
        max_parallel: intent.and_then(|intent| intent.max_parallel),
        reuse: intent.is_some_and(|intent| intent.dedupes),
        jobs,
    }
}

/// Narrows orders to the jobs that still wait.
fn still_waiting(
    context: &OpsContext,
    named: Vec<Named>,
    spent: &mut Spent,
) -> Result<Vec<WorkOrder>, OpsError> {
    let mut waiting: HashMap<RunId, HashSet<JobId>> = HashMap::new();
    let mut orders: Vec<WorkOrder> = Vec::new();
    for one in named {
        if spent.0.contains(&one.retry.id) {
            continue;
        }
        if !waiting.contains_key(&one.run_id) {
            let run = context.runs(&one.run_id)?;
            let jobs = run.jobs(&one.run_id, Rhythm::default())?.jobs.into_iter();
            let jobs = jobs.filter(waits).map(|job| job.job_id).collect();
            waiting.insert(one.run_id.clone(), jobs);
        }
        let jobs = one.retry.jobs.iter();
        let jobs: Vec<JobId> = jobs
            .filter(|job| waiting[&one.run_id].contains(*job))
            .cloned()
            .collect();
        if jobs.is_empty() {
            spent.0.insert(one.retry.id);
            continue;
        }
        if orders.iter().any(|order| order.run_id == one.run_id) {
            // The next look comes to the rest.
            continue;
        }
        let intent = one.intent.as_deref();
        let mut order = order_of(intent, &one.run_id, one.again, Some(jobs));
        order.max_cost_usd = order.max_cost_usd.or(one.retry.accepted_usd);
        orders.push(order);
    }
    Ok(orders)
}

fn waits(job: &JobRecord) -> bool {
    matches!(
        &job.snapshot,
        JobSnapshot::Known {
            state: JobState::Enqueued { .. } | JobState::Running { .. },
            ..
        }
    )
}

/// Puts the jobs of orders back whose service died before it did.
pub fn put_back(context: &OpsContext) -> Result<(), OpsError> {
    put_back_on_files(context)?;
    #[cfg(feature = "postgres")]
    if let Some(server) = context.fleet()? {
        let (open, unreadable) = super::fleet::open(context, &*server)?;
        for order in open
            .into_iter()
            .filter(|task| !task.is_taken)
            .filter_map(|task| task.retry)
        {
            carry_out(context, &order)?;
        }
        if let Some(run) = unreadable.first() {
            return Err(super::asked::unreadable(run));
        }
    }
    Ok(())
}

fn put_back_on_files(context: &OpsContext) -> Result<(), OpsError> {
    let lines = Lines::read(&context.workspace)?;
    let mut open = lines.open_retries();
    open.try_for_each(|order| carry_out(context, order))
}

/// Has the jobs of an order wait again, and notes that they do.
fn carry_out(context: &OpsContext, order: &RetryOrder) -> Result<(), OpsError> {
    // Of a run that was removed nothing waits.
    if context.workspace.run(&order.run_id).manifest().is_file() {
        let identity = identity::worker_identity(&context.settings);
        let store = context.open_to_act(&order.run_id, identity, false, Arc::new(|_| ()))?;
        let now = || context.clock.now();
        store.recover(now())?;
        store.try_again(&order.failed(), order.resubmit_unknown, &now)?;
        store.close(now())?;
    }
    fault::here("retry.put_back");
    #[cfg(feature = "postgres")]
    if context.workspace.run(&order.run_id).fleet().exists()
        && let Some(server) = context.fleet()?
    {
        return super::fleet::take_retry(&mut server.desk(), &order.id);
    }
    let Some(mut held) = Held::take(&context.workspace)? else {
        return Ok(());
    };
    if held.lines.open_retries().any(|open| open.id == order.id) {
        let (at, id) = (context.clock.now(), order.id.clone());
        held.add(&[Line::Retried { at, id }])?;
    }
    Ok(())
}

/// Has failed jobs tried again; `written` makes the answer that is kept with a key. They wait when this returns. Whoever asks
/// for the same at once orders nothing more.
pub fn retry(
    context: &OpsContext,
    asked: &Retry,
    written: fn(&SubmissionPlan) -> String,
) -> Result<Retried, SubmitError> {
    if let Some(answer) = replayed(context, asked)? {
        return Ok(Retried::Replayed(answer));
    }
    let attempts = attempts(context, &asked.run_id)?;
    let request = WorkerRequest {
        query: JobQuery {
            only_status: Some(vec![Status::Failed]),
            ..asked.query.clone()
        },
        resubmit_unknown: asked.resubmit_unknown,
        ..WorkerRequest::plain(asked.run_id.clone())
    };
    let plan = plan_again(context, &request, &Some)?;
    let shown = summary(&plan, "");
    if asked.dry_run {
        return Ok(Retried::Planned(shown));
    }
    if asked
        .if_plan
        .as_ref()
        .is_some_and(|hash| *hash != shown.hash)
    {
        return Err(SubmitError::PlanChanged(Box::new(shown)));
    }
    let meant = plan
        .jobs
        .iter()
        .filter(|job| job.fate.starts() || job.fate == PlannedAction::Blocked)
        .filter_map(|job| Some((job.job_id.clone(), *attempts.get(&job.job_id)?)));
    let (jobs, attempts): (Vec<JobId>, Vec<u32>) = meant.unzip();
    let accepted_usd = check_budget(context, asked, &plan, &shown)?;
    let counted = match asked.daily_cap_usd {
        Some(_) => shown.worst_usd,
        None => shown.expected_usd,
    };
    let order = RetryOrder {
        at: context.clock.now(),
        id: uuid::Uuid::new_v4().to_string(),
        run_id: asked.run_id.clone(),
        jobs,
        attempts,
        resubmit_unknown: asked.resubmit_unknown,
        by: asked.by.clone(),
        expected_usd: counted.dollars(),
        max_cost_usd: asked.max_cost_usd,
        accepted_usd,
    };
    let answer = asked.key.as_ref().map(|key| (key, written(&shown)));
    if let Some(answer) = note(context, asked, &order, &shown, answer)? {
        return Ok(Retried::Replayed(answer));
    }
    fault::here("retry.noted");
    if !order.jobs.is_empty() {
        carry_out(context, &order)?;
    }
    Ok(Retried::Noted(shown))
}

/// Returns the attempts in which the failed jobs of a run failed.
fn attempts(context: &OpsContext, run: &RunId) -> Result<HashMap<JobId, u32>, OpsError> {
    let jobs = context.runs(run)?.jobs(run, Rhythm::default())?.jobs;
    let failed = jobs.into_iter().filter_map(|job| match &job.snapshot {
        JobSnapshot::Known {
            state: JobState::Failed { attempt },
            ..
        } => Some((job.job_id.clone(), *attempt)),
        _ => None,
    });
    Ok(failed.collect())
}

/// Refuses what costs more than is left of what the run may cost. Where nobody said that, the plan that was confirmed says what
/// the run may have cost in all when these jobs are made, which is returned.
fn check_budget(
    context: &OpsContext,
    asked: &Retry,
    plan: &Plan,
    shown: &SubmissionPlan,
) -> Result<Option<f64>, SubmitError> {
    let intent = asked_for(context, &asked.run_id)?;
    let again = again(context, &asked.run_id)?;
    let before = again
        .max_cost_usd
        .or(intent.map(|intent| intent.max_cost_usd.unwrap_or_default()));
    let used = plan.money.spent_usd + plan.money.reserved_usd;
    if let (Some(wanted), Some(before), Some(_)) = (asked.max_cost_usd, before, asked.daily_cap_usd)
    {
        // What more the run may cost is what is counted.
        let most = before.max(used) + shown.worst_usd.dollars();
        if wanted > most + 1e-9 {
            return Err(SubmitError::OverRaise {
                expected: shown.expected_usd,
                most,
            });
        }
    }
    let Some(allowed) = asked.max_cost_usd.or(before) else {
        if shown.costs() && asked.if_plan.is_none() {
            return Err(SubmitError::MaxCostMissing(shown.expected_usd));
        }
        // What earlier orders accepted and did not spend yet is theirs.
        let before = again.accepted_usd.unwrap_or_default().max(used);
        return Ok(Some(before + shown.worst_usd.dollars()));
    };
    let left = (allowed - used).max(0.0);
    // Sums of amounts that people write are right to a millionth.
    if shown.expected_usd <= Usd::of(left + 1e-9) {
        return Ok(None);
    }
    Err(SubmitError::OverRun {
        jobs: shown.start + shown.blocked,
        expected: shown.expected_usd,
        allowed,
        left,
    })
}

/// Writes an order down with what is answered, if what was ordered today leaves room for it and the same is not ordered already.
/// One without jobs is no order; its answer is kept. Returns what was answered to the same request before.
fn note(
    context: &OpsContext,
    asked: &Retry,
    order: &RetryOrder,
    shown: &SubmissionPlan,
    answer: Option<(&RequestKey, String)>,
) -> Result<Option<String>, SubmitError> {
    let fits = |ordered: f64| {
        let left = asked.daily_cap_usd.map(|cap| cap - ordered);
        left.map_or(Ok(()), |left| fits_cap(shown, shown.worst_usd, left))
    };
    #[cfg(feature = "postgres")]
    if context.workspace.run(&asked.run_id).fleet().exists()
        && let Some(server) = context.fleet()?
    {
        let (_held, beside) = under_cap(context, &asked.by, asked.daily_cap_usd, order.at)?;
        let fits = |ordered: f64| fits(beside + ordered);
        return super::fleet::retry(&mut server.desk(), order, answer, &fits);
    }
    let mut held = Held::take(&context.workspace)?.ok_or(SubmitError::Busy)?;
    if let Some(told) = answered(&held.lines, asked, order.at)? {
        return Ok(Some(told));
    }
    let mut lines = Vec::new();
    let is_open = |held: &Held| {
        held.lines
            .open_retries()
            .any(|open| open.asks_the_same(order))
    };
    if !order.jobs.is_empty() && !is_open(&held) {
        if asked.daily_cap_usd.is_some() {
            fits(ordered_anywhere(context, &held, &asked.by, order.at)?)?;
        }
        lines.push(Line::Retry(Box::new(order.clone())));
    }
    lines.extend(answer.map(|(key, body)| Line::Answered {
        at: order.at,
        scope: key.scope.clone(),
        status: 202,
        body: format!("{}\n{body}", key.fingerprint),
    }));
    held.add(&lines)?;
    Ok(None)
}

/// Returns what was answered to the same request before.
fn replayed(context: &OpsContext, asked: &Retry) -> Result<Option<String>, SubmitError> {
    let Some(key) = asked.key.as_ref().filter(|_| !asked.dry_run) else {
        return Ok(None);
    };
    #[cfg(feature = "postgres")]
    if context.workspace.run(&asked.run_id).fleet().exists()
        && let Some(server) = context.fleet()?
    {
        return super::fleet::replayed(&*server, key);
    }
    let _ = key;
    let lines = Lines::read(&context.workspace)?;
    answered(&lines, asked, context.clock.now())
}

fn answered(lines: &Lines, asked: &Retry, now: Timestamp) -> Result<Option<String>, SubmitError> {
    let kept = asked
        .key
        .as_ref()
        .and_then(|key| Some((key, lines.answers.get(&key.scope)?)));
    let kept = kept.filter(|(_, kept)| now.since(kept.at) < REMEMBERED);
    match kept {
        None => Ok(None),
        Some((key, kept)) if kept.fingerprint == key.fingerprint => Ok(Some(kept.body.clone())),
        Some(_) => Err(SubmitError::KeyReused),
    }
}
