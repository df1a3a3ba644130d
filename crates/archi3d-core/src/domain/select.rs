//! Which jobs a worker takes, which it leaves, and why.
//!
//! The worker, the plan and the explanation of a single job all ask here, so
//! they cannot disagree.

use crate::domain::job::{Entry, JobState, Status};
use crate::domain::lease::Verdict;
use crate::domain::reason::ReasonCode;

/// What the person asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selection {
    /// The statuses named with `--only-status`, if any were.
    pub only_status: Option<Vec<Status>>,
    /// Whether completed jobs are to be made again.
    pub redo: bool,
    /// Whether this is a rehearsal.
    pub dry_run: bool,
    /// Whether failed jobs that may have been billed are to be bought again.
    pub resubmit_unknown: bool,
}

/// A job as it was seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seen {
    /// Its state.
    pub state: JobState,
    /// The registry says `completed`, but no marker vouches for it.
    pub unmarked: bool,
    /// What is known of its holder, if it has one.
    pub holder: Option<Verdict>,
    /// It may have been billed, and no request id tells.
    pub doubtful: bool,
    /// Its provider lists what it was asked for, so it can be asked whether it was bought.
    pub findable: bool,
    /// It was begun in earnest, or may have been, whatever became of that.
    pub tried: bool,
}

/// What is to be done with a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// Take it.
    Run(Entry),
    /// Leave it.
    Skip(SkipReason),
}

/// Why a job is left alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SkipReason {
    /// It has a result.
    AlreadyCompleted,
    /// It was rehearsed, and this is a rehearsal.
    AlreadyRehearsed,
    /// It was selected, but only `--redo` makes a result again.
    NeedsRedo,
    /// A rehearsal must not touch a real result.
    RealResult,
    /// A rehearsal must not hide what became of a real attempt.
    RealAttempt,
    /// Somebody is working on it.
    Held,
    /// Its holder is dead, and `running` was not selected.
    Resumable,
    /// It may have been billed, and nobody said to buy it again.
    Doubtful,
    /// Its status was not selected.
    NotSelected(Status),
    /// The table has a status of somebody else's.
    UnknownStatus,
    /// The manifest names it, the table does not.
    NotRegistered,
    /// The table has it, but neither the manifest nor a marker does.
    NotInManifest,
}

impl SkipReason {
    /// Returns the reason in a word that programs can rely on.
    pub fn code(self) -> ReasonCode {
        match self {
            Self::AlreadyCompleted => ReasonCode::Completed,
            Self::AlreadyRehearsed => ReasonCode::Rehearsed,
            Self::NeedsRedo => ReasonCode::NeedsRedo,
            Self::RealResult => ReasonCode::RealResult,
            Self::RealAttempt => ReasonCode::RealAttempt,
            Self::Held => ReasonCode::Held,
            Self::Resumable => ReasonCode::Resumable,
            Self::Doubtful => ReasonCode::PossiblyBilled,
            Self::NotSelected(Status::Cancelled) => ReasonCode::Cancelled,
            Self::NotSelected(_) => ReasonCode::NotSelected,
            Self::UnknownStatus => ReasonCode::UnknownStatus,
            Self::NotRegistered => ReasonCode::NotRegistered,
            Self::NotInManifest => ReasonCode::NotInManifest,
        }
    }

    /// Returns the reason in words that follow a number of jobs.
    pub fn words(self) -> String {
        match self {
            Self::AlreadyCompleted => "completed already".to_owned(),
            Self::AlreadyRehearsed => "rehearsed already".to_owned(),
            Self::NeedsRedo => "completed (only --redo makes them again)".to_owned(),
            Self::RealResult => "with a real result, which a rehearsal never replaces".to_owned(),
            Self::RealAttempt => "tried for real before; a rehearsal skips them".to_owned(),
            Self::Held => "held by a worker".to_owned(),
            Self::Resumable => "left by a worker that died".to_owned(),
            Self::Doubtful => "possibly billed".to_owned(),
            Self::NotSelected(status) => format!("{status} and not selected"),
            Self::UnknownStatus => "with an unknown status".to_owned(),
            Self::NotRegistered => "without a row".to_owned(),
            Self::NotInManifest => "not in the manifest".to_owned(),
        }
    }
}

impl Selection {
    /// Returns the statuses this selects.
    pub fn statuses(&self) -> Vec<Status> {
        match &self.only_status {
            Some(statuses) => statuses.clone(),
            None if self.redo => vec![Status::Completed],
            None => vec![Status::Enqueued],
        }
    }

    fn has(&self, status: Status) -> bool {
        match &self.only_status {
            Some(statuses) => statuses.contains(&status),
            None if self.redo => status == Status::Completed,
            None => status == Status::Enqueued,
        }
    }

    /// Tells whether providers are asked about failed jobs that may have been bought:
    /// where these are selected, and where nobody chose.
    fn looks(&self) -> bool {
        self.has(Status::Failed) || self.only_status.is_none() && !self.redo
    }

    /// Decides about one job.
    pub fn decide(&self, seen: Seen) -> Decision {
        use Decision::{Run, Skip};
        let status = seen.state.status();
        let plain = |entry| {
            if self.has(status) {
                Run(entry)
            } else {
                Skip(SkipReason::NotSelected(status))
            }
        };
        let hidden = self.dry_run && seen.tried && self.has(status);
        match seen.state {
            JobState::Enqueued { .. } | JobState::Failed { .. } if hidden => {
                Skip(SkipReason::RealAttempt)
            }
            JobState::Enqueued { .. } => plain(Entry::Fresh),
            // To ask whether it was bought is free, and comes before asking a person.
            JobState::Failed { .. } if seen.findable && !self.dry_run && self.looks() => {
                Run(Entry::Retry)
            }
            JobState::Failed { .. }
                if seen.doubtful && self.has(Status::Failed) && !self.resubmit_unknown =>
            {
                Skip(SkipReason::Doubtful)
            }
            JobState::Failed { .. } => plain(Entry::Retry),
            JobState::Cancelled { .. } => Skip(SkipReason::NotSelected(status)),
            JobState::Running { .. } if seen.holder == Some(Verdict::Alive) => {
                Skip(SkipReason::Held)
            }
            JobState::Running { .. } if hidden => Skip(SkipReason::RealAttempt),
            JobState::Running { .. } if self.has(Status::Running) => Run(Entry::Takeover),
            JobState::Running { .. } => Skip(SkipReason::Resumable),
            JobState::Completed {
                simulated: true, ..
            } => self.decide_rehearsed(seen),
            JobState::Completed { .. } => self.decide_completed(seen.unmarked),
        }
    }

    fn decide_rehearsed(&self, seen: Seen) -> Decision {
        let again = self.redo && self.has(Status::Completed);
        match (self.dry_run, again) {
            (true, true) if seen.tried => Decision::Skip(SkipReason::RealAttempt),
            (true, true) => Decision::Run(Entry::Redo),
            (true, false) => Decision::Skip(SkipReason::AlreadyRehearsed),
            // An earlier version rehearsed over an attempt that may have been billed.
            (false, _) if seen.doubtful && !self.resubmit_unknown => {
                Decision::Skip(SkipReason::Doubtful)
            }
            // A rehearsed job has not run yet: it counts as waiting.
            (false, _) if again || self.has(Status::Enqueued) => Decision::Run(Entry::Perform),
            (false, _) => Decision::Skip(SkipReason::NotSelected(Status::Completed)),
        }
    }

    fn decide_completed(&self, unmarked: bool) -> Decision {
        let asked = self.has(Status::Completed) || (unmarked && self.has(Status::Running));
        if asked && self.redo {
            return if self.dry_run {
                Decision::Skip(SkipReason::RealResult)
            } else {
                Decision::Run(Entry::Redo)
            };
        }
        Decision::Skip(if self.has(Status::Completed) {
            SkipReason::NeedsRedo
        } else {
            SkipReason::AlreadyCompleted
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selection(only: Option<&[Status]>, redo: bool, dry_run: bool) -> Selection {
        Selection {
            only_status: only.map(<[Status]>::to_vec),
            redo,
            dry_run,
            resubmit_unknown: false,
        }
    }

    fn decide(selection: &Selection, state: JobState) -> Decision {
        selection.decide(Seen {
            state,
            unmarked: false,
            holder: None,
            doubtful: false,
            findable: false,
            tried: false,
        })
    }

    const WAITING: JobState = JobState::Enqueued { attempt: 0 };
    const FAILED: JobState = JobState::Failed { attempt: 1 };
    const DONE: JobState = JobState::Completed {
        attempt: 1,
        simulated: false,
    };
    const REHEARSED: JobState = JobState::Completed {
        attempt: 1,
        simulated: true,
    };
    const RUNNING: JobState = JobState::Running { attempt: 1 };

    #[test]
    fn by_default_only_waiting_jobs_run() {
        let usual = selection(None, false, false);
        assert_eq!(decide(&usual, WAITING), Decision::Run(Entry::Fresh));
        assert_eq!(
            decide(&usual, DONE),
            Decision::Skip(SkipReason::AlreadyCompleted)
        );
        assert_eq!(
            decide(&usual, FAILED),
            Decision::Skip(SkipReason::NotSelected(Status::Failed))
        );
        assert_eq!(
            decide(&usual, RUNNING),
            Decision::Skip(SkipReason::Resumable)
        );
    }

    #[test]
    fn redo_never_widens_a_given_status_list() {
        let failed = selection(Some(&[Status::Failed]), true, false);
        assert_eq!(decide(&failed, FAILED), Decision::Run(Entry::Retry));
        assert_eq!(
            decide(&failed, DONE),
            Decision::Skip(SkipReason::AlreadyCompleted)
        );
        let alone = selection(None, true, false);
        assert_eq!(decide(&alone, DONE), Decision::Run(Entry::Redo));
        assert_eq!(
            decide(&alone, WAITING),
            Decision::Skip(SkipReason::NotSelected(Status::Enqueued))
        );
    }

    #[test]
    fn a_rehearsal_does_not_block_the_performance_and_is_not_repeated() {
        assert_eq!(
            decide(&selection(None, false, true), REHEARSED),
            Decision::Skip(SkipReason::AlreadyRehearsed)
        );
        assert_eq!(
            decide(&selection(None, false, false), REHEARSED),
            Decision::Run(Entry::Perform)
        );
    }

    #[test]
    fn a_rehearsal_never_replaces_a_real_result() {
        assert_eq!(
            decide(&selection(None, true, true), DONE),
            Decision::Skip(SkipReason::RealResult)
        );
    }

    #[test]
    fn a_rehearsal_leaves_alone_what_was_ever_tried_for_real() {
        let all = [
            Status::Enqueued,
            Status::Running,
            Status::Failed,
            Status::Completed,
        ];
        let rehearsal = selection(Some(&all), true, true);
        for state in [WAITING, FAILED, RUNNING, REHEARSED] {
            let seen = |tried| Seen {
                state,
                unmarked: false,
                holder: Some(Verdict::Dead),
                doubtful: false,
                findable: false,
                tried,
            };
            assert_eq!(
                rehearsal.decide(seen(true)),
                Decision::Skip(SkipReason::RealAttempt)
            );
            assert!(matches!(rehearsal.decide(seen(false)), Decision::Run(_)));
        }
    }

    #[test]
    fn a_rehearsal_over_a_possible_purchase_does_not_make_it_free_to_buy() {
        let seen = Seen {
            state: REHEARSED,
            unmarked: false,
            holder: None,
            doubtful: true,
            findable: false,
            tried: true,
        };
        let mut real = selection(None, false, false);
        assert_eq!(real.decide(seen), Decision::Skip(SkipReason::Doubtful));
        real.resubmit_unknown = true;
        assert_eq!(real.decide(seen), Decision::Run(Entry::Perform));
    }

    #[test]
    fn a_live_holder_is_never_taken_over() {
        let running = selection(Some(&[Status::Running]), false, false);
        let seen = |holder| Seen {
            state: RUNNING,
            unmarked: false,
            holder,
            doubtful: false,
            findable: false,
            tried: false,
        };
        assert_eq!(
            running.decide(seen(Some(Verdict::Alive))),
            Decision::Skip(SkipReason::Held)
        );
        assert_eq!(
            running.decide(seen(Some(Verdict::Dead))),
            Decision::Run(Entry::Takeover)
        );
        assert_eq!(running.decide(seen(None)), Decision::Run(Entry::Takeover));
    }

    #[test]
    fn a_result_without_marker_runs_again_only_when_asked_twice() {
        let seen = Seen {
            state: DONE,
            unmarked: true,
            holder: None,
            doubtful: false,
            findable: false,
            tried: false,
        };
        let running = [Status::Running];
        assert_eq!(
            selection(Some(&running), false, false).decide(seen),
            Decision::Skip(SkipReason::AlreadyCompleted)
        );
        assert_eq!(
            selection(Some(&running), true, false).decide(seen),
            Decision::Run(Entry::Redo)
        );
    }

    #[test]
    fn what_may_have_been_billed_is_bought_again_only_when_somebody_says_so() {
        let seen = Seen {
            state: FAILED,
            unmarked: false,
            holder: None,
            doubtful: true,
            findable: false,
            tried: true,
        };
        let mut failed = selection(Some(&[Status::Failed]), false, false);
        assert_eq!(failed.decide(seen), Decision::Skip(SkipReason::Doubtful));
        failed.resubmit_unknown = true;
        assert_eq!(failed.decide(seen), Decision::Run(Entry::Retry));
    }

    #[test]
    fn completed_alone_asks_for_redo_instead_of_paying_again() {
        let completed = selection(Some(&[Status::Completed]), false, false);
        assert_eq!(
            decide(&completed, DONE),
            Decision::Skip(SkipReason::NeedsRedo)
        );
    }
}
