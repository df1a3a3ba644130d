//! What goes wrong between an order and its model at a service, and what is said of it: young
//! requests, keys that are refused, files that are gone, orders that were cancelled or refused late.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::support::binary::Output;
use crate::support::doubles::{FAL, KEY, Market, REPLICATE, TRIPO, nth};
use crate::support::wait_until;

const AGAIN: [&str; 2] = ["--only-status", "failed"];

fn cell(market: &Market, column: &str) -> String {
    let row = market.workspace.row(market.workspace.id(0));
    row.get(column).unwrap_or_default().to_owned()
}

/// What is reserved for jobs that are not over, in dollars.
fn reserved(market: &Market) -> f64 {
    let words = ["run", "status", "--run-id", "rk", "--json"];
    let told = market.command(&words).run().expect_code(0).json();
    told["money"]["reserved_usd"].as_f64().unwrap_or_default()
}

fn billed(market: &Market) -> f64 {
    let words = ["cost", "report", "--json"];
    let told = market.command(&words).run().expect_code(0).json();
    told["ledger"]["spent_usd"].as_f64().unwrap_or_default()
}

/// Demands that nothing failed and nothing was bought, and that the variable is named.
#[track_caller]
fn expect_denied(market: &Market, output: &Output, jobs: usize) {
    assert_eq!(market.statuses(), [("enqueued".to_owned(), jobs)].into());
    assert_eq!(market.count("accepted"), 0);
    assert!(output.stderr.contains(market.service.key), "{output}");
    assert!(!output.stderr.contains("{\""), "a sentence: {output}");
    market.expect_no_key(&[output]);
}

#[test]
fn the_first_pause_between_polls_shortens_no_look_for_an_order() {
    let market = Market::open(FAL, 1, "");
    market.control(json!({"faults": [
        nth("submit", &[1], "reset_after"),
        nth("history", &[1, 2], "hold"),
    ], "history_s": 0.0}));
    let worker = market.worker(&[]).env("ARCHI3D_HTTP_DOUBT_S", "900");
    let running = worker.env("ARCHI3D_HTTP_TIMEOUT_S", "60").spawn();
    market.wait_for("history");
    market.control(json!({"faults": [nth("history", &[2], "hold")], "history": "empty"}));
    let first = Instant::now();
    market.let_go("history");
    market.wait_for("history");
    assert!(
        first.elapsed() >= Duration::from_secs(3),
        "looked again at once"
    );
    market.control(json!({"history_s": 0.0}));
    market.let_go("history");
    let _ = running.wait().expect_code(0);
    market.expect_all_made(1, 1, 1);
}

#[test]
fn a_plain_start_asks_the_provider_before_it_asks_a_person() {
    for (service, words) in [(FAL, &[][..]), (REPLICATE, &AGAIN)] {
        let market = Market::open(service, 2, "");
        // Taken, and not listed while the first worker looks.
        market.control(json!({"faults": [nth("submit", &[1], "reset_after")], "history_s": 600}));
        let _ = market.worker(&[]).run().expect_code(1);
        let plan = ["run", "plan", "--run-id", "rk", "--json"];
        let plan = market.command(&plan).run().expect_code(0).json();
        assert_eq!(plan["counts"]["re-attach"], 1, "{plan}");
        let explain = ["run", "explain", "--run-id", "rk", market.workspace.id(0)];
        let _ = market
            .command(&explain)
            .run()
            .expect_code(0)
            .expect_stdout("ask the provider for its result");
        // Still not listed: a person is asked, and nothing is bought.
        let output = market.worker(words).run().expect_code(1);
        assert!(output.stderr.contains("does not list it"), "{output}");
        assert_eq!(market.count("accepted"), 2, "{service:?}");
        market.control(json!({"history_s": 0.0}));
        let _ = market.worker(words).run().expect_code(0);
        market.expect_all_made(2, 2, 2);
    }
}

#[test]
fn looks_that_find_nothing_do_not_pause_an_algorithm() {
    let market = Market::open(FAL, 8, ", breaker_failures: 20");
    market.control(json!({"faults": [{"call": "submit", "first": 6, "do": "reset"}]}));
    let _ = market.worker(&[]).run().expect_code(1);
    assert_eq!(market.count("accepted"), 2);
    let entry = format!("adapters:\n  made_single: {{{}}}\n", FAL.entry);
    market
        .workspace
        .write("config/adapters.yaml", entry.as_bytes());
    let output = market.worker(&["--max-parallel", "1"]).run().expect_code(1);
    assert!(!output.stderr.contains("paused"), "{output}");
    assert_eq!(market.count("accepted"), 2);
}

#[test]
fn a_request_that_is_not_known_yet_is_asked_for_again() {
    for (service, calls) in [
        (FAL, &["status", "result"][..]),
        (TRIPO, &["poll"]),
        (REPLICATE, &["poll"]),
    ] {
        let market = Market::open(service, 1, "");
        let faults: Vec<_> = calls
            .iter()
            .map(|call| nth(call, &[1, 2, 3], "json:404"))
            .collect();
        market.control(json!({"faults": faults, "history_s": 600}));
        let _ = market.worker(&["--retries", "0"]).run().expect_code(0);
        market.expect_all_made(1, 1, 1);
    }
}

#[test]
fn a_status_that_is_gone_is_no_word_about_the_result() {
    let market = Market::open(FAL, 1, "");
    market.control(json!({"faults": [{"call": "status", "do": "json:404"}], "history_s": 600}));
    let _ = market.worker(&["--retries", "0"]).run().expect_code(0);
    market.expect_all_made(1, 1, 1);
}

#[test]
fn a_key_that_is_refused_in_mid_run_can_be_replaced_in_mid_run() {
    let market = Market::open(FAL, 1, "");
    let set = |key: &str| {
        let text = format!("FAL_KEY={key}\n");
        market.workspace.write(".env", text.as_bytes());
    };
    set(KEY);
    market.control(json!({"faults": [nth("status", &[1, 4], "hold")], "work_s": 0.3}));
    let words = ["run", "worker", "--run-id", "rk", "--retries", "0"];
    let running = market.keyless(&words).spawn();
    market.wait_for("status");
    set("another-key-entirely");
    market.let_go("status");
    // Two calls with the other key later.
    market.wait_for("status");
    set(KEY);
    market.let_go("status");
    let output = running.wait().expect_code(0);
    market.expect_all_made(1, 1, 1);
    let _ = std::fs::remove_file(market.workspace.path(".env"));
    market.expect_no_key(&[&output]);
    market.expect_nowhere("another-key-entirely", &[&output]);
}

#[test]
fn a_key_that_is_refused_closes_the_service_for_this_run_and_fails_nothing() {
    for service in [FAL, TRIPO] {
        let market = Market::open(service, 3, "");
        let wrong = market.worker(&["--max-parallel", "1"]);
        let output = wrong.env(service.key, "another-key-entirely").run();
        let output = output.expect_code(1);
        expect_denied(&market, &output, 3);
        let _ = market.worker(&[]).run().expect_code(0);
        market.expect_all_made(3, 3, 3);
    }
    // Refused only when the order is placed, after the intent was noted.
    let market = Market::open(FAL, 2, "");
    for status in ["401", "403"] {
        market.control(json!({"faults": [{"call": "submit", "do": format!("key:{status}")}]}));
        let output = market.worker(&["--max-parallel", "1"]).run().expect_code(1);
        expect_denied(&market, &output, 2);
        assert!(reserved(&market).abs() < 1e-9, "{status}");
    }
    market.control(json!({}));
    let _ = market.worker(&[]).run().expect_code(0);
    market.expect_all_made(2, 2, 2);
}

#[test]
fn a_file_that_is_gone_gives_way_to_the_next_one_that_is_a_model() {
    let market = Market::open(FAL, 1, "");
    market.control(json!({"field": "base_model", "gone_fields": ["model_glb", "pbr_model"]}));
    let _ = market.worker(&["--retries", "0"]).run().expect_code(0);
    market.expect_all_made(1, 1, 1);
}

#[test]
fn what_comes_packed_is_unpacked_and_what_was_cut_is_fetched_again() {
    for service in [FAL, TRIPO] {
        let market = Market::open(service, 2, "");
        market.control(json!({"faults": [
            nth("cdn", &[1], "cut_whole"),
            {"call": "*", "do": "gzip"},
        ]}));
        let _ = market.worker(&["--retries", "0"]).run().expect_code(0);
        market.expect_all_made(2, 2, 2);
    }
}

#[test]
fn of_a_list_of_files_the_glb_is_the_model() {
    let market = Market::open(FAL, 1, "");
    market.control(json!({"field": "model_meshes"}));
    let _ = market.worker(&["--retries", "0"]).run().expect_code(0);
    market.expect_all_made(1, 1, 1);
}

#[test]
fn what_a_service_says_is_told_as_a_sentence() {
    for (service, call, text) in [
        (FAL, "initiate", "try another time"),
        (FAL, "submit", "try another time"),
        (TRIPO, "upload", "try another time"),
        (TRIPO, "submit", "try another time"),
        (REPLICATE, "submit", "try another time"),
    ] {
        let market = Market::open(service, 1, "");
        market.control(json!({"faults": [{"call": call, "do": "refuse:422"}]}));
        let output = market.worker(&[]).run().expect_code(1);
        let told = cell(&market, "error_msg");
        assert!(told.contains(text), "{told}");
        assert!(
            !told.contains('{') && !output.stderr.contains('{'),
            "{output}"
        );
    }
}

#[test]
fn a_request_that_was_cancelled_before_it_began_costs_nothing_and_holds_no_money() {
    let market = Market::open(FAL, 1, "");
    market.control(json!({"queue_s": 600}));
    let running = market.worker(&["--heartbeat-secs", "1"]).spawn();
    wait_until("the order", || market.count("accepted") == 1);
    let id = market.workspace.id(0).to_owned();
    let cancel = ["run", "cancel", "--run-id", "rk", "--jobs", &id];
    let _ = market.command(&cancel).run().expect_code(0);
    let _ = running.wait();
    assert_eq!(market.count("cancel"), 1);
    assert_eq!(market.statuses(), [("cancelled".to_owned(), 1)].into());
    assert!(reserved(&market).abs() < 1e-9);
    // Put back, it is bought anew: the old request will never bring anything.
    market.control(json!({}));
    let undo = [&cancel[..], &["--undo"]].concat();
    let _ = market.command(&undo).run().expect_code(0);
    let _ = market.worker(&[]).run().expect_code(0);
    market.expect_all_made(1, 2, 1);
}

#[test]
fn an_order_that_timed_out_after_it_was_taken_is_found_and_not_placed_again() {
    for (service, made) in [(FAL, true), (REPLICATE, true), (TRIPO, false)] {
        let market = Market::open(service, 1, "");
        market.control(
            json!({"faults": [nth("submit", &[1], "status_after:408")], "history_s": 0.1}),
        );
        let output = market.worker(&[]).run().expect_code(i32::from(!made));
        if made {
            market.expect_all_made(1, 1, 1);
        } else {
            assert!(output.stderr.contains("may have been billed"), "{output}");
            assert_eq!(market.count("accepted"), 1);
        }
    }
    // Not taken and not listed either: it was refused, and is tried again.
    let market = Market::open(FAL, 1, "");
    market.control(json!({"faults": [nth("submit", &[1], "status:408")], "history_s": 0.1}));
    let _ = market.worker(&[]).run().expect_code(0);
    market.expect_all_made(1, 1, 1);
}

#[test]
fn a_failure_that_was_billed_has_its_cost_in_its_row_and_is_followed_by_a_new_purchase() {
    for (service, outcome, cost, usd) in [
        (FAL, "billed_422", "0.02", 0.02),
        (TRIPO, "billed_failure", "0.2", 0.2),
    ] {
        let market = Market::open(service, 1, "");
        market.control(json!({"outcome": outcome}));
        let _ = market.worker(&[]).run().expect_code(1);
        assert_eq!(market.count("accepted"), 1, "never bought again by itself");
        assert_eq!(cell(&market, "estimated_cost_usd"), cost);
        assert!((billed(&market) - usd).abs() < 1e-9);
        assert!(reserved(&market).abs() < 1e-9);
        // A limit that has room for one more, and not for two.
        market.control(json!({}));
        let price: f64 = if service.name == "tripo" { 0.3 } else { 0.02 };
        let room = (usd + price + 0.001).to_string();
        let again = [&AGAIN[..], &["--budget-usd", &room]].concat();
        let _ = market.worker(&again).run().expect_code(0);
        market.expect_all_made(1, 2, 2);
        assert!((billed(&market) - usd - price).abs() < 1e-9);
        assert!(reserved(&market).abs() < 1e-9);
    }
}
