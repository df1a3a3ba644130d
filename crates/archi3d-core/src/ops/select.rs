//! What would run, with what, in which order: the one place that the worker, its plan, the
//! explanation of a job and `run cancel` ask.
//!
//! A request names jobs by [`JobQuery`]; `domain::select` decides by their state; `algos` has
//! what carries each algorithm out; `arrange` puts the jobs in order.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::domain::filter::{JobFilter, JobQuery};
use crate::domain::id::{AlgoKey, RunId};
use crate::domain::job::JobState;
use crate::domain::lease::Rhythm;
use crate::domain::nearest::suggestion;
use crate::domain::order::{self, JobOrder};
use crate::domain::select::Selection;
use crate::engine::{Algorithm, Algorithms, Canary, QueuedJob};
use crate::store::{JobRecord, JobSnapshot};

pub use crate::store::backend::FleetRequest;

mod algos;

pub(super) use algos::{algorithm, algorithms, known_algo, price_of, refuse_if_none_can_run};

/// What a worker is asked to do.
#[derive(Debug, Clone, PartialEq)]
pub struct WorkerRequest {
    /// The run.
    pub run_id: RunId,
    /// Which of its jobs.
    pub query: JobQuery,
    /// Carries out every job with this algorithm instead of its own.
    pub adapter: Option<AlgoKey>,
    /// How many jobs run at once.
    pub max_parallel: usize,
    /// Rehearses instead of performing.
    pub dry_run: bool,
    /// Stops at the first failure.
    pub fail_fast: bool,
    /// Makes completed jobs again.
    pub redo: bool,
    /// At most this many jobs start.
    pub limit: Option<usize>,
    /// The longest a job may take.
    pub timeout: Option<Duration>,
    /// How long a rehearsed job takes.
    pub simulate_ms: Option<u64>,
    /// How often the worker beats and how long silence is borne, on files.
    pub rhythm: Rhythm,
    /// What only matters where many machines work on the run.
    pub fleet: FleetRequest,
    /// How many failures that may pass are followed by another attempt; `None`
    /// means what the algorithm's entry says.
    pub retries: Option<u32>,
    /// Buys failed jobs again that may have been billed.
    pub resubmit_unknown: bool,
    /// Gives up purchases of earlier attempts and buys anew.
    pub forget_requests: bool,
    /// Copies results of earlier identical jobs instead of buying them.
    pub reuse: bool,
    /// Goes on where file locks cannot be trusted.
    pub allow_unsafe_locks: bool,
    /// How much may be spent, and in which order.
    pub spending: Spending,
}

/// How much a worker may spend, and in which order.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Spending {
    /// The most that the run may have spent, beside the limits in `global.yaml`.
    pub budget_usd: Option<f64>,
    /// What it may cost in all as somebody ordered it (`submit::bounded`); holds where `budget_usd` says nothing else.
    pub ordered_usd: Option<f64>,
    /// A person agreed to whatever it is expected to cost.
    pub confirmed: bool,
    /// The order in which jobs are taken.
    pub order: JobOrder,
    /// Whether some jobs of each algorithm go first on trial.
    pub canary: Option<Canary>,
}

impl WorkerRequest {
    /// Returns what `run worker RUN` asks for without further options.
    pub fn plain(run_id: RunId) -> Self {
        Self {
            run_id,
            query: JobQuery::default(),
            adapter: None,
            max_parallel: 1,
            dry_run: false,
            fail_fast: false,
            redo: false,
            limit: None,
            timeout: None,
            simulate_ms: None,
            rhythm: Rhythm::default(),
            fleet: FleetRequest::default(),
            retries: None,
            resubmit_unknown: false,
            forget_requests: false,
            reuse: false,
            allow_unsafe_locks: false,
            spending: Spending::default(),
        }
    }

    /// Returns how jobs are selected by their state.
    pub(super) fn selection(&self) -> Selection {
        Selection {
            only_status: self.query.only_status.clone(),
            redo: self.redo,
            dry_run: self.dry_run,
            resubmit_unknown: self.resubmit_unknown,
        }
    }
}

/// Understands a query among the jobs of its run.
pub(super) fn among<'q>(query: &'q JobQuery, run: &[JobRecord]) -> JobFilter<'q> {
    query.among(run.iter().map(|job| job.job_id.as_str()))
}

/// Tells whether a job is meant, whatever its state.
pub(super) fn is_meant(filter: &JobFilter<'_>, job: &JobRecord) -> bool {
    let algo = job.algo.as_ref().ok().map(AlgoKey::as_str);
    filter.matches(job.job_id.as_str(), &job.product_id, &job.variant, algo)
}

/// Tells whether a job failed while it was bought, and what carries it out can tell what
/// came of that.
pub(super) fn is_findable(job: &JobRecord, finds: impl FnOnce(&AlgoKey) -> bool) -> bool {
    let JobSnapshot::Known {
        state: JobState::Failed { .. },
        intended: true,
        ..
    } = &job.snapshot
    else {
        return false;
    };
    job.algo.as_ref().is_ok_and(finds)
}

/// Tells whether an algorithm can be asked what came of an order.
pub(super) fn finds(algorithm: &Algorithm) -> bool {
    algorithm.obstacle.is_none() && algorithm.adapter.finds()
}

/// Says which filters match nothing in the run, and what may have been meant.
pub(super) fn unmatched(filter: &JobFilter<'_>, run_id: &RunId, run: &[JobRecord]) -> Vec<String> {
    let query = filter.query;
    let algos: BTreeSet<&str> = run
        .iter()
        .filter_map(|job| Some(job.algo.as_ref().ok()?.as_str()))
        .collect();
    let strange = query.algo.iter().map(AlgoKey::as_str);
    let mut said: Vec<String> = strange
        .filter(|key| !algos.contains(key))
        .map(|key| {
            let hint = suggestion(key, algos.iter().copied());
            format!("no job of run {run_id} has the algo {key}{hint}")
        })
        .collect();
    let products: BTreeSet<&str> = run.iter().map(|job| job.product_id.as_str()).collect();
    for item in &query.items {
        let mut jobs = run.iter();
        if !jobs.any(|job| item.matches(&job.product_id, &job.variant)) {
            let text = item.as_str();
            let hint = suggestion(text, products.iter().copied());
            said.push(format!("run {run_id} has no product {text}{hint}"));
        }
    }
    if let Some(jobs) = &query.jobs
        && filter.kind().is_none()
    {
        let text = jobs.text();
        let hint = suggestion(text, run.iter().map(|job| job.job_id.as_str()));
        said.push(format!(
            "no job id of run {run_id} matches --jobs {text:?}{hint}"
        ));
    }
    said
}

/// Puts the jobs into the order asked for.
pub(super) fn arrange(request: &WorkerRequest, jobs: &mut [QueuedJob], algorithms: &Algorithms) {
    request.spending.order.arrange(
        jobs,
        |planned| price_of(request, planned, algorithms),
        |planned| format!("{}\u{0}{}", planned.job.product_id, planned.job.variant),
    );
}

/// Tells whether jobs whose results are copied start before the others. Not where the first jobs are on trial: a copy
/// shows nothing.
pub(super) fn copies_go_first(request: &WorkerRequest) -> bool {
    request.reuse && !request.dry_run && request.spending.canary.is_none()
}

/// Marks the jobs that may start: with `--canary` and without `--release` the
/// first ones of each algorithm, else all.
pub(super) fn on_trial(request: &WorkerRequest, jobs: &[QueuedJob]) -> Vec<bool> {
    let Some(canary) = request.spending.canary.filter(|canary| !canary.release) else {
        return vec![true; jobs.len()];
    };
    let own = |planned: &QueuedJob| planned.job.algo.as_ref().ok().map(ToString::to_string);
    let forced = request.adapter.as_ref().map(ToString::to_string);
    let algo = |planned| forced.clone().or(own(planned)).unwrap_or_default();
    let algos: Vec<String> = jobs.iter().map(algo).collect();
    order::canaries(algos.iter().map(String::as_str), canary.per_algo)
}
