//! What every store promises to those who look at the money of its runs: `store::runs::Runs`.

use archi3d_core::domain::id::JobId;
use archi3d_core::domain::job::Entry;
use archi3d_core::domain::money::Usd;

use super::looking::{ALGOS, overview, put_off, reserve};
use super::{MakePlace, fresh};
use crate::support::bench::{at, run_id, take};

every_place! {
    money_is_told_as_it_counts_for_limits
    money_from_before_the_run_came_counts
    what_a_person_says_a_job_cost_ends_its_reservation
    what_cost_more_than_was_reserved_is_told_by_algorithm
}

fn about(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-9, "{found}, not {expected}");
}

fn money_is_told_as_it_counts_for_limits(make: MakePlace) {
    let place = fresh(make, &ALGOS);
    let worker = place.worker("w-1");
    let lease = take(&*worker.store, &place.job(0), Entry::Fresh, place.at(1));
    let key = reserve(&worker, &lease, 0.3, &place);
    let second = take(&*worker.store, &place.job(1), Entry::Fresh, place.at(2));
    let other = reserve(&worker, &second, 0.5, &place);
    worker
        .budget
        .settle(&other, 0.2, place.at(3))
        .expect("settled");
    let money = place.runs().money(&run_id()).expect("told");
    let usage = worker.budget.usage(&run_id()).expect("asked");
    assert_eq!(money.balance.run, usage);
    about(money.balance.run.spent_usd, 0.2);
    about(money.balance.run.reserved_usd, 0.3);
    assert_eq!(money.balance.day, usage);
    assert_eq!(money.reserved.len(), 1);
    let reserved = &money.reserved[&place.job(0)];
    assert_eq!((&reserved.attempt_key, reserved.today), (&key, true));
    about(reserved.usd, 0.3);
    assert_eq!(money.by_hand, []);
    let seen = overview(&place);
    assert_eq!(seen.balance, money.balance);
    assert_eq!(seen.algos[1].spent_usd, Usd::of(0.2));
    assert_eq!(seen.not_registered_usd, Usd::of(0.0));
}

fn money_from_before_the_run_came_counts(make: MakePlace) {
    let place = make(&ALGOS, &|place| {
        let worker = place.worker("w-0");
        let first = take(&*worker.store, &place.job(0), Entry::Fresh, place.at(1));
        let key = reserve(&worker, &first, 0.4, place);
        worker
            .budget
            .settle(&key, 0.4, place.at(2))
            .expect("settled");
        put_off(&worker, &first, place, 3);
        let second = take(&*worker.store, &place.job(1), Entry::Fresh, place.at(4));
        reserve(&worker, &second, 0.25, place);
        put_off(&worker, &second, place, 5);
        worker.store.close(place.at(6)).expect("closed");
        place.die(worker);
    });
    place.at(7);
    let money = place.runs().money(&run_id()).expect("told");
    about(money.balance.run.spent_usd, 0.4);
    about(money.balance.run.reserved_usd, 0.25);
    about(money.reserved[&place.job(1)].usd, 0.25);
    assert_eq!(overview(&place).balance, money.balance);
}

fn what_a_person_says_a_job_cost_ends_its_reservation(make: MakePlace) {
    let place = fresh(make, &ALGOS);
    let worker = place.worker("w-1");
    let lease = take(&*worker.store, &place.job(0), Entry::Fresh, place.at(1));
    let key = reserve(&worker, &lease, 0.3, &place);
    let second = take(&*worker.store, &place.job(1), Entry::Fresh, place.at(2));
    reserve(&worker, &second, 0.5, &place);
    place.at(3);
    place
        .runs()
        .settle_by_hand(&run_id(), &place.job(0), 0.1)
        .expect("settled");
    let money = place.runs().money(&run_id()).expect("told");
    about(money.balance.run.spent_usd, 0.1);
    about(money.balance.run.reserved_usd, 0.5);
    let jobs: Vec<&JobId> = money.reserved.keys().collect();
    assert_eq!(jobs, [&place.job(1)]);
    assert_eq!(money.by_hand.len(), 1);
    let said = &money.by_hand[0];
    assert_eq!((&said.attempt_key, said.at), (&key, at(3)));
    about(said.usd, 0.1);
    assert!(money.settled.contains(&key.nonce));
    // Nothing is reserved for it any more, so nothing changes.
    place
        .runs()
        .settle_by_hand(&run_id(), &place.job(0), 9.0)
        .expect("nothing to do");
    let again = place.runs().money(&run_id()).expect("told");
    assert_eq!(again.balance, money.balance);
}

fn what_cost_more_than_was_reserved_is_told_by_algorithm(make: MakePlace) {
    let place = fresh(make, &ALGOS);
    let worker = place.worker("w-1");
    for (job, reserved, paid) in [(0, 0.3, 0.7), (1, 0.3, 0.2), (2, 0.3, 0.5)] {
        let lease = take(&*worker.store, &place.job(job), Entry::Fresh, place.at(1));
        let key = reserve(&worker, &lease, reserved, &place);
        worker
            .budget
            .settle(&key, paid, place.at(2))
            .expect("settled");
    }
    let highest = place.runs().highest_costs(&run_id()).expect("told");
    let names: Vec<&str> = highest.keys().map(String::as_str).collect();
    assert_eq!(names, ["one"]);
    about(highest["one"], 0.7);
}
