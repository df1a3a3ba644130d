//! How often and how long a service is asked.

use std::time::Duration;

use super::Lookup;

/// Rhythms and limits; all of them follow the first pause between two questions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pace {
    /// The pause between the first questions.
    pub(super) first: Duration,
    /// How long one call may take.
    pub(super) limit: Duration,
    /// How long a purchase that is not listed may yet be there.
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

    /// Returns the pause before the next question, after `waited`.
    pub(super) fn pause(&self, waited: Duration, failures: u32) -> Duration {
        let usual = if waited < self.first * 30 {
            self.first
        } else if waited < self.first * 120 {
            self.first * 2
        } else {
            self.first * 5
        };
        let patient = usual.saturating_mul(1 << failures.min(5));
        jittered(patient.min(self.first * 30))
    }

    /// Returns the pause between two looks for a purchase whose id was lost.
    pub(super) fn look(&self) -> Duration {
        jittered(self.first * 5)
    }

    /// Returns how long a purchase whose id was lost is looked for.
    pub(super) fn look_for(&self) -> Duration {
        let long = (self.first * 120).max(Duration::from_secs(8));
        long.min(self.doubt)
    }

    /// Returns how long a service that does not answer is asked again.
    pub(super) fn patience(&self) -> Duration {
        (self.first * 600).max(Duration::from_secs(30))
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
        assert!(near(pace.pause(s(0), 0), 1.0));
        assert!(near(pace.pause(s(31), 0), 2.0));
        assert!(near(pace.pause(s(121), 0), 5.0));
        assert!(near(pace.pause(s(0), 2), 4.0));
        assert!(near(pace.pause(s(500), 9), 30.0));
        assert_eq!(pace.look_for(), s(120));
        assert_eq!(pace.patience(), s(600));
        assert_eq!(pace.doubt, s(900));
        let fast = Pace::new(&|name| (name == "ARCHI3D_HTTP_POLL_MS").then(|| "20".to_owned()));
        assert_eq!(fast.look_for(), s(8));
    }
}
