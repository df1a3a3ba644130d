//! The jobs of a run: listed, looked at, explained, and their files.

use std::collections::HashMap;

use axum::http::header;
use serde_json::{Value, json};

use archi3d_core::domain::id::{JobId, RunId};
use archi3d_core::domain::job::Status;
use archi3d_core::ops::artifacts::{self, ArtifactFile, NoFile};
use archi3d_core::ops::attempts::{NamedAttempt, run_attempts};
use archi3d_core::ops::explain::run_explain;
use archi3d_core::ops::job_list::job_list;
use archi3d_core::ops::results;
use archi3d_core::ops::select::WorkerRequest;
use archi3d_core::ops::submit::{self, status_of};
use archi3d_core::ops::view::status::ListedJob;

use crate::call::{Answer, Call, Reply, quoted};
use crate::problem::{
    ARTIFACT_MISSING, NO_ARTIFACT, NO_JOB, NOT_FINISHED, Problem, RUN_CANCELLED, RUN_FAILED,
};
use crate::routes::PREFIX;

const STATUSES: [&str; 6] = [
    "enqueued",
    "running",
    "completed",
    "failed",
    "cancelled",
    "rehearsed",
];
const SORTS: [&str; 6] = ["manifest", "item", "algo", "status", "-cost", "-duration"];
const MODEL: &str = "generated.glb";

/// A job and what was tried.
struct Seen {
    job: ListedJob,
    attempts: Vec<NamedAttempt>,
}

/// Reads the jobs of a run, or the one that is meant, with their attempts.
fn seen(call: &Call, run: &RunId, only: Option<&JobId>) -> Result<Vec<Seen>, Problem> {
    let jobs = job_list(&call.context, run, &[])?.jobs;
    let found = run_attempts(&call.context, run, only.map(JobId::as_str), &[])?;
    let mut attempts: HashMap<JobId, Vec<NamedAttempt>> = HashMap::new();
    for attempt in found.attempts {
        attempts
            .entry(attempt.record.job_id.clone())
            .or_default()
            .push(attempt);
    }
    let jobs = jobs
        .into_iter()
        .filter(|job| only.is_none_or(|only| job.job_id == *only));
    let jobs = jobs.map(|job| Seen {
        attempts: attempts.remove(&job.job_id).unwrap_or_default(),
        job,
    });
    Ok(jobs.collect())
}

impl Seen {
    fn name(&self) -> String {
        self.job.job_id.to_string()
    }

    fn last(&self) -> Option<&NamedAttempt> {
        self.attempts.last()
    }

    fn class(&self) -> Option<String> {
        let class = serde_json::to_value(self.last()?.record.class?).ok()?;
        class.as_str().map(str::to_owned)
    }

    /// Returns what all attempts cost; a purchase that several were about counts once.
    fn cost(&self) -> Option<f64> {
        let mut seen = Vec::new();
        let costs = self.attempts.iter().filter_map(|attempt| {
            let request = attempt.record.request_id.as_ref();
            let again = request.is_some_and(|request| seen.contains(&request));
            seen.extend(request);
            attempt.record.cost_usd.filter(|_| !again)
        });
        let costs: Vec<f64> = costs.collect();
        (!costs.is_empty()).then(|| costs.iter().sum())
    }

    fn json(&self, call: &Call, run: &RunId) -> Result<Value, Problem> {
        let job = &self.job;
        let last = self.last().map(|last| &last.record);
        let here = address(run, &job.job_id);
        let made = job.result.is_some();
        let files = if made {
            artifacts::artifacts(&call.context, run, &job.job_id)?
        } else {
            Vec::new()
        };
        let href = |name: &str| format!("{here}/artifacts/{}", quoted(name));
        let has = |name: &str| files.iter().any(|file| file.name == name);
        let previews = files
            .iter()
            .filter(|file| file.name.starts_with("preview_"));
        let failed = job.state == Status::Failed.word();
        let item = job.name.item();
        Ok(json!({
            "run_id": run,
            "job_id": job.job_id,
            "product_id": job.name.product_id,
            "variant": job.name.variant,
            "item": item,
            "algo": job.name.algo,
            "status": job.state,
            "attempts": self.attempts.len(),
            "duration_s": last.and_then(|last| last.duration_s),
            "cost_usd": self.cost(),
            "request_id": last.and_then(|last| last.request_id.as_ref()),
            "error": last.and_then(|last| last.error.as_ref()).filter(|_| failed || !made),
            "error_class": self.class().filter(|_| failed || !made),
            "worker": last.map(|last| &last.worker),
            "started_at": last.map(|last| last.started),
            "ended_at": last.and_then(|last| last.ended),
            "result": job.result,
            "model": has(MODEL).then(|| href(MODEL)),
            "previews": previews.map(|file| href(&file.name)).collect::<Vec<_>>(),
            "links": {
                "self": here,
                "explain": format!("{here}/explain"),
                "item": format!("{PREFIX}/items/{}", quoted(&item)),
            },
        }))
    }
}

fn address(run: &RunId, job: &JobId) -> String {
    format!(
        "{PREFIX}/runs/{}/jobs/{}",
        quoted(run.as_str()),
        quoted(job.as_str())
    )
}

pub(crate) fn list(call: &Call) -> Answer {
    let run = call.run()?;
    let statuses = call.choice("status", &STATUSES)?;
    let sort = call.choice("sort", &SORTS)?;
    let (algos, classes) = (call.words("algo"), call.words("class"));
    let text = call.asked("q").map(str::to_lowercase);
    let item = call.asked("item");
    let mut jobs = seen(call, &run, None)?;
    let wanted = |seen: &Seen| {
        let job = &seen.job;
        let fits = |words: &[&str], word: &str| words.is_empty() || words.contains(&word);
        let named = || {
            let name = &job.name;
            [&name.product_id, &name.variant, &name.algo]
                .iter()
                .any(|part| {
                    part.to_lowercase()
                        .contains(text.as_deref().unwrap_or_default())
                })
                || job
                    .job_id
                    .as_str()
                    .contains(text.as_deref().unwrap_or_default())
        };
        fits(&statuses, &job.state)
            && fits(&algos, &job.name.algo)
            && fits(&classes, &seen.class().unwrap_or_default())
            && item.is_none_or(|item| job.name.item() == item)
            && named()
    };
    let most_first =
        |a: Option<f64>, b: Option<f64>| b.unwrap_or(-1.0).total_cmp(&a.unwrap_or(-1.0));
    let duration = |seen: &Seen| seen.last().and_then(|last| last.record.duration_s);
    match sort.first() {
        Some(&"item") => jobs.sort_by_key(|seen| seen.job.name.item()),
        Some(&"algo") => jobs.sort_by_key(|seen| seen.job.name.algo.clone()),
        Some(&"status") => jobs.sort_by_key(|seen| seen.job.state.clone()),
        Some(&"-cost") => jobs.sort_by(|a, b| most_first(a.cost(), b.cost())),
        Some(&"-duration") => jobs.sort_by(|a, b| most_first(duration(a), duration(b))),
        _ => {}
    }
    let (jobs, next) = call.cut(jobs, Seen::name, wanted)?;
    let items = jobs.iter().map(|seen| seen.json(call, &run));
    call.list(items.collect::<Result<_, _>>()?, next)
}

/// Finds one job.
fn find(call: &Call, run: &RunId) -> Result<Seen, Problem> {
    let job = call.job(run)?;
    let found = seen(call, run, Some(&job))?.into_iter().next();
    found.ok_or_else(|| Problem::new(NO_JOB, format!("run {run} has no job {job}")))
}

fn artifacts_json(call: &Call, run: &RunId, job: &JobId) -> Result<Vec<Value>, Problem> {
    let here = address(run, job);
    let files = artifacts::artifacts(&call.context, run, job)?.into_iter();
    let shown = |file: ArtifactFile| {
        json!({
            "media_type": media_type(&file.name),
            "href": format!("{here}/artifacts/{}", quoted(&file.name)),
            "name": file.name,
            "bytes": file.bytes,
            "sha256": file.sha256,
        })
    };
    Ok(files.map(shown).collect())
}

pub(crate) fn one(call: &Call) -> Answer {
    let run = call.run()?;
    let seen = find(call, &run)?;
    let mut body = seen.json(call, &run)?;
    body["attempt_count"] = seen.attempts.len().into();
    body["attempts"] = serde_json::to_value(&seen.attempts).unwrap_or_default();
    body["artifacts"] = artifacts_json(call, &run, &seen.job.job_id)?.into();
    Reply::json(body)
}

pub(crate) fn explain(call: &Call) -> Answer {
    let run = call.run()?;
    let job = call.job(&run)?;
    let request = WorkerRequest::plain(run);
    Reply::json(run_explain(&call.context, &request, job.as_str())?)
}

pub(crate) fn artifact(call: &Call) -> Answer {
    let run = call.run()?;
    let job = call.job(&run)?;
    let name = &call.path["name"];
    match artifacts::open(&call.context, &run, &job, name) {
        Ok(opened) => {
            let media_type = media_type(name);
            let saved = (!media_type.starts_with("image/")).then(|| {
                let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
                name.chars()
                    .map(|c| if plain(c) { c } else { '_' })
                    .collect()
            });
            Ok(Reply::File {
                opened,
                media_type,
                name: saved,
            })
        }
        Err(NoFile::Unknown) => Err(Problem::new(
            NO_ARTIFACT,
            format!("no record of job {job} names {name:?}"),
        )),
        Err(NoFile::Missing) => Err(Problem::new(
            ARTIFACT_MISSING,
            format!("job {job} made {name:?}, but it is gone or was changed"),
        )),
        Err(NoFile::Unasked(error)) => Err(error.into()),
    }
}

/// Says what a file is by its name; nothing is ever a page.
pub(crate) fn media_type(name: &str) -> &'static str {
    let ending = name
        .rsplit_once('.')
        .map(|(_, ending)| ending.to_ascii_lowercase());
    match ending.as_deref() {
        Some("glb") => "model/gltf-binary",
        Some("png") => "image/png",
        Some("jpg" | "jpeg") => "image/jpeg",
        Some("webp") => "image/webp",
        Some("json") => "application/json",
        Some("txt") => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}

pub(crate) fn result(call: &Call) -> Answer {
    let run = call.run()?;
    let refuse = |kind, what: &str| Err(Problem::new(kind, format!("run {run} {what}")));
    match status_of(&submit::seen_now(&call.context, &run)?) {
        Status::Completed => {}
        Status::Enqueued | Status::Running => {
            return refuse(NOT_FINISHED, "has not ended")
                .map_err(|problem| problem.header(header::RETRY_AFTER, "5"));
        }
        Status::Failed => return refuse(RUN_FAILED, "has jobs that failed"),
        Status::Cancelled => return refuse(RUN_CANCELLED, "was cancelled"),
    }
    let jobs = seen(call, &run, None)?;
    let versions = results::algo_versions(&call.context, &run)?;
    let of = |seen: &Seen| -> Result<Value, Problem> {
        Ok(json!({
            "run_id": run,
            "job_id": seen.job.job_id,
            "item": seen.job.name.item(),
            "status": seen.job.state,
            "result_ref": seen.job.result,
            "artifacts": artifacts_json(call, &run, &seen.job.job_id)?,
            "algo": seen.job.name.algo,
            "algo_version": versions.get(&seen.job.job_id),
            "attempts": seen.attempts.len(),
            "duration_s": seen.last().and_then(|last| last.record.duration_s),
            "cost_usd": seen.cost(),
            "request_id": seen.last().and_then(|last| last.record.request_id.as_ref()),
        }))
    };
    if let [only] = &jobs[..] {
        return Reply::json(of(only)?);
    }
    let (jobs, next) = call.cut(jobs, Seen::name, |_| true)?;
    let results: Vec<Value> = jobs.iter().map(of).collect::<Result<_, _>>()?;
    Ok(Reply::Json {
        status: 200,
        headers: call.next_page(next.as_deref()).into_iter().collect(),
        body: json!({"run_id": run, "results": results, "next_cursor": next}),
    })
}
