//! How jobs are started, kept alive, resumed and ended: one test for each requirement on the worker
//! that the tools before this one missed. How they are chosen is in `seed_selection`, what they
//! leave behind in `seed_results`.

use std::fs::File;

use crate::support::{Invocation, TestWorkspace, wait_until};

const SLOW: &str = "adapters: {mock: {kind: mock, sleep_ms: 3600000}}\n";

fn mock(products: usize, options: &str) -> TestWorkspace {
    TestWorkspace::with_products(products)
        .algo("mock")
        .adapters(&format!("adapters: {{mock: {{kind: mock{options}}}}}\n"))
        .build()
}

/// Gives one job another algorithm, in both tables.
fn set_algo(workspace: &TestWorkspace, index: usize, algo: &str) {
    let id = workspace.id(index);
    for table in ["tables/generations.csv", "runs/rk/manifest.csv"] {
        let text = String::from_utf8(workspace.bytes(table)).expect("tables are text");
        let lines = text.split_inclusive('\n').map(|line| {
            if line.contains(id) {
                line.replace(",mock,", &format!(",{algo},"))
            } else {
                line.to_owned()
            }
        });
        workspace.write(table, lines.collect::<String>().as_bytes());
    }
}

fn foreign_lease(workspace: &TestWorkspace, job: &str, timestamp: &str) {
    let text = format!("timestamp: {timestamp}\npid: 4242\nhost: elsewhere\n");
    workspace.write(&format!("runs/rk/state/{job}.inprogress"), text.as_bytes());
}

#[test]
fn a_row_says_running_with_start_and_worker_while_its_job_runs() {
    let workspace = TestWorkspace::with_products(1)
        .algo("mock")
        .adapters(SLOW)
        .build();
    let worker = workspace
        .worker(&[])
        .env("ARCHI3D_COMMIT", "0123456")
        .spawn();
    wait_until("a running row", || {
        workspace.registry().count("running") == 1
    });
    let row = workspace.row(workspace.id(0));
    for column in [
        "generation_start",
        "worker_host",
        "worker_user",
        "worker_env",
    ] {
        assert!(!row[column].is_empty(), "{column}");
    }
    assert!(row["generation_start"].ends_with("+00:00"));
    assert_eq!(&row["worker_commit"], "0123456");
    assert_eq!((&row["generation_end"], &row["gen_object_path"]), ("", ""));
    drop(worker);
}

#[test]
fn every_job_is_in_the_table_as_soon_as_it_ends_and_stays_there_after_a_kill() {
    let workspace = mock(3, "}, slow: {kind: mock, sleep_ms: 3600000");
    set_algo(&workspace, 2, "slow");
    let worker = workspace.worker(&[]).spawn();
    wait_until("two completed rows and a running one", || {
        let registry = workspace.registry();
        (registry.count("completed"), registry.count("running")) == (2, 1)
    });
    let _ = worker.kill();
    let registry = workspace.registry();
    assert_eq!(
        (registry.count("completed"), registry.count("running")),
        (2, 1)
    );
    for row in &registry.rows[..2] {
        assert!(!row["generation_end"].is_empty() && !row["gen_object_path"].is_empty());
    }
}

#[test]
fn a_heartbeat_rewrites_the_time_in_the_lease_of_a_running_job() {
    let workspace = TestWorkspace::with_products(1)
        .algo("mock")
        .adapters(SLOW)
        .build();
    let options = ["--heartbeat-secs", "0.2", "--stale-secs", "2"];
    let worker = workspace.worker(&options).spawn();
    let lease = format!("runs/rk/state/{}.inprogress", workspace.id(0));
    workspace.wait_for_file(&lease);
    workspace.wait_for_events("job_started", 1);
    let lines = || -> Vec<String> {
        let text = String::from_utf8(workspace.bytes(&lease)).expect("a lease is text");
        text.lines().map(str::to_owned).collect()
    };
    let first = lines();
    assert!(first[0].starts_with("timestamp: "), "{first:?}");
    for _ in 0..2 {
        let before = lines();
        wait_until("a later heartbeat", || lines()[0] > before[0]);
    }
    assert_eq!(lines()[1..], first[1..]);
    drop(worker);
}

#[test]
fn only_a_stale_lease_of_another_tool_is_resumed() {
    let workspace = TestWorkspace::with_products(2)
        .algo("mock")
        .status("running")
        .build();
    foreign_lease(&workspace, workspace.id(0), "2020-01-01T00:00:00+00:00");
    let now = chrono::Utc::now().to_rfc3339();
    foreign_lease(&workspace, workspace.id(1), &now);
    let output = workspace
        .worker(&["--only-status", "running", "--json"])
        .run()
        .expect_code(0);
    assert_eq!(workspace.log().jobs("job_started"), [workspace.id(0)]);
    assert_eq!(output.json()["busy"], 1);
    assert_eq!(&workspace.row(workspace.id(0))["status"], "completed");
    assert_eq!(&workspace.row(workspace.id(1))["status"], "running");
    assert_eq!(workspace.state_files(workspace.id(1)), ["inprogress"]);
}

#[test]
fn two_workers_at_once_run_every_job_once() {
    let workspace = mock(3, ", sleep_ms: 300, count_file: count.txt");
    let options = ["--max-parallel", "3", "--json"];
    let workers = [(); 2].map(|()| workspace.worker(&options).spawn());
    let summaries = workers.map(|worker| worker.wait().expect_code(0).json());
    let total = |name: &str| -> u64 {
        let counts = summaries.iter().map(|summary| summary[name].as_u64());
        counts.map(|count| count.expect("a number")).sum()
    };
    assert_eq!(
        (total("completed"), total("skipped"), total("failed")),
        (3, 3, 0)
    );
    let counted = String::from_utf8(workspace.bytes("count.txt")).expect("text");
    assert_eq!(counted.lines().count(), 3, "{counted}");
}

#[test]
fn jobs_of_a_killed_worker_are_resumed_when_running_is_selected() {
    let workspace = mock(3, "}, slow: {kind: mock, sleep_ms: 3600000");
    set_algo(&workspace, 1, "slow");
    let worker = workspace.worker(&[]).spawn();
    // The first job's row says `running` for a moment, too.
    wait_until("the slow job's row says running", || {
        &workspace.row(workspace.id(1))["status"] == "running"
    });
    let _ = worker.kill();

    let _ = workspace
        .worker(&["--adapter", "mock"])
        .run()
        .expect_code(0)
        .expect_stderr("--only-status");
    assert_eq!(workspace.registry().count("completed"), 2);
    assert_eq!(workspace.log().summary()["resumable"], 1);

    let _ = workspace
        .worker(&["--adapter", "mock", "--only-status", "running"])
        .run()
        .expect_code(0);
    assert_eq!(workspace.registry().count("completed"), 3);
    assert_eq!(workspace.log().summary()["processed"], 1);
    assert_eq!(workspace.leftovers(), Vec::<String>::new());
}

#[test]
fn a_summary_is_logged_however_the_work_ends() {
    let nothing = TestWorkspace::with_products(1).status("completed").build();
    let _ = nothing.worker(&["--dry-run"]).run().expect_code(0);
    assert_eq!(nothing.log().summary()["processed"], 0);

    let failing = mock(3, ", fail: no");
    let _ = failing.worker(&["--fail-fast"]).run().expect_code(1);
    assert_eq!(failing.log().summary()["stopped_by"], "fail_fast");

    let stopped = mock(3, ", sleep_ms: 3600000");
    let worker = stopped.worker(&[]).spawn();
    stopped.wait_for_events("job_started", 1);
    worker.signal("INT");
    wait_until("the first signal is heard", || {
        worker.stderr_so_far().contains("no new job starts")
    });
    worker.signal("INT");
    let _ = worker.wait().expect_code(130);
    let summary = stopped.log().summary().clone();
    assert_eq!(
        (&summary["released"], &summary["not_started"]),
        (&1.into(), &2.into())
    );
    assert_eq!(stopped.registry().count("enqueued"), 3);
}

#[test]
fn a_job_whose_lock_is_busy_is_skipped_and_not_failed() {
    let workspace = mock(2, "");
    let lock = format!("runs/rk/state/{}.lock", workspace.id(0));
    workspace.write(&lock, b"");
    let held = File::open(workspace.path(&lock)).expect("just made");
    held.lock().expect("nobody else has it");
    // It is looked at again and again, and in the end named.
    let _ = workspace.worker(&[]).run().expect_code(1);
    let log = workspace.log();
    let summary = log.summary();
    let counts = ["processed", "completed", "failed", "skipped", "busy"].map(|n| &summary[n]);
    assert_eq!(counts, [1, 1, 0, 1, 1]);
    assert_eq!(&workspace.row(workspace.id(0))["status"], "enqueued");
    assert_eq!(workspace.state_files(workspace.id(0)), ["lock"]);
    drop(held);
    let _ = workspace.worker(&[]).run().expect_code(0);
    assert_eq!(workspace.registry().count("completed"), 2);
}

#[test]
fn every_marker_names_time_process_and_host() {
    let workspace = mock(1, "");
    let worker = workspace.worker(&[]).spawn();
    let pid = worker.pid();
    let _ = worker.wait().expect_code(0);
    let marker = format!("runs/rk/state/{}.completed", workspace.id(0));
    let text = String::from_utf8(workspace.bytes(&marker)).expect("text");
    let lines: Vec<&str> = text.lines().collect();
    let host = workspace.row(workspace.id(0))["worker_host"].to_owned();
    assert!(lines[0].starts_with("timestamp: ") && lines[0].ends_with("+00:00"));
    assert_eq!(lines[1], format!("pid: {pid}"));
    assert_eq!(lines[2], format!("host: {host}"));
}

#[test]
fn fail_fast_starts_nothing_after_the_failure_and_keeps_every_result() {
    let workspace = mock(6, "}, bad: {kind: mock, fail: broken");
    set_algo(&workspace, 2, "bad");
    let _ = workspace.worker(&["--fail-fast"]).run().expect_code(1);
    let registry = workspace.registry();
    let statuses: Vec<&str> = registry.rows.iter().map(|row| &row["status"]).collect();
    let expected = [
        "completed",
        "completed",
        "failed",
        "enqueued",
        "enqueued",
        "enqueued",
    ];
    assert_eq!(statuses, expected);
    assert_eq!(workspace.log().events("job_started").len(), 3);
    assert_eq!(&registry.rows[2]["error_msg"], "broken");
    assert_eq!(workspace.log().summary()["not_started"], 3);
}

#[test]
fn a_job_is_never_without_a_marker_once_it_has_one() {
    let workspace = mock(40, ", fail_first: 1, sleep_ms: 1, breaker_failures: 0");
    let exists = |job: &str, ending: &str| {
        let name = format!("state/{job}.{ending}");
        workspace.run_path(&name).exists()
    };
    // In the order in which one follows the other, so that a rename is seen at the later name.
    let check = |invocation: Invocation, order: &[&str]| {
        let mut worker = invocation.spawn();
        let mut started = [false; 40];
        while !worker.has_ended() {
            for (index, started) in started.iter_mut().enumerate() {
                let found = order
                    .iter()
                    .any(|ending| exists(workspace.id(index), ending));
                assert!(found || !*started, "job {index} has no marker");
                *started |= found;
            }
        }
        worker.wait()
    };
    let first = ["inprogress", "failed"];
    let _ = check(workspace.worker(&["--max-parallel", "2"]), &first).expect_code(1);
    let again = workspace.worker(&["--max-parallel", "2", "--only-status", "failed"]);
    let second = ["failed", "inprogress", "completed"];
    let _ = check(again, &second).expect_code(0);
    assert_eq!(workspace.jobs_with("completed").len(), 40);
    assert_eq!(workspace.leftovers(), Vec::<String>::new());
}
