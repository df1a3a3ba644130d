//! Reading a whole run: manifest, registry and markers joined, nothing changed.
//!
//! A marker is opened only where its name and the row disagree or somebody
//! holds the job, so that a hundred thousand finished jobs cost no opens.

use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs;
use std::io;
use std::sync::{Mutex, PoisonError};

use crate::domain::id::{AlgoKey, JobId, RunId};
use crate::domain::job::{JobState, Status};
use crate::domain::lease::Rhythm;
use crate::domain::spreadsheet::KnownIds;
use crate::domain::text::{counted, plural};
use crate::domain::time::Timestamp;
use crate::platform;
use crate::store::error::{IoContext, StoreError};
use crate::store::{JobRecord, JobSnapshot, RunJobs};
use crate::workspace::paths::{RunPaths, Workspace};

use super::evidence::{self, Evidence};
use super::liveness::Watch;
use super::marker::RecordKind;
use super::open;
use super::past::Past;
use super::projection::StateNames;
use super::registry::{Registry, Row, RowColumns};
use super::subject::Contradictions;
use super::{FileStore, RowBrief};
use crate::store::consumed;
use crate::store::manifest::{Manifest, ManifestRow};
use crate::table::Table;

/// So many keys of algorithms are kept to be shared.
const SHARED_ALGOS: usize = 64;

pub(super) fn jobs(store: &FileStore, now: Timestamp) -> Result<RunJobs, StoreError> {
    let paths = store.paths();
    let manifest = store.take_manifest()?;
    let mut registry = store.registry();
    let names = store.names_for(&mut registry)?;
    // From now on jobs are taken, by us too.
    store.forget_names();
    let table = registry.load()?;
    let reader = Reader {
        paths,
        briefs: Some(&store.rows),
        before: RefCell::default(),
        past: OnceCell::new(),
        watch: &store.watch,
        now,
        run_id: &store.shared.run_id,
    };
    reader.read(table, manifest, &names)
}

/// Reads a run without opening it for work: takes no lock, writes nothing.
pub fn read_run(
    workspace: &Workspace,
    run_id: &RunId,
    rhythm: Rhythm,
    now: Timestamp,
) -> Result<RunJobs, StoreError> {
    let paths = workspace.run(run_id);
    let mut registry = Registry::new(workspace.registry(), "reader");
    let manifest = open::check_run(&mut registry, workspace, run_id, &paths)?;
    let watch = watch_to_read(workspace, rhythm);
    let reader = Reader {
        briefs: None,
        before: RefCell::default(),
        past: OnceCell::new(),
        paths: &paths,
        watch: &watch,
        now,
        run_id,
    };
    let table = registry.load()?;
    let names = StateNames::list(&paths).context("list", &paths.state())?;
    reader.read(table, manifest, &names)
}

/// Returns a judge of holders that writes nothing.
pub(super) fn watch_to_read(workspace: &Workspace, rhythm: Rhythm) -> Watch {
    let kind = platform::file_system_kind(workspace.root());
    let proves = matches!(kind, Ok(platform::FileSystemKind::Local));
    Watch::new(&platform::boot_id(), proves, rhythm, false)
}

struct Reader<'a> {
    paths: &'a RunPaths,
    watch: &'a Watch,
    now: Timestamp,
    run_id: &'a RunId,
    /// Where to keep what later claims need of the rows.
    briefs: Option<&'a Mutex<HashMap<JobId, RowBrief>>>,
    /// What was kept last: neighbours often say the same.
    before: RefCell<Option<RowBrief>>,
    past: OnceCell<Past>,
}

/// Tells whether a job was only rehearsed.
fn is_rehearsed(state: JobState) -> bool {
    matches!(
        state,
        JobState::Completed {
            simulated: true,
            ..
        }
    )
}

impl Reader<'_> {
    fn read(
        &self,
        table: &mut Table,
        manifest: Manifest,
        names: &StateNames,
    ) -> Result<RunJobs, StoreError> {
        let state = self.paths.state();
        let mut run = RunJobs::default();
        let shown = format!("runs/{}/manifest.csv", self.run_id);
        for fault in &manifest.faults {
            run.warnings
                .push(format!("{shown}: {fault}; the line is skipped"));
        }
        for warning in &manifest.warnings {
            run.warnings.push(format!("{shown}: {warning}"));
        }
        if !table.is_utf8() {
            run.warnings.push(
                "tables/generations.csv is not UTF-8: a spreadsheet has saved it in another encoding; \
                 what it says is kept as it is, and `archi3d registry rebuild` writes the recorded \
                 texts again"
                    .into(),
            );
        }
        let found = Contradictions::find(table, self.run_id, &manifest.rows);
        let mixed_up: HashSet<&str> = found.mixed_up.iter().map(|(job, _)| &**job).collect();
        let columns = RowColumns::of(table);
        run.jobs.reserve_exact(manifest.rows.len());
        if let Some(briefs) = self.briefs {
            let mut briefs = briefs.lock().unwrap_or_else(PoisonError::into_inner);
            briefs.reserve(manifest.rows.len());
        }
        let mut algos = Vec::new();
        let mut listed = HashSet::with_capacity(manifest.rows.len());
        let mut read = vec![false; table.len()];
        for entry in consumed(manifest.rows) {
            listed.insert(entry.job_id.clone());
            let row = columns.find(table, self.run_id, &entry.job_id);
            if let Some(row) = row.as_ref().filter(|row| row.copies == 1) {
                read[row.number] = true;
            }
            if let Some(row) = row.as_ref().filter(|row| row.copies > 1) {
                run.warnings.push(format!(
                    "job {} has {} rows in the registry; it runs once and all of them are updated",
                    entry.job_id, row.copies
                ));
            }
            // A row of something else is no row of this job.
            let row = row.filter(|_| !mixed_up.contains(entry.job_id.as_str()));
            let snapshot = self
                .snapshot(&entry.job_id, row.as_ref(), names)
                .context("read markers in", &state)?;
            run.jobs.push(record(entry, snapshot, &mut algos));
        }
        self.add_unlisted(table, names, (&listed, &read), &mut run)?;
        tell_renamed(&found, &mut run);
        warn_of_missing_outputs(self.paths, &mut run);
        if ignores_case(self.paths) {
            leave_out_duplicates(&mut run);
        }
        warn_of_strays(&mut run, mixed_up.len());
        Ok(run)
    }

    /// Adds jobs that only the registry has. Those that wait are shown but never
    /// run: a manifest may have been cut short on purpose. Nor are those that have no
    /// marker: a spreadsheet may have changed their id.
    fn add_unlisted(
        &self,
        table: &mut Table,
        names: &StateNames,
        (listed, read): (&HashSet<JobId>, &[bool]),
        run: &mut RunJobs,
    ) -> Result<(), StoreError> {
        let columns = RowColumns::of(table);
        let column = columns.job_id.expect("a registry has its key columns");
        let rows: Vec<usize> = table.index(self.run_id.as_str()).rows().collect();
        let mut seen = HashSet::new();
        for number in rows.into_iter().filter(|number| !read[*number]) {
            let cell = table.cell(number, column);
            let job = match std::str::from_utf8(&cell)
                .map_err(|e| e.to_string())
                .and_then(|id| JobId::parse(id).map_err(|e| e.to_string()))
            {
                Ok(job) => job,
                Err(reason) => {
                    run.warnings.push(format!(
                        "tables/generations.csv line {}: {reason}; the row is skipped",
                        table.line_of(number)
                    ));
                    continue;
                }
            };
            if listed.contains(&job) || !seen.insert(job.clone()) {
                continue;
            }
            let Some(row) = columns.find(table, self.run_id, &job) else {
                continue;
            };
            let state = self.paths.state();
            let snapshot = self
                .snapshot(&job, Some(&row), names)
                .context("read markers in", &state)?;
            let waits = matches!(&snapshot, JobSnapshot::Known { state, .. } if state.status() == Status::Enqueued);
            // A row that nothing else knows of is a slip of a spreadsheet or another tool's.
            let snapshot = if waits || names.of(job.as_str()).is_none() {
                JobSnapshot::NotInManifest
            } else {
                snapshot
            };
            let entry = columns.as_listed(table, row.number, job);
            run.jobs.push(record(entry, snapshot, &mut Vec::new()));
        }
        Ok(())
    }

    /// Returns what the journals know; read only where it can matter.
    fn past(&self) -> io::Result<&Past> {
        if self.past.get().is_none() {
            let past = Past::read(self.paths).map_err(io::Error::other)?;
            let _ = self.past.set(past);
        }
        Ok(self.past.get().expect("it was just read"))
    }

    fn snapshot(
        &self,
        job: &JobId,
        row: Option<&Row>,
        names: &StateNames,
    ) -> io::Result<JobSnapshot> {
        let Some(row) = row else {
            return Ok(JobSnapshot::NotRegistered);
        };
        if let Some(briefs) = self.briefs {
            let mut before = self.before.borrow_mut();
            let brief = row.brief(before.as_ref());
            *before = Some(brief.clone());
            let mut briefs = briefs.lock().unwrap_or_else(PoisonError::into_inner);
            briefs.insert(job.clone(), brief);
        }
        let by_row = match &row.status {
            Ok(status) => *status,
            Err(word) if names.of(job.as_str()).is_none() => {
                return Ok(JobSnapshot::Unknown(word.clone()));
            }
            Err(_) => Status::Enqueued,
        };
        let kinds = names.of(job.as_str());
        let held = kinds.is_some_and(|kinds| kinds.has(RecordKind::InProgress));
        let waiting = kinds.is_some_and(|kinds| kinds.has(RecordKind::Released));
        let unmarked = kinds.is_none() && by_row == Status::Completed;
        let error = (!row.error.is_empty()).then(|| row.error.clone());
        let failed = kinds.is_some_and(|kinds| kinds.has(RecordKind::Failed));
        if !held && !waiting && !failed && names.agree(job.as_str(), by_row) {
            let state = evidence::state_by_row(by_row, row.rehearsal);
            let simulated = is_rehearsed(state);
            // Where the marker of an attempt was removed, the journals still know of it.
            let past = match state {
                JobState::Failed { .. } | JobState::Running { .. } if kinds.is_none() => {
                    Some(self.past()?)
                }
                _ => None,
            };
            let running = matches!(state, JobState::Running { .. });
            return Ok(JobSnapshot::Known {
                state,
                holder: None,
                error,
                unmarked,
                not_before: None,
                doubtful: simulated && self.past()?.is_doubtful(job)
                    || !running && past.is_some_and(|past| past.is_doubtful(job)),
                // Of one that ran and left no record, nobody knows what it bought.
                intended: running && past.is_some_and(|past| !past.has_tried(job)),
                tried: match state {
                    JobState::Enqueued { .. } => row.start.is_some(),
                    _ => !simulated || self.past()?.has_tried(job),
                },
                purchase: past.and_then(|past| past.purchase(job)).map(str::to_owned),
                holder_died: false,
                failures: 0,
            });
        }
        let evidence = Evidence::read(self.paths, job)?;
        let state = evidence::state_of(&evidence, &row.brief(None));
        let holder = evidence
            .lease()
            .filter(|_| matches!(state, JobState::Running { .. }))
            .map(|lease| Box::new(self.watch.describe(self.paths, job, lease, self.now)));
        let not_before = evidence
            .ruling()
            .and_then(|marker| marker.not_before(self.now));
        let purchase = evidence.purchase();
        Ok(JobSnapshot::Known {
            state,
            holder,
            error,
            unmarked: false,
            not_before,
            doubtful: evidence.is_doubtful()
                || is_rehearsed(state) && self.past()?.is_doubtful(job),
            tried: if is_rehearsed(state) {
                self.past()?.has_tried(job)
            } else {
                evidence.was_tried()
            },
            purchase: purchase.request_id,
            intended: purchase.intent.is_some(),
            holder_died: evidence.holder_died(),
            failures: evidence.failures(),
        })
    }
}

/// Makes the record of a job. Keys of algorithms are shared through `algos`: a
/// run has few of them.
fn record(entry: ManifestRow, snapshot: JobSnapshot, algos: &mut Vec<AlgoKey>) -> JobRecord {
    let known = algos.iter().find(|key| key.as_str() == entry.algo);
    let algo = match known {
        Some(key) => Ok(key.clone()),
        None => AlgoKey::parse(&entry.algo).map_err(|error| error.to_string()),
    };
    if known.is_none()
        && algos.len() < SHARED_ALGOS
        && let Ok(key) = &algo
    {
        algos.push(key.clone());
    }
    JobRecord {
        algo,
        job_id: entry.job_id,
        product_id: entry.product_id,
        variant: entry.variant,
        images: entry.images,
        blobs: Vec::new(),
        snapshot,
    }
}

/// Tells whether the disk takes names that differ only in case for the same.
pub(super) fn ignores_case(paths: &RunPaths) -> bool {
    let state = paths.state();
    let found = state.file_name().and_then(|name| {
        let shouted = name.to_ascii_uppercase();
        let other = fs::metadata(state.with_file_name(shouted)).ok()?;
        let state = fs::metadata(&state).ok()?;
        Some(platform::identity(&state) == platform::identity(&other))
    });
    found.unwrap_or_default()
}

/// Leaves out jobs whose files would be those of an earlier job.
fn leave_out_duplicates(run: &mut RunJobs) {
    let mut first = HashMap::new();
    let warnings = &mut run.warnings;
    run.jobs.retain(|job| {
        let folded = job.job_id.as_str().to_lowercase();
        let earlier = first.entry(folded).or_insert_with(|| job.job_id.clone());
        let alone = *earlier == job.job_id;
        if !alone {
            warnings.push(format!(
                "job {} is skipped: this disk cannot tell it from job {earlier}; \
                 give one of them another id",
                job.job_id
            ));
        }
        alone
    });
}

/// Adds one sentence for completed jobs whose results are gone. They are not run
/// again by themselves: somebody may have moved the files on purpose.
fn warn_of_missing_outputs(paths: &RunPaths, run: &mut RunJobs) {
    let completed = run.jobs.iter().filter(|job| {
        matches!(&job.snapshot, JobSnapshot::Known { state, unmarked: false, .. }
            if state.status() == Status::Completed)
    });
    let mut missing: HashSet<&str> = completed.map(|job| job.job_id.as_str()).collect();
    if missing.is_empty() {
        return;
    }
    let listed = platform::each_name(&paths.outputs(), &mut |name| {
        if let Some(name) = name.to_str() {
            missing.remove(name);
        }
    });
    if listed.is_err() {
        return;
    }
    let jobs = run.jobs.iter().map(|job| job.job_id.as_str());
    let gone: Vec<&str> = jobs.filter(|job| missing.contains(job)).collect();
    if let Some(first) = gone.first() {
        run.warnings.push(format!(
            "the results of {} completed jobs are not in the outputs folder any more (such as {first}); \
             they are not made again unless --redo asks for it",
            gone.len()
        ));
    }
}

/// Marks the rows whose job the manifest names by another id: by what they are made from,
/// or as a spreadsheet changes ids.
fn tell_renamed(found: &Contradictions, run: &mut RunJobs) {
    let of = |wanted: JobSnapshot| {
        let jobs = run.jobs.iter().filter(move |job| job.snapshot == wanted);
        jobs.map(|job| job.job_id.as_str())
    };
    let known = KnownIds::new(of(JobSnapshot::NotRegistered));
    let by_id =
        of(JobSnapshot::NotInManifest).filter_map(|cell| Some((cell, known.original_of(cell)?)));
    // A job that has a row of its own lost none to another id.
    let missing: HashSet<&str> = of(JobSnapshot::NotRegistered).collect();
    let by_subject = found.renamed.iter().map(|(cell, id, _)| (&**cell, &**id));
    let by_subject = by_subject.filter(|(_, id)| missing.contains(id));
    let renamed: BTreeMap<String, String> = by_id
        .chain(by_subject)
        .map(|(cell, id)| (cell.to_owned(), id.to_owned()))
        .collect();
    let is_job = |cell: &&String| run.jobs.iter().any(|job| job.job_id.as_str() == **cell);
    // Rows whose id can be none are jobs of nobody.
    let strays = renamed.keys().filter(|cell| !is_job(cell)).count();
    run.contradictions = found.mixed_up.len() + strays;
    for job in &mut run.jobs {
        if job.snapshot == JobSnapshot::NotInManifest && renamed.contains_key(job.job_id.as_str()) {
            job.snapshot = JobSnapshot::Renamed;
            run.contradictions += 1;
        }
    }
    if let Some((cell, id)) = renamed.iter().next() {
        run.warnings.push(format!(
            "a spreadsheet has changed the id of {} (such as {cell} for {id}); neither runs until \
             `archi3d registry rebuild` has set it right",
            counted(renamed.len(), "job")
        ));
    }
    if let Some((job, _)) = found.mixed_up.first() {
        run.warnings.push(format!(
            "{} another product, variant, algo or picture than the \
             manifest (such as that of {job}), as when one column is sorted alone; none of them \
             runs until `archi3d registry rebuild` has set it right",
            plural(
                found.mixed_up.len(),
                "row of tables/generations.csv names",
                "rows of tables/generations.csv name"
            )
        ));
    }
}

/// Adds one sentence for jobs that only one of the two tables has.
fn warn_of_strays(run: &mut RunJobs, mixed_up: usize) {
    let count = |wanted: &JobSnapshot| {
        run.jobs
            .iter()
            .filter(|job| job.snapshot == *wanted)
            .count()
    };
    let explained = mixed_up + count(&JobSnapshot::Renamed);
    let not_registered = count(&JobSnapshot::NotRegistered).saturating_sub(explained);
    let not_in_manifest = count(&JobSnapshot::NotInManifest);
    if not_registered > 0 {
        run.warnings.push(format!(
            "{} no row in tables/generations.csv and {} skipped; `archi3d registry rebuild` makes {}",
            plural(
                not_registered,
                "job of the manifest has",
                "jobs of the manifest have"
            ),
            if not_registered == 1 { "is" } else { "are" },
            if not_registered == 1 {
                "its row"
            } else {
                "their rows"
            },
        ));
    }
    if not_in_manifest > 0 {
        run.warnings.push(format!(
            "{} not in the manifest and skipped; `archi3d doctor` names the command that puts {} in",
            plural(
                not_in_manifest,
                "job of tables/generations.csv is",
                "jobs of tables/generations.csv are"
            ),
            if not_in_manifest == 1 { "it" } else { "them" },
        ));
    }
}
