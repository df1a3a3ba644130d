//! `run cancel`: takes jobs of a run out before they cost anything, asks the
//! holders of running ones to stop, and puts jobs back with `--undo`.
//!
//! Finished jobs are never touched. Which jobs are meant is read first, without
//! writing, so that a person can still say no and a request that means nothing
//! leaves no trace.

use std::collections::HashSet;
use std::sync::Arc;

use serde::Serialize;

use crate::domain::filter::{JobFilter, JobQuery};
use crate::domain::id::{JobId, RunId, WorkerId};
use crate::domain::job::{JobState, Status};
use crate::domain::lease::{Rhythm, Verdict};
use crate::engine::event::{Event, EventKind, Sink};
use crate::ops::run::notice_text;
use crate::ops::run_log::RunLog;
use crate::ops::select;
use crate::ops::{OpsContext, OpsError, identity};
use crate::store::{Cancellation, JobRecord, JobSnapshot, NoticeSink, Restored, RunJobs};

/// What is to be taken out or put back.
#[derive(Debug, Clone, PartialEq)]
pub struct CancelRequest {
    /// The run.
    pub run_id: RunId,
    /// Which of its jobs.
    pub query: JobQuery,
    /// Of these none but the ones named, if some are.
    pub only: Option<HashSet<JobId>>,
    /// Puts jobs back instead.
    pub undo: bool,
    /// Goes on where file locks cannot be trusted.
    pub allow_unsafe_locks: bool,
}

/// What a request means, before anything happens.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Preview {
    /// How many jobs the filters match, whatever their state.
    pub matched: usize,
    /// Of these, completed jobs.
    pub completed: usize,
    /// Of these, failed jobs.
    pub failed: usize,
    /// Of these, jobs that were cancelled before; with `--undo` they are what is meant.
    pub already_cancelled: usize,
    /// How many jobs would be changed.
    #[serde(skip)]
    pub meant: usize,
    /// Of these, jobs that a live worker is carrying out.
    #[serde(skip)]
    pub live: usize,
    /// How `--jobs` was understood, if it matches a job.
    #[serde(skip)]
    pub reading: Option<String>,
}

/// What became of a request.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct CancelReport {
    /// What was meant.
    #[serde(flatten)]
    pub preview: Preview,
    /// Jobs that were taken out.
    pub cancelled: usize,
    /// Jobs whose workers were asked to stop them.
    #[serde(rename = "asked_to_stop")]
    pub asked: Vec<JobId>,
    /// Redos that nobody lived to carry out; their older results stand.
    pub redo_stopped: usize,
    /// Jobs that were put back.
    pub restored: usize,
    /// Requests to stop that were taken back before they were seen.
    pub requests_withdrawn: usize,
    /// Jobs that ended meanwhile.
    pub ended_meanwhile: usize,
    /// Cancelled jobs with a purchase that may be billed.
    #[serde(rename = "open_purchases")]
    pub purchases: Vec<OpenPurchase>,
}

/// A job that was cancelled although it is bought.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OpenPurchase {
    /// The job.
    pub job_id: JobId,
    /// What the provider calls the purchase.
    pub request_id: String,
}

/// Hears what is worth telling while the request is carried out.
pub type Warn = Arc<dyn Fn(&str) + Send + Sync>;

/// Carries the request out, unless `confirm` says no to what it means. Returns
/// nothing then, and touches nothing, as where no job is meant.
pub fn cancel_jobs(
    context: &OpsContext,
    request: &CancelRequest,
    confirm: &dyn Fn(&Preview) -> bool,
    warn: &Warn,
) -> Result<Option<CancelReport>, OpsError> {
    let runs = context.runs(&request.run_id)?;
    let run = runs.jobs(&request.run_id, Rhythm::default())?;
    let filter = &select::among(&request.query, &run.jobs);
    for unmatched in select::unmatched(filter, &request.run_id, &run.jobs) {
        warn(&unmatched);
    }
    let preview = preview(request, filter, &run);
    if preview.meant == 0 {
        return Ok(Some(CancelReport {
            preview,
            ..CancelReport::default()
        }));
    }
    if !confirm(&preview) {
        return Ok(None);
    }
    let identity = identity::worker_identity(&context.settings);
    let worker = identity.worker_id.clone();
    let notices: NoticeSink = {
        let warn = warn.clone();
        Arc::new(move |notice| warn(&notice_text(notice)))
    };
    let store = context.open_to_act(
        &request.run_id,
        identity,
        request.allow_unsafe_locks,
        notices,
    )?;
    let now = || context.clock.now();
    let recovery = store.recover(now())?;
    for warning in &recovery.warnings {
        warn(warning);
    }
    let run = store.jobs(now())?;
    let jobs = run.jobs.iter().filter(|job| is_meant(request, filter, job));
    let jobs: Vec<JobId> = jobs.map(|job| job.job_id.clone()).collect();
    let mut report = CancelReport {
        preview,
        ..CancelReport::default()
    };
    if request.undo {
        report.restored(&store.restore_all(&jobs, &now)?);
    } else {
        let told = store.cancel_jobs(&jobs, &now)?;
        report.cancelled(jobs.into_iter().zip(told));
    }
    store.close(now())?;
    note(context, request, &report, &worker, warn);
    Ok(Some(report))
}

impl CancelReport {
    fn cancelled(&mut self, told: impl Iterator<Item = (JobId, Cancellation)>) {
        for (job_id, cancellation) in told {
            match cancellation {
                Cancellation::Cancelled { request_id } => {
                    self.cancelled += 1;
                    self.purchases
                        .extend(request_id.map(|request_id| OpenPurchase { job_id, request_id }));
                }
                Cancellation::Asked => self.asked.push(job_id),
                Cancellation::RedoStopped => self.redo_stopped += 1,
                Cancellation::AlreadyCancelled => {}
                Cancellation::Untouched(_) => self.ended_meanwhile += 1,
            }
        }
    }

    fn restored(&mut self, told: &[Restored]) {
        for restored in told {
            match restored {
                Restored::Waiting => self.restored += 1,
                Restored::RequestRevoked => self.requests_withdrawn += 1,
                Restored::NotCancelled => {}
                Restored::Untouched(_) => self.ended_meanwhile += 1,
            }
        }
    }
}

fn preview(request: &CancelRequest, filter: &JobFilter<'_>, run: &RunJobs) -> Preview {
    let mut preview = Preview {
        reading: filter.reading(),
        ..Preview::default()
    };
    for job in run.jobs.iter().filter(|job| select::is_meant(filter, job)) {
        preview.matched += 1;
        match status_of(job) {
            Some(Status::Completed) => preview.completed += 1,
            Some(Status::Failed) => preview.failed += 1,
            Some(Status::Cancelled) if !request.undo => preview.already_cancelled += 1,
            _ => {}
        }
        if is_meant(request, filter, job) {
            preview.meant += 1;
            preview.live += usize::from(is_live(job));
        }
    }
    preview
}

/// Tells whether the request is to change the job.
fn is_meant(request: &CancelRequest, filter: &JobFilter<'_>, job: &JobRecord) -> bool {
    let Some(status) = status_of(job).filter(|_| select::is_meant(filter, job)) else {
        return false;
    };
    let can_be = if request.undo {
        [Status::Cancelled, Status::Running]
    } else {
        [Status::Enqueued, Status::Running]
    };
    let chosen = request.query.only_status.as_ref();
    let only = request.only.as_ref();
    can_be.contains(&status)
        && only.is_none_or(|only| only.contains(&job.job_id))
        && chosen.is_none_or(|statuses| statuses.contains(&status))
}

fn status_of(job: &JobRecord) -> Option<Status> {
    match &job.snapshot {
        JobSnapshot::Known { state, .. } => Some(state.status()),
        JobSnapshot::NotInManifest => Some(Status::Enqueued),
        JobSnapshot::Unknown(_) | JobSnapshot::NotRegistered | JobSnapshot::Renamed => None,
    }
}

fn is_live(job: &JobRecord) -> bool {
    matches!(
        &job.snapshot,
        JobSnapshot::Known { state: JobState::Running { .. }, holder: Some(holder), .. }
            if holder.verdict != Verdict::Dead
    )
}

/// Leaves one line in the log that the workers of the run write too.
fn note(
    context: &OpsContext,
    request: &CancelRequest,
    report: &CancelReport,
    worker: &WorkerId,
    warn: &Warn,
) {
    struct Troubles(Warn);
    impl Sink for Troubles {
        fn report(&self, event: &Event) {
            if let EventKind::Warning { message } = &event.kind {
                (self.0)(message);
            }
        }
    }
    let message = if request.undo {
        format!(
            "put back: {} jobs; {} requests to stop taken back",
            report.restored, report.requests_withdrawn
        )
    } else {
        format!(
            "cancelled: {} jobs; {} running ones were asked to stop",
            report.cancelled,
            report.asked.len()
        )
    };
    let path = context.workspace.log("worker");
    let log = RunLog::open(&path, worker, Arc::new(Troubles(warn.clone())));
    log.report(&Event {
        at: context.clock.now(),
        run_id: request.run_id.clone(),
        kind: EventKind::Notice { message },
    });
}
