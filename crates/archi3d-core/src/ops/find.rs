//! Finds the job that a person means: by its id, the beginning of it, or its product.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use crate::domain::id::{JobId, RunId};
use crate::domain::lease::Rhythm;
use crate::domain::nearest::nearest_few;
use crate::domain::text::{one_line, shell_word};
use crate::ops::OpsError;
use crate::store::JobRecord;
use crate::store::runs::{Runs, may_mean};

pub use crate::store::runs::{JobName, item};

/// So many jobs are listed where several are meant.
const LISTED: usize = 20;

/// Returns the one job that `word` means: the job with this id, else the only one
/// that begins so or is of this product.
pub fn find_job<'a>(
    jobs: &'a [(JobId, JobName)],
    run_id: &RunId,
    word: &str,
) -> Result<&'a JobId, OpsError> {
    match &jobs_meant(jobs, word)[..] {
        [(only, _)] => Ok(only),
        [] => Err(unknown(jobs, run_id, word)),
        several => Err(ambiguous(several, run_id, word)),
    }
}

/// Returns every job that `word` may mean.
pub fn jobs_meant<'a>(jobs: &'a [(JobId, JobName)], word: &str) -> Vec<&'a (JobId, JobName)> {
    may_mean(jobs, word, |(id, name)| {
        (id.as_str(), &name.product_id, &name.variant)
    })
}

/// Returns the one job of a run that `word` means.
pub fn the_job(runs: &dyn Runs, run_id: &RunId, word: &str) -> Result<JobRecord, OpsError> {
    let mut like = runs.jobs_like(run_id, word)?;
    if like.len() == 1
        && let Some(only) = like.pop()
    {
        return Ok(only);
    }
    if like.is_empty() {
        like = runs.jobs(run_id, Rhythm::default())?.jobs;
    }
    let names: Vec<_> = like
        .iter()
        .map(|record| (record.job_id.clone(), JobName::of(record)))
        .collect();
    let id = find_job(&names, run_id, word)?;
    let found = like.iter().find(|record| record.job_id == *id);
    Ok(found.expect("it was found among them").clone())
}

fn unknown(jobs: &[(JobId, JobName)], run_id: &RunId, word: &str) -> OpsError {
    let ids = jobs.iter().map(|(id, _)| id.as_str());
    let products = jobs.iter().map(|(_, name)| name.product_id.as_str());
    let known: BTreeSet<&str> = ids
        .chain(products)
        .filter(|name| !name.is_empty())
        .collect();
    let near = nearest_few(word, known);
    OpsError::Setup {
        message: format!("run {run_id} has no job and no product {word:?}"),
        hint: Some(if near.is_empty() {
            let run_id = shell_word(run_id.as_str());
            format!("`archi3d run plan {run_id} --list` shows its jobs")
        } else {
            format!("did you mean {}?", near.join(" or "))
        }),
    }
}

fn ambiguous(several: &[&(JobId, JobName)], run_id: &RunId, word: &str) -> OpsError {
    let mut message = format!("{} jobs of run {run_id} match {word:?}:", several.len());
    let width = |of: &dyn Fn(&JobName) -> String| {
        let shown = several.iter().take(LISTED);
        shown.map(|(_, name)| of(name).chars().count()).max()
    };
    let items = width(&JobName::item).unwrap_or_default();
    let algos = width(&|name| one_line(&name.algo)).unwrap_or_default();
    for (id, name) in several.iter().take(LISTED) {
        let (item, algo) = (name.item(), one_line(&name.algo));
        let _ = write!(message, "\n  {item:items$}  {algo:algos$}  {id}");
    }
    if several.len() > LISTED {
        let _ = write!(message, "\n  … {} more", several.len() - LISTED);
    }
    OpsError::Setup {
        message,
        hint: Some("name one of them by its job id, the last column".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn jobs() -> Vec<(JobId, JobName)> {
        let job = |id: &str, product: &str, variant: &str, algo: &str| {
            let name = JobName {
                product_id: product.into(),
                variant: variant.into(),
                algo: algo.into(),
            };
            (JobId::parse(id).expect("valid"), name)
        };
        vec![
            job("d610ebfd455b", "335888", "default", "relief"),
            job("41ee2eedbabf", "335888", "default", "mock"),
            job("335899999999", "777", "oak", "relief"),
        ]
    }

    fn found(word: &str) -> Result<String, (String, Option<String>)> {
        let run = RunId::parse("r").expect("valid");
        let jobs = jobs();
        match find_job(&jobs, &run, word) {
            Ok(id) => Ok(id.to_string()),
            Err(error) => Err((error.to_string(), error.hint().map(str::to_owned))),
        }
    }

    #[test]
    fn a_job_is_found_by_its_id_its_beginning_or_its_product() {
        for word in ["d610ebfd455b", "d6"] {
            assert_eq!(found(word).expect("known"), "d610ebfd455b", "{word}");
        }
        for word in ["777", "777:oak", "777:Oak", "3358999"] {
            assert_eq!(found(word).expect("known"), "335899999999", "{word}");
        }
    }

    #[test]
    fn where_several_are_meant_they_are_listed_with_the_id_last() {
        let (message, hint) = found("335888").expect_err("two algorithms");
        assert_eq!(
            message,
            "2 jobs of run r match \"335888\":\n  335888  relief  d610ebfd455b\n  335888  mock    41ee2eedbabf"
        );
        assert_eq!(
            hint.as_deref(),
            Some("name one of them by its job id, the last column")
        );
    }

    #[test]
    fn a_mistyped_job_or_product_is_refused_with_the_nearest() {
        for (word, hint) in [
            ("335889", "did you mean 335888?"),
            ("zzzzzzzzz", "`archi3d run plan r --list` shows its jobs"),
            ("", "`archi3d run plan r --list` shows its jobs"),
        ] {
            let (_, said) = found(word).expect_err("unknown");
            assert_eq!(said.as_deref(), Some(hint), "{word}");
        }
    }
}
