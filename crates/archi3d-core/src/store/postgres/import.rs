//! Runs that arrive: jobs with everything that is needed to work on them and to write their rows back.

use chrono::{DateTime, Utc};

use super::act;
use super::connect::Connection;
use super::error::PgResult;
use super::reader::{Reader, small};
use super::statements::{self, Sql};

/// Jobs that take more workers than this with them fail for good.
pub(super) const MAX_ATTEMPTS: u32 = 5;

/// A run as it is handed over.
#[derive(Debug, Clone, PartialEq)]
pub struct NewRun<'a> {
    /// Its id.
    pub run_id: &'a str,
    /// Its parameters, as canonical JSON.
    pub parameters: &'a str,
    /// Their SHA-256.
    pub payload_hash: &'a [u8],
    /// The registry's first line, verbatim.
    pub header: &'a [u8],
    /// How long a lease lasts, in seconds, where no worker says otherwise.
    pub lease_seconds: u32,
    /// Where artifacts are; nothing means in the shared workspace.
    pub artifacts_url: Option<&'a str>,
}

/// A job as it is handed over.
#[derive(Debug, Clone, PartialEq)]
pub struct NewJob {
    /// Its place in the manifest; no other job of the run has it.
    pub position: i64,
    /// Its id.
    pub job_id: String,
    /// The algorithm.
    pub algo: String,
    /// The product shown.
    pub product_id: String,
    /// Its variant.
    pub variant: String,
    /// The provider, where known.
    pub provider: Option<String>,
    /// Pictures and parameters, as JSON.
    pub payload: String,
    /// Its SHA-256.
    pub payload_hash: Vec<u8>,
    /// The registry's row, verbatim.
    pub row: Vec<u8>,
}

/// A run that was handed over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddedRun {
    /// How the database numbers it.
    pub run_no: i64,
    /// Whether it was not there before.
    pub is_new: bool,
    /// The registry's first line as it was when the run arrived first.
    pub header: Vec<u8>,
}

/// Adds a run, or finds it. Inside a transaction two that push the same run take turns.
pub fn add_run(connection: &mut Connection, run: &NewRun<'_>) -> PgResult<AddedRun> {
    let sql = &statements::RUN_ADD;
    let row = connection.one(
        sql,
        &[
            &run.run_id,
            &run.parameters,
            &run.payload_hash,
            &run.header,
            &small(run.lease_seconds),
            &run.artifacts_url,
        ],
    )?;
    let mut cells = Reader::new(&row, sql);
    Ok(AddedRun {
        run_no: cells.take()?,
        is_new: cells.take()?,
        header: cells.take()?,
    })
}

/// Adds the jobs that the run does not have yet, and returns how many these were. A few thousand at a time.
pub fn add_jobs(
    connection: &mut Connection,
    run_no: i64,
    run_id: &str,
    jobs: &[NewJob],
    priority: i16,
    max_attempts: u32,
) -> PgResult<usize> {
    let positions: Vec<i64> = jobs.iter().map(|job| job.position).collect();
    let text = |part: fn(&NewJob) -> &str| -> Vec<&str> { jobs.iter().map(part).collect() };
    let (ids, algos) = (text(|job| &job.job_id), text(|job| &job.algo));
    let (products, variants) = (text(|job| &job.product_id), text(|job| &job.variant));
    let payloads = text(|job| &job.payload);
    let providers: Vec<Option<&str>> = jobs.iter().map(|job| job.provider.as_deref()).collect();
    let hashes: Vec<&[u8]> = jobs.iter().map(|job| job.payload_hash.as_slice()).collect();
    let rows: Vec<&[u8]> = jobs.iter().map(|job| job.row.as_slice()).collect();
    let sql = &statements::JOBS_ADD;
    let row = connection.one(
        sql,
        &[
            &run_no,
            &run_id,
            &positions,
            &ids,
            &algos,
            &products,
            &variants,
            &providers,
            &payloads,
            &hashes,
            &rows,
            &priority,
            &small(max_attempts),
        ],
    )?;
    Reader::new(&row, sql).count()
}

/// Wakes the workers of a run that got new jobs. Fresh statistics are the caller's: `VACUUM` runs in no transaction.
pub fn added(connection: &mut Connection, run_no: i64) -> PgResult<()> {
    act::wake(connection, run_no, "added")
}

/// Gathers statistics after a large import: otherwise the server does so in the middle of the work.
pub fn tidy(connection: &mut Connection) -> PgResult<()> {
    connection.batch("VACUUM", "VACUUM (ANALYZE) archi3d.jobs")?;
    connection.batch("VACUUM", "VACUUM (ANALYZE) archi3d.job_specs")
}

/// A run as it stands.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// How the database numbers it.
    pub run_no: i64,
    /// Its id.
    pub run_id: String,
    /// Its parameters, as JSON.
    pub parameters: String,
    /// The registry's first line, verbatim.
    pub header: Vec<u8>,
    /// How many jobs it has.
    pub jobs: usize,
    /// How long a lease lasts, in seconds, where no worker says otherwise.
    pub lease_seconds: u32,
    /// Where artifacts are.
    pub artifacts_url: Option<String>,
    /// When it arrived.
    pub created: DateTime<Utc>,
    /// When everything of it was exported.
    pub closed: Option<DateTime<Utc>>,
}

/// Returns a run by its id.
pub fn run(connection: &mut Connection, run_id: &str) -> PgResult<Option<Run>> {
    let sql = &statements::RUN;
    let row = connection.row(sql, &[&run_id])?;
    row.map(|row| read_run(&row, sql)).transpose()
}

/// Returns every run, oldest first.
pub fn runs(connection: &mut Connection) -> PgResult<Vec<Run>> {
    let sql = &statements::RUNS;
    let rows = connection.rows(sql, &[])?;
    rows.iter().map(|row| read_run(row, sql)).collect()
}

fn read_run(row: &postgres::Row, sql: &'static Sql) -> PgResult<Run> {
    let mut cells = Reader::new(row, sql);
    Ok(Run {
        run_no: cells.take()?,
        run_id: cells.take()?,
        parameters: cells.take()?,
        header: cells.take()?,
        jobs: cells.count()?,
        lease_seconds: cells.number()?,
        artifacts_url: cells.take()?,
        created: cells.take()?,
        closed: cells.take()?,
    })
}
