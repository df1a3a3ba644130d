//! Runs that many machines work on, kept by a server: the trait behind the commands of a fleet.
//!
//! `ops` says which server is meant and shows what a [`Fleet`] answers. What every implementation promises:
//! - a run is handed over whole or not at all, and from then on no worker on files takes a job of it;
//! - what comes back is compared by hash before a row says that it is there;
//! - only the server's clock is compared, and nothing is forgotten that was not brought back;
//! - all of it can be repeated: cut short anywhere, the same command goes on from there.

use std::any::Any;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use serde::Serialize;

use crate::domain::id::{AlgoKey, JobId, RunId};
use crate::domain::text::shell_word;
use crate::domain::time::Clock;
use crate::store::bounds;
use crate::store::error::IoContext;
#[cfg(feature = "postgres")]
use crate::store::orders::{FleetResult, Orders};
use crate::store::upkeep::Waiting;
use crate::store::{Artifact, Backend, Blob, OpenRun, Opening, Runs, StoreError, WorkerIdentity};
use crate::workspace::fleet::{FleetMark, FleetState};
use crate::workspace::paths::Workspace;

#[cfg(feature = "postgres")]
pub use crate::store::postgres::fleet::{ConnectionCache, Desk, newest_schema, schema_text};
#[cfg(feature = "postgres")]
pub use crate::store::postgres::machine_certificates;

/// Finds a variable of the environment.
pub type Lookup = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// What a fleet has to know of this machine and its set-up.
#[derive(Clone)]
pub struct Site {
    /// The folder everything is in.
    pub workspace: Workspace,
    /// Where the time comes from.
    pub clock: Arc<dyn Clock>,
    /// Who runs this process.
    pub user: String,
    /// On which machine.
    pub host: String,
    /// Variables as they were at the start.
    pub variables: Lookup,
    /// Variables as they are now.
    pub variables_now: Lookup,
    /// The place that is named for artifacts, and who says so.
    pub artifacts: Option<(String, String)>,
}

/// Understands the address of a server that has runs, which `origin` names; `known` is what is kept of it.
#[cfg(feature = "postgres")]
pub fn fleet(
    site: Site,
    (text, origin): (&str, &str),
    known: &Arc<ConnectionCache>,
) -> Result<Arc<dyn Fleet>, StoreError> {
    use crate::store::postgres::PgFleet;
    let known = Arc::clone(known);
    Ok(Arc::new(PgFleet::new(site, (text, origin), known)?))
}

/// A server that has runs. See the module for what all promise.
pub trait Fleet: Backend {
    /// Puts pictures of the workspace into the bucket that is configured, so that workers find them that have no part in it.
    /// Nothing where none is configured.
    fn put_pictures(&self, names: &[String]) -> Result<Option<PutPictures>, StoreError>;

    /// Returns the address of the server, without any password.
    fn server(&self) -> String;

    /// Connects and checks the schema.
    fn check(&self) -> Result<(), StoreError>;

    /// Reaches what wakes workers beside the database; nothing where that is not named.
    fn reach_wake(&self) -> Result<Option<()>, StoreError>;

    /// Makes or upgrades the schema; with `check` only compares it.
    fn init(&self, check: bool) -> Result<Schema, StoreError>;

    /// Returns the runs, oldest first, counted.
    fn list(&self) -> Result<Vec<FleetRun>, StoreError>;

    /// Hands a run over, or what is new of one that was handed over before; `provider_of` knows the provider of an
    /// algorithm.
    fn push(
        &self,
        request: &PushRequest,
        identity: &dyn Fn() -> WorkerIdentity,
        provider_of: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Pushed, StoreError>;

    /// Brings back what a run's jobs became.
    fn pull(&self, run: &RunId, waiting: Waiting<'_>) -> Result<Pulled, StoreError>;

    /// Returns the workers that serve a run, or all of them.
    fn workers(&self, run: Option<&RunId>) -> Result<Vec<SeenWorker>, StoreError>;

    /// Returns the jobs, each with its worker and run, that these workers had when they fell silent, also where others have taken
    /// them since.
    fn lost_jobs(&self, workers: &[String]) -> Result<Vec<(String, RunId, JobId)>, StoreError>;

    /// Takes expired leases of every run back, and settles the money of what the dead had ended.
    fn sweep(&self) -> Result<SweepReport, StoreError>;

    /// Forgets what is older than so many days: error boundaries, workers that are gone, and runs of which everything was
    /// pulled.
    ///
    /// Then what nothing refers to goes from the buckets, if it has been there for longer than `grace`: a result that was not
    /// pulled is referred to by its run.
    fn prune(
        &self,
        days: u32,
        grace: Duration,
        artifacts: Option<&str>,
    ) -> Result<PruneReport, StoreError>;

    /// Refuses a run that was handed over to another server, or another run of this name.
    fn require(&self, run: &RunId) -> Result<(), StoreError>;

    /// Tells whether it has a run that this folder knows nothing of and that can be worked on from anywhere.
    fn has_remote(&self, run: &RunId) -> Result<bool, StoreError>;

    /// Returns its runs, once it is known to have the very run that was handed over.
    fn runs_of(&self, run: &RunId) -> Result<Arc<dyn Runs>, StoreError>;

    /// Returns which version of its algorithm made each result of a run.
    fn algo_versions(&self, run: &RunId) -> Result<HashMap<JobId, String>, StoreError>;

    /// Returns the files of a job's result that lie in a bucket; nothing where they lie in the workspace.
    fn files_in_bucket(
        &self,
        run: &RunId,
        job: &JobId,
    ) -> Result<Option<Vec<Artifact>>, StoreError>;

    /// Fetches a file of a result that was not pulled yet, if its bucket has it; nothing if that has lost it.
    fn fetch(
        &self,
        run: &RunId,
        job: &JobId,
        name: &str,
    ) -> Result<Option<std::fs::File>, StoreError>;

    /// Introduces a worker that serves many runs, and hears of news at `wake` too.
    fn hire(
        &self,
        identity: &WorkerIdentity,
        slots: usize,
        lease: Duration,
        wake: Option<&str>,
    ) -> Result<Box<dyn Hand>, StoreError>;

    /// Returns a place of its own for the files of a trial, below the one that is named; nothing if nobody names one.
    fn trial_place(&self, said: Option<&str>, name: &str) -> Result<Option<String>, StoreError>;

    /// Removes a run that was made to try the server, with the place of its files; and older ones that trials left which were
    /// killed: their names begin so, and they came from a workspace below a folder whose name begins so. Returns one that is
    /// left because money was moved for it.
    fn forget_trials(
        &self,
        trial: (&RunId, Option<&str>),
        prefixes: (&str, &str),
        older: TimeDelta,
    ) -> Result<Option<String>, StoreError>;

    /// Looks at what was asked for, over the connection of those who look.
    #[cfg(feature = "postgres")]
    fn look_at_orders(
        &self,
        look: &mut dyn FnMut(&mut dyn Orders) -> FleetResult<()>,
    ) -> Result<(), StoreError>;

    /// Returns the connection of those who order something: one at a time, so that a hundred who ask at once take one.
    #[cfg(feature = "postgres")]
    fn desk(&self) -> Desk<'_>;
}

#[cfg(feature = "postgres")]
impl dyn Fleet + '_ {
    /// Looks at what was asked for.
    pub fn look<T>(
        &self,
        mut look: impl FnMut(&mut dyn Orders) -> FleetResult<T>,
    ) -> Result<T, StoreError> {
        let mut seen = None;
        self.look_at_orders(&mut |orders| {
            seen = Some(look(orders)?);
            Ok(())
        })?;
        Ok(seen.expect("whoever looks without an error has seen something"))
    }
}

/// A worker process that serves many runs.
pub trait Hand: Send + Sync {
    /// Says what to tell people where the server's messages do not arrive.
    fn unheard(&self) -> Option<&'static str>;

    /// Shows that it lives, whether it has jobs or not.
    fn beat(&self) -> Result<(), StoreError>;

    /// Returns the runs, all or these, that have something for a worker of these algorithms, the most urgent first.
    fn runs_to_serve(
        &self,
        algos: &[AlgoKey],
        only: &[RunId],
    ) -> Result<Vec<RunToServe>, StoreError>;

    /// Opens a run over its connections.
    fn open(&self, opening: Opening) -> Result<OpenRun, StoreError>;

    /// Says goodbye.
    fn end(&self) -> Result<(), StoreError>;
}

/// Returns the mark of a run that was handed over.
pub fn pushed_mark(workspace: &Workspace, run_id: &RunId) -> Result<FleetMark, StoreError> {
    bounds::refuse_workers_folder(workspace, run_id)?;
    let paths = workspace.run(run_id);
    let mark = FleetMark::read(&paths).context("read", &paths.fleet())?;
    let run = shell_word(run_id.as_str());
    let refusal = |message: String, hint: String| StoreError::Refused {
        message,
        hint: Some(hint),
    };
    match mark {
        Some(mark) if mark.state == FleetState::Pushed => Ok(mark),
        Some(mark) if mark.state == FleetState::Forgotten => Err(bounds::forgotten(run_id, &mark)),
        Some(mark) => Err(refusal(
            format!("run {run_id} is on its way to the fleet at {}", mark.server),
            format!("`archi3d fleet push --run-id {run}` ends what was begun"),
        )),
        None if paths.root().is_dir() => Err(refusal(
            format!("run {run_id} lives in files: it was not pushed"),
            format!("`archi3d fleet push --run-id {run}` hands it over"),
        )),
        None => Err(refusal(
            format!("run {run_id} does not exist"),
            "`archi3d run list` shows the runs".to_owned(),
        )),
    }
}

/// The schema of a store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Schema {
    /// The server, without any password.
    pub server: String,
    /// The database.
    pub database: String,
    /// Its version.
    pub version: i32,
    /// The version that this program makes.
    pub newest: i32,
    /// The steps that were applied just now.
    pub applied: Vec<i32>,
}

/// A run that was handed over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Pushed {
    /// The run.
    pub run_id: RunId,
    /// The server, without any password.
    pub server: String,
    /// The database.
    pub database: String,
    /// Jobs that were handed over just now.
    pub added: usize,
    /// Jobs that were there already.
    pub known: usize,
    /// Whether the run was there already.
    pub again: bool,
    /// Who handed it over first.
    pub pushed_by: String,
    /// Where its pictures and results lie; nothing means in the workspace.
    pub artifacts: Option<String>,
    /// Pictures that were put there just now; all others were there.
    pub pictures_put: usize,
    /// How many bytes these were.
    pub bytes_put: u64,
    /// What was left out and why, one sentence each.
    pub warnings: Vec<String>,
}

/// What came back from a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Pulled {
    /// The run.
    pub run_id: RunId,
    /// Its jobs.
    pub jobs: usize,
    /// Those that wait.
    pub enqueued: usize,
    /// Those that run.
    pub running: usize,
    /// Those that have a result.
    pub completed: usize,
    /// Those that failed.
    pub failed: usize,
    /// Those that were taken out.
    pub cancelled: usize,
    /// Rows that say something new.
    pub rows_changed: usize,
    /// Rows that were gone and are there again.
    pub rows_restored: usize,
    /// Results whose folder got its name only now.
    pub published: usize,
    /// Results of which files are missing or differ; their rows were left as they are.
    pub missing: Vec<MissingResult>,
    /// Where results came from; nothing means that they lie in the workspace.
    pub artifacts: Option<String>,
    /// Whether nothing waits or runs any more.
    pub over: bool,
}

/// A result that is not where it should be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MissingResult {
    /// The job.
    pub job_id: String,
    /// What is wrong, with the file.
    pub what: String,
}

/// A run of a store, counted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FleetRun {
    /// Its id.
    pub run_id: String,
    /// Its jobs.
    pub jobs: usize,
    /// Those that wait.
    pub waiting: usize,
    /// Those that run.
    pub running: usize,
    /// Those that have a result.
    pub completed: usize,
    /// Those that were only rehearsed.
    pub rehearsed: usize,
    /// Those that failed.
    pub failed: usize,
    /// Those that were taken out.
    pub cancelled: usize,
    /// When it was handed over.
    pub pushed_at: DateTime<Utc>,
    /// By whom.
    pub pushed_by: Option<String>,
    /// From which folder.
    pub workspace: Option<String>,
    /// When all of it had come back.
    pub pulled_at: Option<DateTime<Utc>>,
}

/// What a sweep did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct SweepReport {
    /// Leases that had expired.
    pub expired: usize,
    /// Jobs that wait again.
    pub requeued: usize,
    /// Jobs that took too many workers with them and failed.
    pub failed: usize,
    /// Jobs that were to be stopped and are out now.
    pub cancelled: usize,
    /// Redos that ended: their older result stands.
    pub kept: usize,
}

/// What was forgotten.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct PruneReport {
    /// Error boundaries.
    pub checkpoints: usize,
    /// Workers that are long gone.
    pub workers: usize,
    /// Keys of requests that have expired.
    pub keys: usize,
    /// Jobs of runs that were pulled.
    pub jobs: usize,
    /// Such runs of which nothing is left.
    pub runs: usize,
    /// Files in buckets that nothing refers to.
    pub blobs: usize,
    /// How many bytes these were.
    pub bytes: u64,
}

/// What is to be handed over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PushRequest {
    /// The run.
    pub run_id: RunId,
    /// What goes first; higher before lower.
    pub priority: i16,
    /// How long a lease lasts, in seconds, where no worker says otherwise.
    pub lease_seconds: u32,
    /// Where pictures and results lie; `None` means as configured, else in the workspace.
    pub artifacts: Option<String>,
}

/// Pictures that lie in a bucket.
#[derive(Debug)]
pub struct PutPictures {
    /// The bucket.
    pub place: String,
    /// Their bytes, by the names that jobs have for them; what cannot be read has none.
    pub blobs: HashMap<String, Blob>,
    /// Nobody removes them as long as this is there: until jobs name them.
    pub hold: Option<Box<dyn Any + Send>>,
}

/// A run that has something to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunToServe {
    /// How the database numbers it.
    pub run_no: i64,
    /// Its id.
    pub run_id: String,
    /// Its parameters, as JSON.
    pub parameters: String,
    /// Whether its pictures and results lie in a bucket, so that any machine can work on it.
    pub in_bucket: bool,
    /// Its priority turned around: lower goes first.
    pub urgency: i64,
}

/// A worker as others see it.
#[derive(Debug, Clone, PartialEq)]
pub struct SeenWorker {
    /// Its name.
    pub worker_id: String,
    /// Its machine.
    pub host: String,
    /// Its process id.
    pub pid: u32,
    /// The program's version.
    pub version: String,
    /// The run it serves; nothing means every run.
    pub run_id: Option<String>,
    /// How many jobs it runs at once.
    pub slots: u32,
    /// What it said it was doing.
    pub state: String,
    /// When it came up.
    pub started: DateTime<Utc>,
    /// When it was heard of last.
    pub last_seen: DateTime<Utc>,
    /// How long ago that was, by the database's clock.
    pub silent: Duration,
    /// How long its leases last without a beat.
    pub lease: Duration,
    /// How many jobs it holds.
    pub holds: usize,
}

/// How a worker is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Health {
    /// It was heard of lately.
    Alive,
    /// It missed a beat: slow is not dead.
    Slow,
    /// Its leases have expired.
    Silent,
    /// It said goodbye.
    Ended,
}

impl SeenWorker {
    /// Judges it by its own rhythm; a beat comes every third of a lease.
    pub fn health(&self) -> Health {
        if self.state == "ended" {
            Health::Ended
        } else if self.silent > self.lease {
            Health::Silent
        } else if self.silent > self.lease / 2 {
            Health::Slow
        } else {
            Health::Alive
        }
    }
}
