//! What people do to jobs, and the sweep that does it for dead workers.

use std::time::Duration;

use super::connect::Connection;
use super::error::PgResult;
use super::reader::{Reader, entry_word, large};
use super::statements;
use crate::domain::job::{Entry, JobState};
use crate::store::{Cancellation, Restored};

/// So many jobs are put back in one statement.
const PART: usize = 10_000;

/// What a sweep did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Swept {
    /// Jobs that wait again.
    pub requeued: usize,
    /// Jobs that took too many workers with them and failed for good.
    pub failed: usize,
    /// Jobs that were to be stopped and are out now.
    pub cancelled: usize,
    /// Redos that ended: their older result stands.
    pub kept: usize,
}

impl Swept {
    /// Returns how many leases had expired.
    pub fn total(&self) -> usize {
        self.requeued + self.failed + self.cancelled + self.kept
    }
}

/// Who takes expired leases back.
#[derive(Debug, Clone, Copy)]
pub struct Sweeper<'a> {
    /// How long nobody is judged after the server's start, at least.
    pub lease: Duration,
    /// The worker, if it is one.
    pub worker: Option<&'a str>,
    /// Jobs that its own process runs: they are left alone, however late its beats are.
    pub held: &'a [i64],
    /// Processes that are dead for certain in its run: nobody waits for their leases there.
    pub dead: &'a [&'a str],
    /// That run.
    pub run_no: i64,
}

/// Takes expired leases back, of every run or of some jobs, at most so many. `lease` is how long nobody is judged after
/// the server's start.
pub fn sweep(
    connection: &mut Connection,
    most: usize,
    lease: Duration,
    only: Option<&[i64]>,
) -> PgResult<Swept> {
    let nobody = Sweeper {
        lease,
        worker: None,
        held: &[],
        dead: &[],
        run_no: 0,
    };
    // At one moment: the server may also stand still between the two.
    connection.transaction(|connection| {
        connection.rows(&statements::STANDSTILL, &[])?;
        sweep_as(connection, most, &nobody, only)
    })
}

/// The same for a worker, which leaves alone what it holds.
pub fn sweep_as(
    connection: &mut Connection,
    most: usize,
    by: &Sweeper<'_>,
    only: Option<&[i64]>,
) -> PgResult<Swept> {
    connection.before_judging()?;
    let sql = &statements::SWEEP;
    let lease = by.lease.as_secs_f64();
    let rows = connection.rows(
        sql,
        &[
            &large(most),
            &lease,
            &only,
            &by.worker,
            &by.held,
            &by.dead,
            &by.run_no,
        ],
    )?;
    let mut swept = Swept::default();
    for row in &rows {
        let mut cells = Reader::new(row, sql);
        let status: &str = cells.take()?;
        let count = cells.count()?;
        match status {
            "pending" => swept.requeued = count,
            "failed_terminal" => swept.failed = count,
            "cancelled" => swept.cancelled = count,
            _ => swept.kept = count,
        }
    }
    Ok(swept)
}

/// Takes jobs of a run out: some, or all that wait or run, of some algorithms or of all. Expired leases are swept first,
/// so that nobody is asked who is dead. Wakes the run's workers.
pub fn cancel(
    connection: &mut Connection,
    run_no: i64,
    only: Option<&[i64]>,
    algos: Option<&[String]>,
    lease: Duration,
) -> PgResult<Vec<(i64, Cancellation)>> {
    connection.transaction(|connection| {
        sweep(connection, usize::MAX, lease, only)?;
        let sql = &statements::CANCEL_WAITING;
        let rows = connection.rows(sql, &[&run_no, &only, &algos])?;
        wake(connection, run_no, "cancelled")?;
        let read = |row| {
            let mut cells = Reader::new(row, sql);
            let (job_no, status, outcome): (i64, &str, &str) =
                (cells.take()?, cells.take()?, cells.take()?);
            let request_id = cells.take()?;
            let cancelled = match outcome {
                "taken_out" => Cancellation::Cancelled { request_id },
                "asked" => Cancellation::Asked,
                "redo_stopped" => Cancellation::RedoStopped,
                "already_out" => Cancellation::AlreadyCancelled,
                _ => Cancellation::Untouched(state_of(status, cells.number()?, cells.take()?)),
            };
            Ok((job_no, cancelled))
        };
        rows.iter().map(read).collect()
    })
}

/// Puts jobs of a run back that were taken out, or takes the request to stop them back. Wakes the run's workers.
pub fn restore(
    connection: &mut Connection,
    run_no: i64,
    only: Option<&[i64]>,
) -> PgResult<Vec<(i64, Restored)>> {
    connection.transaction(|connection| {
        let sql = &statements::RESTORE;
        let rows = connection.rows(sql, &[&run_no, &only])?;
        wake(connection, run_no, "restored")?;
        let read = |row| {
            let mut cells = Reader::new(row, sql);
            let (job_no, status, outcome): (i64, &str, &str) =
                (cells.take()?, cells.take()?, cells.take()?);
            let restored = match outcome {
                "waiting" => Restored::Waiting,
                "request_withdrawn" => Restored::RequestRevoked,
                "not_cancelled" => Restored::NotCancelled,
                _ => Restored::Untouched(state_of(status, cells.number()?, cells.take()?)),
            };
            Ok((job_no, restored))
        };
        rows.iter().map(read).collect()
    })
}

/// Puts ended jobs of a run back into the queue, once, because a person says so: [`Entry::Retry`] what failed,
/// [`Entry::Redo`] what has a result, [`Entry::Perform`] what was rehearsed. What may have been billed without a name is
/// passed over unless `unsure`. Returns the jobs and wakes the run's workers.
pub fn requeue(
    connection: &mut Connection,
    run_no: i64,
    only: Option<&[i64]>,
    entry: Entry,
    unsure: bool,
) -> PgResult<Vec<i64>> {
    connection.transaction(|connection| {
        let sql = &statements::REQUEUE;
        let rows = connection.rows(sql, &[&run_no, &only, &entry_word(entry), &unsure])?;
        if !rows.is_empty() {
            wake(connection, run_no, "requeued")?;
        }
        rows.iter()
            .map(|row| Reader::new(row, sql).take())
            .collect()
    })
}

/// Has failed jobs of a run wait again, each with the attempt in which it failed or -1 for any; tells how many do, and wakes
/// the run's workers.
pub fn try_again(
    connection: &mut Connection,
    run_no: i64,
    jobs: &[(i64, i32)],
    resubmit: bool,
) -> PgResult<usize> {
    connection.transaction(|connection| {
        let (numbers, attempts): (Vec<i64>, Vec<i32>) = jobs.iter().copied().unzip();
        let sql = &statements::AGAIN;
        let row = connection.one(sql, &[&run_no, &numbers, &attempts, &resubmit])?;
        let waiting = Reader::new(&row, sql).count()?;
        if waiting > 0 {
            wake(connection, run_no, "requeued")?;
        }
        Ok(waiting)
    })
}

/// Has rehearsed jobs of these algorithms wait to be performed; tells how many. Each part is committed by itself: all of a
/// large run at once take longer than a statement may.
pub fn perform(connection: &mut Connection, run_no: i64, algos: &[&str]) -> PgResult<usize> {
    let sql = &statements::PERFORM;
    let mut performed = 0;
    for algo in algos {
        loop {
            let row = connection.one(sql, &[&run_no, algo, &large(PART)])?;
            let waiting = Reader::new(&row, sql).count()?;
            performed += waiting;
            if waiting < PART {
                break;
            }
        }
    }
    Ok(performed)
}

/// Sets the priority of jobs of a run; higher goes first. Returns how many changed.
pub fn prioritize(
    connection: &mut Connection,
    run_no: i64,
    only: Option<&[i64]>,
    priority: i16,
) -> PgResult<usize> {
    Ok(connection
        .rows(&statements::PRIORITIZE, &[&run_no, &only, &priority])?
        .len())
}

/// Returns the channel on which a run's workers listen.
pub fn channel(run_no: i64) -> String {
    format!("archi3d_{run_no}")
}

/// Tells a run's workers that there may be something new, when the transaction commits.
pub fn wake(connection: &mut Connection, run_no: i64, why: &str) -> PgResult<()> {
    connection
        .rows(&statements::NOTIFY, &[&channel(run_no), &why])
        .map(drop)
}

/// Returns the state of a job in the words of the domain.
pub fn state_of(status: &str, attempt: u32, simulated: bool) -> JobState {
    match status {
        "running" => JobState::Running { attempt },
        "succeeded" => JobState::Completed { attempt, simulated },
        "failed_terminal" => JobState::Failed { attempt },
        "cancelled" => JobState::Cancelled { attempt },
        _ => JobState::Enqueued { attempt },
    }
}
