//! Job ids that a spreadsheet has changed: the row is no job of its own, the cause and the cure are
//! named, and ids that look like numbers are not made any more.

use std::fs;

use crate::support::TestWorkspace;
use crate::support::mocks::{COUNT_FILE, executions};
use crate::support::workspace::{image_set_hash, job_id};

const TABLE: &str = "tables/generations.csv";
const ALL: &str = "enqueued,running,failed,completed";

/// An id, and what a spreadsheet may save in its place.
const CHANGES: &[(&str, &str)] = &[
    ("123456789012", "1.23457E+11"),
    ("123456789012", "\"1,23457E+11\""),
    ("123456789012", "123456789012.0"),
    ("001234567890", "1234567890"),
    ("12345678e123", "1.2345678E+130"),
    ("d610ebfd455b", "D610EBFD455B"),
    ("123456789012", "Jan 23"),
];

fn workspace(id: &str) -> TestWorkspace {
    TestWorkspace::with_products(2)
        .algo("tool")
        .job_ids([id])
        .adapters(&format!(
            "adapters: {{tool: {{kind: mock, count_file: {COUNT_FILE}}}}}\n"
        ))
        .build()
}

fn change(workspace: &TestWorkspace, id: &str, cell: &str) {
    let table = String::from_utf8(workspace.bytes(TABLE)).expect("text");
    let changed = table.replace(&format!(",rk,{id},"), &format!(",rk,{cell},"));
    assert_ne!(changed, table);
    workspace.write(TABLE, changed.as_bytes());
}

#[test]
fn a_row_whose_id_a_spreadsheet_changed_never_runs_and_rebuild_sets_it_right() {
    for (id, cell) in CHANGES {
        for status in ["completed", "failed", "running", "enqueued"] {
            let workspace = workspace(id);
            let _ = workspace.worker(&[]).run().expect_code(0);
            let whole = workspace.bytes(TABLE);
            change(&workspace, id, cell);
            let table = String::from_utf8(workspace.bytes(TABLE)).expect("text");
            let lines = table.split_inclusive('\n').map(|line| {
                if line.contains(&format!(",rk,{cell},")) {
                    line.replace(",completed,", &format!(",{status},"))
                } else {
                    line.to_owned()
                }
            });
            workspace.write(TABLE, lines.collect::<String>().as_bytes());
            let _ = workspace.worker(&["--only-status", ALL]).run();
            let _ = workspace
                .worker(&["--only-status", "enqueued,running,failed"])
                .run();
            assert_eq!(executions(&workspace).len(), 2, "{cell} {status}");
            let rebuild = ["registry", "rebuild", "--run-id", "rk"];
            let _ = workspace.archi3d(&rebuild).run().expect_code(0);
            assert_eq!(workspace.bytes(TABLE), whole, "{cell} {status}");
        }
    }
}

#[test]
fn doctor_names_the_cause_and_the_cure_of_a_changed_id() {
    let workspace = workspace("123456789012");
    change(&workspace, "123456789012", "1.23457E+11");
    let output = workspace.archi3d(&["doctor", "--json"]).run();
    let found = output.json();
    let findings = found["findings"].as_array().expect("a list");
    let of = |code: &str| findings.iter().find(|finding| finding["code"] == code);
    let altered = of("altered_id")
        .unwrap_or_else(|| panic!("{output}"))
        .to_string();
    for word in [
        "123456789012 is 1.23457E+11",
        "spreadsheet",
        "registry rebuild --run-id rk",
    ] {
        assert!(altered.contains(word), "no {word} in {altered}");
    }
    assert!(of("job_without_row").is_none(), "{output}");
    assert!(of("row_not_in_manifest").is_none(), "{output}");
    let _ = workspace
        .worker(&["--dry-run"])
        .run()
        .expect_stderr("a spreadsheet has changed the id of 1 job");
}

#[test]
fn neither_batch_create_nor_doctor_makes_a_job_of_a_changed_id() {
    let workspace = made_by_batch();
    let (id, cell) = (workspace.1.as_str(), workspace.1.to_uppercase());
    let workspace = &workspace.0;
    change(workspace, id, &cell);
    let _ = workspace.archi3d(&["doctor", "--fix", "--yes"]).run();
    let create = ["batch", "create", "--run-id", "rk", "--algos", "tool"];
    let _ = workspace.archi3d(&create).run();
    for file in ["runs/rk/manifest.csv", "runs/rk/rows.csv"] {
        let text = String::from_utf8(workspace.bytes(file)).expect("text");
        assert!(!text.contains(&cell), "{file}: {text}");
    }
    let rebuild = ["registry", "rebuild", "--run-id", "rk"];
    let _ = workspace.archi3d(&rebuild).run().expect_code(0);
    let rows = workspace.registry().rows;
    assert_eq!(rows.len(), 1, "the job has one row");
    assert_eq!(&rows[0]["job_id"], id);
}

/// Makes a run of one product with `batch create`; returns its job.
fn made_by_batch() -> (TestWorkspace, String) {
    let workspace = with_item("100001");
    let create = ["batch", "create", "--run-id", "rk", "--algos", "tool"];
    let _ = workspace.archi3d(&create).run().expect_code(0);
    let id = workspace.registry().rows[0]["job_id"].to_owned();
    (workspace, id)
}

fn with_item(product: &str) -> TestWorkspace {
    let workspace = TestWorkspace::empty();
    let image = format!("dataset/{product}/images/p_A.jpg");
    workspace.write(&image, &[0xff, 0xd8, 0xff, 0xd9]);
    workspace.write("config/adapters.yaml", b"adapters: {tool: {kind: mock}}\n");
    let _ = workspace
        .archi3d(&["catalog", "build"])
        .run()
        .expect_code(0);
    workspace
}

/// Returns a product whose usual id looks like a number.
fn numeric_product() -> (String, String) {
    (1..)
        .find_map(|number: u32| {
            let product = number.to_string();
            let hash = image_set_hash(&[format!("dataset/{product}/images/p_A.jpg")]);
            let id = job_id(&product, "default", "tool", &hash);
            let others = id.bytes().filter(|byte| !byte.is_ascii_digit());
            let numeric = others.clone().all(|byte| byte == b'e') && others.count() <= 1;
            numeric.then_some((product, id))
        })
        .expect("one in 230")
}

#[test]
fn new_ids_do_not_look_like_numbers_and_old_ones_are_kept() {
    let (product, usual) = numeric_product();
    let workspace = with_item(&product);
    let create = ["batch", "create", "--run-id", "rk", "--algos", "tool"];
    let _ = workspace.archi3d(&create).run().expect_code(0);
    let id = workspace.registry().rows[0]["job_id"].to_owned();
    assert!(id != usual && id.starts_with(&usual), "{id}");
    let _ = workspace.archi3d(&create).run().expect_code(0);
    assert_eq!(workspace.registry().rows.len(), 1);

    // A run that an earlier version made, also where its rows are lost.
    for file in [TABLE, "runs/rk/manifest.csv", "runs/rk/rows.csv"] {
        let text = String::from_utf8(workspace.bytes(file)).expect("text");
        workspace.write(file, text.replace(&id, &usual).as_bytes());
    }
    let _ = workspace.archi3d(&create).run().expect_code(0);
    assert_eq!(workspace.registry().rows.len(), 1);
    fs::remove_file(workspace.path("runs/rk/rows.csv")).expect("there");
    let text = String::from_utf8(workspace.bytes(TABLE)).expect("text");
    let header = text.split_inclusive('\n').next().expect("a header");
    workspace.write(TABLE, header.as_bytes());
    let _ = workspace.archi3d(&create).run().expect_code(0);
    let rows = workspace.registry().rows;
    let ids: Vec<&str> = rows.iter().map(|row| &row["job_id"]).collect();
    assert_eq!(ids, [usual.as_str()]);
}

#[test]
fn a_table_in_another_encoding_keeps_its_bytes_and_gets_no_mark_that_says_utf8() {
    let (workspace, _) = made_by_batch();
    let text = String::from_utf8(workspace.bytes(TABLE)).expect("text");
    // Somebody writes a note and saves in the encoding of their country.
    let text = text.trim_start_matches('\u{feff}').trim_end().to_owned() + "\u{fc}ber\n";
    let latin: Vec<u8> = text
        .chars()
        .map(|c| u8::try_from(u32::from(c)).expect("Latin-1"))
        .collect();
    workspace.write(TABLE, &latin);
    let _ = workspace
        .worker(&[])
        .run()
        .expect_code(0)
        .expect_stderr("is not UTF-8");
    let bytes = workspace.bytes(TABLE);
    assert!(!bytes.starts_with(b"\xef\xbb\xbf"), "it is not UTF-8");
    assert!(
        bytes.windows(4).any(|word| word == b"\xfcber"),
        "the note is kept"
    );
    assert!(
        bytes.windows(9).any(|word| word == b"completed"),
        "the row is up to date"
    );
    let output = workspace.archi3d(&["doctor"]).run();
    assert!(format!("{output}").contains("encoding"), "{output}");
}
