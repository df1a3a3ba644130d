//! The schema and its numbered steps, carried in the program.
//!
//! Every step is one file and one transaction, under one lock of the database: of twenty that start at once one works
//! and the others find it done. What was applied is remembered with its checksum. A program meets a newer schema
//! without complaint as long as that says so (`min_program`).

use std::time::Duration;

use sha2::{Digest as _, Sha256};

use super::connect::Connection;
use super::error::{PgError, PgResult};
use crate::domain::text::hex;

/// One step of the schema.
#[derive(Debug)]
pub struct Migration {
    /// Its number, from 1.
    pub version: i32,
    /// Its name.
    pub name: &'static str,
    /// Its text.
    pub text: &'static str,
    /// The oldest program that may still write afterwards, as the highest step that it knows.
    pub min_program: i32,
}

/// Every step, in order.
pub static MIGRATIONS: &[Migration] = &[
    Migration {
        version: 1,
        name: "init",
        text: include_str!("migrations/0001_init.sql"),
        min_program: 1,
    },
    Migration {
        version: 2,
        name: "service",
        text: include_str!("migrations/0002_service.sql"),
        min_program: 1,
    },
    Migration {
        version: 3,
        name: "again",
        text: include_str!("migrations/0003_again.sql"),
        min_program: 1,
    },
    Migration {
        version: 4,
        name: "wanted",
        text: include_str!("migrations/0004_wanted.sql"),
        min_program: 1,
    },
];

/// The key of the lock; any number will do that nobody else uses ("archi3d").
const LOCK: &str = "SELECT pg_advisory_xact_lock(7020091866)";

/// How long a step waits for a table that somebody reads for long, such as a backup: all workers wait behind it meanwhile.
const SHORTLY: &str = "SET LOCAL lock_timeout = '3s'";

/// So often it is tried, and how long workers have in between.
const TRIES: (u32, Duration) = (12, Duration::from_secs(2));

/// The server's code for a lock that was not had in time.
const NO_LOCK: &str = "55P03";

const MEMORY: &str =
    "CREATE SCHEMA IF NOT EXISTS archi3d; CREATE TABLE IF NOT EXISTS archi3d.schema_migrations (
  version int PRIMARY KEY, name text NOT NULL, checksum bytea NOT NULL,
  min_program int NOT NULL, -- the oldest program (its highest known version) that may still write
  applied_at timestamptz NOT NULL DEFAULT clock_timestamp(), applied_by text NOT NULL)";

/// How a database's schema compares with this program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaState {
    /// The highest step that was applied; nothing if there is no schema.
    pub have: Option<i32>,
    /// The highest step that this program knows.
    pub want: i32,
    /// Steps that are missing.
    pub missing: Vec<i32>,
    /// The oldest program that may write, as the highest step that it knows.
    pub min_program: i32,
}

impl SchemaState {
    /// Refuses a schema that this program cannot work with.
    pub fn refuse(&self, database: &str) -> PgResult<()> {
        let database = database.to_owned();
        match self.have {
            None => Err(PgError::MissingSchema { database }),
            Some(have) if self.min_program > self.want => {
                Err(PgError::NewSchema { database, have })
            }
            Some(have) if !self.missing.is_empty() => Err(PgError::OldSchema {
                database,
                have,
                want: self.want,
            }),
            Some(_) => Ok(()),
        }
    }
}

/// Returns the highest step that this program knows.
pub fn newest() -> i32 {
    MIGRATIONS.last().map_or(0, |migration| migration.version)
}

/// Compares the database's schema with this program and changes nothing.
pub fn check(connection: &mut Connection) -> PgResult<SchemaState> {
    let applied = applied(connection)?;
    if let Some(applied) = &applied {
        refuse_changed(connection, applied)?;
    }
    let known = applied.as_deref().unwrap_or_default();
    let missing = MIGRATIONS.iter().map(|migration| migration.version);
    Ok(SchemaState {
        have: known.iter().map(|step| step.version).max(),
        want: newest(),
        missing: missing
            .filter(|version| known.iter().all(|step| step.version != *version))
            .collect(),
        min_program: known.iter().map(|step| step.min_program).max().unwrap_or(0),
    })
}

/// Checks that this program can work with the database, and notes a fail-over.
pub fn require(connection: &mut Connection) -> PgResult<()> {
    let state = check(connection)?;
    state.refuse(&connection.url().database.clone())?;
    connection.note_serving()
}

/// Returns everything that would be run, as text for a person and for `psql`: each step is one statement, and one that was
/// applied is passed over.
pub fn print() -> String {
    let step = |migration: &Migration| {
        let Migration {
            version,
            name,
            text,
            min_program,
        } = migration;
        let sum = hex(&checksum(text));
        format!(
            "
-- {version:04}_{name}
DO $step$ BEGIN
PERFORM set_config('client_min_messages', 'warning', true);
{lock};
{MEMORY};
IF NOT EXISTS (SELECT FROM archi3d.schema_migrations WHERE version = {version}) THEN EXECUTE $text$
{text}
$text$;
INSERT INTO archi3d.schema_migrations (version, name, checksum, min_program, applied_by)
  VALUES ({version}, '{name}', decode('{sum}', 'hex'), {min_program}, session_user || ', by hand');
END IF;
END $step$;
",
            lock = LOCK.replacen("SELECT", "PERFORM", 1),
        )
    };
    MIGRATIONS.iter().map(step).collect()
}

/// Applies what is missing and returns the steps it applied. Safe twice and at once. `by` is who does it.
pub fn apply(connection: &mut Connection, by: &str) -> PgResult<Vec<i32>> {
    let mut done = Vec::new();
    for migration in MIGRATIONS {
        // Most callers find everything done and wait for nobody.
        let state = check(connection)?;
        if state.min_program > state.want {
            state.refuse(&connection.url().database.clone())?;
        }
        if state.missing.contains(&migration.version) && apply_soon(connection, migration, by)? {
            done.push(migration.version);
        }
    }
    Ok(done)
}

/// Applies a step as soon as nobody has its tables.
fn apply_soon(connection: &mut Connection, migration: &Migration, by: &str) -> PgResult<bool> {
    for _ in 1..TRIES.0 {
        match apply_one(connection, migration, by) {
            Err(PgError::Failed { code, .. }) if code == NO_LOCK => std::thread::sleep(TRIES.1),
            done => return done,
        }
    }
    apply_one(connection, migration, by).map_err(|error| match error {
        PgError::Failed { code, .. } if code == NO_LOCK => PgError::Busy {
            database: connection.url().database.clone(),
        },
        other => other,
    })
}

fn apply_one(connection: &mut Connection, migration: &Migration, by: &str) -> PgResult<bool> {
    connection.transaction(|connection| {
        connection.batch("the lock of migrations", LOCK)?;
        connection.batch("the list of migrations", MEMORY)?;
        let known = applied(connection)?.unwrap_or_default();
        if known.iter().any(|step| step.version == migration.version) {
            return Ok(false);
        }
        connection.batch("the patience of migrations", SHORTLY)?;
        connection.batch("a migration", migration.text)?;
        let version = migration.version;
        let noted = connection.client().query_typed(
            "INSERT INTO archi3d.schema_migrations (version, name, checksum, min_program, applied_by) VALUES ($1, $2, $3, $4, $5)",
            &[
                (&version, postgres::types::Type::INT4),
                (&migration.name, postgres::types::Type::TEXT),
                (&checksum(migration.text), postgres::types::Type::BYTEA),
                (&migration.min_program, postgres::types::Type::INT4),
                (&by, postgres::types::Type::TEXT),
            ],
        );
        noted.map_err(|error| connection.named("the list of migrations", &error))?;
        Ok(true)
    })
}

struct Applied {
    version: i32,
    checksum: Vec<u8>,
    min_program: i32,
}

/// Returns what was applied; nothing if there is no list.
fn applied(connection: &mut Connection) -> PgResult<Option<Vec<Applied>>> {
    let there = connection.client().query_typed(
        "SELECT to_regclass('archi3d.schema_migrations') IS NOT NULL",
        &[],
    );
    let there = there.map_err(|error| connection.named("the list of migrations", &error))?;
    if !there.first().is_some_and(|row| row.get(0)) {
        return Ok(None);
    }
    let rows = connection.client().query_typed(
        "SELECT version, checksum, min_program FROM archi3d.schema_migrations ORDER BY version",
        &[],
    );
    let rows = rows.map_err(|error| connection.named("the list of migrations", &error))?;
    let applied = rows.iter().map(|row| Applied {
        version: row.get(0),
        checksum: row.get(1),
        min_program: row.get(2),
    });
    let applied: Vec<Applied> = applied.collect();
    Ok((!applied.is_empty()).then_some(applied))
}

fn refuse_changed(connection: &Connection, applied: &[Applied]) -> PgResult<()> {
    for migration in MIGRATIONS {
        let step = applied
            .iter()
            .find(|step| step.version == migration.version);
        if step.is_some_and(|step| step.checksum != checksum(migration.text)) {
            let database = connection.url().database.clone();
            return Err(PgError::OtherSchema {
                database,
                version: migration.version,
            });
        }
    }
    Ok(())
}

fn checksum(text: &str) -> Vec<u8> {
    // A checkout may have changed the ends of lines.
    Sha256::digest(text.replace("\r\n", "\n").as_bytes()).to_vec()
}
