//! The thread that writes the registry: a bug in it is told and costs no result.

use std::fs;
use std::sync::Arc;

use archi3d_core::clock::SystemClock;
use archi3d_core::domain::job::Entry;
use archi3d_core::domain::time::Clock as _;
use archi3d_core::store::WorkerStore as _;
use archi3d_core::store::files::FileStore;

use crate::support::bench::FilesBench;
use crate::support::wait_until;

#[test]
fn a_panic_of_the_writer_stops_the_worker_and_leaves_its_journal_open() {
    let bench = FilesBench::new(2);
    // Whoever hears that the table cannot be written panics.
    let options = bench.options("w-1", Arc::new(|_| panic!("a bug")));
    let store = FileStore::open(options).expect("the run can be opened");
    let now = SystemClock.now();
    store.recover(now).expect("recovered");
    let jobs = store.jobs(now).expect("read").jobs;
    let table = bench.table();
    fs::remove_file(&table).expect("there");
    fs::create_dir(&table).expect("in its place");
    let first = store.claim(&jobs[0].job_id, Entry::Fresh, now);
    assert!(first.is_ok(), "{first:?}");
    wait_until("trouble", || {
        let second = store.claim(&jobs[1].job_id, Entry::Fresh, SystemClock.now());
        second.is_err_and(|error| error.to_string().contains("panicked"))
    });
    let closed = store.close(SystemClock.now());
    let error = closed.expect_err("the bug is told").to_string();
    assert!(error.contains("which is a bug"), "{error}");
}
