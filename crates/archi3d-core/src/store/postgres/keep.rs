//! What is forgotten in time, and runs that may be.

use std::collections::HashSet;

use chrono::{DateTime, Utc};

use super::connect::Connection;
use super::error::PgResult;
use super::reader::{Reader, large, small};
use super::statements;

/// How many jobs are deleted in one statement, so that nobody waits for it.
const BATCH: usize = 10_000;

/// What was removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Pruned {
    /// Error boundaries.
    pub checkpoints: usize,
    /// Workers that are long gone.
    pub workers: usize,
    /// Keys of requests that have expired.
    pub keys: usize,
    /// Jobs of runs that were exported.
    pub jobs: usize,
    /// Such runs of which nothing is left.
    pub runs: usize,
}

/// Forgets what is old: all but the last `checkpoints` of each job, and whatever is older than `days`. Jobs go only with
/// runs that were closed; never one with an open purchase or a reservation. The ledger stays.
pub fn prune(connection: &mut Connection, checkpoints: usize, days: u32) -> PgResult<Pruned> {
    let days = small(days);
    let mut pruned = Pruned {
        checkpoints: connection
            .rows(
                &statements::PRUNE_CHECKPOINTS,
                &[&large(checkpoints), &days],
            )?
            .len(),
        workers: connection.rows(&statements::PRUNE_WORKERS, &[&days])?.len(),
        keys: connection.rows(&statements::PRUNE_KEYS, &[])?.len(),
        jobs: 0,
        runs: 0,
    };
    loop {
        let gone = connection
            .rows(&statements::PRUNE_JOBS, &[&days, &large(BATCH)])?
            .len();
        pruned.jobs += gone;
        if gone < BATCH {
            pruned.runs = connection.rows(&statements::PRUNE_RUNS, &[&days])?.len();
            return Ok(pruned);
        }
    }
}

/// Forgets a run that was made to try the store; false if it is not there or money was moved for it.
pub fn forget_trial(connection: &mut Connection, run_no: i64) -> PgResult<bool> {
    let gone = connection.row(&statements::FORGET_RUN, &[&run_no])?;
    Ok(gone.is_some())
}

/// Closes a run of which everything was exported that had ended by a moment of the database's clock, so that it may be
/// pruned; false while jobs wait or run, or if it was closed before.
pub fn close_run(connection: &mut Connection, run_no: i64, by: DateTime<Utc>) -> PgResult<bool> {
    Ok(connection
        .row(&statements::CLOSE_RUN, &[&run_no, &by])?
        .is_some())
}

/// Returns the time by the database's clock.
pub fn now(connection: &mut Connection) -> PgResult<DateTime<Utc>> {
    let sql = &statements::NOW;
    let row = connection.one(sql, &[])?;
    Reader::new(&row, sql).take()
}

/// Returns every blob that something refers to, by its SHA-256 in hexadecimal digits.
pub fn referred(connection: &mut Connection) -> PgResult<HashSet<String>> {
    let sql = &statements::REFERRED;
    let rows = connection.rows(sql, &[])?;
    rows.iter()
        .map(|row| Reader::new(row, sql).take())
        .collect()
}

/// Returns what tells this database from others that use the same bucket.
pub fn fleet_name(connection: &mut Connection) -> PgResult<String> {
    let sql = &statements::FLEET_NAME;
    let row = connection.one(sql, &[])?;
    Reader::new(&row, sql).take()
}
