//! What was asked for over the network: runs to be made, failed jobs to be tried again, and the answers to requests
//! with a key.

use uuid::Uuid;

use super::connect::Connection;
use super::error::PgResult;
use super::reader::{Reader, clean};
use super::statements;
use crate::domain::money::Usd;

/// A run that the same parameters lead to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Same {
    /// How the database numbers it.
    pub run_no: i64,
    /// Its id.
    pub run_id: String,
    /// What was asked for, as JSON.
    pub body: String,
}

/// What was answered to a request with a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// What the request asked for.
    pub fingerprint: Vec<u8>,
    /// The status of the answer.
    pub status: u16,
    /// Its body, byte for byte.
    pub body: String,
}

/// Something that workers are to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Open {
    /// The run.
    pub run_id: String,
    /// Whether failed jobs of it are to be tried again; else the run itself is meant.
    pub is_retry: bool,
    /// What was asked for, as JSON.
    pub body: String,
}

/// An order, as it is written down.
#[derive(Debug, Clone, Copy)]
pub struct NewOrder<'a> {
    /// The run.
    pub run_no: i64,
    /// Names it, where failed jobs are to be tried again; nothing means the run itself.
    pub retry: Option<Uuid>,
    /// Who asked.
    pub by: &'a str,
    /// What it is expected to cost.
    pub expected: Usd,
    /// What was asked for, as JSON.
    pub body: &'a str,
    /// Whether the same parameters lead to this run from now on.
    pub dedupes: bool,
}

/// In a transaction: lets one at a time in for each of these names, until it ends.
pub fn take_turns(connection: &mut Connection, names: &[String]) -> PgResult<()> {
    use sha2::{Digest as _, Sha256};
    let number = |name: &String| {
        let hash = Sha256::digest(format!("archi3d order {name}").as_bytes());
        i64::from_be_bytes(std::array::from_fn(|place| hash[place]))
    };
    let numbers: Vec<i64> = names.iter().map(number).collect();
    connection
        .rows(&statements::ORDER_TURN, &[&numbers])
        .map(drop)
}

/// Returns the run that the same parameters lead to.
pub fn same(connection: &mut Connection, payload_hash: &[u8]) -> PgResult<Option<Same>> {
    let sql = &statements::ORDER_SAME;
    let row = connection.row(sql, &[&payload_hash])?;
    let read = |row| {
        let mut cells = Reader::new(row, sql);
        Ok(Same {
            run_no: cells.take()?,
            run_id: cells.take()?,
            body: cells.take()?,
        })
    };
    row.as_ref().map(read).transpose()
}

/// Lets the same parameters lead to another run from now on.
pub fn forget_same(connection: &mut Connection, run_no: i64) -> PgResult<()> {
    connection
        .rows(&statements::ORDER_PAST, &[&run_no])
        .map(drop)
}

/// Writes an order down.
pub fn add(connection: &mut Connection, order: &NewOrder<'_>) -> PgResult<()> {
    let parameters: [super::connect::Parameter<'_>; 6] = [
        &order.run_no,
        &order.retry,
        &clean(order.by),
        &order.expected.micros(),
        &clean(order.body),
        &order.dedupes,
    ];
    connection
        .one(&statements::ORDER_ADD, &parameters)
        .map(drop)
}

/// Returns what somebody ordered today.
pub fn ordered_today(connection: &mut Connection, by: &str) -> PgResult<Usd> {
    let sql = &statements::ORDERED_TODAY;
    let row = connection.one(sql, &[&clean(by)])?;
    Ok(Usd::from_micros(Reader::new(&row, sql).take()?))
}

/// Returns what workers that follow are to do.
pub fn open(connection: &mut Connection) -> PgResult<Vec<Open>> {
    let sql = &statements::ORDERS_OPEN;
    let rows = connection.rows(sql, &[])?;
    let read = |row| {
        let mut cells = Reader::new(row, sql);
        Ok(Open {
            run_id: cells.take()?,
            is_retry: cells.take()?,
            body: cells.take()?,
        })
    };
    rows.iter().map(read).collect()
}

/// Returns the runs that were asked for, or the one, each with what was asked for.
pub fn runs(connection: &mut Connection, only: Option<&str>) -> PgResult<Vec<(String, String)>> {
    let sql = &statements::ORDERS;
    let rows = connection.rows(sql, &[&only])?;
    let read = |row| {
        let mut cells = Reader::new(row, sql);
        Ok((cells.take()?, cells.take()?))
    };
    rows.iter().map(read).collect()
}

/// Takes an order to try again; of several workers one gets it.
pub fn take_retry(connection: &mut Connection, id: Uuid) -> PgResult<bool> {
    let taken = connection.rows(&statements::RETRY_TAKE, &[&id])?;
    Ok(!taken.is_empty())
}

/// Returns what was answered to a request with this key.
pub fn kept(connection: &mut Connection, key: &str) -> PgResult<Option<Kept>> {
    let sql = &statements::REQUEST_KEY;
    let row = connection.row(sql, &[&key])?;
    let read = |row| {
        let mut cells = Reader::new(row, sql);
        let fingerprint = cells.take()?;
        let status: i16 = cells.take()?;
        Ok(Kept {
            fingerprint,
            status: u16::try_from(status).unwrap_or_default(),
            body: cells.take()?,
        })
    };
    row.as_ref().map(read).transpose()
}

/// Keeps the answer to a request with a key, for so many seconds.
pub fn keep(
    connection: &mut Connection,
    key: &str,
    run_no: i64,
    answer: &Kept,
    seconds: f64,
) -> PgResult<()> {
    let status = i16::try_from(answer.status).unwrap_or_default();
    let parameters: [super::connect::Parameter<'_>; 6] = [
        &key,
        &answer.fingerprint,
        &run_no,
        &status,
        &answer.body,
        &seconds,
    ];
    connection
        .one(&statements::REQUEST_KEY_ADD, &parameters)
        .map(drop)
}
