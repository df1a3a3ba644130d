//! From markers to rows: which cells a job's row must get, given what the
//! markers say now.
//!
//! The registry is a projection of the markers, computed while the table's lock
//! is held. Whatever was queued earlier is only a hint where to look, so a late
//! update can never undo a newer one.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs;
use std::io;

use crate::domain::id::{JobId, RunId};
use crate::domain::job::Status;
use crate::domain::naming::StateFile;
use crate::domain::patch::{Patch, WORKER_COLUMNS, WorkerFacts};
use crate::domain::time::Timestamp;
use crate::platform::{self, FileIdentity, FileVersion};
use crate::store::Artifact;
use crate::workspace::durable;
use crate::workspace::paths::RunPaths;

use super::evidence::Evidence;
use super::foreign;
use super::marker::{Marker, RecordKind};
use super::open;
use super::registry::RowColumns;
use crate::table::codec::decode;
use crate::table::{RowEdit, Table};

/// A job whose row may be behind, and what we believe it should say.
#[derive(Debug, Clone)]
pub(super) struct Hint {
    pub(super) job: JobId,
    pub(super) wanted: Wanted,
    /// How to tell at a glance that the belief still holds.
    pub(super) proof: Proof,
}

/// What a row should say.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Wanted {
    pub(super) status: Status,
    pub(super) patch: Patch,
    /// Files that must be durable before the row may say so.
    pub(super) artifacts: Vec<Artifact>,
    pub(super) simulated: bool,
    /// When the attempt began that gave the job back, if one did.
    pub(super) given_back: Option<Timestamp>,
}

/// What must be on disk for a hint to hold.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Proof {
    /// The lease is this file.
    Lease(FileIdentity),
    /// The terminal is this version of this file, and there is no lease.
    Terminal(StateFile, FileVersion),
    /// None: the markers must be read.
    Read,
}

impl Wanted {
    /// Returns what the ruling marker asks for, or nothing if no marker rules.
    pub(super) fn by_evidence(
        paths: &RunPaths,
        job: &JobId,
        evidence: &Evidence,
        worker: &WorkerFacts,
    ) -> Option<Self> {
        let marker = evidence.ruling()?;
        let patch = match marker.record() {
            Some(record) => record.row_patch(worker),
            None => foreign::patch(paths, job, marker.kind.status()),
        };
        let record = marker.record();
        Some(Self {
            status: marker.kind.status(),
            patch,
            artifacts: record.map(|r| r.outputs.clone()).unwrap_or_default(),
            simulated: record.is_some_and(|r| r.simulated),
            given_back: record
                .filter(|r| r.kind == RecordKind::Released)
                .map(|r| r.claimed_at),
        })
    }
}

impl Hint {
    /// Replaces a hint that says nothing but "look" by what the markers say.
    pub(super) fn look(
        &self,
        paths: &RunPaths,
        worker: &WorkerFacts,
    ) -> io::Result<Option<Cow<'_, Self>>> {
        if self.proof != Proof::Read {
            return Ok(Some(Cow::Borrowed(self)));
        }
        let evidence = Evidence::read(paths, &self.job)?;
        let wanted = Wanted::by_evidence(paths, &self.job, &evidence, worker);
        Ok(wanted.map(|wanted| {
            Cow::Owned(Self {
                job: self.job.clone(),
                wanted,
                proof: proof_of(&evidence),
            })
        }))
    }

    /// Returns what the job's row should say now, checking the belief on disk.
    pub(super) fn settle(
        &self,
        paths: &RunPaths,
        worker: &WorkerFacts,
    ) -> io::Result<Option<Cow<'_, Wanted>>> {
        let holds = match self.proof {
            Proof::Lease(identity) => {
                let path = paths.state_file(&self.job, StateFile::InProgress);
                look(&path)?.is_some_and(|found| found.identity == identity)
            }
            Proof::Terminal(kind, version) => {
                let lease = paths.state_file(&self.job, StateFile::InProgress);
                look(&paths.state_file(&self.job, kind))? == Some(version)
                    && look(&lease)?.is_none()
            }
            Proof::Read => false,
        };
        if holds {
            return Ok(Some(Cow::Borrowed(&self.wanted)));
        }
        let evidence = Evidence::read(paths, &self.job)?;
        Ok(Wanted::by_evidence(paths, &self.job, &evidence, worker).map(Cow::Owned))
    }
}

fn look(path: &std::path::Path) -> io::Result<Option<FileVersion>> {
    match fs::symlink_metadata(path) {
        Ok(metadata) => Ok(Some(platform::version(&metadata))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Tells whether a row may be changed to `wanted`.
fn row_accepts(
    status: &Result<Status, String>,
    row_start: Option<Timestamp>,
    wanted: &Wanted,
) -> bool {
    let Ok(status) = *status else {
        // A word we do not know was put there by somebody; it is theirs.
        return false;
    };
    let start = wanted
        .patch
        .get("generation_start")
        .and_then(Timestamp::parse);
    let row_is_older = match (row_start, start) {
        (Some(row), Some(start)) => row < start,
        (None, _) => true,
        (Some(_), None) => false,
    };
    match wanted.status {
        Status::Running => start.map_or(status != Status::Running, |_| row_is_older),
        Status::Completed | Status::Failed => {
            !status.is_terminal() || (row_is_older && start.is_some())
        }
        Status::Enqueued => status == Status::Running || says_more(status, row_start, wanted),
        Status::Cancelled => matches!(status, Status::Enqueued | Status::Running),
    }
}

/// Tells whether a job that was given back before its row said `running` has
/// something to tell: that its old ending is void, or why it waits.
fn says_more(status: Status, row_start: Option<Timestamp>, wanted: &Wanted) -> bool {
    let newer = wanted
        .given_back
        .is_some_and(|began| row_start.is_none_or(|start| start < began));
    match status {
        Status::Enqueued => newer && wanted.patch.get("error_msg").is_some(),
        Status::Failed | Status::Cancelled => newer,
        Status::Completed => newer && row_start.is_some(),
        Status::Running => false,
    }
}

/// Writes what is wanted into the table; returns how many jobs' rows changed.
pub(super) fn apply<'a>(
    table: &mut Table,
    run: &RunId,
    wanted: impl IntoIterator<Item = (&'a JobId, &'a Wanted)>,
) -> usize {
    let columns = RowColumns::of(table);
    let mut accepted = Vec::new();
    let index = table.index(run.as_str());
    for (job, wanted) in wanted {
        for row in index.rows_of(job.as_str()) {
            let (status, start) = columns.status_and_start(index.table(), row);
            if row_accepts(&status, start, wanted) {
                accepted.push((row, &wanted.patch));
            }
        }
    }
    if accepted.is_empty() {
        return 0;
    }
    table.ensure_columns(WORKER_COLUMNS);
    let columns = positions(table);
    let edits: Vec<RowEdit> = accepted
        .iter()
        .map(|(row, patch)| row_edit(table, &columns, *row, patch))
        .collect();
    table.patch(&edits);
    edits.len()
}

/// Returns what [`apply`] would change, without changing it; columns that the
/// table lacks are left out.
pub(super) fn would_change(
    table: &mut Table,
    run: &RunId,
    wanted: &[(JobId, Wanted)],
) -> Vec<(JobId, RowEdit)> {
    let columns = RowColumns::of(table);
    let index = table.index(run.as_str());
    let names = positions(index.table());
    let mut edits = Vec::new();
    for (job, wanted) in wanted {
        for row in index.rows_of(job.as_str()) {
            let (status, start) = columns.status_and_start(index.table(), row);
            if row_accepts(&status, start, wanted) {
                edits.push((
                    job.clone(),
                    row_edit(index.table(), &names, row, &wanted.patch),
                ));
            }
        }
    }
    edits
}

/// Returns where each column stands.
fn positions(table: &Table) -> HashMap<&str, usize> {
    let columns = table.columns().iter().enumerate();
    columns
        .map(|(position, name)| (name.as_str(), position))
        .collect()
}

fn row_edit(table: &Table, columns: &HashMap<&str, usize>, row: usize, patch: &Patch) -> RowEdit {
    let cells = patch
        .cells()
        .iter()
        .filter_map(|cell| {
            let column = *columns.get(cell.column.as_ref())?;
            let applies = !cell.only_if_empty
                || cell.applies_to(&String::from_utf8_lossy(&table.cell(row, column)));
            applies.then(|| (column, cell.value.clone()))
        })
        .collect();
    RowEdit { row, cells }
}

/// Which markers each job of a run has, by name alone: one listing, nothing opened.
#[derive(Debug, Default)]
pub struct StateNames {
    /// With where about the first that was listed lies on the disk.
    jobs: HashMap<Box<str>, (Kinds, u64)>,
    /// Whether there is anything at all.
    any: bool,
    /// Files that a writer left or is just writing.
    temporaries: Vec<String>,
}

/// The kinds of marker one job has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Kinds(u8);

impl Kinds {
    /// Tells whether `kind` is among them.
    pub(super) fn has(self, kind: RecordKind) -> bool {
        self.0 & (1 << kind as u8) != 0
    }

    /// Tells whether `kind` is the only one.
    fn is_just(self, kind: RecordKind) -> bool {
        self.0 == 1 << kind as u8
    }

    /// Returns how many there are.
    pub(super) fn count(self) -> u32 {
        self.0.count_ones()
    }
}

impl StateNames {
    /// Lists `state/`.
    pub fn list(paths: &RunPaths) -> io::Result<Self> {
        let mut names = Self::default();
        let listed = platform::each_entry(&paths.state(), &mut |name, listed| {
            names.any = true;
            if let Some(name) = name.to_str() {
                names.take(name, listed.place);
            }
        });
        match listed {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(names),
        }
    }

    fn take(&mut self, name: &str, place: u64) {
        if durable::is_temporary(name) {
            self.temporaries.push(name.to_owned());
        }
        let Some((job, file)) = StateFile::split(name) else {
            return;
        };
        let Some(kind) = RecordKind::ALL.into_iter().find(|kind| kind.file() == file) else {
            return;
        };
        let bit = 1 << kind as u8;
        match self.jobs.get_mut(job) {
            Some((kinds, _)) => kinds.0 |= bit,
            None => {
                self.jobs.insert(job.into(), (Kinds(bit), place));
            }
        }
    }

    /// Tells whether nothing is there, not even another tool's file.
    pub fn is_empty(&self) -> bool {
        !self.any
    }

    /// Tells whether a job has a marker that says `completed`.
    pub fn is_completed(&self, job: &str) -> bool {
        let kinds = self.of(job);
        kinds.is_some_and(|kinds| kinds.has(RecordKind::Completed))
    }

    /// Returns the markers of one job, if it has any.
    pub(super) fn of(&self, job: &str) -> Option<Kinds> {
        self.jobs.get(job).map(|(kinds, _)| *kinds)
    }

    /// Tells whether a row with `status` is what the names alone would say.
    pub(super) fn agree(&self, job: &str, status: Status) -> bool {
        self.of(job).is_none_or(|kinds| {
            RecordKind::ALL
                .into_iter()
                .any(|kind| kinds.is_just(kind) && kind.status() == status)
        })
    }

    /// Returns the temporary files.
    pub(super) fn temporaries(&self) -> impl Iterator<Item = &str> {
        self.temporaries.iter().map(String::as_str)
    }

    /// Returns the jobs that have markers.
    pub(super) fn jobs(&self) -> impl Iterator<Item = (&str, Kinds)> {
        self.jobs.iter().map(|(job, (kinds, _))| (&**job, *kinds))
    }

    /// Returns the same about in the order in which they lie on the disk.
    pub(super) fn jobs_on_disk(&self) -> Vec<(&str, Kinds)> {
        let mut jobs: Vec<_> = self.jobs.iter().collect();
        jobs.sort_unstable_by_key(|(_, (_, place))| *place);
        let jobs = jobs.into_iter();
        jobs.map(|(job, (kinds, _))| (&**job, *kinds)).collect()
    }
}

/// Returns a hint for every job of the run whose row its markers contradict,
/// and for every job in `suspects`.
pub(super) fn disagreements(
    table: &mut Table,
    run: &RunId,
    paths: &RunPaths,
    names: &StateNames,
    suspects: &BTreeSet<JobId>,
    worker: &WorkerFacts,
) -> io::Result<Vec<Hint>> {
    let mut hints = by_name(table, run, paths, names, suspects, worker)?;
    if !hints.is_empty() {
        // What became of one job is not written into the row of another.
        let found = open::contradictions(table, run, paths);
        let mixed_up: HashSet<&str> = found.mixed_up.iter().map(|(job, _)| &**job).collect();
        hints.retain(|hint| !mixed_up.contains(hint.job.as_str()));
    }
    Ok(hints)
}

fn by_name(
    table: &mut Table,
    run: &RunId,
    paths: &RunPaths,
    names: &StateNames,
    suspects: &BTreeSet<JobId>,
    worker: &WorkerFacts,
) -> io::Result<Vec<Hint>> {
    let index = table.index(run.as_str());
    let table = index.table();
    let (Some(job_column), Some(status_column)) = (table.column("job_id"), table.column("status"))
    else {
        return Ok(Vec::new());
    };
    let mut hints = Vec::new();
    let mut wanted = [(job_column, 0), (status_column, 1)];
    wanted.sort_unstable();
    for row in index.rows() {
        let mut cells = [0..0, 0..0];
        table.spans(row, &wanted, &mut cells);
        let [job, status] = cells.map(|span| decode(&table.bytes()[span]));
        let Ok(job) = std::str::from_utf8(&job) else {
            continue;
        };
        let status = Status::parse(&String::from_utf8_lossy(&status));
        let Some(status) = status else { continue };
        let agrees = names.agree(job, status);
        if agrees && suspects.is_empty() {
            continue;
        }
        let Ok(job) = JobId::parse(job) else {
            continue;
        };
        if agrees && !suspects.contains(&job) {
            continue;
        }
        let evidence = Evidence::read(paths, &job)?;
        if let Some(wanted) = Wanted::by_evidence(paths, &job, &evidence, worker) {
            let proof = proof_of(&evidence);
            hints.push(Hint { job, wanted, proof });
        }
    }
    Ok(hints)
}

fn proof_of(evidence: &Evidence) -> Proof {
    match evidence.ruling() {
        Some(marker) if marker.kind == RecordKind::InProgress => {
            Proof::Lease(marker.version.identity)
        }
        Some(Marker { kind, version, .. }) if kind.is_terminal() => {
            Proof::Terminal(kind.file(), *version)
        }
        _ => Proof::Read,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(rows: &str) -> Table {
        let text = format!("\u{feff}run_id,job_id,status,generation_start,algo_version\n{rows}");
        Table::parse(text.into_bytes()).unwrap()
    }

    fn wanted(status: Status, start: Option<&str>) -> Wanted {
        let mut patch = Patch::status(status);
        if let Some(start) = start {
            patch.set("generation_start", start);
        }
        Wanted {
            status,
            patch,
            artifacts: Vec::new(),
            simulated: false,
            given_back: None,
        }
    }

    fn status_after(row: &str, wanted: Wanted) -> String {
        let mut table = table(row);
        let run = RunId::parse("r").unwrap();
        apply(&mut table, &run, [(&JobId::parse("j").unwrap(), &wanted)]);
        let column = table.column("status").unwrap();
        String::from_utf8(table.cell(0, column).into_owned()).unwrap()
    }

    const EARLY: &str = "2026-01-01T00:00:00+00:00";
    const LATE: &str = "2026-01-02T00:00:00+00:00";

    #[test]
    fn a_late_running_hint_never_undoes_a_result() {
        let row = format!("r,j,completed,{EARLY},\n");
        assert_eq!(
            status_after(&row, wanted(Status::Running, Some(EARLY))),
            "completed"
        );
    }

    #[test]
    fn an_older_result_never_replaces_a_newer_one() {
        let row = format!("r,j,failed,{LATE},\n");
        assert_eq!(
            status_after(&row, wanted(Status::Completed, Some(EARLY))),
            "failed"
        );
        let row = format!("r,j,failed,{EARLY},\n");
        assert_eq!(
            status_after(&row, wanted(Status::Completed, Some(LATE))),
            "completed"
        );
    }

    #[test]
    fn a_job_given_back_voids_only_endings_that_are_older() {
        let given_back = |began| Wanted {
            given_back: Timestamp::parse(began),
            ..wanted(Status::Enqueued, None)
        };
        for old in ["failed", "completed"] {
            let row = format!("r,j,{old},{EARLY},\n");
            assert_eq!(status_after(&row, given_back(LATE)), "enqueued");
            let row = format!("r,j,{old},{LATE},\n");
            assert_eq!(status_after(&row, given_back(EARLY)), old);
        }
    }

    #[test]
    fn a_kept_result_returns_after_a_redo_that_failed() {
        let row = format!("r,j,running,{LATE},\n");
        assert_eq!(
            status_after(&row, wanted(Status::Completed, Some(EARLY))),
            "completed"
        );
    }

    #[test]
    fn a_status_word_we_do_not_know_is_left_alone() {
        assert_eq!(
            status_after("r,j,on hold,,\n", wanted(Status::Completed, Some(LATE))),
            "on hold"
        );
    }

    #[test]
    fn every_row_with_the_same_key_is_brought_up_to_date() {
        let mut table = table("r,j,enqueued,,\nr,j,enqueued,,\nq,j,enqueued,,\n");
        let run = RunId::parse("r").unwrap();
        let job = JobId::parse("j").unwrap();
        let changed = apply(
            &mut table,
            &run,
            [(&job, &wanted(Status::Completed, Some(LATE)))],
        );
        assert_eq!(changed, 2);
        let column = table.column("status").unwrap();
        assert_eq!(&*table.cell(2, column), b"enqueued");
    }
}
