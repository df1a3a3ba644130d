//! Jobs that a store hands out: each to one worker, by lane and in order, and what is told when there are none.
//!
//! Only the store in PostgreSQL hands jobs out; the others list them, and say that they have none to give.

use std::collections::{BTreeSet, HashSet};
use std::sync::Barrier;
use std::thread;
use std::time::Duration;

use archi3d_core::domain::id::AlgoKey;
use archi3d_core::domain::job::Entry;
use archi3d_core::domain::lease::Lease;
use archi3d_core::store::postgres::import;
use archi3d_core::store::{
    Beat, Handing as _, Lane, Next, ReleaseReason, StoreError, Want, WorkerStore,
};

use super::Make;
use crate::support::bench::{Bench, STALE, at, failed, made, take};
use crate::support::pg_bench::PgBench;
use crate::support::wait_until;

every_store! {
    every_lease_of_many_gets_its_own_answer_to_a_beat
    whoever_lists_its_jobs_has_none_to_hand_out
}

fn lane(algo: &str, most: usize) -> Lane {
    Lane {
        algo: AlgoKey::parse(algo).expect("a valid key"),
        most,
        bought_only: false,
        free: true,
        trial: None,
    }
}

fn next(store: &dyn WorkerStore, lanes: &[Lane], most: usize) -> Next {
    let want = Want {
        lanes,
        most,
        follows: false,
    };
    let Some(source) = store.handing() else {
        return Next::Drained;
    };
    let next = source.claim_next(&want, at(0)).expect("works");
    if let Next::Jobs(jobs) = &next {
        for (_, lease) in jobs {
            source.open_folder(lease).expect("made");
        }
    }
    next
}

/// Returns the jobs that were handed out; none where there was nothing.
fn taken(next: Next) -> Vec<Lease> {
    match next {
        Next::Jobs(jobs) => jobs.into_iter().map(|(_, lease)| lease).collect(),
        Next::Nothing(_) | Next::Drained => Vec::new(),
    }
}

fn ids(leases: &[Lease]) -> Vec<String> {
    leases
        .iter()
        .map(|lease| lease.job_id.to_string())
        .collect()
}

fn every_lease_of_many_gets_its_own_answer_to_a_beat(make: Make) {
    const MANY: usize = 500;
    let bench = make(MANY);
    let one = bench.worker("one");
    let jobs = bench.jobs().iter();
    let leases: Vec<Lease> = jobs
        .map(|job| take(&*one, job, Entry::Fresh, at(0)))
        .collect();
    let lost = 123;
    let reason = ReleaseReason::Interrupted;
    one.release(&leases[lost], reason, None, at(1))
        .expect("works");
    bench.ask_to_cancel(&bench.jobs()[7]);
    let all: Vec<&Lease> = leases.iter().collect();
    let beats: Vec<Result<Beat, StoreError>> = one.beat_all(&all, at(2));
    assert_eq!(beats.len(), MANY);
    for (number, beat) in beats.iter().enumerate() {
        match number {
            7 => assert!(matches!(beat, Ok(Beat::CancelAsked)), "{beat:?}"),
            // A lease that was ended is lost, or is no lease to ask for.
            123 => assert!(!matches!(beat, Ok(Beat::Held | Beat::CancelAsked))),
            _ => assert!(matches!(beat, Ok(Beat::Held)), "{number}: {beat:?}"),
        }
    }
}

fn whoever_lists_its_jobs_has_none_to_hand_out(make: Make) {
    let bench = make(2);
    let one = bench.worker("one");
    let taken = taken(next(&*one, &[lane("fake", 1)], 1)).len();
    let left = one.handing().map(|source| {
        assert!(!source.has_news());
        source.unclaimed().expect("works").values().sum::<usize>()
    });
    assert!(matches!((taken, left), (0, None) | (1, Some(1))));
}

#[test]
fn eight_that_race_are_handed_different_jobs() {
    let Some(bench) = PgBench::new(200) else {
        return;
    };
    let stores: Vec<_> = (0..8).map(|n| bench.worker(&format!("w{n}"))).collect();
    let start = Barrier::new(stores.len());
    let given: Vec<Lease> = thread::scope(|scope| {
        let races: Vec<_> = stores
            .iter()
            .map(|store| {
                scope.spawn(|| {
                    start.wait();
                    let mut mine = Vec::new();
                    loop {
                        let some = taken(next(&**store, &[lane("fake", 3)], 3));
                        if some.is_empty() {
                            return mine;
                        }
                        mine.extend(some);
                    }
                })
            })
            .collect();
        let races = races.into_iter();
        races.flat_map(|race| race.join().expect("ends")).collect()
    });
    assert_eq!(given.len(), 200);
    let jobs: HashSet<String> = ids(&given).into_iter().collect();
    assert_eq!(jobs.len(), 200);
    assert!(given.iter().all(|lease| lease.staging.is_dir()));
}

#[test]
fn lanes_give_no_more_than_their_room_and_the_most_urgent_first() {
    let Some(bench) = PgBench::of_algos(&["a", "a", "a", "b", "b", "b"]) else {
        return;
    };
    bench
        .database()
        .run("UPDATE archi3d.jobs SET priority = 5 WHERE position = 5");
    let one = bench.worker("one");
    let lanes = [lane("a", 2), lane("b", 2), lane("c", 9)];
    let first = taken(next(&*one, &lanes, 3));
    assert_eq!(ids(&first), ["job005", "job000", "job001"]);
    let none = next(&*one, &[lane("a", 0), lane("b", 0)], 9);
    assert!(matches!(none, Next::Nothing(_)), "{none:?}");
    let rest = taken(next(&*one, &[lane("a", 9), lane("b", 9)], 9));
    assert_eq!(ids(&rest), ["job002", "job003", "job004"]);
    let c = next(&*one, &[lane("c", 9)], 9);
    assert!(matches!(c, Next::Drained), "{c:?}");
}

#[test]
fn where_nothing_may_be_bought_only_purchases_go_on() {
    let Some(bench) = PgBench::new(3) else {
        return;
    };
    let one = bench.worker("one");
    let leases = taken(next(&*one, &[lane("fake", 2)], 2));
    one.submitted(&leases[1], "req-1", None, at(1))
        .expect("works");
    for lease in &leases {
        let reason = ReleaseReason::Interrupted;
        one.release(lease, reason, None, at(2)).expect("works");
    }
    let bought = Lane {
        bought_only: true,
        free: false,
        ..lane("fake", 3)
    };
    let again = taken(next(&*one, std::slice::from_ref(&bought), 3));
    assert_eq!(ids(&again), [leases[1].job_id.to_string()]);
    assert_eq!(again[0].request_id.as_deref(), Some("req-1"));
    assert!(taken(next(&*one, std::slice::from_ref(&bought), 3)).is_empty());
}

#[test]
fn a_run_is_drained_when_nothing_waits_runs_or_is_to_be_tried_again() {
    let Some(bench) = PgBench::new(2) else {
        return;
    };
    let (one, two) = (bench.worker("one"), bench.worker("two"));
    let lanes = [lane("fake", 9)];
    let leases = taken(next(&*one, &lanes, 9));
    // Whoever holds them may die.
    assert!(matches!(next(&*two, &lanes, 9), Next::Nothing(_)));
    one.finish(&leases[0], made(&leases[0], "m", false))
        .expect("works");
    let reason = ReleaseReason::Retry;
    one.release(&leases[1], reason, Some(at(60)), at(0))
        .expect("works");
    assert!(matches!(next(&*two, &lanes, 9), Next::Nothing(_)));
    let want = Want {
        lanes: &lanes,
        most: 9,
        follows: false,
    };
    let source = two.handing().expect("it hands out");
    let due = source.claim_next(&want, at(61)).expect("works");
    let [lease] = &taken(due)[..] else {
        panic!("one job is due");
    };
    two.finish(lease, failed(lease, "no")).expect("works");
    assert!(matches!(next(&*two, &lanes, 9), Next::Drained));
    one.close(at(62)).expect("works");
    assert!(matches!(next(&*one, &lanes, 9), Next::Drained));
}

#[test]
fn what_a_dead_worker_held_is_handed_to_the_next() {
    let Some(bench) = PgBench::new(1) else {
        return;
    };
    let (one, two) = (bench.worker("one"), bench.worker("two"));
    let lanes = [lane("fake", 1)];
    let first = taken(next(&*one, &lanes, 1)).remove(0);
    one.submitted(&first, "req-1", None, at(1)).expect("works");
    drop(one);
    let second = taken(next(&*two, &lanes, 1)).remove(0);
    assert!(second.took_over);
    assert_eq!(second.request_id.as_deref(), Some("req-1"));
    // And not what a dead one had ended: that is sent.
    let ending = made(&second, "paid", false);
    bench.die_finishing(two, &second, ending);
    let three = bench.worker("three");
    assert!(matches!(next(&*three, &lanes, 1), Next::Drained));
}

#[test]
fn a_result_in_a_dead_workers_spool_is_sent_by_whoever_is_there_before_the_job_is_made_again() {
    let Some(bench) = PgBench::new(1) else {
        return;
    };
    let (one, two) = (bench.worker("one"), bench.worker("two"));
    let lanes = [lane("fake", 1)];
    let lease = taken(next(&*one, &lanes, 1)).remove(0);
    let ending = made(&lease, "paid", false);
    bench.die_finishing(one, &lease, ending);
    assert!(matches!(next(&*two, &lanes, 1), Next::Drained));
    assert_eq!(bench.row(&lease.job_id)["status"], "completed");
}

#[test]
fn news_wakes_a_worker_that_has_nothing_to_do() {
    let Some(bench) = PgBench::new(1) else {
        return;
    };
    let one = bench.store("one", STALE);
    let lanes = [lane("fake", 9)];
    let lease = taken(next(&one, &lanes, 9)).remove(0);
    one.finish(&lease, made(&lease, "m", false)).expect("works");
    assert!(matches!(next(&one, &lanes, 9), Next::Drained));
    assert!(!one.has_news());
    {
        let mut database = bench.database();
        let run_no = database.run_no;
        import::added(&mut database.work, run_no).expect("told");
    }
    wait_until("the news arrives", || one.has_news());
    assert!(matches!(next(&one, &lanes, 9), Next::Drained));
    assert!(!one.has_news(), "it is told once");
}

#[test]
fn a_claim_whose_answer_was_lost_is_given_back_before_the_next_and_is_no_death() {
    let Some(bench) = PgBench::new(2) else {
        return;
    };
    let one = bench.store("one", STALE);
    let lanes = [lane("fake", 1)];
    // A claim that is committed, and whose answer nobody hears.
    bench.database().run(
        "UPDATE archi3d.jobs SET status = 'running', lease_owner = 'one', attempt_count = 1,
           lease_expires_at = now() + interval '1 hour', current_attempt_id = gen_random_uuid() WHERE position = 0;
         INSERT INTO archi3d.attempts (job_no, number, attempt_id, worker_id, entry, started_at)
           SELECT id, 1, current_attempt_id, 'one', 'fresh', now() FROM archi3d.jobs WHERE position = 0;",
    );
    let away = bench.away("one");
    one.hurry();
    assert!(matches!(next(&one, &lanes, 1), Next::Nothing(_)));
    drop(away);
    let given: Vec<Lease> = (0..2).flat_map(|_| taken(next(&one, &lanes, 1))).collect();
    let jobs: BTreeSet<String> = ids(&given).into_iter().collect();
    assert_eq!(jobs.len(), 2, "{jobs:?}");
    assert!(given.iter().all(|lease| !lease.took_over));
    assert!(matches!(next(&one, &lanes, 1), Next::Nothing(wait) if wait <= Duration::from_secs(2)));
}
