//! What a real Prometheus makes of the figures: every expression that is shipped finds data.

use std::net::TcpListener;

use serde_json::{Value, json};

use super::{ADAPTERS, Store, does, workspace};
use crate::support::http::Server;
use crate::support::{Invocation, prometheus, wait_until};

on_both_stores!(jobs_in_doubt_and_jobs_of_dead_workers_are_counted);

fn figures(server: &Server) -> String {
    server.get("/metrics").expect(200).text()
}

fn jobs_in_doubt_and_jobs_of_dead_workers_are_counted(store: Store) {
    let Some(home) = store.home() else {
        return;
    };
    let entry = "  dubious:\n    kind: mock\n    image_mode: single\n    unit_price_usd: 0.25\n    fail: nobody knows\n    fail_class: unknown\n";
    home.write(
        "config/adapters.yaml",
        format!("{ADAPTERS}{entry}").as_bytes(),
    );
    let server = Server::start(&home, &[]);
    for (run, algo) in [("r1", "dubious"), ("r2", "slow")] {
        let order = json!({"parameters": {"algo": algo, "items": ["100001"]}, "run_id": run, "max_cost_usd": 1});
        server.post("/runs", &order).expect(201);
    }
    does(&home, &["run", "worker", "--run-id", "r1", "--yes"], 1);
    let words = ["run", "worker", "--run-id", "r2"];
    // The lease of a dead worker runs out soon where nobody can look whether it lives.
    let short = ["--lease-secs", "2", "--only-status", "enqueued,running"];
    let words = match store {
        Store::Files => [&words[..], &short[2..]].concat(),
        Store::Postgres => [&words[..], &short[..]].concat(),
    };
    let worker = home.archi3d(&words).spawn();
    home.wait_for_events("job_started", 2);
    let _ = worker.kill();
    home.write("go", b"");
    wait_until("another worker goes on", || {
        let _ = home.archi3d(&words).run();
        let run = server.get("/runs/r2").expect(200).json();
        run["status"] == "completed"
    });
    let text = figures(&server);
    for line in [
        "archi3d_unsure_jobs{algo=\"dubious\"} 1",
        "archi3d_unsure_jobs{algo=\"slow\"} 0",
        "archi3d_recovered_jobs_total{outcome=\"requeued\"} 1",
        "archi3d_recovered_jobs_total{outcome=\"failed\"} 0",
        "archi3d_fold_lag_seconds 0",
        "archi3d_last_completion_timestamp_seconds{run=\"r2\"} ",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    assert!(
        !text.contains("completion_timestamp_seconds{run=\"r1\"}"),
        "{text}"
    );
}

#[test]
fn for_how_long_the_registry_has_been_behind_is_told() {
    let workspace = workspace();
    let create = ["batch", "create", "--run-id", "r1", "--algos", "slow"];
    does(&workspace, &create, 0);
    let server = Server::start(&workspace, &[]);
    let worker = workspace.archi3d(&["run", "worker", "--run-id", "r1"]);
    let worker = worker.spawn();
    workspace.wait_for_events("job_started", 1);
    let lock = std::fs::File::create(workspace.path("tables/generations.lock")).expect("ours");
    lock.lock().expect("a fold is short");
    workspace.write("go", b"");
    workspace.wait_for_events("job_completed", 3);
    let text = figures(&server);
    let lag = text
        .lines()
        .find_map(|line| line.strip_prefix("archi3d_fold_lag_seconds "));
    let lag: f64 = lag.expect("told").parse().expect("a number");
    assert!(lag > 0.0, "{text}");
    drop(lock);
    let _ = worker.wait().expect_code(0);
}

fn of_repository(path: &str) -> String {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    std::fs::read_to_string(path).expect("it is shipped")
}

/// Collects every expression of a dashboard.
fn expressions(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(map) => {
            found.extend(map.get("expr").and_then(Value::as_str).map(str::to_owned));
            map.values().for_each(|inner| expressions(inner, found));
        }
        Value::Array(list) => list.iter().for_each(|inner| expressions(inner, found)),
        _ => {}
    }
}

#[test]
fn a_real_prometheus_finds_data_for_every_expression_that_is_shipped() {
    let Some(folder) = prometheus() else {
        return;
    };
    let program = |name: &str| folder.join(name);
    let workspace = workspace();
    workspace.write("config/global.yaml", b"budget: {run_usd: 5, day_usd: 5}\n");
    let server = Server::start(&workspace, &["--metrics-open"]);
    let order = json!({"parameters": {"algos": ["free", "paid", "broken"]}, "run_id": "r1", "max_cost_usd": 2});
    server.post("/runs", &order).expect(201);
    does(&workspace, &["run", "worker", "--run-id", "r1", "--yes"], 1);
    workspace.write("metrics.txt", &server.get("/metrics").expect(200).body);
    let text = workspace.path("metrics.txt");
    let check = format!(
        "{} check metrics < {}",
        program("promtool").display(),
        text.display()
    );
    let said = Invocation::program(std::path::Path::new("sh"), ["-c", check.as_str()]).run();
    let _ = said.expect_code(0);
    let rules =
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("deploy/prometheus/alerts.yml");
    let rules = rules.to_str().expect("plain");
    let said = Invocation::program(&program("promtool"), ["check", "rules", rules]).run();
    let _ = said.expect_code(0);

    let settings = format!(
        "global: {{scrape_interval: 1s}}\nscrape_configs: [{{job_name: a, static_configs: [{{targets: [\"{}\"]}}]}}]\n",
        server.address
    );
    workspace.write("prometheus.yml", settings.as_bytes());
    let free = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = free.local_addr().expect("bound").to_string();
    drop(free);
    let path = |name: &str| workspace.path(name).to_str().expect("plain").to_owned();
    let options = [
        format!("--config.file={}", path("prometheus.yml")),
        format!("--storage.tsdb.path={}", path("prometheus-data")),
        format!("--web.listen-address={address}"),
    ];
    let running = Invocation::program(&program("prometheus"), options).spawn();
    let url = format!("http://{address}");
    let asked = |expression: &str| {
        let words = ["query", "instant", url.as_str(), expression];
        let said = Invocation::program(&program("promtool"), words).run();
        said.code() == Some(0) && !said.stdout.trim().is_empty()
    };
    wait_until("it is scraped", || asked("archi3d_attempts_total"));
    // Rates are of what happens while somebody looks.
    let create = ["batch", "create", "--run-id", "r2", "--algos", "broken"];
    does(&workspace, &create, 0);
    does(&workspace, &["run", "worker", "--run-id", "r2"], 1);
    let mut shown = Vec::new();
    let dashboard = of_repository("deploy/grafana/archi3d.json");
    expressions(&serde_json::from_str(&dashboard).expect("JSON"), &mut shown);
    assert!(shown.len() > 15, "{shown:?}");
    for expression in shown {
        let expression = expression.replace("$run", ".*").replace("$algo", ".*");
        wait_until(&expression, || asked(&expression));
    }
    // Alerts are silent while all is well: with thresholds that everything passes they must find what they judge.
    let alerts = of_repository("deploy/prometheus/alerts.yml");
    let alerts = alerts
        .lines()
        .filter_map(|line| line.trim().strip_prefix("expr: "));
    for alert in alerts {
        let passed = alert
            .replace("> 0 and", ">= 0 and")
            // Here some were completed.
            .replace("> 0 unless", ">= 0 and")
            .replace("_jobs) > 0", "_jobs) >= 0")
            .replace("> 60", ">= 0")
            .replace("> 3 *", "> -1 *")
            .replace("> 0.2", ">= 0")
            .replace("0.8 *", "-1 *")
            .replace("== 0", ">= 0")
            .replace("> 120", ">= 0")
            .replace("< 5e9", "> 0");
        assert_ne!(passed, alert, "a threshold that the test does not know");
        wait_until(&passed, || asked(&passed));
    }
    let _ = running.kill();
}
