//! Messages to people outside, which wait until they arrived.

use std::time::Duration;

use super::connect::Connection;
use super::error::PgResult;
use super::fleet::Desk;
use super::orders;
use super::reader::{Reader, clean, large};
use super::statements;
use crate::store::StoreError;
use crate::store::outbox::{Hearing, Message, Outbox};

/// Returns who hears of what.
pub fn hearing(connection: &mut Connection) -> PgResult<Vec<Hearing>> {
    let sql = &statements::NOTICE_HEARING;
    let rows = connection.rows(sql, &[])?;
    let read = |row| {
        let mut cells = Reader::new(row, sql);
        let (event, target): (&str, &str) = (cells.take()?, cells.take()?);
        Ok(Hearing::read(event, target))
    };
    let read = rows.iter().filter_map(|row| read(row).transpose());
    read.collect()
}

/// Has these hear of events and no others; what is so already is over for those who did not hear of it before.
pub fn hear(connection: &mut Connection, wanted: &[Hearing], past: &[Message]) -> PgResult<()> {
    connection.transaction(|connection| {
        orders::take_turns(connection, &["first notices".to_owned()])?;
        let before = hearing(connection)?;
        let new: Vec<&Hearing> = wanted.iter().filter(|one| !before.contains(one)).collect();
        let is_new =
            |one: &&Message| one.target.is_empty() || new.iter().any(|hearing| one.is_for(hearing));
        let past = past.iter().filter(is_new).cloned();
        let begun = new.iter().map(|hearing| Message::begun(hearing));
        add(connection, &past.chain(begun).collect::<Vec<_>>(), true)?;
        let over = before.iter().filter(|one| !wanted.contains(one));
        let over: Vec<Message> = over.map(Message::begun).collect();
        let (events, targets): (Vec<&str>, Vec<&str>) = over
            .iter()
            .map(|mark| (mark.event.as_str(), mark.target.as_str()))
            .unzip();
        let sql = &statements::NOTICE_FORGET;
        connection.rows(sql, &[&events, &targets]).map(drop)
    })
}

/// Returns those of these events that nobody has put in for nobody.
pub fn unknown(connection: &mut Connection, events: &[String]) -> PgResult<Vec<String>> {
    let sql = &statements::NOTICE_UNKNOWN;
    let rows = connection.rows(sql, &[&events])?;
    let read = |row| Reader::new(row, sql).take();
    rows.iter().map(read).collect()
}

/// Puts messages in that are not there; those that are over are never sent.
pub fn add(connection: &mut Connection, messages: &[Message], over: bool) -> PgResult<()> {
    let part = |part: fn(&Message) -> &str| -> Vec<String> {
        messages.iter().map(|one| clean(part(one))).collect()
    };
    let (events, targets) = (part(|one| &one.event), part(|one| &one.target));
    let bodies = part(|one| &one.body);
    connection
        .rows(
            &statements::NOTICE_ADD,
            &[&events, &targets, &bodies, &over],
        )
        .map(drop)
}

/// Takes messages that are due; nobody else does for so long.
pub fn take_due(
    connection: &mut Connection,
    most: usize,
    held: Duration,
) -> PgResult<Vec<Message>> {
    let sql = &statements::NOTICE_TAKE;
    let rows = connection.rows(sql, &[&large(most), &held.as_secs_f64()])?;
    let read = |row| {
        let mut cells = Reader::new(row, sql);
        Ok(Message {
            event: cells.take()?,
            target: cells.take()?,
            body: cells.take()?,
            tries: cells.number()?,
        })
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

impl Outbox for Desk<'_> {
    fn hearing(&mut self) -> Result<Vec<Hearing>, StoreError> {
        self.ask(hearing)
    }

    fn hear(&mut self, wanted: &[Hearing], past: &[Message]) -> Result<(), StoreError> {
        self.ask(|c| hear(c, wanted, past))
    }

    fn unknown(&mut self, events: &[String]) -> Result<Vec<String>, StoreError> {
        self.ask(|c| unknown(c, events))
    }

    fn add(&mut self, messages: &[Message]) -> Result<(), StoreError> {
        self.ask(|c| add(c, messages, false))
    }

    fn take_due(&mut self, most: usize, held: Duration) -> Result<Vec<Message>, StoreError> {
        self.ask(|c| take_due(c, most, held))
    }

    fn settle(
        &mut self,
        message: &Message,
        why: Option<&str>,
        pause: Option<Duration>,
    ) -> Result<(), StoreError> {
        let name = (message.event.as_str(), message.target.as_str());
        self.ask(|c| settle(c, name, why, pause))
    }
}
