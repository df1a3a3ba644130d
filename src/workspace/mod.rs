//! The shared folder on disk: paths, locks, durable writes, log files.

pub mod artifact;
pub mod durable;
pub mod lock;
pub mod log;
pub mod paths;
