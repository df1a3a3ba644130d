//! Earlier results of the fleet, as the engine asks for them.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use uuid::Uuid;

use super::link::{Link, nonce};
use super::record;
use super::reuse;
use crate::domain::content::ContentKey;
use crate::domain::id::{JobId, RunId};
use crate::domain::lease::Lease;
use crate::domain::naming::METADATA_JSON;
use crate::domain::text::formula_safe;
use crate::store::reuse::{ReuseIndex, Source, are_in};
use crate::store::{Artifacts, StoreError};
use crate::workspace::paths::Workspace;

/// How long a question waits for a server that is away.
const PATIENCE: Duration = Duration::from_secs(5);

/// Finds results by what went into them, of all runs in the database.
pub(super) struct PgReuse {
    ask: Box<Ask>,
    /// Whose attempts make results; none where a person only looks.
    link: Option<Arc<Link>>,
    workspace: Workspace,
    artifacts: Option<Arc<dyn Artifacts>>,
    /// Attempts whose results are not what they were.
    refused: Mutex<Vec<Uuid>>,
}

/// Asks the server for the newest result that none of these attempts made.
pub(super) type Ask =
    dyn Fn(&[u8], Option<&str>, &[Uuid]) -> Result<Option<reuse::Source>, StoreError> + Send + Sync;

impl PgReuse {
    pub(super) fn new(
        ask: Box<Ask>,
        link: Option<Arc<Link>>,
        workspace: Workspace,
        artifacts: Option<Arc<dyn Artifacts>>,
    ) -> Self {
        Self {
            ask,
            link,
            workspace,
            artifacts: artifacts.filter(|artifacts| artifacts.is_remote()),
            refused: Mutex::default(),
        }
    }

    /// Returns a result as it can be copied; nothing if its files are not in their place, which may be another machine.
    fn in_place(&self, found: reuse::Source) -> Result<Option<Source>, StoreError> {
        let (Ok(run_id), Ok(job_id)) = (RunId::parse(&found.run_id), JobId::parse(&found.job_id))
        else {
            return Ok(None);
        };
        let artifacts = record::artifacts(&found.files);
        let mut folder = self.workspace.run(&run_id).output(&job_id);
        let is_there = if let Some(bucket) = &self.artifacts {
            let about = artifacts.iter().find(|file| file.name == METADATA_JSON);
            let about = about.map_or(Ok(None), |about| bucket.read(&job_id, about))?;
            let is_there = about.is_some() && bucket.holds(&artifacts)?;
            folder = about
                .and_then(|path| Some(path.parent()?.to_owned()))
                .unwrap_or(folder);
            is_there
        } else {
            are_in(&folder, &artifacts)
        };
        Ok(is_there.then(|| Source {
            attempt: found.hold.number,
            nonce: nonce(found.hold.attempt_id),
            algo_version: found.algo_version,
            artifacts,
            in_bucket: self.artifacts.is_some(),
            run_id,
            job_id,
            folder,
        }))
    }
}

impl ReuseIndex for PgReuse {
    fn find(
        &self,
        key: &ContentKey,
        version: Option<&str>,
        _fresh: bool,
    ) -> Result<Option<Source>, StoreError> {
        let key = key.to_string().into_bytes();
        // As the table has it.
        let version = version.map(formula_safe);
        let refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        let mut but = refused.clone();
        drop(refused);
        while let Some(found) = (self.ask)(&key, version.as_deref(), &but)? {
            but.push(found.hold.attempt_id);
            if let Some(source) = self.in_place(found)? {
                return Ok(Some(source));
            }
        }
        Ok(None)
    }

    fn make(&self, key: &ContentKey, lease: &Lease) -> Result<bool, StoreError> {
        let Some(link) = &self.link else {
            return Ok(true);
        };
        let (hold, key) = (link.hold(lease)?, key.to_string().into_bytes());
        Ok(link.ask(PATIENCE, |c| reuse::make(c, &key, &hold))?)
    }

    fn made(&self, key: &ContentKey, lease: &Lease) {
        let Some(link) = &self.link else { return };
        if let Ok(hold) = link.hold(lease) {
            let key = key.to_string().into_bytes();
            // Whoever comes next sees that its attempt is over.
            let _ = link.ask(Duration::ZERO, |c| reuse::made(c, &key, &hold));
        }
    }

    fn is_empty(&self) -> Result<bool, StoreError> {
        Ok(false)
    }

    fn refuse(&self, source: &Source) {
        let Ok(attempt) = Uuid::parse_str(&source.nonce.to_string()) else {
            return; // It is of a run on files.
        };
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        refused.push(attempt);
    }
}
