//! How the engine stops: the whole worker, or one job.

use std::io;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use archi3d_core::adapter::AdapterError;
use archi3d_core::cancel::{Stage, StopReason};
use archi3d_core::clock::SystemClock;
use archi3d_core::domain::job::{Entry, Status};
use archi3d_core::domain::retry::ErrorClass;
use archi3d_core::domain::time::Clock;

use super::{Worker, hang, model, statuses};
use crate::support::bench::{Bench, MemoryBench, STALE, listing, state, take};

/// Two ends with which a test steps through the jobs of a worker.
fn gate() -> (impl Fn() + Send + Sync + 'static, Receiver<()>, Sender<()>) {
    let (arrived, arrivals) = channel();
    let (open, opened) = channel();
    let opened = Mutex::new(opened);
    let pass = move || {
        arrived.send(()).expect("the test listens");
        let opened = opened.lock().expect("nobody panics at a gate");
        opened.recv().expect("the test lets it pass");
    };
    (pass, arrivals, open)
}

#[test]
fn draining_starts_nothing_new_and_lets_running_jobs_land() {
    let bench = MemoryBench::new(6);
    let (pass, arrivals, open) = gate();
    let worker = Worker::new(&bench, move |request, _| {
        pass();
        model(request)
    })
    .parallel(2);
    let store = bench.worker("w");
    let summary = thread::scope(|scope| {
        let running = scope.spawn(|| worker.run(&*store));
        arrivals.recv().expect("one runs");
        // Job number two is taken, whether or not it has arrived.
        arrivals.recv().expect("another runs");
        worker.cancel.raise(Stage::Drain);
        open.send(()).expect("they wait");
        open.send(()).expect("they wait");
        running.join().expect("the engine ends")
    });
    assert_eq!((summary.completed, summary.not_started), (2, 4));
    assert_eq!(summary.stopped_by.as_deref(), Some("interrupted"));
    assert_eq!(statuses(&bench)[2..], [Status::Enqueued; 4]);
}

#[test]
fn killing_stops_running_jobs_and_gives_them_back() {
    let bench = MemoryBench::new(5);
    let (arrived, arrivals) = channel();
    let worker = Worker::new(&bench, move |_, context| {
        arrived.send(()).expect("the test listens");
        hang(context)
    })
    .parallel(3);
    let store = bench.worker("w");
    let summary = thread::scope(|scope| {
        let running = scope.spawn(|| worker.run(&*store));
        for _ in 0..3 {
            arrivals.recv().expect("three run");
        }
        worker.cancel.raise(Stage::Kill);
        running.join().expect("the engine ends")
    });
    assert_eq!((summary.released, summary.not_started), (3, 2));
    assert_eq!((summary.processed, summary.failed), (0, 0));
    assert_eq!(statuses(&bench), [Status::Enqueued; 5]);
    assert!(listing(&bench.paths().staging()).is_empty());
}

#[test]
fn a_job_that_somebody_else_took_is_stopped_and_publishes_nothing() {
    let bench = MemoryBench::new(1);
    let job = &bench.jobs()[0];
    let (arrived, arrivals) = channel();
    let (told, reasons) = channel();
    let worker = Worker::new(&bench, move |_, context| {
        arrived.send(()).expect("the test listens");
        let made = hang(context);
        told.send(made.clone()).expect("the test listens");
        made
    });
    let (store, other) = (bench.worker("w"), bench.worker("other"));
    let summary = thread::scope(|scope| {
        let running = scope.spawn(|| worker.run(&*store));
        arrivals.recv().expect("it runs");
        let much_later = SystemClock.now().plus(STALE * 2);
        take(&*other, job, Entry::Takeover, much_later);
        running.join().expect("the engine ends")
    });
    let lost = Err(AdapterError::Stopped(StopReason::LeaseLost));
    assert_eq!(reasons.recv().expect("told"), lost);
    assert_eq!((summary.fenced, summary.processed), (1, 0));
    assert_eq!(state(&*other, job).status(), Status::Running);
}

#[test]
fn a_job_that_somebody_cancels_is_stopped_and_taken_out() {
    let bench = MemoryBench::new(2);
    let (arrived, arrivals) = channel();
    let worker = Worker::new(&bench, move |request, context| {
        if request.job_id == "job001" {
            return model(request);
        }
        arrived.send(()).expect("the test listens");
        hang(context)
    });
    let store = bench.worker("w");
    let summary = thread::scope(|scope| {
        let running = scope.spawn(|| worker.run(&*store));
        arrivals.recv().expect("it runs");
        bench.ask_to_cancel(&bench.jobs()[0]);
        running.join().expect("the engine ends")
    });
    assert_eq!((summary.cancelled, summary.completed), (1, 1));
    assert_eq!(statuses(&bench), [Status::Cancelled, Status::Completed]);
}

#[test]
fn a_job_that_takes_too_long_fails_and_the_class_tells_whether_it_may_be_billed() {
    let bench = MemoryBench::new(2);
    let mut worker = Worker::new(&bench, |request, context| {
        if request.job_id == "job001" {
            context.reporter.submitted("req-1", None)?;
        }
        hang(context)
    });
    worker.timeout = Some(Duration::from_millis(20));
    let summary = worker.run(&*bench.worker("w"));
    assert_eq!(summary.failed, 2);
    let failures = worker.failures();
    let text = "timed out after 0.02 s".to_owned();
    assert_eq!(failures[0], (ErrorClass::Transient, text.clone()));
    let (class, message) = &failures[1];
    assert_eq!(*class, ErrorClass::Unknown);
    assert!(message.starts_with(&text), "{message}");
    assert!(message.contains("request req-1 may have been billed"));
}

#[test]
fn fail_fast_starts_nothing_after_the_first_failure() {
    let bench = MemoryBench::new(6);
    let mut worker = Worker::new(&bench, |request, _| {
        if request.job_id == "job002" {
            return Err(AdapterError::permanent("no"));
        }
        model(request)
    });
    worker.conditions.fail_fast = true;
    let summary = worker.run(&*bench.worker("w"));
    assert_eq!((summary.completed, summary.failed), (2, 1));
    assert_eq!(summary.not_started, 3);
    assert_eq!(summary.stopped_by.as_deref(), Some("fail_fast"));
}

#[test]
fn no_more_jobs_start_than_the_limit_even_in_parallel() {
    // All threads look at the same moment; a few rounds give each a chance to look too early.
    for round in 0..20 {
        let bench = MemoryBench::new(20);
        let mut worker = Worker::new(&bench, |request, _| model(request)).parallel(8);
        worker.conditions.limit = Some(3);
        let summary = worker.run(&*bench.worker("w"));
        assert_eq!((summary.completed, summary.not_started), (3, 17), "{round}");
        assert_eq!(summary.stopped_by.as_deref(), Some("limit"));
    }
}

#[test]
fn trouble_with_the_store_starts_nothing_new_and_loses_no_result() {
    let bench = MemoryBench::new(4);
    let worker = Worker::new(&bench, |request, _| model(request));
    bench.cut_off("w");
    let store = bench.worker("w");
    let summary = worker.run(&*store);
    assert_eq!((summary.completed, summary.not_started), (0, 3));
    assert_eq!(summary.stopped_by.as_deref(), Some("store"));
    drop(store);
    assert_eq!(statuses(&bench)[0], Status::Completed, "rolled forward");
}

#[test]
fn a_job_that_found_no_room_is_given_back_although_there_is_room_again() {
    let bench = MemoryBench::new(3);
    let worker = Worker::new(&bench, |request, _| {
        let full = io::Error::from(io::ErrorKind::StorageFull);
        Err(AdapterError::unwritten(&request.out_dir, &full))
    });
    let summary = worker.run(&*bench.worker("w"));
    assert_eq!(worker.failures(), []);
    assert_eq!((summary.released, summary.not_started), (1, 2));
    assert_eq!(summary.stopped_by.as_deref(), Some("store"));
    assert_eq!(statuses(&bench), [Status::Enqueued; 3]);
}
