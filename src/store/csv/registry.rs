//! The registry on disk: read when it changed, replaced in one piece.
//!
//! The parsed table is kept between folds. Its file is kept open too, so that
//! its inode number cannot be given to another file while we compare.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use crate::domain::id::{JobId, RunId};
use crate::domain::job::Status;
use crate::domain::patch::DRY_RUN;
use crate::domain::time::Timestamp;
use crate::platform::{self, FileVersion};
use crate::store::error::{IoContext, StoreError};
use crate::workspace::durable;

use super::RowBrief;
use super::table::{Table, TableError};

/// Larger tables are refused rather than bringing the machine down.
const MAX_TABLE_BYTES: u64 = 8 << 30;

/// The columns without which a row cannot be found.
pub(super) const KEY_COLUMNS: &[&str] = &["run_id", "job_id"];

/// The registry file and what we know of it.
#[derive(Debug)]
pub(super) struct Registry {
    path: PathBuf,
    tag: String,
    held: Option<Held>,
}

#[derive(Debug)]
struct Held {
    _file: File,
    version: FileVersion,
    table: Table,
}

impl Registry {
    /// Names the file; nothing is read yet. `tag` names our temporary files.
    pub(super) fn new(path: PathBuf, tag: &str) -> Self {
        Self {
            path,
            tag: tag.to_owned(),
            held: None,
        }
    }

    /// Returns the table as it is on disk now.
    pub(super) fn load(&mut self) -> Result<&mut Table, StoreError> {
        if !self.is_current()? {
            self.held = None;
            self.held = Some(self.read()?);
        }
        let held = self.held.as_mut().expect("was just read");
        Ok(&mut held.table)
    }

    /// Tells whether the table we hold is the one on disk.
    pub(super) fn is_current(&self) -> Result<bool, StoreError> {
        let Some(held) = &self.held else {
            return Ok(false);
        };
        match fs::symlink_metadata(&self.path) {
            Ok(metadata) => Ok(platform::version(&metadata) == held.version),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error).context("look at", &self.path),
        }
    }

    /// Writes the held table; the caller holds the registry's lock.
    pub(super) fn save(&mut self) -> Result<(), StoreError> {
        let Some(held) = self.held.take() else {
            return Ok(());
        };
        // On an error the changed table is dropped: the next load reads the old file.
        let file = durable::replace(&self.path, held.table.bytes(), &self.tag)
            .context("replace", &self.path)?;
        let version = platform::version(&file.metadata().context("look at", &self.path)?);
        self.held = Some(Held {
            _file: file,
            version,
            table: held.table,
        });
        Ok(())
    }

    fn read(&self) -> Result<Held, StoreError> {
        let file = open_table(&self.path)?;
        let version = platform::version(&file.metadata().context("look at", &self.path)?);
        let keep = file.try_clone().context("open", &self.path)?;
        let bytes = durable::read_open(file, MAX_TABLE_BYTES).context("read", &self.path)?;
        let table = parse_table(bytes, &self.path)?;
        table
            .require(KEY_COLUMNS)
            .and_then(|()| table.require(&["status"]))
            .map_err(|error| content_error(&error, &self.path))?;
        Ok(Held {
            _file: keep,
            version,
            table,
        })
    }
}

/// Opens a table file, refusing what is no plain file with words that help.
pub(super) fn open_table(path: &Path) -> Result<File, StoreError> {
    let metadata = match fs::symlink_metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(StoreError::Setup {
                what: "there is no such table".into(),
                path: path.to_owned(),
                hint: "run `archi3d batch create` first, or pass the right --workspace".into(),
            });
        }
        Err(error) => return Err(error).context("look at", path),
    };
    if !metadata.is_file() {
        let what = if metadata.is_dir() {
            "a folder stands where a table should be"
        } else if metadata.is_symlink() {
            "a table must be a plain file, not a link"
        } else {
            "a table must be a plain file"
        };
        return Err(StoreError::Setup {
            what: what.into(),
            path: path.to_owned(),
            hint: "move it away and put the real file there".into(),
        });
    }
    let mut options = fs::OpenOptions::new();
    options.read(true);
    platform::without_waiting(&mut options)
        .open(path)
        .context("open", path)
}

/// Reads and parses a table file.
pub(super) fn read_table(path: &Path) -> Result<Table, StoreError> {
    let file = open_table(path)?;
    let bytes = durable::read_open(file, MAX_TABLE_BYTES).context("read", path)?;
    parse_table(bytes, path)
}

fn parse_table(bytes: Vec<u8>, path: &Path) -> Result<Table, StoreError> {
    Table::parse(bytes).map_err(|error| content_error(&error, path))
}

/// Turns a table error into one that names the file.
pub(super) fn content_error(error: &TableError, path: &Path) -> StoreError {
    StoreError::Content {
        what: error.to_string(),
        path: path.to_owned(),
        hint: "the file was not changed; mend it or restore it from a copy, then try again".into(),
    }
}

/// What one job's row says.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Row {
    /// The row's number; the first one if the job has several.
    pub(super) number: usize,
    /// How many rows have the same key.
    pub(super) copies: usize,
    /// The status, or the word we do not know.
    pub(super) status: Result<Status, String>,
    pub(super) start: Option<Timestamp>,
    pub(super) rehearsal: bool,
    pub(super) error: String,
    pub(super) created_at: String,
    pub(super) image_set_hash: String,
    pub(super) algo: String,
    pub(super) product_id: String,
    pub(super) variant: String,
    pub(super) images: Vec<String>,
}

impl Row {
    /// Returns the cells that a claim needs.
    pub(super) fn brief(&self) -> RowBrief {
        RowBrief {
            status: self.status.clone().unwrap_or(Status::Enqueued),
            start: self.start,
            rehearsal: self.rehearsal,
            created_at: self.created_at.clone(),
            image_set_hash: self.image_set_hash.clone(),
        }
    }
}

/// Reads the row at `number`.
pub(super) fn read_row(table: &Table, number: usize, copies: usize) -> Row {
    let text = |name: &str| -> String {
        table
            .column(name)
            .map(|column| String::from_utf8_lossy(&table.cell(number, column)).into_owned())
            .unwrap_or_default()
    };
    let status = text("status");
    let images = (1..)
        .map_while(|n| table.column(&format!("used_image_{n}_path")))
        .map(|column| String::from_utf8_lossy(&table.cell(number, column)).into_owned())
        .filter(|path| !path.is_empty())
        .collect();
    Row {
        number,
        copies,
        status: Status::parse(&status).ok_or(status),
        start: Timestamp::parse(&text("generation_start")),
        rehearsal: text("price_source") == DRY_RUN,
        error: text("error_msg"),
        created_at: text("created_at"),
        image_set_hash: text("image_set_hash"),
        algo: text("algo"),
        product_id: text("product_id"),
        variant: text("variant"),
        images,
    }
}

/// Returns the row of one job, if it has one.
pub(super) fn find_row(table: &mut Table, run: &RunId, job: &JobId) -> Option<Row> {
    let rows: Vec<usize> = table.index(run.as_str()).rows_of(job.as_str()).collect();
    let first = *rows.first()?;
    Some(read_row(table, first, rows.len()))
}
