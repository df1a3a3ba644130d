//! Jobs become rows of the registry and of the run's manifest.
//!
//! Works under the registry's lock on fresh rows, adds only jobs the run lacks
//! and leaves every existing row as it is. A record of the new rows is written
//! first, then the registry: if the process dies before the manifest, the same
//! command completes the manifest.

use std::fs;
use std::path::{Path, PathBuf};

use crate::domain::id::RunId;
use crate::domain::plan::Plan;
use crate::domain::time::Clock;
use crate::platform::{self, fault};
use crate::store::error::{IoContext, StoreError};
use crate::store::files::pulled;
use crate::store::table_file;
use crate::store::upkeep::{Added, Waiting};
use crate::table::Table;
use crate::workspace::durable::{self, Beside};
use crate::workspace::lock::TableLock;
use crate::workspace::paths::Workspace;
use crate::workspace::pictures::PictureMarks;

use super::created_rows;

pub(super) mod manifest;
mod rows;

pub(super) use rows::REGISTRY_COLUMNS;

/// Leaves out of a plan what the run has already; reads only.
pub(super) fn leave_out_existing(
    workspace: &Workspace,
    run_id: &RunId,
    plan: &mut Plan<'_>,
) -> Result<(), StoreError> {
    match table_file::read(&workspace.registry())? {
        Some(mut table) => rows::leave_out(plan, &mut table, workspace, run_id),
        None => Ok(()),
    }
}

/// Adds the jobs that runs lack. Nothing if the wait for the registry's lock was given up.
pub(super) fn add_jobs(
    workspace: &Workspace,
    clock: &dyn Clock,
    runs: &mut [(&RunId, &mut Plan<'_>)],
    waiting: Waiting<'_>,
) -> Result<Option<Vec<Added>>, StoreError> {
    let Some(held) = locked(workspace, waiting)? else {
        return Ok(None);
    };
    let mut registry = registry(&workspace.registry())?;
    for (run_id, plan) in &mut *runs {
        rows::leave_out(plan, &mut registry, workspace, run_id)?;
    }
    let first_new = registry.len();
    let mut grown = Vec::new();
    for (run_id, plan) in runs {
        rows::append(&mut registry, plan, run_id, clock);
        let images = plan.jobs.iter().flat_map(|job| &job.item.images).cloned();
        grown.push(Grown {
            run_id: (*run_id).clone(),
            grows: !plan.jobs.is_empty(),
            images: images.collect(),
        });
    }
    publish(&held, workspace, (&mut registry, first_new), &grown).map(Some)
}

/// A run that gets rows.
struct Grown {
    run_id: RunId,
    /// Whether there are any.
    grows: bool,
    /// Their pictures.
    images: Vec<String>,
}

/// Returns the rows that a new run would have, each with its job, and the line above them.
pub(super) fn new_rows(plan: &Plan<'_>, run_id: &RunId, clock: &dyn Clock) -> Table {
    let mut table = Table::with_header(REGISTRY_COLUMNS);
    rows::append(&mut table, plan, run_id, clock);
    table
}

/// Adds rows that another store has and the registry lacks; returns whether the registry's lock could be had.
pub(super) fn add_rows(
    workspace: &Workspace,
    run_id: &RunId,
    header: &[u8],
    rows: &[Vec<u8>],
    waiting: Waiting<'_>,
) -> Result<bool, StoreError> {
    let Some(held) = locked(workspace, waiting)? else {
        return Ok(false);
    };
    let path = workspace.registry();
    let mut registry = registry(&path)?;
    let first_new = registry.len();
    pulled::restore(&mut registry, header, rows, run_id, &path)?;
    let names = &REGISTRY_COLUMNS[21..27];
    let places: Vec<usize> = names
        .iter()
        .filter_map(|name| registry.column(name))
        .collect();
    let new = (first_new..registry.len()).flat_map(|row| places.iter().map(move |at| (row, *at)));
    let images = new.map(|(row, at)| String::from_utf8_lossy(&registry.cell(row, at)).into_owned());
    let grown = Grown {
        images: images.filter(|path| !path.is_empty()).collect(),
        grows: registry.len() > first_new,
        run_id: run_id.clone(),
    };
    publish(&held, workspace, (&mut registry, first_new), &[grown])?;
    Ok(true)
}

fn locked(workspace: &Workspace, waiting: Waiting<'_>) -> Result<Option<TableLock>, StoreError> {
    let lock = workspace.registry_lock();
    fs::create_dir_all(workspace.tables()).context("create", &workspace.tables())?;
    TableLock::acquire(workspace, waiting).context("lock", &lock)
}

fn registry(path: &Path) -> Result<Table, StoreError> {
    let found = table_file::read(path)?;
    Ok(found.unwrap_or_else(|| Table::with_header(REGISTRY_COLUMNS)))
}

/// What is written of one run.
struct Files {
    manifest: manifest::Completed,
    /// The files, in the order in which they take their names: the record of its rows, its pictures.
    first: Vec<(PathBuf, Vec<u8>)>,
    manifest_path: PathBuf,
}

/// Writes the registry's rows from `first_new` on, and what else runs have of them. Everything is on the disk before the
/// first file takes its name.
fn publish(
    lock: &TableLock,
    workspace: &Workspace,
    (registry, first_new): (&mut Table, usize),
    runs: &[Grown],
) -> Result<Vec<Added>, StoreError> {
    let registry_path = workspace.registry();
    let tag = format!("{}-{}", std::process::id(), uuid::Uuid::new_v4().simple());
    let mut files = Vec::new();
    for run in runs {
        files.push(files_of(workspace, registry, first_new, run)?);
    }
    fault::here("batch.before");
    let mut new_folder = false;
    for (run, files) in runs.iter().zip(&files) {
        if files.manifest.changed || run.grows {
            let folder = workspace.run(&run.run_id).root().to_owned();
            new_folder |= !folder.is_dir();
            fs::create_dir_all(&folder).context("create", &folder)?;
            workspace.make_reports();
            fault::here("batch.folder_made");
        }
    }
    if new_folder {
        // Not every file system keeps a folder because what is in it is kept.
        platform::sync_dir(&workspace.runs()).context("sync", &workspace.runs())?;
    }
    let first: Vec<(&Path, &[u8])> = files
        .iter()
        .flat_map(|files| &files.first)
        .map(|(path, bytes)| (path.as_path(), bytes.as_slice()))
        .collect();
    let grows = runs.iter().any(|run| run.grows);
    let table = grows.then(|| (registry_path.as_path(), registry.bytes()));
    let changed = files.iter().filter(|files| files.manifest.changed);
    let last: Vec<(&Path, &[u8])> = changed
        .map(|files| (files.manifest_path.as_path(), files.manifest.table.bytes()))
        .collect();
    let all: Vec<(&Path, &[u8])> = first.iter().chain(&table).chain(&last).copied().collect();
    for (path, _) in &all {
        // What dead writers left goes; it is never read, and only takes room.
        durable::sweep_temporaries(path, lock.file())
            .context("look through the folder of", path)?;
    }
    let beside = Beside::write(&all, &tag).context("write beside", &registry_path)?;
    let take = |files: &[(&Path, &[u8])]| {
        let paths: Vec<&Path> = files.iter().map(|(path, _)| *path).collect();
        let named = paths.first().copied().unwrap_or(&registry_path);
        beside.take_names(&paths).context("replace", named)
    };
    // First, so that no row is ever without the record it can be made again from.
    take(&first)?;
    fault::here("batch.record_written");
    take(&table.into_iter().collect::<Vec<_>>())?;
    fault::here("batch.registry_written");
    take(&last)?;
    if !last.is_empty() {
        fault::here("batch.manifest_written");
    }
    let added = files.into_iter().map(|files| Added {
        listed: files.manifest.table.len(),
        warnings: files.manifest.warnings,
    });
    Ok(added.collect())
}

/// Makes the files of a run, and writes none of them.
fn files_of(
    workspace: &Workspace,
    registry: &mut Table,
    first_new: usize,
    run: &Grown,
) -> Result<Files, StoreError> {
    let paths = workspace.run(&run.run_id);
    let manifest_path = paths.manifest();
    let manifest =
        manifest::complete(registry, &workspace.registry(), &manifest_path, &run.run_id)?;
    let mut first = Vec::new();
    if run.grows {
        let record_path = paths.rows();
        let record = created_rows::with_new_rows(registry, &record_path, &run.run_id, first_new)?;
        first.push((record_path, record));
        let pictures_path = paths.pictures();
        let mut pictures = PictureMarks::read(&pictures_path);
        pictures.look(workspace, run.images.iter().map(String::as_str));
        let pictures = pictures.to_bytes().context("write", &pictures_path)?;
        first.push((pictures_path, pictures));
    }
    Ok(Files {
        manifest,
        first,
        manifest_path,
    })
}
