//! Programs that buy: what they say before and after, what is durable when they are told so, what
//! a purchase costs, and words that nobody knows.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::support::process::{children, python, shell};
use crate::support::{TestWorkspace, binary::Running, wait_until};

/// The start of every program here: `say` speaks, `heard` waits until that is safe.
pub const BUYER: &str = r#"
import json, os, pathlib, shutil, sys, time
request = json.loads(sys.stdin.readline())
root = pathlib.Path(request["workspace"])
def say(event, **fields):
    print(json.dumps({"event": event, **fields}), flush=True)
def heard(event):
    if json.loads(sys.stdin.readline() or "{}").get("ack") != event:
        sys.exit(1)
def charge(name):
    with open(root / "charges.txt", "a") as charges:
        charges.write(f"{name} {request['idempotency_key']}\n")
def made(**fields):
    shutil.copy(root / "cube.glb", "generated.glb")
    say("result", success=True, **fields)
"#;

pub fn buyer(program: &str, options: &[&str]) -> TestWorkspace {
    let mut lines = vec!["protocol: 2"];
    lines.extend(options);
    python(1, &format!("{BUYER}\n{program}"), &lines)
}

/// Returns the charges: under which name, and with which key.
pub fn charges(workspace: &TestWorkspace) -> Vec<(String, String)> {
    let text = fs::read_to_string(workspace.path("charges.txt")).unwrap_or_default();
    let pairs = text.lines().filter_map(|line| line.split_once(' '));
    pairs
        .map(|(name, key)| (name.to_owned(), key.to_owned()))
        .collect()
}

/// Returns what the journals say, in their order.
fn journal(workspace: &TestWorkspace) -> Vec<String> {
    let folder = workspace.path("runs/rk/state/journal");
    let files = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut words = Vec::new();
    for file in files {
        let text = fs::read_to_string(file.path()).unwrap_or_default();
        let lines = text
            .lines()
            .filter_map(|line| serde_json::from_str::<Value>(line).ok());
        words.extend(lines.map(|line| line["event"].as_str().unwrap_or_default().to_owned()));
    }
    words
}

fn status(workspace: &TestWorkspace) -> String {
    workspace.row(workspace.id(0))["status"].to_string()
}

pub fn reserved_usd(workspace: &TestWorkspace) -> f64 {
    let status = ["run", "status", "--run-id", "rk", "--json"];
    let output = workspace.archi3d(&status).run();
    output.json()["money"]["reserved_usd"]
        .as_f64()
        .unwrap_or(-1.0)
}

#[test]
fn a_program_buys_once_it_was_told_that_its_intent_is_safe() {
    let workspace = buyer(
        r#"
say("intent", correlation="c-1"); heard("intent")
charge("c-1")
say("submitted", request_id="r-1", cost_usd=0.4); heard("submitted")
made()
"#,
        &["unit_price_usd: 0.3"],
    );
    let _ = workspace.worker(&[]).run().expect_code(0);
    let words = journal(&workspace);
    let place = |word: &str| words.iter().position(|event| event == word);
    assert!(place("claimed") < place("intent") && place("intent") < place("submitted"));
    assert_eq!(charges(&workspace).len(), 1);
    // What it said of the purchase is what it cost.
    assert_eq!(&workspace.row(workspace.id(0))["estimated_cost_usd"], "0.4");
}

const CUT_OFF: &str = r#"
if request["open_intent"]:
    (root / "told").write_text(request["open_intent"]["correlation"])
    say("submitted", request_id="found"); heard("submitted")
    made()
    sys.exit()
say("intent", correlation="c-" + str(request["attempt"])); heard("intent")
charge("c")
(root / "charged").touch()
while not (root / "go").exists(): time.sleep(0.01)
made()
"#;

/// Kills a worker, and waits until everything that it guarded is gone.
pub fn kill_with_all(worker: Running) {
    let guarded = children(worker.pid());
    let _ = worker.kill();
    wait_until("the worker's end", || {
        guarded
            .iter()
            .all(|pid| !Path::new(&format!("/proc/{pid}")).exists())
    });
}

/// Kills a worker whose program has bought something and not told its id.
fn cut_off(options: &[&str]) -> TestWorkspace {
    let workspace = buyer(CUT_OFF, options);
    let worker = workspace.worker(&[]).spawn();
    workspace.wait_for_file("charged");
    kill_with_all(worker);
    workspace
}

/// Kills a worker whose program was still preparing, and runs the job again with money for one.
#[track_caller]
fn cut_off_before_anything_was_said(protocol: &str, code: i32) {
    let program = r#"
if request["attempt"] == 1:
    (root / "begun").touch()
    time.sleep(600)
say("intent", correlation="c"); heard("intent")
charge("c")
say("submitted", request_id="r-1")
made()
"#;
    let options = [protocol, "unit_price_usd: 0.4"];
    let workspace = python(1, &format!("{BUYER}\n{program}"), &options);
    let caps = ["--budget-usd", "0.50"];
    let worker = workspace.worker(&caps).spawn();
    workspace.wait_for_file("begun");
    kill_with_all(worker);
    let again = ["--only-status", "enqueued,running"];
    let worker = workspace.worker(&[&caps[..], &again].concat());
    let _ = worker.run().expect_code(code);
}

#[test]
fn a_program_that_announces_what_it_buys_and_died_before_has_cost_nothing() {
    cut_off_before_anything_was_said("protocol: 2", 0);
    // One that need not announce it may have bought: there is no money for both.
    cut_off_before_anything_was_said("protocol: 1", 4);
}

#[test]
fn what_was_about_to_be_bought_is_never_bought_again_without_a_persons_word() {
    for options in [&["on_interrupt: rerun"][..], &[]] {
        let workspace = cut_off(options);
        let resume = ["--only-status", "enqueued,running"];
        // Whether the dead worker or the next one asks: nobody buys.
        let _ = workspace.worker(&resume).run();
        assert_eq!(charges(&workspace).len(), 1);
        let row = workspace.row(workspace.id(0));
        assert_eq!(&row["status"], "failed");
        assert!(
            row["error_msg"].contains("Look for c-1 at the provider"),
            "{row:?}"
        );
        // Asking again changes nothing; a person's word does.
        let _ = workspace.worker(&["--only-status", "failed"]).run();
        assert_eq!(charges(&workspace).len(), 1);
        workspace.write("go", b"");
        let again = ["--only-status", "failed", "--resubmit-unknown"];
        let _ = workspace.worker(&again).run().expect_code(0);
        assert_eq!(charges(&workspace).len(), 2);
        assert_eq!(status(&workspace), "completed");
    }
}

#[test]
fn a_program_that_can_look_at_its_provider_finds_what_was_bought() {
    let workspace = cut_off(&["reconciles: true"]);
    let resume = ["--only-status", "enqueued,running"];
    let _ = workspace.worker(&resume).run().expect_code(0);
    assert_eq!(charges(&workspace).len(), 1);
    assert_eq!(workspace.bytes("told"), b"c-1");
    assert_eq!(status(&workspace), "completed");
}

#[test]
fn a_stop_between_intent_and_id_is_a_question_for_a_person() {
    let workspace = buyer(CUT_OFF, &[]);
    let worker = workspace.worker(&[]).spawn();
    workspace.wait_for_file("charged");
    worker.signal("INT");
    worker.signal("TERM");
    let _ = worker.wait();
    assert_eq!(status(&workspace), "failed");
    let _ = workspace.worker(&[]).run();
    assert_eq!(charges(&workspace).len(), 1);
}

#[test]
fn a_void_purchase_is_bought_anew_under_another_key_and_costs_nothing() {
    let workspace = buyer(
        r#"
assert request["resume_request_id"] is None
name = "r-" + str(request["attempt"])
say("intent"); heard("intent")
charge(name)
say("submitted", request_id=name, cost_usd=0.4); heard("submitted")
if request["attempt"] < 3:
    say("error", **{"class": "transient", "message": "ended 503", "request": "void"})
else:
    made()
"#,
        &["unit_price_usd: 0.4", "retries: 2"],
    );
    // A limit of one price: what is void is not reserved any more.
    let _ = workspace
        .worker(&["--budget-usd", "0.4"])
        .run()
        .expect_code(0);
    let keys: std::collections::BTreeSet<String> = charges(&workspace)
        .into_iter()
        .map(|(_, key)| key)
        .collect();
    assert_eq!(keys.len(), 3);
    assert!(reserved_usd(&workspace).abs() < 1e-9);
    assert_eq!(workspace.log().summary()["spent_usd"], 0.4);
    let report = ["cost", "report", "--json"];
    let report = workspace.archi3d(&report).run().expect_code(0).json();
    assert_eq!(report["total"]["billed_usd"], 0.4, "{report}");
}

#[test]
fn a_purchase_that_turns_out_void_when_it_is_asked_for_costs_nothing() {
    let workspace = buyer(
        r#"
if request["resume_request_id"]:
    say("error", **{"class": "transient", "message": "404", "request": "void"})
else:
    say("submitted", request_id="r-" + str(request["attempt"])); heard("submitted")
    if request["attempt"] == 1:
        say("error", **{"class": "transient", "message": "503"})
    else:
        made()
"#,
        &["unit_price_usd: 0.4", "retries: 2"],
    );
    let _ = workspace
        .worker(&["--budget-usd", "0.4"])
        .run()
        .expect_code(0);
    assert!(reserved_usd(&workspace).abs() < 1e-9);
    assert_eq!(workspace.log().summary()["spent_usd"], 0.4);
}

#[test]
fn what_is_void_and_may_have_been_billed_stays_reserved() {
    let workspace = buyer(
        r#"
say("submitted", request_id="r-1"); heard("submitted")
say("error", **{"class": "bad_input", "message": "422", "request": "void", "billed": "maybe"})
"#,
        &["unit_price_usd: 0.4"],
    );
    let _ = workspace.worker(&[]).run().expect_code(1);
    assert!((reserved_usd(&workspace) - 0.4).abs() < 1e-9);
    let billed = buyer(
        r#"
say("submitted", request_id="r-1"); heard("submitted")
say("error", **{"class": "bad_input", "message": "422", "request": "void", "billed": "yes",
                "cost_usd": 0.25})
"#,
        &["unit_price_usd: 0.4"],
    );
    let _ = billed.worker(&[]).run().expect_code(1);
    assert!(reserved_usd(&billed).abs() < 1e-9);
    assert_eq!(billed.log().summary()["spent_usd"], 0.25);
}

#[test]
fn several_purchases_of_one_attempt_add_up_and_one_said_twice_does_not() {
    for (second, spent) in [("r-2", 0.8), ("r-1", 0.4)] {
        let program = r#"
for name in ("r-1", "SECOND"):
    say("submitted", request_id=name, cost_usd=0.4); heard("submitted")
made(RESULT)
"#;
        for result in ["", "estimated_cost_usd=0.4"] {
            let program = program.replace("SECOND", second).replace("RESULT", result);
            let workspace = buyer(&program, &["unit_price_usd: 0.4"]);
            let _ = workspace.worker(&[]).run().expect_code(0);
            let summary = workspace.log();
            assert_eq!(summary.summary()["spent_usd"], spent, "{second} {result}");
        }
    }
}

#[test]
fn every_purchase_of_a_job_counts_whatever_its_result_says() {
    let two = r#"
if request["resume_request_id"]:
    made(RESULT)
else:
    for name in ("r-1", "r-2"):
        say("submitted", request_id=name, cost_usd=1.0); heard("submitted")
    say("error", **{"class": "transient", "message": "503"})
"#;
    let dearer = r#"
say("submitted", request_id="r-1", cost_usd=3.0); heard("submitted")
made(unit_price_usd=1.0)
"#;
    let nameless = r#"
say("submitted", cost_usd=3.0)
made()
"#;
    let unclear = r#"made(estimated_cost_usd="0.02", unit_price_usd=0.01)"#;
    for (program, spent) in [
        (two.replace("RESULT", "").as_str(), 2.0),
        (&two.replace("RESULT", "estimated_cost_usd=1.0"), 2.0),
        (dearer, 3.0),
        (nameless, 3.0),
        (unclear, 1.0),
    ] {
        let workspace = buyer(program, &["unit_price_usd: 1.0", "retries: 1"]);
        let _ = workspace.worker(&[]).run().expect_code(0);
        let spent_usd = workspace.log().summary()["spent_usd"].clone();
        assert_eq!(spent_usd, spent, "{program}");
        assert!(reserved_usd(&workspace).abs() < 1e-9, "{program}");
    }
}

#[test]
fn a_provider_that_asks_for_a_pause_costs_no_retry_however_it_says_so() {
    for wait in ["0", "\"1\""] {
        let program = format!(
            r#"
if request["attempt"] == 1:
    say("error", **{{"class": "transient", "message": "429", "retry_after_s": {wait}}})
else:
    made()
"#
        );
        let workspace = buyer(&program, &["unit_price_usd: 0", "retries: 0"]);
        let _ = workspace.worker(&[]).run().expect_code(0);
        assert_eq!(workspace.log().events("provider_closed").len(), 1, "{wait}");
        assert_eq!(workspace.log().summary()["retried"], 0, "{wait}");
    }
}

#[test]
fn a_cost_that_can_be_none_is_told_and_counts_as_the_price() {
    for cost in [
        "\"0.01\"",
        "-3",
        "float(\"nan\")",
        "1e308",
        "float(\"inf\")",
        "[1]",
    ] {
        let program = format!("made(estimated_cost_usd={cost})");
        let workspace = buyer(&program, &["unit_price_usd: 0.4"]);
        let _ = workspace
            .worker(&[])
            .run()
            .expect_code(0)
            .expect_stderr("`estimated_cost_usd` of `result` is");
        assert_eq!(workspace.log().summary()["spent_usd"], 0.4, "{cost}");
    }
}

#[test]
fn an_answer_that_cannot_be_read_completes_nothing_and_its_files_are_kept() {
    for odd in [
        r#"raw_metadata=json.loads("[" * 900 + "]" * 900)"#,
        r#"raw_metadata="x" * (17 << 20)"#,
    ] {
        for success in ["False", "True"] {
            let program = format!(
                "shutil.copy(root / 'cube.glb', 'generated.glb')\nsay('result', success={success}, {odd})"
            );
            let workspace = buyer(&program, &[]);
            let _ = workspace.worker(&[]).run().expect_code(1);
            assert_eq!(status(&workspace), "failed", "{program}");
            let late = fs::read_dir(workspace.path("runs/rk/outputs/.late"));
            assert_eq!(late.expect("kept").count(), 1, "{program}");
        }
    }
}

#[test]
fn words_that_nobody_knows_are_told_once() {
    let script = "read -r request\necho '{\"event\":\"submited\",\"request_id\":\"r\"}'\n\
                  cp $ARCHI3D_WORKSPACE/cube.glb generated.glb";
    let workspace = shell(3, script, &[]);
    let output = workspace
        .worker(&[])
        .run()
        .expect_code(0)
        .expect_stderr("no event is called `submited` (did you mean `submitted`?)");
    assert_eq!(
        output.stderr.matches("submited").count(),
        1,
        "{}",
        output.stderr
    );
}

#[test]
fn whoever_may_try_again_is_told_first_that_the_failure_was_billed() {
    let fails = |how: &str| {
        format!(
            "say('intent'); heard('intent')\ncharge('c')\n\
             say('submitted', request_id='r-1'); heard('submitted')\n\
             say('error', message='422', request='void', {how}, **{{'class': 'bad_input'}})\n"
        )
    };
    let told = "1 job was billed without a result, or may have been, and would be bought again";
    let workspace = buyer(
        &fails("billed='yes', cost_usd=0.25"),
        &["unit_price_usd: 0.4"],
    );
    let said = workspace.worker(&[]).run().expect_code(1);
    let line = said.stderr.lines().find(|line| line.contains(told));
    let line = line.unwrap_or_else(|| panic!("{said}"));
    let again = line.find("to try failed jobs again").expect("an offer");
    assert!(line.find(told) < Some(again), "{line}");
    let workspace = buyer(&fails("billed='no'"), &["unit_price_usd: 0.4"]);
    let said = workspace.worker(&[]).run().expect_code(1);
    assert!(!said.stderr.contains("bought again"), "{said}");
    assert!(said.stderr.contains("to try failed jobs again"), "{said}");
}

#[test]
fn a_purchase_that_was_not_announced_is_told() {
    let unannounced = "charge('c')\nsay('submitted', request_id='r-1')\nmade()\n";
    let workspace = buyer(unannounced, &["unit_price_usd: 0.4"]);
    let check = ["adapters", "check", "tool", "--yes"];
    let told = "`submitted` without `intent`";
    let _ = workspace
        .archi3d(&check)
        .run()
        .expect_code(1)
        .expect_stdout(told);
    let announced = format!("say('intent'); heard('intent')\n{unannounced}");
    let workspace = buyer(&announced, &["unit_price_usd: 0.4"]);
    let said = workspace.archi3d(&check).run().expect_code(0);
    assert!(!said.to_string().contains(told), "{said}");
}

#[test]
fn a_single_picture_adapter_gets_the_first_picture_only() {
    let script = "printf %s \"$ARCHI3D_N_IMAGES\" > $ARCHI3D_WORKSPACE/n.txt\n\
                  cp $ARCHI3D_WORKSPACE/cube.glb generated.glb";
    for (mode, count) in [("image_mode: single", "1"), ("image_mode: multi", "2")] {
        let workspace = shell(1, script, &[mode]);
        assert!(workspace.jobs()[0].images.len() > 1);
        let _ = workspace.worker(&[]).run().expect_code(0);
        assert_eq!(workspace.bytes("n.txt"), count.as_bytes());
    }
}

#[test]
fn what_is_void_and_may_have_been_billed_is_not_taken_over_by_the_next_purchase() {
    let program = r#"
say("submitted", request_id="r-" + str(request["attempt"])); heard("submitted")
if request["attempt"] == 1:
    say("error", **{"class": "transient", "message": "500", "request": "void", "billed": "maybe"})
else:
    made()
"#;
    for reconciles in ["reconciles: true", "reconciles: false"] {
        let options = ["unit_price_usd: 0.4", "retries: 2", reconciles];
        let workspace = buyer(program, &options);
        let _ = workspace.worker(&["--budget-usd", "0.7"]).run();
        assert_eq!(workspace.registry().count("completed"), 0, "{reconciles}");
        let _ = workspace
            .worker(&["--budget-usd", "0.8"])
            .run()
            .expect_code(0);
        assert_eq!(workspace.registry().count("completed"), 1, "{reconciles}");
        let _ = workspace
            .worker(&["--redo", "--budget-usd", "0.8"])
            .run()
            .expect_stderr("$0.80");
    }
}

#[test]
fn what_a_dead_worker_bought_beside_the_purchase_that_is_asked_about_counts_too() {
    let program = r#"
if request["resume_request_id"]:
    made(estimated_cost_usd=0.25); sys.exit(0)
for name in ("r-1", "r-2"):
    say("submitted", request_id=name); heard("submitted")
os.kill(os.getppid(), 9); time.sleep(60)
"#;
    let workspace = buyer(program, &["unit_price_usd: 0.4"]);
    let _ = workspace.worker(&[]).run();
    let _ = workspace
        .worker(&["--only-status", "enqueued,running"])
        .run()
        .expect_code(0);
    assert_eq!(workspace.log().summary()["spent_usd"], 0.8);
    assert_eq!(&workspace.row(workspace.id(0))["estimated_cost_usd"], "0.8");
}

#[test]
fn what_is_reserved_never_falls_while_a_program_may_buy_more() {
    let workspace = buyer(
        r#"
say("intent", correlation="c-1"); heard("intent"); charge("c-1")
say("submitted", request_id="q-1", cost_usd=0.4); heard("submitted")
(root / "bought-one").touch()
while not (root / "go").exists(): time.sleep(0.01)
say("intent", correlation="c-2"); heard("intent"); charge("c-2")
say("submitted", request_id="q-2", cost_usd=0.4); heard("submitted"); made()"#,
        &["unit_price_usd: 0.8"],
    );
    let worker = workspace.worker(&["--yes"]).spawn();
    workspace.wait_for_file("bought-one");
    assert!((reserved_usd(&workspace) - 0.8).abs() < 1e-9);
    workspace.write("go", b"");
    let said = worker.wait().expect_code(0);
    assert_eq!(charges(&workspace).len(), 2, "{said}");
    let row = workspace.row(workspace.id(0));
    assert_eq!(&row["estimated_cost_usd"], "0.8");
}

#[test]
fn a_paid_program_that_hangs_is_not_asked_to_buy_again() {
    // Version 1 cannot say what it bought before it hung.
    let program =
        format!("{BUYER}\ncharge('c-1')\nprint(' ', file=sys.stderr, flush=True)\ntime.sleep(600)");
    for limit in ["stall_s: 8", "timeout_s: 8"] {
        let workspace = python(1, &program, &["unit_price_usd: 0.4", "retries: 2", limit]);
        let said = workspace.worker(&["--yes"]).run().expect_code(1);
        assert_eq!(charges(&workspace).len(), 1, "{limit}: {said}");
        let row = workspace.row(workspace.id(0));
        assert!(row["error_msg"].contains("may have been billed"), "{row:?}");
        let failed = ["--yes", "--only-status", "failed"];
        let said = workspace.worker(&failed).run();
        assert_eq!(charges(&workspace).len(), 1, "{limit}: {said}");
        assert!((reserved_usd(&workspace) - 0.4).abs() < 1e-9, "{limit}");
    }
}

#[test]
fn a_model_may_be_named_by_a_path_with_detours() {
    let program = r#"
os.makedirs("sub"); shutil.copy(root / "cube.glb", "mesh.glb")
say("result", success=True, generated_glb="sub/.././mesh.glb")"#;
    let workspace = buyer(program, &[]);
    let _ = workspace.worker(&[]).run().expect_code(0);
    let model = format!("outputs/{}/generated.glb", workspace.id(0));
    assert!(workspace.run_path(&model).is_file());
}
