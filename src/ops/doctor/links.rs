//! Links in `tables/`, `runs/` and `logs/` that lead out of the workspace.

use std::fs;
use std::path::Path;

use crate::domain::finding::{Code, Finding};
use crate::workspace::paths::Workspace;

use super::Checkup;

/// How deep records lie: `runs/<run>/outputs/.staging/<attempt>/<file>`.
const DEEPEST: usize = 5;

pub(super) fn look(workspace: &Workspace, checkup: &mut Checkup) {
    let mut found = Vec::new();
    for folder in [
        workspace.tables(),
        workspace.runs(),
        workspace.logs(),
        workspace.config(),
    ] {
        walk(workspace, &folder, DEEPEST, &mut found);
    }
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

fn walk(workspace: &Workspace, path: &Path, deeper: usize, found: &mut Vec<(String, String)>) {
    let Ok(metadata) = fs::symlink_metadata(path) else {
        return;
    };
    if metadata.is_symlink() {
        let target = fs::read_link(path).unwrap_or_default();
        // A link to nothing could become one to anything.
        let inside = path
            .canonicalize()
            .is_ok_and(|real| real.starts_with(workspace.root()));
        if !inside {
            let shown = workspace.relative(path);
            let shown = shown.unwrap_or_else(|| path.display().to_string());
            found.push((shown, target.display().to_string()));
        }
    } else if metadata.is_dir() && deeper > 0 {
        for entry in fs::read_dir(path).into_iter().flatten().flatten() {
            let kind = entry.file_type();
            if kind.is_ok_and(|kind| kind.is_dir() || kind.is_symlink()) {
                walk(workspace, &entry.path(), deeper - 1, found);
            }
        }
    }
}
