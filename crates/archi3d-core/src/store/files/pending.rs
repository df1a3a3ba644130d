//! Endings and results that only a dead worker's journal knows: the next start publishes
//! them before it runs anything.
//!
//! For whoever foretells what a start does. Reads only; publishing is `recover`'s.

use std::collections::HashMap;

use crate::domain::id::{JobId, RunId};
use crate::store::error::{IoContext, StoreError};
use crate::workspace::lock;
use crate::workspace::paths::Workspace;

use super::evidence::Evidence;
use super::journal::{self, What};
use super::marker::Marker;

/// Returns the jobs whose ending waits to be published, with its attempt.
pub(super) fn unpublished(
    workspace: &Workspace,
    run_id: &RunId,
) -> Result<HashMap<JobId, u32>, StoreError> {
    let paths = workspace.run(run_id);
    let (folder, state) = (paths.journals(), paths.state());
    let mut endings = HashMap::new();
    for found in journal::unclosed(&folder).context("list", &folder)? {
        if lock::is_held(&found.path).context("look at", &found.path)? {
            continue;
        }
        let (lines, _) = journal::read(&found.path).context("read", &found.path)?;
        for line in lines {
            let (job, nonce, attempt) = match line.what {
                What::Finished(ended) => (ended.job_id, ended.nonce, ended.attempt),
                What::Made(made) => (made.job_id, made.nonce, made.attempt),
                _ => continue,
            };
            let evidence = Evidence::read(&paths, &job).context("read markers in", &state)?;
            let lease = evidence.lease().and_then(Marker::record);
            if lease.is_some_and(|lease| lease.nonce == nonce) {
                endings.insert(job, attempt);
            }
        }
    }
    Ok(endings)
}
