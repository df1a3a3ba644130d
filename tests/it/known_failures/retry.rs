//! W15 to W17 and W19: trying again. Only what was asked for runs again, nothing paid is paid
//! twice, and nothing of an old failure stays with a success.

use super::{edit_line, executions, mocks, quick, set_algo, statuses, text_of};
use crate::support::TestWorkspace;

/// Makes four jobs of which the last one failed, and lets it work from now on.
fn one_of_four_failed() -> TestWorkspace {
    let workspace = quick(4).build();
    let yaml = mocks(0, &[("boom", "no kiln")]);
    workspace.write("config/adapters.yaml", yaml.as_bytes());
    set_algo(&workspace, 3, "boom");
    let _ = workspace.worker(&[]).run().expect_code(1);
    assert_eq!(
        statuses(&workspace),
        ["completed", "completed", "completed", "failed"]
    );
    let repaired = yaml.replace(", fail: \"no kiln\"", "");
    workspace.write("config/adapters.yaml", repaired.as_bytes());
    workspace
}

#[test]
fn w15_redo_does_not_widen_a_selection_of_failed_jobs() {
    let workspace = one_of_four_failed();
    let before = text_of(&workspace, "tables/generations.csv");
    let _ = workspace
        .worker(&["--only-status", "failed", "--redo"])
        .run()
        .expect_code(0);
    assert_eq!(executions(&workspace)[4..], [workspace.id(3)]);
    assert_eq!(statuses(&workspace), ["completed"; 4]);
    let after = text_of(&workspace, "tables/generations.csv");
    for (old, new) in before.lines().zip(after.lines()) {
        assert!(old == new || old.contains(workspace.id(3)), "{new}");
    }
}

#[test]
fn w15_redo_alone_makes_completed_jobs_again_and_no_failed_one() {
    let workspace = one_of_four_failed();
    let _ = workspace.worker(&["--redo"]).run().expect_code(0);
    let again: Vec<_> = (0..3).map(|index| workspace.id(index)).collect();
    assert_eq!(executions(&workspace)[4..], again);
    assert_eq!(&workspace.row(workspace.id(3))["status"], "failed");
}

#[test]
fn w16_failed_jobs_are_tried_again_when_they_are_asked_for() {
    let workspace = one_of_four_failed();
    let _ = workspace.worker(&[]).run().expect_code(0);
    assert_eq!(executions(&workspace).len(), 4);
    let _ = workspace
        .worker(&["--only-status", "failed"])
        .run()
        .expect_code(0);
    assert_eq!(executions(&workspace)[4..], [workspace.id(3)]);
    assert_eq!(statuses(&workspace), ["completed"; 4]);
    assert_eq!(workspace.log().summary()["skipped"], 3);
}

#[test]
fn w16_a_failed_job_that_fails_again_stays_failed_with_the_new_error() {
    let workspace = one_of_four_failed();
    let yaml = mocks(0, &[("boom", "still no kiln")]);
    workspace.write("config/adapters.yaml", yaml.as_bytes());
    let _ = workspace
        .worker(&["--only-status", "failed"])
        .run()
        .expect_code(1);
    let row = workspace.row(workspace.id(3));
    assert_eq!(
        (&row["status"], &row["error_msg"]),
        ("failed", "still no kiln")
    );
    let error = format!("runs/rk/state/{}.error.txt", workspace.id(3));
    assert!(text_of(&workspace, &error).contains("still no kiln"));
}

#[test]
fn w17_finished_jobs_that_the_manifest_lost_can_be_made_again() {
    let workspace = one_of_four_failed();
    let lost = workspace.id(0).to_owned();
    edit_line(&workspace, "runs/rk/manifest.csv", &lost, |_| String::new());
    let _ = workspace
        .worker(&["--redo", "--only-status", "completed", "--jobs", &lost])
        .run()
        .expect_code(0);
    assert_eq!(executions(&workspace)[4..], [lost.as_str()]);
    assert_eq!(workspace.log().summary()["completed"], 1);
    assert_eq!(&workspace.row(&lost)["status"], "completed");
}

#[test]
fn w17_waiting_jobs_that_are_not_in_the_manifest_are_reported() {
    let workspace = quick(3).build();
    let lost = workspace.id(1).to_owned();
    edit_line(&workspace, "runs/rk/manifest.csv", &lost, |_| String::new());
    let _ = workspace
        .worker(&[])
        .run()
        .expect_code(0)
        .expect_stderr("not in the manifest");
    assert_eq!(statuses(&workspace), ["completed", "enqueued", "completed"]);
    let log = workspace.log();
    let told = log.events("warning");
    assert!(
        told.iter().any(|line| line["message"]
            .as_str()
            .is_some_and(|m| m.contains("manifest"))),
        "{told:?}"
    );
}

#[test]
fn w17_jobs_of_the_manifest_without_a_row_are_reported_and_not_run() {
    let workspace = quick(3).build();
    let lost = workspace.id(1).to_owned();
    edit_line(&workspace, "tables/generations.csv", &lost, |_| {
        String::new()
    });
    let _ = workspace
        .worker(&[])
        .run()
        .expect_code(0)
        .expect_stderr("no row in tables/generations.csv");
    assert_eq!(executions(&workspace), [workspace.id(0), workspace.id(2)]);
    assert_eq!(workspace.registry().rows.len(), 2);
}

#[test]
fn w19_a_success_leaves_nothing_of_the_old_failure() {
    let workspace = one_of_four_failed();
    let failed = workspace.id(3).to_owned();
    assert_eq!(
        workspace.state_files(&failed),
        ["error.txt", "failed", "lock"]
    );
    assert_eq!(&workspace.row(&failed)["error_msg"], "no kiln");
    let _ = workspace
        .worker(&["--only-status", "failed"])
        .run()
        .expect_code(0);
    assert_eq!(workspace.state_files(&failed), ["completed", "lock"]);
    let row = workspace.row(&failed);
    assert_eq!((&row["status"], &row["error_msg"]), ("completed", ""));
}

#[test]
fn w19_a_redo_that_fails_keeps_the_result_and_says_why_it_failed() {
    let workspace = one_of_four_failed();
    let _ = workspace
        .worker(&["--only-status", "failed"])
        .run()
        .expect_code(0);
    let kept = workspace.id(3).to_owned();
    let before = workspace.row(&kept);
    let glb = workspace.bytes(&before["gen_object_path"]);
    let yaml = mocks(0, &[("boom", "no kiln today")]);
    workspace.write("config/adapters.yaml", yaml.as_bytes());
    let _ = workspace
        .worker(&["--redo", "--jobs", &kept])
        .run()
        .expect_code(1)
        .expect_stderr("no kiln today");
    let after = workspace.row(&kept);
    assert_eq!(after, before);
    assert_eq!(workspace.bytes(&after["gen_object_path"]), glb);
    assert_eq!(workspace.log().jobs("redo_failed"), [kept.as_str()]);
}

#[test]
fn w19_a_failure_that_another_tool_left_is_tried_again_and_cleared_away() {
    let workspace = quick(1).status("failed").build();
    let job = workspace.id(0).to_owned();
    let marker = b"timestamp: 2025-01-01T00:00:00+00:00\npid: 1\n";
    workspace.write(&format!("runs/rk/state/{job}.failed"), marker);
    let error = b"Error: old\n\nTraceback:\n";
    workspace.write(&format!("runs/rk/state/{job}.error.txt"), error);
    let _ = workspace.worker(&[]).run().expect_code(0);
    assert!(executions(&workspace).is_empty());
    let _ = workspace
        .worker(&["--only-status", "failed"])
        .run()
        .expect_code(0);
    assert_eq!(statuses(&workspace), ["completed"]);
    assert_eq!(workspace.state_files(&job), ["completed", "lock"]);
}
