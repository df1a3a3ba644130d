//! How this program is to be typed: `archi3d` where a shell finds it, else the way it
//! was started, and on which workspace. Commands that are printed to be pasted work as
//! they are.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use archi3d_core::domain::text::shell_word;

/// The name that messages are written with.
const NAME: &str = "archi3d";

/// The words that follow the name in a command.
const COMMANDS: &[&str] = &[
    "adapters",
    "batch",
    "catalog",
    "completions",
    "compute",
    "config",
    "consolidate",
    "cost",
    "demo",
    "doctor",
    "export",
    "fleet",
    "help",
    "init",
    "judge",
    "man",
    "registry",
    "report",
    "run",
    "self-check",
    #[cfg(feature = "serve")]
    "serve",
    #[cfg(feature = "serve")]
    "token",
];

/// The commands that act on no workspace, or make one.
const ELSEWHERE: &[&str] = &["completions", "demo", "help", "init", "man", "self-check"];

/// The workspace and the store that the commands act on which are printed, if they were given.
static GIVEN: OnceLock<String> = OnceLock::new();

/// Has commands that are printed act on the workspace and the store that were given.
pub fn act_on(folder: Option<&Path>, store: Option<&str>) {
    GIVEN.get_or_init(|| given(folder, store));
}

fn given(folder: Option<&Path>, store: Option<&str>) -> String {
    let folder = folder.map(|folder| shell_word(&folder.display().to_string()));
    let folder = folder.map(|folder| format!(" --workspace {folder}"));
    let store = store.map(|url| {
        let login = url.split_once("://").map_or("", |(_, rest)| rest);
        let login = login.split('/').next().unwrap_or_default();
        let login = login.rsplit_once('@').map_or("", |(login, _)| login);
        // A password is for nobody's screen.
        if login.contains(':') || url.contains("password") {
            r#" --store "$ARCHI3D_STORE""#.to_owned()
        } else {
            format!(" --store {}", shell_word(url))
        }
    });
    [folder, store].into_iter().flatten().collect()
}

/// Returns what to type to start this program.
pub fn typed() -> &'static str {
    static TYPED: OnceLock<String> = OnceLock::new();
    TYPED.get_or_init(|| {
        let given = std::env::args_os().next().map(PathBuf::from);
        let search = std::env::var_os("PATH").unwrap_or_default();
        let folders: Vec<PathBuf> = std::env::split_paths(&search).collect();
        given.map_or_else(|| NAME.to_owned(), |given| how(&given, &folders))
    })
}

/// Tells whether a shell finds this program by its name.
pub fn is_on_path() -> bool {
    typed() == NAME
}

fn how(given: &Path, folders: &[PathBuf]) -> String {
    if given.components().count() < 2 {
        return NAME.to_owned();
    }
    let this = given.canonicalize();
    let found = folders.iter().map(|folder| folder.join(NAME));
    let first = found.into_iter().find(|path| path.is_file());
    let same = first.and_then(|path| path.canonicalize().ok());
    match (same, this) {
        (Some(found), Ok(this)) if found == this => NAME.to_owned(),
        _ => given.to_str().map_or_else(|| NAME.to_owned(), shell_word),
    }
}

/// Returns `text` with every command of this program written as it is to be typed.
pub fn as_typed(text: &str) -> String {
    let (typed, option) = (typed(), GIVEN.get().map_or("", String::as_str));
    if typed == NAME && option.is_empty() {
        return text.to_owned();
    }
    rewritten(text, typed, option)
}

fn rewritten(text: &str, typed: &str, option: &str) -> String {
    let mut done = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(NAME) {
        let (before, found) = rest.split_at(at);
        let after = &found[NAME.len()..];
        let word = after.strip_prefix(' ').unwrap_or_default();
        let word = word.split(|c: char| !c.is_ascii_lowercase()).next();
        let joined = |c: char| c.is_alphanumeric() || matches!(c, '/' | '\\' | '-' | '_' | '.');
        let alone = !before.ends_with(joined);
        done.push_str(before);
        if let Some(word) = word.filter(|word| alone && COMMANDS.contains(word)) {
            let line = after.lines().next().unwrap_or_default();
            let says = ELSEWHERE.contains(&word) || line.contains(" --workspace ");
            done.push_str(typed);
            done.push_str(if says { "" } else { option });
        } else {
            done.push_str(NAME);
        }
        rest = after;
    }
    done.push_str(rest);
    done
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::cli::Cli;

    #[test]
    fn every_command_is_known_by_its_word() {
        let mut words: Vec<String> = Cli::command()
            .get_subcommands()
            .map(|command| command.get_name().to_owned())
            .chain(["help".to_owned()])
            .collect();
        words.sort();
        words.dedup();
        assert_eq!(words, COMMANDS);
    }

    #[test]
    fn commands_are_rewritten_and_names_are_not() {
        for (text, wanted) in [
            (
                "to resume: archi3d run worker r1",
                "to resume: ./a run worker r1",
            ),
            (
                "`archi3d batch create` makes one",
                "`./a batch create` makes one",
            ),
            ("archi3d 0.3.0", "archi3d 0.3.0"),
            ("/opt/archi3d run", "/opt/archi3d run"),
            ("archi3d-demo run", "archi3d-demo run"),
            ("the folder archi3d", "the folder archi3d"),
        ] {
            assert_eq!(rewritten(text, "./a", ""), wanted);
        }
    }

    #[test]
    fn commands_act_on_the_workspace_that_was_given() {
        let option = " --workspace w";
        for (text, wanted) in [
            (
                "archi3d run plan, or `archi3d doctor`",
                "archi3d --workspace w run plan, or `archi3d --workspace w doctor`",
            ),
            ("archi3d demo DIR", "archi3d demo DIR"),
            (
                "archi3d run plan --workspace v",
                "archi3d run plan --workspace v",
            ),
        ] {
            assert_eq!(rewritten(text, "archi3d", option), wanted);
            assert_eq!(rewritten(wanted, "archi3d", option), wanted);
        }
    }

    #[test]
    fn a_store_that_was_given_is_named_again_and_its_password_is_not() {
        let plain = given(Some(Path::new("w")), Some("postgresql://u@h/d"));
        assert_eq!(plain, " --workspace w --store 'postgresql://u@h/d'");
        for secret in ["postgresql://u:secret@h/d", "host=h password=secret"] {
            assert_eq!(given(None, Some(secret)), r#" --store "$ARCHI3D_STORE""#);
        }
    }

    #[test]
    fn a_name_without_a_folder_was_found_by_the_shell() {
        assert_eq!(how(Path::new("archi3d"), &[]), "archi3d");
        assert_eq!(
            how(Path::new("./my tools/archi3d"), &[]),
            "'./my tools/archi3d'"
        );
        let folder = tempfile::tempdir().expect("temporary");
        let this = folder.path().join("archi3d");
        std::fs::File::create(&this).expect("writable");
        assert_eq!(how(&this, &[folder.path().to_owned()]), "archi3d");
        let other = [PathBuf::from("/nowhere")];
        assert_eq!(how(&this, &other), this.display().to_string());
    }
}
