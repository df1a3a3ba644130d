//! Making a result again: the older one stands until the new one is there.

use std::fs;

use archi3d_core::domain::job::{Entry, Status};
use archi3d_core::store::{Finish, ReleaseReason};

use super::Make;
use crate::support::bench::{
    Bench, FilesBench, at, failed, listing, made, model, state, take, worker_id,
};
use crate::support::wait_until;

every_store! {
    a_redo_that_succeeds_replaces_the_result_and_keeps_the_old_files
    a_redo_that_fails_or_is_released_leaves_the_old_result
    a_purchase_of_a_redo_that_failed_reaches_the_next_redo
    a_dead_redo_that_is_taken_over_is_still_a_redo
    attempts_rise_whatever_becomes_of_them
}

fn a_redo_that_succeeds_replaces_the_result_and_keeps_the_old_files(make: Make) {
    let bench = make(1);
    let job = &bench.jobs()[0];
    let one = bench.worker("one");
    let first = take(&*one, job, Entry::Fresh, at(0));
    one.finish(&first, made(&first, "old", false))
        .expect("works");
    let second = take(&*one, job, Entry::Redo, at(5));
    assert_eq!(model(&*bench, job).as_deref(), Some("old"), "until it ends");
    let ending = made(&second, "new", false);
    assert_eq!(
        one.finish(&second, ending).expect("works"),
        Finish::Published
    );
    assert_eq!(model(&*bench, job).as_deref(), Some("new"));
    let previous = listing(&bench.paths().previous());
    let old = fs::read_to_string(previous[0].join("generated.glb"));
    assert_eq!(old.expect("readable"), "old");
    assert_eq!(state(&*one, job).status(), Status::Completed);
}

fn a_redo_that_fails_or_is_released_leaves_the_old_result(make: Make) {
    let bench = make(1);
    let job = &bench.jobs()[0];
    let one = bench.worker("one");
    let first = take(&*one, job, Entry::Fresh, at(0));
    one.finish(&first, made(&first, "old", false))
        .expect("works");
    let second = take(&*one, job, Entry::Redo, at(5));
    let finish = one.finish(&second, failed(&second, "no"));
    assert_eq!(finish.expect("works"), Finish::OldResultKept);
    assert_eq!(state(&*one, job).status(), Status::Completed);
    let third = take(&*one, job, Entry::Redo, at(10));
    let reason = ReleaseReason::Interrupted;
    one.release(&third, reason, None, at(11)).expect("works");
    one.close(at(12)).expect("works");
    assert_eq!(model(&*bench, job).as_deref(), Some("old"));
    assert_eq!(bench.row(job)["status"], "completed");
    let two = bench.worker("two");
    assert_eq!(state(&*two, job).status(), Status::Completed);
    assert!(listing(&bench.paths().staging()).is_empty());
}

fn a_purchase_of_a_redo_that_failed_reaches_the_next_redo(make: Make) {
    let bench = make(1);
    let job = &bench.jobs()[0];
    let one = bench.worker("one");
    let first = take(&*one, job, Entry::Fresh, at(0));
    one.finish(&first, made(&first, "old", false))
        .expect("works");
    let second = take(&*one, job, Entry::Redo, at(5));
    one.submitted(&second, "req-2", None, at(6)).expect("works");
    one.finish(&second, failed(&second, "no")).expect("works");
    let third = take(&*one, job, Entry::Redo, at(9));
    assert_eq!(third.request_id.as_deref(), Some("req-2"));
    let reason = ReleaseReason::Interrupted;
    one.release(&third, reason, None, at(10)).expect("works");
    let fourth = take(&*one, job, Entry::Redo, at(11));
    assert_eq!(fourth.request_id.as_deref(), Some("req-2"));
    assert_eq!(fourth.idempotency_key, second.idempotency_key);
    one.finish(&fourth, made(&fourth, "new", false))
        .expect("works");
    assert_eq!(take(&*one, job, Entry::Redo, at(20)).request_id, None);
}

fn a_dead_redo_that_is_taken_over_is_still_a_redo(make: Make) {
    let bench = make(3);
    let one = bench.worker("one");
    for job in bench.jobs() {
        let first = take(&*one, job, Entry::Fresh, at(0));
        one.finish(&first, made(&first, "old", false))
            .expect("works");
        take(&*one, job, Entry::Redo, at(5));
    }
    bench.die(one, &worker_id("one"));
    let two = bench.worker("two");
    let leases: Vec<_> = bench
        .jobs()
        .iter()
        .map(|job| take(&*two, job, Entry::Takeover, at(9)))
        .collect();
    let finish = two.finish(&leases[0], failed(&leases[0], "no"));
    assert_eq!(finish.expect("works"), Finish::OldResultKept);
    let finish = two.finish(&leases[1], made(&leases[1], "new", false));
    assert_eq!(finish.expect("works"), Finish::Published);
    let reason = ReleaseReason::Interrupted;
    two.release(&leases[2], reason, None, at(11))
        .expect("works");
    two.close(at(12)).expect("works");
    let models = bench.jobs().iter().map(|job| model(&*bench, job));
    let models: Vec<_> = models.map(Option::unwrap_or_default).collect();
    assert_eq!(models, ["old", "new", "old"]);
    for job in bench.jobs() {
        assert_eq!(bench.row(job)["status"], "completed");
        assert_eq!(state(&*two, job).status(), Status::Completed);
    }
}

fn attempts_rise_whatever_becomes_of_them(make: Make) {
    let bench = make(1);
    let job = &bench.jobs()[0];
    let mut store = bench.worker("w0");
    let mut last = 0;
    let mut entry = Entry::Fresh;
    for n in 1..8 {
        let lease = take(&*store, job, entry, at(n * 10));
        assert!(
            lease.attempt > last,
            "step {n}: {} after {last}",
            lease.attempt
        );
        last = lease.attempt;
        entry = match n {
            1 => {
                let reason = ReleaseReason::Interrupted;
                let released = store.release(&lease, reason, None, at(n * 10));
                released.expect("works");
                Entry::Fresh
            }
            2 => {
                store.finish(&lease, failed(&lease, "no")).expect("works");
                Entry::Retry
            }
            3 => {
                bench.die(store, &lease.worker_id);
                store = bench.worker("w1");
                Entry::Takeover
            }
            4 => {
                let ending = made(&lease, "m", false);
                store.finish(&lease, ending).expect("works");
                Entry::Redo
            }
            _ => {
                store.finish(&lease, failed(&lease, "no")).expect("works");
                store.close(at(n * 10 + 5)).expect("works");
                store = bench.worker(&format!("w{n}"));
                Entry::Redo
            }
        };
    }
}

#[test]
fn a_redo_of_a_result_that_only_the_registry_knows_can_fail_without_losing_it() {
    let bench = FilesBench::completed(1);
    let job = &bench.jobs()[0];
    let one = bench.worker("one");
    let lease = take(&*one, job, Entry::Redo, at(0));
    let finish = one.finish(&lease, failed(&lease, "no"));
    assert_eq!(finish.expect("works"), Finish::OldResultKept);
    one.close(at(2)).expect("works");
    assert_eq!(bench.row(job)["status"], "completed");
    assert_eq!(
        state(&*bench.worker("two"), job).status(),
        Status::Completed
    );
}

#[test]
fn the_row_of_a_redo_that_failed_says_completed_again_before_the_worker_ends() {
    let bench = FilesBench::boxed(1);
    let job = &bench.jobs()[0];
    let one = bench.worker("one");
    let first = take(&*one, job, Entry::Fresh, at(0));
    one.finish(&first, made(&first, "old", false))
        .expect("works");
    let shows = |status: &str| {
        wait_until(status, || bench.row(job)["status"] == status);
    };
    shows("completed");
    let second = take(&*one, job, Entry::Redo, at(5));
    shows("running");
    one.finish(&second, failed(&second, "no")).expect("works");
    shows("completed");
}
