//! Waiting for something that will happen, with a deadline that only a broken program reaches.

use std::thread;
use std::time::{Duration, Instant};

/// Long enough for the slowest machine that runs the tests.
pub const DEADLINE: Duration = Duration::from_secs(180);

/// Polls until `condition` holds; panics with `what` when it does not in time.
#[track_caller]
pub fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    let end = Instant::now() + DEADLINE;
    while !condition() {
        assert!(Instant::now() < end, "waited {DEADLINE:?} in vain: {what}");
        thread::sleep(Duration::from_millis(5));
    }
}
