//! Taking jobs and showing that their holder lives.

use std::time::Duration;

use chrono::{DateTime, Utc};
use uuid::Uuid;

use super::connect::Connection;
use super::error::PgResult;
use super::membership;
use super::reader::{Reader, clean, entry_word, large, small};
use super::statements::{self, Sql};
use crate::domain::job::Entry;

/// What a holder's every write names: the job, and the attempt that it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Hold {
    /// The job, as the database numbers it.
    pub job_no: i64,
    /// Which attempt, from 1.
    pub number: u32,
    /// What proves that a write comes from this attempt.
    pub attempt_id: Uuid,
}

/// A job that is ours now.
#[derive(Debug, Clone, PartialEq)]
pub struct Claimed {
    /// What every later write names.
    pub hold: Hold,
    /// The job's id.
    pub job_id: String,
    /// The product shown.
    pub product_id: String,
    /// Its variant.
    pub variant: String,
    /// The algorithm asked for.
    pub algo: String,
    /// What the import said of it: pictures and parameters, as JSON.
    pub payload: String,
    /// Its place in the order of claims; the next claim of its lane begins after it.
    pub claim_key: i64,
    /// What was there before.
    pub entry: Entry,
    /// Whether its last holder died with it.
    pub took_over: bool,
    /// A purchase of an earlier attempt that brought no result yet.
    pub request_id: Option<String>,
    /// An intent to buy of which nobody knows what came, and when it was said.
    pub intent: Option<(String, DateTime<Utc>)>,
    /// How many failures were followed by another attempt.
    pub failures: u32,
    /// How many workers died with it.
    pub lost: u32,
    /// How many purchases are over; part of the next one's idempotency key.
    pub purchases: u32,
    /// When it was taken, by the database's clock.
    pub at: DateTime<Utc>,
    /// Whether a person who had it tried again said that what may have been billed is bought again.
    pub resubmit: bool,
}

/// An algorithm with the room it has at this moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lane {
    /// The algorithm.
    pub algo: String,
    /// How many jobs of it may start.
    pub most: u32,
    /// The claim key of the last job that was taken from it; [`Lane::START`] to begin anew.
    pub after: i64,
    /// Only jobs that were bought already: nothing new may be paid for.
    pub bought_only: bool,
    /// Its jobs cost nothing: nobody need wait until a claim is on the server's disk.
    pub free: bool,
}

impl Lane {
    /// Before every job.
    pub const START: i64 = i64::MIN;
}

/// Who claims, and for how long.
#[derive(Debug, Clone)]
pub struct Claimer<'a> {
    /// The worker.
    pub worker: &'a str,
    /// How long a lease lasts without a beat.
    pub lease: Duration,
    /// Whether jobs are only rehearsed: those that were ever tried in earnest are left alone.
    pub rehearsal: bool,
    /// Jobs that it leaves alone, such as those that it runs itself, however late it is.
    pub held: &'a [i64],
}

/// Takes up to `most` jobs that wait, by lane, in the order of priority and manifest.
pub fn claim(
    connection: &mut Connection,
    run_no: i64,
    lanes: &[Lane],
    most: usize,
    by: &Claimer<'_>,
) -> PgResult<Vec<Claimed>> {
    let (bought_only, open): (Vec<Lane>, Vec<Lane>) =
        lanes.iter().cloned().partition(|lane| lane.bought_only);
    let mut found = if bought_only.is_empty() || by.rehearsal {
        Vec::new()
    } else {
        claim_bought(connection, run_no, &bought_only, most, by)?
    };
    if open.is_empty() || found.len() >= most {
        return Ok(found);
    }
    let after: Vec<i64> = open.iter().map(|lane| lane.after).collect();
    let free = open.iter().all(|lane| lane.free);
    // Whoever has thousands of them ahead need not compare each: nobody pays twice for what costs nothing.
    let held: &[i64] = if free { &[] } else { by.held };
    let sql = &statements::CLAIM;
    let lease = by.lease.as_secs_f64();
    let rows = connection.rows(
        sql,
        &[
            &run_no,
            &algos(&open),
            &room(&open),
            &after,
            &large(most - found.len()),
            &by.worker,
            &lease,
            &by.rehearsal,
            &free,
            &held,
        ],
    )?;
    for row in &rows {
        found.push(read_claimed(row, sql)?);
    }
    Ok(found)
}

/// Takes jobs of lanes that may not buy anything new.
fn claim_bought(
    connection: &mut Connection,
    run_no: i64,
    lanes: &[Lane],
    most: usize,
    by: &Claimer<'_>,
) -> PgResult<Vec<Claimed>> {
    let (algos, room) = (algos(lanes), room(lanes));
    let sql = &statements::CLAIM_BOUGHT;
    let lease = by.lease.as_secs_f64();
    let rows = connection.rows(
        sql,
        &[
            &run_no,
            &algos,
            &room,
            &large(most),
            &by.worker,
            &lease,
            &by.held,
        ],
    )?;
    rows.iter().map(|row| read_claimed(row, sql)).collect()
}

/// Takes up to `most` jobs whose retry is due or whose holder is silent. For when [`claim`] comes up short, at the
/// start, and every few seconds; cursors do not matter here.
pub fn claim_rare(
    connection: &mut Connection,
    run_no: i64,
    lanes: &[Lane],
    most: usize,
    by: &Claimer<'_>,
) -> PgResult<Vec<Claimed>> {
    let (algos, room) = (algos(lanes), room(lanes));
    let bought: Vec<bool> = lanes.iter().map(|lane| lane.bought_only).collect();
    connection.before_judging()?;
    let sql = &statements::CLAIM_RARE;
    let lease = by.lease.as_secs_f64();
    let rows = connection.rows(
        sql,
        &[
            &run_no,
            &algos,
            &room,
            &bought,
            &large(most),
            &by.worker,
            &lease,
            &by.rehearsal,
            &by.held,
        ],
    )?;
    rows.iter().map(|row| read_claimed(row, sql)).collect()
}

/// Takes one job that its caller saw as `entry` describes; nothing if somebody has it or it is not that any more.
pub fn claim_one(
    connection: &mut Connection,
    job_no: i64,
    entry: Entry,
    by: &Claimer<'_>,
) -> PgResult<Option<Claimed>> {
    connection.before_judging()?;
    let sql = &statements::CLAIM_ONE;
    let lease = by.lease.as_secs_f64();
    let row = connection.row(
        sql,
        &[
            &job_no,
            &entry_word(entry),
            &by.worker,
            &lease,
            &by.rehearsal,
            &by.held,
        ],
    )?;
    row.map(|row| read_claimed(&row, sql)).transpose()
}

/// Returns what a worker holds, as the server knows it.
pub fn mine(connection: &mut Connection, run_no: i64, worker: &str) -> PgResult<Vec<Hold>> {
    let sql = &statements::MINE;
    let rows = connection.rows(sql, &[&run_no, &worker, &membership::process()])?;
    let read = |row| {
        let mut cells = Reader::new(row, sql);
        Ok(Hold {
            job_no: cells.take()?,
            number: cells.number()?,
            attempt_id: cells.take()?,
        })
    };
    rows.iter().map(read).collect()
}

/// What a beat says of one job.
#[derive(Debug, Clone, PartialEq)]
pub struct Pulse {
    /// Which.
    pub hold: Hold,
    /// How far it is, from 0 to 1.
    pub progress: Option<f32>,
    /// What it is doing.
    pub doing: Option<String>,
}

/// What a beat found out about one lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Beaten {
    /// It is ours.
    Held,
    /// It is not ours any more.
    Lost,
    /// It is ours, and a person asks for the job to be stopped.
    CancelAsked,
}

/// Renews every lease of a worker, its slots at providers and itself. Answers one for one.
pub fn beat(
    connection: &mut Connection,
    pulses: &[Pulse],
    worker: &str,
    lease: Duration,
) -> PgResult<Vec<Beaten>> {
    // In the order in which endings lock them: nobody waits for somebody who waits.
    let mut sorted: Vec<&Pulse> = pulses.iter().collect();
    sorted.sort_unstable_by_key(|pulse| pulse.hold.job_no);
    let jobs: Vec<i64> = sorted.iter().map(|pulse| pulse.hold.job_no).collect();
    let attempts: Vec<Uuid> = sorted.iter().map(|pulse| pulse.hold.attempt_id).collect();
    let progress: Vec<Option<f32>> = sorted.iter().map(|pulse| pulse.progress).collect();
    let doing: Vec<Option<String>> = sorted
        .iter()
        .map(|pulse| pulse.doing.as_deref().map(clean))
        .collect();
    let sql = &statements::BEAT;
    let rows = connection.rows(
        sql,
        &[
            &jobs,
            &attempts,
            &progress,
            &doing,
            &lease.as_secs_f64(),
            &worker,
        ],
    )?;
    let mut asked = std::collections::HashMap::new();
    for row in &rows {
        let mut cells = Reader::new(row, sql);
        let key: (i64, Uuid) = (cells.take()?, cells.take()?);
        asked.insert(key, cells.take::<bool>()?);
    }
    let told = |pulse: &Pulse| match asked.get(&(pulse.hold.job_no, pulse.hold.attempt_id)) {
        None => Beaten::Lost,
        Some(false) => Beaten::Held,
        Some(true) => Beaten::CancelAsked,
    };
    Ok(pulses.iter().map(told).collect())
}

/// Tells whether anything of these algorithms waits, is to be tried again or runs.
pub fn is_left(connection: &mut Connection, run_no: i64, algos: &[&str]) -> PgResult<bool> {
    let sql = &statements::LEFT;
    let row = connection.one(sql, &[&run_no, &algos])?;
    Reader::new(&row, sql).take()
}

/// Tells how long it is until the next job of these algorithms is to be tried again; what is due already does not count.
pub fn next_due(
    connection: &mut Connection,
    run_no: i64,
    algos: &[&str],
) -> PgResult<Option<Duration>> {
    let sql = &statements::NEXT_DUE;
    let row = connection.one(sql, &[&run_no, &algos])?;
    Ok(Reader::new(&row, sql).take::<Option<f64>>()?.map(span))
}

/// Returns seconds as a span; what is over is no time at all.
pub(super) fn span(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or_default()
}

fn algos(lanes: &[Lane]) -> Vec<&str> {
    lanes.iter().map(|lane| lane.algo.as_str()).collect()
}

fn room(lanes: &[Lane]) -> Vec<i32> {
    lanes.iter().map(|lane| small(lane.most)).collect()
}

fn read_claimed(row: &postgres::Row, sql: &'static Sql) -> PgResult<Claimed> {
    let mut cells = Reader::new(row, sql);
    let job_no = cells.take()?;
    let (job_id, product_id, variant, algo, payload) = (
        cells.take()?,
        cells.take()?,
        cells.take()?,
        cells.take()?,
        cells.take()?,
    );
    let hold = Hold {
        job_no,
        number: cells.number()?,
        attempt_id: cells.take()?,
    };
    let claim_key = cells.take()?;
    let (entry, took_over, request_id) = (cells.entry()?, cells.take()?, cells.take()?);
    let intent: (Option<String>, Option<DateTime<Utc>>) = (cells.take()?, cells.take()?);
    Ok(Claimed {
        hold,
        job_id,
        product_id,
        variant,
        algo,
        payload,
        claim_key,
        entry,
        took_over,
        request_id,
        intent: intent.0.zip(intent.1),
        failures: cells.number()?,
        lost: cells.number()?,
        purchases: cells.number()?,
        at: cells.take()?,
        resubmit: cells.take()?,
    })
}
