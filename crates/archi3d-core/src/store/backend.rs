//! One place in which runs live, and a run that is open there.
//!
//! `ops` asks a [`Backend`] and knows none of them: [`local`] is the workspace itself, and a run that was handed over
//! to a fleet lives on its server.

use std::sync::Arc;
use std::time::Duration;

use crate::domain::id::{RunId, WorkerId};
use crate::domain::lease::Rhythm;
use crate::domain::time::Clock;
use crate::store::files::upkeep::FileUpkeep;
use crate::store::reuse::ReuseIndex;
use crate::store::{
    Artifacts, Budget, NoticeSink, Outbox, Providers, Runs, StoreError, Upkeep, WorkerIdentity,
    WorkerStore,
};
use crate::workspace::paths::Workspace;

/// One place in which runs live.
pub trait Backend: Send + Sync {
    /// Returns its runs, to be looked at.
    fn runs(&self) -> Result<Arc<dyn Runs>, StoreError>;

    /// Returns where messages to people outside wait.
    fn outbox(&self) -> Box<dyn Outbox + '_>;

    /// Opens a run, for a worker or for a change that a person asked for.
    fn open(&self, opening: Opening) -> Result<OpenRun, StoreError>;
}

/// How a run is opened.
#[derive(Clone)]
pub struct Opening {
    /// The run.
    pub run_id: RunId,
    /// Who we are.
    pub identity: WorkerIdentity,
    /// How often we beat and how long silence is borne, on files.
    pub rhythm: Rhythm,
    /// Whether it rehearses: nothing is bought.
    pub rehearsal: bool,
    /// Go on where locks do not exclude other machines.
    pub allow_unsafe_locks: bool,
    /// How many jobs run at once.
    pub slots: usize,
    /// What only matters where many machines work on the run.
    pub fleet: FleetRequest,
    /// Where notices go.
    pub notices: NoticeSink,
}

impl Opening {
    /// Opens a run for a change that a person asked for.
    pub fn to_act(run_id: &RunId, identity: WorkerIdentity, notices: NoticeSink) -> Self {
        Self {
            run_id: run_id.clone(),
            identity,
            rhythm: Rhythm::default(),
            rehearsal: false,
            allow_unsafe_locks: false,
            slots: 1,
            fleet: FleetRequest {
                works: false,
                ..FleetRequest::default()
            },
            notices,
        }
    }
}

/// How a worker takes part in a fleet.
#[derive(Debug, Clone, PartialEq)]
pub struct FleetRequest {
    /// How long a lease lasts without a beat; `None` means what the run says.
    pub lease: Option<Duration>,
    /// Whether that is found out from how long jobs of the run took.
    pub auto_lease: bool,
    /// Where news of jobs are told beside the database, as `redis://HOST`.
    pub wake: Option<String>,
    /// So many jobs that cost nothing are taken ahead, and their endings sent together.
    pub ahead: usize,
    /// How long it stays when there is nothing to do.
    pub until_idle: Option<Duration>,
    /// What it is called; `None` means a name of its own at every start.
    pub worker_id: Option<String>,
    /// How many gigabytes of fetched pictures are kept; `None` means as usual.
    pub cache_gb: Option<f64>,
    /// Whether it works on jobs, rather than only changing them.
    pub works: bool,
}

impl Default for FleetRequest {
    fn default() -> Self {
        Self {
            lease: None,
            auto_lease: false,
            wake: None,
            ahead: 0,
            until_idle: None,
            worker_id: None,
            cache_gb: None,
            works: true,
        }
    }
}

impl FleetRequest {
    /// Gives a worker of a fleet the name that was asked for.
    #[must_use]
    pub fn name(&self, identity: WorkerIdentity) -> WorkerIdentity {
        match &self.worker_id {
            Some(name) => WorkerIdentity {
                worker_id: WorkerId::named(name),
                ..identity
            },
            None => identity,
        }
    }
}

/// A run that is open, with all that a worker needs for it.
pub struct OpenRun {
    /// Who we are there.
    pub identity: WorkerIdentity,
    /// Its jobs.
    pub store: Box<dyn WorkerStore>,
    /// What workers share about providers and algorithms.
    pub providers: Arc<dyn Providers>,
    /// Where its money is accounted.
    pub budget: Arc<dyn Budget>,
    /// Where earlier results are found.
    pub reuse: Arc<dyn ReuseIndex>,
    /// Where its pictures and results lie.
    pub artifacts: Arc<dyn Artifacts>,
    /// How often we beat and how long silence is borne.
    pub rhythm: Rhythm,
    /// Whether a server has it.
    pub on_server: bool,
}

impl OpenRun {
    /// Stops waiting for others.
    pub fn hurry(&self) {
        self.store.hurry();
        self.budget.hurry();
    }
}

/// Returns the workspace as the place in which runs live; reads nothing yet.
pub fn local(workspace: &Workspace, clock: &Arc<dyn Clock>) -> Arc<dyn Upkeep> {
    Arc::new(FileUpkeep::new(workspace.clone(), clock.clone()))
}
