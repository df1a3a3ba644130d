//! Decisions of the dispatcher, moment by moment, without threads.

use super::*;
use crate::domain::id::{AlgoKey, JobId};
use crate::domain::job::Entry;
use crate::engine::QueuedJob;
use crate::store::{JobRecord, JobSnapshot};

fn job(name: &str) -> Waiting {
    Waiting {
        planned: QueuedJob {
            job: JobRecord {
                job_id: JobId::parse(name).unwrap(),
                product_id: name.to_owned(),
                variant: String::new(),
                algo: AlgoKey::parse("mock").map_err(|error| error.to_string()),
                images: Vec::new(),
                blobs: Vec::new(),
                snapshot: JobSnapshot::NotInManifest,
            },
            entry: Entry::Fresh,
        },
        failures: 0,
        tried: false,
        plain: false,
        lane: 0,
        canary: false,
        place: 0,
        refused_since: None,
        probe: None,
    }
}

fn dispatch(rules: Rules, jobs: &[&str]) -> Dispatch {
    let jobs = jobs.iter().map(|name| job(name)).collect();
    Dispatch::new(rules, Some(jobs), vec![Some(0)], Money::default())
}

fn next(dispatch: &Dispatch) -> Step {
    dispatch.state().next(true, Instant::now())
}

fn taken(dispatch: &Dispatch) -> Box<Waiting> {
    match next(dispatch) {
        Step::Job(job) => job,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_claim_without_an_answer_counts_against_the_limit() {
    let limit = Rules {
        limit: Some(1),
        ..Rules::default()
    };
    let dispatch = dispatch(limit, &["a", "b"]);
    let Order::Job(first, claiming, out) = dispatch.next(|| true) else {
        panic!("a job waits");
    };
    assert!(matches!(next(&dispatch), Step::Await));
    drop(claiming);
    out.answer(Answer::Held(first));
    let Order::Job(again, claiming, out) = dispatch.next(|| true) else {
        panic!("none was started");
    };
    assert_eq!(again.planned.job.job_id.as_str(), "a");
    claiming.answered(true);
    assert!(matches!(next(&dispatch), Step::End));
    drop(out);
    assert_eq!(dispatch.halted(), Some(Halt::Limit));
}

#[test]
fn a_thread_stays_while_a_job_that_is_out_may_come_back() {
    for retries in [false, true] {
        let rules = Rules {
            retries,
            ..Rules::default()
        };
        let dispatch = dispatch(rules, &["a"]);
        let job = taken(&dispatch);
        assert_eq!(matches!(next(&dispatch), Step::Await), retries);
        let answer = Answer::Again(job, Duration::ZERO);
        let wake = dispatch.state().take(answer, None, Instant::now());
        assert!(matches!(wake, Wake::All), "none is out");
        taken(&dispatch);
    }
}

#[test]
fn money_that_is_freed_brings_jobs_back_that_it_did_not_reach_for() {
    let dispatch = dispatch(Rules::default(), &["a", "b"]);
    let (dear, _cheap) = (taken(&dispatch), taken(&dispatch));
    let answer = Answer::Unaffordable(dear);
    dispatch.state().take(answer, None, Instant::now());
    assert!(matches!(next(&dispatch), Step::Await));
    dispatch.note_freed();
    assert_eq!(taken(&dispatch).planned.job.job_id.as_str(), "a");
}

#[test]
fn a_lane_that_waits_for_its_provider_holds_its_jobs_only() {
    let dispatch = dispatch(Rules::default(), &["a"]);
    dispatch.refused(0, Cause::Slots(1));
    assert!(matches!(next(&dispatch), Step::Pause(_)));
    dispatch.left(0);
    taken(&dispatch);
}

#[test]
fn what_was_bought_is_known_until_its_job_has_a_result() {
    let dispatch = dispatch(Rules::default(), &[]);
    let job = JobId::parse("a").unwrap();
    dispatch.note_bought(&job, "one", Some(1.0));
    dispatch.note_bought(&job, "one", None);
    dispatch.note_bought(&job, "two", None);
    dispatch.note_void(&job, "two");
    assert_eq!(dispatch.bought_for(&job), [("one".to_owned(), Some(1.0))]);
    dispatch.forget_purchases(&job);
    assert!(dispatch.bought_for(&job).is_empty());
}
