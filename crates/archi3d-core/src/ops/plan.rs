//! `run plan`: what `run worker` would do with the same options, what it would
//! cost and how long it would take.
//!
//! Asks the same functions as the worker (`domain::select`, the algorithms, the
//! ledger), job by job in the order in which it would take them. Takes no lock
//! and writes nothing. `decide` has the decisions, `cost` the money, `total` the
//! sums and the time.

use std::collections::BTreeSet;

use crate::domain::id::AlgoKey;
use crate::ops::select::{self, WorkerRequest};
use crate::ops::view::plan::Plan;
use crate::ops::{OpsContext, OpsError, budget, submit};
use crate::store::JobRecord;
use crate::trace;

mod cost;
mod decide;
mod total;
mod words;

pub(super) use decide::Planner;

/// Reads a run and says what a worker would do with it.
pub fn run_plan(context: &OpsContext, request: &WorkerRequest) -> Result<Plan, OpsError> {
    plan_of(context, request, None)
}

/// Makes of a job of a run the one that waits again, if it is to.
type Again<'a> = &'a dyn Fn(JobRecord) -> Option<JobRecord>;

/// The same of jobs that are to wait again. What cannot start now waits until it can, so it has its price, and what limits
/// leave today bounds nothing.
pub(super) fn plan_again(
    context: &OpsContext,
    request: &WorkerRequest,
    again: Again<'_>,
) -> Result<Plan, OpsError> {
    plan_of(context, request, Some(again))
}

fn plan_of(
    context: &OpsContext,
    request: &WorkerRequest,
    again: Option<Again<'_>>,
) -> Result<Plan, OpsError> {
    let _span = trace::span("plan");
    trace::set("run_id", request.run_id.as_str());
    let runs = context.runs(&request.run_id)?;
    // Jobs that are put back are priced beside what the order allows now.
    let request = &match again {
        Some(_) => request.clone(),
        None => submit::bounded(context, request)?,
    };
    let context = &submit::as_chosen(context, &request.run_id)?;
    if let Some(key) = &request.adapter {
        select::known_algo(context, key)?;
    }
    let run = runs.jobs(&request.run_id, request.rhythm)?;
    let mut planner = Planner::new(context, request, runs, false)?.looking_for_copies();
    planner.prices_blocked = again.is_some();
    let mut warnings = run.warnings;
    warnings.extend(context.settings.prices.problem.clone());
    let filter = select::among(&request.query, &run.jobs);
    warnings.extend(select::unmatched(&filter, &request.run_id, &run.jobs));
    warnings.extend(given_up(context, &run.jobs));
    warnings.extend(budget::raised(&request.spending));
    let reading = filter.reading();
    let jobs = match again {
        Some(again) => run.jobs.into_iter().filter_map(again).collect(),
        None => run.jobs,
    };
    let jobs = planner.plan_all(jobs, &filter);
    Ok(Plan {
        reading,
        ..planner.finish(jobs, warnings)
    })
}

/// Says what a worker would do with jobs that do not exist yet. What cannot start now has its price here too.
pub(super) fn plan_new(
    context: &OpsContext,
    request: &WorkerRequest,
    jobs: Vec<JobRecord>,
) -> Result<Plan, OpsError> {
    let _span = trace::span("plan");
    trace::set("jobs", jobs.len());
    let mut planner = Planner::new(context, request, context.ordering()?.runs()?, true)?;
    planner.prices_blocked = true;
    let warnings = given_up(context, &jobs);
    let filter = select::among(&request.query, &jobs);
    let jobs = planner.plan_all(jobs, &filter);
    Ok(planner.finish(jobs, warnings))
}

/// Tells of models among the jobs that their service gives up.
fn given_up(context: &OpsContext, jobs: &[JobRecord]) -> Vec<String> {
    let keys: BTreeSet<&AlgoKey> = jobs
        .iter()
        .filter_map(|job| job.algo.as_ref().ok())
        .collect();
    let said = keys.into_iter().filter_map(|key| {
        let settings = context.settings.algo(key.as_str())?;
        let words = super::adapters::deprecated(settings)?;
        Some(format!("algo {key} is deprecated: {words}"))
    });
    said.collect()
}
