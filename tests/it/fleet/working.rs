//! Workers of a fleet: real processes on one run, some of them killed, stopped or cut off.

use std::collections::BTreeMap;
use std::time::Duration;

use super::Fleet;
use crate::support::billing::Shop;
use crate::support::binary::Running;
use crate::support::{TestWorkspace, wait_until};

const ADAPTERS: &str = "adapters:\n  killme:\n    kind: mock\n    sleep_ms: 20\n    \
                        count_file: count.txt\n";

fn workspace(jobs: usize) -> TestWorkspace {
    let builder = TestWorkspace::with_products(jobs).algo("killme");
    builder.adapters(ADAPTERS).build()
}

/// Cells that differ between two runs of the same jobs, whoever runs them.
const OWN: [&str; 4] = [
    "generation_start",
    "generation_end",
    "generation_duration_s",
    "worker_env",
];

fn comparable(workspace: &TestWorkspace) -> Vec<BTreeMap<String, String>> {
    let registry = workspace.registry();
    let columns = registry.columns.iter();
    let columns: Vec<&String> = columns
        .filter(|name| !OWN.contains(&name.as_str()))
        .collect();
    let rows = registry.rows.iter().map(|row| {
        let cell = |name: &String| row.get(name).unwrap_or_default().to_owned();
        columns
            .iter()
            .map(|name| ((*name).clone(), cell(name)))
            .collect()
    });
    rows.collect()
}

/// Counts how often jobs were carried out.
fn executions(workspace: &TestWorkspace) -> usize {
    let text = String::from_utf8(workspace.bytes("count.txt")).expect("text");
    text.lines().count()
}

impl Fleet {
    pub(super) fn worker(&self, workspace: &TestWorkspace, options: &[&str]) -> Running {
        let mut words = vec!["run", "worker", "--run-id", "rk"];
        words.extend(options);
        self.invoke(workspace, &words)
            .env("ARCHI3D_SPOOL", workspace.outside().join("spool"))
            .spawn()
    }

    pub(super) fn count(&mut self, status: &str) -> i64 {
        self.number(&format!(
            "SELECT count(*) FROM archi3d.jobs WHERE status = '{status}'"
        ))
    }
}

#[test]
fn four_workers_share_a_run_and_its_table_is_that_of_one_worker_on_files() {
    let Some(mut fleet) = Fleet::new() else {
        return;
    };
    let (shared, alone) = (workspace(40), workspace(40));
    let _ = alone.worker(&["--max-parallel", "2"]).run().expect_code(0);
    fleet.push(&shared);
    let workers: Vec<Running> = (0..4)
        .map(|_| fleet.worker(&shared, &["--max-parallel", "2"]))
        .collect();
    for worker in workers {
        let _ = worker.wait().expect_code(0);
    }
    assert_eq!(fleet.count("succeeded"), 40);
    let begun = "SELECT count(*) FROM archi3d.attempts WHERE status <> 'released'";
    assert_eq!(fleet.number(begun), 40);
    assert_eq!(executions(&shared), 40);
    fleet.pull(&shared, 0);
    assert_eq!(comparable(&shared), comparable(&alone));
    let before = super::registry(&shared);
    fleet.pull(&shared, 0);
    assert_eq!(super::registry(&shared), before);
}

#[test]
fn the_jobs_of_a_worker_that_was_killed_go_on_within_one_lease() {
    let Some(mut fleet) = Fleet::new() else {
        return;
    };
    let workspace = TestWorkspace::with_products(6)
        .algo("killme")
        .adapters("adapters:\n  killme:\n    kind: mock\n    wait_file: go\n")
        .build();
    fleet.push(&workspace);
    let killed = fleet.worker(&workspace, &["--lease-secs", "2", "--max-parallel", "3"]);
    wait_until("three jobs run", || fleet.count("running") == 3);
    let _ = killed.kill();
    workspace.write("go", b"");
    let successor = fleet.worker(&workspace, &["--lease-secs", "2"]);
    let _ = successor.wait().expect_code(0);
    assert_eq!(fleet.count("succeeded"), 6);
    let lost = "SELECT count(*) FROM archi3d.attempts WHERE status = 'lost'";
    assert_eq!(fleet.number(lost), 3);
}

#[test]
fn the_next_worker_of_a_machine_waits_for_no_lease_of_one_that_died_there() {
    let Some(mut fleet) = Fleet::new() else {
        return;
    };
    let workspace = TestWorkspace::with_products(2)
        .algo("killme")
        .adapters("adapters:\n  killme:\n    kind: mock\n    wait_file: go\n")
        .build();
    fleet.push(&workspace);
    // Nobody would live to see these leases end.
    let options = ["--lease-secs", "3600", "--max-parallel", "2"];
    let killed = fleet.worker(&workspace, &options);
    wait_until("both jobs run", || fleet.count("running") == 2);
    let _ = killed.kill();
    workspace.write("go", b"");
    let _ = fleet.worker(&workspace, &options).wait().expect_code(0);
    assert_eq!(fleet.count("succeeded"), 2);
    let lost = "SELECT count(*) FROM archi3d.attempts WHERE status = 'lost'";
    assert_eq!(fleet.number(lost), 2);
}

#[test]
fn a_worker_that_is_told_to_stop_gives_its_jobs_back_at_no_cost() {
    let Some(mut fleet) = Fleet::new() else {
        return;
    };
    let workspace = TestWorkspace::with_products(3)
        .algo("killme")
        .adapters("adapters:\n  killme:\n    kind: mock\n    wait_file: go\n")
        .build();
    fleet.push(&workspace);
    let worker = fleet.worker(&workspace, &[]);
    wait_until("a job runs", || fleet.count("running") == 1);
    worker.signal("TERM");
    worker.signal("TERM");
    let _ = worker.wait();
    assert_eq!(fleet.count("pending"), 3);
    let paid = "SELECT coalesce(sum(attempt_count - excused), 0)::bigint FROM archi3d.jobs";
    assert_eq!(fleet.number(paid), 0);
}

#[test]
fn a_worker_that_stood_still_past_its_lease_publishes_nothing_over_its_successor() {
    let Some(mut fleet) = Fleet::new() else {
        return;
    };
    let workspace = TestWorkspace::with_products(1)
        .algo("killme")
        .adapters("adapters:\n  killme:\n    kind: mock\n    wait_file: go\n")
        .build();
    fleet.push(&workspace);
    let frozen = fleet.worker(&workspace, &["--lease-secs", "2"]);
    wait_until("the job runs", || fleet.count("running") == 1);
    frozen.signal("STOP");
    workspace.write("go", b"");
    let successor = fleet.worker(&workspace, &["--lease-secs", "2"]);
    let _ = successor.wait().expect_code(0);
    frozen.signal("CONT");
    let _ = frozen.wait();
    assert_eq!(fleet.number("SELECT count(*) FROM archi3d.results"), 1);
    let by = "SELECT number::bigint FROM archi3d.results";
    assert_eq!(fleet.number(by), 2);
}

#[test]
fn whatever_dies_each_job_is_bought_once() {
    let Some(mut fleet) = Fleet::new() else {
        return;
    };
    let shop = Shop::open(12, &["unit_price_usd: 0.10", "timeout_s: 60"], &[]);
    fleet.push(&shop.workspace);
    let worker = |options: &[&str]| {
        let mut words = vec!["--lease-secs", "2", "--max-parallel", "2"];
        words.extend(options);
        shop.worker(&words)
            .env("ARCHI3D_STORE", &fleet.url)
            .env("ARCHI3D_SPOOL", shop.workspace.outside().join("spool"))
            .spawn()
    };
    for pause in [0, 30, 60, 90] {
        let before = shop.provider.charges();
        let (one, other) = (worker(&[]), worker(&[]));
        wait_until("something is bought", || {
            let charges = shop.provider.charges();
            charges > before || charges == 12
        });
        // The moment of a kill is what is tested; nothing waits for it.
        std::thread::sleep(Duration::from_millis(pause));
        let _ = one.kill();
        let _ = other.kill();
    }
    let _ = worker(&[]).wait().expect_code(0);
    assert_eq!(fleet.count("succeeded"), 12);
    assert_eq!(shop.provider.charges(), 12);
    let of = |change: &str| {
        format!(
            "SELECT COALESCE(sum(micros), 0)::bigint FROM archi3d.ledger WHERE change = '{change}'"
        )
    };
    // The provider says that each costs 0.40.
    assert_eq!(fleet.number(&of("settled")), 4_800_000);
    // What an attempt had reserved that was cut off before it said a word may have been billed: it counts as well, and only that.
    let silent = "SELECT COALESCE(sum(micros), 0)::bigint FROM archi3d.ledger l JOIN archi3d.attempts a USING (attempt_id)
                  WHERE change = 'reserved' AND a.status <> 'succeeded' AND a.request_id IS NULL";
    let (in_doubt, silent) = (fleet.number(&of("written_off")), fleet.number(silent));
    assert!(in_doubt <= silent, "{in_doubt} of {silent}");
    let counted = "SELECT spent + reserved FROM archi3d.budgets WHERE scope LIKE 'run:%'";
    assert_eq!(fleet.number(counted), 4_800_000 + in_doubt);
}

#[test]
fn a_cap_holds_over_all_workers_together() {
    let Some(mut fleet) = Fleet::new() else {
        return;
    };
    let workspace = TestWorkspace::with_products(12)
        .algo("killme")
        .adapters(
            "adapters:\n  killme:\n    kind: mock\n    unit_price_usd: 0.30\n    sleep_ms: 20\n",
        )
        .build();
    fleet.push(&workspace);
    let workers: Vec<Running> = (0..4)
        .map(|_| fleet.worker(&workspace, &["--budget-usd", "1.00", "--max-parallel", "2"]))
        .collect();
    for worker in workers {
        let _ = worker.wait().expect_code(4);
    }
    assert_eq!(fleet.count("succeeded"), 3);
    let spent = "SELECT spent FROM archi3d.budgets WHERE scope LIKE 'run:%'";
    assert_eq!(fleet.number(spent), 900_000);
}

#[test]
fn connections_that_are_cut_again_and_again_lose_nothing() {
    let Some(mut fleet) = Fleet::new() else {
        return;
    };
    let workspace = workspace(60);
    fleet.push(&workspace);
    let mut worker = fleet.worker(&workspace, &["--max-parallel", "4", "--lease-secs", "10"]);
    wait_until("it has begun", || fleet.count("succeeded") > 0);
    // And then peace.
    for _ in 0..100 {
        if worker.has_ended() {
            break;
        }
        fleet.number(
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
             WHERE application_name LIKE 'archi3d/%' AND datname = current_database()",
        );
        std::thread::sleep(Duration::from_millis(70));
    }
    let _ = worker.wait().expect_code(0);
    assert_eq!(fleet.count("succeeded"), 60);
    assert_eq!(executions(&workspace), 60);
    fleet.pull(&workspace, 0);
}
