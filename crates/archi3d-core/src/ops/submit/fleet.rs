//! Runs that are asked for over the network and live in a fleet: the run, its jobs, what the same parameters lead to
//! and the answer to the request's key become visible in one transaction; then workers are woken.
//!
//! The folder of the run comes after that, from what the database has ([`arrive`]): whoever finds a run without one
//! makes it, so a server that dies in between leaves nothing that is half there.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use crate::domain::id::RunId;
use crate::domain::money::Usd;
use crate::domain::plan::{ItemFilter, Plan};
use crate::domain::text::shell_word;
use crate::ops::names::RunLine;
use crate::ops::{OpsContext, OpsError, adapters, events, identity};
use crate::platform::fault;
use crate::store::error::IoContext as _;
use crate::store::fleet::Desk;
use crate::store::orders::{FleetResult, Kept, NewJob, NewOrder, NewRun, Orders, Run};
use crate::store::{Blob, Fleet};
use crate::workspace::fleet::{FleetMark, FleetState};
use crate::workspace::lock::FileLock;

use super::asked::unreadable;
use super::cap::under_cap;
use super::log::{Again, RequestKey, RetryOrder};
use super::planned::{Planned, planned};
use super::{
    Existing, Intent, Outcome, REMEMBERED, Submission, SubmitError, Submitted, Written, check,
    is_taken, name_of, run_named, status_of, word_of,
};

/// How long a lease lasts, in seconds, where no worker says otherwise.
const LEASE_SECONDS: u32 = 60;

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
    server: &dyn Fleet,
    asked: &Submission,
    written: Written,
) -> Result<Submitted, SubmitError> {
    let answer = server.desk().order(true, |c| known(c, asked, written))?;
    let (told, is_new) = match answer {
        Answer::Told(told) => (told, false),
        Answer::Refused(error) => return Err(error),
        Answer::New => (make(context, server, asked, written)?, true),
    };
    if let Some(run_id) = &told.run_id {
        // What is in the database stands, whatever becomes of the folder; the next one who looks makes it. That may take long
        // where others hold the registry, and whoever orders next does not wait for it.
        let _ = server.look(|c| Ok(arrive_one(context, c, run_id)));
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
    server: &dyn Fleet,
    asked: &Submission,
    written: Written,
) -> Result<Submitted, SubmitError> {
    let Planned { plan, algos, items } = planned(context, asked)?;
    check(asked, &plan, None)?;
    let run_id = name_of(asked)?;
    if is_taken(context, asked)? {
        // Whoever asked for the same at the same time may have made it since.
        return match server.desk().order(true, |c| known(c, asked, written))? {
            Answer::Told(told) => Ok(told),
            Answer::Refused(error) => Err(error),
            Answer::New => Err(SubmitError::RunIdTaken(run_id)),
        };
    }
    let intent = asked.noted(context.clock.now(), run_id, &plan);
    let (user, host) = identity::user_and_host();
    let about = json!({
        "push": Uuid::new_v4().simple().to_string(),
        "by": format!("{user}@{host}"),
        "workspace": context.workspace.root().to_string_lossy(),
    });
    let jobs = Plan::new(&items, &algos, &ItemFilter::default());
    let rows = context.local().new_rows(&intent.run_id, &jobs);
    // Before the run is there: no worker may look for what is not put yet.
    let names: Vec<String> = jobs
        .jobs
        .iter()
        .flat_map(|job| job.item.images.clone())
        .collect();
    let pictures = server.put_pictures(&names)?;
    let blobs = pictures.as_ref().map(|pictures| &pictures.blobs);
    let jobs = new_jobs(context, &jobs, &rows, (intent.at.iso(), blobs));
    let mut run_no = None;
    let (held, beside) = under_cap(context, &asked.by, asked.daily_cap_usd, intent.at)?;
    let mut desk = server.desk();
    let answer = desk.order(true, |c| {
        c.prepare()?;
        c.take_turns(&turns(asked))?;
        let there = c.run(intent.run_id.as_str())?;
        let is_own = |run: &Run| parameters(run)["push"] == about["push"];
        if there.as_ref().is_some_and(is_own) {
            // What came of a commit that was cut off is here.
            return Ok(Answer::Told(Outcome::made(&intent).told(written)));
        }
        match known(c, asked, written)? {
            Answer::New => {}
            answer => return Ok(answer),
        }
        if there.is_some() {
            let taken = SubmitError::RunIdTaken(intent.run_id.clone());
            return Ok(Answer::Refused(taken));
        }
        if asked.daily_cap_usd.is_some() {
            let ordered = c.ordered_today(&asked.by)?;
            if let Err(error) = check(asked, &plan, Some(beside + ordered.dollars())) {
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
            artifacts_url: pictures.as_ref().map(|pictures| pictures.place.as_str()),
        };
        if intent.dedupes {
            // Services of earlier versions know one run of the same parameters.
            c.forget_same(&hash)?;
        }
        let added = c.add_run(&run, &jobs)?;
        let body = serde_json::to_string(&intent).expect("plain data can always be written");
        let order = NewOrder {
            run_no: added,
            retry: None,
            by: &asked.by,
            expected: Usd::of(intent.committed_usd()),
            body: &body,
            dedupes: intent.dedupes,
        };
        c.add(&order)?;
        remember(c, asked, added, &told)?;
        c.tell_of_jobs(added)?;
        fault::here("submit.all_sent");
        run_no = Some(added);
        Ok(Answer::Told(told))
    })?;
    drop(held);
    fault::here("submit.committed");
    match answer {
        Answer::Told(told) => {
            if let Some(run_no) = run_no {
                desk.wake(run_no)?;
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
fn known(c: &mut dyn Orders, asked: &Submission, written: Written) -> FleetResult<Answer> {
    if let Some(key) = &asked.key
        && let Some(kept) = c.kept(&key.scope)?
    {
        if kept.fingerprint != key.fingerprint.as_bytes() {
            return Ok(Answer::Refused(SubmitError::KeyReused));
        }
        return Ok(Answer::Told(Submitted {
            status: kept.status,
            run_id: run_named(&kept.body),
            body: kept.body,
            replayed: true,
        }));
    }
    let Some((run_no, intent, line)) = earlier(c, asked)? else {
        return Ok(Answer::New);
    };
    let status = status_of(&line);
    let outcome = Outcome {
        line,
        intent: &intent,
        deduplicated: Some(word_of(status)),
    };
    let told = outcome.told(written);
    remember(c, asked, run_no, &told)?;
    Ok(Answer::Told(told))
}

/// Returns the last run of the same parameters that will do instead of a new one, what was asked for then, and how it stands.
fn earlier(c: &mut dyn Orders, asked: &Submission) -> FleetResult<Option<(i64, Intent, RunLine)>> {
    if asked.dedupe == super::Dedupe::None {
        return Ok(None);
    }
    for found in c.same(&hash_bytes(asked))? {
        let Ok(intent) = serde_json::from_str::<Intent>(&found.body) else {
            continue;
        };
        let mut line = Outcome::made(&intent).line;
        let counted = c.counts(found.run_no)?;
        line.counts = counted.counts;
        line.jobs = counted.counts.iter().sum();
        line.rehearsed += counted.rehearsed;
        if asked.is_content_with(status_of(&line)) {
            return Ok(Some((found.run_no, intent, line)));
        }
    }
    Ok(None)
}

/// Returns the run that would be given back instead of a new one.
pub(super) fn existing(
    server: &dyn Fleet,
    asked: &Submission,
) -> Result<Option<Existing>, SubmitError> {
    let found = server.look(|c| earlier(c, asked))?;
    Ok(found.map(|(_, intent, line)| Existing {
        run_id: intent.run_id,
        status: status_of(&line),
    }))
}

fn remember(
    c: &mut dyn Orders,
    asked: &Submission,
    run_no: i64,
    told: &Submitted,
) -> FleetResult<()> {
    let Some(key) = &asked.key else {
        return Ok(());
    };
    let kept = Kept {
        fingerprint: key.fingerprint.as_bytes().to_vec(),
        status: told.status,
        body: told.body.clone(),
    };
    c.keep(&key.scope, run_no, &kept, REMEMBERED.as_secs_f64())
}

fn new_jobs(
    context: &OpsContext,
    plan: &Plan<'_>,
    rows: &crate::table::Table,
    (created_at, blobs): (String, Option<&HashMap<String, Blob>>),
) -> Vec<NewJob> {
    let picture = |path: &String| match blobs.and_then(|blobs| blobs.get(path)) {
        Some(blob) => json!({"path": path, "sha256": blob.sha256, "size": blob.size}),
        None => json!(path),
    };
    let jobs = plan.jobs.iter().enumerate().map(|(place, job)| {
        let payload = json!({
            "images": job.item.images.iter().map(picture).collect::<Vec<_>>(),
            "created_at": created_at,
            "image_set_hash": *job.image_set_hash,
        })
        .to_string();
        NewJob {
            position: i64::try_from(place).unwrap_or(i64::MAX),
            job_id: job.job_id.clone(),
            algo: job.algo.to_string(),
            product_id: job.item.product_id.clone(),
            variant: job.item.variant.clone(),
            provider: adapters::provider_named(context, job.algo.as_str()),
            payload_hash: Sha256::digest(payload.as_bytes()).to_vec(),
            payload,
            row: rows.raw(place).to_vec(),
        }
    });
    jobs.collect()
}

/// Returns the submission that led to a run of the fleet, as far as this program can read it.
pub(super) fn asked(
    server: &dyn Fleet,
    run: &RunId,
) -> Result<Option<serde_json::Result<Intent>>, OpsError> {
    let found = server.look(|c| c.runs(Some(run.as_str())))?.pop();
    Ok(found.map(|(_, body)| serde_json::from_str(&body)))
}

/// Returns the submission that led to a run of the fleet, for those who act.
pub(super) fn readable(server: &dyn Fleet, run: &RunId) -> Result<Option<Intent>, OpsError> {
    let asked = asked(server, run)?;
    asked.transpose().map_err(|_| unreadable(run))
}

/// Returns the submissions that led to runs of the fleet, as far as they can be read: for those who look.
pub(super) fn intents(server: &dyn Fleet) -> Result<BTreeMap<RunId, Intent>, OpsError> {
    let found = server.look(|c| c.runs(None))?;
    let read = found.into_iter().filter_map(|(run, body)| {
        let intent = serde_json::from_str(&body).ok()?;
        Some((RunId::parse(&run).ok()?, intent))
    });
    Ok(read.collect())
}

/// What is to be done in the fleet.
pub(super) struct Task {
    pub(super) run_id: RunId,
    /// What was asked for when the run was made, if it was asked for.
    pub(super) intent: Option<Intent>,
    /// The failed jobs that are to be tried again; else the run itself is meant.
    pub(super) retry: Option<RetryOrder>,
    /// Whether these were put back.
    pub(super) is_taken: bool,
    pub(super) again: Again,
}

/// Returns what workers that follow are to do in the fleet, and the runs of which an order cannot be read, which waits. Runs that
/// have no folder here get one.
pub(super) fn open(
    context: &OpsContext,
    server: &dyn Fleet,
) -> Result<(Vec<Task>, Vec<RunId>), OpsError> {
    let found = server.look(|c| c.open())?;
    let (mut all, mut unreadable) = (Vec::new(), Vec::new());
    for open in found {
        let Ok(run_id) = RunId::parse(&open.run_id) else {
            continue;
        };
        server.look(|c| Ok(arrive_one(context, c, &run_id)))??;
        let read = if open.is_retry {
            let intent = asked(server, &run_id)?.transpose().ok();
            intent.zip(serde_json::from_str(&open.body).ok().map(Some))
        } else {
            let intent = serde_json::from_str(&open.body).ok();
            intent.map(|intent| (Some(intent), None))
        };
        let Some((intent, retry)) = read else {
            unreadable.push(run_id);
            continue;
        };
        all.push(Task {
            run_id,
            intent,
            retry,
            is_taken: open.is_taken,
            again: Again {
                counted_usd: open.retried.dollars(),
                max_cost_usd: open.raised_usd,
                accepted_usd: None,
            },
        });
    }
    Ok((all, unreadable))
}

/// Returns what the orders to retry jobs of a run come to.
pub(super) fn again(server: &dyn Fleet, run: &RunId) -> Result<Again, OpsError> {
    let (counted, max_cost_usd, accepted_usd) = server.look(|c| c.again(run.as_str()))?;
    Ok(Again {
        counted_usd: counted.dollars(),
        max_cost_usd,
        accepted_usd,
    })
}

/// Notes that the jobs of an order to retry wait again.
pub(super) fn take_retry(desk: &mut Desk<'_>, id: &str) -> Result<(), OpsError> {
    if let Ok(id) = Uuid::parse_str(id) {
        desk.order(false, |c| c.take_retry(id))?;
    }
    Ok(())
}

/// Notes that failed jobs are to be tried again, if what was ordered today leaves room for them and the same is not ordered
/// already. Returns what was answered to the same request before.
pub(super) fn retry(
    desk: &mut Desk<'_>,
    order: &RetryOrder,
    answer: Option<(&RequestKey, String)>,
    fits: &dyn Fn(f64) -> Result<(), SubmitError>,
) -> Result<Option<String>, SubmitError> {
    let body = serde_json::to_string(order).expect("plain data can always be written");
    let mut turns = vec![
        format!("cap {}", order.by),
        format!("retry {}", order.run_id),
    ];
    turns.extend(answer.iter().map(|(key, _)| format!("key {}", key.scope)));
    desk.order(true, |c| {
        c.take_turns(&turns)?;
        if let Some((key, _)) = &answer {
            match kept(c, key)? {
                Ok(None) => {}
                told => return Ok(told),
            }
        }
        let Some(run) = c.run(order.run_id.as_str())? else {
            return Ok(Ok(None));
        };
        let same = |open: &crate::store::orders::Open| {
            let known = serde_json::from_str::<RetryOrder>(&open.body);
            open.is_retry && !open.is_taken && known.is_ok_and(|known| known.asks_the_same(order))
        };
        if !order.jobs.is_empty() && !c.open()?.iter().any(same) {
            let ordered = c.ordered_today(&order.by)?;
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
            c.add(&order)?;
        }
        if let Some((key, body)) = &answer {
            let kept = Kept {
                fingerprint: key.fingerprint.as_bytes().to_vec(),
                status: 202,
                body: body.clone(),
            };
            c.keep(&key.scope, run.run_no, &kept, REMEMBERED.as_secs_f64())?;
        }
        Ok(Ok(None))
    })?
}

/// Counts an order that leaves nothing to be done, if what was ordered today leaves room for it.
pub(super) fn count(
    desk: &mut Desk<'_>,
    order: &RetryOrder,
    fits: &dyn Fn(f64) -> Result<(), SubmitError>,
) -> Result<(), SubmitError> {
    let body = serde_json::to_string(order).expect("plain data can always be written");
    desk.order(true, |c| {
        c.take_turns(&[format!("cap {}", order.by)])?;
        let Some(run) = c.run(order.run_id.as_str())? else {
            return Ok(Ok(()));
        };
        let ordered = c.ordered_today(&order.by)?;
        if let Err(error) = fits(ordered.dollars()) {
            return Ok(Err(error));
        }
        let id = Uuid::parse_str(&order.id).ok();
        c.add(&NewOrder {
            run_no: run.run_no,
            retry: id,
            by: &order.by,
            expected: Usd::of(order.expected_usd),
            body: &body,
            dedupes: false,
        })?;
        if let Some(id) = id {
            c.take_retry(id)?;
        }
        Ok(Ok(()))
    })?
}

/// Returns what was answered to a request with this key.
pub(super) fn replayed(
    server: &dyn Fleet,
    key: &RequestKey,
) -> Result<Option<String>, SubmitError> {
    server.look(|c| kept(c, key))?
}

fn kept(c: &mut dyn Orders, key: &RequestKey) -> FleetResult<Result<Option<String>, SubmitError>> {
    Ok(match c.kept(&key.scope)? {
        None => Ok(None),
        Some(kept) if kept.fingerprint == key.fingerprint.as_bytes() => Ok(Some(kept.body)),
        Some(_) => Err(SubmitError::KeyReused),
    })
}

/// Makes the folders of runs that were asked for and have none here, or the one.
pub(super) fn arrive(
    context: &OpsContext,
    server: &dyn Fleet,
    only: Option<&RunId>,
) -> Result<(), OpsError> {
    let runs = server.look(|c| c.runs(only.map(RunId::as_str)))?;
    let mut runs = runs
        .into_iter()
        .filter_map(|(run, _)| RunId::parse(&run).ok());
    runs.try_for_each(|run| server.look(|c| Ok(arrive_one(context, c, &run)))?)
}

fn arrive_one(context: &OpsContext, c: &mut dyn Orders, run_id: &RunId) -> Result<(), OpsError> {
    let paths = context.workspace.run(run_id);
    if paths.manifest().is_file() {
        return Ok(());
    }
    let Some(run) = c.run(run_id.as_str())? else {
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
    let (server, database) = c.place();
    let mark = FleetMark {
        v: 1,
        state: FleetState::Pushed,
        pulled: false,
        push: text("push"),
        run_id: run_id.to_string(),
        server,
        database,
        pushed_at: crate::domain::time::Timestamp::new(run.created),
        pushed_by: text("by"),
    };
    // First, so that no worker on files ever takes it.
    mark.create(&paths).context("write", &paths.fleet())?;
    fault::here("submit.marked");
    let rows = c.rows(run.run_no)?;
    let patience = &mut |waited| waited < PATIENCE;
    let done = context
        .local()
        .add_rows(run_id, &run.header, &rows, patience)?;
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
