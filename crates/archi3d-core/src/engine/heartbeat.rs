//! One thread shows for all running jobs that their worker lives, and stops
//! those that were lost or are to be cancelled.

use std::collections::HashMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::cancel::{JobStop, StopReason};
use crate::domain::id::Nonce;
use crate::domain::lease::Lease;
use crate::engine::executor::Executor;
use crate::store::{Beat, Progress};

/// The leases of running jobs, and the thread that beats for them.
#[derive(Default)]
pub(super) struct Heartbeat {
    state: Mutex<State>,
    wake: Condvar,
}

#[derive(Default)]
struct State {
    running: HashMap<Nonce, Running>,
    ended: bool,
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
        self.state().running.insert(lease.nonce.clone(), running);
    }

    pub(super) fn remove(&self, lease: &Lease) {
        self.state().running.remove(&lease.nonce);
    }

    /// Keeps how far a job is until the next beat, so that however often an
    /// adapter tells, the store hears of it at most once a beat.
    pub(super) fn progress(&self, attempt: &Nonce, progress: Progress) {
        if let Some(running) = self.state().running.get_mut(attempt) {
            running.news = Some(progress);
        }
    }

    pub(super) fn end(&self) {
        self.state().ended = true;
        self.wake.notify_all();
    }

    pub(super) fn has_ended(&self) -> bool {
        self.state().ended
    }

    /// Beats until [`Heartbeat::end`].
    pub(super) fn run(&self, executor: &Executor<'_>) {
        let every = executor.conditions.rhythm.heartbeat;
        let mut state = self.state();
        while !state.ended {
            let waited = self.wake.wait_timeout(state, every);
            let (guard, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
            state = guard;
            if timeout.timed_out() {
                drop(state);
                self.beat_all(executor);
                state = self.state();
            }
        }
    }

    fn beat_all(&self, executor: &Executor<'_>) {
        executor.keep_ahead();
        let take = |running: &mut Running| {
            let job = running.clone();
            running.news = None;
            job
        };
        let running: Vec<Running> = self.state().running.values_mut().map(take).collect();
        for job in &running {
            if let Some(progress) = &job.news {
                // Whoever watches sees an older figure; nothing else comes of it.
                let now = executor.clock.now();
                let _ = executor.store.note_progress(&job.lease, progress, now);
            }
        }
        let steady = executor.clock.steady();
        let leases: Vec<&Lease> = running.iter().map(|job| &job.lease).collect();
        let beats = executor.store.beat_all(&leases, executor.clock.now());
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
                    if silent > executor.conditions.rhythm.stale / 2 && job.stop.reason().is_none()
                    {
                        job.stop.stop(StopReason::Unreachable);
                        let what = format!(
                            "job {} is stopped: its lease could not be renewed for {} s",
                            job.lease.job_id,
                            silent.as_secs()
                        );
                        executor.store_failed(&what, &error);
                    }
                }
            }
        }
    }

    fn take(&self, job: &Running, beat: Beat, steady: Duration) {
        match beat {
            Beat::Held => {
                if let Some(running) = self.state().running.get_mut(&job.lease.nonce) {
                    running.last_beat = steady;
                }
            }
            Beat::CancelAsked => job.stop.stop(StopReason::CancelAsked),
            Beat::Lost => {
                // The job may have ended between the listing and the beat.
                if self.state().running.contains_key(&job.lease.nonce) {
                    job.stop.stop(StopReason::LeaseLost);
                }
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
