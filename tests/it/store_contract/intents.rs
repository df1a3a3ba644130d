//! What an attempt was about to buy when it ended, and purchases that are over.

use archi3d_core::domain::id::JobId;
use archi3d_core::domain::job::{Entry, JobState};
use archi3d_core::domain::lease::Lease;
use archi3d_core::domain::purchase::PurchaseEnd;
use archi3d_core::domain::retry::ErrorClass;
use archi3d_core::store::{
    Beat, Claim, Ending, JobSnapshot, JobToRetry, Outcome, ReleaseReason, Setback, WorkerStore,
};

use super::Make;
use crate::support::bench::{at, failed, made, state, take};

every_store! {
    an_intent_reaches_the_next_attempt_until_an_id_explains_it
    an_intent_ends_where_nothing_was_bought
    a_lost_lease_lets_nobody_buy
    after_a_void_purchase_the_next_attempt_buys_under_another_key
    a_failure_with_an_open_intent_is_in_doubt
    a_void_purchase_of_a_redo_is_not_asked_about_again
    a_failed_job_that_is_wanted_again_waits_and_is_entered_as_a_retry
    what_may_have_been_bought_waits_again_only_to_be_asked_about_or_on_a_persons_word
}

fn intend(store: &dyn WorkerStore, lease: &Lease, correlation: &str) {
    let noted = store.intent(lease, correlation, at(1));
    assert_eq!(noted.expect("works"), Beat::Held);
}

fn open(lease: &Lease) -> Option<&str> {
    let intent = lease.intent.as_ref();
    intent.map(|intent| intent.correlation.as_str())
}

fn setback(purchase: PurchaseEnd) -> Setback {
    Setback {
        class: ErrorClass::Transient,
        message: "refused".into(),
        not_before: None,
        counts: true,
        cut_off: false,
        purchase,
        cost_usd: None,
    }
}

fn ended(lease: &Lease, end: PurchaseEnd) -> Ending {
    let mut ending = failed(lease, "no");
    let Outcome::Failed { purchase, .. } = &mut ending.outcome else {
        unreachable!("it failed")
    };
    *purchase = end;
    ending
}

fn an_intent_reaches_the_next_attempt_until_an_id_explains_it(make: Make) {
    let bench = make(1);
    let job = &bench.jobs()[0];
    let one = bench.worker("one");
    let first = take(&*one, job, Entry::Fresh, at(0));
    assert_eq!(open(&first), None);
    intend(&*one, &first, "c-1");
    bench.die(one, &first.worker_id);
    let two = bench.worker("two");
    let second = take(&*two, job, Entry::Takeover, at(2));
    assert_eq!(open(&second), Some("c-1"));
    let reason = ReleaseReason::Interrupted;
    two.release(&second, reason, None, at(3)).expect("works");
    let third = take(&*two, job, Entry::Fresh, at(4));
    assert_eq!(open(&third), Some("c-1"));
    assert_eq!(third.idempotency_key, first.idempotency_key);
    two.submitted(&third, "req-1", None, at(5)).expect("works");
    two.release(&third, reason, None, at(6)).expect("works");
    let fourth = take(&*two, job, Entry::Fresh, at(7));
    assert_eq!(open(&fourth), None);
    assert_eq!(fourth.request_id.as_deref(), Some("req-1"));
}

fn an_intent_ends_where_nothing_was_bought(make: Make) {
    let bench = make(1);
    let job = &bench.jobs()[0];
    let one = bench.worker("one");
    let first = take(&*one, job, Entry::Fresh, at(0));
    intend(&*one, &first, "c-1");
    one.requeue(&first, setback(PurchaseEnd::NotMade), at(2))
        .expect("works");
    let second = take(&*one, job, Entry::Fresh, at(3));
    assert_eq!(open(&second), None);
    assert_eq!(second.idempotency_key, first.idempotency_key);
    intend(&*one, &second, "c-2");
    one.finish(&second, ended(&second, PurchaseEnd::NotMade))
        .expect("works");
    assert_eq!(open(&take(&*one, job, Entry::Retry, at(9))), None);
}

fn a_lost_lease_lets_nobody_buy(make: Make) {
    let bench = make(1);
    let job = &bench.jobs()[0];
    let one = bench.worker("one");
    let first = take(&*one, job, Entry::Fresh, at(0));
    let two = bench.worker("two");
    let much_later = at(100_000);
    // Long silent, so that somebody else has it now: at once, or after another look.
    let seen = two.claim(job, Entry::Takeover, at(90_000));
    if !matches!(seen, Ok(Claim::Taken(_))) {
        take(&*two, job, Entry::Takeover, much_later);
    }
    let noted = one.intent(&first, "c-1", much_later);
    assert_eq!(noted.expect("works"), Beat::Lost);
}

fn after_a_void_purchase_the_next_attempt_buys_under_another_key(make: Make) {
    let bench = make(1);
    let job = &bench.jobs()[0];
    let one = bench.worker("one");
    let first = take(&*one, job, Entry::Fresh, at(0));
    one.submitted(&first, "req-1", None, at(1)).expect("works");
    one.requeue(&first, setback(PurchaseEnd::Void), at(2))
        .expect("works");
    let second = take(&*one, job, Entry::Fresh, at(3));
    assert_eq!(second.request_id, None);
    assert_ne!(second.idempotency_key, first.idempotency_key);
    // A death changes neither.
    intend(&*one, &second, "c-2");
    bench.die(one, &second.worker_id);
    let two = bench.worker("two");
    let third = take(&*two, job, Entry::Takeover, at(4));
    assert_eq!(
        (third.request_id.as_deref(), open(&third)),
        (None, Some("c-2"))
    );
    assert_eq!(third.idempotency_key, second.idempotency_key);
    two.submitted(&third, "req-2", None, at(5)).expect("works");
    two.finish(&third, ended(&third, PurchaseEnd::Void))
        .expect("works");
    let fourth = take(&*two, job, Entry::Retry, at(9));
    assert_eq!((fourth.request_id.as_deref(), open(&fourth)), (None, None));
    assert_ne!(fourth.idempotency_key, third.idempotency_key);
    assert_ne!(fourth.idempotency_key, first.idempotency_key);
}

fn a_failure_with_an_open_intent_is_in_doubt(make: Make) {
    let bench = make(1);
    let job = &bench.jobs()[0];
    let one = bench.worker("one");
    let first = take(&*one, job, Entry::Fresh, at(0));
    intend(&*one, &first, "c-1");
    one.finish(&first, failed(&first, "cut off"))
        .expect("works");
    let record = one.jobs(at(2)).expect("works").jobs.remove(0);
    assert!(
        matches!(record.snapshot, JobSnapshot::Known { doubtful: true, .. }),
        "{:?}",
        record.snapshot
    );
}

fn a_void_purchase_of_a_redo_is_not_asked_about_again(make: Make) {
    let bench = make(1);
    let job = &bench.jobs()[0];
    let one = bench.worker("one");
    let first = take(&*one, job, Entry::Fresh, at(0));
    one.finish(&first, made(&first, "old", false))
        .expect("works");
    let second = take(&*one, job, Entry::Redo, at(5));
    one.submitted(&second, "req-2", None, at(6)).expect("works");
    one.requeue(&second, setback(PurchaseEnd::Void), at(7))
        .expect("works");
    let third = take(&*one, job, Entry::Redo, at(8));
    assert_eq!(third.request_id, None);
    assert_ne!(third.idempotency_key, second.idempotency_key);
}

fn again(store: &dyn WorkerStore, job: &JobId, attempt: Option<u32>, resubmit: bool) -> usize {
    let job_id = job.clone();
    let wanted = [JobToRetry { job_id, attempt }];
    store
        .try_again(&wanted, resubmit, &|| at(50))
        .expect("works")
}

fn a_failed_job_that_is_wanted_again_waits_and_is_entered_as_a_retry(make: Make) {
    let bench = make(2);
    let (job, other) = (&bench.jobs()[0], &bench.jobs()[1]);
    let one = bench.worker("one");
    let first = take(&*one, job, Entry::Fresh, at(0));
    one.finish(&first, failed(&first, "no")).expect("works");
    let person = bench.worker("person");
    assert_eq!(again(&*person, job, Some(2), false), 0, "another attempt");
    assert_eq!(again(&*person, other, None, false), 0, "it has not failed");
    assert_eq!(again(&*person, job, Some(1), false), 1);
    assert_eq!(again(&*person, job, Some(1), false), 0, "it waits already");
    assert_eq!(state(&*person, job), JobState::Enqueued { attempt: 1 });
    person.close(at(51)).expect("works");
    assert_eq!(bench.row(job)["status"], "enqueued");
    // The journal of whoever failed with it does not bring the failure back.
    bench.die(one, &first.worker_id);
    let two = bench.worker("two");
    assert_eq!(state(&*two, job), JobState::Enqueued { attempt: 1 });
    let second = take(&*two, job, Entry::Fresh, at(60));
    assert_eq!((second.attempt, second.entry), (2, Entry::Retry));
    assert_eq!((second.failures, second.resubmit), (0, false));
    two.release(&second, ReleaseReason::Interrupted, None, at(61))
        .expect("works");
    // It was begun: from here on it is a job like any other.
    let third = take(&*two, job, Entry::Fresh, at(70));
    assert_eq!((third.attempt, third.entry), (3, Entry::Fresh));
}

fn what_may_have_been_bought_waits_again_only_to_be_asked_about_or_on_a_persons_word(make: Make) {
    let bench = make(2);
    let (nameless, intended) = (&bench.jobs()[0], &bench.jobs()[1]);
    let one = bench.worker("one");
    for job in [nameless, intended] {
        let lease = take(&*one, job, Entry::Fresh, at(0));
        if job == intended {
            intend(&*one, &lease, "c-1");
        }
        let mut ending = failed(&lease, "cut off");
        let Outcome::Failed { class, .. } = &mut ending.outcome else {
            unreachable!("it failed")
        };
        *class = ErrorClass::Unknown;
        one.finish(&lease, ending).expect("works");
    }
    assert_eq!(again(&*one, nameless, None, false), 0, "nobody to ask");
    assert_eq!(again(&*one, intended, None, false), 1);
    let asks = take(&*one, intended, Entry::Fresh, at(60));
    assert_eq!((open(&asks), asks.resubmit), (Some("c-1"), false));
    assert_eq!(again(&*one, nameless, None, true), 1);
    let buys = take(&*one, nameless, Entry::Fresh, at(60));
    assert_eq!((buys.entry, buys.resubmit), (Entry::Retry, true));
}
