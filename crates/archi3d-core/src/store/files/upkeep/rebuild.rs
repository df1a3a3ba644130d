//! `registry rebuild`: makes the registry's rows again from what is recorded.
//!
//! Rows as they were made come from `runs/<run>/rows.csv`, what happened to them
//! from journals and markers. What nobody recorded (columns of other tools, notes)
//! is kept from the table or taken from copies of it. The table as it was is
//! always kept aside. Beside the table only job lists are written that are missing.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::domain::id::RunId;
use crate::domain::text::shell_word;
use crate::domain::time::{Clock, Timestamp};
use crate::platform::{self, fault};
use crate::store::bounds::{refuse_linked_run, refuse_links_outside, refuse_pushed};
use crate::store::error::{IoContext, StoreError};
use crate::store::table_file;
use crate::workspace::durable;
use crate::workspace::lock::TableLock;
use crate::workspace::paths::Workspace;

mod assemble;
mod manifests;
mod report;
mod sources;

use sources::{Items, OldTable};

pub use report::RebuildReport;

/// What is to be made again.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RebuildRequest {
    /// Only the rows of this run; without it those of all runs.
    pub run_id: Option<RunId>,
    /// Write nothing.
    pub dry_run: bool,
    /// Write the table there instead, and leave the registry as it is.
    pub output: Option<PathBuf>,
}

/// Makes the rows again. While the registry's lock is busy, `waiting` hears for
/// how long and gives up by returning `false`.
pub fn rebuild(
    workspace: &Workspace,
    clock: &dyn Clock,
    request: &RebuildRequest,
    waiting: &mut dyn FnMut(Duration) -> bool,
) -> Result<RebuildReport, StoreError> {
    // A mistyped run must leave no trace, not even a lock file.
    check_run(workspace, request)?;
    if request.dry_run || request.output.is_some() {
        let (bytes, _, mut report) = made_again(workspace, request)?;
        report.dry_run = request.dry_run;
        if request.dry_run {
            manifests::list_again(None, workspace, request, bytes, &mut report)?;
        } else if let Some(output) = &request.output {
            publish(output, &bytes)?;
            report.written = Some(output.display().to_string());
        }
        return Ok(report);
    }
    refuse_links_outside(workspace, request.run_id.as_ref())?;
    let (lock, tables) = (workspace.registry_lock(), workspace.tables());
    fs::create_dir_all(&tables).context("create", &tables)?;
    let held = TableLock::acquire(workspace, waiting).context("lock", &lock)?;
    let held = held.ok_or_else(|| StoreError::Refused {
        message: "gave up waiting for tables/generations.lock".into(),
        hint: Some("nothing was changed; try again later".into()),
    })?;
    let (bytes, old, mut report) = made_again(workspace, request)?;
    if report.unchanged {
        manifests::list_again(Some(&held), workspace, request, bytes, &mut report)?;
        return Ok(report);
    }
    fault::here("rebuild.before");
    // A row may say `completed` only if its result would survive a power loss.
    let folder = File::open(workspace.root()).context("open", workspace.root())?;
    platform::sync_file_system(&folder).context("sync", workspace.root())?;
    if old.exists {
        report.kept_as = keep_aside(workspace, clock.now())?;
        fault::here("rebuild.kept_aside");
    }
    let path = workspace.registry();
    let tag = format!("{}-{}", std::process::id(), uuid::Uuid::new_v4().simple());
    durable::replace(&path, &bytes, &tag).context("replace", &path)?;
    fault::here("rebuild.written");
    report.written = workspace.relative(&path);
    manifests::list_again(Some(&held), workspace, request, bytes, &mut report)?;
    Ok(report)
}

fn check_run(workspace: &Workspace, request: &RebuildRequest) -> Result<(), StoreError> {
    let Some(run_id) = &request.run_id else {
        return Ok(());
    };
    let has_rows = || {
        let old = sources::old_table(workspace).ok()?;
        old.table
            .map(|table| manifests::runs_in(&table).contains(run_id))
    };
    refuse_linked_run(workspace, run_id)?;
    if workspace.run(run_id).in_fleet() {
        refuse_pushed(workspace, run_id)?;
    }
    if workspace.has_run(run_id) || has_rows() == Some(true) {
        return Ok(());
    }
    Err(StoreError::Refused {
        message: format!("there is no folder runs/{run_id} and no row of that run"),
        hint: Some("check --run-id; without it the rows of all runs are made again".into()),
    })
}

/// Returns the table as it should be, the table as it is, and what differs.
fn made_again(
    workspace: &Workspace,
    request: &RebuildRequest,
) -> Result<(Vec<u8>, OldTable, RebuildReport), StoreError> {
    if let Some(run_id) = &request.run_id {
        let old = sources::old_table(workspace)?;
        if old.table.is_none() {
            return Err(StoreError::Refused {
                message: format!(
                    "{}: the rows of other runs than {run_id} would be left out",
                    old.trouble.unwrap_or_default()
                ),
                hint: Some("leave --run-id out to make the rows of all runs again".into()),
            });
        }
    }
    let mut report = RebuildReport::default();
    let items = Items::at(workspace.items());
    let mut runs = Vec::new();
    let mut warnings = Vec::new();
    for run_id in sources::runs(workspace)? {
        let selected = request.run_id.as_ref().is_none_or(|only| *only == run_id);
        let mut run = sources::records(workspace, &run_id, &items)?;
        run.selected = selected;
        if selected && workspace.run(&run_id).in_fleet() {
            run.selected = false;
            run.warnings.clear();
            warnings.push(format!(
                "run {run_id} lives in a fleet and is not changed; `archi3d fleet pull --run-id {}` brings its rows back",
                shell_word(run_id.as_str())
            ));
        }
        if run.selected {
            warnings.extend(run.warnings.iter().cloned());
        }
        runs.push(run);
    }
    // The largest of all, so it is read when nothing has to stand beside it any more
    // that is not needed.
    let mut old = sources::old_table(workspace)?;
    report.warnings.extend(old.trouble.clone());
    report.warnings.extend(warnings);
    let donors = sources::donors(workspace)?;
    let nothing = runs.iter().all(|run| run.rows.is_empty()) && donors.is_empty();
    if nothing && old.table.is_none() {
        return Err(StoreError::Refused {
            message: format!(
                "{} and nothing is recorded from which it could be made again",
                old.trouble.unwrap_or_default()
            ),
            hint: Some("`archi3d batch create` makes the rows of a new run".into()),
        });
    }
    let table = assemble::registry(old.table.take(), &donors, &runs, &mut report)?;
    let bytes = table.into_bytes();
    let path = workspace.registry();
    report.unchanged = old.exists && durable::says(&path, &bytes).context("read", &path)?;
    Ok((bytes, old, report))
}

/// Keeps the table as it is under a name of its own, and returns that name.
fn keep_aside(workspace: &Workspace, now: Timestamp) -> Result<Option<String>, StoreError> {
    let Some(bytes) = table_file::read_bytes(&workspace.registry())? else {
        return Ok(None);
    };
    let stamp = now.as_datetime().format("%Y%m%dT%H%M%SZ").to_string();
    for number in 1u32.. {
        let again = if number == 1 {
            String::new()
        } else {
            format!("-{number}")
        };
        let name = format!("{}{stamp}{again}", sources::ASIDE);
        let path = workspace.tables().join(name);
        if let Some(file) = platform::publish(&path, &bytes).context("write", &path)? {
            file.sync_all().context("sync", &path)?;
            return Ok(Some(workspace.relative(&path).unwrap_or_default()));
        }
    }
    unreachable!("one of four billion names is free")
}

fn publish(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    match platform::publish(path, bytes).context("write", path)? {
        Some(file) => file.sync_all().context("sync", path),
        None => Err(StoreError::Refused {
            message: format!("{} is there already", path.display()),
            hint: Some("give --output a name that is free".into()),
        }),
    }
}
