//! Where the bytes of pictures and results lie: the trait that the engine and the store of a fleet know.
//!
//! What all implementations promise: a name that [`Artifacts::publish`] has answered for can be read by every worker and
//! by `fleet pull`, with the bytes that were hashed; nothing that an adapter called a success is removed before that;
//! every step can be repeated. What none promises: that bytes nobody refers to are gone.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::domain::id::{JobId, Nonce};
use crate::domain::lease::Lease;
use crate::store::error::{IoContext, StoreError};
use crate::store::{Artifact, JobRecord, shelf};
use crate::workspace::artifact;
use crate::workspace::paths::{RunPaths, Workspace};

/// The folder below a run's outputs for pictures that were fetched, one for each attempt.
pub(crate) const INPUTS: &str = ".inputs";

/// Bytes by what they are.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Blob {
    /// Their SHA-256, in hexadecimal digits.
    pub sha256: String,
    /// How many they are.
    pub size: u64,
}

impl From<&Artifact> for Blob {
    fn from(file: &Artifact) -> Self {
        Self {
            sha256: file.sha256.clone(),
            size: file.size,
        }
    }
}

/// Why the pictures of a job cannot be had.
#[derive(Debug)]
pub enum NoInputs {
    /// One of them cannot be used: why.
    Unusable(String),
    /// The worker was told to stop while it waited for them.
    Stopped,
    /// This machine is to blame, its disk or its set-up, and not the job.
    Trouble(StoreError),
}

/// How long somebody waits for a place that does not take or give anything now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Patience {
    /// Until it does, or [`Artifacts::hurry`].
    UntilStopped,
    /// Not at all.
    None,
}

/// Where the bytes of a run lie. See the module for what all promise.
pub trait Artifacts: Send + Sync {
    /// Returns paths at which the pictures of a job can be read until [`Artifacts::let_go`].
    fn inputs(&self, lease: &Lease, job: &JobRecord) -> Result<Vec<PathBuf>, NoInputs>;

    /// Gives up what [`Artifacts::inputs`] made for an attempt.
    fn let_go(&self, _lease: &Lease) {}

    /// Makes the files of a result outlive this machine. Comes before the commit that names them.
    fn publish(
        &self,
        folder: &Path,
        files: &[Artifact],
        patience: Patience,
    ) -> Result<(), StoreError>;

    /// Gives a result whose ending was committed its place; an older one is kept as `kept`.
    fn place(
        &self,
        folder: &Path,
        job: &JobId,
        kept: &str,
        simulated: bool,
    ) -> Result<(), StoreError>;

    /// Moves what an attempt made out of the way, never away; tells where it is, if there is anything.
    fn set_aside(
        &self,
        folder: &Path,
        job: &JobId,
        attempt: u32,
        nonce: &Nonce,
    ) -> Result<Option<PathBuf>, StoreError>;

    /// Returns a file of a published result as one that can be read; nothing if it is gone.
    fn read(&self, job: &JobId, file: &Artifact) -> Result<Option<PathBuf>, StoreError>;

    /// Tells whether all of these files are where a copy need only name them.
    fn holds(&self, _files: &[Artifact]) -> Result<bool, StoreError> {
        Ok(false)
    }

    /// Tells whether the bytes lie where a worker has no folder, so that what was made must be put there.
    fn is_remote(&self) -> bool {
        false
    }

    /// Ends every wait.
    fn hurry(&self) {}
}

/// The folder of the workspace that all workers share.
#[derive(Debug, Clone)]
pub struct Shared {
    workspace: Workspace,
    paths: RunPaths,
}

impl Shared {
    /// Names the folder.
    pub fn new(workspace: Workspace, paths: RunPaths) -> Self {
        Self { workspace, paths }
    }
}

impl Artifacts for Shared {
    fn inputs(&self, _lease: &Lease, job: &JobRecord) -> Result<Vec<PathBuf>, NoInputs> {
        resolve_images(&self.workspace, &job.images).map_err(NoInputs::Unusable)
    }

    fn publish(&self, folder: &Path, _: &[Artifact], _: Patience) -> Result<(), StoreError> {
        artifact::sync_files(folder).context("sync", folder)
    }

    fn place(
        &self,
        folder: &Path,
        job: &JobId,
        kept: &str,
        simulated: bool,
    ) -> Result<(), StoreError> {
        shelf::place(&self.paths, folder, job, kept, simulated)
    }

    fn set_aside(
        &self,
        folder: &Path,
        job: &JobId,
        attempt: u32,
        nonce: &Nonce,
    ) -> Result<Option<PathBuf>, StoreError> {
        shelf::keep_late(&self.paths, folder, job, attempt, nonce)
    }

    fn read(&self, job: &JobId, file: &Artifact) -> Result<Option<PathBuf>, StoreError> {
        let folder = self.paths.output(job);
        let intact = artifact::is_intact(&folder, &file.name, file.size, &file.sha256);
        Ok(intact.then(|| folder.join(&file.name)))
    }
}

/// Returns the pictures as absolute paths, or says which one cannot be used.
pub(crate) fn resolve_images(
    workspace: &Workspace,
    images: &[String],
) -> Result<Vec<PathBuf>, String> {
    images
        .iter()
        .map(|stored| resolve_image(workspace, stored))
        .collect()
}

fn resolve_image(workspace: &Workspace, stored: &str) -> Result<PathBuf, String> {
    let outside = || format!("input image is outside the workspace: {stored}");
    let unreadable = |error: io::Error| format!("cannot read input image {stored}: {error}");
    let path = workspace.absolute(stored).ok_or_else(outside)?;
    if let Some(file) = workspace.open_plainly(&path) {
        usable(&file.metadata().map_err(unreadable)?, stored)?;
        return Ok(path);
    }
    let real = match path.canonicalize() {
        Ok(real) => real,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(format!("input image not found: {stored}"));
        }
        Err(error) => return Err(unreadable(error)),
    };
    if !real.starts_with(workspace.root()) {
        return Err(outside());
    }
    usable(&fs::metadata(&real).map_err(unreadable)?, stored)?;
    fs::File::open(&real).map_err(unreadable)?;
    Ok(path)
}

fn usable(metadata: &fs::Metadata, stored: &str) -> Result<(), String> {
    if !metadata.is_file() {
        return Err(format!("input image is not a file: {stored}"));
    }
    if metadata.len() == 0 {
        return Err(format!("input image is empty: {stored}"));
    }
    Ok(())
}
