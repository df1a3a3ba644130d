//! Ending an attempt: journal first, then, under the job's lock and only if the
//! lease is still ours, the result into its place and the lease into a terminal.

use std::collections::HashSet;
use std::fs::{self, File};
use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use crate::domain::id::{JobId, Nonce, WorkerId};
use crate::domain::job::{Entry, Status};
use crate::domain::lease::Lease;
use crate::domain::naming::{self, StateFile};
use crate::domain::patch::Patch;
use crate::domain::purchase::{OpenPurchase, PurchaseEnd};
use crate::domain::time::Timestamp;
use crate::platform::{self, fault};
use crate::store::error::{IoContext, StoreError};
use crate::store::shelf;
use crate::store::{Ending, Finish, Outcome};
use crate::workspace::durable;

use super::claim::remove_if_there;
use super::evidence::Evidence;
use super::job_lock::JobLock;
use super::journal::{Finished, What};
use super::marker::{AttemptOf, Marker, Record, RecordKind};
use super::projection::{Hint, Proof, Wanted};
use super::registry::RowColumns;
use super::{FileStore, Held, open};

/// Whose result is being published: the worker that made it.
pub(super) struct Author {
    pub(super) worker_id: WorkerId,
    pub(super) boot_id: String,
}

/// What publishing came to.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Published {
    Yes,
    OldResultKept,
    /// Somebody else's terminal is there.
    NameTaken,
}

/// The file of a lease that becomes the marker of an ending.
#[derive(Clone, Copy)]
pub(super) struct LeaseFile<'a> {
    pub(super) file: &'a File,
    pub(super) length: usize,
    /// Whether we hold it: our claim has removed what older attempts had left.
    pub(super) is_held: bool,
}

impl Held {
    pub(super) fn lease_file(&self) -> LeaseFile<'_> {
        LeaseFile {
            file: &self.file,
            length: self.length,
            is_held: true,
        }
    }
}

impl FileStore {
    pub(super) fn finish_job(&self, lease: &Lease, ending: Ending) -> Result<Finish, StoreError> {
        let mut held = self.let_go(&lease.job_id);
        let purchase = held.as_ref().map(|held| held.record.purchase());
        let at = ending.at;
        let finished = finished_line(lease, ending, purchase.unwrap_or_default());
        fault::here("finish.before");
        match self.note(at, What::Finished(Box::new(finished.clone()))) {
            Ok(()) => {
                self.unpublished().insert(lease.job_id.clone());
            }
            // The disk is full or failing. The terminal says the same and takes the
            // lease's place on the disk, so a result that was paid for is published
            // all the same; but nothing new may be taken.
            Err(error) => self
                .shared
                .set_trouble(Some(format!("{error}: {}", source_of(&error)))),
        }
        fault::here("finish.journalled");
        let lock = self.lock_held(&lease.job_id, held.as_mut())?;
        let finish = self.publish_noted(&lock, lease, held, &finished, at)?;
        drop(lock);
        fault::here("finish.unlocked");
        self.unpublished().remove(&lease.job_id);
        let mut ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        ended.insert(lease.job_id.clone());
        Ok(finish)
    }

    /// Counts the endings of ours that have a marker and no row that says the same.
    pub(super) fn count_endings_not_shown(&self) -> Result<usize, StoreError> {
        let ended = std::mem::take(&mut *self.ended.lock().unwrap_or_else(PoisonError::into_inner));
        if ended.is_empty() {
            return Ok(0);
        }
        let mut registry = self.registry();
        let names = self.names_for(&mut registry)?;
        let table = registry.load()?;
        let columns = RowColumns::of(table);
        let found = open::contradictions(table, &self.shared.run_id, self.paths());
        let mixed_up = found.mixed_up;
        let mixed_up: HashSet<String> = mixed_up.into_iter().map(|(job, _)| job).collect();
        let mut is_shown = |job: &JobId| match columns.find(table, &self.shared.run_id, job) {
            Some(_) if mixed_up.contains(job.as_str()) => false,
            Some(row) => {
                let downgraded = row.brief(None).downgraded;
                let agrees = |status: &Status| names.agree(job.as_str(), *status);
                downgraded || row.status.as_ref().is_ok_and(agrees)
            }
            None => false,
        };
        let marked = |job: &&JobId| {
            let kinds = names.of(job.as_str());
            kinds.is_some_and(|kinds| {
                kinds.has(RecordKind::Completed) || kinds.has(RecordKind::Failed)
            })
        };
        let marked = ended.iter().filter(marked);
        Ok(marked.filter(|job| !is_shown(job)).count())
    }

    /// Publishes an ending that was just noted, if the job is still ours or free.
    fn publish_noted(
        &self,
        lock: &JobLock<'_>,
        lease: &Lease,
        held: Option<Held>,
        finished: &Finished,
        at: Timestamp,
    ) -> Result<Finish, StoreError> {
        fault::here("finish.locked");
        let author = Author {
            worker_id: self.identity.worker_id.clone(),
            boot_id: self.identity.boot_id.clone(),
        };
        if let Some(held) = held.filter(|held| self.still_names(&lease.job_id, held)) {
            // Another tool may have finished the job beside us: its result stands.
            if self.terminal_in_the_way(lease)? {
                return self.give_way(lease, at);
            }
            let lease_file = Some(held.lease_file());
            return match self.publish_finished(lock, finished, &author, lease_file, at)? {
                Published::Yes => Ok(Finish::Published),
                Published::OldResultKept => Ok(Finish::OldResultKept),
                Published::NameTaken => self.give_way(lease, at),
            };
        }
        let taken = self.sound_evidence(lock)?.is_none_or(|evidence| {
            evidence.lease().is_some()
                || evidence.of(RecordKind::Completed).is_some()
                || evidence.of(RecordKind::Failed).is_some()
                || evidence.of(RecordKind::Cancelled).is_some()
                || evidence.highest_attempt() > lease.attempt
        });
        if taken {
            return self.fence(lease, at);
        }
        match self.publish_finished(lock, finished, &author, None, at)? {
            Published::Yes => Ok(Finish::Adopted),
            Published::OldResultKept => Ok(Finish::OldResultKept),
            Published::NameTaken => self.fence(lease, at),
        }
    }

    /// Tells whether the lease at its path is still the file we hold.
    pub(super) fn still_names(&self, job: &JobId, held: &Held) -> bool {
        let path = self.paths().state_file(job, StateFile::InProgress);
        fs::symlink_metadata(path).is_ok_and(|named| platform::identity(&named) == held.identity)
    }

    /// Tells whether a terminal stands that this attempt must not replace. An
    /// older one of ours that a claim did not come to remove goes now.
    fn terminal_in_the_way(&self, lease: &Lease) -> Result<bool, StoreError> {
        let state = self.paths().state();
        for kind in [RecordKind::Completed, RecordKind::Failed] {
            let path = self.paths().state_file(&lease.job_id, kind.file());
            let marker = Marker::read(&path, kind, &lease.job_id);
            let Some(marker) = marker.context("read markers in", &state)? else {
                continue;
            };
            let older = marker
                .record()
                .is_some_and(|record| record.attempt < lease.attempt);
            let redone = lease.entry == Entry::Redo && kind == RecordKind::Completed;
            if redone && (older || marker.record().is_none()) {
                continue;
            }
            if !older {
                return Ok(true);
            }
            remove_if_there(&path).context("remove", &path)?;
            fault::here("finish.older_gone");
        }
        Ok(false)
    }

    /// Ends an attempt beside somebody else's result: the lease goes, which
    /// would otherwise outrank that result for ever.
    fn give_way(&self, lease: &Lease, at: Timestamp) -> Result<Finish, StoreError> {
        let path = self
            .paths()
            .state_file(&lease.job_id, StateFile::InProgress);
        remove_if_there(&path).context("remove", &path)?;
        fault::here("give_way.lease_gone");
        self.fence(lease, at)
    }

    /// Ends an attempt whose job somebody else has.
    fn fence(&self, lease: &Lease, at: Timestamp) -> Result<Finish, StoreError> {
        fault::here("fence.before");
        let kept_at = self.move_to_late(lease)?;
        fault::here("fence.aside");
        self.note(
            at,
            What::Fenced {
                job_id: lease.job_id.clone(),
                attempt: lease.attempt,
                nonce: lease.nonce.clone(),
            },
        )?;
        self.committer.hint(read_hint(&lease.job_id));
        Ok(Finish::Fenced { kept_at })
    }

    /// Publishes an ending that the journal holds; the caller knows that no other claim or
    /// result is in force. Every step can be repeated after a crash.
    pub(super) fn publish_finished(
        &self,
        lock: &JobLock<'_>,
        finished: &Finished,
        author: &Author,
        lease_file: Option<LeaseFile<'_>>,
        at: Timestamp,
    ) -> Result<Published, StoreError> {
        let job = lock.job;
        if !finished.simulated {
            self.made_results.store(true, Ordering::SeqCst);
        }
        if finished.entry == Entry::Redo && !finished.completed {
            return self.keep_old_result(lock, finished, lease_file.is_some());
        }
        if finished.completed {
            self.place_outputs(finished)?;
        } else {
            self.write_error_text(job, finished.error_text.as_deref().unwrap_or_default())?;
        }
        fault::here("publish_result.placed");
        let record = terminal_record(finished, author, &self.shared.run_id);
        let Some(hint) = self.publish_terminal(&record, finished.entry, lease_file, at)? else {
            return Ok(Published::NameTaken);
        };
        fault::here("publish_result.marked");
        // It ended before its holder heard that somebody wanted it stopped.
        self.remove_state_file(job, StateFile::Cancel)?;
        if finished.completed {
            self.remove_state_file(job, StateFile::ErrorText)?;
            if !lease_file.is_some_and(|lease| lease.is_held) {
                self.remove_state_file(job, StateFile::Failed)?;
                self.remove_state_file(job, StateFile::Released)?;
            }
        } else {
            self.discard(&self.paths().staging().join(&finished.staging));
        }
        fault::here("publish_result.cleared");
        self.committer.hint(hint);
        Ok(Published::Yes)
    }

    /// Ends a redo that failed: the lease goes, the old terminal rules again.
    fn keep_old_result(
        &self,
        lock: &JobLock<'_>,
        finished: &Finished,
        leased: bool,
    ) -> Result<Published, StoreError> {
        let job = lock.job;
        if leased {
            self.end_redo(lock, finished.attempt, &finished.open_purchase())?;
        }
        self.remove_state_file(job, StateFile::Cancel)?;
        self.discard(&self.paths().staging().join(&finished.staging));
        self.committer.hint(self.ruling_hint(job)?);
        Ok(Published::OldResultKept)
    }

    /// Moves the staging folder to its final name; an older result is kept aside.
    fn place_outputs(&self, finished: &Finished) -> Result<(), StoreError> {
        let staging = self.paths().staging().join(&finished.staging);
        let (job, attempt) = (&finished.job_id, finished.attempt);
        let kept = naming::kept_dir(job, attempt - 1, &finished.nonce);
        shelf::place(self.paths(), &staging, job, &kept, finished.simulated)
    }

    fn write_error_text(&self, job: &JobId, text: &str) -> Result<(), StoreError> {
        let path = self.paths().state_file(job, StateFile::ErrorText);
        durable::replace_unsynced(&path, text.as_bytes(), self.identity.worker_id.as_str())
            .context("write", &path)
            .map(drop)
    }

    /// Turns the lease into the terminal, or publishes a new one where there is no
    /// lease. Returns nothing if the name is taken.
    fn publish_terminal(
        &self,
        record: &Record,
        entry: Entry,
        lease_file: Option<LeaseFile<'_>>,
        at: Timestamp,
    ) -> Result<Option<Hint>, StoreError> {
        let to = self.paths().state_file(&record.job_id, record.kind.file());
        let text = record.text(&self.identity, at);
        let published = match lease_file {
            Some(lease) => self.turn_lease(record, lease, &text, entry == Entry::Redo)?,
            None if entry == Entry::Redo => {
                durable::replace_unsynced(&to, text.as_bytes(), self.identity.worker_id.as_str())
                    .context("publish", &to)?;
                true
            }
            None => platform::publish(&to, text.as_bytes())
                .context("publish", &to)?
                .is_some(),
        };
        if !published {
            return Ok(None);
        }
        // The terminal is the lease's file, whatever anybody has put in its place since.
        let metadata = match lease_file {
            Some(lease) => lease.file.metadata(),
            None => fs::symlink_metadata(&to),
        };
        let metadata = metadata.context("look at", &to)?;
        let proof = Proof::Terminal(record.kind.file(), platform::version(&metadata));
        Ok(Some(hint_for(record, proof)))
    }

    /// Rewrites the lease's text and renames it: one inode, as if the marker had
    /// been renamed. A crash in between leaves a text that the journal explains.
    pub(super) fn turn_lease(
        &self,
        record: &Record,
        lease: LeaseFile<'_>,
        text: &str,
        replace: bool,
    ) -> Result<bool, StoreError> {
        let from = self
            .paths()
            .state_file(&record.job_id, StateFile::InProgress);
        let to = self.paths().state_file(&record.job_id, record.kind.file());
        platform::write_at(lease.file, text.as_bytes(), 0).context("write", &from)?;
        if text.len() < lease.length {
            let cut = lease.file.set_len(text.len() as u64);
            cut.context("shorten", &from)?;
        }
        fault::here("turn_lease.written");
        if replace {
            return platform::rename_replace(&from, &to)
                .context("publish", &to)
                .map(|()| true);
        }
        platform::rename_no_replace(&from, &to).context("publish", &to)
    }
}

fn source_of(error: &StoreError) -> String {
    std::error::Error::source(error)
        .map(ToString::to_string)
        .unwrap_or_default()
}

fn finished_line(lease: &Lease, ending: Ending, mut purchase: OpenPurchase) -> Finished {
    let staging = lease.staging.file_name().unwrap_or_default();
    let mut finished = Finished {
        cost_usd: ending.cost_usd,
        content_key: ending.content_key,
        ..Finished::without_result(
            (&lease.job_id, lease.attempt, &lease.nonce),
            (lease.entry, lease.claimed_at),
            ending.patch,
            staging.to_string_lossy().into_owned(),
        )
    };
    match ending.outcome {
        Outcome::Completed {
            simulated,
            artifacts,
        } => {
            finished.completed = true;
            finished.simulated = simulated;
            finished.outputs = artifacts;
            if !simulated {
                purchase.complete();
            }
        }
        Outcome::Failed {
            class,
            error_text,
            cut_off,
            purchase: end,
        } => {
            purchase.end(end);
            finished.purchase = end;
            finished.class = Some(class);
            finished.cut_off = cut_off;
            finished.error_text = Some(error_text);
        }
    }
    finished.request_id = purchase.request_id;
    finished.intent = purchase.intent;
    finished.purchases = purchase.ended;
    finished
}

impl Finished {
    /// Returns the ending of an attempt that brought and bought nothing.
    pub(super) fn without_result(
        (job_id, attempt, nonce): (&JobId, u32, &Nonce),
        (entry, claimed_at): (Entry, Timestamp),
        patch: Patch,
        staging: String,
    ) -> Self {
        Self {
            job_id: job_id.clone(),
            attempt,
            nonce: nonce.clone(),
            entry,
            claimed_at,
            completed: false,
            simulated: false,
            patch,
            outputs: Vec::new(),
            class: None,
            cut_off: false,
            error_text: None,
            request_id: None,
            intent: None,
            purchase: PurchaseEnd::Open,
            cost_usd: None,
            content_key: None,
            purchases: 0,
            staging,
        }
    }

    /// Returns what the job has bought or meant to buy when the attempt is over.
    fn open_purchase(&self) -> OpenPurchase {
        OpenPurchase {
            request_id: self.request_id.clone(),
            intent: self.intent.clone(),
            ended: self.purchases,
        }
    }
}

fn terminal_record(
    finished: &Finished,
    author: &Author,
    run_id: &crate::domain::id::RunId,
) -> Record {
    let kind = if finished.completed {
        RecordKind::Completed
    } else {
        RecordKind::Failed
    };
    let of = AttemptOf {
        run_id,
        job_id: &finished.job_id,
        attempt: finished.attempt,
        nonce: finished.nonce.clone(),
        worker_id: &author.worker_id,
        boot_id: &author.boot_id,
        claimed_at: finished.claimed_at,
        entry: finished.entry,
    };
    Record {
        request_id: finished.request_id.clone(),
        intent: finished.intent.clone(),
        purchases: finished.purchases,
        simulated: finished.simulated,
        class: finished.class,
        patch: Some(finished.patch.clone()),
        outputs: finished.outputs.clone(),
        ..Record::new(kind, of)
    }
}

pub(super) fn hint_for(record: &Record, proof: Proof) -> Hint {
    Hint {
        job: record.job_id.clone(),
        wanted: Wanted {
            status: record.kind.status(),
            patch: record.patch.clone().unwrap_or_default(),
            artifacts: record.outputs.clone(),
            simulated: record.simulated,
            given_back: None,
        },
        proof,
    }
}

/// Returns a hint that says nothing but "look".
pub(super) fn read_hint(job: &JobId) -> Hint {
    Hint {
        job: job.clone(),
        wanted: Wanted {
            status: Status::Enqueued,
            patch: Patch::default(),
            artifacts: Vec::new(),
            simulated: false,
            given_back: None,
        },
        proof: Proof::Read,
    }
}

/// Returns the lease's marker if it is the attempt `finished` tells of.
pub(super) fn is_lease_of(evidence: &Evidence, finished: &Finished) -> bool {
    evidence
        .lease()
        .and_then(Marker::record)
        .is_some_and(|record| record.nonce == finished.nonce)
}
