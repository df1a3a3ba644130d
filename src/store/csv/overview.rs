//! Reads a run at a glance: every table and folder once, side by side, and a
//! marker only where its name and the row disagree or somebody holds the job.
//!
//! For `run status`, which must be quick on a hundred thousand jobs: rows,
//! manifest lines and markers meet by the hash of their job's id, and nothing is
//! kept of a row but a few numbers. Two ids with the same 64-bit hash would be
//! counted as one, so nothing but a count may rest on it. Takes no lock, writes
//! nothing, and does not look whether results are still there. What is odd is
//! left to [`super::snapshot`], which says what it is.

use std::collections::{BTreeSet, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;

use rayon::prelude::*;

use crate::domain::id::{JobId, RunId};
use crate::domain::job::{JobState, Status};
use crate::domain::lease::{Rhythm, Verdict};
use crate::domain::naming::StateFile;
use crate::domain::time::Timestamp;
use crate::platform;
use crate::store::error::{IoContext, StoreError};
use crate::store::overview::{AlgoOverview, EndedJob, FailedJob, Overview, RunningJob};
use crate::workspace::lock;
use crate::workspace::paths::{RunPaths, Workspace};

use super::evidence::{self, Evidence};
use super::journal;
use super::liveness::Watch;
use super::marker::RecordKind;
use super::registry::{self, Registry, RowColumns};
use super::table::Table;
use super::{open, snapshot};

mod rows;

use rows::{Ending, RowSeen, Rows};

/// How many of the latest endings tell the pace.
const RECENT: usize = 200;

/// Reads a run at a glance.
pub fn overview(
    workspace: &Workspace,
    run_id: &RunId,
    rhythm: Rhythm,
    now: Timestamp,
) -> Result<Overview, StoreError> {
    let paths = workspace.run(run_id);
    let mut registry = Registry::new(workspace.registry(), "reader");
    let (rows, (markers, listed)) = rayon::join(
        || registry.load().map(|table| Rows::read(table, Some(run_id))),
        || rayon::join(|| markers(&paths), || listed(&paths)),
    );
    let rows = rows?;
    let (Some(listed), false) = (listed, rows.jobs.is_empty()) else {
        // There is something to say about these tables, and it is said there.
        open::check_run(&mut registry, workspace, run_id, &paths)?;
        return Ok(Overview::default());
    };
    let markers = markers.context("list", &paths.state())?;
    let table = registry.load()?;
    let mut glance = Glance {
        columns: RowColumns::of(table),
        table,
        paths: &paths,
        watch: &snapshot::watch_to_read(workspace, rhythm),
        now,
        odd: listed.odd || rows.odd || snapshot::ignores_case(&paths),
        seen: Overview::default(),
        running: Vec::new(),
        failed: Vec::new(),
    };
    glance.seen.algos = algos(&rows);
    glance.join(&rows.jobs, &listed.hashes, &markers)?;
    glance.seen.recent = recent(table, rows.endings);
    let Glance {
        odd,
        mut seen,
        mut running,
        mut failed,
        ..
    } = glance;
    running.sort_by_key(|(row, _)| *row);
    failed.sort_by_key(|(row, _)| *row);
    seen.running = running.into_iter().map(|(_, job)| job).collect();
    seen.failures = failed.into_iter().map(|(_, job)| job).collect();
    seen.worker_lives = worker_lives(&paths);
    if odd {
        let told = snapshot::read_run(workspace, run_id, rhythm, now)?.warnings;
        seen.warnings.splice(0..0, told);
    }
    Ok(seen)
}

/// Tells whether the journal of a worker is held; one that cannot be looked at is not.
fn worker_lives(paths: &RunPaths) -> bool {
    let journals = journal::all(&paths.journals()).unwrap_or_default();
    let mut journals = journals.iter();
    journals.any(|found| lock::is_held(&found.path).unwrap_or(false))
}

/// Returns how long completed jobs took, by algorithm, over all runs of the
/// workspace, in seconds.
pub fn past_durations(workspace: &Workspace) -> Result<Vec<AlgoOverview>, StoreError> {
    let mut registry = Registry::new(workspace.registry(), "reader");
    Ok(algos(&Rows::read(registry.load()?, None)))
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

fn hash_of(id: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    id.hash(&mut hasher);
    hasher.finish()
}

/// Tells whether an id needs no closer look: most are short words of letters
/// and digits.
fn is_plain(id: &[u8]) -> bool {
    let word = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    (5..=128).contains(&id.len()) && id[0] != b'-' && id.iter().all(word)
}

/// The jobs of the manifest, by hash.
struct Listed {
    hashes: Vec<u64>,
    odd: bool,
}

/// Reads the ids of the manifest; nothing if it cannot be used.
fn listed(paths: &RunPaths) -> Option<Listed> {
    let table = registry::read_table(&paths.manifest()).ok()?;
    let column = table.column("job_id").filter(|_| !table.is_empty())?;
    let mut odd = false;
    let mut hashes: Vec<u64> = (0..table.len())
        .map(|row| {
            let id = table.cell(row, column);
            odd |= !is_plain(&id);
            hash_of(&id)
        })
        .collect();
    hashes.par_sort_unstable();
    let lines = hashes.len();
    hashes.dedup();
    odd |= lines != hashes.len();
    Some(Listed { hashes, odd })
}

/// Lists the markers: the hash of each job that has some, and which.
fn markers(paths: &RunPaths) -> io::Result<Vec<(u64, u8)>> {
    let mut found: Vec<(u64, u8)> = Vec::new();
    let listed = platform::each_name(&paths.state(), &mut |name| {
        let Some((job, file)) = name.to_str().and_then(StateFile::split) else {
            return;
        };
        if let Some(kind) = RecordKind::ALL.into_iter().find(|kind| kind.file() == file) {
            found.push((hash_of(job.as_bytes()), 1 << kind as u8));
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

fn algos(rows: &Rows) -> Vec<AlgoOverview> {
    let named = rows.algos.iter().map(|algo| AlgoOverview {
        algo: String::from_utf8_lossy(algo).into_owned(),
        ..AlgoOverview::default()
    });
    let mut algos: Vec<AlgoOverview> = named.collect();
    for ending in &rows.endings {
        let algo = &mut algos[usize::from(ending.algo)];
        if ending.completed && !ending.simulated {
            algo.took_s.push(ending.took_s);
            match ending.cost_micros {
                Some(micros) => algo.cost_micros += micros,
                None => algo.unpriced += 1,
            }
        }
    }
    algos
}

/// Returns the latest endings, newest first. Times of our own making sort like
/// their texts, so only those that are kept are read.
fn recent(table: &Table, mut endings: Vec<Ending>) -> Vec<EndedJob> {
    let text = |ending: &Ending| &table.bytes()[ending.ended.clone()];
    let newest_first = |a: &Ending, b: &Ending| text(b).cmp(text(a));
    if endings.len() > RECENT {
        endings.select_nth_unstable_by(RECENT, newest_first);
        endings.truncate(RECENT);
    }
    endings.sort_unstable_by(newest_first);
    let read = |ending: &Ending| {
        Some(EndedJob {
            algo: ending.algo.into(),
            ended: Timestamp::parse(std::str::from_utf8(text(ending)).ok()?)?,
            took_s: ending.took_s,
            simulated: ending.simulated,
        })
    };
    endings.iter().filter_map(read).collect()
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

/// What is being put together.
struct Glance<'a> {
    table: &'a Table,
    columns: RowColumns,
    paths: &'a RunPaths,
    watch: &'a Watch,
    now: Timestamp,
    /// Something is worth a sentence.
    odd: bool,
    seen: Overview,
    running: Vec<(u32, RunningJob)>,
    failed: Vec<(u32, FailedJob)>,
}

impl Glance<'_> {
    /// Brings rows, manifest and markers together; all are sorted by hash.
    fn join(
        &mut self,
        rows: &[RowSeen],
        listed: &[u64],
        markers: &[(u64, u8)],
    ) -> Result<(), StoreError> {
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
            self.take(*row, kinds)?;
        }
        let strays = listed.len() - known;
        self.odd |= strays > 0;
        self.seen.total += strays;
        Ok(())
    }

    fn take(&mut self, row: RowSeen, kinds: u8) -> Result<(), StoreError> {
        self.seen.total += 1;
        let Some(by_row) = row.status.or((kinds != 0).then_some(Status::Enqueued)) else {
            self.odd = true;
            let word = self.columns.read(self.table, row.row as usize, 1).status;
            if let (Some(job), Err(word)) = (self.job_of(row), word) {
                self.seen.warnings.push(format!(
                    "job {job} has the status {word:?}, which is none of ours"
                ));
            }
            return Ok(());
        };
        let alone = |kind: RecordKind| kinds == 1 << kind as u8;
        let agrees = kinds == 0
            || RecordKind::ALL
                .into_iter()
                .any(|kind| alone(kind) && kind.status() == by_row);
        let held = alone(RecordKind::InProgress) || by_row == Status::Running;
        if agrees && !held && row.status.is_some() {
            self.count(row, by_row, row.rehearsal);
            if by_row == Status::Failed {
                self.fail(row, None);
            }
            return Ok(());
        }
        self.look_closer(row)
    }

    fn count(&mut self, row: RowSeen, status: Status, simulated: bool) {
        let algo = &mut self.seen.algos[usize::from(row.algo)];
        algo.counts[status as usize] += 1;
        algo.rehearsed += usize::from(status == Status::Completed && simulated);
    }

    fn job_of(&self, row: RowSeen) -> Option<JobId> {
        let cell = self.table.cell(row.row as usize, self.columns.job_id?);
        JobId::parse(std::str::from_utf8(&cell).ok()?).ok()
    }

    /// Opens the markers of a job.
    fn look_closer(&mut self, row: RowSeen) -> Result<(), StoreError> {
        let Some(job) = self.job_of(row) else {
            return Ok(());
        };
        let said = self.columns.read(self.table, row.row as usize, 1);
        let state = self.paths.state();
        let evidence = Evidence::read(self.paths, &job).context("read markers in", &state)?;
        let state = evidence::state_of(&evidence, &said.brief());
        let simulated = matches!(
            state,
            JobState::Completed {
                simulated: true,
                ..
            }
        );
        self.count(row, state.status(), simulated);
        match state {
            JobState::Running { attempt } => {
                let running = self.running(job, attempt, usize::from(row.algo), &evidence);
                self.running.push((row.row, running));
            }
            JobState::Failed { .. } => self.fail(row, evidence.error()),
            _ => {}
        }
        Ok(())
    }

    fn fail(&mut self, row: RowSeen, noted: Option<String>) {
        let Some(job_id) = self.job_of(row) else {
            return;
        };
        let said = self.columns.read(self.table, row.row as usize, 1);
        let failed = FailedJob {
            job_id,
            algo: row.algo.into(),
            message: noted
                .filter(|noted| !noted.trim().is_empty())
                .unwrap_or(said.error),
            ended: self.columns.ended(self.table, row.row as usize),
        };
        self.failed.push((row.row, failed));
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
            attempt,
            holder,
        }
    }
}
