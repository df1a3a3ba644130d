//! Messages, and PgBouncer, which lets neither them nor prepared statements through.

use std::sync::Barrier;
use std::time::Duration;

use archi3d_core::domain::money::Usd;
use archi3d_core::store::postgres::claim;
use archi3d_core::store::postgres::ending::{self, Published};
use archi3d_core::store::postgres::listen::Pulse;
use archi3d_core::store::postgres::money::{self, Caps};
use archi3d_core::store::postgres::{Connection, act, migrate};

use super::bench::{lane, parse, parse_for, server, success};
use super::{Bench, claimer};

#[test]
fn on_a_direct_connection_messages_arrive_and_plans_are_kept() {
    let Some(mut bench) = Bench::new() else {
        return;
    };
    let mut work = Connection::open(&bench.url, "archi3d/work").expect("connected");
    let pulse = Connection::open(&bench.url, "archi3d/pulse").expect("connected");
    let mut pulse = Pulse::new(pulse);
    assert!(pulse.probe(&mut work).expect("probed"));
    assert!(work.is_direct() && pulse.is_heard());
    pulse.listen(bench.run_no).expect("listening");
    act::wake(&mut bench.work, bench.run_no, "new").expect("told");
    let heard = pulse.hear(Duration::from_secs(10)).expect("heard");
    assert_eq!(heard.as_deref(), Some(act::channel(bench.run_no).as_str()));
    bench.run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'archi3d/pulse' AND datname = current_database()");
    while pulse.hear(Duration::from_millis(50)).is_ok() {}
    pulse.reopen().expect("connected again");
    act::wake(&mut bench.work, bench.run_no, "new").expect("told");
    assert!(
        pulse
            .hear(Duration::from_secs(10))
            .expect("heard")
            .is_some()
    );
}

#[test]
fn behind_a_pooler_nothing_is_kept_and_everything_works() {
    let Some(mut bench) = Bench::new() else {
        return;
    };
    let Some(pooler) = server("ARCHI3D_TEST_PGBOUNCER") else {
        return;
    };
    let url = parse_for(&pooler, &bench.url.database);
    let mut work = Connection::open(&url, "archi3d/work").expect("connected");
    migrate::require(&mut work).expect("usable");
    let mut pulse = Pulse::new(Connection::open(&url, "archi3d/pulse").expect("connected"));
    assert!(
        !pulse.probe(&mut work).expect("probed"),
        "a pooler delivers no messages"
    );
    assert!(!work.is_direct());
    bench.jobs("a", 64);
    let start = Barrier::new(8);
    let done: usize = std::thread::scope(|scope| {
        let work = |worker: usize| {
            let mut connection = Connection::open(&url, "archi3d/pooled").expect("connected");
            let (start, run_no, name) = (&start, bench.run_no, format!("w{worker}"));
            scope.spawn(move || {
                start.wait();
                let mut done = 0;
                loop {
                    let taken =
                        claim::claim(&mut connection, run_no, &[lane("a", 3)], 3, &claimer(&name))
                            .expect("claimed");
                    if taken.is_empty() {
                        return done;
                    }
                    for job in &taken {
                        money::reserve(&mut connection, &job.hold, Usd::of(0.1), Caps::default())
                            .expect("granted");
                        money::settle(&mut connection, &job.hold, Usd::of(0.1), false)
                            .expect("settled");
                    }
                    let all: Vec<_> = taken.iter().map(|job| success(job.hold)).collect();
                    let told = ending::succeed(&mut connection, &all).expect("told");
                    done += told.iter().filter(|one| **one == Published::Yes).count();
                }
            })
        };
        let threads: Vec<_> = (0..8).map(work).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().expect("no panic"))
            .sum()
    });
    assert_eq!(done, 64);
    let sums = money::run_sums(&mut bench.work, bench.run_no).expect("asked");
    assert_eq!((sums.spent, sums.reserved), (Usd::of(6.4), Usd::ZERO));
}

#[test]
fn who_takes_a_pooler_for_a_server_finds_out_and_goes_on() {
    let Some(mut bench) = Bench::new() else {
        return;
    };
    let Some(pooler) = server("ARCHI3D_TEST_PGBOUNCER") else {
        return;
    };
    bench.jobs("a", 40);
    let url = parse_for(&pooler, &bench.url.database);
    let url = parse_for(&format!("{pooler}&prepare=on"), &url.database);
    let mut many: Vec<Connection> = (0..6)
        .map(|_| Connection::open(&url, "archi3d/fooled").expect("connected"))
        .collect();
    let mut taken = 0;
    for round in 0..40 {
        let connection = &mut many[round % 6];
        // A statement that meets another's server connection is said again, whole.
        taken += claim::claim(connection, bench.run_no, &[lane("a", 1)], 1, &claimer("w"))
            .expect("claimed")
            .len();
    }
    assert_eq!(taken, 40);
    let off = parse(&format!("{pooler}&prepare=off"));
    let mut never = Connection::open(&off, "archi3d/off").expect("connected");
    never.keep_plans().expect("asked");
    assert!(!never.is_direct(), "what the URL says counts");
}
