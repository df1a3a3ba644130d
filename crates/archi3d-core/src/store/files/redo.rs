//! What a redo does to the marker of the result it would replace.
//!
//! The older result stands until the redo has succeeded, so a redo that brings
//! nothing leaves its number and its open purchase in that result's marker.

use crate::domain::id::JobId;
use crate::domain::naming::StateFile;
use crate::domain::purchase::OpenPurchase;
use crate::domain::time::Timestamp;
use crate::platform::{self, fault};
use crate::store::error::{IoContext, StoreError};
use crate::workspace::durable;

use super::FileStore;
use super::claim::remove_if_there;
use super::evidence::Evidence;
use super::finish::read_hint;
use super::job_lock::JobLock;
use super::marker::{Marker, RecordKind};
use super::projection::{Hint, Wanted};

impl FileStore {
    /// Gives a result that only the registry knows of a marker, so that it rules
    /// again if its redo fails.
    pub(super) fn vouch_for_result(
        &self,
        lock: &JobLock<'_>,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let path = self.paths().state_file(lock.job, StateFile::Completed);
        let text = format!(
            "timestamp: {}\npid: {}\n",
            now.fixed_width(),
            self.identity.pid
        );
        platform::publish(&path, text.as_bytes()).context("publish", &path)?;
        fault::here("redo.vouched");
        Ok(())
    }

    /// Ends a redo that brought nothing: the older result's marker remembers it,
    /// then the lease goes.
    pub(super) fn end_redo(
        &self,
        lock: &JobLock<'_>,
        attempt: u32,
        purchase: &OpenPurchase,
    ) -> Result<(), StoreError> {
        let job = lock.job;
        let state = self.paths().state();
        let evidence = Evidence::read(self.paths(), job).context("read markers in", &state)?;
        let older = evidence.of(RecordKind::Completed);
        if let Some(record) = older.and_then(Marker::record)
            && let Some(written) = older.and_then(|marker| marker.beat)
        {
            let mut record = record.clone();
            record.tried = attempt;
            record.set_purchase(purchase.clone());
            let path = self.paths().state_file(job, StateFile::Completed);
            let text = record.text(&self.identity, written);
            durable::replace(&path, text.as_bytes(), self.identity.worker_id.as_str())
                .context("write", &path)?;
            fault::here("redo.older_marked");
        }
        let lease = self.paths().state_file(job, StateFile::InProgress);
        remove_if_there(&lease).context("remove", &lease)?;
        fault::here("redo.lease_gone");
        Ok(())
    }

    /// Returns a hint of what rules once the lease of a redo is gone. The result's
    /// whole patch is in it, so that the fold knows it for made durable.
    pub(super) fn ruling_hint(&self, job: &JobId) -> Result<Hint, StoreError> {
        let state = self.paths().state();
        let evidence = Evidence::read(self.paths(), job).context("read markers in", &state)?;
        let mut hint = read_hint(job);
        if let Some(wanted) =
            Wanted::by_evidence(self.paths(), job, &evidence, &self.identity.facts)
        {
            hint.wanted = wanted;
        }
        Ok(hint)
    }
}
