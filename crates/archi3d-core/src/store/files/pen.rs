//! This process's own journal: locked for life, with room to spare, and made again
//! where somebody removes, replaces or cuts it while we live.

use std::collections::{HashMap, VecDeque};
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::domain::id::Nonce;
use crate::domain::time::Timestamp;
use crate::platform::{self, FileIdentity, fault};

use super::journal::{Line, What, encode};

/// The room kept on the disk beyond the last line: a full disk must not keep
/// us from writing down what was paid for.
const RESERVE: u64 = 256 * 1024;

/// So many attempts that have ended are kept in mind: by then their markers tell.
const KEPT_ENDINGS: usize = 64;

/// The journal of this process.
#[derive(Debug)]
pub(super) struct Journal {
    path: PathBuf,
    pen: Mutex<Pen>,
}

#[derive(Debug)]
struct Pen {
    file: File,
    identity: FileIdentity,
    whereabouts: String,
    /// Where the next line goes.
    end: u64,
    /// Up to where there is room on the disk for sure.
    reserved: u64,
    /// Its first line, should it have to be made again.
    opened: Option<Line>,
    /// The lines of attempts that run or have just ended.
    recent: HashMap<Nonce, Vec<Vec<u8>>>,
    ended: VecDeque<Nonce>,
}

impl Journal {
    /// Creates the journal, locked for the life of the process, with room to spare.
    pub(super) fn create(path: PathBuf) -> io::Result<Self> {
        let file = platform::publish_locked(&path)?
            .ok_or_else(|| io::Error::from(io::ErrorKind::AlreadyExists))?;
        if let Err(error) = platform::reserve(&file, 0, RESERVE) {
            let _ = fs::remove_file(&path);
            return Err(error);
        }
        fault::here("journal.reserved");
        let pen = Pen {
            identity: platform::identity(&file.metadata()?),
            whereabouts: platform::whereabouts(&file)?,
            file,
            end: 0,
            reserved: RESERVE,
            opened: None,
            recent: HashMap::new(),
            ended: VecDeque::new(),
        };
        Ok(Self {
            path,
            pen: Mutex::new(pen),
        })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns which file it is, for leases to name.
    pub(super) fn whereabouts(&self) -> String {
        self.pen().whereabouts.clone()
    }

    fn pen(&self) -> MutexGuard<'_, Pen> {
        self.pen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Appends one line in one write. From here on it survives the process.
    pub(super) fn append(&self, at: Timestamp, mut what: What) -> io::Result<()> {
        let mut pen = self.pen();
        match self.keep_in_place(&mut pen) {
            // Where the whole run was moved, the file that we hold went with it.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            kept => kept?,
        }
        if let What::Opened {
            pulse: Some(pulse), ..
        } = &mut what
        {
            pulse.journal = Some(pen.whereabouts.clone());
        }
        let line = Line { at, what };
        let bytes = encode(&line);
        pen.write(&bytes)?;
        pen.remember(line, bytes);
        Ok(())
    }

    /// Sees to it that the journal is still there for everybody to see.
    pub(super) fn check(&self) -> io::Result<()> {
        self.keep_in_place(&mut self.pen())
    }

    /// Makes the journal again if its name means another file or none, and writes
    /// down again what somebody cut off.
    fn keep_in_place(&self, pen: &mut Pen) -> io::Result<()> {
        let named = match fs::symlink_metadata(&self.path) {
            Ok(metadata) => Some(metadata),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        match named {
            Some(metadata) if platform::identity(&metadata) == pen.identity => {
                if metadata.len() == pen.end {
                    return Ok(());
                }
                pen.end = metadata.len();
                pen.reserved = pen.end;
                let there = pen.content()?;
                pen.restore(&there)
            }
            other => self.make_again(pen, other.is_some()),
        }
    }

    fn make_again(&self, pen: &mut Pen, in_the_way: bool) -> io::Result<()> {
        // The old file is still open, whoever removed its name.
        let mut there = pen.content()?;
        there.truncate(usize::try_from(pen.end).unwrap_or(usize::MAX));
        if in_the_way {
            self.set_aside()?;
        } else if let Some(folder) = self.path.parent() {
            // The folder may have gone with it, but not what is above.
            let _ = fs::create_dir(folder);
        }
        let file = platform::publish_locked(&self.path)?
            .ok_or_else(|| io::Error::from(io::ErrorKind::AlreadyExists))?;
        pen.identity = platform::identity(&file.metadata()?);
        pen.whereabouts = platform::whereabouts(&file)?;
        pen.file = file;
        pen.end = 0;
        pen.reserved = 0;
        if !there.is_empty() {
            pen.write(&there)?;
        }
        if let Some(mut line) = pen.opened.clone() {
            if let What::Opened {
                pulse: Some(pulse), ..
            } = &mut line.what
            {
                pulse.journal = Some(pen.whereabouts.clone());
            }
            let bytes = encode(&line);
            pen.write(&bytes)?;
            there.extend(bytes);
            pen.opened = Some(line);
        }
        pen.restore(&there)?;
        pen.file.sync_data()?;
        fault::here("journal.made_again");
        self.path.parent().map_or(Ok(()), platform::sync_dir)
    }

    /// Moves what stands in our place out of the way without losing it.
    fn set_aside(&self) -> io::Result<()> {
        for number in 1u32..10_000 {
            let mut name = self.path.clone().into_os_string();
            name.push(format!(".replaced-{number}"));
            if platform::rename_no_replace(&self.path, Path::new(&name))? {
                return Ok(());
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    /// Makes everything appended so far survive a power loss.
    pub(super) fn sync(&self) -> io::Result<()> {
        let file = self.pen().file.try_clone()?;
        fault::io("journal.syncing")?;
        file.sync_data()?;
        fault::here("journal.synced");
        Ok(())
    }

    /// Gives the room beyond the last line back.
    pub(super) fn trim(&self) {
        let pen = self.pen();
        let _ = pen.file.set_len(pen.end);
        fault::here("journal.trimmed");
    }
}

impl Pen {
    /// Appends bytes in one write.
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let end = self.end + bytes.len() as u64;
        if end + RESERVE / 2 > self.reserved {
            // Trouble shows when the room is really needed, not before.
            let from = self.reserved.max(self.end);
            if platform::reserve(&self.file, from, end + RESERVE).is_ok() {
                self.reserved = end + RESERVE;
            }
        }
        fault::io("journal.appending")?;
        let written = platform::write_at(&self.file, bytes, self.end).inspect_err(|_| {
            // A line that did not fit must not swallow the next one.
            let _ = self.file.set_len(self.end);
        });
        if written.is_err() {
            // What was reserved beyond the end is gone with it.
            self.reserved = self.end;
        }
        written?;
        fault::here("journal.appended");
        self.end = end;
        Ok(())
    }

    fn remember(&mut self, line: Line, bytes: Vec<u8>) {
        if let What::Opened { .. } = line.what {
            self.opened = Some(line);
            return;
        }
        let Some((nonce, ends)) = line.what.attempt() else {
            return;
        };
        self.recent.entry(nonce.clone()).or_default().push(bytes);
        if ends {
            self.ended.push_back(nonce.clone());
        }
        if self.ended.len() > KEPT_ENDINGS
            && let Some(nonce) = self.ended.pop_front()
            && !self.ended.contains(&nonce)
        {
            self.recent.remove(&nonce);
        }
    }

    fn content(&mut self) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.file.seek(SeekFrom::Start(0))?;
        self.file.read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// Writes down again what `there` lacks of the attempts that run or have just ended.
    fn restore(&mut self, there: &[u8]) -> io::Result<()> {
        let mut lost = Vec::new();
        if there.last().is_some_and(|last| *last != b'\n') {
            lost.push(b'\n');
        }
        let opened = self.opened.iter().map(encode);
        let recent = self.recent.values().flatten().cloned();
        for line in opened.chain(recent) {
            if memchr::memmem::find(there, &line).is_none() {
                lost.extend(line);
            }
        }
        if lost.is_empty() {
            return Ok(());
        }
        self.write(&lost)
    }
}

#[cfg(test)]
mod tests {
    use super::super::journal::read;
    use super::*;
    use crate::domain::id::JobId;
    use crate::domain::job::Entry;
    use crate::workspace::{durable, lock};

    fn now() -> Timestamp {
        Timestamp::parse("2026-01-01T00:00:00Z").unwrap()
    }

    fn claimed(nonce: &str) -> What {
        What::Claimed {
            job_id: JobId::parse("j").unwrap(),
            attempt: 1,
            nonce: Nonce::new(nonce.to_owned()),
            entry: Entry::Fresh,
            resumes: None,
            rehearsal: false,
        }
    }

    fn claims(path: &Path) -> usize {
        let (lines, damaged) = read(path).unwrap();
        assert_eq!(damaged, 0);
        let claims = lines.iter().filter(|line| line.what.attempt().is_some());
        claims.count()
    }

    #[test]
    fn a_journal_is_locked_for_as_long_as_its_worker_lives() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("w-1-x.jsonl");
        let journal = Journal::create(path.clone()).unwrap();
        assert!(lock::is_held(&path).unwrap());
        drop(journal);
        assert!(!lock::is_held(&path).unwrap());
    }

    #[test]
    fn a_journal_that_is_removed_replaced_or_cut_is_made_again_with_all_its_lines() {
        let folder = tempfile::tempdir().unwrap();
        let inside = folder.path().join("journal");
        fs::create_dir(&inside).unwrap();
        let path = inside.join("w-1-x.jsonl");
        let journal = Journal::create(path.clone()).unwrap();
        journal.append(now(), claimed("a")).unwrap();
        let harms: [(&str, &dyn Fn()); 5] = [
            ("removed", &|| fs::remove_file(&path).unwrap()),
            ("replaced", &|| {
                durable::replace(&path, b"{}\n", "t").unwrap();
            }),
            ("cut", &|| {
                let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
                file.set_len(7).unwrap();
            }),
            ("folder gone", &|| fs::remove_dir_all(&inside).unwrap()),
            ("nothing", &|| {}),
        ];
        for (number, (harm, apply)) in harms.iter().enumerate() {
            apply();
            journal.check().unwrap();
            assert!(lock::is_held(&path).unwrap(), "{harm}");
            let looked = lock::look(&path).unwrap().unwrap();
            assert_eq!(looked.whereabouts, journal.whereabouts(), "{harm}");
            let nonce = format!("n{number}");
            journal.append(now(), claimed(&nonce)).unwrap();
            let (lines, _) = read(&path).unwrap();
            let found = lines.iter().filter(|line| line.what.attempt().is_some());
            assert!(found.count() >= number + 2, "{harm}");
        }
    }

    #[test]
    fn what_somebody_else_appends_is_neither_overwritten_nor_repeated() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("w-1-x.jsonl");
        let journal = Journal::create(path.clone()).unwrap();
        journal.append(now(), claimed("a")).unwrap();
        let by = crate::domain::id::WorkerId::parse("w-2-y").unwrap();
        super::super::journal::mark_closed(&path, &by, now()).unwrap();
        journal.append(now(), claimed("b")).unwrap();
        assert_eq!(claims(&path), 2);
        assert_eq!(read(&path).unwrap().0.len(), 3);
    }
}
