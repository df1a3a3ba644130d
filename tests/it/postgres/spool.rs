//! What could not be sent waits on disk and is told exactly once.

use archi3d_core::domain::money::Usd;
use archi3d_core::store::postgres::claim;
use archi3d_core::store::postgres::ending;
use archi3d_core::store::postgres::spool::{Replayed, Spool, SpoolEntry};
use archi3d_core::store::postgres::{buying, money};

use super::bench::{failure, success};
use super::{Bench, LEASE};
use crate::support::mount::Mount;

#[test]
fn a_spool_is_replayed_exactly_once_whatever_was_committed_before() {
    let Some(mut bench) = Bench::new() else {
        return;
    };
    bench.jobs("a", 4);
    let held: Vec<_> = (0..4).map(|_| bench.take().hold).collect();
    money::reserve(
        &mut bench.work,
        &held[0],
        Usd::of(0.3),
        money::Caps::default(),
    )
    .expect("granted");
    let folder = tempfile::tempdir().expect("temp folder");
    let spool = Spool::open(folder.path()).expect("opened");
    for entry in [
        SpoolEntry::Submitted {
            hold: held[0],
            request_id: "req".to_owned(),
            cost_micros: Some(300_000),
        },
        SpoolEntry::Succeeded {
            success: success(held[0]),
        },
        SpoolEntry::Settled {
            hold: held[0],
            micros: 300_000,
        },
        SpoolEntry::Failed {
            failure: failure(held[1]),
        },
        SpoolEntry::Succeeded {
            success: success(held[2]),
        },
        SpoolEntry::Succeeded {
            success: success(held[3]),
        },
    ] {
        spool.add(entry).expect("added");
    }
    drop(spool);
    // Committed, but nobody heard the answer.
    ending::succeed(&mut bench.work, &[success(held[2])]).expect("told");
    // Somebody else has the fourth by now.
    bench.run(&format!(
        "UPDATE archi3d.jobs SET lease_expires_at = now() - interval '1 h' WHERE id = {}",
        held[3].job_no
    ));
    assert_eq!(bench.take_rare("w2").len(), 1);

    let spool = Spool::open(folder.path()).expect("opened");
    let mut told = Vec::new();
    let sent = spool
        .replay(&mut bench.work, &mut |_, replayed| told.push(replayed))
        .expect("sent");
    assert_eq!(sent, 6);
    let expected = [
        Replayed::Sent,
        Replayed::Sent,
        Replayed::Sent,
        Replayed::Sent,
        Replayed::Already,
        Replayed::Fenced,
    ];
    assert_eq!(told, expected);
    assert!(spool.waiting().is_empty());
    assert_eq!(bench.number("SELECT count(*) FROM archi3d.results"), 2);
    assert_eq!(
        bench.number("SELECT count(*) FROM archi3d.ledger WHERE change = 'settled'"),
        1
    );
    assert_eq!(
        bench.number("SELECT count(*) FROM archi3d.purchases WHERE state = 'brought'"),
        1
    );
}

#[test]
fn what_a_lost_server_did_not_take_stays_in_the_spool() {
    let Some(mut bench) = Bench::new() else {
        return;
    };
    let held = bench.one().hold;
    let folder = tempfile::tempdir().expect("temp folder");
    let spool = Spool::open(folder.path()).expect("opened");
    spool
        .add(SpoolEntry::Succeeded {
            success: success(held),
        })
        .expect("added");
    bench.run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'archi3d/test' AND datname = current_database()");
    let error = spool
        .replay(&mut bench.work, &mut |_, _| ())
        .expect_err("the connection is gone");
    assert!(error.to_string().contains("lost"), "{error}");
    assert_eq!(spool.waiting().len(), 1);
    bench.work.reopen().expect("connected again");
    assert_eq!(
        spool.replay(&mut bench.work, &mut |_, _| ()).expect("sent"),
        1
    );
    let folder = Spool::open(folder.path());
    assert!(folder.is_err(), "one owner at a time, also after a replay");
    assert_eq!(bench.number("SELECT count(*) FROM archi3d.results"), 1);
}

#[test]
fn a_lost_connection_is_told_as_such_and_comes_back_as_it_was() {
    let Some(mut bench) = Bench::new() else {
        return;
    };
    let held = bench.one().hold;
    bench.run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'archi3d/test' AND datname = current_database()");
    let error = buying::intent(&mut bench.work, &held, "key", LEASE).expect_err("gone");
    assert!(
        error.is_retryable() && error.to_string().contains("lost"),
        "{error}"
    );
    bench.work.reopen().expect("connected again");
    assert!(bench.work.is_direct());
    assert_eq!(
        buying::intent(&mut bench.work, &held, "key", LEASE).expect("asked"),
        claim::Beaten::Held
    );
}

#[test]
fn a_full_disk_is_an_error_and_what_was_acknowledged_stays() {
    let folder = tempfile::tempdir().expect("temp folder");
    let Some(_mount) = Mount::small(folder.path(), 64 << 10) else {
        return;
    };
    let hold = archi3d_core::store::postgres::Hold {
        job_no: 1,
        number: 1,
        attempt_id: uuid::Uuid::new_v4(),
    };
    let long = |n: usize| SpoolEntry::Submitted {
        hold,
        request_id: format!("{n:05000}"),
        cost_micros: None,
    };
    let spool = Spool::open(folder.path()).expect("opened");
    let mut taken = 0;
    let error = loop {
        match spool.add(long(taken)) {
            Ok(()) => taken += 1,
            Err(error) => break error,
        }
    };
    assert_eq!(error.kind(), std::io::ErrorKind::StorageFull);
    assert!(taken > 3);
    drop(spool);
    let spool = Spool::open(folder.path()).expect("opened");
    assert_eq!((spool.waiting().len(), spool.damaged()), (taken, 0));
}

#[test]
fn a_bill_that_comes_late_is_that_of_the_attempt_that_went_on_with_the_purchase() {
    let Some(mut bench) = Bench::new() else {
        return;
    };
    let first = bench.one().hold;
    let caps = money::Caps::default();
    money::reserve(&mut bench.work, &first, Usd::of(1.0), caps).expect("granted");
    buying::submitted(&mut bench.work, &first, "req", None).expect("noted");
    // It made the model while it could not be reached, and another worker fetched the same one meanwhile.
    let folder = tempfile::tempdir().expect("temp folder");
    let spool = Spool::open(folder.path()).expect("opened");
    let success_of_first = success(first);
    let micros = 1_000_000;
    for entry in [
        SpoolEntry::Succeeded {
            success: success_of_first,
        },
        SpoolEntry::Settled {
            hold: first,
            micros,
        },
    ] {
        spool.add(entry).expect("added");
    }
    bench.age();
    let second = bench.take_rare("w2").remove(0).hold;
    money::reserve(&mut bench.work, &second, Usd::of(1.0), caps).expect("granted");
    ending::succeed(&mut bench.work, &[success(second)]).expect("told");
    money::settle(&mut bench.work, &second, Usd::of(1.0), false).expect("settled");
    spool.replay(&mut bench.work, &mut |_, _| {}).expect("sent");
    let sums = money::run_sums(&mut bench.work, bench.run_no).expect("asked");
    assert_eq!((sums.spent, sums.reserved), (Usd::of(1.0), Usd::ZERO));
}
