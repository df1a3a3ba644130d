//! `batch create` through the real binary: which rows appear, and which never change.

use std::fs;

use serde_json::{Value, json};

use crate::support::binary::{Invocation, Output};
use crate::support::dataset::{build, plain_products, product, products_json};
use crate::support::read::Registry;
use crate::support::workspace::{TestWorkspace, image_set_hash, job_id};
use crate::support::{fixture, python_with_filelock};

const REGISTRY: &str = "tables/generations.csv";

#[track_caller]
fn create(workspace: &TestWorkspace, run: &str, options: &[&str]) -> Output {
    let mut arguments = vec!["batch", "create", "--json", "--run-id", run];
    arguments.extend(options);
    workspace.archi3d(&arguments).run()
}

#[track_caller]
fn created(workspace: &TestWorkspace, run: &str, options: &[&str]) -> Value {
    create(workspace, run, options).expect_code(0).json()
}

fn catalog(products: usize) -> TestWorkspace {
    let workspace = plain_products(products);
    build(&workspace, &[]);
    workspace
}

fn column<'a>(table: &'a Registry, name: &str) -> Vec<&'a str> {
    table.rows.iter().map(|row| &row[name]).collect()
}

fn manifest(workspace: &TestWorkspace, run: &str) -> Registry {
    Registry::read(&workspace.path(&format!("runs/{run}/manifest.csv")))
}

#[test]
fn the_batch_of_an_existing_workspace_is_created_field_by_field_as_it_was() {
    let original = fixture("original_workspace");
    let workspace = TestWorkspace::copy_of(&original, "r1");
    for folder in ["tables", "runs", "logs"] {
        fs::remove_dir_all(workspace.path(folder)).expect("a copy");
    }
    build(&workspace, &["--image-order", "name"]);
    let algos = ["--algos", "trellis_single,tripo3d_v2p5_multi"];
    created(&workspace, "r1", &algos);
    let ours = workspace.registry();
    let theirs = Registry::read(&original.join("tables/generations.phase2.snapshot"));
    assert_eq!(ours.columns, theirs.columns);
    for (our_row, their_row) in ours.rows.iter().zip(&theirs.rows) {
        for name in theirs.columns.iter().filter(|name| *name != "created_at") {
            assert_eq!(our_row[name.as_str()], their_row[name.as_str()], "{name}");
        }
    }
    assert_eq!(ours.rows.len(), theirs.rows.len());
    assert_eq!(
        workspace.bytes("runs/r1/manifest.csv"),
        fs::read(original.join("runs/r1/manifest.csv")).expect("shipped")
    );
    let log = String::from_utf8(workspace.bytes("logs/batch_create.log")).expect("text");
    let ours: Value = serde_json::from_str(log.trim_end()).expect("one JSON line");
    let log = fs::read_to_string(original.join("logs/batch_create.log")).expect("shipped");
    let (_, record) = log.trim_end().split_once(' ').expect("time and record");
    let mut theirs: Value = serde_json::from_str(record).expect("JSON");
    theirs["timestamp"] = ours["timestamp"].clone();
    // As text, so that the order of keys counts.
    assert_eq!(ours.to_string(), theirs.to_string());
}

#[test]
fn text_that_looks_like_a_number_stays_text_in_every_run() {
    let workspace = plain_products(3);
    product(&workspace, "800009 - 007", &["images/a.jpg"]);
    let entry = |id: &str, name: &str| {
        json!({"_id": id, "Name": name, "Manufacturer": "1e5", "ShortDescription": "0012",
            "Categories": ["2025.10"]})
    };
    let names = [
        ("100001", "Uno"),
        ("100002", "214"),
        ("100003", "Tre"),
        ("800009", "NA"),
    ];
    let entries: Vec<Value> = names.iter().map(|(id, name)| entry(id, name)).collect();
    products_json(&workspace, &entries.into());
    build(&workspace, &[]);
    created(&workspace, "ra", &["--algos", "trellis_single"]);
    let first = workspace.bytes(REGISTRY);
    created(&workspace, "rb", &["--algos", "trellis_single"]);
    assert!(
        workspace.bytes(REGISTRY).starts_with(&first),
        "rows of ra changed"
    );
    let table = workspace.registry();
    let expected = ["Uno", "214", "Tre", "NA", "Uno", "214", "Tre", "NA"];
    assert_eq!(column(&table, "product_name"), expected);
    assert_eq!(
        column(&manifest(&workspace, "rb"), "product_name"),
        expected[4..]
    );
    assert_eq!(&table.rows[7]["variant"], "007");
    assert_eq!(&table.rows[7]["description"], "0012");
    assert_eq!(&table.rows[7]["manufacturer"], "1e5");
    assert_eq!(&table.rows[7]["category_l1"], "2025.10");
    let some = created(
        &workspace,
        "rc",
        &["--algos", "trellis_single", "--include", "21"],
    );
    assert_eq!(some["enqueued"], 1);
}

/// Counts the ids of a job whose usual one, 231855873617, looks like a number.
fn longer_ids(ids: &[&str]) -> usize {
    let usual = "231855873617";
    let longer = ids
        .iter()
        .filter(|id| id.starts_with(usual) && **id != usual);
    longer.count()
}

#[test]
fn run_ids_and_job_ids_that_look_like_numbers_are_kept_and_found_again() {
    let workspace = catalog(2);
    product(&workspace, "100427", &["images/p_A.jpg", "images/p_B.jpg"]);
    build(&workspace, &[]);
    let runs = ["20250101", "001", "1e5", "2025.10", "True", "nan"];
    for run in runs {
        assert_eq!(
            created(&workspace, run, &["--algos", "trellis_single"])["enqueued"],
            3
        );
    }
    let before = workspace.bytes(REGISTRY);
    for run in runs {
        let again = created(&workspace, run, &["--algos", "trellis_single"]);
        assert_eq!(again["skip_reasons"], json!({"already_exists": 3}), "{run}");
        let manifest = manifest(&workspace, run);
        assert_eq!(longer_ids(&column(&manifest, "job_id")), 1);
    }
    assert_eq!(workspace.bytes(REGISTRY), before);
    let table = workspace.registry();
    for (index, run) in column(&table, "run_id").into_iter().enumerate() {
        assert_eq!(run, runs[index / 3]);
    }
}

#[test]
fn leading_zeros_stay_in_every_table() {
    let workspace = TestWorkspace::empty();
    product(&workspace, "00123", &["images/a.jpg"]);
    product(&workspace, "100002", &["images/a.jpg"]);
    build(&workspace, &[]);
    created(&workspace, "r", &["--algos", "trellis_single"]);
    created(&workspace, "r", &["--algos", "rodin_multi"]);
    assert_eq!(&workspace.registry().rows[0]["product_id"], "00123");
    assert_eq!(&manifest(&workspace, "r").rows[2]["product_id"], "00123");
}

#[test]
fn a_second_batch_on_a_run_keeps_finished_jobs_in_the_manifest_and_their_rows_as_they_are() {
    let workspace = catalog(3);
    created(&workspace, "r", &["--algos", "rodin_multi"]);
    let text = String::from_utf8(workspace.bytes(REGISTRY)).expect("text");
    let finished = text.replacen(",enqueued,", ",completed,", 2);
    workspace.write(REGISTRY, finished.as_bytes());
    let first = column(&manifest(&workspace, "r"), "job_id").join(" ");
    let report = created(&workspace, "r", &["--algos", "trellis_single,rodin_multi"]);
    assert_eq!(report["enqueued"], 3);
    assert_eq!(report["manifest_jobs"], 6);
    assert!(workspace.bytes(REGISTRY).starts_with(finished.as_bytes()));
    let now = manifest(&workspace, "r");
    let ids = column(&now, "job_id").join(" ");
    assert_eq!(
        ids,
        format!("{first} d610ebfd455b 41ee2eedbabf ad2160b7477b")
    );
}

#[test]
fn a_variant_that_reads_as_nothing_elsewhere_gets_its_job_once() {
    let workspace = TestWorkspace::empty();
    product(&workspace, "800008 - NA", &["images/a.jpg"]);
    product(&workspace, "700009 - ", &["images/a.jpg"]);
    build(&workspace, &[]);
    created(&workspace, "ours", &["--algos", "mock"]);
    let table = workspace.registry();
    assert_eq!(column(&table, "variant"), ["", "NA"]);
    let path = |folder: &str| image_set_hash(&[format!("dataset/{folder}/images/a.jpg")]);
    let ids = [
        job_id("700009", "", "mock", &path("700009 - ")),
        job_id("800008", "NA", "mock", &path("800008 - NA")),
    ];
    assert_eq!(column(&table, "job_id"), ids);
    // Another tool reads `NA` as nothing, so its job of the same item has this id.
    let theirs = job_id("800008", "", "mock", &path("800008 - NA"));
    let text = String::from_utf8(workspace.bytes(REGISTRY)).expect("text");
    let text = text.replace(&ids[1], &theirs).replace(",ours,", ",theirs,");
    workspace.write(REGISTRY, text.as_bytes());
    let report = created(&workspace, "theirs", &["--algos", "mock"]);
    assert_eq!(report["skip_reasons"], json!({"already_exists": 2}));
}

#[test]
fn a_run_id_that_leaves_the_workspace_is_refused_before_anything_is_made() {
    let workspace = catalog(1);
    let before = workspace.tree();
    for run in ["../../escaped", "/abs", "", "..", "a/b"] {
        let _ = create(&workspace, run, &["--algos", "mock"]).expect_code(2);
    }
    assert_eq!(workspace.tree(), before);
    assert!(!workspace.outside().join("escaped").exists());
}

#[test]
fn a_run_id_that_a_spreadsheet_would_run_is_refused() {
    let workspace = catalog(1);
    let before = workspace.tree();
    for run in ["=1+1", "+1", "@x"] {
        let refused = create(&workspace, run, &["--algos", "relief"]);
        let _ = refused
            .expect_code(2)
            .expect_stderr("starts like a formula");
    }
    assert_eq!(workspace.tree(), before);
}

#[test]
fn algos_that_cannot_run_yet_are_planned_with_a_word_of_warning() {
    let workspace = catalog(1);
    let planned = create(&workspace, "r", &["--algos", "trellis_single,relief"]);
    let _ = planned
        .expect_code(0)
        .expect_stderr("algo trellis_single cannot run here (FAL_KEY is not set");
}

#[test]
fn an_unknown_algo_is_refused_with_the_nearest_names() {
    let workspace = catalog(1);
    let before = workspace.tree();
    let _ = create(&workspace, "r", &["--algos", "treliss_single"])
        .expect_code(2)
        .expect_stderr("did you mean trellis_single");
    assert_eq!(workspace.tree(), before);
}

#[test]
fn an_algo_given_twice_counts_once() {
    let workspace = catalog(2);
    let report = created(&workspace, "r", &["--algos", "mock,mock"]);
    assert_eq!(report["enqueued"], 2);
    assert_eq!(report["algos"], json!(["mock"]));
    assert_eq!(workspace.registry().rows.len(), 2);
}

#[test]
fn without_algos_the_first_listed_one_that_can_run_is_taken_and_told() {
    let workspace = catalog(1);
    workspace.write(
        "config/global.yaml",
        b"algorithms: [mock, trellis_single]\n",
    );
    let output = create(&workspace, "r", &[]).expect_code(0);
    assert_eq!(output.json()["algos"], json!(["mock"]));
    let _ = output.expect_stderr("algo: mock, the first that can run here");
}

#[test]
fn ecotest_gives_items_the_algos_that_fit_their_images() {
    let workspace = catalog(1);
    product(&workspace, "5", &["images/only.jpg"]);
    build(&workspace, &[]);
    workspace.write(
        "config/global.yaml",
        b"algorithms: [rodin_multi, trellis_single]\n",
    );
    let report = created(&workspace, "r", &["--algos", "ecotest"]);
    assert_eq!(report["algo_by_images"], true);
    let table = workspace.registry();
    let pairs: Vec<_> = column(&table, "product_id")
        .into_iter()
        .zip(column(&table, "algo"))
        .collect();
    assert_eq!(pairs, [("100001", "rodin_multi"), ("5", "trellis_single")]);
}

#[test]
fn filters_and_limit_are_counted_by_reason() {
    let workspace = catalog(3);
    product(&workspace, "000001", &["gt/m.glb"]);
    product(&workspace, "100004", &["images/a.jpg"]);
    build(&workspace, &[]);
    let options = [
        "--algos",
        "mock",
        "--with-gt-only",
        "--exclude",
        "100001",
        "--limit",
        "1",
    ];
    let report = created(&workspace, "r", &options);
    assert_eq!(report["candidates"], 1);
    assert_eq!(report["enqueued"], 1);
    assert_eq!(
        report["skip_reasons"],
        json!({"filtered_exclude": 1, "no_images": 1})
    );
    assert_eq!(column(&workspace.registry(), "product_id"), ["100002"]);
    let report = created(&workspace, "r2", &["--algos", "mock", "--limit", "-1"]);
    assert_eq!(report["enqueued"], 4);
}

#[test]
fn a_dry_run_writes_only_the_log_line() {
    let workspace = catalog(2);
    created(&workspace, "r", &["--algos", "mock"]);
    let mut before = workspace.tree();
    let report = created(
        &workspace,
        "r",
        &["--algos", "mock,rodin_multi", "--dry-run"],
    );
    assert_eq!(report["enqueued"], 2);
    assert_eq!(report["skip_reasons"], json!({"already_exists": 2}));
    assert_eq!(report["dry_run"], true);
    let mut after = workspace.tree();
    for tree in [&mut before, &mut after] {
        tree.remove("logs/batch_create.log");
    }
    assert_eq!(after, before);
    let log = String::from_utf8(workspace.bytes("logs/batch_create.log")).expect("text");
    assert_eq!(log.lines().count(), 2);
}

#[test]
fn the_same_command_repairs_a_manifest_that_was_never_written() {
    let workspace = catalog(3);
    created(&workspace, "r", &["--algos", "mock"]);
    let whole = workspace.bytes("runs/r/manifest.csv");
    let registry = workspace.bytes(REGISTRY);
    fs::remove_dir_all(workspace.path("runs")).expect("there");
    created(&workspace, "r", &["--algos", "mock"]);
    assert_eq!(workspace.bytes("runs/r/manifest.csv"), whole);
    assert_eq!(workspace.bytes(REGISTRY), registry);
}

#[test]
fn foreign_columns_line_ends_and_rows_keep_their_bytes() {
    let workspace = catalog(1);
    let existing = "\u{feff}review_old,job_id,run_id,status,note \"x\"\r\n\
                    0012,\"j1\",r,completed,1.50\r\nNA,j2,other,failed,\r\n";
    workspace.write(
        REGISTRY,
        existing.replace("note \"x\"", "remark").as_bytes(),
    );
    created(&workspace, "r", &["--algos", "mock"]);
    let table = workspace.registry();
    assert_eq!(
        table.columns[..5],
        ["review_old", "job_id", "run_id", "status", "remark"]
    );
    assert!(
        !table.columns.contains(&"notes".to_owned()),
        "nothing to say in it"
    );
    assert_eq!(table.rows.len(), 3);
    let text = String::from_utf8(workspace.bytes(REGISTRY)).expect("text");
    assert!(text.contains("\r\n0012,\"j1\",r,completed,1.50,"), "{text}");
    assert_eq!(text.matches('\n').count(), text.matches("\r\n").count());
    assert_eq!(&table.rows[2]["run_id"], "r");
    assert_eq!(&table.rows[2]["review_old"], "");
    // A row without an algo is somebody's note, not a job.
    let listed = manifest(&workspace, "r");
    assert!(!column(&listed, "job_id").contains(&"j1"));
}

#[test]
fn batches_created_at_the_same_time_lose_no_row() {
    let workspace = catalog(5);
    let algos = ["mock", "trellis_single", "rodin_multi", "tripoSR_single"];
    let running: Vec<_> = algos
        .iter()
        .map(|algo| {
            let arguments = ["batch", "create", "--run-id", "r", "--algos", algo];
            workspace.archi3d(&arguments).spawn()
        })
        .collect();
    for process in running {
        let _ = process.wait().expect_code(0);
    }
    assert_eq!(workspace.registry().rows.len(), 20);
    assert_eq!(manifest(&workspace, "r").rows.len(), 20);
    assert_eq!(workspace.leftovers(), [""; 0]);
}

#[test]
fn tables_that_cannot_be_used_are_named_and_left_alone() {
    let workspace = plain_products(1);
    let _ = create(&workspace, "r", &["--algos", "mock"])
        .expect_code(2)
        .expect_stderr("catalog build");
    build(&workspace, &[]);
    for (bytes, message) in [
        (&b"product_id,algo\n1,x\n"[..], "run_id"),
        (b"", "the file is empty"),
        (b"run_id,job_id\n\"r,1\n", "never closed"),
    ] {
        workspace.write(REGISTRY, bytes);
        let _ = create(&workspace, "r", &["--algos", "mock"])
            .expect_code(2)
            .expect_stderr("generations.csv")
            .expect_stderr(message);
        assert_eq!(workspace.bytes(REGISTRY), bytes);
        assert!(!workspace.path("runs/r").exists());
    }
}

#[test]
fn a_run_without_a_name_is_named_after_the_time() {
    let workspace = catalog(1);
    let arguments = ["batch", "create", "--json", "--algos", "mock"];
    let report = workspace.archi3d(&arguments).run().expect_code(0).json();
    let name = report["run_id"].as_str().expect("text");
    let shape: String = name
        .chars()
        .map(|c| if c.is_ascii_digit() { '0' } else { c })
        .collect();
    assert_eq!(shape, "0000-00-00T00-00-00Z");
    assert!(
        workspace
            .path(&format!("runs/{name}/manifest.csv"))
            .exists()
    );
}

#[test]
fn a_worker_runs_what_was_created_whatever_the_names_look_like() {
    let workspace = TestWorkspace::empty();
    for folder in [
        "00123",
        "800008 - NA",
        "700009 - ",
        "800009 - 007",
        "100427",
    ] {
        product(&workspace, folder, &["images/p_A.jpg", "images/p_B.jpg"]);
    }
    build(&workspace, &[]);
    for run in ["20250101", "nan"] {
        created(&workspace, run, &["--algos", "trellis_single"]);
        let worker = ["run", "worker", "--run-id", run, "--dry-run"];
        let _ = workspace.archi3d(&worker).run().expect_code(0);
    }
    let table = workspace.registry();
    assert_eq!(table.rows.len(), 10);
    assert_eq!(column(&table, "status"), ["completed"; 10]);
    assert_eq!(&table.rows[0]["product_id"], "00123");
    assert_eq!(longer_ids(&column(&table, "job_id")), 2);
    // More jobs for a run that has results leave those alone.
    let before = workspace.bytes(REGISTRY);
    let report = created(&workspace, "nan", &["--algos", "trellis_single,mock"]);
    assert_eq!(report["manifest_jobs"], 10);
    assert!(workspace.bytes(REGISTRY).starts_with(&before));
}

/// Reads tables as text and writes them again, which must give the same bytes.
const ROUND_TRIP: &str = "
import sys, pandas
for path in sys.argv[1:]:
    table = pandas.read_csv(path, dtype=str, keep_default_na=False, encoding='utf-8-sig')
    text = table.to_csv(index=False, lineterminator='\\n').encode('utf-8-sig')
    assert text == open(path, 'rb').read(), path
    print(path, len(table))
";

#[test]
fn pandas_reads_every_table_and_writes_the_same_bytes() {
    let Some(python) = python_with_filelock("newest") else {
        return;
    };
    let workspace = plain_products(2);
    product(
        &workspace,
        "00123 - Già \"speciale\", blu",
        &["images/fóto_A.png"],
    );
    product(
        &workspace,
        "800008 - NA",
        &["images/a.jpg", "gt/a.fbx", "gt/b.fbx"],
    );
    let text = json!([{"_id": "00123", "Name": "due\nrighe, \"virgolette\"",
        "Manufacturer": "=1+1", "ShortDescription": " 1.50 ", "Categories": "🪑 > x;y"}]);
    products_json(&workspace, &text);
    build(&workspace, &[]);
    created(&workspace, "001", &["--algos", "mock,rodin_multi"]);
    let tables = [
        ("tables/items.csv", 4),
        ("tables/items_issues.csv", 2),
        (REGISTRY, 8),
        ("runs/001/manifest.csv", 8),
    ];
    let round_trip = || {
        let mut arguments = vec!["-c".to_owned(), ROUND_TRIP.to_owned()];
        arguments.extend(tables.map(|(path, _)| path.to_owned()));
        let mut output = Invocation::program(&python, arguments)
            .current_dir(workspace.root())
            .run()
            .expect_code(0);
        for (path, rows) in tables {
            output = output.expect_stdout(&format!("{path} {rows}"));
        }
    };
    round_trip();
    // After results and failures, and after the table was consolidated.
    let worker = workspace.archi3d(&["run", "worker", "--run-id", "001"]);
    let _ = worker.run().expect_code(1);
    round_trip();
    let consolidate = workspace.archi3d(&["consolidate", "--run-id", "001"]);
    let _ = consolidate.run().expect_code(0);
    round_trip();
}
