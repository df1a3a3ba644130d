//! What the ledger of money has lost, found again in the journals of the runs.
//!
//! A ledger of which both copies are gone, cut short or damaged would lift every limit.
//! A worker under a limit has its lines written back before it starts; `doctor` tells.
//! Only attempts that no line names count as lost: whatever the ledger says, holds. What
//! the ledger accounts for already is not read again.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::domain::budget::{AttemptKey, Bill, Caps, Change, Ledger, LedgerEntry};
use crate::domain::id::{RunId, WorkerId};
use crate::domain::lease::Rhythm;
use crate::domain::patch::{DRY_RUN, REUSED};
use crate::domain::retry::ErrorClass;
use crate::domain::text::counted;
use crate::domain::time::Timestamp;
use crate::store::StoreError;
use crate::store::attempt::{AttemptOutcome, AttemptRecord, RunAttempts};
use crate::store::files::{self, FileBudget, Journals};
use crate::store::runs;
use crate::workspace::paths::Workspace;

/// Money of an attempt that no line of the ledger names.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::store::files) struct Lost {
    /// The attempt.
    pub(in crate::store::files) attempt_key: AttemptKey,
    /// When it was over, or else when it began.
    at: Timestamp,
    /// What it cost, if that is known.
    pub(in crate::store::files) usd: Option<f64>,
    /// Whether it is paid; else it may be billed.
    paid: bool,
    /// Whether a line was there once; an attempt that was cut off early may have
    /// reserved nothing.
    proven: bool,
}

/// Returns what the journals of a run tell and the ledger does not.
fn of_run(
    workspace: &Workspace,
    run_id: &RunId,
    now: Timestamp,
    look: impl FnOnce(&mut dyn FnMut(&Ledger)) -> Result<(), StoreError>,
) -> Result<Vec<Lost>, StoreError> {
    let found = files::all_attempts(workspace, run_id, Rhythm::default(), now)?;
    let mut lost = Vec::new();
    // Read after the journals: whoever works now has reserved before.
    look(&mut |ledger| lost = missing(run_id, &found, ledger))?;
    Ok(lost)
}

/// Returns what these attempts of a run cost that no line of the ledger names.
pub(in crate::store::files) fn missing(
    run_id: &RunId,
    found: &RunAttempts,
    ledger: &Ledger,
) -> Vec<Lost> {
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
            let running = record.outcome == AttemptOutcome::Running;
            let settles_itself =
                !completed && !running && !found.ended.contains_key(&record.worker);
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
                attempt_key: AttemptKey {
                    run_id: run_id.clone(),
                    job_id: record.job_id.clone(),
                    attempt: record.attempt,
                    nonce: record.nonce.clone(),
                    worker_id: record.worker.clone(),
                },
                at: record.ended.unwrap_or(record.started),
                usd,
                paid,
                proven: bought || (record.outcome != AttemptOutcome::Interrupted && !running),
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
        AttemptOutcome::Interrupted | AttemptOutcome::Running => Some(Bill::InDoubt),
        _ if open => Some(Bill::InDoubt),
        _ => None,
    }
}

/// Writes back what the ledger has lost, as far as the limits are about it; returns
/// what a person should know.
pub(in crate::store::files) fn restore(
    workspace: &Workspace,
    run_id: &RunId,
    budget: &FileBudget,
    caps: Caps,
    price: &dyn Fn(&str) -> Option<f64>,
    now: Timestamp,
) -> Result<Vec<String>, StoreError> {
    budget.repair()?;
    let runs = match caps.day_usd {
        Some(_) => runs::all(workspace)?,
        None => vec![run_id.clone()],
    };
    let accounted = budget.accounted()?;
    let mut read = Journals::new();
    let mut lost = Vec::new();
    for run_id in &runs {
        let (of_run, ended) = unaccounted(workspace, run_id, budget, &accounted, now)?;
        lost.extend(of_run);
        read.extend(ended);
    }
    if budget.damaged() == 0 && !lost.iter().any(|one| one.proven) {
        account_for(budget, &accounted, read)?;
        return Ok(Vec::new());
    }
    let prices = prices(workspace, &lost, price)?;
    let (mut lines, mut sum) = (0, 0.0);
    for one in lost {
        let Some(usd) = one.usd.or(prices.get(&key(&one)).copied()) else {
            // Its price may be known another time.
            let of_run = format!("{}/", one.attempt_key.run_id);
            read.retain(|journal, _| !journal.starts_with(&of_run));
            continue;
        };
        let change = if one.paid {
            Change::Settled { usd }
        } else {
            Change::Reserved { usd }
        };
        (lines, sum) = (lines + 1, sum + usd);
        let (at, attempt_key) = (one.at, one.attempt_key);
        budget.restore(&LedgerEntry {
            at,
            attempt_key,
            change,
            by_hand: false,
        })?;
    }
    account_for(budget, &accounted, read)?;
    let mut told = Vec::new();
    if budget.damaged() > 0 {
        told.push(format!(
            "tables/budget.jsonl has {} that cannot be read; what the journals do not have \
             them is not counted",
            counted(budget.damaged(), "line")
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

/// Returns what a run has lost, by the journals that the ledger does not account for,
/// and the journals of ended workers among them. Most often nothing is lost; only
/// otherwise the others are read too, which may tell more of the same jobs.
fn unaccounted(
    workspace: &Workspace,
    run_id: &RunId,
    budget: &FileBudget,
    accounted: &Journals,
    now: Timestamp,
) -> Result<(Vec<Lost>, Journals), StoreError> {
    let name = |worker: &WorkerId| format!("{run_id}/{worker}");
    let news = |worker: &WorkerId, length: u64| accounted.get(&name(worker)) != Some(&length);
    let found = files::some_attempts(workspace, run_id, Rhythm::default(), now, &news)?;
    let ended = found
        .ended
        .iter()
        .map(|(worker, length)| (name(worker), *length));
    let ended = ended.collect();
    // Read after the journals: whoever works now has reserved before.
    let mut lost = budget.ask(|ledger| missing(run_id, &found, ledger))?;
    if !lost.is_empty() && !accounted.is_empty() {
        lost = of_run(workspace, run_id, now, |ask| budget.ask(ask))?;
    }
    Ok((lost, ended))
}

/// Notes what the ledger accounts for now, if that is more than before.
fn account_for(budget: &FileBudget, before: &Journals, read: Journals) -> Result<(), StoreError> {
    let news = read
        .iter()
        .any(|(journal, length)| before.get(journal) != Some(length));
    if news {
        budget.account_for(read)?;
    }
    Ok(())
}

fn key(lost: &Lost) -> (String, String) {
    (
        lost.attempt_key.run_id.to_string(),
        lost.attempt_key.job_id.to_string(),
    )
}

/// Returns what the jobs cost whose bill nobody knows.
fn prices(
    workspace: &Workspace,
    lost: &[Lost],
    price: &dyn Fn(&str) -> Option<f64>,
) -> Result<HashMap<(String, String), f64>, StoreError> {
    let unknown = lost.iter().filter(|one| one.usd.is_none());
    let wanted: BTreeSet<(String, String)> = unknown.map(key).collect();
    if wanted.is_empty() {
        return Ok(HashMap::new());
    }
    let algos = files::algos_of(workspace, &wanted)?;
    let priced = algos.into_iter();
    Ok(priced
        .filter_map(|(job, algo)| Some((job, price(&algo)?)))
        .collect())
}
