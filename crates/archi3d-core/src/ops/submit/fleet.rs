//! Runs that are asked for over the network and live in a fleet: the run, its jobs, what the same parameters lead to
//! and the answer to the request's key become visible in one transaction; then workers are woken.
//!
//! The folder of the run comes after that, from what the database has ([`arrive`]): whoever finds a run without one
//! makes it, so a server that dies in between leaves nothing that is half there.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use crate::domain::id::RunId;
use crate::domain::job::Status;
use crate::domain::money::Usd;
use crate::domain::plan::{ItemFilter, Plan};
use crate::domain::text::shell_word;
use crate::ops::fleet::{Desk, all_runs};
use crate::ops::names::{self, RunLine};
use crate::ops::{OpsContext, OpsError, adapters, batch, events, identity};
use crate::platform::fault;
use crate::store::error::IoContext as _;
use crate::store::postgres::import::{self, NewJob, NewRun, Run};
use crate::store::postgres::orders::{self, Kept, NewOrder};
use crate::store::postgres::{Connection, PgError, export, hand_over, view};
use crate::workspace::fleet::{FleetMark, FleetState};
use crate::workspace::lock::FileLock;

use super::log::RetryOrder;
use super::planned::{algos, items, planned};
use super::{
    Existing, Intent, Outcome, REMEMBERED, Submission, SubmitError, Submitted, Written, check,
    free_name, standing, word_of,
};

/// Jobs that take more workers than this with them fail for good.
const MAX_ATTEMPTS: u32 = 5;

/// How long a lease lasts, in seconds, where no worker says otherwise.
const LEASE_SECONDS: u32 = 60;

/// So many jobs are sent at a time.
const PAGE: usize = 5_000;

/// How long another program may hold the registry before a folder is left for later.
const PATIENCE: Duration = Duration::from_secs(20);

/// What the transaction came to.
enum Answer {
    Told(Submitted),
    Refused(SubmitError),
    /// There is nothing yet: it must be planned.
    New,
}

/// Makes the run, or finds the one that will do.
pub(super) fn submit(
    context: &OpsContext,
    desk: &mut Desk<'_>,
    asked: &Submission,
    written: Written<'_>,
) -> Result<Submitted, SubmitError> {
    let answer = desk.ask(|c| c.transaction(|c| known(c, asked, written)))?;
    let (told, is_new) = match answer {
        Answer::Told(told) => (told, false),
        Answer::Refused(error) => return Err(error),
        Answer::New => (make(context, desk, asked, written)?, true),
    };
    if let Some(run_id) = &told.run_id {
        // What is in the database stands, whatever becomes of the folder; the next one who looks makes it.
        let _ = desk.ask(|c| Ok(arrive_one(context, c, run_id)));
        if is_new {
            let by = Map::from_iter([("by".to_owned(), Value::from(asked.by.as_str()))]);
            events::note(context, "run_created", run_id, by);
        }
    }
    Ok(told)
}

/// Plans the run, checks what it costs, and makes it unless somebody else just did.
fn make(
    context: &OpsContext,
    desk: &mut Desk<'_>,
    asked: &Submission,
    written: Written<'_>,
) -> Result<Submitted, SubmitError> {
    let plan = planned(context, asked)?;
    check(asked, &plan, None)?;
    let named = match &asked.run_id {
        Some(_) => names::runs(context)?.0,
        None => Vec::new(),
    };
    let run_id = free_name(context, asked, &named)?;
    let intent = asked.noted(context.clock.now(), run_id, &plan);
    let (user, host) = identity::user_and_host();
    let about = json!({
        "push": Uuid::new_v4().simple().to_string(),
        "by": format!("{user}@{host}"),
        "workspace": context.workspace.root().to_string_lossy(),
    });
    let items = items(context, asked)?;
    let algos = algos(context, asked)?;
    let jobs = Plan::new(&items, &algos, &ItemFilter::default());
    let rows = batch::new_rows(&jobs, &intent.run_id, &*context.clock);
    let jobs = new_jobs(context, &jobs, &rows, intent.at.iso());
    let mut run_no = None;
    let answer = desk.ask(|c| {
        c.transaction(|c| {
            hand_over::prepare(c)?;
            orders::take_turns(c, &turns(asked))?;
            if let Some(run) = import::run(c, intent.run_id.as_str())? {
                // What came of a commit that was cut off is here.
                if parameters(&run)["push"] != about["push"] {
                    return Ok(Answer::Refused(SubmitError::RunIdTaken(
                        intent.run_id.clone(),
                    )));
                }
                return Ok(Answer::Told(Outcome::made(&intent).told(written)));
            }
            match known(c, asked, written)? {
                Answer::New => {}
                answer => return Ok(answer),
            }
            if asked.daily_cap_usd.is_some() {
                let ordered = orders::ordered_today(c, &asked.by)?;
                if let Err(error) = check(asked, &plan, Some(ordered.dollars())) {
                    return Ok(Answer::Refused(error));
                }
            }
            let told = Outcome::made(&intent).told(written);
            let hash = hash_bytes(asked);
            let run = NewRun {
                run_id: intent.run_id.as_str(),
                parameters: &about.to_string(),
                payload_hash: &hash,
                header: rows.raw_header(),
                lease_seconds: LEASE_SECONDS,
                artifacts_url: None,
            };
            if let Some((older, _, _)) = same(c, asked)? {
                // It failed, was cancelled, or is not wanted: the new one takes its place.
                orders::forget_same(c, older)?;
            }
            let run = import::add_run(c, &run)?;
            for page in jobs.chunks(PAGE) {
                let id = intent.run_id.as_str();
                import::add_jobs(c, run.run_no, id, page, 0, MAX_ATTEMPTS)?;
            }
            let body = serde_json::to_string(&intent).expect("plain data can always be written");
            let order = NewOrder {
                run_no: run.run_no,
                retry: None,
                by: &asked.by,
                expected: Usd::of(intent.expected_usd),
                body: &body,
                dedupes: intent.dedupes,
            };
            orders::add(c, &order)?;
            remember(c, asked, run.run_no, &told)?;
            import::added(c, run.run_no)?;
            fault::here("submit.all_sent");
            run_no = Some(run.run_no);
            Ok(Answer::Told(told))
        })
    })?;
    fault::here("submit.committed");
    match answer {
        Answer::Told(told) => {
            if let (Some(wake), Some(run_no)) = (context.wake(None)?, run_no) {
                // Workers look by themselves, too.
                let _ = wake.tell(run_no);
            }
            Ok(told)
        }
        Answer::Refused(error) => Err(error),
        Answer::New => Err(SubmitError::Busy),
    }
}

fn parameters(run: &Run) -> Value {
    serde_json::from_str(&run.parameters).unwrap_or_default()
}

/// Names what must not be asked for twice at once: the parameters, the key, and the cap of who asks.
fn turns(asked: &Submission) -> Vec<String> {
    let key = asked.key.as_ref().map(|key| format!("key {}", key.scope));
    let cap = asked.daily_cap_usd.map(|_| format!("cap {}", asked.by));
    let payload = format!("payload {}", asked.payload_hash);
    let name = asked.run_id.as_ref().map(|run| format!("run {run}"));
    [Some(payload), key, cap, name]
        .into_iter()
        .flatten()
        .collect()
}

fn hash_bytes(asked: &Submission) -> Vec<u8> {
    Sha256::digest(asked.payload_hash.as_bytes()).to_vec()
}

/// Returns what is known of the key, and else the run that will do.
fn known(c: &mut Connection, asked: &Submission, written: Written<'_>) -> Result<Answer, PgError> {
    if let Some(key) = &asked.key
        && let Some(kept) = orders::kept(c, &key.scope)?
    {
        if kept.fingerprint != key.fingerprint.as_bytes() {
            return Ok(Answer::Refused(SubmitError::KeyReused));
        }
        return Ok(Answer::Told(Submitted {
            status: kept.status,
            body: kept.body,
            run_id: None,
        }));
    }
    let Some((run_no, intent, line)) = same(c, asked)? else {
        return Ok(Answer::New);
    };
    let status = standing(&line);
    if !asked.is_content_with(status) {
        return Ok(Answer::New);
    }
    let outcome = Outcome {
        line,
        intent: &intent,
        deduplicated: Some(word_of(status)),
    };
    let told = outcome.told(written);
    remember(c, asked, run_no, &told)?;
    Ok(Answer::Told(told))
}

/// Returns the run that the same parameters led to, what was asked for then, and how it stands.
fn same(c: &mut Connection, asked: &Submission) -> Result<Option<(i64, Intent, RunLine)>, PgError> {
    if asked.dedupe == super::Dedupe::None {
        return Ok(None);
    }
    let Some(found) = orders::same(c, &hash_bytes(asked))? else {
        return Ok(None);
    };
    let Ok(intent) = serde_json::from_str::<Intent>(&found.body) else {
        return Ok(None);
    };
    let mut line = Outcome::made(&intent).line;
    line.counts = [0; Status::ALL.len()];
    line.jobs = 0;
    for algo in view::counts(c, found.run_no)? {
        line.jobs += algo.total;
        line.rehearsed += algo.rehearsed;
        for (sum, count) in line.counts.iter_mut().zip(algo.by_status()) {
            *sum += count;
        }
    }
    Ok(Some((found.run_no, intent, line)))
}

/// Returns the run that would be given back instead of a new one.
pub(super) fn existing(
    context: &OpsContext,
    asked: &Submission,
) -> Result<Option<Existing>, SubmitError> {
    let found = all_runs(context)?.ask(|c| same(c, asked))?;
    let found = found.map(|(_, intent, line)| (intent.run_id, standing(&line)));
    let will_do = found.filter(|(_, status)| asked.is_content_with(*status));
    Ok(will_do.map(|(run_id, status)| Existing { run_id, status }))
}

fn remember(
    c: &mut Connection,
    asked: &Submission,
    run_no: i64,
    told: &Submitted,
) -> Result<(), PgError> {
    let Some(key) = &asked.key else {
        return Ok(());
    };
    let kept = Kept {
        fingerprint: key.fingerprint.as_bytes().to_vec(),
        status: told.status,
        body: told.body.clone(),
    };
    orders::keep(c, &key.scope, run_no, &kept, REMEMBERED.as_secs_f64())
}

fn new_jobs(
    context: &OpsContext,
    plan: &Plan<'_>,
    rows: &crate::table::Table,
    created_at: String,
) -> Vec<NewJob> {
    let jobs = plan.jobs.iter().enumerate().map(|(place, job)| {
        let payload = json!({
            "images": job.item.images,
            "created_at": created_at,
            "image_set_hash": *job.image_set_hash,
        })
        .to_string();
        let settings = context.settings.algo(job.algo.as_str());
        let provider = settings.and_then(|settings| adapters::provider_of(settings).ok());
        NewJob {
            position: i64::try_from(place).unwrap_or(i64::MAX),
            job_id: job.job_id.clone(),
            algo: job.algo.to_string(),
            product_id: job.item.product_id.clone(),
            variant: job.item.variant.clone(),
            provider: provider.map(|provider| provider.to_string()),
            payload_hash: Sha256::digest(payload.as_bytes()).to_vec(),
            payload,
            row: rows.raw(place).to_vec(),
        }
    });
    jobs.collect()
}

/// Returns the submissions that led to runs of the fleet, or to the one.
pub(super) fn intents(
    context: &OpsContext,
    only: Option<&RunId>,
) -> Result<BTreeMap<RunId, Intent>, OpsError> {
    let found = all_runs(context)?.ask(|c| orders::runs(c, only.map(RunId::as_str)))?;
    let read = found.into_iter().filter_map(|(run, body)| {
        let intent = serde_json::from_str(&body).ok()?;
        Some((RunId::parse(&run).ok()?, intent))
    });
    Ok(read.collect())
}

/// Returns what workers that follow are to do in the fleet: each run with what was asked for, and the failed jobs that
/// are to be tried again. Those that have no folder here get one.
pub(super) fn open(context: &OpsContext) -> Result<Vec<(Intent, Option<RetryOrder>)>, OpsError> {
    let runs = all_runs(context)?;
    let found = runs.ask(orders::open)?;
    let mut all = Vec::new();
    for open in found {
        let Ok(run_id) = RunId::parse(&open.run_id) else {
            continue;
        };
        runs.ask(|c| Ok(arrive_one(context, c, &run_id)))??;
        if open.is_retry {
            let Ok(order) = serde_json::from_str::<RetryOrder>(&open.body) else {
                continue;
            };
            if let Some(intent) = intents(context, Some(&run_id))?.remove(&run_id) {
                all.push((intent, Some(order)));
            }
        } else if let Ok(intent) = serde_json::from_str::<Intent>(&open.body) {
            all.push((intent, None));
        }
    }
    Ok(all)
}

/// Takes an order to try again; of several workers one gets it.
pub(super) fn take_retry(desk: &mut Desk<'_>, id: &str) -> Result<bool, OpsError> {
    let Ok(id) = Uuid::parse_str(id) else {
        return Ok(false);
    };
    desk.ask(|c| orders::take_retry(c, id))
}

/// Notes that failed jobs are to be tried again, if what was ordered today leaves room for them.
pub(super) fn retry(
    desk: &mut Desk<'_>,
    order: &RetryOrder,
    fits: &dyn Fn(f64) -> Result<(), SubmitError>,
) -> Result<(), SubmitError> {
    let body = serde_json::to_string(order).expect("plain data can always be written");
    desk.ask(|c| {
        c.transaction(|c| {
            orders::take_turns(c, &[format!("cap {}", order.by)])?;
            let Some(run) = import::run(c, order.run_id.as_str())? else {
                return Ok(Ok(()));
            };
            let ordered = orders::ordered_today(c, &order.by)?;
            if let Err(error) = fits(ordered.dollars()) {
                return Ok(Err(error));
            }
            let order = NewOrder {
                run_no: run.run_no,
                retry: Uuid::parse_str(&order.id).ok(),
                by: &order.by,
                expected: Usd::of(order.expected_usd),
                body: &body,
                dedupes: false,
            };
            orders::add(c, &order)?;
            Ok(Ok(()))
        })
    })?
}

/// Makes the folders of runs that were asked for and have none here, or the one.
pub(super) fn arrive(
    context: &OpsContext,
    desk: &mut Desk<'_>,
    only: Option<&RunId>,
) -> Result<(), OpsError> {
    let runs = desk.ask(|c| orders::runs(c, only.map(RunId::as_str)))?;
    let mut runs = runs
        .into_iter()
        .filter_map(|(run, _)| RunId::parse(&run).ok());
    runs.try_for_each(|run| desk.ask(|c| Ok(arrive_one(context, c, &run)))?)
}

fn arrive_one(context: &OpsContext, c: &mut Connection, run_id: &RunId) -> Result<(), OpsError> {
    let paths = context.workspace.run(run_id);
    if paths.manifest().is_file() {
        return Ok(());
    }
    let Some(run) = import::run(c, run_id.as_str())? else {
        return Ok(());
    };
    let state = paths.state();
    std::fs::create_dir_all(&state).context("create", &state)?;
    let path = paths.push_lock();
    let held = FileLock::acquire_within(&path, PATIENCE).context("lock", &path)?;
    if held.is_none() || paths.manifest().is_file() {
        return Ok(());
    }
    let about = parameters(&run);
    let text = |name: &str| about[name].as_str().unwrap_or_default().to_owned();
    let mark = FleetMark {
        v: 1,
        state: FleetState::Pushed,
        push: text("push"),
        run_id: run_id.to_string(),
        server: c.url().to_string(),
        database: c.url().database.clone(),
        pushed_at: crate::domain::time::Timestamp::new(run.created),
        pushed_by: text("by"),
    };
    // First, so that no worker on files ever takes it.
    mark.create(&paths).context("write", &paths.fleet())?;
    fault::here("submit.marked");
    let (mut rows, mut after) = (Vec::new(), -1);
    loop {
        let page = export::page(c, run.run_no, after, PAGE)?;
        let full = page.len() == PAGE;
        after = page.last().map_or(after, |last| last.position);
        rows.extend(page.into_iter().map(|row| row.row));
        if !full {
            break;
        }
    }
    let patience = &mut |waited| waited < PATIENCE;
    let done = batch::arrive(&context.workspace, run_id, &run.header, &rows, patience)?;
    if done {
        return Ok(());
    }
    Err(OpsError::Setup {
        message: "gave up waiting for tables/generations.lock".into(),
        hint: Some(format!(
            "`archi3d run status --run-id {}` shows the run once it is free",
            shell_word(run_id.as_str())
        )),
    })
}
