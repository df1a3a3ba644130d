//! Who may work on a job: one at a time, and nobody over somebody else's head.

use std::fs;
use std::sync::Barrier;
use std::thread;

use archi3d_core::domain::job::{Entry, JobState, Status};
use archi3d_core::store::{Beat, Claim, Finish, ReleaseReason, WorkerStore};

use super::Make;
use crate::support::bench::{
    Bench, FilesBench, MemoryBench, STALE, at, failed, listing, made, model, state, take,
};

every_store! {
    of_eight_that_race_for_a_job_one_gets_it
    a_job_that_is_held_is_busy_and_one_that_changed_is_told
    a_beat_tells_whether_the_lease_is_still_ours
    a_holder_that_lost_its_job_publishes_nothing_and_keeps_its_files
    a_failure_that_comes_too_late_changes_nothing
    a_release_that_comes_too_late_changes_nothing
    a_recovery_leaves_the_files_of_a_frozen_worker_alone
    a_running_job_is_cancelled_when_somebody_asks
}

fn of_eight_that_race_for_a_job_one_gets_it(make: Make) {
    let bench = make(3);
    let stores: Vec<Box<dyn WorkerStore>> =
        (0..8).map(|n| bench.worker(&format!("w{n}"))).collect();
    let start = Barrier::new(stores.len());
    for job in bench.jobs() {
        let taken = thread::scope(|scope| {
            let claims: Vec<_> = stores
                .iter()
                .map(|store| {
                    scope.spawn(|| {
                        start.wait();
                        store.claim(job, Entry::Fresh, at(0)).expect("works")
                    })
                })
                .collect();
            let claims = claims.into_iter().map(|claim| claim.join().expect("ends"));
            claims
                .filter(|claim| matches!(claim, Claim::Taken(_)))
                .count()
        });
        assert_eq!(taken, 1, "{job}");
    }
}

fn a_job_that_is_held_is_busy_and_one_that_changed_is_told(make: Make) {
    let bench = make(1);
    let job = &bench.jobs()[0];
    let (one, two) = (bench.worker("one"), bench.worker("two"));
    let lease = take(&*one, job, Entry::Fresh, at(0));
    assert_eq!(lease.attempt, 1);
    assert!(listing(&lease.staging).is_empty() && lease.staging.is_dir());
    let claim = |entry| two.claim(job, entry, at(1)).expect("works");
    assert_eq!(claim(Entry::Takeover), Claim::Busy);
    let running = Claim::Changed(JobState::Running { attempt: 1 });
    assert_eq!(claim(Entry::Fresh), running);
    let ending = made(&lease, "one", false);
    assert_eq!(
        one.finish(&lease, ending).expect("works"),
        Finish::Published
    );
    let completed = Claim::Changed(JobState::Completed {
        attempt: 1,
        simulated: false,
    });
    assert_eq!(claim(Entry::Takeover), completed);
    assert_eq!(claim(Entry::Perform), completed);
}

fn a_beat_tells_whether_the_lease_is_still_ours(make: Make) {
    let bench = make(1);
    let job = &bench.jobs()[0];
    let (one, two) = (bench.worker("one"), bench.worker("two"));
    let lease = take(&*one, job, Entry::Fresh, at(0));
    let late = at(STALE.as_secs() - 1);
    assert_eq!(one.beat(&lease, late).expect("works"), Beat::Held);
    // The beat keeps it: by the claim alone it would be frozen by now.
    let later = at(STALE.as_secs() + 1);
    let claim = two.claim(job, Entry::Takeover, later).expect("works");
    assert_eq!(claim, Claim::Busy);
    let taken = take(&*two, job, Entry::Takeover, late.plus(STALE));
    assert_eq!(one.beat(&lease, at(0)).expect("works"), Beat::Lost);
    assert_eq!(two.beat(&taken, at(0)).expect("works"), Beat::Held);
    two.finish(&taken, failed(&taken, "no")).expect("works");
    let after = two.beat(&taken, at(0));
    assert!(!matches!(after, Ok(Beat::Held | Beat::CancelAsked)));
}

fn a_holder_that_lost_its_job_publishes_nothing_and_keeps_its_files(make: Make) {
    let bench = make(1);
    let job = &bench.jobs()[0];
    let (one, two) = (bench.worker("one"), bench.worker("two"));
    let frozen = take(&*one, job, Entry::Fresh, at(0));
    let late = made(&frozen, "late", false);
    let lease = take(&*two, job, Entry::Takeover, at(0).plus(STALE));
    two.finish(&lease, made(&lease, "first", false))
        .expect("works");
    let Finish::Fenced { kept_at } = one.finish(&frozen, late).expect("works") else {
        panic!("a late result was published");
    };
    let kept_at = kept_at.expect("the files are kept");
    let root = bench.paths().root().join("../..");
    let kept = fs::read_to_string(root.join(kept_at).join("generated.glb"));
    assert_eq!(kept.expect("readable"), "late");
    assert_eq!(model(&*bench, job).as_deref(), Some("first"));
    one.close(at(900)).expect("works");
    two.close(at(900)).expect("works");
    assert_eq!(bench.row(job)["status"], "completed");
    assert!(listing(&bench.paths().staging()).is_empty());
}

fn a_failure_that_comes_too_late_changes_nothing(make: Make) {
    let bench = make(1);
    let job = &bench.jobs()[0];
    let (one, two) = (bench.worker("one"), bench.worker("two"));
    let frozen = take(&*one, job, Entry::Fresh, at(0));
    let lease = take(&*two, job, Entry::Takeover, at(0).plus(STALE));
    let finish = one.finish(&frozen, failed(&frozen, "late")).expect("works");
    assert_eq!(finish, Finish::Fenced { kept_at: None });
    assert_eq!(two.beat(&lease, at(601)).expect("works"), Beat::Held);
    assert_eq!(state(&*two, job), JobState::Running { attempt: 2 });
    let reason = ReleaseReason::Interrupted;
    two.release(&lease, reason, None, at(602)).expect("works");
    assert_eq!(state(&*one, job).status(), Status::Enqueued);
}

fn a_release_that_comes_too_late_changes_nothing(make: Make) {
    let bench = make(1);
    let job = &bench.jobs()[0];
    let (one, two) = (bench.worker("one"), bench.worker("two"));
    let frozen = take(&*one, job, Entry::Fresh, at(0));
    one.submitted(&frozen, "req-1", None, at(1)).expect("works");
    let lease = take(&*two, job, Entry::Takeover, at(1).plus(STALE));
    assert_eq!(lease.request_id.as_deref(), Some("req-1"));
    let reason = ReleaseReason::Interrupted;
    one.release(&frozen, reason, None, at(602)).expect("works");
    assert!(!frozen.staging.exists() && lease.staging.exists());
    assert_eq!(two.beat(&lease, at(603)).expect("works"), Beat::Held);
    assert_eq!(state(&*two, job), JobState::Running { attempt: 2 });
}

fn a_recovery_leaves_the_files_of_a_frozen_worker_alone(make: Make) {
    let bench = make(1);
    let job = &bench.jobs()[0];
    let (one, two) = (bench.worker("one"), bench.worker("two"));
    let frozen = take(&*one, job, Entry::Fresh, at(0));
    let late = made(&frozen, "late", false);
    let lease = take(&*two, job, Entry::Takeover, at(0).plus(STALE));
    two.finish(&lease, failed(&lease, "no")).expect("works");
    drop(bench.worker("three"));
    let finish = one.finish(&frozen, late).expect("works");
    assert!(matches!(finish, Finish::Fenced { kept_at: Some(_) }));
}

fn a_running_job_is_cancelled_when_somebody_asks(make: Make) {
    let bench = make(1);
    let job = &bench.jobs()[0];
    let one = bench.worker("one");
    let lease = take(&*one, job, Entry::Fresh, at(0));
    assert_eq!(one.beat(&lease, at(1)).expect("works"), Beat::Held);
    bench.ask_to_cancel(job);
    assert_eq!(one.beat(&lease, at(2)).expect("works"), Beat::CancelAsked);
    one.cancel(&lease, at(3)).expect("works");
    assert!(!lease.staging.exists());
    one.close(at(4)).expect("works");
    assert_eq!(bench.row(job)["status"], "cancelled");
    let two = bench.worker("two");
    let cancelled = Claim::Changed(JobState::Cancelled { attempt: 1 });
    let claim = two.claim(job, Entry::Fresh, at(5)).expect("works");
    assert_eq!(claim, cancelled);
}

#[test]
#[should_panic(expected = "recovery comes before the first claim")]
fn the_store_in_memory_refuses_a_claim_before_recovery() {
    let bench = MemoryBench::new(1);
    let claim = bench
        .open("one")
        .claim(&bench.jobs()[0], Entry::Fresh, at(0));
    drop(claim);
}

#[test]
fn a_claim_that_cannot_get_its_folder_leaves_the_job_waiting() {
    let bench = FilesBench::boxed(1);
    let job = &bench.jobs()[0];
    let (one, two) = (bench.worker("one"), bench.worker("two"));
    fs::remove_dir(bench.paths().staging()).expect("it is empty");
    assert!(one.claim(job, Entry::Fresh, at(0)).is_err());
    fs::create_dir(bench.paths().staging()).expect("writable");
    assert_eq!(state(&*two, job).status(), Status::Enqueued);
    take(&*two, job, Entry::Fresh, at(1));
}
