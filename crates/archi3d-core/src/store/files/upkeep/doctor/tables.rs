//! The registry itself: can it be read, are its keys clear, are its cells harmless.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::hash::{BuildHasher as _, RandomState};
use std::path::Path;
use std::time::Duration;

use crate::domain::finding::{Code, Finding, such_as};
use crate::domain::text::{counted, formula_safe, shell_word};
use crate::store::table_file;
use crate::table::{Pick, Table};
use crate::workspace::durable;
use crate::workspace::lock;
use crate::workspace::paths::Workspace;

use super::{Checkup, unreadable};

const SHOWN: &str = "tables/generations.csv";

/// A temporary file that is younger may still be written.
const WRITING: Duration = Duration::from_secs(60);

/// Returns the registry, if it can be read.
pub(super) fn look(workspace: &Workspace, checkup: &mut Checkup) -> Option<Table> {
    look_for_temporaries(workspace, checkup);
    let table = match table_file::read(&workspace.registry()) {
        Ok(Some(table)) => table,
        Ok(None) => {
            look_why_missing(workspace, checkup);
            return None;
        }
        Err(error) => {
            let finding = Finding::new(Code::TableUnreadable, error.to_string()).at(SHOWN, None);
            checkup.find(finding.fix("archi3d registry rebuild --dry-run"));
            return None;
        }
    };
    checkup.fact("rows", table.len().to_string());
    if let Err(error) = table.require(&["run_id", "job_id", "status"]) {
        let what = format!("{error}; {}", error.hint());
        let finding = Finding::new(Code::TableUnreadable, what).at(SHOWN, Some(1));
        checkup.find(finding.fix("archi3d registry rebuild --dry-run"));
        return None;
    }
    if !table.is_utf8() {
        let what = "a spreadsheet has saved the table in another encoding than UTF-8";
        let finding = Finding::new(Code::NotUtf8, what).at(SHOWN, None);
        checkup.find(finding.fix(
            "archi3d registry rebuild writes the recorded texts again; \
             in the spreadsheet, save as \"CSV UTF-8\"",
        ));
    }
    let lines: Vec<usize> = table.rows_with_lines().map(|(_, line)| line).collect();
    look_at_keys(&table, &lines, checkup);
    look_at_cells(&table, &lines, checkup);
    Some(table)
}

/// Without a registry something is wrong only where there are runs.
fn look_why_missing(workspace: &Workspace, checkup: &mut Checkup) {
    checkup.fact("rows", "no registry");
    if workspace.has_records() {
        let what = "there is no registry, though there are runs";
        let finding = Finding::new(Code::TableMissing, what).at(SHOWN, None);
        checkup.find(finding.fix("archi3d registry rebuild"));
    }
}

fn look_for_temporaries(workspace: &Workspace, checkup: &mut Checkup) {
    let entries = match fs::read_dir(workspace.tables()) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return,
        Err(error) => return checkup.find(unreadable("tables", &error)),
    };
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let theirs = ["generations.csv.tmp", "generations.tmp"].contains(&name.as_str());
        let ours = durable::is_temporary(&name);
        let written = entry.metadata().and_then(|found| found.modified());
        let age = written.ok().and_then(|at| at.elapsed().ok());
        let young = age.is_none_or(|age| age < WRITING);
        let of_registry = ours && name.starts_with(".generations.csv.");
        if !(ours || theirs) || (young && !(of_registry && is_orphan(workspace, &entry.path()))) {
            continue;
        }
        let path = format!("tables/{name}");
        let finding = Finding::new(Code::LeftoverFile, "left by a writer that died");
        let finding = finding.at(&path, None);
        checkup.find(if of_registry {
            let changes = [format!("remove {path}")];
            finding.changes(changes).fix("archi3d doctor --fix")
        } else {
            finding.fix(format!("rm {path}"))
        });
    }
}

/// Tells whether the writer of a temporary registry is gone: it would hold the lock
/// until the file has its name.
fn is_orphan(workspace: &Workspace, path: &Path) -> bool {
    let held = lock::is_held(&workspace.registry_lock());
    held.is_ok_and(|held| !held) && path.symlink_metadata().is_ok()
}

fn look_at_keys(table: &Table, lines: &[usize], checkup: &mut Checkup) {
    let cells = Pick::of(table, ["run_id", "job_id"]);
    let hasher = RandomState::new();
    let keys = (0..table.len()).map(|row| (hasher.hash_one(cells.cells(table, row)), row));
    let mut keys: Vec<(u64, usize)> = keys.collect();
    keys.sort_unstable();
    let mut again = Vec::new();
    for alike in keys.chunk_by(|a, b| a.0 == b.0).filter(|of| of.len() > 1) {
        let mut seen = HashSet::new();
        let rows = alike.iter().map(|(_, row)| *row);
        again.extend(rows.filter(|row| !seen.insert(cells.cells(table, *row))));
    }
    again.sort_unstable();
    let mut doubled: BTreeMap<String, Vec<(String, usize)>> = BTreeMap::new();
    for row in again {
        let [run_id, job_id] = cells.texts(table, row).map(Cow::into_owned);
        let of_run = doubled.entry(run_id).or_default();
        of_run.push((job_id, lines[row]));
    }
    for (run_id, rows) in doubled {
        let names: Vec<String> = rows.iter().map(|(job, _)| job.clone()).collect();
        let what = format!(
            "run {run_id}: {} more than once",
            such_as(rows.len(), "job", &names)
        );
        let finding = Finding::new(Code::DuplicateKey, what)
            .of_run(&run_id)
            .fix(format!(
                "archi3d consolidate --run-id {}",
                shell_word(&run_id)
            ));
        let finding = rows
            .iter()
            .fold(finding, |finding, (_, line)| finding.at(SHOWN, Some(*line)));
        checkup.find(finding);
    }
}

/// How harmful the text of a cell may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Harm {
    FormulaLike,
    Formula,
    Control,
}

/// Tells whether no cell of a row can do harm, by its bytes: plain text in which no cell
/// begins with a sign.
fn is_harmless(row: &[u8]) -> bool {
    let sign = |byte: u8| matches!(byte, b'=' | b'+' | b'-' | b'@' | b'"');
    let mut before = b',';
    row.iter().all(|byte| {
        let plain = (b' '..0x7f).contains(byte) && !(before == b',' && sign(*byte));
        before = *byte;
        plain
    })
}

/// Tells what a spreadsheet or a terminal may make of a cell.
fn harm_of(text: &str) -> Option<Harm> {
    if text.bytes().any(|byte| byte < b' ' || byte == 0x7f) || text.contains('\u{9b}') {
        let obeyed = |c: char| c.is_control() && !matches!(c, '\n' | '\r' | '\t');
        if text.contains(obeyed) {
            return Some(Harm::Control);
        }
    }
    // A number may begin with a sign.
    if formula_safe(text) == text || text.parse::<f64>().is_ok() {
        return None;
    }
    let plain = text.starts_with(['+', '-', '＋', '－']);
    Some(if plain {
        Harm::FormulaLike
    } else {
        Harm::Formula
    })
}

fn look_at_cells(table: &Table, lines: &[usize], checkup: &mut Checkup) {
    let mut found: BTreeMap<(Harm, String), Vec<usize>> = BTreeMap::new();
    let suspects = lines.iter().enumerate();
    for (row, line) in suspects.filter(|(row, _)| !is_harmless(table.raw(*row))) {
        for (name, cell) in table.columns().iter().zip(table.cells(row)) {
            let text = String::from_utf8_lossy(&cell);
            if let Some(harm) = harm_of(&text) {
                found.entry((harm, name.clone())).or_default().push(*line);
            }
        }
    }
    for ((harm, column), lines) in found {
        let (code, how) = match harm {
            Harm::FormulaLike => (Code::FormulaLike, "that begin with a sign"),
            Harm::Formula => (Code::UnsafeCell, "that are formulas"),
            Harm::Control => (Code::UnsafeCell, "with control characters"),
        };
        let what = format!("{} in column {column} {how}", counted(lines.len(), "cell"));
        let finding = Finding::new(code, what)
            .fix("set the text right where it comes from, and do not open the table in a spreadsheet meanwhile");
        let finding = lines
            .iter()
            .fold(finding, |finding, line| finding.at(SHOWN, Some(*line)));
        checkup.find(finding);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_rows_need_no_closer_look() {
        assert!(is_harmless(
            b"r,job-1,completed,,a=b,2026-01-01T00:00:00+00:00,x y"
        ));
        for row in ["=1", "a,-1", "a,\"=1\"", "a,\u{ff1d}1", "a,b\u{7f}", "\tx"] {
            assert!(!is_harmless(row.as_bytes()), "{row:?}");
        }
    }

    #[test]
    fn cells_are_judged_by_what_other_programs_make_of_them() {
        for (text, harm) in [
            ("", None),
            ("plain, with a line\nbreak", None),
            ("-12.5", None),
            ("+39", None),
            ("-x", Some(Harm::FormulaLike)),
            ("=1+1", Some(Harm::Formula)),
            ("@SUM(A1)", Some(Harm::Formula)),
            ("red \u{1b}[31m", Some(Harm::Control)),
            ("c1 \u{9b}31m", Some(Harm::Control)),
            ("nul\0", Some(Harm::Control)),
        ] {
            assert_eq!(harm_of(text), harm, "{text:?}");
            let row = format!("a,{text},b");
            assert!(harm.is_none() || !is_harmless(row.as_bytes()), "{text:?}");
        }
    }
}
