//! The names a person may type: runs, jobs and algorithms of a workspace.
//!
//! For shells that complete words: quick, reads only, and what cannot be read has
//! no names.

use std::fs;

use crate::domain::id::RunId;
use crate::ops::OpsContext;
use crate::store::csv;

/// Returns the runs that have a manifest, by name.
pub fn run_ids(context: &OpsContext) -> Vec<String> {
    let entries = fs::read_dir(context.workspace.runs());
    let names = entries.into_iter().flatten().flatten();
    let names = names.filter_map(|entry| entry.file_name().into_string().ok());
    let mut runs: Vec<String> = names
        .filter(|name| {
            let run = RunId::parse(name).ok();
            run.is_some_and(|run| context.workspace.run(&run).manifest().is_file())
        })
        .collect();
    runs.sort();
    runs
}

/// Returns the jobs of a run in the order of its manifest.
pub fn job_ids(context: &OpsContext, run: &RunId) -> Vec<String> {
    let manifest = csv::read_manifest(&context.workspace.run(run));
    let rows = manifest.map(|manifest| manifest.rows).unwrap_or_default();
    rows.into_iter().map(|row| row.job_id.to_string()).collect()
}

/// Returns the algorithms that are configured, in the order of their files.
pub fn algo_keys(context: &OpsContext) -> Vec<String> {
    let algos = context.settings.algos.iter();
    algos.map(|algo| algo.key.to_string()).collect()
}
