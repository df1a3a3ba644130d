//! Reservations that nobody settles by himself: shown, and ended by a person who
//! knows what the provider billed.
//!
//! A job that may have been billed keeps its money reserved until its next
//! attempt. If there will be none, `cost settle` appends the line that ends it.

use std::collections::HashMap;

use crate::domain::budget::Ledger;
use crate::domain::id::{JobId, RunId};
use crate::domain::job::JobState;
use crate::domain::lease::{Rhythm, Verdict};
use crate::domain::text::shell_word;
use crate::ops::{OpsContext, OpsError, money};
use crate::store::{JobRecord, Standing, csv};
use crate::workspace::ledger::LedgerFile;

use super::{Counted, micros};

/// Money that is set aside for a job that nobody works on.
#[derive(Debug, Clone, PartialEq)]
pub struct OpenReservation {
    /// The run.
    pub run_id: RunId,
    /// The job.
    pub job_id: JobId,
    /// How much.
    pub usd: f64,
    /// The job's state in a word.
    pub state: String,
    /// The purchase that was made for it, if one is known.
    pub request_id: Option<String>,
}

/// Returns what is reserved in a run for jobs that nobody works on.
pub fn open_reservations(
    context: &OpsContext,
    run_id: &RunId,
) -> Result<Vec<OpenReservation>, OpsError> {
    let open = money::ledger(context)?.open(run_id);
    if open.is_empty() {
        return Ok(Vec::new());
    }
    let now = context.clock.now();
    let run = csv::read_run(&context.workspace, run_id, Rhythm::default(), now)?;
    let jobs: HashMap<&JobId, &JobRecord> = run.jobs.iter().map(|job| (&job.job_id, job)).collect();
    let mut found = Vec::new();
    for (stake, usd) in open {
        let job = jobs.get(&stake.job_id).map(|job| &job.standing);
        let (state, request_id) = match job {
            Some(Standing::Known {
                state: JobState::Running { .. },
                holder: Some(holder),
                ..
            }) if holder.verdict != Verdict::Dead => continue,
            Some(Standing::Known {
                state, purchase, ..
            }) => (state.status().word().to_owned(), purchase.clone()),
            _ => ("unknown".to_owned(), None),
        };
        found.push(OpenReservation {
            run_id: run_id.clone(),
            job_id: stake.job_id,
            usd,
            state,
            request_id,
        });
    }
    Ok(found)
}

/// Ends the reservation of a job with what a person says it cost, unless
/// `confirm` says no; returns what it was then. `job` may be the beginning of its
/// id.
pub fn settle(
    context: &OpsContext,
    run_id: &RunId,
    job: &str,
    usd: f64,
    confirm: &dyn Fn(&OpenReservation) -> bool,
) -> Result<Option<OpenReservation>, OpsError> {
    let open = open_reservations(context, run_id)?;
    let begins = |one: &&OpenReservation| one.job_id.as_str().starts_with(job) && !job.is_empty();
    let whole = open.iter().find(|one| one.job_id.as_str() == job);
    let alike: Vec<&OpenReservation> = open.iter().filter(begins).collect();
    let found = match (whole, &alike[..]) {
        (Some(one), _) => one,
        (None, [only]) => only,
        (None, []) => {
            return Err(OpsError::Setup {
                message: format!(
                    "nothing is reserved for job {job:?} of run {run_id}, or a worker is at it"
                ),
                hint: Some(format!(
                    "`archi3d cost report --run-id {}` names what is reserved",
                    shell_word(run_id.as_str())
                )),
            });
        }
        (None, more) => {
            return Err(OpsError::Setup {
                message: format!("{} jobs with money reserved begin with {job:?}", more.len()),
                hint: Some("write more of the id".into()),
            });
        }
    };
    if !confirm(found) {
        return Ok(None);
    }
    let mut file = LedgerFile::new(&context.workspace);
    let now = context.clock.now();
    file.settle_by_hand(run_id, &found.job_id, usd, now)
        .map_err(|error| OpsError::Setup {
            message: format!("tables/budget.jsonl cannot be written: {error}"),
            hint: Some("nothing was settled".into()),
        })?;
    Ok(Some(found.clone()))
}

/// Takes in what people said was billed: it ends the doubt about the job's attempts
/// until then, but for those that were written off.
pub(super) fn take_in(counted: &mut [Counted], ledger: &Ledger, run_id: &RunId) {
    for said in ledger.by_hand(run_id) {
        let mut meant = None;
        for (place, one) in counted.iter_mut().enumerate() {
            let record = &one.record;
            if record.job_id != said.stake.job_id || record.started > said.at {
                continue;
            }
            let own = record.nonce == said.stake.nonce;
            if own || meant.is_none() {
                meant = Some(place);
            }
            if own || !ledger.is_settled(&record.nonce) {
                one.unknown = false;
            }
        }
        if let Some(place) = meant {
            counted[place].billed = Some(micros(said.usd));
        }
    }
}
