//! Who ran a job, and what a workspace has around it, as the tools beside this one expect.

use std::fs;
#[cfg(unix)]
use std::os::unix::fs::PermissionsExt as _;
use std::time::{Duration, Instant};

use crate::support::{Invocation, TestWorkspace};

/// Puts a `nvidia-smi` of our own first on the path and rehearses a run with it.
#[cfg(unix)]
fn gpu_with(script: &str) -> String {
    let workspace = TestWorkspace::with_products(1).build();
    let tools = workspace.path("tools");
    fs::create_dir(&tools).expect("made");
    let tool = tools.join("nvidia-smi");
    fs::write(&tool, format!("#!/bin/sh\n{script}\n")).expect("written");
    fs::set_permissions(&tool, fs::Permissions::from_mode(0o755)).expect("set");
    let path = format!(
        "{}:{}",
        tools.display(),
        std::env::var("PATH").unwrap_or_default()
    );
    let _ = workspace
        .worker(&["--dry-run"])
        .env("PATH", path)
        .run()
        .expect_code(0);
    workspace.registry().rows[0]["worker_gpu"].to_owned()
}

#[cfg(unix)]
#[test]
fn the_card_is_named_only_by_a_tool_that_ended_well() {
    assert_eq!(gpu_with("echo 'RTX 4090'; echo 'RTX 3090'"), "RTX 4090");
    let failed = "echo 'NVIDIA-SMI has failed because it could not communicate'; exit 9";
    assert_eq!(gpu_with(failed), "");
    assert_eq!(gpu_with("exit 0"), "");
}

#[cfg(unix)]
#[test]
fn a_child_that_keeps_the_pipe_open_does_not_hold_up_the_start() {
    let start = Instant::now();
    assert_eq!(gpu_with("sleep 30 & echo 'RTX 4090'"), "RTX 4090");
    assert_eq!(gpu_with("sleep 30 & exit 0"), "");
    assert!(start.elapsed() < Duration::from_secs(20));
}

#[test]
fn the_user_is_named_as_python_names_them() {
    for (variables, user) in [
        (&[("LOGNAME", "ann"), ("USER", "bob")][..], "ann"),
        (&[("LOGNAME", ""), ("USER", "bob")], "bob"),
        (&[("LNAME", "eve")], "eve"),
        (&[("USERNAME", "joe")], "joe"),
    ] {
        let workspace = TestWorkspace::with_products(1).build();
        let mut worker = workspace.worker(&["--dry-run"]);
        for (name, value) in variables {
            worker = worker.env(name, *value);
        }
        let _ = worker.run().expect_code(0);
        assert_eq!(&workspace.registry().rows[0]["worker_user"], user);
    }
}

#[test]
fn an_adopted_workspace_gets_its_folder_for_reports() {
    let workspace = TestWorkspace::with_products(1).build();
    let _ = workspace.worker(&["--dry-run"]).run().expect_code(0);
    assert!(workspace.path("reports").is_dir());
}

#[test]
fn a_folder_that_is_no_workspace_is_called_so() {
    let folder = tempfile::tempdir().expect("dir");
    for command in [&["run", "list"][..], &["cost", "report"]] {
        let _ = Invocation::archi3d(command.iter().copied())
            .arg("--workspace")
            .arg(folder.path())
            .run()
            .expect_code(2)
            .expect_stderr("is no workspace")
            .expect_stderr("--workspace");
    }
}
