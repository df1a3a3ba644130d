//! Spending limits of a fleet where attempts are cut off, and what could not be told when it ended.

use std::path::Path;
use std::time::Instant;

use super::Fleet;
use crate::support::mocks::{counting_mocks, executions, jobs_of};
use crate::support::{TestWorkspace, wait_until};

/// Returns a run of jobs that cost thirty cents each.
fn priced(jobs: usize, options: &str) -> TestWorkspace {
    let yaml = counting_mocks(&[("killme", &format!("unit_price_usd: 0.30, {options}"))]);
    let builder = TestWorkspace::with_products(jobs).algo("killme");
    builder.adapters(&yaml).build()
}

/// What the run has spent, and what is reserved for it, in cents.
fn spent_and_reserved(fleet: &mut Fleet) -> (i64, i64) {
    let mut sum = |what: &str| {
        fleet.number(&format!(
            "SELECT {what} / 10000 FROM archi3d.budgets WHERE scope LIKE 'run:%'"
        ))
    };
    (sum("spent"), sum("reserved"))
}

#[test]
fn attempts_that_were_cut_off_never_free_money_for_others() {
    let Some(mut fleet) = Fleet::new() else {
        return;
    };
    let workspace = priced(3, "sleep_ms: 60000, timeout_s: 0.2");
    fleet.push(&workspace);
    for _ in 0..2 {
        let capped = ["--budget-usd", "0.30", "--retries", "1"];
        let _ = fleet.worker(&workspace, &capped).wait().expect_code(4);
        assert_eq!(executions(&workspace).len(), 1);
        assert_eq!(spent_and_reserved(&mut fleet), (0, 30));
    }
    let _ = fleet
        .run(&workspace, &["fleet", "sweep", "--once"])
        .expect_code(0);
    assert_eq!(spent_and_reserved(&mut fleet), (0, 30));
}

#[test]
fn a_worker_ends_where_the_limit_allows_no_more_and_a_dead_one_had_money_reserved() {
    let Some(mut fleet) = Fleet::new() else {
        return;
    };
    let workspace = priced(1, "wait_file: go");
    fleet.push(&workspace);
    let capped = ["--budget-usd", "0.40", "--lease-secs", "2"];
    let first = fleet.worker(&workspace, &capped);
    let reserved = "SELECT count(*) FROM archi3d.reservations";
    wait_until("it may buy", || fleet.number(reserved) == 1);
    let _ = first.kill();
    let over = "SELECT count(*) FROM archi3d.jobs WHERE lease_expires_at < now()";
    wait_until("its lease is over", || fleet.number(over) == 1);
    fleet.let_a_lease_go_by();
    let began = Instant::now();
    let _ = fleet.worker(&workspace, &capped).wait().expect_code(4);
    assert_eq!(spent_and_reserved(&mut fleet), (0, 30));
    // However long it took to come to its end, it did not try again and again.
    let most = 3 + i64::try_from(began.elapsed().as_secs()).expect("not for ever");
    let attempts = fleet.number("SELECT count(*) FROM archi3d.attempts");
    assert!(attempts <= most, "{attempts} attempts at nothing");
}

#[test]
fn what_could_not_be_told_is_told_before_the_next_job_of_a_list_starts() {
    let Some(mut fleet) = Fleet::new() else {
        return;
    };
    let mocks = [("one", "wait_file: one"), ("two", "wait_file: two")];
    let workspace = jobs_of(&mocks, &["one", "two"]);
    fleet.push(&workspace);
    let listed = ["--only-status", "enqueued", "--lease-secs", "2", "-j", "1"];
    let worker = fleet.worker(&workspace, &listed);
    wait_until("it runs", || fleet.count("running") == 1);
    fleet.allow_connections(false);
    workspace.write("one", b"");
    let folders = |place: &Path| {
        let entries = std::fs::read_dir(place).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).collect::<Vec<_>>()
    };
    wait_until("its ending is kept", || {
        let spools = folders(&workspace.outside().join("spool"));
        let mut of_workers = spools.iter().flat_map(|database| folders(database));
        of_workers.any(|worker| {
            let file = std::fs::metadata(worker.join("spool.jsonl"));
            file.is_ok_and(|file| file.len() > 0)
        })
    });
    fleet.allow_connections(true);
    let second = "SELECT count(*) FROM archi3d.jobs WHERE algo = 'two' AND status = 'running'";
    wait_until("the second runs", || fleet.number(second) == 1);
    assert_eq!(fleet.count("succeeded"), 1);
    workspace.write("two", b"");
    let _ = worker.wait().expect_code(0);
    assert_eq!(executions(&workspace).len(), 2);
    assert_eq!(fleet.number("SELECT count(*) FROM archi3d.attempts"), 2);
}

#[test]
fn what_was_spent_today_on_files_counts_for_the_day_after_a_push() {
    let Some(mut fleet) = Fleet::new() else {
        return;
    };
    let workspace = priced(4, "files: true");
    workspace.write("config/global.yaml", b"budget:\n  day_usd: 0.6\n");
    let _ = workspace.worker(&["--yes"]).run().expect_code(4);
    assert_eq!(executions(&workspace).len(), 2);
    fleet.push(&workspace);
    let _ = fleet.worker(&workspace, &["--yes"]).wait().expect_code(4);
    assert_eq!(executions(&workspace).len(), 2);
    let day = "SELECT spent / 10000 FROM archi3d.budgets WHERE scope LIKE 'day:%'";
    assert_eq!(fleet.number(day), 60);
}
