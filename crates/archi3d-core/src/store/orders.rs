//! What was asked for over the network, as a server has it: runs to be made, failed jobs to be tried again, and the
//! answers to requests with a key.
//!
//! Each of these is a step of a transaction, or of a look at what is there; what they decide together is the matter of
//! who asks. A step may be carried out once more where the connection was lost.

use uuid::Uuid;

use crate::domain::money::Usd;
use crate::store::overview::RunCounts;

pub use crate::store::postgres::PgError as FleetError;
pub use crate::store::postgres::import::{NewJob, NewRun, Run};
pub use crate::store::postgres::orders::{Kept, NewOrder, Open, Same, Shown};

/// The answer of a server.
pub type FleetResult<T> = Result<T, FleetError>;

/// The book of what was asked for.
pub trait Orders {
    /// Returns the server, without any password, and its database.
    fn place(&self) -> (String, String);

    /// Before a run is added: makes the transaction fit for many jobs.
    fn prepare(&mut self) -> FleetResult<()>;

    /// Lets one at a time in for each of these names, until the transaction ends.
    fn take_turns(&mut self, names: &[String]) -> FleetResult<()>;

    /// Returns a run by its id.
    fn run(&mut self, run_id: &str) -> FleetResult<Option<Run>>;

    /// Returns the runs of the same parameters that may be given back, the latest first.
    fn same(&mut self, payload_hash: &[u8]) -> FleetResult<Vec<Same>>;

    /// From now on none of these is the one that an earlier version gives back.
    fn forget_same(&mut self, payload_hash: &[u8]) -> FleetResult<()>;

    /// Counts the jobs of a run.
    fn counts(&mut self, run_no: i64) -> FleetResult<RunCounts>;

    /// Returns what somebody's orders of today are expected to cost.
    fn ordered_today(&mut self, by: &str) -> FleetResult<Usd>;

    /// Adds a run with its jobs; returns how the server numbers it.
    fn add_run(&mut self, run: &NewRun<'_>, jobs: &[NewJob]) -> FleetResult<i64>;

    /// Tells workers that jobs were added.
    fn tell_of_jobs(&mut self, run_no: i64) -> FleetResult<()>;

    /// Writes an order down.
    fn add(&mut self, order: &NewOrder<'_>) -> FleetResult<()>;

    /// Returns what was answered to a request with this key.
    fn kept(&mut self, key: &str) -> FleetResult<Option<Kept>>;

    /// Keeps the answer to a request with a key, for so many seconds.
    fn keep(&mut self, key: &str, run_no: i64, answer: &Kept, seconds: f64) -> FleetResult<()>;

    /// Returns the runs that were asked for, or the one, each with what was asked for.
    fn runs(&mut self, only: Option<&str>) -> FleetResult<Vec<(String, String)>>;

    /// Returns the runs that a service shows, or the one: those that were asked for, and those whose files lie in a bucket.
    fn shown(&mut self, only: Option<&str>) -> FleetResult<Vec<Shown>>;

    /// Returns what workers that follow are to do.
    fn open(&mut self) -> FleetResult<Vec<Open>>;

    /// Returns what the orders to retry jobs of a run take of caps, what the run may cost since one of them said so, and what the
    /// last one may cost in all where nobody did.
    fn again(&mut self, run_id: &str) -> FleetResult<(Usd, Option<f64>, Option<f64>)>;

    /// Notes that the jobs of an order to retry wait again; tells whether nobody did before.
    fn take_retry(&mut self, id: Uuid) -> FleetResult<bool>;

    /// Returns the registry's rows of a run, verbatim.
    fn rows(&mut self, run_no: i64) -> FleetResult<Vec<Vec<u8>>>;
}
