//! What a registry can be made again from: the table as it is, copies of it, and
//! the records of each run.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::SystemTime;

use crate::domain::conflict::{Beside, beside};
use crate::domain::id::{JobId, RunId};
use crate::domain::job::Status;
use crate::store::error::{IoContext, StoreError};
use crate::store::files::upkeep::created_rows::{self, PLACE};
use crate::store::files::{History, Subject, SubjectColumns};
use crate::store::table_file;
use crate::table::{Table, TableError};
use crate::workspace::paths::Workspace;

/// The name of tables that a rebuild replaced begins with this.
pub(super) const ASIDE: &str = "generations.csv.before-rebuild-";

/// The registry as it is.
pub(super) struct OldTable {
    /// Whether there is a file.
    pub(super) exists: bool,
    /// Its rows, as far as they can be read.
    pub(super) table: Option<Table>,
    /// Why they cannot, or what had to be left out.
    pub(super) trouble: Option<String>,
}

/// Reads the registry however damaged it is.
pub(super) fn old_table(workspace: &Workspace) -> Result<OldTable, StoreError> {
    let path = workspace.registry();
    let plain = fs::symlink_metadata(&path).map(|found| found.is_file());
    if matches!(plain, Ok(false)) {
        return Err(StoreError::Setup {
            what: "a table must be a plain file".into(),
            path,
            hint: "move what is there away and try again".into(),
        });
    }
    let Some(bytes) = table_file::read_bytes(&path)? else {
        return Ok(OldTable {
            exists: false,
            table: None,
            trouble: Some("there is no tables/generations.csv".into()),
        });
    };
    let (table, trouble) = match readable(bytes) {
        Ok((table, trouble)) => (Some(table), trouble),
        Err(error) => (
            None,
            Some(format!("tables/generations.csv cannot be used: {error}")),
        ),
    };
    Ok(OldTable {
        exists: true,
        table,
        trouble,
    })
}

/// Parses a table, giving up an end that a writer that died left unfinished.
fn readable(mut bytes: Vec<u8>) -> Result<(Table, Option<String>), TableError> {
    let mut trouble = None;
    let mut table = loop {
        match Table::try_parse(bytes) {
            Ok(table) => break table,
            Err((TableError::UnclosedQuote { line }, mut cut)) if line > 1 => {
                let mut breaks = memchr::memchr_iter(b'\n', &cut);
                let end = breaks.nth(line - 2).map_or(0, |at| at + 1);
                cut.truncate(end);
                bytes = cut;
                trouble = Some(format!(
                    "tables/generations.csv is cut off or damaged from line {line} on"
                ));
            }
            Err((error, _)) => return Err(error),
        }
    };
    table.require(&["run_id", "job_id", "status"])?;
    let last = table.len().checked_sub(1);
    if let Some(last) = last.filter(|last| table.ends_without_line_end() && table.is_short(*last)) {
        trouble = Some(format!(
            "line {} of tables/generations.csv is cut off",
            table.line_of(last)
        ));
        table.remove(&[last]);
    }
    Ok((table, trouble))
}

/// A copy of the registry, and where it lies.
pub(super) struct Donor {
    pub(super) name: String,
    pub(super) table: Table,
}

/// Returns the copies of the registry that can be read, the newest first.
pub(super) fn donors(workspace: &Workspace) -> Result<Vec<Donor>, StoreError> {
    let tables = workspace.tables();
    let entries = match fs::read_dir(&tables) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error).context("list", &tables),
    };
    let mut found: Vec<(SystemTime, String, PathBuf)> = Vec::new();
    for entry in entries {
        let entry = entry.context("list", &tables)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let copy =
            name.starts_with(ASIDE) || beside(&name, "generations.csv") == Some(Beside::Copy);
        let metadata = fs::symlink_metadata(entry.path());
        if let Some(metadata) = metadata.ok().filter(|found| copy && found.is_file()) {
            let written = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
            found.push((written, name, entry.path()));
        }
    }
    for run_id in runs(workspace)? {
        let paths = workspace.run(&run_id);
        let path = paths.pulled_rows();
        let written = fs::metadata(&path).and_then(|found| found.modified());
        // What is known of a run that lives in a fleet, a pull brings.
        if let Some(written) = written.ok().filter(|_| !paths.in_fleet()) {
            let name = workspace.relative(&path).unwrap_or_default();
            found.push((written, name, path));
        }
    }
    found.sort();
    let donors = found.into_iter().rev().filter_map(|(_, name, path)| {
        let bytes = table_file::read_bytes(&path).ok()??;
        let (table, _) = readable(bytes).ok()?;
        Some(Donor { name, table })
    });
    Ok(donors.collect())
}

/// Where what is known of a row from its beginning was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    /// In the record of the run's rows: everything.
    Record,
    /// In the manifest and the item table: all but the time of its making.
    Manifest,
    /// In a marker or a journal: only that it exists and how it ended.
    Traces,
}

/// A row as it was made, as far as anybody knows.
pub(super) struct Made {
    pub(super) job: Box<str>,
    /// Which row of the registry it was, counted from 1.
    pub(super) place: Option<usize>,
    pub(super) origin: Origin,
    /// Which row it is of the table it was found in.
    row: usize,
}

/// A column and what it said.
type Cell<'a> = (Cow<'a, str>, String);

/// Everything that is known of one run.
pub(super) struct RunRecords<'a> {
    pub(super) run_id: RunId,
    /// Whether its rows are to be made again.
    pub(super) selected: bool,
    pub(super) rows: Vec<Made>,
    /// Where the rows are told.
    created: Option<Table>,
    manifest: Option<Table>,
    /// Where both have what jobs are made from.
    subjects: (Option<SubjectColumns>, Option<SubjectColumns>),
    items: &'a Items,
    /// The columns of the registry when the last rows were made, and how they ended.
    pub(super) header: Vec<String>,
    pub(super) line_end: &'static [u8],
    pub(super) history: History,
    pub(super) warnings: Vec<String>,
}

impl RunRecords<'_> {
    /// Returns the columns of a row as it was made and what they said; never empty texts.
    pub(super) fn cells(&self, made: &Made) -> Vec<Cell<'_>> {
        match (made.origin, &self.created, &self.manifest) {
            (Origin::Record, Some(created), _) => {
                let mut cells = cells_of(created, made.row);
                cells.retain(|(column, _)| column != PLACE);
                cells
            }
            (Origin::Manifest, _, Some(manifest)) => {
                listed(manifest, made.row, &self.run_id, self.items)
            }
            _ => {
                let mut cells = vec![("job_id".into(), made.job.to_string())];
                cells.extend(beginning(&self.run_id));
                cells
            }
        }
    }

    /// Returns the cells of a row of `table` that are not as they were made, status apart;
    /// `places` says where it has its columns.
    pub(super) fn changed(
        &self,
        made: &Made,
        table: &Table,
        row: usize,
        places: &HashMap<&str, usize>,
    ) -> Vec<(usize, String)> {
        let place_of = |name: &str| {
            let known = name != "status" && name != PLACE;
            places.get(name).copied().filter(|_| known)
        };
        let (Origin::Record, Some(created)) = (made.origin, &self.created) else {
            let cells = self.cells(made).into_iter();
            return cells
                .filter_map(|(name, text)| Some((place_of(&name)?, text)))
                .collect();
        };
        let found: Vec<Cow<'_, [u8]>> = table.cells(row).collect();
        let own = created.columns().iter().zip(created.cells(made.row));
        let changed = own.filter_map(|(name, cell)| {
            let at = place_of(name).filter(|_| !cell.is_empty())?;
            let same = found.get(at).is_some_and(|found| *found == cell);
            (!same).then(|| (at, String::from_utf8_lossy(&cell).into_owned()))
        });
        changed.collect()
    }

    /// Returns what the job of a row is made from.
    pub(super) fn subject(&self, made: &Made) -> Subject {
        let told = match made.origin {
            Origin::Record => self.created.as_ref().zip(self.subjects.0.as_ref()),
            Origin::Manifest => self.manifest.as_ref().zip(self.subjects.1.as_ref()),
            Origin::Traces => None,
        };
        let subject = told.map(|(table, columns)| columns.read(table, made.row));
        subject.unwrap_or_default()
    }

    /// Returns the place of the last row that is recorded.
    pub(super) fn last_place(&self) -> usize {
        let places = self.rows.iter().filter_map(|row| row.place);
        places.max().unwrap_or(0)
    }
}

/// Lists the runs that have a folder, by name.
pub(super) fn runs(workspace: &Workspace) -> Result<Vec<RunId>, StoreError> {
    workspace.run_ids().context("list", &workspace.runs())
}

/// Reads everything that is known of a run.
pub(super) fn records<'a>(
    workspace: &Workspace,
    run_id: &RunId,
    items: &'a Items,
) -> Result<RunRecords<'a>, StoreError> {
    let paths = workspace.run(run_id);
    let (created, damage) = created_rows::read(&paths.rows())?;
    let mut warnings: Vec<String> = damage.into_iter().collect();
    let mut rows = created.as_ref().map(made_rows).unwrap_or_default();
    // Read before the journals: what it lists is mostly known and can go again.
    let (manifest, trouble) = match table_file::read(&paths.manifest()) {
        Ok(manifest) => (manifest, None),
        Err(error) => (None, Some(error.to_string())),
    };
    let of_manifest = manifest
        .as_ref()
        .map(|manifest| only_listed(manifest, &rows));
    let of_manifest = of_manifest.unwrap_or_default();
    let manifest = manifest.filter(|_| !of_manifest.is_empty());
    rows.extend(of_manifest);
    let history = History::read(workspace, run_id)?;
    warnings.extend(history.warnings.iter().cloned());
    warnings.extend(trouble);
    let traced = only_traced(&history, &rows);
    rows.extend(traced);
    let header = created.as_ref().map_or(&[][..], Table::columns).iter();
    let header = header.filter(|name| *name != PLACE).cloned().collect();
    Ok(RunRecords {
        run_id: run_id.clone(),
        selected: true,
        rows,
        header,
        line_end: created.as_ref().map_or(b"\n", Table::line_end),
        subjects: (
            created.as_ref().map(SubjectColumns::of),
            manifest.as_ref().map(SubjectColumns::of),
        ),
        created,
        manifest,
        items,
        history,
        warnings,
    })
}

fn job_of(table: &Table, row: usize) -> Box<str> {
    let cell = table.column("job_id").map(|column| table.cell(row, column));
    String::from_utf8_lossy(&cell.unwrap_or_default()).into()
}

/// Returns the rows that were recorded when they were made.
fn made_rows(created: &Table) -> Vec<Made> {
    let place = created.column(PLACE);
    let place_of = |row| {
        let cell = created.cell(row, place?);
        str::from_utf8(&cell).ok()?.parse().ok()
    };
    let rows = (0..created.len()).map(|row| Made {
        job: job_of(created, row),
        place: place_of(row),
        origin: Origin::Record,
        row,
    });
    rows.collect()
}

/// Returns the rows that only the manifest knows.
fn only_listed(manifest: &Table, known: &[Made]) -> Vec<Made> {
    let known: HashSet<&str> = known.iter().map(|row| &*row.job).collect();
    let mut listed = HashSet::new();
    let rows = (0..manifest.len()).map(|row| Made {
        job: job_of(manifest, row),
        place: None,
        origin: Origin::Manifest,
        row,
    });
    let new = |row: &Made| !row.job.is_empty() && !known.contains(&*row.job);
    rows.filter(|row| new(row) && listed.insert(row.job.clone()))
        .collect()
}

/// Returns the rows that only a marker or a journal knows.
fn only_traced(history: &History, known: &[Made]) -> Vec<Made> {
    let known: HashSet<&str> = known.iter().map(|row| &*row.job).collect();
    let traces = history.jobs().map(JobId::as_str);
    let traces = traces.filter(|job| !known.contains(job) && history.vouches_for(job));
    let traces = traces.map(|job| Made {
        job: job.into(),
        place: None,
        origin: Origin::Traces,
        row: 0,
    });
    traces.collect()
}

fn cells_of(table: &Table, row: usize) -> Vec<Cell<'_>> {
    let cells = table.columns().iter().zip(table.cells(row));
    cells
        .map(|(name, cell)| (name.into(), String::from_utf8_lossy(&cell).into_owned()))
        .filter(|(_, text)| !text.is_empty())
        .collect()
}

fn text_of(cells: &[Cell<'_>], name: &str) -> String {
    let cell = cells.iter().find(|(column, _)| column == name);
    cell.map(|(_, text)| text.clone()).unwrap_or_default()
}

/// Returns a row that only the manifest knows; the item table adds its texts.
fn listed<'a>(manifest: &'a Table, row: usize, run_id: &RunId, items: &'a Items) -> Vec<Cell<'a>> {
    let mut cells = cells_of(manifest, row);
    let item = (text_of(&cells, "product_id"), text_of(&cells, "variant"));
    let sources: Vec<Cell<'_>> = cells
        .iter()
        .filter(|(name, _)| name.starts_with("used_"))
        .map(|(name, text)| (name.replacen("used_", "source_", 1).into(), text.clone()))
        .collect();
    cells.extend(sources);
    let texts = items.texts().get(&item).into_iter().flatten();
    cells.extend(texts.map(|(name, text)| ((*name).into(), text.clone())));
    cells.extend(beginning(run_id));
    cells
}

fn beginning(run_id: &RunId) -> [Cell<'static>; 2] {
    [
        ("run_id".into(), run_id.to_string()),
        ("status".into(), Status::Enqueued.word().to_owned()),
    ]
}

/// What the item table says of each product and variant, beyond the manifest.
type Texts = HashMap<(String, String), Vec<(&'static str, String)>>;

/// The item table, read when it is first asked for.
pub(super) struct Items {
    path: PathBuf,
    texts: OnceLock<Texts>,
}

impl Items {
    /// Names the item table; without one nothing is added.
    pub(super) fn at(path: PathBuf) -> Self {
        Self {
            path,
            texts: OnceLock::new(),
        }
    }

    fn texts(&self) -> &Texts {
        self.texts.get_or_init(|| read_texts(&self.path))
    }
}

fn read_texts(path: &Path) -> Texts {
    const TEXTS: [&str; 4] = ["category_l1", "category_l2", "category_l3", "description"];
    let mut items = HashMap::new();
    let Ok(Some(table)) = table_file::read(path) else {
        return items;
    };
    for row in 0..table.len() {
        let cells = cells_of(&table, row);
        let text = |name: &str| text_of(&cells, name).trim().to_owned();
        let texts = TEXTS.map(|name| (name, text(name)));
        let texts = texts.into_iter().filter(|(_, text)| !text.is_empty());
        items.insert((text("product_id"), text("variant")), texts.collect());
    }
    items
}
