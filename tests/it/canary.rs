//! Trying an algorithm before spending on it, pausing one that fails again and again, and the
//! order in which jobs are taken.

use crate::support::TestWorkspace;
use crate::support::mocks::{change_mocks, executed, jobs_of as workspace, statuses};

#[test]
fn canaries_run_then_the_worker_stops_and_says_how_to_release_the_rest() {
    let workspace = workspace(
        &[("one", "unit_price_usd: 0.25"), ("two", "fail: broken")],
        &["one", "one", "one", "two", "two", "one"],
    );
    let output = workspace
        .worker(&["--canary", "1", "--json"])
        .run()
        .expect_code(1)
        .expect_stderr("canary one: 1 completed, 0 failed, $0.25")
        .expect_stderr("canary two: 0 completed, 1 failed")
        .expect_stderr("look at runs/rk/outputs, 4 jobs wait")
        .expect_stderr("to release the rest: archi3d --workspace ");
    assert_eq!(output.json()["stopped_by"], "canary");
    assert_eq!(output.json()["not_started"], 4);
    assert_eq!(executed(&workspace), [0, 3]);
    change_mocks(&workspace, &[("one", ""), ("two", "")]);
    let _ = workspace.worker(&[]).run().expect_code(0);
    assert_eq!(executed(&workspace), [0, 3, 1, 2, 4, 5]);
}

#[test]
fn a_canary_that_may_have_been_billed_is_not_told_as_free() {
    let lost = "unit_price_usd: 0.4, fail: lost, fail_class: unknown";
    let workspace = workspace(&[("one", lost)], &["one", "one"]);
    let _ = workspace
        .worker(&["--canary", "1"])
        .run()
        .expect_code(1)
        .expect_stderr("0 completed, 1 failed, $0.00 and 1 possibly billed");
}

#[test]
fn with_release_the_rest_of_a_good_algo_goes_on_and_a_broken_one_costs_its_canaries() {
    let workspace = workspace(
        &[("good", ""), ("bad", "fail: broken")],
        &["bad", "bad", "bad", "good", "good", "good"],
    );
    let output = workspace
        .worker(&[
            "--canary",
            "1",
            "--release",
            "--max-parallel",
            "3",
            "--json",
        ])
        .run()
        .expect_code(1);
    assert_eq!(output.json()["completed"], 3);
    assert_eq!(output.json()["failed"], 1);
    assert_eq!(output.json()["not_started"], 2);
    let waiting = ["failed", "enqueued", "enqueued"];
    assert_eq!(statuses(&workspace)[..3], waiting);
}

#[test]
fn a_job_that_waits_behind_canaries_starts_after_they_have_ended() {
    let workspace = workspace(&[("one", "wait_file: go")], &["one"; 4]);
    let options = ["--canary", "2", "--release", "--max-parallel", "4"];
    let worker = workspace.worker(&options).spawn();
    workspace.wait_for_events("job_started", 2);
    assert_eq!(workspace.jobs_with("inprogress").len(), 2);
    workspace.write("go", b"");
    let _ = worker.wait().expect_code(0);
    assert_eq!(statuses(&workspace), ["completed"; 4]);
    let log = workspace.log();
    let canaries = &log.events("canary_ended")[0];
    assert_eq!(canaries["completed"], 2);
}

#[test]
fn an_algo_that_fails_five_times_in_a_row_pauses_and_the_others_go_on() {
    let mut algos = vec!["bad"; 8];
    algos.push("good");
    let workspace = workspace(&[("bad", "fail: broken"), ("good", "")], &algos);
    let output = workspace
        .worker(&["--json"])
        .run()
        .expect_code(1)
        .expect_stderr("algo bad is paused for all workers: 5 failures in a row, the last: broken")
        .expect_stderr("adapters resume bad");
    assert_eq!(output.json()["failed"], 5);
    assert_eq!(output.json()["blocked"], 3);
    assert_eq!(output.json()["completed"], 1);
    let log = workspace.log();
    assert_eq!(log.events("breaker_opened")[0]["algo"], "bad");
    let _ = workspace
        .archi3d(&["run", "status", "--run-id", "rk"])
        .run()
        .expect_stdout("algo bad is paused: ");
    let _ = workspace
        .archi3d(&["adapters", "list"])
        .run()
        .expect_code(0)
        .expect_stdout("algo bad is paused");
    let _ = workspace
        .archi3d(&["adapters", "resume", "bad"])
        .run()
        .expect_code(0)
        .expect_stdout("algo bad is resumed");
    let _ = workspace
        .archi3d(&["adapters", "resume", "bad"])
        .run()
        .expect_code(2);
    let _ = workspace.worker(&["--only-status", "failed"]).run();
    assert_eq!(workspace.log().summary()["failed"], 5);
}

/// Pauses an algo of four jobs after its first failure; returns where that is noted.
fn paused() -> (TestWorkspace, &'static str) {
    let workspace = workspace(&[("bad", "fail: broken, breaker_failures: 1")], &["bad"; 4]);
    let _ = workspace.worker(&[]).run().expect_code(1);
    assert_eq!(executed(&workspace).len(), 1);
    (workspace, "runs/.providers/bad.paused.json")
}

/// Lets ten minutes go by for a pause.
fn long_ago(workspace: &TestWorkspace, note: &str) {
    let text = String::from_utf8(workspace.bytes(note)).expect("it is text");
    let mut pause: serde_json::Value = serde_json::from_str(&text).expect("it is JSON");
    pause["closed_at"] = "2026-01-01T00:00:00+00:00".into();
    workspace.write(note, pause.to_string().as_bytes());
}

#[test]
fn a_new_start_lifts_no_breaker() {
    let (workspace, note) = paused();
    change_mocks(&workspace, &[("bad", "breaker_failures: 1")]);
    let _ = workspace
        .worker(&[])
        .run()
        .expect_code(1)
        .expect_stderr("algo bad is paused (1 failures in a row")
        .expect_stderr("adapters resume bad");
    assert_eq!(executed(&workspace).len(), 1);
    assert!(workspace.path(note).exists());
}

#[test]
fn after_a_while_one_job_tries_a_paused_algo_for_everybody() {
    let (workspace, note) = paused();
    // It fails again: the pause begins anew, and no other job was tried.
    long_ago(&workspace, note);
    let _ = workspace
        .worker(&["--max-parallel", "3"])
        .run()
        .expect_code(1)
        .expect_stderr("one job tries whether it works again");
    assert_eq!(executed(&workspace).len(), 2);
    let _ = workspace.worker(&[]).run().expect_code(1);
    assert_eq!(executed(&workspace).len(), 2);
    // It works: everything goes on.
    long_ago(&workspace, note);
    change_mocks(&workspace, &[("bad", "breaker_failures: 1")]);
    let _ = workspace
        .worker(&["--only-status", "enqueued,failed", "--max-parallel", "3"])
        .run()
        .expect_code(0)
        .expect_stderr("algo bad works again and continues");
    assert!(!workspace.path(note).exists());
    assert_eq!(statuses(&workspace), ["completed"; 4]);
}

#[test]
fn a_paused_algo_is_paused_for_workers_that_run_already() {
    let workspace = workspace(
        &[("bad", "fail: broken, breaker_failures: 1, wait_file: go")],
        &["bad"; 4],
    );
    let first = workspace.worker(&[]).spawn();
    workspace.wait_for_events("job_started", 1);
    let second = workspace.worker(&[]).spawn();
    workspace.wait_for_events("job_started", 2);
    workspace.write("go", b"");
    let _ = first.wait().expect_code(1);
    let _ = second.wait().expect_code(1);
    assert_eq!(executed(&workspace).len(), 2);
}

#[test]
fn a_breaker_does_not_count_bad_input_and_can_be_turned_off() {
    let bad_input = workspace(
        &[("one", "fail: blurry, fail_class: bad_input")],
        &["one"; 7],
    );
    let _ = bad_input.worker(&[]).run().expect_code(1);
    assert_eq!(statuses(&bad_input), ["failed"; 7]);
    let off = workspace(&[("one", "fail: broken, breaker_failures: 0")], &["one"; 7]);
    let _ = off.worker(&[]).run().expect_code(1);
    assert_eq!(statuses(&off), ["failed"; 7]);
}

#[test]
fn jobs_are_taken_in_the_order_asked_for() {
    let prices = [
        ("dear", "unit_price_usd: 0.4"),
        ("riddle", "sleep_ms: 0"),
        ("cheap", "unit_price_usd: 0.02"),
    ];
    let algos = ["dear", "riddle", "cheap", "cheap", "dear"];
    for (order, expected) in [
        ("manifest", [0, 1, 2, 3, 4]),
        ("cheapest", [2, 3, 0, 4, 1]),
        ("row-first", [0, 1, 2, 3, 4]),
    ] {
        let workspace = workspace(&prices, &algos);
        let _ = workspace.worker(&["--order", order]).run().expect_code(0);
        assert_eq!(executed(&workspace), expected, "{order}");
    }
}

#[test]
fn the_rest_waits_for_a_person_also_where_a_canary_could_not_use_its_picture() {
    let workspace = workspace(
        &[("one", "fail: blurry, fail_class: bad_input")],
        &["one"; 4],
    );
    let _ = workspace
        .worker(&["--canary", "1", "--release"])
        .run()
        .expect_code(1);
    let statuses = statuses(&workspace);
    assert_eq!(statuses, ["failed", "enqueued", "enqueued", "enqueued"]);
}
