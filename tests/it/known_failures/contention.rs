//! W13, W14, W18 and W21: locks that others hold and rows that stand twice. Waiting throws nothing
//! away, a busy job is not a failed one, and no row is ever removed.

use super::{edit_line, executions, hold, mocks, quick, set_algo, statuses, text_of};
use crate::support::wait_until;

const TABLE: &str = "tables/generations.csv";

#[test]
fn w13_a_busy_log_lock_costs_no_job_and_no_line() {
    let workspace = quick(3).build();
    let lock = hold(&workspace.path("logs/worker.log.lock"));
    let told = "the log is written without waiting for it";
    let output = workspace.worker(&[]).run().expect_code(0);
    assert_eq!(output.stderr.matches(told).count(), 1, "{output}");
    drop(lock);
    assert_eq!(statuses(&workspace), ["completed"; 3]);
    let log = workspace.log();
    assert_eq!(log.jobs("job_started").len(), 3);
    assert_eq!(log.jobs("job_completed").len(), 3);
    assert_eq!(log.summary()["completed"], 3);
}

#[test]
fn w13_a_busy_table_is_waited_for_and_the_person_is_told() {
    let workspace = quick(3).build();
    workspace.write("config/adapters.yaml", mocks(1000, &[]).as_bytes());
    set_algo(&workspace, 0, "slow");
    let worker = workspace.worker(&[]).spawn();
    workspace.wait_for_events("job_started", 1);
    let lock = hold(&workspace.path("tables/generations.lock"));
    wait_until("three results", || {
        workspace.jobs_with("completed").len() == 3
    });
    let told = "waiting for tables/generations.lock";
    wait_until(told, || worker.stderr_so_far().contains(told));
    assert_eq!(workspace.registry().count("completed"), 0);
    drop(lock);
    let _ = worker.wait().expect_code(0);
    assert_eq!(statuses(&workspace), ["completed"; 3]);
    let log = workspace.log();
    assert_eq!(log.summary()["completed"], 3);
    let warnings = log.events("warning");
    let logged = |line: &&&serde_json::Map<String, serde_json::Value>| {
        line["message"]
            .as_str()
            .is_some_and(|text| text.contains(told))
    };
    assert!(warnings.iter().any(|line| logged(&line)), "{warnings:?}");
}

#[test]
fn w13_a_table_that_is_busy_at_the_start_is_waited_for_too() {
    let workspace = quick(2).build();
    let lock = hold(&workspace.path("tables/generations.lock"));
    let mut worker = workspace.worker(&[]).spawn();
    let told = "waiting for tables/generations.lock";
    wait_until(told, || worker.stderr_so_far().contains(told));
    assert!(!worker.has_ended());
    drop(lock);
    let _ = worker.wait().expect_code(0);
    assert_eq!(statuses(&workspace), ["completed"; 2]);
}

#[test]
fn w14_a_job_whose_lock_is_busy_is_skipped_and_not_failed() {
    let workspace = quick(2).build();
    let lock = hold(
        &workspace
            .run_path("state")
            .join(format!("{}.lock", workspace.id(0))),
    );
    // It is looked at again and again, and in the end named.
    let lock_name = format!("state/{}.lock", workspace.id(0));
    let output = workspace.worker(&[]).run().expect_code(1);
    let _ = output.expect_stderr(&lock_name);
    assert_eq!(statuses(&workspace), ["enqueued", "completed"]);
    let log = workspace.log();
    let summary = log.summary();
    for (field, count) in [
        ("busy", 1),
        ("skipped", 1),
        ("failed", 0),
        ("processed", 1),
        ("completed", 1),
    ] {
        assert_eq!(summary[field], count, "{field}");
    }
    assert_eq!(log.jobs("job_busy"), [workspace.id(0)]);
    assert_eq!(workspace.state_files(workspace.id(0)), ["lock"]);
    drop(lock);
    let _ = workspace.worker(&[]).run().expect_code(0);
    assert_eq!(statuses(&workspace), ["completed"; 2]);
}

#[test]
fn w18_a_job_with_two_rows_runs_once_and_both_rows_are_updated() {
    let workspace = quick(2).build();
    let twice = workspace.id(0).to_owned();
    edit_line(&workspace, TABLE, &twice, |line| format!("{line}{line}"));
    let _ = workspace
        .worker(&["--max-parallel", "2"])
        .run()
        .expect_code(0)
        .expect_stderr("has 2 rows in the registry");
    let mut executed = executions(&workspace);
    executed.sort();
    let mut expected = [workspace.id(0), workspace.id(1)];
    expected.sort_unstable();
    assert_eq!(executed, expected);
    let registry = workspace.registry();
    assert_eq!(registry.rows.len(), 3);
    assert_eq!(registry.count("completed"), 3);
    assert_eq!(registry.rows[0], registry.rows[1]);
}

#[test]
fn w18_a_job_is_not_made_again_because_a_copy_of_its_row_still_waits() {
    for first_waits in [true, false] {
        let workspace = quick(2).build();
        let twice = workspace.id(0).to_owned();
        edit_line(&workspace, TABLE, &twice, |line| {
            let done = line.replace(",enqueued,", ",completed,");
            if first_waits {
                format!("{line}{done}")
            } else {
                format!("{done}{line}")
            }
        });
        let before = text_of(&workspace, TABLE);
        let _ = workspace
            .worker(&[])
            .run()
            .expect_code(0)
            .expect_stderr("has 2 rows in the registry");
        assert_eq!(executions(&workspace), [workspace.id(1)]);
        for (old, new) in before
            .lines()
            .zip(text_of(&workspace, TABLE).lines())
            .skip(1)
        {
            assert!(
                new.starts_with(old) || old.contains(workspace.id(1)),
                "{new}"
            );
        }
    }
}

#[test]
fn w18_a_job_that_the_manifest_lists_twice_runs_once() {
    let workspace = quick(2).build();
    let twice = workspace.id(0).to_owned();
    edit_line(&workspace, "runs/rk/manifest.csv", &twice, |line| {
        format!("{line}{line}")
    });
    let _ = workspace
        .worker(&["--max-parallel", "2"])
        .run()
        .expect_code(0)
        .expect_stderr("is listed again");
    assert_eq!(executions(&workspace).len(), 2);
    assert_eq!(statuses(&workspace), ["completed"; 2]);
}

#[test]
fn w21_rows_of_other_runs_and_rows_outside_the_selection_stay_as_they_are() {
    let workspace = quick(4).build();
    let text = text_of(&workspace, TABLE);
    let others: String = text
        .lines()
        .skip(1)
        .map(|line| line.replace(",rk,", ",other,") + "\n")
        .collect();
    let doubled = others.lines().next().expect("a row").to_owned() + "\n";
    workspace.write(TABLE, format!("{text}{others}{doubled}").as_bytes());
    let _ = workspace
        .worker(&["--limit", "2", "--max-parallel", "2"])
        .run()
        .expect_code(0);
    let after = text_of(&workspace, TABLE);
    assert_eq!(after.lines().count(), 1 + 4 + 4 + 1);
    for (old, new) in format!("{others}{doubled}")
        .lines()
        .zip(after.lines().skip(5))
    {
        let grown = new.strip_prefix(old);
        assert!(
            grown.is_some_and(|more| more.bytes().all(|byte| byte == b',')),
            "{new}"
        );
    }
    let registry = workspace.registry();
    assert_eq!(
        (registry.count("completed"), registry.count("enqueued")),
        (2, 7)
    );
}
