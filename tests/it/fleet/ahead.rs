//! Jobs taken ahead of the threads that will run them, and endings that wait on the worker's disk to be sent together.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use super::Fleet;
use crate::support::mocks::{executions, jobs_of};
use crate::support::mount::Mount;
use crate::support::process::files_with;
use crate::support::{TestWorkspace, wait_until};

fn workspace(jobs: usize, options: &str) -> TestWorkspace {
    let options = format!("unit_price_usd: 0, {options}");
    jobs_of(&[("quick", &options)], &vec!["quick"; jobs])
}

/// Returns how often each job was carried out.
fn carried_out(workspace: &TestWorkspace) -> BTreeMap<String, usize> {
    let mut times = BTreeMap::new();
    for one in executions(workspace) {
        *times.entry(one.job).or_default() += 1;
    }
    times
}

/// Returns the jobs that workers told were completed.
fn told_completed(workspace: &TestWorkspace) -> BTreeSet<String> {
    let log = fs::read_to_string(workspace.path("logs/worker.log")).unwrap_or_default();
    let lines = log
        .lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    let completed = lines.filter(|line| line["event"] == "job_completed");
    completed
        .filter_map(|line| Some(line["job_id"].as_str()?.to_owned()))
        .collect()
}

#[test]
fn what_a_killed_worker_held_ahead_goes_on_soon_and_nothing_that_was_told_runs_again() {
    let Some(mut fleet) = Fleet::new() else {
        return;
    };
    let workspace = workspace(120, "sleep_ms: 20, files: false");
    fleet.push(&workspace);
    let options = ["--ahead", "60", "--max-parallel", "2", "--lease-secs", "20"];
    let killed = fleet.worker(&workspace, &options);
    wait_until("some jobs are told to be done", || {
        told_completed(&workspace).len() >= 8
    });
    wait_until("jobs are held ahead", || fleet.count("running") >= 30);
    let _ = killed.kill();
    let told = told_completed(&workspace);
    let long = "SELECT count(*) FROM archi3d.jobs WHERE status = 'running' AND lease_expires_at > now() + interval '10 s'";
    // What has ended and was not sent was held for as long as it ran.
    let kept = files_with(workspace.outside(), "\"succeeded\"").into_iter();
    let kept = kept.flat_map(fs::read_to_string);
    let kept: usize = kept.map(|spool| spool.lines().count()).sum();
    let held = usize::try_from(fleet.number(long)).expect("not negative");
    assert!(held <= 2 + kept, "only what runs is held for a whole lease");
    let successor = fleet.worker(&workspace, &["--max-parallel", "4", "--lease-secs", "20"]);
    let _ = successor.wait().expect_code(0);
    assert_eq!(fleet.count("succeeded"), 120);
    let times = carried_out(&workspace);
    assert_eq!(times.len(), 120);
    for job in told {
        assert_eq!(times[&job], 1, "{job} was told to be completed");
    }
}

#[test]
fn a_worker_that_is_stopped_gives_back_at_no_cost_what_it_held_ahead() {
    let Some(mut fleet) = Fleet::new() else {
        return;
    };
    let workspace = workspace(50, "wait_file: go, files: false");
    fleet.push(&workspace);
    let worker = fleet.worker(&workspace, &["--ahead", "40", "--max-parallel", "2"]);
    wait_until("jobs are held ahead", || fleet.count("running") >= 40);
    wait_until("two jobs run", || executions(&workspace).len() == 2);
    worker.signal("TERM");
    wait_until("the others wait again", || fleet.count("pending") == 48);
    workspace.write("go", b"");
    let _ = worker.wait();
    assert_eq!((fleet.count("succeeded"), fleet.count("running")), (2, 0));
    let counted =
        "SELECT count(*) FROM archi3d.jobs WHERE status = 'pending' AND attempt_count <> excused";
    assert_eq!(fleet.number(counted), 0);
    assert_eq!(executions(&workspace).len(), 2);
}

#[test]
fn a_full_disk_under_the_spool_loses_nothing() {
    let Some(mut fleet) = Fleet::new() else {
        return;
    };
    let workspace = workspace(200, "files: false");
    let spool = workspace.outside().join("spool");
    fs::create_dir_all(&spool).expect("made");
    let Some(_mount) = Mount::small(&spool, 4096) else {
        return;
    };
    fleet.push(&workspace);
    let worker = fleet.worker(&workspace, &["--ahead", "50", "--max-parallel", "24"]);
    let _ = worker.wait().expect_code(0);
    assert_eq!(fleet.count("succeeded"), 200);
    assert_eq!(fleet.number("SELECT count(*) FROM archi3d.results"), 200);
    assert!(carried_out(&workspace).values().all(|times| *times == 1));
}

#[test]
fn what_costs_money_is_never_taken_ahead() {
    let Some(mut fleet) = Fleet::new() else {
        return;
    };
    let mocks = [
        ("quick", "unit_price_usd: 0, wait_file: go"),
        ("dear", "unit_price_usd: 0.1, wait_file: go"),
    ];
    let algos: Vec<&str> = ["dear", "quick"].repeat(20);
    let workspace = jobs_of(&mocks, &algos);
    fleet.push(&workspace);
    let worker = fleet.worker(
        &workspace,
        &["--ahead", "15", "--max-parallel", "2", "--yes"],
    );
    wait_until("jobs are held ahead", || fleet.count("running") >= 10);
    let dear = "SELECT count(*) FROM archi3d.jobs WHERE status = 'running' AND algo = 'dear'";
    assert!(fleet.number(dear) <= 2);
    workspace.write("go", b"");
    let _ = worker.wait().expect_code(0);
    assert_eq!(fleet.count("succeeded"), 40);
    assert!(carried_out(&workspace).values().all(|times| *times == 1));
}

#[test]
fn a_result_without_files_is_kept_in_the_database_and_nowhere_else() {
    let Some(mut fleet) = Fleet::new() else {
        return;
    };
    let pushed = workspace(5, "files: false");
    fleet.push(&pushed);
    let _ = fleet
        .worker(&pushed, &["--max-parallel", "2"])
        .wait()
        .expect_code(0);
    assert_eq!(fleet.number("SELECT count(*) FROM archi3d.results"), 5);
    assert_eq!(fleet.number("SELECT count(*) FROM archi3d.artifacts"), 0);
    fleet.pull(&pushed, 0);
    for job in pushed.jobs() {
        assert_eq!(pushed.registry().row("rk", &job.id)["status"], *"completed");
        assert!(!pushed.path(&format!("runs/rk/outputs/{}", job.id)).exists());
    }
    // A run on files keeps models alone.
    let files = workspace(1, "files: false");
    let _ = files.worker(&[]).run().expect_code(1);
    assert_eq!(files.registry().row("rk", files.id(0))["status"], *"failed");
}
