//! One function per thing a person can ask for.
//!
//! `cli` turns arguments into requests and shows the answers; everything in
//! between happens here. Nothing in here prints.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::adapter::Variables;
use crate::clock::SystemClock;
use crate::config::{ConfigError, Os, Settings, Sources};
use crate::domain::time::Clock;
use crate::ops::batch::BatchError;
use crate::ops::catalog::CatalogError;
use crate::ops::consolidate::ConsolidateError;
use crate::platform;
use crate::store::StoreError;
use crate::workspace::paths::Workspace;

pub mod adapters;
pub mod adopt;
pub mod artifacts;
pub mod attempts;
pub mod batch;
pub mod budget;
pub mod cancel;
pub mod capacity;
pub mod catalog;
pub mod compute;
pub mod consolidate;
pub mod cost;
pub mod demo;
pub mod doctor;
pub mod events;
pub mod explain;
pub mod export;
pub mod find;
#[cfg(feature = "postgres")]
pub mod fleet;
pub mod guard;
pub mod health;
mod identity;
pub mod init;
pub mod job_list;
pub mod judge;
pub mod measures;
pub mod money;
pub mod names;
pub mod notify;
pub mod plan;
pub mod rebuild;
pub mod remove;
pub mod report;
pub mod results;
pub mod reuse;
pub mod run;
pub mod run_log;
pub mod select;
pub mod self_check;
pub mod status;
mod stores;
pub mod submit;
pub mod tokens;
pub mod uploads;
pub mod view;
pub mod workers;

/// What every operation needs.
#[derive(Clone)]
pub struct OpsContext {
    /// The folder everything is in.
    pub workspace: Workspace,
    /// Where the time comes from.
    pub clock: Arc<dyn Clock>,
    /// Everything that is configured.
    pub settings: Arc<Settings>,
    /// What `--store` says.
    pub store: Option<String>,
    /// The server of fleets, once it was asked.
    #[cfg(feature = "postgres")]
    known: Arc<crate::store::fleet::ConnectionCache>,
}

/// An operation that could not be carried out.
#[derive(Debug, thiserror::Error)]
pub enum OpsError {
    /// The request or the set-up is wrong.
    #[error("{message}")]
    Setup {
        /// What is wrong.
        message: String,
        /// What to do next.
        hint: Option<String>,
    },
    /// The configuration is wrong.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The store refused.
    #[error(transparent)]
    Store(StoreError),
    /// The server of the store does not answer, or refuses.
    #[error("{message}")]
    Server {
        /// What happened.
        message: String,
        /// What to do next.
        hint: String,
    },
    /// There is no new catalog.
    #[error(transparent)]
    Catalog(#[from] CatalogError),
    /// There is no new batch.
    #[error(transparent)]
    Batch(#[from] BatchError),
    /// Nothing was set right.
    #[error(transparent)]
    Consolidate(#[from] ConsolidateError),
}

impl From<StoreError> for OpsError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Refused { message, hint } => Self::Setup { message, hint },
            StoreError::Server { what, hint, setup } if setup => Self::Setup {
                message: what,
                hint: Some(hint),
            },
            StoreError::Server { what, hint, .. } | StoreError::Away { what, hint } => {
                Self::Server {
                    message: what,
                    hint,
                }
            }
            error => Self::Store(error),
        }
    }
}

impl OpsError {
    /// Tells whether the request or the set-up is wrong, rather than the disk.
    pub fn is_setup(&self) -> bool {
        match self {
            Self::Setup { .. } | Self::Config(_) => true,
            Self::Store(error) => error.is_setup(),
            Self::Server { .. } => false,
            Self::Catalog(error) => error.is_setup(),
            Self::Batch(error) => error.is_setup(),
            Self::Consolidate(error) => error.is_setup(),
        }
    }

    /// Tells whether nothing is wrong but that a wait was ended on request.
    pub fn was_cut_short(&self) -> bool {
        matches!(self, Self::Store(StoreError::Closed { .. }))
    }

    /// Returns what to do next.
    pub fn hint(&self) -> Option<&str> {
        match self {
            Self::Setup { hint, .. } => hint.as_deref(),
            Self::Config(_) => None,
            Self::Store(error) => error.hint(),
            Self::Server { hint, .. } => Some(hint),
            Self::Catalog(error) => error.hint(),
            Self::Batch(error) => error.hint(),
            Self::Consolidate(error) => error.hint(),
        }
    }
}

impl OpsContext {
    /// Finds the workspace, the one given or else the one that is configured, and
    /// reads its settings.
    pub fn open(given: Option<&Path>) -> Result<Self, OpsError> {
        let current_dir = std::env::current_dir().map_err(|error| OpsError::Setup {
            message: format!("the current folder cannot be used: {error}"),
            hint: Some("change to a folder that exists and try again".into()),
        })?;
        let settings = Settings::load(&Sources {
            workspace: given.map(Path::to_owned),
            current_dir,
            env: &real_env,
            os: Os::current(),
        })?;
        platform::place::share_with_group_of(&settings.workspace);
        Ok(Self {
            workspace: Workspace::new(settings.workspace.clone()),
            clock: Arc::new(SystemClock),
            settings: Arc::new(settings),
            store: None,
            #[cfg(feature = "postgres")]
            known: Arc::default(),
        })
    }

    /// Goes on with what another context of the same workspace has open.
    #[cfg(not(feature = "postgres"))]
    #[must_use]
    pub fn going_on(self, _before: &Self) -> Self {
        self
    }

    /// Names the store of fleets, over whatever else does.
    #[must_use]
    pub fn with_store(mut self, url: Option<&str>) -> Self {
        self.store = url.map(str::to_owned);
        self
    }

    /// Returns the same as a run sees it that chose these options of its algorithms.
    fn choosing(&self, options: &serde_json::Map<String, serde_json::Value>) -> Self {
        let mut context = self.clone();
        if !options.is_empty() {
            let settings = Arc::make_mut(&mut context.settings);
            settings
                .algos
                .iter_mut()
                .for_each(|algo| algo.choose(options));
        }
        context
    }
}

impl OpsContext {
    /// Refuses a folder that was named as the workspace and has nothing of one: that
    /// it has no runs would be true and a riddle.
    fn expect_workspace(&self) -> Result<(), OpsError> {
        let parts = [
            "dataset",
            "tables",
            "runs",
            "config/adapters.yaml",
            "config/global.yaml",
        ];
        let root = self.workspace.root();
        if parts.iter().any(|part| root.join(part).exists()) {
            return Ok(());
        }
        Err(OpsError::Setup {
            message: format!(
                "{} is no workspace: it has neither dataset/ nor tables/ nor runs/ (named by {})",
                root.display(),
                self.settings.workspace_origin
            ),
            hint: Some("check the path, or make a workspace with `archi3d init DIR`".into()),
        })
    }
}

/// Returns the workspace that `folder` lies in, if it lies in one.
pub fn enclosing_workspace(folder: &Path) -> Option<PathBuf> {
    let mut above = folder.ancestors().skip(1);
    above
        .find(|parent| crate::config::is_workspace(parent))
        .map(Path::to_owned)
}

/// Tells whether a command that is typed inside `folder`, with no `--workspace`,
/// acts on it: another workspace may be named by a variable or the user's own file.
pub fn is_taken_by_default(folder: &Path) -> bool {
    let Ok(folder) = folder.canonicalize() else {
        return false;
    };
    let found = Settings::load(&Sources {
        workspace: None,
        current_dir: folder.clone(),
        env: &real_env,
        os: Os::current(),
    });
    found.is_ok_and(|settings| settings.workspace.canonicalize().is_ok_and(|w| w == folder))
}

/// Prepares the process before anything is made: nothing it makes can be written
/// by everybody.
pub fn keep_files_from_everybody() {
    platform::place::keep_from_everybody();
}

impl Variables for OpsContext {
    fn now(&self, names: &[&str]) -> BTreeMap<String, String> {
        self.settings.variables_now(&real_env, names)
    }
}

impl OpsContext {
    /// Returns where adapters find their variables.
    fn variables(&self) -> Arc<dyn Variables> {
        Arc::new(self.clone())
    }
}

/// Looks a variable up in the environment of this process.
#[expect(
    clippy::disallowed_methods,
    reason = "the one place that hands the real environment to the rest"
)]
fn real_env(name: &str) -> Option<String> {
    std::env::var(name).ok()
}
