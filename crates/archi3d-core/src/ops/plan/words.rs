//! The reasons of a plan in words.

use crate::domain::job::Entry;
use crate::store::JobSnapshot;

use crate::ops::view::plan::Reason;

/// Says why the jobs of an algorithm cannot work.
pub(super) fn unusable(why: &str) -> Reason {
    let words = format!("skipped, no adapter can make them: {why}");
    Reason::new("unusable_algo", words)
}

/// Says why a job is left out that no worker takes.
pub(super) fn left_out(snapshot: &JobSnapshot) -> Reason {
    match snapshot {
        JobSnapshot::Unknown(word) => Reason::new(
            "unknown_status",
            format!("with the unknown status {word:?}"),
        ),
        JobSnapshot::NotRegistered => Reason::new(
            "not_registered",
            "without a row in tables/generations.csv (`archi3d registry rebuild` makes it)",
        ),
        JobSnapshot::Renamed => Reason::new(
            "not_in_manifest",
            "with an id that a spreadsheet has changed (`archi3d registry rebuild` sets it right)",
        ),
        _ => Reason::new(
            "not_in_manifest",
            "waiting but not in the manifest (`archi3d doctor` names the command that puts them in)",
        ),
    }
}

/// Says in which way a job is entered.
pub(super) fn entered(entry: Entry) -> Reason {
    match entry {
        Entry::Fresh => Reason::new("waiting", "waiting"),
        Entry::Takeover => Reason::new("left_behind", "left by a worker that died"),
        Entry::Retry => Reason::new("failed_before", "failed before"),
        Entry::Redo => Reason::new("made_again", "completed, to be made again"),
        Entry::Perform => Reason::new("rehearsed_only", "only rehearsed so far"),
    }
}
