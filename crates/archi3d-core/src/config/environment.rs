//! Environment variables: the real ones first, then those of a `.env` file.
//!
//! The process's own environment is never changed, and a `.env` file never
//! overrides it. A `.env` file may be another program's, so what is wrong in
//! it is a warning and not a reason to stop.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::config::file;
use crate::config::locate::WORKSPACE_VARIABLE;

/// Looks a variable up in the real environment.
pub type Lookup<'a> = &'a dyn Fn(&str) -> Option<String>;

/// A `.env` file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct DotEnv {
    pub(super) path: Option<PathBuf>,
    pub(super) values: BTreeMap<String, String>,
    pub(super) warnings: Vec<String>,
}

impl DotEnv {
    /// Reads `.env` in `folder` or in the nearest parent that holds one.
    pub(super) fn find(folder: &Path) -> Self {
        let path = folder
            .ancestors()
            .map(|parent| parent.join(".env"))
            // A folder of this name is a Python environment.
            .find(|path| path.is_file());
        path.map_or_else(Self::default, Self::read)
    }

    /// Reads the `.env` that lies in the workspace itself, for those who work from
    /// elsewhere; nothing if it is the one that is `known` already. Which folder is
    /// the workspace is settled by then, so it has no say in that.
    pub(super) fn of_workspace(workspace: &Path, known: &Self) -> Self {
        let path = workspace.join(".env");
        let real = |path: &Path| path.canonicalize().ok();
        let is_known = known
            .path
            .as_deref()
            .is_some_and(|known| real(known) == real(&path));
        if is_known {
            return Self::default();
        }
        if !path.is_file() {
            // It may be made while the program runs.
            return Self {
                path: Some(path),
                ..Self::default()
            };
        }
        let mut this = Self::read(path);
        this.values.remove(WORKSPACE_VARIABLE);
        this
    }

    fn read(path: PathBuf) -> Self {
        let mut this = Self::default();
        match file::read_text(&path) {
            Ok(text) => this.parse(&path, &text.unwrap_or_default()),
            Err(error) => this.warnings.push(format!("{error}; it is not used")),
        }
        this.path = Some(path);
        this
    }

    fn parse(&mut self, path: &Path, text: &str) {
        for item in dotenvy::from_read_iter(text.as_bytes()) {
            match item {
                Ok((name, value)) => {
                    self.values.entry(name).or_insert(value);
                }
                Err(dotenvy::Error::LineParse(line, _)) => {
                    // The line itself may hold a secret: only its number is told.
                    let start = line.lines().next().unwrap_or_default();
                    let number = text.lines().position(|other| other.contains(start.trim()));
                    let place = number.map_or_else(String::new, |n| format!(":{}", n + 1));
                    self.warnings.push(format!(
                        "{}{place}: this is no `NAME=value` line; it is left out",
                        path.display()
                    ));
                }
                Err(error) => {
                    self.warnings.push(format!("{}: {error}", path.display()));
                    break;
                }
            }
        }
    }

    /// Returns the file as it is now; one that is gone, or empty for the moment in which
    /// it is saved, takes nothing away.
    pub(super) fn again(&self) -> Option<Self> {
        let path = self.path.clone().filter(|path| path.is_file())?;
        Some(Self::read(path)).filter(|now| !now.values.is_empty())
    }

    /// Returns the variables that the real environment does not have.
    pub(super) fn additions(&self, env: Lookup<'_>) -> BTreeMap<String, String> {
        let missing = |name: &String| env(name).is_none();
        let values = self.values.iter().filter(|(name, _)| missing(name));
        values.map(|(n, v)| (n.clone(), v.clone())).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_nearest_file_is_read_and_folders_of_that_name_are_passed_by() {
        let dir = tempfile::tempdir().expect("dir");
        let below = dir.path().join("a/b");
        fs::create_dir_all(below.join(".env")).expect("a Python environment");
        fs::write(
            dir.path().join("a/.env"),
            "\u{feff}A=1\n# x\nexport B='two words'\n",
        )
        .expect("w");
        fs::write(dir.path().join(".env"), "A=far\nC=far\n").expect("written");
        let found = DotEnv::find(&below);
        assert_eq!(found.path, Some(dir.path().join("a/.env")));
        assert_eq!(found.values["A"], "1");
        assert_eq!(found.values["B"], "two words");
        assert_eq!(found.values.len(), 2);
    }

    #[test]
    fn the_real_environment_is_never_overridden() {
        let dir = tempfile::tempdir().expect("dir");
        fs::write(dir.path().join(".env"), "FAL_KEY=from-dotenv\nOTHER=x\n").expect("written");
        let env = |name: &str| (name == "FAL_KEY").then(|| "from-shell".to_owned());
        let additions = DotEnv::find(dir.path()).additions(&env);
        assert_eq!(additions.keys().collect::<Vec<_>>(), ["OTHER"]);
    }

    #[test]
    fn a_broken_line_is_a_warning_that_does_not_show_it() {
        let dir = tempfile::tempdir().expect("dir");
        fs::write(dir.path().join(".env"), "A=1\nmy s3cret line\nB=2\n").expect("written");
        let found = DotEnv::find(dir.path());
        assert_eq!(found.values.len(), 2);
        assert_eq!(found.warnings.len(), 1);
        assert!(
            found.warnings[0].contains(".env:2: "),
            "{:?}",
            found.warnings
        );
        assert!(!found.warnings[0].contains("s3cret"));
    }
}
