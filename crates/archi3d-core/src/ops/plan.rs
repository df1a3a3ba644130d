//! `run plan`: what `run worker` would do with the same options, what it would
//! cost and how long it would take.
//!
//! Asks the same functions as the worker (`domain::select`, the carriers, the
//! ledger), job by job in the order in which it would take them. Takes no lock
//! and writes nothing. `decide` has the decisions, `cost` the money, `total` the
//! sums and the time.

use std::collections::BTreeSet;

use crate::domain::id::AlgoKey;
use crate::ops::money;
use crate::ops::select::{self, WorkerRequest};
use crate::ops::view::plan::Plan;
use crate::ops::{OpsContext, OpsError};
use crate::store::JobRecord;
use crate::store::files;

mod cost;
mod decide;
mod total;
mod words;

pub(super) use decide::Planner;
pub(super) use total::past_medians;

/// Reads a run and says what a worker would do with it.
pub fn run_plan(context: &OpsContext, request: &WorkerRequest) -> Result<Plan, OpsError> {
    if let Some(key) = &request.adapter {
        select::known_algo(context, key)?;
    }
    let now = context.clock.now();
    let run = files::read_run(&context.workspace, &request.run_id, request.rhythm, now)?;
    let ledger = money::ledger(context)?;
    let mut planner = Planner::new(context, request, &ledger, now)?.looking_for_copies();
    let mut warnings = run.warnings;
    warnings.extend(context.settings.prices.problem.clone());
    let filter = select::among(&request.query, &run.jobs);
    warnings.extend(select::unmatched(&filter, &request.run_id, &run.jobs));
    warnings.extend(given_up(context, &run.jobs));
    let reading = filter.reading();
    let jobs = planner.plan_all(run.jobs, &filter);
    Ok(Plan {
        reading,
        ..planner.finish(jobs, warnings)
    })
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
