//! How often and how long a service is asked.

use std::time::Duration;

use super::Lookup;

/// How long a service that gives no usable answer is asked again.
pub(super) const PATIENCE: Duration = Duration::from_secs(600);

/// How long a purchase whose id was lost is looked for, and one that the service does
/// not know yet is asked for.
const LOOK_FOR: Duration = Duration::from_secs(120);

/// The pause between two looks.
const LOOK: Duration = Duration::from_secs(5);

/// No pause between two calls is longer, unless the service asks for it.
const LONGEST: Duration = Duration::from_secs(30);

/// Rhythms and limits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pace {
    /// The pause between the first questions.
    first: Duration,
    /// How long one call may take.
    pub(super) limit: Duration,
    /// How long a purchase that is not listed may yet be there; no look takes longer.
    pub(super) doubt: Duration,
}

impl Pace {
    pub(super) fn new(env: Lookup<'_>) -> Self {
        let number = |name: &str, usual: f64, least: f64| {
            let own = env(name).and_then(|text| text.trim().parse::<f64>().ok());
            own.filter(|number| number.is_finite())
                .unwrap_or(usual)
                .clamp(least, 1e6)
        };
        let seconds = Duration::from_secs_f64;
        Self {
            first: seconds(number("ARCHI3D_HTTP_POLL_MS", 1000.0, 1.0) / 1000.0),
            limit: seconds(number("ARCHI3D_HTTP_TIMEOUT_S", 60.0, 0.1)),
            doubt: seconds(number("ARCHI3D_HTTP_DOUBT_S", 900.0, 0.0)),
        }
    }

    /// Returns the pause before the next question how far a purchase is, after `waited`
    /// and so many answers in a row that were none.
    pub(super) fn poll(&self, waited: Duration, failures: u32) -> Duration {
        let least = match waited.as_secs() {
            0..30 => 0,
            30..120 => 2,
            _ => 5,
        };
        let usual = self.first.max(Duration::from_secs(least));
        let patient = usual.saturating_mul(1 << failures.min(12));
        jittered(patient.min(LONGEST.max(self.first)))
    }

    /// Returns the pause after so many failures of a call that costs nothing.
    pub(super) fn again(failures: u32) -> Duration {
        let quarter = Duration::from_millis(250);
        let patient = quarter.saturating_mul(3_u32.saturating_pow(failures.saturating_sub(1)));
        jittered(patient.min(LONGEST))
    }

    /// Returns the pause between two looks for a purchase whose id was lost.
    pub(super) fn look(&self) -> Duration {
        jittered(LOOK.min(self.doubt / 10))
    }

    /// Returns how long a purchase is looked for that the service does not know.
    pub(super) fn look_for(&self) -> Duration {
        LOOK_FOR.min(self.doubt)
    }
}

/// Up to a fifth more or less, so that many jobs do not ask at the same moment.
fn jittered(time: Duration) -> Duration {
    let byte = uuid::Uuid::new_v4().as_bytes()[0];
    time.mul_f64(0.8 + 0.4 * f64::from(byte) / 255.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_with_the_time_and_with_failures() {
        let pace = Pace::new(&|_| None);
        let near =
            |time: Duration, seconds: f64| (time.as_secs_f64() - seconds).abs() <= seconds * 0.21;
        let s = Duration::from_secs;
        assert!(near(pace.poll(s(0), 0), 1.0));
        assert!(near(pace.poll(s(31), 0), 2.0));
        assert!(near(pace.poll(s(121), 0), 5.0));
        assert!(near(pace.poll(s(0), 2), 4.0));
        assert!(near(pace.poll(s(500), 9), 30.0));
        assert!(near(Pace::again(1), 0.25));
        assert!(near(Pace::again(9), 30.0));
    }

    #[test]
    fn the_first_pause_changes_no_other_time() {
        let usual = Pace::new(&|_| None);
        let fast = Pace::new(&|name| (name == "ARCHI3D_HTTP_POLL_MS").then(|| "20".to_owned()));
        for pace in [usual, fast] {
            assert_eq!(pace.look_for(), Duration::from_secs(120));
            assert_eq!(pace.doubt, Duration::from_secs(900));
            assert!(pace.look() >= Duration::from_secs(4));
            assert!(pace.poll(Duration::from_secs(60), 0) >= Duration::from_millis(1600));
        }
    }
}
