//! `run attempts`: every attempt of a run, with what it led to and what it cost.

use std::collections::BTreeSet;

use crate::domain::id::{JobId, RunId};
use crate::domain::lease::Rhythm;
use crate::domain::nearest::nearest_few;
use crate::domain::text::shell_word;
use crate::ops::{OpsContext, OpsError, cost};
use crate::store::attempt::RunAttempts;
use crate::store::csv;

pub use crate::store::attempt::{AttemptOutcome, AttemptRecord};

/// What the attempts of a run or of one job come to.
#[derive(Debug, Clone, PartialEq)]
pub struct AttemptsReport {
    /// The run.
    pub run_id: RunId,
    /// The attempts, by job in the order of the manifest, then by number.
    pub attempts: Vec<AttemptRecord>,
    /// How many jobs they are of.
    pub jobs: usize,
    /// What they cost together, as far as anybody knows; a purchase that several of
    /// them were about counts once.
    pub cost_usd: f64,
    /// How many lines of the journals could not be read.
    pub damaged_lines: usize,
    /// What could not be read, one sentence each.
    pub warnings: Vec<String>,
}

/// Reads the attempts of a run, or those of the one job given, by its id or
/// the beginning of it; takes no lock and changes nothing.
pub fn run_attempts(
    context: &OpsContext,
    run_id: &RunId,
    job: Option<&str>,
) -> Result<AttemptsReport, OpsError> {
    let now = context.clock.now();
    let found = csv::attempts(&context.workspace, run_id, Rhythm::default(), now)?;
    let job = job
        .map(|job| known_job(&found, run_id, job).map(str::to_owned))
        .transpose()?;
    Ok(shape(run_id, found, job.as_deref()))
}

fn shape(run_id: &RunId, found: RunAttempts, job: Option<&str>) -> AttemptsReport {
    let mut attempts = found.attempts;
    attempts.retain(|attempt| job.is_none_or(|job| attempt.job_id.as_str() == job));
    let mut jobs: Vec<&str> = attempts.iter().map(|a| a.job_id.as_str()).collect();
    jobs.dedup();
    AttemptsReport {
        run_id: run_id.clone(),
        jobs: jobs.len(),
        cost_usd: cost::billed_usd(run_id, &attempts),
        attempts,
        damaged_lines: found.damaged_lines,
        warnings: found.warnings,
    }
}

/// Returns the job with this id, or the only one that begins so.
fn known_job<'a>(found: &'a RunAttempts, run_id: &RunId, job: &str) -> Result<&'a str, OpsError> {
    let tried = found.attempts.iter().map(|attempt| &attempt.job_id);
    let known: BTreeSet<&str> = found.jobs.iter().chain(tried).map(JobId::as_str).collect();
    if let Some(whole) = known.get(job) {
        return Ok(whole);
    }
    let begins = known.iter().copied().filter(|id| id.starts_with(job));
    let mut near: Vec<&str> = begins.take(3).collect();
    if let ([only], false) = (&near[..], job.is_empty()) {
        return Ok(only);
    }
    if near.is_empty() || job.is_empty() {
        near = nearest_few(job, known.iter().copied());
    }
    Err(OpsError::Setup {
        message: format!("run {run_id} has no job {job:?}"),
        hint: Some(if near.is_empty() {
            let run_id = shell_word(run_id.as_str());
            format!("`archi3d run plan --run-id {run_id} --list` shows its jobs")
        } else {
            format!("did you mean {}?", near.join(" or "))
        }),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::id::{Nonce, WorkerId};
    use crate::domain::job::Entry;
    use crate::domain::time::Timestamp;

    fn attempt(job: &str, number: u32, cost_usd: Option<f64>) -> AttemptRecord {
        AttemptRecord {
            job_id: JobId::parse(job).expect("valid"),
            attempt: number,
            worker: WorkerId::parse("w-1-x").expect("valid"),
            host: None,
            entry: Entry::Fresh,
            started: Timestamp::parse("2026-01-01T00:00:00Z").expect("valid"),
            ended: None,
            outcome: AttemptOutcome::Completed,
            class: None,
            duration_s: None,
            cost_usd,
            request_id: None,
            resumed: false,
            price_source: None,
            simulated: false,
            nonce: Nonce::new("n"),
            cut_off: false,
            void: false,
            error: None,
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
                .map(|id| JobId::parse(id).expect("valid"))
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
        let report = shape(&RunId::parse("r").expect("valid"), found, None);
        assert!((report.cost_usd - 0.75).abs() < 1e-9);
    }

    #[test]
    fn jobs_and_costs_are_counted_over_what_is_shown() {
        let run = RunId::parse("r").expect("valid");
        let all = shape(&run, found(), None);
        assert_eq!((all.attempts.len(), all.jobs), (3, 2));
        assert!((all.cost_usd - 0.75).abs() < 1e-9);
        let one = shape(&run, found(), Some("bb2"));
        assert_eq!((one.attempts.len(), one.jobs), (1, 1));
    }

    #[test]
    fn a_job_that_was_never_tried_is_known_and_a_mistyped_one_is_refused() {
        let run = RunId::parse("r").expect("valid");
        let found = found();
        assert_eq!(known_job(&found, &run, "cc3").expect("known"), "cc3");
        assert_eq!(known_job(&found, &run, "aa").expect("the only one"), "aa1");
        for (word, hint) in [
            ("bb3", "did you mean bb2?"),
            (
                "zzzzzz",
                "`archi3d run plan --run-id r --list` shows its jobs",
            ),
        ] {
            let error = known_job(&found, &run, word).expect_err("unknown");
            assert_eq!(error.hint(), Some(hint), "{word}");
        }
    }
}
