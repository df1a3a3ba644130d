//! Where the pictures and results of a fleet's runs lie: in the workspace, or in a bucket that is named at the push.

use std::any::Any;
use std::collections::HashMap;
use std::path::PathBuf;

use crate::store::postgres::ending::File;
use crate::store::{Blob, StoreError};

#[cfg(feature = "objects")]
mod buckets;
#[cfg(not(feature = "objects"))]
mod none;

#[cfg(feature = "objects")]
pub(super) use buckets::{
    OpenBuckets, forget_trial, prunable, put_named, put_pictures, read, remote, remove_unreferred,
    stage, trial_place,
};
#[cfg(not(feature = "objects"))]
pub(super) use none::{
    forget_trial, prunable, put_named, put_pictures, read, remote, remove_unreferred, stage,
    trial_place,
};

/// The pictures of a run, as they lie in a bucket.
#[derive(Debug, Default)]
pub(super) struct Pictures {
    /// The bucket; nothing where pictures stay in the workspace.
    pub(super) place: Option<String>,
    /// Their bytes, by the names that the manifest has for them.
    pub(super) blobs: HashMap<String, Blob>,
    /// How many were put just now.
    pub(super) sent: usize,
    /// How many bytes these were.
    pub(super) bytes: u64,
    /// Held until a record names them.
    pub(super) hold: Option<Box<dyn Any + Send>>,
}

/// A folder that is to have these files.
#[derive(Debug)]
pub(super) struct Wanted<'a> {
    /// Where.
    pub(super) folder: PathBuf,
    /// What.
    pub(super) files: &'a [File],
}

/// Why a folder does not have its files.
#[derive(Debug)]
pub(super) enum Lacking {
    /// The bucket has lost one of them: which.
    Lost(String),
    /// It could not be asked.
    Unasked(StoreError),
}

/// What was removed from buckets.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Removed {
    /// How many blobs.
    pub(super) blobs: usize,
    /// How many bytes these were.
    pub(super) bytes: u64,
}
