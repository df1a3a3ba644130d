//! What could not be sent to the server yet, on the worker's own disk.
//!
//! One file of JSON lines, each with a checksum, all synced before anybody who wrote one goes on. Lines are replayed in order
//! and count exactly once: an ending that the server has already is found by its attempt. What cannot be written is an error: the
//! caller buys nothing new then. A line that was cut short by a power loss was never acknowledged and is passed over.

use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::{self, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::claim::Hold;
use super::connect::Connection;
use super::ending::{Failure, PutOff, Release, Success};
use super::error::PgError;
use super::membership;
use super::telling::send_some;
use crate::domain::text::hex;
use crate::platform::{self, fault};
use crate::workspace::durable;

/// One thing to tell the server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum SpoolEntry {
    /// A provider accepted.
    Submitted {
        /// The attempt.
        hold: Hold,
        /// The provider's id.
        request_id: String,
        /// What it is said to cost, in millionths of a dollar.
        cost_micros: Option<i64>,
    },
    /// An attempt brought a result.
    Succeeded {
        /// All of it.
        success: Success,
    },
    /// An attempt ended without one.
    Failed {
        /// All of it.
        failure: Failure,
    },
    /// A failure that is followed by another attempt.
    PutOff {
        /// All of it.
        setback: PutOff,
    },
    /// A job that was given back unfinished.
    Released {
        /// The attempt.
        hold: Hold,
        /// How.
        how: Release,
    },
    /// A purchase turned out to cost more than was reserved for it.
    Raised {
        /// The attempt.
        hold: Hold,
        /// What it is said to cost, in millionths of a dollar.
        micros: i64,
    },
    /// An attempt's money.
    Settled {
        /// The attempt.
        hold: Hold,
        /// What it really cost, in millionths of a dollar.
        micros: i64,
    },
}

impl SpoolEntry {
    /// Returns the attempt it is about.
    pub fn hold(&self) -> &Hold {
        match self {
            Self::Submitted { hold, .. }
            | Self::Released { hold, .. }
            | Self::Raised { hold, .. }
            | Self::Settled { hold, .. } => hold,
            Self::Succeeded { success } => &success.hold,
            Self::Failed { failure } => &failure.hold,
            Self::PutOff { setback } => &setback.hold,
        }
    }
}

/// What became of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Replayed {
    /// The server has it now.
    Sent,
    /// The server had it before.
    Already,
    /// Somebody else has the job: a result is to be kept aside.
    Fenced,
}

/// A folder's spool. One process at a time has it open; its threads may add and send at once.
#[derive(Debug)]
pub struct Spool {
    folder: PathBuf,
    path: PathBuf,
    /// Held for life; the file of lines itself is replaced now and then.
    _lock: File,
    /// Held by whoever looks into the spool of another worker, which is dead.
    _taking: Option<File>,
    /// Whoever writes holds it, also while the disk takes its time; taken before `waiting`.
    disk: Mutex<Disk>,
    /// How long the file is; changed by whoever holds `disk`.
    length: AtomicU64,
    waiting: Mutex<VecDeque<Arc<SpoolEntry>>>,
    damaged: usize,
    process: String,
    /// Whether entries come all the time, so that room is reserved for them.
    busy: AtomicBool,
}

#[derive(Debug)]
struct Disk {
    file: File,
    /// So far the file was filled with zeros, which lines take the place of.
    reserved: u64,
    /// After a failed sync nobody knows what the disk has: nothing more is taken.
    broken: bool,
}

/// What is done with the file when entries are forgotten.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tidy {
    /// It is emptied as soon as nothing waits.
    Now,
    /// It is emptied when it has grown; until then it may tell of what the server has.
    Later,
    /// It is written again without them.
    Whole,
}

/// More than this is no spool.
const LONGEST: u64 = 1 << 30;

/// A file with more than this is written again without what was sent.
const TIDY: u64 = 8 << 20;

/// So many bytes are reserved at a time.
const RESERVE: usize = 1 << 20;

/// So many results are sent in one statement.
const TOGETHER: usize = 500;

const NAME: &str = "spool.jsonl";
const LOCK: &str = "spool.lock";
const TAKING: &str = "spool.taking";

/// Begins the name of an empty file that says which process had it last: a full disk has room for a name.
const PROCESS: &str = "spool.by-";

const DAMAGED: &str = "spool.damaged";
const REFUSED: &str = "spool.refused";
const PLACE: &str = "spools.name";

impl Spool {
    /// Opens the spool of a folder, which is made if needed, and reads what waits in it.
    pub fn open(folder: &Path) -> io::Result<Self> {
        Self::open_with(folder, None)
    }

    fn open_with(folder: &Path, taking: Option<File>) -> io::Result<Self> {
        fs::create_dir_all(folder)?;
        let lock = durable::open_append(&folder.join(LOCK))?;
        lock.try_lock().map_err(|error| match error {
            fs::TryLockError::WouldBlock => io::Error::new(
                io::ErrorKind::WouldBlock,
                "another process has this spool open",
            ),
            fs::TryLockError::Error(error) => error,
        })?;
        let there = fs::metadata(folder.join(LOCK))?;
        if platform::identity(&there) != platform::identity(&lock.metadata()?) {
            // Somebody removed it as empty while we waited.
            return Err(io::ErrorKind::NotFound.into());
        }
        let process = if taking.is_some() {
            marks(folder).pop().unwrap_or_default().1
        } else {
            forget_marks(folder);
            let process = membership::process().to_owned();
            // Without it nobody is sure of our death before our leases are over.
            let _ = File::create(folder.join(format!("{PROCESS}{process}")));
            process
        };
        let path = folder.join(NAME);
        let file = durable::open_to_write(&path)?;
        platform::sync_dir(folder)?;
        let bytes = durable::read_plain(&path, LONGEST)?;
        let (waiting, damaged) = read(without_reserve(&bytes));
        if !damaged.is_empty() {
            // Most likely a line that nobody was told of; but it may hold what somebody paid for.
            add_beside(folder, DAMAGED, &damaged.concat())?;
        }
        let bytes = without_reserve(&bytes);
        let disk = Disk {
            file,
            reserved: 0,
            broken: false,
        };
        let spool = Self {
            folder: folder.to_owned(),
            path,
            _lock: lock,
            _taking: taking,
            disk: Mutex::new(disk),
            length: AtomicU64::new(bytes.len() as u64),
            waiting: Mutex::new(waiting.into()),
            damaged: damaged.len(),
            process,
            busy: AtomicBool::new(false),
        };
        if spool.damaged > 0 {
            // The next line must not be glued to a torn one.
            spool.rewrite(&mut spool.disk())?;
        }
        Ok(spool)
    }

    /// Opens the spool of a dead worker, to send what it left.
    pub(super) fn take_over(folder: &Path) -> io::Result<Self> {
        let taking = durable::open_append(&folder.join(TAKING))?;
        taking.try_lock()?;
        Self::open_with(folder, Some(taking))
    }

    /// Tells whether somebody looks into it after the death of its worker, rather than its worker itself.
    pub(super) fn is_taken_over(folder: &Path) -> bool {
        let taking = durable::open_plain(&folder.join(TAKING));
        taking.is_ok_and(|taking| matches!(taking.try_lock(), Err(fs::TryLockError::WouldBlock)))
    }

    /// Removes the files of a spool that nothing waits in.
    pub(super) fn remove(&self) {
        // Only what is empty goes.
        forget_marks(&self.folder);
        for name in [NAME, TAKING, LOCK] {
            drop(fs::remove_file(self.folder.join(name)));
        }
        drop(fs::remove_dir(&self.folder));
    }

    /// Returns which process had it last as its own; nothing of an earlier version.
    pub(super) fn process(&self) -> &str {
        &self.process
    }

    /// From now on entries come all the time.
    pub(super) fn is_busy(&self) {
        self.busy.store(true, Ordering::Relaxed);
    }

    fn disk(&self) -> MutexGuard<'_, Disk> {
        self.disk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn queue(&self) -> MutexGuard<'_, VecDeque<Arc<SpoolEntry>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds an entry; when this returns it survives a power loss.
    pub fn add(&self, entry: SpoolEntry) -> io::Result<()> {
        let line = line(&entry)?;
        self.add_all(vec![(entry, line)])
    }

    /// Adds entries with their lines, in one piece: all of them, or none.
    pub(super) fn add_all(&self, entries: Vec<(SpoolEntry, Vec<u8>)>) -> io::Result<()> {
        let (entries, lines): (Vec<SpoolEntry>, Vec<Vec<u8>>) = entries.into_iter().unzip();
        let lines = lines.concat();
        let mut disk = self.disk();
        if disk.broken {
            return Err(io::Error::other(
                "the spool's disk failed before; nothing more is taken",
            ));
        }
        let before = self.length.load(Ordering::Relaxed);
        if self.busy.load(Ordering::Relaxed) {
            disk.reserve(before + lines.len() as u64);
        }
        let written = fault::io("spool.write").and_then(|()| disk.write_at(before, &lines));
        if let Err(error) = written {
            // A full disk may have taken half of it.
            disk.broken = disk.file.set_len(before).is_err();
            disk.reserved = 0;
            return Err(error);
        }
        if let Err(error) = disk.file.sync_data() {
            disk.broken = true;
            return Err(error);
        }
        self.length.fetch_add(lines.len() as u64, Ordering::Relaxed);
        self.queue().extend(entries.into_iter().map(Arc::new));
        Ok(())
    }

    /// Returns where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns what waits, oldest first.
    pub fn waiting(&self) -> Vec<Arc<SpoolEntry>> {
        self.queue().iter().cloned().collect()
    }

    /// Returns how many entries wait.
    pub fn len(&self) -> usize {
        self.queue().len()
    }

    /// Tells whether none waits.
    pub fn is_empty(&self) -> bool {
        self.queue().is_empty()
    }

    /// Returns how many lines could not be read when it was opened; they lie beside it as `spool.damaged`. None of them
    /// was acknowledged, unless the disk spoilt it later.
    pub fn damaged(&self) -> usize {
        self.damaged
    }

    /// Sends what waits, in order, and forgets what the server has. Stops at the first error; what was sent by then is
    /// not sent again in effect, because the server knows it by its attempt. `told` hears what became of each.
    pub fn replay(
        &self,
        connection: &mut Connection,
        told: &mut dyn FnMut(&SpoolEntry, Replayed),
    ) -> Result<usize, ReplayError> {
        let mut sent = 0;
        while !self.is_empty() {
            let some = self.first(usize::MAX);
            let (answers, failure) = send_some(connection, &some);
            for (entry, replayed) in some.iter().zip(&answers) {
                told(entry, *replayed);
            }
            sent += answers.len();
            let tidy = if failure.is_some() {
                Tidy::Whole
            } else {
                Tidy::Now
            };
            self.forget(answers.len(), tidy)
                .map_err(ReplayError::Disk)?;
            if let Some(error) = failure {
                return Err(ReplayError::Server(error));
            }
        }
        Ok(sent)
    }

    /// Returns the oldest entries, as many as one statement takes and no more than `most`.
    pub(super) fn first(&self, most: usize) -> Vec<Arc<SpoolEntry>> {
        let waiting = self.queue();
        let is_result = |entry: &&Arc<SpoolEntry>| matches!(***entry, SpoolEntry::Succeeded { .. });
        let results = waiting.iter().take(TOGETHER).take_while(is_result).count();
        let some = results.max(1).min(most);
        waiting.iter().take(some).cloned().collect()
    }

    /// Forgets the oldest entries: the server has them. What the file still says of them until it is written again or
    /// empty changes nothing when it is told again.
    pub(super) fn forget(&self, sent: usize, tidy: Tidy) -> io::Result<()> {
        self.queue().drain(..sent);
        let length = || self.length.load(Ordering::Relaxed);
        let mut disk = self.disk();
        let later = tidy == Tidy::Later && length() <= TIDY || tidy == Tidy::Whole && sent == 0;
        if later && !disk.broken {
            return Ok(());
        }
        if self.is_empty() && !disk.broken {
            if length() > 0 {
                disk.file.set_len(0)?;
                disk.reserved = 0;
                self.length.store(0, Ordering::Relaxed);
            }
            return Ok(());
        }
        if tidy == Tidy::Whole || disk.broken || length() > TIDY {
            return self.rewrite(&mut disk);
        }
        Ok(())
    }

    /// Puts the oldest entry beside the spool: the server refuses it, and nothing else may wait for that. Returns where.
    pub(super) fn refuse_first(&self) -> io::Result<PathBuf> {
        if let Some(entry) = self.first(1).first() {
            self.set_aside(entry)?;
            self.forget(1, Tidy::Now)?;
        }
        Ok(self.folder.join(REFUSED))
    }

    /// Keeps an entry beside the spool that the server refuses, durably. Returns where.
    pub(super) fn set_aside(&self, entry: &SpoolEntry) -> io::Result<PathBuf> {
        add_beside(&self.folder, REFUSED, &line(entry)?)?;
        Ok(self.folder.join(REFUSED))
    }

    fn rewrite(&self, disk: &mut Disk) -> io::Result<()> {
        let mut bytes = Vec::new();
        for entry in self.queue().iter() {
            bytes.extend(line(entry)?);
        }
        durable::replace(&self.path, &bytes, "spool")?;
        disk.file = durable::open_to_write(&self.path)?;
        disk.reserved = 0;
        self.length.store(bytes.len() as u64, Ordering::Relaxed);
        disk.broken = false;
        Ok(())
    }
}

impl Disk {
    fn write_at(&mut self, at: u64, bytes: &[u8]) -> io::Result<()> {
        self.file.seek(SeekFrom::Start(at))?;
        self.file.write_all(bytes)
    }

    /// Fills the file with zeros beyond `end`: a sync of what takes their place has no more to write than that. A disk
    /// without room for it may have some for the lines.
    fn reserve(&mut self, end: u64) {
        if end <= self.reserved {
            return;
        }
        let filled = self.write_at(end, &vec![0; RESERVE]);
        let filled = filled.and_then(|()| self.file.sync_all());
        self.reserved = if filled.is_ok() {
            end + RESERVE as u64
        } else {
            let _ = self.file.set_len(end);
            u64::MAX
        };
    }
}

/// Returns what says whose spool a folder is, with the name of the process.
fn marks(folder: &Path) -> Vec<(PathBuf, String)> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mark = |entry: fs::DirEntry| {
        let process = entry
            .file_name()
            .to_str()?
            .strip_prefix(PROCESS)?
            .to_owned();
        Some((entry.path(), process))
    };
    entries.filter_map(mark).collect()
}

fn forget_marks(folder: &Path) {
    for (path, _) in marks(folder) {
        drop(fs::remove_file(path));
    }
}

/// Returns what tells a folder of spools from those of other machines and containers.
pub(super) fn name_of(spools: &Path) -> io::Result<String> {
    let path = spools.join(PLACE);
    if !path.exists() {
        fs::create_dir_all(spools)?;
        let name = uuid::Uuid::new_v4().simple().to_string();
        let new = spools.join(format!("{PLACE}.{name}"));
        durable::replace(&new, name.as_bytes(), "new")?;
        if !platform::rename_no_replace(&new, &path)? {
            // Another worker starts at the same moment.
            fs::remove_file(&new)?;
        }
    }
    fs::read_to_string(path)
}

/// Returns the lines of a file without the room that was reserved for more.
fn without_reserve(bytes: &[u8]) -> &[u8] {
    let zeros = bytes.iter().rev().take_while(|byte| **byte == 0).count();
    &bytes[..bytes.len() - zeros]
}

/// Adds lines to a file beside the spool, durably.
fn add_beside(folder: &Path, name: &str, lines: &[u8]) -> io::Result<()> {
    let mut aside = durable::open_append(&folder.join(name))?;
    aside.write_all(lines)?;
    aside.sync_all()?;
    platform::sync_dir(folder)
}

/// Why a replay stopped.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// The server: the rest waits.
    #[error(transparent)]
    Server(PgError),
    /// The disk: what was sent may be told again, which changes nothing.
    #[error("cannot write the spool: {0}")]
    Disk(io::Error),
}

/// A line is a checksum, a blank, and JSON.
pub(super) fn line(entry: &SpoolEntry) -> io::Result<Vec<u8>> {
    let json = serde_json::to_string(entry)?;
    Ok(format!("{} {json}\n", checksum(json.as_bytes())).into_bytes())
}

/// Returns the entries, and the lines that are none.
fn read(bytes: &[u8]) -> (Vec<Arc<SpoolEntry>>, Vec<&[u8]>) {
    let mut entries = Vec::new();
    let mut damaged = Vec::new();
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        match entry_of(line) {
            Some(entry) => entries.push(Arc::new(entry)),
            None => damaged.push(line),
        }
    }
    (entries, damaged)
}

fn entry_of(line: &[u8]) -> Option<SpoolEntry> {
    let text = std::str::from_utf8(line.strip_suffix(b"\n")?).ok()?;
    let (sum, json) = text.split_once(' ')?;
    (sum == checksum(json.as_bytes()))
        .then(|| serde_json::from_str(json).ok())
        .flatten()
}

fn checksum(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes)[..8])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bought(id: &str) -> SpoolEntry {
        let hold = Hold {
            job_no: 1,
            number: 2,
            attempt_id: uuid::Uuid::nil(),
        };
        SpoolEntry::Submitted {
            hold,
            request_id: id.to_owned(),
            cost_micros: Some(3),
        }
    }

    #[test]
    fn what_was_added_is_there_after_a_restart() {
        let folder = tempfile::tempdir().expect("temp folder");
        let spool = Spool::open(folder.path()).expect("opened");
        spool.add(bought("a")).expect("added");
        spool.add(bought("b\n c")).expect("added");
        drop(spool);
        let spool = Spool::open(folder.path()).expect("opened");
        assert_eq!(
            spool.waiting(),
            [bought("a"), bought("b\n c")].map(Arc::new)
        );
        assert_eq!(spool.damaged(), 0);
    }

    #[test]
    fn a_torn_tail_is_passed_over_and_said_and_the_next_line_is_whole() {
        let folder = tempfile::tempdir().expect("temp folder");
        let spool = Spool::open(folder.path()).expect("opened");
        let _ = ["a", "b"].map(|name| spool.add(bought(name)).expect("added"));
        drop(spool);
        let path = folder.path().join(NAME);
        let whole = fs::read(&path).expect("readable");
        for cut in [1, 5, 40] {
            fs::write(&path, &whole[..whole.len() - cut]).expect("cut");
            let torn = fs::read(&path).expect("readable");
            let (entries, damaged) = read(&torn);
            assert_eq!((entries.len(), damaged.len()), (1, 1), "cut by {cut}");
            let spool = Spool::open(folder.path()).expect("opened");
            spool.add(bought("c")).expect("added");
            drop(spool);
            let spool = Spool::open(folder.path()).expect("opened");
            let whole = [bought("a"), bought("c")].map(Arc::new);
            assert_eq!(spool.waiting(), whole, "cut by {cut}");
        }
    }

    #[test]
    fn a_spool_has_one_owner() {
        let folder = tempfile::tempdir().expect("temp folder");
        let _owner = Spool::open(folder.path()).expect("opened");
        assert!(Spool::open(folder.path()).is_err());
    }
}
