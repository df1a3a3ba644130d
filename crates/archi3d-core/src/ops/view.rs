//! What commands answer, as plain models: `cli` draws them for people, `--json` is what they
//! serialize to, and a server would send the same.
//!
//! A model holds what was found, ready to be shown; nothing here reads or decides.

use std::path::Path;
use std::time::Duration;

use serde::Serializer;

use crate::domain::job::Status;

pub mod cost;
pub mod explain;
#[cfg(feature = "postgres")]
pub mod fleet;
pub mod judge;
pub mod plan;
pub mod status;

/// Writes counts by [`Status::ALL`] as an object, every status by its word.
pub(super) fn by_status<S: Serializer>(
    counts: &[usize; Status::ALL.len()],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_map(
        Status::ALL
            .iter()
            .map(|status| (status.word(), counts[*status as usize])),
    )
}

/// Writes a time in seconds, to the microsecond.
pub(super) fn micro_seconds<S: Serializer>(
    time: &Duration,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(time.as_micros() as f64 / 1e6)
}

/// Writes a path as text; what is no text in it is replaced.
pub(super) fn lossy<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&path.to_string_lossy())
}

/// Writes a time in seconds, to the microsecond, where it is known.
#[expect(clippy::ref_option, reason = "serde hands over what the field is")]
pub(in crate::ops) fn seconds<S: Serializer>(
    time: &Option<Duration>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match time {
        Some(time) => micro_seconds(time, serializer),
        None => serializer.serialize_none(),
    }
}
