//! A server that stood still or was cut off from all: no live holder is robbed, whoever is answered first. And the dead are
//! judged all the same.
//!
//! That it stood still is that everything happened so much earlier.

use std::time::Duration;

use archi3d_core::domain::id::AlgoKey;
use archi3d_core::domain::lease::Lease;
use archi3d_core::store::postgres::act;
use archi3d_core::store::postgres::gate::{self, Admitted, Limits};
use archi3d_core::store::{Beat, Cancellation, Handing, Lane, Next, Want, WorkerStore};

use crate::support::bench::at;
use crate::support::pg_bench::PgBench;

const USUAL: Duration = Duration::from_secs(60);

/// A run with two jobs, and nobody but the workers of the test.
fn bench() -> Option<PgBench> {
    let bench = PgBench::new(2)?;
    bench.unwatched();
    Some(bench)
}

/// Lets the server stand still, for longer than the usual lease.
fn stand_still(bench: &PgBench) {
    bench.database().run(
        "UPDATE archi3d.serving SET since = since - interval '100 s';
         UPDATE archi3d.workers SET started_at = started_at - interval '100 s', last_seen = last_seen - interval '100 s';
         UPDATE archi3d.provider_slots SET expires_at = expires_at - interval '100 s';
         UPDATE archi3d.jobs SET lease_expires_at = lease_expires_at - interval '100 s' WHERE status = 'running'",
    );
}

/// Claims a job, in whatever way.
fn take(store: &dyn Handing, most: usize) -> Option<Lease> {
    let lanes = [Lane {
        algo: AlgoKey::parse("fake").expect("a key"),
        most,
        bought_only: false,
        free: true,
        trial: None,
    }];
    let want = Want {
        lanes: &lanes,
        most,
        follows: false,
    };
    match store.claim_next(&want, at(0)).expect("asked") {
        Next::Jobs(mut jobs) => jobs.pop().map(|(_, lease)| lease),
        _ => None,
    }
}

/// Takes both jobs of the run.
fn hold(store: &dyn Handing) -> [Lease; 2] {
    [(); 2].map(|()| take(store, 1).expect("a job waits"))
}

#[track_caller]
fn expect_held(holder: &dyn WorkerStore, leases: &[Lease; 2]) {
    let beats = holder.beat_all(&leases.each_ref(), at(0));
    assert!(
        matches!(beats.as_slice(), [Ok(Beat::Held), Ok(Beat::Held)]),
        "{beats:?}"
    );
}

/// Lets a lease go by since the server came back, in which the holder was not heard of.
fn let_a_lease_go_by(bench: &PgBench) {
    bench.lapse("holder");
    bench
        .database()
        .run("UPDATE archi3d.serving SET since = since - interval '61 s'");
}

#[test]
fn a_judge_that_is_answered_first_takes_nothing_over_within_one_lease() {
    let Some(bench) = bench() else { return };
    let (holder, judge) = (bench.store("holder", USUAL), bench.store("judge", USUAL));
    let leases = hold(&holder);
    stand_still(&bench);
    assert!(take(&judge, 1).is_none(), "its own beats are late");
    let _ = judge.beat_all(&[], at(0));
    assert!(take(&judge, 1).is_none(), "the holder's are late, too");
    expect_held(&holder, &leases);
    let_a_lease_go_by(&bench);
    assert!(take(&judge, 1).is_some(), "nobody waits for the dead");
}

#[test]
fn a_worker_that_comes_in_first_neither_judges_nor_hides_that_the_server_stood_still() {
    let Some(bench) = bench() else { return };
    let (holder, judge) = (bench.store("holder", USUAL), bench.store("judge", USUAL));
    let leases = hold(&holder);
    stand_still(&bench);
    // Whatever its own leases are.
    for lease in [USUAL, Duration::from_secs(2)] {
        let newcomer = bench.store(&format!("new{}", lease.as_secs()), lease);
        newcomer.recover(at(0)).expect("it looks around");
        assert!(take(&newcomer, 1).is_none());
    }
    let _ = judge.beat_all(&[], at(0));
    assert!(take(&judge, 1).is_none());
    expect_held(&holder, &leases);
    let_a_lease_go_by(&bench);
    assert!(take(&judge, 1).is_some());
}

#[test]
fn a_worker_that_leaves_first_does_not_hide_that_the_server_stood_still() {
    let Some(bench) = bench() else { return };
    let (holder, judge) = (bench.store("holder", USUAL), bench.store("judge", USUAL));
    let leaver = bench.store("leaver", USUAL);
    let leases = hold(&holder);
    stand_still(&bench);
    leaver.close(at(0)).expect("it leaves");
    let _ = judge.beat_all(&[], at(0));
    assert!(take(&judge, 1).is_none());
    expect_held(&holder, &leases);
}

#[test]
fn a_worker_with_long_leases_neither_judges_short_ones_too_soon_nor_hides_that_the_server_stood_still()
 {
    let Some(bench) = bench() else { return };
    let holder = bench.store("holder", USUAL);
    let slow = bench.store("slow", USUAL * 10);
    let leases = hold(&holder);
    stand_still(&bench);
    // It beats so rarely that it was not even late.
    assert!(take(&slow, 1).is_none());
    let _ = slow.beat_all(&[], at(0));
    let judge = bench.store("judge", USUAL);
    assert!(take(&judge, 1).is_none());
    assert!(take(&slow, 1).is_none());
    expect_held(&holder, &leases);
    bench.lapse("holder");
    let sooner = "UPDATE archi3d.serving SET since = since - interval '601 s'";
    bench.database().run(sooner);
    assert!(take(&slow, 1).is_some());
}

#[test]
fn a_sweep_and_a_cancellation_that_are_answered_first_take_nothing_from_the_living() {
    let Some(bench) = bench() else { return };
    let holder = bench.store("holder", USUAL);
    let leases = hold(&holder);
    stand_still(&bench);
    let sweep = || {
        let mut own = bench.database().connect();
        let swept = act::sweep(&mut own, 9, USUAL, None);
        swept.expect("swept").total()
    };
    assert_eq!(sweep(), 0);
    assert_eq!(sweep(), 0);
    expect_held(&holder, &leases);
    stand_still(&bench);
    let mut database = bench.database();
    let run_no = database.run_no;
    let told = act::cancel(&mut database.work, run_no, None, None, USUAL).expect("asked");
    drop(database);
    assert!(
        told.iter().all(|(_, what)| *what == Cancellation::Asked),
        "{told:?}"
    );
    let beats = holder.beat_all(&leases.each_ref(), at(0));
    assert!(matches!(
        beats.as_slice(),
        [Ok(Beat::CancelAsked), Ok(Beat::CancelAsked)]
    ));
    // Where nobody comes back the moment is noted once, however often is swept.
    stand_still(&bench);
    assert_eq!(sweep(), 0);
    let_a_lease_go_by(&bench);
    assert_eq!(sweep(), 2);
}

#[test]
fn slots_at_providers_are_not_given_away_within_one_lease() {
    let Some(bench) = bench() else { return };
    let (holder, other) = (bench.store("holder", USUAL), bench.store("other", USUAL));
    let leases = hold(&holder);
    let one = Limits {
        slots: Some(1),
        interval: None,
    };
    let admit = |worker: &str| {
        let mut own = bench.database().connect();
        let admitted = gate::admit(&mut own, "fal", one, worker, USUAL);
        matches!(admitted.expect("asked"), Admitted::Yes { .. })
    };
    assert!(admit("holder"));
    assert!(!admit("other"));
    stand_still(&bench);
    assert!(!admit("other"), "its own beats are late");
    let _ = other.beat_all(&[], at(0));
    assert!(!admit("other"), "the holder's are late, too");
    expect_held(&holder, &leases);
    // Nobody has the slot beside it, and it is renewed.
    let renewed = "SELECT count(*) FROM archi3d.provider_slots WHERE worker_id = 'holder' AND expires_at > now()";
    assert_eq!(bench.database().number(renewed), 1);
    bench.database().run(
        "UPDATE archi3d.provider_slots SET expires_at = now() - interval '1 s';
         UPDATE archi3d.serving SET since = since - interval '61 s'",
    );
    assert!(admit("other"), "nobody waits for the dead");
}
