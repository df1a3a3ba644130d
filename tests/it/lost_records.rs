//! The records of a run are lost and what was paid for is not: nothing is bought again.

use std::fs;

use crate::made_results::{adapter, bought, expect_all_made_once, go, kill_worker};
use crate::support::{TestWorkspace, wait_until};

const RESUME: [&str; 3] = ["--yes", "--only-status", "enqueued,running"];

fn table(workspace: &TestWorkspace) -> Vec<u8> {
    fs::read(workspace.path("tables/generations.csv")).expect("there is a table")
}

/// Removes all records of the run and puts the table of an earlier day back.
fn lose_records(workspace: &TestWorkspace, older: Option<&[u8]>) {
    fs::remove_dir_all(workspace.run_path("state")).expect("removable");
    if let Some(older) = older {
        fs::write(workspace.path("tables/generations.csv"), older).expect("writable");
    }
}

fn adopt(workspace: &TestWorkspace) -> crate::support::binary::Output {
    let job = workspace.id(0);
    let adopt = ["run", "adopt", "--run-id", "rk", job];
    workspace.archi3d(&adopt).run()
}

const MAKES: &str = r#"
write("model.glb"); write("shot.png", b"\x89PNG\r\n\x1a\nshot"); write("notes.txt", b"more")
result(generated_glb="model.glb", previews=["shot.png"], seed=7)"#;

#[test]
fn a_published_result_of_which_no_record_is_left_is_brought_in_and_not_bought_again() {
    let workspace = adapter(2, MAKES, &["unit_price_usd: 0.4"]);
    let older = table(&workspace);
    let _ = workspace.worker(&["--yes"]).run().expect_code(0);
    let job = workspace.id(0).to_owned();
    let folder = workspace.run_path(&format!("outputs/{job}"));
    let described = fs::read(folder.join("metadata.json")).expect("described");
    lose_records(&workspace, Some(&older));
    let place = format!("runs/rk/outputs/{job}");
    let doctor = workspace.archi3d(&["doctor"]).run();
    let _ = doctor
        .expect_stdout(&job)
        .expect_stdout("run adopt --run-id rk");
    let explain = ["run", "explain", "--run-id", "rk", &job];
    let explained = workspace.archi3d(&explain).run().expect_code(0);
    let _ = explained
        .expect_stdout(&place)
        .expect_stdout("run adopt --run-id rk");
    let adopted = adopt(&workspace).expect_code(0);
    assert_eq!(workspace.registry().count("completed"), 1, "{adopted}");
    let again = workspace.worker(&["--yes"]).run().expect_code(0);
    expect_all_made_once(&workspace, &again);
    let row = workspace.row(&job);
    assert!(row["preview_1_path"].contains("preview"), "{row:?}");
    let after = fs::read(folder.join("metadata.json")).expect("described");
    assert_eq!(
        String::from_utf8_lossy(&after),
        String::from_utf8_lossy(&described)
    );
    assert!(folder.join("notes.txt").exists());
    let _ = workspace.archi3d(&["doctor"]).run().expect_code(0);
}

#[test]
fn a_published_result_that_is_not_whole_any_more_is_kept_and_asked_about() {
    let workspace = adapter(1, MAKES, &["unit_price_usd: 0.4", "on_interrupt: rerun"]);
    let older = table(&workspace);
    let _ = workspace.worker(&["--yes"]).run().expect_code(0);
    let job = workspace.id(0).to_owned();
    lose_records(&workspace, Some(&older));
    fs::remove_file(workspace.run_path(&format!("outputs/{job}/notes.txt"))).expect("there");
    let said = workspace.worker(&["--yes"]).run();
    assert_eq!(bought(&workspace).len(), 1, "{said}");
    let row = workspace.row(&job);
    assert_eq!(&row["status"], "failed", "{said}");
    assert!(row["error_msg"].contains("run adopt"), "{row:?}");
    let again = workspace
        .worker(&["--yes", "--only-status", "failed"])
        .run();
    assert_eq!(bought(&workspace).len(), 1, "{again}");
    let adopted = adopt(&workspace).expect_code(0);
    expect_all_made_once(&workspace, &adopted);
}

#[test]
fn what_a_rehearsal_published_does_not_keep_a_job_from_being_made() {
    let workspace = adapter(1, MAKES, &["unit_price_usd: 0.4"]);
    let older = table(&workspace);
    let _ = workspace.worker(&["--dry-run"]).run().expect_code(0);
    lose_records(&workspace, Some(&older));
    let said = workspace.worker(&["--yes"]).run().expect_code(0);
    expect_all_made_once(&workspace, &said);
}

#[test]
fn a_model_in_staging_of_which_no_record_is_left_is_kept_and_named_and_not_bought_again() {
    let body = r#"
write("model.glb"); wait("go")
result(generated_glb="model.glb", estimated_cost_usd=0.25)"#;
    for (old_table, policy) in [(true, "on_interrupt: rerun"), (false, "on_interrupt: ask")] {
        let workspace = adapter(1, body, &["unit_price_usd: 0.4", policy]);
        let older = table(&workspace);
        let running = workspace.worker(&["--yes"]).spawn();
        wait_until("the program", || workspace.outside().join("at-go").exists());
        kill_worker(&workspace, running);
        go(&workspace, "go");
        lose_records(&workspace, old_table.then_some(&older[..]));
        let job = workspace.id(0).to_owned();
        let doctor = workspace.archi3d(&["doctor"]).run();
        let _ = doctor.expect_stdout(&format!("run adopt --run-id rk {job}"));
        let said = workspace.worker(&RESUME).run();
        assert_eq!(bought(&workspace).len(), 1, "{said}");
        let row = workspace.row(&job);
        assert_eq!(&row["status"], "failed", "{said}");
        assert!(row["error_msg"].contains("outputs/.late/"), "{row:?}");
        // Also where the records are lost once more.
        lose_records(&workspace, Some(&older));
        let said = workspace.worker(&RESUME).run();
        assert_eq!(bought(&workspace).len(), 1, "{said}");
        let adopted = adopt(&workspace).expect_code(0);
        expect_all_made_once(&workspace, &adopted);
    }
}

const BUYS: &str = r#"
with open(os.path.join(beside, "asked.txt"), "a") as asked:
    asked.write(json.dumps([request.get("open_intent"), request["idempotency_key"]]) + "\n")
if not os.path.exists(os.path.join(beside, "go")): wait("go")
write("model.glb"); result(generated_glb="model.glb")"#;

/// Leaves a row that says `running`, or what the table was before, and not one record of it.
fn cut_off_without_records(options: &[&str], old_table: bool) -> TestWorkspace {
    let workspace = adapter(1, BUYS, options);
    let older = table(&workspace);
    let running = workspace.worker(&["--yes"]).spawn();
    wait_until("the program", || workspace.outside().join("at-go").exists());
    wait_until("the row", || workspace.registry().count("running") == 1);
    kill_worker(&workspace, running);
    go(&workspace, "go");
    lose_records(&workspace, old_table.then_some(&older[..]));
    workspace
}

#[test]
fn a_running_job_without_any_record_is_asked_about_before_it_is_paid_for_again() {
    for (policy, old_table) in [
        ("on_interrupt: rerun", false),
        ("on_interrupt: ask", false),
        // Only the ledger knows.
        ("on_interrupt: rerun", true),
        ("protocol: 2", true),
    ] {
        let workspace = cut_off_without_records(&["unit_price_usd: 0.4", policy], old_table);
        let said = workspace.worker(&RESUME).run();
        let row = workspace.row(workspace.id(0));
        assert_eq!(&row["status"], "failed", "{said}");
        assert!(row["error_msg"].contains("may have been billed"), "{row:?}");
        let failed = ["--yes", "--only-status", "failed"];
        let said = workspace.worker(&failed).run();
        assert_eq!(bought(&workspace).len(), 1, "{said}");
        let again = [&failed[..], &["--resubmit-unknown"]].concat();
        let _ = workspace.worker(&again).run().expect_code(0);
        assert_eq!(bought(&workspace).len(), 2);
    }
}

#[test]
fn a_running_job_without_any_record_that_costs_nothing_is_made_again() {
    let workspace = cut_off_without_records(&["unit_price_usd: 0"], false);
    let _ = workspace.worker(&RESUME).run().expect_code(0);
    assert_eq!(workspace.registry().count("completed"), 1);
}

#[test]
fn a_program_that_looks_for_purchases_is_told_of_one_whose_records_are_lost() {
    let options = ["unit_price_usd: 0.4", "protocol: 2", "reconciles: true"];
    for old_table in [false, true] {
        let workspace = cut_off_without_records(&options, old_table);
        let said = workspace.worker(&RESUME).run().expect_code(0);
        let asked = fs::read_to_string(workspace.outside().join("asked.txt")).expect("asked");
        let lines: Vec<serde_json::Value> = asked
            .lines()
            .map(|line| serde_json::from_str(line).expect("a list"))
            .collect();
        assert_eq!(lines.len(), 2, "{said}");
        assert_eq!(lines[0][0], serde_json::Value::Null);
        assert_eq!(lines[1][0]["correlation"], lines[0][1], "{said}");
    }
}
