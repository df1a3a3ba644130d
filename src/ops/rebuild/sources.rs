//! What a registry can be made again from: the table as it is, copies of it, and
//! the records of each run.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::domain::conflict::{Beside, beside};
use crate::domain::id::RunId;
use crate::domain::job::Status;
use crate::ops::births::{self, PLACE};
use crate::ops::table_file;
use crate::store::csv::History;
use crate::store::csv::table::{Table, TableError};
use crate::store::error::{IoContext, StoreError};
use crate::workspace::paths::Workspace;

/// The name of tables that a rebuild replaced begins with this.
pub(super) const ASIDE: &str = "generations.csv.before-rebuild-";

/// The registry as it is.
pub(super) struct OldTable {
    /// Its bytes, if there is a file.
    pub(super) bytes: Option<Vec<u8>>,
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
            bytes: None,
            table: None,
            trouble: Some("there is no tables/generations.csv".into()),
        });
    };
    let (table, trouble) = match readable(&bytes) {
        Ok((table, trouble)) => (Some(table), trouble),
        Err(error) => (
            None,
            Some(format!("tables/generations.csv cannot be used: {error}")),
        ),
    };
    Ok(OldTable {
        bytes: Some(bytes),
        table,
        trouble,
    })
}

/// Parses a table, giving up an end that a writer that died left unfinished.
fn readable(mut bytes: &[u8]) -> Result<(Table, Option<String>), TableError> {
    let mut trouble = None;
    let mut table = loop {
        match Table::parse(bytes.to_vec()) {
            Ok(table) => break table,
            Err(TableError::UnclosedQuote { line }) if line > 1 => {
                let mut breaks = memchr::memchr_iter(b'\n', bytes);
                let end = breaks.nth(line - 2).map_or(0, |at| at + 1);
                bytes = &bytes[..end];
                trouble = Some(format!(
                    "tables/generations.csv is cut off or damaged from line {line} on"
                ));
            }
            Err(error) => return Err(error),
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
    found.sort();
    let donors = found.into_iter().rev().filter_map(|(_, name, path)| {
        let bytes = table_file::read_bytes(&path).ok()??;
        let (table, _) = readable(&bytes).ok()?;
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
    pub(super) job: String,
    /// Which row of the registry it was, counted from 1.
    pub(super) place: Option<usize>,
    pub(super) origin: Origin,
    /// Columns and what they said; never empty texts.
    pub(super) cells: Vec<(String, String)>,
}

/// Everything that is known of one run.
pub(super) struct RunRecords {
    pub(super) run_id: RunId,
    /// Whether its rows are to be made again.
    pub(super) selected: bool,
    pub(super) rows: Vec<Made>,
    /// The columns of the registry when the last rows were made, and how they ended.
    pub(super) header: Vec<String>,
    pub(super) line_end: &'static [u8],
    pub(super) history: History,
    pub(super) warnings: Vec<String>,
}

impl RunRecords {
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
pub(super) fn records(
    workspace: &Workspace,
    run_id: &RunId,
    items: &Items,
) -> Result<RunRecords, StoreError> {
    let paths = workspace.run(run_id);
    let (births, damage) = births::read(&paths.rows())?;
    let history = History::read(workspace, run_id)?;
    let mut warnings: Vec<String> = damage.into_iter().collect();
    warnings.extend(history.warnings.iter().cloned());
    let mut run = RunRecords {
        run_id: run_id.clone(),
        selected: true,
        rows: Vec::new(),
        header: Vec::new(),
        line_end: b"\n",
        history,
        warnings,
    };
    if let Some(births) = &births {
        run.header = births.columns().to_vec();
        run.header.retain(|name| name != PLACE);
        run.line_end = births.line_end();
        run.rows = (0..births.len()).map(|row| born(births, row)).collect();
    }
    let mut known: HashSet<String> = run.rows.iter().map(|row| row.job.clone()).collect();
    match table_file::read(&paths.manifest()) {
        Ok(Some(manifest)) => {
            let rows = (0..manifest.len()).map(|row| listed(&manifest, row, run_id, items));
            let rows = rows.filter(|row| !row.job.is_empty() && known.insert(row.job.clone()));
            let rows: Vec<Made> = rows.collect();
            run.rows.extend(rows);
        }
        Ok(None) => {}
        Err(error) => run.warnings.push(error.to_string()),
    }
    let traces = run.history.jobs().map(ToString::to_string);
    let traces = traces.filter(|job| !known.contains(job) && run.history.vouches_for(job));
    let traces: Vec<Made> = traces.map(|job| traced(run_id, job)).collect();
    run.rows.extend(traces);
    Ok(run)
}

fn cells_of(table: &Table, row: usize) -> Vec<(String, String)> {
    let cells = table.columns().iter().zip(table.cells(row));
    cells
        .map(|(name, cell)| (name.clone(), String::from_utf8_lossy(&cell).into_owned()))
        .filter(|(_, text)| !text.is_empty())
        .collect()
}

fn born(births: &Table, row: usize) -> Made {
    let mut cells = cells_of(births, row);
    let take = |cells: &mut Vec<(String, String)>, name: &str| {
        let at = cells.iter().position(|(column, _)| column == name)?;
        Some(cells.remove(at).1)
    };
    let place = take(&mut cells, PLACE).and_then(|place| place.parse().ok());
    let job = cells.iter().find(|(column, _)| column == "job_id");
    Made {
        job: job.map(|(_, job)| job.clone()).unwrap_or_default(),
        place,
        origin: Origin::Record,
        cells,
    }
}

/// Returns a row that only the manifest knows; the item table adds its texts.
fn listed(manifest: &Table, row: usize, run_id: &RunId, items: &Items) -> Made {
    let mut cells = cells_of(manifest, row);
    let text = |name: &str| {
        let cell = cells.iter().find(|(column, _)| column == name);
        cell.map(|(_, text)| text.clone()).unwrap_or_default()
    };
    let job = text("job_id");
    let item = items.0.get(&(text("product_id"), text("variant")));
    let sources: Vec<(String, String)> = cells
        .iter()
        .filter(|(name, _)| name.starts_with("used_"))
        .map(|(name, text)| (name.replacen("used_", "source_", 1), text.clone()))
        .collect();
    cells.extend(sources);
    cells.extend(item.into_iter().flatten().cloned());
    cells.extend(beginning(run_id));
    Made {
        job,
        place: None,
        origin: Origin::Manifest,
        cells,
    }
}

fn traced(run_id: &RunId, job: String) -> Made {
    let mut cells = vec![("job_id".to_owned(), job.clone())];
    cells.extend(beginning(run_id));
    Made {
        job,
        place: None,
        origin: Origin::Traces,
        cells,
    }
}

fn beginning(run_id: &RunId) -> [(String, String); 2] {
    [
        ("run_id".to_owned(), run_id.to_string()),
        ("status".to_owned(), Status::Enqueued.word().to_owned()),
    ]
}

/// What the item table says of each product and variant, beyond the manifest.
#[derive(Default)]
pub(super) struct Items(HashMap<(String, String), Vec<(String, String)>>);

impl Items {
    /// Reads the item table; without one nothing is added.
    pub(super) fn read(path: &Path) -> Self {
        const TEXTS: [&str; 4] = ["category_l1", "category_l2", "category_l3", "description"];
        let Ok(Some(table)) = table_file::read(path) else {
            return Self::default();
        };
        let mut items = HashMap::new();
        for row in 0..table.len() {
            let cells = cells_of(&table, row);
            let text = |name: &str| {
                let cell = cells.iter().find(|(column, _)| column == name);
                cell.map(|(_, text)| text.trim().to_owned())
                    .unwrap_or_default()
            };
            let texts = TEXTS.map(|name| (name.to_owned(), text(name)));
            let texts = texts.into_iter().filter(|(_, text)| !text.is_empty());
            items.insert((text("product_id"), text("variant")), texts.collect());
        }
        Self(items)
    }
}
