//! Why a table cannot be used, and what to do about it.
//!
//! No variant holds a path: whoever read the file knows it and adds it.

/// A table that cannot be used as it is. Nothing in it was changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TableError {
    /// There are no bytes at all.
    #[error("the file is empty, not even a header")]
    Empty,
    /// There are bytes, but only blank lines.
    #[error("the file has no header line")]
    NoHeader,
    /// The file starts with two byte order marks.
    #[error("the file starts with two byte order marks")]
    TwoByteOrderMarks,
    /// The file is UTF-16.
    #[error("the file is UTF-16, not UTF-8")]
    Utf16,
    /// A quoted field never ends.
    #[error("line {line}: a quoted field opens here and is never closed")]
    UnclosedQuote {
        /// The line of the opening quote.
        line: usize,
    },
    /// A column's name is no text.
    #[error("line {line}: the name of column {number} is not valid UTF-8")]
    HeaderNotUtf8 {
        /// The line of the header.
        line: usize,
        /// Which column, from 1.
        number: usize,
    },
    /// Two columns have the same name.
    #[error("the header names column {name:?} twice")]
    DuplicateColumn {
        /// The name.
        name: String,
    },
    /// The fields are parted by something else than commas.
    #[error("the fields are separated by {found}, not by commas")]
    Delimiter {
        /// What is there instead.
        found: &'static str,
    },
    /// A needed column is there, but spelled in another way.
    #[error("column {expected:?} is spelled {found:?} in the header")]
    Spelling {
        /// The name it must have.
        expected: String,
        /// The name it has.
        found: String,
    },
    /// Needed columns are not there.
    #[error("the header has no column {}", .names.join(", "))]
    MissingColumns {
        /// Their names.
        names: Vec<String>,
    },
    /// A cell that must be text is not.
    #[error("line {line}: column {column:?} is not valid UTF-8")]
    NotUtf8 {
        /// The line of the row.
        line: usize,
        /// The column's name, or its number if it has none.
        column: String,
    },
    /// There are more rows than row numbers.
    #[error("the table has more than {} rows", u32::MAX)]
    TooManyRows,
}

impl TableError {
    /// Returns what to do next.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Empty | Self::NoHeader => {
                "restore the file from a backup, or remove it and create the batch again"
            }
            Self::TwoByteOrderMarks => "remove the first three bytes of the file",
            Self::Utf16 => "save the file as CSV in UTF-8",
            Self::UnclosedQuote { .. } => {
                "the file may be cut off: close the quote or restore the file from a backup"
            }
            Self::HeaderNotUtf8 { .. } | Self::NotUtf8 { .. } => {
                "correct the text, or save the file as CSV in UTF-8"
            }
            Self::DuplicateColumn { .. } => "rename or remove one of the two columns",
            Self::Delimiter { .. } => "save the file as CSV with commas",
            Self::Spelling { .. } => "rename the column; names are matched exactly",
            Self::MissingColumns { .. } => "check that this is the right file, or add the column",
            Self::TooManyRows => "split the table",
        }
    }
}
