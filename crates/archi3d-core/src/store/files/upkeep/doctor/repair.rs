//! Repairs what can be repaired without losing or buying anything: the same recovery
//! that every worker starts with, temporary files, and records of rows.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::domain::finding::{Code, Finding};
use crate::domain::id::{JobId, RunId};
use crate::platform::fault;
use crate::store::bounds::refuse_links_outside;
use crate::store::error::{IoContext, StoreError};
use crate::store::files::upkeep::{FileUpkeep, created_rows};
use crate::store::files::{self, FileStore, StateNames};
use crate::store::{Opening, WorkerIdentity, WorkerStore, table_file};
use crate::workspace::durable;
use crate::workspace::lock::TableLock;

/// Carries out what `findings` say can be repaired; returns what could not be, one
/// sentence each. Live workers may go on meanwhile.
pub(in crate::store::files) fn repair(
    context: &FileUpkeep,
    findings: &[Finding],
    identity: &dyn Fn() -> WorkerIdentity,
) -> Result<Vec<String>, StoreError> {
    refuse_links_outside(&context.workspace, None)?;
    let mut troubles = Vec::new();
    let mut recover = BTreeSet::new();
    let mut record = BTreeSet::new();
    let mut damaged = BTreeSet::new();
    let mut sweep = false;
    for finding in findings.iter().filter(|finding| finding.is_repairable()) {
        let run_id = finding
            .run_id
            .as_deref()
            .and_then(|run| RunId::parse(run).ok());
        match (finding.code, run_id) {
            (Code::Unrecorded, Some(run_id)) => drop(record.insert(run_id)),
            (code, Some(run_id)) => {
                if code == Code::DamagedMarker {
                    damaged.insert(run_id.clone());
                }
                recover.insert(run_id);
            }
            (_, None) => sweep = true,
        }
    }
    if sweep {
        let swept = sweep_tables(context);
        troubles.extend(swept.err().map(|error| error.to_string()));
    }
    for run_id in record {
        let recorded = record_rows(context, &run_id);
        troubles.extend(recorded.err().map(|error| format!("run {run_id}: {error}")));
    }
    for run_id in recover {
        match recover_run(context, &run_id, identity(), damaged.contains(&run_id)) {
            Ok(warnings) => troubles.extend(warnings),
            Err(error) => troubles.push(format!("run {run_id}: {error}")),
        }
    }
    Ok(troubles)
}

fn lock_registry(context: &FileUpkeep) -> Result<TableLock, StoreError> {
    let workspace = &context.workspace;
    let lock = TableLock::acquire(workspace, |_| true);
    let lock = lock.context("lock", &workspace.registry_lock())?;
    Ok(lock.expect("whoever never gives up gets the lock"))
}

fn sweep_tables(context: &FileUpkeep) -> Result<(), StoreError> {
    let lock = lock_registry(context)?;
    let registry = context.workspace.registry();
    fault::here("mend.sweeping");
    durable::sweep_temporaries(&registry, lock.file()).context("sweep", &registry)?;
    Ok(())
}

/// Records the run's rows as they were made, as far as the table still tells.
fn record_rows(context: &FileUpkeep, run_id: &RunId) -> Result<(), StoreError> {
    refuse_links_outside(&context.workspace, Some(run_id))?;
    let lock = lock_registry(context)?;
    let Some(mut table) = table_file::read(&context.workspace.registry())? else {
        return Ok(());
    };
    let path = context.workspace.run(run_id).rows();
    let rows = table.len();
    let record = created_rows::with_new_rows(&mut table, &path, run_id, rows)?;
    let tag = uuid::Uuid::new_v4().simple().to_string();
    // An earlier doctor may have died over it.
    durable::sweep_temporaries(&path, lock.file()).context("sweep", &path)?;
    durable::replace(&path, &record, &tag).context("replace", &path)?;
    fault::here("mend.recorded");
    Ok(())
}

/// Does for a run what every worker does before its first job; `damaged` also sees to
/// its damaged markers.
fn recover_run(
    context: &FileUpkeep,
    run_id: &RunId,
    identity: WorkerIdentity,
    damaged: bool,
) -> Result<Vec<String>, StoreError> {
    let opening = Opening::to_act(run_id, identity, Arc::new(|_| ()));
    let store = FileStore::open(context.options(opening))?;
    let recovery = store.recover(context.clock.now())?;
    fault::here("mend.recovered");
    if damaged {
        let now = context.clock.now();
        let names = StateNames::list(&context.workspace.run(run_id));
        let exam = files::examine(&context.workspace, run_id, None, names, (now, false))?;
        let jobs: Vec<JobId> = exam
            .damaged_markers
            .into_iter()
            .map(|marker| marker.job_id)
            .collect();
        store.repair_markers(&jobs, now)?;
    }
    store.close(context.clock.now())?;
    Ok(recovery.warnings)
}
