//! The lock of one job, as a value: whatever may only be done under it takes a [`JobLock`],
//! so that it cannot be done without.

use crate::domain::id::JobId;
use crate::domain::naming::StateFile;
use crate::store::error::{IoContext, StoreError};
use crate::workspace::lock::{FileLock, ParkedLock};

use super::{FileStore, Held};

/// The lock of a job, held until it is dropped.
#[derive(Debug)]
pub(super) struct JobLock<'j> {
    pub(super) job: &'j JobId,
    lock: FileLock,
}

impl JobLock<'_> {
    /// Lets the lock go and keeps its file open.
    pub(super) fn park(self) -> Option<ParkedLock> {
        self.lock.park()
    }
}

impl FileStore {
    /// Takes a job's lock if it is free right now.
    pub(super) fn try_lock_job<'j>(
        &self,
        job: &'j JobId,
    ) -> Result<Option<JobLock<'j>>, StoreError> {
        let path = self.paths().state_file(job, StateFile::Lock);
        let lock = FileLock::try_acquire(&path).context("lock", &path)?;
        Ok(lock.map(|lock| JobLock { job, lock }))
    }

    /// Takes a job's lock however long it takes: the journal already holds what
    /// is to be done, so waiting loses nothing.
    pub(super) fn lock_job<'j>(&self, job: &'j JobId) -> Result<JobLock<'j>, StoreError> {
        self.job_moves();
        let path = self.paths().state_file(job, StateFile::Lock);
        let stopped = || self.closed(format!("stopped while waiting for {}", path.display()));
        let lock = self.wait_for(&path)?.ok_or_else(stopped)?;
        Ok(JobLock { job, lock })
    }

    /// Takes the lock of a job that we hold, by way of the file that the claim opened.
    pub(super) fn lock_held<'j>(
        &self,
        job: &'j JobId,
        held: Option<&mut Held>,
    ) -> Result<JobLock<'j>, StoreError> {
        let parked = held.and_then(|held| held.lock.take());
        let path = self.paths().state_file(job, StateFile::Lock);
        // Whatever is amiss with it, the usual way finds out what.
        match parked.map(|parked| parked.try_acquire(&path)) {
            Some(Ok(Some(lock))) => {
                self.job_moves();
                Ok(JobLock { job, lock })
            }
            _ => self.lock_job(job),
        }
    }
}
