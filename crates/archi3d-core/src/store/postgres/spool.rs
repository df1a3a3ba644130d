//! What could not be sent to the server yet, on the worker's own disk.
//!
//! One file of JSON lines, each with a checksum, all synced before anybody who wrote one goes on. Lines are replayed in order
//! and count exactly once: an ending that the server has already is found by its attempt. What cannot be written is an error: the
//! caller buys nothing new then. A line that was cut short by a power loss was never acknowledged and is passed over.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::buying;
use super::claim::Hold;
use super::connect::Connection;
use super::ending::{self, Became, Ended, Failure, Published, PutOff, Release, Success};
use super::error::{PgError, PgResult};
use super::money::{self, Settled};
use crate::domain::money::Usd;
use crate::domain::text::hex;
use crate::platform;
use crate::workspace::durable;

/// One thing to tell the server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum Entry {
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

impl Entry {
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

/// A folder's spool. One process at a time has it open.
#[derive(Debug)]
pub struct Spool {
    path: PathBuf,
    file: File,
    /// Held for life; the file of lines itself is replaced now and then.
    _lock: File,
    waiting: Vec<Arc<Entry>>,
    damaged: usize,
    /// After a failed sync nobody knows what the disk has: nothing more is taken.
    broken: bool,
}

/// More than this is no spool.
const LONGEST: u64 = 1 << 30;

/// A file with more than this is written anew without what was sent.
const TIDY: u64 = 8 << 20;

/// So many results are sent in one statement.
const TOGETHER: usize = 500;

const NAME: &str = "spool.jsonl";

const LOCK: &str = "spool.lock";

const DAMAGED: &str = "spool.damaged";

impl Spool {
    /// Opens the spool of a folder, which is made if needed, and reads what waits in it.
    pub fn open(folder: &Path) -> io::Result<Self> {
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
        let path = folder.join(NAME);
        let file = durable::open_append(&path)?;
        platform::sync_dir(folder)?;
        let bytes = durable::read_plain(&path, LONGEST)?;
        let (waiting, damaged) = read(&bytes);
        if !damaged.is_empty() {
            // Most likely a line that nobody was told of; but it may hold what somebody paid for.
            let mut aside = durable::open_append(&folder.join(DAMAGED))?;
            aside.write_all(&damaged.concat())?;
            aside.sync_all()?;
        }
        let mut spool = Self {
            path,
            file,
            _lock: lock,
            waiting,
            damaged: damaged.len(),
            broken: false,
        };
        if spool.damaged > 0 {
            // The next line must not be glued to a torn one.
            spool.rewrite()?;
        }
        Ok(spool)
    }

    /// Adds an entry; when this returns it survives a power loss.
    pub fn add(&mut self, entry: Entry) -> io::Result<()> {
        let line = line(&entry)?;
        self.add_all(vec![(entry, line)])
    }

    /// Adds entries with their lines, in one piece: all of them, or none.
    pub(super) fn add_all(&mut self, entries: Vec<(Entry, Vec<u8>)>) -> io::Result<()> {
        if self.broken {
            return Err(io::Error::other(
                "the spool's disk failed before; nothing more is taken",
            ));
        }
        let before = self.file.metadata()?.len();
        let (entries, lines): (Vec<Entry>, Vec<Vec<u8>>) = entries.into_iter().unzip();
        if let Err(error) = self.file.write_all(&lines.concat()) {
            // A full disk may have taken half of it.
            self.broken = self.file.set_len(before).is_err();
            return Err(error);
        }
        if let Err(error) = self.file.sync_data() {
            self.broken = true;
            return Err(error);
        }
        self.waiting.extend(entries.into_iter().map(Arc::new));
        Ok(())
    }

    /// Returns where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns what waits, oldest first.
    pub fn waiting(&self) -> &[Arc<Entry>] {
        &self.waiting
    }

    /// Returns how many lines could not be read when it was opened; they lie beside it as `spool.damaged`. None of them
    /// was acknowledged, unless the disk spoilt it later.
    pub fn damaged(&self) -> usize {
        self.damaged
    }

    /// Sends what waits, in order, and forgets what the server has. Stops at the first error; what was sent by then is
    /// not sent again in effect, because the server knows it by its attempt. `told` hears what became of each.
    pub fn replay(
        &mut self,
        connection: &mut Connection,
        told: &mut dyn FnMut(&Entry, Replayed),
    ) -> Result<usize, ReplayError> {
        let mut sent = 0;
        while !self.waiting.is_empty() {
            let some = self.first(self.waiting.len());
            let (answers, failure) = send_some(connection, &some);
            for (entry, replayed) in some.iter().zip(&answers) {
                told(entry, *replayed);
            }
            sent += answers.len();
            let cut_short = failure.is_some();
            self.forget(answers.len(), cut_short)
                .map_err(ReplayError::Disk)?;
            if let Some(error) = failure {
                return Err(ReplayError::Server(error));
            }
        }
        Ok(sent)
    }

    /// Returns the oldest entries, as many as one statement takes and no more than `most`.
    pub(super) fn first(&self, most: usize) -> Vec<Arc<Entry>> {
        let is_result = |entry: &&Arc<Entry>| matches!(***entry, Entry::Succeeded { .. });
        let results = self.waiting.iter().take_while(is_result).count();
        let some = results.clamp(1, TOGETHER).min(most);
        self.waiting.iter().take(some).cloned().collect()
    }

    /// Forgets the oldest entries: the server has them. What the file still says of them until it is written anew or
    /// empty changes nothing when it is told again.
    pub(super) fn forget(&mut self, sent: usize, tidy: bool) -> io::Result<()> {
        if sent == 0 {
            return Ok(());
        }
        self.waiting.drain(..sent);
        if self.waiting.is_empty() && !self.broken {
            return self.file.set_len(0);
        }
        if tidy || self.broken || self.file.metadata()?.len() > TIDY {
            return self.rewrite();
        }
        Ok(())
    }

    fn rewrite(&mut self) -> io::Result<()> {
        let mut bytes = Vec::new();
        for entry in &self.waiting {
            bytes.extend(line(entry)?);
        }
        durable::replace(&self.path, &bytes, "spool")?;
        self.file = durable::open_append(&self.path)?;
        self.broken = false;
        Ok(())
    }
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

/// Sends what [`Spool::first`] gave; answers for as many as were sent, and says what stopped it.
pub(super) fn send_some(
    connection: &mut Connection,
    some: &[Arc<Entry>],
) -> (Vec<Replayed>, Option<PgError>) {
    let success = |entry: &Arc<Entry>| match &**entry {
        Entry::Succeeded { success } => Some(success.clone()),
        _ => None,
    };
    let results: Vec<Success> = some.iter().filter_map(success).collect();
    let answers = match some {
        [one] if results.is_empty() => send(connection, one).map(|answer| vec![answer]),
        _ => ending::succeed(connection, &results)
            .map(|answers| answers.into_iter().map(of_published).collect()),
    };
    match answers {
        Ok(answers) => (answers, None),
        Err(error) => (Vec::new(), Some(error)),
    }
}

fn of_published(published: Published) -> Replayed {
    match published {
        Published::Yes | Published::Adopted => Replayed::Sent,
        Published::Already => Replayed::Already,
        Published::Fenced => Replayed::Fenced,
    }
}

/// Sends one entry; whoever sends it twice changes nothing.
fn send(connection: &mut Connection, entry: &Entry) -> PgResult<Replayed> {
    match entry {
        Entry::Submitted {
            hold,
            request_id,
            cost_micros,
        } => {
            let cost = cost_micros.map(Usd::from_micros);
            buying::submitted(connection, hold, request_id, cost).map(|_| Replayed::Sent)
        }
        Entry::Succeeded { success } => {
            let answers = ending::succeed(connection, std::slice::from_ref(success))?;
            let answer = answers.first().copied();
            Ok(of_published(answer.unwrap_or(Published::Fenced)))
        }
        Entry::Failed { failure } => unless_over(connection, &failure.hold, |connection| {
            ending::fail(connection, failure)
        }),
        Entry::PutOff { setback } => unless_over(connection, &setback.hold, |connection| {
            ending::put_off(connection, setback)
        }),
        Entry::Released { hold, how } => {
            let back = ending::release(connection, &[*hold], how)?;
            Ok(if back.is_empty() {
                Replayed::Already
            } else {
                Replayed::Sent
            })
        }
        Entry::Raised { hold, micros } => {
            let raised = money::raise(connection, hold, Usd::from_micros(*micros))?;
            Ok(if raised {
                Replayed::Sent
            } else {
                Replayed::Fenced
            })
        }
        Entry::Settled { hold, micros } => {
            let settled = money::settle(connection, hold, Usd::from_micros(*micros), false)?;
            Ok(if settled == Settled::Before {
                Replayed::Already
            } else {
                Replayed::Sent
            })
        }
    }
}

fn unless_over(
    connection: &mut Connection,
    hold: &Hold,
    end: impl FnOnce(&mut Connection) -> PgResult<Ended>,
) -> PgResult<Replayed> {
    let known = ending::became(connection, &[*hold])?;
    if matches!(known.get(hold), Some(Became::Over | Became::Succeeded)) {
        return Ok(Replayed::Already);
    }
    Ok(if end(connection)? == Ended::Fenced {
        Replayed::Fenced
    } else {
        Replayed::Sent
    })
}

/// A line is a checksum, a blank, and JSON.
pub(super) fn line(entry: &Entry) -> io::Result<Vec<u8>> {
    let json = serde_json::to_string(entry)?;
    Ok(format!("{} {json}\n", checksum(json.as_bytes())).into_bytes())
}

/// Returns the entries, and the lines that are none.
fn read(bytes: &[u8]) -> (Vec<Arc<Entry>>, Vec<&[u8]>) {
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

fn entry_of(line: &[u8]) -> Option<Entry> {
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

    fn bought(id: &str) -> Entry {
        let hold = Hold {
            job_no: 1,
            number: 2,
            attempt_id: uuid::Uuid::nil(),
        };
        Entry::Submitted {
            hold,
            request_id: id.to_owned(),
            cost_micros: Some(3),
        }
    }

    #[test]
    fn what_was_added_is_there_after_a_restart() {
        let folder = tempfile::tempdir().expect("temp folder");
        let mut spool = Spool::open(folder.path()).expect("opened");
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
        let mut spool = Spool::open(folder.path()).expect("opened");
        spool.add(bought("a")).expect("added");
        spool.add(bought("b")).expect("added");
        drop(spool);
        let path = folder.path().join(NAME);
        let whole = fs::read(&path).expect("readable");
        for cut in [1, 5, 40] {
            fs::write(&path, &whole[..whole.len() - cut]).expect("cut");
            let torn = fs::read(&path).expect("readable");
            let (entries, damaged) = read(&torn);
            assert_eq!((entries.len(), damaged.len()), (1, 1), "cut by {cut}");
            let mut spool = Spool::open(folder.path()).expect("opened");
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
