//! Failures that may pass are tried again: as often as asked, not before their time, without
//! holding a place, and counted across deaths of workers.

use std::fmt::Write as _;
use std::time::Duration;

use archi3d_core::domain::time::Timestamp;

use crate::support::TestWorkspace;
use crate::support::mocks::{attempts, executed, fields, one_job_each, set_algo, statuses};
use crate::support::wait_until;

fn time(text: &str) -> Timestamp {
    Timestamp::parse(text).expect("a time")
}

#[test]
fn a_job_that_fails_twice_and_then_works_is_completed_with_two_retries() {
    let workspace = one_job_each(&[("shaky", "fail_first: 2")]);
    let _ = workspace.worker(&["--retries", "2"]).run().expect_code(0);
    assert_eq!(statuses(&workspace), ["completed"]);
    assert_eq!(&workspace.row(workspace.id(0))["error_msg"], "");
    let log = workspace.log();
    let put_off = log.events("job_put_off");
    assert_eq!(put_off.len(), 2);
    assert!(put_off.iter().all(|event| event["class"] == "transient"));
    let pauses: Vec<f64> = put_off
        .iter()
        .filter_map(|event| event["after_s"].as_f64())
        .collect();
    assert!((0.5..=1.0).contains(&pauses[0]), "{pauses:?}");
    assert!((1.0..=2.0).contains(&pauses[1]), "{pauses:?}");
    assert_eq!(log.summary()["retried"], 2);
    assert_eq!(log.summary()["failed"], 0);
    let attempts = attempts(&workspace);
    assert_eq!(
        fields(&attempts, "outcome"),
        ["put_off", "put_off", "completed"]
    );
    assert_eq!(fields(&attempts, "attempt"), ["1", "2", "3"]);
    assert_eq!(workspace.leftovers(), Vec::<String>::new());
}

#[test]
fn a_job_whose_retries_are_used_up_has_failed() {
    let workspace = one_job_each(&[("shaky", "fail_first: 9, retries: 1")]);
    let _ = workspace.worker(&[]).run().expect_code(1);
    assert_eq!(executed(&workspace), [0, 0]);
    let row = workspace.row(workspace.id(0));
    assert_eq!(&row["status"], "failed");
    assert!(row["error_msg"].contains("attempt 2 fails"), "{row:?}");
    assert_eq!(
        fields(&attempts(&workspace), "outcome"),
        ["put_off", "failed"]
    );
}

#[test]
fn the_command_line_decides_over_the_entry_how_often_a_job_is_tried() {
    let workspace = one_job_each(&[("shaky", "fail_first: 9, retries: 5")]);
    let _ = workspace.worker(&["--retries", "0"]).run().expect_code(1);
    assert_eq!(executed(&workspace), [0]);
}

#[test]
fn only_failures_that_may_pass_are_tried_again() {
    let workspace = one_job_each(&[
        ("one", "fail: no, fail_class: bad_input"),
        ("two", "fail: no, fail_class: permanent"),
        ("three", "fail: no, fail_class: unknown"),
    ]);
    let _ = workspace.worker(&["--retries", "3"]).run().expect_code(1);
    assert_eq!(executed(&workspace), [0, 1, 2]);
    assert_eq!(statuses(&workspace), ["failed"; 3]);
    assert_eq!(
        fields(&attempts(&workspace), "class"),
        ["bad_input", "permanent", "unknown"]
    );
}

#[test]
fn what_a_program_does_not_classify_is_tried_again_where_it_costs_nothing() {
    let unclassified = [
        "exit 1",
        "exit 0",
        "kill -9 $$",
        r#"echo '{"event":"error","message":"no idea"}'; exit 1"#,
    ];
    let bought = r#"echo '{"event":"submitted","request_id":"r-1"}'; exit 1"#;
    let named = r#"echo '{"event":"error","class":"permanent","message":"no"}'"#;
    let mut cases: Vec<(&str, f64, bool)> = vec![(bought, 0.0, false), (named, 0.0, false)];
    for script in unclassified {
        cases.extend([(script, 0.0, true), (script, 0.1, false)]);
    }
    let mut settings = String::new();
    for (index, (script, usd, _)) in cases.iter().enumerate() {
        let command = serde_json::json!(["/bin/sh", "-c", script]);
        let entry = format!("kind: process, unit_price_usd: {usd}, command: {command}");
        let _ = writeln!(settings, "  algo_{index}: {{{entry}}}");
    }
    let builder = TestWorkspace::with_products(cases.len());
    let workspace = builder.adapters(&format!("adapters:\n{settings}")).build();
    for index in 0..cases.len() {
        set_algo(&workspace, index, &format!("algo_{index}"));
    }
    let worker = workspace.worker(&["--retries", "1"]);
    let _ = worker.run().expect_code(1);
    let attempts = attempts(&workspace);
    for (index, (script, usd, is_tried_again)) in cases.iter().enumerate() {
        let id = workspace.id(index);
        let made = attempts.iter().filter(|attempt| attempt["job_id"] == id);
        let expected = if *is_tried_again { 2 } else { 1 };
        assert_eq!(made.count(), expected, "{script} at {usd}");
    }
}

/// Waits until a worker has put its first job off and completed all others, and stops it.
fn stop_while_a_job_waits(workspace: &TestWorkspace) {
    let worker = workspace.worker(&["--retries", "3"]).spawn();
    workspace.wait_for_events("job_completed", workspace.jobs().len() - 1);
    worker.signal("INT");
    let _ = worker.wait().expect_code(130);
}

#[test]
fn a_job_that_waits_for_its_retry_holds_no_place_and_stays_put_off() {
    let workspace = one_job_each(&[
        ("shaky", "fail_first: 1, retry_after_s: 3600"),
        ("trellis_single", ""),
        ("other", ""),
    ]);
    stop_while_a_job_waits(&workspace);
    assert_eq!(executed(&workspace), [0, 1, 2]);
    assert_eq!(statuses(&workspace), ["enqueued", "completed", "completed"]);
    let row = workspace.row(workspace.id(0));
    assert!(row["error_msg"].contains("attempt 1 fails"), "{row:?}");
    assert!(
        workspace
            .state_files(workspace.id(0))
            .contains(&"released".to_owned())
    );
    // Another worker sees the time in the marker and does not take the job either.
    let mut second = workspace.worker(&[]).spawn();
    workspace.wait_for_events("worker_started", 2);
    second.signal("INT");
    wait_until("the second worker's end", || second.has_ended());
    assert_eq!(executed(&workspace), [0, 1, 2]);
}

#[test]
fn the_count_of_failures_and_the_pause_survive_the_death_of_the_worker() {
    let workspace = one_job_each(&[("shaky", "fail_first: 9, retries: 1")]);
    let worker = workspace.worker(&[]).spawn();
    workspace.wait_for_events("job_put_off", 1);
    let _ = worker.kill();
    let _ = workspace.worker(&[]).run().expect_code(1);
    assert_eq!(executed(&workspace), [0, 0]);
    assert_eq!(statuses(&workspace), ["failed"]);
    let attempts = attempts(&workspace);
    assert_eq!(fields(&attempts, "outcome"), ["put_off", "failed"]);
    let (ended, started) = (fields(&attempts, "ended"), fields(&attempts, "started"));
    let pause = time(&started[1]).since(time(&ended[0]));
    assert!(pause >= Duration::from_millis(500), "{pause:?}");
}

#[test]
fn a_limit_counts_jobs_and_not_their_retries() {
    let workspace = one_job_each(&[("shaky", "fail_first: 1"), ("other", "")]);
    let options = ["--retries", "1", "--limit", "1", "--max-parallel", "2"];
    let _ = workspace.worker(&options).run().expect_code(0);
    assert_eq!(executed(&workspace), [0, 0]);
    assert_eq!(statuses(&workspace), ["completed", "enqueued"]);
    assert_eq!(workspace.log().summary()["stopped_by"], "limit");
}
