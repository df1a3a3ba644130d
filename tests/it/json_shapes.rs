//! `--json` is read by programs: the name and kind of every field of every command is kept here.
//!
//! One workspace holds jobs in every state. Each command is asked about it, and what it answers
//! is noted as one line per field: the path, and the kinds of values seen there. `demo` draws
//! for long and has its fields asked in its own tests.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use serde_json::Value;

use crate::support::mocks::{jobs_of, wait_for_purchase};
use crate::support::shapes::chair;
use crate::support::{Invocation, TestWorkspace};

const MOCKS: [(&str, &str); 8] = [
    ("good", "submit: true, unit_price_usd: 0.25"),
    ("fine", "unit_price_usd: 0.05"),
    ("bad", "fail: no luck, unit_price_usd: 0"),
    (
        "lost",
        "fail: gone, fail_class: unknown, unit_price_usd: 0.3",
    ),
    (
        "broke",
        "fail: no credit, fail_class: out_of_credit, provider: bank, unit_price_usd: 0",
    ),
    (
        "hangs",
        "wait_file: never, submit: true, unit_price_usd: 0.2",
    ),
    ("later", "unit_price_usd: 0.1"),
    ("tried", "unit_price_usd: 0"),
];

/// A program that measures a model, and says no more than that it could.
const SCORER: &str = r#"
scorers:
  look:
    command: [echo, '{"event": "result", "success": true, "raw_metadata": {"look_good": true}}']
"#;

/// The fields that commands have answered with so far.
#[derive(Default)]
struct Shapes {
    commands: BTreeMap<String, BTreeMap<String, BTreeSet<&'static str>>>,
}

impl Shapes {
    fn add(&mut self, command: &str, value: &Value) {
        let fields = self.commands.entry(command.to_owned()).or_default();
        note(fields, String::new(), value);
    }

    /// Runs a command and notes what it answers, whatever its exit code.
    #[track_caller]
    fn ask(&mut self, workspace: &TestWorkspace, name: &str, words: &[&str]) -> Value {
        let words = [words, &["--json"]].concat();
        let said = workspace.archi3d(&words).run();
        let value = said.json();
        assert!(
            value.get("error").is_none() || name == "error",
            "{words:?} failed: {said}"
        );
        self.add(name, &value);
        value
    }

    fn text(&self) -> String {
        let mut text = String::new();
        for (command, fields) in &self.commands {
            let _ = writeln!(text, "\n{command}");
            for (path, kinds) in fields {
                let kinds: Vec<&str> = kinds.iter().copied().collect();
                let _ = writeln!(text, "  {path}: {}", kinds.join(" "));
            }
        }
        text
    }
}

fn note(fields: &mut BTreeMap<String, BTreeSet<&'static str>>, path: String, value: &Value) {
    let kind = match value {
        Value::Object(object) => {
            for (name, value) in object {
                note(fields, format!("{path}.{}", general(name)), value);
            }
            return;
        }
        Value::Array(values) if !values.is_empty() => {
            for value in values {
                note(fields, format!("{path}[]"), value);
            }
            return;
        }
        Value::Array(_) => "list",
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "text",
    };
    fields.entry(path).or_default().insert(kind);
}

/// Returns the name of a field, without what belongs to this machine.
fn general(name: &str) -> &str {
    if name.contains(['/', '\\']) {
        "<path>"
    } else {
        name
    }
}

/// Makes a run with jobs that are completed, failed, doubtful, held by a dead worker, cancelled,
/// blocked, rehearsed and waiting.
fn run_with_everything(shapes: &mut Shapes) -> TestWorkspace {
    let algos = [
        "good", "bad", "lost", "broke", "hangs", "later", "tried", "fine", "bad",
    ];
    let workspace = jobs_of(&MOCKS, &algos);
    workspace.write("config/global.yaml", b"budget:\n  run_usd: 50\n");
    let mut work = |options: &[&str]| {
        let words = [&["run", "worker", "rk"], options].concat();
        shapes.ask(&workspace, "run worker", &words);
    };
    work(&["--dry-run", "--algo", "tried"]);
    for algo in ["good", "fine", "bad", "lost", "broke"] {
        work(&["--algo", algo, "--limit", "1"]);
    }
    work(&["--algo", "bad", "--canary", "1"]);
    let hanging = workspace.worker(&["--algo", "hangs"]).spawn();
    wait_for_purchase(&workspace, 4);
    let _ = hanging.kill();
    let cancel = ["run", "cancel", "rk", "--algo", "later"];
    shapes.ask(&workspace, "run cancel", &cancel);
    shapes.ask(
        &workspace,
        "run cancel",
        &[&cancel[..], &["--undo"]].concat(),
    );
    shapes.ask(&workspace, "run cancel", &cancel);
    workspace
}

fn look_at(shapes: &mut Shapes, workspace: &TestWorkspace) {
    let file = |name: &str| workspace.path(name).to_string_lossy().into_owned();
    for (name, words) in [
        ("run list", &["run", "list"][..]),
        ("run status", &["run", "status", "rk"]),
        ("run status --list", &["run", "status", "rk", "--list"]),
        ("run attempts", &["run", "attempts", "rk"]),
        ("run plan", &["run", "plan", "rk"]),
        (
            "run plan",
            &[
                "run",
                "plan",
                "rk",
                "--only-status",
                "failed,enqueued,running",
            ],
        ),
        ("adapters list", &["adapters", "list"]),
        ("adapters check", &["adapters", "check", "tried"]),
        ("adapters check", &["adapters", "check", "bad"]),
        ("adapters check", &["adapters", "check", "good", "--yes"]),
        ("adapters check", &["adapters", "check", "trellis_single"]),
        ("adapters prices", &["adapters", "prices"]),
        ("cost report", &["cost", "report"]),
        ("cost report", &["cost", "report", "--by", "run"]),
        ("cost report", &["cost", "report", "--by", "day"]),
        ("cost report", &["cost", "report", "--by", "worker"]),
        (
            "cost report --match",
            &["cost", "report", "--match", &file("invoice.csv")],
        ),
        ("config show", &["config", "show"]),
        ("doctor", &["doctor"]),
        ("consolidate", &["consolidate", "rk", "--dry-run"]),
        ("registry rebuild", &["registry", "rebuild", "--dry-run"]),
        ("error", &["run", "status", "none"]),
        ("error", &["run", "worker", "--retries", "many"]),
    ] {
        shapes.ask(workspace, name, words);
    }
    for job in workspace.jobs() {
        shapes.ask(workspace, "run explain", &["run", "explain", "rk", &job.id]);
    }
}

fn change(shapes: &mut Shapes, workspace: &TestWorkspace) {
    let file = |name: &str| workspace.path(name).to_string_lossy().into_owned();
    let lost = workspace.id(2);
    for (name, words) in [
        (
            "cost settle",
            &["cost", "settle", "rk", lost, "--usd", "0.3", "--yes"][..],
        ),
        ("adapters resume", &["adapters", "resume", "bank"]),
        ("consolidate", &["consolidate", "rk"]),
        ("report build", &["report", "build", "rk"]),
        (
            "compute fscore",
            &["compute", "fscore", "rk", "--n-points", "100"],
        ),
        ("compute scorer", &["compute", "scorer", "look", "rk"]),
        (
            "token create",
            &["token", "create", "ana", "--role", "read"],
        ),
        ("token list", &["token", "list"]),
        ("token revoke", &["token", "revoke", "ana"]),
        ("run adopt", &["run", "adopt", "rk", workspace.id(1)]),
        ("export", &["export", &file("copies"), "--run-id", "rk"]),
        ("judge import", &["judge", "import", &file("votes.csv")]),
        ("judge rank", &["judge", "rank"]),
        ("catalog build", &["catalog", "build"]),
        (
            "batch create",
            &["batch", "create", "--run-id", "r2", "--algos", "tried,bad"],
        ),
        (
            "batch create",
            &["batch", "create", "--run-id", "r2", "--algos", "tried"],
        ),
        ("run remove", &["run", "remove", "r2", "--yes"]),
    ] {
        shapes.ask(workspace, name, words);
    }
    let made = Invocation::archi3d(["init", "--json"]).arg(file("fresh"));
    shapes.add("init", &made.run().expect_code(0).json());
    for line in workspace.log().0 {
        let event = line["event"].as_str().unwrap_or_default();
        shapes.add(&format!("logs/worker.log {event}"), &line.clone().into());
    }
}

#[test]
fn every_field_that_programs_read_keeps_its_name_and_kind() {
    let mut shapes = Shapes::default();
    let workspace = run_with_everything(&mut shapes);
    workspace.write(
        "invoice.csv",
        b"request_id,amount\nmock-unknown,0.5\nmock-unknown,0.1\n",
    );
    let votes = format!(
        "vote_id,at,judge,run_id_a,job_a,run_id_b,job_b,item,mode,side_of_a,answer,ms,seed\n\
         v1,2026-01-01,ana,rk,{},rk,{},100001,clay,left,a,900,1\n",
        workspace.id(0),
        workspace.id(7)
    );
    workspace.write("votes.csv", votes.as_bytes());
    workspace.write("config/scorers.yaml", SCORER.as_bytes());
    look_at(&mut shapes, &workspace);
    // A model of the job that failed, as a late worker leaves it.
    let late = format!("runs/rk/outputs/.late/{}.1-00aa00aa", workspace.id(1));
    workspace.write(&format!("{late}/generated.glb"), &chair().glb());
    change(&mut shapes, &workspace);
    insta::assert_snapshot!(shapes.text());
}
