//! Reservations that nobody settles by himself: shown, and ended by a person who
//! knows what the provider billed.
//!
//! A job that may have been billed keeps its money reserved until its next
//! attempt. If there will be none, `cost settle` appends the line that ends it.

use std::collections::HashMap;

use crate::domain::id::{JobId, RunId};
use crate::domain::job::JobState;
use crate::domain::lease::{Rhythm, Verdict};
use crate::domain::text::shell_word;
use crate::ops::find::{JobName, find_job, jobs_meant};
use crate::ops::{OpsContext, OpsError};
use crate::store::runs::{RunMoney, Runs};
use crate::store::{JobRecord, JobSnapshot};

use super::Counted;
use crate::domain::money::Usd;
use crate::ops::view::cost::OpenReservation;

/// Returns what is reserved in a run for jobs that nobody works on.
pub fn open_reservations(
    runs: &dyn Runs,
    money: &RunMoney,
    run_id: &RunId,
) -> Result<Vec<OpenReservation>, OpsError> {
    if money.reserved.is_empty() {
        return Ok(Vec::new());
    }
    let run = runs.jobs(run_id, Rhythm::default())?;
    let jobs: HashMap<&JobId, &JobRecord> = run.jobs.iter().map(|job| (&job.job_id, job)).collect();
    let mut found = Vec::new();
    for (job_id, reserved) in &money.reserved {
        let record = jobs.get(job_id);
        let job = record.map(|job| &job.snapshot);
        let (state, request_id) = match job {
            Some(JobSnapshot::Known {
                state: JobState::Running { .. },
                holder: Some(holder),
                ..
            }) if holder.verdict != Verdict::Dead => continue,
            Some(JobSnapshot::Known {
                state, purchase, ..
            }) => (state.status().word().to_owned(), purchase.clone()),
            _ => ("unknown".to_owned(), None),
        };
        found.push(OpenReservation {
            run_id: run_id.clone(),
            name: record.map(|job| JobName::of(job)).unwrap_or_default(),
            job_id: job_id.clone(),
            usd: reserved.usd,
            state,
            request_id,
        });
    }
    Ok(found)
}

/// Ends the reservation of a job with what a person says it cost, unless
/// `confirm` says no; returns what it was then. `job` may be the beginning of its
/// id, or its product.
pub fn settle(
    context: &OpsContext,
    run_id: &RunId,
    job: &str,
    usd: f64,
    confirm: &dyn Fn(&OpenReservation) -> bool,
) -> Result<Option<OpenReservation>, OpsError> {
    let runs = context.runs(run_id)?;
    let open = open_reservations(&*runs, &runs.money(run_id)?, run_id)?;
    let names = open
        .iter()
        .map(|one| (one.job_id.clone(), one.name.clone()));
    let names: Vec<(JobId, JobName)> = names.collect();
    if jobs_meant(&names, job).is_empty() {
        // The run may have that job; it only has nothing to settle.
        return Err(OpsError::Setup {
            message: format!("job {job:?} of run {run_id} has no open reservation"),
            hint: Some(format!(
                "`archi3d cost report {}` lists open reservations; one that a worker holds \
                 cannot be settled",
                shell_word(run_id.as_str())
            )),
        });
    }
    let id = find_job(&names, run_id, job)?;
    let found = open.iter().find(|one| one.job_id == *id);
    let found = found.expect("it was found among them");
    if !confirm(found) {
        return Ok(None);
    }
    runs.settle_by_hand(run_id, &found.job_id, usd)?;
    Ok(Some(found.clone()))
}

/// Takes in what people said was billed: it ends the doubt about the job's attempts
/// until then, but for those that were written off.
pub(super) fn take_in(counted: &mut [Counted<'_>], money: &RunMoney) {
    for said in &money.by_hand {
        let mut meant = None;
        for (place, one) in counted.iter_mut().enumerate() {
            let record = one.record;
            if record.job_id != said.attempt_key.job_id || record.started > said.at {
                continue;
            }
            let own = record.nonce == said.attempt_key.nonce;
            if own || meant.is_none() {
                meant = Some(place);
            }
            if own || !money.settled.contains(&record.nonce) {
                one.unknown = false;
            }
        }
        if let Some(place) = meant {
            counted[place].billed = Some(Usd::of(said.usd));
        }
    }
}
