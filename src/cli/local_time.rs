//! Times as people read them: in the zone of this machine, or the one `TZ` names.
//!
//! Files and `--json` have UTC; screens have this, and say which zone it is once.

use chrono::{DateTime, FixedOffset, Local, Offset as _, Utc};

use archi3d_core::domain::time::Timestamp;

/// The zone in which times are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Zone {
    /// The zone of this machine.
    Local,
    /// UTC.
    Utc,
}

impl Zone {
    fn at(self, at: Timestamp) -> DateTime<FixedOffset> {
        let at = at.as_datetime();
        match self {
            Self::Local => at.with_timezone(&Local).fixed_offset(),
            Self::Utc => at.with_timezone(&Utc.fix()),
        }
    }

    /// Returns a time to the minute: `2026-11-17 12:34`.
    pub fn minute(self, at: Timestamp) -> String {
        self.at(at).format("%Y-%m-%d %H:%M").to_string()
    }

    /// Returns a time of these days to the second: `11-17 12:34:05`.
    pub fn second(self, at: Timestamp) -> String {
        self.at(at).format("%m-%d %H:%M:%S").to_string()
    }

    /// Returns a time of these days to the minute: `11-17 12:34`.
    pub fn short(self, at: Timestamp) -> String {
        self.at(at).format("%m-%d %H:%M").to_string()
    }

    /// Returns the zone that `at` is shown in: `UTC`, or `UTC+01:00`.
    pub fn name(self, at: Timestamp) -> String {
        let at = self.at(at);
        if at.offset().local_minus_utc() == 0 {
            return "UTC".to_owned();
        }
        at.format("UTC%:z").to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_shown_without_what_nobody_reads() {
        let at = Timestamp::parse("2026-11-17T23:34:05.123456Z").expect("valid");
        assert_eq!(Zone::Utc.minute(at), "2026-11-17 23:34");
        assert_eq!(Zone::Utc.second(at), "11-17 23:34:05");
        assert_eq!(Zone::Utc.short(at), "11-17 23:34");
        assert_eq!(Zone::Utc.name(at), "UTC");
    }
}
