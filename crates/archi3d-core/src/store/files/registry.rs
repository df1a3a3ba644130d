//! The registry on disk: read when it changed, replaced in one piece.
//!
//! The parsed table is kept between folds. Its file is kept open too, so that
//! its inode number cannot be given to another file while we compare.

use std::borrow::Cow;
use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use crate::domain::id::{JobId, RunId};
use crate::domain::job::Status;
use crate::domain::patch::DRY_RUN;
use crate::domain::reconcile::DOWNGRADED;
use crate::domain::time::Timestamp;
use crate::platform::{self, FileIdentity, FileVersion};
use crate::store::error::{IoContext, StoreError};
use crate::workspace::durable;
use crate::workspace::lock::TableLock;
use crate::workspace::paths::Workspace;

use super::RowBrief;
use crate::store::manifest::ManifestRow;
use crate::table::codec::decode;
use crate::table::{Table, TableError};

/// Larger tables are refused rather than bringing the machine down.
const MAX_TABLE_BYTES: u64 = 8 << 30;

/// A table that somebody writes in its place is read once it has not changed for so long,
const QUIET: Duration = Duration::from_millis(250);
/// or for so long where it is empty or its last line has no end,
const QUIET_IF_TORN: Duration = Duration::from_secs(5);
/// or after so long in any case.
const LONGEST_SAVE: Duration = Duration::from_secs(60);
const LOOK_EVERY: Duration = Duration::from_millis(25);

/// A table that was saved meanwhile is read again so often; a file system on which a file never
/// looks the same twice must not keep us from writing.
const MOST_READ_ANEW: u32 = 3;

/// The columns without which a row cannot be found.
pub(super) const KEY_COLUMNS: &[&str] = &["run_id", "job_id"];

/// The registry file and what we know of it.
#[derive(Debug)]
pub(super) struct Registry {
    path: PathBuf,
    tag: String,
    held: Option<Held>,
    /// The file that was read last, where its table is not held any more.
    before: Option<FileIdentity>,
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
            before: None,
        }
    }

    /// Returns the table as it is on disk now.
    pub(super) fn load(&mut self) -> Result<&mut Table, StoreError> {
        if !self.is_current()? {
            let held = self.held.take().map(|held| held.version.identity);
            let before = self.before.take().or(held);
            self.wait_until_whole(before);
            self.held = Some(self.read()?);
        }
        let held = self.held.as_mut().expect("was just read");
        Ok(&mut held.table)
    }

    /// Waits while somebody fills the file. We and whoever is careful put a whole table in its
    /// place; a spreadsheet or pandas empties the one that is there and writes it anew, and what
    /// is there by half must not be taken for all.
    fn wait_until_whole(&self, before: Option<FileIdentity>) {
        let begun = Instant::now();
        let (mut seen, mut since) = (None, begun);
        while begun.elapsed() < LONGEST_SAVE {
            let Some((version, torn, age)) = look(&self.path) else {
                return; // Whoever reads it says what is wrong.
            };
            if seen.replace(version) != Some(version) {
                since = Instant::now();
            }
            let quiet = match before {
                Some(before) if before != version.identity => return,
                Some(_) if torn => QUIET_IF_TORN,
                Some(_) => QUIET,
                None if torn && age < QUIET_IF_TORN => QUIET,
                None => return,
            };
            if since.elapsed() >= quiet {
                return;
            }
            thread::sleep(LOOK_EVERY);
        }
    }

    /// Tells whether the table we hold is the one on disk.
    pub(super) fn is_current(&self) -> Result<bool, StoreError> {
        match &self.held {
            Some(held) => is_version(&self.path, held.version).context("look at", &self.path),
            None => Ok(false),
        }
    }

    /// Changes the table that is there now, and writes it unless `edit` counts no change. Whoever does
    /// not know our lock may save while we write: then the table is read and edited once more.
    pub(super) fn change(
        &mut self,
        lock: &TableLock,
        mut edit: impl FnMut(&mut Table) -> Result<usize, StoreError>,
    ) -> Result<usize, StoreError> {
        let mut tries = 0..MOST_READ_ANEW;
        loop {
            let changed = edit(self.load()?)?;
            let whatever_is_there = tries.next().is_none();
            if changed == 0 || self.save(lock, whatever_is_there)? {
                return Ok(changed);
            }
        }
    }

    /// Writes the held table; returns `false` where another one is there by now.
    fn save(&mut self, _lock: &TableLock, whatever_is_there: bool) -> Result<bool, StoreError> {
        let Some(held) = self.held.take() else {
            return Ok(true);
        };
        // On an error the changed table is dropped: the next load reads the old file.
        let is_as_before = || Ok(whatever_is_there || is_version(&self.path, held.version)?);
        let replaced = durable::replace_if(&self.path, held.table.bytes(), &self.tag, is_as_before)
            .context("replace", &self.path)?;
        let Some((file, unnamed)) = replaced else {
            self.before = Some(held.version.identity);
            return Ok(false);
        };
        let unnamed = platform::version(&unnamed);
        let mut version = platform::version(&file.metadata().context("look at", &self.path)?);
        if !version.is_written_as(&unnamed) {
            // Saved in place since it has its name: what is there is not what we hold.
            version = unnamed;
        }
        self.held = Some(Held {
            _file: file,
            version,
            table: held.table,
        });
        Ok(true)
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

fn is_version(path: &Path, version: FileVersion) -> io::Result<bool> {
    match fs::symlink_metadata(path) {
        Ok(metadata) => Ok(platform::version(&metadata) == version),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Returns which version of the table is there, whether it has no end, and for how long it has
/// been there; nothing if it is no plain file or cannot be read.
fn look(path: &Path) -> Option<(FileVersion, bool, Duration)> {
    let mut file = open_table(path).ok()?;
    let metadata = file.metadata().ok()?;
    let version = platform::version(&metadata);
    // A time in the future is no age.
    let age = metadata.modified().ok()?.elapsed().unwrap_or_default();
    let mut last = [0];
    let whole = file.seek(SeekFrom::End(-1)).is_ok()
        && file.read_exact(&mut last).is_ok()
        && last == *b"\n";
    Some((version, !whole, age))
}

/// Says what to do about a table that is not there: where runs have left records,
/// the registry can be made again from them.
pub(in crate::store) fn missing_hint(path: &Path) -> String {
    let root = path.parent().and_then(Path::parent);
    if root.is_some_and(|root| Workspace::new(root).has_records()) {
        "`archi3d registry rebuild` makes it again from what the runs have recorded".into()
    } else {
        "run `archi3d batch create` first, or pass the right --workspace".into()
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
                hint: missing_hint(path),
            });
        }
        Err(error) => return Err(error).context("look at", path),
    };
    if !metadata.is_file() {
        let what = if metadata.is_dir() {
            "expected a table, found a folder"
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
pub(in crate::store) fn read_table(path: &Path) -> Result<Table, StoreError> {
    let file = open_table(path)?;
    let bytes = durable::read_open(file, MAX_TABLE_BYTES).context("read", path)?;
    parse_table(bytes, path)
}

fn parse_table(bytes: Vec<u8>, path: &Path) -> Result<Table, StoreError> {
    Table::parse(bytes).map_err(|error| content_error(&error, path))
}

/// Turns a table error into one that names the file.
pub(in crate::store) fn content_error(error: &TableError, path: &Path) -> StoreError {
    StoreError::Content {
        what: error.to_string(),
        path: path.to_owned(),
        hint: format!("{}; the file was not changed", error.hint()),
    }
}

/// What one job's row says.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Row {
    /// The row's number.
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
}

impl Row {
    /// Returns how much the row counts among copies: what one of them has
    /// bought must not be bought again because another one knows nothing of it.
    fn weight(&self) -> u8 {
        match &self.status {
            Ok(Status::Completed) if !self.rehearsal => 5,
            Ok(Status::Failed) => 4,
            Ok(Status::Running) => 3,
            Ok(Status::Cancelled) | Err(_) => 2,
            Ok(Status::Completed) => 1,
            Ok(Status::Enqueued) => 0,
        }
    }

    /// Returns the cells that a claim needs; what `before` has too is shared with it.
    pub(super) fn brief(&self, before: Option<&RowBrief>) -> RowBrief {
        let shared = |text: &str, of: fn(&RowBrief) -> &Arc<str>| match before.map(of) {
            Some(same) if **same == *text => same.clone(),
            _ => text.into(),
        };
        RowBrief {
            status: self.status.clone().unwrap_or(Status::Enqueued),
            start: self.start,
            rehearsal: self.rehearsal,
            downgraded: self.status == Ok(Status::Failed) && self.error.ends_with(DOWNGRADED),
            created_at: shared(&self.created_at, |row| &row.created_at),
            image_set_hash: shared(&self.image_set_hash, |row| &row.image_set_hash),
        }
    }
}

/// Where a registry has the cells we read; looked up once per table.
#[derive(Debug, Clone)]
pub(super) struct RowColumns {
    pub(super) job_id: Option<usize>,
    pub(super) status: Option<usize>,
    start: Option<usize>,
    end: Option<usize>,
    algo: Option<usize>,
    product_id: Option<usize>,
    variant: Option<usize>,
    images: Vec<usize>,
    /// The columns of a [`Row`], rising, each with its place in [`RowCells`].
    of_row: Vec<(usize, usize)>,
}

/// Where the cells of a [`Row`] are: status, start, price source, error, creation
/// and picture hash.
type RowCells = [Range<usize>; 6];

impl RowColumns {
    /// Finds the columns of `table`.
    pub(super) fn of(table: &Table) -> Self {
        let names = [
            "status",
            "generation_start",
            "price_source",
            "error_msg",
            "created_at",
            "image_set_hash",
        ];
        let places = names.iter().enumerate();
        let mut of_row: Vec<(usize, usize)> = places
            .filter_map(|(place, name)| Some((table.column(name)?, place)))
            .collect();
        of_row.sort_unstable();
        Self {
            of_row,
            job_id: table.column("job_id"),
            status: table.column("status"),
            start: table.column("generation_start"),
            end: table.column("generation_end"),
            algo: table.column("algo"),
            product_id: table.column("product_id"),
            variant: table.column("variant"),
            images: (1..)
                .map_while(|n| table.column(&format!("used_image_{n}_path")))
                .collect(),
        }
    }

    /// Returns the status and the start of a row: all that a fold needs to see.
    pub(super) fn status_and_start(
        &self,
        table: &Table,
        row: usize,
    ) -> (Result<Status, String>, Option<Timestamp>) {
        let status = text(table, row, self.status);
        let start = Timestamp::parse(&text(table, row, self.start));
        (Status::parse(&status).ok_or(status), start)
    }

    /// Returns when the row says that its job ended.
    pub(super) fn ended(&self, table: &Table, row: usize) -> Option<Timestamp> {
        Timestamp::parse(&text(table, row, self.end))
    }

    /// Reads the row at `number`, in one pass over its cells.
    pub(super) fn read(&self, table: &Table, number: usize, copies: usize) -> Row {
        let mut cells = RowCells::default();
        table.spans(number, &self.of_row, &mut cells);
        let [
            status,
            start,
            price_source,
            error,
            created_at,
            image_set_hash,
        ] = cells.map(|span| text_of(decode(&table.bytes()[span])));
        Row {
            number,
            copies,
            start: Timestamp::parse(&start),
            status: Status::parse(&status).ok_or_else(|| status.into_owned()),
            rehearsal: price_source == DRY_RUN,
            error: error.into_owned(),
            created_at: created_at.into_owned(),
            image_set_hash: image_set_hash.into_owned(),
        }
    }

    /// Returns a job that only the registry has, in the form of a manifest's row.
    pub(super) fn as_listed(&self, table: &Table, number: usize, job_id: JobId) -> ManifestRow {
        let images = self.images.iter();
        ManifestRow {
            job_id,
            product_id: text(table, number, self.product_id),
            variant: text(table, number, self.variant),
            algo: text(table, number, self.algo),
            images: images
                .map(|column| text(table, number, Some(*column)))
                .filter(|path| !path.is_empty())
                .collect(),
        }
    }

    /// Returns the row of one job, if it has one; of several, the one that says most.
    pub(super) fn find(&self, table: &mut Table, run: &RunId, job: &JobId) -> Option<Row> {
        let index = table.index(run.as_str());
        let mut rows = index.rows_of(job.as_str());
        let first = rows.next()?;
        let Some(second) = rows.next() else {
            return Some(self.read(index.table(), first, 1));
        };
        let rows: Vec<usize> = [first, second].into_iter().chain(rows).collect();
        // Of equal ones `max_by_key` takes the last, so the first comes last.
        let copies = rows.iter().rev();
        copies
            .map(|number| self.read(index.table(), *number, rows.len()))
            .max_by_key(Row::weight)
    }
}

fn text_of(cell: Cow<'_, [u8]>) -> Cow<'_, str> {
    match cell {
        Cow::Borrowed(bytes) => String::from_utf8_lossy(bytes),
        Cow::Owned(bytes) => Cow::Owned(String::from_utf8_lossy(&bytes).into_owned()),
    }
}

fn text(table: &Table, row: usize, column: Option<usize>) -> String {
    column
        .map(|column| String::from_utf8_lossy(&table.cell(row, column)).into_owned())
        .unwrap_or_default()
}
