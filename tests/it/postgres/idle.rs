//! Workers that have nothing to do: how often they ask, and how much one question costs.

use std::time::Duration;

use archi3d_core::domain::id::AlgoKey;
use archi3d_core::store::postgres::act;
use archi3d_core::store::{Handing, Lane, Next, Want};

use super::Bench;
use crate::support::bench::at;
use crate::support::pg_bench::PgBench;

/// Asks for jobs of algorithm `a`, at most so many, and tells how long to wait before it is asked again.
fn pause(store: &dyn Handing, most: usize) -> Duration {
    let lanes = [Lane {
        algo: AlgoKey::parse("a").expect("a key"),
        most,
        bought_only: false,
        free: true,
        trial: None,
    }];
    let want = Want {
        lanes: &lanes,
        most: 1,
        follows: false,
    };
    match store.claim_next(&want, at(0)).expect("asked") {
        Next::Nothing(pause) => pause,
        Next::Jobs(jobs) => panic!("{} jobs", jobs.len()),
        Next::Drained => panic!("a job of `a` is left"),
    }
}

#[test]
fn what_is_due_and_cannot_be_taken_does_not_make_a_worker_ask_more_often() {
    let Some(bench) = PgBench::of_algos(&["a", "b"]) else {
        return;
    };
    let store = bench.store("w1", Duration::from_secs(60));
    let due = |algo: &str, when: &str| {
        bench.database().run(&format!(
            "UPDATE archi3d.jobs SET status = 'failed_retryable', run_after = now() + interval '{when}' WHERE algo = '{algo}'"
        ));
    };
    // Nobody here asks for it: it is of another algorithm, and its own has no place.
    due("b", "-1 minute");
    due("a", "-1 minute");
    let usual = Duration::from_millis(700);
    assert!(pause(&store, 0) >= usual);
    due("a", "1 hour");
    assert!(pause(&store, 1) >= usual);
    // Nobody waits longer for what comes due soon.
    due("b", "10 ms");
    assert!(pause(&store, 1) >= usual);
    due("a", "300 ms");
    assert!(pause(&store, 1) <= Duration::from_millis(300));
}

#[test]
fn what_was_rehearsed_is_put_back_in_parts_that_a_server_can_bear() {
    let Some(mut bench) = Bench::new() else {
        return;
    };
    bench.run(
        "INSERT INTO archi3d.jobs (run_no, algo, position, status, simulated, completed_at)
         SELECT 1, CASE WHEN n % 2 = 0 THEN 'a' ELSE 'b' END, n, 'succeeded', true, now() FROM generate_series(0, 50000) n",
    );
    let performed = act::perform(&mut bench.work, bench.run_no, &["a"]).expect("performed");
    assert_eq!(performed, 25_001);
    let parts = "SELECT count(DISTINCT xmin::text) FROM archi3d.jobs WHERE status = 'pending'";
    assert_eq!(bench.number(parts), 3);
    let waiting = "SELECT count(*) FROM archi3d.jobs WHERE status = 'pending' AND entry = 'perform' AND algo = 'a'";
    assert_eq!(bench.number(waiting), 25_001);
}
