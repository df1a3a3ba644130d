//! Messages to people outside, which wait until they arrived.

use std::time::Duration;

use super::connect::Connection;
use super::error::PgResult;
use super::reader::{Reader, clean, large};
use super::statements;

/// Tells whether nothing was ever put in.
pub fn is_new(connection: &mut Connection) -> PgResult<bool> {
    let sql = &statements::NOTICE_NONE;
    let row = connection.one(sql, &[])?;
    Reader::new(&row, sql).take()
}

/// Puts messages in that are not there, each with its event, who hears of it, and its text; those that are over are
/// never sent.
pub fn add(connection: &mut Connection, rows: &[(&str, &str, &str)], over: bool) -> PgResult<()> {
    let part = |part: fn(&(&str, &str, &str)) -> String| -> Vec<String> {
        rows.iter().map(|row| clean(&part(row))).collect()
    };
    let (events, targets) = (part(|row| row.0.to_owned()), part(|row| row.1.to_owned()));
    let bodies = part(|row| row.2.to_owned());
    connection
        .rows(
            &statements::NOTICE_ADD,
            &[&events, &targets, &bodies, &over],
        )
        .map(drop)
}

/// A message that was taken: its event, who hears of it, its text, and how often it was tried.
pub type Taken = (String, String, String, u32);

/// Takes messages that are due; nobody else does for so long.
pub fn take_due(connection: &mut Connection, most: usize, held: Duration) -> PgResult<Vec<Taken>> {
    let sql = &statements::NOTICE_TAKE;
    let rows = connection.rows(sql, &[&large(most), &held.as_secs_f64()])?;
    let read = |row| {
        let mut cells = Reader::new(row, sql);
        Ok((cells.take()?, cells.take()?, cells.take()?, cells.number()?))
    };
    rows.iter().map(read).collect()
}

/// Ends a message, or lets it wait for its next try.
pub fn settle(
    connection: &mut Connection,
    (event, target): (&str, &str),
    why: Option<&str>,
    pause: Option<Duration>,
) -> PgResult<()> {
    let pause = pause.map(|pause| pause.as_secs_f64());
    let why = why.map(clean);
    connection
        .rows(&statements::NOTICE_SETTLE, &[&event, &target, &why, &pause])
        .map(drop)
}
