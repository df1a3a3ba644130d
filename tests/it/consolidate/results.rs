//! What markers and models on disk make of a row.

use std::fs;

use crate::support::dataset::product;
use crate::support::{TestWorkspace, fixture};

use super::{MISSING, complete, consolidate, cube, edit, long_model, numbers, state, table};

#[test]
fn a_crashed_run_of_the_original_gets_its_results_back() {
    let workspace = TestWorkspace::with_products(4).build();
    let model = long_model(&workspace, 0, &cube());
    workspace.write(
        &format!("runs/rk/outputs/{}/preview_1.png", workspace.id(0)),
        b"png",
    );
    state(
        &workspace,
        0,
        "completed",
        "timestamp: 2025-01-01T10:00:05+00:00\npid: 7\n",
    );
    state(
        &workspace,
        1,
        "failed",
        "timestamp: 2025-01-01T10:00:07+00:00\npid: 7\n",
    );
    state(
        &workspace,
        1,
        "error.txt",
        "Error: GPU out\nof memory\n\nTraceback:\n  File x\n",
    );
    let before = table(&workspace);
    let dry = consolidate(&workspace, &["--dry-run"], 0);
    assert_eq!(table(&workspace), before, "a dry run changes no row");
    let done = consolidate(&workspace, &[], 0);
    assert_eq!(dry["changes"], done["changes"]);
    assert_eq!(done["upsert_updated"], 2);
    assert_eq!(done["marker_mismatches_fixed"], 2);
    let row = workspace.row(workspace.id(0));
    assert_eq!(&row["status"], "completed");
    assert_eq!(&row["gen_object_path"], model);
    assert!(row["preview_1_path"].ends_with("/preview_1.png"));
    assert_eq!(&row["generation_end"], "2025-01-01T10:00:05+00:00");
    assert_eq!(
        row.get("generation_start"),
        None,
        "nobody knows when it started"
    );
    let row = workspace.row(workspace.id(1));
    assert_eq!(
        (&row["status"], &row["error_msg"]),
        ("failed", "GPU out of memory")
    );
    assert_eq!(&workspace.row(workspace.id(2))["status"], "enqueued");
}

#[test]
fn a_result_is_only_one_if_it_is_whole() {
    let cut = &cube()[..100];
    for bytes in [
        &b""[..],
        b"<html>502</html>",
        cut,
        b"# Dry-run placeholder GLB\n",
    ] {
        let workspace = TestWorkspace::with_products(1).build();
        complete(&workspace, 1);
        long_model(&workspace, 0, bytes);
        let report = consolidate(&workspace, &[], 0);
        assert_eq!(report["downgraded_missing_output"], 1, "{bytes:?}");
        let row = workspace.row(workspace.id(0));
        assert_eq!(&row["status"], "failed");
        assert!(
            row["error_msg"].ends_with("; downgraded by consolidate"),
            "{}",
            &row["error_msg"]
        );
    }
}

#[test]
fn a_result_that_is_gone_fails_its_row_and_comes_back_with_the_file() {
    let workspace = TestWorkspace::with_products(1).build();
    complete(&workspace, 1);
    let path = long_model(&workspace, 0, &cube());
    fs::remove_file(workspace.path(&path)).expect("there");
    let report = consolidate(&workspace, &[], 0);
    assert_eq!(
        numbers(&report, &["missing_outputs", "upsert_updated"]),
        [1, 1]
    );
    assert_eq!(&workspace.row(workspace.id(0))["error_msg"], MISSING);
    let again = consolidate(&workspace, &[], 0);
    assert_eq!(
        numbers(&again, &["missing_outputs", "upsert_updated"]),
        [1, 0]
    );
    workspace.write(
        &format!("runs/rk/outputs/{}/generated.glb", workspace.id(0)),
        &cube(),
    );
    let _ = consolidate(&workspace, &[], 0);
    let row = workspace.row(workspace.id(0));
    assert_eq!((&row["status"], &row["error_msg"]), ("completed", ""));
    assert!(row["gen_object_path"].ends_with("/generated.glb"));
}

#[test]
fn the_status_stays_if_it_is_not_to_be_fixed() {
    let workspace = TestWorkspace::with_products(2).build();
    complete(&workspace, 1);
    let path = long_model(&workspace, 0, &cube());
    fs::rename(
        workspace.path(&path),
        workspace.path(&format!(
            "runs/rk/outputs/{}/generated.glb",
            workspace.id(0)
        )),
    )
    .expect("renamed");
    state(&workspace, 1, "failed", "");
    let _ = consolidate(&workspace, &["--no-fix-status"], 0);
    let row = workspace.row(workspace.id(0));
    assert!(
        row["gen_object_path"].ends_with("/generated.glb"),
        "cells are still filled"
    );
    assert_eq!(&workspace.row(workspace.id(1))["status"], "enqueued");
}

#[test]
fn a_fresh_lease_means_running_and_a_stale_one_is_left_with_a_reason() {
    let workspace = TestWorkspace::with_products(2).build();
    let now = chrono::Utc::now().to_rfc3339();
    state(
        &workspace,
        0,
        "inprogress",
        &format!("timestamp: {now}\npid: 1\n"),
    );
    state(
        &workspace,
        1,
        "inprogress",
        "timestamp: 2025-01-01T10:00:00+00:00\npid: 1\n",
    );
    let report = consolidate(&workspace, &[], 0);
    assert_eq!(&workspace.row(workspace.id(0))["status"], "running");
    assert_eq!(&workspace.row(workspace.id(1))["status"], "enqueued");
    let note = report["notes"][0]["text"].as_str().unwrap_or_default();
    assert!(note.contains("stale"), "{report}");
}

#[test]
fn an_old_error_text_never_reaches_a_completed_row() {
    let workspace = TestWorkspace::with_products(1).build();
    complete(&workspace, 1);
    state(&workspace, 0, "error.txt", "Error: old\n");
    let report = consolidate(&workspace, &[], 0);
    assert_eq!(report["upsert_updated"], 0);
    assert_eq!(&workspace.row(workspace.id(0))["error_msg"], "");
}

#[test]
fn a_workspace_of_the_original_is_right_as_it_is() {
    let workspace = TestWorkspace::copy_of(&fixture("original_workspace"), "r1");
    let before = workspace.bytes("tables/generations.csv");
    let run = ["consolidate", "--run-id", "r1", "--strict", "--json"];
    let report = workspace.archi3d(&run).run().expect_code(0).json();
    assert_eq!(numbers(&report, &["considered", "unchanged"]), [6, 6]);
    assert_eq!(workspace.bytes("tables/generations.csv"), before);

    let crashed = workspace.bytes("tables/generations.phase2.snapshot");
    workspace.write("tables/generations.csv", &crashed);
    let report = workspace.archi3d(&run).run().expect_code(0).json();
    assert_eq!(report["upsert_updated"], 6);
    for row in workspace.registry().rows {
        assert_eq!(
            (&row["status"], &row["price_source"]),
            ("completed", "dry-run")
        );
        assert!(!row["generation_end"].is_empty() && !row["preview_2_path"].is_empty());
    }
}

#[test]
fn our_own_markers_bring_back_every_field() {
    let workspace = TestWorkspace::with_products(2).algo("mock").build();
    let fresh = workspace.bytes("tables/generations.csv");
    let _ = workspace.worker(&[]).run().expect_code(0);
    let finished = workspace.registry();
    workspace.write("tables/generations.csv", &fresh);
    let _ = consolidate(&workspace, &["--strict"], 0);
    let healed = workspace.registry();
    for (healed, finished) in healed.rows.iter().zip(&finished.rows) {
        for column in [
            "status",
            "generation_start",
            "generation_end",
            "generation_duration_s",
            "unit_price_usd",
            "price_source",
            "gen_object_path",
            "preview_1_path",
            "worker_host",
            "worker_env",
            "algo_version",
        ] {
            assert_eq!(healed[column], finished[column], "{column}");
        }
    }
}

#[test]
fn leading_zeros_and_ids_that_were_damaged_do_not_cost_a_result() {
    let workspace = TestWorkspace::with_products(1).build();
    complete(&workspace, 1);
    let path = long_model(&workspace, 0, &cube());
    let kept = path.replace("/100001_", "/00100001_");
    fs::rename(workspace.path(&path), workspace.path(&kept)).expect("renamed");
    edit(&workspace, |_, line| {
        vec![line.replace("/100001_", "/00100001_")]
    });
    let before = table(&workspace);
    let report = consolidate(&workspace, &[], 0);
    assert_eq!(report["upsert_updated"], 0);
    assert_eq!(table(&workspace), before);
}

#[test]
fn ids_with_leading_zeros_stay_completed_all_the_way() {
    let workspace = TestWorkspace::empty();
    for folder in ["00123", "100002 - NA"] {
        product(&workspace, folder, &["images/p_A.jpg"]);
    }
    for command in [
        &["catalog", "build"][..],
        &["batch", "create", "--run-id", "rk", "--algos", "mock"],
        &["run", "worker", "--run-id", "rk", "--dry-run"],
        &["consolidate", "--run-id", "rk", "--strict"],
    ] {
        let _ = workspace.archi3d(command).run().expect_code(0);
    }
    let registry = workspace.registry();
    assert_eq!(&registry.rows[0]["product_id"], "00123");
    assert!(
        registry
            .rows
            .iter()
            .all(|row| &row["status"] == "completed")
    );
}

#[test]
fn a_model_that_cannot_be_looked_at_keeps_its_status_and_is_reported() {
    let workspace = TestWorkspace::with_products(3).build();
    complete(&workspace, 3);
    let link = |index: usize, target: &std::path::Path| {
        let path = workspace.path(&long_model(&workspace, index, &cube()));
        fs::remove_file(&path).expect("there");
        std::os::unix::fs::symlink(target, &path).expect("linked");
        path
    };
    let own = workspace.path(&long_model(&workspace, 0, &cube()));
    // A link in a circle fails as a bad disk does, whoever looks.
    link(0, &own);
    let outside = workspace.outside().join("elsewhere.glb");
    fs::write(&outside, cube()).expect("written");
    link(1, &outside);
    workspace.write("archive/model.glb", &cube());
    link(2, &workspace.path("archive/model.glb"));
    let before = table(&workspace);
    let report = consolidate(&workspace, &[], 0);
    assert_eq!(table(&workspace), before, "{report}");
    let problems = report["problems"].as_array().expect("a list");
    let jobs: Vec<&str> = problems
        .iter()
        .filter_map(|p| p["job_id"].as_str())
        .collect();
    assert_eq!(jobs, [workspace.id(0), workspace.id(1)], "{report}");
    assert_eq!(numbers(&report, &["missing_outputs"]), [0]);
    let _ = consolidate(&workspace, &["--strict"], 1);
}

#[test]
fn a_run_without_any_result_is_a_disk_that_is_not_there() {
    let workspace = TestWorkspace::with_products(2).build();
    complete(&workspace, 2);
    let before = table(&workspace);
    for is_mount_point in [false, true] {
        fs::remove_dir_all(workspace.run_path("outputs")).expect("there");
        fs::create_dir_all(workspace.run_path(if is_mount_point { "outputs" } else { "" }))
            .expect("made");
        let report = consolidate(&workspace, &[], 2);
        let error = report["error"].as_str().unwrap_or_default();
        assert!(
            error.contains("runs/rk/outputs/ is missing or empty"),
            "{error}"
        );
        assert_eq!(table(&workspace), before);
        fs::create_dir_all(workspace.run_path("outputs")).expect("made");
    }
    let rows = consolidate(&workspace, &["--only-status", "enqueued"], 0);
    assert_eq!(rows["considered"], 0);
}
