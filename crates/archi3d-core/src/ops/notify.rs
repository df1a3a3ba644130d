//! Tells people outside of what happens: `notify:` in `global.yaml`, a program or an address.
//!
//! Whoever looks (a server every few seconds, a worker at its end) writes what it sees into an outbox, where an event
//! stands once for each that hears of it, and sends what is due. A message that is being sent is nobody else's for a
//! while, so several servers and workers send it once; one that was cut off is sent again, under the same id.

use std::io::Write as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};

use crate::adapter::http::hook;
use crate::config::NotifySettings;
use crate::domain::id::RunId;
use crate::domain::job::Status;
use crate::domain::notice::{
    BREAKER_OPEN, BUDGET_LOW, PROVIDER_CLOSED, RUN_FINISHED, WORKER_LOST, pause,
};
use crate::ops::names::{self, RunLine};
use crate::ops::status::run_status;
use crate::ops::view::status::Liveness;
use crate::ops::{OpsContext, OpsError, adapters, submit, workers};
use crate::platform::process::{Ended, Group};

mod outbox;

use outbox::Outbox;

/// From this part of a limit on people are told.
const LOW: f64 = 0.8;

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

/// A message on its way to one that hears of it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Message {
    event: String,
    target: String,
    body: String,
    /// How often it was tried, this time included.
    tries: u32,
}

/// What came of looking.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Attended {
    /// Messages that arrived.
    pub sent: usize,
    /// Why others did not, one sentence each.
    pub troubles: Vec<String>,
}

/// Notes what is so already, before anything is told for the first time: nobody is told of last year's runs.
pub fn begin(context: &OpsContext) -> Result<(), OpsError> {
    if targets(context).is_empty() {
        return Ok(());
    }
    if Outbox::of(context)?.is_new()? {
        let mut past = messages(context, &look(context)?);
        past.push(Message {
            event: "begun".to_owned(),
            target: String::new(),
            body: String::new(),
            tries: 0,
        });
        Outbox::of(context)?.add(&past, true)?;
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
    let found = messages(context, &look(context)?);
    // Longer than all of them together take.
    let held = limit(context) * (u32::from(AT_ONCE) + 1);
    let due = {
        let mut outbox = Outbox::of(context)?;
        outbox.add(&found, false)?;
        outbox.take_due(AT_ONCE.into(), held)?
    };
    for message in due {
        let sent = send(context, &message);
        let mut outbox = Outbox::of(context)?;
        match sent {
            Ok(()) => {
                done.sent += 1;
                outbox.over(&message, None)?;
            }
            Err(why) => {
                let Message { event, target, .. } = &message;
                done.troubles
                    .push(format!("{event} could not be told to the {target}: {why}"));
                match pause(message.tries) {
                    Some(pause) => outbox.again(&message, &why, pause)?,
                    None => outbox.over(&message, Some(&why))?,
                }
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

fn messages(context: &OpsContext, found: &[Notice]) -> Vec<Message> {
    let wanted = &context.settings.global.notify.events;
    let at = context.clock.now().iso();
    let wanted = |notice: &&Notice| wanted.is_empty() || wanted.iter().any(|w| w == notice.kind);
    let mut all = Vec::new();
    for notice in found.iter().filter(wanted) {
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

/// Returns everything that is so now.
fn look(context: &OpsContext) -> Result<Vec<Notice>, OpsError> {
    let mut found = Vec::new();
    for line in names::runs(context)?.0 {
        if let Some(run) = RunId::parse(&line.run).ok().filter(|_| line.has_manifest)
            && !line.as_pulled
        {
            of_run(context, &run, &line, &mut found)?;
        }
    }
    for entry in adapters::list(context)? {
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
    for worker in workers::workers(context)? {
        if worker.state == Liveness::Dead {
            let held: Vec<_> = worker.holds.iter().map(|job| &job.job_id).collect();
            let facts = json!({
                "worker_id": worker.worker_id,
                "host": worker.host,
                "run_id": worker.run_id,
                "jobs": held,
            });
            let parts = [worker.run_id.as_str(), &worker.worker_id];
            found.push(notice(WORKER_LOST, &parts, facts));
        }
    }
    // A closed provider of several algorithms is one event.
    found.sort_by(|a, b| a.id.cmp(&b.id));
    found.dedup_by(|a, b| a.id == b.id);
    Ok(found)
}

fn of_run(
    context: &OpsContext,
    run: &RunId,
    line: &RunLine,
    found: &mut Vec<Notice>,
) -> Result<(), OpsError> {
    let count = |status: Status| line.counts[status as usize];
    let (done, failed) = (count(Status::Completed), count(Status::Failed));
    let cancelled = count(Status::Cancelled);
    let is_over = !matches!(submit::standing(line), Status::Enqueued | Status::Running);
    if is_over {
        let counts = format!("{done}/{failed}/{cancelled}");
        let facts = json!({
            "run_id": run,
            "status": submit::standing(line).word(),
            "completed": done,
            "failed": failed,
            "cancelled": cancelled,
        });
        found.push(notice(RUN_FINISHED, &[run.as_str(), &counts], facts));
    }
    // What has not begun has spent nothing, and what is over long since was told.
    if count(Status::Running) == 0 && (is_over || done + failed == 0) {
        return Ok(());
    }
    let status = run_status(context, run)?;
    let spent = status.money.of_run.spent_usd;
    let agreed = submit::intent_of(context, run)?.and_then(|intent| intent.max_cost_usd);
    let agreed = agreed.map(|cap| ("run", cap, spent));
    let limits = status.money.of_run.limits.iter();
    let limits = limits.map(|limit| (limit.of, limit.cap_usd, limit.used_usd));
    for (of, cap, used) in limits.chain(agreed) {
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
    if let Some((mut stdin, mut voices)) = group.take_pipes() {
        // A program that does not listen is judged by how it ends; a message is smaller than a pipe.
        let _ = stdin.write_all(message.body.as_bytes());
        drop(stdin);
        while !group.has_ended().map_err(told)? {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                let _ = group.finish();
                return Err(format!("{program} took longer than {limit:?}"));
            }
            voices.hear(left.min(Duration::from_millis(200)), |_, piece| {
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
