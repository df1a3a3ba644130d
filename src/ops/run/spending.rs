//! What a worker may spend: the order of its jobs, the question before something
//! expensive, the ledger, and breakers that a new start closes.

use std::collections::HashMap;
use std::sync::Arc;

use crate::domain::order;
use crate::domain::select::Decision;
use crate::engine::{Carriers, Money, PlannedJob};
use crate::ops::budget::{Question, caps};
use crate::ops::{OpsContext, OpsError, lost_money, money};
use crate::store::Purse;
use crate::store::csv::{self, FilePurse};
use crate::workspace::provider::ProviderGate;

use super::carriers::{carrier, price_of};
use super::prepare::{matches_filters, selection};
use super::{Ask, Teller, WorkerRequest};

/// What the jobs that may start cost at most.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Due {
    jobs: usize,
    usd: f64,
    unpriced: usize,
}

impl Due {
    fn question(self, above_usd: f64) -> Question {
        Question {
            jobs: self.jobs,
            expected_usd: self.usd,
            unpriced: self.unpriced,
            above_usd,
        }
    }
}

/// Puts the jobs into the order asked for.
pub(in crate::ops) fn arrange(
    request: &WorkerRequest,
    jobs: &mut [PlannedJob],
    carriers: &Carriers,
) {
    request.spending.order.arrange(
        jobs,
        |planned| price_of(request, planned, carriers),
        |planned| format!("{}\u{0}{}", planned.job.product_id, planned.job.variant),
    );
}

/// Marks the jobs that may start: with `--canary` and without `--release` the
/// first ones of each algorithm, else all.
pub(in crate::ops) fn on_trial(request: &WorkerRequest, jobs: &[PlannedJob]) -> Vec<bool> {
    let Some(canary) = request.spending.canary.filter(|canary| !canary.release) else {
        return vec![true; jobs.len()];
    };
    let own = |planned: &PlannedJob| planned.job.algo.as_ref().ok().map(ToString::to_string);
    let forced = request.adapter.as_ref().map(ToString::to_string);
    let algo = |planned| forced.clone().or(own(planned)).unwrap_or_default();
    let algos: Vec<String> = jobs.iter().map(algo).collect();
    order::canaries(algos.iter().map(String::as_str), canary.per_algo)
}

/// Returns what the jobs that may start cost at most.
pub(super) fn due(request: &WorkerRequest, jobs: &[PlannedJob], carriers: &Carriers) -> Due {
    let starting = jobs
        .iter()
        .zip(on_trial(request, jobs))
        .filter(|(_, starts)| *starts);
    let prices: Vec<Option<f64>> = starting
        .map(|(planned, _)| price_of(request, planned, carriers))
        .collect();
    let most = request.limit.unwrap_or(usize::MAX);
    let mut known: Vec<f64> = prices.iter().copied().flatten().collect();
    known.sort_by(|a, b| b.total_cmp(a));
    known.truncate(most);
    Due {
        jobs: prices.len().min(most),
        usd: (known.iter().fold(0.0, |sum, usd| sum + usd) * 1e6).round() / 1e6,
        unpriced: prices
            .iter()
            .filter(|price| price.is_none())
            .count()
            .min(most),
    }
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
    let run = csv::read_run(workspace, &request.run_id, request.rhythm, now).ok()?;
    let selection = selection(request);
    let mut carriers = Carriers::new();
    let mut jobs = Vec::new();
    for job in run.jobs.into_iter().filter(|j| matches_filters(request, j)) {
        let Some(Decision::Run(entry)) = job.standing.seen().map(|seen| selection.decide(seen))
        else {
            continue;
        };
        if let Some(key) = request.adapter.as_ref().or(job.algo.as_ref().ok())
            && !carriers.contains_key(key)
        {
            carriers.insert(key.clone(), carrier(context, request, key));
        }
        jobs.push(PlannedJob { job, entry });
    }
    arrange(request, &mut jobs, &carriers);
    let due = due(request, &jobs, &carriers);
    (due.usd > above_usd).then(|| due.question(above_usd))
}

/// Asks before something expensive starts, unless that was agreed to already.
pub(super) fn confirm(
    context: &OpsContext,
    request: &WorkerRequest,
    ask: Ask<'_>,
    due: Due,
) -> Result<(), OpsError> {
    let Some(above_usd) = context.settings.global.confirm_above_usd else {
        return Ok(());
    };
    let question = due.question(above_usd);
    let agreed = request.spending.confirmed || due.usd <= above_usd || ask(&question);
    agreed.then_some(()).ok_or_else(|| question.refused())
}

/// Returns where money is accounted; a rehearsal costs nothing. Under a limit the
/// ledger gets back first what it has lost and the journals tell.
pub(super) fn money(
    teller: &Teller<'_>,
    request: &WorkerRequest,
    purse: &Arc<FilePurse>,
) -> Result<Option<Money>, OpsError> {
    if request.dry_run {
        return Ok(None);
    }
    let context = teller.context;
    let caps = caps(&context.settings, request.spending.budget_usd);
    if caps.any() {
        for message in lost_money::restore(context, request, purse, caps)? {
            teller.warn(message);
        }
    }
    let now = context.clock.now();
    let mut dearest = Ok(HashMap::new());
    purse.look(&mut |ledger| dearest = money::dearest(context, request, ledger, now))?;
    Ok(Some(Money {
        purse: Arc::<FilePurse>::clone(purse),
        caps,
        dearest: dearest?,
    }))
}

/// Lets algorithms go on that a breaker has paused: whoever starts a worker wants
/// them tried again.
pub(super) fn lift_breakers(carriers: &Carriers, teller: &Teller<'_>) {
    let gate = ProviderGate::breakers(&teller.context.workspace);
    for (algo, carrier) in carriers {
        let kept = carrier.as_ref().is_ok_and(|c| c.breaker_failures > 0);
        // A pause that cannot be lifted is told when it keeps jobs back.
        if kept && gate.open(algo).is_ok_and(|was_paused| was_paused) {
            teller.notice(format!("algo {algo} was paused and is tried again"));
        }
    }
}
