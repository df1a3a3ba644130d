//! A report's folder as one zip: what every system opens by itself.

use std::fs::File;
use std::io::{self, Write as _};

use flate2::write::DeflateEncoder;
use flate2::{Compression, Crc};

use crate::ops::report::folder;

/// A zip of the plain kind counts in four bytes.
const MOST_BYTES: u64 = u32::MAX as u64;
const MOST_FILES: usize = u16::MAX as usize;

/// The first day a zip can tell, 1980-01-01: the same report gives the same bytes.
const DAY: u16 = (1 << 5) | 1;

const STORED: u16 = 0;
const DEFLATED: u16 = 8;

/// Writes a zip piece by piece.
pub(super) struct Zip {
    file: File,
    written: u64,
    directory: Vec<u8>,
    files: usize,
}

impl Zip {
    pub(super) fn new(file: File) -> Self {
        Self {
            file,
            written: 0,
            directory: Vec::new(),
            files: 0,
        }
    }

    /// Adds a file under an ASCII name.
    pub(super) fn add(&mut self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let mut crc = Crc::new();
        crc.update(bytes);
        let is_packed = folder::is_picture(name);
        let deflated;
        let (method, body) = if is_packed {
            (STORED, bytes)
        } else {
            let mut packer = DeflateEncoder::new(Vec::new(), Compression::new(5));
            packer.write_all(bytes)?;
            deflated = packer.finish()?;
            (DEFLATED, &deflated[..])
        };
        let offset = small(self.written)?;
        let mut entry = Vec::new();
        for value in [20, 0, method, 0, DAY] {
            entry.extend(u16::to_le_bytes(value));
        }
        entry.extend(crc.sum().to_le_bytes());
        entry.extend(small(body.len() as u64)?.to_le_bytes());
        entry.extend(small(bytes.len() as u64)?.to_le_bytes());
        let length = u16::try_from(name.len()).map_err(io::Error::other)?;
        entry.extend(length.to_le_bytes());
        entry.extend([0; 2]);
        self.put(b"PK\x03\x04")?;
        self.put(&entry)?;
        self.put(name.as_bytes())?;
        self.put(body)?;
        self.directory.extend(b"PK\x01\x02\x14\0");
        self.directory.extend(entry);
        self.directory.extend([0; 10]);
        self.directory.extend(offset.to_le_bytes());
        self.directory.extend(name.as_bytes());
        self.files += 1;
        Ok(())
    }

    /// Writes the list of files at the end.
    pub(super) fn finish(mut self) -> io::Result<()> {
        let files = u16::try_from(self.files)
            .map_err(|_| io::Error::other(format!("a zip holds at most {MOST_FILES} files")))?;
        let (offset, size) = (small(self.written)?, small(self.directory.len() as u64)?);
        let directory = std::mem::take(&mut self.directory);
        self.put(&directory)?;
        self.put(b"PK\x05\x06\0\0\0\0")?;
        self.put(&files.to_le_bytes())?;
        self.put(&files.to_le_bytes())?;
        self.put(&size.to_le_bytes())?;
        self.put(&offset.to_le_bytes())?;
        self.put(&[0; 2])
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.written += bytes.len() as u64;
        small(self.written)?;
        self.file.write_all(bytes)
    }
}

fn small(value: u64) -> io::Result<u32> {
    u32::try_from(value).map_err(|_| {
        io::Error::other(format!(
            "a zip holds at most {} GB; lower --max-mb",
            MOST_BYTES / 1_000_000_000
        ))
    })
}
