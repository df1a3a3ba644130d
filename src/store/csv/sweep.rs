//! Removing what dead workers left lying about: staging folders and temporary
//! files. Part of recovery; never touches what a live worker may still need.

use std::collections::HashSet;
use std::fs;
use std::path::Path;
use std::time::Duration;

use crate::domain::id::{JobId, Nonce};
use crate::domain::naming::StateFile;
use crate::platform::fault;
use crate::store::error::{IoContext, StoreError};
use crate::workspace::durable;
use crate::workspace::lock::{self, FileLock};

use super::CsvStore;
use super::evidence::Evidence;
use super::journal::{self, What};

impl CsvStore {
    /// Removes staging folders that belong to no lease and to no live worker, each
    /// under its job's lock.
    pub(super) fn sweep_staging(&self) -> Result<(), StoreError> {
        let staging = self.paths().staging();
        let mut orphans = Vec::new();
        for entry in fs::read_dir(&staging).context("list", &staging)? {
            let name = entry.context("list", &staging)?.file_name();
            let parts = name.to_str().and_then(split_staging);
            orphans.extend(parts.map(|(job, nonce)| (job, Nonce::new(nonce), staging.join(&name))));
        }
        if orphans.is_empty() {
            return Ok(());
        }
        // Read after the listing, so that whoever made a listed folder is in it.
        let claimed = self.claimed_by_the_living()?;
        orphans.retain(|(_, nonce, _)| !claimed.contains(nonce));
        for (job, nonce, folder) in orphans {
            let lock = self.paths().state_file(&job, StateFile::Lock);
            let Some(_lock) = FileLock::try_acquire(&lock).context("lock", &lock)? else {
                continue;
            };
            let evidence =
                Evidence::read(self.paths(), &job).context("read markers in", &staging)?;
            let in_use = evidence
                .lease()
                .is_some_and(|lease| lease.record().is_none_or(|record| record.nonce == nonce));
            if !in_use {
                fault::here("sweep.staging");
                let _ = fs::remove_dir_all(folder);
            }
        }
        Ok(())
    }

    /// Returns every attempt of a worker that lives, also of one that lost its
    /// job: its result may still come and is to be set aside, not swept away.
    fn claimed_by_the_living(&self) -> Result<HashSet<Nonce>, StoreError> {
        let folder = self.paths().journals();
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

    /// Removes temporary files of dead writers.
    pub(super) fn sweep_temporaries(&self) -> Result<(), StoreError> {
        let registry = self.shared.workspace.registry();
        let Some(lock) = self.shared.lock_table()? else {
            return Err(self.closed("stopped while waiting for the registry".into()));
        };
        durable::sweep_temporaries(&registry).context("sweep", &registry)?;
        drop(lock);
        for name in self.names()?.temporaries() {
            let path = self.paths().state().join(name);
            if !self.writer_lives(name)? && (is_old(&path) || named_by_worker(name)) {
                fault::here("sweep.temporary");
                let _ = fs::remove_file(path);
            }
        }
        Ok(())
    }

    /// Tells whether the worker whose id ends a temporary name may still be writing it.
    fn writer_lives(&self, name: &str) -> Result<bool, StoreError> {
        let folder = self.paths().journals();
        for found in journal::unclosed(&folder).context("list", &folder)? {
            if name.ends_with(&format!(".{}.tmp", found.worker_id)) {
                return lock::is_held(&found.path).context("look at", &found.path);
            }
        }
        Ok(false)
    }
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
