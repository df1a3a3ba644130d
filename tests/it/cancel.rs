//! Jobs taken out of a run and put back, through the binary, beside workers and their deaths.

use crate::support::binary::{Invocation, Running};
use crate::support::mocks::{attempts, counting_mocks, executions, fields, one_job_each, statuses};
use crate::support::{TestWorkspace, wait_until};

fn cancel(workspace: &TestWorkspace, options: &[&str]) -> Invocation {
    let mut arguments = vec!["run", "cancel", "--run-id", "rk"];
    arguments.extend(options);
    workspace.archi3d(&arguments)
}

fn mocks(jobs: usize, options: &str) -> TestWorkspace {
    let yaml = counting_mocks(&[("trellis_single", options)]);
    TestWorkspace::with_products(jobs).adapters(&yaml).build()
}

/// Starts a worker on one job that waits for `go`, and returns when the job has begun.
fn begun(workspace: &TestWorkspace, options: &[&str]) -> Running {
    let before = executions(workspace).len();
    let worker = workspace.worker(options).spawn();
    wait_until("the job has begun", || executions(workspace).len() > before);
    worker
}

#[test]
fn waiting_jobs_are_taken_out_and_come_back_with_undo() {
    let workspace = mocks(4, "");
    let one = workspace.id(1).to_owned();
    let _ = cancel(&workspace, &["--jobs", &one])
        .run()
        .expect_code(0)
        .expect_stderr("run rk: 1 job cancelled")
        .expect_stderr("--undo");
    let _ = workspace.worker(&[]).run().expect_code(0);
    let after = ["completed", "cancelled", "completed", "completed"];
    assert_eq!(statuses(&workspace), after);
    let json = cancel(&workspace, &["--json"]).run().expect_code(0).json();
    assert_eq!(json["cancelled"], 0);
    assert_eq!(json["completed"], 3);
    assert_eq!(json["already_cancelled"], 1);
    let _ = cancel(&workspace, &["--undo"])
        .run()
        .expect_code(0)
        .expect_stderr("1 job put back; left as they are: 3 completed");
    assert_eq!(statuses(&workspace)[1], "enqueued");
    let _ = workspace.worker(&[]).run().expect_code(0);
    assert_eq!(executions(&workspace).len(), 4);
    assert_eq!(statuses(&workspace), ["completed"; 4]);
    assert_eq!(workspace.state_files(&one), ["completed", "lock"]);
}

#[test]
fn a_request_that_means_no_job_changes_nothing() {
    let workspace = mocks(2, "");
    let _ = workspace
        .worker(&["--limit", "1"])
        .run()
        .expect_code(0)
        .expect_stderr("completed");
    let before = workspace.tree();
    for (options, code, words) in [
        (&["--jobs", "nosuchjob"][..], 5, "no job matches"),
        (&["--algo", "other"], 5, "no job matches"),
        (&["--only-status", "failed"], 0, "nothing to cancel"),
        (&["--undo"], 0, "nothing to put back"),
    ] {
        let output = cancel(&workspace, options).run().expect_code(code);
        let _ = output.expect_stderr(words);
        assert_eq!(workspace.tree(), before, "{options:?}");
    }
    let unknown = ["run", "cancel", "--run-id", "nosuch"];
    let output = workspace.archi3d(&unknown).run().expect_code(2);
    let _ = output.expect_stderr("run nosuch does not exist");
    assert_eq!(workspace.tree(), before);
}

#[test]
fn a_running_job_is_stopped_by_its_worker_within_a_heartbeat() {
    let workspace = mocks(2, "wait_file: go");
    let worker = begun(&workspace, &["--heartbeat-secs", "0.1"]);
    let _ = cancel(&workspace, &[])
        .run()
        .expect_code(0)
        .expect_stderr("1 job cancelled; 1 running job asked to stop");
    // Nothing ever makes the file that the mock waits for: only the request ends it.
    let _ = worker.wait().expect_code(0);
    assert_eq!(statuses(&workspace), ["cancelled", "cancelled"]);
    assert_eq!(executions(&workspace).len(), 1);
    assert_eq!(
        workspace.state_files(workspace.id(0)),
        ["cancelled", "lock"]
    );
    assert_eq!(workspace.leftovers(), [""; 0]);
    let _ = cancel(&workspace, &["--undo"]).run().expect_code(0);
    workspace.write("go", b"");
    let _ = workspace.worker(&[]).run().expect_code(0);
    assert_eq!(statuses(&workspace), ["completed", "completed"]);
    let outcomes = fields(&attempts(&workspace), "outcome");
    assert_eq!(outcomes, ["cancelled", "completed", "completed"]);
}

#[test]
fn a_request_is_taken_back_before_the_worker_has_seen_it() {
    let workspace = mocks(1, "wait_file: go");
    let worker = begun(&workspace, &["--heartbeat-secs", "60"]);
    let asked = cancel(&workspace, &["--json"]).run().expect_code(0).json();
    assert_eq!(asked["asked_to_stop"][0], workspace.id(0));
    let _ = cancel(&workspace, &["--undo"])
        .run()
        .expect_code(0)
        .expect_stderr("1 request to stop taken back");
    workspace.write("go", b"");
    let _ = worker.wait().expect_code(0);
    assert_eq!(statuses(&workspace), ["completed"]);
}

#[test]
fn a_purchase_of_a_dead_worker_is_told_and_gone_on_with_after_undo() {
    let workspace = one_job_each(&[("tool", "submit: true, wait_file: go")]);
    let worker = begun(&workspace, &[]);
    wait_until("the purchase is noted", || {
        fields(&attempts(&workspace), "request_id")[0].starts_with("mock-")
    });
    let _ = worker.kill();
    let request = format!("mock-{}-1", workspace.id(0));
    let _ = cancel(&workspace, &[])
        .run()
        .expect_code(0)
        .expect_stderr("1 job cancelled")
        .expect_stderr(&format!("request {request}"))
        .expect_stderr("may be billed");
    assert_eq!(statuses(&workspace), ["cancelled"]);
    assert_eq!(workspace.leftovers(), [""; 0]);
    let _ = cancel(&workspace, &["--undo"]).run().expect_code(0);
    workspace.write("go", b"");
    let _ = workspace.worker(&[]).run().expect_code(0);
    let last = executions(&workspace).pop().expect("executed");
    assert_eq!(last.resumes, Some(request));
}

#[test]
fn a_request_to_stop_that_outlived_its_holder_is_told_by_whoever_honours_it() {
    let workspace = mocks(1, "wait_file: go");
    let worker = workspace.worker(&[]).spawn();
    workspace.wait_for_events("job_started", 1);
    let _ = worker.kill();
    workspace.write(&format!("runs/rk/state/{}.cancel", workspace.id(0)), b"");
    let resume = ["--only-status", "enqueued,running"];
    let _ = workspace
        .worker(&resume)
        .run()
        .expect_code(0)
        .expect_stderr(&format!("job {} was cancelled", workspace.id(0)));
    assert_eq!(statuses(&workspace), ["cancelled"]);
}

#[test]
fn a_cancel_that_dies_halfway_is_finished_by_another() {
    let workspace = mocks(300, "");
    let running = cancel(&workspace, &[]).spawn();
    wait_until("the first marker", || {
        !workspace.jobs_with("cancelled").is_empty()
    });
    let _ = running.kill();
    let _ = cancel(&workspace, &[]).run().expect_code(0);
    assert_eq!(statuses(&workspace), ["cancelled"; 300]);
    assert_eq!(workspace.jobs_with("cancelled").len(), 300);
    let _ = workspace.worker(&[]).run().expect_code(0);
    assert_eq!(executions(&workspace), []);
    assert_eq!(workspace.leftovers(), [""; 0]);
}

#[test]
fn a_marker_without_its_row_is_brought_into_the_table_by_the_next_start() {
    let workspace = mocks(3, "");
    let table = workspace.bytes("tables/generations.csv");
    let _ = cancel(&workspace, &[]).run().expect_code(0);
    // As if the power had gone between the markers and the table.
    workspace.write("tables/generations.csv", &table);
    assert_eq!(statuses(&workspace), ["enqueued"; 3]);
    let _ = workspace.worker(&[]).run().expect_code(0);
    assert_eq!(statuses(&workspace), ["cancelled"; 3]);
    assert_eq!(executions(&workspace), []);
}

#[test]
fn beside_eight_workers_no_job_is_both_cancelled_and_completed() {
    let workspace = mocks(400, "sleep_ms: 40");
    let workers: Vec<Running> = (0..8)
        .map(|_| workspace.worker(&["--heartbeat-secs", "0.2"]).spawn())
        .collect();
    wait_until("the first results", || executions(&workspace).len() >= 20);
    let json = cancel(&workspace, &["--json"]).run().expect_code(0).json();
    for worker in workers {
        let _ = worker.wait().expect_code(0);
    }
    let statuses = statuses(&workspace);
    let count = |word: &str| statuses.iter().filter(|status| *status == word).count();
    assert_eq!(count("completed") + count("cancelled"), 400, "{statuses:?}");
    assert!(json["cancelled"].as_u64() > Some(0), "{json}");
    for (job, status) in workspace.jobs().iter().zip(&statuses) {
        assert_eq!(
            workspace.state_files(&job.id),
            [status, "lock"],
            "{}",
            job.id
        );
        let output = workspace.run_path(&format!("outputs/{}", job.id));
        assert_eq!(output.exists(), status == "completed", "{}", job.id);
    }
    assert_eq!(workspace.leftovers(), [""; 0]);
}
