//! What a real Prometheus makes of the figures: every expression that is shipped finds data.

use std::net::TcpListener;

use serde_json::{Value, json};

use super::{does, workspace};
use crate::support::http::Server;
use crate::support::{Invocation, prometheus, wait_until};

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
    workspace.write("config/global.yaml", b"budget: {run_usd: 5}\n");
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
