//! Earlier results, found by what went into them.
//!
//! The engine asks before it buys; [`crate::store::files::FileReuse`] answers from
//! the journals of all runs. Finding is not taking: whoever copies a result
//! compares every file with its hash.

use std::fs;
use std::path::{Path, PathBuf};
#[cfg(feature = "postgres")]
use std::sync::Arc;

use crate::domain::content::ContentKey;
use crate::domain::id::{JobId, Nonce, RunId};
use crate::domain::lease::Lease;
use crate::store::{Artifact, StoreError};

/// An earlier result that can be copied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// The run it belongs to.
    pub run_id: RunId,
    /// The job that has it.
    pub job_id: JobId,
    /// The attempt that made it.
    pub attempt: u32,
    /// The attempt's own name.
    pub nonce: Nonce,
    /// What made it.
    pub algo_version: Option<String>,
    /// Where its files are.
    pub folder: PathBuf,
    /// Whether their bytes lie in a bucket, so that a copy need only name them; `folder` has what is read.
    pub in_bucket: bool,
    /// Its files.
    pub artifacts: Vec<Artifact>,
}

/// Tells whether files are in a folder, in the sizes that are on record.
pub(super) fn are_in(folder: &Path, files: &[Artifact]) -> bool {
    let is_there = |file: &Artifact| {
        let found = fs::symlink_metadata(folder.join(&file.name));
        found.is_ok_and(|found| found.is_file() && found.len() == file.size)
    };
    !files.is_empty() && files.iter().all(is_there)
}

/// Knows earlier results by what went into them.
pub trait ReuseIndex: Send + Sync {
    /// Returns the newest real result with this key that is still in its place.
    ///
    /// `version` is what the adapter says of itself now. Where it says nothing
    /// beforehand, the version in force is that of the newest result of the recipe, on a server of
    /// these very inputs.
    /// With `fresh` everything published so far is known, also of the last moments.
    fn find(
        &self,
        key: &ContentKey,
        version: Option<&str>,
        fresh: bool,
    ) -> Result<Option<Source>, StoreError>;

    /// Tells whether this attempt is the one that makes what has this key; if not, another one that lives does. Of
    /// workers on files each makes it: their jobs are few, and no server is there to ask.
    fn make(&self, _key: &ContentKey, _lease: &Lease) -> Result<bool, StoreError> {
        Ok(true)
    }

    /// Lets others make it, whatever came of it.
    fn made(&self, _key: &ContentKey, _lease: &Lease) {}

    /// Tells whether there is no earlier result.
    fn is_empty(&self) -> Result<bool, StoreError>;

    /// Never offers this result again, but an older one: it is not what it was.
    fn refuse(&self, source: &Source);
}

/// Several indexes, asked one after the other.
#[cfg(feature = "postgres")]
pub(super) struct Chain(pub(super) Vec<Arc<dyn ReuseIndex>>);

#[cfg(feature = "postgres")]
impl ReuseIndex for Chain {
    fn find(
        &self,
        key: &ContentKey,
        version: Option<&str>,
        fresh: bool,
    ) -> Result<Option<Source>, StoreError> {
        for index in &self.0 {
            if let Some(found) = index.find(key, version, fresh)? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    fn make(&self, key: &ContentKey, lease: &Lease) -> Result<bool, StoreError> {
        for index in &self.0 {
            if !index.make(key, lease)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn made(&self, key: &ContentKey, lease: &Lease) {
        self.0.iter().for_each(|index| index.made(key, lease));
    }

    fn is_empty(&self) -> Result<bool, StoreError> {
        for index in &self.0 {
            if !index.is_empty()? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn refuse(&self, source: &Source) {
        self.0.iter().for_each(|index| index.refuse(source));
    }
}
