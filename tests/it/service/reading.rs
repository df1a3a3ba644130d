//! What is read: lists in pages, runs, jobs, files in parts, and nothing that no record names.

use serde_json::{Value, json};

use super::{Store, does, workspace};
use crate::support::http::{Answer, Server};
use crate::support::{TestWorkspace, wait_until};

on_both_stores!(
    a_result_is_there_after_success_and_not_before,
    a_run_that_failed_says_so_and_blocks_no_new_one,
    a_run_that_has_not_changed_is_not_sent_again,
    a_list_that_shrinks_between_two_pages_passes_nothing_over,
    pictures_that_are_uploaded_are_kept_once_and_make_a_run,
);

/// Makes a run of three jobs, and carries it out.
fn finished(algo: &str) -> (TestWorkspace, Server) {
    let workspace = workspace();
    let create = ["batch", "create", "--run-id", "r1", "--algos", algo];
    does(&workspace, &create, 0);
    does(&workspace, &["run", "worker", "--run-id", "r1", "--yes"], 0);
    let server = Server::start(&workspace, &[]);
    (workspace, server)
}

fn a_result_is_there_after_success_and_not_before(store: Store) {
    let Some(workspace) = store.home() else {
        return;
    };
    let server = Server::start(&workspace, &[]);
    let order = json!({"parameters": {"algo": "free", "items": ["100001"]}, "run_id": "one"});
    server.post("/runs", &order).expect(201);
    let early = server.get("/runs/one/result");
    assert!(early.header("retry-after").is_some());
    early.expect_problem(409, "not-finished");
    does(&workspace, &["run", "worker", "--run-id", "one"], 0);
    let result = server.get("/runs/one/result").expect(200).json();
    assert_eq!(result["status"], "completed");
    assert_eq!(result["attempts"], 1);
    let path = result["result_ref"].as_str().expect("a path");
    assert!(workspace.path(path).is_file());
    let run = server.get("/runs/one").expect(200).json();
    assert_eq!(
        (&run["state"], &run["made"]),
        (&json!("SUCCEEDED"), &json!(1))
    );
    server
        .get("/runs/nosuch/result")
        .expect_problem(404, "no-such-run");
    let again = server.post(
        "/runs",
        &json!({"parameters": {"algo": "free", "items": ["100001"]}}),
    );
    assert_eq!(again.expect(200).json()["deduplicated"], "finished");
}

fn a_run_that_failed_says_so_and_blocks_no_new_one(store: Store) {
    let Some(workspace) = store.home() else {
        return;
    };
    let server = Server::start(&workspace, &[]);
    let order = json!({"parameters": {"algo": "broken", "items": ["100001"]}});
    let first = server.post("/runs", &order).expect(201).json();
    let run = first["run_id"].as_str().expect("a name");
    does(&workspace, &["run", "worker", "--run-id", run], 1);
    server
        .get(&format!("/runs/{run}/result"))
        .expect_problem(409, "run-failed");
    let jobs = server
        .get(&format!("/api/v1/runs/{run}/jobs?status=failed"))
        .expect(200)
        .json();
    assert!(jobs["items"][0]["error"].is_string(), "{jobs}");
    let second = server.post("/runs", &order).expect(201).json();
    assert_ne!(first["run_id"], second["run_id"]);
    let name = second["run_id"].as_str().expect("a name");
    let cancelled = server
        .post(&format!("/api/v1/runs/{name}/cancel"), &json!({}))
        .expect(202)
        .json();
    assert_eq!(cancelled["cancelled"], 1);
    server
        .get(&format!("/runs/{name}/result"))
        .expect_problem(409, "run-cancelled");
    let undo = server.post(
        &format!("/api/v1/runs/{name}/cancel"),
        &json!({"undo": true}),
    );
    assert_eq!(undo.expect(202).json()["restored"], 1);
}

/// Tells whether a cursor is what the contract says that cursors are.
fn is_promised(server: &Server, cursor: &str) -> bool {
    let contract = server.get("/openapi.json").expect(200).json();
    let parameters = &contract["paths"]["/api/v1/runs/{run}/jobs"]["get"]["parameters"];
    let parameters = parameters.as_array().expect("a list").iter();
    let mut patterns = parameters
        .filter(|one| one["name"] == "cursor")
        .map(|one| one["schema"]["pattern"].as_str().expect("a pattern"));
    let pattern = patterns.next().expect("it is described");
    regex::Regex::new(pattern)
        .expect("a pattern")
        .is_match(cursor)
}

#[test]
fn lists_come_in_pages_that_meet_without_a_gap() {
    let (_workspace, server) = finished("free");
    let mut path = "/api/v1/runs/r1/jobs?limit=2".to_owned();
    let mut ids = Vec::new();
    loop {
        let answer = server.get(&path).expect(200);
        let page = answer.json();
        let items = page["items"].as_array().expect("a list");
        ids.extend(items.iter().map(|job| job["job_id"].to_string()));
        let Some(next) = page["next_cursor"].as_str() else {
            assert_eq!(answer.header("link"), None);
            break;
        };
        let link = answer.header("link").expect("told").to_owned();
        assert!(link.contains(next) && link.contains("limit=2"), "{link}");
        assert!(is_promised(&server, next), "{next}");
        path = link[1..link.find('>').expect("an end")].to_owned();
    }
    assert_eq!(ids.len(), 3);
    let some = server
        .get("/api/v1/runs/r1/jobs?q=100002")
        .expect(200)
        .json();
    assert_eq!(some["items"].as_array().map(Vec::len), Some(1));
    let none = server
        .get("/api/v1/runs/r1/jobs?status=failed")
        .expect(200)
        .json();
    assert_eq!(none["items"], json!([]));
    server
        .get("/api/v1/runs/r1/jobs?status=nosuch")
        .expect_problem(400, "bad-query");
}

fn a_run_that_has_not_changed_is_not_sent_again(store: Store) {
    let Some(home) = store.home() else {
        return;
    };
    let server = Server::start(&home, &[]);
    let order = json!({"parameters": {"algo": "slow", "items": ["100001"]}, "run_id": "r1"});
    server.post("/runs", &order).expect(201);
    let token = format!("Bearer {}", server.token);
    let asked_with = |tag: &str| {
        let headers = [("Authorization", token.as_str()), ("If-None-Match", tag)];
        server.send("GET", "/runs/r1", &headers, b"")
    };
    let tag = |answer: &Answer| answer.header("etag").expect("a tag").to_owned();
    let waiting = tag(&server.get("/runs/r1").expect(200));
    let same = asked_with(&waiting).expect(304);
    assert!(same.body.is_empty());
    assert_eq!(tag(&same), waiting);
    let worker = home.archi3d(&["run", "worker", "--run-id", "r1"]).spawn();
    let mut running = String::new();
    wait_until("it runs", || {
        let answer = asked_with(&waiting);
        running = tag(&answer);
        answer.status == 200 && answer.json()["jobs"]["running"] == 1
    });
    // Ages of what runs are no change.
    wait_until("nothing moves", || asked_with(&running).status == 304);
    home.write("go", b"");
    let _ = worker.wait().expect_code(0);
    let ended = asked_with(&running).expect(200);
    assert_eq!(ended.json()["jobs"]["completed"], 1);
    asked_with(&tag(&ended)).expect(304);
}

fn a_list_that_shrinks_between_two_pages_passes_nothing_over(store: Store) {
    let Some(home) = store.home() else {
        return;
    };
    let server = Server::start(&home, &[]);
    let order = json!({"parameters": {"algo": "free"}, "run_id": "r1"});
    server.post("/runs", &order).expect(201);
    let page = |path: &str| {
        let page = server.get(path).expect(200).json();
        let items = page["items"].as_array().expect("a list");
        let ids = items
            .iter()
            .map(|job| job["job_id"].as_str().expect("an id").to_owned());
        let next = page["next_cursor"].as_str().map(str::to_owned);
        (ids.collect::<Vec<_>>(), next)
    };
    let path = "/api/v1/runs/r1/jobs?status=enqueued&limit=1";
    let (first, next) = page(path);
    let next = next.expect("there is more");
    // What was on the first page is cancelled before the second is asked for.
    let cancel = json!({"filter": {"jobs": first[0]}});
    server.post("/api/v1/runs/r1/cancel", &cancel).expect(202);
    let (second, next) = page(&format!("{path}&cursor={next}"));
    let (third, end) = page(&format!("{path}&cursor={}", next.expect("there is more")));
    assert_eq!(end, None);
    let mut ids = [first, second, third].concat();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 3);
}

#[test]
fn what_has_not_changed_is_not_sent_again() {
    let (_workspace, server) = finished("free");
    let token = format!("Bearer {}", server.token);
    let first = server.get("/api/v1/items").expect(200);
    let tag = first.header("etag").expect("a tag");
    let headers = [("Authorization", token.as_str()), ("If-None-Match", tag)];
    let again = server
        .send("GET", "/api/v1/items", &headers, b"")
        .expect(304);
    assert!(again.body.is_empty());
}

#[test]
fn files_come_whole_or_in_part_and_only_those_that_a_record_names() {
    let (workspace, server) = finished("free");
    let jobs = server.get("/api/v1/runs/r1/jobs").expect(200).json();
    let job = jobs["items"][0]["links"]["self"]
        .as_str()
        .expect("a path")
        .to_owned();
    let job_id = jobs["items"][0]["job_id"]
        .as_str()
        .expect("an id")
        .to_owned();
    let detail = server.get(&job).expect(200).json();
    let files = detail["artifacts"].as_array().expect("a list");
    let model = files
        .iter()
        .find(|file| file["name"] == "generated.glb")
        .expect("a model");
    let href = model["href"].as_str().expect("a path");
    let whole = server.get(href).expect(200);
    let tag = format!("\"{}\"", model["sha256"].as_str().expect("a hash"));
    assert_eq!(whole.header("etag"), Some(tag.as_str()));
    assert_eq!(whole.header("content-type"), Some("model/gltf-binary"));
    assert!(
        whole
            .header("content-disposition")
            .expect("told")
            .starts_with("attachment")
    );
    assert_eq!(
        whole.body,
        workspace.bytes(&format!("runs/r1/outputs/{job_id}/generated.glb"))
    );
    let token = format!("Bearer {}", server.token);
    let part = |range: &str| {
        let headers = [("Authorization", token.as_str()), ("Range", range)];
        server.send("GET", href, &headers, b"")
    };
    let first = part("bytes=0-3").expect(206);
    assert_eq!(first.body, b"glTF");
    assert_eq!(
        first.header("content-range"),
        Some(format!("bytes 0-3/{}", whole.body.len()).as_str())
    );
    assert_eq!(
        part("bytes=-4").expect(206).body,
        whole.body[whole.body.len() - 4..]
    );
    assert_eq!(part("bytes=4-").expect(206).body, whole.body[4..]);
    part("bytes=99999999-").expect_problem(416, "range-not-satisfiable");
    let known = [("Authorization", token.as_str()), ("If-None-Match", &tag)];
    server.send("GET", href, &known, b"").expect(304);
    workspace.write(&format!("runs/r1/outputs/{job_id}/secret.txt"), b"x");
    for name in [
        "secret.txt",
        "..%2F..%2Fmanifest.csv",
        "%2e%2e",
        "..%2f..%2f..%2fconfig%2fadapters.yaml",
    ] {
        server
            .get(&format!("{job}/artifacts/{name}"))
            .expect_problem(404, "no-such-artifact");
    }
    let model = format!("runs/r1/outputs/{job_id}/generated.glb");
    let mut changed = whole.body.clone();
    changed[0] ^= 1;
    for other in [&changed[..], b"short"] {
        workspace.write(&model, other);
        server.get(href).expect_problem(410, "artifact-missing");
    }
    workspace.write(&model, &whole.body);
    assert_eq!(server.get(href).expect(200).body, whole.body);
    server
        .get("/api/v1/runs/r1/jobs/nosuch")
        .expect_problem(404, "no-such-job");
}

#[test]
fn items_algos_costs_and_explanations_are_what_the_commands_say() {
    let (workspace, server) = finished("paid");
    let items = server.get("/api/v1/items").expect(200).json();
    assert_eq!(items["items"][0]["item"], "100001");
    let item = server.get("/api/v1/items/100001").expect(200).json();
    assert_eq!(item["jobs"][0]["run_id"], "r1");
    let picture = item["pictures"][0]["href"].as_str().expect("a path");
    assert_eq!(server.get(picture).expect(200).body, b"100001");
    server
        .get("/api/v1/items/nosuch")
        .expect_problem(404, "no-such-item");
    server
        .get("/api/v1/items/100001/pictures/9")
        .expect_problem(404, "no-such-item");
    let algos = server.get("/api/v1/algos").expect(200).json();
    let paid = algos["items"]
        .as_array()
        .expect("a list")
        .iter()
        .find(|algo| algo["algo"] == "paid");
    assert_eq!(paid.expect("configured")["unit_price_usd"], 0.25);
    let said = workspace
        .archi3d(&["cost", "report", "--json"])
        .run()
        .expect_code(0)
        .json();
    let costs = server.get("/api/v1/costs").expect(200).json();
    assert_eq!(
        (&costs["total"], &costs["lines"]),
        (&said["total"], &said["lines"])
    );
    let none = server
        .get("/api/v1/costs?by=day&to=2020-01-01")
        .expect(200)
        .json();
    assert_eq!(
        (&none["lines"], &none["total"]["attempts"]),
        (&json!([]), &json!(0))
    );
    // Days are compared, not how they are written.
    let all = server.get("/api/v1/costs?by=day&from=2020-1-1&to=%2B9999-01-01");
    let all = all.expect(200).json();
    assert_eq!(all["total"], costs["total"]);
    server
        .get("/api/v1/costs?from=2020-01-01")
        .expect_problem(400, "bad-query");
    let jobs = server.get("/api/v1/runs/r1/jobs").expect(200).json();
    let explain = jobs["items"][0]["links"]["explain"]
        .as_str()
        .expect("a path");
    assert_eq!(server.get(explain).expect(200).json()["state"], "completed");
    let metrics = server.get("/metrics").expect(200).text();
    assert!(
        metrics.contains("archi3d_jobs{run=\"r1\",algo=\"paid\",status=\"completed\"} 3"),
        "{metrics}"
    );
    assert!(
        metrics.contains("archi3d_cost_usd_total{algo=\"paid\",provider=\"paid\"} 0.75"),
        "{metrics}"
    );
}

fn pictures_that_are_uploaded_are_kept_once_and_make_a_run(store: Store) {
    let Some(workspace) = store.home() else {
        return;
    };
    let server = Server::start(&workspace, &[]);
    let mut picture = Vec::new();
    let image = image::RgbImage::from_pixel(8, 8, image::Rgb([200, 10, 10]));
    let mut cursor = std::io::Cursor::new(&mut picture);
    image
        .write_to(&mut cursor, image::ImageFormat::Png)
        .expect("in memory");
    let token = format!("Bearer {}", server.token);
    let send = |kind: &str, body: &[u8]| {
        let headers = [("Authorization", token.as_str()), ("Content-Type", kind)];
        server.send("POST", "/api/v1/uploads", &headers, body)
    };
    let kept = send("image/png", &picture).expect(201).json();
    send("image/png", &picture).expect(200);
    // What a power cut left of one is not taken for it.
    let sha256 = kept["sha256"].as_str().expect("a hash");
    workspace.write(&format!("uploads/{sha256}.png"), &vec![0; picture.len()]);
    send("image/png", &picture).expect(201);
    // Its name says what a large one is.
    let large = [&picture[..], &vec![7; 17 << 20]].concat();
    let large = send("image/png", &large).expect(201).json();
    let place = large["href"].as_str().expect("a path");
    let tag = format!("\"{}\"", large["sha256"].as_str().expect("a hash"));
    assert_eq!(server.get(place).expect(200).header("etag"), Some(&*tag));
    let head =
        b"--sep\r\nContent-Disposition: form-data; name=\"picture\"; filename=\"a.png\"\r\n\r\n";
    let form = [&head[..], &picture[..], b"\r\n--sep--\r\n"].concat();
    let same = send("multipart/form-data; boundary=sep", &form).expect(200);
    assert_eq!(same.json()["image"], kept["image"]);
    send("multipart/form-data; boundary=sep", b"--sep--").expect_problem(422, "unusable-picture");
    for (name, kind) in [
        ("bottle.png", "png"),
        ("chair.jpg", "jpeg"),
        ("mug.webp", "webp"),
    ] {
        let whole = std::fs::read(format!("fixtures/pictures/{name}")).expect("a fixture");
        let kind = format!("image/{kind}");
        send(&kind, &whole).expect(201);
        // As an upload that broke off leaves it.
        for length in [whole.len() / 3, whole.len() - 2] {
            send(&kind, &whole[..length]).expect_problem(422, "unusable-picture");
        }
    }
    send("image/png", b"no picture").expect_problem(422, "unusable-picture");
    send("application/json", b"{}").expect_problem(415, "unsupported-media-type");
    let back = server
        .get(kept["href"].as_str().expect("a path"))
        .expect(200);
    assert_eq!(back.body, picture);
    let order = json!({"parameters": {"algos": ["free"], "images": [kept["image"]]}});
    let run = server.post("/runs", &order).expect(201).json();
    let run = run["run_id"].as_str().expect("a name");
    does(&workspace, &["run", "worker", "--run-id", run], 0);
    server.get(&format!("/runs/{run}/result")).expect(200);
}

#[test]
fn the_results_of_a_run_come_in_pages() {
    let (_workspace, server) = finished("free");
    let first = server.get("/runs/r1/result?limit=2").expect(200);
    let next = first.json()["next_cursor"].clone();
    let next = next.as_str().expect("there is another page");
    let link = format!("</runs/r1/result?limit=2&cursor={next}>; rel=\"next\"");
    assert_eq!(first.header("link"), Some(&*link));
    let path = format!("/runs/r1/result?limit=2&cursor={next}");
    let last = server.get(&path).expect(200);
    assert_eq!(last.json()["results"].as_array().map(Vec::len), Some(1));
    assert_eq!(last.header("link"), None);
}

#[test]
fn votes_are_added_once_and_read_back() {
    let (_workspace, server) = finished("free");
    let jobs = server.get("/api/v1/runs/r1/jobs").expect(200).json();
    let job = &jobs["items"][0]["job_id"];
    let accept = json!({"accept_id": "a1", "at": "2026-01-01T00:00:00Z", "judge": "ana", "run_id": "r1",
        "job_id": job, "item": "100001", "accepted": "yes", "reason": ""});
    let body = json!({"accepts": [accept]});
    assert_eq!(
        server.post("/api/v1/votes", &body).expect(201).json()["accepts"],
        1
    );
    assert_eq!(
        server.post("/api/v1/votes", &body).expect(201).json()["known"],
        1
    );
    // What cannot be used at all is an error, with its place.
    let nobody = json!({"accepts": [{"accept_id": "a2", "run_id": "r1", "job_id": job}]});
    let refused = server.post("/api/v1/votes", &nobody);
    let refused = refused.expect_problem(422, "invalid-request");
    assert_eq!(refused["errors"][0]["pointer"], "#/accepts/0", "{refused}");
    let other_answer = body.to_string().replace("\"yes\"", "\"no\"");
    let refused = server.call("POST", "/api/v1/votes", &other_answer);
    refused.expect_problem(422, "invalid-request");
    let read = server.get("/api/v1/votes").expect(200).json();
    assert_eq!(read["accepts"][0]["judge"], "ana");
    assert_eq!(read["votes"], Value::Array(Vec::new()));
}

#[test]
fn the_contract_names_every_path_and_every_problem_is_explained() {
    let workspace = workspace();
    let server = Server::start(&workspace, &[]);
    let contract = server.get("/openapi.json").expect(200).json();
    assert_eq!(contract["openapi"], "3.1.0");
    let paths = contract["paths"].as_object().expect("an object");
    for path in [
        "/runs",
        "/runs/{run}",
        "/runs/{run}/result",
        "/healthz",
        "/api/v1/runs",
        "/api/v1/plans",
    ] {
        assert!(paths.contains_key(path), "{path}");
    }
    let kinds = server.get("/problems").expect(200).json();
    for kind in kinds["items"].as_array().expect("a list") {
        let path = kind["type"].as_str().expect("a path");
        assert!(
            server.get(path).expect(200).json()["next"].is_string(),
            "{path}"
        );
    }
}
