//! Changes to a table: cells spliced into its bytes, columns and rows added.
//!
//! One pass over the bytes whatever the number of edits, and none at all if
//! nothing would change. It never rewrites a cell that nobody named.

use std::mem;
use std::ops::Range;

use super::Table;
use crate::table::codec::{self, BOM, Fields, decode, encode};

/// New values for some cells of one row, by column position.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RowEdit {
    /// The row.
    pub row: usize,
    /// Columns and what they are to say; of two values for one cell the later counts.
    pub cells: Vec<(usize, String)>,
}

/// Returns where a row starts, and its bytes without the line end.
pub(super) fn content_of<'a>(bytes: &'a [u8], starts: &[usize], row: usize) -> (usize, &'a [u8]) {
    let start = starts[row];
    let end = starts.get(row + 1).copied().unwrap_or(bytes.len());
    let slot = &bytes[start..end];
    (start, &slot[..codec::content_len(slot)])
}

/// Bytes that are being changed in place: a finished start, a gap, and the rest
/// as it was. A table may be half of the memory there is, so there is no copy.
struct Rewrite {
    bytes: Vec<u8>,
    /// Where the finished start ends.
    done: usize,
    /// Where the rest begins now,
    rest: usize,
    /// and where it began before anything was changed.
    old: usize,
    old_len: usize,
    room: usize,
    changed: bool,
}

impl Rewrite {
    /// Prepares for about `growth` more bytes; takes no memory yet.
    fn new(bytes: Vec<u8>, growth: usize) -> Self {
        Self {
            done: 0,
            rest: 0,
            old: 0,
            old_len: bytes.len(),
            // Room for the mark, in case it has to be added afterwards.
            room: growth + BOM.len(),
            changed: false,
            bytes,
        }
    }

    /// Replaces old bytes; ranges must rise.
    fn replace(&mut self, range: Range<usize>, with: &[u8]) {
        self.keep_until(range.start);
        self.rest += range.len();
        self.old = range.end;
        if self.done + with.len() > self.rest {
            self.widen(self.room.max(with.len()));
        }
        self.bytes[self.done..self.done + with.len()].copy_from_slice(with);
        self.done += with.len();
        self.changed = true;
    }

    fn keep_until(&mut self, old: usize) {
        let kept = self.rest..self.rest + (old - self.old);
        self.rest = kept.end;
        self.old = old;
        let length = kept.len();
        if kept.start != self.done {
            self.bytes.copy_within(kept, self.done);
        }
        self.done += length;
    }

    fn widen(&mut self, by: usize) {
        let length = self.bytes.len();
        self.bytes.reserve_exact(by);
        self.bytes.resize(length + by, 0);
        self.bytes.copy_within(self.rest..length, self.rest + by);
        self.rest += by;
    }

    /// Returns bytes behind the last replacement, by their old positions.
    fn old(&self, range: Range<usize>) -> &[u8] {
        let moved = |position: usize| position - self.old + self.rest;
        &self.bytes[moved(range.start)..moved(range.end)]
    }

    /// Returns the content of a row behind the last replacement, by old positions.
    fn old_content(&self, starts: &[usize], row: usize) -> &[u8] {
        let end = starts.get(row + 1).copied().unwrap_or(self.old_len);
        let slot = self.old(starts[row]..end);
        &slot[..codec::content_len(slot)]
    }

    /// Returns where an old position behind the last replacement will be.
    fn moved(&self, position: usize) -> usize {
        position - self.old + self.done
    }

    /// Returns the new bytes, and whether anything was replaced.
    fn finish(mut self) -> (Vec<u8>, bool) {
        self.keep_until(self.old_len);
        self.bytes.truncate(self.done);
        (self.bytes, self.changed)
    }
}

impl Table {
    /// Writes cells and tells whether any byte changed. A cell that already
    /// says what it is to say keeps its bytes. A row that changes is filled up
    /// to the width of the header.
    ///
    /// # Panics
    /// If an edit names a row or a column that is not there.
    pub fn patch(&mut self, edits: &[RowEdit]) -> bool {
        let width = self.columns.len();
        self.check(edits);
        let keys_change = self.keys_change(edits);
        let mut ordered: Vec<&RowEdit> = edits.iter().collect();
        ordered.sort_by_key(|edit| edit.row);
        let mut rewrite = Rewrite::new(mem::take(&mut self.bytes), growth_of(edits, width));
        let mut settled = 0;
        let mut content = Vec::new();
        for same_row in ordered.chunk_by(|a, b| a.row == b.row) {
            let row = same_row[0].row;
            let start = self.starts[row];
            content.clear();
            content.extend_from_slice(rewrite.old_content(&self.starts, row));
            for offset in &mut self.starts[settled..=row] {
                *offset = rewrite.moved(*offset);
            }
            settled = row + 1;
            let cells = cells_by_column(same_row);
            patch_row(&mut rewrite, start, &content, &cells, width);
        }
        for offset in &mut self.starts[settled..] {
            *offset = rewrite.moved(*offset);
        }
        let (bytes, changed) = rewrite.finish();
        self.bytes = bytes;
        if !changed {
            return false;
        }
        self.add_missing_mark();
        if keys_change {
            self.indexes.clear();
        }
        true
    }

    /// Stops before anything is changed if an edit does not fit the table.
    fn check(&self, edits: &[RowEdit]) {
        let (rows, width) = (self.len(), self.columns.len());
        for edit in edits {
            assert!(edit.row < rows, "row {} of {rows} does not exist", edit.row);
            for (column, _) in &edit.cells {
                assert!(*column < width, "column {column} of {width} does not exist");
            }
        }
    }

    fn keys_change(&self, edits: &[RowEdit]) -> bool {
        let keys = self.key_columns();
        edits.iter().any(|edit| {
            edit.cells.iter().any(|(column, value)| {
                keys.contains(&Some(*column)) && *self.cell(edit.row, *column) != *value.as_bytes()
            })
        })
    }

    /// Appends the columns that are not there yet, in the given order, and tells
    /// whether there were any. Rows as wide as the header get empty cells; rows
    /// of another width are left alone.
    pub fn ensure_columns(&mut self, names: &[&str]) -> bool {
        let old_width = self.columns.len();
        for name in names {
            if self.column(name).is_none() {
                self.columns.push((*name).to_owned());
            }
        }
        let added = &self.columns[old_width..];
        if added.is_empty() {
            return false;
        }
        let mut more_header = Vec::new();
        for name in added {
            more_header.push(b',');
            encode(name, &mut more_header);
        }
        let more_cells = vec![b','; added.len()];
        let growth = more_header.len() + self.starts.len() * more_cells.len();
        let header_end = self.header + self.header_content().len();
        let mut rewrite = Rewrite::new(mem::take(&mut self.bytes), growth);
        rewrite.replace(header_end..header_end, &more_header);
        for row in 0..self.starts.len() {
            let start = self.starts[row];
            let content = rewrite.old_content(&self.starts, row);
            let end = start + content.len();
            let fits = codec::field_count(content) == old_width;
            self.starts[row] = rewrite.moved(start);
            if fits {
                rewrite.replace(end..end, &more_cells);
            }
        }
        self.bytes = rewrite.finish().0;
        self.add_missing_mark();
        let keys = self.key_columns();
        if keys.iter().flatten().any(|column| *column >= old_width) {
            self.indexes.clear();
        }
        true
    }

    /// Adds rows at the end, each from its cells by column; other cells are empty.
    ///
    /// # Panics
    /// If a cell names a column that is not there.
    pub fn append(&mut self, rows: &[Vec<(usize, String)>]) {
        if rows.is_empty() {
            return;
        }
        let width = self.columns.len();
        let mut more = Vec::new();
        let mut new_starts = Vec::with_capacity(rows.len());
        if !self.bytes.ends_with(b"\n") {
            // A carriage return at the end is text: a plain line feed would
            // make it part of the line end.
            let is_text = self.bytes.ends_with(b"\r");
            more.extend_from_slice(if is_text { b"\r\n" } else { self.line_end });
        }
        for cells in rows {
            let mut values = vec![""; width];
            for (column, value) in cells {
                assert!(*column < width, "column {column} of {width} does not exist");
                values[*column] = value;
            }
            new_starts.push(self.bytes.len() + more.len());
            codec::encode_record(values.into_iter(), &mut more);
            more.extend_from_slice(self.line_end);
        }
        self.bytes.reserve_exact(more.len() + BOM.len());
        self.bytes.extend_from_slice(&more);
        self.starts.extend_from_slice(&new_starts);
        self.add_missing_mark();
        self.indexes.clear();
    }

    /// Removes rows with their line ends; the others keep their bytes and order,
    /// and are numbered anew. Blank lines after a removed row go with it.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn remove(&mut self, rows: &[usize]) {
        let mut gone = rows.to_vec();
        gone.sort_unstable();
        gone.dedup();
        let length = self.bytes.len();
        let mut rewrite = Rewrite::new(mem::take(&mut self.bytes), 0);
        let mut kept = Vec::with_capacity(self.starts.len() - gone.len());
        let mut next = gone.iter().copied().peekable();
        for (row, start) in self.starts.iter().enumerate() {
            if next.next_if_eq(&row).is_some() {
                let end = self.starts.get(row + 1).copied();
                rewrite.replace(*start..end.unwrap_or(length), b"");
            } else {
                kept.push(rewrite.moved(*start));
            }
        }
        let (bytes, changed) = rewrite.finish();
        self.bytes = bytes;
        assert!(
            next.peek().is_none(),
            "row {:?} does not exist",
            next.peek()
        );
        if changed {
            self.starts = kept;
            self.add_missing_mark();
            self.indexes.clear();
        }
    }

    /// Returns the bytes of a row as they stand in the file, without the line end.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn raw(&self, row: usize) -> &[u8] {
        self.content(row)
    }

    /// Returns the bytes of the header as they stand in the file, without the line end.
    pub fn raw_header(&self) -> &[u8] {
        self.header_content()
    }

    /// Returns what ends the rows that are added.
    pub fn line_end(&self) -> &'static [u8] {
        self.line_end
    }

    /// Adds the mark that says "UTF-8", unless the file is something else: a spreadsheet may
    /// have saved it in the encoding of its country, and then the mark would be a lie.
    fn add_missing_mark(&mut self) {
        if self.bytes.starts_with(BOM) || !self.is_utf8() {
            return;
        }
        self.bytes.splice(0..0, BOM.iter().copied());
        self.header += BOM.len();
        for offset in &mut self.starts {
            *offset += BOM.len();
        }
    }
}

/// Returns the most bytes that these edits can add.
fn growth_of(edits: &[RowEdit], width: usize) -> usize {
    let of_row = |edit: &RowEdit| -> usize {
        let cells = edit.cells.iter().map(|(_, value)| 2 * value.len() + 2);
        cells.sum::<usize>() + width
    };
    edits.iter().map(of_row).sum()
}

/// Returns one value per cell in column order; the last one given counts.
fn cells_by_column<'a>(edits: &[&'a RowEdit]) -> Vec<(usize, &'a str)> {
    let mut cells: Vec<(usize, &str)> = edits
        .iter()
        .flat_map(|edit| &edit.cells)
        .map(|(column, value)| (*column, value.as_str()))
        .collect();
    cells.sort_by_key(|(column, _)| *column);
    cells.reverse();
    cells.dedup_by_key(|(column, _)| *column);
    cells.reverse();
    cells
}

fn patch_row(
    rewrite: &mut Rewrite,
    start: usize,
    content: &[u8],
    cells: &[(usize, &str)],
    width: usize,
) {
    let mut cells = cells.iter().peekable();
    let mut buffer = Vec::new();
    let mut changed = false;
    let mut count = 0;
    for (column, field) in Fields::new(content).enumerate() {
        count = column + 1;
        let Some((_, value)) = cells.next_if(|(wanted, _)| *wanted == column) else {
            continue;
        };
        if *decode(&content[field.clone()]) == *value.as_bytes() {
            continue;
        }
        buffer.clear();
        encode(value, &mut buffer);
        if buffer.is_empty() && width == 1 && field.len() == content.len() {
            // Nothing else is on the line, and a blank line would be no row.
            buffer.extend_from_slice(b"\"\"");
        }
        rewrite.replace(start + field.start..start + field.end, &buffer);
        changed = true;
    }
    // A cell that a short row lacks says nothing, so writing nothing changes nothing.
    changed |= cells.clone().any(|(_, value)| !value.is_empty());
    if !changed || count >= width {
        return;
    }
    buffer.clear();
    for column in count..width {
        buffer.push(b',');
        if let Some((_, value)) = cells.next_if(|(wanted, _)| *wanted == column) {
            encode(value, &mut buffer);
        }
    }
    let end = start + content.len();
    rewrite.replace(end..end, &buffer);
}
