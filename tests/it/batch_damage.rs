//! `batch create` after a writer died: half a manifest, half a registry, nothing at all.

use std::fs;

use crate::support::binary::Output;
use crate::support::dataset::{build, plain_products, product};
use crate::support::read::Registry;
use crate::support::workspace::TestWorkspace;

const REGISTRY: &str = "tables/generations.csv";
const MANIFEST: &str = "runs/r/manifest.csv";

fn create(workspace: &TestWorkspace) -> Output {
    let arguments = ["batch", "create", "--run-id", "r", "--algos", "mock"];
    workspace.archi3d(&arguments).run()
}

/// Three products, the last with names that take quotes and more than one byte a letter.
fn batch() -> TestWorkspace {
    let workspace = plain_products(2);
    let folder = "900000 - Già \"speciale\", blu";
    product(&workspace, folder, &["images/fóto_A.png", "images/b.png"]);
    build(&workspace, &[]);
    let _ = create(&workspace).expect_code(0);
    workspace
}

#[test]
fn a_manifest_cut_at_any_byte_is_made_whole_by_the_same_command() {
    let workspace = batch();
    let whole = workspace.bytes(MANIFEST);
    let registry = workspace.bytes(REGISTRY);
    let text = String::from_utf8_lossy(&whole).into_owned();
    let last_row = text.trim_end().rfind('\n').expect("rows") + 1;
    let header_end = text.find('\n').expect("a header");
    let in_last_row = (last_row..whole.len() - 8).step_by(7);
    for end in [0, 3, 10, header_end, header_end + 1]
        .into_iter()
        .chain(in_last_row)
    {
        workspace.write(MANIFEST, &whole[..end]);
        let _ = create(&workspace).expect_code(0);
        let now = Registry::read(&workspace.path(MANIFEST));
        let mended = workspace.bytes(MANIFEST);
        let (now_text, cut) = (String::from_utf8_lossy(&mended), &whole[..end]);
        assert_eq!(
            now_text.trim_end(),
            text.trim_end(),
            "cut at {end}: {cut:?}"
        );
        assert_eq!(now.rows.len(), 3, "cut at {end}");
    }
    assert_eq!(workspace.bytes(REGISTRY), registry);
}

#[test]
fn a_manifest_row_that_names_other_pictures_than_the_registry_is_made_again_and_told() {
    let workspace = batch();
    let whole = workspace.bytes(MANIFEST);
    let text = String::from_utf8(whole.clone()).expect("text");
    let fewer = text.replacen("dataset/100001/images/p_B.jpg", "", 1);
    workspace.write(MANIFEST, fewer.as_bytes());
    let _ = create(&workspace)
        .expect_code(0)
        .expect_stderr("1 row of")
        .expect_stderr("made again");
    assert_eq!(workspace.bytes(MANIFEST), whole);
}

#[test]
fn a_registry_that_ends_within_a_row_is_refused_with_the_line() {
    let workspace = batch();
    let whole = workspace.bytes(REGISTRY);
    let text = String::from_utf8(whole.clone()).expect("text");
    let end = text.rfind(",mock,").expect("the algo of the last row");
    workspace.write(REGISTRY, &whole[..end]);
    let before = workspace.tree();
    let _ = create(&workspace)
        .expect_code(2)
        .expect_stderr("generations.csv: line 4: the last row is cut off")
        .expect_stderr("remove that line");
    assert_eq!(workspace.tree(), before);
    let last_row = text[..end].rfind('\n').expect("rows") + 1;
    workspace.write(REGISTRY, &whole[..last_row]);
    let _ = create(&workspace).expect_code(0).expect_stdout("1 job");
    assert_eq!(workspace.registry().rows.len(), 3);
    assert_eq!(Registry::read(&workspace.path(MANIFEST)).rows.len(), 3);
}

#[test]
fn an_empty_registry_is_refused_with_the_remedy() {
    let workspace = batch();
    workspace.write(REGISTRY, b"");
    let _ = create(&workspace)
        .expect_code(2)
        .expect_stderr("the file is empty")
        .expect_stderr("restore the file from a backup, or remove it");
    assert_eq!(workspace.bytes(REGISTRY), b"");
}

#[test]
fn a_death_between_registry_and_manifest_is_repaired_by_the_same_command() {
    let workspace = batch();
    let whole = workspace.bytes(MANIFEST);
    let text = String::from_utf8(whole.clone()).expect("text");
    let first_rows = text.match_indices('\n').nth(1).expect("rows").0 + 1;
    for old in [None, Some(&whole[..first_rows])] {
        match old {
            Some(old) => workspace.write(MANIFEST, old),
            None => fs::remove_file(workspace.path(MANIFEST)).expect("there"),
        }
        workspace.write("runs/r/.manifest.csv.dead.tmp", b"half");
        workspace.write("tables/.generations.csv.dead.tmp", b"half");
        let _ = create(&workspace).expect_code(0).expect_stdout("0 jobs");
        assert_eq!(workspace.bytes(MANIFEST), whole);
    }
    product(&workspace, "5", &["images/a.jpg"]);
    build(&workspace, &[]);
    let _ = create(&workspace).expect_code(0);
    assert_eq!(workspace.leftovers(), [""; 0]);
}
