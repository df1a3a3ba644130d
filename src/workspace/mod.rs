//! The shared folder on disk: paths, locks, durable writes, log files.
pub mod paths;
