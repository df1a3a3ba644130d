//! Taking jobs out of a run and putting them back, on behalf of a person.
//!
//! Used by `run cancel`. A job without a live holder gets its `.cancelled` marker
//! here; one with a live holder is only asked for, by `<job>.cancel`, and its
//! holder stops it. Rows follow with the fold at the end, all at once.

use std::sync::atomic::Ordering;

use crate::domain::id::{JobId, Nonce};
use crate::domain::job::{Entry, JobEvent, JobState};
use crate::domain::lease::Verdict;
use crate::domain::naming::StateFile;
use crate::domain::time::Timestamp;
use crate::platform::fault;
use crate::store::error::{IoContext, StoreError};
use crate::store::{Cancellation, JobToRetry, Restored};
use crate::workspace::durable;

use super::claim::{after, remove_if_there};
use super::evidence::{self, Evidence};
use super::give_back::given_back;
use super::job_lock::JobLock;
use super::journal::What;
use super::marker::{AttemptOf, Marker, Record, RecordKind};
use super::{FileStore, recover};

/// Tells whether a claim obeys a request to stop the job: to retry or redo is a later
/// wish than to cancel.
pub(super) fn heeds_requests(entry: Entry) -> bool {
    matches!(entry, Entry::Fresh | Entry::Takeover)
}

impl FileStore {
    pub(super) fn try_cancel(
        &self,
        job: &JobId,
        now: Timestamp,
    ) -> Result<Cancellation, StoreError> {
        let lock = self.lock_job(job)?;
        let Some(evidence) = self.sound_evidence(&lock)? else {
            // Whoever is just writing these markers will see the request.
            return self.ask_holder(job, now);
        };
        let row = self.row(job)?;
        let state = evidence::state_of(&evidence, &row);
        if let JobState::Cancelled { .. } = state {
            self.remove_state_file(job, StateFile::InProgress)?;
            return Ok(Cancellation::AlreadyCancelled);
        }
        if state.apply(JobEvent::Cancelled).is_err() {
            return Ok(Cancellation::Untouched(state));
        }
        if let Some(lease) = evidence.lease() {
            let verdict = self.watch.verdict(self.paths(), job, lease, now);
            if verdict.context("judge a holder in", &self.paths().state())? != Verdict::Dead {
                return self.ask_holder(job, now);
            }
            if let Some(state) = self.roll_forward_lease(&lock, lease, now)? {
                return Ok(Cancellation::Untouched(state));
            }
        }
        self.cancel_now(&lock, &evidence, state, now)
    }

    /// Honours a request to stop a job that its holder did not come to, because it
    /// died or gave the job back.
    pub(super) fn cancel_if_asked(
        &self,
        lock: &JobLock<'_>,
        entry: Entry,
        evidence: &Evidence,
        state: JobState,
        now: Timestamp,
    ) -> Result<Option<JobState>, StoreError> {
        let job = lock.job;
        if !heeds_requests(entry) || !self.is_asked_for(job) {
            return Ok(None);
        }
        self.cancel_now(lock, evidence, state, now)?;
        let attempt = state.attempt();
        let left = Evidence::read(self.paths(), job);
        let left = left.context("read markers in", &self.paths().state())?;
        Ok(Some(
            left.state(false).unwrap_or(JobState::Cancelled { attempt }),
        ))
    }

    /// Tells whether the job was asked to stop.
    pub(super) fn is_asked_for(&self, job: &JobId) -> bool {
        let path = self.paths().state_file(job, StateFile::Cancel);
        path.symlink_metadata().is_ok()
    }

    fn ask_holder(&self, job: &JobId, now: Timestamp) -> Result<Cancellation, StoreError> {
        let path = self.paths().state_file(job, StateFile::Cancel);
        let text = format!(
            "timestamp: {}\npid: {}\n",
            now.fixed_width(),
            self.identity.pid
        );
        durable::replace(&path, text.as_bytes(), self.identity.worker_id.as_str())
            .context("write", &path)?;
        fault::here("cancel_job.asked");
        Ok(Cancellation::Asked)
    }

    /// Cancels a job without a live holder. The marker comes first and outranks
    /// everything that goes after it, so a crash in between changes nothing.
    fn cancel_now(
        &self,
        lock: &JobLock<'_>,
        evidence: &Evidence,
        state: JobState,
        now: Timestamp,
    ) -> Result<Cancellation, StoreError> {
        let job = lock.job;
        fault::here("cancel_job.before");
        let attempt = state.attempt();
        let dead = evidence.lease().and_then(Marker::record);
        let purchase = self.open_purchase(job, evidence, &self.row(job)?)?;
        if let Some(record) = dead {
            self.note(
                now,
                What::Cancelled {
                    job_id: job.clone(),
                    attempt: record.attempt,
                    nonce: record.nonce.clone(),
                },
            )?;
        }
        let redo = dead.is_some_and(|record| record.entry == Entry::Redo);
        let cancellation = if redo {
            self.end_redo(lock, attempt, &purchase)?;
            Cancellation::RedoStopped
        } else {
            let base = match evidence.ruling().and_then(Marker::record) {
                Some(record) => record.clone(),
                None => self.blank_record(job, attempt, evidence, now),
            };
            let mut record = given_back(&base, RecordKind::Cancelled, None);
            record.set_purchase(purchase.clone());
            record.failures = 0;
            record.holder_died =
                matches!(state, JobState::Running { .. }) || evidence.holder_died();
            self.write_standing(&record, now)?;
            Cancellation::Cancelled {
                request_id: purchase.request_id,
            }
        };
        fault::here("cancel_job.marked");
        if let Some(record) = dead
            && self.watch.is_proved_dead(self.paths(), record)
        {
            self.discard(&self.paths().staging().join(recover::staging_of(record)));
        }
        for kind in [
            StateFile::InProgress,
            StateFile::Released,
            StateFile::Cancel,
        ] {
            self.remove_state_file(job, kind)?;
            fault::here("cancel_job.clearing");
        }
        Ok(cancellation)
    }

    pub(super) fn restore_job(&self, job: &JobId, now: Timestamp) -> Result<Restored, StoreError> {
        let lock = self.lock_job(job)?;
        let Some(evidence) = self.sound_evidence(&lock)? else {
            return self.revoke_request(job);
        };
        let state = evidence::state_of(&evidence, &self.row(job)?);
        let JobState::Cancelled { attempt } = state else {
            return match state {
                JobState::Running { .. } | JobState::Enqueued { .. } => self.revoke_request(job),
                _ => Ok(Restored::Untouched(state)),
            };
        };
        let base = match evidence.ruling().and_then(Marker::record) {
            Some(record) => record.clone(),
            None => self.blank_record(job, attempt, &evidence, now),
        };
        let mut restored = given_back(&base, RecordKind::Released, None);
        restored.set_purchase(evidence.purchase());
        // A lease that a crash left behind would outrank the new marker.
        self.remove_state_file(job, StateFile::InProgress)?;
        fault::here("restore.before");
        self.write_standing(&restored, now)?;
        fault::here("restore.marked");
        self.remove_state_file(job, StateFile::Cancelled)?;
        fault::here("restore.restored");
        self.remove_state_file(job, StateFile::Cancel)?;
        Ok(Restored::Waiting)
    }

    /// Has a failed job wait again; tells whether it does.
    pub(super) fn try_job_again(
        &self,
        wanted: &JobToRetry,
        resubmit: bool,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let job = &wanted.job_id;
        let lock = self.lock_job(job)?;
        let Some(evidence) = self.sound_evidence(&lock)? else {
            return Ok(false);
        };
        let row = self.row(job)?;
        let state = evidence::state_of(&evidence, &row);
        let attempt = state.attempt();
        if state.apply(JobEvent::WantedAgain).is_err()
            || wanted.attempt.is_some_and(|seen| seen != attempt)
        {
            return Ok(false);
        }
        let purchase = self.open_purchase(job, &evidence, &row)?;
        let doubtful =
            evidence.is_doubtful() || evidence.markers.is_empty() && self.past()?.is_doubtful(job);
        if doubtful && purchase.intent.is_none() && !resubmit {
            return Ok(false);
        }
        let base = match evidence.ruling().and_then(Marker::record) {
            Some(record) => record.clone(),
            None => self.blank_record(job, attempt, &evidence, now),
        };
        let mut waiting = given_back(&base, RecordKind::Released, None);
        waiting.set_purchase(purchase);
        waiting.again = Some(resubmit);
        waiting.claimed_at = after(now, row.start.max(evidence.latest_start()));
        waiting.failures = 0;
        waiting.holder_died = false;
        waiting.class = None;
        waiting.outputs.clear();
        self.remove_state_file(job, StateFile::InProgress)?;
        fault::here("again.before");
        let path = self.paths().state_file(job, StateFile::Released);
        let text = waiting.text(&self.identity, now);
        durable::replace(&path, text.as_bytes(), self.identity.worker_id.as_str())
            .context("write", &path)?;
        self.made_results.store(true, Ordering::SeqCst);
        fault::here("again.marked");
        if evidence.of(RecordKind::Completed).is_some() {
            // Its result was found missing or broken; what is left of it stays.
            let state = self.paths().state();
            evidence::set_aside(self.paths(), job, StateFile::Completed)
                .context("set aside a marker in", &state)?;
        }
        self.remove_state_file(job, StateFile::Failed)?;
        fault::here("again.cleared");
        self.remove_state_file(job, StateFile::Cancel)?;
        self.committer.hint(self.ruling_hint(job)?);
        Ok(true)
    }

    /// Takes a request to stop a job back that its holder has not seen yet.
    fn revoke_request(&self, job: &JobId) -> Result<Restored, StoreError> {
        if !self.is_asked_for(job) {
            return Ok(Restored::NotCancelled);
        }
        self.remove_state_file(job, StateFile::Cancel)?;
        Ok(Restored::RequestRevoked)
    }

    /// Writes the marker of a job without a holder; an open purchase in it, or the
    /// doubt whether there is one, must not depend on a journal that may be closed.
    fn write_standing(&self, record: &Record, now: Timestamp) -> Result<(), StoreError> {
        let path = self.paths().state_file(&record.job_id, record.kind.file());
        let text = record.text(&self.identity, now);
        let tag = self.identity.worker_id.as_str();
        let open = record.request_id.is_some() || record.intent.is_some();
        let written = if open || record.purchases > 0 || record.holder_died {
            durable::replace(&path, text.as_bytes(), tag)
        } else {
            durable::replace_unsynced(&path, text.as_bytes(), tag).map(drop)
        };
        written.context("write", &path)?;
        self.made_results.store(true, Ordering::SeqCst);
        Ok(())
    }

    pub(super) fn remove_state_file(&self, job: &JobId, kind: StateFile) -> Result<(), StoreError> {
        let path = self.paths().state_file(job, kind);
        remove_if_there(&path).context("remove", &path)
    }

    /// Returns the record of a job that no attempt of ours has touched.
    fn blank_record(
        &self,
        job: &JobId,
        attempt: u32,
        evidence: &Evidence,
        now: Timestamp,
    ) -> Record {
        let of = AttemptOf {
            run_id: &self.shared.run_id,
            job_id: job,
            attempt,
            nonce: Nonce::new(uuid::Uuid::new_v4().simple().to_string()),
            worker_id: &self.identity.worker_id,
            boot_id: &self.identity.boot_id,
            claimed_at: now,
            entry: Entry::Fresh,
        };
        Record {
            purchases: evidence.purchase().ended,
            ..Record::new(RecordKind::Released, of)
        }
    }
}
