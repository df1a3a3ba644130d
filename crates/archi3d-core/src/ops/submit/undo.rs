//! Cancelled jobs that are put back over the network. Under a token with a daily cap they count as those do that are tried
//! again; what such a token ordered itself was counted then.

use std::collections::HashSet;
use std::sync::Arc;

use crate::domain::filter::JobQuery;
use crate::domain::id::JobId;
use crate::domain::job::JobState;
use crate::ops::OpsContext;
use crate::ops::cancel::{CancelReport, CancelRequest, Warn, cancel_jobs};
use crate::ops::plan::plan_again;
use crate::ops::select::WorkerRequest;
use crate::store::{JobRecord, JobSnapshot};

#[cfg(feature = "postgres")]
use super::cap::under_cap;
use super::cap::{fits_cap, ordered_anywhere};
use super::log::{Held, Line, RetryOrder};
use super::{SubmitError, asked_for, summary};

/// Puts jobs back, as far as what somebody may order in a day allows it.
pub fn undo(
    context: &OpsContext,
    mut request: CancelRequest,
    by: &str,
    daily_cap_usd: Option<f64>,
) -> Result<CancelReport, SubmitError> {
    if let Some(cap) = daily_cap_usd {
        let intent = asked_for(context, &request.run_id)?;
        let is_counted =
            intent.is_some_and(|intent| intent.by == by && intent.committed_usd.is_some());
        if !is_counted {
            // Those that are cancelled from now on are not counted.
            request.only = Some(count(context, &request, by, cap)?);
        }
    }
    let warn: Warn = Arc::new(|_| ());
    Ok(cancel_jobs(context, &request, &|_| true, &warn)?.unwrap_or_default())
}

/// Counts the most that the jobs may cost, and returns them.
fn count(
    context: &OpsContext,
    request: &CancelRequest,
    by: &str,
    cap: f64,
) -> Result<HashSet<JobId>, SubmitError> {
    let of_jobs = WorkerRequest {
        query: JobQuery {
            only_status: None,
            ..request.query.clone()
        },
        ..WorkerRequest::plain(request.run_id.clone())
    };
    let plan = plan_again(context, &of_jobs, &|job| waiting(request, job))?;
    let jobs: HashSet<JobId> = plan.jobs.iter().map(|job| job.job_id.clone()).collect();
    if jobs.is_empty() {
        return Ok(jobs);
    }
    let shown = summary(&plan, "");
    let fits = |ordered: f64| fits_cap(&shown, shown.worst_usd, cap - ordered);
    let order = RetryOrder {
        at: context.clock.now(),
        id: uuid::Uuid::new_v4().to_string(),
        run_id: request.run_id.clone(),
        // No failed job is to be tried again for it.
        jobs: Vec::new(),
        attempts: Vec::new(),
        resubmit_unknown: false,
        by: by.to_owned(),
        expected_usd: shown.worst_usd.dollars(),
        max_cost_usd: None,
        accepted_usd: None,
    };
    #[cfg(feature = "postgres")]
    if context.workspace.run(&request.run_id).fleet().exists()
        && let Some(server) = context.fleet()?
    {
        let (_held, beside) = under_cap(context, by, Some(cap), order.at)?;
        super::fleet::count(&mut server.desk(), &order, &|ordered| {
            fits(beside + ordered)
        })?;
        return Ok(jobs);
    }
    let mut held = Held::take(&context.workspace)?.ok_or(SubmitError::Busy)?;
    fits(ordered_anywhere(context, &held, by, order.at)?)?;
    let (at, id) = (order.at, order.id.clone());
    held.add(&[Line::Retry(Box::new(order)), Line::Retried { at, id }])?;
    Ok(jobs)
}

/// Returns a job as it is once it is put back, if it is to be.
fn waiting(request: &CancelRequest, mut job: JobRecord) -> Option<JobRecord> {
    let JobSnapshot::Known { state, holder, .. } = &mut job.snapshot else {
        return None;
    };
    let chosen = request.query.only_status.as_ref();
    if chosen.is_some_and(|chosen| !chosen.contains(&state.status())) {
        return None;
    }
    let is_asked = holder.as_ref().is_some_and(|holder| holder.cancel_asked);
    let attempt = match state {
        JobState::Cancelled { attempt } => *attempt,
        JobState::Running { attempt } if is_asked => *attempt,
        _ => return None,
    };
    *state = JobState::Enqueued { attempt };
    *holder = None;
    Some(job)
}
