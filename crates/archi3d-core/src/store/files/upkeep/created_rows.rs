//! `runs/<run>/rows.csv`: the rows of a run as `batch create` made them.
//!
//! What a row says from the start (texts, pictures, `created_at`, its place in the
//! table) is written down nowhere else, so this is what a lost registry is made
//! again from. Nothing that happens to a job later is in it.

use std::collections::HashSet;
use std::path::Path;

use crate::domain::id::RunId;
use crate::domain::job::Status;
use crate::domain::spreadsheet::KnownIds;
use crate::store::error::StoreError;
use crate::store::files::upkeep::batch::REGISTRY_COLUMNS;
use crate::store::files::{SubjectColumns, SubjectKey};
use crate::store::table_file;
use crate::table::Table;

/// The column that tells which row of the registry it was, counted from 1.
pub(super) const PLACE: &str = "table_row";

/// What a worker writes into columns that a new row has.
const LATER: &[&str] = &["status", "algo_version"];

/// Reads the record of a run; one that cannot be read is as good as none, and the
/// sentence returned beside it says so.
pub(super) fn read(path: &Path) -> Result<(Option<Table>, Option<String>), StoreError> {
    let Some(bytes) = table_file::read_bytes(path)? else {
        return Ok((None, None));
    };
    let parsed = Table::parse(bytes).and_then(|table| {
        table.require(&[PLACE, "run_id", "job_id"])?;
        Ok(table)
    });
    match parsed {
        Ok(table) => Ok((Some(table), None)),
        Err(error) => {
            let warning = format!("{} cannot be used: {error}", path.display());
            Ok((None, Some(warning)))
        }
    }
}

/// Returns the record of a run with the registry's rows from `first_new` on added,
/// and with older rows of the run that it lacks.
pub(super) fn with_new_rows(
    registry: &mut Table,
    path: &Path,
    run_id: &RunId,
    first_new: usize,
) -> Result<Vec<u8>, StoreError> {
    let rows: Vec<usize> = registry.index(run_id.as_str()).rows().collect();
    let (record, _) = read(path)?;
    match record {
        None if rows.first().is_none_or(|first| *first >= first_new) => {
            Ok(copied_whole(registry, &rows))
        }
        record => Ok(completed(record, registry, run_id, &rows, first_new)),
    }
}

/// Returns the record of rows that nothing has happened to yet, byte for byte.
fn copied_whole(registry: &Table, rows: &[usize]) -> Vec<u8> {
    let mut bytes = b"\xEF\xBB\xBF".to_vec();
    let mut line = |first: &[u8], rest: &[u8]| {
        bytes.extend_from_slice(first);
        bytes.push(b',');
        bytes.extend_from_slice(rest);
        bytes.extend_from_slice(registry.line_end());
    };
    line(PLACE.as_bytes(), registry.raw_header());
    for row in rows {
        line((row + 1).to_string().as_bytes(), registry.raw(*row));
    }
    bytes
}

fn completed(
    record: Option<Table>,
    registry: &Table,
    run_id: &RunId,
    rows: &[usize],
    first_new: usize,
) -> Vec<u8> {
    let names: Vec<&str> = registry.columns().iter().map(String::as_str).collect();
    let mut columns = vec![PLACE];
    columns.extend(names);
    let mut record =
        record.unwrap_or_else(|| table_file::empty_like(&columns, Some(registry.bytes())));
    record.ensure_columns(&columns);
    let job_column = registry.column("job_id");
    let job_of = |row: usize| {
        let cell = job_column.map(|column| registry.cell(row, column));
        String::from_utf8_lossy(&cell.unwrap_or_default()).into_owned()
    };
    // A batch that died before it wrote the registry left rows that were never there.
    let mut void = Vec::new();
    let mut missing = Vec::new();
    let recorded: Vec<String> = match record.column("job_id") {
        Some(column) => (0..record.len())
            .map(|row| String::from_utf8_lossy(&record.cell(row, column)).into_owned())
            .collect(),
        None => Vec::new(),
    };
    let ids = KnownIds::new(recorded.iter().map(String::as_str));
    let subjects = recorded_subjects(&record);
    let columns = SubjectColumns::of(registry);
    let index = record.index(run_id.as_str());
    for row in rows {
        if *row < first_new && ids.original_of(&job_of(*row)).is_some() {
            // No job was ever made with an id that a spreadsheet has changed.
            continue;
        }
        let known: Vec<usize> = index.rows_of(&job_of(*row)).collect();
        if *row >= first_new {
            void.extend(&known);
        }
        let key = || columns.read(registry, *row).key();
        let is_new = || key().is_none_or(|key| !subjects.contains(&key));
        if *row >= first_new || known.is_empty() && is_new() {
            missing.push(*row);
        }
    }
    record.remove(&void);
    let cells: Vec<Vec<(usize, String)>> = missing
        .iter()
        .map(|row| made(registry, *row, &record))
        .collect();
    record.append(&cells);
    record.into_bytes()
}

/// Returns what the recorded jobs are made from: the same by another id is no other job.
pub(super) fn recorded_subjects(record: &Table) -> HashSet<SubjectKey> {
    let columns = SubjectColumns::of(record);
    let rows = 0..record.len();
    rows.filter_map(|row| columns.read(record, row).key())
        .collect()
}

/// Returns a row as it was made: without what happened to its job since.
fn made(registry: &Table, row: usize, record: &Table) -> Vec<(usize, String)> {
    let mut cells = Vec::new();
    for (name, cell) in registry.columns().iter().zip(registry.cells(row)) {
        let Some(column) = record.column(name) else {
            continue;
        };
        let by_batch = REGISTRY_COLUMNS.contains(&name.as_str());
        if by_batch && !LATER.contains(&name.as_str()) {
            cells.push((column, String::from_utf8_lossy(&cell).into_owned()));
        }
    }
    let own = [
        ("status", Status::Enqueued.word().to_owned()),
        (PLACE, (row + 1).to_string()),
    ];
    let own = own
        .into_iter()
        .filter_map(|(name, text)| Some((record.column(name)?, text)));
    cells.extend(own);
    cells
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(text: &str) -> Table {
        Table::parse(format!("\u{feff}{text}").into_bytes()).unwrap()
    }

    fn run() -> RunId {
        RunId::parse("r").unwrap()
    }

    #[test]
    fn rows_that_were_just_made_are_kept_byte_for_byte() {
        let mut registry =
            table("run_id,job_id,status,notes\r\nq,a,enqueued,\r\nr,b,enqueued,\"x, y\"\r\n");
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows.csv");
        let bytes = with_new_rows(&mut registry, &path, &run(), 1).unwrap();
        let expected =
            "\u{feff}table_row,run_id,job_id,status,notes\r\n2,r,b,enqueued,\"x, y\"\r\n";
        assert_eq!(String::from_utf8(bytes).unwrap(), expected);
    }

    #[test]
    fn a_record_is_completed_with_older_rows_and_rid_of_rows_that_were_never_there() {
        let mut registry = table(
            "run_id,job_id,status,created_at,error_msg\nr,a,failed,1,bad\nr,b,enqueued,2,\nr,c,enqueued,3,\n",
        );
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows.csv");
        std::fs::write(
            &path,
            "\u{feff}table_row,run_id,job_id,status,created_at\n2,r,b,enqueued,2\n3,r,c,enqueued,0\n",
        )
        .unwrap();
        let bytes = with_new_rows(&mut registry, &path, &run(), 2).unwrap();
        let expected = "\u{feff}table_row,run_id,job_id,status,created_at,error_msg\n\
            2,r,b,enqueued,2,\n1,r,a,enqueued,1,\n3,r,c,enqueued,3,\n";
        assert_eq!(String::from_utf8(bytes).unwrap(), expected);
    }

    #[test]
    fn a_record_that_cannot_be_read_is_made_again() {
        let mut registry = table("run_id,job_id,status\nr,a,completed\nr,b,enqueued\n");
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows.csv");
        std::fs::write(&path, "half a \"").unwrap();
        let bytes = with_new_rows(&mut registry, &path, &run(), 1).unwrap();
        let expected = "\u{feff}table_row,run_id,job_id,status\n1,r,a,enqueued\n2,r,b,enqueued\n";
        assert_eq!(String::from_utf8(bytes).unwrap(), expected);
    }
}
