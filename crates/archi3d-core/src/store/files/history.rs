//! What the journals and markers of a run say happened to its jobs, in order.
//!
//! Used by `registry rebuild`, which plays it into rows as they were made. It
//! takes no lock and writes nothing; what is applied is decided by the same
//! rules by which a worker folds. Of an ending only its place in a journal is
//! kept: what it writes is read again when its row is at hand, because all
//! endings of a large run together are more than a machine may hold.

use std::collections::{BTreeMap, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;

use crate::domain::id::{JobId, Nonce, RunId, WorkerId};
use crate::domain::job::{Entry, Status};
use crate::domain::patch::{self, Patch, WorkerFacts};
use crate::domain::time::Timestamp;
use crate::store::error::{IoContext, StoreError};
use crate::workspace::paths::{RunPaths, Workspace};

use super::evidence::Evidence;
use super::journal::{self, Found, Line, LineReader, What};
use super::marker::RecordKind;
use super::projection::{self, Kinds, StateNames, Wanted};
use crate::table::Table;

/// The history of one run.
#[derive(Debug)]
pub struct History {
    run_id: RunId,
    paths: RunPaths,
    told: Told,
    /// What could not be read, one sentence each.
    pub warnings: Vec<String>,
}

impl History {
    /// Reads every journal of the run and every marker that no journal explains.
    pub fn read(workspace: &Workspace, run_id: &RunId) -> Result<Self, StoreError> {
        let paths = workspace.run(run_id);
        let mut history = Self {
            run_id: run_id.clone(),
            told: Told::default(),
            warnings: Vec::new(),
            paths,
        };
        history.read_journals(workspace)?;
        let state = history.paths.state();
        let names = StateNames::list(&history.paths).context("list", &state)?;
        for (name, kinds) in names.jobs() {
            if let Ok(job) = JobId::parse(name) {
                history.take_marked(job, kinds)?;
            }
        }
        // A marker may be lost; an ending in a journal still vouches for itself.
        let Told { jobs, events, .. } = &mut history.told;
        for (job, trace) in jobs.iter_mut() {
            let unmarked = names.of(job.as_str()).is_none();
            let ending = trace.events(events).iter().rfind(|event| event.is_ending());
            if let Some(ending) = ending.filter(|_| unmarked) {
                trace.course = Course::Ended(ending.attempt);
            }
        }
        Ok(history)
    }

    fn read_journals(&mut self, workspace: &Workspace) -> Result<(), StoreError> {
        let folder = self.paths.journals();
        let told = &mut self.told;
        for found in journal::all(&folder).context("list", &folder)? {
            let path = found.path.clone();
            let worker_id = found.worker_id.clone();
            told.journals.push(found);
            told.facts.push(WorkerFacts::default());
            let take = |start, line| told.take(&worker_id, start, line);
            let unread = match journal::each_line_at(&path, Some(&STEPS), is_a_step, take) {
                Ok(unread) => unread,
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(error).context("read", &path),
            };
            if unread.damaged > 0 {
                let shown = workspace.relative(&path).unwrap_or_default();
                self.warnings.push(format!(
                    "{shown}: {} lines cannot be read and were skipped",
                    unread.damaged
                ));
            }
        }
        told.arrange();
        Ok(())
    }

    /// Takes what one job went through, up to what its markers say now.
    fn take_marked(&mut self, job: JobId, kinds: Kinds) -> Result<(), StoreError> {
        if let Some(attempt) = self.told.explains(&job, kinds) {
            if let Some(trace) = self.told.jobs.get_mut(&job) {
                trace.course = Course::Ended(attempt);
            }
            return Ok(());
        }
        let evidence = self.evidence(&job)?;
        if let Some(ruling) = evidence.ruling() {
            let vouched = ruling.record().is_some();
            let trace = self.told.jobs.entry(job).or_default();
            trace.course = Course::Marked { vouched };
        }
        Ok(())
    }

    fn evidence(&self, job: &JobId) -> Result<Evidence, StoreError> {
        Evidence::read(&self.paths, job).context("read markers in", &self.paths.state())
    }

    /// Returns every job that left a trace, by name.
    pub fn jobs(&self) -> impl Iterator<Item = &JobId> {
        let jobs = self.told.jobs.iter();
        jobs.filter(|(_, trace)| trace.course != Course::Unknown)
            .map(|(job, _)| job)
    }

    /// Tells whether everything that a worker writes into the job's row is recorded.
    /// Another tool's marker says no more than a status.
    pub fn vouches_for(&self, job: &str) -> bool {
        let trace = self.told.jobs.get(job);
        trace.is_some_and(|trace| match trace.course {
            Course::Unknown => false,
            Course::Ended(_) => true,
            Course::Marked { vouched } => vouched,
        })
    }

    /// Plays the history of some jobs into rows that are as they were made.
    pub fn replay<'j>(
        &self,
        table: &mut Table,
        jobs: impl Iterator<Item = &'j str>,
    ) -> Result<(), StoreError> {
        let known = jobs.filter_map(|job| self.told.jobs.get_key_value(job));
        let mut known: Vec<(&JobId, &Trace)> = known.collect();
        // In the order of the journals: whoever goes back and forth reads them many times.
        known.sort_by_key(|(_, trace)| trace.place(&self.told.events));
        let mut endings = LineReader::default();
        let mut steps = Vec::new();
        for (job, trace) in known {
            steps.push((job, self.steps(job, trace, &mut endings)?));
        }
        let longest = steps.iter().map(|(_, steps)| steps.len()).max();
        for step in 0..longest.unwrap_or(0) {
            let wave = steps
                .iter()
                .filter_map(|(job, steps)| Some((*job, steps.get(step)?)));
            projection::apply(table, &self.run_id, wave);
        }
        Ok(())
    }

    /// Returns what a job went through.
    fn steps(
        &self,
        job: &JobId,
        trace: &Trace,
        endings: &mut LineReader,
    ) -> Result<Vec<Wanted>, StoreError> {
        let told = &self.told;
        let attempt = match trace.course {
            Course::Unknown => return Ok(Vec::new()),
            Course::Ended(attempt) => attempt,
            Course::Marked { .. } => {
                let evidence = self.evidence(job)?;
                let record = evidence.ruling().and_then(|ruling| ruling.record());
                let nobody = WorkerFacts::default();
                let facts = record.and_then(|record| told.workers.get(&record.worker_id));
                let facts = facts.map_or(&nobody, |number| &told.facts[*number]);
                let held = record
                    .filter(|record| record.kind == RecordKind::InProgress)
                    .map(|record| short(&record.nonce));
                let highest = evidence.highest_attempt();
                let mut steps = told.steps_before(trace, highest, held, endings)?;
                steps.extend(Wanted::by_evidence(&self.paths, job, &evidence, facts));
                return Ok(steps);
            }
        };
        told.steps_before(trace, attempt, None, endings)
    }
}

/// What is known of one job.
#[derive(Debug, Default)]
struct Trace {
    /// Its number among all jobs,
    number: u32,
    /// and where its events are.
    first: u32,
    count: u32,
    course: Course,
}

impl Trace {
    fn events<'e>(&self, events: &'e [Event]) -> &'e [Event] {
        &events[self.first as usize..][..self.count as usize]
    }

    /// Returns in which journal its first ending is, and where.
    fn place(&self, events: &[Event]) -> Option<(u32, u64)> {
        let mut events = self.events(events).iter();
        events.find_map(|event| match event.what {
            Step::Finished { journal, start, .. } => Some((journal, start)),
            _ => None,
        })
    }
}

/// Who has the last word about a job.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Course {
    /// Nobody: it was claimed, and that is all.
    #[default]
    Unknown,
    /// A journal, with the ending of this attempt.
    Ended(u32),
    /// A marker, which is read again when it is asked for.
    Marked { vouched: bool },
}

/// One thing that the journals tell of a job.
#[derive(Debug, Clone)]
struct Event {
    job: u32,
    attempt: u32,
    nonce: u64,
    what: Step,
}

/// What it is, as small as can be.
#[derive(Debug, Clone)]
enum Step {
    Claimed {
        at: Timestamp,
        /// The number of the worker's facts.
        facts: u32,
        perform: bool,
    },
    Finished {
        completed: bool,
        journal: u32,
        /// Where the line begins.
        start: u64,
    },
    /// Endings of this attempt before it do not count.
    Fenced,
}

impl Event {
    fn is_ending(&self) -> bool {
        matches!(self.what, Step::Finished { .. })
    }
}

/// What is part of a job's history.
const STEPS: [&str; 4] = ["opened", "claimed", "finished", "fenced"];

/// Tells whether a line is part of a job's history, and empties what is read again later.
fn is_a_step(what: &mut What) -> bool {
    if let What::Finished(finished) = what {
        finished.patch = Patch::default();
        finished.outputs = Vec::new();
    }
    matches!(
        what,
        What::Opened { .. } | What::Claimed { .. } | What::Finished(_) | What::Fenced { .. }
    )
}

/// Returns enough of a nonce to tell the attempts of one job apart.
fn short(nonce: &Nonce) -> u64 {
    let mut hasher = DefaultHasher::new();
    nonce.as_str().hash(&mut hasher);
    hasher.finish()
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
#[derive(Debug, Default)]
struct Told {
    journals: Vec<Found>,
    /// What workers said of themselves: first nothing, then one by one.
    facts: Vec<WorkerFacts>,
    /// The number of each worker's latest facts.
    workers: HashMap<WorkerId, usize>,
    jobs: BTreeMap<JobId, Trace>,
    /// Those of one job stand together.
    events: Vec<Event>,
}

impl Told {
    /// Takes one line of the last journal in; the last facts are those of its worker.
    fn take(&mut self, worker_id: &WorkerId, start: u64, line: Line) {
        let Line { at, what } = line;
        match what {
            What::Opened { worker, .. } => {
                self.workers.insert(worker_id.clone(), self.facts.len());
                self.facts.push(worker);
            }
            What::Claimed {
                job_id,
                attempt,
                nonce,
                entry,
                ..
            } => {
                let what = Step::Claimed {
                    at,
                    facts: number(self.facts.len() - 1),
                    perform: entry == Entry::Perform,
                };
                self.note(job_id, attempt, &nonce, what);
            }
            // A redo that failed left the row to the result it could not replace.
            What::Finished(finished) if finished.entry == Entry::Redo && !finished.completed => {}
            What::Finished(finished) => {
                let what = Step::Finished {
                    completed: finished.completed,
                    journal: number(self.journals.len() - 1),
                    start,
                };
                self.note(finished.job_id, finished.attempt, &finished.nonce, what);
            }
            What::Fenced { job_id, nonce, .. } => self.note(job_id, 0, &nonce, Step::Fenced),
            _ => {}
        }
    }

    fn note(&mut self, job: JobId, attempt: u32, nonce: &Nonce, what: Step) {
        let next = number(self.jobs.len());
        let trace = self.jobs.entry(job).or_insert_with(|| Trace {
            number: next,
            ..Trace::default()
        });
        self.events.push(Event {
            job: trace.number,
            attempt,
            nonce: short(nonce),
            what,
        });
    }

    /// Brings the events of each job together and into the order of its attempts.
    fn arrange(&mut self) {
        self.events.sort_by_key(|event| event.job);
        let mut void = vec![false; self.events.len()];
        let mut first = 0;
        for of_job in self.events.chunk_by(|a, b| a.job == b.job) {
            for (at, fence) in of_job.iter().enumerate() {
                if matches!(fence.what, Step::Fenced) {
                    void[first + at] = true;
                    for (earlier, event) in of_job[..at].iter().enumerate() {
                        void[first + earlier] |= event.is_ending() && event.nonce == fence.nonce;
                    }
                }
            }
            first += of_job.len();
        }
        let mut void = void.into_iter();
        self.events.retain(|_| void.next() == Some(false));
        self.events.shrink_to_fit();
        self.events
            .sort_by_key(|event| (event.job, event.attempt, event.is_ending()));
        let mut ranges = vec![(0, 0); self.jobs.len()];
        let mut first = 0;
        for of_job in self.events.chunk_by(|a, b| a.job == b.job) {
            ranges[of_job[0].job as usize] = (first, number(of_job.len()));
            first += number(of_job.len());
        }
        for trace in self.jobs.values_mut() {
            (trace.first, trace.count) = ranges[trace.number as usize];
        }
    }

    /// Returns the attempt whose ending the one marker of a job stands for, if a
    /// journal has it: then the marker need not be opened.
    fn explains(&self, job: &JobId, kinds: Kinds) -> Option<u32> {
        let last = self.jobs.get(job)?.events(&self.events).last()?;
        let Step::Finished { completed, .. } = last.what else {
            return None;
        };
        let kind = if completed {
            RecordKind::Completed
        } else {
            RecordKind::Failed
        };
        (kinds.count() == 1 && kinds.has(kind)).then_some(last.attempt)
    }

    /// Returns what happened up to `attempt`; `held` is told by its lease instead.
    fn steps_before(
        &self,
        trace: &Trace,
        attempt: u32,
        held: Option<u64>,
        endings: &mut LineReader,
    ) -> Result<Vec<Wanted>, StoreError> {
        let mut steps = Vec::new();
        for event in trace.events(&self.events) {
            let is_held = !event.is_ending() && Some(event.nonce) == held;
            if event.attempt <= attempt && !is_held {
                steps.extend(self.wanted(event, endings)?);
            }
        }
        Ok(steps)
    }

    /// Returns what an event writes into its row.
    fn wanted(
        &self,
        event: &Event,
        endings: &mut LineReader,
    ) -> Result<Option<Wanted>, StoreError> {
        match event.what {
            Step::Claimed { at, facts, perform } => {
                let mut patch = patch::running(at, &self.facts[facts as usize]);
                if perform {
                    patch.forget_rehearsal();
                }
                Ok(Some(wanted(Status::Running, patch)))
            }
            Step::Finished {
                completed,
                journal,
                start,
            } => {
                let status = if completed {
                    Status::Completed
                } else {
                    Status::Failed
                };
                let path = &self.journals[journal as usize].path;
                let line = endings.line(path, start).context("read", path)?;
                let What::Finished(finished) = line.what else {
                    let changed = io::Error::other("it was changed while it was read");
                    return Err(changed).context("read", path);
                };
                Ok(Some(wanted(status, finished.patch)))
            }
            Step::Fenced => Ok(None),
        }
    }
}

fn number(count: usize) -> u32 {
    u32::try_from(count).expect("a journal of so many lines fits no disk")
}
