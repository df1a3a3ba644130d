//! `run worker`: opens the store and the adapters of a run and lets the engine
//! carry out its jobs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::adapter::registry;
use crate::adapter::simulate::Simulate;
use crate::cancel::{Cancel, Stage};
use crate::domain::filter::JobsFilter;
use crate::domain::id::{AlgoKey, JobId, RunId};
use crate::domain::job::{Entry, Status};
use crate::domain::lease::Rhythm;
use crate::domain::nearest::suggestion;
use crate::domain::patch::{Price, WorkerFacts};
use crate::domain::select::{Decision, Seen, Selection, SkipReason};
use crate::engine::event::{Event, EventKind, Sink, Sinks, Summary, WorkerStarted};
use crate::engine::{self, Carrier, Carriers, Conditions, PlannedJob};
use crate::ops::run_log::RunLog;
use crate::ops::{OpsContext, OpsError, identity};
use crate::store::csv::{CsvStore, CsvStoreOptions};
use crate::store::{JobRecord, NoticeSink, Standing, Store, StoreNotice};

/// What a worker is asked to do.
#[derive(Debug, Clone, PartialEq)]
pub struct WorkerRequest {
    /// The run.
    pub run_id: RunId,
    /// Only jobs whose id matches.
    pub jobs: Option<JobsFilter>,
    /// Only jobs in one of these states; `None` means the usual ones.
    pub only_status: Option<Vec<Status>>,
    /// Only jobs of one of these algorithms; empty means all.
    pub algo: Vec<AlgoKey>,
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
    /// How often the worker beats and how long silence is borne.
    pub rhythm: Rhythm,
    /// Goes on where file locks cannot be trusted.
    pub allow_unsafe_locks: bool,
}

/// Runs the jobs that `request` selects and reports everything to `sink`.
pub fn run_worker(
    context: &OpsContext,
    request: &WorkerRequest,
    cancel: &Cancel,
    sink: Arc<dyn Sink>,
) -> Result<Summary, OpsError> {
    let forced = request.adapter.as_ref();
    if let Some(key) = forced {
        known_algo(context, key)?;
    }
    let identity = identity::worker_identity(&context.settings);
    let worker = identity.facts.clone();
    let worker_id = identity.worker_id.clone();
    let notices = notice_sink(context, request, sink.clone());
    let store = CsvStore::open(CsvStoreOptions {
        workspace: context.workspace.clone(),
        run_id: request.run_id.clone(),
        identity,
        rhythm: request.rhythm,
        allow_unsafe_locks: request.allow_unsafe_locks,
        notices,
        clock: context.clock.clone(),
    })?;
    let log = RunLog::open(&context.workspace.log("worker"), sink.clone());
    let teller = Teller {
        context,
        run_id: &request.run_id,
        sinks: Sinks(vec![sink, Arc::new(log)]),
    };
    let ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| hurry_when_killed(&store, cancel, &ended));
        let result = work(
            &store,
            request,
            &teller,
            cancel,
            &worker,
            worker_id.as_str(),
        );
        ended.store(true, Ordering::SeqCst);
        result
    })
}

/// Stops the store from waiting for other tools once everything is to be killed.
fn hurry_when_killed(store: &CsvStore, cancel: &Cancel, ended: &AtomicBool) {
    while !ended.load(Ordering::SeqCst) {
        if cancel.wait_for(Stage::Kill, Duration::from_millis(20)) {
            store.hurry();
            return;
        }
    }
}

fn work(
    store: &CsvStore,
    request: &WorkerRequest,
    teller: &Teller<'_>,
    cancel: &Cancel,
    worker: &WorkerFacts,
    worker_id: &str,
) -> Result<Summary, OpsError> {
    let context = teller.context;
    let prepared = prepare(store, request, teller).inspect_err(|_| {
        teller.tell(EventKind::WorkerSummary(Summary {
            max_parallel: request.max_parallel,
            dry_run: request.dry_run,
            stopped_by: Some("store".into()),
            ..Summary::default()
        }));
    })?;
    let carriers = carriers(context, request, &prepared.jobs, teller);
    teller.tell(EventKind::WorkerStarted(Box::new(WorkerStarted {
        jobs_filter: request.jobs.as_ref().map(|filter| filter.text().to_owned()),
        jobs_filter_kind: request
            .jobs
            .as_ref()
            .map(|filter| filter.kind().to_string()),
        only_status: words(&selection(request).statuses()),
        algo: list(&request.algo),
        max_parallel: request.max_parallel,
        adapter: request.adapter.as_ref().map(ToString::to_string),
        dry_run: request.dry_run,
        fail_fast: request.fail_fast,
        redo: request.redo,
        limit: request.limit,
        total_jobs: prepared.jobs.len(),
        worker_id: worker_id.to_owned(),
        worker: worker.clone(),
    })));
    prepared.tell_oddities(request, teller);
    let conditions = Conditions {
        workspace: context.workspace.clone(),
        worker: worker.clone(),
        max_parallel: request.max_parallel,
        dry_run: request.dry_run,
        fail_fast: request.fail_fast,
        limit: request.limit,
        forced: request.adapter.clone(),
        rhythm: request.rhythm,
    };
    let Prepared {
        jobs,
        rolled_forward,
        skips,
        ..
    } = prepared;
    let mut summary = engine::run(
        store,
        jobs,
        &carriers,
        &conditions,
        &context.clock,
        cancel,
        &teller.sinks,
    );
    summary.rolled_forward += rolled_forward;
    let count = |reason: SkipReason| {
        skips
            .iter()
            .filter(|(r, _)| **r == reason)
            .map(|(_, ids)| ids.len())
            .sum::<usize>()
    };
    summary.skipped += skips.values().map(Vec::len).sum::<usize>();
    summary.busy += count(SkipReason::Held);
    summary.resumable = count(SkipReason::Resumable);
    teller.tell(EventKind::WorkerSummary(summary.clone()));
    Ok(summary)
}

/// A run that was recovered and read, with every decision made.
struct Prepared {
    jobs: Vec<PlannedJob>,
    skips: BTreeMap<SkipReason, Vec<JobId>>,
    rolled_forward: usize,
    unmarked: Vec<JobId>,
    matched: usize,
}

fn prepare(
    store: &CsvStore,
    request: &WorkerRequest,
    teller: &Teller<'_>,
) -> Result<Prepared, OpsError> {
    let now = teller.context.clock.now();
    let recovery = store.recover(now)?;
    for warning in recovery.warnings {
        teller.warn(warning);
    }
    for job_id in &recovery.rolled_forward {
        teller.tell(EventKind::RolledForward {
            job_id: job_id.clone(),
        });
    }
    let run = store.jobs(teller.context.clock.now())?;
    for warning in run.warnings {
        teller.warn(warning);
    }
    let mut prepared = Prepared {
        jobs: Vec::new(),
        skips: BTreeMap::new(),
        rolled_forward: recovery.rolled_forward.len(),
        unmarked: Vec::new(),
        matched: 0,
    };
    let selection = selection(request);
    for job in run.jobs {
        if !matches_filters(request, &job) {
            continue;
        }
        prepared.matched += 1;
        prepared.decide(job, &selection, teller);
    }
    Ok(prepared)
}

impl Prepared {
    fn decide(&mut self, job: JobRecord, selection: &Selection, teller: &Teller<'_>) {
        let (state, holder, unmarked) = match &job.standing {
            Standing::Known {
                state,
                holder,
                unmarked,
                ..
            } => (*state, holder.as_ref(), *unmarked),
            Standing::Unknown(word) => {
                teller.warn(format!(
                    "job {} has the status {word:?}, which is none of ours; it is left alone",
                    job.job_id
                ));
                self.skip(SkipReason::NotSelected(Status::Cancelled), job.job_id);
                return;
            }
            Standing::NotRegistered | Standing::NotInManifest => {
                self.skip(SkipReason::NotSelected(Status::Enqueued), job.job_id);
                return;
            }
        };
        if unmarked {
            self.unmarked.push(job.job_id.clone());
        }
        let seen = Seen {
            state,
            unmarked,
            holder: holder.map(|holder| holder.verdict),
        };
        match selection.decide(seen) {
            Decision::Run(entry) => self.jobs.push(PlannedJob { job, entry }),
            Decision::Skip(reason) => self.skip(reason, job.job_id),
        }
    }

    fn skip(&mut self, reason: SkipReason, job: JobId) {
        self.skips.entry(reason).or_default().push(job);
    }

    /// Says what a person may not expect.
    fn tell_oddities(&self, request: &WorkerRequest, teller: &Teller<'_>) {
        if let Some(filter) = &request.jobs {
            let (kind, text) = (filter.kind(), filter.text());
            teller.notice(format!(
                "--jobs {text:?} was taken as {kind}: {} jobs match",
                self.matched
            ));
            if self.matched == 0 {
                teller.warn(format!(
                    "no job id of run {} matches --jobs {text:?}",
                    request.run_id
                ));
            }
        }
        if !self.unmarked.is_empty() {
            teller.warn(format!(
                "{} completed in the registry without a marker in the state folder ({}); taken as completed",
                plural(self.unmarked.len(), "job is", "jobs are"),
                some_of(&self.unmarked)
            ));
        }
        let performed: Vec<_> = self
            .jobs
            .iter()
            .filter(|planned| planned.entry == Entry::Perform)
            .collect();
        if !performed.is_empty() {
            teller.notice(format!(
                "{} only rehearsed so far and will now run for real",
                plural(performed.len(), "job was", "jobs were")
            ));
        }
        let skipped = |reason| self.skips.get(&reason).map_or(0, Vec::len);
        if skipped(SkipReason::NeedsRedo) > 0 {
            teller.notice(format!(
                "{} completed; add --redo to make them again",
                plural(
                    skipped(SkipReason::NeedsRedo),
                    "selected job is",
                    "selected jobs are"
                )
            ));
        }
        if skipped(SkipReason::RealResult) > 0 {
            teller.notice(format!(
                "{} a real result, which a rehearsal never replaces",
                plural(skipped(SkipReason::RealResult), "job has", "jobs have")
            ));
        }
    }
}

fn matches_filters(request: &WorkerRequest, job: &JobRecord) -> bool {
    let id = request
        .jobs
        .as_ref()
        .is_none_or(|filter| filter.matches(job.job_id.as_str()));
    let algo = request.algo.is_empty()
        || job
            .algo
            .as_ref()
            .is_ok_and(|key| request.algo.contains(key));
    id && algo
}

fn selection(request: &WorkerRequest) -> Selection {
    Selection {
        only_status: request.only_status.clone(),
        redo: request.redo,
        dry_run: request.dry_run,
    }
}

fn words(statuses: &[Status]) -> Vec<String> {
    statuses
        .iter()
        .map(|status| status.word().to_owned())
        .collect()
}

fn list(keys: &[AlgoKey]) -> Option<String> {
    let keys: Vec<&str> = keys.iter().map(AlgoKey::as_str).collect();
    (!keys.is_empty()).then(|| keys.join(","))
}

fn plural(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

fn some_of(jobs: &[JobId]) -> String {
    let mut shown: Vec<&str> = jobs.iter().take(3).map(JobId::as_str).collect();
    if jobs.len() > 3 {
        shown.push("…");
    }
    shown.join(", ")
}

/// Builds what carries out each algorithm that the jobs need.
fn carriers(
    context: &OpsContext,
    request: &WorkerRequest,
    jobs: &[PlannedJob],
    teller: &Teller<'_>,
) -> Carriers {
    let wanted: BTreeSet<&AlgoKey> = match &request.adapter {
        Some(forced) => BTreeSet::from([forced]),
        None => jobs
            .iter()
            .filter_map(|planned| planned.job.algo.as_ref().ok())
            .collect(),
    };
    let mut carriers = Carriers::new();
    for key in wanted {
        let mut carrier = carrier(context, request, key);
        if let Err(reason) = &carrier
            && request.dry_run
        {
            teller.warn(format!(
                "{reason}; rehearsed all the same, but a real run would fail these jobs"
            ));
            carrier = Ok(rehearsal(request));
        }
        carriers.insert(key.clone(), carrier);
    }
    carriers
}

fn carrier(
    context: &OpsContext,
    request: &WorkerRequest,
    key: &AlgoKey,
) -> Result<Carrier, String> {
    let settings = context.settings.algo(key.as_str()).ok_or_else(|| {
        let known = context.settings.algos.iter().map(|algo| algo.key.as_str());
        format!(
            "algo {key} is not in adapters.yaml{}; add it to <workspace>/config/adapters.yaml",
            suggestion(key.as_str(), known)
        )
    })?;
    let duration = Duration::from_millis(request.simulate_ms.unwrap_or_default());
    let adapter = registry::build(settings, request.dry_run.then_some(duration))
        .map_err(|error| error.to_string())?;
    let configured = settings
        .options
        .get("timeout_s")
        .and_then(serde_json::Value::as_f64);
    let timeout = request
        .timeout
        .or(configured.and_then(|secs| Duration::try_from_secs_f64(secs).ok()));
    Ok(Carrier {
        adapter,
        price: Price {
            unit_usd: settings.unit_price_usd,
            estimated_usd: None,
            source: settings
                .price_source
                .clone()
                .or_else(|| settings.unit_price_usd.map(|_| "adapters.yaml".to_owned())),
        },
        timeout,
    })
}

fn rehearsal(request: &WorkerRequest) -> Carrier {
    let duration = Duration::from_millis(request.simulate_ms.unwrap_or_default());
    Carrier {
        adapter: Box::new(Simulate::new(duration)),
        price: Price::default(),
        timeout: request.timeout,
    }
}

fn known_algo(context: &OpsContext, key: &AlgoKey) -> Result<(), OpsError> {
    if context.settings.algo(key.as_str()).is_some() {
        return Ok(());
    }
    let known: Vec<&str> = context
        .settings
        .algos
        .iter()
        .map(|algo| algo.key.as_str())
        .collect();
    Err(OpsError::Setup {
        message: format!(
            "--adapter {key} is not in adapters.yaml{}",
            suggestion(key.as_str(), known.iter().copied())
        ),
        hint: Some(format!("known are: {}", known.join(", "))),
    })
}

/// Sends events of this operation to every sink.
struct Teller<'a> {
    context: &'a OpsContext,
    run_id: &'a RunId,
    sinks: Sinks,
}

impl Teller<'_> {
    fn tell(&self, kind: EventKind) {
        self.sinks.report(&Event {
            at: self.context.clock.now(),
            run_id: self.run_id.clone(),
            kind,
        });
    }

    fn warn(&self, message: String) {
        self.tell(EventKind::Warning { message });
    }

    fn notice(&self, message: String) {
        self.tell(EventKind::Notice { message });
    }
}

fn notice_sink(context: &OpsContext, request: &WorkerRequest, sink: Arc<dyn Sink>) -> NoticeSink {
    let clock = context.clock.clone();
    let run_id = request.run_id.clone();
    Arc::new(move |notice| {
        let message = match notice {
            StoreNotice::WaitingFor { lock, waited } => format!(
                "waiting for {lock} for {} s: another program holds it; nothing is lost meanwhile",
                waited.as_secs()
            ),
            StoreNotice::RegistryBlocked { reason } => format!(
                "tables/generations.csv cannot be written now: {reason}; finished results are safe and it is tried again"
            ),
            StoreNotice::Warning(message) => message,
        };
        sink.report(&Event {
            at: clock.now(),
            run_id: run_id.clone(),
            kind: EventKind::Warning { message },
        });
    })
}
