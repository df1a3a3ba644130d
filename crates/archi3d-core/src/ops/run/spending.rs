//! What a worker may spend: the question before something expensive, and the ledger.

use std::collections::HashMap;
use std::sync::Arc;

use crate::domain::budget::Level;
use crate::domain::money::Usd;
use crate::engine::{Carriers, Money, PlannedJob};
use crate::ops::budget::{Question, caps};
use crate::ops::plan::Planner;
use crate::ops::select::{self, WorkerRequest, on_trial, price_of};
use crate::ops::view::plan::{PlannedAction, Price};
use crate::ops::{OpsContext, OpsError, lost_money};
use crate::store::JobRecord;
use crate::store::files::{self, highest_costs};

use super::{Crew, Reporter};

/// What the jobs that may start cost at most.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Due {
    jobs: usize,
    pub(super) usd: f64,
    pub(super) unpriced: usize,
}

impl Due {
    /// Adds up what the most expensive `most` of these jobs cost: which of them other workers
    /// leave is unknown.
    fn of(prices: &[Option<f64>], most: Option<usize>) -> Self {
        let most = most.unwrap_or(usize::MAX);
        let mut known: Vec<f64> = prices.iter().copied().flatten().collect();
        known.sort_by(|a, b| b.total_cmp(a));
        known.truncate(most);
        let unpriced = prices.iter().filter(|price| price.is_none()).count();
        Self {
            jobs: prices.len().min(most),
            usd: known.into_iter().map(Usd::of).sum::<Usd>().dollars(),
            unpriced: unpriced.min(most),
        }
    }

    /// Returns what a person has to agree to. What nobody knows may cost anything.
    fn question(self, above_usd: f64) -> Option<Question> {
        let asks = self.usd > above_usd || self.unpriced > 0;
        asks.then_some(Question {
            jobs: self.jobs,
            expected_usd: self.usd,
            unpriced: self.unpriced,
            above_usd,
        })
    }
}

/// Returns what the jobs that may start cost at most, by their entries and by what the
/// limits leave.
pub(super) fn due(
    context: &OpsContext,
    request: &WorkerRequest,
    jobs: &[PlannedJob],
    carriers: &Carriers,
    crew: &Crew<'_>,
) -> Due {
    let starting = jobs
        .iter()
        .zip(on_trial(request, jobs))
        .filter(|(_, starts)| *starts);
    let prices: Vec<Option<f64>> = starting
        .map(|(planned, _)| price_of(request, planned, carriers))
        .collect();
    let served = crew.served.iter().flatten().flat_map(|(algo, jobs)| {
        let carrier = carriers.get(algo).and_then(|carrier| carrier.as_ref().ok());
        let price = match carrier {
            Some(carrier) if !request.dry_run => carrier.unit_usd(),
            _ => Some(0.0),
        };
        std::iter::repeat_n(price, *jobs)
    });
    let prices: Vec<Option<f64>> = prices.into_iter().chain(served).collect();
    let due = Due::of(&prices, request.limit);
    let caps = caps(&context.settings, request.spending.budget_usd);
    if !caps.any() || due.usd <= 0.0 {
        return due;
    }
    let (run_id, now) = (&request.run_id, context.clock.now());
    let left = crew.budget.levels(run_id, caps, now).and_then(|levels| {
        let left = levels.iter().map(Level::left_usd);
        let lowest = left.fold(f64::INFINITY, f64::min);
        // A job may take over what is reserved for it.
        Ok(lowest + crew.budget.standing(run_id)?.reserved_usd)
    });
    // A ledger that cannot be read is told by whoever needs to write it.
    let left_usd = left.unwrap_or(f64::INFINITY);
    Due {
        usd: due.usd.min(left_usd),
        ..due
    }
}

/// Returns what the command would buy at most, as `run plan` foretells it: without
/// what is copied, waits for canaries or is kept back by a limit.
fn due_by_plan(
    context: &OpsContext,
    request: &WorkerRequest,
    jobs: Vec<JobRecord>,
) -> Result<Due, OpsError> {
    let unlimited = WorkerRequest {
        limit: None,
        ..request.clone()
    };
    let mut planner = Planner::new(context, &unlimited, context.runs(&request.run_id)?, false)?;
    let filter = select::among(&request.query, &jobs);
    let plans = planner.plan_all(jobs, &filter);
    let bought = plans.iter().filter(|plan| plan.fate == PlannedAction::Run);
    let price = |price: &Price| (!price.unknown).then(|| price.expected.dollars());
    let prices: Vec<Option<f64>> = bought.map(|plan| price(&plan.price)).collect();
    Ok(Due::of(&prices, request.limit))
}

/// Returns what a person has to agree to before the jobs start, as far as can be
/// seen without a lock; nothing where the run cannot be read, which the worker
/// tells.
pub fn question(context: &OpsContext, request: &WorkerRequest) -> Option<Question> {
    let above_usd = context.settings.global.confirm_above_usd?;
    if request.spending.confirmed {
        return None;
    }
    #[cfg(feature = "postgres")]
    if super::fleet::is_pushed(context, &request.run_id) {
        return None;
    }
    let (workspace, now) = (&context.workspace, context.clock.now());
    let run = files::read_run(workspace, &request.run_id, request.rhythm, now).ok()?;
    let due = due_by_plan(context, request, run.jobs).ok()?;
    due.question(above_usd)
}

/// Asks before something expensive starts, unless that was agreed to already. `due`
/// is asked about where the jobs cannot be looked at more closely.
pub(super) fn confirm(
    context: &OpsContext,
    request: &WorkerRequest,
    crew: &Crew<'_>,
    jobs: &[PlannedJob],
    due: Due,
) -> Result<(), OpsError> {
    let above_usd = context.settings.global.confirm_above_usd;
    let Some(above_usd) = above_usd.filter(|_| !request.spending.confirmed) else {
        return Ok(());
    };
    let due = match crew.files {
        Some(_) => {
            let jobs = jobs.iter().map(|planned| planned.job.clone()).collect();
            due_by_plan(context, request, jobs).unwrap_or(due)
        }
        None => due,
    };
    match due.question(above_usd) {
        Some(question) if !(crew.ask)(&question) => Err(question.refused()),
        _ => Ok(()),
    }
}

/// Returns where money is accounted; a rehearsal costs nothing. Under a limit the
/// ledger gets back first what it has lost and the journals tell.
pub(super) fn money(
    reporter: &Reporter<'_>,
    request: &WorkerRequest,
    crew: &Crew<'_>,
) -> Result<Option<Money>, OpsError> {
    if request.dry_run {
        return Ok(None);
    }
    let context = reporter.context;
    let caps = caps(&context.settings, request.spending.budget_usd);
    let mut highest_cost = HashMap::new();
    if let Some(files) = &crew.files {
        if caps.any() {
            for message in lost_money::restore(context, request, files, caps)? {
                reporter.warn(message);
            }
        }
        let now = context.clock.now();
        if caps.any() {
            let (workspace, run_id) = (&context.workspace, &request.run_id);
            let highest = files.ask(|ledger| highest_costs(workspace, ledger, run_id, now));
            highest_cost = highest??;
        }
    }
    Ok(Some(Money {
        budget: Arc::clone(&crew.budget),
        caps,
        highest_cost,
    }))
}
