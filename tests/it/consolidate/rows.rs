//! Which rows are looked at, what they keep, and what is refused.

use std::fs;

use crate::support::{Invocation, TestWorkspace, wait_until};

use super::{complete, consolidate, cube, edit, long_model, metrics, numbers, state, table};

#[test]
fn running_it_again_changes_no_byte_and_counts_nothing() {
    let workspace = TestWorkspace::with_products(3).crlf().build();
    long_model(&workspace, 0, &cube());
    state(&workspace, 0, "completed", "");
    let _ = consolidate(&workspace, &[], 0);
    let after = table(&workspace);
    assert!(after.contains("\r\n"), "line ends are kept");
    let again = consolidate(&workspace, &[], 0);
    assert_eq!(table(&workspace), after);
    assert_eq!(numbers(&again, &["upsert_updated", "unchanged"]), [0, 3]);
    assert_eq!(again["written"], false);
    let lines = metrics(&workspace);
    assert_eq!(lines.len(), 2, "every run is logged");
    let keys: Vec<&String> = lines[0].as_object().expect("object").keys().collect();
    assert_eq!(
        keys[..15],
        [
            "considered",
            "upsert_inserted",
            "upsert_updated",
            "unchanged",
            "conflicts_resolved",
            "marker_mismatches_fixed",
            "downgraded_missing_output",
            "missing_outputs",
            "invalid_previews",
            "status_histogram_before",
            "status_histogram_after",
            "event",
            "timestamp",
            "run_id",
            "dry_run"
        ]
    );
    assert_eq!(lines[0]["status_histogram_after"]["completed"], 1);
}

#[test]
fn cells_and_columns_of_others_keep_their_bytes() {
    let workspace = TestWorkspace::with_products(3).build();
    edit(&workspace, |n, line| {
        vec![match n {
            0 => format!("{line},review_old,fscore"),
            1 => format!("{line},\"a \"\"b\"\", c\",1.50"),
            _ => format!("{line},NA,0012"),
        }]
    });
    long_model(&workspace, 0, &cube());
    state(&workspace, 0, "completed", "");
    let before: Vec<String> = table(&workspace).lines().map(str::to_owned).collect();
    let _ = consolidate(&workspace, &[], 0);
    let after: Vec<String> = table(&workspace).lines().map(str::to_owned).collect();
    assert!(after[0].starts_with(&before[0]), "columns are only added");
    assert!(
        after[1].contains(",\"a \"\"b\"\", c\",1.50,runs/"),
        "{}",
        after[1]
    );
    for n in [2, 3] {
        assert_eq!(
            after[n].trim_end_matches(','),
            before[n].trim_end_matches(',')
        );
    }
}

#[test]
fn rows_outside_the_selection_are_never_removed() {
    let workspace = TestWorkspace::with_products(4).build();
    complete(&workspace, 2);
    edit(&workspace, |n, line| {
        vec![line.to_owned(); if n == 1 { 2 } else { 1 }]
    });
    let report = consolidate(&workspace, &["--only-status", "completed"], 0);
    assert_eq!(report["considered"], 3);
    assert_eq!(report["conflicts_resolved"], 1);
    assert_eq!(report["merged_rows"].as_array().map(Vec::len), Some(1));
    let registry = workspace.registry();
    assert_eq!(registry.rows.len(), 4);
    let enqueued = registry
        .rows
        .iter()
        .filter(|row| &row["status"] == "enqueued");
    assert_eq!(enqueued.count(), 2);
}

#[test]
fn with_a_row_limit_only_the_rows_looked_at_can_change() {
    let workspace = TestWorkspace::with_products(4).build();
    edit(&workspace, |n, line| match n {
        1 => vec![line.to_owned(), line.replace(",Maker,", ",,")],
        _ => vec![line.to_owned()],
    });
    for index in 0..4 {
        long_model(&workspace, index, &cube());
        state(&workspace, index, "completed", "");
    }
    let report = consolidate(&workspace, &["--max-rows", "2"], 0);
    assert_eq!(report["considered"], 2);
    let registry = workspace.registry();
    assert_eq!(
        registry.rows.len(),
        4,
        "five rows, two of them with one key"
    );
    let words: Vec<&str> = registry.rows.iter().map(|row| &row["status"]).collect();
    assert_eq!(words, ["completed", "enqueued", "enqueued", "enqueued"]);
    assert_eq!(&registry.rows[0]["manufacturer"], "Maker");
}

#[test]
fn of_rows_with_one_key_the_furthest_stays_and_the_others_are_kept_in_the_log() {
    let workspace = TestWorkspace::with_products(2).build();
    complete(&workspace, 1);
    edit(&workspace, |n, line| match n {
        1 => vec![
            line.replace(",completed,", ",enqueued,")
                .replace("+00:00,,2025", "+00:00,my note,2025"),
            line.to_owned(),
        ],
        _ => vec![line.to_owned()],
    });
    let report = consolidate(&workspace, &[], 0);
    assert_eq!(report["considered"], 3);
    let row = workspace.row(workspace.id(0));
    assert_eq!((&row["status"], &row["notes"]), ("completed", "my note"));
    let logged = &metrics(&workspace)[0]["merged_rows"][0]["text"];
    assert!(logged.as_str().is_some_and(|text| text.contains("my note")));
}

#[test]
fn a_row_that_changes_while_it_waits_for_the_lock_is_seen_as_it_is_then() {
    let workspace = TestWorkspace::with_products(2).build();
    long_model(&workspace, 0, &cube());
    state(&workspace, 0, "completed", "");
    let lock = workspace.path("tables/generations.lock");
    let held = fs::File::create(&lock).expect("created");
    held.lock().expect("free");
    let waiting = workspace
        .archi3d(&["consolidate", "--run-id", "rk", "--json"])
        .spawn();
    wait_until("the wait is told", || {
        waiting
            .stderr_so_far()
            .contains("waiting for tables/generations.lock")
    });
    complete(&workspace, 1);
    let finished = table(&workspace);
    drop(held);
    let report = waiting.wait().expect_code(0).json();
    assert_eq!(report["upsert_updated"], 0);
    assert_eq!(table(&workspace), finished);
}

#[test]
fn strict_finds_everything_before_it_writes_anything() {
    let workspace = TestWorkspace::with_products(2).build();
    complete(&workspace, 1);
    fs::remove_file(workspace.path(&long_model(&workspace, 0, b""))).expect("there");
    long_model(&workspace, 1, &cube());
    state(&workspace, 1, "completed", "");
    let before = table(&workspace);
    let report = consolidate(&workspace, &["--strict"], 1);
    assert_eq!(table(&workspace), before);
    assert_eq!(report["problems"].as_array().map(Vec::len), Some(1));
    assert_eq!(numbers(&report, &["upsert_updated"]), [0]);
    assert_eq!(metrics(&workspace).len(), 1, "it is logged all the same");
    let only_good = ["--strict", "--only-status", "enqueued"];
    let report = consolidate(&workspace, &only_good, 0);
    assert_eq!(report["upsert_updated"], 1);
}

#[test]
fn an_unknown_run_is_refused_with_the_nearest_name_and_leaves_no_trace() {
    let workspace = TestWorkspace::with_products(1).run("chairs").build();
    let before = workspace.tree();
    let _ = workspace
        .archi3d(&["consolidate", "--run-id", "chair"])
        .run()
        .expect_code(2)
        .expect_stderr("did you mean `chairs`?");
    let _ = workspace
        .archi3d(&["consolidate", "--run-id", "../x"])
        .run()
        .expect_code(2);
    assert_eq!(workspace.tree(), before);
}

#[test]
fn a_dry_run_shows_people_what_would_change_and_why() {
    let workspace = TestWorkspace::with_products(1).build();
    state(&workspace, 0, "failed", "");
    let _ = workspace
        .archi3d(&["consolidate", "--run-id", "rk", "--dry-run"])
        .run()
        .expect_code(0)
        .expect_stdout("1 would change")
        .expect_stdout("enqueued → failed")
        .expect_stdout("marker .failed");
}

#[test]
fn run_ids_that_look_like_numbers_are_found_as_they_are() {
    for run in ["20250101", "001", "1e5", "2025.10", "True", "nan"] {
        let workspace = TestWorkspace::with_products(2).run(run).build();
        let _ = workspace.worker(&["--dry-run"]).run().expect_code(0);
        let before = table(&workspace);
        let run = ["consolidate", "--run-id", run, "--strict", "--json"];
        let report = workspace.archi3d(&run).run().expect_code(0).json();
        assert_eq!(numbers(&report, &["considered", "unchanged"]), [2, 2]);
        assert_eq!(table(&workspace), before);
    }
}

#[test]
fn it_needs_a_registry_with_keys() {
    let workspace = TestWorkspace::empty();
    let run = ["consolidate", "--run-id", "rk"];
    let _ = workspace
        .archi3d(&run)
        .run()
        .expect_code(2)
        .expect_stderr("there is no such table");
    workspace.write("tables/generations.csv", b"a,b\n1,2\n");
    let _ = workspace
        .archi3d(&run)
        .run()
        .expect_code(2)
        .expect_stderr("run_id");
    let _ = Invocation::archi3d(["consolidate", "--help"])
        .run()
        .expect_code(0)
        .expect_stdout("Examples:");
}
