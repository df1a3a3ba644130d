//! What the workers of all runs share about providers and algorithms: which are closed or
//! paused, how many jobs of a provider may run and start, and failures in a row.
//!
//! The file implementation is in [`super::files`]. What every implementation promises:
//! - what one worker closes, no other worker starts; a closing never ends sooner because of
//!   another one, and no time opens what only a person does;
//! - no more permits of a provider are held at once than its limit says, by whichever
//!   workers, and a permit ends with its holder;
//! - of all workers one at a time may try a paused algorithm;
//! - what cannot be asked is an error, and then nothing is bought.

use std::any::Any;
use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::domain::id::AlgoKey;
use crate::domain::limits::Limits;
use crate::domain::time::Timestamp;
use crate::store::StoreError;

/// The clocks of machines that share a store may differ by this much.
pub(super) const SKEW: Duration = Duration::from_mins(1);

/// Why and until when a provider is closed, or an algorithm paused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Closure {
    /// The provider or the algorithm.
    pub provider: AlgoKey,
    /// Since when.
    pub closed_at: Timestamp,
    /// Until when; nothing means until somebody opens it.
    #[serde(default)]
    pub until: Option<Timestamp>,
    /// What it said.
    pub reason: String,
}

impl Closure {
    /// Returns the same closure as it counts at `now`: one that was noted under a clock
    /// far ahead lasts no longer than was meant.
    #[must_use]
    pub(super) fn seen_at(mut self, now: Timestamp) -> Self {
        if self.closed_at > now.plus(SKEW) {
            self.until = self
                .until
                .map(|until| now.plus(until.since(self.closed_at)));
            self.closed_at = now;
        }
        self
    }

    /// Tells whether it still holds at `now`.
    pub fn holds(&self, now: Timestamp) -> bool {
        self.until.is_none_or(|until| now < until)
    }
}

/// What is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Closable {
    /// A provider, because it refuses everybody for a while.
    Provider,
    /// An algorithm, because it failed too often in a row.
    Algo,
}

/// The answer to a wish to start a job.
#[derive(Debug)]
pub enum Admission {
    /// It may start; its place is taken until this is dropped.
    Go(Permit),
    /// Not now.
    Wait(Wait),
}

/// What a job waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    /// Every slot is taken, of so many.
    Slots(usize),
    /// The next one starts after this long.
    Rate(Duration),
    /// Somebody notes a start this moment.
    Busy,
}

/// A right that ends when it is dropped: to run one job of a provider, or to try a paused
/// algorithm.
#[derive(Default)]
pub struct Permit(Option<Box<dyn Any + Send + Sync>>);

impl Permit {
    /// Makes a right that lasts as long as `held`.
    pub fn of(held: impl Any + Send + Sync) -> Self {
        Self(Some(Box::new(held)))
    }
}

impl fmt::Debug for Permit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Permit").field(&self.0.is_some()).finish()
    }
}

/// What workers share about providers and algorithms.
pub trait Providers: Send + Sync {
    /// Returns why one is closed at `now`, if it is.
    fn closed(
        &self,
        what: Closable,
        key: &AlgoKey,
        now: Timestamp,
    ) -> Result<Option<Closure>, StoreError>;

    /// Returns the same to somebody who waits for it, and sees to it that a closure noted under
    /// a clock far ahead ends: from now on it lasts as long as was meant.
    fn closed_to_worker(
        &self,
        what: Closable,
        key: &AlgoKey,
        now: Timestamp,
    ) -> Result<Option<Closure>, StoreError> {
        self.closed(what, key, now)
    }

    /// Returns every one that is closed at `now`, by name.
    fn all_closed(&self, what: Closable, now: Timestamp) -> Result<Vec<Closure>, StoreError>;

    /// Closes one for everybody; tells whether that changes anything.
    fn close(&self, what: Closable, closure: &Closure) -> Result<bool, StoreError>;

    /// Opens one again; tells whether it was closed.
    fn open(&self, what: Closable, key: &AlgoKey) -> Result<bool, StoreError>;

    /// Takes the right to try a paused algorithm; nothing if another worker has it.
    fn try_probe(&self, algo: &AlgoKey) -> Result<Option<Permit>, StoreError>;

    /// Takes a slot and a place in the minute, or tells what to wait for. Who asks `again`
    /// and again need not be looked for everywhere each time.
    fn admit(
        &self,
        provider: &AlgoKey,
        limits: Limits,
        again: bool,
        now: Timestamp,
    ) -> Result<Admission, StoreError>;

    /// Gives back the place in the minute of a job that did not start after all.
    fn refund(&self, provider: &AlgoKey, limits: Limits) -> Result<(), StoreError>;

    /// Notes a failure that speaks about an algorithm, or a success. Returns the failures in
    /// a row: of all workers where a server counts them, of this one on files.
    fn ended(&self, algo: &AlgoKey, failed: bool) -> Result<u32, StoreError>;

    /// Removes what workers left that died while they changed something.
    fn sweep(&self) -> Result<(), StoreError> {
        Ok(())
    }
}
