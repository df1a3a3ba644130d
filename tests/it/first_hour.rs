//! The first hour: commands work as they are printed, runs and jobs are found by the names that
//! people have for them, and a rehearsal is never taken for a result.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::support::binary::Invocation;
use crate::support::mocks::{jobs_of, one_job_each};
use crate::support::{TestWorkspace, wait_until};

/// Makes a run of three jobs, one for each of the products 100001 to 100003.
fn three() -> TestWorkspace {
    jobs_of(&[("good", "")], &["good"; 3])
}

/// Adds a second run with a job of its own, made later than the first.
fn with_second_run(workspace: &TestWorkspace, created: &str) {
    let manifest = String::from_utf8(workspace.bytes("runs/rk/manifest.csv")).expect("text");
    let mut lines = manifest.lines();
    let (header, first) = (
        lines.next().expect("a header"),
        lines.next().expect("a job"),
    );
    let table = format!("{header}\n{first}\n");
    workspace.write("runs/second/manifest.csv", table.as_bytes());
    let registry = String::from_utf8(workspace.bytes("tables/generations.csv")).expect("text");
    let row = registry.lines().nth(1).expect("a row");
    let row = row
        .replace(",rk,", ",second,")
        .replace("2025-01-01T09:00:00.000001+00:00", created);
    let table = format!("{registry}{row}\n");
    workspace.write("tables/generations.csv", table.as_bytes());
}

#[test]
fn a_run_need_not_be_named_where_there_is_one() {
    let workspace = three();
    let output = workspace.archi3d(&["run", "worker", "-j", "2"]).run();
    let output = output.expect_code(0).expect_stderr("run: rk\n");
    assert!(output.stderr.contains("3 completed"), "{output}");
    for command in [["run", "status"], ["run", "plan"], ["run", "attempts"]] {
        let output = workspace.archi3d(&command).run().expect_code(0);
        assert!(output.stderr.starts_with("run: rk\n"), "{output}");
    }
}

#[test]
fn without_a_name_the_run_made_last_is_taken_whatever_the_order_of_the_table() {
    for (created, latest) in [
        ("2026-01-01T09:00:00.000001+00:00", "second"),
        ("2024-01-01T09:00:00.000001+00:00", "rk"),
    ] {
        let workspace = three();
        with_second_run(&workspace, created);
        let said = format!("run: {latest} (latest of 2)\n");
        let output = workspace.archi3d(&["run", "status", "--json"]).run();
        let output = output.expect_code(0).expect_stderr(&said);
        assert_eq!(output.json()["run_id"], json!(latest));
        let named = workspace.archi3d(&["run", "status", "rk", "--json"]).run();
        let named = named.expect_code(0);
        assert_eq!(named.json()["run_id"], json!("rk"));
        assert_eq!(named.stderr, "");
    }
}

#[test]
fn what_takes_something_away_asks_for_the_name_of_the_run() {
    let workspace = three();
    with_second_run(&workspace, "2026-01-01T09:00:00.000001+00:00");
    let before = workspace.tree();
    for command in [
        &["run", "cancel"][..],
        &["consolidate"],
        &["cost", "settle", "100001", "--usd", "1"],
        &["run", "remove"],
    ] {
        let output = workspace.archi3d(command).run().expect_code(2);
        assert!(
            output.stderr.contains("run"),
            "{command:?} must say what is missing: {output}"
        );
    }
    assert_eq!(workspace.tree(), before);
}

#[test]
fn a_workspace_without_runs_says_how_to_make_one() {
    let workspace = TestWorkspace::empty();
    workspace.write("tables/items.csv", b"product_id\n");
    let _ = workspace
        .archi3d(&["run", "status"])
        .run()
        .expect_code(2)
        .expect_stderr("no runs in ")
        .expect_stderr("batch create");
}

#[test]
fn jobs_are_chosen_by_their_product() {
    let workspace = three();
    let output = workspace.worker(&["--item", "100002"]).run().expect_code(0);
    assert!(output.stderr.contains("1 completed"), "{output}");
    let row = |index: usize| workspace.row(workspace.id(index));
    assert_eq!(&row(1)["status"], "completed");
    assert_eq!(&row(0)["status"], "enqueued");
    let cancel = ["run", "cancel", "rk", "--item", "100003:default"];
    let _ = workspace.archi3d(&cancel).run().expect_code(0);
    assert_eq!(&row(2)["status"], "cancelled");
    assert_eq!(&row(0)["status"], "enqueued");
    let attempts = ["run", "attempts", "--item", "100002", "--json"];
    let attempts = workspace.archi3d(&attempts).run().expect_code(0).json();
    assert_eq!(attempts["attempts"][0]["product_id"], json!("100002"));
    assert_eq!(attempts["attempts"].as_array().map(Vec::len), Some(1));
    let listed = ["run", "status", "--item", "100002", "--json"];
    let listed = workspace.archi3d(&listed).run().expect_code(0).json();
    let result = listed["jobs"][0]["result"].as_str().expect("a result");
    assert!(workspace.path(result).is_file(), "{listed}");
}

#[test]
fn a_job_is_explained_by_its_product_and_several_are_listed() {
    let workspace = one_job_each(&[("good", ""), ("other", "")]);
    let explain = |words: &[&str]| {
        let arguments = [&["run", "explain"], words].concat();
        workspace.archi3d(&arguments).run()
    };
    for words in [
        &["100001"][..],
        &["100001:default"],
        &["rk", "100001"],
        &["--item", "100001"],
        &["rk", "--item", "100001"],
    ] {
        let output = explain(words).expect_code(0);
        let head = output.stdout.lines().next().expect("a line");
        assert!(head.starts_with("100001 with good in run rk: enqueued"));
        assert!(head.ends_with(workspace.id(0)), "{output}");
    }
    let both = jobs_of(&[("good", ""), ("other", "")], &["good", "other"]);
    for table in ["tables/generations.csv", "runs/rk/manifest.csv"] {
        let text = String::from_utf8(both.bytes(table)).expect("text");
        both.write(table, text.replace("100002,", "100001,").as_bytes());
    }
    let output = both.archi3d(&["run", "explain", "100001"]).run();
    let output = output.expect_code(2);
    for (algo, id) in [("good", both.id(0)), ("other", both.id(1))] {
        let lines = output.stderr.lines();
        let found = lines.filter(|line| line.contains(algo) && line.trim_end().ends_with(id));
        assert_eq!(found.count(), 1, "{output}");
    }
}

#[test]
fn a_rehearsal_is_never_taken_for_a_result() {
    let workspace = three();
    let output = workspace.worker(&["--dry-run"]).run().expect_code(0);
    assert!(output.stderr.contains("3 rehearsed"), "{output}");
    assert!(!output.stderr.contains("3 completed"), "{output}");
    assert!(!output.stderr.contains("results:"), "{output}");
    let status = workspace.archi3d(&["run", "status"]).run().expect_code(0);
    let status = status
        .expect_stdout("0 of 3 jobs ended")
        .expect_stdout("0 made, 3 rehearsed");
    assert!(!status.stdout.contains("completed"), "{status}");
    let list = workspace.archi3d(&["run", "list"]).run().expect_code(0);
    let list = list.expect_stdout("rehearsed");
    assert!(!list.stdout.contains("completed"), "{list}");
    let json = workspace.archi3d(&["run", "status", "--json"]).run().json();
    assert_eq!(json["counts"]["completed"], json!(3));
    assert_eq!((&json["made"], &json["rehearsed"]), (&json!(0), &json!(3)));
    let listed = workspace.archi3d(&["run", "status", "--list", "--json"]);
    let listed = listed.run().json();
    assert_eq!(listed["jobs"][0]["state"], json!("rehearsed"));
    assert_eq!(listed["jobs"][0]["result"], Value::Null);
}

#[test]
fn a_result_says_what_it_is_and_the_worker_where_it_is() {
    let workspace = three();
    let output = workspace.worker(&["--limit", "1"]).run().expect_code(0);
    let output = output
        .expect_stderr("runs/rk/outputs/<job>/generated.glb")
        .expect_stderr("run status rk --list");
    assert!(output.stderr.contains("--workspace"), "{output}");
    let path = format!("runs/rk/outputs/{}/metadata.json", workspace.id(0));
    let metadata: Value = serde_json::from_slice(&workspace.bytes(&path)).expect("JSON");
    assert_eq!(metadata["product_id"], json!("100001"));
    assert_eq!(metadata["variant"], json!("default"));
    assert_eq!(metadata["algo"], json!("good"));
    assert_eq!(metadata["job_id"], json!(workspace.id(0)));
}

/// Copies the binary to where no shell finds it.
fn installed_nowhere(folder: &Path) {
    let binary = env!("CARGO_BIN_EXE_archi3d");
    fs::create_dir_all(folder).expect("writable");
    fs::copy(binary, folder.join("archi3d")).expect("writable");
}

#[test]
fn commands_are_printed_as_they_must_be_typed() {
    let workspace = three();
    installed_nowhere(&workspace.path("bin"));
    let started = |program: &str| {
        let arguments = ["run", "worker", "--dry-run"];
        let there = Invocation::program(Path::new(program), arguments);
        let output = there.current_dir(workspace.root()).run().expect_code(0);
        let lines = output.stderr.lines();
        let mut lines = lines.filter_map(|line| line.split_once("to make them: "));
        lines.next().expect("a command").1.to_owned()
    };
    let typed = started("./bin/archi3d");
    assert_eq!(typed, "./bin/archi3d run worker --run-id rk");
    let mut words = typed.split(' ');
    let program = words.next().expect("a program");
    let run = Invocation::program(Path::new(program), words);
    let _ = run.current_dir(workspace.root()).run().expect_code(0);
    let installed = workspace.archi3d(&["run", "explain", "100001"]).run();
    let _ = installed
        .expect_code(0)
        .expect_stdout("\n    archi3d --workspace ");
}

#[test]
fn a_run_without_results_is_removed_and_the_others_stay_as_they_are() {
    let workspace = three();
    let untouched = workspace.tree();
    with_second_run(&workspace, "2026-01-01T09:00:00.000001+00:00");
    let _ = workspace
        .archi3d(&["run", "worker", "second", "--dry-run"])
        .run()
        .expect_code(0);
    let unasked = workspace.archi3d(&["run", "remove", "second"]).run();
    let _ = unasked.expect_code(2).expect_stderr("--yes");
    let removed = ["run", "remove", "second", "--yes", "--json"];
    let removed = workspace.archi3d(&removed).run().expect_code(0).json();
    assert_eq!(removed["rows"], json!(1));
    let left = workspace.tree();
    let manifest = "runs/rk/manifest.csv";
    assert_eq!(left.get(manifest), untouched.get(manifest));
    assert_eq!(workspace.registry().rows.len(), 3);
    assert!(left.keys().all(|name| !name.contains("second")), "{left:?}");
    assert!(
        left.keys().all(|name| !name.contains(".removed")),
        "{left:?}"
    );
    let again = ["run", "remove", "second", "--yes"];
    let _ = workspace.archi3d(&again).run().expect_code(2);
}

#[test]
fn a_run_with_a_result_or_a_doubt_is_never_removed() {
    let remove = ["run", "remove", "rk", "--yes"];
    let made = three();
    let _ = made.worker(&["--limit", "1"]).run().expect_code(0);
    let doubt = one_job_each(&[("doubt", "fail: x, fail_class: unknown, unit_price_usd: 0.5")]);
    let _ = doubt.worker(&[]).run().expect_code(1);
    let foreign = three();
    foreign.write("runs/rk/notes.txt", b"mine");
    let late = three();
    late.write("runs/rk/outputs/.late/x/generated.glb", b"a model");
    for (workspace, reason) in [
        (&made, "100001 good ("),
        (&doubt, "may have been billed"),
        (&foreign, "notes.txt"),
        (&late, "outputs/.late"),
    ] {
        let before = workspace.tree();
        let output = workspace.archi3d(&remove).run().expect_code(2);
        let _ = output.expect_stderr("is not removed").expect_stderr(reason);
        assert_eq!(workspace.tree(), before);
    }
}

#[test]
fn a_run_that_a_worker_has_is_never_removed() {
    let workspace = one_job_each(&[("slow", "wait_file: go.txt")]);
    let worker = workspace.worker(&[]).spawn();
    wait_until("the job runs", || {
        workspace.jobs_with("inprogress").len() == 1
    });
    let remove = ["run", "remove", "rk", "--yes"];
    let output = workspace.archi3d(&remove).run().expect_code(2);
    let _ = output.expect_stderr("is not removed");
    workspace.write("go.txt", b"");
    let _ = worker.wait().expect_code(0);
    assert_eq!(&workspace.row(workspace.id(0))["status"], "completed");
}

#[test]
fn without_algos_a_batch_takes_one_that_can_run_and_says_which_cannot() {
    let workspace = TestWorkspace::empty();
    workspace.write("tables/items.csv", ITEMS.as_bytes());
    let create = ["batch", "create", "--run-id", "r", "--json"];
    let output = workspace.archi3d(&create).run().expect_code(0);
    assert_eq!(output.json()["algos"], json!(["relief"]));
    let _ = output
        .expect_stderr("algo: relief, the first that can run here")
        .expect_stderr("trellis_multi_stochastic");
    workspace.write(
        "config/global.yaml",
        b"algorithms: [absent, needs_key, mine]\n",
    );
    workspace.write(
        "config/adapters.yaml",
        b"adapters:\n  needs_key: {kind: process, command: [sh], env: [NO_SUCH_KEY]}\n  \
          absent: {kind: process, command: [no-such-program-anywhere]}\n  \
          mine: {kind: process, command: [sh]}\n",
    );
    let create = ["batch", "create", "--run-id", "r2", "--json"];
    let output = workspace.archi3d(&create).run().expect_code(0);
    assert_eq!(output.json()["algos"], json!(["mine"]));
    let _ = output
        .expect_stderr("NO_SUCH_KEY")
        .expect_stderr("no-such-program-anywhere");
}

const ITEMS: &str = "product_id,variant,manufacturer,product_name,n_images,image_1_path\n\
                     100001,default,Maker,Chair,1,dataset/100001/images/a.jpg\n";

/// Demands that no line is wider than 80 columns.
#[track_caller]
fn fits(text: &str) {
    let wide = text.lines().find(|line| line.chars().count() > 80);
    assert_eq!(wide, None, "in:\n{text}");
}

#[test]
fn every_list_fits_80_columns_and_keeps_the_job_id() {
    let long = "an_algo_with_quite_a_long_name_multi";
    let failing = "fail: a sentence that goes on and on until no screen of 80 columns has room for it, \
                   fail_class: transient, unit_price_usd: 0.4";
    let workspace = one_job_each(&[("good", "unit_price_usd: 0.25"), (long, failing)]);
    let _ = workspace.worker(&[]).run().expect_code(1);
    for (words, names_job) in [
        (&["run", "attempts"][..], true),
        (&["run", "status"], true),
        (&["run", "status", "-v"], true),
        (&["run", "status", "--list"], true),
        (&["run", "plan", "--only-status", "failed"], true),
        (&["run", "explain", "100002"], true),
        (&["run", "list"], false),
        (&["cost", "report"], false),
        (&["cost", "report", "--by", "worker"], false),
        (&["config", "show"], false),
    ] {
        let output = workspace.archi3d(words).env("COLUMNS", "80").run();
        let output = output.expect_code(0);
        let pages = output
            .stdout
            .lines()
            .filter(|line| !line.contains("run worker"));
        fits(&pages.collect::<Vec<_>>().join("\n"));
        let named = output.stdout.contains(workspace.id(1));
        assert!(named || !names_job, "{words:?}: {output}");
    }
    let adapters = workspace
        .archi3d(&["adapters", "list"])
        .env("COLUMNS", "80");
    let adapters = adapters.run().expect_code(0).stdout;
    fits(adapters.split("\n\n").next().expect("a table"));
    assert!(adapters.contains(&long[..30]), "{adapters}");
}

#[test]
fn times_are_local_on_screens_and_utc_for_machines() {
    let workspace = three();
    let list = |zone: &str| {
        let list = workspace.archi3d(&["run", "list"]).env("TZ", zone).run();
        list.expect_code(0).stdout
    };
    assert!(list("UTC").contains("2025-01-01 09:00"), "{}", list("UTC"));
    let india = list("IST-5:30");
    assert!(india.contains("2025-01-01 14:30"), "{india}");
    assert!(india.contains("UTC+05:30"), "{india}");
    let json = workspace.archi3d(&["run", "list", "--json"]);
    let json = json.env("TZ", "IST-5:30").run().json();
    assert_eq!(
        json["runs"][0]["created_at"],
        json!("2025-01-01T09:00:00.000001+00:00")
    );
}
