//! Who runs the jobs: machine, user, graphics card, environment.

use std::io::{self, BufRead as _, BufReader, Read as _};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use crate::config::Settings;
use crate::domain::id::WorkerId;
use crate::domain::patch::WorkerFacts;
use crate::domain::text::one_line;
use crate::platform;
use crate::store::WorkerIdentity;

/// How long the graphics card may take to answer.
const GPU_PATIENCE: Duration = Duration::from_secs(2);

/// How much of its answer is read.
const MAX_GPU_BYTES: u64 = 4096;

/// The variables that name the user, the first that is set and not empty.
const USER_VARIABLES: [&str; 4] = ["LOGNAME", "USER", "LNAME", "USERNAME"];

/// Returns the identity of this start of this process.
pub(super) fn worker_identity(settings: &Settings) -> WorkerIdentity {
    let env = |name: &str| {
        settings
            .env_value(&super::real_env, name)
            .filter(|value| !value.is_empty())
    };
    let host = hostname::get()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default();
    let pid = std::process::id();
    let random = uuid::Uuid::new_v4().simple().to_string();
    WorkerIdentity {
        worker_id: WorkerId::compose(&host, pid, &random[..8]),
        pid,
        boot_id: platform::boot_id(),
        facts: WorkerFacts {
            host: one_line(&host),
            user: user_name(
                |name| super::real_env(name).filter(|value| !value.is_empty()),
                whoami::username().ok().filter(|user| !user.is_empty()),
            ),
            gpu: gpu_name().unwrap_or_default(),
            env: environment(env("CONDA_DEFAULT_ENV"), env("VIRTUAL_ENV")),
            commit: env("ARCHI3D_COMMIT").map_or_else(String::new, |commit| one_line(&commit)),
        },
    }
}

/// Returns who runs this process, and on which machine.
#[cfg(feature = "postgres")]
pub(super) fn user_and_host() -> (String, String) {
    let host = hostname::get()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default();
    let user = user_name(
        |name| super::real_env(name).filter(|value| !value.is_empty()),
        whoami::username().ok().filter(|user| !user.is_empty()),
    );
    (user, one_line(&host))
}

fn environment(conda: Option<String>, venv: Option<String>) -> String {
    let version = concat!("archi3d ", env!("CARGO_PKG_VERSION"));
    if let Some(name) = conda {
        return format!("{version} (conda:{})", one_line(&name));
    }
    match venv {
        Some(path) => {
            let name = path.rsplit(['/', '\\']).find(|part| !part.is_empty());
            format!("{version} (venv:{})", one_line(name.unwrap_or(&path)))
        }
        None => version.to_owned(),
    }
}

/// Returns the name of who runs this, found as Python's `getpass` finds it: the
/// variables, then the system's list of users, then the number of the user.
fn user_name(env: impl Fn(&str) -> Option<String>, listed: Option<String>) -> String {
    let named = USER_VARIABLES.iter().find_map(|name| env(name));
    let found = named.or(listed).unwrap_or_else(platform::user_number);
    one_line(&found)
}

/// Asks the driver's own tool; a machine without one has no name to tell.
fn gpu_name() -> Option<String> {
    #[expect(
        clippy::disallowed_methods,
        reason = "the driver's tool is the only one that knows the card"
    )]
    let mut tool = Command::new("nvidia-smi");
    tool.args(["--query-gpu=name", "--format=csv,noheader"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let deadline = Instant::now() + GPU_PATIENCE;
    let mut child = tool.spawn().ok()?;
    let first_line = child.stdout.take().map(first_line);
    let status = ended_by(&mut child, deadline)?;
    // Something that it started may keep the pipe open: no end of it is waited for.
    let left = deadline.saturating_duration_since(Instant::now());
    let line = first_line?.recv_timeout(left).ok()?;
    let name = one_line(line.trim());
    (status.success() && !name.is_empty()).then_some(name)
}

/// Waits for the end of `child`; ends it when the time is up.
fn ended_by(child: &mut Child, deadline: Instant) -> Option<ExitStatus> {
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Some(status),
            Ok(None) if Instant::now() < deadline => thread::sleep(Duration::from_millis(10)),
            _ => break,
        }
    }
    let _ = child.kill();
    let _ = child.wait();
    None
}

/// Reads the first line in a thread of its own, which nobody has to wait for.
fn first_line(pipe: ChildStdout) -> mpsc::Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut line = Vec::new();
        let mut pipe = BufReader::new(pipe);
        let read = (&mut pipe).take(MAX_GPU_BYTES).read_until(b'\n', &mut line);
        if read.is_ok() {
            let _ = sender.send(String::from_utf8_lossy(&line).into_owned());
        }
        // A tool that cannot say the rest would not end well.
        let _ = io::copy(&mut pipe, &mut io::sink());
    });
    receiver
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_user_is_named_by_the_variables_then_the_system_then_a_number() {
        let env = |name: &str| (name == "USER").then(|| "ann".to_owned());
        assert_eq!(user_name(env, Some("bob".into())), "ann");
        assert_eq!(user_name(|_| None, Some("bob".into())), "bob");
        let number = user_name(|_| None, None);
        assert!(number.bytes().all(|byte| byte.is_ascii_digit()), "{number}");
        assert_eq!(number.is_empty(), cfg!(windows));
    }

    #[test]
    fn the_environment_names_the_version_and_where_it_runs() {
        let version = env!("CARGO_PKG_VERSION");
        assert_eq!(environment(None, None), format!("archi3d {version}"));
        let conda = environment(Some("lab".into()), Some("/v".into()));
        assert_eq!(conda, format!("archi3d {version} (conda:lab)"));
        let venv = environment(None, Some("/home/me/.venvs/three-d/".into()));
        assert_eq!(venv, format!("archi3d {version} (venv:three-d)"));
    }
}
