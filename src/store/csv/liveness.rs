//! Is the holder of a lease alive? Gathers the facts; `domain::lease` judges.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::domain::id::JobId;
use crate::domain::lease::{HolderFacts, Rhythm, Verdict, judge};
use crate::domain::time::Timestamp;
use crate::platform::{self, FileSystemKind};
use crate::store::Holder;
use crate::store::error::{IoContext, StoreError};
use crate::workspace::durable;
use crate::workspace::lock::{self, FileLock};
use crate::workspace::paths::{RunPaths, Workspace};

use super::marker::{Body, Marker};

/// How far locks reach where the workspace lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LockReach {
    /// Every process that can see the files.
    Local,
    /// Other machines may hold jobs too; only time tells whether they live.
    Network,
    /// Locks do not exclude other machines: one machine at a time.
    Unsafe,
}

/// Names of folders that a sync program copies between machines.
const SYNCED_FOLDERS: &[&str] = &[
    "onedrive",
    "dropbox",
    "google drive",
    "googledrive",
    "icloud",
];

/// Finds out how far locks reach in the run's `state` folder, which must exist.
pub(super) fn lock_reach(workspace: &Workspace, paths: &RunPaths) -> Result<LockReach, StoreError> {
    let synced = workspace.root().components().any(|part| {
        let name = part.as_os_str().to_string_lossy().to_lowercase();
        SYNCED_FOLDERS.iter().any(|folder| name.starts_with(folder))
    });
    let state = paths.state();
    if synced || !locks_exclude(&state.join("probe.lock")).context("try locks in", &state)? {
        return Ok(LockReach::Unsafe);
    }
    let kind = platform::file_system_kind(&state).context("look at", &state)?;
    Ok(match kind {
        FileSystemKind::Local => LockReach::Local,
        FileSystemKind::Network(_) | FileSystemKind::User => LockReach::Network,
    })
}

/// Tells whether a second descriptor is refused what the first one holds.
fn locks_exclude(path: &Path) -> io::Result<bool> {
    match FileLock::try_acquire(path) {
        Ok(Some(_held)) => Ok(FileLock::try_acquire(path)?.is_none()),
        // Another process tries at the same moment, which is proof enough.
        Ok(None) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::Unsupported => Ok(false),
        Err(error) => Err(error),
    }
}

/// Judges holders and remembers for how long silent ones were watched.
#[derive(Debug)]
pub(super) struct Watch {
    boot_id: String,
    reach: LockReach,
    rhythm: Rhythm,
    may_write: bool,
    seen: Mutex<HashMap<JobId, (Option<Timestamp>, Duration)>>,
}

impl Watch {
    /// `may_write`: whether a file may be touched to learn the server's time.
    pub(super) fn new(boot_id: &str, reach: LockReach, rhythm: Rhythm, may_write: bool) -> Self {
        Self {
            boot_id: boot_id.to_owned(),
            reach,
            rhythm,
            may_write,
            seen: Mutex::default(),
        }
    }

    /// Judges the holder of `lease`. `now` is the wall clock.
    pub(super) fn verdict(
        &self,
        paths: &RunPaths,
        job: &JobId,
        lease: &Marker,
        now: Timestamp,
    ) -> io::Result<Verdict> {
        if matches!(lease.body, Body::Corrupt(_)) {
            // Whoever claims the job looks closer, under its lock.
            return Ok(Verdict::Dead);
        }
        let watched = self.watched(job, lease);
        let silent = lease.beat.map(|beat| now.since(beat));
        let facts = match lease.record() {
            Some(record)
                if self.reach == LockReach::Local
                    && !self.boot_id.is_empty()
                    && record.boot_id == self.boot_id =>
            {
                HolderFacts::SameBoot {
                    journal_locked: lock::is_held(&paths.journal(&record.worker_id))?,
                    silent: silent.unwrap_or_default(),
                    watched,
                }
            }
            Some(_) if self.may_write => HolderFacts::Elsewhere {
                silent: silence_by_server(paths, job)?,
                watched,
            },
            // Another tool's lease: its own words decide, and one without a
            // readable time counts as stale, as that tool itself has it.
            // (A reader that must not write judges ours by their words too.)
            _ => HolderFacts::Elsewhere {
                silent: Some(silent.unwrap_or(self.rhythm.stale)),
                watched,
            },
        };
        Ok(judge(facts, self.rhythm))
    }

    /// Returns for how long the lease's time has stood still before our eyes.
    fn watched(&self, job: &JobId, lease: &Marker) -> Duration {
        let now = platform::steady_now();
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = seen.entry(job.clone()).or_insert((lease.beat, now));
        if entry.0 != lease.beat {
            *entry = (lease.beat, now);
        }
        now.saturating_sub(entry.1)
    }

    /// Describes a holder for people.
    pub(super) fn describe(
        &self,
        paths: &RunPaths,
        job: &JobId,
        lease: &Marker,
        now: Timestamp,
    ) -> Holder {
        let record = lease.record();
        let worker = match record {
            Some(record) => record.worker_id.to_string(),
            None => lease
                .pid
                .map_or_else(|| "another tool".into(), |pid| format!("pid {pid}")),
        };
        Holder {
            worker,
            host: lease.host.clone(),
            since: record.map(|record| record.claimed_at).or(lease.beat),
            last_beat: lease.beat,
            // A marker that cannot be judged is not known to be free.
            verdict: self
                .verdict(paths, job, lease, now)
                .unwrap_or(Verdict::Alive),
            cancel_asked: paths
                .state_file(job, crate::domain::naming::StateFile::Cancel)
                .symlink_metadata()
                .is_ok(),
        }
    }
}

/// Returns how long the lease has been silent by the clock of whoever stores
/// the files, so that clocks of different machines are never compared.
fn silence_by_server(paths: &RunPaths, job: &JobId) -> io::Result<Option<Duration>> {
    let lease = paths.state_file(job, crate::domain::naming::StateFile::InProgress);
    let touched = paths.state().join(".clock");
    let Ok(file) = durable::replace_unsynced(&touched, b"", "probe") else {
        return Ok(None);
    };
    let server_now = file.metadata()?.modified()?;
    let beat = fs::symlink_metadata(lease)?.modified()?;
    let _ = fs::remove_file(&touched);
    // A beat in the future cannot be judged; the caller watches it instead.
    Ok(server_now.duration_since(beat).ok())
}
