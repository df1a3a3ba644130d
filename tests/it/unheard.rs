//! What a program said and nobody heard, and what it did not say: a model is never thrown away over
//! it, nothing is bought twice over it, and nothing is called a doubt that is none.

use crate::adapter_protocol::{BUYER, buyer, charges, kill_with_all, reserved_usd};
use crate::made_results::{
    adapter, bought, expect_all_made_once, go, journal_text, kill_worker, late,
};
use crate::support::process::{children, python, signal};
use crate::support::{TestWorkspace, wait_until};

#[test]
fn the_model_of_a_program_that_says_nothing_is_noted_before_its_last_words_are_awaited() {
    // What it started talks on for as long as anybody listens.
    let body = r#"
write("generated.glb")
if os.fork() == 0:
    os.setsid()
    while True: print("still here", flush=True); time.sleep(0.02)
os._exit(0)"#;
    let workspace = adapter(1, body, &["unit_price_usd: 0.4"]);
    let running = workspace.worker(&["--yes"]).spawn();
    wait_until("the model is noted before its folder is cleared", || {
        journal_text(&workspace).contains(r#""settled":false"#)
    });
    kill_worker(&workspace, running);
    let again = workspace.worker(&["--yes"]).run().expect_code(0);
    expect_all_made_once(&workspace, &again);
}

/// Kills a worker whose program has made a whole model and said so, which it did not hear.
fn died_unhearing() -> TestWorkspace {
    let body = r#"
write("generated.glb"); wait("go"); result()
open(os.path.join(beside, "said"), "w").close(); time.sleep(600)"#;
    let workspace = adapter(1, body, &["unit_price_usd: 0.4", "on_interrupt: rerun"]);
    let running = workspace.worker(&["--yes"]).spawn();
    wait_until("the program", || workspace.outside().join("at-go").exists());
    let worker = children(running.pid())[0];
    signal(worker, "STOP");
    go(&workspace, "go");
    wait_until("its last word", || {
        workspace.outside().join("said").exists()
    });
    kill_worker(&workspace, running);
    workspace
}

const REST: [&str; 3] = ["--yes", "--only-status", "enqueued,running"];

#[test]
fn a_whole_model_whose_success_nobody_heard_is_kept_and_asked_about() {
    let workspace = died_unhearing();
    let said = workspace.worker(&REST).run().expect_code(1);
    let said = said.expect_stderr("run adopt --run-id rk");
    assert_eq!(bought(&workspace).len(), 1, "{said}");
    let row = workspace.row(workspace.id(0));
    assert!(row["error_msg"].contains("may have been billed"), "{row:?}");
    assert_eq!(late(&workspace).len(), 1);
    let adopt = ["run", "adopt", "--run-id", "rk", workspace.id(0)];
    let adopted = workspace.archi3d(&adopt).run().expect_code(0);
    expect_all_made_once(&workspace, &adopted);
    // No attempt will come that settles what was reserved.
    assert!(reserved_usd(&workspace).abs() < 1e-9);
}

#[test]
fn a_doubt_that_cannot_be_written_down_is_known_to_the_next_attempt_too() {
    // Whichever line of its journal cannot be written, and whether it comes to an ending or not.
    for before in 1..=5 {
        let workspace = died_unhearing();
        let faults = format!(
            "journal.appending={before}*off->1*return(EIO)->off;finish.before=return(kill)"
        );
        let _ = workspace.worker(&REST).env("FAILPOINTS", faults).run();
        let said = workspace.worker(&REST).run();
        assert_eq!(bought(&workspace).len(), 1, "{before}: {said}");
        let row = workspace.row(workspace.id(0));
        assert!(
            row["error_msg"].contains("may have been billed"),
            "{before}: {row:?}"
        );
    }
}

#[test]
fn an_answer_that_cannot_be_read_is_a_doubt_also_if_its_program_had_to_be_stopped() {
    // Version 2 keeps its stdin open, so this one waits until its time is up.
    let program = r#"
charge("c-1")
shutil.copy(root / "cube.glb", "generated.glb")
print('{"event":"result","success":true,"x":"' + "y" * 17_000_000 + '"}', flush=True)
sys.stdin.read()"#;
    let options = ["unit_price_usd: 0.4", "timeout_s: 8", "retries: 2"];
    let workspace = buyer(program, &options);
    let _ = workspace.worker(&["--yes"]).run().expect_code(1);
    let failed = ["--yes", "--only-status", "failed"];
    let _ = workspace.worker(&failed).run();
    assert_eq!(charges(&workspace).len(), 1);
    let row = workspace.row(workspace.id(0));
    assert!(row["error_msg"].contains("cannot be read"), "{row:?}");
    assert!(row["error_msg"].contains("outputs/.late/"), "{row:?}");
}

#[test]
fn a_failure_that_names_a_cost_that_is_none_costs_the_price() {
    for cost in [r#""0.40""#, "1e308", "-1"] {
        let program = format!(
            r#"charge("c-1"); print('{{"event":"error","class":"permanent","message":"nsfw","cost_usd":{cost}}}')"#
        );
        let workspace = python(1, &format!("{BUYER}\n{program}"), &["unit_price_usd: 0.4"]);
        let _ = workspace.worker(&["--yes"]).run().expect_code(1);
        let status = ["run", "status", "--run-id", "rk", "--json"];
        let money = workspace.archi3d(&status).run().json()["money"].clone();
        assert_eq!(money["spent_usd"], 0.4, "{cost}: {money}");
    }
}

#[test]
fn who_is_told_to_wait_is_tried_again_also_without_a_class() {
    let program = r#"
if not (root / "told").exists():
    (root / "told").touch()
    say("error", message="429", retry_after_s=0.2)
else:
    charge("c-1"); made()"#;
    let workspace = python(1, &format!("{BUYER}\n{program}"), &["unit_price_usd: 0.4"]);
    let _ = workspace.worker(&["--yes"]).run().expect_code(0);
    assert_eq!(charges(&workspace).len(), 1);
}

#[test]
fn a_result_that_does_not_say_success_beside_a_paid_model_is_a_doubt() {
    let program = r#"
charge("c-1"); shutil.copy(root / "cube.glb", "generated.glb"); say("result", generated_glb="generated.glb")"#;
    let workspace = python(1, &format!("{BUYER}\n{program}"), &["unit_price_usd: 0.4"]);
    let _ = workspace.worker(&["--yes"]).run().expect_code(1);
    let _ = workspace
        .worker(&["--yes", "--only-status", "failed"])
        .run();
    assert_eq!(charges(&workspace).len(), 1);
    let row = workspace.row(workspace.id(0));
    assert!(row["error_msg"].contains("outputs/.late/"), "{row:?}");
}

#[test]
fn a_doubtful_model_that_cannot_be_set_aside_is_named_where_it_lies() {
    let body = r#"write("generated.glb"); say(event="result", generated_glb="generated.glb")"#;
    let workspace = adapter(1, body, &["unit_price_usd: 0.4"]);
    // No folder can be made there.
    workspace.write("runs/rk/outputs/.late", b"a file");
    let said = workspace.worker(&["--yes"]).run().expect_code(1);
    let said = said.expect_stderr("stays where it is");
    let row = workspace.row(workspace.id(0));
    assert!(row["error_msg"].contains("outputs/.staging/"), "{row:?}");
    let staged = std::fs::read_dir(workspace.run_path("outputs/.staging")).expect("there");
    let models = staged.flatten().map(|entry| entry.path());
    let models = models.filter(|folder| folder.join("generated.glb").exists());
    assert_eq!(models.count(), 1, "{said}");
}

#[test]
fn a_program_of_version_2_that_is_cut_off_before_its_intent_has_bought_nothing() {
    let options = ["unit_price_usd: 0.4", "on_interrupt: ask", "timeout_s: 0.3"];
    let workspace = buyer("sys.stdin.read()", &options);
    for only in ["enqueued", "failed"] {
        let said = workspace
            .worker(&["--yes", "--only-status", only])
            .run()
            .expect_code(1);
        assert!(!said.stderr.contains("billed"), "{said}");
        assert!(reserved_usd(&workspace).abs() < 1e-9, "{said}");
    }
    // Killed with its worker, it is run again without a question.
    let options = ["unit_price_usd: 0.4", "on_interrupt: ask"];
    let program = r#"
(root / "begun").touch()
while not (root / "go").exists(): time.sleep(0.005)
say("intent"); heard("intent"); charge("c-1"); made()"#;
    let workspace = buyer(program, &options);
    let running = workspace.worker(&["--yes"]).spawn();
    wait_until("the program", || workspace.path("begun").exists());
    kill_with_all(running);
    workspace.write("go", b"");
    let rest = ["--yes", "--only-status", "enqueued,running"];
    let said = workspace.worker(&rest).run().expect_code(0);
    assert!(!said.stderr.contains("may have been billed"), "{said}");
    assert_eq!(charges(&workspace).len(), 1);
}

#[test]
fn plan_and_explain_say_that_what_was_about_to_be_bought_is_asked_about() {
    let program = r#"
say("intent"); heard("intent"); charge("c-1")
(root / "begun").touch(); sys.stdin.read()"#;
    let workspace = buyer(program, &["unit_price_usd: 0.4", "on_interrupt: rerun"]);
    let running = workspace.worker(&["--yes"]).spawn();
    wait_until("the charge", || workspace.path("begun").exists());
    kill_worker(&workspace, running);
    let rest = [
        "run",
        "plan",
        "rk",
        "--only-status",
        "enqueued,running",
        "--json",
    ];
    let plan = workspace.archi3d(&rest).run().expect_code(0).json();
    assert!(plan.to_string().contains("ask_first"), "{plan}");
    let explain = ["run", "explain", "rk", workspace.id(0), "--json"];
    let explained = workspace.archi3d(&explain).run().json();
    assert!(explained.to_string().contains("ask_first"), "{explained}");
}
