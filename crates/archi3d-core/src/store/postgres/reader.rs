//! Rows read cell by cell, in the order of the statement's columns.

use postgres::Row;
use postgres::types::FromSql;

use super::error::{PgError, PgResult};
use super::statements::Sql;
use crate::domain::job::Entry;
use crate::domain::retry::ErrorClass;

/// A row that is being read.
pub(super) struct Reader<'a> {
    row: &'a Row,
    at: usize,
    statement: &'static str,
}

impl<'a> Reader<'a> {
    pub(super) fn new(row: &'a Row, sql: &'static Sql) -> Self {
        Self {
            row,
            at: 0,
            statement: sql.name,
        }
    }

    /// Returns the next cell.
    pub(super) fn take<T: FromSql<'a>>(&mut self) -> PgResult<T> {
        let cell = self.row.try_get(self.at);
        self.at += 1;
        cell.map_err(|error| self.odd(&error.to_string()))
    }

    /// Returns the next cell, which counts something.
    pub(super) fn count(&mut self) -> PgResult<usize> {
        let count: i64 = self.take()?;
        usize::try_from(count).map_err(|_| self.odd("a count is negative"))
    }

    /// Returns the next cell, which is a small number that never is negative.
    pub(super) fn number(&mut self) -> PgResult<u32> {
        let number: i32 = self.take()?;
        u32::try_from(number).map_err(|_| self.odd("a number is negative"))
    }

    /// Returns the next cell, which says why a job was entered.
    pub(super) fn entry(&mut self) -> PgResult<Entry> {
        let word: &str = self.take()?;
        entry_of(word).ok_or_else(|| self.odd("an unknown entry"))
    }

    /// Returns the next cell, which says what kind of failure it was.
    pub(super) fn class(&mut self) -> PgResult<Option<ErrorClass>> {
        let word: Option<&str> = self.take()?;
        Ok(word.and_then(ErrorClass::parse))
    }

    pub(super) fn odd(&self, reason: &str) -> PgError {
        PgError::Unexpected {
            statement: self.statement,
            reason: reason.to_owned(),
        }
    }
}

/// Returns the schema's word for an entry.
pub(super) fn entry_word(entry: Entry) -> &'static str {
    match entry {
        Entry::Fresh => "fresh",
        Entry::Takeover => "takeover",
        Entry::Retry => "retry",
        Entry::Redo => "redo",
        Entry::Perform => "perform",
    }
}

fn entry_of(word: &str) -> Option<Entry> {
    [
        Entry::Fresh,
        Entry::Takeover,
        Entry::Retry,
        Entry::Redo,
        Entry::Perform,
    ]
    .into_iter()
    .find(|entry| entry_word(*entry) == word)
}

/// Returns a number as the schema's smaller one; a number that is too large is the largest.
pub(super) fn small(number: u32) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}

/// Returns a count as the schema has it.
pub(super) fn large(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// Returns text without the one character that no text of the database may hold.
pub(super) fn clean(text: &str) -> String {
    text.replace('\0', "")
}
