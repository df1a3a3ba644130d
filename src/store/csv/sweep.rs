//! Removing what dead workers left lying about: staging folders and temporary
//! files. Part of recovery; never touches what a live worker may still need.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::domain::id::{JobId, Nonce};
use crate::domain::naming::StateFile;
use crate::platform::fault;
use crate::store::error::{IoContext, StoreError};
use crate::workspace::durable;
use crate::workspace::lock::{self, FileLock};
use crate::workspace::paths::RunPaths;

use super::CsvStore;
use super::evidence::Evidence;
use super::journal::{self, What};
use super::projection::StateNames;

impl CsvStore {
    /// Removes staging folders that belong to no lease and to no live worker, each
    /// under its job's lock.
    pub(super) fn sweep_staging(&self) -> Result<(), StoreError> {
        for (job, nonce, folder) in unclaimed_staging(self.paths())? {
            let lock = self.paths().state_file(&job, StateFile::Lock);
            let Some(_lock) = FileLock::try_acquire(&lock).context("lock", &lock)? else {
                continue;
            };
            if !is_in_use(self.paths(), &job, &nonce)? {
                fault::here("sweep.staging");
                let _ = fs::remove_dir_all(folder);
            }
        }
        Ok(())
    }

    /// Removes temporary files of dead writers.
    pub(super) fn sweep_temporaries(&self) -> Result<(), StoreError> {
        let registry = self.shared.workspace.registry();
        let Some(lock) = self.shared.lock_table()? else {
            return Err(self.closed("stopped while waiting for the registry".into()));
        };
        durable::sweep_temporaries(&registry).context("sweep", &registry)?;
        drop(lock);
        for path in dead_temporaries(self.paths(), &*self.names()?)? {
            fault::here("sweep.temporary");
            let _ = fs::remove_file(path);
        }
        Ok(())
    }
}

/// Returns the staging folders that no live worker claimed.
fn unclaimed_staging(paths: &RunPaths) -> Result<Vec<(JobId, Nonce, PathBuf)>, StoreError> {
    let staging = paths.staging();
    let mut orphans = Vec::new();
    for entry in fs::read_dir(&staging).context("list", &staging)? {
        let name = entry.context("list", &staging)?.file_name();
        let parts = name.to_str().and_then(split_staging);
        orphans.extend(parts.map(|(job, nonce)| (job, Nonce::new(nonce), staging.join(&name))));
    }
    if !orphans.is_empty() {
        // Read after the listing, so that whoever made a listed folder is in it.
        let claimed = claimed_by_the_living(paths)?;
        orphans.retain(|(_, nonce, _)| !claimed.contains(nonce));
    }
    Ok(orphans)
}

/// Returns the staging folders that the next start would remove.
pub(super) fn orphan_staging(paths: &RunPaths) -> Result<Vec<PathBuf>, StoreError> {
    let mut orphans = Vec::new();
    if paths.staging().is_dir() {
        for (job, nonce, folder) in unclaimed_staging(paths)? {
            if !is_in_use(paths, &job, &nonce)? {
                orphans.push(folder);
            }
        }
    }
    Ok(orphans)
}

/// Tells whether the folder of an attempt belongs to the job's lease.
fn is_in_use(paths: &RunPaths, job: &JobId, nonce: &Nonce) -> Result<bool, StoreError> {
    let evidence = Evidence::read(paths, job).context("read markers in", &paths.state())?;
    Ok(evidence
        .lease()
        .is_some_and(|lease| lease.record().is_none_or(|record| record.nonce == *nonce)))
}

/// Returns every attempt of a worker that lives, also of one that lost its
/// job: its result may still come and is to be set aside, not swept away.
fn claimed_by_the_living(paths: &RunPaths) -> Result<HashSet<Nonce>, StoreError> {
    let folder = paths.journals();
    let mut claimed = HashSet::new();
    for found in journal::unclosed(&folder).context("list", &folder)? {
        if lock::is_held(&found.path).context("look at", &found.path)? {
            let (lines, _) = journal::read(&found.path).context("read", &found.path)?;
            claimed.extend(lines.into_iter().filter_map(|line| match line.what {
                What::Claimed { nonce, .. } => Some(nonce),
                _ => None,
            }));
        }
    }
    Ok(claimed)
}

/// Returns the temporary files in `state/` whose writers are dead.
pub(super) fn dead_temporaries(
    paths: &RunPaths,
    names: &StateNames,
) -> Result<Vec<PathBuf>, StoreError> {
    let mut dead = Vec::new();
    for name in names.temporaries() {
        let path = paths.state().join(name);
        if !writer_lives(paths, name)? && (is_old(&path) || named_by_worker(name)) {
            dead.push(path);
        }
    }
    Ok(dead)
}

/// Tells whether the worker whose id ends a temporary name may still be writing it.
fn writer_lives(paths: &RunPaths, name: &str) -> Result<bool, StoreError> {
    let folder = paths.journals();
    for found in journal::unclosed(&folder).context("list", &folder)? {
        if name.ends_with(&format!(".{}.tmp", found.worker_id)) {
            return lock::is_held(&found.path).context("look at", &found.path);
        }
    }
    Ok(false)
}

/// Tells whether nobody can be writing a temporary file any more. Some carry no
/// worker's id, and all of them live for moments only.
fn is_old(path: &Path) -> bool {
    const LONG: Duration = Duration::from_secs(60);
    let age = fs::symlink_metadata(path)
        .and_then(|metadata| metadata.modified())
        .map(|written| written.elapsed());
    // A time in the future is no age.
    !matches!(age, Ok(Ok(age)) if age < LONG)
}

/// Tells whether a temporary name ends in a worker's id, not in random digits.
fn named_by_worker(name: &str) -> bool {
    let tag = name.trim_end_matches(".tmp").rsplit('.').next();
    tag.is_some_and(|tag| tag.contains('-'))
}

fn split_staging(name: &str) -> Option<(JobId, &str)> {
    let (rest, nonce) = name.rsplit_once('-')?;
    let (job, attempt) = rest.rsplit_once('.')?;
    attempt.parse::<u32>().ok()?;
    Some((JobId::parse(job).ok()?, nonce))
}
