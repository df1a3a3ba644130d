//! Bad input: one clear line with the next step, exit 2 for the set-up and 3 for a server that is away, nothing changed.

use std::io::Write as _;
use std::process::{Command, Stdio};

use crate::support::{Invocation, TestWorkspace};

use super::{Fleet, registry};

const PUSH: [&str; 4] = ["fleet", "push", "--run-id", "rk"];

/// Pushes to a store and expects a refusal that leaves the run a run of files.
#[track_caller]
fn refused(workspace: &TestWorkspace, store: &str, code: i32, words: &[&str]) {
    let before = registry(workspace);
    let said = workspace
        .archi3d(&PUSH)
        .env("ARCHI3D_STORE", store)
        .run()
        .expect_code(code);
    let shown = format!("{}{}", said.stdout, said.stderr);
    for word in words {
        assert!(shown.contains(word), "{word}: {shown}");
    }
    assert!(shown.contains("hint: "), "{shown}");
    assert!(!shown.contains("hunter2"), "{shown}");
    assert_eq!(registry(workspace), before);
    assert!(!workspace.run_path("fleet.json").exists(), "{shown}");
}

#[test]
fn no_store_a_wrong_url_and_no_server_are_told_apart() {
    let workspace = TestWorkspace::with_products(1).build();
    refused(&workspace, "", 2, &["no store is named", "DATABASE_URL"]);
    refused(
        &workspace,
        "mysql://x:hunter2@y/z",
        2,
        &["begins neither", "environment variable ARCHI3D_STORE"],
    );
    refused(
        &workspace,
        "postgresql://u:hunter2@127.0.0.1:1/db",
        3,
        &["cannot connect to PostgreSQL at postgresql://u@127.0.0.1:1/db"],
    );
    let said = workspace
        .archi3d(&[
            "fleet",
            "runs",
            "--store",
            "postgresql://u:hunter2@127.0.0.1:1/db",
            "--json",
        ])
        .run();
    assert_eq!(said.expect_code(3).json()["exit_code"], 3);
}

#[test]
fn the_store_is_named_in_four_ways_and_shown_without_its_password() {
    let workspace = TestWorkspace::with_products(1).build();
    let at = |host: &str| format!("postgresql://u:hunter2@127.0.0.1:1/{host}");
    workspace.write(
        "config/global.yaml",
        format!("store: {}\n", at("yaml")).as_bytes(),
    );
    let runs = || workspace.archi3d(&["fleet", "runs"]);
    let ask = |said: Invocation, database: &str| {
        let said = said.run().expect_code(3);
        assert!(said.to_string().contains(&format!("/{database}")), "{said}");
    };
    ask(runs(), "yaml");
    workspace.write(
        ".env",
        format!("DATABASE_URL={}\n", at("dotenv")).as_bytes(),
    );
    ask(runs(), "dotenv");
    ask(runs().env("DATABASE_URL", at("variable")), "variable");
    ask(
        runs()
            .env("DATABASE_URL", at("variable"))
            .env("ARCHI3D_STORE", at("own")),
        "own",
    );
    let all = runs().env("ARCHI3D_STORE", at("own"));
    ask(all.arg("--store").arg(at("option")), "option");
    let shown = workspace
        .archi3d(&["config", "show", "--json"])
        .env("ARCHI3D_STORE", at("own"))
        .run();
    let shown = shown.expect_code(0).stdout;
    assert!(
        shown.contains("env.ARCHI3D_STORE")
            && shown.contains("\"store\"")
            && !shown.contains("hunter2"),
        "{shown}"
    );
}

#[test]
fn a_wrong_password_and_a_missing_database_are_set_up() {
    let Some(place) = crate::postgres::bench::server("ARCHI3D_TEST_POSTGRES_TLS") else {
        return;
    };
    let Some(mut fleet) = Fleet::new() else {
        return;
    };
    let port = place.rsplit_once(':').expect("folder:port").1.to_owned();
    let role = format!("role_{}", uuid::Uuid::new_v4().simple());
    fleet
        .admin()
        .batch_execute(&format!("CREATE ROLE {role} LOGIN PASSWORD 'right'"))
        .expect("made");
    let workspace = TestWorkspace::with_products(1).build();
    let database = fleet.bench.url.database.clone();
    let url = format!("postgresql://{role}:hunter2@127.0.0.1:{port}/{database}");
    refused(
        &workspace,
        &url,
        2,
        &["refuses the login", "check user and password"],
    );
    let missing = fleet.url.replace(&database, "nowhere");
    refused(&workspace, &missing, 2, &["\"nowhere\" does not exist"]);
    // A role that may only look.
    let read = format!(
        "GRANT USAGE ON SCHEMA archi3d TO {role}; GRANT SELECT ON ALL TABLES IN SCHEMA archi3d TO {role}"
    );
    fleet.admin().batch_execute(&read).expect("granted");
    let url = format!("postgresql://{role}:right@127.0.0.1:{port}/{database}");
    refused(&workspace, &url, 2, &["cannot be written", "INSERT"]);
    fleet
        .admin()
        .batch_execute(&format!("DROP OWNED BY {role}; DROP ROLE {role}"))
        .expect("dropped");
}

#[test]
fn a_missing_and_a_newer_schema_are_refused() {
    let Some(mut fleet) = Fleet::empty() else {
        return;
    };
    let workspace = TestWorkspace::with_products(1).build();
    let url = fleet.url.clone();
    refused(
        &workspace,
        &url,
        2,
        &["has no archi3d schema", "fleet init"],
    );
    let _ = fleet
        .run(&workspace, &["fleet", "init", "--check"])
        .expect_code(2);
    let many: Vec<_> = (0..4)
        .map(|_| fleet.invoke(&workspace, &["fleet", "init"]).spawn())
        .collect();
    for one in many {
        let _ = one.wait().expect_code(0);
    }
    let again = fleet
        .run(&workspace, &["fleet", "init", "--json"])
        .expect_code(0)
        .json();
    assert_eq!(again["applied"].as_array().map(Vec::len), Some(0));
    let _ = fleet
        .run(&workspace, &["fleet", "init", "--check"])
        .expect_code(0);
    let newer = "INSERT INTO archi3d.schema_migrations (version, name, checksum, min_program, applied_by) VALUES (99, 'next', '', 99, 'test')";
    fleet.admin().batch_execute(newer).expect("noted");
    refused(
        &workspace,
        &url,
        2,
        &["has version 99, which this program is too old for"],
    );
    let init = fleet.run(&workspace, &["fleet", "init"]).expect_code(2);
    let _ = init.expect_stderr("too old for");
    let text = workspace
        .archi3d(&["fleet", "init", "--print"])
        .run()
        .expect_code(0);
    let _ = text.expect_stdout("CREATE TABLE jobs");
}

#[test]
fn a_run_that_is_not_there_or_comes_from_elsewhere_is_refused() {
    let Some(mut fleet) = Fleet::new() else {
        return;
    };
    let workspace = TestWorkspace::with_products(2).build();
    let unknown = fleet
        .run(&workspace, &["fleet", "push", "--run-id", "nobody"])
        .expect_code(2);
    let _ = unknown.expect_stderr("run nobody does not exist");
    let early = fleet
        .run(&workspace, &["fleet", "pull", "--run-id", "rk"])
        .expect_code(2);
    let _ = early.expect_stderr("was not pushed");
    fleet.push(&workspace);
    let other = TestWorkspace::with_products(3).build();
    let url = fleet.url.clone();
    refused(&other, &url, 2, &["has another run rk"]);
    assert_eq!(fleet.number("SELECT count(*) FROM archi3d.jobs"), 2);
    // Another server than the one it was pushed to does not have it.
    let Some(second) = Fleet::new() else { return };
    for words in [&PUSH[..], &["fleet", "pull", "--run-id", "rk"]] {
        let said = second.run(&workspace, words).expect_code(2);
        let _ = said.expect_stderr("does not know run rk");
    }
    let whose = fleet
        .run(&workspace, &["fleet", "workers", "--run-id", "nobody"])
        .expect_code(2);
    let _ = whose.expect_stderr("has no run nobody");
}

#[test]
fn what_init_prints_goes_through_psql_and_makes_what_init_makes() {
    for options in [&[][..], &["-1", "-v", "ON_ERROR_STOP=1"]] {
        let Some(mut fleet) = Fleet::empty() else {
            return;
        };
        let workspace = TestWorkspace::with_products(2).build();
        let printed = workspace.archi3d(&["fleet", "init", "--print"]).run();
        let text = printed.expect_code(0).stdout;
        // Also twice.
        for _ in 0..2 {
            let mut psql = Command::new("psql")
                .args(["-XAtq", "-d", &fleet.url])
                .args(options)
                .stdin(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .expect("psql is there");
            let mut stdin = psql.stdin.take().expect("piped");
            stdin.write_all(text.as_bytes()).expect("it reads");
            drop(stdin);
            let said = psql.wait_with_output().expect("it ends");
            let words = String::from_utf8_lossy(&said.stderr);
            assert!(said.status.success() && words.is_empty(), "{words}");
        }
        assert_eq!(
            fleet.number("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"),
            0
        );
        let _ = fleet
            .run(&workspace, &["fleet", "init", "--check"])
            .expect_code(0);
        fleet.push(&workspace);
        let again = fleet.run(&workspace, &["fleet", "init"]).expect_code(0);
        let _ = again.expect_stdout("the schema is there");
        let made = "SELECT string_agg(format('%s', c), '\n' ORDER BY table_name, column_name) FROM (
            SELECT table_name, column_name, data_type, column_default, is_nullable FROM information_schema.columns
            WHERE table_schema = 'archi3d') c";
        let Some(mut usual) = Fleet::new() else {
            return;
        };
        assert_eq!(fleet.texts(made), usual.texts(made));
    }
}
