//! Reads a run at a glance: every table and folder once, side by side and piece by
//! piece, and a marker only where its name and the row disagree or somebody holds the job.
//!
//! For `run status`, which must be quick on a hundred thousand jobs: rows,
//! manifest lines and markers meet by the hash of their job's id, and nothing is
//! kept of a row but a few numbers. Two ids with the same 64-bit hash would be
//! counted as one, so nothing but a count may rest on it. Takes no lock, writes
//! nothing, and does not look whether results are still there. What is odd is
//! left to [`super::snapshot`], which says what it is.

use std::collections::{BTreeSet, HashMap};
use std::io;
use std::ops::Range;

use rayon::prelude::*;

use crate::domain::id::{JobId, RunId, is_plain_word};
use crate::domain::job::{JobState, Status};
use crate::domain::lease::{Rhythm, Verdict};
use crate::domain::naming::StateFile;
use crate::domain::time::Timestamp;
use crate::platform;
use crate::store::error::{IoContext, StoreError};
use crate::store::overview::{AlgoOverview, FailedJob, Overview, RunningJob};
use crate::store::runs::{AlgoIndex, JobName, id_hash};
use crate::workspace::lock;
use crate::workspace::paths::{RunPaths, Workspace};

use super::evidence::{self, Evidence};
use super::journal;
use super::liveness::Watch;
use super::marker::RecordKind;
use super::registry::{Registry, RowColumns};
use super::{open, snapshot};
use crate::table::codec::decode;
use crate::table::{Table, spans_in};

mod records;
mod rows;

use records::Records;
use rows::{Closer, RowSeen, Rows};

/// The columns without which the registry cannot be read.
const REGISTRY: [&str; 3] = ["run_id", "job_id", "status"];

/// How often a table that is written to while it is read is read again.
const TRIES: usize = 3;

/// Reads a run at a glance, and which algorithm its jobs have; money and the names of jobs are not among it.
pub(super) fn overview(
    workspace: &Workspace,
    run_id: &RunId,
    rhythm: Rhythm,
    now: Timestamp,
) -> Result<(Overview, AlgoIndex), StoreError> {
    for _ in 0..TRIES {
        if let Some(seen) = look(workspace, run_id, rhythm, now)? {
            return Ok(seen);
        }
        // If there is something to say about these tables, it is said there.
        let mut registry = Registry::new(workspace.registry(), "reader");
        open::check_run(&mut registry, workspace, run_id, &workspace.run(run_id))?;
    }
    Err(StoreError::Setup {
        what: "the table is being written to by a program that does not replace it in one piece"
            .into(),
        path: workspace.registry(),
        hint: "try again in a moment".into(),
    })
}

/// Reads a run once; nothing if its tables cannot be used or change meanwhile.
fn look(
    workspace: &Workspace,
    run_id: &RunId,
    rhythm: Rhythm,
    now: Timestamp,
) -> Result<Option<(Overview, AlgoIndex)>, StoreError> {
    let paths = workspace.run(run_id);
    let read = || {
        let records = Records::open(&workspace.registry(), &REGISTRY)?;
        let rows = Rows::read(&records, Some(run_id))?;
        Some((records, rows))
    };
    let (read, (markers, listed)) = rayon::join(read, || (markers(&paths), listed(&paths)));
    let (Some((records, mut rows)), Some(listed)) = (read, listed) else {
        return Ok(None);
    };
    if rows.jobs.is_empty() {
        let mut registry = Registry::new(workspace.registry(), "reader");
        open::check_run(&mut registry, workspace, run_id, &paths)?;
        return Ok(Some(Default::default()));
    }
    let markers = markers.context("list", &paths.state())?;
    let mut joined = Joined {
        closer: Vec::new(),
        odd: listed.odd || rows.odd || snapshot::ignores_case(&paths),
        seen: Overview {
            recent: rows.recent(),
            algos: rows.algos(),
            created: rows.created(),
            ..Overview::default()
        },
    };
    joined.join(&rows.jobs, &listed.hashes, &markers);
    let index = index_of(&joined.seen.algos, &rows.jobs);
    let Joined {
        mut closer,
        odd,
        seen,
    } = joined;
    closer.sort_unstable_by_key(|row| row.place);
    let Some(table) = records.pick(closer.iter().map(|row| row.place)) else {
        return Ok(None);
    };
    let mut glance = Glance {
        columns: RowColumns::of(&table),
        table: &table,
        paths: &paths,
        watch: &snapshot::watch_to_read(workspace, rhythm),
        now,
        seen,
    };
    for (number, row) in closer.into_iter().enumerate() {
        glance.look_at(number, row)?;
    }
    let mut seen = glance.seen;
    seen.worker_lives = worker_lives(&paths);
    if odd {
        let told = snapshot::read_run(workspace, run_id, rhythm, now)?.warnings;
        seen.warnings.splice(0..0, told);
    }
    Ok(Some((seen, index)))
}

/// Tells whether the journal of a worker is held; one that cannot be looked at is not.
fn worker_lives(paths: &RunPaths) -> bool {
    let journals = journal::all(&paths.journals()).unwrap_or_default();
    let mut journals = journals.iter();
    journals.any(|found| lock::is_held(&found.path).unwrap_or(false))
}

/// Returns how long completed jobs took, by algorithm, over all runs of the
/// workspace, in seconds.
pub(super) fn past_durations(workspace: &Workspace) -> Result<Vec<AlgoOverview>, StoreError> {
    let records = Records::open(&workspace.registry(), &REGISTRY);
    if let Some(mut rows) = records.and_then(|records| Rows::read(&records, None)) {
        return Ok(rows.algos());
    }
    // What is wrong with the table is said there.
    Registry::new(workspace.registry(), "reader").load()?;
    Ok(Vec::new())
}

/// Reads the algorithms of a run's jobs as the registry has them.
pub(super) fn algo_index(workspace: &Workspace, run_id: &RunId) -> Result<AlgoIndex, StoreError> {
    let records = Records::open(&workspace.registry(), &REGISTRY);
    let Some(mut rows) = records.and_then(|records| Rows::read(&records, Some(run_id))) else {
        // What is wrong with the table is said there.
        Registry::new(workspace.registry(), "reader").load()?;
        return Ok(AlgoIndex::default());
    };
    Ok(index_of(&rows.algos(), &rows.jobs))
}

fn index_of(algos: &[AlgoOverview], rows: &[RowSeen]) -> AlgoIndex {
    AlgoIndex::new(
        algos.iter().map(|algo| algo.algo.clone()).collect(),
        rows.iter().map(|row| (row.hash, row.algo)).collect(),
    )
}

/// Returns the algorithms of these jobs, each a run and an id, as far as the
/// registry has them.
pub fn algos_of(
    workspace: &Workspace,
    wanted: &BTreeSet<(String, String)>,
) -> Result<HashMap<(String, String), String>, StoreError> {
    let mut registry = Registry::new(workspace.registry(), "reader");
    let table = registry.load()?;
    let mut algos = HashMap::new();
    let Some(column) = table.column("algo") else {
        return Ok(algos);
    };
    let (Some(run), Some(job)) = (table.column("run_id"), table.column("job_id")) else {
        return Ok(algos);
    };
    let text =
        |row: usize, column: usize| String::from_utf8_lossy(&table.cell(row, column)).into_owned();
    for row in 0..table.len() {
        let key = (text(row, run), text(row, job));
        if wanted.contains(&key) {
            algos.insert(key, text(row, column));
        }
    }
    Ok(algos)
}

/// The jobs of the manifest, by hash.
struct Listed {
    hashes: Vec<u64>,
    odd: bool,
}

/// Reads the ids of the manifest; nothing if it cannot be used.
fn listed(paths: &RunPaths) -> Option<Listed> {
    let records = Records::open(&paths.manifest(), &["job_id"])?;
    let wanted = [(records.header().column("job_id")?, 0)];
    let (mut odd, mut hashes) = (false, Vec::new());
    records.each(&mut |_, record| {
        let mut cell: [Range<usize>; 1] = Default::default();
        spans_in(record, 0, &wanted, &mut cell);
        let id = decode(&record[cell[0].clone()]);
        odd |= !is_plain_word(&id);
        hashes.push(id_hash(&id));
    })?;
    hashes.par_sort_unstable();
    let lines = hashes.len();
    hashes.dedup();
    odd |= lines != hashes.len();
    (lines > 0).then_some(Listed { hashes, odd })
}

/// Lists the markers: the hash of each job that has some, and which.
fn markers(paths: &RunPaths) -> io::Result<Vec<(u64, u8)>> {
    let mut found: Vec<(u64, u8)> = Vec::new();
    let listed = platform::each_name(&paths.state(), &mut |name| {
        let Some((job, file)) = name.to_str().and_then(StateFile::split) else {
            return;
        };
        if let Some(kind) = RecordKind::ALL.into_iter().find(|kind| kind.file() == file) {
            found.push((id_hash(job.as_bytes()), 1 << kind as u8));
        }
    });
    match listed {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    found.par_sort_unstable();
    found.dedup_by(|later, first| {
        let same = later.0 == first.0;
        if same {
            first.1 |= later.1;
        }
        same
    });
    Ok(found)
}

/// Walks over sorted hashes beside other sorted hashes.
struct Beside<'a, T>(&'a [T]);

impl<'a, T> Beside<'a, T> {
    /// Returns the entry with this hash; the hashes asked for must rise.
    fn find(&mut self, hash: u64, hash_of: impl Fn(&T) -> u64) -> Option<&'a T> {
        while let Some((first, rest)) = self.0.split_first() {
            match hash_of(first).cmp(&hash) {
                std::cmp::Ordering::Less => self.0 = rest,
                std::cmp::Ordering::Equal => return Some(first),
                std::cmp::Ordering::Greater => return None,
            }
        }
        None
    }
}

/// Rows, manifest and markers brought together.
struct Joined {
    /// Rows of which more must be read than was kept.
    closer: Vec<RowSeen>,
    /// Something is worth a sentence.
    odd: bool,
    seen: Overview,
}

impl Joined {
    /// Brings rows, manifest and markers together; all are sorted by hash.
    fn join(&mut self, rows: &[RowSeen], listed: &[u64], markers: &[(u64, u8)]) {
        let (mut in_manifest, mut marked) = (Beside(listed), Beside(markers));
        let mut known = 0;
        for copies in rows.chunk_by(|a, b| a.hash == b.hash) {
            self.odd |= copies.len() > 1;
            // Of equal ones `max_by_key` takes the last, so the first comes last.
            let Some(row) = copies.iter().rev().max_by_key(|row| row.weight()) else {
                continue;
            };
            let listed = in_manifest.find(row.hash, |hash| *hash).is_some();
            known += usize::from(listed);
            self.odd |= !listed;
            let kinds = marked.find(row.hash, |entry| entry.0).map_or(0, |e| e.1);
            self.take(*row, kinds);
        }
        let strays = listed.len() - known;
        self.odd |= strays > 0;
        self.seen.total += strays;
        self.seen.without_row = strays;
    }

    fn take(&mut self, row: RowSeen, kinds: u8) {
        self.seen.total += 1;
        let alone = |kind: RecordKind| kinds == 1 << kind as u8;
        let agrees = |status: Status| {
            let held = alone(RecordKind::InProgress) || status == Status::Running;
            let same = |kind: RecordKind| alone(kind) && kind.status() == status;
            !held && (kinds == 0 || RecordKind::ALL.into_iter().any(same))
        };
        let closer = |why| RowSeen { closer: why, ..row };
        match row.status {
            Some(status) if agrees(status) => {
                count(&mut self.seen, row, status, row.rehearsal);
                if status == Status::Failed {
                    self.closer.push(closer(Closer::Failure));
                }
            }
            None if kinds == 0 => {
                self.odd = true;
                self.seen.unknown_status += 1;
                self.closer.push(closer(Closer::Word));
            }
            _ => self.closer.push(closer(Closer::Markers)),
        }
    }
}

fn count(seen: &mut Overview, row: RowSeen, status: Status, simulated: bool) {
    let algo = &mut seen.algos[usize::from(row.algo)];
    algo.counts[status as usize] += 1;
    algo.rehearsed += usize::from(status == Status::Completed && simulated);
}

/// Reads more of some rows.
struct Glance<'a> {
    /// Those rows alone.
    table: &'a Table,
    columns: RowColumns,
    paths: &'a RunPaths,
    watch: &'a Watch,
    now: Timestamp,
    seen: Overview,
}

impl Glance<'_> {
    fn look_at(&mut self, number: usize, row: RowSeen) -> Result<(), StoreError> {
        match row.closer {
            Closer::Failure => self.fail(number, row, None),
            Closer::Markers => self.open_markers(number, row)?,
            Closer::Word => {
                let word = self.columns.read(self.table, number, 1).status;
                if let (Some(job), Err(word)) = (self.job_of(number), word) {
                    self.seen
                        .warnings
                        .push(format!("job {job} has the unknown status {word:?}"));
                }
            }
        }
        Ok(())
    }

    fn job_of(&self, number: usize) -> Option<JobId> {
        let cell = self.table.cell(number, self.columns.job_id?);
        JobId::parse(std::str::from_utf8(&cell).ok()?).ok()
    }

    /// Opens the markers of a job.
    fn open_markers(&mut self, number: usize, row: RowSeen) -> Result<(), StoreError> {
        let Some(job) = self.job_of(number) else {
            return Ok(());
        };
        let said = self.columns.read(self.table, number, 1);
        let state = self.paths.state();
        let evidence = Evidence::read(self.paths, &job).context("read markers in", &state)?;
        let state = evidence::state_of(&evidence, &said.brief(None));
        let simulated = matches!(
            state,
            JobState::Completed {
                simulated: true,
                ..
            }
        );
        count(&mut self.seen, row, state.status(), simulated);
        if state.status().is_terminal()
            && said.status.as_ref().ok() != Some(&state.status())
            && let Some(ended) = evidence.ruling().and_then(|marker| marker.beat)
        {
            self.seen.behind = self.seen.behind.max(self.now.since(ended));
        }
        match state {
            JobState::Running { attempt } => {
                let running = self.running(job, attempt, usize::from(row.algo), &evidence);
                self.seen.running.push(running);
            }
            JobState::Failed { .. } => self.fail(number, row, evidence.error()),
            _ => {}
        }
        Ok(())
    }

    fn fail(&mut self, number: usize, row: RowSeen, noted: Option<String>) {
        let Some(job_id) = self.job_of(number) else {
            return;
        };
        let said = self.columns.read(self.table, number, 1);
        let failed = FailedJob {
            job_id,
            algo: row.algo.into(),
            name: JobName::default(),
            message: noted
                .filter(|noted| !noted.trim().is_empty())
                .unwrap_or(said.error),
            ended: self.columns.ended(self.table, number),
        };
        self.seen.failures.push(failed);
    }

    fn running(&self, job_id: JobId, attempt: u32, algo: usize, evidence: &Evidence) -> RunningJob {
        let lease = evidence.lease();
        let holder = lease.map(|lease| self.watch.describe(self.paths, &job_id, lease, self.now));
        let lives = holder.as_ref().is_some_and(|h| h.verdict != Verdict::Dead);
        let record = lease.and_then(|lease| lease.record()).filter(|_| lives);
        RunningJob {
            // A journal that cannot be read tells no progress.
            progress: record.and_then(|record| {
                let path = self.paths.journal(&record.worker_id);
                journal::last_progress(&path, &record.nonce).ok().flatten()
            }),
            job_id,
            algo,
            name: JobName::default(),
            attempt,
            holder,
        }
    }
}
