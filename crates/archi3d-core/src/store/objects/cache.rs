//! Blobs that were fetched before, on this machine's disk, up to a size.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use super::bucket::Bucket;
use super::error::BucketError;
use crate::store::artifacts::Blob;
use crate::workspace::artifact;

/// A folder of blobs by their hashes. Several workers may share it: names appear whole, and one that goes is fetched again.
pub struct Cache {
    folder: PathBuf,
    most: u64,
    /// About how much is in it; nothing until somebody has counted.
    size: Mutex<Option<u64>>,
    /// Who fetches a blob, so that others of this process wait for it.
    busy: Mutex<HashMap<String, Arc<Mutex<()>>>>,
}

impl Cache {
    /// Names the folder and how many bytes it may hold.
    pub fn new(folder: PathBuf, most: u64) -> Self {
        Self {
            folder,
            most,
            size: Mutex::default(),
            busy: Mutex::default(),
        }
    }

    fn path(&self, blob: &Blob) -> PathBuf {
        let (first, rest) = blob.sha256.split_at(blob.sha256.len().min(2));
        self.folder.join(first).join(rest)
    }

    /// Makes `to` a name of a blob's bytes, which are fetched unless they are here.
    pub fn link(&self, bucket: &Bucket, blob: &Blob, to: &Path) -> Result<(), BucketError> {
        bucket.key_of(blob)?;
        let path = self.path(blob);
        loop {
            self.have(bucket, blob, &path)?;
            match link(&path, to) {
                Ok(()) => return Ok(()),
                // Another worker made room meanwhile.
                Err(error) if error.kind() == io::ErrorKind::NotFound && !path.exists() => {}
                Err(error) => return Err(BucketError::disk("write", to, error)),
            }
        }
    }

    fn have(&self, bucket: &Bucket, blob: &Blob, path: &Path) -> Result<(), BucketError> {
        let turn = {
            let mut busy = self.busy.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(busy.entry(blob.sha256.clone()).or_default())
        };
        let held = turn.lock().unwrap_or_else(PoisonError::into_inner);
        let came = self.have_alone(bucket, blob, path);
        drop(held);
        let mut busy = self.busy.lock().unwrap_or_else(PoisonError::into_inner);
        if Arc::strong_count(&turn) <= 2 {
            busy.remove(&blob.sha256);
        }
        came
    }

    fn have_alone(&self, bucket: &Bucket, blob: &Blob, path: &Path) -> Result<(), BucketError> {
        if let Ok(found) = fs::symlink_metadata(path) {
            // A program that was given it may have written into it.
            let intact = || artifact::hash_file(path).is_ok_and(|sum| sum == blob.sha256);
            if found.is_file() && found.len() == blob.size && intact() {
                let used = fs::File::open(path);
                let _ = used.and_then(|file| file.set_modified(now()));
                return Ok(());
            }
            let _ = fs::remove_file(path);
        }
        let folder = path.parent().unwrap_or(&self.folder);
        fs::create_dir_all(folder).map_err(|error| BucketError::disk("create", folder, error))?;
        self.make_room(blob.size);
        bucket.fetch(blob, path)
    }

    /// Removes what was not used for longest until so many bytes more have room.
    fn make_room(&self, more: u64) {
        let mut size = self.size.lock().unwrap_or_else(PoisonError::into_inner);
        let known = size.unwrap_or(u64::MAX);
        if known.saturating_add(more) <= self.most {
            *size = Some(known + more);
            return;
        }
        let mut all = self.listed();
        let mut sum: u64 = all.iter().map(|(_, length, _)| length).sum();
        all.sort();
        for (_, length, path) in all {
            if sum.saturating_add(more) <= self.most {
                break;
            }
            if fs::remove_file(&path).is_ok() {
                sum = sum.saturating_sub(length);
            }
        }
        *size = Some(sum + more);
    }

    fn listed(&self) -> Vec<(SystemTime, u64, PathBuf)> {
        let inside = |folder: &Path| fs::read_dir(folder).into_iter().flatten().flatten();
        let folders = inside(&self.folder).map(|entry| entry.path());
        folders
            .flat_map(|folder| inside(&folder))
            .filter_map(|entry| {
                let found = entry.metadata().ok().filter(fs::Metadata::is_file)?;
                let used = found.modified().unwrap_or(SystemTime::UNIX_EPOCH);
                Some((used, found.len(), entry.path()))
            })
            .collect()
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the time of a file's last use, which only this machine's own files are compared by"
)]
fn now() -> SystemTime {
    SystemTime::now()
}

/// A second name for the same bytes, or a copy where the disk has no second names.
fn link(from: &Path, to: &Path) -> io::Result<()> {
    match fs::hard_link(from, to) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(error),
        Err(_) => fs::copy(from, to).map(drop),
        linked => linked,
    }
}
