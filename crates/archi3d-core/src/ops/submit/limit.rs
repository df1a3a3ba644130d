//! What a run may cost, as it was ordered: a limit for everybody who works on it.

use crate::domain::id::RunId;
use crate::domain::job::Status;
use crate::domain::money::Usd;
use crate::domain::text::shell_word;
use crate::ops::select::WorkerRequest;
use crate::ops::{OpsContext, OpsError};

#[cfg(feature = "postgres")]
use super::asked::is_elsewhere;
use super::log::{Again, Intent, Lines};
use super::{Submission, intent_of};

/// Returns what a run may cost in all, as somebody ordered it: what workers that follow keep to. Of one that was to cost
/// nothing nobody said a limit.
pub fn limit_usd(context: &OpsContext, run: &RunId) -> Result<Option<f64>, OpsError> {
    let intent = intent_of(context, run)?;
    let again = again(context, run)?;
    let said = again
        .max_cost_usd
        .or(intent.as_ref().and_then(|intent| intent.max_cost_usd));
    Ok(said.and_then(|_| allowed(intent.as_deref(), again)))
}

/// Returns what is asked of a worker under what the run may cost as it was ordered.
pub fn bounded(context: &OpsContext, request: &WorkerRequest) -> Result<WorkerRequest, OpsError> {
    let mut request = request.clone();
    request.spending.ordered_usd = limit_usd(context, &request.run_id)?;
    Ok(request)
}

/// Says that a run which will do instead of a new one keeps another limit than was asked for now.
pub(super) fn keeps_its_limit(
    intent: &Intent,
    again: Again,
    status: Status,
    asked: &Submission,
) -> Option<String> {
    let (wanted, kept) = asked.max_cost_usd.zip(allowed(Some(intent), again))?;
    let is_open = matches!(status, Status::Enqueued | Status::Running);
    (is_open && Usd::of(wanted) != Usd::of(kept)).then(|| {
        format!(
            "run {run} keeps the limit it was ordered with, ${kept:.2}, not ${wanted:.2}; to change it, \
             cancel the run and send this again, or start `archi3d run worker {word} --budget-usd {wanted:.2}`",
            run = intent.run_id,
            word = shell_word(intent.run_id.as_str()),
        )
    })
}

/// Returns what the orders to retry jobs of a run come to.
pub(super) fn again(context: &OpsContext, run: &RunId) -> Result<Again, OpsError> {
    #[cfg(feature = "postgres")]
    if is_elsewhere(context, run)
        && let Some(server) = context.fleet()?
    {
        return super::fleet::again(&*server, run);
    }
    Ok(Lines::read(&context.workspace)?.retries_of(run))
}

/// Returns what a run may cost in all; nothing where nobody said so.
pub(super) fn allowed(intent: Option<&Intent>, again: Again) -> Option<f64> {
    let Some(intent) = intent else {
        return again.max_cost_usd;
    };
    // What was free when it was asked for stays free.
    let most = again.max_cost_usd.or(intent.max_cost_usd);
    let most = most.unwrap_or_default();
    // What was counted of a cap is what it may spend.
    let counted = intent.committed_usd.map(|usd| usd + again.counted_usd);
    Some(most.min(counted.unwrap_or(most)))
}
