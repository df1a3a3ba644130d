//! What a job leaves behind: its files, its row and its lines in the log, one test for each
//! requirement that the tools before this one missed.

use serde_json::Value;

use crate::support::TestWorkspace;
use crate::support::read::Row;

fn mock(products: usize, options: &str) -> TestWorkspace {
    TestWorkspace::with_products(products)
        .algo("mock")
        .adapters(&format!("adapters: {{mock: {{kind: mock{options}}}}}\n"))
        .build()
}

fn only_row(workspace: &TestWorkspace) -> Row {
    workspace.row(workspace.id(0))
}

#[test]
fn the_model_is_always_called_generated_glb() {
    for options in [&["--dry-run"][..], &[]] {
        let workspace = mock(1, "");
        let _ = workspace.worker(options).run().expect_code(0);
        let path = format!("runs/rk/outputs/{}/generated.glb", workspace.id(0));
        assert_eq!(only_row(&workspace)["gen_object_path"], path);
        let glb = workspace.bytes(&path);
        assert!(glb.starts_with(b"glTF\x02\0\0\0"));
        let declared = u32::from_le_bytes([glb[8], glb[9], glb[10], glb[11]]);
        assert_eq!(declared as usize, glb.len());
    }
}

#[test]
fn the_estimated_cost_is_the_last_column() {
    let workspace = mock(2, ", unit_price_usd: 0.25, price_source: static_table");
    let before = workspace.registry().columns;
    let _ = workspace.worker(&[]).run().expect_code(0);
    let registry = workspace.registry();
    assert_eq!(registry.columns[..before.len()], before);
    assert_eq!(registry.columns.len(), 31 + 16);
    assert_eq!(
        registry.columns.last().expect("columns"),
        "estimated_cost_usd"
    );
    for row in &registry.rows {
        let cost = [
            &row["unit_price_usd"],
            &row["estimated_cost_usd"],
            &row["price_source"],
        ];
        assert_eq!(cost, ["0.25", "0.25", "static_table"]);
    }
}

#[test]
fn a_table_that_has_the_cost_column_elsewhere_keeps_it_there() {
    let workspace = mock(1, ", unit_price_usd: 0.5");
    let table = String::from_utf8(workspace.bytes("tables/generations.csv")).expect("text");
    let mut lines = table.lines();
    let header = lines
        .next()
        .expect("a header")
        .replace("notes", "notes,estimated_cost_usd,mine");
    let row = lines.next().expect("a row");
    let text = format!("{header}\n{row},,0012\n");
    workspace.write("tables/generations.csv", text.as_bytes());
    let _ = workspace.worker(&[]).run().expect_code(0);
    let registry = workspace.registry();
    assert_eq!(registry.columns[31..33], ["estimated_cost_usd", "mine"]);
    assert_eq!(registry.columns.len(), 31 + 1 + 16);
    let row = only_row(&workspace);
    assert_eq!((&row["estimated_cost_usd"], &row["mine"]), ("0.5", "0012"));
}

#[test]
fn metadata_and_previews_of_an_adapter_are_kept() {
    let workspace = mock(1, ", seed: 7");
    let _ = workspace.worker(&[]).run().expect_code(0);
    let folder = format!("runs/rk/outputs/{}", workspace.id(0));
    let metadata = workspace.bytes(&format!("{folder}/metadata.json"));
    let metadata: Value = serde_json::from_slice(&metadata).expect("valid JSON");
    assert_eq!(metadata["adapter"]["seed"], 7);
    let listed = metadata["artifacts"].as_array().expect("a list");
    assert!(listed.iter().any(|file| file["name"] == "generated.glb"));
    let row = only_row(&workspace);
    for number in 1..=2 {
        let path = &row[&*format!("preview_{number}_path")];
        assert_eq!(path, format!("{folder}/preview_{number}.png"));
        assert!(image::open(workspace.path(path)).is_ok(), "{path}");
    }
    assert_eq!(&row["preview_3_path"], "");
}

#[test]
fn an_adapter_that_fails_in_any_way_fails_its_job_and_writes_nowhere_else() {
    for (options, message) in [
        (", fail: no credit", "no credit"),
        (", panic: true", "panicked"),
        (", empty_output: true", "empty"),
    ] {
        let workspace = mock(2, options);
        let before = workspace.tree();
        let _ = workspace.worker(&[]).run().expect_code(1);
        assert_eq!(workspace.registry().count("failed"), 2);
        let row = only_row(&workspace);
        assert!(row["error_msg"].contains(message), "{}", &row["error_msg"]);
        assert_eq!(&row["gen_object_path"], "");
        let text = workspace.bytes(&format!("runs/rk/state/{}.error.txt", workspace.id(0)));
        assert!(String::from_utf8_lossy(&text).contains(message));
        let allowed = [
            "logs/",
            "reports/",
            "runs/rk/state/",
            "runs/rk/outputs/",
            "tables/generations.",
        ];
        let strays: Vec<String> = workspace
            .tree()
            .into_iter()
            .filter(|(name, mark)| before.get(name) != Some(mark))
            .map(|(name, _)| name)
            .filter(|name| !allowed.iter().any(|prefix| name.starts_with(prefix)))
            .collect();
        assert_eq!(strays, Vec::<String>::new());
        let outputs = workspace.tree().into_keys();
        assert_eq!(
            outputs
                .filter(|name| name.contains(workspace.id(0)) && !name.contains("/.late/"))
                .count(),
            3
        );
    }
}

#[test]
fn an_error_in_the_table_is_one_line_of_bounded_length() {
    let workspace = mock(2, r#", fail: "10%\r20%\n30% \"failed\", sorry""#);
    let _ = workspace.worker(&[]).run().expect_code(1);
    assert_eq!(workspace.registry().rows.len(), 2);
    let row = only_row(&workspace);
    assert_eq!(&row["error_msg"], "10% 20% 30% \"failed\", sorry");

    let workspace = mock(1, ", large_error: 50000");
    let _ = workspace.worker(&[]).run().expect_code(1);
    let shown = only_row(&workspace)["error_msg"].to_owned();
    assert!(shown.chars().count() <= 2000 + 27, "{}", shown.len());
    assert!(shown.ends_with(" (truncated; see error.txt)"), "{shown}");
    let text = workspace.bytes(&format!("runs/rk/state/{}.error.txt", workspace.id(0)));
    assert!(text.len() > 50_000);
}

#[test]
fn an_algo_version_that_is_there_is_left_alone() {
    let workspace = mock(2, "");
    let table = String::from_utf8(workspace.bytes("tables/generations.csv")).expect("text");
    let id = workspace.id(0);
    let text = table.replace(
        &format!("{id},mock,,"),
        &format!("{id},mock,fal-ai/trellis,"),
    );
    workspace.write("tables/generations.csv", text.as_bytes());
    let _ = workspace.worker(&[]).run().expect_code(0);
    assert_eq!(&only_row(&workspace)["algo_version"], "fal-ai/trellis");
    assert_eq!(&workspace.row(workspace.id(1))["algo_version"], "mock-1");
}

#[test]
fn a_failed_redo_keeps_the_old_result_and_its_row() {
    let workspace = mock(1, "");
    let _ = workspace.worker(&[]).run().expect_code(0);
    let before = only_row(&workspace);
    workspace.write(
        "config/adapters.yaml",
        b"adapters: {mock: {kind: mock, fail: no}}\n",
    );
    let _ = workspace.worker(&["--redo"]).run().expect_code(1);
    let after = only_row(&workspace);
    for column in [
        "status",
        "algo_version",
        "gen_object_path",
        "preview_1_path",
        "unit_price_usd",
    ] {
        assert_eq!(before[column], after[column], "{column}");
    }
    assert!(workspace.path(&after["gen_object_path"]).is_file());
    assert_eq!(workspace.log().jobs("redo_failed"), [workspace.id(0)]);
    assert_eq!(workspace.log().summary()["failed"], 1);
    assert_eq!(workspace.leftovers(), Vec::<String>::new());
}

#[test]
fn start_completion_and_failure_of_a_job_are_logged_with_what_they_made() {
    let workspace = mock(1, "");
    let _ = workspace.worker(&[]).run().expect_code(0);
    let log = workspace.log();
    let names: Vec<&Value> = log.0.iter().map(|event| &event["event"]).collect();
    let expected = [
        "worker_started",
        "job_started",
        "job_completed",
        "worker_summary",
    ];
    assert_eq!(names, expected);
    let completed = log.events("job_completed")[0];
    let row = only_row(&workspace);
    assert_eq!(completed["gen_object_path"], row["gen_object_path"]);
    assert_eq!(completed["preview_paths"][0], row["preview_1_path"]);
    assert_eq!(completed["preview_paths"].as_array().map(Vec::len), Some(2));
    let duration = completed["duration_s"].as_f64().expect("a number");
    assert_eq!(row["generation_duration_s"].parse(), Ok(duration));
    for event in &log.0 {
        assert_eq!(event["run_id"], "rk");
        assert!(
            event["timestamp"]
                .as_str()
                .is_some_and(|at| at.ends_with("+00:00"))
        );
    }
    let failing = mock(1, ", fail: \"no\\nluck\"");
    let _ = failing.worker(&[]).run().expect_code(1);
    let log = failing.log();
    assert_eq!(log.events("job_failed")[0]["error"], "no luck");
    assert_eq!(log.jobs("job_failed"), [failing.id(0)]);
}

#[test]
fn a_missing_picture_fails_its_job_also_in_a_rehearsal() {
    for options in [&["--dry-run"][..], &[]] {
        let workspace = mock(2, "");
        let missing = &workspace.jobs()[0].images[1];
        std::fs::remove_file(workspace.path(missing)).expect("it was made");
        let _ = workspace.worker(options).run().expect_code(1);
        let row = only_row(&workspace);
        let message = format!("input image not found: {missing}");
        assert_eq!(
            (&row["status"], &row["error_msg"]),
            ("failed", message.as_str())
        );
        assert_eq!(
            workspace.state_files(workspace.id(0)),
            ["error.txt", "failed", "lock"]
        );
        assert_eq!(&workspace.row(workspace.id(1))["status"], "completed");
    }
}

#[test]
fn the_end_is_the_start_plus_the_measured_duration() {
    let workspace = mock(3, ", sleep_ms: 30");
    let _ = workspace.worker(&[]).run().expect_code(0);
    for row in &workspace.registry().rows {
        let time = |column: &str| {
            chrono::DateTime::parse_from_rfc3339(&row[column]).expect("a time with offset")
        };
        let micros = (time("generation_end") - time("generation_start")).num_microseconds();
        let duration: f64 = row["generation_duration_s"].parse().expect("seconds");
        let measured = (duration * 1e6).round();
        assert!(duration >= 0.03, "{duration}");
        assert_eq!(
            micros.expect("not years").to_string(),
            format!("{measured}")
        );
    }
}
