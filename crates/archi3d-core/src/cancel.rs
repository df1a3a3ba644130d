//! Stopping: the process-wide ladder and one job's own reasons to stop.
//!
//! Signals, `--fail-fast` and the budget raise the ladder; the heartbeat and
//! the deadline stop single jobs. Adapters only ever look at [`JobStop`].

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How urgently everything is to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Stage {
    /// Work as usual.
    Go = 0,
    /// Start nothing new; what runs may land.
    Drain = 1,
    /// Stop what runs and give it back.
    Kill = 2,
}

/// The process-wide ladder; clones share it.
#[derive(Debug, Clone, Default)]
pub struct Cancel(Arc<Ladder>);

#[derive(Debug, Default)]
struct Ladder {
    stage: AtomicU8,
    changed: Condvar,
    gate: Mutex<()>,
}

impl Cancel {
    /// Makes a ladder at [`Stage::Go`].
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns where the ladder stands.
    pub fn stage(&self) -> Stage {
        match self.0.stage.load(Ordering::SeqCst) {
            0 => Stage::Go,
            1 => Stage::Drain,
            _ => Stage::Kill,
        }
    }

    /// Raises the ladder to `stage`; it never goes down.
    pub fn raise(&self, stage: Stage) {
        self.0.stage.fetch_max(stage as u8, Ordering::SeqCst);
        self.wake();
    }

    /// Waits until the ladder is at least at `stage` or `timeout` has passed.
    pub fn wait_for(&self, stage: Stage, timeout: Duration) -> bool {
        self.wait_until(|| self.stage() >= stage, timeout)
    }

    /// Waits until `over` says so or `timeout` has passed. Whoever makes it say so has to [`Cancel::wake`].
    pub fn wait_until(&self, over: impl Fn() -> bool, timeout: Duration) -> bool {
        let gate = self.0.gate.lock().unwrap_or_else(PoisonError::into_inner);
        let changed = &self.0.changed;
        let waited = changed.wait_timeout_while(gate, timeout, |()| !over());
        !waited.unwrap_or_else(PoisonError::into_inner).1.timed_out()
    }

    /// Has everybody who waits look again.
    pub fn wake(&self) {
        drop(self.0.gate.lock().unwrap_or_else(PoisonError::into_inner));
        self.0.changed.notify_all();
    }
}

/// Why one job must stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopReason {
    /// The whole worker stops.
    Killed,
    /// Somebody else holds the job now.
    LeaseLost,
    /// Its lease could not be renewed for so long that others may take the job.
    Unreachable,
    /// Somebody asked for this job to be cancelled.
    CancelAsked,
    /// It took longer than it may.
    TimedOut,
}

/// One job's view of stopping; clones share it.
#[derive(Debug, Clone)]
pub struct JobStop {
    cancel: Cancel,
    own: Arc<AtomicU8>,
    deadline: Option<Instant>,
}

impl JobStop {
    /// Makes the view of a job that must end by `deadline`.
    pub fn new(cancel: Cancel, deadline: Option<Instant>) -> Self {
        Self {
            cancel,
            own: Arc::default(),
            deadline,
        }
    }

    /// Stops this job alone; the first reason given stands.
    pub fn stop(&self, reason: StopReason) {
        let code = match reason {
            StopReason::Killed => 1,
            StopReason::LeaseLost => 2,
            StopReason::CancelAsked => 3,
            StopReason::TimedOut => 4,
            StopReason::Unreachable => 5,
        };
        let _ = self
            .own
            .compare_exchange(0, code, Ordering::SeqCst, Ordering::SeqCst);
        self.cancel.wake();
    }

    /// Returns why the job must stop, if it must.
    pub fn reason(&self) -> Option<StopReason> {
        match self.own.load(Ordering::SeqCst) {
            1 => return Some(StopReason::Killed),
            2 => return Some(StopReason::LeaseLost),
            3 => return Some(StopReason::CancelAsked),
            4 => return Some(StopReason::TimedOut),
            5 => return Some(StopReason::Unreachable),
            _ => {}
        }
        if self.cancel.stage() == Stage::Kill {
            return Some(StopReason::Killed);
        }
        match self.deadline {
            Some(deadline) if Instant::now() >= deadline => Some(StopReason::TimedOut),
            _ => None,
        }
    }

    /// Sleeps for `time`, or less if the job must stop; returns the reason then.
    pub fn sleep(&self, time: Duration) -> Option<StopReason> {
        let left = self
            .deadline
            .map(|deadline| deadline.saturating_duration_since(Instant::now()));
        let time = left.map_or(time, |left| left.min(time));
        self.cancel.wait_until(|| self.reason().is_some(), time);
        self.reason()
    }

    /// Returns when the job must have ended.
    pub fn deadline(&self) -> Option<Instant> {
        self.deadline
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ladder_only_rises() {
        let cancel = Cancel::new();
        cancel.raise(Stage::Kill);
        cancel.raise(Stage::Drain);
        assert_eq!(cancel.stage(), Stage::Kill);
    }

    #[test]
    fn draining_lets_running_jobs_land_and_killing_does_not() {
        let cancel = Cancel::new();
        let job = JobStop::new(cancel.clone(), None);
        cancel.raise(Stage::Drain);
        assert_eq!(job.reason(), None);
        cancel.raise(Stage::Kill);
        assert_eq!(job.sleep(Duration::from_secs(60)), Some(StopReason::Killed));
    }

    #[test]
    fn the_first_reason_to_stop_a_job_stands() {
        let job = JobStop::new(Cancel::new(), None);
        job.stop(StopReason::LeaseLost);
        job.stop(StopReason::CancelAsked);
        assert_eq!(job.reason(), Some(StopReason::LeaseLost));
    }

    #[test]
    fn a_deadline_stops_a_sleeping_job() {
        let job = JobStop::new(Cancel::new(), Some(Instant::now()));
        assert_eq!(
            job.sleep(Duration::from_secs(60)),
            Some(StopReason::TimedOut)
        );
    }
}
