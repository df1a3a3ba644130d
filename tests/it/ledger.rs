//! The ledger after jobs that were cancelled, killed or lost: every view tells the same, nothing
//! counts twice, and a person can settle what no attempt will.

use serde_json::Value;

use crate::support::TestWorkspace;
use crate::support::mocks::{change_mocks, one_job_each, statuses};
#[cfg(target_os = "linux")]
use crate::support::process::shell;

fn json(workspace: &TestWorkspace, arguments: &[&str]) -> Value {
    let arguments = [arguments, &["--json"]].concat();
    workspace.archi3d(&arguments).run().expect_code(0).json()
}

/// Checks that every view tells this of the run's money.
#[track_caller]
fn expect_money(workspace: &TestWorkspace, spent: f64, reserved: f64) {
    let report = json(workspace, &["cost", "report"])["ledger"].take();
    let status = json(workspace, &["run", "status", "--run-id", "rk"])["money"].take();
    let plan = json(workspace, &["run", "plan", "--run-id", "rk"])["money"].take();
    for (view, money) in [("report", report), ("status", status), ("plan", plan)] {
        let told = (money["spent_usd"].as_f64(), money["reserved_usd"].as_f64());
        assert_eq!(told, (Some(spent), Some(reserved)), "{view}");
    }
}

fn settle(
    workspace: &TestWorkspace,
    usd: &str,
    options: &[&str],
) -> crate::support::binary::Output {
    let job = &workspace.id(0)[..6];
    let command = ["cost", "settle", "--run-id", "rk", job, "--usd", usd];
    workspace.archi3d(&[&command, options].concat()).run()
}

#[test]
fn a_failure_that_may_have_been_billed_is_named_and_settled_by_a_person() {
    let lost = "unit_price_usd: 0.4, fail: lost, fail_class: unknown";
    let workspace = one_job_each(&[("one", lost)]);
    let _ = workspace.worker(&[]).run().expect_code(1);
    expect_money(&workspace, 0.0, 0.4);
    let open = json(&workspace, &["cost", "report"])["ledger"]["open"].take();
    assert_eq!(open[0]["usd"], 0.4);
    assert_eq!(open[0]["state"], "failed");
    let told = json(
        &workspace,
        &["run", "explain", "--run-id", "rk", workspace.id(0)],
    );
    let next = told["next"].to_string();
    assert!(next.contains("cost settle --run-id rk"), "{next}");
    let report = workspace.archi3d(&["cost", "report"]).run().expect_code(0);
    let _ = report.expect_stdout("cost settle rk ");

    let before = workspace.tree();
    let _ = settle(&workspace, "0.3", &[])
        .expect_code(2)
        .expect_stderr("--yes");
    let _ = settle(&workspace, "-1", &["--yes"]).expect_code(2);
    assert_eq!(workspace.tree(), before);
    let _ = settle(&workspace, "0.3", &["--yes"]).expect_code(0);
    expect_money(&workspace, 0.3, 0.0);
    let _ = settle(&workspace, "0.3", &["--yes"])
        .expect_code(2)
        .expect_stderr("has no open reservation");
    // Bought again after all, it is paid for again.
    change_mocks(&workspace, &[("one", "unit_price_usd: 0.4")]);
    let again = ["--only-status", "failed", "--resubmit-unknown"];
    let _ = workspace.worker(&again).run().expect_code(0);
    expect_money(&workspace, 0.7, 0.0);
}

/// What `cost report` knows to be billed, and how often it does not know.
fn reported(workspace: &TestWorkspace) -> (f64, u64) {
    let total = json(workspace, &["cost", "report"])["total"].take();
    let billed = total["billed_usd"].as_f64().expect("dollars");
    (
        billed,
        total["unknown_cost_attempts"].as_u64().expect("a number"),
    )
}

#[test]
fn the_report_and_the_explanation_know_what_a_person_settled() {
    let lost = "unit_price_usd: 0.4, fail: lost, fail_class: unknown";
    let workspace = one_job_each(&[("one", lost)]);
    let _ = workspace.worker(&[]).run().expect_code(1);
    assert_eq!(reported(&workspace), (0.0, 1));
    let _ = settle(&workspace, "0.3", &["--yes"]).expect_code(0);
    assert_eq!(reported(&workspace), (0.3, 0));
    let explain = ["run", "explain", "--run-id", "rk", workspace.id(0)];
    let why = json(&workspace, &explain)["why"].to_string();
    assert!(why.contains("settled it by hand"), "{why}");
    // What is bought afterwards is in doubt for itself.
    let again = ["--only-status", "failed", "--resubmit-unknown"];
    let _ = workspace.worker(&again).run().expect_code(1);
    assert_eq!(reported(&workspace), (0.3, 1));
}

#[test]
fn what_a_person_settled_is_about_every_attempt_that_asked() {
    let asks = "unit_price_usd: 0.4, wait_file: go, on_interrupt: ask";
    let workspace = one_job_each(&[("one", asks)]);
    let worker = workspace.worker(&[]).spawn();
    workspace.wait_for_events("job_started", 1);
    let _ = worker.kill();
    let takeover = ["--only-status", "running"];
    let _ = workspace.worker(&takeover).run().expect_code(1);
    assert_eq!(reported(&workspace), (0.0, 1));
    let _ = settle(&workspace, "0.4", &["--yes"]).expect_code(0);
    assert_eq!(reported(&workspace), (0.4, 0));
}

#[test]
fn a_job_that_is_cancelled_while_it_works_keeps_its_money_until_it_is_settled() {
    let workspace = one_job_each(&[("one", "unit_price_usd: 0.3, wait_file: go")]);
    let beats = ["--heartbeat-secs", "0.05", "--stale-secs", "600"];
    let worker = workspace.worker(&beats).spawn();
    workspace.wait_for_events("job_started", 1);
    let _ = settle(&workspace, "0", &["--yes"])
        .expect_code(2)
        .expect_stderr("one that a worker holds cannot be settled");
    let cancel = ["run", "cancel", "--run-id", "rk", "--yes"];
    let _ = workspace.archi3d(&cancel).run().expect_code(0);
    let _ = worker.wait();
    assert_eq!(statuses(&workspace), ["cancelled"]);
    expect_money(&workspace, 0.0, 0.3);
    let _ = settle(&workspace, "0", &["--yes"]).expect_code(0);
    expect_money(&workspace, 0.0, 0.0);
}

#[test]
fn what_a_dead_worker_of_another_run_did_not_spend_is_not_kept_from_the_day() {
    let workspace = one_job_each(&[("one", "unit_price_usd: 0.3, fail: no")]);
    let _ = workspace.worker(&[]).run().expect_code(1);
    let whole = String::from_utf8(workspace.bytes("tables/budget.jsonl")).expect("text");
    // It died before it could settle; its journal tells that nothing was billed.
    let reserved = whole.lines().next().expect("a line").to_owned() + "\n";
    workspace.write_ledger(reserved.as_bytes());
    change_mocks(&workspace, &[("one", "unit_price_usd: 0.3")]);
    workspace.write("config/global.yaml", b"budget: {day_usd: 0.3}\n");
    let build = workspace.archi3d(&["catalog", "build"]).run();
    let _ = build.expect_code(0);
    let batch = ["batch", "create", "--run-id", "r2", "--algos", "one"];
    let _ = workspace.archi3d(&batch).run().expect_code(0);
    let worker = ["run", "worker", "--run-id", "r2"];
    let _ = workspace.archi3d(&worker).run().expect_code(0);
}

#[test]
fn what_a_killed_worker_reserved_counts_beside_what_is_bought_again() {
    let workspace = one_job_each(&[("one", "unit_price_usd: 0.3, wait_file: go")]);
    let worker = workspace.worker(&[]).spawn();
    workspace.wait_for_events("job_started", 1);
    let _ = worker.kill();
    expect_money(&workspace, 0.0, 0.3);
    let resume = ["--only-status", "running", "--budget-usd", "0.6"];
    let plan = ["run", "plan", "--run-id", "rk"];
    let planned = json(&workspace, &[&plan[..], &resume].concat());
    assert_eq!(planned["cost"]["new_usd"], 0.3);
    assert_eq!(planned["after_usd"], 0.6);
    workspace.write("go", b"");
    let _ = workspace.worker(&resume).run().expect_code(0);
    expect_money(&workspace, 0.6, 0.0);
}

#[cfg(target_os = "linux")]
#[test]
fn a_success_between_failures_keeps_the_breaker_closed() {
    let script = "grep -q $ARCHI3D_JOB_ID $ARCHI3D_WORKSPACE/bad && exit 3; \
                  cp $ARCHI3D_WORKSPACE/cube.glb generated.glb";
    let run = |bad: &[usize]| {
        let workspace = shell(5, script, &["breaker_failures: 2"]);
        let ids: Vec<&str> = bad.iter().map(|index| workspace.id(*index)).collect();
        workspace.write("bad", ids.join("\n").as_bytes());
        let _ = workspace.worker(&[]).run().expect_code(1);
        let opened = workspace.log().events("breaker_opened").len();
        (statuses(&workspace), opened)
    };
    let (f, c, e) = ("failed", "completed", "enqueued");
    assert_eq!(
        run(&[0, 2, 4]),
        (
            vec![f, c, f, c, f].into_iter().map(String::from).collect(),
            0
        )
    );
    assert_eq!(
        run(&[0, 1]),
        (
            vec![f, f, e, e, e].into_iter().map(String::from).collect(),
            1
        )
    );
}
