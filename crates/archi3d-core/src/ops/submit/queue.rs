//! Those who ask at the same time are carried out together: one of them does it for all that wait, the others get their
//! answers. So a disk is waited for once for many.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::files;
use super::planned::Planned;
use super::{Submission, SubmitError, Submitted, Written};
use crate::ops::OpsContext;

/// So many are carried out together.
const MOST: usize = 32;

/// How long somebody waits for a turn.
const PATIENCE: Duration = Duration::from_secs(30);

/// What somebody asks for, ready to be carried out by anybody.
pub(super) struct Order {
    pub(super) context: OpsContext,
    pub(super) asked: Submission,
    /// Its plan; nothing where it is known already.
    pub(super) planned: Option<Planned>,
    pub(super) written: Written,
    /// The span in which it was asked for.
    pub(super) traceparent: Option<String>,
}

type Answer = Arc<Mutex<Option<Result<Submitted, SubmitError>>>>;

#[derive(Clone)]
struct Entry {
    order: Arc<Order>,
    answer: Answer,
}

struct Queue {
    waiting: VecDeque<Entry>,
    /// Whether somebody carries some out.
    is_led: bool,
}

static QUEUE: Mutex<Queue> = Mutex::new(Queue {
    waiting: VecDeque::new(),
    is_led: false,
});
static MOVED: Condvar = Condvar::new();

fn queue() -> MutexGuard<'static, Queue> {
    QUEUE.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Queue {
    /// Takes those who wait for the same workspace as the first one.
    fn take(&mut self) -> Vec<Entry> {
        let root = |entry: &Entry| entry.order.context.workspace.root().to_owned();
        let Some(first) = self.waiting.front().map(root) else {
            return Vec::new();
        };
        let mut taken = Vec::new();
        for entry in std::mem::take(&mut self.waiting) {
            if taken.len() < MOST && root(&entry) == first {
                taken.push(entry);
            } else {
                self.waiting.push_back(entry);
            }
        }
        taken
    }
}

/// Those who are carried out now. Whoever has no answer in the end, also after a panic, may try again.
struct Led(Vec<Entry>);

impl Drop for Led {
    fn drop(&mut self) {
        for entry in &self.0 {
            answer(entry, Err(SubmitError::Busy));
        }
        queue().is_led = false;
        MOVED.notify_all();
    }
}

fn answer(entry: &Entry, told: Result<Submitted, SubmitError>) {
    let mut answer = entry.answer.lock().unwrap_or_else(PoisonError::into_inner);
    answer.get_or_insert(told);
}

/// Has an order carried out, with others or by itself.
pub(super) fn carry_out(order: Order) -> Result<Submitted, SubmitError> {
    let own = Entry {
        order: Arc::new(order),
        answer: Answer::default(),
    };
    let begun = Instant::now();
    let mut queue = queue();
    queue.waiting.push_back(own.clone());
    loop {
        let told = own
            .answer
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(told) = told {
            return told;
        }
        if !queue.is_led {
            queue.is_led = true;
            let led = Led(queue.take());
            drop(queue);
            lead(led);
            queue = self::queue();
            continue;
        }
        if begun.elapsed() > PATIENCE {
            let before = queue.waiting.len();
            queue
                .waiting
                .retain(|one| !Arc::ptr_eq(&one.answer, &own.answer));
            if queue.waiting.len() < before {
                return Err(SubmitError::Busy);
            }
        }
        let waited = MOVED.wait_timeout(queue, Duration::from_secs(1));
        queue = waited.unwrap_or_else(PoisonError::into_inner).0;
    }
}

/// Carries some out; those whose turn comes later wait on, before all others.
fn lead(mut led: Led) {
    let orders: Vec<Arc<Order>> = led.0.iter().map(|entry| Arc::clone(&entry.order)).collect();
    let results = files::carry_out(&orders);
    let mut later = Vec::new();
    for (entry, told) in std::mem::take(&mut led.0).into_iter().zip(results) {
        match told {
            Some(told) => answer(&entry, told),
            None => later.push(entry),
        }
    }
    let mut queue = queue();
    for entry in later.into_iter().rev() {
        queue.waiting.push_front(entry);
    }
}
