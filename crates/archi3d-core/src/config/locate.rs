//! Which folder is the workspace, and where the user's own file lies.
//!
//! Nothing is created here. A place that names a workspace decides, even if it
//! is wrong: falling through to another folder would be a surprise.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::config::Sources;
use crate::config::environment::{DotEnv, Lookup};
use crate::config::error::ConfigError;
use crate::config::origin::Origin;

/// The variable that names the workspace.
pub const WORKSPACE_VARIABLE: &str = "ARCHI3D_WORKSPACE";

/// The systems whose users keep their settings in different places.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Os {
    /// Linux and everything like it.
    Linux,
    /// macOS.
    MacOs,
    /// Windows.
    Windows,
}

impl Os {
    /// Returns the one the program was built for.
    pub fn current() -> Self {
        match std::env::consts::OS {
            "macos" => Self::MacOs,
            "windows" => Self::Windows,
            _ => Self::Linux,
        }
    }

    fn home(self, env: Lookup<'_>) -> Option<PathBuf> {
        let name = if self == Self::Windows {
            "USERPROFILE"
        } else {
            "HOME"
        };
        path_variable(env, name)
    }

    /// Returns the user's own settings file, whether it exists or not.
    pub fn user_file(self, env: Lookup<'_>) -> Option<PathBuf> {
        let home = || self.home(env);
        let folder = match self {
            Self::Linux => path_variable(env, "XDG_CONFIG_HOME")
                .filter(|path| path.is_absolute())
                .or_else(|| Some(home()?.join(".config")))?
                .join("archi3d"),
            Self::MacOs => home()?.join("Library/Application Support/archi3d"),
            Self::Windows => path_variable(env, "LOCALAPPDATA")
                .or_else(|| Some(home()?.join("AppData").join("Local")))?
                .join("archi3d")
                .join("archi3d"),
        };
        Some(folder.join("config.yaml"))
    }
}

fn path_variable(env: Lookup<'_>, name: &str) -> Option<PathBuf> {
    env(name)
        .filter(|value| !value.is_empty())
        .map(PathBuf::from)
}

/// What the user's file says about the workspace.
pub(super) struct UserPlace {
    /// Where the file is or would be.
    pub(super) file: Option<PathBuf>,
    /// The workspace it names, resolved against the file.
    pub(super) workspace: Option<PathBuf>,
}

/// Resolves a path that a file names: `~/` is the home, relative means beside the file.
pub(super) fn beside(sources: &Sources<'_>, folder: &Path, named: &str) -> PathBuf {
    let under_home = named
        .strip_prefix("~/")
        .or_else(|| named.strip_prefix("~\\"));
    match (under_home, sources.os.home(sources.env)) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => folder.join(named),
    }
}

/// Finds the workspace, or says everywhere it looked.
pub(super) fn find(
    sources: &Sources<'_>,
    dot_env: &DotEnv,
    user: &UserPlace,
) -> Result<(PathBuf, Origin), ConfigError> {
    let (path, origin) = match named(sources, dot_env, user)? {
        Some(found) => found,
        None => match nearest_workspace(&sources.current_dir) {
            Some(path) => (path, Origin::Surroundings),
            None => return Err(nowhere(sources, dot_env, user)),
        },
    };
    let real = checked(&path, &origin)?;
    Ok((real, origin))
}

/// Returns the workspace that somebody names, and where.
pub(super) fn named(
    sources: &Sources<'_>,
    dot_env: &DotEnv,
    user: &UserPlace,
) -> Result<Option<(PathBuf, Origin)>, ConfigError> {
    if let Some(path) = &sources.workspace {
        let path = sources.current_dir.join(path);
        return Ok(Some((path, Origin::CommandLine("--workspace"))));
    }
    if let Some(path) = path_variable(sources.env, WORKSPACE_VARIABLE) {
        let origin = Origin::Environment(WORKSPACE_VARIABLE.to_owned());
        if !path.is_absolute() {
            let reason = "is not an absolute path; write it from the root".to_owned();
            return Err(bad(&path, &origin, reason));
        }
        return Ok(Some((path, origin)));
    }
    let in_dot_env = dot_env.values.get(WORKSPACE_VARIABLE);
    if let (Some(file), Some(value)) = (&dot_env.path, in_dot_env.filter(|v| !v.is_empty())) {
        let folder = file.parent().unwrap_or(&sources.current_dir);
        let path = beside(sources, folder, value);
        return Ok(Some((path, Origin::DotEnv(file.clone()))));
    }
    if let (Some(file), Some(path)) = (&user.file, &user.workspace) {
        return Ok(Some((path.clone(), Origin::File(file.clone()))));
    }
    Ok(None)
}

fn bad(path: &Path, origin: &Origin, reason: String) -> ConfigError {
    ConfigError::BadWorkspace {
        path: path.to_owned(),
        named_by: origin.to_string(),
        reason,
    }
}

fn checked(path: &Path, origin: &Origin) -> Result<PathBuf, ConfigError> {
    let real = fs::canonicalize(path).map_err(|error| {
        let reason = if error.kind() == ErrorKind::NotFound {
            "does not exist; check the path, or make it with `archi3d init`".to_owned()
        } else {
            format!("cannot be opened: {error}")
        };
        bad(path, origin, reason)
    })?;
    if real.is_dir() {
        Ok(plain(real))
    } else {
        Err(bad(path, origin, "is not a folder".to_owned()))
    }
}

/// Windows answers `\\?\C:\x`, which other programs do not understand.
fn plain(path: PathBuf) -> PathBuf {
    let short = path.to_str().and_then(|text| text.strip_prefix(r"\\?\"));
    match short {
        Some(short) if short.as_bytes().get(1) == Some(&b':') => PathBuf::from(short),
        _ => path,
    }
}

fn nearest_workspace(folder: &Path) -> Option<PathBuf> {
    let found = folder.ancestors().find(|parent| is_workspace(parent));
    found.map(Path::to_owned)
}

/// Tells whether `folder` looks like a workspace: its own adapters, or pictures
/// or tables beside another of its folders. `tables` alone is too common a name.
pub fn is_workspace(folder: &Path) -> bool {
    let has = |name: &str| folder.join(name).is_dir();
    let main = has("tables") || has("dataset");
    let parts = ["dataset", "tables", "runs", "config"];
    let several = parts.into_iter().filter(|name| has(name)).count() >= 2;
    (main && several)
        || folder.join("tables/generations.csv").is_file()
        || folder.join("config/adapters.yaml").is_file()
}

fn nowhere(sources: &Sources<'_>, dot_env: &DotEnv, user: &UserPlace) -> ConfigError {
    let here = sources.current_dir.display();
    let dot_env = match &dot_env.path {
        Some(path) => format!("{}: does not set {WORKSPACE_VARIABLE}", path.display()),
        None => format!(".env: none in {here} or above"),
    };
    let user = match &user.file {
        Some(file) if file.exists() => format!("{}: names no workspace", file.display()),
        Some(file) => format!("{}: not there", file.display()),
        None => "the user's own file: no home folder is known".to_owned(),
    };
    ConfigError::NoWorkspace {
        looked_at: vec![
            "--workspace: not given".to_owned(),
            format!("{WORKSPACE_VARIABLE}: not set"),
            dot_env,
            user,
            format!("{here} and the folders above it: none is a workspace"),
        ],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user_file(os: Os, variables: &[(&str, &str)]) -> Option<String> {
        let env = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        let path = os.user_file(&env)?;
        Some(path.to_string_lossy().replace('\\', "/"))
    }

    #[test]
    fn every_system_has_its_own_place_for_the_users_file() {
        let home = ("HOME", "/home/me");
        let config = "/home/me/.config/archi3d/config.yaml";
        assert_eq!(user_file(Os::Linux, &[home]).as_deref(), Some(config));
        let relative = ("XDG_CONFIG_HOME", "cfg");
        assert_eq!(
            user_file(Os::Linux, &[home, relative]).as_deref(),
            Some(config)
        );
        assert_eq!(
            user_file(Os::MacOs, &[home]).as_deref(),
            Some("/home/me/Library/Application Support/archi3d/config.yaml")
        );
        assert_eq!(
            user_file(Os::Windows, &[("LOCALAPPDATA", "C:/l")]).as_deref(),
            Some("C:/l/archi3d/archi3d/config.yaml")
        );
        assert_eq!(
            user_file(Os::Windows, &[("USERPROFILE", "C:/me")]).as_deref(),
            Some("C:/me/AppData/Local/archi3d/archi3d/config.yaml")
        );
        assert_eq!(user_file(Os::Linux, &[]), None);
    }

    #[test]
    fn a_folder_is_a_workspace_by_what_lies_in_it() {
        for (folders, expected) in [
            (&["tables"] as &[&str], false),
            (&["runs", "config"], false),
            (&["dataset"], false),
            (&["dataset", "config"], true),
            (&["tables", "runs"], true),
        ] {
            let dir = tempfile::tempdir().expect("dir");
            for folder in folders {
                fs::create_dir(dir.path().join(folder)).expect("made");
            }
            assert_eq!(is_workspace(dir.path()), expected, "{folders:?}");
        }
        for file in ["config/adapters.yaml", "tables/generations.csv"] {
            let dir = tempfile::tempdir().expect("dir");
            let path = dir.path().join(file);
            fs::create_dir(path.parent().expect("a folder")).expect("made");
            fs::write(path, "").expect("written");
            assert!(is_workspace(dir.path()), "{file}");
        }
    }

    #[test]
    fn windows_paths_lose_the_prefix_that_others_do_not_understand() {
        assert_eq!(plain(r"\\?\C:\ws".into()), PathBuf::from(r"C:\ws"));
        assert_eq!(
            plain(r"\\?\UNC\server\ws".into()),
            PathBuf::from(r"\\?\UNC\server\ws")
        );
    }
}
