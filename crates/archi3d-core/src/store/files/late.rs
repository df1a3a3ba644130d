//! What attempts left in their folders: removed only where nobody called it a
//! success, otherwise kept under `outputs/.late/` or where it is.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::domain::id::{JobId, Nonce, RunId};
use crate::domain::lease::Lease;
use crate::domain::naming;
use crate::store::error::StoreError;
use crate::store::shelf;
use crate::workspace::artifact;
use crate::workspace::paths::Workspace;

use super::FileStore;
use super::journal::MadeLine;
use super::sweep::{self, split_staging};

/// Ends the name of a folder with what lay beside a model,
pub(super) const BESIDE: &str = "beside";

/// and of one with a copy of what a worker made that may still be there.
pub(super) const COPY: &str = "copy";

/// A result that was made and is not the job's published one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Kept {
    /// The job.
    pub job_id: JobId,
    /// Which attempt made it.
    pub attempt: u32,
    /// The folder, relative to the workspace.
    pub path: String,
    /// Whether it holds a whole model.
    pub whole: bool,
}

/// Lists what is kept under `outputs/.late/` of a run, by job and attempt, and whole
/// models in staging of which no journal knows.
pub fn kept(workspace: &Workspace, run_id: &RunId) -> Vec<Kept> {
    let paths = workspace.run(run_id);
    let mut kept: Vec<Kept> = folders_in(&paths.late())
        .filter_map(|(path, (job_id, attempt, _))| {
            Some(Kept {
                job_id,
                attempt,
                path: workspace.relative(&path)?,
                whole: artifact::holds_any_model(&path),
            })
        })
        .collect();
    let unknown = sweep::unknown_staging(&paths).unwrap_or_default();
    kept.extend(unknown.into_iter().filter_map(|(path, job_id, attempt)| {
        let path = workspace.relative(&path)?;
        let whole = true;
        Some(Kept {
            job_id,
            attempt,
            path,
            whole,
        })
    }));
    kept.sort();
    kept
}

/// Returns the folders of attempts in a folder, with job, attempt and nonce.
pub(super) fn folders_in(
    folder: &Path,
) -> impl Iterator<Item = (PathBuf, (JobId, u32, String))> + use<> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| {
        let name = entry.file_name();
        let name = name.to_str().filter(|name| !name.starts_with('.'))?;
        let (job, attempt, nonce) = split_staging(name)?;
        Some((entry.path(), (job, attempt, nonce.to_owned())))
    })
}

/// Returns the nonce of the attempt whose folder has this one in its name.
pub(super) fn owner(nonce: &str) -> Nonce {
    let own = nonce.strip_suffix(BESIDE).or(nonce.strip_suffix(COPY));
    Nonce::new(own.unwrap_or(nonce))
}

impl FileStore {
    /// Ends the folder of an attempt that brought nothing. What its adapter called a
    /// success, and any whole model, is kept; returns where, if that was so.
    pub(super) fn discard(&self, folder: &Path) -> Option<PathBuf> {
        let name = folder.file_name()?.to_str()?;
        let parts = split_staging(name);
        let made = parts.as_ref().is_some_and(|(_, attempt, nonce)| {
            // What a rehearsal left is thrown away under the number 0.
            let made = nonce.ends_with(BESIDE) || self.made_nonces().contains(&owner(nonce));
            *attempt > 0 && made
        });
        let Ok(has_files) = shelf::has_files(folder) else {
            // Where it is, it is found by the next start.
            return Some(folder.to_owned());
        };
        if has_files && (made || artifact::may_hold_model(folder)) {
            let (job, attempt, nonce) = parts?;
            if self.is_a_copy(folder, &job) {
                let _ = artifact::discard(folder);
                return None;
            }
            return match self.keep_late(folder, &job, attempt, &Nonce::new(nonce)) {
                Ok(kept) => kept,
                // Where it is, it is found by the next start.
                Err(_) => Some(folder.to_owned()),
            };
        }
        let _ = artifact::discard(folder);
        None
    }

    /// Tells whether all bytes in a folder are published or kept as well.
    fn is_a_copy(&self, folder: &Path, job: &JobId) -> bool {
        let kept = folders_in(&self.paths().late()).filter(|(_, (of, ..))| of == job);
        let mut places: Vec<PathBuf> = kept.map(|(path, _)| path).collect();
        places.push(self.paths().output(job));
        artifact::is_held_by(folder, &places)
    }

    /// Returns where what an attempt made is kept: a whole model, or anything of it.
    pub(super) fn kept_of(&self, line: &MadeLine, whole: bool) -> Option<PathBuf> {
        let name = naming::kept_dir(&line.job_id, line.attempt, &line.nonce);
        let mut kept = folders_in(&self.paths().late()).map(|(path, _)| path);
        kept.find(|path| {
            let of = path.file_name().and_then(|of| of.to_str());
            of.is_some_and(|of| of.starts_with(&name))
                && (!whole || artifact::holds_any_model(path))
        })
    }

    /// Moves an attempt's files out of the way, never away. Returns where they are,
    /// if there are any.
    pub(super) fn keep_late(
        &self,
        folder: &Path,
        job: &JobId,
        attempt: u32,
        nonce: &Nonce,
    ) -> Result<Option<PathBuf>, StoreError> {
        shelf::keep_late(self.paths(), folder, job, attempt, nonce)
    }

    pub(super) fn move_across(&self, from: &Path, to: &Path) -> io::Result<bool> {
        shelf::move_across(self.paths(), from, to)
    }

    pub(super) fn move_to_late(&self, lease: &Lease) -> Result<Option<String>, StoreError> {
        let kept = self.keep_late(&lease.staging, &lease.job_id, lease.attempt, &lease.nonce)?;
        Ok(kept.and_then(|kept| self.shared.workspace.relative(&kept)))
    }
}
