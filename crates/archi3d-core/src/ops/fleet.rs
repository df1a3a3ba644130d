//! `fleet`: runs that many machines work on, kept by a server. Here: which server is meant, and what it answers.
//! Nothing here runs a job.

use std::sync::Arc;
use std::time::Duration;

use crate::config::Origin;
use crate::domain::id::RunId;
use crate::ops::view::fleet::{FleetRuns, WorkerLine, Workers};
use crate::ops::{OpsContext, OpsError, adapters, identity, real_env};
use crate::store::fleet::{Health, Lookup, PruneReport, Pulled, Pushed, Schema, Site, SweepReport};
use crate::store::orders::FleetError;
use crate::store::upkeep::Waiting;
use crate::store::{Fleet, StoreError};

pub use crate::store::fleet::{PushRequest, newest_schema, schema_text};

/// The variables that name the store, the first that is set.
const VARIABLES: [&str; 2] = ["ARCHI3D_STORE", "DATABASE_URL"];

/// Names the place of artifacts where nobody else does.
const ARTIFACTS: &str = "ARCHI3D_ARTIFACTS";

impl From<FleetError> for OpsError {
    fn from(error: FleetError) -> Self {
        StoreError::from(error).into()
    }
}

impl OpsContext {
    /// Returns the server of fleets, if one is named.
    pub(super) fn fleet(&self) -> Result<Option<Arc<dyn Fleet>>, OpsError> {
        let Some((text, origin)) = named_store(self) else {
            return Ok(None);
        };
        let named = (text.as_str(), &*origin.to_string());
        let fleet = crate::store::fleet::fleet(self.site(), named, &self.known)?;
        Ok(Some(fleet))
    }

    /// Returns the server of fleets; that nobody names one is an error.
    pub(super) fn required_fleet(&self) -> Result<Arc<dyn Fleet>, OpsError> {
        self.fleet()?.ok_or_else(|| OpsError::Setup {
            message: "no store is named".into(),
            hint: Some(
                "name a PostgreSQL database: --store postgresql://USER@HOST/DATABASE, DATABASE_URL, or `store:` in \
                 config/global.yaml"
                    .into(),
            ),
        })
    }

    /// Returns what a fleet has to know of this machine and its set-up.
    fn site(&self) -> Site {
        let (user, host) = identity::user_and_host();
        let (then, now) = (Arc::clone(&self.settings), Arc::clone(&self.settings));
        let variables: Lookup = Arc::new(move |name| then.env_value(&real_env, name));
        let filled = |text: &String| !text.trim().is_empty();
        let artifacts = match variables(ARTIFACTS).filter(filled) {
            Some(text) => Some((text, Origin::Environment(ARTIFACTS.to_owned()))),
            None => configured(self, "artifacts", self.settings.global.artifacts.clone()),
        };
        Site {
            workspace: self.workspace.clone(),
            clock: self.clock.clone(),
            user,
            host,
            variables,
            variables_now: Arc::new(move |name| now.variables_now(&real_env, &[name]).remove(name)),
            artifacts: artifacts.map(|(text, origin)| (text, origin.to_string())),
        }
    }

    /// Goes on with the connections of another context of the same workspace, if they lead to the same server.
    #[must_use]
    pub fn going_on(mut self, before: &Self) -> Self {
        let url = |context: &Self| named_store(context).map(|(text, _)| text);
        if url(&self) == url(before) {
            self.known = before.known.clone();
        }
        self
    }
}

/// Returns where runs of a fleet live, and who says so: `--store`, `ARCHI3D_STORE`, `DATABASE_URL` (both also in `.env`),
/// `store:` in `global.yaml`. Nothing if nobody does.
pub fn store_url(context: &OpsContext) -> Result<Option<(String, Origin)>, OpsError> {
    let fleet = context.fleet()?;
    let origin = named_store(context).map(|(_, origin)| origin);
    Ok(fleet.map(|fleet| fleet.server()).zip(origin))
}

fn named_store(context: &OpsContext) -> Option<(String, Origin)> {
    let filled = |text: &String| !text.trim().is_empty();
    if let Some(text) = context.store.clone().filter(filled) {
        return Some((text, Origin::CommandLine("--store")));
    }
    let settings = &context.settings;
    for name in VARIABLES {
        let value = settings.env_value(&real_env, name).filter(filled);
        if let Some(text) = value {
            let origin = origin_of(context, &format!("env.{name}"));
            return Some((
                text,
                origin.unwrap_or_else(|| Origin::Environment(name.to_owned())),
            ));
        }
    }
    configured(context, "store", settings.global.store.clone())
}

/// Returns what `global.yaml` says, and which one.
fn configured(context: &OpsContext, name: &str, value: Option<String>) -> Option<(String, Origin)> {
    let text = value.filter(|text| !text.trim().is_empty())?;
    Some((text, origin_of(context, name).unwrap_or(Origin::Shipped)))
}

fn origin_of(context: &OpsContext, name: &str) -> Option<Origin> {
    let entries = context.settings.entries();
    let entry = entries.into_iter().find(|entry| entry.name == name);
    entry.map(|entry| entry.origin)
}

/// Makes or upgrades the schema; with `check` only compares it.
pub fn init(context: &OpsContext, check: bool) -> Result<Schema, OpsError> {
    Ok(context.required_fleet()?.init(check)?)
}

/// Returns the runs of the store, oldest first, counted.
pub fn runs(context: &OpsContext) -> Result<FleetRuns, OpsError> {
    let fleet = context.required_fleet()?;
    Ok(FleetRuns {
        runs: fleet.list()?,
        server: fleet.server(),
    })
}

/// Hands a run over, or what is new of one that was handed over before.
pub fn push(context: &OpsContext, request: &PushRequest) -> Result<Pushed, OpsError> {
    let run_id = &request.run_id;
    if !context.workspace.run(run_id).root().is_dir() {
        return Err(OpsError::Setup {
            message: format!("run {run_id} does not exist"),
            hint: Some("`archi3d run list` shows the runs".into()),
        });
    }
    crate::store::bounds::refuse_workers_folder(&context.workspace, run_id)?;
    let identity = || identity::worker_identity(&context.settings);
    let provider_of = |algo: &str| adapters::provider_named(context, algo);
    let fleet = context.required_fleet()?;
    Ok(fleet.push(request, &identity, &provider_of)?)
}

/// Brings back what a run's jobs became. While the registry's lock is busy, `waiting` hears for how long and gives up by
/// returning `false`.
pub fn pull(
    context: &OpsContext,
    run_id: &RunId,
    waiting: Waiting<'_>,
) -> Result<Pulled, OpsError> {
    crate::store::fleet::pushed_mark(&context.workspace, run_id)?;
    Ok(context.required_fleet()?.pull(run_id, waiting)?)
}

/// Returns the workers that serve a run, or all of them. Those that ended are left out unless `all`.
pub fn workers(
    context: &OpsContext,
    run_id: Option<&RunId>,
    all: bool,
) -> Result<Workers, OpsError> {
    let fleet = context.required_fleet()?;
    let seen = fleet.workers(run_id)?.into_iter();
    let seen = seen.filter(|worker| all || worker.health() != Health::Ended);
    let workers = seen.map(|worker| WorkerLine {
        health: match worker.health() {
            Health::Alive => "alive",
            Health::Slow => "slow",
            Health::Silent => "silent",
            Health::Ended => "ended",
        },
        worker_id: worker.worker_id,
        host: worker.host,
        pid: worker.pid,
        version: worker.version,
        run_id: worker.run_id,
        // What it said when it came up tells little; what it holds tells what it does.
        state: match (worker.state.as_str(), worker.holds) {
            ("ended", _) => "ended",
            (_, 0) => "idle",
            _ => "working",
        }
        .to_owned(),
        slots: worker.slots,
        holds: worker.holds,
        started: worker.started,
        silent: worker.silent,
        lease: worker.lease,
    });
    Ok(Workers {
        server: fleet.server(),
        workers: workers.collect(),
    })
}

/// Takes expired leases of every run back, and settles the money of what the dead had ended.
pub fn sweep(context: &OpsContext) -> Result<SweepReport, OpsError> {
    Ok(context.required_fleet()?.sweep()?)
}

/// Forgets what is older than so many days, and what nothing refers to.
pub fn prune(
    context: &OpsContext,
    days: u32,
    grace: Duration,
    artifacts: Option<&str>,
) -> Result<PruneReport, OpsError> {
    Ok(context.required_fleet()?.prune(days, grace, artifacts)?)
}
