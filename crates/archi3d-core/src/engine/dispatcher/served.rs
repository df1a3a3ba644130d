//! Jobs that the store has handed out and that no thread has begun, and who asks for more.
//!
//! One thread asks for all that wait; the others wait for its answer.

use std::collections::{HashMap, VecDeque};
use std::sync::PoisonError;
use std::time::{Duration, Instant};

use super::{Dispatch, Dispatcher, Taken, Waiting, Wake, waits};
use crate::domain::id::JobId;
use crate::domain::lease::Lease;
use crate::engine::lanes::Slot;
use crate::engine::places::Place;

/// No thread waits longer than this at a time, so that it notices a stop.
pub(in crate::engine) const LONGEST_WAIT: Duration = Duration::from_millis(200);

/// A store without jobs for us is asked again after this long at most, and not before three quarters of it.
const IDLE_WAIT: Duration = Duration::from_millis(1350);

/// Whoever asks waits no longer than this for others that are about to.
const LONGEST_GATHERING: Duration = Duration::from_millis(2);

/// For so long an algorithm that was found open is not looked at again.
const OPEN_FOR: Duration = Duration::from_millis(50);

/// What a run knows of the jobs it is handed.
#[derive(Default)]
pub(super) struct Served {
    /// Jobs that are ours and that a thread will start at once, or in its turn.
    ready: VecDeque<Handed>,
    /// How many threads wait for one.
    waiting: usize,
    /// Whether one of them asks the store this moment.
    pub(super) asking: bool,
    /// How many may want jobs together, and how long asking took the last time.
    last: (usize, Duration),
    /// No thread need ask before this moment.
    again: Option<Instant>,
    /// Whether a thread was to ask at once since the store was asked the last time.
    woken: bool,
    /// Whether the store had nothing left for us when it was asked the last time.
    drained: bool,
    /// Since when the store has had nothing for us.
    idle_since: Option<Instant>,
    /// Since when providers have refused a job without a pause of ours.
    refused_since: HashMap<JobId, Instant>,
    /// When lanes were last found open, and not paused.
    open: HashMap<usize, Instant>,
}

/// A job that is ours, with its place at its provider.
pub(in crate::engine) struct Handed {
    pub(in crate::engine) waiting: Waiting,
    pub(in crate::engine) lease: Lease,
    pub(in crate::engine) slot: Slot,
    /// When it was asked for, and when it was had.
    pub(in crate::engine) claimed: (Instant, Instant),
    /// Its place among the jobs of all runs, where pools share them.
    pub(in crate::engine) place: Option<Place>,
}

/// What came of asking the store.
#[derive(Debug, Clone, Copy)]
pub(in crate::engine) enum Asked {
    Some,
    Nothing(Duration),
    Drained,
}

/// Whether a thread that has nothing to do asks the store.
pub(in crate::engine) enum Lead {
    /// It does, for so many jobs and so many more ahead.
    Ask { most: usize, ahead: usize },
    /// Another one did.
    Answered,
    /// Nobody need ask before this time has passed.
    Wait(Duration),
}

impl Served {
    /// Notes since when a provider has refused a job; it is handed out again later.
    pub(super) fn refused(&mut self, job: &Waiting) {
        if let Some(since) = job.refused_since {
            let job_id = job.planned.job.job_id.clone();
            self.refused_since.entry(job_id).or_insert(since);
        }
    }

    /// Lets whoever waits ask the store at once.
    pub(super) fn ask_at_once(&mut self) {
        (self.again, self.woken) = (None, true);
    }
}

impl Dispatch {
    /// Returns the next job that is ours, if there is one. One that is not tried again counts
    /// against the limit from here on.
    pub(in crate::engine) fn next_handed(&self) -> Option<(Handed, Taken<'_>)> {
        let mut state = self.state();
        let handed = state.served.ready.pop_front()?;
        state.busy += 1;
        state.starts.started += usize::from(handed.lease.failures == 0);
        drop(state);
        Some((handed, self.taken(None)))
    }

    /// Keeps a job that was handed to us until a thread takes it.
    pub(in crate::engine) fn keep_handed(&self, mut handed: Handed) {
        let mut state = self.state();
        let served = &mut state.served;
        let job_id = &handed.waiting.planned.job.job_id;
        handed.waiting.refused_since = served.refused_since.remove(job_id);
        served.ready.push_back(handed);
    }

    /// Returns the jobs that are ours and that no thread has taken; none are left.
    pub(in crate::engine) fn take_ready(&self) -> Vec<Handed> {
        self.state().served.ready.drain(..).collect()
    }

    /// Returns their leases.
    pub(in crate::engine) fn ready_leases(&self) -> Vec<Lease> {
        let state = self.state();
        let ready = state.served.ready.iter();
        ready.map(|handed| handed.lease.clone()).collect()
    }

    /// Tells whether fewer than half of the jobs are there that are to be taken ahead.
    pub(in crate::engine) fn runs_short(&self, ahead: usize) -> bool {
        let state = self.state();
        let served = &state.served;
        let open = served.again.is_none_or(|again| again <= Instant::now());
        // Where none is left, whoever waits for one asks, and hears whether that was all.
        (1..=ahead / 2).contains(&served.ready.len()) && !served.asking && open
    }

    /// Tells whether as many jobs started as may.
    pub(in crate::engine) fn limit_is_reached(&self) -> bool {
        let state = self.state();
        let limit = state.rules.limit;
        limit.is_some_and(|limit| state.starts.started >= limit)
    }

    /// Returns since when there is nothing to do, from now on if there was until now.
    pub(in crate::engine) fn idle_since(&self) -> Instant {
        let idle_since = &mut self.state().served.idle_since;
        *idle_since.get_or_insert_with(Instant::now)
    }

    /// Lets whoever waits ask the store at once.
    pub(in crate::engine) fn ask_at_once(&self) {
        self.state().served.ask_at_once();
    }

    /// Tells whether executors have jobs.
    pub(in crate::engine) fn is_busy(&self) -> bool {
        self.state().busy > 0
    }

    /// Waits until the last executor is done, or for so long; not at all if none has a job.
    pub(in crate::engine) fn await_others(&self, most: Duration) -> bool {
        let state = self.state();
        let busy = state.busy > 0;
        if busy {
            drop(self.idle(state, most));
        }
        busy
    }

    /// Says whether the caller is to ask the store for the jobs of all threads that wait; if
    /// another thread does, waits for its answer. With `news` the store has some for us;
    /// who `stays` need not ask at once when nothing is left.
    pub(in crate::engine) fn lead(&self, news: bool, stays: bool, ahead: usize) -> Lead {
        let mut state = self.state();
        if state.served.asking {
            state.served.waiting += 1;
            self.joined.notify_one();
            let mut state = self.idle(state, LONGEST_WAIT);
            state.served.waiting -= 1;
            return Lead::Answered;
        }
        let now = Instant::now();
        let busy = state.busy > 0;
        let served = &mut state.served;
        if news {
            served.again = None;
        }
        // Who need not stay leaves when nothing is left, and asks once more to be sure of it.
        let leaves = served.drained && !busy && !stays;
        if let Some(again) = served.again.filter(|again| *again > now && !leaves) {
            return Lead::Wait(again - now);
        }
        (served.asking, served.woken) = (true, false);
        // Whoever came along the last time is likely to come again.
        let (before, took) = served.last;
        let pause = took.min(LONGEST_GATHERING);
        let pause = if served.ready.is_empty() {
            pause
        } else {
            Duration::ZERO
        };
        let few = |state: &mut Dispatcher| 1 + state.served.waiting < before;
        let gathered = self.joined.wait_timeout_while(state, pause, few);
        let (state, _) = gathered.unwrap_or_else(PoisonError::into_inner);
        let ready = state.served.ready.len();
        let mut most = 1 + state.served.waiting;
        let mut ahead = ahead.saturating_sub(ready);
        if let Some(limit) = state.rules.limit {
            let left = limit.saturating_sub(state.starts.started + ready);
            most = most.min(left);
            ahead = ahead.min(left - most);
        }
        Lead::Ask { most, ahead }
    }

    /// Takes the store's answer to a thread that asked for `most` jobs.
    pub(in crate::engine) fn answered(&self, asked: &Asked, most: usize, took: Duration) {
        let chance = waits::chance();
        let mut state = self.state();
        let served = &mut state.served;
        served.asking = false;
        let expected = most.max(served.last.0.saturating_sub(1));
        served.last = (expected, took);
        served.drained = matches!(asked, Asked::Drained);
        match asked {
            Asked::Some => (served.again, served.idle_since) = (None, None),
            Asked::Nothing(pause) => served.again = Some(Instant::now() + *pause),
            Asked::Drained => {
                let pause = waits::jittered(IDLE_WAIT, chance);
                served.again = Some(Instant::now() + pause);
            }
        }
        if served.woken {
            // The answer is older than that.
            served.again = None;
        }
        self.wake(state, Wake::All);
    }

    /// Tells whether a lane was found open a moment ago.
    pub(in crate::engine) fn was_open(&self, lane: usize) -> bool {
        let seen = self.state().served.open.get(&lane).copied();
        seen.is_some_and(|seen| seen.elapsed() < OPEN_FOR)
    }

    /// Notes that a lane was found open.
    pub(in crate::engine) fn found_open(&self, lane: usize) {
        self.state().served.open.insert(lane, Instant::now());
    }

    /// Has every lane looked at again before the next job starts.
    pub(in crate::engine) fn look_again(&self) {
        self.state().served.open.clear();
    }
}
