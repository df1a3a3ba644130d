//! One sum of money, asked in three ways: the page of a report, `cost report` and `run status`
//! say the same of every algorithm, to the millionth.

use std::collections::BTreeMap;
use std::fs;

use serde_json::Value;

use crate::support::dataset::{build, plain_products};
use crate::support::{TestWorkspace, fixture};

/// Buys: the first product for its price, the second is billed and fails, the third is void twice.
const MARKET: &str = r#"
import json, pathlib, shutil, sys
request = json.loads(sys.stdin.readline())
root = pathlib.Path(request["workspace"])
def say(event, **fields):
    print(json.dumps({"event": event, **fields}), flush=True)
say("intent"); sys.stdin.readline()
say("submitted", request_id=request["product_id"] + str(request["attempt"]), cost_usd=0.4); sys.stdin.readline()
if request["product_id"] == "100002":
    say("error", **{"class": "bad_input", "message": "422", "request": "void", "billed": "yes", "cost_usd": 0.25})
elif request["product_id"] == "100003" and request["attempt"] < 3:
    say("error", **{"class": "transient", "message": "503", "request": "void"})
else:
    shutil.copy(root / "cube.glb", "generated.glb")
    say("result", success=True, generated_glb="generated.glb", estimated_cost_usd=0.412345)
"#;

const ADAPTERS: &str = "adapters:
  market: {kind: process, command: [python3, market.py], protocol: 2, version: '1', unit_price_usd: 0.4}
  flat: {kind: mock, unit_price_usd: 0.07, fail_first: 1, fail_class: transient}
  doubt: {kind: mock, unit_price_usd: 0.9, fail: always, fail_class: unknown}
  later: {kind: mock, unit_price_usd: 0.5}
  fresh: {kind: mock, unit_price_usd: 0.11}
";

/// What each algorithm cost, in millionths, and what jobs without a row did (under no name).
type Sums = BTreeMap<String, i64>;

fn micros(usd: &Value) -> i64 {
    let micros = usd.as_f64().expect("dollars") * 1e6;
    format!("{micros:.0}").parse().expect("a whole number")
}

fn sums(named: impl Iterator<Item = (String, i64)>) -> Sums {
    named.filter(|(_, sum)| *sum != 0).collect()
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().expect("a list").iter()
}

fn name(value: &Value) -> String {
    let name = value["algo"].as_str().expect("a name");
    name.replace("(not in the registry)", "")
}

/// Asks all three about a run; they must agree.
#[track_caller]
fn agreed(place: &TestWorkspace, run: &str) -> Sums {
    let json = |words: &[&str]| place.archi3d(words).run().expect_code(0).json();
    let _ = json(&["report", "build", run, "--json"]);
    let script = fs::read_to_string(place.path(&format!("reports/{run}/data.js")));
    let script = script.expect("data.js");
    let page = script
        .trim_start_matches("window.archi3dData=")
        .trim_end_matches(";\n");
    let page: Value = serde_json::from_str(page).expect("JSON");
    let cost = json(&["cost", "report", run, "--json"]);
    let status = json(&["run", "status", run, "--json"]);
    let costs = list(&page["costs"]);
    let of_page = sums(costs.map(|one| (name(one), one["spent_micros"].as_i64().expect("whole"))));
    let lines = list(&cost["lines"]);
    let of_report = sums(lines.map(|one| (name(one), micros(&one["billed_usd"]))));
    let elsewhere = micros(&status["money"]["not_registered_usd"]);
    let algos = list(&status["algos"]).map(|one| (name(one), micros(&one["cost_usd"])));
    let of_status = sums(algos.chain([(String::new(), elsewhere)]));
    assert_eq!(of_page, of_report, "page and cost report of {run}");
    assert_eq!(of_page, of_status, "page and run status of {run}");
    let total: i64 = of_page.values().sum();
    assert_eq!(total, micros(&cost["total"]["billed_usd"]));
    assert_eq!(total, micros(&status["money"]["spent_usd"]));
    let open: i64 = list(&page["costs"])
        .filter_map(|one| one["reserved_micros"].as_i64())
        .sum();
    assert_eq!(open, micros(&status["money"]["reserved_usd"]));
    of_page
}

#[test]
fn page_cost_report_and_run_status_agree_on_every_algo_whatever_was_billed() {
    let place = plain_products(3);
    place.write("market.py", MARKET.as_bytes());
    let cube = fs::read(fixture("simulate/cube.glb")).expect("shipped");
    place.write("cube.glb", &cube);
    place.write("config/adapters.yaml", ADAPTERS.as_bytes());
    let _ = build(&place, &[]);
    let run = |words: &[&str], code: i32| drop(place.archi3d(words).run().expect_code(code));
    let create = |run_id, algos| ["batch", "create", "--run-id", run_id, "--algos", algos];
    run(&create("r1", "market,flat,doubt,later"), 0);
    run(&["run", "worker", "r1", "--dry-run", "--algo", "later"], 0);
    let bought = ["--algo", "market,flat,doubt", "--retries", "2", "--yes"];
    run(&[&["run", "worker", "r1"], &bought[..]].concat(), 1);
    let settled = ["--usd", "0.31", "--yes"];
    let open = place.archi3d(&["cost", "report", "r1", "--json"]).run();
    let open = open.json()["ledger"]["open"][0]["job_id"].clone();
    let open = open.as_str().expect("a job in doubt").to_owned();
    run(
        &[&["cost", "settle", "r1", &open], &settled[..]].concat(),
        0,
    );

    let first = agreed(&place, "r1");
    assert_eq!(
        first["market"],
        2 * 412_345 + 250_000,
        "a failure is billed"
    );
    assert_eq!(first["flat"], 3 * 70_000);
    assert_eq!(first["doubt"], 310_000, "as a person said");
    assert!(!first.contains_key("later"), "a rehearsal costs nothing");

    // Copies cost nothing; what is new does.
    run(&create("r2", "market,flat,fresh"), 0);
    run(&["run", "worker", "r2", "--reuse", "--yes"], 0);
    let second = agreed(&place, "r2");
    assert_eq!(second, Sums::from([("fresh".to_owned(), 110_000)]));

    // A row that is gone takes no money with it.
    let table = place.path("tables/generations.csv");
    let text = fs::read_to_string(&table).expect("the table");
    let is_gone = |line: &&str| line.contains("r1,") && line.contains("100002,");
    let kept: Vec<&str> = text.lines().filter(|line| !is_gone(line)).collect();
    fs::write(&table, kept.join("\n") + "\n").expect("written");
    let third = agreed(&place, "r1");
    assert_eq!(third.values().sum::<i64>(), first.values().sum::<i64>());
    assert!(third[""] >= 250_000, "{third:?}");
}
