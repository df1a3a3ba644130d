//! Traces: a collector sees what a request led to, across the server, the worker and the program that made the model;
//! one that is away holds nothing up.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use archi3d_core::domain::text::hex;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::{KeyValue, any_value::Value as Any};
use prost::Message as _;
use serde_json::{Value, json};

use super::{ADAPTERS, Home, Store, does, workspace};
use crate::support::http::Server;
use crate::support::{Invocation, fixture};

on_both_stores!(a_collector_sees_one_story_from_the_request_to_the_program_that_made_the_model);

const KEY: &str = "hush-hush-for-the-collector";

/// The span of somebody who sends a request.
const CALLER: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

/// Notes where it was started; where a collector is named it is told of a span of the program's own.
const PROGRAM: &str = r#"
import json, os, shutil, urllib.request
place = os.environ.get("TRACEPARENT", "")
with open(os.environ["ARCHI3D_WORKSPACE"] + "/seen", "a") as file:
    file.write(place + "\n")
print(json.dumps({"event": "submitted", "request_id": "req-1"}), flush=True)
print(json.dumps({"event": "progress", "fraction": 0.5, "message": "hush-hush"}), flush=True)
if os.environ.get("COLLECTOR"):
    _, trace, span, _ = place.split("-")
    own = {"traceId": trace, "spanId": "00000000000000aa", "parentSpanId": span, "name": "model"}
    body = json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [own]}]}]}).encode()
    request = urllib.request.Request(os.environ["COLLECTOR"] + "/v1/traces", body, {"Content-Type": "application/json"})
    urllib.request.urlopen(request)
shutil.copy(os.environ["ARCHI3D_WORKSPACE"] + "/cube.glb", "generated.glb")
print(json.dumps({"event": "result", "success": True, "estimated_cost_usd": 0.25}), flush=True)
"#;

/// A span, as it arrived.
#[derive(Debug, Clone, Default)]
struct Span {
    name: String,
    service: Value,
    trace: String,
    id: String,
    parent: String,
    links: Vec<(String, String)>,
    about: BTreeMap<String, Value>,
    events: Vec<(String, BTreeMap<String, Value>)>,
    took: u64,
}

/// A collector that takes what is sent by OTLP over HTTP.
struct Collector {
    url: String,
    spans: Arc<Mutex<Vec<Span>>>,
    /// What requests had as `authorization`.
    keys: Arc<Mutex<Vec<String>>>,
}

impl Collector {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("bound"));
        let collector = Self {
            url,
            spans: Arc::default(),
            keys: Arc::default(),
        };
        let (spans, keys) = (Arc::clone(&collector.spans), Arc::clone(&collector.keys));
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let Some((headers, body)) = read(&stream) else {
                    continue;
                };
                assert_eq!(headers["path"], "/v1/traces");
                let came = match headers["content-type"].as_str() {
                    "application/x-protobuf" => of_protobuf(&body),
                    _ => of_json(&body),
                };
                spans.lock().expect("no panic").extend(came);
                let key = headers.get("authorization").cloned();
                keys.lock().expect("no panic").extend(key);
                let said = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
                let _ = stream.write_all(said.as_bytes());
            }
        });
        collector
    }

    fn spans(&self) -> Vec<Span> {
        self.spans.lock().expect("no panic").clone()
    }

    /// The variables with which programs are told of it.
    fn variables(&self) -> Vec<(&'static str, String)> {
        vec![
            ("OTEL_EXPORTER_OTLP_ENDPOINT", self.url.clone()),
            (
                "OTEL_EXPORTER_OTLP_HEADERS",
                format!("authorization=Bearer%20{KEY}"),
            ),
            ("OTEL_BSP_SCHEDULE_DELAY", "50".to_owned()),
            ("COLLECTOR", self.url.clone()),
        ]
    }
}

fn read(stream: &TcpStream) -> Option<(BTreeMap<String, String>, Vec<u8>)> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let path = line.split(' ').nth(1)?.to_owned();
    let mut headers = BTreeMap::from([("path".to_owned(), path)]);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(": ") else {
            break;
        };
        headers.insert(name.to_lowercase(), value.to_owned());
    }
    let mut body = vec![0; headers.get("content-length")?.parse().ok()?];
    reader.read_exact(&mut body).ok()?;
    Some((headers, body))
}

fn of_protobuf(body: &[u8]) -> Vec<Span> {
    let request = ExportTraceServiceRequest::decode(body).expect("the standard's own form");
    let mut spans = Vec::new();
    for of_resource in request.resource_spans {
        let resource = about(of_resource.resource.map(|one| one.attributes));
        for span in of_resource
            .scope_spans
            .into_iter()
            .flat_map(|one| one.spans)
        {
            let links = span.links.iter();
            let events = span.events.into_iter();
            spans.push(Span {
                name: span.name,
                service: resource["service.name"].clone(),
                trace: hex(&span.trace_id),
                id: hex(&span.span_id),
                parent: hex(&span.parent_span_id),
                links: links
                    .map(|link| (hex(&link.trace_id), hex(&link.span_id)))
                    .collect(),
                about: about(Some(span.attributes)),
                events: events
                    .map(|event| (event.name, about(Some(event.attributes))))
                    .collect(),
                took: span.end_time_unix_nano - span.start_time_unix_nano,
            });
        }
    }
    spans
}

fn about(attributes: Option<Vec<KeyValue>>) -> BTreeMap<String, Value> {
    let attributes = attributes.into_iter().flatten();
    let read = attributes.map(|one| {
        let value = match one.value.and_then(|value| value.value) {
            Some(Any::StringValue(text)) => json!(text),
            Some(Any::IntValue(number)) => json!(number),
            Some(Any::DoubleValue(number)) => json!(number),
            Some(Any::BoolValue(flag)) => json!(flag),
            _ => Value::Null,
        };
        (one.key, value)
    });
    read.collect()
}

fn of_json(body: &[u8]) -> Vec<Span> {
    let body: Value = serde_json::from_slice(body).expect("JSON");
    let span = &body["resourceSpans"][0]["scopeSpans"][0]["spans"][0];
    let text = |name: &str| span[name].as_str().expect("a text").to_owned();
    vec![Span {
        name: text("name"),
        trace: text("traceId"),
        id: text("spanId"),
        parent: text("parentSpanId"),
        ..Span::default()
    }]
}

/// Adds a program that notes where it was started.
fn with_program(home: &Home) {
    let entry = "  traced:\n    kind: process\n    command: [python3, traced.py]\n    env: [COLLECTOR]\n    unit_price_usd: 0.25\n";
    home.write(
        "config/adapters.yaml",
        format!("{ADAPTERS}{entry}").as_bytes(),
    );
    home.write("traced.py", PROGRAM.as_bytes());
    let cube = std::fs::read(fixture("simulate/cube.glb")).expect("shipped");
    home.write("cube.glb", &cube);
}

fn with(invocation: Invocation, variables: &[(&'static str, String)]) -> Invocation {
    let variables = variables.iter();
    variables.fold(invocation, |made, (name, value)| made.env(name, value))
}

fn a_collector_sees_one_story_from_the_request_to_the_program_that_made_the_model(store: Store) {
    let Some(home) = store.home() else {
        return;
    };
    with_program(&home);
    let collector = Collector::start();
    let server = Server::start_with(&home, &[], &collector.variables());
    let token = format!("Bearer {}", server.token);
    let headers = [("Authorization", token.as_str()), ("traceparent", CALLER)];
    let order = json!({"parameters": {"algo": "traced", "items": ["100001"]}, "run_id": "r1", "max_cost_usd": 1});
    let order = order.to_string();
    let posted = server.send("POST", "/runs", &headers, order.as_bytes());
    posted.expect(201);
    let worker = home.archi3d(&["run", "worker", "--run-id", "r1", "--yes"]);
    let said = with(worker, &collector.variables()).run().expect_code(0);
    server.get("/runs/r1").expect(200);
    server.stop();
    let spans = collector.spans();
    let only = |name: &str| {
        let found: Vec<&Span> = spans.iter().filter(|span| span.name == name).collect();
        assert_eq!(found.len(), 1, "{name}: {spans:#?}");
        found[0].clone()
    };
    let below = |name: &str, parent: &Span| {
        let span = only(name);
        assert_eq!(
            (&span.trace, &span.parent),
            (&parent.trace, &parent.id),
            "{name}"
        );
        span
    };

    let asked = only("POST /runs");
    let caller: Vec<&str> = CALLER.split('-').collect();
    assert_eq!(
        (asked.trace.as_str(), asked.parent.as_str()),
        (caller[1], caller[2])
    );
    assert_eq!(asked.about["http.response.status_code"], 201);
    assert_eq!(asked.service, "archi3d");
    below("plan", &asked);
    let only_looked = spans.iter().any(|span| span.name.starts_with("GET"));
    assert!(!only_looked, "{spans:#?}");

    let job = only("job");
    assert_eq!(job.links, [(asked.trace, asked.id)]);
    assert_eq!(job.parent, "", "a trace of its own");
    let log = home.log();
    let worker_id = &log.events("worker_started")[0]["worker_id"];
    let job_id = &log.events("job_started")[0]["job_id"];
    let expected = json!({"run_id": "r1", "job_id": job_id, "attempt": 1, "algo": "traced", "entry": "fresh",
        "worker_id": worker_id, "outcome": "completed", "cost_usd": 0.25});
    assert_eq!(json!(job.about), expected);
    for child in ["claim", "reserve", "check", "publish"] {
        let child = below(child, &job);
        assert!(child.took <= job.took, "{child:?}");
    }
    if store == Store::Files {
        below("fold", &job);
    }
    let generate = below("generate", &job);
    let events: Vec<(&str, Value)> = generate
        .events
        .iter()
        .map(|(name, about)| (name.as_str(), json!(about)))
        .collect();
    let expected = [
        ("submitted", json!({"request_id": "req-1"})),
        ("progress", json!({"fraction": 0.5})),
    ];
    assert_eq!(events, expected);
    below("model", &generate);
    assert_eq!(only("sweep").about["run_id"], "r1");

    for event in ["job_started", "job_completed"] {
        let line = log.events(event)[0];
        let told =
            json!({"trace_id": job.trace, "run_id": "r1", "worker_id": worker_id, "attempt": 1});
        for (name, value) in told.as_object().expect("an object") {
            assert_eq!(line.get(name), Some(value), "{line:?}");
        }
    }
    assert!(!log.summary().contains_key("trace_id"), "it is of no job");
    let served = String::from_utf8(home.bytes("logs/serve.log")).expect("text");
    assert!(
        served.contains(&format!("\"trace_id\":\"{}\"", caller[1])),
        "{served}"
    );
    let keys = collector.keys.lock().expect("no panic").clone();
    assert!(
        keys.iter().any(|key| *key == format!("Bearer {KEY}")),
        "{keys:?}"
    );
    let told = format!("{spans:?}{}{}{served}", said.stdout, said.stderr);
    assert!(!told.contains(KEY), "keys stay here");
    assert!(
        !format!("{spans:?}").contains("hush-hush"),
        "and what programs say"
    );
}

#[test]
fn a_collector_that_is_away_or_hangs_holds_nothing_up_and_is_told_once() {
    let free = TcpListener::bind("127.0.0.1:0").expect("a port");
    let gone = free.local_addr().expect("bound").to_string();
    drop(free);
    // Takes connections and never answers.
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
    let hangs = silent.local_addr().expect("bound").to_string();
    for (address, told) in [(gone, 1), (hangs, 0)] {
        let workspace = workspace();
        does(
            &workspace,
            &["batch", "create", "--run-id", "r1", "--algos", "free"],
            0,
        );
        let variables = [
            (
                "OTEL_EXPORTER_OTLP_ENDPOINT",
                format!("http://me:{KEY}@{address}"),
            ),
            ("OTEL_EXPORTER_OTLP_HEADERS", format!("authorization={KEY}")),
            ("OTEL_BSP_SCHEDULE_DELAY", "1".to_owned()),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "30000".to_owned()),
        ];
        let began = Instant::now();
        let worker = workspace.archi3d(&["run", "worker", "--run-id", "r1"]);
        let said = with(worker, &variables).run().expect_code(0);
        assert!(began.elapsed() < Duration::from_secs(20), "{said}");
        assert_eq!(workspace.registry().count("completed"), 3);
        assert_eq!(
            said.stderr.matches("traces are incomplete").count(),
            told,
            "{said}"
        );
        assert!(!said.stderr.contains(KEY), "{said}");
    }
}

#[test]
fn without_a_collector_programs_go_on_in_the_trace_that_led_to_them_or_in_none() {
    let home = Store::Files.home().expect("files are always there");
    with_program(&home);
    let server = Server::start(&home, &[]);
    let token = format!("Bearer {}", server.token);
    let submit = |run: &str, item: &str, more: &[(&str, &str)]| {
        let body = json!({"parameters": {"algo": "traced", "items": [item]}, "run_id": run, "max_cost_usd": 1});
        let headers = [&[("Authorization", token.as_str())], more].concat();
        let posted = server.send("POST", "/runs", &headers, body.to_string().as_bytes());
        posted.expect(201);
    };
    submit("asked", "100001", &[("traceparent", CALLER)]);
    submit("plain", "100002", &[("traceparent", "no such thing")]);
    submit("given", "100003", &[("traceparent", CALLER)]);
    let given = CALLER.replace("4bf9", "aaaa");
    let work = |run: &str, place: &str| {
        let worker = home.archi3d(&["run", "worker", "--run-id", run, "--yes"]);
        let variables = [
            ("TRACEPARENT", place.to_owned()),
            ("COLLECTOR", String::new()),
        ];
        let _ = with(worker, &variables).run().expect_code(0);
        let seen = String::from_utf8(home.bytes("seen")).expect("text");
        let log = home.log();
        let ended = log.events("job_completed");
        let traced = ended.last().expect("it ended").get("trace_id").cloned();
        (seen.lines().last().expect("it ran").to_owned(), traced)
    };
    assert_eq!(work("plain", ""), (String::new(), None));
    let trace = |place: &str| Some(json!(place.split('-').nth(1)));
    assert_eq!(work("asked", ""), (CALLER.to_owned(), trace(CALLER)));
    assert_eq!(work("given", &given), (given.clone(), trace(&given)));
}
