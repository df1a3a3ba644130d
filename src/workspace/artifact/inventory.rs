//! Everything an attempt left behind, counted and hashed within limits.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::{ArtifactError, io_error, look, not_plain};
use crate::domain::text::hex;
use crate::platform;

/// Nobody makes a result of more files than this.
pub(super) const MAX_FILES: usize = 10_000;

/// Nobody makes a result of more bytes than this; a sparse file claims them at no cost.
pub(super) const MAX_BYTES: u64 = 8 << 30;

/// A file of a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckedFile {
    /// Its name inside the staging folder, `/`-separated.
    pub name: String,
    /// Its size in bytes.
    pub size: u64,
    /// Its SHA-256, in hexadecimal digits.
    pub sha256: String,
}

/// Hashes every file in `staging`, by name. Anything that is no plain file or
/// folder is refused.
pub fn inventory(staging: &Path) -> Result<Vec<CheckedFile>, ArtifactError> {
    let mut found = Found::default();
    walk(staging, "", &mut found)?;
    found.files.sort();
    let hashed = found.files.into_iter().map(|(name, path)| {
        let (size, sha256) = hash(&path).map_err(|source| io_error(&path, source))?;
        Ok(CheckedFile { name, size, sha256 })
    });
    hashed.collect()
}

/// What a folder holds, before anything of it is read.
#[derive(Default)]
struct Found {
    files: Vec<(String, PathBuf)>,
    bytes: u64,
}

fn walk(folder: &Path, prefix: &str, found: &mut Found) -> Result<(), ArtifactError> {
    for entry in fs::read_dir(folder).map_err(|source| io_error(folder, source))? {
        let entry = entry.map_err(|source| io_error(folder, source))?;
        let path = entry.path();
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        let Some(metadata) = look(&path)? else {
            continue;
        };
        if metadata.is_dir() {
            walk(&path, &format!("{name}/"), found)?;
        } else if let Some(what) = not_plain(&metadata) {
            return Err(ArtifactError::NotPlain { name, what });
        } else {
            found.files.push((name, path));
            found.bytes = found.bytes.saturating_add(metadata.len());
            if found.files.len() > MAX_FILES || found.bytes > MAX_BYTES {
                return Err(ArtifactError::TooMuch {
                    files: found.files.len(),
                    bytes: found.bytes,
                });
            }
        }
    }
    Ok(())
}

/// Tells whether `folder` still holds the file as it was hashed.
pub fn is_intact(folder: &Path, name: &str, size: u64, sha256: &str) -> bool {
    let path = folder.join(name);
    fs::symlink_metadata(&path).is_ok_and(|metadata| metadata.is_file() && metadata.len() == size)
        && hash(&path).is_ok_and(|(_, found)| found == sha256)
}

/// Returns the SHA-256 of a file's bytes, in hexadecimal digits.
pub fn hash_file(path: &Path) -> io::Result<String> {
    hash(path).map(|(_, sha256)| sha256)
}

fn hash(path: &Path) -> io::Result<(u64, String)> {
    let mut options = OpenOptions::new();
    options.read(true);
    let mut file: File = platform::without_waiting(&mut options).open(path)?;
    let mut hash = Sha256::new();
    // On the stack: models are small more often than large, and a large block
    // from the heap is zeroed and given back to the system every time.
    let mut buffer = [0; 16 << 10];
    let mut size = 0;
    loop {
        let read = file.read(&mut buffer)?;
        if read == 0 {
            break;
        }
        size += read as u64;
        hash.update(&buffer[..read]);
    }
    let digest = hash.finalize();
    Ok((size, hex(&digest)))
}
