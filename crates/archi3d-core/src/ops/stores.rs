//! Which store a run lives in: files, or the PostgreSQL that `fleet push` handed it over to.

use std::sync::Arc;

use crate::domain::id::RunId;
#[cfg(feature = "postgres")]
use crate::domain::text::shell_word;
use crate::ops::{OpsContext, OpsError};
use crate::store::error::IoContext;
use crate::store::files::{FileRuns, FileStore, FileStoreOptions};
use crate::store::{NoticeSink, Runs, WorkerIdentity, WorkerStore};
use crate::workspace::fleet::FleetMark;

/// The stores of a workspace's runs, for one question of a person.
pub(super) struct Stores<'a> {
    context: &'a OpsContext,
    files: Arc<FileRuns>,
}

impl<'a> Stores<'a> {
    pub(super) fn new(context: &'a OpsContext) -> Self {
        let files = FileRuns::new(context.workspace.clone(), context.clock.clone());
        Self {
            context,
            files: Arc::new(files),
        }
    }

    /// Returns the runs that live in files.
    pub(super) fn files(&self) -> &FileRuns {
        &self.files
    }

    /// Returns every store that has a run of the workspace, files first.
    pub(super) fn all(&self) -> Result<Vec<Arc<dyn Runs>>, OpsError> {
        let files: Arc<dyn Runs> = self.files.clone();
        let workspace = &self.context.workspace;
        let runs = workspace.run_ids().unwrap_or_default();
        // A context knows one server.
        let mut pushed = runs
            .iter()
            .filter(|run| workspace.run(run).fleet().exists());
        let fleet = pushed.next().map(|run| self.of(run)).transpose()?;
        Ok(std::iter::once(files).chain(fleet).collect())
    }

    /// Returns the store that has a run; one that cannot be reached is an error.
    pub(super) fn of(&self, run: &RunId) -> Result<Arc<dyn Runs>, OpsError> {
        let paths = self.context.workspace.run(run);
        match FleetMark::read(&paths).context("read", &paths.fleet())? {
            None => Ok(self.files.clone()),
            Some(mark) => self.in_fleet(run, &mark),
        }
    }

    #[cfg(feature = "postgres")]
    fn in_fleet(&self, run: &RunId, mark: &FleetMark) -> Result<Arc<dyn Runs>, OpsError> {
        let found = crate::ops::fleet::runs_of(self.context, run);
        let found = found.map_err(|error| stale_but_there(error, mark))?;
        Ok(Arc::new(found))
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
    /// Returns the store that has a run.
    pub(super) fn runs(&self, run: &RunId) -> Result<Arc<dyn Runs>, OpsError> {
        Stores::new(self).of(run)
    }

    /// Returns the store that a run would live in which is asked for over the network.
    pub(super) fn runs_of_new(&self) -> Result<Arc<dyn Runs>, OpsError> {
        #[cfg(feature = "postgres")]
        if self.has_fleet()? {
            return Ok(Arc::new(crate::ops::fleet::all_runs(self)?));
        }
        Ok(Stores::new(self).files)
    }

    /// Opens a run for a change that a person asked for, in the store that has it.
    pub(super) fn open_to_act(
        &self,
        run: &RunId,
        identity: WorkerIdentity,
        allow_unsafe_locks: bool,
        notices: NoticeSink,
    ) -> Result<Box<dyn WorkerStore>, OpsError> {
        #[cfg(feature = "postgres")]
        if let Some(store) = crate::ops::run::open_in_fleet(self, run, &identity, &notices)? {
            return Ok(Box::new(store));
        }
        let store = FileStore::open(FileStoreOptions {
            identity,
            allow_unsafe_locks,
            notices,
            ..self.store_options(run)
        })?;
        Ok(Box::new(store))
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
