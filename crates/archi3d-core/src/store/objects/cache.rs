//! Blobs that were fetched before, on this machine's disk, up to a size.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use super::bucket::Bucket;
use super::error::BucketError;
use crate::platform::{self, FileVersion};
use crate::store::artifacts::Blob;
use crate::workspace::{artifact, durable};

/// So long what one worker has counted holds for it, although others add to the folder as well.
const COUNTED: Duration = Duration::from_secs(30);

/// A part of what may be in the folder: who adds more than this counts anew.
const SHARE: u64 = 20;

/// So long after a use another one is not noted: what was used then stays for now.
const USED: Duration = Duration::from_secs(60);

/// So many files are known to be as they were.
const KNOWN: usize = 10_000;

/// What somebody is still fetching is written to all the time; a temporary file as old as this is of a dead one.
const OLD: Duration = Duration::from_secs(3_600);

/// What was in the folder when somebody counted.
struct Counted {
    at: Instant,
    /// All of it, with what was added since.
    size: u64,
    added: u64,
}

/// A folder of blobs by their hashes. Several workers may share it: names appear whole, and one that goes is fetched again.
pub struct Cache {
    folder: PathBuf,
    most: u64,
    /// Nothing until somebody has counted.
    counted: Mutex<Option<Counted>>,
    /// Who fetches a blob, so that others of this process wait for it.
    busy: Mutex<HashMap<String, Arc<Mutex<()>>>>,
    /// Files that were compared with their hash: as long as nobody writes into one it is not read again for that.
    intact: Mutex<HashSet<FileVersion>>,
}

impl Cache {
    /// Names the folder and how many bytes it may hold.
    pub fn new(folder: PathBuf, most: u64) -> Self {
        Self {
            folder,
            most,
            counted: Mutex::default(),
            busy: Mutex::default(),
            intact: Mutex::default(),
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

    /// Opens a blob's bytes, which are fetched unless they are here.
    pub(super) fn open(&self, bucket: &Bucket, blob: &Blob) -> Result<fs::File, BucketError> {
        bucket.key_of(blob)?;
        let path = self.path(blob);
        loop {
            self.have(bucket, blob, &path)?;
            match durable::open_plain(&path) {
                Ok(file) => return Ok(file),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(BucketError::disk("read", &path, error)),
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
            if found.is_file() && found.len() == blob.size && self.is_intact(blob, path, &found) {
                return Ok(());
            }
            let _ = fs::remove_file(path);
        }
        let folder = path.parent().unwrap_or(&self.folder);
        fs::create_dir_all(folder).map_err(|error| BucketError::disk("create", folder, error))?;
        self.make_room(blob.size);
        bucket.fetch_with(blob, path, |part| {
            // What a program is given is this very file.
            let mut rights = fs::metadata(part)?.permissions();
            rights.set_readonly(true);
            fs::set_permissions(part, rights)
        })
    }

    /// Tells whether a file is what its name says, and notes that it was used.
    fn is_intact(&self, blob: &Blob, path: &Path, found: &fs::Metadata) -> bool {
        let known = || self.intact.lock().unwrap_or_else(PoisonError::into_inner);
        let age = found.modified().ok().and_then(|at| at.elapsed().ok());
        let lately = age.is_some_and(|age| age < USED);
        if known().contains(&platform::version(found)) && lately {
            return true;
        }
        // A program that was given it may have written into it.
        if artifact::hash_file(path).is_ok_and(|sum| sum == blob.sha256) {
            let used = fs::File::open(path);
            let noted = used.and_then(|file| {
                file.set_modified(now())?;
                file.metadata()
            });
            if let Ok(noted) = noted {
                let mut known = known();
                if known.len() >= KNOWN {
                    known.clear();
                }
                known.insert(platform::version(&noted));
            }
            return true;
        }
        false
    }

    /// Removes what was not used for longest until so many bytes more have room.
    fn make_room(&self, more: u64) {
        let mut counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = counted.as_mut() {
            let is_new = known.at.elapsed() < COUNTED && known.added + more <= self.most / SHARE;
            if is_new && known.size.saturating_add(more) <= self.most {
                (known.size, known.added) = (known.size + more, known.added + more);
                return;
            }
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
        *counted = Some(Counted {
            at: Instant::now(),
            size: sum + more,
            added: 0,
        });
    }

    fn listed(&self) -> Vec<(SystemTime, u64, PathBuf)> {
        let inside = |folder: &Path| fs::read_dir(folder).into_iter().flatten().flatten();
        let folders = inside(&self.folder).map(|entry| entry.path());
        folders
            .flat_map(|folder| inside(&folder))
            .filter_map(|entry| {
                let found = entry.metadata().ok().filter(fs::Metadata::is_file)?;
                let used = found.modified().unwrap_or(SystemTime::UNIX_EPOCH);
                let is_temporary = durable::is_temporary(&entry.file_name().to_string_lossy());
                let age = used.elapsed().unwrap_or_default();
                if is_temporary && age < OLD {
                    return None;
                }
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

/// Tells whether a disk refused a second name because it has none, or none between these folders.
fn has_no_links(error: io::ErrorKind) -> bool {
    use io::ErrorKind::{CrossesDevices, PermissionDenied, TooManyLinks, Unsupported};
    matches!(
        error,
        CrossesDevices | PermissionDenied | TooManyLinks | Unsupported
    )
}

/// A second name for the same bytes, or a copy where the disk has no second names.
fn link(from: &Path, to: &Path) -> io::Result<()> {
    match fs::hard_link(from, to) {
        Err(error) if has_no_links(error.kind()) => {
            // Never over a file that has the name: it may be a second name of the same bytes.
            let mut copy = fs::File::create_new(to)?;
            io::copy(&mut durable::open_plain(from)?, &mut copy).map(drop)
        }
        linked => linked,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_taken_is_never_written_over() {
        let folder = tempfile::tempdir().expect("temp folder");
        let (from, to) = (folder.path().join("from"), folder.path().join("to"));
        fs::write(&from, b"bytes").expect("written");
        link(&from, &to).expect("linked");
        // Both names mean the same bytes: a copy of one onto the other would empty both.
        assert!(link(&from, &to).is_err());
        assert_eq!(fs::read(&from).expect("read"), b"bytes");
    }
}
