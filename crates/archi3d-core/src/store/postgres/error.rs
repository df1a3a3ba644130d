//! What can go wrong with a PostgreSQL store: each one clear line and the next step.

use std::error::Error as _;

use postgres::error::SqlState;

use super::client::Trouble;

/// A result of this module.
pub type PgResult<T> = Result<T, PgError>;

/// A PostgreSQL store that cannot do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum PgError {
    /// The URL, or a setting that belongs to it, cannot be used.
    #[error("the store's URL cannot be used: {what}")]
    Url {
        /// What is wrong, without any secret.
        what: String,
    },
    /// No server answered.
    #[error("cannot connect to PostgreSQL at {server}: {reason}")]
    CannotConnect {
        /// Where, without the password.
        server: String,
        /// What the system said.
        reason: String,
    },
    /// The server has no connection left for us.
    #[error("PostgreSQL at {server} has no connection left: {reason}")]
    Full {
        /// Where, without the password.
        server: String,
        /// What the server said.
        reason: String,
    },
    /// The server answered and refused the user or the password.
    #[error("PostgreSQL at {server} refuses the login: {reason}")]
    WrongPassword {
        /// Where, without the password.
        server: String,
        /// What the server said.
        reason: String,
    },
    /// The server is older than what the schema needs.
    #[error("PostgreSQL {version} at {server} is too old: 13 or newer is needed")]
    TooOld {
        /// Where, without the password.
        server: String,
        /// Its version.
        version: String,
    },
    /// The database has no schema of ours.
    #[error("database {database} has no archi3d schema")]
    MissingSchema {
        /// Which database.
        database: String,
    },
    /// The schema is older than this program.
    #[error(
        "the archi3d schema of database {database} has version {have}; this program needs {want}"
    )]
    OldSchema {
        /// Which database.
        database: String,
        /// Its version.
        have: i32,
        /// What we need.
        want: i32,
    },
    /// Somebody has tables that a step of the schema changes.
    #[error("the schema of database {database} cannot be upgraded now: somebody keeps its tables")]
    Busy {
        /// Which database.
        database: String,
    },
    /// The schema is newer than this program may write.
    #[error(
        "the archi3d schema of database {database} has version {have}, which this program is too old for"
    )]
    NewSchema {
        /// Which database.
        database: String,
        /// Its version.
        have: i32,
    },
    /// A migration was changed after it had been applied.
    #[error("migration {version} of database {database} differs from the one in this program")]
    OtherSchema {
        /// Which database.
        database: String,
        /// Which migration.
        version: i32,
    },
    /// The role or the server may only read.
    #[error("database {database} cannot be written: {reason}")]
    ReadOnly {
        /// Which database.
        database: String,
        /// What the server said.
        reason: String,
    },
    /// The connection is gone; what was sent last may or may not have been committed.
    #[error("the connection to PostgreSQL is lost: {reason}")]
    Lost {
        /// What the system or the server said.
        reason: String,
    },
    /// The server refused a statement.
    #[error("PostgreSQL refused {statement}: {reason}")]
    Failed {
        /// Which statement of ours.
        statement: &'static str,
        /// What the server said.
        reason: String,
        /// Its code, five characters.
        code: String,
    },
    /// An answer is not what the program expects of its own schema.
    #[error("PostgreSQL gave an unexpected answer to {statement}: {reason}")]
    Unexpected {
        /// Which statement of ours.
        statement: &'static str,
        /// What is odd.
        reason: String,
    },
}

impl PgError {
    /// Returns the next step.
    pub fn hint(&self) -> String {
        match self {
            Self::Url { .. } => {
                "write it as postgresql://USER@HOST:5432/DATABASE, in --store, ARCHI3D_STORE or DATABASE_URL".to_owned()
            }
            Self::CannotConnect { reason, .. } if reason.contains("certificate") => {
                "the server answers, and its certificate is not believed: sslrootcert names the file of the authority that \
                 signed it, and with sslmode=verify-full the host in the URL is the name in it"
                    .to_owned()
            }
            Self::CannotConnect { .. } => {
                "check host and port of the URL and that the server runs: `pg_isready -d URL`".to_owned()
            }
            Self::Full { .. } => {
                "every worker has two connections: raise max_connections of the server, or put PgBouncer between".to_owned()
            }
            Self::WrongPassword { .. } => {
                "check user and password: in the URL, in PGPASSWORD or in ~/.pgpass (mode 600)".to_owned()
            }
            Self::TooOld { .. } => "upgrade the server, or name another one with --store".to_owned(),
            Self::MissingSchema { .. } | Self::OldSchema { .. } => {
                "run `archi3d fleet init` with a role that may create tables".to_owned()
            }
            Self::Busy { .. } => {
                "nothing was changed; run `archi3d fleet init` again when the backup (pg_dump) or long transaction is over: \
                 SELECT pid, query FROM pg_stat_activity WHERE xact_start < now() - interval '1 minute'".to_owned()
            }
            Self::NewSchema { .. } => {
                "install the archi3d that upgraded it, or a newer one, on this machine".to_owned()
            }
            Self::OtherSchema { .. } => {
                "compare `archi3d fleet init --print` of the versions in use; all machines need the same release".to_owned()
            }
            Self::ReadOnly { .. } => {
                "use the primary server and a role with INSERT, UPDATE and DELETE on the schema archi3d".to_owned()
            }
            Self::Lost { .. } => {
                "it is tried again by itself; if it stays away, check the server: `pg_isready -d URL`".to_owned()
            }
            Self::Failed { .. } | Self::Unexpected { .. } => {
                "run `archi3d fleet init --check`; the server's log has the details".to_owned()
            }
        }
    }

    /// Returns what an error of connecting means to somebody who was let in before: a server that only reads will be promoted,
    /// or is the old one.
    pub(super) fn while_away(self) -> Self {
        match self {
            Self::ReadOnly { reason, .. } => Self::Lost { reason },
            other => other,
        }
    }

    /// Tells whether the same call may work a moment later.
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Lost { .. } | Self::CannotConnect { .. } | Self::Full { .. } => true,
            // Deadlocks and serialization failures; a timeout; a server that stops or is full.
            Self::Failed { code, .. } => {
                matches!(code.as_str(), "40001" | "40P01" | "55P03" | "57014")
                    || code.starts_with("53")
            }
            _ => false,
        }
    }

    /// Tells whether the server refuses what a statement says of one row: a value that it cannot keep. Of many rows in one
    /// statement the others would be taken.
    pub fn is_of_one(&self) -> bool {
        let of_one = |code: &str| ["22", "23", "54"].contains(&code.get(..2).unwrap_or_default());
        matches!(self, Self::Failed { code, .. } if of_one(code))
    }

    /// Tells whether the request or the set-up is wrong, rather than the server.
    pub fn is_setup(&self) -> bool {
        let of_server = matches!(
            self,
            Self::Failed { .. } | Self::Unexpected { .. } | Self::Busy { .. }
        );
        !self.is_retryable() && !of_server
    }
}

/// Returns what an error of the client says, with its causes, on one line and without secrets: the client puts neither
/// the password nor the URL into its errors.
pub(super) fn words(error: &postgres::Error) -> String {
    if let Some(db) = error.as_db_error() {
        return one_line(db.message());
    }
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        let said = inner.to_string();
        if !text.contains(&said) {
            text = format!("{text}: {said}");
        }
        cause = inner.source();
    }
    one_line(&text)
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Tells whether a server that stops, starts or has ended our session says so.
fn is_lost(code: &SqlState) -> bool {
    [
        SqlState::ADMIN_SHUTDOWN,
        SqlState::CRASH_SHUTDOWN,
        SqlState::CANNOT_CONNECT_NOW,
        SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT,
    ]
    .contains(code)
        || code.code().starts_with("08")
        || code.code() == "57P05"
}

/// Names an error of a statement. A value that cannot be read is no lost connection.
pub(super) fn of_statement(
    error: &Trouble,
    statement: &'static str,
    database: &str,
    closed: bool,
) -> PgError {
    let error = match error {
        Trouble::Said(error) => error,
        other => {
            return PgError::Lost {
                reason: silence(other),
            };
        }
    };
    let reason = words(error);
    match error.code() {
        None if closed => PgError::Lost { reason },
        None => PgError::Unexpected { statement, reason },
        Some(code) if is_lost(code) => PgError::Lost { reason },
        Some(code)
            if *code == SqlState::READ_ONLY_SQL_TRANSACTION
                || *code == SqlState::INSUFFICIENT_PRIVILEGE =>
        {
            PgError::ReadOnly {
                database: database.to_owned(),
                reason,
            }
        }
        Some(code)
            if *code == SqlState::INVALID_SCHEMA_NAME
                || *code == SqlState::UNDEFINED_TABLE
                || *code == SqlState::UNDEFINED_FUNCTION =>
        {
            PgError::MissingSchema {
                database: database.to_owned(),
            }
        }
        Some(code) => PgError::Failed {
            statement,
            reason,
            code: code.code().to_owned(),
        },
    }
}

/// Says what kept us from hearing anything.
fn silence(trouble: &Trouble) -> String {
    match trouble {
        Trouble::Said(error) => words(error),
        Trouble::Silence(limit) => format!("no answer for {} s", limit.as_secs()),
        Trouble::System(error) => error.to_string(),
    }
}

/// Names an error of connecting.
pub(super) fn of_connecting(error: &Trouble, server: &str, database: &str) -> PgError {
    let server = server.to_owned();
    let error = match error {
        Trouble::Said(error) => error,
        other => {
            let reason = silence(other);
            return PgError::CannotConnect { server, reason };
        }
    };
    let reason = words(error);
    match error.code() {
        Some(code)
            if *code == SqlState::INVALID_PASSWORD
                || *code == SqlState::INVALID_AUTHORIZATION_SPECIFICATION =>
        {
            PgError::WrongPassword { server, reason }
        }
        Some(code) if *code == SqlState::TOO_MANY_CONNECTIONS => PgError::Full { server, reason },
        Some(code) if *code == SqlState::INVALID_CATALOG_NAME => PgError::Url { what: reason },
        // The client refuses a server without a password of its own, and one whose proof is wrong.
        None if reason.contains("password") || reason.contains("authentication") => {
            PgError::WrongPassword { server, reason }
        }
        None if reason.contains("does not allow writes") => PgError::ReadOnly {
            database: database.to_owned(),
            reason: "the server only reads (a standby?)".to_owned(),
        },
        _ => PgError::CannotConnect { server, reason },
    }
}
