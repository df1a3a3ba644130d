//! Disks that are full or may not be written: an exit code for "the store or the disk failed", a
//! message that names the file and the next step, and nothing lost once the cause is gone.

use std::fs;

use crate::support::binary::Output;
use crate::support::{Mount, TestWorkspace};

const TABLE: &str = "tables/generations.csv";

/// Copies what `workspace` holds onto a small file system mounted over it.
fn on_small_disk(workspace: &TestWorkspace, bytes: u64) -> Option<Mount> {
    let files: Vec<(String, Vec<u8>)> = workspace
        .tree()
        .into_keys()
        .filter(|name| !name.ends_with('/'))
        .map(|name| (name.clone(), workspace.bytes(&name)))
        .collect();
    let mount = Mount::small(workspace.root(), bytes)?;
    for (name, bytes) in files {
        workspace.write(&name, &bytes);
    }
    Some(mount)
}

/// Fills the disk up to the last so many bytes.
fn fill(workspace: &TestWorkspace, leave: usize) {
    let ballast = workspace.path("ballast");
    let mut bytes = Vec::new();
    for piece in [1 << 16, 1 << 12] {
        loop {
            bytes.resize(bytes.len() + piece, b'x');
            if fs::write(&ballast, &bytes).is_err() {
                bytes.truncate(bytes.len() - piece);
                break;
            }
        }
    }
    bytes.truncate(bytes.len().saturating_sub(leave));
    fs::write(&ballast, &bytes).expect("it fits");
}

fn executions(workspace: &TestWorkspace, folder: &str) -> Vec<String> {
    let text = fs::read_to_string(workspace.path(folder)).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

#[test]
fn nothing_is_started_in_a_workspace_that_cannot_be_written() {
    let workspace = TestWorkspace::with_products(2).algo("mock").build();
    let before = workspace.tree();
    let Some(mount) = Mount::read_only(workspace.root()) else {
        return;
    };
    let output = workspace
        .worker(&[])
        .run()
        .expect_stderr("Read-only file system");
    let output = output.expect_stderr(&workspace.root().display().to_string());
    let output = output.expect_stderr("hint: ");
    assert!(matches!(output.code(), Some(2 | 3)), "{output}");
    let status = ["run", "status", "--run-id", "rk"];
    let _ = workspace
        .archi3d(&status)
        .run()
        .expect_code(0)
        .expect_stdout("2");
    assert_eq!(before, workspace.tree());
    drop(mount);
    let _ = workspace.worker(&[]).run().expect_code(0);
}

#[test]
fn a_table_that_cannot_be_written_costs_no_result() {
    let workspace = TestWorkspace::with_products(2)
        .algo("mock")
        .adapters("adapters: {mock: {kind: mock, count_file: count.txt}}\n")
        .build();
    let table = workspace.bytes(TABLE);
    workspace.write("tables/generations.lock", b"");
    let Some(mount) = Mount::read_only(&workspace.path("tables")) else {
        return;
    };
    let output = workspace
        .worker(&[])
        .run()
        .expect_stderr("tables/generations");
    assert!(matches!(output.code(), Some(2 | 3)), "{output}");
    assert_eq!(workspace.bytes(TABLE), table);
    let before = executions(&workspace, "count.txt").len();
    drop(mount);
    let _ = workspace.worker(&[]).run().expect_code(0);
    assert_eq!(workspace.registry().count("completed"), 2);
    assert_eq!(
        executions(&workspace, "count.txt").len(),
        2,
        "{before} before"
    );
}

#[test]
fn a_full_disk_stops_the_worker_and_loses_nothing() {
    fill_page_by_page((0..4).chain((JOURNAL_PAGES..JOURNAL_PAGES + 40).step_by(2)));
}

#[test]
fn a_disk_that_is_full_a_page_later_loses_nothing_either() {
    fill_page_by_page((JOURNAL_PAGES + 1..JOURNAL_PAGES + 40).step_by(2));
}

/// The room that a worker's journal takes before anything else happens.
const JOURNAL_PAGES: usize = 64;

/// From no room at all to room for all jobs, so that every step meets the end of the disk once.
fn fill_page_by_page(room: impl Iterator<Item = usize>) {
    let mut stopped = 0;
    for pages in room {
        let workspace = TestWorkspace::with_products(6)
            .algo("mock")
            .adapters("adapters: {mock: {kind: mock, count_file: ../count.txt}}\n")
            .build();
        let Some(mount) = on_small_disk(&workspace, 1 << 20) else {
            return;
        };
        fill(&workspace, pages * 4096);
        let output = workspace.worker(&[]).run();
        if output.code() == Some(0) {
            assert_eq!(workspace.registry().count("completed"), 6, "{output}");
            continue;
        }
        stopped += 1;
        assert_stopped_by_full_disk(&workspace, &output);
        let finished = workspace.jobs_with("completed");
        fs::remove_file(workspace.path("ballast")).expect("it was made");
        let again = workspace.worker(&[]).run();
        let both = format!("with {pages} pages left: {output}\nthen: {again}");
        assert_eq!(again.code(), Some(0), "{both}");
        assert_eq!(workspace.registry().count("completed"), 6, "{both}");
        assert_eq!(workspace.leftovers(), Vec::<String>::new(), "{both}");
        let counted = executions(&workspace, "../count.txt");
        assert!(
            counted.len() <= 7,
            "only one job may have been in vain: {both}"
        );
        for job in finished {
            let times = counted.iter().filter(|line| line.starts_with(&job));
            assert_eq!(times.count(), 1, "{job} was finished and ran again: {both}");
        }
        drop(mount);
    }
    assert!(stopped > 10, "{stopped}");
}

#[test]
fn a_full_disk_buys_nothing_that_could_be_copied() {
    let mut stopped = 0;
    for pages in JOURNAL_PAGES..JOURNAL_PAGES + 20 {
        let workspace = TestWorkspace::with_products(3)
            .algo("mock")
            .adapters("adapters: {mock: {kind: mock, count_file: ../count.txt}}\n")
            .build();
        let Some(mount) = on_small_disk(&workspace, 1 << 20) else {
            return;
        };
        let _ = workspace.worker(&["--limit", "1"]).run().expect_code(0);
        fill(&workspace, pages * 4096);
        let output = workspace.worker(&["--reuse"]).run();
        stopped += usize::from(output.code() != Some(0));
        fs::remove_file(workspace.path("ballast")).expect("it was made");
        let again = workspace.worker(&["--reuse"]).run();
        let both = format!("with {pages} pages left: {output}\nthen: {again}");
        assert_eq!(workspace.registry().count("completed"), 3, "{both}");
        assert_eq!(executions(&workspace, "../count.txt").len(), 1, "{both}");
        drop(mount);
    }
    assert!(stopped > 3, "{stopped}");
}

#[track_caller]
fn assert_stopped_by_full_disk(workspace: &TestWorkspace, output: &Output) {
    assert_eq!(output.code(), Some(3), "{output}");
    let said = |text: &str| output.stderr.contains(text);
    let steps = ["hint: ", "Free some space", "brings them in"];
    assert!(steps.iter().any(|step| said(step)), "{output}");
    assert!(said("No space left") || said("is full"), "{output}");
    let root = workspace.root().display().to_string();
    assert!(said(&root), "{output}");
    let registry = workspace.registry();
    assert_eq!(
        (registry.rows.len(), registry.count("failed")),
        (6, 0),
        "{output}"
    );
    // Only what is made and waits for the next start is still held.
    for job in workspace.jobs_with("inprogress") {
        let waits = format!("job {job} is made and could not be recorded");
        assert!(said(&waits), "{output}");
    }
}
