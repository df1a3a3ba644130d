//! Which runs a workspace has: the only place that lists `runs/`.

use std::fs;
use std::io;
use std::path::PathBuf;

use crate::domain::id::RunId;
use crate::workspace::paths::Workspace;

impl Workspace {
    /// Lists the runs by name: the real folders below `runs/` whose name can be a
    /// run's. A link is no run, wherever it leads: what it leads to would be counted
    /// twice, or lies elsewhere. Without a folder `runs/` there are none.
    pub fn run_ids(&self) -> io::Result<Vec<RunId>> {
        let entries = match fs::read_dir(self.runs()) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let mut runs = Vec::new();
        for entry in entries {
            let entry = entry?;
            let name = entry.file_name();
            let run_id = name.to_str().and_then(|name| RunId::parse(name).ok());
            let own = |_: &RunId| entry.file_type().is_ok_and(|kind| kind.is_dir());
            runs.extend(run_id.filter(own));
        }
        runs.sort();
        Ok(runs)
    }

    /// Tells whether a run has a folder of its own.
    pub fn has_run(&self, run: &RunId) -> bool {
        let found = fs::symlink_metadata(self.run(run).root());
        found.is_ok_and(|found| found.is_dir())
    }

    /// Returns where a link in the place of a run's folder leads.
    pub fn linked_run(&self, run: &RunId) -> Option<PathBuf> {
        fs::read_link(self.run(run).root()).ok()
    }

    /// Tells whether any run has left records from which tables can be made again.
    pub fn has_records(&self) -> bool {
        let names = ["rows.csv", "manifest.csv", "state"];
        let recorded = |run: &RunId| {
            let paths = self.run(run);
            names.iter().any(|name| paths.root().join(name).exists())
        };
        self.run_ids().is_ok_and(|runs| runs.iter().any(recorded))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_real_folders_with_the_name_of_a_run_are_runs() {
        let folder = tempfile::tempdir().unwrap();
        let workspace = Workspace::new(folder.path());
        assert_eq!(workspace.run_ids().unwrap(), []);
        for name in ["r2", "r1", ".providers", "a..b"] {
            fs::create_dir_all(workspace.runs().join(name)).unwrap();
        }
        fs::File::create(workspace.runs().join("notes")).unwrap();
        #[cfg(unix)]
        std::os::unix::fs::symlink("r1", workspace.runs().join("latest")).unwrap();
        let names: Vec<String> = workspace
            .run_ids()
            .unwrap()
            .into_iter()
            .map(String::from)
            .collect();
        assert_eq!(names, ["r1", "r2"]);
    }
}
