//! Which store a run lives in: the workspace, or the fleet that `fleet push` handed it over to.

use std::sync::Arc;

use crate::domain::id::RunId;
#[cfg(feature = "postgres")]
use crate::domain::text::shell_word;
use crate::ops::{OpsContext, OpsError};
use crate::store::error::IoContext;
use crate::store::{self, Backend, NoticeSink, Opening, Runs, Upkeep, WorkerIdentity, WorkerStore};
use crate::workspace::fleet::{FleetMark, FleetState};

/// The stores of a workspace's runs, for one question of a person.
pub(super) struct Stores<'a> {
    context: &'a OpsContext,
    local: Arc<dyn Runs>,
}

impl<'a> Stores<'a> {
    pub(super) fn new(context: &'a OpsContext) -> Result<Self, OpsError> {
        let local = context.local().runs()?;
        Ok(Self { context, local })
    }

    /// Returns the runs that live in the workspace.
    pub(super) fn local(&self) -> &Arc<dyn Runs> {
        &self.local
    }

    /// Returns every store that has a run of the workspace, its own first. Which of its runs a fleet
    /// still has does not matter.
    pub(super) fn all(&self) -> Result<Vec<Arc<dyn Runs>>, OpsError> {
        let workspace = &self.context.workspace;
        let runs = workspace.run_ids().unwrap_or_default();
        let mut pushed = runs.iter().filter(|run| workspace.run(run).in_fleet());
        let fleet = pushed.next().map(|run| self.fleet_with(run)).transpose()?;
        let local = Arc::clone(&self.local);
        Ok(std::iter::once(local).chain(fleet).collect())
    }

    /// Returns the runs of the server that a run was pushed to; a context knows one.
    #[cfg(feature = "postgres")]
    fn fleet_with(&self, run: &RunId) -> Result<Arc<dyn Runs>, OpsError> {
        let runs = self.context.required_fleet();
        let runs = runs.and_then(|fleet| Ok(fleet.runs()?));
        let paths = self.context.workspace.run(run);
        match (runs, FleetMark::read(&paths)) {
            (Err(error), Ok(Some(mark))) => Err(stale_but_there(error, &mark)),
            (runs, _) => runs,
        }
    }

    #[cfg(not(feature = "postgres"))]
    fn fleet_with(&self, run: &RunId) -> Result<Arc<dyn Runs>, OpsError> {
        self.of(run)
    }

    /// Returns the store that has a run; one that cannot be reached is an error.
    pub(super) fn of(&self, run: &RunId) -> Result<Arc<dyn Runs>, OpsError> {
        let paths = self.context.workspace.run(run);
        match FleetMark::read(&paths).context("read", &paths.fleet())? {
            Some(mark) if mark.state != FleetState::Forgotten => match self.in_fleet(run, &mark) {
                // That has just become known.
                Err(_) if !paths.in_fleet() => Ok(Arc::clone(&self.local)),
                runs => runs,
            },
            _ => self.here_or_remote(run),
        }
    }

    /// Returns the store of a run that was not pushed from here: the workspace, or where this folder has no tables the server
    /// that is named, if it has the run.
    #[cfg(feature = "postgres")]
    fn here_or_remote(&self, run: &RunId) -> Result<Arc<dyn Runs>, OpsError> {
        let workspace = &self.context.workspace;
        if workspace.registry().exists() || workspace.run(run).manifest().exists() {
            return Ok(Arc::clone(&self.local));
        }
        match self.context.fleet()? {
            Some(fleet) if fleet.has_remote(run)? => Ok(fleet.runs()?),
            _ => Ok(Arc::clone(&self.local)),
        }
    }

    #[cfg(not(feature = "postgres"))]
    fn here_or_remote(&self, _run: &RunId) -> Result<Arc<dyn Runs>, OpsError> {
        Ok(Arc::clone(&self.local))
    }

    #[cfg(feature = "postgres")]
    fn in_fleet(&self, run: &RunId, mark: &FleetMark) -> Result<Arc<dyn Runs>, OpsError> {
        let runs_of = || {
            store::fleet::pushed_mark(&self.context.workspace, run)?;
            Ok(self.context.required_fleet()?.runs_of(run)?)
        };
        runs_of().map_err(|error| stale_but_there(error, mark))
    }

    #[cfg(not(feature = "postgres"))]
    fn in_fleet(&self, run: &RunId, mark: &FleetMark) -> Result<Arc<dyn Runs>, OpsError> {
        Err(OpsError::Setup {
            message: format!(
                "run {run} lives in the fleet at {}, and this archi3d was built without PostgreSQL",
                mark.server
            ),
            hint: Some("use a build that has it".into()),
        })
    }
}

impl OpsContext {
    /// Returns the workspace as the place in which runs live.
    pub(super) fn local(&self) -> Arc<dyn Upkeep> {
        store::local(&self.workspace, &self.clock)
    }

    /// Returns the store that has a run.
    pub(super) fn runs(&self, run: &RunId) -> Result<Arc<dyn Runs>, OpsError> {
        Stores::new(self)?.of(run)
    }

    /// Returns the place in which a run would live that is asked for over the network.
    pub(super) fn ordering(&self) -> Result<Arc<dyn Backend>, OpsError> {
        #[cfg(feature = "postgres")]
        if let Some(fleet) = self.fleet()? {
            return Ok(fleet);
        }
        Ok(self.local())
    }

    /// Returns the place in which a run lives, to open it there.
    pub(super) fn backend(&self, run: &RunId) -> Result<Arc<dyn Backend>, OpsError> {
        #[cfg(feature = "postgres")]
        if let Some(fleet) = self.fleet_of(run)? {
            return Ok(fleet);
        }
        #[cfg(not(feature = "postgres"))]
        let _ = run;
        Ok(self.local())
    }

    #[cfg(feature = "postgres")]
    fn fleet_of(&self, run: &RunId) -> Result<Option<Arc<dyn store::Fleet>>, OpsError> {
        let paths = self.workspace.run(run);
        if paths.fleet().exists() {
            store::fleet::pushed_mark(&self.workspace, run)?;
            let fleet = self.required_fleet()?;
            fleet.require(run)?;
            return Ok(Some(fleet));
        }
        if paths.manifest().exists() {
            return Ok(None);
        }
        // Not of this folder: perhaps one that is worked on from anywhere.
        match self.fleet()? {
            Some(fleet) if fleet.has_remote(run)? => Ok(Some(fleet)),
            _ => Ok(None),
        }
    }

    /// Opens a run for a change that a person asked for, in the store that has it.
    pub(super) fn open_to_act(
        &self,
        run: &RunId,
        identity: WorkerIdentity,
        allow_unsafe_locks: bool,
        notices: NoticeSink,
    ) -> Result<Box<dyn WorkerStore>, OpsError> {
        let opening = Opening {
            allow_unsafe_locks,
            ..Opening::to_act(run, identity, notices)
        };
        Ok(self.backend(run)?.open(opening)?.store)
    }
}

/// Adds to why the fleet cannot be asked that the run lives there, and where an older state can be seen.
#[cfg(feature = "postgres")]
fn stale_but_there(error: OpsError, mark: &FleetMark) -> OpsError {
    let run = shell_word(&mark.run_id);
    let lives = |message: &str| {
        format!(
            "run {} lives in the fleet at {}: {message}",
            mark.run_id, mark.server
        )
    };
    let also = |hint: &str| {
        format!(
            "{hint}; tables/generations.csv has what the last `archi3d fleet pull --run-id {run}` brought"
        )
    };
    match error {
        OpsError::Server { message, hint } => OpsError::Server {
            message: lives(&message),
            hint: also(&hint),
        },
        OpsError::Setup {
            message,
            hint: Some(hint),
        } => OpsError::Setup {
            message: lives(&message),
            hint: Some(also(&hint)),
        },
        other => other,
    }
}
