//! Results that another tool made beside us, markers that a power loss spoilt,
//! endings that could not be published, and models that went missing.

use std::fs::{self, File};

use crate::support::mocks::set_algo;
use crate::support::{TestWorkspace, wait_until};

const MOCK: &str = "adapters: {mock: {kind: mock, count_file: count.txt, wait_file: go}}\n";

fn workspace() -> TestWorkspace {
    TestWorkspace::with_products(1)
        .algo("mock")
        .adapters(MOCK)
        .build()
}

fn executions(workspace: &TestWorkspace) -> usize {
    let counted = fs::read_to_string(workspace.path("count.txt")).unwrap_or_default();
    counted.lines().count()
}

fn marker(workspace: &TestWorkspace, ending: &str) -> String {
    format!("runs/rk/state/{}.{ending}", workspace.id(0))
}

/// Runs the one job to its end with the table's lock held, and kills the worker
/// before the row can say so: everything is in journal, marker and outputs.
fn finished_but_not_in_the_table() -> TestWorkspace {
    let workspace = workspace();
    let running = workspace.worker(&[]).spawn();
    wait_until("the adapter works", || executions(&workspace) == 1);
    let lock = File::open(workspace.path("tables/generations.lock")).expect("there");
    lock.lock().expect("free for a moment");
    workspace.write("go", b"");
    wait_until("the job has ended", || {
        workspace.path(&marker(&workspace, "completed")).exists()
    });
    let _ = running.kill();
    drop(lock);
    workspace
}

#[test]
fn a_result_that_another_tool_published_meanwhile_stands() {
    let workspace = workspace();
    let running = workspace.worker(&[]).spawn();
    wait_until("the adapter works", || executions(&workspace) == 1);
    let model = format!("runs/rk/outputs/{}/generated.glb", workspace.id(0));
    workspace.write(&model, b"their model");
    let theirs = b"timestamp: 2026-01-01T00:00:00+00:00\npid: 7\n";
    workspace.write(&marker(&workspace, "completed"), theirs);
    workspace.write("go", b"");
    let _ = running.wait().expect_code(0);
    assert_eq!(workspace.bytes(&model), b"their model");
    assert_eq!(workspace.bytes(&marker(&workspace, "completed")), theirs);
    assert!(!workspace.path(&marker(&workspace, "inprogress")).exists());
    let log = workspace.log();
    let fenced = log.events("job_fenced");
    let kept = fenced[0]["kept_at"].as_str().expect("ours is kept");
    assert!(workspace.path(&format!("{kept}/generated.glb")).exists());
    for selection in ["enqueued", "enqueued,running"] {
        let again = workspace.worker(&["--only-status", selection]);
        let _ = again.run().expect_code(0);
    }
    assert_eq!(
        executions(&workspace),
        1,
        "nothing runs again beside a result"
    );
}

#[test]
fn a_marker_that_a_power_loss_spoilt_is_made_again_from_the_journal() {
    for spoilt in [
        &b""[..],
        b"timestamp: 2026-01-01T00:00:00.000000+00:00\npid: 1\nhost: x\narchi3d: {\"v\":1,",
    ] {
        let workspace = finished_but_not_in_the_table();
        workspace.write(&marker(&workspace, "completed"), spoilt);
        let resume = workspace.worker(&["--only-status", "enqueued,running"]);
        let _ = resume
            .run()
            .expect_code(0)
            .expect_stderr("made again from the journal");
        let row = workspace.row(workspace.id(0));
        assert_eq!(&row["status"], "completed");
        for column in [
            "generation_end",
            "gen_object_path",
            "price_source",
            "worker_host",
        ] {
            assert!(!row[column].is_empty(), "{column}");
        }
        assert_eq!(executions(&workspace), 1, "a finished job never runs again");
    }
}

#[test]
fn an_ending_that_could_not_be_published_is_brought_in_by_the_next_start() {
    let workspace = workspace();
    let running = workspace.worker(&[]).spawn();
    wait_until("the adapter works", || executions(&workspace) == 1);
    let path = workspace.path(&marker(&workspace, "lock"));
    let lock = File::open(&path).expect("there");
    lock.lock().expect("free");
    workspace.write("go", b"");
    let journal = || {
        let folder = workspace.path("runs/rk/state/journal");
        let names = fs::read_dir(folder).expect("there");
        let texts = names.map(|name| fs::read_to_string(name.expect("there").path()));
        texts.map(|text| text.expect("text")).collect::<String>()
    };
    wait_until("the ending is noted", || journal().contains("\"finished\""));
    running.signal("INT");
    // Two signals at once are one; the second goes when the first was heard.
    wait_until("the first signal is answered", || {
        running.stderr_so_far().contains("stopping")
    });
    running.signal("INT");
    let _ = running.wait();
    drop(lock);
    assert!(!journal().contains("\"closed\""), "it is not all done yet");
    let _ = workspace.worker(&[]).run().expect_code(0);
    assert_eq!(&workspace.row(workspace.id(0))["status"], "completed");
    assert_eq!(executions(&workspace), 1);
}

#[test]
fn a_result_that_went_missing_is_made_again_like_any_failed_job() {
    let workspace = workspace();
    workspace.write("go", b"");
    let _ = workspace.worker(&[]).run().expect_code(0);
    let model = format!("runs/rk/outputs/{}/generated.glb", workspace.id(0));
    fs::remove_file(workspace.path(&model)).expect("there");
    let _ = workspace.archi3d(&["consolidate", "--run-id", "rk"]).run();
    assert_eq!(&workspace.row(workspace.id(0))["status"], "failed");
    let status = workspace.archi3d(&["run", "status", "--run-id", "rk", "--json"]);
    assert_eq!(status.run().expect_code(0).json()["counts"]["failed"], 1);
    let _ = workspace.worker(&[]).run().expect_code(0);
    assert_eq!(executions(&workspace), 1, "nobody asked for it yet");
    let _ = workspace
        .worker(&["--only-status", "failed"])
        .run()
        .expect_code(0);
    assert_eq!(executions(&workspace), 2);
    assert_eq!(&workspace.row(workspace.id(0))["status"], "completed");
    assert!(workspace.path(&model).exists());
    let _ = workspace
        .worker(&["--only-status", "failed"])
        .run()
        .expect_code(0);
    assert_eq!(executions(&workspace), 2);
}

#[test]
fn a_performance_that_fails_leaves_nothing_of_its_rehearsal_in_the_row() {
    let workspace = TestWorkspace::with_products(1)
        .algo("mock")
        .adapters("adapters: {mock: {kind: mock, fail: boom}}\n")
        .build();
    let _ = workspace.worker(&["--dry-run"]).run().expect_code(0);
    let _ = workspace.worker(&[]).run().expect_code(1);
    let row = workspace.row(workspace.id(0));
    assert_eq!(&row["status"], "failed");
    for column in [
        "gen_object_path",
        "preview_1_path",
        "price_source",
        "unit_price_usd",
        "algo_version",
    ] {
        assert_eq!(&row[column], "", "{column}");
    }
}

#[test]
fn a_result_that_another_worker_has_made_again_meanwhile_is_not_made_once_more() {
    let workspace = TestWorkspace::with_products(2)
        .adapters(
            "adapters:
  trellis_single: {kind: mock, count_file: count.txt}
  slow: {kind: mock, count_file: count.txt, wait_file: go}
",
        )
        .build();
    set_algo(&workspace, 0, "slow");
    workspace.write("go", b"");
    let _ = workspace.worker(&[]).run().expect_code(0);
    fs::remove_file(workspace.path("go")).expect("it is there");
    let first = workspace.worker(&["--redo", "--max-parallel", "1"]).spawn();
    wait_until("the first redo works", || executions(&workspace) == 3);
    let second = ["--redo", "--algo", "trellis_single"];
    let _ = workspace.worker(&second).run().expect_code(0);
    assert_eq!(executions(&workspace), 4);
    workspace.write("go", b"");
    let _ = first
        .wait()
        .expect_code(0)
        .expect_stderr("1 completed, 0 failed, 1 skipped");
    assert_eq!(executions(&workspace), 4);
    assert_eq!(workspace.registry().count("completed"), 2);
}
