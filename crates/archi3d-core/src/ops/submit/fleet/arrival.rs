//! Runs of the fleet get a folder here, so that they are shown: those that were asked for, also where the server that was asked
//! died before it made theirs, and those that anybody pushed whose files lie in a bucket.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::parameters;
use crate::domain::id::RunId;
use crate::domain::text::shell_word;
use crate::domain::time::Timestamp;
use crate::ops::{OpsContext, OpsError, self_check};
use crate::platform::fault;
use crate::store::error::IoContext as _;
use crate::store::orders::{FleetResult, Orders, Run, Shown};
use crate::store::{Fleet, manifest};
use crate::workspace::fleet::{FleetMark, FleetState};
use crate::workspace::lock::FileLock;
use crate::workspace::paths::RunPaths;

/// How long another program may hold the registry before a folder is left for later.
const PATIENCE: Duration = Duration::from_secs(20);

/// The runs that have a folder here with so many jobs, by that folder: how the database numbers them, and the jobs.
static ARRIVED: LazyLock<Mutex<HashMap<PathBuf, (i64, usize)>>> = LazyLock::new(Mutex::default);

/// Makes the folders of runs that a service shows and that have none here, or the one, and adds what jobs they got since.
pub(in crate::ops::submit) fn arrive(
    context: &OpsContext,
    server: &dyn Fleet,
    only: Option<&RunId>,
) -> Result<(), OpsError> {
    let mut trouble = Ok(());
    for shown in server.look(|c| c.shown(only.map(RunId::as_str)))? {
        let run_id = RunId::parse(&shown.run_id).ok();
        let run_id = run_id.filter(|run| !run.as_str().starts_with(self_check::TRIALS));
        let Some(run_id) = run_id else { continue };
        let paths = context.workspace.run(&run_id);
        let of_others = (paths.root().to_owned(), shown.run_no);
        if has_all(&paths, &shown) || others().contains(&of_others) {
            continue;
        }
        let Some(known) = server.look(|c| known(c, &run_id))? else {
            continue;
        };
        if !is_ours(context, &known)? {
            others().insert(of_others);
            continue;
        }
        // Nobody who reads waits for the locks of files meanwhile. One that must wait keeps no other away.
        let rows = |run_no| Ok(server.look(|c| c.rows(run_no))?);
        trouble = trouble.and(bring(context, known, &run_id, rows));
    }
    trouble
}

/// Runs that other workspaces asked for and whose files only they can read.
fn others() -> MutexGuard<'static, HashSet<(PathBuf, i64)>> {
    static OTHERS: LazyLock<Mutex<HashSet<(PathBuf, i64)>>> = LazyLock::new(Mutex::default);
    OTHERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A run as the database knows it, and which database that is.
type Known = (Run, (String, String));

fn known(c: &mut dyn Orders, run_id: &RunId) -> FleetResult<Option<Known>> {
    let place = c.place();
    Ok(c.run(run_id.as_str())?.map(|run| (run, place)))
}

/// Tells whether this workspace shows a run.
fn is_ours(context: &OpsContext, (run, _): &Known) -> Result<bool, OpsError> {
    let about = parameters(run);
    let of = about["workspace_id"].as_str();
    Ok(run.artifacts_url.is_some() || of.is_none() || of == own_id(context)?.as_deref())
}

/// Tells whether the folder of a run lists all of its jobs. A run never loses one.
fn has_all(paths: &RunPaths, shown: &Shown) -> bool {
    let arrived = || ARRIVED.lock().unwrap_or_else(PoisonError::into_inner);
    let all = (shown.run_no, shown.jobs);
    if !paths.manifest().is_file() {
        return false;
    }
    if arrived().get(paths.root()) == Some(&all) {
        return true;
    }
    let listed = manifest::read(paths).map_or(0, |manifest| manifest.rows.len());
    let has_all = listed >= shown.jobs;
    if has_all {
        arrived().insert(paths.root().to_owned(), all);
    }
    has_all
}

/// Makes the folder of a run if there is none.
pub(super) fn arrive_one(
    context: &OpsContext,
    c: &mut dyn Orders,
    run_id: &RunId,
) -> Result<(), OpsError> {
    if context.workspace.run(run_id).manifest().is_file() {
        return Ok(());
    }
    match known(c, run_id)? {
        Some(known) if is_ours(context, &known)? => {
            bring(context, known, run_id, |run_no| Ok(c.rows(run_no)?))
        }
        _ => Ok(()),
    }
}

/// Makes the folder of a run from what the database has, or adds what is missing there; another run of this name stays what it is.
fn bring(
    context: &OpsContext,
    (run, (server, database)): Known,
    run_id: &RunId,
    rows: impl FnOnce(i64) -> Result<Vec<Vec<u8>>, OpsError>,
) -> Result<(), OpsError> {
    let paths = context.workspace.run(run_id);
    let about = parameters(&run);
    let text = |name: &str| about[name].as_str().unwrap_or_default().to_owned();
    let mark = FleetMark {
        v: 1,
        state: FleetState::Pushed,
        pulled: false,
        push: text("push"),
        run_id: run_id.to_string(),
        server,
        database,
        pushed_at: Timestamp::new(run.created),
        pushed_by: text("by"),
    };
    let is_it = || -> Result<bool, OpsError> {
        let known = FleetMark::read(&paths).context("read", &paths.fleet())?;
        Ok(match known {
            Some(known) => known.state == FleetState::Pushed && known.push == mark.push,
            None => !paths.manifest().exists() && !paths.rows().exists(),
        })
    };
    if !is_it()? {
        return Ok(());
    }
    let state = paths.state();
    std::fs::create_dir_all(&state).context("create", &state)?;
    let path = paths.push_lock();
    let held = FileLock::acquire_within(&path, PATIENCE).context("lock", &path)?;
    if held.is_none() || !is_it()? {
        return Ok(());
    }
    // First, so that no worker on files ever takes it.
    mark.create(&paths).context("write", &paths.fleet())?;
    fault::here("submit.marked");
    let rows = rows(run.run_no)?;
    let patience = &mut |waited| waited < PATIENCE;
    let done = context
        .local()
        .add_rows(run_id, &run.header, &rows, patience)?;
    if done {
        return Ok(());
    }
    Err(OpsError::Setup {
        message: "gave up waiting for tables/generations.lock".into(),
        hint: Some(format!(
            "`archi3d run status --run-id {}` shows the run once it is free",
            shell_word(run_id.as_str())
        )),
    })
}

/// Returns what this workspace calls itself; nothing if it never ordered anything.
pub(super) fn own_id(context: &OpsContext) -> Result<Option<String>, OpsError> {
    let tables = context.workspace.tables();
    let own = context.workspace.id();
    Ok(own.context("read the name of the workspace in", &tables)?)
}
