//! A CSV table kept as the bytes it came as.
//!
//! The store reads and patches registries and manifests through it. Bytes that
//! nobody names stay as they are: quoting, line ends, blank lines, odd rows.
//! It holds the bytes and one offset per row; cells are decoded when asked for.
//! It opens no file, converts no value and sorts nothing.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::fmt;

use crate::table::codec::{BOM, Fields, decode};

pub(crate) mod codec;
mod edit;
mod error;
mod index;
mod pick;
#[cfg(test)]
mod property;
#[cfg(test)]
mod tests;

pub use edit::RowEdit;
pub use error::TableError;
pub use index::RunIndex;
pub use pick::Pick;

/// How many bytes are looked at to tell UTF-16 from UTF-8.
const ENCODING_SAMPLE: usize = 64;

/// A table and its bytes. Rows are numbered from 0 without the header, and keep
/// their numbers whatever is patched.
pub struct Table {
    bytes: Vec<u8>,
    columns: Vec<String>,
    header: usize,
    starts: Vec<usize>,
    line_end: &'static [u8],
    indexes: HashMap<String, index::RunRows>,
}

impl fmt::Debug for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Table")
            .field("columns", &self.columns)
            .field("rows", &self.starts.len())
            .finish_non_exhaustive()
    }
}

impl Table {
    /// Finds the header and the rows in `bytes` and changes nothing.
    pub fn parse(bytes: Vec<u8>) -> Result<Self, TableError> {
        Self::try_parse(bytes).map_err(|(error, _)| error)
    }

    /// Does what [`Table::parse`] does, and gives the bytes back where they are no table.
    pub fn try_parse(bytes: Vec<u8>) -> Result<Self, (TableError, Vec<u8>)> {
        match Layout::find(&bytes) {
            Err(error) => Err((error, bytes)),
            Ok(layout) => Ok(Self {
                bytes,
                columns: layout.columns,
                header: layout.header,
                starts: layout.starts,
                line_end: layout.line_end,
                indexes: HashMap::new(),
            }),
        }
    }

    /// Makes a new table without rows. The names must differ from each other.
    pub fn with_header(columns: &[&str]) -> Self {
        let mut bytes = BOM.to_vec();
        codec::encode_record(columns.iter().copied(), &mut bytes);
        bytes.push(b'\n');
        Self {
            bytes,
            columns: columns.iter().map(ToString::to_string).collect(),
            header: BOM.len(),
            starts: Vec::new(),
            line_end: b"\n",
            indexes: HashMap::new(),
        }
    }

    /// Tells whether the file is UTF-8 text.
    pub fn is_utf8(&self) -> bool {
        str::from_utf8(&self.bytes).is_ok()
    }

    /// Returns the whole file. It is what was parsed until something changes;
    /// from the first change on it starts with a byte order mark if it is UTF-8.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Gives the bytes away without a copy.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// Returns the names of the columns in order.
    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    /// Returns the position of a column; names are matched exactly.
    pub fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column == name)
    }

    /// Checks that all these columns are there, and says what is wrong if not.
    pub fn require(&self, names: &[&str]) -> Result<(), TableError> {
        let missing: Vec<&str> = names
            .iter()
            .copied()
            .filter(|name| self.column(name).is_none())
            .collect();
        if missing.is_empty() {
            return Ok(());
        }
        if let Some(found) = self.other_delimiter(names) {
            return Err(TableError::Delimiter { found });
        }
        for name in &missing {
            let alike = |column: &&String| same_but_for_spelling(column, name);
            if let Some(found) = self.columns.iter().find(alike) {
                return Err(TableError::Spelling {
                    expected: (*name).to_owned(),
                    found: found.clone(),
                });
            }
        }
        Err(TableError::MissingColumns {
            names: missing.into_iter().map(str::to_owned).collect(),
        })
    }

    fn other_delimiter(&self, names: &[&str]) -> Option<&'static str> {
        let header = String::from_utf8_lossy(self.header_content());
        [(';', "semicolons"), ('\t', "tabs")]
            .into_iter()
            .find(|(delimiter, _)| {
                let split: Vec<&str> = header
                    .split(*delimiter)
                    .map(|name| name.trim_matches('"'))
                    .collect();
                let has = |name: &&str| split.iter().any(|part| same_but_for_spelling(part, name));
                split.len() > 1 && names.iter().all(has)
            })
            .map(|(_, found)| found)
    }

    /// Returns the number of rows, without the header and blank lines.
    pub fn len(&self) -> usize {
        self.starts.len()
    }

    /// Tells whether there is only a header.
    pub fn is_empty(&self) -> bool {
        self.starts.is_empty()
    }

    /// Returns what a cell says; a cell that a short row does not have is empty.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn cell(&self, row: usize, column: usize) -> Cow<'_, [u8]> {
        let content = self.content(row);
        match Fields::new(content).nth(column) {
            Some(field) => decode(&content[field]),
            None => Cow::Borrowed(b""),
        }
    }

    /// Returns what the cells of a row say, in order.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn cells(&self, row: usize) -> impl Iterator<Item = Cow<'_, [u8]>> {
        let content = self.content(row);
        Fields::new(content).map(|field| decode(&content[field]))
    }

    /// Finds some cells of a row in one pass, as ranges of [`Table::bytes`].
    /// `wanted` has column numbers, rising, each with its place in `spans`; what
    /// the row does not have is left as it is.
    ///
    /// # Panics
    /// If there is no such row.
    pub(crate) fn spans(
        &self,
        row: usize,
        wanted: &[(usize, usize)],
        spans: &mut [std::ops::Range<usize>],
    ) {
        let (start, content) = edit::content_of(&self.bytes, &self.starts, row);
        spans_in(content, start, wanted, spans);
    }

    /// Returns what a cell says, if it is text.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn text(&self, row: usize, column: usize) -> Result<Cow<'_, str>, TableError> {
        let text = match self.cell(row, column) {
            Cow::Borrowed(bytes) => str::from_utf8(bytes).ok().map(Cow::Borrowed),
            Cow::Owned(bytes) => String::from_utf8(bytes).ok().map(Cow::Owned),
        };
        text.ok_or_else(|| TableError::NotUtf8 {
            line: self.line_of(row),
            column: match self.columns.get(column) {
                Some(name) => name.clone(),
                None => (column + 1).to_string(),
            },
        })
    }

    /// Returns the 1-based line of the file on which a row starts. Counts from
    /// the top of the file, so it is for messages only.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn line_of(&self, row: usize) -> usize {
        codec::line_at(&self.bytes, self.starts[row])
    }

    /// Returns every row with its line, counted in one go.
    pub fn rows_with_lines(&self) -> impl Iterator<Item = (usize, usize)> {
        let (mut line, mut counted) = (1, 0);
        self.starts.iter().enumerate().map(move |(row, start)| {
            line += codec::line_breaks(&self.bytes[counted..*start]);
            counted = *start;
            (row, line)
        })
    }

    /// Returns every row whose cell in `key_column` is `key`, byte for byte, in
    /// table order; none if there is no such column.
    pub fn rows_of(&self, key_column: &str, key: &str) -> Vec<usize> {
        let Some(column) = self.column(key_column) else {
            return Vec::new();
        };
        (0..self.len())
            .filter(|row| *self.cell(*row, column) == *key.as_bytes())
            .collect()
    }

    /// Tells whether a row has fewer cells than the header.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn is_short(&self, row: usize) -> bool {
        codec::field_count(self.content(row)) < self.columns.len()
    }

    /// Tells whether the file stops in the middle of a line.
    pub fn ends_without_line_end(&self) -> bool {
        !self.bytes.ends_with(b"\n")
    }

    fn header_content(&self) -> &[u8] {
        let end = self.starts.first().copied().unwrap_or(self.bytes.len());
        let slot = &self.bytes[self.header..end];
        &slot[..codec::content_len(slot)]
    }

    /// Returns the bytes of a row without its line end.
    fn content(&self, row: usize) -> &[u8] {
        edit::content_of(&self.bytes, &self.starts, row).1
    }
}

/// Where everything is in a table's bytes.
struct Layout {
    columns: Vec<String>,
    header: usize,
    starts: Vec<usize>,
    line_end: &'static [u8],
}

impl Layout {
    fn find(bytes: &[u8]) -> Result<Self, TableError> {
        let first = check_encoding(bytes)?;
        let mut starts = Vec::new();
        let mut line_end = None;
        let mut position = first;
        while position < bytes.len() {
            let end =
                codec::record_end(bytes, position).map_err(|open| TableError::UnclosedQuote {
                    line: codec::line_at(bytes, open.0),
                })?;
            let line = &bytes[position..end];
            if line_end.is_none() {
                line_end = line_end_of(line);
            }
            if !codec::is_blank(line) {
                starts.push(position);
            }
            position = end;
        }
        if starts.is_empty() {
            return Err(TableError::NoHeader);
        }
        if u32::try_from(starts.len()).is_err() {
            return Err(TableError::TooManyRows);
        }
        let header = starts.remove(0);
        starts.shrink_to_fit();
        let header_end = starts.first().copied().unwrap_or(bytes.len());
        Ok(Self {
            columns: read_header(bytes, header, header_end)?,
            header,
            starts,
            line_end: line_end.unwrap_or(b"\n"),
        })
    }
}

/// Returns where the text begins, or why this is no UTF-8 text.
fn check_encoding(bytes: &[u8]) -> Result<usize, TableError> {
    if bytes.is_empty() {
        return Err(TableError::Empty);
    }
    if bytes.starts_with(b"\xFF\xFE") || bytes.starts_with(b"\xFE\xFF") || has_nul_pairs(bytes) {
        return Err(TableError::Utf16);
    }
    match bytes.strip_prefix(BOM) {
        None => Ok(0),
        Some(text) if text.starts_with(BOM) => Err(TableError::TwoByteOrderMarks),
        Some(_) => Ok(BOM.len()),
    }
}

/// Tells whether every other byte at the start is a NUL, as in UTF-16 without a mark.
fn has_nul_pairs(bytes: &[u8]) -> bool {
    let sample = &bytes[..bytes.len().min(ENCODING_SAMPLE)];
    let (pairs, _) = sample.as_chunks::<2>();
    let all = |test: fn(&[u8; 2]) -> bool| !pairs.is_empty() && pairs.iter().all(test);
    all(|pair| pair[0] == 0 && pair[1] != 0) || all(|pair| pair[0] != 0 && pair[1] == 0)
}

fn line_end_of(line: &[u8]) -> Option<&'static [u8]> {
    if line.ends_with(b"\r\n") {
        Some(b"\r\n")
    } else {
        line.ends_with(b"\n").then_some(b"\n")
    }
}

fn read_header(bytes: &[u8], start: usize, end: usize) -> Result<Vec<String>, TableError> {
    let content = &bytes[start..start + codec::content_len(&bytes[start..end])];
    let mut columns = Vec::new();
    let mut seen = HashSet::new();
    for (position, field) in Fields::new(content).enumerate() {
        let name = String::from_utf8(decode(&content[field]).into_owned()).map_err(|_| {
            TableError::HeaderNotUtf8 {
                line: codec::line_at(bytes, start),
                number: position + 1,
            }
        })?;
        // Nobody asks for a column without a name, so any number of them is clear.
        if !name.is_empty() && !seen.insert(name.clone()) {
            return Err(TableError::DuplicateColumn { name });
        }
        columns.push(name);
    }
    Ok(columns)
}

fn same_but_for_spelling(found: &str, expected: &str) -> bool {
    found.trim().to_lowercase() == expected.to_lowercase()
}

/// Finds some cells of a record like [`Table::spans`], as ranges that count from
/// `start` before its first byte.
pub(crate) fn spans_in(
    content: &[u8],
    start: usize,
    wanted: &[(usize, usize)],
    spans: &mut [std::ops::Range<usize>],
) {
    let mut wanted = wanted.iter();
    let Some(mut next) = wanted.next() else {
        return;
    };
    let mut take = |column: usize, field: std::ops::Range<usize>| {
        if column == next.0 {
            spans[next.1] = start + field.start..start + field.end;
            match wanted.next() {
                Some(further) => next = further,
                None => return false,
            }
        }
        true
    };
    if memchr::memchr(b'"', content).is_some() {
        Fields::new(content)
            .enumerate()
            .all(|(column, field)| take(column, field));
        return;
    }
    let mut from = 0;
    let ends = memchr::memchr_iter(b',', content).chain([content.len()]);
    for (column, to) in ends.enumerate() {
        if !take(column, from..to) {
            return;
        }
        from = to + 1;
    }
}
