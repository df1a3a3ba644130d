//! What changes something, beside new runs: cancel, retry, pictures, providers, votes, cookies.

use std::sync::Arc;

use axum::http::header;
use serde_json::json;

use archi3d_core::domain::filter::{JobQuery, JobsFilter, parse_statuses};
use archi3d_core::domain::id::AlgoKey;
use archi3d_core::domain::item_name::ItemName;
use archi3d_core::domain::job::Status;
use archi3d_core::ops::cancel::{CancelRequest, cancel_jobs};
use archi3d_core::ops::submit::{self, Retried, Retry, SubmissionPlan};
use archi3d_core::ops::{adapters, judge, uploads};

use crate::call::{Answer, Call, Fields, Reply};
use crate::canonical;
use crate::dispatch::{cookie_name, known_token};
use crate::problem::{BAD_PICTURE, INVALID, NO_ALGO, Problem, UNAUTHORIZED};
use crate::routes::PREFIX;
use crate::runs::{key_of, refusal, replayed, taken};

/// Reads which jobs are meant.
fn query(fields: &mut Fields) -> Result<JobQuery, Problem> {
    let Some(mut filter) = fields.object("filter")? else {
        return Ok(JobQuery::default());
    };
    let jobs = filter.text("jobs")?.filter(|text| !text.is_empty());
    let jobs = jobs.map(|text| JobsFilter::parse(&text)).transpose();
    let jobs = jobs.map_err(|error| filter.wrong("jobs", error.to_string()))?;
    let items = filter.texts("items")?.unwrap_or_default();
    let items = items
        .iter()
        .map(|item| ItemName::parse(item))
        .collect::<Result<_, _>>();
    let items = items.map_err(|error| filter.wrong("items", error.to_string()))?;
    let algos = filter.texts("algos")?.unwrap_or_default();
    let algo = algos
        .iter()
        .map(|algo| AlgoKey::parse(algo))
        .collect::<Result<_, _>>();
    let algo = algo.map_err(|error| filter.wrong("algos", error.to_string()))?;
    let only_status = statuses(&mut filter)?;
    filter.done()?;
    Ok(JobQuery {
        jobs,
        items,
        algo,
        only_status,
    })
}

fn statuses(fields: &mut Fields) -> Result<Option<Vec<Status>>, Problem> {
    match fields.texts("status")? {
        None => Ok(None),
        Some(words) if words.is_empty() => Ok(None),
        Some(words) => {
            let read = parse_statuses(&words.join(","));
            read.map(Some)
                .map_err(|error| fields.wrong("status", error.to_string()))
        }
    }
}

pub(crate) fn cancel(call: &Call) -> Answer {
    let run_id = call.run()?;
    let mut fields = call.fields()?;
    let request = CancelRequest {
        run_id,
        query: query(&mut fields)?,
        only: None,
        undo: fields.flag("undo")?.unwrap_or(false),
        allow_unsafe_locks: false,
    };
    fields.done()?;
    let report = if request.undo {
        call.settled()?;
        let cap = call.who.as_ref().and_then(|token| token.daily_cap_usd);
        submit::undo(&call.context, request, &call.by(), cap).map_err(refusal)?
    } else {
        let warn: archi3d_core::ops::cancel::Warn = Arc::new(|_| ());
        cancel_jobs(&call.context, &request, &|_| true, &warn)?.unwrap_or_default()
    };
    let ended = report.preview.completed + report.preview.failed + report.ended_meanwhile;
    Reply::status(
        202,
        json!({
            "cancelled": report.cancelled,
            "asked": report.asked.len(),
            "finished_already": ended,
            "restored": report.restored + report.requests_withdrawn,
        }),
    )
}

pub(crate) fn retry(call: &Call) -> Answer {
    call.settled()?;
    let run_id = call.run()?;
    let path = format!("/runs/{run_id}/retry");
    let key = key_of(call, &path, &canonical::parse(&call.body)?)?;
    let _taken = taken(call, key.as_ref())?;
    let mut fields = call.fields()?;
    let mut query = query(&mut fields)?;
    let also = statuses(&mut fields)?;
    let named = query.only_status.take().into_iter().chain(also);
    if named.flatten().any(|status| status != Status::Failed) {
        return Err(fields.wrong("status", "must be failed: only failed jobs are tried again"));
    }
    let dry_run = fields.flag("dry_run")?.unwrap_or(false);
    let asked = Retry {
        run_id,
        query,
        resubmit_unknown: fields.flag("resubmit_unknown")?.unwrap_or(false),
        max_cost_usd: fields.dollars("max_cost_usd")?,
        if_plan: fields.text("if_plan")?,
        dry_run,
        by: call.by(),
        daily_cap_usd: call.who.as_ref().and_then(|token| token.daily_cap_usd),
        key,
    };
    fields.done()?;
    let written = |plan: &SubmissionPlan| json!(plan).to_string();
    let told = submit::retry(&call.context, &asked, written).map_err(refusal)?;
    let (status, body, headers) = match told {
        Retried::Planned(plan) => (200, written(&plan), Vec::new()),
        Retried::Noted(plan) => (202, written(&plan), Vec::new()),
        Retried::Replayed(body) => (202, body, vec![replayed()]),
    };
    Ok(Reply::Bytes {
        status,
        media_type: "application/json",
        body: body.into(),
        headers,
    })
}

pub(crate) fn upload(call: &Call) -> Answer {
    let picture = crate::form::file(&call.headers, &call.body);
    let picture = picture.ok_or_else(|| Problem::new(BAD_PICTURE, "the form has no file"))?;
    let kept = uploads::keep(&call.context, &picture)?;
    let upload = kept.map_err(|reason| Problem::new(BAD_PICTURE, reason))?;
    Reply::status(
        if upload.is_new { 201 } else { 200 },
        json!({
            "image": format!("sha256:{}", upload.sha256),
            "href": format!("{PREFIX}/uploads/{}", upload.sha256),
            "sha256": upload.sha256,
            "bytes": picture.len(),
            "media_type": upload.media_type,
        }),
    )
}

pub(crate) fn resume(call: &Call) -> Answer {
    call.fields()?.done()?;
    let name = &call.path["key"];
    let key = AlgoKey::parse(name).ok();
    let entries = adapters::list_here(&call.context)?;
    let known = key.filter(|key| {
        entries
            .iter()
            .any(|entry| entry.key == *key || entry.provider == key.as_str())
    });
    let key = known.ok_or_else(|| Problem::new(NO_ALGO, format!("there is no algo {name:?}")))?;
    let (opened, _) = adapters::resume_closed(&call.context, &key)?;
    Reply::json(json!({"opened": !opened.is_empty()}))
}

pub(crate) fn votes(call: &Call) -> Answer {
    let mut fields = call.fields()?;
    let (votes, accepts) = (fields.objects("votes")?, fields.objects("accepts")?);
    fields.done()?;
    let added = judge::add(&call.context, &votes, &accepts)?;
    if added.votes + added.accepts + added.known + added.unknown_jobs == 0
        && let Some(first) = added.refused.first()
    {
        let mut problem = Problem::new(INVALID, format!("no row can be taken: {first}"));
        let pointed = added.refused.iter().map(|one| {
            let (at, what) = one.split_once(": ").unwrap_or(("#", one));
            (at.to_owned(), what.to_owned())
        });
        problem.errors.extend(pointed);
        return Err(problem);
    }
    Reply::status(201, added)
}

fn session(call: &Call) -> serde_json::Value {
    let who = call.who.as_ref();
    json!({
        "name": who.map(|token| &token.name),
        "role": who.map(|token| token.role),
        "daily_cap_usd": who.and_then(|token| token.daily_cap_usd),
    })
}

pub(crate) fn who(call: &Call) -> Answer {
    Reply::json(session(call))
}

pub(crate) fn sign_in(call: &Call) -> Answer {
    let mut fields = call.fields()?;
    let token = fields
        .text("token")?
        .ok_or_else(|| fields.wrong("token", "is missing"))?;
    fields.done()?;
    let shown = token.trim();
    let known = known_token(call, shown)?;
    let known = known.ok_or_else(|| {
        Problem::new(UNAUTHORIZED, "the token is unknown")
            .header(header::WWW_AUTHENTICATE, "Bearer")
    })?;
    let proxied = call
        .headers
        .get("x-forwarded-proto")
        .is_some_and(|proto| proto == "https");
    let secure = if proxied { "; Secure" } else { "" };
    Ok(Reply::Json {
        status: 200,
        body: json!({"name": known.name, "role": known.role, "daily_cap_usd": known.daily_cap_usd}),
        headers: vec![(
            header::SET_COOKIE,
            format!(
                "{}={shown}; HttpOnly; SameSite=Strict; Path=/; Max-Age=2592000{secure}",
                cookie_name(&call.app)
            ),
        )],
    })
}

pub(crate) fn sign_out(call: &Call) -> Answer {
    Ok(Reply::Json {
        status: 204,
        body: serde_json::Value::Null,
        headers: vec![(
            header::SET_COOKIE,
            format!(
                "{}=; HttpOnly; SameSite=Strict; Path=/; Max-Age=0",
                cookie_name(&call.app)
            ),
        )],
    })
}
