//! What every budget promises: limits exact whoever asks, each attempt settled once, nothing forgotten.

use std::sync::Barrier;

use archi3d_core::domain::budget::{AttemptKey, CapKind, Caps, Grant, Usage};
use archi3d_core::domain::job::Entry;
use archi3d_core::domain::lease::Lease;
use archi3d_core::store::{Budget, ReleaseReason};

use super::Make;
use crate::support::bench::{Bench, Shared, at, run_id, take};

every_store! {
    of_eight_that_reserve_at_once_as_many_are_granted_as_the_limit_bears
    a_refusal_names_its_limit_and_changes_nothing
    asking_whether_it_would_be_granted_reserves_nothing
    an_attempt_is_settled_once_however_often_it_is_told
    the_next_attempt_takes_the_reservation_over
    who_may_buy_again_reserves_beside_what_may_have_been_billed
    what_was_bought_is_reserved_whatever_the_limits_are
    a_reservation_outlives_its_worker
    a_limit_of_the_day_counts_what_was_spent
}

const PRICE: f64 = 0.30;

fn of_run(usd: f64) -> Caps {
    Caps {
        run_usd: Some(usd),
        day_usd: None,
    }
}

#[track_caller]
fn expect_usage(budget: &dyn Budget, spent_usd: f64, reserved_usd: f64) {
    let expected = Usage {
        spent_usd,
        reserved_usd,
    };
    assert_eq!(budget.usage(&run_id()).expect("asked"), expected);
}

/// Takes the first job for its next attempt.
fn first(bench: &dyn Bench, shared: &Shared) -> Lease {
    take(&*shared.store, &bench.jobs()[0], Entry::Fresh, at(1))
}

fn of_eight_that_reserve_at_once_as_many_are_granted_as_the_limit_bears(make: Make) {
    let bench = make(8);
    let workers: Vec<Shared> = (0..4).map(|n| bench.shared(&format!("w-{n}"))).collect();
    let leases: Vec<Lease> = bench
        .jobs()
        .iter()
        .enumerate()
        .map(|(n, job)| take(&*workers[n % 4].store, job, Entry::Fresh, at(1)))
        .collect();
    let start = Barrier::new(8);
    let granted: usize = std::thread::scope(|scope| {
        let asking: Vec<_> = leases
            .iter()
            .enumerate()
            .map(|(n, lease)| {
                let (budget, start) = (&workers[n % 4].budget, &start);
                scope.spawn(move || {
                    start.wait();
                    let key = AttemptKey::from(lease);
                    let grant = budget.reserve(&key, PRICE, of_run(1.0), at(2));
                    usize::from(matches!(grant.expect("asked"), Grant::Yes(_)))
                })
            })
            .collect();
        let asking = asking.into_iter();
        asking.map(|thread| thread.join().expect("no panic")).sum()
    });
    assert_eq!(granted, 3);
    expect_usage(&*workers[0].budget, 0.0, 0.9);
}

fn a_refusal_names_its_limit_and_changes_nothing(make: Make) {
    let bench = make(1);
    let worker = bench.shared("w-1");
    let key = AttemptKey::from(&first(&*bench, &worker));
    let caps = Caps {
        run_usd: Some(5.0),
        day_usd: Some(1.0),
    };
    match worker
        .budget
        .reserve(&key, 2.0, caps, at(2))
        .expect("asked")
    {
        Grant::No(level) => assert_eq!(level.cap, CapKind::Day),
        granted @ Grant::Yes(_) => panic!("{granted:?}"),
    }
    expect_usage(&*worker.budget, 0.0, 0.0);
    assert_eq!(worker.budget.open(&run_id(), None).expect("asked"), []);
}

fn asking_whether_it_would_be_granted_reserves_nothing(make: Make) {
    let bench = make(1);
    let worker = bench.shared("w-1");
    let run = run_id();
    let of = (&run, &bench.jobs()[0]);
    for _ in 0..3 {
        let grant = worker
            .budget
            .would_grant(of, PRICE, of_run(0.5), false, at(2));
        assert!(matches!(grant.expect("asked"), Grant::Yes(_)));
    }
    let grant = worker
        .budget
        .would_grant(of, 0.6, of_run(0.5), false, at(2));
    assert!(matches!(grant.expect("asked"), Grant::No(_)));
    expect_usage(&*worker.budget, 0.0, 0.0);
}

fn an_attempt_is_settled_once_however_often_it_is_told(make: Make) {
    let bench = make(1);
    let worker = bench.shared("w-1");
    let key = AttemptKey::from(&first(&*bench, &worker));
    let budget = &*worker.budget;
    budget
        .reserve(&key, PRICE, of_run(1.0), at(2))
        .expect("asked");
    for _ in 0..3 {
        budget.settle(&key, 0.25, at(3)).expect("settled");
    }
    expect_usage(budget, 0.25, 0.0);
    let again = bench.shared("w-2");
    again.budget.settle(&key, 0.25, at(4)).expect("settled");
    expect_usage(&*again.budget, 0.25, 0.0);
}

/// Lets the first attempt of the first job reserve and give the job back; returns the second.
fn second_attempt(bench: &dyn Bench, worker: &Shared) -> AttemptKey {
    let lease = first(bench, worker);
    let key = AttemptKey::from(&lease);
    let reserved = worker.budget.reserve(&key, PRICE, of_run(1.0), at(2));
    assert!(matches!(reserved.expect("asked"), Grant::Yes(_)));
    let released = worker
        .store
        .release(&lease, ReleaseReason::Interrupted, None, at(3));
    released.expect("released");
    AttemptKey::from(&take(&*worker.store, &bench.jobs()[0], Entry::Fresh, at(4)))
}

fn the_next_attempt_takes_the_reservation_over(make: Make) {
    let bench = make(1);
    let worker = bench.shared("w-1");
    let next = second_attempt(&*bench, &worker);
    let budget = &*worker.budget;
    let grant = budget
        .reserve(&next, PRICE, of_run(0.3), at(5))
        .expect("asked");
    assert!(matches!(grant, Grant::Yes(_)), "{grant:?}");
    expect_usage(budget, 0.0, 0.3);
    budget.settle(&next, 0.2, at(6)).expect("settled");
    expect_usage(budget, 0.2, 0.0);
}

fn who_may_buy_again_reserves_beside_what_may_have_been_billed(make: Make) {
    let bench = make(1);
    let worker = bench.shared("w-1");
    let next = second_attempt(&*bench, &worker);
    let budget = &*worker.budget;
    let refused = budget.reserve_additional(&next, PRICE, of_run(0.5), at(5));
    assert!(matches!(refused.expect("asked"), Grant::No(_)));
    expect_usage(budget, 0.0, 0.3);
    let granted = budget.reserve_additional(&next, PRICE, of_run(0.6), at(5));
    assert!(matches!(granted.expect("asked"), Grant::Yes(_)));
    expect_usage(budget, 0.3, 0.3);
}

fn what_was_bought_is_reserved_whatever_the_limits_are(make: Make) {
    let bench = make(1);
    let worker = bench.shared("w-1");
    let key = AttemptKey::from(&first(&*bench, &worker));
    let budget = &*worker.budget;
    budget
        .reserve(&key, PRICE, of_run(0.3), at(2))
        .expect("asked");
    budget.raise(&key, 0.9, at(3)).expect("noted");
    expect_usage(budget, 0.0, 0.9);
}

fn a_reservation_outlives_its_worker(make: Make) {
    let bench = make(2);
    let worker = bench.shared("w-1");
    let key = AttemptKey::from(&first(&*bench, &worker));
    worker
        .budget
        .reserve(&key, PRICE, of_run(1.0), at(2))
        .expect("asked");
    let Shared { store, budget, .. } = worker;
    drop(budget);
    bench.die(store, &key.worker_id);
    let next = bench.shared("w-2");
    let open = next.budget.open(&run_id(), None).expect("asked");
    assert_eq!(open, [(key.clone(), PRICE)]);
    let reserved = next.budget.reserved_for(&run_id(), &key.job_id);
    assert_eq!(reserved.expect("asked"), Some((key, PRICE)));
}

fn a_limit_of_the_day_counts_what_was_spent(make: Make) {
    let bench = make(2);
    let worker = bench.shared("w-1");
    let caps = Caps {
        run_usd: None,
        day_usd: Some(0.5),
    };
    let key = AttemptKey::from(&first(&*bench, &worker));
    worker
        .budget
        .reserve(&key, PRICE, caps, at(2))
        .expect("asked");
    worker.budget.settle(&key, PRICE, at(3)).expect("settled");
    let lease = take(&*worker.store, &bench.jobs()[1], Entry::Fresh, at(4));
    let grant = worker
        .budget
        .reserve(&AttemptKey::from(&lease), PRICE, caps, at(4));
    assert!(matches!(grant.expect("asked"), Grant::No(level) if level.cap == CapKind::Day));
    let levels = worker.budget.levels(&run_id(), caps, at(4)).expect("asked");
    assert_eq!(levels.len(), 1);
    assert!((levels[0].spent_usd - PRICE).abs() < 1e-9, "{levels:?}");
}
