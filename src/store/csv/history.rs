//! What the journals and markers of a run say happened to its jobs, in order.
//!
//! Used by `registry rebuild`, which plays it into rows as they were made. It
//! takes no lock and writes nothing; what is applied is decided by the same
//! rules by which a worker folds.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io;

use crate::domain::id::{JobId, Nonce, RunId, WorkerId};
use crate::domain::job::{Entry, Status};
use crate::domain::patch::{self, Patch, WorkerFacts};
use crate::store::error::{IoContext, StoreError};
use crate::workspace::paths::{RunPaths, Workspace};

use super::evidence::Evidence;
use super::journal::{self, Finished, Line, What};
use super::marker::RecordKind;
use super::projection::{self, Kinds, StateNames, Wanted};
use super::table::Table;

/// The history of one run.
#[derive(Debug, Default)]
pub struct History {
    run_id: Option<RunId>,
    jobs: BTreeMap<JobId, Vec<Wanted>>,
    vouched: HashSet<JobId>,
    /// What could not be read, one sentence each.
    pub warnings: Vec<String>,
}

impl History {
    /// Reads every journal of the run and every marker that no journal explains.
    pub fn read(workspace: &Workspace, run_id: &RunId) -> Result<Self, StoreError> {
        let paths = workspace.run(run_id);
        let mut history = Self {
            run_id: Some(run_id.clone()),
            ..Self::default()
        };
        let told = history.read_journals(workspace, &paths)?;
        let state = paths.state();
        let names = StateNames::list(&paths).context("list", &state)?;
        for (name, kinds) in names.jobs() {
            if let Ok(job) = JobId::parse(name) {
                history.take_marked(&paths, job, kinds, &told)?;
            }
        }
        // A marker may be lost; an ending in a journal still vouches for itself.
        for (job, events) in &told.jobs {
            let unmarked = names.of(job.as_str()).is_none();
            let ending = events.iter().filter_map(Event::ending).next_back();
            if let Some(finished) = ending.filter(|_| unmarked) {
                let steps = told.steps_before(job, finished.attempt, None);
                history.insert(job.clone(), steps, true);
            }
        }
        Ok(history)
    }

    fn insert(&mut self, job: JobId, steps: Vec<Wanted>, vouched: bool) {
        if vouched {
            self.vouched.insert(job.clone());
        }
        self.jobs.insert(job, steps);
    }

    fn read_journals(
        &mut self,
        workspace: &Workspace,
        paths: &RunPaths,
    ) -> Result<Told, StoreError> {
        let folder = paths.journals();
        let mut told = Told::default();
        for found in journal::all(&folder).context("list", &folder)? {
            let mut facts = WorkerFacts::default();
            let take = |line| told.take(&found.worker_id, &mut facts, line);
            let unread = match journal::each_line(&found.path, take) {
                Ok(unread) => unread,
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(error).context("read", &found.path),
            };
            if unread.damaged > 0 {
                let shown = workspace.relative(&found.path).unwrap_or_default();
                self.warnings.push(format!(
                    "{shown}: {} lines cannot be read and were left out",
                    unread.damaged
                ));
            }
        }
        for events in told.jobs.values_mut() {
            events.sort_by_key(|event| (event.attempt(), event.ending().is_some()));
        }
        Ok(told)
    }

    /// Takes what one job went through, up to what its markers say now.
    fn take_marked(
        &mut self,
        paths: &RunPaths,
        job: JobId,
        kinds: Kinds,
        told: &Told,
    ) -> Result<(), StoreError> {
        if let Some(finished) = told.explains(&job, kinds) {
            let steps = told.steps_before(&job, finished.attempt, None);
            self.insert(job, steps, true);
            return Ok(());
        }
        let state = paths.state();
        let evidence = Evidence::read(paths, &job).context("read markers in", &state)?;
        let Some(ruling) = evidence.ruling() else {
            return Ok(());
        };
        let record = ruling.record();
        let nobody = WorkerFacts::default();
        let facts = record.and_then(|record| told.workers.get(&record.worker_id));
        let latest = Wanted::by_evidence(paths, &job, &evidence, facts.unwrap_or(&nobody));
        let held = record
            .filter(|record| record.kind == RecordKind::InProgress)
            .map(|record| &record.nonce);
        let mut steps = told.steps_before(&job, evidence.highest_attempt(), held);
        steps.extend(latest);
        let vouched = record.is_some();
        self.insert(job, steps, vouched);
        Ok(())
    }

    /// Returns every job that left a trace, by name.
    pub fn jobs(&self) -> impl Iterator<Item = &JobId> {
        self.jobs.keys()
    }

    /// Tells whether everything that a worker writes into the job's row is recorded.
    /// Another tool's marker says no more than a status.
    pub fn vouches_for(&self, job: &str) -> bool {
        JobId::parse(job).is_ok_and(|job| self.vouched.contains(&job))
    }

    /// Plays the history into rows that are as they were made.
    pub fn replay(&self, table: &mut Table) {
        let Some(run_id) = &self.run_id else { return };
        let longest = self.jobs.values().map(Vec::len).max().unwrap_or(0);
        for step in 0..longest {
            let wave: Vec<(JobId, Wanted)> = self
                .jobs
                .iter()
                .filter_map(|(job, steps)| Some((job.clone(), steps.get(step)?.clone())))
                .collect();
            projection::apply(
                table,
                run_id,
                wave.iter().map(|(job, wanted)| (job, wanted)),
            );
        }
    }
}

/// One thing that the journals tell of a job.
enum Event {
    Claimed {
        attempt: u32,
        nonce: Nonce,
        wanted: Wanted,
    },
    Finished(Box<Finished>),
}

impl Event {
    fn attempt(&self) -> u32 {
        match self {
            Self::Claimed { attempt, .. } => *attempt,
            Self::Finished(finished) => finished.attempt,
        }
    }

    fn ending(&self) -> Option<&Finished> {
        match self {
            Self::Claimed { .. } => None,
            Self::Finished(finished) => Some(finished),
        }
    }

    fn wanted(&self) -> Wanted {
        match self {
            Self::Claimed { wanted, .. } => wanted.clone(),
            Self::Finished(finished) => {
                let status = if finished.completed {
                    Status::Completed
                } else {
                    Status::Failed
                };
                wanted(status, finished.patch.clone())
            }
        }
    }
}

fn wanted(status: Status, patch: Patch) -> Wanted {
    Wanted {
        status,
        patch,
        artifacts: Vec::new(),
        simulated: false,
        given_back: None,
    }
}

/// What all journals together tell.
#[derive(Default)]
struct Told {
    workers: HashMap<WorkerId, WorkerFacts>,
    jobs: BTreeMap<JobId, Vec<Event>>,
}

impl Told {
    /// Takes one line in; `facts` are those of the worker by the lines before.
    fn take(&mut self, worker_id: &WorkerId, facts: &mut WorkerFacts, line: Line) {
        let Line { at, what } = line;
        match what {
            What::Opened { worker, .. } => {
                facts.clone_from(&worker);
                self.workers.insert(worker_id.clone(), worker);
            }
            What::Claimed {
                job_id,
                attempt,
                nonce,
                entry,
                ..
            } => {
                let mut patch = patch::running(at, facts);
                if entry == Entry::Perform {
                    patch.forget_rehearsal();
                }
                let wanted = wanted(Status::Running, patch);
                let event = Event::Claimed {
                    attempt,
                    nonce,
                    wanted,
                };
                self.jobs.entry(job_id).or_default().push(event);
            }
            // A redo that failed left the row to the result it could not replace.
            What::Finished(finished) if finished.entry == Entry::Redo && !finished.completed => {}
            What::Finished(finished) => {
                let events = self.jobs.entry(finished.job_id.clone()).or_default();
                events.push(Event::Finished(finished));
            }
            What::Fenced { job_id, nonce, .. } => {
                let events = self.jobs.entry(job_id).or_default();
                events.retain(|event| event.ending().is_none_or(|ending| ending.nonce != nonce));
            }
            _ => {}
        }
    }

    /// Returns the ending that the one marker of a job stands for, if a journal
    /// has it: then the marker need not be opened.
    fn explains(&self, job: &JobId, kinds: Kinds) -> Option<&Finished> {
        let ending = self.jobs.get(job)?.last()?.ending()?;
        let kind = if ending.completed {
            RecordKind::Completed
        } else {
            RecordKind::Failed
        };
        (kinds.count() == 1 && kinds.has(kind)).then_some(ending)
    }

    /// Returns what happened up to `attempt`; `held` is told by its lease instead.
    fn steps_before(&self, job: &JobId, attempt: u32, held: Option<&Nonce>) -> Vec<Wanted> {
        let events = self.jobs.get(job).into_iter().flatten();
        let is_held =
            |event: &Event| matches!(event, Event::Claimed { nonce, .. } if Some(nonce) == held);
        events
            .filter(|event| event.attempt() <= attempt && !is_held(event))
            .map(Event::wanted)
            .collect()
    }
}
