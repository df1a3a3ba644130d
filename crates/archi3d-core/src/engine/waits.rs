//! What the jobs of one provider wait for, and when it is looked at again.
//!
//! One thread looks for all that wait, less and less often: a worker that waits is
//! idle. What it waits for is told once.

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::domain::text::one_line;
use crate::domain::time::Timestamp;
use crate::engine::Pool;
use crate::engine::event::EventKind;

/// How soon what somebody else holds is looked at again, at first.
const FIRST_PAUSE: Duration = Duration::from_millis(20);

/// And how seldom in the end.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// Who waits for longer than this is told what for.
const TELL_AFTER: Duration = Duration::from_millis(700);

/// Why jobs of a provider do not start.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Cause {
    /// As many run as may.
    Slots(usize),
    /// The next one may start after this long.
    Rate(Duration),
    /// Somebody else notes a start this moment.
    Busy,
    /// It is closed until then, for this reason.
    Closed(Timestamp, String),
    /// One job tries whether an algorithm that was paused works again.
    Probe(String),
}

impl Cause {
    /// Returns the word under which it is told once.
    fn key(&self) -> String {
        match self {
            Self::Slots(_) => "slots".to_owned(),
            Self::Rate(_) => "rate".to_owned(),
            Self::Busy => "busy".to_owned(),
            Self::Closed(..) => "closed".to_owned(),
            Self::Probe(algo) => format!("probe {algo}"),
        }
    }

    /// Returns what is told of it.
    fn text(&self, provider: &str) -> String {
        match self {
            Self::Slots(1) => format!(
                "waiting for provider {provider}: the one job that may run at once (max_parallel) \
                 runs in another worker"
            ),
            Self::Slots(slots) => format!(
                "waiting for provider {provider}: {slots} jobs run in other workers, as many as may \
                 at once (max_parallel)"
            ),
            Self::Rate(time) => format!(
                "waiting for provider {provider}: its next job may start in {} (rate_per_min)",
                seconds(*time)
            ),
            Self::Busy => format!("waiting for provider {provider}: another worker notes a start"),
            Self::Closed(until, reason) => format!(
                "waiting for provider {provider}: closed until {} ({}). To go on at once: archi3d \
                 adapters resume {provider}",
                until.iso(),
                one_line(reason)
            ),
            Self::Probe(algo) => format!(
                "waiting for algo {algo}: it was paused, and another worker tries it with one job"
            ),
        }
    }
}

fn seconds(time: Duration) -> String {
    format!("{} s", time.as_secs_f64().ceil())
}

/// What the jobs of one provider wait for.
#[derive(Debug, Default)]
pub(super) struct Waits(Mutex<Book>);

#[derive(Debug, Default)]
struct Book {
    wait: Option<Waiting>,
    told: HashSet<String>,
    /// How many jobs of the provider run in this pool.
    running: usize,
}

#[derive(Debug)]
struct Waiting {
    cause: Cause,
    since: Instant,
    until: Instant,
    pause: Duration,
}

impl Waits {
    fn book(&self) -> MutexGuard<'_, Book> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the moment before which nobody need look.
    pub(super) fn until(&self) -> Option<Instant> {
        self.book().wait.as_ref().map(|wait| wait.until)
    }

    /// Tells whether the last look was in vain.
    pub(super) fn are_known(&self) -> bool {
        self.book().wait.is_some()
    }

    /// Tells whether the caller may look. Of those that wait one does; the others wait
    /// for what it finds.
    pub(super) fn may_look(&self) -> bool {
        let mut book = self.book();
        let now = Instant::now();
        match &mut book.wait {
            Some(wait) if now < wait.until => false,
            Some(wait) => {
                wait.until = now + wait.pause;
                true
            }
            None => true,
        }
    }

    /// Notes that a job started.
    pub(super) fn entered(&self) {
        let mut book = self.book();
        book.wait = None;
        book.running += 1;
    }

    /// Notes that a job of this pool ended, which may let another one in.
    pub(super) fn left(&self) {
        let mut book = self.book();
        book.wait = None;
        book.running = book.running.saturating_sub(1);
    }

    /// Notes that a look was in vain.
    pub(super) fn refused(&self, cause: Cause) {
        let mut book = self.book();
        let now = Instant::now();
        let earlier = book.wait.take();
        let same = earlier.filter(|wait| wait.cause.key() == cause.key());
        let pause = match (&cause, &same) {
            (Cause::Rate(time), _) => (*time).min(LONGEST_PAUSE),
            (Cause::Closed(..) | Cause::Probe(_), _) => LONGEST_PAUSE,
            (_, Some(wait)) => (wait.pause * 2).min(LONGEST_PAUSE),
            (_, None) => FIRST_PAUSE,
        };
        book.wait = Some(Waiting {
            cause,
            since: same.map_or(now, |wait| wait.since),
            until: now + jittered(pause),
            pause,
        });
    }

    /// Returns what nobody was told yet and somebody should know: jobs wait for it, and
    /// nothing of the provider runs here.
    fn news(&self, provider: &str) -> Option<String> {
        let mut book = self.book();
        let wait = book.wait.as_ref().filter(|_| book.running == 0)?;
        let long = matches!(wait.cause, Cause::Closed(..));
        if !long && wait.since.elapsed() < TELL_AFTER {
            return None;
        }
        let (key, text) = (wait.cause.key(), wait.cause.text(provider));
        book.told.insert(key).then_some(text)
    }
}

/// Workers that began to wait at the same moment need not all look at the same moment.
fn jittered(pause: Duration) -> Duration {
    let chance = f64::from(uuid::Uuid::new_v4().as_bytes()[0]) / 255.0;
    pause.mul_f64(0.75 + chance / 4.0)
}

impl Pool<'_> {
    /// Tells what jobs wait for, once for each cause.
    pub(super) fn tell_of_waits(&self) {
        for gate in self.lanes.gates() {
            if let Some(message) = gate.waits.news(gate.provider.as_str()) {
                self.report(EventKind::Notice { message });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_that_wait_one_looks_and_what_it_waits_for_is_told_once() {
        let waits = Waits::default();
        assert!(waits.may_look() && waits.may_look());
        let until = Timestamp::parse("2026-01-01T00:00:00Z").unwrap();
        waits.refused(Cause::Closed(until, "429".into()));
        assert!(!waits.may_look() && waits.are_known());
        assert!(waits.news("fal").unwrap().contains("adapters resume fal"));
        assert_eq!(waits.news("fal"), None);
        waits.entered();
        assert!(waits.may_look() && !waits.are_known());
    }

    #[test]
    fn looks_become_rare() {
        let waits = Waits::default();
        for _ in 0..10 {
            waits.refused(Cause::Slots(1));
        }
        let pause = waits.until().unwrap() - Instant::now();
        assert!(pause > LONGEST_PAUSE / 2 && pause <= LONGEST_PAUSE);
    }
}
