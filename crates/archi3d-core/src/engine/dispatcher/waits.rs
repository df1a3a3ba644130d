//! What the jobs of one provider wait for, and when it is looked at again.
//!
//! One thread looks for all that wait, less and less often: a worker that waits is
//! idle. What it waits for is told once.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use super::Dispatch;
use crate::domain::text::one_line;
use crate::domain::time::Timestamp;

/// How soon what somebody else holds is looked at again, at first.
const FIRST_PAUSE: Duration = Duration::from_millis(20);

/// And how seldom in the end.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// Who waits for longer than this is told what for.
const TELL_AFTER: Duration = Duration::from_millis(700);

/// Why jobs of a provider do not start.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::engine) enum Cause {
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
    pub(in crate::engine) fn text(&self, provider: &str) -> String {
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
                "waiting for provider {provider}: closed until {} ({}). To continue now: archi3d \
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
pub(super) struct Waits {
    wait: Option<Waiting>,
    told: HashSet<String>,
    /// How many jobs of the provider run in this process.
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
    /// Returns the moment before which no thread need look.
    pub(super) fn until(&self) -> Option<Instant> {
        self.wait.as_ref().map(|wait| wait.until)
    }

    /// Tells whether the last look was in vain.
    pub(super) fn are_known(&self) -> bool {
        self.wait.is_some()
    }

    /// Tells whether the caller may look. Of those that wait one does; the others wait
    /// for what it finds.
    pub(super) fn may_look(&mut self, now: Instant) -> bool {
        match &mut self.wait {
            Some(wait) if now < wait.until => false,
            Some(wait) => {
                wait.until = now + wait.pause;
                true
            }
            None => true,
        }
    }

    /// Notes that a job started.
    pub(super) fn entered(&mut self) {
        self.wait = None;
        self.running += 1;
    }

    /// Notes that a job of this process ended, which may let another one in.
    pub(super) fn left(&mut self) {
        self.wait = None;
        self.running = self.running.saturating_sub(1);
    }

    /// Notes that a look was in vain; `chance` is a number from 0 to 1.
    pub(super) fn refused(&mut self, cause: Cause, now: Instant, chance: f64) {
        let earlier = self.wait.take();
        let same = earlier.filter(|wait| wait.cause.key() == cause.key());
        let pause = match (&cause, &same) {
            (Cause::Rate(time), _) => (*time).min(LONGEST_PAUSE),
            (Cause::Closed(..) | Cause::Probe(_), _) => LONGEST_PAUSE,
            (_, Some(wait)) => (wait.pause * 2).min(LONGEST_PAUSE),
            (_, None) => FIRST_PAUSE,
        };
        self.wait = Some(Waiting {
            cause,
            since: same.map_or(now, |wait| wait.since),
            until: now + jittered(pause, chance),
            pause,
        });
    }

    /// Returns what jobs wait for, once, if somebody should know: nothing of the provider
    /// runs here.
    pub(super) fn news(&mut self, now: Instant) -> Option<Cause> {
        let wait = self.wait.as_ref().filter(|_| self.running == 0)?;
        let long = matches!(wait.cause, Cause::Closed(..));
        if !long && now.saturating_duration_since(wait.since) < TELL_AFTER {
            return None;
        }
        let cause = wait.cause.clone();
        self.told.insert(cause.key()).then_some(cause)
    }
}

/// What providers make jobs wait for; `gate` is the number of a provider.
impl Dispatch {
    /// Tells whether the caller may look whether a provider takes jobs. Of those that wait
    /// one does.
    pub(in crate::engine) fn may_look(&self, gate: usize) -> bool {
        self.state().waits[gate].may_look(Instant::now())
    }

    /// Tells whether the last look was in vain.
    pub(in crate::engine) fn waits_for(&self, gate: usize) -> bool {
        self.state().waits[gate].are_known()
    }

    /// Notes that a look was in vain.
    pub(in crate::engine) fn refused(&self, gate: usize, cause: Cause) {
        let (now, chance) = (Instant::now(), chance());
        self.state().waits[gate].refused(cause, now, chance);
    }

    /// Notes that a job has a place at a provider.
    pub(in crate::engine) fn entered(&self, gate: usize) {
        self.state().waits[gate].entered();
    }

    /// Notes that it left it, which may let another one in.
    pub(in crate::engine) fn left(&self, gate: usize) {
        self.state().waits[gate].left();
    }

    /// Returns what jobs wait for that was not told yet, by the number of the provider.
    pub(in crate::engine) fn news_of_waits(&self) -> Vec<(usize, Cause)> {
        let now = Instant::now();
        let mut state = self.state();
        let waits = state.waits.iter_mut().enumerate();
        let news = waits.filter_map(|(gate, waits)| Some((gate, waits.news(now)?)));
        news.collect()
    }
}

/// Workers that began to wait at the same moment need not all look at the same moment.
pub(super) fn jittered(pause: Duration, chance: f64) -> Duration {
    pause.mul_f64(0.75 + chance / 4.0)
}

/// Returns a number from 0 to 1.
pub(super) fn chance() -> f64 {
    f64::from(uuid::Uuid::new_v4().as_bytes()[0]) / 255.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_that_wait_one_looks_and_what_it_waits_for_is_told_once() {
        let mut waits = Waits::default();
        let now = Instant::now();
        assert!(waits.may_look(now) && waits.may_look(now));
        let until = Timestamp::parse("2026-01-01T00:00:00Z").unwrap();
        waits.refused(Cause::Closed(until, "429".into()), now, 0.5);
        assert!(!waits.may_look(now) && waits.are_known());
        let told = waits.news(now).unwrap().text("fal");
        assert!(told.contains("adapters resume fal"));
        assert_eq!(waits.news(now), None);
        waits.entered();
        assert!(waits.may_look(now) && !waits.are_known());
    }

    #[test]
    fn looks_become_rare() {
        let mut waits = Waits::default();
        let now = Instant::now();
        for _ in 0..10 {
            waits.refused(Cause::Slots(1), now, 0.5);
        }
        let pause = waits.until().unwrap() - now;
        assert!(pause > LONGEST_PAUSE / 2 && pause <= LONGEST_PAUSE);
    }
}
