//! Attempts as people see them: those in the database in the words of those in journals, and both in one order.

use std::collections::{HashMap, HashSet};

use super::connect::Connection;
use super::error::PgResult;
use super::link::nonce;
use super::runs::Named;
use super::view::{self, AttemptView};
use crate::domain::id::{JobId, WorkerId};
use crate::domain::money::Usd;
use crate::domain::time::Timestamp;
use crate::store::attempt::{AttemptOutcome, AttemptRecord, RunAttempts};
use crate::store::runs::JobName;

/// Returns the attempts of some jobs, by job in their order, then by number.
pub(super) fn of_page(connection: &mut Connection, page: &[Named]) -> PgResult<Vec<AttemptRecord>> {
    let numbers: Vec<i64> = page.iter().map(|job| job.job_no).collect();
    let mut by_job: HashMap<i64, Vec<AttemptView>> = HashMap::new();
    for attempt in view::attempts(connection, &numbers)? {
        by_job.entry(attempt.hold.job_no).or_default().push(attempt);
    }
    let made = page.iter().flat_map(|job| {
        let made = by_job.remove(&job.job_no).unwrap_or_default();
        made.into_iter().map(|one| of_view(job.job_id.clone(), one))
    });
    Ok(made.collect())
}

/// Puts attempts before and after the handing over in one order: by job as they are listed, then by number; jobs that
/// are not listed come last, by name.
pub(super) fn join(
    before: RunAttempts,
    since: Vec<AttemptRecord>,
    jobs: Vec<(JobId, JobName)>,
) -> RunAttempts {
    let mut attempts = since;
    let known: HashSet<_> = attempts.iter().map(|one| one.nonce.clone()).collect();
    let earlier = before.attempts.into_iter();
    attempts.extend(earlier.filter(|one| !known.contains(&one.nonce)));
    let order: HashMap<&JobId, usize> = jobs.iter().map(|(id, _)| id).zip(0..).collect();
    let place = |one: &AttemptRecord| order.get(&one.job_id).copied().unwrap_or(usize::MAX);
    attempts.sort_by(|a, b| {
        (place(a), &a.job_id, a.attempt, a.started).cmp(&(
            place(b),
            &b.job_id,
            b.attempt,
            b.started,
        ))
    });
    RunAttempts {
        attempts,
        jobs,
        ..before
    }
}

fn of_view(job_id: JobId, view: AttemptView) -> AttemptRecord {
    let outcome = match view.status.as_str() {
        "succeeded" => AttemptOutcome::Completed,
        "failed" => AttemptOutcome::Failed,
        "put_off" => AttemptOutcome::PutOff,
        "released" => AttemptOutcome::Released,
        "cancelled" => AttemptOutcome::Cancelled,
        "fenced" => AttemptOutcome::Fenced,
        "running" if !view.expired => AttemptOutcome::Running,
        _ => AttemptOutcome::Interrupted,
    };
    let started = Timestamp::new(view.started);
    // When a lease expired is not when its holder stopped.
    let ended = view
        .ended
        .filter(|_| outcome != AttemptOutcome::Interrupted);
    let ended = ended.map(Timestamp::new);
    let failed = matches!(outcome, AttemptOutcome::Failed | AttemptOutcome::PutOff);
    // What is void and not in doubt was not billed, whatever its purchase was said to cost.
    let billed = !view.void || view.cut_off;
    let said = view
        .submitted_at
        .and(view.cost)
        .map(|_| "adapter".to_owned());
    AttemptRecord {
        job_id,
        attempt: view.hold.number,
        worker: WorkerId::named(&view.worker),
        host: view.host.filter(|host| !host.is_empty()),
        entry: view.entry,
        started,
        ended,
        outcome,
        class: view.class,
        duration_s: ended.map(|ended| ended.since(started).as_micros() as f64 / 1e6),
        cost_usd: view.cost.filter(|_| billed).map(Usd::dollars),
        resumed: view.resumed.is_some() && view.submitted_at.is_none(),
        request_id: view.request_id.or(view.resumed),
        intent_at: view.intent_at.map(Timestamp::new),
        submitted_at: view.submitted_at.map(Timestamp::new),
        price_source: view.price_source.or(said),
        simulated: view.rehearsal && outcome == AttemptOutcome::Completed,
        nonce: nonce(view.hold.attempt_id),
        cut_off: view.cut_off,
        void: view.void,
        error: view.error.filter(|_| failed),
    }
}
