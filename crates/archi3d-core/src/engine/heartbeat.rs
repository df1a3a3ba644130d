//! One thread shows for all running jobs that their worker lives, and stops
//! those that were lost or are to be cancelled.

use std::collections::HashMap;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use crate::cancel::{JobStop, StopReason};
use crate::domain::id::JobId;
use crate::domain::lease::Lease;
use crate::engine::Pool;
use crate::store::{Beat, Progress};

/// The running jobs, and the thread that beats for them.
#[derive(Default)]
pub(super) struct Heartbeat {
    running: Mutex<HashMap<JobId, Running>>,
    ended: Mutex<bool>,
    wake: Condvar,
}

#[derive(Clone)]
struct Running {
    lease: Lease,
    stop: JobStop,
    /// The steady clock at the last beat that succeeded.
    last_beat: Duration,
    /// What the job said of its progress and nobody has noted yet.
    news: Option<Progress>,
}

impl Heartbeat {
    pub(super) fn add(&self, lease: &Lease, stop: &JobStop, now: Duration) {
        let running = Running {
            lease: lease.clone(),
            stop: stop.clone(),
            last_beat: now,
            news: None,
        };
        self.jobs().insert(lease.job_id.clone(), running);
    }

    pub(super) fn remove(&self, job: &JobId) {
        self.jobs().remove(job);
    }

    /// Keeps how far a job is until the next beat, so that however often an
    /// adapter tells, the store hears of it at most once a beat.
    pub(super) fn progress(&self, job: &JobId, progress: Progress) {
        if let Some(running) = self.jobs().get_mut(job) {
            running.news = Some(progress);
        }
    }

    pub(super) fn has_jobs(&self) -> bool {
        !self.jobs().is_empty()
    }

    pub(super) fn end(&self) {
        *self.ended.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.wake.notify_all();
    }

    pub(super) fn has_ended(&self) -> bool {
        *self.ended.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Beats until [`Heartbeat::end`].
    pub(super) fn run(&self, pool: &Pool<'_>) {
        let every = pool.conditions.rhythm.heartbeat;
        let mut ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        while !*ended {
            let (guard, timeout) = self
                .wake
                .wait_timeout(ended, every)
                .unwrap_or_else(PoisonError::into_inner);
            ended = guard;
            if timeout.timed_out() {
                drop(ended);
                self.beat_all(pool);
                ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
            }
        }
    }

    fn beat_all(&self, pool: &Pool<'_>) {
        pool.keep_ahead();
        let take = |running: &mut Running| {
            let job = running.clone();
            running.news = None;
            job
        };
        let running: Vec<Running> = self.jobs().values_mut().map(take).collect();
        for job in &running {
            if let Some(progress) = &job.news {
                // Whoever watches sees an older figure; nothing else comes of it.
                let _ = pool
                    .store
                    .note_progress(&job.lease, progress, pool.clock.now());
            }
        }
        let steady = pool.clock.steady();
        let leases: Vec<&Lease> = running.iter().map(|job| &job.lease).collect();
        let beats = pool.store.beat_all(&leases, pool.clock.now());
        for (job, beat) in running.iter().zip(beats) {
            match beat {
                Ok(beat) => self.take(job, beat, steady),
                // Whoever keeps the leases is away, and takes none from us meanwhile; once it is
                // back the next beat tells. What was begun goes on.
                Err(error) if error.is_away() => {}
                // A disk that answers late is no reason to give a job up, but
                // after half the stale time others may soon think we are dead.
                Err(error) => {
                    let silent = steady.saturating_sub(job.last_beat);
                    if silent > pool.conditions.rhythm.stale / 2 && job.stop.reason().is_none() {
                        job.stop.stop(StopReason::Unreachable);
                        let what = format!(
                            "job {} is stopped: its lease could not be renewed for {} s",
                            job.lease.job_id,
                            silent.as_secs()
                        );
                        pool.store_failed(&what, &error);
                    }
                }
            }
        }
    }

    fn take(&self, job: &Running, beat: Beat, steady: Duration) {
        match beat {
            Beat::Held => {
                if let Some(running) = self.jobs().get_mut(&job.lease.job_id) {
                    running.last_beat = steady;
                }
            }
            Beat::CancelAsked => job.stop.stop(StopReason::CancelAsked),
            Beat::Lost => {
                // The job may have ended between the listing and the beat.
                if self.jobs().contains_key(&job.lease.job_id) {
                    job.stop.stop(StopReason::LeaseLost);
                }
            }
        }
    }

    fn jobs(&self) -> std::sync::MutexGuard<'_, HashMap<JobId, Running>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
