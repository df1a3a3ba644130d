//! The guard of a worker that starts programs: decides whether one is needed,
//! stands guard, and on the worker's side notices when the guard is gone.
//!
//! A worker without programs has no guard; one guard serves all jobs of its
//! worker. How processes are found and ended is `platform`'s business.

use std::collections::BTreeSet;
use std::io;
use std::thread;
use std::time::Duration;

use crate::cancel::{Cancel, Stage};
use crate::domain::algo::AlgoSettings;
use crate::domain::id::{AlgoKey, RunId};
use crate::ops::OpsContext;
use crate::ops::select::WorkerRequest;
use crate::platform::process;
use crate::store::manifest;

pub use crate::platform::process::{Ended, ask_to_end, parent_id, spawn_apart};

/// The variable that tells a worker who guards it.
const GUARD_VARIABLE: &str = "ARCHI3D_GUARD";

/// The variable that tells a worker how much a person agreed to.
const AGREED_VARIABLE: &str = "ARCHI3D_AGREED_USD";

/// The variable that tells a worker which run was chosen.
const RUN_VARIABLE: &str = "ARCHI3D_GUARDED_RUN";

/// How often a worker looks whether its guard is there.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Tells whether the worker must run under a guard that is not there yet.
pub fn is_needed(context: &OpsContext, request: &WorkerRequest) -> bool {
    guard_id().is_none() && starts_programs(context, request)
}

/// Tells whether a check of adapters, all or the one that `key` names, must run
/// under a guard that is not there yet.
pub fn is_needed_to_check(context: &OpsContext, key: Option<&AlgoKey>) -> bool {
    let is_wanted = |algo: &AlgoSettings| key.is_none_or(|key| algo.key == *key);
    let mut wanted = context.settings.algos.iter().filter(|algo| is_wanted(algo));
    guard_id().is_none() && wanted.any(is_program)
}

/// Tells whether this process is guarded: it is then in a group of its own and
/// cannot read from the terminal.
pub fn is_guarded() -> bool {
    guard_id().is_some()
}

/// Runs the worker as a guarded child and tells how it ended; nothing where
/// this system cannot guard one.
/// The worker knows of `agreed_usd` that a person agreed to that much, and works on
/// `run`, whichever is the latest by then.
pub fn stand(agreed_usd: Option<f64>, run: Option<&RunId>) -> io::Result<Option<Ended>> {
    let agreed = agreed_usd.map(|usd| usd.to_string());
    let agreed = agreed.as_deref().map(|usd| (AGREED_VARIABLE, usd));
    let run = run.map(|run| (RUN_VARIABLE, run.as_str()));
    let also: Vec<(&str, &str)> = agreed.into_iter().chain(run).collect();
    process::guard_worker(GUARD_VARIABLE, &also)
}

/// Returns the run that was chosen before the guard was set up.
pub fn chosen_run() -> Option<RunId> {
    guard_id()?;
    RunId::parse(&super::real_env(RUN_VARIABLE)?).ok()
}

/// Returns how much a person agreed to before the guard was set up.
pub fn agreed_usd() -> Option<f64> {
    guard_id()?;
    super::real_env(AGREED_VARIABLE)?.parse().ok()
}

/// Prepares a worker for programs: what they leave behind comes to it, and when
/// its guard dies everything stops and is given back. Calls `tell` then.
pub fn accept(cancel: &Cancel, tell: impl FnOnce() + Send + 'static) -> io::Result<()> {
    let Some(guard) = guard_id() else {
        return Ok(());
    };
    let adopts = process::adopt_orphans();
    let cancel = cancel.clone();
    let watches = thread::Builder::new().name("guard".into()).spawn(move || {
        while process::parent_id() == Some(guard) {
            thread::sleep(LOOK_EVERY);
        }
        tell();
        cancel.raise(Stage::Kill);
    });
    adopts.and(watches).map(drop)
}

/// Returns the guard's process id, if this process is guarded.
fn guard_id() -> Option<u32> {
    let id: u32 = super::real_env(GUARD_VARIABLE)?.parse().ok()?;
    (process::parent_id() == Some(id)).then_some(id)
}

fn is_program(algo: &AlgoSettings) -> bool {
    algo.kind.as_deref() == Some("process")
}

/// Tells whether a job that may be selected is carried out by a program. Looks
/// at the manifest alone: how the jobs stand is found out under the guard.
fn starts_programs(context: &OpsContext, request: &WorkerRequest) -> bool {
    if request.dry_run {
        return false;
    }
    if let Some(forced) = &request.adapter {
        return context
            .settings
            .algo(forced.as_str())
            .is_some_and(is_program);
    }
    let programs: BTreeSet<&str> = context
        .settings
        .algos
        .iter()
        .filter(|algo| is_program(algo))
        .map(|algo| algo.key.as_str())
        .collect();
    if programs.is_empty() {
        return false;
    }
    // What is wrong with the manifest is for the worker to say.
    let Ok(manifest) = manifest::read(&context.workspace.run(&request.run_id)) else {
        return false;
    };
    let ids = manifest.rows.iter().map(|row| row.job_id.as_str());
    let filter = request.query.among(ids);
    manifest.rows.iter().any(|row| {
        let (id, algo) = (row.job_id.as_str(), row.algo.as_str());
        filter.matches(id, &row.product_id, &row.variant, Some(algo)) && programs.contains(algo)
    })
}
