//! Every path of a workspace, from one root.
//!
//! Stored paths are relative to the root and separated by `/` on every system.

use std::fs::File;
use std::path::{Component, Path, PathBuf};

use crate::domain::id::{JobId, RunId, WorkerId};
use crate::domain::naming::{self, StateFile};
use crate::platform;

/// The folder everything is in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workspace {
    root: PathBuf,
}

impl Workspace {
    /// Takes `root`, which should be absolute and free of links.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// Returns the folder itself.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns `dataset/`.
    pub fn dataset(&self) -> PathBuf {
        self.root.join("dataset")
    }

    /// Returns `config/`.
    pub fn config(&self) -> PathBuf {
        self.root.join("config")
    }

    /// Returns `tables/`.
    pub fn tables(&self) -> PathBuf {
        self.root.join("tables")
    }

    /// Returns the registry.
    pub fn registry(&self) -> PathBuf {
        self.tables().join("generations.csv")
    }

    /// Returns the lock of the registry, which other tools take too.
    pub fn registry_lock(&self) -> PathBuf {
        self.tables().join("generations.lock")
    }

    /// Returns the item table.
    pub fn items(&self) -> PathBuf {
        self.tables().join("items.csv")
    }

    /// Returns the table of issues found in the dataset.
    pub fn items_issues(&self) -> PathBuf {
        self.tables().join("items_issues.csv")
    }

    /// Returns `logs/`.
    pub fn logs(&self) -> PathBuf {
        self.root.join("logs")
    }

    /// Returns the log called `name`, such as `worker`.
    pub fn log(&self, name: &str) -> PathBuf {
        self.logs().join(format!("{name}.log"))
    }

    /// Makes `reports/`, which other tools of the workspace write into. Nothing of ours
    /// needs it, so trouble with it is nobody's.
    pub fn make_reports(&self) {
        let _ = std::fs::create_dir(self.root.join("reports"));
    }

    /// Returns `runs/`.
    pub fn runs(&self) -> PathBuf {
        self.root.join("runs")
    }

    /// Returns the folder of files that close providers for every worker.
    pub fn providers(&self) -> PathBuf {
        self.runs().join(".providers")
    }

    /// Returns the folder of what keeps the ledger of money safe.
    pub fn budget(&self) -> PathBuf {
        self.runs().join(".budget")
    }

    /// Returns the paths of one run.
    pub fn run(&self, run: &RunId) -> RunPaths {
        RunPaths {
            root: self.runs().join(run.as_str()),
        }
    }

    /// Returns `path` relative to the root, `/`-separated, or `None` if it is not inside.
    pub fn relative(&self, path: &Path) -> Option<String> {
        let inside = path.strip_prefix(&self.root).ok()?;
        let mut parts = Vec::new();
        for part in inside.components() {
            match part {
                Component::Normal(name) => parts.push(name.to_str()?.to_owned()),
                Component::CurDir => {}
                _ => return None,
            }
        }
        Some(parts.join("/"))
    }

    /// Returns the absolute form of a stored path, or `None` if it would leave the root.
    pub fn absolute(&self, stored: &str) -> Option<PathBuf> {
        let path = Path::new(stored);
        let below = if path.is_absolute() {
            path.strip_prefix(&self.root).ok()?
        } else {
            path
        };
        let plain = below
            .components()
            .all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
        plain.then(|| self.root.join(below))
    }

    /// Opens a file if its path alone shows that it lies in the workspace: below
    /// the root, without links and without ways up. Nothing means only that a
    /// longer look is needed.
    pub fn open_plainly(&self, path: &Path) -> Option<File> {
        let below = path.strip_prefix(&self.root).ok()?;
        let goes_up = below.components().any(|part| part == Component::ParentDir);
        (!goes_up).then(|| platform::open_without_links(path))?
    }
}

/// The paths of one run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunPaths {
    root: PathBuf,
}

impl RunPaths {
    /// Returns `path` as tables hold it, relative to the workspace.
    pub fn stored(&self, path: &Path) -> Option<String> {
        let root = self.root.parent()?.parent()?;
        Workspace::new(root).relative(path)
    }

    /// Returns `runs/<run_id>/`.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the ordered job list.
    pub fn manifest(&self) -> PathBuf {
        self.root.join("manifest.csv")
    }

    /// Returns the record of how the run's pictures looked.
    pub fn pictures(&self) -> PathBuf {
        self.root.join("pictures.csv")
    }

    /// Returns the run's rows as the last pull brought them, all of them ended.
    pub fn pulled_rows(&self) -> PathBuf {
        self.root.join("pulled.csv")
    }

    /// Returns the run's rows of the registry as they were made.
    pub fn rows(&self) -> PathBuf {
        self.root.join("rows.csv")
    }

    /// Returns the mark of a run that lives in a fleet.
    pub fn fleet(&self) -> PathBuf {
        self.root.join("fleet.json")
    }

    /// Returns the lock of whoever follows the run alone.
    pub fn follow_lock(&self) -> PathBuf {
        self.state().join("follow.lock")
    }

    /// Returns the lock of whoever hands the run over.
    pub fn push_lock(&self) -> PathBuf {
        self.state().join("push.lock")
    }

    /// Returns the folder of markers from before the run was handed over.
    pub fn before_fleet(&self) -> PathBuf {
        self.state().join("before-fleet")
    }

    /// Returns `outputs/`.
    pub fn outputs(&self) -> PathBuf {
        self.root.join("outputs")
    }

    /// Returns the folder of a job's published result.
    pub fn output(&self, job: &JobId) -> PathBuf {
        below(&self.root, &["outputs", job.as_str()])
    }

    /// Returns the folder in which attempts work.
    pub fn staging(&self) -> PathBuf {
        below(&self.root, &["outputs", naming::STAGING])
    }

    /// Returns the folder of results that came too late.
    pub fn late(&self) -> PathBuf {
        self.outputs().join(naming::LATE)
    }

    /// Returns the folder of results that a redo replaced.
    pub fn previous(&self) -> PathBuf {
        self.outputs().join(naming::PREVIOUS)
    }

    /// Returns `state/`.
    pub fn state(&self) -> PathBuf {
        self.root.join("state")
    }

    /// Returns one of a job's files in `state/`.
    pub fn state_file(&self, job: &JobId, kind: StateFile) -> PathBuf {
        below(&self.root, &["state", &kind.name(job)])
    }

    /// Returns the folder of journals.
    pub fn journals(&self) -> PathBuf {
        self.state().join("journal")
    }

    /// Returns a worker's journal.
    pub fn journal(&self, worker: &WorkerId) -> PathBuf {
        self.journals().join(naming::journal_file(worker))
    }

    /// Returns the lock under which recovery runs.
    pub fn recovery_lock(&self) -> PathBuf {
        self.state().join("recovery.lock")
    }

    /// Returns the folder of per-attempt logs.
    pub fn logs(&self) -> PathBuf {
        self.root.join("logs")
    }

    /// Returns the log of what an attempt's program said.
    pub fn attempt_log(&self, job: &JobId, attempt: u32) -> PathBuf {
        self.logs().join(format!("{job}.{attempt}.log"))
    }
}

/// Joins names to a folder with one allocation; paths are made by the dozen a job.
fn below(folder: &Path, names: &[&str]) -> PathBuf {
    let length: usize = names.iter().map(|name| name.len() + 1).sum();
    let mut path = PathBuf::with_capacity(folder.as_os_str().len() + length);
    path.push(folder);
    path.extend(names);
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_paths_are_relative_with_slashes_and_never_leave_the_root() {
        let workspace = Workspace::new("/w");
        let inside = Path::new("/w/runs/r/outputs/j/generated.glb");
        assert_eq!(
            workspace.relative(inside).as_deref(),
            Some("runs/r/outputs/j/generated.glb")
        );
        assert_eq!(workspace.relative(Path::new("/elsewhere/x")), None);
        assert_eq!(workspace.absolute("../x"), None);
        assert_eq!(workspace.absolute("a/../../x"), None);
        assert_eq!(workspace.absolute("/etc/passwd"), None);
        assert_eq!(workspace.absolute("/w/../x"), None);
        assert_eq!(workspace.absolute("/w/a/../../x"), None);
        assert_eq!(workspace.absolute("/w/./a/../b"), None);
        assert_eq!(workspace.absolute("/w2/x"), None);
        assert_eq!(workspace.absolute("/w/a.jpg"), Some("/w/a.jpg".into()));
        assert_eq!(workspace.absolute("a/b.jpg"), Some("/w/a/b.jpg".into()));
    }
}
