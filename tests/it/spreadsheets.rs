//! Job ids that a spreadsheet has changed: the row is no job of its own, the cause and the cure are
//! named, and ids that look like numbers are not made any more.

use std::fs;
use std::io::Write as _;

use crate::support::mocks::{COUNT_FILE, executions};
use crate::support::process::shell;
use crate::support::workspace::{image_set_hash, job_id};
use crate::support::{TestWorkspace, wait_until};

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

const CREATE: [&str; 6] = ["batch", "create", "--run-id", "rk", "--algos", "tool"];
const REBUILD: [&str; 4] = ["registry", "rebuild", "--run-id", "rk"];

/// Three products made by `batch create`, with an adapter that counts.
fn three_made() -> TestWorkspace {
    let workspace = TestWorkspace::empty();
    for product in ["100001", "100002", "100003"] {
        let image = format!("dataset/{product}/images/p_A.jpg");
        workspace.write(&image, &[0xff, 0xd8, 0xff, 0xd9]);
    }
    let adapters = format!("adapters: {{tool: {{kind: mock, count_file: {COUNT_FILE}}}}}\n");
    workspace.write("config/adapters.yaml", adapters.as_bytes());
    for arguments in [&["catalog", "build"][..], &CREATE] {
        let _ = workspace.archi3d(arguments).run().expect_code(0);
    }
    workspace
}

/// Gives two rows each other's cell, as a column that is sorted alone.
fn swap(workspace: &TestWorkspace, column: &str) {
    let rows = workspace.registry().rows;
    let (a, b) = (rows[0][column].to_owned(), rows[1][column].to_owned());
    let table = String::from_utf8(workspace.bytes(TABLE)).expect("text");
    let lines = table.split_inclusive('\n').enumerate().map(|(at, line)| {
        let cells = line.split(',').map(|cell| match (at, cell) {
            (1, cell) if cell == a => b.as_str(),
            (2, cell) if cell == b => a.as_str(),
            _ => cell,
        });
        cells.collect::<Vec<_>>().join(",")
    });
    let swapped: String = lines.collect();
    assert_ne!(swapped, table);
    workspace.write(TABLE, swapped.as_bytes());
}

#[test]
fn rows_whose_ids_or_products_changed_places_do_not_run_until_rebuild_has_set_them_right() {
    for column in ["job_id", "product_id"] {
        for recorded in [true, false] {
            let workspace = three_made();
            let whole = workspace.bytes(TABLE);
            if !recorded {
                fs::remove_file(workspace.path("runs/rk/rows.csv")).expect("there");
            }
            swap(&workspace, column);
            let swapped = workspace.bytes(TABLE);
            let manifest = workspace.bytes("runs/rk/manifest.csv");
            let _ = workspace
                .archi3d(&["run", "plan", "rk"])
                .run()
                .expect_stdout("registry rebuild");
            let _ = workspace
                .archi3d(&CREATE)
                .run()
                .expect_code(2)
                .expect_stderr("registry rebuild --run-id rk");
            let output = workspace.archi3d(&["doctor", "--fix", "--yes"]).run();
            assert!(format!("{output}").contains("registry rebuild"), "{output}");
            assert_eq!(workspace.bytes(TABLE), swapped, "{column}");
            assert_eq!(workspace.bytes("runs/rk/manifest.csv"), manifest);
            let _ = workspace
                .worker(&[])
                .run()
                .expect_code(1)
                .expect_stderr("registry rebuild");
            assert_eq!(executions(&workspace).len(), 1, "{column}: the third runs");
            let _ = workspace.archi3d(&REBUILD).run().expect_code(0);
            let _ = workspace.worker(&[]).run().expect_code(0);
            assert_eq!(executions(&workspace).len(), 3, "{column}");
            let before = String::from_utf8(whole).expect("text");
            for row in workspace.registry().rows {
                let line = before.lines().find(|line| line.contains(&row["job_id"]));
                let line = line.unwrap_or_else(|| panic!("no {} before", &row["job_id"]));
                assert!(line.starts_with(&row["product_id"]), "{column}: {line}");
                assert!(line.contains(&row["used_image_1_path"]), "{column}: {line}");
                assert!(row["gen_object_path"].contains(&row["job_id"]), "{column}");
            }
            let _ = workspace.archi3d(&["doctor"]).run().expect_code(0);
        }
    }
}

#[test]
fn pictures_that_changed_places_in_the_table_do_not_change_the_manifest() {
    let workspace = three_made();
    let manifest = workspace.bytes("runs/rk/manifest.csv");
    swap(&workspace, "used_image_1_path");
    let _ = workspace.archi3d(&CREATE).run().expect_code(0);
    assert_eq!(workspace.bytes("runs/rk/manifest.csv"), manifest);
}

#[test]
fn rows_that_change_places_after_a_part_of_the_work_get_no_model_of_another_product() {
    for mends in [&[][..], &["doctor", "--fix", "--yes"], &["run", "list"]] {
        let workspace = three_made();
        let _ = workspace.worker(&["--limit", "1"]).run().expect_code(0);
        let whole = workspace.bytes(TABLE);
        swap(&workspace, "job_id");
        // A start looks at every row, and a third job runs.
        let _ = workspace.worker(&[]).run().expect_code(1);
        if !mends.is_empty() {
            let _ = workspace.archi3d(mends).run();
        }
        let _ = workspace.archi3d(&REBUILD).run().expect_code(0);
        let _ = workspace.worker(&[]).run().expect_code(0);
        assert_eq!(executions(&workspace).len(), 3);
        let before = String::from_utf8(whole).expect("text");
        for row in workspace.registry().rows {
            let id = row["job_id"].to_owned();
            let line = before.lines().find(|line| line.contains(&id));
            assert!(line.expect("a row").starts_with(&row["product_id"]));
            assert!(row["gen_object_path"].contains(&id), "{row:?}");
        }
    }
}

#[test]
fn rows_that_change_places_after_the_work_are_told_and_set_right() {
    let workspace = three_made();
    let _ = workspace.worker(&[]).run().expect_code(0);
    let whole = workspace.bytes(TABLE);
    swap(&workspace, "job_id");
    let output = workspace.archi3d(&["doctor"]).run().expect_code(1);
    assert!(format!("{output}").contains("sorted alone"), "{output}");
    let _ = workspace
        .worker(&["--only-status", ALL])
        .run()
        .expect_code(1);
    let _ = workspace.archi3d(&REBUILD).run().expect_code(0);
    assert_eq!(workspace.bytes(TABLE), whole);
    assert_eq!(executions(&workspace).len(), 3);
}

#[test]
fn batch_create_makes_no_second_job_of_an_id_that_was_changed() {
    let cut = |id: &str| id[..id.len() - 1].to_owned();
    let number = |_: &str| "1.15947E+14".to_owned();
    let upper = |id: &str| id.to_uppercase();
    let changes: [&dyn Fn(&str) -> String; 3] = [&cut, &number, &upper];
    for (at, change) in changes.iter().enumerate() {
        for (worked, listed) in [(true, true), (false, true), (false, false)] {
            let workspace = three_made();
            if worked {
                let _ = workspace.worker(&[]).run().expect_code(0);
            }
            let whole = workspace.bytes(TABLE);
            let mut table = String::from_utf8(whole.clone()).expect("text");
            for row in workspace.registry().rows {
                let (id, cell) = (&row["job_id"], change(&row["job_id"]));
                table = table.replace(&format!(",rk,{id},"), &format!(",rk,{cell},"));
            }
            workspace.write(TABLE, table.as_bytes());
            if !listed {
                fs::remove_file(workspace.path("runs/rk/manifest.csv")).expect("there");
            }
            let records = || {
                let files = ["runs/rk/manifest.csv", "runs/rk/rows.csv"];
                files.map(|file| fs::read(workspace.path(file)).ok())
            };
            let before = records();
            for _ in 0..2 {
                let _ = workspace
                    .archi3d(&CREATE)
                    .run()
                    .expect_code(2)
                    .expect_stderr("registry rebuild --run-id rk");
                let _ = workspace.archi3d(&["doctor", "--fix", "--yes"]).run();
            }
            assert_eq!(records(), before, "change {at}");
            if listed {
                let output = workspace.worker(&["--only-status", ALL]).run();
                let output = output.expect_stderr("registry rebuild");
                assert!(!output.stderr.contains("batch create"), "{output}");
            }
            let _ = workspace.archi3d(&REBUILD).run().expect_code(0);
            assert_eq!(workspace.bytes(TABLE), whole, "change {at}");
            let _ = workspace.archi3d(&CREATE).run().expect_code(0);
            let _ = workspace.worker(&[]).run().expect_code(0);
            assert_eq!(executions(&workspace).len(), 3, "change {at}");
        }
    }
}

#[test]
fn rows_that_change_places_during_the_work_are_told_by_the_worker_and_set_right() {
    let workspace = shell(2, "", &[]);
    let (a, b) = (workspace.id(0).to_owned(), workspace.id(1).to_owned());
    let script = format!(
        "W=$ARCHI3D_WORKSPACE; [ -e $W/done ] || flock $W/tables/generations.lock \
         sed -i 's/,{a},/,other,/;s/,{b},/,{a},/;s/,other,/,{b},/' $W/tables/generations.csv; \
         touch $W/done; cp $W/cube.glb generated.glb"
    );
    workspace.write("make.sh", script.as_bytes());
    let product = |job: &str| workspace.row(job)["product_id"].to_owned();
    let before = (product(&a), product(&b));
    let _ = workspace
        .worker(&[])
        .run()
        .expect_code(1)
        .expect_stderr("registry rebuild --run-id rk");
    assert_eq!((product(&b), product(&a)), before, "they changed places");
    let _ = workspace.archi3d(&["doctor"]).run().expect_code(1);
    let _ = workspace.archi3d(&REBUILD).run().expect_code(0);
    assert_eq!((product(&a), product(&b)), before);
    for job in [&a, &b] {
        let row = workspace.row(job);
        assert_eq!(&row["status"], "completed");
        assert!(row["gen_object_path"].contains(job.as_str()));
    }
    let _ = workspace
        .worker(&["--only-status", ALL])
        .run()
        .expect_code(0);
}

#[test]
fn a_table_that_is_just_being_saved_is_read_once_it_is_whole() {
    let workspace = TestWorkspace::with_products(3)
        .algo("tool")
        .adapters("adapters: {tool: {kind: mock, wait_file: go}}\n")
        .build();
    let worker = workspace.worker(&[]).spawn();
    let running = |text: &str| text.contains(",running,");
    let table = || String::from_utf8(workspace.bytes(TABLE)).expect("text");
    wait_until("a job runs", || running(&table()));
    // Rows of another run, saved in place, in two parts of which the first ends within a line.
    let mut text = table();
    let row = text.lines().last().expect("a row").to_owned();
    for number in 0..50 {
        let foreign = row.replacen(",rk,", &format!(",other-{number},"), 1);
        text.push_str(&foreign);
        text.push('\n');
    }
    let mut file = fs::File::create(workspace.path(TABLE)).expect("emptied");
    let (first, rest) = text.as_bytes().split_at(text.len() / 2 + 7);
    assert!(!first.ends_with(b"\n"));
    file.write_all(first).expect("written");
    workspace.write("go", b"");
    wait_until("every job has ended", || {
        let ids = workspace.jobs().iter().map(|job| &job.id);
        let mut ended = ids.map(|id| workspace.run_path(&format!("state/{id}.completed")));
        ended.all(|path| path.exists())
    });
    // Longer than a worker lets a table rest between two changes.
    std::thread::sleep(std::time::Duration::from_millis(700));
    file.write_all(rest).expect("written");
    drop(file);
    let said = worker.wait().expect_code(0);
    let table = table();
    assert_eq!(table.matches(",other-").count(), 50, "{said}{table}");
    assert_eq!(workspace.registry().count("completed"), 3, "{said}");
}

#[test]
fn what_is_saved_in_place_while_a_worker_writes_the_table_is_kept() {
    // Before the worker's table takes its name, and right after.
    for moment in ["replace.synced", "replace.renamed"] {
        let workspace = TestWorkspace::with_products(2)
            .algo("tool")
            .adapters("adapters: {tool: {kind: mock, wait_file: go}}\n")
            .build();
        let stays = format!("{moment}=1*sleep(3000)->off");
        let worker = workspace.worker(&[]).env("FAILPOINTS", stays).spawn();
        let table = || String::from_utf8(workspace.bytes(TABLE)).expect("text");
        let is_beside = || {
            let files = fs::read_dir(workspace.path("tables")).expect("readable");
            let mut names = files.map(|file| file.expect("readable").file_name());
            names.any(|name| name.to_string_lossy().ends_with(".tmp"))
        };
        wait_until("the table is written", || match moment {
            "replace.synced" => is_beside(),
            _ => table().contains(",running,"),
        });
        let mut text = table();
        let row = text.lines().last().expect("a row").to_owned();
        for number in 0..50 {
            text.push_str(&row.replacen(",rk,", &format!(",other-{number},"), 1));
            text.push('\n');
        }
        let mut file = fs::File::create(workspace.path(TABLE)).expect("emptied");
        file.write_all(text.as_bytes()).expect("written");
        drop(file);
        workspace.write("go", b"");
        let said = worker.wait().expect_code(0);
        let table = table();
        assert_eq!(
            table.matches(",other-").count(),
            50,
            "{moment}: {said}{table}"
        );
        assert_eq!(
            workspace.registry().count("completed"),
            2,
            "{moment}: {said}"
        );
    }
}
