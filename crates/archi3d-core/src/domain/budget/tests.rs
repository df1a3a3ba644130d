//! What holds for the sums of a ledger, by example and by chance.

use proptest::prelude::*;

use super::*;

fn now() -> Timestamp {
    Timestamp::parse("2026-01-01T12:00:00Z").unwrap()
}

fn run() -> RunId {
    RunId::parse("r").unwrap()
}

fn job(n: usize) -> JobId {
    JobId::parse(&format!("j{n}")).unwrap()
}

/// The key of the job's attempt `attempt`.
fn attempt_key(n: usize, attempt: u32) -> AttemptKey {
    AttemptKey {
        run_id: run(),
        job_id: job(n),
        attempt,
        nonce: Nonce::new(format!("{n}-{attempt}")),
        worker_id: WorkerId::parse("w").unwrap(),
    }
}

fn entry(attempt_key: AttemptKey, change: Change) -> LedgerEntry {
    LedgerEntry {
        by_hand: false,
        at: now(),
        attempt_key,
        change,
    }
}

fn reserved(n: usize, attempt: u32, usd: f64) -> LedgerEntry {
    entry(attempt_key(n, attempt), Change::Reserved { usd })
}

fn settled(n: usize, attempt: u32, usd: f64) -> LedgerEntry {
    entry(attempt_key(n, attempt), Change::Settled { usd })
}

const DOLLAR: Caps = Caps {
    run_usd: Some(1.0),
    day_usd: None,
};

fn may_start(ledger: &Ledger, n: usize, price: f64, caps: Caps) -> bool {
    matches!(
        ledger.grant(&run(), &job(n), price, caps, now()),
        Grant::Yes(_)
    )
}

fn usage(spent_usd: f64, reserved_usd: f64) -> Usage {
    Usage {
        spent_usd,
        reserved_usd,
    }
}

#[test]
fn three_jobs_of_thirty_cents_fit_into_a_dollar() {
    let mut ledger = Ledger::default();
    for n in 0..3 {
        assert!(may_start(&ledger, n, 0.3, DOLLAR));
        ledger.take(&reserved(n, 1, 0.3));
    }
    let Grant::No(level) = ledger.grant(&run(), &job(3), 0.3, DOLLAR, now()) else {
        panic!("a fourth job fits");
    };
    assert_eq!((level.cap, level.cap_usd), (CapKind::Run, 1.0));
    assert_eq!((level.reserved_usd, level.left_usd()), (0.9, 0.1));
    assert!(may_start(&ledger, 4, 0.1, DOLLAR), "a cheaper one fits");
}

#[test]
fn ten_jobs_of_ten_cents_fit_exactly() {
    let mut ledger = Ledger::default();
    for n in 0..10 {
        assert!(may_start(&ledger, n, 0.1, DOLLAR));
        ledger.take(&settled(n, 1, 0.1));
    }
    assert!(!may_start(&ledger, 10, 0.000_001, DOLLAR));
}

#[test]
fn the_next_attempt_of_a_job_takes_its_reservation_over() {
    let mut ledger = Ledger::default();
    ledger.take(&reserved(1, 1, 0.9));
    assert!(!may_start(&ledger, 2, 0.2, DOLLAR));
    assert!(may_start(&ledger, 1, 0.9, DOLLAR));
    ledger.take(&reserved(1, 2, 0.9));
    assert_eq!(ledger.usage(&run()), usage(0.0, 0.9));
    ledger.take(&settled(1, 2, 0.5));
    assert_eq!(ledger.usage(&run()), usage(0.5, 0.0));
}

#[test]
fn a_late_bill_of_a_lost_attempt_leaves_the_reservation_of_the_next_one_alone() {
    let mut ledger = Ledger::default();
    ledger.take(&reserved(1, 1, 0.3));
    ledger.take(&reserved(1, 2, 0.3));
    ledger.take(&settled(1, 1, 0.3));
    assert_eq!(ledger.usage(&run()), usage(0.3, 0.3));
    ledger.take(&settled(1, 2, 0.3));
    assert_eq!(ledger.usage(&run()), usage(0.6, 0.0));
}

#[test]
fn a_day_is_over_at_midnight_and_counts_all_runs() {
    let caps = Caps {
        run_usd: None,
        day_usd: Some(1.0),
    };
    let mut ledger = Ledger::default();
    let mut other = settled(1, 1, 1.0);
    other.attempt_key.run_id = RunId::parse("other").unwrap();
    ledger.take(&other);
    assert!(!may_start(&ledger, 2, 0.1, caps));
    let tomorrow = now().plus(std::time::Duration::from_hours(24));
    let grant = ledger.grant(&run(), &job(2), 0.1, caps, tomorrow);
    assert!(matches!(grant, Grant::Yes(_)));
}

#[test]
fn money_counts_for_the_day_on_which_it_was_granted() {
    let caps = Caps {
        run_usd: None,
        day_usd: Some(1.0),
    };
    let mut ledger = Ledger::default();
    ledger.take(&reserved(1, 1, 1.0));
    let tomorrow = now().plus(std::time::Duration::from_hours(24));
    ledger.take(&LedgerEntry {
        by_hand: false,
        at: tomorrow,
        ..settled(1, 1, 1.0)
    });
    assert!(!may_start(&ledger, 2, 0.1, caps), "today is used up");
    let grant = ledger.grant(&run(), &job(2), 1.0, caps, tomorrow);
    assert!(matches!(grant, Grant::Yes(_)), "tomorrow is not");
}

#[test]
fn only_what_was_surely_not_billed_is_free_again_after_a_failure() {
    use ErrorClass::{Permanent, Transient, Unknown};
    let bill = Bill::of_failure;
    assert_eq!(bill(Transient, None, false), Bill::Settled(0.0));
    assert_eq!(bill(Permanent, None, false), Bill::Settled(0.0));
    assert_eq!(bill(Transient, None, true), Bill::InDoubt);
    assert_eq!(bill(Unknown, None, false), Bill::InDoubt);
    assert_eq!(bill(Permanent, Some(0.3), true), Bill::InDoubt);
    assert_eq!(bill(Permanent, Some(0.3), false), Bill::Settled(0.3));
    assert_eq!(bill(Unknown, Some(0.3), false), Bill::Settled(0.3));
    assert_eq!(bill(Unknown, Some(0.3), true), Bill::InDoubt);
}

#[test]
fn lines_are_flat_objects_that_read_back_the_same() {
    let line = serde_json::to_string(&reserved(1, 2, 0.3)).unwrap();
    assert_eq!(
        line,
        "{\"at\":\"2026-01-01T12:00:00+00:00\",\"run_id\":\"r\",\"job_id\":\"j1\",\"attempt\":2,\
         \"nonce\":\"1-2\",\"worker_id\":\"w\",\"event\":\"reserved\",\"usd\":0.3}"
    );
    let read: LedgerEntry = serde_json::from_str(&line).unwrap();
    assert_eq!(read, reserved(1, 2, 0.3));
}

proptest! {
    #[test]
    fn what_is_committed_never_exceeds_the_cap(
        steps in proptest::collection::vec((0usize..6, 0.0f64..0.5, any::<bool>()), 0..60)
    ) {
        let mut ledger = Ledger::default();
        let mut attempts = [0u32; 6];
        for (n, price, settle) in steps {
            let own = ledger.reserved_for(&run(), &job(n));
            if let (true, Some(usd)) = (settle, own) {
                ledger.take(&settled(n, attempts[n], usd));
            } else if may_start(&ledger, n, price, DOLLAR) {
                attempts[n] += 1;
                ledger.take(&reserved(n, attempts[n], price));
            }
            let usage = ledger.usage(&run());
            prop_assert!(usage.spent_usd + usage.reserved_usd <= 1.000_001);
        }
    }

    #[test]
    fn a_ledger_whose_settlements_are_told_again_says_the_same(
        steps in proptest::collection::vec((0usize..4, 1u32..4, 0.0f64..0.5, any::<bool>()), 0..40),
        again in proptest::collection::vec(0usize..40, 0..20)
    ) {
        let lines: Vec<LedgerEntry> = steps
            .into_iter()
            .map(|(n, attempt, usd, settle)| {
                if settle {
                    settled(n, attempt, usd)
                } else {
                    reserved(n, attempt, usd)
                }
            })
            .collect();
        let mut once = Ledger::default();
        for line in &lines {
            once.take(line);
        }
        let mut twice = once.clone();
        for line in again.iter().filter_map(|at| lines.get(*at)) {
            if matches!(line.change, Change::Settled { .. }) {
                twice.take(line);
            }
        }
        prop_assert_eq!(once, twice);
    }
}

#[test]
fn a_bill_ends_the_reservation_of_an_earlier_attempt_that_nobody_took_over() {
    let mut ledger = Ledger::default();
    ledger.take(&reserved(1, 1, 0.3));
    ledger.take(&settled(1, 2, 0.3));
    assert_eq!(ledger.usage(&run()), usage(0.3, 0.0));
}

#[test]
fn what_was_taken_over_stays_reserved_when_the_later_attempt_was_not_billed() {
    let mut ledger = Ledger::default();
    ledger.take(&reserved(1, 1, 0.3));
    ledger.take(&reserved(1, 2, 0.3));
    ledger.take(&settled(1, 2, 0.0));
    assert_eq!(ledger.usage(&run()), usage(0.0, 0.3));
    ledger.take(&reserved(1, 3, 0.3));
    ledger.take(&settled(1, 3, 0.3));
    assert_eq!(ledger.usage(&run()), usage(0.3, 0.0));
}

#[test]
fn no_sum_is_so_large_that_it_makes_room() {
    let mut ledger = Ledger::default();
    for n in 0..3_000 {
        ledger.take(&reserved(n, 1, 1e300));
        ledger.take(&settled(n + 10_000, 1, 1e300));
    }
    assert!(!may_start(&ledger, 99_999, 0.01, DOLLAR));
}

#[test]
fn what_a_person_says_was_not_billed_frees_what_an_attempt_took_over() {
    let mut ledger = Ledger::default();
    ledger.take(&reserved(1, 1, 0.3));
    ledger.take(&reserved(1, 2, 0.3));
    let unbilled = settled(1, 2, 0.0);
    ledger.take(&unbilled);
    let run = unbilled.attempt_key.run_id.clone();
    assert!((ledger.usage(&run).reserved_usd - 0.3).abs() < 1e-9);
    ledger.take(&LedgerEntry {
        by_hand: true,
        ..unbilled
    });
    assert!(ledger.usage(&run).reserved_usd.abs() < 1e-9);
}

#[test]
fn jobs_that_cost_more_than_was_reserved_are_remembered() {
    let mut ledger = Ledger::default();
    for n in 1..=3 {
        ledger.take(&reserved(n, 1, 0.3));
    }
    ledger.take(&settled(1, 1, 0.3));
    ledger.take(&settled(2, 1, 0.5));
    // Its provider named another price when it accepted the request.
    ledger.take(&reserved(3, 1, 0.4));
    ledger.take(&settled(3, 1, 0.4));
    // Nothing was reserved for what is said to be free.
    let free = settled(4, 1, 0.25);
    ledger.take(&free);
    let told: Vec<f64> = ledger
        .higher_costs(&free.attempt_key.run_id, free.at)
        .map(|(_, _, usd)| usd)
        .collect();
    assert_eq!(told, [0.5, 0.4, 0.25]);
}
