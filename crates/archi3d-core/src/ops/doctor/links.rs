//! Links in `tables/`, `runs/` and `logs/` that lead out of the workspace.

use std::fs::{self, DirEntry};
use std::path::Path;

use rayon::prelude::*;

use crate::domain::finding::{Code, Finding};
use crate::workspace::paths::Workspace;

use super::Checkup;

/// How deep records lie: `runs/<run>/outputs/.staging/<attempt>/<file>`.
const DEEPEST: usize = 5;

pub(super) fn look(workspace: &Workspace, checkup: &mut Checkup) {
    let folders = [
        workspace.tables(),
        workspace.runs(),
        workspace.logs(),
        workspace.config(),
    ];
    let found = folders
        .iter()
        .flat_map(|folder| walk(workspace, folder, DEEPEST));
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

fn walk(workspace: &Workspace, path: &Path, deeper: usize) -> Vec<(String, String)> {
    let Ok(metadata) = fs::symlink_metadata(path) else {
        return Vec::new();
    };
    if metadata.is_symlink() {
        let target = fs::read_link(path).unwrap_or_default();
        // A link to nothing could become one to anything.
        let inside = path
            .canonicalize()
            .is_ok_and(|real| real.starts_with(workspace.root()));
        if inside {
            return Vec::new();
        }
        let shown = workspace.relative(path);
        let shown = shown.unwrap_or_else(|| path.display().to_string());
        return vec![(shown, target.display().to_string())];
    }
    if !metadata.is_dir() || deeper == 0 {
        return Vec::new();
    }
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    let leads_on = |entry: &DirEntry| {
        let kind = entry.file_type();
        kind.is_ok_and(|kind| kind.is_dir() || kind.is_symlink())
    };
    let entries = entries.filter(leads_on);
    let below = |entry: DirEntry| walk(workspace, &entry.path(), deeper - 1);
    // Only folders that can hold very many others are worth several threads.
    if deeper > DEEPEST - 3 {
        entries.par_bridge().flat_map_iter(below).collect()
    } else {
        entries.flat_map(below).collect()
    }
}
