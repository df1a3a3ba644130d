//! What people look at: runs counted, jobs page by page, attempts, durations, leases, and rows for an export.

use std::time::Duration;

use chrono::{DateTime, Utc};
use uuid::Uuid;

use super::act::state_of;
use super::claim::{Hold, span};
use super::connect::Connection;
use super::error::PgResult;
use super::reader::{Reader, large};
use super::statements::{self, Sql};
use crate::domain::job::Status;
use crate::domain::job::{Entry, JobState};
use crate::domain::money::Usd;
use crate::domain::retry::ErrorClass;

/// The jobs of one algorithm of a run, counted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AlgoCounts {
    /// The algorithm.
    pub algo: String,
    /// All of them.
    pub total: usize,
    /// Those that wait.
    pub pending: usize,
    /// Those that wait for another try.
    pub retryable: usize,
    /// Those that run.
    pub running: usize,
    /// Of these, those whose holder is silent.
    pub expired: usize,
    /// Those that have a result, rehearsed or real.
    pub succeeded: usize,
    /// Of these, those that were only rehearsed.
    pub rehearsed: usize,
    /// Those that failed.
    pub failed: usize,
    /// Those that were taken out.
    pub cancelled: usize,
}

impl AlgoCounts {
    /// Returns how many have each status, by [`Status::ALL`].
    pub fn by_status(&self) -> [usize; Status::ALL.len()] {
        Status::ALL.map(|status| match status {
            Status::Enqueued => self.pending + self.retryable,
            Status::Running => self.running,
            Status::Completed => self.succeeded,
            Status::Failed => self.failed,
            Status::Cancelled => self.cancelled,
        })
    }
}

/// Counts a run by algorithm, in the order of their first jobs.
pub fn counts(connection: &mut Connection, run_no: i64) -> PgResult<Vec<AlgoCounts>> {
    let sql = &statements::PROGRESS;
    let rows = connection.rows(sql, &[&run_no])?;
    let read = |row| {
        let mut cells = Reader::new(row, sql);
        let mut counts = AlgoCounts {
            algo: cells.take()?,
            total: cells.count()?,
            pending: cells.count()?,
            retryable: cells.count()?,
            running: cells.count()?,
            failed: cells.count()?,
            cancelled: cells.count()?,
            expired: cells.count()?,
            rehearsed: cells.count()?,
            succeeded: 0,
        };
        let others =
            counts.pending + counts.retryable + counts.running + counts.failed + counts.cancelled;
        counts.succeeded = counts.total.saturating_sub(others);
        Ok(counts)
    };
    rows.iter().map(read).collect()
}

/// A job as it stands.
#[derive(Debug, Clone, PartialEq)]
pub struct JobView {
    /// How the database numbers it.
    pub job_no: i64,
    /// Its place in the manifest; the next page begins after it.
    pub position: i64,
    /// Its id.
    pub job_id: String,
    /// The product shown.
    pub product_id: String,
    /// Its variant.
    pub variant: String,
    /// The algorithm.
    pub algo: String,
    /// Pictures and parameters, as JSON.
    pub payload: String,
    /// Its state, in the words of the domain.
    pub state: JobState,
    /// Its state, in the words of the schema.
    pub status: String,
    /// Who holds it, if it runs.
    pub holder: Option<HolderView>,
    /// Its last error.
    pub error: Option<String>,
    /// What kind of failure that was.
    pub class: Option<ErrorClass>,
    /// Not before this moment.
    pub not_before: Option<DateTime<Utc>>,
    /// A purchase that was made and has not brought its result yet.
    pub request_id: Option<String>,
    /// An intent to buy of which nobody knows what came, and when it was said.
    pub intent: Option<(String, DateTime<Utc>)>,
    /// Whether it was begun in earnest, whatever became of that.
    pub tried: bool,
    /// Whether its last holder died, and no attempt has ended since.
    pub holder_died: bool,
    /// How many failures were followed by another attempt.
    pub failures: u32,
    /// How many workers died with it.
    pub lost: u32,
    /// How many purchases are over.
    pub purchases: u32,
    /// What the next claim begins.
    pub entry: Entry,
    /// When it ended.
    pub completed: Option<DateTime<Utc>>,
}

impl JobView {
    /// Tells whether it may have been billed and no request id tells.
    pub fn is_doubtful(&self) -> bool {
        let failed = matches!(self.state, JobState::Failed { .. });
        failed
            && self.request_id.is_none()
            && (self.class == Some(ErrorClass::Unknown) || self.intent.is_some())
    }
}

/// Who holds a running job.
#[derive(Debug, Clone, PartialEq)]
pub struct HolderView {
    /// The worker.
    pub worker: String,
    /// Its machine, if it is registered.
    pub host: Option<String>,
    /// When it took the job.
    pub since: Option<DateTime<Utc>>,
    /// When it was heard of last.
    pub last_seen: Option<DateTime<Utc>>,
    /// Whether its lease has expired.
    pub expired: bool,
    /// Whether a person asked for the job to be stopped.
    pub cancel_asked: bool,
    /// How far it is, from 0 to 1.
    pub progress: Option<f32>,
    /// What it is doing.
    pub doing: Option<String>,
}

/// Returns one page of a run in the order of its manifest: at most `most` jobs after a position; -1 begins.
pub fn jobs(
    connection: &mut Connection,
    run_no: i64,
    after: i64,
    most: usize,
) -> PgResult<Vec<JobView>> {
    views(
        connection,
        &statements::JOBS,
        &[&run_no, &after, &large(most)],
    )
}

/// Returns the jobs of a run whose id is or begins with a word.
pub fn jobs_named(
    connection: &mut Connection,
    run_id: &str,
    beginning: &str,
    most: usize,
) -> PgResult<Vec<JobView>> {
    views(
        connection,
        &statements::JOBS_NAMED,
        &[&run_id, &beginning, &large(most)],
    )
}

/// Returns what runs now.
pub fn running(connection: &mut Connection, run_no: i64, most: usize) -> PgResult<Vec<JobView>> {
    views(connection, &statements::RUNNING, &[&run_no, &large(most)])
}

fn views(
    connection: &mut Connection,
    sql: &'static Sql,
    parameters: &[super::connect::Parameter<'_>],
) -> PgResult<Vec<JobView>> {
    let rows = connection.rows(sql, parameters)?;
    rows.iter().map(|row| read_view(row, sql)).collect()
}

fn read_view(row: &postgres::Row, sql: &'static Sql) -> PgResult<JobView> {
    let mut cells = Reader::new(row, sql);
    let (job_no, position) = (cells.take()?, cells.take()?);
    let (job_id, product_id, variant, algo, payload) = (
        cells.take()?,
        cells.take()?,
        cells.take()?,
        cells.take()?,
        cells.take()?,
    );
    let status: String = cells.take()?;
    let state = state_of(&status, cells.number()?, cells.take()?);
    let (worker, host): (Option<String>, Option<String>) = (cells.take()?, cells.take()?);
    let (since, last_seen) = (cells.take()?, cells.take()?);
    let expired: Option<bool> = cells.take()?;
    let cancel_asked = cells.take()?;
    let (error, class) = (cells.take()?, cells.class()?);
    let (not_before, request_id) = (cells.take()?, cells.take()?);
    let intent: (Option<String>, Option<DateTime<Utc>>) = (cells.take()?, cells.take()?);
    let (tried, holder_died) = (cells.take()?, cells.take()?);
    let (failures, lost, purchases) = (cells.number()?, cells.number()?, cells.number()?);
    let (progress, doing) = (cells.take()?, cells.take()?);
    let holder = worker.map(|worker| HolderView {
        worker,
        host,
        since,
        last_seen,
        expired: expired.unwrap_or(false),
        cancel_asked,
        progress,
        doing,
    });
    Ok(JobView {
        job_no,
        position,
        job_id,
        product_id,
        variant,
        algo,
        payload,
        state,
        status,
        holder,
        error,
        class,
        not_before,
        request_id,
        intent: intent.0.zip(intent.1),
        tried,
        holder_died,
        failures,
        lost,
        purchases,
        entry: cells.entry()?,
        completed: cells.take()?,
    })
}

/// An attempt as it is on record.
#[derive(Debug, Clone, PartialEq)]
pub struct AttemptView {
    /// Which.
    pub hold: Hold,
    /// Who made it.
    pub worker: String,
    /// On which machine, if it is still registered.
    pub host: Option<String>,
    /// What became of it, in the words of the schema.
    pub status: String,
    /// What was there before.
    pub entry: Entry,
    /// Whether it was only rehearsed.
    pub rehearsal: bool,
    /// What kind of failure it was.
    pub class: Option<ErrorClass>,
    /// Why it failed, on one line.
    pub error: Option<String>,
    /// Whether it was ended while its adapter may have been buying.
    pub cut_off: bool,
    /// The purchase of an earlier attempt that it went on with.
    pub resumed: Option<String>,
    /// What it bought last.
    pub request_id: Option<String>,
    /// When it noted that it was about to buy.
    pub intent_at: Option<DateTime<Utc>>,
    /// When it noted what it had bought.
    pub submitted_at: Option<DateTime<Utc>>,
    /// Whether what it bought is over and brings nothing any more.
    pub void: bool,
    /// What it cost.
    pub cost: Option<Usd>,
    /// Where the price comes from.
    pub price_source: Option<String>,
    /// How long it took, as its worker says.
    pub seconds: Option<f64>,
    /// Where a result lies that came too late.
    pub kept_at: Option<String>,
    /// When it began.
    pub started: DateTime<Utc>,
    /// When it ended.
    pub ended: Option<DateTime<Utc>>,
    /// Whether nobody noted an end and its lease has expired.
    pub expired: bool,
}

/// Returns every attempt of some jobs, by job and number.
pub fn attempts(connection: &mut Connection, jobs: &[i64]) -> PgResult<Vec<AttemptView>> {
    let sql = &statements::ATTEMPTS;
    let rows = connection.rows(sql, &[&jobs])?;
    let read = |row| {
        let mut cells = Reader::new(row, sql);
        let hold = Hold {
            job_no: cells.take()?,
            number: cells.number()?,
            attempt_id: cells.take::<Uuid>()?,
        };
        Ok(AttemptView {
            hold,
            worker: cells.take()?,
            host: cells.take()?,
            status: cells.take()?,
            entry: cells.entry()?,
            rehearsal: cells.take()?,
            class: cells.class()?,
            error: cells.take()?,
            cut_off: cells.take()?,
            resumed: cells.take()?,
            request_id: cells.take()?,
            intent_at: cells.take()?,
            submitted_at: cells.take()?,
            void: cells.take()?,
            cost: cells.take::<Option<i64>>()?.map(Usd::from_micros),
            price_source: cells.take()?,
            seconds: cells.take()?,
            kept_at: cells.take()?,
            started: cells.take()?,
            ended: cells.take()?,
            expired: cells.take()?,
        })
    };
    rows.iter().map(read).collect()
}

/// How long real results of an algorithm took lately.
#[derive(Debug, Clone, PartialEq)]
pub struct Durations {
    /// The algorithm.
    pub algo: String,
    /// How many results this is drawn from.
    pub results: usize,
    /// The mean, in seconds.
    pub mean_s: f64,
    /// Half of them took no longer.
    pub median_s: f64,
    /// 95 of 100 took no longer.
    pub p95_s: f64,
    /// What they cost together.
    pub cost: Option<Usd>,
    /// How many name no cost.
    pub unpriced: usize,
}

/// Returns how long the last `most` real results of a run took, by algorithm.
pub fn durations(
    connection: &mut Connection,
    run_no: i64,
    most: usize,
) -> PgResult<Vec<Durations>> {
    let sql = &statements::DURATIONS;
    let rows = connection.rows(sql, &[&run_no, &large(most)])?;
    let read = |row| {
        let mut cells = Reader::new(row, sql);
        Ok(Durations {
            algo: cells.take()?,
            results: cells.count()?,
            mean_s: cells.take()?,
            median_s: cells.take()?,
            p95_s: cells.take()?,
            cost: cells.take::<Option<i64>>()?.map(Usd::from_micros),
            unpriced: cells.count()?,
        })
    };
    rows.iter().map(read).collect()
}

/// A result of the last moments.
#[derive(Debug, Clone, PartialEq)]
pub struct Recent {
    /// The job.
    pub job_id: String,
    /// The algorithm.
    pub algo: String,
    /// When it came.
    pub at: DateTime<Utc>,
    /// How long it took.
    pub seconds: Option<f64>,
    /// Whether it was only rehearsed.
    pub simulated: bool,
}

/// Returns the latest results of a run, newest first.
pub fn recent(connection: &mut Connection, run_no: i64, most: usize) -> PgResult<Vec<Recent>> {
    let sql = &statements::RECENT;
    let rows = connection.rows(sql, &[&run_no, &large(most)])?;
    let read = |row| {
        let mut cells = Reader::new(row, sql);
        Ok(Recent {
            job_id: cells.take()?,
            algo: cells.take()?,
            at: cells.take()?,
            seconds: cells.take()?,
            simulated: cells.take()?,
        })
    };
    rows.iter().map(read).collect()
}

/// An error boundary: what went wrong beside an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    /// Its number.
    pub id: i64,
    /// The job.
    pub job_id: String,
    /// The attempt.
    pub number: u32,
    /// What kind, such as `lease_expired`.
    pub kind: String,
    /// The worker it is about.
    pub worker: Option<String>,
    /// Details, as JSON.
    pub detail: String,
    /// When it was noted.
    pub at: DateTime<Utc>,
}

/// Returns error boundaries of a run or of one job, newest first.
pub fn checkpoints(
    connection: &mut Connection,
    run_no: i64,
    job_no: Option<i64>,
    most: usize,
) -> PgResult<Vec<Checkpoint>> {
    let sql = &statements::CHECKPOINTS;
    let rows = connection.rows(sql, &[&run_no, &job_no, &large(most)])?;
    let read = |row| {
        let mut cells = Reader::new(row, sql);
        Ok(Checkpoint {
            id: cells.take()?,
            job_id: cells.take()?,
            number: cells.number()?,
            kind: cells.take()?,
            worker: cells.take()?,
            detail: cells.take()?,
            at: cells.take()?,
        })
    };
    rows.iter().map(read).collect()
}

/// How leases do.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct LeaseHealth {
    /// Leases that are held.
    pub active: usize,
    /// Of these, those that have expired.
    pub expired: usize,
    /// Of these, those whose worker missed a beat.
    pub slow: usize,
    /// How long ago their workers were heard of, on average.
    pub mean_silence: Option<Duration>,
    /// How long the oldest attempt has been running.
    pub oldest: Option<Duration>,
}

/// Returns how the leases of a run do, or of all.
pub fn lease_health(connection: &mut Connection, run_no: Option<i64>) -> PgResult<LeaseHealth> {
    let sql = &statements::LEASE_HEALTH;
    let row = connection.one(sql, &[&run_no])?;
    let mut cells = Reader::new(&row, sql);
    Ok(LeaseHealth {
        active: cells.count()?,
        expired: cells.count()?,
        slow: cells.count()?,
        mean_silence: cells.take::<Option<f64>>()?.map(span),
        oldest: cells.take::<Option<f64>>()?.map(span),
    })
}

/// How many attempts ended lately in one way, and their mean number.
#[derive(Debug, Clone, PartialEq)]
pub struct RecoveryStats {
    /// What became of them, in the words of the schema.
    pub status: String,
    /// How many.
    pub attempts: usize,
    /// Their mean number: 1 means that nothing had to be tried again.
    pub mean_number: f64,
}

/// Counts the attempts that ended within `window`, of a run or of all, by what became of them.
pub fn recovery_stats(
    connection: &mut Connection,
    run_no: Option<i64>,
    window: Duration,
) -> PgResult<Vec<RecoveryStats>> {
    let sql = &statements::RECOVERY_STATS;
    let rows = connection.rows(sql, &[&run_no, &window.as_secs_f64()])?;
    let read = |row| {
        let mut cells = Reader::new(row, sql);
        Ok(RecoveryStats {
            status: cells.take()?,
            attempts: cells.count()?,
            mean_number: cells.take()?,
        })
    };
    rows.iter().map(read).collect()
}
