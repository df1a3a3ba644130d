//! What every store promises, asked of the one in files, of the strict one in memory and of the one in
//! PostgreSQL. The times are arguments; the only threads are those that race.
//!
//! - [`leases`]: who may work on a job;
//! - [`endings`]: what becomes of it;
//! - `handing`: jobs that a store hands out instead of listing them;
//! - [`money`], [`gates`]: what all workers share, budgets and providers;
//! - [`intents`]: what was about to be bought, and what is void;
//! - [`redo`]: making a result again;
//! - [`recovery`]: what dead workers had finished;
//! - [`cancellations`]: jobs cancelled and put back;
//! - [`looking`], [`spending`]: what people are told of a run (`Runs`), [`copies`]: earlier results (`ReuseIndex`), [`places`]: what a
//!   `Backend` opens; all three through the backend, on files and on a server;
//! - `writer`: the thread that writes the registry.

use crate::support::bench::Bench;
use crate::support::place::{MakePlace, Place};

/// Makes a run with so many waiting jobs on some kind of store.
type Make = fn(usize) -> Box<dyn Bench>;

/// Turns functions of a [`Make`] into one test for each kind of store.
macro_rules! every_store {
    ($($test:ident)*) => {
        mod files {
            $(#[test] fn $test() { super::$test(crate::support::bench::FilesBench::boxed); })*
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

/// Turns functions of a [`MakePlace`] into one test for each place where runs live.
macro_rules! every_place {
    ($($test:ident)*) => {
        mod files {
            $(#[test] fn $test() { super::$test(crate::support::place::Place::files); })*
        }
        #[cfg(all(target_os = "linux", feature = "postgres"))]
        mod postgres {
            use crate::support::{pg_bench::PgBench, place::Place};
            $(#[test] fn $test() { if PgBench::is_there() { super::$test(Place::server); } })*
        }
    };
}

/// Makes a run of which nothing happened before it came to its place.
fn fresh(make: MakePlace, algos: &[&str]) -> Place {
    make(algos, &|_| {})
}

mod cancellations;
mod copies;
mod endings;
mod gates;
#[cfg(all(target_os = "linux", feature = "postgres"))]
mod handing;
mod intents;
mod leases;
mod looking;
mod money;
mod places;
mod recovery;
mod redo;
mod spending;
mod writer;
