//! Before the first job starts: recover, read the run, decide about each job.

use std::collections::{BTreeMap, HashMap};

use crate::domain::id::{AlgoKey, JobId};
use crate::domain::job::{Entry, Status};
use crate::domain::select::{Decision, Selection, SkipReason};
use crate::domain::text::{plural, shell_word};
use crate::domain::time::Timestamp;
use crate::engine::QueuedJob;
use crate::engine::event::EventKind;
use crate::ops::OpsError;
use crate::ops::select::{self, WorkerRequest};
use crate::store::{JobRecord, JobSnapshot, Recovery, RunJobs, WorkerStore, consumed};
use crate::trace;

use super::Reporter;

/// A run that was recovered and read, with every decision made.
pub(super) struct Prepared {
    pub(super) jobs: Vec<QueuedJob>,
    pub(super) skips: BTreeMap<SkipReason, Vec<JobId>>,
    pub(super) rolled_forward: usize,
    pub(super) unmarked: Vec<JobId>,
    pub(super) matched: usize,
    /// How many rows contradict the manifest.
    pub(super) contradictions: usize,
    /// How `--jobs` was understood, if it matches a job.
    pub(super) filter_kind: Option<&'static str>,
    /// The same in words.
    reading: Option<String>,
    /// Which filters match nothing.
    unmatched: Vec<String>,
}

pub(super) fn prepare(
    store: &dyn WorkerStore,
    request: &WorkerRequest,
    listed: bool,
    reporter: &Reporter<'_>,
) -> Result<Prepared, OpsError> {
    let now = reporter.context.clock.now();
    let recovery = recover(store, now)?;
    // A leftover of a dead worker is no reason not to start.
    let _ = reporter.context.local().providers().sweep();
    let prices = reporter.context.settings.prices.problem.clone();
    for warning in recovery.warnings.into_iter().chain(prices) {
        reporter.warn(warning);
    }
    for job_id in &recovery.rolled_forward {
        reporter.report(EventKind::RolledForward {
            job_id: job_id.clone(),
        });
    }
    let run = if listed {
        store.jobs(reporter.context.clock.now())?
    } else {
        RunJobs::default()
    };
    for warning in run.warnings {
        reporter.warn(warning);
    }
    let filter = select::among(&request.query, &run.jobs);
    let mut prepared = Prepared {
        jobs: Vec::with_capacity(run.jobs.len()),
        skips: BTreeMap::new(),
        rolled_forward: recovery.rolled_forward.len(),
        unmarked: Vec::new(),
        matched: 0,
        contradictions: run.contradictions,
        filter_kind: filter.kind(),
        reading: filter.reading(),
        unmatched: select::unmatched(&filter, &request.run_id, &run.jobs),
    };
    let selection = request.selection();
    let mut finders: HashMap<AlgoKey, bool> = HashMap::new();
    for job in consumed(run.jobs) {
        if !select::is_meant(&filter, &job) {
            continue;
        }
        prepared.matched += 1;
        let findable = select::is_findable(&job, |key| {
            let known = finders.entry(key.clone());
            *known.or_insert_with(|| {
                select::algorithm(reporter.context, request, key)
                    .is_ok_and(|algorithm| select::finds(&algorithm))
            })
        });
        prepared.decide(job, findable, &selection, reporter);
    }
    Ok(prepared)
}

/// Finishes what dead workers left.
fn recover(store: &dyn WorkerStore, now: Timestamp) -> Result<Recovery, OpsError> {
    let _span = trace::span("sweep");
    trace::set("run_id", store.run_id().as_str());
    let recovery = store.recover(now)?;
    trace::set("recovered", recovery.rolled_forward.len());
    Ok(recovery)
}

impl Prepared {
    fn decide(
        &mut self,
        job: JobRecord,
        findable: bool,
        selection: &Selection,
        reporter: &Reporter<'_>,
    ) {
        let Some(mut seen) = job.snapshot.seen() else {
            self.leave(job, reporter);
            return;
        };
        seen.findable = findable;
        if seen.unmarked {
            self.unmarked.push(job.job_id.clone());
        }
        match selection.decide(seen) {
            Decision::Run(entry) => self.jobs.push(QueuedJob { job, entry }),
            Decision::Skip(reason) => self.skip(reason, job.job_id),
        }
    }

    /// Skips a job that no worker takes.
    fn leave(&mut self, job: JobRecord, reporter: &Reporter<'_>) {
        match &job.snapshot {
            JobSnapshot::Unknown(word) => {
                reporter.warn(format!(
                    "job {} has the unknown status {word:?}; skipped",
                    job.job_id
                ));
                self.skip(SkipReason::UnknownStatus, job.job_id);
            }
            JobSnapshot::NotRegistered => self.skip(SkipReason::NotRegistered, job.job_id),
            _ => self.skip(SkipReason::NotInManifest, job.job_id),
        }
    }

    fn skip(&mut self, reason: SkipReason, job: JobId) {
        self.skips.entry(reason).or_default().push(job);
    }

    /// Says what a person may not expect.
    pub(super) fn report_oddities(&self, request: &WorkerRequest, reporter: &Reporter<'_>) {
        self.report_skips(reporter);
        self.report_what_is_left(request, reporter);
        self.report_filters(request, reporter);
        if !self.unmarked.is_empty() {
            reporter.warn(format!(
                "{} completed in the registry without a marker in the state folder ({}); taken as completed",
                plural(self.unmarked.len(), "job is", "jobs are"),
                some_of(&self.unmarked)
            ));
        }
        let performed = self.jobs.iter();
        let performed = performed.filter(|planned| planned.entry == Entry::Perform);
        tell_of_performed(performed.count(), reporter);
        let skipped = |reason| self.skips.get(&reason).map_or(0, Vec::len);
        if skipped(SkipReason::NeedsRedo) > 0 {
            reporter.notice(format!(
                "{} completed; add --redo to make them again",
                plural(
                    skipped(SkipReason::NeedsRedo),
                    "selected job is",
                    "selected jobs are"
                )
            ));
        }
        if skipped(SkipReason::Doubtful) > 0 {
            let doubtful = &self.skips[&SkipReason::Doubtful];
            reporter.warn(format!(
                "{} possibly billed without a result ({}) and skipped; look for {them} at the \
                 provider, then add --resubmit-unknown to buy {them} again",
                plural(doubtful.len(), "job was", "jobs were"),
                some_of(doubtful),
                them = if doubtful.len() == 1 { "it" } else { "them" },
            ));
            for kept in reporter.context.local().kept(&request.run_id) {
                if kept.whole && doubtful.contains(&kept.job_id) {
                    reporter.warn(format!(
                        "job {job} has a model in {}; to make that its result, which costs nothing: \
                         archi3d run adopt --run-id {} {job}",
                        kept.path,
                        shell_word(request.run_id.as_str()),
                        job = kept.job_id,
                    ));
                }
            }
        }
        if skipped(SkipReason::RealAttempt) > 0 {
            reporter.notice(format!(
                "{} tried for real before, and a rehearsal touches only what never was",
                plural(
                    skipped(SkipReason::RealAttempt),
                    "selected job was",
                    "selected jobs were"
                )
            ));
        }
        if skipped(SkipReason::RealResult) > 0 {
            reporter.notice(format!(
                "{} a real result, which a rehearsal never replaces",
                plural(skipped(SkipReason::RealResult), "job has", "jobs have")
            ));
        }
    }
}

impl Prepared {
    /// Says in one line what is left alone and why.
    fn report_skips(&self, reporter: &Reporter<'_>) {
        if self.skips.is_empty() {
            return;
        }
        let parts: Vec<String> = self
            .skips
            .iter()
            .map(|(reason, jobs)| format!("{} {}", jobs.len(), reason.words()))
            .collect();
        reporter.notice(format!("skipped: {}", parts.join(", ")));
    }

    /// Says how to go on where nothing waits and nobody chose among the rest.
    fn report_what_is_left(&self, request: &WorkerRequest, reporter: &Reporter<'_>) {
        if !self.jobs.is_empty() || request.query.only_status.is_some() {
            return;
        }
        let left = |status| self.skips.contains_key(&SkipReason::NotSelected(status));
        if left(Status::Failed) {
            reporter
                .notice("nothing waits; add --only-status failed to try failed jobs again".into());
        }
        if left(Status::Cancelled) {
            let run_id = shell_word(request.run_id.as_str());
            reporter.notice(format!(
                "`archi3d run cancel --run-id {run_id} --undo` puts cancelled jobs back"
            ));
        }
    }

    fn report_filters(&self, request: &WorkerRequest, reporter: &Reporter<'_>) {
        if let Some(reading) = &self.reading {
            let count = plural(self.matched, "job matches", "jobs match");
            reporter.notice(format!("{reading}: {count}"));
        }
        for unmatched in &self.unmatched {
            reporter.warn(unmatched.clone());
        }
        let cancelled = request.query.only_status.as_ref();
        if cancelled.is_some_and(|statuses| statuses.contains(&Status::Cancelled)) {
            reporter.warn(
                "cancelled jobs are never run; `archi3d run cancel --undo` puts them back".into(),
            );
        }
    }
}

/// Says that what was only rehearsed runs in earnest.
pub(super) fn tell_of_performed(jobs: usize, reporter: &Reporter<'_>) {
    if jobs > 0 {
        reporter.notice(format!(
            "{} only rehearsed so far and will now run for real",
            plural(jobs, "job was", "jobs were")
        ));
    }
}

pub(super) fn words(statuses: &[Status]) -> Vec<String> {
    statuses
        .iter()
        .map(|status| status.word().to_owned())
        .collect()
}

pub(super) fn list(keys: &[AlgoKey]) -> Option<String> {
    let keys: Vec<&str> = keys.iter().map(AlgoKey::as_str).collect();
    (!keys.is_empty()).then(|| keys.join(","))
}

fn some_of(jobs: &[JobId]) -> String {
    let mut shown: Vec<&str> = jobs.iter().take(3).map(JobId::as_str).collect();
    if jobs.len() > 3 {
        shown.push("…");
    }
    shown.join(", ")
}
