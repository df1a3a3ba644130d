//! The command that a worker ends with does the rest, and buys nothing a second time.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::support::binary::{Invocation, Output};
use crate::support::mocks::{change_mocks, executed, executions, jobs_of, one_job_each, statuses};
use crate::support::{TestWorkspace, wait_until};

const PRICED: &str = "unit_price_usd: 0.1";

fn priced(jobs: usize) -> TestWorkspace {
    let mocks: Vec<String> = (0..jobs).map(|number| format!("a{number}")).collect();
    let mocks: Vec<(&str, &str)> = mocks.iter().map(|algo| (algo.as_str(), PRICED)).collect();
    one_job_each(&mocks)
}

/// Returns the command that stands after `words` in a worker's hints.
#[track_caller]
fn hinted(output: &Output, words: &str) -> Invocation {
    let (_, after) = output
        .stderr
        .split_once(words)
        .unwrap_or_else(|| panic!("no {words:?} in:\n{}", output.stderr));
    let line = after.lines().next().expect("a command");
    let arguments: Vec<&str> = line
        .trim()
        .strip_prefix("archi3d ")
        .unwrap_or_else(|| panic!("no command: {line}"))
        .split(' ')
        .map(|word| word.trim_matches('\''))
        .collect();
    Invocation::archi3d(arguments)
}

#[test]
fn after_a_redo_that_a_limit_stopped_only_the_others_are_made_again() {
    let workspace = priced(3);
    let _ = workspace.worker(&[]).run().expect_code(0);
    let options = ["--redo", "--budget-usd", "0.5"];
    let output = workspace.worker(&options).run().expect_code(4);
    assert_eq!(executed(&workspace), [0, 1, 2, 0, 1]);
    let _ = hinted(&output, "for all of them: ").run().expect_code(0);
    assert_eq!(executed(&workspace), [0, 1, 2, 0, 1, 2]);
}

#[test]
fn after_a_redo_that_a_limit_of_the_configuration_stopped_the_rest_is_named() {
    let workspace = priced(3);
    let _ = workspace.worker(&[]).run().expect_code(0);
    workspace.write("config/global.yaml", b"budget: {run_usd: 0.5}\n");
    let output = workspace.worker(&["--redo"]).run().expect_code(4);
    workspace.write("config/global.yaml", b"budget: {run_usd: 0.6}\n");
    let _ = hinted(&output, "; then: ").run().expect_code(0);
    assert_eq!(executed(&workspace), [0, 1, 2, 0, 1, 2]);
}

#[test]
fn after_the_canaries_of_a_redo_only_the_others_are_made_again() {
    let workspace = jobs_of(&[("a", PRICED)], &["a"; 3]);
    let _ = workspace.worker(&[]).run().expect_code(0);
    let canary = workspace.worker(&["--redo", "--canary", "1"]);
    let output = canary.run().expect_code(0);
    let _ = hinted(&output, "to release the rest: ")
        .run()
        .expect_code(0);
    assert_eq!(executed(&workspace), [0, 1, 2, 0, 1, 2]);
}

#[test]
fn after_a_redo_that_was_stopped_by_hand_only_the_others_are_made_again() {
    let workspace = jobs_of(&[("a", "")], &["a"; 3]);
    let _ = workspace.worker(&[]).run().expect_code(0);
    change_mocks(&workspace, &[("a", "wait_file: go")]);
    let worker = workspace.worker(&["--redo"]).spawn();
    wait_until("the first is begun", || executions(&workspace).len() == 4);
    worker.signal("INT");
    wait_until("it was heard", || {
        worker.stderr_so_far().contains("stopping")
    });
    workspace.write("go", b"");
    let output = worker.wait().expect_code(130);
    let _ = hinted(&output, "to resume: ").run().expect_code(0);
    assert_eq!(executed(&workspace), [0, 1, 2, 0, 1, 2]);
}

#[test]
fn what_is_in_doubt_again_is_not_bought_again_with_the_rest() {
    let doubtful = "fail: lost, fail_class: unknown, unit_price_usd: 0.1";
    let mocks = [("a", doubtful), ("b", doubtful), ("c", doubtful)];
    let workspace = one_job_each(&mocks);
    let _ = workspace.worker(&[]).run().expect_code(1);
    let options = ["--only-status", "failed", "--resubmit-unknown"];
    let limited = [&options[..], &["--budget-usd", "0.5"]].concat();
    let output = workspace.worker(&limited).run().expect_code(4);
    assert_eq!(executed(&workspace), [0, 1, 2, 0, 1]);
    let _ = hinted(&output, "for all of them: ").run().expect_code(1);
    assert_eq!(executed(&workspace), [0, 1, 2, 0, 1, 2]);
}

#[test]
fn a_rest_that_is_too_long_to_name_gets_no_command_that_buys_again() {
    let workspace = jobs_of(&[("a", PRICED)], &["a"; 23]);
    let _ = workspace.worker(&[]).run().expect_code(0);
    let _ = workspace
        .worker(&["--redo", "--budget-usd", "2.4"])
        .run()
        .expect_code(4)
        .expect_stderr("for all of them: choose them with --jobs");
}

#[test]
fn an_interrupted_redo_that_is_asked_about_is_made_again_by_the_command_that_is_named() {
    for with_redo in [false, true] {
        let asks = "on_interrupt: ask, unit_price_usd: 0.1";
        let workspace = one_job_each(&[("a", asks), ("b", asks)]);
        let _ = workspace.worker(&[]).run().expect_code(0);
        let waits = format!("{asks}, wait_file: go");
        change_mocks(&workspace, &[("a", &waits), ("b", &waits)]);
        let worker = workspace.worker(&["--redo"]).spawn();
        wait_until("it has begun", || executions(&workspace).len() == 3);
        let _ = worker.kill();
        workspace.write("go", b"");
        let mut options = vec!["--only-status", "running"];
        options.extend(with_redo.then_some("--redo"));
        let output = workspace.worker(&options).run().expect_code(1);
        assert_eq!(statuses(&workspace), ["completed", "completed"]);
        assert_eq!(executed(&workspace), [0, 1, 0]);
        assert!(
            !output.stderr.contains("--resubmit-unknown"),
            "{}",
            output.stderr
        );
        let _ = hinted(&output, "and only then: ").run().expect_code(0);
        assert_eq!(executed(&workspace), [0, 1, 0, 0]);
    }
}

#[test]
fn the_limit_that_is_enough_is_told_to_the_cent() {
    let mocks = [("a", "unit_price_usd: 0.4")];
    let workspace = jobs_of(&mocks, &["a"; 6]);
    let _ = workspace
        .worker(&["--budget-usd", "0.8"])
        .run()
        .expect_code(4)
        .expect_stderr("--budget-usd 2.40");
}

#[test]
fn a_command_ready_to_paste_keeps_the_options_that_were_given() {
    let workspace = one_job_each(&[("a", "fail: no, fail_class: permanent")]);
    let given = [
        "--timeout",
        "90",
        "--stale-secs",
        "77",
        "--heartbeat-secs",
        "3",
        "--allow-unsafe-locks",
        "--fail-fast",
        "--retries",
        "0",
        "--max-parallel",
        "2",
    ];
    let output = workspace.worker(&given).run().expect_code(1);
    let (_, command) = output
        .stderr
        .split_once("to try failed jobs again: ")
        .expect("a command");
    let command = command.lines().next().expect("a line");
    for option in given.iter().filter(|word| word.starts_with("--")) {
        assert!(command.contains(option), "{option}: {command}");
    }
    assert!(command.contains("--workspace"), "{command}");
    let _ = hinted(&output, "to try failed jobs again: ")
        .run()
        .expect_code(1);
}

#[test]
fn what_doctor_and_errors_advise_works_where_the_person_stands() {
    let workspace = priced(1);
    let folder = workspace.root().file_name().expect("a name");
    let here = |arguments: &[&str]| {
        Invocation::archi3d(arguments)
            .arg("--workspace")
            .arg(folder)
            .current_dir(workspace.outside())
            .run()
    };
    let manifest = workspace.path("runs/rk/manifest.csv");
    for harm in [&b""[..], b"job_id\n\"cut"] {
        fs::remove_file(&manifest).expect("there");
        if !harm.is_empty() {
            fs::write(&manifest, harm).expect("writable");
        }
        let found = here(&["doctor", "--json"]).json();
        let findings = found["findings"].as_array().expect("a list");
        let of_manifest = |one: &&Value| one["code"] == "manifest_unreadable";
        let finding = findings.iter().find(of_manifest).expect("it is told");
        let fix = finding["fix"].as_str().expect("a command");
        let bin = Path::new(env!("CARGO_BIN_EXE_archi3d")).parent();
        let path = std::env::var("PATH").expect("set");
        let path = format!("{}:{path}", bin.expect("a folder").display());
        let _ = Invocation::program(Path::new("sh"), ["-c", fix])
            .env("PATH", path)
            .current_dir(workspace.outside())
            .run()
            .expect_code(0);
        assert!(manifest.exists(), "{fix}");
    }
    let error = here(&["run", "adopt", "--run-id", "rk", workspace.id(0)]);
    let told = format!("archi3d --workspace {} doctor", Path::new(folder).display());
    let _ = error.expect_code(2).expect_stderr(&told);
}

#[test]
fn a_worker_says_how_to_look_at_what_it_made_and_a_rehearsal_does_not() {
    let place = TestWorkspace::with_products(1)
        .algo("mine")
        .adapters("adapters:\n  mine: {kind: mock}\n")
        .build();
    let rehearsed = place.worker(&["--dry-run"]).run().expect_code(0);
    assert!(!rehearsed.stderr.contains("to look at them"), "{rehearsed}");
    let made = place.worker(&[]).run().expect_code(0);
    let made = made.expect_stderr("generated.glb");
    let line = made.stderr.lines().find(|line| line.starts_with("to look"));
    let line = line.expect("a line").to_owned();
    assert!(line.ends_with("report build rk --open"), "{line}");
}
