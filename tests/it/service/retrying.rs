//! Failed jobs that are to be tried again: they wait in the store before the request is answered, whoever dies, and cost no
//! more than somebody allowed.

use serde_json::{Value, json};

use super::{Home, Store, does};
use crate::support::http::Server;
use crate::support::wait_until;

on_both_stores!(
    jobs_wait_again_before_a_retry_is_answered,
    only_failed_jobs_can_be_tried_again,
    a_retry_that_is_only_asked_about_writes_nothing,
    a_retry_above_what_the_run_may_cost_is_refused_until_more_is_allowed,
    a_retry_of_a_run_that_nobody_wanted_started_starts_these_jobs_and_no_others,
    a_retry_that_starts_nothing_keeps_its_answer,
    two_workers_that_follow_keep_to_how_many_jobs_of_a_run_may_run_at_once,
    a_stop_lets_the_job_that_runs_end_and_it_is_one_attempt,
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
";

/// Makes a workspace with these adapters; they are there before any server.
fn scene(store: Store) -> Option<Home> {
    let home = store.home()?;
    home.write("config/adapters.yaml", ADAPTERS.as_bytes());
    Some(home)
}

/// Makes a run with a job that failed once; the next attempt succeeds.
fn failed_once(home: &Home, server: &Server) {
    let order = json!({"parameters": {"algo": "once", "items": ["100001"]}, "run_id": "r1", "max_cost_usd": 0.25});
    server.post("/runs", &order).expect(201);
    does(home, &["run", "worker", "--run-id", "r1"], 1);
}

fn status(server: &Server, run: &str) -> Value {
    server.get(&format!("/runs/{run}")).expect(200).json()["status"].clone()
}

const RETRY: &str = "/api/v1/runs/r1/retry";

fn jobs_wait_again_before_a_retry_is_answered(store: Store) {
    let Some(home) = scene(store) else {
        return;
    };
    let server = Server::start(&home, &[]);
    failed_once(&home, &server);
    assert_eq!(status(&server, "r1"), "failed");
    assert_eq!(
        server.post(RETRY, &json!({})).expect(202).json()["start"],
        1
    );
    let seen = server.get("/runs/r1").expect(200).json();
    assert_eq!(
        (&seen["status"], &seen["state"]),
        (&json!("enqueued"), &json!("PENDING"))
    );
    server.stop();
    // They are jobs that wait: any worker carries them out.
    does(&home, &["run", "worker", "--run-id", "r1"], 0);
    let server = Server::start(&home, &[]);
    let result = server.get("/runs/r1/result").expect(200).json();
    assert_eq!(result["attempts"], 2);
}

#[cfg(feature = "failpoints")]
mod dying {
    use super::*;

    on_both_stores!(a_retry_is_carried_out_once_wherever_its_server_is_killed);

    fn a_retry_is_carried_out_once_wherever_its_server_is_killed(store: Store) {
        let steps: &[&str] = match store {
            Store::Files => &[
                "retry.noted",
                "again.before",
                "again.marked",
                "again.cleared",
                "retry.put_back",
            ],
            Store::Postgres => &["retry.noted", "retry.put_back"],
        };
        for step in steps {
            let Some(home) = scene(store) else {
                return;
            };
            let faults = [("FAILPOINTS", format!("{step}=1*return(kill)"))];
            let server = Server::start_with(&home, &[], &faults);
            failed_once(&home, &server);
            let token = format!("Bearer {}", server.token);
            let headers = [("Authorization", token.as_str()), ("Idempotency-Key", "k")];
            assert!(server.try_send("POST", RETRY, &headers, b"{}").is_err());
            drop(server);
            let server = Server::start(&home, &["--workers", "1"]);
            wait_until("the job is tried again", || {
                status(&server, "r1") == "completed"
            });
            let token = format!("Bearer {}", server.token);
            let headers = [("Authorization", token.as_str()), ("Idempotency-Key", "k")];
            server.send("POST", RETRY, &headers, b"{}").expect(202);
            let tries = String::from_utf8(home.bytes("count")).expect("text");
            assert_eq!(tries.lines().count(), 2, "{step}");
            let result = server.get("/runs/r1/result").expect(200).json();
            assert_eq!(result["attempts"], 2, "{step}");
        }
    }
}

fn only_failed_jobs_can_be_tried_again(store: Store) {
    let Some(home) = scene(store) else {
        return;
    };
    let server = Server::start(&home, &[]);
    failed_once(&home, &server);
    for status in ["enqueued", "running", "completed", "cancelled"] {
        let said = server.post(RETRY, &json!({"status": [status]}));
        said.expect_problem(422, "invalid-request");
        let said = server.post(RETRY, &json!({"filter": {"status": ["failed", status]}}));
        said.expect_problem(422, "invalid-request");
    }
    let both = json!({"status": ["failed"], "filter": {"status": ["failed"]}});
    assert_eq!(server.post(RETRY, &both).expect(202).json()["start"], 1);
}

fn a_retry_that_is_only_asked_about_writes_nothing(store: Store) {
    let Some(home) = scene(store) else {
        return;
    };
    let server = Server::start(&home, &[]);
    failed_once(&home, &server);
    let asked = json!({"dry_run": true});
    let plan = server.post(RETRY, &asked).expect(200).json();
    assert_eq!(
        (&plan["start"], &plan["expected_usd"]),
        (&json!(1), &json!(0.25))
    );
    assert_eq!(status(&server, "r1"), "failed");
    let other = json!({"if_plan": "sha256:00"});
    server
        .post(RETRY, &other)
        .expect_problem(412, "plan-changed");
    let confirmed = json!({"if_plan": plan["hash"]});
    server.post(RETRY, &confirmed).expect(202);
    assert_eq!(status(&server, "r1"), "enqueued");
}

fn a_retry_above_what_the_run_may_cost_is_refused_until_more_is_allowed(store: Store) {
    let Some(home) = scene(store) else {
        return;
    };
    let server = Server::start(&home, &["--workers", "1"]);
    let order = json!({"parameters": {"algos": ["once", "paid"], "items": ["100001"]}, "run_id": "r1", "max_cost_usd": 0.5});
    server.post("/runs", &order).expect(201);
    wait_until("one of two jobs fails", || {
        status(&server, "r1") == "failed"
    });
    let dearer = ADAPTERS.replacen("0.25", "0.50", 1);
    home.write("config/adapters.yaml", dearer.as_bytes());
    server.stop();
    let server = Server::start(&home, &["--workers", "1"]);
    let said = server.post(RETRY, &json!({}));
    let said = said.expect_problem(409, "budget-exceeded");
    assert_eq!(
        (&said["left_usd"], &said["expected_usd"]),
        (&json!(0.25), &json!(0.5))
    );
    assert_eq!(status(&server, "r1"), "failed");
    let enough = json!({"max_cost_usd": 0.75});
    server.post(RETRY, &enough).expect(202);
    wait_until("it is made", || status(&server, "r1") == "completed");
}

fn a_retry_of_a_run_that_nobody_wanted_started_starts_these_jobs_and_no_others(store: Store) {
    let Some(home) = scene(store) else {
        return;
    };
    let mut settings = home
        .fleet
        .as_ref()
        .map_or_else(Vec::new, |_| home.bytes("config/global.yaml"));
    settings.extend(b"confirm_above_usd: 0.1\n");
    home.write("config/global.yaml", &settings);
    if home.fleet.is_some() {
        let server = Server::start(&home, &[]);
        let order = json!({"parameters": {"algo": "once"}, "run_id": "r1", "max_cost_usd": 5, "start": false});
        server.post("/runs", &order).expect(201);
        server.stop();
    } else {
        does(
            &home,
            &["batch", "create", "--run-id", "r1", "--algos", "once"],
            0,
        );
    }
    let first = [
        "run", "worker", "--run-id", "r1", "--item", "100001", "--yes",
    ];
    does(&home, &first, 1);
    let server = Server::start(&home, &["--workers", "1"]);
    let most = json!({"max_cost_usd": 5});
    assert_eq!(server.post(RETRY, &most).expect(202).json()["start"], 1);
    wait_until("it is made", || {
        server.get("/runs/r1").expect(200).json()["jobs"]["completed"] == 1
    });
    server.stop();
    let server = Server::start(&home, &[]);
    let jobs = server.get("/runs/r1").expect(200).json()["jobs"].clone();
    assert_eq!(
        (&jobs["completed"], &jobs["enqueued"]),
        (&json!(1), &json!(2))
    );
}

fn a_retry_that_starts_nothing_keeps_its_answer(store: Store) {
    let Some(home) = scene(store) else {
        return;
    };
    let server = Server::start(&home, &[]);
    let order = json!({"parameters": {"algo": "paid", "items": ["100001"]}, "run_id": "r1", "max_cost_usd": 1});
    server.post("/runs", &order).expect(201);
    let token = format!("Bearer {}", server.token);
    let headers = [("Authorization", token.as_str()), ("Idempotency-Key", "k")];
    let send = |body: &[u8]| server.send("POST", RETRY, &headers, body);
    let first = send(b"{}").expect(202);
    assert_eq!(first.json()["start"], 0);
    let again = send(b"{}").expect(202);
    assert_eq!(again.header("idempotency-replayed"), Some("true"));
    assert_eq!(again.body, first.body);
    send(b"{\"resubmit_unknown\": true}").expect_problem(422, "idempotency-key-reused");
}

const SLOW: &str = "adapters:
  slow:
    kind: mock
    image_mode: single
    unit_price_usd: 0
    wait_file: go
    count_file: count
";

fn running(server: &Server) -> u64 {
    let seen = server.get("/runs/r1").expect(200).json();
    seen["jobs"]["running"].as_u64().expect("a number")
}

fn two_workers_that_follow_keep_to_how_many_jobs_of_a_run_may_run_at_once(store: Store) {
    let Some(home) = store.home() else {
        return;
    };
    home.write("config/adapters.yaml", SLOW.as_bytes());
    let server = Server::start(&home, &["--workers", "2"]);
    let order = json!({"parameters": {"algo": "slow"}, "run_id": "r1", "max_parallel": 1});
    server.post("/runs", &order).expect(201);
    // A run without a bound shows that the other one had its turn.
    let other = json!({"parameters": {"algo": "slow", "items": ["100001"]}, "run_id": "r2", "dedupe": "none"});
    server.post("/runs", &other).expect(201);
    wait_until("both work", || {
        running(&server) == 1 && status(&server, "r2") == "running"
    });
    home.write("go", b"");
    let mut most = 0;
    wait_until("all are made", || {
        most = most.max(running(&server));
        status(&server, "r1") == "completed"
    });
    assert!(most <= 1, "{most} at once");
    server.stop();
}

fn a_stop_lets_the_job_that_runs_end_and_it_is_one_attempt(store: Store) {
    let Some(home) = store.home() else {
        return;
    };
    home.write("config/adapters.yaml", SLOW.as_bytes());
    let server = Server::start(&home, &["--workers", "1"]);
    let order = json!({"parameters": {"algo": "slow", "items": ["100001"]}, "run_id": "r1"});
    server.post("/runs", &order).expect(201);
    wait_until("its job runs", || running(&server) == 1);
    server.signal("TERM");
    wait_until("the service stops", || {
        let asked = server.try_send("GET", "/readyz", &[], b"");
        asked.is_err() || asked.is_ok_and(|answer| answer.status == 503)
    });
    home.write("go", b"");
    server.stop();
    let server = Server::start(&home, &[]);
    assert_eq!(status(&server, "r1"), "completed");
    let tries = String::from_utf8(home.bytes("count")).expect("text");
    assert_eq!(tries.lines().count(), 1, "{tries}");
    assert_eq!(
        server.get("/runs/r1/result").expect(200).json()["attempts"],
        1
    );
}

/// A key may be used again for something else after 30 days; whoever dies over that is not given the old answer.
#[test]
#[cfg(feature = "failpoints")]
fn a_key_that_is_used_again_after_a_month_never_gets_the_old_answer() {
    let home = Store::Files.home().expect("on files");
    home.write("config/adapters.yaml", ADAPTERS.as_bytes());
    let send = |server: &Server, run: &str| {
        let token = format!("Bearer {}", server.token);
        let headers = [("Authorization", token.as_str()), ("Idempotency-Key", "k")];
        let body = json!({"parameters": {"algo": "paid", "items": ["100001"]}, "run_id": run, "max_cost_usd": 1, "dedupe": "none"});
        server.try_send("POST", "/runs", &headers, body.to_string().as_bytes())
    };
    let server = Server::start(&home, &[]);
    send(&server, "r1").expect("answered").expect(201);
    server.stop();
    // As if that was long ago.
    let text = String::from_utf8(home.bytes("tables/submissions.jsonl")).expect("text");
    let mut lines = String::new();
    for line in text.lines() {
        let mut line: Value = serde_json::from_str(line).expect("JSON");
        line["at"] = json!("2020-01-01T00:00:00Z");
        lines += &format!("{line}\n");
    }
    home.write("tables/submissions.jsonl", lines.as_bytes());
    // The same order, by another token of the same name, so that the key is the same and the run another.
    let faults = [("FAILPOINTS", "submit.noted=1*return(kill)".to_owned())];
    let server = Server::start_with(&home, &[], &faults);
    assert!(send(&server, "r2").is_err(), "it dies there");
    drop(server);
    let server = Server::start(&home, &[]);
    let told = send(&server, "r2").expect("answered").expect(201);
    assert_eq!(told.json()["run_id"], "r2");
}
