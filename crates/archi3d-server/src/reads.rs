//! Everything else that can be looked at: items, algos, workers, costs, votes, pictures, events,
//! and how the service itself is.

use axum::http::header;
use serde_json::{Value, json};

use archi3d_core::domain::id::RunId;
use archi3d_core::domain::item_name::ItemName;
use archi3d_core::domain::plan::CatalogItem;
use archi3d_core::ops::find::item as item_name;
use archi3d_core::ops::view::cost::{By, Tally};
use archi3d_core::ops::{
    adapters, artifacts, batch, cost, events, health, judge, names, uploads, workers as ops_workers,
};

use crate::call::{Answer, Call, Reply, quoted};
use crate::dispatch::shown_token;
use crate::events::Wanted;
use crate::problem::{BAD_QUERY, KINDS, Kind, NO_ARTIFACT, NO_ITEM, NO_RUN, NOT_FOUND, Problem};
use crate::routes::PREFIX;

fn item_json(item: &CatalogItem) -> Value {
    let name = item_name(&item.product_id, &item.variant);
    let here = format!("{PREFIX}/items/{}", quoted(&name));
    let categories = item
        .categories
        .iter()
        .filter(|category| !category.is_empty());
    let pictures = item.images.iter().enumerate().map(|(place, stored)| {
        let file = stored.rsplit(['/', '\\']).next().unwrap_or_default();
        json!({"name": file, "href": format!("{here}/pictures/{}", place + 1)})
    });
    json!({
        "item": name,
        "product_id": item.product_id,
        "variant": item.variant,
        "name": item.product_name,
        "manufacturer": item.manufacturer,
        "categories": categories.collect::<Vec<_>>(),
        "pictures": pictures.collect::<Vec<_>>(),
        "links": {"self": here},
    })
}

fn catalog(call: &Call) -> Result<Vec<CatalogItem>, Problem> {
    let items = batch::catalog(&call.context.workspace);
    items.map_err(|error| archi3d_core::ops::OpsError::from(error).into())
}

pub(crate) fn items(call: &Call) -> Answer {
    let text = call.asked("q").map(str::to_lowercase);
    let wanted = |item: &CatalogItem| {
        let parts = [
            &item.product_id,
            &item.variant,
            &item.product_name,
            &item.manufacturer,
        ];
        let has = |text: &String| parts.iter().any(|part| part.to_lowercase().contains(text));
        text.as_ref().is_none_or(has)
    };
    let name = |item: &CatalogItem| format!("{}\0{}", item.product_id, item.variant);
    let (items, next) = call.cut(catalog(call)?, name, wanted)?;
    call.list(items.iter().map(item_json).collect(), next)
}

/// Finds the item of the path: the one of this name, else the first of the product.
fn find(call: &Call) -> Result<CatalogItem, Problem> {
    let name = &call.path["item"];
    let mut items = catalog(call)?;
    let exact = items
        .iter()
        .position(|item| item_name(&item.product_id, &item.variant) == *name);
    let place = exact.or_else(|| {
        let name = ItemName::parse(name).ok()?;
        items
            .iter()
            .position(|item| name.matches(&item.product_id, &item.variant))
    });
    let place = place
        .ok_or_else(|| Problem::new(NO_ITEM, format!("the catalogue has no item {name:?}")))?;
    Ok(items.swap_remove(place))
}

pub(crate) fn item(call: &Call) -> Answer {
    let item = find(call)?;
    let mut body = item_json(&item);
    let mut jobs = Vec::new();
    let name = item_name(&item.product_id, &item.variant);
    for run in names::run_ids(&call.context) {
        let Ok(run) = RunId::parse(&run) else {
            continue;
        };
        let list = match archi3d_core::ops::job_list::job_list(&call.context, &run, &[]) {
            Ok(list) => list.jobs,
            // A run that cannot be read has no jobs to show here; of one whose store does not answer nobody knows.
            Err(error) if error.is_setup() => continue,
            Err(error) => return Err(error.into()),
        };
        for job in list.into_iter().filter(|job| job.name.item() == name) {
            let id = quoted(job.job_id.as_str());
            jobs.push(json!({
                "run_id": run,
                "job_id": job.job_id,
                "algo": job.name.algo,
                "status": job.state,
                "result": job.result,
                "href": format!("{PREFIX}/runs/{}/jobs/{id}", quoted(run.as_str())),
            }));
        }
    }
    body["jobs"] = jobs.into();
    Reply::json(body)
}

pub(crate) fn picture(call: &Call) -> Answer {
    let item = find(call)?;
    let place = call.path["n"]
        .parse::<usize>()
        .ok()
        .and_then(|n| n.checked_sub(1));
    let stored = place.and_then(|place| item.images.get(place));
    let opened = stored.and_then(|stored| artifacts::open_picture(&call.context, stored));
    let (stored, opened) = stored
        .zip(opened)
        .ok_or_else(|| Problem::new(NO_ITEM, "the item has no such picture"))?;
    Ok(Reply::File {
        opened,
        media_type: picture_type(stored),
        name: None,
    })
}

/// Says what a picture is; anything else is only bytes.
fn picture_type(name: &str) -> &'static str {
    match crate::jobs::media_type(name) {
        known if known.starts_with("image/") => known,
        _ => "application/octet-stream",
    }
}

pub(crate) fn upload(call: &Call) -> Answer {
    let found = uploads::find(&call.context, &call.path["sha256"]);
    let opened = found.and_then(|upload| {
        let mut opened = artifacts::open_picture(&call.context, &upload.stored)?;
        // A large one is what its name says: it was compared before it got it.
        opened.sha256.get_or_insert(upload.sha256);
        Some((opened, upload.media_type))
    });
    let (opened, media_type) =
        opened.ok_or_else(|| Problem::new(NO_ARTIFACT, "there is no such upload"))?;
    Ok(Reply::File {
        opened,
        media_type,
        name: None,
    })
}

pub(crate) fn algos(call: &Call) -> Answer {
    let (entries, next) = call.cut(
        adapters::list(&call.context)?,
        |one| one.key.to_string(),
        |_| true,
    )?;
    let shown = entries.into_iter().map(|entry| {
        let provider = entry.provider.clone();
        let algo = entry.key.to_string();
        let mut shown = serde_json::to_value(entry).unwrap_or_default();
        if let Some(object) = shown.as_object_mut() {
            // Where a program lies is nobody's business outside.
            object.shift_remove("program");
            object.shift_remove("key");
            object.shift_insert(0, "algo".to_owned(), algo.clone().into());
        }
        for (name, of) in [("closed", &provider), ("paused", &algo)] {
            if shown[name].is_object() {
                shown[name]["closed_at"] = shown[name]["since"].clone();
                shown[name]["provider"] = of.as_str().into();
            }
        }
        shown
    });
    call.list(shown.collect(), next)
}

pub(crate) fn workers(call: &Call) -> Answer {
    let name = |one: &ops_workers::WorkerView| one.worker_id.clone();
    let (workers, next) = call.cut(ops_workers::workers(&call.context)?, name, |_| true)?;
    let shown = workers
        .iter()
        .map(|worker| serde_json::to_value(worker).unwrap_or_default());
    call.list(shown.collect(), next)
}

pub(crate) fn costs(call: &Call) -> Answer {
    let by = match call
        .choice("by", &["algo", "day", "worker", "run"])?
        .first()
    {
        Some(&"day") => By::Day,
        Some(&"worker") => By::Worker,
        Some(&"run") => By::Run,
        _ => By::Algo,
    };
    let run = call.asked("run_id").map(|name| {
        let known = names::run_ids(&call.context).iter().any(|run| run == name);
        let run = RunId::parse(name).ok().filter(|_| known);
        run.ok_or_else(|| Problem::new(NO_RUN, format!("there is no run {name:?}")))
    });
    let mut report = cost::cost_report(&call.context, run.transpose()?.as_ref(), by, false)?;
    let read = |text: &str| chrono::NaiveDate::parse_from_str(text, "%Y-%m-%d").ok();
    let day = |name: &str| -> Result<Option<chrono::NaiveDate>, Problem> {
        let Some(text) = call.filled(name)? else {
            return Ok(None);
        };
        let found = read(text).filter(|_| by == By::Day);
        found.map(Some).ok_or_else(|| {
            let wanted = "must be a day such as 2026-11-17, with by=day";
            Problem::new(BAD_QUERY, format!("{name} {wanted}"))
        })
    };
    let (from, to) = (day("from")?, day("to")?);
    if from.is_some() || to.is_some() {
        report.lines.retain(|line| {
            let day = read(line.name.1.as_str());
            from.is_none_or(|from| day.is_some_and(|day| day >= from))
                && to.is_none_or(|to| day.is_some_and(|day| day <= to))
        });
        let mut total = Tally::default();
        for line in &report.lines {
            total.join(&line.tally);
        }
        report.total = total;
    }
    Reply::json(report)
}

pub(crate) fn votes(call: &Call) -> Answer {
    let [votes, accepts] = judge::all_rows(&call.context)?;
    Reply::json(json!({"votes": votes, "accepts": accepts}))
}

pub(crate) fn events(call: &Call) -> Answer {
    let last = call
        .headers
        .get("last-event-id")
        .map(|id| id.to_str().unwrap_or("?").trim());
    let place = match last {
        None | Some("") => events::end(&call.context),
        Some(text) => text
            .parse()
            .map_err(|_| Problem::new(BAD_QUERY, "Last-Event-ID must be the id of an event"))?,
    };
    let text = |name: &str| call.asked(name).map(str::to_owned);
    Ok(Reply::Events(Wanted {
        context: call.context.clone(),
        place,
        run: text("run_id"),
        job: text("job_id"),
        types: call.words("types").into_iter().map(str::to_owned).collect(),
        shown: shown_token(&call.app, &call.headers).map(str::to_owned),
    }))
}

pub(crate) fn healthz(_: &Call) -> Answer {
    alive()
}

/// Says that the service lives; looks at nothing.
pub(crate) fn alive() -> Answer {
    Reply::json(json!({"status": "ok", "version": env!("CARGO_PKG_VERSION")}))
}

pub(crate) fn readyz(call: &Call) -> Answer {
    let look = || health::checks(&call.context);
    let mut checks = call.app.health.checks(look);
    let stopping = call.app.is_stopping();
    let ready = !stopping && checks.iter().all(|check| check.ok || !check.is_needed());
    if call.who.is_none() {
        // Everybody may ask, and paths and databases are nobody's business outside.
        let hide = |check: &mut health::Check| check.detail = None;
        checks.iter_mut().for_each(hide);
    }
    let unread = call.app.trouble().is_some();
    let settings = health::Check {
        name: "settings",
        ok: !unread,
        ms: 0,
        // Everybody may ask, so what is wrong stands elsewhere.
        detail: unread.then(|| "they cannot be read; logs/serve.log says why".to_owned()),
    };
    let status = match (ready, stopping) {
        // Everything but new orders works with the settings that were read last, and workers look by themselves.
        (true, _) if !settings.ok || checks.iter().any(|check| !check.ok) => "degraded",
        (true, _) => "ready",
        (false, true) => "stopping",
        (false, false) => "not ready",
    };
    checks.push(settings);
    checks.sort_by_key(|check| check.ok);
    Ok(Reply::Json {
        status: if ready { 200 } else { 503 },
        body: json!({"status": status, "checks": checks}),
        headers: vec![(header::CACHE_CONTROL, "no-store".to_owned())],
    })
}

fn kind_json(kind: &Kind) -> Value {
    json!({
        "type": format!("/problems/{}", kind.name),
        "status": kind.status,
        "title": kind.title,
        "next": kind.next,
    })
}

pub(crate) fn kinds(_: &Call) -> Answer {
    Reply::json(
        json!({"items": KINDS.iter().map(kind_json).collect::<Vec<_>>(), "next_cursor": null}),
    )
}

pub(crate) fn kind(call: &Call) -> Answer {
    let name = &call.path["kind"];
    let kind = KINDS.iter().find(|kind| kind.name == name);
    let kind = kind.ok_or_else(|| Problem::new(NOT_FOUND, format!("there is no kind {name:?}")))?;
    Reply::json(kind_json(kind))
}
