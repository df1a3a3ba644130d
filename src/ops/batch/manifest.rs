//! The manifest of a run, completed from the registry.
//!
//! It keeps every job of the run, finished ones too: jobs it has stay where they
//! are, jobs that only the registry has are added in the registry's order.

use std::collections::HashSet;
use std::path::Path;

use crate::domain::id::RunId;
use crate::ops::table_file::{self, Columns};
use crate::store::csv::table::{Table, TableError};
use crate::store::error::StoreError;

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

/// A manifest, and whether its file must be written.
#[derive(Debug)]
pub(super) struct Completed {
    /// The whole table.
    pub(super) table: Table,
    /// Whether it says more than the file.
    pub(super) changed: bool,
}

/// Reads the manifest and adds what it lacks.
pub(super) fn complete(
    registry: &mut Table,
    registry_path: &Path,
    manifest_path: &Path,
    run_id: &RunId,
) -> Result<Completed, StoreError> {
    let mut manifest = match table_file::read(manifest_path)? {
        Some(table) => table,
        None => Table::with_header(MANIFEST_COLUMNS),
    };
    let of_manifest = |error: TableError| table_file::content(manifest_path, &error);
    manifest.require(&["job_id"]).map_err(of_manifest)?;
    let mut listed: HashSet<String> = HashSet::with_capacity(manifest.len());
    let job_id = Columns::find(&manifest, &["job_id"]);
    for row in 0..manifest.len() {
        let id = job_id.text(&manifest, row, 0).map_err(of_manifest)?;
        listed.insert(id.into_owned());
    }
    let rows: Vec<usize> = registry.index(run_id.as_str()).rows().collect();
    let columns = Columns::find(registry, MANIFEST_COLUMNS);
    let of_registry = |error: TableError| table_file::content(registry_path, &error);
    let mut missing = Vec::new();
    for row in rows {
        let id = columns.text(registry, row, 0).map_err(of_registry)?;
        if !id.is_empty() && !listed.contains(&*id) {
            listed.insert(id.into_owned());
            missing.push(row);
        }
    }
    let changed = !missing.is_empty();
    if changed {
        manifest.ensure_columns(MANIFEST_COLUMNS);
    }
    let positions: Vec<Option<usize>> = MANIFEST_COLUMNS
        .iter()
        .map(|name| manifest.column(name))
        .collect();
    for rows in missing.chunks(AT_A_TIME) {
        let rows: Result<Vec<_>, TableError> = rows
            .iter()
            .map(|row| copy_of(registry, &columns, *row, &positions))
            .collect();
        manifest.append(&rows.map_err(of_registry)?);
    }
    Ok(Completed {
        table: manifest,
        changed,
    })
}

fn copy_of(
    registry: &Table,
    columns: &Columns,
    row: usize,
    positions: &[Option<usize>],
) -> Result<Vec<(usize, String)>, TableError> {
    let mut cells = Vec::with_capacity(positions.len());
    for (index, position) in positions.iter().enumerate() {
        let text = columns.text(registry, row, index)?;
        if let Some(position) = position
            && !text.is_empty()
        {
            cells.push((*position, text.into_owned()));
        }
    }
    Ok(cells)
}
