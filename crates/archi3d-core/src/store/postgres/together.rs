//! What several threads bring at once, dealt with by one of them.
//!
//! Whoever has the turn takes along what all have brought by then, so groups grow by themselves with the load, and nobody
//! is told that something is safe before it is. Who comes first waits a moment for those that came along the last time:
//! a quarter of the time that their round took, so that nobody who is alone waits for long.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
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
}

#[derive(Debug)]
struct State<T, A> {
    waiting: Vec<(T, Arc<Place<A>>)>,
    /// Whether somebody deals with what was there, or is about to.
    busy: bool,
    /// How many the last round dealt with, and how long it took.
    last: (usize, Duration),
}

/// Where one thread waits, and for what it is woken.
#[derive(Debug)]
struct Place<A> {
    call: Mutex<Option<Call<A>>>,
    called: Condvar,
}

#[derive(Debug)]
enum Call<A> {
    /// It is its turn.
    Lead,
    /// Its thing was dealt with; nothing if whoever did that died.
    Answer(Option<A>),
}

impl<A> Place<A> {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            call: Mutex::new(None),
            called: Condvar::new(),
        })
    }

    fn call(&self, call: Call<A>) {
        *self.call.lock().unwrap_or_else(PoisonError::into_inner) = Some(call);
        self.called.notify_one();
    }

    fn wait(&self) -> Call<A> {
        let mut call = self.call.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(call) = call.take() {
                return call;
            }
            let waited = self.called.wait(call);
            call = waited.unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl<T, A> Default for Together<T, A> {
    fn default() -> Self {
        let state = State {
            waiting: Vec::new(),
            busy: false,
            last: (0, Duration::ZERO),
        };
        Self {
            state: Mutex::new(state),
            joined: Condvar::new(),
        }
    }
}

impl<T, A> Together<T, A> {
    /// Has `item` dealt with, by this thread or by another. `all` answers one for one.
    pub(super) fn join(&self, item: T, all: impl FnOnce(Vec<T>) -> Vec<A>) -> Option<A> {
        let place = Place::new();
        let mut state = self.state();
        state.waiting.push((item, Arc::clone(&place)));
        self.joined.notify_one();
        if state.busy {
            drop(state);
            match place.wait() {
                Call::Answer(answer) => return answer,
                Call::Lead => state = self.state(),
            }
        }
        state.busy = true;
        let (before, took) = state.last;
        let fewer = |state: &mut State<T, A>| state.waiting.len() < before;
        let pause = (took / 4).min(LONGEST);
        let gathered = self.joined.wait_timeout_while(state, pause, fewer);
        let (mut state, _) = gathered.unwrap_or_else(PoisonError::into_inner);
        let together = std::mem::take(&mut state.waiting);
        drop(state);
        let (items, places): (Vec<T>, Vec<_>) = together.into_iter().unzip();
        let turn = Turn(self, places);
        let began = Instant::now();
        let mut answers = all(items).into_iter();
        self.state().last = (turn.1.len(), began.elapsed());
        for place in &turn.1 {
            place.call(Call::Answer(answers.next()));
        }
        drop(turn);
        match place.wait() {
            Call::Answer(answer) => answer,
            Call::Lead => None,
        }
    }

    fn state(&self) -> MutexGuard<'_, State<T, A>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The turn of one thread, with the places of those it deals with. When it is over, also by a panic, the next one leads
/// and nobody waits for nothing.
struct Turn<'a, T, A>(&'a Together<T, A>, Vec<Arc<Place<A>>>);

impl<T, A> Drop for Turn<'_, T, A> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            for place in &self.1 {
                place.call(Call::Answer(None));
            }
        }
        let mut state = self.0.state();
        match state.waiting.first() {
            Some((_, next)) => next.call(Call::Lead),
            None => state.busy = false,
        }
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
