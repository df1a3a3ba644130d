//! Places and settings that programs are seldom started in: they run there as anywhere, or say in
//! one sentence why not.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::support::{Invocation, TestWorkspace};

fn two_jobs() -> TestWorkspace {
    TestWorkspace::with_products(2).algo("mock").build()
}

/// Runs the worker at the end of a shell script that sets the stage.
fn staged(workspace: &TestWorkspace, script: &str) -> Invocation {
    let script = format!("{script} \"$0\" run worker --run-id rk --workspace \"$1\"");
    Invocation::program(Path::new("sh"), ["-c", &script])
        .arg(env!("CARGO_BIN_EXE_archi3d"))
        .arg(workspace.root())
}

#[test]
fn a_worker_runs_without_home_in_any_zone_locale_and_mask() {
    for script in [
        "unset HOME; exec",
        "exec env -i",
        "umask 077; exec",
        "export TZ=Nowhere/Odd LC_ALL=C LANG=xx; exec",
        "export RAYON_NUM_THREADS=0 COLUMNS=1 TERM=dumb; exec",
    ] {
        let workspace = two_jobs();
        let _ = staged(&workspace, script).run().expect_code(0);
        assert_eq!(workspace.registry().count("completed"), 2, "{script}");
        assert!(workspace.row(workspace.id(0))["generation_start"].ends_with("+00:00"));
    }
}

#[test]
fn closed_standard_streams_harm_no_job() {
    for script in [
        "exec <&- ; exec",
        "exec >&- ; exec",
        "exec 2>&- ; exec",
        "exec <&- >&- 2>&- ; exec",
        "exec >/dev/full 2>/dev/full; exec",
    ] {
        let workspace = two_jobs();
        let _ = staged(&workspace, script).run().expect_code(0);
        assert_eq!(workspace.registry().count("completed"), 2, "{script}");
        assert_eq!(workspace.log().summary()["completed"], 2);
        let image = &workspace.jobs()[0].images[0];
        assert_eq!(workspace.bytes(image), [0xff, 0xd8, 0xff, 0xd9]);
    }
}

#[test]
fn a_folder_that_was_removed_under_the_worker_is_no_hindrance_or_is_named() {
    let workspace = two_jobs();
    let script = "mkdir gone && cd gone && rmdir ../gone && exec";
    let output = staged(&workspace, script).run();
    match output.code() {
        Some(0) => assert_eq!(workspace.registry().count("completed"), 2),
        Some(2) => {
            let _ = output
                .expect_stderr("current folder")
                .expect_stderr("hint: ");
        }
        _ => panic!("{output}"),
    }
}

#[test]
fn few_file_handles_are_enough() {
    let workspace = TestWorkspace::with_products(12).algo("mock").build();
    let _ = staged(&workspace, "ulimit -n 32; exec")
        .run()
        .expect_code(0);
    assert_eq!(workspace.registry().count("completed"), 12);
}

#[test]
fn more_parallel_jobs_than_file_handles_lose_nothing() {
    let workspace = TestWorkspace::with_products(60)
        .algo("mock")
        .adapters("adapters: {mock: {kind: mock, sleep_ms: 5, count_file: count.txt}}\n")
        .build();
    let script =
        "ulimit -n 32; exec \"$0\" run worker --run-id rk --workspace \"$1\" --max-parallel 40";
    let output = Invocation::program(Path::new("sh"), ["-c", script])
        .arg(env!("CARGO_BIN_EXE_archi3d"))
        .arg(workspace.root())
        .run();
    let output = output.expect_code(0).expect_stderr("ulimit -n");
    assert_eq!(workspace.registry().count("completed"), 60, "{output}");
    assert_eq!(workspace.log().summary()["max_parallel"], 2);
    let counted = fs::read_to_string(workspace.path("count.txt")).expect("counted");
    assert_eq!(counted.lines().count(), 60);
}

#[test]
fn a_workspace_may_have_any_name() {
    for name in [
        "with blank",
        "línea 🪑",
        "new\nline",
        "-dash",
        "quote'\"$HOME",
        "OneDrive - Us",
    ] {
        let workspace = two_jobs();
        let place = workspace.outside().join(name);
        fs::rename(workspace.root(), &place).expect("both are in one folder");
        let output = Invocation::archi3d(["run", "worker", "--run-id", "rk", "--workspace"])
            .arg(&place)
            .run()
            .expect_code(0);
        let table = fs::read_to_string(place.join("tables/generations.csv")).expect("text");
        assert_eq!(table.matches(",completed,").count(), 2, "{output}");
        fs::rename(&place, workspace.root()).expect("both are in one folder");
    }
}

#[test]
fn a_deep_workspace_is_used_like_any_other() {
    let workspace = two_jobs();
    let mut place = workspace.outside().to_owned();
    for _ in 0..15 {
        place = place.join("d".repeat(200));
    }
    fs::create_dir_all(&place).expect("short enough for the system");
    let place = place.join("ws");
    fs::rename(workspace.root(), &place).expect("both are in one file system");
    let _ = Invocation::archi3d(["run", "worker", "--run-id", "rk", "--workspace"])
        .arg(&place)
        .run()
        .expect_code(0);
    fs::rename(&place, workspace.root()).expect("both are in one file system");
    assert_eq!(workspace.registry().count("completed"), 2);
}

#[test]
fn a_relative_workspace_is_found_from_where_one_is() {
    let workspace = two_jobs();
    let _ = Invocation::archi3d(["run", "worker", "--run-id", "rk", "--workspace", "ws"])
        .current_dir(workspace.outside())
        .run()
        .expect_code(0);
    assert_eq!(workspace.registry().count("completed"), 2);
    let _ = Invocation::archi3d(["run", "status", "--run-id", "rk"])
        .current_dir(&workspace.path("dataset/100001/images"))
        .run()
        .expect_code(0);
}

#[test]
fn a_huge_pattern_is_refused_or_used_at_once() {
    let workspace = two_jobs();
    let start = Instant::now();
    for pattern in ["a".repeat(100_000), format!("^({})$", "a?".repeat(30_000))] {
        let output = workspace.worker(&["--dry-run", "--jobs", &pattern]).run();
        assert!(matches!(output.code(), Some(0 | 2)), "{:?}", output.code());
    }
    assert!(start.elapsed() < Duration::from_secs(30));
    assert_eq!(workspace.registry().count("completed"), 0);
}
