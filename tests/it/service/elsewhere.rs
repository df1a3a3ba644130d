//! A service over a fleet: runs of other workspaces, stores and buckets that are away, and workers that are woken.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::submitting::{order, runs};
use super::{Home, Store, does, workspace};
use crate::fleet::redis::Redis;
use crate::support::http::Server;
use crate::support::{TestWorkspace, wait_until};

/// Another workspace that uses the database of the first one.
fn beside(home: &Home) -> TestWorkspace {
    let other = workspace();
    other.write("config/global.yaml", &home.bytes("config/global.yaml"));
    other
}

/// Makes a run in a workspace and hands it over into the bucket that is returned.
fn push(workspace: &TestWorkspace, run: &str, algos: &str) -> PathBuf {
    let bucket = workspace.outside().join("bucket");
    fs::create_dir_all(&bucket).expect("made");
    let create = ["batch", "create", "--run-id", run, "--algos", algos];
    does(workspace, &create, 0);
    let place = format!("file://{}", bucket.display());
    let push = ["fleet", "push", "--run-id", run, "--artifacts", &place];
    does(workspace, &push, 0);
    bucket
}

/// Works on everything that waits, on a machine that shares nothing with anybody.
fn work(home: &Home) {
    let machine = TestWorkspace::empty();
    machine.write("config/adapters.yaml", &home.bytes("config/adapters.yaml"));
    let fleet = home.fleet.as_ref().expect("on PostgreSQL");
    let options = ["--until-idle", "1", "--yes"];
    let _ = fleet.server(&machine, &options).wait().expect_code(0);
}

fn names(server: &Server) -> Vec<String> {
    let runs = server.get("/runs").expect(200).json();
    let runs = runs["items"].as_array().expect("a list").iter();
    runs.map(|run| run["run_id"].as_str().expect("a name").to_owned())
        .collect()
}

/// Returns the first job of a run that has a result, and its address.
fn first_job(server: &Server, run: &str) -> (Value, String) {
    let jobs = server.get(&format!("/api/v1/runs/{run}/jobs?status=completed"));
    let job = jobs.expect(200).json()["items"][0].clone();
    let here = job["links"]["self"].as_str().expect("a path").to_owned();
    (job, here)
}

#[test]
fn a_run_that_was_pushed_elsewhere_is_shown_with_everything_that_became_of_it() {
    let Some(home) = Store::Postgres.home() else {
        return;
    };
    // A run of the same name is another one, and stays what it is.
    let mine = ["batch", "create", "--run-id", "mine", "--algos", "free"];
    does(&home, &mine, 0);
    let server = Server::start(&home, &[]);
    let other = beside(&home);
    push(&other, "mine", "free,paid");
    push(&other, "pushed", "free");
    work(&home);
    wait_until("it is shown", || {
        names(&server).contains(&"pushed".to_owned())
    });
    assert_eq!(names(&server).len(), 2);
    let of_mine = server.get("/runs/mine").expect(200).json();
    assert_eq!(of_mine["jobs"]["total"], 3, "{of_mine}");
    assert_eq!(of_mine["jobs"]["enqueued"], 3, "{of_mine}");
    let run = server.get("/runs/pushed").expect(200).json();
    assert_eq!(run["status"], "completed");
    let (job, here) = first_job(&server, "pushed");
    let id = job["job_id"].as_str().expect("an id");
    let expected = format!("runs/pushed/outputs/{id}/generated.glb");
    assert_eq!(job["result"], expected.as_str());
    let results = server.get("/runs/pushed/result").expect(200).json();
    assert_eq!(results["results"][0]["result_ref"], expected.as_str());
    let model = server.get(&format!("{here}/artifacts/generated.glb"));
    let model = model.expect(200);
    assert!(model.body.starts_with(b"glTF"));
    let costs = server.get("/api/v1/costs?by=run").expect(200).text();
    assert!(costs.contains("pushed"), "{costs}");
    wait_until("its figures are read", || {
        let figures = server.get("/metrics").expect(200).text();
        figures.contains("archi3d_jobs{run=\"pushed\",algo=\"free\",status=\"completed\"} 3")
    });
    // What is added to it later comes too.
    push(&other, "pushed", "free,paid");
    let more = || {
        let jobs = server.get("/api/v1/runs/pushed/jobs?algo=paid").expect(200);
        jobs.json()["items"][0]["links"]["self"].clone()
    };
    wait_until("it can be looked at", || {
        let here = more();
        server.get(here.as_str().expect("a path")).status == 200
    });
    // Without a server too: it is there at the next start.
    server.stop();
    let late = beside(&home);
    let server = Server::start(&late, &[]);
    assert_eq!(names(&server).len(), 2);
}

#[test]
fn equal_parameters_over_other_pictures_are_not_the_same_request() {
    let Some(home) = Store::Postgres.home() else {
        return;
    };
    let other = beside(&home);
    other.write("dataset/100001/100001_A.jpg", b"another picture");
    let servers = [&*home, &other].map(|one| Server::start(one, &[]));
    let first = servers
        .each_ref()
        .map(|server| server.post("/runs", &order("free")).expect(201).json());
    assert_eq!(first[0]["payload_hash"], first[1]["payload_hash"]);
    assert_ne!(first[0]["run_id"], first[1]["run_id"]);
    for (server, first) in servers.iter().zip(&first) {
        let again = server.post("/runs", &order("free")).expect(200).json();
        assert_eq!(again["run_id"], first["run_id"]);
        let plan = server.post("/api/v1/plans", &order("free")).expect(200);
        assert_eq!(plan.json()["existing"]["run_id"], first["run_id"]);
        // Only the workspace that has the pictures can show and make it.
        assert_eq!(runs(server), 1);
    }
    // Nor is a key of whoever started one service known to the other.
    let keyed = servers.each_ref().map(|server| {
        let token = format!("Bearer {}", server.token);
        let headers = [("Authorization", token.as_str()), ("Idempotency-Key", "k")];
        let body = json!({"parameters": {"algo": "free", "items": ["100002"]}}).to_string();
        let send = || server.send("POST", "/runs", &headers, body.as_bytes());
        let told = send().expect(201).json();
        assert_eq!(send().expect(201).json(), told);
        told["run_id"].clone()
    });
    assert_ne!(keyed[0], keyed[1]);
    let [one, two] = servers;
    one.stop();
    two.stop();
    for (place, first) in [&*home, &other].into_iter().zip(&first) {
        let server = Server::start(place, &[]);
        let shown = names(&server);
        assert_eq!(shown.len(), 2);
        assert!(shown.contains(&first["run_id"].as_str().expect("a name").to_owned()));
    }
}

#[test]
fn what_nobody_can_be_asked_about_is_not_told_to_be_gone() {
    let Some(home) = Store::Postgres.home() else {
        return;
    };
    let other = beside(&home);
    let bucket = push(&other, "pushed", "free");
    work(&home);
    let server = Server::start(&home, &[]);
    let (job, here) = first_job(&server, "pushed");
    let model = format!("{here}/artifacts/generated.glb");
    let fleet = home.fleet.as_ref().expect("on PostgreSQL");
    fleet.allow_connections(false);
    wait_until("it is seen", || server.get("/readyz").status == 503);
    for path in [
        model.as_str(),
        "/runs/pushed/result",
        "/api/v1/items/100001",
    ] {
        let answer = server.get(path);
        answer.expect_problem(503, "store-unavailable");
    }
    fleet.allow_connections(true);
    wait_until("it is seen", || server.get("/readyz").status == 200);
    // The bucket is somewhere else for a while, as a drive that is not mounted.
    let away = bucket.with_extension("away");
    fs::rename(&bucket, &away).expect("moved");
    fs::create_dir(&bucket).expect("an empty mount point");
    server.get(&model).expect_problem(503, "store-unavailable");
    fs::remove_dir(&bucket).expect("empty");
    fs::rename(&away, &bucket).expect("moved back");
    let _ = server.get(&model).expect(200);
    // What it has lost is gone.
    fs::remove_dir_all(bucket.join("blobs")).expect("removed");
    let preview = job["previews"][0].as_str().expect("a path");
    server.get(preview).expect_problem(410, "artifact-missing");
    let _ = server.get(&model).expect(200);
}

#[test]
fn a_service_starts_and_shows_what_it_can_while_the_database_is_away() {
    let Some(home) = Store::Postgres.home() else {
        return;
    };
    let other = beside(&home);
    push(&other, "pushed", "free");
    let mine = ["batch", "create", "--run-id", "mine", "--algos", "free"];
    does(&home, &mine, 0);
    let fleet = home.fleet.as_ref().expect("on PostgreSQL");
    fleet.allow_connections(false);
    let server = Server::start(&home, &[]);
    server.get("/readyz").expect(503);
    server.get("/runs/mine").expect(200);
    let figures = server.get("/metrics").expect(200).text();
    for line in [
        "archi3d_store_up 0",
        "archi3d_jobs{run=\"mine\",algo=\"free\",status=\"enqueued\"} 3",
        "archi3d_http_requests_total{",
    ] {
        assert!(figures.contains(line), "{line}: {figures}");
    }
    fleet.allow_connections(true);
    wait_until("what is there is shown", || {
        let all = server.get("/runs");
        all.status == 200 && all.text().contains("\"pushed\"")
    });
    wait_until("the store is up", || {
        let figures = server.get("/metrics").expect(200).text();
        figures.contains("archi3d_store_up 1")
    });
    server.stop();
    let wrong = ["serve", "--listen", "127.0.0.1:0", "--store", "mysql://x/y"];
    does(&home, &wrong, 2);
}

#[test]
fn whoever_orders_wakes_workers_through_redis_and_is_ready_without_it() {
    let Some(home) = Store::Postgres.home() else {
        return;
    };
    let Some(redis) = Redis::start(home.outside(), None) else {
        return;
    };
    let server = Server::start_with(&home, &[], &[("ARCHI3D_WAKE", redis.url())]);
    let mut hears = TcpStream::connect(redis.place()).expect("it answers");
    hears
        .write_all(b"PSUBSCRIBE archi3d_*\r\n")
        .expect("subscribed");
    let mut heard = BufReader::new(hears).lines().map_while(Result::ok);
    assert!(heard.any(|line| line == "psubscribe"));
    server.post("/runs", &order("free")).expect(201);
    assert!(heard.any(|line| line == "pmessage"));
    assert!(heard.any(|line| line == "archi3d_1"));
    let wake = || {
        let told = server.get("/readyz").expect(200).json();
        let checks = told["checks"].as_array().expect("a list").clone();
        let wake = checks.into_iter().find(|check| check["name"] == "wake");
        (told["status"].clone(), wake.expect("named")["ok"].clone())
    };
    assert_eq!(wake(), (json!("ready"), json!(true)));
    drop(redis);
    wait_until("it is seen", || wake() == (json!("degraded"), json!(false)));
    let more = json!({"parameters": {"algo": "free", "items": ["100002"]}});
    server.post("/runs", &more).expect(201);
}
