//! Puts rows that were lost back to their places and gives every row what the
//! records say. Cells that no record knows keep their bytes.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::iter;

use rayon::prelude::*;

use crate::domain::patch::WORKER_COLUMNS;
use crate::domain::reconcile::DOWNGRADED;
use crate::domain::spreadsheet::KnownIds;
use crate::store::error::StoreError;
use crate::store::files::upkeep::batch::REGISTRY_COLUMNS;
use crate::store::files::{SubjectColumns, SubjectKey};
use crate::store::table_file;
use crate::table::{RowEdit, Table};

use super::report::RebuildReport;
use super::sources::{Donor, Made, Origin, RunRecords};

/// A row's key.
type Key = (String, String);

/// How many rows are worked on at a time: cells of their own take ten times the room of
/// the table's bytes.
const AT_A_TIME: usize = 1024;

/// How many times so many are changed in the table together: each time all bytes behind
/// the first of them are moved.
const TOGETHER: usize = 16;

/// Makes the registry again; `old` is what can be read of it.
pub(super) fn registry(
    old: Option<Table>,
    donors: &[Donor],
    runs: &[RunRecords<'_>],
    report: &mut RebuildReport,
) -> Result<Table, StoreError> {
    let lost = old.is_none();
    let mut table = old.unwrap_or_else(|| empty(donors, runs));
    report.rows_before = table.len();
    for run in runs.iter().filter(|run| run.selected) {
        set_ids_right(&mut table, run, report);
    }
    let missing = missing(&mut table, runs);
    for row in &missing {
        report.count_restored(row.made.origin);
    }
    let mut new = insert(&mut table, runs, &missing);
    drop(missing);
    let recorded = table.len();
    if lost {
        take_unrecorded(&mut table, donors, report);
    }
    fill_from_donors(&mut table, donors, runs, &new, report);
    new.extend(recorded..table.len());
    correct(&mut table, runs, &new, report)?;
    report.rows_after = table.len();
    Ok(table)
}

/// Gives rows their id back that a spreadsheet has changed, by itself or with that of another
/// row. Where the job has a row all the same, the changed one goes: it is no job of its own.
fn set_ids_right(table: &mut Table, run: &RunRecords<'_>, report: &mut RebuildReport) {
    let Some(column) = table.column("job_id") else {
        return;
    };
    if table.index(run.run_id.as_str()).is_empty() {
        return;
    }
    let columns = SubjectColumns::of(table);
    let jobs = run.rows.iter().map(|made| (&*made.job, made));
    let jobs: HashMap<&str, &Made> = jobs.collect();
    let rows: Vec<usize> = table.index(run.run_id.as_str()).rows().collect();
    let cell_of = |row| String::from_utf8_lossy(&table.cell(row, column)).into_owned();
    let seen: &Table = table;
    let is_wrong = |row: &usize| {
        let cell = seen.cell(*row, column);
        let cell = String::from_utf8_lossy(&cell);
        match jobs.get(&*cell) {
            Some(made) => !columns.read(seen, *row).agrees(&run.subject(made)),
            None => !run.history.vouches_for(&cell),
        }
    };
    let wrong: Vec<usize> = rows.par_iter().copied().filter(is_wrong).collect();
    if wrong.is_empty() {
        return;
    }
    let mut of_wrong = wrong.iter().peekable();
    let mut taken = HashSet::new();
    for row in rows {
        if of_wrong.next_if_eq(&&row).is_none()
            && let Some((job, _)) = jobs.get_key_value(cell_of(row).as_str())
        {
            taken.insert(*job);
        }
    }
    let by_key = by_key(run, &jobs);
    let known = KnownIds::new(jobs.keys().copied());
    let by_content = by_content(run, &taken);
    let (mut edits, mut void) = (Vec::new(), Vec::new());
    for row in wrong {
        let cell = cell_of(row);
        let text = |name| text_at(table, row, name);
        let by_subject = || *by_key.get(&columns.read(table, row).key()?)?;
        let by_pictures = || *by_content.get(&(text("algo"), text("image_set_hash")))?;
        let by_id = known.original_of(&cell).or_else(by_subject);
        let Some(original) = by_id.or_else(by_pictures) else {
            continue;
        };
        if original == cell {
            // Its other cells are wrong, and are set right with those of all rows.
            taken.insert(original);
        } else if taken.insert(original) {
            report.note_id(&cell, original);
            let cells = vec![(column, original.to_owned())];
            edits.push(RowEdit { row, cells });
        } else if by_id.is_some() && !jobs.contains_key(cell.as_str()) {
            report.note_second_row(&cell, original);
            void.push(row);
        }
    }
    table.patch(&edits);
    table.remove(&void);
}

/// Returns jobs by what they are made from; nothing where two are alike.
fn by_key<'a>(
    run: &RunRecords<'_>,
    jobs: &HashMap<&'a str, &Made>,
) -> HashMap<SubjectKey, Option<&'a str>> {
    let mut keys = HashMap::new();
    for (job, made) in jobs {
        if let Some(key) = run.subject(made).key() {
            let alike = keys.entry(key).or_insert(Some(*job));
            if *alike != Some(*job) {
                *alike = None;
            }
        }
    }
    keys
}

/// Returns the jobs of a run without a row by what they are made from; nothing where two
/// are alike.
fn by_content<'a>(run: &'a RunRecords<'_>, taken: &HashSet<&str>) -> HashMap<Key, Option<&'a str>> {
    let mut jobs = HashMap::new();
    for made in run.rows.iter().filter(|made| !taken.contains(&*made.job)) {
        let cells = run.cells(made);
        let text = |name: &str| {
            let cell = cells.iter().find(|(column, _)| column == name);
            cell.map(|(_, text)| text.clone()).unwrap_or_default()
        };
        let key = (text("algo"), text("image_set_hash"));
        if key.0.is_empty() || key.1.is_empty() {
            continue;
        }
        let job = jobs.entry(key).or_insert(Some(&*made.job));
        if job.is_some_and(|other| other != &*made.job) {
            *job = None;
        }
    }
    jobs
}

fn text_at(table: &Table, row: usize, name: &str) -> String {
    let cell = table.column(name).map(|column| table.cell(row, column));
    String::from_utf8_lossy(&cell.unwrap_or_default()).into_owned()
}

/// Makes a table without rows that has the columns of the one that is lost.
fn empty(donors: &[Donor], runs: &[RunRecords<'_>]) -> Table {
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
    run: &'a RunRecords<'a>,
    made: &'a Made,
}

/// Returns the rows that the table lacks, in the order in which they were made;
/// those of which nobody knows the place were there before there was a record.
fn missing<'a>(table: &mut Table, runs: &'a [RunRecords<'a>]) -> Vec<Missing<'a>> {
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

/// Puts rows behind the row that stood before them; returns where they are.
fn insert(table: &mut Table, runs: &[RunRecords<'_>], missing: &[Missing<'_>]) -> HashSet<usize> {
    if missing.is_empty() {
        return HashSet::new();
    }
    let selected = runs.iter().filter(|run| run.selected);
    let names = selected.flat_map(|run| &run.header).map(String::as_str);
    let names: Vec<&str> = names.chain(REGISTRY_COLUMNS.iter().copied()).collect();
    table.ensure_columns(&names);
    let first_new = table.len();
    for some in missing.chunks(AT_A_TIME) {
        let places = places(table);
        let cells_of = |row: &Missing<'_>| {
            let cells = row.run.cells(row.made).into_iter();
            let cells = cells.filter_map(|(name, text)| Some((*places.get(&*name)?, text)));
            cells.collect()
        };
        let cells: Vec<Vec<(usize, String)>> = some.iter().map(cells_of).collect();
        drop(places);
        table.append(&cells);
    }
    let order = order(table, runs, missing, first_new);
    if order.windows(2).any(|pair| pair[0] > pair[1]) {
        *table = reordered(table, &order);
    }
    let is_new = |(_, old): &(usize, &usize)| **old >= first_new;
    let new = order.iter().enumerate().filter(is_new);
    new.map(|(row, _)| row).collect()
}

/// Returns where each column of the table is.
fn places(table: &Table) -> HashMap<&str, usize> {
    // Of several without a name the first counts.
    let columns = table.columns().iter().enumerate().rev();
    columns.map(|(at, name)| (name.as_str(), at)).collect()
}

/// Returns the rows of the table in the order they are to have.
fn order(
    table: &mut Table,
    runs: &[RunRecords<'_>],
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
fn take_unrecorded(table: &mut Table, donors: &[Donor], report: &mut RebuildReport) {
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
}

fn key_of(table: &Table, row: usize) -> Key {
    (text_at(table, row, "run_id"), text_at(table, row, "job_id"))
}

/// Fills cells of rows that were lost with what copies say and no record does.
fn fill_from_donors(
    table: &mut Table,
    donors: &[Donor],
    runs: &[RunRecords<'_>],
    inserted: &HashSet<usize>,
    report: &mut RebuildReport,
) {
    if inserted.is_empty() {
        return;
    }
    for donor in donors {
        let names: Vec<&str> = donor.table.columns().iter().map(String::as_str).collect();
        let mut edits = Vec::new();
        for donor_row in 0..donor.table.len() {
            let (run, job) = key_of(&donor.table, donor_row);
            let row = table.index(&run).first_of(&job);
            let Some(row) = row.filter(|row| inserted.contains(row)) else {
                continue;
            };
            let records = runs.iter().find(|records| records.run_id.as_str() == run);
            let vouched = records.is_some_and(|records| records.history.vouches_for(&job));
            table.ensure_columns(&names);
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

/// Gives every row what the records say, and tells what was different.
fn correct(
    table: &mut Table,
    runs: &[RunRecords<'_>],
    new: &HashSet<usize>,
    report: &mut RebuildReport,
) -> Result<(), StoreError> {
    let mut recorded = 0;
    for run in runs.iter().filter(|run| run.selected) {
        let told = told_rows(table, run);
        recorded += told.chunk_by(|a, b| a.0 == b.0).count();
        let mut rest = told.as_slice();
        while !rest.is_empty() {
            let mut parts = Vec::new();
            while parts.len() < TOGETHER && !rest.is_empty() {
                let some;
                (some, rest) = rest.split_at(end_of_some(rest));
                parts.push(some);
            }
            let parts = parts.par_iter();
            let corrected = parts.map(|some| corrections(table, run, some, new));
            let corrected: Vec<(Vec<String>, Vec<RowEdit>)> =
                corrected.collect::<Result<_, StoreError>>()?;
            let mut edits = Vec::new();
            for (columns, of_part) in corrected {
                let names: Vec<&str> = columns.iter().map(String::as_str).collect();
                table.ensure_columns(&names);
                for edit in of_part.iter().filter(|edit| !new.contains(&edit.row)) {
                    let columns = edit.cells.iter().map(|(column, _)| names[*column]);
                    report.count_corrected(columns);
                }
                edits.extend(of_part);
            }
            if !edits.is_empty() {
                table.patch(&edits);
            }
        }
    }
    report.unrecorded = table.len() - recorded - unselected(table, runs);
    Ok(())
}

/// Returns what is to be changed in some rows, and the columns by which it counts: those of
/// the table, and behind them those that it lacks.
fn corrections(
    table: &Table,
    run: &RunRecords<'_>,
    some: &[(usize, &Made)],
    new: &HashSet<usize>,
) -> Result<(Vec<String>, Vec<RowEdit>), StoreError> {
    let right = as_recorded(table, run, some, new)?;
    let mut edits = Vec::new();
    for (at, of_row) in some.chunk_by(|a, b| a.0 == b.0).enumerate() {
        let row = of_row[0].0;
        let found = table
            .cells(row)
            .chain(iter::repeat(Cow::Borrowed(&b""[..])));
        let pairs = right.cells(at).zip(found).enumerate();
        let wrong = pairs.filter(|(_, (wanted, found))| wanted != found);
        let text = |cell: &[u8]| String::from_utf8_lossy(cell).into_owned();
        let cells: Vec<(usize, String)> = wrong
            .map(|(column, (wanted, _))| (column, text(&wanted)))
            .collect();
        if !cells.is_empty() {
            edits.push(RowEdit { row, cells });
        }
    }
    Ok((right.columns().to_vec(), edits))
}

/// Returns the rows of a run that are recorded, each with the records of it.
fn told_rows<'a>(table: &mut Table, run: &'a RunRecords<'_>) -> Vec<(usize, &'a Made)> {
    let index = table.index(run.run_id.as_str());
    let mut told: Vec<(usize, &Made)> = Vec::with_capacity(run.rows.len());
    for made in &run.rows {
        told.extend(index.rows_of(&made.job).map(|row| (row, made)));
    }
    told.sort_by_key(|(row, _)| *row);
    told
}

/// Returns how many are to be worked on next; what belongs to one row stays together.
fn end_of_some(rest: &[(usize, &Made)]) -> usize {
    let end = rest.len().min(AT_A_TIME);
    let row = rest[end - 1].0;
    end + rest[end..].iter().take_while(|next| next.0 == row).count()
}

fn unselected(table: &mut Table, runs: &[RunRecords<'_>]) -> usize {
    let others = runs.iter().filter(|run| !run.selected);
    others
        .map(|run| table.index(run.run_id.as_str()).rows().count())
        .sum()
}

/// Returns a table of some rows as the records say they should be: brought back to what
/// they were when they were made, as far as the records can bring them forward again.
fn as_recorded(
    table: &Table,
    run: &RunRecords<'_>,
    some: &[(usize, &Made)],
    new: &HashSet<usize>,
) -> Result<Table, StoreError> {
    let rows: Vec<usize> = some.chunk_by(|a, b| a.0 == b.0).map(|of| of[0].0).collect();
    let mut right = excerpt(table, &rows);
    let error = table.column("error_msg");
    let columns = SubjectColumns::of(table);
    let places = places(table);
    let later: Vec<(usize, &str)> = WORKER_COLUMNS
        .iter()
        .chain(&["algo_version"])
        .filter_map(|name| Some((table.column(name)?, "")))
        .chain(table.column("status").map(|status| (status, "enqueued")))
        .collect();
    let mut edits = Vec::new();
    for (at, of_row) in some.chunk_by(|a, b| a.0 == b.0).enumerate() {
        for (row, made) in of_row.iter().filter(|(row, _)| !new.contains(row)) {
            let mut cells = Vec::new();
            let found = || columns.read(table, *row);
            if made.origin == Origin::Record || !run.subject(made).agrees(&found()) {
                cells.extend(run.changed(made, table, *row, &places));
            }
            // Somebody found its result missing or broken; no record knows better.
            let downgraded = error.is_some_and(|error| {
                String::from_utf8_lossy(&table.cell(*row, error)).ends_with(DOWNGRADED)
            });
            if (run.history.vouches_for(&made.job) || is_anothers(made, table, *row)) && !downgraded
            {
                cells.extend(later.iter().map(|(at, text)| (*at, (*text).to_owned())));
            }
            edits.push(RowEdit { row: at, cells });
        }
    }
    right.patch(&edits);
    drop(edits);
    let jobs: HashSet<&str> = some.iter().map(|(_, made)| &*made.job).collect();
    run.history.replay(&mut right, jobs.into_iter())?;
    Ok(right)
}

/// Tells whether a row has the result of another job, which an id that stood in the wrong
/// row has brought there.
fn is_anothers(made: &Made, table: &Table, row: usize) -> bool {
    let Some(column) = table.column("gen_object_path") else {
        return false;
    };
    let path = String::from_utf8_lossy(&table.cell(row, column)).into_owned();
    let mut parts = path.rsplit('/').skip(1);
    let folder = parts.next().unwrap_or_default();
    parts.next() == Some("outputs") && folder != &*made.job
}

/// Returns a table of these rows alone, in this order, byte for byte.
fn excerpt(table: &Table, rows: &[usize]) -> Table {
    let mut bytes = table.raw_header().to_vec();
    bytes.extend_from_slice(table.line_end());
    for row in rows {
        let raw = table.raw(*row);
        bytes.extend_from_slice(raw);
        // A carriage return at the end is text: a plain line feed would swallow it.
        let is_text = raw.ends_with(b"\r");
        bytes.extend_from_slice(if is_text { b"\r\n" } else { table.line_end() });
    }
    Table::parse(bytes).expect("rows of a table are a table")
}
