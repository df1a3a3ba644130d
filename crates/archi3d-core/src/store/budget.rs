//! Where the money of all runs is accounted, behind one small trait.
//!
//! The engine reserves before a job starts and settles when it is over; it never
//! knows where the ledger is. The file ledger is in [`super::files`]. What every
//! budget promises:
//! - a reservation that was granted survives the process and a power loss, and no
//!   two of them, by whichever workers, exceed a limit together;
//! - an attempt is settled once, however often it is told;
//! - the next attempt that asks for what was bought takes the reservation of the last
//!   one over; one that may buy again reserves beside it.

use std::collections::HashMap;

use crate::domain::budget::{AttemptKey, Caps, Grant, Level, Usage};
use crate::domain::id::{JobId, RunId};
use crate::domain::time::Timestamp;
use crate::store::StoreError;

/// Accounts for the money of every run.
pub trait Budget: Send + Sync {
    /// Returns how far each limit is used up.
    fn levels(&self, run: &RunId, caps: Caps, now: Timestamp) -> Result<Vec<Level>, StoreError>;

    /// Returns what a run has reserved and spent.
    fn usage(&self, run: &RunId) -> Result<Usage, StoreError>;

    /// Tells whether `usd` for a job would be granted, `beside` what its earlier attempts have
    /// reserved or instead of it. Reserves nothing.
    fn would_grant(
        &self,
        of: (&RunId, &JobId),
        usd: f64,
        caps: Caps,
        beside: bool,
        now: Timestamp,
    ) -> Result<Grant, StoreError>;

    /// Returns what is reserved for attempts of a run that nobody has settled; with `today`
    /// also those of other runs of the same day.
    fn open(
        &self,
        run: &RunId,
        today: Option<Timestamp>,
    ) -> Result<Vec<(AttemptKey, f64)>, StoreError>;

    /// Returns whose money is reserved for a job, and how much.
    fn reserved_for(
        &self,
        run: &RunId,
        job: &JobId,
    ) -> Result<Option<(AttemptKey, f64)>, StoreError> {
        let open = self.open(run, None)?;
        Ok(open
            .into_iter()
            .find(|(attempt_key, _)| attempt_key.job_id == *job))
    }

    /// Reserves `usd` for an attempt if the limits allow it.
    fn reserve(
        &self,
        attempt_key: &AttemptKey,
        usd: f64,
        caps: Caps,
        now: Timestamp,
    ) -> Result<Grant, StoreError>;

    /// Reserves what a purchase that was made is said to cost, whatever the limits are.
    fn raise(&self, attempt_key: &AttemptKey, usd: f64, now: Timestamp) -> Result<(), StoreError> {
        self.reserve(attempt_key, usd, Caps::default(), now)
            .map(drop)
    }

    /// Settles an attempt with what it really cost, which may be nothing.
    fn settle(&self, attempt_key: &AttemptKey, usd: f64, now: Timestamp) -> Result<(), StoreError>;

    /// Reserves `usd` beside what an earlier attempt of the job has reserved, which
    /// counts as spent then; changes nothing if the limits do not allow that.
    fn reserve_additional(
        &self,
        attempt_key: &AttemptKey,
        usd: f64,
        caps: Caps,
        now: Timestamp,
    ) -> Result<Grant, StoreError>;

    /// Sees to it before the first job that limits hold: what was lost is written back, with `price` of an algorithm
    /// where no bill is known.
    fn prepare(
        &self,
        _run: &RunId,
        _caps: Caps,
        _price: &dyn Fn(&str) -> Option<f64>,
        _now: Timestamp,
    ) -> Result<Prepared, StoreError> {
        Ok(Prepared::default())
    }

    /// Stops waiting for others.
    fn hurry(&self) {}

    /// Counts what an earlier attempt of the same job has reserved as spent.
    fn write_off(&self, attempt_key: &AttemptKey, now: Timestamp) -> Result<(), StoreError>;
}

/// What a worker under a limit learns before its first job.
#[derive(Debug, Default)]
pub struct Prepared {
    /// What a person should know, one sentence each.
    pub told: Vec<String>,
    /// What jobs of each algorithm turned out to cost where that was more than had been reserved.
    pub highest_cost: HashMap<String, f64>,
}

/// What a store knows of the money of an attempt.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Billing {
    /// It is over and was billed, with this much if that is on record.
    Billed(Option<f64>),
    /// It is over and was surely not billed.
    NotBilled,
    /// Its worker died, and neither an intent nor a purchase is on record: not billed where each is announced.
    Unsaid,
    /// It goes on, or nobody can tell.
    Open,
}
