//! Money of all runs: reserved before a job starts, settled once when it is over, exact whoever reserves at the same
//! moment.
//!
//! The rules are those of [`crate::domain::budget::Ledger`]; here every sum is a row, moved in the transaction of its
//! line. Rows are locked in one order everywhere: job, reservation, the run's algorithm, run, days. An algorithm's row
//! has what was spent on it, for people.

use chrono::{DateTime, Utc};
use uuid::Uuid;

use super::claim::Hold;
use super::connect::Connection;
use super::ending;
use super::error::PgResult;
use super::reader::{Reader, small};
use super::{statements, view};
use crate::domain::money::Usd;
use crate::store::Billing;

/// The limits in force; nothing means no limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Caps {
    /// For the whole run.
    pub run: Option<Usd>,
    /// For one day in UTC, over all runs.
    pub day: Option<Usd>,
}

/// Which limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cap {
    /// The run's.
    Run,
    /// The day's.
    Day,
}

/// How a scope stands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sums {
    /// What was spent.
    pub spent: Usd,
    /// What is set aside.
    pub reserved: Usd,
}

/// The answer to a wish to reserve.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reserved {
    /// It may start; how the run and the day stand now.
    Yes {
        /// The run.
        run: Sums,
        /// Today.
        day: Sums,
    },
    /// It may not, because of this limit as it stands; nothing was changed.
    No(Cap, Sums),
    /// The job is not ours any more.
    Fenced,
}

/// What an earlier attempt may have spent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Earlier {
    /// It is asked for by this attempt: its reservation goes on.
    TakenOver,
    /// It may be billed beside what this attempt buys: its reservation counts as spent.
    WrittenOff,
}

/// Reserves `amount` for an attempt if the limits allow it, and takes over what an earlier attempt of the job had
/// reserved.
pub fn reserve(
    connection: &mut Connection,
    hold: &Hold,
    amount: Usd,
    caps: Caps,
) -> PgResult<Reserved> {
    reserve_after(connection, hold, amount, caps, Earlier::TakenOver)
}

/// Reserves `amount` beside what an earlier attempt has reserved, which counts as spent then; changes nothing if the
/// limits do not allow that.
pub fn reserve_beside(
    connection: &mut Connection,
    hold: &Hold,
    amount: Usd,
    caps: Caps,
) -> PgResult<Reserved> {
    reserve_after(connection, hold, amount, caps, Earlier::WrittenOff)
}

/// Reserves what a purchase that was made is said to cost, whatever the limits are. False: the job is not ours any more.
pub fn raise(connection: &mut Connection, hold: &Hold, amount: Usd) -> PgResult<bool> {
    let reserved = reserve(connection, hold, amount, Caps::default())?;
    Ok(reserved != Reserved::Fenced)
}

fn reserve_after(
    connection: &mut Connection,
    hold: &Hold,
    amount: Usd,
    caps: Caps,
    earlier: Earlier,
) -> PgResult<Reserved> {
    connection.transaction_if(|connection| {
        let Some((today, run_no, algo)) = day_and_run(
            connection,
            &statements::FENCE,
            &[&hold.job_no, &hold.attempt_id],
        )?
        else {
            return Ok((Reserved::Fenced, false));
        };
        let (run_scope, day_scope) = (format!("run:{run_no}"), format!("day:{today}"));
        let amount = amount.or_nothing();
        let mut before = reservation(connection, hold.job_no)?;
        let raised = before
            .as_ref()
            .is_some_and(|own| own.attempt_id == hold.attempt_id && amount > own.amount);
        if let Some(own) = before
            .take_if(|own| earlier == Earlier::WrittenOff && own.attempt_id != hold.attempt_id)
        {
            write_off_one(connection, hold.job_no, &own, &algo)?;
        }
        let had = before.as_ref().map_or(Usd::ZERO, |own| own.amount);
        let Some(run) = add(connection, &run_scope, amount - had, caps.run)? else {
            return Ok((Reserved::No(Cap::Run, sums(connection, &run_scope)?), false));
        };
        let mut had_today = had;
        if let Some(own) = before.filter(|own| own.day_scope != day_scope) {
            // Money counts for the day on which it was granted last.
            shift(connection, &own.day_scope, Usd::ZERO - had, Usd::ZERO)?;
            had_today = Usd::ZERO;
        }
        let Some(day) = add(connection, &day_scope, amount - had_today, caps.day)? else {
            return Ok((Reserved::No(Cap::Day, sums(connection, &day_scope)?), false));
        };
        connection.one(
            &statements::RESERVE_LINE,
            &[
                &hold.job_no,
                &small(hold.number),
                &hold.attempt_id,
                &run_scope,
                &day_scope,
                &amount.micros(),
                &raised,
            ],
        )?;
        Ok((Reserved::Yes { run, day }, true))
    })
}

/// What became of a bill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Settled {
    /// It counts.
    Yes,
    /// The attempt's money was settled before.
    Before,
    /// Nothing was billed, but an attempt before it may have been: its reservation stays.
    Stays,
    /// A later attempt went on with what this one bought: the bill is that one's.
    Successors,
}

/// Settles an attempt with what it really cost, which may be nothing. Told again, it changes nothing.
pub fn settle(
    connection: &mut Connection,
    hold: &Hold,
    amount: Usd,
    by_hand: bool,
) -> PgResult<Settled> {
    connection.transaction_if(|connection| {
        let found = day_and_run(connection, &statements::TODAY, &[&hold.job_no])?;
        let Some((today, run_no, algo)) = found else {
            return Ok((Settled::Before, false));
        };
        let amount = amount.or_nothing();
        let own = reservation(connection, hold.job_no)?;
        let mine = |own: &Reservation| own.attempt_id == hold.attempt_id;
        let may_free = own.as_ref().is_some_and(|own| mine(own) && !own.taken_over);
        if amount == Usd::ZERO && !by_hand && !may_free {
            return Ok((Settled::Stays, false));
        }
        if amount > Usd::ZERO && !by_hand && is_a_successors(connection, hold)? {
            return Ok((Settled::Successors, false));
        }
        let raised = amount > own.as_ref().map_or(Usd::ZERO, |own| own.amount);
        if !line(connection, hold, "settled", amount, by_hand, raised)? {
            return Ok((Settled::Before, false));
        }
        // A bill is also that of the attempts before it.
        let ends = own.filter(|own| mine(own) || (own.number < hold.number && amount > Usd::ZERO));
        let (freed, day_scope) = match ends {
            Some(own) => {
                connection.rows(&statements::RESERVATION_OVER, &[&hold.job_no])?;
                (own.amount, own.day_scope)
            }
            None => (Usd::ZERO, format!("day:{today}")),
        };
        let run_scope = format!("run:{run_no}");
        note_spent(connection, &run_scope, &algo, amount)?;
        for scope in [run_scope, day_scope] {
            shift(connection, &scope, Usd::ZERO - freed, amount)?;
        }
        Ok((Settled::Yes, true))
    })
}

/// Tells whether a later attempt went on with what this one bought.
fn is_a_successors(connection: &mut Connection, hold: &Hold) -> PgResult<bool> {
    let attempts = view::attempts(connection, &[hold.job_no])?;
    let own = attempts
        .iter()
        .find(|one| one.hold.attempt_id == hold.attempt_id);
    let bought = own.and_then(|own| own.request_id.as_ref().or(own.resumed.as_ref()));
    Ok(bought.is_some()
        && attempts
            .iter()
            .any(|other| other.hold.number > hold.number && other.resumed.as_ref() == bought))
}

/// Counts what an earlier attempt of the same job has reserved as spent.
pub fn write_off(connection: &mut Connection, hold: &Hold) -> PgResult<bool> {
    connection.transaction(|connection| {
        let own = reservation(connection, hold.job_no)?;
        match own.filter(|own| own.attempt_id != hold.attempt_id) {
            Some(own) => {
                let found = day_and_run(connection, &statements::TODAY, &[&hold.job_no])?;
                let algo = found.map(|(_, _, algo)| algo).unwrap_or_default();
                write_off_one(connection, hold.job_no, &own, &algo).map(|()| true)
            }
            None => Ok(false),
        }
    })
}

fn write_off_one(
    connection: &mut Connection,
    job_no: i64,
    own: &Reservation,
    algo: &str,
) -> PgResult<()> {
    let theirs = Hold {
        job_no,
        number: own.number,
        attempt_id: own.attempt_id,
    };
    line(connection, &theirs, "written_off", own.amount, false, false)?;
    connection.rows(&statements::RESERVATION_OVER, &[&job_no])?;
    note_spent(connection, &own.run_scope, algo, own.amount)?;
    for scope in [&own.run_scope, &own.day_scope] {
        shift(connection, scope, Usd::ZERO - own.amount, own.amount)?;
    }
    Ok(())
}

/// Adds to what was spent on an algorithm of a run.
pub(super) fn note_spent(
    connection: &mut Connection,
    run_scope: &str,
    algo: &str,
    amount: Usd,
) -> PgResult<()> {
    if amount == Usd::ZERO {
        return Ok(());
    }
    let run_no = run_scope.trim_start_matches("run:");
    shift(
        connection,
        &format!("algo:{run_no}/{algo}"),
        Usd::ZERO,
        amount,
    )
}

struct Reservation {
    number: u32,
    attempt_id: Uuid,
    run_scope: String,
    day_scope: String,
    amount: Usd,
    taken_over: bool,
}

fn reservation(connection: &mut Connection, job_no: i64) -> PgResult<Option<Reservation>> {
    let sql = &statements::RESERVATION;
    let row = connection.row(sql, &[&job_no])?;
    let read = |row| {
        let mut cells = Reader::new(&row, sql);
        Ok(Reservation {
            number: cells.number()?,
            attempt_id: cells.take()?,
            run_scope: cells.take()?,
            day_scope: cells.take()?,
            amount: Usd::from_micros(cells.take()?),
            taken_over: cells.take()?,
        })
    };
    row.map(read).transpose()
}

fn day_and_run(
    connection: &mut Connection,
    sql: &'static statements::Sql,
    parameters: &[super::connect::Parameter<'_>],
) -> PgResult<Option<(String, i64, String)>> {
    let row = connection.row(sql, parameters)?;
    let read = |row| {
        let mut cells = Reader::new(&row, sql);
        Ok((cells.take()?, cells.take()?, cells.take()?))
    };
    row.map(read).transpose()
}

fn line(
    connection: &mut Connection,
    hold: &Hold,
    change: &str,
    amount: Usd,
    by_hand: bool,
    raised: bool,
) -> PgResult<bool> {
    let row = connection.row(
        &statements::SETTLE_LINE,
        &[
            &hold.job_no,
            &small(hold.number),
            &hold.attempt_id,
            &change,
            &amount.micros(),
            &by_hand,
            &raised,
        ],
    )?;
    Ok(row.is_some())
}

/// Moves what is reserved of a scope; nothing if its cap refuses.
fn add(
    connection: &mut Connection,
    scope: &str,
    reserved: Usd,
    cap: Option<Usd>,
) -> PgResult<Option<Sums>> {
    let sql = &statements::BUDGET_ADD;
    let cap = cap.map(Usd::micros);
    let row = connection.row(sql, &[&scope, &reserved.micros(), &0_i64, &cap])?;
    row.map(|row| read_sums(&mut Reader::new(&row, sql)))
        .transpose()
}

/// Moves the sums of a scope whatever its cap is: what was spent was spent.
fn shift(connection: &mut Connection, scope: &str, reserved: Usd, spent: Usd) -> PgResult<()> {
    let moved = connection.row(
        &statements::BUDGET_MOVE,
        &[&scope, &reserved.micros(), &spent.micros()],
    )?;
    if moved.is_none() {
        let none: Option<i64> = None;
        connection.rows(
            &statements::BUDGET_ADD,
            &[&scope, &reserved.micros(), &spent.micros(), &none],
        )?;
    }
    Ok(())
}

fn read_sums(cells: &mut Reader<'_>) -> PgResult<Sums> {
    Ok(Sums {
        spent: Usd::from_micros(cells.take()?),
        reserved: Usd::from_micros(cells.take()?),
    })
}

fn sums(connection: &mut Connection, scope: &str) -> PgResult<Sums> {
    let sql = &statements::LEVELS;
    let row = connection.one(sql, &[&vec![scope]])?;
    let mut cells = Reader::new(&row, sql);
    cells.take::<&str>()?;
    read_sums(&mut cells)
}

/// Returns how a run stands.
pub fn run_sums(connection: &mut Connection, run_no: i64) -> PgResult<Sums> {
    sums(connection, &format!("run:{run_no}"))
}

/// Returns how a day in UTC stands, written as `2026-11-17`.
pub fn day_sums(connection: &mut Connection, day: &str) -> PgResult<Sums> {
    sums(connection, &format!("day:{day}"))
}

/// A reservation that stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenReservation {
    /// Whose.
    pub hold: Hold,
    /// The job's id.
    pub job_id: String,
    /// The run's id.
    pub run_id: String,
    /// The worker of the attempt.
    pub worker: String,
    /// How much.
    pub amount: Usd,
    /// Whether it was taken over from an attempt that may have been billed.
    pub taken_over: bool,
}

/// Returns the reservations that stand: of a run, of a day, or all.
pub fn open(
    connection: &mut Connection,
    run_no: Option<i64>,
    day: Option<&str>,
) -> PgResult<Vec<OpenReservation>> {
    let (sql, rows) = if let Some(run_no) = run_no {
        let sql = &statements::OPEN_RESERVATIONS;
        (sql, connection.rows(sql, &[&run_no, &day])?)
    } else {
        let sql = &statements::OPEN_RESERVATIONS_EVERYWHERE;
        (sql, connection.rows(sql, &[&day])?)
    };
    let read = |row| {
        let mut cells = Reader::new(row, sql);
        let hold = Hold {
            job_no: cells.take()?,
            number: cells.number()?,
            attempt_id: cells.take()?,
        };
        Ok(OpenReservation {
            hold,
            job_id: cells.take()?,
            run_id: cells.take()?,
            worker: cells.take()?,
            amount: Usd::from_micros(cells.take()?),
            taken_over: cells.take()?,
        })
    };
    rows.iter().map(read).collect()
}

/// Settles what is reserved for attempts that are over, where their records tell what was billed: their workers died
/// before they did. Of a run, or of all; tells how many that were.
pub fn settle_ended(connection: &mut Connection, run_no: Option<i64>) -> PgResult<usize> {
    let open = open(connection, run_no, None)?;
    let keys: Vec<(i64, Uuid)> = open
        .iter()
        .map(|one| (one.hold.job_no, one.hold.attempt_id))
        .collect();
    let bills = ending::bills(connection, &keys)?;
    let mut settled = 0;
    for (one, bill) in open.iter().zip(bills) {
        let (hold, amount) = match bill {
            Billing::Unsaid | Billing::Open => match brought_later(connection, &one.hold)? {
                Some((hold, amount)) => (hold, amount.unwrap_or(one.amount)),
                None => continue,
            },
            Billing::Billed(amount) => (one.hold, amount.map_or(one.amount, Usd::of)),
            Billing::NotBilled => (one.hold, Usd::ZERO),
        };
        settled += usize::from(settle(connection, &hold, amount, false)? == Settled::Yes);
    }
    Ok(settled)
}

/// Returns the later attempt that brought what this one bought, and what it was billed.
fn brought_later(
    connection: &mut Connection,
    hold: &Hold,
) -> PgResult<Option<(Hold, Option<Usd>)>> {
    let attempts = view::attempts(connection, &[hold.job_no])?;
    let later = |other: &view::AttemptView| {
        other.hold.number > hold.number && other.status == "succeeded" && !other.rehearsal
    };
    let Some(other) = attempts.into_iter().find(later).map(|other| other.hold) else {
        return Ok(None);
    };
    let bills = ending::bills(connection, &[(other.job_no, other.attempt_id)])?;
    Ok(match bills.first() {
        Some(Billing::Billed(amount)) => Some((other, amount.map(Usd::of))),
        _ => None,
    })
}

/// What was spent on an algorithm of a run in a day.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spent {
    /// The run's id.
    pub run_id: String,
    /// The algorithm.
    pub algo: String,
    /// The day in UTC.
    pub day: String,
    /// How much.
    pub amount: Usd,
    /// In how many bills.
    pub bills: usize,
    /// How many of these a person gave.
    pub by_hand: usize,
}

/// Returns what was spent, of a run or of all, by run, algorithm and day.
pub fn totals(connection: &mut Connection, run_no: Option<i64>) -> PgResult<Vec<Spent>> {
    let sql = &statements::LEDGER_TOTALS;
    let rows = connection.rows(sql, &[&run_no])?;
    let read = |row| {
        let mut cells = Reader::new(row, sql);
        Ok(Spent {
            run_id: cells.take()?,
            algo: cells.take()?,
            day: cells.take()?,
            amount: Usd::from_micros(cells.take()?),
            bills: cells.count()?,
            by_hand: cells.count()?,
        })
    };
    rows.iter().map(read).collect()
}

/// Returns the highest cost of an algorithm's jobs where that was more than had been reserved for them: of a run, and of
/// today of every run.
pub fn above_estimate(connection: &mut Connection, run_no: i64) -> PgResult<Vec<(String, Usd)>> {
    let sql = &statements::HIGHER_COST;
    let rows = connection.rows(sql, &[&run_no])?;
    let read = |row| {
        let mut cells = Reader::new(row, sql);
        Ok((cells.take()?, Usd::from_micros(cells.take()?)))
    };
    rows.iter().map(read).collect()
}

/// Returns the day in UTC by the database's clock, as scopes have it.
pub fn today(connection: &mut Connection) -> PgResult<String> {
    super::keep::now(connection).map(day_of)
}

/// Returns the day in UTC of a moment, as scopes have it.
pub fn day_of(at: DateTime<Utc>) -> String {
    at.format("%Y-%m-%d").to_string()
}
