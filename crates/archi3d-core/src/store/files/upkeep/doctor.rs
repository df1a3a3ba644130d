//! A check-up of the whole workspace, and the repairing of what can be repaired without
//! losing or buying anything.
//!
//! The check-up writes nothing and takes no lock but one that nobody waits for.
//! One file per family of checks; what a finding means is in `domain::finding`.

use crate::domain::finding::{Code, Finding, is_healthy};
use crate::domain::id::RunId;
use crate::store::{StoreError, table_file};
use crate::table::Table;
use crate::workspace::paths::Workspace;

use super::FileUpkeep;

mod copies;
mod exam;
mod ledger;
mod links;
mod locks;
mod place;
mod repair;
mod rows;
mod runs;
mod tables;

pub use locks::{EXCLUDE as LOCKS_EXCLUDE, Probe, probe_lock};
pub use place::LOW_BYTES;
pub(super) use repair::repair;

/// What is to be looked at.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DoctorRequest {
    /// Only this run, beside the workspace as a whole.
    pub run_id: Option<RunId>,
    /// Also read every result, compare it with its record, and look for links beside it.
    pub deep: bool,
}

/// What a check-up found.
#[derive(Debug, Default)]
pub struct Checkup {
    /// What the place is like: names and what they say, in order.
    pub facts: Vec<(&'static str, String)>,
    /// What was found, the worst first.
    pub findings: Vec<Finding>,
}

impl Checkup {
    /// Tells whether nothing is wrong; notes do not count.
    pub fn is_healthy(&self) -> bool {
        is_healthy(&self.findings)
    }

    /// Adds a finding.
    pub fn find(&mut self, finding: Finding) {
        self.findings.push(finding);
    }

    fn fact(&mut self, name: &'static str, value: impl Into<String>) {
        self.facts.push((name, value.into()));
    }
}

/// Looks at everything and changes nothing; `setup` adds what the configuration has to do with it.
pub(super) fn examine(
    upkeep: &FileUpkeep,
    request: &DoctorRequest,
    setup: &(dyn Fn(Option<&Table>, &mut Checkup) + Sync),
) -> Result<Checkup, StoreError> {
    // Most of a first look is waiting for the disk, which answers many at a time.
    let threads = 4 * rayon::current_num_threads();
    match rayon::ThreadPoolBuilder::new().num_threads(threads).build() {
        Ok(pool) => pool.install(|| look_at_all(upkeep, request, setup)),
        Err(_) => look_at_all(upkeep, request, setup),
    }
}

fn look_at_all(
    upkeep: &FileUpkeep,
    request: &DoctorRequest,
    setup: &(dyn Fn(Option<&Table>, &mut Checkup) + Sync),
) -> Result<Checkup, StoreError> {
    let workspace = &upkeep.workspace;
    if let Some(run_id) = &request.run_id {
        check_known(workspace, run_id)?;
    }
    let mut checkup = Checkup::default();
    place::look(workspace, &mut checkup);
    links::look(workspace, request.deep, &mut checkup);
    locks::look(workspace, &mut checkup);
    let mut table = tables::look(workspace, &mut checkup);
    copies::look(workspace, table.as_ref(), &mut checkup);
    let unread = runs::look(upkeep, request, table.as_mut(), &mut checkup);
    setup(table.as_ref(), &mut checkup);
    // The largest thing in memory, and nobody needs it any more.
    drop(table);
    ledger::look(upkeep, request, &unread, &mut checkup);
    let only = request.run_id.as_ref().map(ToString::to_string);
    checkup.findings.retain(|finding| {
        let other = |only: &String| finding.run_id.as_ref().is_some_and(|run| run != only);
        !only.as_ref().is_some_and(other)
    });
    checkup
        .findings
        .sort_by(|a, b| b.severity.cmp(&a.severity).then(a.code.cmp(&b.code)));
    Ok(checkup)
}

fn check_known(workspace: &Workspace, run_id: &RunId) -> Result<(), StoreError> {
    let has_rows = || {
        let table = table_file::read(&workspace.registry());
        table.is_ok_and(|table| table.is_some_and(|table| has_run(&table, run_id)))
    };
    if workspace.run(run_id).root().exists() || has_rows() {
        return Ok(());
    }
    Err(StoreError::Refused {
        message: format!("run {run_id} has neither a folder nor a row"),
        hint: Some("check --run-id, or leave it out to look at all runs".into()),
    })
}

fn has_run(table: &Table, run_id: &RunId) -> bool {
    !table.rows_of("run_id", run_id.as_str()).is_empty()
}

/// Returns a finding about something that could not be looked at.
pub fn unreadable(path: &str, error: &dyn std::fmt::Display) -> Finding {
    Finding::new(Code::Unreadable, format!("cannot be looked at: {error}"))
        .at(path, None)
        .fix("check its permissions and its owner")
}
