//! The ends of attempts: results in groups, failures, pauses, jobs that are given back.

use std::borrow::Cow;
use std::collections::HashMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::claim::Hold;
use super::connect::Connection;
use super::error::{PgError, PgResult};
use super::reader::{Reader, clean, small};
use super::statements;
use crate::domain::money::Usd;
use crate::domain::patch::Patch;
use crate::domain::purchase::PurchaseEnd;
use crate::domain::retry::ErrorClass;
use crate::store::Billing;

/// What the server says where a row is there already.
const THERE_ALREADY: &str = "23505";

/// A file of a result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct File {
    /// Its name inside the job's output folder.
    pub name: String,
    /// Its size in bytes.
    pub size: u64,
    /// Its SHA-256, 32 bytes.
    pub sha256: Vec<u8>,
    /// Where its bytes are, if not in the shared workspace.
    pub url: Option<String>,
}

/// An attempt that brought a result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Success {
    /// The attempt.
    pub hold: Hold,
    /// What it writes into the registry's row.
    pub patch: Patch,
    /// A hash of its files' names and hashes.
    pub content_hash: Vec<u8>,
    /// Where the result is.
    pub result_ref: Option<String>,
    /// What it cost, in millionths of a dollar.
    pub cost_micros: Option<i64>,
    /// What it was made from, so that it can be found again.
    pub content_key: Option<Vec<u8>>,
    /// What made it.
    pub algo_version: Option<String>,
    /// Whether it was only rehearsed.
    pub simulated: bool,
    /// How long it took.
    pub seconds: Option<f64>,
    /// Where the price comes from.
    pub price_source: Option<String>,
    /// Its files.
    pub files: Vec<File>,
}

/// What became of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Published {
    /// It is the job's now.
    Yes,
    /// The lease was lost, but nobody had begun since: it is the job's all the same.
    Adopted,
    /// It is the job's, and was before: this call only told it again.
    Already,
    /// Somebody else has the job, or a person took it out: the result is to be kept aside.
    Fenced,
}

/// Publishes results, many at once, and answers one for one. Told again (after a lost connection, or from a spool) a
/// result is [`Published::Already`]. One that is fenced stays on record only after [`fenced`].
pub fn succeed(connection: &mut Connection, successes: &[Success]) -> PgResult<Vec<Published>> {
    let mut found = succeed_bare(connection, successes)?;
    let behind = |found: &HashMap<i64, bool>| -> Vec<Success> {
        successes
            .iter()
            .filter(|one| !found.contains_key(&one.hold.job_no))
            .cloned()
            .collect()
    };
    let mut rest = behind(&found);
    if !rest.is_empty() {
        found.extend(succeed_once(connection, &rest)?);
        rest.retain(|one| !found.contains_key(&one.hold.job_no));
    }
    if rest.is_empty() {
        return Ok(successes
            .iter()
            .map(|one| answer(found[&one.hold.job_no]))
            .collect());
    }
    let known = became(
        connection,
        &rest.iter().map(|one| one.hold).collect::<Vec<_>>(),
    )?;
    // A sweep may have judged the lease between our look and our lock: a second look tells.
    let lost: Vec<Success> = rest
        .iter()
        .filter(|one| known.get(&one.hold) == Some(&Became::Lost))
        .cloned()
        .collect();
    if !lost.is_empty() {
        found.extend(succeed_once(connection, &lost)?);
    }
    let told = |one: &Success| match found.get(&one.hold.job_no) {
        Some(adopted) => answer(*adopted),
        None if known.get(&one.hold) == Some(&Became::Succeeded) => Published::Already,
        None => Published::Fenced,
    };
    Ok(successes.iter().map(told).collect())
}

fn answer(adopted: bool) -> Published {
    if adopted {
        Published::Adopted
    } else {
        Published::Yes
    }
}

/// Publishes the results without files whose jobs are held; whoever is none of these is not among the answers.
fn succeed_bare(connection: &mut Connection, all: &[Success]) -> PgResult<HashMap<i64, bool>> {
    let mut bare: Vec<&Success> = all.iter().filter(|one| one.files.is_empty()).collect();
    // A result that is there already ends the statement, and a transaction with it.
    if bare.is_empty() || connection.is_in_transaction() {
        return Ok(HashMap::new());
    }
    bare.sort_unstable_by_key(|one| one.hold.job_no);
    let (jobs, attempts, numbers) = holds(bare.iter().map(|one| &one.hold));
    let patches: Vec<String> = bare.iter().map(|one| text(&one.patch)).collect();
    let hashes: Vec<&[u8]> = bare.iter().map(|one| one.content_hash.as_slice()).collect();
    let costs: Vec<Option<i64>> = bare.iter().map(|one| one.cost_micros).collect();
    let keys: Vec<Option<&[u8]>> = bare.iter().map(|one| one.content_key.as_deref()).collect();
    let versions: Vec<Option<String>> = bare.iter().map(|one| version(one)).collect();
    let simulated: Vec<bool> = bare.iter().map(|one| one.simulated).collect();
    let seconds: Vec<Option<f64>> = bare.iter().map(|one| one.seconds).collect();
    let sources: Vec<Option<&str>> = bare.iter().map(|one| one.price_source.as_deref()).collect();
    let sql = &statements::SUCCEED_BARE;
    let rows = connection.rows(
        sql,
        &[
            &jobs, &attempts, &numbers, &patches, &hashes, &costs, &keys, &versions, &simulated,
            &seconds, &sources,
        ],
    );
    let rows = match rows {
        Err(PgError::Failed { code, .. }) if code == THERE_ALREADY => return Ok(HashMap::new()),
        rows => rows?,
    };
    let read = |row| Ok((Reader::new(row, sql).take()?, false));
    rows.iter().map(read).collect()
}

/// Returns what made a result, as a program said it.
fn version(one: &Success) -> Option<String> {
    one.algo_version.as_deref().map(clean)
}

fn succeed_once(connection: &mut Connection, all: &[Success]) -> PgResult<HashMap<i64, bool>> {
    let (jobs, attempts, numbers) = holds(all.iter().map(|one| &one.hold));
    let patches: Vec<String> = all.iter().map(|one| text(&one.patch)).collect();
    let hashes: Vec<&[u8]> = all.iter().map(|one| one.content_hash.as_slice()).collect();
    let refs: Vec<Option<&str>> = all.iter().map(|one| one.result_ref.as_deref()).collect();
    let costs: Vec<Option<i64>> = all.iter().map(|one| one.cost_micros).collect();
    let keys: Vec<Option<&[u8]>> = all.iter().map(|one| one.content_key.as_deref()).collect();
    let versions: Vec<Option<String>> = all.iter().map(version).collect();
    let simulated: Vec<bool> = all.iter().map(|one| one.simulated).collect();
    let seconds: Vec<Option<f64>> = all.iter().map(|one| one.seconds).collect();
    let sources: Vec<Option<&str>> = all.iter().map(|one| one.price_source.as_deref()).collect();
    let files: Vec<(&Hold, &File)> = all
        .iter()
        .flat_map(|one| one.files.iter().map(move |file| (&one.hold, file)))
        .collect();
    let file_jobs: Vec<i64> = files.iter().map(|(hold, _)| hold.job_no).collect();
    let file_numbers: Vec<i32> = files.iter().map(|(hold, _)| small(hold.number)).collect();
    let names: Vec<&str> = files.iter().map(|(_, file)| file.name.as_str()).collect();
    let sizes: Vec<i64> = files
        .iter()
        .map(|(_, file)| i64::try_from(file.size).unwrap_or(i64::MAX))
        .collect();
    let sums: Vec<&[u8]> = files
        .iter()
        .map(|(_, file)| file.sha256.as_slice())
        .collect();
    let urls: Vec<Option<&str>> = files.iter().map(|(_, file)| file.url.as_deref()).collect();
    let sql = &statements::SUCCEED;
    let rows = connection.rows(
        sql,
        &[
            &jobs,
            &attempts,
            &numbers,
            &patches,
            &hashes,
            &refs,
            &costs,
            &keys,
            &versions,
            &simulated,
            &seconds,
            &sources,
            &file_jobs,
            &file_numbers,
            &names,
            &sizes,
            &sums,
            &urls,
        ],
    )?;
    let read = |row| {
        let mut cells = Reader::new(row, sql);
        Ok((cells.take()?, cells.take()?))
    };
    rows.iter().map(read).collect()
}

/// Notes where results were put that came too late.
pub fn fenced(connection: &mut Connection, late: &[(Hold, Option<String>)]) -> PgResult<()> {
    let (jobs, attempts, numbers) = holds(late.iter().map(|(hold, _)| hold));
    let places: Vec<Option<&str>> = late.iter().map(|(_, place)| place.as_deref()).collect();
    connection
        .rows(&statements::FENCED, &[&jobs, &attempts, &numbers, &places])
        .map(drop)
}

/// Notes the files of an attempt that were kept aside, and where.
pub fn keep(
    connection: &mut Connection,
    hold: &Hold,
    kept_at: Option<&str>,
    files: &[File],
) -> PgResult<()> {
    let names: Vec<&str> = files.iter().map(|file| file.name.as_str()).collect();
    let size = |file: &File| i64::try_from(file.size).unwrap_or(i64::MAX);
    let sizes: Vec<i64> = files.iter().map(size).collect();
    let sums: Vec<&[u8]> = files.iter().map(|file| file.sha256.as_slice()).collect();
    let number = small(hold.number);
    let parameters: [super::connect::Parameter<'_>; 7] = [
        &hold.job_no,
        &hold.attempt_id,
        &number,
        &kept_at,
        &names,
        &sizes,
        &sums,
    ];
    connection.rows(&statements::KEEP, &parameters).map(drop)
}

/// Leaves a job whose result is made and lies on its worker's own disk: to the next start there, or to whoever can fetch
/// what was bought. Tells whether it was still ours.
pub fn left_behind(
    connection: &mut Connection,
    hold: &Hold,
    line: &str,
    free: bool,
) -> PgResult<bool> {
    let number = small(hold.number);
    let left = connection.row(
        &statements::LEFT_BEHIND,
        &[&hold.job_no, &hold.attempt_id, &number, &clean(line), &free],
    )?;
    Ok(left.is_some())
}

/// An attempt without a result, and its job's end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Failure {
    /// The attempt.
    pub hold: Hold,
    /// What kind of failure.
    pub class: ErrorClass,
    /// One line.
    pub message: String,
    /// What it cost all the same, in millionths of a dollar.
    pub cost_micros: Option<i64>,
    /// Whether its adapter did not live to say what it bought.
    pub cut_off: bool,
    /// What it means for the job's purchase.
    pub purchase: PurchaseEnd,
    /// What it writes into the registry's row.
    pub patch: Patch,
    /// How long it took.
    pub seconds: Option<f64>,
}

/// What became of an ending without a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// It is the job's state now.
    Yes,
    /// A redo brought nothing: the older result stands.
    OldResultKept,
    /// The job was asked to stop meanwhile and is out.
    Cancelled,
    /// Somebody else has the job, or this was told before.
    Fenced,
}

/// Ends a job without a result.
pub fn fail(connection: &mut Connection, failure: &Failure) -> PgResult<Ended> {
    let hold = &failure.hold;
    let sql = &statements::FAIL;
    let row = connection.row(
        sql,
        &[
            &hold.job_no,
            &hold.attempt_id,
            &small(hold.number),
            &failure.class.word(),
            &clean(&failure.message),
            &failure.cost_micros,
            &failure.cut_off,
            &purchase_word(failure.purchase),
            &text(&failure.patch),
            &failure.seconds,
        ],
    )?;
    row.map_or(Ok(Ended::Fenced), |row| read_ended(&row, sql))
}

/// A failure that is followed by another attempt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PutOff {
    /// The attempt.
    pub hold: Hold,
    /// What kind of failure.
    pub class: ErrorClass,
    /// One line.
    pub message: String,
    /// The job is not to be taken before so long.
    pub pause: Duration,
    /// Whether it uses up one of the job's retries.
    pub counts: bool,
    /// Whether its adapter did not live to say what it bought.
    pub cut_off: bool,
    /// What it means for the job's purchase.
    pub purchase: PurchaseEnd,
    /// What it cost all the same, in millionths of a dollar.
    pub cost_micros: Option<i64>,
    /// Whether a redo waits too; otherwise the older result stands.
    pub redo_waits: bool,
    /// What it writes into the registry's row, if anything.
    pub patch: Option<Patch>,
}

/// Gives a job back after a failure that is not its end.
pub fn requeue(connection: &mut Connection, setback: &PutOff) -> PgResult<Ended> {
    let hold = &setback.hold;
    let sql = &statements::PUT_OFF;
    let row = connection.row(
        sql,
        &[
            &hold.job_no,
            &hold.attempt_id,
            &small(hold.number),
            &setback.class.word(),
            &clean(&setback.message),
            &setback.pause.as_secs_f64(),
            &setback.counts,
            &setback.cut_off,
            &purchase_word(setback.purchase),
            &setback.cost_micros,
            &setback.redo_waits,
            &setback.patch.as_ref().map(text),
        ],
    )?;
    row.map_or(Ok(Ended::Fenced), |row| read_ended(&row, sql))
}

fn read_ended(row: &postgres::Row, sql: &'static statements::Sql) -> PgResult<Ended> {
    let mut cells = Reader::new(row, sql);
    let (attempt, job): (&str, Option<&str>) = (cells.take()?, cells.take()?);
    Ok(match (attempt, job) {
        ("fenced", _) | (_, None) => Ended::Fenced,
        (_, Some("succeeded")) => Ended::OldResultKept,
        (_, Some("cancelled")) => Ended::Cancelled,
        _ => Ended::Yes,
    })
}

/// How jobs are given back unfinished.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Release {
    /// Why, in a word.
    pub reason: Cow<'static, str>,
    /// They are not to be taken before so long.
    pub pause: Duration,
    /// As if their holder had died: it could not show that it lived.
    pub as_if_died: bool,
    /// Whether a redo waits too; otherwise the older result stands.
    pub redo_waits: bool,
}

/// Gives jobs back unfinished; it costs them no attempt. Returns those that were still ours.
pub fn release(connection: &mut Connection, all: &[Hold], how: &Release) -> PgResult<Vec<i64>> {
    let (jobs, attempts, numbers) = holds(all.iter());
    let sql = &statements::RELEASE;
    let rows = connection.rows(
        sql,
        &[
            &jobs,
            &attempts,
            &numbers,
            &how.reason,
            &how.pause.as_secs_f64(),
            &how.as_if_died,
            &how.redo_waits,
        ],
    )?;
    rows.iter()
        .map(|row| Reader::new(row, sql).take())
        .collect()
}

/// What became of a holder's wish to stop as it was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stopped {
    /// The job is out.
    Cancelled,
    /// It was a redo: the older result stands.
    RedoStopped,
    /// The request was taken back: the holder goes on.
    NotAsked,
    /// Somebody else has the job.
    Fenced,
}

/// Stops a job because a person asked for it.
pub fn cancel(connection: &mut Connection, hold: &Hold) -> PgResult<Stopped> {
    let sql = &statements::CANCEL;
    let row = connection.one(sql, &[&hold.job_no, &hold.attempt_id, &small(hold.number)])?;
    let mut cells = Reader::new(&row, sql);
    match cells.take()? {
        "cancelled" => Ok(Stopped::Cancelled),
        "redo_stopped" => Ok(Stopped::RedoStopped),
        "not_asked" => Ok(Stopped::NotAsked),
        "fenced" => Ok(Stopped::Fenced),
        _ => Err(cells.odd("an unknown outcome")),
    }
}

/// What is on record of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Became {
    /// It goes on.
    Running,
    /// It brought the result.
    Succeeded,
    /// Its lease expired; it may still bring a result.
    Lost,
    /// It is over without one.
    Over,
}

/// Tells what became of attempts: after a lost connection, before anything is sent again.
pub fn became(connection: &mut Connection, all: &[Hold]) -> PgResult<HashMap<Hold, Became>> {
    let (jobs, attempts, numbers) = holds(all.iter());
    let sql = &statements::SETTLED_ALREADY;
    let rows = connection.rows(sql, &[&jobs, &attempts, &numbers])?;
    let mut found = HashMap::new();
    for row in &rows {
        let mut cells = Reader::new(row, sql);
        let (job_no, number): (i64, u32) = (cells.take()?, cells.number()?);
        let became = match cells.take()? {
            "running" => Became::Running,
            "succeeded" => Became::Succeeded,
            "lost" => Became::Lost,
            _ => Became::Over,
        };
        let hold = all
            .iter()
            .find(|hold| hold.job_no == job_no && hold.number == number);
        found.extend(hold.map(|hold| (*hold, became)));
    }
    Ok(found)
}

/// Tells what is on record of the money of attempts, one for one.
pub fn bills(connection: &mut Connection, all: &[(i64, Uuid)]) -> PgResult<Vec<Billing>> {
    let jobs: Vec<i64> = all.iter().map(|(job, _)| *job).collect();
    let attempts: Vec<Uuid> = all.iter().map(|(_, attempt)| *attempt).collect();
    let sql = &statements::FATES;
    let rows = connection.rows(sql, &[&jobs, &attempts])?;
    let mut found = HashMap::new();
    for row in &rows {
        let mut cells = Reader::new(row, sql);
        let key: (i64, Uuid) = (cells.take()?, cells.take()?);
        let status: &str = cells.take()?;
        let class = cells.class()?;
        let cost = cells.take::<Option<i64>>()?;
        let cost = cost.map(|micros| Usd::from_micros(micros).dollars());
        let (rehearsal, void, bought, intended): (bool, bool, bool, bool) =
            (cells.take()?, cells.take()?, cells.take()?, cells.take()?);
        let (cut_off, unfunded): (bool, bool) = (cells.take()?, cells.take()?);
        let bill = match status {
            _ if rehearsal => Billing::NotBilled,
            "succeeded" => Billing::Billed(cost),
            // An open purchase is billed by the attempt that brings it.
            "failed" | "put_off" | "released" | "cancelled" if bought && !void => Billing::Open,
            "failed" | "put_off" if cut_off => Billing::Open,
            "failed" | "put_off" if cost.is_some() => Billing::Billed(cost),
            "failed" | "put_off" if class == Some(ErrorClass::Unknown) => Billing::Open,
            "failed" | "put_off" => Billing::NotBilled,
            "released" if unfunded => Billing::NotBilled,
            "released" | "cancelled" | "lost" if !bought && !intended => Billing::Unsaid,
            _ => Billing::Open,
        };
        found.insert(key, bill);
    }
    Ok(all
        .iter()
        .map(|key| found.get(key).copied().unwrap_or(Billing::Open))
        .collect())
}

/// Returns three arrays that name attempts.
fn holds<'a>(all: impl Iterator<Item = &'a Hold> + Clone) -> (Vec<i64>, Vec<Uuid>, Vec<i32>) {
    (
        all.clone().map(|hold| hold.job_no).collect(),
        all.clone().map(|hold| hold.attempt_id).collect(),
        all.map(|hold| small(hold.number)).collect(),
    )
}

fn purchase_word(end: PurchaseEnd) -> &'static str {
    match end {
        PurchaseEnd::Open => "open",
        PurchaseEnd::NotMade => "not_made",
        PurchaseEnd::Void => "void",
    }
}

/// Returns a patch as the database keeps it.
fn text(patch: &Patch) -> String {
    serde_json::to_string(patch).unwrap_or_else(|_| "[]".to_owned())
}
