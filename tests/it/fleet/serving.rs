//! `fleet worker`: one worker for all runs of a store.

use std::fs::{self, File};

use super::Fleet;
use crate::support::binary::Running;
use crate::support::mocks::{counting_mocks, executions, jobs_of};
use crate::support::{TestWorkspace, wait_until};

/// Returns a workspace with the run `rk`, and the same jobs in the runs of these names.
fn runs(jobs: usize, mocks: &[(&str, &str)], others: &[&str]) -> TestWorkspace {
    let builder = TestWorkspace::with_products(jobs).algo(mocks[0].0);
    let workspace = builder.adapters(&counting_mocks(mocks)).build();
    copy_run(&workspace, others);
    workspace
}

pub(super) fn copy_run(workspace: &TestWorkspace, others: &[&str]) {
    let table = "tables/generations.csv";
    let text = String::from_utf8(workspace.bytes(table)).expect("it is text");
    let rows = text.split_inclusive('\n').skip(1).collect::<String>();
    let manifest = workspace.bytes("runs/rk/manifest.csv");
    let mut all = text.clone();
    for run in others {
        all.push_str(&rows.replace(",rk,", &format!(",{run},")));
        workspace.write(&format!("runs/{run}/manifest.csv"), &manifest);
    }
    workspace.write(table, all.as_bytes());
}

impl Fleet {
    pub(super) fn push_run(&self, workspace: &TestWorkspace, run: &str, priority: &str) {
        let words = ["fleet", "push", "--run-id", run, "--priority", priority];
        let _ = self.run(workspace, &words).expect_code(0);
    }

    pub fn server(&self, workspace: &TestWorkspace, options: &[&str]) -> Running {
        let mut words = vec!["fleet", "worker"];
        words.extend(options);
        self.invoke(workspace, &words)
            .env("ARCHI3D_SPOOL", workspace.outside().join("spool"))
            .spawn()
    }

    pub(super) fn succeeded(&mut self, run: &str) -> i64 {
        self.number(&format!(
            "SELECT count(*) FROM archi3d.jobs j JOIN archi3d.runs r USING (run_no) \
             WHERE r.run_id = '{run}' AND j.status = 'succeeded'"
        ))
    }
}

#[test]
fn one_worker_serves_every_run_and_what_is_pushed_later_over_two_connections() {
    let Some(mut fleet) = Fleet::new() else {
        return;
    };
    let workspace = runs(3, &[("killme", "sleep_ms: 50")], &["r2", "r3"]);
    fleet.push_run(&workspace, "rk", "0");
    fleet.push_run(&workspace, "r2", "0");
    let server = fleet.server(&workspace, &["-j", "2", "--worker-id", "all"]);
    wait_until("both runs are made", || {
        fleet.succeeded("rk") == 3 && fleet.succeeded("r2") == 3
    });
    let connections =
        "SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'archi3d/all%'";
    assert_eq!(fleet.number(connections), 2);
    // Nothing is left, and it stays.
    fleet.push_run(&workspace, "r3", "0");
    wait_until("the third run is made", || fleet.succeeded("r3") == 3);
    assert_eq!(fleet.number(connections), 2);
    let seen =
        "SELECT state || ' ' || (run_no IS NULL) FROM archi3d.workers WHERE worker_id = 'all'";
    assert_eq!(fleet.texts(seen).len(), 1);
    server.signal("TERM");
    let said = server.wait().expect_code(143);
    let _ = said.expect_stderr("9 completed, 0 failed");
    assert_eq!(executions(&workspace).len(), 9);
    let ended = "SELECT count(*) FROM archi3d.workers WHERE worker_id = 'all' AND state = 'ended'";
    assert_eq!(fleet.number(ended), 1);
    for run in ["rk", "r2", "r3"] {
        let pulled = fleet.run(&workspace, &["fleet", "pull", "--run-id", run]);
        let _ = pulled.expect_code(0);
    }
    assert!(workspace.bytes("tables/generations.csv").len() > 100);
}

#[test]
fn the_most_urgent_run_goes_first_and_one_that_comes_later_overtakes() {
    let Some(mut fleet) = Fleet::new() else {
        return;
    };
    let workspace = runs(12, &[("killme", "wait_file: go")], &["urgent"]);
    fleet.push_run(&workspace, "rk", "0");
    let server = fleet.server(&workspace, &["--until-idle", "1"]);
    wait_until("the usual run is begun", || fleet.count("running") == 1);
    fleet.push_run(&workspace, "urgent", "5");
    wait_until("the urgent run is seen", || {
        server.stderr_so_far().contains("urgent: 12 jobs")
    });
    workspace.write("go", b"");
    let _ = server.wait().expect_code(0);
    // By when jobs began: all urgent ones before the last of the usual run.
    let order = fleet.texts(
        "SELECT r.run_id FROM archi3d.attempts a JOIN archi3d.jobs j ON j.id = a.job_no \
         JOIN archi3d.runs r USING (run_no) ORDER BY a.started_at",
    );
    let last_urgent = order.iter().rposition(|run| run == "urgent");
    let last_usual = order.iter().rposition(|run| run == "rk");
    assert_eq!(order.len(), 24);
    assert!(last_urgent < last_usual, "{order:?}");
}

#[test]
fn it_takes_only_what_it_can_carry_out_and_only_runs_of_its_workspace() {
    let Some(mut fleet) = Fleet::new() else {
        return;
    };
    let mocks = [("killme", ""), ("other", "")];
    let workspace = jobs_of(&mocks, &["killme", "other", "killme", "other"]);
    let strange = runs(2, &[("killme", "")], &["elsewhere"]);
    fleet.push_run(&workspace, "rk", "0");
    fleet.push_run(&strange, "elsewhere", "9");
    let only = ["--algo", "other", "--until-idle", "1"];
    let _ = fleet.server(&workspace, &only).wait().expect_code(0);
    let of = |algo: &str| {
        format!("SELECT count(*) FROM archi3d.jobs WHERE algo = '{algo}' AND status = 'succeeded'")
    };
    assert_eq!(
        (fleet.number(&of("other")), fleet.number(&of("killme"))),
        (2, 0)
    );
    let said = fleet.server(&workspace, &["--until-idle", "1"]).wait();
    let said = said.expect_code(0);
    let _ = said.expect_stderr("run elsewhere is left to others");
    assert_eq!(
        (fleet.succeeded("rk"), fleet.succeeded("elsewhere")),
        (4, 0)
    );
    let refused = fleet.server(&workspace, &["--algo", "nothing"]).wait();
    let _ = refused.expect_code(2).expect_stderr("nothing");
}

#[test]
fn places_that_one_run_leaves_are_used_by_the_next() {
    let Some(mut fleet) = Fleet::new() else {
        return;
    };
    let workspace = runs(1, &[("killme", "wait_file: go")], &["r2"]);
    fleet.push_run(&workspace, "rk", "5");
    fleet.push_run(&workspace, "r2", "0");
    let server = fleet.server(&workspace, &["-j", "2", "--until-idle", "1"]);
    wait_until("both runs have a job at work", || {
        fleet.number("SELECT count(DISTINCT run_no) FROM archi3d.jobs WHERE status = 'running'")
            == 2
    });
    workspace.write("go", b"");
    let _ = server.wait().expect_code(0);
    assert_eq!((fleet.succeeded("rk"), fleet.succeeded("r2")), (1, 1));
}

#[test]
fn limits_hold_for_each_run_and_what_was_not_agreed_to_is_left_alone() {
    let Some(mut fleet) = Fleet::new() else {
        return;
    };
    let workspace = runs(4, &[("killme", "unit_price_usd: 0.30")], &["r2"]);
    workspace.write("config/global.yaml", b"confirm_above_usd: 0.5\n");
    fleet.push_run(&workspace, "rk", "0");
    fleet.push_run(&workspace, "r2", "0");
    let said = fleet.server(&workspace, &["--until-idle", "1"]).wait();
    let said = said.expect_code(0);
    let _ = said.expect_stderr("--yes");
    assert_eq!(fleet.count("succeeded"), 0);
    let capped = [
        "--yes",
        "--budget-usd",
        "0.70",
        "--until-idle",
        "1",
        "-j",
        "3",
    ];
    let _ = fleet.server(&workspace, &capped).wait().expect_code(0);
    assert_eq!((fleet.succeeded("rk"), fleet.succeeded("r2")), (2, 2));
}

#[test]
fn killed_it_leaves_nothing_that_another_does_not_take_over() {
    let Some(mut fleet) = Fleet::new() else {
        return;
    };
    let workspace = runs(2, &[("killme", "wait_file: go")], &["r2"]);
    fleet.push_run(&workspace, "rk", "0");
    fleet.push_run(&workspace, "r2", "0");
    let first = fleet.server(
        &workspace,
        &["-j", "4", "--lease-secs", "2", "--worker-id", "w"],
    );
    wait_until("all jobs run", || fleet.count("running") == 4);
    let refused = fleet.server(&workspace, &["--worker-id", "w"]).wait();
    let _ = refused
        .expect_code(2)
        .expect_stderr("a worker called w is at work already");
    let _ = first.kill();
    workspace.write("go", b"");
    let next = [
        "-j",
        "4",
        "--lease-secs",
        "2",
        "--worker-id",
        "w",
        "--until-idle",
        "15",
    ];
    let _ = fleet.server(&workspace, &next).wait().expect_code(0);
    assert_eq!((fleet.succeeded("rk"), fleet.succeeded("r2")), (2, 2));
    let lost = "SELECT count(*) FROM archi3d.attempts WHERE status = 'lost'";
    assert_eq!(fleet.number(lost), 4);
}

/// Tells whether nobody works on a run under this name here: the lock of its spool there is free.
fn has_left(workspace: &TestWorkspace, run: &str, worker: &str) -> bool {
    let spools = fs::read_dir(workspace.outside().join("spool"));
    let mut spools = spools.into_iter().flatten().flatten();
    let of_run = format!("{run}-");
    let folder = spools.find(|entry| entry.file_name().to_string_lossy().starts_with(&of_run));
    folder.is_some_and(|folder| {
        let lock = File::open(folder.path().join(worker).join("spool.lock"));
        lock.is_ok_and(|lock| lock.try_lock().is_ok())
    })
}

#[test]
fn who_has_ended_with_one_run_is_not_taken_for_dead_in_another() {
    let Some(mut fleet) = Fleet::new() else {
        return;
    };
    let mocks = [("slow", "wait_file: go"), ("quick", "")];
    let workspace = jobs_of(&mocks, &["slow", "quick"]);
    copy_run(&workspace, &["r2"]);
    fleet.push_run(&workspace, "rk", "0");
    fleet.push_run(&workspace, "r2", "0");
    let cancelled = fleet.run(&workspace, &["run", "cancel", "r2", "--algo", "slow"]);
    let _ = cancelled.expect_code(0);
    let options = ["-j", "2", "--worker-id", "w", "--until-idle", "1"];
    let server = fleet.server(&workspace, &options);
    wait_until("one run is over and the other is not", || {
        fleet.succeeded("r2") == 1 && fleet.succeeded("rk") == 1 && fleet.count("running") == 1
    });
    wait_until("it has left the run that is over", || {
        has_left(&workspace, "r2", "w")
    });
    let beside = fleet
        .invoke(&workspace, &["run", "worker", "--run-id", "r2"])
        .env("ARCHI3D_SPOOL", workspace.outside().join("spool"))
        .run();
    let _ = beside.expect_code(0);
    workspace.write("go", b"");
    let _ = server.wait().expect_code(0);
    assert_eq!(executions(&workspace).len(), 3);
    assert_eq!(fleet.number("SELECT count(*) FROM archi3d.attempts"), 3);
}
