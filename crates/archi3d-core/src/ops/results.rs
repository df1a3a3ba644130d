//! The models that a run has really made, for commands that look at them or copy them.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

use crate::domain::filter::JobQuery;
use crate::domain::id::{JobId, RunId};
use crate::domain::job::{JobState, Status};
use crate::domain::lease::Rhythm;
use crate::domain::naming::GENERATED_GLB;
use crate::ops::select;
use crate::ops::{OpsContext, OpsError};
use crate::store::bounds::refuse_linked_run;
use crate::store::table_file::{self, Columns};
use crate::store::{JobRecord, JobSnapshot, consumed};

/// Which jobs of which run are meant.
#[derive(Debug, Clone)]
pub struct Choice {
    /// The run.
    pub run_id: RunId,
    /// Which of its jobs; those that are completed unless it names states.
    pub query: JobQuery,
}

/// A model that was made, and what the registry says of it.
#[derive(Debug, Clone)]
pub(super) struct Made {
    pub(super) job: JobRecord,
    /// Where the model lies.
    pub(super) model: PathBuf,
    /// The cells that were asked for.
    pub(super) cells: Vec<String>,
}

/// What a choice of jobs comes to.
#[derive(Debug, Clone, Default)]
pub(super) struct Results {
    pub(super) made: Vec<Made>,
    /// Jobs that the filters mean.
    pub(super) matched: usize,
    /// Of these, the ones that were only rehearsed.
    pub(super) rehearsed: usize,
    /// And those that have no model, whatever their state.
    pub(super) without_model: usize,
    /// Of these, the completed ones: their model is gone.
    pub(super) missing: Vec<JobRecord>,
    /// Jobs that the filters would mean in another state, by that state.
    pub(super) otherwise: BTreeMap<&'static str, usize>,
    /// What is worth telling, one sentence each.
    pub(super) warnings: Vec<String>,
}

/// Finds the models that `choice` means, with these cells of their rows.
pub(super) fn results(
    context: &OpsContext,
    choice: &Choice,
    columns: &[&str],
) -> Result<Results, OpsError> {
    context.expect_workspace()?;
    let run_id = &choice.run_id;
    refuse_linked_run(&context.workspace, run_id)?;
    let run = context.local().runs()?.jobs(run_id, Rhythm::default())?;
    let filter = select::among(&choice.query, &run.jobs);
    let meant = run.jobs.iter().map(|job| select::is_meant(&filter, job));
    let meant: Vec<bool> = meant.collect();
    let mut found = Results {
        warnings: select::unmatched(&filter, run_id, &run.jobs),
        ..Results::default()
    };
    let mut rows = cells(context, run_id, columns)?;
    let states = choice.query.only_status.as_deref();
    let states = states.unwrap_or(&[Status::Completed]);
    for (job, _) in consumed(run.jobs).zip(meant).filter(|(_, meant)| *meant) {
        let JobSnapshot::Known { state, .. } = &job.snapshot else {
            continue;
        };
        if !states.contains(&state.status()) {
            *found.otherwise.entry(state.status().word()).or_default() += 1;
            continue;
        }
        found.matched += 1;
        let (stored, cells) = rows
            .remove(&job.job_id)
            .unwrap_or_else(|| (String::new(), vec![String::new(); columns.len()]));
        let model = match state {
            JobState::Completed {
                simulated: true, ..
            } => {
                found.rehearsed += 1;
                continue;
            }
            JobState::Completed { .. } => model_of(context, run_id, &job.job_id, &stored),
            _ => None,
        };
        if let Some(model) = model {
            found.made.push(Made { job, model, cells });
            continue;
        }
        found.without_model += 1;
        if state.status() == Status::Completed {
            found.missing.push(job);
        }
    }
    Ok(found)
}

/// Returns where a job's model lies: where its row says, else where a worker puts it.
fn model_of(context: &OpsContext, run_id: &RunId, job_id: &JobId, stored: &str) -> Option<PathBuf> {
    let told = Some(stored).filter(|stored| !stored.is_empty());
    let told = told.and_then(|stored| context.workspace.absolute(stored));
    let usual = context.workspace.run(run_id).output(job_id);
    let usual = usual.join(GENERATED_GLB);
    told.into_iter().chain([usual]).find(|path| path.is_file())
}

/// Returns which version of its algorithm made each result of a run.
pub fn algo_versions(
    context: &OpsContext,
    run_id: &RunId,
) -> Result<HashMap<JobId, String>, OpsError> {
    #[cfg(feature = "postgres")]
    if context.workspace.run(run_id).in_fleet() {
        return Ok(context.required_fleet()?.algo_versions(run_id)?);
    }
    let rows = cells(context, run_id, &["algo_version"])?.into_iter();
    let filled = rows.filter_map(|(job, (_, mut cells))| Some((job, cells.pop()?)));
    Ok(filled.filter(|(_, cell)| !cell.is_empty()).collect())
}

/// What a row says: where its model is, and the cells that were asked for.
type Row = (String, Vec<String>);

fn cells(
    context: &OpsContext,
    run_id: &RunId,
    columns: &[&str],
) -> Result<HashMap<JobId, Row>, OpsError> {
    let path = context.workspace.registry();
    let Some(mut table) = table_file::read(&path)? else {
        return Ok(HashMap::new());
    };
    let rows: Vec<usize> = table.index(run_id.as_str()).rows().collect();
    let names: Vec<&str> = ["job_id", "gen_object_path"]
        .iter()
        .chain(columns)
        .copied()
        .collect();
    let places = Columns::find(&table, &names);
    let mut found = HashMap::new();
    for row in rows {
        let texts = (0..names.len()).map(|index| {
            let text = places.text(&table, row, index);
            text.map(std::borrow::Cow::into_owned).unwrap_or_default()
        });
        let mut texts: Vec<String> = texts.collect();
        let cells = texts.split_off(2);
        let Ok(job) = JobId::parse(&texts[0]) else {
            continue;
        };
        found.insert(job, (texts.remove(1), cells));
    }
    Ok(found)
}
