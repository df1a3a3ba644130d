//! How many jobs of a provider run at once and start in a minute, as pure rules.
//!
//! `workspace::limits` keeps them for all workers; this file only reckons.

use std::time::Duration;

use serde::Serialize;

/// The limits of one provider; nothing means no limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Limits {
    /// How many of its jobs run at once.
    pub max_parallel: Option<usize>,
    /// How many of its jobs start in a minute.
    pub rate_per_min: Option<f64>,
}

impl Limits {
    /// Tells whether there is any limit.
    pub fn any(self) -> bool {
        self.max_parallel.is_some() || self.rate_per_min.is_some()
    }

    /// Returns the lower of two limits, one by one.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let lower = |a: Option<f64>, b: Option<f64>| match (a, b) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        Self {
            max_parallel: self
                .max_parallel
                .into_iter()
                .chain(other.max_parallel)
                .min(),
            rate_per_min: lower(self.rate_per_min, other.rate_per_min),
        }
    }
}

/// Who comes late may come this much earlier the next time, in microseconds.
const CATCH_UP: i64 = 250_000;

/// From being let in to really starting takes up to this long, in microseconds.
const ON_THE_WAY: i64 = 250_000;

const MINUTE: i64 = 60_000_000;

/// Spreads starts over the minute, so that no minute has more than allowed
/// wherever it begins. Moments are microseconds of a clock that all share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    interval: i64,
}

/// Why a start has to wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refusal {
    /// For how long.
    pub wait: Duration,
    /// What to keep instead of a moment that cannot be right.
    pub repaired: Option<i64>,
}

impl Pace {
    /// Makes the pace of so many starts in a minute. The interval is a little
    /// longer than the share of a minute: lateness in a minute's beginning and
    /// haste in its end must not add up to one start more.
    pub fn per_minute(rate: f64) -> Self {
        let interval = (MINUTE + CATCH_UP + ON_THE_WAY) as f64 / rate;
        #[expect(clippy::cast_possible_truncation, reason = "clamped to a day")]
        let interval = interval.ceil().clamp(1.0, 86_400e6) as i64;
        Self { interval }
    }

    /// Returns how long to wait at `now` if nothing starts before `next`.
    pub fn wait(self, next: Option<i64>, now: i64) -> Option<Duration> {
        let next = next.filter(|next| self.is_possible(*next, now))?;
        (next > now).then(|| span(next - now))
    }

    /// Takes a place at `now`; returns the moment before which nothing else starts.
    pub fn take(self, next: Option<i64>, now: i64) -> Result<i64, Refusal> {
        let Some(next) = next else {
            return Ok(now + self.interval);
        };
        if !self.is_possible(next, now) {
            // Garbage, or the clock was set back: whoever was last was just now.
            return Err(Refusal {
                wait: span(self.interval),
                repaired: Some(now + self.interval),
            });
        }
        if next > now {
            return Err(Refusal {
                wait: span(next - now),
                repaired: None,
            });
        }
        Ok(next.max(now - CATCH_UP) + self.interval)
    }

    /// Returns the moment that is kept when a place was not used after all.
    pub fn refunded(self, next: i64) -> i64 {
        next.saturating_sub(self.interval)
    }

    /// No moment is further ahead than one interval, unless the clock jumped.
    fn is_possible(self, next: i64, now: i64) -> bool {
        next <= now.saturating_add(self.interval)
    }
}

fn span(micros: i64) -> Duration {
    Duration::from_micros(u64::try_from(micros).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn limits_that_are_named_twice_are_the_lower_ones() {
        let limits = |max_parallel, rate_per_min| Limits {
            max_parallel,
            rate_per_min,
        };
        let both = limits(Some(4), None).and(limits(Some(2), Some(30.0)));
        assert_eq!(both, limits(Some(2), Some(30.0)));
        assert_eq!(
            both.and(limits(None, Some(20.0))),
            limits(Some(2), Some(20.0))
        );
    }

    #[test]
    fn a_clock_that_was_set_back_costs_one_interval() {
        let pace = Pace::per_minute(60.0);
        let next = pace.take(None, 1_000 * MINUTE).unwrap();
        let refusal = pace.take(Some(next), 10 * MINUTE).unwrap_err();
        let repaired = refusal.repaired.unwrap();
        assert_eq!(repaired, 10 * MINUTE + 1_008_334);
        assert!(pace.take(Some(repaired), repaired).is_ok());
    }

    proptest! {
        /// Pollers come at random moments, each start is on its way for a random time.
        #[test]
        fn no_minute_has_more_starts_than_allowed_and_nine_tenths_are_used(
            rate in 1u32..400, steps in proptest::collection::vec((0i64..40_000, 0i64..250_000), 3_000..4_000)
        ) {
            let pace = Pace::per_minute(f64::from(rate));
            let (mut now, mut next, mut starts) = (0, None, Vec::new());
            for (late, on_the_way) in steps {
                now = next.map_or(now, |next: i64| next.max(now)) + late;
                next = Some(pace.take(next, now).expect("it is time"));
                starts.push(now + on_the_way);
                if now > 4 * MINUTE {
                    break;
                }
            }
            starts.sort_unstable();
            let allowed = rate as usize;
            for (index, start) in starts.iter().enumerate() {
                let within = starts[index..].iter().take_while(|s| **s < start + MINUTE).count();
                prop_assert!(within <= allowed, "{within} of {allowed}");
            }
            let possible = now as f64 / MINUTE as f64 * f64::from(rate);
            prop_assert!(starts.len() as f64 >= 0.9 * possible.floor(), "{} of {possible}", starts.len());
        }
    }
}
