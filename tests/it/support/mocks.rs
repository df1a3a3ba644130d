//! Runs whose jobs are made by mocks, and what these leave behind.

use std::fs;

use serde_json::Value;

use super::workspace::TestWorkspace;

/// Where mocks are told to note every execution.
pub const COUNT_FILE: &str = "executions.txt";

/// One execution of a mock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Execution {
    /// The job.
    pub job: String,
    /// Which attempt it was.
    pub attempt: u32,
    /// The purchase it re-attached to.
    pub resumes: Option<String>,
}

/// Returns an `adapters.yaml` with mocks that count, each with its options.
pub fn counting_mocks(mocks: &[(&str, &str)]) -> String {
    let entries = mocks.iter().map(|(algo, options)| {
        let comma = if options.is_empty() { "" } else { ", " };
        format!("  {algo}: {{kind: mock, count_file: {COUNT_FILE}{comma}{options}}}\n")
    });
    format!("adapters:\n{}", entries.collect::<String>())
}

/// Makes a run with one job for each mock, in this order.
pub fn one_job_each(mocks: &[(&str, &str)]) -> TestWorkspace {
    let builder = TestWorkspace::with_products(mocks.len());
    let workspace = builder.adapters(&counting_mocks(mocks)).build();
    for (index, (algo, _)) in mocks.iter().enumerate() {
        set_algo(&workspace, index, algo);
    }
    workspace
}

/// Makes a run whose jobs have these algorithms, in this order.
pub fn jobs_of(mocks: &[(&str, &str)], algos: &[&str]) -> TestWorkspace {
    let builder = TestWorkspace::with_products(algos.len());
    let workspace = builder.adapters(&counting_mocks(mocks)).build();
    for (index, algo) in algos.iter().enumerate() {
        set_algo(&workspace, index, algo);
    }
    workspace
}

/// Gives the mocks other options.
pub fn change_mocks(workspace: &TestWorkspace, mocks: &[(&str, &str)]) {
    workspace.write("config/adapters.yaml", counting_mocks(mocks).as_bytes());
}

/// Gives one job another algorithm, in both tables.
pub fn set_algo(workspace: &TestWorkspace, index: usize, algo: &str) {
    for table in ["tables/generations.csv", "runs/rk/manifest.csv"] {
        let text = String::from_utf8(workspace.bytes(table)).expect("it is text");
        let lines = text.split_inclusive('\n').map(|line| {
            if line.contains(workspace.id(index)) {
                let other = format!(",{algo},");
                line.replace(",trellis_single,", &other)
                    .replace(",tool,", &other)
            } else {
                line.to_owned()
            }
        });
        workspace.write(table, lines.collect::<String>().as_bytes());
    }
}

/// Returns every execution so far, in order.
pub fn executions(workspace: &TestWorkspace) -> Vec<Execution> {
    let text = fs::read_to_string(workspace.path(COUNT_FILE)).unwrap_or_default();
    let lines = text.lines().map(|line| {
        let words: Vec<&str> = line.split(' ').collect();
        Execution {
            job: words[0].to_owned(),
            attempt: words[1].parse().expect("a number"),
            resumes: words.get(4).map(|id| (*id).to_owned()),
        }
    });
    lines.collect()
}

/// Returns the jobs that were executed, in order, by their number from 0.
pub fn executed(workspace: &TestWorkspace) -> Vec<usize> {
    let jobs = workspace.jobs();
    let index = |job: &str| jobs.iter().position(|known| known.id == job);
    let all = executions(workspace).into_iter();
    all.map(|one| index(&one.job).expect("a job of the run"))
        .collect()
}

/// Returns the statuses of the run's rows, in manifest order.
pub fn statuses(workspace: &TestWorkspace) -> Vec<String> {
    let registry = workspace.registry();
    let jobs = workspace.jobs().iter();
    jobs.map(|job| registry.row("rk", &job.id)["status"].to_owned())
        .collect()
}

/// Returns what `run attempts --json` says.
#[track_caller]
pub fn attempts(workspace: &TestWorkspace) -> Vec<Value> {
    let output = workspace
        .archi3d(&["run", "attempts", "--run-id", "rk", "--json"])
        .run()
        .expect_code(0);
    let list = output.json()["attempts"].take();
    serde_json::from_value(list).expect("a list of attempts")
}

/// Returns one field of every attempt, as text.
#[track_caller]
pub fn fields(attempts: &[Value], name: &str) -> Vec<String> {
    let values = attempts.iter().map(|attempt| match &attempt[name] {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    });
    values.collect()
}

/// Waits until the purchase of a job is in a journal, which is a mock's last step before it waits.
pub fn wait_for_purchase(workspace: &TestWorkspace, index: usize) {
    let its_own = format!("mock-{}-", workspace.id(index));
    super::wait_until("the purchase is noted", || {
        fields(&attempts(workspace), "request_id")
            .iter()
            .any(|id| id.starts_with(&its_own))
    });
}
