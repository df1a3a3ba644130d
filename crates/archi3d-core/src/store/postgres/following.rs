//! Jobs for the threads whose jobs end this moment, claimed with their endings: those threads ask for the next ones at
//! once, so one round over the connection serves both.
//!
//! Only of what costs nothing and has room for every thread, and only while more waits than was asked for. What no thread
//! came for within a moment is given back.

use std::collections::VecDeque;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::claim::{self, Hold};
use super::ending;
use super::handing::given_back;
use super::worker::PgStore;
use crate::domain::lease::Lease;
use crate::domain::time::Timestamp;
use crate::store::{JobRecord, Lane, ReleaseReason, Want};

/// A thread that is about to ask has asked within this time.
const MOMENT: Duration = Duration::from_millis(400);

/// What may follow the jobs that end, and what was taken for that.
#[derive(Debug, Default)]
pub(super) struct Following(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// The lanes of the last claim, if more of them may be taken along with endings.
    lanes: Vec<Lane>,
    /// Jobs that are ours, and since when.
    ready: VecDeque<(Instant, JobRecord, Lease)>,
}

impl Following {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells whether jobs wait for whoever asks.
    pub(super) fn is_ready(&self) -> bool {
        !self.state().ready.is_empty()
    }

    /// Notes what was asked for, and whether all of it was there.
    pub(super) fn note(&self, want: &Want<'_>, all: bool) {
        let open = |lane: &Lane| {
            lane.free && !lane.bought_only && lane.trial.is_none() && lane.most >= want.most
        };
        let follow = want.follows && all && want.lanes.iter().all(open);
        let mut state = self.state();
        if !follow {
            state.lanes.clear();
        } else if !same_algos(&state.lanes, want.lanes) {
            state.lanes = want.lanes.to_vec();
        }
    }

    /// Returns what was taken for those who ask, and what nobody will ask for any more.
    fn take(&self, want: &Want<'_>) -> (Vec<(JobRecord, Lease)>, Vec<Lease>) {
        let mut state = self.state();
        let (mut taken, mut unwanted) = (Vec::new(), Vec::new());
        let mut room: Vec<usize> = want.lanes.iter().map(|lane| lane.most).collect();
        while taken.len() < want.most
            && let Some((since, job, lease)) = state.ready.pop_front()
        {
            let lane = want.lanes.iter().position(|lane| {
                let algo = job.algo.as_ref();
                algo.is_ok_and(|algo| *algo == lane.algo) && lane.free
            });
            match lane {
                Some(lane) if room[lane] > 0 && since.elapsed() < MOMENT => {
                    room[lane] -= 1;
                    taken.push((job, lease));
                }
                _ => unwanted.push(lease),
            }
        }
        (taken, unwanted)
    }
}

impl PgStore {
    /// Returns jobs that were taken along for whoever asks now.
    pub(super) fn taken_along(&self, want: &Want<'_>) -> Vec<(JobRecord, Lease)> {
        let (taken, unwanted) = self.following.take(want);
        self.give_back_unwanted(&unwanted);
        taken
    }

    /// Gives back what nobody came for.
    pub(super) fn give_back_following(&self, all: bool) {
        let unwanted: Vec<Lease> = {
            let mut state = self.following.state();
            if all {
                state.lanes.clear();
            }
            let old = |since: &Instant| all || since.elapsed() >= MOMENT;
            let old = state.ready.iter().take_while(|(since, ..)| old(since));
            let old = old.count();
            let old = state.ready.drain(..old);
            old.map(|(_, _, lease)| lease).collect()
        };
        self.give_back_unwanted(&unwanted);
    }

    fn give_back_unwanted(&self, leases: &[Lease]) {
        let holds: Vec<Hold> = leases
            .iter()
            .filter_map(|lease| self.link.hold(lease).ok())
            .collect();
        if !holds.is_empty() {
            let how = given_back(ReleaseReason::Interrupted);
            // If that fails, their leases run out.
            let _ = self
                .link
                .ask(Duration::ZERO, |c| ending::release(c, &holds, &how));
            self.link.forget(&holds);
        }
    }

    /// Claims jobs for so many threads that are about to ask.
    pub(super) fn follow(&self, threads: usize, now: Timestamp) {
        let Ok(mut unanswered) = self.unanswered.try_lock() else {
            return;
        };
        let lanes = self.lanes_to_follow(threads);
        if unanswered.is_open() || lanes.is_empty() {
            return;
        }
        unanswered.ask();
        let (run_no, held) = (self.link.run_no, self.not_taken());
        let by = self.claimer(&held);
        let Ok(found) = self.link.ask(Duration::ZERO, |c| {
            claim::claim(c, run_no, &lanes, threads, &by)
        }) else {
            return;
        };
        self.know(&found);
        unanswered.answer();
        drop(unanswered);
        self.move_cursors(&found, found.len() < threads);
        if found.len() < threads {
            self.following.state().lanes.clear();
        }
        // What cannot be read was given back.
        let jobs = self.all_claimed(found, now).unwrap_or_default();
        let since = Instant::now();
        let jobs = jobs.into_iter().map(|(job, lease)| (since, job, lease));
        self.following.state().ready.extend(jobs);
    }

    fn lanes_to_follow(&self, most: usize) -> Vec<claim::Lane> {
        let state = self.following.state();
        let quiet = !self.news.load(Ordering::SeqCst)
            && !self.closed.load(Ordering::SeqCst)
            && !self.is_rare_due(false)
            && self.link.spool().is_empty();
        if state.lanes.is_empty() || !quiet {
            return Vec::new();
        }
        let lanes: Vec<Lane> = state
            .lanes
            .iter()
            .map(|lane| Lane {
                most,
                ..lane.clone()
            })
            .collect();
        drop(state);
        let want = Want {
            lanes: &lanes,
            most,
            follows: true,
        };
        self.lanes(&want, false)
    }
}

/// Tells whether lanes are of the same algorithms.
fn same_algos(known: &[Lane], wanted: &[Lane]) -> bool {
    known.len() == wanted.len()
        && known
            .iter()
            .zip(wanted)
            .all(|(one, other)| one.algo == other.algo)
}
