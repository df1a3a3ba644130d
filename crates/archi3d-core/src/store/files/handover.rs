//! A run that leaves files for a fleet: its jobs with all that is known of them.

use std::collections::HashSet;
use std::fs;

use crate::domain::id::JobId;
use crate::domain::job::{Entry, JobState, Status};
use crate::domain::lease::Verdict;
use crate::domain::naming::StateFile;
use crate::domain::purchase::OpenIntent;
use crate::domain::text::shell_word;
use crate::domain::time::Timestamp;
use crate::platform::{self, fault};
use crate::store::error::{IoContext, StoreError};
use crate::store::manifest::{self, ManifestRow};
use crate::store::{JobPast, consumed};
use crate::workspace::lock;
use crate::workspace::paths::RunPaths;

use super::evidence::{self, Evidence};
use super::marker::{Marker, RecordKind};
use super::projection::StateNames;
use super::registry::{Row, RowColumns};
use super::subject::Contradictions;
use super::{FileStore, journal};
use crate::table::Table;

/// So many jobs are handed over at a time.
const PAGE: usize = 5_000;

/// A job with all that is known of it.
#[derive(Debug, Clone, PartialEq)]
pub struct HandedJob {
    /// What it is, as the manifest has it.
    pub listed: ManifestRow,
    /// What is known of it.
    pub past: JobPast,
    /// When its row was made; part of the key of its purchases.
    pub created_at: String,
    /// What its pictures are; part of the key of its purchases.
    pub image_set_hash: String,
    /// Its row of the registry, verbatim.
    pub row: Vec<u8>,
}

/// What was handed over beside the jobs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HandedRun {
    /// The jobs that were handed over.
    pub jobs: usize,
    /// What was left out and why, one sentence each.
    pub warnings: Vec<String>,
}

/// Moves the markers of a run that lives in a fleet out of the way: they tell of the time before, and its rows tell what
/// is. They are kept under `state/before-fleet/`.
pub fn retire_markers(paths: &RunPaths) -> Result<(), StoreError> {
    let (state, aside) = (paths.state(), paths.before_fleet());
    let mut names = Vec::new();
    platform::each_name(&state, &mut |name| {
        let name = name
            .to_str()
            .filter(|name| StateFile::split(name).is_some());
        names.extend(name.map(str::to_owned));
    })
    .context("list", &state)?;
    names.retain(|name| !name.ends_with(StateFile::Lock.ending()));
    if names.is_empty() {
        return Ok(());
    }
    fs::create_dir_all(&aside).context("create", &aside)?;
    for name in names {
        let from = state.join(&name);
        platform::rename_replace(&from, &aside.join(&name)).context("move", &from)?;
        fault::here("push.marker_moved");
    }
    platform::sync_dir(&state).context("sync", &state)
}

impl FileStore {
    /// Says who works on the run now, in files; whoever marked it first keeps others from beginning.
    pub fn others_at_work(&self, now: Timestamp) -> Result<Option<String>, StoreError> {
        let folder = self.paths().journals();
        for found in journal::all(&folder).context("list", &folder)? {
            let mine = found.worker_id == self.identity.worker_id;
            if !mine && lock::is_held(&found.path).context("look at", &found.path)? {
                return Ok(Some(format!("worker {} is running", found.worker_id)));
            }
        }
        let state = self.paths().state();
        let names = StateNames::list(self.paths()).context("list", &state)?;
        let held = names
            .jobs()
            .filter(|(_, kinds)| kinds.has(RecordKind::InProgress));
        for job in held.filter_map(|(name, _)| JobId::parse(name).ok()) {
            let evidence = Evidence::read(self.paths(), &job).context("read markers in", &state)?;
            let Some(lease) = evidence.lease() else {
                continue;
            };
            let verdict = self.watch.verdict(self.paths(), &job, lease, now);
            if verdict.context("judge a holder in", &state)? != Verdict::Dead {
                let host = lease.host.as_deref().unwrap_or("another machine");
                return Ok(Some(format!("{host} holds job {job}")));
            }
        }
        Ok(None)
    }

    /// Returns the registry's first line, verbatim.
    pub fn registry_header(&self) -> Result<Vec<u8>, StoreError> {
        Ok(self.registry().load()?.raw_header().to_vec())
    }

    /// Reads every job of the run page by page, in the order of the manifest. The run was recovered, and nobody works on
    /// it. `first` tells that none of it is in the fleet: models that no record explains are nobody's then, and refused.
    pub fn hand_over<E: From<StoreError>>(
        &self,
        first: bool,
        now: Timestamp,
        page: &mut dyn FnMut(Vec<HandedJob>) -> Result<(), E>,
    ) -> Result<HandedRun, E> {
        let manifest = manifest::read(self.paths())?;
        let state = self.paths().state();
        let mut handed = HandedRun::default();
        let faults = manifest.faults.iter().map(ToString::to_string);
        handed
            .warnings
            .extend(faults.map(|fault| format!("manifest: {fault}; the line is skipped")));
        let mut registry = self.registry();
        let table = registry.load()?;
        let names = StateNames::list(self.paths()).context("list", &state)?;
        let found = Contradictions::find(table, &self.shared.run_id, &manifest.rows);
        let mixed_up: HashSet<&str> = found.mixed_up.iter().map(|(job, _)| &**job).collect();
        let columns = RowColumns::of(table);
        let mut left_out = LeftOut::default();
        let mut jobs = Vec::new();
        for listed in consumed(manifest.rows) {
            let row = columns.find(table, &self.shared.run_id, &listed.job_id);
            let row = row.filter(|_| !mixed_up.contains(listed.job_id.as_str()));
            let Some(row) = row else {
                left_out.without_row(&listed.job_id);
                continue;
            };
            if row.status.is_err() && names.of(listed.job_id.as_str()).is_none() {
                left_out.odd_status(&listed.job_id);
                continue;
            }
            let has_marker = names.of(listed.job_id.as_str()).is_some();
            if first && !has_marker {
                self.refuse_unexplained(&listed.job_id, &row, now)?;
            }
            jobs.push(self.handed(listed, &row, table, has_marker, now)?);
            handed.jobs += 1;
            if jobs.len() == PAGE {
                page(std::mem::take(&mut jobs))?;
            }
        }
        page(jobs)?;
        left_out.tell(&mut handed.warnings);
        Ok(handed)
    }

    /// Refuses a job that seems to wait and of which a model is there that no record explains: it was paid for.
    fn refuse_unexplained(&self, job: &JobId, row: &Row, now: Timestamp) -> Result<(), StoreError> {
        let over = matches!(row.status, Ok(Status::Completed | Status::Cancelled));
        let started = row.start.unwrap_or(now);
        if over || self.unexplained(job, Entry::Fresh, started, now).is_none() {
            return Ok(());
        }
        let run = shell_word(self.shared.run_id.as_str());
        Err(StoreError::Setup {
            what: format!("a model of job {job} is there that no record explains"),
            path: self.paths().outputs(),
            hint: format!(
                "`archi3d run adopt {run} {job}` makes it the job's own; then push again"
            ),
        })
    }

    /// Returns a job with what is known of it.
    fn handed(
        &self,
        listed: ManifestRow,
        row: &Row,
        table: &Table,
        has_marker: bool,
        now: Timestamp,
    ) -> Result<HandedJob, StoreError> {
        let job = &listed.job_id;
        let state = self.paths().state();
        let evidence = if has_marker {
            Evidence::read(self.paths(), job).context("read markers in", &state)?
        } else {
            Evidence::default()
        };
        let brief = row.brief(None);
        let was = evidence::state_of(&evidence, &brief);
        let unmarked = evidence.markers.is_empty();
        let ruling = evidence.ruling().and_then(Marker::record);
        let held = matches!(was, JobState::Running { .. });
        let rehearsing = held && ruling.is_some_and(|record| record.simulated);
        let rehearsed = matches!(
            was,
            JobState::Completed {
                simulated: true,
                ..
            }
        );
        let mut purchase = self.open_purchase(job, &evidence, &brief)?;
        let lost = held && unmarked && !self.past()?.has_tried(job);
        let buried = (rehearsed || unmarked && was.status() == Status::Failed)
            && self.past()?.is_doubtful(job);
        if (lost || buried) && purchase.request_id.is_none() && purchase.intent.is_none() {
            // Nobody knows what was bought: what is intended is asked about, never bought blindly.
            purchase.intent = Some(OpenIntent {
                correlation: format!("{}/{job}", self.shared.run_id),
                at: row.start.unwrap_or(now),
            });
        }
        let waits = matches!(was.status(), Status::Enqueued | Status::Running);
        let again = ruling
            .map(|record| record.entry)
            .filter(|entry| waits && matches!(entry, Entry::Redo | Entry::Perform));
        let result = evidence.of(RecordKind::Completed);
        let asked_to_stop = has_marker
            && waits
            && self
                .paths()
                .state_file(job, StateFile::Cancel)
                .symlink_metadata()
                .is_ok();
        let attempt = evidence.highest_attempt().max(was.attempt());
        let has_result = was.status() == Status::Completed || again.is_some() && result.is_some();
        let tried = match was {
            JobState::Completed {
                simulated: true, ..
            } => self.past()?.has_tried(job),
            JobState::Enqueued { .. } if unmarked => row.start.is_some(),
            _ if unmarked => true,
            _ => evidence.was_tried(),
        };
        let past = JobPast {
            state: match was {
                JobState::Enqueued { .. } | JobState::Running { .. } if asked_to_stop => {
                    JobState::Cancelled { attempt }
                }
                JobState::Running { .. } | JobState::Enqueued { .. } => {
                    JobState::Enqueued { attempt }
                }
                JobState::Failed { .. } => JobState::Failed { attempt },
                JobState::Cancelled { .. } => JobState::Cancelled { attempt },
                JobState::Completed { simulated, .. } => JobState::Completed { attempt, simulated },
            },
            entry: again.filter(|_| has_result).unwrap_or(Entry::Fresh),
            simulated: rehearsed
                || has_result
                    && result
                        .and_then(Marker::record)
                        .is_some_and(|record| record.simulated),
            has_result,
            tried,
            holder_died: held && !rehearsing || evidence.holder_died(),
            failures: evidence.failures(),
            purchase,
            class: ruling
                .filter(|_| matches!(was, JobState::Failed { .. }))
                .and_then(|record| record.class),
            error: (!row.error.is_empty())
                .then(|| row.error.clone())
                .or_else(|| evidence.error()),
            not_before: evidence.ruling().and_then(|marker| marker.not_before(now)),
            nonce: ruling.map(|record| record.nonce.as_str().to_owned()),
        };
        Ok(HandedJob {
            past,
            created_at: row.created_at.clone(),
            image_set_hash: row.image_set_hash.clone(),
            row: table.raw(row.number).to_vec(),
            listed,
        })
    }
}

/// Jobs that stay behind, by reason: the first of each and how many.
#[derive(Default)]
struct LeftOut {
    without_row: (Option<JobId>, usize),
    odd_status: (Option<JobId>, usize),
}

impl LeftOut {
    fn without_row(&mut self, job: &JobId) {
        count(&mut self.without_row, job);
    }

    fn odd_status(&mut self, job: &JobId) {
        count(&mut self.odd_status, job);
    }

    fn tell(self, warnings: &mut Vec<String>) {
        let reasons = [
            (
                self.without_row,
                "without a usable row in tables/generations.csv skipped",
                "`archi3d registry rebuild` makes it again, then push once more",
            ),
            (
                self.odd_status,
                "with an unknown status word skipped",
                "correct the word and push once more",
            ),
        ];
        for ((first, jobs), what, hint) in reasons {
            if let Some(first) = first {
                let jobs = crate::domain::text::counted(jobs, "job");
                warnings.push(format!("{jobs} {what} (such as {first}); {hint}"));
            }
        }
    }
}

fn count((first, jobs): &mut (Option<JobId>, usize), job: &JobId) {
    first.get_or_insert_with(|| job.clone());
    *jobs += 1;
}
