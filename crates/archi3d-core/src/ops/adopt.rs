//! `run adopt`: makes a result that is kept under `outputs/.late/` the job's own.

use std::sync::Arc;

use crate::domain::lease::Rhythm;
use crate::domain::naming::GENERATED_GLB;
use crate::ops::cancel::Warn;
use crate::ops::find::{JobName, find_job, the_job};
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
    if context.workspace.run(&request.run_id).in_fleet() {
        return adopt_in_fleet(context, request, warn);
    }
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

/// The same for a run that lives in a fleet, where what is kept lies in this workspace.
fn adopt_in_fleet(
    context: &OpsContext,
    request: &AdoptRequest,
    warn: &Warn,
) -> Result<Adopted, OpsError> {
    let run_id = &request.run_id;
    let record = the_job(&*context.runs(run_id)?, run_id, &request.job)?;
    let (kept, entry) = context.local().to_adopt(request, &record)?;
    let notices = warn.clone();
    let notices = Arc::new(move |notice| notices(&notice_text(notice)));
    let identity = identity::worker_identity(&context.settings);
    let mut opening = Opening::to_act(run_id, identity, notices);
    // Its result goes to where those of others are.
    opening.fleet.works = true;
    let store = context.backend(run_id)?.open(opening)?.store;
    let from = context.workspace.root().join(&kept.path);
    let job_id = &record.job_id;
    let told = store.adopt_by_hand(job_id, &from, entry, context.clock.now());
    let closed = store.close(context.clock.now());
    if let Some(reason) = told? {
        return Err(OpsError::Setup {
            message: format!("job {job_id}: {reason}"),
            hint: None,
        });
    }
    closed?;
    let model = context.workspace.run(run_id).output(job_id);
    let model = context.workspace.relative(&model.join(GENERATED_GLB));
    Ok(Adopted {
        job_id: job_id.clone(),
        from: kept.path,
        model: model.unwrap_or_default(),
    })
}
