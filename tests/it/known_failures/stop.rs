//! W5 and W6: signals and `--fail-fast`. Nothing new starts, what runs lands or goes back, what is
//! finished is stored, and the summary is there.

use std::time::{Duration, Instant};

use super::{FOR_EVER, executions, mocks, quick, set_algo, statuses};
use crate::support::binary::Running;
use crate::support::{TestWorkspace, wait_until};

/// Makes jobs of which the second takes `slow_ms`, and runs them until it has begun.
fn stopped_in_the_second(jobs: usize, slow_ms: u32) -> (TestWorkspace, Running) {
    stopped_with(jobs, slow_ms, &[], "20")
}

/// The same with options and a time to finish that the environment names.
fn stopped_with(
    jobs: usize,
    slow_ms: u32,
    options: &[&str],
    grace: &str,
) -> (TestWorkspace, Running) {
    let workspace = quick(jobs).build();
    workspace.write("config/adapters.yaml", mocks(slow_ms, &[]).as_bytes());
    set_algo(&workspace, 1, "slow");
    let worker = workspace.worker(options).env("ARCHI3D_STOP_GRACE", grace);
    let worker = worker.spawn();
    workspace.wait_for_events("job_started", 2);
    (workspace, worker)
}

fn signal_and_wait_for(worker: &Running, name: &str, answer: &str) {
    worker.signal(name);
    wait_until(answer, || worker.stderr_so_far().contains(answer));
}

#[test]
fn w5_one_interrupt_lets_the_running_job_land_and_starts_nothing_new() {
    let (workspace, worker) = stopped_in_the_second(6, 2000);
    signal_and_wait_for(&worker, "INT", "stopping: no new job starts");
    let _ = worker.wait().expect_code(130);
    assert_eq!(
        statuses(&workspace),
        [
            "completed",
            "completed",
            "enqueued",
            "enqueued",
            "enqueued",
            "enqueued"
        ]
    );
    assert_eq!(executions(&workspace).len(), 2);
    let log = workspace.log();
    assert_eq!(log.events("worker_summary").len(), 1);
    let summary = log.summary();
    assert_eq!(summary["completed"], 2);
    assert_eq!(summary["not_started"], 4);
    assert_eq!(summary["stopped_by"], "interrupted");

    let _ = workspace.worker(&[]).run().expect_code(0);
    assert_eq!(workspace.registry().count("completed"), 6);
    assert_eq!(executions(&workspace).len(), 6);
}

#[test]
fn w5_a_second_interrupt_gives_the_running_job_back_without_counting_a_failure() {
    let (workspace, worker) = stopped_in_the_second(3, FOR_EVER);
    signal_and_wait_for(&worker, "INT", "stopping: no new job starts");
    let asked = Instant::now();
    worker.signal("INT");
    let _ = worker.wait().expect_code(130);
    let took = asked.elapsed();
    assert!(took < Duration::from_secs(5), "took {took:?}");
    assert_eq!(statuses(&workspace), ["completed", "enqueued", "enqueued"]);
    assert!(workspace.jobs_with("failed").is_empty());
    assert!(
        workspace.leftovers().is_empty(),
        "{:?}",
        workspace.leftovers()
    );
    let row = workspace.row(workspace.id(1));
    assert_eq!((&row["error_msg"], &row["generation_start"]), ("", ""));
    let log = workspace.log();
    let summary = log.summary();
    assert_eq!(
        (&summary["released"], &summary["failed"]),
        (&1.into(), &0.into())
    );
    assert_eq!(log.jobs("job_released"), [workspace.id(1)]);
    assert!(log.events("job_failed").is_empty());

    workspace.write("config/adapters.yaml", mocks(0, &[]).as_bytes());
    let _ = workspace.worker(&[]).run().expect_code(0);
    assert_eq!(workspace.registry().count("completed"), 3);
}

#[test]
fn w5_several_running_jobs_all_go_back_on_a_second_interrupt() {
    let workspace = quick(4).build();
    for index in 0..4 {
        set_algo(&workspace, index, "slow");
    }
    let worker = workspace.worker(&["--max-parallel", "3"]).spawn();
    workspace.wait_for_events("job_started", 3);
    signal_and_wait_for(&worker, "INT", "stopping: no new job starts");
    worker.signal("INT");
    let _ = worker.wait().expect_code(130);
    assert_eq!(workspace.registry().count("enqueued"), 4);
    assert_eq!(workspace.log().jobs("job_released").len(), 3);
    assert_eq!(executions(&workspace).len(), 3);
}

#[test]
fn w5_a_termination_lets_the_running_job_land_and_says_so_in_its_exit_code() {
    let (workspace, worker) = stopped_in_the_second(3, 2000);
    signal_and_wait_for(&worker, "TERM", "stopping: no new job starts");
    let _ = worker.wait().expect_code(143);
    assert_eq!(statuses(&workspace), ["completed", "completed", "enqueued"]);
    assert_eq!(workspace.log().summary()["completed"], 2);
}

#[test]
fn w5_two_terminations_give_the_running_job_back() {
    let (workspace, worker) = stopped_in_the_second(3, FOR_EVER);
    signal_and_wait_for(&worker, "TERM", "stopping: no new job starts");
    worker.signal("TERM");
    let _ = worker.wait().expect_code(143);
    assert_eq!(statuses(&workspace), ["completed", "enqueued", "enqueued"]);
    assert_eq!(workspace.log().summary()["released"], 1);
}

#[test]
fn w5_a_second_interrupt_ends_the_worker_although_the_table_is_locked() {
    let (workspace, worker) = stopped_in_the_second(3, FOR_EVER);
    wait_until("a result", || workspace.registry().count("completed") == 1);
    let lock = super::hold(&workspace.path("tables/generations.lock"));
    signal_and_wait_for(&worker, "INT", "stopping: no new job starts");
    let asked = Instant::now();
    worker.signal("INT");
    let _ = worker.wait().expect_code(130);
    let took = asked.elapsed();
    assert!(took < Duration::from_secs(5), "took {took:?}");
    assert_eq!(workspace.log().summary()["stopped_by"], "interrupted");
    drop(lock);

    workspace.write("config/adapters.yaml", mocks(0, &[]).as_bytes());
    let _ = workspace.worker(&[]).run().expect_code(0);
    assert_eq!(workspace.registry().count("completed"), 3);
}

#[test]
fn w5_a_worker_that_waits_for_the_table_at_its_start_can_be_interrupted() {
    let workspace = quick(2).build();
    let before = workspace.bytes("tables/generations.csv");
    let _lock = super::hold(&workspace.path("tables/generations.lock"));
    let worker = workspace.worker(&[]).spawn();
    let told = "waiting for tables/generations.lock";
    wait_until(told, || worker.stderr_so_far().contains(told));
    signal_and_wait_for(&worker, "INT", "stopping: no new job starts");
    worker.signal("INT");
    let _ = worker.wait().expect_code(130);
    assert_eq!(workspace.bytes("tables/generations.csv"), before);
    assert!(executions(&workspace).is_empty());
    assert_eq!(workspace.log().summary()["stopped_by"], "interrupted");
}

#[test]
fn w6_fail_fast_keeps_what_is_done_and_starts_no_fourth_job() {
    let workspace = quick(6).build();
    let yaml = mocks(0, &[("boom", "no kiln")]);
    workspace.write("config/adapters.yaml", yaml.as_bytes());
    set_algo(&workspace, 2, "boom");
    let _ = workspace.worker(&["--fail-fast"]).run().expect_code(1);
    assert_eq!(
        statuses(&workspace),
        [
            "completed",
            "completed",
            "failed",
            "enqueued",
            "enqueued",
            "enqueued"
        ]
    );
    assert_eq!(&workspace.row(workspace.id(2))["error_msg"], "no kiln");
    assert_eq!(executions(&workspace).len(), 3);
    let log = workspace.log();
    assert_eq!(log.jobs("job_started").len(), 3);
    assert_eq!(log.jobs("job_failed"), [workspace.id(2)]);
    let summary = log.summary();
    assert_eq!(summary["stopped_by"], "fail_fast");
    assert_eq!(
        (&summary["completed"], &summary["failed"]),
        (&2.into(), &1.into())
    );
    assert_eq!(summary["not_started"], 3);
}

#[test]
fn w6_jobs_that_run_beside_the_failure_land() {
    let workspace = quick(4).build();
    let yaml = mocks(1500, &[("boom", "no kiln")]);
    workspace.write("config/adapters.yaml", yaml.as_bytes());
    set_algo(&workspace, 0, "slow");
    set_algo(&workspace, 1, "boom");
    let _ = workspace
        .worker(&["--fail-fast", "--max-parallel", "2"])
        .run()
        .expect_code(1);
    assert_eq!(
        statuses(&workspace),
        ["completed", "failed", "enqueued", "enqueued"]
    );
}

#[test]
fn w5_the_time_to_finish_after_a_termination_is_what_was_asked_for() {
    for (options, grace) in [(&["--stop-grace", "0.1"][..], "3600"), (&[], "0.1")] {
        let (workspace, worker) = stopped_with(3, FOR_EVER, options, grace);
        let asked = Instant::now();
        worker.signal("TERM");
        let _ = worker
            .wait()
            .expect_code(143)
            .expect_stderr("the time to finish is over");
        assert!(asked.elapsed() < Duration::from_secs(15));
        assert_eq!(statuses(&workspace), ["completed", "enqueued", "enqueued"]);
    }
}
