//! Looks through the dataset: folders in, raw findings out, in parallel.
//!
//! Only `ops::catalog` calls it; what the findings mean is decided in
//! `domain::item`. It only ever reads: nothing under the dataset is created,
//! renamed or touched. Whatever cannot be used becomes a [`Trouble`], so one
//! bad folder never hides the others.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs::{self, DirEntry};
use std::io;
use std::path::{Path, PathBuf};

use rayon::prelude::*;

use crate::domain::issue::{IssueKind, Trouble};
use crate::domain::item::{FolderFindings, GT_DIR, IMAGES_DIR};
use crate::workspace::paths::Workspace;

/// Everything that was seen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Scan {
    /// The dataset, relative to the workspace.
    pub dataset: String,
    /// The folders that can become items, by lower-cased name.
    pub folders: Vec<FolderFindings>,
    /// Folders that cannot, by the name to show for them.
    pub unusable: Vec<(String, Trouble)>,
}

/// Why a dataset cannot be looked through at all.
#[derive(Debug, thiserror::Error)]
pub enum ScanError {
    /// It is not there.
    #[error("the dataset folder is missing: {}", .0.display())]
    Missing(PathBuf),
    /// It is a file.
    #[error("the dataset is not a folder: {}", .0.display())]
    NotAFolder(PathBuf),
    /// Tables could not name what is in it.
    #[error("the dataset {} is outside the workspace {}", dataset.display(), workspace.display())]
    Outside {
        /// Where it is.
        dataset: PathBuf,
        /// Where it should be inside.
        workspace: PathBuf,
    },
    /// The system refused to list it.
    #[error("cannot read the folder {}", path.display())]
    Unreadable {
        /// The folder.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
}

impl ScanError {
    /// Returns what to do next.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Missing(_) | Self::NotAFolder(_) => {
                "put the product folders under dataset/ in the workspace, or name their folder with --dataset"
            }
            Self::Outside { .. } => {
                "move or copy the dataset into the workspace: tables hold paths relative to it"
            }
            Self::Unreadable { .. } => "check the folder's permissions",
        }
    }
}

/// Looks through `dataset`, which must be inside `workspace`.
pub fn scan(workspace: &Workspace, dataset: &Path) -> Result<Scan, ScanError> {
    let unreadable = |path: &Path, source: io::Error| match source.kind() {
        io::ErrorKind::NotFound => ScanError::Missing(path.to_owned()),
        io::ErrorKind::NotADirectory => ScanError::NotAFolder(path.to_owned()),
        _ => ScanError::Unreadable {
            path: path.to_owned(),
            source,
        },
    };
    let root = fs::canonicalize(workspace.root()).map_err(|e| unreadable(workspace.root(), e))?;
    let real = fs::canonicalize(dataset).map_err(|e| unreadable(dataset, e))?;
    let Some(inside) = Workspace::new(&root).relative(&real) else {
        return Err(ScanError::Outside {
            dataset: real,
            workspace: root,
        });
    };
    if !real.is_dir() {
        return Err(ScanError::NotAFolder(dataset.to_owned()));
    }
    let scanner = Scanner {
        root,
        dataset: dataset.to_owned(),
        stored: workspace.relative(dataset).unwrap_or(inside),
    };
    let entries = fs::read_dir(dataset).map_err(|e| unreadable(dataset, e))?;
    let entries: Vec<io::Result<DirEntry>> = entries.collect();
    let seen: Vec<Option<Seen>> = entries.par_iter().map(|e| scanner.entry(e)).collect();
    Ok(scanner.sorted(seen))
}

/// What one entry of the dataset is.
enum Seen {
    Folder(FolderFindings),
    Unusable(String, Trouble),
}

struct Scanner {
    root: PathBuf,
    dataset: PathBuf,
    stored: String,
}

impl Scanner {
    fn sorted(self, seen: Vec<Option<Seen>>) -> Scan {
        let mut scan = Scan {
            dataset: self.stored,
            ..Scan::default()
        };
        for seen in seen.into_iter().flatten() {
            match seen {
                Seen::Folder(found) => scan.folders.push(found),
                Seen::Unusable(name, trouble) => scan.unusable.push((name, trouble)),
            }
        }
        scan.folders
            .sort_by_cached_key(|found| (found.folder.to_lowercase(), found.folder.clone()));
        scan.unusable.sort_by(|a, b| a.0.cmp(&b.0));
        scan
    }

    fn entry(&self, entry: &io::Result<DirEntry>) -> Option<Seen> {
        let entry = match entry {
            Ok(entry) => entry,
            Err(error) => {
                let trouble = unreadable(&self.stored, error);
                return Some(Seen::Unusable(String::new(), trouble));
            }
        };
        let name = entry.file_name();
        let shown = shown(&name);
        if shown.starts_with('.') {
            return None;
        }
        let stored = join(&self.stored, &shown);
        match self.kind_of(&self.dataset.join(&name), entry.file_type(), &stored) {
            Ok(Kind::Folder) => {}
            Ok(Kind::File | Kind::Other) => return None,
            Err(trouble) => return Some(Seen::Unusable(shown, trouble)),
        }
        if name.to_str().is_none() {
            return Some(Seen::Unusable(shown, not_utf8(stored)));
        }
        Some(Seen::Folder(self.folder(shown, stored)))
    }

    fn folder(&self, folder: String, dir: String) -> FolderFindings {
        let mut troubles = Vec::new();
        let path = self.dataset.join(&folder);
        let mut list = |sub: &str| self.files(&path.join(sub), &join(&dir, sub), &mut troubles);
        let images = list(IMAGES_DIR);
        let gt = list(GT_DIR);
        let instead = if images.is_empty() {
            instead_of_images(&path)
        } else {
            String::new()
        };
        troubles.sort_by(|a, b| (a.kind, &a.detail).cmp(&(b.kind, &b.detail)));
        FolderFindings {
            folder,
            dir,
            images,
            instead,
            gt,
            troubles,
        }
    }

    /// Returns the names of the visible files directly in `path`.
    fn files(&self, path: &Path, stored: &str, troubles: &mut Vec<Trouble>) -> Vec<String> {
        let kind = match fs::symlink_metadata(path) {
            Ok(metadata) => self.kind_of(path, Ok(metadata.file_type()), stored),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Vec::new(),
            Err(error) => Err(unreadable(stored, &error)),
        };
        let entries = kind.and_then(|kind| match kind {
            Kind::Folder => fs::read_dir(path).map_err(|error| unreadable(stored, &error)),
            Kind::File | Kind::Other => Err(Trouble {
                kind: IssueKind::NotAFolder,
                detail: stored.to_owned(),
            }),
        });
        let mut names = Vec::new();
        match entries {
            Err(trouble) => troubles.push(trouble),
            Ok(entries) => {
                for entry in entries {
                    match self.file(entry, path, stored) {
                        Ok(Some(name)) => names.push(name),
                        Ok(None) => {}
                        Err(trouble) => troubles.push(trouble),
                    }
                }
            }
        }
        names.sort();
        names
    }

    fn file(
        &self,
        entry: io::Result<DirEntry>,
        path: &Path,
        stored: &str,
    ) -> Result<Option<String>, Trouble> {
        let entry = entry.map_err(|error| unreadable(stored, &error))?;
        let name = entry.file_name();
        let shown = shown(&name);
        if shown.starts_with('.') {
            return Ok(None);
        }
        let stored = join(stored, &shown);
        match self.kind_of(&path.join(&name), entry.file_type(), &stored)? {
            Kind::File if name.to_str().is_none() => Err(not_utf8(stored)),
            Kind::File => Ok(Some(shown)),
            Kind::Folder | Kind::Other => Ok(None),
        }
    }

    /// Tells what is at `path`; a link counts as what it leads to, if that is inside.
    fn kind_of(
        &self,
        path: &Path,
        kind: io::Result<fs::FileType>,
        stored: &str,
    ) -> Result<Kind, Trouble> {
        let refused = |error: io::Error| unreadable(stored, &error);
        let mut kind = kind.map_err(refused)?;
        if kind.is_symlink() {
            let target = fs::canonicalize(path).map_err(refused)?;
            if !target.starts_with(&self.root) {
                return Err(Trouble {
                    kind: IssueKind::OutsideWorkspace,
                    detail: format!("{stored} -> {}", target.display()),
                });
            }
            kind = fs::metadata(&target).map_err(refused)?.file_type();
        }
        Ok(if kind.is_dir() {
            Kind::Folder
        } else if kind.is_file() {
            Kind::File
        } else {
            Kind::Other
        })
    }
}

/// Says what a folder has where no pictures were found.
fn instead_of_images(folder: &Path) -> String {
    let names = |folder: &Path| -> Vec<(String, bool)> {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let seen = entries.map(|entry| (shown(&entry.file_name()), entry.path().is_dir()));
        let mut seen: Vec<_> = seen.filter(|(name, _)| !name.starts_with('.')).collect();
        seen.sort();
        seen
    };
    let is_folder = |(name, is_dir): &(String, bool)| is_dir.then(|| name.clone());
    let inside = names(&folder.join(IMAGES_DIR));
    if let Some(name) = inside.iter().find_map(is_folder) {
        return format!(
            "images/ has no files but the folder {name}/: move the pictures up into images/"
        );
    }
    if folder.join(IMAGES_DIR).is_dir() {
        return "images/ is empty".to_owned();
    }
    let around = names(folder);
    let similar = |name: &String| {
        let name = name.to_lowercase();
        name.starts_with("image") || name.starts_with("picture") || name.starts_with("photo")
    };
    if let Some(name) = around.iter().filter_map(is_folder).find(similar) {
        return format!("pictures are expected in images/; there is {name}/: rename it");
    }
    if around.iter().any(|(_, is_dir)| !is_dir) {
        return "pictures are expected in images/; there are files beside it: move them".to_owned();
    }
    "there is no folder images/".to_owned()
}

enum Kind {
    Folder,
    File,
    Other,
}

fn unreadable(stored: &str, error: &io::Error) -> Trouble {
    Trouble {
        kind: IssueKind::Unreadable,
        detail: format!("{stored}: {error}"),
    }
}

fn not_utf8(stored: String) -> Trouble {
    Trouble {
        kind: IssueKind::NotUtf8Name,
        detail: stored,
    }
}

fn join(folder: &str, name: &str) -> String {
    if folder.is_empty() {
        name.to_owned()
    } else {
        format!("{folder}/{name}")
    }
}

/// Returns a name as text; bytes that are no UTF-8 appear as `\xNN`.
fn shown(name: &OsStr) -> String {
    let mut text = String::with_capacity(name.len());
    for chunk in name.as_encoded_bytes().utf8_chunks() {
        text.push_str(chunk.valid());
        for byte in chunk.invalid() {
            write!(text, "\\x{byte:02X}").expect("writing to a string cannot fail");
        }
    }
    text
}

#[cfg(test)]
mod tests;
