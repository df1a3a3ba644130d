//! Removing what dead workers left lying about: staging folders without a result and
//! temporary files. Part of recovery; never touches what a live worker may still need.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::domain::id::{JobId, Nonce};
use crate::domain::naming::StateFile;
use crate::domain::time::Timestamp;
use crate::platform::fault;
use crate::store::error::{IoContext, StoreError};
use crate::workspace::lock;
use crate::workspace::paths::RunPaths;
use crate::workspace::{artifact, durable};

use super::FileStore;
use super::claim::remove_if_there;
use super::evidence::Evidence;
use super::journal::{self, What};
use super::late::{folders_in, owner};
use super::liveness::Watch;
use super::marker::RecordKind;
use super::projection::StateNames;

impl FileStore {
    /// Removes staging folders that belong to no lease and to no live worker, each
    /// under its job's lock.
    pub(super) fn sweep_staging(&self, now: Timestamp) -> Result<(), StoreError> {
        for (job, nonce, folder) in unclaimed_staging(self.paths(), &self.watch, now)? {
            let Some(_lock) = self.try_lock_job(&job)? else {
                continue;
            };
            if !is_in_use(self.paths(), &job, &nonce)? {
                fault::here("sweep.staging");
                self.tell_if_kept(&job, self.discard(&folder));
            }
        }
        Ok(())
    }

    /// Removes leases that stand beside a terminal of the same or a higher attempt.
    pub(super) fn drop_void_leases(&self) -> Result<(), StoreError> {
        let state = self.paths().state();
        let names = self.names()?;
        for (name, kinds) in names.jobs() {
            let both = kinds.has(RecordKind::InProgress) && kinds.count() > 1;
            let Some(job) = both.then(|| JobId::parse(name).ok()).flatten() else {
                continue;
            };
            let Some(_lock) = self.try_lock_job(&job)? else {
                continue;
            };
            let evidence = Evidence::read(self.paths(), &job).context("read markers in", &state)?;
            let void = evidence
                .lease()
                .is_some_and(|lease| lease.record().is_some())
                && evidence
                    .ruling()
                    .is_some_and(|m| m.kind.is_terminal() || m.kind == RecordKind::Cancelled);
            if void {
                let path = self.paths().state_file(&job, StateFile::InProgress);
                remove_if_there(&path).context("remove", &path)?;
                self.forget_names();
                fault::here("recover.void_lease_gone");
            }
        }
        Ok(())
    }

    fn tell_if_kept(&self, job: &JobId, kept: Option<PathBuf>) {
        if let Some(kept) = kept {
            let shown = self.shared.workspace.relative(&kept).unwrap_or_default();
            self.warn(format!(
                "an attempt of job {job} left an unrecorded model; it is kept in {shown}"
            ));
        }
    }

    /// Removes temporary files of dead writers.
    pub(super) fn sweep_temporaries(&self) -> Result<(), StoreError> {
        let registry = self.shared.workspace.registry();
        let Some(lock) = self.shared.lock_table()? else {
            return Err(self.closed("stopped while waiting for the registry".into()));
        };
        durable::sweep_temporaries(&registry, lock.file()).context("sweep", &registry)?;
        drop(lock);
        for path in dead_temporaries(self.paths(), &*self.names()?)? {
            fault::here("sweep.temporary");
            let _ = fs::remove_file(path);
        }
        Ok(())
    }
}

/// Returns the staging folders whose workers have ended.
fn unclaimed_staging(
    paths: &RunPaths,
    watch: &Watch,
    now: Timestamp,
) -> Result<Vec<(JobId, Nonce, PathBuf)>, StoreError> {
    let staging = paths.staging();
    let mut orphans = Vec::new();
    for entry in fs::read_dir(&staging).context("list", &staging)? {
        let name = entry.context("list", &staging)?.file_name();
        let parts = name.to_str().and_then(split_staging);
        orphans.extend(parts.map(|(job, _, nonce)| (job, owner(nonce), staging.join(&name))));
    }
    if !orphans.is_empty() {
        // Read after the listing, so that whoever made a listed folder is in it.
        let ended = claimed_by_the_dead(paths, watch, now)?;
        // Whose journal is gone may still live, for a day.
        orphans.retain(|(_, nonce, folder)| match ended.get(nonce) {
            Some(ended) => *ended,
            None => is_older(folder, Duration::from_hours(24)),
        });
    }
    Ok(orphans)
}

/// Returns the folders in staging that hold a whole model of which no journal knows,
/// with job and attempt.
pub(super) fn unknown_staging(paths: &RunPaths) -> Result<Vec<(PathBuf, JobId, u32)>, StoreError> {
    let folders = folders_in(&paths.staging());
    let mut whole: Vec<_> = folders
        .filter(|(path, _)| artifact::holds_model(path))
        .collect();
    let folder = paths.journals();
    let journals = journal::all(&folder).context("list", &folder)?;
    for found in journals
        .iter()
        .take(if whole.is_empty() { 0 } else { usize::MAX })
    {
        let forget = |line: journal::Line| {
            if let Some(nonce) = own_attempt(line.what) {
                whole.retain(|(_, (.., of))| owner(of) != nonce);
            }
        };
        journal::each_line(&found.path, forget).context("read", &found.path)?;
    }
    let whole = whole.into_iter();
    Ok(whole
        .map(|(path, (job, attempt, _))| (path, job, attempt))
        .collect())
}

/// Returns the staging folders that the next start would remove.
pub(super) fn orphan_staging(
    paths: &RunPaths,
    watch: &Watch,
    now: Timestamp,
) -> Result<Vec<PathBuf>, StoreError> {
    let mut orphans = Vec::new();
    if paths.staging().is_dir() {
        for (job, nonce, folder) in unclaimed_staging(paths, watch, now)? {
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

/// Returns every attempt that journals know, and whether its worker has ended. One that
/// lives keeps its files also where it lost the job: its result may still come and is to
/// be set aside, not swept away.
fn claimed_by_the_dead(
    paths: &RunPaths,
    watch: &Watch,
    now: Timestamp,
) -> Result<HashMap<Nonce, bool>, StoreError> {
    let folder = paths.journals();
    let unclosed = journal::unclosed(&folder).context("list", &folder)?;
    let mut claimed = HashMap::new();
    for found in journal::all(&folder).context("list", &folder)? {
        let (lines, _) = journal::read(&found.path).context("read", &found.path)?;
        let ended = !unclosed.contains(&found)
            || watch
                .has_ended(paths, &found, &lines, now)
                .context("look at", &found.path)?;
        let own = lines.into_iter().filter_map(|line| any_attempt(line.what));
        claimed.extend(own.map(|nonce| (nonce, ended)));
    }
    Ok(claimed)
}

/// Returns the attempt of which only the worker that makes it writes such a line. A power
/// cut may leave the second of the two lines without the first.
fn own_attempt(what: What) -> Option<Nonce> {
    match what {
        What::Claimed { nonce, .. } => Some(nonce),
        What::Made(line) => Some(line.nonce),
        _ => None,
    }
}

/// Returns the attempt that a line tells its writer has worked on; of those that a power cut left, any will do.
fn any_attempt(what: What) -> Option<Nonce> {
    match what {
        What::Intent { nonce, .. }
        | What::Submitted { nonce, .. }
        | What::Progress { nonce, .. } => Some(nonce),
        other => own_attempt(other),
    }
}

/// Returns the temporary files in `state/` whose writers are dead.
pub(super) fn dead_temporaries(
    paths: &RunPaths,
    names: &StateNames,
) -> Result<Vec<PathBuf>, StoreError> {
    let mut dead = Vec::new();
    for name in names.temporaries() {
        let path = paths.state().join(name);
        let dead_writer = match writer_lives(paths, name)? {
            Some(lives) => !lives,
            None => is_older(&path, Duration::from_secs(60)),
        };
        if dead_writer {
            dead.push(path);
        }
    }
    Ok(dead)
}

/// Tells whether the worker whose id ends a temporary name may still be writing it;
/// nothing if no journal tells. Such files live for moments only.
fn writer_lives(paths: &RunPaths, name: &str) -> Result<Option<bool>, StoreError> {
    let folder = paths.journals();
    for found in journal::all(&folder).context("list", &folder)? {
        if name.ends_with(&format!(".{}.tmp", found.worker_id)) {
            let held = lock::is_held(&found.path).context("look at", &found.path)?;
            return Ok(Some(held));
        }
    }
    Ok(None)
}

/// Tells whether a file or a folder was last changed longer ago than this.
fn is_older(path: &Path, time: Duration) -> bool {
    let age = fs::symlink_metadata(path)
        .and_then(|metadata| metadata.modified())
        .map(|written| written.elapsed());
    // A time in the future is no age.
    !matches!(age, Ok(Ok(age)) if age < time)
}

/// Splits the name of an attempt's folder into job, attempt and nonce.
pub(super) fn split_staging(name: &str) -> Option<(JobId, u32, &str)> {
    let (rest, nonce) = name.rsplit_once('-')?;
    let (job, attempt) = rest.rsplit_once('.')?;
    Some((JobId::parse(job).ok()?, attempt.parse().ok()?, nonce))
}
