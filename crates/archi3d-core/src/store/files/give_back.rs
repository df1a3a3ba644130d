//! Giving a job back unfinished, and noting what happens while it runs.
//!
//! A job that was given back waits again; its marker carries an open purchase
//! and the number of failures to the next attempt.

use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use crate::domain::id::JobId;
use crate::domain::job::Entry;
use crate::domain::lease::Lease;
use crate::domain::naming::StateFile;
use crate::domain::patch::Patch;
use crate::domain::purchase::{OpenIntent, OpenPurchase, PurchaseEnd};
use crate::domain::text::error_cell;
use crate::domain::time::Timestamp;
use crate::platform::{self, fault};
use crate::store::error::{IoContext, StoreError};
use crate::store::{Beat, ReleaseReason, Setback, WorkerStore as _};

use super::FileStore;
use super::journal::What;
use super::marker::{Record, RecordKind};

impl FileStore {
    pub(super) fn release_job(
        &self,
        lease: &Lease,
        reason: ReleaseReason,
        not_before: Option<Timestamp>,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let what = What::Released {
            job_id: lease.job_id.clone(),
            attempt: lease.attempt,
            nonce: lease.nonce.clone(),
            reason,
            class: None,
            error: None,
            cut_off: false,
            purchase: PurchaseEnd::Open,
            purchases: 0,
            cost_usd: None,
        };
        fault::here("release.before");
        let change = |record: &Record| {
            let mut record = given_back(record, RecordKind::Released, not_before);
            record.holder_died |= reason == ReleaseReason::Unreachable;
            record
        };
        self.give_back(lease, change, what, now)
    }

    pub(super) fn requeue_job(
        &self,
        lease: &Lease,
        setback: Setback,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let mut purchase = self.purchase_of(&lease.job_id);
        purchase.end(setback.purchase);
        let what = What::Released {
            job_id: lease.job_id.clone(),
            attempt: lease.attempt,
            nonce: lease.nonce.clone(),
            reason: ReleaseReason::Retry,
            class: Some(setback.class),
            error: Some(setback.message.clone()),
            cut_off: setback.cut_off,
            purchase: setback.purchase,
            purchases: purchase.ended,
            cost_usd: setback.cost_usd,
        };
        fault::here("put_off.before");
        let change = |record: &Record| {
            let mut record = given_back(record, RecordKind::Released, setback.not_before);
            record.set_purchase(purchase.clone());
            record.class = Some(setback.class);
            // Whoever began this attempt was told.
            record.holder_died = false;
            record.failures += u32::from(setback.counts);
            if let Some(patch) = &mut record.patch {
                // The row shows why the job waits.
                patch.set("error_msg", error_cell(&setback.message));
            }
            record
        };
        self.give_back(lease, change, what, now)
    }

    /// Makes the lease and its name survive a power loss.
    pub(super) fn secure_lease(&self, lease: &Lease) -> Result<(), StoreError> {
        let journal = &self.shared.journal;
        fault::here("secure.before");
        self.shared.sync_names()?;
        journal.sync().context("sync", journal.path())?;
        let state = self.paths().state();
        if let Some(held) = self.held(&lease.job_id) {
            let held = held.lock().unwrap_or_else(PoisonError::into_inner);
            let synced = held.as_ref().map(|held| held.file.sync_all());
            synced.transpose().context("sync a lease in", &state)?;
        }
        platform::sync_dir(&state).context("sync", &state)?;
        fault::here("secure.after");
        Ok(())
    }

    pub(super) fn cancel_job(&self, lease: &Lease, now: Timestamp) -> Result<(), StoreError> {
        let what = What::Cancelled {
            job_id: lease.job_id.clone(),
            attempt: lease.attempt,
            nonce: lease.nonce.clone(),
        };
        fault::here("cancel.before");
        let change = |record: &Record| given_back(record, RecordKind::Cancelled, None);
        self.give_back(lease, change, what, now)?;
        fault::here("cancel.marked");
        Ok(())
    }

    fn give_back(
        &self,
        lease: &Lease,
        change: impl FnOnce(&Record) -> Record,
        what: What,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let mut held = self.let_go(&lease.job_id);
        // A full disk may refuse the note; the marker matters more.
        let void =
            matches!(&what, What::Released { purchase, .. } if *purchase == PurchaseEnd::Void);
        let noted = self.note(now, what);
        fault::here("give_back.journalled");
        if void {
            // The next attempt buys under another key, which must not be forgotten. Where
            // that cannot be promised, nothing new is taken.
            let _ = self.sync_journal();
            self.made_results.store(true, Ordering::SeqCst);
        }
        let lock = self.lock_held(&lease.job_id, held.as_mut())?;
        fault::here("give_back.locked");
        self.discard(&lease.staging);
        fault::here("give_back.staging_gone");
        if let Some(held) = held.filter(|held| self.still_names(&lease.job_id, held)) {
            if lease.entry == Entry::Redo {
                let purchase = change(&held.record).purchase();
                self.end_redo(&lock, lease.attempt, &purchase)?;
            } else {
                let mut record = change(&held.record);
                if self.is_asked_for(&lease.job_id) {
                    // Somebody asked to stop it before it could be given back.
                    record = given_back(&record, RecordKind::Cancelled, None);
                }
                let text = record.text(&self.identity, now);
                self.turn_lease(&record, held.lease_file(), &text, true)?;
            }
            self.remove_state_file(&lease.job_id, StateFile::Cancel)?;
        } else {
            self.note(
                now,
                What::Fenced {
                    job_id: lease.job_id.clone(),
                    attempt: lease.attempt,
                    nonce: lease.nonce.clone(),
                },
            )?;
        }
        fault::here("give_back.marked");
        self.committer.hint(self.ruling_hint(&lease.job_id)?);
        noted
    }

    /// Returns what a job that we hold has bought or meant to buy.
    fn purchase_of(&self, job: &JobId) -> OpenPurchase {
        let held = self.held(job);
        let held = held
            .as_ref()
            .map(|held| held.lock().unwrap_or_else(PoisonError::into_inner));
        let held = held.as_ref().and_then(|held| held.as_ref());
        held.map(|held| held.record.purchase()).unwrap_or_default()
    }

    /// Makes everything in the journal survive a power loss.
    fn sync_journal(&self) -> Result<(), StoreError> {
        self.shared.sync_names()?;
        let journal = &self.shared.journal;
        let synced = fault::io("purchase.syncing").and_then(|()| journal.sync());
        if let Err(error) = synced {
            self.shared
                .set_trouble(Some(format!("cannot sync the journal: {error}")));
            return Err(error).context("sync", journal.path());
        }
        Ok(())
    }

    /// Notes an intent to buy, if the lease is still ours: in the journal, synced,
    /// then in the lease.
    pub(super) fn note_intent(
        &self,
        lease: &Lease,
        correlation: &str,
        now: Timestamp,
    ) -> Result<Beat, StoreError> {
        let beat = self.beat(lease, now)?;
        if beat != Beat::Held {
            return Ok(beat);
        }
        let mut purchase = self.purchase_of(&lease.job_id);
        fault::here("intent.before");
        self.note(
            now,
            What::Intent {
                job_id: lease.job_id.clone(),
                attempt: lease.attempt,
                nonce: lease.nonce.clone(),
                correlation: correlation.to_owned(),
                purchases: purchase.ended,
            },
        )?;
        fault::here("intent.journalled");
        self.sync_journal()?;
        fault::here("intent.synced");
        purchase.intend(OpenIntent {
            correlation: correlation.to_owned(),
            at: now,
        });
        let held = self.write_in_lease(lease, purchase, now)?;
        fault::here("intent.in_lease");
        Ok(if held { Beat::Held } else { Beat::Lost })
    }

    /// Writes the purchase into the lease; tells whether the lease is ours.
    fn write_in_lease(
        &self,
        lease: &Lease,
        purchase: OpenPurchase,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        // From here on the marker that carries the purchase must be made durable
        // before the journal is closed and read no more.
        self.made_results.store(true, Ordering::SeqCst);
        let Some(held) = self.held(&lease.job_id) else {
            return Ok(false);
        };
        let mut held = held.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(held) = held.as_mut() else {
            return Ok(false);
        };
        held.record.set_purchase(purchase);
        if !self.still_names(&lease.job_id, held) {
            return Ok(false);
        }
        let text = held.record.text(&self.identity, now);
        let path = self
            .paths()
            .state_file(&lease.job_id, StateFile::InProgress);
        platform::write_at(&held.file, text.as_bytes(), 0)
            .and_then(|()| held.file.set_len(text.len() as u64))
            .context("write", &path)?;
        held.length = text.len();
        Ok(true)
    }

    /// Notes a purchase: in the journal, synced, then in the lease for all to see.
    pub(super) fn note_submitted(
        &self,
        lease: &Lease,
        request_id: &str,
        cost_usd: Option<f64>,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let mut purchase = self.purchase_of(&lease.job_id);
        fault::here("submit.before");
        self.note(
            now,
            What::Submitted {
                job_id: lease.job_id.clone(),
                attempt: lease.attempt,
                nonce: lease.nonce.clone(),
                request_id: request_id.to_owned(),
                cost_usd,
                purchases: purchase.ended,
            },
        )?;
        fault::here("submit.journalled");
        self.sync_journal()?;
        fault::here("submit.synced");
        purchase.submit(request_id);
        if self.write_in_lease(lease, purchase, now)? {
            fault::here("submit.in_lease");
        }
        Ok(())
    }
}

pub(super) fn given_back(
    lease: &Record,
    kind: RecordKind,
    not_before: Option<Timestamp>,
) -> Record {
    // A job that was given back should not look as if it ran.
    let mut patch = Patch::status(kind.status());
    for column in [
        "generation_start",
        "worker_host",
        "worker_user",
        "worker_gpu",
        "worker_env",
        "worker_commit",
    ] {
        patch.set(column, "");
    }
    if lease.entry == Entry::Perform {
        patch.forget_rehearsal();
    }
    Record {
        kind,
        not_before,
        patch: Some(patch),
        ..lease.clone()
    }
}
