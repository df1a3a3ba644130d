//! Earlier results are copied instead of bought: by what went into them, never by path or time.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use serde_json::Value;

use crate::support::TestWorkspace;
use crate::support::billing::Shop;
use crate::support::mocks::{change_mocks, counting_mocks, executions};
use crate::support::process::shell;

/// Gives every picture of every job bytes of its own.
fn make_pictures_differ(workspace: &TestWorkspace) {
    for job in workspace.jobs() {
        for image in &job.images {
            workspace.write(image, format!("a picture of {image}").as_bytes());
        }
    }
}

/// Makes another run of the same jobs, whose pictures lie in `folder` instead of `dataset`.
fn another_run(workspace: &TestWorkspace, run: &str, folder: &str) {
    let text = |path: &str| String::from_utf8(workspace.bytes(path)).expect("text");
    let moved = |line: &str| line.replace("dataset/", &format!("{folder}/"));
    let manifest: String = moved(&text("runs/rk/manifest.csv"));
    workspace.write(&format!("runs/{run}/manifest.csv"), manifest.as_bytes());
    let mut registry = text("tables/generations.csv");
    let rows: Vec<String> = registry
        .lines()
        .filter(|line| line.contains(",rk,"))
        .map(|line| {
            // Only the cells that a new row has; what the worker added stays empty.
            let cells: Vec<&str> = line.split(',').collect();
            let mut row = cells[..31].join(",").replace(",rk,", &format!(",{run},"));
            row = row
                .replace(",mock-1,", ",,")
                .replace(",v1,", ",,")
                .replace(",completed,", ",enqueued,");
            let columns = cells.len();
            moved(&format!("{row}{}\n", ",".repeat(columns - 31)))
        })
        .collect();
    registry.extend(rows);
    workspace.write("tables/generations.csv", registry.as_bytes());
}

fn worker(workspace: &TestWorkspace, run: &str, options: &[&str]) -> Value {
    let mut arguments = vec!["run", "worker", "--run-id", run, "--json"];
    arguments.extend(options);
    workspace.archi3d(&arguments).run().expect_code(0).json()
}

fn mocks(jobs: usize, options: &str) -> TestWorkspace {
    let yaml = counting_mocks(&[("trellis_single", options)]);
    let workspace = TestWorkspace::with_products(jobs).adapters(&yaml).build();
    make_pictures_differ(&workspace);
    workspace
}

fn output(workspace: &TestWorkspace, run: &str, job: usize, name: &str) -> PathBuf {
    workspace.path(&format!("runs/{run}/outputs/{}/{name}", workspace.id(job)))
}

fn copy_dataset(workspace: &TestWorkspace, folder: &str) {
    for job in workspace.jobs() {
        for image in &job.images {
            let copy = image.replace("dataset/", &format!("{folder}/"));
            workspace.write(&copy, &workspace.bytes(image));
        }
    }
}

#[test]
fn touched_moved_and_copied_pictures_buy_nothing_and_one_changed_byte_buys_once() {
    let workspace = mocks(3, "unit_price_usd: 0.4");
    assert_eq!(worker(&workspace, "rk", &[])["completed"], 3);
    assert_eq!(executions(&workspace).len(), 3);

    another_run(&workspace, "touched", "dataset");
    let later = SystemTime::now() + Duration::from_secs(5000);
    for job in workspace.jobs() {
        let file = fs::File::options()
            .write(true)
            .open(workspace.path(&job.images[0]));
        file.expect("there").set_modified(later).expect("ours");
    }
    let summary = worker(&workspace, "touched", &["--reuse"]);
    assert_eq!(
        (&summary["completed"], &summary["reused"]),
        (&3.into(), &3.into())
    );

    another_run(&workspace, "copied", "elsewhere");
    copy_dataset(&workspace, "elsewhere");
    assert_eq!(worker(&workspace, "copied", &["--reuse"])["reused"], 3);

    another_run(&workspace, "moved", "far/away");
    fs::create_dir(workspace.path("far")).expect("new");
    fs::rename(workspace.path("elsewhere"), workspace.path("far/away")).expect("ours");
    let summary = worker(&workspace, "moved", &["--reuse", "--max-parallel", "3"]);
    assert_eq!(summary["reused"], 3);
    assert_eq!(executions(&workspace).len(), 3, "nothing was bought");

    another_run(&workspace, "changed", "far/away");
    let picture = workspace.jobs()[1].images[1].replace("dataset", "far/away");
    let mut bytes = workspace.bytes(&picture);
    bytes[3] ^= 1;
    workspace.write(&picture, &bytes);
    let summary = worker(&workspace, "changed", &["--reuse"]);
    assert_eq!(
        (&summary["completed"], &summary["reused"]),
        (&3.into(), &2.into())
    );
    assert_eq!(executions(&workspace).len(), 4);
    assert_eq!(executions(&workspace)[3].job, workspace.id(1));
}

#[test]
fn a_copy_needs_no_budget() {
    let workspace = mocks(3, "unit_price_usd: 0.4");
    worker(&workspace, "rk", &[]);
    another_run(&workspace, "again", "dataset");
    let options = ["--reuse", "--budget-usd", "0.1"];
    assert_eq!(worker(&workspace, "again", &options)["reused"], 3);
}

#[test]
fn a_copy_is_no_trial_of_its_algorithm() {
    let workspace = mocks(4, "");
    worker(&workspace, "rk", &["--limit", "1"]);
    another_run(&workspace, "again", "dataset");
    change_mocks(&workspace, &[("trellis_single", "fail: no")]);
    let trial = ["--reuse", "--canary", "1", "--release"];
    let _ = workspace
        .archi3d(&[&["run", "worker", "--run-id", "again"][..], &trial].concat())
        .run()
        .expect_code(1)
        .expect_stderr("canary trellis_single: 0 completed, 1 failed");
    assert_eq!(executions(&workspace).len(), 2);
}

#[test]
fn without_the_option_everything_is_bought() {
    let workspace = mocks(2, "");
    worker(&workspace, "rk", &[]);
    another_run(&workspace, "again", "dataset");
    assert_eq!(worker(&workspace, "again", &[])["reused"], 0);
    assert_eq!(executions(&workspace).len(), 4);
}

#[test]
fn a_copy_is_a_result_of_its_own_that_names_where_it_comes_from() {
    let workspace = mocks(1, "unit_price_usd: 0.4");
    worker(&workspace, "rk", &[]);
    another_run(&workspace, "again", "dataset");
    worker(&workspace, "again", &["--reuse"]);
    let job = workspace.id(0);
    let row = workspace.registry().row("again", job).clone();
    assert_eq!(&row["status"], "completed");
    assert_eq!(&row["price_source"], "reused");
    assert_eq!(&row["estimated_cost_usd"], "0.0");
    assert_eq!(&row["unit_price_usd"], "0.4");
    assert_eq!(&row["algo_version"], "mock-1");
    assert_eq!(
        &row["gen_object_path"],
        format!("runs/again/outputs/{job}/generated.glb")
    );
    assert_eq!(
        &row["preview_1_path"],
        format!("runs/again/outputs/{job}/preview_1.png")
    );
    for name in ["generated.glb", "preview_1.png"] {
        let (old, new) = (
            output(&workspace, "rk", 0, name),
            output(&workspace, "again", 0, name),
        );
        assert_eq!(
            fs::read(&new).expect("there"),
            fs::read(old).expect("there")
        );
        assert_eq!(fs::metadata(new).expect("there").nlink(), 1, "{name}");
    }
    let metadata = fs::read(output(&workspace, "again", 0, "metadata.json")).expect("there");
    let metadata: Value = serde_json::from_slice(&metadata).expect("JSON");
    assert_eq!(metadata["reused_from"]["run_id"], "rk");
    assert_eq!(metadata["reused_from"]["job_id"], job);
    let marker = workspace.bytes(&format!("runs/again/state/{job}.completed"));
    assert!(String::from_utf8_lossy(&marker).contains("metadata.json"));
    let arguments = ["run", "attempts", "--run-id", "again", "--json"];
    let attempts = workspace.archi3d(&arguments).run().expect_code(0).json();
    assert_eq!(attempts["attempts"][0]["cost_usd"], 0.0);
    assert_eq!(attempts["attempts"][0]["price_source"], "reused");
    let reused = workspace.log().events("job_reused").len();
    assert_eq!(reused, 1);
    // A copy can be copied when the first result is gone.
    fs::remove_dir_all(workspace.path("runs/rk")).expect("ours");
    another_run_like(&workspace, "third", "again");
    assert_eq!(worker(&workspace, "third", &["--reuse"])["reused"], 1);
    assert_eq!(executions(&workspace).len(), 1);
}

/// Makes another run from a run other than the first, whose folder may be gone.
fn another_run_like(workspace: &TestWorkspace, run: &str, like: &str) {
    let manifest = workspace.bytes(&format!("runs/{like}/manifest.csv"));
    workspace.write("runs/rk/manifest.csv", &manifest);
    another_run(workspace, run, "dataset");
    fs::remove_dir_all(workspace.path("runs/rk")).expect("ours");
}

#[test]
fn other_parameters_are_another_job_and_other_prices_are_not() {
    let workspace = mocks(1, "defaults: {steps: 20, size: 4}");
    worker(&workspace, "rk", &[]);
    for (run, options, reused) in [
        (
            "dearer",
            "defaults: {size: 4, steps: 20}, unit_price_usd: 9, retries: 2, timeout_s: 60",
            1,
        ),
        ("finer", "defaults: {steps: 21, size: 4}", 0),
        (
            "other",
            "endpoint: some/where, defaults: {steps: 20, size: 4}",
            0,
        ),
    ] {
        change_mocks(&workspace, &[("trellis_single", options)]);
        another_run(&workspace, run, "dataset");
        assert_eq!(
            worker(&workspace, run, &["--reuse"])["reused"],
            reused,
            "{run}"
        );
    }
}

#[test]
fn a_result_that_is_not_what_it_was_is_not_reused() {
    let workspace = mocks(2, "");
    worker(&workspace, "rk", &[]);
    another_run(&workspace, "again", "dataset");
    let spoilt = output(&workspace, "rk", 0, "generated.glb");
    let mut bytes = fs::read(&spoilt).expect("there");
    *bytes.last_mut().expect("not empty") ^= 1;
    fs::write(&spoilt, bytes).expect("ours");
    fs::remove_file(output(&workspace, "rk", 1, "preview_1.png")).expect("there");
    let arguments = ["run", "worker", "--run-id", "again", "--reuse"];
    let _ = workspace
        .archi3d(&arguments)
        .run()
        .expect_code(0)
        .expect_stderr("cannot be reused: generated.glb is not what it was")
        .expect_stderr("2 completed, 0 failed");
    assert_eq!(executions(&workspace).len(), 4);
    assert_eq!(workspace.leftovers(), [""; 0]);
}

#[test]
fn rehearsals_and_failures_are_never_reused_and_a_redo_is_made() {
    let workspace = mocks(2, "");
    worker(&workspace, "rk", &["--dry-run"]);
    another_run(&workspace, "again", "dataset");
    assert_eq!(worker(&workspace, "again", &["--reuse"])["reused"], 0);
    assert_eq!(executions(&workspace).len(), 2);
    let options = ["--reuse", "--redo", "--jobs", workspace.id(0)];
    assert_eq!(worker(&workspace, "again", &options)["reused"], 0);
    assert_eq!(executions(&workspace).len(), 3);
    // The rehearsed run itself can be performed by copies.
    assert_eq!(worker(&workspace, "rk", &["--reuse"])["reused"], 2);
    assert_eq!(executions(&workspace).len(), 3);
    assert_eq!(&workspace.row(workspace.id(0))["price_source"], "reused");
}

#[test]
fn jobs_with_the_same_pictures_wait_for_the_first_and_copy_it() {
    let yaml = counting_mocks(&[("trellis_single", "sleep_ms: 50")]);
    let workspace = TestWorkspace::with_products(6).adapters(&yaml).build();
    let summary = worker(&workspace, "rk", &["--reuse", "--max-parallel", "4"]);
    assert_eq!(
        (&summary["completed"], &summary["reused"]),
        (&6.into(), &5.into())
    );
    assert_eq!(executions(&workspace).len(), 1);
}

#[test]
fn jobs_with_the_same_pictures_do_not_wait_for_a_failure_to_pass() {
    let yaml = counting_mocks(&[("trellis_single", "fail: broken")]);
    let workspace = TestWorkspace::with_products(3).adapters(&yaml).build();
    let output = workspace.worker(&["--reuse", "--max-parallel", "3"]).run();
    let _ = output.expect_code(1).expect_stderr("3 failed");
    assert_eq!(executions(&workspace).len(), 3);
}

#[test]
fn what_was_bought_for_a_job_already_is_gone_on_with() {
    let workspace = mocks(1, "");
    worker(&workspace, "rk", &[]);
    another_run(&workspace, "again", "dataset");
    change_mocks(
        &workspace,
        &[("trellis_single", "submit: true, wait_file: go")],
    );
    let first = ["run", "worker", "--run-id", "again"];
    let running = workspace.archi3d(&first).spawn();
    let journals = workspace.path("runs/again/state/journal");
    crate::support::wait_until("the purchase is noted", || {
        let files = fs::read_dir(&journals).into_iter().flatten().flatten();
        let mut texts = files.filter_map(|file| fs::read(file.path()).ok());
        texts.any(|text| String::from_utf8_lossy(&text).contains("submitted"))
    });
    let _ = running.kill();
    workspace.write("go", b"");
    let options = ["--reuse", "--only-status", "running,enqueued"];
    assert_eq!(worker(&workspace, "again", &options)["reused"], 0);
    let last = executions(&workspace).pop().expect("executed");
    assert!(last.resumes.is_some(), "{last:?}");
}

#[test]
fn a_provider_bills_once_for_the_same_pictures_in_two_runs() {
    let shop = Shop::open(3, &["unit_price_usd: 0.3"], &[]);
    make_pictures_differ(&shop.workspace);
    let _ = shop.worker(&[]).run().expect_code(0);
    assert_eq!(shop.provider.charges(), 3);
    another_run(&shop.workspace, "again", "dataset");
    let before = shop.provider.calls("submit");
    let arguments = ["run", "worker", "--run-id", "again", "--reuse", "--json"];
    // The provider cannot even be reached: nothing asks for it.
    let summary = shop
        .workspace
        .archi3d(&arguments)
        .run()
        .expect_code(0)
        .json();
    assert_eq!(summary["reused"], 3);
    assert_eq!(
        (shop.provider.charges(), shop.provider.calls("submit")),
        (3, before)
    );
}

/// A program that tells its version from a file, if there is one, and counts its runs.
const PROGRAM: &str = r#"
cat > /dev/null
echo made >> "$ARCHI3D_WORKSPACE/made.txt"
cp "$ARCHI3D_WORKSPACE/cube.glb" model.glb
version=""
if [ -f "$ARCHI3D_WORKSPACE/tells" ]; then
    version=", \"algo_version\": \"$(cat "$ARCHI3D_WORKSPACE/tells")\""
fi
echo "{\"event\": \"result\", \"success\": true, \"generated_glb\": \"model.glb\"$version}"
"#;

fn made(workspace: &TestWorkspace) -> usize {
    let text = fs::read_to_string(workspace.path("made.txt")).unwrap_or_default();
    text.lines().count()
}

#[test]
fn another_declared_version_of_a_program_is_bought_again() {
    let workspace = shell(1, PROGRAM, &["version: v1"]);
    worker(&workspace, "rk", &[]);
    assert_eq!(&workspace.row(workspace.id(0))["algo_version"], "v1");
    let config = String::from_utf8(workspace.bytes("config/adapters.yaml")).expect("text");
    for (run, version, count) in [("same", "v1", 1), ("newer", "v2", 2), ("newest", "v2", 2)] {
        let changed = config.replace("version: v1", &format!("version: {version}"));
        workspace.write("config/adapters.yaml", changed.as_bytes());
        another_run(&workspace, run, "dataset");
        worker(&workspace, run, &["--reuse"]);
        assert_eq!(made(&workspace), count, "{run}");
        let row = workspace.registry().row(run, workspace.id(0)).clone();
        assert_eq!(&row["algo_version"], version, "{run}");
    }
}

#[test]
fn of_a_program_that_tells_its_version_only_afterwards_the_newest_one_counts() {
    let workspace = shell(2, PROGRAM, &[]);
    make_pictures_differ(&workspace);
    workspace.write("tells", b"v1");
    worker(&workspace, "rk", &[]);
    workspace.write("tells", b"v2");
    another_run(&workspace, "again", "dataset");
    let one = ["--reuse", "--jobs", workspace.id(0)];
    assert_eq!(worker(&workspace, "again", &one)["reused"], 1);
    // Nobody can know that the program has changed until it has run once.
    let redo = ["--redo", "--jobs", workspace.id(0)];
    worker(&workspace, "again", &redo);
    assert_eq!(made(&workspace), 3);
    assert_eq!(worker(&workspace, "again", &["--reuse"])["reused"], 0);
    assert_eq!(
        made(&workspace),
        4,
        "a result of the old version is not copied"
    );
}

#[test]
fn copies_tell_nothing_of_how_long_making_takes() {
    let workspace = mocks(3, "sleep_ms: 400");
    worker(&workspace, "rk", &[]);
    another_run(&workspace, "r2", "dataset");
    worker(&workspace, "r2", &["--reuse"]);
    another_run(&workspace, "r3", "dataset");
    let plan = ["run", "plan", "--run-id", "r3", "--json"];
    let plan = workspace.archi3d(&plan).run().expect_code(0).json();
    let median = plan["algos"][0]["median_s"]
        .as_f64()
        .expect("three were made");
    assert!(median >= 0.4, "{plan}");
    let status = ["run", "status", "--run-id", "r2", "--json"];
    let status = workspace.archi3d(&status).run().expect_code(0).json();
    let algo = &status["algos"][0];
    assert!(algo["median_s"].is_null(), "only copies: {status}");
}

#[test]
fn what_can_be_copied_is_copied_before_anything_is_made() {
    let workspace = mocks(4, "");
    for made in [1, 3] {
        let id = workspace.id(made);
        worker(&workspace, "rk", &["--jobs", id]);
    }
    another_run(&workspace, "r2", "dataset");
    let summary = worker(&workspace, "r2", &["--reuse", "-j", "1"]);
    assert_eq!(
        (&summary["completed"], &summary["reused"]),
        (&4.into(), &2.into())
    );
    let log = String::from_utf8(workspace.bytes("logs/worker.log")).expect("text");
    let events = log
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"));
    let started: Vec<String> = events
        .filter(|event: &Value| event["run_id"] == "r2" && event["event"] == "job_started")
        .map(|event| event["job_id"].as_str().expect("an id").to_owned())
        .collect();
    let order = [1, 3, 0, 2].map(|job| workspace.id(job).to_string());
    assert_eq!(started, order);
}
