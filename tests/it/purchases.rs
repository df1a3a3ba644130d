//! Nothing is bought twice: a purchase that is known is gone on with after every kind of end, and
//! one that nobody can be sure of is asked about.

use std::fs;

use archi3d_core::domain::job::Entry;
use archi3d_core::store::ReleaseReason;
use serde_json::Value;

use crate::support::bench::{FilesBench, at, listing, take};
use crate::support::mocks::{
    attempts, change_mocks, executed, executions, fields, one_job_each, statuses, wait_for_purchase,
};
use crate::support::{TestWorkspace, wait_until};

/// Starts a worker and waits until its job has begun.
fn started(workspace: &TestWorkspace, options: &[&str]) -> crate::support::binary::Running {
    let before = executions(workspace).len();
    let worker = workspace.worker(options).spawn();
    wait_until("the job has begun", || executions(workspace).len() > before);
    worker
}

fn request_id(workspace: &TestWorkspace, attempt: u32) -> String {
    format!("mock-{}-{attempt}", workspace.id(0))
}

fn metadata(workspace: &TestWorkspace) -> Value {
    let path = format!("runs/rk/outputs/{}/metadata.json", workspace.id(0));
    let whole: Value = serde_json::from_slice(&workspace.bytes(&path)).expect("JSON");
    whole["adapter"].clone()
}

/// Demands that the job's second attempt went on with the purchase of its first.
#[track_caller]
fn assert_resumed(workspace: &TestWorkspace) {
    assert_eq!(statuses(workspace), ["completed"]);
    let second = executions(workspace).pop().expect("executed");
    assert_eq!(second.attempt, 2);
    assert_eq!(second.resumes, Some(request_id(workspace, 1)));
    assert_eq!(metadata(workspace)["resumed"], true);
    assert_eq!(metadata(workspace)["request_id"], request_id(workspace, 1));
    let attempts = attempts(workspace);
    assert_eq!(
        fields(&attempts, "request_id"),
        [request_id(workspace, 1), request_id(workspace, 1)]
    );
    assert_eq!(fields(&attempts, "resumed"), ["false", "true"]);
}

#[test]
fn after_a_kill_the_next_attempt_goes_on_with_the_purchase() {
    for on_interrupt in ["rerun", "ask"] {
        let options = format!("submit: true, wait_file: go, on_interrupt: {on_interrupt}");
        let workspace = one_job_each(&[("one", &options)]);
        let worker = started(&workspace, &[]);
        wait_for_purchase(&workspace, 0);
        let _ = worker.kill();
        workspace.write("go", b"");
        let _ = workspace
            .worker(&["--only-status", "enqueued,running"])
            .run()
            .expect_code(0);
        assert_resumed(&workspace);
        assert_eq!(
            fields(&attempts(&workspace), "outcome"),
            ["interrupted", "completed"]
        );
    }
}

#[test]
fn after_a_release_the_next_attempt_goes_on_with_the_purchase() {
    let workspace = one_job_each(&[("one", "submit: true, wait_file: go, on_interrupt: ask")]);
    let worker = started(&workspace, &[]);
    wait_for_purchase(&workspace, 0);
    worker.signal("INT");
    wait_until("the first signal is told", || {
        worker.stderr_so_far().contains("stopping")
    });
    worker.signal("INT");
    let _ = worker.wait().expect_code(130);
    assert_eq!(statuses(&workspace), ["enqueued"]);
    workspace.write("go", b"");
    let _ = workspace.worker(&[]).run().expect_code(0);
    assert_resumed(&workspace);
    assert_eq!(
        fields(&attempts(&workspace), "outcome"),
        ["released", "completed"]
    );
}

#[test]
fn after_any_failure_the_next_attempt_goes_on_with_the_purchase() {
    for class in ["unknown", "permanent", "transient", "bad_input"] {
        let options = format!("submit: true, fail_first: 1, fail_class: {class}");
        let workspace = one_job_each(&[("one", &options)]);
        let _ = workspace.worker(&[]).run().expect_code(1);
        assert_eq!(statuses(&workspace), ["failed"]);
        let row = workspace.row(workspace.id(0));
        if class == "unknown" {
            let id = request_id(&workspace, 1);
            assert!(row["error_msg"].contains(&id), "{row:?}");
            assert!(row["error_msg"].contains("--only-status failed"), "{row:?}");
        }
        let _ = workspace
            .worker(&["--only-status", "failed"])
            .run()
            .expect_code(0);
        assert_resumed(&workspace);
    }
}

#[test]
fn a_retry_goes_on_with_the_purchase() {
    let workspace = one_job_each(&[("one", "submit: true, fail_first: 1, retries: 1")]);
    let _ = workspace.worker(&[]).run().expect_code(0);
    assert_resumed(&workspace);
}

#[test]
fn a_purchase_of_a_job_given_back_is_kept_when_a_power_loss_drops_its_marker() {
    let bench = FilesBench::boxed(1);
    let job = &bench.jobs()[0];
    let store = bench.worker("w-1-a");
    let lease = take(&*store, job, Entry::Fresh, at(1));
    store
        .submitted(&lease, "req-7", None, at(2))
        .expect("noted");
    let reason = ReleaseReason::Interrupted;
    store
        .release(&lease, reason, None, at(3))
        .expect("given back");
    drop(store);
    let state = bench.paths().state();
    let dropped = listing(&state)
        .into_iter()
        .find(|path| path.extension().is_some_and(|ending| ending == "released"));
    fs::remove_file(dropped.expect("a marker")).expect("removed");
    let store = bench.worker("w-1-b");
    let lease = take(&*store, job, Entry::Fresh, at(4));
    assert_eq!(lease.request_id.as_deref(), Some("req-7"));
}

/// Demands that the only job is in doubt: failed, said so, and not run again by itself.
#[track_caller]
fn assert_asked(workspace: &TestWorkspace) {
    let bought = executed(workspace);
    assert_eq!(statuses(workspace), ["failed"]);
    let row = workspace.row(workspace.id(0));
    assert!(row["error_msg"].contains("may have been billed"), "{row:?}");
    assert!(row["error_msg"].contains("--resubmit-unknown"), "{row:?}");
    let last = attempts(workspace).pop().expect("an attempt");
    assert_eq!(
        (&last["outcome"], &last["class"]),
        (&"failed".into(), &"unknown".into())
    );
    let _ = workspace
        .worker(&["--only-status", "failed"])
        .run()
        .expect_code(0)
        .expect_stderr("--resubmit-unknown");
    assert_eq!(executed(workspace), bought, "bought again unasked");
    assert_eq!(statuses(workspace), ["failed"]);
    let _ = workspace
        .worker(&["--only-status", "failed", "--resubmit-unknown"])
        .run()
        .expect_code(0);
    assert_eq!(executed(workspace).len(), bought.len() + 1);
    assert_eq!(statuses(workspace), ["completed"]);
}

#[test]
fn a_job_killed_before_its_purchase_was_noted_is_asked_about() {
    let workspace = one_job_each(&[("one", "wait_file: go, on_interrupt: ask")]);
    let _ = started(&workspace, &[]).kill();
    workspace.write("go", b"");
    let _ = workspace
        .worker(&["--only-status", "enqueued,running"])
        .run()
        .expect_code(1);
    assert_eq!(executed(&workspace), [0]);
    assert_eq!(
        fields(&attempts(&workspace), "outcome"),
        ["interrupted", "failed"]
    );
    assert_asked(&workspace);
}

#[test]
fn a_rehearsed_job_killed_while_it_ran_for_real_is_asked_about() {
    let workspace = one_job_each(&[("one", "wait_file: go, on_interrupt: ask")]);
    let _ = workspace.worker(&["--dry-run"]).run().expect_code(0);
    let _ = started(&workspace, &[]).kill();
    workspace.write("go", b"");
    let _ = workspace
        .worker(&["--only-status", "enqueued,running"])
        .run()
        .expect_code(1);
    assert_eq!(executed(&workspace), [0]);
    assert_asked(&workspace);
}

#[test]
fn a_job_that_times_out_or_crashes_before_its_purchase_was_noted_is_asked_about() {
    for options in ["wait_file: never, timeout_s: 0.01", "panic: true"] {
        let asking = format!("{options}, on_interrupt: ask, retries: 3");
        let workspace = one_job_each(&[("one", &asking)]);
        let _ = workspace.worker(&[]).run().expect_code(1);
        assert_eq!(executed(&workspace), [0], "{options}");
        change_mocks(&workspace, &[("one", "on_interrupt: ask")]);
        assert_asked(&workspace);
    }
}

#[test]
fn a_job_stopped_by_hand_before_its_purchase_was_noted_is_asked_about() {
    let workspace = one_job_each(&[("one", "wait_file: go, on_interrupt: ask")]);
    let worker = started(&workspace, &[]);
    worker.signal("INT");
    wait_until("the first signal is told", || {
        worker.stderr_so_far().contains("stopping")
    });
    worker.signal("INT");
    let _ = worker.wait().expect_code(130);
    workspace.write("go", b"");
    assert_asked(&workspace);
}

#[test]
fn by_default_a_job_killed_before_its_purchase_was_noted_simply_runs_again() {
    let workspace = one_job_each(&[("one", "wait_file: go")]);
    let _ = started(&workspace, &[]).kill();
    workspace.write("go", b"");
    let _ = workspace
        .worker(&["--only-status", "enqueued,running"])
        .run()
        .expect_code(0);
    assert_eq!(executed(&workspace), [0, 0]);
    assert_eq!(statuses(&workspace), ["completed"]);
}

fn cancel(workspace: &TestWorkspace, options: &[&str]) {
    let arguments = [&["run", "cancel", "--run-id", "rk"], options].concat();
    let _ = workspace.archi3d(&arguments).run().expect_code(0);
}

/// Leaves the only job waiting after its worker died with it and it was cancelled and put back,
/// the cancel asked of the live worker or of nobody.
fn put_back_after_a_death(workspace: &TestWorkspace, asked_of_the_living: bool) {
    let worker = started(workspace, &["--heartbeat-secs", "60"]);
    if asked_of_the_living {
        cancel(workspace, &[]);
        let _ = worker.kill();
        let next = workspace.worker(&["--only-status", "enqueued,running"]);
        let _ = next.run().expect_code(0);
    } else {
        let _ = worker.kill();
        cancel(workspace, &[]);
    }
    assert_eq!(statuses(workspace), ["cancelled"]);
    cancel(workspace, &["--undo"]);
    assert_eq!(statuses(workspace), ["enqueued"]);
    workspace.write("go", b"");
}

fn told(workspace: &TestWorkspace, arguments: &[&str]) -> Value {
    let arguments = [arguments, &["--run-id", "rk", "--json"]].concat();
    workspace.archi3d(&arguments).run().expect_code(0).json()
}

#[test]
fn a_job_that_was_cancelled_after_its_worker_died_is_asked_about_when_it_is_put_back() {
    for asked_of_the_living in [false, true] {
        let options = "wait_file: go, on_interrupt: ask, unit_price_usd: 0.3";
        let workspace = one_job_each(&[("one", options)]);
        put_back_after_a_death(&workspace, asked_of_the_living);
        let plan = told(&workspace, &["run", "plan"]);
        assert_eq!(plan["reasons"][0]["code"], "ask_first", "{plan}");
        let explained = told(&workspace, &["run", "explain", workspace.id(0)]);
        assert_eq!(explained["code"], "ask_first", "{explained}");
        let _ = workspace.worker(&["--limit", "1"]).run().expect_code(1);
        assert_eq!(executed(&workspace), [0], "bought again unasked");
        assert_asked(&workspace);
        // Both purchases may be billed.
        let status = told(&workspace, &["run", "status"]);
        assert_eq!(status["money"]["spent_usd"], 0.6, "{status}");
    }
}

#[test]
fn by_default_a_job_that_was_put_back_after_its_worker_died_runs_again_with_a_warning() {
    let workspace = one_job_each(&[("one", "wait_file: go, unit_price_usd: 0.3")]);
    put_back_after_a_death(&workspace, false);
    let rehearsal = workspace.worker(&["--dry-run"]).run().expect_code(0);
    assert!(!rehearsal.stderr.contains("billed"), "{}", rehearsal.stderr);
    let workspace = one_job_each(&[("one", "wait_file: go, unit_price_usd: 0.3")]);
    put_back_after_a_death(&workspace, false);
    let _ = workspace
        .worker(&[])
        .run()
        .expect_code(0)
        .expect_stderr("it may have been billed before");
    assert_eq!(executed(&workspace), [0, 0]);
}

#[test]
fn a_request_that_is_given_up_is_bought_anew_and_only_then() {
    let workspace = one_job_each(&[("one", "submit: true, fail: dead at the provider")]);
    let _ = workspace.worker(&[]).run().expect_code(1);
    change_mocks(&workspace, &[("one", "submit: true, fail: still dead")]);
    let again = workspace.worker(&["--only-status", "failed"]);
    let _ = again.run().expect_code(1);
    change_mocks(&workspace, &[("one", "submit: true")]);
    let anew = workspace.worker(&["--only-status", "failed", "--forget-requests"]);
    let _ = anew.run().expect_code(0);
    let first = Some(request_id(&workspace, 1));
    let resumes: Vec<_> = executions(&workspace)
        .into_iter()
        .map(|execution| execution.resumes)
        .collect();
    assert_eq!(resumes, [None, first, None]);
    assert_eq!(
        metadata(&workspace)["request_id"],
        request_id(&workspace, 3)
    );
}
