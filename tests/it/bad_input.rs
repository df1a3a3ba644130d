//! Requests and tables that cannot be used: a message that names the file and the next step, an
//! exit code for "wrong request or set-up", and not a byte changed.

use std::fs;

use crate::support::{Invocation, TestWorkspace};

const TABLE: &str = "tables/generations.csv";
const MANIFEST: &str = "runs/rk/manifest.csv";

fn one_job() -> TestWorkspace {
    TestWorkspace::with_products(1).build()
}

fn text_of(workspace: &TestWorkspace, below: &str) -> String {
    String::from_utf8(workspace.bytes(below)).expect("tables are text")
}

/// Demands that a dry run and a status refuse the workspace, say why, and change nothing.
#[track_caller]
fn assert_refused(workspace: &TestWorkspace, phrases: &[&str]) {
    let before = workspace.tree();
    let status = workspace.archi3d(&["run", "status", "--run-id", "rk"]);
    for invocation in [workspace.worker(&["--dry-run"]), status] {
        let mut output = invocation.run().expect_code(2).expect_stderr("hint: ");
        for phrase in phrases {
            output = output.expect_stderr(phrase);
        }
        assert!(!output.stderr.contains("panicked"), "{output}");
        assert_eq!(before, workspace.tree(), "{output}");
    }
}

/// Demands that a changed registry is refused.
#[track_caller]
fn assert_table_refused(change: impl FnOnce(&TestWorkspace) -> Vec<u8>, phrases: &[&str]) {
    let workspace = one_job();
    let bytes = change(&workspace);
    workspace.write(TABLE, &bytes);
    let mut all = vec![TABLE];
    all.extend(phrases);
    assert_refused(&workspace, &all);
}

#[test]
fn a_workspace_that_is_not_there_or_not_a_folder_is_named() {
    let workspace = one_job();
    let missing = workspace.outside().join("nowhere");
    let file = workspace.outside().join("file");
    fs::write(&file, b"x").expect("temporary folders are writable");
    for (path, name) in [(&missing, "nowhere"), (&file, "file")] {
        let _ = Invocation::archi3d(["run", "worker", "--run-id", "rk", "--workspace"])
            .arg(path)
            .run()
            .expect_code(2)
            .expect_stderr(name);
    }
    assert!(!missing.exists());
    assert_eq!(fs::read(&file).expect("still there"), b"x");
    let _ = Invocation::archi3d(["run", "worker", "--run-id", "rk"])
        .run()
        .expect_code(2)
        .expect_stderr("--workspace");
}

#[test]
fn an_empty_folder_is_no_workspace_with_a_registry() {
    let workspace = TestWorkspace::empty();
    assert_refused(&workspace, &[TABLE, "no such table"]);
}

#[test]
fn a_run_that_does_not_exist_is_refused_and_not_created() {
    let workspace = one_job();
    let before = workspace.tree();
    for run in ["typo", "../../escaped", "a/b", "", ".", "CON", "x.lock"] {
        let _ = workspace
            .archi3d(&["run", "worker", "--run-id", run, "--dry-run"])
            .run()
            .expect_code(2);
    }
    let _ = workspace
        .archi3d(&["run", "worker", "--run-id", "typo"])
        .run()
        .expect_code(2)
        .expect_stderr("run typo does not exist")
        .expect_stderr("check --run-id");
    assert_eq!(before, workspace.tree());
    assert!(!workspace.outside().join("escaped").exists());
}

#[test]
fn a_manifest_that_is_missing_empty_or_no_file_is_refused() {
    let workspace = one_job();
    fs::remove_file(workspace.path(MANIFEST)).expect("it was made");
    assert_refused(&workspace, &[MANIFEST, "the run has no manifest"]);
    workspace.write(MANIFEST, b"");
    assert_refused(&workspace, &[MANIFEST, "empty"]);
    workspace.write(MANIFEST, b"product_id,algo\n1,mock\n");
    assert_refused(&workspace, &[MANIFEST, "job_id"]);
    fs::remove_file(workspace.path(MANIFEST)).expect("it was made");
    fs::create_dir(workspace.path(MANIFEST)).expect("the name is free");
    assert_refused(&workspace, &[MANIFEST, "expected a table, found a folder"]);
}

#[test]
fn jobs_that_only_one_of_the_tables_has_are_reported_and_left_out() {
    let workspace = TestWorkspace::with_products(3).build();
    let (first, last) = (workspace.id(0).to_owned(), workspace.id(2).to_owned());
    let without = |below: &str, id: &str| {
        let text = text_of(&workspace, below);
        let lines = text.split_inclusive('\n').filter(|line| !line.contains(id));
        workspace.write(below, lines.collect::<String>().as_bytes());
    };
    without(TABLE, &first);
    without(MANIFEST, &last);
    let _ = workspace
        .worker(&["--dry-run"])
        .run()
        .expect_code(0)
        .expect_stderr("1 job of the manifest has no row")
        .expect_stderr("1 job of tables/generations.csv is not in the manifest");
    assert_eq!(workspace.log().jobs("job_completed"), [workspace.id(1)]);
    assert_eq!(&workspace.row(&last)["status"], "enqueued");
}

#[test]
fn a_registry_without_its_key_columns_is_refused() {
    for column in ["run_id", "job_id", "status"] {
        let rename = |workspace: &TestWorkspace| {
            let text = text_of(workspace, TABLE);
            text.replacen(&format!(",{column},"), ",other,", 1)
                .into_bytes()
        };
        assert_table_refused(rename, &["has no column", column]);
    }
}

#[test]
fn a_header_in_other_case_is_refused_with_the_name_it_must_have() {
    let shout = |workspace: &TestWorkspace| {
        let text = text_of(workspace, TABLE);
        text.replacen(",job_id,", ",Job_ID,", 1).into_bytes()
    };
    assert_table_refused(
        shout,
        &["\"job_id\"", "\"Job_ID\"", "hint: rename the column"],
    );
}

#[test]
fn a_table_parted_by_semicolons_or_tabs_is_refused_with_a_hint() {
    for (delimiter, name) in [(";", "semicolons"), ("\t", "tabs")] {
        let save = |workspace: &TestWorkspace| {
            text_of(workspace, TABLE)
                .replace(',', delimiter)
                .into_bytes()
        };
        assert_table_refused(save, &[name, "hint: save the file as CSV with commas"]);
    }
}

#[test]
fn text_that_is_not_utf_8_is_refused_or_kept_by_where_it_stands() {
    let utf16 = |workspace: &TestWorkspace| {
        let text = text_of(workspace, TABLE);
        text.encode_utf16().flat_map(u16::to_le_bytes).collect()
    };
    assert_table_refused(utf16, &["UTF-16", "hint: save the file as CSV in UTF-8"]);

    let workspace = TestWorkspace::with_products(2).build();
    let foreign = replace(&workspace.bytes(TABLE), b"Maker", b"M\xe9ker");
    workspace.write(TABLE, &foreign);
    let _ = workspace.worker(&["--dry-run"]).run().expect_code(0);
    let after = workspace.bytes(TABLE);
    assert_eq!(
        after
            .windows(5)
            .filter(|found| found == b"M\xe9ker")
            .count(),
        2
    );
}

#[test]
fn a_key_that_is_not_utf_8_is_reported_and_its_row_left_alone() {
    let workspace = TestWorkspace::with_products(2).build();
    let id = workspace.id(0).as_bytes().to_vec();
    let mut broken = id.clone();
    broken[3] = 0xe9;
    let table = replace(&workspace.bytes(TABLE), &id, &broken);
    workspace.write(TABLE, &table);
    // The other job runs; the one whose id was changed is left behind, and that is told.
    let output = workspace
        .worker(&["--dry-run"])
        .run()
        .expect_code(1)
        .expect_stderr("tables/generations.csv line 2")
        .expect_stderr("registry rebuild");
    assert!(output.stderr.contains("1 rehearsed"), "{output}");
    let line = |bytes: &[u8]| bytes.split(|b| *b == b'\n').nth(1).map(<[u8]>::to_vec);
    let (old, new) = (line(&table), line(&workspace.bytes(TABLE)));
    let (old, new) = (old.expect("a row"), new.expect("a row"));
    assert!(new.starts_with(&old), "{}", String::from_utf8_lossy(&new));
    assert!(new[old.len()..].iter().all(|byte| *byte == b','));
}

fn replace(bytes: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut rest = bytes;
    while let Some(byte) = rest.first() {
        if let Some(after) = rest.strip_prefix(from) {
            out.extend(to);
            rest = after;
        } else {
            out.push(*byte);
            rest = &rest[1..];
        }
    }
    out
}

#[test]
fn damaged_headers_and_quotes_are_refused() {
    let add = |text: &'static [u8]| {
        move |workspace: &TestWorkspace| [&workspace.bytes(TABLE), text].concat()
    };
    assert_table_refused(
        add(b"\"never closed,1,2\n"),
        &["line 3", "never closed", "cut off"],
    );
    assert_table_refused(|_| Vec::new(), &["empty", "hint: restore the file"]);
    assert_table_refused(|_| b"\n\n\n".to_vec(), &["no header"]);
    let twice = |workspace: &TestWorkspace| {
        text_of(workspace, TABLE)
            .replacen(",notes", ",variant", 1)
            .into_bytes()
    };
    assert_table_refused(twice, &["\"variant\" twice", "hint: rename or remove"]);
    let two_marks =
        |workspace: &TestWorkspace| [&b"\xef\xbb\xbf"[..], &workspace.bytes(TABLE)].concat();
    assert_table_refused(two_marks, &["byte order marks"]);
}

#[test]
fn odd_but_usable_tables_are_used_as_they_are() {
    let workspace = TestWorkspace::with_products(2).build();
    let text = text_of(&workspace, TABLE);
    let odd = format!(
        "{}\n\nshort,row\n",
        text.trim_end().replace(",Maker,", ",\"a\rb\0\",")
    );
    workspace.write(TABLE, odd.trim_end().as_bytes());
    let _ = workspace.worker(&["--dry-run"]).run().expect_code(0);
    let after = text_of(&workspace, TABLE);
    assert_eq!(after.matches("\"a\rb\0\"").count(), 2);
    assert!(after.ends_with("\n\nshort,row"), "{after:?}");
    assert_eq!(workspace.log().events("job_completed").len(), 2);
}

#[test]
fn an_unknown_status_is_left_alone_with_a_warning() {
    for status in ["on hold", " Enqueued "] {
        let workspace = TestWorkspace::with_products(1).status(status).build();
        let table = workspace.bytes(TABLE);
        let _ = workspace
            .worker(&["--dry-run"])
            .run()
            .expect_code(0)
            .expect_stderr("warning: ")
            .expect_stderr(&format!("{status:?}"));
        assert_eq!(table, workspace.bytes(TABLE));
        assert_eq!(workspace.log().summary()["skipped"], 1);
    }
}
