//! `run remove`: takes a run out of the workspace that has nothing to lose.
//!
//! A run is removed only if no model would go with it: whatever was really made,
//! bought or may have been billed keeps the run. Its rows leave the registry and its
//! folder goes; what the ledger says stays. Steps: the folder is moved away while the
//! run's recovery is locked, so that no worker can begin; then the rows go; then the
//! folder that was moved away. The same command again finishes what was cut short.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::domain::id::RunId;
use crate::domain::job::{JobState, Status};
use crate::domain::lease::{Rhythm, Verdict};
use crate::domain::patch::DRY_RUN;
use crate::domain::text::{counted, one_line};
use crate::platform;
use crate::store::bounds::{refuse_links_outside, refuse_pushed};
use crate::store::error::IoContext;
use crate::store::files::{self, LedgerFile};
use crate::store::runs::JobName;
use crate::store::upkeep::Waiting;
use crate::store::{JobRecord, JobSnapshot, StoreError, table_file};
use crate::workspace::artifact;
use crate::workspace::durable;
use crate::workspace::lock::{self, FileLock, TableLock};
use crate::workspace::paths::{RunPaths, Workspace};

use super::FileUpkeep;

/// So long another start of a worker is waited for.
const PATIENCE: Duration = Duration::from_secs(5);

/// So many reasons are named.
const NAMED: usize = 10;

/// What a run's own folder holds.
const OWN: &[&str] = &[
    "manifest.csv",
    "rows.csv",
    "pictures.csv",
    "state",
    "outputs",
    "logs",
];

/// What removing a run would take away.
#[derive(Debug, Clone, PartialEq)]
pub struct Removal {
    /// The run.
    pub run_id: RunId,
    /// Rows of the registry.
    pub rows: usize,
    /// Of its jobs, those that were rehearsed.
    pub rehearsed: usize,
    /// Of its jobs, those that failed.
    pub failed: usize,
    /// What the ledger says was spent on it; that stays.
    pub spent_usd: f64,
}

/// Removes a run, unless something in it would be lost or `confirm` says no. Returns
/// nothing then.
pub(super) fn remove_run(
    context: &FileUpkeep,
    run_id: &RunId,
    confirm: &dyn Fn(&Removal) -> bool,
    waiting: Waiting<'_>,
) -> Result<Option<Removal>, StoreError> {
    let workspace = &context.workspace;
    refuse_links_outside(workspace, Some(run_id))?;
    refuse_pushed(workspace, run_id)?;
    let removal = look(context, run_id)?;
    if !confirm(&removal) {
        return Ok(None);
    }
    let paths = workspace.run(run_id);
    let _held = hold(&paths, run_id)?;
    // What was agreed to may have changed while somebody thought about it.
    let removal = Removal {
        rows: removal.rows,
        ..look(context, run_id)?
    };
    let locked = TableLock::acquire(workspace, waiting);
    let locked = locked.context("lock", &workspace.registry_lock())?;
    let locked =
        locked.ok_or_else(|| refused(run_id, "another program holds tables/generations.lock"))?;
    let moved = move_away(workspace, &paths)?;
    take_rows_out(&locked, workspace, run_id)?;
    if let Some(folder) = moved {
        let trash = folder.parent().map(Path::to_owned);
        artifact::discard(&folder).context("remove", &folder)?;
        // Another removal may use it at this moment.
        let _ = trash.map(fs::remove_dir);
    }
    Ok(Some(removal))
}

/// Says what there is to remove, or why the run must stay.
fn look(context: &FileUpkeep, run_id: &RunId) -> Result<Removal, StoreError> {
    let workspace = &context.workspace;
    let (rows, made) = rows_of(workspace, run_id)?;
    let ledger = LedgerFile::read(workspace)?;
    let mut removal = Removal {
        run_id: run_id.clone(),
        rows,
        rehearsed: 0,
        failed: 0,
        spent_usd: ledger.usage(run_id).spent_usd,
    };
    let mut reasons = Vec::new();
    if let Some(reserved) = ledger.open(run_id).first() {
        reasons.push(format!(
            "money is reserved for job {}, which may have been billed",
            reserved.0.job_id
        ));
    }
    if workspace.has_run(run_id) {
        let paths = workspace.run(run_id);
        let now = context.clock.now();
        let run = files::read_run(workspace, run_id, Rhythm::default(), now)?;
        let mut told = HashSet::new();
        for job in &run.jobs {
            removal.count(job);
            let kept = kept_by(job);
            if kept.is_some() || is_rehearsed(job) {
                told.insert(job.job_id.as_str());
            }
            reasons.extend(kept);
        }
        reasons.extend(kept_by_files(&paths, &told)?);
        reasons.extend(live_workers(&paths)?);
    } else if rows == 0 {
        return Err(StoreError::Refused {
            message: format!("no run {run_id}"),
            hint: Some("`archi3d run list` shows the runs".into()),
        });
    } else if made > 0 {
        reasons.push(format!(
            "{} says that it has a result",
            counted(made, "row")
        ));
    }
    if reasons.is_empty() {
        return Ok(removal);
    }
    let more = reasons.len().saturating_sub(NAMED);
    reasons.truncate(NAMED);
    if more > 0 {
        reasons.push(format!("… {more} more"));
    }
    Err(refused(run_id, &format!("\n  {}", reasons.join("\n  "))))
}

fn refused(run_id: &RunId, why: &str) -> StoreError {
    StoreError::Refused {
        message: format!("run {run_id} is not removed: {why}"),
        hint: Some(
            "nothing was changed; a run with results stays. To keep its waiting jobs from running: \
             `archi3d run cancel`"
                .into(),
        ),
    }
}

impl Removal {
    fn count(&mut self, job: &JobRecord) {
        self.rehearsed += usize::from(is_rehearsed(job));
        let failed = matches!(&job.snapshot, JobSnapshot::Known { state, .. }
            if state.status() == Status::Failed);
        self.failed += usize::from(failed);
    }
}

fn is_rehearsed(job: &JobRecord) -> bool {
    matches!(
        &job.snapshot,
        JobSnapshot::Known {
            state: JobState::Completed {
                simulated: true,
                ..
            },
            ..
        }
    )
}

/// Says why a job keeps its run.
fn kept_by(job: &JobRecord) -> Option<String> {
    let name = JobName::of(job);
    let named = format!("{} {} ({})", name.item(), one_line(&name.algo), job.job_id);
    match &job.snapshot {
        JobSnapshot::Known {
            purchase: Some(id), ..
        } if !is_rehearsed(job) => Some(format!("{named} was bought as {}", one_line(id))),
        JobSnapshot::Known { doubtful: true, .. }
        | JobSnapshot::Known {
            holder_died: true, ..
        } => Some(format!("{named} may have been billed")),
        JobSnapshot::Known { state, holder, .. } => match (state, holder) {
            (
                JobState::Completed {
                    simulated: false, ..
                },
                _,
            ) => Some(format!("{named} has a result")),
            (JobState::Running { .. }, Some(holder)) if holder.verdict != Verdict::Dead => {
                let worker = one_line(&holder.worker);
                Some(format!("{named} is held by worker {worker}"))
            }
            (JobState::Running { .. }, _) => Some(format!(
                "{named} was left by a worker that died and may have been billed"
            )),
            _ => None,
        },
        JobSnapshot::Unknown(word) => Some(format!("{named} has the unknown status {word:?}")),
        JobSnapshot::NotRegistered | JobSnapshot::NotInManifest | JobSnapshot::Renamed => None,
    }
}

/// Says which files keep the run: all but what rehearsals left, and what was told
/// with its job.
fn kept_by_files(paths: &RunPaths, told: &HashSet<&str>) -> Result<Vec<String>, StoreError> {
    let mut kept = Vec::new();
    for name in names_in(paths.root())? {
        if !OWN.contains(&name.as_str()) && !durable::is_temporary(&name) {
            kept.push(format!("{name} is not a file of the run"));
        }
    }
    let outputs = paths.outputs();
    for name in names_in(&outputs)? {
        let path = outputs.join(&name);
        if !told.contains(name.as_str()) && has_files(&path).context("look into", &path)? {
            kept.push(format!("outputs/{name} has files"));
        }
    }
    Ok(kept)
}

fn names_in(folder: &Path) -> Result<Vec<String>, StoreError> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error).context("list", folder),
    };
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry.context("list", folder)?;
        names.push(entry.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names)
}

/// Tells whether there is anything but folders at or below `path`.
fn has_files(path: &Path) -> io::Result<bool> {
    if !path.symlink_metadata()?.is_dir() {
        return Ok(true);
    }
    for entry in fs::read_dir(path)? {
        if has_files(&entry?.path())? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Names the workers of this machine that are there, whether or not they hold a job.
fn live_workers(paths: &RunPaths) -> Result<Vec<String>, StoreError> {
    let folder = paths.journals();
    let mut live = Vec::new();
    for name in names_in(&folder)? {
        let path = folder.join(&name);
        let journal = name.strip_suffix(".jsonl");
        if let Some(worker) = journal
            && lock::is_held(&path).context("look at", &path)?
        {
            live.push(format!("worker {worker} is running"));
        }
    }
    Ok(live)
}

/// Keeps workers from beginning with the run.
fn hold(paths: &RunPaths, run_id: &RunId) -> Result<Option<FileLock>, StoreError> {
    if !paths.root().is_dir() {
        return Ok(None);
    }
    let state = paths.state();
    fs::create_dir_all(&state).context("create", &state)?;
    let path = paths.recovery_lock();
    let held = FileLock::acquire_within(&path, PATIENCE).context("lock", &path)?;
    if held.is_none() {
        return Err(refused(run_id, "a worker is starting"));
    }
    Ok(held)
}

/// Returns how many rows a run has, and how many of them tell of a real result.
fn rows_of(workspace: &Workspace, run_id: &RunId) -> Result<(usize, usize), StoreError> {
    let Some(mut table) = table_file::read(&workspace.registry())? else {
        return Ok((0, 0));
    };
    let rows: Vec<usize> = table.index(run_id.as_str()).rows().collect();
    let (status, source) = (table.column("status"), table.column("price_source"));
    let made = |row: &&usize| {
        let is = |column: Option<usize>, word: &str| {
            column.is_some_and(|column| *table.cell(**row, column) == *word.as_bytes())
        };
        is(status, Status::Completed.word()) && !is(source, DRY_RUN)
    };
    let made = rows.iter().filter(made).count();
    Ok((rows.len(), made))
}

/// Moves the run's folder to where no command looks; returns where it is then.
fn move_away(workspace: &Workspace, paths: &RunPaths) -> Result<Option<PathBuf>, StoreError> {
    if !paths.root().is_dir() {
        return Ok(None);
    }
    let trash = workspace.runs().join(".removed");
    fs::create_dir_all(&trash).context("create", &trash)?;
    let to = trash.join(uuid::Uuid::new_v4().simple().to_string());
    platform::rename_replace(paths.root(), &to).context("move away", paths.root())?;
    Ok(Some(to))
}

fn take_rows_out(
    _registry: &TableLock,
    workspace: &Workspace,
    run_id: &RunId,
) -> Result<(), StoreError> {
    let path = workspace.registry();
    let Some(mut table) = table_file::read(&path)? else {
        return Ok(());
    };
    let rows: Vec<usize> = table.index(run_id.as_str()).rows().collect();
    if rows.is_empty() {
        return Ok(());
    }
    table.remove(&rows);
    let tag = format!("{}-{}", std::process::id(), uuid::Uuid::new_v4().simple());
    durable::replace(&path, table.bytes(), &tag).context("replace", &path)?;
    Ok(())
}
