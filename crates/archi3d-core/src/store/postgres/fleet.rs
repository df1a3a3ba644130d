//! A fleet's server as a workspace sees it: what people ask of it beside working on its jobs.
//!
//! Here: the connections, and whether a run is the very one that was handed over. `push` hands a run over, `pull`
//! brings its results back, `tend` is the housekeeping, `open` lets a worker in.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use chrono::TimeDelta;
use serde_json::Value;

use super::import::{self, Run};
use super::record::artifacts;
use super::{
    Connection, Hand, PgError, PgRuns, StoreUrl, UNHEARD, Wake, keep, leaving, migrate, reuse, view,
};
use crate::domain::id::{AlgoKey, JobId, RunId};
use crate::store::bounds;
use crate::store::fleet::{
    self, Fleet, FleetRun, PruneReport, Pulled, PushRequest, Pushed, PutPictures, RunToServe,
    Schema, SeenWorker, Site, SweepReport, pushed_mark,
};
use crate::store::orders::{FleetResult, Orders};
use crate::store::upkeep::Waiting;
use crate::store::{Artifact, Backend, OpenRun, Opening, Outbox, Runs, StoreError, WorkerIdentity};
use crate::workspace::fleet::FleetMark;

mod bytes;
mod open;
mod pull;
mod push;
mod tend;

/// Names where news of jobs are told beside the database.
const WAKE: &str = "ARCHI3D_WAKE";

/// What is kept of a server from one question to the next.
#[derive(Default)]
pub struct ConnectionCache {
    /// For those who look.
    runs: Mutex<Option<PgRuns>>,
    /// For those who order: one at a time, so that a hundred who ask at once take one connection.
    desk: Mutex<Option<Connection>>,
    /// For those who read results.
    #[cfg(feature = "objects")]
    buckets: bytes::OpenBuckets,
}

/// The connection of those who order something.
pub struct Desk<'a> {
    held: MutexGuard<'a, Option<Connection>>,
    fleet: &'a PgFleet,
}

impl Desk<'_> {
    /// Asks the server, and once more if the connection was lost: what is asked must bear that.
    pub fn ask<T>(
        &mut self,
        mut ask: impl FnMut(&mut Connection) -> Result<T, PgError>,
    ) -> Result<T, StoreError> {
        match self.once(&mut ask)? {
            Err(PgError::Lost { .. }) => Ok(self.once(&mut ask)??),
            answer => Ok(answer?),
        }
    }

    fn once<T>(
        &mut self,
        ask: &mut impl FnMut(&mut Connection) -> Result<T, PgError>,
    ) -> Result<Result<T, PgError>, StoreError> {
        let known = self.held.take().filter(|known| !known.is_closed());
        let mut connection = match known {
            Some(known) => known,
            None => self.fleet.connect("serve")?,
        };
        let answer = ask(&mut connection);
        if !matches!(answer, Err(PgError::Lost { .. })) {
            *self.held = Some(connection);
        }
        Ok(answer)
    }

    /// Carries steps out, in one transaction if `whole`.
    pub fn order<T>(
        &mut self,
        whole: bool,
        mut steps: impl FnMut(&mut dyn Orders) -> FleetResult<T>,
    ) -> Result<T, StoreError> {
        self.ask(|c| {
            if whole {
                c.transaction(|c| steps(c))
            } else {
                steps(c)
            }
        })
    }

    /// Tells workers that a run has news, where that is told beside the database. They look by themselves, too.
    pub fn wake(&self, run_no: i64) -> Result<(), StoreError> {
        if let Some(wake) = self.fleet.wake(None)? {
            let _ = wake.tell(run_no);
        }
        Ok(())
    }
}

/// A fleet's server as a workspace sees it.
pub struct PgFleet {
    site: Site,
    url: StoreUrl,
    known: Arc<ConnectionCache>,
}

impl std::ops::Deref for PgFleet {
    type Target = Site;

    fn deref(&self) -> &Site {
        &self.site
    }
}

impl PgFleet {
    /// Understands the address of a server, which `origin` names; `known` is what is kept of it.
    pub fn new(
        site: Site,
        (text, origin): (&str, &str),
        known: Arc<ConnectionCache>,
    ) -> Result<Self, StoreError> {
        let url = StoreUrl::parse(text, &*site.variables, &site.user);
        let url = url.map_err(|error| StoreError::Refused {
            message: format!("{error} (from {origin})"),
            hint: Some(error.hint()),
        })?;
        Ok(Self { site, url, known })
    }

    /// Returns who runs this process, and where.
    fn by(&self) -> String {
        format!("{}@{}", self.user, self.host)
    }

    /// Returns where news of jobs are told beside the database: as said, or as `ARCHI3D_WAKE` says.
    fn wake(&self, said: Option<&str>) -> Result<Option<Wake>, StoreError> {
        let known = (self.variables_now)(WAKE);
        let url = said.or(known.as_deref());
        let wake = url.filter(|url| !url.is_empty()).map(Wake::parse);
        wake.transpose().map_err(|message| StoreError::Refused {
            message,
            hint: Some("it comes from --wake or ARCHI3D_WAKE".into()),
        })
    }

    /// Connects for what `what` says, and checks the schema.
    fn connect(&self, what: &str) -> Result<Connection, StoreError> {
        let mut connection = Connection::open(&self.url, &format!("archi3d/{what}"))?;
        migrate::check(&mut connection)?.refuse(&self.url.database)?;
        Ok(connection)
    }

    /// Returns the runs of the server. The connection is kept for the next question.
    fn all_runs(&self) -> Result<PgRuns, StoreError> {
        let known = self.known.runs.lock();
        let mut known = known.unwrap_or_else(PoisonError::into_inner);
        if let Some(runs) = &*known {
            return Ok(runs.clone());
        }
        let connection = self.connect("look")?;
        let runs = PgRuns::new(connection, self.workspace.clone(), self.clock.clone());
        *known = Some(runs.clone());
        Ok(runs)
    }

    /// Returns the runs of the server, once it is known to have the very run that was handed over.
    fn runs_with(&self, run_id: &RunId) -> Result<PgRuns, StoreError> {
        let mark = pushed_mark(&self.workspace, run_id)?;
        let runs = self.all_runs()?;
        match runs.ask(|c| import::run(c, run_id.as_str()))? {
            Some(run) => same_push(&self.url, run, run_id, &mark).map(|_| runs),
            None => Err(unknown_run(self, run_id, &mark)),
        }
    }

    /// Returns the files of a job's result, and the bucket they lie in.
    fn in_bucket(
        &self,
        run_id: &RunId,
        job: &JobId,
    ) -> Result<Option<(String, Vec<Artifact>)>, StoreError> {
        if !self.workspace.run(run_id).in_fleet() {
            return Ok(None);
        }
        self.runs_with(run_id)?.ask(|c| {
            let Some(url) = import::run(c, run_id.as_str())?.and_then(|run| run.artifacts_url)
            else {
                return Ok(None);
            };
            let jobs = view::jobs_named(c, run_id.as_str(), job.as_str(), 2)?;
            let Some(named) = jobs.iter().find(|one| one.job_id == job.as_str()) else {
                return Ok(None);
            };
            let attempts = view::attempts(c, &[named.job_no])?;
            let brought = attempts.iter().filter(|one| one.status == "succeeded");
            match brought.max_by_key(|one| one.hold.number) {
                Some(last) => Ok(Some((url, artifacts(&reuse::files(c, &last.hold)?)))),
                None => Ok(None),
            }
        })
    }
}

/// Returns the text that makes the schema.
pub fn schema_text() -> String {
    migrate::print()
}

/// Returns the version of the schema that this program makes.
pub fn newest_schema() -> i32 {
    migrate::newest()
}

impl Backend for PgFleet {
    fn runs(&self) -> Result<Arc<dyn Runs>, StoreError> {
        Ok(Arc::new(self.all_runs()?))
    }

    fn outbox(&self) -> Box<dyn Outbox + '_> {
        Box::new(self.desk())
    }

    fn open(&self, opening: Opening) -> Result<OpenRun, StoreError> {
        open::open(self, opening, None)
    }
}

impl Fleet for PgFleet {
    fn put_pictures(&self, names: &[String]) -> Result<Option<PutPictures>, StoreError> {
        if self.site.artifacts.is_none() {
            return Ok(None);
        }
        let pictures = bytes::put_named(self, names)?;
        let (hold, blobs) = (pictures.hold, pictures.blobs);
        Ok(pictures
            .place
            .map(|place| PutPictures { place, blobs, hold }))
    }

    fn server(&self) -> String {
        self.url.to_string()
    }

    fn check(&self) -> Result<(), StoreError> {
        self.connect("serve").map(drop)
    }

    fn reach_wake(&self) -> Result<Option<()>, StoreError> {
        let Some(wake) = self.wake(None)? else {
            return Ok(None);
        };
        let reached = wake.reach().map_err(|error| StoreError::Away {
            what: format!("Redis cannot be reached: {error}"),
            hint: "workers poll the database meanwhile".into(),
        });
        reached.map(Some)
    }

    fn init(&self, check: bool) -> Result<Schema, StoreError> {
        let mut connection = Connection::open(&self.url, "archi3d/init")?;
        let mut applied = Vec::new();
        if !check {
            applied = migrate::apply(&mut connection, &self.by())?;
        }
        let state = migrate::check(&mut connection)?;
        state.refuse(&self.url.database)?;
        Ok(Schema {
            server: self.server(),
            database: self.url.database.clone(),
            version: state.have.unwrap_or_default(),
            newest: state.want,
            applied,
        })
    }

    fn list(&self) -> Result<Vec<FleetRun>, StoreError> {
        let mut connection = self.connect("runs")?;
        let mut runs = Vec::new();
        for run in import::runs(&mut connection)? {
            let counts = view::counts(&mut connection, run.run_no)?;
            let sum = |part: fn(&view::AlgoCounts) -> usize| counts.iter().map(part).sum();
            let parameters = parameters(&run);
            let text = |key: &str| parameters[key].as_str().map(str::to_owned);
            runs.push(FleetRun {
                run_id: run.run_id,
                jobs: run.jobs,
                waiting: sum(|algo| algo.pending + algo.retryable),
                running: sum(|algo| algo.running),
                completed: sum(|algo| algo.succeeded - algo.rehearsed),
                rehearsed: sum(|algo| algo.rehearsed),
                failed: sum(|algo| algo.failed),
                cancelled: sum(|algo| algo.cancelled),
                pushed_at: run.created,
                pushed_by: text("by"),
                workspace: text("workspace"),
                pulled_at: run.closed,
            });
        }
        Ok(runs)
    }

    fn push(
        &self,
        request: &PushRequest,
        identity: &dyn Fn() -> WorkerIdentity,
        provider_of: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Pushed, StoreError> {
        push::push(self, request, identity, provider_of)
    }

    fn pull(&self, run: &RunId, waiting: Waiting<'_>) -> Result<Pulled, StoreError> {
        pull::pull(self, run, waiting)
    }

    fn workers(&self, run: Option<&RunId>) -> Result<Vec<SeenWorker>, StoreError> {
        tend::workers(self, run)
    }

    fn lost_jobs(&self, workers: &[String]) -> Result<Vec<(String, RunId, JobId)>, StoreError> {
        tend::lost_jobs(self, workers)
    }

    fn sweep(&self) -> Result<SweepReport, StoreError> {
        tend::sweep(self)
    }

    fn prune(
        &self,
        days: u32,
        grace: Duration,
        artifacts: Option<&str>,
    ) -> Result<PruneReport, StoreError> {
        tend::prune(self, days, grace, artifacts)
    }

    fn require(&self, run_id: &RunId) -> Result<(), StoreError> {
        let mark = pushed_mark(&self.workspace, run_id)?;
        let mut connection = self.connect("worker")?;
        if pushed_run(&mut connection, run_id, &mark)?.is_some() {
            return Ok(());
        }
        Err(unknown_run(self, run_id, &mark))
    }

    fn has_remote(&self, run_id: &RunId) -> Result<bool, StoreError> {
        let mut connection = self.connect("worker")?;
        let Some(run) = import::run(&mut connection, run_id.as_str())? else {
            return Ok(false);
        };
        if run.artifacts_url.is_some() {
            return Ok(true);
        }
        let known = parameters(&run);
        let workspace = known["workspace"].as_str().unwrap_or("another workspace");
        Err(StoreError::Refused {
            message: format!(
                "run {run_id} has its files in {workspace}, and this is another folder"
            ),
            hint: Some(
                "work there, or on a drive that all share; a run that is pushed with --artifacts can be worked on from anywhere"
                    .into(),
            ),
        })
    }

    fn runs_of(&self, run: &RunId) -> Result<Arc<dyn Runs>, StoreError> {
        Ok(Arc::new(self.runs_with(run)?))
    }

    fn algo_versions(&self, run: &RunId) -> Result<HashMap<JobId, String>, StoreError> {
        self.runs_with(run)?.algo_versions(run)
    }

    fn files_in_bucket(
        &self,
        run: &RunId,
        job: &JobId,
    ) -> Result<Option<Vec<Artifact>>, StoreError> {
        Ok(self.in_bucket(run, job)?.map(|(_, files)| files))
    }

    fn fetch(
        &self,
        run: &RunId,
        job: &JobId,
        name: &str,
    ) -> Result<Option<std::fs::File>, StoreError> {
        let found = self.in_bucket(run, job)?;
        let named = found.as_ref().and_then(|(url, files)| {
            let file = files.iter().find(|file| file.name == name)?;
            Some((url, file))
        });
        match named {
            Some((url, file)) => bytes::read(self, (run, job), url, file),
            None => Ok(None),
        }
    }

    fn hire(
        &self,
        identity: &WorkerIdentity,
        slots: usize,
        lease: Duration,
        wake: Option<&str>,
    ) -> Result<Box<dyn fleet::Hand>, StoreError> {
        self.wake(wake)?;
        let names = open::names_of_workers(self);
        let hand = Hand::open(&self.url, identity, slots, lease, &names)?;
        let fleet = Self {
            site: self.site.clone(),
            url: self.url.clone(),
            known: Arc::clone(&self.known),
        };
        let runs = self.workspace.run_ids().unwrap_or_default().into_iter();
        let waiting = runs.filter(|run| leaving::waits_in(&self.workspace.run(run)));
        Ok(Box::new(Serving {
            waiting: Mutex::new(waiting.collect()),
            fleet,
            hand,
        }))
    }

    fn trial_place(&self, said: Option<&str>, name: &str) -> Result<Option<String>, StoreError> {
        bytes::trial_place(self, said, name)
    }

    fn forget_trials(
        &self,
        (run_id, place): (&RunId, Option<&str>),
        (run_prefix, folder_prefix): (&str, &str),
        older: TimeDelta,
    ) -> Result<Option<String>, StoreError> {
        if let Some(place) = place {
            bytes::forget_trial(self, place)?;
        }
        let mut connection = self.connect("self-check")?;
        let now = keep::now(&mut connection)?;
        for run in import::runs(&mut connection)? {
            let ours = run.run_id == run_id.as_str();
            let left = now - run.created > older
                && run.run_id.starts_with(run_prefix)
                && was_made_below(&run, folder_prefix);
            if !ours && !left {
                continue;
            }
            let place = run.artifacts_url.as_deref().filter(|_| left);
            if let Some(place) = place.filter(|place| is_last_part(place, &run.run_id))
                && bytes::forget_trial(self, place).is_err()
            {
                // Whoever may remove its files does it.
                continue;
            }
            if !keep::forget_trial(&mut connection, run.run_no)? {
                return Ok(Some(run.run_id));
            }
        }
        Ok(None)
    }

    fn look_at_orders(
        &self,
        look: &mut dyn FnMut(&mut dyn Orders) -> FleetResult<()>,
    ) -> Result<(), StoreError> {
        self.all_runs()?.ask(|c| look(c))
    }

    fn desk(&self) -> Desk<'_> {
        let held = self.known.desk.lock();
        Desk {
            held: held.unwrap_or_else(PoisonError::into_inner),
            fleet: self,
        }
    }
}

/// A worker that serves many runs of a fleet.
struct Serving {
    fleet: PgFleet,
    hand: Hand,
    /// Runs of which earlier workers left results in this workspace: they are put before anything else.
    waiting: Mutex<Vec<RunId>>,
}

impl fleet::Hand for Serving {
    fn unheard(&self) -> Option<&'static str> {
        (!self.hand.lines().is_heard()).then_some(UNHEARD)
    }

    fn beat(&self) -> Result<(), StoreError> {
        Ok(self.hand.beat()?)
    }

    fn runs_to_serve(
        &self,
        algos: &[AlgoKey],
        only: &[RunId],
    ) -> Result<Vec<RunToServe>, StoreError> {
        let algos: Vec<&str> = algos.iter().map(AlgoKey::as_str).collect();
        let only: Vec<&str> = only.iter().map(RunId::as_str).collect();
        let only = (!only.is_empty()).then_some(only.as_slice());
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.retain(|run| leaving::waits_in(&self.fleet.workspace.run(run)));
        let waiting: Vec<&str> = waiting.iter().map(RunId::as_str).collect();
        let ask = self
            .hand
            .ask(|c| super::membership::runs_to_serve(c, &algos, only, &waiting));
        Ok(ask?)
    }

    fn open(&self, opening: Opening) -> Result<OpenRun, StoreError> {
        let lines = self.hand.lines().clone();
        open::open(&self.fleet, opening, Some(lines))
    }

    fn end(&self) -> Result<(), StoreError> {
        Ok(self.hand.end()?)
    }
}

/// Tells whether a run was handed over from a folder below one whose name begins so.
fn was_made_below(run: &Run, prefix: &str) -> bool {
    let known = parameters(run);
    let parts = known["workspace"].as_str().unwrap_or_default().split('/');
    parts.into_iter().any(|part| part.starts_with(prefix))
}

/// Tells whether a place is one of its own for something of this name.
fn is_last_part(place: &str, name: &str) -> bool {
    place.rsplit_once('/').is_some_and(|(_, last)| last == name)
}

fn parameters(run: &Run) -> Value {
    serde_json::from_str(&run.parameters).unwrap_or_default()
}

/// Returns the run of a mark as the database has it, and refuses one of the same name that came from elsewhere.
fn pushed_run(
    connection: &mut Connection,
    run_id: &RunId,
    mark: &FleetMark,
) -> Result<Option<Run>, StoreError> {
    let run = import::run(connection, run_id.as_str())?;
    run.map(|run| same_push(connection.url(), run, run_id, mark))
        .transpose()
}

fn same_push(
    url: &StoreUrl,
    run: Run,
    run_id: &RunId,
    mark: &FleetMark,
) -> Result<Run, StoreError> {
    let known = parameters(&run);
    if known["push"] == mark.push.as_str() {
        return Ok(run);
    }
    let text = |key: &str| known[key].as_str().unwrap_or("unknown").to_owned();
    Err(StoreError::Refused {
        message: format!(
            "database {} has another run {run_id}: pushed by {} from {}",
            url.database,
            text("by"),
            text("workspace")
        ),
        hint: Some("give the run another name, or use another database: --store URL".into()),
    })
}

/// The refusal of a run that the database does not know. One that all came back from this database was forgotten by it: that
/// is noted.
fn unknown_run(fleet: &PgFleet, run_id: &RunId, mark: &FleetMark) -> StoreError {
    let url = &fleet.url;
    if mark.pulled && mark.server == url.to_string() {
        let noted = mark.clone().note_forgotten(&fleet.workspace.run(run_id));
        if noted.is_ok() {
            return bounds::forgotten(run_id, mark);
        }
    }
    StoreError::Refused {
        message: format!(
            "{url} does not know run {run_id}, which was pushed to {}",
            mark.server
        ),
        hint: Some(
            "name that server with --store; where a backup was restored, restore one that has the run".into(),
        ),
    }
}
