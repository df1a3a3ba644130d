//! Damaged markers of ended jobs: made again from the journal that tells the ending,
//! or moved out of the way without losing them.
//!
//! A worker meets a damaged marker only when it claims the job; that of a job whose
//! row says how it ended is never claimed. `doctor` finds those and asks here.

use std::path::PathBuf;

use crate::domain::id::JobId;
use crate::domain::job::Entry;
use crate::domain::time::Timestamp;
use crate::store::error::{IoContext, StoreError};
use crate::workspace::paths::RunPaths;

use super::FileStore;
use super::evidence::{self, Evidence};
use super::job_lock::JobLock;
use super::journal::Finished;
use super::marker::{Body, Marker, RecordKind};
use super::recover::files_match;

/// A marker that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct DamagedMarker {
    /// Where it is.
    pub path: PathBuf,
    /// The job.
    pub job_id: JobId,
    /// What is wrong with it.
    pub reason: String,
    /// What sets it right.
    pub remedy: Remedy,
}

/// What sets a damaged marker right.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Remedy {
    /// A journal has the ending: it is made again.
    FromJournal,
    /// Nothing tells what it said: it is set aside.
    SetAside,
    /// The next worker that takes the job sets it aside.
    AtClaim,
}

/// Tells whether an ending leaves a marker; a failed redo leaves the older result's.
pub(super) fn leaves_marker(finished: &Finished) -> bool {
    finished.completed || finished.entry != Entry::Redo
}

/// Returns what is wrong with a marker, and what sets it right; `ending` is the
/// latest one of its job that journals of ended workers tell.
pub(super) fn judge(
    paths: &RunPaths,
    marker: &Marker,
    ending: Option<&Finished>,
) -> Option<(String, Remedy)> {
    let vouched = || ending.is_some_and(|ending| vouches(paths, marker, ending));
    match &marker.body {
        Body::Corrupt(reason) => {
            let remedy = match marker.kind {
                RecordKind::InProgress => Remedy::AtClaim,
                _ if vouched() => Remedy::FromJournal,
                _ => Remedy::SetAside,
            };
            Some((reason.clone(), remedy))
        }
        // Other tools write markers too, but not where our own result stands.
        Body::Foreign if vouched() => {
            let reason = if marker.version.size == 0 {
                "it is empty"
            } else {
                "it is not what its worker wrote"
            };
            Some((reason.to_owned(), Remedy::FromJournal))
        }
        Body::Ours(_) | Body::Foreign => None,
    }
}

/// Tells whether a journal's ending says what the marker must have said.
fn vouches(paths: &RunPaths, marker: &Marker, ending: &Finished) -> bool {
    let kind = if ending.completed {
        RecordKind::Completed
    } else {
        RecordKind::Failed
    };
    marker.kind == kind && (!ending.completed || files_match(paths, ending))
}

impl FileStore {
    /// Makes the damaged markers of these jobs again, or sets them aside. Jobs that a
    /// live worker has are left to it.
    pub fn repair_markers(&self, jobs: &[JobId], now: Timestamp) -> Result<(), StoreError> {
        for job in jobs {
            let Some(lock) = self.try_lock_job(job)? else {
                continue; // Somebody works on it this moment.
            };
            if !self.claimed_by_live_worker(job)? {
                self.repair_markers_of(&lock, now)?;
            }
        }
        self.forget_names();
        Ok(())
    }

    fn repair_markers_of(&self, lock: &JobLock<'_>, now: Timestamp) -> Result<(), StoreError> {
        let job = lock.job;
        let state = self.paths().state();
        let evidence = Evidence::read(self.paths(), job).context("read markers in", &state)?;
        let ending = self.latest_ending(job)?;
        let told = ending.as_ref().map(|(finished, _)| finished);
        let mut vouched = false;
        for marker in &evidence.markers {
            let Some((reason, remedy)) = judge(self.paths(), marker, told) else {
                continue;
            };
            if remedy == Remedy::AtClaim {
                continue;
            }
            vouched |= remedy == Remedy::FromJournal;
            let kind = marker.kind.file();
            let kept = evidence::set_aside(self.paths(), job, kind)
                .context("set aside a marker in", &state)?;
            self.warn(format!(
                "{} is damaged ({reason}); kept as {kept}",
                kind.name(job)
            ));
        }
        if let Some((finished, author)) = ending.as_ref().filter(|_| vouched) {
            self.roll_forward(lock, finished, author, now)?;
        }
        Ok(())
    }
}
