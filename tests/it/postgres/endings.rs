//! Endings: one result per job, late ones adopted only while nobody has begun since, purchases carried on.

use std::time::Duration;

use archi3d_core::domain::job::Entry;
use archi3d_core::domain::money::Usd;
use archi3d_core::domain::purchase::PurchaseEnd;
use archi3d_core::domain::retry::ErrorClass;
use archi3d_core::store::Billing;
use archi3d_core::store::postgres::act;
use archi3d_core::store::postgres::buying;
use archi3d_core::store::postgres::claim::{self, Beaten, Claimer};
use archi3d_core::store::postgres::ending::{self, Became, Ended, Published, Release, Stopped};

use super::bench::{failure, lane, setback, success};
use super::{Bench, LEASE, SHORT, claimer};

/// The machine.
const HOST: &str = "here";

const GIVEN_BACK: Release = Release {
    reason: std::borrow::Cow::Borrowed("interrupted"),
    pause: Duration::ZERO,
    as_if_died: false,
    redo_waits: false,
};

#[test]
fn many_results_are_published_at_once_and_told_again_they_change_nothing() {
    let Some(mut bench) = Bench::new() else {
        return;
    };
    bench.jobs("a", 5);
    let all: Vec<_> = (0..5).map(|_| success(bench.take().hold)).collect();
    assert_eq!(
        ending::succeed(&mut bench.work, &all).expect("told"),
        [Published::Yes; 5]
    );
    assert_eq!(
        ending::succeed(&mut bench.work, &all).expect("told"),
        [Published::Already; 5]
    );
    for (table, count) in [("results", 5), ("artifacts", 5), ("results_replaced", 0)] {
        assert_eq!(
            bench.number(&format!("SELECT count(*) FROM archi3d.{table}")),
            count,
            "{table}"
        );
    }
    assert_eq!(bench.number("SELECT count(*) FROM archi3d.attempts WHERE status = 'succeeded' AND ended_at IS NOT NULL"), 5);
}

#[test]
fn a_late_result_is_adopted_only_if_nobody_began_since() {
    let Some(mut bench) = Bench::new() else {
        return;
    };
    bench.jobs("a", 2);
    let (one, two) = (bench.take().hold, bench.take().hold);
    bench.age();
    assert_eq!(
        act::sweep(&mut bench.work, 9, SHORT, None)
            .expect("swept")
            .requeued,
        2
    );
    let newer = claim::claim_one(&mut bench.work, two.job_no, Entry::Fresh, &claimer("w2"))
        .expect("asked")
        .expect("taken");
    let late = ending::succeed(&mut bench.work, &[success(one), success(two)]).expect("told");
    assert_eq!(late, [Published::Adopted, Published::Fenced]);
    assert_eq!(
        (
            bench.status(one.job_no).as_str(),
            bench.status(two.job_no).as_str()
        ),
        ("succeeded", "running")
    );
    ending::fenced(
        &mut bench.work,
        &[(two, Some("outputs/.late/x".to_owned()))],
    )
    .expect("noted");
    assert_eq!(
        bench.text("SELECT kept_at FROM archi3d.attempts WHERE status = 'fenced'"),
        "outputs/.late/x"
    );
    assert_eq!(
        ending::succeed(&mut bench.work, &[success(newer.hold)]).expect("told"),
        [Published::Yes]
    );
}

#[test]
fn what_was_released_or_taken_out_adopts_nothing() {
    let Some(mut bench) = Bench::new() else {
        return;
    };
    bench.jobs("a", 2);
    let (one, two) = (bench.take().hold, bench.take().hold);
    ending::release(&mut bench.work, &[one], &GIVEN_BACK).expect("released");
    bench.age();
    let run_no = bench.run_no;
    act::cancel(&mut bench.work, run_no, Some(&[two.job_no]), None, SHORT).expect("withdrawn");
    assert_eq!(bench.status(two.job_no), "cancelled");
    let late = ending::succeed(&mut bench.work, &[success(one), success(two)]).expect("told");
    assert_eq!(late, [Published::Fenced, Published::Fenced]);
}

#[test]
fn every_ending_of_a_zombie_is_fenced() {
    let Some(mut bench) = Bench::new() else {
        return;
    };
    let zombie = bench.one().hold;
    bench.age();
    let holder = bench.take_rare("w2").pop().expect("taken over").hold;
    let work = &mut bench.work;
    assert_eq!(
        buying::intent(work, &zombie, "key", LEASE).expect("asked"),
        Beaten::Lost
    );
    assert_eq!(
        ending::release(work, &[zombie], &GIVEN_BACK).expect("told"),
        Vec::<i64>::new()
    );
    assert_eq!(
        ending::cancel(work, &zombie).expect("told"),
        Stopped::Fenced
    );
    assert_eq!(
        ending::requeue(work, &setback(zombie, Duration::ZERO)).expect("told"),
        Ended::Fenced
    );
    assert_eq!(
        ending::fail(work, &failure(zombie)).expect("told"),
        Ended::Fenced
    );
    assert_eq!(
        ending::succeed(work, &[success(zombie)]).expect("told"),
        [Published::Fenced]
    );
    assert!(buying::give_up(work, &zombie).expect("told").is_none());
    assert_eq!(bench.status(zombie.job_no), "running");
    assert_eq!(
        ending::became(&mut bench.work, &[holder]).expect("asked")[&holder],
        Became::Running
    );
}

#[test]
fn failures_and_lost_workers_are_counted_apart_and_a_stop_costs_nothing() {
    let Some(mut bench) = Bench::new() else {
        return;
    };
    let first = bench.one();
    ending::requeue(&mut bench.work, &setback(first.hold, Duration::ZERO)).expect("told");
    let second = bench.take();
    assert_eq!(
        (second.failures, second.lost, second.entry),
        (1, 0, Entry::Fresh)
    );
    ending::release(&mut bench.work, &[second.hold], &GIVEN_BACK).expect("told");
    let third = bench.take();
    assert_eq!((third.failures, third.lost, third.took_over), (1, 0, false));
    bench.age();
    let fourth = bench.take_rare("w2").pop().expect("taken over");
    assert_eq!(
        (fourth.failures, fourth.lost, fourth.hold.number),
        (1, 1, 4)
    );
    assert_eq!(
        bench.number("SELECT (attempt_count - excused)::bigint FROM archi3d.jobs"),
        3
    );
}

#[test]
fn a_retry_waits_for_its_moment() {
    let Some(mut bench) = Bench::new() else {
        return;
    };
    let job = bench.one();
    ending::requeue(&mut bench.work, &setback(job.hold, Duration::from_secs(60))).expect("told");
    assert_eq!(bench.status(job.hold.job_no), "failed_retryable");
    assert!(bench.take_rare("w2").is_empty());
    let due = claim::next_due(&mut bench.work, bench.run_no, &["a"]).expect("asked");
    assert!(due.is_some_and(|left| left > Duration::from_secs(30)));
    bench.run("UPDATE archi3d.jobs SET run_after = now()");
    assert_eq!(bench.take_rare("w2").len(), 1);
}

#[test]
fn a_job_that_takes_too_many_workers_with_it_fails_in_doubt() {
    let Some(mut bench) = Bench::new() else {
        return;
    };
    let job = bench.one().hold.job_no;
    bench.run("UPDATE archi3d.jobs SET max_attempts = 2");
    bench.age();
    assert_eq!(
        act::sweep(&mut bench.work, 9, SHORT, None)
            .expect("swept")
            .requeued,
        1
    );
    bench.take();
    bench.age();
    assert!(
        bench.take_rare("w2").is_empty(),
        "nobody takes it over again"
    );
    assert_eq!(
        act::sweep(&mut bench.work, 9, SHORT, None)
            .expect("swept")
            .failed,
        1
    );
    assert_eq!(bench.status(job), "failed_terminal");
    let run_no = bench.run_no;
    assert!(
        act::requeue(&mut bench.work, run_no, None, Entry::Retry, false)
            .expect("asked")
            .is_empty()
    );
    assert_eq!(
        act::requeue(&mut bench.work, run_no, None, Entry::Retry, true).expect("asked"),
        [job]
    );
}

#[test]
fn an_intent_and_an_id_reach_the_next_attempt_until_they_are_over() {
    let Some(mut bench) = Bench::new() else {
        return;
    };
    let first = bench.one();
    assert_eq!(
        buying::intent(&mut bench.work, &first.hold, "key1", LEASE).expect("asked"),
        Beaten::Held
    );
    bench.age();
    let second = bench.take_rare("w2").pop().expect("taken over");
    assert_eq!(
        second.intent.as_ref().map(|(key, _)| key.as_str()),
        Some("key1")
    );
    // The id of the dead attempt arrives late: it is kept, and the newer attempt is not disturbed.
    assert!(!buying::submitted(&mut bench.work, &first.hold, "late", None).expect("told"));
    assert!(
        buying::submitted(&mut bench.work, &second.hold, "req", Some(Usd::of(0.3))).expect("told")
    );
    let open: Vec<_> = buying::purchases(&mut bench.work, first.hold.job_no).expect("asked");
    assert_eq!(
        open.iter()
            .map(|one| one.request_id.as_str())
            .collect::<Vec<_>>(),
        ["late", "req"]
    );
    ending::requeue(&mut bench.work, &setback(second.hold, Duration::ZERO)).expect("told");
    let third = bench.take();
    assert_eq!(
        (third.request_id.as_deref(), third.intent, third.purchases),
        (Some("req"), None, 0)
    );
    let mut void = failure(third.hold);
    void.purchase = PurchaseEnd::Void;
    assert_eq!(
        ending::fail(&mut bench.work, &void).expect("told"),
        Ended::Yes
    );
    assert!(buying::submitted(&mut bench.work, &second.hold, "req", None).is_ok());
    let run_no = bench.run_no;
    act::requeue(&mut bench.work, run_no, None, Entry::Retry, false).expect("requeued");
    let fourth = bench.take();
    assert_eq!(
        (fourth.request_id.as_deref(), fourth.purchases, fourth.entry),
        (Some("late"), 1, Entry::Retry),
        "the purchase before it is open still"
    );
    let mut void = setback(fourth.hold, Duration::ZERO);
    void.purchase = PurchaseEnd::Void;
    ending::requeue(&mut bench.work, &void).expect("told");
    let fifth = bench.take();
    assert_eq!((fifth.request_id, fifth.purchases), (None, 2));
}

#[test]
fn nobody_buys_for_a_job_that_is_to_be_stopped() {
    let Some(mut bench) = Bench::new() else {
        return;
    };
    let job = bench.one();
    let run_no = bench.run_no;
    act::cancel(&mut bench.work, run_no, None, None, LEASE).expect("asked");
    assert_eq!(
        buying::intent(&mut bench.work, &job.hold, "key", LEASE).expect("asked"),
        Beaten::CancelAsked
    );
    assert_eq!(
        bench.number("SELECT count(*) FROM archi3d.jobs WHERE intent IS NOT NULL"),
        0
    );
}

#[test]
fn a_redo_that_brings_nothing_leaves_the_older_result_and_one_that_succeeds_keeps_it_aside() {
    let Some(mut bench) = Bench::new() else {
        return;
    };
    let job = bench.one();
    ending::succeed(&mut bench.work, &[success(job.hold)]).expect("told");
    let run_no = bench.run_no;
    let redo = |bench: &mut Bench| {
        assert_eq!(
            act::requeue(&mut bench.work, run_no, None, Entry::Redo, false)
                .expect("asked")
                .len(),
            1
        );
        let taken = bench.take();
        assert_eq!(taken.entry, Entry::Redo);
        taken.hold
    };
    let failed = redo(&mut bench);
    assert_eq!(
        ending::fail(&mut bench.work, &failure(failed)).expect("told"),
        Ended::OldResultKept
    );
    let released = redo(&mut bench);
    ending::release(&mut bench.work, &[released], &GIVEN_BACK).expect("told");
    assert_eq!(bench.status(job.hold.job_no), "succeeded");
    let waits = redo(&mut bench);
    ending::release(
        &mut bench.work,
        &[waits],
        &Release {
            redo_waits: true,
            ..GIVEN_BACK
        },
    )
    .expect("told");
    let again = bench.take();
    assert_eq!(again.entry, Entry::Redo);
    ending::succeed(&mut bench.work, &[success(again.hold)]).expect("told");
    assert_eq!(bench.number("SELECT count(*) FROM archi3d.results"), 1);
    assert_eq!(
        bench.number("SELECT count(*) FROM archi3d.results_replaced"),
        1
    );
}

#[test]
fn a_rehearsal_is_performed_once_and_never_replaces_a_real_result() {
    let Some(mut bench) = Bench::new() else {
        return;
    };
    bench.jobs("a", 1);
    let by = Claimer {
        rehearsal: true,
        ..claimer("w1")
    };
    let rehearsed = claim::claim(&mut bench.work, bench.run_no, &[lane("a", 1)], 1, &by)
        .expect("claimed")
        .remove(0);
    let mut simulated = success(rehearsed.hold);
    simulated.simulated = true;
    assert_eq!(
        ending::succeed(&mut bench.work, &[simulated.clone()]).expect("told"),
        [Published::Yes]
    );
    let run_no = bench.run_no;
    assert!(
        act::requeue(&mut bench.work, run_no, None, Entry::Redo, false)
            .expect("asked")
            .is_empty()
    );
    assert_eq!(
        act::requeue(&mut bench.work, run_no, None, Entry::Perform, false)
            .expect("asked")
            .len(),
        1
    );
    let real = bench.take();
    assert_eq!((real.entry, real.purchases), (Entry::Perform, 0));
    assert_eq!(
        ending::succeed(&mut bench.work, &[success(real.hold)]).expect("told"),
        [Published::Yes]
    );
    assert!(
        act::requeue(&mut bench.work, run_no, None, Entry::Perform, false)
            .expect("asked")
            .is_empty()
    );
    assert_eq!(
        bench.number("SELECT count(*) FROM archi3d.results WHERE NOT simulated"),
        1
    );
}

#[test]
fn what_is_on_record_of_an_attempts_money_is_told() {
    let Some(mut bench) = Bench::new() else {
        return;
    };
    bench.jobs("a", 7);
    let held: Vec<_> = (0..7).map(|_| bench.take().hold).collect();
    ending::succeed(&mut bench.work, &[success(held[0])]).expect("told");
    ending::fail(&mut bench.work, &failure(held[1])).expect("told");
    let mut unknown = failure(held[2]);
    unknown.class = ErrorClass::Unknown;
    ending::fail(&mut bench.work, &unknown).expect("told");
    ending::release(&mut bench.work, &[held[3]], &GIVEN_BACK).expect("told");
    let mut cut_off = failure(held[5]);
    cut_off.cut_off = true;
    ending::fail(&mut bench.work, &cut_off).expect("told");
    let unfunded = Release {
        reason: "budget".into(),
        ..GIVEN_BACK
    };
    ending::release(&mut bench.work, &[held[6]], &unfunded).expect("told");
    let keys: Vec<_> = held
        .iter()
        .map(|hold| (hold.job_no, hold.attempt_id))
        .collect();
    let bills = ending::bills(&mut bench.work, &keys).expect("asked");
    assert_eq!(
        bills,
        [
            Billing::Billed(Some(0.3)),
            Billing::NotBilled,
            Billing::Open,
            Billing::Unsaid,
            Billing::Open,
            Billing::Open,
            Billing::NotBilled
        ]
    );
}

#[test]
fn what_an_adapter_said_it_made_is_there_for_whoever_comes_after() {
    let Some(mut bench) = Bench::new() else {
        return;
    };
    let first = bench.one();
    assert!(buying::made(&mut bench.work, &first.hold, r#"{"model":"m.glb"}"#).expect("noted"));
    let machine = |host: &str| {
        format!(
            "INSERT INTO archi3d.workers (worker_id, host, pid, version, run_no, slots, state, lease_seconds, facts)
             SELECT 'w1', '{host}', 1, 'v', run_no, 1, 'idle', 1, '{{}}' FROM archi3d.runs
             ON CONFLICT (worker_id) DO UPDATE SET host = EXCLUDED.host"
        )
    };
    bench.run(&machine(HOST));
    let run_no = bench.run_no;
    let mut left = |workers: &[&str], only: Option<&[i64]>, held: &[i64]| {
        let left = buying::left_made(&mut bench.work, run_no, workers, only, held, HOST);
        let left = left.expect("asked").into_iter();
        left.map(|one| one.hold).collect::<Vec<_>>()
    };
    let job = first.hold.job_no;
    assert_eq!(left(&["w1"], None, &[]), [first.hold]);
    assert_eq!(left(&["w2"], None, &[]), []);
    assert_eq!(left(&["w1"], None, &[job]), [], "its holder lives");
    bench.run(&machine("another"));
    let left = buying::left_made(&mut bench.work, run_no, &["w1"], None, &[], HOST);
    assert_eq!(left.expect("asked"), [], "its name is borne elsewhere");
    bench.run(&machine(HOST));
    // Not of what somebody has begun again since.
    bench.age();
    let _ = bench.take_rare("w2").pop().expect("taken over");
    let left = buying::left_made(&mut bench.work, run_no, &["w1"], Some(&[job]), &[], HOST);
    assert_eq!(left.expect("asked"), []);
}

#[test]
fn a_program_whose_version_has_an_odd_character_loses_no_result() {
    let Some(mut bench) = Bench::new() else {
        return;
    };
    let held = bench.one().hold;
    let odd = archi3d_core::store::postgres::ending::Success {
        algo_version: Some("v1\0".to_owned()),
        ..success(held)
    };
    let told = ending::succeed(&mut bench.work, &[odd]).expect("told");
    assert_eq!(told, [ending::Published::Yes]);
    assert_eq!(bench.text("SELECT algo_version FROM archi3d.results"), "v1");
}
