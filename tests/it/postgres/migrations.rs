//! The schema: made once whoever starts at the same moment, checked, and refused where it does not fit.

use std::sync::Barrier;

use archi3d_core::store::postgres::migrate::{self, MIGRATIONS};
use archi3d_core::store::postgres::statements::ALL;
use archi3d_core::store::postgres::{Connection, PgError};

use super::Bench;

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
