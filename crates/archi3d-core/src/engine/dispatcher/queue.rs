//! The jobs still to take: in order, some not before a moment, some not before
//! others of their algorithm have shown that it works.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::domain::job::Entry;
use crate::domain::lease::Lease;
use crate::engine::QueuedJob;
use crate::engine::event::Left;
use crate::store::consumed;
use crate::store::providers::Permit;

/// The jobs that no thread has taken yet.
#[derive(Debug, Default)]
pub(super) struct Queue {
    /// The jobs of each lane that can be taken at any time, in their order.
    ready: Vec<VecDeque<Waiting>>,
    /// The place of the next job that is put at the end.
    end: usize,
    /// Jobs that cannot be taken before a moment.
    later: Vec<(Instant, Waiting)>,
    /// How many canaries of each lane wait, and how many were taken and run.
    canaries: Vec<(usize, usize)>,
}

/// A job that no thread has taken yet.
#[derive(Debug, Clone)]
pub(in crate::engine) struct Waiting {
    pub(in crate::engine) planned: QueuedJob,
    /// How many of its failures this run has followed by another attempt.
    pub(in crate::engine) failures: u32,
    /// Whether this run has started it before.
    pub(in crate::engine) tried: bool,
    /// Whether it is to be made even if there is an earlier result to copy.
    pub(in crate::engine) plain: bool,
    /// The lane of its algorithm.
    pub(in crate::engine) lane: usize,
    /// Whether it is one of those that go first on trial.
    pub(in crate::engine) canary: bool,
    /// Where it stands among all jobs.
    pub(in crate::engine) place: usize,
    /// Since when its provider asks to be left alone, without a pause of ours.
    pub(in crate::engine) refused_since: Option<Instant>,
    /// Held while it tries, for all workers, whether its algorithm works again.
    pub(in crate::engine) probe: Option<Arc<Permit>>,
}

impl Left {
    /// Names a job that is not taken any more.
    pub(in crate::engine) fn note_waiting(&mut self, job: &Waiting) {
        let names = if job.tried {
            &mut self.begun
        } else {
            &mut self.waiting
        };
        Self::note(names, &job.planned.job.job_id);
    }
}

impl Waiting {
    /// Returns the job as it waits after `lease` was given back: whatever it was
    /// taken as, only a redo stays one.
    pub(in crate::engine) fn after(mut self, lease: &Lease, failures: u32) -> Self {
        self.planned.entry = match lease.entry {
            Entry::Redo => Entry::Redo,
            _ => Entry::Fresh,
        };
        self.failures += failures;
        self
    }
}

/// What keeps the jobs of one lane from being taken.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Hold {
    /// None of them before this moment.
    pub(super) until: Option<Instant>,
    /// Only canaries, even after all of them have ended.
    pub(super) canaries_only: bool,
}

/// What a thread that asks for work is told.
#[derive(Debug)]
pub(super) enum Next {
    /// Take this one.
    Job(Box<Waiting>),
    /// Ask again after this long.
    Wait(Duration),
    /// There is nothing left.
    Empty,
}

/// When a job can be taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum When {
    Now,
    Then(Instant),
    Never,
}

/// No thread waits longer than this at a time, so that it notices a stop.
const LONGEST_WAIT: Duration = Duration::from_millis(200);

/// A list of jobs may have so much more room than it needs.
const ROOM: usize = 1024;

/// How soon jobs are looked at again that wait for canaries which run.
const CANARY_PAUSE: Duration = Duration::from_millis(20);

impl Queue {
    fn when(&self, job: &Waiting, holds: &[Hold], now: Instant) -> When {
        self.of_lane(job.lane, job.canary, holds, now)
    }

    /// Tells when the jobs of a lane can be taken, its canaries or the others.
    fn of_lane(&self, lane: usize, canary: bool, holds: &[Hold], now: Instant) -> When {
        let hold = holds.get(lane).copied().unwrap_or_default();
        let (waiting, running) = self.canaries.get(lane).copied().unwrap_or_default();
        if !canary && waiting + running > 0 {
            return When::Then(now + CANARY_PAUSE);
        }
        if !canary && hold.canaries_only {
            return When::Never;
        }
        match hold.until.filter(|until| *until > now) {
            Some(until) => When::Then(until),
            None => When::Now,
        }
    }

    /// Finds the first job that can be taken now: its lane and where it stands there.
    /// No lane is looked through whose jobs cannot be taken.
    fn first(&self, holds: &[Hold], now: Instant, soonest: &mut When) -> Option<(usize, usize)> {
        let mut first: Option<(usize, usize, usize)> = None;
        for (lane, jobs) in self.ready.iter().enumerate() {
            let Some(job) = jobs.front() else { continue };
            let canaries = self
                .canaries
                .get(lane)
                .is_some_and(|(queued, _)| *queued > 0);
            let canary = job.canary || canaries;
            match self.of_lane(lane, canary, holds, now) {
                When::Now => {}
                when => {
                    *soonest = (*soonest).min(when);
                    continue;
                }
            }
            let index = if canary {
                jobs.iter().position(|job| job.canary)
            } else {
                Some(0)
            };
            let Some(index) = index else {
                // Its canaries wait for their time.
                *soonest = (*soonest).min(When::Then(now + CANARY_PAUSE));
                continue;
            };
            let place = jobs[index].place;
            if first.is_none_or(|(earliest, ..)| place < earliest) {
                first = Some((place, lane, index));
            }
        }
        first.map(|(_, lane, index)| (lane, index))
    }

    /// Returns the jobs of a lane.
    fn lane(&mut self, lane: usize) -> &mut VecDeque<Waiting> {
        if self.ready.len() <= lane {
            self.ready.resize_with(lane + 1, VecDeque::new);
        }
        &mut self.ready[lane]
    }

    fn count(&mut self, job: &Waiting, waiting: isize, running: isize) {
        if job.canary {
            if self.canaries.len() <= job.lane {
                self.canaries.resize(job.lane + 1, (0, 0));
            }
            let (queued, taken) = &mut self.canaries[job.lane];
            *queued = queued.saturating_add_signed(waiting);
            *taken = taken.saturating_add_signed(running);
        }
    }
}

impl Queue {
    pub(super) fn new(jobs: Vec<Waiting>) -> Self {
        let mut queue = Self {
            end: jobs.len(),
            ..Self::default()
        };
        for (place, mut job) in consumed(jobs).enumerate() {
            queue.count(&job, 1, 0);
            job.place = place;
            queue.lane(job.lane).push_back(job);
        }
        queue
    }

    /// Returns the next job that its lane does not hold; with `only_tried` only
    /// one that was started before.
    pub(super) fn next(&mut self, only_tried: bool, holds: &[Hold], now: Instant) -> Next {
        let mut soonest = When::Never;
        let mut due = None;
        for (index, (moment, job)) in self.later.iter().enumerate() {
            if only_tried && !job.tried {
                continue;
            }
            match self.when(job, holds, now).max(When::Then(*moment)) {
                When::Then(moment) if moment <= now => {
                    due = Some(index);
                    break;
                }
                when => soonest = soonest.min(when),
            }
        }
        let mut taken = due.map(|index| self.later.remove(index).1);
        if taken.is_none() && !only_tried {
            taken = self
                .first(holds, now, &mut soonest)
                .and_then(|(lane, index)| {
                    let jobs = self.lane(lane);
                    let job = jobs.remove(index);
                    // A long list gives its memory back as it is worked off.
                    if jobs.capacity() > 2 * jobs.len() + ROOM {
                        jobs.shrink_to_fit();
                    }
                    job
                });
        }
        if let Some(job) = taken {
            self.count(&job, -1, 1);
            return Next::Job(Box::new(job));
        }
        match soonest {
            When::Then(moment) => {
                Next::Wait(moment.saturating_duration_since(now).min(LONGEST_WAIT))
            }
            When::Now | When::Never => Next::Empty,
        }
    }

    /// Notes that a thread is done with a canary it took, whatever came of it.
    pub(super) fn canary_done(&mut self, lane: usize) {
        if let Some((_, taken)) = self.canaries.get_mut(lane) {
            *taken = taken.saturating_sub(1);
        }
    }

    /// Puts the next job of a lane on trial, in the place of a canary that showed
    /// nothing.
    pub(super) fn next_canary(&mut self, lane: usize) {
        let mut ready = self.lane(lane).iter_mut();
        if let Some(job) = ready.find(|job| !job.canary) {
            job.canary = true;
            let job = job.clone();
            self.count(&job, 1, 0);
        }
    }

    /// Puts a job back for later.
    pub(super) fn put_back(&mut self, job: Waiting, after: Duration, now: Instant) {
        self.count(&job, 1, 0);
        self.later
            .push((now.checked_add(after).unwrap_or(now), job));
    }

    /// Puts a job back that its lane holds now: the first to be taken after that.
    pub(super) fn put_first(&mut self, job: Waiting, now: Instant) {
        if job.tried {
            self.put_back(job, Duration::ZERO, now);
            return;
        }
        self.count(&job, 1, 0);
        let jobs = self.lane(job.lane);
        // Others of its lane may have been put back just before.
        let before = jobs.iter().take_while(|other| other.place < job.place);
        jobs.insert(before.count(), job);
    }

    /// Puts jobs back at the end, to be taken when all others are.
    pub(super) fn put_back_all(&mut self, jobs: Vec<Waiting>) {
        for mut job in jobs {
            self.count(&job, 1, 0);
            job.place = self.end;
            self.end += 1;
            self.lane(job.lane).push_back(job);
        }
    }

    /// Tells whether a job waits that was started before.
    pub(super) fn has_tried(&self) -> bool {
        self.later.iter().any(|(_, job)| job.tried)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.remaining() == 0
    }

    pub(super) fn remaining(&self) -> usize {
        self.ready.iter().map(VecDeque::len).sum::<usize>() + self.later.len()
    }

    /// Names the jobs that no thread took any more.
    pub(super) fn name_left(&self, left: &mut Left) {
        let later = self.later.iter().map(|(_, job)| job);
        for job in self.ready.iter().flatten().chain(later) {
            left.note_waiting(job);
        }
    }

    /// Returns how many jobs of a lane wait.
    pub(super) fn remaining_in(&self, lane: usize) -> usize {
        let later = self.later.iter().filter(|(_, job)| job.lane == lane);
        self.ready.get(lane).map_or(0, VecDeque::len) + later.count()
    }
}
