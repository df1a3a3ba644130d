//! `run adopt`: makes a result that is kept under `outputs/.late/` the job's own.
//!
//! What an adapter called a success is kept where it could not be published. Nothing
//! is made or bought here.

use std::path::PathBuf;

use serde::Serialize;

use crate::domain::id::{JobId, RunId};
use crate::domain::job::{Entry, JobState};
use crate::domain::lease::Verdict;
use crate::domain::text::shell_word;
use crate::store::files::{self, Adoption, FileStore, Kept};
use crate::store::{JobRecord, JobSnapshot, Opening, StoreError, WorkerStore};

use super::FileUpkeep;
use super::consolidate::is_whole_result;

/// What is to be brought in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AdoptRequest {
    /// The run.
    pub run_id: RunId,
    /// The job: its id, the beginning of it, or its product.
    pub job: String,
    /// The folder that holds it, where several are kept; else the latest whole one.
    pub from: Option<PathBuf>,
    /// Goes on where file locks cannot be trusted.
    pub allow_unsafe_locks: bool,
}

/// What was brought in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Adopted {
    /// The job.
    pub job_id: JobId,
    /// Where it was kept.
    pub from: String,
    /// Where its model is now.
    pub model: String,
}

/// Brings a kept result of a job in.
pub(super) fn adopt(
    context: &FileUpkeep,
    request: &AdoptRequest,
    record: &JobRecord,
    opening: Opening,
    warn: &dyn Fn(&str),
) -> Result<Adopted, StoreError> {
    chosen(context, request, record)?;
    let store = FileStore::open(context.options(opening))?;
    let brought = bring_in(context, request, &store, &record.job_id, warn);
    store.close(context.clock.now())?;
    brought
}

fn bring_in(
    context: &FileUpkeep,
    request: &AdoptRequest,
    store: &FileStore,
    job_id: &JobId,
    warn: &dyn Fn(&str),
) -> Result<Adopted, StoreError> {
    let recovery = store.recover(context.clock.now())?;
    for warning in &recovery.warnings {
        warn(warning);
    }
    for _ in 0..2 {
        if let Some(adopted) = take_in(context, request, store, job_id)? {
            return Ok(adopted);
        }
    }
    Err(refused(job_id, "a worker may be at it; try again", None))
}

/// Makes what is kept the job's result; nothing if it is to be looked for again.
fn take_in(
    context: &FileUpkeep,
    request: &AdoptRequest,
    store: &FileStore,
    job_id: &JobId,
) -> Result<Option<Adopted>, StoreError> {
    let jobs = store.jobs(context.clock.now())?.jobs;
    let Some(record) = jobs.iter().find(|job| job.job_id == *job_id) else {
        return Err(refused(job_id, "it is gone from the run", None));
    };
    let kept = chosen(context, request, record)?;
    let entry = entry_of(record).map_err(|reason| refused(job_id, &reason, None))?;
    let from = context.workspace.root().join(&kept.path);
    let now = context.clock.now();
    match store.adopt_kept(job_id, &from, entry, now)? {
        Adoption::Published => {
            let model = store.output_dir(job_id).join("generated.glb");
            Ok(Some(Adopted {
                job_id: job_id.clone(),
                from: kept.path,
                model: context.workspace.relative(&model).unwrap_or_default(),
            }))
        }
        Adoption::SetAside => Ok(None),
        Adoption::Refused(reason) => Err(refused(job_id, &reason, None)),
    }
}

/// Returns the results of a job that were made and are not recorded as its own: what is
/// kept, and what lies in its place although nothing tells of it.
pub(super) fn kept_of(context: &FileUpkeep, run_id: &RunId, record: &JobRecord) -> Vec<Kept> {
    let job_id = &record.job_id;
    let mut kept = files::kept(&context.workspace, run_id);
    kept.retain(|kept| kept.job_id == *job_id);
    let unmarked = matches!(&record.snapshot, JobSnapshot::Known { state, .. }
        if state.attempt() == 0 && !matches!(state, JobState::Completed { .. } | JobState::Cancelled { .. }));
    let paths = context.workspace.run(run_id);
    if unmarked && is_whole_result(&paths, job_id) {
        let path = context.workspace.relative(&paths.output(job_id));
        kept.extend(path.map(|path| Kept {
            job_id: job_id.clone(),
            attempt: 1,
            path,
            whole: true,
        }));
    }
    kept
}

/// Returns the folder that is meant: the one that was named, else the latest whole one.
fn chosen(
    context: &FileUpkeep,
    request: &AdoptRequest,
    record: &JobRecord,
) -> Result<Kept, StoreError> {
    let job_id = &record.job_id;
    let mut of_job = kept_of(context, &request.run_id, record);
    if let Some(from) = &request.from {
        let named = from.canonicalize().unwrap_or_else(|_| from.clone());
        let is_named = |kept: &Kept| {
            let path = context.workspace.root().join(&kept.path);
            path == named || from.to_str() == Some(&kept.path)
        };
        of_job.retain(is_named);
    }
    let place = format!("runs/{}/outputs/.late", request.run_id);
    if of_job.is_empty() {
        let hint = format!(
            "kept results are under {place}; `archi3d doctor` lists them, `archi3d run explain \
             --run-id {} {job_id}` explains the job's state",
            shell_word(request.run_id.as_str())
        );
        return Err(refused(job_id, "it has no kept result", Some(hint)));
    }
    let whole = of_job.iter().rev().find(|kept| kept.whole).cloned();
    whole.ok_or_else(|| {
        let path = &of_job[of_job.len() - 1].path;
        let hint = format!("put a whole generated.glb into {path} and try again");
        refused(job_id, &format!("{path} holds no whole model"), Some(hint))
    })
}

/// Returns which kept result of a job is meant, and how the job is taken for it.
pub(super) fn to_adopt(
    context: &FileUpkeep,
    request: &AdoptRequest,
    record: &JobRecord,
) -> Result<(Kept, Entry), StoreError> {
    let kept = chosen(context, request, record)?;
    let entry = entry_of(record).map_err(|reason| refused(&record.job_id, &reason, None))?;
    Ok((kept, entry))
}

/// Returns how a job is taken so that it can get a result that is there.
fn entry_of(record: &JobRecord) -> Result<Entry, String> {
    let JobSnapshot::Known { state, holder, .. } = &record.snapshot else {
        return Err("the run's tables do not agree about it".into());
    };
    match state {
        JobState::Enqueued { .. } => Ok(Entry::Fresh),
        JobState::Failed { .. } => Ok(Entry::Retry),
        JobState::Completed {
            simulated: true, ..
        } => Ok(Entry::Perform),
        JobState::Running { .. } => match holder {
            Some(holder) if holder.verdict != Verdict::Dead => Err("a worker is at it".into()),
            _ => Ok(Entry::Takeover),
        },
        JobState::Completed { .. } => Err("it has a result".into()),
        JobState::Cancelled { .. } => {
            Err("it is cancelled; `archi3d run cancel --undo` puts it back".into())
        }
    }
}

fn refused(job_id: &JobId, reason: &str, hint: Option<String>) -> StoreError {
    StoreError::Refused {
        message: format!("job {job_id}: {reason}"),
        hint,
    }
}
