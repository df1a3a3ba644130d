//! Runs that are asked for over the network and live in files: noted, made under the name noted, and noted again, all
//! under the lock of the notes. Those that ask at the same time share these steps (`queue`).

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};

use super::cap::ordered_on_files;
use super::limit::keeps_its_limit;
use super::log::{Held, Kept, Line, Lines};
use super::planned::{Planned, algos, items, planned};
use super::queue::{self, Order};
use super::{
    Dedupe, Existing, Intent, Outcome, REMEMBERED, RequestKey, Submission, SubmissionPlan,
    SubmitError, Submitted, Written, check, is_taken, name_of, run_named, seen_now, status_of,
    word_of,
};
use crate::domain::id::RunId;
use crate::domain::job::Status;
use crate::domain::time::Timestamp;
use crate::ops::batch::{self, BatchError, NewRun};
use crate::ops::names::RunLine;
use crate::ops::{OpsContext, OpsError, events};
use crate::platform::fault;
use crate::trace;

/// How long the registry may be another program's.
const PATIENCE: Duration = Duration::from_secs(30);

/// Makes the run, or finds the one that will do.
pub(super) fn submit(
    context: &OpsContext,
    asked: &Submission,
    written: Written,
) -> Result<Submitted, SubmitError> {
    let lines = Lines::read(&context.workspace)?;
    // What is known needs no plan, and what needs one is planned beside the others.
    let planned = match known(context, &lines, asked, context.clock.now())? {
        None | Some(Known::Others(_)) => Some(planned(context, asked)?),
        Some(_) => None,
    };
    queue::carry_out(Order {
        context: context.clone(),
        asked: asked.clone(),
        planned,
        written,
        traceparent: trace::here().map(|place| place.to_string()),
    })
}

/// Returns the run that would be given back instead of a new one.
pub(super) fn existing(
    context: &OpsContext,
    asked: &Submission,
) -> Result<Option<Existing>, SubmitError> {
    let lines = Lines::read(&context.workspace)?;
    let found = earlier(context, &lines, asked)?;
    Ok(found.map(|(intent, line)| Existing {
        run_id: intent.run_id.clone(),
        status: status_of(&line),
    }))
}

/// What is known of a submission before it is carried out.
enum Known {
    /// Its key was answered.
    Answered(Arc<Kept>),
    /// It was begun.
    Begun(Arc<Intent>),
    /// Somebody else asked for the same, and it was begun.
    Others(Arc<Intent>),
    /// An earlier run will do.
    Earlier(Arc<Intent>, RunLine),
}

fn known(
    context: &OpsContext,
    lines: &Lines,
    asked: &Submission,
    now: Timestamp,
) -> Result<Option<Known>, SubmitError> {
    if let Some(key) = &asked.key
        && let Some(known) = with_key(lines, key, now)?
    {
        return Ok(Some(known));
    }
    if let Some(begun) = begun(lines, asked) {
        return Ok(Some(Known::Others(begun)));
    }
    let found = earlier(context, lines, asked)?;
    Ok(found.map(|(intent, line)| Known::Earlier(Arc::clone(intent), line)))
}

fn with_key(lines: &Lines, key: &RequestKey, now: Timestamp) -> Result<Option<Known>, SubmitError> {
    let young = |at: Timestamp| now.since(at) < REMEMBERED;
    let intent = lines.of_key(&key.scope).filter(|intent| young(intent.at));
    let answer = lines.answers.get(&key.scope);
    let Some(intent) = intent else {
        // A request that led to no run of its own has only its answer.
        return match answer.filter(|answer| young(answer.at)) {
            None => Ok(None),
            Some(answer) if answer.fingerprint == key.fingerprint => {
                Ok(Some(Known::Answered(Arc::clone(answer))))
            }
            Some(_) => Err(SubmitError::KeyReused),
        };
    };
    let own = intent.key.as_ref();
    if own.is_none_or(|own| own.fingerprint != key.fingerprint) {
        return Err(SubmitError::KeyReused);
    }
    // An older answer is that of an earlier use of the key.
    Ok(Some(match answer.filter(|answer| answer.at >= intent.at) {
        Some(answer) => Known::Answered(Arc::clone(answer)),
        None => Known::Begun(Arc::clone(intent)),
    }))
}

/// Returns a submission of the same parameters that somebody died over.
fn begun(lines: &Lines, asked: &Submission) -> Option<Arc<Intent>> {
    let mut same = lines.of_payload(&asked.payload_hash);
    let same = same.find(|intent| {
        intent.dedupes && asked.dedupe != Dedupe::None && lines.is_begun(&intent.run_id)
    });
    same.cloned()
}

/// Returns the run that will do instead of a new one, and how it stands.
fn earlier<'l>(
    context: &OpsContext,
    lines: &'l Lines,
    asked: &Submission,
) -> Result<Option<(&'l Arc<Intent>, RunLine)>, OpsError> {
    if asked.dedupe == Dedupe::None {
        return Ok(None);
    }
    let same = lines
        .of_payload(&asked.payload_hash)
        .filter(|intent| intent.dedupes && lines.made.contains_key(&intent.run_id));
    for intent in same {
        // One that was removed since will not do.
        if !context.workspace.run(&intent.run_id).manifest().is_file() {
            continue;
        }
        let line = seen_now(context, &intent.run_id)?;
        if asked.is_content_with(status_of(&line)) {
            return Ok(Some((intent, line)));
        }
    }
    Ok(None)
}

/// A run that is made, or the part of it that is missing.
struct Member<'o> {
    place: usize,
    order: &'o Order,
    intent: Arc<Intent>,
    /// Whether it was noted before.
    noted: bool,
    /// Whether it is the run that somebody else asked for.
    is_others: bool,
}

/// What becomes of one of those who ask.
enum Step {
    Told(Submitted, Option<Line>),
    Make {
        intent: Arc<Intent>,
        noted: bool,
        is_others: bool,
    },
}

/// Carries out what several ask for; nothing for those whose turn comes after it: they ask for the same, or for the rest of
/// the same cap.
pub(super) fn carry_out(orders: &[Arc<Order>]) -> Vec<Option<Result<Submitted, SubmitError>>> {
    let mut results: Vec<Option<Result<Submitted, SubmitError>>> = Vec::new();
    results.resize_with(orders.len(), || None);
    let Some(first) = orders.first() else {
        return results;
    };
    let held = Held::take(&first.context.workspace).map_err(SubmitError::from);
    let mut held = match held.and_then(|held| held.ok_or(SubmitError::Busy)) {
        Ok(held) => held,
        Err(error) => {
            results.fill_with(|| Some(Err(SubmitError::Busy)));
            results[0] = Some(Err(error));
            return results;
        }
    };
    let (mut members, mut lines): (Vec<Member<'_>>, Vec<Line>) = (Vec::new(), Vec::new());
    // Answers that count only once they are kept.
    let mut to_keep = Vec::new();
    for (place, order) in orders.iter().enumerate() {
        if members.iter().any(|member| clash(member.order, order)) {
            continue;
        }
        match take_up(order, &held.lines) {
            Ok(Step::Told(told, line)) => {
                to_keep.extend(line.is_some().then_some(place));
                lines.extend(line);
                results[place] = Some(Ok(told));
            }
            Ok(Step::Make {
                intent,
                noted,
                is_others,
            }) => members.push(Member {
                place,
                order,
                intent,
                noted,
                is_others,
            }),
            Err(error) => results[place] = Some(Err(error)),
        }
    }
    let (told, kept) = bring_about(&mut held, &members, lines);
    for place in to_keep.into_iter().filter(|_| !kept) {
        results[place] = Some(Err(SubmitError::Busy));
    }
    for (member, told) in members.iter().zip(told) {
        results[member.place] = Some(told);
    }
    results
}

/// Tells whether what two ask for depends on each other.
fn clash(one: &Order, other: &Order) -> bool {
    let (a, b) = (&one.asked, &other.asked);
    let scope = |asked: &Submission| asked.key.as_ref().map(|key| key.scope.clone());
    a.payload_hash == b.payload_hash
        || a.run_id.is_some() && a.run_id == b.run_id
        || scope(a).is_some() && scope(a) == scope(b)
        || a.daily_cap_usd.is_some() && a.by == b.by
}

/// Decides what is to be done for one of them.
fn take_up(order: &Order, lines: &Lines) -> Result<Step, SubmitError> {
    let (context, asked) = (&order.context, &order.asked);
    let now = context.clock.now();
    let others = match known(context, lines, asked, now)? {
        Some(Known::Answered(kept)) => {
            let told = Submitted {
                status: kept.status,
                run_id: run_named(&kept.body),
                body: kept.body.clone(),
                replayed: true,
            };
            return Ok(Step::Told(told, None));
        }
        Some(Known::Begun(intent)) => {
            return Ok(Step::Make {
                intent,
                noted: true,
                is_others: false,
            });
        }
        Some(Known::Earlier(intent, line)) => {
            let outcome = Outcome {
                deduplicated: Some(word_of(status_of(&line))),
                warnings: Vec::from_iter(keeps_its_limit(
                    &intent,
                    lines.retries_of(&intent.run_id),
                    status_of(&line),
                    asked,
                )),
                line,
                intent: &intent,
            };
            let told = outcome.told(order.written);
            let line = answered(asked, &told, now);
            return Ok(Step::Told(told, line));
        }
        Some(Known::Others(intent)) => Some(intent),
        None => None,
    };
    let planned_now;
    let plan = if let Some(planned) = &order.planned {
        &planned.plan
    } else {
        planned_now = planned(context, asked)?;
        &planned_now.plan
    };
    if let Some(intent) = others {
        // It counts as an order of whoever began it.
        check(asked, plan, None)?;
        let narrowed = narrowed(&intent, asked, plan);
        return Ok(Step::Make {
            noted: narrowed == *intent,
            intent: Arc::new(narrowed),
            is_others: true,
        });
    }
    let ordered = asked.daily_cap_usd;
    let ordered = ordered.map(|_| ordered_on_files(context, lines, &asked.by, now));
    check(asked, plan, ordered.transpose()?)?;
    let run_id = name_of(asked)?;
    // A name that was noted and is not made yet belongs to that request.
    if lines.is_begun(&run_id) || is_taken(context, asked)? {
        return Err(SubmitError::RunIdTaken(run_id));
    }
    let mut intent = asked.noted(now, run_id, plan);
    intent.traceparent.clone_from(&order.traceparent);
    Ok(Step::Make {
        intent: Arc::new(intent),
        noted: false,
        is_others: false,
    })
}

/// Returns what was begun under the terms of both who asked for it: neither gets more than was allowed.
fn narrowed(begun: &Intent, asked: &Submission, plan: &SubmissionPlan) -> Intent {
    let lower = |a: Option<f64>, b: Option<f64>| a.into_iter().chain(b).reduce(f64::min);
    let fewer = [begun.max_parallel, asked.max_parallel];
    Intent {
        max_cost_usd: lower(begun.max_cost_usd, asked.max_cost_usd),
        max_parallel: fewer.into_iter().flatten().min(),
        start: begun.start && asked.start,
        plan: plan.noted(),
        ..begun.clone()
    }
}

/// Notes what is about to be made, makes it, and notes that it is there: each once for all of them. Tells too whether
/// `lines` are kept.
fn bring_about(
    held: &mut Held,
    members: &[Member<'_>],
    mut lines: Vec<Line>,
) -> (Vec<Result<Submitted, SubmitError>>, bool) {
    let of_all = |error: SubmitError| {
        let mut told: Vec<Result<Submitted, SubmitError>> = Vec::new();
        told.resize_with(members.len(), || Err(SubmitError::Busy));
        if let Some(first) = told.first_mut() {
            *first = Err(error);
        }
        (told, false)
    };
    let new = members.iter().filter(|member| !member.noted);
    let intents: Vec<Line> = new
        .map(|member| Line::Intent(Box::new(Intent::clone(&member.intent))))
        .collect();
    if let Err(error) = held.add(&intents) {
        return of_all(error.into());
    }
    fault::here("submit.noted");
    let is_made = |member: &Member<'_>| held.lines.made.contains_key(&member.intent.run_id);
    let missing: Vec<&Member<'_>> = members.iter().filter(|member| !is_made(member)).collect();
    let mut made = make(&missing).into_iter();
    fault::here("submit.created");
    let mut told = Vec::new();
    for member in members {
        let is_new = !is_made(member);
        if is_new && let Some(Err(error)) = made.next() {
            told.push(Err(error));
            continue;
        }
        let at = member.order.context.clock.now();
        let run_id = member.intent.run_id.clone();
        lines.extend(is_new.then_some(Line::Made { at, run_id }));
        let outcome = Outcome {
            deduplicated: member.is_others.then_some(word_of(Status::Enqueued)),
            ..Outcome::made(&member.intent)
        };
        let answer = outcome.told(member.order.written);
        lines.extend(answered(&member.order.asked, &answer, at));
        told.push(Ok(answer));
    }
    let has_answer = lines
        .iter()
        .any(|line| matches!(line, Line::Answered { .. }));
    let made: Vec<RunId> = missing
        .iter()
        .map(|one| one.intent.run_id.clone())
        .collect();
    if let Err(error) = held.add(&lines) {
        return of_all(error.into());
    }
    fault::here("submit.made");
    if has_answer {
        fault::here("submit.answered");
    }
    for member in members
        .iter()
        .filter(|one| made.contains(&one.intent.run_id))
    {
        if held.lines.made.contains_key(&member.intent.run_id) {
            let by = Value::from(member.intent.by.as_str());
            let by = Map::from_iter([("by".to_owned(), by)]);
            events::note(
                &member.order.context,
                "run_created",
                &member.intent.run_id,
                by,
            );
        }
    }
    (told, true)
}

/// Returns the line that keeps what is answered to a request with a key.
fn answered(asked: &Submission, told: &Submitted, at: Timestamp) -> Option<Line> {
    let key = asked.key.as_ref()?;
    Some(Line::Answered {
        at,
        scope: key.scope.clone(),
        status: told.status,
        body: format!("{}\n{}", key.fingerprint, told.body),
    })
}

/// Makes runs that were noted, or what is missing of them; answers one for one.
fn make(members: &[&Member<'_>]) -> Vec<Result<(), SubmitError>> {
    let mut results: Vec<Result<(), SubmitError>> = Vec::new();
    let mut runs = Vec::new();
    for member in members {
        let run = new_run(member.order, &member.intent.run_id);
        results.push(run.map(|run| runs.push(run)));
    }
    let Some(first) = members.first() else {
        return results;
    };
    let create = |runs: &[NewRun]| {
        let patience = &mut |waited| waited < PATIENCE;
        batch::create_together(&first.order.context, runs, patience)
    };
    let created = if runs.is_empty() {
        return results;
    } else {
        create(&runs)
    };
    match created {
        Ok(()) => return results,
        // Whoever holds the registry holds it for each of them.
        Err(BatchError::Busy { .. }) => {
            let made = results.iter_mut().filter(|result| result.is_ok());
            made.for_each(|result| *result = Err(SubmitError::Busy));
            return results;
        }
        Err(_) => {}
    }
    // One of them stands in the way: each is made for itself, so that it keeps no other from it.
    let mut runs = runs.iter();
    for result in results.iter_mut().filter(|result| result.is_ok()) {
        let Some(run) = runs.next() else { break };
        let created = create(std::slice::from_ref(run));
        *result = created.map_err(|error| SubmitError::from(OpsError::from(error)));
    }
    results
}

fn new_run(order: &Order, run_id: &RunId) -> Result<NewRun, SubmitError> {
    let (algos, items) = match &order.planned {
        Some(Planned { algos, items, .. }) => (algos.clone(), items.clone()),
        None => (
            algos(&order.context, &order.asked)?,
            items(&order.context, &order.asked)?,
        ),
    };
    Ok(NewRun {
        run_id: run_id.clone(),
        algos,
        items,
    })
}
