//! What workers of a fleet agree on: rehearsals, trials, names, copies, purchases, and a server that is away or hangs.

use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::Fleet;
use crate::support::billing::Shop;
use crate::support::mocks::{counting_mocks, executions};
use crate::support::{TestWorkspace, wait_until};

const SPENT: &str = "SELECT spent FROM archi3d.budgets WHERE scope LIKE 'run:%'";
const RESERVED: &str = "SELECT reserved FROM archi3d.budgets WHERE scope LIKE 'run:%'";

fn mocks(jobs: usize, options: &str) -> TestWorkspace {
    let yaml = counting_mocks(&[("killme", options)]);
    let builder = TestWorkspace::with_products(jobs).algo("killme");
    builder.adapters(&yaml).build()
}

#[test]
fn what_was_rehearsed_before_the_push_or_in_the_fleet_is_performed() {
    let Some(mut fleet) = Fleet::new() else {
        return;
    };
    let workspace = mocks(4, "");
    let rehearsed = workspace.worker(&["--dry-run", "--limit", "2"]).run();
    let _ = rehearsed.expect_code(0);
    fleet.push(&workspace);
    let _ = fleet
        .worker(&workspace, &["--dry-run"])
        .wait()
        .expect_code(0);
    let simulated = "SELECT count(*) FROM archi3d.results WHERE simulated";
    assert_eq!(fleet.number(simulated), 4);
    let said = fleet.worker(&workspace, &[]).wait().expect_code(0);
    let _ = said.expect_stderr("4 jobs were only rehearsed so far and will now run for real");
    assert_eq!(fleet.number(simulated), 0);
    assert_eq!(fleet.count("succeeded"), 4);
    assert_eq!(executions(&workspace).len(), 4);
    let _ = fleet.worker(&workspace, &[]).wait().expect_code(0);
    assert_eq!(executions(&workspace).len(), 4);
}

#[test]
fn trials_are_counted_once_for_all_workers() {
    let Some(mut fleet) = Fleet::new() else {
        return;
    };
    let workspace = mocks(12, "sleep_ms: 100");
    fleet.push(&workspace);
    let canary = ["--canary", "2", "--max-parallel", "4"];
    let workers: Vec<_> = (0..3).map(|_| fleet.worker(&workspace, &canary)).collect();
    for worker in workers {
        let _ = worker.wait();
    }
    assert_eq!(fleet.count("succeeded"), 2);
    assert_eq!(executions(&workspace).len(), 2);
    // They have done well, so nobody need try again.
    let released = ["--canary", "2", "--release", "--max-parallel", "4"];
    let _ = fleet.worker(&workspace, &released).wait().expect_code(0);
    assert_eq!(executions(&workspace).len(), 12);
}

#[test]
fn a_trial_that_failed_keeps_the_rest_back() {
    let Some(mut fleet) = Fleet::new() else {
        return;
    };
    let workspace = mocks(6, "fail: always");
    fleet.push(&workspace);
    let canary = ["--canary", "1", "--release", "--max-parallel", "4"];
    for _ in 0..2 {
        let _ = fleet.worker(&workspace, &canary).wait();
    }
    assert_eq!(
        (fleet.count("failed_terminal"), fleet.count("pending")),
        (1, 5)
    );
}

#[test]
fn a_name_that_somebody_alive_bears_is_refused_and_that_of_the_dead_is_free() {
    let Some(mut fleet) = Fleet::new() else {
        return;
    };
    let workspace = mocks(2, "wait_file: go");
    fleet.push(&workspace);
    let first = fleet.worker(&workspace, &["--worker-id", "w1", "--lease-secs", "2"]);
    wait_until("a job runs", || fleet.count("running") == 1);
    let owner = "SELECT lease_owner FROM archi3d.jobs WHERE status = 'running'";
    assert_eq!(fleet.texts(owner), ["w1"]);
    let second = fleet.worker(&workspace, &["--worker-id", "w1"]);
    let refused = second.wait().expect_code(2);
    let _ = refused.expect_stderr("a worker called w1 is at work already");
    // A container of the same host name has a disk of its own.
    let third = fleet.elsewhere(&workspace, &["--worker-id", "w1"]);
    let refused = third.wait().expect_code(2);
    let _ = refused.expect_stderr("a worker called w1 is at work already");
    assert_eq!(fleet.count("running"), 1);
    let _ = first.kill();
    workspace.write("go", b"");
    let again = fleet.worker(&workspace, &["--worker-id", "w1", "--lease-secs", "2"]);
    let _ = again.wait().expect_code(0);
    assert_eq!(fleet.count("succeeded"), 2);
    // What the dead one had begun was taken over, not given back as if it had not.
    let lost = "SELECT count(*) FROM archi3d.attempts WHERE status = 'lost'";
    assert_eq!(fleet.number(lost), 1);
}

#[test]
fn the_same_inputs_are_made_once_by_all_workers_and_copied() {
    let Some(mut fleet) = Fleet::new() else {
        return;
    };
    // All pictures are the same.
    let workspace = mocks(6, "sleep_ms: 300");
    fleet.push(&workspace);
    let reuse = ["--reuse", "--max-parallel", "2"];
    let workers: Vec<_> = (0..3).map(|_| fleet.worker(&workspace, &reuse)).collect();
    for worker in workers {
        let _ = worker.wait().expect_code(0);
    }
    assert_eq!(fleet.count("succeeded"), 6);
    assert_eq!(executions(&workspace).len(), 1);
    assert_eq!(fleet.number("SELECT count(*) FROM archi3d.making"), 0);
    fleet.pull(&workspace, 0);
}

#[test]
fn what_a_dead_worker_had_bought_is_asked_for_and_not_bought_again() {
    let Some(mut fleet) = Fleet::new() else {
        return;
    };
    let shop = Shop::open(2, &["unit_price_usd: 0.10", "timeout_s: 60"], &[]);
    fleet.push(&shop.workspace);
    let worker = || {
        let worker = shop.worker(&["--lease-secs", "2", "--max-parallel", "2"]);
        let worker = worker.env("ARCHI3D_STORE", &fleet.url);
        worker.env("ARCHI3D_SPOOL", shop.workspace.outside().join("spool"))
    };
    shop.hold("submitted");
    let killed = worker().spawn();
    shop.wait_for_all_at("submitted");
    let noted = "SELECT count(*) FROM archi3d.purchases WHERE state = 'open'";
    wait_until("the ids are noted", || fleet.bench.number(noted) == 2);
    crate::support::billing::Victim::Everything.kill(&shop, killed);
    shop.let_go("submitted");
    let _ = worker().run().expect_code(0);
    assert_eq!(shop.provider.charges(), 2);
    assert_eq!(fleet.count("succeeded"), 2);
    assert_eq!(fleet.number(RESERVED), 0);
}

#[test]
fn money_of_a_result_that_waited_in_the_spool_is_settled_when_it_is_sent() {
    let Some(mut fleet) = Fleet::new() else {
        return;
    };
    let workspace = mocks(3, "unit_price_usd: 0.30, wait_file: go");
    fleet.push(&workspace);
    let options = [
        "--max-parallel",
        "3",
        "--lease-secs",
        "4",
        "--worker-id",
        "w",
    ];
    let worker = fleet.worker(&workspace, &options);
    wait_until("all jobs run", || fleet.count("running") == 3);
    wait_until("their money is reserved", || {
        fleet.number(RESERVED) == 900_000
    });
    fleet.bench.allow_connections(false);
    fleet.bench.cut("w");
    workspace.write("go", b"");
    let spooled = || {
        let spools = std::fs::read_dir(workspace.outside().join("spool"));
        let runs = spools.into_iter().flatten().flatten();
        let workers = runs.flat_map(|run| std::fs::read_dir(run.path()).into_iter().flatten());
        let texts = workers.flatten().map(|worker| {
            std::fs::read_to_string(worker.path().join("spool.jsonl")).unwrap_or_default()
        });
        texts
            .map(|text| text.matches("\"settled\"").count())
            .sum::<usize>()
    };
    wait_until("what was made and what it cost is spooled", || {
        spooled() == 3
    });
    fleet.bench.allow_connections(true);
    let _ = worker.wait().expect_code(0);
    assert_eq!(fleet.count("succeeded"), 3);
    assert_eq!((fleet.number(SPENT), fleet.number(RESERVED)), (900_000, 0));
}

/// Passes everything on to a server, unless it is told to hold everything.
fn hanging_proxy(socket: String, hangs: &Arc<AtomicBool>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = listener.local_addr().expect("bound").port();
    let hangs = Arc::clone(hangs);
    std::thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let Ok(server) = UnixStream::connect(&socket) else {
                continue;
            };
            let (up, down) = (Arc::clone(&hangs), Arc::clone(&hangs));
            let (from, to) = (clone(&client), server.try_clone().expect("cloned"));
            std::thread::spawn(move || carry(from, to, &up));
            std::thread::spawn(move || carry(server, client, &down));
        }
    });
    port
}

fn clone(stream: &TcpStream) -> TcpStream {
    stream.try_clone().expect("cloned")
}

fn carry(mut from: impl std::io::Read, mut to: impl std::io::Write, hangs: &AtomicBool) {
    let mut buffer = [0; 16384];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        while hangs.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(10));
        }
        if to.write_all(&buffer[..count]).is_err() {
            return;
        }
    }
}

#[test]
fn a_server_that_hangs_counts_as_away_and_what_runs_goes_on() {
    let Some(mut fleet) = Fleet::new() else {
        return;
    };
    let workspace = mocks(4, "wait_file: go");
    fleet.push(&workspace);
    let place = &fleet.bench.url;
    let socket = format!("{}/.s.PGSQL.{}", place.hosts[0], place.ports[0]);
    let hangs = Arc::new(AtomicBool::new(false));
    let port = hanging_proxy(socket, &hangs);
    let (user, database) = (&place.user, &place.database);
    let url = format!("host=127.0.0.1 port={port} user={user} dbname={database} sslmode=disable");
    let words = [
        "run",
        "worker",
        "--run-id",
        "rk",
        "--max-parallel",
        "2",
        "--lease-secs",
        "6",
    ];
    let worker = workspace
        .archi3d(&words)
        .env("ARCHI3D_STORE", &url)
        .env("ARCHI3D_SPOOL", workspace.outside().join("spool"))
        .spawn();
    wait_until("two jobs run", || fleet.count("running") == 2);
    hangs.store(true, Ordering::SeqCst);
    workspace.write("go", b"");
    wait_until("what they brought is spooled", || {
        let found = crate::support::process::files_with(workspace.outside(), "\"succeeded\"");
        !found.is_empty()
    });
    hangs.store(false, Ordering::SeqCst);
    let said = worker.wait().expect_code(0);
    let _ = said.expect_stderr("no answer for 10 s");
    assert_eq!(fleet.count("succeeded"), 4);
    assert_eq!(executions(&workspace).len(), 4);
}

#[test]
fn what_a_dead_worker_brought_and_did_not_settle_is_settled_before_a_lane_is_called_short() {
    let Some(mut fleet) = Fleet::new() else {
        return;
    };
    let workspace = mocks(2, "unit_price_usd: 0.30");
    fleet.push(&workspace);
    let _ = fleet
        .worker(&workspace, &["--limit", "1"])
        .wait()
        .expect_code(0);
    // As if the first holder had died with what it had reserved and bought, the second had brought that for $0.10, and had
    // died before it settled anything.
    let died = "
        DELETE FROM archi3d.artifacts;
        UPDATE archi3d.attempts SET number = 2, resumed = 'q1', cost_micros = 100000;
        UPDATE archi3d.jobs SET attempt_count = 2 WHERE status = 'succeeded';
        UPDATE archi3d.results SET number = 2;
        INSERT INTO archi3d.attempts (job_no, number, attempt_id, worker_id, status, entry, request_id, started_at, ended_at)
            SELECT job_no, 1, gen_random_uuid(), 'dead', 'lost', 'fresh', 'q1', now(), now() FROM archi3d.attempts;
        DELETE FROM archi3d.ledger;
        UPDATE archi3d.budgets SET reserved = CASE WHEN scope LIKE 'algo:%' THEN 0 ELSE spent END, spent = 0;
        INSERT INTO archi3d.reservations (job_no, number, attempt_id, run_scope, day_scope, micros)
            SELECT a.job_no, 1, a.attempt_id, r.scope, d.scope, 300000
            FROM archi3d.attempts a, archi3d.budgets r, archi3d.budgets d
            WHERE a.number = 1 AND r.scope LIKE 'run:%' AND d.scope LIKE 'day:%'";
    fleet.admin().batch_execute(died).expect("as if");
    assert_eq!((fleet.number(SPENT), fleet.number(RESERVED)), (0, 300_000));
    let under_limit = ["--budget-usd", "0.40"];
    let _ = fleet.worker(&workspace, &under_limit).wait().expect_code(0);
    assert_eq!(fleet.count("succeeded"), 2);
    assert_eq!((fleet.number(SPENT), fleet.number(RESERVED)), (400_000, 0));
}

#[test]
fn a_name_that_no_folder_can_have_keeps_its_results_within_the_spool_for_the_next_worker() {
    for name in ["rack1/node3", "../../escaped", "..", "a:b*"] {
        let Some(mut fleet) = Fleet::new() else {
            return;
        };
        let workspace = mocks(2, "wait_file: go");
        fleet.push(&workspace);
        let named = ["--worker-id", name, "--lease-secs", "8", "-j", "2"];
        let worker = fleet.worker(&workspace, &named);
        wait_until("both jobs run", || fleet.count("running") == 2);
        let owner = "SELECT DISTINCT lease_owner FROM archi3d.jobs";
        assert_eq!(fleet.texts(owner), [name]);
        fleet.allow_connections(false);
        workspace.write("go", b"");
        let spool = workspace.outside().join("spool");
        wait_until("what both brought is spooled", || {
            let files = crate::support::process::files_with(&spool, "\"succeeded\"");
            let text = |path: &String| std::fs::read_to_string(path).unwrap_or_default();
            let count = |path| text(path).matches("\"succeeded\"").count();
            files.iter().map(count).sum::<usize>() == 2
        });
        let _ = worker.kill();
        let kept = crate::support::process::files_with(workspace.outside(), "\"succeeded\"");
        let kept = Path::new(&kept[0]).strip_prefix(&spool);
        // The run, the worker, the file.
        assert_eq!(kept.expect("in the spool").components().count(), 3);
        fleet.allow_connections(true);
        let next = fleet.worker(&workspace, &["--worker-id", "other", "--lease-secs", "2"]);
        let said = next.wait().expect_code(0);
        assert_eq!(fleet.count("succeeded"), 2, "{said}");
        assert_eq!(executions(&workspace).len(), 2, "{name}: {said}");
    }
}

#[test]
fn names_that_nobody_can_read_are_refused() {
    let Some(fleet) = Fleet::new() else {
        return;
    };
    let workspace = mocks(1, "");
    fleet.push(&workspace);
    for name in ["", "  ", "two\nlines", &"x".repeat(181)] {
        for words in [
            &["run", "worker", "--run-id", "rk"][..],
            &["fleet", "worker"],
        ] {
            let words = [words, &["--worker-id", name]].concat();
            let said = fleet.run(&workspace, &words).expect_code(2);
            let _ = said.expect_stderr("worker-id");
        }
    }
    assert!(executions(&workspace).is_empty());
}

#[test]
fn a_worker_of_all_runs_refuses_a_name_at_work_and_a_channel_that_is_none() {
    let Some(mut fleet) = Fleet::new() else {
        return;
    };
    let workspace = mocks(2, "wait_file: go");
    fleet.push(&workspace);
    let first = fleet.worker(&workspace, &["--worker-id", "w1"]);
    wait_until("a job runs", || fleet.count("running") == 1);
    let idle = ["--until-idle", "1"];
    let named = fleet.server(&workspace, &[&idle[..], &["--worker-id", "w1"]].concat());
    let said = named.wait().expect_code(2);
    let _ = said.expect_stderr("a worker called w1 is at work already");
    let woken = fleet.server(&workspace, &[&idle[..], &["--wake", "http://x"]].concat());
    let said = woken.wait().expect_code(2);
    let _ = said.expect_stderr("no redis:// address");
    workspace.write("go", b"");
    let _ = first.wait().expect_code(0);
    // Its name is free again, for either kind.
    let wake = ["--wake", "redis://127.0.0.1:1", "--worker-id", "w1"];
    let said = fleet
        .server(&workspace, &[&idle[..], &wake].concat())
        .wait();
    let _ = said.expect_code(0);
    let told = fleet.worker(&workspace, &[&["--redo"][..], &wake].concat());
    let said = told.wait().expect_code(0);
    assert_eq!(
        said.stderr.matches("does not wake this worker").count(),
        1,
        "{said}"
    );
}

#[cfg(feature = "failpoints")]
#[test]
fn what_neither_the_server_nor_a_full_spool_takes_is_adopted_by_the_next_start_in_this_folder() {
    for elsewhere in [false, true] {
        let Some(mut fleet) = Fleet::new() else {
            return;
        };
        let workspace = mocks(2, "wait_file: go, unit_price_usd: 0.30");
        fleet.push(&workspace);
        let words = [
            "run",
            "worker",
            "--run-id",
            "rk",
            "-j",
            "2",
            "--lease-secs",
            "8",
        ];
        let worker = fleet
            .invoke(&workspace, &words)
            .env("ARCHI3D_SPOOL", workspace.outside().join("spool"))
            .env("FAILPOINTS", "spool.write=return(ENOSPC)")
            .spawn();
        wait_until("both jobs run", || fleet.count("running") == 2);
        fleet.allow_connections(false);
        workspace.write("go", b"");
        let said = worker.wait().expect_code(3);
        let _ = said.expect_stderr("the next start publishes it");
        fleet.allow_connections(true);
        let next = if elsewhere {
            fleet.elsewhere(&workspace, &["--lease-secs", "2"])
        } else {
            fleet.worker(&workspace, &["--lease-secs", "2"])
        };
        let said = next.wait().expect_code(0);
        assert_eq!(fleet.count("succeeded"), 2, "{said}");
        assert_eq!(executions(&workspace).len(), 2, "{said}");
        assert_eq!((fleet.number(SPENT), fleet.number(RESERVED)), (600_000, 0));
        fleet.pull(&workspace, 0);
        assert!(
            workspace
                .path(&format!(
                    "runs/rk/outputs/{}/generated.glb",
                    workspace.id(0)
                ))
                .exists()
        );
    }
}
