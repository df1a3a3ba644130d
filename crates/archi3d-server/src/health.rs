//! Whether the service can work, as somebody saw it last. One looks at a time, and nobody waits for them: a disk that hangs
//! holds up one request.

use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use archi3d_core::ops::health::Check;

use crate::FRESH;

/// A look that takes longer is trouble by itself.
const SLOW: Duration = Duration::from_secs(5);

#[derive(Default)]
pub(crate) struct Health {
    looking: Mutex<()>,
    seen: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    /// When somebody began to look who has not ended.
    began: Option<Instant>,
    last: Option<(Instant, Vec<Check>)>,
}

impl Health {
    /// Returns what was seen a moment ago, or looks. While another looks it is what was seen before.
    pub(crate) fn checks(&self, look: impl FnOnce() -> Vec<Check>) -> Vec<Check> {
        let fresh =
            |(at, checks): &(Instant, Vec<Check>)| (at.elapsed() < FRESH).then(|| checks.clone());
        if let Some(checks) = self.seen().last.as_ref().and_then(fresh) {
            return checks;
        }
        let _looking = match self.looking.try_lock() {
            Ok(looking) => looking,
            Err(TryLockError::Poisoned(looking)) => looking.into_inner(),
            Err(TryLockError::WouldBlock) => return self.so_far(),
        };
        self.seen().began = Some(Instant::now());
        let checks = look();
        *self.seen() = Seen {
            began: None,
            last: Some((Instant::now(), checks.clone())),
        };
        checks
    }

    fn so_far(&self) -> Vec<Check> {
        let seen = self.seen();
        let took = seen.began.map(|began| began.elapsed()).unwrap_or_default();
        let last = seen.last.as_ref();
        let mut checks = last.map_or_else(Vec::new, |(_, checks)| checks.clone());
        if checks.is_empty() || took >= SLOW {
            checks.push(Check {
                name: "answer",
                ok: false,
                ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
                detail: Some("looking at the workspace has not ended yet".to_owned()),
            });
        }
        checks
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn nobody_waits_for_a_look_that_hangs() {
        let health = Health::default();
        let check = |name| Check {
            name,
            ok: true,
            ms: 0,
            detail: None,
        };
        let names = |checks: Vec<Check>| checks.iter().map(|check| check.name).collect::<Vec<_>>();
        let asked_beside = |expected: &[&str]| {
            let (tell, told) = channel();
            let (let_go, held) = channel::<()>();
            std::thread::scope(|scope| {
                let health = &health;
                scope.spawn(move || {
                    health.checks(|| {
                        tell.send(()).expect("somebody listens");
                        let _ = held.recv();
                        vec![check("disk")]
                    })
                });
                told.recv().expect("it looks");
                let seen = health.checks(|| panic!("one looks at a time"));
                assert_eq!(names(seen), expected);
                let_go.send(()).expect("it waits");
            });
        };
        // Nothing was seen yet: whoever asks is not told that all is well.
        asked_beside(&["answer"]);
        assert_eq!(names(health.checks(Vec::new)), ["disk"]);
        // By now that is old, and so is a look that began long ago.
        let long_ago = Instant::now()
            .checked_sub(2 * SLOW)
            .expect("it ran so long");
        health.seen().last = Some((long_ago, vec![check("disk")]));
        asked_beside(&["disk"]);
        health.seen().last = Some((long_ago, vec![check("disk")]));
        let _looking = health.looking.lock().expect("nobody looks");
        health.seen().began = Some(long_ago);
        assert_eq!(names(health.checks(Vec::new)), ["disk", "answer"]);
    }
}
