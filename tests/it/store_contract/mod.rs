//! What every store promises, asked of the one in files, of the strict one in memory and of the one in
//! PostgreSQL. The times are arguments; the only threads are those that race.
//!
//! - [`leases`]: who may work on a job;
//! - [`endings`]: what becomes of it;
//! - `handing`: jobs that a store hands out instead of listing them;
//! - [`intents`]: what was about to be bought, and what is void;
//! - [`redo`]: making a result again;
//! - [`recovery`]: what dead workers had finished;
//! - [`withdrawals`]: jobs taken out and put back;
//! - `writer`: the thread that writes the registry.

use crate::support::bench::Bench;

/// Makes a run with so many waiting jobs on some kind of store.
type Make = fn(usize) -> Box<dyn Bench>;

/// Turns functions of a [`Make`] into one test for each kind of store.
macro_rules! every_store {
    ($($test:ident)*) => {
        mod files {
            $(#[test] fn $test() { super::$test(crate::support::bench::CsvBench::boxed); })*
        }
        mod memory {
            $(#[test] fn $test() { super::$test(crate::support::bench::MemoryBench::boxed); })*
        }
        #[cfg(all(target_os = "linux", feature = "postgres"))]
        mod postgres {
            use crate::support::pg_bench::PgBench;
            $(#[test] fn $test() { if PgBench::is_there() { super::$test(PgBench::boxed); } })*
        }
    };
}

mod endings;
#[cfg(all(target_os = "linux", feature = "postgres"))]
mod handing;
mod intents;
mod leases;
mod recovery;
mod redo;
mod withdrawals;
mod writer;
