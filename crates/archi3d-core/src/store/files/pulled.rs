//! Rows that come back from a fleet: what its jobs became, written into the registry.
//!
//! A cell is written only where the fleet says something that the row does not say yet, so that a second time changes
//! nothing and what people wrote since stays.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::time::Duration;

use crate::domain::id::RunId;
use crate::domain::job::Status;
use crate::domain::patch::{Patch, WORKER_COLUMNS};
use crate::domain::text::error_cell;
use crate::domain::time::Timestamp;
use crate::platform::{self, fault};
use crate::store::error::{IoContext, StoreError};
use crate::store::table_file;
use crate::table::{RowEdit, Table};
use crate::workspace::durable;
use crate::workspace::lock::TableLock;
use crate::workspace::paths::Workspace;

use super::registry::{Registry, RowColumns};

/// What a job of a fleet became.
#[derive(Debug, Clone, PartialEq)]
pub struct PulledRow {
    /// The job.
    pub job_id: String,
    /// What its row is to say; nothing leaves it as it is.
    pub status: Option<Status>,
    /// What its endings wrote, in order.
    pub patches: Vec<Patch>,
    /// Its last error, for an ending that wrote nothing.
    pub error: Option<String>,
    /// The row as it was handed over, for one that is gone.
    pub row: Vec<u8>,
}

/// What changed in the registry.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PulledRows {
    /// Rows that say something new.
    pub changed: usize,
    /// Rows that were gone and are there again.
    pub restored: usize,
}

/// The registry of a workspace, into which the rows of one run come back.
pub struct Pulling<'a> {
    workspace: &'a Workspace,
    run_id: &'a RunId,
    registry: Registry,
}

impl<'a> Pulling<'a> {
    /// Names the registry; nothing is read yet.
    pub fn new(workspace: &'a Workspace, run_id: &'a RunId) -> Self {
        let tag = format!("pull-{}", uuid::Uuid::new_v4().simple());
        Self {
            workspace,
            run_id,
            registry: Registry::new(workspace.registry(), &tag),
        }
    }

    /// Tells for each row whether it would be changed, by a look without a lock.
    pub fn would_change(&mut self, rows: &[PulledRow]) -> Result<Vec<bool>, StoreError> {
        let table = self.registry.load()?;
        let columns = RowColumns::of(table);
        let index = table.index(self.run_id.as_str());
        let changes = |row: &PulledRow| {
            let mut numbers = index.rows_of(&row.job_id).peekable();
            numbers.peek().is_none()
                || numbers.any(|number| accepts(&columns, index.table(), number, row))
        };
        Ok(rows.iter().map(changes).collect())
    }

    /// Writes rows, under the registry's lock. While that is busy, `waiting` hears for how long and gives up by
    /// returning `false`: nothing is written then.
    pub fn write(
        &mut self,
        header: &[u8],
        rows: &[PulledRow],
        waiting: &mut dyn FnMut(Duration) -> bool,
    ) -> Result<Option<PulledRows>, StoreError> {
        let lock = TableLock::acquire(self.workspace, waiting);
        let Some(lock) = lock.context("lock", &self.workspace.registry_lock())? else {
            return Ok(None);
        };
        let as_handed: Vec<&[u8]> = rows.iter().map(|row| row.row.as_slice()).collect();
        let mut pulled = PulledRows::default();
        self.registry.change(&lock, |table| {
            let path = self.workspace.registry();
            pulled.restored = restore(table, header, &as_handed, self.run_id, &path)?;
            let edits = edits(table, self.run_id, rows);
            pulled.changed = edits.len();
            if pulled == PulledRows::default() {
                return Ok(0);
            }
            table.patch(&edits);
            // A row says `completed` only if its result survives a power loss.
            let root = self.workspace.root();
            let folder = File::open(root).context("open", root)?;
            platform::sync_file_system(&folder).context("sync", root)?;
            fault::here("pull.before");
            Ok(1)
        })?;
        fault::here("pull.written");
        Ok(Some(pulled))
    }
}

/// Keeps the rows of a run, all of which came back, beside what else is known of it: its database may forget it.
pub fn keep_rows(workspace: &Workspace, run_id: &RunId) -> Result<(), StoreError> {
    let Some(mut table) = table_file::read(&workspace.registry())? else {
        return Ok(());
    };
    let own: HashSet<usize> = table.index(run_id.as_str()).rows().collect();
    let others = (0..table.len()).filter(|row| !own.contains(row));
    let others: Vec<usize> = others.collect();
    table.remove(&others);
    let path = workspace.run(run_id).pulled_rows();
    durable::replace(&path, &table.into_bytes(), "pull").context("write", &path)
}

/// Tells whether a row is to be changed. A word that nobody knows was put there by somebody; it is theirs.
fn accepts(columns: &RowColumns, table: &Table, number: usize, row: &PulledRow) -> bool {
    let (Ok(status), start) = columns.status_and_start(table, number) else {
        return false;
    };
    let Some(wanted) = row.status else {
        return false;
    };
    let newer = row.patches.last().is_some_and(|patch| {
        let began = patch.get("generation_start").and_then(Timestamp::parse);
        began.is_some_and(|began| start.is_none_or(|start| start < began))
    });
    status != wanted || wanted.is_terminal() && newer
}

fn edits(table: &mut Table, run_id: &RunId, rows: &[PulledRow]) -> Vec<RowEdit> {
    let columns = RowColumns::of(table);
    let index = table.index(run_id.as_str());
    let mut accepted = Vec::new();
    for row in rows {
        for number in index.rows_of(&row.job_id) {
            if accepts(&columns, index.table(), number, row) {
                accepted.push((number, row));
            }
        }
    }
    if accepted.is_empty() {
        return Vec::new();
    }
    table.ensure_columns(WORKER_COLUMNS);
    let places: HashMap<String, usize> = table
        .columns()
        .iter()
        .enumerate()
        .map(|(place, name)| (name.clone(), place))
        .collect();
    let edit = |(number, row): (usize, &PulledRow)| RowEdit {
        row: number,
        cells: cells(table, &places, number, row),
    };
    accepted.into_iter().map(edit).collect()
}

/// Plays what every ending wrote into the row, one after the other, and sets the status in force.
fn cells(
    table: &Table,
    places: &HashMap<String, usize>,
    number: usize,
    row: &PulledRow,
) -> Vec<(usize, String)> {
    let mut cells: Vec<(usize, String)> = Vec::new();
    let mut set = |column: usize, value: &str, only_if: &dyn Fn(&str) -> bool| {
        let known = cells.iter().position(|(place, _)| *place == column);
        let now = match known {
            Some(at) => cells[at].1.clone(),
            None => String::from_utf8_lossy(&table.cell(number, column)).into_owned(),
        };
        match known {
            _ if !only_if(&now) => {}
            Some(at) => value.clone_into(&mut cells[at].1),
            None => cells.push((column, value.to_owned())),
        }
    };
    for cell in row.patches.iter().flat_map(Patch::cells) {
        if let Some(column) = places.get(cell.column.as_ref()) {
            set(*column, &cell.value, &|now| cell.applies_to(now));
        }
    }
    let status = row.status.map(Status::word).unwrap_or_default();
    if let Some(column) = places.get("status") {
        set(*column, status, &|_| true);
    }
    if let (Some(error), Some(Status::Failed), true, Some(column)) = (
        &row.error,
        row.status,
        row.patches.is_empty(),
        places.get("error_msg"),
    ) {
        set(*column, &error_cell(error), &|_| true);
    }
    cells
}

/// Adds the rows of a run that the table lacks as they were handed over; returns how many these were.
pub fn restore<R: AsRef<[u8]>>(
    table: &mut Table,
    header: &[u8],
    rows: &[R],
    run_id: &RunId,
    path: &std::path::Path,
) -> Result<usize, StoreError> {
    let mut bytes = header.to_vec();
    for row in rows {
        if !bytes.ends_with(b"\n") {
            bytes.push(b'\n');
        }
        bytes.extend_from_slice(row.as_ref());
    }
    let old = Table::parse(bytes).map_err(|error| super::registry::content_error(&error, path))?;
    let job_column = old.column("job_id");
    let index = table.index(run_id.as_str());
    let is_gone = |row: &usize| {
        let id = job_column.map(|column| old.cell(*row, column));
        id.is_none_or(|id| index.first_of(&String::from_utf8_lossy(&id)).is_none())
    };
    let gone: Vec<usize> = (0..old.len()).filter(is_gone).collect();
    if gone.is_empty() {
        return Ok(0);
    }
    let names: Vec<&str> = old.columns().iter().map(String::as_str).collect();
    table.ensure_columns(&names);
    let places: Vec<Option<usize>> = names.iter().map(|name| table.column(name)).collect();
    let cells_of = |row: usize| {
        let cells = old.cells(row).zip(&places);
        cells
            .filter_map(|(cell, place)| {
                let text = String::from_utf8_lossy(&cell).into_owned();
                place.map(|place| (place, text))
            })
            .collect()
    };
    let rows: Vec<Vec<(usize, String)>> = gone.into_iter().map(cells_of).collect();
    table.append(&rows);
    Ok(rows.len())
}
