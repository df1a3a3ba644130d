//! The life of a job: its states, the events that move it, and the one function
//! that says which event is legal in which state.
//!
//! Live work, recovery, every store and the tests all go through
//! [`JobState::apply`], so they cannot disagree about what may happen.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The word in the `status` column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// Waits for a worker.
    Enqueued,
    /// A worker holds its lease.
    Running,
    /// Has a result.
    Completed,
    /// Ended without a result.
    Failed,
    /// Taken out before it ran.
    Cancelled,
}

impl Status {
    /// Every status, in the order people expect to see them.
    pub const ALL: [Self; 5] = [
        Self::Enqueued,
        Self::Running,
        Self::Completed,
        Self::Failed,
        Self::Cancelled,
    ];

    /// Returns the word as tables have it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Enqueued => "enqueued",
            Self::Running => "running",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// Returns the word of services for it. What waits to be tried again waits.
    pub fn state(self) -> &'static str {
        match self {
            Self::Enqueued => "PENDING",
            Self::Running => "RUNNING",
            Self::Completed => "SUCCEEDED",
            Self::Failed => "FAILED_TERMINAL",
            Self::Cancelled => "CANCELLED",
        }
    }

    /// Reads a table's word; blanks around it and an empty cell (`enqueued`) are understood.
    pub fn parse(text: &str) -> Option<Self> {
        let word = text.trim();
        if word.is_empty() {
            return Some(Self::Enqueued);
        }
        Self::ALL.into_iter().find(|status| status.word() == word)
    }

    /// Tells whether nothing more happens to the job by itself.
    pub fn is_terminal(self) -> bool {
        matches!(self, Self::Completed | Self::Failed)
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// Where a job stands, with the attempt that brought it there (0: never tried).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum JobState {
    /// Waits; `attempt` is the last one that was given back.
    Enqueued {
        /// The last attempt made.
        attempt: u32,
    },
    /// Is being worked on.
    Running {
        /// The attempt that holds the lease.
        attempt: u32,
    },
    /// Has a result.
    Completed {
        /// The attempt that made it.
        attempt: u32,
        /// Whether it was only rehearsed.
        simulated: bool,
    },
    /// Ended without a result.
    Failed {
        /// The attempt that failed last.
        attempt: u32,
    },
    /// Was taken out.
    Cancelled {
        /// The last attempt made.
        attempt: u32,
    },
}

/// What can happen to a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum JobEvent {
    /// A worker took it, for the reason given.
    Claimed {
        /// The new attempt's number; always higher than every earlier one.
        attempt: u32,
        /// What was there before.
        entry: Entry,
    },
    /// The attempt brought a result.
    Completed {
        /// The attempt that ends.
        attempt: u32,
        /// Whether it was only rehearsed.
        simulated: bool,
    },
    /// The attempt failed for good.
    Failed {
        /// The attempt that ends.
        attempt: u32,
    },
    /// The attempt was given back unfinished.
    Released {
        /// The attempt that ends.
        attempt: u32,
    },
    /// Somebody took the job out.
    Cancelled,
    /// Somebody put it back.
    Restored,
    /// Somebody wants it tried again.
    WantedAgain,
}

/// Why a job is entered: what the claimer must have seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Entry {
    /// It waits.
    Fresh,
    /// Its holder is dead.
    Takeover,
    /// It failed and is tried again.
    Retry,
    /// It has a real result and is to be made again.
    Redo,
    /// It was only rehearsed.
    Perform,
}

/// An event that is not legal where the job stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a job that is {state} cannot be {event}")]
pub struct IllegalEvent {
    /// Where the job stood.
    pub state: JobState,
    /// What was tried.
    pub event: JobEvent,
}

impl JobState {
    /// Returns the state after `event`, or says that it cannot happen here.
    pub fn apply(self, event: JobEvent) -> Result<Self, IllegalEvent> {
        use JobEvent as E;
        use JobState as S;
        let next = match (self, event) {
            (state, E::Claimed { attempt, entry })
                if attempt > state.attempt() && entry.fits(state) =>
            {
                Some(S::Running { attempt })
            }
            (S::Running { attempt: held }, E::Completed { attempt, simulated })
                if held == attempt =>
            {
                Some(S::Completed { attempt, simulated })
            }
            (S::Running { attempt: held }, E::Failed { attempt }) if held == attempt => {
                Some(S::Failed { attempt })
            }
            (S::Running { attempt: held }, E::Released { attempt }) if held == attempt => {
                Some(S::Enqueued { attempt })
            }
            (S::Enqueued { attempt } | S::Running { attempt }, E::Cancelled) => {
                Some(S::Cancelled { attempt })
            }
            (S::Cancelled { attempt }, E::Restored) | (S::Failed { attempt }, E::WantedAgain) => {
                Some(S::Enqueued { attempt })
            }
            _ => None,
        };
        next.ok_or(IllegalEvent { state: self, event })
    }

    /// Returns the last attempt made.
    pub fn attempt(self) -> u32 {
        match self {
            Self::Enqueued { attempt }
            | Self::Running { attempt }
            | Self::Completed { attempt, .. }
            | Self::Failed { attempt }
            | Self::Cancelled { attempt } => attempt,
        }
    }

    /// Returns the word for the table.
    pub fn status(self) -> Status {
        match self {
            Self::Enqueued { .. } => Status::Enqueued,
            Self::Running { .. } => Status::Running,
            Self::Completed { .. } => Status::Completed,
            Self::Failed { .. } => Status::Failed,
            Self::Cancelled { .. } => Status::Cancelled,
        }
    }
}

impl Entry {
    /// Tells whether a job in `state` can be entered this way.
    pub fn fits(self, state: JobState) -> bool {
        matches!(
            (self, state),
            (Self::Fresh, JobState::Enqueued { .. })
                | (Self::Takeover, JobState::Running { .. })
                | (Self::Retry, JobState::Failed { .. })
                | (
                    Self::Redo,
                    JobState::Completed {
                        simulated: false,
                        ..
                    }
                )
                | (
                    Self::Perform | Self::Redo,
                    JobState::Completed {
                        simulated: true,
                        ..
                    }
                )
        )
    }
}

impl fmt::Display for JobState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (attempt {})", self.status(), self.attempt())
    }
}

impl fmt::Display for JobEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Claimed { attempt, entry } => {
                write!(f, "claimed as {entry:?}, attempt {attempt}")
            }
            Self::Completed { attempt, .. } => write!(f, "completed by attempt {attempt}"),
            Self::Failed { attempt } => write!(f, "failed by attempt {attempt}"),
            Self::Released { attempt } => write!(f, "released by attempt {attempt}"),
            Self::Cancelled => f.write_str("cancelled"),
            Self::Restored => f.write_str("restored"),
            Self::WantedAgain => f.write_str("tried again"),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn any_state() -> impl Strategy<Value = JobState> {
        (0u32..5, 0u8..6).prop_map(|(attempt, kind)| match kind {
            0 => JobState::Enqueued { attempt },
            1 => JobState::Running { attempt },
            2 => JobState::Completed {
                attempt,
                simulated: false,
            },
            3 => JobState::Completed {
                attempt,
                simulated: true,
            },
            4 => JobState::Failed { attempt },
            _ => JobState::Cancelled { attempt },
        })
    }

    fn any_event() -> impl Strategy<Value = JobEvent> {
        let entry = prop_oneof![
            Just(Entry::Fresh),
            Just(Entry::Takeover),
            Just(Entry::Retry),
            Just(Entry::Redo),
            Just(Entry::Perform),
        ];
        (0u32..6, 0u8..6, entry, any::<bool>()).prop_map(|(attempt, kind, entry, simulated)| {
            match kind {
                0 => JobEvent::Claimed { attempt, entry },
                1 => JobEvent::Completed { attempt, simulated },
                2 => JobEvent::Failed { attempt },
                3 => JobEvent::Released { attempt },
                4 => JobEvent::Cancelled,
                _ => JobEvent::Restored,
            }
        })
    }

    proptest! {
        #[test]
        fn attempts_never_fall_and_only_a_claim_raises_them(
            state in any_state(), event in any_event()
        ) {
            if let Ok(next) = state.apply(event) {
                if let JobEvent::Claimed { attempt, .. } = event {
                    prop_assert!(attempt > state.attempt());
                    prop_assert_eq!(next, JobState::Running { attempt });
                } else { prop_assert_eq!(next.attempt(), state.attempt()) }
            }
        }

        #[test]
        fn a_finished_job_changes_only_by_an_explicit_claim(
            state in any_state(), event in any_event()
        ) {
            if state.status().is_terminal() && state.apply(event).is_ok() {
                let claimed = matches!(event, JobEvent::Claimed { .. });
                prop_assert!(claimed);
            }
        }

        #[test]
        fn a_result_is_accepted_only_from_the_attempt_that_holds_the_lease(
            state in any_state(), attempt in 0u32..6, simulated in any::<bool>()
        ) {
            let accepted = state.apply(JobEvent::Completed { attempt, simulated }).is_ok();
            prop_assert_eq!(accepted, state == JobState::Running { attempt });
        }

        #[test]
        fn a_rehearsal_can_never_be_claimed_as_waiting(state in any_state(), attempt in 0u32..6) {
            let fresh = JobEvent::Claimed { attempt, entry: Entry::Fresh };
            if state.apply(fresh).is_ok() {
                prop_assert_eq!(state.status(), Status::Enqueued);
            }
        }
    }

    #[test]
    fn an_illegal_event_names_both_sides() {
        let error = JobState::Completed {
            attempt: 2,
            simulated: false,
        }
        .apply(JobEvent::Failed { attempt: 2 })
        .expect_err("illegal");
        assert_eq!(
            error.to_string(),
            "a job that is completed (attempt 2) cannot be failed by attempt 2"
        );
    }

    #[test]
    fn status_words_are_read_with_blanks_but_not_with_other_case() {
        assert_eq!(Status::parse(" completed "), Some(Status::Completed));
        assert_eq!(Status::parse(""), Some(Status::Enqueued));
        assert_eq!(Status::parse("Completed"), None);
        assert_eq!(Status::parse("done"), None);
    }
}
