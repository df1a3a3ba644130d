//! The shared folder on disk: paths, locks, durable writes.

pub mod durable;
pub mod lock;
pub mod paths;
