//! What is shown of fleets: workers of no run in particular, and runs whose store cannot be asked.

use serde_json::{Value, json};

use super::{Store, does};
use crate::fleet::Fleet;
use crate::support::http::Server;
use crate::support::wait_until;

#[test]
fn a_worker_of_all_runs_is_shown_once_whatever_it_holds() {
    let Some(home) = Store::Postgres.home() else {
        return;
    };
    let fleet = home.fleet.as_ref().expect("on PostgreSQL");
    let server = Server::start(&home, &[]);
    let worker = fleet.server(&home, &["-j", "2", "--worker-id", "all"]);
    let workers = || {
        let listed = server.get("/api/v1/workers").expect(200).json();
        listed["items"].as_array().expect("a list").clone()
    };
    let mut seen = Vec::new();
    wait_until("it is there and holds nothing", || {
        seen = workers();
        !seen.is_empty()
    });
    assert_eq!(seen.len(), 1, "{seen:#?}");
    let about = |one: &Value| json!([one["worker_id"], one["run_id"], one["state"], one["holds"]]);
    assert_eq!(about(&seen[0]), json!(["all", null, "alive", []]));
    for (run, item) in [("r1", "100001"), ("r2", "100002")] {
        let order = json!({"parameters": {"algo": "slow", "items": [item]}, "run_id": run});
        server.post("/runs", &order).expect(201);
    }
    wait_until("it works on both", || {
        seen = workers();
        seen.iter().any(|one| one["holds"][1].is_object())
    });
    assert_eq!(seen.len(), 1, "{seen:#?}");
    assert_eq!(seen[0]["run_id"], Value::Null);
    let mut held = [0, 1].map(|at| seen[0]["holds"][at]["run_id"].as_str());
    held.sort_unstable();
    assert_eq!(held, [Some("r1"), Some("r2")], "{seen:#?}");
    let figures = server.get("/metrics").expect(200).text();
    let told = figures
        .lines()
        .filter(|line| line.starts_with("archi3d_workers{"));
    let told: Vec<&str> = told.collect();
    assert!(told.len() == 1 && told[0].ends_with(" 1"), "{told:?}");
    home.write("go", b"");
    worker.signal("TERM");
    let _ = worker.wait();
}

#[test]
fn of_a_pushed_run_whose_store_cannot_be_asked_it_is_said_what_is_not_known() {
    let Some(fleet) = Fleet::new() else {
        return;
    };
    let home = Store::Files.home().expect("on files");
    for run in ["r1", "r2"] {
        does(
            &home,
            &["batch", "create", "--run-id", run, "--algos", "free"],
            0,
        );
    }
    let push = home.archi3d(&["fleet", "push", "--run-id", "r1"]);
    let _ = push.env("ARCHI3D_STORE", &fleet.url).run().expect_code(0);
    // Nobody names the store here.
    let server = Server::start(&home, &[]);
    let listed = server.get("/runs?sort=name").expect(200).json();
    // Whether something is closed there nobody can tell.
    let resume = || server.post("/api/v1/algos/free/resume", &json!({}));
    resume().expect_problem(503, "store-unavailable");
    let stale = [0, 1].map(|at| listed["items"][at]["as_pulled"].clone());
    assert_eq!(stale, [json!(true), json!(false)], "{listed:#}");
}

#[test]
fn only_what_was_closed_is_said_to_be_opened() {
    let home = Store::Files.home().expect("on files");
    let algo = "adapters:\n  fragile:\n    kind: mock\n    image_mode: single\n    unit_price_usd: 0\n    breaker_failures: 1\n    fail: it is broken\n";
    home.write("config/adapters.yaml", algo.as_bytes());
    let server = Server::start(&home, &[]);
    let resume = || {
        let told = server.post("/api/v1/algos/fragile/resume", &json!({}));
        told.expect(200).json()["opened"].clone()
    };
    assert_eq!(resume(), false);
    let order = json!({"parameters": {"algo": "fragile", "items": ["100001"]}, "run_id": "r1"});
    server.post("/runs", &order).expect(201);
    does(&home, &["run", "worker", "--run-id", "r1"], 1);
    assert_eq!([resume(), resume()], [true, false]);
}
