//! How workers come in: through a pooler, to a server that is full, and with bad input, which is one clear line with the next
//! step and changes nothing.

use crate::postgres::bench::server;
use crate::support::TestWorkspace;

use super::{Fleet, registry};

const RUN_WORKER: [&str; 4] = ["run", "worker", "--run-id", "rk"];
const FLEET_WORKER: [&str; 4] = ["fleet", "worker", "--until-idle", "1"];

fn workspace(jobs: usize) -> TestWorkspace {
    let adapters = "adapters:\n  killme:\n    kind: mock\n";
    TestWorkspace::with_products(jobs)
        .algo("killme")
        .adapters(adapters)
        .build()
}

/// Has both kinds of workers come to a store and expects a refusal.
#[track_caller]
fn refused(fleet: &mut Fleet, workspace: &TestWorkspace, store: &str, code: i32, words: &[&str]) {
    let before = registry(workspace);
    for command in [RUN_WORKER, FLEET_WORKER] {
        let said = workspace
            .archi3d(&command)
            .env("ARCHI3D_STORE", store)
            .env("ARCHI3D_SPOOL", workspace.outside().join("spool"))
            .run()
            .expect_code(code);
        let shown = format!("{}{}", said.stdout, said.stderr);
        for word in words {
            assert!(shown.contains(word), "{command:?}: {word}: {shown}");
        }
        assert!(shown.contains("hint: "), "{command:?}: {shown}");
        assert!(!shown.contains("hunter2"), "{command:?}: {shown}");
    }
    assert_eq!(registry(workspace), before);
    let there = "SELECT count(*) FROM information_schema.tables WHERE table_schema = 'archi3d' AND table_name = 'attempts'";
    if fleet.number(there) == 1 {
        assert_eq!(fleet.number("SELECT count(*) FROM archi3d.attempts"), 0);
    }
}

#[test]
fn a_worker_with_a_wrong_url_no_server_or_no_schema_says_so() {
    let Some(mut fleet) = Fleet::new() else {
        return;
    };
    let workspace = workspace(2);
    fleet.push(&workspace);
    let wrong = "mysql://x:hunter2@y/z";
    refused(&mut fleet, &workspace, wrong, 2, &["begins neither"]);
    let nobody = "postgresql://u:hunter2@127.0.0.1:1/db";
    refused(&mut fleet, &workspace, nobody, 3, &["cannot connect"]);
    let url = fleet.url.clone();
    let newer = "INSERT INTO archi3d.schema_migrations (version, name, checksum, min_program, applied_by) VALUES (99, 'next', '', 99, 'test')";
    fleet.admin().batch_execute(newer).expect("noted");
    refused(&mut fleet, &workspace, &url, 2, &["too old for"]);
    fleet
        .admin()
        .batch_execute("DROP SCHEMA archi3d CASCADE")
        .expect("dropped");
    refused(
        &mut fleet,
        &workspace,
        &url,
        2,
        &["has no archi3d schema", "fleet init"],
    );
}

#[test]
fn a_worker_with_a_wrong_password_or_a_role_that_only_reads_says_so() {
    let (Some(place), Some(mut fleet)) = (server("ARCHI3D_TEST_POSTGRES_TLS"), Fleet::new()) else {
        return;
    };
    let workspace = workspace(2);
    fleet.push(&workspace);
    let port = place.rsplit_once(':').expect("folder:port").1.to_owned();
    let role = format!("role_{}", uuid::Uuid::new_v4().simple());
    let database = fleet.bench.url.database.clone();
    let make = format!(
        "CREATE ROLE {role} LOGIN PASSWORD 'right'; GRANT USAGE ON SCHEMA archi3d TO {role}; \
         GRANT SELECT ON ALL TABLES IN SCHEMA archi3d TO {role}"
    );
    fleet.admin().batch_execute(&make).expect("made");
    let url =
        |password: &str| format!("postgresql://{role}:{password}@127.0.0.1:{port}/{database}");
    let words = ["refuses the login", "check user and password"];
    refused(&mut fleet, &workspace, &url("hunter2"), 2, &words);
    let words = ["cannot be written", "INSERT"];
    refused(&mut fleet, &workspace, &url("right"), 2, &words);
    let gone = format!("DROP OWNED BY {role}; DROP ROLE {role}");
    fleet.admin().batch_execute(&gone).expect("dropped");
}

#[test]
fn a_server_without_a_connection_left_is_no_wrong_address() {
    let (Some(place), Some(mut fleet)) = (server("ARCHI3D_TEST_POSTGRES_TLS"), Fleet::new()) else {
        return;
    };
    let workspace = workspace(1);
    fleet.push(&workspace);
    let port = place.rsplit_once(':').expect("folder:port").1.to_owned();
    let role = format!("role_{}", uuid::Uuid::new_v4().simple());
    let database = fleet.bench.url.database.clone();
    let make = format!(
        "CREATE ROLE {role} LOGIN PASSWORD 'right' CONNECTION LIMIT 1; GRANT ALL ON SCHEMA archi3d TO {role}; \
         GRANT ALL ON ALL TABLES IN SCHEMA archi3d TO {role}; GRANT ALL ON ALL SEQUENCES IN SCHEMA archi3d TO {role}"
    );
    fleet.admin().batch_execute(&make).expect("made");
    let url = format!("postgresql://{role}:right@127.0.0.1:{port}/{database}");
    let words = [
        "has no connection left",
        "two connections",
        "max_connections",
        "PgBouncer",
    ];
    refused(&mut fleet, &workspace, &url, 3, &words);
    let gone = format!("DROP OWNED BY {role}; DROP ROLE {role}");
    fleet.admin().batch_execute(&gone).expect("dropped");
}

#[test]
fn two_workers_behind_a_pooler_carry_out_every_job_once_and_the_disk_has_it() {
    let (Some(pooler), Some(mut fleet)) = (server("ARCHI3D_TEST_PGBOUNCER"), Fleet::new()) else {
        return;
    };
    let database = fleet.bench.url.database.clone();
    // What nobody sets for us behind a pooler: workers have to ask for it themselves.
    fleet
        .admin()
        .batch_execute(&format!(
            "ALTER DATABASE {database} SET synchronous_commit = off"
        ))
        .expect("set");
    fleet.url = pooler.replacen("/postgres?", &format!("/{database}?"), 1);
    let workspace = workspace(30);
    fleet.push(&workspace);
    // Notes of every result whether its commit waits for the disk.
    fleet
        .admin()
        .batch_execute(
            "CREATE TABLE public.noted (setting text);
             CREATE FUNCTION public.note() RETURNS trigger LANGUAGE plpgsql AS
               $$ BEGIN
                    INSERT INTO public.noted VALUES (pg_catalog.current_setting('synchronous_commit'));
                    RETURN NULL;
                  END $$;
             CREATE TRIGGER note AFTER INSERT ON archi3d.results FOR EACH ROW EXECUTE FUNCTION public.note();",
        )
        .expect("made");
    let workers = [
        fleet.worker(&workspace, &["--worker-id", "w1", "-j", "4"]),
        fleet.worker(&workspace, &["--worker-id", "w2", "-j", "4"]),
    ];
    let mut said = String::new();
    for worker in workers {
        said.push_str(&worker.wait().expect_code(0).stderr);
    }
    let waits = "SELECT count(*) FROM public.noted WHERE setting = 'on'";
    assert_eq!(fleet.number(waits), 30);
    assert!(said.contains("notifications do not arrive"), "{said}");
    assert_eq!(fleet.count("succeeded"), 30);
    assert_eq!(fleet.number("SELECT count(*) FROM archi3d.attempts"), 30);
    assert_eq!(fleet.pull(&workspace, 0)["rows_changed"], 30);
}
