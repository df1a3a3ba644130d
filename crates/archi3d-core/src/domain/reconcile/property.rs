//! What holds for every row and every evidence: corrections settle.

use proptest::prelude::*;

use super::*;
use crate::domain::patch::Patch;

const TIMES: [&str; 3] = [
    "2026-01-01T00:00:00+00:00",
    "2026-01-01T00:00:02.500000+00:00",
    "2026-01-02T00:00:00+00:00",
];

fn time() -> impl Strategy<Value = Option<Timestamp>> {
    proptest::option::of(proptest::sample::select(&TIMES[..]))
        .prop_map(|text| text.and_then(Timestamp::parse))
}

fn sign() -> impl Strategy<Value = Option<Sign>> {
    proptest::option::of(time().prop_map(|at| Sign { at }))
}

fn lease() -> impl Strategy<Value = Option<LeaseSign>> {
    let lease = (time(), any::<bool>()).prop_map(|(at, is_fresh)| LeaseSign { at, is_fresh });
    proptest::option::of(lease)
}

fn model() -> impl Strategy<Value = ModelFile> {
    let faults = [
        None,
        Some(GlbFault::Empty),
        Some(GlbFault::Placeholder),
        Some(GlbFault::NotGltf),
        Some(GlbFault::Unreadable),
    ];
    ("[ab]\\.glb", proptest::sample::select(faults.to_vec()))
        .prop_map(|(path, fault)| ModelFile { path, fault })
}

fn own() -> impl Strategy<Value = Option<OwnRecord>> {
    let cell = (
        proptest::sample::select(
            &[
                "error_msg",
                "generation_start",
                "worker_host",
                "price_source",
                "algo_version",
            ][..],
        ),
        "[a-c]?",
        any::<bool>(),
    );
    let cells = proptest::collection::vec(cell, 0..4);
    let record = (proptest::sample::select(Status::ALL.to_vec()), cells);
    proptest::option::of(record.prop_map(|(status, cells)| {
        let mut patch = Patch::status(status);
        for (column, value, only_if_empty) in cells {
            if only_if_empty {
                patch.fill(column, value);
            } else {
                patch.set(column, value);
            }
        }
        OwnRecord { status, patch }
    }))
}

fn evidence() -> impl Strategy<Value = Evidence> {
    let files = (
        proptest::collection::vec(model(), 0..3),
        proptest::option::of("p[12]\\.png"),
        proptest::option::of("(Error: )?[xy\\n]{0,4}"),
    );
    (sign(), sign(), lease(), own(), files, any::<bool>()).prop_map(
        |(completed, failed, lease, own, (models, preview, error_text), is_changing)| Evidence {
            completed,
            failed,
            lease,
            own,
            models,
            previews: [preview, None, None],
            error_text,
            is_changing,
            ..Evidence::default()
        },
    )
}

fn row() -> impl Strategy<Value = Cells> {
    let status = [
        "",
        "enqueued",
        "running",
        "completed",
        "failed",
        "cancelled",
        "on hold",
    ];
    let cell = (
        proptest::sample::select(
            &[
                "error_msg",
                "generation_start",
                "generation_end",
                "price_source",
                "notes",
                "generation_duration_s",
                "gen_object_path",
                "preview_1_path",
                "algo_version",
            ][..],
        ),
        proptest::sample::select(&["", "dry-run", "0.5", "7", "a.glb", TIMES[0], TIMES[1]][..]),
    );
    let cells = proptest::collection::vec(cell, 0..6);
    (proptest::sample::select(status.to_vec()), cells).prop_map(|(status, cells)| {
        let mut row = Cells::default();
        row.set("status", status);
        for (column, value) in cells {
            row.set(column, value);
        }
        row
    })
}

proptest! {
    #[test]
    fn a_corrected_row_needs_no_correction(row in row(), evidence in evidence(), fix in any::<bool>()) {
        let first = reconcile(&row, &evidence, fix);
        let mut corrected = row.clone();
        for (column, value) in &first.cells {
            corrected.set(column, value.clone());
        }
        let second = reconcile(&corrected, &evidence, fix);
        prop_assert!(second.cells.is_empty(), "{first:?} then {second:?}");
        prop_assert_eq!(second.after, first.after);
    }

    #[test]
    fn cells_that_nobody_asks_about_are_never_named(row in row(), evidence in evidence()) {
        let correction = reconcile(&row, &evidence, true);
        prop_assert!(correction.cells.iter().all(|(column, _)| column != "notes"));
        for (column, value) in &correction.cells {
            prop_assert_ne!(row.get(column), value);
        }
    }

    #[test]
    fn a_usable_result_is_never_called_failed_without_a_marker(mut row in row(), mut evidence in evidence()) {
        row.set("status", "completed");
        row.set("price_source", "static_table");
        evidence.models = vec![ModelFile { path: "a.glb".into(), fault: None }];
        evidence.own = None;
        evidence.failed = None;
        let correction = reconcile(&row, &evidence, true);
        prop_assert_ne!(correction.after, Some(Status::Failed));
    }
}
