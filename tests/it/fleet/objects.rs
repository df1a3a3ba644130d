//! Runs whose bytes lie in a bucket: workers have a folder of their own and nothing else in common. A folder takes the
//! bucket's place everywhere; `scripts/s3-for-tests` adds a real S3 server.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::Fleet;
use super::shipped::keda_queries;
use crate::support::binary::Running;
use crate::support::mocks::{counting_mocks, executions};
use crate::support::{Output, TestWorkspace, must_have_all, required, wait_until};

pub(super) fn mocks(jobs: usize, options: &str) -> TestWorkspace {
    let yaml = counting_mocks(&[("apart", options)]);
    let builder = TestWorkspace::with_products(jobs).algo("apart");
    builder.adapters(&yaml).build()
}

/// A machine that has the adapters of a workspace and nothing else of it.
pub(super) fn machine(like: &TestWorkspace) -> TestWorkspace {
    let machine = TestWorkspace::empty();
    let adapters = like.bytes("config/adapters.yaml");
    machine.write("config/adapters.yaml", &adapters);
    machine
}

/// The folder that a test takes for a bucket.
pub(super) fn folder(workspace: &TestWorkspace) -> PathBuf {
    let folder = workspace.outside().join("bucket");
    fs::create_dir_all(&folder).expect("made");
    folder
}

pub(super) fn in_folder(folder: &Path) -> String {
    format!("file://{}", folder.display())
}

/// Every kind of place that can be had here.
fn places(workspace: &TestWorkspace) -> Vec<String> {
    let mut places = vec![in_folder(&folder(workspace))];
    if required("ARCHI3D_TEST_S3", must_have_all()).is_some() {
        places.push(format!("s3://archi3d/{}", uuid::Uuid::new_v4().simple()));
    }
    places
}

impl Fleet {
    pub(super) fn push_to(&self, workspace: &TestWorkspace, place: &str) -> Output {
        let words = [
            "fleet",
            "push",
            "--run-id",
            "rk",
            "--artifacts",
            place,
            "--json",
        ];
        self.run(workspace, &words)
    }
}

pub(super) fn blobs(folder: &Path) -> Vec<PathBuf> {
    let inside = |folder: &Path| fs::read_dir(folder).into_iter().flatten().flatten();
    let firsts = inside(&folder.join("blobs/sha256")).map(|entry| entry.path());
    firsts
        .flat_map(|first| inside(&first).map(|entry| entry.path()))
        .collect()
}

fn sums(fleet: &mut Fleet) -> Vec<(String, String)> {
    let sql = "SELECT s.job_id || '/' || f.name || ' ' || encode(f.sha256, 'hex') FROM archi3d.artifacts f \
               JOIN archi3d.job_specs s USING (job_no) ORDER BY 1";
    let lines = fleet.texts(sql).into_iter();
    let split = |line: String| {
        let (name, sum) = line.rsplit_once(' ').expect("two words");
        (name.to_owned(), sum.to_owned())
    };
    lines.map(split).collect()
}

pub(super) fn expect_outputs(fleet: &mut Fleet, workspace: &TestWorkspace) {
    let sums = sums(fleet);
    assert!(!sums.is_empty());
    for (name, sum) in sums {
        let bytes = workspace.bytes(&format!("runs/rk/outputs/{name}"));
        let found = archi3d_core::domain::text::hex(&Sha256::digest(&bytes));
        assert_eq!(found, sum, "{name}");
    }
}

#[test]
fn a_run_is_worked_on_from_an_empty_folder_and_comes_back_as_it_was_recorded() {
    if Fleet::new().is_none() {
        return;
    }
    for place in places(&mocks(1, "")) {
        let mut fleet = Fleet::new().expect("there is a server");
        let workspace = mocks(5, "");
        let place = if place.starts_with("file:") {
            in_folder(&folder(&workspace))
        } else {
            place
        };
        let pushed = fleet.push_to(&workspace, &place).expect_code(0).json();
        assert_eq!(pushed["artifacts"], place);
        // All pictures have the same bytes.
        assert_eq!(pushed["pictures_put"].as_u64(), Some(1), "{place}");
        let machine = machine(&workspace);
        let ran = fleet.worker(&machine, &["--max-parallel", "3"]).wait();
        let _ = ran.expect_code(0);
        assert_eq!(fleet.count("succeeded"), 5, "{place}");
        assert_eq!(executions(&machine).len(), 5);
        // Nothing of it stays on the machine.
        let staging = machine.path("runs/rk/outputs/.staging");
        assert_eq!(fs::read_dir(staging).expect("there").count(), 0);
        let pulled = fleet.pull(&workspace, 0);
        assert_eq!(
            (&pulled["completed"], &pulled["published"]),
            (&5.into(), &5.into())
        );
        expect_outputs(&mut fleet, &workspace);
        let table = workspace.bytes("tables/generations.csv");
        let again = fleet.pull(&workspace, 0);
        assert_eq!(again["published"], 0);
        assert_eq!(workspace.bytes("tables/generations.csv"), table);
    }
}

/// As pods that KEDA starts: an empty folder, the adapters, a database and a bucket.
#[test]
fn a_worker_of_all_runs_needs_no_workspace_for_those_in_a_bucket_and_ends_when_nothing_is_left() {
    if Fleet::new().is_none() {
        return;
    }
    for place in places(&mocks(1, "")) {
        let mut fleet = Fleet::new().expect("there is a server");
        let workspace = mocks(5, "");
        let place = if place.starts_with("file:") {
            in_folder(&folder(&workspace))
        } else {
            place
        };
        let _ = fleet.push_to(&workspace, &place).expect_code(0);
        let queries = keda_queries();
        let wanted = |fleet: &mut Fleet| queries.each_ref().map(|sql| fleet.number(sql));
        assert_eq!(wanted(&mut fleet), [5, 5], "{place}");
        let machine = machine(&workspace);
        let options = ["-j", "3", "--cache-gb", "0.5", "--until-idle", "1"];
        let served = fleet.server(&machine, &options).wait().expect_code(0);
        let _ = served.expect_stderr("5 completed, 0 failed");
        assert_eq!(wanted(&mut fleet), [0, 0], "{place}");
        assert_eq!(executions(&machine).len(), 5);
        let staging = machine.path("runs/rk/outputs/.staging");
        assert_eq!(fs::read_dir(staging).expect("there").count(), 0);
        let _ = fleet.pull(&workspace, 0);
        expect_outputs(&mut fleet, &workspace);
        let idle = fleet.server(&machine, &["--until-idle", "1"]).wait();
        let _ = idle.expect_code(0).expect_stderr("0 completed, 0 failed");
    }
}

#[test]
fn a_run_in_a_bucket_is_left_to_others_where_its_name_is_that_of_another_run() {
    let Some(mut fleet) = Fleet::new() else {
        return;
    };
    let workspace = mocks(2, "");
    let place = in_folder(&folder(&workspace));
    let _ = fleet.push_to(&workspace, &place).expect_code(0);
    let another = mocks(1, "");
    let said = fleet.server(&another, &["--until-idle", "1"]).wait();
    let said = said.expect_code(0);
    let _ = said.expect_stderr("run rk is left to others");
    assert_eq!(fleet.count("succeeded"), 0);
    assert_eq!(executions(&another).len(), 0);
}

#[test]
fn pictures_are_put_once_for_all_runs_and_another_bucket_is_refused() {
    let Some(fleet) = Fleet::new() else {
        return;
    };
    let workspace = mocks(2, "");
    let place = in_folder(&folder(&workspace));
    let _ = fleet.push_to(&workspace, &place).expect_code(0);
    let renamed = TestWorkspace::with_products(2).algo("apart").run("other");
    let renamed = renamed.adapters(&counting_mocks(&[("apart", "")])).build();
    let words = [
        "fleet",
        "push",
        "--run-id",
        "other",
        "--artifacts",
        &place,
        "--json",
    ];
    let pushed = fleet.run(&renamed, &words).expect_code(0).json();
    assert_eq!(pushed["pictures_put"], 0);
    let elsewhere = in_folder(&workspace.outside().join("another"));
    let refused = fleet.push_to(&workspace, &elsewhere).expect_code(2);
    let _ = refused.expect_stderr("the run has its files in");
}

#[test]
fn a_bucket_that_lost_a_file_is_told_with_the_job_and_the_others_arrive() {
    let Some(mut fleet) = Fleet::new() else {
        return;
    };
    let workspace = mocks(3, "");
    let bucket = folder(&workspace);
    let _ = fleet
        .push_to(&workspace, &in_folder(&bucket))
        .expect_code(0);
    let _ = fleet
        .worker(&machine(&workspace), &[])
        .wait()
        .expect_code(0);
    // Every job has a description of its own.
    let (name, sum) = sums(&mut fleet)
        .into_iter()
        .find(|(name, _)| name.ends_with("metadata.json"))
        .expect("recorded");
    let blob = bucket.join("blobs/sha256").join(&sum[..2]).join(&sum[2..]);
    let bytes = fs::read(&blob).expect("there");
    fs::remove_file(&blob).expect("removed");
    let pulled = fleet.pull(&workspace, 3);
    let missing = pulled["missing"].as_array().expect("a list");
    assert_eq!(missing.len(), 1);
    let job = name.split('/').next().expect("a job");
    assert_eq!(missing[0]["job_id"], job);
    let folder = |job: &str| workspace.path(&format!("runs/rk/outputs/{job}"));
    assert!(!folder(job).exists());
    let others = workspace.jobs().iter().filter(|other| other.id != job);
    assert!(
        others
            .map(|other| folder(&other.id))
            .all(|path| path.is_dir())
    );
    // Half of it is no result either.
    fs::write(&blob, &bytes[..bytes.len() / 2]).expect("written");
    let _ = fleet.pull(&workspace, 3);
    assert!(!folder(job).exists());
    fs::write(&blob, &bytes).expect("written");
    let _ = fleet.pull(&workspace, 0);
    expect_outputs(&mut fleet, &workspace);
}

#[test]
fn what_cannot_be_put_waits_on_its_machine_and_is_not_made_again() {
    let Some(mut fleet) = Fleet::new() else {
        return;
    };
    let start =
        |fleet: &Fleet, machine: &TestWorkspace| fleet.worker(machine, &["--lease-secs", "6"]);
    let (workspace, machine) = made_and_not_put(&mut fleet, start, 3);
    let _ = fleet.worker(&machine, &[]).wait().expect_code(0);
    expect_one_result(&mut fleet, &workspace, &machine);
}

#[test]
fn a_worker_of_all_runs_puts_what_waits_on_its_machine_although_nothing_else_is_to_be_done() {
    let Some(mut fleet) = Fleet::new() else {
        return;
    };
    // The name stays, as a service's does.
    let name = ["--lease-secs", "6", "--worker-id", "pod"];
    let start = |fleet: &Fleet, machine: &TestWorkspace| fleet.server(machine, &name);
    let (workspace, machine) = made_and_not_put(&mut fleet, start, 130);
    let again = [&name[..], &["--until-idle", "1"]].concat();
    let _ = fleet.server(&machine, &again).wait().expect_code(0);
    expect_one_result(&mut fleet, &workspace, &machine);
}

pub(super) fn expect_one_result(
    fleet: &mut Fleet,
    workspace: &TestWorkspace,
    machine: &TestWorkspace,
) {
    assert_eq!(fleet.count("succeeded"), 1);
    assert_eq!(executions(machine).len(), 1);
    let _ = fleet.pull(workspace, 0);
    expect_outputs(fleet, workspace);
}

/// Returns a workspace and a machine whose worker was stopped while the bucket was away: the model that was bought lies on the
/// machine, and others leave its job alone.
fn made_and_not_put(
    fleet: &mut Fleet,
    start: impl Fn(&Fleet, &TestWorkspace) -> Running,
    code: i32,
) -> (TestWorkspace, TestWorkspace) {
    let workspace = mocks(1, "wait_file: go, unit_price_usd: 0.5");
    let bucket = folder(&workspace);
    let _ = fleet
        .push_to(&workspace, &in_folder(&bucket))
        .expect_code(0);
    let machine = machine(&workspace);
    let worker = start(fleet, &machine);
    wait_until("the job runs", || fleet.count("running") == 1);
    wait_until("its picture has come", || executions(&machine).len() == 1);
    let away = workspace.outside().join("away");
    fs::rename(&bucket, &away).expect("moved");
    fs::write(&bucket, b"").expect("a file in its place");
    machine.write("go", b"");
    wait_until("it is made and waits", || {
        worker
            .stderr_so_far()
            .contains("results wait on this machine's disk")
    });
    // Its lease goes on meanwhile.
    let beaten = "SELECT lease_expires_at::text FROM archi3d.jobs";
    let before = fleet.texts(beaten);
    wait_until("it beats", || fleet.texts(beaten) != before);
    assert_eq!(fleet.count("running"), 1);
    worker.signal("INT");
    wait_until("the first signal is told", || {
        worker.stderr_so_far().contains("stopping")
    });
    worker.signal("INT");
    let _ = worker.wait().expect_code(code);
    assert_eq!(fleet.count("failed_terminal"), 1);
    let told = fleet.texts("SELECT last_error FROM archi3d.jobs");
    assert!(told[0].contains("they wait in"), "{told:?}");
    fs::remove_file(&bucket).expect("removed");
    fs::rename(&away, &bucket).expect("moved back");
    // Nobody elsewhere makes it again, and the machine that has it puts it first.
    let other = self::machine(&workspace);
    let _ = fleet.worker(&other, &[]).wait();
    assert_eq!(executions(&other).len(), 0);
    (workspace, machine)
}

#[test]
fn what_a_killed_worker_had_made_is_put_by_the_next_one_in_its_folder() {
    let Some(mut fleet) = Fleet::new() else {
        return;
    };
    let workspace = mocks(1, "wait_file: go, unit_price_usd: 0.5");
    let bucket = folder(&workspace);
    let _ = fleet
        .push_to(&workspace, &in_folder(&bucket))
        .expect_code(0);
    let machine = machine(&workspace);
    let worker = fleet.worker(&machine, &["--lease-secs", "6"]);
    wait_until("its picture has come", || executions(&machine).len() == 1);
    let away = workspace.outside().join("away");
    fs::rename(&bucket, &away).expect("moved");
    fs::write(&bucket, b"").expect("a file in its place");
    machine.write("go", b"");
    wait_until("it is made and waits", || {
        worker
            .stderr_so_far()
            .contains("results wait on this machine's disk")
    });
    let _ = worker.kill();
    fs::remove_file(&bucket).expect("removed");
    fs::rename(&away, &bucket).expect("moved back");
    let _ = fleet.worker(&machine, &[]).wait().expect_code(0);
    assert_eq!(fleet.count("succeeded"), 1);
    assert_eq!(executions(&machine).len(), 1);
    let _ = fleet.pull(&workspace, 0);
    expect_outputs(&mut fleet, &workspace);
}

#[test]
fn a_copy_names_the_bytes_of_another_result_and_brings_none() {
    let Some(mut fleet) = Fleet::new() else {
        return;
    };
    let workspace = mocks(4, "");
    let bucket = folder(&workspace);
    let _ = fleet
        .push_to(&workspace, &in_folder(&bucket))
        .expect_code(0);
    let machine = machine(&workspace);
    let _ = fleet.worker(&machine, &["--reuse"]).wait().expect_code(0);
    assert_eq!(executions(&machine).len(), 1);
    let models =
        "SELECT DISTINCT encode(sha256, 'hex') FROM archi3d.artifacts WHERE name = 'generated.glb'";
    assert_eq!(fleet.texts(models).len(), 1);
    let _ = fleet.pull(&workspace, 0);
    expect_outputs(&mut fleet, &workspace);
}

#[test]
fn prune_takes_what_nothing_refers_to_and_nothing_else() {
    let Some(mut fleet) = Fleet::new() else {
        return;
    };
    let workspace = mocks(2, "");
    let bucket = folder(&workspace);
    let _ = fleet
        .push_to(&workspace, &in_folder(&bucket))
        .expect_code(0);
    let _ = fleet
        .worker(&machine(&workspace), &[])
        .wait()
        .expect_code(0);
    let before = blobs(&bucket).len();
    let stray = bucket.join("blobs/sha256/ab").join("c".repeat(62));
    fs::create_dir_all(stray.parent().expect("a folder")).expect("made");
    fs::write(&stray, b"nobody's").expect("written");
    let prune = |grace: &str| {
        let words = ["fleet", "prune", "--grace", grace, "--json"];
        fleet.run(&workspace, &words)
    };
    // What a worker left that died in the middle of an upload, and a file of somebody's own.
    let half = bucket
        .join("blobs/sha256/ab")
        .join(format!("{}#1", "d".repeat(62)));
    let foreign = bucket.join("blobs/sha256/ab/notes#1");
    fs::write(&half, b"half").expect("written");
    fs::write(&foreign, b"mine").expect("written");
    assert_eq!(prune("7d").expect_code(0).json()["blobs"], 0);
    assert!(half.exists());
    // What was not pulled yet is the only copy there is.
    assert_eq!(prune("0d").expect_code(0).json()["blobs"], 2);
    assert!(!half.exists());
    fs::remove_file(&foreign).expect("it stays");
    assert_eq!(blobs(&bucket).len(), before);
    let stranger = bucket.join("fleets").join("d".repeat(64));
    fs::write(&stranger, b"another").expect("written");
    fs::write(&stray, b"theirs").expect("written");
    let refused = prune("0d").expect_code(2);
    let _ = refused.expect_stderr("is used by another database as well");
    assert!(stray.exists());
    let _ = fleet.pull(&workspace, 0);
    expect_outputs(&mut fleet, &workspace);
}

#[test]
fn a_place_that_cannot_be_used_is_refused_in_one_line_and_the_run_stays_one_of_files() {
    let Some(fleet) = Fleet::new() else {
        return;
    };
    let workspace = mocks(1, "");
    let nowhere = in_folder(&workspace.outside().join("nowhere"));
    for (place, words) in [
        ("ftp://x/y", "artifacts cannot lie at ftp://"),
        ("bucket", "is no address"),
        ("s3://", "names no bucket"),
        ("s3://key:hush@bucket/p", "must hold no credentials"),
        (nowhere.as_str(), "nowhere"),
    ] {
        let said = fleet.push_to(&workspace, place).expect_code(2);
        let error = said.expect_stderr(words);
        let shown = error.stderr.clone();
        assert!(!shown.contains("hush"), "{shown}");
        assert!(!workspace.run_path("fleet.json").exists(), "{place}");
    }
    if required("ARCHI3D_TEST_S3", must_have_all()).is_some() {
        let absent = fleet.push_to(&workspace, "s3://absent-bucket/p");
        let _ = absent
            .expect_code(2)
            .expect_stderr("there is no such bucket");
    }
}

#[test]
fn a_run_whose_files_lie_in_a_workspace_is_not_worked_on_elsewhere() {
    let Some(fleet) = Fleet::new() else {
        return;
    };
    let workspace = mocks(1, "");
    let _: Value = fleet.push(&workspace);
    let refused = fleet.worker(&machine(&workspace), &[]).wait();
    let _ = refused.expect_code(2).expect_stderr("--artifacts");
}

#[test]
fn on_the_machine_of_a_worker_a_run_in_a_bucket_is_told_by_the_store_and_pulled_elsewhere() {
    let Some(fleet) = Fleet::new() else {
        return;
    };
    let workspace = mocks(2, "");
    let place = in_folder(&folder(&workspace));
    let _ = fleet.push_to(&workspace, &place).expect_code(0);
    let machine = machine(&workspace);
    let ran = fleet.worker(&machine, &[]).wait().expect_code(0);
    let _ = ran.expect_stderr("in the workspace that pushed the run");
    let job = workspace.id(0);
    for words in [
        &["run", "status", "rk"][..],
        &["run", "plan", "rk"],
        &["run", "attempts", "rk"],
        &["run", "explain", "rk", job],
    ] {
        let _ = fleet.run(&machine, words).expect_code(0);
    }
    for word in ["pull", "push"] {
        let words = ["fleet", word, "--run-id", "rk"];
        let said = fleet.run(&machine, &words).expect_code(2);
        let _ = said.expect_stderr("was not pushed from this workspace");
    }
    fleet.pull(&workspace, 0);
}
