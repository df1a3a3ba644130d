//! Files of votes and verdicts, merged into the tables of the workspace.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use crate::domain::text::formula_safe;
use crate::ops::judge::{Kind, judged_jobs};
use crate::ops::{OpsContext, OpsError};
use crate::store::error::IoContext;
use crate::store::table_file::{self, Columns};
use crate::table::Table;
use crate::workspace::durable;
use crate::workspace::lock::FileLock;

/// What an import came to.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
pub struct Imported {
    /// Votes that were new.
    pub votes: usize,
    /// Verdicts that were new.
    pub accepts: usize,
    /// Rows that were there already.
    pub known: usize,
    /// Rows on jobs that this workspace does not have.
    pub unknown_jobs: usize,
    /// Rows that say nothing usable, or something else than the row with their id, with
    /// file and line.
    pub refused: Vec<String>,
}

/// A row of a file, and where it stands.
struct Incoming {
    cells: Vec<String>,
    place: String,
}

/// Merges files of votes and verdicts into the workspace's tables.
pub fn import(context: &OpsContext, files: &[PathBuf]) -> Result<Imported, OpsError> {
    context.expect_workspace()?;
    let mut imported = Imported::default();
    let mut incoming: Vec<(Kind, Vec<Incoming>)> = Vec::new();
    for file in files {
        incoming.push(read_file(file, &mut imported.refused)?);
    }
    take_in(context, &incoming, &mut imported)?;
    Ok(imported)
}

/// Adds votes and verdicts that came over the network, each as an object with the names of the
/// columns.
pub fn add(
    context: &OpsContext,
    votes: &[Map<String, Value>],
    accepts: &[Map<String, Value>],
) -> Result<Imported, OpsError> {
    context.expect_workspace()?;
    let mut imported = Imported::default();
    let mut incoming = Vec::new();
    for (kind, name, rows) in [
        (Kind::Votes, "votes", votes),
        (Kind::Accepts, "accepts", accepts),
    ] {
        let mut taken = Vec::new();
        for (number, row) in rows.iter().enumerate() {
            let place = format!("#/{name}/{number}");
            let text = |column: &&str| match row.get(*column) {
                None | Some(Value::Null) => String::new(),
                Some(Value::String(text)) => text.trim().to_owned(),
                Some(other) => other.to_string(),
            };
            let cells: Vec<String> = kind.columns().iter().map(text).collect();
            match kind.fault(&cells) {
                None => taken.push(Incoming { cells, place }),
                Some(fault) => imported.refused.push(format!("{place}: {fault}")),
            }
        }
        incoming.push((kind, taken));
    }
    take_in(context, &incoming, &mut imported)?;
    Ok(imported)
}

fn take_in(
    context: &OpsContext,
    incoming: &[(Kind, Vec<Incoming>)],
    imported: &mut Imported,
) -> Result<(), OpsError> {
    let jobs: HashSet<(String, String)> = judged_jobs(context)?.into_keys().collect();
    let folder = context.workspace.tables();
    std::fs::create_dir_all(&folder).context("create", &folder)?;
    for kind in [Kind::Votes, Kind::Accepts] {
        let rows = incoming.iter().filter(|(of, _)| *of == kind);
        let (rows, strange): (Vec<&Incoming>, Vec<&Incoming>) = rows
            .flat_map(|(_, rows)| rows)
            .partition(|row| kind.jobs(&row.cells).iter().all(|job| jobs.contains(job)));
        imported.unknown_jobs += strange.len();
        if rows.is_empty() {
            continue;
        }
        let new = merge(context, kind, &rows, imported)?;
        match kind {
            Kind::Votes => imported.votes += new,
            Kind::Accepts => imported.accepts += new,
        }
    }
    Ok(())
}

fn read_file(file: &Path, refused: &mut Vec<String>) -> Result<(Kind, Vec<Incoming>), OpsError> {
    let setup = |what: &str| OpsError::Setup {
        message: format!("{}: {what}", file.display()),
        hint: Some("take the files that the Judge page of a report saves".to_owned()),
    };
    let bytes = table_file::read_bytes(file)?.ok_or_else(|| setup("there is no such file"))?;
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
    if text.trim_ascii().is_empty() {
        return Err(setup("it is empty"));
    }
    let table = Table::parse(bytes).map_err(|error| table_file::content(file, &error))?;
    let kind = Kind::of(&table).ok_or_else(|| setup("it holds neither votes nor verdicts"))?;
    let columns = Columns::find(&table, kind.columns());
    let mut rows = Vec::new();
    for number in 0..table.len() {
        let row: Result<Vec<String>, _> = (0..kind.columns().len())
            .map(|index| {
                columns
                    .text(&table, number, index)
                    .map(|text| text.trim().to_owned())
            })
            .collect();
        let fault = match &row {
            Ok(row) => kind.fault(row),
            Err(error) => Some(error.to_string()),
        };
        let place = format!("{}, line {}", file.display(), table.line_of(number));
        match (row, fault) {
            (Ok(cells), None) => rows.push(Incoming { cells, place }),
            (_, fault) => refused.push(format!("{place}: {}", fault.unwrap_or_default())),
        }
    }
    Ok((kind, rows))
}

/// Adds rows whose id is not there yet; returns how many were new.
fn merge(
    context: &OpsContext,
    kind: Kind,
    rows: &[&Incoming],
    imported: &mut Imported,
) -> Result<usize, OpsError> {
    let path = kind.path(context);
    let lock = path.with_extension("lock");
    let _held = FileLock::acquire(&lock, |_| true).context("lock", &lock)?;
    let mut table = match table_file::read(&path)? {
        Some(table) => table,
        None => table_file::empty_like(kind.columns(), None),
    };
    table.ensure_columns(kind.columns());
    let columns = Columns::find(&table, kind.columns());
    // What each id says: on which models, and what.
    let mut said: HashMap<String, Vec<String>> = HashMap::new();
    for row in 0..table.len() {
        let text = |index| columns.text(&table, row, index).unwrap_or_default();
        let meaning = kind.meaning().iter().map(|index| text(*index).into_owned());
        said.insert(text(0).into_owned(), meaning.collect());
    }
    let positions: Vec<Option<usize>> = kind
        .columns()
        .iter()
        .map(|name| table.column(name))
        .collect();
    let mut added = Vec::new();
    for row in rows {
        let cells: Vec<String> = row.cells.iter().map(|text| formula_safe(text)).collect();
        let meaning: Vec<String> = kind.meaning().iter().map(|at| cells[*at].clone()).collect();
        match said.get(&cells[0]) {
            Some(known) if *known == meaning => imported.known += 1,
            Some(_) => imported.refused.push(format!(
                "{}: {} {} is known with another answer, which is kept",
                row.place,
                kind.columns()[0],
                cells[0]
            )),
            None => {
                said.insert(cells[0].clone(), meaning);
                let cells = positions.iter().zip(cells);
                added.push(
                    cells
                        .filter_map(|(place, text)| Some(((*place)?, text)))
                        .collect::<Vec<(usize, String)>>(),
                );
            }
        }
    }
    if !added.is_empty() {
        table.append(&added);
        durable::replace(&path, table.bytes(), "judge").context("write", &path)?;
    }
    Ok(added.len())
}
