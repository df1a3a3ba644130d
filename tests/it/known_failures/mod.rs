//! What workers of this kind have got wrong before, each through the real binary: W1 to W24 are
//! the names of these failures, and every test stands under the one it keeps from coming back.
//! Here are the helpers they share.

mod bytes;
mod contention;
mod death;
mod identifiers;
mod retry;
mod stop;

use std::fmt::Write as _;
use std::fs::{self, File};
use std::path::Path;

use crate::support::TestWorkspace;
use crate::support::read::Row;
use crate::support::workspace::WorkspaceBuilder;

/// A job of the algorithm `slow` runs until somebody stops it.
const FOR_EVER: u32 = 600_000;

/// Where the mocks of [`mocks`] note every execution.
const COUNT_FILE: &str = "executions.txt";

/// Returns an `adapters.yaml` in which `trellis_single` works at once, `slow` takes `slow_ms`, and
/// each further algorithm fails with its text (in YAML's double quotes).
fn mocks(slow_ms: u32, failing: &[(&str, &str)]) -> String {
    let mut yaml = format!(
        "adapters:\n  \
         trellis_single: {{kind: mock, count_file: {COUNT_FILE}}}\n  \
         slow: {{kind: mock, count_file: {COUNT_FILE}, sleep_ms: {slow_ms}, \
         unit_price_usd: 0.02, price_source: static_table}}\n"
    );
    for (algo, text) in failing {
        writeln!(
            yaml,
            "  {algo}: {{kind: mock, count_file: {COUNT_FILE}, fail: \"{text}\"}}"
        )
        .expect("text takes everything");
    }
    yaml
}

/// Starts a workspace whose jobs all work at once.
fn quick(products: usize) -> WorkspaceBuilder {
    TestWorkspace::with_products(products).adapters(&mocks(FOR_EVER, &[]))
}

/// Gives one job another algorithm, in both tables.
fn set_algo(workspace: &TestWorkspace, index: usize, algo: &str) {
    for table in ["tables/generations.csv", "runs/rk/manifest.csv"] {
        edit_line(workspace, table, workspace.id(index), |line| {
            line.replace(",trellis_single,", &format!(",{algo},"))
        });
    }
}

/// Changes the lines of a table that name a job, as text.
fn edit_line(workspace: &TestWorkspace, table: &str, job: &str, change: impl Fn(&str) -> String) {
    let text = text_of(workspace, table);
    let lines = text.split_inclusive('\n').map(|line| {
        if line.contains(job) {
            change(line)
        } else {
            line.to_owned()
        }
    });
    workspace.write(table, lines.collect::<String>().as_bytes());
}

/// Returns a file of the workspace as text.
fn text_of(workspace: &TestWorkspace, below: &str) -> String {
    String::from_utf8(workspace.bytes(below)).expect("it is text")
}

/// Returns the ids of all jobs executed so far, in order.
fn executions(workspace: &TestWorkspace) -> Vec<String> {
    let text = fs::read_to_string(workspace.path(COUNT_FILE)).unwrap_or_default();
    let ids = text.lines().filter_map(|line| line.split(' ').next());
    ids.map(str::to_owned).collect()
}

/// Returns the statuses of the run's rows, in manifest order.
fn statuses(workspace: &TestWorkspace) -> Vec<String> {
    let registry = workspace.registry();
    let jobs = workspace.jobs().iter();
    jobs.map(|job| registry.row("rk", &job.id)["status"].to_owned())
        .collect()
}

/// Holds a lock as another program does, until dropped.
#[must_use]
fn hold(path: &Path) -> File {
    let folder = path.parent().expect("a lock lies in a folder");
    fs::create_dir_all(folder).expect("temporary folders are writable");
    let file = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(path)
        .expect("temporary folders are writable");
    file.lock().expect("the lock is free or soon will be");
    file
}

/// Demands that a row has everything a worker writes about a result.
#[track_caller]
fn assert_complete(workspace: &TestWorkspace, row: &Row) {
    assert_eq!(&row["status"], "completed", "{row:?}");
    for column in [
        "generation_start",
        "generation_end",
        "generation_duration_s",
        "gen_object_path",
        "preview_1_path",
        "preview_2_path",
        "worker_host",
        "worker_user",
        "worker_env",
    ] {
        assert!(!row[column].is_empty(), "{column} is empty in {row:?}");
    }
    for (column, value) in [
        ("algo_version", "mock-1"),
        ("price_source", "static_table"),
        ("unit_price_usd", "0.02"),
        ("worker_commit", "0123456"),
        ("error_msg", ""),
    ] {
        assert_eq!(&row[column], value, "{column} in {row:?}");
    }
    assert!(workspace.path(&row["gen_object_path"]).is_file(), "{row:?}");
    assert!(row["generation_start"] <= row["generation_end"], "{row:?}");
}
