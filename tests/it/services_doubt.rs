//! What a service leaves open stays open: no list that was read in part, and no ending that may
//! be billed, leads to a second order by itself.

use serde_json::json;

use crate::support::doubles::{FAL, Market, REPLICATE, TRIPO, nth};

const AGAIN: [&str; 2] = ["--only-status", "failed"];
const BUY_AGAIN: [&str; 3] = ["--only-status", "failed", "--resubmit-unknown"];

fn error_of(market: &Market) -> String {
    let path = format!("runs/rk/state/{}.error.txt", market.workspace.id(0));
    String::from_utf8_lossy(&market.workspace.bytes(&path)).into_owned()
}

#[test]
fn a_list_that_was_not_read_to_its_end_never_says_that_nothing_was_bought() {
    for (service, list) in [
        (REPLICATE, "no_input"),
        (REPLICATE, "empty_input"),
        (REPLICATE, "number"),
        (REPLICATE, "loop"),
        (FAL, "no_input"),
        (FAL, "null_cursor"),
        (FAL, "loop"),
    ] {
        let market = Market::open(service, 1, "");
        let lost = nth("submit", &[1], "reset_after");
        market.control(
            json!({"faults": [lost], "list": list, "strangers": 1, "page": 1, "history_s": 0.0}),
        );
        let _ = market.worker(&[]).run().expect_code(1);
        let _ = market.worker(&BUY_AGAIN).run().expect_code(1);
        assert_eq!(market.count("accepted"), 1, "{service:?} {list}");
        let error = error_of(&market);
        assert!(error.contains("is unknown"), "{list}: {error}");
        market.control(json!({"strangers": 1, "page": 1, "history_s": 0.0}));
        let _ = market.worker(&BUY_AGAIN).run().expect_code(0);
        market.expect_all_made(1, 1, 1);
    }
}

#[test]
fn a_list_in_pages_is_read_however_it_names_the_next_one() {
    for (service, list) in [
        (REPLICATE, "relative"),
        (REPLICATE, "elsewhere"),
        (FAL, "number"),
        (FAL, "no_has_more"),
    ] {
        let market = Market::open(service, 1, "");
        let lost = nth("submit", &[1], "reset_after");
        market.control(
            json!({"faults": [lost], "list": list, "strangers": 2, "page": 1, "history_s": 0.0}),
        );
        let _ = market.worker(&["--retries", "0"]).run().expect_code(0);
        market.expect_all_made(1, 1, 1);
    }
}

#[test]
fn an_ending_that_may_be_billed_is_bought_again_only_when_a_person_says_so() {
    for (service, outcome) in [
        (REPLICATE, "failed"),
        (REPLICATE, "canceled"),
        (TRIPO, "banned"),
        (TRIPO, "expired_task"),
    ] {
        let market = Market::open(service, 1, "");
        market.control(json!({"outcome": outcome}));
        let _ = market.worker(&[]).run().expect_code(1);
        let _ = market.worker(&AGAIN).run();
        assert_eq!(market.count("accepted"), 1, "{service:?} {outcome}");
        market.control(json!({}));
        let _ = market.worker(&BUY_AGAIN).run().expect_code(0);
        market.expect_all_made(1, 2, 1);
    }
}

#[test]
fn a_request_that_fal_calls_bad_is_ordered_once() {
    let market = Market::open(FAL, 1, "");
    market.control(json!({"outcome": "bad_request"}));
    let _ = market.worker(&[]).run().expect_code(1);
    assert!(error_of(&market).contains("no such option"));
    assert_eq!(market.count("accepted"), 1);
}

#[test]
fn a_code_in_an_answer_of_tripo_decides_whatever_its_status() {
    for code in ["2000", "1007"] {
        let market = Market::open(TRIPO, 1, "");
        market.control(json!({"faults": [nth("submit", &[1], &format!("code:{code}"))]}));
        let _ = market.worker(&["--retries", "0"]).run().expect_code(0);
        market.expect_all_made(1, 1, 1);
    }
    let market = Market::open(TRIPO, 1, "");
    market.control(json!({"faults": [nth("submit", &[1], "code:77")]}));
    let _ = market.worker(&[]).run().expect_code(1);
    assert!(error_of(&market).contains("may have been billed"));
}

#[test]
fn costs_are_written_without_what_arithmetic_adds() {
    let market = Market::open(TRIPO, 1, "");
    market.control(json!({"credits": 5.1}));
    let _ = market.worker(&[]).run().expect_code(0);
    let row = market.workspace.row(market.workspace.id(0));
    assert_eq!(row.get("estimated_cost_usd"), Some("0.051"));
}
