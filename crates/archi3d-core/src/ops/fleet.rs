//! `fleet`: runs that many machines work on, kept in PostgreSQL.
//!
//! Here: which server, the schema, and what is there. [`push`] hands a run over, [`pull`] brings its results back, [`tend`]
//! is the housekeeping. Nothing here runs a job.

use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::Value;

use crate::config::Origin;
use crate::domain::id::{JobId, RunId};
use crate::domain::text::shell_word;
use crate::ops::view::fleet::{FleetRun, FleetRuns, Schema};
use crate::ops::{OpsContext, OpsError, identity};
use crate::store::error::IoContext;
use crate::store::postgres::ending::File;
use crate::store::postgres::import::{self, Run};
use crate::store::postgres::{Connection, PgError, PgRuns, StoreUrl, Wake, migrate, reuse, view};
use crate::workspace::fleet::{FleetMark, FleetState};

pub(super) mod bytes;
pub mod pull;
pub mod push;
pub mod tend;

/// The variables that name the store, the first that is set.
const VARIABLES: [&str; 2] = ["ARCHI3D_STORE", "DATABASE_URL"];

impl From<PgError> for OpsError {
    fn from(error: PgError) -> Self {
        let (message, hint) = (error.to_string(), error.hint());
        if error.is_setup() {
            Self::Setup {
                message,
                hint: Some(hint),
            }
        } else {
            Self::Server { message, hint }
        }
    }
}

/// Names where news of jobs are told beside the database.
const WAKE: &str = "ARCHI3D_WAKE";

/// What a context has of the server of fleets, once it was asked.
#[derive(Default)]
pub(super) struct Known {
    /// For those who look.
    runs: Mutex<Option<PgRuns>>,
    /// For those who order: one at a time, so that a hundred who ask at once take one connection.
    desk: Mutex<Option<Connection>>,
}

/// The connection of those who order something.
pub(super) struct Desk<'a> {
    held: MutexGuard<'a, Option<Connection>>,
    context: &'a OpsContext,
}

impl Desk<'_> {
    /// Asks the server, and once more if the connection was lost: what is asked must bear that.
    pub(super) fn ask<T>(
        &mut self,
        mut ask: impl FnMut(&mut Connection) -> Result<T, PgError>,
    ) -> Result<T, OpsError> {
        match self.once(&mut ask)? {
            Err(PgError::Lost { .. }) => Ok(self.once(&mut ask)??),
            answer => Ok(answer?),
        }
    }

    fn once<T>(
        &mut self,
        ask: &mut impl FnMut(&mut Connection) -> Result<T, PgError>,
    ) -> Result<Result<T, PgError>, OpsError> {
        let known = self.held.take().filter(|known| !known.is_closed());
        let mut connection = match known {
            Some(known) => known,
            None => connect(self.context, "serve")?,
        };
        let answer = ask(&mut connection);
        if !matches!(answer, Err(PgError::Lost { .. })) {
            *self.held = Some(connection);
        }
        Ok(answer)
    }
}

impl OpsContext {
    /// Tells whether a store of fleets is named.
    pub(super) fn has_fleet(&self) -> Result<bool, OpsError> {
        Ok(store_url(self)?.is_some())
    }

    /// Returns the connection of those who order something; nothing where no fleet is named.
    pub(super) fn desk(&self) -> Result<Option<Desk<'_>>, OpsError> {
        if !self.has_fleet()? {
            return Ok(None);
        }
        Ok(Some(Desk {
            held: self
                .fleet
                .desk
                .lock()
                .unwrap_or_else(PoisonError::into_inner),
            context: self,
        }))
    }

    /// Goes on with the connections of another context of the same workspace, if they lead to the same server.
    #[must_use]
    pub fn going_on(mut self, before: &Self) -> Self {
        let url = |context: &Self| named_store(context).map(|(text, _)| text);
        if url(&self) == url(before) {
            self.fleet = before.fleet.clone();
        }
        self
    }

    /// Returns where news of jobs are told beside the database: as said, or as `ARCHI3D_WAKE` says.
    pub(super) fn wake(&self, said: Option<&str>) -> Result<Option<Wake>, OpsError> {
        let known = self.variables().now(&[WAKE]);
        let url = said.or(known.get(WAKE).map(String::as_str));
        let wake = url.filter(|url| !url.is_empty()).map(Wake::parse);
        wake.transpose().map_err(|message| OpsError::Setup {
            message,
            hint: Some("it comes from --wake or ARCHI3D_WAKE".into()),
        })
    }
}

/// Returns where runs of a fleet live, and who says so: `--store`, `ARCHI3D_STORE`, `DATABASE_URL` (both also in `.env`),
/// `store:` in `global.yaml`. Nothing if nobody does.
pub fn store_url(context: &OpsContext) -> Result<Option<(StoreUrl, Origin)>, OpsError> {
    let Some((text, origin)) = named_store(context) else {
        return Ok(None);
    };
    let variables = |name: &str| context.settings.env_value(&super::real_env, name);
    let user = identity::user_and_host().0;
    match StoreUrl::parse(&text, &variables, &user) {
        Ok(url) => Ok(Some((url, origin))),
        Err(error) => Err(OpsError::Setup {
            message: format!("{error} (from {origin})"),
            hint: Some(error.hint()),
        }),
    }
}

fn named_store(context: &OpsContext) -> Option<(String, Origin)> {
    let filled = |text: &String| !text.trim().is_empty();
    if let Some(text) = context.store.clone().filter(filled) {
        return Some((text, Origin::CommandLine("--store")));
    }
    let settings = &context.settings;
    let entries = settings.entries();
    let origin = |name: &str| {
        let entry = entries.iter().find(|entry| entry.name == name);
        entry.map(|entry| entry.origin.clone())
    };
    for name in VARIABLES {
        let value = settings.env_value(&super::real_env, name).filter(filled);
        if let Some(text) = value {
            let origin = origin(&format!("env.{name}"));
            return Some((
                text,
                origin.unwrap_or_else(|| Origin::Environment(name.to_owned())),
            ));
        }
    }
    let text = settings.global.store.clone().filter(filled)?;
    Some((text, origin("store").unwrap_or(Origin::Shipped)))
}

/// Returns where runs of a fleet live; that nobody says so is an error.
pub(super) fn required_url(context: &OpsContext) -> Result<StoreUrl, OpsError> {
    let found = store_url(context)?.ok_or_else(|| OpsError::Setup {
        message: "no store is named".into(),
        hint: Some(
            "name a PostgreSQL database: --store postgresql://USER@HOST/DATABASE, DATABASE_URL, or `store:` in \
             config/global.yaml"
                .into(),
        ),
    })?;
    Ok(found.0)
}

/// Returns where a run that was handed over lives, once the database is known to have that very run.
pub(super) fn url_of_pushed(context: &OpsContext, run_id: &RunId) -> Result<StoreUrl, OpsError> {
    let mark = pushed_mark(context, run_id)?;
    let mut connection = connect(context, "worker")?;
    if pushed_run(&mut connection, run_id, &mark)?.is_none() {
        return Err(OpsError::Setup {
            message: format!(
                "run {run_id} was pushed to {}, and database {} does not have it",
                mark.server,
                connection.url().database
            ),
            hint: Some("name the fleet's own store: --store URL".into()),
        });
    }
    Ok(connection.url().clone())
}

/// Returns where a run lives that this folder knows nothing of, if it can be worked on from anywhere. Nothing if no store is
/// named, or has no such run.
pub(super) fn url_of_remote(
    context: &OpsContext,
    run_id: &RunId,
) -> Result<Option<StoreUrl>, OpsError> {
    if named_store(context).is_none() {
        return Ok(None);
    }
    let mut connection = connect(context, "worker")?;
    let Some(run) = import::run(&mut connection, run_id.as_str())? else {
        return Ok(None);
    };
    if run.artifacts_url.is_some() {
        return Ok(Some(connection.url().clone()));
    }
    let known = parameters(&run);
    let workspace = known["workspace"].as_str().unwrap_or("another workspace");
    Err(OpsError::Setup {
        message: format!("run {run_id} has its files in {workspace}, and this is another folder"),
        hint: Some(
            "work there, or on a drive that all share; a run that is pushed with --artifacts can be worked on from anywhere"
                .into(),
        ),
    })
}

/// Returns the files of a job's result, and the bucket they lie in; nothing where they lie in the workspace.
pub(super) fn files_in_bucket(
    context: &OpsContext,
    run_id: &RunId,
    job: &JobId,
) -> Option<(String, Vec<File>)> {
    context
        .workspace
        .run(run_id)
        .fleet()
        .exists()
        .then_some(())?;
    let runs = runs_of(context, run_id).ok()?;
    let found = runs.ask(|c| {
        let Some(url) = import::run(c, run_id.as_str())?.and_then(|run| run.artifacts_url) else {
            return Ok(None);
        };
        let jobs = view::jobs_named(c, run_id.as_str(), job.as_str(), 2)?;
        let Some(named) = jobs.iter().find(|one| one.job_id == job.as_str()) else {
            return Ok(None);
        };
        let attempts = view::attempts(c, &[named.job_no])?;
        let brought = attempts.iter().filter(|one| one.status == "succeeded");
        match brought.max_by_key(|one| one.hold.number) {
            Some(last) => Ok(Some((url, reuse::files(c, &last.hold)?))),
            None => Ok(None),
        }
    });
    found.ok().flatten()
}

/// Returns the runs of the server that a run was handed over to, once it is known to have that very run. The connection
/// is kept for the next question.
pub(super) fn runs_of(context: &OpsContext, run_id: &RunId) -> Result<PgRuns, OpsError> {
    let mark = pushed_mark(context, run_id)?;
    let runs = all_runs(context)?;
    let found = runs.ask(|c| import::run(c, run_id.as_str()))?;
    let url = runs.ask(|c| Ok(c.url().clone()))?;
    match found {
        Some(run) => same_push(&url, run, run_id, &mark).map(|_| runs),
        None => Err(unknown_run(&url, run_id, &mark)),
    }
}

/// Returns the runs of the server. The connection is kept for the next question.
pub(super) fn all_runs(context: &OpsContext) -> Result<PgRuns, OpsError> {
    let mut known = context
        .fleet
        .runs
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    if let Some(runs) = &*known {
        return Ok(runs.clone());
    }
    let connection = connect(context, "look")?;
    let runs = PgRuns::new(connection, context.workspace.clone(), context.clock.clone());
    *known = Some(runs.clone());
    Ok(runs)
}

/// Connects to the store for what `what` says, and checks its schema.
pub(super) fn connect(context: &OpsContext, what: &str) -> Result<Connection, OpsError> {
    let mut connection = Connection::open(&required_url(context)?, &format!("archi3d/{what}"))?;
    migrate::check(&mut connection)?.refuse(&connection.url().database.clone())?;
    Ok(connection)
}

/// Returns the text that makes the schema.
pub fn schema_text() -> String {
    migrate::print()
}

/// Returns the version of the schema that this program makes.
pub fn newest_schema() -> i32 {
    migrate::newest()
}

/// Makes or upgrades the schema; with `check` only compares it.
pub fn init(context: &OpsContext, check: bool) -> Result<Schema, OpsError> {
    let mut connection = Connection::open(&required_url(context)?, "archi3d/init")?;
    let mut applied = Vec::new();
    if !check {
        let (user, host) = identity::user_and_host();
        applied = migrate::apply(&mut connection, &format!("{user}@{host}"))?;
    }
    let state = migrate::check(&mut connection)?;
    state.refuse(&connection.url().database.clone())?;
    Ok(Schema {
        server: connection.url().to_string(),
        database: connection.url().database.clone(),
        version: state.have.unwrap_or_default(),
        newest: state.want,
        applied,
    })
}

/// Returns the runs of the store, oldest first, counted.
pub fn runs(context: &OpsContext) -> Result<FleetRuns, OpsError> {
    let mut connection = connect(context, "runs")?;
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
    Ok(FleetRuns {
        server: connection.url().to_string(),
        runs,
    })
}

fn parameters(run: &Run) -> Value {
    serde_json::from_str(&run.parameters).unwrap_or_default()
}

/// Returns the run of a mark as the database has it, and refuses one of the same name that came from elsewhere.
fn pushed_run(
    connection: &mut Connection,
    run_id: &RunId,
    mark: &FleetMark,
) -> Result<Option<Run>, OpsError> {
    let run = import::run(connection, run_id.as_str())?;
    run.map(|run| same_push(connection.url(), run, run_id, mark))
        .transpose()
}

fn same_push(url: &StoreUrl, run: Run, run_id: &RunId, mark: &FleetMark) -> Result<Run, OpsError> {
    let known = parameters(&run);
    if known["push"] == mark.push.as_str() {
        return Ok(run);
    }
    let text = |key: &str| known[key].as_str().unwrap_or("unknown").to_owned();
    Err(OpsError::Setup {
        message: format!(
            "database {} has another run {run_id}: pushed by {} from {}",
            url.database,
            text("by"),
            text("workspace")
        ),
        hint: Some("give the run another name, or use another database: --store URL".into()),
    })
}

/// Returns the mark of a run that was handed over.
fn pushed_mark(context: &OpsContext, run_id: &RunId) -> Result<FleetMark, OpsError> {
    let paths = context.workspace.run(run_id);
    let mark = FleetMark::read(&paths).context("read", &paths.fleet())?;
    let run = shell_word(run_id.as_str());
    let refusal = |message: String, hint: String| OpsError::Setup {
        message,
        hint: Some(hint),
    };
    match mark {
        Some(mark) if mark.state == FleetState::Pushed => Ok(mark),
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

/// The refusal of a run that the database does not know.
fn unknown_run(url: &StoreUrl, run_id: &RunId, mark: &FleetMark) -> OpsError {
    OpsError::Setup {
        message: format!(
            "{url} does not know run {run_id}, which was pushed to {}",
            mark.server
        ),
        hint: Some(
            "name that server with --store; where a backup was restored, restore one that has the run; \
             a run that was pruned was pulled before"
                .into(),
        ),
    }
}
