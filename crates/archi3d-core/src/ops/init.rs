//! `init`: an empty workspace with its configuration.
//!
//! Nothing that is there is changed. What stands in the way is found before the
//! first folder is made, so a refusal leaves nothing behind.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::config::{SHIPPED_ADAPTERS, SHIPPED_GLOBAL};
use crate::ops::OpsError;
use crate::ops::view::lossy;
use crate::platform;
use crate::store::error::{IoContext, StoreError};

/// The folders of a workspace.
const FOLDERS: [&str; 6] = ["dataset", "tables", "runs", "reports", "logs", "config"];

const GITIGNORE: &str = "\
# Secrets and what a run leaves behind. The tables are worth keeping.
.env
*.lock
*.tmp
logs/
reports/
runs/*/outputs/
runs/*/state/
";

const README: &str = "\
# An archi3d workspace

Everything about these generations is in this folder; every stored path is relative to it.

    dataset/<id>/images/            pictures of a product; names ending in _A to _F come first
    dataset/<id> - <variant>/       the same for a variant of it
    dataset/<id>/gt/                its real model (.glb or .fbx), if there is one
    products-with-3d.json           names and categories of the products, if there is one
    config/                         settings; `archi3d config show` prints where each comes from
    tables/                         items.csv, generations.csv: for Excel and pandas
    runs/<run>/outputs/<job>/       the models
    logs/                           what happened, one JSON object a line

    archi3d catalog build                                 pictures -> tables/items.csv
    archi3d batch create --run-id r1 --algos relief       items x algos -> jobs
    archi3d run plan                                      what would run and cost
    archi3d run worker --dry-run                          rehearse, buy nothing
    archi3d run worker                                    make the models
    archi3d run status --list                             which result is where
";

/// What was made and what was there already.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct InitReport {
    /// The workspace, absolute.
    #[serde(serialize_with = "lossy")]
    pub workspace: PathBuf,
    /// What was made, relative to it; folders end in `/`.
    pub made: Vec<String>,
    /// What was there already.
    pub kept: Vec<String>,
}

/// Makes `folder` a workspace.
pub fn init(folder: &Path) -> Result<InitReport, OpsError> {
    let (global, adapters) = (own_file(SHIPPED_GLOBAL), own_file(SHIPPED_ADAPTERS));
    let files = [
        ("config/global.yaml", global.as_str()),
        ("config/adapters.yaml", adapters.as_str()),
        (".gitignore", GITIGNORE),
        ("README.md", README),
    ];
    Ok(lay_out(folder, &files)?)
}

/// What a workspace's own file says about itself instead.
const OWN_HEADER: &str = "\
# Where this workspace differs from the shipped settings. Lines that begin with # and no
# blank show the shipped values, which stay in force and are kept up to date as long as they
# begin so: take the # away to set a value for this workspace alone, or add lines of your own.
# `archi3d config show` prints every value and where it comes from.
";

/// Turns a shipped file into one for a workspace, which teaches every key and sets
/// none: a copied price would hide every later correction.
fn own_file(shipped: &str) -> String {
    let mut text = String::new();
    let mut in_header = false;
    for line in shipped.lines() {
        if line.starts_with("# This file is built into archi3d") {
            in_header = true;
            text.push_str(OWN_HEADER);
        }
        in_header &= line.starts_with("# ");
        if in_header {
            continue;
        }
        let is_value = !line.is_empty() && !line.starts_with('#') && line != "adapters:";
        text.push_str(if is_value { "#" } else { "" });
        text.push_str(line);
        text.push('\n');
    }
    text
}

/// Makes the folders of a workspace and these files in it, without changing any
/// that is there.
pub(super) fn lay_out(folder: &Path, files: &[(&str, &str)]) -> Result<InitReport, StoreError> {
    check(folder, true)?;
    for name in FOLDERS {
        check(&folder.join(name), true)?;
    }
    for (name, _) in files {
        check(&folder.join(name), false)?;
    }
    fs::create_dir_all(folder).context("create", folder)?;
    let workspace = folder.canonicalize().context("open", folder)?;
    let mut report = InitReport {
        workspace,
        made: Vec::new(),
        kept: Vec::new(),
    };
    for name in FOLDERS {
        let path = folder.join(name);
        let is_new = match fs::create_dir(&path) {
            Ok(()) => true,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => false,
            Err(error) => return Err(error).context("create", &path),
        };
        report.note(format!("{name}/"), is_new);
    }
    for (name, text) in files {
        let path = folder.join(name);
        let is_new = path.symlink_metadata().is_err()
            && platform::publish(&path, text.as_bytes())
                .context("create", &path)?
                .is_some();
        report.note((*name).to_owned(), is_new);
    }
    Ok(report)
}

impl InitReport {
    fn note(&mut self, name: String, is_new: bool) {
        if is_new {
            self.made.push(name);
        } else {
            self.kept.push(name);
        }
    }
}

/// Refuses a file where a folder should be, and the other way round.
fn check(path: &Path, folder: bool) -> Result<(), StoreError> {
    let Ok(metadata) = fs::metadata(path) else {
        return Ok(());
    };
    let what = match (folder, metadata.is_dir()) {
        (true, false) => "expected a folder, found a file",
        (false, true) => "expected a file, found a folder",
        _ => return Ok(()),
    };
    Err(StoreError::Setup {
        what: what.into(),
        path: path.to_owned(),
        hint: "move it away, or name another folder; nothing was made".into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_workspaces_own_file_sets_nothing_and_holds_every_shipped_line() {
        for shipped in [SHIPPED_GLOBAL, SHIPPED_ADAPTERS] {
            let own = own_file(shipped);
            assert!(!own.contains("built into archi3d"), "{own}");
            assert!(own.contains(OWN_HEADER), "{own}");
            let set: Vec<&str> = own
                .lines()
                .filter(|line| !line.is_empty() && !line.starts_with('#'))
                .collect();
            assert!(set.is_empty() || set == ["adapters:"], "{set:?}");
            let taken_away: Vec<&str> = own
                .lines()
                .map(|line| match line.strip_prefix('#') {
                    Some(rest) if !rest.is_empty() && !rest.starts_with("# ") => rest,
                    _ => line,
                })
                .collect();
            for line in shipped.lines().filter(|line| !line.starts_with('#')) {
                assert!(taken_away.contains(&line), "{line}");
            }
        }
    }
}
