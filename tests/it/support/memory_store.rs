//! The strict store in memory: the reference that tests hold other stores against.
//!
//! [`MemoryRun`] is the run, [`MemoryStore`] one worker's handle on it; dropping a
//! handle that was not closed is the death of its worker. It forgives nothing: a
//! caller that breaks the contract panics, rows change only when the contract says
//! they must, and time is never read. Only results are files, in a given folder.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use archi3d_core::domain::budget::AttemptKey;
use archi3d_core::domain::id::{JobId, Nonce, RunId, WorkerId};
use archi3d_core::domain::job::{Entry, JobEvent, JobState};
use archi3d_core::domain::lease::{Lease, Rhythm, Verdict};
use archi3d_core::domain::naming;
use archi3d_core::domain::purchase::OpenIntent;
use archi3d_core::domain::time::Timestamp;
use archi3d_core::store::error::IoContext;
use archi3d_core::store::{
    Beat, Billing, Cancellation, Claim, Ending, Finish, Handing, JobRecord, JobToRetry, Made,
    Progress, Recovery, ReleaseReason, Restored, RunJobs, Setback, StoreError, WorkerStore,
};
use archi3d_core::workspace::paths::{RunPaths, Workspace};

mod job;
pub mod shared;

use job::Job;

/// One run in memory; clones share it.
#[derive(Debug, Clone)]
pub struct MemoryRun(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    workspace: Workspace,
    run_id: RunId,
    paths: RunPaths,
    rhythm: Rhythm,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    jobs: Vec<Job>,
    alive: HashSet<WorkerId>,
    /// Workers whose next ending is noted but not published, as if they died there.
    cut_off: HashSet<WorkerId>,
    known_workers: HashSet<WorkerId>,
    nonces: u64,
}

impl State {
    fn job(&mut self, id: &JobId) -> Option<&mut Job> {
        self.jobs.iter_mut().find(|job| job.record.job_id == *id)
    }

    fn held(&mut self, lease: &Lease) -> &mut Job {
        self.job(&lease.job_id)
            .unwrap_or_else(|| panic!("no store gave a lease on job {}", lease.job_id))
    }
}

impl MemoryRun {
    /// Makes a run of waiting jobs whose results lie below `workspace`.
    pub fn new(
        workspace: Workspace,
        run_id: RunId,
        jobs: Vec<JobRecord>,
        rhythm: Rhythm,
    ) -> Result<Self, StoreError> {
        let paths = workspace.run(&run_id);
        let staging = paths.staging();
        fs::create_dir_all(&staging).context("create", &staging)?;
        let state = State {
            jobs: jobs.into_iter().map(Job::new).collect(),
            ..State::default()
        };
        Ok(Self(Arc::new(Inner {
            workspace,
            run_id,
            paths,
            rhythm,
            state: Mutex::new(state),
        })))
    }

    /// Opens the run for a worker, whose id must be new.
    pub fn handle(&self, worker: &WorkerId) -> MemoryStore {
        let mut state = self.0.lock();
        assert!(
            state.known_workers.insert(worker.clone()),
            "worker id {worker} was used before"
        );
        state.alive.insert(worker.clone());
        MemoryStore {
            run: self.0.clone(),
            worker: worker.clone(),
            recovered: AtomicBool::new(false),
            closed: AtomicBool::new(false),
        }
    }

    /// Asks whoever runs `job` to stop it.
    pub fn ask_to_cancel(&self, job: &JobId) {
        if let Some(job) = self.0.lock().job(job) {
            job.cancel_asked = true;
        }
    }

    /// Lets the next [`Store::finish`] of `worker` end in the middle, as a kill
    /// would: the ending is noted, nothing is published, the caller gets an error.
    pub fn cut_off(&self, worker: &WorkerId) {
        self.0.lock().cut_off.insert(worker.clone());
    }

    /// Returns a job's row as people see it, by column.
    pub fn row(&self, job: &JobId) -> BTreeMap<String, String> {
        let mut state = self.0.lock();
        state.job(job).map(|j| j.row.clone()).unwrap_or_default()
    }
}

impl Inner {
    fn lock(&self) -> MutexGuard<'_, State> {
        // A caller that broke the contract must not hide behind a second panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn closed(&self, reason: impl Into<String>) -> StoreError {
        StoreError::Closed {
            run_id: self.run_id.to_string(),
            reason: reason.into(),
        }
    }

    /// Publishes what dead workers noted; returns the jobs.
    fn roll_forward(&self, state: &mut State) -> Result<Vec<JobId>, StoreError> {
        let State { jobs, alive, .. } = state;
        let mut published = Vec::new();
        for job in jobs {
            if job.dead_note(alive) {
                let stands = job.publish_note(&self.paths)?;
                if stands {
                    published.push(job.record.job_id.clone());
                }
            }
        }
        Ok(published)
    }
}

/// One worker's handle on a run in memory.
#[derive(Debug)]
pub struct MemoryStore {
    run: Arc<Inner>,
    worker: WorkerId,
    recovered: AtomicBool,
    closed: AtomicBool,
}

impl MemoryStore {
    /// Checks that a lease comes from this handle and was not ended by it.
    fn check_own(&self, job: &Job, lease: &Lease) {
        assert_eq!(
            lease.worker_id, self.worker,
            "a lease is used by the handle that took it"
        );
        assert!(
            !job.ended.contains(&lease.nonce),
            "attempt {} of job {} was ended before",
            lease.attempt,
            lease.job_id
        );
    }

    fn new_lease(&self, state: &mut State, job: &JobId, entry: Entry, now: Timestamp) -> Lease {
        state.nonces += 1;
        let nonce = Nonce::new(format!("{:032x}", state.nonces));
        let job = state.job(job).expect("the caller found it");
        let attempt = job.highest_attempt + 1;
        let name = naming::staging_dir(&job.record.job_id, attempt, &nonce);
        Lease {
            run_id: self.run.run_id.clone(),
            job_id: job.record.job_id.clone(),
            worker_id: self.worker.clone(),
            attempt,
            nonce,
            claimed_at: now,
            // Whoever takes a dead redo over goes on with a redo.
            entry: job.entry_of(entry),
            took_over: entry == Entry::Takeover || job.holder_died,
            lost: None,
            resubmit: job.again == Some(true),
            request_id: job.purchase.request_id.clone(),
            intent: job.purchase.intent.clone().map(Box::new),
            failures: job.failures,
            idempotency_key: format!(
                "{}/{}/{}",
                self.run.run_id, job.record.job_id, job.purchase.ended
            ),
            redone: false,
            purchases: job.purchase.ended,
            staging: self.run.paths.staging().join(name),
        }
    }
}

impl WorkerStore for MemoryStore {
    fn run_id(&self) -> &RunId {
        &self.run.run_id
    }

    fn recover(&self, _now: Timestamp) -> Result<Recovery, StoreError> {
        let mut state = self.run.lock();
        let rolled_forward = self.run.roll_forward(&mut state)?;
        self.recovered.store(true, Ordering::SeqCst);
        Ok(Recovery {
            rolled_forward,
            ..Recovery::default()
        })
    }

    fn jobs(&self, now: Timestamp) -> Result<RunJobs, StoreError> {
        let state = self.run.lock();
        let records = state.jobs.iter();
        let jobs = records
            .map(|job| job.as_it_stands(&state.alive, self.run.rhythm, now))
            .collect();
        Ok(RunJobs {
            jobs,
            warnings: Vec::new(),
            ..RunJobs::default()
        })
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

    fn claim(&self, id: &JobId, entry: Entry, now: Timestamp) -> Result<Claim, StoreError> {
        assert!(
            self.recovered.load(Ordering::SeqCst),
            "recovery comes before the first claim"
        );
        if self.closed.load(Ordering::SeqCst) {
            return Err(self.run.closed("it was closed"));
        }
        let mut state = self.run.lock();
        let alive = state.alive.clone();
        let Some(job) = state.job(id) else {
            return Err(self.run.closed(format!("it has no job {id}")));
        };
        let attempt = job.highest_attempt + 1;
        let Ok(running) = job.state.apply(JobEvent::Claimed { attempt, entry }) else {
            return Ok(Claim::Changed(job.state));
        };
        if let Some(moment) = job.not_before.filter(|moment| *moment > now) {
            return Ok(Claim::Later(moment.since(now)));
        }
        match job.verdict(&alive, self.run.rhythm, now) {
            Some(Verdict::Alive) => return Ok(Claim::Busy),
            Some(Verdict::Watch(time)) => return Ok(Claim::Later(time)),
            Some(Verdict::Dead) | None => {}
        }
        if job.dead_note(&alive) {
            let published = job.publish_note(&self.run.paths)?;
            return Ok(if published {
                Claim::RolledForward(job.state)
            } else {
                Claim::Changed(job.state)
            });
        }
        if job.cancel_asked && matches!(entry, Entry::Fresh | Entry::Takeover) {
            job.cancel_now(&alive)?;
            return Ok(Claim::Changed(job.state));
        }
        let lease = self.new_lease(&mut state, id, entry, now);
        fs::create_dir(&lease.staging).context("create", &lease.staging)?;
        let job = state.job(id).expect("found above");
        job.take(running, &lease, now, &alive, &self.run.paths)?;
        Ok(Claim::Taken(lease))
    }

    fn beat(&self, lease: &Lease, now: Timestamp) -> Result<Beat, StoreError> {
        let mut state = self.run.lock();
        let job = state.held(lease);
        assert_eq!(
            lease.worker_id, self.worker,
            "a lease is used by the handle that took it"
        );
        if job.ended.contains(&lease.nonce) {
            return Err(self.run.closed("a lease that was ended does not beat"));
        }
        let Some(held) = job.held_as(lease) else {
            return Ok(Beat::Lost);
        };
        held.beat = now;
        Ok(if job.cancel_asked {
            Beat::CancelAsked
        } else {
            Beat::Held
        })
    }

    fn intent(&self, lease: &Lease, correlation: &str, now: Timestamp) -> Result<Beat, StoreError> {
        let beat = self.beat(lease, now)?;
        let mut state = self.run.lock();
        if beat == Beat::Held {
            state.held(lease).purchase.intend(OpenIntent {
                correlation: correlation.to_owned(),
                at: now,
            });
        }
        Ok(beat)
    }

    fn submitted(
        &self,
        lease: &Lease,
        request_id: &str,
        cost_usd: Option<f64>,
        _now: Timestamp,
    ) -> Result<(), StoreError> {
        let mut state = self.run.lock();
        let job = state.held(lease);
        self.check_own(job, lease);
        if job.held_as(lease).is_some() {
            job.submit(request_id, cost_usd);
        }
        Ok(())
    }

    fn made(
        &self,
        lease: &Lease,
        made: &Made,
        _durably: bool,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let mut state = self.run.lock();
        let job = state.held(lease);
        self.check_own(job, lease);
        if job.held_as(lease).is_some() {
            job.note = Some(job::ending_of_made(lease, made, now));
        }
        Ok(())
    }

    fn note_progress(
        &self,
        _lease: &Lease,
        _progress: &Progress,
        _now: Timestamp,
    ) -> Result<(), StoreError> {
        Ok(())
    }

    fn finish(&self, lease: &Lease, ending: Ending) -> Result<Finish, StoreError> {
        job::check_ending(lease, &ending);
        let mut state = self.run.lock();
        let cut_off = state.cut_off.remove(&self.worker);
        let job = state.held(lease);
        self.check_own(job, lease);
        job.ended.insert(lease.nonce.clone());
        if job.held_as(lease).is_none() {
            return job::keep_late(lease, &self.run.paths, &self.run.workspace);
        }
        job.bill(lease, &ending);
        job.note = Some(ending);
        if cut_off {
            return Err(self.run.closed("it died while it recorded an ending"));
        }
        Ok(if job.publish_note(&self.run.paths)? {
            Finish::Published
        } else {
            Finish::OldResultKept
        })
    }

    fn release(
        &self,
        lease: &Lease,
        reason: ReleaseReason,
        not_before: Option<Timestamp>,
        _now: Timestamp,
    ) -> Result<(), StoreError> {
        let mut state = self.run.lock();
        let job = state.held(lease);
        self.check_own(job, lease);
        let attempt = lease.attempt;
        if reason == ReleaseReason::Budget {
            job.bill_if_nothing_was_bought(lease);
        }
        job.holder_died |= reason == ReleaseReason::Unreachable;
        job.give_back(lease, JobEvent::Released { attempt }, not_before)
    }

    fn requeue(&self, lease: &Lease, setback: Setback, _now: Timestamp) -> Result<(), StoreError> {
        let mut state = self.run.lock();
        let job = state.held(lease);
        self.check_own(job, lease);
        let attempt = lease.attempt;
        if setback.counts && lease.entry != Entry::Redo {
            job.failures += 1;
        }
        job.holder_died = false;
        if job.held_as(lease).is_some() {
            job.end_purchase(setback.purchase);
        }
        job.give_back(lease, JobEvent::Released { attempt }, setback.not_before)
    }

    fn set_aside(&self, lease: &Lease) -> Result<Option<String>, StoreError> {
        match job::keep_late(lease, &self.run.paths, &self.run.workspace)? {
            Finish::Fenced { kept_at } => Ok(kept_at),
            _ => Ok(None),
        }
    }

    fn is_safe(&self, _lease: &Lease) -> bool {
        // Memory survives no power loss.
        false
    }

    fn secure(&self, _lease: &Lease) -> Result<(), StoreError> {
        Ok(())
    }

    fn cancel(&self, lease: &Lease, _now: Timestamp) -> Result<(), StoreError> {
        let mut state = self.run.lock();
        let job = state.held(lease);
        self.check_own(job, lease);
        if job.held_as(lease).is_some() {
            assert!(job.cancel_asked, "a job is cancelled when somebody asks");
        }
        job.give_back(lease, JobEvent::Cancelled, None)
    }

    fn cancel_job(&self, id: &JobId, now: Timestamp) -> Result<Cancellation, StoreError> {
        assert!(
            self.recovered.load(Ordering::SeqCst),
            "recovery comes before the first cancellation"
        );
        let mut state = self.run.lock();
        let alive = state.alive.clone();
        let Some(job) = state.job(id) else {
            return Err(self.run.closed(format!("it has no job {id}")));
        };
        if let JobState::Cancelled { .. } = job.state {
            return Ok(Cancellation::AlreadyCancelled);
        }
        if job.state.apply(JobEvent::Cancelled).is_err() {
            return Ok(Cancellation::Untouched(job.state));
        }
        match job.verdict(&alive, self.run.rhythm, now) {
            Some(Verdict::Alive | Verdict::Watch(_)) => {
                job.cancel_asked = true;
                Ok(Cancellation::Asked)
            }
            Some(Verdict::Dead) if job.dead_note(&alive) => {
                job.publish_note(&self.run.paths)?;
                Ok(Cancellation::Untouched(job.state))
            }
            Some(Verdict::Dead) | None => job.cancel_now(&alive),
        }
    }

    fn restore(&self, id: &JobId, _now: Timestamp) -> Result<Restored, StoreError> {
        let mut state = self.run.lock();
        let Some(job) = state.job(id) else {
            return Err(self.run.closed(format!("it has no job {id}")));
        };
        Ok(job.restore())
    }

    fn try_again(
        &self,
        jobs: &[JobToRetry],
        resubmit: bool,
        _now: &dyn Fn() -> Timestamp,
    ) -> Result<usize, StoreError> {
        let mut state = self.run.lock();
        let mut waiting = 0;
        for wanted in jobs {
            let job = state.job(&wanted.job_id);
            waiting += usize::from(job.is_some_and(|job| job.try_again(wanted.attempt, resubmit)));
        }
        Ok(waiting)
    }

    fn close(&self, _now: Timestamp) -> Result<(), StoreError> {
        if self.closed.swap(true, Ordering::SeqCst) {
            return Ok(());
        }
        let mut state = self.run.lock();
        for job in &mut state.jobs {
            let held = job.lease.as_ref().map(|held| &held.lease.worker_id);
            assert!(
                held != Some(&self.worker) || job.note.is_some(),
                "every attempt is ended before the handle is closed"
            );
            job.show();
        }
        Ok(())
    }

    fn endings_not_shown(&self) -> Result<usize, StoreError> {
        Ok(0)
    }

    fn billings(&self, attempt_keys: &[AttemptKey]) -> Result<Vec<Billing>, StoreError> {
        let mut state = self.run.lock();
        let billing = |key: &AttemptKey| {
            let bill = state.job(&key.job_id)?.bills.get(&key.nonce);
            bill.copied()
        };
        let billings = attempt_keys.iter().map(billing);
        Ok(billings.map(|one| one.unwrap_or(Billing::Open)).collect())
    }

    fn purchases(&self, job: &JobId) -> Result<Vec<(String, Option<f64>)>, StoreError> {
        let mut state = self.run.lock();
        Ok(state
            .job(job)
            .map(|job| job.bought.clone())
            .unwrap_or_default())
    }

    fn hurry(&self) {}

    fn output_dir(&self, job: &JobId) -> PathBuf {
        self.run.paths.output(job)
    }
}

impl Drop for MemoryStore {
    fn drop(&mut self) {
        self.run.lock().alive.remove(&self.worker);
    }
}
