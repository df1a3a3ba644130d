//! `archi3d adapters`: what is configured is told truthfully, and tried without leaving a trace.

use serde_json::Value;

use crate::support::TestWorkspace;
use crate::support::binary::Output;
use crate::support::process::shell;

const ENTRIES: &str = "adapters:
  free: {kind: mock}
  paid: {kind: mock, unit_price_usd: 0.4, price_source: list, submit: true}
  broken: {kind: mock, fail: \"no kiln\", fail_class: bad_input}
  crashing: {kind: mock, panic: true}
  empty: {kind: mock, empty_output: true}
  slow: {kind: mock, wait_file: never, timeout_s: 0.01}
  address: {endpoint: somebody/something}
";

fn workspace() -> TestWorkspace {
    TestWorkspace::with_products(1).adapters(ENTRIES).build()
}

fn adapters(workspace: &TestWorkspace, words: &[&str]) -> Output {
    let mut arguments = vec!["adapters"];
    arguments.extend(words);
    workspace.archi3d(&arguments).run()
}

fn entry(list: &Value, key: &str) -> Value {
    let entries = list["adapters"].as_array().expect("a list").iter();
    let mut found = entries.filter(|entry| entry["key"] == key);
    found.next().expect("the entry is listed").clone()
}

#[test]
fn the_list_tells_kind_mode_price_provider_and_whether_it_can_run() {
    let workspace = workspace();
    let before = workspace.tree();
    let list = adapters(&workspace, &["list", "--json"])
        .expect_code(0)
        .json();
    let paid = entry(&list, "paid");
    assert_eq!(paid["kind"], "mock");
    assert_eq!(paid["image_mode"], "single");
    assert_eq!(paid["unit_price_usd"], 0.4);
    assert_eq!(paid["price_source"], "list");
    assert_eq!(paid["provider"], "paid");
    assert_eq!(paid["runnable"], true);
    assert_eq!(paid["closed"], Value::Null);
    let shipped = entry(&list, "rodin_multi");
    assert_eq!(shipped["image_mode"], "multi");
    assert_eq!(shipped["kind"], "fal");
    assert_eq!(shipped["runnable"], false);
    assert_eq!(shipped["missing_key"], "FAL_KEY");
    let address = entry(&list, "address");
    assert!(
        address["problems"][0]
            .as_str()
            .is_some_and(|text| text.contains("kind: process"))
    );
    let short = adapters(&workspace, &["list"])
        .expect_code(0)
        .expect_stdout("$0.40")
        .expect_stdout("more run once FAL_KEY is set in .env");
    assert!(!short.stdout.contains("rodin_multi"), "{short}");
    let _ = adapters(&workspace, &["list", "--all"])
        .expect_code(0)
        .expect_stdout("rodin_multi")
        .expect_stdout("needs FAL_KEY")
        .expect_stdout("needs a program")
        .expect_stdout("kind: process");
    assert_eq!(workspace.tree(), before);
}

#[test]
fn a_program_that_is_not_there_and_variables_that_are_not_set_are_told_without_values() {
    let yaml = "adapters:
  gone: {kind: process, command: [no-such-program-anywhere], env: [GIVEN_KEY, MISSING_KEY]}
  here: {kind: process, command: [./tools/make.sh]}
";
    let workspace = TestWorkspace::with_products(1).adapters(yaml).build();
    workspace.write("tools/make.sh", b"#!/bin/sh\n");
    let output = workspace
        .archi3d(&["adapters", "list", "--json"])
        .env("GIVEN_KEY", "s3cret")
        .run()
        .expect_code(0);
    assert!(!output.stdout.contains("s3cret") && !output.stderr.contains("s3cret"));
    let list = output.json();
    let gone = entry(&list, "gone");
    assert_eq!(gone["runnable"], false);
    let problems = gone["problems"].to_string();
    assert!(problems.contains("no-such-program-anywhere"), "{problems}");
    assert!(problems.contains("MISSING_KEY"), "{problems}");
    assert!(!problems.contains("GIVEN_KEY"), "{problems}");
    assert_eq!(gone["program"], Value::Null);
    let here = entry(&list, "here");
    assert!(
        here["program"]
            .as_str()
            .is_some_and(|path| path.ends_with("make.sh"))
    );
}

#[test]
fn a_check_shows_what_came_back_and_leaves_no_trace() {
    let workspace = workspace();
    let before = workspace.tree();
    let _ = adapters(&workspace, &["check", "free"])
        .expect_code(0)
        .expect_stderr("dataset/100001/images/p_A.jpg")
        .expect_stdout("free: works")
        .expect_stdout("version mock-1")
        .expect_stdout("generated.glb");
    let check = adapters(&workspace, &["check", "free", "--json"])
        .expect_code(0)
        .json();
    let one = &check["checks"][0];
    assert_eq!(one["outcome"], "made");
    assert_eq!(one["files"][0]["name"], "generated.glb");
    assert!(one["files"][0]["size"].as_u64() > Some(0));
    assert_eq!(one["metadata"]["images"], 1);
    assert_eq!(workspace.tree(), before);
}

#[test]
fn a_failing_adapter_is_told_with_its_class_and_ends_with_an_exit_code() {
    let workspace = workspace();
    for (key, class, text) in [
        ("broken", "bad_input", "no kiln"),
        ("crashing", "permanent", "panicked"),
        ("empty", "permanent", "generated.glb"),
        ("slow", "transient", "timeout_s"),
        ("address", "", "kind: process"),
    ] {
        let _ = adapters(&workspace, &["check", key])
            .expect_code(1)
            .expect_stdout(class)
            .expect_stdout(text);
    }
}

#[test]
fn a_check_that_was_paid_for_keeps_its_model_and_is_counted() {
    let workspace = workspace();
    let check = ["check", "paid", "--yes", "--json"];
    let paid = adapters(&workspace, &check).expect_code(0).json();
    let folder = paid["checks"][0]["kept_in"]
        .as_str()
        .expect("it is kept")
        .to_owned();
    assert!(workspace.path(&format!("{folder}/generated.glb")).exists());
    let report = ["cost", "report", "--by", "run", "--json"];
    let report = workspace.archi3d(&report).run().expect_code(0).json();
    assert_eq!(report["total"]["billed_usd"], 0.4, "{report}");
    // It counts for the day, too.
    workspace.write("config/global.yaml", b"budget: {day_usd: 0.6}\n");
    let _ = adapters(&workspace, &check)
        .expect_code(2)
        .expect_stderr("limit of the day, which has $0.20 left");
}

#[test]
fn a_check_tells_every_line_that_is_not_in_the_protocol() {
    let script = "read -r request\n\
        echo '{\"event\":\"submited\",\"request_id\":\"r\"}'\n\
        echo '{\"event\":\"progress\",\"fraction\":\"half\"}'\n\
        cp $ARCHI3D_WORKSPACE/cube.glb generated.glb\n\
        echo '{\"event\":\"result\",\"success\":true,\"estimated_cost_usd\":\"0.4\"}'";
    let workspace = shell(1, script, &["unit_price_usd: 0"]);
    let _ = adapters(&workspace, &["check", "tool"])
        .expect_code(1)
        .expect_stdout("no event is called `submited` (did you mean `submitted`?)")
        .expect_stdout("`fraction` of `progress` is the text \"half\"; it must be number")
        .expect_stdout("`estimated_cost_usd` of `result` is the text \"0.4\"");
}

#[test]
fn what_costs_something_is_tried_only_when_that_is_said() {
    let workspace = workspace();
    let _ = adapters(&workspace, &["check", "paid"])
        .expect_code(2)
        .expect_stderr("costs $0.40")
        .expect_stderr("--yes");
    let paid = adapters(&workspace, &["check", "paid", "--yes", "--json"])
        .expect_code(0)
        .json();
    assert_eq!(paid["checks"][0]["cost_usd"], 0.4);
    assert_eq!(paid["checks"][0]["request_id"], "mock-check-1");
    // Without a name: everything that is free, and what was left out is told.
    let all = adapters(&workspace, &["check", "--json"])
        .expect_code(1)
        .json();
    let checks = all["checks"].as_array().expect("a list").iter();
    let outcome = |key: &str| {
        let mut found = checks.clone().filter(|check| check["key"] == key);
        found.next().expect("it is listed")["outcome"].clone()
    };
    assert_eq!(outcome("free"), "made");
    assert_eq!(outcome("broken"), "failed");
    assert_eq!(outcome("paid"), "skipped");
    assert_eq!(outcome("rodin_multi"), "skipped");
}

#[test]
fn the_picture_can_be_given_or_drawn_and_mistakes_are_refused() {
    let workspace = TestWorkspace::empty();
    workspace.write("config/adapters.yaml", ENTRIES.as_bytes());
    let _ = adapters(&workspace, &["check", "free"])
        .expect_code(0)
        .expect_stderr("a drawn picture");
    workspace.write("chair.png", b"not looked at by the mock");
    let chair = workspace.path("chair.png");
    let chair = chair.to_str().expect("text");
    let _ = adapters(&workspace, &["check", "free", "--image", chair])
        .expect_code(0)
        .expect_stderr("chair.png");
    let _ = adapters(&workspace, &["check", "free", "--image", "nowhere.png"])
        .expect_code(2)
        .expect_stderr("nowhere.png");
    let _ = adapters(&workspace, &["check", "fre"])
        .expect_code(2)
        .expect_stderr("did you mean `free`?");
}

#[test]
fn a_check_that_is_cut_off_while_it_buys_stays_reserved() {
    let script = "read -r request\n\
        echo '{\"event\":\"intent\",\"correlation\":\"c\"}'\n\
        sleep 60";
    let options = ["unit_price_usd: 0.4", "timeout_s: 1", "protocol: 2"];
    let workspace = shell(1, script, &options);
    let _ = adapters(&workspace, &["check", "tool", "--yes"])
        .expect_code(1)
        .expect_stdout("may have been billed");
    workspace.write("config/global.yaml", b"budget: {day_usd: 0.6}\n");
    let _ = adapters(&workspace, &["check", "tool", "--yes"])
        .expect_code(2)
        .expect_stderr("limit of the day, which has $0.20 left");
}
