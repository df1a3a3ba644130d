//! What becomes of a job when its attempt ends, one way or the other.

use std::fs;
use std::time::Duration;

use archi3d_core::domain::job::{Entry, JobState, Status};
use archi3d_core::domain::patch::DRY_RUN;
use archi3d_core::store::{Claim, Finish, ReleaseReason};

use super::Make;
use crate::support::bench::{Bench, MemoryBench, at, failed, made, model, state, take};

every_store! {
    a_purchase_reaches_the_next_attempt_after_a_death_and_after_a_release
    a_purchase_ends_with_its_result
    a_result_is_published_and_seen_by_a_fresh_handle
    a_release_puts_the_job_back_and_is_no_failure
    a_retry_waits_for_its_moment
    a_failed_job_is_tried_again_and_can_succeed
    a_rehearsed_job_is_performed_once
    after_closing_the_registry_says_everything_and_no_claim_is_taken
}

fn a_purchase_reaches_the_next_attempt_after_a_death_and_after_a_release(make: Make) {
    let bench = make(1);
    let job = &bench.jobs()[0];
    let one = bench.worker("one");
    let first = take(&*one, job, Entry::Fresh, at(0));
    assert_eq!(first.request_id, None);
    one.submitted(&first, "req-1", Some(0.4), at(1))
        .expect("works");
    bench.die(one, &first.worker_id);
    let two = bench.worker("two");
    let second = take(&*two, job, Entry::Takeover, at(2));
    assert_eq!(second.request_id.as_deref(), Some("req-1"));
    assert_eq!(second.idempotency_key, first.idempotency_key);
    let reason = ReleaseReason::Interrupted;
    two.release(&second, reason, None, at(3)).expect("works");
    let third = take(&*two, job, Entry::Fresh, at(4));
    assert_eq!(third.request_id.as_deref(), Some("req-1"));
    two.finish(&third, failed(&third, "later")).expect("works");
    let fourth = take(&*two, job, Entry::Retry, at(9));
    assert_eq!(fourth.request_id.as_deref(), Some("req-1"));
    assert_eq!(fourth.idempotency_key, first.idempotency_key);
}

fn a_purchase_ends_with_its_result(make: Make) {
    let bench = make(1);
    let job = &bench.jobs()[0];
    let one = bench.worker("one");
    let first = take(&*one, job, Entry::Fresh, at(0));
    one.submitted(&first, "req-1", None, at(1)).expect("works");
    one.finish(&first, made(&first, "m", false)).expect("works");
    let second = take(&*one, job, Entry::Redo, at(5));
    assert_eq!(second.request_id, None);
    assert_ne!(second.idempotency_key, first.idempotency_key);
}

fn a_result_is_published_and_seen_by_a_fresh_handle(make: Make) {
    let bench = make(2);
    let [job, other] = bench.jobs() else {
        unreachable!("two were made")
    };
    let one = bench.worker("one");
    let lease = take(&*one, job, Entry::Fresh, at(0));
    let ending = made(&lease, "model", false);
    assert_eq!(
        one.finish(&lease, ending).expect("works"),
        Finish::Published
    );
    assert!(!lease.staging.exists());
    assert_eq!(one.output_dir(job), bench.paths().output(job));
    assert_eq!(model(&*bench, job).as_deref(), Some("model"));
    let fresh = bench.worker("fresh");
    assert_eq!(state(&*fresh, job).status(), Status::Completed);
    assert_eq!(state(&*fresh, other).status(), Status::Enqueued);
}

fn a_release_puts_the_job_back_and_is_no_failure(make: Make) {
    let bench = make(1);
    let job = &bench.jobs()[0];
    let one = bench.worker("one");
    let lease = take(&*one, job, Entry::Fresh, at(0));
    fs::write(lease.staging.join("half"), "x").expect("writable");
    let reason = ReleaseReason::Interrupted;
    one.release(&lease, reason, None, at(1)).expect("works");
    assert!(!lease.staging.exists());
    assert_eq!(state(&*one, job).status(), Status::Enqueued);
    one.close(at(2)).expect("works");
    let row = bench.row(job);
    assert_eq!(row["status"], "enqueued");
    for column in ["error_msg", "generation_start", "worker_host"] {
        assert_eq!(row.get(column).map_or("", String::as_str), "", "{column}");
    }
    let two = bench.worker("two");
    assert_eq!(take(&*two, job, Entry::Fresh, at(3)).attempt, 2);
}

fn a_retry_waits_for_its_moment(make: Make) {
    let bench = make(1);
    let job = &bench.jobs()[0];
    let one = bench.worker("one");
    let lease = take(&*one, job, Entry::Fresh, at(0));
    let reason = ReleaseReason::Retry;
    one.release(&lease, reason, Some(at(30)), at(1))
        .expect("works");
    let early = one.claim(job, Entry::Fresh, at(10)).expect("works");
    assert_eq!(early, Claim::Later(Duration::from_secs(20)));
    assert_eq!(take(&*one, job, Entry::Fresh, at(30)).attempt, 2);
}

fn a_failed_job_is_tried_again_and_can_succeed(make: Make) {
    let bench = make(1);
    let job = &bench.jobs()[0];
    let one = bench.worker("one");
    let first = take(&*one, job, Entry::Fresh, at(0));
    let finish = one.finish(&first, failed(&first, "out of luck"));
    assert_eq!(finish.expect("works"), Finish::Published);
    assert_eq!(state(&*one, job).status(), Status::Failed);
    let second = take(&*one, job, Entry::Retry, at(5));
    assert_eq!((second.attempt, second.entry), (2, Entry::Retry));
    one.finish(&second, made(&second, "m", false))
        .expect("works");
    one.close(at(9)).expect("works");
    let row = bench.row(job);
    assert_eq!((&*row["status"], &*row["error_msg"]), ("completed", ""));
}

fn a_rehearsed_job_is_performed_once(make: Make) {
    let bench = make(1);
    let job = &bench.jobs()[0];
    let one = bench.worker("one");
    let first = take(&*one, job, Entry::Fresh, at(0));
    one.finish(&first, made(&first, "rehearsal", true))
        .expect("works");
    one.close(at(2)).expect("works");
    assert_eq!(bench.row(job)["price_source"], DRY_RUN);
    let two = bench.worker("two");
    let rehearsed = state(&*two, job);
    assert!(matches!(
        rehearsed,
        JobState::Completed {
            simulated: true,
            ..
        }
    ));
    let second = take(&*two, job, Entry::Perform, at(5));
    assert_eq!(model(&*bench, job), None, "a rehearsal is no result");
    two.finish(&second, made(&second, "real", false))
        .expect("works");
    two.close(at(9)).expect("works");
    assert_eq!(model(&*bench, job).as_deref(), Some("real"));
    let three = bench.worker("three");
    let claim = three.claim(job, Entry::Perform, at(10)).expect("works");
    assert!(matches!(claim, Claim::Changed(_)), "{claim:?}");
}

fn after_closing_the_registry_says_everything_and_no_claim_is_taken(make: Make) {
    let bench = make(3);
    let jobs = bench.jobs();
    let one = bench.worker("one");
    for (n, job) in jobs[..2].iter().enumerate() {
        let lease = take(&*one, job, Entry::Fresh, at(0));
        let ending = if n == 0 {
            made(&lease, "m", false)
        } else {
            failed(&lease, "bad")
        };
        one.finish(&lease, ending).expect("works");
    }
    one.close(at(5)).expect("works");
    one.close(at(6)).expect("closing again does nothing");
    let statuses: Vec<String> = jobs
        .iter()
        .map(|job| bench.row(job)["status"].clone())
        .collect();
    assert_eq!(statuses, ["completed", "failed", "enqueued"]);
    let row = bench.row(&jobs[0]);
    assert_eq!(row["worker_host"], "testhost");
    assert!(row["gen_object_path"].ends_with("/generated.glb"));
    assert!(one.claim(&jobs[2], Entry::Fresh, at(7)).is_err());
}

#[test]
#[should_panic(expected = "was ended before")]
fn the_store_in_memory_refuses_a_second_ending() {
    let bench = MemoryBench::new(1);
    let one = bench.worker("one");
    let lease = take(&*one, &bench.jobs()[0], Entry::Fresh, at(0));
    one.finish(&lease, failed(&lease, "no")).expect("works");
    one.finish(&lease, failed(&lease, "no")).ok();
}

#[test]
#[should_panic(expected = "every attempt is ended")]
fn the_store_in_memory_refuses_to_close_over_a_running_attempt() {
    let bench = MemoryBench::new(1);
    let one = bench.worker("one");
    take(&*one, &bench.jobs()[0], Entry::Fresh, at(0));
    one.close(at(1)).ok();
}
