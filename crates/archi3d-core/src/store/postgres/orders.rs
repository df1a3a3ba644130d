//! What was asked for over the network: runs to be made, failed jobs to be tried again, and the answers to requests
//! with a key.

use uuid::Uuid;

use super::connect::Connection;
use super::error::PgResult;
use super::import::{self, MAX_ATTEMPTS, NewJob, NewRun, Run};
use super::reader::{Reader, clean};
use super::{export, hand_over, statements, view};
use crate::domain::money::Usd;
use crate::store::orders::Orders;
use crate::store::overview::RunCounts;

/// So many jobs are sent or asked for at a time.
const PAGE: usize = 5_000;

/// A run that the same parameters lead to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Same {
    /// How the database numbers it.
    pub run_no: i64,
    /// Its id.
    pub run_id: String,
    /// What was asked for, as JSON.
    pub body: String,
    /// What the workspace calls itself in which that was, if it was noted.
    pub workspace: Option<String>,
}

/// A run that a service shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    /// How the database numbers it.
    pub run_no: i64,
    /// The run.
    pub run_id: String,
    /// How many jobs it has.
    pub jobs: usize,
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
#[derive(Debug, Clone, PartialEq)]
pub struct Open {
    /// The run.
    pub run_id: String,
    /// Whether failed jobs of it are to be tried again; else the run itself is meant.
    pub is_retry: bool,
    /// Whether these were put back.
    pub is_taken: bool,
    /// What was asked for, as JSON.
    pub body: String,
    /// What the run's orders to retry take of caps.
    pub retried: Usd,
    /// What the run may cost since one of these said so.
    pub raised_usd: Option<f64>,
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

/// Returns the runs of the same parameters that may be given back, the latest first.
pub fn same(connection: &mut Connection, payload_hash: &[u8]) -> PgResult<Vec<Same>> {
    let sql = &statements::ORDER_SAME;
    let rows = connection.rows(sql, &[&payload_hash])?;
    let read = |row| {
        let mut cells = Reader::new(row, sql);
        Ok(Same {
            run_no: cells.take()?,
            run_id: cells.take()?,
            body: cells.take()?,
            workspace: cells.take()?,
        })
    };
    rows.iter().map(read).collect()
}

/// Returns the runs that a service shows, or the one.
pub fn shown(connection: &mut Connection, only: Option<&str>) -> PgResult<Vec<Shown>> {
    let sql = &statements::ORDERS_SHOWN;
    let rows = connection.rows(sql, &[&only])?;
    let read = |row| {
        let mut cells = Reader::new(row, sql);
        Ok(Shown {
            run_no: cells.take()?,
            run_id: cells.take()?,
            jobs: cells.count()?,
        })
    };
    rows.iter().map(read).collect()
}

/// Lets the same parameters lead to another run from now on, for services of earlier versions.
pub fn forget_same(connection: &mut Connection, payload_hash: &[u8]) -> PgResult<()> {
    connection
        .rows(&statements::ORDER_PAST, &[&payload_hash])
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
            is_taken: cells.take()?,
            body: cells.take()?,
            retried: Usd::from_micros(cells.take()?),
            raised_usd: cells.take()?,
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

/// Returns what the orders to retry jobs of a run take of caps, what the run may cost since one of them said so, and what the last
/// one may cost in all where nobody did.
pub fn again(
    connection: &mut Connection,
    run_id: &str,
) -> PgResult<(Usd, Option<f64>, Option<f64>)> {
    let sql = &statements::ORDERS_AGAIN;
    let row = connection.one(sql, &[&run_id])?;
    let mut cells = Reader::new(&row, sql);
    let counted = Usd::from_micros(cells.take()?);
    Ok((counted, cells.take()?, cells.take()?))
}

/// Notes that the jobs of an order to retry wait again; tells whether nobody did before.
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

impl Orders for Connection {
    fn place(&self) -> (String, String) {
        (self.url().to_string(), self.url().database.clone())
    }

    fn prepare(&mut self) -> PgResult<()> {
        hand_over::prepare(self)
    }

    fn take_turns(&mut self, names: &[String]) -> PgResult<()> {
        take_turns(self, names)
    }

    fn run(&mut self, run_id: &str) -> PgResult<Option<Run>> {
        import::run(self, run_id)
    }

    fn same(&mut self, payload_hash: &[u8]) -> PgResult<Vec<Same>> {
        same(self, payload_hash)
    }

    fn forget_same(&mut self, payload_hash: &[u8]) -> PgResult<()> {
        forget_same(self, payload_hash)
    }

    fn counts(&mut self, run_no: i64) -> PgResult<RunCounts> {
        let mut sum = RunCounts::default();
        for algo in view::counts(self, run_no)? {
            sum.rehearsed += algo.rehearsed;
            for (sum, count) in sum.counts.iter_mut().zip(algo.by_status()) {
                *sum += count;
            }
        }
        Ok(sum)
    }

    fn ordered_today(&mut self, by: &str) -> PgResult<Usd> {
        ordered_today(self, by)
    }

    fn add_run(&mut self, run: &NewRun<'_>, jobs: &[NewJob]) -> PgResult<i64> {
        let run_no = import::add_run(self, run)?.run_no;
        for page in jobs.chunks(PAGE) {
            import::add_jobs(self, run_no, run.run_id, page, 0, MAX_ATTEMPTS)?;
        }
        Ok(run_no)
    }

    fn tell_of_jobs(&mut self, run_no: i64) -> PgResult<()> {
        import::added(self, run_no).map(drop)
    }

    fn add(&mut self, order: &NewOrder<'_>) -> PgResult<()> {
        add(self, order)
    }

    fn kept(&mut self, key: &str) -> PgResult<Option<Kept>> {
        kept(self, key)
    }

    fn keep(&mut self, key: &str, run_no: i64, answer: &Kept, seconds: f64) -> PgResult<()> {
        keep(self, key, run_no, answer, seconds)
    }

    fn runs(&mut self, only: Option<&str>) -> PgResult<Vec<(String, String)>> {
        runs(self, only)
    }

    fn shown(&mut self, only: Option<&str>) -> PgResult<Vec<Shown>> {
        shown(self, only)
    }

    fn open(&mut self) -> PgResult<Vec<Open>> {
        open(self)
    }

    fn again(&mut self, run_id: &str) -> PgResult<(Usd, Option<f64>, Option<f64>)> {
        again(self, run_id)
    }

    fn take_retry(&mut self, id: Uuid) -> PgResult<bool> {
        take_retry(self, id)
    }

    fn rows(&mut self, run_no: i64) -> PgResult<Vec<Vec<u8>>> {
        let (mut rows, mut after) = (Vec::new(), -1);
        loop {
            let page = export::page(self, run_no, after, PAGE)?;
            let full = page.len() == PAGE;
            after = page.last().map_or(after, |last| last.position);
            rows.extend(page.into_iter().map(|row| row.row));
            if !full {
                return Ok(rows);
            }
        }
    }
}
