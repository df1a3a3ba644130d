//! What archi3d does, below its command line: jobs, stores, adapters, the worker, and one
//! function per thing a person can ask for. `ARCHITECTURE.md` says who may name whom.

#![cfg_attr(
    test,
    expect(
        clippy::disallowed_methods,
        reason = "unit tests set up their own files and processes"
    )
)]

pub mod adapter;
pub mod cancel;
pub mod clock;
pub mod config;
pub mod domain;
pub mod engine;
pub mod model;
pub mod ops;
pub mod platform;
pub mod store;
pub mod table;
pub mod trace;
pub mod workspace;
