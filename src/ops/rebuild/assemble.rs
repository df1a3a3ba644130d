//! Puts rows that were lost back to their places and gives every row what the
//! records say. Cells that no record knows keep their bytes.

use std::collections::{HashMap, HashSet};

use crate::domain::patch::WORKER_COLUMNS;
use crate::domain::reconcile::DOWNGRADED;
use crate::domain::spreadsheet::KnownIds;
use crate::ops::batch::REGISTRY_COLUMNS;
use crate::ops::table_file;
use crate::store::csv::table::{RowEdit, Table};

use super::report::RebuildReport;
use super::sources::{Donor, Made, Origin, RunRecords};

/// A row's key.
type Key = (String, String);

/// Makes the registry again; `old` is what can be read of it.
pub(super) fn registry(
    old: Option<Table>,
    donors: &[Donor],
    runs: &[RunRecords],
    report: &mut RebuildReport,
) -> Table {
    let lost = old.is_none();
    let mut table = old.unwrap_or_else(|| empty(donors, runs));
    report.rows_before = table.len();
    for run in runs.iter().filter(|run| run.selected) {
        set_ids_right(&mut table, run, report);
    }
    let missing = missing(&mut table, runs);
    let inserted: HashSet<Key> = missing.iter().map(|row| key(row.run, row.made)).collect();
    for row in &missing {
        report.count_restored(row.made.origin);
    }
    insert(&mut table, runs, &missing);
    let unrecorded = if lost {
        take_unrecorded(&mut table, donors, report)
    } else {
        HashSet::new()
    };
    fill_from_donors(&mut table, donors, runs, &inserted, report);
    let before: HashSet<usize> = new_rows(&mut table, &inserted, &unrecorded);
    correct(&mut table, runs, &before, report);
    report.rows_after = table.len();
    table
}

/// Gives rows their id back that a spreadsheet has changed. Where the job has a row all the
/// same, the changed one goes: it is no job of its own.
fn set_ids_right(table: &mut Table, run: &RunRecords, report: &mut RebuildReport) {
    let Some(column) = table.column("job_id") else {
        return;
    };
    let recorded: HashSet<&str> = run.rows.iter().map(|made| made.job.as_str()).collect();
    let known = KnownIds::new(recorded.iter().copied());
    let index = table.index(run.run_id.as_str());
    let mut taken: HashSet<&str> = recorded
        .iter()
        .copied()
        .filter(|job| index.first_of(job).is_some())
        .collect();
    let by_content = by_content(run, &taken);
    let rows: Vec<usize> = index.rows().collect();
    let table_now = index.table();
    let (mut edits, mut void) = (Vec::new(), Vec::new());
    for row in rows {
        let cell = table_now.cell(row, column);
        let cell = String::from_utf8_lossy(&cell);
        if recorded.contains(&*cell) || run.history.vouches_for(&cell) {
            continue;
        }
        let text = |name| text_at(table_now, row, name);
        let by_id = known.original_of(&cell);
        let by_pictures = || *by_content.get(&(text("algo"), text("image_set_hash")))?;
        let Some(original) = by_id.or_else(by_pictures) else {
            continue;
        };
        if taken.insert(original) {
            report.note_id(&cell, original);
            let cells = vec![(column, original.to_owned())];
            edits.push(RowEdit { row, cells });
        } else if by_id.is_some() {
            report.note_second_row(&cell, original);
            void.push(row);
        }
    }
    table.patch(&edits);
    table.remove(&void);
}

/// Returns the jobs of a run without a row by what they are made from; nothing where two
/// are alike.
fn by_content<'a>(run: &'a RunRecords, taken: &HashSet<&str>) -> HashMap<Key, Option<&'a str>> {
    let mut jobs = HashMap::new();
    for made in &run.rows {
        let text = |name: &str| {
            let cell = made.cells.iter().find(|(column, _)| column == name);
            cell.map(|(_, text)| text.clone()).unwrap_or_default()
        };
        let key = (text("algo"), text("image_set_hash"));
        if taken.contains(made.job.as_str()) || key.0.is_empty() || key.1.is_empty() {
            continue;
        }
        let job = jobs.entry(key).or_insert(Some(made.job.as_str()));
        if job.is_some_and(|other| other != made.job) {
            *job = None;
        }
    }
    jobs
}

fn text_at(table: &Table, row: usize, name: &str) -> String {
    let cell = table.column(name).map(|column| table.cell(row, column));
    String::from_utf8_lossy(&cell.unwrap_or_default()).into_owned()
}

fn key(run: &RunRecords, made: &Made) -> Key {
    (run.run_id.to_string(), made.job.clone())
}

/// Makes a table without rows that has the columns of the one that is lost.
fn empty(donors: &[Donor], runs: &[RunRecords]) -> Table {
    let latest = runs.iter().max_by_key(|run| run.last_place());
    let mut columns: Vec<&str> = Vec::new();
    let copied = donors
        .first()
        .into_iter()
        .flat_map(|donor| donor.table.columns());
    let recorded = latest.into_iter().flat_map(|run| &run.header);
    let named = copied.chain(recorded).map(String::as_str);
    for name in named.chain(REGISTRY_COLUMNS.iter().copied()) {
        if !columns.contains(&name) {
            columns.push(name);
        }
    }
    let copied = donors.first().map(|donor| donor.table.line_end());
    let line_end = copied.or(latest.map(|run| run.line_end)).unwrap_or(b"\n");
    table_file::empty_like(&columns, Some(&[b"x", line_end].concat()))
}

/// A row that the table lacks.
struct Missing<'a> {
    run: &'a RunRecords,
    made: &'a Made,
}

/// Returns the rows that the table lacks, in the order in which they were made;
/// those of which nobody knows the place were there before there was a record.
fn missing<'a>(table: &mut Table, runs: &'a [RunRecords]) -> Vec<Missing<'a>> {
    let mut missing = Vec::new();
    for run in runs.iter().filter(|run| run.selected) {
        let index = table.index(run.run_id.as_str());
        let lacks = |made: &&Made| index.first_of(&made.job).is_none();
        let rows = run.rows.iter().filter(lacks);
        missing.extend(rows.map(|made| Missing { run, made }));
    }
    missing.sort_by_key(|row| row.made.place);
    missing
}

/// Puts rows behind the row that stood before them.
fn insert(table: &mut Table, runs: &[RunRecords], missing: &[Missing<'_>]) {
    if missing.is_empty() {
        return;
    }
    let selected = runs.iter().filter(|run| run.selected);
    let names = selected.flat_map(|run| &run.header).map(String::as_str);
    let names: Vec<&str> = names.chain(REGISTRY_COLUMNS.iter().copied()).collect();
    table.ensure_columns(&names);
    let first_new = table.len();
    let cells: Vec<Vec<(usize, String)>> = missing
        .iter()
        .map(|row| {
            let cells = row.made.cells.iter();
            cells
                .filter_map(|(name, text)| Some((table.column(name)?, text.clone())))
                .collect()
        })
        .collect();
    table.append(&cells);
    let order = order(table, runs, missing, first_new);
    if order.windows(2).any(|pair| pair[0] > pair[1]) {
        *table = reordered(table, &order);
    }
}

/// Returns the rows of the table in the order they are to have.
fn order(
    table: &mut Table,
    runs: &[RunRecords],
    missing: &[Missing<'_>],
    first_new: usize,
) -> Vec<usize> {
    let mut placed: Vec<(usize, usize)> = Vec::new();
    for run in runs {
        let index = table.index(run.run_id.as_str());
        let rows = run.rows.iter().filter_map(|made| {
            let row = index.first_of(&made.job)?;
            Some((made.place?, row))
        });
        placed.extend(rows);
    }
    placed.sort_unstable();
    let mut followers: HashMap<Option<usize>, Vec<usize>> = HashMap::new();
    let placed_rows: HashSet<usize> = placed.iter().map(|(_, row)| *row).collect();
    let unplaced = (first_new..first_new + missing.len()).filter(|row| !placed_rows.contains(row));
    followers.entry(None).or_default().extend(unplaced);
    let mut anchor = None;
    for (_, row) in placed {
        if row < first_new {
            anchor = Some(row);
        } else {
            followers.entry(anchor).or_default().push(row);
        }
    }
    let mut order = Vec::with_capacity(table.len());
    order.extend(followers.remove(&None).unwrap_or_default());
    for row in 0..first_new {
        order.push(row);
        order.extend(followers.remove(&Some(row)).unwrap_or_default());
    }
    order
}

/// Returns the same table with its rows in another order, byte for byte.
fn reordered(table: &Table, order: &[usize]) -> Table {
    let mut bytes = Vec::with_capacity(table.bytes().len());
    if table.is_utf8() {
        bytes.extend_from_slice(b"\xEF\xBB\xBF");
    }
    bytes.extend_from_slice(table.raw_header());
    bytes.extend_from_slice(table.line_end());
    for row in order {
        bytes.extend_from_slice(table.raw(*row));
        bytes.extend_from_slice(table.line_end());
    }
    Table::parse(bytes).expect("rows of a table are a table in any order")
}

/// Takes rows from copies that no record knows; only where the table itself is lost.
fn take_unrecorded(
    table: &mut Table,
    donors: &[Donor],
    report: &mut RebuildReport,
) -> HashSet<Key> {
    let mut taken = HashSet::new();
    for donor in donors {
        let names: Vec<&str> = donor.table.columns().iter().map(String::as_str).collect();
        table.ensure_columns(&names);
        let mut rows = Vec::new();
        for row in 0..donor.table.len() {
            let key = key_of(&donor.table, row);
            let known = table.index(&key.0).first_of(&key.1).is_some();
            if known || key.1.is_empty() || !taken.insert(key) {
                continue;
            }
            let cells = names.iter().zip(donor.table.cells(row));
            let cells = cells.filter_map(|(name, cell)| {
                Some((
                    table.column(name)?,
                    String::from_utf8_lossy(&cell).into_owned(),
                ))
            });
            rows.push(cells.collect());
        }
        report.note_copied_rows(&donor.name, rows.len());
        table.append(&rows);
    }
    taken
}

fn key_of(table: &Table, row: usize) -> Key {
    (text_at(table, row, "run_id"), text_at(table, row, "job_id"))
}

/// Fills cells of rows that were lost with what copies say and no record does.
fn fill_from_donors(
    table: &mut Table,
    donors: &[Donor],
    runs: &[RunRecords],
    inserted: &HashSet<Key>,
    report: &mut RebuildReport,
) {
    for donor in donors {
        let names: Vec<&str> = donor.table.columns().iter().map(String::as_str).collect();
        let mut edits = Vec::new();
        for donor_row in 0..donor.table.len() {
            let (run, job) = key_of(&donor.table, donor_row);
            if !inserted.contains(&(run.clone(), job.clone())) {
                continue;
            }
            let records = runs.iter().find(|records| records.run_id.as_str() == run);
            let vouched = records.is_some_and(|records| records.history.vouches_for(&job));
            table.ensure_columns(&names);
            let Some(row) = table.index(&run).first_of(&job) else {
                continue;
            };
            let mut cells = Vec::new();
            for (name, cell) in names.iter().zip(donor.table.cells(donor_row)) {
                let (Some(column), Ok(text)) = (table.column(name), str::from_utf8(&cell)) else {
                    continue;
                };
                let by_worker = WORKER_COLUMNS.contains(name) || *name == "algo_version";
                let free = table.cell(row, column).is_empty() && !(by_worker && vouched);
                if !text.is_empty() && (free || (*name == "status" && !vouched)) {
                    cells.push((column, text.to_owned()));
                }
            }
            if !cells.is_empty() {
                edits.push(RowEdit { row, cells });
            }
        }
        report.note_copied_cells(&donor.name, edits.iter().map(|edit| edit.cells.len()).sum());
        table.patch(&edits);
    }
}

fn new_rows(table: &mut Table, inserted: &HashSet<Key>, taken: &HashSet<Key>) -> HashSet<usize> {
    let mut rows = HashSet::new();
    for (run, job) in inserted.iter().chain(taken) {
        rows.extend(table.index(run).rows_of(job));
    }
    rows
}

/// Gives every row what the records say, and tells what was different.
fn correct(
    table: &mut Table,
    runs: &[RunRecords],
    new: &HashSet<usize>,
    report: &mut RebuildReport,
) {
    let mut right = Table::parse(table.bytes().to_vec()).expect("it is a table");
    let mut recorded = HashSet::new();
    for run in runs.iter().filter(|run| run.selected) {
        let edits = as_made(&mut right, run, new, &mut recorded);
        right.patch(&edits);
        run.history.replay(&mut right);
    }
    let names: Vec<&str> = right.columns().iter().map(String::as_str).collect();
    table.ensure_columns(&names);
    let mut edits = Vec::new();
    for row in &recorded {
        let mut cells = Vec::new();
        let pairs = right.cells(*row).zip(table.cells(*row)).enumerate();
        for (column, (wanted, found)) in pairs {
            if wanted != found {
                cells.push((column, String::from_utf8_lossy(&wanted).into_owned()));
            }
        }
        if cells.is_empty() {
            continue;
        }
        if !new.contains(row) {
            let columns = cells.iter().map(|(column, _)| names[*column]);
            report.count_corrected(columns);
        }
        edits.push(RowEdit { row: *row, cells });
    }
    table.patch(&edits);
    report.unrecorded = table.len() - recorded.len() - unselected(table, runs);
}

fn unselected(table: &mut Table, runs: &[RunRecords]) -> usize {
    let others = runs.iter().filter(|run| !run.selected);
    others
        .map(|run| table.index(run.run_id.as_str()).rows().count())
        .sum()
}

/// Returns what brings a run's rows back to what they were when they were made,
/// as far as the records can bring them forward again.
fn as_made(
    table: &mut Table,
    run: &RunRecords,
    new: &HashSet<usize>,
    recorded: &mut HashSet<usize>,
) -> Vec<RowEdit> {
    let column = |table: &Table, name: &str| table.column(name);
    let error = column(table, "error_msg");
    let later: Vec<(usize, &str)> = WORKER_COLUMNS
        .iter()
        .chain(&["algo_version"])
        .filter_map(|name| Some((table.column(name)?, "")))
        .chain(table.column("status").map(|status| (status, "enqueued")))
        .collect();
    let index = table.index(run.run_id.as_str());
    let table = index.table();
    let mut edits = Vec::new();
    for made in &run.rows {
        for row in index.rows_of(&made.job) {
            recorded.insert(row);
            if new.contains(&row) {
                continue;
            }
            let mut cells = Vec::new();
            if made.origin == Origin::Record {
                let own = made.cells.iter().filter(|(name, _)| name != "status");
                cells.extend(
                    own.filter_map(|(name, text)| Some((column(table, name)?, text.clone()))),
                );
            }
            // Somebody found its result missing or broken; no record knows better.
            let downgraded = error.is_some_and(|error| {
                String::from_utf8_lossy(&table.cell(row, error)).ends_with(DOWNGRADED)
            });
            if run.history.vouches_for(&made.job) && !downgraded {
                cells.extend(later.iter().map(|(at, text)| (*at, (*text).to_owned())));
            }
            edits.push(RowEdit { row, cells });
        }
    }
    edits
}
