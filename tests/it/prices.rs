//! Prices that fal lists: asked for once, kept with their date, between the shipped prices and
//! those that a person wrote.

use serde_json::{Value, json};

use crate::support::doubles::{FAL, KEY, Market, Service, nth};

const FILE: &str = "config/prices.json";

/// An entry whose price nobody wrote down.
const UNPRICED: Service = Service {
    entry: "kind: fal, endpoint: fal-ai/trellis, image_mode: single",
    ..FAL
};

fn refresh(market: &Market) -> Value {
    let words = ["adapters", "prices", "--refresh", "--json"];
    market.command(&words).run().expect_code(0).json()
}

/// Returns what is said of one algorithm's price.
#[track_caller]
fn price(answer: &Value, algo: &str) -> Value {
    let all = answer["prices"].as_array().expect("a list");
    let found = all.iter().find(|entry| entry["algo"] == algo);
    found.expect("the algo is listed").clone()
}

fn plan(market: &Market) -> Value {
    let words = ["run", "plan", "--run-id", "rk", "--json"];
    market.command(&words).run().expect_code(0).json()
}

fn cell(market: &Market, column: &str) -> String {
    let row = market.workspace.row(market.workspace.id(0));
    row.get(column).unwrap_or_default().to_owned()
}

/// Returns the day of a kept price.
fn day(market: &Market) -> String {
    let kept: Value = serde_json::from_slice(&market.workspace.bytes(FILE)).expect("JSON");
    let at = kept["fal"]["fal-ai/trellis"]["fetched_at"].as_str();
    at.expect("a time")[..10].to_owned()
}

/// Makes the kept prices `days` older.
fn age(market: &Market, days: i64) {
    let mut kept: Value = serde_json::from_slice(&market.workspace.bytes(FILE)).expect("JSON");
    let at = chrono::Utc::now() - chrono::TimeDelta::days(days);
    for entry in kept["fal"].as_object_mut().expect("a list").values_mut() {
        entry["fetched_at"] = json!(at.to_rfc3339());
    }
    market.workspace.write(FILE, kept.to_string().as_bytes());
}

#[test]
fn a_listed_price_holds_before_the_shipped_one_and_ones_own_before_both() {
    let market = Market::open(FAL, 1, "");
    market.control(json!({"prices": {
        "fal-ai/trellis": 0.03,
        "fal-ai/hunyuan3d/v2": 0.17,
        "tripo3d/tripo/v2.5/image-to-3d": {"unit_price": 0.011, "unit": "credits"},
        "fal-ai/triposr": {"unit_price": 0.001, "unit": "compute seconds"},
        "fal-ai/hyper3d/rodin": {"currency": "EUR"},
        "fal-ai/trellis-2": 0,
    }}));
    let offline = market
        .keyless(&["adapters", "prices", "--json"])
        .env("ARCHI3D_FAL_API_URL", "http://127.0.0.1:9/v1");
    let before = offline.run().expect_code(0).json();
    assert_eq!(price(&before, "trellis_single")["from"], "shipped");
    assert_eq!(price(&before, "trellis_single")["age_s"], Value::Null);
    assert!(!market.workspace.path(FILE).exists());

    let words = ["adapters", "prices", "--refresh", "--json"];
    let output = market.command(&words).run().expect_code(0);
    let now = output.json();
    let source = format!("fal api {}", day(&market));
    for (algo, usd, listed) in [
        ("trellis_single", 0.03, true),
        ("hunyuan3d_v2_single", 0.51, true),
        ("tripo3d_v2p5_single", 0.44, true),
        // Nobody says how many seconds, or what the money is worth; nothing is not a price.
        ("tripoSR_single", 0.07, false),
        ("rodin_multi", 0.4, false),
        ("trellis2_single", 0.3, false),
        // A person's own, and services that tell no prices.
        ("made_single", 0.02, false),
        ("tripo_direct_single", 0.3, false),
        ("relief", 0.0, false),
    ] {
        let entry = price(&now, algo);
        assert_eq!(entry["unit_price_usd"], usd, "{entry}");
        assert_eq!(entry["price_source"] == source.as_str(), listed, "{entry}");
        assert_eq!(entry["age_s"].is_u64(), listed, "{entry}");
    }
    let own = price(&now, "made_single");
    assert_eq!(own["from"], "config/adapters.yaml");
    assert!(own["note"].to_string().contains("own price holds"), "{own}");
    assert_eq!(price(&now, "tripo_direct_single")["has_price_list"], false);
    assert_eq!(now["refreshed"][0]["unlisted"], json!(["fal-ai/trellis-2"]));
    let changed = now["changed"].to_string();
    assert!(changed.contains(r#""algo":"trellis_single""#), "{changed}");
    let shown = market.command(&["adapters", "prices"]).run().expect_code(0);
    let shown = shown.expect_stdout("no price list");
    let shown = shown.expect_stdout("0.17 × 3 (generations)");
    let shown = shown.expect_stdout("`units` in its entry would say");
    let show = market.command(&["config", "show"]).run().expect_code(0);
    let line = show.stdout.lines();
    let mut line = line.filter(|line| line.contains("adapters.trellis_single.unit_price_usd"));
    let line = line.next().expect("a line");
    assert!(
        line.contains("0.03") && line.contains("prices.json"),
        "{line}"
    );
    market.expect_no_key(&[&output, &shown, &show]);
}

#[test]
fn a_plan_says_how_old_its_prices_are_and_a_worker_books_at_them() {
    let market = Market::open(UNPRICED, 2, "");
    assert_eq!(plan(&market)["cost"]["unknown_price_jobs"], 2);
    assert_eq!(plan(&market)["listed_prices"], Value::Null);
    market.control(json!({"prices": {"fal-ai/trellis": 0.03}}));
    let _ = refresh(&market);
    age(&market, 10);
    let planned = plan(&market);
    assert_eq!(planned["cost"]["expected_usd"], 0.06);
    assert_eq!(planned["listed_prices"]["algos"], json!(["made_single"]));
    let seconds = planned["listed_prices"]["age_s"].as_u64().expect("an age");
    assert!((864_000..864_600).contains(&seconds), "{seconds}");
    let words = ["run", "plan", "--run-id", "rk"];
    let text = market.command(&words).run().expect_code(0);
    let _ = text.expect_stdout("prices of fal api, 10 days old: made_single");
    let _ = market.worker(&[]).run().expect_code(0);
    market.expect_all_made(2, 2, 2);
    assert_eq!(cell(&market, "unit_price_usd"), "0.03");
    assert_eq!(cell(&market, "estimated_cost_usd"), "0.03");
    let source = format!("fal X-Fal-Billable-Units, fal api {}", day(&market));
    assert_eq!(cell(&market, "price_source"), source);
}

#[test]
fn what_was_billed_is_known_by_the_listed_unit_even_where_an_estimate_is_not() {
    let market = Market::open(UNPRICED, 1, "");
    let credits = json!({"unit_price": 0.01, "unit": "credits"});
    market.control(json!({"units": 40, "prices": {"fal-ai/trellis": credits}}));
    let _ = refresh(&market);
    assert_eq!(plan(&market)["cost"]["unknown_price_jobs"], 1);
    assert_eq!(plan(&market)["listed_prices"], Value::Null);
    let _ = market.worker(&[]).run().expect_code(0);
    assert_eq!(cell(&market, "estimated_cost_usd"), "0.4");
}

#[test]
fn a_question_that_brings_no_prices_changes_nothing() {
    let market = Market::open(UNPRICED, 1, "");
    market.control(json!({"prices": {"fal-ai/trellis": 0.03}}));
    let _ = refresh(&market);
    let kept = market.workspace.bytes(FILE);
    let words = ["adapters", "prices", "--refresh"];
    for (fault, told) in [
        ("status:503", "fal answered 503"),
        ("reset", "fal cannot be asked"),
        ("garbage", "no list of prices"),
        ("html", "no list of prices"),
        ("empty", "no list of prices"),
    ] {
        market.control(json!({"faults": [{"call": "pricing", "do": fault}]}));
        let output = market.command(&words).run().expect_code(2);
        assert!(output.stderr.contains("no price was changed"), "{output}");
        assert!(output.stderr.contains(told), "{fault}: {output}");
    }
    market.control(json!({}));
    let keyless = market.keyless(&words).run().expect_code(2);
    let _ = keyless.expect_stderr("FAL_KEY is not set");
    let wrong = market
        .command(&words)
        .env("FAL_KEY", "another-key-entirely");
    let _ = wrong
        .run()
        .expect_code(2)
        .expect_stderr("does not take the key");
    let nobody = market.command(&words);
    let nobody = nobody.env("ARCHI3D_FAL_API_URL", "http://127.0.0.1:9/v1");
    let nobody = nobody.run().expect_code(2);
    assert!(nobody.stderr.contains("fal cannot be asked"), "{nobody}");
    assert_eq!(market.workspace.bytes(FILE), kept);
    market.expect_no_key(&[&nobody]);
    // What passes by itself is waited for.
    market.control(json!({"faults": [nth("pricing", &[1, 2], "status:503")]}));
    let _ = refresh(&market);
}

#[cfg(unix)]
#[test]
fn prices_are_not_written_through_a_link_that_leads_out_of_the_workspace() {
    let market = Market::open(UNPRICED, 1, "");
    let outside = market.workspace.outside().join("config");
    std::fs::rename(market.workspace.path("config"), &outside).expect("moved");
    let link = market.workspace.path("config");
    std::os::unix::fs::symlink(&outside, link).expect("linked");
    let words = ["adapters", "prices", "--refresh"];
    let output = market.command(&words).run().expect_code(2);
    let _ = output.expect_stderr("a link leads out of the workspace");
    assert!(!outside.join("prices.json").exists());
    assert_eq!(market.count("priced"), 0);
}

#[test]
fn many_models_are_asked_for_in_turns_and_one_that_fal_does_not_know_spoils_none() {
    let market = Market::open(UNPRICED, 1, "");
    let mut entries = String::from("adapters:\n");
    for number in 0..120 {
        let entry = format!("  m{number}: {{kind: fal, endpoint: fal-ai/m{number}}}\n");
        entries.push_str(&entry);
    }
    market
        .workspace
        .write("config/adapters.yaml", entries.as_bytes());
    market.control(json!({"page": 20, "prices": {"fal-ai/m7": null, "fal-ai/m99": null}}));
    let answer = refresh(&market);
    assert_eq!(
        answer["refreshed"][0]["unlisted"],
        json!(["fal-ai/m7", "fal-ai/m99"])
    );
    assert_eq!(price(&answer, "m8")["unit_price_usd"], 0.02);
    assert_eq!(price(&answer, "m7")["unit_price_usd"], Value::Null);
    let ledger = market.ledger();
    let most = ledger.iter().filter_map(|line| line["ids"].as_u64()).max();
    assert_eq!(most, Some(50));
    assert!(!ledger.iter().any(|line| line.to_string().contains(KEY)));
    // What fal has listed once stays, with its date, when it lists it no more.
    let named = market.workspace.bytes(FILE);
    market.control(json!({"prices": {"fal-ai/m8": null}}));
    let answer = refresh(&market);
    assert_eq!(price(&answer, "m8")["unit_price_usd"], 0.02);
    assert_ne!(market.workspace.bytes(FILE), named);
}

#[test]
fn a_spoilt_list_is_told_and_not_used_and_the_next_question_makes_it_anew() {
    for text in [
        "",
        "{\"fal\": ",
        "[]",
        r#"{"fal": {"fal-ai/trellis": {"unit_price": -3, "unit": "generations", "currency": "USD",
            "fetched_at": "2026-11-17T10:00:00+00:00", "source": "fal api"}}}"#,
    ] {
        let market = Market::open(UNPRICED, 1, "");
        market.workspace.write(FILE, text.as_bytes());
        let words = ["run", "plan", "--run-id", "rk", "--json"];
        let planned = market.command(&words).run().expect_code(0);
        let _ = planned.expect_stderr("adapters prices --refresh");
        assert_eq!(plan(&market)["cost"]["unknown_price_jobs"], 1, "{text}");
        let _ = refresh(&market);
        assert_eq!(plan(&market)["cost"]["expected_usd"], 0.02, "{text}");
    }
}
