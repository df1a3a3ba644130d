//! What follows a failure. This is the only place that decides about trying
//! again; adapters only say what kind of failure it was.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The class of a failure, by what it means for the bill and for trying again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorClass {
    /// Not billed; the same request may succeed later.
    Transient,
    /// The input cannot work; trying again is pointless.
    BadInput,
    /// It will not work as configured.
    Permanent,
    /// The provider wants money first: close it for everyone.
    OutOfCredit,
    /// It may have been billed: a person or a request id must tell.
    Unknown,
}

impl ErrorClass {
    /// Every class.
    pub const ALL: [Self; 5] = [
        Self::Transient,
        Self::BadInput,
        Self::Permanent,
        Self::OutOfCredit,
        Self::Unknown,
    ];

    /// Returns the word used in journals, logs and the adapter protocol.
    pub fn word(self) -> &'static str {
        match self {
            Self::Transient => "transient",
            Self::BadInput => "bad_input",
            Self::Permanent => "permanent",
            Self::OutOfCredit => "out_of_credit",
            Self::Unknown => "unknown",
        }
    }

    /// Reads a word of the adapter protocol.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|class| class.word() == word)
    }
}

impl fmt::Display for ErrorClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// How often and how patiently a job is tried again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    /// How many failures are followed by another attempt.
    pub retries: u32,
    /// The pause after the first failure; it doubles with each further one.
    pub first_pause: Duration,
    /// No pause of our own is longer than this.
    pub longest_pause: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            retries: 0,
            first_pause: Duration::from_secs(1),
            longest_pause: Duration::from_secs(300),
        }
    }
}

/// What a failed attempt leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetryDecision {
    /// The job waits this long and is tried again.
    Again(Duration),
    /// The job has failed.
    Fail,
    /// Nothing was bought, and nothing can be from this provider until then (or
    /// until somebody says so): the job waits.
    CloseProvider(Option<Duration>),
    /// The provider asks to be left alone for so long: nobody asks it, and then the job
    /// is tried again, which costs it no retry.
    LeaveAlone(Duration),
}

/// No provider is waited for longer than this, whatever it asks: a year.
const LONGEST_ASKED: Duration = Duration::from_secs(366 * 86_400);

/// A provider that asks to be left alone is heeded for so long for one job; after
/// that its refusals count as failures. A day.
pub const LONGEST_REFUSAL: Duration = Duration::from_secs(86_400);

/// A provider that asks to be left alone is left alone for at least so long.
const SHORTEST_REFUSAL: Duration = Duration::from_secs(1);

/// Decides what follows a failure of `class`, given how many failures of this
/// job were followed by another attempt already, how long the provider asks to
/// be left alone and for how long it has done so, and a random number from 0 to 1.
pub fn after_failure(
    class: ErrorClass,
    earlier_failures: u32,
    retry_after: Option<Duration>,
    refused_for: Duration,
    policy: RetryPolicy,
    jitter: f64,
) -> RetryDecision {
    let retry_after = retry_after.map(|asked| asked.min(LONGEST_ASKED));
    match (class, retry_after) {
        (ErrorClass::Transient, Some(asked)) if refused_for < LONGEST_REFUSAL => {
            return RetryDecision::LeaveAlone(asked.max(SHORTEST_REFUSAL));
        }
        _ => {}
    }
    match class {
        ErrorClass::OutOfCredit => RetryDecision::CloseProvider(closing_time(retry_after)),
        ErrorClass::Transient if earlier_failures < policy.retries => {
            RetryDecision::Again(pause(earlier_failures, retry_after, policy, jitter))
        }
        _ => RetryDecision::Fail,
    }
}

/// A provider that wants money is never asked again at once: without a usable
/// time a person opens it.
fn closing_time(asked: Option<Duration>) -> Option<Duration> {
    const SHORTEST: Duration = Duration::from_secs(10);
    asked
        .filter(|time| !time.is_zero())
        .map(|time| time.max(SHORTEST))
}

/// Doubles with every failure, with some chance in it so that many workers do
/// not come back at the same moment; never shorter than the provider asks.
fn pause(
    earlier_failures: u32,
    retry_after: Option<Duration>,
    policy: RetryPolicy,
    jitter: f64,
) -> Duration {
    let doubled = policy
        .first_pause
        .saturating_mul(2u32.saturating_pow(earlier_failures.min(20)));
    let full = doubled.min(policy.longest_pause);
    let own = full.mul_f64(0.5 + jitter.clamp(0.0, 1.0) / 2.0);
    retry_after.map_or(own, |asked| asked.max(own))
}

/// What becomes of a job that was interrupted before its provider answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnInterrupt {
    /// It is run again.
    #[default]
    Rerun,
    /// A person decides: it may have been billed.
    Ask,
}

impl OnInterrupt {
    /// Reads the word in `adapters.yaml`.
    pub fn parse(word: &str) -> Option<Self> {
        match word {
            "rerun" => Some(Self::Rerun),
            "ask" => Some(Self::Ask),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use ErrorClass::{BadInput, OutOfCredit, Permanent, Transient, Unknown};
    use proptest::prelude::*;

    use super::*;

    const S: fn(u64) -> Duration = Duration::from_secs;

    fn policy(retries: u32) -> RetryPolicy {
        RetryPolicy {
            retries,
            ..RetryPolicy::default()
        }
    }

    fn decide(
        class: ErrorClass,
        earlier: u32,
        wait: Option<Duration>,
        policy: RetryPolicy,
        jitter: f64,
    ) -> RetryDecision {
        after_failure(class, earlier, wait, Duration::ZERO, policy, jitter)
    }

    /// What was said, its class, how many failures came before, how many retries
    /// there are, how long the provider asks to wait, and what follows.
    type Reply = (
        &'static str,
        ErrorClass,
        u32,
        u32,
        Option<u64>,
        RetryDecision,
    );

    #[rustfmt::skip]
    fn replies() -> Vec<Reply> {
        vec![
            ("a failure that may pass", Transient, 0, 3, None, RetryDecision::Again(S(1))),
            ("a second one", Transient, 1, 3, None, RetryDecision::Again(S(2))),
            ("a third one", Transient, 2, 3, None, RetryDecision::Again(S(4))),
            ("retries used up", Transient, 3, 3, None, RetryDecision::Fail),
            ("no retries", Transient, 0, 0, None, RetryDecision::Fail),
            ("an empty account, after many failures", OutOfCredit, 9, 0, None, RetryDecision::CloseProvider(None)),
            ("429 with 30 s", Transient, 0, 3, Some(30), RetryDecision::LeaveAlone(S(30))),
            ("429 without retries", Transient, 0, 0, Some(30), RetryDecision::LeaveAlone(S(30))),
            ("429 with 0 s", Transient, 0, 3, Some(0), RetryDecision::LeaveAlone(S(1))),
            ("503", Transient, 0, 1, None, RetryDecision::Again(S(1))),
            ("402", OutOfCredit, 0, 3, None, RetryDecision::CloseProvider(None)),
            ("402 for a day", OutOfCredit, 0, 3, Some(86_400), RetryDecision::CloseProvider(Some(S(86_400)))),
            ("402 with 0 s", OutOfCredit, 0, 3, Some(0), RetryDecision::CloseProvider(None)),
            ("402 with 1 s", OutOfCredit, 0, 3, Some(1), RetryDecision::CloseProvider(Some(S(10)))),
            ("400", BadInput, 0, 3, None, RetryDecision::Fail),
            ("401", Permanent, 0, 3, None, RetryDecision::Fail),
            ("502 after the request was sent", Unknown, 0, 3, None, RetryDecision::Fail),
            ("timeout after submit", Unknown, 0, 3, Some(5), RetryDecision::Fail),
            ("429 for ever", Transient, 0, 3, Some(u64::MAX), RetryDecision::LeaveAlone(LONGEST_ASKED)),
            ("402 for ever", OutOfCredit, 0, 3, Some(u64::MAX), RetryDecision::CloseProvider(Some(LONGEST_ASKED))),
            ("many failures", Transient, 30, 99, None, RetryDecision::Again(S(300))),
        ]
    }

    #[test]
    fn every_reply_of_a_provider_leads_to_its_decision() {
        for (reply, class, earlier, retries, wait, expected) in replies() {
            let verdict = decide(class, earlier, wait.map(S), policy(retries), 1.0);
            assert_eq!(verdict, expected, "{reply}");
        }
        let day = after_failure(Transient, 0, Some(S(1)), LONGEST_REFUSAL, policy(0), 1.0);
        assert_eq!(day, RetryDecision::Fail);
    }

    proptest! {
        #[test]
        fn what_may_have_been_billed_is_never_tried_again_by_itself(
            earlier in 0u32..100, retries in 0u32..100, wait in proptest::option::of(0u64..1000)
        ) {
            for class in [Unknown, BadInput, Permanent] {
                let verdict = decide(class, earlier, wait.map(S), policy(retries), 0.5);
                prop_assert_eq!(verdict, RetryDecision::Fail);
            }
        }

        #[test]
        fn a_pause_is_bounded_and_never_shorter_than_asked(
            earlier in 0u32..100, wait in proptest::option::of(0u64..10_000), jitter in 0.0f64..1.0
        ) {
            let refused = LONGEST_REFUSAL;
            let verdict = after_failure(Transient, earlier, wait.map(S), refused, policy(1000), jitter);
            let RetryDecision::Again(pause) = verdict else { panic!("{verdict:?}") };
            prop_assert!(pause >= wait.map_or(Duration::from_millis(500), S));
            prop_assert!(pause <= S(300).max(wait.map_or(S(0), S)));
        }
    }
}
