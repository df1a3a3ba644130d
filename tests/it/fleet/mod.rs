//! `archi3d fleet` on a real server: `scripts/postgres-for-tests` starts one, each test has a database of its own.

mod acceptance;
mod ahead;
#[cfg(feature = "objects")]
mod broken_objects;
mod caps;
mod dead;
mod entering;
mod forgotten;
mod handing;
#[cfg(feature = "objects")]
mod harmed_objects;
mod looking;
mod membership;
#[cfg(feature = "objects")]
mod objects;
mod paid;
pub mod redis;
mod refusals;
mod results;
mod serving;
mod shipped;
mod standby;
mod working;

use archi3d_core::store::postgres::migrate;
use postgres::Client;

use crate::postgres::bench::Bench;
use crate::support::pg_bench::own_time;
use crate::support::{Invocation, Output, TestWorkspace, wait_until};

/// A database with a schema and without runs, as programs are told of it.
pub struct Fleet {
    bench: Bench,
    pub url: String,
}

impl Fleet {
    /// Makes the database; without a server the test is passed over.
    pub fn new() -> Option<Self> {
        let mut fleet = Self::empty()?;
        migrate::apply(&mut fleet.bench.work, "test").expect("migrated");
        Some(fleet)
    }

    /// Makes the database, whose time is what a test says.
    pub fn on_test_time() -> Option<Self> {
        let mut fleet = Self::new()?;
        own_time(&mut fleet.bench);
        fleet.change(
            "CREATE FUNCTION test_time.clock_timestamp() RETURNS timestamptz LANGUAGE sql STABLE AS 'SELECT test_time.now()';
             DO $$ DECLARE c record; BEGIN
               FOR c IN SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'archi3d'
                        AND column_default IN ('now()', 'clock_timestamp()') LOOP
                 EXECUTE format('ALTER TABLE archi3d.%I ALTER COLUMN %I SET DEFAULT test_time.now()', c.table_name, c.column_name);
               END LOOP;
             END $$",
        );
        Some(fleet)
    }

    /// Returns a mark of every table: equal before and after means that nothing changed. When the server began to serve is
    /// noted by whoever connects.
    pub fn records(&mut self) -> Vec<String> {
        let tables = self
            .texts("SELECT tablename::text FROM pg_tables WHERE schemaname = 'archi3d' AND tablename <> 'serving' ORDER BY 1");
        let mark = |table: &String| {
            let rows = format!(
                "SELECT COALESCE(md5(string_agg(t::text, '|' ORDER BY t::text)), '') FROM archi3d.{table} t"
            );
            format!("{table} {}", self.texts(&rows).concat())
        };
        tables.iter().map(mark).collect()
    }

    /// Locks every row that workers change until the connection that is returned is gone.
    pub fn lock_rows(&self) -> Client {
        let mut beside = Client::connect(&self.url, postgres::NoTls).expect("a server");
        for table in ["jobs", "attempts", "runs", "workers"] {
            let lock = format!("SELECT FROM archi3d.{table} FOR UPDATE");
            beside
                .batch_execute(&format!("BEGIN; {lock}"))
                .expect("locked");
        }
        beside
    }

    /// Makes a database without a schema.
    fn empty() -> Option<Self> {
        let bench = Bench::empty()?;
        let place = &bench.url;
        let url = format!(
            "host={} port={} user={} dbname={}",
            place.hosts[0], place.ports[0], place.user, place.database
        );
        Some(Self { bench, url })
    }

    fn admin(&mut self) -> &mut Client {
        &mut self.bench.admin
    }

    /// Changes something in the database.
    pub fn change(&mut self, sql: &str) {
        self.admin().batch_execute(sql).expect("changed");
    }

    /// Lets programs connect, or cuts those that are and lets nobody in.
    pub fn allow_connections(&self, allowed: bool) {
        let server = crate::postgres::bench::server("ARCHI3D_TEST_POSTGRES").expect("a server");
        let mut beside = Client::connect(&server, postgres::NoTls).expect("another database");
        let database = &self.bench.url.database;
        let text = format!("ALTER DATABASE {database} ALLOW_CONNECTIONS {allowed}");
        beside.batch_execute(&text).expect("altered");
        let cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1 AND application_name LIKE 'archi3d%'";
        if !allowed {
            beside.query(cut, &[database]).expect("cut");
        }
    }

    /// Keeps everybody from these tables until the connection that is returned is gone.
    pub fn lock_tables(&self, tables: &str) -> Client {
        let place = &self.bench.url;
        let text = format!(
            "host={} port={} user={} dbname={}",
            place.hosts[0], place.ports[0], place.user, place.database
        );
        let mut beside = Client::connect(&text, postgres::NoTls).expect("a server");
        let lock = format!("BEGIN; LOCK TABLE {tables} IN ACCESS EXCLUSIVE MODE");
        beside.batch_execute(&lock).expect("locked");
        beside
    }

    /// Waits until the server is so old that whoever acts takes expired leases back.
    pub fn wait_until_it_judges(&self) {
        let mut beside = Client::connect(&self.url, postgres::NoTls).expect("a server");
        let old = "SELECT now() > pg_postmaster_start_time() + interval '61 s'";
        wait_until("a server of a minute", || {
            beside.query_one(old, &[]).expect("asked").get(0)
        });
        self.let_a_lease_go_by();
    }

    /// Makes it a lease since somebody found that no worker had been seen for a while.
    pub fn let_a_lease_go_by(&self) {
        let mut beside = Client::connect(&self.url, postgres::NoTls).expect("a server");
        let found = "UPDATE archi3d.workers SET last_seen = last_seen - interval '1 hour';
                     UPDATE archi3d.serving SET since = now() - interval '61 s'";
        beside.batch_execute(found).expect("changed");
    }

    pub fn number(&mut self, sql: &str) -> i64 {
        self.admin().query_one(sql, &[]).expect("asked").get(0)
    }

    /// Returns one text per row.
    fn texts(&mut self, sql: &str) -> Vec<String> {
        let rows = self.admin().query(sql, &[]).expect("asked");
        rows.iter().map(|row| row.get(0)).collect()
    }

    fn invoke(&self, workspace: &TestWorkspace, words: &[&str]) -> Invocation {
        let mut invocation = workspace.archi3d(words).env("ARCHI3D_STORE", &self.url);
        if let Ok(server) = std::env::var("ARCHI3D_TEST_S3") {
            invocation = invocation
                .env("AWS_ENDPOINT_URL", server)
                .env("AWS_ACCESS_KEY_ID", "test")
                .env("AWS_SECRET_ACCESS_KEY", "test");
        }
        invocation
    }

    fn run(&self, workspace: &TestWorkspace, words: &[&str]) -> Output {
        self.invoke(workspace, words).run()
    }

    #[track_caller]
    pub fn push(&self, workspace: &TestWorkspace) -> serde_json::Value {
        let said = self.run(workspace, &["fleet", "push", "--run-id", "rk", "--json"]);
        said.expect_code(0).json()
    }

    #[track_caller]
    fn pull(&self, workspace: &TestWorkspace, code: i32) -> serde_json::Value {
        let said = self.run(workspace, &["fleet", "pull", "--run-id", "rk", "--json"]);
        said.expect_code(code).json()
    }
}

fn registry(workspace: &TestWorkspace) -> Vec<u8> {
    workspace.bytes("tables/generations.csv")
}
