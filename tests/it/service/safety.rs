//! Who is let in, what strangers get, and what is told of it all.

use std::net::TcpStream;

use serde_json::json;

use super::{Store, does, workspace};
use crate::support::http::Server;
use crate::support::{TestWorkspace, wait_until};

#[test]
fn without_a_token_nothing_is_shown_and_nothing_is_done() {
    let workspace = workspace();
    let server = Server::start(&workspace, &[]);
    let cookie = format!("{}=x", cookie(&server));
    for path in [
        "/runs",
        "/api/v1/items",
        "/api/v1/costs",
        "/api/v1/events",
        "/metrics",
    ] {
        for headers in [
            &[][..],
            &[("Authorization", "Bearer a3d_00000000_00")],
            &[("Cookie", &cookie)],
        ] {
            let answer = server.send("GET", path, headers, b"");
            assert_eq!(answer.header("www-authenticate"), Some("Bearer"));
            answer.expect_problem(401, "unauthorized");
        }
    }
    let answer = server.send("POST", "/runs", &[], b"{}");
    answer.expect_problem(401, "unauthorized");
    for open in [
        "/healthz",
        "/readyz",
        "/openapi.json",
        "/problems/too-large",
        "/",
        "/board.js",
    ] {
        server.send("GET", open, &[], b"").expect(200);
    }
}

#[test]
fn a_role_contains_the_ones_before_it_and_no_more() {
    let workspace = workspace();
    let server = Server::start(&workspace, &[]);
    let tokens: Vec<(usize, String)> = ["read", "judge", "submit", "admin"]
        .iter()
        .enumerate()
        .map(|(place, role)| {
            let made = workspace
                .archi3d(&["token", "create", role, "--role", role, "--json"])
                .run();
            (
                place,
                made.expect_code(0).json()["token"]
                    .as_str()
                    .expect("shown")
                    .to_owned(),
            )
        })
        .collect();
    let order = json!({"parameters": {"algos": ["free"]}}).to_string();
    for (least, method, path, body) in [
        (0, "GET", "/runs", String::new()),
        (0, "POST", "/api/v1/plans", order.clone()),
        (1, "POST", "/api/v1/votes", "{}".to_owned()),
        (2, "POST", "/runs", order),
        (3, "POST", "/api/v1/algos/free/resume", "{}".to_owned()),
    ] {
        for (role, token) in &tokens {
            let bearer = format!("Bearer {token}");
            let answer = server.send(method, path, &[("Authorization", &bearer)], body.as_bytes());
            if *role < least {
                answer.expect_problem(403, "forbidden-role");
            } else {
                assert!(
                    (200..300).contains(&answer.status),
                    "{path}: {}",
                    answer.text()
                );
            }
        }
    }
    does(&workspace, &["token", "revoke", "admin"], 0);
    let bearer = format!("Bearer {}", tokens[3].1);
    server
        .send("GET", "/runs", &[("Authorization", &bearer)], b"")
        .expect_problem(401, "unauthorized");
}

#[test]
fn every_route_refuses_every_role_below_its_own_and_whoever_has_none() {
    const ROLES: [&str; 4] = ["read", "judge", "submit", "admin"];
    let workspace = workspace();
    let server = Server::start(&workspace, &[]);
    let bearers = ROLES.map(|role| {
        let create = ["token", "create", role, "--role", role, "--json"];
        let made = workspace.archi3d(&create).run().expect_code(0).json();
        format!("Bearer {}", made["token"].as_str().expect("shown"))
    });
    let contract = server.send("GET", "/openapi.json", &[], b"").expect(200);
    let contract = contract.json();
    let mut asked = 0;
    for (path, operations) in contract["paths"].as_object().expect("paths") {
        for (method, operation) in operations.as_object().expect("methods") {
            let said = operation["description"].as_str().unwrap_or_default();
            let need = said.strip_prefix("Needs the role ");
            let need = need.and_then(|role| role.strip_suffix('.'));
            let open = operation["security"] == json!([]);
            assert_eq!(need.is_none(), open, "{method} {path}");
            let need = need.map(|need| ROLES.iter().position(|role| *role == need).expect("known"));
            let (method, path) = (method.to_uppercase(), path.replace(['{', '}'], ""));
            let send = |headers: &[(&str, &str)]| {
                let body: &[u8] = if method == "POST" { b"{}" } else { b"" };
                server.send(&method, &path, headers, body)
            };
            let Some(need) = need else {
                assert_ne!(send(&[]).status, 403, "{method} {path}");
                continue;
            };
            asked += 1;
            send(&[]).expect_problem(401, "unauthorized");
            for bearer in &bearers[..need] {
                send(&[("Authorization", bearer)]).expect_problem(403, "forbidden-role");
            }
            if !path.ends_with("/events") {
                let status = send(&[("Authorization", &bearers[need])]).status;
                assert!(![401, 403].contains(&status), "{method} {path}: {status}");
            }
        }
    }
    assert!(asked >= 26, "{asked}");
}

#[test]
fn pages_of_others_reach_nothing() {
    let workspace = workspace();
    let server = Server::start(&workspace, &[]);
    let token = format!("Bearer {}", server.token);
    let auth = ("Authorization", token.as_str());
    for host in [
        "evil.example",
        "evil.example:7333",
        "127.0.0.1.evil.example",
        "127.0.0.1:7333@evil.example",
        "[::1]evil.example",
        "10.0.0.1",
        "",
    ] {
        server
            .send("GET", "/runs", &[auth, ("Host", host)], b"")
            .expect_problem(421, "wrong-host");
    }
    for host in ["localhost", "127.0.0.1:1", "[::1]:80", "LOCALHOST:99"] {
        server
            .send("GET", "/runs", &[auth, ("Host", host)], b"")
            .expect(200);
    }
    let body = br#"{"parameters": {"algos": ["free"]}}"#;
    for (name, value) in [
        ("Origin", "http://evil.example"),
        ("Origin", "null"),
        ("Origin", "http://localhost:1"),
        ("Sec-Fetch-Site", "cross-site"),
    ] {
        server
            .send("POST", "/runs", &[auth, (name, value)], body)
            .expect_problem(403, "cross-origin");
    }
    let own = format!("http://{}", server.address);
    server
        .send("POST", "/runs", &[auth, ("Origin", &own)], body)
        .expect(201);
    let form = [auth, ("Content-Type", "text/plain")];
    server
        .send("POST", "/runs", &form, body)
        .expect_problem(415, "unsupported-media-type");
}

#[test]
fn a_page_trades_its_token_for_a_cookie() {
    let workspace = workspace();
    let server = Server::start(&workspace, &[]);
    let body = json!({"token": server.token}).to_string();
    let answer = server
        .send("POST", "/api/v1/session", &[], body.as_bytes())
        .expect(200);
    assert_eq!(answer.json()["role"], "admin");
    let cookie = answer.header("set-cookie").expect("a cookie").to_owned();
    for word in ["HttpOnly", "SameSite=Strict", "Path=/"] {
        assert!(cookie.contains(word), "{cookie}");
    }
    let cookie = cookie.split(';').next().expect("a value");
    server
        .send("GET", "/runs", &[("Cookie", cookie)], b"")
        .expect(200);
    server
        .send("POST", "/api/v1/session", &[], br#"{"token": "x"}"#)
        .expect_problem(401, "unauthorized");
    let out = server
        .send("DELETE", "/api/v1/session", &[("Cookie", cookie)], b"")
        .expect(204);
    assert!(
        out.header("set-cookie")
            .expect("a cookie")
            .contains("Max-Age=0")
    );
}

#[test]
fn every_answer_is_safe_to_show_and_no_log_has_a_token() {
    let workspace = workspace();
    let server = Server::start(&workspace, &[]);
    for path in ["/", "/runs", "/healthz", "/nosuch"] {
        let answer = server.get(path);
        let csp = answer.header("content-security-policy").expect("told");
        assert!(csp.starts_with("default-src 'none'") && csp.contains("frame-ancestors 'none'"));
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
    }
    server.get("/nosuch/path").expect_problem(404, "not-found");
    server
        .get("/runs?nosuch=1")
        .expect_problem(400, "bad-query");
    server.get("/runs?limit=0").expect_problem(400, "bad-query");
    server
        .get("/runs?cursor=zz")
        .expect_problem(400, "bad-query");
    let answer = server.call("DELETE", "/runs", "");
    assert_eq!(answer.header("allow"), Some("GET, POST"));
    answer.expect_problem(405, "method-not-allowed");
    let token = server.token.clone();
    server.stop();
    let log = String::from_utf8(workspace.bytes("logs/serve.log")).expect("text");
    assert!(log.lines().count() >= 8);
    assert!(!log.contains(&token));
}

/// Returns the name of the cookie of a server, which has its port: cookies of one host go to all its servers.
fn cookie(server: &Server) -> String {
    let (_, port) = server.address.rsplit_once(':').expect("an address");
    format!("archi3d_session_{port}")
}

#[test]
fn a_page_signs_out_also_with_a_token_that_was_revoked() {
    let workspace = workspace();
    let mine = token(&workspace, "me", &["--role", "read"]);
    let server = Server::start(&workspace, &[]);
    let cookie = cookie(&server);
    let signed_in = server
        .post("/api/v1/session", &json!({ "token": mine }))
        .expect(200);
    let set = signed_in.header("set-cookie").expect("set");
    assert!(set.starts_with(&format!("{cookie}={mine};")), "{set}");
    does(&workspace, &["token", "revoke", "me"], 0);
    let shown = format!("{cookie}={mine}");
    let send = |method: &str, path: &str| server.send(method, path, &[("Cookie", &shown)], b"");
    send("GET", "/runs").expect_problem(401, "unauthorized");
    let left = send("DELETE", "/api/v1/session").expect(204);
    let set = left.header("set-cookie").expect("forgotten");
    assert!(set.starts_with(&format!("{cookie}=;")), "{set}");
}

/// Makes a token and returns it.
fn token(workspace: &TestWorkspace, name: &str, options: &[&str]) -> String {
    let words = [&["token", "create", name, "--json"], options].concat();
    let made = workspace.archi3d(&words).run().expect_code(0).json();
    made["token"].as_str().expect("shown").to_owned()
}

#[test]
fn no_token_is_in_any_log_of_a_service_or_of_its_workers() {
    let workspace = workspace();
    let mine = token(&workspace, "me", &["--role", "admin"]);
    let server = Server::start_as_service(&workspace, &mine);
    let order = json!({"parameters": {"algo": "free", "items": ["100001"]}, "run_id": "r1"});
    server.post("/runs", &order).expect(201);
    let cookie = format!("{}={mine}", cookie(&server));
    server
        .send("GET", "/runs", &[("Cookie", &cookie)], b"")
        .expect(200);
    let sign_in = json!({ "token": mine });
    server.post("/api/v1/session", &sign_in).expect(200);
    server.get(&format!("/runs?q={mine}")).expect(200);
    server.get(&format!("/runs/{mine}")).expect(404);
    server.get("/runs/r1").expect(200);
    let worker = workspace.archi3d(&["run", "worker", "--run-id", "r1"]);
    let worked = worker.run().expect_code(0);
    let said = server.said_so_far();
    assert!(said.contains("#token=TOKEN"), "{said}");
    server.stop();
    let logs = [
        "logs/serve.log",
        "logs/worker.log",
        "tables/submissions.jsonl",
    ];
    let logs = logs.map(|path| String::from_utf8(workspace.bytes(path)).expect("text"));
    // What concerns a run says which.
    let lines = logs[0]
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"));
    let lines: Vec<serde_json::Value> = lines.collect();
    assert_eq!(lines[0]["run_id"], "r1", "{}", lines[0]);
    let of_run = lines.iter().filter(|line| line["path"] == "/runs/r1");
    assert!(of_run.clone().count() > 0 && of_run.clone().all(|line| line["run_id"] == "r1"));
    for text in logs.iter().chain([&said, &worked.stdout, &worked.stderr]) {
        assert!(!text.contains("a3d_"), "{text}");
    }
}

#[test]
fn a_service_without_any_token_says_what_to_do() {
    let workspace = workspace();
    let server = Server::start_as_service(&workspace, "none");
    let said = server.said_so_far();
    assert!(said.contains("token create NAME"), "{said}");
    assert!(!said.contains("a3d_"), "{said}");
    server.get("/runs").expect_problem(401, "unauthorized");
}

#[test]
fn settings_that_cannot_be_read_stop_new_orders_and_nothing_else() {
    let workspace = workspace();
    let mine = token(&workspace, "me", &["--role", "admin"]);
    let reader = token(&workspace, "reader", &[]);
    let server = Server::start_as_service(&workspace, &mine);
    let order = json!({"parameters": {"algo": "free", "items": ["100001"]}, "run_id": "r1"});
    server.post("/runs", &order).expect(201);
    let good = workspace.bytes("config/adapters.yaml");
    workspace.write("config/adapters.yaml", b"adapters: [");
    let ready = || server.get("/readyz").expect(200).json();
    wait_until("it is seen", || ready()["status"] == "degraded");
    assert_eq!(ready()["checks"][0]["name"], "settings");
    server.get("/healthz").expect(200);
    server.get("/runs/r1").expect(200);
    let more = json!({"parameters": {"algo": "free", "items": ["100002"]}});
    let refused = server.post("/runs", &more);
    let refused = refused.expect_problem(503, "store-unavailable");
    let detail = refused["detail"].as_str().expect("a text");
    assert!(detail.contains("adapters.yaml"), "{detail}");
    // Where it lies is not for everybody who may ask.
    let bearer = format!("Bearer {reader}");
    let asked = server.send(
        "POST",
        "/api/v1/plans",
        &[("Authorization", &bearer)],
        more.to_string().as_bytes(),
    );
    let asked = asked.expect_problem(503, "store-unavailable");
    let detail = asked["detail"].as_str().expect("a text");
    assert!(!detail.contains("yaml"), "{detail}");
    server
        .post("/api/v1/runs/r1/cancel", &json!({}))
        .expect(202);
    let undo = server.post("/api/v1/runs/r1/cancel", &json!({"undo": true}));
    undo.expect_problem(503, "store-unavailable");
    let stranger = [("Authorization", "Bearer a3d_00000000_00")];
    server
        .send("GET", "/runs", &stranger, b"")
        .expect_problem(401, "unauthorized");
    workspace.write("config/adapters.yaml", &good);
    wait_until("it is read again", || ready()["status"] == "ready");
    server.post("/runs", &more).expect(201);
    server.stop();
    let log = String::from_utf8(workspace.bytes("logs/serve.log")).expect("text");
    assert_eq!(log.matches("settings_unreadable").count(), 1);
    assert_eq!(log.matches("settings_read\"").count(), 1);
}

#[test]
fn a_service_whose_submissions_wait_is_ready() {
    let Some(home) = Store::Files.home() else {
        return;
    };
    let server = Server::start(&home, &[]);
    let order = json!({"parameters": {"algo": "free", "items": ["100001"]}, "run_id": "r1"});
    server.post("/runs", &order).expect(201);
    let _held = home.hold_submissions();
    server.get("/readyz").expect(200);
}

#[test]
fn whoever_does_not_send_the_head_of_a_request_is_let_go() {
    use std::io::{Read as _, Write as _};
    let workspace = workspace();
    let server = Server::start(&workspace, &[]);
    let mut stream = TcpStream::connect(&server.address).expect("it listens");
    stream
        .write_all(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-")
        .expect("sent");
    let limit = std::time::Duration::from_secs(60);
    stream.set_read_timeout(Some(limit)).expect("set");
    let mut answer = Vec::new();
    // It ends by the server's own patience, not by ours.
    let _ = stream.read_to_end(&mut answer).expect("closed");
    let answer = String::from_utf8_lossy(&answer);
    assert!(answer.is_empty() || answer.contains("408"), "{answer}");
    server.get("/healthz").expect(200);
}

#[test]
fn other_addresses_need_a_token() {
    let workspace = workspace();
    let refused = workspace.archi3d(&["serve", "--listen", "0.0.0.0:0"]).run();
    let _ = refused.expect_code(2).expect_stderr("there is no token");
    does(&workspace, &["token", "create", "me"], 0);
    let server = Server::start(
        &workspace,
        &["--listen", "0.0.0.0:0", "--allowed-host", "box.example"],
    );
    let token = format!("Bearer {}", server.token);
    let auth = ("Authorization", token.as_str());
    server
        .send("GET", "/runs", &[auth, ("Host", "box.example")], b"")
        .expect(200);
    server
        .send("GET", "/runs", &[auth, ("Host", "evil.example")], b"")
        .expect_problem(421, "wrong-host");
}

#[test]
fn tokens_are_kept_as_hashes_for_their_owner_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let workspace = workspace();
    let made = workspace
        .archi3d(&["token", "create", "ci"])
        .run()
        .expect_code(0);
    let token = made.stdout.trim().to_owned();
    assert!(token.starts_with("a3d_"), "{token}");
    let file = workspace.path("config/tokens.json");
    let mode = std::fs::metadata(&file).expect("made").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let text = String::from_utf8(workspace.bytes("config/tokens.json")).expect("text");
    assert!(!text.contains(&token));
    let list = workspace.archi3d(&["token", "list"]).run().expect_code(0);
    assert!(list.stdout.contains("ci") && !list.stdout.contains(&token));
    does(&workspace, &["token", "create", "ci"], 2);
    does(&workspace, &["token", "revoke", "nosuch"], 2);
}

#[test]
fn a_dead_store_is_not_ready_and_a_stop_lets_streams_go() {
    let workspace = workspace();
    let server = Server::start(&workspace, &[]);
    assert_eq!(
        server.send("GET", "/healthz", &[], b"").expect(200).json()["status"],
        "ok"
    );
    let ready = server.send("GET", "/readyz", &[], b"").expect(200).json();
    assert_eq!(ready["status"], "ready");
    workspace.write("tables/generations.csv", b"no,table,of\nours");
    let ready = || server.send("GET", "/readyz", &[], b"");
    wait_until("it is seen", || ready().status == 503);
    let ready = ready().expect(503).json();
    assert_eq!(ready["checks"][0]["ok"], false, "{ready}");
    // Why is for whoever has a token.
    assert!(ready["checks"][0]["detail"].is_null(), "{ready}");
    let told = server.get("/readyz").expect(503).json();
    assert!(told["checks"][0]["detail"].is_string(), "{told}");
    server.send("GET", "/healthz", &[], b"").expect(200);
    server.get("/runs").expect_problem(503, "store-unavailable");
    std::fs::remove_file(workspace.path("tables/generations.csv")).expect("written above");
    std::thread::scope(|scope| {
        let stream = scope.spawn(|| server.get("/api/v1/events"));
        let scrape = || server.get("/metrics").expect(200).text();
        wait_until("the stream is open", || {
            scrape().contains("archi3d_event_streams 1")
        });
        server.signal("TERM");
        let said = stream.join().expect("no panic").text();
        assert!(said.contains("event: bye"), "{said}");
    });
    wait_until("the server is gone", || {
        TcpStream::connect(&server.address).is_err()
    });
}

#[test]
fn a_database_that_is_away_is_told_with_503_until_it_is_back() {
    let Some(home) = Store::Postgres.home() else {
        return;
    };
    let server = Server::start(&home, &[]);
    let order = json!({"parameters": {"algo": "free", "items": ["100001"]}, "run_id": "r1"});
    server.post("/runs", &order).expect(201);
    server.get("/readyz").expect(200);
    let fleet = home.fleet.as_ref().expect("on PostgreSQL");
    fleet.allow_connections(false);
    wait_until("it is seen", || server.get("/readyz").status == 503);
    let told = server.get("/readyz").expect(503).json();
    let store = told["checks"].as_array().expect("a list").iter();
    let store: Vec<_> = store.filter(|check| check["name"] == "store").collect();
    assert_eq!(store[0]["ok"], false, "{told}");
    server.get("/healthz").expect(200);
    let away = server.get("/runs/r1");
    let away = away.expect_problem(503, "store-unavailable");
    assert_eq!(away["detail"], "the database cannot be used now");
    let more = json!({"parameters": {"algo": "free", "items": ["100002"]}});
    server
        .post("/runs", &more)
        .expect_problem(503, "store-unavailable");
    let cancel = server.post("/api/v1/runs/r1/cancel", &json!({}));
    cancel.expect_problem(503, "store-unavailable");
    fleet.allow_connections(true);
    wait_until("it is seen", || server.get("/readyz").status == 200);
    server.get("/runs/r1").expect(200);
    server.post("/runs", &more).expect(201);
}

#[test]
fn whoever_may_only_read_and_sends_slowly_keeps_nobody_from_ordering() {
    use std::io::Write as _;
    let workspace = workspace();
    let reader = token(&workspace, "reader", &["--role", "read"]);
    let server = Server::start(&workspace, &[]);
    let head = format!(
        "POST /api/v1/plans HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {reader}\r\n\
         Content-Type: application/json\r\nContent-Length: 100\r\n\r\n",
        server.address
    );
    let slow = (0..400).map(|_| {
        let mut stream = TcpStream::connect(&server.address).expect("it listens");
        stream.write_all(head.as_bytes()).expect("sent");
        stream
    });
    let _slow: Vec<TcpStream> = slow.collect();
    // Those were taken before this one.
    let order = json!({"parameters": {"algo": "free", "items": ["100001"]}});
    server.post("/runs", &order).expect(201);
    server.post("/api/v1/plans", &order).expect(200);
}

#[test]
fn a_body_that_does_not_arrive_whole_is_not_called_too_large() {
    use std::io::{Read as _, Write as _};
    let workspace = workspace();
    let server = Server::start(&workspace, &[]);
    let head = format!(
        "POST /api/v1/plans HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\n\
         Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nnonsense\r\n",
        server.address, server.token
    );
    let mut stream = TcpStream::connect(&server.address).expect("it listens");
    stream.write_all(head.as_bytes()).expect("sent");
    let mut answer = String::new();
    let _ = stream.read_to_string(&mut answer);
    assert!(answer.starts_with("HTTP/1.1 400 "), "{answer}");
    assert!(answer.contains("/problems/broken-body"), "{answer}");
    let large = "x".repeat(2 << 20);
    server
        .call("POST", "/api/v1/plans", &large)
        .expect_problem(413, "too-large");
}

#[test]
fn who_sends_all_of_what_is_too_large_hears_so() {
    use std::io::{Read as _, Write as _};
    let workspace = workspace();
    let server = Server::start(&workspace, &[]);
    let mut stream = std::net::TcpStream::connect(&server.address).expect("it listens");
    let body = vec![b'a'; 10 << 20];
    let head = format!(
        "POST /runs HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        server.address,
        server.token,
        body.len()
    );
    stream.write_all(head.as_bytes()).expect("sent");
    stream.write_all(&body).expect("all of it is taken");
    let mut answer = String::new();
    let _ = stream.read_to_string(&mut answer).expect("it is whole");
    assert!(answer.starts_with("HTTP/1.1 413"), "{answer}");
}
