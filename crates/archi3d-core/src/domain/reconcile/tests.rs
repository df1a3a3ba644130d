//! Tests of the rules by which rows are set right.

use super::*;
use crate::domain::patch::Patch;

fn cells(pairs: &[(&str, &str)]) -> Cells {
    let pairs = pairs
        .iter()
        .map(|(c, v)| ((*c).to_owned(), (*v).to_owned()));
    Cells(pairs.collect())
}

fn row(status: &str) -> Cells {
    cells(&[
        ("status", status),
        ("gen_object_path", "m.glb"),
        ("price_source", "static_table"),
    ])
}

fn model(fault: Option<GlbFault>) -> Vec<ModelFile> {
    vec![ModelFile {
        path: "m.glb".into(),
        fault,
    }]
}

fn at(text: &str) -> Timestamp {
    Timestamp::parse(text).expect("valid")
}

fn lease(is_fresh: bool) -> LeaseSign {
    LeaseSign { at: None, is_fresh }
}

fn after(status: &str, evidence: &Evidence) -> Status {
    reconcile(&row(status), evidence, true)
        .after
        .expect("known")
}

#[test]
fn a_completed_row_without_a_model_becomes_failed_and_says_why() {
    let correction = reconcile(&row("completed"), &Evidence::default(), true);
    assert_eq!(correction.after, Some(Status::Failed));
    assert!(correction.is_downgrade);
    assert_eq!(
        correction.cells,
        [
            ("error_msg".to_owned(), MISSING_MODEL.to_owned()),
            ("status".to_owned(), "failed".to_owned())
        ]
    );
}

#[test]
fn an_empty_or_cut_model_is_none() {
    for fault in [
        GlbFault::Empty,
        GlbFault::NotGltf,
        GlbFault::Placeholder,
        GlbFault::Length {
            declared: 9,
            actual: 3,
        },
    ] {
        let evidence = Evidence {
            completed: Some(Sign::default()),
            models: model(Some(fault)),
            ..Evidence::default()
        };
        assert_eq!(after("completed", &evidence), Status::Failed, "{fault}");
        assert_eq!(after("enqueued", &evidence), Status::Enqueued, "{fault}");
    }
}

#[test]
fn the_placeholder_of_a_rehearsal_is_a_model_and_marks_the_row() {
    let evidence = Evidence {
        completed: Some(Sign::default()),
        models: model(Some(GlbFault::Placeholder)),
        ..Evidence::default()
    };
    let rehearsed = cells(&[("status", "completed"), ("price_source", "dry-run")]);
    let correction = reconcile(&rehearsed, &evidence, true);
    assert_eq!(correction.after, Some(Status::Completed));
    let bare = reconcile(&cells(&[("status", "enqueued")]), &evidence, true);
    assert!(
        bare.cells
            .contains(&("price_source".into(), "dry-run".into()))
    );
}

#[test]
fn the_first_marker_that_fits_decides() {
    let both = Evidence {
        completed: Some(Sign::default()),
        failed: Some(Sign::default()),
        lease: Some(lease(true)),
        models: model(None),
        ..Evidence::default()
    };
    assert_eq!(after("enqueued", &both), Status::Completed);
    let failed = Evidence {
        completed: None,
        ..both.clone()
    };
    assert_eq!(after("enqueued", &failed), Status::Failed);
    let running = Evidence {
        failed: None,
        ..failed
    };
    assert_eq!(after("enqueued", &running), Status::Running);
}

#[test]
fn a_stale_lease_changes_nothing_and_says_so() {
    let evidence = Evidence {
        lease: Some(lease(false)),
        ..Evidence::default()
    };
    for status in ["enqueued", "running", "failed"] {
        let correction = reconcile(&row(status), &evidence, true);
        assert!(correction.cells.is_empty(), "{status}");
        assert!(correction.reasons[0].contains("stale"), "{status}");
    }
}

#[test]
fn a_row_that_somebody_works_on_is_never_downgraded() {
    let live = Evidence {
        lease: Some(lease(true)),
        ..Evidence::default()
    };
    assert_eq!(after("completed", &live), Status::Running);
    let changing = Evidence {
        is_changing: true,
        ..Evidence::default()
    };
    assert_eq!(after("completed", &changing), Status::Completed);
}

#[test]
fn an_old_error_text_never_reaches_a_success() {
    let evidence = Evidence {
        completed: Some(Sign::default()),
        models: model(None),
        error_text: Some("Error: GPU lost\n\nTraceback:\n  x".into()),
        ..Evidence::default()
    };
    assert!(
        reconcile(&row("completed"), &evidence, true)
            .cells
            .is_empty()
    );
    let failed = Evidence {
        failed: Some(Sign::default()),
        completed: None,
        ..evidence
    };
    let correction = reconcile(&row("failed"), &failed, true);
    assert_eq!(correction.cells, [("error_msg".into(), "GPU lost".into())]);
}

#[test]
fn a_crashed_run_gets_its_times_from_markers_and_none_is_invented() {
    let evidence = Evidence {
        completed: Some(Sign {
            at: Some(at("2026-01-01T00:00:05Z")),
        }),
        models: model(None),
        ..Evidence::default()
    };
    let correction = reconcile(&row("enqueued"), &evidence, true);
    let get = |column: &str| correction.cells.iter().find(|(name, _)| name == column);
    assert_eq!(
        get("generation_end").expect("told").1,
        "2026-01-01T00:00:05+00:00"
    );
    assert_eq!(get("generation_start"), None);
    assert_eq!(get("generation_duration_s"), None);

    let mut started = row("enqueued");
    started.set("generation_start", "2026-01-01T00:00:03+00:00");
    let correction = reconcile(&started, &evidence, true);
    let duration = ("generation_duration_s".to_owned(), "2.0".to_owned());
    assert!(correction.cells.contains(&duration), "{correction:?}");
}

#[test]
fn our_own_marker_brings_all_its_cells_and_later_only_blank_ones() {
    let mut patch = Patch::status(Status::Completed);
    patch.set("worker_host", "node7");
    patch.set("unit_price_usd", "0.02");
    let evidence = Evidence {
        completed: Some(Sign::default()),
        own: Some(OwnRecord {
            status: Status::Completed,
            patch,
        }),
        models: model(None),
        ..Evidence::default()
    };
    let correction = reconcile(&row("running"), &evidence, true);
    assert!(
        correction
            .cells
            .contains(&("worker_host".into(), "node7".into()))
    );
    let mut corrected = row("completed");
    corrected.set("unit_price_usd", "0.03");
    let correction = reconcile(&corrected, &evidence, true);
    assert_eq!(correction.cells, [("worker_host".into(), "node7".into())]);
}

#[test]
fn without_fixing_the_status_only_what_fits_it_is_filled() {
    let evidence = Evidence {
        completed: Some(Sign::default()),
        models: model(None),
        ..Evidence::default()
    };
    let correction = reconcile(&row("enqueued"), &evidence, false);
    assert!(correction.cells.is_empty());
    assert!(matches!(correction.problems[..], [Problem::Mismatch(_)]));
    let gone = reconcile(&row("completed"), &Evidence::default(), false);
    assert!(gone.cells.is_empty() && !gone.is_downgrade);
}

#[test]
fn a_word_of_somebody_else_is_left_alone() {
    let correction = reconcile(&row("on hold"), &Evidence::default(), true);
    assert!(correction.cells.is_empty());
    assert!(matches!(
        correction.problems[..],
        [Problem::UnknownStatus(_)]
    ));
}

#[test]
fn of_rows_with_one_key_the_furthest_stays_and_takes_over_what_it_lacks() {
    let rows = [
        cells(&[("status", "enqueued"), ("notes", "mine"), ("algo", "a")]),
        cells(&[("status", "completed"), ("notes", ""), ("algo", "b")]),
        cells(&[("status", "failed"), ("notes", "other"), ("algo", "b")]),
    ];
    let merge = merge(&rows);
    assert_eq!(merge.keep, 1);
    assert_eq!(merge.filled, [("notes".to_owned(), "other".to_owned())]);
    assert_eq!(merge.conflicts.len(), 2);
}
