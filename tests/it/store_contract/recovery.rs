//! What dead workers had finished is published in their name, once.

use archi3d_core::domain::job::{Entry, JobState, Status};
use archi3d_core::store::{Beat, Claim, Finish};

use super::Make;
use crate::support::bench::{at, failed, listing, made, model, state, take};

every_store! {
    a_dead_workers_finished_result_is_published_at_the_next_start
    a_dead_workers_finished_result_is_published_when_its_job_is_taken_over
    a_dead_workers_failure_is_published_too
    a_dead_workers_redo_is_published_and_the_older_result_kept
    a_dead_workers_failed_redo_is_not_run_again
    a_dead_performance_is_performed_by_the_next_worker
    recovering_twice_changes_nothing
}

fn a_dead_workers_finished_result_is_published_at_the_next_start(make: Make) {
    let bench = make(1);
    let job = &bench.jobs()[0];
    let one = bench.worker("one");
    let lease = take(&*one, job, Entry::Fresh, at(0));
    let ending = made(&lease, "paid", false);
    bench.die_finishing(one, &lease, ending);
    let two = bench.open("two");
    let recovery = two.recover(at(9)).expect("works");
    assert_eq!(recovery.rolled_forward, std::slice::from_ref(job));
    assert_eq!(model(&*bench, job).as_deref(), Some("paid"));
    two.close(at(10)).expect("works");
    assert_eq!(bench.row(job)["status"], "completed");
    assert!(listing(&bench.paths().staging()).is_empty());
}

fn a_dead_workers_finished_result_is_published_when_its_job_is_taken_over(make: Make) {
    let bench = make(1);
    let job = &bench.jobs()[0];
    let (one, two) = (bench.worker("one"), bench.worker("two"));
    let lease = take(&*one, job, Entry::Fresh, at(0));
    let ending = made(&lease, "paid", false);
    bench.die_finishing(one, &lease, ending);
    let claim = two.claim(job, Entry::Takeover, at(9)).expect("works");
    let completed = JobState::Completed {
        attempt: 1,
        simulated: false,
    };
    assert_eq!(claim, Claim::RolledForward(completed));
    assert_eq!(model(&*bench, job).as_deref(), Some("paid"));
}

fn a_dead_workers_failure_is_published_too(make: Make) {
    let bench = make(1);
    let job = &bench.jobs()[0];
    let one = bench.worker("one");
    let lease = take(&*one, job, Entry::Fresh, at(0));
    bench.die_finishing(one, &lease, failed(&lease, "no luck"));
    let two = bench.worker("two");
    assert_eq!(state(&*two, job).status(), Status::Failed);
    two.close(at(10)).expect("works");
    let row = bench.row(job);
    assert_eq!((&*row["status"], &*row["error_msg"]), ("failed", "no luck"));
}

fn a_dead_workers_redo_is_published_and_the_older_result_kept(make: Make) {
    let bench = make(1);
    let job = &bench.jobs()[0];
    let one = bench.worker("one");
    let first = take(&*one, job, Entry::Fresh, at(0));
    one.finish(&first, made(&first, "old", false))
        .expect("works");
    let lease = take(&*one, job, Entry::Redo, at(5));
    let ending = made(&lease, "new", false);
    bench.die_finishing(one, &lease, ending);
    let two = bench.open("two");
    let recovery = two.recover(at(9)).expect("works");
    assert_eq!(recovery.rolled_forward, std::slice::from_ref(job));
    assert_eq!(model(&*bench, job).as_deref(), Some("new"));
    assert_eq!(listing(&bench.paths().previous()).len(), 1);
    two.close(at(10)).expect("works");
    assert_eq!(bench.row(job)["status"], "completed");
}

fn a_dead_workers_failed_redo_is_not_run_again(make: Make) {
    let bench = make(2);
    let two = bench.worker("two");
    let dying = ["one", "three"].map(|name| bench.worker(name));
    for (job, dying) in bench.jobs().iter().zip(dying) {
        let first = take(&*dying, job, Entry::Fresh, at(0));
        let ending = made(&first, "old", false);
        dying.finish(&first, ending).expect("works");
        let lease = take(&*dying, job, Entry::Redo, at(5));
        bench.die_finishing(dying, &lease, failed(&lease, "no"));
    }
    let [by_claim, by_recovery] = bench.jobs() else {
        unreachable!("two were made")
    };
    let claim = two.claim(by_claim, Entry::Takeover, at(9)).expect("works");
    let JobState::Completed { simulated, .. } = changed(claim) else {
        panic!("the older result does not rule");
    };
    assert!(!simulated);
    let recovery = two.recover(at(9)).expect("works");
    assert!(recovery.rolled_forward.is_empty());
    assert_eq!(state(&*two, by_recovery).status(), Status::Completed);
    two.close(at(10)).expect("works");
    for job in bench.jobs() {
        assert_eq!(bench.row(job)["status"], "completed");
        assert_eq!(model(&*bench, job).as_deref(), Some("old"));
    }
    assert!(listing(&bench.paths().staging()).is_empty());
}

#[track_caller]
fn changed(claim: Claim) -> JobState {
    match claim {
        Claim::Changed(state) => state,
        other => panic!("{other:?}"),
    }
}

fn a_dead_performance_is_performed_by_the_next_worker(make: Make) {
    let bench = make(1);
    let job = &bench.jobs()[0];
    let one = bench.worker("one");
    let first = take(&*one, job, Entry::Fresh, at(0));
    let rehearsal = made(&first, "rehearsal", true);
    one.finish(&first, rehearsal).expect("works");
    take(&*one, job, Entry::Perform, at(5));
    bench.die(one, &first.worker_id);
    let two = bench.worker("two");
    let lease = take(&*two, job, Entry::Takeover, at(9));
    assert_eq!(lease.attempt, 3);
    let finish = two.finish(&lease, made(&lease, "real", false));
    assert_eq!(finish.expect("works"), Finish::Published);
    assert_eq!(model(&*bench, job).as_deref(), Some("real"));
    assert!(listing(&bench.paths().previous()).is_empty());
}

fn recovering_twice_changes_nothing(make: Make) {
    let bench = make(2);
    let [dead, held] = bench.jobs() else {
        unreachable!("two were made")
    };
    let (one, two) = (bench.worker("one"), bench.worker("two"));
    let lease = take(&*one, dead, Entry::Fresh, at(0));
    let ours = take(&*two, held, Entry::Fresh, at(0));
    let ending = made(&lease, "paid", false);
    bench.die_finishing(one, &lease, ending);
    let three = bench.open("three");
    assert_eq!(three.recover(at(5)).expect("works").rolled_forward.len(), 1);
    let before = three.jobs(at(6)).expect("works");
    let again = three.recover(at(6)).expect("works");
    assert!(again.rolled_forward.is_empty());
    assert_eq!(three.jobs(at(6)).expect("works"), before);
    assert_eq!(two.beat(&ours, at(7)).expect("works"), Beat::Held);
}
