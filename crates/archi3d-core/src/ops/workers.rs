//! Who works on the runs of the workspace: every worker that is there, and those that left jobs
//! behind. Reads only.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;

use crate::domain::id::{JobId, RunId};
use crate::domain::job::Status;
use crate::domain::time::Timestamp;
use crate::ops::names::{self, RunLine};
use crate::ops::status::run_status;
use crate::ops::view::seconds;
use crate::ops::view::status::{Liveness, RunStatus};
use crate::ops::{OpsContext, OpsError};
use crate::store::upkeep::LiveWorker;

/// A worker.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WorkerView {
    /// Its name.
    pub worker_id: String,
    /// The run it works on; nothing where it serves them all.
    pub run_id: Option<RunId>,
    /// Whether it lives.
    pub state: Liveness,
    /// Its machine, if known.
    pub host: Option<String>,
    /// What it runs, if known.
    pub version: Option<String>,
    /// Since when it is there, if known.
    pub since: Option<Timestamp>,
    /// How long ago it last showed that it lives, where it holds a job.
    #[serde(rename = "heartbeat_age_s", serialize_with = "seconds")]
    pub heartbeat_age: Option<Duration>,
    /// The jobs that it holds.
    pub holds: Vec<HeldJob>,
}

/// A job that a worker holds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HeldJob {
    /// Its run.
    pub run_id: RunId,
    /// The job.
    pub job_id: JobId,
    /// Its product, with the variant where it has one.
    pub item: String,
    /// Its algorithm.
    pub algo: String,
    /// Which attempt it is.
    pub attempt: u32,
    /// How long it has been held.
    #[serde(rename = "age_s", serialize_with = "seconds")]
    pub age: Option<Duration>,
}

/// Returns the workers of all runs that have jobs to do or at work, each once, by run.
pub fn workers(context: &OpsContext) -> Result<Vec<WorkerView>, OpsError> {
    let lines = names::runs(context)?.0;
    #[cfg_attr(
        not(feature = "postgres"),
        expect(unused_mut, reason = "a fleet adds some")
    )]
    let mut all = of_runs(context, lines);
    #[cfg(feature = "postgres")]
    in_fleet(context, &mut all)?;
    Ok(all)
}

/// Returns the same of the runs that live in files; asks no server.
pub(super) fn workers_here(context: &OpsContext, mut lines: Vec<RunLine>) -> Vec<WorkerView> {
    lines.retain(|line| line.fleet.is_none());
    of_runs(context, lines)
}

fn of_runs(context: &OpsContext, lines: Vec<RunLine>) -> Vec<WorkerView> {
    let mut all: Vec<WorkerView> = Vec::new();
    for line in lines {
        let Ok(run) = RunId::parse(&line.run) else {
            continue;
        };
        // Also before the registry says so: a worker that died at once has folded nothing.
        let held =
            line.counts[Status::Running as usize] + line.counts[Status::Enqueued as usize] > 0;
        let live = context.local().live_workers(&run).unwrap_or_default();
        if !line.has_manifest || (!held && live.is_empty()) {
            continue;
        }
        // One that cannot be read hides no others.
        let Ok(status) = run_status(context, &run) else {
            continue;
        };
        for worker in of_run(&run, live, &status) {
            match all.iter_mut().find(|one| one.worker_id == worker.worker_id) {
                Some(known) => known.join(worker),
                None => all.push(worker),
            }
        }
    }
    all
}

impl WorkerView {
    /// Adds what it holds of another run.
    fn join(&mut self, other: Self) {
        self.run_id = None;
        self.heartbeat_age = self.heartbeat_age.max(other.heartbeat_age);
        self.holds.extend(other.holds);
    }
}

/// Adds what the fleet knows of its workers: those that hold nothing, and more of those that do.
#[cfg(feature = "postgres")]
fn in_fleet(context: &OpsContext, all: &mut Vec<WorkerView>) -> Result<(), OpsError> {
    use crate::store::fleet::Health;
    let Some(fleet) = context.fleet()? else {
        return Ok(());
    };
    for worker in fleet.workers(None)? {
        let state = match worker.health() {
            Health::Ended => continue,
            Health::Alive => Liveness::Alive,
            Health::Slow => Liveness::Silent,
            Health::Silent => Liveness::Dead,
        };
        let run_id = worker
            .run_id
            .as_deref()
            .and_then(|run| RunId::parse(run).ok());
        let known = all.iter().position(|one| one.worker_id == worker.worker_id);
        let place = match known {
            Some(place) => place,
            // One that died and held nothing left nothing behind.
            None if state == Liveness::Dead => continue,
            None => {
                all.push(WorkerView {
                    worker_id: worker.worker_id,
                    run_id: None,
                    state,
                    host: None,
                    version: None,
                    since: None,
                    heartbeat_age: None,
                    holds: Vec::new(),
                });
                all.len() - 1
            }
        };
        let view = &mut all[place];
        view.run_id = run_id;
        view.host = Some(worker.host);
        view.version = Some(worker.version);
        view.since = Some(Timestamp::new(worker.started));
        view.heartbeat_age = Some(worker.silent);
    }
    Ok(())
}

fn of_run(run: &RunId, live: Vec<LiveWorker>, status: &RunStatus) -> Vec<WorkerView> {
    let mut found: BTreeMap<String, WorkerView> = BTreeMap::new();
    for worker in live {
        let name = worker.worker_id.to_string();
        let version = worker.facts.env;
        found.insert(
            name.clone(),
            WorkerView {
                worker_id: name,
                run_id: Some(run.clone()),
                state: Liveness::Alive,
                host: Some(worker.facts.host),
                version: Some(version).filter(|version| !version.is_empty()),
                since: Some(worker.since),
                heartbeat_age: None,
                holds: Vec::new(),
            },
        );
    }
    for job in &status.running {
        let worker = found
            .entry(job.worker.clone())
            .or_insert_with(|| WorkerView {
                worker_id: job.worker.clone(),
                run_id: Some(run.clone()),
                state: job.verdict,
                host: job.host.clone(),
                version: None,
                since: None,
                heartbeat_age: None,
                holds: Vec::new(),
            });
        worker.heartbeat_age = worker.heartbeat_age.max(job.last_beat_age);
        worker.holds.push(HeldJob {
            run_id: run.clone(),
            job_id: job.job_id.clone(),
            item: job.name.item(),
            algo: job.name.algo.clone(),
            attempt: job.attempt,
            age: job.age,
        });
    }
    found.into_values().collect()
}
