//! `run attempts`: every attempt of a run, with what it led to and what it cost.

use std::collections::HashMap;

use serde::Serialize;

use crate::domain::id::{JobId, RunId};
use crate::domain::item_name::{ItemName, any_matches};
use crate::ops::find::{JobName, find_job};
use crate::ops::{OpsContext, OpsError, cost};
use crate::store::attempt::RunAttempts;

pub use crate::store::attempt::{AttemptOutcome, AttemptRecord};

/// What the attempts of a run or of one job come to.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AttemptsReport {
    /// The run.
    pub run_id: RunId,
    /// The attempts, by job in the order of the manifest, then by number.
    pub attempts: Vec<NamedAttempt>,
    /// How many jobs they are of.
    #[serde(skip)]
    pub jobs: usize,
    /// What they cost together, as far as anybody knows; a purchase that several of
    /// them were about counts once.
    pub cost_usd: f64,
    /// How many lines of the journals could not be read.
    pub damaged_lines: usize,
    /// What could not be read, one sentence each.
    pub warnings: Vec<String>,
}

/// An attempt, and what its job is known by.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NamedAttempt {
    /// The attempt.
    #[serde(flatten)]
    pub record: AttemptRecord,
    /// The job.
    #[serde(flatten)]
    pub name: JobName,
}

/// Reads the attempts of a run, or of the one job or the products given; `job` may be
/// the beginning of its id, or its product. Takes no lock and changes nothing.
pub fn run_attempts(
    context: &OpsContext,
    run_id: &RunId,
    job: Option<&str>,
    items: &[ItemName],
) -> Result<AttemptsReport, OpsError> {
    let runs = context.runs(run_id)?;
    if let Some(id) = job.and_then(|job| JobId::parse(job).ok()) {
        let found = runs.attempts(run_id, Some(&id))?;
        if !(found.jobs.is_empty() && found.attempts.is_empty()) {
            return Ok(shape(run_id, found, None, items));
        }
    }
    let found = runs.attempts(run_id, None)?;
    let job = job.map(|job| known_job(&found, run_id, job)).transpose()?;
    Ok(shape(run_id, found, job.as_ref(), items))
}

/// The jobs of a run by their ids, with what people know them by.
type JobNames = HashMap<JobId, JobName>;

/// Returns the names of all jobs that are listed or were tried.
fn names_in(found: &RunAttempts) -> JobNames {
    let mut names: JobNames = found.jobs.iter().cloned().collect();
    for attempt in &found.attempts {
        if !names.contains_key(&attempt.job_id) {
            names.insert(attempt.job_id.clone(), JobName::default());
        }
    }
    names
}

fn known_job(found: &RunAttempts, run_id: &RunId, job: &str) -> Result<JobId, OpsError> {
    let mut names: Vec<(JobId, JobName)> = names_in(found).into_iter().collect();
    names.sort_by(|a, b| a.0.cmp(&b.0));
    find_job(&names, run_id, job).cloned()
}

/// Puts the attempts of one job or of all, of some products or of all, together.
fn shape(
    run_id: &RunId,
    found: RunAttempts,
    job: Option<&JobId>,
    items: &[ItemName],
) -> AttemptsReport {
    let mut names = names_in(&found);
    names.retain(|id, name| {
        job.is_none_or(|job| id == job) && any_matches(items, &name.product_id, &name.variant)
    });
    let mut attempts = found.attempts;
    attempts.retain(|attempt| names.contains_key(&attempt.job_id));
    let mut jobs: Vec<&str> = attempts.iter().map(|a| a.job_id.as_str()).collect();
    jobs.dedup();
    AttemptsReport {
        run_id: run_id.clone(),
        jobs: jobs.len(),
        cost_usd: cost::billed_usd(&attempts),
        attempts: attempts
            .into_iter()
            .map(|record| NamedAttempt {
                name: names.get(&record.job_id).cloned().unwrap_or_default(),
                record,
            })
            .collect(),
        damaged_lines: found.damaged_lines,
        warnings: found.warnings,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attempt(job: &str, number: u32, cost_usd: Option<f64>) -> AttemptRecord {
        AttemptRecord {
            cost_usd,
            ..AttemptRecord::example(job, number)
        }
    }

    fn found() -> RunAttempts {
        RunAttempts {
            attempts: vec![
                attempt("aa1", 1, Some(0.5)),
                attempt("aa1", 2, None),
                attempt("bb2", 1, Some(0.25)),
            ],
            jobs: ["aa1", "bb2", "cc3"]
                .map(|id| (JobId::parse(id).expect("valid"), JobName::default()))
                .to_vec(),
            ..RunAttempts::default()
        }
    }

    #[test]
    fn a_purchase_that_several_attempts_were_about_counts_once() {
        let mut found = found();
        for record in &mut found.attempts[..2] {
            record.request_id = Some("req-1".into());
            record.cost_usd = Some(0.5);
        }
        let report = shape(&RunId::parse("r").expect("valid"), found, None, &[]);
        assert!((report.cost_usd - 0.75).abs() < 1e-9);
    }

    #[test]
    fn jobs_and_costs_are_counted_over_what_is_shown() {
        let run = RunId::parse("r").expect("valid");
        let all = shape(&run, found(), None, &[]);
        assert_eq!((all.attempts.len(), all.jobs), (3, 2));
        assert!((all.cost_usd - 0.75).abs() < 1e-9);
        let job = JobId::parse("bb2").expect("valid");
        let one = shape(&run, found(), Some(&job), &[]);
        assert_eq!((one.attempts.len(), one.jobs), (1, 1));
    }
}
