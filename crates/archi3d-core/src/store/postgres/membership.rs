//! Worker processes: who is there, and what each holds.

use std::sync::LazyLock;
use std::time::Duration;

use uuid::Uuid;

use crate::domain::id::{JobId, RunId};

use super::claim::span;
use super::connect::Connection;
use super::error::PgResult;
use super::reader::{Reader, small};
use super::statements;

pub use crate::store::fleet::{Health, RunToServe, SeenWorker};

/// A worker process as it introduces itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Worker<'a> {
    /// Its name, new at every start unless a person chose one.
    pub worker_id: &'a str,
    /// Its machine.
    pub host: &'a str,
    /// Its process id.
    pub pid: u32,
    /// The program's version.
    pub version: &'a str,
    /// The run it serves; nothing means every run.
    pub run_no: Option<i64>,
    /// How many jobs it runs at once.
    pub slots: u32,
    /// How long its leases last without a beat.
    pub lease: Duration,
    /// How long connecting took it.
    pub connecting: Duration,
    /// Anything else, as JSON.
    pub facts: &'a str,
}

/// What tells this process from every other that ever bears its name.
static PROCESS: LazyLock<String> = LazyLock::new(|| Uuid::new_v4().simple().to_string());

pub(super) fn process() -> &'static str {
    &PROCESS
}

/// Returns what a worker of this process says of itself: which process it is, and where the lock of its name is.
pub(super) fn facts(spools: &str) -> String {
    serde_json::json!({ "process": process(), "spools": spools }).to_string()
}

/// What a worker is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It comes up.
    Starting,
    /// It has jobs.
    Working,
    /// It has none.
    Idle,
    /// It ends what it has and takes nothing new.
    Draining,
    /// It is gone.
    Ended,
}

impl State {
    /// Returns the schema's word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Working => "working",
            Self::Idle => "idle",
            Self::Draining => "draining",
            Self::Ended => "ended",
        }
    }
}

/// Registers a worker, and ends the slots at providers of a dead one of its name. False: a live worker has this name.
/// Two processes of this machine never get here with one name: opening its spool locks it, and comes first (`opening`).
pub fn register(connection: &mut Connection, worker: &Worker<'_>) -> PgResult<bool> {
    connection.transaction(|connection| {
        // Before it is seen itself.
        connection.rows(&statements::STANDSTILL, &[])?;
        let registered = register_alone(connection, worker)?;
        if registered {
            connection.rows(&statements::WORKER_SLOTS_OVER, &[&worker.worker_id])?;
        }
        Ok(registered)
    })
}

fn register_alone(connection: &mut Connection, worker: &Worker<'_>) -> PgResult<bool> {
    let pid = small(worker.pid);
    let slots = small(worker.slots);
    let row = connection.row(
        &statements::WORKER_REGISTER,
        &[
            &worker.worker_id,
            &worker.host,
            &pid,
            &worker.version,
            &worker.run_no,
            &slots,
            &worker.lease.as_secs_f64(),
            &worker.facts,
            &worker.connecting.as_secs_f64(),
        ],
    )?;
    Ok(row.is_some())
}

/// Says what a worker is doing now.
pub fn set_state(connection: &mut Connection, worker: &str, state: State) -> PgResult<()> {
    connection
        .rows(&statements::WORKER_STATE, &[&worker, &state.word()])
        .map(drop)
}

/// Ends a worker and gives its slots at providers back. Its jobs were ended or released before.
pub fn end(connection: &mut Connection, worker: &str) -> PgResult<()> {
    connection.transaction(|connection| {
        connection.rows(&statements::WORKER_SLOTS_OVER, &[&worker])?;
        set_state(connection, worker, State::Ended)
    })
}

/// Returns the runs, all or these, that have something for a worker of these algorithms, the most urgent first. `waiting` are
/// runs whose results wait on the worker's own disk.
pub fn runs_to_serve(
    connection: &mut Connection,
    algos: &[&str],
    only: Option<&[&str]>,
    waiting: &[&str],
) -> PgResult<Vec<RunToServe>> {
    let sql = &statements::RUNS_TO_SERVE;
    let rows = connection.rows(sql, &[&algos, &only, &waiting])?;
    let read = |row| {
        let mut cells = Reader::new(row, sql);
        Ok(RunToServe {
            run_no: cells.take()?,
            run_id: cells.take()?,
            parameters: cells.take()?,
            in_bucket: cells.take()?,
            urgency: cells.take()?,
        })
    };
    rows.iter().map(read).collect()
}

/// Returns the jobs that these workers had when they fell silent, each with its worker and run.
pub fn lost_jobs(
    connection: &mut Connection,
    workers: &[String],
) -> PgResult<Vec<(String, RunId, JobId)>> {
    let sql = &statements::LOST_JOBS;
    let rows = connection.rows(sql, &[&workers])?;
    let read = |row| {
        let mut cells = Reader::new(row, sql);
        let (worker, run, job): (String, &str, &str) =
            (cells.take()?, cells.take()?, cells.take()?);
        Ok(RunId::parse(run)
            .ok()
            .zip(JobId::parse(job).ok())
            .map(|(run, job)| (worker, run, job)))
    };
    let read = rows.iter().filter_map(|row| read(row).transpose());
    read.collect()
}

/// Returns the workers that serve a run, or all of them, in the order in which they came up.
pub fn workers(connection: &mut Connection, run_no: Option<i64>) -> PgResult<Vec<SeenWorker>> {
    let sql = &statements::WORKERS;
    let rows = connection.rows(sql, &[&run_no])?;
    let read = |row| {
        let mut cells = Reader::new(row, sql);
        Ok(SeenWorker {
            worker_id: cells.take()?,
            host: cells.take()?,
            pid: cells.number()?,
            version: cells.take()?,
            run_id: cells.take()?,
            slots: cells.number()?,
            state: cells.take()?,
            started: cells.take()?,
            last_seen: cells.take()?,
            silent: span(cells.take()?),
            lease: span(cells.take()?),
            holds: cells.count()?,
        })
    };
    rows.iter().map(read).collect()
}
