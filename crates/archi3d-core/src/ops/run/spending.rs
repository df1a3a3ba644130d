//! What a worker may spend: the question before something expensive, and the ledger.

use std::sync::Arc;

use crate::domain::money::Usd;
use crate::engine::{Carriers, Money, PlannedJob};
use crate::ops::budget::{Question, caps};
use crate::ops::plan::Planner;
use crate::ops::select::{self, WorkerRequest, on_trial, price_of};
use crate::ops::view::plan::{PlannedAction, Price};
use crate::ops::{OpsContext, OpsError, lost_money, money};
use crate::store::JobRecord;
use crate::store::files::{self, FileBudget};

use super::{Ask, Reporter};

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
    budget: &FileBudget,
) -> Due {
    let starting = jobs
        .iter()
        .zip(on_trial(request, jobs))
        .filter(|(_, starts)| *starts);
    let prices: Vec<Option<f64>> = starting
        .map(|(planned, _)| price_of(request, planned, carriers))
        .collect();
    let due = Due::of(&prices, request.limit);
    let caps = caps(&context.settings, request.spending.budget_usd);
    if !caps.any() || due.usd <= 0.0 {
        return due;
    }
    let (run_id, now) = (&request.run_id, context.clock.now());
    let left = budget.ask(|ledger| {
        let lowest = ledger.level(run_id, caps, now).into_iter();
        let lowest = lowest
            .map(|level| level.left_usd())
            .fold(f64::INFINITY, f64::min);
        // A job may take over what is reserved for it.
        lowest + ledger.standing(run_id).reserved_usd
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
    let ledger = money::ledger(context)?;
    let mut planner = Planner::new(context, &unlimited, &ledger, context.clock.now())?;
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
    ask: Ask<'_>,
    jobs: &[PlannedJob],
    due: Due,
) -> Result<(), OpsError> {
    let above_usd = context.settings.global.confirm_above_usd;
    let Some(above_usd) = above_usd.filter(|_| !request.spending.confirmed) else {
        return Ok(());
    };
    let jobs = jobs.iter().map(|planned| planned.job.clone()).collect();
    let due = due_by_plan(context, request, jobs).unwrap_or(due);
    match due.question(above_usd) {
        Some(question) if !ask(&question) => Err(question.refused()),
        _ => Ok(()),
    }
}

/// Returns where money is accounted; a rehearsal costs nothing. Under a limit the
/// ledger gets back first what it has lost and the journals tell.
pub(super) fn money(
    reporter: &Reporter<'_>,
    request: &WorkerRequest,
    budget: &Arc<FileBudget>,
) -> Result<Option<Money>, OpsError> {
    if request.dry_run {
        return Ok(None);
    }
    let context = reporter.context;
    let caps = caps(&context.settings, request.spending.budget_usd);
    if caps.any() {
        for message in lost_money::restore(context, request, budget, caps)? {
            reporter.warn(message);
        }
    }
    let now = context.clock.now();
    let highest_cost =
        budget.ask(|ledger| money::highest_cost(context, request, ledger, now))??;
    Ok(Some(Money {
        budget: Arc::<FileBudget>::clone(budget),
        caps,
        highest_cost,
    }))
}
