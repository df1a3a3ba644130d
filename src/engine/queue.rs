//! The jobs still to take: in order, some not before a moment.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::domain::job::Entry;
use crate::domain::lease::Lease;
use crate::engine::PlannedJob;

/// The jobs nobody has taken yet; shared by all threads of a pool.
#[derive(Debug)]
pub(super) struct Queue(Mutex<Lists>);

#[derive(Debug)]
struct Lists {
    ready: VecDeque<Waiting>,
    /// Jobs that cannot be taken before a moment.
    later: Vec<(Instant, Waiting)>,
}

/// A job nobody has taken yet.
#[derive(Debug, Clone)]
pub(super) struct Waiting {
    pub(super) planned: PlannedJob,
    /// How many of its failures this pool has followed by another attempt.
    pub(super) failures: u32,
    /// Whether this pool has started it before.
    pub(super) tried: bool,
    /// Whether it is to be made even if there is an earlier result to copy.
    pub(super) plain: bool,
}

impl Waiting {
    /// Returns the job as it waits after `lease` was given back: whatever it was
    /// taken as, only a redo stays one.
    pub(super) fn after(mut self, lease: &Lease, failures: u32) -> Self {
        self.planned.entry = match lease.entry {
            Entry::Redo => Entry::Redo,
            _ => Entry::Fresh,
        };
        self.failures += failures;
        self
    }
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

/// No thread waits longer than this at a time, so that it notices a stop.
const LONGEST_WAIT: Duration = Duration::from_millis(200);

impl Queue {
    pub(super) fn new(jobs: Vec<PlannedJob>) -> Self {
        Self(Mutex::new(Lists {
            ready: jobs
                .into_iter()
                .map(|planned| Waiting {
                    planned,
                    failures: 0,
                    tried: false,
                    plain: false,
                })
                .collect(),
            later: Vec::new(),
        }))
    }

    /// Returns the next job; with `only_tried` only one that was started before.
    pub(super) fn next(&self, only_tried: bool) -> Next {
        let fits = |job: &Waiting| job.tried || !only_tried;
        let mut lists = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        let due = |(moment, job): &(Instant, Waiting)| *moment <= now && fits(job);
        if let Some(position) = lists.later.iter().position(due) {
            let (_, job) = lists.later.remove(position);
            return Next::Job(Box::new(job));
        }
        if !only_tried && let Some(job) = lists.ready.pop_front() {
            return Next::Job(Box::new(job));
        }
        let waiting = lists.later.iter().filter(|(_, job)| fits(job));
        match waiting.map(|(moment, _)| *moment).min() {
            Some(moment) => Next::Wait(moment.saturating_duration_since(now).min(LONGEST_WAIT)),
            None => Next::Empty,
        }
    }

    /// Puts a job back for later.
    pub(super) fn put_back(&self, job: Waiting, after: Duration) {
        let mut lists = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        lists
            .later
            .push((now.checked_add(after).unwrap_or(now), job));
    }

    /// Puts jobs back at the end, to be taken when all others are.
    pub(super) fn put_back_all(&self, jobs: Vec<Waiting>) {
        let mut lists = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        lists.ready.extend(jobs);
    }

    /// Tells whether a job waits that was started before.
    pub(super) fn has_tried(&self) -> bool {
        let lists = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        lists.later.iter().any(|(_, job)| job.tried)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.remaining() == 0
    }

    pub(super) fn remaining(&self) -> usize {
        let lists = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        lists.ready.len() + lists.later.len()
    }
}
