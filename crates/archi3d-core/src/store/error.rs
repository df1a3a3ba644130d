//! What can go wrong with a store, each with the file and the next step.

use std::io;
use std::path::{Path, PathBuf};

use crate::platform;

/// A store that cannot do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A file that must be there is not, or is not what it should be.
    #[error("{what}: {}", path.display())]
    Setup {
        /// What is wrong, in words.
        what: String,
        /// The file.
        path: PathBuf,
        /// What to do next.
        hint: String,
    },
    /// A file is there but its content cannot be used.
    #[error("{}: {what}", path.display())]
    Content {
        /// What is wrong, in words, with the line where that helps.
        what: String,
        /// The file.
        path: PathBuf,
        /// What to do next.
        hint: String,
    },
    /// What was asked for cannot be done as things are.
    #[error("{message}")]
    Refused {
        /// Why.
        message: String,
        /// What to do next.
        hint: Option<String>,
    },
    /// The system refused an operation.
    #[error("cannot {action} {}", path.display())]
    Io {
        /// What was tried, as a verb.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// A server that keeps the records refused, or cannot be reached.
    #[error("{what}")]
    Server {
        /// What it said, in words.
        what: String,
        /// What to do next.
        hint: String,
        /// Whether the set-up is wrong, rather than the server away.
        setup: bool,
    },
    /// A server that keeps the records cannot be reached now: what is asked later may be answered.
    #[error("{what}")]
    Away {
        /// What is known of it.
        what: String,
        /// What to do if it stays away.
        hint: String,
    },
    /// Somebody else has the job by now.
    #[error("job {job_id} was taken over by another worker")]
    Fenced {
        /// The job.
        job_id: String,
    },
    /// The handle was closed, or stopped after an earlier error.
    #[error("the store of run {run_id} is closed: {reason}")]
    Closed {
        /// The run.
        run_id: String,
        /// Why.
        reason: String,
    },
}

impl StoreError {
    /// Tells whether the request or the set-up is wrong, rather than the disk.
    pub fn is_setup(&self) -> bool {
        matches!(
            self,
            Self::Setup { .. }
                | Self::Content { .. }
                | Self::Refused { .. }
                | Self::Server { setup: true, .. }
        )
    }

    /// Tells whether the system refused one file or folder for a reason of that file
    /// alone: whatever else there is to do can be done.
    pub fn is_of_one_file(&self) -> bool {
        matches!(self, Self::Io { source, .. } if !platform::is_disk_trouble(source))
    }

    /// Tells whether nobody could be asked, and the same may work a moment later.
    pub fn is_away(&self) -> bool {
        matches!(self, Self::Away { .. })
    }

    /// Returns the error and what caused it, on one line.
    pub fn in_full(&self) -> String {
        match std::error::Error::source(self) {
            Some(cause) => format!("{self}: {cause}"),
            None => self.to_string(),
        }
    }

    /// Returns what to do next.
    pub fn hint(&self) -> Option<&str> {
        match self {
            Self::Setup { hint, .. }
            | Self::Content { hint, .. }
            | Self::Server { hint, .. }
            | Self::Away { hint, .. } => Some(hint),
            Self::Refused { hint, .. } => hint.as_deref(),
            Self::Io { .. } | Self::Closed { .. } | Self::Fenced { .. } => None,
        }
    }
}

/// Adds the action and the path to an I/O error.
pub trait IoContext<T> {
    /// Turns an I/O error into a store error that names what was tried on which file.
    fn context(self, action: &'static str, path: &Path) -> Result<T, StoreError>;
}

impl<T> IoContext<T> for io::Result<T> {
    fn context(self, action: &'static str, path: &Path) -> Result<T, StoreError> {
        self.map_err(|source| StoreError::Io {
            action,
            path: path.to_owned(),
            source,
        })
    }
}
