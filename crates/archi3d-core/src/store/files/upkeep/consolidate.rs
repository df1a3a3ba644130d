//! `consolidate`: makes the registry agree with what is on disk.
//!
//! What is written is decided under the registry's lock on rows read inside it.
//! It changes single cells and leaves every row outside the selection as it is.
//! Markers and results are only read.

use std::path::Path;
use std::time::Duration;

use crate::domain::id::RunId;
use crate::domain::job::Status;
use crate::domain::lease::Rhythm;
use crate::domain::nearest::suggestion;
use crate::domain::text::shell_word;
use crate::domain::time::Clock;
use crate::platform::fault;
use crate::store::bounds::{refuse_links_outside, refuse_pushed};
use crate::store::error::{IoContext, StoreError};
use crate::store::files::Inspector;
use crate::store::files::registry::missing_hint;
use crate::store::table_file;
use crate::table::Table;
use crate::workspace::durable;
use crate::workspace::lock::TableLock;
use crate::workspace::paths::Workspace;

mod evidence;
mod plan;
mod report;

use plan::{Decider, Plan};

pub(in crate::store::files) use evidence::is_whole_result;

pub use report::{ConsolidateReport, JobNote, MergedRow, RowChange};

/// What is to be set right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConsolidateRequest {
    /// The run.
    pub run_id: RunId,
    /// Write nothing but the log line.
    pub dry_run: bool,
    /// Write nothing if there is a problem that only a person can set right.
    pub strict: bool,
    /// Only rows in one of these states; `None` means all.
    pub only_status: Option<Vec<Status>>,
    /// Whether the status may change.
    pub fix_status: bool,
    /// At most this many rows are looked at.
    pub max_rows: Option<usize>,
}

/// Why nothing was set right.
#[derive(Debug, thiserror::Error)]
pub enum ConsolidateError {
    /// The registry knows no such run.
    #[error("run {run_id} has no row in tables/generations.csv{suggestion}")]
    UnknownRun {
        /// What was asked for.
        run_id: RunId,
        /// A name that may have been meant.
        suggestion: String,
    },
    /// No result of the run is there at all.
    #[error("{outputs}/ is missing or empty, and {count} jobs are completed: nothing was changed")]
    NoOutputs {
        /// The folder, relative to the workspace.
        outputs: String,
        /// How many rows would have become failed.
        count: usize,
        /// What to do next.
        hint: String,
    },
    /// A table or a marker cannot be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Whoever waited for the registry's lock gave up.
    #[error("gave up waiting for {lock}, which another program holds")]
    Busy {
        /// The lock, relative to the workspace.
        lock: String,
    },
}

impl ConsolidateError {
    /// Tells whether the request or the set-up is wrong, rather than the disk.
    pub fn is_setup(&self) -> bool {
        match self {
            Self::UnknownRun { .. } | Self::NoOutputs { .. } => true,
            Self::Store(error) => error.is_setup(),
            Self::Busy { .. } => false,
        }
    }

    /// Returns what to do next.
    pub fn hint(&self) -> Option<&str> {
        match self {
            Self::UnknownRun { .. } => {
                Some("check --run-id; `archi3d batch create` makes the rows of a new run")
            }
            Self::NoOutputs { hint, .. } => Some(hint),
            Self::Store(error) => error.hint(),
            Self::Busy { .. } => Some("nothing was changed; try again later"),
        }
    }
}

/// Sets the rows of a run right. While the registry's lock is busy, `waiting`
/// hears for how long and gives up by returning `false`.
pub fn consolidate(
    workspace: &Workspace,
    clock: &dyn Clock,
    request: &ConsolidateRequest,
    waiting: &mut dyn FnMut(Duration) -> bool,
) -> Result<ConsolidateReport, ConsolidateError> {
    // A mistyped run must leave no trace, not even a lock file.
    let table = read_run(workspace, &request.run_id)?;
    refuse_links_outside(workspace, Some(&request.run_id))?;
    // Its rows tell what its fleet knows, and its markers are of the time before.
    refuse_pushed(workspace, &request.run_id)?;
    let decider = decider(workspace, clock, request)?;
    let plan = Plan::make(&decider, &table)?;
    refuse_lost_disk(workspace, &request.run_id, &plan)?;
    let mut report = ConsolidateReport::new(decider.now, request, &plan);
    if !request.dry_run && plan.has_changes() && !report.is_refused() {
        report = write(workspace, clock, request, (table, plan), waiting)?;
    }
    report.log(workspace);
    Ok(report)
}

/// Decides again under the lock and writes. Looking at the disk takes long and
/// others wait meanwhile, so rows that need no change are not looked at again
/// if the table is still the same.
fn write(
    workspace: &Workspace,
    clock: &dyn Clock,
    request: &ConsolidateRequest,
    (seen, mut plan): (Table, Plan),
    waiting: &mut dyn FnMut(Duration) -> bool,
) -> Result<ConsolidateReport, ConsolidateError> {
    let lock = workspace.registry_lock();
    let held = TableLock::acquire(workspace, waiting).context("lock", &lock)?;
    let _held = held.ok_or_else(|| ConsolidateError::Busy {
        lock: workspace.relative(&lock).unwrap_or_default(),
    })?;
    let mut table = read_run(workspace, &request.run_id)?;
    let decider = decider(workspace, clock, request)?;
    if table.bytes() == seen.bytes() {
        plan.renew(&decider, &table)?;
    } else {
        plan = Plan::make(&decider, &table)?;
    }
    drop(seen);
    refuse_lost_disk(workspace, &request.run_id, &plan)?;
    let mut report = ConsolidateReport::new(decider.now, request, &plan);
    if !report.is_refused() && plan.apply(&mut table) {
        let tag = format!("{}-{}", std::process::id(), uuid::Uuid::new_v4().simple());
        let path = workspace.registry();
        fault::here("consolidate.before");
        durable::replace(&path, table.bytes(), &tag).context("replace", &path)?;
        fault::here("consolidate.written");
        report.written = true;
    }
    Ok(report)
}

/// A whole run without a single result is a disk that is not mounted, not a
/// thousand lost models.
fn refuse_lost_disk(
    workspace: &Workspace,
    run_id: &RunId,
    plan: &Plan,
) -> Result<(), ConsolidateError> {
    let count = plan.downgrades();
    let outputs = workspace.run(run_id).outputs();
    let has_entry = || {
        std::fs::read_dir(&outputs).map_or_else(
            |error| error.kind() != std::io::ErrorKind::NotFound,
            |mut entries| entries.next().is_some(),
        )
    };
    if count == 0 || has_entry() {
        return Ok(());
    }
    Err(ConsolidateError::NoOutputs {
        outputs: workspace.relative(&outputs).unwrap_or_default(),
        count,
        hint: format!(
            "mount the disk with the results and try again; if they really are gone, \
             `archi3d run worker --run-id {} --redo` makes them again",
            shell_word(run_id.as_str())
        ),
    })
}

fn decider<'a>(
    workspace: &'a Workspace,
    clock: &dyn Clock,
    request: &'a ConsolidateRequest,
) -> Result<Decider<'a>, StoreError> {
    let now = clock.now();
    let inspector = Inspector::open(workspace, &request.run_id, Rhythm::default(), now)?;
    Ok(Decider {
        workspace,
        inspector,
        request,
        now,
    })
}

/// Reads the registry and checks that it knows the run.
fn read_run(workspace: &Workspace, run_id: &RunId) -> Result<Table, ConsolidateError> {
    let path = workspace.registry();
    let table = table_file::read(&path)?.ok_or_else(|| StoreError::Setup {
        what: "there is no such table".into(),
        path: path.clone(),
        hint: missing_hint(&path),
    })?;
    table
        .require(&["run_id", "job_id", "status"])
        .map_err(|error| table_file::content(&path, &error))?;
    if table.rows_of("run_id", run_id.as_str()).is_empty() {
        return Err(ConsolidateError::UnknownRun {
            run_id: run_id.clone(),
            suggestion: near_run(&table, &workspace.runs(), run_id),
        });
    }
    Ok(table)
}

fn near_run(table: &Table, runs: &Path, run_id: &RunId) -> String {
    let mut known = std::collections::BTreeSet::new();
    if let Some(column) = table.column("run_id") {
        let cells = (0..table.len()).map(|row| table.cell(row, column));
        known.extend(cells.map(|cell| String::from_utf8_lossy(&cell).into_owned()));
    }
    let near = suggestion(run_id.as_str(), known.iter().map(String::as_str));
    if near.is_empty() && runs.join(run_id.as_str()).is_dir() {
        return format!(", though the folder runs/{run_id} is there");
    }
    near
}
