//! Runs that are asked for over the network and live in files: noted, made under the name noted, and noted again, all
//! under the lock of the notes.

use std::time::Duration;

use serde_json::{Map, Value};

use super::log::{Held, Line, Lines};
use super::planned::{items, planned};
use super::{
    Dedupe, Existing, Intent, Outcome, REMEMBERED, RequestKey, Submission, SubmitError, Submitted,
    Written, check, free_name, seen_now, standing, word_of,
};
use crate::domain::plan::ItemFilter;
use crate::domain::time::Timestamp;
use crate::ops::batch::{self, BatchRequest, ConfiguredAlgos};
use crate::ops::names::{self, RunLine};
use crate::ops::{OpsContext, OpsError, events};

/// Makes the run, or finds the one that will do.
pub(super) fn submit(
    context: &OpsContext,
    asked: &Submission,
    written: Written<'_>,
) -> Result<Submitted, SubmitError> {
    let mut held = Held::take(&context.workspace)?.ok_or(SubmitError::Busy)?;
    let now = context.clock.now();
    if let Some(key) = &asked.key
        && let Some(known) = with_key(&held.lines, key, now)?
    {
        return match known {
            Known::Answered(status, body) => Ok(Submitted {
                status,
                body,
                run_id: None,
            }),
            Known::Begun(intent) => finish(context, asked, &mut held, &intent, written),
        };
    }
    if let Some(begun) = begun(&held.lines, asked) {
        return finish(context, asked, &mut held, &begun, written);
    }
    if let Some((intent, line)) = earlier(context, &held.lines, asked)? {
        let outcome = Outcome {
            deduplicated: Some(word_of(standing(&line))),
            line,
            intent,
        };
        let told = outcome.told(written);
        remember(context, asked, &mut held, &told)?;
        return Ok(told);
    }
    let plan = planned(context, asked)?;
    let ordered = asked
        .daily_cap_usd
        .map(|_| ordered_today(&held.lines, &asked.by, now));
    check(asked, &plan, ordered)?;
    let (runs, _) = names::runs(context)?;
    let run_id = free_name(context, asked, &runs)?;
    let intent = asked.noted(now, run_id, &plan);
    held.add(Line::Intent(Box::new(intent.clone())))?;
    finish(context, asked, &mut held, &intent, written)
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
        status: standing(&line),
    }))
}

/// Remembers what was answered to a request with a key.
fn remember(
    context: &OpsContext,
    asked: &Submission,
    held: &mut Held,
    told: &Submitted,
) -> Result<(), SubmitError> {
    let Some(key) = &asked.key else {
        return Ok(());
    };
    held.add(Line::Answered {
        at: context.clock.now(),
        scope: key.scope.clone(),
        status: told.status,
        body: format!("{}\n{}", key.fingerprint, told.body),
    })?;
    Ok(())
}

/// What is known of a key.
enum Known {
    Answered(u16, String),
    Begun(Box<Intent>),
}

fn with_key(lines: &Lines, key: &RequestKey, now: Timestamp) -> Result<Option<Known>, SubmitError> {
    let young = |at: Timestamp| now.since(at) < REMEMBERED;
    let of_key = |intent: &&Intent| {
        let own = intent.key.as_ref();
        own.is_some_and(|own| own.scope == key.scope) && young(intent.at)
    };
    let Some(intent) = lines.intents.iter().rev().find(of_key) else {
        // A request that led to no run of its own has only its answer.
        let answer = lines
            .answers
            .get(&key.scope)
            .filter(|answer| young(answer.0));
        return match answer {
            None => Ok(None),
            Some((_, status, body)) => match body.split_once('\n') {
                Some((fingerprint, body)) if fingerprint == key.fingerprint => {
                    Ok(Some(Known::Answered(*status, body.to_owned())))
                }
                _ => Err(SubmitError::KeyReused),
            },
        };
    };
    let same = intent
        .key
        .as_ref()
        .is_some_and(|own| own.fingerprint == key.fingerprint);
    if !same {
        return Err(SubmitError::KeyReused);
    }
    Ok(Some(match lines.answers.get(&key.scope) {
        Some((_, status, body)) => {
            let body = body.split_once('\n').map_or("", |(_, body)| body);
            Known::Answered(*status, body.to_owned())
        }
        None => Known::Begun(Box::new(intent.clone())),
    }))
}

/// Returns a submission of the same parameters that somebody died over.
fn begun(lines: &Lines, asked: &Submission) -> Option<Intent> {
    let same = |intent: &&Intent| {
        intent.payload_hash == asked.payload_hash
            && intent.dedupes
            && asked.dedupe != Dedupe::None
            && !lines.made.contains_key(&intent.run_id)
    };
    lines.intents.iter().rev().find(same).cloned()
}

/// Returns the run that will do instead of a new one, and how it stands.
fn earlier<'l>(
    context: &OpsContext,
    lines: &'l Lines,
    asked: &Submission,
) -> Result<Option<(&'l Intent, RunLine)>, OpsError> {
    if asked.dedupe == Dedupe::None {
        return Ok(None);
    }
    let same = lines.intents.iter().rev().filter(|intent| {
        intent.payload_hash == asked.payload_hash
            && intent.dedupes
            && lines.made.contains_key(&intent.run_id)
    });
    for intent in same {
        // One that was removed since will not do.
        if !context.workspace.run(&intent.run_id).manifest().is_file() {
            continue;
        }
        let line = seen_now(context, &intent.run_id)?;
        if asked.is_content_with(standing(&line)) {
            return Ok(Some((intent, line)));
        }
    }
    Ok(None)
}

/// Makes the run that was noted, or what is missing of it.
fn finish(
    context: &OpsContext,
    asked: &Submission,
    held: &mut Held,
    intent: &Intent,
    written: Written<'_>,
) -> Result<Submitted, SubmitError> {
    if !held.lines.made.contains_key(&intent.run_id) {
        let request = BatchRequest {
            run_id: Some(intent.run_id.clone()),
            algos: Some(asked.algos.join(",")),
            filter: ItemFilter::default(),
            dry_run: false,
            items: Some(items(context, asked)?),
        };
        let configured = ConfiguredAlgos::of(&context.settings);
        batch::create(
            &context.workspace,
            &*context.clock,
            &configured,
            &request,
            &mut |waited| waited < Duration::from_secs(30),
        )
        .map_err(OpsError::from)?;
        held.add(Line::Made {
            at: context.clock.now(),
            run_id: intent.run_id.clone(),
        })?;
        let by = Map::from_iter([("by".to_owned(), Value::from(intent.by.as_str()))]);
        events::note(context, "run_created", &intent.run_id, by);
    }
    let told = Outcome::made(intent).told(written);
    remember(context, asked, held, &told)?;
    Ok(told)
}

/// Returns what somebody ordered today.
pub(super) fn ordered_today(lines: &Lines, by: &str, now: Timestamp) -> f64 {
    let today = now.as_datetime().date_naive();
    let is_today = |at: Timestamp| at.as_datetime().date_naive() == today;
    let runs = lines
        .intents
        .iter()
        .filter(|one| one.by == by && is_today(one.at));
    let retries = lines
        .retries
        .iter()
        .filter(|one| one.by == by && is_today(one.at));
    runs.map(|one| one.expected_usd)
        .chain(retries.map(|one| one.expected_usd))
        .sum()
}
