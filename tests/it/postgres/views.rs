//! What people look at, and the rows that go back into the registry.

use std::time::Duration;

use archi3d_core::domain::job::{Entry, JobState, Status};
use archi3d_core::domain::patch::Patch;
use archi3d_core::store::postgres::act;
use archi3d_core::store::postgres::claim;
use archi3d_core::store::postgres::ending::{self, Release};
use archi3d_core::store::postgres::import::{self, NewJob, NewRun};
use archi3d_core::store::postgres::membership::{self, Health, State, Worker};
use archi3d_core::store::postgres::{export, keep, view};
use chrono::Utc;

use super::bench::{failure, setback, success};
use super::{Bench, LEASE, SHORT};

#[test]
fn a_run_is_counted_by_algorithm_and_state() {
    let Some(mut bench) = Bench::new() else {
        return;
    };
    bench.jobs("a", 7);
    bench.jobs("b", 2);
    let held: Vec<_> = (0..6).map(|_| bench.take().hold).collect();
    ending::succeed(&mut bench.work, &[success(held[0]), success(held[1])]).expect("told");
    ending::fail(&mut bench.work, &failure(held[2])).expect("told");
    ending::requeue(&mut bench.work, &setback(held[3], Duration::from_secs(60))).expect("told");
    let run_no = bench.run_no;
    act::cancel(
        &mut bench.work,
        run_no,
        Some(&[held[5].job_no + 1]),
        None,
        SHORT,
    )
    .expect("out");
    bench.run(&format!(
        "UPDATE archi3d.jobs SET lease_expires_at = now() - interval '1 h' WHERE id = {}",
        held[4].job_no
    ));
    let counts = view::counts(&mut bench.work, run_no).expect("counted");
    let a = &counts[0];
    assert_eq!(
        (a.algo.as_str(), a.total, a.pending, a.retryable, a.running),
        ("a", 7, 0, 1, 2)
    );
    assert_eq!(
        (a.expired, a.succeeded, a.failed, a.cancelled, a.rehearsed),
        (1, 2, 1, 1, 0)
    );
    assert_eq!((counts[1].algo.as_str(), counts[1].pending), ("b", 2));
    let health = view::lease_health(&mut bench.work, Some(run_no)).expect("asked");
    assert_eq!((health.active, health.expired), (2, 1));
    let stats = view::recovery_stats(&mut bench.work, Some(run_no), Duration::from_secs(3600))
        .expect("asked");
    let of = |word: &str| {
        stats
            .iter()
            .find(|one| one.status == word)
            .map_or(0, |one| one.attempts)
    };
    assert_eq!((of("succeeded"), of("failed"), of("put_off")), (2, 1, 1));
    let took = view::durations(&mut bench.work, run_no, 100).expect("asked");
    assert_eq!((took.len(), took[0].results, took[0].median_s), (1, 2, 1.5));
    assert_eq!(
        view::recent(&mut bench.work, run_no, 1)
            .expect("asked")
            .len(),
        1
    );
    assert_eq!(
        bench.text("SELECT last_error FROM archi3d.jobs WHERE status = 'failed_terminal'"),
        "no good"
    );
    assert_eq!(
        view::running(&mut bench.work, run_no, 9)
            .expect("asked")
            .len(),
        2
    );
}

#[test]
fn jobs_come_in_pages_and_by_the_beginning_of_their_id() {
    let Some(mut bench) = Bench::new() else {
        return;
    };
    bench.jobs("a", 25);
    let held = bench.take();
    let (mut after, mut seen) = (-1, Vec::new());
    loop {
        let page = view::jobs(&mut bench.work, bench.run_no, after, 10).expect("asked");
        let Some(last) = page.last() else { break };
        after = last.position;
        seen.extend(page.into_iter().map(|job| job.job_id));
    }
    assert_eq!(seen.len(), 25);
    assert!(seen.is_sorted());
    let found = view::jobs_named(&mut bench.work, "r1", "job001", 99).expect("asked");
    assert_eq!(found.len(), 10);
    let found = view::jobs_named(&mut bench.work, "r1", &held.job_id, 99)
        .expect("asked")
        .remove(0);
    assert_eq!(found.state, JobState::Running { attempt: 1 });
    assert_eq!(
        found.holder.map(|holder| holder.worker).as_deref(),
        Some("w1")
    );
    assert!(
        view::jobs_named(&mut bench.work, "r2", "job", 99)
            .expect("asked")
            .is_empty()
    );
}

#[test]
fn rows_go_back_as_they_came_with_every_published_patch_in_order() {
    let Some(mut bench) = Bench::new() else {
        return;
    };
    let first = bench.one().hold;
    ending::fail(&mut bench.work, &failure(first)).expect("told");
    let run_no = bench.run_no;
    act::requeue(&mut bench.work, run_no, None, Entry::Retry, false).expect("requeued");
    let second = bench.take().hold;
    let mut one = success(second);
    one.patch.fill("algo_version", "=v\"1\",\u{e4}\n");
    ending::succeed(&mut bench.work, &[one.clone()]).expect("told");
    act::requeue(&mut bench.work, run_no, None, Entry::Redo, false).expect("requeued");
    let third = bench.take().hold;
    ending::fail(&mut bench.work, &failure(third)).expect("told");
    let row = export::page(&mut bench.work, run_no, -1, 9)
        .expect("asked")
        .remove(0);
    assert_eq!(row.row, b"job0000,enqueued\r\n");
    let patches: Vec<Patch> = row
        .patches
        .iter()
        .map(|text| serde_json::from_str(text).expect("a patch"))
        .collect();
    assert_eq!(
        patches,
        [Patch::status(Status::Failed), one.patch],
        "a redo that failed writes nothing"
    );
    let all = view::attempts(&mut bench.work, &[first.job_no]).expect("asked");
    let told: Vec<&str> = all.iter().map(|attempt| attempt.status.as_str()).collect();
    assert_eq!(told, ["failed", "succeeded", "failed"]);
}

#[test]
fn a_push_twice_adds_what_is_new_and_nothing_else() {
    let Some(mut bench) = Bench::new() else {
        return;
    };
    bench.jobs("a", 3);
    // However large what they carry: each ten megabytes.
    let payload = format!("{{\"notes\":\"{}\"}}", "x".repeat(10_000_000));
    let again = |position: i64| NewJob {
        position,
        job_id: format!("job{position:04}"),
        algo: "a".to_owned(),
        product_id: "p".to_owned(),
        variant: String::new(),
        provider: None,
        payload: payload.clone(),
        payload_hash: Vec::new(),
        row: Vec::new(),
    };
    let run = NewRun {
        run_id: "r1",
        parameters: "{}",
        payload_hash: b"h",
        header: b"other",
        lease_seconds: 60,
        artifacts_url: None,
    };
    let added = bench.work.transaction(|connection| {
        let run = import::add_run(connection, &run)?;
        assert!(!run.is_new && run.header == b"job_id,status\r\n");
        let jobs: Vec<NewJob> = (0..5).map(again).collect();
        let added = import::add_jobs(connection, run.run_no, "r1", &jobs, 0, 5)?;
        import::added(connection, run.run_no)?;
        Ok(added)
    });
    assert_eq!(added.expect("pushed"), 2);
    let taken = (0..5).map(|_| bench.take().payload);
    let large = taken.filter(|text| *text == payload).count();
    assert_eq!(large, 2, "as it came, and only of what is new");
    import::tidy(&mut bench.work).expect("tidied");
    let run = import::run(&mut bench.work, "r1")
        .expect("asked")
        .expect("there");
    assert_eq!(
        (
            run.jobs,
            import::runs(&mut bench.work).expect("asked").len()
        ),
        (5, 1)
    );
    assert_eq!(
        view::counts(&mut bench.work, bench.run_no).expect("counted")[0].total,
        5
    );
}

#[test]
fn a_worker_is_seen_slow_before_it_is_seen_silent_and_a_name_has_one_bearer() {
    let Some(mut bench) = Bench::new() else {
        return;
    };
    let worker = Worker {
        worker_id: "w1",
        host: "h",
        pid: 7,
        version: "0.3",
        run_no: None,
        slots: 4,
        lease: Duration::from_secs(60),
        connecting: Duration::ZERO,
        facts: "{}",
    };
    assert!(membership::register(&mut bench.work, &worker).expect("registered"));
    let twin = Worker {
        host: "elsewhere",
        pid: 8,
        ..worker.clone()
    };
    assert!(
        !membership::register(&mut bench.work, &twin).expect("asked"),
        "the name is taken"
    );
    membership::set_state(&mut bench.work, "w1", State::Working).expect("told");
    bench.one();
    let mut health = |silent: i32| {
        bench.run(&format!(
            "UPDATE archi3d.workers SET last_seen = now() - interval '{silent} s'"
        ));
        let seen = membership::workers(&mut bench.work, None)
            .expect("asked")
            .remove(0);
        assert_eq!(seen.holds, 1);
        seen.health()
    };
    assert_eq!(
        [health(0), health(40), health(90)],
        [Health::Alive, Health::Slow, Health::Silent]
    );
    assert!(
        membership::register(&mut bench.work, &twin).expect("asked"),
        "its bearer is silent"
    );
    membership::end(&mut bench.work, "w1").expect("ended");
    assert_eq!(
        membership::workers(&mut bench.work, None).expect("asked")[0].health(),
        Health::Ended
    );
}

#[test]
fn only_what_is_over_and_exported_is_forgotten() {
    let Some(mut bench) = Bench::new() else {
        return;
    };
    bench.jobs("a", 2);
    let (one, two) = (bench.take().hold, bench.take().hold);
    ending::succeed(&mut bench.work, &[success(one)]).expect("told");
    bench.age();
    act::sweep(&mut bench.work, 9, SHORT, None).expect("swept");
    bench.take();
    let run_no = bench.run_no;
    assert!(
        !keep::close_run(&mut bench.work, run_no, Utc::now()).expect("asked"),
        "a job runs"
    );
    let held = view::running(&mut bench.work, run_no, 9)
        .expect("asked")
        .remove(0);
    let boundaries =
        view::checkpoints(&mut bench.work, run_no, Some(two.job_no), 9).expect("asked");
    assert_eq!(
        (boundaries.len(), boundaries[0].kind.as_str()),
        (1, "lease_expired")
    );
    let hold = archi3d_core::store::postgres::Hold {
        attempt_id: view::attempts(&mut bench.work, &[held.job_no]).expect("asked")[1]
            .hold
            .attempt_id,
        number: 2,
        job_no: held.job_no,
    };
    bench.run(&format!(
        "INSERT INTO archi3d.checkpoints (job_no, number, kind, worker_id, detail)
         VALUES ({}, {}, 'beats_failed', 'w1', '{{}}')",
        hold.job_no, hold.number
    ));
    let how = Release {
        reason: std::borrow::Cow::Borrowed("interrupted"),
        pause: Duration::ZERO,
        as_if_died: false,
        redo_waits: false,
    };
    ending::release(&mut bench.work, &[hold], &how).expect("released");
    act::cancel(&mut bench.work, run_no, None, None, LEASE).expect("out");
    assert!(keep::close_run(&mut bench.work, run_no, Utc::now()).expect("closed"));
    assert_eq!(
        keep::prune(&mut bench.work, 1, 30)
            .expect("pruned")
            .checkpoints,
        1
    );
    assert_eq!(bench.number("SELECT count(*) FROM archi3d.jobs"), 2);
    bench.run("UPDATE archi3d.runs SET closed_at = now() - interval '31 days'; UPDATE archi3d.jobs SET completed_at = now() - interval '32 days' WHERE status = 'succeeded'; UPDATE archi3d.jobs SET request_id = 'req' WHERE status = 'cancelled'");
    assert_eq!(keep::prune(&mut bench.work, 1, 30).expect("pruned").jobs, 1);
    assert_eq!(
        bench.number("SELECT count(*) FROM archi3d.jobs"),
        1,
        "an open purchase is never forgotten"
    );
}

#[test]
fn a_beat_of_a_registered_worker_shows_in_the_view_of_people() {
    let Some(mut bench) = Bench::new() else {
        return;
    };
    let held = bench.one().hold;
    let pulse = claim::Pulse {
        hold: held,
        progress: Some(0.25),
        doing: None,
    };
    claim::beat(&mut bench.work, &[pulse], "w1", LEASE).expect("beaten");
    let seen = view::running(&mut bench.work, bench.run_no, 1)
        .expect("asked")
        .remove(0);
    assert_eq!(seen.holder.and_then(|holder| holder.progress), Some(0.25));
    assert_eq!(
        bench.text("SELECT status FROM archi3d.generations"),
        "running"
    );
}
