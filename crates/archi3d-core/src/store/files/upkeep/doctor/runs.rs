//! Each run: its manifest, rows, markers, journals, results and leftovers
//! against each other.

use std::borrow::Cow;
use std::cell::LazyCell;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::domain::finding::{Code, Finding, such_as};
use crate::domain::id::{JobId, RunId};
use crate::domain::spreadsheet::KnownIds;
use crate::domain::text::{counted, shell_word};
use crate::store::bounds::refuse_pushed;
use crate::store::files::upkeep::{FileUpkeep, created_rows};
use crate::store::files::{self, StateNames, SubjectColumns, SubjectKey};
use crate::store::manifest;
use crate::table::{Pick, Table};
use crate::workspace::paths::Workspace;
use crate::workspace::pictures::PictureMarks;

use super::{Checkup, DoctorRequest, unreadable};

pub(super) const REGISTRY: &str = "tables/generations.csv";

pub(super) const FIX: &str = "archi3d doctor --fix";

/// Looks at each run; returns the journals that are still to be read.
pub(super) fn look(
    upkeep: &FileUpkeep,
    request: &DoctorRequest,
    mut table: Option<&mut Table>,
    checkup: &mut Checkup,
) -> HashSet<PathBuf> {
    let workspace = &upkeep.workspace;
    let mut unread = HashSet::new();
    let folders = folders(workspace, checkup);
    let wanted = |run: &RunId| request.run_id.as_ref().is_none_or(|only| only == run);
    if let Some(table) = table.as_deref() {
        look_for_folders(table, &folders, checkup);
    }
    let mut live = 0;
    let looked: Vec<&RunId> = folders.iter().filter(|run| wanted(run)).collect();
    let mut in_fleets = 0;
    for run_id in &looked {
        if refuse_pushed(workspace, run_id).is_err() {
            // What is true of it stands in a database; its markers are of the time before.
            in_fleets += 1;
            continue;
        }
        let mut run = RunCheck {
            workspace,
            run_id,
            checkup: &mut *checkup,
        };
        // Listed after the table was read.
        let names = StateNames::list(&workspace.run(run_id));
        run.look_at_tables(table.as_deref_mut(), names.as_ref().ok());
        run.look_at_pictures();
        let how = (upkeep.clock.now(), request.deep);
        match files::examine(workspace, run_id, table.as_deref_mut(), names, how) {
            Ok(exam) => {
                live += exam.live_workers;
                run.tell(&exam);
                unread.extend(exam.unread_journals.iter().cloned());
                if let Some(table) = table.as_deref_mut() {
                    run.look_for_holders(table, &exam);
                }
            }
            Err(error) => {
                let finding = unreadable(&format!("runs/{run_id}/state"), &error);
                checkup.find(finding.of_run(run_id));
            }
        }
    }
    checkup.fact("runs", looked.len().to_string());
    if in_fleets > 0 {
        checkup.fact("runs in a fleet, not checked", in_fleets.to_string());
    }
    checkup.fact("live workers", live.to_string());
    unread
}

/// Lists the runs that have a folder of their own; links are told elsewhere.
pub(super) fn folders(workspace: &Workspace, checkup: &mut Checkup) -> BTreeSet<RunId> {
    match workspace.run_ids() {
        Ok(runs) => runs.into_iter().collect(),
        Err(error) => {
            checkup.find(unreadable("runs", &error));
            BTreeSet::new()
        }
    }
}

/// Tells of rows whose run has no folder.
fn look_for_folders(table: &Table, folders: &BTreeSet<RunId>, checkup: &mut Checkup) {
    let Some(column) = table.column("run_id") else {
        return;
    };
    let known: HashSet<&[u8]> = folders.iter().map(|run| run.as_str().as_bytes()).collect();
    let mut strays: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    for (row, line) in table.rows_with_lines() {
        let run = table.cell(row, column);
        if !known.contains(&*run) {
            let name = String::from_utf8_lossy(&run).into_owned();
            strays.entry(name).or_insert((line, 0)).1 += 1;
        }
    }
    for (run, (line, rows)) in strays {
        let what = format!("run {run:?} has {} and no folder", counted(rows, "row"));
        let finding = Finding::new(Code::RunWithoutFolder, what).of_run(&run);
        let fix = format!(
            "put runs/{run} back, or archi3d registry rebuild --run-id {} to list its jobs again",
            shell_word(&run)
        );
        checkup.find(finding.at(REGISTRY, Some(line)).fix(fix));
    }
}

/// Returns the command that lists a run's jobs again: the same and no others. A list
/// that cannot be used is only moved aside by a person.
fn list_again(workspace: &Workspace, run_id: &RunId) -> String {
    let path = workspace.run(run_id).manifest();
    let command = format!(
        "archi3d registry rebuild --run-id {}",
        shell_word(run_id.as_str())
    );
    match fs::symlink_metadata(&path) {
        Ok(found) if found.len() > 0 => {
            // Whoever reads it may stand anywhere.
            let path = path.display().to_string();
            let (from, to) = (shell_word(&path), shell_word(&format!("{path}.spoilt")));
            format!("mv {from} {to} && {command}")
        }
        _ => command,
    }
}

/// Returns the command that completes a run's list; with the run's own algorithms, as
/// others would add jobs.
fn create_again(table: Option<&Table>, run_id: &RunId) -> String {
    let of_run = table.and_then(|table| Some((table, table.column("algo")?)));
    let algos: BTreeSet<String> = of_run
        .into_iter()
        .flat_map(|(table, algo)| {
            let rows = table.rows_of("run_id", run_id.as_str());
            rows.into_iter()
                .map(move |row| String::from_utf8_lossy(&table.cell(row, algo)).into_owned())
        })
        .collect();
    let run = shell_word(run_id.as_str());
    let command = format!("archi3d batch create --run-id {run}");
    if algos.is_empty() {
        return format!("{command} --algos <the run's own>");
    }
    let algos: Vec<String> = algos.into_iter().collect();
    format!("{command} --algos {}", algos.join(","))
}

/// One run under examination.
pub(super) struct RunCheck<'a> {
    pub(super) workspace: &'a Workspace,
    pub(super) run_id: &'a RunId,
    checkup: &'a mut Checkup,
}

impl RunCheck<'_> {
    /// Tells of pictures that are others than when the jobs were made.
    fn look_at_pictures(&mut self) {
        let path = self.workspace.run(self.run_id).pictures();
        let replaced = PictureMarks::read(&path).all_replaced(self.workspace);
        if replaced.is_empty() {
            return;
        }
        let names = such_as(replaced.len(), "picture", &replaced);
        let what = format!("{names}: replaced since the batch was made");
        let typed = shell_word(self.run_id.as_str());
        let fix =
            format!("to make results again: archi3d run worker {typed} --redo --item PRODUCT");
        self.find(Finding::new(Code::ReplacedPicture, what).fix(fix));
    }

    pub(super) fn find(&mut self, finding: Finding) {
        self.checkup.find(finding.of_run(self.run_id));
    }

    pub(super) fn shown(&self, path: &Path) -> String {
        let inside = self.workspace.relative(path);
        inside.unwrap_or_else(|| path.display().to_string())
    }

    fn look_at_tables(&mut self, table: Option<&mut Table>, marked: Option<&StateNames>) {
        let run_id = self.run_id;
        let paths = self.workspace.run(run_id);
        let manifest = format!("runs/{run_id}/manifest.csv");
        let typed = shell_word(run_id.as_str());
        let again = create_again(table.as_deref(), run_id);
        let has_rows = table
            .as_deref()
            .is_some_and(|table| super::has_run(table, run_id));
        let recorded = has_rows || paths.rows().exists() || paths.state().exists();
        let (listed, faults) = match manifest::listed_jobs(&paths) {
            Ok(listed) => listed,
            Err(error) if recorded || paths.manifest().symlink_metadata().is_ok() => {
                let finding = Finding::new(Code::ManifestUnreadable, error.to_string());
                return self.find(
                    finding
                        .at(manifest, None)
                        .fix(list_again(self.workspace, run_id)),
                );
            }
            // A folder without anything of ours in it is no run.
            Err(_) => return,
        };
        if faults > 0 {
            let what = format!("{} of the manifest cannot be used", counted(faults, "line"));
            let finding = Finding::new(Code::ManifestUnreadable, what);
            self.find(
                finding
                    .at(&manifest, None)
                    .fix(list_again(self.workspace, run_id)),
            );
        }
        let Some(table) = table else { return };
        let index = table.index(run_id.as_str());
        if index.is_empty() {
            let what = format!(
                "no row names run {run_id}, which has {}",
                counted(listed.len(), "job")
            );
            let fix = format!("archi3d registry rebuild --run-id {typed}");
            return self.find(
                Finding::new(Code::RunWithoutRows, what)
                    .at(manifest, None)
                    .fix(fix),
            );
        }
        let has = |job: &str| index.first_of(job).is_some();
        let mut lacking: Vec<String> = listed
            .iter()
            .filter(|job| !has(job.as_str()))
            .map(ToString::to_string)
            .collect();
        let known: HashSet<&str> = listed.iter().map(JobId::as_str).collect();
        let (altered, wrong) = self.look_for_altered_ids(table, &known);
        lacking.retain(|job| !altered.contains(job));
        if !lacking.is_empty() {
            let what = format!("{} without a row", such_as(lacking.len(), "job", &lacking));
            let fix = format!("archi3d registry rebuild --run-id {typed}");
            self.find(
                Finding::new(Code::JobWithoutRow, what)
                    .at(&manifest, None)
                    .fix(fix),
            );
        }
        self.look_at_rows(table, marked, (&known, &wrong), &again);
        // A large list is not kept beside what comes next.
        drop(known);
        drop(listed);
        // Rows that contradict the manifest are not recorded as they were made.
        if wrong.is_empty() {
            self.look_at_record(table);
        }
    }

    /// Looks whether the rows could be made again if the table were lost.
    fn look_at_record(&mut self, table: &mut Table) {
        let path = self.workspace.run(self.run_id).rows();
        let record = match created_rows::read(&path) {
            Ok((record, _)) => record,
            Err(error) => {
                let shown = self.shown(&path);
                return self.find(unreadable(&shown, &error));
            }
        };
        let cells = Pick::of(table, ["job_id"]);
        let rows: Vec<usize> = table.index(self.run_id.as_str()).rows().collect();
        let known: HashSet<Cow<'_, [u8]>> = match &record {
            Some(record) => {
                let ids = Pick::of(record, ["job_id"]);
                let cells = (0..record.len()).map(|row| ids.cells(record, row));
                cells.map(|[id]| id).collect()
            }
            None => HashSet::new(),
        };
        let subjects = LazyCell::new(|| record.as_ref().map(created_rows::recorded_subjects));
        let is_recorded = |key: &SubjectKey| {
            let subjects = subjects.as_ref();
            subjects.is_some_and(|subjects| subjects.contains(key))
        };
        let ids = LazyCell::new(|| KnownIds::new(known.iter().flat_map(|id| str::from_utf8(id))));
        let columns = SubjectColumns::of(table);
        let lacking = rows.iter().filter(|row| {
            let [cell] = cells.cells(table, **row);
            let key = || columns.read(table, **row).key();
            !known.contains(&cell)
                && ids.original_of(&String::from_utf8_lossy(&cell)).is_none()
                && key().is_none_or(|key| !is_recorded(&key))
        });
        let count = lacking.count();
        if count > 0 {
            let shown = self.shown(&path);
            let what = format!(
                "{} of run {} not recorded as made",
                counted(count, "row"),
                self.run_id
            );
            let change = format!("record {} in {shown}", counted(count, "row"));
            self.find(
                Finding::new(Code::Unrecorded, what)
                    .at(shown, None)
                    .changes([change])
                    .fix(FIX),
            );
        }
    }
}
