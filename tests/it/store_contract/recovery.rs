//! What dead workers had finished is published in their name, once.

use std::fs;

use archi3d_core::domain::budget::AttemptKey;
use archi3d_core::domain::job::{Entry, JobState, Status};
use archi3d_core::domain::lease::Lease;
use archi3d_core::domain::patch::Price;
use archi3d_core::store::{Beat, Billing, Claim, Finish, Made, WorkerStore};

use super::Make;
use crate::support::bench::{Bench, at, failed, listing, made, model, state, take};
use crate::support::shapes;

every_store! {
    a_dead_workers_finished_result_is_published_at_the_next_start
    a_dead_workers_finished_result_is_published_when_its_job_is_taken_over
    what_a_dead_worker_said_it_had_made_is_its_jobs_result_after_the_next_start
    what_a_dead_worker_said_it_had_made_is_not_made_again_by_the_next_claim
    what_was_bought_without_a_result_is_known_to_the_next_worker
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

/// Has a worker say that it made a model, and nothing after that.
fn say_made(store: &dyn WorkerStore, lease: &Lease) {
    fs::write(lease.staging.join("generated.glb"), shapes::chair().glb())
        .expect("staging is writable");
    let made = Made {
        model: Some("generated.glb".into()),
        price: Price {
            estimated_usd: Some(0.4),
            ..Price::default()
        },
        settled: true,
        ..Made::default()
    };
    store.made(lease, &made, true, at(1)).expect("works");
}

#[track_caller]
fn assert_kept(bench: &dyn Bench, store: &dyn WorkerStore, lease: &Lease) {
    let job = &lease.job_id;
    let state = state(store, job);
    let real = JobState::Completed {
        attempt: state.attempt(),
        simulated: false,
    };
    assert_eq!(state, real);
    let model = fs::read(bench.paths().output(job).join("generated.glb"));
    assert_eq!(model.expect("it is kept"), shapes::chair().glb());
    store.close(at(10)).expect("works");
    assert_eq!(bench.row(job)["status"], "completed");
}

fn what_a_dead_worker_said_it_had_made_is_its_jobs_result_after_the_next_start(make: Make) {
    let bench = make(1);
    let job = &bench.jobs()[0];
    let one = bench.worker("one");
    let lease = take(&*one, job, Entry::Fresh, at(0));
    say_made(&*one, &lease);
    bench.die(one, &lease.worker_id);
    let two = bench.open("two");
    let recovery = two.recover(at(9)).expect("works");
    assert_eq!(recovery.rolled_forward, std::slice::from_ref(job));
    let billing = two.billings(&[AttemptKey::from(&lease)]);
    assert_eq!(billing.expect("works"), [Billing::Billed(Some(0.4))]);
    assert_kept(&*bench, &*two, &lease);
}

fn what_a_dead_worker_said_it_had_made_is_not_made_again_by_the_next_claim(make: Make) {
    let bench = make(1);
    let job = &bench.jobs()[0];
    let (one, two) = (bench.worker("one"), bench.worker("two"));
    let lease = take(&*one, job, Entry::Fresh, at(0));
    say_made(&*one, &lease);
    bench.die(one, &lease.worker_id);
    let claim = two.claim(job, Entry::Takeover, at(9)).expect("works");
    assert!(matches!(claim, Claim::RolledForward(_)), "{claim:?}");
    assert_kept(&*bench, &*two, &lease);
}

fn what_was_bought_without_a_result_is_known_to_the_next_worker(make: Make) {
    let bench = make(1);
    let job = &bench.jobs()[0];
    let one = bench.worker("one");
    let first = take(&*one, job, Entry::Fresh, at(0));
    one.submitted(&first, "req-1", None, at(1)).expect("works");
    one.submitted(&first, "req-1", Some(0.4), at(1))
        .expect("works");
    bench.die(one, &first.worker_id);
    let two = bench.worker("two");
    let second = take(&*two, job, Entry::Takeover, at(9));
    let bought = [("req-1".to_owned(), Some(0.4))];
    assert_eq!(two.purchases(job).expect("works"), bought);
    let billings = two.billings(&[AttemptKey::from(&first)]);
    assert_eq!(billings.expect("works"), [Billing::Open]);
    two.finish(&second, made(&second, "m", false))
        .expect("works");
    assert_eq!(two.purchases(job).expect("works"), []);
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
