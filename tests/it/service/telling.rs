//! People outside are told of what happens, once, whatever fails on the way.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::{ADAPTERS, Home, Store, does};
use crate::support::http::Server;
use crate::support::wait_until;

on_both_stores!(
    a_run_that_ended_is_told_once_under_a_signature_also_after_the_receiver_failed,
    a_program_that_hangs_is_ended_and_tried_again,
    a_message_that_a_killed_server_was_sending_is_sent_by_the_next,
    a_budget_a_breaker_a_provider_and_a_lost_worker_are_told_once_each,
    a_lost_worker_is_told_also_where_its_job_was_taken_over_at_once,
    who_hears_of_events_since_today_hears_of_nothing_that_was_before,
    the_job_that_ends_a_run_is_told_to_use_up_its_budget,
);

const SECRET: &str = "hush-hush-and-long";

/// One request that came.
#[derive(Debug, Clone)]
struct Heard {
    id: String,
    signature: String,
    body: Vec<u8>,
}

/// A real receiver: what each request gets is said beforehand, the last for all that follow.
struct Receiver {
    url: String,
    heard: Arc<Mutex<Vec<Heard>>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Gets {
    Fine,
    Failure,
    Silence,
}

impl Receiver {
    fn start(answers: &'static [Gets]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}/hook", listener.local_addr().expect("bound"));
        let heard: Arc<Mutex<Vec<Heard>>> = Arc::default();
        let all = Arc::clone(&heard);
        std::thread::spawn(move || {
            let mut kept = Vec::new();
            for stream in listener.incoming().flatten() {
                let mut stream = stream;
                let Some(one) = read(&stream) else { continue };
                let mut all = all.lock().expect("no panic");
                let gets = answers[all.len().min(answers.len() - 1)];
                all.push(one);
                drop(all);
                let status = match gets {
                    Gets::Fine => "204 No Content",
                    Gets::Failure => "500 Oh",
                    Gets::Silence => {
                        kept.push(stream);
                        continue;
                    }
                };
                let said =
                    format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
                let _ = stream.write_all(said.as_bytes());
            }
        });
        Self { url, heard }
    }

    fn heard(&self) -> Vec<Heard> {
        self.heard.lock().expect("no panic").clone()
    }
}

fn read(stream: &TcpStream) -> Option<Heard> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let (mut id, mut signature, mut length) = (String::new(), String::new(), 0);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(": ") else {
            if line.trim_end().is_empty() {
                break;
            }
            continue;
        };
        match name.to_lowercase().as_str() {
            "archi3d-event-id" => value.clone_into(&mut id),
            "archi3d-signature" => value.clone_into(&mut signature),
            "content-length" => length = value.parse().ok()?,
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(Heard {
        id,
        signature,
        body,
    })
}

/// HMAC-SHA256 as RFC 2104 writes it down.
fn hmac(key: &[u8], text: &[u8]) -> String {
    let mut block = [0u8; 64];
    block[..key.len()].copy_from_slice(key);
    let padded = |with: u8| block.map(|byte| byte ^ with).to_vec();
    let inner = Sha256::digest([&padded(0x36), text].concat());
    let outer = Sha256::digest([&padded(0x5c)[..], &inner[..]].concat());
    archi3d_core::domain::text::hex(&outer)
}

/// Adds to the settings of a workspace who is to be told.
fn tell(home: &Home, more: &str) {
    let before = if home.path("config/global.yaml").is_file() {
        home.bytes("config/global.yaml")
    } else {
        Vec::new()
    };
    home.write(
        "config/global.yaml",
        &[&before[..], more.as_bytes()].concat(),
    );
    home.write(".env", format!("HOOK_SECRET={SECRET}\n").as_bytes());
}

fn submit(server: &Server, run: &str, algo: &str) {
    let order = json!({"parameters": {"algo": algo, "items": ["100001"]}, "run_id": run});
    server.post("/runs", &order).expect(201);
}

fn a_run_that_ended_is_told_once_under_a_signature_also_after_the_receiver_failed(store: Store) {
    let Some(home) = store.home() else {
        return;
    };
    let receiver = Receiver::start(&[Gets::Failure, Gets::Fine]);
    tell(
        &home,
        &format!(
            "notify: {{webhook: \"{}\", secret_env: HOOK_SECRET}}\n",
            receiver.url
        ),
    );
    let server = Server::start(&home, &[]);
    let other = Server::start(&home, &[]);
    submit(&server, "r1", "free");
    does(&home, &["run", "worker", "--run-id", "r1"], 0);
    wait_until("it is told after a failure", || receiver.heard().len() >= 2);
    // Whoever comes by later has nothing to tell.
    does(&home, &["run", "worker", "--run-id", "r1"], 0);
    submit(&other, "r2", "broken");
    does(&home, &["run", "worker", "--run-id", "r2"], 1);
    wait_until("the next one is told", || receiver.heard().len() >= 3);
    let heard = receiver.heard();
    let ids: Vec<&str> = heard.iter().map(|one| one.id.as_str()).collect();
    assert_eq!(ids[..2], ["run_finished:r1:1/0/0"; 2]);
    assert_eq!(ids[2..], ["run_finished:r2:0/1/0"]);
    for one in &heard {
        let (at, sum) = one.signature.split_once(",v1=").expect("two parts");
        let at = at.strip_prefix("t=").expect("a time");
        let text = [at.as_bytes(), b".", &one.body[..]].concat();
        assert_eq!(sum, hmac(SECRET.as_bytes(), &text));
        let body: Value = serde_json::from_slice(&one.body).expect("JSON");
        assert_eq!(
            (&body["event"], &body["id"]),
            (&json!("run_finished"), &json!(one.id))
        );
    }
    server.stop();
    other.stop();
    for log in ["logs/serve.log", "logs/worker.log"] {
        assert!(!String::from_utf8_lossy(&home.bytes(log)).contains(SECRET));
    }
}

fn a_program_that_hangs_is_ended_and_tried_again(store: Store) {
    let Some(home) = store.home() else {
        return;
    };
    home.write("hang", b"");
    home.write(
        "told.sh",
        b"while [ -e hang ] && ! [ -e hung ]; do touch hung; sleep 600; done\ncat >> told\necho >> told\n",
    );
    tell(&home, "notify: {command: [sh, told.sh], timeout_s: 0.5}\n");
    let server = Server::start(&home, &[]);
    submit(&server, "r1", "free");
    does(&home, &["run", "worker", "--run-id", "r1"], 0);
    wait_until("the second try arrives", || home.path("told").is_file());
    server.get("/runs/r1").expect(200);
    server.stop();
    assert!(home.path("hung").is_file());
    let told = String::from_utf8(home.bytes("told")).expect("text");
    assert_eq!(told.lines().count(), 1, "{told}");
    assert!(told.contains("run_finished:r1"), "{told}");
    let root = home.root().to_path_buf();
    let mut alive = std::fs::read_dir("/proc").expect("Linux").flatten();
    let sleeper = alive.find(|entry| {
        let of = |name: &str| entry.path().join(name);
        std::fs::read_link(of("cwd")).is_ok_and(|cwd| cwd == root)
            && std::fs::read(of("cmdline")).is_ok_and(|line| line.starts_with(b"sleep\x00600"))
    });
    assert!(sleeper.is_none(), "what hung is gone");
}

fn a_budget_a_breaker_a_provider_and_a_lost_worker_are_told_once_each(store: Store) {
    let Some(home) = store.home() else {
        return;
    };
    let entry = |name: &str, more: &str| {
        format!(
            "  {name}:\n    kind: mock\n    image_mode: single\n    unit_price_usd: 0\n    {more}\n"
        )
    };
    let fragile = entry("fragile", "fail: it is broken\n    breaker_failures: 2");
    let broke = entry("broke", "fail: no credit\n    fail_class: out_of_credit");
    let adapters = format!("{ADAPTERS}{fragile}{broke}");
    home.write("config/adapters.yaml", adapters.as_bytes());
    home.write("told.sh", b"printf '%s\\n' \"$(cat)\" >> told\n");
    tell(
        &home,
        "budget: {run_usd: 0.6}\nnotify: {command: [sh, told.sh]}\n",
    );
    let server = Server::start(&home, &[]);
    let other = Server::start(&home, &[]);
    let begin = |run: &str, algo: &str| {
        let order = json!({"parameters": {"algo": algo}, "run_id": run, "max_cost_usd": 1});
        server.post("/runs", &order).expect(201);
    };
    // Two of three fit into the budget of the run.
    begin("paid", "paid");
    does(&home, &["run", "worker", "--run-id", "paid", "--yes"], 4);
    begin("fragile", "fragile");
    does(&home, &["run", "worker", "--run-id", "fragile"], 1);
    begin("broke", "broke");
    does(&home, &["run", "worker", "--run-id", "broke"], 1);
    begin("slow", "slow");
    let words = ["run", "worker", "--run-id", "slow", "--lease-secs", "2"];
    let words = match store {
        Store::Files => &words[..4],
        Store::Postgres => &words[..],
    };
    let worker = home.archi3d(words).spawn();
    let held = |log: &[serde_json::Map<String, Value>]| {
        log.iter().any(|line| {
            line["event"] == "job_started" && line.get("run_id") == Some(&json!("slow"))
        })
    };
    wait_until("it holds a job", || held(&home.log().0));
    let _ = worker.kill();
    let told = || {
        let text = if home.path("told").is_file() {
            String::from_utf8(home.bytes("told")).expect("text")
        } else {
            String::new()
        };
        let lines = text.lines().filter(|line| !line.is_empty());
        let lines = lines.map(|line| serde_json::from_str(line).expect("JSON"));
        lines.collect::<Vec<Value>>()
    };
    let wanted = [
        "budget_80",
        "breaker_open",
        "provider_closed",
        "worker_lost",
    ];
    wait_until("all of it is told", || {
        let told = told();
        let is_told = |kind: &&str| told.iter().any(|one| one["event"] == **kind);
        wanted.iter().all(is_told)
    });
    let algos = server.get("/api/v1/algos").expect(200).json();
    let of = |algo: &str| {
        let mut all = algos["items"].as_array().expect("a list").iter();
        all.find(|one| one["algo"] == algo).expect("it is listed")
    };
    assert!(of("fragile")["paused"].is_object(), "{algos:#}");
    assert_eq!(of("broke")["closed"]["provider"], "broke", "{algos:#}");
    let figures = server.get("/metrics").expect(200).text();
    for line in [
        "archi3d_breaker_open{algo=\"fragile\"} 1",
        "archi3d_breaker_open{algo=\"broke\"} 0",
        "archi3d_provider_open{provider=\"broke\"} 0",
    ] {
        assert!(figures.lines().any(|one| one == line), "{line}: {figures}");
    }
    // Whoever looks again has nothing to tell.
    does(&home, &["run", "worker", "--run-id", "fragile"], 1);
    server.stop();
    other.stop();
    let told = told();
    let of = |kind: &str| {
        let found: Vec<&Value> = told.iter().filter(|one| one["event"] == kind).collect();
        assert_eq!(found.len(), 1, "{kind}: {told:#?}");
        found[0].clone()
    };
    let budget = of("budget_80");
    assert_eq!(
        (&budget["id"], &budget["used_usd"]),
        (&json!("budget_80:run:paid:0.6"), &json!(0.5))
    );
    assert_eq!(of("breaker_open")["name"], "fragile");
    assert_eq!(of("provider_closed")["name"], "broke");
    let lost = of("worker_lost");
    assert_eq!(lost["run_id"], "slow", "{lost}");
    assert_eq!(lost["jobs"].as_array().map(Vec::len), Some(1), "{lost}");
}

fn a_lost_worker_is_told_also_where_its_job_was_taken_over_at_once(store: Store) {
    let Some(home) = store.home() else {
        return;
    };
    home.write("told.sh", b"printf '%s\\n' \"$(cat)\" >> told\n");
    tell(&home, "notify: {command: [sh, told.sh]}\n");
    let server = Server::start(&home, &[]);
    submit(&server, "r1", "slow");
    let seen = || server.get("/runs/r1").expect(200).json()["jobs"].clone();
    let words = ["run", "worker", "--run-id", "r1", "--lease-secs", "2"];
    let words = match store {
        Store::Files => &words[..4],
        Store::Postgres => &words[..],
    };
    let worker = home.archi3d(words).spawn();
    wait_until("it holds a job", || seen()["running"] == 1);
    // Nobody looks while it is dead and still has its job.
    server.stop();
    let _ = worker.kill();
    home.write("go", b"");
    let next = [words, &["--only-status", "enqueued,running"]].concat();
    let made = || {
        let status = home.archi3d(&["run", "status", "r1", "--json"]).run();
        status.expect_code(0).json()["counts"]["completed"] == 1
    };
    wait_until("another one has made it", || {
        let _ = home.archi3d(&next).run();
        made()
    });
    let told = || {
        let path = home.path("told");
        std::fs::read_to_string(path).unwrap_or_default()
    };
    wait_until("it is told", || {
        let _ = home.archi3d(&next).run();
        told().contains("\"worker_lost\"")
    });
    let lines = told();
    let lost = lines.lines().filter(|line| line.contains("worker_lost"));
    let lost: Vec<Value> = lost
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    assert_eq!(lost.len(), 1, "{lines}");
    assert_eq!(lost[0]["run_id"], "r1");
    assert_eq!(lost[0]["jobs"].as_array().map(Vec::len), Some(1), "{lines}");
}

fn a_message_that_a_killed_server_was_sending_is_sent_by_the_next(store: Store) {
    let Some(home) = store.home() else {
        return;
    };
    let receiver = Receiver::start(&[Gets::Silence, Gets::Fine]);
    let settings = format!(
        "notify: {{webhook: \"{}\", secret_env: HOOK_SECRET, timeout_s: 0.5}}\n",
        receiver.url
    );
    tell(&home, &settings);
    let server = Server::start(&home, &["--workers", "1"]);
    submit(&server, "r1", "free");
    wait_until("somebody sends", || !receiver.heard().is_empty());
    server.kill();
    let server = Server::start(&home, &[]);
    wait_until("the next one sends it", || receiver.heard().len() >= 2);
    server.stop();
    let ids: Vec<String> = receiver.heard().into_iter().map(|one| one.id).collect();
    assert!(
        ids.iter().all(|id| id == "run_finished:r1:1/0/0"),
        "{ids:?}"
    );
}

/// Writes settings that tell nobody but those that are named here.
fn tell_only(home: &Home, more: &str) {
    let store = home
        .fleet
        .as_ref()
        .map_or_else(String::new, |fleet| format!("store: \"{}\"\n", fleet.url));
    home.write("config/global.yaml", format!("{store}{more}").as_bytes());
    home.write(".env", format!("HOOK_SECRET={SECRET}\n").as_bytes());
}

fn who_hears_of_events_since_today_hears_of_nothing_that_was_before(store: Store) {
    let Some(home) = store.home() else {
        return;
    };
    let receiver = Receiver::start(&[Gets::Fine]);
    home.write("told.sh", b"printf '%s\\n' \"$(cat)\" >> told\n");
    let command = "command: [sh, told.sh]";
    let hook = format!("webhook: \"{}\", secret_env: HOOK_SECRET", receiver.url);
    let ends = |run: &str| {
        let server = Server::start(&home, &[]);
        let order = json!({"parameters": {"algo": "free", "items": ["100001"]}, "run_id": run, "dedupe": "none"});
        server.post("/runs", &order).expect(201);
        does(&home, &["run", "worker", "--run-id", run], 0);
        server.stop();
    };
    let heard = || -> Vec<String> { receiver.heard().into_iter().map(|one| one.id).collect() };
    // One hears of one kind; the run's end is of another.
    tell_only(
        &home,
        &format!("notify: {{{command}, events: [worker_lost]}}\n"),
    );
    ends("r1");
    // A second target, and a second kind of event for both.
    tell_only(&home, &format!("notify: {{{command}, {hook}}}\n"));
    ends("r2");
    wait_until("the next run is told", || !heard().is_empty());
    // Nobody hears of what ends now, also not later.
    tell_only(&home, "");
    ends("r3");
    tell_only(&home, &format!("notify: {{{hook}}}\n"));
    ends("r4");
    wait_until("the last run is told", || heard().len() >= 2);
    assert_eq!(heard(), ["run_finished:r2:1/0/0", "run_finished:r4:1/0/0"]);
    let told = String::from_utf8(home.bytes("told")).expect("text");
    assert_eq!(told.lines().count(), 1, "{told}");
    assert!(told.contains("run_finished:r2"), "{told}");
}

fn the_job_that_ends_a_run_is_told_to_use_up_its_budget(store: Store) {
    let Some(home) = store.home() else {
        return;
    };
    home.write("told.sh", b"printf '%s\\n' \"$(cat)\" >> told\n");
    tell(&home, "notify: {command: [sh, told.sh]}\n");
    let server = Server::start(&home, &[]);
    let order = json!({"parameters": {"algo": "paid", "items": ["100001"]}, "run_id": "r1", "max_cost_usd": 0.25});
    server.post("/runs", &order).expect(201);
    // Nobody looks between the job and the end of the run.
    server.stop();
    does(&home, &["run", "worker", "--run-id", "r1", "--yes"], 0);
    let told = String::from_utf8(home.bytes("told")).expect("text");
    for kind in ["run_finished:r1", "budget_80:run:r1"] {
        assert_eq!(told.matches(kind).count(), 1, "{told}");
    }
    // Whoever looks again has nothing to tell.
    does(&home, &["run", "worker", "--run-id", "r1", "--yes"], 0);
    assert_eq!(home.bytes("told"), told.as_bytes());
}
