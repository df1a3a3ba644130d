//! `cost report`: what was paid, from the attempts of all runs.
//!
//! A purchase that several attempts were about is counted once, rehearsals are
//! not counted, an unknown cost is counted as unknown and never as nothing. Sums
//! are in millionths of a dollar. Reads only.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};

use crate::domain::id::{JobId, RunId};
use crate::domain::money::Usd;
use crate::domain::patch::{DRY_RUN, REUSED};
use crate::domain::retry::ErrorClass;
use crate::ops::adapters::CHECKS;
use crate::ops::attempts::{AttemptOutcome, AttemptRecord};
use crate::ops::stores::Stores;
use crate::ops::view::cost::{By, CostLine, CostReport, LedgerSums, Purchase, Tally};
use crate::ops::{OpsContext, OpsError};
use crate::store::bounds::refuse_linked_run;
use crate::store::runs::{self, AlgoIndex};

mod amount;
pub mod invoice;
pub mod settle;

/// What a job is called whose row is gone.
pub(super) const NOT_REGISTERED: &str = "(not in the registry)";

/// One attempt with what it counts for.
struct Counted<'a> {
    record: &'a AttemptRecord,
    billed: Option<Usd>,
    unknown: bool,
    /// How its job stands, if it is the last attempt of it.
    job: Option<JobStands>,
}

/// How a job stands after its last attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum JobStands {
    Completed,
    Failed,
    Open,
}

/// Reads the attempts of one run, or of all, and sums up.
pub fn cost_report(
    context: &OpsContext,
    only: Option<&RunId>,
    by: By,
    with_purchases: bool,
) -> Result<CostReport, OpsError> {
    context.expect_workspace()?;
    let runs = match only {
        Some(run) => {
            refuse_linked_run(&context.workspace, run)?;
            vec![run.clone()]
        }
        None => runs::all(&context.workspace)?,
    };
    let stores = Stores::new(context)?;
    let mut report = CostReport {
        by,
        lines: Vec::new(),
        total: Tally::default(),
        ledger: LedgerSums::default(),
        invoice: None,
        purchases: BTreeMap::new(),
        warnings: Vec::new(),
    };
    let mut lines: BTreeMap<String, Tally> = BTreeMap::new();
    for run in &runs {
        let store = stores.of(run)?;
        let found = store.recorded_attempts(run)?;
        if only.is_some() && found.attempts.is_empty() && !context.workspace.has_run(run) {
            return Err(OpsError::Setup {
                message: format!("run {run} does not exist"),
                hint: Some("check --run-id; runs are the folders under runs/".into()),
            });
        }
        report.warnings.extend(found.warnings);
        let mut counted = count(&found.attempts);
        let money = store.money(run)?;
        settle::take_in(&mut counted, &money);
        let algos = match by {
            By::Algo if !counted.is_empty() => store.algos(run)?,
            _ => AlgoIndex::default(),
        };
        for one in &counted {
            let tally = one.tally();
            report.total.join(&tally);
            let name = one.name(run, by, &algos);
            match lines.get_mut(&*name) {
                Some(line) => line.join(&tally),
                None => drop(lines.insert(name.into_owned(), tally)),
            }
        }
        if with_purchases {
            note_purchases(run, &counted, &mut report.purchases);
        }
        report.ledger.spent_usd += money.balance.run.spent_usd;
        report.ledger.reserved_usd += money.balance.run.reserved_usd;
        match settle::open_reservations(&*store, &money, run) {
            Ok(open) => report.ledger.open.extend(open),
            Err(error) => report.warnings.push(error.to_string()),
        }
    }
    let checks = RunId::parse(CHECKS).ok().filter(|_| only.is_none());
    if let Some(checks) = checks.filter(|checks| !runs.contains(checks)) {
        // No run has them, and the ledger does not tell them apart.
        let usage = stores.local().money(&checks)?.balance.run;
        report.ledger.spent_usd += usage.spent_usd;
        report.ledger.reserved_usd += usage.reserved_usd;
        let tally = Tally {
            billed_usd: Usd::of(usage.spent_usd),
            ..Tally::default()
        };
        if tally.billed_usd > Usd::ZERO {
            lines.entry(CHECKS.to_owned()).or_default().join(&tally);
            report.total.join(&tally);
        }
    }
    let line = |(name, tally)| CostLine {
        name: (by, name),
        tally,
    };
    report.lines = lines.into_iter().map(line).collect();
    Ok(report)
}

/// Says for each attempt of a run what it counts for; rehearsals are left out. The
/// attempts of a job stand together, in order.
fn count(attempts: &[AttemptRecord]) -> Vec<Counted<'_>> {
    let real = |record: &&AttemptRecord| {
        !record.simulated && record.price_source.as_deref() != Some(DRY_RUN)
    };
    let mut counted: Vec<Counted<'_>> = attempts
        .iter()
        .filter(real)
        .map(|record| Counted {
            record,
            billed: record.cost_usd.map(Usd::of),
            unknown: may_be_billed(record),
            job: None,
        })
        .collect();
    for of_job in counted.chunk_by_mut(|a, b| a.record.job_id == b.record.job_id) {
        let made = |one: &Counted<'_>| one.record.outcome == AttemptOutcome::Completed;
        let made = of_job.iter().any(made);
        if let Some(last) = of_job.last_mut() {
            last.job = Some(match last.record.outcome {
                _ if made => JobStands::Completed,
                AttemptOutcome::Failed => JobStands::Failed,
                _ => JobStands::Open,
            });
        }
    }
    // Of the attempts about one purchase, the last that knows its cost counts.
    let mut last: HashMap<(&JobId, &str), usize> = HashMap::new();
    for (place, one) in counted.iter().enumerate() {
        let Some(id) = &one.record.request_id else {
            continue;
        };
        let key = (&one.record.job_id, id.as_str());
        let earlier = last.get(&key).copied();
        if earlier.is_none_or(|earlier| one.billed.is_some() || counted[earlier].billed.is_none()) {
            last.insert(key, place);
        }
    }
    let keep: HashSet<usize> = last.into_values().collect();
    for (place, one) in counted.iter_mut().enumerate() {
        if one.record.request_id.is_some() && !keep.contains(&place) {
            one.billed = None;
            one.unknown = false;
        }
    }
    counted
}

/// What one job came to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct JobCost {
    /// What is known to have been billed for it.
    pub(super) billed: Option<Usd>,
    /// Attempts that were or may have been billed with nobody knows what.
    pub(super) unknown: usize,
    /// How many real attempts it had.
    pub(super) attempts: usize,
    /// The class of its last failure.
    pub(super) class: Option<ErrorClass>,
}

/// Returns what each job of a run came to; the sums are those of [`cost_report`].
pub(super) fn by_job(
    context: &OpsContext,
    run: &RunId,
) -> Result<HashMap<JobId, JobCost>, OpsError> {
    let runs = context.runs(run)?;
    let found = runs.recorded_attempts(run)?;
    let mut counted = count(&found.attempts);
    settle::take_in(&mut counted, &runs.money(run)?);
    let mut jobs: HashMap<JobId, JobCost> = HashMap::new();
    for one in counted {
        let job = jobs.entry(one.record.job_id.clone()).or_default();
        job.attempts += 1;
        job.unknown += usize::from(one.unknown);
        job.class = one.record.class.or(job.class);
        if let Some(billed) = one.billed {
            job.billed = Some(job.billed.unwrap_or_default() + billed);
        }
    }
    Ok(jobs)
}

/// Returns what attempts of a run cost together, as far as anybody knows.
pub(super) fn billed_usd(attempts: &[AttemptRecord]) -> f64 {
    let counted = count(attempts);
    let billed = counted.iter().filter_map(|one| one.billed);
    billed.sum::<Usd>().dollars()
}

/// Tells whether an attempt was or may have been billed with nobody knows what.
fn may_be_billed(record: &AttemptRecord) -> bool {
    let free = record.price_source.as_deref() == Some(REUSED);
    let bought = record.outcome == AttemptOutcome::Completed
        || record.class == Some(ErrorClass::Unknown)
        || record.request_id.is_some() && (!record.void || record.cut_off);
    bought && !free && record.cost_usd.is_none()
}

impl Counted<'_> {
    fn tally(&self) -> Tally {
        let outcome = self.record.outcome;
        let failed = matches!(outcome, AttemptOutcome::Failed | AttemptOutcome::PutOff);
        let completed = outcome == AttemptOutcome::Completed;
        let reused = self.record.price_source.as_deref() == Some(REUSED);
        let followed = self.job.is_none() || outcome == AttemptOutcome::PutOff;
        Tally {
            attempts: 1,
            completed: usize::from(completed),
            failed: usize::from(failed),
            retried: usize::from(failed && followed),
            jobs: usize::from(self.job.is_some()),
            completed_jobs: usize::from(self.job == Some(JobStands::Completed)),
            failed_jobs: usize::from(self.job == Some(JobStands::Failed)),
            unfinished: usize::from(!failed && !completed),
            reused: usize::from(completed && reused),
            billed_usd: self.billed.unwrap_or_default(),
            unknown: usize::from(self.unknown),
        }
    }

    fn name<'n>(&'n self, run: &'n RunId, by: By, algos: &'n AlgoIndex) -> Cow<'n, str> {
        match by {
            By::Run => run.as_str().into(),
            By::Worker => self.record.worker.as_str().into(),
            By::Day => {
                let at = self.record.ended.unwrap_or(self.record.started);
                at.iso().chars().take(10).collect::<String>().into()
            }
            By::Algo => {
                let known = algos.of(&self.record.job_id);
                known.unwrap_or(NOT_REGISTERED).into()
            }
        }
    }
}

fn note_purchases(
    run: &RunId,
    counted: &[Counted<'_>],
    purchases: &mut BTreeMap<String, Purchase>,
) {
    for one in counted {
        let Some(id) = &one.record.request_id else {
            continue;
        };
        let purchase = purchases.entry(id.clone()).or_insert_with(|| Purchase {
            run_id: run.clone(),
            job_id: one.record.job_id.clone(),
            usd: None,
        });
        if let Some(billed) = one.billed {
            purchase.usd = Some(purchase.usd.unwrap_or_default() + billed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attempt(job: &str, number: u32) -> AttemptRecord {
        AttemptRecord {
            cost_usd: Some(0.3),
            ..AttemptRecord::example(job, number)
        }
    }

    fn total(attempts: Vec<AttemptRecord>) -> Tally {
        let mut total = Tally::default();
        for one in count(&attempts) {
            total.join(&one.tally());
        }
        total
    }

    #[test]
    fn a_purchase_that_two_attempts_were_about_is_counted_once() {
        let mut first = attempt("j1", 1);
        first.outcome = AttemptOutcome::Interrupted;
        first.request_id = Some("req-1".into());
        let mut second = attempt("j1", 2);
        second.request_id = Some("req-1".into());
        second.resumed = true;
        let sums = total(vec![first, second]);
        assert_eq!(
            (sums.attempts, sums.billed_usd, sums.unknown),
            (2, Usd::of(0.3), 0)
        );
    }

    #[test]
    fn what_nobody_knows_is_never_counted_as_nothing() {
        let mut unpriced = attempt("j1", 1);
        unpriced.cost_usd = None;
        let mut doubtful = attempt("j2", 1);
        doubtful.outcome = AttemptOutcome::Failed;
        doubtful.class = Some(ErrorClass::Unknown);
        doubtful.cost_usd = None;
        let mut free = attempt("j3", 1);
        free.outcome = AttemptOutcome::PutOff;
        free.class = Some(ErrorClass::Transient);
        free.cost_usd = None;
        let sums = total(vec![unpriced, doubtful, free]);
        assert_eq!((sums.billed_usd, sums.unknown), (Usd::ZERO, 2));
        let of_jobs = (sums.jobs, sums.completed_jobs, sums.failed_jobs);
        assert_eq!((of_jobs, sums.failed, sums.retried), ((3, 1, 1), 2, 1));
    }

    #[test]
    fn rehearsals_are_left_out_and_copies_cost_nothing() {
        let mut rehearsal = attempt("j1", 1);
        rehearsal.simulated = true;
        let mut copy = attempt("j2", 1);
        copy.cost_usd = None;
        copy.price_source = Some(REUSED.into());
        let sums = total(vec![rehearsal, copy]);
        assert_eq!((sums.attempts, sums.reused, sums.unknown), (1, 1, 0));
    }
}
