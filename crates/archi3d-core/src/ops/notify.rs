//! Tells people outside of what happens: `notify:` in `global.yaml`, a program or an address.
//!
//! Whoever looks (a server every few seconds, a worker at its end) writes what it sees into an outbox, where an event
//! stands once for each that hears of it, and sends what is due. A message that is being sent is nobody else's for a
//! while, so several servers and workers send it once; one that was cut off is sent again, under the same id.

use std::collections::{BTreeMap, HashSet};
use std::io::Write as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};

use crate::adapter::http::hook;
use crate::config::NotifySettings;
use crate::domain::id::{JobId, RunId};
use crate::domain::job::Status;
use crate::domain::notice::{
    BREAKER_OPEN, BUDGET_LOW, NOTICES, PROVIDER_CLOSED, RUN_FINISHED, WORKER_LOST, pause,
};
#[cfg(feature = "postgres")]
use crate::domain::time::Timestamp;
use crate::ops::names::{self, RunLine};
use crate::ops::status::run_status;
use crate::ops::view::status::Liveness;
use crate::ops::{OpsContext, OpsError, adapters, submit, workers};
use crate::platform::process::{Ended, Group};
use crate::store::attempt::{AttemptOutcome, AttemptRecord};
use crate::store::outbox::{Hearing, Message};

/// From this part of a limit on people are told.
const LOW: f64 = 0.8;

/// Notes for nobody that a worker which is gone was looked at.
const LOOKED: &str = "worker_looked_at";

/// How long the other side may take unless the settings say otherwise.
const LIMIT: Duration = Duration::from_secs(10);

/// So many messages are sent in one go.
const AT_ONCE: u8 = 4;

/// Something that happened.
#[derive(Debug, Clone, PartialEq)]
struct Notice {
    /// Names it, the same for whoever sees it.
    id: String,
    kind: &'static str,
    /// What is told beside that.
    facts: Map<String, Value>,
}

/// What came of looking.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Attended {
    /// Messages that arrived.
    pub sent: usize,
    /// Why others did not, one sentence each.
    pub troubles: Vec<String>,
}

/// Notes what is so already, before somebody is told of a kind of event for the first time: nobody is told of last year's
/// runs, also not who hears of it since today.
pub fn begin(context: &OpsContext) -> Result<(), OpsError> {
    if targets(context).is_empty() {
        return Ok(());
    }
    begin_or_end(context)
}

/// Notes that nobody hears of anything any more, where that is so: who does so again is not told of what was between.
pub fn end(context: &OpsContext) -> Result<(), OpsError> {
    if targets(context).is_empty() {
        return begin_or_end(context);
    }
    Ok(())
}

fn begin_or_end(context: &OpsContext) -> Result<(), OpsError> {
    let wanted = hearing(context);
    let place = context.ordering()?;
    let mut before = place.outbox().hearing()?;
    before.sort();
    if before != wanted {
        let past = messages(context, &look(context, true)?);
        place.outbox().hear(&wanted, &past)?;
    }
    Ok(())
}

/// Looks what happened, and tells those who want to hear of it.
pub fn attend(context: &OpsContext) -> Result<Attended, OpsError> {
    let mut done = Attended::default();
    if targets(context).is_empty() {
        return Ok(done);
    }
    begin(context)?;
    let found = messages(context, &look(context, false)?);
    // Longer than all of them together take.
    let held = limit(context) * (u32::from(AT_ONCE) + 1);
    let place = context.ordering()?;
    let due = {
        let mut outbox = place.outbox();
        outbox.add(&found)?;
        outbox.take_due(AT_ONCE.into(), held)?
    };
    for message in due {
        let sent = send(context, &message);
        let mut outbox = place.outbox();
        match sent {
            Ok(()) => {
                done.sent += 1;
                outbox.settle(&message, None, None)?;
            }
            Err(why) => {
                let Message { event, target, .. } = &message;
                done.troubles
                    .push(format!("{event} could not be sent to the {target}: {why}"));
                outbox.settle(&message, Some(&why), pause(message.tries))?;
            }
        }
    }
    Ok(done)
}

fn limit(context: &OpsContext) -> Duration {
    let said = context.settings.global.notify.timeout_s;
    let said = said.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    said.unwrap_or(LIMIT)
}

/// Returns who hears of events.
fn targets(context: &OpsContext) -> Vec<&'static str> {
    let notify = &context.settings.global.notify;
    let program = (!notify.command.is_empty()).then_some("command");
    let address = notify.webhook.as_ref().map(|_| "webhook");
    program.into_iter().chain(address).collect()
}

/// Returns who hears of what, in order.
fn hearing(context: &OpsContext) -> Vec<Hearing> {
    let targets = targets(context).into_iter();
    let mut all: Vec<Hearing> = targets
        .flat_map(|target| NOTICES.map(|kind| (kind, target)))
        .filter(|(kind, _)| is_wanted(context, kind))
        .map(|(kind, target)| Hearing {
            kind: kind.to_owned(),
            target: target.to_owned(),
        })
        .collect();
    all.sort();
    all
}

fn is_wanted(context: &OpsContext, kind: &str) -> bool {
    let wanted = &context.settings.global.notify.events;
    wanted.is_empty() && kind != LOOKED || wanted.iter().any(|wanted| wanted == kind)
}

fn messages(context: &OpsContext, found: &[Notice]) -> Vec<Message> {
    let at = context.clock.now().iso();
    let mut all = Vec::new();
    let nobody = found.iter();
    let nobody = nobody.filter(|notice| matches!(notice.kind, RUN_FINISHED | LOOKED));
    // So that what a run spent is looked at once after its end, and a worker once after its.
    all.extend(nobody.map(|notice| Message {
        event: notice.id.clone(),
        target: String::new(),
        body: String::new(),
        tries: 0,
    }));
    for notice in found
        .iter()
        .filter(|notice| is_wanted(context, notice.kind))
    {
        let mut body = Map::new();
        body.insert("id".into(), notice.id.as_str().into());
        body.insert("event".into(), notice.kind.into());
        body.insert("at".into(), at.as_str().into());
        body.extend(notice.facts.clone());
        let body = Value::Object(body).to_string();
        all.extend(targets(context).into_iter().map(|target| Message {
            event: notice.id.clone(),
            target: target.to_owned(),
            body: body.clone(),
            tries: 0,
        }));
    }
    all
}

fn notice(kind: &'static str, parts: &[&str], facts: Value) -> Notice {
    Notice {
        id: format!("{kind}:{}", parts.join(":")),
        kind,
        facts: match facts {
            Value::Object(facts) => facts,
            _ => Map::new(),
        },
    }
}

/// Returns everything that is so now; `first` before anybody hears of it, so that nobody has to know who died in runs that
/// are over.
fn look(context: &OpsContext, first: bool) -> Result<Vec<Notice>, OpsError> {
    let mut found = Vec::new();
    let lines = names::runs(context)?.0.into_iter();
    let lines = lines.filter(|line| line.has_manifest && !line.as_pulled);
    let runs: Vec<(RunId, RunLine)> = lines
        .filter_map(|line| Some((RunId::parse(&line.run).ok()?, line)))
        .collect();
    found.extend(runs.iter().filter_map(|(run, line)| finished(run, line)));
    let over: Vec<String> = found.iter().map(|notice| notice.id.clone()).collect();
    let over = context.ordering()?.outbox().unknown(&over)?;
    let just_over: HashSet<String> = over.into_iter().collect();
    for (run, line) in &runs {
        let is_open = line.counts[Status::Running as usize] > 0
            || finished(run, line).is_none() && {
                let ended = [Status::Completed, Status::Failed];
                ended.iter().any(|status| line.counts[*status as usize] > 0)
            };
        // What has not begun has spent nothing, and what is over was looked at when that was new.
        if is_open || finished(run, line).is_some_and(|notice| just_over.contains(&notice.id)) {
            // A run that cannot be read keeps nobody from hearing of the others.
            let _ = of_money(context, run, &mut found);
        }
    }
    // A fleet that cannot be asked keeps nobody from hearing of the rest.
    for entry in adapters::list_known(context)?.0 {
        for (kind, name, closed) in [
            (PROVIDER_CLOSED, entry.provider.as_str(), &entry.closed),
            (BREAKER_OPEN, entry.key.as_str(), &entry.paused),
        ] {
            if let Some(closed) = closed {
                let facts = json!({
                    "name": name,
                    "since": closed.since,
                    "until": closed.until,
                    "reason": closed.reason,
                });
                found.push(notice(kind, &[name, &closed.since.iso()], facts));
            }
        }
    }
    let recent = |(run, line): &&(RunId, RunLine)| match finished(run, line) {
        None => true,
        Some(notice) => !first && just_over.contains(&notice.id),
    };
    let recent: Vec<&RunId> = runs.iter().filter(recent).map(|(run, _)| run).collect();
    // What cannot be read now is looked at again.
    let _ = lost_on_files(context, &recent, &mut found);
    #[cfg(feature = "postgres")]
    let _ = lost_in_fleet(context, &mut found);
    for worker in workers::workers(context)? {
        let mut held: BTreeMap<&RunId, Vec<&JobId>> = BTreeMap::new();
        for job in worker
            .holds
            .iter()
            .filter(|_| worker.state == Liveness::Dead)
        {
            held.entry(&job.run_id).or_default().push(&job.job_id);
        }
        for (run, jobs) in held {
            let host = worker.host.as_deref();
            found.push(lost((&worker.worker_id, host), run, &jobs));
        }
    }
    // A closed provider of several algorithms is one event.
    found.sort_by(|a, b| a.id.cmp(&b.id));
    found.dedup_by(|a, b| a.id == b.id);
    Ok(found)
}

fn lost((worker, host): (&str, Option<&str>), run: &RunId, jobs: &[&JobId]) -> Notice {
    let facts = json!({"worker_id": worker, "host": host, "run_id": run, "jobs": jobs});
    notice(WORKER_LOST, &[run.as_str(), worker], facts)
}

/// Looks once at every worker that is gone: what it had may be in other hands already.
fn lost_on_files(
    context: &OpsContext,
    runs: &[&RunId],
    found: &mut Vec<Notice>,
) -> Result<(), OpsError> {
    let mut gone = Vec::new();
    for run in runs {
        for worker in context.local().gone_workers(run)? {
            let looked = notice(LOOKED, &[run.as_str(), worker.as_str()], Value::Null);
            gone.push((looked, *run, worker));
        }
    }
    let ids: Vec<String> = gone.iter().map(|(looked, ..)| looked.id.clone()).collect();
    let new: HashSet<String> = context
        .ordering()?
        .outbox()
        .unknown(&ids)?
        .into_iter()
        .collect();
    gone.retain(|(looked, ..)| new.contains(&looked.id));
    let mut known: Option<(&RunId, Vec<AttemptRecord>)> = None;
    for (looked, run, worker) in gone {
        let attempts = match known.take().filter(|(of, _)| *of == run) {
            Some((_, attempts)) => attempts,
            None => context.local().runs()?.attempts(run, None)?.attempts,
        };
        let own = |outcome| {
            let own = attempts.iter().filter(|one| one.worker == worker);
            own.filter(move |one| one.outcome == outcome)
        };
        // One of another machine is looked at when it is gone.
        if own(AttemptOutcome::Running).next().is_none() {
            let jobs: Vec<&JobId> = own(AttemptOutcome::Interrupted)
                .map(|one| &one.job_id)
                .collect();
            let host = own(AttemptOutcome::Interrupted).find_map(|one| one.host.as_deref());
            if !jobs.is_empty() {
                found.push(lost((worker.as_str(), host), run, &jobs));
            }
            found.push(looked);
        }
        known = Some((run, attempts));
    }
    Ok(())
}

/// The same of the workers of a fleet.
#[cfg(feature = "postgres")]
fn lost_in_fleet(context: &OpsContext, found: &mut Vec<Notice>) -> Result<(), OpsError> {
    use crate::store::fleet::{Health, SeenWorker};
    let Some(fleet) = context.fleet()? else {
        return Ok(());
    };
    let looked = |worker: &SeenWorker| {
        let started = Timestamp::new(worker.started).iso();
        notice(LOOKED, &[&worker.worker_id, &started], Value::Null)
    };
    let mut silent = fleet.workers(None)?;
    silent.retain(|worker| worker.health() == Health::Silent);
    let ids: Vec<String> = silent.iter().map(|worker| looked(worker).id).collect();
    let new = fleet.outbox().unknown(&ids)?;
    silent.retain(|worker| new.contains(&looked(worker).id));
    if silent.is_empty() {
        return Ok(());
    }
    let names: Vec<String> = silent
        .iter()
        .map(|worker| worker.worker_id.clone())
        .collect();
    let had = fleet.lost_jobs(&names)?;
    for worker in silent {
        let mut held: BTreeMap<&RunId, Vec<&JobId>> = BTreeMap::new();
        for (_, run, job) in had.iter().filter(|(name, ..)| *name == worker.worker_id) {
            held.entry(run).or_default().push(job);
        }
        for (run, jobs) in held {
            found.push(lost((&worker.worker_id, Some(&worker.host)), run, &jobs));
        }
        found.push(looked(&worker));
    }
    Ok(())
}

/// Returns what is told of a run that has nothing more to do.
fn finished(run: &RunId, line: &RunLine) -> Option<Notice> {
    let count = |status: Status| line.counts[status as usize];
    let status = submit::status_of(line);
    if matches!(status, Status::Enqueued | Status::Running) {
        return None;
    }
    let (done, failed) = (count(Status::Completed), count(Status::Failed));
    let cancelled = count(Status::Cancelled);
    let counts = format!("{done}/{failed}/{cancelled}");
    let facts = json!({
        "run_id": run,
        "status": status.word(),
        "completed": done,
        "failed": failed,
        "cancelled": cancelled,
    });
    Some(notice(RUN_FINISHED, &[run.as_str(), &counts], facts))
}

fn of_money(context: &OpsContext, run: &RunId, found: &mut Vec<Notice>) -> Result<(), OpsError> {
    let status = run_status(context, run)?;
    for limit in &status.money.of_run.limits {
        let (of, cap, used) = (limit.of, limit.cap_usd, limit.used_usd);
        if cap > 0.0 && used >= cap * LOW {
            let day = context.clock.now().iso();
            let name = if of == "run" {
                run.as_str()
            } else {
                &day[..10]
            };
            let facts = json!({"scope": of, "run_id": run, "cap_usd": cap, "used_usd": used});
            found.push(notice(BUDGET_LOW, &[of, name, &cap.to_string()], facts));
        }
    }
    Ok(())
}

fn send(context: &OpsContext, message: &Message) -> Result<(), String> {
    let notify = &context.settings.global.notify;
    if message.target == "command" {
        return run(context, notify, message);
    }
    let (Some(url), Some(name)) = (&notify.webhook, &notify.secret_env) else {
        return Err("no address is named any more".to_owned());
    };
    let secret = context.variables().now(&[name.as_str()]).remove(name);
    let secret = secret.filter(|secret| !secret.is_empty());
    let secret = secret.ok_or_else(|| format!("{name}, which has the secret, is not set"))?;
    let at = context.clock.now().as_datetime().timestamp();
    let signed = hook::Signed {
        secret: &secret,
        id: &message.event,
        at,
    };
    hook::tell(url, &signed, message.body.as_bytes(), limit(context))
}

#[expect(
    clippy::disallowed_methods,
    reason = "the program that the workspace's settings name"
)]
fn run(context: &OpsContext, notify: &NotifySettings, message: &Message) -> Result<(), String> {
    let [program, words @ ..] = &notify.command[..] else {
        return Err("no program is named any more".to_owned());
    };
    let mut command = Command::new(program);
    command
        .args(words)
        .current_dir(context.workspace.root())
        .env("ARCHI3D_EVENT_ID", &message.event)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let told = |error: std::io::Error| format!("{program}: {error}");
    let mut group = Group::spawn(&mut command).map_err(told)?;
    let limit = limit(context);
    let until = Instant::now() + limit;
    let mut said = Vec::new();
    if let Some((mut stdin, mut pipes)) = group.take_pipes() {
        // A program that does not listen is judged by how it ends; a message is smaller than a pipe.
        let _ = stdin.write_all(message.body.as_bytes());
        drop(stdin);
        while !group.has_ended().map_err(told)? {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                let _ = group.finish();
                return Err(format!("{program} took longer than {limit:?}"));
            }
            pipes.read(left.min(Duration::from_millis(200)), |_, piece| {
                if said.len() < 1000 {
                    said.extend_from_slice(piece);
                }
            });
        }
    }
    match group.finish().map_err(told)? {
        Ended::Code(0) => Ok(()),
        ended => {
            let said = crate::domain::text::one_line(&String::from_utf8_lossy(&said));
            Err(format!("{program} ended with {ended:?}: {said}"))
        }
    }
}
