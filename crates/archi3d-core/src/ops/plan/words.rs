//! The reasons of a plan in words.

use crate::domain::job::Entry;
use crate::domain::reason::ReasonCode;
use crate::store::JobSnapshot;

use crate::ops::view::plan::Reason;

/// Says why the jobs of an algorithm cannot work.
pub(super) fn unusable(why: &str) -> Reason {
    let words = format!("skipped, no adapter can make them: {why}");
    Reason::new(ReasonCode::UnusableAlgo, words)
}

/// Says why a job is left out that no worker takes.
pub(super) fn left_out(snapshot: &JobSnapshot) -> Reason {
    match snapshot {
        JobSnapshot::Unknown(word) => Reason::new(
            ReasonCode::UnknownStatus,
            format!("with the unknown status {word:?}"),
        ),
        JobSnapshot::NotRegistered => Reason::new(
            ReasonCode::NotRegistered,
            "without a row in tables/generations.csv (`archi3d registry rebuild` makes it)",
        ),
        JobSnapshot::Renamed => Reason::new(
            ReasonCode::NotInManifest,
            "with an id that a spreadsheet has changed (`archi3d registry rebuild` sets it right)",
        ),
        _ => Reason::new(
            ReasonCode::NotInManifest,
            "waiting but not in the manifest (`archi3d doctor` names the command that puts them in)",
        ),
    }
}

/// Says in which way a job is entered.
pub(super) fn entered(entry: Entry) -> Reason {
    match entry {
        Entry::Fresh => Reason::new(ReasonCode::Waiting, "waiting"),
        Entry::Takeover => Reason::new(ReasonCode::LeftBehind, "left by a worker that died"),
        Entry::Retry => Reason::new(ReasonCode::FailedBefore, "failed before"),
        Entry::Redo => Reason::new(ReasonCode::MadeAgain, "completed, to be made again"),
        Entry::Perform => Reason::new(ReasonCode::RehearsedOnly, "only rehearsed so far"),
    }
}
