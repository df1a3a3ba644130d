//! Jobs that come from files with all that is known of them: nothing that was made, bought or in doubt is forgotten.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use uuid::Uuid;

use super::connect::{Connection, Parameter};
use super::error::{PgError, PgResult};
use super::import::NewJob;
use super::money::{self, Sums};
use super::reader::{Reader, clean, entry_word, small};
use super::statements;
use crate::domain::job::JobState;
use crate::domain::money::Usd;
use crate::domain::retry::ErrorClass;
use crate::domain::time::Timestamp;
use crate::store::JobPast;

/// A job as it comes from files.
#[derive(Debug, Clone, PartialEq)]
pub struct ComingJob {
    /// What it is.
    pub job: NewJob,
    /// What is known of it.
    pub past: JobPast,
}

/// Refuses a role that may not add jobs, before anything is begun.
pub fn may_write(connection: &mut Connection) -> PgResult<()> {
    let answer = connection.client().query_typed(
        "SELECT has_table_privilege('archi3d.jobs', 'INSERT') AND has_table_privilege('archi3d.runs', 'INSERT, UPDATE')",
        &[],
    );
    let rows = answer.map_err(|error| connection.named("the role's rights", &error))?;
    if rows.first().is_some_and(|row| row.get(0)) {
        return Ok(());
    }
    Err(PgError::ReadOnly {
        database: connection.url().database.clone(),
        reason: format!("role {} may not add jobs", connection.url().user),
    })
}

/// Keeps the planner on the indexes for the rest of the transaction: on tables that were empty a moment ago it would
/// read all of them for every page.
pub fn prepare(connection: &mut Connection) -> PgResult<()> {
    connection.batch(
        "the settings",
        "SET LOCAL enable_seqscan = off; SET LOCAL synchronous_commit = on; SET LOCAL statement_timeout = '5min'",
    )
}

/// Returns the last place that is taken in a run; -1 if none is.
pub fn last_position(connection: &mut Connection, run_no: i64) -> PgResult<i64> {
    let sql = &statements::LAST_POSITION;
    let row = connection.one(sql, &[&run_no])?;
    Reader::new(&row, sql).take()
}

/// Adds the jobs that the run does not have yet, and returns how many these were. A few thousand at a time.
pub fn add(
    connection: &mut Connection,
    run_no: i64,
    run_id: &str,
    jobs: &[ComingJob],
    priority: i16,
    max_attempts: u32,
) -> PgResult<usize> {
    let positions: Vec<i64> = jobs.iter().map(|one| one.job.position).collect();
    let text = |part: fn(&NewJob) -> &str| -> Vec<String> {
        jobs.iter().map(|one| clean(part(&one.job))).collect()
    };
    let (ids, algos) = (text(|job| &job.job_id), text(|job| &job.algo));
    let (products, variants) = (text(|job| &job.product_id), text(|job| &job.variant));
    let payloads = text(|job| &job.payload);
    let providers: Vec<Option<&str>> = jobs.iter().map(|one| one.job.provider.as_deref()).collect();
    let hashes: Vec<&[u8]> = jobs
        .iter()
        .map(|one| one.job.payload_hash.as_slice())
        .collect();
    let rows: Vec<&[u8]> = jobs.iter().map(|one| one.job.row.as_slice()).collect();
    let states: Vec<&str> = jobs.iter().map(|one| state_word(one.past.state)).collect();
    let entries: Vec<&str> = jobs.iter().map(|one| entry_word(one.past.entry)).collect();
    let number = |part: fn(&JobPast) -> u32| -> Vec<i32> {
        jobs.iter().map(|one| small(part(&one.past))).collect()
    };
    let flag = |part: fn(&JobPast) -> bool| -> Vec<bool> {
        jobs.iter().map(|one| part(&one.past)).collect()
    };
    let (attempts, failures) = (
        number(|one| one.state.attempt()),
        number(|one| one.failures),
    );
    let purchases = number(|one| one.purchase.ended);
    let (tried, died) = (flag(|one| one.tried), flag(|one| one.holder_died));
    let (simulated, have_result) = (flag(|one| one.simulated), flag(|one| one.has_result));
    let optional = |part: fn(&JobPast) -> Option<&str>| -> Vec<Option<String>> {
        jobs.iter().map(|one| part(&one.past).map(clean)).collect()
    };
    let requests = optional(|one| one.purchase.request_id.as_deref());
    let intents = optional(|one| Some(one.purchase.intent.as_ref()?.correlation.as_str()));
    let intended: Vec<Option<DateTime<Utc>>> = jobs
        .iter()
        .map(|one| Some(one.past.purchase.intent.as_ref()?.at.as_datetime()))
        .collect();
    let not_before: Vec<Option<DateTime<Utc>>> = jobs
        .iter()
        .map(|one| one.past.not_before.map(Timestamp::as_datetime))
        .collect();
    let errors = optional(|one| one.error.as_deref());
    let classes = optional(|one| one.class.map(ErrorClass::word));
    let attempt_ids: Vec<Option<Uuid>> = jobs
        .iter()
        .map(|one| Uuid::parse_str(one.past.nonce.as_deref()?).ok())
        .collect();
    let sql = &statements::HAND_OVER;
    let parameters: [Parameter<'_>; 29] = [
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
        &states,
        &entries,
        &attempts,
        &failures,
        &tried,
        &died,
        &simulated,
        &have_result,
        &requests,
        &intents,
        &intended,
        &purchases,
        &not_before,
        &errors,
        &classes,
        &attempt_ids,
    ];
    let row = connection.one(sql, &parameters)?;
    Reader::new(&row, sql).count()
}

/// Brings what was spent on a run in files, in all, by algorithm and of today's money, and what is reserved for its jobs, so
/// that its limits and the day's go on from there.
pub fn bring_money(
    connection: &mut Connection,
    run_no: i64,
    run_id: &str,
    (spent, by_algo): (Usd, &BTreeMap<String, Usd>),
    on_day: &dyn Fn(&str) -> Usd,
    reserved: &[(String, u32, Option<Uuid>, Usd)],
) -> PgResult<Sums> {
    let scope = format!("run:{run_no}");
    let none: Option<i64> = None;
    let add = |connection: &mut Connection, scope: &str, reserved: Usd, spent: Usd| {
        connection.rows(
            &statements::BUDGET_ADD,
            &[&scope, &reserved.micros(), &spent.micros(), &none],
        )
    };
    let mut sums = Sums {
        spent,
        ..Sums::default()
    };
    for (algo, spent) in by_algo {
        money::note_spent(connection, &scope, algo, *spent)?;
    }
    add(connection, &scope, Usd::ZERO, spent)?;
    let today = money::today(connection)?;
    let of_today = on_day(&today);
    add(connection, &format!("day:{today}"), Usd::ZERO, of_today)?;
    for (job_id, number, attempt_id, amount) in reserved {
        let found = super::view::jobs_named(connection, run_id, job_id, 1)?;
        let Some(job) = found.into_iter().find(|job| job.job_id == *job_id) else {
            continue;
        };
        let row = connection.one(&statements::TODAY, &[&job.job_no])?;
        let today: String = Reader::new(&row, &statements::TODAY).take()?;
        let day = format!("day:{today}");
        add(connection, &scope, *amount, Usd::ZERO)?;
        add(connection, &day, *amount, Usd::ZERO)?;
        let attempt_id = attempt_id.unwrap_or_else(Uuid::new_v4);
        let parameters: [Parameter<'_>; 7] = [
            &job.job_no,
            &small(*number),
            &attempt_id,
            &scope,
            &day,
            &amount.micros(),
            &false,
        ];
        connection.rows(&statements::RESERVE_LINE, &parameters)?;
        sums.reserved += *amount;
    }
    Ok(sums)
}

fn state_word(state: JobState) -> &'static str {
    match state {
        JobState::Enqueued { .. } | JobState::Running { .. } => "pending",
        JobState::Completed { .. } => "succeeded",
        JobState::Failed { .. } => "failed_terminal",
        JobState::Cancelled { .. } => "cancelled",
    }
}
