//! What the ledger of money has lost, found again in the journals of the runs.
//!
//! A ledger that is gone, cut short or damaged would lift every limit. A worker
//! under a limit has its lines written back before it starts; `doctor` tells. Only
//! attempts that no line names count as lost: whatever the ledger says, holds.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::domain::budget::{Bill, Caps, Change, Entry, Ledger, Stake};
use crate::domain::id::{AlgoKey, RunId};
use crate::domain::lease::Rhythm;
use crate::domain::patch::{DRY_RUN, REUSED};
use crate::domain::retry::ErrorClass;
use crate::domain::text::counted;
use crate::domain::time::Timestamp;
use crate::ops::attempts::{AttemptOutcome, AttemptRecord};
use crate::ops::run::{WorkerRequest, carrier};
use crate::ops::{OpsContext, OpsError, cost};
use crate::store::attempt::RunAttempts;
use crate::store::csv::{self, FilePurse};
use crate::store::{Purse, StoreError};
use crate::workspace::paths::Workspace;

/// Money of an attempt that no line of the ledger names.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Lost {
    /// The attempt.
    pub(super) stake: Stake,
    /// When it was over, or else when it began.
    at: Timestamp,
    /// What it cost, if that is known.
    pub(super) usd: Option<f64>,
    /// Whether it is paid; else it may be billed.
    paid: bool,
    /// Whether a line was there once; an attempt that was cut off early may have
    /// reserved nothing.
    proven: bool,
}

/// Returns what the journals of a run tell and the ledger does not.
pub(super) fn of_run(
    workspace: &Workspace,
    run_id: &RunId,
    now: Timestamp,
    look: impl FnOnce() -> Result<Ledger, OpsError>,
) -> Result<Vec<Lost>, OpsError> {
    let found = csv::all_attempts(workspace, run_id, Rhythm::default(), now)?;
    // Read after the journals: whoever works now has reserved before.
    Ok(missing(run_id, &found, &look()?))
}

fn missing(run_id: &RunId, found: &RunAttempts, ledger: &Ledger) -> Vec<Lost> {
    let mut by_job: BTreeMap<&str, Vec<&AttemptRecord>> = BTreeMap::new();
    for record in found.attempts.iter().filter(|one| costs(one)) {
        let of_job = by_job.entry(record.job_id.as_str()).or_default();
        of_job.push(record);
    }
    let mut lost = Vec::new();
    for attempts in by_job.values() {
        for (place, record) in attempts.iter().enumerate() {
            let same = |other: &&&AttemptRecord| {
                other.nonce == record.nonce
                    || (other.request_id.is_some() && other.request_id == record.request_id)
            };
            let completed = record.outcome == AttemptOutcome::Completed;
            let later = &attempts[place + 1..];
            // Of the attempts about one purchase the last one speaks.
            let speaks = later.iter().filter(same).count() == 0;
            let settles_itself = !completed && !found.ended.contains(&record.worker);
            if !speaks
                || settles_itself
                || attempts
                    .iter()
                    .filter(same)
                    .any(|one| ledger.knows(&one.nonce))
            {
                continue;
            }
            let about_it = attempts.iter().filter(same);
            let usd = about_it.filter_map(|one| one.cost_usd).next_back();
            let open = record.cut_off || record.request_id.is_some() && !record.void;
            let bought = open || record.class == Some(ErrorClass::Unknown);
            let paid = match bill(record) {
                Some(Bill::Settled(usd)) if usd > 0.0 => true,
                // What is bought once more does not end what came before.
                Some(Bill::InDoubt) => bought && !later.is_empty(),
                _ => continue,
            };
            lost.push(Lost {
                stake: Stake {
                    run_id: run_id.clone(),
                    job_id: record.job_id.clone(),
                    attempt: record.attempt,
                    nonce: record.nonce.clone(),
                    worker_id: record.worker.clone(),
                },
                at: record.ended.unwrap_or(record.started),
                usd,
                paid,
                proven: record.outcome != AttemptOutcome::Interrupted || bought,
            });
        }
    }
    lost
}

/// Tells whether an attempt can have cost anything.
fn costs(record: &AttemptRecord) -> bool {
    let source = record.price_source.as_deref();
    !record.simulated && source != Some(DRY_RUN) && source != Some(REUSED)
}

/// Returns the bill of an attempt; nothing if it made none.
fn bill(record: &AttemptRecord) -> Option<Bill> {
    let open = record.cut_off || record.request_id.is_some() && !record.void;
    match record.outcome {
        AttemptOutcome::Completed => Some(Bill::Settled(record.cost_usd.unwrap_or(0.0))),
        AttemptOutcome::Failed | AttemptOutcome::PutOff => {
            let class = record.class.unwrap_or(ErrorClass::Unknown);
            Some(Bill::of_failure(class, record.cost_usd, open))
        }
        AttemptOutcome::Interrupted => Some(Bill::InDoubt),
        _ if open => Some(Bill::InDoubt),
        _ => None,
    }
}

/// Writes back what the ledger has lost, as far as the limits are about it; returns
/// what a person should know.
pub(super) fn restore(
    context: &OpsContext,
    request: &WorkerRequest,
    purse: &FilePurse,
    caps: Caps,
) -> Result<Vec<String>, OpsError> {
    let runs = match caps.day_usd {
        Some(_) => cost::all_runs(context)?,
        None => vec![request.run_id.clone()],
    };
    let now = context.clock.now();
    let mut lost = Vec::new();
    for run_id in &runs {
        let look = || Ok(current(purse)?);
        let of_run = of_run(&context.workspace, run_id, now, look)?;
        let today = |one: &Lost| one.at.iso().get(..10) == now.iso().get(..10);
        lost.extend(
            of_run
                .into_iter()
                .filter(|one| *run_id == request.run_id || today(one)),
        );
    }
    if purse.damaged() == 0 && !lost.iter().any(|one| one.proven) {
        return Ok(Vec::new());
    }
    let prices = prices(context, request, &lost)?;
    let (mut lines, mut sum) = (0, 0.0);
    for one in lost {
        let Some(usd) = one.usd.or(prices.get(&key(&one)).copied()) else {
            continue;
        };
        let change = if one.paid {
            Change::Settled { usd }
        } else {
            Change::Reserved { usd }
        };
        (lines, sum) = (lines + 1, sum + usd);
        let (at, stake) = (one.at, one.stake);
        purse.restore(&Entry {
            at,
            stake,
            change,
            by_hand: false,
        })?;
    }
    let mut told = Vec::new();
    if purse.damaged() > 0 {
        told.push(format!(
            "tables/budget.jsonl has {} that cannot be read; what the journals do not tell of \
             them is not counted",
            counted(purse.damaged(), "line")
        ));
    }
    if lines > 0 {
        told.push(format!(
            "tables/budget.jsonl did not know of {}, ${sum:.2} together; written back from the \
             journals, so that the limit holds",
            counted(lines, "purchase")
        ));
    }
    Ok(told)
}

fn current(purse: &FilePurse) -> Result<Ledger, StoreError> {
    let mut seen = Ledger::default();
    purse.look(&mut |ledger| seen = ledger.clone())?;
    Ok(seen)
}

fn key(lost: &Lost) -> (String, String) {
    (lost.stake.run_id.to_string(), lost.stake.job_id.to_string())
}

/// Returns what the jobs cost whose bill nobody knows.
fn prices(
    context: &OpsContext,
    request: &WorkerRequest,
    lost: &[Lost],
) -> Result<HashMap<(String, String), f64>, OpsError> {
    let unknown = lost.iter().filter(|one| one.usd.is_none());
    let wanted: BTreeSet<(String, String)> = unknown.map(key).collect();
    if wanted.is_empty() {
        return Ok(HashMap::new());
    }
    let algos = csv::algos_of(&context.workspace, &wanted)?;
    let price = |algo: &str| {
        let own = AlgoKey::parse(algo).ok();
        let carrier = carrier(context, request, request.adapter.as_ref().or(own.as_ref())?);
        carrier.ok()?.price.unit_usd.filter(|usd| *usd > 0.0)
    };
    let priced = algos.into_iter();
    Ok(priced
        .filter_map(|(job, algo)| Some((job, price(&algo)?)))
        .collect())
}
