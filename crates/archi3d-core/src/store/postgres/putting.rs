//! Files are put before a record names them, and what no record names is removed: never both at once, where the time between is
//! not long enough to tell.
//!
//! A lock of the database that lasts as long as a transaction of its own, so that it holds behind a pooler as well and is gone
//! with whoever held it.

use super::connect::Connection;
use super::error::PgResult;

/// The transaction may rest for as long as files travel.
const BEGIN: &str =
    "BEGIN; SET LOCAL idle_in_transaction_session_timeout = 0; SET LOCAL statement_timeout = 0";

/// Somebody puts files that will be named.
#[derive(Debug)]
pub(super) struct Putting(#[expect(dead_code, reason = "held until it is dropped")] Connection);

impl Putting {
    /// Waits while somebody removes; several may put.
    pub(super) fn begin(mut connection: Connection) -> PgResult<Self> {
        connection.batch("the lock of files", BEGIN)?;
        let lock = "SELECT pg_advisory_xact_lock_shared(7020091867)";
        connection.batch("the lock of files", lock)?;
        Ok(Self(connection))
    }
}

/// Nobody puts files that are not named yet.
#[derive(Debug)]
pub(super) struct NobodyPuts(#[expect(dead_code, reason = "held until it is dropped")] Connection);

impl NobodyPuts {
    /// Nothing if somebody does.
    pub(super) fn begin(mut connection: Connection) -> PgResult<Option<Self>> {
        connection.batch("the lock of files", BEGIN)?;
        let lock = "SELECT pg_try_advisory_xact_lock(7020091867)";
        let rows = connection.client().query_typed(lock, &[]);
        let rows = rows.map_err(|error| connection.named("the lock of files", &error))?;
        let held = rows.first().is_some_and(|row| row.get(0));
        Ok(held.then_some(Self(connection)))
    }
}
