//! What people are told of outside: an event, and when a message of it that did not arrive is sent again.

use std::time::Duration;

/// A run has nothing more to do.
pub const RUN_FINISHED: &str = "run_finished";
/// So much of a limit is spent that little is left.
pub const BUDGET_LOW: &str = "budget_80";
/// An algorithm is paused after failures in a row.
pub const BREAKER_OPEN: &str = "breaker_open";
/// A provider is closed.
pub const PROVIDER_CLOSED: &str = "provider_closed";
/// A worker died and left jobs behind.
pub const WORKER_LOST: &str = "worker_lost";

/// Every event.
pub const NOTICES: [&str; 5] = [
    RUN_FINISHED,
    BUDGET_LOW,
    BREAKER_OPEN,
    PROVIDER_CLOSED,
    WORKER_LOST,
];

/// So often a message is tried.
const TRIES: u32 = 12;

/// Returns how long to wait after so many tries that failed; nothing means that it is given up.
pub fn pause(tries: u32) -> Option<Duration> {
    let seconds = 2u64.saturating_pow(tries.min(12)).min(3600);
    (tries < TRIES).then(|| Duration::from_secs(seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_to_an_hour_and_end() {
        let all: Vec<_> = (1..20)
            .map_while(pause)
            .map(|pause| pause.as_secs())
            .collect();
        assert_eq!(all, [2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048]);
    }
}
