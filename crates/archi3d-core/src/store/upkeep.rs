//! What only records that people can touch need: the trait behind the commands that look after a workspace.
//!
//! Jobs are added to tables that people edit, and tables, markers, journals, results and the ledger can come to
//! disagree. `ops` asks an [`Upkeep`] and shows what it says; the files are in [`super::files::upkeep`]. What every
//! implementation promises:
//! - what it changes it decides again under the registry's lock; whoever waits for that can give up, and nothing has
//!   changed then;
//! - no result, no purchase and no row of somebody else's is lost; what is replaced is kept aside;
//! - cut short anywhere, the same command ends what was begun;
//! - what is only asked for takes no lock and writes nothing.

use std::sync::Arc;
use std::time::Duration;

use crate::domain::finding::Finding;
use crate::domain::id::{RunId, WorkerId};
use crate::domain::job::Entry;
use crate::domain::patch::WorkerFacts;
use crate::domain::plan::Plan;
use crate::domain::time::Timestamp;
use crate::store::overview::RunCounts;
use crate::store::{
    Backend, Budget, JobRecord, NoticeSink, Opening, Providers, StoreError, WorkerIdentity,
};
use crate::table::Table;

pub use super::files::Kept;
pub use super::files::upkeep::adopt::{AdoptRequest, Adopted};
pub use super::files::upkeep::consolidate::{
    ConsolidateError, ConsolidateReport, ConsolidateRequest, JobNote, MergedRow, RowChange,
};
pub use super::files::upkeep::doctor::{
    Checkup, DoctorRequest, LOCKS_EXCLUDE, LOW_BYTES, Probe, probe_lock, unreadable,
};
pub use super::files::upkeep::rebuild::{RebuildReport, RebuildRequest};
pub use super::files::upkeep::remove::Removal;

/// Hears for how long a lock has been waited for, and gives up by returning `false`.
pub type Waiting<'a> = &'a mut dyn FnMut(Duration) -> bool;

/// What a run has after jobs were added to it.
#[derive(Debug)]
pub struct Added {
    /// How many jobs its manifest lists.
    pub listed: usize,
    /// What looked wrong, one sentence each.
    pub warnings: Vec<String>,
}

/// A worker that is there.
#[derive(Debug, Clone, PartialEq)]
pub struct LiveWorker {
    /// Which.
    pub worker_id: WorkerId,
    /// Since when.
    pub since: Timestamp,
    /// What it says of itself.
    pub facts: WorkerFacts,
}

/// The records of a workspace, to be looked after. See the module for what all promise.
pub trait Upkeep: Backend {
    /// Returns what workers of this workspace share about providers and algorithms.
    fn providers(&self) -> Arc<dyn Providers>;

    /// Returns where the money of runs is accounted that live here, and that of no run.
    fn budget(&self, notices: NoticeSink) -> Arc<dyn Budget>;

    /// Counts the rows of every run, in the order of their first row.
    fn count_runs(&self) -> Result<Vec<RunCounts>, StoreError>;

    /// Returns the workers of this machine that are at the run.
    fn live_workers(&self, run: &RunId) -> Result<Vec<LiveWorker>, StoreError>;

    /// Returns the workers of the run that are gone, or are on another machine: nobody here holds their journals.
    fn gone_workers(&self, run: &RunId) -> Result<Vec<WorkerId>, StoreError>;

    /// Returns what attempts made that could not be published.
    fn kept(&self, run: &RunId) -> Vec<Kept>;

    /// Returns the results of a job that were made and are not recorded as its own: what is
    /// kept, and what lies in its place although nothing tells of it.
    fn kept_of(&self, run: &RunId, record: &JobRecord) -> Vec<Kept>;

    /// Leaves out of a plan what the run has already.
    fn leave_out_existing(&self, run: &RunId, plan: &mut Plan<'_>) -> Result<(), StoreError>;

    /// Adds the jobs of plans that their runs lack, and leaves the others out of them; tells of one run after the other.
    /// Nothing if the wait was given up.
    fn add_jobs(
        &self,
        runs: &mut [(&RunId, &mut Plan<'_>)],
        waiting: Waiting<'_>,
    ) -> Result<Option<Vec<Added>>, StoreError>;

    /// Returns the rows that a new run would have, each with its job, and the line above them.
    fn new_rows(&self, run: &RunId, plan: &Plan<'_>) -> Table;

    /// Adds rows that another store has and the registry lacks, and completes the run's manifest; tells whether it
    /// could.
    fn add_rows(
        &self,
        run: &RunId,
        header: &[u8],
        rows: &[Vec<u8>],
        waiting: Waiting<'_>,
    ) -> Result<bool, StoreError>;

    /// Looks at everything and changes nothing; `setup` adds what the configuration has to do with it.
    fn examine(
        &self,
        request: &DoctorRequest,
        setup: &(dyn Fn(Option<&Table>, &mut Checkup) + Sync),
    ) -> Result<Checkup, StoreError>;

    /// Carries out what findings say can be repaired; returns what could not be, one sentence each.
    fn repair(
        &self,
        findings: &[Finding],
        identity: &dyn Fn() -> WorkerIdentity,
    ) -> Result<Vec<String>, StoreError>;

    /// Makes rows again from what is recorded.
    fn rebuild(
        &self,
        request: &RebuildRequest,
        waiting: Waiting<'_>,
    ) -> Result<RebuildReport, StoreError>;

    /// Sets the rows of a run right by what is on disk.
    fn consolidate(
        &self,
        request: &ConsolidateRequest,
        waiting: Waiting<'_>,
    ) -> Result<ConsolidateReport, ConsolidateError>;

    /// Makes a kept result the job's own.
    fn adopt(
        &self,
        request: &AdoptRequest,
        record: &JobRecord,
        opening: Opening,
        warn: &dyn Fn(&str),
    ) -> Result<Adopted, StoreError>;

    /// Returns which kept result of a job of a fleet is meant, and how the job is taken for it.
    fn to_adopt(
        &self,
        request: &AdoptRequest,
        record: &JobRecord,
    ) -> Result<(Kept, Entry), StoreError>;

    /// Removes a run, unless something in it would be lost or `confirm` says no. Returns nothing then.
    fn remove(
        &self,
        run: &RunId,
        confirm: &dyn Fn(&Removal) -> bool,
        waiting: Waiting<'_>,
    ) -> Result<Option<Removal>, StoreError>;
}
