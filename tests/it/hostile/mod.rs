//! A corpus of bad workspaces: a small good one, spoilt in one way each, and every command run on
//! it. Whatever is wrong, no command panics or hangs, each ends with a code from the list, says
//! what is wrong once and without anything a terminal would obey, and one that refuses changes
//! nothing. What the worker makes of each case stands in its row.
//!
//! - [`tables`]: the registry, the manifest and the ids in them;
//! - [`state`]: markers, journals, results;
//! - [`settings`]: configuration, prices, clocks.

use std::collections::BTreeMap;

use crate::support::TestWorkspace;
use crate::support::binary::Output;

mod settings;
mod state;
mod tables;

/// The registry.
const TABLE: &str = "tables/generations.csv";
/// The run's job list.
const MANIFEST: &str = "runs/rk/manifest.csv";
/// The ids of the good workspace's jobs.
const JOBS: [&str; 3] = ["job-one", "job-two", "job-three"];

/// One way to spoil a workspace, and what `run worker` makes of it.
struct Case {
    name: &'static str,
    spoil: fn(&TestWorkspace),
    worker: Outcome,
}

/// What becomes of `run worker`.
#[derive(Debug, Clone, Copy)]
enum Outcome {
    /// It runs what can be run; so many jobs are completed then.
    Works(usize),
    /// Some jobs fail, the others do not; so many are completed then.
    SomeFail(usize),
    /// It stops because a file cannot be used, and says which.
    Stops(&'static str),
    /// It is refused, and the error says all of this.
    Refused(&'static [&'static str]),
}

const fn case(name: &'static str, worker: Outcome, spoil: fn(&TestWorkspace)) -> Case {
    Case {
        name,
        spoil,
        worker,
    }
}

/// Commands that only look: they never change anything.
const READERS: [&[&str]; 8] = [
    &["run", "list"],
    &["run", "status", "--run-id", "rk"],
    &["run", "plan", "--run-id", "rk"],
    &["run", "explain", "--run-id", "rk", "job-one"],
    &["run", "attempts", "--run-id", "rk", "--json"],
    &["config", "show"],
    &["cost", "report"],
    &["doctor"],
];

/// Commands that write, if only a log, each tried on a workspace of its own.
const WRITERS: [&[&str]; 7] = [
    &["catalog", "build"],
    &["batch", "create", "--run-id", "rk", "--algos", "mock"],
    &["run", "cancel", "--run-id", "rk"],
    &["run", "cancel", "--run-id", "rk", "--undo"],
    &[
        "run",
        "worker",
        "--run-id",
        "rk",
        "--reuse",
        "--only-status",
        "enqueued,running,failed",
    ],
    &["consolidate", "--run-id", "rk", "--dry-run"],
    &["consolidate", "--run-id", "rk"],
];

fn good() -> TestWorkspace {
    let workspace = TestWorkspace::with_products(JOBS.len())
        .algo("mock")
        .job_ids(JOBS)
        .adapters("adapters:\n  mock: {kind: mock, count_file: count.txt}\n")
        .build();
    workspace.write(
        "tables/items.csv",
        b"\xef\xbb\xbfproduct_id,variant,n_images,image_1_path\n100001,default,1,dataset/100001/images/p_A.jpg\n",
    );
    workspace
}

fn spoilt(case: &Case) -> TestWorkspace {
    let workspace = good();
    (case.spoil)(&workspace);
    workspace
}

/// Runs every command on every case and tells of everything that is not as it should be.
fn assert_borne(cases: &[Case]) {
    let mut faults = Vec::new();
    for case in cases {
        try_case(case, &mut faults);
    }
    assert!(
        faults.is_empty(),
        "{}:\n{}",
        faults.len(),
        faults.join("\n\n")
    );
}

fn try_case(case: &Case, faults: &mut Vec<String>) {
    let workspace = spoilt(case);
    let before = workspace.tree();
    for command in READERS {
        let output = workspace.archi3d(command).run();
        faults.extend(fault_of(&output).map(|fault| told(case, &fault, &output)));
        if workspace.tree() != before {
            faults.push(told(case, "a command that looks has written", &output));
        }
    }
    for command in WRITERS {
        let workspace = spoilt(case);
        let before = workspace.tree();
        let output = workspace.archi3d(command).run();
        let fault = fault_of(&output).or_else(|| {
            let refused = output.code() == Some(2);
            let changed = refused && real_files(&workspace.tree()) != real_files(&before);
            changed.then(|| "it was refused and has changed something".to_owned())
        });
        faults.extend(fault.map(|fault| told(case, &fault, &output)));
    }
    let workspace = spoilt(case);
    let output = workspace.worker(&[]).run();
    if let Some(fault) = unlike(case.worker, &workspace, &output) {
        faults.push(told(case, &fault, &output));
    }
}

fn told(case: &Case, fault: &str, output: &Output) -> String {
    format!("== {}: {fault}\n{output}", case.name)
}

/// Returns what no command may ever do.
fn fault_of(output: &Output) -> Option<String> {
    let Some(code) = output.code() else {
        return Some("it died".into());
    };
    if !(0..=4).contains(&code) {
        return Some(format!("exit code {code}"));
    }
    let said = format!("{}{}", output.stdout, output.stderr);
    if said.contains("panicked") {
        return Some("it panicked".into());
    }
    let obeyed = |c: char| (c.is_control() && c != '\n') || ('\u{202a}'..='\u{202e}').contains(&c);
    if let Some(c) = said.chars().find(|c| obeyed(*c)) {
        return Some(format!("it printed {c:?}"));
    }
    let errors = output
        .stderr
        .lines()
        .filter(|line| line.starts_with("error: "));
    match (code, errors.count()) {
        (0 | 1 | 4, 0) | (2 | 3, 1) => None,
        // A worker that had to stop has said so and tells its summary.
        (3, 0) if output.stderr.contains("warning: ") => None,
        (_, errors) => Some(format!("exit code {code} with {errors} errors")),
    }
}

/// Returns how the worker's outcome differs from what is expected.
fn unlike(expected: Outcome, workspace: &TestWorkspace, output: &Output) -> Option<String> {
    let completed = || workspace.jobs_with("completed").len();
    let (code, count) = match expected {
        Outcome::Works(count) => (0, count),
        Outcome::SomeFail(count) => (1, count),
        Outcome::Stops(name) => {
            let stopped = output.code() == Some(3) && output.stderr.contains(name);
            return (!stopped).then(|| format!("expected a stop at {name}"));
        }
        Outcome::Refused(phrases) => {
            let missing = phrases.iter().find(|text| !output.stderr.contains(*text));
            return match (output.code(), missing) {
                (Some(2), None) => None,
                (code, missing) => Some(format!("expected a refusal: {code:?}, no {missing:?}")),
            };
        }
    };
    let found = (output.code(), completed());
    (found != (Some(code), count)).then(|| format!("expected {expected:?}: {found:?}"))
}

/// Leaves out what holds nothing: lock files, and folders that were made on the way.
fn real_files(tree: &BTreeMap<String, String>) -> BTreeMap<&String, &String> {
    tree.iter()
        .filter(|(name, _)| name.rsplit('.').next() != Some("lock"))
        .collect()
}

/// Changes a file as text.
fn edit(workspace: &TestWorkspace, below: &str, change: impl Fn(String) -> String) {
    let text = String::from_utf8(workspace.bytes(below)).expect("the good one is text");
    workspace.write(below, change(text).as_bytes());
}

/// Changes a file as bytes.
fn edit_bytes(workspace: &TestWorkspace, below: &str, change: impl Fn(Vec<u8>) -> Vec<u8>) {
    workspace.write(below, &change(workspace.bytes(below)));
}

/// Changes the cell of the first job's row that holds the first job's own product name.
fn set_cell(workspace: &TestWorkspace, text: &str) {
    edit(workspace, TABLE, |table| {
        table.replacen("Product 100001", text, 1)
    });
}
