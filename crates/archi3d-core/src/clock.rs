//! The only reader of the wall clock.

use std::time::Duration;

use crate::domain::time::{Clock, Timestamp};
use crate::platform;

/// The machine's own clocks.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(
        clippy::disallowed_methods,
        reason = "the one place that reads the wall clock"
    )]
    fn now(&self) -> Timestamp {
        let offset = chrono::TimeDelta::milliseconds(platform::fault::clock_offset_ms());
        // Also where the clock stands before 1970, as on a board without a battery.
        let now = chrono::DateTime::<chrono::Utc>::from(std::time::SystemTime::now());
        Timestamp::new(now + offset)
    }

    fn steady(&self) -> Duration {
        platform::steady_now()
    }
}
