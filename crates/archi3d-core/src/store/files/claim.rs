//! Taking a job: under its lock, checking everything again, journal first.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::PoisonError;
use std::time::Duration;

use sha2::{Digest, Sha256};

use crate::domain::id::{JobId, Nonce};
use crate::domain::job::{Entry, JobEvent, JobState, Status};
use crate::domain::lease::{Lease, Verdict};
use crate::domain::naming::{self, StateFile};
use crate::domain::patch::{self, Patch};
use crate::domain::purchase::OpenPurchase;
use crate::domain::text::hex;
use crate::domain::text::shell_word;
use crate::domain::time::Timestamp;
use crate::platform::{self, fault};
use crate::store::Claim;
use crate::store::error::{IoContext, StoreError};
use crate::workspace::durable;

use super::cancel::heeds_requests;
use super::committer::describe;
use super::evidence::{self, Evidence};
use super::job_lock::JobLock;
use super::journal::What;
use super::marker::{AttemptOf, Marker, Record, RecordKind};
use super::projection::{Hint, Proof, Wanted};
use super::registry::RowColumns;
use super::{FileStore, Held, RowBrief, recover};

/// Job locks are held for moments; who finds one held for this long leaves the job.
const LOCK_PATIENCE: Duration = Duration::from_secs(10);

impl FileStore {
    pub(super) fn claim_job(
        &self,
        job: &JobId,
        entry: Entry,
        now: Timestamp,
    ) -> Result<Claim, StoreError> {
        if let Some(reason) = self.shared.trouble() {
            return Err(self.closed(reason));
        }
        let Some(lock) = self.try_lock_job(job)? else {
            return Ok(self.locked_out(job));
        };
        self.locked_out
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(job);
        fault::here("claim.locked");
        self.job_moves();
        let Some(evidence) = self.sound_evidence(&lock)? else {
            return Ok(Claim::Busy);
        };
        let row = self.row(job)?;
        let state = evidence::state_of(&evidence, &row);
        let attempt = evidence.highest_attempt().saturating_add(1);
        let rehearsed = matches!(
            state,
            JobState::Completed {
                simulated: true,
                ..
            }
        );
        let hides =
            self.rehearsal && (!rehearsed && evidence.was_tried() || self.past()?.has_tried(job));
        if hides || state.apply(JobEvent::Claimed { attempt, entry }).is_err() {
            return Ok(Claim::Changed(state));
        }
        if let Some(answer) = self.not_now(&lock, entry, &evidence, &row, now)? {
            return Ok(answer);
        }
        if let Some(state) = self.cancel_if_asked(&lock, entry, &evidence, state, now)? {
            self.committer.hint(self.ruling_hint(job)?);
            return Ok(Claim::Changed(state));
        }
        if let Some(answer) = self.paid_already(&lock, entry, &evidence, &row, now)? {
            return Ok(answer);
        }
        let Some(lease) = self.take(&lock, entry, attempt, &evidence, &row, now)? else {
            return Ok(Claim::Busy);
        };
        if let Some(held) = self.held(job) {
            let mut held = held.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(held) = held.as_mut() {
                held.lock = lock.park();
            }
        }
        Ok(Claim::Taken(lease))
    }

    /// Answers for a job whose lock another program holds: it is looked at again until
    /// that has lasted.
    fn locked_out(&self, job: &JobId) -> Claim {
        const SHORT: Duration = Duration::from_millis(50);
        const LONG: Duration = Duration::from_secs(1);
        let now = platform::steady_now();
        let mut out = self
            .locked_out
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let since = out.entry(job.clone()).or_insert(now);
        let waited = now.saturating_sub(*since);
        if waited < LOCK_PATIENCE {
            return Claim::Later((waited / 4).clamp(SHORT, LONG));
        }
        let path = self.paths().state_file(job, StateFile::Lock);
        let lock = self.shared.workspace.relative(&path).unwrap_or_default();
        Claim::Locked { lock, waited }
    }

    /// Reads the markers and moves damaged ones out of the way. Returns nothing if a worker
    /// that lives may have written them.
    pub(super) fn sound_evidence(
        &self,
        lock: &JobLock<'_>,
    ) -> Result<Option<Evidence>, StoreError> {
        let job = lock.job;
        let state = self.paths().state();
        let evidence = Evidence::read(self.paths(), job).context("read markers in", &state)?;
        if evidence.corrupt().next().is_none() {
            return Ok(Some(evidence));
        }
        if self.claimed_by_live_worker(job)? {
            return Ok(None);
        }
        // A lease that its holder was just turning into a terminal looks damaged,
        // but the journal vouches for the result.
        if self.roll_forward_by_job(lock)?.is_some() {
            let evidence = Evidence::read(self.paths(), job);
            return evidence.context("read markers in", &state).map(Some);
        }
        for (marker, reason) in evidence.corrupt() {
            let kind = marker.kind.file();
            let name = evidence::set_aside(self.paths(), job, kind)
                .context("set aside a marker in", &state)?;
            fault::here("claim.corrupt_aside");
            self.warn(format!(
                "{} is damaged ({reason}); kept as {name} and not counted",
                kind.name(job)
            ));
        }
        let evidence = Evidence::read(self.paths(), job);
        evidence.context("read markers in", &state).map(Some)
    }

    /// Returns the answer if the job cannot be taken now.
    fn not_now(
        &self,
        lock: &JobLock<'_>,
        entry: Entry,
        evidence: &Evidence,
        row: &RowBrief,
        now: Timestamp,
    ) -> Result<Option<Claim>, StoreError> {
        let job = lock.job;
        if let Some(released) = evidence.of(RecordKind::Released)
            && let Some(not_before) = released.not_before(now)
        {
            // A clock that was wrong, or is, must not make it wait longer than was asked.
            let left = not_before
                .since(now)
                .saturating_sub(self.watch.watched(job, released));
            if !left.is_zero() {
                return Ok(Some(Claim::Later(left)));
            }
        }
        let Some(lease) = evidence.lease() else {
            return Ok(None);
        };
        let verdict = self.watch.verdict(self.paths(), job, lease, now);
        match verdict.context("judge a holder in", &self.paths().state())? {
            Verdict::Alive => Ok(Some(Claim::Busy)),
            Verdict::Watch(time) => Ok(Some(Claim::Later(time))),
            Verdict::Dead if entry == Entry::Takeover => {
                match self.roll_forward_lease(lock, lease, now) {
                    Ok(Some(state)) => Ok(Some(Claim::RolledForward(state))),
                    Ok(None) => self.ended_by_its_journal(job, row),
                    Err(error) if error.is_of_one_file() => {
                        Ok(Some(Claim::Stuck(describe(&error))))
                    }
                    Err(error) => Err(error),
                }
            }
            // A dead lease of a lower attempt beside what the caller saw.
            Verdict::Dead => Ok(None),
        }
    }

    /// Returns the answer if a model of the job is there that no record explains.
    fn paid_already(
        &self,
        lock: &JobLock<'_>,
        entry: Entry,
        evidence: &Evidence,
        row: &RowBrief,
        now: Timestamp,
    ) -> Result<Option<Claim>, StoreError> {
        let over = matches!(entry, Entry::Redo | Entry::Perform);
        if over || self.rehearsal || !evidence.markers.is_empty() {
            return Ok(None);
        }
        match self.bring_in_unexplained(lock, entry, after(now, row.start), now) {
            Ok(state) => Ok(state.map(Claim::RolledForward)),
            Err(error) if error.is_of_one_file() => Ok(Some(Claim::Stuck(describe(&error)))),
            Err(error) => Err(error),
        }
    }

    /// Returns the answer if the dead holder's journal ended the lease just now
    /// without a result: a redo that had failed is not run again.
    fn ended_by_its_journal(
        &self,
        job: &JobId,
        row: &RowBrief,
    ) -> Result<Option<Claim>, StoreError> {
        let state = self.paths().state();
        let evidence = Evidence::read(self.paths(), job).context("read markers in", &state)?;
        if evidence.lease().is_some() {
            return Ok(None);
        }
        Ok(evidence.state(row.rehearsal).map(Claim::Changed))
    }

    fn take(
        &self,
        lock: &JobLock<'_>,
        entry: Entry,
        attempt: u32,
        evidence: &Evidence,
        row: &RowBrief,
        now: Timestamp,
    ) -> Result<Option<Lease>, StoreError> {
        let job = lock.job;
        let nonce = Nonce::new(uuid::Uuid::new_v4().simple().to_string());
        let purchase = self.open_purchase(job, evidence, row)?;
        let purchases = purchase.ended;
        let dead = evidence.lease().and_then(Marker::record);
        let rehearsed = dead.is_some_and(|record| record.simulated);
        let took_over = entry == Entry::Takeover && !rehearsed || evidence.holder_died();
        let known = purchase.request_id.is_some() || purchase.intent.is_some() || rehearsed;
        let lost = if evidence.markers.is_empty() {
            took_over && !self.past()?.has_tried(job)
        } else {
            // Its program may have called it a success, and nobody heard it.
            !known && took_over && dead.is_some_and(|dead| self.left_a_model(dead))
        };
        // Whoever found that out before us did not come to ask.
        let before = evidence.ruling().and_then(Marker::record);
        let before = before.and_then(|record| record.lost);
        let before = before.filter(|_| took_over && !known);
        let again = evidence.ruling().and_then(Marker::again);
        let entry = match again {
            Some(_) => Entry::Retry,
            None => continued(entry, evidence),
        };
        let lease = Lease {
            run_id: self.shared.run_id.clone(),
            job_id: job.clone(),
            worker_id: self.identity.worker_id.clone(),
            attempt,
            nonce: nonce.clone(),
            // Always later than the row's, so that "older" can be read off the row.
            claimed_at: after(now, row.start.max(evidence.latest_start())),
            entry,
            took_over,
            lost: before.or(lost.then(|| row.start.unwrap_or(now))),
            request_id: purchase.request_id.clone(),
            intent: purchase.intent.map(Box::new),
            resubmit: again == Some(true),
            failures: evidence.failures(),
            idempotency_key: idempotency_key(job, row, purchases, self),
            redone: evidence.has_result_after(row.start),
            purchases,
            staging: self
                .paths()
                .staging()
                .join(naming::staging_dir(job, attempt, &nonce)),
        };
        self.note(
            now,
            What::Claimed {
                job_id: job.clone(),
                attempt,
                nonce,
                entry,
                resumes: purchase.request_id,
                rehearsal: self.rehearsal,
            },
        )?;
        fault::here("claim.journalled");
        let record = self.lease_record(&lease, purchases);
        if entry == Entry::Redo && evidence.of(RecordKind::Completed).is_none() {
            self.vouch_for_result(lock, now)?;
        }
        // Before the lease: a full disk must not leave a job that nobody runs.
        fs::create_dir(&lease.staging).context("create", &lease.staging)?;
        fault::here("claim.staged");
        let text = record.text(&self.identity, now);
        let file = self
            .publish_lease(&record, &text, evidence.lease().is_some())
            .inspect_err(|_| drop(fs::remove_dir(&lease.staging)))?;
        let Some(file) = file else {
            // Somebody took it whom our lock does not keep out.
            let _ = fs::remove_dir(&lease.staging);
            return Ok(None);
        };
        fault::here("claim.leased");
        self.clear_for(&lease, evidence)?;
        fault::here("claim.cleared");
        let identity = platform::identity(&file.metadata().context("look at", &lease.staging)?);
        self.hold(
            job,
            Held {
                file,
                identity,
                length: text.len(),
                record,
                lock: None,
            },
        );
        self.committer
            .hint(self.running_hint(&lease, evidence, identity));
        Ok(Some(lease))
    }

    /// Returns what an earlier attempt bought or meant to buy, by marker or by journal.
    pub(super) fn open_purchase(
        &self,
        job: &JobId,
        evidence: &Evidence,
        row: &RowBrief,
    ) -> Result<OpenPurchase, StoreError> {
        let mut marked = evidence.purchase();
        // Under a rehearsal an earlier version may have buried a purchase.
        let rehearsed = evidence.ruling().and_then(Marker::record);
        let buried = rehearsed.is_some_and(|record| {
            record.kind == RecordKind::Completed && record.simulated && record.attempt > 1
        });
        let buried = buried || lacks_its_marker(evidence, row);
        if buried && !self.rehearsal && marked.request_id.is_none() {
            marked.request_id = self.past()?.purchase(job).map(str::to_owned);
        }
        let noted = self.bought_by_dead_holder(job, evidence.lease())?;
        Ok(noted.map_or(marked.clone(), |noted| OpenPurchase {
            ended: noted.ended.max(marked.ended),
            ..noted
        }))
    }

    fn lease_record(&self, lease: &Lease, purchases: u32) -> Record {
        let of = AttemptOf {
            run_id: &lease.run_id,
            job_id: &lease.job_id,
            attempt: lease.attempt,
            nonce: lease.nonce.clone(),
            worker_id: &lease.worker_id,
            boot_id: &self.identity.boot_id,
            claimed_at: lease.claimed_at,
            entry: lease.entry,
        };
        Record {
            request_id: lease.request_id.clone(),
            intent: lease.intent.as_deref().cloned(),
            failures: lease.failures,
            purchases,
            holder_died: lease.took_over,
            lost: lease.lost,
            simulated: self.rehearsal,
            pulse: Some(self.pulse()),
            ..Record::new(RecordKind::InProgress, of)
        }
    }

    /// Writes the lease; nothing if there is one already.
    fn publish_lease(
        &self,
        record: &Record,
        text: &str,
        replaces: bool,
    ) -> Result<Option<fs::File>, StoreError> {
        let path = self
            .paths()
            .state_file(&record.job_id, StateFile::InProgress);
        if replaces {
            let tag = self.identity.worker_id.as_str();
            let file = durable::replace_unsynced(&path, text.as_bytes(), tag);
            return file.context("take over", &path).map(Some);
        }
        platform::publish(&path, text.as_bytes()).context("create", &path)
    }

    /// Removes what the new attempt makes void. The lease is there already, so a
    /// crash in between leaves the higher attempt in force.
    fn clear_for(&self, lease: &Lease, evidence: &Evidence) -> Result<(), StoreError> {
        let remove = |kind: StateFile| {
            let path = self.paths().state_file(&lease.job_id, kind);
            fault::here("claim.clearing");
            remove_if_there(&path).context("remove", &path)
        };
        // What was not there under this lock is not there now.
        let remove_marker = |kind: RecordKind| match evidence.of(kind) {
            Some(_) => remove(kind.file()),
            None => Ok(()),
        };
        remove_marker(RecordKind::Released)?;
        if !heeds_requests(lease.entry) {
            remove(StateFile::Cancel)?;
        }
        // A holder that may only be frozen keeps its files: its late result is set aside.
        if let Some(dead) = evidence.lease().and_then(Marker::record)
            && self.watch.is_proved_dead(self.paths(), dead)
        {
            let staging = self.paths().staging();
            let kept = self.discard(&staging.join(recover::staging_of(dead)));
            if let Some(kept) = kept.and_then(|kept| self.shared.workspace.relative(&kept)) {
                self.warn(format!(
                    "job {}: its worker died before what its program had made was recorded; that is \
                     kept in {kept} (if it is the result: archi3d run adopt --run-id {} {})",
                    lease.job_id,
                    shell_word(lease.run_id.as_str()),
                    lease.job_id
                ));
            }
            let trash = naming::staging_dir(&dead.job_id, 0, &dead.nonce);
            self.discard(&staging.join(trash));
        }
        if lease.entry == Entry::Redo {
            return Ok(());
        }
        remove_marker(RecordKind::Failed)?;
        remove_marker(RecordKind::Cancelled)?;
        if !evidence.markers.is_empty() {
            remove(StateFile::ErrorText)?;
        }
        if evidence.of(RecordKind::Completed).is_none() {
            return Ok(());
        }
        if lease.entry == Entry::Perform {
            remove(StateFile::Completed)?;
            fault::here("perform.unmarked");
            self.discard_output(lease)?;
        } else {
            // Its result was found missing or broken; what is left of it stays.
            let state = self.paths().state();
            evidence::set_aside(self.paths(), &lease.job_id, StateFile::Completed)
                .context("set aside a marker in", &state)?;
            fault::here("claim.downgraded_aside");
        }
        Ok(())
    }

    /// Removes a rehearsal's files: first out of sight in one step, then one by one.
    fn discard_output(&self, lease: &Lease) -> Result<(), StoreError> {
        let output = self.paths().output(&lease.job_id);
        let name = naming::staging_dir(&lease.job_id, 0, &lease.nonce);
        let trash = self.paths().staging().join(name);
        match self.move_across(&output, &trash) {
            Ok(_) => {
                fault::here("perform.trashed");
                self.discard(&trash);
                Ok(())
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error).context("remove the rehearsal in", &output),
        }
    }

    fn running_hint(
        &self,
        lease: &Lease,
        evidence: &Evidence,
        identity: platform::FileIdentity,
    ) -> Hint {
        // Another tool's result carries no patch to restore its row from, so a
        // redo of it changes nothing but the status until it has succeeded.
        let foreign = lease.entry == Entry::Redo
            && evidence
                .of(RecordKind::Completed)
                .is_none_or(|marker| marker.record().is_none());
        let patch = if foreign {
            Patch::status(Status::Running)
        } else {
            let mut patch = patch::running(lease.claimed_at, &self.identity.facts);
            if lease.entry == Entry::Perform {
                patch.forget_rehearsal();
            }
            patch
        };
        Hint {
            job: lease.job_id.clone(),
            wanted: Wanted {
                status: Status::Running,
                patch,
                artifacts: Vec::new(),
                simulated: false,
                given_back: None,
            },
            proof: Proof::Lease(identity),
        }
    }

    /// Returns the job's row; a job without one cannot be claimed.
    pub(super) fn row(&self, job: &JobId) -> Result<RowBrief, StoreError> {
        if let Some(brief) = self.rows().get(job) {
            return Ok(brief.clone());
        }
        let mut registry = self.registry();
        let table = registry.load()?;
        let row = RowColumns::of(table).find(table, &self.shared.run_id, job);
        row.map(|row| row.brief(None))
            .ok_or_else(|| StoreError::Setup {
                what: format!("job {job} of run {} has no row", self.shared.run_id),
                path: self.shared.workspace.registry(),
                hint: "run `archi3d batch create` for it, or take it out of the manifest".into(),
            })
    }
}

/// Tells whether the job of a row failed and the marker of that is gone.
fn lacks_its_marker(evidence: &Evidence, row: &RowBrief) -> bool {
    row.status == Status::Failed && evidence.markers.is_empty()
}

/// Derives the key under which a provider can recognise the same purchase. It
/// follows from what is on disk, so a crash or a lost marker cannot change it.
fn idempotency_key(job: &JobId, row: &RowBrief, purchases: u32, store: &FileStore) -> String {
    let mut hash = Sha256::new();
    for part in [
        store.shared.run_id.as_str(),
        job.as_str(),
        &row.created_at,
        &row.image_set_hash,
        &purchases.to_string(),
    ] {
        hash.update(part.as_bytes());
        hash.update([0]);
    }
    let digest = hash.finalize();
    format!("archi3d-{}", hex(&digest[..16]))
}

/// Returns what a claim goes on with: a redo or a performance whose holder died
/// stays one, because the older result is still there to stand or to go.
fn continued(entry: Entry, evidence: &Evidence) -> Entry {
    let dead = evidence.lease().and_then(Marker::record);
    match (entry, dead.map(|record| record.entry)) {
        (Entry::Takeover, Some(dead @ (Entry::Redo | Entry::Perform))) => dead,
        _ => entry,
    }
}

/// Returns `now`, or the next moment after `other` if that is not earlier.
pub(super) fn after(now: Timestamp, other: Option<Timestamp>) -> Timestamp {
    match other {
        Some(other) if other >= now => other.plus(Duration::from_micros(1)),
        _ => now,
    }
}

/// Removes a file that is seldom there. To look first is cheaper: removing locks
/// the folder, in which other threads create files at this moment.
pub(super) fn remove_if_there(path: &Path) -> io::Result<()> {
    if let Err(error) = fs::symlink_metadata(path)
        && error.kind() == io::ErrorKind::NotFound
    {
        return Ok(());
    }
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

/// Returns the state a roll-forward leads to.
pub(super) fn state_after(completed: bool, simulated: bool, attempt: u32) -> JobState {
    if completed {
        JobState::Completed { attempt, simulated }
    } else {
        JobState::Failed { attempt }
    }
}
