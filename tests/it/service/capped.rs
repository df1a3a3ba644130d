//! Tokens with a daily cap: whatever they have bought counts against it, however they ask for it.

use serde_json::{Value, json};

use super::{Home, Store, does};
use crate::support::http::{Answer, Server};

on_both_stores!(
    a_capped_token_puts_cancelled_jobs_back_only_within_its_cap,
    what_a_capped_token_ordered_itself_is_put_back_without_counting_twice,
    a_capped_token_lets_a_run_cost_more_only_by_what_is_counted,
    failed_jobs_that_cannot_start_now_are_priced_and_counted_when_they_are_tried_again,
);

/// Makes a token that may order so much in a day.
fn capped(home: &Home, dollars: &str) -> String {
    let words = ["token", "create", "ci", "--role", "submit", "--json"];
    let words = [&words[..], &["--daily-cap-usd", dollars]].concat();
    let made = home.archi3d(&words).run().expect_code(0).json();
    made["token"].as_str().expect("shown").to_owned()
}

fn post(server: &Server, token: &str, path: &str, body: &Value) -> Answer {
    let bearer = format!("Bearer {token}");
    let headers = [("Authorization", bearer.as_str())];
    let path = format!("/api/v1{path}");
    server.send("POST", &path, &headers, body.to_string().as_bytes())
}

fn jobs(server: &Server, run: &str) -> Value {
    server.get(&format!("/runs/{run}")).expect(200).json()["jobs"].clone()
}

fn a_capped_token_puts_cancelled_jobs_back_only_within_its_cap(store: Store) {
    let Some(home) = store.home() else {
        return;
    };
    let token = capped(&home, "0.3");
    let server = Server::start(&home, &[]);
    for (run, algo, item) in [
        ("r1", "often", "100001"),
        ("r2", "paid", "100001"),
        ("r3", "paid", "100002"),
    ] {
        let order = json!({"parameters": {"algo": algo, "items": [item]}, "run_id": run, "max_cost_usd": 5});
        server.post("/runs", &order).expect(201);
        let path = format!("/api/v1/runs/{run}/cancel");
        server.post(&path, &json!({})).expect(202);
    }
    let undo = |run: &str| {
        let path = format!("/runs/{run}/cancel");
        post(&server, &token, &path, &json!({"undo": true}))
    };
    // All attempts count.
    undo("r1").expect_problem(409, "budget-exceeded");
    assert_eq!(undo("r2").expect(202).json()["restored"], 1);
    undo("r3").expect_problem(409, "budget-exceeded");
    // Where nothing is put back nothing is counted.
    assert_eq!(undo("r2").expect(202).json()["restored"], 0);
    let waiting = ["r1", "r2", "r3"].map(|run| jobs(&server, run)["enqueued"].clone());
    assert_eq!(waiting, [json!(0), json!(1), json!(0)]);
    let all = server.post("/api/v1/runs/r1/cancel", &json!({"undo": true}));
    assert_eq!(all.expect(202).json()["restored"], 1);
}

fn what_a_capped_token_ordered_itself_is_put_back_without_counting_twice(store: Store) {
    let Some(home) = store.home() else {
        return;
    };
    let token = capped(&home, "0.3");
    let server = Server::start(&home, &[]);
    let order = json!({"parameters": {"algo": "paid", "items": ["100001"]}, "run_id": "r1", "max_cost_usd": 5});
    post(&server, &token, "/runs", &order).expect(201);
    let cancel = |body: &Value| post(&server, &token, "/runs/r1/cancel", body).expect(202);
    assert_eq!(cancel(&json!({})).json()["cancelled"], 1);
    assert_eq!(cancel(&json!({"undo": true})).json()["restored"], 1);
}

const ADAPTERS: &str = "adapters:
  once:
    kind: mock
    image_mode: single
    unit_price_usd: 0.25
    fail_first: 1
    count_file: count
  fragile:
    kind: mock
    image_mode: single
    unit_price_usd: 0.25
    breaker_failures: 1
    fail: it is broken
";

fn a_capped_token_lets_a_run_cost_more_only_by_what_is_counted(store: Store) {
    let Some(home) = store.home() else {
        return;
    };
    home.write("config/adapters.yaml", ADAPTERS.as_bytes());
    let token = capped(&home, "1");
    let server = Server::start(&home, &[]);
    let order = json!({"parameters": {"algo": "once"}, "run_id": "r1", "max_cost_usd": 0.75, "start": false});
    server.post("/runs", &order).expect(201);
    let one = ["run", "worker", "--run-id", "r1", "--item", "100001"];
    does(&home, &one, 1);
    let retry = |most: f64| {
        let body = json!({ "max_cost_usd": most });
        post(&server, &token, "/runs/r1/retry", &body)
    };
    let refused = retry(1e9).expect_problem(409, "budget-exceeded");
    let detail = refused["detail"].as_str().expect("a text");
    assert!(detail.contains("1.00 at most"), "{detail}");
    assert_eq!(jobs(&server, "r1")["failed"], 1);
    retry(1.0).expect(202);
    assert_eq!(jobs(&server, "r1")["failed"], 0);
}

fn failed_jobs_that_cannot_start_now_are_priced_and_counted_when_they_are_tried_again(
    store: Store,
) {
    let Some(home) = store.home() else {
        return;
    };
    home.write("config/adapters.yaml", ADAPTERS.as_bytes());
    let token = capped(&home, "0.3");
    let server = Server::start(&home, &[]);
    let order = json!({"parameters": {"algo": "fragile", "items": ["100001"]}, "run_id": "r1", "max_cost_usd": 5});
    server.post("/runs", &order).expect(201);
    // The algorithm pauses for ten minutes.
    does(&home, &["run", "worker", "--run-id", "r1"], 1);
    let asked = json!({"dry_run": true});
    let plan = post(&server, &token, "/runs/r1/retry", &asked).expect(200);
    let plan = plan.json();
    assert_eq!(
        (&plan["start"], &plan["blocked"], &plan["expected_usd"]),
        (&json!(0), &json!(1), &json!(0.25)),
        "{plan:#}"
    );
    assert!(plan["algos"][0]["problem"].is_string(), "{plan:#}");
    post(&server, &token, "/runs/r1/retry", &json!({})).expect(202);
    // It counts: there is no room for another one.
    let other = json!({"parameters": {"algo": "once", "items": ["100003"]}, "max_cost_usd": 1});
    post(&server, &token, "/runs", &other).expect_problem(409, "budget-exceeded");
}

/// Makes a run on files, of a fleet's workspace too, whose job failed once.
fn failed_on_files(home: &Home) {
    let create = ["batch", "create", "--run-id", "on-files", "--algos", "once"];
    does(home, &create, 0);
    let first = ["run", "worker", "--run-id", "on-files", "--item", "100001"];
    does(home, &first, 1);
}

#[test]
fn on_postgres_what_was_ordered_on_files_and_in_the_fleet_counts_together() {
    let Some(home) = Store::Postgres.home() else {
        return;
    };
    home.write("config/adapters.yaml", ADAPTERS.as_bytes());
    failed_on_files(&home);
    let order = |run: &str, item: &str| json!({"parameters": {"algo": "once", "items": [item]}, "run_id": run, "max_cost_usd": 1});
    let again = json!({"max_cost_usd": 1});
    let token = capped(&home, "0.3");
    let server = Server::start(&home, &[]);
    // A cancelled job in the fleet that somebody else ordered.
    server.post("/runs", &order("r1", "100001")).expect(201);
    server
        .post("/api/v1/runs/r1/cancel", &json!({}))
        .expect(202);
    post(&server, &token, "/runs/on-files/retry", &again).expect(202);
    let refused = |path: &str, body: &Value| {
        post(&server, &token, path, body).expect_problem(409, "budget-exceeded");
    };
    refused("/runs", &order("r2", "100002"));
    refused("/runs/r1/cancel", &json!({"undo": true}));
}

#[test]
fn on_postgres_what_was_ordered_in_the_fleet_counts_on_files() {
    let Some(home) = Store::Postgres.home() else {
        return;
    };
    home.write("config/adapters.yaml", ADAPTERS.as_bytes());
    failed_on_files(&home);
    let token = capped(&home, "0.3");
    let server = Server::start(&home, &[]);
    let order = json!({"parameters": {"algo": "once", "items": ["100002"]}, "run_id": "r1", "max_cost_usd": 1});
    post(&server, &token, "/runs", &order).expect(201);
    let refused = |path: &str, body: &Value| {
        post(&server, &token, path, body).expect_problem(409, "budget-exceeded");
    };
    refused("/runs/on-files/retry", &json!({"max_cost_usd": 1}));
    server
        .post("/api/v1/runs/on-files/cancel", &json!({}))
        .expect(202);
    refused("/runs/on-files/cancel", &json!({"undo": true}));
}

#[test]
fn while_a_line_of_what_was_ordered_cannot_be_read_no_capped_order_is_taken() {
    let home = Store::Files.home().expect("on files");
    let token = capped(&home, "0.3");
    let server = Server::start(&home, &[]);
    let order =
        |item: &str| json!({"parameters": {"algo": "paid", "items": [item]}, "max_cost_usd": 1});
    post(&server, &token, "/runs", &order("100001")).expect(201);
    let path = "tables/submissions.jsonl";
    let whole = home.bytes(path);
    let mut harmed = whole.clone();
    harmed[..8].copy_from_slice(b"\0\0\0\0\0\0\0\0");
    server.stop();
    home.write(path, &harmed);
    let server = Server::start(&home, &[]);
    let refused = post(&server, &token, "/runs", &order("100002"));
    let refused = refused.expect_problem(503, "store-unavailable");
    let detail = refused["detail"].as_str().expect("a text");
    assert!(detail.contains(path), "{detail}");
    let found = home.archi3d(&["doctor", "--json"]).run().json();
    let found = found["findings"].as_array().expect("a list").clone();
    let lost = found.iter().find(|one| one["code"] == "lost_order");
    let lost = lost.unwrap_or_else(|| panic!("{found:#?}"));
    assert_eq!(lost["places"][0]["path"], path);
    assert_eq!(lost["places"][0]["line"], 1);
    assert!(lost["fix"].is_string(), "{lost}");
    // Whoever has no cap orders on, and what was cut short by a crash is nothing that was lost.
    server.post("/runs", &order("100003")).expect(201);
    server.stop();
    home.write(
        path,
        &[&whole[..], b"{\"event\": \"intent\", \"at"].concat(),
    );
    let server = Server::start(&home, &[]);
    post(&server, &token, "/runs", &order("100002")).expect_problem(409, "budget-exceeded");
    let free = json!({"parameters": {"algo": "free"}});
    post(&server, &token, "/runs", &free).expect(201);
    post(&server, &token, "/runs", &order("100002")).expect_problem(409, "budget-exceeded");
}
