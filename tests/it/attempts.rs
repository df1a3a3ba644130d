//! The ledger of attempts: complete, ordered, readable while workers run, and patient with damage.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::PathBuf;

use crate::support::TestWorkspace;
use crate::support::bench::listing;
use crate::support::mocks::{attempts, fields, one_job_each};
use crate::support::wait_until;

fn journals(workspace: &TestWorkspace) -> Vec<PathBuf> {
    let files = listing(&workspace.run_path("state/journal"));
    files
        .into_iter()
        .filter(|path| path.extension().is_some_and(|ending| ending == "jsonl"))
        .collect()
}

#[test]
fn every_attempt_is_listed_by_job_with_its_ending_its_cost_and_its_request() {
    let workspace = one_job_each(&[
        (
            "bought",
            "submit: true, unit_price_usd: 0.4, price_source: list",
        ),
        ("broken", "fail: \"no\\nkiln\", fail_class: bad_input"),
    ]);
    let _ = workspace.worker(&[]).run().expect_code(1);
    let _ = workspace
        .worker(&["--only-status", "failed"])
        .run()
        .expect_code(1);
    let attempts = attempts(&workspace);
    let jobs: Vec<&str> = [0, 1, 1].map(|index| workspace.id(index)).to_vec();
    assert_eq!(fields(&attempts, "job_id"), jobs);
    assert_eq!(fields(&attempts, "attempt"), ["1", "1", "2"]);
    assert_eq!(
        fields(&attempts, "outcome"),
        ["completed", "failed", "failed"]
    );
    assert_eq!(attempts[0]["cost_usd"], 0.4);
    assert_eq!(attempts[0]["price_source"], "list");
    assert_eq!(
        attempts[0]["request_id"],
        format!("mock-{}-1", workspace.id(0))
    );
    assert_eq!(attempts[0]["simulated"], false);
    assert_eq!(attempts[1]["error"], "no kiln");
    assert_eq!(attempts[1]["class"], "bad_input");
    assert_eq!(attempts[2]["entry"], "retry");
    for attempt in &attempts {
        assert!(attempt["duration_s"].is_number(), "{attempt}");
        assert!(attempt["worker"].is_string(), "{attempt}");
        assert!(attempt["started"].as_str() <= attempt["ended"].as_str());
    }
    let _ = workspace
        .archi3d(&["run", "attempts", "--run-id", "rk"])
        .run()
        .expect_code(0)
        .expect_stdout("3 attempts of 2 jobs, $0.40")
        .expect_stdout("no kiln");
}

#[test]
fn one_job_can_be_asked_for_and_a_mistyped_one_is_refused() {
    let workspace = one_job_each(&[("one", ""), ("two", "")]);
    let _ = workspace.worker(&["--dry-run"]).run().expect_code(0);
    let ask = |job: &str| {
        let words = ["run", "attempts", "--run-id", "rk", "--json", "--job", job];
        workspace.archi3d(&words).run()
    };
    let one = ask(workspace.id(1)).expect_code(0).json();
    assert_eq!(one["attempts"].as_array().expect("a list").len(), 1);
    assert_eq!(one["attempts"][0]["simulated"], true);
    assert_eq!(one["attempts"][0]["price_source"], "dry-run");
    let mistyped = format!("{}_", &workspace.id(1)[..11]);
    let _ = ask(&mistyped).expect_code(2).expect_stderr(workspace.id(1));
    let _ = workspace
        .archi3d(&["run", "attempts", "--run-id", "nowhere"])
        .run()
        .expect_code(2)
        .expect_stderr("nowhere");
}

#[test]
fn a_run_that_nobody_has_touched_has_no_attempts() {
    let workspace = one_job_each(&[("one", "")]);
    let before = workspace.tree();
    assert!(attempts(&workspace).is_empty());
    assert_eq!(workspace.tree(), before);
}

#[test]
fn an_attempt_runs_while_its_worker_lives_and_is_interrupted_when_it_died() {
    let workspace = one_job_each(&[("one", "wait_file: go")]);
    let worker = workspace.worker(&[]).spawn();
    wait_until("the job runs", || {
        fields(&attempts(&workspace), "outcome") == ["running"]
    });
    let _ = worker.kill();
    let before = workspace.tree();
    let interrupted = attempts(&workspace);
    assert_eq!(workspace.tree(), before, "reading changed something");
    assert_eq!(fields(&interrupted, "outcome"), ["interrupted"]);
    assert!(interrupted[0]["ended"].is_null());
    workspace.write("go", b"");
    let _ = workspace
        .worker(&["--only-status", "enqueued,running"])
        .run()
        .expect_code(0);
    assert_eq!(
        fields(&attempts(&workspace), "outcome"),
        ["interrupted", "completed"]
    );
}

#[test]
fn damaged_and_torn_lines_are_left_out_counted_and_told() {
    let workspace = one_job_each(&[("one", "")]);
    let _ = workspace.worker(&[]).run().expect_code(0);
    let journal = journals(&workspace).pop().expect("a journal");
    let mut file = OpenOptions::new()
        .append(true)
        .open(journal)
        .expect("writable");
    file.write_all(b"\xff\xfe nonsense\n{\"at\":\"2026")
        .expect("written");
    // Not a journal at all.
    workspace.write("runs/rk/state/journal/w-9-x.jsonl", b"{}\n[]\n");
    let output = workspace
        .archi3d(&["run", "attempts", "--run-id", "rk", "--json"])
        .run()
        .expect_code(0)
        .expect_stderr("lines cannot be read");
    let answer = output.json();
    assert_eq!(answer["damaged_lines"], 4);
    assert_eq!(answer["attempts"][0]["outcome"], "completed");
    assert_eq!(answer["attempts"].as_array().expect("a list").len(), 1);
}
