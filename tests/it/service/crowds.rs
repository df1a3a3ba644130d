//! What some clients do stops the service for nobody else.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;

use super::{Home, Store, does, workspace};
use crate::support::http::Server;
use crate::support::wait_until;

on_both_stores!(one_run_that_cannot_be_read_blanks_no_figures,);

/// Opens a stream of events; returns the status and the rest.
fn stream(server: &Server, token: &str) -> (String, BufReader<TcpStream>) {
    let mut stream = TcpStream::connect(&server.address).expect("the server listens");
    stream
        .set_read_timeout(Some(Duration::from_secs(120)))
        .expect("a socket");
    let head = format!(
        "GET /api/v1/events HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {token}\r\n\r\n",
        server.address
    );
    stream.write_all(head.as_bytes()).expect("sent");
    let mut reader = BufReader::new(stream);
    let mut status = String::new();
    reader.read_line(&mut status).expect("an answer");
    let status = status.split(' ').nth(1).unwrap_or_default().to_owned();
    (status, reader)
}

#[test]
fn orders_that_wait_keep_nobody_from_looking() {
    let Some(home) = Store::Files.home() else {
        return;
    };
    let server = Server::start(&home, &[]);
    let held = home.hold_submissions();
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for n in 0..80 {
            let (server, over) = (&server, &over);
            // Who is sent away, or has waited for too long, asks again.
            scope.spawn(move || {
                let order = json!({"parameters": {"algo": "free", "items": ["100001"]}, "dedupe": "none", "notes": n});
                let began = Instant::now();
                while !over.load(Ordering::Relaxed) && began.elapsed() < Duration::from_secs(200) {
                    let _ = server.post("/runs", &order);
                }
            });
        }
        // As many wait as are carried out at once; these are answered all the same.
        wait_until("most of them are there", || {
            let connections = std::fs::read_dir(format!("/proc/{}/fd", server.pid()));
            connections.expect("Linux").count() > 80
        });
        for path in ["/readyz", "/metrics", "/runs", "/healthz", "/api/v1/algos"] {
            server.get(path).expect(200);
        }
        over.store(true, Ordering::Relaxed);
        drop(held);
    });
}

fn one_run_that_cannot_be_read_blanks_no_figures(store: Store) {
    let Some(home) = store.home() else {
        return;
    };
    does(
        &home,
        &["batch", "create", "--run-id", "good", "--algos", "free"],
        0,
    );
    does(
        &home,
        &["batch", "create", "--run-id", "harmed", "--algos", "free"],
        0,
    );
    let one = ["run", "worker", "--run-id", "harmed", "--item", "100001"];
    does(&home, &one, 0);
    let server = Server::start(&home, &[]);
    let figures = || server.get("/metrics").expect(200).text();
    let tried = "archi3d_attempts_total{algo=\"free\",outcome=\"completed\",class=\"\"} 1";
    assert!(figures().contains(tried), "{}", figures());
    harm(&home);
    let mut text = String::new();
    wait_until("it is counted as unreadable", || {
        text = figures();
        text.contains("archi3d_unreadable_runs 1")
    });
    assert!(text.contains("run=\"good\""), "{text}");
    // What was counted of it before goes on counting.
    assert!(text.contains(tried), "{text}");
    assert!(
        text.contains("archi3d_spent_usd{run=\"harmed\"} 0"),
        "{text}"
    );
}

/// Leaves a run that nobody can read.
fn harm(home: &Home) {
    home.write("runs/harmed/manifest.csv", b"nonsense\n");
}

#[test]
fn event_streams_leave_room_for_everybody_else_and_for_nobody_without_end() {
    let workspace = workspace();
    let server = Server::start_limited(&workspace, 160);
    let mut streams = Vec::new();
    let refused = loop {
        let (status, reader) = stream(&server, &server.token);
        if status != "200" {
            break (status, reader);
        }
        streams.push(reader);
        assert!(streams.len() < 160, "somebody is turned away");
    };
    let (status, mut rest) = refused;
    assert_eq!(status, "429");
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        assert!(rest.read_line(&mut head).expect("a head") > 0, "{head}");
    }
    assert!(head.to_lowercase().contains("retry-after: 10"), "{head}");
    assert!(streams.len() >= 8, "{}", streams.len());
    server.get("/runs").expect(200);
    server.get("/readyz").expect(200);
    drop(streams);
    wait_until("there is room again", || {
        stream(&server, &server.token).0 == "200"
    });
}

#[test]
fn a_token_that_is_revoked_hears_no_more_events() {
    let workspace = workspace();
    let create = ["token", "create", "ci", "--role", "read", "--json"];
    let made = workspace.archi3d(&create).run().expect_code(0).json();
    let server = Server::start(&workspace, &[]);
    let (status, mut reader) = stream(&server, made["token"].as_str().expect("shown"));
    assert_eq!(status, "200");
    does(&workspace, &["token", "revoke", "ci"], 0);
    let mut told = String::new();
    reader.read_to_string(&mut told).expect("it ends");
    assert!(told.contains("event: bye"), "{told}");
}

#[test]
fn a_service_whose_address_is_taken_starts_no_workers() {
    let workspace = workspace();
    let server = Server::start(&workspace, &[]);
    let order = json!({"parameters": {"algo": "free"}, "run_id": "r1"});
    server.post("/runs", &order).expect(201);
    let words = ["serve", "--listen", &server.address, "--workers", "2"];
    let said = workspace.archi3d(&words).run();
    let said = said.expect_stderr("cannot serve on");
    assert!(!said.stderr.contains("following"), "{}", said.stderr);
    let jobs = server.get("/runs/r1").expect(200).json()["jobs"].clone();
    assert_eq!(jobs["enqueued"], 3);
}

#[test]
#[cfg(feature = "failpoints")]
fn what_broke_the_service_stands_in_its_log_and_not_in_its_answer() {
    let workspace = workspace();
    let faults = [(
        "FAILPOINTS",
        "submit.noted=1*panic(the roof fell in)".to_owned(),
    )];
    let server = Server::start_with(&workspace, &[], &faults);
    let order = json!({"parameters": {"algo": "free"}, "run_id": "r1"});
    let said = server.post("/runs", &order);
    assert!(!said.text().contains("roof"), "{}", said.text());
    said.expect_problem(500, "internal");
    wait_until("it is written down", || {
        String::from_utf8_lossy(&workspace.bytes("logs/serve.log")).contains("the roof fell in")
    });
}
