//! Files of lines that many programs add to, one at a time, each line synced before the next.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;
use std::time::Duration;

use crate::platform;
use crate::workspace::durable;
use crate::workspace::lock::FileLock;

/// The right to add lines to a file.
#[derive(Debug)]
pub struct Notes {
    file: File,
    _lock: FileLock,
}

impl Notes {
    /// Reads what is there, without a lock; a file that is not there has nothing.
    pub fn read(path: &Path) -> io::Result<Vec<u8>> {
        let mut text = Vec::new();
        match durable::open_plain(path) {
            Ok(mut file) => file.read_to_end(&mut text)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => 0,
            Err(error) => return Err(error),
        };
        Ok(text)
    }

    /// Waits for the right to add lines, and reads those that are there; nothing if it is not had in time.
    pub fn take(path: &Path, patience: Duration) -> io::Result<Option<(Self, Vec<u8>)>> {
        let Some(mut notes) = Self::open(path, patience)? else {
            return Ok(None);
        };
        let mut text = Vec::new();
        notes.file.seek(SeekFrom::Start(0))?;
        notes.file.read_to_end(&mut text)?;
        Ok(Some((notes, text)))
    }

    /// Waits for the right to add lines, and reads nothing; nothing if it is not had in time.
    pub fn open(path: &Path, patience: Duration) -> io::Result<Option<Self>> {
        let folder = path.parent().unwrap_or(path);
        std::fs::create_dir_all(folder)?;
        let lock = FileLock::acquire_within(&path.with_extension("lock"), patience)?;
        let Some(lock) = lock else {
            return Ok(None);
        };
        let is_new = !path.exists();
        let mut file = durable::open_append(path)?;
        if is_new {
            platform::sync_dir(folder)?;
        }
        if file.metadata()?.len() > 0 {
            let mut last = [0];
            file.seek(SeekFrom::End(-1))?;
            file.read_exact(&mut last)?;
            if last != *b"\n" {
                // A line that was cut short ends here.
                file.write_all(b"\n")?;
            }
        }
        Ok(Some(Self { file, _lock: lock }))
    }

    /// Adds a line that survives a power cut.
    pub fn add(&mut self, line: Vec<u8>) -> io::Result<()> {
        self.add_all(&[line])
    }

    /// Adds lines that survive a power cut, all of them or the first ones.
    pub fn add_all(&mut self, lines: &[Vec<u8>]) -> io::Result<()> {
        let mut text = lines.join(&b'\n');
        text.push(b'\n');
        self.file.write_all(&text)?;
        self.file.sync_data()
    }
}
