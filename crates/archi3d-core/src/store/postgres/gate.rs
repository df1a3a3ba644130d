//! What all workers share about providers and algorithms: slots, pace, closings, breakers, canaries.

use std::collections::BTreeSet;
use std::time::Duration;

use chrono::{DateTime, Utc};

use super::claim::span;
use super::connect::Connection;
use super::error::PgResult;
use super::reader::{Reader, large, small};
use super::statements;
use crate::domain::patch::REUSED;

/// What a provider bears.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Limits {
    /// How many of its jobs run at once.
    pub slots: Option<u32>,
    /// How long after one start the next may come.
    pub interval: Option<Duration>,
}

/// The answer to a wish to start at a provider.
#[derive(Debug, Clone, PartialEq)]
pub enum Admitted {
    /// It may start, in this slot if slots are counted. The beat keeps the slot.
    Yes {
        /// The slot.
        slot: Option<u32>,
    },
    /// All slots are taken, or the next start comes later: ask again after this.
    Wait(Duration),
    /// The provider is closed.
    Closed {
        /// Why.
        reason: String,
        /// For how long; nothing means until a person opens it.
        wait: Option<Duration>,
    },
}

/// Asks a provider for a slot and a place in the minute.
pub fn admit(
    connection: &mut Connection,
    provider: &str,
    limits: Limits,
    worker: &str,
    lease: Duration,
) -> PgResult<Admitted> {
    connection.transaction(|connection| {
        // Looking comes second, in a statement of its own: it must see every slot that was taken before our lock.
        if connection
            .row(&statements::PROVIDER_LOCK, &[&provider])?
            .is_none()
        {
            connection.rows(&statements::PROVIDER_ROW, &[&provider])?;
            connection.row(&statements::PROVIDER_LOCK, &[&provider])?;
        }
        let sql = &statements::ADMIT;
        let slots = limits.slots.map(small);
        let interval = limits.interval.map(|interval| interval.as_secs_f64());
        let row = connection.one(
            sql,
            &[&provider, &slots, &interval, &worker, &lease.as_secs_f64()],
        )?;
        let mut cells = Reader::new(&row, sql);
        let go: bool = cells.take()?;
        let slot: Option<i32> = cells.take()?;
        let closed: Option<String> = cells.take()?;
        let (until, next_start, slot_free): (Option<f64>, f64, Option<f64>) =
            (cells.take()?, cells.take()?, cells.take()?);
        Ok(match closed {
            _ if go => Admitted::Yes {
                slot: slot.and_then(|slot| u32::try_from(slot).ok()),
            },
            Some(reason) => Admitted::Closed {
                reason,
                wait: until.map(span),
            },
            None if interval.is_some() && next_start > 0.0 => Admitted::Wait(span(next_start)),
            // Whoever holds a slot beats; a second is soon enough to look again.
            None => Admitted::Wait(span(slot_free.unwrap_or(1.0).clamp(0.05, 1.0))),
        })
    })
}

/// Gives a slot back; `unused` gives the place in the minute back too.
pub fn refund(
    connection: &mut Connection,
    provider: &str,
    slot: Option<u32>,
    limits: Limits,
    worker: &str,
    unused: bool,
) -> PgResult<()> {
    let slot = slot.map(small);
    let interval = limits.interval.map(|interval| interval.as_secs_f64());
    connection
        .rows(
            &statements::REFUND,
            &[&provider, &slot, &worker, &interval, &unused],
        )
        .map(drop)
}

/// Gives all slots of a worker back but these. Returns how many that were.
pub fn keep_slots(
    connection: &mut Connection,
    worker: &str,
    kept: &BTreeSet<(String, u32)>,
) -> PgResult<usize> {
    let providers: Vec<&str> = kept.iter().map(|(provider, _)| provider.as_str()).collect();
    let slots: Vec<i32> = kept.iter().map(|(_, slot)| small(*slot)).collect();
    let gone = connection.rows(&statements::SLOTS_KEPT, &[&worker, &providers, &slots])?;
    Ok(gone.len())
}

/// Closes a provider for everybody: for a time, or until a person opens it. Tells whether that changed anything: a time
/// never replaces a closing that only a person ends.
pub fn close(
    connection: &mut Connection,
    provider: &str,
    wait: Option<Duration>,
    reason: &str,
) -> PgResult<bool> {
    let seconds = wait.map(|wait| wait.as_secs_f64());
    Ok(connection
        .row(&statements::CLOSE_PROVIDER, &[&provider, &seconds, &reason])?
        .is_some())
}

/// Opens a provider; tells whether it was closed. Whoever waits is to be woken by the caller, run by run.
pub fn open(connection: &mut Connection, provider: &str) -> PgResult<bool> {
    Ok(connection
        .row(&statements::OPEN_PROVIDER, &[&provider])?
        .is_some())
}

/// A provider that is closed.
#[derive(Debug, Clone, PartialEq)]
pub struct ClosedProvider {
    /// Which.
    pub provider: String,
    /// Since when.
    pub since: DateTime<Utc>,
    /// Until when; nothing means until a person opens it.
    pub until: Option<DateTime<Utc>>,
    /// Why.
    pub reason: String,
    /// How long from now, by the database's clock.
    pub wait: Option<Duration>,
}

/// Returns the providers that are closed now, and the algorithms that pause.
pub fn shut(connection: &mut Connection) -> PgResult<(Vec<ClosedProvider>, Vec<PausedAlgo>)> {
    let sql = &statements::GATES;
    let (mut closed, mut paused) = (Vec::new(), Vec::new());
    for row in &connection.rows(sql, &[])? {
        let mut cells = Reader::new(row, sql);
        let is_algo: bool = cells.take()?;
        let (key, since): (String, DateTime<Utc>) = (cells.take()?, cells.take()?);
        let (until, reason): (Option<DateTime<Utc>>, String) = (cells.take()?, cells.take()?);
        let wait = cells.take::<Option<f64>>()?.map(span);
        if is_algo {
            paused.push(PausedAlgo {
                algo: key,
                failures: cells.number()?,
                since,
                age: wait.unwrap_or_default(),
                reason,
            });
        } else {
            closed.push(ClosedProvider {
                provider: key,
                since,
                until,
                reason,
                wait,
            });
        }
    }
    Ok((closed, paused))
}

/// Returns the providers that are closed now.
pub fn closed(connection: &mut Connection) -> PgResult<Vec<ClosedProvider>> {
    Ok(shut(connection)?.0)
}

/// How an algorithm does, over all workers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Breaker {
    /// Failures in a row.
    pub failures: u32,
    /// Whether it pauses.
    pub paused: bool,
}

/// Counts a failure of an algorithm; it pauses after `most` in a row.
pub fn trip(connection: &mut Connection, algo: &str, most: u32, reason: &str) -> PgResult<Breaker> {
    let sql = &statements::TRIP;
    let row = connection.one(sql, &[&algo, &true, &small(most), &reason])?;
    let mut cells = Reader::new(&row, sql);
    Ok(Breaker {
        failures: cells.number()?,
        paused: cells.take()?,
    })
}

/// Notes a success of an algorithm: its failures are no longer in a row. A pause stays.
pub fn worked(connection: &mut Connection, algo: &str) -> PgResult<()> {
    connection
        .rows(&statements::TRIP, &[&algo, &false, &i32::MAX, &""])
        .map(drop)
}

/// Ends the pause of an algorithm; tells whether it paused.
pub fn resume(connection: &mut Connection, algo: &str) -> PgResult<bool> {
    Ok(connection
        .row(&statements::RESUME_ALGO, &[&algo])?
        .is_some())
}

/// An algorithm that pauses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PausedAlgo {
    /// Which.
    pub algo: String,
    /// After so many failures in a row.
    pub failures: u32,
    /// Since when, by the database's clock.
    pub since: DateTime<Utc>,
    /// For how long.
    pub age: Duration,
    /// Why.
    pub reason: String,
}

/// Returns the algorithms that pause.
pub fn paused(connection: &mut Connection) -> PgResult<Vec<PausedAlgo>> {
    Ok(shut(connection)?.1)
}

/// How an algorithm's first jobs of a run do, over all workers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Trial {
    /// How many are under way.
    pub active: usize,
    /// How many brought a result of their own.
    pub completed: usize,
    /// How many failed in a way that speaks of the algorithm.
    pub failed: usize,
}

/// Returns how the first jobs of an algorithm do; more than `most` are not counted.
pub fn trial(
    connection: &mut Connection,
    run_no: i64,
    algo: &str,
    most: usize,
    rehearsal: bool,
) -> PgResult<Trial> {
    let sql = &statements::TRIAL;
    let row = connection.one(sql, &[&run_no, &algo, &large(most), &rehearsal, &REUSED])?;
    let mut cells = Reader::new(&row, sql);
    Ok(Trial {
        active: cells.count()?,
        completed: cells.count()?,
        failed: cells.count()?,
    })
}

/// Returns how many jobs of an algorithm may still begin on trial. Until the transaction ends nobody else is told.
pub fn trial_room(
    connection: &mut Connection,
    run_no: i64,
    algo: &str,
    most: usize,
    rehearsal: bool,
) -> PgResult<usize> {
    connection.rows(&statements::TRIAL_TURN, &[&run_no, &algo])?;
    let trial = trial(connection, run_no, algo, most, rehearsal)?;
    Ok(most.saturating_sub(trial.active + trial.completed + trial.failed))
}
