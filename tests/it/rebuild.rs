//! `registry rebuild`: a registry that was lost or spoilt comes back byte for byte.

use std::fs;

use serde_json::Value;

use crate::support::binary::Output;
use crate::support::dataset::{build, plain_products, products_json};
use crate::support::workspace::TestWorkspace;

const REGISTRY: &str = "tables/generations.csv";

const MOCKS: &str = "adapters:
  good: {kind: mock, unit_price_usd: 0.02, price_source: list}
  bad: {kind: mock, fail: always}
  waits: {kind: mock, wait_file: go}
";

/// A workspace with products, two runs whose rows are mixed in one table, and mocks.
fn mixed_runs() -> TestWorkspace {
    let workspace = plain_products(4);
    let entries: Vec<Value> = (100_001..100_005)
        .map(|id| {
            serde_json::json!({"_id": id.to_string(), "Name": format!("Chair, \"no. {id}\""),
                "Manufacturer": "0012", "ShortDescription": "two\nlines", "Categories": ["a", "b"]})
        })
        .collect();
    products_json(&workspace, &entries.into());
    workspace.write("config/adapters.yaml", MOCKS.as_bytes());
    build(&workspace, &[]);
    create(&workspace, "r1", "good", &["--include", "100001"]);
    create(&workspace, "r2", "good", &[]);
    create(&workspace, "r1", "bad,good", &[]);
    workspace
}

#[track_caller]
fn create(workspace: &TestWorkspace, run: &str, algos: &str, more: &[&str]) {
    let mut arguments = vec!["batch", "create", "--run-id", run, "--algos", algos];
    arguments.extend(more);
    let _ = workspace.archi3d(&arguments).run().expect_code(0);
}

#[track_caller]
fn work(workspace: &TestWorkspace, run: &str, options: &[&str], code: i32) {
    let mut arguments = vec!["run", "worker", "--run-id", run];
    arguments.extend(options);
    let _ = workspace.archi3d(&arguments).run().expect_code(code);
}

#[track_caller]
fn rebuild(workspace: &TestWorkspace, options: &[&str]) -> Output {
    let mut arguments = vec!["registry", "rebuild"];
    arguments.extend(options);
    workspace.archi3d(&arguments).run()
}

#[track_caller]
fn comes_back_after(workspace: &TestWorkspace, harm: impl Fn(&TestWorkspace)) {
    let before = workspace.bytes(REGISTRY);
    harm(workspace);
    let said = rebuild(workspace, &[]).expect_code(0);
    let after = workspace.bytes(REGISTRY);
    assert_eq!(
        String::from_utf8_lossy(&after),
        String::from_utf8_lossy(&before),
        "{said}"
    );
}

fn lose(workspace: &TestWorkspace) {
    fs::remove_file(workspace.path(REGISTRY)).expect("it is there");
}

/// Returns the names beside the registry that begin like it.
fn kept(workspace: &TestWorkspace) -> Vec<String> {
    let names = workspace.tree().into_keys();
    names
        .filter(|name| name.starts_with("tables/generations.csv.before-rebuild-"))
        .collect()
}

#[test]
fn a_deleted_registry_comes_back_byte_for_byte_at_every_stage_of_a_run() {
    let workspace = mixed_runs();
    comes_back_after(&workspace, lose);
    work(&workspace, "r1", &["--dry-run"], 0);
    comes_back_after(&workspace, lose);
    work(&workspace, "r1", &["--limit", "3"], 1);
    comes_back_after(&workspace, lose);
    work(&workspace, "r1", &["--max-parallel", "3"], 1);
    work(&workspace, "r2", &[], 0);
    comes_back_after(&workspace, lose);
    work(&workspace, "r1", &["--only-status", "failed"], 1);
    work(&workspace, "r1", &["--redo", "--limit", "2"], 0);
    comes_back_after(&workspace, lose);
    create(&workspace, "r3", "good", &[]);
    create(&workspace, "r2", "bad", &[]);
    work(&workspace, "r3", &[], 0);
    comes_back_after(&workspace, lose);
    assert_eq!(
        kept(&workspace),
        Vec::<String>::new(),
        "there was nothing to keep"
    );
}

#[test]
fn a_spoilt_registry_comes_back_and_is_kept_as_it_was() {
    let workspace = mixed_runs();
    work(&workspace, "r1", &[], 1);
    work(&workspace, "r2", &[], 0);
    let whole = workspace.bytes(REGISTRY);
    let write = |bytes: &[u8]| workspace.write(REGISTRY, bytes);
    let text = String::from_utf8(whole.clone()).expect("text");
    let line_of_r2 = text.find(",r2,").expect("a row of r2");
    let harms: [(&str, Vec<u8>); 7] = [
        ("empty", Vec::new()),
        ("noise", (0..=255u8).cycle().take(4000).collect()),
        ("cut in a row", whole[..whole.len() * 2 / 3].to_vec()),
        (
            "cut in a quote",
            whole[..text.rfind("\"two").expect("quoted") + 3].to_vec(),
        ),
        ("one row gone", {
            let start = text[..line_of_r2].rfind("\"two").expect("its text");
            let start = text[..start].rfind("\n100").expect("its start") + 1;
            let end = text[line_of_r2..].find("\n100").expect("the next") + line_of_r2 + 1;
            [&whole[..start], &whole[end..]].concat()
        }),
        ("zeros dropped", text.replace(",0012,", ",12,").into_bytes()),
        (
            "states undone",
            text.replace(",completed,", ",enqueued,").into_bytes(),
        ),
    ];
    for (number, (name, bytes)) in harms.iter().enumerate() {
        assert_ne!(*bytes, whole, "{name} harms nothing");
        write(bytes);
        let before = kept(&workspace);
        let said = rebuild(&workspace, &[]).expect_code(0);
        let again = workspace.bytes(REGISTRY);
        assert_eq!(String::from_utf8_lossy(&again), text, "{name}: {said}");
        let new: Vec<String> = kept(&workspace)
            .into_iter()
            .filter(|name| !before.contains(name))
            .collect();
        assert_eq!(new.len(), 1, "{name}: harm {number} is kept");
        assert_eq!(workspace.bytes(&new[0]), *bytes, "{name}");
        // Whole copies would help the next harm.
        fs::remove_file(workspace.path(&new[0])).expect("it is there");
    }
}

#[test]
fn what_no_record_knows_is_kept_from_the_table_and_from_copies_of_it() {
    let workspace = mixed_runs();
    work(&workspace, "r2", &[], 0);
    let text = String::from_utf8(workspace.bytes(REGISTRY)).expect("text");
    // Another tool adds a column and a row of a run that has no folder; somebody takes notes.
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .from_reader(text.trim_start_matches('\u{feff}').as_bytes());
    let mut writer = csv::WriterBuilder::new().from_writer(Vec::new());
    let mut foreign = None;
    for (number, record) in reader.records().enumerate() {
        let mut cells: Vec<String> = record.expect("a row").iter().map(str::to_owned).collect();
        cells.push(if number == 0 {
            "fscore".into()
        } else {
            format!("0.{number}0")
        });
        if number == 2 {
            cells[30] = "look again".into();
            let mut other = cells.clone();
            other[16] = "elsewhere".into();
            foreign = Some(other);
        }
        writer.write_record(&cells).expect("written");
    }
    writer
        .write_record(foreign.expect("a row"))
        .expect("written");
    let bytes = writer.into_inner().expect("flushed");
    let table = format!("\u{feff}{}", String::from_utf8(bytes).expect("text"));
    workspace.write(REGISTRY, table.as_bytes());
    let said = rebuild(&workspace, &["--json"]).expect_code(0).json();
    assert_eq!(said["unchanged"], true, "{said}");
    assert_eq!(said["unrecorded"], 1, "{said}");
    // The table is lost, but a sync program has left a copy.
    fs::rename(
        workspace.path(REGISTRY),
        workspace.path("tables/generations (1).csv"),
    )
    .expect("renamed");
    let said = rebuild(&workspace, &[]).expect_code(0);
    assert_eq!(
        String::from_utf8_lossy(&workspace.bytes(REGISTRY)),
        table,
        "{said}"
    );
    // Lost together with the copy, only what is ours comes back.
    fs::remove_file(workspace.path("tables/generations (1).csv")).expect("there");
    lose(&workspace);
    let _ = rebuild(&workspace, &[]).expect_code(0);
    assert_eq!(String::from_utf8_lossy(&workspace.bytes(REGISTRY)), text);
}

#[test]
fn a_run_without_a_record_of_its_rows_comes_back_from_manifest_items_and_markers() {
    let workspace = mixed_runs();
    work(&workspace, "r2", &[], 0);
    let before = workspace.registry();
    for run in ["r1", "r2"] {
        fs::remove_file(workspace.path(&format!("runs/{run}/rows.csv"))).expect("recorded");
    }
    lose(&workspace);
    let said = rebuild(&workspace, &["--json"]).expect_code(0).json();
    assert_eq!(said["from_manifest"], before.rows.len(), "{said}");
    let after = workspace.registry();
    assert_eq!(after.columns, before.columns);
    assert_eq!(after.rows.len(), before.rows.len());
    for row in &before.rows {
        let again = after.row(&row["run_id"], &row["job_id"]);
        for column in before.columns.iter().filter(|name| *name != "created_at") {
            assert_eq!(again[column.as_str()], row[column.as_str()], "{column}");
        }
        assert_eq!(&again["created_at"], "");
    }
}

#[test]
fn a_rehearsal_of_the_rebuild_and_one_into_another_file_leave_everything_as_it_is() {
    let workspace = mixed_runs();
    work(&workspace, "r1", &[], 1);
    let whole = workspace.bytes(REGISTRY);
    workspace.write(REGISTRY, &whole[..whole.len() / 2]);
    let before = workspace.tree();
    let said = rebuild(&workspace, &["--dry-run", "--json"]).expect_code(0);
    assert!(said.json()["restored"].as_u64() > Some(0), "{said}");
    let elsewhere = workspace.outside().join("again.csv");
    let path = elsewhere.to_str().expect("text");
    let _ = rebuild(&workspace, &["--output", path]).expect_code(0);
    assert_eq!(fs::read(&elsewhere).expect("written"), whole);
    let _ = rebuild(&workspace, &["--output", path])
        .expect_code(2)
        .expect_stderr("is there already");
    assert_eq!(workspace.tree(), before);
}

#[test]
fn one_run_is_made_again_beside_others_and_a_mistyped_one_leaves_no_trace() {
    let workspace = mixed_runs();
    work(&workspace, "r1", &[], 1);
    work(&workspace, "r2", &[], 0);
    let whole = String::from_utf8(workspace.bytes(REGISTRY)).expect("text");
    let spoilt = whole.replace(",completed,", ",enqueued,");
    workspace.write(REGISTRY, spoilt.as_bytes());
    let _ = rebuild(&workspace, &["--run-id", "r2"]).expect_code(0);
    let table = workspace.registry();
    let statuses = |run: &str| -> Vec<String> {
        let rows = table.rows.iter().filter(|row| &row["run_id"] == run);
        rows.map(|row| row["status"].to_owned()).collect()
    };
    assert!(statuses("r2").iter().all(|status| status == "completed"));
    assert!(!statuses("r1").iter().any(|status| status == "completed"));
    let before = workspace.tree();
    let _ = rebuild(&workspace, &["--run-id", "r7"]).expect_code(2);
    assert_eq!(workspace.tree(), before);
    lose(&workspace);
    let _ = rebuild(&workspace, &["--run-id", "r1"])
        .expect_code(2)
        .expect_stderr("leave --run-id out");
    assert!(!workspace.path(REGISTRY).exists());
}

#[test]
fn a_registry_that_is_lost_while_a_worker_works_comes_back_and_the_worker_goes_on() {
    let workspace = plain_products(3);
    workspace.write("config/adapters.yaml", MOCKS.as_bytes());
    build(&workspace, &[]);
    create(&workspace, "rk", "waits", &[]);
    let worker = workspace.worker(&["--max-parallel", "2"]).spawn();
    crate::support::wait_until("two running rows", || {
        workspace.path(REGISTRY).exists() && workspace.registry().count("running") == 2
    });
    comes_back_after(&workspace, lose);
    workspace.write("go", b"");
    let _ = worker.wait().expect_code(0);
    assert_eq!(workspace.registry().count("completed"), 3);
    comes_back_after(&workspace, lose);
    assert_eq!(workspace.leftovers(), Vec::<String>::new());
}

#[test]
fn a_worker_killed_at_work_leaves_a_registry_that_can_be_made_again() {
    let workspace = plain_products(3);
    workspace.write("config/adapters.yaml", MOCKS.as_bytes());
    build(&workspace, &[]);
    create(&workspace, "rk", "waits", &[]);
    let worker = workspace.worker(&["--max-parallel", "2"]).spawn();
    crate::support::wait_until("two running rows", || {
        workspace.registry().count("running") == 2
    });
    let _ = worker.kill();
    comes_back_after(&workspace, lose);
    workspace.write("go", b"");
    let _ = workspace
        .worker(&["--only-status", "enqueued,running"])
        .run()
        .expect_code(0);
    comes_back_after(&workspace, lose);
}

#[test]
fn line_ends_of_the_table_come_back_too() {
    let workspace = mixed_runs();
    let text = String::from_utf8(workspace.bytes(REGISTRY)).expect("text");
    // As if all had been made on Windows; line feeds inside quotes stay.
    let crlf = |text: &str| {
        text.replace('\n', "\r\n")
            .replace("two\r\nlines", "two\nlines")
    };
    workspace.write(REGISTRY, crlf(&text).as_bytes());
    create(&workspace, "r4", "good", &[]);
    work(&workspace, "r4", &[], 0);
    comes_back_after(&workspace, lose);
}

#[test]
fn what_consolidate_found_missing_stays_found() {
    let workspace = mixed_runs();
    work(&workspace, "r2", &[], 0);
    let job = workspace.registry().rows[1]["job_id"].to_owned();
    fs::remove_file(workspace.path(&format!("runs/r2/outputs/{job}/generated.glb"))).expect("made");
    let _ = workspace
        .archi3d(&["consolidate", "--run-id", "r2"])
        .run()
        .expect_code(0);
    assert_eq!(&workspace.registry().row("r2", &job)["status"], "failed");
    let said = rebuild(&workspace, &["--json"]).expect_code(0).json();
    assert_eq!(said["unchanged"], true, "{said}");
}

#[test]
fn nothing_recorded_and_no_table_is_said_plainly() {
    let workspace = TestWorkspace::empty();
    workspace.write("tables/items.csv", b"");
    let _ = rebuild(&workspace, &[])
        .expect_code(2)
        .expect_stderr("nothing is recorded");
}

#[test]
fn a_lost_manifest_lists_the_same_jobs_again_and_no_others() {
    let workspace = mixed_runs();
    create(&workspace, "some", "good", &["--include", "100002"]);
    let before = workspace.bytes("runs/some/manifest.csv");
    let table = workspace.bytes(REGISTRY);
    fs::remove_file(workspace.path("runs/some/manifest.csv")).expect("there");
    let said = rebuild(&workspace, &["--run-id", "some", "--dry-run"]).expect_code(0);
    let _ = said
        .expect_stdout("jobs would be listed again from the rows: runs/some/manifest.csv: 1 job");
    assert!(!workspace.path("runs/some/manifest.csv").exists());
    let _ = rebuild(&workspace, &["--run-id", "some"]).expect_code(0);
    assert_eq!(workspace.bytes("runs/some/manifest.csv"), before);
    fs::remove_dir_all(workspace.path("runs/some")).expect("there");
    let _ = rebuild(&workspace, &["--run-id", "some"]).expect_code(0);
    assert_eq!(workspace.bytes("runs/some/manifest.csv"), before);
    assert_eq!(workspace.bytes(REGISTRY), table);
    work(&workspace, "some", &[], 0);
    let again = rebuild(&workspace, &[]).expect_code(0);
    let _ = again.expect_stdout("nothing was written");
}
