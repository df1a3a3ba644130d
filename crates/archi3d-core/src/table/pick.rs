//! Some columns of a table, read in one pass over each row.

use std::borrow::Cow;

use super::Table;
use crate::table::codec::decode;

/// Where the columns are; those that the table lacks are empty.
#[derive(Debug)]
pub struct Pick<const N: usize> {
    /// The columns, rising, each with its place among the names.
    rising: Vec<(usize, usize)>,
}

impl<const N: usize> Pick<N> {
    /// Finds the columns of `table` with these names.
    pub fn of(table: &Table, names: [&str; N]) -> Self {
        let places = names.iter().enumerate();
        let rising = places.filter_map(|(place, name)| Some((table.column(name)?, place)));
        let mut rising: Vec<(usize, usize)> = rising.collect();
        rising.sort_unstable();
        Self { rising }
    }

    /// Returns what the cells of a row say, in the order of the names.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn cells<'t>(&self, table: &'t Table, row: usize) -> [Cow<'t, [u8]>; N] {
        let mut spans = std::array::from_fn(|_| 0..0);
        table.spans(row, &self.rising, &mut spans);
        spans.map(|span| decode(&table.bytes()[span]))
    }

    /// Returns the same as text; what is none reads as replacement characters.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn texts<'t>(&self, table: &'t Table, row: usize) -> [Cow<'t, str>; N] {
        self.cells(table, row).map(|cell| match cell {
            Cow::Borrowed(bytes) => String::from_utf8_lossy(bytes),
            Cow::Owned(bytes) => String::from_utf8_lossy(&bytes).into_owned().into(),
        })
    }
}
