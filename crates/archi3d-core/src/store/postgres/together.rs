//! What several threads bring at once, dealt with by one of them.
//!
//! Whoever has the turn takes along what all have brought by then, so groups grow by themselves with the load, and nobody
//! is told that something is safe before it is. Who leads waits a moment for those that came along the last time: for half
//! as long as their round took at most, and for one less each time they do not come, so that nobody who is alone waits.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::ending::{Published, Success};
use super::error::{PgError, PgResult};
use super::link::Link;

/// Nobody waits longer for others.
const LONGEST: Duration = Duration::from_millis(1);

/// Things that wait to be dealt with together.
#[derive(Debug)]
pub(super) struct Together<T, A> {
    state: Mutex<State<T, A>>,
    /// Told when as many are there as are waited for.
    gathered: Condvar,
}

#[derive(Debug)]
struct State<T, A> {
    waiting: Vec<(T, Arc<Place<A>>)>,
    /// Whether somebody deals with what was there, or is about to.
    busy: bool,
    /// How many may come along, and how long the last round took.
    last: (usize, Duration),
    /// Whoever leads waits until so many are there.
    wanted: usize,
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
            wanted: 0,
        };
        Self {
            state: Mutex::new(state),
            gathered: Condvar::new(),
        }
    }
}

impl<T, A> Together<T, A> {
    /// Has `item` dealt with, by this thread or by another. Whoever deals with all waits for `turn` first, and takes along
    /// what has come by then; `all` answers one for one.
    pub(super) fn join(
        &self,
        item: T,
        turn: impl FnOnce(),
        all: impl FnOnce(Vec<T>) -> Vec<A>,
    ) -> Option<A> {
        let place = Place::new();
        let mut state = self.state();
        state.waiting.push((item, Arc::clone(&place)));
        if state.busy {
            if state.waiting.len() == state.wanted {
                self.gathered.notify_one();
            }
            drop(state);
            match place.wait() {
                Call::Answer(answer) => return answer,
                Call::Lead => state = self.state(),
            }
        }
        state.busy = true;
        let before = state.last.0;
        drop(state);
        let mut led = Turn(self, Vec::new());
        turn();
        let together = self.gather();
        let began = Instant::now();
        let (items, places): (Vec<T>, Vec<_>) = together.into_iter().unzip();
        led.1 = places;
        let mut answers = all(items).into_iter();
        let expected = led.1.len().max(before.saturating_sub(1));
        self.state().last = (expected, began.elapsed());
        for place in &led.1 {
            place.call(Call::Answer(answers.next()));
        }
        drop(led);
        match place.wait() {
            Call::Answer(answer) => answer,
            Call::Lead => None,
        }
    }

    /// Takes what is there, and waits a moment for those that came along the last time.
    fn gather(&self) -> Vec<(T, Arc<Place<A>>)> {
        let mut state = self.state();
        let (before, took) = state.last;
        if state.waiting.len() < before {
            state.wanted = before;
            let few = |state: &mut State<T, A>| state.waiting.len() < before;
            let pause = (took / 2).min(LONGEST);
            let gathered = self.gathered.wait_timeout_while(state, pause, few);
            (state, _) = gathered.unwrap_or_else(PoisonError::into_inner);
            state.wanted = 0;
        }
        std::mem::take(&mut state.waiting)
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
    /// Publishes a result, with whatever else waits when `link` is free. `all` publishes many, or none.
    pub(super) fn succeed(
        &self,
        link: &Link,
        success: Success,
        all: impl Fn(&[Success]) -> PgResult<Vec<Published>>,
    ) -> PgResult<Published> {
        let together = |successes: Vec<Success>| match all(&successes) {
            Ok(told) => told.into_iter().map(Ok).collect(),
            // One of them is refused: the others are not to pay for it.
            Err(error) if error.is_of_one() && successes.len() > 1 => {
                let alone = |one| Ok(all(std::slice::from_ref(one))?.pop());
                let told = successes.iter().map(alone);
                told.map(|one| one.and_then(|one| one.ok_or_else(unanswered)))
                    .collect()
            }
            Err(error) => successes.iter().map(|_| Err(again(&error))).collect(),
        };
        let told = self.join(success, || link.await_turn(), together);
        told.unwrap_or_else(|| Err(unanswered()))
    }
}

fn unanswered() -> PgError {
    PgError::Lost {
        reason: "a result got no answer".to_owned(),
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
