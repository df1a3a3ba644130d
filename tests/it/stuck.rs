//! Wrong clocks, held locks, odd namespaces and tables that people change: nothing waits for ever,
//! nothing stays behind without a word.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::mocks::{executions, jobs_of, one_job_each, statuses};
use crate::support::process::shell;
use crate::support::{Invocation, TestWorkspace, has_tool, skip, wait_until};

/// A program that makes a model.
const MAKE: &str = r#"
cat > /dev/null
cp "$ARCHI3D_WORKSPACE/cube.glb" generated.glb
echo '{"event": "result", "success": true, "generated_glb": "generated.glb"}'
"#;

const TABLE: &str = "tables/generations.csv";

/// Builds a library that makes a program see another time; nothing without a compiler.
fn other_clock(folder: &Path, seconds: &str) -> Option<PathBuf> {
    let source = folder.join("clock.c");
    let program = format!(
        "#define _GNU_SOURCE\n#include <dlfcn.h>\n#include <time.h>\n\
         int clock_gettime(clockid_t id, struct timespec *at) {{\n\
         static int (*real)(clockid_t, struct timespec *);\n\
         if (!real) real = dlsym(RTLD_NEXT, \"clock_gettime\");\n\
         int result = real(id, at);\n\
         if (id == CLOCK_REALTIME) at->tv_sec {seconds};\n\
         return result; }}\n"
    );
    if !has_tool("cc") {
        return None;
    }
    fs::write(&source, program).expect("temporary folders are writable");
    let library = folder.join("clock.so");
    let built = Command::new("cc")
        .args(["-shared", "-fPIC", "-o"])
        .args([&library, &source])
        .arg("-ldl")
        .output()
        .expect("started");
    assert!(built.status.success(), "{built:?}");
    Some(library)
}

#[test]
fn a_clock_before_1970_stops_no_work() {
    let workspace = one_job_each(&[("one", "")]);
    let Some(clock) = other_clock(workspace.outside(), "= 1000 - 86400 * 365") else {
        return;
    };
    let worker = workspace.worker(&[]).env("LD_PRELOAD", &clock);
    let _ = worker.run().expect_code(0);
    assert_eq!(statuses(&workspace), ["completed"]);
    let start = workspace.row(workspace.id(0))["generation_start"].to_owned();
    assert!(start.starts_with("1969-"), "{start}");
    let status = ["run", "status", "--run-id", "rk"];
    let status = workspace.archi3d(&status).env("LD_PRELOAD", &clock);
    let _ = status.run().expect_code(0);
}

const REDO: [&str; 1] = ["--redo"];

#[test]
fn a_result_made_under_a_clock_a_day_off_is_made_again_when_somebody_asks_for_it() {
    for seconds in ["+= 86400", "-= 86400"] {
        let workspace = one_job_each(&[("one", "")]);
        let Some(clock) = other_clock(workspace.outside(), seconds) else {
            return;
        };
        let worker = workspace.worker(&[]).env("LD_PRELOAD", &clock);
        let _ = worker.run().expect_code(0);
        let _ = workspace.worker(&REDO).run().expect_code(0);
        assert_eq!(executions(&workspace).len(), 2, "{seconds}");
    }
}

#[test]
fn a_result_made_again_under_a_clock_a_day_behind_is_not_made_once_more() {
    let workspace = one_job_each(&[("one", "wait_file: go1"), ("two", "wait_file: go2")]);
    let Some(clock) = other_clock(workspace.outside(), "-= 86400") else {
        return;
    };
    let names = ["go1", "go2"];
    for name in names {
        workspace.write(name, b"");
    }
    let _ = workspace.worker(&[]).env("LD_PRELOAD", &clock).run();
    for name in names {
        fs::remove_file(workspace.path(name)).expect("there");
    }
    // The first worker is at one job and has read that the other one is to be made again.
    let first = workspace.worker(&REDO).spawn();
    wait_until("the first is begun", || executions(&workspace).len() == 3);
    let second = workspace.worker(&REDO).env("LD_PRELOAD", &clock).spawn();
    wait_until("the other is begun", || executions(&workspace).len() == 4);
    workspace.write("go2", b"");
    let _ = second.wait().expect_code(0);
    workspace.write("go1", b"");
    let _ = first.wait().expect_code(0);
    assert_eq!(executions(&workspace).len(), 4);
}

#[test]
fn a_retry_noted_under_a_clock_a_year_ahead_waits_no_longer_than_was_asked() {
    let workspace = one_job_each(&[("one", "fail_first: 1, retry_after_s: 2")]);
    let Some(clock) = other_clock(workspace.outside(), "+= 86400 * 365") else {
        return;
    };
    let retries = ["--retries", "1"];
    let worker = workspace.worker(&retries).env("LD_PRELOAD", &clock).spawn();
    wait_until("the retry waits", || {
        !workspace.jobs_with("released").is_empty()
    });
    let _ = worker.kill();
    let explain = [
        "run",
        "explain",
        "--run-id",
        "rk",
        workspace.id(0),
        "--json",
    ];
    let told = workspace.archi3d(&explain).run().stdout;
    let ahead = chrono::Utc::now() + chrono::TimeDelta::days(365);
    let year = ahead.format("\"not_before\":\"%Y-").to_string();
    assert!(!told.contains(&year), "{told}");
    let _ = workspace.worker(&retries).run().expect_code(0);
    assert_eq!(statuses(&workspace), ["completed"]);
    assert_eq!(executions(&workspace).len(), 2);
}

#[test]
fn a_provider_closed_under_a_clock_a_year_ahead_opens_when_it_was_meant_to() {
    let workspace = one_job_each(&[("one", "provider: shop")]);
    let later = chrono::Utc::now() + chrono::TimeDelta::days(365);
    let until = later + chrono::TimeDelta::milliseconds(300);
    let closed = format!(
        r#"{{"provider":"shop","closed_at":"{}","until":"{}","reason":"empty"}}"#,
        later.to_rfc3339(),
        until.to_rfc3339()
    );
    workspace.write("runs/.providers/shop.closed.json", closed.as_bytes());
    let _ = workspace.worker(&[]).run().expect_code(0);
    assert_eq!(statuses(&workspace), ["completed"]);
}

#[test]
fn a_job_whose_lock_another_program_holds_is_waited_for() {
    let workspace = jobs_of(&[("one", "")], &["one", "one"]);
    let path = workspace.run_path(&format!("state/{}.lock", workspace.id(0)));
    fs::create_dir_all(workspace.run_path("state")).expect("writable");
    let lock = File::create(&path).expect("writable");
    lock.lock().expect("free");
    let worker = workspace.worker(&[]).spawn();
    wait_until("the other job is done", || {
        statuses(&workspace)[1] == "completed"
    });
    drop(lock);
    let _ = worker.wait().expect_code(0);
    assert_eq!(statuses(&workspace), ["completed", "completed"]);
    assert_eq!(executions(&workspace).len(), 2);
}

#[test]
fn results_whose_rows_were_cut_or_renamed_meanwhile_are_told_with_the_command_that_brings_them_in()
{
    let workspace = jobs_of(&[("one", "wait_file: go")], &["one", "one", "one"]);
    let whole = String::from_utf8(workspace.bytes(TABLE)).expect("text");
    let worker = workspace.worker(&["--max-parallel", "3"]).spawn();
    wait_until("all of them run", || {
        statuses(&workspace) == ["running", "running", "running"]
    });
    // No fold is at work while the lock is ours.
    let lock = File::open(workspace.path("tables/generations.lock")).expect("there");
    lock.lock().expect("soon free");
    // A person cuts one row and gives another one a word of their own.
    let now = String::from_utf8(workspace.bytes(TABLE)).expect("text");
    let kept = now
        .split_inclusive('\n')
        .filter(|line| !line.contains(workspace.id(0)));
    let kept = kept.map(|line| {
        if line.contains(workspace.id(1)) {
            line.replace(",running,", ",good,")
        } else {
            line.to_owned()
        }
    });
    workspace.write(TABLE, kept.collect::<String>().as_bytes());
    drop(lock);
    workspace.write("go", b"");
    let _ = worker
        .wait()
        .expect_code(1)
        .expect_stderr("2 results have no row")
        .expect_stderr("registry rebuild --run-id rk");
    assert_eq!(workspace.log().summary()["without_row"], 2);
    let rebuild = ["registry", "rebuild", "--run-id", "rk"];
    let _ = workspace.archi3d(&rebuild).run();
    assert_eq!(
        statuses(&workspace),
        ["completed", "completed", "completed"]
    );
    assert_eq!(workspace.registry().rows.len(), whole.lines().count() - 1);
    assert_eq!(executions(&workspace).len(), 3);
}

#[test]
fn a_worker_in_a_pid_namespace_with_a_foreign_proc_does_its_work() {
    if !has_tool("unshare") {
        return;
    }
    let workspace = shell(2, MAKE, &[]);
    // Without `--mount-proc` the numbers in /proc are those of everybody else.
    let output = Invocation::program(Path::new("unshare"), ["--pid", "--fork"])
        .arg(env!("CARGO_BIN_EXE_archi3d"))
        .arg("run")
        .arg("worker")
        .arg("--run-id")
        .arg("rk")
        .arg("--workspace")
        .arg(workspace.root())
        .run();
    if output.stderr.contains("unshare failed") {
        skip("a PID namespace of one's own is not allowed here");
        return;
    }
    let _ = output.expect_code(0).expect_stderr("another PID namespace");
    assert_eq!(workspace.registry().count("completed"), 2);
}

#[test]
fn a_home_that_cannot_be_read_does_not_matter_where_the_workspace_is_named() {
    let workspace = TestWorkspace::with_products(1).build();
    workspace.write("home", b"a file in the place of the home");
    let home = workspace.path("home");
    let status = ["run", "status", "--run-id", "rk"];
    let _ = workspace
        .archi3d(&status)
        .env("HOME", &home)
        .run()
        .expect_code(0);
    let _ = Invocation::archi3d(status)
        .env("HOME", &home)
        .env("ARCHI3D_WORKSPACE", workspace.root())
        .run()
        .expect_code(0);
}

#[cfg(feature = "failpoints")]
#[test]
fn a_writer_that_panics_stops_the_worker_and_the_next_start_brings_everything_in() {
    let workspace = jobs_of(&[("tool", "")], &["tool"; 3]);
    let _ = workspace
        .worker(&[])
        .env("FAILPOINTS", "fold.locked=1*panic")
        .run()
        .expect_code(3)
        .expect_stderr("panicked");
    let _ = workspace.worker(&[]).run().expect_code(0);
    assert_eq!(statuses(&workspace), ["completed"; 3]);
    let _ = workspace.archi3d(&["doctor"]).run().expect_code(0);
}
