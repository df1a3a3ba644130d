//! `run adopt`: makes a result that is kept under `outputs/.late/` the job's own.

use std::sync::Arc;

use crate::domain::lease::Rhythm;
use crate::ops::cancel::Warn;
use crate::ops::find::{JobName, find_job};
use crate::ops::run::notice_text;
use crate::ops::{OpsContext, OpsError, identity};
use crate::store::Opening;

pub use crate::store::upkeep::{AdoptRequest, Adopted, Kept};

/// Brings a kept result in.
pub fn adopt(
    context: &OpsContext,
    request: &AdoptRequest,
    warn: &Warn,
) -> Result<Adopted, OpsError> {
    let local = context.local();
    let jobs = local.runs()?.jobs(&request.run_id, Rhythm::default())?.jobs;
    let names = jobs.iter();
    let names: Vec<_> = names
        .map(|record| (record.job_id.clone(), JobName::of(record)))
        .collect();
    let job_id = find_job(&names, &request.run_id, &request.job)?;
    let mut meant = jobs.iter().filter(|job| job.job_id == *job_id);
    let record = meant.next().expect("it was found among them");
    let notices = warn.clone();
    let notices = Arc::new(move |notice| notices(&notice_text(notice)));
    let identity = identity::worker_identity(&context.settings);
    let opening = Opening {
        allow_unsafe_locks: request.allow_unsafe_locks,
        ..Opening::to_act(&request.run_id, identity, notices)
    };
    let adopted = local.adopt(request, record, opening, &**warn)?;
    // Its job is over, so no attempt will settle what was reserved for it.
    let runs = context.runs(&request.run_id)?;
    if let Some(reserved) = runs.money(&request.run_id)?.reserved.get(&adopted.job_id) {
        runs.settle_by_hand(&request.run_id, &adopted.job_id, reserved.usd)?;
    }
    Ok(adopted)
}
