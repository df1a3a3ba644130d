//! The names a person may type: runs, jobs and algorithms of a workspace.
//!
//! For shells that complete words: quick, reads only, and what cannot be read has
//! no names.

use std::collections::HashSet;

use serde::Serialize;

use crate::domain::id::RunId;
use crate::domain::job::Status;
use crate::domain::time::Timestamp;
use crate::ops::stores::Stores;
use crate::ops::view::by_status;
use crate::ops::{OpsContext, OpsError};
use crate::store::manifest;
use crate::store::overview::RunCounts;
use crate::store::runs::item;
use crate::workspace::fleet::{FleetMark, FleetState};

/// Returns the runs that have a manifest, by name.
pub fn run_ids(context: &OpsContext) -> Vec<String> {
    let runs = context.workspace.run_ids().unwrap_or_default().into_iter();
    runs.filter(|run| context.workspace.run(run).manifest().is_file())
        .map(String::from)
        .collect()
}

/// Returns the jobs of a run in the order of its manifest.
pub fn job_ids(context: &OpsContext, run: &RunId) -> Vec<String> {
    let manifest = manifest::read(&context.workspace.run(run));
    let rows = manifest.map(|manifest| manifest.rows).unwrap_or_default();
    rows.into_iter().map(|row| row.job_id.to_string()).collect()
}

/// Returns the products of a run as `--item` takes them, each once, in the order of
/// its manifest.
pub fn items(context: &OpsContext, run: &RunId) -> Vec<String> {
    let manifest = manifest::read(&context.workspace.run(run));
    let rows = manifest.map(|manifest| manifest.rows).unwrap_or_default();
    let mut seen = HashSet::new();
    let items = rows.iter().map(|row| item(&row.product_id, &row.variant));
    items.filter(|item| seen.insert(item.clone())).collect()
}

/// Returns the algorithms that are configured, in the order of their files.
pub fn algo_keys(context: &OpsContext) -> Vec<String> {
    let algos = context.settings.algos.iter();
    algos.map(|algo| algo.key.to_string()).collect()
}

/// The run that is meant where none is named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LatestRun {
    /// The run.
    pub run: RunId,
    /// Of how many it is the latest.
    pub of: usize,
}

/// Returns the run that was made last. A run without a row counts as older than one
/// that has some; of two made at once the one further down in the table is later.
pub fn latest_run(context: &OpsContext) -> Result<LatestRun, OpsError> {
    let mut names = run_ids(context);
    let of = names.len();
    if of > 1 {
        context.expect_workspace()?;
        let mut lines = lines(context)?;
        lines.retain(|line| line.has_manifest);
        let newest = lines.into_iter().enumerate();
        let newest = newest.max_by_key(|(place, line)| (line.jobs > 0, line.created, *place));
        names = newest.map(|(_, line)| line.run).into_iter().collect();
    }
    let run = names.pop().and_then(|name| RunId::parse(&name).ok());
    let run = run.ok_or_else(|| OpsError::Setup {
        message: format!("no runs in {}", context.workspace.root().display()),
        hint: Some("`archi3d batch create` makes one from tables/items.csv".into()),
    })?;
    Ok(LatestRun { run, of })
}

/// A run at a glance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RunLine {
    /// Its id, as the registry has it.
    #[serde(rename = "run_id")]
    pub run: String,
    /// How many rows it has.
    pub jobs: usize,
    /// How many rows have each status, by [`Status::ALL`].
    #[serde(serialize_with = "by_status")]
    pub counts: [usize; Status::ALL.len()],
    /// Rows with an unknown status.
    #[serde(rename = "other_status")]
    pub other: usize,
    /// Of the completed, those that were only rehearsed.
    pub rehearsed: usize,
    /// When it was made, if its rows tell.
    #[serde(rename = "created_at")]
    pub created: Option<Timestamp>,
    /// Whether it has a manifest under `runs/`.
    pub has_manifest: bool,
    /// The server of its fleet, if it was handed over to one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fleet: Option<String>,
    /// That server cannot be asked: the counts are those of the last pull.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub as_pulled: bool,
}

/// Lists the runs of the registry in the order of their first row, then those that
/// have only a manifest; those of a fleet as it counts them. Takes no lock and changes
/// nothing. Why a fleet cannot be asked is told in sentences.
pub fn runs(context: &OpsContext) -> Result<(Vec<RunLine>, Vec<String>), OpsError> {
    context.expect_workspace()?;
    let mut lines = lines(context)?;
    let (stores, mut troubles) = (Stores::new(context)?, Vec::new());
    let mut is_away = false;
    for line in &mut lines {
        let Some(run) = RunId::parse(&line.run).ok().filter(|_| line.has_manifest) else {
            continue;
        };
        line.fleet = fleet_of(context, &run);
        if line.fleet.is_none() {
            continue;
        }
        if is_away {
            line.as_pulled = true;
            continue;
        }
        match stores.of(&run).and_then(|runs| Ok(runs.counts(&run)?)) {
            Ok(counted) => {
                line.jobs = counted.counts.iter().sum();
                (line.counts, line.rehearsed, line.other) = (counted.counts, counted.rehearsed, 0);
            }
            Err(error) => {
                line.as_pulled = true;
                is_away = !error.is_setup();
                let trouble = format!("run {run} is shown as it was pulled last: {error}");
                troubles.push(trouble);
            }
        }
    }
    Ok((lines, troubles))
}

/// Returns when a run was made, as its rows tell.
pub fn created(context: &OpsContext, run: &RunId) -> Result<Option<Timestamp>, OpsError> {
    let mut lines = lines(context)?.into_iter();
    let line = lines.find(|line| line.run == run.as_str());
    Ok(line.and_then(|line| line.created))
}

/// Checks that the registry and the folders of runs can be read.
pub(super) fn readable(context: &OpsContext) -> Result<(), OpsError> {
    context.expect_workspace()?;
    lines(context).map(drop)
}

fn lines(context: &OpsContext) -> Result<Vec<RunLine>, OpsError> {
    let folders = run_ids(context);
    let registry = context.workspace.registry();
    // A workspace that never had a run has no registry; with runs it has lost it.
    let counted = if folders.is_empty() && registry.symlink_metadata().is_err() {
        Vec::new()
    } else {
        context.local().count_runs()?
    };
    let known: HashSet<&str> = counted.iter().map(|run| run.run.as_str()).collect();
    let missing = |folder: &&String| !known.contains(folder.as_str());
    let unlisted: Vec<RunCounts> = folders
        .iter()
        .filter(missing)
        .map(|folder| RunCounts {
            run: folder.clone(),
            ..RunCounts::default()
        })
        .collect();
    let folders: HashSet<String> = folders.into_iter().collect();
    let lines = counted.into_iter().chain(unlisted);
    let lines = lines.map(|run| RunLine {
        has_manifest: folders.contains(&run.run),
        jobs: run.counts.iter().sum::<usize>() + run.other,
        run: run.run,
        counts: run.counts,
        other: run.other,
        rehearsed: run.rehearsed,
        created: run.created,
        fleet: None,
        as_pulled: false,
    });
    Ok(lines.collect())
}

/// Returns the server of a run that lives in a fleet.
fn fleet_of(context: &OpsContext, run: &RunId) -> Option<String> {
    let mark = FleetMark::read(&context.workspace.run(run));
    let lives = |mark: &FleetMark| mark.state != FleetState::Forgotten;
    mark.ok().flatten().filter(lives).map(|mark| mark.server)
}
