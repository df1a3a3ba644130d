//! The workers of a run that are there now, by the journals that they hold.

use std::path::Path;

use crate::domain::id::{RunId, WorkerId};
use crate::store::error::{IoContext as _, StoreError};
use crate::store::upkeep::LiveWorker;
use crate::workspace::lock;
use crate::workspace::paths::Workspace;

use super::journal::{self, What};

/// Returns the workers of this machine that hold a journal of the run.
pub(super) fn live_workers(
    workspace: &Workspace,
    run: &RunId,
) -> Result<Vec<LiveWorker>, StoreError> {
    let folder = workspace.run(run).journals();
    let journals = journal::all(&folder).context("list", &folder)?;
    let held = journals
        .iter()
        .filter(|found| lock::is_held(&found.path).unwrap_or(false));
    Ok(held.filter_map(|found| opened(&found.path)).collect())
}

/// Returns the workers whose journals of the run nobody holds.
pub(super) fn gone_workers(
    workspace: &Workspace,
    run: &RunId,
) -> Result<Vec<WorkerId>, StoreError> {
    let folder = workspace.run(run).journals();
    let journals = journal::all(&folder).context("list", &folder)?.into_iter();
    let gone = journals.filter(|found| !lock::is_held(&found.path).unwrap_or(true));
    Ok(gone.map(|found| found.worker_id).collect())
}

fn opened(path: &Path) -> Option<LiveWorker> {
    let (lines, _) = journal::read(path).ok()?;
    lines.into_iter().find_map(|line| match line.what {
        What::Opened {
            worker_id, worker, ..
        } => Some(LiveWorker {
            worker_id,
            since: line.at,
            facts: worker,
        }),
        _ => None,
    })
}
