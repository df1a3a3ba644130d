//! What is known of a job: its row by column, and everything on disk that tells
//! how it stands. Plain data; others gather it.

use std::collections::BTreeMap;

use crate::domain::glb::GlbFault;
use crate::domain::job::Status;
use crate::domain::patch::{DRY_RUN, Patch};
use crate::domain::time::Timestamp;

/// A row by column name; a column that is not there is blank.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cells(pub BTreeMap<String, String>);

impl Cells {
    /// Returns what a cell says.
    pub fn get(&self, column: &str) -> &str {
        self.0.get(column).map_or("", String::as_str)
    }

    pub(super) fn set(&mut self, column: &str, value: impl Into<String>) {
        self.0.insert(column.to_owned(), value.into());
    }

    pub(super) fn is_blank(&self, column: &str) -> bool {
        self.get(column).trim().is_empty()
    }

    pub(super) fn is_rehearsal(&self) -> bool {
        self.get("price_source") == DRY_RUN
    }
}

/// Everything on disk that tells how a job stands.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Evidence {
    /// `.completed`.
    pub completed: Option<Sign>,
    /// `.failed`.
    pub failed: Option<Sign>,
    /// `.inprogress`.
    pub lease: Option<LeaseSign>,
    /// What the ruling marker says, if it is one of ours and carries a record.
    pub own: Option<OwnRecord>,
    /// Markers that cannot be understood, one sentence each.
    pub damaged: Vec<String>,
    /// Files that may be the model, the likeliest first.
    pub models: Vec<ModelFile>,
    /// Previews that are there, by number from 0, as stored paths.
    pub previews: [Option<String>; 3],
    /// The paths of previews the row names that are not there.
    pub lost_previews: Vec<String>,
    /// What `error.txt` says.
    pub error_text: Option<String>,
    /// Somebody is changing the job's state at this moment.
    pub is_changing: bool,
    /// Its folder has a whole result of a worker, by the worker's own list of the
    /// files, and no attempt is under way. Only looked for where no marker is there.
    pub is_whole: bool,
}

impl Evidence {
    /// Tells whether nobody left a marker, not even one that cannot be understood.
    pub fn has_no_marker(&self) -> bool {
        let signs = self.completed.is_some() || self.failed.is_some() || self.lease.is_some();
        !signs && self.own.is_none() && self.damaged.is_empty() && !self.is_changing
    }
}

/// A marker another tool can write too.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sign {
    /// The time it carries.
    pub at: Option<Timestamp>,
}

/// The marker of a job that somebody holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeaseSign {
    /// The time it carries.
    pub at: Option<Timestamp>,
    /// Whether its holder lives, as far as anybody can tell.
    pub is_fresh: bool,
}

/// What a marker of our own says about the row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnRecord {
    /// The state.
    pub status: Status,
    /// The cells it asks for.
    pub patch: Patch,
}

/// A file that may be a job's model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelFile {
    /// Its stored path.
    pub path: String,
    /// What is wrong with it.
    pub fault: Option<GlbFault>,
}
