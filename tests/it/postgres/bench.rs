//! A database for one test, and the few things that every test does with it.

use std::time::Duration;

use archi3d_core::domain::job::Status;
use archi3d_core::domain::patch::Patch;
use archi3d_core::domain::purchase::PurchaseEnd;
use archi3d_core::domain::retry::ErrorClass;
use archi3d_core::store::postgres::claim::{self, Claimer};
use archi3d_core::store::postgres::ending::{Failure, File, PutOff, Success};
use archi3d_core::store::postgres::import::{self, NewJob, NewRun};
use archi3d_core::store::postgres::{Claimed, Connection, Hold, Lane, StoreUrl, migrate};
use postgres::{Client, NoTls};

use crate::support::{must_have_all, required, wait_until};

/// So long that nothing expires by itself.
pub const LEASE: Duration = Duration::from_secs(600);

/// So short that the server has been up for longer.
pub const SHORT: Duration = Duration::from_millis(10);

/// A database of one's own with a run `r1`.
pub struct Bench {
    pub url: StoreUrl,
    pub work: Connection,
    pub admin: Client,
    pub run_no: i64,
    server: String,
}

/// Returns the URL of another database at the same place.
pub fn parse_for(text: &str, database: &str) -> StoreUrl {
    let mut url = parse(text);
    database.clone_into(&mut url.database);
    url
}

pub fn parse(text: &str) -> StoreUrl {
    StoreUrl::parse(text, &|_| None, "postgres").expect("a URL that can be used")
}

/// Returns the URL of the server, if there is one.
pub fn server(variable: &str) -> Option<String> {
    let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    // A server that somebody else runs need not have everything that ours has.
    let ours = variable == "ARCHI3D_TEST_POSTGRES" || set("ARCHI3D_TEST_POSTGRES_CTL");
    let must = ours && must_have_all();
    let found = required(variable, must)?;
    Some(found.to_str().expect("a URL is text").to_owned())
}

impl Bench {
    /// Makes the database; without a server the test is passed over.
    pub fn new() -> Option<Self> {
        let mut bench = Self::empty()?;
        migrate::apply(&mut bench.work, "test").expect("migrated");
        migrate::require(&mut bench.work).expect("usable");
        bench.work.keep_plans().expect("direct");
        let run = NewRun {
            run_id: "r1",
            parameters: "{}",
            payload_hash: b"hash",
            header: b"job_id,status\r\n",
            lease_seconds: 60,
            artifacts_url: None,
        };
        bench.run_no = import::add_run(&mut bench.work, &run)
            .expect("added")
            .run_no;
        Some(bench)
    }

    /// Makes a database without a schema.
    pub fn empty() -> Option<Self> {
        let server = server("ARCHI3D_TEST_POSTGRES")?;
        let name = format!("archi3d_{}", uuid::Uuid::new_v4().simple());
        let mut first = admin(&parse(&server));
        first
            .batch_execute(&format!("CREATE DATABASE {name}"))
            .expect("created");
        let url = parse_for(&server, &name);
        let work = Connection::open(&url, "archi3d/test").expect("connected");
        Some(Self {
            admin: admin(&url),
            url,
            work,
            run_no: 0,
            server,
        })
    }

    /// Opens one more connection.
    pub fn connect(&self) -> Connection {
        let mut connection = Connection::open(&self.url, "archi3d/other").expect("connected");
        connection.keep_plans().expect("direct");
        connection
    }

    /// Returns a plain connection to this database.
    pub fn beside(&self) -> Client {
        admin(&self.url)
    }

    /// Adds `count` jobs of an algorithm after those that are there.
    pub fn jobs(&mut self, algo: &str, count: i64) {
        let have: i64 = self.number("SELECT count(*) FROM archi3d.jobs");
        let job = |position: i64| NewJob {
            position,
            job_id: format!("job{position:04}"),
            algo: algo.to_owned(),
            product_id: format!("p{position}"),
            variant: String::new(),
            provider: None,
            payload: r#"{"images":["a.png"]}"#.to_owned(),
            payload_hash: vec![0; 32],
            row: format!("job{position:04},enqueued\r\n").into_bytes(),
        };
        let new: Vec<NewJob> = (have..have + count).map(job).collect();
        let run_no = self.run_no;
        let added = import::add_jobs(&mut self.work, run_no, "r1", &new, 0, 5).expect("added");
        assert_eq!(added, new.len());
    }

    /// Adds one job and takes it.
    pub fn one(&mut self) -> Claimed {
        self.jobs("a", 1);
        self.take()
    }

    /// Takes the next job of algorithm `a`.
    pub fn take(&mut self) -> Claimed {
        let taken = claim::claim(
            &mut self.work,
            self.run_no,
            &[lane("a", 1)],
            1,
            &claimer("w1"),
        );
        taken.expect("claimed").pop().expect("a job waits")
    }

    /// Takes what is due or expired of algorithm `a`.
    pub fn take_rare(&mut self, worker: &str) -> Vec<Claimed> {
        let by = Claimer {
            lease: SHORT,
            ..claimer(worker)
        };
        claim::claim_rare(&mut self.work, self.run_no, &[lane("a", 10)], 10, &by).expect("claimed")
    }

    /// Lets every lease expire.
    pub fn age(&mut self) {
        self.run("UPDATE archi3d.jobs SET lease_expires_at = now() - interval '1 hour' WHERE status = 'running'");
    }

    pub fn run(&mut self, sql: &str) {
        self.admin.batch_execute(sql).expect("carried out");
    }

    pub fn number(&mut self, sql: &str) -> i64 {
        self.admin.query_one(sql, &[]).expect("answered").get(0)
    }

    pub fn text(&mut self, sql: &str) -> String {
        self.admin.query_one(sql, &[]).expect("answered").get(0)
    }

    /// Lets clients connect to this database, or nobody any more.
    pub fn allow_connections(&mut self, allow: bool) {
        let name = &self.url.database;
        admin(&parse(&self.server))
            .batch_execute(&format!("ALTER DATABASE {name} ALLOW_CONNECTIONS {allow}"))
            .expect("allowed or not");
    }

    /// Cuts the connections of a worker; when this returns they are gone.
    pub fn cut(&mut self, worker: &str) {
        let of_worker = format!(
            "FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
             AND (application_name = 'archi3d/{worker}' OR application_name LIKE 'archi3d/{worker} %')"
        );
        let cut = format!("SELECT count(pg_terminate_backend(pid)) {of_worker}");
        wait_until("the connections are gone", || self.number(&cut) == 0);
    }

    /// Returns a job's status in the schema's words.
    pub fn status(&mut self, job_no: i64) -> String {
        self.text(&format!(
            "SELECT status::text FROM archi3d.jobs WHERE id = {job_no}"
        ))
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        let name = &self.url.database;
        let _ = admin(&parse(&self.server))
            .batch_execute(&format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)"));
    }
}

fn admin(url: &StoreUrl) -> Client {
    let mut config = postgres::Config::new();
    config
        .host(&url.hosts[0])
        .port(url.ports[0])
        .user(&url.user)
        .dbname(&url.database);
    config.connect(NoTls).expect("connected")
}

pub fn lane(algo: &str, most: u32) -> Lane {
    Lane {
        algo: algo.to_owned(),
        most,
        after: Lane::START,
        bought_only: false,
        free: false,
    }
}

pub fn claimer(worker: &str) -> Claimer<'_> {
    Claimer {
        worker,
        lease: LEASE,
        rehearsal: false,
        held: &[],
    }
}

pub fn success(hold: Hold) -> Success {
    Success {
        hold,
        patch: Patch::status(Status::Completed),
        content_hash: vec![1; 32],
        result_ref: Some("outputs/x".to_owned()),
        cost_micros: Some(300_000),
        content_key: Some(vec![7; 32]),
        algo_version: Some("v1".to_owned()),
        simulated: false,
        seconds: Some(1.5),
        price_source: Some("list".to_owned()),
        files: vec![File {
            name: "generated.glb".to_owned(),
            size: 5,
            sha256: vec![2; 32],
            url: None,
        }],
    }
}

pub fn failure(hold: Hold) -> Failure {
    Failure {
        hold,
        class: ErrorClass::Permanent,
        message: "no\0 good".to_owned(),
        cost_micros: None,
        cut_off: false,
        purchase: PurchaseEnd::Open,
        patch: Patch::status(Status::Failed),
        seconds: Some(0.5),
    }
}

pub fn setback(hold: Hold, pause: Duration) -> PutOff {
    PutOff {
        hold,
        class: ErrorClass::Transient,
        message: "later".to_owned(),
        pause,
        counts: true,
        cut_off: false,
        purchase: PurchaseEnd::Open,
        cost_micros: None,
        redo_waits: false,
        patch: None,
    }
}
