//! What can be wrong with configuration: always with the place and the next step.

use std::fmt;
use std::io;
use std::path::PathBuf;

/// Why the configuration cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// A file is there but cannot be read.
    #[error("cannot read {}: {reason}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
        /// What the system said, if it was the system.
        #[source]
        source: Option<io::Error>,
    },
    /// A file says something that it cannot say.
    #[error("{}{}: {message}", path.display(), Line(*line))]
    Invalid {
        /// The file.
        path: PathBuf,
        /// The line, from 1, where it is known.
        line: Option<usize>,
        /// What is wrong and what would be right.
        message: String,
    },
    /// The workspace that was named cannot be one.
    #[error("the workspace {path:?} (from {named_by}) {reason}")]
    BadWorkspace {
        /// What was named.
        path: PathBuf,
        /// Where it was named.
        named_by: String,
        /// Why it cannot be the workspace and what to do.
        reason: String,
    },
    /// No place names a workspace.
    #[error(
        "no workspace found; looked at{}\nname one with `--workspace DIR`, or make one with `archi3d init DIR`",
        Places(looked_at)
    )]
    NoWorkspace {
        /// Every place and what was there.
        looked_at: Vec<String>,
    },
}

struct Line(Option<usize>);

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |line| write!(f, ":{line}"))
    }
}

struct Places<'a>(&'a [String]);

impl fmt::Display for Places<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|place| write!(f, "\n  {place}"))
    }
}
