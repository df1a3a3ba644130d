//! A provider that bills, and workers that die at every step of a purchase: what was bought is
//! paid once and arrives, and where nobody can be sure a person is asked.

use std::time::Duration;

use archi3d_core::domain::time::Timestamp;

use crate::support::billing::{CANARY, Shop, Victim};
use crate::support::mocks::{attempts, fields, set_algo, statuses};
use crate::support::wait_until;

const BOTH: [Victim; 2] = [Victim::Worker, Victim::Everything];

/// The steps at which a purchase is known.
const AFTER_PURCHASE: [&str; 5] = ["submitted", "poll", "download", "written", "result"];

/// Starts a worker on both jobs and kills it when both are at a step.
#[track_caller]
fn kill_at(shop: &Shop, step: &str, victim: Victim) {
    shop.hold(step);
    let running = shop.worker(&["--max-parallel", "2"]).spawn();
    shop.wait_for_all_at(step);
    if AFTER_PURCHASE.contains(&step) {
        // Nobody tells the program that its word was heard: it may be ahead of the note.
        let heard = if step == "result" {
            "made"
        } else {
            "submitted"
        };
        shop.wait_for_notes(heard);
    }
    victim.kill(shop, running);
    shop.let_go(step);
}

/// Demands that the purchases of both jobs were made by `submissions` calls, and that the second
/// attempts went on with those of the first if these were known.
#[track_caller]
fn expect_resumed(shop: &Shop, case: &str, submissions: u64, known: bool) {
    shop.expect_all_made_and_paid_once(case);
    assert_eq!(shop.provider.calls("submit"), submissions, "{case}");
    let attempts = attempts(&shop.workspace);
    let outcomes = ["interrupted", "completed", "interrupted", "completed"];
    assert_eq!(fields(&attempts, "outcome"), outcomes, "{case}");
    let known = known.to_string();
    assert_eq!(
        fields(&attempts, "resumed"),
        ["false", &known, "false", &known],
        "{case}"
    );
}

#[test]
fn with_keys_a_death_while_buying_costs_nothing() {
    for (step, submissions) in [
        ("start", 2),
        ("arrived", 4),
        ("charged", 4),
        ("answered", 4),
    ] {
        for victim in BOTH {
            let case = format!("{victim:?} at {step}");
            let shop = Shop::open(2, &[], &[]);
            kill_at(&shop, step, victim);
            let _ = shop.resume().run();
            expect_resumed(&shop, &case, submissions, false);
        }
    }
}

#[test]
fn a_death_while_waiting_or_downloading_costs_nothing_even_without_keys() {
    for step in ["submitted", "poll", "download"] {
        for victim in BOTH {
            let case = format!("{victim:?} at {step}");
            let shop = Shop::open(2, &["on_interrupt: ask"], &["--forget-keys"]);
            kill_at(&shop, step, victim);
            let _ = shop.resume().run();
            expect_resumed(&shop, &case, 2, true);
        }
    }
}

#[test]
fn a_death_before_the_result_costs_a_download_even_without_keys() {
    for victim in BOTH {
        let case = format!("{victim:?} before the result");
        let shop = Shop::open(2, &[], &["--forget-keys"]);
        kill_at(&shop, "written", victim);
        let _ = shop.resume().run();
        expect_resumed(&shop, &case, 2, true);
        assert_eq!(shop.provider.calls("download"), 4, "{case}");
    }
}

#[test]
fn a_death_after_the_result_costs_not_even_a_download() {
    for victim in BOTH {
        let case = format!("{victim:?} after the result");
        let shop = Shop::open(2, &[], &["--forget-keys"]);
        kill_at(&shop, "result", victim);
        let _ = shop.resume().run().expect_code(0);
        shop.expect_all_made_and_paid_once(&case);
        let attempts = attempts(&shop.workspace);
        assert_eq!(fields(&attempts, "outcome"), ["completed"; 2], "{case}");
        for kind in ["submit", "download"] {
            assert_eq!(shop.provider.calls(kind), 2, "{case}");
        }
    }
}

#[test]
fn a_death_while_publishing_costs_not_even_a_download() {
    for step in ["publish", "commit"] {
        for victim in BOTH {
            let case = format!("{victim:?} at {step}");
            let shop = Shop::open(2, &[], &["--forget-keys"]);
            shop.hold("result");
            let running = shop.worker(&["--max-parallel", "2"]).spawn();
            shop.wait_for_all_at("result");
            let locks = match step {
                "publish" => shop.lock_jobs(),
                _ => vec![shop.lock_registry()],
            };
            shop.let_go("result");
            shop.wait_for_notes("finished");
            if step == "commit" {
                wait_until("both results in their place", || {
                    shop.workspace.jobs_with("completed").len() == 2
                });
            }
            victim.kill(&shop, running);
            drop(locks);
            assert_eq!(shop.workspace.registry().count("completed"), 0, "{case}");
            let _ = shop.resume().run().expect_code(0);
            shop.expect_all_made_and_paid_once(&case);
            let attempts = attempts(&shop.workspace);
            assert_eq!(fields(&attempts, "outcome"), ["completed"; 2], "{case}");
            for kind in ["submit", "download"] {
                assert_eq!(shop.provider.calls(kind), 2, "{case}: {kind}");
            }
        }
    }
}

#[test]
fn deaths_at_any_moment_cost_nothing() {
    let shop = Shop::open(6, &[], &["--delay-s", "0.05", "--submit-delay-s", "0.02"]);
    let mut seed: u64 = 20_240_607;
    for round in 0..8 {
        let running = shop.resume().spawn();
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        std::thread::sleep(Duration::from_millis(100 + (seed >> 33) % 400));
        BOTH[round % 2].kill(&shop, running);
    }
    let _ = shop.resume().run().expect_code(0);
    shop.expect_all_made_and_paid_once("deaths at any moment");
}

/// Demands that both jobs are in doubt, are listed as such and are left alone.
#[track_caller]
fn expect_asked(shop: &Shop, case: &str, submissions: u64) {
    assert_eq!(statuses(&shop.workspace), ["failed"; 2], "{case}");
    for job in shop.workspace.jobs() {
        let row = shop.workspace.row(&job.id);
        for words in [
            "may have been billed",
            "Look for this job",
            "--resubmit-unknown",
        ] {
            assert!(row["error_msg"].contains(words), "{case}: {row:?}");
        }
    }
    let told = attempts(&shop.workspace);
    assert_eq!(
        fields(&told, "class"),
        ["null", "unknown", "null", "unknown"],
        "{case}"
    );
    let _ = shop
        .worker(&["--only-status", "failed"])
        .run()
        .expect_code(0)
        .expect_stderr("--resubmit-unknown");
    assert_eq!(shop.provider.calls("submit"), submissions, "{case}");
    assert_eq!(attempts(&shop.workspace), told, "{case}");
    shop.expect_nothing_left(case);
}

#[test]
fn without_keys_a_death_while_buying_is_asked_about() {
    for (step, charges) in [
        ("start", 0),
        ("arrived", 2),
        ("charged", 2),
        ("answered", 2),
    ] {
        for victim in BOTH {
            let case = format!("{victim:?} at {step}");
            let shop = Shop::open(2, &["on_interrupt: ask"], &["--forget-keys"]);
            kill_at(&shop, step, victim);
            // What had arrived is billed although whoever sent it is dead.
            wait_until("the bill", || shop.provider.charges() == charges);
            let _ = shop.resume().run().expect_code(1);
            expect_asked(&shop, &case, charges as u64);
            assert_eq!(shop.provider.charges(), charges, "{case}");
            if charges == 0 {
                let _ = shop
                    .worker(&["--only-status", "failed", "--resubmit-unknown"])
                    .run()
                    .expect_code(0);
                shop.expect_all_made_and_paid_once(&case);
            }
        }
    }
}

#[test]
fn a_submission_without_a_clear_answer_is_repeated_only_where_that_is_free() {
    for answer in ["lost", "502"] {
        let answers = format!("submit={answer}");
        let shop = Shop::open(1, &["retries: 2"], &["--answers", &answers]);
        let _ = shop.worker(&[]).run().expect_code(0);
        shop.expect_all_made_and_paid_once(answer);
        assert_eq!(shop.provider.calls("submit"), 2, "{answer}");

        let lines = ["retries: 2", "on_interrupt: ask"];
        let shop = Shop::open(1, &lines, &["--forget-keys", "--answers", &answers]);
        let _ = shop.worker(&[]).run().expect_code(1);
        let _ = shop
            .worker(&["--only-status", "enqueued,running,failed"])
            .run()
            .expect_stderr("--resubmit-unknown");
        assert_eq!(shop.provider.calls("submit"), 1, "{answer}");
        assert!(shop.provider.charges() <= 1, "{answer}");
        assert_eq!(fields(&attempts(&shop.workspace), "class"), ["unknown"]);
        let row = shop.workspace.row(shop.workspace.id(0));
        assert!(row["error_msg"].contains("may have been billed"), "{row:?}");
        shop.expect_nothing_left(answer);
    }
}

#[test]
fn a_download_that_fails_is_repeated_and_nothing_else() {
    let shop = Shop::open(
        2,
        &[],
        &["--forget-keys", "--answers", "download=cut,500,lost,cut"],
    );
    let _ = shop.worker(&[]).run().expect_code(0);
    shop.expect_all_made_and_paid_once("within an attempt");
    assert_eq!(shop.provider.calls("submit"), 2);
    assert_eq!(shop.provider.calls("download"), 6);

    let answers = [
        "--forget-keys",
        "--answers",
        "download=500,cut,lost,503,cut",
    ];
    let shop = Shop::open(1, &["retries: 1"], &answers);
    let _ = shop.worker(&[]).run().expect_code(0);
    shop.expect_all_made_and_paid_once("within a second attempt");
    assert_eq!(shop.provider.calls("submit"), 1);
    assert_eq!(
        fields(&attempts(&shop.workspace), "resumed"),
        ["false", "true"]
    );
}

#[test]
fn half_a_model_that_looks_whole_on_the_way_is_downloaded_again_when_asked() {
    let shop = Shop::open(1, &[], &["--forget-keys", "--answers", "download=short"]);
    let _ = shop.worker(&[]).run().expect_code(1);
    assert_eq!(statuses(&shop.workspace), ["failed"]);
    let _ = shop
        .worker(&["--only-status", "failed"])
        .run()
        .expect_code(0);
    shop.expect_all_made_and_paid_once("half a model");
    assert_eq!(shop.provider.calls("submit"), 1);
}

#[test]
fn a_refusal_for_want_of_money_closes_the_provider_for_its_other_algo_too() {
    let shop = Shop::open(3, &["provider: fake"], &["--answers", "submit=402"]);
    let yaml = String::from_utf8(shop.workspace.bytes("config/adapters.yaml")).expect("text");
    let entry = yaml.split_once("tool:").expect("its entry").1;
    let both = format!("{yaml}  other:{entry}");
    shop.workspace
        .write("config/adapters.yaml", both.as_bytes());
    set_algo(&shop.workspace, 1, "other");
    let _ = shop
        .worker(&[])
        .run()
        .expect_code(1)
        .expect_stderr("adapters resume fake");
    assert_eq!(statuses(&shop.workspace), ["enqueued"; 3]);
    assert_eq!(shop.provider.calls("submit"), 1);
    assert_eq!(shop.provider.charges(), 0);
    let _ = shop
        .workspace
        .archi3d(&["adapters", "resume", "fake"])
        .run()
        .expect_code(0);
    let _ = shop.worker(&[]).run().expect_code(0);
    shop.expect_all_made_and_paid_once("after 402");
}

#[test]
fn a_provider_that_asks_for_a_pause_gets_it() {
    let shop = Shop::open(1, &[], &["--retry-after-s", "2", "--answers", "submit=429"]);
    let _ = shop.worker(&["--retries", "1"]).run().expect_code(0);
    shop.expect_all_made_and_paid_once("after 429");
    let attempts = attempts(&shop.workspace);
    assert_eq!(fields(&attempts, "outcome"), ["put_off", "completed"]);
    let time = |text: &String| Timestamp::parse(text).expect("a time");
    let started = time(&fields(&attempts, "started")[1]);
    let pause = started.since(time(&fields(&attempts, "ended")[0]));
    assert!(pause >= Duration::from_secs(2), "{pause:?}");
}

#[test]
fn a_key_that_program_and_provider_repeat_is_found_nowhere() {
    let shop = Shop::open(2, &[], &["--answers", "submit=401"]);
    let output = shop.worker(&["--verbose"]).run().expect_code(1);
    assert_eq!(statuses(&shop.workspace), ["failed", "completed"]);
    let said = output.stdout + &output.stderr;
    assert!(!said.contains(CANARY), "{said}");
    let row = shop.workspace.row(shop.workspace.id(0));
    assert!(row["error_msg"].contains("to Bearer ***"), "{row:?}");
    let log = format!("runs/rk/logs/{}.1.log", shop.workspace.id(0));
    assert_eq!(shop.workspace.bytes(&log), b"called with ***\n");
    shop.expect_nothing_left("canary");
}

#[test]
fn jobs_stopped_by_hand_go_back_with_their_purchase_and_are_not_paid_again() {
    for (step, submissions) in [
        ("charged", 4),
        ("submitted", 2),
        ("poll", 2),
        ("download", 2),
    ] {
        let shop = Shop::open(2, &[], &[]);
        shop.hold(step);
        let running = shop.worker(&["--max-parallel", "2"]).spawn();
        shop.wait_for_all_at(step);
        if AFTER_PURCHASE.contains(&step) {
            shop.wait_for_notes("submitted");
        }
        for word in ["stopping: no new job", "stopping now"] {
            running.signal("INT");
            wait_until(word, || running.stderr_so_far().contains(word));
        }
        let _ = running.wait().expect_code(130);
        shop.let_go(step);
        assert_eq!(statuses(&shop.workspace), ["enqueued"; 2], "{step}");
        let known = submissions == 2;
        if known {
            assert_eq!(shop.purchases_told(), shop.provider.sold(), "{step}");
        }
        let _ = shop.worker(&["--max-parallel", "2"]).run().expect_code(0);
        shop.expect_all_made_and_paid_once(step);
        assert_eq!(shop.provider.calls("submit"), submissions, "{step}");
        let attempts = attempts(&shop.workspace);
        let outcomes = ["released", "completed", "released", "completed"];
        assert_eq!(fields(&attempts, "outcome"), outcomes, "{step}");
        assert_eq!(fields(&attempts, "resumed")[1], known.to_string(), "{step}");
    }
}
