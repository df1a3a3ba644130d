//! One bucket: what is asked of it, and who waits.

use std::collections::HashSet;
use std::path::{Path as File, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use chrono::{DateTime, Utc};
use futures_util::future::{Either, select};
use futures_util::{StreamExt as _, TryStreamExt as _};
use object_store::path::Path;
use object_store::{ObjectMeta, ObjectStore, ObjectStoreExt as _, PutMode, PutOptions, PutPayload};
use tokio::runtime::Runtime;
use tokio::sync::Notify;

use super::error::{BucketError, is_unknown_to_bucket, no_credentials, told};
use super::place::Place;
use crate::store::artifacts::Blob;

/// What is older than this is made young before somebody refers to it anew.
const OLD: Duration = Duration::from_secs(86_400);

const BLOBS: &str = "blobs/sha256";
const FLEETS: &str = "fleets";
const PROBES: &str = "probes";
const DAMAGED: &str = "damaged";

/// So many blobs are remembered as whole.
const REMEMBERED: usize = 100_000;

/// Whether bytes had to travel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Put {
    /// They were put.
    Sent,
    /// They were there.
    There,
}

/// A blob as a listing tells of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Its SHA-256, in hexadecimal digits; nothing for what is no blob.
    pub sha256: Option<String>,
    /// How large it is.
    pub size: u64,
    /// When it was put there, by the bucket's clock.
    pub at: DateTime<Utc>,
    pub(super) key: Path,
}

/// A bucket, and the small runtime that talks to it.
pub struct Bucket {
    pub(super) place: Place,
    pub(super) store: Arc<dyn ObjectStore>,
    prefix: Path,
    /// Whether any variable says who we are.
    has_keys: bool,
    runtime: Runtime,
    /// What is larger is not copied within the bucket.
    most_copied: u64,
    /// Whether it does not know how to put a file only if its name is free.
    puts_blindly: AtomicBool,
    stopped: AtomicBool,
    stop: Notify,
    /// Blobs that this process has put or read whole.
    whole: Mutex<HashSet<String>>,
    /// Blobs that somebody read otherwise than their hash says.
    damaged: Mutex<HashSet<String>>,
}

impl Bucket {
    /// Names a bucket; `variable` says who we are. Nothing is asked yet.
    pub fn open(
        place: Place,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, BucketError> {
        // Whoever was first is the same.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let (store, prefix) = place.open(variable)?;
        let has_keys = place.has_keys(variable);
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .thread_name("bucket")
            .enable_all()
            .build()
            .map_err(|error| BucketError::disk("start a thread for", File::new("bucket"), error))?;
        Ok(Self {
            most_copied: place.most_copied(),
            place,
            store,
            prefix,
            has_keys,
            runtime,
            puts_blindly: AtomicBool::new(false),
            stopped: AtomicBool::new(false),
            stop: Notify::new(),
            whole: Mutex::default(),
            damaged: Mutex::default(),
        })
    }

    /// Returns where it is, without any secret.
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// Ends what is under way and all that would come.
    pub fn hurry(&self) {
        self.stopped.store(true, Ordering::SeqCst);
        self.stop.notify_waiters();
    }

    /// Tells whether it was told to stop.
    pub(super) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::SeqCst)
    }

    /// Waits so long, or until it is told to stop.
    pub(super) fn pause(&self, pause: Duration) {
        let _ = self.wait("", async {
            tokio::time::sleep(pause).await;
            Ok(())
        });
    }

    /// Waits for an answer, or until it is told to stop.
    pub(super) fn wait<T>(
        &self,
        shown: &str,
        answer: impl Future<Output = object_store::Result<T>>,
    ) -> Result<T, BucketError> {
        self.attend(async {
            let answer = answer.await;
            answer.map_err(|error| {
                match told(&error, &self.place.to_string(), shown) {
                    // Neither a variable nor the machine we run on told who we are.
                    BucketError::Refused { .. } | BucketError::Away(_) if !self.has_keys => {
                        no_credentials(&self.place.to_string())
                    }
                    error => error,
                }
            })
        })
    }

    /// The same for what knows its own errors.
    pub(super) fn attend<T>(
        &self,
        answer: impl Future<Output = Result<T, BucketError>>,
    ) -> Result<T, BucketError> {
        self.runtime.block_on(async {
            let stop = self.stop.notified();
            let (mut stop, answer) = (std::pin::pin!(stop), std::pin::pin!(answer));
            stop.as_mut().enable();
            if self.is_stopped() {
                return Err(BucketError::Stopped);
            }
            match select(answer, stop).await {
                Either::Left((answer, _)) => answer,
                Either::Right(_) => Err(BucketError::Stopped),
            }
        })
    }

    fn key(&self, below: &str) -> Path {
        match self.prefix.as_ref() {
            "" => Path::from(below),
            prefix => Path::from(format!("{prefix}/{below}")),
        }
    }

    pub(super) fn key_of(&self, blob: &Blob) -> Result<Path, BucketError> {
        let sum = &blob.sha256;
        let digits = sum
            .bytes()
            .all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
        if sum.len() != 64 || !digits {
            return Err(BucketError::Damaged("not a SHA-256 hash".to_owned()));
        }
        Ok(self.key(&format!("{BLOBS}/{}/{}", &sum[..2], &sum[2..])))
    }

    /// Returns what the bucket says of a key; nothing if it has none.
    pub(super) fn head(&self, key: &Path) -> Result<Option<ObjectMeta>, BucketError> {
        match self.wait("a blob", self.store.head(key)) {
            Ok(found) => Ok(Some(found)),
            Err(BucketError::Missing(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Tells whether a blob is there, in the right size.
    pub fn has(&self, blob: &Blob) -> Result<bool, BucketError> {
        let found = self.head(&self.key_of(blob)?)?;
        Ok(found.is_some_and(|found| found.size == blob.size))
    }

    /// Tells whether a blob is there and will be for a while: one that is old is made young.
    pub(super) fn has_young(&self, blob: &Blob) -> Result<bool, BucketError> {
        let key = self.key_of(blob)?;
        let Some(found) = self.head(&key)?.filter(|found| found.size == blob.size) else {
            return Ok(false);
        };
        let age = now().signed_duration_since(found.last_modified);
        if age.to_std().is_ok_and(|age| age > OLD) {
            if found.size > self.most_copied {
                self.put_again(&key, found.size)?;
                return Ok(true);
            }
            // Nobody may copy a thing onto itself; whoever prunes it meanwhile finds it made again.
            let beside = self.key(&format!("{PROBES}/{}", uuid::Uuid::new_v4().simple()));
            self.wait("a copy of a blob", self.store.copy(&key, &beside))?;
            let back = self.wait("a copy of a blob", self.store.copy(&beside, &key));
            let _ = self.wait("a copy of a blob", self.store.delete(&beside));
            back?;
        }
        Ok(true)
    }

    /// Leaves a note that a blob is damaged, for whoever has its bytes.
    pub(super) fn note_damaged(&self, blob: &Blob) {
        let key = self.key(&format!("{DAMAGED}/{}", blob.sha256));
        let noted = self.wait("a note", self.store.put(&key, PutPayload::new()));
        // Without a note the blob stays as it is, and whoever fetches it says so.
        drop(noted);
        set(&self.whole).remove(&blob.sha256);
        set(&self.damaged).insert(blob.sha256.clone());
    }

    /// Reads the notes of damaged blobs: they are put again where they would be passed over as there.
    pub fn look_for_damaged(&self) -> Result<(), BucketError> {
        let noted = self.list_below(&[DAMAGED])?;
        let names = noted.iter().filter_map(|one| one.key.filename());
        set(&self.damaged).extend(names.map(str::to_owned));
        Ok(())
    }

    pub(super) fn is_damaged(&self, blob: &Blob) -> bool {
        set(&self.damaged).contains(&blob.sha256)
    }

    pub(super) fn is_whole(&self, blob: &Blob) -> bool {
        set(&self.whole).contains(&blob.sha256)
    }

    /// Remembers that a blob is whole now.
    pub(super) fn note_whole(&self, blob: &Blob) {
        if set(&self.damaged).remove(&blob.sha256) {
            let _ = self.remove(&self.key(&format!("{DAMAGED}/{}", blob.sha256)));
        }
        let mut whole = set(&self.whole);
        if whole.len() >= REMEMBERED {
            whole.clear();
        }
        whole.insert(blob.sha256.clone());
    }

    /// Finds out whether we may list, put, read and delete, before anything is bought.
    pub fn probe(&self) -> Result<(), BucketError> {
        let fleets = self.key(FLEETS);
        self.wait("a list", async {
            let mut listed = self.store.list(Some(&fleets));
            listed.next().await.transpose().map(drop)
        })?;
        let key = self.key(&format!("{PROBES}/{}", uuid::Uuid::new_v4().simple()));
        let put = self.store.put(&key, b"archi3d".to_vec().into());
        self.wait("putting a file", put)?;
        self.wait("reading a file", self.store.head(&key))?;
        self.wait("deleting a file", self.store.delete(&key))
    }

    /// Notes that a database uses this bucket.
    pub fn enrol(&self, fleet: &str, about: &str) -> Result<(), BucketError> {
        let key = self.key(&format!("{FLEETS}/{fleet}"));
        self.wait("putting a file", async {
            match self.create(&key, about.as_bytes().to_vec().into()).await {
                Err(object_store::Error::AlreadyExists { .. }) => Ok(()),
                put => put,
            }
        })
    }

    /// Puts a file unless its name is taken. Where a bucket cannot do that the file is just put: what has the name is the same.
    pub(super) async fn create(&self, key: &Path, bytes: PutPayload) -> object_store::Result<()> {
        if !self.puts_blindly.load(Ordering::Relaxed) {
            let create = PutOptions::from(PutMode::Create);
            match self.store.put_opts(key, bytes.clone(), create).await {
                Err(error) if is_unknown_to_bucket(&error) => {
                    self.puts_blindly.store(true, Ordering::Relaxed);
                }
                put => return put.map(drop),
            }
        }
        self.store.put(key, bytes).await.map(drop)
    }

    /// Tells whether a database is known to use this bucket.
    pub(super) fn is_enrolled(&self, fleet: &str) -> Result<bool, BucketError> {
        let key = self.key(&format!("{FLEETS}/{fleet}"));
        Ok(self.head(&key)?.is_some())
    }

    /// Refuses a bucket that a database does not use: an empty mount point, or the wrong server.
    pub fn expect(&self, fleet: &str) -> Result<(), BucketError> {
        if self.is_enrolled(fleet)? {
            return Ok(());
        }
        Err(BucketError::foreign(&self.place.to_string()))
    }

    /// Returns the databases that use this bucket.
    pub fn fleets(&self) -> Result<Vec<String>, BucketError> {
        let below = self.key(FLEETS);
        let listed = self.store.list(Some(&below)).try_collect();
        let listed: Vec<ObjectMeta> = self.wait("a list", listed)?;
        let names = listed.iter().filter_map(|one| one.location.filename());
        Ok(names.map(str::to_owned).collect())
    }

    /// Lists every blob, what workers left that died while they tried, and notes of damage.
    pub fn list(&self) -> Result<Vec<Found>, BucketError> {
        self.list_below(&[BLOBS, PROBES, DAMAGED])
    }

    /// Removes everything, for a place that only a trial has used.
    #[expect(
        clippy::disallowed_methods,
        reason = "of a trial, which costs nothing, and emptied before"
    )]
    pub fn clear(&self) -> Result<(), BucketError> {
        for found in self.list_below(&[BLOBS, PROBES, DAMAGED, FLEETS])? {
            self.remove(&found.key)?;
        }
        if let Some(folder) = self.place.folder() {
            // What is left of it are empty folders.
            let _ = std::fs::remove_dir_all(folder);
        }
        Ok(())
    }

    fn list_below(&self, folders: &[&str]) -> Result<Vec<Found>, BucketError> {
        let mut all = Vec::new();
        for &below in folders {
            let listed = self.store.list(Some(&self.key(below))).try_collect();
            let listed: Vec<ObjectMeta> = self.wait("a list", listed)?;
            all.extend(listed.into_iter().map(|one| {
                let parts: Vec<_> = one.location.parts().collect();
                let end: String = parts[parts.len().saturating_sub(2)..]
                    .iter()
                    .map(|part| part.as_ref().to_owned())
                    .collect();
                Found {
                    sha256: (below == BLOBS && end.len() == 64).then_some(end),
                    size: one.size,
                    at: one.last_modified,
                    key: one.location,
                }
            }));
        }
        Ok(all)
    }

    /// Removes what uploads left in a folder that were cut off before this time; returns how much. They have names that no
    /// listing tells of. In a cloud parts of such uploads are taken away by a rule of the bucket.
    pub fn remove_unfinished(&self, before: DateTime<Utc>) -> (usize, u64) {
        let (mut files, mut bytes) = (0, 0);
        let mut folders: Vec<PathBuf> = self.place.folder().into_iter().collect();
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
                let Ok(found) = entry.path().symlink_metadata() else {
                    continue;
                };
                if found.is_dir() {
                    folders.push(entry.path());
                    continue;
                }
                let is_old = found
                    .modified()
                    .is_ok_and(|at| DateTime::<Utc>::from(at) <= before);
                if is_old && is_unfinished(&entry.file_name().to_string_lossy()) {
                    let gone = std::fs::remove_file(entry.path()).is_ok();
                    files += usize::from(gone);
                    bytes += if gone { found.len() } else { 0 };
                }
            }
        }
        (files, bytes)
    }

    /// Removes what a listing told of, unless it was put again since; tells whether it did.
    pub fn delete(&self, found: &Found) -> Result<bool, BucketError> {
        match self.head(&found.key)? {
            Some(now) if now.last_modified == found.at => self.remove(&found.key).map(|()| true),
            _ => Ok(false),
        }
    }

    fn remove(&self, key: &Path) -> Result<(), BucketError> {
        match self.wait("deleting a file", self.store.delete(key)) {
            Err(BucketError::Missing(_)) => Ok(()),
            deleted => deleted,
        }
    }
}

/// Tells whether a name is one that the client gives to what is not whole yet: the end of a hash, and a number.
fn is_unfinished(name: &str) -> bool {
    name.split_once('#').is_some_and(|(hash, number)| {
        let digits =
            |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        hash.len() == 62 && digits(hash) && digits(number)
    })
}

#[expect(
    clippy::disallowed_methods,
    reason = "about how old a blob is; a day more or less changes nothing but a copy"
)]
fn now() -> DateTime<Utc> {
    Utc::now()
}

fn set(of: &Mutex<HashSet<String>>) -> std::sync::MutexGuard<'_, HashSet<String>> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_large_to_be_copied_is_made_young_all_the_same() {
        let folder = tempfile::tempdir().expect("temp folder");
        let place = Place::parse(&format!("file://{}", folder.path().display())).expect("a place");
        let mut bucket = Bucket::open(place, &|_| None).expect("opened");
        bucket.most_copied = 4;
        let blob = Blob {
            sha256: "a".repeat(64),
            size: 9,
        };
        bucket.put_bytes(b"nine byte".to_vec(), &blob).expect("put");
        let path = folder.path().join("blobs/sha256/aa").join("a".repeat(62));
        let old = std::time::SystemTime::UNIX_EPOCH;
        let file = std::fs::File::open(&path).expect("there");
        file.set_modified(old).expect("made old");
        // A copy would need this folder.
        std::fs::create_dir_all(folder.path()).expect("there");
        std::fs::write(folder.path().join(PROBES), b"").expect("written");
        assert!(bucket.has_young(&blob).expect("asked"));
        let now = std::fs::metadata(&path).expect("there");
        assert!(now.modified().expect("known") > old + OLD);
        assert_eq!(std::fs::read(&path).expect("read"), b"nine byte");
    }
}
