//! What cannot be told is neither taken for death nor for a job that was never tried: rehearsals
//! leave real attempts alone, and a live worker keeps its jobs whatever becomes of its journal.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use crate::support::binary::{Output, Running};
use crate::support::mocks::{change_mocks, executions, one_job_each, statuses};
use crate::support::{Invocation, TestWorkspace, has_tool, skip, wait_until};

const ALL: &str = "enqueued,running,failed,completed";
const REST: &str = "enqueued,running";

/// Starts a worker and waits until its job has begun.
fn started(workspace: &TestWorkspace, options: &[&str]) -> Running {
    let before = executions(workspace).len();
    let worker = workspace.worker(options).spawn();
    wait_until("the job has begun and its row says so", || {
        executions(workspace).len() > before && statuses(workspace)[0] == "running"
    });
    worker
}

/// Asks twice to stop.
fn stopped(worker: Running) -> Output {
    worker.signal("INT");
    wait_until("the first signal is heard", || {
        worker.stderr_so_far().contains("no new job starts")
    });
    worker.signal("INT");
    worker.wait().expect_code(130)
}

fn journal(workspace: &TestWorkspace) -> PathBuf {
    let folder = fs::read_dir(workspace.run_path("state/journal")).expect("there is one");
    let paths = folder.map(|entry| entry.expect("readable").path());
    paths
        .filter(|path| path.extension().is_some_and(|ending| ending == "jsonl"))
        .max_by_key(|path| fs::metadata(path).and_then(|found| found.modified()).ok())
        .expect("a worker has been here")
}

/// Rehearses everything that can be selected, and demands that the row stays.
#[track_caller]
fn assert_rehearsal_changes_nothing(workspace: &TestWorkspace) {
    let before = workspace.row(workspace.id(0));
    for options in [
        &["--only-status", ALL][..],
        &["--only-status", ALL, "--redo"],
        &[],
    ] {
        let options = [&["--dry-run"], options].concat();
        let _ = workspace.worker(&options).run().expect_code(0);
        assert_eq!(workspace.row(workspace.id(0)), before, "{options:?}");
    }
}

#[test]
fn a_rehearsal_leaves_a_failure_alone_that_may_have_been_billed() {
    let lost = "fail: lost, fail_class: unknown, unit_price_usd: 0.3";
    let workspace = one_job_each(&[("one", lost)]);
    let _ = workspace.worker(&[]).run().expect_code(1);
    let _ = workspace
        .worker(&["--dry-run", "--only-status", "failed"])
        .run()
        .expect_code(0)
        .expect_stderr("tried for real before");
    assert_rehearsal_changes_nothing(&workspace);
    change_mocks(&workspace, &[("one", "")]);
    let _ = workspace
        .worker(&["--only-status", "enqueued,failed"])
        .run();
    assert_eq!(
        executions(&workspace).len(),
        1,
        "nobody said to buy it again"
    );
}

#[test]
fn a_rehearsal_leaves_a_job_alone_whose_worker_was_killed_while_it_bought() {
    let workspace = one_job_each(&[(
        "one",
        "wait_file: go, on_interrupt: ask, unit_price_usd: 0.3",
    )]);
    let _ = started(&workspace, &[]).kill();
    assert_rehearsal_changes_nothing(&workspace);
    workspace.write("go", b"");
    let _ = workspace
        .worker(&["--only-status", REST])
        .run()
        .expect_code(1);
    assert_eq!(executions(&workspace).len(), 1, "it asks first");
}

#[test]
fn a_rehearsal_leaves_a_job_alone_that_was_begun_and_given_back() {
    let workspace = one_job_each(&[("one", "wait_file: go")]);
    let worker = started(&workspace, &[]);
    let _ = stopped(worker);
    assert_eq!(statuses(&workspace), ["enqueued"]);
    assert_rehearsal_changes_nothing(&workspace);
    // Put out and back again it is still one that was begun.
    for undo in [&["--yes"][..], &["--undo"]] {
        let arguments = [&["run", "cancel", "--run-id", "rk"], undo].concat();
        let _ = workspace.archi3d(&arguments).run().expect_code(0);
        assert_rehearsal_changes_nothing(&workspace);
    }
}

#[test]
fn a_rehearsal_leaves_a_job_alone_that_only_a_journal_knows_to_have_been_tried() {
    let workspace = one_job_each(&[("one", "fail: lost, fail_class: unknown")]);
    let rows = workspace.bytes("tables/generations.csv");
    let _ = workspace.worker(&[]).run().expect_code(1);
    for ending in ["failed", "error.txt"] {
        let name = format!("state/{}.{ending}", workspace.id(0));
        fs::remove_file(workspace.run_path(&name)).expect("it was written");
    }
    workspace.write("tables/generations.csv", &rows);
    assert_rehearsal_changes_nothing(&workspace);
}

#[test]
fn a_possible_purchase_that_was_rehearsed_over_is_still_asked_about() {
    let workspace = one_job_each(&[("one", "fail: lost, fail_class: unknown")]);
    let rows = workspace.bytes("tables/generations.csv");
    let _ = workspace.worker(&[]).run().expect_code(1);
    // What earlier versions did: the rehearsal knows nothing of the attempt.
    let (journals, away) = (
        workspace.run_path("state/journal"),
        workspace.run_path("state/away"),
    );
    let known = journal(&workspace);
    fs::rename(&journals, &away).expect("movable");
    for ending in ["failed", "error.txt"] {
        let name = format!("state/{}.{ending}", workspace.id(0));
        fs::remove_file(workspace.run_path(&name)).expect("it was written");
    }
    workspace.write("tables/generations.csv", &rows);
    let _ = workspace.worker(&["--dry-run"]).run().expect_code(0);
    assert_eq!(statuses(&workspace), ["completed"]);
    let name = known.file_name().expect("a file");
    fs::rename(away.join(name), &known).expect("movable");

    change_mocks(&workspace, &[("one", "")]);
    let plan = ["run", "plan", "--run-id", "rk"];
    let _ = workspace
        .archi3d(&plan)
        .run()
        .expect_code(0)
        .expect_stdout("possibly billed");
    let _ = workspace
        .worker(&[])
        .run()
        .expect_stderr("--resubmit-unknown");
    assert_eq!(executions(&workspace).len(), 1);
    let _ = workspace
        .worker(&["--resubmit-unknown"])
        .run()
        .expect_code(0);
    assert_eq!(executions(&workspace).len(), 2);
    assert_eq!(statuses(&workspace), ["completed"]);
}

#[test]
fn a_rehearsal_that_was_interrupted_goes_on() {
    let workspace = TestWorkspace::with_products(1).build();
    let slow = ["--dry-run", "--simulate-ms", "600000"];
    let worker = workspace.worker(&slow).spawn();
    wait_until("a running row", || {
        workspace.registry().count("running") == 1
    });
    let _ = stopped(worker);
    let _ = workspace.worker(&["--dry-run"]).run().expect_code(0);
    assert_eq!(workspace.registry().count("completed"), 1);
}

type Harm = (&'static str, fn(&TestWorkspace));

/// What happens to the journal of a worker that lives.
const HARMS: &[Harm] = &[
    ("removed", |workspace| {
        fs::remove_file(journal(workspace)).expect("it is there");
    }),
    ("restored from a copy", |workspace| {
        let path = journal(workspace);
        let bytes = fs::read(&path).expect("readable");
        fs::remove_file(&path).expect("it is there");
        fs::write(&path, bytes).expect("writable");
    }),
    ("cut", |workspace| {
        let file = File::options().write(true).open(journal(workspace));
        file.and_then(|file| file.set_len(10)).expect("writable");
    }),
    ("moved", |workspace| {
        let path = journal(workspace);
        fs::rename(&path, path.with_extension("old")).expect("movable");
    }),
    ("all of them removed", |workspace| {
        fs::remove_dir_all(workspace.run_path("state/journal")).expect("they are there");
    }),
];

#[test]
fn a_worker_that_lives_keeps_its_job_whatever_becomes_of_its_journal() {
    for (harm, apply) in HARMS {
        let workspace = one_job_each(&[("one", "wait_file: go")]);
        let first = started(&workspace, &[]);
        apply(&workspace);
        for _ in 0..2 {
            let _ = workspace
                .worker(&["--only-status", REST])
                .run()
                .expect_code(0);
        }
        workspace.write("go", b"");
        let _ = first.wait().expect_code(0);
        assert_eq!(executions(&workspace).len(), 1, "{harm}");
        assert_eq!(statuses(&workspace), ["completed"], "{harm}");
        let kept = fs::read(journal(&workspace)).expect("it is there again");
        let kept = String::from_utf8(kept).expect("text");
        for word in ["claimed", "finished", "closed"] {
            assert!(kept.contains(word), "{harm}: no {word} in {kept}");
        }
    }
}

#[test]
fn a_worker_that_sees_the_journals_through_another_file_system_takes_no_live_job() {
    if !has_tool("unshare") || !has_tool("mount") {
        return;
    }
    let workspace = one_job_each(&[("one", "wait_file: go")]);
    let first = started(&workspace, &[]);
    let before = fs::read(journal(&workspace)).expect("readable");
    let path = journal(&workspace);
    let name = path.file_name().expect("a file");
    let copy = workspace.outside().join(name);
    fs::copy(&path, &copy).expect("copied");
    // Only its own view of the folder has another file system in the place of the journals.
    let script = "mount -t tmpfs none \"$1\" || exit 99; cp \"$2\" \"$1\"; shift 2; exec \"$@\"";
    let other = Invocation::program(Path::new("unshare"), ["-m", "sh", "-c", script, "sh"]);
    let output = other
        .arg(workspace.run_path("state/journal"))
        .arg(copy)
        .arg(env!("CARGO_BIN_EXE_archi3d"))
        .arg("run")
        .arg("worker")
        .arg("--run-id")
        .arg("rk")
        .arg("--only-status")
        .arg(REST)
        .arg("--workspace")
        .arg(workspace.root())
        .run();
    if output.stderr.contains("unshare") || output.code() == Some(99) {
        skip("a mount of one's own is not allowed here");
        return;
    }
    let _ = output.expect_code(0);
    let after = fs::read(journal(&workspace)).expect("readable");
    assert!(after.starts_with(&before));
    let added = String::from_utf8_lossy(&after[before.len()..]).into_owned();
    assert!(!added.contains("closed"), "{added}");
    workspace.write("go", b"");
    let _ = first.wait().expect_code(0);
    assert_eq!(executions(&workspace).len(), 1);
    assert_eq!(statuses(&workspace), ["completed"]);
}

#[test]
fn the_rhythm_of_the_holder_rules_not_that_of_whoever_looks() {
    let workspace = one_job_each(&[("one", "wait_file: go")]);
    let slow = ["--heartbeat-secs", "600", "--stale-secs", "3600"];
    let first = started(&workspace, &slow);
    // It has not beaten for a minute.
    let lease = workspace.run_path(&format!("state/{}.inprogress", workspace.id(0)));
    let text = fs::read_to_string(&lease).expect("readable");
    let beat = chrono::Utc::now() - chrono::TimeDelta::minutes(1);
    let beat = beat.format("%Y-%m-%dT%H:%M:%S%.6f+00:00").to_string();
    let at = "timestamp: ".len();
    let old = format!("{}{beat}{}", &text[..at], &text[at + beat.len()..]);
    fs::write(&lease, old).expect("writable");
    let hasty = [
        "--heartbeat-secs",
        "1",
        "--stale-secs",
        "3",
        "--only-status",
        REST,
    ];
    let _ = workspace.worker(&hasty).run().expect_code(0);
    workspace.write("go", b"");
    let _ = first.wait().expect_code(0);
    assert_eq!(executions(&workspace).len(), 1);
}

#[test]
fn a_folder_that_is_synced_is_worked_on_by_one_machine_at_a_time() {
    for folder in ["Nextcloud", "Mobile Documents", "Box", "plain"] {
        let workspace = TestWorkspace::with_products(1).build();
        let lease = format!(
            "timestamp: {}\npid: 1\nhost: elsewhere\n",
            chrono::Utc::now().to_rfc3339()
        );
        let name = format!("runs/rk/state/{}.inprogress", workspace.id(0));
        workspace.write(&name, lease.as_bytes());
        let synced = workspace.outside().join(folder);
        fs::create_dir(&synced).expect("writable");
        fs::rename(workspace.root(), synced.join("ws")).expect("movable");
        let output = Invocation::archi3d(["run", "worker", "--run-id", "rk", "--dry-run"])
            .arg("--workspace")
            .arg(synced.join("ws"))
            .run();
        let expected = if folder == "plain" { 0 } else { 2 };
        assert_eq!(output.code(), Some(expected), "{folder}: {output}");
    }
}

#[test]
fn nothing_is_bought_where_the_store_cannot_be_asked_whose_the_job_is() {
    let workspace = one_job_each(&[("one", "unit_price_usd: 0.3")]);
    workspace.write("tables/budget.lock", b"");
    let budget = File::open(workspace.path("tables/budget.lock")).expect("readable");
    budget.lock().expect("free");
    let worker = workspace.worker(&[]).spawn();
    wait_until("the job is taken and waits for the ledger", || {
        !workspace.jobs_with("inprogress").is_empty()
    });
    // Longer than a claim counts as fresh.
    std::thread::sleep(std::time::Duration::from_millis(600));
    let journals = workspace.run_path("state/journal");
    fs::rename(&journals, workspace.run_path("state/away")).expect("movable");
    fs::write(&journals, "in the way").expect("writable");
    drop(budget);
    let _ = worker.wait().expect_code(3);
    assert!(executions(&workspace).is_empty());
}

#[test]
fn a_failure_that_may_have_been_billed_is_not_bought_again_when_its_marker_is_gone() {
    let lost = "fail: lost, fail_class: unknown, unit_price_usd: 0.3";
    let workspace = one_job_each(&[("one", lost)]);
    let _ = workspace.worker(&[]).run().expect_code(1);
    let marker = format!("state/{}.failed", workspace.id(0));
    fs::remove_file(workspace.run_path(&marker)).expect("it was written");
    let _ = workspace.worker(&["--only-status", "failed"]).run();
    assert_eq!(
        executions(&workspace).len(),
        1,
        "nobody said to buy it again"
    );
    change_mocks(&workspace, &[("one", "unit_price_usd: 0.3")]);
    let again = ["--only-status", "failed", "--resubmit-unknown"];
    let _ = workspace.worker(&again).run().expect_code(0);
    assert_eq!(executions(&workspace).len(), 2);
}
