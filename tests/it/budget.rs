//! Spending limits hold whatever happens: for all workers together, across kills, failures and
//! late results; and a person hears what is left and how to go on.

use std::collections::BTreeSet;
use std::thread;
use std::time::Duration;

use serde_json::Value;

use crate::support::TestWorkspace;
use crate::support::mocks::{change_mocks, executed, executions, one_job_each, statuses};

const PRICE: &str = "unit_price_usd: 0.30";

/// A workspace of `jobs` jobs that cost thirty cents each; executions are counted.
fn priced(jobs: usize, options: &str) -> TestWorkspace {
    let yaml = format!(
        "adapters:\n  paid:\n    {{kind: mock, unit_price_usd: 0.30, \
         count_file: executions.txt{options}}}\n"
    );
    TestWorkspace::with_products(jobs)
        .algo("paid")
        .adapters(&yaml)
        .build()
}

/// The lines of the ledger, in order.
fn ledger(workspace: &TestWorkspace) -> Vec<Value> {
    let text = String::from_utf8(workspace.bytes("tables/budget.jsonl")).expect("text");
    let line = |line: &str| serde_json::from_str(line).expect("a whole line");
    text.lines().map(line).collect()
}

/// What is spent and what is reserved, in cents, by adding the ledger up independently.
fn spent_and_reserved(workspace: &TestWorkspace) -> (i64, i64) {
    let mut reserved = std::collections::BTreeMap::new();
    let mut settled = BTreeSet::new();
    let mut spent = 0;
    for line in ledger(workspace) {
        let nonce = line["nonce"].to_string();
        let job = (line["run_id"].to_string(), line["job_id"].to_string());
        #[expect(clippy::cast_possible_truncation, reason = "a few dollars")]
        let cents = (line["usd"].as_f64().expect("an amount") * 100.0).round() as i64;
        let attempt = line["attempt"].as_u64().expect("a number");
        if line["event"] == "reserved" {
            reserved.insert(job, (nonce, attempt, cents));
        } else if settled.insert(nonce.clone()) {
            spent += cents;
            let ends = |(of, earlier, _): &(String, u64, i64)| {
                *of == nonce || (*earlier < attempt && cents > 0)
            };
            if reserved.get(&job).is_some_and(ends) {
                reserved.remove(&job);
            }
        }
    }
    (spent, reserved.values().map(|(_, _, cents)| cents).sum())
}

fn distinct_jobs(workspace: &TestWorkspace) -> usize {
    let jobs: BTreeSet<usize> = executed(workspace).into_iter().collect();
    jobs.len()
}

#[test]
fn at_the_cap_nothing_new_starts_and_the_message_says_what_is_left_and_how_to_go_on() {
    let workspace = priced(5, "");
    let output = workspace
        .worker(&["--budget-usd", "1", "--json"])
        .run()
        .expect_code(4)
        .expect_stderr("% of the run's budget of $1.00 are spent or reserved")
        .expect_stderr("the run's budget of $1.00 has $0.10 left ($0.90 spent, $0.00 reserved)")
        .expect_stderr("2 jobs wait")
        .expect_stderr("--budget-usd 1.50");
    let summary = output.json();
    assert_eq!(summary["stopped_by"], "budget");
    assert_eq!(summary["blocked_by_budget"], 2);
    assert_eq!(summary["spent_usd"], 0.9);
    assert_eq!(summary["budget"]["left_usd"], 0.1);
    assert_eq!(workspace.log().events("budget_warning").len(), 1);
    assert_eq!(workspace.log().events("budget_reached").len(), 1);
    assert_eq!(statuses(&workspace)[3..], ["enqueued", "enqueued"]);
    assert_eq!(spent_and_reserved(&workspace), (90, 0));
    // The command it names runs the rest, counting what was spent before.
    let _ = workspace
        .worker(&["--budget-usd", "1.50"])
        .run()
        .expect_code(0);
    assert_eq!(statuses(&workspace), ["completed"; 5]);
    assert_eq!(spent_and_reserved(&workspace), (150, 0));
}

#[test]
fn eight_workers_together_start_exactly_the_jobs_that_a_cap_allows() {
    for _ in 0..4 {
        let workspace = priced(12, "");
        let options = ["--budget-usd", "1.00", "--max-parallel", "2"];
        let workers: Vec<_> = (0..8).map(|_| workspace.worker(&options).spawn()).collect();
        for worker in workers {
            let code = worker.wait().code();
            assert_eq!(code, Some(4));
        }
        assert_eq!(executions(&workspace).len(), 3);
        assert_eq!(spent_and_reserved(&workspace), (90, 0));
        assert_eq!(workspace.registry().count("completed"), 3);
        assert_eq!(workspace.registry().count("enqueued"), 9);
    }
}

#[test]
fn killed_workers_never_make_room_for_a_job_that_the_cap_does_not_allow() {
    for round in 0..3u64 {
        let workspace = priced(12, ", sleep_ms: 15");
        let options = ["--budget-usd", "1.00", "--max-parallel", "2"];
        let workers: Vec<_> = (0..8).map(|_| workspace.worker(&options).spawn()).collect();
        for (number, worker) in workers.into_iter().enumerate() {
            // The moment of the kill is what is tested; nothing waits for it.
            thread::sleep(Duration::from_millis(3 + 4 * round));
            if number % 2 == 0 {
                drop(worker.kill());
            } else {
                let _ = worker.wait();
            }
            assert!(distinct_jobs(&workspace) <= 3);
        }
        let resume = ["--only-status", "enqueued,running", "--budget-usd", "1.00"];
        let _ = workspace.worker(&resume).run().expect_code(4);
        // Whatever was begun may have been billed.
        assert!(executions(&workspace).len() <= 3);
        let (spent, reserved) = spent_and_reserved(&workspace);
        assert!(spent + reserved <= 90, "{spent} {reserved}");
    }
}

#[test]
fn a_dead_workers_reservation_counts_as_spent_and_a_rerun_reserves_beside_it() {
    let workspace = priced(3, ", wait_file: go");
    let worker = workspace.worker(&["--budget-usd", "0.50"]).spawn();
    workspace.wait_for_file("executions.txt");
    drop(worker.kill());
    assert_eq!(spent_and_reserved(&workspace), (0, 30));
    // Others do not fit beside it.
    let _ = workspace
        .worker(&["--budget-usd", "0.50"])
        .run()
        .expect_code(4)
        .expect_stderr("$0.20 left ($0.00 spent, $0.30 reserved)");
    assert_eq!(distinct_jobs(&workspace), 1);
    workspace.write("go", b"");
    // The dead one may have bought: to buy again may cost both.
    let again = |cap| ["--only-status", "running", "--budget-usd", cap];
    let _ = workspace.worker(&again("0.50")).run().expect_code(4);
    assert_eq!(distinct_jobs(&workspace), 1);
    let _ = workspace.worker(&again("0.60")).run().expect_code(0);
    assert_eq!(spent_and_reserved(&workspace), (60, 0));
}

#[test]
fn what_a_stopped_worker_left_in_doubt_counts_beside_the_rerun() {
    let workspace = priced(1, ", wait_file: go");
    let worker = workspace.worker(&[]).spawn();
    workspace.wait_for_file("executions.txt");
    worker.signal("INT");
    worker.signal("TERM");
    let _ = worker.wait();
    workspace.write("go", b"");
    assert_eq!(spent_and_reserved(&workspace), (0, 30));
    let _ = workspace
        .worker(&["--budget-usd", "0.50"])
        .run()
        .expect_code(4);
    let _ = workspace
        .worker(&["--budget-usd", "0.60"])
        .run()
        .expect_code(0);
    assert_eq!(spent_and_reserved(&workspace), (60, 0));
}

#[test]
fn what_was_surely_not_billed_is_free_again_and_what_may_have_been_is_not() {
    for (options, wanted) in [
        ("fail: no", (0, 0)),
        ("fail: no, fail_class: transient", (0, 0)),
        ("fail: no, fail_class: unknown", (0, 30)),
        ("fail: no, submit: true", (0, 30)),
        ("empty_output: true", (30, 0)),
        ("panic: true", (0, 30)),
        ("sleep_ms: 60000, timeout_s: 0.2", (0, 30)),
    ] {
        let workspace = one_job_each(&[("paid", &format!("{PRICE}, {options}"))]);
        let _ = workspace.worker(&[]).run().expect_code(1);
        assert_eq!(spent_and_reserved(&workspace), wanted, "{options}");
    }
}

#[test]
fn a_job_that_may_have_been_billed_and_is_bought_again_may_cost_both() {
    let doubt = format!("{PRICE}, fail: no, fail_class: unknown");
    let workspace = one_job_each(&[("paid", &doubt)]);
    let _ = workspace.worker(&[]).run().expect_code(1);
    let again = ["--only-status", "failed", "--resubmit-unknown"];
    let capped = |cap| [&again[..], &["--budget-usd", cap]].concat();
    let _ = workspace.worker(&capped("0.50")).run().expect_code(4);
    assert_eq!(spent_and_reserved(&workspace), (0, 30));
    let _ = workspace.worker(&capped("0.60")).run().expect_code(1);
    assert_eq!(spent_and_reserved(&workspace), (30, 30));
    change_mocks(&workspace, &[("paid", PRICE)]);
    let plan = [
        &["run", "plan", "--run-id", "rk", "--json"],
        &capped("0.80")[..],
    ]
    .concat();
    let plan = workspace.archi3d(&plan).run().expect_code(0).json();
    assert_eq!(plan["jobs"][0]["fate"], "blocked");
    let _ = workspace.worker(&capped("0.80")).run().expect_code(4);
    let _ = workspace.worker(&capped("0.90")).run().expect_code(0);
    assert_eq!(spent_and_reserved(&workspace), (90, 0));
}

#[test]
fn attempts_that_were_cut_off_never_free_money_for_others() {
    let workspace = priced(3, ", sleep_ms: 60000, timeout_s: 0.2");
    let capped = ["--budget-usd", "0.30", "--retries", "1"];
    let _ = workspace.worker(&capped).run().expect_code(4);
    assert_eq!(distinct_jobs(&workspace), 1);
    assert_eq!(spent_and_reserved(&workspace), (0, 30));
    // Not even when the next worker reads the journal of this one.
    let _ = workspace.worker(&capped).run().expect_code(4);
    assert_eq!(distinct_jobs(&workspace), 1);
}

#[test]
fn a_retry_of_an_attempt_that_may_have_been_billed_reserves_beside_it() {
    let workspace = priced(1, ", sleep_ms: 60000, timeout_s: 0.2");
    let _ = workspace.worker(&["--retries", "3"]).run().expect_code(1);
    let again = ["--only-status", "failed", "--resubmit-unknown"];
    for (cap, code, made, money) in [("0.30", 4, 1, (0, 30)), ("0.60", 1, 2, (30, 30))] {
        let capped = [&["--budget-usd", cap, "--retries", "3"], &again[..]].concat();
        let _ = workspace.worker(&capped).run().expect_code(code);
        assert_eq!(executions(&workspace).len(), made);
        assert_eq!(spent_and_reserved(&workspace), money);
    }
}

#[test]
fn that_an_attempt_was_not_billed_says_nothing_of_the_one_before_it() {
    let doubt = format!("{PRICE}, fail: no, fail_class: unknown");
    let workspace = one_job_each(&[("paid", &doubt)]);
    let _ = workspace.worker(&[]).run().expect_code(1);
    change_mocks(&workspace, &[("paid", &format!("{PRICE}, fail: no"))]);
    let again = ["--only-status", "failed", "--resubmit-unknown"];
    let _ = workspace.worker(&again).run().expect_code(1);
    assert_eq!(spent_and_reserved(&workspace), (30, 0));
    let _ = workspace.worker(&[]).run().expect_code(0);
    assert_eq!(spent_and_reserved(&workspace), (30, 0));
}

#[test]
fn a_retry_asks_about_the_purchase_that_replaced_one_given_up() {
    let open = format!("{PRICE}, submit: true, fail: no");
    let doubtful = format!("{open}, fail_class: unknown");
    let workspace = one_job_each(&[("paid", &doubtful)]);
    let _ = workspace.worker(&[]).run().expect_code(1);
    let passing = format!("{open}, fail_class: transient");
    change_mocks(&workspace, &[("paid", &passing)]);
    let anew = [
        "--only-status",
        "failed",
        "--forget-requests",
        "--retries",
        "2",
    ];
    let _ = workspace.worker(&anew).run().expect_code(1);
    let text = String::from_utf8(workspace.bytes("executions.txt")).expect("text");
    let bought: Vec<bool> = text.lines().map(|l| !l.contains(" resumes ")).collect();
    assert_eq!(bought, [true, true, false, false], "{text}");
    assert_eq!(spent_and_reserved(&workspace), (30, 30));
}

#[test]
fn giving_a_request_up_that_the_cap_does_not_allow_changes_nothing() {
    let open = format!("{PRICE}, submit: true, fail: no, fail_class: unknown");
    let workspace = one_job_each(&[("paid", &open)]);
    let _ = workspace.worker(&[]).run().expect_code(1);
    change_mocks(&workspace, &[("paid", &format!("{PRICE}, submit: true"))]);
    let cap = ["--budget-usd", "0.30", "--only-status", "enqueued,failed"];
    let _ = workspace
        .worker(&[&cap[..], &["--forget-requests"]].concat())
        .run()
        .expect_code(4);
    assert_eq!(spent_and_reserved(&workspace), (0, 30));
    let _ = workspace.worker(&cap).run().expect_code(0);
    assert_eq!(spent_and_reserved(&workspace), (30, 0));
}

#[test]
fn a_doubtful_job_that_the_cap_does_not_allow_stays_doubtful() {
    let doubt = format!("{PRICE}, fail: no, fail_class: unknown");
    let workspace = one_job_each(&[("paid", &doubt)]);
    let _ = workspace.worker(&[]).run().expect_code(1);
    let _ = workspace
        .worker(&[
            "--only-status",
            "failed",
            "--resubmit-unknown",
            "--budget-usd",
            "0.20",
        ])
        .run()
        .expect_code(4)
        .expect_stderr("--only-status failed --budget-usd 0.60")
        .expect_stderr(" --resubmit-unknown");
    assert_eq!(statuses(&workspace), ["failed"]);
    let _ = workspace.worker(&[]).run().expect_code(0);
    assert_eq!(executed(&workspace).len(), 1);
}

#[test]
fn a_purchase_of_unknown_price_is_asked_about_under_a_cap() {
    let open = "submit: true, fail: no, fail_class: unknown";
    let workspace = one_job_each(&[("riddle", open)]);
    let _ = workspace.worker(&[]).run().expect_code(1);
    change_mocks(&workspace, &[("riddle", "submit: true")]);
    let _ = workspace
        .worker(&["--only-status", "failed", "--budget-usd", "1"])
        .run()
        .expect_code(0);
}

#[test]
fn a_request_that_is_given_up_stays_on_the_bill() {
    let open = format!("{PRICE}, submit: true, fail: no, fail_class: unknown");
    let workspace = one_job_each(&[("paid", &open)]);
    let _ = workspace.worker(&[]).run().expect_code(1);
    change_mocks(&workspace, &[("paid", PRICE)]);
    let anew = ["--only-status", "failed", "--forget-requests"];
    let _ = workspace
        .worker(&[&anew[..], &["--budget-usd", "0.50"]].concat())
        .run()
        .expect_code(4);
    let _ = workspace
        .worker(&[&anew[..], &["--budget-usd", "0.60"]].concat())
        .run()
        .expect_code(0);
    assert_eq!(spent_and_reserved(&workspace), (60, 0));
}

#[test]
fn a_purchase_is_asked_about_even_when_the_cap_is_used_up() {
    let open = format!("{PRICE}, submit: true, fail: no, fail_class: unknown");
    let workspace = one_job_each(&[("paid", &open)]);
    let _ = workspace.worker(&[]).run().expect_code(1);
    change_mocks(&workspace, &[("paid", &format!("{PRICE}, submit: true"))]);
    let _ = workspace
        .worker(&["--only-status", "failed", "--budget-usd", "0.10"])
        .run()
        .expect_code(0);
    assert_eq!(spent_and_reserved(&workspace), (30, 0));
}

#[test]
fn cheaper_jobs_go_on_where_a_dearer_one_does_not_fit() {
    let workspace = one_job_each(&[
        ("dear", "unit_price_usd: 0.90"),
        ("cheap", "unit_price_usd: 0.02"),
        ("free", "unit_price_usd: 0"),
    ]);
    let _ = workspace
        .worker(&["--budget-usd", "0.50"])
        .run()
        .expect_code(4)
        .expect_stderr("1 job waits");
    assert_eq!(statuses(&workspace), ["enqueued", "completed", "completed"]);
}

#[test]
fn jobs_of_unknown_price_do_not_start_under_a_limit_and_do_without_one() {
    let workspace = one_job_each(&[("riddle", "sleep_ms: 0"), ("paid", PRICE)]);
    let output = workspace
        .worker(&["--budget-usd", "5", "--json"])
        .run()
        .expect_code(4)
        .expect_stderr("algo riddle has no price")
        .expect_stderr("unit_price_usd");
    assert_eq!(output.json()["unpriced_blocked"], 1);
    assert_eq!(statuses(&workspace), ["enqueued", "completed"]);
    let _ = workspace.worker(&[]).run().expect_code(0);
    assert_eq!(spent_and_reserved(&workspace), (30, 0));
}

#[test]
fn limits_in_the_file_hold_and_the_command_line_can_only_tighten_them() {
    let workspace = priced(4, "");
    workspace.write("config/global.yaml", b"budget:\n  run_usd: 0.70\n");
    let _ = workspace
        .worker(&["--budget-usd", "100"])
        .run()
        .expect_code(4)
        .expect_stderr("budget.run_usd");
    assert_eq!(distinct_jobs(&workspace), 2);
    workspace.write("config/global.yaml", b"budget:\n  day_usd: 0.95\n");
    let _ = workspace
        .worker(&[])
        .run()
        .expect_code(4)
        .expect_stderr("budget.day_usd");
    assert_eq!(distinct_jobs(&workspace), 3);
    workspace.write("config/global.yaml", b"# \nbudget:\n  run_usd: -1\n");
    let _ = workspace
        .worker(&[])
        .run()
        .expect_code(2)
        .expect_stderr("global.yaml:3");
}

#[test]
fn a_rehearsal_and_free_jobs_leave_no_ledger() {
    let workspace = priced(2, "");
    let _ = workspace
        .worker(&["--dry-run", "--budget-usd", "0"])
        .run()
        .expect_code(0);
    assert!(!workspace.path("tables/budget.jsonl").exists());
    let workspace = one_job_each(&[("riddle", "sleep_ms: 0"), ("free", "unit_price_usd: 0")]);
    let _ = workspace.worker(&[]).run().expect_code(0);
    assert!(!workspace.path("tables/budget.jsonl").exists());
}

#[test]
fn money_is_settled_by_the_next_worker_where_the_journal_tells_what_was_billed() {
    let workspace = priced(1, "");
    let _ = workspace.worker(&[]).run().expect_code(0);
    // As if the worker had died between publishing its result and settling.
    let text = String::from_utf8(workspace.bytes("tables/budget.jsonl")).expect("text");
    let reserved = text.lines().next().expect("a line").to_owned() + "\n";
    workspace.write_ledger(reserved.as_bytes());
    assert_eq!(spent_and_reserved(&workspace), (0, 30));
    for _ in 0..2 {
        let _ = workspace.worker(&[]).run().expect_code(0);
        assert_eq!(spent_and_reserved(&workspace), (30, 0));
    }
    assert_eq!(ledger(&workspace).len(), 2);
}

#[test]
fn what_needs_to_be_confirmed_is_not_started_without_yes() {
    let workspace = priced(3, "");
    workspace.write("config/global.yaml", b"confirm_above_usd: 0.50\n");
    let _ = workspace
        .worker(&[])
        .run()
        .expect_code(2)
        .expect_stderr("3 jobs are expected to cost $0.90")
        .expect_stderr("--yes");
    assert_eq!(statuses(&workspace), ["enqueued"; 3]);
    assert!(workspace.leftovers().is_empty());
    let _ = workspace.worker(&["--limit", "1"]).run().expect_code(0);
    let _ = workspace.worker(&["--yes"]).run().expect_code(0);
    assert_eq!(statuses(&workspace), ["completed"; 3]);
}

#[test]
fn a_plan_counts_what_is_bought_anew_on_top_of_what_is_given_up() {
    let open = format!("{PRICE}, submit: true, fail: no, fail_class: unknown");
    let workspace = one_job_each(&[("paid", &open)]);
    let _ = workspace.worker(&[]).run().expect_code(1);
    let plan = |cap| {
        let options = ["--only-status", "failed", "--forget-requests", "--json"];
        let plan = ["run", "plan", "--run-id", "rk", "--budget-usd", cap];
        let output = workspace.archi3d(&[&plan[..], &options].concat()).run();
        output.expect_code(0).json()
    };
    assert_eq!(plan("0.50")["jobs"][0]["fate"], "blocked");
    assert_eq!(plan("0.60")["jobs"][0]["fate"], "run");
}

#[test]
fn a_ledger_that_is_lost_or_damaged_lifts_no_limit() {
    type Harm = fn(&TestWorkspace);
    let harms: [Harm; 4] = [
        |w| std::fs::remove_file(w.path("tables/budget.jsonl")).expect("there"),
        |w| w.write("tables/budget.jsonl", b""),
        |w| w.write("tables/budget.jsonl", b"{\"at\": 7}\nnothing\n"),
        |w| {
            let bytes = w.bytes("tables/budget.jsonl");
            w.write("tables/budget.jsonl", &bytes[..bytes.len() / 2]);
        },
    ];
    for harm in harms {
        let workspace = priced(5, "");
        let capped = ["--budget-usd", "0.70"];
        let _ = workspace.worker(&capped).run().expect_code(4);
        harm(&workspace);
        let _ = workspace
            .archi3d(&["doctor"])
            .run()
            .expect_stdout("ledger_behind")
            .expect_stdout("--run-id rk --budget-usd 0");
        let _ = workspace
            .worker(&capped)
            .run()
            .expect_code(4)
            .expect_stderr("written back from the journals");
        assert_eq!(executions(&workspace).len(), 2);
        let again = workspace.worker(&capped).run().expect_code(4);
        assert!(!again.stderr.contains("written back"), "once is enough");
        assert_eq!(executions(&workspace).len(), 2);
        let doctor = workspace.archi3d(&["doctor"]).run();
        assert!(!doctor.stdout.contains("ledger_behind"));
    }
}

#[test]
fn what_may_have_been_billed_is_reserved_again_when_the_ledger_is_lost() {
    let workspace = priced(2, ", fail: no, fail_class: unknown");
    let _ = workspace.worker(&["--limit", "1"]).run().expect_code(1);
    std::fs::remove_file(workspace.path("tables/budget.jsonl")).expect("there");
    let _ = workspace
        .worker(&["--budget-usd", "0.50"])
        .run()
        .expect_code(4);
    assert_eq!(executions(&workspace).len(), 1);
    assert_eq!(spent_and_reserved(&workspace), (0, 30));
}

#[test]
fn a_result_that_is_made_again_after_doubt_may_cost_both() {
    let workspace = one_job_each(&[("paid", PRICE)]);
    let _ = workspace.worker(&[]).run().expect_code(0);
    let doubt = format!("{PRICE}, fail: no, fail_class: unknown");
    change_mocks(&workspace, &[("paid", &doubt)]);
    let redo = ["--redo", "--only-status", "completed,failed"];
    let _ = workspace.worker(&redo).run().expect_code(1);
    assert_eq!(spent_and_reserved(&workspace), (30, 30));
    change_mocks(&workspace, &[("paid", PRICE)]);
    let again = [&redo[..], &["--resubmit-unknown"]].concat();
    let capped = [&again[..], &["--budget-usd", "0.80"]].concat();
    let _ = workspace.worker(&capped).run().expect_code(4);
    let _ = workspace.worker(&again).run().expect_code(0);
    assert_eq!(spent_and_reserved(&workspace), (90, 0));
}
