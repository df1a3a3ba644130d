//! One connection: made with patience for what is wrong, and the only way to run a statement.
//!
//! On a direct connection statements are prepared once and their plans are kept; behind a pooler that gives every
//! transaction another server connection nothing may be kept, so each statement is sent whole with its types. What it
//! was is found out by [`super::listen::Pulse::probe`], or said with `?prepare=off`.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use postgres::config::{ChannelBinding as Binding, SslMode as Tls, TargetSessionAttrs};
use postgres::types::{ToSql, Type};
use postgres::{Config, NoTls, Row, Statement};

use super::client::{Client, Trouble};
use super::error::{self, PgError, PgResult};
use super::statements::Sql;
use super::times::Times;
use super::url::{ChannelBinding, Session, SslMode, StoreUrl};
use super::{statements, tls};

/// The oldest server that has everything we use.
const OLDEST_SERVER: i32 = 130_000;

/// How long a server may take to let us in once it has been reached.
const HANDSHAKE: Duration = Duration::from_secs(10);

/// How long a server may have no connection left for us.
const FULL: Duration = Duration::from_secs(5);

/// Settings of a direct connection. Plans that were made on empty tables would stay and join by reading whole tables, so
/// only the ways by index are left open, and no helpers are started for what looks dear because of that. What was
/// acknowledged is on disk, whatever the server's default is.
const DIRECT: &str = "SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off; SET enable_hashjoin = off; \
    SET enable_mergejoin = off; SET enable_bitmapscan = off; SET jit = off; SET max_parallel_workers_per_gather = 0; SET statement_timeout = '30s'; \
    SET idle_in_transaction_session_timeout = '60s'; SET synchronous_commit = on";

/// A connection to the store.
pub struct Connection {
    client: Client,
    url: StoreUrl,
    name: String,
    prepared: Option<HashMap<&'static str, Statement>>,
    in_transaction: bool,
    /// Whether the server acknowledges what is not on its disk, unless it is told otherwise.
    hasty: bool,
    times: Option<Times>,
    /// How long a statement may take.
    limit: Option<Duration>,
    /// Whether something could be written over it before: a server that only reads is on its way out or in then.
    let_in: bool,
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "Connection({} as {}, {:?})",
            self.url,
            self.name,
            self.is_direct()
        )
    }
}

/// A parameter of a statement.
pub(super) type Parameter<'a> = &'a (dyn ToSql + Sync);

impl Connection {
    /// Connects as `name`, which people see in `pg_stat_activity`. Nothing is kept on the server yet.
    pub fn open(url: &StoreUrl, name: &str) -> PgResult<Self> {
        let client = connect_patiently(url, name)?;
        let mut connection = Self {
            client,
            url: url.clone(),
            name: name.to_owned(),
            prepared: None,
            in_transaction: false,
            hasty: false,
            times: Times::wanted(),
            limit: None,
            let_in: false,
        };
        connection.refuse_old_server()?;
        if url.prepare == Some(true) {
            connection.keep_plans()?;
        }
        Ok(connection)
    }

    /// Connects again after the connection was lost, and notes a fail-over.
    pub fn reopen(&mut self) -> PgResult<()> {
        let direct = self.is_direct();
        let mut fresh = Self::open(&self.url, &self.name).map_err(PgError::while_away)?;
        fresh.let_in = self.let_in;
        if direct && !fresh.is_direct() {
            fresh.keep_plans()?;
        }
        fresh.limit(self.limit);
        fresh.note_serving()?;
        *self = fresh;
        Ok(())
    }

    /// From now on whoever does not answer within this time counts as away, whatever stands between us.
    pub fn limit(&mut self, limit: Option<Duration>) {
        self.limit = limit;
        self.client.limit(limit);
    }

    /// From now on a server that only reads counts as one that is away: after a fail-over it is the old one, or the new one
    /// before its time.
    pub(super) fn note_let_in(&mut self) {
        self.let_in = true;
    }

    /// Connects again to look on: nothing is noted on the server.
    pub(super) fn renew(&mut self) -> PgResult<()> {
        *self = Self::open(&self.url, &self.name)?;
        Ok(())
    }

    /// In a transaction: everything that follows sees the same moment, changes nothing, and is answered by one process
    /// of the server.
    pub(super) fn one_moment(&mut self) -> PgResult<()> {
        self.batch(
            "the settings",
            "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY; SET LOCAL jit = off; \
             SET LOCAL max_parallel_workers_per_gather = 0",
        )
    }

    /// Returns where it leads.
    pub fn url(&self) -> &StoreUrl {
        &self.url
    }

    /// Tells whether statements and settings are kept on the server.
    pub fn is_direct(&self) -> bool {
        self.prepared.is_some()
    }

    /// Tells whether it is known to be gone.
    pub fn is_closed(&self) -> bool {
        self.client.is_closed()
    }

    /// Tells whether a transaction is open, which a statement that fails would end.
    pub(super) fn is_in_transaction(&self) -> bool {
        self.in_transaction
    }

    /// From now on statements are prepared and plans are kept: nobody stands between us and the server.
    pub fn keep_plans(&mut self) -> PgResult<()> {
        if self.url.prepare == Some(false) || self.is_direct() {
            return Ok(());
        }
        self.batch("the settings", DIRECT)?;
        self.prepared = Some(HashMap::new());
        Ok(())
    }

    /// From now on nothing is kept on the server.
    pub fn keep_nothing(&mut self) {
        self.prepared = None;
    }

    /// Returns the client for what is no statement of ours.
    pub(super) fn client(&mut self) -> &mut Client {
        &mut self.client
    }

    /// Runs a statement and returns its rows.
    pub(super) fn rows(
        &mut self,
        sql: &'static Sql,
        parameters: &[Parameter<'_>],
    ) -> PgResult<Vec<Row>> {
        if self.is_hasty() && !self.in_transaction {
            return self.transaction(|connection| connection.rows(sql, parameters));
        }
        let began = self.times.is_some().then(Instant::now);
        let answer = self.try_rows(sql, parameters);
        if let (Some(times), Some(began)) = (&mut self.times, began) {
            times.add(sql.name, began.elapsed());
        }
        match answer {
            // A pooler after all: nothing was carried out, so the same can be said again, whole.
            Err(error) if self.is_direct() && forgot(&error) => {
                self.keep_nothing();
                if self.in_transaction {
                    return Err(self.named(sql.name, &error));
                }
                self.try_rows(sql, parameters)
                    .map_err(|error| self.named(sql.name, &error))
            }
            answer => answer.map_err(|error| self.named(sql.name, &error)),
        }
    }

    fn try_rows(
        &mut self,
        sql: &'static Sql,
        parameters: &[Parameter<'_>],
    ) -> Result<Vec<Row>, Trouble> {
        let Some(prepared) = &mut self.prepared else {
            let typed: Vec<(Parameter<'_>, Type)> = parameters
                .iter()
                .copied()
                .zip(sql.parameters.iter().cloned())
                .collect();
            return self.client.query_typed(sql.text, &typed);
        };
        if let Some(statement) = prepared.get(sql.name) {
            return self.client.query(statement, parameters);
        }
        let statement = self.client.prepare_typed(sql.text, sql.parameters)?;
        let answer = self.client.query(&statement, parameters);
        prepared.insert(sql.name, statement);
        answer
    }

    /// Runs a statement that answers with one row, or with none.
    pub(super) fn row(
        &mut self,
        sql: &'static Sql,
        parameters: &[Parameter<'_>],
    ) -> PgResult<Option<Row>> {
        Ok(self.rows(sql, parameters)?.into_iter().next())
    }

    /// Runs a statement that always answers.
    pub(super) fn one(&mut self, sql: &'static Sql, parameters: &[Parameter<'_>]) -> PgResult<Row> {
        self.row(sql, parameters)?
            .ok_or_else(|| PgError::Unexpected {
                statement: sql.name,
                reason: "no row came back".to_owned(),
            })
    }

    /// Runs `body` in one transaction: all of it is committed, or nothing. Inside another one it is a part of that.
    pub fn transaction<T>(&mut self, body: impl FnOnce(&mut Self) -> PgResult<T>) -> PgResult<T> {
        self.transaction_if(|connection| body(connection).map(|value| (value, true)))
    }

    /// The same, where `body` says whether to commit.
    pub(super) fn transaction_if<T>(
        &mut self,
        body: impl FnOnce(&mut Self) -> PgResult<(T, bool)>,
    ) -> PgResult<T> {
        if self.in_transaction {
            return self.part(body);
        }
        let begin = if self.is_hasty() {
            "BEGIN; SET LOCAL synchronous_commit = on"
        } else {
            "BEGIN"
        };
        self.batch("BEGIN", begin)?;
        self.in_transaction = true;
        let done = body(self);
        self.in_transaction = false;
        match done {
            Ok((value, true)) => self.batch("COMMIT", "COMMIT").map(|()| value),
            Ok((value, false)) => self.batch("ROLLBACK", "ROLLBACK").map(|()| value),
            Err(error) => {
                // A connection that is gone has rolled back by itself.
                let _ = self.batch("ROLLBACK", "ROLLBACK");
                Err(error)
            }
        }
    }

    fn part<T>(&mut self, body: impl FnOnce(&mut Self) -> PgResult<(T, bool)>) -> PgResult<T> {
        self.batch("SAVEPOINT", "SAVEPOINT part")?;
        let (value, keep) = body(self)?;
        let end = if keep {
            "RELEASE part"
        } else {
            "ROLLBACK TO part"
        };
        self.batch("SAVEPOINT", end)?;
        Ok(value)
    }

    /// Tells whether each transaction has to say that it waits for the disk: nothing else can be set behind a pooler.
    fn is_hasty(&self) -> bool {
        self.hasty && !self.is_direct()
    }

    /// Runs text without parameters.
    pub(super) fn batch(&mut self, what: &'static str, text: &str) -> PgResult<()> {
        let done = self.client.batch_execute(text);
        done.map_err(|error| self.named(what, &error))
    }

    /// Notes that the server came back or is another one. A connection of our own is made anew then, and notes it.
    pub fn note_serving(&mut self) -> PgResult<()> {
        self.rows(&statements::SERVING, &[]).map(drop)
    }

    /// Notes it before a lease is judged, where somebody between us may have changed servers.
    pub(super) fn before_judging(&mut self) -> PgResult<()> {
        if self.is_direct() {
            return Ok(());
        }
        self.note_serving()
    }

    fn refuse_old_server(&mut self) -> PgResult<()> {
        let answer = self.client.query_typed(
            "SELECT current_setting('server_version_num')::int, current_setting('server_version'), \
             current_setting('synchronous_commit') = 'off'",
            &[],
        );
        let rows = answer.map_err(|error| self.named("the server's version", &error))?;
        let Some(row) = rows.first() else {
            return Ok(());
        };
        if row.get::<_, i32>(0) < OLDEST_SERVER {
            return Err(PgError::TooOld {
                server: self.url.to_string(),
                version: row.get(1),
            });
        }
        self.hasty = row.get(2);
        Ok(())
    }

    pub(super) fn named(&mut self, statement: &'static str, error: &Trouble) -> PgError {
        if self.let_in && error.is_read_only() {
            // This connection leads to nothing any more.
            self.client.give_up();
            return PgError::Lost {
                reason: "the server only reads (a standby?)".to_owned(),
            };
        }
        error::of_statement(
            error,
            statement,
            &self.url.database,
            self.client.is_closed(),
        )
    }
}

/// Tells whether the server does not know, or knows already, what we prepared: another session's.
fn forgot(error: &Trouble) -> bool {
    let Trouble::Said(error) = error else {
        return false;
    };
    error
        .code()
        .is_some_and(|code| matches!(code.code(), "26000" | "42P05" | "08P01"))
}

/// Connects; where a server has no connection left, others may be about to leave.
fn connect_patiently(url: &StoreUrl, name: &str) -> PgResult<Client> {
    let end = Instant::now() + FULL;
    loop {
        match connect(url, name) {
            Err(PgError::Full { .. }) if Instant::now() < end => {
                // Many start at once, and are not to ask at once again.
                let chance = f64::from(uuid::Uuid::new_v4().as_bytes()[0]) / 255.0;
                std::thread::sleep(Duration::from_millis(100) + FULL.mul_f64(chance / 8.0));
            }
            connected => return connected,
        }
    }
}

fn connect(url: &StoreUrl, name: &str) -> PgResult<Client> {
    let mut config = Config::new();
    for (at, host) in url.hosts.iter().enumerate() {
        config.host(host);
        config.port(url.port(at));
    }
    config
        .user(&url.user)
        .dbname(&url.database)
        .application_name(short_name(name));
    if let Some(password) = url.password() {
        config.password(password);
    }
    if let Some(options) = &url.options {
        config.options(options);
    }
    config
        .connect_timeout(url.connect_timeout)
        .keepalives(true)
        .keepalives_idle(Duration::from_secs(15))
        .keepalives_interval(Duration::from_secs(5))
        .keepalives_retries(3)
        .tcp_user_timeout(Duration::from_secs(10))
        .channel_binding(match url.channel_binding {
            ChannelBinding::Disable => Binding::Disable,
            ChannelBinding::Prefer => Binding::Prefer,
            ChannelBinding::Require => Binding::Require,
        })
        .target_session_attrs(match url.session {
            Session::Any => TargetSessionAttrs::Any,
            Session::ReadWrite => TargetSessionAttrs::ReadWrite,
            Session::ReadOnly => TargetSessionAttrs::ReadOnly,
        })
        .ssl_mode(match url.ssl_mode {
            SslMode::Disable => Tls::Disable,
            SslMode::Prefer => Tls::Prefer,
            _ => Tls::Require,
        });
    // A socket needs no TLS, and the client refuses to ask for it there.
    let local = url.hosts.iter().all(|host| host.starts_with('/'));
    let limit = url.connect_timeout + HANDSHAKE;
    let done = if url.ssl_mode == SslMode::Disable || local {
        config.ssl_mode(Tls::Disable);
        Client::connect(&config, NoTls, limit)
    } else {
        Client::connect(&config, tls::connector(url)?, limit)
    };
    done.map_err(|error| error::of_connecting(&error, &url.to_string(), &url.database))
}

/// The server cuts names at 63 bytes.
fn short_name(name: &str) -> String {
    let mut short = String::new();
    for c in name.chars() {
        if short.len() + c.len_utf8() > 63 {
            break;
        }
        short.push(c);
    }
    short
}
