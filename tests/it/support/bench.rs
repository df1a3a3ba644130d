//! One run on any kind of store: several workers on it, their deaths, and what people see.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use archi3d_core::clock::SystemClock;
use archi3d_core::domain::id::{AlgoKey, JobId, RunId, WorkerId};
use archi3d_core::domain::job::{Entry, JobState};
use archi3d_core::domain::lease::{Lease, Rhythm};
use archi3d_core::domain::naming::StateFile;
use archi3d_core::domain::patch::{self, Price, Product, Span, WorkerFacts};
use archi3d_core::domain::purchase::PurchaseEnd;
use archi3d_core::domain::retry::ErrorClass;
use archi3d_core::domain::time::Timestamp;
use archi3d_core::platform;
use archi3d_core::store::files::{FileBudget, FileProviders, FileStore, FileStoreOptions};
use archi3d_core::store::{
    Budget, Claim, Ending, JobRecord, JobSnapshot, NoticeSink, Outcome, Providers, WorkerIdentity,
    WorkerStore,
};
use archi3d_core::workspace::artifact;
use archi3d_core::workspace::lock::{self, FileLock};
use archi3d_core::workspace::paths::{RunPaths, Workspace};

use super::memory_store::MemoryRun;
use super::memory_store::shared::{MemoryBudget, MemoryProviders};
use super::wait::wait_until;
use super::workspace::TestWorkspace;

const RUN: &str = "rk";

/// Silence counts as soon as it has lasted long enough by the times that a test passes in.
const RHYTHM: Rhythm = Rhythm {
    heartbeat: Duration::ZERO,
    stale: STALE,
};

/// The silence after which a live holder counts as frozen.
pub const STALE: Duration = Duration::from_secs(600);

/// Returns the moment `seconds` after the tests' beginning of time.
pub fn at(seconds: u64) -> Timestamp {
    let start = Timestamp::parse("2026-03-01T08:00:00Z").expect("a valid time");
    start.plus(Duration::from_secs(seconds))
}

/// A run with waiting jobs, on some kind of store. Dropping a handle is its worker's death.
pub trait Bench: Sync {
    /// Opens the run for a worker with a new id, without recovery.
    fn open(&self, worker: &str) -> Box<dyn WorkerStore>;

    /// Lets a worker die after its ending is safe and before it is published.
    fn die_finishing(&self, store: Box<dyn WorkerStore>, lease: &Lease, ending: Ending);

    /// Lets a worker die.
    fn die(&self, store: Box<dyn WorkerStore>, worker: &WorkerId) {
        let _ = worker;
        drop(store);
    }

    /// Asks whoever runs the job to stop it.
    fn ask_to_cancel(&self, job: &JobId);

    /// Returns the row that people see.
    fn row(&self, job: &JobId) -> BTreeMap<String, String>;

    /// Returns the jobs in order.
    fn jobs(&self) -> &[JobId];

    /// Returns where results lie.
    fn paths(&self) -> RunPaths;

    /// Opens the run for a worker with the money and the providers that it shares with all others.
    fn shared(&self, worker: &str) -> Shared;

    /// Opens the run for a worker and recovers it.
    fn worker(&self, worker: &str) -> Box<dyn WorkerStore> {
        let store = self.open(worker);
        store.recover(at(0)).expect("recovery works");
        store
    }
}

/// One worker's view of a run and of what all workers share.
pub struct Shared {
    pub store: Box<dyn WorkerStore>,
    pub budget: Arc<dyn Budget>,
    pub providers: Arc<dyn Providers>,
}

/// A run in files.
pub struct FilesBench {
    workspace: TestWorkspace,
    jobs: Vec<JobId>,
}

impl FilesBench {
    /// Makes a run with `jobs` waiting jobs.
    pub fn boxed(jobs: usize) -> Box<dyn Bench> {
        Box::new(Self::with_status(jobs, "enqueued"))
    }

    /// Makes a run whose rows say `completed`, without a marker.
    pub fn completed(jobs: usize) -> Self {
        Self::with_status(jobs, "completed")
    }

    /// Returns how the run is opened for a worker whose notices go to `notices`.
    pub fn options(&self, worker: &str, notices: NoticeSink) -> FileStoreOptions {
        FileStoreOptions {
            workspace: Workspace::new(self.workspace.root()),
            run_id: run_id(),
            identity: WorkerIdentity {
                worker_id: worker_id(worker),
                pid: std::process::id(),
                boot_id: platform::boot_id(),
                facts: facts(worker),
            },
            rhythm: RHYTHM,
            rehearsal: false,
            allow_unsafe_locks: false,
            notices,
            clock: Arc::new(SystemClock),
        }
    }

    /// Returns the registry.
    pub fn table(&self) -> std::path::PathBuf {
        self.workspace.path("tables/generations.csv")
    }

    /// Makes a run with `jobs` waiting jobs.
    pub fn new(jobs: usize) -> Self {
        Self::with_status(jobs, "enqueued")
    }

    fn with_status(jobs: usize, status: &str) -> Self {
        let builder = TestWorkspace::with_products(jobs).run(RUN);
        let workspace = builder.status(status).build();
        let ids = workspace.jobs().iter();
        let jobs = ids
            .map(|job| JobId::parse(&job.id).expect("a valid id"))
            .collect();
        Self { workspace, jobs }
    }
}

impl Bench for FilesBench {
    fn open(&self, worker: &str) -> Box<dyn WorkerStore> {
        let store = FileStore::open(self.options(worker, Arc::new(|_| {})));
        Box::new(store.expect("the run can be opened"))
    }

    fn die_finishing(&self, store: Box<dyn WorkerStore>, lease: &Lease, ending: Ending) {
        // The ending is in the journal before the job's lock is taken, which it never gets.
        let path = self.paths().state_file(&lease.job_id, StateFile::Lock);
        let lock = FileLock::try_acquire(&path).expect("locks work");
        assert!(lock.is_some(), "nobody holds the lock of a running job");
        store.hurry();
        let outcome = store.finish(lease, ending);
        assert!(outcome.is_err(), "{outcome:?}");
        drop(lock);
        wait_until_free(&path);
        self.die(store, &lease.worker_id);
    }

    // A program that another test starts just now shares our locks until it runs:
    // a worker is dead when its journal is free.
    fn die(&self, store: Box<dyn WorkerStore>, worker: &WorkerId) {
        drop(store);
        wait_until_free(&self.paths().journal(worker));
    }

    fn ask_to_cancel(&self, job: &JobId) {
        let path = self.paths().state_file(job, StateFile::Cancel);
        fs::write(path, "").expect("the state folder is writable");
    }

    fn row(&self, job: &JobId) -> BTreeMap<String, String> {
        let (table, row) = (self.workspace.registry(), self.workspace.row(job.as_str()));
        let columns = table.columns.into_iter();
        columns
            .map(|column| (column.clone(), row[&column].to_owned()))
            .collect()
    }

    fn jobs(&self) -> &[JobId] {
        &self.jobs
    }

    fn paths(&self) -> RunPaths {
        Workspace::new(self.workspace.root()).run(&run_id())
    }

    fn shared(&self, worker: &str) -> Shared {
        let workspace = Workspace::new(self.workspace.root());
        Shared {
            store: self.worker(worker),
            budget: Arc::new(FileBudget::new(&workspace, Arc::new(|_| {}))),
            providers: Arc::new(FileProviders::new(&workspace)),
        }
    }
}

/// A run in memory.
pub struct MemoryBench {
    run: MemoryRun,
    budget: Arc<MemoryBudget>,
    providers: Arc<MemoryProviders>,
    workspace: TestWorkspace,
    jobs: Vec<JobId>,
}

impl MemoryBench {
    /// Makes a run with `jobs` waiting jobs.
    pub fn new(jobs: usize) -> Self {
        let workspace = TestWorkspace::empty();
        let ids = (0..jobs).map(|n| JobId::parse(&format!("job{n:03}")).expect("a valid id"));
        let jobs: Vec<JobId> = ids.collect();
        let records = jobs.iter().map(waiting).collect();
        let place = Workspace::new(workspace.root());
        let run = MemoryRun::new(place, run_id(), records, RHYTHM).expect("the folder is writable");
        Self {
            run,
            budget: Arc::default(),
            providers: Arc::default(),
            workspace,
            jobs,
        }
    }

    /// Makes a run with `jobs` waiting jobs.
    pub fn boxed(jobs: usize) -> Box<dyn Bench> {
        Box::new(Self::new(jobs))
    }

    /// Lets the next ending of a worker be noted but not published.
    pub fn cut_off(&self, worker: &str) {
        self.run.cut_off(&worker_id(worker));
    }

    /// Returns the folder of the results.
    pub fn workspace(&self) -> Workspace {
        Workspace::new(self.workspace.root())
    }
}

impl Bench for MemoryBench {
    fn open(&self, worker: &str) -> Box<dyn WorkerStore> {
        Box::new(self.run.handle(&worker_id(worker)))
    }

    fn die_finishing(&self, store: Box<dyn WorkerStore>, lease: &Lease, ending: Ending) {
        self.run.cut_off(&lease.worker_id);
        let outcome = store.finish(lease, ending);
        assert!(outcome.is_err(), "{outcome:?}");
        drop(store);
    }

    fn ask_to_cancel(&self, job: &JobId) {
        self.run.ask_to_cancel(job);
    }

    fn row(&self, job: &JobId) -> BTreeMap<String, String> {
        self.run.row(job)
    }

    fn jobs(&self) -> &[JobId] {
        &self.jobs
    }

    fn paths(&self) -> RunPaths {
        self.workspace().run(&run_id())
    }

    fn shared(&self, worker: &str) -> Shared {
        Shared {
            store: self.worker(worker),
            budget: self.budget.clone(),
            providers: self.providers.clone(),
        }
    }
}

fn waiting(job: &JobId) -> JobRecord {
    JobRecord {
        job_id: job.clone(),
        product_id: "100001".to_owned(),
        variant: String::new(),
        algo: Ok(AlgoKey::parse("fake").expect("a valid key")),
        images: Vec::new(),
        blobs: Vec::new(),
        snapshot: JobSnapshot::Known {
            state: JobState::Enqueued { attempt: 0 },
            holder: None,
            error: None,
            unmarked: false,
            not_before: None,
            doubtful: false,
            intended: false,
            tried: false,
            holder_died: false,
            purchase: None,
            failures: 0,
        },
    }
}

/// Returns the run's id.
pub fn run_id() -> RunId {
    RunId::parse(RUN).expect("a valid id")
}

fn wait_until_free(path: &Path) {
    wait_until("nobody holds the lock any more", || {
        !lock::is_held(path).expect("the file can be looked at")
    });
}

/// Returns the id of the worker called `name`.
pub fn worker_id(name: &str) -> WorkerId {
    WorkerId::parse(name).expect("a valid id")
}

/// Returns what the registry says of the worker called so.
pub fn facts(worker: &str) -> WorkerFacts {
    WorkerFacts {
        host: "testhost".to_owned(),
        user: worker.to_owned(),
        ..WorkerFacts::default()
    }
}

/// Takes a job that can be taken.
#[track_caller]
pub fn take(store: &dyn WorkerStore, job: &JobId, entry: Entry, now: Timestamp) -> Lease {
    match store.claim(job, entry, now).expect("the store works") {
        Claim::Taken(lease) => lease,
        other => panic!("{job} cannot be taken as {entry:?}: {other:?}"),
    }
}

/// Returns the state of a job as a handle sees it.
#[track_caller]
pub fn state(store: &dyn WorkerStore, job: &JobId) -> JobState {
    let run = store.jobs(at(0)).expect("the run can be read");
    let record = run.jobs.into_iter().find(|record| record.job_id == *job);
    match record.expect("the job is listed").snapshot {
        JobSnapshot::Known { state, .. } => state,
        other => panic!("{job} is {other:?}"),
    }
}

/// Makes a result with this text as its model, and the ending that tells of it.
pub fn made(lease: &Lease, model: &str, simulated: bool) -> Ending {
    fs::write(lease.staging.join("generated.glb"), model).expect("staging is writable");
    let files = artifact::inventory(&lease.staging).expect("plain files");
    let product = Product {
        object: format!("runs/{RUN}/outputs/{}/generated.glb", lease.job_id),
        price: Price {
            source: simulated.then(|| patch::DRY_RUN.to_owned()),
            ..Price::default()
        },
        ..Product::default()
    };
    Ending {
        outcome: Outcome::Completed {
            simulated,
            artifacts: files,
        },
        patch: patch::completed(span(lease), &facts(lease.worker_id.as_str()), &product),
        cost_usd: None,
        content_key: None,
        at: lease.claimed_at.plus(Duration::from_secs(1)),
    }
}

/// Returns the ending of an attempt without result.
pub fn failed(lease: &Lease, message: &str) -> Ending {
    Ending {
        outcome: Outcome::Failed {
            class: ErrorClass::Transient,
            error_text: format!("Error: {message}\n"),
            cut_off: false,
            purchase: PurchaseEnd::Open,
        },
        patch: patch::failed(span(lease), &facts(lease.worker_id.as_str()), message),
        cost_usd: None,
        content_key: None,
        at: lease.claimed_at.plus(Duration::from_secs(1)),
    }
}

fn span(lease: &Lease) -> Span {
    Span {
        start: lease.claimed_at,
        duration: Duration::from_secs(1),
    }
}

/// Returns the text of a job's published model, if it has one.
pub fn model(bench: &dyn Bench, job: &JobId) -> Option<String> {
    fs::read_to_string(bench.paths().output(job).join("generated.glb")).ok()
}

/// Returns what lies directly in a folder, sorted; nothing if it is not there.
pub fn listing(folder: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .map(|entry| entry.expect("the folder is readable").path())
        .collect();
    found.sort();
    found
}
