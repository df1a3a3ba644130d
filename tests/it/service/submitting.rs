//! `POST /runs`: deduplicated, idempotent, crash-safe, within its cost.

use std::collections::BTreeSet;
use std::sync::Barrier;
use std::thread;

use serde_json::{Value, json};

use super::{Home, Store, workspace};
use crate::support::http::{Answer, Server};

on_both_stores!(
    the_same_payload_twice_gives_the_same_run,
    neither_the_order_of_keys_nor_the_form_of_numbers_makes_another_payload,
    a_hundred_identical_requests_at_once_give_one_run,
    a_key_gives_the_first_answer_again_byte_for_byte,
    a_key_whose_first_request_is_still_being_answered_is_refused_for_now,
    a_server_that_is_killed_in_the_middle_again_and_again_makes_one_run,
    what_costs_needs_a_limit_and_keeps_within_it,
    a_token_orders_no_more_in_a_day_than_its_cap,
    many_orders_at_once_are_all_carried_out_and_one_name_is_given_once,
    the_same_request_with_a_name_sent_several_times_at_once_gives_one_run,
    a_retry_that_is_sent_again_is_one_order,
    what_cannot_be_made_is_refused_with_the_place,
);

pub(super) fn order(algo: &str) -> Value {
    json!({"parameters": {"algos": [algo], "items": ["100001"]}})
}

pub(super) fn runs(server: &Server) -> usize {
    server.get("/runs").expect(200).json()["items"]
        .as_array()
        .expect("a list")
        .len()
}

fn the_same_payload_twice_gives_the_same_run(store: Store) {
    let Some(workspace) = store.home() else {
        return;
    };
    let server = Server::start(&workspace, &[]);
    let first = server.post("/runs", &order("free")).expect(201);
    let run = first.json();
    assert_eq!(
        (&run["status"], &run["state"]),
        (&json!("enqueued"), &json!("PENDING"))
    );
    assert_eq!(run["jobs"]["total"], 1);
    assert_eq!(run["deduplicated"], Value::Null);
    let here = format!("/api/v1/runs/{}", run["run_id"].as_str().expect("a name"));
    assert_eq!(first.header("location"), Some(here.as_str()));
    let again = server
        .post("/api/v1/runs", &order("free"))
        .expect(200)
        .json();
    assert_eq!(again["run_id"], run["run_id"]);
    assert_eq!(again["deduplicated"], "active");
    assert_eq!(
        server.get(&here).expect(200).json()["submission"]["created_by"],
        "token:serve"
    );
    assert_eq!(runs(&server), 1);
}

fn neither_the_order_of_keys_nor_the_form_of_numbers_makes_another_payload(store: Store) {
    let Some(workspace) = store.home() else {
        return;
    };
    let server = Server::start(&workspace, &[]);
    let hash = |body: &str| {
        let plan = server
            .call("POST", "/api/v1/plans", body)
            .expect(200)
            .json();
        plan["payload_hash"].as_str().expect("a hash").to_owned()
    };
    let one =
        hash(r#"{"parameters": {"algos": ["free"], "items": ["100001"]}, "max_cost_usd": 2}"#);
    let two =
        hash(r#"{"max_cost_usd": 2.0, "parameters": {"items": ["100001"], "algos": ["free"]}}"#);
    assert_eq!(one, two);
    assert_ne!(
        one,
        hash(r#"{"parameters": {"algos": ["free"], "items": ["100002"]}}"#)
    );
    let twice = r#"{"parameters": {"algos": ["free"], "algos": ["paid"]}}"#;
    server
        .call("POST", "/runs", twice)
        .expect_problem(422, "invalid-request");
    server
        .call("POST", "/runs", "{\"parameters\": ")
        .expect_problem(400, "malformed-json");
    server
        .call("POST", "/runs", "")
        .expect_problem(415, "unsupported-media-type");
    assert_eq!(runs(&server), 0);
}

fn a_hundred_identical_requests_at_once_give_one_run(store: Store) {
    let Some(workspace) = store.home() else {
        return;
    };
    let server = Server::start(&workspace, &[]);
    let barrier = Barrier::new(100);
    let answers: Vec<Answer> = thread::scope(|scope| {
        let posts: Vec<_> = (0..100)
            .map(|_| {
                scope.spawn(|| {
                    barrier.wait();
                    server.post("/runs", &order("free"))
                })
            })
            .collect();
        posts
            .into_iter()
            .map(|post| post.join().expect("no panic"))
            .collect()
    });
    let statuses: Vec<u16> = answers.iter().map(|answer| answer.status).collect();
    assert_eq!(
        statuses.iter().filter(|status| **status == 201).count(),
        1,
        "{statuses:?}"
    );
    assert_eq!(
        statuses.iter().filter(|status| **status == 200).count(),
        99,
        "{statuses:?}"
    );
    let names: BTreeSet<String> = answers
        .iter()
        .map(|answer| answer.json()["run_id"].to_string())
        .collect();
    assert_eq!(names.len(), 1);
    assert_eq!(runs(&server), 1);
}

fn keyed(server: &Server, key: &str, body: &Value) -> Answer {
    let token = format!("Bearer {}", server.token);
    let headers = [("Authorization", token.as_str()), ("Idempotency-Key", key)];
    server.send("POST", "/runs", &headers, body.to_string().as_bytes())
}

fn a_key_gives_the_first_answer_again_byte_for_byte(store: Store) {
    let Some(workspace) = store.home() else {
        return;
    };
    let server = Server::start(&workspace, &[]);
    let first = keyed(&server, "k-1", &order("free")).expect(201);
    let again = keyed(&server, "\"k-1\"", &order("free")).expect(201);
    assert_eq!(first.body, again.body);
    assert_eq!(again.header("idempotency-replayed"), Some("true"));
    assert_eq!(first.header("idempotency-replayed"), None);
    assert!(first.header("location").is_some());
    assert_eq!(again.header("location"), first.header("location"));
    keyed(&server, "k-1", &order("slow")).expect_problem(422, "idempotency-key-reused");
    keyed(&server, "", &order("free")).expect_problem(400, "bad-idempotency-key");
    keyed(&server, "two words", &order("free")).expect_problem(400, "bad-idempotency-key");
    // Also an answer that made no run of its own.
    keyed(&server, "k-2", &order("free")).expect(200);
    keyed(&server, "k-2", &order("slow")).expect_problem(422, "idempotency-key-reused");
    assert_eq!(
        keyed(&server, "k-2", &order("free"))
            .expect(200)
            .header("idempotency-replayed"),
        Some("true")
    );
    assert_eq!(runs(&server), 1);
    server.stop();
    let server = Server::start(&workspace, &[]);
    let later = keyed(&server, "k-1", &order("free")).expect(201);
    assert_eq!(first.body, later.body, "the key outlives the server");
}

fn a_key_whose_first_request_is_still_being_answered_is_refused_for_now(store: Store) {
    let Some(home) = store.home() else {
        return;
    };
    let server = Server::start(&home, &[]);
    // Nobody gets an answer while somebody else is at it.
    let held = home.hold_submissions();
    let (tell, told) = std::sync::mpsc::channel();
    thread::scope(|scope| {
        for _ in 0..2 {
            let tell = tell.clone();
            let server = &server;
            scope.spawn(move || tell.send(keyed(server, "k", &order("free"))));
        }
        let first: Answer = told.recv().expect("one is refused");
        assert_eq!(first.header("retry-after"), Some("1"));
        first.expect_problem(409, "idempotency-in-progress");
        drop(held);
        let second: Answer = told.recv().expect("the other is answered");
        second.expect(201);
    });
    let again = keyed(&server, "k", &order("free")).expect(201);
    assert_eq!(again.header("idempotency-replayed"), Some("true"));
    assert_eq!(runs(&server), 1);
}

#[test]
fn a_request_with_two_keys_is_refused() {
    let workspace = workspace();
    let server = Server::start(&workspace, &[]);
    let token = format!("Bearer {}", server.token);
    let headers = [
        ("Authorization", token.as_str()),
        ("Idempotency-Key", "one"),
        ("Idempotency-Key", "two"),
    ];
    let body = order("free").to_string();
    server
        .send("POST", "/runs", &headers, body.as_bytes())
        .expect_problem(400, "bad-idempotency-key");
    assert_eq!(runs(&server), 0);
}

#[test]
fn a_submission_that_somebody_died_over_is_finished_not_repeated() {
    for with_key in [true, false] {
        let workspace = workspace();
        let server = Server::start(&workspace, &[]);
        let send = |server: &Server| {
            if with_key {
                keyed(server, "k", &order("free"))
            } else {
                server.post("/runs", &order("free"))
            }
        };
        let made = send(&server).expect(201).json();
        server.kill();
        // As it is after a kill between the note and the run.
        let log = workspace.bytes("tables/submissions.jsonl");
        let note = log
            .split_inclusive(|byte| *byte == b'\n')
            .next()
            .expect("a line");
        let torn = [note, b"{\"event\":\"ma"].concat();
        workspace.write("tables/submissions.jsonl", &torn);
        let run = made["run_id"].as_str().expect("a name");
        std::fs::remove_dir_all(workspace.path(&format!("runs/{run}"))).expect("it was made");
        std::fs::remove_file(workspace.path("tables/generations.csv")).expect("it was made");
        let server = Server::start(&workspace, &[]);
        // Without a key nobody knows that it is the same one who asks.
        let again = send(&server).expect(if with_key { 201 } else { 200 });
        let again = again.json();
        assert_eq!(again["run_id"], made["run_id"]);
        assert_eq!(again["jobs"]["total"], 1);
        assert_eq!(runs(&server), 1);
    }
}

fn a_server_that_is_killed_in_the_middle_again_and_again_makes_one_run(store: Store) {
    let Some(workspace) = store.home() else {
        return;
    };
    for _ in 0..8 {
        let server = Server::start(&workspace, &[]);
        let token = format!("Bearer {}", server.token);
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let headers = [("Authorization", token.as_str())];
                    let body = order("free").to_string();
                    let _ = server.try_send("POST", "/runs", &headers, body.as_bytes());
                });
            }
            let _ = std::process::Command::new("kill")
                .args(["-9", &server.pid().to_string()])
                .status();
        });
    }
    let server = Server::start(&workspace, &[]);
    let last = server.post("/runs", &order("free"));
    assert!([200, 201].contains(&last.status), "{}", last.text());
    assert_eq!(runs(&server), 1);
}

fn what_costs_needs_a_limit_and_keeps_within_it(store: Store) {
    let Some(workspace) = store.home() else {
        return;
    };
    let server = Server::start(&workspace, &[]);
    let all = json!({"parameters": {"algos": ["paid"]}});
    let plan = server.post("/api/v1/plans", &all).expect(200).json();
    assert_eq!(
        (&plan["jobs"], &plan["expected_usd"]),
        (&json!(3), &json!(0.75))
    );
    let problem = server
        .post("/runs", &all)
        .expect_problem(422, "max-cost-missing");
    assert_eq!(problem["expected_usd"], 0.75);
    let mut asked = all.clone();
    asked["max_cost_usd"] = json!(0.5);
    let problem = server
        .post("/runs", &asked)
        .expect_problem(409, "budget-exceeded");
    assert_eq!(problem["errors"][0]["pointer"], "#/max_cost_usd");
    asked["max_cost_usd"] = json!(1);
    asked["if_plan"] = json!("sha256:0");
    let problem = server
        .post("/runs", &asked)
        .expect_problem(412, "plan-changed");
    assert_eq!(problem["plan"]["hash"], plan["hash"]);
    asked["if_plan"] = plan["hash"].clone();
    asked["run_id"] = json!("chairs");
    server.post("/runs", &asked).expect(201);
    asked["parameters"]["items"] = json!(["100002"]);
    asked["if_plan"] = Value::Null;
    server
        .post("/runs", &asked)
        .expect_problem(409, "run-id-taken");
}

fn a_token_orders_no_more_in_a_day_than_its_cap(store: Store) {
    let Some(workspace) = store.home() else {
        return;
    };
    let made = workspace.archi3d(&[
        "token",
        "create",
        "ci",
        "--role",
        "submit",
        "--daily-cap-usd",
        "0.6",
        "--json",
    ]);
    let token = made.run().expect_code(0).json()["token"]
        .as_str()
        .expect("shown")
        .to_owned();
    let server = Server::start(&workspace, &[]);
    let bearer = format!("Bearer {token}");
    let post = |algo: &str, item: &str, most: f64| {
        let body = json!({"parameters": {"algos": [algo], "items": [item]}, "max_cost_usd": most});
        server.send(
            "POST",
            "/runs",
            &[("Authorization", &bearer)],
            body.to_string().as_bytes(),
        )
    };
    // What counts is the most that an order may cost, with all of its attempts.
    let refused = post("often", "100001", 1.0).expect_problem(409, "budget-exceeded");
    let detail = refused["detail"].as_str().expect("a text");
    assert!(detail.contains("daily cap is 0.60"), "{detail}");
    assert!(detail.contains("1 job may cost up to $0.75;"), "{detail}");
    post("paid", "100001", 1.0).expect(201);
    post("paid", "100002", 1.0).expect(201);
    post("paid", "100003", 1.0).expect_problem(409, "budget-exceeded");
    let refused = post("unpriced", "100003", 0.05).expect_problem(422, "invalid-request");
    let detail = refused["detail"].as_str().expect("a text");
    assert!(detail.contains("no known price"), "{detail}");
    post("free", "100003", 0.0).expect(201);
    assert_eq!(runs(&server), 3);
}

fn many_orders_at_once_are_all_carried_out_and_one_name_is_given_once(store: Store) {
    let Some(workspace) = store.home() else {
        return;
    };
    let server = Server::start(&workspace, &[]);
    let items = ["100001", "100002", "100003"];
    let mut bodies = Vec::new();
    for which in 1..8_usize {
        let some = (0..3).filter(|place| which & (1 << place) != 0);
        let some: Vec<&str> = some.map(|place| items[place]).collect();
        let parameters = json!({"algo": "free", "items": some});
        bodies.push(json!({"parameters": parameters, "run_id": format!("r{which}")}));
        let parameters = json!({"algo": "slow", "items": some});
        bodies.push(json!({"parameters": parameters, "run_id": "wanted-by-all"}));
    }
    let barrier = Barrier::new(bodies.len());
    let answers: Vec<Answer> = thread::scope(|scope| {
        let post = |body: &Value| {
            let (body, barrier, server) = (body.clone(), &barrier, &server);
            scope.spawn(move || {
                barrier.wait();
                server.post("/runs", &body)
            })
        };
        let posts: Vec<_> = bodies.iter().map(post).collect();
        let posts = posts.into_iter();
        posts.map(|post| post.join().expect("no panic")).collect()
    });
    let mut taken = 0;
    for (body, answer) in bodies.iter().zip(answers) {
        if body["run_id"] == "wanted-by-all" && answer.status != 201 {
            answer.expect_problem(409, "run-id-taken");
            taken += 1;
            continue;
        }
        let made = answer.expect(201).json();
        assert_eq!(made["run_id"], body["run_id"]);
        let jobs = body["parameters"]["items"].as_array().map(Vec::len);
        let run = made["run_id"].as_str().expect("a name");
        let seen = server.get(&format!("/runs/{run}")).expect(200).json();
        assert_eq!(seen["jobs"]["total"], json!(jobs));
    }
    assert_eq!(taken, 6);
    assert_eq!(runs(&server), 8);
    let rows = workspace.registry().rows.len();
    let last = server.get("/runs/wanted-by-all").expect(200).json();
    assert_eq!(last["jobs"]["total"], json!(rows - 12));
    let worker = workspace.archi3d(&["run", "worker", "--run-id", "r7"]);
    let _ = worker.run().expect_code(0);
}

fn the_same_request_with_a_name_sent_several_times_at_once_gives_one_run(store: Store) {
    let Some(home) = store.home() else {
        return;
    };
    let server = Server::start(&home, &[]);
    let mut asked = order("free");
    asked["run_id"] = json!("r1");
    let barrier = Barrier::new(8);
    let mut answers: Vec<u16> = thread::scope(|scope| {
        let post = || {
            barrier.wait();
            let answer = server.post("/runs", &asked);
            assert_eq!(answer.json()["run_id"], "r1", "{}", answer.text());
            answer.status
        };
        let posts: Vec<_> = (0..8).map(|_| scope.spawn(post)).collect();
        let posts = posts.into_iter();
        posts.map(|post| post.join().expect("no panic")).collect()
    });
    answers.sort_unstable();
    assert_eq!(answers, [200, 200, 200, 200, 200, 200, 200, 201]);
    assert_eq!(runs(&server), 1);
}

fn a_retry_that_is_sent_again_is_one_order(store: Store) {
    let Some(mut home) = store.home() else {
        return;
    };
    let server = Server::start(&home, &[]);
    let mut asked = order("broken");
    asked["run_id"] = json!("r1");
    server.post("/runs", &asked).expect(201);
    let worker = home.archi3d(&["run", "worker", "--run-id", "r1"]);
    let _ = worker.run().expect_code(1);
    let retry = |key: &str| {
        let token = format!("Bearer {}", server.token);
        let mut headers = vec![("Authorization", token.as_str())];
        headers.extend((!key.is_empty()).then_some(("Idempotency-Key", key)));
        server
            .send("POST", "/api/v1/runs/r1/retry", &headers, b"{}")
            .expect(202)
    };
    let first = retry("k");
    assert_eq!(first.json()["start"], 1);
    // Without a key: what waits is not ordered once more.
    assert_eq!(retry("").json()["start"], 0);
    assert_eq!(retries(&mut home), 1);
    // A worker takes it and fails again; whoever did not get the answer asks once more.
    let worker = home.archi3d(&["run", "worker", "--run-id", "r1"]);
    let _ = worker.run().expect_code(1);
    let again = retry("k");
    assert_eq!(again.body, first.body);
    assert_eq!(again.header("idempotency-replayed"), Some("true"));
    assert_eq!(retries(&mut home), 1);
    retry("another");
    assert_eq!(retries(&mut home), 2);
}

/// Returns how many orders to try again there are.
fn retries(home: &mut Home) -> i64 {
    if let Some(fleet) = &mut home.fleet {
        return fleet.number("SELECT count(*) FROM archi3d.orders WHERE retry IS NOT NULL");
    }
    let text = String::from_utf8(home.bytes("tables/submissions.jsonl")).expect("text");
    let orders = text
        .lines()
        .filter(|line| line.contains(r#""event":"retry""#));
    orders.count().try_into().expect("few")
}

fn what_cannot_be_made_is_refused_with_the_place(store: Store) {
    let Some(workspace) = store.home() else {
        return;
    };
    let server = Server::start(&workspace, &[]);
    for (body, status, kind) in [
        (
            json!({"parameters": {"algos": ["nosuch"]}}),
            422,
            "unknown-algo",
        ),
        (
            json!({"parameters": {"algos": ["free"], "items": ["nosuch"]}}),
            422,
            "unknown-item",
        ),
        (
            json!({"parameters": {"algos": ["free"], "images": ["sha256:00"]}}),
            422,
            "unusable-picture",
        ),
        (json!({"parameters": {"algos": []}}), 422, "invalid-request"),
        (
            json!({"parameters": {"algos": ["free"], "colour": 1}}),
            422,
            "invalid-request",
        ),
        (
            json!({"parameters": {"algos": ["free"]}, "run_id": "a/b"}),
            422,
            "invalid-request",
        ),
        (
            json!({"parameters": {"algos": ["free"]}, "max_parallel": 0}),
            422,
            "invalid-request",
        ),
        (json!({"parameters": [1]}), 422, "invalid-request"),
        (json!({}), 422, "invalid-request"),
        (json!([]), 422, "invalid-request"),
    ] {
        let problem = server.post("/runs", &body).expect_problem(status, kind);
        assert!(problem["errors"][0]["pointer"].is_string(), "{problem}");
    }
    let both = json!({"parameters": {"algo": "free", "algos": ["free"]}});
    let problem = server.post("/runs", &both);
    let problem = problem.expect_problem(422, "invalid-request");
    assert_eq!(problem["detail"], "#/parameters/algo: goes without algos");
    let option = json!({"parameters": {"algo": "free", "options": {"seed": 1}}});
    let problem = server.post("/runs", &option);
    let problem = problem.expect_problem(422, "invalid-request");
    let detail = problem["detail"].as_str().expect("a text");
    assert!(
        detail.ends_with("in `defaults`, which are empty"),
        "{detail}"
    );
    let dear = json!({"parameters": {"algo": "paid"}, "max_cost_usd": 0.5});
    let problem = server.post("/runs", &dear);
    let problem = problem.expect_problem(409, "budget-exceeded");
    let detail = problem["detail"].as_str().expect("a text");
    assert!(
        detail.contains("cost $0.75; max_cost_usd is 0.50"),
        "{detail}"
    );
    let huge = json!({"parameters": {"algos": ["free"]}, "notes": "x".repeat(10 << 20)});
    server.post("/runs", &huge).expect_problem(413, "too-large");
    assert_eq!(runs(&server), 0);
}

/// Python's `urllib` sends all of it before it looks for an answer.
#[test]
fn on_postgres_a_server_that_died_before_it_made_the_folder_left_one_run() {
    let Some(workspace) = Store::Postgres.home() else {
        return;
    };
    let server = Server::start(&workspace, &[]);
    let made = keyed(&server, "k", &order("free")).expect(201);
    let run = made.json()["run_id"].as_str().expect("a name").to_owned();
    server.kill();
    // As it is after a kill between the commit and the folder.
    std::fs::remove_dir_all(workspace.path(&format!("runs/{run}"))).expect("it was made");
    std::fs::remove_file(workspace.path("tables/generations.csv")).expect("it was made");
    let server = Server::start(&workspace, &[]);
    assert_eq!(
        keyed(&server, "k", &order("free")).expect(201).body,
        made.body
    );
    assert_eq!(
        server.post("/runs", &order("free")).expect(200).json()["run_id"],
        *run
    );
    assert_eq!(runs(&server), 1);
    let worker = workspace.archi3d(&["run", "worker", "--run-id", &run]);
    let _ = worker.run().expect_code(0);
    server.get(&format!("/runs/{run}/result")).expect(200);
    let _ = workspace
        .archi3d(&["fleet", "pull", "--run-id", &run])
        .run()
        .expect_code(0);
    let rows = workspace.registry();
    assert_eq!(rows.rows.len(), 1, "{rows:?}");
}
