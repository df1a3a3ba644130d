//! Mends what can be mended without losing or buying anything: the same recovery
//! that every worker starts with, temporary files, and records of rows.

use std::collections::BTreeSet;

use crate::domain::finding::{Code, Finding};
use crate::domain::id::{JobId, RunId};
use crate::ops::{OpsContext, OpsError, created_rows, table_file};
use crate::platform::fault;
use crate::store::WorkerStore;
use crate::store::error::{IoContext, StoreError};
use crate::store::files::{self, FileStore, StateNames, refuse_links_outside};
use crate::workspace::durable;
use crate::workspace::lock::FileLock;

use super::Target;

/// Carries out what `findings` say can be mended; returns what could not be, one
/// sentence each. Live workers may go on meanwhile.
pub fn repair(target: &Target, findings: &[Finding]) -> Result<Vec<String>, OpsError> {
    let context = match &target.context {
        Ok(context) => context,
        Err(error) => {
            return Err(OpsError::Setup {
                message: error.to_string(),
                hint: Some("set the configuration right first; nothing was mended".into()),
            });
        }
    };
    refuse_links_outside(&context.workspace, None)?;
    let mut troubles = Vec::new();
    let mut recover = BTreeSet::new();
    let mut record = BTreeSet::new();
    let mut damaged = BTreeSet::new();
    let mut sweep = false;
    for finding in findings.iter().filter(|finding| finding.is_mendable()) {
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
        match recover_run(context, &run_id, damaged.contains(&run_id)) {
            Ok(warnings) => troubles.extend(warnings),
            Err(error) => troubles.push(format!("run {run_id}: {error}")),
        }
    }
    Ok(troubles)
}

fn lock_registry(context: &OpsContext) -> Result<FileLock, StoreError> {
    let lock = context.workspace.registry_lock();
    let held = FileLock::acquire(&lock, |_| true).context("lock", &lock)?;
    Ok(held.expect("whoever never gives up gets the lock"))
}

fn sweep_tables(context: &OpsContext) -> Result<(), StoreError> {
    let _held = lock_registry(context)?;
    let registry = context.workspace.registry();
    fault::here("mend.sweeping");
    durable::sweep_temporaries(&registry).context("sweep", &registry)?;
    Ok(())
}

/// Records the run's rows as they were made, as far as the table still tells.
fn record_rows(context: &OpsContext, run_id: &RunId) -> Result<(), StoreError> {
    refuse_links_outside(&context.workspace, Some(run_id))?;
    let _held = lock_registry(context)?;
    let Some(mut table) = table_file::read(&context.workspace.registry())? else {
        return Ok(());
    };
    let path = context.workspace.run(run_id).rows();
    let rows = table.len();
    let record = created_rows::with_new_rows(&mut table, &path, run_id, rows)?;
    let tag = uuid::Uuid::new_v4().simple().to_string();
    // An earlier doctor may have died over it.
    durable::sweep_temporaries(&path).context("sweep", &path)?;
    durable::replace(&path, &record, &tag).context("replace", &path)?;
    fault::here("mend.recorded");
    Ok(())
}

/// Does for a run what every worker does before its first job; `damaged` also sees to
/// its damaged markers.
fn recover_run(
    context: &OpsContext,
    run_id: &RunId,
    damaged: bool,
) -> Result<Vec<String>, StoreError> {
    let store = FileStore::open(context.store_options(run_id))?;
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
        store.mend_markers(&jobs, now)?;
    }
    store.close(context.clock.now())?;
    Ok(recovery.warnings)
}
