//! A provider that is out of credit is closed for everybody, says so, and is opened again by time
//! or by hand; nobody else is held up.

use crate::support::mocks::{
    attempts, change_mocks, executed, fields, jobs_of, one_job_each, statuses,
};

const BROKE: &str = "provider: acme, fail: \"no credit left\", fail_class: out_of_credit";

#[test]
fn a_provider_without_credit_is_closed_for_all_its_algos_and_all_workers_until_resumed() {
    let workspace = one_job_each(&[
        ("one", BROKE),
        ("two", "provider: acme"),
        ("trellis_single", ""),
    ]);
    let _ = workspace
        .worker(&[])
        .run()
        .expect_code(1)
        .expect_stderr("no credit left")
        .expect_stderr("adapters resume acme");
    assert_eq!(executed(&workspace), [0, 2]);
    assert_eq!(statuses(&workspace), ["enqueued", "enqueued", "completed"]);
    let log = workspace.log();
    assert_eq!(log.summary()["blocked"], 2);
    assert_eq!(log.summary()["failed"], 0);
    assert_eq!(log.events("provider_closed")[0]["provider"], "acme");

    let explain = ["run", "explain", "--run-id", "rk", workspace.id(0)];
    let _ = workspace
        .archi3d(&explain)
        .run()
        .expect_code(0)
        .expect_stdout("1 so far, requeued 1 time");

    // Another worker takes none of its jobs either, and says the same.
    let _ = workspace
        .worker(&[])
        .run()
        .expect_code(1)
        .expect_stderr("adapters resume acme");
    assert_eq!(executed(&workspace), [0, 2]);

    change_mocks(
        &workspace,
        &[("one", "provider: acme"), ("two", "provider: acme")],
    );
    let _ = workspace
        .archi3d(&["adapters", "resume", "acme"])
        .run()
        .expect_code(0)
        .expect_stdout("no credit left");
    let _ = workspace.worker(&[]).run().expect_code(0);
    assert_eq!(executed(&workspace), [0, 2, 0, 1]);
    assert_eq!(statuses(&workspace), ["completed"; 3]);
    let mine = attempts(&workspace);
    assert_eq!(
        fields(&mine, "outcome"),
        ["put_off", "completed", "completed", "completed"]
    );
    assert_eq!(mine[0]["class"], "out_of_credit");
}

#[test]
fn a_provider_closed_until_a_time_opens_by_itself_and_costs_no_retry() {
    let workspace = one_job_each(&[(
        "one",
        "fail_first: 1, fail_class: out_of_credit, retry_after_s: 1",
    )]);
    let _ = workspace.worker(&[]).run().expect_code(0);
    assert_eq!(executed(&workspace), [0, 0]);
    assert_eq!(statuses(&workspace), ["completed"]);
    let log = workspace.log();
    assert!(log.events("provider_closed")[0]["until"].is_string());
    assert_eq!(log.summary()["retried"], 0);
}

#[test]
fn a_provider_opened_by_hand_before_its_time_lets_its_jobs_go_on_at_once() {
    let broke = format!("{BROKE}, retry_after_s: 86400");
    let workspace = one_job_each(&[("one", &broke)]);
    let worker = workspace.worker(&[]).spawn();
    workspace.wait_for_events("job_put_off", 1);
    worker.signal("INT");
    let _ = worker.wait().expect_code(130);
    change_mocks(&workspace, &[("one", "provider: acme")]);
    // The algo's own name is good enough.
    let _ = workspace
        .archi3d(&["adapters", "resume", "one"])
        .run()
        .expect_code(0)
        .expect_stdout("provider acme");
    let _ = workspace.worker(&[]).run().expect_code(0);
    assert_eq!(statuses(&workspace), ["completed"]);
}

#[test]
fn a_pause_that_cannot_be_read_is_a_pause() {
    let workspace = one_job_each(&[("one", "breaker_failures: 3")]);
    workspace.write("runs/.providers/one.paused.json/in-the-way", b"");
    let _ = workspace
        .worker(&[])
        .run()
        .expect_stderr("whether it is paused cannot be read");
    assert_eq!(statuses(&workspace), ["enqueued"]);
}

#[test]
fn a_provider_that_cannot_be_closed_fails_its_jobs_instead_of_asking_for_ever() {
    let workspace = one_job_each(&[("one", BROKE)]);
    workspace.write("runs/.providers", b"in the way");
    let _ = workspace
        .worker(&[])
        .run()
        .expect_code(1)
        .expect_stderr("could not be closed");
    assert_eq!(executed(&workspace), [0]);
    assert_eq!(statuses(&workspace), ["failed"]);
    assert_eq!(fields(&attempts(&workspace), "class"), ["out_of_credit"]);
}

#[test]
fn a_rehearsal_is_not_held_up_by_a_closed_provider() {
    let workspace = jobs_of(&[("one", BROKE)], &["one", "one"]);
    let _ = workspace.worker(&["--limit", "1"]).run();
    let _ = workspace.worker(&["--dry-run"]).run().expect_code(0);
    // The first one was tried for real, which a rehearsal leaves alone.
    assert_eq!(statuses(&workspace), ["enqueued", "completed"]);
}

#[test]
fn the_state_of_providers_is_shown_and_only_closed_ones_can_be_opened() {
    let workspace = one_job_each(&[("one", BROKE), ("two", "provider: acme")]);
    let _ = workspace.worker(&[]).run().expect_code(1);
    let list = workspace
        .archi3d(&["adapters", "list", "--json"])
        .run()
        .expect_code(0)
        .json();
    let entries = list["adapters"].as_array().expect("a list").iter();
    let closed: Vec<&str> = entries
        .filter(|entry| !entry["closed"].is_null())
        .filter_map(|entry| entry["key"].as_str())
        .collect();
    assert_eq!(closed, ["one", "two"]);
    let _ = workspace
        .archi3d(&["adapters", "list"])
        .run()
        .expect_code(0)
        .expect_stdout("provider acme is closed, since")
        .expect_stdout("no credit left");
    for (word, what, hint) in [
        (
            "acne",
            "no provider or algo is called acne",
            "did you mean acme?",
        ),
        (
            "trellis_single",
            "provider trellis_single is not closed",
            "closed are: acme",
        ),
    ] {
        let _ = workspace
            .archi3d(&["adapters", "resume", word])
            .run()
            .expect_code(2)
            .expect_stderr(what)
            .expect_stderr(hint);
    }
    let _ = workspace
        .archi3d(&["adapters", "resume", "acme"])
        .run()
        .expect_code(0);
    let _ = workspace
        .archi3d(&["adapters", "resume", "acme"])
        .run()
        .expect_code(2)
        .expect_stderr("provider acme is not closed")
        .expect_stderr("no provider is closed");
}
