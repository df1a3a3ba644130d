//! `runs/<run>/pictures.csv`: how the pictures of a run looked when its jobs were made.
//!
//! A job is known by the names of its pictures, so one that is replaced under its
//! name is noticed by nothing else. Size and time show at a glance that a picture is
//! the same; only where the time differs are its beginning and end compared.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::UNIX_EPOCH;

use rayon::prelude::*;
use sha2::{Digest, Sha256};

use crate::domain::text::hex;
use crate::workspace::durable;
use crate::workspace::paths::Workspace;

const COLUMNS: [&str; 4] = ["path", "size", "modified_ns", "ends"];

/// How much of the beginning and of the end of a picture is compared.
const END_BYTES: u64 = 4096;

/// A larger record is none of ours.
const MAX_BYTES: u64 = 1 << 30;

/// How a picture looked.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Mark {
    size: u64,
    modified_ns: i128,
    ends: Box<str>,
}

type Marks = HashMap<Box<str>, Mark>;

/// How the pictures of a run looked, by their stored paths. The record is read when it is first asked.
#[derive(Debug, Default)]
pub struct PictureMarks {
    path: Option<PathBuf>,
    marks: OnceLock<Marks>,
}

impl PictureMarks {
    /// Goes by the record at `path`; without a usable one nothing is known.
    pub fn read(path: &Path) -> Self {
        Self {
            path: Some(path.to_owned()),
            marks: OnceLock::new(),
        }
    }

    fn marks(&self) -> &Marks {
        let path = self.path.as_deref();
        self.marks
            .get_or_init(|| path.map(read_marks).unwrap_or_default())
    }

    /// Looks at pictures and remembers how they are now. What is not a plain file of
    /// the workspace is left out: its jobs are told so when they run.
    pub fn look<'a>(&mut self, workspace: &Workspace, images: impl Iterator<Item = &'a str>) {
        let images: Vec<&str> = images.collect::<HashSet<_>>().into_iter().collect();
        let seen = images.into_par_iter().filter_map(|image| {
            let (mut file, size, modified_ns) = open(workspace, image)?;
            let ends = ends(&mut file, size).ok()?;
            let mark = Mark {
                size,
                modified_ns,
                ends,
            };
            Some((Box::from(image), mark))
        });
        let seen: Vec<(Box<str>, Mark)> = seen.collect();
        self.marks();
        if let Some(marks) = self.marks.get_mut() {
            marks.extend(seen);
        }
    }

    /// Returns the record as it is kept.
    pub fn to_bytes(&self) -> io::Result<Vec<u8>> {
        let marks = self.marks();
        let mut names: Vec<&str> = marks.keys().map(|name| &**name).collect();
        names.sort_unstable();
        let mut rows = ::csv::Writer::from_writer(b"\xEF\xBB\xBF".to_vec());
        rows.write_record(COLUMNS)?;
        for name in names {
            let mark = &marks[name];
            let (size, time) = (mark.size.to_string(), mark.modified_ns.to_string());
            rows.write_record([name, &size, &time, &mark.ends])?;
        }
        rows.into_inner().map_err(::csv::IntoInnerError::into_error)
    }

    /// Returns which of `images` are other pictures now.
    pub fn replaced<'a>(&self, workspace: &Workspace, images: &'a [String]) -> Vec<&'a str> {
        let images = images.iter().map(String::as_str);
        images
            .filter(|image| self.is_replaced(workspace, image).unwrap_or(false))
            .collect()
    }

    /// Returns all that are other pictures now, by name.
    pub fn all_replaced(&self, workspace: &Workspace) -> Vec<String> {
        let names = self.marks().par_iter().map(|(name, _)| name);
        let replaced = names.filter(|name| self.is_replaced(workspace, name).unwrap_or(false));
        let mut replaced: Vec<String> = replaced.map(ToString::to_string).collect();
        replaced.sort_unstable();
        replaced
    }

    fn is_replaced(&self, workspace: &Workspace, image: &str) -> Option<bool> {
        let mark = self.marks().get(image)?;
        let (mut file, size, modified_ns) = open(workspace, image)?;
        if size != mark.size {
            return Some(true);
        }
        Some(modified_ns != mark.modified_ns && ends(&mut file, size).ok()? != mark.ends)
    }
}

fn read_marks(path: &Path) -> Marks {
    let bytes = durable::read_plain(path, MAX_BYTES).unwrap_or_default();
    let text = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(&bytes);
    let mut rows = ::csv::ReaderBuilder::new().flexible(true).from_reader(text);
    let marks = rows.records().flatten().filter_map(|row| {
        let mark = Mark {
            size: row.get(1)?.parse().ok()?,
            modified_ns: row.get(2)?.parse().ok()?,
            ends: row.get(3)?.into(),
        };
        Some((row.get(0)?.into(), mark))
    });
    marks.collect()
}

/// Opens a plain file of the workspace; returns its size and time with it.
fn open(workspace: &Workspace, image: &str) -> Option<(File, u64, i128)> {
    let file = workspace.open_plainly(&workspace.absolute(image)?)?;
    let metadata = file.metadata().ok().filter(std::fs::Metadata::is_file)?;
    let modified = metadata.modified().ok()?;
    let nanos = |time: std::time::Duration| i128::try_from(time.as_nanos()).unwrap_or(i128::MAX);
    let modified_ns = match modified.duration_since(UNIX_EPOCH) {
        Ok(after) => nanos(after),
        Err(before) => -nanos(before.duration()),
    };
    Some((file, metadata.len(), modified_ns))
}

/// Returns a short hash of how a file begins and ends.
fn ends(file: &mut File, size: u64) -> io::Result<Box<str>> {
    let mut bytes = Vec::new();
    file.by_ref().take(END_BYTES).read_to_end(&mut bytes)?;
    let rest = size.saturating_sub(END_BYTES).max(END_BYTES);
    if size > END_BYTES {
        file.seek(SeekFrom::Start(rest))?;
        file.by_ref().take(END_BYTES).read_to_end(&mut bytes)?;
    }
    Ok(hex(&Sha256::digest(&bytes)[..8]).into())
}
