//! Purchases: said before they are made, kept by their provider's name.

use std::time::Duration;

use chrono::{DateTime, Utc};
use uuid::Uuid;

use super::claim::{Beaten, Hold};
use super::connect::Connection;
use super::error::PgResult;
use super::reader::{Reader, clean, small};
use super::statements;
use crate::domain::job::Entry;
use crate::domain::money::Usd;

/// Notes that something is about to be bought. Only [`Beaten::Held`] lets anybody buy: the intent is on disk then, and
/// the job's next attempt will carry it.
pub fn intent(
    connection: &mut Connection,
    hold: &Hold,
    correlation: &str,
    lease: Duration,
) -> PgResult<Beaten> {
    let sql = &statements::INTENT;
    let row = connection.row(
        sql,
        &[
            &hold.job_no,
            &hold.attempt_id,
            &small(hold.number),
            &clean(correlation),
            &lease.as_secs_f64(),
        ],
    )?;
    let Some(row) = row else {
        return Ok(Beaten::Lost);
    };
    let asked = Reader::new(&row, sql).take()?;
    Ok(if asked {
        Beaten::CancelAsked
    } else {
        Beaten::Held
    })
}

/// Notes that a provider accepted. The id is kept whoever has the job by now; the job's next attempt carries it unless
/// a newer one has begun already. Returns whether the job is still ours. Told again, it changes nothing.
pub fn submitted(
    connection: &mut Connection,
    hold: &Hold,
    request_id: &str,
    cost: Option<Usd>,
) -> PgResult<bool> {
    let sql = &statements::SUBMITTED;
    let cost = cost.map(Usd::micros);
    let row = connection.row(
        sql,
        &[
            &hold.job_no,
            &hold.attempt_id,
            &small(hold.number),
            &clean(request_id),
            &cost,
        ],
    )?;
    row.map_or(Ok(false), |row| Reader::new(&row, sql).take())
}

/// Notes what the adapter says it made (JSON), for whoever comes after us. Returns whether the attempt is on record.
pub fn made(connection: &mut Connection, hold: &Hold, note: &str) -> PgResult<bool> {
    let row = connection.row(
        &statements::MADE,
        &[&hold.job_no, &hold.attempt_id, &small(hold.number), &note],
    )?;
    Ok(row.is_some())
}

/// A result that an attempt of a dead worker said it had made and did not come to publish.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftMade {
    /// The job's id.
    pub job_id: String,
    /// The attempt.
    pub hold: Hold,
    /// What was there before.
    pub entry: Entry,
    /// When it began.
    pub started: DateTime<Utc>,
    /// What it said, as JSON.
    pub note: String,
    /// Whether it can be fetched from its provider, so that nobody buys it again.
    pub bought: bool,
}

/// Returns such results of a run that attempts of these workers left: of all jobs that they hold, or of some that nobody has
/// begun since; never of jobs that are `held` by somebody who lives.
pub fn left_made(
    connection: &mut Connection,
    run_no: i64,
    workers: &[&str],
    only: Option<&[i64]>,
    held: &[i64],
    host: &str,
) -> PgResult<Vec<LeftMade>> {
    let sql = &statements::LEFT_MADE;
    let rows = connection.rows(sql, &[&run_no, &workers, &only, &held, &host])?;
    let read = |row| {
        let mut cells = Reader::new(row, sql);
        Ok(LeftMade {
            job_id: cells.take()?,
            hold: Hold {
                job_no: cells.take()?,
                number: cells.number()?,
                attempt_id: cells.take()?,
            },
            entry: cells.entry()?,
            started: cells.take()?,
            note: cells.take()?,
            bought: cells.take()?,
        })
    };
    rows.iter().map(read).collect()
}

/// What an earlier attempt of a job had made or left when its worker died.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftBefore {
    /// The attempt.
    pub hold: Hold,
    /// When it began.
    pub started: DateTime<Utc>,
    /// What it said it had made, as JSON.
    pub note: Option<String>,
    /// Whether files of it were kept aside.
    pub kept: bool,
}

/// Returns what earlier attempts of jobs left that these attempts begin again, the newest first.
pub fn left_before(connection: &mut Connection, holds: &[Hold]) -> PgResult<Vec<LeftBefore>> {
    let jobs: Vec<i64> = holds.iter().map(|hold| hold.job_no).collect();
    let numbers: Vec<i32> = holds.iter().map(|hold| small(hold.number)).collect();
    let sql = &statements::LEFT_BEFORE;
    let rows = connection.rows(sql, &[&jobs, &numbers])?;
    let read = |row| {
        let mut cells = Reader::new(row, sql);
        Ok(LeftBefore {
            hold: Hold {
                job_no: cells.take()?,
                number: cells.number()?,
                attempt_id: cells.take()?,
            },
            started: cells.take()?,
            note: cells.take()?,
            kept: cells.take()?,
        })
    };
    rows.iter().map(read).collect()
}

/// What was bought for a job and neither brought a result nor is void.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Purchase {
    /// The provider's id.
    pub request_id: String,
    /// What it is said to cost.
    pub cost: Option<Usd>,
    /// The attempt that bought it.
    pub attempt_id: Uuid,
    /// Its number.
    pub number: u32,
}

/// Returns a job's open purchases, oldest first.
pub fn purchases(connection: &mut Connection, job_no: i64) -> PgResult<Vec<Purchase>> {
    let sql = &statements::PURCHASES;
    let rows = connection.rows(sql, &[&job_no])?;
    let read = |row| {
        let mut cells = Reader::new(row, sql);
        Ok(Purchase {
            request_id: cells.take()?,
            cost: cells.take::<Option<i64>>()?.map(Usd::from_micros),
            number: cells.number()?,
            attempt_id: cells.take()?,
        })
    };
    rows.iter().map(read).collect()
}

/// Gives a purchase up that is dead at its provider, so that the holder buys under another key. Returns how many are
/// over now; nothing if the job is not ours.
pub fn give_up(connection: &mut Connection, hold: &Hold) -> PgResult<Option<u32>> {
    let sql = &statements::GIVE_UP;
    let row = connection.row(sql, &[&hold.job_no, &hold.attempt_id])?;
    row.map(|row| Reader::new(&row, sql).number()).transpose()
}
