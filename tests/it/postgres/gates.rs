//! Providers, breakers and canaries: one state for all workers.

use std::sync::Barrier;
use std::time::Duration;

use archi3d_core::store::postgres::claim;
use archi3d_core::store::postgres::gate::{self, Admitted, Limits};
use archi3d_core::store::postgres::{ending, reuse};

use super::bench::success;
use super::{Bench, LEASE, SHORT};

const TWO: Limits = Limits {
    slots: Some(2),
    interval: None,
};

fn admit(bench: &mut Bench, limits: Limits) -> Admitted {
    gate::admit(&mut bench.work, "fal", limits, "w1", LEASE).expect("asked")
}

#[test]
fn of_eight_that_knock_at_once_as_many_are_admitted_as_there_are_slots() {
    let Some(mut bench) = Bench::new() else {
        return;
    };
    let start = Barrier::new(8);
    let granted: usize = std::thread::scope(|scope| {
        let knock = |worker: usize| {
            let mut connection = bench.connect();
            let start = &start;
            scope.spawn(move || {
                start.wait();
                let name = format!("w{worker}");
                let asked = (0..10).map(|_| {
                    gate::admit(&mut connection, "fal", TWO, &name, LEASE).expect("asked")
                });
                asked
                    .filter(|answer| matches!(answer, Admitted::Yes { slot: Some(_) }))
                    .count()
            })
        };
        let threads: Vec<_> = (0..8).map(knock).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().expect("no panic"))
            .sum()
    });
    assert_eq!(granted, 2);
    assert_eq!(
        bench.number("SELECT count(*) FROM archi3d.provider_slots"),
        2
    );
}

#[test]
fn a_slot_is_free_again_when_given_back_or_when_its_worker_is_silent_and_beats_keep_it() {
    let Some(mut bench) = Bench::new() else {
        return;
    };
    let Admitted::Yes { slot } = admit(&mut bench, TWO) else {
        panic!("free")
    };
    admit(&mut bench, TWO);
    assert!(matches!(admit(&mut bench, TWO), Admitted::Wait(_)));
    gate::refund(&mut bench.work, "fal", slot, TWO, "w1", false).expect("refunded");
    assert_eq!(admit(&mut bench, TWO), Admitted::Yes { slot });
    bench.run("UPDATE archi3d.provider_slots SET expires_at = now() - interval '1 s'");
    claim::beat(&mut bench.work, &[], "w1", LEASE).expect("beaten");
    assert!(matches!(admit(&mut bench, TWO), Admitted::Wait(_)));
    bench.run("UPDATE archi3d.provider_slots SET expires_at = now() - interval '1 s'");
    let mut judged_after = |lease| {
        let admitted = gate::admit(&mut bench.work, "fal", TWO, "w2", lease);
        matches!(admitted.expect("asked"), Admitted::Yes { .. })
    };
    // Longer than this server has been up.
    assert!(!judged_after(Duration::from_secs(10 * 365 * 86_400)));
    assert!(judged_after(SHORT));
}

#[test]
fn starts_are_paced_and_an_unused_place_is_given_back() {
    let Some(mut bench) = Bench::new() else {
        return;
    };
    let minute = Limits {
        slots: None,
        interval: Some(Duration::from_secs(60)),
    };
    assert_eq!(admit(&mut bench, minute), Admitted::Yes { slot: None });
    let Admitted::Wait(left) = admit(&mut bench, minute) else {
        panic!("too early")
    };
    assert!(left > Duration::from_secs(50), "{left:?}");
    gate::refund(&mut bench.work, "fal", None, minute, "w1", true).expect("refunded");
    assert_eq!(admit(&mut bench, minute), Admitted::Yes { slot: None });
}

#[test]
fn a_closed_provider_is_closed_for_everybody_and_a_time_never_replaces_a_person() {
    let Some(mut bench) = Bench::new() else {
        return;
    };
    assert!(
        gate::close(
            &mut bench.work,
            "fal",
            Some(Duration::from_secs(90)),
            "busy"
        )
        .expect("closed")
    );
    let Admitted::Closed {
        reason,
        wait: Some(wait),
    } = admit(&mut bench, TWO)
    else {
        panic!("closed")
    };
    assert!(reason == "busy" && wait > Duration::from_secs(60));
    assert!(gate::close(&mut bench.work, "fal", None, "no credit").expect("closed"));
    assert!(
        !gate::close(
            &mut bench.work,
            "fal",
            Some(Duration::from_secs(900)),
            "busy"
        )
        .expect("asked")
    );
    assert_eq!(
        admit(&mut bench, TWO),
        Admitted::Closed {
            reason: "no credit".to_owned(),
            wait: None
        }
    );
    assert_eq!(gate::closed(&mut bench.work).expect("asked").len(), 1);
    assert!(gate::open(&mut bench.work, "fal").expect("opened"));
    assert!(!gate::open(&mut bench.work, "fal").expect("asked"));
    assert!(matches!(admit(&mut bench, TWO), Admitted::Yes { .. }));
}

#[test]
fn failures_in_a_row_are_counted_by_all_together_and_a_success_ends_the_row() {
    let Some(mut bench) = Bench::new() else {
        return;
    };
    let mut other = bench.connect();
    let trip = |connection: &mut _| gate::trip(connection, "a", 3, "broken").expect("counted");
    trip(&mut bench.work);
    assert_eq!(trip(&mut other).failures, 2);
    gate::worked(&mut bench.work, "a").expect("noted");
    assert!(!trip(&mut other).paused);
    trip(&mut other);
    assert!(trip(&mut bench.work).paused);
    gate::worked(&mut bench.work, "a").expect("noted");
    assert_eq!(
        gate::paused(&mut bench.work).expect("asked").len(),
        1,
        "only a person ends a pause"
    );
    assert!(gate::resume(&mut bench.work, "a").expect("resumed"));
    assert!(
        gate::trip(&mut bench.work, "b", 1, "broken")
            .expect("counted")
            .paused
    );
    // Whatever was paused before: the job that tried it failed again.
    let hour_ago =
        "UPDATE archi3d.breakers SET paused_at = now() - interval '1 hour' WHERE algo = 'b'";
    bench.run(hour_ago);
    let _ = gate::trip(&mut bench.work, "b", 1, "broken again").expect("counted");
    let paused = gate::paused(&mut bench.work).expect("asked");
    assert!(paused[0].age < Duration::from_secs(60) && paused[0].reason == "broken again");
}

#[test]
fn the_same_inputs_are_made_by_one_at_a_time_and_found_afterwards() {
    let Some(mut bench) = Bench::new() else {
        return;
    };
    bench.jobs("a", 2);
    let (one, two) = (bench.take().hold, bench.take().hold);
    let key = [7_u8; 32];
    assert!(reuse::make(&mut bench.work, &key, &one).expect("asked"));
    assert!(
        reuse::make(&mut bench.work, &key, &one).expect("asked"),
        "asked again"
    );
    assert!(!reuse::make(&mut bench.work, &key, &two).expect("asked"));
    assert!(
        reuse::find(&mut bench.work, &key, None, &[])
            .expect("asked")
            .is_none()
    );
    ending::succeed(&mut bench.work, &[success(one)]).expect("told");
    assert!(
        reuse::make(&mut bench.work, &key, &two).expect("asked"),
        "its maker is over"
    );
    reuse::made(&mut bench.work, &key, &two).expect("told");
    let found = reuse::find(&mut bench.work, &key, Some("v1"), &[])
        .expect("asked")
        .expect("there");
    assert_eq!(
        (found.job_id.as_str(), found.hold, found.files.len()),
        ("job0000", one, 1)
    );
    assert!(
        reuse::find(&mut bench.work, &key, Some("v2"), &[])
            .expect("asked")
            .is_none()
    );
}
