//! `run explain`: why one job is where it is, and what to type next.
//!
//! Puts together what the store, the journals, the ledger and the plan say about
//! the job. Reads only. Every state that is not at work has a reason code; they
//! are listed in `docs/status.md`.

use std::collections::HashMap;
use std::time::Duration;

use crate::domain::id::RunId;
use crate::domain::job::JobState;
use crate::domain::lease::{Rhythm, Verdict};
use crate::domain::patch::REUSED;
use crate::domain::reason::ReasonCode;
use crate::domain::retry::ErrorClass;
use crate::domain::time::Timestamp;
use crate::engine::BREAKER_PAUSE;
use crate::ops::adopt::Kept;
use crate::ops::attempts::{AttemptOutcome, AttemptRecord};
use crate::ops::find::the_job;
use crate::ops::plan::Planner;
use crate::ops::select::WorkerRequest;
use crate::ops::view::explain::{Explanation, Numbers, PlannedStep};
use crate::ops::view::plan::{JobPlan, PlannedAction};
use crate::ops::{OpsContext, OpsError, submit};
use crate::store::{Holder, JobRecord, JobSnapshot};
use crate::workspace::durable;

mod next;
mod purchase;

use next::next_steps;

/// Explains one job; `job` may be the beginning of its id, or its product.
pub fn run_explain(
    context: &OpsContext,
    request: &WorkerRequest,
    job: &str,
) -> Result<Explanation, OpsError> {
    let run_id = &request.run_id;
    let runs = context.runs(run_id)?;
    let request = &submit::bounded(context, request)?;
    let record = the_job(&*runs, run_id, job)?;
    let all = runs.attempts(run_id, Some(&record.job_id))?;
    let attempts = all.attempts;
    // What cannot be read is told elsewhere.
    let medians = runs.medians().unwrap_or_default();
    let rhythm = runs.rhythm(run_id)?;
    let mut planner = Planner::new(context, request, runs, false)?;
    let plan = planner.plan(record.clone());
    let mut numbers = numbers(&record, &planner, &medians);
    // A job that is over leaves the count in its attempts alone.
    numbers.failures = numbers.failures.max(requeues(&attempts));
    let (code, mut why) = Why {
        record: &record,
        attempts: &attempts,
        plan: &plan,
        numbers: &numbers,
        after_canaries: stopped_after_canaries(context, run_id),
        asks: planner.asks_first(&record),
        rhythm,
        now: planner.now(),
    }
    .tell();
    why.extend(purchase::timeline(&attempts));
    let kept = context.local().kept_of(run_id, &record);
    why.extend(kept.iter().map(kept_words));
    let mut said = planner.money().by_hand.iter();
    if let Some(said) = said.rfind(|said| said.attempt_key.job_id == record.job_id) {
        why.push(format!(
            "a person settled it by hand on {}: ${:.2} were billed (`cost settle`)",
            said.at.iso(),
            said.usd
        ));
    }
    let (state, attempt, holder) = match &record.snapshot {
        JobSnapshot::Known { state, holder, .. } => (
            state.status().word().to_owned(),
            state.attempt(),
            holder.clone(),
        ),
        JobSnapshot::Unknown(word) => (word.clone(), 0, None),
        JobSnapshot::NotRegistered => ("not registered".into(), 0, None),
        JobSnapshot::NotInManifest | JobSnapshot::Renamed => ("enqueued".into(), 0, None),
    };
    let made = attempts.iter().map(|made| made.attempt).max();
    Ok(Explanation {
        run_id: run_id.clone(),
        next: next_steps(&record, (code, plan.reason.code), &numbers, &kept),
        job_id: record.job_id,
        name: plan.name,
        state,
        attempt: attempt.max(made.unwrap_or(0)),
        code,
        why,
        plan: PlannedStep {
            fate: plan.fate,
            reason: plan.reason,
        },
        attempts,
        numbers,
        holder: holder.map(|holder| *holder),
        warnings: all.warnings,
    })
}

fn kept_words(kept: &Kept) -> String {
    let what = if kept.whole {
        "a model that is not published"
    } else {
        "what is no whole model"
    };
    format!(
        "attempt {} left {what}; it is kept in {}",
        kept.attempt, kept.path
    )
}

/// Tells whether nobody knows if a cut-off attempt was billed, and its adapter
/// wants a person to look.
/// Counts the failures that were followed by another attempt since the job was
/// last started by somebody.
fn requeues(attempts: &[AttemptRecord]) -> u32 {
    let ended = attempts
        .last()
        .filter(|last| last.outcome != AttemptOutcome::PutOff);
    let earlier = &attempts[..attempts.len() - usize::from(ended.is_some())];
    let series = earlier.iter().rev().take_while(|made| {
        use AttemptOutcome::{Interrupted, PutOff, Released};
        matches!(made.outcome, PutOff | Released | Interrupted)
    });
    let failed = series.filter(|made| made.outcome == AttemptOutcome::PutOff);
    u32::try_from(failed.count()).unwrap_or(u32::MAX)
}

fn numbers(record: &JobRecord, planner: &Planner<'_>, medians: &HashMap<String, f64>) -> Numbers {
    let algorithm = planner.algorithm_of(record);
    let (failures, not_before, request_id, holder) = match &record.snapshot {
        JobSnapshot::Known {
            failures,
            not_before,
            purchase,
            holder,
            ..
        } => (*failures, *not_before, purchase.clone(), holder.as_ref()),
        _ => (0, None, None, None),
    };
    let provider = algorithm.and_then(|algorithm| algorithm.provider.clone());
    let algo = record.algo.as_ref().ok();
    let reserved = planner.money().reserved.get(&record.job_id);
    Numbers {
        retries: algorithm.map_or(0, |algorithm| algorithm.retry.retries),
        failures,
        not_before,
        unit_usd: algorithm.and_then(|algorithm| algorithm.price.unit_usd),
        reserved_usd: reserved.map(|own| own.usd),
        request_id,
        provider: provider.map(|key| key.to_string()),
        closed: planner.closure_for(record).cloned(),
        limits: algorithm
            .map(|algorithm| algorithm.limits)
            .unwrap_or_default(),
        paused: planner.pause_of(record).cloned(),
        breaker_failures: algorithm.map_or(0, |algorithm| algorithm.breaker_failures),
        cancel_asked: holder.is_some_and(|holder| holder.cancel_asked),
        median_s: algo.and_then(|algo| medians.get(algo.as_str()).copied()),
        money: planner.limited_money(),
    }
}

/// What the reason is found from.
struct Why<'a> {
    record: &'a JobRecord,
    attempts: &'a [AttemptRecord],
    plan: &'a JobPlan,
    numbers: &'a Numbers,
    /// The last worker of the run stopped after its canaries.
    after_canaries: bool,
    /// A cut-off attempt is a question for a person.
    asks: bool,
    /// How often its holder beats, and how long silence is borne.
    rhythm: Rhythm,
    now: Timestamp,
}

impl Why<'_> {
    fn tell(&self) -> (ReasonCode, Vec<String>) {
        let JobSnapshot::Known {
            state,
            holder,
            error,
            doubtful,
            ..
        } = &self.record.snapshot
        else {
            return (self.plan.reason.code, vec![self.plan_sentence()]);
        };
        match state {
            JobState::Running { attempt } => self.running(*attempt, holder.as_deref()),
            JobState::Completed {
                attempt, simulated, ..
            } => self.completed(*attempt, *simulated),
            JobState::Failed { .. } => self.failed(error.as_deref(), *doubtful),
            JobState::Cancelled { .. } => (
                ReasonCode::Cancelled,
                vec!["it was cancelled; no worker takes it".into()],
            ),
            JobState::Enqueued { attempt } => self.waiting(*attempt),
        }
    }

    fn plan_sentence(&self) -> String {
        let reason = &self.plan.reason;
        let words = &reason.of_job;
        match self.plan.fate {
            PlannedAction::Run => format!("a worker would run it: it is one of those {words}"),
            PlannedAction::Reattach => format!("a worker would ask for its result: {words}"),
            PlannedAction::Reuse => format!("a worker would copy an identical result: {words}"),
            PlannedAction::Busy => format!("a worker would leave it: {words}"),
            PlannedAction::Blocked if *words != reason.words => format!("in a worker it {words}"),
            PlannedAction::Blocked => {
                format!("a worker could not start it: it is one of those {words}")
            }
            PlannedAction::Skip => format!("a worker would leave it: it is one of those {words}"),
        }
    }

    fn running(&self, attempt: u32, holder: Option<&Holder>) -> (ReasonCode, Vec<String>) {
        if self.plan.reason.code == ReasonCode::FinishedUnpublished {
            let why = "a worker finished it and died before publishing; the result is safe in its \
                       journal and the next start publishes it";
            return (ReasonCode::FinishedUnpublished, vec![why.into()]);
        }
        let dead = holder.is_none_or(|holder| holder.verdict == Verdict::Dead);
        let who = holder.map_or("an unknown worker", |holder| holder.worker.as_str());
        let asked = holder.is_some_and(|holder| holder.cancel_asked);
        if dead {
            let mut why = vec![format!(
                "{who} took it as attempt {attempt} and died; no worker holds it"
            )];
            if asked {
                why.push("a cancel was requested: the next worker cancels it".into());
                return (ReasonCode::CancelAsked, why);
            }
            if self.asks {
                why.push(
                    "it may have been billed: a worker asks first instead of buying again; look \
                     for it at the provider"
                        .into(),
                );
                return (ReasonCode::AskFirst, why);
            }
            return (ReasonCode::Resumable, why);
        }
        let beat = holder.and_then(|h| h.last_beat).map(|b| self.now.since(b));
        let age = holder.and_then(|h| h.since).map(|s| self.now.since(s));
        let mut why = vec![format!("{who} works on it, attempt {attempt}")];
        if asked {
            let beat = self.rhythm.heartbeat.as_secs();
            why.push(format!(
                "a cancel was requested; its worker stops it at its next beat, \
                 usually within {beat} s"
            ));
            return (ReasonCode::CancelAsked, why);
        }
        let patience = self.rhythm.heartbeat * 3;
        if beat.is_some_and(|beat| beat > patience) {
            let silent = beat.unwrap_or_default().as_secs();
            why.push(format!(
                "its worker has not shown that it lives for {silent} s; after {} s of silence \
                 on another machine it counts as dead",
                self.rhythm.stale.as_secs()
            ));
            return (ReasonCode::Stalled, why);
        }
        let usual = self.numbers.median_s.unwrap_or(f64::INFINITY);
        if age.is_some_and(|age: Duration| age.as_secs_f64() > 2.0 * usual.max(1.0)) {
            why.push(format!("it takes more than twice its usual {usual:.0} s"));
            return (ReasonCode::Slow, why);
        }
        (ReasonCode::Running, why)
    }

    fn completed(&self, attempt: u32, simulated: bool) -> (ReasonCode, Vec<String>) {
        if simulated {
            let why = "it was only rehearsed; a real run performs it";
            return (
                ReasonCode::RehearsedOnly,
                vec![why.into(), self.plan_sentence()],
            );
        }
        let made = self.attempts.iter().rev();
        let mut made = made.filter(|made| made.outcome == AttemptOutcome::Completed);
        let Some(made) = made.next() else {
            let why = match attempt {
                0 => "it has its result; no attempt of it is on record".to_owned(),
                _ => format!("attempt {attempt} brought its result"),
            };
            return (ReasonCode::Completed, vec![why]);
        };
        let attempt = made.attempt;
        let why = if made.price_source.as_deref() == Some(REUSED) {
            format!("attempt {attempt} copied the result of an identical job; nothing was bought")
        } else {
            format!("attempt {attempt} brought its result")
        };
        (ReasonCode::Completed, vec![why])
    }

    fn failed(&self, error: Option<&str>, doubtful: bool) -> (ReasonCode, Vec<String>) {
        let last = self.attempts.iter().rev().find(|a| a.error.is_some());
        let class = last.and_then(|attempt| attempt.class);
        let message = error
            .or(last.and_then(|a| a.error.as_deref()))
            .unwrap_or("");
        let mut why = vec![format!("it failed: {message}")];
        let code = match class {
            _ if doubtful => ReasonCode::PossiblyBilled,
            Some(ErrorClass::Transient) => ReasonCode::RetriesUsedUp,
            Some(ErrorClass::BadInput) => ReasonCode::BadInput,
            Some(ErrorClass::Permanent) => ReasonCode::Permanent,
            Some(ErrorClass::Unknown) => ReasonCode::PossiblyBilled,
            Some(ErrorClass::OutOfCredit) => ReasonCode::OutOfCredit,
            None => ReasonCode::Failed,
        };
        let Numbers {
            failures, retries, ..
        } = self.numbers;
        why.push(match code {
            ReasonCode::PossiblyBilled => {
                "it may have been billed, so it is never bought again by itself: \
                 look for it at the provider first"
                    .into()
            }
            ReasonCode::RetriesUsedUp => match (*failures, *retries) {
                (0, 0) => "such a failure may pass, but no retries were asked for".into(),
                (0, _) => "such a failure may pass, but it was not tried again".into(),
                (1, _) => "such a failure may pass, but its retries are used up (one failure \
                           was followed by another attempt)"
                    .into(),
                _ => format!(
                    "such a failure may pass, but its retries are used up ({failures} failures \
                     were followed by another attempt)"
                ),
            },
            ReasonCode::BadInput => {
                "its pictures cannot be used; trying again changes nothing".into()
            }
            ReasonCode::Permanent => "without a change it will fail the same way".into(),
            _ => "failed jobs run again only when they are selected".into(),
        });
        if self.numbers.request_id.is_some() {
            why.push(
                "it is bought: trying again asks for that purchase, unless --forget-requests \
                 says to buy a new one"
                    .into(),
            );
        }
        (code, why)
    }

    fn waiting(&self, attempt: u32) -> (ReasonCode, Vec<String>) {
        let mut why = Vec::new();
        let last = self.attempts.iter().rev().find(|a| a.attempt == attempt);
        if let Some(last) = last.filter(|_| attempt > 0) {
            why.push(match (last.outcome, &last.error) {
                (AttemptOutcome::PutOff, Some(error)) => {
                    format!("attempt {attempt} failed and it waits to be tried again: {error}")
                }
                (outcome, _) => format!("attempt {attempt} ended as {}", outcome.word()),
            });
        }
        if self.record.snapshot.holder_died() && self.numbers.request_id.is_none() {
            why.push("the worker of its last attempt died: it may have been billed".into());
        }
        if let Some(at) = self.numbers.not_before.filter(|at| *at > self.now) {
            why.push(format!("it is not tried before {at}"));
        }
        if let Some(closed) = &self.numbers.closed {
            why.push(format!(
                "provider {} is closed: {}",
                closed.provider, closed.reason
            ));
        }
        if let Some(pause) = &self.numbers.paused {
            why.push(format!(
                "algo {} is paused: {}; from {} on one job tries it again",
                pause.provider,
                pause.reason,
                pause.closed_at.plus(BREAKER_PAUSE).iso()
            ));
        }
        if self.after_canaries && attempt == 0 {
            why.push(
                "the last worker stopped after its canaries; the rest waits for a look".into(),
            );
        }
        why.push(self.plan_sentence());
        (self.plan.reason.code, why)
    }
}

/// So much of the end of the log is looked at.
const LOG_TAIL: u64 = 1 << 20;

/// Tells whether the last worker of a run stopped after its canaries, as far as
/// the end of the log tells.
fn stopped_after_canaries(context: &OpsContext, run_id: &RunId) -> bool {
    let tail = durable::read_tail(&context.workspace.log("worker"), LOG_TAIL);
    let tail = tail.unwrap_or_default();
    let lines = tail.split(|byte| *byte == b'\n').rev();
    let mut ended = lines
        .filter_map(|line| serde_json::from_slice::<serde_json::Value>(line).ok())
        .filter(|line| line["run_id"] == run_id.as_str())
        .filter(|line| line["event"] == "worker_summary" || line["event"] == "worker_started");
    ended
        .next()
        .is_some_and(|last| last["stopped_by"] == "canary")
}
