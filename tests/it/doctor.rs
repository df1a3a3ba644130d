//! `doctor`: what is wrong is found with its code and its remedy, looking changes nothing, and
//! mending loses and buys nothing.

use std::fs::{self, File};
use std::time::{Duration, SystemTime};

use serde_json::Value;

use crate::support::binary::Output;
use crate::support::dataset::{build, plain_products};
use crate::support::mocks::executions;
use crate::support::shapes::chair;
use crate::support::wait_until;
use crate::support::workspace::TestWorkspace;

pub const REGISTRY: &str = "tables/generations.csv";

const MOCKS: &str = "adapters:
  good: {kind: mock, count_file: executions.txt}
  waits: {kind: mock, count_file: executions.txt, wait_file: go}
";

/// A run of three jobs made by `algo`, not yet worked on.
pub fn waiting(algo: &str) -> TestWorkspace {
    let workspace = plain_products(3);
    workspace.write("config/adapters.yaml", MOCKS.as_bytes());
    build(&workspace, &[]);
    let arguments = ["batch", "create", "--run-id", "rk", "--algos", algo];
    let _ = workspace.archi3d(&arguments).run().expect_code(0);
    workspace
}

/// The same run, finished.
pub fn finished() -> TestWorkspace {
    let workspace = waiting("good");
    let _ = workspace.worker(&[]).run().expect_code(0);
    workspace
}

pub fn doctor(workspace: &TestWorkspace, options: &[&str]) -> Output {
    let mut arguments = vec!["doctor", "--json"];
    arguments.extend(options);
    workspace.archi3d(&arguments).run()
}

pub fn findings(output: &Output) -> Vec<Value> {
    output.json()["findings"]
        .as_array()
        .expect("a list")
        .clone()
}

pub fn codes(output: &Output) -> Vec<String> {
    let findings = findings(output);
    let codes = findings.iter().map(|finding| finding["code"].as_str());
    codes.map(|code| code.expect("a word").to_owned()).collect()
}

/// Returns the finding with this code; panics if there is none.
#[track_caller]
pub fn found(output: &Output, code: &str) -> Value {
    let mut findings = findings(output).into_iter();
    findings
        .find(|finding| finding["code"] == code)
        .unwrap_or_else(|| panic!("no {code} in {output}"))
}

pub fn job(workspace: &TestWorkspace, index: usize) -> String {
    workspace.registry().rows[index]["job_id"].to_owned()
}

pub fn text(workspace: &TestWorkspace, below: &str) -> String {
    String::from_utf8(workspace.bytes(below)).expect("text")
}

pub fn journal(workspace: &TestWorkspace) -> String {
    let names = workspace.tree().into_keys();
    let mut journals = names.filter(|name| name.contains("/journal/") && !name.ends_with('/'));
    journals.next().expect("a journal")
}

#[test]
fn a_finished_run_is_healthy_and_looking_changes_nothing() {
    let workspace = finished();
    let before = workspace.tree();
    let output = doctor(&workspace, &["--deep"]).expect_code(0);
    assert_eq!(codes(&output), [""; 0], "{output}");
    assert_eq!(output.json()["healthy"], true);
    assert_eq!(output.json()["facts"]["locks"], "exclude other processes");
    assert_eq!(workspace.tree(), before);
    let _ = workspace
        .archi3d(&["doctor"])
        .run()
        .expect_code(0)
        .expect_stdout("healthy");
}

type Harm = fn(&TestWorkspace);

/// What is done to a finished workspace, and what must be found then.
const HARMS: &[(&str, Harm)] = &[
    ("table_missing", |w| {
        fs::remove_file(w.path(REGISTRY)).expect("there");
    }),
    ("table_unreadable", |w| {
        w.write(REGISTRY, b"run_id,job_id,status\n\"open");
    }),
    ("table_unreadable", |w| w.write(REGISTRY, b"a;b;c\n1;2;3\n")),
    ("duplicate_key", |w| {
        let table = text(w, REGISTRY);
        let last = table
            .trim_end()
            .rsplit('\n')
            .next()
            .expect("a row")
            .to_owned();
        w.write(REGISTRY, format!("{table}{last}\n").as_bytes());
    }),
    ("unsafe_cell", |w| {
        let table = text(w, REGISTRY).replacen("Prodotto", "=HYPERLINK(1)", 1);
        w.write(REGISTRY, table.as_bytes());
    }),
    ("unsafe_cell", |w| {
        let table = text(w, REGISTRY).replacen("Prodotto", "\u{1b}]0;x", 1);
        w.write(REGISTRY, table.as_bytes());
    }),
    ("conflict_copy", |w| {
        let table = text(w, REGISTRY).replace(",rk,", ",other,");
        w.write("tables/generations-NODE7.csv", table.as_bytes());
    }),
    ("row_behind", |w| {
        let table = text(w, REGISTRY).replacen(",completed,", ",enqueued,", 1);
        w.write(REGISTRY, table.as_bytes());
    }),
    ("result_missing", |w| {
        let folder = format!("runs/rk/outputs/{}", job(w, 1));
        fs::remove_dir_all(w.path(&folder)).expect("there");
    }),
    ("damaged_marker", |w| {
        let marker = format!("runs/rk/state/{}.completed", job(w, 1));
        let spoilt = text(w, &marker).replacen("check: ", "check: 0", 1);
        w.write(&marker, spoilt.as_bytes());
    }),
    ("damaged_journal", |w| {
        let journal = journal(w);
        w.write(&journal, format!("noise\n{}", text(w, &journal)).as_bytes());
    }),
    ("manifest_unreadable", |w| {
        fs::remove_file(w.path("runs/rk/manifest.csv")).expect("there");
    }),
    ("run_without_folder", |w| {
        let table = text(w, REGISTRY).replacen(",rk,", ",rx,", 1);
        w.write(REGISTRY, table.as_bytes());
    }),
    ("run_without_rows", |w| {
        let table = text(w, REGISTRY).replace(",rk,", ",rx,");
        w.write(REGISTRY, table.as_bytes());
    }),
    ("job_without_row", |w| {
        let table = text(w, REGISTRY);
        let kept: Vec<&str> = table.split_inclusive('\n').take(3).collect();
        w.write(REGISTRY, kept.concat().as_bytes());
    }),
    ("leftover_file", |w| {
        w.write("runs/rk/state/.x.completed.host-1-abc.tmp", b"");
        age(w, "runs/rk/state/.x.completed.host-1-abc.tmp");
    }),
    ("leftover_file", |w| {
        w.write("tables/.generations.csv.1-abc.tmp", b"");
        age(w, "tables/.generations.csv.1-abc.tmp");
    }),
    ("orphan_staging", |w| {
        let folder = format!("runs/rk/outputs/.staging/{}.7-abcdef", job(w, 0));
        w.write(&format!("{folder}/half.glb"), b"x");
        age(w, &folder);
    }),
    ("config_error", |w| {
        w.write(
            "config/adapters.yaml",
            b"adapters: {good: {kind: mock, unit_price_usd: -1}}\n",
        );
    }),
    ("provider_closed", |w| {
        let closed =
            r#"{"provider":"fal","closed_at":"2026-01-01T00:00:00+00:00","reason":"empty"}"#;
        w.write("runs/.providers/fal.closed.json", closed.as_bytes());
    }),
    ("link_outside", |w| {
        std::os::unix::fs::symlink("/tmp", w.path("runs/away")).expect("linkable");
    }),
    ("world_writable", |w| {
        use std::os::unix::fs::PermissionsExt as _;
        let open = fs::Permissions::from_mode(0o777);
        fs::set_permissions(w.path("runs/rk/state"), open).expect("ours");
    }),
];

#[test]
fn every_harm_is_found_with_its_code_its_place_and_its_remedy() {
    for (code, harm) in HARMS {
        let workspace = finished();
        harm(&workspace);
        let before = workspace.tree();
        let output = doctor(&workspace, &[]);
        let finding = found(&output, code);
        assert_eq!(output.code(), Some(1), "{output}");
        assert_ne!(finding["severity"], "note", "{output}");
        for field in ["what", "why", "fix"] {
            assert!(
                finding[field].as_str().is_some_and(|text| !text.is_empty()),
                "{field}: {output}"
            );
        }
        assert!(
            finding["places"]
                .as_array()
                .is_some_and(|places| !places.is_empty()),
            "{output}"
        );
        assert_eq!(
            workspace.tree(),
            before,
            "{code}: looking changed something"
        );
        let _ = workspace
            .archi3d(&["doctor"])
            .run()
            .expect_code(1)
            .expect_stdout(code);
    }
}

#[test]
fn altered_results_are_found_by_reading_them() {
    let workspace = finished();
    let model = format!("runs/rk/outputs/{}/generated.glb", job(&workspace, 2));
    let mut bytes = workspace.bytes(&model);
    *bytes.last_mut().expect("not empty") ^= 1;
    workspace.write(&model, &bytes);
    let _ = doctor(&workspace, &[]).expect_code(0);
    let output = doctor(&workspace, &["--deep"]).expect_code(1);
    assert_eq!(found(&output, "result_altered")["places"][0]["path"], model);
}

#[test]
fn notes_are_told_and_do_not_count() {
    let workspace = finished();
    workspace.write("tables/~$generations.xlsx", b"");
    workspace.write("tables/generations (1).csv", &workspace.bytes(REGISTRY));
    fs::remove_file(workspace.path("runs/rk/rows.csv")).expect("recorded");
    let marker = format!("runs/rk/state/{}.completed", job(&workspace, 0));
    fs::remove_file(workspace.path(&marker)).expect("there");
    let output = doctor(&workspace, &[]).expect_code(0);
    assert_eq!(
        codes(&output),
        [
            "table_open",
            "copy_of_table",
            "rows_not_recorded",
            "completed_without_marker"
        ]
    );
}

#[test]
fn a_conflict_copy_is_told_by_what_it_has_and_the_table_has_not() {
    let workspace = finished();
    let table = text(&workspace, REGISTRY);
    let lines: Vec<&str> = table.split_inclusive('\n').collect();
    // The table lost its last row; somebody took a note in the copy.
    let noted = format!("{},x\n", lines[1].trim_end());
    let copy = format!(
        "{},mine\n{noted}{},\n{},\n",
        lines[0].trim_end(),
        lines[2].trim_end(),
        lines[3].trim_end()
    );
    workspace.write(
        "tables/generations (anna's conflicted copy 2026-11-16).csv",
        copy.as_bytes(),
    );
    workspace.write(REGISTRY, lines[..3].concat().as_bytes());
    let output = doctor(&workspace, &[]).expect_code(1);
    let finding = found(&output, "conflict_copy");
    let what = finding["what"].as_str().expect("a sentence");
    let lost = lines[3]
        .split(',')
        .find(|cell| cell.len() == 12)
        .expect("its id");
    assert!(
        what.contains(&format!("1 row (rk/{lost}) that the table lacks")),
        "{what}"
    );
    assert!(
        what.contains("with text where the table is blank"),
        "{what}"
    );
    assert_eq!(finding["places"][0]["line"], 4);
}

#[test]
fn a_dead_worker_is_told_with_the_command_that_goes_on() {
    let workspace = waiting("waits");
    let worker = workspace.worker(&["--max-parallel", "2"]).spawn();
    wait_until("two running rows", || {
        workspace.registry().count("running") == 2
    });
    let _ = worker.kill();
    // One of the programs had just written its model.
    let staging = workspace.path("runs/rk/outputs/.staging");
    let staging = fs::read_dir(staging).expect("two").next().expect("two");
    let made = staging.expect("a folder").path();
    fs::write(made.join("model.glb"), chair().glb()).expect("written");
    let before = workspace.tree();
    let output = doctor(&workspace, &[]).expect_code(1);
    assert_eq!(codes(&output), ["dead_lease", "dead_worker"]);
    assert_eq!(workspace.tree(), before);
    let places = found(&output, "dead_lease")["places"].to_string();
    let name = made.file_name().expect("its name").to_string_lossy();
    assert!(
        places.contains(&format!("/outputs/.staging/{name}\"")),
        "{places}"
    );
    fs::remove_file(made.join("model.glb")).expect("ours");
    let lease = found(&output, "dead_lease");
    let fix = lease["fix"].as_str().expect("a command").to_owned();
    let words: Vec<&str> = fix.split(' ').skip(1).collect();
    // Mending closes the journal and leaves the job to a worker.
    let _ = doctor(&workspace, &["--fix", "--yes"]).expect_code(1);
    assert_eq!(executions(&workspace).len(), 2);
    workspace.write("go", b"");
    let _ = workspace.archi3d(&words).run().expect_code(0);
    let output = doctor(&workspace, &["--deep"]).expect_code(0);
    assert_eq!(codes(&output), [""; 0], "{output}");
}

/// Makes a leftover so old that nobody can be writing it any more, whose journal is gone.
fn age(workspace: &TestWorkspace, below: &str) {
    let old = SystemTime::now() - Duration::from_secs(2 * 24 * 3600);
    let file = File::open(workspace.path(below));
    file.and_then(|file| file.set_modified(old)).expect("ours");
}

/// Makes a finished run look as if its worker had died in its last moments.
fn died_late() -> TestWorkspace {
    let workspace = finished();
    let path = journal(&workspace);
    let open = text(&workspace, &path);
    let lines = open
        .split_inclusive('\n')
        .filter(|line| !line.contains("\"closed\""));
    workspace.write(&path, lines.collect::<String>().as_bytes());
    let first = job(&workspace, 0);
    fs::remove_file(workspace.path(&format!("runs/rk/state/{first}.completed"))).expect("there");
    let table = text(&workspace, REGISTRY).replace(",completed,", ",running,");
    workspace.write(REGISTRY, table.as_bytes());
    let staging = format!("runs/rk/outputs/.staging/{first}.7-abcdef");
    workspace.write(&format!("{staging}/x"), b"x");
    age(&workspace, &staging);
    workspace.write("runs/rk/state/.x.completed.host-1-abc.tmp", b"");
    age(&workspace, "runs/rk/state/.x.completed.host-1-abc.tmp");
    fs::remove_file(workspace.path("runs/rk/rows.csv")).expect("recorded");
    workspace
}

#[test]
fn mending_shows_what_it_changes_asks_and_leaves_a_healthy_workspace() {
    let workspace = died_late();
    let bought = executions(&workspace).len();
    let before = workspace.tree();
    let output = workspace.archi3d(&["doctor", "--fix"]).run().expect_code(2);
    assert_eq!(workspace.tree(), before, "nobody agreed");
    for shown in [
        "status: \"running\" → \"completed\"",
        "publish the ending",
        "remove runs/rk/outputs/.staging/",
        "remove runs/rk/state/.x",
        "record 3 rows",
    ] {
        assert!(output.stderr.contains(shown), "no {shown:?} in {output}");
    }
    let output = doctor(&workspace, &["--fix", "--yes"]).expect_code(0);
    assert_eq!(
        output.json()["mended"].as_array().map(Vec::len),
        Some(7),
        "{output}"
    );
    assert_eq!(codes(&output), [""; 0], "{output}");
    assert_eq!(workspace.registry().count("completed"), 3);
    assert_eq!(executions(&workspace).len(), bought);
    assert_eq!(workspace.leftovers(), [""; 0]);
    let said = workspace
        .archi3d(&["registry", "rebuild", "--json"])
        .run()
        .expect_code(0);
    assert_eq!(said.json()["unchanged"], true, "{said}");
    let output = doctor(&workspace, &["--fix"]).expect_code(0);
    assert!(
        output.stderr.contains("nothing can be repaired"),
        "{output}"
    );
}

#[test]
fn a_live_worker_is_neither_found_fault_with_nor_disturbed() {
    let workspace = waiting("waits");
    let mut worker = workspace.worker(&["--max-parallel", "2"]).spawn();
    wait_until("two running rows", || {
        workspace.registry().count("running") == 2
    });
    // The worker itself goes on writing; names are enough to see what others leave.
    let names = || workspace.tree().into_keys().collect::<Vec<_>>();
    let before = names();
    let output = doctor(&workspace, &["--deep"]).expect_code(0);
    assert_eq!(codes(&output), [""; 0], "{output}");
    assert_eq!(output.json()["facts"]["live_workers"], "1");
    assert_eq!(names(), before);
    workspace.write("runs/rk/state/.x.completed.host-1-abc.tmp", b"");
    let _ = doctor(&workspace, &["--fix", "--yes"]).expect_code(0);
    assert!(!worker.has_ended());
    workspace.write("go", b"");
    let _ = worker.wait().expect_code(0);
    assert_eq!(workspace.registry().count("completed"), 3);
    assert_eq!(executions(&workspace).len(), 3);
}

#[test]
fn one_run_is_looked_at_alone_and_a_mistyped_one_is_refused() {
    let workspace = finished();
    let create = ["batch", "create", "--run-id", "rb", "--algos", "good"];
    let _ = workspace.archi3d(&create).run().expect_code(0);
    fs::remove_file(workspace.path("runs/rb/manifest.csv")).expect("there");
    let _ = doctor(&workspace, &["--run-id", "rk"]).expect_code(0);
    let _ = doctor(&workspace, &["--run-id", "rb"]).expect_code(1);
    let _ = doctor(&workspace, &["--run-id", "rz"]).expect_code(2);
}

#[test]
fn waiting_jobs_whose_adapter_cannot_run_are_told() {
    let workspace = waiting("good");
    let yaml = "adapters: {good: {kind: process, command: [no-such-program]}}";
    workspace.write("config/adapters.yaml", yaml.as_bytes());
    let output = doctor(&workspace, &[]).expect_code(1);
    let what = found(&output, "adapter_not_runnable")["what"].to_string();
    assert!(what.contains("waiting: 3 jobs"), "{what}");
}

#[test]
fn a_second_process_tells_whether_a_lock_excludes_it() {
    let workspace = finished();
    let lock = workspace.path("runs/rk/state/probe.lock");
    let probe = || {
        let arguments = ["doctor", "--probe-lock", lock.to_str().expect("text")];
        workspace.archi3d(&arguments).run().code()
    };
    assert_eq!(probe(), Some(10), "nobody holds it");
    let file = File::open(&lock).expect("there");
    file.lock().expect("lockable");
    assert_eq!(probe(), Some(0), "we hold it");
    drop(file);
    fs::remove_file(&lock).expect("ours");
    assert_eq!(probe(), Some(11), "it is not there");
    assert!(!lock.exists(), "asking makes no file");
}

#[test]
fn without_the_registry_every_command_names_the_one_that_makes_it_again() {
    let workspace = TestWorkspace::with_products(2).algo("mock").build();
    let _ = workspace.worker(&[]).run().expect_code(0);
    fs::remove_file(workspace.path(REGISTRY)).expect("there");
    let commands: [&[&str]; 5] = [
        &["run", "worker", "--run-id", "rk"],
        &["run", "status", "--run-id", "rk"],
        &["run", "plan", "--run-id", "rk"],
        &["cost", "report"],
        &["consolidate", "--run-id", "rk"],
    ];
    for command in commands {
        let output = workspace.archi3d(command).run().expect_code(2);
        let output = output.expect_stderr("registry rebuild");
        assert!(!output.stderr.contains("batch create"), "{}", output.stderr);
    }
}

#[test]
fn the_commands_for_a_lost_or_spoilt_manifest_list_the_same_jobs_again() {
    let workspace = TestWorkspace::with_products(1).algo("mock").build();
    let manifest = workspace.path("runs/rk/manifest.csv");
    let before = fs::read(&manifest).expect("there");
    fs::remove_file(&manifest).expect("there");
    let _ = workspace
        .archi3d(&["doctor"])
        .run()
        .expect_stdout("registry rebuild --run-id rk");
    fs::write(&manifest, b"job_id\n\"cut").expect("writable");
    let _ = workspace
        .archi3d(&["doctor"])
        .run()
        .expect_stdout(&format!("mv {0} {0}.spoilt && archi3d", manifest.display()));
    fs::rename(&manifest, workspace.path("runs/rk/manifest.csv.spoilt")).expect("there");
    let _ = workspace
        .archi3d(&["registry", "rebuild", "--run-id", "rk"])
        .run()
        .expect_code(0);
    assert_eq!(fs::read(&manifest).expect("there"), before);
    let _ = workspace.archi3d(&["doctor"]).run().expect_code(0);
}
