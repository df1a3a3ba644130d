//! Start-up is recovery: what dead workers left is finished in their name.
//!
//! Runs under `state/recovery.lock`, changes a job only under its own lock, and
//! every step can be repeated, so a crash in here is just one more to recover.

use std::collections::{BTreeSet, HashSet};
use std::fs::{self, OpenOptions};
use std::path::Path;
use std::sync::{Arc, PoisonError};

use crate::domain::id::JobId;
use crate::domain::job::{Entry, JobState};
use crate::domain::naming::{self, StateFile};
use crate::domain::purchase::OpenPurchase;
use crate::domain::time::Timestamp;
use crate::platform::{self, fault};
use crate::store::error::{IoContext, StoreError};
use crate::store::{Artifact, Recovery};
use crate::workspace::artifact;
use crate::workspace::durable;
use crate::workspace::lock;
use crate::workspace::paths::RunPaths;

use super::FileStore;
use super::claim::state_after;
use super::committer::describe;
use super::evidence::{self, Evidence};
use super::finish::{Author, LeaseFile, Published, is_lease_of};
use super::job_lock::JobLock;
use super::journal::{self, Finished};
use super::journal_summary::{Bought, JournalSummary, summarize, summary_of};
use super::marker::{AttemptOf, Body, Marker, Record, RecordKind};
use super::projection::{self, StateNames};
use super::registry::Registry;
use super::repair::leaves_marker;

impl FileStore {
    pub(super) fn recover_run(&self, now: Timestamp) -> Result<Recovery, StoreError> {
        let path = self.paths().recovery_lock();
        let Some(_lock) = self.wait_for(&path)? else {
            return Err(self.closed("stopped while waiting for another recovery".into()));
        };
        fault::here("recover.locked");
        let mut recovery = Recovery::default();
        self.registry().load()?;
        self.sweep_temporaries()?;
        fault::here("recover.swept");
        let mut suspects = BTreeSet::new();
        let mut replayed = Vec::new();
        let mut summaries = Vec::new();
        for found in self.foreign_journals()? {
            if let Some(summary) = self.read_summary(&found, &mut recovery, now)? {
                summaries.push(summary);
                replayed.push(found.path);
            }
        }
        self.drop_results_with_lost_files(&summaries)?;
        let mut unfinished = HashSet::new();
        for summary in summaries {
            if !self.replay(&summary, &mut recovery, now)? {
                unfinished.insert(self.paths().journal(&summary.author.worker_id));
            }
            fault::here("recover.replayed");
            suspects.extend(summary.jobs);
        }
        if !replayed.is_empty() {
            self.forget_names();
        }
        self.drop_void_leases()?;
        fault::here("recover.leases_dropped");
        self.sweep_staging(now)?;
        fault::here("recover.staging_swept");
        recovery.rows_healed = self.project(&suspects, now)?;
        fault::here("recover.projected");
        // One with an ending that could not be dealt with now is read again.
        replayed.retain(|path| !unfinished.contains(path));
        for path in replayed {
            journal::mark_closed(&path, &self.identity.worker_id, now).context("close", &path)?;
            fault::here("recover.marked");
        }
        Ok(recovery)
    }

    /// Lists the unclosed journals of other workers of this run.
    pub(super) fn foreign_journals(&self) -> Result<Vec<journal::Found>, StoreError> {
        let folder = self.paths().journals();
        let mut found = journal::unclosed(&folder).context("list", &folder)?;
        found.retain(|journal| journal.worker_id != self.identity.worker_id);
        Ok(found)
    }

    /// Reads the journal of a worker that has ended; nothing if it may live.
    fn read_summary(
        &self,
        found: &journal::Found,
        recovery: &mut Recovery,
        now: Timestamp,
    ) -> Result<Option<JournalSummary>, StoreError> {
        if lock::is_held(&found.path).context("look at", &found.path)? {
            return Ok(None);
        }
        let (lines, damaged) = journal::read(&found.path).context("read", &found.path)?;
        let ended = self.watch.has_ended(self.paths(), found, &lines, now);
        if !ended.context("look at", &found.path)? {
            return Ok(None);
        }
        if damaged > 0 {
            let shown = self
                .shared
                .workspace
                .relative(&found.path)
                .unwrap_or_default();
            recovery.warnings.push(format!(
                "{shown}: {damaged} lines cannot be read and were skipped"
            ));
        }
        let summary = summarize(found, lines);
        let made = summary.unfinished().map(|left| left.line.nonce.clone());
        self.made_nonces().extend(made);
        Ok(Some(summary))
    }

    /// Brings to an end what a journal tells of; returns whether all of it was.
    fn replay(
        &self,
        summary: &JournalSummary,
        recovery: &mut Recovery,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let state = self.paths().state();
        let names = StateNames::list(self.paths()).context("list", &state)?;
        let mut whole = true;
        for finished in &summary.finished {
            let kinds = names.of(finished.job_id.as_str());
            let leased = kinds.is_some_and(|kinds| kinds.has(RecordKind::InProgress));
            if !leased && is_settled(self.paths(), finished)? {
                continue;
            }
            let publish = |lock: &JobLock<'_>| self.bring_in(lock, finished, summary, now);
            whole &= self.replay_one(&finished.job_id, recovery, &publish)?;
        }
        for left in summary.unfinished() {
            let (author, facts) = (&summary.author, &summary.facts);
            let adopt = |lock: &JobLock<'_>| self.adopt(lock, left, author, facts, now);
            whole &= self.replay_one(&left.line.job_id, recovery, &adopt)?;
        }
        for bought in &summary.bought {
            whole &= self.keep_purchase(bought, &summary.author, now)?;
        }
        Ok(whole)
    }

    /// Publishes an ending. Where the files are not those that it tells of, what was
    /// made may still be whole: beside the model anything may have been lost.
    fn bring_in(
        &self,
        lock: &JobLock<'_>,
        finished: &Finished,
        summary: &JournalSummary,
        now: Timestamp,
    ) -> Result<Option<JobState>, StoreError> {
        let published = self.roll_forward(lock, finished, &summary.author, now)?;
        match summary.made_by(&finished.nonce) {
            Some(left) if published.is_none() && finished.completed => {
                self.adopt(lock, left, &summary.author, &summary.facts, now)
            }
            _ => Ok(published),
        }
    }

    /// Publishes one ending under its job's lock; returns whether that is done with.
    /// What stands in the way of one job is told and holds up no other.
    fn replay_one(
        &self,
        job: &JobId,
        recovery: &mut Recovery,
        publish: &dyn Fn(&JobLock<'_>) -> Result<Option<JobState>, StoreError>,
    ) -> Result<bool, StoreError> {
        let Some(lock) = self.try_lock_job(job)? else {
            // Somebody works on it this moment and sees the same evidence, or only
            // holds the lock; the next start looks again.
            return Ok(false);
        };
        match publish(&lock) {
            Ok(Some(_)) => {
                fault::here("recover.rolled_forward");
                recovery.rolled_forward.push(job.clone());
                Ok(true)
            }
            Ok(None) => Ok(true),
            Err(error) if error.is_of_one_file() => {
                recovery.warnings.push(format!(
                    "job {job} was finished by a worker that died, and cannot be published: {}. \
                     Nothing of it is removed; the next start tries again",
                    describe(&error)
                ));
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }

    /// Publishes a dead worker's ending if it is still the job's latest and its
    /// files are what the journal says.
    pub(super) fn roll_forward(
        &self,
        lock: &JobLock<'_>,
        finished: &Finished,
        author: &Author,
        now: Timestamp,
    ) -> Result<Option<JobState>, StoreError> {
        let job = lock.job;
        let state = self.paths().state();
        let evidence = Evidence::read(self.paths(), job).context("read markers in", &state)?;
        let lease_is_its = is_lease_of(&evidence, finished);
        let damaged_lease = evidence.lease().is_some_and(says_nothing);
        let overtaken = evidence.markers.iter().any(|marker| {
            let newer = marker.attempt() > finished.attempt;
            let settled = (marker.kind.is_terminal() || marker.again().is_some())
                && marker.attempt() == finished.attempt;
            newer
                || settled
                || (marker.kind == RecordKind::InProgress
                    && marker.record().is_some_and(|r| r.nonce != finished.nonce))
        });
        let foreign_result = finished.entry != Entry::Redo && has_foreign_result(&evidence);
        if overtaken
            || foreign_result
            || (finished.completed && !files_match(self.paths(), finished))
        {
            return Ok(None);
        }
        if !lease_is_its && !damaged_lease && finished.entry == Entry::Redo && !finished.completed {
            return Ok(None); // The failed redo was ended already.
        }
        for wreck in evidence.markers.iter().filter(|marker| is_wreck(marker)) {
            let kind = wreck.kind.file();
            let kept = evidence::set_aside(self.paths(), job, kind)
                .context("set aside a marker in", &state)?;
            fault::here("recover.wreck_aside");
            let reason = match &wreck.body {
                Body::Corrupt(reason) => reason,
                _ => "it is empty",
            };
            self.warn(format!(
                "{} is damaged ({reason}); kept as {kept} and made again from the journal",
                kind.name(job)
            ));
        }
        let path = self.paths().state_file(job, StateFile::InProgress);
        let file = if lease_is_its || damaged_lease {
            let mut options = OpenOptions::new();
            options.read(true).write(true);
            let file = platform::refuse_links(&mut options).open(&path);
            Some(file.context("open", &path)?)
        } else {
            None
        };
        let lease_file = file.as_ref().map(|file| LeaseFile {
            file,
            // However long it is, it is cut.
            length: usize::MAX,
            is_held: false,
        });
        match self.publish_finished(lock, finished, author, lease_file, now)? {
            Published::NameTaken | Published::OldResultKept => Ok(None),
            Published::Yes => Ok(Some(state_after(
                finished.completed,
                finished.simulated,
                finished.attempt,
            ))),
        }
    }

    /// Sees to it that a purchase made by a dead worker reaches the next attempt.
    fn keep_purchase(
        &self,
        bought: &Bought,
        author: &Author,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let job = &bought.job_id;
        let Some(lock) = self.try_lock_job(job)? else {
            return Ok(false);
        };
        let state = self.paths().state();
        let evidence = Evidence::read(self.paths(), job).context("read markers in", &state)?;
        let tag = self.identity.worker_id.as_str();
        if let Some(record) = evidence.lease().and_then(Marker::record) {
            let mut record = record.clone();
            let known = record.purchase();
            record.set_purchase(bought.purchase.clone());
            if record.nonce == bought.nonce && record.purchase() != known {
                let beat = evidence.lease().and_then(|lease| lease.beat).unwrap_or(now);
                let path = self.paths().state_file(job, StateFile::InProgress);
                let text = record.text(&self.identity, beat);
                let silent_since = fs::symlink_metadata(&path).and_then(|lease| lease.modified());
                durable::replace_unsynced(&path, text.as_bytes(), tag)
                    .and_then(|lease| lease.set_modified(silent_since?))
                    .context("write", &path)?;
                fault::here("recover.purchase_in_lease");
            }
            return Ok(true);
        }
        let Some((attempt, entry)) = bought.claim else {
            return Ok(true);
        };
        let foreign_result = entry != Entry::Redo && has_foreign_result(&evidence);
        if evidence.highest_attempt() >= attempt || foreign_result {
            return Ok(true);
        }
        if entry == Entry::Redo {
            self.end_redo(&lock, attempt, &bought.purchase)?;
            return Ok(true);
        }
        // A power loss dropped the lease; without this the next attempt would buy again.
        let purchase = &bought.purchase;
        let of = AttemptOf {
            run_id: &self.shared.run_id,
            job_id: job,
            attempt,
            nonce: bought.nonce.clone(),
            worker_id: &author.worker_id,
            boot_id: &author.boot_id,
            claimed_at: bought.at,
            entry,
        };
        let record = Record {
            request_id: purchase.request_id.clone(),
            intent: purchase.intent.clone(),
            purchases: purchase.ended.max(evidence.purchase().ended),
            ..Record::new(RecordKind::Released, of)
        };
        let path = self.paths().state_file(job, StateFile::Released);
        durable::replace_unsynced(&path, record.text(&self.identity, now).as_bytes(), tag)
            .context("write", &path)?;
        fault::here("recover.purchase_released");
        Ok(true)
    }

    /// Publishes the result of the dead holder of `lease`, if its journal has one, or
    /// what it had made, if that is whole.
    pub(super) fn roll_forward_lease(
        &self,
        lock: &JobLock<'_>,
        lease: &Marker,
        now: Timestamp,
    ) -> Result<Option<JobState>, StoreError> {
        let Some(record) = lease.record() else {
            return Ok(None);
        };
        let path = self.paths().journal(&record.worker_id);
        let found = journal::Found {
            path,
            worker_id: record.worker_id.clone(),
        };
        let summary = match summary_of(&found)? {
            Some(summary) => summary,
            None => summarize(&found, Vec::new()),
        };
        let of_lease = |f: &&Finished| f.job_id == *lock.job && f.nonce == record.nonce;
        if let Some(finished) = summary.finished.iter().find(of_lease) {
            return self.bring_in(lock, finished, &summary, now);
        }
        if let Some(left) = summary.made_by(&record.nonce) {
            return self.adopt(lock, left, &summary.author, &summary.facts, now);
        }
        match self.untold(record, &summary, now) {
            Some(left) => self.adopt(lock, &left, &summary.author, &summary.facts, now),
            None => Ok(None),
        }
    }

    /// Publishes the latest ending of a job that any dead worker's journal has.
    pub(super) fn roll_forward_by_job(
        &self,
        lock: &JobLock<'_>,
    ) -> Result<Option<JobState>, StoreError> {
        let now = self.shared.clock.now();
        match self.latest_ending(lock.job)? {
            Some((finished, author)) => self.roll_forward(lock, &finished, &author, now),
            None => Ok(None),
        }
    }

    /// Returns the latest ending of `job` that left a marker, by the journals of
    /// workers that have ended.
    pub(super) fn latest_ending(
        &self,
        job: &JobId,
    ) -> Result<Option<(Finished, Author)>, StoreError> {
        let folder = self.paths().journals();
        let mut latest: Option<(Finished, Author)> = None;
        for found in journal::all(&folder).context("list", &folder)? {
            let own = found.worker_id == self.identity.worker_id;
            if own || lock::is_held(&found.path).context("look at", &found.path)? {
                continue;
            }
            let Some(JournalSummary {
                author, finished, ..
            }) = summary_of(&found)?
            else {
                continue;
            };
            let of_job = finished
                .into_iter()
                .filter(|f| f.job_id == *job && leaves_marker(f));
            let known = latest.as_ref().map_or(0, |(latest, _)| latest.attempt);
            if let Some(finished) = of_job.max_by_key(|f| f.attempt)
                && finished.attempt > known
            {
                latest = Some((finished, author));
            }
        }
        Ok(latest)
    }

    /// Tells whether a worker that lives took the job and has not given it up: what
    /// looks damaged is then just being written.
    pub(super) fn claimed_by_live_worker(&self, job: &JobId) -> Result<bool, StoreError> {
        for found in self.foreign_journals()? {
            if !lock::is_held(&found.path).context("look at", &found.path)? {
                continue;
            }
            let (lines, _) = journal::read(&found.path).context("read", &found.path)?;
            let last = lines.iter().rev().find_map(|line| line.what.about(job));
            if last == Some(true) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns what the holder of `lease` bought or meant to buy, by its journal.
    pub(super) fn bought_by_dead_holder(
        &self,
        job: &JobId,
        lease: Option<&Marker>,
    ) -> Result<Option<OpenPurchase>, StoreError> {
        let Some(record) = lease.and_then(Marker::record) else {
            return Ok(None);
        };
        let path = self.paths().journal(&record.worker_id);
        let found = journal::Found {
            path,
            worker_id: record.worker_id.clone(),
        };
        let summary = summary_of(&found)?;
        Ok(summary.and_then(|summary| {
            summary
                .bought
                .into_iter()
                .rfind(|bought| bought.job_id == *job && bought.nonce == record.nonce)
                .map(|bought| bought.purchase)
        }))
    }

    /// Returns the names in `state/`; the folder is listed again only if somebody
    /// changed it since. Whoever acts on a name looks again under the job's lock.
    pub(super) fn names(&self) -> Result<Arc<StateNames>, StoreError> {
        let state = self.paths().state();
        let metadata = fs::symlink_metadata(&state).context("look at", &state)?;
        // Taken before the listing, so that a change during it is noticed.
        let version = platform::version(&metadata);
        let mut listed = self.listed.lock().unwrap_or_else(PoisonError::into_inner);
        match &*listed {
            Some((listed, names)) if *listed == version => return Ok(names.clone()),
            _ => {}
        }
        let names = Arc::new(StateNames::list(self.paths()).context("list", &state)?);
        *listed = Some((version, names.clone()));
        Ok(names)
    }

    /// Reads the table if it changed and returns names that are not older than it:
    /// a row must never tell of a marker that the listing could not have seen.
    pub(super) fn names_for(&self, registry: &mut Registry) -> Result<Arc<StateNames>, StoreError> {
        if !registry.is_current()? {
            registry.load()?;
            self.forget_names();
        }
        self.names()
    }

    /// Has `state/` listed again by whoever asks next.
    pub(super) fn forget_names(&self) {
        let mut listed = self.listed.lock().unwrap_or_else(PoisonError::into_inner);
        *listed = None;
    }

    /// Brings the registry up to what the markers say; returns the rows changed.
    pub(super) fn project(
        &self,
        suspects: &BTreeSet<JobId>,
        now: Timestamp,
    ) -> Result<usize, StoreError> {
        let state = self.paths().state();
        let hints = {
            let mut registry = self.registry();
            let names = self.names_for(&mut registry)?;
            projection::disagreements(
                registry.load()?,
                &self.shared.run_id,
                self.paths(),
                &names,
                suspects,
                &self.identity.facts,
            )
            .context("read markers in", &state)?
        };
        if hints.is_empty() {
            return Ok(0);
        }
        match self.shared.fold(hints.iter(), now)? {
            Some(folded) => Ok(folded.rows),
            None => Err(self.closed("stopped while waiting for the registry".into())),
        }
    }
}

/// Tells whether a sound marker of ours knows of this ending or a later one. A
/// name alone proves nothing: a power loss can leave an empty or an older file.
pub(super) fn is_settled(paths: &RunPaths, finished: &Finished) -> Result<bool, StoreError> {
    let evidence = Evidence::read(paths, &finished.job_id);
    let evidence = evidence.context("read markers in", &paths.state())?;
    let ruled = evidence.ruling().is_some_and(|m| m.record().is_some());
    Ok(ruled && evidence.highest_attempt() >= finished.attempt)
}

/// Tells whether a terminal is a leftover that says nothing: damaged, or empty.
pub(super) fn is_wreck(marker: &Marker) -> bool {
    marker.kind.is_terminal() && says_nothing(marker)
}

/// Tells whether a marker is damaged or empty, as a power loss may leave it.
fn says_nothing(marker: &Marker) -> bool {
    let empty = marker.body == Body::Foreign && marker.version.size == 0;
    empty || matches!(marker.body, Body::Corrupt(_))
}

/// Tells whether another tool has ended the job.
fn has_foreign_result(evidence: &Evidence) -> bool {
    let mut markers = evidence.markers.iter();
    markers.any(|m| m.kind.is_terminal() && m.body == Body::Foreign && !is_wreck(m))
}

/// Tells whether the files of a result are what its journal says, wherever they
/// are on their way.
pub(super) fn files_match(paths: &RunPaths, finished: &Finished) -> bool {
    let staging = paths.staging().join(&finished.staging);
    let output = paths.output(&finished.job_id);
    matches(&staging, &finished.outputs)
        || (!staging.exists() && matches(&output, &finished.outputs))
}

pub(super) fn matches(folder: &Path, outputs: &[Artifact]) -> bool {
    folder.is_dir()
        && outputs
            .iter()
            .all(|output| artifact::is_intact(folder, &output.name, output.size, &output.sha256))
}

/// Returns the staging folder of a lease that is being taken over.
pub(super) fn staging_of(record: &Record) -> String {
    naming::staging_dir(&record.job_id, record.attempt, &record.nonce)
}
