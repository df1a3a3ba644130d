//! Runs: listed, looked at, planned and made.

use std::cell::RefCell;

use axum::body::Bytes;
use axum::http::header;
use serde_json::{Map, Value, json};

use archi3d_core::domain::id::RunId;
use archi3d_core::domain::item_name::ItemName;
use archi3d_core::domain::job::Status;
use archi3d_core::ops::names::{self, RunLine};
use archi3d_core::ops::status::run_status;
use archi3d_core::ops::submit::{
    self, Dedupe, Intent, Outcome, RequestKey, Submission, SubmitError, status_of,
};

use crate::TakenKey;
use crate::call::{Answer, Call, Fields, Reply, quoted};
use crate::canonical;
use crate::problem::{
    BAD_KEY, BAD_PICTURE, BUDGET, INVALID, KEY_IN_PROGRESS, KEY_MISSING, KEY_REUSED,
    MAX_COST_MISSING, PLAN_CHANGED, Problem, RUN_ID_TAKEN, TOO_MANY, UNKNOWN_ALGO, UNKNOWN_ITEM,
};
use crate::routes::PREFIX;

const STATUSES: [&str; 5] = ["enqueued", "running", "completed", "failed", "cancelled"];

/// Returns the word of seed services for a state.
fn state(status: Status) -> &'static str {
    match status {
        Status::Enqueued => "PENDING",
        Status::Running => "RUNNING",
        Status::Completed => "SUCCEEDED",
        Status::Failed => "FAILED",
        Status::Cancelled => "CANCELLED",
    }
}

/// Returns a run as lists show it.
fn run_json(line: &RunLine, intent: Option<&Intent>) -> Value {
    let status = status_of(line);
    let here = format!("{PREFIX}/runs/{}", quoted(&line.run));
    let mut jobs = json!({"total": line.jobs});
    for status in Status::ALL {
        jobs[status.word()] = line.counts[status as usize].into();
    }
    json!({
        "run_id": line.run,
        "status": status.word(),
        "state": state(status),
        "created_at": intent.map(|intent| intent.at).or(line.created),
        "jobs": jobs,
        "as_pulled": line.as_pulled,
        "rehearsed": line.rehearsed,
        "payload_hash": intent.map(|intent| &intent.payload_hash),
        "submission": intent.map(|intent| json!({
            "payload_hash": intent.payload_hash,
            "created_by": intent.by,
            "parameters": intent.parameters,
            "max_cost_usd": intent.max_cost_usd,
            "max_parallel": intent.max_parallel,
            "start": intent.start,
            "notes": intent.notes,
        })),
        "links": {
            "self": here,
            "jobs": format!("{here}/jobs"),
            "result": format!("{here}/result"),
            "events": format!("{PREFIX}/events?run_id={}", quoted(&line.run)),
        },
    })
}

pub(crate) fn list(call: &Call) -> Answer {
    let wanted = call.choice("status", &STATUSES)?;
    let sort = call.choice("sort", &["-created", "created", "name"])?;
    let intents = submit::intents(&call.context)?;
    let (mut lines, _) = names::runs(&call.context)?;
    lines.retain(|line| line.has_manifest);
    let text = call.asked("q").map(str::to_lowercase);
    let algos = call.words("algo");
    let unasked = RefCell::new(None);
    let has_algo = |line: &RunLine| {
        let Ok(run) = RunId::parse(&line.run) else {
            return false;
        };
        match archi3d_core::ops::job_list::job_list(&call.context, &run, &[]) {
            Ok(list) => {
                let mut jobs = list.jobs.iter();
                jobs.any(|job| algos.contains(&job.name.algo.as_str()))
            }
            Err(error) => {
                // Of a run whose store does not answer nobody knows.
                if !error.is_setup() {
                    unasked.replace(Some(error));
                }
                false
            }
        }
    };
    let fits = |line: &RunLine| {
        (wanted.is_empty() || wanted.contains(&status_of(line).word()))
            && text
                .as_ref()
                .is_none_or(|text| line.run.to_lowercase().contains(text))
            && (algos.is_empty() || has_algo(line))
    };
    match sort.first() {
        Some(&"name") => lines.sort_by(|a, b| a.run.cmp(&b.run)),
        Some(&"created") => lines.sort_by_key(|line| line.created),
        _ => {
            lines.reverse();
            lines.sort_by_key(|line| std::cmp::Reverse(line.created));
        }
    }
    let (lines, next) = call.cut(lines, |line| line.run.clone(), fits)?;
    if let Some(error) = unasked.take() {
        return Err(error.into());
    }
    let intent = |line: &RunLine| intents.get(line.run.as_str()).map(|intent| &**intent);
    let items = lines
        .iter()
        .map(|line| run_json(line, intent(line)))
        .collect();
    call.list(items, next)
}

pub(crate) fn one(call: &Call) -> Answer {
    let run = call.run()?;
    let read = || read(call, &run);
    call.app.views.answer(&call.context, &run, read)
}

/// Reads how a run stands.
fn read(call: &Call, run: &RunId) -> Result<Value, Problem> {
    let status = run_status(&call.context, run)?;
    let intent = submit::intent_of(&call.context, run)?;
    let mut line = submit::line_of(run, &status);
    if intent.is_none() && line.created.is_none() {
        line.created = names::created(&call.context, run)?;
    }
    let mut body = run_json(&line, intent.as_deref());
    let status = serde_json::to_value(&status).unwrap_or_default();
    for (name, value) in status.as_object().into_iter().flatten() {
        if name != "failures" && name != "counts" && name != "run_id" {
            body[name] = value.clone();
        }
    }
    Ok(body)
}

pub(crate) fn plan(call: &Call) -> Answer {
    call.settled()?;
    let asked = submission(call, call.fields()?, None)?;
    Reply::json(submit::plan(&call.context, &asked).map_err(refusal)?)
}

pub(crate) fn submit(call: &Call) -> Answer {
    call.settled()?;
    let fields = call.fields()?;
    let whole = canonical::parse(&call.body)?;
    let key = key_of(call, "/runs", &whole)?;
    let _taken = taken(call, key.as_ref())?;
    let asked = submission(call, fields, key)?;
    let told = submit::submit(&call.context, &asked, written).map_err(refusal)?;
    let mut headers = Vec::new();
    if let Some(run) = &told.run_id {
        let here = format!("{PREFIX}/runs/{}", quoted(run.as_str()));
        headers.push((header::LOCATION, here));
    }
    headers.extend(told.replayed.then(replayed));
    Ok(Reply::Bytes {
        status: told.status,
        media_type: "application/json",
        body: Bytes::from(told.body),
        headers,
    })
}

/// Writes the answer to a submission.
fn written(outcome: &Outcome<'_>) -> String {
    let mut body = run_json(&outcome.line, Some(outcome.intent));
    body["plan"] = outcome.intent.plan.clone();
    body["created_by"] = outcome.intent.by.clone().into();
    body["deduplicated"] = outcome.deduplicated.into();
    body["warnings"] = outcome.warnings.clone().into();
    body.to_string()
}

/// The header of an answer that is given again.
pub(crate) fn replayed() -> (header::HeaderName, String) {
    let name = header::HeaderName::from_static("idempotency-replayed");
    (name, "true".to_owned())
}

/// Takes the key of a request until it is answered.
pub(crate) fn taken(call: &Call, key: Option<&RequestKey>) -> Result<Option<TakenKey>, Problem> {
    let Some(key) = key else {
        return Ok(None);
    };
    let taken = call.app.take_key(&key.scope).ok_or_else(|| {
        Problem::new(
            KEY_IN_PROGRESS,
            "the first request with this key is being answered",
        )
        .header(header::RETRY_AFTER, "1")
    })?;
    Ok(Some(taken))
}

/// Reads the key of a request: whose it is, and what it asks for.
pub(crate) fn key_of(call: &Call, path: &str, body: &Value) -> Result<Option<RequestKey>, Problem> {
    let name = header::HeaderName::from_static("idempotency-key");
    let mut values = call.headers.get_all(&name).iter();
    let Some(value) = values.next() else {
        return Ok(None);
    };
    if values.next().is_some() {
        return Err(Problem::new(BAD_KEY, "it is there more than once"));
    }
    let text = value.to_str().unwrap_or_default().trim();
    let quotes = text
        .strip_prefix('"')
        .and_then(|text| text.strip_suffix('"'));
    let text = quotes.unwrap_or(text);
    let visible = text
        .bytes()
        .all(|byte| (0x21..=0x7e).contains(&byte) && byte != b'"');
    if text.is_empty() || text.len() > 255 || !visible {
        return Err(Problem::new(
            BAD_KEY,
            "1 to 255 visible ASCII characters are taken",
        ));
    }
    let scope = format!("{} POST {path} {text}", call.keeper()?);
    Ok(Some(RequestKey {
        scope: canonical::hex(scope.as_bytes()),
        fingerprint: canonical::hash(body),
    }))
}

fn submission(
    call: &Call,
    mut fields: Fields,
    key: Option<RequestKey>,
) -> Result<Submission, Problem> {
    let parameters = fields
        .any("parameters")
        .ok_or_else(|| fields.wrong("parameters", "is missing"))?;
    let payload_hash = canonical::hash(&parameters);
    let mut asked = Fields::of(parameters.clone(), "#/parameters")?;
    let algos = match (asked.texts("algos")?, asked.text("algo")?) {
        (Some(algos), None) => algos,
        (None, Some(algo)) => vec![algo],
        (Some(_), Some(_)) => return Err(asked.wrong("algo", "goes without algos")),
        (None, None) => return Err(asked.wrong("algos", "must be there, or algo")),
    };
    if algos.is_empty()
        || algos
            .iter()
            .any(|algo| algo.trim().is_empty() || algo.contains(','))
    {
        return Err(asked.wrong("algos", "must name algos, one each"));
    }
    let items = asked.texts("items")?;
    let images = asked.texts("images")?.unwrap_or_default();
    if items.is_some() && !images.is_empty() {
        return Err(asked.wrong("images", "goes without items"));
    }
    if items.as_ref().is_some_and(Vec::is_empty) {
        return Err(asked.wrong("items", "must name items; without it all are meant"));
    }
    if images.len() > 6 {
        return Err(asked.wrong("images", "at most six pictures are taken"));
    }
    let images = images
        .iter()
        .map(|image| image.strip_prefix("sha256:").unwrap_or(image).to_owned());
    let images = images.collect();
    let items = items.unwrap_or_default();
    let items = items.iter().map(|item| ItemName::parse(item));
    let items = items.collect::<Result<Vec<_>, _>>();
    let items = items.map_err(|error| asked.wrong("items", error.to_string()))?;
    let options = match asked.any("options") {
        None => Map::new(),
        Some(Value::Object(options)) => options,
        Some(_) => return Err(asked.wrong("options", "must be an object")),
    };
    asked.done()?;
    let run_id = fields
        .text("run_id")?
        .map(|name| RunId::parse(&name))
        .transpose();
    let run_id = run_id.map_err(|error| fields.wrong("run_id", error.to_string()))?;
    let dedupe = match fields.text("dedupe")?.as_deref() {
        None | Some("active_or_finished") => Dedupe::ActiveOrFinished,
        Some("active") => Dedupe::Active,
        Some("none") => Dedupe::None,
        Some(_) => {
            return Err(fields.wrong("dedupe", "must be active_or_finished, active or none"));
        }
    };
    let notes = fields.text("notes")?;
    if notes
        .as_ref()
        .is_some_and(|notes| notes.chars().count() > 2000)
    {
        return Err(fields.wrong("notes", "must have at most 2000 characters"));
    }
    let submission = Submission {
        parameters,
        payload_hash,
        algos,
        items,
        images,
        options,
        run_id,
        dedupe,
        max_cost_usd: fields.dollars("max_cost_usd")?,
        if_plan: fields.text("if_plan")?,
        max_parallel: fields.count("max_parallel", 1024)?,
        start: fields.flag("start")?.unwrap_or(true),
        notes,
        by: call.by(),
        daily_cap_usd: call.who.as_ref().and_then(|token| token.daily_cap_usd),
        key,
    };
    fields.done()?;
    Ok(submission)
}

/// Says why a submission is refused.
pub(crate) fn refusal(error: SubmitError) -> Problem {
    let text = error.to_string();
    match error {
        SubmitError::UnknownAlgo(_) => Problem::at(UNKNOWN_ALGO, "#/parameters/algos", text),
        SubmitError::UnknownItem(_) => Problem::at(UNKNOWN_ITEM, "#/parameters/items", text),
        SubmitError::UnknownOption { name, .. } => {
            let name = name.replace('~', "~0").replace('/', "~1");
            Problem::at(INVALID, &format!("#/parameters/options/{name}"), text)
        }
        SubmitError::UnusablePicture(_) => Problem::at(BAD_PICTURE, "#/parameters/images", text),
        SubmitError::NoJobs(_) => Problem::at(INVALID, "#/parameters", text),
        SubmitError::PlanChanged(plan) => Problem::new(PLAN_CHANGED, text)
            .with("plan", serde_json::to_value(plan).unwrap_or_default()),
        SubmitError::MaxCostMissing(expected) => {
            Problem::at(MAX_COST_MISSING, "#/max_cost_usd", text)
                .with("expected_usd", expected.dollars())
        }
        SubmitError::KeyMissing => Problem::at(KEY_MISSING, "#/dedupe", text),
        SubmitError::TooDear { expected, .. } | SubmitError::OverRaise { expected, .. } => {
            Problem::at(BUDGET, "#/max_cost_usd", text).with("expected_usd", expected.dollars())
        }
        SubmitError::OverRun { expected, left, .. } => Problem::at(BUDGET, "#/max_cost_usd", text)
            .with("expected_usd", expected.dollars())
            .with("left_usd", left),
        SubmitError::OverCap { most, .. } => {
            Problem::at(BUDGET, "#/max_cost_usd", text).with("expected_usd", most.dollars())
        }
        SubmitError::NoPrice(_) => Problem::at(INVALID, "#/parameters/algos", text),
        SubmitError::Unpriced(_) => Problem::at(BUDGET, "#/parameters/algos", text),
        SubmitError::RunIdTaken(_) => Problem::at(RUN_ID_TAKEN, "#/run_id", text),
        SubmitError::BadRunId(_) => Problem::at(INVALID, "#/run_id", text),
        SubmitError::KeyReused => Problem::new(KEY_REUSED, text),
        SubmitError::Busy => Problem::new(TOO_MANY, text).header(header::RETRY_AFTER, "2"),
        SubmitError::Ops(error) => error.into(),
    }
}
