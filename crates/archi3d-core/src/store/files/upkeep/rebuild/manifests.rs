//! The job lists of runs, made again from the registry's rows where they are missing
//! or cut off. A list that is whole is never touched.

use std::collections::BTreeSet;
use std::fs;

use crate::domain::id::RunId;
use crate::domain::text::counted;
use crate::store::error::{IoContext, StoreError};
use crate::store::files::upkeep::batch::manifest;
use crate::table::Table;
use crate::workspace::durable;
use crate::workspace::lock::TableLock;
use crate::workspace::paths::Workspace;

use super::{RebuildReport, RebuildRequest};

/// Returns the runs that `table` has rows of.
pub(super) fn runs_in(table: &Table) -> BTreeSet<RunId> {
    let Some(column) = table.column("run_id") else {
        return BTreeSet::new();
    };
    let names = (0..table.len()).map(|row| table.cell(row, column));
    let names: BTreeSet<_> = names.collect();
    let names = names.iter().filter_map(|name| str::from_utf8(name).ok());
    names.filter_map(|name| RunId::parse(name).ok()).collect()
}

/// Lists the jobs of the chosen runs again that have rows and no usable list; without the
/// registry's lock it only says which.
pub(super) fn list_again(
    lock: Option<&TableLock>,
    workspace: &Workspace,
    request: &RebuildRequest,
    registry: Vec<u8>,
    report: &mut RebuildReport,
) -> Result<(), StoreError> {
    // Rows of a run without a folder may be another tool's; it must be named.
    let mut chosen = match &request.run_id {
        Some(only) => vec![only.clone()],
        None => workspace.run_ids().context("list", &workspace.runs())?,
    };
    chosen.retain(|run_id| is_missing(workspace, run_id));
    if chosen.is_empty() {
        return Ok(());
    }
    let Ok(mut table) = Table::parse(registry) else {
        return Ok(());
    };
    let with_rows = runs_in(&table);
    for run_id in chosen.iter().filter(|run_id| with_rows.contains(*run_id)) {
        list_run(lock, workspace, run_id, &mut table, report)?;
    }
    Ok(())
}

fn is_missing(workspace: &Workspace, run_id: &RunId) -> bool {
    let path = workspace.run(run_id).manifest();
    match fs::symlink_metadata(&path) {
        Ok(found) => found.is_file() && found.len() == 0,
        Err(error) => error.kind() == std::io::ErrorKind::NotFound,
    }
}

fn list_run(
    lock: Option<&TableLock>,
    workspace: &Workspace,
    run_id: &RunId,
    registry: &mut Table,
    report: &mut RebuildReport,
) -> Result<(), StoreError> {
    let (paths, registry_path) = (workspace.run(run_id), workspace.registry());
    let path = paths.manifest();
    let listed = manifest::complete(registry, &registry_path, &path, run_id)?;
    if !listed.changed {
        return Ok(());
    }
    let jobs = counted(listed.table.len(), "job");
    let shown = workspace.relative(&path).unwrap_or_default();
    report.listed.push(format!("{shown}: {jobs}"));
    report.warnings.extend(listed.warnings);
    if lock.is_none() {
        return Ok(());
    }
    fs::create_dir_all(paths.root()).context("create", paths.root())?;
    let tag = format!("{}-{}", std::process::id(), uuid::Uuid::new_v4().simple());
    durable::replace(&path, listed.table.bytes(), &tag).context("replace", &path)?;
    Ok(())
}
