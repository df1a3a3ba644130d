//! Copies of our files that sync programs and people left beside them, and what is
//! in them that is not in ours.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::Path;

use crate::domain::conflict::{Beside, beside};
use crate::domain::finding::{Code, Finding, such_as};
use crate::domain::job::Status;
use crate::domain::patch::WORKER_COLUMNS;
use crate::domain::reconcile::DOWNGRADED;
use crate::domain::text::counted;
use crate::domain::time::Timestamp;
use crate::store::table_file;
use crate::table::Table;
use crate::workspace::durable;
use crate::workspace::paths::Workspace;

use super::{Checkup, runs};

/// A larger file is only named, not compared.
const MOST_COMPARED: u64 = 64 << 20;

/// How the endings in a copy get into the table: no record vouches for them, so no
/// command takes them over.
const BRING_IN: &str = "stop all workers; take status, times, prices, paths and error_msg of \
     these rows over from the copy into tables/generations.csv; archi3d consolidate --run-id <the \
     run> --dry-run checks them against what is on disk; then move the copy out of tables/";

pub(super) fn look(workspace: &Workspace, table: Option<&Table>, checkup: &mut Checkup) {
    let names = names_in(&workspace.tables());
    for name in &names {
        let path = format!("tables/{name}");
        match beside(name, "generations.csv") {
            Some(Beside::OpenMark) => {
                let what = "a spreadsheet has the registry open, or died with it open";
                let finding = Finding::new(Code::TableOpen, what).at(&path, None);
                checkup.find(finding.fix("close it there without saving"));
            }
            Some(Beside::Copy) => checkup.find(compare(workspace, &path, name, table)),
            None => {}
        }
    }
    look_beside(workspace, "tables", "items.csv", &names, checkup);
    look_beside(workspace, "tables", LEDGER, &names, checkup);
    // What cannot be listed is told with the runs.
    for run_id in runs::folders(workspace, &mut Checkup::default()) {
        let folder = format!("runs/{run_id}");
        let names = names_in(workspace.run(&run_id).root());
        let found = checkup.findings.len();
        look_beside(workspace, &folder, "manifest.csv", &names, checkup);
        for finding in &mut checkup.findings[found..] {
            finding.run_id = Some(run_id.to_string());
        }
    }
}

fn names_in(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// The ledger of money: the only one of these files that nothing else tells.
const LEDGER: &str = "budget.jsonl";

/// Tells of copies of a file of which nobody but we writes lines.
fn look_beside(
    workspace: &Workspace,
    folder: &str,
    own: &str,
    names: &[String],
    checkup: &mut Checkup,
) {
    let root = workspace.root().join(folder);
    let copies = names
        .iter()
        .filter(|name| beside(name, own) == Some(Beside::Copy));
    for name in copies {
        let news = match (lines_of(&root.join(name)), lines_of(&root.join(own))) {
            (Some(copy), Some(known)) => Some(copy.difference(&known).count()),
            _ => None,
        };
        let (what, money) = match news {
            Some(0) => (
                format!("a copy of {folder}/{own} with nothing new in it"),
                false,
            ),
            Some(count) => (
                format!(
                    "a copy of {folder}/{own} has {} that it lacks",
                    counted(count, "line")
                ),
                own == LEDGER,
            ),
            None => (
                format!("a copy of {folder}/{own} that cannot be compared with it"),
                false,
            ),
        };
        let (code, fix) = if money {
            let fix = "stop all workers, append the lines that only the copy has to \
                       tables/budget.jsonl (what is there already counts once), then move the copy \
                       out of tables/";
            (Code::ConflictCopy, fix.to_owned())
        } else {
            (
                Code::CopyBeside,
                format!("compare it with {folder}/{own}, then move it elsewhere"),
            )
        };
        checkup.find(
            Finding::new(code, what)
                .at(format!("{folder}/{name}"), None)
                .fix(fix),
        );
    }
}

fn lines_of(path: &Path) -> Option<HashSet<Vec<u8>>> {
    let bytes = durable::read_plain(path, MOST_COMPARED).ok()?;
    let lines = bytes
        .split(|byte| *byte == b'\n')
        .map(<[u8]>::trim_ascii_end);
    Some(
        lines
            .filter(|line| !line.is_empty())
            .map(<[u8]>::to_vec)
            .collect(),
    )
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
    let fix = if news.ended.is_empty() { fix } else { BRING_IN };
    let finding = Finding::new(Code::ConflictCopy, news.sentence()).fix(fix);
    let lines = news.rows.iter().chain(&news.ended);
    let lines = lines.chain(&news.later).chain(&news.cells);
    lines.fold(finding, |finding, (_, line)| finding.at(path, Some(*line)))
}

/// What a copy has that the table has not: keys with lines of the copy.
#[derive(Default)]
struct News {
    rows: Vec<(String, usize)>,
    ended: Vec<(String, usize)>,
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
            let (theirs, ours) = (Said::of(copy, row), Said::of(table, *ours));
            if theirs.ended_since(&ours) {
                news.ended.push((shown, line));
            } else if theirs.start > ours.start {
                news.later.push((shown, line));
            } else if theirs.fills_blanks(&ours) {
                news.cells.push((shown, line));
            }
        }
        news
    }

    fn is_empty(&self) -> bool {
        let all = [&self.rows, &self.ended, &self.later, &self.cells];
        all.iter().all(|found| found.is_empty())
    }

    fn sentence(&self) -> String {
        let part = |found: &[(String, usize)], what: &str| {
            let names: Vec<String> = found.iter().map(|(key, _)| key.clone()).collect();
            let counted = such_as(found.len(), "row", &names);
            (!found.is_empty()).then(|| format!("{counted} {what}"))
        };
        let parts = [
            part(&self.rows, "that the table lacks"),
            part(&self.ended, "with an ending that the table does not have"),
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

/// What one row of a table says.
struct Said<'a> {
    table: &'a Table,
    row: usize,
    status: Option<Status>,
    start: Option<Timestamp>,
}

impl<'a> Said<'a> {
    fn of(table: &'a Table, row: usize) -> Self {
        Self {
            table,
            row,
            status: Status::parse(&text(table, row, "status")),
            start: Timestamp::parse(&text(table, row, "generation_start")),
        }
    }

    fn has_ended(&self) -> bool {
        matches!(self.status, Some(Status::Completed | Status::Failed))
    }

    /// Tells whether this row of a copy has an ending of which the table's row does
    /// not know; that of an attempt before the table's own is none.
    fn ended_since(&self, ours: &Said<'_>) -> bool {
        let earlier = self.start.is_some() && self.start < ours.start;
        self.has_ended() && !ours.has_ended() && !earlier
    }

    /// Tells whether this row of a copy says something where the table says nothing.
    /// What workers write counts if both rows tell of the same ending; else it may be
    /// what an earlier attempt left.
    fn fills_blanks(&self, ours: &Said<'_>) -> bool {
        let same_ending = self.has_ended()
            && self.status == ours.status
            && self.start == ours.start
            && !text(ours.table, ours.row, "error_msg").ends_with(DOWNGRADED);
        let cells = self.table.columns().iter().zip(self.table.cells(self.row));
        let mut told = cells.filter(|(_, cell)| !cell.is_empty());
        told.any(|(name, _)| {
            let column = ours.table.column(name);
            let blank = column.is_none_or(|column| ours.table.cell(ours.row, column).is_empty());
            let by_worker = WORKER_COLUMNS.contains(&name.as_str()) || name == "algo_version";
            blank && (!by_worker || same_ending)
        })
    }
}
