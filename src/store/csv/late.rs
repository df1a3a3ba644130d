//! What attempts left in their folders: removed only where nobody called it a
//! success, otherwise kept under `outputs/.late/` or where it is.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::domain::id::{JobId, Nonce, RunId};
use crate::domain::lease::Lease;
use crate::domain::naming;
use crate::platform::fault;
use crate::store::error::{IoContext, StoreError};
use crate::workspace::artifact;
use crate::workspace::paths::Workspace;

use super::CsvStore;
use super::sweep::split_staging;

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

/// Lists what is kept under `outputs/.late/` of a run, by job and attempt.
pub fn kept(workspace: &Workspace, run_id: &RunId) -> Vec<Kept> {
    let late = workspace.run(run_id).late();
    let entries = fs::read_dir(&late).into_iter().flatten().flatten();
    let mut kept: Vec<Kept> = entries
        .filter_map(|entry| {
            let name = entry.file_name();
            let name = name.to_str().filter(|name| !name.starts_with('.'))?;
            let (job_id, attempt, _) = split_staging(name)?;
            Some(Kept {
                job_id,
                attempt,
                path: workspace.relative(&entry.path())?,
                whole: artifact::holds_any_model(&entry.path()),
            })
        })
        .collect();
    kept.sort();
    kept
}

impl CsvStore {
    /// Ends the folder of an attempt that brought nothing. What its adapter called a
    /// success, and any whole model, is kept; returns where, if that was so.
    pub(super) fn discard(&self, folder: &Path) -> Option<PathBuf> {
        let name = folder.file_name()?.to_str()?;
        let parts = split_staging(name);
        let made = parts.as_ref().is_some_and(|(_, attempt, nonce)| {
            // What a rehearsal left is thrown away under the number 0.
            *attempt > 0 && self.made_nonces().contains(&Nonce::new(*nonce))
        });
        let Ok(has_files) = has_files(folder) else {
            // Where it is, it is found by the next start.
            return Some(folder.to_owned());
        };
        if has_files && (made || artifact::may_hold_model(folder)) {
            let (job, attempt, nonce) = parts?;
            return match self.keep_late(folder, &job, attempt, &Nonce::new(nonce)) {
                Ok(kept) => kept,
                // Where it is, it is found by the next start.
                Err(_) => Some(folder.to_owned()),
            };
        }
        let _ = artifact::discard(folder);
        None
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
        if !has_files(folder).context("look into", folder)? {
            let _ = artifact::discard(folder);
            return Ok(None);
        }
        let late = self.paths().late();
        fs::create_dir_all(&late).context("create", &late)?;
        let to = self.free_late_name(job, attempt, nonce);
        fault::here("late.before");
        self.move_across(folder, &to).context("set aside", &to)?;
        fault::here("late.kept");
        Ok(Some(to))
    }

    /// Returns where an attempt's files are kept; the name is free.
    pub(super) fn free_late_name(&self, job: &JobId, attempt: u32, nonce: &Nonce) -> PathBuf {
        let late = self.paths().late();
        let name = naming::kept_dir(job, attempt, nonce);
        let mut to = late.join(&name);
        for number in 2u32.. {
            if to.symlink_metadata().is_err() {
                break;
            }
            to = late.join(format!("{name}{number}"));
        }
        to
    }

    /// Moves a folder to a free name; where that lies on another disk, by a copy that
    /// is synced and compared before the original goes.
    pub(super) fn move_across(&self, from: &Path, to: &Path) -> io::Result<bool> {
        match artifact::move_folder(from, to) {
            Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {}
            moved => return moved,
        }
        if to.symlink_metadata().is_ok() {
            return Ok(false);
        }
        let late = self.paths().late();
        fs::create_dir_all(&late)?;
        let name = from.file_name().unwrap_or_default().to_string_lossy();
        let copy = late.join(format!(".copying-{name}"));
        artifact::own_files(from)?;
        artifact::copy_folder(from, &copy)?;
        fault::here("move.copied");
        let same = artifact::inventory(from)
            .and_then(|from| Ok((from, artifact::inventory(&copy)?)))
            .map_err(io::Error::other)?;
        if same.0 != same.1 {
            return Err(io::Error::other("the copy is not what was copied"));
        }
        let moved = artifact::move_folder(&copy, to)?;
        fault::here("move.renamed");
        if moved {
            let _ = artifact::discard(from);
        }
        Ok(moved)
    }

    pub(super) fn move_to_late(&self, lease: &Lease) -> Result<Option<String>, StoreError> {
        let kept = self.keep_late(&lease.staging, &lease.job_id, lease.attempt, &lease.nonce)?;
        Ok(kept.and_then(|kept| self.shared.workspace.relative(&kept)))
    }
}

/// Tells whether there is anything in an attempt's folder, which is opened for that.
/// What cannot be opened counts as something; a link holds nothing of its own.
fn has_files(folder: &Path) -> io::Result<bool> {
    let found = match fs::symlink_metadata(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        found => found?,
    };
    if !found.is_dir() {
        return Ok(found.is_file() && found.len() > 0);
    }
    let opened = artifact::open_up(folder).and_then(|()| fs::read_dir(folder));
    Ok(opened.map_or(true, |mut entries| entries.next().is_some()))
}
