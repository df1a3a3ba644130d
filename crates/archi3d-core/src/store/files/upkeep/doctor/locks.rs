//! Do locks exclude? Tried with a second process of the same program on a lock
//! file that is there already, so nothing is written and nobody waits.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::domain::finding::{Code, Finding};
use crate::workspace::lock::FileLock;
use crate::workspace::paths::Workspace;

use super::{Checkup, unreadable};

/// How long the second process may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// What is said of locks that do what they are for.
pub const EXCLUDE: &str = "exclude other processes";

/// What a second process saw of a lock that the first one holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Probe {
    /// It was refused, as it should be.
    Refused,
    /// It got the lock too.
    Granted,
    /// It could not try.
    Failed,
}

impl Probe {
    /// Returns the exit code by which one process tells another.
    pub fn code(self) -> u8 {
        match self {
            Self::Refused => 0,
            Self::Granted => 10,
            Self::Failed => 11,
        }
    }
}

/// Tries to take a lock that the process which started this one holds.
pub fn probe_lock(path: &Path) -> Probe {
    if !path.is_file() {
        return Probe::Failed;
    }
    match FileLock::try_acquire(path) {
        Ok(None) => Probe::Refused,
        Ok(Some(_)) => Probe::Granted,
        Err(_) => Probe::Failed,
    }
}

pub(super) fn look(workspace: &Workspace, checkup: &mut Checkup) {
    let Some(path) = lock_to_try(workspace) else {
        checkup.fact("locks", "not tried: there is no lock file yet");
        let finding = Finding::new(Code::LocksUntested, "locks were not tried");
        checkup.find(finding.fix("archi3d doctor, after a worker has run"));
        return;
    };
    let shown = workspace.relative(&path).unwrap_or_default();
    let held = match FileLock::try_acquire(&path) {
        Ok(Some(held)) => held,
        Ok(None) => {
            // Somebody holds it and we were refused: that is the proof.
            checkup.fact("locks", EXCLUDE);
            return;
        }
        Err(error) => return checkup.find(unreadable(&shown, &error)),
    };
    let seen = ask_second_process(&path);
    drop(held);
    match seen {
        Probe::Refused => checkup.fact("locks", EXCLUDE),
        Probe::Granted => {
            checkup.fact("locks", "do not exclude other processes");
            checkup.find(
                Finding::new(
                    Code::LocksDoNotExclude,
                    "a second process got a lock that was held",
                )
                .at(shown, None)
                .fix("move the workspace to a disk with locks, or run one worker at a time"),
            );
        }
        Probe::Failed => {
            checkup.fact("locks", "could not be tried");
            let finding = Finding::new(Code::LocksUntested, "a second process could not try locks");
            checkup.find(finding.at(shown, None));
        }
    }
}

/// Returns a lock file that nobody waits for: each run's own for trying, else the
/// registry's, which is held for moments only.
fn lock_to_try(workspace: &Workspace) -> Option<PathBuf> {
    let runs = workspace.run_ids().unwrap_or_default().into_iter();
    let probes = runs.map(|run| workspace.run(&run).state().join("probe.lock"));
    let registry = std::iter::once(workspace.registry_lock());
    let is_plain = |path: &PathBuf| {
        let inside = path
            .canonicalize()
            .is_ok_and(|real| real.starts_with(workspace.root()));
        inside && fs::symlink_metadata(path).is_ok_and(|found| found.is_file())
    };
    probes.chain(registry).find(is_plain)
}

fn ask_second_process(path: &Path) -> Probe {
    let Ok(program) = std::env::current_exe() else {
        return Probe::Failed;
    };
    #[expect(
        clippy::disallowed_methods,
        reason = "only another process can tell whether a lock excludes it"
    )]
    let child = Command::new(program)
        .args(["doctor", "--probe-lock"])
        .arg(path)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let Ok(mut child) = child else {
        return Probe::Failed;
    };
    let start = Instant::now();
    loop {
        match child.try_wait() {
            Ok(Some(status)) => {
                let code = status.code().and_then(|code| u8::try_from(code).ok());
                return [Probe::Refused, Probe::Granted]
                    .into_iter()
                    .find(|probe| Some(probe.code()) == code)
                    .unwrap_or(Probe::Failed);
            }
            Ok(None) if start.elapsed() < PATIENCE => thread::sleep(Duration::from_millis(2)),
            _ => {
                let _ = child.kill();
                let _ = child.wait();
                return Probe::Failed;
            }
        }
    }
}
