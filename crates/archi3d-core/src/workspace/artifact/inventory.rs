//! Everything an attempt left behind, counted and hashed within limits.

use std::fmt::Write as _;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::standard::free_name;
use super::{ArtifactError, Standard, check_model, io_error, look, no_usable_model, not_plain};
use crate::domain::glb;
use crate::domain::text::hex;
use crate::platform;

/// Nobody makes a result of more files than this.
pub(super) const MAX_FILES: usize = 10_000;

/// Nobody makes a result of more bytes than this; a sparse file claims them at no cost.
pub(super) const MAX_BYTES: u64 = 8 << 30;

/// How much of a file is read at a time.
const PIECE: usize = 16 << 10;

/// A file that belongs to a result, checked and hashed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Artifact {
    /// Its name inside the staging folder, `/`-separated.
    pub name: String,
    /// Its size in bytes.
    pub size: u64,
    /// Its SHA-256, in hexadecimal digits.
    pub sha256: String,
}

/// Hashes every file in `staging`, by name. Anything that is no plain file or
/// folder is refused.
pub fn inventory(staging: &Path) -> Result<Vec<Artifact>, ArtifactError> {
    let mut found = Found::default();
    list(staging, &mut found)?;
    found.files.sort();
    found.files.iter().map(FoundFile::hashed).collect()
}

/// Checks the model of a result and hashes every file of it, by name. What
/// [`super::standardize`] has looked at is not looked at again.
pub fn inventory_of(staging: &Path, standard: &Standard) -> Result<Vec<Artifact>, ArtifactError> {
    let mut found = Found {
        known: &standard.files,
        ..Found::default()
    };
    list(staging, &mut found)?;
    let is_model = |file: &FoundFile| Some(&file.name) == standard.names.first();
    // The model first: nothing else is read if it is none.
    found.files.sort_by_key(|file| !is_model(file));
    let mut files = Vec::with_capacity(found.files.len());
    for file in &found.files {
        files.push(if is_model(file) {
            file.hashed_model()?
        } else {
            file.hashed()?
        });
    }
    files.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(files)
}

/// What a folder holds, before anything of it is read.
#[derive(Default)]
struct Found<'a> {
    files: Vec<FoundFile>,
    bytes: u64,
    /// Names at the top that are plain files, with their sizes.
    known: &'a [(String, u64)],
    /// Whether a name that is no text was met and spelt as one.
    spelt: bool,
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct FoundFile {
    name: String,
    path: PathBuf,
    size: u64,
}

impl FoundFile {
    fn hashed(&self) -> Result<Artifact, ArtifactError> {
        let (size, sha256) = hash(&self.path, Some(self.size), |_| ())
            .map_err(|source| io_error(&self.path, source))?;
        Ok(Artifact {
            name: self.name.clone(),
            size,
            sha256,
        })
    }

    /// Hashes a model and checks it. One that fits into a piece is read once; of a
    /// larger one the start is read twice.
    fn hashed_model(&self) -> Result<Artifact, ArtifactError> {
        if self.size > PIECE as u64 {
            check_model(&self.path)?;
            return self.hashed();
        }
        let mut checked = Ok(());
        let check = |mut piece: &[u8]| checked = glb::check(&mut piece, self.size);
        let (size, sha256) = hash(&self.path, Some(self.size), check)
            .map_err(|source| io_error(&self.path, source))?;
        checked.map_err(|fault| no_usable_model(&self.path, fault))?;
        Ok(Artifact {
            name: self.name.clone(),
            size,
            sha256,
        })
    }
}

/// Lists a folder. A name that is no text cannot be written down and found again,
/// so its file gets one that is; then everything is listed once more.
fn list(staging: &Path, found: &mut Found<'_>) -> Result<(), ArtifactError> {
    walk(staging, "", found)?;
    while std::mem::take(&mut found.spelt) {
        (found.files, found.bytes) = (Vec::new(), 0);
        walk(staging, "", found)?;
    }
    Ok(())
}

/// Renames a file or folder whose name is no text; bytes that are none become `%`
/// and two digits.
fn spell(path: &Path) -> Result<(), ArtifactError> {
    let name = path.file_name().unwrap_or_default();
    let mut spelt = String::new();
    for chunk in name.as_encoded_bytes().utf8_chunks() {
        spelt.push_str(chunk.valid());
        for byte in chunk.invalid() {
            let _ = write!(spelt, "%{byte:02X}");
        }
    }
    let free = free_name(&path.with_file_name(spelt))?;
    platform::rename_replace(path, &free).map_err(|source| io_error(path, source))
}

fn walk(folder: &Path, prefix: &str, found: &mut Found<'_>) -> Result<(), ArtifactError> {
    for entry in fs::read_dir(folder).map_err(|source| io_error(folder, source))? {
        let entry = entry.map_err(|source| io_error(folder, source))?;
        let path = entry.path();
        let file_name = entry.file_name();
        let Some(file_name) = file_name.to_str() else {
            spell(&path)?;
            found.spelt = true;
            continue;
        };
        let name = format!("{prefix}{file_name}");
        let known = found.known.iter().find(|(known, _)| *known == name);
        let size = if let Some((_, size)) = known {
            *size
        } else {
            let Some(metadata) = look(&path)? else {
                continue;
            };
            if metadata.is_dir() {
                walk(&path, &format!("{name}/"), found)?;
                continue;
            }
            if let Some(what) = not_plain(&metadata) {
                return Err(ArtifactError::NotPlain { name, what });
            }
            metadata.len()
        };
        found.files.push(FoundFile { name, path, size });
        found.bytes = found.bytes.saturating_add(size);
        if found.files.len() > MAX_FILES || found.bytes > MAX_BYTES {
            return Err(ArtifactError::TooMuch {
                files: found.files.len(),
                bytes: found.bytes,
            });
        }
    }
    Ok(())
}

/// Tells whether `folder` still holds the file as it was hashed.
pub fn is_intact(folder: &Path, name: &str, size: u64, sha256: &str) -> bool {
    let path = folder.join(name);
    fs::symlink_metadata(&path).is_ok_and(|metadata| metadata.is_file() && metadata.len() == size)
        && hash(&path, None, |_| ()).is_ok_and(|(_, found)| found == sha256)
}

/// Returns the SHA-256 of a file's bytes, in hexadecimal digits.
pub fn hash_file(path: &Path) -> io::Result<String> {
    hash(path, None, |_| ()).map(|(_, sha256)| sha256)
}

/// Returns how long a file is and its SHA-256. One whose size is known is not read
/// beyond it. `first` sees what is read first, or nothing of an empty file.
fn hash(
    path: &Path,
    known_size: Option<u64>,
    first: impl FnOnce(&[u8]),
) -> io::Result<(u64, String)> {
    let mut options = OpenOptions::new();
    options.read(true);
    let mut file: File = platform::without_waiting(&mut options).open(path)?;
    let mut hash = Sha256::new();
    // On the stack: models are small more often than large, and a large block
    // from the heap is zeroed and given back to the system every time.
    let mut buffer = [0; PIECE];
    let mut size = 0;
    let mut first = Some(first);
    loop {
        let left = known_size.map_or(u64::MAX, |known| known.saturating_sub(size));
        let wanted = usize::try_from(left).unwrap_or(PIECE).min(PIECE);
        let read = fill(&mut file, &mut buffer[..wanted])?;
        if let Some(first) = first.take() {
            first(&buffer[..read]);
        }
        size += read as u64;
        hash.update(&buffer[..read]);
        if read < PIECE {
            break;
        }
    }
    let digest = hash.finalize();
    Ok((size, hex(&digest)))
}

/// Reads until `buffer` is full or the file ends; returns how much that was.
fn fill(file: &mut File, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match file.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}
