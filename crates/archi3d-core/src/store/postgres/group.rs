//! Results that several threads bring at once, sent in one statement.
//!
//! Whoever gets the connection sends what all have brought by then, so groups grow by themselves
//! with the load, and nobody is told that a result is safe before it is.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::ending::{self, Published, Success};
use super::error::{PgError, PgResult};
use super::link::Link;

type Answer = Arc<Mutex<Option<PgResult<Published>>>>;

/// Results that wait to be sent.
#[derive(Debug, Default)]
pub(super) struct Group {
    waiting: Mutex<Vec<(Success, Answer)>>,
    sending: Mutex<()>,
}

impl Group {
    /// Publishes a result, with whatever else waits.
    pub(super) fn succeed(
        &self,
        link: &Link,
        patience: Duration,
        success: Success,
    ) -> PgResult<Published> {
        let answer = Answer::default();
        self.waiting().push((success, Arc::clone(&answer)));
        let _turn = self.sending.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(told) = take(&answer) {
            return told;
        }
        let all = std::mem::take(&mut *self.waiting());
        let (successes, answers): (Vec<Success>, Vec<Answer>) = all.into_iter().unzip();
        let told = link.ask(patience, |connection| {
            ending::succeed(connection, &successes)
        });
        match told {
            Ok(told) => {
                for (answer, published) in answers.iter().zip(told) {
                    put(answer, Ok(published));
                }
            }
            Err(error) => {
                for answer in &answers {
                    put(answer, Err(again(&error)));
                }
            }
        }
        take(&answer).unwrap_or_else(|| {
            Err(PgError::Lost {
                reason: "a result got no answer".to_owned(),
            })
        })
    }

    fn waiting(&self) -> std::sync::MutexGuard<'_, Vec<(Success, Answer)>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn take(answer: &Answer) -> Option<PgResult<Published>> {
    answer.lock().unwrap_or_else(PoisonError::into_inner).take()
}

fn put(answer: &Answer, told: PgResult<Published>) {
    *answer.lock().unwrap_or_else(PoisonError::into_inner) = Some(told);
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
