//! Runs that are submitted are carried out, events tell of it, and failed jobs are tried again.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::{Store, does, workspace};
use crate::support::http::Server;
use crate::support::{TestWorkspace, wait_until};

on_both_stores!(
    workers_of_the_server_carry_out_what_is_submitted_and_end_with_it,
    failed_jobs_are_tried_again_on_request,
    events_of_other_processes_come_in_order_and_none_is_missed,
);

fn status(server: &Server, run: &str) -> Value {
    server.get(&format!("/runs/{run}")).expect(200).json()["status"].clone()
}

fn workers_of_the_server_carry_out_what_is_submitted_and_end_with_it(store: Store) {
    let Some(workspace) = store.home() else {
        return;
    };
    let server = Server::start(&workspace, &["--workers", "2"]);
    let order = json!({"parameters": {"algos": ["paid"]}, "run_id": "r1", "max_cost_usd": 0.75, "max_parallel": 2});
    server.post("/runs", &order).expect(201);
    let waits = json!({"parameters": {"algos": ["free"]}, "run_id": "r2", "start": false});
    server.post("/runs", &waits).expect(201);
    wait_until("the run is carried out", || {
        status(&server, "r1") == "completed"
    });
    assert_eq!(
        status(&server, "r2"),
        "enqueued",
        "nobody asked for it to be started"
    );
    let costs = server.get("/api/v1/costs").expect(200).json();
    assert_eq!(costs["total"]["billed_usd"], 0.75);
    server.stop();
    let root = workspace.root().to_string_lossy().into_owned();
    let all = std::fs::read_dir("/proc").expect("Linux").flatten();
    let lines = all.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    let mut lines = lines.map(|line| String::from_utf8_lossy(&line).into_owned());
    assert_eq!(lines.find(|line| line.contains(&root)), None);
}

#[test]
fn on_postgres_a_worker_of_all_runs_keeps_to_what_was_ordered() {
    let Some(mut home) = Store::Postgres.home() else {
        return;
    };
    let server = Server::start(&home, &[]);
    let waits = json!({"parameters": {"algo": "paid", "items": ["100001"]}, "run_id": "waits", "max_cost_usd": 1, "start": false});
    server.post("/runs", &waits).expect(201);
    let order = json!({"parameters": {"algo": "paid"}, "run_id": "r1", "max_cost_usd": 0.75});
    server.post("/runs", &order).expect(201);
    server.stop();
    // By now it is dearer than what was agreed to.
    let dearer = super::ADAPTERS.replace("0.25", "0.30");
    home.write("config/adapters.yaml", dearer.as_bytes());
    let worker = ["fleet", "worker", "--until-idle", "1", "--yes", "-j", "1"];
    let worker = home.archi3d(&worker);
    let _ = worker
        .env("ARCHI3D_SPOOL", home.outside().join("spool"))
        .run();
    let fleet = home.fleet.as_mut().expect("on PostgreSQL");
    let made = "SELECT count(*) FROM archi3d.attempts a JOIN archi3d.jobs j ON j.id = a.job_no JOIN archi3d.runs r USING (run_no)
                WHERE a.status = 'succeeded' AND r.run_id = ";
    assert_eq!(fleet.number(&format!("{made}'r1'")), 2);
    assert_eq!(fleet.number(&format!("{made}'waits'")), 0);
    // Nor does it bring up machines.
    assert_eq!(fleet.number("SELECT archi3d.wanted('waits')"), 0);
}

/// The server has a workspace, the machine that works nothing but its adapters, the database and the bucket.
#[test]
fn on_postgres_a_run_goes_into_the_bucket_that_is_configured() {
    let Some(home) = Store::Postgres.home() else {
        return;
    };
    let bucket = home.outside().join("bucket");
    std::fs::create_dir_all(&bucket).expect("made");
    let mut settings = home.bytes("config/global.yaml");
    settings.extend(format!("artifacts: \"file://{}\"\n", bucket.display()).bytes());
    home.write("config/global.yaml", &settings);
    let server = Server::start(&home, &[]);
    let order = json!({"parameters": {"algo": "free", "items": ["100001"]}, "run_id": "r1"});
    server.post("/runs", &order).expect(201);
    assert!(bucket.join("blobs/sha256").is_dir(), "its picture is put");
    let machine = TestWorkspace::empty();
    machine.write("config/adapters.yaml", &home.bytes("config/adapters.yaml"));
    let fleet = home.fleet.as_ref().expect("on PostgreSQL");
    let worked = fleet.server(&machine, &["--until-idle", "1"]).wait();
    let _ = worked.expect_code(0).expect_stderr("1 completed");
    let result = server.get("/runs/r1/result").expect(200).json();
    let files = result["artifacts"].as_array().expect("a list");
    assert!(!files.is_empty(), "{result}");
    for file in files {
        let came = server
            .get(file["href"].as_str().expect("a path"))
            .expect(200);
        let sum = archi3d_core::domain::text::hex(&Sha256::digest(&came.body));
        assert_eq!(file["sha256"], sum.as_str());
    }
    // A bucket that cannot be used is told, and nothing is made.
    let elsewhere = bucket.join("a-file");
    std::fs::write(&elsewhere, b"").expect("written");
    let settings = String::from_utf8(settings).expect("text");
    let settings = settings.replace("/bucket\"", "/bucket/a-file\"");
    home.write("config/global.yaml", settings.as_bytes());
    server.stop();
    let server = Server::start(&home, &[]);
    let more = json!({"parameters": {"algo": "free", "items": ["100002"]}, "run_id": "r2"});
    server
        .post("/runs", &more)
        .expect_problem(503, "store-unavailable");
    server.get("/runs/r2").expect(404);
}

fn failed_jobs_are_tried_again_on_request(store: Store) {
    let Some(workspace) = store.home() else {
        return;
    };
    workspace.write(
        "config/adapters.yaml",
        b"adapters:\n  once:\n    kind: mock\n    image_mode: single\n    unit_price_usd: 0\n    fail_first: 1\n    count_file: count\n",
    );
    let server = Server::start(&workspace, &["--workers", "1"]);
    let order = json!({"parameters": {"algo": "once", "items": ["100001"]}, "run_id": "r1"});
    server.post("/runs", &order).expect(201);
    wait_until("the first attempt fails", || {
        status(&server, "r1") == "failed"
    });
    let plan = server
        .post("/api/v1/runs/r1/retry", &json!({}))
        .expect(202)
        .json();
    assert_eq!(plan["start"], 1, "{plan}");
    wait_until("the second one succeeds", || {
        status(&server, "r1") == "completed"
    });
    assert_eq!(
        server.get("/runs/r1/result").expect(200).json()["attempts"],
        2
    );
    let none = server
        .post("/api/v1/runs/r1/retry", &json!({}))
        .expect(202)
        .json();
    assert_eq!(none["start"], 0);
}

/// Reads events until one of this kind comes; returns its id and data.
fn read_until(server: &Server, headers: &str, kind: &str) -> (String, Value) {
    let read = read_all(server, headers, kind).pop();
    let (id, _, data) = read.expect("it came");
    (id, data)
}

/// Reads events up to the first one of this kind; returns their ids, kinds and data.
fn read_all(server: &Server, headers: &str, kind: &str) -> Vec<(String, String, Value)> {
    let mut stream = TcpStream::connect(&server.address).expect("the server listens");
    stream
        .set_read_timeout(Some(Duration::from_secs(60)))
        .expect("a socket");
    let head = format!(
        "GET /api/v1/events HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\n{headers}\r\n",
        server.address, server.token
    );
    stream.write_all(head.as_bytes()).expect("sent");
    let (mut id, mut event, mut all) = (String::new(), String::new(), Vec::new());
    for line in BufReader::new(stream).lines() {
        let line = line.expect("the stream goes on");
        if let Some(value) = line.strip_prefix("id: ") {
            value.clone_into(&mut id);
        } else if let Some(value) = line.strip_prefix("event: ") {
            value.clone_into(&mut event);
        } else if let Some(value) = line.strip_prefix("data: ") {
            let data = serde_json::from_str(value).expect("JSON");
            all.push((id.clone(), event.clone(), data));
            if event == kind {
                return all;
            }
        }
    }
    panic!("the stream ended without {kind}");
}

fn events_of_other_processes_come_in_order_and_none_is_missed(store: Store) {
    let Some(workspace) = store.home() else {
        return;
    };
    let server = Server::start(&workspace, &[]);
    let order = json!({"parameters": {"algo": "free", "items": ["100001"]}, "run_id": "r1"});
    server.post("/runs", &order).expect(201);
    let (place, made) = read_until(&server, "Last-Event-ID: 0\r\n", "run_created");
    assert_eq!(made["run_id"], "r1");
    does(&workspace, &["run", "worker", "--run-id", "r1"], 0);
    let (_, done) = read_until(
        &server,
        &format!("Last-Event-ID: {place}\r\n"),
        "job_completed",
    );
    for name in ["run_id", "job_id", "worker_id", "attempt", "timestamp"] {
        assert!(!done[name].is_null(), "{name}: {done}");
    }
    server.stop();
    let server = Server::start(&workspace, &[]);
    let (_, again) = read_until(
        &server,
        &format!("Last-Event-ID: {place}\r\n"),
        "job_completed",
    );
    assert_eq!(again, done, "the place outlives the server");
    let token = format!("Bearer {}", server.token);
    let bad = [("Authorization", token.as_str()), ("Last-Event-ID", "x")];
    server
        .send("GET", "/api/v1/events", &bad, b"")
        .expect_problem(400, "bad-query");
}

#[test]
fn a_stream_hears_every_line_once_however_many_come_at_once() {
    let workspace = workspace();
    let server = Server::start(&workspace, &[]);
    let much = "x".repeat(250);
    let line =
        |number| format!("{{\"event\": \"noise\", \"number\": {number}, \"much\": \"{much}\"}}\n");
    let lines: String = (0..3_000).map(line).collect();
    let numbers = || {
        let heard = read_all(&server, "Last-Event-ID: 0\r\n", "last");
        let noise = heard.into_iter().filter(|(_, event, _)| event == "noise");
        let numbers = noise.map(|(_, _, data)| data["number"].as_u64().expect("a number"));
        numbers.collect::<Vec<_>>()
    };
    let all: Vec<u64> = (0..3_000).collect();
    std::thread::scope(|scope| {
        let live = scope.spawn(numbers);
        wait_until("the stream is open", || {
            let figures = server.get("/metrics").expect(200).text();
            figures.contains("archi3d_event_streams 1")
        });
        let last = "{\"event\": \"last\"}\n";
        workspace.write("logs/worker.log", (lines + last).as_bytes());
        assert!(live.join().expect("no panic") == all);
    });
    // What is kept for those that come a little later is sent in pieces.
    assert!(numbers() == all);
}

#[test]
fn a_worker_writes_figures_for_a_collector() {
    let workspace = workspace();
    does(
        &workspace,
        &["batch", "create", "--run-id", "r1", "--algos", "free"],
        0,
    );
    let file = workspace.path("figures.prom");
    let file = file.to_str().expect("plain");
    does(
        &workspace,
        &["run", "worker", "--run-id", "r1", "--metrics-file", file],
        0,
    );
    let text = String::from_utf8(workspace.bytes("figures.prom")).expect("text");
    assert!(
        text.contains("archi3d_jobs{run=\"r1\",algo=\"free\",status=\"completed\"} 3"),
        "{text}"
    );
}

#[test]
fn workers_that_follow_say_so_once() {
    let workspace = workspace();
    let server = Server::start(&workspace, &["--workers", "2"]);
    for item in ["100001", "100002"] {
        let order = json!({"parameters": {"algo": "slow", "items": [item]}, "run_id": item});
        server.post("/runs", &order).expect(201);
    }
    wait_until("both of them work", || {
        ["100001", "100002"].map(|run| status(&server, run)) == ["running", "running"]
    });
    let said = server.said_so_far();
    assert_eq!(said.matches("following").count(), 1, "{said}");
    workspace.write("go", b"");
    server.stop();
}
