//! Looking after records in files: what the commands do that no other store needs.
//!
//! - `batch`, `created_rows`: jobs become rows, and what rows can be made again from;
//! - [`consolidate`], [`rebuild`], [`doctor`]: tables, markers and journals against each other;
//! - `lost_money`: the ledger against the journals;
//! - [`adopt`], [`remove`]: a kept result comes in, a run without results goes.

use std::sync::Arc;

use crate::domain::finding::Finding;
use crate::domain::id::{RunId, WorkerId};
use crate::domain::job::Entry;
use crate::domain::plan::Plan;
use crate::domain::time::Clock;
use crate::store::artifacts::Shared;
use crate::store::overview::RunCounts;
use crate::store::upkeep::{Added, LiveWorker, Upkeep, Waiting};
use crate::store::{
    Backend, Budget, JobRecord, NoticeSink, OpenRun, Opening, Outbox, Providers, Runs, StoreError,
    WorkerIdentity,
};
use crate::table::Table;
use crate::workspace::paths::Workspace;

use super::outbox::FileBox;
use super::{
    FileBudget, FileProviders, FileReuse, FileRuns, FileStore, FileStoreOptions, Kept, late, runs,
    workers,
};

pub mod adopt;
pub(super) mod batch;
pub mod consolidate;
mod created_rows;
pub mod doctor;
pub(super) mod lost_money;
pub mod rebuild;
pub mod remove;

use adopt::{AdoptRequest, Adopted};
use consolidate::{ConsolidateError, ConsolidateReport, ConsolidateRequest};
use doctor::{Checkup, DoctorRequest};
use rebuild::{RebuildReport, RebuildRequest};
use remove::Removal;

/// The records of a workspace, to be looked after.
pub struct FileUpkeep {
    workspace: Workspace,
    clock: Arc<dyn Clock>,
}

impl FileUpkeep {
    /// Names the workspace; reads nothing yet.
    pub fn new(workspace: Workspace, clock: Arc<dyn Clock>) -> Self {
        Self { workspace, clock }
    }

    fn options(&self, opening: Opening) -> FileStoreOptions {
        FileStoreOptions {
            workspace: self.workspace.clone(),
            run_id: opening.run_id,
            identity: opening.identity,
            rhythm: opening.rhythm,
            rehearsal: opening.rehearsal,
            allow_unsafe_locks: opening.allow_unsafe_locks,
            notices: opening.notices,
            clock: self.clock.clone(),
        }
    }
}

impl Backend for FileUpkeep {
    fn runs(&self) -> Result<Arc<dyn Runs>, StoreError> {
        let runs = FileRuns::new(self.workspace.clone(), self.clock.clone());
        Ok(Arc::new(runs))
    }

    fn outbox(&self) -> Box<dyn Outbox + '_> {
        Box::new(FileBox::new(&self.workspace, self.clock.clone()))
    }

    fn open(&self, opening: Opening) -> Result<OpenRun, StoreError> {
        let (identity, rhythm) = (opening.identity.clone(), opening.rhythm);
        let notices = opening.notices.clone();
        let paths = self.workspace.run(&opening.run_id);
        let store = FileStore::open(self.options(opening))?;
        Ok(OpenRun {
            identity,
            store: Box::new(store),
            providers: self.providers(),
            budget: self.budget(notices),
            reuse: Arc::new(FileReuse::new(self.workspace.clone())),
            artifacts: Arc::new(Shared::new(self.workspace.clone(), paths)),
            rhythm,
            on_server: false,
        })
    }
}

impl Upkeep for FileUpkeep {
    fn providers(&self) -> Arc<dyn Providers> {
        Arc::new(FileProviders::new(&self.workspace))
    }

    fn budget(&self, notices: NoticeSink) -> Arc<dyn Budget> {
        Arc::new(FileBudget::new(&self.workspace, notices))
    }

    fn count_runs(&self) -> Result<Vec<RunCounts>, StoreError> {
        runs::runs(&self.workspace)
    }

    fn live_workers(&self, run: &RunId) -> Result<Vec<LiveWorker>, StoreError> {
        workers::live_workers(&self.workspace, run)
    }

    fn gone_workers(&self, run: &RunId) -> Result<Vec<WorkerId>, StoreError> {
        workers::gone_workers(&self.workspace, run)
    }

    fn kept(&self, run: &RunId) -> Vec<Kept> {
        late::kept(&self.workspace, run)
    }

    fn kept_of(&self, run: &RunId, record: &JobRecord) -> Vec<Kept> {
        adopt::kept_of(self, run, record)
    }

    fn leave_out_existing(&self, run: &RunId, plan: &mut Plan<'_>) -> Result<(), StoreError> {
        batch::leave_out_existing(&self.workspace, run, plan)
    }

    fn add_jobs(
        &self,
        runs: &mut [(&RunId, &mut Plan<'_>)],
        waiting: Waiting<'_>,
    ) -> Result<Option<Vec<Added>>, StoreError> {
        batch::add_jobs(&self.workspace, &*self.clock, runs, waiting)
    }

    fn new_rows(&self, run: &RunId, plan: &Plan<'_>) -> Table {
        batch::new_rows(plan, run, &*self.clock)
    }

    fn add_rows(
        &self,
        run: &RunId,
        header: &[u8],
        rows: &[Vec<u8>],
        waiting: Waiting<'_>,
    ) -> Result<bool, StoreError> {
        batch::add_rows(&self.workspace, run, header, rows, waiting)
    }

    fn examine(
        &self,
        request: &DoctorRequest,
        setup: &(dyn Fn(Option<&Table>, &mut Checkup) + Sync),
    ) -> Result<Checkup, StoreError> {
        doctor::examine(self, request, setup)
    }

    fn repair(
        &self,
        findings: &[Finding],
        identity: &dyn Fn() -> WorkerIdentity,
    ) -> Result<Vec<String>, StoreError> {
        doctor::repair(self, findings, identity)
    }

    fn rebuild(
        &self,
        request: &RebuildRequest,
        waiting: Waiting<'_>,
    ) -> Result<RebuildReport, StoreError> {
        rebuild::rebuild(&self.workspace, &*self.clock, request, waiting)
    }

    fn consolidate(
        &self,
        request: &ConsolidateRequest,
        waiting: Waiting<'_>,
    ) -> Result<ConsolidateReport, ConsolidateError> {
        consolidate::consolidate(&self.workspace, &*self.clock, request, waiting)
    }

    fn adopt(
        &self,
        request: &AdoptRequest,
        record: &JobRecord,
        opening: Opening,
        warn: &dyn Fn(&str),
    ) -> Result<Adopted, StoreError> {
        adopt::adopt(self, request, record, opening, warn)
    }

    fn to_adopt(
        &self,
        request: &AdoptRequest,
        record: &JobRecord,
    ) -> Result<(Kept, Entry), StoreError> {
        adopt::to_adopt(self, request, record)
    }

    fn remove(
        &self,
        run: &RunId,
        confirm: &dyn Fn(&Removal) -> bool,
        waiting: Waiting<'_>,
    ) -> Result<Option<Removal>, StoreError> {
        remove::remove_run(self, run, confirm, waiting)
    }
}
