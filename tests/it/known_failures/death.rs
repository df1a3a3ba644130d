//! W2 to W4: a worker that is killed, two at once, and leases of other tools. Nothing finished is
//! lost, nothing runs twice, and nobody's fresh lease is taken.

use chrono::{TimeDelta, Utc};

use super::{assert_complete, edit_line, executions, hold, mocks, quick, set_algo, statuses};
use crate::support::{Invocation, TestWorkspace, wait_until};

fn worker(workspace: &TestWorkspace, options: &[&str]) -> Invocation {
    workspace.worker(options).env("ARCHI3D_COMMIT", "0123456")
}

/// Makes six jobs of which the fifth does not end, and runs them until it has begun.
fn six_jobs_killed_in_the_fifth() -> TestWorkspace {
    let workspace = quick(6).build();
    set_algo(&workspace, 4, "slow");
    let running = worker(&workspace, &[]).spawn();
    let expected = [
        "completed",
        "completed",
        "completed",
        "completed",
        "running",
        "enqueued",
    ];
    wait_until("four results and a running row", || {
        statuses(&workspace) == expected
    });
    assert_eq!(running.kill().code(), None);
    assert_eq!(statuses(&workspace), expected);
    workspace
}

#[test]
fn w2_after_a_kill_every_finished_row_has_all_its_fields_and_a_restart_resumes() {
    let workspace = six_jobs_killed_in_the_fifth();
    let before = workspace.registry();
    for job in &workspace.jobs()[..4] {
        assert_complete(&workspace, before.row("rk", &job.id));
    }
    let running = workspace.row(workspace.id(4));
    assert!(!running["generation_start"].is_empty() && !running["worker_host"].is_empty());
    assert_eq!(&running["generation_end"], "");

    // Without `running` the dead worker's job stays, and the command that resumes it is shown.
    let _ = worker(&workspace, &[])
        .run()
        .expect_code(0)
        .expect_stderr("--only-status enqueued,running");
    assert_eq!(&workspace.row(workspace.id(4))["status"], "running");
    assert_eq!(workspace.log().summary()["resumable"], 1);

    workspace.write("config/adapters.yaml", mocks(0, &[]).as_bytes());
    let _ = worker(&workspace, &["--only-status", "enqueued,running"])
        .run()
        .expect_code(0);
    let after = workspace.registry();
    assert_eq!(after.count("completed"), 6);
    for job in workspace.jobs() {
        assert_complete(&workspace, after.row("rk", &job.id));
    }
    assert_eq!(after.rows[..4], before.rows[..4]);
    let ids: Vec<_> = [0, 1, 2, 3, 4, 5, 4]
        .map(|index| workspace.id(index))
        .to_vec();
    assert_eq!(executions(&workspace), ids);
    assert!(
        workspace.leftovers().is_empty(),
        "{:?}",
        workspace.leftovers()
    );
}

#[test]
fn w2_results_that_a_kill_kept_from_the_table_are_brought_in_by_the_next_start() {
    let workspace = quick(6).build();
    // The first job lasts long enough for the table's lock to be taken meanwhile.
    workspace.write("config/adapters.yaml", mocks(1500, &[]).as_bytes());
    set_algo(&workspace, 0, "slow");
    let running = worker(&workspace, &[]).spawn();
    workspace.wait_for_events("job_started", 1);
    let lock = hold(&workspace.path("tables/generations.lock"));
    wait_until("six results", || {
        workspace.jobs_with("completed").len() == 6
    });
    assert_eq!(running.kill().code(), None);
    assert_eq!(workspace.registry().count("completed"), 0);
    drop(lock);

    let _ = worker(&workspace, &[]).run().expect_code(0);
    for job in workspace.jobs() {
        assert_complete(&workspace, &workspace.row(&job.id));
    }
    assert_eq!(executions(&workspace).len(), 6);
    assert_eq!(workspace.log().summary()["processed"], 0);
    assert_eq!(workspace.log().summary()["skipped"], 6);
}

#[test]
fn w2_w22_a_table_that_another_tool_put_back_is_healed_and_nothing_runs_again() {
    let workspace = quick(3).build();
    let old = workspace.bytes("tables/generations.csv");
    let _ = worker(&workspace, &[]).run().expect_code(0);
    let new = workspace.bytes("tables/generations.csv");
    workspace.write("tables/generations.csv", &old);
    let _ = worker(&workspace, &[]).run().expect_code(0);
    assert_eq!(workspace.bytes("tables/generations.csv"), new);
    assert_eq!(executions(&workspace).len(), 3);
}

#[test]
fn w2_a_rehearsal_that_was_killed_resumes_at_once() {
    let workspace = TestWorkspace::with_products(2).build();
    let slow = ["--dry-run", "--simulate-ms", "600000"];
    let running = workspace.worker(&slow).spawn();
    wait_until("a running row", || {
        workspace.registry().count("running") == 1
    });
    assert_eq!(running.kill().code(), None);
    let _ = workspace
        .worker(&["--dry-run", "--only-status", "enqueued,running"])
        .run()
        .expect_code(0);
    assert_eq!(statuses(&workspace), ["completed", "completed"]);
}

#[test]
fn w3_two_workers_started_at_once_run_every_job_once() {
    let workspace = quick(3).build();
    workspace.write("config/adapters.yaml", mocks(1500, &[]).as_bytes());
    for index in 0..3 {
        set_algo(&workspace, index, "slow");
    }
    let both = [0, 1].map(|_| workspace.worker(&["--max-parallel", "3", "--json"]).spawn());
    let summaries = both.map(|worker| worker.wait().expect_code(0).json());
    let mut ids = executions(&workspace);
    ids.sort();
    let mut expected: Vec<_> = workspace.jobs().iter().map(|job| job.id.clone()).collect();
    expected.sort();
    assert_eq!(ids, expected);
    let count = |field: &str| {
        summaries
            .each_ref()
            .map(|s| s[field].as_u64().expect(field))
    };
    assert_eq!(count("completed").iter().sum::<u64>(), 3);
    assert_eq!(count("skipped").iter().sum::<u64>(), 3);
    assert_eq!(count("failed"), [0, 0]);
    assert_eq!(workspace.registry().count("completed"), 3);
}

#[test]
fn w4_only_the_stale_lease_of_another_tool_is_taken_over() {
    let workspace = quick(2).status("running").build();
    let lease = |index: usize, age: TimeDelta| {
        let time = (Utc::now() - age).format("%Y-%m-%dT%H:%M:%S%.6f+00:00");
        let text = format!("timestamp: {time}\npid: 4242\n");
        let name = format!("runs/rk/state/{}.inprogress", workspace.id(index));
        workspace.write(&name, text.as_bytes());
        text
    };
    lease(0, TimeDelta::hours(2));
    let fresh = lease(1, TimeDelta::zero());
    let before = workspace.row(workspace.id(1));

    let _ = workspace
        .worker(&["--only-status", "running"])
        .run()
        .expect_code(0);
    assert_eq!(executions(&workspace), [workspace.id(0)]);
    assert_eq!(statuses(&workspace), ["completed", "running"]);
    assert_eq!(workspace.log().summary()["busy"], 1);
    let name = format!("runs/rk/state/{}.inprogress", workspace.id(1));
    assert_eq!(workspace.bytes(&name), fresh.as_bytes());
    let after = workspace.row(workspace.id(1));
    assert_eq!(&after["created_at"], &before["created_at"]);
    assert_eq!(&after["worker_host"], "");

    // An explicit shorter patience makes the other one stale as well.
    wait_until("two seconds of silence", || {
        let status = workspace
            .worker(&["--only-status", "running", "--stale-secs", "0.4"])
            .arg("--heartbeat-secs")
            .arg("0.1")
            .run();
        let _ = status.expect_code(0);
        statuses(&workspace) == ["completed", "completed"]
    });
    assert_eq!(executions(&workspace), [workspace.id(0), workspace.id(1)]);
}

#[test]
fn w4_a_fresh_lease_of_another_tool_is_not_taken_for_a_waiting_job_either() {
    let workspace = quick(2).build();
    let now = Utc::now().format("%Y-%m-%dT%H:%M:%S%.6f+00:00");
    let text = format!("timestamp: {now}\npid: 4242\n");
    let name = format!("runs/rk/state/{}.inprogress", workspace.id(0));
    workspace.write(&name, text.as_bytes());
    let _ = workspace.worker(&[]).run().expect_code(0);
    assert_eq!(executions(&workspace), [workspace.id(1)]);
    assert_eq!(workspace.bytes(&name), text.as_bytes());
}

#[test]
fn w22_a_row_that_another_tool_changes_during_a_run_keeps_the_change() {
    let workspace = quick(3).build();
    workspace.write("config/adapters.yaml", mocks(1500, &[]).as_bytes());
    set_algo(&workspace, 0, "slow");
    let other = workspace.id(2);
    let worker = workspace.worker(&["--limit", "1"]).spawn();
    wait_until("a running row", || {
        workspace.registry().count("running") == 1
    });
    {
        let _lock = hold(&workspace.path("tables/generations.lock"));
        edit_line(&workspace, "tables/generations.csv", other, |line| {
            line.replace(",enqueued,", ",completed,")
                .replace("Maker", "Other maker")
        });
    }
    let _ = worker.wait().expect_code(0);
    let row = workspace.row(other);
    assert_eq!(
        (&row["status"], &row["manufacturer"]),
        ("completed", "Other maker")
    );
    assert_eq!(statuses(&workspace), ["completed", "enqueued", "completed"]);
    assert_eq!(executions(&workspace), [workspace.id(0)]);
}
