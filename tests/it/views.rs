//! `run status`, `run explain` and `cost report`: what is shown is what is there.

use serde_json::{Value, json};

use crate::support::binary::Output;
use crate::support::mocks::{jobs_of, one_job_each};
use crate::support::{TestWorkspace, wait_until};

fn status(workspace: &TestWorkspace) -> Value {
    let arguments = ["run", "status", "--run-id", "rk", "--json"];
    workspace.archi3d(&arguments).run().expect_code(0).json()
}

fn explain(workspace: &TestWorkspace, job: &str) -> Value {
    let arguments = ["run", "explain", "--run-id", "rk", job, "--json"];
    workspace.archi3d(&arguments).run().expect_code(0).json()
}

fn report(workspace: &TestWorkspace, options: &[&str]) -> Output {
    let arguments = [&["cost", "report"], options].concat();
    workspace.archi3d(&arguments).run()
}

const MIXED: [(&str, &str); 3] = [
    ("good", "unit_price_usd: 0.25, submit: true"),
    ("bad", "fail: always, fail_class: permanent"),
    (
        "doubt",
        "fail: always, fail_class: unknown, unit_price_usd: 0.5",
    ),
];

#[test]
fn status_counts_by_algo_and_groups_failures() {
    let workspace = one_job_each(&MIXED);
    let _ = workspace.worker(&[]).run().expect_code(1);
    let before = workspace.tree();
    let status = status(&workspace);
    assert_eq!(workspace.tree(), before);
    assert_eq!(status["counts"]["completed"], json!(1));
    assert_eq!(status["counts"]["failed"], json!(2));
    assert_eq!(status["algos"][0]["algo"], json!("good"));
    assert_eq!(status["algos"][0]["counts"]["completed"], json!(1));
    assert_eq!(status["money"]["spent_usd"], json!(0.25));
    assert_eq!(status["money"]["reserved_usd"], json!(0.5));
    let groups = status["failure_groups"].as_array().expect("a list");
    assert_eq!(groups.len(), 2, "{groups:?}");
}

#[test]
fn a_running_job_shows_its_worker_and_how_far_it_is() {
    let workspace = one_job_each(&[("slow", "wait_file: go.txt")]);
    let worker = workspace
        .worker(&["--heartbeat-secs", "0.05", "--stale-secs", "60"])
        .spawn();
    wait_until("progress in the status", || {
        status(&workspace)["running"][0]["progress"]["fraction"] == json!(0.0)
    });
    let running = status(&workspace)["running"][0].take();
    assert_eq!(running["verdict"], json!("alive"));
    assert_eq!(running["algo"], json!("slow"));
    workspace.write("go.txt", b"");
    let _ = worker.wait().expect_code(0);
    assert_eq!(status(&workspace)["running"], json!([]));
}

#[test]
fn watching_ends_by_itself_and_writes_no_control_codes_into_a_pipe() {
    let workspace = one_job_each(&[("slow", "wait_file: go.txt")]);
    let worker = workspace.worker(&[]).spawn();
    let arguments = [
        "run",
        "status",
        "--run-id",
        "rk",
        "--watch",
        "--interval",
        "0.05",
    ];
    let watcher = workspace.archi3d(&arguments).spawn();
    wait_until("a frame with the running job", || {
        watcher.stdout_so_far().contains("1 running")
    });
    workspace.write("go.txt", b"");
    let _ = worker.wait().expect_code(0);
    let seen = watcher.wait().expect_code(0);
    assert!(!seen.stdout.contains('\u{1b}'), "{seen}");
    assert!(seen.stdout.trim_end().ends_with("unknown"), "{seen}");
    assert!(seen.stdout.contains("1 completed"), "{seen}");
}

#[test]
fn a_watcher_that_is_interrupted_leaves_the_worker_alone() {
    let workspace = one_job_each(&[("slow", "wait_file: go.txt")]);
    let worker = workspace.worker(&[]).spawn();
    let arguments = ["run", "status", "--run-id", "rk", "--watch", "--json"];
    let watcher = workspace.archi3d(&arguments).spawn();
    wait_until("a frame", || watcher.stdout_so_far().ends_with('\n'));
    watcher.signal("INT");
    let seen = watcher.wait().expect_code(130);
    for line in seen.stdout.lines() {
        let frame: Result<Value, _> = serde_json::from_str(line);
        assert!(frame.is_ok(), "{line}");
    }
    workspace.write("go.txt", b"");
    let _ = worker.wait().expect_code(0);
}

#[test]
fn every_state_has_its_reason_and_its_next_command() {
    let workspace = one_job_each(&MIXED);
    let id = |index: usize| workspace.id(index).to_owned();
    let waiting = explain(&workspace, &id(0));
    assert_eq!(
        (&waiting["state"], &waiting["code"]),
        (&json!("enqueued"), &json!("waiting"))
    );
    let _ = workspace.worker(&[]).run().expect_code(1);
    for (index, state, code, command) in [
        (0, "completed", "completed", "--redo"),
        (1, "failed", "permanent", "--only-status failed"),
        (2, "failed", "possibly_billed", "--resubmit-unknown"),
    ] {
        let told = explain(&workspace, &id(index)[..8]);
        assert_eq!(told["job_id"], json!(id(index)));
        assert_eq!(
            (&told["state"], &told["code"]),
            (&json!(state), &json!(code))
        );
        let next = told["next"][0]["command"].as_str().expect("a command");
        assert!(next.contains(command), "{next}");
        assert_eq!(told["attempts"].as_array().map(Vec::len), Some(1));
    }
    assert_eq!(
        explain(&workspace, &id(2))["numbers"]["reserved_usd"],
        json!(0.5)
    );
}

#[test]
fn a_job_that_is_not_there_or_not_the_only_one_is_refused_with_names() {
    let workspace = TestWorkspace::with_products(2)
        .job_ids(["abc-1", "abc-2"])
        .build();
    let ask = |job: &str| {
        let arguments = ["run", "explain", "--run-id", "rk", job];
        workspace.archi3d(&arguments).run().expect_code(2)
    };
    let _ = ask("abc").expect_stderr("2 jobs of run rk match \"abc\"");
    let _ = ask("abc-3").expect_stderr("did you mean abc-1");
}

#[test]
fn what_was_paid_is_reported_by_anything_and_sums_up() {
    let workspace = one_job_each(&MIXED);
    let _ = workspace.worker(&["--dry-run"]).run().expect_code(0);
    assert_eq!(
        report(&workspace, &["--json"]).json()["total"]["attempts"],
        json!(0)
    );
    let _ = workspace.worker(&[]).run().expect_code(1);
    for by in ["algo", "day", "worker", "run"] {
        let told = report(&workspace, &["--json", "--by", by])
            .expect_code(0)
            .json();
        assert_eq!(told["total"]["attempts"], json!(3), "{by}");
        assert_eq!(told["total"]["billed_usd"], json!(0.25), "{by}");
        assert_eq!(told["total"]["unknown_cost_attempts"], json!(1), "{by}");
    }
    let table = report(&workspace, &["--csv", "--by", "algo"]).expect_code(0);
    assert!(
        table.stdout.contains("good,1,1,0,0,0,0.250000,0\n"),
        "{table}"
    );
    assert!(
        table.stdout.contains("total,3,1,2,0,0,0.250000,1\n"),
        "{table}"
    );
}

#[test]
fn an_invoice_is_compared_by_request_id_and_exit_code_1_means_it_differs() {
    let workspace = one_job_each(&[MIXED[0]]);
    let _ = workspace.worker(&[]).run().expect_code(0);
    let attempts = crate::support::mocks::attempts(&workspace);
    let request = attempts[0]["request_id"]
        .as_str()
        .expect("it was submitted");
    let invoice = |rows: &str| {
        let table = format!("\u{feff}Request ID;Amount\r\n{rows}");
        workspace.write("invoice.csv", table.as_bytes());
        let path = workspace.path("invoice.csv");
        report(
            &workspace,
            &["--match", path.to_str().expect("text"), "--json"],
        )
    };
    let equal = invoice(&format!("{request};\"$0,25\"\r\n")).expect_code(0);
    assert_eq!(equal.json()["match"]["agrees"], json!(true));
    let differs = invoice(&format!("{request};0.30\r\nelse;1\r\n")).expect_code(1);
    let found = differs.json()["match"].take();
    assert_eq!(found["different"][0]["invoice_usd"], json!(0.3));
    assert_eq!(found["only_in_invoice"][0]["request_id"], json!("else"));
    let missing = invoice("else;0\r\n").expect_code(1).json();
    assert_eq!(
        missing["match"]["only_ours"][0]["request_id"],
        json!(request)
    );
    // A credit is taken off what was charged, however it is signed.
    for credit in ["0.05-", "(0,05)", "-$0.05", "\u{2212}0.05", "0.05 CR"] {
        let rows = format!("{request};0.30\r\n{request};{credit}\r\n");
        let _ = invoice(&rows).expect_code(0);
    }
    let _ = invoice(&format!("{request};-0.25-\r\n"))
        .expect_code(2)
        .expect_stderr("invoice.csv:2:");
    let alone = invoice(&format!("{request};0.25-\r\n")).expect_code(1);
    let theirs = &alone.json()["match"]["different"][0]["invoice_usd"];
    assert_eq!(theirs, &json!(-0.25));
    let _ = invoice("x;lots\r\n")
        .expect_code(2)
        .expect_stderr("invoice.csv:2:");
}

#[test]
fn a_request_to_stop_shows_until_the_worker_has_seen_it() {
    let workspace = one_job_each(&[("slow", "wait_file: go.txt")]);
    // A worker that beats rarely sees the request late.
    let worker = workspace.worker(&["--heartbeat-secs", "300"]).spawn();
    workspace.wait_for_events("job_started", 1);
    let job = workspace.id(0);
    let cancel = ["run", "cancel", "--run-id", "rk", "--yes"];
    let _ = workspace.archi3d(&cancel).run().expect_code(0);
    assert_eq!(status(&workspace)["running"][0]["cancel_asked"], true);
    let shown = workspace.archi3d(&["run", "status", "--run-id", "rk"]);
    let _ = shown.run().expect_code(0).expect_stdout("stopping");
    let told = explain(&workspace, job);
    assert_eq!(told["code"], "cancel_asked");
    let next = told["next"][0]["command"].as_str().expect("a command");
    assert!(next.contains(" --undo"), "{next}");
    assert!(next.contains(" --workspace "), "{next}");
    let _ = worker.kill();
    // Nobody lives to see it: whoever comes next takes the job out.
    let plan = [
        "run",
        "plan",
        "--run-id",
        "rk",
        "--only-status",
        "running",
        "--json",
    ];
    let planned = workspace.archi3d(&plan).run().expect_code(0).json();
    assert_eq!(planned["jobs"][0]["code"], "cancel_asked");
    let _ = workspace.worker(&["--only-status", "running"]).run();
    assert_eq!(status(&workspace)["counts"]["cancelled"], 1);
}

#[test]
fn an_explanation_names_limits_breakers_and_canaries() {
    let limits = "max_parallel: 2, rate_per_min: 30, breaker_failures: 1";
    let options = format!("fail: broken, {limits}");
    let workspace = jobs_of(&[("bad", &options)], &["bad"; 2]);
    let _ = workspace.worker(&["--canary", "1"]).run().expect_code(1);
    let told = explain(&workspace, workspace.id(1));
    assert_eq!(told["code"], "paused");
    let numbers = &told["numbers"];
    assert_eq!(numbers["max_parallel"], 2);
    assert_eq!(numbers["rate_per_min"], 30.0);
    assert_eq!(numbers["breaker_failures"], 1);
    let reason = numbers["paused"]["reason"].as_str().expect("a reason");
    assert!(reason.contains("1 failures in a row"), "{reason}");
    let why = told["why"].to_string();
    assert!(why.contains("stopped after its canaries"), "{why}");
    assert!(why.contains("algo bad is paused"), "{why}");
    let next = told["next"].to_string();
    assert!(next.contains("adapters resume bad"), "{next}");
}

#[test]
fn an_explanation_counts_the_attempts_that_its_table_lists() {
    let workspace = one_job_each(&[
        ("good", "unit_price_usd: 0.25"),
        ("flaky", "fail_first: 2, retries: 1"),
    ]);
    let _ = workspace.worker(&[]).run().expect_code(1);
    let good = explain(&workspace, workspace.id(0));
    assert_eq!(good["attempt"], json!(1));
    assert_eq!(good["why"][0], json!("attempt 1 brought its result"));
    let flaky = explain(&workspace, workspace.id(1));
    assert_eq!(flaky["attempt"], json!(2));
    assert_eq!(flaky["numbers"]["failures"], json!(1));
    let why = flaky["why"].to_string();
    assert!(why.contains("one failure was followed"), "{why}");
}

#[test]
fn a_rehearsed_attempt_is_shown_as_one() {
    let workspace = one_job_each(&[MIXED[0]]);
    let _ = workspace.worker(&["--dry-run"]).run().expect_code(0);
    let shown = workspace.archi3d(&["run", "explain", "--run-id", "rk", workspace.id(0)]);
    let _ = shown.run().expect_stdout("in run rk: rehearsed, ");
}

#[test]
fn over_a_limit_the_next_step_says_which_and_when() {
    let workspace = one_job_each(&[MIXED[0]]);
    workspace.write("config/global.yaml", b"budget:\n  run_usd: 0.1\n");
    let told = explain(&workspace, workspace.id(0));
    let what = told["next"][0]["what"].as_str().expect("words");
    assert!(what.contains("budget.run_usd"), "{what}");
    workspace.write("config/global.yaml", b"budget:\n  day_usd: 0.1\n");
    let told = explain(&workspace, workspace.id(0));
    assert_eq!(told["code"], "over_budget");
    let what = told["next"][0]["what"].as_str().expect("words");
    assert!(
        what.contains("tomorrow") && what.contains("budget.day_usd"),
        "{what}"
    );
}

#[test]
fn a_job_whose_adapter_asks_first_is_to_be_looked_at_before_it_is_bought_again() {
    let workspace = one_job_each(&[("one", "wait_file: go, on_interrupt: ask")]);
    let worker = workspace.worker(&[]).spawn();
    let job = workspace.id(0);
    wait_until("the job runs", || {
        explain(&workspace, job)["state"] == "running"
    });
    let _ = worker.kill();
    let told = explain(&workspace, job);
    assert_eq!(told["code"], "ask_first");
    let next = told["next"][1]["command"].as_str().expect("a command");
    assert!(
        next.contains("--only-status failed --resubmit-unknown"),
        "{next}"
    );
}

#[test]
fn a_mistyped_run_is_answered_with_the_one_that_may_be_meant() {
    let workspace = one_job_each(&[MIXED[0]]);
    for command in ["status", "plan", "attempts", "worker"] {
        let arguments = ["run", command, "--run-id", "rkk"];
        let asked = workspace.archi3d(&arguments).run().expect_code(2);
        let _ = asked.expect_stderr("did you mean `rk`?");
    }
}

#[test]
fn a_plan_says_which_filters_match_nothing() {
    let workspace = one_job_each(&[MIXED[0]]);
    let filters = ["--jobs", "zzz", "--algo", "goo"];
    let arguments = [&["run", "plan", "--run-id", "rk"], &filters[..]].concat();
    let _ = workspace
        .archi3d(&arguments)
        .run()
        .expect_code(5)
        .expect_stderr("has the algo goo (did you mean `good`?)")
        .expect_stderr("matches --jobs \"zzz\"");
}

#[test]
fn where_only_failed_and_cancelled_jobs_are_left_a_worker_says_how_to_go_on() {
    let workspace = one_job_each(&[MIXED[0], MIXED[1]]);
    let cancel = ["run", "cancel", "--run-id", "rk", "--algo", "good"];
    let _ = workspace.archi3d(&cancel).run().expect_code(0);
    let _ = workspace.worker(&[]).run().expect_code(1);
    let _ = workspace
        .worker(&[])
        .run()
        .expect_code(0)
        .expect_stderr("add --only-status failed")
        .expect_stderr("run cancel --run-id rk --undo");
}

#[test]
fn the_attempts_of_a_job_are_found_by_the_beginning_of_its_id() {
    let workspace = one_job_each(&[MIXED[0]]);
    let _ = workspace.worker(&[]).run().expect_code(0);
    let job = &workspace.id(0)[..6];
    let arguments = ["run", "attempts", "--run-id", "rk", "--job", job];
    let shown = workspace.archi3d(&arguments).run().expect_code(0);
    let _ = shown.expect_stdout("1 attempt of 1 job");
}

#[test]
fn a_worker_that_waits_for_its_turn_is_there() {
    let workspace = jobs_of(&[("one", "rate_per_min: 1")], &["one"; 2]);
    let worker = workspace.worker(&[]).spawn();
    wait_until("the first job ends", || {
        status(&workspace)["counts"]["completed"] == 1
    });
    let shown = || {
        workspace
            .archi3d(&["run", "status", "--run-id", "rk"])
            .run()
    };
    let _ = shown().expect_stdout("a worker is running and waits for its turn");
    let _ = worker.kill();
    let _ = shown().expect_stdout("no worker is running");
}

#[test]
fn the_runs_of_a_workspace_are_listed_with_their_counts() {
    let empty = TestWorkspace::empty();
    let _ = empty.archi3d(&["init"]).run();
    let list = |workspace: &TestWorkspace| workspace.archi3d(&["run", "list"]).run().expect_code(0);
    let _ = list(&empty).expect_stdout("no runs yet");
    let workspace = TestWorkspace::with_products(2).algo("mock").build();
    let said = workspace.archi3d(&["run", "list", "--json"]).run().json();
    assert_eq!(said["runs"][0]["run_id"], "rk");
    assert_eq!(said["runs"][0]["jobs"], 2);
    assert_eq!(said["runs"][0]["counts"]["enqueued"], 2);
    let _ = workspace.worker(&[]).run().expect_code(0);
    let said = list(&workspace).stdout;
    let line = said.lines().nth(1).expect("a run");
    let words: Vec<&str> = line.split_whitespace().collect();
    assert_eq!(words, ["rk", "2025-01-01", "09:00", "2", "2"], "{said}");
    std::fs::remove_file(workspace.path("runs/rk/manifest.csv")).expect("there");
    let _ = list(&workspace).expect_stdout("no manifest under runs/");
}

#[test]
fn an_attempt_that_was_tried_again_is_no_failed_job() {
    let workspace = one_job_each(&[
        ("flaky", "fail_first: 2, retries: 3, unit_price_usd: 0.1"),
        ("broken", "fail: no, fail_class: permanent"),
    ]);
    let _ = workspace.worker(&[]).run().expect_code(1);
    let total = report(&workspace, &["--json"]).json()["total"].take();
    for (name, count) in [
        ("attempts", 4),
        ("failed", 3),
        ("retried", 2),
        ("jobs", 2),
        ("completed_jobs", 1),
        ("failed_jobs", 1),
    ] {
        assert_eq!(total[name], json!(count), "{name}: {total}");
    }
    let text = report(&workspace, &[]).expect_code(0).stdout;
    let words = |name: &str| -> Vec<&str> {
        let line = text.lines().find(|line| line.starts_with(name));
        line.expect("a line").split_whitespace().collect()
    };
    let head = [
        "algo", "billed", "jobs", "made", "failed", "attempts", "retried",
    ];
    assert_eq!(words("algo"), head, "{text}");
    assert_eq!(
        words("flaky"),
        ["flaky", "$0.10", "1", "1", "3", "2"],
        "{text}"
    );
}
