//! What kind of failure it was, which decides everything that follows.

use std::fmt;

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
    /// It may have been billed and no request id is known.
    Unknown,
}

impl ErrorClass {
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
}

impl fmt::Display for ErrorClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}
