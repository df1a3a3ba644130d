//! What an order may cost holds wherever it is carried out: for runs without a limit, for what cannot start yet, after a
//! crash, and where it cannot be read.

use serde_json::{Value, json};

use super::{Home, Store, does};
use crate::support::http::Server;
use crate::support::wait_until;

on_both_stores!(
    a_retry_that_costs_needs_a_limit_where_the_run_has_none,
    what_a_retry_may_cost_is_what_was_confirmed,
    a_new_run_of_what_cannot_start_now_has_its_price,
    a_purchase_that_is_to_be_repeated_needs_a_key,
    an_older_success_will_do_when_a_newer_run_of_the_same_was_cancelled,
    the_limit_of_an_order_is_shown_and_measured,
    a_worker_that_names_a_run_keeps_to_what_was_ordered,
    what_nobody_knows_the_price_of_is_not_ordered,
    a_run_whose_price_got_lost_says_why_it_waits,
    a_run_that_will_do_says_that_it_keeps_its_limit,
    a_key_is_the_tokens_own_and_not_of_its_name,
);

const ADAPTERS: &str = "adapters:
  once:
    kind: mock
    image_mode: single
    unit_price_usd: 0.25
    fail_first: 1
    count_file: count
  paid:
    kind: mock
    image_mode: single
    unit_price_usd: 0.25
  free:
    kind: mock
    image_mode: single
    unit_price_usd: 0
  unpriced:
    kind: mock
    image_mode: single
    fail_first: 1
    count_file: count
  fragile:
    kind: mock
    image_mode: single
    unit_price_usd: 0.25
    breaker_failures: 1
    fail: it is broken
";

/// Makes a workspace with these adapters; they are there before any server.
fn scene(store: Store) -> Option<Home> {
    let home = store.home()?;
    home.write("config/adapters.yaml", ADAPTERS.as_bytes());
    Some(home)
}

/// Makes a run that nobody ordered over the network, with a job that failed.
fn failed_by_hand(home: &Home, run: &str, algo: &str) {
    let create = ["batch", "create", "--run-id", run, "--algos", algo];
    does(home, &create, 0);
    if home.fleet.is_some() {
        does(home, &["fleet", "push", "--run-id", run], 0);
    }
    let first = ["run", "worker", "--run-id", run, "--item", "100001"];
    does(home, &first, 1);
}

fn jobs(server: &Server, run: &str) -> Value {
    server.get(&format!("/runs/{run}")).expect(200).json()["jobs"].clone()
}

fn a_retry_that_costs_needs_a_limit_where_the_run_has_none(store: Store) {
    let Some(home) = scene(store) else {
        return;
    };
    failed_by_hand(&home, "priced", "once");
    home.write("count", b"");
    failed_by_hand(&home, "unpriced", "unpriced");
    let server = Server::start(&home, &[]);
    for (run, expected) in [("priced", 0.25), ("unpriced", 0.0)] {
        let path = format!("/api/v1/runs/{run}/retry");
        let refused = server.post(&path, &json!({}));
        let refused = refused.expect_problem(422, "max-cost-missing");
        assert_eq!(refused["expected_usd"], expected);
        assert_eq!(jobs(&server, run)["failed"], 1);
        let asked = json!({"dry_run": true});
        server.post(&path, &asked).expect(200);
    }
    let enough = json!({"max_cost_usd": 1});
    let path = "/api/v1/runs/priced/retry";
    server.post(path, &enough).expect(202);
    assert_eq!(jobs(&server, "priced")["failed"], 0);
}

fn what_a_retry_may_cost_is_what_was_confirmed(store: Store) {
    let Some(home) = scene(store) else {
        return;
    };
    failed_by_hand(&home, "r1", "once");
    let server = Server::start(&home, &[]);
    let path = "/api/v1/runs/r1/retry";
    let plan = server.post(path, &json!({"dry_run": true})).expect(200);
    let confirmed = json!({"if_plan": plan.json()["hash"]});
    server.post(path, &confirmed).expect(202);
    server.stop();
    // By now it is dearer than what was confirmed.
    let dearer = ADAPTERS.replacen("0.25", "0.50", 1);
    home.write("config/adapters.yaml", dearer.as_bytes());
    let server = Server::start(&home, &["--workers", "1"]);
    // Whoever follows comes to orders one after the other.
    let other = json!({"parameters": {"algo": "free"}, "run_id": "r2"});
    server.post("/runs", &other).expect(201);
    let tried = || {
        let log = String::from_utf8_lossy(&home.bytes("logs/worker.log")).into_owned();
        let ended = |line: &&str| line.contains("\"worker_summary\"") && line.contains("\"r1\"");
        log.lines().filter(ended).count()
    };
    wait_until("r1 had its turn", || {
        tried() >= 2 && jobs(&server, "r2")["completed"] == 3
    });
    assert_eq!(jobs(&server, "r1")["enqueued"], 3);
    server.stop();
    let cheap = ADAPTERS.as_bytes();
    home.write("config/adapters.yaml", cheap);
    let server = Server::start(&home, &["--workers", "1"]);
    wait_until("it is made", || jobs(&server, "r1")["completed"] == 1);
    assert_eq!(jobs(&server, "r1")["enqueued"], 2);
}

fn a_new_run_of_what_cannot_start_now_has_its_price(store: Store) {
    let Some(home) = scene(store) else {
        return;
    };
    let server = Server::start(&home, &[]);
    let first = json!({"parameters": {"algo": "fragile", "items": ["100001"]}, "run_id": "r1", "max_cost_usd": 5});
    server.post("/runs", &first).expect(201);
    // The algorithm pauses for ten minutes.
    does(&home, &["run", "worker", "--run-id", "r1"], 1);
    let more = json!({"parameters": {"algo": "fragile", "items": ["100002"]}});
    let plan = server.post("/api/v1/plans", &more).expect(200).json();
    assert_eq!(
        (&plan["start"], &plan["blocked"], &plan["expected_usd"]),
        (&json!(0), &json!(1), &json!(0.25)),
        "{plan:#}"
    );
    server
        .post("/runs", &more)
        .expect_problem(422, "max-cost-missing");
}

fn a_purchase_that_is_to_be_repeated_needs_a_key(store: Store) {
    let Some(home) = scene(store) else {
        return;
    };
    let server = Server::start(&home, &[]);
    let order =
        |algo: &str| json!({"parameters": {"algo": algo}, "dedupe": "none", "max_cost_usd": 5});
    let said = server.post("/runs", &order("paid"));
    said.expect_problem(422, "idempotency-key-missing");
    server.post("/runs", &order("free")).expect(201);
    let token = format!("Bearer {}", server.token);
    let headers = [("Authorization", token.as_str()), ("Idempotency-Key", "k")];
    let body = order("paid").to_string();
    server
        .send("POST", "/runs", &headers, body.as_bytes())
        .expect(201);
}

fn an_older_success_will_do_when_a_newer_run_of_the_same_was_cancelled(store: Store) {
    let Some(home) = scene(store) else {
        return;
    };
    let server = Server::start(&home, &[]);
    let order = |run: &str, dedupe: &str| json!({"parameters": {"algo": "free"}, "run_id": run, "dedupe": dedupe});
    let usual = order("r3", "active_or_finished");
    server.post("/runs", &order("r1", "active")).expect(201);
    does(&home, &["run", "worker", "--run-id", "r1"], 0);
    server.post("/runs", &order("r2", "active")).expect(201);
    assert_eq!(
        server.post("/runs", &usual).expect(200).json()["run_id"],
        "r2"
    );
    let cancel = "/api/v1/runs/r2/cancel";
    server.post(cancel, &json!({})).expect(202);
    let plan = server.post("/api/v1/plans", &usual).expect(200).json();
    assert_eq!(plan["existing"]["run_id"], "r1");
    let same = server.post("/runs", &usual).expect(200).json();
    assert_eq!(
        (&same["run_id"], &same["deduplicated"]),
        (&json!("r1"), &json!("finished"))
    );
}

fn the_limit_of_an_order_is_shown_and_measured(store: Store) {
    let Some(home) = scene(store) else {
        return;
    };
    let server = Server::start(&home, &[]);
    let order = json!({"parameters": {"algo": "paid"}, "run_id": "r1", "max_cost_usd": 2});
    server.post("/runs", &order).expect(201);
    does(&home, &["run", "worker", "--run-id", "r1", "--yes"], 0);
    let seen = server.get("/runs/r1").expect(200).json();
    let limits = &seen["money"]["limits"];
    assert_eq!(
        (
            &limits[0]["of"],
            &limits[0]["cap_usd"],
            &limits[0]["used_usd"]
        ),
        (&json!("run"), &json!(2.0), &json!(0.75)),
        "{limits}"
    );
    let text = server.get("/metrics").expect(200).text();
    for line in [
        "archi3d_budget_usd{scope=\"run\",run=\"r1\"} 2",
        "archi3d_budget_used_usd{scope=\"run\",run=\"r1\"} 0.75",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
}

fn a_worker_that_names_a_run_keeps_to_what_was_ordered(store: Store) {
    let Some(home) = scene(store) else {
        return;
    };
    let server = Server::start(&home, &[]);
    let order = json!({"parameters": {"algo": "paid"}, "run_id": "r1", "max_cost_usd": 0.75, "start": false});
    server.post("/runs", &order).expect(201);
    // By now it is dearer than what was ordered.
    let dearer = ADAPTERS.replace("0.25", "0.50");
    home.write("config/adapters.yaml", dearer.as_bytes());
    let json = |words: &[&str]| home.archi3d(words).run().expect_code(0).json();
    let plan = json(&["run", "plan", "r1", "--json"]);
    assert_eq!(
        (&plan["counts"]["run"], &plan["counts"]["blocked"]),
        (&json!(1), &json!(2)),
        "{plan:#}"
    );
    let limit = &plan["money"]["limits"][0];
    assert_eq!(
        (&limit["cap_usd"], &limit["set_by"]),
        (&json!(0.75), &json!("max_cost_usd")),
        "{limit}"
    );
    let worker = ["run", "worker", "--run-id", "r1", "--yes"];
    let said = home.archi3d(&worker).run().expect_code(4);
    let _ = said.expect_stderr("ordered with max_cost_usd 0.75");
    let spent = || server.get("/runs/r1").expect(200).json()["money"]["spent_usd"].clone();
    assert_eq!(spent(), json!(0.5));
    let told = json(&["run", "explain", "r1", "100002", "--json"]);
    assert_eq!(told["code"], "over_budget", "{told:#}");
    assert_eq!(
        told["numbers"]["money"]["limits"][0]["set_by"],
        "max_cost_usd"
    );
    let next = told["next"][0]["command"].as_str().expect("a command");
    assert!(next.ends_with("--budget-usd AMOUNT"), "{next}");
    // A person may lower it, and may raise it if that is said.
    let lower = [&worker[..], &["--budget-usd", "0.60"]].concat();
    does(&home, &lower, 4);
    let higher = [&worker[..], &["--budget-usd", "1.50"]].concat();
    let said = home.archi3d(&higher).run().expect_code(0);
    let _ = said.expect_stderr("--budget-usd 1.50 raises that");
    assert_eq!(spent(), json!(1.5));
}

fn what_nobody_knows_the_price_of_is_not_ordered(store: Store) {
    let Some(home) = scene(store) else {
        return;
    };
    let server = Server::start(&home, &[]);
    for most in [json!(null), json!(0), json!(5)] {
        let order = json!({"parameters": {"algo": "unpriced"}, "max_cost_usd": most});
        let refused = server.post("/runs", &order);
        let refused = refused.expect_problem(422, "invalid-request");
        let detail = refused["detail"].as_str().expect("a text");
        assert!(
            detail.contains("algo unpriced has no known price"),
            "{detail}"
        );
        let plan = server.post("/api/v1/plans", &order).expect(200).json();
        assert_eq!(
            (
                &plan["start"],
                &plan["blocked"],
                &plan["unknown_price_jobs"]
            ),
            (&json!(0), &json!(3), &json!(3)),
            "{plan:#}"
        );
        let problem = plan["algos"][0]["problem"].as_str().expect("a text");
        assert!(problem.contains("of unknown price"), "{problem}");
    }
}

fn a_run_whose_price_got_lost_says_why_it_waits(store: Store) {
    let Some(home) = scene(store) else {
        return;
    };
    let server = Server::start(&home, &[]);
    let order =
        json!({"parameters": {"algo": "paid"}, "run_id": "r1", "max_cost_usd": 5, "start": false});
    server.post("/runs", &order).expect(201);
    server.stop();
    let lost = ADAPTERS.replace("    unit_price_usd: 0.25\n", "");
    home.write("config/adapters.yaml", lost.as_bytes());
    let said = home.archi3d(&["run", "status", "r1"]).run().expect_code(0);
    let _ = said.expect_stderr("3 jobs are of algo paid of unknown price");
    let explain = ["run", "explain", "r1", "100001", "--json"];
    let told = home.archi3d(&explain).run().expect_code(0).json();
    assert_eq!(told["code"], "unknown_price", "{told:#}");
}

fn a_run_that_will_do_says_that_it_keeps_its_limit(store: Store) {
    let Some(home) = scene(store) else {
        return;
    };
    let server = Server::start(&home, &[]);
    let order = |run: &str, most: f64| json!({"parameters": {"algo": "paid"}, "run_id": run, "max_cost_usd": most, "start": false});
    let made = server.post("/runs", &order("r1", 1.0)).expect(201).json();
    assert_eq!(made["warnings"], json!([]));
    let same = server.post("/runs", &order("r2", 1.0)).expect(200).json();
    assert_eq!(
        (&same["run_id"], &same["warnings"]),
        (&json!("r1"), &json!([]))
    );
    let more = server.post("/runs", &order("r3", 9.0)).expect(200).json();
    let warning = more["warnings"][0].as_str().expect("a warning");
    assert!(warning.contains("$1.00, not $9.00"), "{warning}");
}

fn a_key_is_the_tokens_own_and_not_of_its_name(store: Store) {
    let Some(home) = scene(store) else {
        return;
    };
    let server = Server::start(&home, &[]);
    let create = ["token", "create", "ci", "--role", "submit", "--json"];
    let send = |algo: &str| {
        let made = home.archi3d(&create).run().expect_code(0).json();
        let token = format!("Bearer {}", made["token"].as_str().expect("shown"));
        let headers = [("Authorization", token.as_str()), ("Idempotency-Key", "k")];
        let body = json!({"parameters": {"algo": algo}}).to_string();
        let said = server.send("POST", "/runs", &headers, body.as_bytes());
        does(&home, &["token", "revoke", "ci"], 0);
        said
    };
    send("free").expect(201);
    // Another one of that name has keys of its own.
    let second = send("free").expect(200);
    assert_eq!(second.header("idempotency-replayed"), None);
    send("paid").expect_problem(422, "max-cost-missing");
    let taken = ["token", "create", "serve", "--role", "submit"];
    let _ = home.archi3d(&taken).run().expect_code(2);
}

/// Of a program of another version, or harmed.
#[test]
fn on_postgres_an_order_that_cannot_be_read_waits() {
    let Some(mut home) = scene(Store::Postgres) else {
        return;
    };
    let server = Server::start(&home, &[]);
    let order = json!({"parameters": {"algo": "paid", "items": ["100001"]}, "run_id": "r1", "max_cost_usd": 1, "start": false});
    server.post("/runs", &order).expect(201);
    let fleet = home.fleet.as_mut().expect("on PostgreSQL");
    fleet.change("UPDATE archi3d.orders SET body = '{\"v\": 2}'");
    let said = home
        .archi3d(&["fleet", "worker", "--until-idle", "1", "--yes"])
        .env("ARCHI3D_SPOOL", home.outside().join("spool"))
        .run();
    let _ = said.expect_stderr("order of run r1 cannot be read");
    let by_name = ["run", "worker", "--run-id", "r1", "--yes"];
    let said = home.archi3d(&by_name).run();
    let _ = said.expect_stderr("order of run r1 cannot be read");
    let fleet = home.fleet.as_mut().expect("on PostgreSQL");
    assert_eq!(fleet.number("SELECT count(*) FROM archi3d.attempts"), 0);
    // Who looks sees the run.
    assert_eq!(jobs(&server, "r1")["enqueued"], 1);
    server.get("/runs").expect(200);
}

#[cfg(feature = "failpoints")]
#[test]
fn what_was_begun_for_more_is_finished_for_no_more_than_the_next_one_allows() {
    for key in [None, Some("k")] {
        let home = scene(Store::Files).expect("on files");
        let order = |most: f64| json!({"parameters": {"algo": "paid", "items": ["100001"]}, "max_cost_usd": most});
        let send = |server: &Server, key: Option<&str>, body: &Value| {
            let token = format!("Bearer {}", server.token);
            let mut headers = vec![("Authorization", token.as_str())];
            headers.extend(key.map(|key| ("Idempotency-Key", key)));
            let body = body.to_string();
            server.try_send("POST", "/runs", &headers, body.as_bytes())
        };
        let faults = [("FAILPOINTS", "submit.noted=1*return(kill)".to_owned())];
        let server = Server::start_with(&home, &[], &faults);
        assert!(send(&server, key, &order(50.0)).is_err(), "it dies there");
        drop(server);
        let server = Server::start(&home, &[]);
        let other = |body: &Value| send(&server, None, body).expect("answered");
        other(&order(0.1)).expect_problem(409, "budget-exceeded");
        let mut changed = order(1.0);
        changed["if_plan"] = json!("sha256:00");
        other(&changed).expect_problem(412, "plan-changed");
        let made = other(&order(1.0)).expect(200).json();
        assert_eq!(made["deduplicated"], "active");
        assert_eq!(made["submission"]["max_cost_usd"], 1.0);
        let run = made["run_id"].as_str().expect("a name");
        let seen = server.get(&format!("/runs/{run}")).expect(200).json();
        assert_eq!(seen["submission"]["max_cost_usd"], 1.0);
        assert_eq!(
            server.get("/runs").expect(200).json()["items"]
                .as_array()
                .map(Vec::len),
            Some(1)
        );
        if key.is_some() {
            // Whoever began it gets the run that was made of it.
            let own = send(&server, key, &order(50.0)).expect("answered");
            assert_eq!(own.expect(201).json()["run_id"], run);
        }
    }
}
