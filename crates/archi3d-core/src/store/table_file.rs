//! Tables of the workspace as operations read and write them.
//!
//! Adds to the verbatim table what it does not know: the file it came from,
//! columns by name, and which cells a spreadsheet would run as a formula.

use std::borrow::Cow;
use std::io;
use std::path::Path;

use serde::Serialize;

use crate::domain::text::formula_safe;
use crate::store::error::{IoContext, StoreError};
use crate::table::{Table, TableError};
use crate::workspace::durable;

/// Larger tables are refused rather than bringing the machine down.
const MAX_TABLE_BYTES: u64 = 8 << 30;

/// Reads a whole file, or nothing if it is not there.
pub fn read_bytes(path: &Path) -> Result<Option<Vec<u8>>, StoreError> {
    match durable::read_plain(path, MAX_TABLE_BYTES) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) if error.kind() == io::ErrorKind::IsADirectory => Err(StoreError::Setup {
            what: "expected a table, found a folder".to_owned(),
            path: path.to_owned(),
            hint: "move the folder away".to_owned(),
        }),
        Err(error) => Err(error).context("read", path),
    }
}

/// Reads a table, or nothing if there is no such file.
pub fn read(path: &Path) -> Result<Option<Table>, StoreError> {
    let Some(bytes) = read_bytes(path)? else {
        return Ok(None);
    };
    Table::parse(bytes)
        .map(Some)
        .map_err(|error| content(path, &error))
}

/// Adds the file to what is wrong with its content.
pub fn content(path: &Path, error: &TableError) -> StoreError {
    StoreError::Content {
        what: error.to_string(),
        path: path.to_owned(),
        hint: error.hint().to_owned(),
    }
}

/// Makes a table without rows, with the line ends of the file it will replace.
pub fn empty_like(columns: &[&str], replaced: Option<&[u8]>) -> Table {
    let table = Table::with_header(columns);
    let first_line_end = replaced.and_then(|old| {
        let at = memchr::memchr(b'\n', old)?;
        at.checked_sub(1).map(|before| old[before])
    });
    if first_line_end != Some(b'\r') {
        return table;
    }
    let mut bytes = table.into_bytes();
    bytes.pop();
    bytes.extend_from_slice(b"\r\n");
    Table::parse(bytes).expect("a header of ours is a table")
}

/// Cells of a table by column name; a column that is not there is empty.
pub struct Columns {
    positions: Vec<Option<usize>>,
}

impl Columns {
    /// Finds `names` in the header.
    pub fn find(table: &Table, names: &[&str]) -> Self {
        let positions = names.iter().map(|name| table.column(name)).collect();
        Self { positions }
    }

    /// Returns the text of the column that was named at `index`.
    pub fn text<'t>(
        &self,
        table: &'t Table,
        row: usize,
        index: usize,
    ) -> Result<Cow<'t, str>, TableError> {
        match self.positions[index] {
            Some(column) => table.text(row, column),
            None => Ok(Cow::Borrowed("")),
        }
    }
}

/// A cell of outside text that a spreadsheet would run as a formula.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RiskyCell {
    /// The product.
    pub product_id: String,
    /// Its variant.
    pub variant: String,
    /// The column.
    pub column: &'static str,
    /// The character it begins with.
    pub begins_with: char,
}

impl RiskyCell {
    /// Looks at a cell that is kept as it is.
    pub fn check(product: (&str, &str), column: &'static str, text: &str) -> Option<Self> {
        let begins_with = text.chars().next()?;
        (formula_safe(text) != text).then(|| Self {
            product_id: product.0.to_owned(),
            variant: product.1.to_owned(),
            column,
            begins_with,
        })
    }

    /// Says what to look out for, in one sentence.
    pub fn warning(&self) -> String {
        format!(
            "product {:?}, variant {:?}: {} begins with {:?} and is kept as it is; \
             a spreadsheet may run it as a formula",
            self.product_id, self.variant, self.column, self.begins_with
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_table_takes_the_line_ends_of_the_file_it_replaces() {
        let new = |old: Option<&[u8]>| empty_like(&["a", "b"], old).into_bytes();
        assert_eq!(new(None), b"\xEF\xBB\xBFa,b\n");
        assert_eq!(new(Some(b"\xEF\xBB\xBF\n")), b"\xEF\xBB\xBFa,b\n");
        assert_eq!(new(Some(b"x\r\ny\n")), b"\xEF\xBB\xBFa,b\r\n");
        assert_eq!(new(Some(b"\n")), b"\xEF\xBB\xBFa,b\n");
    }

    #[test]
    fn cells_that_a_spreadsheet_would_run_are_named() {
        for text in ["=1+1", "+39", "-x", "@a", "\tx"] {
            let cell = RiskyCell::check(("1", "v"), "product_name", text);
            assert_eq!(cell.map(|cell| cell.column), Some("product_name"), "{text}");
        }
        assert_eq!(RiskyCell::check(("1", "v"), "product_name", "a=b"), None);
        assert_eq!(RiskyCell::check(("1", "v"), "product_name", ""), None);
    }
}
