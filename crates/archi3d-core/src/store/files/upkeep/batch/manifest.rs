//! The manifest of a run, completed from the registry.
//!
//! It keeps every job of the run, finished ones too: jobs it has stay where they
//! are, jobs that only the registry has are added in the registry's order. Other
//! tools write it in place, so a row may be half a row: then the registry counts.

use std::collections::HashSet;
use std::path::Path;

use crate::domain::id::RunId;
use crate::domain::spreadsheet::KnownIds;
use crate::domain::text::{counted, plural, shell_word};
use crate::store::error::StoreError;
use crate::store::files::{Contradictions, SubjectColumns};
use crate::store::manifest::Manifest;
use crate::store::table_file::{self, Columns};
use crate::table::{RowEdit, Table, TableError};

const MANIFEST_COLUMNS: &[&str] = &[
    "job_id",
    "product_id",
    "variant",
    "algo",
    "used_n_images",
    "used_image_1_path",
    "used_image_2_path",
    "used_image_3_path",
    "used_image_4_path",
    "used_image_5_path",
    "used_image_6_path",
    "image_set_hash",
    "gt_object_path",
    "product_name",
    "manufacturer",
];

/// How many rows are handed to the table at a time: bounds the memory they take.
const AT_A_TIME: usize = 8192;

/// The columns that decide from which pictures a job generates: six paths and their hash.
const PICTURE_COLUMNS: &[&str] = MANIFEST_COLUMNS.split_at(5).1.split_at(7).0;

/// A manifest, and whether its file must be written.
#[derive(Debug)]
pub(in crate::store::files) struct Completed {
    /// The whole table.
    pub(in crate::store::files) table: Table,
    /// Whether it says more than the file.
    pub(in crate::store::files) changed: bool,
    /// What looked wrong, one sentence each.
    pub(in crate::store::files) warnings: Vec<String>,
}

/// Reads the manifest, adds what it lacks and repairs what contradicts the registry.
pub(in crate::store::files) fn complete(
    registry: &mut Table,
    registry_path: &Path,
    manifest_path: &Path,
    run_id: &RunId,
) -> Result<Completed, StoreError> {
    let of_manifest = |error: TableError| table_file::content(manifest_path, &error);
    let of_registry = |error: TableError| table_file::content(registry_path, &error);
    let mut warnings = Vec::new();
    let (mut manifest, cut) = read(manifest_path)?;
    manifest.require(&["job_id"]).map_err(of_manifest)?;
    let before = manifest.len();
    let index = registry.index(run_id.as_str());
    let has = |id: &str| index.first_of(id).is_some();
    drop_cut_id(&mut manifest, has);
    let mut repaired = before - manifest.len() + usize::from(cut);
    let mut jobs = Manifest::read(&manifest).map_err(of_manifest)?.rows;
    if manifest.ends_without_line_end()
        && !manifest.is_empty()
        && manifest.is_short(manifest.len() - 1)
    {
        // It was cut off, and says nothing for certain.
        jobs.pop();
    }
    let found = Contradictions::find(registry, run_id, &jobs);
    if let Some(why) = contradiction(&found) {
        return Err(refusal(why, registry_path, run_id));
    }
    let listed = listed(&manifest).map_err(of_manifest)?;
    let missing = missing(registry, run_id, listed).map_err(of_registry)?;
    if missing.without_algo > 0 {
        warnings.push(format!(
            "{} of run {run_id} in {} without an algo: no job can be made of that, \
             and the manifest leaves it out",
            counted(missing.without_algo, "row"),
            registry_path.display()
        ));
    }
    if let Some((cell, id)) = missing.altered.first() {
        warnings.push(format!(
            "{} of run {run_id} in {} with an id that a spreadsheet has changed (such as {cell} for {id}), \
             which the manifest leaves out: `archi3d registry rebuild --run-id {}` sets it right",
            counted(missing.altered.len(), "row"),
            registry_path.display(),
            shell_word(run_id.as_str())
        ));
    }
    if !missing.rows.is_empty() {
        manifest.ensure_columns(MANIFEST_COLUMNS);
    }
    let edits = repairing(&manifest, registry, run_id).map_err(of_registry)?;
    repaired += edits.len();
    manifest.patch(&edits);
    append(&mut manifest, registry, &missing.rows).map_err(of_registry)?;
    if repaired > 0 {
        warnings.push(format!(
            "{} of {} had been cut off or named fewer pictures than the registry: made again from it",
            counted(repaired, "row"),
            manifest_path.display()
        ));
    }
    Ok(Completed {
        changed: repaired > 0 || !missing.rows.is_empty(),
        table: manifest,
        warnings,
    })
}

/// Says how the registry contradicts the manifest: what is written from it then would be
/// another job for the same thing.
fn contradiction(found: &Contradictions) -> Option<String> {
    if let Some((job, _)) = found.mixed_up.first() {
        return Some(format!(
            "{} another product, variant, algo or picture than the manifest (such as that of {job}), \
             as when one column is sorted alone",
            plural(found.mixed_up.len(), "row names", "rows name"),
        ));
    }
    let (cell, job, _) = found.renamed.first()?;
    Some(format!(
        "{} an id that the manifest has not, though it has the job (such as {cell} for {job})",
        plural(found.renamed.len(), "row has", "rows have"),
    ))
}

/// Refuses to add jobs to a run whose rows are not what they were.
pub(super) fn refusal(why: String, registry_path: &Path, run_id: &RunId) -> StoreError {
    StoreError::Content {
        what: format!("run {run_id}: {why}; no job was added"),
        path: registry_path.to_owned(),
        hint: format!(
            "`archi3d registry rebuild --run-id {}` sets it right",
            shell_word(run_id.as_str())
        ),
    }
}

/// Reads the file, and tells whether its end had to be given up. What a writer
/// that died left (nothing, half a header, an open quote) can all be made again.
fn read(path: &Path) -> Result<(Table, bool), StoreError> {
    let fresh = || Table::with_header(MANIFEST_COLUMNS);
    let mut end = None;
    loop {
        let Some(mut bytes) = table_file::read_bytes(path)? else {
            return Ok((fresh(), false));
        };
        let cut = end.is_some();
        bytes.truncate(end.unwrap_or(bytes.len()));
        match Table::parse(bytes) {
            Ok(table) if table.is_empty() && table.ends_without_line_end() => {
                return Ok((fresh(), cut));
            }
            Ok(table) => return Ok((table, cut)),
            Err(TableError::Empty | TableError::NoHeader) => return Ok((fresh(), cut)),
            Err(TableError::UnclosedQuote { line }) => {
                end = Some(start_of_line(path, line)?);
            }
            Err(error) => return Err(table_file::content(path, &error)),
        }
    }
}

fn start_of_line(path: &Path, line: usize) -> Result<usize, StoreError> {
    let bytes = table_file::read_bytes(path)?.unwrap_or_default();
    let mut breaks = memchr::memchr_iter(b'\n', &bytes);
    let before = line.checked_sub(2).and_then(|earlier| breaks.nth(earlier));
    Ok(before.map_or(0, |at| at + 1))
}

/// Removes a last row that was cut within its id, so that no job has half a name.
fn drop_cut_id(manifest: &mut Table, has: impl Fn(&str) -> bool) {
    let (Some(last), Some(column)) = (manifest.len().checked_sub(1), manifest.column("job_id"))
    else {
        return;
    };
    if !manifest.ends_without_line_end() || !manifest.is_short(last) {
        return;
    }
    let known = str::from_utf8(&manifest.cell(last, column)).is_ok_and(has);
    if !known {
        manifest.remove(&[last]);
    }
}

fn listed(manifest: &Table) -> Result<HashSet<String>, TableError> {
    let job_id = Columns::find(manifest, &["job_id"]);
    let id = |row| Ok(job_id.text(manifest, row, 0)?.into_owned());
    (0..manifest.len()).map(id).collect()
}

/// Rows of the registry that the manifest lacks.
struct Missing {
    rows: Vec<usize>,
    /// How many others cannot be a job.
    without_algo: usize,
    /// Ids that a spreadsheet has changed, and what they were.
    altered: Vec<(String, String)>,
}

fn missing(
    registry: &mut Table,
    run_id: &RunId,
    mut listed: HashSet<String>,
) -> Result<Missing, TableError> {
    let mut missing = Missing {
        rows: Vec::new(),
        without_algo: 0,
        altered: Vec::new(),
    };
    let before = listed.clone();
    let known = KnownIds::new(before.iter().map(String::as_str));
    let rows: Vec<usize> = registry.index(run_id.as_str()).rows().collect();
    let columns = Columns::find(registry, &["job_id", "algo"]);
    for row in rows {
        let id = columns.text(registry, row, 0)?;
        if id.is_empty() || listed.contains(&*id) {
            continue;
        }
        if columns.text(registry, row, 1)?.trim().is_empty() {
            missing.without_algo += 1;
            continue;
        }
        if let Some(original) = known.original_of(&id) {
            missing.altered.push((id.into_owned(), original.to_owned()));
            continue;
        }
        listed.insert(id.into_owned());
        missing.rows.push(row);
    }
    Ok(missing)
}

/// Returns what must change so that every row names the pictures it has lost.
fn repairing(
    manifest: &Table,
    registry: &mut Table,
    run_id: &RunId,
) -> Result<Vec<RowEdit>, TableError> {
    let job_id = Columns::find(manifest, &["job_id"]);
    let positions = positions(manifest);
    let shared: Vec<(usize, usize)> = PICTURE_COLUMNS
        .iter()
        .filter_map(|name| Some((manifest.column(name)?, registry.column(name)?)))
        .collect();
    let copied = Columns::find(registry, MANIFEST_COLUMNS);
    let index = registry.index(run_id.as_str());
    let registry = index.table();
    let (ours, theirs) = (SubjectColumns::of(manifest), SubjectColumns::of(registry));
    let mut edits = Vec::new();
    for row in 0..manifest.len() {
        let Some(source) = index.first_of(&job_id.text(manifest, row, 0)?) else {
            continue;
        };
        // A registry of another shape may not know the pictures; then the manifest does.
        let mut known = false;
        let mut differs = manifest.is_short(row);
        for (here, there) in &shared {
            // Bytes, since a row may be cut in the middle of a letter.
            let right = registry.cell(source, *there);
            known |= !right.is_empty();
            differs = differs || manifest.cell(row, *here) != right;
        }
        // The manifest decides from which pictures a job is made: none are put in place of them.
        let same = || {
            let subject = ours.read(manifest, row);
            subject.has_same_pictures(&theirs.read(registry, source))
        };
        if known && differs && (manifest.is_short(row) || same()) {
            let cells = copy_of(registry, &copied, source, &positions, true)?;
            edits.push(RowEdit { row, cells });
        }
    }
    Ok(edits)
}

fn append(manifest: &mut Table, registry: &Table, rows: &[usize]) -> Result<(), TableError> {
    let columns = Columns::find(registry, MANIFEST_COLUMNS);
    let positions = positions(manifest);
    for rows in rows.chunks(AT_A_TIME) {
        let rows: Result<Vec<_>, TableError> = rows
            .iter()
            .map(|row| copy_of(registry, &columns, *row, &positions, false))
            .collect();
        manifest.append(&rows?);
    }
    Ok(())
}

fn positions(manifest: &Table) -> Vec<Option<usize>> {
    let names = MANIFEST_COLUMNS.iter();
    names.map(|name| manifest.column(name)).collect()
}

/// Returns a row of the registry as cells of the manifest.
fn copy_of(
    registry: &Table,
    columns: &Columns,
    row: usize,
    positions: &[Option<usize>],
    with_empty: bool,
) -> Result<Vec<(usize, String)>, TableError> {
    let mut cells = Vec::with_capacity(positions.len());
    for (index, position) in positions.iter().enumerate() {
        let text = columns.text(registry, row, index)?;
        if let Some(position) = position
            && (with_empty || !text.is_empty())
        {
            cells.push((*position, text.into_owned()));
        }
    }
    Ok(cells)
}
