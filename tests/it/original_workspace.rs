//! A workspace that the Python original made: worked on without touching a byte that is not the
//! worker's, rehearsed and then performed, whatever line ends and byte order mark its table has.

use std::fs;

use crate::support::{TestWorkspace, fixture};

const TABLE: &str = "tables/generations.csv";
const BOM: &[u8] = b"\xef\xbb\xbf";

/// The columns a worker writes.
const OWN: [&str; 18] = [
    "algo_version",
    "status",
    "generation_start",
    "generation_end",
    "generation_duration_s",
    "unit_price_usd",
    "price_source",
    "gen_object_path",
    "preview_1_path",
    "preview_2_path",
    "preview_3_path",
    "error_msg",
    "worker_host",
    "worker_user",
    "worker_gpu",
    "worker_env",
    "worker_commit",
    "estimated_cost_usd",
];

fn finished() -> TestWorkspace {
    TestWorkspace::copy_of(&fixture("original_workspace"), "r1")
}

/// The same workspace before its worker ran.
fn enqueued() -> TestWorkspace {
    let workspace = finished();
    let snapshot = workspace.bytes("tables/generations.phase2.snapshot");
    workspace.write(TABLE, &snapshot);
    for folder in ["state", "outputs"] {
        fs::remove_dir_all(workspace.run_path(folder)).expect("the fixture has it");
    }
    workspace
}

/// Splits a table into rows of raw fields, quotes and all.
fn raw_rows(bytes: &[u8]) -> Vec<Vec<Vec<u8>>> {
    let mut rows = Vec::new();
    let (mut row, mut field, mut quoted) = (Vec::new(), Vec::new(), false);
    for byte in bytes {
        match byte {
            b',' if !quoted => row.push(std::mem::take(&mut field)),
            b'\n' if !quoted => {
                row.push(std::mem::take(&mut field));
                rows.push(std::mem::take(&mut row));
            }
            _ => {
                quoted ^= *byte == b'"';
                field.push(*byte);
            }
        }
    }
    assert!(
        row.is_empty() && field.is_empty(),
        "the last line has an end"
    );
    rows
}

/// Demands that only the worker's own cells differ.
#[track_caller]
fn assert_rest_untouched(before: &[u8], after: &[u8]) {
    let (before, after) = (raw_rows(before), raw_rows(after));
    assert_eq!(before.len(), after.len());
    let width = before[0].len();
    for (number, (old, new)) in before.iter().zip(&after).enumerate() {
        for column in 0..width {
            let name = String::from_utf8_lossy(&before[0][column]);
            let name = name.trim_end_matches('\r');
            if number > 0 && OWN.contains(&name) {
                continue;
            }
            let strip = |field: &[u8]| field.strip_suffix(b"\r").unwrap_or(field).to_vec();
            assert_eq!(
                strip(&old[column]),
                strip(&new[column]),
                "row {number}, {name}"
            );
        }
    }
    for name in &after[0][width..] {
        let name = String::from_utf8_lossy(name);
        assert!(OWN.contains(&name.trim_end_matches('\r')), "{name}");
    }
}

#[test]
fn a_rehearsal_of_an_enqueued_run_completes_six_jobs_and_changes_no_other_cell() {
    let workspace = enqueued();
    let before = workspace.tree();
    let table = workspace.bytes(TABLE);
    let _ = workspace
        .worker(&["--dry-run"])
        .run()
        .expect_code(0)
        .expect_stderr("6 rehearsed, 0 failed");
    assert_rest_untouched(&table, &workspace.bytes(TABLE));
    let registry = workspace.registry();
    assert_eq!((registry.rows.len(), registry.count("completed")), (6, 6));
    for row in &registry.rows {
        assert!(workspace.path(&row["gen_object_path"]).is_file());
        assert_eq!(
            (&row["algo_version"], &row["price_source"]),
            ("dry-run", "dry-run")
        );
    }
    let after = workspace.tree();
    for (name, mark) in before {
        let changes = name == TABLE || name == "logs/worker.log";
        assert!(changes || after.get(&name) == Some(&mark), "{name} changed");
    }
}

#[test]
fn a_rehearsal_of_a_finished_run_skips_all_six_jobs_and_leaves_the_table_alone() {
    let workspace = finished();
    let table = workspace.bytes(TABLE);
    let outputs = workspace.tree();
    let output = workspace
        .worker(&["--dry-run", "--json"])
        .run()
        .expect_code(0);
    let summary = output.json();
    assert_eq!(
        (&summary["processed"], &summary["skipped"]),
        (&0.into(), &6.into())
    );
    assert_eq!(workspace.bytes(TABLE), table);
    let after = workspace.tree();
    for (name, mark) in outputs {
        if name.starts_with("runs/r1/outputs") || name.starts_with("runs/r1/state") {
            assert_eq!(after.get(&name), Some(&mark), "{name}");
        }
    }
}

#[test]
fn a_run_is_rehearsed_then_performed_and_neither_happens_twice() {
    let workspace = enqueued();
    let adapter = b"adapters: {mock: {kind: mock, count_file: count.txt, unit_price_usd: 0.1}}\n";
    workspace.write("config/adapters.yaml", adapter);
    let table = workspace.bytes(TABLE);
    let run = |options: &[&str]| {
        let mut all = vec!["--adapter", "mock", "--json"];
        all.extend(options);
        let output = workspace.worker(&all).run().expect_code(0);
        let summary = output.json();
        let count = |name: &str| summary[name].as_u64().expect("a count");
        (count("completed"), count("skipped"), output)
    };
    let (completed, skipped, _) = run(&["--dry-run"]);
    assert_eq!((completed, skipped), (6, 0));
    let rehearsed = workspace.bytes(TABLE);
    let (completed, skipped, _) = run(&["--dry-run"]);
    assert_eq!((completed, skipped), (0, 6));
    assert_eq!(workspace.bytes(TABLE), rehearsed);
    assert!(!workspace.path("count.txt").exists());

    let (completed, skipped, output) = run(&[]);
    assert_eq!((completed, skipped), (6, 0));
    let _ = output.expect_stderr("6 jobs were only rehearsed so far and will now run for real");
    let performed = workspace.bytes(TABLE);
    let (completed, skipped, _) = run(&[]);
    assert_eq!((completed, skipped), (0, 6));
    assert_eq!(workspace.bytes(TABLE), performed);

    assert_eq!(
        workspace.bytes("count.txt").split(|b| *b == b'\n').count(),
        6 + 1
    );
    assert_rest_untouched(&table, &performed);
    for row in &workspace.registry().rows {
        assert_eq!(
            (&row["algo_version"], &row["price_source"]),
            ("mock-1", "static_table")
        );
        assert!(workspace.path(&row["gen_object_path"]).is_file());
    }
    assert_eq!(workspace.leftovers(), Vec::<String>::new());
}

#[test]
fn a_rehearsal_made_by_the_original_does_not_block_the_performance() {
    let workspace = finished();
    let rehearsals = workspace.registry().rows;
    let rehearsals = rehearsals
        .iter()
        .filter(|row| &row["price_source"] == "dry-run");
    let rehearsals = rehearsals.count() as u64;
    let output = workspace
        .worker(&["--adapter", "mock", "--json"])
        .run()
        .expect_code(0);
    assert_eq!(output.json()["completed"], rehearsals);
    assert_eq!(output.json()["skipped"], 6 - rehearsals);
    let registry = workspace.registry();
    assert_eq!(registry.count("completed"), 6);
    for row in &registry.rows {
        assert!(workspace.path(&row["gen_object_path"]).is_file());
    }
}

#[test]
fn a_table_with_windows_line_ends_keeps_them() {
    let workspace = enqueued();
    let text = String::from_utf8(workspace.bytes(TABLE)).expect("the fixture is text");
    let text = text.replace("\r\n", "\n").replace('\n', "\r\n");
    workspace.write(TABLE, text.as_bytes());
    let _ = workspace.worker(&["--dry-run"]).run().expect_code(0);
    let after = workspace.bytes(TABLE);
    let ends = after.split_inclusive(|byte| *byte == b'\n');
    assert!(ends.into_iter().all(|line| line.ends_with(b"\r\n")));
    assert_rest_untouched(text.as_bytes(), &after);
    assert_eq!(workspace.registry().count("completed"), 6);
}

#[test]
fn a_table_without_byte_order_mark_gets_one() {
    let workspace = enqueued();
    let table = workspace.bytes(TABLE);
    let bare = table.strip_prefix(BOM).unwrap_or(&table).to_vec();
    workspace.write(TABLE, &bare);
    let _ = workspace.worker(&["--dry-run"]).run().expect_code(0);
    let after = workspace.bytes(TABLE);
    let rest = after.strip_prefix(BOM).expect("a byte order mark");
    assert!(!rest.starts_with(BOM));
    assert_rest_untouched(&bare, rest);
}

#[test]
fn the_log_of_the_original_is_moved_once_and_ours_is_json_from_the_first_line() {
    let workspace = enqueued();
    let old = workspace.bytes("logs/worker.log");
    let _ = workspace
        .worker(&["--dry-run", "--limit", "1"])
        .run()
        .expect_code(0)
        .expect_stderr("logs/worker.log.1");
    assert_eq!(workspace.bytes("logs/worker.log.1"), old);
    let second = workspace.worker(&["--dry-run"]).run().expect_code(0);
    assert!(!second.stderr.contains("worker.log."), "{second}");
    assert!(!workspace.path("logs/worker.log.2").exists());
    let log = String::from_utf8(workspace.bytes("logs/worker.log")).expect("text");
    for line in log.lines() {
        let line: serde_json::Value = serde_json::from_str(line).expect("JSON");
        assert!(line["worker_id"].is_string(), "{line}");
        let about_job = line["event"]
            .as_str()
            .is_some_and(|name| name.starts_with("job_"));
        assert_eq!(line["attempt"].is_u64(), about_job, "{line}");
    }
}

#[test]
fn a_result_of_the_original_that_its_row_does_not_know_gets_its_files_into_the_row() {
    let workspace = finished();
    let told = workspace.registry().rows;
    let snapshot = workspace.bytes("tables/generations.phase2.snapshot");
    workspace.write(TABLE, &snapshot);
    // One result has the standard name, one has no model at all.
    let path_of = |index: usize| workspace.path(&told[index]["gen_object_path"]);
    let standard = path_of(0).with_file_name("generated.glb");
    fs::rename(path_of(0), &standard).expect("ours");
    fs::remove_file(path_of(1)).expect("ours");
    let _ = workspace.worker(&["--dry-run"]).run().expect_code(0);
    let registry = workspace.registry();
    assert_eq!(registry.count("completed"), 6);
    for (index, old) in told.iter().enumerate() {
        let row = registry.row("r1", &old["job_id"]);
        let path = match index {
            0 => format!("runs/r1/outputs/{}/generated.glb", &old["job_id"]),
            1 => String::new(),
            _ => old["gen_object_path"].to_owned(),
        };
        assert_eq!(&row["gen_object_path"], path);
        for column in ["preview_1_path", "preview_2_path", "preview_3_path"] {
            assert_eq!(row[column], old[column], "{column}");
        }
    }
}
