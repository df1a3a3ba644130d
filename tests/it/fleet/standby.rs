//! Servers that only read for a while, as in a fail-over, or that refuse what is told them: nothing that was made is lost.

use std::path::PathBuf;

use super::Fleet;
use crate::support::mocks::{counting_mocks, executions};
use crate::support::{TestWorkspace, wait_until};

fn mocks(jobs: usize) -> TestWorkspace {
    let yaml = counting_mocks(&[("killme", "wait_file: go")]);
    let builder = TestWorkspace::with_products(jobs).algo("killme");
    builder.adapters(&yaml).build()
}

/// Tells whether something waits to be sent.
fn waits(workspace: &TestWorkspace) -> bool {
    let below = |folder: PathBuf| {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).collect::<Vec<_>>()
    };
    let spools = below(workspace.outside().join("spool"));
    let files = spools.into_iter().flat_map(below);
    files
        .map(|worker| worker.join("spool.jsonl"))
        .any(|file| std::fs::metadata(file).is_ok_and(|file| file.len() > 0))
}

/// Makes two jobs while the server is as `begin` makes it, until `end`; they are made once.
fn work_through(fleet: &mut Fleet, begin: &str, end: &str, expected: i32) {
    let workspace = mocks(3);
    fleet.push(&workspace);
    let worker = fleet.worker(&workspace, &["--max-parallel", "2"]);
    wait_until("two run", || fleet.count("running") == 2);
    fleet.change(begin);
    workspace.write("go", b"");
    wait_until("what was made is kept", || waits(&workspace));
    if expected == 0 {
        fleet.change(end);
        let _ = worker.wait().expect_code(0);
    } else {
        let _ = worker.wait().expect_code(expected);
        fleet.change(end);
        let _ = fleet.worker(&workspace, &[]).wait().expect_code(0);
    }
    assert_eq!(fleet.count("succeeded"), 3);
    let attempts = "SELECT count(*) FROM archi3d.attempts WHERE status <> 'released'";
    assert_eq!(fleet.number(attempts), 3);
    assert_eq!(executions(&workspace).len(), 3);
}

#[test]
fn a_server_that_only_reads_until_it_is_promoted_is_one_that_is_away() {
    let Some(mut fleet) = Fleet::new() else {
        return;
    };
    let name = fleet.bench.url.database.clone();
    let begin = format!(
        "ALTER DATABASE {name} SET default_transaction_read_only = on;
         SELECT pg_terminate_backend(pid) FROM pg_stat_activity
         WHERE datname = current_database() AND application_name LIKE 'archi3d/%'"
    );
    let end = format!("ALTER DATABASE {name} RESET default_transaction_read_only");
    work_through(&mut fleet, &begin, &end, 0);
}

fn refusing(code: &str) -> String {
    format!(
        "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
           $$ BEGIN RAISE EXCEPTION 'not now' USING ERRCODE = '{code}'; END $$;
         CREATE TRIGGER refuse BEFORE INSERT OR UPDATE ON archi3d.attempts FOR EACH STATEMENT EXECUTE FUNCTION refuse()"
    )
}

const NO_MORE: &str = "DROP TRIGGER refuse ON archi3d.attempts";

#[test]
fn a_server_that_turns_into_one_that_only_reads_under_its_connections_is_one_that_is_away() {
    let Some(mut fleet) = Fleet::new() else {
        return;
    };
    work_through(&mut fleet, &refusing("25006"), NO_MORE, 0);
}

#[test]
fn whatever_a_server_says_what_was_made_is_kept_and_sent_later() {
    let Some(mut fleet) = Fleet::new() else {
        return;
    };
    work_through(&mut fleet, &refusing("42501"), NO_MORE, 3);
}

#[test]
fn what_waits_to_be_sent_is_found_where_the_server_has_another_address_by_then() {
    let Some(mut fleet) = Fleet::new() else {
        return;
    };
    let workspace = mocks(2);
    fleet.push(&workspace);
    let options = ["--max-parallel", "2", "--lease-secs", "20"];
    let worker = fleet.worker(&workspace, &options);
    wait_until("two run", || fleet.count("running") == 2);
    fleet.allow_connections(false);
    workspace.write("go", b"");
    wait_until("both are made", || executions(&workspace).len() == 2);
    wait_until("what was made is kept", || waits(&workspace));
    worker.signal("TERM");
    let _ = worker.wait();
    fleet.allow_connections(true);
    // The same folder by another name.
    let host = &fleet.bench.url.hosts[0];
    fleet.url = fleet.url.replace(host.as_str(), &format!("{host}/."));
    let _ = fleet.worker(&workspace, &options).wait().expect_code(0);
    assert_eq!(fleet.count("succeeded"), 2);
    assert_eq!(fleet.number("SELECT count(*) FROM archi3d.attempts"), 2);
    assert_eq!(executions(&workspace).len(), 2);
}
