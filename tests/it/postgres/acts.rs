//! What people do to jobs while workers work.

use archi3d_core::domain::job::{Entry, JobState};
use archi3d_core::store::postgres::act;
use archi3d_core::store::postgres::buying;
use archi3d_core::store::postgres::ending::{self, Stopped};
use archi3d_core::store::{Cancellation, Restored};

use super::bench::success;
use super::{Bench, LEASE, SHORT};

fn out(bench: &mut Bench, job: i64) -> Cancellation {
    let run_no = bench.run_no;
    act::cancel(&mut bench.work, run_no, Some(&[job]), None, SHORT)
        .expect("asked")
        .remove(0)
        .1
}

fn back(bench: &mut Bench, job: i64) -> Restored {
    let run_no = bench.run_no;
    act::restore(&mut bench.work, run_no, Some(&[job]))
        .expect("asked")
        .remove(0)
        .1
}

#[test]
fn a_waiting_job_is_out_at_once_and_waits_again_when_restored() {
    let Some(mut bench) = Bench::new() else {
        return;
    };
    bench.jobs("a", 1);
    let job = bench.number("SELECT id FROM archi3d.jobs");
    assert_eq!(back(&mut bench, job), Restored::NotCancelled);
    assert_eq!(
        out(&mut bench, job),
        Cancellation::Cancelled { request_id: None }
    );
    assert_eq!(out(&mut bench, job), Cancellation::AlreadyCancelled);
    assert_eq!(back(&mut bench, job), Restored::Waiting);
    let held = bench.take();
    ending::succeed(&mut bench.work, &[success(held.hold)]).expect("told");
    let done = JobState::Completed {
        attempt: 1,
        simulated: false,
    };
    assert_eq!(out(&mut bench, job), Cancellation::Untouched(done));
    assert_eq!(back(&mut bench, job), Restored::Untouched(done));
}

#[test]
fn a_live_holder_is_asked_and_a_request_taken_back_stops_nobody() {
    let Some(mut bench) = Bench::new() else {
        return;
    };
    let held = bench.one().hold;
    assert_eq!(out(&mut bench, held.job_no), Cancellation::Asked);
    assert_eq!(back(&mut bench, held.job_no), Restored::RequestRevoked);
    assert_eq!(
        ending::cancel(&mut bench.work, &held).expect("told"),
        Stopped::NotAsked
    );
    assert_eq!(out(&mut bench, held.job_no), Cancellation::Asked);
    assert_eq!(
        ending::cancel(&mut bench.work, &held).expect("told"),
        Stopped::Cancelled
    );
    assert_eq!(bench.status(held.job_no), "cancelled");
}

#[test]
fn a_dead_holders_job_is_out_at_once_and_its_purchase_is_kept() {
    let Some(mut bench) = Bench::new() else {
        return;
    };
    let held = bench.one().hold;
    buying::submitted(&mut bench.work, &held, "req", None).expect("noted");
    bench.age();
    assert_eq!(
        out(&mut bench, held.job_no),
        Cancellation::Cancelled {
            request_id: Some("req".to_owned())
        }
    );
    back(&mut bench, held.job_no);
    let next = bench.take();
    assert_eq!(
        (next.request_id.as_deref(), next.took_over),
        (Some("req"), true)
    );
}

#[test]
fn a_request_reaches_whoever_would_go_on_with_the_job() {
    let Some(mut bench) = Bench::new() else {
        return;
    };
    let held = bench.one().hold;
    assert_eq!(out(&mut bench, held.job_no), Cancellation::Asked);
    bench.age();
    assert!(bench.take_rare("w2").is_empty());
    assert_eq!(
        act::sweep(&mut bench.work, 9, SHORT, None)
            .expect("swept")
            .cancelled,
        1
    );
}

#[test]
fn a_redo_that_waits_is_stopped_and_its_older_result_stands() {
    let Some(mut bench) = Bench::new() else {
        return;
    };
    let held = bench.one().hold;
    ending::succeed(&mut bench.work, &[success(held)]).expect("told");
    let run_no = bench.run_no;
    act::requeue(&mut bench.work, run_no, None, Entry::Redo, false).expect("requeued");
    assert_eq!(out(&mut bench, held.job_no), Cancellation::RedoStopped);
    act::requeue(&mut bench.work, run_no, None, Entry::Redo, false).expect("requeued");
    bench.take();
    bench.age();
    assert_eq!(out(&mut bench, held.job_no), Cancellation::RedoStopped);
    assert_eq!(bench.status(held.job_no), "succeeded");
}

#[test]
fn a_whole_run_is_taken_out_and_put_back_by_one_statement_each() {
    let Some(mut bench) = Bench::new() else {
        return;
    };
    bench.jobs("a", 50);
    bench.jobs("b", 50);
    bench.take();
    let run_no = bench.run_no;
    let only = ["a".to_owned()];
    let gone = act::cancel(&mut bench.work, run_no, None, Some(&only), LEASE).expect("withdrawn");
    assert_eq!(
        gone.iter()
            .filter(|(_, what)| *what == Cancellation::Asked)
            .count(),
        1
    );
    assert_eq!(gone.len(), 50);
    assert_eq!(bench.number("SELECT archi3d.wanted('r1')"), 51);
    assert_eq!(
        act::restore(&mut bench.work, run_no, None)
            .expect("restored")
            .len(),
        50
    );
    assert_eq!(bench.number("SELECT archi3d.wanted('r1')"), 100);
}
