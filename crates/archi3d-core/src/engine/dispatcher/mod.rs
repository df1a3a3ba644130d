//! The one owner of a run's state: which jobs wait and what holds them, what was bought
//! and reserved, and what came of the jobs so far.
//!
//! [`Dispatcher`] is plain data and decides; it knows no store, no clock and no thread.
//! Executors share it through [`Dispatch`]. Its lock never leaves this folder: a door takes
//! it, decides and lets it go, so nothing is read, written, bought or reported meanwhile.
//!
//! - `queue`: the jobs still to take, in order, some not before a moment;
//! - `served`: the same where a store hands jobs out;
//! - `waits`: what the jobs of one provider wait for;
//! - `money`: what is reserved and bought, and which jobs no limit allows;
//! - `tally`: the counts.

use std::collections::{HashMap, HashSet};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::domain::content::ContentKey;
use crate::domain::id::JobId;
use crate::engine::breaker::Canary;
use crate::engine::event::Left;

mod money;
mod queue;
mod served;
mod tally;
#[cfg(test)]
mod tests;
mod waits;

pub(super) use money::Money;
use money::Purchases;
pub(super) use queue::Waiting;
use queue::{Hold, Next, Queue};
use served::Served;
pub(super) use served::{Asked, Handed, LONGEST_WAIT, Lead};
pub(super) use tally::Tally;
pub(super) use waits::Cause;
use waits::Waits;

/// So many different things are warned of that are the same for many jobs.
const MOST_TOLD: usize = 50;

/// What the person who started the worker wants, as far as it decides about the next job.
#[derive(Debug, Default)]
pub(super) struct Rules {
    /// At most this many jobs start.
    pub(super) limit: Option<usize>,
    /// Whether some jobs of each algorithm go first on trial.
    pub(super) canary: Option<Canary>,
    /// Whether a job may be tried again.
    pub(super) retries: bool,
}

/// How the canaries of one algorithm did.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Trial {
    pub(super) completed: usize,
    pub(super) failed: usize,
    pub(super) spent_usd: f64,
    /// Of the failed, those that may have been billed, amount unknown.
    pub(super) possibly_billed: usize,
    pub(super) duration: Duration,
}

/// Why nothing new starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Halt {
    FailFast,
    Store,
    Limit,
}

/// What an executor answers when it is done with a job.
#[derive(Debug)]
pub(super) enum Answer {
    /// It is over, or belongs to somebody else.
    Over,
    /// What holds its lane holds it as well: it is the first to be taken after that.
    Held(Box<Waiting>),
    /// It is to be taken again after a pause.
    Again(Box<Waiting>, Duration),
    /// No limit allows it until money is freed.
    Unaffordable(Box<Waiting>),
}

/// What a thread that is free is to do.
pub(super) enum Order<'a> {
    /// Claim this job and carry it out.
    Job(Box<Waiting>, Claiming<'a>, Taken<'a>),
    /// Ask again after this long.
    Pause(Duration),
    /// Take nothing more.
    End,
}

/// The same, before it is handed over.
#[derive(Debug)]
enum Step {
    Job(Box<Waiting>),
    Pause(Duration),
    /// Ask again when another thread has answered.
    Await,
    End,
}

/// How many jobs started, and how many claims have no answer yet.
#[derive(Debug, Default)]
struct Starts {
    started: usize,
    claiming: usize,
}

/// One algorithm: how its canaries did, and which provider it waits for.
#[derive(Debug)]
struct Lane {
    trial: Trial,
    gate: Option<usize>,
}

/// The state of a run.
#[derive(Default)]
struct Dispatcher {
    rules: Rules,
    queue: Queue,
    /// Whether the store hands jobs out; otherwise they are listed.
    serves: bool,
    served: Served,
    lanes: Vec<Lane>,
    /// What the jobs of each provider wait for.
    waits: Vec<Waits>,
    money: Money,
    /// The inputs that jobs are being made from.
    same_content: HashSet<ContentKey>,
    purchases: HashMap<JobId, Purchases>,
    /// Providers that refuse the account's key, and what they say.
    denied: HashMap<String, String>,
    /// What people were told once.
    told: HashSet<String>,
    starts: Starts,
    /// How many jobs executors have and did not answer for.
    busy: usize,
    /// How many threads wait for an answer of another one.
    idle: usize,
    halt: Option<Halt>,
    tally: Tally,
}

impl Dispatcher {
    /// Decides what a free thread is to do.
    fn next(&mut self, go: bool, now: Instant) -> Step {
        if !go || !self.may_try_again() {
            return Step::End;
        }
        let only_tried = match self.rules.limit {
            Some(limit) if self.starts.started + self.starts.claiming >= limit => {
                if self.queue.is_empty() {
                    return Step::End;
                }
                if self.starts.started < limit {
                    // A claim of another thread may use the limit up or not.
                    return Step::Await;
                }
                self.halt(Halt::Limit);
                if !self.queue.has_tried() && !self.jobs_may_come_back() {
                    return Step::End;
                }
                true
            }
            _ => false,
        };
        match self.queue.next(only_tried, &self.holds(), now) {
            Next::Job(job) => {
                self.starts.claiming += 1;
                self.busy += 1;
                Step::Job(job)
            }
            Next::Wait(time) => Step::Pause(time),
            Next::Empty => {
                let waiting = self.money.afford_again();
                if !waiting.is_empty() {
                    self.queue.put_back_all(waiting);
                    return self.next(go, now);
                }
                if self.jobs_may_come_back() {
                    Step::Await
                } else {
                    Step::End
                }
            }
        }
    }

    /// Takes an executor's answer; tells who has to hear of it.
    fn take(&mut self, answer: Answer, canary_of: Option<usize>, now: Instant) -> Wake {
        self.busy -= 1;
        if let Some(lane) = canary_of {
            self.queue.canary_done(lane);
        }
        let queued = match answer {
            Answer::Over => false,
            // The store hands it out again, to whoever asks first.
            Answer::Again(job, _) if self.serves => {
                self.served.refused(&job);
                self.served.ask_at_once();
                false
            }
            Answer::Again(job, pause) => {
                self.queue.put_back(*job, pause, now);
                true
            }
            Answer::Held(job) => {
                self.queue.put_first(*job, now);
                true
            }
            Answer::Unaffordable(job) => {
                self.money.waiting.push(*job);
                false
            }
        };
        let last = self.busy == 0 && !self.served.asking;
        if last || self.money.can_afford_again() {
            Wake::All
        } else if queued {
            Wake::One
        } else {
            Wake::None
        }
    }

    /// Returns what holds each lane now.
    fn holds(&self) -> Vec<Hold> {
        let lanes = self.lanes.iter().map(|lane| Hold {
            until: lane.gate.and_then(|gate| self.waits[gate].until()),
            canaries_only: match self.rules.canary {
                None => false,
                Some(canary) => !canary.release || lane.trial.failed > 0,
            },
        });
        lanes.collect()
    }

    /// Tells whether a job that an executor has may be queued again for a retry, or may
    /// leave money for one that waits.
    fn jobs_may_come_back(&self) -> bool {
        (self.rules.retries || !self.money.waiting.is_empty()) && self.busy > 0
    }

    /// Tells whether jobs that were started may be tried again. A limit is on
    /// jobs, not on their attempts.
    fn may_try_again(&self) -> bool {
        self.halt.is_none_or(|why| why == Halt::Limit)
    }

    fn halt(&mut self, why: Halt) {
        // Trouble with the store outranks every other reason.
        if self.halt.is_none() || why == Halt::Store {
            self.halt = Some(why);
        }
    }
}

/// Which of the threads that wait for an answer are to look again.
enum Wake {
    None,
    One,
    All,
}

/// The way to the state of a run: the only lock of it, held by no one who asks.
pub(super) struct Dispatch {
    state: Mutex<Dispatcher>,
    /// Told when an answer concerns threads that wait for one.
    news: Condvar,
    /// Told when another thread waits for the store's answer.
    joined: Condvar,
}

impl Dispatch {
    /// Begins with these jobs, or with those that a store hands out; `gates` says for each
    /// lane which provider it waits for.
    pub(super) fn new(
        rules: Rules,
        jobs: Option<Vec<Waiting>>,
        gates: Vec<Option<usize>>,
        money: Money,
    ) -> Self {
        let providers = gates.iter().flatten().max().map_or(0, |last| last + 1);
        let lane = |gate| Lane {
            trial: Trial::default(),
            gate,
        };
        let state = Dispatcher {
            rules,
            serves: jobs.is_none(),
            queue: Queue::new(jobs.unwrap_or_default()),
            lanes: gates.into_iter().map(lane).collect(),
            waits: std::iter::repeat_with(Waits::default)
                .take(providers)
                .collect(),
            money,
            ..Dispatcher::default()
        };
        Self {
            state: Mutex::new(state),
            news: Condvar::new(),
            joined: Condvar::new(),
        }
    }

    fn state(&self) -> MutexGuard<'_, Dispatcher> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wake(&self, state: MutexGuard<'_, Dispatcher>, wake: Wake) {
        let idle = state.idle > 0;
        drop(state);
        match wake {
            Wake::All if idle => self.news.notify_all(),
            Wake::One if idle => self.news.notify_one(),
            _ => {}
        }
    }

    /// Waits until another thread has answered, or for so long.
    fn idle<'s>(
        &self,
        mut state: MutexGuard<'s, Dispatcher>,
        most: Duration,
    ) -> MutexGuard<'s, Dispatcher> {
        state.idle += 1;
        let waited = self.news.wait_timeout(state, most);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        state.idle -= 1;
        state
    }

    /// Says what a free thread is to do; waits where an answer of another thread decides.
    pub(super) fn next(&self, go: impl Fn() -> bool) -> Order<'_> {
        let mut state = self.state();
        loop {
            return match state.next(go(), Instant::now()) {
                Step::Job(job) => {
                    let canary_of = job.canary.then_some(job.lane);
                    drop(state);
                    Order::Job(job, Claiming(Some(self)), self.taken(canary_of))
                }
                Step::Pause(time) => Order::Pause(time),
                Step::End => Order::End,
                Step::Await => {
                    state = self.idle(state, LONGEST_WAIT);
                    continue;
                }
            };
        }
    }

    fn taken(&self, canary_of: Option<usize>) -> Taken<'_> {
        Taken {
            dispatch: self,
            canary_of,
            answer: Answer::Over,
        }
    }

    /// Stops taking jobs.
    pub(super) fn halt(&self, why: Halt) {
        let mut state = self.state();
        state.halt(why);
        self.wake(state, Wake::All);
    }

    /// Returns why no jobs are taken any more.
    pub(super) fn halted(&self) -> Option<Halt> {
        self.state().halt
    }

    /// Tells whether jobs that were started may be tried again.
    pub(super) fn may_try_again(&self) -> bool {
        self.state().may_try_again()
    }

    /// Changes the counts.
    pub(super) fn count(&self, change: impl FnOnce(&mut Tally)) {
        change(&mut self.state().tally);
    }

    /// Returns the counts; none are left.
    pub(super) fn take_tally(&self) -> Tally {
        std::mem::take(&mut self.state().tally)
    }

    /// Tells whether something is to be told that was not told before.
    pub(super) fn is_news(&self, message: &str) -> bool {
        let told = &mut self.state().told;
        told.len() < MOST_TOLD && told.insert(message.to_owned())
    }

    /// Returns how many jobs wait that were listed.
    pub(super) fn remaining(&self) -> usize {
        self.state().queue.remaining()
    }

    /// Returns how many of these are in a lane.
    pub(super) fn remaining_in(&self, lane: usize) -> usize {
        self.state().queue.remaining_in(lane)
    }

    /// Names the jobs that no thread took any more.
    pub(super) fn name_left(&self, left: &mut Left) {
        self.state().queue.name_left(left);
    }

    /// Notes how a canary did.
    pub(super) fn note_trial(&self, lane: usize, note: impl FnOnce(&mut Trial)) {
        if let Some(lane) = self.state().lanes.get_mut(lane) {
            note(&mut lane.trial);
        }
    }

    /// Returns how the canaries of a lane did so far.
    pub(super) fn trial(&self, lane: usize) -> Trial {
        let state = self.state();
        let lane = state.lanes.get(lane);
        lane.map(|lane| lane.trial.clone()).unwrap_or_default()
    }

    /// Puts the next job of a lane on trial, in the place of a canary that showed nothing.
    pub(super) fn next_canary(&self, lane: usize) {
        self.state().queue.next_canary(lane);
    }

    /// Notes that a provider refuses the account's key.
    pub(super) fn deny(&self, provider: String, reason: String) {
        self.state().denied.insert(provider, reason);
    }

    /// Returns what a provider said when it refused the account's key.
    pub(super) fn denied(&self, provider: &str) -> Option<String> {
        let state = self.state();
        state.denied.get(provider).cloned()
    }
}

/// Lets jobs with the same inputs go on when the first one has ended.
impl Dispatch {
    /// Tells whether no other job is being made from these inputs; then this one is.
    pub(super) fn begin_content(&self, key: &ContentKey) -> bool {
        self.state().same_content.insert(key.clone())
    }

    /// Notes that no job is being made from these inputs any more.
    pub(super) fn end_content(&self, key: &ContentKey) {
        self.state().same_content.remove(key);
    }
}

/// A claim that has no answer yet. It counts against the limit, so that threads which claim
/// at once cannot exceed it together; one that is dropped started nothing.
pub(super) struct Claiming<'a>(Option<&'a Dispatch>);

impl Claiming<'_> {
    /// Notes that the claim was answered, and whether that started a job.
    pub(super) fn answered(mut self, started: bool) {
        self.answer(started);
    }

    fn answer(&mut self, started: bool) {
        if let Some(dispatch) = self.0.take() {
            let mut state = dispatch.state();
            state.starts.claiming -= 1;
            state.starts.started += usize::from(started);
            // Others wait for this only where a limit is nearly reached.
            let limited = state.rules.limit.is_some();
            dispatch.wake(state, if limited { Wake::All } else { Wake::None });
        }
    }
}

impl Drop for Claiming<'_> {
    fn drop(&mut self) {
        self.answer(false);
    }
}

/// A job that an executor has. One that is dropped without an answer is over.
pub(super) struct Taken<'a> {
    dispatch: &'a Dispatch,
    canary_of: Option<usize>,
    answer: Answer,
}

impl Taken<'_> {
    /// Says what is to become of the job.
    pub(super) fn answer(mut self, answer: Answer) {
        self.answer = answer;
    }
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        let mut answer = std::mem::replace(&mut self.answer, Answer::Over);
        // What it held of other workers is let go of before anything else.
        if let Answer::Held(job) | Answer::Again(job, _) | Answer::Unaffordable(job) = &mut answer {
            drop(job.probe.take());
        }
        let now = Instant::now();
        let mut state = self.dispatch.state();
        let wake = state.take(answer, self.canary_of, now);
        self.dispatch.wake(state, wake);
    }
}
