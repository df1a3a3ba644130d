//! Who runs the jobs: machine, user, graphics card, environment.

use std::process::{Command, Stdio};
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
            user: whoami::username().map_or_else(|_| String::new(), |user| one_line(&user)),
            gpu: gpu_name().unwrap_or_default(),
            env: environment(env("CONDA_DEFAULT_ENV"), env("VIRTUAL_ENV")),
            commit: env("ARCHI3D_COMMIT").map_or_else(String::new, |commit| one_line(&commit)),
        },
    }
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

/// Asks the driver's own tool; a machine without one has no name to tell.
fn gpu_name() -> Option<String> {
    #[expect(
        clippy::disallowed_methods,
        reason = "the driver's tool is the only one that knows the card"
    )]
    let mut child = Command::new("nvidia-smi")
        .args(["--query-gpu=name", "--format=csv,noheader"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let start = Instant::now();
    while child.try_wait().ok()?.is_none() {
        if start.elapsed() > GPU_PATIENCE {
            let _ = child.kill();
            let _ = child.wait();
            return None;
        }
        thread::sleep(Duration::from_millis(10));
    }
    let output = child.wait_with_output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.lines().next().map(|line| one_line(line.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

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
