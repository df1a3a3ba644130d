//! Points in time as they stand in tables, markers and logs.
//!
//! Nothing here reads a clock: time is always an argument. The [`Clock`] that
//! does read it lives at the edge of the program.

use std::fmt;
use std::time::Duration;

use chrono::{DateTime, SecondsFormat, TimeDelta, Timelike, Utc};
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A moment in UTC with microseconds, written the way existing tables have it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(DateTime<Utc>);

impl Timestamp {
    /// Takes a moment, cut to whole microseconds.
    pub fn new(at: DateTime<Utc>) -> Self {
        let micros = at.nanosecond() / 1_000 * 1_000;
        Self(at.with_nanosecond(micros).unwrap_or(at))
    }

    /// Reads ISO-8601 with an offset (`Z` or `+00:00`); a time without one is refused.
    pub fn parse(text: &str) -> Option<Self> {
        DateTime::parse_from_rfc3339(text.trim())
            .ok()
            .map(|at| Self::new(at.with_timezone(&Utc)))
    }

    /// Returns the table form; the fraction is left out when it is zero.
    pub fn iso(self) -> String {
        let form = if self.0.timestamp_subsec_micros() == 0 {
            SecondsFormat::Secs
        } else {
            SecondsFormat::Micros
        };
        self.0.to_rfc3339_opts(form, false)
    }

    /// Returns the form that always has the same width, for rewriting in place.
    pub fn fixed_width(self) -> String {
        self.0.to_rfc3339_opts(SecondsFormat::Micros, false)
    }

    /// Returns the moment `by` later.
    #[must_use]
    pub fn plus(self, by: Duration) -> Self {
        let by = TimeDelta::from_std(by).unwrap_or(TimeDelta::MAX);
        Self(self.0.checked_add_signed(by).unwrap_or(self.0))
    }

    /// Returns the moment `by` earlier.
    #[must_use]
    pub fn minus(self, by: Duration) -> Self {
        let by = TimeDelta::from_std(by).unwrap_or(TimeDelta::MAX);
        Self(self.0.checked_sub_signed(by).unwrap_or(self.0))
    }

    /// Returns how long after `earlier` this is; zero if it is not after it.
    pub fn since(self, earlier: Self) -> Duration {
        (self.0 - earlier.0).to_std().unwrap_or(Duration::ZERO)
    }

    /// Returns the moment as chrono has it.
    pub fn as_datetime(self) -> DateTime<Utc> {
        self.0
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.iso())
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.iso())
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl Visitor<'_> for Text {
            type Value = Timestamp;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a time with offset")
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Timestamp, E> {
                let unfit = || E::custom(format!("{text:?} is not a time with offset"));
                Timestamp::parse(text).ok_or_else(unfit)
            }
        }
        deserializer.deserialize_str(Text)
    }
}

/// Where the time comes from; fixed in tests.
pub trait Clock: Send + Sync {
    /// Returns the wall clock's time.
    fn now(&self) -> Timestamp;

    /// Returns a time that only moves forward, also while the machine sleeps.
    fn steady(&self) -> Duration;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fraction_is_left_out_only_when_it_is_zero() {
        let whole = Timestamp::parse("2026-11-16T01:43:00Z").expect("valid");
        assert_eq!(whole.iso(), "2026-11-16T01:43:00+00:00");
        assert_eq!(whole.fixed_width(), "2026-11-16T01:43:00.000000+00:00");
        let part = Timestamp::parse("2026-11-16T01:43:00.1+00:00").expect("valid");
        assert_eq!(part.iso(), "2026-11-16T01:43:00.100000+00:00");
    }

    #[test]
    fn a_time_without_offset_is_refused() {
        assert_eq!(Timestamp::parse("2026-11-16T01:43:00"), None);
    }

    #[test]
    fn a_clock_that_steps_back_gives_no_negative_age() {
        let early = Timestamp::parse("2026-11-16T01:43:00Z").expect("valid");
        let late = early.plus(Duration::from_secs(5));
        assert_eq!(late.since(early), Duration::from_secs(5));
        assert_eq!(early.since(late), Duration::ZERO);
    }
}
