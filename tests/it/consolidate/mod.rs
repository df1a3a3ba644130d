//! `consolidate`: rows brought in line with markers and models, and nothing else touched.
//! Here is what its tests share.
//!
//! - [`beside_workers`]: rows of jobs that are being made meanwhile, and what people are told.
//! - [`results`]: what markers and models on disk make of a row.
//! - [`rows`]: which rows are looked at, what they keep, and what is refused.

use std::fs;

use serde_json::Value;

use crate::support::{TestWorkspace, fixture};

mod beside_workers;
mod results;
mod rows;

const CUBE: &str = "simulate/cube.glb";
const MISSING: &str = "missing generated.glb; downgraded by consolidate";

/// The columns a worker of the original adds, and how its rows end when they are filled.
const WORKER_COLUMNS: &str = ",generation_start,generation_end,generation_duration_s,\
     unit_price_usd,price_source,gen_object_path,preview_1_path,error_msg";

fn cube() -> Vec<u8> {
    fs::read(fixture(CUBE)).expect("shipped")
}

/// Runs `consolidate` on the run, with `--json`, and returns what it said.
#[track_caller]
fn consolidate(workspace: &TestWorkspace, options: &[&str], code: i32) -> Value {
    let mut arguments = vec!["consolidate", "--run-id", "rk", "--json"];
    arguments.extend(options);
    workspace.archi3d(&arguments).run().expect_code(code).json()
}

fn state(workspace: &TestWorkspace, index: usize, ending: &str, text: &str) {
    let name = format!("runs/rk/state/{}.{ending}", workspace.id(index));
    workspace.write(&name, text.as_bytes());
}

/// Puts a model where the original puts it.
fn long_model(workspace: &TestWorkspace, index: usize, bytes: &[u8]) -> String {
    let (id, product) = (workspace.id(index), &workspace.jobs()[index].product);
    let path = format!(
        "runs/rk/outputs/{id}/{product}_default_trellis_single_{}.glb",
        &id[..8]
    );
    workspace.write(&path, bytes);
    path
}

fn table(workspace: &TestWorkspace) -> String {
    String::from_utf8(workspace.bytes("tables/generations.csv")).expect("text")
}

/// Rewrites the registry line by line; line 0 is the header.
fn edit(workspace: &TestWorkspace, change: impl Fn(usize, &str) -> Vec<String>) {
    let text = table(workspace);
    let lines = text.lines().enumerate();
    let lines: Vec<String> = lines.flat_map(|(n, line)| change(n, line)).collect();
    workspace.write(
        "tables/generations.csv",
        (lines.join("\n") + "\n").as_bytes(),
    );
}

/// Gives every row the worker's columns and marks the first `count` as completed, with models.
fn complete(workspace: &TestWorkspace, count: usize) {
    let models: Vec<String> = (0..count)
        .map(|n| long_model(workspace, n, &cube()))
        .collect();
    edit(workspace, |n, line| {
        let line = match n {
            0 => format!("{line}{WORKER_COLUMNS}"),
            n if n <= count => format!(
                "{},2025-01-01T10:00:00+00:00,2025-01-01T10:00:02+00:00,2.0,0.02,static_table,{},,",
                line.replace(",enqueued,", ",completed,"),
                models[n - 1]
            ),
            _ => format!("{line},,,,,,,,"),
        };
        vec![line]
    });
    for index in 0..count {
        state(
            workspace,
            index,
            "completed",
            "timestamp: 2025-01-01T10:00:02+00:00\npid: 7\n",
        );
    }
}

/// Returns counters of a report.
fn numbers(report: &Value, keys: &[&str]) -> Vec<u64> {
    let counters = keys.iter().map(|key| report[*key].as_u64());
    counters
        .map(|counter| counter.unwrap_or(u64::MAX))
        .collect()
}

fn metrics(workspace: &TestWorkspace) -> Vec<Value> {
    let text = String::from_utf8(workspace.bytes("logs/metrics.log")).expect("text");
    let lines = text.lines();
    lines
        .map(|line| serde_json::from_str(line).expect("one object a line"))
        .collect()
}
