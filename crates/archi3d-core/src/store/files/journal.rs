//! One append-only file per worker process: what it did, in order.
//!
//! The journal is the write-ahead log (a `finished` line makes a result safe),
//! the ledger of attempts, and the proof of life: its process holds an
//! exclusive lock on it from before the file has a name until it dies.

use std::borrow::Cow;
use std::fs;
use std::io::{self, BufRead, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

use crate::domain::content::ContentKey;
use crate::domain::id::{JobId, Nonce, WorkerId};
use crate::domain::job::Entry;
use crate::domain::patch::{Patch, WorkerFacts};
use crate::domain::purchase::{OpenIntent, PurchaseEnd};
use crate::domain::retry::ErrorClass;
use crate::domain::time::Timestamp;
use crate::platform::fault;
use crate::store::{Artifact, Made, Progress, ReleaseReason};
use crate::workspace::durable;

use super::marker::Pulse;

/// One line of a journal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Line {
    pub(super) at: Timestamp,
    #[serde(flatten)]
    pub(super) what: What,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub(super) enum What {
    Opened {
        v: u32,
        worker_id: WorkerId,
        pid: u32,
        boot_id: String,
        worker: WorkerFacts,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pulse: Option<Pulse>,
    },
    Claimed {
        job_id: JobId,
        attempt: u32,
        nonce: Nonce,
        entry: Entry,
        /// The purchase that the attempt is to re-attach to.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        resumes: Option<String>,
        /// Whether nothing is bought.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        rehearsal: bool,
    },
    /// Something is about to be bought.
    Intent {
        job_id: JobId,
        attempt: u32,
        nonce: Nonce,
        correlation: String,
        /// How many purchases of the job were over.
        #[serde(default, skip_serializing_if = "is_zero")]
        purchases: u32,
    },
    Submitted {
        job_id: JobId,
        attempt: u32,
        nonce: Nonce,
        request_id: String,
        cost_usd: Option<f64>,
        /// How many purchases of the job were over.
        #[serde(default, skip_serializing_if = "is_zero")]
        purchases: u32,
    },
    /// The adapter said that it succeeded; nothing of it is checked yet.
    Made(Box<MadeLine>),
    Finished(Box<Finished>),
    Released {
        job_id: JobId,
        attempt: u32,
        nonce: Nonce,
        reason: ReleaseReason,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        class: Option<ErrorClass>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
        /// Whether nobody can say what the attempt bought.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        cut_off: bool,
        /// What it means for the job's purchase, of which so many are over then.
        #[serde(default, skip_serializing_if = "PurchaseEnd::is_open")]
        purchase: PurchaseEnd,
        #[serde(default, skip_serializing_if = "is_zero")]
        purchases: u32,
        /// What the attempt cost all the same.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cost_usd: Option<f64>,
    },
    Cancelled {
        job_id: JobId,
        attempt: u32,
        nonce: Nonce,
    },
    Fenced {
        job_id: JobId,
        attempt: u32,
        nonce: Nonce,
    },
    /// How far the holder says it is; for people, nothing is decided by it.
    Progress {
        job_id: JobId,
        nonce: Nonce,
        fraction: f64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<String>,
    },
    Folded {
        rows: usize,
    },
    Closed {
        by: WorkerId,
    },
    /// A line of a later version; kept, not understood.
    #[serde(other)]
    Other,
}

/// The beginning of every line.
#[derive(Deserialize)]
struct Head<'a> {
    at: Timestamp,
    #[serde(borrow)]
    event: Cow<'a, str>,
}

impl Line {
    /// Reads a line. Most of a journal are two large kinds, which are read at once: a
    /// parser that does not know the kind has to keep everything until it does.
    pub(super) fn parse(raw: &[u8]) -> serde_json::Result<Self> {
        let head = Head::at_a_glance(raw);
        let Head { at, event } = head.map_or_else(|| serde_json::from_slice(raw), Ok)?;
        let what = match &*event {
            "made" => What::Made(serde_json::from_slice(raw)?),
            "finished" => What::Finished(serde_json::from_slice(raw)?),
            _ => serde_json::from_slice(raw)?,
        };
        Ok(Self { at, what })
    }
}

impl<'a> Head<'a> {
    /// Reads the beginning of a line as we write it, without looking at the rest.
    fn at_a_glance(raw: &'a [u8]) -> Option<Self> {
        let (at, rest) = up_to_quote(raw.strip_prefix(br#"{"at":""#)?)?;
        let (event, _) = up_to_quote(rest.strip_prefix(br#","event":""#)?)?;
        Some(Self {
            at: Timestamp::parse(at)?,
            event: Cow::Borrowed(event),
        })
    }
}

/// Splits plain text at the quote that ends it.
fn up_to_quote(raw: &[u8]) -> Option<(&str, &[u8])> {
    let (text, rest) = raw.split_at_checked(memchr::memchr(b'"', raw)?)?;
    let text = str::from_utf8(text).ok()?;
    (!text.contains('\\')).then_some((text, &rest[1..]))
}

impl What {
    /// Returns the attempt this is about, and whether it ends it.
    pub(super) fn attempt(&self) -> Option<(&Nonce, bool)> {
        match self {
            Self::Claimed { nonce, .. }
            | Self::Intent { nonce, .. }
            | Self::Submitted { nonce, .. } => Some((nonce, false)),
            Self::Made(made) => Some((&made.nonce, false)),
            Self::Finished(finished) => Some((&finished.nonce, true)),
            Self::Released { nonce, .. }
            | Self::Cancelled { nonce, .. }
            | Self::Fenced { nonce, .. } => Some((nonce, true)),
            _ => None,
        }
    }

    /// Returns whether this leaves `job` with its worker; nothing if it is about
    /// something else.
    pub(super) fn about(&self, job: &JobId) -> Option<bool> {
        match self {
            Self::Made(made) => (made.job_id == *job).then_some(true),
            Self::Claimed { job_id, .. }
            | Self::Intent { job_id, .. }
            | Self::Submitted { job_id, .. } => (job_id == job).then_some(true),
            Self::Finished(finished) => (finished.job_id == *job).then_some(true),
            Self::Released { job_id, .. }
            | Self::Cancelled { job_id, .. }
            | Self::Fenced { job_id, .. } => (job_id == job).then_some(false),
            _ => None,
        }
    }
}

/// What an attempt made; enough to check and publish it from its staging folder.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct MadeLine {
    pub(super) job_id: JobId,
    pub(super) attempt: u32,
    pub(super) nonce: Nonce,
    pub(super) entry: Entry,
    pub(super) claimed_at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) request_id: Option<String>,
    #[serde(default)]
    pub(super) purchases: u32,
    /// The staging folder's name.
    pub(super) staging: String,
    pub(super) result: Made,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the signature that serde asks for"
)]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// How an attempt ended; enough to publish it again from nothing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Finished {
    pub(super) job_id: JobId,
    pub(super) attempt: u32,
    pub(super) nonce: Nonce,
    pub(super) entry: Entry,
    pub(super) claimed_at: Timestamp,
    pub(super) completed: bool,
    #[serde(default)]
    pub(super) simulated: bool,
    pub(super) patch: Patch,
    #[serde(default)]
    pub(super) outputs: Vec<Artifact>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) class: Option<ErrorClass>,
    /// Whether nobody can say what the attempt bought.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) cut_off: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) error_text: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) request_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) intent: Option<OpenIntent>,
    /// What a failure means for the job's purchase; done already in what is said here.
    #[serde(default, skip_serializing_if = "PurchaseEnd::is_open")]
    pub(super) purchase: PurchaseEnd,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) cost_usd: Option<f64>,
    /// What a real result was made from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) content_key: Option<ContentKey>,
    #[serde(default)]
    pub(super) purchases: u32,
    /// The staging folder's name.
    pub(super) staging: String,
}

pub(super) fn encode(line: &Line) -> Vec<u8> {
    let mut bytes = serde_json::to_vec(line).expect("a line has only plain fields");
    bytes.push(b'\n');
    bytes
}

/// Another process's journal, found in the folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) path: PathBuf,
    pub(super) worker_id: WorkerId,
}

/// Lists the journals of a run that are not closed, by name.
pub(super) fn unclosed(folder: &Path) -> io::Result<Vec<Found>> {
    let mut open = Vec::new();
    for found in all(folder)? {
        if !is_closed(&found.path)? {
            open.push(found);
        }
    }
    Ok(open)
}

/// Lists every journal of a run, by name.
pub(super) fn all(folder: &Path) -> io::Result<Vec<Found>> {
    let mut found = Vec::new();
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(found),
        Err(error) => return Err(error),
    };
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name();
        let Some(stem) = name.to_str().and_then(|name| name.strip_suffix(".jsonl")) else {
            continue;
        };
        let Ok(worker_id) = WorkerId::parse(stem) else {
            continue;
        };
        let path = entry.path();
        if entry.file_type()?.is_file() {
            found.push(Found { path, worker_id });
        }
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}

/// Tells whether the last whole line says `closed`, by reading only the end.
fn is_closed(path: &Path) -> io::Result<bool> {
    const TAIL: u64 = 512;
    let mut file = durable::open_plain(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL)))?;
    let mut tail = Vec::new();
    file.take(TAIL).read_to_end(&mut tail)?;
    let Some(text) = tail.strip_suffix(b"\n") else {
        return Ok(false);
    };
    let start = text
        .iter()
        .rposition(|byte| *byte == b'\n')
        .map_or(0, |at| at + 1);
    let line = Line::parse(&text[start..]).ok();
    Ok(matches!(
        line.map(|line| line.what),
        Some(What::Closed { .. })
    ))
}

/// Reads every line that can be understood; a torn last line is left out.
/// Returns also how many other lines could not be read.
pub(super) fn read(path: &Path) -> io::Result<(Vec<Line>, usize)> {
    let mut lines = Vec::new();
    let unread = each_line(path, |line| lines.push(line))?;
    Ok((lines, unread.damaged))
}

/// What of a journal could not be read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Unread {
    /// How many whole lines.
    pub(super) damaged: usize,
    /// Whether the last line was never finished.
    pub(super) torn: bool,
}

/// Hands every line that can be understood to `take`, one at a time: a journal may be
/// larger than what a machine can hold.
pub(super) fn each_line(path: &Path, mut take: impl FnMut(Line)) -> io::Result<Unread> {
    let read = |lines: &[&[u8]]| {
        lines
            .iter()
            .map(|line| Understood::of(line, None, &|_| true))
            .collect()
    };
    each_of(path, 1, &read, &mut |_, line| take(line))
}

/// Does what [`each_line`] does on all cores, and tells where in the file each line begins.
/// `events` names those that are wanted, or nothing where all are: others are not taken
/// apart. `keep` says which lines are, and may empty what is not wanted of them: what leaves
/// the thread that made it costs twice as much.
///
/// Not for a thread that works on jobs: while it waits it would begin another one.
pub(super) fn each_line_at(
    path: &Path,
    events: Option<&[&str]>,
    keep: impl Fn(&mut What) -> bool + Sync,
    mut take: impl FnMut(u64, Line),
) -> io::Result<Unread> {
    const PIECE: usize = 1 << 19;
    let read = |lines: &[&[u8]]| {
        let lines = lines.par_iter().with_min_len(16);
        lines
            .map(|line| Understood::of(line, events, &keep))
            .collect()
    };
    each_of(path, PIECE, &read, &mut take)
}

/// What became of a line.
#[expect(
    clippy::large_enum_variant,
    reason = "nearly all are wanted, and a box for each costs more than the room"
)]
enum Understood {
    Wanted(Line),
    Unwanted,
    Damaged,
}

impl Understood {
    fn of(raw: &[u8], events: Option<&[&str]>, keep: &dyn Fn(&mut What) -> bool) -> Self {
        if let (Some(events), Some(head)) = (events, Head::at_a_glance(raw))
            && !events.contains(&&*head.event)
        {
            let whole = serde_json::from_slice::<IgnoredAny>(raw);
            return whole.map_or(Self::Damaged, |_| Self::Unwanted);
        }
        match Line::parse(raw) {
            Ok(mut line) => {
                if keep(&mut line.what) {
                    Self::Wanted(line)
                } else {
                    Self::Unwanted
                }
            }
            Err(_) if raw == b"\n" => Self::Unwanted,
            Err(_) => Self::Damaged,
        }
    }
}

/// Reads a journal by pieces of about this many bytes, at least one line.
fn each_of(
    path: &Path,
    piece_size: usize,
    read: &dyn Fn(&[&[u8]]) -> Vec<Understood>,
    take: &mut dyn FnMut(u64, Line),
) -> io::Result<Unread> {
    let mut reader = io::BufReader::with_capacity(1 << 16, durable::open_plain(path)?);
    let mut unread = Unread::default();
    let mut piece = Vec::new();
    let mut start = 0;
    loop {
        piece.clear();
        while piece.len() < piece_size && reader.read_until(b'\n', &mut piece)? > 0 {}
        if piece.is_empty() {
            return Ok(unread);
        }
        let whole = memchr::memrchr(b'\n', &piece).map_or(0, |at| at + 1);
        // Room that is kept free may read as zeros.
        unread.torn = piece[whole..].iter().any(|byte| *byte != 0);
        let lines: Vec<&[u8]> = piece[..whole]
            .split_inclusive(|byte| *byte == b'\n')
            .collect();
        for (line, read) in lines.iter().zip(read(&lines)) {
            match read {
                Understood::Wanted(line) => take(start, line),
                Understood::Unwanted => {}
                Understood::Damaged => unread.damaged += 1,
            }
            start += line.len() as u64;
        }
        if whole < piece.len() {
            return Ok(unread);
        }
    }
}

/// Reads single lines of journals by where they begin; quick where they follow each other.
#[derive(Debug, Default)]
pub(super) struct LineReader {
    open: Option<(PathBuf, io::BufReader<fs::File>, u64)>,
}

impl LineReader {
    /// Returns the line that begins at `start`.
    pub(super) fn line(&mut self, path: &Path, start: u64) -> io::Result<Line> {
        let (reader, position) = match &mut self.open {
            Some((of, reader, position)) if of == path => (reader, position),
            open => {
                let reader = io::BufReader::with_capacity(1 << 16, durable::open_plain(path)?);
                let (_, reader, position) = open.insert((path.to_owned(), reader, 0));
                (reader, position)
            }
        };
        reader.seek_relative(start.cast_signed() - position.cast_signed())?;
        let mut raw = Vec::new();
        *position = start + reader.read_until(b'\n', &mut raw)? as u64;
        Ok(Line::parse(&raw)?)
    }
}

/// Returns how far the attempt with this nonce said it is, by reading only the
/// end of its worker's journal: the latest beat is there.
pub(super) fn last_progress(path: &Path, nonce: &Nonce) -> io::Result<Option<Progress>> {
    const TAIL: u64 = 128 * 1024;
    let mut file = durable::open_plain(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL)))?;
    let mut tail = Vec::new();
    file.take(TAIL).read_to_end(&mut tail)?;
    let lines = tail.split(|byte| *byte == b'\n').rev();
    let found = lines
        .filter(|line| memchr::memmem::find(line, nonce.as_str().as_bytes()).is_some())
        .find_map(|line| match Line::parse(line).ok()?.what {
            What::Progress {
                nonce: of,
                fraction,
                message,
                ..
            } if of == *nonce => Some(Progress { fraction, message }),
            _ => None,
        });
    Ok(found)
}

/// Appends `closed` to a dead worker's journal, ending a torn line first.
pub(super) fn mark_closed(path: &Path, by: &WorkerId, at: Timestamp) -> io::Result<()> {
    let mut file = durable::open_append(path)?;
    let length = file.metadata()?.len();
    let mut last = [b'\n'];
    if length > 0 {
        file.seek(SeekFrom::Start(length - 1))?;
        file.read_exact(&mut last)?;
    }
    let mut bytes = Vec::new();
    if last != *b"\n" {
        bytes.push(b'\n');
    }
    fault::io("journal.closing")?;
    let what = What::Closed { by: by.clone() };
    bytes.extend(encode(&Line { at, what }));
    file.write_all(&bytes)?;
    fault::here("journal.closed");
    // What the dead worker had kept free is free again.
    file.set_len(length + bytes.len() as u64)?;
    file.sync_data()
}

#[cfg(test)]
mod tests {
    use super::super::pen::Journal;
    use super::*;

    fn now() -> Timestamp {
        Timestamp::parse("2026-01-01T00:00:00Z").unwrap()
    }

    fn worker() -> WorkerId {
        WorkerId::parse("w-1-x").unwrap()
    }

    #[test]
    fn a_torn_last_line_is_left_out_and_a_damaged_one_is_counted() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("w-1-x.jsonl");
        let journal = Journal::create(path.clone()).unwrap();
        journal.append(now(), What::Folded { rows: 1 }).unwrap();
        drop(journal);
        let mut file = durable::open_append(&path).unwrap();
        file.write_all(
            b"not json\n{\"at\":\"2026-01-01T00:00:00Z\",\"event\":\"later\",\"x\":1}\n{\"at\":",
        )
        .unwrap();
        let (lines, damaged) = read(&path).unwrap();
        assert_eq!(lines.len(), 2);
        assert_eq!(lines[1].what, What::Other);
        assert_eq!(damaged, 1);
    }

    #[test]
    fn only_journals_without_a_closing_line_are_listed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("w-1-x.jsonl");
        let journal = Journal::create(path.clone()).unwrap();
        journal.append(now(), What::Folded { rows: 1 }).unwrap();
        drop(journal);
        assert_eq!(unclosed(folder.path()).unwrap().len(), 1);
        mark_closed(&path, &worker(), now()).unwrap();
        assert!(unclosed(folder.path()).unwrap().is_empty());
    }

    #[test]
    fn closing_ends_a_torn_line_first() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("w-1-x.jsonl");
        fs::write(&path, b"{\"at\":").unwrap();
        mark_closed(&path, &worker(), now()).unwrap();
        assert!(unclosed(folder.path()).unwrap().is_empty());
    }
}
