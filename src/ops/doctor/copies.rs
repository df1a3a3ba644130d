//! Copies of the registry that sync programs and people left beside it, and what
//! is in them that is not in the table.

use std::collections::HashMap;
use std::fs;

use crate::domain::conflict::{Beside, beside};
use crate::domain::finding::{Code, Finding, such_as};
use crate::domain::time::Timestamp;
use crate::ops::table_file;
use crate::store::csv::table::Table;
use crate::workspace::paths::Workspace;

use super::Checkup;

pub(super) fn look(workspace: &Workspace, table: Option<&Table>, checkup: &mut Checkup) {
    let entries = fs::read_dir(workspace.tables())
        .into_iter()
        .flatten()
        .flatten();
    let mut names: Vec<String> = entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    for name in names {
        let path = format!("tables/{name}");
        match beside(&name, "generations.csv") {
            Some(Beside::OpenMark) => {
                let what = "a spreadsheet has the registry open, or died with it open";
                let finding = Finding::new(Code::TableOpen, what).at(&path, None);
                checkup.find(finding.fix("close it there without saving"));
            }
            Some(Beside::Copy) => checkup.find(compare(workspace, &path, &name, table)),
            None => {}
        }
    }
}

fn compare(workspace: &Workspace, path: &str, name: &str, table: Option<&Table>) -> Finding {
    let fix = "compare it with tables/generations.csv, then move it out of tables/";
    let Ok(Some(copy)) = table_file::read(&workspace.tables().join(name)) else {
        return Finding::new(Code::ConflictCopy, "a copy of the registry cannot be read")
            .at(path, None)
            .fix(fix);
    };
    let Some(table) = table else {
        return Finding::new(
            Code::ConflictCopy,
            "a copy of a registry that cannot be read",
        )
        .at(path, None)
        .fix("archi3d registry rebuild --dry-run");
    };
    let news = News::of(&copy, table);
    if news.is_empty() {
        return Finding::new(
            Code::StaleCopy,
            "a copy of the registry with nothing new in it",
        )
        .at(path, None)
        .fix(format!("mv '{path}' elsewhere"));
    }
    let finding = Finding::new(Code::ConflictCopy, news.sentence()).fix(fix);
    let lines = news.rows.iter().chain(&news.later).chain(&news.cells);
    lines.fold(finding, |finding, (_, line)| finding.at(path, Some(*line)))
}

/// What a copy has that the table has not: keys with lines of the copy.
#[derive(Default)]
struct News {
    rows: Vec<(String, usize)>,
    later: Vec<(String, usize)>,
    cells: Vec<(String, usize)>,
}

impl News {
    fn of(copy: &Table, table: &Table) -> Self {
        let mut known: HashMap<(String, String), usize> = HashMap::new();
        for row in 0..table.len() {
            known.insert(key(table, row), row);
        }
        let mut news = Self::default();
        for (row, line) in copy.rows_with_lines() {
            let key = key(copy, row);
            let shown = format!("{}/{}", key.0, key.1);
            let Some(ours) = known.get(&key) else {
                news.rows.push((shown, line));
                continue;
            };
            let start =
                |table: &Table, row| Timestamp::parse(&text(table, row, "generation_start"));
            if start(copy, row) > start(table, *ours) {
                news.later.push((shown, line));
            } else if fills_blanks(copy, row, table, *ours) {
                news.cells.push((shown, line));
            }
        }
        news
    }

    fn is_empty(&self) -> bool {
        self.rows.is_empty() && self.later.is_empty() && self.cells.is_empty()
    }

    fn sentence(&self) -> String {
        let part = |found: &[(String, usize)], what: &str| {
            let names: Vec<String> = found.iter().map(|(key, _)| key.clone()).collect();
            let counted = such_as(found.len(), "row", &names);
            (!found.is_empty()).then(|| format!("{counted} {what}"))
        };
        let parts = [
            part(&self.rows, "that the table lacks"),
            part(&self.later, "that started later than in the table"),
            part(&self.cells, "with text where the table is blank"),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        format!("a copy of the registry has {}", parts.join(", "))
    }
}

fn text(table: &Table, row: usize, column: &str) -> String {
    let cell = table.column(column).map(|column| table.cell(row, column));
    String::from_utf8_lossy(&cell.unwrap_or_default()).into_owned()
}

fn key(table: &Table, row: usize) -> (String, String) {
    (text(table, row, "run_id"), text(table, row, "job_id"))
}

/// Tells whether the copy says something where the table says nothing. What an
/// earlier attempt left in the copy's worker columns is no news.
fn fills_blanks(copy: &Table, row: usize, table: &Table, ours: usize) -> bool {
    let mut cells = copy.columns().iter().zip(copy.cells(row));
    cells.any(|(name, cell)| {
        let by_worker = crate::domain::patch::WORKER_COLUMNS.contains(&name.as_str());
        let blank = table
            .column(name)
            .is_none_or(|column| table.cell(ours, column).is_empty());
        !cell.is_empty() && blank && !by_worker && name != "algo_version"
    })
}
