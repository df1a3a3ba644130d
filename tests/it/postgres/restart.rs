//! A server that is killed and comes back: nothing acknowledged is lost, and nobody is judged too early.
//!
//! The test needs a server that no other test uses, so it starts itself again beside one of its own.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use archi3d_core::store::postgres::act;
use archi3d_core::store::postgres::buying;
use archi3d_core::store::postgres::claim::{self, Beaten, Pulse};
use archi3d_core::store::postgres::ending::{self, Became, Published};

use crate::support::wait_until;

use super::bench::{server, success};
use super::{Bench, LEASE, SHORT};

/// Set where the server is the test's own.
const ALONE: &str = "ARCHI3D_TEST_POSTGRES_ALONE";

#[test]
fn after_an_immediate_restart_nothing_is_lost_and_no_live_holder_is_robbed() {
    if !is_alone() {
        return;
    }
    let mut bench = Bench::new().expect("a server");
    bench.jobs("a", 3);
    let held: Vec<_> = (0..3).map(|_| bench.take().hold).collect();
    buying::submitted(&mut bench.work, &held[0], "req", None).expect("noted");
    ending::succeed(&mut bench.work, &[success(held[1])]).expect("told");
    bench.age();
    control("-m immediate restart");

    let error = act::sweep(&mut bench.work, 9, SHORT, None).expect_err("the connection is gone");
    assert!(error.is_retryable(), "{error}");
    bench.work.reopen().expect("connected again");
    // Everybody's lease is over by the clock, and nobody could beat.
    let minute = Duration::from_secs(60);
    assert_eq!(
        act::sweep(&mut bench.work, 9, minute, None)
            .expect("swept")
            .total(),
        0
    );
    let pulse = Pulse {
        hold: held[0],
        progress: None,
        doing: None,
    };
    let told = claim::beat(&mut bench.work, &[pulse], "w1", LEASE).expect("beaten");
    assert_eq!(told, [Beaten::Held]);
    // What was acknowledged is there.
    let known = ending::became(&mut bench.work, &held).expect("asked");
    assert_eq!(
        (known[&held[0]], known[&held[1]]),
        (Became::Running, Became::Succeeded)
    );
    assert_eq!(
        buying::purchases(&mut bench.work, held[0].job_no)
            .expect("asked")
            .len(),
        1
    );
    // Told again, because the answer may have been lost.
    assert_eq!(
        ending::succeed(&mut bench.work, &[success(held[1])]).expect("told"),
        [Published::Already]
    );
    // One lease later the silent one is judged, and only that one.
    wait_until("a lease after the server came back", || {
        let swept = act::sweep(&mut bench.work, 9, SHORT, None).expect("swept");
        assert_eq!(swept.total(), swept.requeued);
        swept.requeued == 1
    });
    assert_eq!(
        ending::became(&mut bench.work, &held).expect("asked")[&held[2]],
        Became::Lost
    );
}

#[test]
fn after_a_backend_has_crashed_no_live_holder_is_robbed() {
    if !is_alone() {
        return;
    }
    let mut bench = Bench::new().expect("a server");
    bench.jobs("a", 1);
    let _ = bench.take();
    bench.age();
    // The postmaster stays, and is older than a lease.
    let lease = Duration::from_secs(5);
    let old = "SELECT (now() > pg_postmaster_start_time() + interval '5 s')::int::int8";
    wait_until("an old postmaster", || bench.number(old) == 1);
    let backend = bench.number("SELECT pg_backend_pid()::int8");
    control(&format!("kill KILL {backend}"));
    wait_until("the server recovered", || bench.work.reopen().is_ok());
    let swept = act::sweep(&mut bench.work, 9, lease, None).expect("swept");
    assert_eq!(swept.total(), 0);
}

/// Tells whether the server is the test's own. If not, the test has passed beside one that is by the time this returns, or
/// is passed over because there is no server at all.
pub fn is_alone() -> bool {
    if server("ARCHI3D_TEST_POSTGRES_CTL").is_none() {
        return false;
    }
    let alone = std::env::var_os(ALONE).is_some();
    if !alone {
        beside_a_server_of_its_own();
    }
    alone
}

fn control(word: &str) {
    let line = format!(
        "{} {word}",
        server("ARCHI3D_TEST_POSTGRES_CTL").expect("there")
    );
    let done = Command::new("sh")
        .args(["-c", &line])
        .current_dir("/")
        .output()
        .expect("pg_ctl runs");
    assert!(
        done.status.success(),
        "{}",
        String::from_utf8_lossy(&done.stderr)
    );
}

fn beside_a_server_of_its_own() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/postgres-for-tests");
    let this = std::thread::current()
        .name()
        .expect("tests have names")
        .to_owned();
    let done = Command::new(script)
        .arg(std::env::current_exe().expect("this program"))
        .args(["--exact", &this, "--nocapture"])
        .env_remove("ARCHI3D_TEST_POSTGRES")
        .env(ALONE, "1")
        .output()
        .expect("the script runs");
    let said = String::from_utf8_lossy(&done.stdout);
    assert!(
        done.status.success() && said.contains("1 passed"),
        "{said}{}",
        String::from_utf8_lossy(&done.stderr)
    );
}
