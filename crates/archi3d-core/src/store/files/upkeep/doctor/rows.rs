//! The rows of a run: what they say against the manifest, the results and the state
//! folder.

use std::cell::LazyCell;
use std::collections::{BTreeSet, HashSet};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::Path;

use rayon::prelude::*;

use crate::domain::finding::{Code, Finding, such_as};
use crate::domain::id::JobId;
use crate::domain::job::Status;
use crate::domain::naming;
use crate::domain::spreadsheet::KnownIds;
use crate::domain::text::shell_word;
use crate::store::files::upkeep::consolidate::is_whole_result;
use crate::store::files::{RunExam, StateNames, contradictions};
use crate::table::{Pick, Table};
use crate::workspace::artifact::model_fault;
use crate::workspace::paths::Workspace;

use super::runs::{REGISTRY, RunCheck};

fn text(table: &Table, row: usize, name: &str) -> String {
    let cell = table.column(name).map(|column| table.cell(row, column));
    String::from_utf8_lossy(&cell.unwrap_or_default()).into_owned()
}

/// What a row says that something else does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Odd {
    Unlisted,
    Unmarked,
    Gone,
    Foreign,
}

/// Tells whether there is something at the path of a model.
fn has_model(workspace: &Workspace, path: &str) -> bool {
    let file = workspace.absolute(path).filter(|_| !path.is_empty());
    let found = file.and_then(|file| fs::symlink_metadata(file).ok());
    found.is_some_and(|found| found.is_file() && found.len() > 0)
}

fn names_in(state: &Path) -> HashSet<OsString> {
    let entries = fs::read_dir(state).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name()).collect()
}

impl RunCheck<'_> {
    /// Looks for rows whose id a spreadsheet has changed or that are of something else than
    /// their job; returns what the ids were, and the rows.
    pub(super) fn look_for_altered_ids(
        &mut self,
        table: &mut Table,
        listed: &HashSet<&str>,
    ) -> (HashSet<String>, HashSet<usize>) {
        let paths = self.workspace.run(self.run_id);
        let found = contradictions(table, self.run_id, &paths);
        let cells = Pick::of(table, ["job_id"]);
        let ids = LazyCell::new(|| KnownIds::new(listed.iter().copied()));
        let rows: Vec<usize> = table.index(self.run_id.as_str()).rows().collect();
        let (mut shown, mut originals) = (Vec::new(), HashSet::new());
        for row in rows {
            let [job] = cells.texts(table, row);
            if listed.contains(&*job) {
                continue;
            }
            if let Some(original) = ids.original_of(&job) {
                originals.insert(original.to_owned());
                shown.push((format!("{original} is {job} in the table"), row));
            }
        }
        let fix = format!(
            "archi3d registry rebuild --run-id {}; in a spreadsheet, import job_id as text",
            shell_word(self.run_id.as_str())
        );
        let mut wrong: HashSet<usize> = shown.iter().map(|(_, row)| *row).collect();
        for (cell, original, row) in found.renamed {
            if wrong.insert(row) {
                shown.push((format!("{original} is {cell} in the table"), row));
                originals.insert(original);
            }
        }
        let how = "whose id a spreadsheet has changed";
        self.tell_rows(table, Code::AlteredId, &shown, how, &fix);
        let how = "whose row names another product, variant, algo or picture than the manifest, as \
                   when one column is sorted alone";
        let fix = format!(
            "archi3d registry rebuild --run-id {}",
            shell_word(self.run_id.as_str())
        );
        self.tell_rows(table, Code::MixedUpRow, &found.mixed_up, how, &fix);
        wrong.extend(found.mixed_up.iter().map(|(_, row)| *row));
        (originals, wrong)
    }

    /// Looks at the rows: are waiting ones listed, are models of completed ones there.
    pub(super) fn look_at_rows(
        &mut self,
        table: &mut Table,
        marked: Option<&StateNames>,
        (listed, wrong): (&HashSet<&str>, &HashSet<usize>),
        again: &str,
    ) {
        let rows: Vec<usize> = table.index(self.run_id.as_str()).rows().collect();
        let table: &Table = table;
        let marked = marked.filter(|marked| !marked.is_empty());
        let cells = Pick::of(table, ["job_id", "status", "gen_object_path"]);
        let workspace = self.workspace;
        let look = |row: usize| {
            let [job, status, path] = cells.texts(table, row);
            let found = match Status::parse(&status) {
                Some(Status::Enqueued) if !listed.contains(&*job) => vec![Odd::Unlisted],
                Some(Status::Completed) => {
                    let unmarked = marked.is_some_and(|marked| !marked.is_completed(&job));
                    let unmarked = unmarked.then_some(Odd::Unmarked);
                    let gone = (!has_model(workspace, &path)).then_some(Odd::Gone);
                    unmarked.into_iter().chain(gone).collect()
                }
                None => vec![Odd::Foreign],
                _ => Vec::new(),
            };
            let odd = found.into_iter();
            odd.map(|odd| (odd, job.clone().into_owned(), row))
                .collect::<Vec<_>>()
        };
        let right = |row: &&usize| !wrong.contains(*row);
        let parts = rows.par_chunks(1024);
        let found: Vec<(Odd, String, usize)> = parts
            .flat_map_iter(|rows| rows.iter().filter(right).flat_map(|row| look(*row)))
            .collect();
        let of = |wanted: Odd| {
            let found = found.iter().filter(|(odd, ..)| *odd == wanted);
            let rows: Vec<(String, usize)> =
                found.map(|(_, job, row)| (job.clone(), *row)).collect();
            rows
        };
        let [unlisted, unmarked, gone, foreign] =
            [Odd::Unlisted, Odd::Unmarked, Odd::Gone, Odd::Foreign].map(of);
        self.tell_foreign(table, &foreign);
        self.tell_rows(
            table,
            Code::RowNotInManifest,
            &unlisted,
            "waiting and not in the manifest",
            again,
        );
        let look = format!(
            "archi3d consolidate --run-id {} --dry-run shows what is on disk",
            self.run_id
        );
        self.tell_rows(
            table,
            Code::Unmarked,
            &unmarked,
            "completed without a marker",
            &look,
        );
        let fix = format!(
            "archi3d consolidate --run-id {run}; then archi3d run worker --run-id {run} --only-status failed",
            run = shell_word(self.run_id.as_str())
        );
        self.tell_rows(
            table,
            Code::ResultMissing,
            &gone,
            "completed without a model on disk",
            &fix,
        );
    }

    /// Tells of rows with a status that no command knows.
    fn tell_foreign(&mut self, table: &Table, rows: &[(String, usize)]) {
        let words: BTreeSet<String> = rows
            .iter()
            .map(|(_, row)| format!("{:?}", text(table, *row, "status")))
            .collect();
        let words: Vec<&str> = words.iter().map(String::as_str).take(3).collect();
        let how = format!("with an unknown status ({})", words.join(", "));
        let all = Status::ALL.map(Status::word).join(", ");
        let fix = format!("set the cell to one of {all}, or leave it blank for enqueued");
        self.tell_rows(table, Code::UnknownStatus, rows, &how, &fix);
    }

    /// Looks for jobs that the table calls running and that nobody holds: no marker is
    /// there, and no journal tells an ending that waits to be published.
    pub(super) fn look_for_holders(&mut self, table: &mut Table, exam: &RunExam) {
        let told: HashSet<&str> = exam
            .unpublished
            .iter()
            .map(|(job, _)| job.as_str())
            .collect();
        // Listed after the table was read: whoever ended a job meanwhile left a marker.
        let names = LazyCell::new(|| names_in(&self.workspace.run(self.run_id).state()));
        let cells = Pick::of(table, ["job_id", "status"]);
        let rows: Vec<usize> = table.index(self.run_id.as_str()).rows().collect();
        let (mut whole, mut doubtful, mut empty) = (Vec::new(), Vec::new(), Vec::new());
        let mut unknown = Vec::new();
        for row in rows {
            let [job, status] = cells.texts(table, row);
            let status = Status::parse(&status);
            let waits = matches!(status, Some(Status::Enqueued | Status::Failed));
            if status != Some(Status::Running) && !waits || told.contains(&*job) {
                continue;
            }
            let Ok(id) = JobId::parse(&job) else { continue };
            if naming::StateFile::MARKERS
                .iter()
                .any(|kind| names.contains(OsStr::new(&kind.name(&id))))
            {
                continue;
            }
            let job = job.into_owned();
            let paths = self.workspace.run(self.run_id);
            let model = paths.output(&id).join(naming::GENERATED_GLB);
            if is_whole_result(&paths, &id) {
                let found = if waits { &mut unknown } else { &mut whole };
                found.push((job, row));
            } else if waits {
            } else if model_fault(&model, self.workspace.root()) == Some(None) {
                doubtful.push((job, row));
            } else {
                empty.push((job, row));
            }
        }
        self.tell_unheld(table, [&whole, &doubtful, &empty]);
        let how = "not completed, with a whole result in outputs/ that no record names";
        let run = shell_word(self.run_id.as_str());
        let fix = format!(
            "archi3d run adopt --run-id {run} JOB brings one in, and so does the next worker that \
             takes the job; nothing is bought"
        );
        self.tell_rows(table, Code::KeptResult, &unknown, how, &fix);
    }

    fn tell_unheld(&mut self, table: &Table, [whole, doubtful, empty]: [&[(String, usize)]; 3]) {
        let run = shell_word(self.run_id.as_str());
        let code = Code::RunningUnheld;
        let how = "running that no worker has, with a whole result in outputs/";
        let fix = format!("archi3d consolidate --run-id {run} marks them completed");
        self.tell_rows(table, code, whole, how, &fix);
        let how = "running that no worker has, with a model in outputs/ that no record vouches for";
        let fix = format!(
            "look at the model; if it is good, set status to completed and gen_object_path to its \
             path, else archi3d run worker --run-id {run} --only-status running sets it aside and \
             asks, or makes it again where its metadata.json does not name the job"
        );
        self.tell_rows(table, code, doubtful, how, &fix);
        let how = "running that no worker has and without a result";
        let fix = format!(
            "see whether the provider billed them; then archi3d run worker --run-id {run} \
             --only-status running makes them, or asks first where they cost money"
        );
        self.tell_rows(table, code, empty, how, &fix);
    }

    fn tell_rows(
        &mut self,
        table: &Table,
        code: Code,
        rows: &[(String, usize)],
        how: &str,
        fix: &str,
    ) {
        if rows.is_empty() {
            return;
        }
        let names: Vec<String> = rows.iter().map(|(job, _)| job.clone()).collect();
        let what = format!("{} {how}", such_as(rows.len(), "job", &names));
        let places = rows.iter().take(20);
        let finding = places.fold(Finding::new(code, what).fix(fix), |finding, (_, row)| {
            finding.at(REGISTRY, Some(table.line_of(*row)))
        });
        self.find(finding);
    }
}
