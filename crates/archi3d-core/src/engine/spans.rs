//! The span of an attempt, from the moment its job was asked for, and what is told of it there: ids, classes and sums,
//! never what an adapter or a service says.

use std::time::Instant;

use serde_json::json;

use crate::domain::lease::Lease;
use crate::engine::event::EventKind;
use crate::engine::executor::Executor;
use crate::store::{Ending, Finish, JobRecord, StoreError};
use crate::trace::{self, Entered, Start};

impl Executor<'_> {
    /// Begins the span of an attempt whose job was asked for and had between these moments. It is the beginning of a
    /// trace, unless the worker was started in one: those of all jobs in one would be too large for anybody.
    pub(super) fn enter(
        &self,
        job: &JobRecord,
        lease: &Lease,
        (asked, had): (Instant, Instant),
    ) -> Entered {
        let entered = trace::begin(
            "job",
            Start {
                link: self.conditions.trace,
                since: Some(asked),
                ..Start::default()
            },
        );
        trace::set("run_id", lease.run_id.as_str());
        trace::set("job_id", lease.job_id.as_str());
        trace::set("attempt", lease.attempt);
        trace::set("algo", self.algo_of(job));
        trace::set("entry", json!(lease.entry));
        trace::set("worker_id", lease.worker_id.as_str());
        if let Some(place) = trace::outermost() {
            trace::past("claim", place, asked, had);
        }
        entered
    }

    /// Tells the store how an attempt ended.
    pub(super) fn publish(&self, lease: &Lease, ending: Ending) -> Result<Finish, StoreError> {
        if let Some(usd) = ending.cost_usd {
            trace::set("cost_usd", usd);
        }
        let _span = trace::span("publish");
        self.store.finish(lease, ending)
    }
}

/// Says in the span that the thread is in what an event means for it.
pub(super) fn note(kind: &EventKind) {
    let (outcome, class) = match kind {
        EventKind::JobProgress { fraction, .. } => {
            trace::event("progress", [("fraction", json!(fraction))]);
            return;
        }
        EventKind::JobReused { .. } => {
            trace::set("reused", true);
            return;
        }
        EventKind::JobCompleted { .. } => ("completed", None),
        EventKind::JobFailed { class, .. } => ("failed", Some(class)),
        EventKind::JobPutOff { class, .. } => ("put_off", Some(class)),
        EventKind::JobReleased { .. } => ("released", None),
        EventKind::JobCancelled { .. } => ("cancelled", None),
        EventKind::JobFenced { .. } => ("fenced", None),
        _ => return,
    };
    trace::set("outcome", outcome);
    if let Some(class) = class {
        trace::set("class", class.word());
        trace::failed(class.word());
    }
}
