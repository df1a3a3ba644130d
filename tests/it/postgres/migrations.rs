//! The schema: made once whoever starts at the same moment, checked, and refused where it does not fit.

use std::sync::Barrier;

use archi3d_core::domain::text::hex;
use archi3d_core::store::postgres::migrate::{self, MIGRATIONS};
use archi3d_core::store::postgres::statements::ALL;
use archi3d_core::store::postgres::{Connection, PgError};

use sha2::{Digest as _, Sha256};

use super::Bench;
use crate::support::wait_until;

#[test]
fn every_statement_prepares_and_its_types_are_those_of_the_code() {
    let Some(mut bench) = Bench::new() else {
        return;
    };
    for sql in ALL {
        let prepared = bench.admin.prepare_typed(sql.text, sql.parameters);
        let prepared = prepared.unwrap_or_else(|error| panic!("{}: {error:?}", sql.name));
        assert_eq!(prepared.params(), sql.parameters, "{}", sql.name);
        let columns: Vec<_> = prepared
            .columns()
            .iter()
            .map(|column| column.type_().clone())
            .collect();
        assert_eq!(columns, sql.columns, "{}", sql.name);
    }
}

#[test]
fn of_twenty_that_migrate_at_once_one_does() {
    let Some(mut bench) = Bench::empty() else {
        return;
    };
    let start = Barrier::new(20);
    let applied: Vec<usize> = std::thread::scope(|scope| {
        let migrate = || {
            let mut connection =
                Connection::open(&bench.url, "archi3d/migrate").expect("connected");
            start.wait();
            migrate::apply(&mut connection, "test")
                .expect("migrated")
                .len()
        };
        let threads: Vec<_> = (0..20).map(|_| scope.spawn(migrate)).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().expect("no panic"))
            .collect()
    });
    assert_eq!(applied.iter().sum::<usize>(), MIGRATIONS.len());
    assert_eq!(
        bench.number("SELECT count(*) FROM archi3d.schema_migrations"),
        i64::from(migrate::newest())
    );
    assert!(
        migrate::apply(&mut bench.work, "test")
            .expect("fine")
            .is_empty()
    );
}

#[test]
fn what_print_shows_makes_the_same_schema() {
    let Some(mut bench) = Bench::empty() else {
        return;
    };
    let text = format!("BEGIN; {}; COMMIT", migrate::print());
    bench.run(&text);
    assert_eq!(bench.number("SELECT archi3d.wanted('none')"), 0);
}

#[test]
fn a_missing_an_older_a_newer_and_a_changed_schema_are_told_apart() {
    let Some(mut bench) = Bench::empty() else {
        return;
    };
    let missing = migrate::require(&mut bench.work).expect_err("there is none");
    assert!(
        matches!(missing, PgError::MissingSchema { .. }),
        "{missing}"
    );
    assert!(missing.hint().contains("archi3d fleet init"));
    migrate::apply(&mut bench.work, "test").expect("migrated");
    migrate::require(&mut bench.work).expect("usable");

    let next = migrate::newest() + 1;
    bench.run(&format!(
        "INSERT INTO archi3d.schema_migrations VALUES ({next}, 'next', '', 1, now(), 'other')"
    ));
    migrate::require(&mut bench.work).expect("a newer schema that still lets us write");
    bench.run(&format!(
        "UPDATE archi3d.schema_migrations SET min_program = {next} WHERE version = {next}"
    ));
    let newer = migrate::require(&mut bench.work).expect_err("too new");
    assert!(
        matches!(newer, PgError::NewSchema { have, .. } if have == next),
        "{newer}"
    );
    let newer = migrate::apply(&mut bench.work, "test").expect_err("too new to touch");
    assert!(matches!(newer, PgError::NewSchema { .. }), "{newer}");

    bench.run(&format!(
        "DELETE FROM archi3d.schema_migrations WHERE version = {next}; UPDATE archi3d.schema_migrations SET checksum = 'x'"
    ));
    let changed = migrate::require(&mut bench.work).expect_err("changed");
    assert!(
        matches!(changed, PgError::OtherSchema { version: 1, .. }),
        "{changed}"
    );
    for error in [missing, newer, changed] {
        assert!(error.is_setup() && !error.is_retryable());
        assert!(!error.to_string().contains('\n') && !error.hint().is_empty());
    }
}

#[test]
fn every_older_schema_is_upgraded_with_what_is_in_it() {
    for have in 1..MIGRATIONS.len() {
        let Some(mut bench) = Bench::empty() else {
            return;
        };
        bench.run(
            "CREATE SCHEMA archi3d; CREATE TABLE archi3d.schema_migrations (version int PRIMARY KEY, name text NOT NULL,
               checksum bytea NOT NULL, min_program int NOT NULL,
               applied_at timestamptz NOT NULL DEFAULT clock_timestamp(), applied_by text NOT NULL)",
        );
        for step in &MIGRATIONS[..have] {
            let sum = hex(&Sha256::digest(step.text));
            bench.run(&format!(
                "BEGIN; {}; INSERT INTO archi3d.schema_migrations VALUES ({}, '{}', decode('{sum}', 'hex'), {}, now(), 'old'); COMMIT",
                step.text, step.version, step.name, step.min_program
            ));
        }
        // As a run in the middle of its work has left it.
        bench.run(
            "INSERT INTO archi3d.runs (run_id, payload_hash) VALUES ('r1', 'hash');
             INSERT INTO archi3d.run_algos VALUES (1, 'a', 0, 3);
             INSERT INTO archi3d.jobs (run_no, algo, position) SELECT 1, 'a', n FROM generate_series(0, 2) n;
             INSERT INTO archi3d.job_specs (job_no, run_no, position, job_id, idempotency_key, product_id, variant, payload, payload_hash)
               SELECT id, 1, position, 'j' || id, 'r1/j' || id, 'p', '', '{}', '' FROM archi3d.jobs;
             UPDATE archi3d.jobs SET status = 'succeeded', completed_at = now(), attempt_count = 1 WHERE position = 0;
             UPDATE archi3d.jobs SET status = 'running', attempt_count = 1, lease_owner = 'w', lease_expires_at = now(),
               current_attempt_id = gen_random_uuid() WHERE position = 1;
             INSERT INTO archi3d.attempts (job_no, number, attempt_id, worker_id, entry, status, started_at, ended_at)
               SELECT id, 1, COALESCE(current_attempt_id, gen_random_uuid()), 'w', 'fresh',
                 (CASE status WHEN 'running' THEN 'running' ELSE 'succeeded' END)::archi3d.attempt_status, now(),
                 CASE status WHEN 'running' THEN NULL ELSE now() END FROM archi3d.jobs WHERE attempt_count = 1;
             INSERT INTO archi3d.results (job_no, run_no, number, payload, content_hash) SELECT id, 1, 1, '[]', '' FROM archi3d.jobs WHERE position = 0;
             INSERT INTO archi3d.budgets VALUES ('run:1', 300000, 200000);
             INSERT INTO archi3d.idempotency_keys VALUES ('key', 'hash', 1, 201, '7', now(), now() + interval '1 day')",
        );
        let old = migrate::require(&mut bench.work).expect_err("too old");
        assert!(matches!(old, PgError::OldSchema { .. }), "{old}");
        migrate::apply(&mut bench.work, "test").expect("upgraded");
        migrate::require(&mut bench.work).expect("usable");
        let kept = "SELECT (SELECT count(*) FROM archi3d.results) * 100 + (SELECT count(*) FROM archi3d.attempts) * 10
                      + (SELECT count(*) FROM archi3d.budgets WHERE spent = 300000)";
        assert_eq!(bench.number(kept), 121);
        assert_eq!(
            bench.text("SELECT response FROM archi3d.idempotency_keys"),
            "7"
        );
        bench.run_no = 1;
        assert_eq!(bench.take().job_id, "j3");
        bench.age();
        let again = bench
            .take_rare("w2")
            .into_iter()
            .map(|job| (job.job_id, job.hold.number));
        assert!(again.into_iter().any(|job| job == ("j2".to_owned(), 2)));
    }
}

#[test]
fn what_contradicts_the_schema_is_refused_by_name() {
    let Some(mut bench) = Bench::new() else {
        return;
    };
    let job = bench.one().hold.job_no;
    for (sql, constraint) in [
        (
            "SET status = 'succeeded', lease_owner = NULL, lease_expires_at = NULL, current_attempt_id = NULL",
            "completed_requires_timestamp",
        ),
        ("SET status = 'pending'", "lease_only_when_running"),
        ("SET lease_owner = NULL", "lease_only_when_running"),
        ("SET intent = 'x'", "intent_has_time"),
    ] {
        let refused = bench
            .admin
            .batch_execute(&format!("UPDATE archi3d.jobs {sql} WHERE id = {job}"));
        let refused = refused.expect_err("refused");
        let db = refused.as_db_error().expect("by the server");
        assert_eq!(db.constraint(), Some(constraint), "{sql}");
    }
}

#[test]
fn an_upgrade_behind_a_long_backup_keeps_no_worker_waiting() {
    let Some(mut bench) = Bench::empty() else {
        return;
    };
    bench.run(
        "CREATE SCHEMA archi3d; CREATE TABLE archi3d.schema_migrations (version int PRIMARY KEY, name text NOT NULL,
           checksum bytea NOT NULL, min_program int NOT NULL,
           applied_at timestamptz NOT NULL DEFAULT clock_timestamp(), applied_by text NOT NULL)",
    );
    for step in &MIGRATIONS[..2] {
        let sum = hex(&Sha256::digest(step.text));
        bench.run(&format!(
            "BEGIN; {}; INSERT INTO archi3d.schema_migrations VALUES ({}, '{}', decode('{sum}', 'hex'), {}, now(), 'old'); COMMIT",
            step.text, step.version, step.name, step.min_program
        ));
    }
    bench.run("BEGIN; LOCK TABLE archi3d.jobs IN ACCESS SHARE MODE");
    let mut work = Connection::open(&bench.url, "archi3d/upgrade").expect("connected");
    let mut beside = bench.beside();
    std::thread::scope(|scope| {
        let upgrade = scope.spawn(|| migrate::apply(&mut work, "test").expect("upgraded"));
        let waits = "SELECT count(*) FROM pg_locks JOIN pg_database d ON d.oid = database
                     WHERE datname = current_database() AND NOT granted";
        wait_until("the upgrade waits", || bench.number(waits) > 0);
        // Behind the upgrade, which waits for the backup.
        let look = "SET statement_timeout = '30s'; SELECT count(*) FROM archi3d.jobs";
        beside.batch_execute(look).expect("it is let in");
        bench.run("COMMIT");
        assert_eq!(upgrade.join().expect("no panic"), [3, 4]);
    });
}
