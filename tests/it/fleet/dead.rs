//! What dead, late and frozen workers leave: taken over in time, and never from the living.

use std::time::Duration;

use archi3d_core::domain::id::AlgoKey;
use archi3d_core::domain::lease::Lease;
use archi3d_core::store::postgres::claim::{self, Claimer};
use archi3d_core::store::{Claim, Handing, Lane, Next, ReleaseReason, Want, WorkerStore};
use postgres::Client;

use super::Fleet;
use super::serving::copy_run;
use crate::made_results;
use crate::postgres::bench::{LEASE, lane};
use crate::support::bench::at;
use crate::support::mocks::{counting_mocks, executions, jobs_of};
use crate::support::pg_bench::PgBench;
use crate::support::process::children;
use crate::support::{TestWorkspace, wait_until};

fn mocks(jobs: usize, options: &str) -> TestWorkspace {
    let yaml = counting_mocks(&[("killme", options)]);
    let builder = TestWorkspace::with_products(jobs).algo("killme");
    builder.adapters(&yaml).build()
}

#[test]
fn what_is_due_and_what_the_dead_left_does_not_wait_for_a_backlog() {
    let Some(mut fleet) = Fleet::new() else {
        return;
    };
    // The first job of the backlog ends when the two that are not to wait are there.
    let workspace = mocks(102, "sleep_ms: 60, wait_file: go");
    fleet.push(&workspace);
    let by = Claimer {
        worker: "of another machine",
        lease: LEASE,
        rehearsal: false,
        held: &[],
    };
    let lanes = [lane("killme", 1)];
    let held = claim::claim(&mut fleet.bench.work, 1, &lanes, 1, &by).expect("claimed");
    let worker = fleet.worker(&workspace, &["--lease-secs", "2"]);
    wait_until("it works", || executions(&workspace).len() == 1);
    // Two that come before all others: one whose worker is dead now, one whose second try is due.
    fleet.change(&format!(
        "UPDATE archi3d.jobs SET lease_expires_at = 'epoch' WHERE id = {};
         UPDATE archi3d.jobs SET status = 'failed_retryable'
         WHERE id = (SELECT max(id) FROM archi3d.jobs WHERE status = 'pending')",
        held[0].hold.job_no
    ));
    workspace.write("go", b"");
    let _ = worker.wait().expect_code(0);
    assert_eq!(fleet.count("succeeded"), 102);
    let after = |fleet: &mut Fleet, which: &str| {
        fleet.number(&format!(
            "SELECT count(*) FROM archi3d.attempts WHERE number = 1
             AND started_at > (SELECT started_at FROM archi3d.attempts WHERE {which})"
        ))
    };
    let of_the_dead = after(&mut fleet, "number = 2");
    let due = after(
        &mut fleet,
        "job_no = (SELECT max(id) FROM archi3d.jobs) AND number = 1",
    );
    // It looks three times a second; a hundred jobs take six.
    assert!(of_the_dead > 50 && due > 50, "{of_the_dead} {due}");
}

#[test]
fn a_worker_that_waits_asks_no_more_often_because_of_what_is_due_for_others() {
    let Some(mut fleet) = Fleet::new() else {
        return;
    };
    let workspace = jobs_of(&[("own", ""), ("other", "")], &["own", "other"]);
    fleet.push(&workspace);
    let by = Claimer {
        worker: "of another machine",
        lease: LEASE,
        rehearsal: false,
        held: &[],
    };
    let held = claim::claim(&mut fleet.bench.work, 1, &[lane("own", 1)], 1, &by);
    assert_eq!(held.expect("claimed").len(), 1);
    fleet.change("UPDATE archi3d.jobs SET status = 'failed_retryable' WHERE algo = 'other'");
    let times = workspace.outside().join("times");
    let words = ["run", "worker", "--run-id", "rk", "--algo", "own"];
    let worker = fleet
        .invoke(&workspace, &words)
        .env("ARCHI3D_SPOOL", workspace.outside().join("spool"))
        .env("ARCHI3D_STATEMENT_TIMES", &times)
        .spawn();
    let waits = "SELECT count(*) FROM archi3d.workers WHERE started_at < now() - interval '4 s'";
    wait_until("it has waited for a while", || fleet.number(waits) == 1);
    worker.signal("TERM");
    let _ = worker.wait();
    let asked = std::fs::read_to_string(&times).expect("its statements");
    let at = |line: &str| line.rsplit('\t').next()?.parse::<f64>().ok();
    let moments: Vec<f64> = asked.lines().filter_map(at).collect();
    let first = moments.iter().copied().fold(f64::MAX, f64::min);
    let last = moments.iter().copied().fold(0.0, f64::max);
    // By its own clock, so that a slow machine makes it no quicker.
    let claims = asked.lines().filter(|line| line.starts_with("claim\t"));
    let a_second = f64::from(u32::try_from(claims.count()).expect("few")) / (last - first) * 1e6;
    assert!(a_second < 5.0, "{a_second} claims a second");
}

#[test]
fn a_job_that_was_to_be_stopped_when_its_worker_died_keeps_nobody_waiting() {
    let Some(mut fleet) = Fleet::new() else {
        return;
    };
    let workspace = mocks(1, "wait_file: go");
    fleet.push(&workspace);
    let first = fleet.worker(&workspace, &["--lease-secs", "2"]);
    wait_until("it runs", || fleet.count("running") == 1);
    // It does not hear of it any more.
    first.signal("STOP");
    let other = fleet.worker(&workspace, &["--lease-secs", "2"]);
    let there = "SELECT count(*) FROM archi3d.workers";
    wait_until("two workers", || fleet.number(there) == 2);
    let cancelled = fleet.run(&workspace, &["run", "cancel", "rk", "--algo", "killme"]);
    let _ = cancelled.expect_code(0);
    let _ = first.kill();
    let _ = other.wait();
    assert_eq!(fleet.count("cancelled"), 1);
}

/// Takes a job of the bench, if one is to be had.
fn take(store: &dyn Handing, free: bool) -> Option<Lease> {
    let lanes = [Lane {
        algo: AlgoKey::parse("fake").expect("a key"),
        most: 1,
        bought_only: false,
        free,
        trial: None,
    }];
    let want = Want {
        lanes: &lanes,
        most: 1,
        follows: false,
    };
    match store.claim_next(&want, at(0)).expect("asked") {
        Next::Jobs(mut jobs) => jobs.pop().map(|(_, lease)| lease),
        _ => None,
    }
}

/// Lets a worker lose a job to another, which gives it back.
fn lose(bench: &PgBench, late: &str, other: &dyn WorkerStore) {
    bench.lapse(late);
    let mut taken = None;
    wait_until("another looks for what the dead left", || {
        taken = take(other.handing().expect("it hands jobs out"), true);
        taken.is_some()
    });
    let lease = taken.expect("taken");
    let given = other.release(&lease, ReleaseReason::Interrupted, None, at(0));
    given.expect("given back");
}

#[test]
fn what_a_worker_lost_and_still_runs_it_does_not_claim_again() {
    let Some(bench) = PgBench::new(1) else {
        return;
    };
    let lease = Duration::from_secs(6);
    let (late, other) = (bench.store("late", lease), bench.store("other", lease));
    let own = take(&late, false).expect("a job waits");
    lose(&bench, "late", &other);
    assert!(take(&late, false).is_none(), "it is in its own hands");
    let claimed = late.claim(&own.job_id, own.entry, at(0)).expect("asked");
    assert!(!matches!(claimed, Claim::Taken(_)));
    let gone = late.release(&own, ReleaseReason::Interrupted, None, at(0));
    gone.expect("it has ended");
    let again = take(&late, false).expect("it waits");
    assert_eq!((again.job_id, again.attempt), (own.job_id, 3));
}

#[test]
fn an_attempt_that_ends_late_says_nothing_of_the_next_one_of_the_same_worker() {
    let Some(bench) = PgBench::new(2) else {
        return;
    };
    let lease = Duration::from_secs(6);
    let (late, other) = (bench.store("late", lease), bench.store("other", lease));
    let dead = bench.store("dead", lease);
    let own = take(&late, true).expect("a job waits");
    let of_the_dead = take(&dead, true).expect("a job waits");
    lose(&bench, "late", &other);
    let again = take(&late, true).expect("what costs nothing may be made twice");
    assert_eq!((&again.job_id, again.attempt), (&own.job_id, 3));
    let gone = late.release(&own, ReleaseReason::Interrupted, None, at(0));
    gone.expect("the first one ends");
    drop((dead, other));
    bench.lapse("late");
    bench.lapse("dead");
    let mut taken = None;
    wait_until("it looks for what the dead left", || {
        taken = take(&late, true);
        taken.is_some()
    });
    assert_eq!(taken.expect("taken").job_id, of_the_dead.job_id);
}

#[test]
fn a_worker_takes_nothing_over_from_itself() {
    let Some(bench) = PgBench::new(2) else {
        return;
    };
    // It looks for what the dead left every second.
    let lease = Duration::from_secs(6);
    let (late, dead) = (bench.store("late", lease), bench.store("dead", lease));
    let own = take(&late, true).expect("a job waits");
    let other = take(&dead, true).expect("a job waits");
    drop(dead);
    bench.lapse("late");
    bench.lapse("dead");
    let mut taken = None;
    wait_until("it looks for what the dead left", || {
        taken = take(&late, true);
        taken.is_some()
    });
    assert_eq!(taken.expect("taken").job_id, other.job_id);
    let again = bench
        .database()
        .number("SELECT max(number)::int8 FROM archi3d.attempts WHERE worker_id = 'late'");
    assert_eq!(again, 2, "the job of the dead alone has a second attempt");
    let beats = late.beat_all(&[&own], at(0));
    assert!(matches!(
        beats.as_slice(),
        [Ok(archi3d_core::store::Beat::Held)]
    ));
}

/// Sends a signal to processes by their ids.
fn signal(name: &str, pids: &[String]) {
    assert!(!pids.is_empty());
    let sent = std::process::Command::new("kill")
        .args(["-s", name])
        .args(pids)
        .status();
    assert!(sent.is_ok_and(|status| status.success()), "{name}");
}

#[test]
fn what_a_dead_worker_of_this_machine_had_made_is_told_for_it_and_not_bought_again() {
    // Found by the next start, and by one that is at work already.
    for looks_on in [false, true] {
        let Some(mut fleet) = Fleet::new() else {
            return;
        };
        let options = ["unit_price_usd: 0.4"];
        let workspace = made_results::adapter(2, made_results::LINGERS, &options);
        fleet.push(&workspace);
        let worker = fleet.worker(&workspace, &["--max-parallel", "2", "--yes"]);
        let made = "SELECT count(*) FROM archi3d.attempts WHERE made IS NOT NULL";
        wait_until("both are made", || fleet.number(made) == 2);
        let there = "SELECT count(*) FROM archi3d.workers";
        let watcher = looks_on.then(|| fleet.worker(&workspace, &["--yes"]));
        wait_until("who looks on is there", || {
            fleet.number(there) == 1 + i64::from(looks_on)
        });
        // The worker below its guard, and with it all of its programs.
        let below = children(worker.pid());
        let below: Vec<String> = below.iter().map(ToString::to_string).collect();
        signal("KILL", &below);
        let _ = worker.wait();
        let watcher = watcher.unwrap_or_else(|| fleet.worker(&workspace, &["--yes"]));
        let said = watcher.wait().expect_code(0);
        assert_eq!(fleet.count("succeeded"), 2, "{said}");
        assert_eq!(fleet.number("SELECT count(*) FROM archi3d.attempts"), 2);
        fleet.pull(&workspace, 0);
        made_results::expect_all_made_once(&workspace, &said);
        let row = workspace.row(workspace.id(0));
        assert_eq!(&row["estimated_cost_usd"], "0.25");
        assert!(row["preview_1_path"].ends_with("/preview_1.png"));
        // What lay beside it was not looked through for secrets, so it is not published.
        let beside = made_results::late(&workspace);
        assert_eq!(beside.len(), 2, "{beside:?}");
        let sums = "SELECT sum(spent * 1000 + reserved)::bigint FROM archi3d.budgets WHERE scope LIKE 'run:%'";
        assert_eq!(fleet.number(sums), 500_000_000);
    }
}

#[test]
fn a_dead_worker_of_several_runs_keeps_each_until_what_it_made_there_is_told() {
    let Some(mut fleet) = Fleet::new() else {
        return;
    };
    let options = ["unit_price_usd: 0.4"];
    let workspace = made_results::adapter(1, made_results::LINGERS, &options);
    copy_run(&workspace, &["r2"]);
    fleet.push_run(&workspace, "rk", "0");
    fleet.push_run(&workspace, "r2", "0");
    let server = fleet.server(&workspace, &["-j", "2", "--yes"]);
    let made = "SELECT count(*) FROM archi3d.attempts WHERE made IS NOT NULL";
    wait_until("both are made", || fleet.number(made) == 2);
    let below = children(server.pid());
    let below: Vec<String> = below.iter().map(ToString::to_string).collect();
    signal("KILL", &below);
    let _ = server.wait();
    for (run, runs_still) in [("rk", 1), ("r2", 0)] {
        let worker = fleet
            .invoke(&workspace, &["run", "worker", "--run-id", run, "--yes"])
            .env("ARCHI3D_SPOOL", workspace.outside().join("spool"))
            .run();
        let _ = worker.expect_code(0);
        // Whoever works on the other run elsewhere would have it at once.
        assert_eq!(fleet.succeeded(run), 1);
        assert_eq!(fleet.count("running"), runs_still, "{run}");
    }
    assert_eq!(fleet.number("SELECT count(*) FROM archi3d.attempts"), 2);
    assert_eq!(made_results::bought(&workspace).len(), 2);
}

#[test]
fn a_claim_that_is_committed_when_nobody_waits_for_it_any_more_is_given_back_and_costs_no_attempt()
{
    let Some(mut fleet) = Fleet::new() else {
        return;
    };
    let workspace = mocks(1, "");
    fleet.push(&workspace);
    fleet.change(
        "CREATE FUNCTION waits() RETURNS trigger LANGUAGE plpgsql AS
           'BEGIN PERFORM pg_advisory_xact_lock(7); RETURN NEW; END';
         CREATE TRIGGER waits BEFORE INSERT ON archi3d.attempts FOR EACH ROW EXECUTE FUNCTION waits()",
    );
    let mut beside = Client::connect(&fleet.url, postgres::NoTls).expect("a server");
    beside
        .batch_execute("SELECT pg_advisory_lock(7)")
        .expect("locked");
    let worker = fleet.worker(&workspace, &["--lease-secs", "30"]);
    // Which it asks last of all, on another connection than the one that waits: before that it looked for what may be its own.
    let last = "SELECT count(*) FROM pg_stat_activity
                WHERE datname = current_database() AND query LIKE '-- Seconds to the next retry%'";
    wait_until("it waits no longer", || fleet.number(last) == 1);
    assert_eq!(fleet.count("pending"), 1);
    drop(beside);
    let _ = worker.wait().expect_code(0);
    let ended = fleet.texts("SELECT status::text FROM archi3d.attempts ORDER BY number");
    assert_eq!(ended, ["released", "succeeded"]);
    assert_eq!(fleet.number("SELECT lost::bigint FROM archi3d.jobs"), 0);
}
