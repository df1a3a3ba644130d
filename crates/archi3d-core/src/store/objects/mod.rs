//! Bytes in a bucket, under their hashes: for workers that share no folder.
//!
//! [`Bucket`] puts and fetches, and blocks; [`Remote`] is the [`crate::store::Artifacts`] of a run over it.

mod bucket;
mod cache;
mod error;
mod place;
mod remote;
mod transfer;

pub use bucket::{Bucket, Found, Put};
pub use cache::Cache;
pub use error::BucketError;
pub use place::{Place, VARIABLES};
pub use remote::{Remote, RemoteOptions};
pub use transfer::side_by_side;
