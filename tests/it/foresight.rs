//! What `run plan` says of order, canaries, limits, closed providers, pictures and copies is what
//! `run worker` with the same options then does, and what the ledger then holds.

use std::fs;

use serde_json::{Value, json};

use crate::support::mocks::{change_mocks, executed, jobs_of, one_job_each};
use crate::support::process::shell;
use crate::support::{TestWorkspace, wait_until};

fn plan(workspace: &TestWorkspace, options: &[&str]) -> Value {
    let command = [&["run", "plan", "--run-id", "rk", "--json"], options].concat();
    workspace.archi3d(&command).run().expect_code(0).json()
}

/// Returns what would become of each job and why, in the order of the plan.
fn fates(plan: &Value) -> Vec<String> {
    let jobs = plan["jobs"].as_array().expect("a list of jobs");
    let word = |job: &Value, name: &str| job[name].as_str().expect("a word").to_owned();
    let fate = |job| format!("{} {}", word(job, "fate"), word(job, "code"));
    jobs.iter().map(fate).collect()
}

/// Returns the jobs whose adapter would be called, in order, by their number from 0.
fn called(workspace: &TestWorkspace, plan: &Value) -> Vec<usize> {
    let jobs = plan["jobs"].as_array().expect("a list of jobs");
    let starts = jobs.iter().filter(|job| job["fate"] == "run");
    let known = workspace.jobs();
    let index = |job: &Value| {
        known
            .iter()
            .position(|one| job["job_id"] == one.id.as_str())
    };
    starts.map(|job| index(job).expect("its number")).collect()
}

/// Plans, runs, and compares which jobs were executed in which order.
#[track_caller]
fn expect_foretold(workspace: &TestWorkspace, options: &[&str], expected: &[usize]) -> Value {
    let planned = plan(workspace, options);
    let before = executed(workspace).len();
    let _ = workspace.worker(options).run();
    assert_eq!(executed(workspace)[before..], *expected, "{options:?}");
    assert_eq!(called(workspace, &planned), expected, "{options:?}");
    planned
}

/// Makes one job another view of the product of another job, in both tables.
fn same_product(workspace: &TestWorkspace, index: usize, other: usize) {
    let (own, other) = (&workspace.jobs()[index], &workspace.jobs()[other]);
    for table in ["tables/generations.csv", "runs/rk/manifest.csv"] {
        let text = String::from_utf8(workspace.bytes(table)).expect("it is text");
        let lines = text.split_inclusive('\n').map(|line| {
            if line.contains(&own.id) {
                let cell = |product: &str| format!("{product},default,");
                line.replacen(&cell(&own.product), &cell(&other.product), 1)
            } else {
                line.to_owned()
            }
        });
        workspace.write(table, lines.collect::<String>().as_bytes());
    }
}

/// Two products, two algorithms, all jobs of one algorithm before the other's.
fn by_columns() -> TestWorkspace {
    let mocks = [
        ("dear", "unit_price_usd: 0.4"),
        ("cheap", "unit_price_usd: 0.1"),
    ];
    let workspace = jobs_of(&mocks, &["dear", "dear", "cheap", "cheap"]);
    same_product(&workspace, 2, 0);
    same_product(&workspace, 3, 1);
    workspace
}

#[test]
fn a_plan_has_the_order_in_which_the_worker_starts() {
    for (order, expected) in [
        ("manifest", [0, 1, 2, 3]),
        ("row-first", [0, 2, 1, 3]),
        ("cheapest", [2, 3, 0, 1]),
    ] {
        let workspace = by_columns();
        let planned = expect_foretold(&workspace, &["--order", order], &expected);
        assert_eq!(planned["order"], order);
    }
}

#[test]
fn row_first_counts_only_the_rows_that_are_selected() {
    let workspace = by_columns();
    let first = workspace.id(0).to_owned();
    let _ = workspace.worker(&["--jobs", &first]).run().expect_code(0);
    let planned = expect_foretold(&workspace, &["--order", "row-first"], &[1, 3, 2]);
    assert_eq!(fates(&planned)[0], "skip completed");
}

#[test]
fn the_order_decides_who_gets_the_money_that_is_left() {
    let workspace = by_columns();
    let options = ["--order", "cheapest", "--budget-usd", "0.6"];
    let planned = expect_foretold(&workspace, &options, &[2, 3, 0]);
    assert_eq!(fates(&planned)[3], "blocked over_budget");
}

#[test]
fn jobs_behind_a_canary_are_blocked_unless_they_are_released() {
    let mocks = [("one", ""), ("two", "")];
    let workspace = jobs_of(&mocks, &["one", "one", "two", "one", "two"]);
    let planned = expect_foretold(&workspace, &["--canary", "1"], &[0, 2]);
    assert_eq!(fates(&planned)[1], "blocked after_canary");
    assert_eq!(planned["counts"]["blocked"], 3);
    let released = ["--canary", "1", "--release"];
    let planned = expect_foretold(&workspace, &released, &[1, 3, 4]);
    assert_eq!(planned["counts"]["blocked"], 0);
}

#[test]
fn a_job_whose_picture_is_missing_is_foretold_and_uses_up_the_limit_but_no_money() {
    let workspace = jobs_of(&[("one", "unit_price_usd: 0.2")], &["one"; 3]);
    fs::remove_file(workspace.path(&workspace.jobs()[0].images[0])).expect("removable");
    let options = ["--limit", "2", "--budget-usd", "0.2"];
    let planned = expect_foretold(&workspace, &options, &[1]);
    assert_eq!(
        fates(&planned),
        ["blocked unusable_picture", "run waiting", "skip over_limit"]
    );
    let why = planned["jobs"][0]["reason"].as_str().expect("a reason");
    assert!(why.contains("input image not found"), "{why}");
}

#[test]
fn a_closed_provider_blocks_what_would_be_bought_but_not_what_is_copied() {
    let closed = "provider: acme, unit_price_usd: 0.2";
    let workspace = jobs_of(&[("one", closed), ("two", closed)], &["one", "one", "two"]);
    let _ = workspace.worker(&["--limit", "1"]).run().expect_code(0);
    let closure = json!({"provider": "acme", "closed_at": "2026-01-01T00:00:00Z", "reason": "402"});
    let file = "runs/.providers/acme.closed.json";
    workspace.write(file, closure.to_string().as_bytes());
    let planned = expect_foretold(&workspace, &["--reuse"], &[]);
    assert_eq!(
        fates(&planned),
        [
            "skip completed",
            "reuse identical",
            "blocked provider_closed"
        ]
    );
    assert_eq!(workspace.log().events("job_reused").len(), 1);
}

#[test]
fn a_paused_algo_stays_paused_for_the_next_start_and_the_plan_says_so() {
    let workspace = jobs_of(&[("bad", "fail: broken, breaker_failures: 1")], &["bad"; 3]);
    let _ = workspace.worker(&[]).run().expect_code(1);
    change_mocks(&workspace, &[("bad", "breaker_failures: 1")]);
    let planned = expect_foretold(&workspace, &[], &[]);
    assert_eq!(fates(&planned)[1..], ["blocked paused"; 2]);
    let resume = ["adapters", "resume", "bad"];
    let _ = workspace.archi3d(&resume).run().expect_code(0);
    let planned = expect_foretold(&workspace, &[], &[1, 2]);
    assert_eq!(fates(&planned)[1..], ["run waiting"; 2]);
}

#[test]
fn a_twin_of_a_job_that_the_budget_refuses_is_refused_too() {
    let mocks = [
        ("dear", "unit_price_usd: 0.5"),
        ("cheap", "unit_price_usd: 0.1"),
    ];
    let workspace = jobs_of(&mocks, &["dear", "dear", "cheap", "cheap"]);
    let options = ["--reuse", "--budget-usd", "0.3"];
    let planned = expect_foretold(&workspace, &options, &[2]);
    assert_eq!(
        fates(&planned),
        [
            "blocked over_budget",
            "blocked over_budget",
            "run waiting",
            "reuse twin",
        ]
    );
}

#[test]
fn what_was_bought_at_an_unknown_price_is_asked_for_under_a_limit_too() {
    let bought = "submit: true, fail: lost, fail_class: unknown";
    let workspace = one_job_each(&[("one", bought)]);
    let _ = workspace.worker(&[]).run().expect_code(1);
    change_mocks(&workspace, &[("one", "submit: true")]);
    let options = ["--only-status", "failed", "--budget-usd", "1"];
    assert_eq!(fates(&plan(&workspace, &options)), ["re-attach bought"]);
    let _ = workspace.worker(&options).run().expect_code(0);
    assert_eq!(executed(&workspace), [0, 0]);
}

#[test]
fn the_limits_of_a_provider_are_part_of_the_time_it_takes() {
    let limits = "provider: acme, rate_per_min: 2";
    let workspace = jobs_of(
        &[("one", ""), ("two", "")],
        &["one", "two", "one", "two", "one"],
    );
    let _ = workspace.worker(&["--limit", "2"]).run().expect_code(0);
    let seconds = |plan: &Value| plan["time_s"].as_f64().expect("a time");
    let free = seconds(&plan(&workspace, &["--max-parallel", "3"]));
    change_mocks(&workspace, &[("one", limits), ("two", limits)]);
    let held = plan(&workspace, &["--max-parallel", "3"]);
    // Three starts of one provider, half a minute apart, whichever algorithm they are of.
    assert!(free < 30.0 && seconds(&held) >= 60.0, "{free}, {held}");
    assert!(held["algos"][1]["time_s"].as_f64().expect("a time") < 30.0);
}

/// Returns what the lines of the ledger say was settled, in millionths.
fn settled_micros(workspace: &TestWorkspace) -> i64 {
    let text = workspace.bytes("tables/budget.jsonl");
    let lines = text
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty());
    let entries = lines.map(|line| serde_json::from_slice::<Value>(line).expect("a line of JSON"));
    let settled = entries.filter(|entry| entry["event"] == "settled");
    settled.map(|entry| micros(&entry["usd"])).sum()
}

#[expect(clippy::cast_possible_truncation, reason = "a few dollars")]
fn micros(usd: &Value) -> i64 {
    (usd.as_f64().expect("an amount") * 1e6).round() as i64
}

#[test]
fn with_skips_copies_retries_and_unknown_prices_the_plans_totals_are_the_ledgers() {
    let mocks = [
        ("done", "unit_price_usd: 0.2"),
        ("twin", "unit_price_usd: 0.07"),
        ("flaky", "fail_first: 2, retries: 3, unit_price_usd: 0.3"),
        ("riddle", ""),
        ("left", "unit_price_usd: 0.9"),
    ];
    let algos = [
        "done", "done", "twin", "twin", "flaky", "riddle", "flaky", "left",
    ];
    let workspace = jobs_of(&mocks, &algos);
    let _ = workspace.worker(&["--limit", "1"]).run().expect_code(0);
    let (before, options) = (
        settled_micros(&workspace),
        ["--reuse", "--algo", "done,twin,flaky,riddle"],
    );
    let mut planned = plan(&workspace, &options);
    // Pictures of all products are alike, so the second of an algorithm is a copy.
    assert_eq!(
        fates(&planned),
        [
            "skip completed",
            "reuse identical",
            "run waiting",
            "reuse twin",
            "run waiting",
            "run waiting",
            "reuse twin",
        ]
    );
    let _ = workspace.worker(&options).run().expect_code(0);
    // Whichever of the two flaky ones succeeds first, the other copies it.
    assert_eq!(workspace.log().events("job_reused").len(), 3);
    let cost = planned["cost"].take();
    let settled = settled_micros(&workspace);
    assert_eq!(settled - before, 70_000 + 300_000);
    assert_eq!(micros(&cost["new_usd"]), settled - before);
    assert_eq!(micros(&cost["expected_usd"]), settled - before);
    assert_eq!(micros(&planned["after_usd"]), settled);
    let report = workspace
        .archi3d(&["cost", "report", "--json"])
        .run()
        .json();
    assert_eq!(micros(&report["ledger"]["spent_usd"]), settled);
    assert_eq!(micros(&report["ledger"]["reserved_usd"]), 0);
    assert_eq!(micros(&report["total"]["billed_usd"]), settled);
    assert_eq!(report["total"]["reused"], planned["counts"]["reuse"]);
    let unknown = &report["total"]["unknown_cost_attempts"];
    assert_eq!(*unknown, cost["unknown_price_jobs"]);
    let nothing = plan(&workspace, &options);
    assert_eq!(nothing["counts"]["skip"], 7);
    assert_eq!(micros(&nothing["after_usd"]), settled);
}

/// A program that says it cost a quarter dollar, whatever its entry says.
const QUARTER: &str = r#"cp $ARCHI3D_WORKSPACE/cube.glb m.glb
echo "$(date)" >> $ARCHI3D_WORKSPACE/made.txt
echo '{"event":"result","success":true,"generated_glb":"m.glb","estimated_cost_usd":0.25}'"#;

fn made(workspace: &TestWorkspace) -> usize {
    let text = fs::read_to_string(workspace.path("made.txt"));
    text.map_or(0, |text| text.lines().count())
}

#[test]
fn what_an_algo_turned_out_to_cost_is_known_to_the_next_start_and_to_its_plan() {
    for price in ["unit_price_usd: 0", "unit_price_usd: 0.1"] {
        let workspace = shell(8, QUARTER, &[price]);
        let capped = ["--budget-usd", "1"];
        let _ = workspace.worker(&capped).run().expect_code(4);
        assert_eq!(made(&workspace), 4, "{price}");
        assert_eq!(plan(&workspace, &capped)["counts"]["run"], 0, "{price}");
        let _ = workspace.worker(&capped).run().expect_code(4);
        assert_eq!(made(&workspace), 4, "{price}");
        let more = ["--budget-usd", "1.3"];
        assert_eq!(plan(&workspace, &more)["counts"]["run"], 1, "{price}");
        let _ = workspace.worker(&more).run().expect_code(4);
        assert_eq!(made(&workspace), 5, "{price}");
    }
}

#[test]
fn what_an_earlier_day_has_reserved_does_not_count_for_this_one() {
    let priced = "unit_price_usd: 0.3";
    let waits = format!("{priced}, wait_file: go");
    let workspace = one_job_each(&[("one", &waits), ("two", priced)]);
    let worker = workspace.worker(&["--limit", "1"]).spawn();
    wait_until("it has begun", || executed(&workspace).len() == 1);
    let _ = worker.kill();
    workspace.write("go", b"");
    let ledger = String::from_utf8(workspace.bytes("tables/budget.jsonl")).expect("text");
    let (before, at) = ledger.split_once("\"at\":\"").expect("a time");
    let aged = format!("{before}\"at\":\"2020-01-01{}", &at[10..]);
    workspace.write_ledger(aged.as_bytes());
    let both = ["--only-status", "enqueued,running"];
    workspace.write("config/global.yaml", b"budget: {day_usd: 0.2}\n");
    expect_foretold(&workspace, &both, &[]);
    workspace.write("config/global.yaml", b"budget: {day_usd: 0.4}\n");
    expect_foretold(&workspace, &both, &[0]);
}
