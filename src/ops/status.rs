//! `run status`: how the jobs of a run stand, who works on them, what failed.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::domain::id::{JobId, RunId};
use crate::domain::job::{JobState, Status};
use crate::domain::lease::{Rhythm, Verdict};
use crate::domain::time::Timestamp;
use crate::ops::{OpsContext, OpsError};
use crate::store::{Holder, Standing, csv};

/// How a run stands.
#[derive(Debug, Clone, PartialEq)]
pub struct RunStatus {
    /// The run.
    pub run_id: RunId,
    /// How many jobs are in each state.
    pub counts: BTreeMap<Status, usize>,
    /// How many jobs there are.
    pub total: usize,
    /// Of the completed, those that were only rehearsed.
    pub rehearsed: usize,
    /// The jobs that somebody works on, or worked on when it died.
    pub running: Vec<RunningJob>,
    /// The jobs that ended without a result.
    pub failures: Vec<FailedJob>,
    /// What looked wrong while reading, one sentence each.
    pub warnings: Vec<String>,
}

/// A job that somebody holds.
#[derive(Debug, Clone, PartialEq)]
pub struct RunningJob {
    /// The job.
    pub job_id: JobId,
    /// Who holds it.
    pub worker: String,
    /// On which machine, if known.
    pub host: Option<String>,
    /// How long it has been held.
    pub age: Option<Duration>,
    /// How long ago its holder last showed that it lives.
    pub last_beat_age: Option<Duration>,
    /// Whether the holder lives, in a word.
    pub verdict: &'static str,
}

/// A job that ended without a result.
#[derive(Debug, Clone, PartialEq)]
pub struct FailedJob {
    /// The job.
    pub job_id: JobId,
    /// Why, on one line.
    pub message: String,
}

/// Reads how the run stands; takes no lock and changes nothing.
pub fn run_status(context: &OpsContext, run_id: &RunId) -> Result<RunStatus, OpsError> {
    let now = context.clock.now();
    let run = csv::read_run(&context.workspace, run_id, Rhythm::default(), now)?;
    let mut status = RunStatus {
        run_id: run_id.clone(),
        counts: BTreeMap::new(),
        total: run.jobs.len(),
        rehearsed: 0,
        running: Vec::new(),
        failures: Vec::new(),
        warnings: run.warnings,
    };
    for job in run.jobs {
        match job.standing {
            Standing::Known {
                state,
                holder,
                error,
                ..
            } => {
                *status.counts.entry(state.status()).or_default() += 1;
                if let JobState::Completed {
                    simulated: true, ..
                } = state
                {
                    status.rehearsed += 1;
                }
                match state.status() {
                    Status::Running => status.running.push(running_job(job.job_id, holder, now)),
                    Status::Failed => status.failures.push(FailedJob {
                        job_id: job.job_id,
                        message: error.unwrap_or_default(),
                    }),
                    _ => {}
                }
            }
            Standing::NotInManifest => *status.counts.entry(Status::Enqueued).or_default() += 1,
            Standing::NotRegistered => {}
            Standing::Unknown(word) => status.warnings.push(format!(
                "job {} has the status {word:?}, which is none of ours",
                job.job_id
            )),
        }
    }
    Ok(status)
}

fn running_job(job_id: JobId, holder: Option<Holder>, now: Timestamp) -> RunningJob {
    let Some(holder) = holder else {
        return RunningJob {
            job_id,
            worker: "nobody".into(),
            host: None,
            age: None,
            last_beat_age: None,
            verdict: "dead",
        };
    };
    RunningJob {
        job_id,
        worker: holder.worker,
        host: holder.host,
        age: holder.since.map(|since| now.since(since)),
        last_beat_age: holder.last_beat.map(|beat| now.since(beat)),
        verdict: match holder.verdict {
            Verdict::Alive => "alive",
            Verdict::Dead => "dead",
            Verdict::Watch(_) => "silent",
        },
    }
}
