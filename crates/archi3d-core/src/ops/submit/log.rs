//! `tables/submissions.jsonl`: what was asked for over the network, one line each, synced.
//!
//! A run is noted before it is made and again when it is there, so that whoever comes after a crash
//! finishes the one that was begun instead of making a second one. The lock is held from the look to
//! the last line.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::domain::id::{JobId, RunId};
use crate::domain::time::Timestamp;
use crate::store::JobToRetry;
use crate::store::error::{IoContext as _, StoreError};
use crate::workspace::notes::Notes;
use crate::workspace::paths::Workspace;

/// How long another submission is waited for.
const PATIENCE: Duration = Duration::from_secs(30);

/// Requests of one service stand in line for the file here: those that look for a free lock
/// now and then pass each other by, and one of them waits for seconds.
struct Turn;

static TAKEN: Mutex<bool> = Mutex::new(false);
static GIVEN_BACK: Condvar = Condvar::new();

impl Turn {
    fn take(patience: Duration) -> Option<Self> {
        let taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = GIVEN_BACK.wait_timeout_while(taken, patience, |taken| *taken);
        let (mut taken, late) = waited.unwrap_or_else(PoisonError::into_inner);
        if late.timed_out() {
            return None;
        }
        *taken = true;
        Some(Self)
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        *TAKEN.lock().unwrap_or_else(PoisonError::into_inner) = false;
        GIVEN_BACK.notify_one();
    }
}

/// One line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub(super) enum Line {
    /// A run is about to be made.
    Intent(Box<Intent>),
    /// It is there.
    Made { at: Timestamp, run_id: RunId },
    /// What was answered to a request with a key.
    Answered {
        at: Timestamp,
        scope: String,
        status: u16,
        body: String,
    },
    /// Failed jobs of a run are to be tried again.
    Retry(Box<RetryOrder>),
    /// They wait again.
    Retried { at: Timestamp, id: String },
}

/// What the orders to retry jobs of a run come to.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
#[expect(clippy::struct_field_names, reason = "all of it is money")]
pub(super) struct Again {
    /// What they take of caps.
    pub(super) counted_usd: f64,
    /// What the run may cost since one of them said so.
    pub(super) max_cost_usd: Option<f64>,
    /// What they may cost in all where nobody said what the run may.
    pub(super) accepted_usd: Option<f64>,
}

/// What is known of a run that was asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Intent {
    /// When.
    pub at: Timestamp,
    /// The run.
    pub run_id: RunId,
    /// The hash of its parameters.
    pub payload_hash: String,
    /// The parameters.
    pub parameters: Value,
    /// Whether the same parameters may lead to it again.
    pub dedupes: bool,
    /// Whose key it was asked for with, and what else it said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<RequestKey>,
    /// Who asked.
    pub by: String,
    /// What it may cost.
    pub max_cost_usd: Option<f64>,
    /// How many jobs may run at once.
    pub max_parallel: Option<usize>,
    /// Whether workers that follow take it.
    pub start: bool,
    /// What the person noted.
    pub notes: Option<String>,
    /// What it was expected to cost.
    pub expected_usd: f64,
    /// The most that it may cost, where who asked has a cap.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub committed_usd: Option<f64>,
    /// The plan, as it was answered.
    pub plan: Value,
    /// The span in which it was asked for, as W3C writes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traceparent: Option<String>,
}

impl Intent {
    /// Returns what it takes of the cap of who asked.
    pub fn committed_usd(&self) -> f64 {
        self.committed_usd.unwrap_or(self.expected_usd)
    }

    /// Returns what was chosen instead of defaults.
    pub fn options(&self) -> Map<String, Value> {
        let options = self.parameters.get("options").and_then(Value::as_object);
        options.cloned().unwrap_or_default()
    }
}

/// The key of a request, so that it is carried out once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestKey {
    /// Whose, and which: a hash.
    pub scope: String,
    /// What it asked for: a hash.
    pub fingerprint: String,
}

/// Failed jobs that are to be tried again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RetryOrder {
    /// When.
    pub at: Timestamp,
    /// Which order.
    pub id: String,
    /// The run.
    pub run_id: RunId,
    /// Which of its jobs.
    pub jobs: Vec<JobId>,
    /// The attempts in which they failed.
    #[serde(default)]
    pub attempts: Vec<u32>,
    /// Whether jobs are bought again that may have been billed.
    pub resubmit_unknown: bool,
    /// Who asked.
    pub by: String,
    /// What it was expected to cost.
    pub expected_usd: f64,
    /// What the run may cost in all from then on, if that was said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_cost_usd: Option<f64>,
    /// What the run may have cost in all when these jobs are made, by the plan that was confirmed, where nobody said what it
    /// may cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accepted_usd: Option<f64>,
}

impl RetryOrder {
    /// Returns the jobs with the attempts in which they failed.
    pub(super) fn failed(&self) -> Vec<JobToRetry> {
        let attempts = self.attempts.iter().copied().map(Some);
        let attempts = attempts.chain(std::iter::repeat(None));
        let jobs = self.jobs.iter().cloned().zip(attempts);
        let jobs = jobs.map(|(job_id, attempt)| JobToRetry { job_id, attempt });
        jobs.collect()
    }

    /// Tells whether another order is for the same jobs in the same way.
    pub(super) fn asks_the_same(&self, other: &Self) -> bool {
        let jobs = |order: &Self| {
            let failed = order.failed().into_iter();
            failed
                .map(|job| (job.job_id, job.attempt))
                .collect::<HashSet<_>>()
        };
        self.run_id == other.run_id
            && self.resubmit_unknown == other.resubmit_unknown
            && self.max_cost_usd == other.max_cost_usd
            && jobs(self) == jobs(other)
    }
}

/// The lines, and the right to add some.
pub(super) struct Held {
    pub(super) lines: Arc<Lines>,
    notes: Notes,
    path: PathBuf,
    /// Given back after the lock of the file.
    _turn: Turn,
}

/// What was answered to a request with a key.
#[derive(Debug)]
pub(super) struct Kept {
    pub(super) at: Timestamp,
    pub(super) status: u16,
    /// What the request asked for: a hash.
    pub(super) fingerprint: String,
    pub(super) body: String,
}

/// What the lines come to.
#[derive(Debug, Clone, Default)]
pub(super) struct Lines {
    pub(super) intents: Vec<Arc<Intent>>,
    /// The places of intents: the last one of a run, all of the same parameters, the last one of a key.
    of_run: HashMap<RunId, usize>,
    of_payload: HashMap<String, Vec<usize>>,
    of_key: HashMap<String, usize>,
    pub(super) made: HashMap<RunId, Timestamp>,
    /// By scope.
    pub(super) answers: HashMap<String, Arc<Kept>>,
    pub(super) retries: Vec<Arc<RetryOrder>>,
    /// The ids of those whose jobs wait again.
    pub(super) retried: HashSet<String>,
    /// How many lines were read, and the numbers of those that say nothing, from 1.
    read: usize,
    pub(super) damaged: Vec<usize>,
}

pub(super) fn path(workspace: &Workspace) -> PathBuf {
    workspace.tables().join("submissions.jsonl")
}

impl Lines {
    /// Reads what was asked for so far; takes no lock.
    pub(super) fn read(workspace: &Workspace) -> Result<Arc<Self>, StoreError> {
        let path = path(workspace);
        known::now(&path).context("read", &path)
    }

    /// Returns the submission that led to a run.
    pub(super) fn of_run(&self, run: &RunId) -> Option<&Arc<Intent>> {
        self.of_run.get(run).map(|at| &self.intents[*at])
    }

    /// Tells whether a run was noted and is not made yet.
    pub(super) fn is_begun(&self, run: &RunId) -> bool {
        self.of_run.contains_key(run) && !self.made.contains_key(run)
    }

    /// Returns the last submission with a key.
    pub(super) fn of_key(&self, scope: &str) -> Option<&Arc<Intent>> {
        self.of_key.get(scope).map(|at| &self.intents[*at])
    }

    /// Returns the submissions of the same parameters, the latest first.
    pub(super) fn of_payload(&self, hash: &str) -> impl Iterator<Item = &Arc<Intent>> {
        let places = self.of_payload.get(hash).into_iter().flatten().rev();
        places.map(|at| &self.intents[*at])
    }

    /// Returns the orders to retry that nobody carried out yet.
    pub(super) fn open_retries(&self) -> impl Iterator<Item = &Arc<RetryOrder>> {
        self.retries
            .iter()
            .filter(|order| !self.retried.contains(&order.id))
    }

    /// Returns what is to be tried again of a run: what it takes of caps, and what the run may cost from then on.
    pub(super) fn retries_of(&self, run: &RunId) -> Again {
        let of_run = self.retries.iter().filter(|order| order.run_id == *run);
        let mut again = Again::default();
        for order in of_run {
            again.counted_usd += order.expected_usd;
            again.max_cost_usd = order.max_cost_usd.or(again.max_cost_usd);
            again.accepted_usd = order.accepted_usd.or(again.accepted_usd);
        }
        again
    }

    /// Takes a line as it was written. One that was cut short was never answered for; any other that cannot be read may have
    /// been an order.
    fn take_text(&mut self, text: &[u8]) {
        self.read += 1;
        match serde_json::from_slice(text) {
            Ok(line) => self.take(line),
            Err(error) if error.is_eof() => {}
            Err(_) => self.damaged.push(self.read),
        }
    }

    fn take(&mut self, line: Line) {
        match line {
            // The terms of one that somebody else finishes.
            Line::Intent(intent) if self.is_begun(&intent.run_id) => {
                let at = self.of_run[&intent.run_id];
                self.intents[at] = Arc::from(intent);
            }
            Line::Intent(intent) => {
                let at = self.intents.len();
                self.of_run.insert(intent.run_id.clone(), at);
                let same = self.of_payload.entry(intent.payload_hash.clone());
                same.or_default().push(at);
                if let Some(key) = &intent.key {
                    self.of_key.insert(key.scope.clone(), at);
                }
                self.intents.push(Arc::from(intent));
            }
            Line::Made { at, run_id } => {
                self.made.insert(run_id, at);
            }
            Line::Answered {
                at,
                scope,
                status,
                body,
            } => {
                let (fingerprint, body) = body.split_once('\n').unwrap_or_default();
                let kept = Kept {
                    at,
                    status,
                    fingerprint: fingerprint.to_owned(),
                    body: body.to_owned(),
                };
                self.answers.insert(scope, Arc::new(kept));
            }
            Line::Retry(order) => self.retries.push(Arc::from(order)),
            Line::Retried { id, .. } => {
                self.retried.insert(id);
            }
        }
    }
}

impl Held {
    /// Waits for the right to add lines, and reads those that are there; nothing if it is not had
    /// in time.
    pub(super) fn take(workspace: &Workspace) -> Result<Option<Self>, StoreError> {
        let path = path(workspace);
        let begun = Instant::now();
        let Some(turn) = Turn::take(PATIENCE) else {
            return Ok(None);
        };
        let rest = PATIENCE.saturating_sub(begun.elapsed());
        let Some(notes) = Notes::open(&path, rest).context("lock", &path)? else {
            return Ok(None);
        };
        Ok(Some(Self {
            lines: known::now(&path).context("read", &path)?,
            notes,
            path,
            _turn: turn,
        }))
    }

    /// Adds lines that survive a power cut, all of them or the first ones.
    pub(super) fn add(&mut self, lines: &[Line]) -> Result<(), StoreError> {
        if lines.is_empty() {
            return Ok(());
        }
        let text = |line| serde_json::to_vec(line).expect("plain data can always be written");
        let texts: Vec<Vec<u8>> = lines.iter().map(text).collect();
        self.notes.add_all(&texts).context("write", &self.path)?;
        self.lines = known::now(&self.path).context("read", &self.path)?;
        Ok(())
    }
}

/// What the lines came to when somebody looked last: only what was added since is read.
mod known {
    use std::io::{self, Read as _, Seek as _, SeekFrom};
    use std::path::{Path, PathBuf};
    use std::sync::{Arc, Mutex, PoisonError};

    use super::Lines;
    use crate::platform::{self, FileIdentity};
    use crate::workspace::durable;

    /// So much of what was read is compared, to notice a file that somebody has written again.
    const COMPARED: usize = 256;

    static KNOWN: Mutex<Option<Known>> = Mutex::new(None);

    struct Known {
        path: PathBuf,
        file: FileIdentity,
        /// Behind the last whole line.
        end: u64,
        /// What stands before that.
        last: Vec<u8>,
        lines: Arc<Lines>,
    }

    /// Returns what the lines of a file come to now.
    pub(super) fn now(path: &Path) -> io::Result<Arc<Lines>> {
        let mut file = match durable::open_plain(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Arc::default()),
            Err(error) => return Err(error),
        };
        let identity = platform::identity(&file.metadata()?);
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        let before = known.take();
        let before = before.filter(|known| known.path == path && known.file == identity);
        let mut now = before.unwrap_or_else(|| Known::begun(path, identity));
        let mut text = now.behind(&mut file)?;
        if !text.starts_with(&now.last) {
            now = Known::begun(path, identity);
            text = now.behind(&mut file)?;
        }
        now.take(&text);
        let lines = Arc::clone(&now.lines);
        *known = Some(now);
        Ok(lines)
    }

    impl Known {
        fn begun(path: &Path, file: FileIdentity) -> Self {
            Self {
                path: path.to_owned(),
                file,
                end: 0,
                last: Vec::new(),
                lines: Arc::default(),
            }
        }

        /// Reads what is compared, and everything behind it.
        fn behind(&self, file: &mut std::fs::File) -> io::Result<Vec<u8>> {
            let mut text = Vec::new();
            file.seek(SeekFrom::Start(self.end - self.last.len() as u64))?;
            file.read_to_end(&mut text)?;
            Ok(text)
        }

        /// Takes what whole lines say; one that was cut short says nothing.
        fn take(&mut self, text: &[u8]) {
            let new = &text[self.last.len()..];
            let Some(end) = new.iter().rposition(|byte| *byte == b'\n') else {
                return;
            };
            let lines = Arc::make_mut(&mut self.lines);
            for line in new[..end].split(|byte| *byte == b'\n') {
                lines.take_text(line);
            }
            let whole = &text[..=self.last.len() + end];
            self.end += end as u64 + 1;
            self.last = whole[whole.len().saturating_sub(COMPARED)..].to_vec();
        }
    }
}
