//! What a worker on files reads before it takes its first job, as the system sees it.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;

use crate::support::mocks::{jobs_of, statuses};
use crate::support::{Invocation, TestWorkspace, must_have_all};

/// Runs a worker to its end and returns the file calls of all its threads in order; nothing where strace is missing.
fn calls_of_worker(workspace: &TestWorkspace) -> Option<Vec<String>> {
    let works = Command::new("strace").args(["-qq", "true"]).output();
    if !works.is_ok_and(|tried| tried.status.success()) {
        assert!(
            !must_have_all(),
            "strace does not work here; run scripts/test"
        );
        let line = b"skipped: strace does not work here; scripts/test installs it\n";
        std::io::stderr().write_all(line).ok();
        return None;
    }
    // A file for each thread: nothing is interrupted by what another one does.
    let folder = workspace.outside().join("calls");
    fs::create_dir(&folder).expect("temporary folders are writable");
    let calls =
        "trace=openat,open,read,pread64,readv,preadv,mmap,linkat,link,rename,renameat,renameat2";
    let traced = Invocation::program(
        Path::new("strace"),
        ["-ff", "-ttt", "-y", "-qq", "-e", calls, "-o"],
    )
    .arg(folder.join("thread"))
    .arg(env!("CARGO_BIN_EXE_archi3d"))
    .arg("run")
    .arg("worker")
    .arg("rk")
    .arg("--workspace")
    .arg(workspace.root());
    let _ = traced.run().expect_code(0);
    let mut calls = Vec::new();
    for entry in fs::read_dir(&folder).expect("readable") {
        let text = fs::read(entry.expect("readable").path()).expect("readable");
        calls.extend(String::from_utf8_lossy(&text).lines().map(str::to_owned));
    }
    // Each begins with its time, in as many digits as all others.
    calls.sort();
    Some(calls)
}

/// Returns how many bytes each opening of a file read, in order.
fn readings(calls: &[String], path: &Path) -> Vec<u64> {
    let (as_name, as_handle) = (
        format!("\"{}\"", path.display()),
        format!("<{}>", path.display()),
    );
    let mut readings = Vec::new();
    for call in calls.iter().filter(|call| call.contains(&as_handle)) {
        let answer = call.rsplit(" = ").next().unwrap_or_default();
        if call.contains(&as_name) && call.contains("O_RDONLY") {
            readings.push(0);
        } else if call.contains(" read") || call.contains(" pread") {
            let bytes: u64 = answer.trim().parse().expect("a number of bytes");
            *readings.last_mut().expect("it was opened") += bytes;
        } else {
            panic!("another way to read {}: {call}", path.display());
        }
    }
    readings
}

#[test]
fn the_registry_and_the_manifest_are_read_once_before_the_first_job_is_taken() {
    let workspace = jobs_of(&[("tool", "")], &["tool"; 3]);
    let (registry, manifest) = (
        workspace.path("tables/generations.csv"),
        workspace.path("runs/rk/manifest.csv"),
    );
    let size = |path: &Path| fs::metadata(path).expect("it is there").len();
    let sizes = (size(&registry), size(&manifest));
    let Some(calls) = calls_of_worker(&workspace) else {
        return;
    };
    assert_eq!(statuses(&workspace), ["completed"; 3]);
    let is_lease = |call: &String| {
        let makes = call.contains(" link") || call.contains(" rename");
        makes && call.contains(".inprogress\"") && call.ends_with(" = 0")
    };
    let first = calls.iter().position(is_lease).expect("a job was taken");
    assert_eq!(readings(&calls[..first], &manifest), [sizes.1]);
    // Its last byte is looked at before: a table that is being written in place is not read by half.
    assert_eq!(readings(&calls[..first], &registry), [1, sizes.0]);
}
