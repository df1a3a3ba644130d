//! Bytes on their way: whole before they have a name, at either end.

use std::cell::RefCell;
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use object_store::path::Path as Key;
use object_store::{Error, GetOptions, GetRange, MultipartUpload, ObjectStoreExt as _};
use sha2::{Digest as _, Sha256};

use super::bucket::{Bucket, Put};
use super::error::{BucketError, told};
use crate::domain::text::hex;
use crate::platform::{self, fault};
use crate::store::artifacts::Blob;
use crate::workspace::durable;

/// From here on bytes go in parts of this size.
const PART: u64 = 8 << 20;

/// So many parts of a file are under way at once.
const AT_ONCE: usize = 4;

/// No cloud takes more parts than this.
const MOST_PARTS: u64 = 9_000;

/// A download is picked up so often without a single byte more.
const PICKED_UP: u32 = 4;

impl Bucket {
    /// Puts a file under its hash, unless it is there. What has changed since it was hashed is put nowhere.
    pub fn put(&self, path: &Path, blob: &Blob) -> Result<Put, BucketError> {
        self.unless_there(blob, |over| {
            let opened = durable::open_plain(path);
            let mut file = opened.map_err(|error| BucketError::disk("read", path, error))?;
            if blob.size > PART {
                self.put_file(&mut file, path, blob)
            } else {
                self.put_whole(&mut file, path, blob, over)
            }
        })
    }

    /// The same for a file whose last copy this may be: what is there is read, once, and put again if it is not that.
    pub(super) fn put_surely(&self, path: &Path, blob: &Blob) -> Result<Put, BucketError> {
        let put = self.put(path, blob)?;
        if put == Put::Sent || self.is_whole(blob) {
            return Ok(put);
        }
        match self.read(blob, |_| Ok(())) {
            Ok(()) => self.note_whole(blob),
            Err(BucketError::Damaged(_)) => self.note_damaged(blob),
            Err(error) => return Err(error),
        }
        self.put(path, blob)
    }

    /// Puts bytes under their hash, which is the blob's, unless they are there.
    pub fn put_bytes(&self, bytes: Vec<u8>, blob: &Blob) -> Result<Put, BucketError> {
        self.unless_there(blob, |over| {
            if blob.size <= PART {
                return self.put_small(bytes, blob, over);
            }
            let mut rest = Bytes::from(bytes);
            let part = usize::try_from(PART.max(blob.size / MOST_PARTS + 1)).unwrap_or(usize::MAX);
            let next = || {
                let part = rest.split_to(part.min(rest.len()));
                Ok((!part.is_empty()).then_some(part))
            };
            self.put_parts(blob, next, || Ok(()))
        })
    }

    /// `put` hears whether it is to put over what has the name.
    fn unless_there(
        &self,
        blob: &Blob,
        put: impl FnOnce(bool) -> Result<(), BucketError>,
    ) -> Result<Put, BucketError> {
        let over = self.is_damaged(blob);
        if !over && self.has_young(blob)? {
            return Ok(Put::There);
        }
        fault::here("objects.putting");
        put(over)?;
        fault::here("objects.put");
        self.note_whole(blob);
        Ok(Put::Sent)
    }

    fn put_whole(
        &self,
        file: &mut File,
        path: &Path,
        blob: &Blob,
        over: bool,
    ) -> Result<(), BucketError> {
        let mut bytes = Vec::with_capacity(usize::try_from(blob.size).unwrap_or_default());
        let read = file.take(PART + 1).read_to_end(&mut bytes);
        read.map_err(|error| BucketError::disk("read", path, error))?;
        if hex(&Sha256::digest(&bytes)) != blob.sha256 {
            return Err(changed(path));
        }
        self.put_small(bytes, blob, over)
    }

    fn put_small(&self, bytes: Vec<u8>, blob: &Blob, over: bool) -> Result<(), BucketError> {
        let key = self.key_of(blob)?;
        let payload = object_store::PutPayload::from(bytes);
        self.wait("putting a file", async {
            if over {
                return self.store.put(&key, payload).await.map(drop);
            }
            match self.create(&key, payload.clone()).await {
                Err(Error::AlreadyExists { .. }) => {
                    if self.store.head(&key).await?.size == blob.size {
                        return Ok(());
                    }
                    // Under its hash only these bytes can be right.
                    self.store.put(&key, payload).await.map(drop)
                }
                put => put,
            }
        })
    }

    /// Makes a blob young that is too large to be copied within the bucket: its bytes travel through this machine.
    pub(super) fn put_again(&self, key: &Key, size: u64) -> Result<(), BucketError> {
        let shown = "a copy of a blob";
        let part = usize::try_from(PART.max(size / MOST_PARTS + 1)).unwrap_or(usize::MAX);
        let mut upload = self.wait(shown, self.store.put_multipart(key))?;
        let came = self.wait(shown, async {
            let mut stream = self.store.get(key).await?.into_stream();
            let (mut waiting, mut have) = (BytesMut::new(), 0);
            while let Some(bytes) = stream.next().await {
                let bytes = bytes?;
                have += bytes.len() as u64;
                waiting.extend_from_slice(&bytes);
                while waiting.len() >= part {
                    let full = waiting.split_to(part).freeze();
                    upload.put_part(full.into()).await?;
                }
            }
            if !waiting.is_empty() {
                upload.put_part(waiting.freeze().into()).await?;
            }
            if have == size {
                upload.complete().await?;
            }
            Ok(have == size)
        });
        if !matches!(came, Ok(true)) && !self.is_stopped() {
            let _ = self.wait("giving a file up", upload.abort());
        }
        if came? {
            return Ok(());
        }
        Err(BucketError::Away(format!(
            "{}: a copy was cut short",
            self.place
        )))
    }

    /// Puts a file in parts, and hashes them on their way.
    fn put_file(&self, file: &mut File, path: &Path, blob: &Blob) -> Result<(), BucketError> {
        let part = PART.max(blob.size / MOST_PARTS + 1);
        let hash = RefCell::new(Sha256::new());
        let next = || {
            let mut bytes = Vec::with_capacity(usize::try_from(part).unwrap_or_default());
            let read = file.take(part).read_to_end(&mut bytes);
            read.map_err(|error| BucketError::disk("read", path, error))?;
            hash.borrow_mut().update(&bytes);
            Ok((!bytes.is_empty()).then(|| bytes.into()))
        };
        let is_right = || {
            if hex(&hash.take().finalize()) == blob.sha256 {
                Ok(())
            } else {
                Err(changed(path))
            }
        };
        self.put_parts(blob, next, is_right)
    }

    /// Puts parts, as many as `next` has; they take their name once `is_right` agrees.
    fn put_parts(
        &self,
        blob: &Blob,
        next: impl FnMut() -> Result<Option<Bytes>, BucketError>,
        is_right: impl FnOnce() -> Result<(), BucketError>,
    ) -> Result<(), BucketError> {
        let key = self.key_of(blob)?;
        let mut upload = self.wait("putting a file", self.store.put_multipart(&key))?;
        let sent = self.attend(self.send_parts(upload.as_mut(), next, is_right));
        if sent.is_err() && !self.is_stopped() {
            // What is left of it has no name; a rule of the bucket takes away what a dead worker began.
            let _ = self.wait("giving a file up", upload.abort());
        }
        sent
    }

    async fn send_parts(
        &self,
        upload: &mut dyn MultipartUpload,
        mut next: impl FnMut() -> Result<Option<Bytes>, BucketError>,
        is_right: impl FnOnce() -> Result<(), BucketError>,
    ) -> Result<(), BucketError> {
        let said = |error: &Error| told(error, &self.place.to_string(), "putting a file");
        let mut under_way = FuturesUnordered::new();
        while let Some(bytes) = next()? {
            if under_way.len() >= AT_ONCE {
                let done: Option<object_store::Result<()>> = under_way.next().await;
                done.transpose().map_err(|error| said(&error))?;
            }
            under_way.push(tokio::spawn(upload.put_part(bytes.into())).map_joined());
        }
        while let Some(done) = under_way.next().await {
            done.map_err(|error| said(&error))?;
        }
        is_right()?;
        fault::here("objects.parts_sent");
        upload.complete().await.map_err(|error| said(&error))?;
        Ok(())
    }

    /// Fetches a blob to a path, which is there, whole and as it should be, or not at all.
    pub fn fetch(&self, blob: &Blob, to: &Path) -> Result<(), BucketError> {
        self.fetch_with(blob, to, |_| Ok(()))
    }

    /// The same, and does something with the file before it has its name.
    pub(super) fn fetch_with(
        &self,
        blob: &Blob,
        to: &Path,
        finish: impl FnOnce(&Path) -> std::io::Result<()>,
    ) -> Result<(), BucketError> {
        let tag = uuid::Uuid::new_v4().simple().to_string();
        let part = durable::temporary_path(to, &tag);
        let fetched = self.fetch_part(blob, &part).and_then(|()| {
            fault::here("objects.fetched");
            finish(&part)
                .and_then(|()| platform::rename_replace(&part, to))
                .map_err(|error| BucketError::disk("write", to, error))
        });
        if fetched.is_err() {
            let _ = std::fs::remove_file(&part);
        }
        if matches!(fetched, Err(BucketError::Damaged(_))) {
            self.note_damaged(blob);
        }
        fetched
    }

    fn fetch_part(&self, blob: &Blob, part: &Path) -> Result<(), BucketError> {
        let disk = |error| BucketError::disk("write", part, error);
        let mut file = File::create(part).map_err(disk)?;
        self.read(blob, |bytes| file.write_all(bytes).map_err(disk))?;
        file.sync_data().map_err(disk)
    }

    /// Hands the bytes of a blob over as they come; what they are not is known at the end.
    fn read(
        &self,
        blob: &Blob,
        mut take: impl FnMut(&[u8]) -> Result<(), BucketError>,
    ) -> Result<(), BucketError> {
        let key = self.key_of(blob)?;
        let mut hash = Sha256::new();
        let (mut have, mut vain) = (0u64, 0u32);
        while have < blob.size {
            let before = have;
            let options = GetOptions {
                range: (have > 0).then_some(GetRange::Offset(have)),
                ..GetOptions::default()
            };
            let said = |error: &Error| told(error, &self.place.to_string(), &blob.sha256);
            let came = self.attend(async {
                let got = self.store.get_opts(&key, options).await;
                let mut stream = got.map_err(|error| said(&error))?.into_stream();
                while let Some(bytes) = stream.next().await {
                    let bytes = bytes.map_err(|error| said(&error))?;
                    have += bytes.len() as u64;
                    hash.update(&bytes);
                    take(&bytes)?;
                    fault::here("objects.fetching");
                    if have > blob.size {
                        break;
                    }
                }
                Ok(())
            });
            vain = if have > before { 0 } else { vain + 1 };
            match came {
                Err(BucketError::Away(_)) if vain < PICKED_UP => {
                    self.pause(Duration::from_millis(200 << vain));
                }
                Ok(()) if have < blob.size && vain < PICKED_UP => {}
                Ok(()) => break,
                Err(error) => return Err(error),
            }
        }
        if have != blob.size || hex(&hash.finalize()) != blob.sha256 {
            return Err(BucketError::Damaged(blob.sha256.clone()));
        }
        Ok(())
    }
}

fn changed(path: &Path) -> BucketError {
    let what = "it changed while it was read";
    BucketError::disk("put", path, std::io::Error::other(what))
}

/// A part that travels in a task of its own.
trait Joined {
    async fn map_joined(self) -> object_store::Result<()>;
}

impl Joined for tokio::task::JoinHandle<object_store::Result<()>> {
    async fn map_joined(self) -> object_store::Result<()> {
        self.await?
    }
}

/// Does something with each of many things, a few at a time, and answers one for one.
pub fn side_by_side<T: Sync, R: Send>(
    all: &[T],
    most: usize,
    act: impl Fn(&T) -> R + Sync,
) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<(usize, R)>> = Mutex::default();
    std::thread::scope(|scope| {
        for _ in 0..most.min(all.len()) {
            scope.spawn(|| {
                while let Some((at, one)) = {
                    let at = next.fetch_add(1, Ordering::SeqCst);
                    all.get(at).map(|one| (at, one))
                } {
                    let came = act(one);
                    done.lock()
                        .unwrap_or_else(PoisonError::into_inner)
                        .push((at, came));
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, came)| came).collect()
}
