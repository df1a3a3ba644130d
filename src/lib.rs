//! archi3d: runs large batches of image-to-3D generations and loses nothing.

#![cfg_attr(
    test,
    expect(
        clippy::disallowed_methods,
        reason = "unit tests set up their own files and processes"
    )
)]

pub mod adapter;
pub mod cancel;
pub mod cli;
pub mod clock;
pub mod config;
pub mod domain;
pub mod engine;
pub mod model;
pub mod ops;
pub mod platform;
pub mod store;
pub mod workspace;
