//! What workers that follow are to do: runs that were submitted to be started, and failed jobs that
//! are to be tried again.

use crate::domain::filter::JobQuery;
use crate::domain::id::{JobId, RunId};
use crate::domain::job::Status;
use crate::domain::money::Usd;
use crate::ops::names;
use crate::ops::plan::run_plan;
use crate::ops::select::WorkerRequest;
use crate::ops::view::plan::PlannedAction;
use crate::ops::{OpsContext, OpsError};

use super::log::{Held, Intent, Line, Lines, RetryOrder};
use super::{SubmissionPlan, SubmitError, ordered_today, summary};

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
    /// The failed jobs that are to be tried again; else what waits.
    pub retry: Option<RetryOrder>,
}

/// A wish to try failed jobs again.
#[derive(Debug, Clone, PartialEq)]
pub struct Retry {
    /// The run.
    pub run_id: RunId,
    /// Which of its jobs; failed ones unless it names states.
    pub query: JobQuery,
    /// Whether jobs are bought again that may have been billed.
    pub resubmit_unknown: bool,
    /// The plan that was confirmed.
    pub if_plan: Option<String>,
    /// Who asks.
    pub by: String,
    /// What they may order in a day.
    pub daily_cap_usd: Option<f64>,
}

/// Returns what is to be done, runs in the order in which they were asked for.
pub fn orders(context: &OpsContext) -> Result<Vec<WorkOrder>, OpsError> {
    #[cfg_attr(
        not(feature = "postgres"),
        expect(unused_mut, reason = "a fleet adds some")
    )]
    let mut orders = on_files(context)?;
    #[cfg(feature = "postgres")]
    if context.has_fleet()? {
        let open = super::fleet::open(context)?.into_iter();
        // What nobody wanted started waits for a person; what they want tried again does not.
        let open = open.filter(|(intent, retry)| intent.start || retry.is_some());
        orders.extend(open.map(|(intent, retry)| WorkOrder {
            retry,
            ..order_of(Some(&intent), &intent.run_id)
        }));
    }
    Ok(orders)
}

fn on_files(context: &OpsContext) -> Result<Vec<WorkOrder>, OpsError> {
    let lines = Lines::read(&context.workspace)?;
    if lines.intents.is_empty() && lines.retries.is_empty() {
        return Ok(Vec::new());
    }
    let (runs, _) = names::runs(context)?;
    let known = |run: &RunId| runs.iter().find(|line| line.run == run.as_str());
    let mut orders = Vec::new();
    for retry in lines.open_retries() {
        if known(&retry.run_id).is_some() {
            let order = order_of(intent_of(&lines, &retry.run_id), &retry.run_id);
            orders.push(WorkOrder {
                retry: Some(retry.clone()),
                ..order
            });
        }
    }
    for intent in lines.intents.iter().filter(|intent| intent.start) {
        let made = lines.made.contains_key(&intent.run_id);
        let Some(line) = known(&intent.run_id).filter(|_| made) else {
            continue;
        };
        let open = [Status::Enqueued, Status::Running];
        if line.rehearsed > 0 || open.iter().any(|status| line.counts[*status as usize] > 0) {
            orders.push(order_of(Some(intent), &intent.run_id));
        }
    }
    Ok(orders)
}

fn intent_of<'l>(lines: &'l Lines, run: &RunId) -> Option<&'l Intent> {
    let mut intents = lines.intents.iter().rev();
    intents.find(|intent| intent.run_id == *run)
}

fn order_of(intent: Option<&Intent>, run: &RunId) -> WorkOrder {
    WorkOrder {
        run_id: run.clone(),
        // What was free when it was asked for stays free.
        max_cost_usd: intent.map(|intent| intent.max_cost_usd.unwrap_or_default()),
        max_parallel: intent.and_then(|intent| intent.max_parallel),
        reuse: intent.is_some_and(|intent| intent.dedupes),
        retry: None,
    }
}

/// Takes an order to try again; of several workers one gets it.
pub fn take_retry(context: &OpsContext, id: &str) -> Result<bool, OpsError> {
    #[cfg(feature = "postgres")]
    if let Some(mut desk) = context.desk()?
        && super::fleet::take_retry(&mut desk, id)?
    {
        return Ok(true);
    }
    let Some(mut held) = Held::take(&context.workspace)? else {
        return Ok(false);
    };
    if !held.lines.open_retries().any(|order| order.id == id) {
        return Ok(false);
    }
    held.add(Line::Retried {
        at: context.clock.now(),
        id: id.to_owned(),
    })?;
    Ok(true)
}

/// Notes that failed jobs are to be tried again; returns what that would do and cost.
pub fn retry(context: &OpsContext, asked: &Retry) -> Result<SubmissionPlan, SubmitError> {
    let mut query = asked.query.clone();
    query
        .only_status
        .get_or_insert_with(|| vec![Status::Failed]);
    let request = WorkerRequest {
        query,
        resubmit_unknown: asked.resubmit_unknown,
        ..WorkerRequest::plain(asked.run_id.clone())
    };
    let plan = run_plan(context, &request)?;
    let shown = summary(&plan, "");
    if asked
        .if_plan
        .as_ref()
        .is_some_and(|hash| *hash != shown.hash)
    {
        return Err(SubmitError::PlanChanged(Box::new(shown)));
    }
    let starts = plan.jobs.iter().filter(|job| job.fate.starts());
    let mut jobs: Vec<JobId> = starts.map(|job| job.job_id.clone()).collect();
    let blocked = plan
        .jobs
        .iter()
        .filter(|job| job.fate == PlannedAction::Blocked);
    jobs.extend(blocked.map(|job| job.job_id.clone()));
    if jobs.is_empty() {
        return Ok(shown);
    }
    let order = RetryOrder {
        at: context.clock.now(),
        id: uuid::Uuid::new_v4().to_string(),
        run_id: asked.run_id.clone(),
        jobs,
        resubmit_unknown: asked.resubmit_unknown,
        by: asked.by.clone(),
        expected_usd: shown.expected_usd.dollars(),
    };
    let fits = |ordered: f64| {
        let allowed = asked.daily_cap_usd.map(|cap| cap - ordered);
        let allowed = allowed.filter(|left| shown.expected_usd > Usd::of(left.max(0.0)));
        allowed.map_or(Ok(()), |allowed| {
            Err(SubmitError::TooDear {
                jobs: order.jobs.len(),
                expected: shown.expected_usd,
                limit: "what is left of the token's daily cap",
                allowed,
            })
        })
    };
    #[cfg(feature = "postgres")]
    if context.workspace.run(&asked.run_id).fleet().exists()
        && let Some(mut desk) = context.desk()?
    {
        super::fleet::retry(&mut desk, &order, &fits)?;
        return Ok(shown);
    }
    let mut held = Held::take(&context.workspace)?.ok_or(SubmitError::Busy)?;
    fits(ordered_today(&held.lines, &asked.by, order.at))?;
    held.add(Line::Retry(order))?;
    Ok(shown)
}
