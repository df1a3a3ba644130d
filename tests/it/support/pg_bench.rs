//! A run in a PostgreSQL database of its own, for the tests that every store must pass.
//!
//! Time is the test's: the database's `now()` is a table that moves with the times a test passes in, and no server
//! start is ever recent. Without such times (the engine's tests) the server's own clock counts.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use archi3d_core::domain::budget::AttemptKey;
use archi3d_core::domain::id::{AlgoKey, JobId, RunId};
use archi3d_core::domain::job::Entry;
use archi3d_core::domain::lease::Lease;
use archi3d_core::domain::patch::Patch;
use archi3d_core::domain::time::Timestamp;
use archi3d_core::platform;
use archi3d_core::store::artifacts::Shared;
use archi3d_core::store::postgres::import::{self, NewJob, NewRun};
use archi3d_core::store::postgres::{
    PgBudget, PgProviders, PgStore, PgStoreOptions, export, migrate,
};
use archi3d_core::store::{
    Beat, Billing, Cancellation, Claim, Ending, Finish, Handing, JobToRetry, Made, Next, Progress,
    Recovery, ReleaseReason, Restored, RunJobs, Setback, StoreError, Trial, Want, WorkerIdentity,
    WorkerStore,
};
use archi3d_core::workspace::paths::{RunPaths, Workspace};

use super::bench::{self, Bench, STALE, facts, run_id, worker_id};
use super::workspace::TestWorkspace;
use crate::postgres::bench::{Bench as Database, server};

/// Everything of one run; handles share it.
struct Inner {
    workspace: TestWorkspace,
    jobs: Vec<JobId>,
    /// The test's time; nothing until one is told.
    now: Mutex<Option<Timestamp>>,
    database: Mutex<Database>,
}

/// A run in PostgreSQL.
#[derive(Clone)]
pub struct PgBench(Arc<Inner>);

impl PgBench {
    /// Tells whether there is a server; without one a test is passed over.
    pub fn is_there() -> bool {
        server("ARCHI3D_TEST_POSTGRES").is_some()
    }

    /// Makes a run with `jobs` waiting jobs.
    pub fn boxed(jobs: usize) -> Box<dyn Bench> {
        Box::new(Self::new(jobs).expect("there is a server"))
    }

    /// Makes a run with `jobs` waiting jobs; nothing where there is no server.
    pub fn new(jobs: usize) -> Option<Self> {
        Self::of_algos(&vec!["fake"; jobs])
    }

    /// Makes a run with one waiting job of each of these algorithms.
    pub fn of_algos(algos: &[&str]) -> Option<Self> {
        let mut database = Database::empty()?;
        migrate::apply(&mut database.work, "test").expect("migrated");
        own_time(&mut database);
        // Time is moved by hand, so nobody beats in time: but for this one the server would seem to have stood still.
        database.run(
            "INSERT INTO archi3d.workers (worker_id, host, pid, version, slots, state, lease_seconds, last_seen)
             VALUES ('watch', 'elsewhere', 1, '', 1, 'idle', 0.001, 'infinity')",
        );
        let id = run_id();
        let run = NewRun {
            run_id: id.as_str(),
            parameters: "{}",
            payload_hash: b"hash",
            header: b"job_id,status\n",
            lease_seconds: 60,
            artifacts_url: None,
        };
        let added = import::add_run(&mut database.work, &run).expect("added");
        database.run_no = added.run_no;
        let jobs: Vec<NewJob> = algos.iter().enumerate().map(waiting).collect();
        let run_no = database.run_no;
        for some in jobs.chunks(5_000) {
            import::add_jobs(&mut database.work, run_no, id.as_str(), some, 0, 5).expect("added");
        }
        Some(Self(Arc::new(Inner {
            workspace: TestWorkspace::empty(),
            jobs: jobs
                .iter()
                .map(|job| JobId::parse(&job.job_id).expect("a valid id"))
                .collect(),
            now: Mutex::new(None),
            database: Mutex::new(database),
        })))
    }

    /// Returns the folder of the results.
    pub fn workspace(&self) -> Workspace {
        Workspace::new(self.0.workspace.root())
    }

    /// Returns the database.
    pub fn database(&self) -> MutexGuard<'_, Database> {
        self.0.database.lock().expect("no test panics in it")
    }

    /// Opens the run for a worker, on the server's own clock and without recovery.
    pub fn store(&self, worker: &str, lease: Duration) -> PgStore {
        let store = self.try_store(worker, lease);
        store.expect("the run can be opened")
    }

    /// The same, where the server may be away.
    pub fn try_store(&self, worker: &str, lease: Duration) -> Result<PgStore, StoreError> {
        let options = PgStoreOptions {
            url: self.database().url.clone(),
            workspace: self.workspace(),
            run_id: run_id(),
            identity: WorkerIdentity {
                worker_id: worker_id(worker),
                pid: std::process::id(),
                boot_id: platform::boot_id(),
                facts: facts(worker),
            },
            lease: Some(lease),
            slots: 1,
            ahead: false,
            rehearsal: false,
            artifacts: Arc::new(Shared::new(
                self.workspace(),
                self.workspace().run(&run_id()),
            )),
            spool: self.spools(),
            spool_before: None,
            lines: None,
            notices: Arc::new(|_| {}),
        };
        PgStore::open(options)
    }

    /// Returns the folder of this machine's spools.
    pub fn spools(&self) -> PathBuf {
        self.0.workspace.outside().join("spools")
    }

    /// Takes away whoever was always there: the test's own workers alone tell whether the server stood still.
    pub fn unwatched(&self) {
        let sql = "DELETE FROM archi3d.workers WHERE worker_id = 'watch'";
        self.database().run(sql);
    }

    /// Lets the leases of a worker run out.
    pub fn lapse(&self, worker: &str) {
        self.database().run(&format!(
            "UPDATE archi3d.jobs SET lease_expires_at = 'epoch' WHERE lease_owner = '{worker}'"
        ));
    }

    /// Cuts the connections of a worker, and lets nobody connect until the guard is dropped.
    pub fn away(&self, worker: &str) -> Away<'_> {
        let mut database = self.database();
        database.allow_connections(false);
        database.cut(worker);
        Away(self)
    }
}

/// A server that lets nobody in.
pub struct Away<'a>(&'a PgBench);

impl Drop for Away<'_> {
    fn drop(&mut self) {
        self.0.database().allow_connections(true);
    }
}

/// Lets statements find the test's time before the server's, and a server that never started.
pub fn own_time(database: &mut Database) {
    database.run(
        "CREATE SCHEMA test_time;
         CREATE TABLE test_time.moment (at timestamptz);
         CREATE FUNCTION test_time.now() RETURNS timestamptz LANGUAGE sql STABLE AS
           'SELECT COALESCE((SELECT at FROM test_time.moment), pg_catalog.now())';
         CREATE FUNCTION test_time.pg_postmaster_start_time() RETURNS timestamptz LANGUAGE sql STABLE AS
           $$ SELECT timestamptz 'epoch' $$;",
    );
    let name = database.url.database.clone();
    database.run(&format!(
        "ALTER DATABASE {name} SET search_path = test_time, pg_catalog"
    ));
}

fn waiting((number, algo): (usize, &&str)) -> NewJob {
    let job_id = format!("job{number:03}");
    NewJob {
        position: i64::try_from(number).expect("few"),
        algo: (*algo).to_owned(),
        product_id: "100001".to_owned(),
        variant: String::new(),
        provider: None,
        payload: "{}".to_owned(),
        payload_hash: vec![0; 32],
        row: format!("{job_id},enqueued\n").into_bytes(),
        job_id,
    }
}

impl Bench for PgBench {
    fn open(&self, worker: &str) -> Box<dyn WorkerStore> {
        Box::new(Timed {
            store: Some(self.store(worker, STALE)),
            bench: self.clone(),
            worker: worker.to_owned(),
        })
    }

    fn die_finishing(&self, store: Box<dyn WorkerStore>, lease: &Lease, ending: Ending) {
        let away = self.away(lease.worker_id.as_str());
        store.hurry();
        // It is in the spool, and nobody has sent it.
        store.finish(lease, ending).expect("it is spooled");
        drop(away);
        drop(store);
    }

    fn ask_to_cancel(&self, job: &JobId) {
        let sql = format!(
            "UPDATE archi3d.jobs SET cancel_asked = true FROM archi3d.job_specs s
             WHERE s.job_no = id AND s.job_id = '{job}' AND status = 'running'"
        );
        self.database().run(&sql);
    }

    fn row(&self, job: &JobId) -> BTreeMap<String, String> {
        let mut database = self.database();
        let run_no = database.run_no;
        let rows = export::page(&mut database.work, run_no, -1, usize::MAX).expect("read");
        let found = rows.into_iter().find(|row| row.job_id == job.as_str());
        let found = found.expect("the job has a row");
        let text = String::from_utf8(found.row).expect("text");
        let cells = text.trim_end().split(',').map(str::to_owned);
        let columns = ["job_id", "status"].map(str::to_owned);
        let mut row: BTreeMap<String, String> = columns.into_iter().zip(cells).collect();
        for patch in found.patches {
            let patch: Patch = serde_json::from_str(&patch).expect("a patch");
            for patched in patch.cells() {
                let cell = row.entry(patched.column.clone().into_owned()).or_default();
                if !patched.only_if_empty || cell.is_empty() {
                    cell.clone_from(&patched.value);
                }
            }
        }
        let status = match found.status.as_str() {
            "pending" | "failed_retryable" => "enqueued",
            "succeeded" => "completed",
            "failed_terminal" => "failed",
            other => other,
        };
        row.insert("status".to_owned(), status.to_owned());
        row
    }

    fn jobs(&self) -> &[JobId] {
        &self.0.jobs
    }

    fn paths(&self) -> RunPaths {
        self.workspace().run(&run_id())
    }

    fn shared(&self, worker: &str) -> bench::Shared {
        let store = self.store(worker, STALE);
        let link = Arc::clone(store.link());
        let store = Timed {
            store: Some(store),
            bench: self.clone(),
            worker: worker.to_owned(),
        };
        store.recover(bench::at(0)).expect("recovery works");
        bench::Shared {
            store: Box::new(store),
            budget: Arc::new(PgBudget::new(Arc::clone(&link))),
            providers: Arc::new(PgProviders::new(link)),
        }
    }
}

/// A handle whose calls move the database's time to what they pass in. Dropped, its worker is dead, and its leases have
/// run out.
struct Timed {
    store: Option<PgStore>,
    bench: PgBench,
    worker: String,
}

impl Timed {
    fn at(&self, now: Timestamp) -> &PgStore {
        let mut latest = self.bench.0.now.lock().expect("no test panics in it");
        if latest.is_none_or(|latest| latest < now) {
            *latest = Some(now);
            let now = now.fixed_width();
            // Whoever acts lives, so it has beaten meanwhile: a worker whose own beats are late judges no lease.
            let sql = format!(
                "DELETE FROM test_time.moment; INSERT INTO test_time.moment VALUES ('{now}');
                 UPDATE archi3d.workers SET last_seen = '{now}' WHERE worker_id = '{}'",
                self.worker
            );
            self.bench.database().run(&sql);
        }
        self.store()
    }

    fn store(&self) -> &PgStore {
        self.store.as_ref().expect("it lives until it is dropped")
    }
}

impl Drop for Timed {
    fn drop(&mut self) {
        drop(self.store.take());
        self.bench.lapse(&self.worker);
    }
}

impl Handing for Timed {
    fn algos(&self) -> Result<Vec<(String, usize)>, StoreError> {
        self.store().algos()
    }

    fn claim_next(&self, want: &Want<'_>, now: Timestamp) -> Result<Next, StoreError> {
        self.at(now).claim_next(want, now)
    }

    fn open_folder(&self, lease: &Lease) -> Result<(), StoreError> {
        self.store().open_folder(lease)
    }

    fn trial(&self, algo: &AlgoKey, most: usize) -> Result<Trial, StoreError> {
        self.store().trial(algo, most)
    }

    fn perform_rehearsed(&self, algos: &[AlgoKey]) -> Result<usize, StoreError> {
        self.store().perform_rehearsed(algos)
    }

    fn keep_ahead(&self, leases: &[&Lease]) {
        self.store().keep_ahead(leases);
    }

    fn release_unbegun(&self, leases: &[&Lease], now: Timestamp) -> Result<(), StoreError> {
        self.at(now).release_unbegun(leases, now)
    }

    fn send_kept(&self) -> Result<Option<usize>, StoreError> {
        self.store().send_kept()
    }

    fn has_news(&self) -> bool {
        self.store().has_news()
    }

    fn unclaimed(&self) -> Result<BTreeMap<String, usize>, StoreError> {
        self.store().unclaimed()
    }
}

impl WorkerStore for Timed {
    fn handing(&self) -> Option<&dyn Handing> {
        Some(self)
    }

    fn keeps_bare_results(&self) -> bool {
        self.store().keeps_bare_results()
    }

    fn endings_not_shown(&self) -> Result<usize, StoreError> {
        self.store().endings_not_shown()
    }

    fn run_id(&self) -> &RunId {
        self.store().run_id()
    }

    fn recover(&self, now: Timestamp) -> Result<Recovery, StoreError> {
        self.at(now).recover(now)
    }

    fn jobs(&self, now: Timestamp) -> Result<RunJobs, StoreError> {
        self.at(now).jobs(now)
    }

    fn counts_successes(&self) -> bool {
        self.store().counts_successes()
    }

    fn claim(&self, job: &JobId, entry: Entry, now: Timestamp) -> Result<Claim, StoreError> {
        self.at(now).claim(job, entry, now)
    }

    fn beat(&self, lease: &Lease, now: Timestamp) -> Result<Beat, StoreError> {
        self.at(now).beat(lease, now)
    }

    fn beat_all(&self, leases: &[&Lease], now: Timestamp) -> Vec<Result<Beat, StoreError>> {
        self.at(now).beat_all(leases, now)
    }

    fn intent(&self, lease: &Lease, correlation: &str, now: Timestamp) -> Result<Beat, StoreError> {
        self.at(now).intent(lease, correlation, now)
    }

    fn submitted(
        &self,
        lease: &Lease,
        request_id: &str,
        cost_usd: Option<f64>,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        self.at(now).submitted(lease, request_id, cost_usd, now)
    }

    fn made(
        &self,
        lease: &Lease,
        made: &Made,
        durably: bool,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        self.at(now).made(lease, made, durably, now)
    }

    fn note_progress(
        &self,
        lease: &Lease,
        progress: &Progress,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        self.at(now).note_progress(lease, progress, now)
    }

    fn finish(&self, lease: &Lease, ending: Ending) -> Result<Finish, StoreError> {
        self.store().finish(lease, ending)
    }

    fn release(
        &self,
        lease: &Lease,
        reason: ReleaseReason,
        not_before: Option<Timestamp>,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        self.at(now).release(lease, reason, not_before, now)
    }

    fn requeue(&self, lease: &Lease, setback: Setback, now: Timestamp) -> Result<(), StoreError> {
        self.at(now).requeue(lease, setback, now)
    }

    fn set_aside(&self, lease: &Lease) -> Result<Option<String>, StoreError> {
        self.store().set_aside(lease)
    }

    fn is_safe(&self, lease: &Lease) -> bool {
        self.store().is_safe(lease)
    }

    fn secure(&self, lease: &Lease) -> Result<(), StoreError> {
        self.store().secure(lease)
    }

    fn cancel(&self, lease: &Lease, now: Timestamp) -> Result<(), StoreError> {
        self.at(now).cancel(lease, now)
    }

    fn cancel_job(&self, job: &JobId, now: Timestamp) -> Result<Cancellation, StoreError> {
        self.at(now).cancel_job(job, now)
    }

    fn restore(&self, job: &JobId, now: Timestamp) -> Result<Restored, StoreError> {
        self.at(now).restore(job, now)
    }

    fn try_again(
        &self,
        jobs: &[JobToRetry],
        resubmit: bool,
        now: &dyn Fn() -> Timestamp,
    ) -> Result<usize, StoreError> {
        self.at(now()).try_again(jobs, resubmit, now)
    }

    fn close(&self, now: Timestamp) -> Result<(), StoreError> {
        self.at(now).close(now)
    }

    fn billings(&self, attempt_keys: &[AttemptKey]) -> Result<Vec<Billing>, StoreError> {
        self.store().billings(attempt_keys)
    }

    fn purchases(&self, job: &JobId) -> Result<Vec<(String, Option<f64>)>, StoreError> {
        self.store().purchases(job)
    }

    fn hurry(&self) {
        self.store().hurry();
    }

    fn output_dir(&self, job: &JobId) -> PathBuf {
        self.store().output_dir(job)
    }
}
