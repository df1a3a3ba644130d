//! What every store promises to those who look at its runs: `store::runs::Runs`.

use std::collections::{BTreeSet, HashMap};

use archi3d_core::domain::budget::{AttemptKey, Caps, Grant};
use archi3d_core::domain::id::{AlgoKey, JobId};
use archi3d_core::domain::job::{Entry, Status};
use archi3d_core::domain::lease::{Lease, Rhythm, Verdict};
use archi3d_core::domain::purchase::PurchaseEnd;
use archi3d_core::domain::retry::ErrorClass;
use archi3d_core::store::attempt::{AttemptOutcome, RunAttempts};
use archi3d_core::store::overview::Overview;
use archi3d_core::store::providers::{Closable, Closure};
use archi3d_core::store::{JobRecord, JobSnapshot, OpenRun, Runs, Setback};

use super::{MakePlace, Place, fresh};
use crate::support::bench::{at, failed, run_id, take};
use crate::support::place::{Result, no_run};

every_place! {
    jobs_are_told_in_the_order_of_the_manifest_with_what_people_know_them_by
    times_are_told_by_the_clock_of_the_store
    what_a_worker_does_is_told_at_once
    a_job_whose_holder_died_is_told_as_such
    a_run_at_a_glance_counts_as_its_jobs_do
    a_closed_run_is_counted_as_its_rows_say
    a_word_means_the_job_with_that_id_or_those_that_begin_so_or_are_of_that_product
    every_attempt_is_told_with_its_ending_by_job_and_number
    of_one_job_only_its_attempts_are_told
    what_was_tried_before_the_run_came_is_told_once
    the_algorithm_of_every_job_is_known
    what_a_worker_closed_is_told_and_opened_once
    medians_are_of_real_results
    looking_changes_nothing
    looking_waits_for_no_worker
    a_run_that_is_nowhere_is_an_error
}

pub(super) const ALGOS: [&str; 4] = ["one", "two", "one", "two"];

fn algo(name: &str) -> AlgoKey {
    AlgoKey::parse(name).expect("a valid key")
}

fn jobs(runs: &dyn Runs) -> Vec<JobRecord> {
    let told = runs.jobs(&run_id(), Rhythm::default()).expect("told");
    assert_eq!(told.warnings, Vec::<String>::new());
    told.jobs
}

fn status(record: &JobRecord) -> Status {
    match &record.snapshot {
        JobSnapshot::Known { state, .. } => state.status(),
        other => panic!("{} is {other:?}", record.job_id),
    }
}

fn statuses(runs: &dyn Runs) -> Vec<Status> {
    jobs(runs).iter().map(status).collect()
}

pub(super) fn overview(place: &Place) -> Overview {
    place.runs().overview(&run_id()).expect("told")
}

fn attempts(place: &Place) -> RunAttempts {
    place.runs().attempts(&run_id(), None).expect("told")
}

fn jobs_are_told_in_the_order_of_the_manifest_with_what_people_know_them_by(make: MakePlace) {
    let place = fresh(make, &ALGOS);
    let told = jobs(&*place.runs());
    let expected = place.workspace.jobs();
    assert_eq!(told.len(), expected.len());
    for ((told, job), name) in told.iter().zip(expected).zip(ALGOS) {
        assert_eq!(told.job_id.as_str(), job.id);
        assert_eq!(told.product_id, job.product);
        assert_eq!(told.variant, "default");
        assert_eq!(told.algo, Ok(algo(name)));
        assert_eq!(told.images, job.images);
        assert_eq!(status(told), Status::Enqueued);
    }
}

fn times_are_told_by_the_clock_of_the_store(make: MakePlace) {
    let place = fresh(make, &ALGOS);
    let worker = place.worker("w-1");
    let now = place.at(30);
    take(&*worker.store, &place.job(0), Entry::Fresh, now);
    place.at(31);
    let runs = place.runs();
    assert_eq!(runs.now().expect("told"), at(31));
    let seen = overview(&place);
    let holder = seen.running[0].holder.as_ref().expect("it is held");
    assert_eq!(holder.since, Some(at(30)));
    assert_eq!(attempts(&place).attempts[0].started, at(30));
}

fn what_a_worker_does_is_told_at_once(make: MakePlace) {
    use Status::{Completed, Enqueued, Failed, Running};
    let place = fresh(make, &ALGOS);
    let worker = place.worker("w-1");
    let runs = place.runs();
    assert_eq!(statuses(&*runs), [Enqueued; 4]);
    let lease = take(&*worker.store, &place.job(0), Entry::Fresh, place.at(1));
    let told = jobs(&*runs);
    assert_eq!(status(&told[0]), Running);
    let JobSnapshot::Known { holder, .. } = &told[0].snapshot else {
        unreachable!("it was looked at")
    };
    let holder = holder.as_ref().expect("it is held");
    assert_eq!(
        (holder.worker.as_str(), holder.verdict),
        ("w-1", Verdict::Alive)
    );
    let seen = overview(&place);
    assert!(seen.worker_lives);
    assert_eq!(seen.running.len(), 1);
    assert_eq!(seen.running[0].job_id, place.job(0));
    assert_eq!(seen.running[0].name.item(), "100001");
    let ending = Result::real().ending(&lease);
    worker.store.finish(&lease, ending).expect("finished");
    let second = take(&*worker.store, &place.job(1), Entry::Fresh, place.at(3));
    let ending = failed(&second, "no luck");
    worker.store.finish(&second, ending).expect("finished");
    assert_eq!(statuses(&*runs), [Completed, Failed, Enqueued, Enqueued]);
    let seen = overview(&place);
    assert_eq!(seen.running, []);
    assert_eq!(seen.failures.len(), 1);
    assert_eq!(seen.failures[0].job_id, place.job(1));
    assert_eq!(seen.failures[0].message, "no luck");
    let told = attempts(&place).attempts;
    let outcomes: Vec<AttemptOutcome> = told.iter().map(|one| one.outcome).collect();
    assert_eq!(
        outcomes,
        [AttemptOutcome::Completed, AttemptOutcome::Failed]
    );
}

fn a_job_whose_holder_died_is_told_as_such(make: MakePlace) {
    let place = fresh(make, &ALGOS);
    let worker = place.worker("w-1");
    take(&*worker.store, &place.job(0), Entry::Fresh, place.at(1));
    place.die(worker);
    place.at(2);
    let seen = overview(&place);
    assert!(!seen.worker_lives);
    let holder = seen.running[0].holder.as_ref().expect("it is held");
    assert_eq!(holder.verdict, Verdict::Dead);
    let told = attempts(&place).attempts;
    assert_eq!(told[0].outcome, AttemptOutcome::Interrupted);
}

/// Ends the first four jobs: completed, failed, rehearsed, waiting.
fn play(place: &Place, worker: &OpenRun) {
    place.at(1);
    place.make(worker, 0, Entry::Fresh, &Result::real());
    let second = take(&*worker.store, &place.job(1), Entry::Fresh, place.at(5));
    let ending = failed(&second, "no luck");
    place.at(6);
    worker.store.finish(&second, ending).expect("finished");
    let rehearsed = Result {
        simulated: true,
        ..Result::real()
    };
    place.at(9);
    place.make(worker, 2, Entry::Fresh, &rehearsed);
}

fn a_run_at_a_glance_counts_as_its_jobs_do(make: MakePlace) {
    let place = fresh(make, &ALGOS);
    let worker = place.worker("w-1");
    play(&place, &worker);
    let seen = overview(&place);
    assert_eq!(
        (seen.total, seen.unknown_status, seen.without_row),
        (4, 0, 0)
    );
    let names: Vec<&str> = seen.algos.iter().map(|one| one.algo.as_str()).collect();
    assert_eq!(names, ["one", "two"]);
    let [one, two] = &seen.algos[..] else {
        unreachable!("they were counted")
    };
    assert_eq!((one.count(Status::Completed), one.rehearsed), (2, 1));
    assert_eq!(
        (two.count(Status::Failed), two.count(Status::Enqueued)),
        (1, 1)
    );
    worker.store.close(place.at(11)).expect("closed");
    // When and for how long is in the rows.
    let seen = overview(&place);
    let took = seen.algos[0].took.expect("one is done");
    assert!((took.mean_s - 1.0).abs() < 1e-9 && (took.median_s - 1.0).abs() < 1e-9);
    let recent: Vec<_> = seen
        .recent
        .iter()
        .map(|one| (one.ended, one.simulated))
        .collect();
    assert_eq!(recent, [(at(10), true), (at(6), false), (at(2), false)]);
    assert_eq!(seen.failures[0].ended, Some(at(6)));
}

fn a_closed_run_is_counted_as_its_rows_say(make: MakePlace) {
    let place = fresh(make, &ALGOS);
    let worker = place.worker("w-1");
    play(&place, &worker);
    worker.store.close(place.at(11)).expect("closed");
    let counts = place.runs().counts(&run_id()).expect("told");
    assert_eq!(
        (counts.run.as_str(), counts.other, counts.rehearsed),
        ("rk", 0, 1)
    );
    let count = |status: Status| counts.counts[status as usize];
    assert_eq!(
        [
            Status::Enqueued,
            Status::Running,
            Status::Completed,
            Status::Failed
        ]
        .map(count),
        [1, 0, 2, 1]
    );
}

fn a_word_means_the_job_with_that_id_or_those_that_begin_so_or_are_of_that_product(
    make: MakePlace,
) {
    let place = fresh(make, &ALGOS);
    let runs = place.runs();
    let meant = |word: &str| -> Vec<JobId> {
        let told = runs.jobs_like(&run_id(), word).expect("told");
        told.into_iter().map(|job| job.job_id).collect()
    };
    let all: Vec<JobId> = (0..4).map(|n| place.job(n)).collect();
    assert_eq!(meant(place.workspace.id(2)), [all[2].clone()]);
    assert_eq!(meant(&place.workspace.id(1)[..8]), [all[1].clone()]);
    assert_eq!(meant(&place.workspace.jobs()[3].product), [all[3].clone()]);
    assert_eq!(meant("100001:default"), [all[0].clone()]);
    assert_eq!(meant("100001:other"), []);
    assert_eq!(meant("no-such-word"), []);
    let seen = runs
        .jobs_like(&run_id(), place.workspace.id(2))
        .expect("told");
    assert_eq!(seen, [jobs(&*runs)[2].clone()]);
}

pub(super) fn put_off(worker: &OpenRun, lease: &Lease, place: &Place, seconds: u64) {
    let setback = Setback {
        class: ErrorClass::Transient,
        message: "try later".to_owned(),
        not_before: None,
        counts: true,
        cut_off: false,
        purchase: PurchaseEnd::Open,
        cost_usd: None,
    };
    let now = place.at(seconds);
    worker.store.requeue(lease, setback, now).expect("put off");
}

fn every_attempt_is_told_with_its_ending_by_job_and_number(make: MakePlace) {
    let place = fresh(make, &ALGOS);
    let worker = place.worker("w-1");
    let second = take(&*worker.store, &place.job(1), Entry::Fresh, place.at(1));
    worker
        .store
        .submitted(&second, "req-1", Some(0.4), place.at(2))
        .expect("noted");
    let ending = failed(&second, "no luck");
    worker.store.finish(&second, ending).expect("finished");
    let first = take(&*worker.store, &place.job(0), Entry::Fresh, place.at(3));
    put_off(&worker, &first, &place, 4);
    place.at(5);
    place.make(&worker, 0, Entry::Fresh, &Result::real());
    let told = attempts(&place);
    assert_eq!((told.warnings.len(), told.damaged_lines), (0, 0));
    let named: Vec<&str> = told.jobs.iter().map(|(job, _)| job.as_str()).collect();
    let made: Vec<&str> = place.workspace.jobs().iter().map(|job| &*job.id).collect();
    assert_eq!(named, made);
    assert_eq!(told.jobs[1].1.algo, "two");
    let [one, again, other] = &told.attempts[..] else {
        panic!("{told:?}")
    };
    assert_eq!(
        (&one.job_id, one.attempt, one.outcome),
        (&place.job(0), 1, AttemptOutcome::PutOff)
    );
    assert_eq!(
        (one.class, one.error.as_deref()),
        (Some(ErrorClass::Transient), Some("try later"))
    );
    assert_eq!((one.started, one.ended), (at(3), Some(at(4))));
    assert_eq!(
        (again.attempt, again.outcome),
        (2, AttemptOutcome::Completed)
    );
    assert_eq!(
        (again.started, again.ended, again.duration_s),
        (at(5), Some(at(6)), Some(1.0))
    );
    assert_eq!(
        (again.worker.as_str(), again.host.as_deref()),
        ("w-1", Some("testhost"))
    );
    assert!(!again.simulated && !again.resumed);
    assert_eq!(
        (&other.job_id, other.outcome),
        (&place.job(1), AttemptOutcome::Failed)
    );
    assert_eq!(
        (other.request_id.as_deref(), other.submitted_at),
        (Some("req-1"), Some(at(2)))
    );
    assert_eq!(other.error.as_deref(), Some("no luck"));
    let recorded = place.runs().recorded_attempts(&run_id()).expect("told");
    let nonces = |told: &RunAttempts| -> BTreeSet<String> {
        let all = told.attempts.iter();
        all.map(|one| one.nonce.to_string()).collect()
    };
    assert_eq!(nonces(&recorded), nonces(&told));
}

fn of_one_job_only_its_attempts_are_told(make: MakePlace) {
    let place = fresh(make, &ALGOS);
    let worker = place.worker("w-1");
    play(&place, &worker);
    let only = place.job(1);
    let told = place.runs().attempts(&run_id(), Some(&only)).expect("told");
    assert_eq!(told.attempts.len(), 1);
    assert_eq!(told.attempts[0].job_id, only);
    let named: Vec<&JobId> = told.jobs.iter().map(|(job, _)| job).collect();
    assert_eq!(named, [&only]);
    let waits = place
        .runs()
        .attempts(&run_id(), Some(&place.job(3)))
        .expect("told");
    assert_eq!(waits.attempts, []);
}

fn what_was_tried_before_the_run_came_is_told_once(make: MakePlace) {
    let place = make(&ALGOS, &|place| {
        let worker = place.worker("w-0");
        let first = take(&*worker.store, &place.job(0), Entry::Fresh, place.at(1));
        put_off(&worker, &first, place, 2);
        worker.store.close(place.at(3)).expect("closed");
        place.die(worker);
    });
    let worker = place.worker("w-1");
    place.at(5);
    place.make(&worker, 0, Entry::Fresh, &Result::real());
    let told = attempts(&place).attempts;
    let told: Vec<_> = told
        .iter()
        .map(|one| (one.worker.as_str(), one.attempt, one.outcome))
        .collect();
    let expected = [
        ("w-0", 1, AttemptOutcome::PutOff),
        ("w-1", 2, AttemptOutcome::Completed),
    ];
    assert_eq!(told, expected);
    let only = place.runs().attempts(&run_id(), Some(&place.job(0)));
    assert_eq!(only.expect("told").attempts.len(), 2);
}

fn the_algorithm_of_every_job_is_known(make: MakePlace) {
    let place = fresh(make, &ALGOS);
    let index = place.runs().algos(&run_id()).expect("told");
    for (n, name) in ALGOS.iter().enumerate() {
        assert_eq!(index.of(&place.job(n)), Some(*name));
    }
    assert_eq!(index.of(&JobId::parse("stranger").expect("an id")), None);
}

const FREE: Caps = Caps {
    run_usd: None,
    day_usd: None,
};

pub(super) fn reserve(run: &OpenRun, lease: &Lease, usd: f64, place: &Place) -> AttemptKey {
    let key = AttemptKey::from(lease);
    let now = place.runs().now().expect("told");
    let grant = run.budget.reserve(&key, usd, FREE, now).expect("asked");
    assert!(matches!(grant, Grant::Yes(_)));
    key
}

fn what_a_worker_closed_is_told_and_opened_once(make: MakePlace) {
    let place = fresh(make, &ALGOS);
    let worker = place.worker("w-1");
    let now = place.at(1);
    let closing = |name: &str, until| Closure {
        provider: algo(name),
        closed_at: now,
        until,
        reason: "out of credit".to_owned(),
    };
    let close = |what, closure: &Closure| worker.providers.close(what, closure).expect("closed");
    close(Closable::Provider, &closing("acme", None));
    close(Closable::Provider, &closing("bank", Some(at(50))));
    close(Closable::Algo, &closing("one", None));
    let told = |what| -> Vec<String> {
        let told = place.runs().closed(what).expect("told").into_iter();
        told.map(|one| format!("{}: {}", one.provider, one.reason))
            .collect()
    };
    assert_eq!(
        told(Closable::Provider),
        ["acme: out of credit", "bank: out of credit"]
    );
    assert_eq!(told(Closable::Algo), ["one: out of credit"]);
    place.at(51);
    assert_eq!(told(Closable::Provider), ["acme: out of credit"]);
    let open = |what, name| place.runs().open(what, &algo(name)).expect("opened");
    assert!(open(Closable::Provider, "acme"));
    assert!(!open(Closable::Provider, "acme"));
    assert!(open(Closable::Algo, "one"));
    assert!(!open(Closable::Algo, "two"));
    assert_eq!(told(Closable::Provider), Vec::<String>::new());
    assert_eq!(told(Closable::Algo), Vec::<String>::new());
}

fn medians_are_of_real_results(make: MakePlace) {
    let place = fresh(make, &["one", "one", "one", "one", "two"]);
    let worker = place.worker("w-1");
    assert_eq!(place.runs().medians().expect("told"), HashMap::new());
    let took = [(10, false), (20, false), (60, false), (500, true)];
    for (job, (seconds, simulated)) in took.into_iter().enumerate() {
        place.at(1_000 * job as u64);
        let result = Result {
            seconds,
            simulated,
            ..Result::real()
        };
        place.make(&worker, job, Entry::Fresh, &result);
    }
    let lease = take(&*worker.store, &place.job(4), Entry::Fresh, place.at(9_000));
    let ending = failed(&lease, "no luck");
    worker.store.finish(&lease, ending).expect("finished");
    worker.store.close(place.at(9_010)).expect("closed");
    let medians = place.runs().medians().expect("told");
    assert_eq!(medians, HashMap::from([("one".to_owned(), 20.0)]));
}

/// Asks everything that only looks.
fn ask_everything(place: &Place) {
    let (runs, run) = (place.runs(), run_id());
    runs.now().expect("told");
    runs.rhythm(&run).expect("told");
    runs.overview(&run).expect("told");
    runs.counts(&run).expect("told");
    runs.jobs(&run, Rhythm::default()).expect("told");
    runs.jobs_like(&run, "1").expect("told");
    runs.attempts(&run, None).expect("told");
    runs.recorded_attempts(&run).expect("told");
    runs.algos(&run).expect("told");
    runs.money(&run).expect("told");
    runs.highest_costs(&run).expect("told");
    runs.closed(Closable::Provider).expect("told");
    runs.medians().expect("told");
    runs.unpublished(&run).expect("told");
}

/// A run with a bit of everything: a result, a failure, a rehearsal, a job that runs and has money.
fn busy(place: &Place) -> OpenRun {
    let worker = place.worker("w-1");
    play(place, &worker);
    let lease = take(&*worker.store, &place.job(3), Entry::Fresh, place.at(12));
    reserve(&worker, &lease, 0.3, place);
    worker
        .store
        .submitted(&lease, "req-1", None, place.at(13))
        .expect("noted");
    worker
}

fn looking_changes_nothing(make: MakePlace) {
    let place = fresh(make, &ALGOS);
    let worker = busy(&place);
    place.die(worker);
    let before = place.records();
    ask_everything(&place);
    assert_eq!(place.records(), before);
}

fn looking_waits_for_no_worker(make: MakePlace) {
    let place = fresh(make, &ALGOS);
    let worker = busy(&place);
    // Whoever waited here would wait for ever.
    place.while_locked(|| ask_everything(&place));
    drop(worker);
}

fn a_run_that_is_nowhere_is_an_error(make: MakePlace) {
    let place = fresh(make, &ALGOS);
    let (runs, run) = (place.runs(), no_run());
    let before = place.records();
    assert!(runs.overview(&run).is_err());
    assert!(runs.jobs(&run, Rhythm::default()).is_err());
    assert!(runs.jobs_like(&run, "1").is_err());
    assert!(runs.attempts(&run, None).is_err());
    assert!(runs.counts(&run).is_err());
    assert_eq!(place.records(), before);
}
