//! Limits of providers hold for all workers of a workspace together, hold up nobody else, and die
//! with nobody.

use std::time::{Duration, Instant};

use crate::support::mocks::{executed, set_algo, statuses};
use crate::support::{TestWorkspace, wait_until};

const STAMPS: &str = "stamps.txt";

fn workspace(jobs: usize, options: &str) -> TestWorkspace {
    let yaml = format!("adapters:\n  tool: {{kind: mock, stamp_file: {STAMPS}, {options}}}\n");
    let builder = TestWorkspace::with_products(jobs).algo("tool");
    builder.adapters(&yaml).build()
}

/// Whether each line of the stamps is a start, in the order in which they were written.
fn stamps(workspace: &TestWorkspace) -> Vec<bool> {
    let text = std::fs::read_to_string(workspace.path(STAMPS)).unwrap_or_default();
    text.lines().map(|line| line.starts_with("start")).collect()
}

/// The most jobs that ran at once: a start is noted after its slot is taken, an end before it is
/// given back.
fn most_at_once(workspace: &TestWorkspace) -> usize {
    let (mut running, mut most) = (0usize, 0);
    for is_start in stamps(workspace) {
        running = if is_start { running + 1 } else { running - 1 };
        most = most.max(running);
    }
    most
}

#[test]
fn max_parallel_holds_across_processes_and_is_used_up() {
    let workspace = workspace(24, "max_parallel: 3, wait_file: go, sleep_ms: 5");
    let options = ["--max-parallel", "4"];
    let workers: Vec<_> = (0..4).map(|_| workspace.worker(&options).spawn()).collect();
    wait_until("three jobs have started", || stamps(&workspace).len() >= 3);
    workspace.write("go", b"");
    for worker in workers {
        let _ = worker.wait().expect_code(0);
    }
    assert_eq!(statuses(&workspace), ["completed"; 24]);
    assert_eq!(most_at_once(&workspace), 3);
}

#[test]
fn the_slot_of_a_killed_worker_is_free_at_once() {
    let workspace = workspace(2, "max_parallel: 1, wait_file: go");
    let worker = workspace.worker(&[]).spawn();
    workspace.wait_for_file(STAMPS);
    drop(worker.kill());
    workspace.write("go", b"");
    let resume = ["--only-status", "enqueued,running"];
    let _ = workspace.worker(&resume).run().expect_code(0);
    assert_eq!(statuses(&workspace), ["completed"; 2]);
}

#[test]
fn a_rate_spreads_the_starts_of_all_workers() {
    let workspace = workspace(12, "rate_per_min: 600");
    let start = Instant::now();
    let workers: Vec<_> = (0..4).map(|_| workspace.worker(&[]).spawn()).collect();
    for worker in workers {
        let _ = worker.wait().expect_code(0);
    }
    assert_eq!(statuses(&workspace), ["completed"; 12]);
    // Eleven tenths of a second lie between twelve starts; a quarter of one may be caught up.
    assert!(start.elapsed() >= Duration::from_millis(850));
}

#[test]
fn jobs_that_wait_for_their_provider_hold_up_nobody_and_hold_no_claim() {
    let yaml = "adapters:\n  slow: {kind: mock, provider: acme, max_parallel: 1, wait_file: go}\n  \
                twin: {kind: mock, provider: acme}\n  \
                free: {kind: mock, count_file: executions.txt}\n";
    let workspace = TestWorkspace::with_products(6).adapters(yaml).build();
    for (index, algo) in ["slow", "slow", "twin", "free", "free", "free"]
        .into_iter()
        .enumerate()
    {
        set_algo(&workspace, index, algo);
    }
    let worker = workspace.worker(&["--max-parallel", "3"]).spawn();
    workspace.wait_for_events("job_completed", 3);
    let mut done = executed(&workspace);
    done.sort_unstable();
    assert_eq!(done, [3, 4, 5]);
    // A lease goes a moment after its ending is told.
    wait_until("the only claim", || {
        workspace.jobs_with("inprogress").len() == 1
    });
    // A first signal ends the wait; the running job may finish.
    worker.signal("INT");
    workspace.write("go", b"");
    let _ = worker.wait().expect_code(130);
    let _ = workspace.worker(&[]).run().expect_code(0);
    assert_eq!(statuses(&workspace), ["completed"; 6]);
}

#[test]
fn a_rehearsal_waits_for_no_limit() {
    let workspace = workspace(3, "rate_per_min: 0.001");
    let _ = workspace.worker(&["--dry-run"]).run().expect_code(0);
    assert!(!workspace.path("runs/.providers").exists());
}

#[test]
fn a_limit_that_is_none_is_refused_with_its_line() {
    let workspace = workspace(1, "max_parallel: 0");
    let _ = workspace
        .worker(&[])
        .run()
        .expect_code(2)
        .expect_stderr("adapters.yaml:2")
        .expect_stderr("1 or more");
}

/// Puts something that is no plain file where a limit is kept, and demands that the worker says so.
#[track_caller]
fn expect_refusal(options: &str, name: &str, spoil: impl Fn(&std::path::Path)) {
    let workspace = workspace(2, options);
    let path = workspace.path("runs/.providers").join(name);
    workspace.write("elsewhere", b"mine");
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("writable");
    spoil(&path);
    let _ = workspace
        .worker(&[])
        .run()
        .expect_code(3)
        .expect_stderr(name)
        .expect_stderr("move it away");
    assert_eq!(statuses(&workspace), ["enqueued"; 2]);
    assert_eq!(workspace.bytes("elsewhere"), b"mine");
    std::fs::remove_file(&path).expect("it can be moved away");
    let _ = workspace.worker(&[]).run().expect_code(0);
}

#[test]
fn a_limit_kept_in_a_pipe_or_a_link_stops_the_worker_with_a_clear_error() {
    let link = |path: &std::path::Path| {
        std::os::unix::fs::symlink("../../elsewhere", path).expect("the name is free");
    };
    let pipe = |path: &std::path::Path| {
        let made = std::process::Command::new("mkfifo").arg(path).status();
        assert!(made.expect("mkfifo is there").success());
    };
    for name in ["tool.rate", "tool.rate.lock"] {
        expect_refusal("rate_per_min: 6000", name, link);
        expect_refusal("rate_per_min: 6000", name, pipe);
    }
    expect_refusal("max_parallel: 1", "tool.slot-1.lock", link);
    expect_refusal("max_parallel: 1", "tool.slot-1.lock", pipe);
}
