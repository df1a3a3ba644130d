//! What a spool holds, told to the server: many results at once, everything else one by one.

use std::sync::Arc;

use super::buying;
use super::claim::Hold;
use super::connect::Connection;
use super::ending::{self, Became, Ended, Published, Success};
use super::error::{PgError, PgResult};
use super::money::{self, Settled};
use super::spool::{Replayed, SpoolEntry};
use crate::domain::money::Usd;

/// Sends what [`Spool::first`] gave; answers for as many as were sent, and says what stopped it.
pub(super) fn send_some(
    connection: &mut Connection,
    some: &[Arc<SpoolEntry>],
) -> (Vec<Replayed>, Option<PgError>) {
    let success = |entry: &Arc<SpoolEntry>| match &**entry {
        SpoolEntry::Succeeded { success } => Some(success.clone()),
        _ => None,
    };
    let results: Vec<Success> = some.iter().filter_map(success).collect();
    let answers = match some {
        [one] if results.is_empty() => send(connection, one).map(|answer| vec![answer]),
        _ => ending::succeed(connection, &results)
            .map(|answers| answers.into_iter().map(of_published).collect()),
    };
    match answers {
        Ok(answers) => (answers, None),
        Err(error) => (Vec::new(), Some(error)),
    }
}

fn of_published(published: Published) -> Replayed {
    match published {
        Published::Yes | Published::Adopted => Replayed::Sent,
        Published::Already => Replayed::Already,
        Published::Fenced => Replayed::Fenced,
    }
}

/// Sends one entry; whoever sends it twice changes nothing.
fn send(connection: &mut Connection, entry: &SpoolEntry) -> PgResult<Replayed> {
    match entry {
        SpoolEntry::Submitted {
            hold,
            request_id,
            cost_micros,
        } => {
            let cost = cost_micros.map(Usd::from_micros);
            buying::submitted(connection, hold, request_id, cost).map(|_| Replayed::Sent)
        }
        SpoolEntry::Succeeded { success } => {
            let answers = ending::succeed(connection, std::slice::from_ref(success))?;
            let answer = answers.first().copied();
            Ok(of_published(answer.unwrap_or(Published::Fenced)))
        }
        SpoolEntry::Failed { failure } => unless_over(connection, &failure.hold, |connection| {
            ending::fail(connection, failure)
        }),
        SpoolEntry::PutOff { setback } => unless_over(connection, &setback.hold, |connection| {
            ending::requeue(connection, setback)
        }),
        SpoolEntry::Released { hold, how } => {
            let back = ending::release(connection, &[*hold], how)?;
            Ok(if back.is_empty() {
                Replayed::Already
            } else {
                Replayed::Sent
            })
        }
        SpoolEntry::Raised { hold, micros } => {
            let raised = money::raise(connection, hold, Usd::from_micros(*micros))?;
            Ok(if raised {
                Replayed::Sent
            } else {
                Replayed::Fenced
            })
        }
        SpoolEntry::Settled { hold, micros } => {
            let settled = money::settle(connection, hold, Usd::from_micros(*micros), false)?;
            Ok(match settled {
                Settled::Before => Replayed::Already,
                Settled::Successors => Replayed::Fenced,
                Settled::Yes | Settled::Stays => Replayed::Sent,
            })
        }
    }
}

fn unless_over(
    connection: &mut Connection,
    hold: &Hold,
    end: impl FnOnce(&mut Connection) -> PgResult<Ended>,
) -> PgResult<Replayed> {
    let known = ending::became(connection, &[*hold])?;
    if matches!(known.get(hold), Some(Became::Over | Became::Succeeded)) {
        return Ok(Replayed::Already);
    }
    Ok(if end(connection)? == Ended::Fenced {
        Replayed::Fenced
    } else {
        Replayed::Sent
    })
}
