//! Lock files that other tools take too.
//!
//! A lock is `flock(2)` on a separate file, as the PyPI package `filelock` takes
//! it. Some versions of that package unlink the file on release, so after
//! locking we check that the path still means the file we locked. Lock files
//! stay empty and are never removed by us.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use crate::platform::{self, FileIdentity};
use crate::workspace::durable;
use crate::workspace::paths::Workspace;

/// A lock that is held until it is dropped.
#[derive(Debug)]
pub struct FileLock {
    /// There until the lock is parked or dropped.
    file: Option<LockFile>,
}

/// A lock that was let go and will be wanted again soon: its file stays open.
#[derive(Debug)]
pub struct ParkedLock {
    file: LockFile,
}

#[derive(Debug)]
struct LockFile {
    file: File,
    identity: FileIdentity,
}

impl LockFile {
    fn open(path: &Path) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        // Never truncated: a file that somebody else wrote to by mistake is not ours to empty.
        options.read(true).write(true).create(true).truncate(false);
        let file = durable::plain(platform::without_waiting(&mut options).open(path), path)?;
        let identity = platform::identity(&file.metadata()?);
        Ok(Self { file, identity })
    }

    /// Locks the file if it is free right now, and tells whether it was.
    fn try_lock(&self) -> io::Result<bool> {
        match self.file.try_lock() {
            Ok(()) => Ok(true),
            Err(TryLockError::WouldBlock) => Ok(false),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// Tells whether `path` still means this file.
    fn is_at(&self, path: &Path) -> io::Result<bool> {
        match fs::symlink_metadata(path) {
            Ok(named) => Ok(platform::identity(&named) == self.identity),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Unlocks the file. Closing would do, were it not for programs that are just being
    /// started: until they run, they have the file open too. A failure leaves it to the
    /// closing.
    fn unlock(&self) {
        let _ = self.file.unlock();
    }
}

impl Drop for FileLock {
    fn drop(&mut self) {
        if let Some(file) = &self.file {
            file.unlock();
        }
    }
}

impl FileLock {
    /// Takes the lock if it is free right now.
    pub fn try_acquire(path: &Path) -> io::Result<Option<Self>> {
        loop {
            let file = LockFile::open(path)?;
            if !file.try_lock()? {
                return Ok(None);
            }
            if file.is_at(path)? {
                return Ok(Some(Self { file: Some(file) }));
            }
            // The holder before us unlinked the file while we waited on it.
        }
    }

    /// Lets the lock go and keeps its file open.
    pub fn park(mut self) -> Option<ParkedLock> {
        let file = self.file.take()?;
        file.unlock();
        Some(ParkedLock { file })
    }

    /// Takes the lock, waiting at most `limit`.
    pub fn acquire_within(path: &Path, limit: Duration) -> io::Result<Option<Self>> {
        let start = Instant::now();
        loop {
            if let Some(lock) = Self::try_acquire(path)? {
                return Ok(Some(lock));
            }
            if start.elapsed() >= limit {
                return Ok(None);
            }
            thread::sleep(short_pause());
        }
    }

    /// Takes the lock however long it takes; `waiting` hears after every pause
    /// for how long it has been and gives up by returning `false`.
    pub fn acquire(
        path: &Path,
        mut waiting: impl FnMut(Duration) -> bool,
    ) -> io::Result<Option<Self>> {
        let start = Instant::now();
        loop {
            if let Some(lock) = Self::try_acquire(path)? {
                return Ok(Some(lock));
            }
            if !waiting(start.elapsed()) {
                return Ok(None);
            }
            thread::sleep(short_pause());
        }
    }
}

/// The lock of the registry. What may only be done under it takes one.
#[derive(Debug)]
pub struct TableLock(FileLock);

impl TableLock {
    /// Takes the lock however long it takes, as [`FileLock::acquire`] does.
    pub fn acquire(
        workspace: &Workspace,
        waiting: impl FnMut(Duration) -> bool,
    ) -> io::Result<Option<Self>> {
        let lock = FileLock::acquire(&workspace.registry_lock(), waiting)?;
        Ok(lock.map(Self))
    }

    /// Returns the lock of the file.
    pub fn file(&self) -> &FileLock {
        &self.0
    }
}

impl ParkedLock {
    /// Takes the lock again if it is free right now and its file still in its place.
    pub fn try_acquire(self, path: &Path) -> io::Result<Option<FileLock>> {
        if !self.file.try_lock()? {
            return Ok(None);
        }
        let in_place = self.file.is_at(path);
        let lock = FileLock {
            file: Some(self.file),
        };
        Ok(in_place?.then_some(lock))
    }
}

/// A lock for something short and frequent: its file stays open between uses.
#[derive(Debug)]
pub struct ReusedLock {
    path: PathBuf,
    file: Option<LockFile>,
}

impl ReusedLock {
    /// Names the lock; nothing is opened yet.
    pub fn new(path: PathBuf) -> Self {
        Self { path, file: None }
    }

    /// Takes the lock if it is free right now, and tells whether it was. It is
    /// held until [`ReusedLock::release`].
    pub fn try_take(&mut self) -> io::Result<bool> {
        loop {
            let file = match self.file.take() {
                Some(open) => open,
                None => LockFile::open(&self.path)?,
            };
            let taken = file.try_lock()?;
            if !taken || file.is_at(&self.path)? {
                self.file = Some(file);
                return Ok(taken);
            }
            // Somebody unlinked the file since we opened it.
        }
    }

    /// Takes the lock, waiting at most `limit`, and tells whether that succeeded.
    pub fn take_within(&mut self, limit: Duration) -> io::Result<bool> {
        let start = Instant::now();
        loop {
            if self.try_take()? {
                return Ok(true);
            }
            if start.elapsed() >= limit {
                return Ok(false);
            }
            thread::sleep(short_pause());
        }
    }

    /// Gives the lock back.
    pub fn release(&mut self) {
        // A file that cannot be unlocked is closed, which unlocks it too.
        self.file = self.file.take().filter(|open| open.file.unlock().is_ok());
    }
}

/// A file that another process may have locked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Looked {
    /// Whether a process holds an exclusive lock on it.
    pub held: bool,
    /// Which file it is, as [`platform::whereabouts`] has it.
    pub whereabouts: String,
}

/// Looks whether a process holds an exclusive lock on `path`; nothing if it is missing.
pub fn look(path: &Path) -> io::Result<Option<Looked>> {
    let mut options = OpenOptions::new();
    options.read(true);
    let file = match durable::plain(platform::without_waiting(&mut options).open(path), path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let whereabouts = platform::whereabouts(&file)?;
    // Shared, so that several askers at once do not take each other for the holder.
    let held = match file.try_lock_shared() {
        Ok(()) => {
            let _ = file.unlock();
            false
        }
        Err(TryLockError::WouldBlock) => true,
        Err(TryLockError::Error(error)) => return Err(error),
    };
    Ok(Some(Looked { held, whereabouts }))
}

/// Tells whether a process holds an exclusive lock on `path`; a missing file is free.
pub fn is_held(path: &Path) -> io::Result<bool> {
    Ok(look(path)?.is_some_and(|looked| looked.held))
}

/// Waiting at random times keeps pollers from meeting in step for ever.
fn short_pause() -> Duration {
    let random = uuid::Uuid::new_v4().as_bytes()[0];
    Duration::from_millis(20 + u64::from(random) * 40 / 255)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    #[test]
    fn a_held_lock_is_seen_as_held_and_a_free_one_as_free() {
        let folder = tempfile::tempdir().expect("temp folder");
        let path = folder.path().join("x.lock");
        assert!(!is_held(&path).expect("readable"));
        let lock = FileLock::try_acquire(&path)
            .expect("lockable")
            .expect("free");
        assert!(FileLock::try_acquire(&path).expect("lockable").is_none());
        assert!(is_held(&path).expect("readable"));
        drop(lock);
        assert!(!is_held(&path).expect("readable"));
        assert!(FileLock::try_acquire(&path).expect("lockable").is_some());
    }

    #[test]
    fn a_lock_file_that_its_holder_unlinks_still_excludes() {
        let folder = tempfile::tempdir().expect("temp folder");
        let path = folder.path().join("x.lock");
        let inside = AtomicU32::new(0);
        let worst = AtomicU32::new(0);
        thread::scope(|scope| {
            for unlinks in [true, true, false, false] {
                let (path, inside, worst) = (&path, &inside, &worst);
                scope.spawn(move || {
                    for _ in 0..200 {
                        let lock = loop {
                            if let Some(lock) = FileLock::try_acquire(path).expect("lockable") {
                                break lock;
                            }
                            thread::yield_now();
                        };
                        worst
                            .fetch_max(inside.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                        inside.fetch_sub(1, Ordering::SeqCst);
                        if unlinks {
                            let _ = fs::remove_file(path);
                        }
                        drop(lock);
                    }
                });
            }
        });
        assert_eq!(worst.load(Ordering::SeqCst), 1);
    }

    #[test]
    fn a_reused_lock_excludes_others_also_after_its_file_was_unlinked() {
        let folder = tempfile::tempdir().expect("temp folder");
        let path = folder.path().join("x.lock");
        let mut lock = ReusedLock::new(path.clone());
        for _ in 0..2 {
            assert!(lock.try_take().expect("lockable"));
            assert!(is_held(&path).expect("readable"));
            assert!(FileLock::try_acquire(&path).expect("lockable").is_none());
            lock.release();
            assert!(!is_held(&path).expect("readable"));
            fs::remove_file(&path).expect("removed");
        }
        let other = FileLock::try_acquire(&path)
            .expect("lockable")
            .expect("free");
        assert!(!lock.try_take().expect("lockable"));
        drop(other);
        assert!(lock.take_within(Duration::ZERO).expect("lockable"));
    }

    #[test]
    fn a_lock_is_free_at_once_though_a_child_still_has_its_file() {
        let folder = tempfile::tempdir().expect("temp folder");
        let path = folder.path().join("x.lock");
        let lock = FileLock::try_acquire(&path)
            .expect("lockable")
            .expect("free");
        // What a child has between fork and exec: the same open file.
        let open = lock.file.as_ref().expect("held");
        let inherited = open.file.try_clone().expect("copied");
        drop(lock);
        assert!(!is_held(&path).expect("readable"));
        drop(inherited);
    }

    #[test]
    fn a_parked_lock_is_free_and_can_be_taken_again_unless_its_file_went() {
        let folder = tempfile::tempdir().expect("temp folder");
        let path = folder.path().join("x.lock");
        let take = || FileLock::try_acquire(&path).expect("lockable");
        let parked = take().expect("free").park().expect("open");
        let other = take().expect("free while parked");
        assert!(parked.try_acquire(&path).expect("lockable").is_none());
        let parked = other.park().expect("open");
        let again = parked.try_acquire(&path).expect("lockable").expect("free");
        assert!(take().is_none());
        let parked = again.park().expect("open");
        fs::remove_file(&path).expect("removed");
        assert!(parked.try_acquire(&path).expect("lockable").is_none());
        assert!(take().is_some());
    }

    #[test]
    fn a_lock_that_is_a_link_is_refused() {
        let folder = tempfile::tempdir().expect("temp folder");
        let path = folder.path().join("x.lock");
        std::os::unix::fs::symlink("elsewhere", &path).expect("linkable");
        assert!(FileLock::try_acquire(&path).is_err());
        assert!(!folder.path().join("elsewhere").exists());
    }
}
