//! What `run plan` foretells is what `run worker` does, and foretelling leaves no trace.

use serde_json::{Value, json};

use crate::support::mocks::{change_mocks, executed, executions, one_job_each};
use crate::support::{Invocation, Mount, TestWorkspace};

fn plan(workspace: &TestWorkspace, options: &[&str]) -> Value {
    let mut arguments = vec!["run", "plan", "--run-id", "rk", "--json"];
    arguments.extend(options);
    let output = workspace.archi3d(&arguments).run().expect_code(0);
    output.json()
}

/// Returns what would become of each job and why, in manifest order.
fn fates(plan: &Value) -> Vec<String> {
    let jobs = plan["jobs"].as_array().expect("a list of jobs");
    let fate = |job: &Value| format!("{} {}", text(&job["fate"]), text(&job["code"]));
    jobs.iter().map(fate).collect()
}

fn text(value: &Value) -> String {
    value.as_str().expect("a text").to_owned()
}

/// Returns what the ledger says, spent and reserved, by `cost report`.
fn ledger(workspace: &TestWorkspace) -> (f64, f64) {
    let output = workspace.archi3d(&["cost", "report", "--json"]).run();
    let ledger = output.expect_code(0).json()["ledger"].take();
    let usd = |name: &str| ledger[name].as_f64().expect("a number");
    (usd("spent_usd"), usd("reserved_usd"))
}

#[track_caller]
fn assert_usd(value: &Value, expected: f64) {
    let found = value.as_f64().unwrap_or(f64::NAN);
    assert!((found - expected).abs() < 1e-9, "{found} is not {expected}");
}

#[test]
fn a_plan_leaves_no_trace_in_any_state_of_the_run() {
    let workspace = one_job_each(&[("good", ""), ("bad", "fail: always, fail_class: permanent")]);
    let unchanged = |options: &[&str]| {
        let before = workspace.tree();
        plan(&workspace, options);
        let human = [&["run", "plan", "--run-id", "rk", "--list"], options].concat();
        let _ = workspace.archi3d(&human).run().expect_code(0);
        assert_eq!(workspace.tree(), before, "{options:?}");
    };
    unchanged(&[]);
    unchanged(&["--dry-run"]);
    let _ = workspace.worker(&[]).run().expect_code(1);
    unchanged(&[]);
    unchanged(&[
        "--only-status",
        "failed",
        "--retries",
        "2",
        "--budget-usd",
        "1",
    ]);
}

#[test]
fn everything_that_only_looks_works_where_nothing_can_be_written() {
    let workspace = one_job_each(&[("good", "unit_price_usd: 0.1"), ("bad", "fail: always")]);
    let _ = workspace.worker(&[]).run().expect_code(1);
    let job = workspace.id(1);
    let Some(_mount) = Mount::read_only(workspace.root()) else {
        return;
    };
    let plan = [
        "run",
        "plan",
        "--run-id",
        "rk",
        "--only-status",
        "failed",
        "--reuse",
    ];
    let explain = ["run", "explain", "--run-id", "rk", job];
    let status = ["run", "status", "--run-id", "rk"];
    let cost = ["cost", "report", "--by", "worker"];
    for command in [&plan[..], &explain, &status, &cost] {
        let output = workspace.archi3d(command).run().expect_code(0);
        assert!(!output.stderr.contains("Read-only"), "{output}");
    }
}

#[test]
fn a_plan_tells_what_each_job_would_do_and_why() {
    let mocks = [
        ("done", "unit_price_usd: 0.2"),
        (
            "bad",
            "fail: always, fail_class: permanent, unit_price_usd: 0.3",
        ),
        (
            "doubt",
            "fail: always, fail_class: unknown, unit_price_usd: 0.4",
        ),
        (
            "asked",
            "submit: true, fail: always, fail_class: unknown, unit_price_usd: 0.5",
        ),
        ("fresh", "unit_price_usd: 0.6"),
    ];
    let workspace = one_job_each(&mocks);
    let _ = workspace
        .worker(&["--algo", "done,bad,doubt,asked"])
        .run()
        .expect_code(1);
    assert_eq!(
        fates(&plan(&workspace, &[])),
        [
            "skip completed",
            "skip not_selected",
            "skip not_selected",
            "skip not_selected",
            "run waiting",
        ]
    );
    assert_eq!(
        fates(&plan(&workspace, &["--only-status", "failed,enqueued"])),
        [
            "skip completed",
            "run failed_before",
            "skip possibly_billed",
            "re-attach bought",
            "run waiting",
        ]
    );
    assert_eq!(
        fates(&plan(&workspace, &["--redo", "--limit", "1"]))[0],
        "run made_again"
    );
    let limited = plan(
        &workspace,
        &["--only-status", "failed,enqueued", "--limit", "1"],
    );
    assert_eq!(fates(&limited)[4], "skip over_limit");
}

#[test]
fn the_totals_of_a_plan_are_the_ledgers_after_the_run() {
    // One is done already, one fails twice before it succeeds, one has no price.
    let mocks = [
        ("done", "unit_price_usd: 0.2"),
        ("flaky", "fail_first: 2, retries: 3, unit_price_usd: 0.3"),
        ("plain", "unit_price_usd: 0.1"),
        ("unpriced", ""),
    ];
    let workspace = one_job_each(&mocks);
    let _ = workspace.worker(&["--algo", "done"]).run().expect_code(0);
    let before = ledger(&workspace);
    let planned = plan(&workspace, &["--max-parallel", "2"]);
    assert_eq!(planned["cost"]["unknown_price_jobs"], json!(1));
    assert_usd(&planned["cost"]["expected_usd"], 0.4);
    // Every attempt that its retries allow, as if each were billed.
    assert_usd(&planned["cost"]["worst_usd"], 0.3 * 4.0 + 0.1);
    assert_usd(&planned["money"]["spent_usd"], before.0);
    let _ = workspace
        .worker(&["--max-parallel", "2"])
        .run()
        .expect_code(0);
    let (spent, reserved) = ledger(&workspace);
    assert_usd(&planned["after_usd"], spent + reserved);
    assert_usd(&planned["cost"]["new_usd"], spent - before.0);
    let again = plan(&workspace, &[]);
    assert_eq!(again["counts"]["run"], json!(0));
    assert_usd(&again["cost"]["new_usd"], 0.0);
}

#[test]
fn jobs_beyond_a_limit_are_named_and_are_those_that_do_not_start() {
    let mocks = [
        ("a", "unit_price_usd: 0.3"),
        ("b", "unit_price_usd: 0.3"),
        ("c", "unit_price_usd: 0.3"),
        ("d", ""),
        ("e", "unit_price_usd: 0.05"),
    ];
    let workspace = one_job_each(&mocks);
    let planned = plan(&workspace, &["--budget-usd", "0.7"]);
    assert_eq!(
        fates(&planned),
        [
            "run waiting",
            "run waiting",
            "blocked over_budget",
            "blocked unknown_price",
            "run waiting",
        ]
    );
    let _ = workspace
        .worker(&["--budget-usd", "0.7"])
        .run()
        .expect_code(4);
    assert_eq!(executed(&workspace), [0, 1, 4]);
    let (spent, reserved) = ledger(&workspace);
    assert_usd(&planned["after_usd"], spent + reserved);
}

#[test]
fn an_unknown_price_is_never_shown_as_nothing() {
    let workspace = one_job_each(&[("free", "unit_price_usd: 0"), ("dark", "")]);
    let output = workspace
        .archi3d(&["run", "plan", "--run-id", "rk"])
        .run()
        .expect_code(0);
    let dark = output.stdout.lines().find(|line| line.contains(" dark "));
    assert!(
        dark.is_some_and(|line| line.contains("unknown")),
        "{output}"
    );
    let job = &plan(&workspace, &[])["jobs"][1];
    assert_eq!(job["expected_usd"], Value::Null);
}

#[test]
fn past_times_tell_how_long_it_takes() {
    let workspace = one_job_each(&[("a", ""), ("b", "")]);
    assert_eq!(plan(&workspace, &[])["time_s"], Value::Null);
    let _ = workspace.worker(&[]).run().expect_code(0);
    change_mocks(&workspace, &[("a", ""), ("b", "")]);
    let redo = plan(&workspace, &["--redo"]);
    assert!(redo["time_s"].as_f64().is_some(), "{redo}");
    assert_eq!(executions(&workspace).len(), 2);
    let rehearsal = plan(&workspace, &["--redo", "--dry-run", "--simulate-ms", "500"]);
    assert_eq!(rehearsal["counts"]["skip"], json!(2));
}

#[test]
fn a_plan_of_a_run_that_is_not_there_says_so() {
    let workspace = one_job_each(&[("a", "")]);
    let _ = workspace
        .archi3d(&["run", "plan", "--run-id", "nope"])
        .run()
        .expect_code(2)
        .expect_stderr("run nope does not exist");
    let _ = Invocation::archi3d(["run", "plan"])
        .run()
        .expect_code(2)
        .expect_stderr("no workspace found");
}

#[test]
fn with_reuse_a_plan_knows_what_is_copied_and_the_totals_still_are_the_ledgers() {
    // The second run has the jobs of the first, and one of its own algorithm.
    let workspace = one_job_each(&[
        ("copied", "unit_price_usd: 0.2"),
        ("bought", "unit_price_usd: 0.3"),
        ("flaky", "fail_first: 1, retries: 2, unit_price_usd: 0.1"),
    ]);
    let _ = workspace.worker(&["--algo", "copied"]).run().expect_code(0);
    // The same pictures and the same algorithm under another id.
    let id = workspace.id(0).to_owned();
    let twin = |line: &str| {
        line.replace(&id, "feedbeef0001")
            .replace("completed", "enqueued")
    };
    for table in ["tables/generations.csv", "runs/rk/manifest.csv"] {
        let text = String::from_utf8(workspace.bytes(table)).expect("it is text");
        let line = text
            .lines()
            .find(|line| line.contains(&id))
            .expect("its row");
        let bare = blanked(&text, line);
        workspace.write(table, format!("{text}{}\n", twin(&bare)).as_bytes());
    }
    let planned = plan(&workspace, &["--reuse"]);
    assert_eq!(
        fates(&planned),
        [
            "skip completed",
            "reuse identical",
            "run waiting",
            "run waiting",
        ]
    );
    assert_usd(&planned["cost"]["new_usd"], 0.4);
    let _ = workspace.worker(&["--reuse"]).run().expect_code(0);
    let (spent, reserved) = ledger(&workspace);
    assert_usd(&planned["after_usd"], spent + reserved);
    let told = workspace
        .archi3d(&["cost", "report", "--json"])
        .run()
        .json();
    assert_eq!(told["total"]["reused"], json!(1));
    assert_usd(&told["total"]["billed_usd"], spent);
}

/// Returns a row as it was before its job ran.
fn blanked(table: &str, line: &str) -> String {
    let columns: Vec<&str> = table.lines().next().expect("a header").split(',').collect();
    let written = |column: &str| {
        column.starts_with("generation_")
            || column.starts_with("worker_")
            || column.starts_with("preview_")
            || [
                "algo_version",
                "unit_price_usd",
                "price_source",
                "gen_object_path",
            ]
            .contains(&column)
            || ["estimated_cost_usd", "error_msg"].contains(&column)
    };
    let cells = line.split(',').zip(&columns);
    let cells: Vec<&str> = cells
        .map(|(cell, column)| if written(column) { "" } else { cell })
        .collect();
    cells.join(",")
}

#[test]
fn what_cannot_be_made_is_planned_as_blocked_and_starts_no_program() {
    let adapters = "adapters:
  keyless: {kind: process, command: [touch, started], env: [NOBODY_SETS_THIS], unit_price_usd: 0.4}
  mistyped: {kind: process, command: [pyhton3-is-no-program], unit_price_usd: 0.4}
  address: {endpoint: somebody/something, unit_price_usd: 0.4}
";
    for (algo, why) in [
        ("keyless", "the variable NOBODY_SETS_THIS is not set"),
        ("mistyped", "pyhton3-is-no-program"),
        ("address", "has only an endpoint"),
    ] {
        let workspace = TestWorkspace::with_products(1)
            .algo(algo)
            .adapters(adapters)
            .build();
        let planned = plan(&workspace, &[]);
        assert_eq!(fates(&planned), ["blocked unusable_algo"], "{planned}");
        let output = workspace.worker(&[]).run().expect_code(2);
        let _ = output.expect_stderr(why);
        assert_eq!(workspace.registry().count("enqueued"), 1);
        let started = |name: &String| name.ends_with("started");
        assert!(!workspace.tree().keys().any(started));
        assert_eq!(ledger(&workspace), (0.0, 0.0));
    }
}

#[test]
fn a_plan_tells_what_reuse_would_save() {
    let workspace = one_job_each(&[("copied", "unit_price_usd: 0.4")]);
    let _ = workspace.worker(&[]).run().expect_code(0);
    // The same pictures and the same algorithm under other ids.
    let id = workspace.id(0).to_owned();
    let twins = |line: &str| -> String {
        let twin = |number: usize| {
            line.replace(&id, &format!("feedbeef000{number}"))
                .replace("completed", "enqueued")
        };
        let rows: Vec<String> = (1..=3).map(twin).collect();
        rows.join("\n") + "\n"
    };
    for table in ["tables/generations.csv", "runs/rk/manifest.csv"] {
        let text = String::from_utf8(workspace.bytes(table)).expect("text");
        let line = text.lines().find(|line| line.contains(&id)).expect("a row");
        let all = format!("{}\n{}", text.trim_end(), twins(line));
        workspace.write(table, all.as_bytes());
    }
    let seen = plan(&workspace, &[]);
    assert_eq!(seen["counts"]["run"], json!(3), "{seen}");
    assert_eq!(seen["identical"]["results"], json!(3), "{seen}");
    assert_usd(&seen["identical"]["saves_usd"], 1.2);
    let _ = workspace
        .archi3d(&["run", "plan", "--run-id", "rk"])
        .run()
        .expect_stdout("3 identical results exist; --reuse saves $1.20");
    let reusing = plan(&workspace, &["--reuse"]);
    assert_eq!(reusing["counts"]["reuse"], json!(3));
    assert_eq!(reusing["identical"]["results"], json!(0));
}

#[test]
fn under_a_limit_the_worst_case_is_never_above_it() {
    let workspace = one_job_each(&[
        ("one", "unit_price_usd: 0.3, retries: 9"),
        ("two", "unit_price_usd: 0.3, retries: 9"),
    ]);
    assert_usd(&plan(&workspace, &[])["cost"]["worst_usd"], 6.0);
    let capped = plan(&workspace, &["--budget-usd", "5"]);
    assert_usd(&capped["cost"]["worst_usd"], 5.0);
    assert_eq!(capped["cost"]["worst_capped"], json!(true));
    for job in capped["jobs"].as_array().expect("jobs") {
        assert!(job["worst_usd"].as_f64() <= Some(5.0), "{job}");
    }
    let _ = workspace
        .archi3d(&["run", "plan", "--run-id", "rk", "--budget-usd", "5"])
        .run()
        .expect_stdout("$5.00 (capped)");
    // What is spent already is no part of what is left.
    let _ = workspace.worker(&["--limit", "1"]).run().expect_code(0);
    let rest = plan(&workspace, &["--budget-usd", "1"]);
    assert_usd(&rest["cost"]["worst_usd"], 0.7);
}
