//! What a rebuild found and did.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::domain::text::counted;

use super::sources::Origin;

/// What a rebuild found and did.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct RebuildReport {
    /// How many rows could be read before.
    pub rows_before: usize,
    /// How many there are now.
    pub rows_after: usize,
    /// How many rows were lost and are back.
    pub restored: usize,
    /// Of these, how many nobody recorded when they were made: `created_at` is
    /// unknown, and texts are what the item table says today.
    pub from_manifest: usize,
    /// Of these, how many are known by markers and journals alone.
    pub from_traces: usize,
    /// How many rows that were there said something else than the records.
    pub corrected: usize,
    /// In which columns, and in how many rows.
    pub corrected_columns: BTreeMap<String, usize>,
    /// Job ids that a spreadsheet had changed, one sentence each.
    pub ids: Vec<String>,
    /// How many rows no record knows; they are kept as they are.
    pub unrecorded: usize,
    /// What was taken from copies of the table, one sentence each.
    pub copied: Vec<String>,
    /// Job lists that were missing and are back, one sentence each.
    pub listed: Vec<String>,
    /// What looked wrong, one sentence each.
    pub warnings: Vec<String>,
    /// Whether the table says just what it said.
    pub unchanged: bool,
    /// Whether nothing was to be written.
    pub dry_run: bool,
    /// The file that was written, if one was.
    pub written: Option<String>,
    /// Where the table is kept as it was.
    pub kept_as: Option<String>,
}

impl RebuildReport {
    pub(super) fn count_restored(&mut self, origin: Origin) {
        self.restored += 1;
        match origin {
            Origin::Record => {}
            Origin::Manifest => self.from_manifest += 1,
            Origin::Traces => self.from_traces += 1,
        }
    }

    pub(super) fn count_corrected<'a>(&mut self, columns: impl Iterator<Item = &'a str>) {
        self.corrected += 1;
        for column in columns {
            *self.corrected_columns.entry(column.to_owned()).or_default() += 1;
        }
    }

    pub(super) fn note_id(&mut self, cell: &str, id: &str) {
        self.ids.push(format!("{cell} is {id} again"));
    }

    pub(super) fn note_second_row(&mut self, cell: &str, id: &str) {
        self.ids
            .push(format!("{cell} is gone: {id} has a row of its own"));
    }

    pub(super) fn note_copied_rows(&mut self, name: &str, rows: usize) {
        if rows > 0 {
            let rows = counted(rows, "row");
            self.copied
                .push(format!("{rows} that no record knows from tables/{name}"));
        }
    }

    pub(super) fn note_copied_cells(&mut self, name: &str, cells: usize) {
        if cells > 0 {
            let cells = counted(cells, "cell");
            self.copied
                .push(format!("{cells} of lost rows from tables/{name}"));
        }
    }
}
