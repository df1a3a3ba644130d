//! `doctor`: a check-up of the whole workspace and its configuration, and the repairing
//! of what can be repaired without losing or buying anything.

use std::path::Path;
use std::sync::Arc;

use crate::clock::SystemClock;
use crate::config::{ConfigError, Os, Settings, Sources};
use crate::domain::finding::Finding;
use crate::domain::time::Clock;
use crate::ops::{OpsContext, OpsError, identity, real_env};
use crate::store::{self, Upkeep};
use crate::table::Table;
use crate::workspace::paths::Workspace;

mod setup;

pub use crate::store::upkeep::{
    Checkup, DoctorRequest, LOCKS_EXCLUDE, LOW_BYTES, Probe, probe_lock,
};

/// Who is looked at: a workspace, with its settings if these can be read.
pub struct Target {
    /// The folder everything is in.
    pub workspace: Workspace,
    clock: Arc<dyn Clock>,
    context: Result<OpsContext, ConfigError>,
}

impl Target {
    /// Finds the workspace, the one given or else the one that is configured, also
    /// if its configuration is wrong.
    pub fn find(given: Option<&Path>) -> Result<Self, OpsError> {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        match OpsContext::open(given) {
            Ok(context) => Ok(Self {
                workspace: context.workspace.clone(),
                clock,
                context: Ok(context),
            }),
            Err(OpsError::Config(
                error @ (ConfigError::Invalid { .. } | ConfigError::Unreadable { .. }),
            )) => {
                let current_dir = std::env::current_dir().unwrap_or_default();
                let folder = Settings::locate(&Sources {
                    workspace: given.map(Path::to_owned),
                    current_dir,
                    env: &real_env,
                    os: Os::current(),
                })?;
                Ok(Self {
                    workspace: Workspace::new(folder),
                    clock,
                    context: Err(error),
                })
            }
            Err(error) => Err(error),
        }
    }

    fn local(&self) -> Arc<dyn Upkeep> {
        store::local(&self.workspace, &self.clock)
    }
}

/// Looks at everything and changes nothing.
pub fn examine(target: &Target, request: &DoctorRequest) -> Result<Checkup, OpsError> {
    let setup = |table: Option<&Table>, checkup: &mut Checkup| setup::look(target, table, checkup);
    Ok(target.local().examine(request, &setup)?)
}

/// Carries out what `findings` say can be repaired; returns what could not be, one
/// sentence each. Live workers may go on meanwhile.
pub fn repair(target: &Target, findings: &[Finding]) -> Result<Vec<String>, OpsError> {
    let context = match &target.context {
        Ok(context) => context,
        Err(error) => {
            return Err(OpsError::Setup {
                message: error.to_string(),
                hint: Some("fix the configuration first; nothing was repaired".into()),
            });
        }
    };
    let identity = || identity::worker_identity(&context.settings);
    Ok(target.local().repair(findings, &identity)?)
}
