//! Links in `tables/`, `runs/` and `logs/` that lead out of the workspace.

use std::ffi::OsString;
use std::fs;
use std::path::Path;

use rayon::prelude::*;

use crate::domain::finding::{Code, Finding};
use crate::platform::{self, Listed, ListedKind};
use crate::workspace::paths::Workspace;

use super::Checkup;

/// How deep records lie: `runs/<run>/outputs/.staging/<attempt>/<file>`.
const DEEPEST: usize = 5;

/// The folder of a run that has one folder for each job.
const OUTPUTS: &str = "outputs";

/// Looks for links; into the folders of results only if `deep`: to open one for each job takes longer than all the rest,
/// and what lies in them is read by nobody who would write there.
pub(super) fn look(workspace: &Workspace, deep: bool, checkup: &mut Checkup) {
    let walk = Walk { workspace, deep };
    let folders = [
        workspace.tables(),
        workspace.runs(),
        workspace.logs(),
        workspace.config(),
    ];
    let found = folders.iter().flat_map(|folder| walk.any(folder, DEEPEST));
    let mut found: Vec<_> = found.collect();
    found.sort();
    for (path, target) in found {
        let what = format!("a link leads out of the workspace, to {target}");
        let fix = format!("put the real file or folder there instead of the link: {path}");
        checkup.find(
            Finding::new(Code::LinkOutside, what)
                .at(path, None)
                .fix(fix),
        );
    }
}

struct Walk<'w> {
    workspace: &'w Workspace,
    deep: bool,
}

impl Walk<'_> {
    fn any(&self, path: &Path, deeper: usize) -> Vec<(String, String)> {
        match fs::symlink_metadata(path) {
            Ok(found) if found.is_symlink() => self.link(path).into_iter().collect(),
            Ok(found) if found.is_dir() => self.folder(path, deeper),
            _ => Vec::new(),
        }
    }

    fn folder(&self, path: &Path, deeper: usize) -> Vec<(String, String)> {
        if deeper == 0 {
            return Vec::new();
        }
        let of_results = !self.deep && path.file_name().is_some_and(|name| name == OUTPUTS);
        let mut found: Vec<(OsString, Listed)> = Vec::new();
        // What cannot be listed is told elsewhere.
        let _ = platform::each_entry(path, &mut |name, listed| {
            let left_out = match listed.kind {
                ListedKind::Plain => true,
                ListedKind::Folder => of_results && !name.as_encoded_bytes().starts_with(b"."),
                ListedKind::Link | ListedKind::Unknown => false,
            };
            if !left_out {
                found.push((name.to_owned(), listed));
            }
        });
        found.sort_unstable_by_key(|(_, listed)| listed.place);
        let below = |(name, listed): &(OsString, Listed)| {
            let path = path.join(name);
            match listed.kind {
                ListedKind::Folder => self.folder(&path, deeper - 1),
                ListedKind::Link => self.link(&path).into_iter().collect(),
                ListedKind::Plain | ListedKind::Unknown => self.any(&path, deeper - 1),
            }
        };
        // Only folders that can hold very many others are worth several threads.
        if deeper > DEEPEST - 3 {
            let parts = found.par_chunks(256);
            parts
                .flat_map_iter(|part| part.iter().flat_map(below))
                .collect()
        } else {
            found.iter().flat_map(below).collect()
        }
    }

    /// Returns where a link leads, if that is not inside the workspace.
    fn link(&self, path: &Path) -> Option<(String, String)> {
        // A link to nothing could become one to anything.
        let inside = path
            .canonicalize()
            .is_ok_and(|real| real.starts_with(self.workspace.root()));
        if inside {
            return None;
        }
        let target = fs::read_link(path).unwrap_or_default();
        let shown = self.workspace.relative(path);
        let shown = shown.unwrap_or_else(|| path.display().to_string());
        Some((shown, target.display().to_string()))
    }
}
