//! Log files that several processes append to: one whole line per write.
//!
//! Used for `logs/*.log`. Appending never returns an error: whoever logs has
//! something more important to do, and gets at most a sentence to pass on.

use std::fmt::Write as _;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::platform;
use crate::workspace::lock::ReusedLock;

/// How long a busy lock is waited for.
const PATIENCE: Duration = Duration::from_secs(2);

/// How long after a vain wait the lock is only tried, not waited for.
const IMPATIENCE: Duration = Duration::from_secs(10);

/// An open log.
#[derive(Debug)]
pub struct LogFile {
    path: PathBuf,
    lock_path: PathBuf,
    /// Where lines of another program were put when this was opened.
    moved: Option<PathBuf>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    file: File,
    lock: ReusedLock,
    /// How long the log was after our last line, which ended it.
    whole_until: u64,
    impatient_until: Option<Instant>,
}

impl LogFile {
    /// Opens the log at `path` for appending and makes it, and its folder, if absent.
    pub fn open(path: &Path) -> io::Result<Self> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        if fs::symlink_metadata(path).is_ok_and(|found| !found.is_file()) {
            let reason = "it is not a plain file; move it away";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, reason));
        }
        let lock_path = with_ending(path, ".lock");
        let mut lock = ReusedLock::new(lock_path.clone());
        let moved = set_aside(path, &mut lock);
        let mut options = OpenOptions::new();
        options.create(true).append(true).read(true);
        let file = platform::refuse_links(&mut options).open(path)?;
        Ok(Self {
            path: path.to_owned(),
            lock_path,
            moved,
            state: Mutex::new(State {
                file,
                lock,
                whole_until: 0,
                impatient_until: None,
            }),
        })
    }

    /// Returns where lines of another program were put when this was opened, if it
    /// began with such.
    pub fn moved(&self) -> Option<&Path> {
        self.moved.as_deref()
    }

    /// Appends `object` as one line. Returns a sentence if that did not work.
    #[must_use]
    pub fn append_json(&self, object: &impl Serialize) -> Option<String> {
        match line_of(object) {
            Ok(line) => self.append_lines(line),
            Err(error) => Some(self.trouble(&error)),
        }
    }

    /// Appends whole lines in one piece. Returns a sentence if that did not work.
    #[must_use]
    pub fn append_lines(&self, lines: String) -> Option<String> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        // Whole-line appends do not mix on a local disk, so a lock that cannot
        // be had only costs safety on network drives, not the line.
        let locked = state.wait_for_lock();
        let written = state.append(lines);
        if locked {
            state.lock.release();
        }
        written.err().map(|error| self.trouble(&error))
    }

    /// Returns the lock that was waited for in vain, if lines are written without it now.
    pub fn busy_lock(&self) -> Option<&Path> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.impatient_until.map(|_| self.lock_path.as_path())
    }

    fn trouble(&self, error: &dyn std::error::Error) -> String {
        format!("cannot write {}: {error}", self.path.display())
    }
}

impl State {
    /// Takes the lock and tells whether that succeeded.
    fn wait_for_lock(&mut self) -> bool {
        let now = Instant::now();
        if self.impatient_until.is_some_and(|until| now < until) {
            return self.lock.try_take().unwrap_or(false);
        }
        // A lock that cannot be tried at all is not the same as one that is held.
        let Ok(locked) = self.lock.take_within(PATIENCE) else {
            return false;
        };
        self.impatient_until = (!locked).then(|| Instant::now() + IMPATIENCE);
        locked
    }

    /// Writes whole lines in one piece, after ending a line that somebody left torn.
    fn append(&mut self, mut lines: String) -> io::Result<()> {
        let length = self.file.metadata()?.len();
        if length != self.whole_until && !ends_with_newline(&mut self.file)? {
            lines.insert(0, '\n');
        }
        let written = loop {
            match self.file.write(lines.as_bytes()) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => break other?,
            }
        };
        if written < lines.len() {
            let reason = "the line was cut; is the disk full?";
            return Err(io::Error::new(io::ErrorKind::WriteZero, reason));
        }
        self.whole_until = length + written as u64;
        Ok(())
    }
}

/// Returns `object` as one line of a log, with its end.
pub fn line_of(object: &impl Serialize) -> serde_json::Result<String> {
    let mut line = escape_controls(serde_json::to_string(object)?);
    line.push('\n');
    Ok(line)
}

/// Opens the log at `path` and appends one line. Returns a sentence if that did not work.
#[must_use]
pub fn append_record(path: &Path, object: &impl Serialize) -> Option<String> {
    match LogFile::open(path) {
        Ok(log) => log.append_json(object),
        Err(error) => Some(format!("cannot open {}: {error}", path.display())),
    }
}

fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut longer = path.as_os_str().to_owned();
    longer.push(ending);
    PathBuf::from(longer)
}

/// Moves a log that begins with a line which is no JSON object, as other tools write
/// them, to `<log>.1` or the next free number: no reader takes two formats in one
/// file. What cannot be moved stays.
fn set_aside(path: &Path, lock: &mut ReusedLock) -> Option<PathBuf> {
    if !begins_otherwise(path) || !lock.take_within(PATIENCE).unwrap_or(false) {
        return None;
    }
    let moved = (1..1000).map(|number| with_ending(path, &format!(".{number}")));
    let moved = moved
        .filter(|_| begins_otherwise(path))
        .find(|free| platform::rename_no_replace(path, free).unwrap_or(false));
    lock.release();
    moved
}

fn begins_otherwise(path: &Path) -> bool {
    let mut first = [0];
    let mut options = OpenOptions::new();
    let opened = platform::without_waiting(options.read(true)).open(path);
    opened.is_ok_and(|mut file| file.read_exact(&mut first).is_ok()) && first != *b"{"
}

fn ends_with_newline(file: &mut File) -> io::Result<bool> {
    if file.seek(SeekFrom::End(0))? == 0 {
        return Ok(true);
    }
    file.seek(SeekFrom::End(-1))?;
    let mut last = [0];
    file.read_exact(&mut last)?;
    Ok(last == *b"\n")
}

/// Escapes what JSON leaves as it is but a terminal would obey.
fn escape_controls(json: String) -> String {
    let risky =
        |c: char| ('\u{7f}'..='\u{9f}').contains(&c) || matches!(c, '\u{2028}' | '\u{2029}');
    if !json.contains(risky) {
        return json;
    }
    let mut safe = String::with_capacity(json.len() + 16);
    for c in json.chars() {
        if risky(c) {
            let _ = write!(safe, "\\u{:04x}", u32::from(c));
        } else {
            safe.push(c);
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use std::thread;

    use serde_json::{Map, Value, json};

    use super::*;
    use crate::workspace::lock::FileLock;

    fn object(value: Value) -> Map<String, Value> {
        match value {
            Value::Object(object) => object,
            other => panic!("{other} is no object"),
        }
    }

    fn log_in(folder: &Path) -> (PathBuf, LogFile) {
        let path = folder.join("logs").join("worker.log");
        let log = LogFile::open(&path).expect("opens");
        (path, log)
    }

    #[test]
    fn lines_of_two_threads_with_their_own_handles_never_mix() {
        let folder = tempfile::tempdir().expect("temp folder");
        let path = folder.path().join("worker.log");
        thread::scope(|scope| {
            for name in ["a", "b"] {
                let path = &path;
                scope.spawn(move || {
                    let log = LogFile::open(path).expect("opens");
                    let text = name.repeat(3000);
                    for number in 0..100 {
                        let line = object(json!({"number": number, "text": text}));
                        assert_eq!(log.append_json(&line), None);
                    }
                });
            }
        });
        let text = fs::read_to_string(&path).expect("readable");
        let lines: Vec<Value> = text
            .lines()
            .map(|line| serde_json::from_str(line).expect("whole"))
            .collect();
        assert_eq!(lines.len(), 200);
        assert!(text.ends_with('\n'));
    }

    #[test]
    fn a_torn_last_line_is_ended_before_the_next_one() {
        let folder = tempfile::tempdir().expect("temp folder");
        let (path, log) = log_in(folder.path());
        let mut torn = File::create(&path).expect("created");
        torn.write_all(b"{\"event\":\"to").expect("written");
        assert_eq!(log.append_json(&object(json!({"n": 1}))), None);
        assert_eq!(log.append_json(&object(json!({"n": 2}))), None);
        let text = fs::read_to_string(&path).expect("readable");
        assert_eq!(text, "{\"event\":\"to\n{\"n\":1}\n{\"n\":2}\n");
    }

    #[test]
    fn a_busy_lock_costs_one_wait_and_no_line() {
        let folder = tempfile::tempdir().expect("temp folder");
        let (path, log) = log_in(folder.path());
        let held = FileLock::try_acquire(&log.lock_path)
            .expect("works")
            .expect("free");
        log.state.lock().expect("not poisoned").impatient_until = Some(Instant::now() + IMPATIENCE);
        for number in 0..50 {
            assert_eq!(log.append_json(&object(json!({"n": number}))), None);
        }
        drop(held);
        let text = fs::read_to_string(&path).expect("readable");
        assert_eq!(text.lines().count(), 50);
    }

    #[test]
    fn nothing_that_a_terminal_obeys_reaches_the_log_raw() {
        let folder = tempfile::tempdir().expect("temp folder");
        let (path, log) = log_in(folder.path());
        let nasty = "\u{1b}[2J \u{9b}31m é \u{2028} \n";
        assert_eq!(log.append_json(&object(json!({"error": nasty}))), None);
        let text = fs::read_to_string(&path).expect("readable");
        assert_eq!(
            text,
            "{\"error\":\"\\u001b[2J \\u009b31m é \\u2028 \\n\"}\n"
        );
        let back: Value = serde_json::from_str(&text).expect("valid");
        assert_eq!(back["error"], nasty);
    }

    #[test]
    fn a_folder_in_the_place_of_the_log_is_refused() {
        let folder = tempfile::tempdir().expect("temp folder");
        assert!(LogFile::open(folder.path()).is_err());
    }
}
