//! The ledger is kept twice, byte for byte: `tables/budget.jsonl`, which people see
//! and may lose, and `runs/.budget/ledger.jsonl`. Whoever writes compares both first,
//! so that a copy that was removed, cut, emptied, edited or replaced by an older one
//! is noticed before money is promised, also by a process that has not spent yet.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::domain::budget::{Change, LedgerEntry};
use crate::domain::id::Nonce;
use crate::platform::{self, fault};
use crate::workspace::durable;
use crate::workspace::paths::Workspace;

use super::LedgerLock;

/// How much of what was read is compared again: the last line and more.
const TAIL: usize = 512;

/// Both copies, and how far they were read.
#[derive(Debug)]
pub(super) struct Pair {
    pub(super) ledger: PathBuf,
    double: PathBuf,
    read_to: u64,
    /// The last bytes of what was read.
    tail: Vec<u8>,
}

/// What the copies had to tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum News {
    /// Both say the same.
    Agree,
    /// There is no second copy yet.
    Alone,
    /// They differ from some line on.
    Differ,
}

/// The ledger as it is again after one copy was harmed.
pub(super) struct Repaired {
    pub(super) bytes: Vec<u8>,
    /// Lines that the ledger had lost.
    pub(super) lost: Vec<LedgerEntry>,
}

/// What a copy has beyond what was read of it.
enum Beyond {
    /// There is no such file.
    Missing,
    /// What was read is not in it any more.
    Lost,
    /// The rest of it.
    Rest(BufReader<File>),
}

impl Pair {
    pub(super) fn new(workspace: &Workspace) -> Self {
        Self {
            ledger: workspace.tables().join("budget.jsonl"),
            double: workspace.budget().join("ledger.jsonl"),
            read_to: 0,
            tail: Vec::new(),
        }
    }

    /// Tells whether nothing was read yet.
    pub(super) fn is_unread(&self) -> bool {
        self.read_to == 0
    }

    /// Hands the lines to `take` that were added to both, as far as they say the same.
    /// Without a second copy those of the ledger alone, which are not noted as read.
    pub(super) fn news(&mut self, take: &mut dyn FnMut(&[u8])) -> io::Result<News> {
        let (ledger, double) = (self.beyond(&self.ledger)?, self.beyond(&self.double)?);
        let (mut ledger, mut double) = match (ledger, double) {
            (Beyond::Rest(ledger), Beyond::Rest(double)) => (ledger, double),
            (Beyond::Missing, Beyond::Missing) if self.is_unread() => return Ok(News::Agree),
            (Beyond::Rest(mut ledger), Beyond::Missing) if self.is_unread() => {
                let mut line = Vec::new();
                while ledger.read_until(b'\n', &mut line)? > 0 {
                    take(&line);
                    line.clear();
                }
                return Ok(News::Alone);
            }
            _ => return Ok(News::Differ),
        };
        let (mut here, mut there) = (Vec::new(), Vec::new());
        loop {
            here.clear();
            there.clear();
            ledger.read_until(b'\n', &mut here)?;
            double.read_until(b'\n', &mut there)?;
            if here != there || !ends_line(&here) {
                return Ok(News::Differ);
            }
            if here.is_empty() {
                return Ok(News::Agree);
            }
            take(&here);
            self.advance(&here);
        }
    }

    /// Notes that these lines were read, or written.
    fn advance(&mut self, lines: &[u8]) {
        self.read_to += lines.len() as u64;
        self.tail.extend(&lines[lines.len().saturating_sub(TAIL)..]);
        let surplus = self.tail.len().saturating_sub(TAIL);
        self.tail.drain(..surplus);
    }

    /// Forgets what was read, to read it again.
    pub(super) fn rewind(&mut self) {
        self.read_to = 0;
        self.tail.clear();
    }

    /// Returns what a copy has beyond what was read.
    fn beyond(&self, path: &Path) -> io::Result<Beyond> {
        let mut file = match durable::open_plain(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Beyond::Missing),
            Err(error) => return Err(error),
        };
        file.seek(SeekFrom::Start(self.read_to - self.tail.len() as u64))?;
        let mut tail = Vec::new();
        let mut reader = BufReader::with_capacity(1 << 16, file);
        (&mut reader)
            .take(self.tail.len() as u64)
            .read_to_end(&mut tail)?;
        Ok(if tail == self.tail {
            Beyond::Rest(reader)
        } else {
            Beyond::Lost
        })
    }

    /// Returns how much was read, and its last bytes.
    pub(super) fn end(&self) -> (u64, &[u8]) {
        (self.read_to, &self.tail)
    }

    /// Returns the last bytes of the ledger's first `length`; nothing if it is shorter.
    pub(super) fn end_at(&self, length: u64) -> io::Result<Option<Vec<u8>>> {
        let mut file = match durable::open_plain(&self.ledger) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok((length == 0).then(Vec::new));
            }
            Err(error) => return Err(error),
        };
        let start = length.saturating_sub(TAIL as u64);
        file.seek(SeekFrom::Start(start))?;
        let mut tail = Vec::new();
        file.take(length - start).read_to_end(&mut tail)?;
        Ok((tail.len() as u64 == length - start).then_some(tail))
    }

    /// Puts both together as they must have been; writes nothing. An error means that
    /// both have lost what was read before.
    pub(super) fn put_together(&self) -> io::Result<Repaired> {
        let knows = |path| Ok::<_, io::Error>(matches!(self.beyond(path)?, Beyond::Rest(_)));
        if !self.is_unread() && !knows(&self.ledger)? && !knows(&self.double)? {
            return Err(io::Error::other(
                "it and its copy in runs/.budget were removed or replaced by older ones while \
                 this worker spent money; the next start writes them again from the journals",
            ));
        }
        let ledger = read(&self.ledger)?.unwrap_or_default();
        let Some(double) = read(&self.double)? else {
            // As earlier versions left it: there is nothing to compare it with.
            let mut bytes = ledger;
            end_line(&mut bytes);
            let lost = Vec::new();
            return Ok(Repaired { bytes, lost });
        };
        let (in_ledger, in_double): (HashSet<&[u8]>, HashSet<&[u8]>) =
            (lines(&ledger).collect(), lines(&double).collect());
        // Lines that only the ledger has: changed afterwards, or added by hand or by an
        // earlier version.
        let mut only_here: Vec<(LedgerEntry, &[u8])> = lines(&ledger)
            .filter(|line| !in_double.contains(line))
            .filter_map(|line| Some((parse(line)?, line)))
            .collect();
        let changed: HashMap<(Nonce, bool), (f64, &[u8])> = only_here
            .iter()
            .map(|(entry, line)| (key(entry), (usd(entry), *line)))
            .collect();
        let (mut bytes, mut lost) = (Vec::with_capacity(double.len()), Vec::new());
        let mut told: HashSet<(Nonce, bool)> = HashSet::new();
        for line in lines(&double) {
            let entry = parse(line);
            let mut right = line;
            if let Some(entry) = entry.as_ref().filter(|_| !in_ledger.contains(line)) {
                // Of two that tell different sums nobody knows which was changed.
                if let Some((more, other)) = changed.get(&key(entry))
                    && *more > usd(entry)
                {
                    right = other;
                }
                lost.push(entry.clone());
            }
            told.extend(entry.as_ref().map(key));
            bytes.extend_from_slice(right);
            bytes.push(b'\n');
        }
        only_here.retain(|(entry, _)| told.insert(key(entry)));
        for (_, line) in only_here {
            bytes.extend_from_slice(line);
            bytes.push(b'\n');
        }
        Ok(Repaired { bytes, lost })
    }

    /// Writes both copies anew.
    pub(super) fn rewrite(&mut self, lock: &LedgerLock, bytes: &[u8]) -> io::Result<()> {
        let tag = format!("{}-{}", std::process::id(), uuid::Uuid::new_v4().simple());
        self.make_folder()?;
        for path in [&self.double, &self.ledger] {
            let same = read(path)?.map_or(bytes.is_empty(), |found| found == bytes);
            if !same {
                durable::sweep_temporaries(path, &lock.0)?;
                durable::replace(path, bytes, &tag)?;
            }
            fault::here("ledger.rewritten");
        }
        self.rewind();
        self.advance(bytes);
        Ok(())
    }

    /// Appends one line to both, which agree and were read to their ends; returns the
    /// ledger, still open.
    pub(super) fn append(&mut self, _lock: &LedgerLock, line: &[u8]) -> io::Result<File> {
        let created = !self.ledger.exists();
        if self.is_unread() {
            self.make_folder()?;
        }
        let mut double = durable::open_append(&self.double)?;
        fault::io("ledger.doubling")?;
        double.write_all(line)?;
        let mut file = durable::open_append(&self.ledger)?;
        fault::io("ledger.appending")?;
        file.write_all(line)?;
        fault::io("ledger.appended")?;
        if created && let Some(folder) = self.ledger.parent() {
            platform::sync_dir(folder)?;
        }
        self.advance(line);
        Ok(file)
    }

    fn make_folder(&self) -> io::Result<()> {
        match self.double.parent() {
            Some(folder) => fs::create_dir_all(folder),
            None => Ok(()),
        }
    }
}

/// Which attempt a line is about, and whether it ends its money.
fn key(entry: &LedgerEntry) -> (Nonce, bool) {
    let settles = matches!(entry.change, Change::Settled { .. });
    (entry.attempt_key.nonce.clone(), settles)
}

fn usd(entry: &LedgerEntry) -> f64 {
    match entry.change {
        Change::Reserved { usd } | Change::Settled { usd } => usd,
    }
}

fn parse(line: &[u8]) -> Option<LedgerEntry> {
    serde_json::from_slice(line).ok()
}

fn read(path: &Path) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    match durable::open_plain(path) {
        Ok(mut file) => file.read_to_end(&mut bytes)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    Ok(Some(bytes))
}

/// Returns the whole lines; a torn last one is not there yet.
fn whole(bytes: &[u8]) -> &[u8] {
    let end = memchr::memrchr(b'\n', bytes);
    &bytes[..end.map_or(0, |at| at + 1)]
}

fn ends_line(bytes: &[u8]) -> bool {
    bytes.last().is_none_or(|last| *last == b'\n')
}

fn end_line(bytes: &mut Vec<u8>) {
    if !ends_line(bytes) {
        bytes.push(b'\n');
    }
}

fn lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let lines = whole(bytes).split(|byte| *byte == b'\n');
    lines.filter(|line| !line.is_empty())
}
