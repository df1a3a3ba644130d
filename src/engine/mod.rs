//! Runs jobs; knows the `Store` and `Adapter` traits, never a backend.
pub mod event;
