//! Models bought from doubles of fal, Tripo, Meshy and Replicate: every answer means what the
//! service's contract says, and nothing is paid for twice.

use serde_json::{Value, json};

use crate::support::doubles::{ALL, FAL, KEY, MESHY, Market, REPLICATE, TRIPO, nth};
use crate::support::wait_until;

/// Runs a worker to its end and demands an exit code.
#[track_caller]
fn work(market: &Market, more: &[&str], code: i32) -> crate::support::binary::Output {
    market.worker(more).run().expect_code(code)
}

fn cell(market: &Market, column: &str) -> String {
    let row = market.workspace.row(market.workspace.id(0));
    row.get(column).unwrap_or_default().to_owned()
}

fn error_of(market: &Market) -> String {
    let path = format!("runs/rk/state/{}.error.txt", market.workspace.id(0));
    String::from_utf8_lossy(&market.workspace.bytes(&path)).into_owned()
}

#[test]
fn with_a_key_every_service_makes_its_models() {
    for (service, cost, source) in [
        (FAL, "0.02", "fal X-Fal-Billable-Units"),
        (TRIPO, "0.3", "Tripo credits_consumed"),
        (MESHY, "0.6", "Meshy consumed_credits"),
        (REPLICATE, "0.05", "adapters.yaml"),
    ] {
        let market = Market::open(service, 2, "");
        let output = work(&market, &[], 0);
        market.expect_all_made(2, 2, 2);
        assert_eq!(cell(&market, "estimated_cost_usd"), cost, "{service:?}");
        assert_eq!(cell(&market, "price_source"), source, "{service:?}");
        let folder = format!("runs/rk/outputs/{}", market.workspace.id(0));
        let is_there = |name: &str| market.workspace.path(&format!("{folder}/{name}")).is_file();
        assert!(is_there("generated.glb"), "{service:?}");
        // What a service does not send is drawn: three views of the model.
        let shown = if service.name == "replicate" { 3 } else { 1 };
        assert!(is_there(&format!("preview_{shown}.png")), "{service:?}");
        market.expect_no_key(&[&output]);
    }
}

#[test]
fn an_order_whose_answer_was_lost_is_found_and_never_placed_again() {
    let every = [
        "status_after:502",
        "reset_after",
        "empty",
        "garbage",
        "half",
        "cut_chunk",
        "html",
        "redirect_after",
        "hang_after:4",
    ];
    for (service, faults) in [(FAL, &every[..]), (REPLICATE, &every[1..2])] {
        for fault in faults {
            let market = Market::open(service, 1, "");
            market.control(json!({"faults": [nth("submit", &[1], fault)], "history_s": 0.1}));
            let _ = work(&market, &["--retries", "0"], 0);
            market.expect_all_made(1, 1, 1);
        }
    }
}

#[test]
fn an_order_that_cannot_be_looked_up_is_a_question_for_a_person() {
    for service in [TRIPO, MESHY] {
        let market = Market::open(service, 1, "");
        market.control(json!({"faults": [nth("submit", &[1], "reset_after")]}));
        let output = work(&market, &[], 1);
        assert_eq!(market.count("accepted"), 1);
        let error = error_of(&market);
        assert!(error.contains("may have been billed"), "{error}");
        let _ = work(&market, &[], 0);
        let _ = work(&market, &["--only-status", "failed"], 0);
        assert_eq!(market.count("accepted"), 1, "nobody asked for it");
        if service.name == "meshy" {
            let id = market.ledger()[0]["id"].as_str().expect("an id").to_owned();
            assert!(error.contains(&id), "the task is named: {error}");
        }
        let _ = work(
            &market,
            &["--only-status", "failed", "--resubmit-unknown"],
            0,
        );
        market.expect_all_made(1, 2, 2);
        market.expect_no_key(&[&output]);
    }
}

#[test]
fn an_order_that_is_not_listed_is_bought_again_only_when_a_person_says_so() {
    let market = Market::open(FAL, 1, "");
    market.control(json!({"faults": [nth("submit", &[1], "reset")]}));
    let _ = work(&market, &[], 1);
    let error = error_of(&market);
    assert!(error.contains("fal does not list it"), "{error}");
    assert_eq!(market.count("accepted"), 0);
    // Looked for once more, and still a question.
    let _ = work(&market, &["--only-status", "failed"], 1);
    assert_eq!(market.count("accepted"), 0);
    let _ = work(
        &market,
        &["--only-status", "failed", "--resubmit-unknown"],
        0,
    );
    market.expect_all_made(1, 1, 1);
}

#[test]
fn the_story_of_a_purchase_is_told_with_its_times() {
    let market = Market::open(FAL, 1, "");
    market.control(json!({"faults": [nth("submit", &[1], "hold_after")]}));
    let running = market.worker(&[]).spawn();
    market.wait_for("submit");
    let _ = running.kill();
    market.let_go("submit");
    let _ = work(&market, &["--only-status", "enqueued,running"], 0);
    let id = market.workspace.id(0).to_owned();
    let words = ["run", "explain", "--run-id", "rk", &id, "--json"];
    let told = market.command(&words).run().expect_code(0).json();
    let why = told["why"].to_string();
    assert!(why.contains("attempt 1 noted at 20"), "{why}");
    assert!(why.contains("no answer was noted"), "{why}");
    assert!(
        why.contains("attempt 2 looked for that purchase and found it at 20"),
        "{why}"
    );
}

#[test]
fn before_the_time_a_missing_order_proves_nothing_even_to_a_person() {
    let market = Market::open(FAL, 1, "");
    // Taken, and listed only much later.
    market.control(json!({"faults": [nth("submit", &[1], "reset_after")], "history_s": 3}));
    let _ = work(&market, &[], 1);
    let again = ["--only-status", "failed", "--resubmit-unknown"];
    let early = market.worker(&again).env("ARCHI3D_HTTP_DOUBT_S", "900");
    // Looks for eight seconds: by then it is listed.
    let _ = early.run().expect_code(0);
    market.expect_all_made(1, 1, 1);
}

#[test]
fn an_order_that_never_left_costs_nothing_and_is_tried_again() {
    let market = Market::open(FAL, 1, "");
    let nobody = market
        .worker(&["--retries", "1"])
        .env("ARCHI3D_FAL_QUEUE_URL", "http://127.0.0.1:9");
    let output = nobody.run().expect_code(1);
    assert!(error_of(&market).contains("cannot reach"), "{output}");
    let _ = work(&market, &["--only-status", "failed"], 0);
    market.expect_all_made(1, 1, 1);
}

#[test]
fn what_the_service_fails_unpaid_is_bought_anew_and_paid_once() {
    for (service, outcome) in [
        (FAL, "server_error"),
        (FAL, "generation_timeout"),
        (FAL, "runner_lost"),
        (FAL, "timeout"),
        (FAL, "downstream"),
        (TRIPO, "failed"),
        (MESHY, "failed"),
        (REPLICATE, "aborted"),
    ] {
        let market = Market::open(service, 3, "");
        market.control(json!({"outcomes": {"2": outcome}}));
        let _ = work(&market, &[], 0);
        market.expect_all_made(3, 4, 3);
        assert_eq!(market.count("failed"), 1, "{service:?} {outcome}");
    }
}

#[test]
fn an_error_of_the_network_in_place_of_a_result_is_no_failure_of_the_request() {
    for fault in [
        "status:502",
        "json:500",
        "html",
        "empty",
        "garbage",
        "reset",
        "retry:0.1",
    ] {
        let market = Market::open(FAL, 1, "");
        market.control(json!({"faults": [nth("result", &[1, 2, 3, 4], fault)]}));
        let _ = work(&market, &["--retries", "0"], 0);
        market.expect_all_made(1, 1, 1);
    }
}

#[test]
fn bad_input_is_told_with_its_reason_and_never_bought_again() {
    for (outcome, words, cost) in [
        ("validation", "body.image_url: Failed to load the image", ""),
        ("policy", "refused by policy", ""),
        ("billed_422", "nothing came", "0.02"),
    ] {
        let market = Market::open(FAL, 1, "");
        market.control(json!({"outcome": outcome}));
        let _ = work(&market, &[], 1);
        let error = error_of(&market);
        assert!(error.contains(words), "{error}");
        assert_eq!(market.count("accepted"), 1, "{outcome}");
        let report = market
            .command(&["cost", "report", "--json"])
            .run()
            .expect_code(0)
            .json();
        let billed = report["totals"]["billed_usd"].as_f64();
        if !cost.is_empty() {
            assert!(report.to_string().contains(cost), "{billed:?} {report}");
        }
    }
}

#[test]
fn a_result_that_is_paid_for_and_no_model_is_kept_in_words_and_not_bought_again() {
    for (outcome, words) in [
        ("no_mesh", "names no model"),
        ("zip_only", "it is a ZIP"),
        ("wrong_bytes", "cannot be used"),
        ("empty_file", "cannot be used"),
        ("gone_file", "the file is gone"),
        ("expired_all", "does not know request"),
    ] {
        let market = Market::open(FAL, 1, "");
        market.control(json!({"outcome": outcome}));
        let _ = work(&market, &[], 1);
        let error = error_of(&market);
        assert!(error.contains(words), "{outcome}: {error}");
        assert!(
            error.contains("asks for its result instead of buying again"),
            "{error}"
        );
        let _ = work(&market, &["--only-status", "failed"], 1);
        assert_eq!(market.count("accepted"), 1, "{outcome}");
    }
}

#[test]
fn an_expired_result_is_read_from_the_history() {
    let market = Market::open(FAL, 1, "");
    market.control(json!({"outcome": "expired", "history_s": 0.0}));
    let _ = work(&market, &[], 0);
    market.expect_all_made(1, 1, 1);
}

#[test]
fn links_that_expire_are_asked_for_again() {
    let market = Market::open(TRIPO, 1, "");
    market.control(json!({"links_s": 0.3, "faults": [nth("cdn", &[1], "delay:0.4")]}));
    let _ = work(&market, &[], 0);
    market.expect_all_made(1, 1, 1);
}

#[test]
fn a_download_goes_on_where_it_broke_off() {
    for fault in ["truncate", "cut_chunk", "reset", "status:503", "stall:4"] {
        let market = Market::open(FAL, 1, "");
        market.control(json!({"faults": [nth("cdn", &[1, 2], fault)]}));
        let _ = work(&market, &["--retries", "0"], 0);
        market.expect_all_made(1, 1, 1);
    }
}

#[test]
fn answers_in_pieces_slow_or_without_a_length_are_answers() {
    for service in ALL {
        let market = Market::open(service, 3, "");
        market.control(json!({"faults": [
            {"call": "*", "rate": 0.34, "do": "chunked"},
            {"call": "*", "rate": 0.5, "do": "slow"},
            {"call": "*", "do": "no_length"},
        ]}));
        let _ = work(&market, &["--retries", "0"], 0);
        market.expect_all_made(3, 3, 3);
    }
}

#[test]
fn out_of_credit_closes_the_provider_and_a_new_start_goes_on() {
    for (service, call) in [(FAL, "initiate"), (FAL, "submit"), (TRIPO, "submit")] {
        let market = Market::open(service, 3, "");
        market.control(json!({"faults": [{"call": call, "do": "credit"}]}));
        let output = market.worker(&["--max-parallel", "1"]).run();
        assert!(output.stderr.contains("closed"), "{output}");
        assert_eq!(market.count("accepted"), 0);
        market.control(json!({}));
        let _ = market
            .command(&["adapters", "resume", service.name])
            .run()
            .expect_code(0);
        let _ = work(&market, &["--only-status", "enqueued,failed"], 0);
        market.expect_all_made(3, 3, 3);
    }
}

#[test]
fn a_busy_service_is_left_alone_and_costs_no_retry() {
    for service in ALL {
        let market = Market::open(service, 2, "");
        market.control(json!({"faults": [nth("submit", &[1, 2], "retry:1")]}));
        let _ = work(&market, &["--retries", "0"], 0);
        market.expect_all_made(2, 2, 2);
    }
}

#[test]
fn a_worker_killed_at_any_step_costs_nothing_where_the_service_can_be_asked() {
    for (service, call, fault) in [
        (FAL, "initiate", "hold"),
        (FAL, "put", "hold"),
        (FAL, "submit", "hold_after"),
        (FAL, "status", "hold"),
        (FAL, "result", "hold"),
        (FAL, "cdn", "hold"),
        (REPLICATE, "upload", "hold"),
        (REPLICATE, "submit", "hold_after"),
        (REPLICATE, "poll", "hold"),
        (REPLICATE, "cdn", "hold"),
        (TRIPO, "upload", "hold"),
        (TRIPO, "poll", "hold"),
        (MESHY, "poll", "hold"),
        (MESHY, "cdn", "hold"),
    ] {
        let market = Market::open(service, 1, "");
        market.control(json!({"faults": [nth(call, &[1], fault)]}));
        let running = market.worker(&[]).spawn();
        market.wait_for(call);
        let _ = running.kill();
        market.let_go(call);
        let _ = work(&market, &["--only-status", "enqueued,running"], 0);
        market.expect_all_made(1, 1, 1);
    }
}

#[test]
fn a_stop_leaves_the_request_alone_and_the_next_worker_takes_its_result() {
    let market = Market::open(FAL, 1, "");
    market.control(json!({"queue_s": 3}));
    let running = market.worker(&[]).spawn();
    wait_until("the order", || market.count("accepted") == 1);
    let said = running.stderr_so_far().len();
    running.signal("INT");
    // The first lets running jobs land, the second does not.
    wait_until("a word", || running.stderr_so_far().len() > said);
    running.signal("INT");
    let output = running.wait();
    assert_eq!(market.count("cancel"), 0, "{output}");
    let _ = work(&market, &["--only-status", "enqueued,running"], 0);
    market.expect_all_made(1, 1, 1);
}

#[test]
fn a_cancelled_job_is_cancelled_at_fal_while_it_waits_there() {
    let market = Market::open(FAL, 1, "");
    market.control(json!({"queue_s": 600}));
    let running = market.worker(&["--heartbeat-secs", "1"]).spawn();
    wait_until("the order", || market.count("accepted") == 1);
    let id = market.workspace.id(0).to_owned();
    let _ = market
        .command(&["run", "cancel", "--run-id", "rk", "--jobs", &id])
        .run()
        .expect_code(0);
    let _ = running.wait();
    assert_eq!(market.count("cancel"), 1);
    market.wait_for_endings();
    assert_eq!(market.count("charged"), 0);
}

#[test]
fn https_a_proxy_and_a_certificate_of_ones_own_work_under_the_real_names() {
    let market = Market::open_with_tls(FAL, 2, "https://queue.fal.run");
    let output = work(&market, &[], 0);
    market.expect_all_made(2, 2, 2);
    market.expect_no_key(&[&output]);
    let market = Market::open_with_tls(FAL, 1, "https://queue.fal.run");
    // Without the certificate nobody is believed, and nothing is sent.
    let distrust = market
        .worker(&["--retries", "0"])
        .env("SSL_CERT_FILE", "/etc/hostname");
    let _ = distrust.run().expect_code(1);
    assert_eq!(market.count("accepted"), 0);
}

#[test]
fn a_key_that_is_refused_or_missing_is_told_before_anything_is_sent() {
    let market = Market::open(FAL, 1, "");
    let wrong = market
        .worker(&[])
        .env("FAL_KEY", "another-key-entirely")
        .run();
    let _ = wrong
        .expect_code(1)
        .expect_stderr("FAL_KEY is not taken: fal answered 401 to a picture: invalid key");
    assert_eq!(cell(&market, "status"), "enqueued");
    let look = market.command(&["adapters", "check", "made_single", "--json"]);
    let _ = look
        .env("FAL_KEY", "")
        .run()
        .expect_code(1)
        .expect_stdout("FAL_KEY is not set");
    assert_eq!(market.count("accepted"), 0);
}

#[test]
fn a_new_key_in_the_env_file_works_in_mid_run() {
    let market = Market::open(FAL, 2, "");
    market
        .workspace
        .write(".env", format!("FAL_KEY={KEY}\n").as_bytes());
    market.control(json!({"faults": [nth("cdn", &[1], "hold")]}));
    let words = ["run", "worker", "--run-id", "rk", "--max-parallel", "1"];
    let running = market.keyless(&words).spawn();
    market.wait_for("cdn");
    market
        .workspace
        .write(".env", b"FAL_KEY=another-key-entirely\n");
    market.let_go("cdn");
    let _ = running.wait().expect_code(1);
    assert_eq!(
        market.count("accepted"),
        1,
        "the second job has the other key"
    );
    market
        .workspace
        .write(".env", format!("FAL_KEY={KEY}\n").as_bytes());
    let again = ["run", "worker", "--run-id", "rk"];
    let _ = market.keyless(&again).run().expect_code(0);
    market.expect_all_made(2, 2, 2);
}

#[test]
fn a_check_asks_the_service_for_free_whether_the_entry_fits() {
    let market = Market::open(FAL, 1, ", defaults: {texture_sise: 2048}");
    let looked = |market: &Market| -> Value {
        let words = ["adapters", "check", "made_single", "--online", "--json"];
        let output = market.command(&words).run();
        output.json()["checks"][0].clone()
    };
    let found = looked(&market);
    let problems = found["problems"].to_string();
    assert!(
        problems.contains("`defaults` has `texture_sise`"),
        "{found}"
    );
    assert!(problems.contains("did you mean `texture_size`"), "{found}");
    market.control(json!({"models": {"fal-ai/trellis":
        {"status": "deprecated", "fields": ["input_image_url"], "required": ["input_image_url"]}}}));
    let problems = looked(&market)["problems"].to_string();
    for words in [
        "is deprecated at fal",
        "`images` has `image_url`",
        "it needs `input_image_url`",
    ] {
        assert!(problems.contains(words), "{problems}");
    }
    market.control(json!({"models": {"fal-ai/trellis": null}}));
    assert!(
        looked(&market)["problems"]
            .to_string()
            .contains("does not know the model")
    );
    assert_eq!(market.count("accepted"), 0);
    assert!(
        !market
            .ledger()
            .iter()
            .any(|line| line.to_string().contains(KEY))
    );
}
