//! Where the money of all runs is accounted, behind one small trait.
//!
//! The engine reserves before a job starts and settles when it is over; it never
//! knows where the ledger is. The file ledger is in [`super::csv`]. What every
//! purse promises:
//! - a reservation that was granted survives the process and a power loss, and no
//!   two of them, by whichever workers, exceed a limit together;
//! - an attempt is settled once, however often it is told;
//! - the next attempt that asks for what was bought takes the reservation of the last
//!   one over; one that may buy again reserves anew.

use crate::domain::budget::{Caps, Grant, Ledger, Stake};
use crate::domain::time::Timestamp;
use crate::store::StoreError;

/// Accounts for the money of every run of a workspace.
pub trait Purse: Send + Sync {
    /// Hands the sums as they are now to `ask`, without holding up other workers.
    fn look(&self, ask: &mut dyn FnMut(&Ledger)) -> Result<(), StoreError>;

    /// Reserves `usd` for an attempt if the limits allow it.
    fn reserve(
        &self,
        stake: &Stake,
        usd: f64,
        caps: Caps,
        now: Timestamp,
    ) -> Result<Grant, StoreError>;

    /// Settles an attempt with what it really cost, which may be nothing.
    fn settle(&self, stake: &Stake, usd: f64, now: Timestamp) -> Result<(), StoreError>;

    /// Reserves `usd` beside what an earlier attempt of the job has reserved, which
    /// counts as spent then; changes nothing if the limits do not allow that.
    fn reserve_anew(
        &self,
        stake: &Stake,
        usd: f64,
        caps: Caps,
        now: Timestamp,
    ) -> Result<Grant, StoreError>;

    /// Counts what an earlier attempt of the same job has reserved as spent.
    fn write_off(&self, stake: &Stake, now: Timestamp) -> Result<(), StoreError>;
}

/// What a store knows of the money of an attempt.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Fate {
    /// It is over and was billed, with this much if that is on record.
    Billed(Option<f64>),
    /// It is over and was surely not billed.
    NotBilled,
    /// It goes on, or nobody can tell.
    Open,
}
