//! What a program says beside its events: kept in a file of bounded size, its
//! start and its end, and its last words for error messages.
//!
//! Trouble with the log never fails a job.

use std::collections::VecDeque;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use crate::platform;

/// How much of the start is kept.
const HEAD_BYTES: usize = 1 << 20;

/// How much of the end is kept.
const TAIL_BYTES: usize = 64 << 10;

/// How many of the last words of stderr go into an error text.
const LAST_WORDS_BYTES: usize = 8 << 10;

/// The log of one attempt; shared by the threads that listen to the program.
#[derive(Debug)]
pub(in crate::adapter) struct AttemptLog {
    path: Option<PathBuf>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Made with the first byte: most programs are silent.
    file: Option<File>,
    failed: bool,
    written: usize,
    left_out: u64,
    tail: VecDeque<u8>,
    last_words: VecDeque<u8>,
}

impl AttemptLog {
    pub(in crate::adapter) fn new(path: Option<PathBuf>) -> Self {
        Self {
            path,
            state: Mutex::default(),
        }
    }

    /// Adds what the program wrote to stdout.
    pub(in crate::adapter) fn add(&self, bytes: &[u8]) {
        self.state().keep(self.path.as_ref(), bytes);
    }

    /// Adds what the program wrote to stderr.
    pub(in crate::adapter) fn add_error(&self, bytes: &[u8]) {
        let mut state = self.state();
        push(&mut state.last_words, bytes, LAST_WORDS_BYTES);
        state.keep(self.path.as_ref(), bytes);
    }

    /// Writes the end after a remark about what was left out.
    pub(in crate::adapter) fn close(&self) {
        let mut state = self.state();
        if state.left_out == 0 && state.tail.is_empty() {
            return;
        }
        let mut end = Vec::new();
        if state.left_out > 0 {
            end = format!("\n[… {} bytes left out …]\n", state.left_out).into_bytes();
        }
        end.extend(std::mem::take(&mut state.tail));
        state.left_out = 0;
        state.write(self.path.as_ref(), &end);
    }

    /// Returns the end of stderr.
    pub(in crate::adapter) fn last_words(&self) -> String {
        let state = self.state();
        let bytes: Vec<u8> = state.last_words.iter().copied().collect();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        // The start may have been cut within a line.
        match text.split_once('\n') {
            Some((_, rest)) if bytes.len() == LAST_WORDS_BYTES => rest.to_owned(),
            _ => text,
        }
    }

    /// Returns where the log is, if anything was written.
    pub(in crate::adapter) fn path(&self) -> Option<&PathBuf> {
        self.path.as_ref().filter(|_| self.state().file.is_some())
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn keep(&mut self, path: Option<&PathBuf>, bytes: &[u8]) {
        let (head, rest) = bytes.split_at(bytes.len().min(HEAD_BYTES - self.written));
        if !head.is_empty() {
            self.written += head.len();
            self.write(path, head);
        }
        self.left_out += push(&mut self.tail, rest, TAIL_BYTES);
    }

    fn write(&mut self, path: Option<&PathBuf>, bytes: &[u8]) {
        if self.file.is_none() && !self.failed {
            self.file = path.and_then(open);
            self.failed = self.file.is_none();
        }
        if let Some(file) = &mut self.file {
            let _ = file.write_all(bytes);
        }
    }
}

fn open(path: &PathBuf) -> Option<File> {
    fs::create_dir_all(path.parent()?).ok()?;
    let mut options = OpenOptions::new();
    options.append(true).create(true);
    platform::without_waiting(&mut options).open(path).ok()
}

/// Adds to the end and returns how many bytes fell off the start.
fn push(ring: &mut VecDeque<u8>, bytes: &[u8], limit: usize) -> u64 {
    let skipped = bytes.len().saturating_sub(limit);
    let bytes = &bytes[skipped..];
    let over = (ring.len() + bytes.len()).saturating_sub(limit);
    ring.drain(..over);
    ring.extend(bytes);
    (skipped + over) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_silent_program_leaves_no_file() {
        let folder = tempfile::tempdir().expect("dir");
        let path = folder.path().join("logs/j.1.log");
        let log = AttemptLog::new(Some(path.clone()));
        log.close();
        assert!(!path.exists());
        assert_eq!(log.path(), None);
    }

    #[test]
    fn of_a_flood_the_start_and_the_end_are_kept() {
        let folder = tempfile::tempdir().expect("dir");
        let path = folder.path().join("logs/j.1.log");
        let log = AttemptLog::new(Some(path.clone()));
        log.add(b"the start\n");
        for number in 0..40_000 {
            log.add_error(format!("line {number} of a flood of many lines and bytes\n").as_bytes());
        }
        log.close();
        let text = fs::read_to_string(&path).expect("read");
        assert!(text.starts_with("the start\nline 0 of"));
        assert!(text.ends_with("line 39999 of a flood of many lines and bytes\n"));
        assert!(text.contains("bytes left out"));
        assert!(text.len() < HEAD_BYTES + TAIL_BYTES + 100);
        let words = log.last_words();
        assert!(words.starts_with("line ") && words.len() <= LAST_WORDS_BYTES);
    }

    #[test]
    fn a_log_that_cannot_be_written_is_no_trouble() {
        let folder = tempfile::tempdir().expect("dir");
        fs::write(folder.path().join("logs"), b"a file").expect("written");
        let log = AttemptLog::new(Some(folder.path().join("logs/j.1.log")));
        log.add_error(b"words");
        log.close();
        assert_eq!(log.last_words(), "words");
    }
}
