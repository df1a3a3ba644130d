//! What a worker may spend: the question before something expensive, and the ledger.

use std::sync::Arc;

use crate::domain::budget::Level;
use crate::domain::id::AlgoKey;
use crate::domain::money::Usd;
use crate::engine::{Algorithms, Funds, QueuedJob};
use crate::ops::budget::{Question, caps};
use crate::ops::plan::Planner;
use crate::ops::select::{self, WorkerRequest, algorithm, on_trial, price_of};
use crate::ops::view::plan::{PlannedAction, PlannedCost};
use crate::ops::{OpsContext, OpsError, submit};
use crate::store::JobRecord;
use crate::store::budget::Prepared;

use super::{Reporter, WorkerSetup};

/// What the jobs that may start cost at most.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Due {
    jobs: usize,
    pub(super) usd: f64,
    pub(super) unpriced: usize,
}

impl Due {
    /// Adds up what the most expensive `most` of these jobs cost: which of them other workers
    /// leave is unknown. A price comes with how many jobs have it.
    fn of(prices: &[(Option<f64>, usize)], most: Option<usize>) -> Self {
        let most = most.unwrap_or(usize::MAX);
        let jobs: usize = prices.iter().map(|(_, jobs)| jobs).sum();
        let unpriced = prices.iter().filter(|(price, _)| price.is_none());
        let unpriced: usize = unpriced.map(|(_, jobs)| jobs).sum();
        let known = prices
            .iter()
            .filter_map(|(price, jobs)| Some(((*price)?, *jobs)));
        let mut known: Vec<(f64, usize)> = known.collect();
        known.sort_by(|(a, _), (b, _)| b.total_cmp(a));
        let mut left = most;
        let mut usd = Usd::ZERO;
        for (price, jobs) in known {
            usd += Usd::of(price).times(jobs.min(left));
            left = left.saturating_sub(jobs);
        }
        Self {
            jobs: jobs.min(most),
            usd: usd.dollars(),
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
    jobs: &[QueuedJob],
    algorithms: &Algorithms,
    setup: &WorkerSetup<'_>,
) -> Due {
    let starting = jobs
        .iter()
        .zip(on_trial(request, jobs))
        .filter(|(_, starts)| *starts);
    let prices = starting.map(|(planned, _)| (price_of(request, planned, algorithms), 1));
    let served = setup.served.iter().flatten().map(|(algo, jobs)| {
        let algorithm = algorithms
            .get(algo)
            .and_then(|algorithm| algorithm.as_ref().ok());
        let price = match algorithm {
            Some(algorithm) if !request.dry_run => algorithm.unit_usd(),
            _ => Some(0.0),
        };
        (price, *jobs)
    });
    let prices: Vec<(Option<f64>, usize)> = prices.chain(served).collect();
    let due = Due::of(&prices, request.limit);
    let caps = caps(&context.settings, &request.spending);
    if !caps.any() || due.usd <= 0.0 {
        return due;
    }
    let (run_id, now) = (&request.run_id, context.clock.now());
    let left = setup
        .run
        .budget
        .levels(run_id, caps, now)
        .and_then(|levels| {
            let left = levels.iter().map(Level::left_usd);
            let lowest = left.fold(f64::INFINITY, f64::min);
            // A job may take over what is reserved for it.
            Ok(lowest + setup.run.budget.usage(run_id)?.reserved_usd)
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
    let price = |price: &PlannedCost| (!price.unknown).then(|| price.expected.dollars());
    let prices: Vec<_> = bought.map(|plan| (price(&plan.price), 1)).collect();
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
    if context.workspace.run(&request.run_id).fleet().exists() {
        return None;
    }
    let request = &submit::bounded(context, request).ok()?;
    let runs = context.local().runs().ok()?;
    let run = runs.jobs(&request.run_id, request.rhythm).ok()?;
    let due = due_by_plan(context, request, run.jobs).ok()?;
    due.question(above_usd)
}

/// Asks before something expensive starts, unless that was agreed to already. `due`
/// is asked about where the jobs cannot be looked at more closely.
pub(super) fn confirm(
    context: &OpsContext,
    request: &WorkerRequest,
    setup: &WorkerSetup<'_>,
    jobs: &[QueuedJob],
    due: Due,
) -> Result<(), OpsError> {
    let above_usd = context.settings.global.confirm_above_usd;
    let Some(above_usd) = above_usd.filter(|_| !request.spending.confirmed) else {
        return Ok(());
    };
    let due = if setup.run.on_server {
        due
    } else {
        let jobs = jobs.iter().map(|planned| planned.job.clone()).collect();
        due_by_plan(context, request, jobs).unwrap_or(due)
    };
    match due.question(above_usd) {
        Some(question) if !(setup.ask)(&question) => Err(question.refused()),
        _ => Ok(()),
    }
}

/// Returns where money is accounted; a rehearsal costs nothing. Under a limit the
/// ledger gets back first what it has lost and the journals tell.
pub(super) fn money(
    reporter: &Reporter<'_>,
    request: &WorkerRequest,
    setup: &WorkerSetup<'_>,
) -> Result<Option<Funds>, OpsError> {
    if request.dry_run {
        return Ok(None);
    }
    let context = reporter.context;
    let caps = caps(&context.settings, &request.spending);
    let mut ready = Prepared::default();
    if caps.any() {
        let price = |algo: &str| {
            let own = AlgoKey::parse(algo).ok();
            let algorithm = algorithm(context, request, request.adapter.as_ref().or(own.as_ref())?);
            algorithm.ok()?.price.unit_usd.filter(|usd| *usd > 0.0)
        };
        let (run_id, now) = (&request.run_id, context.clock.now());
        ready = setup.run.budget.prepare(run_id, caps, &price, now)?;
        for message in std::mem::take(&mut ready.told) {
            reporter.warn(message);
        }
    }
    Ok(Some(Funds {
        budget: Arc::clone(&setup.run.budget),
        caps,
        highest_cost: ready.highest_cost,
    }))
}
