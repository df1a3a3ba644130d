//! What people see of a run, wherever it lives: the same scenes are played on files and in a fleet, and the same questions
//! are asked of both.

use regex::Regex;
use serde_json::Value;

use super::Fleet;
use crate::support::mocks::{executions, jobs_of};
use crate::support::{TestWorkspace, wait_until};

const MOCKS: [(&str, &str); 9] = [
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
    (
        "again",
        "fail_first: 2, fail_class: transient, unit_price_usd: 0.02",
    ),
];

const ALGOS: [&str; 10] = [
    "good", "bad", "lost", "broke", "hangs", "later", "tried", "fine", "bad", "again",
];

/// A run, and how its workspace is asked.
struct Stage<'a> {
    workspace: TestWorkspace,
    fleet: Option<&'a Fleet>,
}

impl Stage<'_> {
    fn invoke(&self, words: &[&str]) -> crate::support::Invocation {
        let invocation = match self.fleet {
            Some(fleet) => fleet.invoke(&self.workspace, words),
            None => self.workspace.archi3d(words),
        };
        invocation.env("ARCHI3D_SPOOL", self.workspace.outside().join("spool"))
    }

    #[track_caller]
    fn ask(&self, words: &[&str]) -> Value {
        let words = [words, &["--json"]].concat();
        let said = self.invoke(&words).run();
        // Commands name the workspace.
        let root = self.workspace.root().to_string_lossy().into_owned();
        let mut answer: Value = serde_json::from_str(&said.stdout.replace(&root, "<workspace>"))
            .unwrap_or_else(|error| panic!("{words:?}: {error}: {said}"));
        assert!(answer.get("error").is_none(), "{words:?}: {answer}");
        compare_only_what_can_be(&mut answer);
        answer
    }

    fn work(&self, options: &[&str]) {
        let words = [&["run", "worker", "rk", "--json"], options].concat();
        let _ = self.invoke(&words).run().json();
    }

    /// Plays the first half of the scenes.
    fn begin(&self) {
        self.work(&["--dry-run", "--algo", "tried"]);
        for algo in ["good", "bad"] {
            self.work(&["--algo", algo, "--limit", "1"]);
        }
    }

    /// Plays the second half: a worker is killed with a job, and one job is cancelled.
    fn end(&self) {
        for algo in ["fine", "lost", "broke"] {
            self.work(&["--algo", algo, "--limit", "1"]);
        }
        self.work(&["--algo", "again", "--retries", "3"]);
        let before = executions(&self.workspace).len();
        let words = ["run", "worker", "rk", "--algo", "hangs"];
        let words = match self.fleet {
            Some(_) => [&words[..], &["--lease-secs", "3"]].concat(),
            None => words.to_vec(),
        };
        let hanging = self.invoke(&words).spawn();
        wait_until("the job hangs", || {
            executions(&self.workspace).len() > before
        });
        let words = [
            "run",
            "attempts",
            "rk",
            "--job",
            self.workspace.id(4),
            "--json",
        ];
        wait_until("it is bought", || {
            let seen = self.invoke(&words).run().json();
            !seen["attempts"][0]["request_id"].is_null()
        });
        let _ = hanging.kill();
        wait_until("its worker counts as dead", || {
            let seen = self.invoke(&["run", "status", "rk", "--json"]).run().json();
            seen["running"][0]["verdict"] == "dead"
        });
    }
}

/// Names of fields that tell of times and workers.
const OWN: [&str; 20] = [
    "at",
    "started",
    "ended",
    "last",
    "worker",
    "host",
    "age_s",
    "last_beat_age_s",
    "duration_s",
    "median_s",
    "pace",
    "time_left_s",
    "intent_at",
    "submitted_at",
    "closed_at",
    "since",
    "time",
    "created_at",
    "newest_at",
    "time_s",
];

/// Takes out what differs between two plays of the same scenes: times and workers.
fn compare_only_what_can_be(value: &mut Value) {
    match value {
        Value::Object(object) => {
            object.retain(|name, _| !OWN.contains(&name.as_str()));
            object.values_mut().for_each(compare_only_what_can_be);
        }
        Value::Array(values) => values.iter_mut().for_each(compare_only_what_can_be),
        Value::String(text) => {
            let time = Regex::new(r"\d{4}-\d\d-\d\dT[\d:.]+(Z|[+-]\d\d:\d\d)").expect("a pattern");
            let worker = Regex::new(r"[\w.-]+-\d+-[0-9a-f]{4,}").expect("a pattern");
            let plain = time.replace_all(text, "<time>");
            *text = worker.replace_all(&plain, "<worker>").into_owned();
        }
        _ => {}
    }
}

/// What is asked at every moment.
const BRIEF: [&[&str]; 3] = [
    &["run", "status", "rk"],
    &["run", "attempts", "rk"],
    &["cost", "report", "rk"],
];

/// What is asked besides, once.
fn questions(workspace: &TestWorkspace) -> Vec<Vec<&str>> {
    let mut asked: Vec<Vec<&str>> = vec![
        vec!["run", "status", "rk", "--list"],
        vec!["run", "plan", "rk"],
        vec!["adapters", "list"],
        vec!["run", "plan", "rk", "--only-status", "failed,running"],
        vec!["cost", "report", "--by", "run"],
        vec!["run", "attempts", "rk", "--job", workspace.id(0)],
        // By its product, and by the beginning of its id.
        vec!["run", "explain", "rk", "100006"],
        vec!["run", "explain", "rk", &workspace.id(0)[..6]],
    ];
    for place in [2, 3, 4, 6, 8, 9] {
        asked.push(vec!["run", "explain", "rk", workspace.id(place)]);
    }
    asked
}

#[track_caller]
fn compare(files: &Stage<'_>, fleet: &Stage<'_>, moment: &str, more: &[Vec<&str>]) {
    let mut found = Vec::new();
    for words in BRIEF.into_iter().chain(more.iter().map(Vec::as_slice)) {
        differences(
            &words.join(" "),
            &files.ask(words),
            &fleet.ask(words),
            &mut found,
        );
    }
    assert!(found.is_empty(), "{moment}:\n{}", found.join("\n"));
}

/// Lists where two answers differ.
fn differences(path: &str, files: &Value, fleet: &Value, found: &mut Vec<String>) {
    match (files, fleet) {
        (Value::Object(one), Value::Object(other)) if one.keys().eq(other.keys()) => {
            for (name, value) in one {
                differences(&format!("{path}.{name}"), value, &other[name], found);
            }
        }
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
            for (place, (value, other)) in one.iter().zip(other).enumerate() {
                differences(&format!("{path}[{place}]"), value, other, found);
            }
        }
        (one, other) if one == other => {}
        (one, other) => found.push(format!("{path}: files {one}, fleet {other}")),
    }
}

fn stages(fleet: &Fleet) -> (Stage<'_>, Stage<'_>) {
    let stage = |fleet| {
        let workspace = jobs_of(&MOCKS, &ALGOS);
        workspace.write("config/global.yaml", b"budget:\n  run_usd: 50\n");
        Stage { workspace, fleet }
    };
    (stage(None), stage(Some(fleet)))
}

/// Cancels, undoes and settles on both, and compares every answer.
fn act_alike(files: &Stage<'_>, in_fleet: &Stage<'_>) {
    let lost = files.workspace.id(2).to_owned();
    for words in [
        // One that waits, one whose worker died with a purchase, one that is completed.
        &["run", "cancel", "rk", "--algo", "later,hangs,good", "--yes"][..],
        &["run", "cancel", "rk", "--algo", "later", "--undo"],
        &["run", "cancel", "rk", "--item", "no-such-product"],
        &["cost", "settle", "rk", &lost, "--usd", "0.3", "--yes"],
    ] {
        assert_eq!(files.ask(words), in_fleet.ask(words), "{words:?}");
    }
    // Of the attempt that a person cancelled after its worker had died a fleet says that it was interrupted.
    for words in [
        &["run", "status", "rk"][..],
        &["run", "plan", "rk"],
        &["run", "explain", "rk", &lost],
        &["cost", "report", "rk", "--by", "run"],
    ] {
        let (mut one, mut other) = (files.ask(words), in_fleet.ask(words));
        for answer in [&mut one, &mut other] {
            // Files forget the name of a purchase whose job was cancelled.
            if let Some(open) = answer.pointer_mut("/ledger/open/0/request_id") {
                *open = Value::Null;
            }
        }
        assert_eq!(one, other, "{words:?}");
    }
}

#[test]
fn a_run_of_the_fleet_is_told_as_one_of_files() {
    let Some(fleet) = Fleet::new() else {
        return;
    };
    let (files, in_fleet) = stages(&fleet);
    fleet.push(&in_fleet.workspace);
    compare(&files, &in_fleet, "before anything ran", &[]);
    for stage in [&files, &in_fleet] {
        stage.begin();
        stage.end();
    }
    let more = questions(&files.workspace);
    compare(&files, &in_fleet, "at the end", &more);
    fleet.wait_until_it_judges();
    act_alike(&files, &in_fleet);
}

#[test]
fn what_happened_before_a_run_was_pushed_is_told_with_the_rest() {
    let Some(fleet) = Fleet::new() else {
        return;
    };
    let (files, in_fleet) = stages(&fleet);
    for stage in [&files, &in_fleet] {
        stage.begin();
    }
    fleet.push(&in_fleet.workspace);
    compare(&files, &in_fleet, "just pushed", &[]);
    for stage in [&files, &in_fleet] {
        stage.work(&["--algo", "fine"]);
    }
    let explain = vec!["run", "explain", "rk", files.workspace.id(1)];
    compare(&files, &in_fleet, "at the end", &[explain]);
}

#[test]
fn a_fleet_that_cannot_be_reached_is_one_line_with_the_next_step() {
    let Some(fleet) = Fleet::new() else {
        return;
    };
    let workspace = jobs_of(&MOCKS, &["good", "fine"]);
    fleet.push(&workspace);
    let before = workspace.tree();
    for words in [
        &["run", "status", "rk"][..],
        &["run", "status", "rk", "--list"],
        &["run", "plan", "rk"],
        &["run", "attempts", "rk"],
        &["run", "explain", "rk", workspace.id(0)],
        &["run", "cancel", "rk"],
        &["cost", "report", "rk"],
        &["cost", "report"],
        &["adapters", "resume", "good"],
    ] {
        let away = workspace
            .archi3d(words)
            .env("ARCHI3D_STORE", "host=/nowhere dbname=none user=nobody");
        let said = away.run().expect_code(3);
        let _ = said
            .expect_stderr("run rk lives in the fleet at ")
            .expect_stderr("tables/generations.csv has what the last");
        let unnamed = workspace.archi3d(words).run().expect_code(2);
        let _ = unnamed.expect_stderr("no store is named");
    }
    let away = workspace
        .archi3d(&["run", "list", "--json"])
        .env("ARCHI3D_STORE", "host=/nowhere dbname=none user=nobody");
    let listed = away.run().expect_code(0);
    assert_eq!(listed.json()["runs"][0]["as_pulled"], true);
    let _ = listed.expect_stderr("run rk is shown as it was pulled last");
    let away = workspace
        .archi3d(&["adapters", "list"])
        .env("ARCHI3D_STORE", "host=/nowhere dbname=none user=nobody");
    let _ = away
        .run()
        .expect_code(0)
        .expect_stdout("good")
        .expect_stderr("what is closed in the fleet is not known: ");
    assert_eq!(workspace.tree(), before);
}

#[test]
fn a_provider_that_is_closed_in_the_fleet_is_opened_there() {
    let Some(mut fleet) = Fleet::new() else {
        return;
    };
    let workspace = jobs_of(&MOCKS, &["broke", "broke"]);
    fleet.push(&workspace);
    let worker = fleet.invoke(&workspace, &["run", "worker", "rk"]);
    let _ = worker
        .env("ARCHI3D_SPOOL", workspace.outside().join("spool"))
        .run();
    let closed = "SELECT count(*) FROM archi3d.providers WHERE closed_at IS NOT NULL";
    assert_eq!(fleet.number(closed), 1);
    let words = ["adapters", "resume", "bank", "--json"];
    let _ = fleet.run(&workspace, &words).expect_code(0);
    assert_eq!(fleet.number(closed), 0);
    let listed = fleet.run(&workspace, &["run", "list", "--json"]).json();
    assert_eq!(listed["runs"][0]["counts"]["enqueued"], 2);
}

/// No statement of `run status` reads a table whole, however many jobs there are.
#[test]
fn a_glance_at_many_jobs_reads_them_by_index() {
    let Some(mut fleet) = Fleet::new() else {
        return;
    };
    let workspace = jobs_of(&MOCKS, &["good"]);
    fleet.push(&workspace);
    fleet.admin().batch_execute(MANY).expect("many jobs");
    for sql in archi3d_core::store::postgres::statements::ALL {
        let asked = [
            "progress",
            "running",
            "failures",
            "durations",
            "recent",
            "spent_by_algo",
        ];
        if !asked.contains(&sql.name) {
            continue;
        }
        let text = sql.text.replace("$1", "1::bigint").replace("$2", "200");
        let plan = fleet.texts(&format!("EXPLAIN {text}")).join("\n");
        for table in ["jobs", "job_specs", "attempts", "results"] {
            let whole = format!("Seq Scan on {table} ");
            assert!(!plan.contains(&whole), "{}:\n{plan}", sql.name);
        }
    }
    let status = fleet.run(&workspace, &["run", "status", "rk", "--json"]);
    let status = status.expect_code(0).json();
    assert_eq!(status["total"], 60_001);
    assert_eq!(status["counts"]["completed"], 49_950);
    assert_eq!(status["counts"]["failed"], 50);
}

/// Many jobs of one run: most of them completed, some failed, some waiting.
const MANY: &str = "
SET search_path = archi3d;
INSERT INTO jobs (run_no, algo, position, status, attempt_count, completed_at, last_error)
  SELECT 1, 'algo' || g % 4, g, CASE WHEN g > 50000 THEN 'pending' WHEN g % 1000 = 0 THEN 'failed_terminal' ELSE 'succeeded' END::job_status,
    (g <= 50000)::int, CASE WHEN g <= 50000 THEN now() END, CASE WHEN g % 1000 = 0 THEN 'no luck' END
  FROM generate_series(1, 60000) g;
INSERT INTO job_specs (job_no, run_no, position, job_id, idempotency_key, product_id, variant, payload, payload_hash)
  SELECT id, 1, position, 'job' || position, 'rk/job' || position, 'p' || position, '', '{}', '' FROM jobs WHERE position > 0;
INSERT INTO attempts (job_no, number, attempt_id, worker_id, status, entry, seconds, started_at, ended_at)
  SELECT id, 1, gen_random_uuid(), 'w', CASE status WHEN 'succeeded' THEN 'succeeded' ELSE 'failed' END::attempt_status, 'fresh', 1, now(), now()
  FROM jobs WHERE status IN ('succeeded', 'failed_terminal');
INSERT INTO results (job_no, run_no, number, payload, content_hash, seconds, created_at)
  SELECT id, 1, 1, '[]', '', 1, now() - position * interval '1 ms' FROM jobs WHERE status = 'succeeded';
INSERT INTO run_algos SELECT run_no, algo, min(position), count(*) FROM jobs WHERE position > 0 GROUP BY 1, 2;
ANALYZE jobs, job_specs, attempts, results;
SET search_path = DEFAULT";
