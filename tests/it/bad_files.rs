//! Folders, links, pipes and damage where plain files should be: refused or worked around, never
//! waited for, never followed out of the workspace, and never at the cost of another job.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use sha2::{Digest as _, Sha256};

use crate::support::TestWorkspace;

const TABLE: &str = "tables/generations.csv";

fn mock(products: usize) -> TestWorkspace {
    TestWorkspace::with_products(products)
        .algo("mock")
        .adapters("adapters: {mock: {kind: mock, count_file: count.txt}}\n")
        .build()
}

fn fifo(workspace: &TestWorkspace, below: &str) {
    let made = Command::new("mkfifo").arg(workspace.path(below)).status();
    assert!(made.expect("mkfifo is everywhere").success());
}

fn executions(workspace: &TestWorkspace) -> usize {
    let counted = fs::read_to_string(workspace.path("count.txt")).unwrap_or_default();
    counted.lines().count()
}

#[test]
fn a_folder_where_a_file_should_be_is_named_and_nothing_changes() {
    for below in [TABLE, "runs/rk/manifest.csv", "tables/generations.lock"] {
        let workspace = mock(1);
        let _ = fs::remove_file(workspace.path(below));
        fs::create_dir_all(workspace.path(below)).expect("the name is free");
        let before = workspace.tree();
        let output = workspace.worker(&[]).run().expect_stderr(below);
        assert!(matches!(output.code(), Some(2 | 3)), "{output}");
        let _ = output.expect_stderr("hint: ");
        assert_eq!(executions(&workspace), 0);
        let table = before.get(TABLE);
        assert_eq!(table, workspace.tree().get(TABLE));
    }
}

#[test]
fn a_file_where_a_folder_should_be_is_named_and_nothing_changes() {
    for below in [
        "runs/rk/state",
        "runs/rk/outputs",
        "logs",
        "runs/rk/state/journal",
    ] {
        let workspace = mock(1);
        workspace.write(below, b"mine");
        let before = workspace.tree();
        let output = workspace.worker(&[]).run().expect_stderr(below);
        assert!(matches!(output.code(), Some(2 | 3)), "{output}");
        let _ = output.expect_stderr("hint: ");
        assert_eq!(executions(&workspace), 0);
        assert_eq!(workspace.bytes(below), b"mine");
        assert_eq!(before.get(TABLE), workspace.tree().get(TABLE));
    }
}

#[test]
fn a_log_that_cannot_be_written_harms_no_job() {
    let workspace = mock(2);
    fs::create_dir_all(workspace.path("logs/worker.log")).expect("the name is free");
    let _ = workspace
        .worker(&[])
        .run()
        .expect_code(0)
        .expect_stderr("worker.log");
    assert_eq!(workspace.registry().count("completed"), 2);
}

#[test]
fn a_link_out_of_the_workspace_is_refused_and_not_followed() {
    let refuse = |workspace: &TestWorkspace, below: &str| {
        let output = workspace.worker(&["--dry-run"]).run().expect_stderr(below);
        let _ = output.expect_code(2).expect_stderr("hint: ");
    };
    let workspace = mock(1);
    let outside = workspace.outside().join("table.csv");
    fs::rename(workspace.path(TABLE), &outside).expect("both exist");
    symlink(&outside, workspace.path(TABLE)).expect("the name is free");
    let before = fs::read(&outside).expect("just moved");
    refuse(&workspace, TABLE);
    assert_eq!(fs::read(&outside).expect("still there"), before);

    for below in [
        "runs/rk/state",
        "runs/rk/outputs",
        "logs",
        "tables",
        "runs/rk",
    ] {
        let workspace = mock(1);
        let outside = workspace.outside().join("elsewhere");
        if fs::rename(workspace.path(below), &outside).is_err() {
            fs::create_dir(&outside).expect("the name is free");
        }
        symlink(&outside, workspace.path(below)).expect("the name is free");
        let count = || fs::read_dir(&outside).expect("still there").count();
        let before = count();
        refuse(&workspace, below);
        assert_eq!(count(), before, "{below}");
    }
}

#[test]
fn pictures_that_cannot_be_used_fail_their_job_alone_and_at_once() {
    type Damage = fn(&TestWorkspace, &str);
    let cases: [(Damage, &str); 7] = [
        (|_, _| (), "not found"),
        (
            |ws, at| fs::create_dir(ws.path(at)).expect("free"),
            "not a file",
        ),
        (|ws, at| fifo(ws, at), "not a file"),
        (
            |ws, at| symlink("nowhere", ws.path(at)).expect("free"),
            "not found",
        ),
        (
            |ws, at| symlink("/etc/hostname", ws.path(at)).expect("free"),
            "outside the workspace",
        ),
        (
            |ws, at| symlink(ws.path(at), ws.path(at)).expect("free"),
            "cannot read",
        ),
        (|ws, at| ws.write(at, b""), "empty"),
    ];
    for (damage, message) in cases {
        let workspace = mock(2);
        let image = workspace.jobs()[0].images[1].clone();
        fs::remove_file(workspace.path(&image)).expect("it was made");
        damage(&workspace, &image);
        let _ = workspace.worker(&[]).run().expect_code(1);
        let row = workspace.row(workspace.id(0));
        assert_eq!(&row["status"], "failed");
        let error = &row["error_msg"];
        assert!(error.contains(message) && error.contains(&image), "{error}");
        assert_eq!(&workspace.row(workspace.id(1))["status"], "completed");
        assert_eq!(executions(&workspace), 1);
    }
}

#[test]
fn a_picture_path_that_leaves_the_workspace_is_refused() {
    for stored in ["/etc/hostname", "../secret.jpg", "dataset/../../secret.jpg"] {
        let workspace = mock(1);
        fs::write(workspace.outside().join("secret.jpg"), b"x").expect("writable");
        let manifest = String::from_utf8(workspace.bytes("runs/rk/manifest.csv")).expect("text");
        let manifest = manifest.replace(&workspace.jobs()[0].images[0], stored);
        workspace.write("runs/rk/manifest.csv", manifest.as_bytes());
        let _ = workspace.worker(&[]).run().expect_code(1);
        let error = workspace.row(workspace.id(0))["error_msg"].to_owned();
        assert!(error.contains("outside the workspace"), "{error}");
        assert_eq!(executions(&workspace), 0);
    }
}

#[test]
fn a_marker_of_another_tool_is_believed_by_its_name() {
    for (text, ending, status) in [
        ("", "completed", "completed"),
        (
            "timestamp: 2025-01-01T00:00:00+00:00\npid: 7\n",
            "completed",
            "completed",
        ),
        ("", "failed", "failed"),
    ] {
        let workspace = mock(2);
        let marker = format!("runs/rk/state/{}.{ending}", workspace.id(0));
        workspace.write(&marker, text.as_bytes());
        let _ = workspace.worker(&[]).run().expect_code(0);
        assert_eq!(&workspace.row(workspace.id(0))["status"], status);
        assert_eq!(workspace.bytes(&marker), text.as_bytes());
        assert_eq!(executions(&workspace), 1);
    }
}

#[test]
fn a_damaged_marker_is_set_aside_and_never_taken_as_finished() {
    let other = mock(1);
    let _ = other.worker(&[]).run().expect_code(0);
    let sound = other.bytes(&format!("runs/rk/state/{}.completed", other.id(0)));
    let sound = String::from_utf8(sound).expect("text");
    let attempt = |value: &str| sound.replace("\"attempt\":1", &format!("\"attempt\":{value}"));
    let texts = [
        sound[..sound.len() / 2].to_owned(),
        attempt("2"),
        attempt("-1"),
        attempt("1000000000000000000"),
        attempt("\"1\""),
        "timestamp: now\narchi3d: {\ncheck: 0\n".to_owned(),
        "archi3d: []".to_owned(),
        format!("{sound}{}", "x".repeat(2 << 20)),
    ];
    for text in texts {
        let workspace = mock(1);
        let marker = format!("runs/rk/state/{}.completed", workspace.id(0));
        workspace.write(&marker, text.as_bytes());
        let _ = workspace
            .worker(&[])
            .run()
            .expect_code(0)
            .expect_stderr("damaged");
        assert_eq!(executions(&workspace), 1);
        assert_eq!(
            workspace.bytes(&format!("{marker}.corrupt-1")),
            text.as_bytes()
        );
        assert_eq!(workspace.registry().count("completed"), 1);
    }
    let workspace = TestWorkspace::with_products(2).algo("mock").build();
    let stolen = format!("runs/rk/state/{}.completed", workspace.id(1));
    workspace.write(&stolen, sound.as_bytes());
    let _ = workspace
        .worker(&[])
        .run()
        .expect_code(0)
        .expect_stderr("belongs to job");
    assert_eq!(workspace.log().events("job_completed").len(), 2);
}

#[test]
fn a_marker_with_an_attempt_beyond_counting_is_damaged() {
    let workspace = TestWorkspace::with_products(1)
        .algo("mock")
        .adapters("adapters: {mock: {kind: mock, fail: no}}\n")
        .build();
    let _ = workspace.worker(&[]).run().expect_code(1);
    let marker = format!("runs/rk/state/{}.failed", workspace.id(0));
    let text = String::from_utf8(workspace.bytes(&marker)).expect("text");
    let text = text.replace("\"attempt\":1", "\"attempt\":4294967295");
    let record = text.lines().find_map(|line| line.strip_prefix("archi3d: "));
    let digest = Sha256::digest(record.expect("our line"));
    let check = digest[..8].iter().map(|byte| format!("{byte:02x}"));
    let kept = text.lines().filter(|line| !line.starts_with("check: "));
    let mut lines: Vec<String> = kept.map(str::to_owned).collect();
    lines.push(format!("check: {}\n", check.collect::<String>()));
    workspace.write(&marker, lines.join("\n").as_bytes());
    workspace.write("config/adapters.yaml", b"adapters: {mock: {kind: mock}}\n");
    let _ = workspace
        .worker(&["--only-status", "failed"])
        .run()
        .expect_code(0)
        .expect_stderr("4294967295 times");
    assert_eq!(workspace.registry().count("completed"), 1);
}

#[test]
fn a_marker_that_is_no_file_is_set_aside_without_waiting() {
    type Damage = fn(&TestWorkspace, &str);
    let cases: [Damage; 3] = [
        |ws, at| fs::create_dir_all(ws.path(at)).expect("free"),
        |ws, at| symlink("/etc/hostname", ws.path(at)).expect("free"),
        |ws, at| fifo(ws, at),
    ];
    for damage in cases {
        for ending in ["completed", "inprogress", "failed"] {
            let workspace = mock(1);
            workspace.write("runs/rk/state/x", b"");
            let marker = format!("runs/rk/state/{}.{ending}", workspace.id(0));
            damage(&workspace, &marker);
            let _ = workspace.worker(&[]).run().expect_code(0);
            assert_eq!(workspace.registry().count("completed"), 1, "{ending}");
            let aside = workspace.path(&format!("{marker}.corrupt-1"));
            assert!(aside.symlink_metadata().is_ok(), "{ending}");
            assert_eq!(executions(&workspace), 1);
        }
    }
}

#[test]
fn of_several_markers_the_highest_attempt_rules() {
    let workspace = mock(1);
    let id = workspace.id(0).to_owned();
    for ending in ["completed", "failed"] {
        workspace.write(&format!("runs/rk/state/{id}.{ending}"), b"");
    }
    let _ = workspace.worker(&[]).run().expect_code(0);
    assert_eq!(&workspace.row(&id)["status"], "completed");

    let workspace = mock(1);
    let _ = workspace.worker(&[]).run().expect_code(0);
    let done = workspace.bytes(TABLE);
    let lease = format!("runs/rk/state/{id}.inprogress");
    let now = chrono::Utc::now().to_rfc3339();
    workspace.write(&lease, format!("timestamp: {now}\npid: 1\n").as_bytes());
    let _ = workspace
        .worker(&["--only-status", "enqueued,running"])
        .run()
        .expect_code(0);
    assert_eq!(workspace.bytes(TABLE), done);
    assert_eq!(executions(&workspace), 1);
}

#[test]
fn a_time_that_cannot_be_right_in_a_lease_counts_as_stale_or_is_watched() {
    for (time, resumed) in [
        ("2025-01-01T00:00:00", 1),
        ("yesterday", 1),
        ("9999-12-31T23:59:59+00:00", 0),
    ] {
        let workspace = TestWorkspace::with_products(1)
            .algo("mock")
            .status("running")
            .build();
        let lease = format!("runs/rk/state/{}.inprogress", workspace.id(0));
        workspace.write(&lease, format!("timestamp: {time}\npid: 1\n").as_bytes());
        let _ = workspace
            .worker(&["--only-status", "running"])
            .run()
            .expect_code(0);
        assert_eq!(
            workspace.log().events("job_started").len(),
            resumed,
            "{time}"
        );
    }
}

#[test]
fn a_finished_job_whose_model_is_gone_is_not_run_again() {
    let workspace = mock(1);
    let _ = workspace.worker(&[]).run().expect_code(0);
    fs::remove_dir_all(workspace.run_path("outputs")).expect("it was made");
    let table = workspace.bytes(TABLE);
    let _ = workspace.worker(&[]).run().expect_code(0);
    assert_eq!(workspace.bytes(TABLE), table);
    assert_eq!(executions(&workspace), 1);
}
