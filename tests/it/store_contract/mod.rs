//! What every store promises, asked of the one in files, of the strict one in memory and of the one in
//! PostgreSQL. The times are arguments; the only threads are those that race.
//!
//! - [`leases`]: who may work on a job;
//! - [`endings`]: what becomes of it;
//! - `handing`: jobs that a store hands out instead of listing them;
//! - [`money`], [`gates`]: what all workers share, budgets and providers (files and PostgreSQL);
//! - [`intents`]: what was about to be bought, and what is void;
//! - [`redo`]: making a result again;
//! - [`recovery`]: what dead workers had finished;
//! - [`cancellations`]: jobs cancelled and put back;
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

/// The same for what only stores have that several workers share.
macro_rules! every_shared_store {
    ($($test:ident)*) => {
        mod files {
            $(#[test] fn $test() { super::$test(crate::support::bench::CsvBench::boxed); })*
        }
        #[cfg(all(target_os = "linux", feature = "postgres"))]
        mod postgres {
            use crate::support::pg_bench::PgBench;
            $(#[test] fn $test() { if PgBench::is_there() { super::$test(PgBench::boxed); } })*
        }
    };
}

mod cancellations;
mod endings;
mod gates;
#[cfg(all(target_os = "linux", feature = "postgres"))]
mod handing;
mod intents;
mod leases;
mod money;
mod recovery;
mod redo;
mod writer;
