//! What the engine makes of intents to buy, and of purchases that are over.

use std::sync::mpsc::channel;

use archi3d_core::adapter::{AdapterError, JobContext};
use archi3d_core::cancel::StopReason;
use archi3d_core::domain::job::Status;
use archi3d_core::domain::purchase::Billed;
use archi3d_core::domain::retry::ErrorClass;
use archi3d_core::store::JobSnapshot;

use super::{Made, Worker, model, statuses};
use crate::support::bench::{Bench, MemoryBench, at};

/// What an attempt is told of earlier ones.
type Told = (Option<String>, Option<String>, String);

fn told(context: &JobContext<'_>) -> Told {
    let intent = context.open_intent.as_ref();
    (
        context.resume_request_id.clone(),
        intent.map(|intent| intent.correlation.clone()),
        context.idempotency_key.clone(),
    )
}

/// Says that it buys, and is stopped before it knows the id.
fn buy_and_stop(context: &mut JobContext<'_>) -> Made {
    context.reporter.intent("c-1")?;
    Err(AdapterError::Stopped(StopReason::Killed))
}

fn in_doubt(bench: &MemoryBench) -> bool {
    let store = bench.worker("looks");
    let record = store.jobs(at(0)).expect("works").jobs.remove(0);
    matches!(record.snapshot, JobSnapshot::Known { doubtful: true, .. })
}

#[test]
fn an_adapter_that_reconciles_is_told_what_was_about_to_be_bought() {
    let bench = MemoryBench::new(1);
    let (tell, tales) = channel();
    let mut worker = Worker::new(&bench, move |request, context| {
        let known = told(context);
        tell.send(known.clone()).expect("the test listens");
        if known.1.is_none() {
            return buy_and_stop(context);
        }
        context.reporter.submitted("found", None)?;
        model(request)
    });
    worker.reconciles = true;
    assert_eq!(worker.run(&*bench.worker("one")).released, 1);
    assert_eq!(worker.run(&*bench.worker("two")).completed, 1);
    let tales: Vec<Told> = tales.try_iter().collect();
    assert_eq!(tales[0].1, None);
    assert_eq!((&tales[1].0, tales[1].1.as_deref()), (&None, Some("c-1")));
    assert_eq!(tales[0].2, tales[1].2);
}

#[test]
fn an_intent_that_nobody_can_explain_is_a_question_for_a_person() {
    let bench = MemoryBench::new(1);
    let mut first = Worker::new(&bench, |_, context| buy_and_stop(context));
    first.reconciles = true;
    assert_eq!(first.run(&*bench.worker("one")).released, 1);
    // Whoever goes on cannot look at the provider.
    let second = Worker::new(&bench, |_, _| panic!("it must not be started"));
    let summary = second.run(&*bench.worker("two"));
    assert_eq!((summary.failed, summary.in_doubt), (1, 1));
    let [(class, message)] = &second.failures()[..] else {
        panic!("one failure");
    };
    assert_eq!(*class, ErrorClass::Unknown);
    assert!(message.contains("c-1"), "{message}");
    assert!(in_doubt(&bench));
}

#[test]
fn a_stop_while_it_buys_is_a_question_at_once_where_nobody_can_look() {
    let bench = MemoryBench::new(1);
    let worker = Worker::new(&bench, |_, context| buy_and_stop(context));
    let summary = worker.run(&*bench.worker("one"));
    assert_eq!((summary.failed, summary.released), (1, 0));
    assert!(in_doubt(&bench));
}

#[test]
fn a_failure_that_was_not_billed_ends_its_intent() {
    let bench = MemoryBench::new(1);
    let (tell, tales) = channel();
    let mut worker = Worker::new(&bench, move |request, context| {
        tell.send(told(context)).expect("the test listens");
        if context.attempt > 1 {
            return model(request);
        }
        context.reporter.intent("c-1")?;
        Err(AdapterError::failed(ErrorClass::Transient, "429"))
    });
    worker.retries = 1;
    assert_eq!(worker.run(&*bench.worker("w")).completed, 1);
    let tales: Vec<Told> = tales.try_iter().collect();
    assert_eq!(tales[1].1, None);
    assert_eq!(tales[0].2, tales[1].2);
}

#[test]
fn what_may_have_been_billed_is_not_tried_again_without_an_id() {
    let bench = MemoryBench::new(1);
    let mut worker = Worker::new(&bench, |_, context| {
        context.reporter.intent("c-1")?;
        let error = AdapterError::failed(ErrorClass::Transient, "502");
        Err(error.with_bill(Billed::Maybe, None))
    });
    worker.retries = 3;
    let summary = worker.run(&*bench.worker("w"));
    assert_eq!((summary.failed, summary.retried), (1, 0));
    assert!(in_doubt(&bench));
}

#[test]
fn a_void_purchase_is_bought_anew_under_another_key() {
    let bench = MemoryBench::new(1);
    let (tell, tales) = channel();
    let mut worker = Worker::new(&bench, move |request, context| {
        tell.send(told(context)).expect("the test listens");
        let id = format!("r-{}", context.attempt);
        context.reporter.intent(&id)?;
        context.reporter.submitted(&id, None)?;
        if context.attempt > 2 {
            return model(request);
        }
        Err(AdapterError::failed(ErrorClass::Transient, "ended 503").void())
    });
    worker.retries = 2;
    assert_eq!(worker.run(&*bench.worker("w")).completed, 1);
    assert_eq!(statuses(&bench), [Status::Completed]);
    let tales: Vec<Told> = tales.try_iter().collect();
    let mut keys: Vec<&String> = tales.iter().map(|tale| &tale.2).collect();
    keys.dedup();
    assert_eq!(keys.len(), 3);
    assert!(
        tales
            .iter()
            .all(|tale| tale.0.is_none() && tale.1.is_none())
    );
}
