//! The pulse connection: it hears what is new, if anybody between us and the server lets that through.
//!
//! A message only wakes; what is there to do is always asked of the tables. So a lost or doubled message changes
//! nothing, and where none is delivered the caller polls.

use std::time::{Duration, Instant};

use super::connect::Connection;
use super::error::PgResult;
use super::{act, statements};

/// How long the test message may take.
const PATIENCE: Duration = Duration::from_millis(800);

/// A connection that listens.
#[derive(Debug)]
pub struct Pulse {
    connection: Connection,
    channels: Vec<String>,
    delivered: bool,
}

impl Pulse {
    /// Takes a connection for listening; nothing is known of messages before [`Pulse::probe`].
    pub fn new(connection: Connection) -> Self {
        Self {
            connection,
            channels: Vec::new(),
            delivered: false,
        }
    }

    /// Sends itself a message through `work`. If it arrives nobody stands between us and the server, and both
    /// connections keep their plans there; if not (a pooler), nothing is kept and the caller polls.
    pub fn probe(&mut self, work: &mut Connection) -> PgResult<bool> {
        self.delivered = false;
        let channel = format!("archi3d_probe_{}", uuid::Uuid::new_v4().simple());
        self.connection
            .batch("LISTEN", &format!("LISTEN {channel}"))?;
        work.rows(&statements::NOTIFY, &[&channel, &"probe"])?;
        let end = Instant::now() + PATIENCE;
        while !self.delivered && Instant::now() < end {
            let left = end.saturating_duration_since(Instant::now());
            self.delivered = self.hear(left)?.is_some_and(|heard| heard == channel);
        }
        self.connection
            .batch("LISTEN", &format!("UNLISTEN {channel}"))?;
        if self.delivered {
            work.keep_plans()?;
            self.connection.keep_plans()?;
        } else {
            work.keep_nothing();
            self.connection.keep_nothing();
        }
        Ok(self.delivered)
    }

    /// Tells whether messages arrive.
    pub fn is_heard(&self) -> bool {
        self.delivered
    }

    /// Listens to a run.
    pub fn listen(&mut self, run_no: i64) -> PgResult<()> {
        let channel = act::channel(run_no);
        self.connection
            .batch("LISTEN", &format!("LISTEN {channel}"))?;
        if !self.channels.contains(&channel) {
            self.channels.push(channel);
        }
        Ok(())
    }

    /// Listens to a run no more.
    pub fn unlisten(&mut self, run_no: i64) -> PgResult<()> {
        let channel = act::channel(run_no);
        self.channels.retain(|known| *known != channel);
        self.connection
            .batch("LISTEN", &format!("UNLISTEN {channel}"))
    }

    /// Waits for a message, at most so long, and returns its channel. Without messages it waits for nothing.
    pub fn hear(&mut self, limit: Duration) -> PgResult<Option<String>> {
        let heard = self.connection.client().hear(limit);
        heard.map_err(|error| self.connection.named("LISTEN", &error))
    }

    /// Connects again if the connection is known to be gone.
    pub fn open(&mut self) -> PgResult<()> {
        if self.connection.is_closed() {
            self.reopen()?;
        }
        Ok(())
    }

    /// Connects again after the connection was lost and listens to the same runs.
    pub fn reopen(&mut self) -> PgResult<()> {
        self.connection.reopen()?;
        for channel in &self.channels {
            self.connection
                .batch("LISTEN", &format!("LISTEN {channel}"))?;
        }
        Ok(())
    }

    /// Returns the connection, for beats.
    pub fn connection(&mut self) -> &mut Connection {
        &mut self.connection
    }
}
