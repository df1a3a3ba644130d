//! Claims, beats and expiry: one holder per job, told by the database's clock.

use std::collections::HashSet;
use std::sync::Barrier;
use std::time::Duration;

use archi3d_core::domain::job::Entry;
use archi3d_core::store::postgres::act::{self, Sweeper, Swept};
use archi3d_core::store::postgres::claim::{self, Beaten, Claimer, Pulse};
use archi3d_core::store::postgres::membership::{self, Worker};
use archi3d_core::store::postgres::{Lane, buying, ending};

use super::bench::{lane, success};
use super::{Bench, LEASE, SHORT, claimer};

fn pulse(hold: archi3d_core::store::postgres::Hold) -> Pulse {
    Pulse {
        hold,
        progress: Some(0.5),
        doing: Some("half".to_owned()),
    }
}

#[test]
fn eight_that_race_get_every_job_once() {
    let Some(mut bench) = Bench::new() else {
        return;
    };
    bench.jobs("a", 200);
    let start = Barrier::new(8);
    let taken: Vec<i64> = std::thread::scope(|scope| {
        let race = |worker: usize| {
            let mut connection = bench.connect();
            let (name, run_no) = (format!("w{worker}"), bench.run_no);
            let start = &start;
            scope.spawn(move || {
                start.wait();
                let mut mine = Vec::new();
                loop {
                    let some =
                        claim::claim(&mut connection, run_no, &[lane("a", 7)], 7, &claimer(&name))
                            .expect("claimed");
                    if some.is_empty() {
                        return mine;
                    }
                    mine.extend(some.iter().map(|job| job.hold.job_no));
                }
            })
        };
        let threads: Vec<_> = (0..8).map(race).collect();
        threads
            .into_iter()
            .flat_map(|thread| thread.join().expect("no panic"))
            .collect()
    });
    assert_eq!(taken.len(), 200);
    assert_eq!(taken.iter().collect::<HashSet<_>>().len(), 200);
    assert_eq!(
        bench.number(
            "SELECT count(DISTINCT attempt_id) FROM archi3d.attempts WHERE status = 'running'"
        ),
        200
    );
}

#[test]
fn lanes_give_what_they_may_in_the_order_of_priority_and_manifest() {
    let Some(mut bench) = Bench::new() else {
        return;
    };
    bench.jobs("a", 3);
    bench.jobs("b", 3);
    bench.run("UPDATE archi3d.jobs SET priority = 5 WHERE position = 5");
    let lanes = [lane("a", 2), lane("b", 2), lane("c", 9)];
    let taken =
        claim::claim(&mut bench.work, bench.run_no, &lanes, 3, &claimer("w1")).expect("claimed");
    let ids: Vec<&str> = taken.iter().map(|job| job.job_id.as_str()).collect();
    assert_eq!(ids, ["job0005", "job0000", "job0001"]);
    // A cursor passes over what lies before it, until somebody begins anew.
    let cursor = Lane {
        after: taken[2].claim_key + 1,
        ..lane("a", 9)
    };
    assert!(
        claim::claim(&mut bench.work, bench.run_no, &[cursor], 9, &claimer("w1"))
            .expect("claimed")
            .is_empty()
    );
    assert_eq!(bench.take().job_id, "job0002");
}

#[test]
fn a_lane_that_may_not_buy_goes_on_with_what_was_bought() {
    let Some(mut bench) = Bench::new() else {
        return;
    };
    bench.jobs("a", 3);
    bench.run("UPDATE archi3d.jobs SET request_id = 'req' WHERE position = 1");
    let only = Lane {
        bought_only: true,
        free: false,
        ..lane("a", 5)
    };
    let taken =
        claim::claim(&mut bench.work, bench.run_no, &[only], 5, &claimer("w1")).expect("claimed");
    assert_eq!(taken.len(), 1);
    assert_eq!(
        (taken[0].job_id.as_str(), taken[0].request_id.as_deref()),
        ("job0001", Some("req"))
    );
}

#[test]
fn one_statement_renews_every_lease_and_a_lost_one_disturbs_no_other() {
    let Some(mut bench) = Bench::new() else {
        return;
    };
    bench.jobs("a", 3);
    let held: Vec<_> = (0..3).map(|_| bench.take().hold).collect();
    bench.age();
    act::sweep(&mut bench.work, 1, SHORT, Some(&[held[1].job_no])).expect("swept");
    bench.run(&format!(
        "UPDATE archi3d.jobs SET cancel_asked = true WHERE id = {}",
        held[2].job_no
    ));
    let pulses: Vec<Pulse> = held.iter().copied().map(pulse).collect();
    let told = claim::beat(&mut bench.work, &pulses, "w1", LEASE).expect("beaten");
    assert_eq!(told, [Beaten::Held, Beaten::Lost, Beaten::CancelAsked]);
    let fresh = bench.number("SELECT count(*) FROM archi3d.jobs WHERE lease_expires_at > now() AND progress = 0.5 AND doing = 'half'");
    assert_eq!(fresh, 2);
}

#[test]
fn an_expired_lease_is_taken_over_once_and_the_zombie_is_fenced() {
    let Some(mut bench) = Bench::new() else {
        return;
    };
    let first = bench.one();
    assert!(bench.take_rare("w2").is_empty(), "a live lease is nobody's");
    bench.age();
    let second = bench.take_rare("w2").pop().expect("taken over");
    assert_eq!(
        (
            second.entry,
            second.took_over,
            second.hold.number,
            second.lost
        ),
        (Entry::Takeover, true, 2, 1)
    );
    assert_eq!(
        bench.number("SELECT count(*) FROM archi3d.checkpoints WHERE kind = 'lease_expired'"),
        1
    );
    let told = claim::beat(&mut bench.work, &[pulse(first.hold)], "w1", LEASE).expect("beaten");
    assert_eq!(told, [Beaten::Lost]);
    let late = ending::succeed(&mut bench.work, &[success(first.hold)]).expect("told");
    assert_eq!(late, [ending::Published::Fenced]);
    assert_eq!(bench.number("SELECT count(*) FROM archi3d.results"), 0);
    let good = ending::succeed(&mut bench.work, &[success(second.hold)]).expect("told");
    assert_eq!(good, [ending::Published::Yes]);
}

#[test]
fn nobody_takes_a_lease_that_its_holder_renews_however_late() {
    let Some(mut bench) = Bench::new() else {
        return;
    };
    let held = bench.one().hold;
    bench.age();
    let told = claim::beat(&mut bench.work, &[pulse(held)], "w1", LEASE).expect("beaten");
    assert_eq!(told, [Beaten::Held]);
    let swept = act::sweep(&mut bench.work, 9, SHORT, None).expect("swept");
    assert_eq!(swept, Swept::default());
    assert!(bench.take_rare("w2").is_empty());
    let by = Claimer {
        lease: SHORT,
        ..claimer("w2")
    };
    let taken = claim::claim_one(&mut bench.work, held.job_no, Entry::Takeover, &by);
    assert!(taken.expect("asked").is_none());
    let attempts = "SELECT count(*) FROM archi3d.attempts";
    assert_eq!(bench.number(attempts), 1);
}

#[test]
fn no_lease_is_judged_within_one_lease_of_the_servers_start_or_a_fail_over() {
    let Some(mut bench) = Bench::new() else {
        return;
    };
    let held = bench.one();
    bench.age();
    // Longer than this server has been up.
    let uptime = Duration::from_secs(10 * 365 * 86_400);
    assert_eq!(
        act::sweep(&mut bench.work, 9, uptime, None).expect("swept"),
        Swept::default()
    );
    let by = Claimer {
        lease: uptime,
        ..claimer("w2")
    };
    assert!(
        claim::claim_rare(&mut bench.work, bench.run_no, &[lane("a", 1)], 1, &by)
            .expect("claimed")
            .is_empty()
    );
    assert!(
        claim::claim_one(&mut bench.work, held.hold.job_no, Entry::Takeover, &by)
            .expect("claimed")
            .is_none()
    );
    // Another timeline than the one that is on record.
    bench.run("UPDATE archi3d.serving SET timeline = 'FFFFFFFF'");
    bench.work.note_serving().expect("noted");
    let minute = Duration::from_secs(60);
    assert_eq!(
        act::sweep(&mut bench.work, 9, minute, None)
            .expect("swept")
            .total(),
        0
    );
    // A holder with longer leases than the judge's has longer.
    bench.run("UPDATE archi3d.serving SET since = now() - interval '61 s'");
    bench.run("INSERT INTO archi3d.workers VALUES ('w1', 'h', 1, 'v', NULL, 1, 'working', 3600)");
    assert_eq!(
        act::sweep(&mut bench.work, 9, SHORT, None)
            .expect("swept")
            .total(),
        0
    );
    bench.run(
        "UPDATE archi3d.workers SET lease_seconds = 1; UPDATE archi3d.runs SET lease_seconds = 1",
    );
    assert_eq!(
        act::sweep(&mut bench.work, 9, SHORT, None)
            .expect("swept")
            .requeued,
        1
    );
}

#[test]
fn who_waited_half_a_lease_to_come_in_says_that_the_server_stood_still() {
    let Some(mut bench) = Bench::new() else {
        return;
    };
    let noted = "SELECT count(*) FROM archi3d.serving WHERE since > 'epoch'";
    for (seconds, stood_still) in [(299, 0), (301, 1)] {
        bench.run("UPDATE archi3d.serving SET since = 'epoch'");
        let worker = Worker {
            worker_id: "w2",
            host: "h",
            pid: 1,
            version: "v",
            run_no: None,
            slots: 1,
            lease: LEASE,
            connecting: Duration::from_secs(seconds),
            facts: "{}",
        };
        assert!(membership::register(&mut bench.work, &worker).expect("registered"));
        assert_eq!(bench.number(noted), stood_still, "{seconds}");
    }
}

#[test]
fn a_job_is_entered_as_it_was_seen_or_not_at_all() {
    let Some(mut bench) = Bench::new() else {
        return;
    };
    bench.jobs("a", 1);
    let job = bench.number("SELECT id FROM archi3d.jobs");
    let mut enter =
        |entry| claim::claim_one(&mut bench.work, job, entry, &claimer("w1")).expect("asked");
    for wrong in [Entry::Retry, Entry::Redo, Entry::Perform, Entry::Takeover] {
        assert!(enter(wrong).is_none(), "{wrong:?}");
    }
    let held = enter(Entry::Fresh).expect("it waits");
    assert!(enter(Entry::Fresh).is_none(), "it is held");
    ending::succeed(&mut bench.work, &[success(held.hold)]).expect("told");
    let again = claim::claim_one(&mut bench.work, job, Entry::Redo, &claimer("w1"))
        .expect("asked")
        .expect("a redo");
    assert_eq!(
        (again.entry, again.hold.number, again.purchases),
        (Entry::Redo, 2, 1)
    );
}

#[test]
fn a_rehearsal_leaves_alone_what_was_tried_in_earnest() {
    let Some(mut bench) = Bench::new() else {
        return;
    };
    let held = bench.one();
    let how = ending::Release {
        reason: std::borrow::Cow::Borrowed("interrupted"),
        pause: Duration::ZERO,
        as_if_died: false,
        redo_waits: false,
    };
    ending::release(&mut bench.work, &[held.hold], &how).expect("released");
    bench.jobs("a", 1);
    let by = Claimer {
        rehearsal: true,
        ..claimer("w2")
    };
    let taken =
        claim::claim(&mut bench.work, bench.run_no, &[lane("a", 9)], 9, &by).expect("claimed");
    assert_eq!(
        taken
            .iter()
            .map(|job| job.job_id.as_str())
            .collect::<Vec<_>>(),
        ["job0001"]
    );
    assert!(
        claim::claim_one(&mut bench.work, held.hold.job_no, Entry::Fresh, &by)
            .expect("asked")
            .is_none()
    );
}

#[test]
fn what_a_dead_worker_may_have_been_buying_waits_for_its_lease_and_so_does_another_run() {
    let Some(mut bench) = Bench::new() else {
        return;
    };
    bench.run(
        "INSERT INTO archi3d.workers (worker_id, host, pid, version, slots, state, lease_seconds, facts)
         VALUES ('w1', 'here', 1, '', 1, 'working', 60, '{\"process\": \"p1\"}')",
    );
    let hold = bench.one().hold;
    let run_no = bench.run_no;
    let sweep = |bench: &mut Bench, run_no: i64, process: &str| {
        let sweeper = Sweeper {
            lease: LEASE,
            worker: None,
            held: &[],
            dead: &[process],
            run_no,
        };
        let swept = act::sweep_as(&mut bench.work, 10, &sweeper, None);
        swept.expect("swept").total()
    };
    assert_eq!(sweep(&mut bench, run_no + 1, "p1"), 0);
    // Another process has the name by now.
    assert_eq!(sweep(&mut bench, run_no, "p0"), 0);
    buying::intent(&mut bench.work, &hold, "c", LEASE).expect("noted");
    // What is on its way is not found yet by whoever looks for it.
    assert_eq!(sweep(&mut bench, run_no, "p1"), 0);
    buying::submitted(&mut bench.work, &hold, "id", None).expect("noted");
    assert_eq!(sweep(&mut bench, run_no, "p1"), 1);
}
