//! The shared folder on disk: paths, locks, durable writes, log files, a look at the dataset.

pub mod artifact;
pub mod durable;
pub mod fleet;
pub mod identity;
pub mod lock;
pub mod log;
pub mod notes;
pub mod paths;
pub mod pictures;
pub mod runs;
pub mod scan;
pub mod synced;
