//! Jobs that a person takes out and puts back, whoever works on them meanwhile.

use std::sync::Barrier;
use std::thread;

use archi3d_core::domain::job::{Entry, JobState, Status};
use archi3d_core::domain::purchase::PurchaseEnd;
use archi3d_core::domain::retry::ErrorClass;
use archi3d_core::store::{Beat, Cancellation, Claim, Finish, ReleaseReason, Restored, Setback};

use super::Make;
use crate::support::bench::{STALE, at, failed, made, model, state, take};

every_store! {
    a_waiting_job_is_out_at_once_and_waits_again_when_restored
    a_live_holder_is_asked_and_a_result_that_comes_first_stands
    a_request_reaches_whoever_would_go_on_with_the_job
    a_request_that_was_taken_back_stops_nobody
    a_dead_holders_job_is_out_at_once_and_its_purchase_is_kept
    what_a_dead_holder_may_have_bought_stays_in_doubt_until_an_attempt_has_begun
    what_a_dead_holder_had_finished_is_not_taken_out
    a_dead_redo_is_stopped_and_the_older_result_stands
    a_retry_is_a_later_wish_than_a_request_to_stop
    a_late_result_of_a_job_that_was_taken_out_is_set_aside
    of_a_claim_and_a_withdrawal_at_once_one_wins
}

const OUT: Cancellation = Cancellation::Cancelled { request_id: None };

fn a_waiting_job_is_out_at_once_and_waits_again_when_restored(make: Make) {
    let bench = make(2);
    let (job, other) = (&bench.jobs()[0], &bench.jobs()[1]);
    let person = bench.worker("person");
    assert_eq!(person.cancel_job(job, at(1)).expect("works"), OUT);
    let again = person.cancel_job(job, at(2)).expect("works");
    assert_eq!(again, Cancellation::AlreadyCancelled);
    person.close(at(3)).expect("works");
    assert_eq!(bench.row(job)["status"], "cancelled");
    assert_eq!(bench.row(other)["status"], "enqueued");
    let worker = bench.worker("worker");
    let cancelled = Claim::Changed(JobState::Cancelled { attempt: 0 });
    let claim = worker.claim(job, Entry::Fresh, at(4)).expect("works");
    assert_eq!(claim, cancelled);
    let person = bench.worker("person2");
    let restored = person.restore(job, at(5)).expect("works");
    assert_eq!(restored, Restored::Waiting);
    let again = person.restore(job, at(6)).expect("works");
    assert_eq!(again, Restored::NotCancelled);
    person.close(at(7)).expect("works");
    assert_eq!(bench.row(job)["status"], "enqueued");
    assert_eq!(take(&*worker, job, Entry::Fresh, at(8)).attempt, 1);
}

fn a_live_holder_is_asked_and_a_result_that_comes_first_stands(make: Make) {
    let bench = make(1);
    let job = &bench.jobs()[0];
    let (worker, person) = (bench.worker("worker"), bench.worker("person"));
    let lease = take(&*worker, job, Entry::Fresh, at(0));
    let asked = person.cancel_job(job, at(1)).expect("works");
    assert_eq!(asked, Cancellation::Asked);
    let beat = worker.beat(&lease, at(2)).expect("works");
    assert_eq!(beat, Beat::CancelAsked);
    let finish = worker.finish(&lease, made(&lease, "first", false));
    assert_eq!(finish.expect("works"), Finish::Published);
    let JobState::Completed { .. } = state(&*person, job) else {
        panic!("the result is gone");
    };
    let untouched = person.cancel_job(job, at(3)).expect("works");
    assert!(matches!(untouched, Cancellation::Untouched(_)));
    // The request is over: a redo is not stopped by it.
    let lease = take(&*worker, job, Entry::Redo, at(4));
    assert_eq!(worker.beat(&lease, at(5)).expect("works"), Beat::Held);
}

fn a_request_reaches_whoever_would_go_on_with_the_job(make: Make) {
    let bench = make(2);
    let (given_back, left) = (&bench.jobs()[0], &bench.jobs()[1]);
    let (one, two) = (bench.worker("one"), bench.worker("two"));
    let lease = take(&*one, given_back, Entry::Fresh, at(0));
    take(&*two, left, Entry::Fresh, at(0));
    let person = bench.worker("person");
    for job in bench.jobs() {
        let asked = person.cancel_job(job, at(1)).expect("works");
        assert_eq!(asked, Cancellation::Asked);
    }
    let reason = ReleaseReason::Interrupted;
    one.release(&lease, reason, None, at(2)).expect("works");
    assert_eq!(state(&*one, given_back).status(), Status::Cancelled);
    drop(two);
    let next = bench.worker("next");
    let claim = next.claim(left, Entry::Takeover, at(3)).expect("works");
    assert_eq!(claim, Claim::Changed(JobState::Cancelled { attempt: 1 }));
    next.close(at(4)).expect("works");
    assert_eq!(bench.row(left)["status"], "cancelled");
}

fn a_request_that_was_taken_back_stops_nobody(make: Make) {
    let bench = make(1);
    let job = &bench.jobs()[0];
    let (worker, person) = (bench.worker("worker"), bench.worker("person"));
    let lease = take(&*worker, job, Entry::Fresh, at(0));
    person.cancel_job(job, at(1)).expect("works");
    let restored = person.restore(job, at(2)).expect("works");
    assert_eq!(restored, Restored::RequestRevoked);
    assert_eq!(worker.beat(&lease, at(3)).expect("works"), Beat::Held);
}

fn a_dead_holders_job_is_out_at_once_and_its_purchase_is_kept(make: Make) {
    let bench = make(1);
    let job = &bench.jobs()[0];
    let worker = bench.worker("worker");
    let lease = take(&*worker, job, Entry::Fresh, at(0));
    let noted = worker.submitted(&lease, "req-7", Some(0.3), at(1));
    noted.expect("works");
    drop(worker);
    let person = bench.worker("person");
    let out = person.cancel_job(job, at(2)).expect("works");
    let request_id = Some("req-7".to_owned());
    assert_eq!(out, Cancellation::Cancelled { request_id });
    assert!(!lease.staging.exists());
    person.close(at(3)).expect("works");
    assert_eq!(bench.row(job)["status"], "cancelled");
    let person = bench.worker("person2");
    person.restore(job, at(4)).expect("works");
    let lease = take(&*person, job, Entry::Fresh, at(5));
    assert_eq!(lease.request_id.as_deref(), Some("req-7"));
    assert_eq!(lease.attempt, 2);
}

fn what_a_dead_holder_may_have_bought_stays_in_doubt_until_an_attempt_has_begun(make: Make) {
    let bench = make(1);
    let job = &bench.jobs()[0];
    let worker = bench.worker("worker");
    assert!(!take(&*worker, job, Entry::Fresh, at(0)).took_over);
    drop(worker);
    let person = bench.worker("person");
    assert_eq!(person.cancel_job(job, at(1)).expect("works"), OUT);
    person.restore(job, at(2)).expect("works");
    // Nor does it matter how often.
    assert_eq!(person.cancel_job(job, at(3)).expect("works"), OUT);
    person.restore(job, at(4)).expect("works");
    let record = person.jobs(at(5)).expect("works").jobs.remove(0);
    assert!(record.snapshot.holder_died());
    let next = bench.worker("next");
    let lease = take(&*next, job, Entry::Fresh, at(6));
    assert!(lease.took_over);
    // Given back unbegun it is as it was; after a setback somebody was told.
    let reason = ReleaseReason::Budget;
    next.release(&lease, reason, None, at(7)).expect("works");
    let lease = take(&*next, job, Entry::Fresh, at(8));
    assert!(lease.took_over);
    let setback = Setback {
        class: ErrorClass::Transient,
        message: "refused".into(),
        not_before: None,
        counts: true,
        cut_off: false,
        purchase: PurchaseEnd::Open,
        cost_usd: None,
    };
    next.requeue(&lease, setback, at(9)).expect("works");
    let record = next.jobs(at(10)).expect("works").jobs.remove(0);
    assert!(!record.snapshot.holder_died());
    assert!(!take(&*next, job, Entry::Fresh, at(11)).took_over);
}

fn what_a_dead_holder_had_finished_is_not_taken_out(make: Make) {
    let bench = make(1);
    let job = &bench.jobs()[0];
    let person = bench.worker("person");
    let worker = bench.worker("worker");
    let lease = take(&*worker, job, Entry::Fresh, at(0));
    let ending = made(&lease, "paid for", false);
    bench.die_finishing(worker, &lease, ending);
    let untouched = person.cancel_job(job, at(1)).expect("works");
    assert!(matches!(
        untouched,
        Cancellation::Untouched(JobState::Completed { .. })
    ));
    assert_eq!(model(&*bench, job).as_deref(), Some("paid for"));
}

fn a_dead_redo_is_stopped_and_the_older_result_stands(make: Make) {
    let bench = make(1);
    let job = &bench.jobs()[0];
    let worker = bench.worker("worker");
    let lease = take(&*worker, job, Entry::Fresh, at(0));
    let finish = worker.finish(&lease, made(&lease, "first", false));
    finish.expect("works");
    take(&*worker, job, Entry::Redo, at(2));
    drop(worker);
    let person = bench.worker("person");
    let stopped = person.cancel_job(job, at(3)).expect("works");
    assert_eq!(stopped, Cancellation::RedoStopped);
    assert_eq!(state(&*person, job).status(), Status::Completed);
    person.close(at(4)).expect("works");
    assert_eq!(bench.row(job)["status"], "completed");
    assert_eq!(model(&*bench, job).as_deref(), Some("first"));
}

fn a_retry_is_a_later_wish_than_a_request_to_stop(make: Make) {
    let bench = make(1);
    let job = &bench.jobs()[0];
    let (worker, person) = (bench.worker("worker"), bench.worker("person"));
    let lease = take(&*worker, job, Entry::Fresh, at(0));
    worker.finish(&lease, failed(&lease, "no")).expect("works");
    bench.ask_to_cancel(job);
    let untouched = person.cancel_job(job, at(1)).expect("works");
    assert!(matches!(untouched, Cancellation::Untouched(_)));
    let lease = take(&*worker, job, Entry::Retry, at(2));
    assert_eq!(worker.beat(&lease, at(3)).expect("works"), Beat::Held);
}

fn a_late_result_of_a_job_that_was_taken_out_is_set_aside(make: Make) {
    let bench = make(1);
    let job = &bench.jobs()[0];
    let (frozen, person) = (bench.worker("frozen"), bench.worker("person"));
    let lease = take(&*frozen, job, Entry::Fresh, at(0));
    let late = made(&lease, "late", false);
    let out = person.cancel_job(job, at(1).plus(STALE)).expect("works");
    assert_eq!(out, OUT);
    let finish = frozen.finish(&lease, late).expect("works");
    assert!(matches!(finish, Finish::Fenced { kept_at: Some(_) }));
    assert_eq!(state(&*person, job).status(), Status::Cancelled);
    frozen.close(at(900)).expect("works");
    person.close(at(900)).expect("works");
    assert_eq!(bench.row(job)["status"], "cancelled");
}

fn of_a_claim_and_a_withdrawal_at_once_one_wins(make: Make) {
    let bench = make(40);
    let (worker, person) = (bench.worker("worker"), bench.worker("person"));
    let start = Barrier::new(2);
    for job in bench.jobs() {
        let (claim, cancellation) = thread::scope(|scope| {
            let claim = scope.spawn(|| {
                start.wait();
                worker.claim(job, Entry::Fresh, at(0)).expect("works")
            });
            start.wait();
            let cancellation = person.cancel_job(job, at(0)).expect("works");
            (claim.join().expect("ends"), cancellation)
        });
        match claim {
            Claim::Taken(lease) => {
                assert_eq!(cancellation, Cancellation::Asked, "{job}");
                let beat = worker.beat(&lease, at(1)).expect("works");
                assert_eq!(beat, Beat::CancelAsked, "{job}");
                worker.cancel(&lease, at(2)).expect("works");
            }
            Claim::Busy | Claim::Later(_) | Claim::Changed(_) => {
                assert_eq!(cancellation, OUT, "{job}");
            }
            other => panic!("{job}: {other:?}"),
        }
        assert_eq!(state(&*person, job).status(), Status::Cancelled, "{job}");
    }
}
