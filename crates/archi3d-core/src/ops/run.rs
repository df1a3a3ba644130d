//! `run worker`: opens the store and the adapters of a run and lets the engine
//! carry out its jobs.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use crate::cancel::{Cancel, Stage};
use crate::domain::id::{AlgoKey, RunId};
use crate::domain::order::JobOrder;
use crate::domain::select::SkipReason;
use crate::domain::traceparent::TraceParent;
use crate::engine::event::{Event, EventKind, NO_MATCH, Sink, Sinks, Summary, WorkerStarted};
use crate::engine::{self, Conditions, Funds, QueuedJob, Share, Source};
use crate::ops::budget::{Question, caps};
use crate::ops::reuse::Forecast;
use crate::ops::run_log::RunLog;
use crate::ops::select::{self, WorkerRequest};
use crate::ops::submit::Intent;
use crate::ops::{OpsContext, OpsError, budget, capacity, identity, submit};
use crate::store::{
    NoticeSink, OpenRun, Opening, StoreError, StoreNotice, WorkerIdentity, WorkerStore,
};
use crate::workspace::pictures::PictureMarks;

#[cfg(feature = "postgres")]
pub mod every;
mod prepare;
mod spending;

use prepare::{Prepared, list, prepare, words};

pub use spending::question;

/// Asks a person and returns whether the answer was yes.
pub type Ask<'a> = &'a (dyn Fn(&Question) -> bool + Sync);

/// Runs the jobs that `request` selects and reports everything to `sink`. What
/// needs to be confirmed and was not is refused.
pub fn run_worker(
    context: &OpsContext,
    request: &WorkerRequest,
    cancel: &Cancel,
    sink: Arc<dyn Sink>,
) -> Result<Summary, OpsError> {
    run_worker_asking(context, request, cancel, sink, &|_| false)
}

/// The same, with somebody to ask before something expensive starts.
pub fn run_worker_asking(
    context: &OpsContext,
    request: &WorkerRequest,
    cancel: &Cancel,
    sink: Arc<dyn Sink>,
    ask: Ask<'_>,
) -> Result<Summary, OpsError> {
    if let Some(key) = &request.adapter {
        select::known_algo(context, key)?;
    }
    let identity = identity::worker_identity(&context.settings);
    let backend = context.backend(&request.run_id)?;
    let request = &submit::bounded(context, request)?;
    let task = Task {
        context,
        request,
        cancel,
        sink: &sink,
        ask,
    };
    work_on(task, identity, &|opening| backend.open(opening), None)
}

/// Opens a run and works on it.
fn work_on(
    task: Task<'_>,
    identity: WorkerIdentity,
    open: &dyn Fn(Opening) -> Result<OpenRun, StoreError>,
    share: Option<Arc<Share>>,
) -> Result<Summary, OpsError> {
    let request = task.request;
    let (log, notices) = task.log_and_notices();
    let run = open(Opening {
        run_id: request.run_id.clone(),
        identity,
        rhythm: request.rhythm,
        rehearsal: request.dry_run,
        allow_unsafe_locks: request.allow_unsafe_locks,
        slots: request.max_parallel,
        fleet: request.fleet.clone(),
        notices,
    })?;
    let setup = WorkerSetup {
        ask: task.ask,
        served: algos_to_serve(request, &*run.store)?,
        run,
        share,
    };
    run_with(task, &log, &setup)
}

/// Returns the algorithms whose jobs the store is to hand out, with how many wait. Nothing where it lists its jobs, and
/// for a worker that was asked for certain jobs, or for another order: it lists them.
fn algos_to_serve(
    request: &WorkerRequest,
    store: &dyn WorkerStore,
) -> Result<Option<Vec<(AlgoKey, usize)>>, OpsError> {
    let query = &request.query;
    let picks = query.jobs.is_some() || !query.items.is_empty() || query.only_status.is_some();
    let again = request.redo || request.resubmit_unknown || request.forget_requests;
    let ordered = request.spending.order != JobOrder::default();
    if picks || again || ordered || request.adapter.is_some() {
        return Ok(None);
    }
    let Some(source) = store.handing() else {
        return Ok(None);
    };
    let algos = source.algos()?.into_iter().filter_map(|(algo, waiting)| {
        let key = AlgoKey::parse(&algo).ok()?;
        (query.algo.is_empty() || query.algo.contains(&key)).then_some((key, waiting))
    });
    Ok(Some(algos.collect()))
}

/// What is asked of a worker, and who hears of it.
#[derive(Clone, Copy)]
struct Task<'a> {
    context: &'a OpsContext,
    request: &'a WorkerRequest,
    cancel: &'a Cancel,
    sink: &'a Arc<dyn Sink>,
    ask: Ask<'a>,
}

/// The log of a worker, once it is open.
type Log = Arc<OnceLock<Arc<RunLog>>>;

impl Task<'_> {
    /// Returns the log to be, and where the store tells what it has to.
    fn log_and_notices(&self) -> (Log, NoticeSink) {
        let log: Log = Arc::default();
        let notices = notice_sink(self.context, self.request, self.sink.clone(), log.clone());
        (log, notices)
    }
}

/// Opens the log and starts the work.
fn run_with(task: Task<'_>, log: &Log, setup: &WorkerSetup<'_>) -> Result<Summary, OpsError> {
    let Task {
        context,
        request,
        cancel,
        sink,
        ..
    } = task;
    let asked = submit::asked_for(context, &request.run_id)?;
    let options = asked.as_deref().map(Intent::options);
    let context = &context.choosing(&options.unwrap_or_default());
    // Only now: a run that cannot be opened must leave no log behind.
    let path = context.workspace.log("worker");
    let worker_id = &setup.run.identity.worker_id;
    let log = log.get_or_init(|| Arc::new(RunLog::open(&path, worker_id, sink.clone())));
    let reporter = Reporter {
        context,
        run_id: &request.run_id,
        sinks: Sinks(vec![sink.clone(), log.clone()]),
        trace: asked.and_then(|asked| TraceParent::parse(asked.traceparent.as_deref()?)),
    };
    if let Some(moved) = log.moved() {
        reporter.notice(moved);
    }
    let ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| hurry_when_killed(&setup.run, cancel, &ended));
        let _end = RaiseOnDrop(&ended, cancel);
        work(request, &reporter, cancel, setup)
    })
}

/// Raises a flag when it goes out of scope, also by a panic: others wait for it.
struct RaiseOnDrop<'a>(&'a AtomicBool, &'a Cancel);

impl Drop for RaiseOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
        self.1.wake();
    }
}

/// Stops the store and the budget from waiting for others once everything is to be killed.
fn hurry_when_killed(run: &OpenRun, cancel: &Cancel, ended: &AtomicBool) {
    let over = || ended.load(Ordering::SeqCst) || cancel.stage() == Stage::Kill;
    while !cancel.wait_until(over, Duration::from_secs(60)) {}
    if !ended.load(Ordering::SeqCst) {
        run.hurry();
    }
}

/// Who works on what, and who can be asked.
struct WorkerSetup<'a> {
    ask: Ask<'a>,
    run: OpenRun,
    /// The algorithms whose jobs the store hands out, with how many wait; nothing where jobs
    /// are listed.
    served: Option<Vec<(AlgoKey, usize)>>,
    /// Its places beside the other runs that its worker serves.
    share: Option<Arc<Share>>,
}

fn work(
    request: &WorkerRequest,
    reporter: &Reporter<'_>,
    cancel: &Cancel,
    setup: &WorkerSetup<'_>,
) -> Result<Summary, OpsError> {
    let store = &*setup.run.store;
    let context = reporter.context;
    // What was opened is closed; trouble with that is the next start's.
    let close = || drop(store.close(context.clock.now()));
    let listed = setup.served.is_none();
    let mut prepared = prepare(store, request, listed, reporter).inspect_err(|error| {
        let interrupted = error.was_cut_short() && cancel.stage() == Stage::Kill;
        let stopped_by = if interrupted { "interrupted" } else { "store" };
        reporter.report(EventKind::WorkerSummary(Summary {
            max_parallel: request.max_parallel,
            dry_run: request.dry_run,
            stopped_by: Some(stopped_by.into()),
            ..Summary::default()
        }));
    })?;
    let served = setup.served.iter().flatten().map(|(algo, _)| algo);
    let warn = |text| reporter.warn(text);
    let algorithms = select::algorithms(context, request, &prepared.jobs, served, &warn);
    select::refuse_if_none_can_run(request, &prepared.jobs, &algorithms)
        .inspect_err(|_| close())?;
    select::arrange(request, &mut prepared.jobs, &algorithms);
    if select::copies_go_first(request) {
        let forecast = Forecast::new(context, Arc::clone(&setup.run.reuse));
        forecast.put_copies_first(&mut prepared.jobs, request.adapter.as_ref());
    }
    if let Some(raised) = budget::raised(&request.spending) {
        reporter.warn(raised);
    }
    let due = spending::due(context, request, &prepared.jobs, &algorithms, setup);
    spending::confirm(context, request, setup, &prepared.jobs, due).inspect_err(|_| close())?;
    let max_parallel =
        capacity::jobs_at_once(request.max_parallel, |warning| reporter.warn(warning));
    let started = started(request, reporter, setup, &prepared, due);
    reporter.report(EventKind::WorkerStarted(Box::new(WorkerStarted {
        max_parallel,
        ..started
    })));
    if listed {
        prepared.report_oddities(request, reporter);
    }
    let handed = setup.served.as_ref().zip(store.handing());
    let handed = handed.map(|(algos, source)| {
        let algos: Vec<AlgoKey> = algos.iter().map(|(algo, _)| algo.clone()).collect();
        (source, algos)
    });
    if let Some((source, algos)) = &handed {
        let performed = source.perform_rehearsed(algos);
        let performed = performed.inspect_err(|_| close())?;
        prepare::tell_of_performed(performed, reporter);
    }
    let money = spending::money(reporter, request, setup).inspect_err(|_| close())?;
    let conditions = conditions(request, reporter, setup, max_parallel, money);
    let Prepared {
        jobs,
        rolled_forward,
        skips,
        matched,
        contradictions,
        ..
    } = prepared;
    let source = match handed {
        Some((source, algos)) => Source::Served(source, algos),
        None => Source::Listed(jobs),
    };
    let mut summary = engine::run(
        store,
        source,
        &algorithms,
        &conditions,
        &context.clock,
        cancel,
        &reporter.sinks,
    );
    summary.contradicted = contradictions > 0;
    summary.rolled_forward += rolled_forward;
    if listed && matched == 0 && summary.stopped_by.is_none() {
        summary.stopped_by = Some(NO_MATCH.to_owned());
    }
    let count = |reason| skips.get(&reason).map_or(0, Vec::len);
    summary.skipped += skips.values().map(Vec::len).sum::<usize>();
    summary.busy += count(SkipReason::Held);
    summary.resumable = count(SkipReason::Resumable);
    reporter.report(EventKind::WorkerSummary(summary.clone()));
    Ok(summary)
}

/// Says how the jobs are to be run.
fn conditions(
    request: &WorkerRequest,
    reporter: &Reporter<'_>,
    setup: &WorkerSetup<'_>,
    max_parallel: usize,
    money: Option<Funds>,
) -> Conditions {
    let context = reporter.context;
    Conditions {
        workspace: context.workspace.clone(),
        artifacts: Arc::clone(&setup.run.artifacts),
        worker: setup.run.identity.facts.clone(),
        max_parallel,
        dry_run: request.dry_run,
        fail_fast: request.fail_fast,
        limit: request.limit,
        until_idle: request.fleet.until_idle,
        forced: request.adapter.clone(),
        rhythm: setup.run.rhythm,
        ahead: if setup.run.on_server {
            request.fleet.ahead
        } else {
            0
        },
        resubmit_unknown: request.resubmit_unknown,
        forget_requests: request.forget_requests,
        providers: Arc::clone(&setup.run.providers),
        money,
        canary: request.spending.canary,
        reuse: request.reuse.then(|| Arc::clone(&setup.run.reuse)),
        pictures: PictureMarks::read(&context.workspace.run(&request.run_id).pictures()),
        share: setup.share.clone(),
        trace: reporter.trace,
    }
}

/// Says what a worker begins with.
fn started(
    request: &WorkerRequest,
    reporter: &Reporter<'_>,
    setup: &WorkerSetup<'_>,
    prepared: &Prepared,
    due: spending::Due,
) -> WorkerStarted {
    let context = reporter.context;
    let jobs_of_algo: BTreeMap<String, usize> = match &setup.served {
        Some(algos) => {
            let counts = algos.iter();
            counts
                .map(|(algo, jobs)| (algo.to_string(), *jobs))
                .collect()
        }
        None => jobs_of_algo(request, &prepared.jobs),
    };
    WorkerStarted {
        jobs_filter: request
            .query
            .jobs
            .as_ref()
            .map(|filter| filter.text().to_owned()),
        jobs_filter_kind: prepared.filter_kind.map(str::to_owned),
        only_status: words(&request.selection().statuses()).join(","),
        algo: list(&request.query.algo),
        max_parallel: request.max_parallel,
        adapter: request.adapter.as_ref().map(ToString::to_string),
        dry_run: request.dry_run,
        fail_fast: request.fail_fast,
        redo: request.redo,
        limit: request.limit,
        order: request.spending.order.word().to_owned(),
        canary: request.spending.canary.map(|canary| canary.per_algo),
        caps: caps(&context.settings, &request.spending),
        total_jobs: jobs_of_algo.values().sum(),
        jobs_of_algo,
        expected_cost_usd: due.usd,
        unpriced_jobs: due.unpriced,
        reuse: request.reuse,
        worker_id: setup.run.identity.worker_id.to_string(),
        worker: setup.run.identity.facts.clone(),
    }
}

/// Sends events of this operation to every sink.
struct Reporter<'a> {
    context: &'a OpsContext,
    run_id: &'a RunId,
    sinks: Sinks,
    /// The span in which somebody asked for the run.
    trace: Option<TraceParent>,
}

impl Reporter<'_> {
    fn report(&self, kind: EventKind) {
        self.sinks.report(&Event {
            at: self.context.clock.now(),
            run_id: self.run_id.clone(),
            kind,
        });
    }

    fn warn(&self, message: String) {
        self.report(EventKind::Warning { message });
    }

    fn notice(&self, message: String) {
        self.report(EventKind::Notice { message });
    }
}

/// Passes on what the store has to tell: to `sink`, and to the log once it is open.
fn notice_sink(
    context: &OpsContext,
    request: &WorkerRequest,
    sink: Arc<dyn Sink>,
    log: Arc<OnceLock<Arc<RunLog>>>,
) -> NoticeSink {
    let clock = context.clock.clone();
    let run_id = request.run_id.clone();
    Arc::new(move |notice| {
        let message = notice_text(notice);
        let event = Event {
            at: clock.now(),
            run_id: run_id.clone(),
            kind: EventKind::Warning { message },
        };
        sink.report(&event);
        if let Some(log) = log.get() {
            log.report(&event);
        }
    })
}

/// Says what the store has to tell.
pub(super) fn notice_text(notice: StoreNotice) -> String {
    match notice {
        StoreNotice::WaitingFor { lock, waited } => format!(
            "waiting for {lock} for {} s: another program holds it; nothing is lost meanwhile",
            waited.as_secs()
        ),
        StoreNotice::RegistryBlocked { reason } => format!(
            "tables/generations.csv cannot be written now: {reason}; finished results are safe and it is tried again"
        ),
        StoreNotice::Warning(message) => message,
    }
}

/// Counts jobs by the algorithm that carries them out.
fn jobs_of_algo(request: &WorkerRequest, jobs: &[QueuedJob]) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for planned in jobs {
        let algo = request.adapter.as_ref().or(planned.job.algo.as_ref().ok());
        if let Some(algo) = algo {
            *counts.entry(algo.to_string()).or_default() += 1;
        }
    }
    counts
}
