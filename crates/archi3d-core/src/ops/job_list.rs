//! `run status --list`: the jobs of a run by product, each with its state and result.
//!
//! Reads only, and takes no lock.

use crate::domain::id::RunId;
use crate::domain::item_name::{ItemName, any_matches};
use crate::domain::job::JobState;
use crate::domain::lease::Rhythm;
use crate::domain::naming::GENERATED_GLB;
use crate::ops::find::JobName;
use crate::ops::view::status::{JobList, ListedJob};
use crate::ops::{OpsContext, OpsError};
use crate::store::{JobRecord, JobSnapshot, consumed};

/// Lists the jobs of a run, or those of the products given, in the order of the manifest.
pub fn job_list(
    context: &OpsContext,
    run_id: &RunId,
    items: &[ItemName],
) -> Result<JobList, OpsError> {
    let run = context.runs(run_id)?.jobs(run_id, Rhythm::default())?;
    let wanted = |job: &JobRecord| any_matches(items, &job.product_id, &job.variant);
    let jobs = consumed(run.jobs).filter(|job| wanted(job));
    let jobs: Vec<ListedJob> = jobs.map(|job| listed(context, run_id, &job)).collect();
    if jobs.is_empty() && !items.is_empty() {
        let names: Vec<&str> = items.iter().map(ItemName::as_str).collect();
        return Err(OpsError::Setup {
            message: format!("run {run_id} has no product {}", names.join(", ")),
            hint: Some("`archi3d run status --list` shows the products of the run".into()),
        });
    }
    Ok(JobList {
        run_id: run_id.clone(),
        jobs,
    })
}

fn listed(context: &OpsContext, run_id: &RunId, job: &JobRecord) -> ListedJob {
    let (state, made) = match &job.snapshot {
        JobSnapshot::Known { state, .. } => match state {
            JobState::Completed {
                simulated: true, ..
            } => ("rehearsed".to_owned(), false),
            JobState::Completed { .. } => (state.status().to_string(), true),
            _ => (state.status().to_string(), false),
        },
        JobSnapshot::Unknown(word) => (word.clone(), false),
        JobSnapshot::NotRegistered => ("not registered".to_owned(), false),
        JobSnapshot::NotInManifest | JobSnapshot::Renamed => ("not in manifest".to_owned(), false),
    };
    let folder = context.workspace.run(run_id).output(&job.job_id);
    let model = folder.join(GENERATED_GLB);
    // The result of a fleet's run is where its record says, whether it was pulled or not.
    let is_without = folder.is_dir() && !model.is_file();
    let result = if is_without { folder } else { model };
    let result = made.then(|| context.workspace.relative(&result)).flatten();
    ListedJob {
        job_id: job.job_id.clone(),
        name: JobName::of(job),
        state,
        result,
    }
}
