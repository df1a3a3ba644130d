//! What several threads bring at once, dealt with by one of them.
//!
//! Whoever has the turn takes along what all have brought by then, so groups grow by themselves with the load, and nobody
//! is told that something is safe before it is. Who comes first waits a moment for those that came along the last time:
//! a quarter of the time that their round took, so that nobody who is alone waits for long.

use std::collections::HashMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::ending::{self, Published, Success};
use super::error::{PgError, PgResult};
use super::link::Link;

/// Nobody waits longer for others.
const LONGEST: Duration = Duration::from_millis(1);

/// Things that wait to be dealt with together.
#[derive(Debug)]
pub(super) struct Together<T, A> {
    state: Mutex<State<T, A>>,
    /// Told when somebody brings something.
    joined: Condvar,
    /// Told when a round is over.
    over: Condvar,
}

#[derive(Debug)]
struct State<T, A> {
    waiting: Vec<(u64, T)>,
    answers: HashMap<u64, A>,
    next: u64,
    /// Whether somebody deals with what was there.
    busy: bool,
    /// How many the last round dealt with, and how long it took.
    last: (usize, Duration),
}

impl<T, A> Default for Together<T, A> {
    fn default() -> Self {
        let state = State {
            waiting: Vec::new(),
            answers: HashMap::new(),
            next: 0,
            busy: false,
            last: (0, Duration::ZERO),
        };
        Self {
            state: Mutex::new(state),
            joined: Condvar::new(),
            over: Condvar::new(),
        }
    }
}

impl<T, A> Together<T, A> {
    /// Has `item` dealt with, by this thread or by another. `all` answers one for one.
    pub(super) fn join(&self, item: T, all: impl FnOnce(Vec<T>) -> Vec<A>) -> Option<A> {
        let mut state = self.state();
        let ticket = state.next;
        state.next += 1;
        state.waiting.push((ticket, item));
        self.joined.notify_one();
        while state.busy {
            let waited = self.over.wait(state);
            state = waited.unwrap_or_else(PoisonError::into_inner);
            if let Some(answer) = state.answers.remove(&ticket) {
                return Some(answer);
            }
        }
        let _turn = Turn::begin(self, &mut state);
        let (before, took) = state.last;
        let fewer = |state: &mut State<T, A>| state.waiting.len() < before;
        let pause = (took / 4).min(LONGEST);
        let gathered = self.joined.wait_timeout_while(state, pause, fewer);
        let (mut state, _) = gathered.unwrap_or_else(PoisonError::into_inner);
        let together = std::mem::take(&mut state.waiting);
        drop(state);
        let (tickets, items): (Vec<u64>, Vec<T>) = together.into_iter().unzip();
        let began = Instant::now();
        let answers = all(items);
        let mut state = self.state();
        state.last = (tickets.len(), began.elapsed());
        state.answers.extend(tickets.into_iter().zip(answers));
        state.answers.remove(&ticket)
    }

    fn state(&self) -> MutexGuard<'_, State<T, A>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The turn of one thread; over when it is dropped, also by a panic: others wait for it.
struct Turn<'a, T, A>(&'a Together<T, A>);

impl<'a, T, A> Turn<'a, T, A> {
    fn begin(together: &'a Together<T, A>, state: &mut State<T, A>) -> Self {
        state.busy = true;
        Self(together)
    }
}

impl<T, A> Drop for Turn<'_, T, A> {
    fn drop(&mut self) {
        self.0.state().busy = false;
        self.0.over.notify_all();
    }
}

/// Results that wait to be sent in one statement.
pub(super) type Endings = Together<Success, PgResult<Published>>;

impl Endings {
    /// Publishes a result, with whatever else waits.
    pub(super) fn succeed(
        &self,
        link: &Link,
        patience: Duration,
        success: Success,
    ) -> PgResult<Published> {
        let told = self.join(success, |successes| {
            let told = link.ask(patience, |connection| {
                ending::succeed(connection, &successes)
            });
            match told {
                Ok(told) => told.into_iter().map(Ok).collect(),
                Err(error) => successes.iter().map(|_| Err(again(&error))).collect(),
            }
        });
        told.unwrap_or_else(|| {
            Err(PgError::Lost {
                reason: "a result got no answer".to_owned(),
            })
        })
    }
}

/// Returns the same error for another thread.
fn again(error: &PgError) -> PgError {
    if error.is_retryable() {
        PgError::Lost {
            reason: error.to_string(),
        }
    } else {
        PgError::Failed {
            statement: "succeed",
            reason: error.to_string(),
            code: String::new(),
        }
    }
}
