//! Which program an entry means, and what it gets to see of our environment.
//!
//! No shell is involved: the program and its arguments are handed over as they
//! are. The environment is a list of harmless names, the names that the entry
//! asks for, and the facts of the job.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Map, Value};

use crate::adapter::{AdapterError, GenerationRequest, JobContext, Variables};
use crate::domain::retry::ErrorClass;
use crate::platform;
use crate::trace;

/// The variables every program gets: where things are and which language to use.
const HARMLESS: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "LANG",
    "LANGUAGE",
    "LC_ALL",
    "LC_ADDRESS",
    "LC_COLLATE",
    "LC_CTYPE",
    "LC_IDENTIFICATION",
    "LC_MEASUREMENT",
    "LC_MESSAGES",
    "LC_MONETARY",
    "LC_NAME",
    "LC_NUMERIC",
    "LC_PAPER",
    "LC_TELEPHONE",
    "LC_TIME",
    "TZ",
    "TMPDIR",
    "TEMP",
    "TMP",
    // Without these Windows starts hardly any program.
    "SYSTEMROOT",
    "SYSTEMDRIVE",
    "WINDIR",
    "COMSPEC",
    "PATHEXT",
    "USERPROFILE",
    "APPDATA",
    "LOCALAPPDATA",
    "PROGRAMDATA",
    "NUMBER_OF_PROCESSORS",
];

/// Longer facts are in the request only: systems limit what a variable holds.
const MAX_FACT_BYTES: usize = 32 << 10;

/// Collects what a program may see: the harmless names and those asked for.
pub(super) fn visible(asked: &[String], env: &dyn Variables) -> BTreeMap<String, String> {
    let asked = asked.iter().map(String::as_str);
    let names: Vec<&str> = HARMLESS.iter().copied().chain(asked).collect();
    env.now(&names)
}

/// Returns the program that `name` means, or why there is none.
pub(super) fn find_program(
    name: &str,
    workspace: &Path,
    search: Option<&str>,
) -> Result<PathBuf, String> {
    let path = Path::new(name);
    if path.is_absolute() {
        return existing(path).ok_or_else(|| format!("{name} does not exist"));
    }
    let inside = existing(&workspace.join(path));
    if path.components().count() > 1 {
        return inside.ok_or_else(|| {
            format!(
                "{name} does not exist in the workspace ({})",
                workspace.display()
            )
        });
    }
    std::env::split_paths(search.unwrap_or_default())
        .filter(|folder| folder.is_absolute())
        .find_map(|folder| existing(&folder.join(path)))
        .or(inside)
        .ok_or_else(|| format!("{name} is neither on PATH nor in the workspace"))
}

/// Says why a program that is there cannot be started.
pub(super) fn check_program(program: &Path) -> Result<(), String> {
    let shown = program.display();
    if !platform::is_executable(program) {
        return Err(format!("{shown} is not executable (chmod +x {shown})"));
    }
    let mut start = [0; 256];
    let read = File::open(program).and_then(|mut file| file.read(&mut start));
    // A program may be executable and not readable.
    let first_line = start[..read.unwrap_or_default()]
        .split(|byte| *byte == b'\n')
        .next();
    let Some(line) = first_line.and_then(|line| line.strip_prefix(b"#!")) else {
        return Ok(());
    };
    let line = String::from_utf8_lossy(line);
    let interpreter = line.split_whitespace().next().unwrap_or_default();
    if Path::new(interpreter).is_absolute() && !Path::new(interpreter).exists() {
        return Err(format!(
            "{shown} begins with `#!{interpreter}`, which does not exist on this machine"
        ));
    }
    Ok(())
}

/// Programs that run the file which their first plain argument names.
const INTERPRETERS: &[&str] = &[
    "bash", "deno", "node", "perl", "php", "pypy", "python", "rscript", "ruby", "sh", "zsh",
];

/// What such files end in.
const SCRIPTS: &[&str] = &["cjs", "js", "mjs", "php", "pl", "py", "r", "rb", "sh", "ts"];

/// Says whether the script that an interpreter would run is missing.
pub(super) fn check_script(
    program: &Path,
    arguments: &[String],
    workspace: &Path,
) -> Result<(), String> {
    let lower = |text: Option<&OsStr>| text.unwrap_or_default().to_string_lossy().to_lowercase();
    let stem = lower(program.file_name());
    let stem = stem.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    if !INTERPRETERS.contains(&stem.strip_suffix(".exe").unwrap_or(stem)) {
        return Ok(());
    }
    let runs_text = |word: &&String| ["-c", "-m", "-e", "-", "eval"].contains(&word.as_str());
    let plain = |word: &&String| !word.starts_with('-');
    let script = arguments
        .iter()
        .take_while(|word| !runs_text(word))
        .find(plain);
    let Some(script) = script.filter(|name| {
        let ending = lower(Path::new(name.as_str()).extension());
        SCRIPTS.contains(&ending.as_str()) && !name.contains("://")
    }) else {
        return Ok(());
    };
    let path = workspace.join(script);
    if path.is_file() {
        return Ok(());
    }
    let looked_for = if Path::new(script).is_absolute() {
        String::new()
    } else {
        format!(" (looked for {})", path.display())
    };
    Err(format!("the script {script} does not exist{looked_for}"))
}

fn existing(path: &Path) -> Option<PathBuf> {
    if path.is_file() {
        return Some(path.to_owned());
    }
    let suffix = std::env::consts::EXE_SUFFIX;
    let mut with_suffix = path.as_os_str().to_owned();
    with_suffix.push(suffix);
    let with_suffix = PathBuf::from(with_suffix);
    (!suffix.is_empty() && with_suffix.is_file()).then_some(with_suffix)
}

/// An argument that names a file of the workspace is handed over in full,
/// because the program works in another folder.
fn argument(text: &str, workspace: &Path) -> PathBuf {
    let path = Path::new(text);
    let inside = workspace.join(path);
    let plain = !text.is_empty() && !text.starts_with('-') && path.is_relative();
    if plain && inside.is_file() {
        inside
    } else {
        path.to_owned()
    }
}

/// Builds the command of one attempt.
#[expect(
    clippy::disallowed_methods,
    reason = "this is the adapter that starts programs"
)]
pub(super) fn build(
    words: &[String],
    visible: &BTreeMap<String, String>,
    request: &GenerationRequest,
    context: &JobContext<'_>,
    defaults: &Map<String, Value>,
    version: u64,
) -> Result<Command, AdapterError> {
    let (name, arguments) = words
        .split_first()
        .ok_or_else(|| AdapterError::permanent("the adapter's `command` is empty"))?;
    let search = visible.get("PATH").map(String::as_str);
    let program = find_program(name, &request.workspace, search).map_err(|reason| {
        AdapterError::permanent(format!(
            "cannot start the adapter: {reason}; see `command` of {} in adapters.yaml",
            request.algo
        ))
    })?;
    let mut command = Command::new(program);
    command
        .args(
            arguments
                .iter()
                .map(|text| argument(text, &request.workspace)),
        )
        .current_dir(&request.out_dir)
        .env_clear()
        .envs(visible)
        .envs(facts(request, context, defaults, version))
        .envs(trace::here().map(|place| (trace::TRACEPARENT, place.to_string())))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    Ok(command)
}

/// The request once more, for programs that do not read JSON.
fn facts(
    request: &GenerationRequest,
    context: &JobContext<'_>,
    defaults: &Map<String, Value>,
    version: u64,
) -> Vec<(String, String)> {
    let path = |path: &Path| path.to_string_lossy().into_owned();
    let images: Vec<String> = request
        .used_images
        .iter()
        .map(|image| path(image))
        .collect();
    let mut facts = vec![
        ("PROTOCOL".to_owned(), version.to_string()),
        ("JOB_ID".to_owned(), request.job_id.clone()),
        ("PRODUCT_ID".to_owned(), request.product_id.clone()),
        ("VARIANT".to_owned(), request.variant.clone()),
        ("ALGO".to_owned(), request.algo.clone()),
        ("OUT_DIR".to_owned(), path(&request.out_dir)),
        ("WORKSPACE".to_owned(), path(&request.workspace)),
        ("ATTEMPT".to_owned(), context.attempt.to_string()),
        (
            "IDEMPOTENCY_KEY".to_owned(),
            context.idempotency_key.clone(),
        ),
        (
            "RESUME_REQUEST_ID".to_owned(),
            context.resume_request_id.clone().unwrap_or_default(),
        ),
        (
            "OPEN_INTENT".to_owned(),
            context
                .open_intent
                .as_ref()
                .map_or_else(String::new, |intent| intent.correlation.clone()),
        ),
        ("N_IMAGES".to_owned(), images.len().to_string()),
        ("USED_IMAGES".to_owned(), images.join("\n")),
        (
            "EXTRA".to_owned(),
            Value::Object(request.extra.clone()).to_string(),
        ),
        (
            "DEFAULTS".to_owned(),
            Value::Object(defaults.clone()).to_string(),
        ),
    ];
    for (number, image) in images.into_iter().enumerate() {
        facts.push((format!("IMAGE_{}", number + 1), image));
    }
    facts
        .into_iter()
        // A zero byte would keep the program from starting at all.
        .filter(|(_, value)| value.len() <= MAX_FACT_BYTES && !value.contains('\0'))
        .map(|(name, value)| (format!("ARCHI3D_{name}"), value))
        .collect()
}

/// Says why a program that was found could not be started.
pub(super) fn cannot_start(command: &Command, error: &io::Error) -> AdapterError {
    let program = Path::new(command.get_program()).display();
    let (class, advice) = match error.kind() {
        io::ErrorKind::PermissionDenied => {
            (ErrorClass::Permanent, "; is it executable (chmod +x)?")
        }
        io::ErrorKind::NotFound => (
            ErrorClass::Permanent,
            "; does the program after `#!` in its first line exist?",
        ),
        io::ErrorKind::InvalidInput => (ErrorClass::Permanent, ""),
        _ if error.to_string().contains("format") => (
            ErrorClass::Permanent,
            "; a script needs a first line such as `#!/bin/sh`",
        ),
        // Too many processes, no memory, no more files: that passes.
        _ => (ErrorClass::Transient, ""),
    };
    let message = format!("cannot start the adapter {program}: {error}{advice}");
    AdapterError::failed(class, message)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn programs_are_found_on_the_path_in_the_workspace_or_by_their_full_name() {
        let folder = tempfile::tempdir().expect("dir");
        let (bin, workspace) = (folder.path().join("bin"), folder.path().join("ws"));
        fs::create_dir_all(workspace.join("adapters")).expect("dir");
        fs::create_dir(&bin).expect("dir");
        for path in [
            bin.join("tool"),
            workspace.join("tool"),
            workspace.join("adapters/make"),
        ] {
            fs::write(path, b"").expect("written");
        }
        let search = bin.to_str().expect("text");
        let find = |name: &str| find_program(name, &workspace, Some(search));
        assert_eq!(find("tool"), Ok(bin.join("tool")));
        assert_eq!(find("adapters/make"), Ok(workspace.join("adapters/make")));
        assert_eq!(
            find_program("tool", &workspace, None),
            Ok(workspace.join("tool"))
        );
        let full = bin.join("tool");
        assert_eq!(find(full.to_str().expect("text")), Ok(full));
        assert!(
            find("none")
                .expect_err("missing")
                .contains("neither on PATH")
        );
        assert!(
            find("adapters/none")
                .expect_err("missing")
                .contains("in the workspace")
        );
    }

    #[test]
    fn only_arguments_that_are_files_of_the_workspace_become_full_paths() {
        let folder = tempfile::tempdir().expect("dir");
        fs::write(folder.path().join("make.py"), b"").expect("written");
        let full = folder.path().join("make.py");
        assert_eq!(argument("make.py", folder.path()), full);
        for text in ["--fast", "other.py", "", ".", "/bin/sh"] {
            assert_eq!(argument(text, folder.path()), Path::new(text));
        }
    }

    #[test]
    fn only_harmless_variables_and_those_asked_for_are_visible() {
        let env = |name: &str| Some(format!("value of {name}"));
        let seen = visible(&["FAL_KEY".to_owned()], &env);
        assert_eq!(seen["FAL_KEY"], "value of FAL_KEY");
        assert!(seen.contains_key("PATH"));
        assert!(!seen.contains_key("AWS_SECRET_ACCESS_KEY"));
        assert!(!seen.contains_key("LD_PRELOAD"));
    }
}
