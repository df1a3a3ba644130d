//! What every store promises of providers and algorithms: closed for all, never more at once than may run, one that tries.

use std::sync::{Arc, Barrier};

use archi3d_core::domain::id::AlgoKey;
use archi3d_core::domain::limits::Limits;
use archi3d_core::domain::time::Timestamp;
use archi3d_core::store::Providers;
use archi3d_core::store::providers::{Admission, Closable, Closure, Permit, Wait};

use super::Make;
use crate::support::bench::{Bench, Shared, at};
use crate::support::wait_until;

every_store! {
    what_one_worker_closes_is_closed_for_all_until_its_time
    a_closing_never_ends_sooner_because_of_another
    no_time_opens_what_only_a_person_does
    opening_tells_whether_it_was_closed
    of_eight_that_knock_at_once_as_many_are_admitted_as_there_are_slots
    a_slot_is_free_again_when_its_permit_is_dropped
    under_a_rate_the_second_start_waits_and_a_refund_lets_it_in
    one_worker_at_a_time_tries_a_paused_algorithm
    failures_in_a_row_end_with_a_success
    closing_and_looking_at_once_wait_for_nothing_but_each_other
    a_worker_that_looked_before_sees_a_closing
}

fn key(name: &str) -> AlgoKey {
    AlgoKey::parse(name).expect("a valid key")
}

fn closure(until: Option<Timestamp>) -> Closure {
    Closure {
        provider: key("acme"),
        closed_at: at(10),
        until,
        reason: "out of credit".to_owned(),
    }
}

fn shared(bench: &dyn Bench, worker: &str) -> Shared {
    let shared = bench.shared(worker);
    tick(&shared, 10);
    shared
}

/// Lets it be `seconds` after the beginning.
fn tick(shared: &Shared, seconds: u64) {
    shared.store.jobs(at(seconds)).expect("the run can be read");
}

fn is_closed(shared: &Shared, seconds: u64) -> bool {
    tick(shared, seconds);
    let closed = shared
        .providers
        .closed(Closable::Provider, &key("acme"), at(seconds));
    closed.expect("asked").is_some()
}

fn what_one_worker_closes_is_closed_for_all_until_its_time(make: Make) {
    let bench = make(1);
    let (one, two) = (shared(&*bench, "w-1"), shared(&*bench, "w-2"));
    let closing = one
        .providers
        .close(Closable::Provider, &closure(Some(at(100))));
    assert!(closing.expect("closed"));
    let all = two
        .providers
        .all_closed(Closable::Provider, at(20))
        .expect("asked");
    assert_eq!(all.len(), 1);
    assert_eq!(
        (&all[0].provider, all[0].reason.as_str()),
        (&key("acme"), "out of credit")
    );
    assert!(is_closed(&two, 99) && is_closed(&one, 99));
    assert!(!is_closed(&two, 101) && !is_closed(&one, 101));
}

fn a_closing_never_ends_sooner_because_of_another(make: Make) {
    let bench = make(1);
    let worker = shared(&*bench, "w-1");
    for until in [100, 30] {
        let closing = closure(Some(at(until)));
        worker
            .providers
            .close(Closable::Provider, &closing)
            .expect("closed");
    }
    assert!(is_closed(&worker, 60));
    assert!(!is_closed(&worker, 101));
}

fn no_time_opens_what_only_a_person_does(make: Make) {
    let bench = make(1);
    let worker = shared(&*bench, "w-1");
    for until in [None, Some(at(30))] {
        worker
            .providers
            .close(Closable::Provider, &closure(until))
            .expect("closed");
    }
    assert!(is_closed(&worker, 1_000_000));
}

fn opening_tells_whether_it_was_closed(make: Make) {
    let bench = make(1);
    let (one, two) = (shared(&*bench, "w-1"), shared(&*bench, "w-2"));
    assert!(
        !one.providers
            .open(Closable::Provider, &key("acme"))
            .expect("asked")
    );
    one.providers
        .close(Closable::Provider, &closure(None))
        .expect("closed");
    assert!(
        two.providers
            .open(Closable::Provider, &key("acme"))
            .expect("asked")
    );
    assert!(!is_closed(&one, 20));
}

fn admit(providers: &Arc<dyn Providers>, limits: Limits) -> Result<Permit, Wait> {
    match providers
        .admit(&key("acme"), limits, false, at(20))
        .expect("asked")
    {
        Admission::Go(permit) => Ok(permit),
        Admission::Wait(wait) => Err(wait),
    }
}

const TWO: Limits = Limits {
    max_parallel: Some(2),
    rate_per_min: None,
};

fn of_eight_that_knock_at_once_as_many_are_admitted_as_there_are_slots(make: Make) {
    let bench = make(1);
    let workers: Vec<Shared> = (0..4).map(|n| shared(&*bench, &format!("w-{n}"))).collect();
    let start = Barrier::new(8);
    let permits: Vec<Permit> = std::thread::scope(|scope| {
        let knocking: Vec<_> = (0..8)
            .map(|n| {
                let (providers, start) = (&workers[n % 4].providers, &start);
                scope.spawn(move || {
                    start.wait();
                    (0..5)
                        .filter_map(|_| admit(providers, TWO).ok())
                        .collect::<Vec<_>>()
                })
            })
            .collect();
        let knocking = knocking.into_iter();
        knocking
            .flat_map(|thread| thread.join().expect("no panic"))
            .collect()
    });
    assert_eq!(permits.len(), 2);
}

fn a_slot_is_free_again_when_its_permit_is_dropped(make: Make) {
    let bench = make(1);
    let (one, two) = (shared(&*bench, "w-1"), shared(&*bench, "w-2"));
    let held = [&one, &two].map(|worker| admit(&worker.providers, TWO).expect("a slot"));
    assert_eq!(admit(&two.providers, TWO).map(drop), Err(Wait::Slots(2)));
    drop(held);
    assert!(admit(&two.providers, TWO).is_ok());
}

fn under_a_rate_the_second_start_waits_and_a_refund_lets_it_in(make: Make) {
    let slow = Limits {
        max_parallel: None,
        rate_per_min: Some(1.0),
    };
    let bench = make(1);
    let worker = shared(&*bench, "w-1");
    let first = admit(&worker.providers, slow).expect("the first");
    assert!(matches!(admit(&worker.providers, slow), Err(Wait::Rate(_))));
    worker
        .providers
        .refund(&key("acme"), slow)
        .expect("given back");
    drop(first);
    assert!(admit(&worker.providers, slow).is_ok());
}

fn one_worker_at_a_time_tries_a_paused_algorithm(make: Make) {
    let bench = make(1);
    let (one, two) = (shared(&*bench, "w-1"), shared(&*bench, "w-2"));
    let paused = Closure {
        provider: key("fake"),
        ..closure(None)
    };
    one.providers
        .close(Closable::Algo, &paused)
        .expect("paused");
    let seen = two.providers.closed(Closable::Algo, &key("fake"), at(20));
    assert!(seen.expect("asked").is_some());
    let probe = one.providers.try_probe(&key("fake")).expect("asked");
    assert!(probe.is_some());
    assert!(
        two.providers
            .try_probe(&key("fake"))
            .expect("asked")
            .is_none()
    );
    drop(probe);
    assert!(
        two.providers
            .try_probe(&key("fake"))
            .expect("asked")
            .is_some()
    );
}

fn failures_in_a_row_end_with_a_success(make: Make) {
    let bench = make(1);
    let worker = shared(&*bench, "w-1");
    let ended = |failed| {
        worker
            .providers
            .ended(&key("fake"), failed)
            .expect("counted")
    };
    assert_eq!([true, true, true].map(ended), [1, 2, 3]);
    assert_eq!(ended(false), 0);
    assert_eq!(ended(true), 1);
}

fn closing_and_looking_at_once_wait_for_nothing_but_each_other(make: Make) {
    let bench = make(1);
    let worker = shared(&*bench, "w-1");
    let start = Barrier::new(3);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            start.wait();
            for _ in 0..60 {
                let closing = closure(None);
                worker
                    .providers
                    .close(Closable::Provider, &closing)
                    .expect("closed");
                worker
                    .providers
                    .open(Closable::Provider, &key("acme"))
                    .expect("opened");
            }
        });
        for _ in 0..2 {
            scope.spawn(|| {
                start.wait();
                for _ in 0..200 {
                    let seen = worker
                        .providers
                        .closed(Closable::Provider, &key("acme"), at(20));
                    seen.expect("asked");
                }
            });
        }
    });
    assert!(!is_closed(&worker, 20));
}

fn a_worker_that_looked_before_sees_a_closing(make: Make) {
    let bench = make(1);
    let (one, two) = (shared(&*bench, "w-1"), shared(&*bench, "w-2"));
    assert!(!is_closed(&one, 20) && !is_closed(&two, 20));
    two.providers
        .close(Closable::Provider, &closure(None))
        .expect("closed");
    // At once where it was closed, and elsewhere within a second or two.
    assert!(is_closed(&two, 20));
    wait_until("the other worker sees it", || is_closed(&one, 20));
}
