//! `run remove`: takes a run out of the workspace that has nothing to lose.

use std::sync::Arc;

use crate::domain::id::RunId;
use crate::domain::text::counted;
use crate::engine::event::{Event, EventKind, Sink};
use crate::ops::run_log::RunLog;
use crate::ops::{OpsContext, OpsError, identity};
use crate::store::upkeep::Waiting;

pub use crate::store::upkeep::Removal;

/// Removes a run, unless something in it would be lost or `confirm` says no. Returns
/// nothing then.
pub fn remove_run(
    context: &OpsContext,
    run_id: &RunId,
    confirm: &dyn Fn(&Removal) -> bool,
    waiting: Waiting<'_>,
) -> Result<Option<Removal>, OpsError> {
    let removed = context.local().remove(run_id, confirm, waiting)?;
    if let Some(removal) = &removed {
        note(context, run_id, removal);
    }
    Ok(removed)
}

/// Leaves one line in the log; trouble with that is no reason to complain.
fn note(context: &OpsContext, run_id: &RunId, removal: &Removal) {
    struct Silent;
    impl Sink for Silent {
        fn report(&self, _event: &Event) {}
    }
    let worker = identity::worker_identity(&context.settings).worker_id;
    let path = context.workspace.log("worker");
    let log = RunLog::open(&path, &worker, Arc::new(Silent));
    log.report(&Event {
        at: context.clock.now(),
        run_id: run_id.clone(),
        kind: EventKind::Notice {
            message: format!("run removed: {}", counted(removal.rows, "row")),
        },
    });
}
