//! Who holds a job, and when its holder counts as dead.
//!
//! The rule is pure: the store gathers the facts (is the holder's journal
//! locked, how long has it been silent) and this file gives the verdict.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::domain::id::{JobId, Nonce, RunId, WorkerId};
use crate::domain::job::Entry;
use crate::domain::purchase::OpenIntent;
use crate::domain::time::Timestamp;

/// The right to run one job now, as its holder carries it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lease {
    /// The run the job belongs to.
    pub run_id: RunId,
    /// The job that is held.
    pub job_id: JobId,
    /// Who holds it.
    pub worker_id: WorkerId,
    /// Which attempt this is, from 1.
    pub attempt: u32,
    /// What proves that a write comes from this attempt.
    pub nonce: Nonce,
    /// When the job was taken; becomes `generation_start`.
    pub claimed_at: Timestamp,
    /// What was there before.
    pub entry: Entry,
    /// Whether the last holder died with it, whatever is made of it now and whether or
    /// not it was taken out and put back in between.
    #[serde(default)]
    pub took_over: bool,
    /// When it was begun before, if neither a marker nor a journal tells what came of that.
    #[serde(default)]
    pub lost: Option<Timestamp>,
    /// A purchase an earlier attempt made and did not finish.
    pub request_id: Option<String>,
    /// An intent to buy that an earlier attempt said, and nobody knows what came of it.
    #[serde(default)]
    pub intent: Option<Box<OpenIntent>>,
    /// Whether a person who had it tried again said that what may have been billed is bought again.
    #[serde(default)]
    pub resubmit: bool,
    /// How many failures of this job were followed by another attempt.
    pub failures: u32,
    /// Stays the same for a job until a purchase has succeeded.
    pub idempotency_key: String,
    /// Whether the result that stands until this attempt has succeeded was made after the
    /// run was read.
    #[serde(default)]
    pub redone: bool,
    /// How many purchases of the job are over, with a result or void.
    #[serde(default)]
    pub purchases: u32,
    /// The private folder this attempt writes in.
    pub staging: PathBuf,
}

/// How often a holder beats and how long its silence is borne.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rhythm {
    /// Time between two beats.
    pub heartbeat: Duration,
    /// Silence after which a holder that cannot be proved dead counts as dead.
    pub stale: Duration,
}

impl Default for Rhythm {
    fn default() -> Self {
        Self {
            heartbeat: Duration::from_secs(10),
            stale: Duration::from_mins(10),
        }
    }
}

/// What is known of a holder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HolderFacts {
    /// It runs (or ran) since the same boot of this machine.
    SameBoot {
        /// Whether its journal is still locked, which only a live process can do.
        journal_locked: bool,
        /// Time since its last beat.
        silent: Duration,
        /// How long we ourselves have watched it without a beat.
        watched: Duration,
    },
    /// Another machine, an earlier boot, or another tool: only time can tell.
    Elsewhere {
        /// Time since its last beat by the clock that wrote it; `None` if that cannot be told.
        silent: Option<Duration>,
        /// How long we ourselves have watched it without a beat.
        watched: Duration,
    },
}

/// Whether a lease may be taken over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Somebody works on it.
    Alive,
    /// Nobody does.
    Dead,
    /// Cannot be told yet; look again after this long.
    Watch(Duration),
}

/// Judges a holder. Doubt is never death.
pub fn judge(facts: HolderFacts, rhythm: Rhythm) -> Verdict {
    match facts {
        HolderFacts::SameBoot {
            journal_locked: false,
            ..
        } => Verdict::Dead,
        HolderFacts::SameBoot {
            silent, watched, ..
        } => {
            // Frozen, not dead: it must also miss two beats before our eyes, so
            // that a machine waking from sleep does not condemn its own workers.
            let patience = rhythm.heartbeat * 2;
            if silent < rhythm.stale {
                Verdict::Alive
            } else if watched >= patience {
                Verdict::Dead
            } else {
                Verdict::Watch(patience.saturating_sub(watched))
            }
        }
        HolderFacts::Elsewhere {
            silent: Some(silent),
            ..
        } => {
            if silent >= rhythm.stale {
                Verdict::Dead
            } else {
                Verdict::Alive
            }
        }
        HolderFacts::Elsewhere {
            silent: None,
            watched,
        } => {
            if watched >= rhythm.stale {
                Verdict::Dead
            } else {
                Verdict::Alive
            }
        }
    }
}

/// How long a lease lasts by advice: at least, and at most.
const ADVICE: (Duration, Duration) = (Duration::from_secs(20), Duration::from_mins(5));

/// Returns how long a lease should last where most jobs took no longer than this: twice as long, so that what a dead
/// worker held is found about as soon as it would have ended. Whoever works renews its lease, however long that takes.
pub fn advice(most_jobs: Duration) -> Duration {
    (most_jobs * 2).clamp(ADVICE.0, ADVICE.1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const S: fn(u64) -> Duration = Duration::from_secs;

    #[test]
    fn a_holder_whose_journal_is_free_is_dead_at_once() {
        let facts = HolderFacts::SameBoot {
            journal_locked: false,
            silent: Duration::ZERO,
            watched: Duration::ZERO,
        };
        assert_eq!(judge(facts, Rhythm::default()), Verdict::Dead);
    }

    #[test]
    fn a_frozen_holder_must_miss_two_beats_before_our_eyes() {
        let rhythm = Rhythm::default();
        let facts = |silent, watched| HolderFacts::SameBoot {
            journal_locked: true,
            silent,
            watched,
        };
        assert_eq!(judge(facts(S(599), S(60)), rhythm), Verdict::Alive);
        assert_eq!(judge(facts(S(600), S(5)), rhythm), Verdict::Watch(S(15)));
        assert_eq!(judge(facts(S(600), S(20)), rhythm), Verdict::Dead);
    }

    #[test]
    fn a_holder_elsewhere_is_judged_by_its_silence_alone() {
        let facts = |silent| HolderFacts::Elsewhere {
            silent,
            watched: S(0),
        };
        assert_eq!(
            judge(facts(Some(S(7200))), Rhythm::default()),
            Verdict::Dead
        );
        assert_eq!(judge(facts(Some(S(3))), Rhythm::default()), Verdict::Alive);
        assert_eq!(judge(facts(None), Rhythm::default()), Verdict::Alive);
    }

    proptest! {
        #[test]
        fn a_holder_that_beats_is_never_declared_dead(
            silent in 0u64..600, watched in 0u64..100_000
        ) {
            let local = HolderFacts::SameBoot {
                journal_locked: true, silent: S(silent), watched: S(watched),
            };
            let far = HolderFacts::Elsewhere { silent: Some(S(silent)), watched: S(watched) };
            prop_assert_eq!(judge(local, Rhythm::default()), Verdict::Alive);
            prop_assert_eq!(judge(far, Rhythm::default()), Verdict::Alive);
        }
    }
}
