//! A check-up of one run: what its markers, journals and rows say against each
//! other, and what dead workers left.
//!
//! Used by `doctor`. It takes no lock and writes nothing, and leaves out what a
//! live worker is still at: its rows may be behind for a moment.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};

use rayon::prelude::*;

use crate::domain::id::{JobId, RunId, WorkerId};
use crate::domain::lease::{Rhythm, Verdict};
use crate::domain::patch::WorkerFacts;
use crate::domain::time::Timestamp;
use crate::store::error::{IoContext, StoreError};
use crate::workspace::artifact;
use crate::workspace::paths::{RunPaths, Workspace};

use super::evidence::Evidence;
use super::journal::{self, Finished, Line, What};
use super::journal_summary;
use super::late::{self, Kept};
use super::liveness::Watch;
use super::made::{self, Left};
use super::marker::{Marker, RecordKind};
use super::projection::{self, Kinds, StateNames};
use super::recover;
use super::repair::{self, DamagedMarker};
use super::snapshot;
use super::sweep;
use crate::table::Table;

/// What was found in one run.
#[derive(Debug, Default)]
pub struct RunExam {
    /// Jobs whose holders are dead.
    pub dead_leases: Vec<DeadLease>,
    /// Rows that do not say what their markers say.
    pub behind: Vec<Behind>,
    /// Endings that only a journal knows, and whether they are results.
    pub unpublished: Vec<(JobId, bool)>,
    /// What is kept under `outputs/.late/`, and whether its job has a result.
    pub kept: Vec<(Kept, bool)>,
    /// Staging folders that nobody goes on with.
    pub orphan_staging: Vec<PathBuf>,
    /// Temporary files of dead writers.
    pub temporaries: Vec<PathBuf>,
    /// Markers that cannot be used.
    pub damaged_markers: Vec<DamagedMarker>,
    /// Journals with lines that cannot be read, and how many.
    pub damaged_journals: Vec<(PathBuf, usize)>,
    /// Journals that were not read, as nothing was asked of them: whoever reads them for
    /// other reasons sees what of them is damaged.
    pub unread_journals: Vec<PathBuf>,
    /// Journals that their dead workers did not close.
    pub dead_journals: Vec<PathBuf>,
    /// Jobs whose files are not those that were recorded; only looked for when asked.
    pub altered: Vec<(JobId, String)>,
    /// Markers whose own time and the file's time disagree.
    pub skews: Vec<Skew>,
    /// How many workers live.
    pub live_workers: usize,
}

/// A job whose holder is dead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeadLease {
    /// The job.
    pub job_id: JobId,
    /// Who had it.
    pub worker: String,
    /// On which machine, if known.
    pub host: Option<String>,
    /// The folder of its attempt, if a whole model is in it.
    pub made: Option<PathBuf>,
}

/// A row that does not say what its marker says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Behind {
    /// The job.
    pub job_id: JobId,
    /// The row's line.
    pub line: usize,
    /// Columns, what they say and what they should say.
    pub cells: Vec<(String, String, String)>,
}

/// A marker whose own time and the file's time disagree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skew {
    /// The marker.
    pub path: PathBuf,
    /// By how many seconds its writer's clock is ahead of the disk's.
    pub seconds: i64,
}

/// Looks through a run whose `names` were listed after the table was read: a row never
/// tells of a marker that they lack. `deep` also reads every result.
pub fn examine(
    workspace: &Workspace,
    run_id: &RunId,
    table: Option<&mut Table>,
    names: io::Result<StateNames>,
    (now, deep): (Timestamp, bool),
) -> Result<RunExam, StoreError> {
    let paths = workspace.run(run_id);
    let mut exam = RunExam::default();
    // These are there also where all records are gone.
    for kept in late::kept(workspace, run_id) {
        let evidence = Evidence::read(&paths, &kept.job_id);
        let evidence = evidence.context("read markers in", &paths.state())?;
        let completed = |marker: &Marker| {
            let simulated = marker.record().is_some_and(|record| record.simulated);
            marker.kind == RecordKind::Completed && !simulated
        };
        let has_result = evidence.ruling().is_some_and(completed);
        exam.kept.push((kept, has_result));
    }
    if !paths.state().is_dir() {
        return Ok(exam);
    }
    let mut suspects = BTreeSet::new();
    let watch = snapshot::watch_to_read(workspace, Rhythm::default());
    let names = names.context("list", &paths.state())?;
    // Endings are large, so only those are kept that are asked for.
    let odd = exam.look_at_jobs(&paths, &watch, &names, (now, deep))?;
    let mut endings: HashMap<_, _> = odd.into_iter().map(|job| (job, None)).collect();
    let live = exam.read_journals(&paths, (&watch, now), &mut suspects, &mut endings)?;
    for (job, ending) in endings {
        exam.look_at_markers(&paths, &job, ending.as_ref())?;
    }
    exam.orphan_staging = sweep::orphan_staging(&paths, &watch, now)?;
    exam.temporaries = sweep::dead_temporaries(&paths, &names)?;
    if let Some(table) = table {
        exam.compare_rows(&paths, run_id, (table, &names), (&suspects, &live))?;
    }
    exam.sort();
    Ok(exam)
}

impl RunExam {
    fn sort(&mut self) {
        self.dead_leases.sort_by(|a, b| a.job_id.cmp(&b.job_id));
        self.damaged_markers.sort();
        self.altered.sort();
        self.skews.sort_by(|a, b| a.path.cmp(&b.path));
    }

    /// Reads the journals; returns the workers that live.
    fn read_journals(
        &mut self,
        paths: &RunPaths,
        (watch, now): (&Watch, Timestamp),
        suspects: &mut BTreeSet<JobId>,
        endings: &mut HashMap<JobId, Option<Finished>>,
    ) -> Result<HashSet<WorkerId>, StoreError> {
        let asked: HashSet<JobId> = endings.keys().cloned().collect();
        let mut keep = |finished: Finished| {
            if let Some(known) = endings.get_mut(&finished.job_id) {
                let earlier = known.as_ref().map(|known| known.attempt);
                if earlier.is_none_or(|earlier| earlier < finished.attempt)
                    && repair::leaves_marker(&finished)
                {
                    *known = Some(finished);
                }
            }
        };
        let folder = paths.journals();
        let mut live = HashSet::new();
        let unclosed = journal::unclosed(&folder).context("list", &folder)?;
        for found in journal::all(&folder).context("list", &folder)? {
            if !unclosed.contains(&found) {
                if asked.is_empty() {
                    self.unread_journals.push(found.path);
                    continue;
                }
                let (told, damaged) = closed_endings(&found.path, &asked)?;
                told.into_iter().for_each(&mut keep);
                if damaged > 0 {
                    self.damaged_journals.push((found.path, damaged));
                }
                continue;
            }
            let (lines, damaged) = journal::read(&found.path).context("read", &found.path)?;
            if damaged > 0 {
                self.damaged_journals.push((found.path.clone(), damaged));
            }
            let ended = watch.has_ended(paths, &found, &lines, now);
            if !ended.context("look at", &found.path)? {
                live.insert(found.worker_id.clone());
                continue;
            }
            let summary = journal_summary::summarize(&found, lines);
            for left in summary.unfinished() {
                self.look_at_made(paths, left)?;
            }
            for finished in summary.finished {
                self.look_at_ending(paths, &finished)?;
                keep(finished);
            }
            suspects.extend(summary.jobs);
            self.dead_journals.push(found.path);
        }
        self.live_workers = live.len();
        Ok(live)
    }

    fn look_at_ending(&mut self, paths: &RunPaths, finished: &Finished) -> Result<(), StoreError> {
        if !recover::is_settled(paths, finished)? {
            let ending = (finished.job_id.clone(), finished.completed);
            if !self.unpublished.contains(&ending) {
                self.unpublished.push(ending);
            }
        }
        Ok(())
    }

    fn look_at_made(&mut self, paths: &RunPaths, left: &Left) -> Result<(), StoreError> {
        let line = &left.line;
        let evidence = Evidence::read(paths, &line.job_id);
        let evidence = evidence.context("read markers in", &paths.state())?;
        let made = (line.job_id.clone(), true);
        if !made::is_overtaken(&evidence, line) && !self.unpublished.contains(&made) {
            self.unpublished.push(made);
        }
        Ok(())
    }

    /// Looks at markers that are not ours, with what a journal tells of their job.
    fn look_at_markers(
        &mut self,
        paths: &RunPaths,
        job: &JobId,
        ending: Option<&Finished>,
    ) -> Result<(), StoreError> {
        let state = paths.state();
        let evidence = Evidence::read(paths, job).context("read markers in", &state)?;
        for marker in &evidence.markers {
            if let Some((reason, remedy)) = repair::judge(paths, marker, ending) {
                self.damaged_markers.push(DamagedMarker {
                    path: paths.state_file(job, marker.kind.file()),
                    job_id: job.clone(),
                    reason,
                    remedy,
                });
            }
        }
        Ok(())
    }

    /// Looks at every job, several at once; returns those with a marker that is not ours
    /// or damaged.
    fn look_at_jobs(
        &mut self,
        paths: &RunPaths,
        watch: &Watch,
        names: &StateNames,
        how: (Timestamp, bool),
    ) -> Result<Vec<JobId>, StoreError> {
        let jobs = names.jobs_on_disk();
        let look = |jobs: &[(&str, Kinds)]| {
            let (mut part, mut odd) = (Self::default(), Vec::new());
            let jobs = jobs.iter();
            for (job, kinds) in jobs.filter_map(|(name, of)| Some((JobId::parse(name).ok()?, of))) {
                if part.look_at_job(paths, watch, (&job, *kinds), how)? {
                    odd.push(job);
                }
            }
            Ok((part, odd))
        };
        let parts: Result<Vec<_>, StoreError> = jobs.par_chunks(256).map(look).collect();
        let mut all = Vec::new();
        for (part, odd) in parts? {
            self.dead_leases.extend(part.dead_leases);
            self.altered.extend(part.altered);
            self.skews.extend(part.skews);
            all.extend(odd);
        }
        Ok(all)
    }

    /// Looks at one job; returns whether a marker of it is not ours or damaged.
    fn look_at_job(
        &mut self,
        paths: &RunPaths,
        watch: &Watch,
        (job, kinds): (&JobId, Kinds),
        (now, deep): (Timestamp, bool),
    ) -> Result<bool, StoreError> {
        let state = paths.state();
        let evidence = Evidence::read_listed(paths, job, kinds);
        let evidence = evidence.context("read markers in", &state)?;
        for marker in &evidence.markers {
            self.look_ahead(paths, job, marker, now);
        }
        if let Some(lease) = evidence.lease() {
            let rules = evidence
                .ruling()
                .is_none_or(|ruling| ruling.kind == RecordKind::InProgress);
            let holder = watch.describe(paths, job, lease, now);
            self.look_at_clock(paths, job, lease);
            if rules && holder.verdict == Verdict::Dead {
                let folder = lease.record().map(recover::staging_of);
                let folder = folder.map(|name| paths.staging().join(name));
                self.dead_leases.push(DeadLease {
                    job_id: job.clone(),
                    worker: holder.worker,
                    host: holder.host,
                    made: folder.filter(|folder| artifact::holds_model(folder)),
                });
            }
        }
        if deep && let Some(record) = evidence.ruling().and_then(Marker::record) {
            let folder = paths.output(job);
            let altered = record
                .outputs
                .iter()
                .find(|file| !artifact::is_intact(&folder, &file.name, file.size, &file.sha256));
            if let Some(file) = altered.filter(|_| record.kind == RecordKind::Completed) {
                self.altered.push((job.clone(), file.name.clone()));
            }
        }
        Ok(evidence
            .markers
            .iter()
            .any(|marker| marker.record().is_none()))
    }

    /// A file that was written in the time to come was written by another clock.
    fn look_ahead(&mut self, paths: &RunPaths, job: &JobId, marker: &Marker, now: Timestamp) {
        let Some(written) = marker.version.written() else {
            return;
        };
        let seconds = now.as_datetime().timestamp().saturating_sub(written);
        if marker.kind != RecordKind::InProgress && seconds < 0 {
            let path = paths.state_file(job, marker.kind.file());
            self.skews.push(Skew { path, seconds });
        }
    }

    /// A heartbeat writes its own time and thereby sets the file's.
    fn look_at_clock(&mut self, paths: &RunPaths, job: &JobId, lease: &Marker) {
        let (Some(beat), Some(written)) = (lease.beat, lease.version.written()) else {
            return;
        };
        let path = paths.state_file(job, lease.kind.file());
        let seconds = beat.as_datetime().timestamp().saturating_sub(written);
        self.skews.push(Skew { path, seconds });
    }

    fn compare_rows(
        &mut self,
        paths: &RunPaths,
        run_id: &RunId,
        (table, names): (&mut Table, &StateNames),
        (suspects, live): (&BTreeSet<JobId>, &HashSet<WorkerId>),
    ) -> Result<(), StoreError> {
        let nobody = WorkerFacts::default();
        let state = paths.state();
        let hints = projection::disagreements(table, run_id, paths, names, suspects, &nobody)
            .context("read markers in", &state)?;
        let mut wanted = Vec::new();
        for hint in hints {
            let evidence = Evidence::read(paths, &hint.job).context("read markers in", &state)?;
            let author = evidence.ruling().and_then(Marker::record);
            if author.is_none_or(|record| !live.contains(&record.worker_id)) {
                wanted.push((hint.job, hint.wanted));
            }
        }
        for (job_id, edit) in projection::would_change(table, run_id, &wanted) {
            let cells = edit.cells.into_iter().filter_map(|(column, new)| {
                let old = String::from_utf8_lossy(&table.cell(edit.row, column)).into_owned();
                (old != new).then(|| (table.columns()[column].clone(), old, new))
            });
            self.behind.push(Behind {
                job_id,
                line: table.line_of(edit.row),
                cells: cells.collect(),
            });
        }
        Ok(())
    }
}

/// Returns the endings of wanted jobs that a closed journal tells, and how many of its
/// lines cannot be read.
fn closed_endings(
    path: &Path,
    wanted: &HashSet<JobId>,
) -> Result<(Vec<Finished>, usize), StoreError> {
    let keep = |what: &mut What| match what {
        What::Finished(finished) => wanted.contains(&finished.job_id),
        What::Fenced { .. } => true,
        _ => false,
    };
    let mut told: Vec<Finished> = Vec::new();
    let take = |_, line: Line| match line.what {
        What::Finished(finished) => told.push(*finished),
        What::Fenced { nonce, .. } => told.retain(|finished| finished.nonce != nonce),
        _ => {}
    };
    let unread = journal::each_line_at(path, Some(&["finished", "fenced"]), keep, take)
        .context("read", path)?;
    Ok((told, unread.damaged))
}
