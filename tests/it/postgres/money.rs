//! Money: caps exact whoever reserves at the same moment, every attempt settled once.

use std::sync::Barrier;

use archi3d_core::domain::money::Usd;
use archi3d_core::store::postgres::buying;
use archi3d_core::store::postgres::ending::{self, Release};
use archi3d_core::store::postgres::money::{self, Cap, Caps, Reserved, Settled, Sums};

use super::Bench;

const PRICE: f64 = 0.30;

fn caps(run: Option<f64>, day: Option<f64>) -> Caps {
    Caps {
        run: run.map(Usd::of),
        day: day.map(Usd::of),
    }
}

fn sums(spent: f64, reserved: f64) -> Sums {
    Sums {
        spent: Usd::of(spent),
        reserved: Usd::of(reserved),
    }
}

fn run_sums(bench: &mut Bench) -> Sums {
    money::run_sums(&mut bench.work, bench.run_no).expect("asked")
}

#[test]
fn of_eight_that_reserve_at_once_as_many_are_granted_as_the_cap_bears() {
    let Some(mut bench) = Bench::new() else {
        return;
    };
    for limits in [caps(Some(1.0), None), caps(None, Some(1.0 + 3.0 * PRICE))] {
        bench.jobs("a", 8);
        let held: Vec<_> = (0..8).map(|_| bench.take().hold).collect();
        let start = Barrier::new(8);
        let granted: usize = std::thread::scope(|scope| {
            let reserve = |hold| {
                let mut connection = bench.connect();
                let start = &start;
                scope.spawn(move || {
                    start.wait();
                    let answer = money::reserve(&mut connection, &hold, Usd::of(PRICE), limits)
                        .expect("asked");
                    usize::from(matches!(answer, Reserved::Yes { .. }))
                })
            };
            let threads: Vec<_> = held.into_iter().map(reserve).collect();
            threads
                .into_iter()
                .map(|thread| thread.join().expect("no panic"))
                .sum()
        });
        assert_eq!(granted, 3);
    }
    assert_eq!(run_sums(&mut bench), sums(0.0, 6.0 * PRICE));
    assert_eq!(bench.number("SELECT count(*) FROM archi3d.reservations"), 6);
}

#[test]
fn a_refusal_names_its_cap_and_changes_nothing() {
    let Some(mut bench) = Bench::new() else {
        return;
    };
    let hold = bench.one().hold;
    let refused = money::reserve(
        &mut bench.work,
        &hold,
        Usd::of(2.0),
        caps(Some(5.0), Some(1.0)),
    )
    .expect("asked");
    assert_eq!(refused, Reserved::No(Cap::Day, Sums::default()));
    assert_eq!(run_sums(&mut bench), Sums::default());
    assert_eq!(bench.number("SELECT count(*) FROM archi3d.ledger"), 0);
}

#[test]
fn an_attempt_is_settled_once_and_a_late_bill_ends_no_newer_reservation() {
    let Some(mut bench) = Bench::new() else {
        return;
    };
    let first = bench.one().hold;
    money::reserve(&mut bench.work, &first, Usd::of(PRICE), Caps::default()).expect("granted");
    assert_eq!(
        money::settle(&mut bench.work, &first, Usd::of(0.25), false).expect("settled"),
        Settled::Yes
    );
    assert_eq!(
        money::settle(&mut bench.work, &first, Usd::of(0.25), false).expect("settled"),
        Settled::Before
    );
    assert_eq!(run_sums(&mut bench), sums(0.25, 0.0));

    bench.age();
    let second = bench.take_rare("w2").pop().expect("taken over").hold;
    money::reserve(&mut bench.work, &second, Usd::of(PRICE), Caps::default()).expect("granted");
    assert_eq!(
        money::settle(&mut bench.work, &first, Usd::of(0.5), false).expect("settled"),
        Settled::Before
    );
    assert_eq!(run_sums(&mut bench), sums(0.25, PRICE));
}

#[test]
fn a_reservation_is_taken_over_and_nothing_but_a_bill_frees_it_then() {
    let Some(mut bench) = Bench::new() else {
        return;
    };
    let first = bench.one().hold;
    money::reserve(&mut bench.work, &first, Usd::of(PRICE), Caps::default()).expect("granted");
    assert_eq!(
        money::reserve(
            &mut bench.work,
            &first,
            Usd::of(PRICE),
            caps(Some(PRICE), None)
        )
        .expect("asked"),
        Reserved::Yes {
            run: sums(0.0, PRICE),
            day: sums(0.0, PRICE)
        },
        "asked again, it counts once"
    );
    bench.age();
    let second = bench.take_rare("w2").pop().expect("taken over").hold;
    assert_eq!(
        money::reserve(&mut bench.work, &first, Usd::of(PRICE), Caps::default()).expect("asked"),
        Reserved::Fenced
    );
    money::reserve(
        &mut bench.work,
        &second,
        Usd::of(PRICE),
        caps(Some(PRICE), None),
    )
    .expect("granted");
    assert_eq!(run_sums(&mut bench), sums(0.0, PRICE));
    assert_eq!(
        money::settle(&mut bench.work, &second, Usd::ZERO, false).expect("told"),
        Settled::Stays
    );
    assert_eq!(run_sums(&mut bench), sums(0.0, PRICE));
    assert_eq!(
        money::settle(&mut bench.work, &second, Usd::of(0.4), false).expect("told"),
        Settled::Yes
    );
    assert_eq!(run_sums(&mut bench), sums(0.4, 0.0));
    let above = money::above_estimate(&mut bench.work, bench.run_no).expect("asked");
    assert_eq!(above.len(), 1);
    assert_eq!(above[0].1, Usd::of(0.4));
}

#[test]
fn who_may_buy_again_reserves_beside_what_may_have_been_spent() {
    let Some(mut bench) = Bench::new() else {
        return;
    };
    let first = bench.one().hold;
    money::reserve(&mut bench.work, &first, Usd::of(PRICE), Caps::default()).expect("granted");
    let how = Release {
        reason: std::borrow::Cow::Borrowed("interrupted"),
        pause: std::time::Duration::ZERO,
        as_if_died: true,
        redo_waits: false,
    };
    ending::release(&mut bench.work, &[first], &how).expect("released");
    let second = bench.take().hold;
    let tight = caps(Some(0.5), None);
    let refused =
        money::reserve_beside(&mut bench.work, &second, Usd::of(PRICE), tight).expect("asked");
    assert!(matches!(refused, Reserved::No(Cap::Run, _)), "{refused:?}");
    assert_eq!(run_sums(&mut bench), sums(0.0, PRICE));
    money::reserve_beside(
        &mut bench.work,
        &second,
        Usd::of(PRICE),
        caps(Some(0.6), None),
    )
    .expect("granted");
    assert_eq!(run_sums(&mut bench), sums(PRICE, PRICE));
    assert_eq!(
        money::settle(&mut bench.work, &first, Usd::of(9.0), false).expect("told"),
        Settled::Before
    );
    let open = money::open(&mut bench.work, Some(bench.run_no), None).expect("asked");
    assert_eq!(
        (open.len(), open[0].hold, open[0].taken_over),
        (1, second, false)
    );
    money::settle(&mut bench.work, &second, Usd::of(PRICE), false).expect("settled");
    let totals = money::totals(&mut bench.work, Some(bench.run_no)).expect("asked");
    assert_eq!(
        totals.iter().map(|one| one.amount.micros()).sum::<i64>(),
        600_000
    );
}

#[test]
fn money_counts_for_the_day_on_which_it_was_granted_last() {
    let Some(mut bench) = Bench::new() else {
        return;
    };
    let hold = bench.one().hold;
    money::reserve(&mut bench.work, &hold, Usd::of(PRICE), Caps::default()).expect("granted");
    bench.run("UPDATE archi3d.reservations SET day_scope = 'day:2001-01-01'");
    bench.run("UPDATE archi3d.budgets SET scope = 'day:2001-01-01' WHERE scope LIKE 'day:%'");
    money::reserve(
        &mut bench.work,
        &hold,
        Usd::of(PRICE),
        caps(None, Some(PRICE)),
    )
    .expect("granted");
    assert_eq!(
        money::day_sums(&mut bench.work, "2001-01-01").expect("asked"),
        Sums::default()
    );
    let today = money::day_of(chrono::Utc::now());
    assert_eq!(
        money::day_sums(&mut bench.work, &today).expect("asked"),
        sums(0.0, PRICE)
    );
}

#[test]
fn a_bill_of_whoever_lost_a_purchase_to_another_is_not_added_to_that_ones() {
    let Some(mut bench) = Bench::new() else {
        return;
    };
    let first = bench.one().hold;
    money::reserve(&mut bench.work, &first, Usd::of(PRICE), caps(None, None)).expect("asked");
    assert!(buying::submitted(&mut bench.work, &first, "r-1", None).expect("told"));
    bench.age();
    let second = bench.take_rare("w2").pop().expect("taken over").hold;
    let settle = |bench: &mut Bench, hold, usd| {
        money::settle(&mut bench.work, hold, Usd::of(usd), false).expect("told")
    };
    assert_eq!(settle(&mut bench, &first, PRICE), Settled::Successors);
    assert_eq!(run_sums(&mut bench), sums(0.0, PRICE));
    assert_eq!(settle(&mut bench, &second, PRICE), Settled::Yes);
    assert_eq!(run_sums(&mut bench), sums(PRICE, 0.0));
}
