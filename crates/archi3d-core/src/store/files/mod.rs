//! The file store: tables, markers, locks and journals in the workspace.
//!
//! One handle is one worker process on one run. The order of writes is what
//! makes a kill at any moment harmless; `ARCHITECTURE.md` tells it step by step.
//! - `registry`: the table on disk; [`upkeep`]: what looks after all of it;
//! - `marker`, `evidence`: state one can see with `ls`; `journal`: what happened;
//! - `claim`, `finish`, `redo`, `cancel`, `recover`,
//!   `lost_files`, `sweep`: the moves; `liveness`: who is dead;
//! - `projection`, `committer`: from markers to rows; `inspect`: for `consolidate`;
//! - `budget`, `ledger`: all money, and what journals tell of unsettled attempts;
//! - `providers`, `closures`, `limits`: what workers share about providers.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use crate::domain::budget::AttemptKey;
use crate::domain::id::{JobId, Nonce, RunId};
use crate::domain::job::{Entry, Status};
use crate::domain::lease::{Lease, Rhythm};
use crate::domain::naming::StateFile;
use crate::domain::time::{Clock, Timestamp};
use crate::platform::{self, FileIdentity, fault};
use crate::store::error::{IoContext, StoreError};
use crate::store::manifest::Manifest;
use crate::store::{
    Beat, Billing, Cancellation, Claim, Ending, Finish, Handing, JobToRetry, Made, NoticeSink,
    Progress, Recovery, ReleaseReason, Restored, RunJobs, Setback, StoreNotice, WorkerIdentity,
    WorkerStore,
};
use crate::workspace::lock::{FileLock, ParkedLock};
use crate::workspace::paths::{RunPaths, Workspace};

mod adopt;
mod attempts;
mod budget;
mod cancel;
mod claim;
mod closures;
mod committer;
mod evidence;
mod examine;
mod finish;
mod foreign;
mod give_back;
mod handover;
mod history;
mod inspect;
mod job_lock;
mod journal;
mod journal_summary;
mod late;
mod ledger;
mod limits;
mod liveness;
mod lost_files;
mod made;
mod marker;
mod open;
mod outbox;
mod overview;
mod past;
mod pen;
mod pending;
mod projection;
#[cfg(test)]
mod property;
mod providers;
mod pulled;
mod reading;
mod recover;
mod redo;
pub(super) mod registry;
mod repair;
mod reuse;
mod runs;
mod snapshot;
mod subject;
mod sweep;
mod unexplained;
pub mod upkeep;
mod workers;

use committer::{Committer, Shared};
use journal::What;
use liveness::Watch;
use marker::{Pulse, Record};
use past::Past;
use registry::Registry;

pub use adopt::Adoption;
pub use attempts::{all_attempts, attempts, some_attempts};
pub use budget::FileBudget;
pub use examine::{Behind, DeadLease, RunExam, Skew, examine};
pub use handover::{HandedJob, HandedRun, retire_markers};
pub use history::History;
pub use inspect::Inspector;
pub use late::{Kept, kept};
pub use ledger::{Journals, LedgerFile};
pub use open::contradictions;
pub use overview::algos_of;
pub use projection::StateNames;
pub use providers::FileProviders;
pub use pulled::{PulledRow, PulledRows, Pulling, keep_rows, restore};
pub use reading::FileRuns;
pub use repair::{DamagedMarker, Remedy};
pub use reuse::FileReuse;
pub use snapshot::read_run;
pub use subject::{Contradictions, Subject, SubjectColumns, SubjectKey};

/// What is needed to open a run for working on it.
#[derive(Clone)]
pub struct FileStoreOptions {
    /// The folder everything is in.
    pub workspace: Workspace,
    /// The run.
    pub run_id: RunId,
    /// Who we are.
    pub identity: WorkerIdentity,
    /// How often we beat and how long silence is borne.
    pub rhythm: Rhythm,
    /// Whether it rehearses: nothing is bought.
    pub rehearsal: bool,
    /// Go on where locks do not exclude other machines.
    pub allow_unsafe_locks: bool,
    /// Where notices go.
    pub notices: NoticeSink,
    /// Where the committer takes the time from.
    pub clock: Arc<dyn Clock>,
}

/// One worker's handle on one run, on files.
pub struct FileStore {
    shared: Arc<Shared>,
    identity: WorkerIdentity,
    watch: Watch,
    committer: Committer,
    leases: Mutex<HashMap<JobId, Arc<Mutex<Option<Held>>>>>,
    /// What the rows said when the run was read, so that a claim never waits for
    /// a fold to finish writing the table.
    rows: Mutex<HashMap<JobId, RowBrief>>,
    /// Endings of ours, to be looked for in the registry at the end.
    ended: Mutex<HashSet<JobId>>,
    /// Endings and results that are in the journal and nowhere else yet.
    unpublished: Mutex<HashSet<JobId>>,
    /// Attempts of which it is known that their adapters called them a success,
    made: Mutex<HashSet<Nonce>>,
    /// and those of ours whose files the disk has confirmed.
    safe: Mutex<HashSet<Nonce>>,
    /// The manifest as it was when the run was opened, until somebody asks for the jobs.
    manifest: Mutex<Option<(platform::FileVersion, Manifest)>>,
    /// What `state/` held when it was listed last, and which version of it that was.
    listed: Mutex<Option<(platform::FileVersion, Arc<StateNames>)>>,
    rhythm: Rhythm,
    /// Whether we rehearse.
    rehearsal: bool,
    /// What the journals know of real attempts; read when it is needed.
    past: OnceLock<Past>,
    /// The folders that attempts had left when a job without any record was first taken.
    folders: OnceLock<unexplained::Folders>,
    /// Jobs whose lock another program holds, and since when.
    locked_out: Mutex<HashMap<JobId, Duration>>,
    /// Whether we took the lock of any job, to move it.
    moved: AtomicBool,
    /// Whether anything but rehearsals was published.
    made_results: AtomicBool,
    closed: AtomicBool,
}

/// The cells of a row that a claim needs; nobody changes them while jobs wait.
#[derive(Debug, Clone)]
struct RowBrief {
    status: Status,
    start: Option<Timestamp>,
    rehearsal: bool,
    /// Its result was found missing or broken, whatever the marker says.
    downgraded: bool,
    created_at: Arc<str>,
    image_set_hash: Arc<str>,
}

/// A lease we hold, with its file open for heartbeats.
struct Held {
    file: File,
    identity: FileIdentity,
    /// How long the file is.
    length: usize,
    record: Record,
    /// The job's lock, open since the claim.
    lock: Option<ParkedLock>,
}

impl FileStore {
    fn paths(&self) -> &RunPaths {
        &self.shared.paths
    }

    fn leases(&self) -> MutexGuard<'_, HashMap<JobId, Arc<Mutex<Option<Held>>>>> {
        self.leases.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns a lease we hold. Whoever writes its file locks it alone, so that a
    /// slow disk holds up no other job.
    fn held(&self, job: &JobId) -> Option<Arc<Mutex<Option<Held>>>> {
        self.leases().get(job).cloned()
    }

    fn made_nonces(&self) -> MutexGuard<'_, HashSet<Nonce>> {
        self.made.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn safe_nonces(&self) -> MutexGuard<'_, HashSet<Nonce>> {
        self.safe.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn rows(&self) -> MutexGuard<'_, HashMap<JobId, RowBrief>> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn unpublished(&self) -> MutexGuard<'_, HashSet<JobId>> {
        self.unpublished
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn registry(&self) -> MutexGuard<'_, Registry> {
        self.shared
            .registry
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn hold(&self, job: &JobId, held: Held) {
        let held = Arc::new(Mutex::new(Some(held)));
        self.leases().insert(job.clone(), held);
    }

    /// Ends our holding of a lease, once a beat that is under way has been written.
    fn let_go(&self, job: &JobId) -> Option<Held> {
        let held = self.leases().remove(job)?;
        let mut held = held.lock().unwrap_or_else(PoisonError::into_inner);
        held.take()
    }

    /// Returns how we show that we live.
    fn pulse(&self) -> Pulse {
        Pulse {
            journal: Some(self.shared.journal.whereabouts()),
            ..Pulse::new(self.rhythm)
        }
    }

    fn note(&self, at: Timestamp, what: What) -> Result<(), StoreError> {
        let journal = &self.shared.journal;
        journal
            .append(at, what)
            .context("append to", journal.path())
    }

    /// Returns what the journals know of real attempts.
    fn past(&self) -> Result<&Past, StoreError> {
        if self.past.get().is_none() {
            let _ = self.past.set(Past::read(self.paths())?);
        }
        Ok(self.past.get().expect("it was just read"))
    }

    /// Notes that a job's markers may change now, perhaps too quickly for the
    /// folder's time to tell.
    fn job_moves(&self) {
        self.moved.store(true, Ordering::SeqCst);
        self.forget_names();
    }

    fn warn(&self, message: String) {
        (self.shared.notices)(StoreNotice::Warning(message));
    }

    fn closed(&self, reason: String) -> StoreError {
        StoreError::Closed {
            run_id: self.shared.run_id.to_string(),
            reason,
        }
    }

    /// Waits for a lock; returns nothing when told to hurry.
    fn wait_for(&self, path: &Path) -> Result<Option<FileLock>, StoreError> {
        self.shared.wait_for(path)
    }
}

impl WorkerStore for FileStore {
    fn run_id(&self) -> &RunId {
        &self.shared.run_id
    }

    fn recover(&self, now: Timestamp) -> Result<Recovery, StoreError> {
        self.recover_run(now)
    }

    fn jobs(&self, now: Timestamp) -> Result<RunJobs, StoreError> {
        snapshot::jobs(self, now)
    }

    fn handing(&self) -> Option<&dyn Handing> {
        None
    }

    fn keeps_bare_results(&self) -> bool {
        false
    }

    fn counts_successes(&self) -> bool {
        false
    }

    fn claim(&self, job: &JobId, entry: Entry, now: Timestamp) -> Result<Claim, StoreError> {
        if self.closed.load(Ordering::SeqCst) {
            return Err(self.closed("it was closed".into()));
        }
        self.claim_job(job, entry, now)
    }

    fn beat(&self, lease: &Lease, now: Timestamp) -> Result<Beat, StoreError> {
        let Some(held) = self.held(&lease.job_id) else {
            return Ok(Beat::Lost);
        };
        let held = held.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(held) = held.as_ref() else {
            return Ok(Beat::Lost);
        };
        let path = self
            .paths()
            .state_file(&lease.job_id, StateFile::InProgress);
        fault::here("beat.before");
        let journal = &self.shared.journal;
        journal.check().context("keep", journal.path())?;
        platform::write_at(
            &held.file,
            now.fixed_width().as_bytes(),
            marker::TIMESTAMP_OFFSET,
        )
        .context("beat in", &path)?;
        fault::here("beat.written");
        if !self.still_names(&lease.job_id, held) {
            // Where the folder itself cannot be found, nobody has taken anything.
            let state = self.paths().state();
            fs::symlink_metadata(&state).context("look at", &state)?;
            return Ok(Beat::Lost);
        }
        let cancel = self.paths().state_file(&lease.job_id, StateFile::Cancel);
        Ok(if cancel.symlink_metadata().is_ok() {
            Beat::CancelAsked
        } else {
            Beat::Held
        })
    }

    fn intent(&self, lease: &Lease, correlation: &str, now: Timestamp) -> Result<Beat, StoreError> {
        self.note_intent(lease, correlation, now)
    }

    fn submitted(
        &self,
        lease: &Lease,
        request_id: &str,
        cost_usd: Option<f64>,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        self.note_submitted(lease, request_id, cost_usd, now)
    }

    fn made(
        &self,
        lease: &Lease,
        made: &Made,
        durably: bool,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        self.note_made(lease, made, durably, now)
    }

    fn note_progress(
        &self,
        lease: &Lease,
        progress: &Progress,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let what = What::Progress {
            job_id: lease.job_id.clone(),
            nonce: lease.nonce.clone(),
            fraction: progress.fraction,
            message: progress.message.clone(),
        };
        self.note(now, what)
    }

    fn finish(&self, lease: &Lease, ending: Ending) -> Result<Finish, StoreError> {
        self.finish_job(lease, ending)
    }

    fn release(
        &self,
        lease: &Lease,
        reason: ReleaseReason,
        not_before: Option<Timestamp>,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        self.release_job(lease, reason, not_before, now)
    }

    fn requeue(&self, lease: &Lease, setback: Setback, now: Timestamp) -> Result<(), StoreError> {
        self.requeue_job(lease, setback, now)
    }

    fn set_aside(&self, lease: &Lease) -> Result<Option<String>, StoreError> {
        self.move_to_late(lease)
    }

    fn leave(&self, lease: &Lease) -> bool {
        self.leave_made(lease)
    }

    fn is_safe(&self, lease: &Lease) -> bool {
        self.is_safe_on_disk(lease)
    }

    fn secure(&self, lease: &Lease) -> Result<(), StoreError> {
        self.secure_lease(lease)
    }

    fn cancel(&self, lease: &Lease, now: Timestamp) -> Result<(), StoreError> {
        self.cancel_job(lease, now)
    }

    fn cancel_job(&self, job: &JobId, now: Timestamp) -> Result<Cancellation, StoreError> {
        self.try_cancel(job, now)
    }

    fn restore(&self, job: &JobId, now: Timestamp) -> Result<Restored, StoreError> {
        self.restore_job(job, now)
    }

    fn try_again(
        &self,
        jobs: &[JobToRetry],
        resubmit: bool,
        now: &dyn Fn() -> Timestamp,
    ) -> Result<usize, StoreError> {
        let mut waiting = 0;
        for job in jobs {
            waiting += usize::from(self.try_job_again(job, resubmit, now())?);
        }
        // A wish that was answered survives a power loss.
        self.shared.sync_names()?;
        Ok(waiting)
    }

    fn close(&self, now: Timestamp) -> Result<(), StoreError> {
        if self.closed.swap(true, Ordering::SeqCst) {
            return Ok(());
        }
        fault::here("close.before");
        self.committer.stop()?;
        fault::here("close.folded");
        // Somebody may have written old rows over ours meanwhile.
        if self.moved.load(Ordering::SeqCst) || !self.registry().is_current()? {
            self.project(&BTreeSet::new(), now)?;
        }
        fault::here("close.projected");
        if self.made_results.load(Ordering::SeqCst) {
            // A closed journal is not read again, so the markers must stand alone.
            self.shared.sync_everything()?;
        }
        fault::here("close.synced");
        let what = What::Closed {
            by: self.identity.worker_id.clone(),
        };
        if self.leases().is_empty() && self.unpublished().is_empty() {
            self.note(now, what)?;
            fault::here("close.noted");
        }
        self.shared.journal.trim();
        self.shared
            .journal
            .sync()
            .context("sync", self.shared.journal.path())
    }

    fn endings_not_shown(&self) -> Result<usize, StoreError> {
        self.count_endings_not_shown()
    }

    fn billings(&self, attempt_keys: &[AttemptKey]) -> Result<Vec<Billing>, StoreError> {
        self.billings_of(attempt_keys)
    }

    fn purchases(&self, job: &JobId) -> Result<Vec<(String, Option<f64>)>, StoreError> {
        past::purchases(self.paths(), job)
    }

    fn hurry(&self) {
        self.shared.hurry.store(true, Ordering::SeqCst);
    }

    fn output_dir(&self, job: &JobId) -> PathBuf {
        self.paths().output(job)
    }
}

impl Drop for FileStore {
    fn drop(&mut self) {
        let _ = self.committer.stop();
    }
}

/// Creates a folder and all above it, saying clearly when something is in the way.
fn ensure_dir(path: &Path) -> Result<(), StoreError> {
    if path
        .symlink_metadata()
        .is_ok_and(|metadata| !metadata.is_dir() && !metadata.is_symlink())
    {
        return Err(StoreError::Setup {
            what: "expected a folder, found a file".into(),
            path: path.to_owned(),
            hint: "move it away and try again".into(),
        });
    }
    fault::io("open.creating_folder").context("create", path)?;
    fs::create_dir_all(path).context("create", path)
}
