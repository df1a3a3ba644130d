//! Results that an adapter called a success: written down as soon as it says so,
//! and taken over from there if its worker does not come to publish them.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::PoisonError;

use crate::domain::id::JobId;
use crate::domain::job::{Entry, JobState};
use crate::domain::lease::Lease;
use crate::domain::naming;
use crate::domain::patch::{self, Product, Span, WorkerFacts};
use crate::domain::retry::ErrorClass;
use crate::domain::time::Timestamp;
use crate::platform::{self, fault};
use crate::store::error::{IoContext, StoreError};
use crate::store::{Made, made, shelf};
use crate::workspace::artifact::{self, ArtifactError, Named, Standard, Taken};
use crate::workspace::{durable, lock};

use super::FileStore;
use super::evidence::Evidence;
use super::finish::Author;
use super::job_lock::JobLock;
use super::journal::{Finished, MadeLine, What};
use super::journal_summary::JournalSummary;
use super::late::{BESIDE, COPY};
use super::liveness::has_own_journal;
use super::marker::{Marker, Record, RecordKind};
use super::recover::{is_wreck, staging_of};

/// More than this of what an adapter told is not kept in the journal, where a full
/// disk leaves little room.
const MAX_TOLD_BYTES: usize = 32 * 1024;

/// What a dead worker's attempt had made, and when it said so.
pub(super) struct Left {
    pub(super) line: MadeLine,
    pub(super) at: Timestamp,
    /// Whether a journal tells of it; else there is only a whole model in its folder.
    pub(super) told: bool,
}

impl Made {
    /// Returns what it says of the files in its folder.
    pub(in crate::store) fn named(&self) -> Named<'_> {
        Named {
            model: self.model.as_deref(),
            previews: &self.previews,
            about: self.about.as_ref(),
            told: self.told.as_ref(),
            again: true,
        }
    }
}

impl FileStore {
    pub(super) fn note_made(
        &self,
        lease: &Lease,
        made: &Made,
        durably: bool,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        fault::here("made.before");
        self.made_nonces().insert(lease.nonce.clone());
        let (request_id, purchases) = match self.held(&lease.job_id) {
            Some(held) => {
                let held = held.lock().unwrap_or_else(PoisonError::into_inner);
                let record = held.as_ref().map(|held| &held.record);
                let id = record.and_then(|record| record.request_id.clone());
                (id, record.map_or(0, |record| record.purchases))
            }
            None => (lease.request_id.clone(), 0),
        };
        let staging = lease.staging.file_name().unwrap_or_default();
        let mut line = MadeLine {
            job_id: lease.job_id.clone(),
            attempt: lease.attempt,
            nonce: lease.nonce.clone(),
            entry: lease.entry,
            claimed_at: lease.claimed_at,
            request_id,
            purchases,
            staging: staging.to_string_lossy().into_owned(),
            result: made.clone(),
        };
        let told = serde_json::to_vec(&line.result.told).unwrap_or_default();
        if told.len() > MAX_TOLD_BYTES {
            line.result.told = None;
        }
        self.note(now, What::Made(Box::new(line)))?;
        fault::here("made.journalled");
        if durably {
            self.sync_made(lease, made)?;
            fault::here("made.synced");
            self.safe_nonces().insert(lease.nonce.clone());
        }
        Ok(())
    }

    /// Makes what was made, and the line that tells of it, survive a power loss.
    fn sync_made(&self, lease: &Lease, made: &Made) -> Result<(), StoreError> {
        for name in made.model.iter().chain(&made.previews) {
            let path = lease.staging.join(name);
            let synced = durable::open_plain(&path).and_then(|file| file.sync_all());
            match synced {
                // Whoever checks the result says what is missing or no plain file.
                Err(error) if !platform::is_disk_trouble(&error) => {}
                synced => synced.context("sync", &path)?,
            }
        }
        let staging = self.paths().staging();
        for folder in [&lease.staging, &staging] {
            match platform::sync_dir(folder) {
                Err(error) if !platform::is_disk_trouble(&error) => {}
                synced => synced.context("sync", folder)?,
            }
        }
        self.shared.sync_names()?;
        let journal = &self.shared.journal;
        journal.sync().context("sync", journal.path())
    }

    /// Leaves a result that was made, and the lease of it, for the next start. Tells
    /// whether the disk has confirmed that it keeps it.
    pub(super) fn leave_made(&self, lease: &Lease) -> bool {
        drop(self.let_go(&lease.job_id));
        self.unpublished().insert(lease.job_id.clone());
        self.is_safe_on_disk(lease)
    }

    /// Tells whether what an attempt made survives a power loss, by trying.
    pub(super) fn is_safe_on_disk(&self, lease: &Lease) -> bool {
        if self.safe_nonces().contains(&lease.nonce) {
            return true;
        }
        let outputs = self.paths().output(&lease.job_id);
        let folder = [&lease.staging, &outputs]
            .into_iter()
            .find(|folder| folder.is_dir());
        let synced = match folder {
            Some(folder) => artifact::sync_files(folder),
            None => Err(io::ErrorKind::NotFound.into()),
        };
        let synced = synced.is_ok() && self.shared.sync_names().is_ok();
        synced && self.shared.journal.sync().is_ok()
    }

    /// Publishes what a dead worker's attempt had made, if it is whole and nobody has
    /// gone on with the job since; otherwise keeps its files. Never leads to a second
    /// purchase by itself.
    pub(super) fn adopt(
        &self,
        lock: &JobLock<'_>,
        left: &Left,
        author: &Author,
        facts: &WorkerFacts,
        now: Timestamp,
    ) -> Result<Option<JobState>, StoreError> {
        let line = &left.line;
        let state = self.paths().state();
        let evidence = Evidence::read(self.paths(), &line.job_id);
        let evidence = evidence.context("read markers in", &state)?;
        self.made_nonces().insert(line.nonce.clone());
        let mut folder = self.paths().staging().join(&line.staging);
        let may_work = self.may_work(&evidence, line, author)?;
        if is_overtaken(&evidence, line) {
            // A worker that only stands still keeps its files.
            if folder.is_dir() && !may_work {
                self.discard(&folder);
            }
            return Ok(None);
        }
        fault::here("adopt.before");
        let output = self.paths().output(&line.job_id);
        if !folder.exists() {
            let placed = line.entry != Entry::Redo && output.is_dir();
            if let Some(kept) = self.kept_of(line, true) {
                // It was set aside and its worker died before it said why.
                let back = self.move_across(&kept, &folder);
                back.context("bring back to", &folder)?;
            } else if placed && evidence.of(RecordKind::Completed).is_none_or(is_wreck) {
                // It was moved to its place and its worker died before it said so.
                folder = output;
            }
        }
        let (folder, taken) = self.take_left(left, folder, may_work)?;
        let finished = match taken {
            Ok(taken) => self.adopted(left, facts, &folder, taken),
            Err(ArtifactError::Io { path, source }) if platform::is_disk_trouble(&source) => {
                return Err(source).context("check", &path);
            }
            Err(error) => {
                let kept = self.keep_late(&folder, &line.job_id, line.attempt, &line.nonce)?;
                let kept = kept.or_else(|| self.kept_of(line, false));
                fault::here("adopt.set_aside");
                let lease = evidence.lease().and_then(Marker::record);
                let bought = lease.and_then(|record| record.request_id.as_ref());
                if line.result.free || line.request_id.is_some() || bought.is_some() {
                    // The next attempt costs nothing, or fetches what was bought.
                    return Ok(None);
                }
                self.lost(left, facts, &error, kept.as_deref(), &folder)
            }
        };
        self.note(now, What::Finished(Box::new(finished.clone())))?;
        self.unpublished().insert(line.job_id.clone());
        fault::here("adopt.journalled");
        let published = self.roll_forward(lock, &finished, author, now)?;
        self.unpublished().remove(&line.job_id);
        Ok(published)
    }

    /// Tells whether the worker of an attempt may still be there: doubt is never death.
    fn may_work(
        &self,
        evidence: &Evidence,
        line: &MadeLine,
        author: &Author,
    ) -> Result<bool, StoreError> {
        let lease = evidence.lease().and_then(Marker::record);
        if let Some(record) = lease.filter(|record| record.nonce == line.nonce) {
            return Ok(!self.watch.is_proved_dead(self.paths(), record));
        }
        let journal = self.paths().journal(&author.worker_id);
        if !journal.exists() {
            return Ok(false);
        }
        lock::is_held(&journal).context("look at", &journal)
    }

    /// Checks what lies in the folder. That of a worker which stands still and may
    /// wake is copied first: its own files are its own.
    fn take_left(
        &self,
        left: &Left,
        folder: PathBuf,
        may_work: bool,
    ) -> Result<(PathBuf, Result<Taken, ArtifactError>), StoreError> {
        let line = &left.line;
        let folder = if folder.is_dir() && may_work {
            // The name is the attempt's own: what an earlier try has left is made anew.
            let own = naming::staging_dir(&line.job_id, line.attempt, &line.nonce);
            let copy = self.paths().staging().join(format!("{own}{COPY}"));
            artifact::copy_folder(&folder, &copy).context("copy to", &copy)?;
            fault::here("adopt.copied");
            copy
        } else {
            folder
        };
        if !left.told {
            // Nobody knows whether it is the result, or the whole of it.
            return Ok((folder, Err(ArtifactError::NoModel)));
        }
        let made = &line.result;
        let clear = |standard: &Standard| {
            if made.settled {
                return Ok(());
            }
            self.put_others_aside(&folder, line, standard)
        };
        let taken = artifact::take(&folder, made.named(), &clear);
        Ok((folder, taken))
    }

    /// Sets files aside that were not cleared of secrets yet when their worker died.
    fn put_others_aside(
        &self,
        folder: &Path,
        line: &MadeLine,
        standard: &Standard,
    ) -> io::Result<()> {
        // The name is the attempt's own: what an earlier try has left there goes with it.
        let own = naming::staging_dir(&line.job_id, line.attempt, &line.nonce);
        let beside = folder.with_file_name(format!("{own}{BESIDE}"));
        let of = (&line.job_id, line.attempt, &line.nonce);
        let Some(to) = shelf::put_others_aside(self.paths(), folder, &beside, standard, of)? else {
            return Ok(());
        };
        self.warn(format!(
            "job {}: its worker died before what lay beside the model was looked through; that \
             is kept in {}",
            line.job_id,
            self.shared.workspace.relative(&to).unwrap_or_default()
        ));
        Ok(())
    }

    /// Returns the ending of an attempt whose result is whole.
    fn adopted(&self, left: &Left, facts: &WorkerFacts, folder: &Path, taken: Taken) -> Finished {
        let (line, made) = (&left.line, &left.line.result);
        let product = self.product_of(&line.job_id, made, &taken);
        let mut patch = patch::completed(left.span(), facts, &product);
        if line.entry == Entry::Redo {
            patch.insist();
        }
        Finished {
            completed: true,
            outputs: taken.files,
            content_key: made.content_key.clone(),
            purchases: line.purchases + 1,
            ..left.ended(patch, self.staged(folder))
        }
    }

    /// Returns what a row tells of a result that was checked.
    pub(super) fn product_of(&self, job: &JobId, made: &Made, taken: &Taken) -> Product {
        let output = self.paths().output(job);
        let output = self.shared.workspace.relative(&output).unwrap_or_default();
        let mut paths = taken.names.iter().map(|name| format!("{output}/{name}"));
        Product {
            object: paths.next().unwrap_or_default(),
            previews: paths.collect(),
            algo_version: made.algo_version.clone(),
            price: made.price.clone(),
        }
    }

    /// Returns the name of a folder that was taken, if it is in staging.
    fn staged(&self, folder: &Path) -> Option<String> {
        let name = folder.file_name()?.to_string_lossy().into_owned();
        folder.starts_with(self.paths().staging()).then_some(name)
    }

    /// Returns the ending of an attempt whose result is not there or not whole: it
    /// is paid for, so a person is asked.
    fn lost(
        &self,
        left: &Left,
        facts: &WorkerFacts,
        error: &ArtifactError,
        kept: Option<&Path>,
        folder: &Path,
    ) -> Finished {
        let line = &left.line;
        let kept = kept.and_then(|kept| self.shared.workspace.relative(kept));
        let what = if left.told {
            format!("before the result was recorded, and it is not whole: {error}")
        } else {
            "and its journal is lost, but it left a model, which may or may not be the result"
                .to_owned()
        };
        let of = (&self.shared.run_id, &line.job_id);
        let message = made::lost_words(&what, kept.as_deref(), of);
        let mut patch = patch::failed(left.span(), facts, &message);
        if line.entry == Entry::Perform {
            patch.forget_rehearsal();
        }
        Finished {
            class: Some(ErrorClass::Unknown),
            error_text: Some(format!("Error: {message}\n")),
            purchases: line.purchases,
            // A worker that only stands still keeps its folder; its copy was set aside.
            ..left.ended(patch, self.staged(folder))
        }
    }
}

impl FileStore {
    /// Tells whether the attempt of a dead holder left a whole model.
    pub(super) fn left_a_model(&self, dead: &Record) -> bool {
        artifact::holds_model(&self.paths().staging().join(staging_of(dead)))
    }

    /// Returns what the holder of a lease left, if that is a whole model and its journal
    /// was removed or replaced, so that nothing is bought over a model.
    pub(super) fn untold(
        &self,
        record: &Record,
        summary: &JournalSummary,
        now: Timestamp,
    ) -> Option<Left> {
        let told = summary.jobs.contains(&record.job_id) && has_own_journal(self.paths(), record);
        let fetched = record.request_id.is_some() || record.simulated;
        if told || fetched || !self.left_a_model(record) {
            return None;
        }
        let line = MadeLine {
            job_id: record.job_id.clone(),
            attempt: record.attempt,
            nonce: record.nonce.clone(),
            entry: record.entry,
            claimed_at: record.claimed_at,
            request_id: None,
            purchases: record.purchases,
            staging: staging_of(record),
            result: Made::default(),
        };
        Some(Left {
            line,
            at: now,
            told: false,
        })
    }
}

impl Left {
    fn span(&self) -> Span {
        Span {
            start: self.line.claimed_at,
            duration: self.at.since(self.line.claimed_at),
        }
    }

    /// Returns an ending of the attempt that says neither how nor with what.
    fn ended(&self, patch: patch::Patch, staging: Option<String>) -> Finished {
        let line = &self.line;
        Finished {
            cost_usd: line.result.price.estimated_usd,
            purchases: line.purchases,
            ..Finished::without_result(
                (&line.job_id, line.attempt, &line.nonce),
                (line.entry, line.claimed_at),
                patch,
                staging.unwrap_or_else(|| line.staging.clone()),
            )
        }
    }
}

/// Tells whether somebody has gone on with the job since the attempt.
pub(super) fn is_overtaken(evidence: &Evidence, line: &MadeLine) -> bool {
    let mut sound = evidence.markers.iter().filter(|marker| !is_wreck(marker));
    sound.any(|marker| {
        let ended = marker.kind.is_terminal() || marker.kind == RecordKind::Cancelled;
        let foreign = marker
            .record()
            .is_none_or(|record| record.nonce != line.nonce);
        let redone = line.entry == Entry::Redo && marker.attempt() < line.attempt;
        match marker.kind {
            RecordKind::InProgress => marker.record().is_some() && foreign,
            _ => {
                marker.attempt() > line.attempt
                    || (ended && marker.attempt() == line.attempt)
                    || (ended && marker.record().is_none() && !redone)
            }
        }
    })
}
