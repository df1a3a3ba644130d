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
use crate::workspace::synced;

use super::journal::{self, What};
use super::marker::{Body, Marker, Pulse, Record, RecordKind};
use super::projection::StateNames;

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

/// Finds out how far locks reach in the run's `state` folder, which must exist, and
/// whether a lock there proves something about a process of this machine.
pub(super) fn lock_reach(
    workspace: &Workspace,
    paths: &RunPaths,
) -> Result<(LockReach, bool), StoreError> {
    let state = paths.state();
    let exclude = locks_exclude(&state.join("probe.lock")).context("try locks in", &state)?;
    let kind = platform::file_system_kind(&state).context("look at", &state)?;
    let local = kind == FileSystemKind::Local;
    let reach = match local {
        _ if !exclude || synced::sign(workspace.root()).is_some() => LockReach::Unsafe,
        true => LockReach::Local,
        false => LockReach::Network,
    };
    Ok((reach, exclude && local))
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
    /// Whether a lock proves something about a process of this machine.
    proves: bool,
    rhythm: Rhythm,
    may_write: bool,
    seen: Mutex<HashMap<JobId, (Option<Timestamp>, Duration)>>,
}

impl Watch {
    /// `may_write`: whether a file may be touched to learn the server's time.
    pub(super) fn new(boot_id: &str, proves: bool, rhythm: Rhythm, may_write: bool) -> Self {
        Self {
            boot_id: boot_id.to_owned(),
            proves,
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
        let locked = match lease.record() {
            Some(record) => self.journal_locked(paths, record)?,
            None => None,
        };
        let pulse = lease.record().and_then(|record| record.pulse.as_ref());
        let rhythm = pulse.map_or(self.rhythm, Pulse::rhythm);
        let facts = match (locked, lease.record()) {
            (Some(journal_locked), _) => HolderFacts::SameBoot {
                journal_locked,
                silent: silent.unwrap_or_default(),
                watched,
            },
            (None, Some(_)) if self.may_write => HolderFacts::Elsewhere {
                silent: silence_by_server(
                    paths,
                    &paths.state_file(job, crate::domain::naming::StateFile::InProgress),
                )?,
                watched,
            },
            // Another tool's lease: its own words decide, and one without a
            // readable time counts as stale, as that tool itself has it.
            // (A reader that must not write judges ours by their words too.)
            _ => HolderFacts::Elsewhere {
                silent: Some(silent.unwrap_or(rhythm.stale)),
                watched,
            },
        };
        Ok(judge(facts, rhythm))
    }

    /// Tells whether the holder of a lease is dead beyond doubt, so that even its files
    /// can go.
    pub(super) fn is_proved_dead(&self, paths: &RunPaths, record: &Record) -> bool {
        self.journal_locked(paths, record)
            .is_ok_and(|locked| locked == Some(false))
    }

    /// Returns whether the journal of a holder is locked, where that proves anything: it
    /// runs since the same boot, and its journal is the very file that its lease names.
    /// A journal that is missing, replaced or seen through another file system does not
    /// tell; then only its beats do.
    fn journal_locked(&self, paths: &RunPaths, record: &Record) -> io::Result<Option<bool>> {
        if !self.proves || self.boot_id.is_empty() || record.boot_id != self.boot_id {
            return Ok(None);
        }
        let looked = lock::look(&paths.journal(&record.worker_id))?;
        let named = record.pulse.as_ref().and_then(|p| p.journal.as_ref());
        Ok(looked
            .filter(|looked| named.is_none_or(|named| *named == looked.whereabouts))
            .map(|looked| looked.held))
    }

    /// Tells whether the worker of a journal has ended. Where its lock proves nothing,
    /// the journal must be silent for as long as its worker allows, and no lease of it
    /// may beat.
    pub(super) fn has_ended(
        &self,
        paths: &RunPaths,
        found: &journal::Found,
        lines: &[journal::Line],
        now: Timestamp,
    ) -> io::Result<bool> {
        let Some(looked) = lock::look(&found.path)?.filter(|looked| !looked.held) else {
            return Ok(false);
        };
        let opened = lines.iter().rev().find_map(|line| match &line.what {
            What::Opened { boot_id, pulse, .. } => Some((boot_id, pulse.as_ref())),
            _ => None,
        });
        let pulse = opened.and_then(|(_, pulse)| pulse);
        let named = pulse.and_then(|pulse| pulse.journal.as_ref());
        let since_boot = opened.is_some_and(|(boot_id, _)| *boot_id == self.boot_id);
        let very_file = named.is_none_or(|named| {
            // The number of a device may change when the machine starts anew.
            let lasts = lasting(named) == lasting(&looked.whereabouts);
            *named == looked.whereabouts || lasts && !since_boot
        });
        if self.proves && very_file {
            return Ok(true);
        }
        let stale = pulse.map_or(self.rhythm, Pulse::rhythm).stale;
        let silent = if self.may_write {
            silence_by_server(paths, &found.path)?
        } else {
            let touched = fs::symlink_metadata(&found.path)?.modified()?;
            touched.elapsed().ok()
        };
        if silent.is_none_or(|silent| silent < stale) {
            return Ok(false);
        }
        let names = StateNames::list(paths)?;
        let held = names.jobs().filter(|(_, k)| k.has(RecordKind::InProgress));
        for job in held.filter_map(|(name, _)| JobId::parse(name).ok()) {
            let kind = RecordKind::InProgress;
            let lease = Marker::read(&paths.state_file(&job, kind.file()), kind, &job)?;
            let Some(lease) = lease else { continue };
            let its = lease
                .record()
                .is_some_and(|record| record.worker_id == found.worker_id);
            if its && self.verdict(paths, &job, &lease, now)? != Verdict::Dead {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Returns for how long the marker's time has stood still before our eyes.
    pub(super) fn watched(&self, job: &JobId, lease: &Marker) -> Duration {
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

/// Tells whether the journal of a holder is there, and the very file that its lease
/// names: what it does not tell has not happened.
pub(super) fn has_own_journal(paths: &RunPaths, record: &Record) -> bool {
    let looked = lock::look(&paths.journal(&record.worker_id));
    let named = record.pulse.as_ref().and_then(|p| p.journal.as_ref());
    looked.ok().flatten().is_some_and(|looked| {
        named.is_none_or(|named| lasting(named) == lasting(&looked.whereabouts))
    })
}

/// Returns the part of a file's whereabouts that outlasts a boot.
fn lasting(whereabouts: &str) -> &str {
    whereabouts
        .rsplit_once(':')
        .map_or(whereabouts, |(lasting, _)| lasting)
}

/// Returns how long a file has been silent by the clock of whoever stores it, so that
/// clocks of different machines are never compared.
fn silence_by_server(paths: &RunPaths, path: &Path) -> io::Result<Option<Duration>> {
    let touched = paths.state().join(".clock");
    let Ok(file) = durable::replace_unsynced(&touched, b"", "probe") else {
        return Ok(None);
    };
    let server_now = file.metadata()?.modified()?;
    let beat = fs::symlink_metadata(path)?.modified()?;
    let _ = fs::remove_file(&touched);
    let silent = server_now.duration_since(beat).ok();
    if silent.is_none() {
        // A beat in the future cannot be judged. It counts from now on, whoever looks next;
        // a holder that lives beats again.
        let file = durable::open_plain(path)?;
        let _ = file.set_modified(server_now);
    }
    Ok(silent)
}
