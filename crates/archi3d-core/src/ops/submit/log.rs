//! `tables/submissions.jsonl`: what was asked for over the network, one line each, synced.
//!
//! A run is noted before it is made and again when it is there, so that whoever comes after a crash
//! finishes the one that was begun instead of making a second one. The lock is held from the look to
//! the last line.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::domain::id::{JobId, RunId};
use crate::domain::time::Timestamp;
use crate::store::error::{IoContext as _, StoreError};
use crate::workspace::notes::Notes;
use crate::workspace::paths::Workspace;

/// How long another submission is waited for.
const PATIENCE: Duration = Duration::from_secs(30);

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
    Retry(RetryOrder),
    /// A worker took that order.
    Retried { at: Timestamp, id: String },
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
    /// The plan, as it was answered.
    pub plan: Value,
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
    /// Whether jobs are bought again that may have been billed.
    pub resubmit_unknown: bool,
    /// Who asked.
    pub by: String,
    /// What it was expected to cost.
    pub expected_usd: f64,
}

/// The lines, and the right to add some.
pub(super) struct Held {
    pub(super) lines: Lines,
    notes: Notes,
    path: PathBuf,
}

/// What the lines come to.
#[derive(Debug, Clone, Default)]
pub(super) struct Lines {
    pub(super) intents: Vec<Intent>,
    pub(super) made: HashMap<RunId, Timestamp>,
    /// By scope.
    pub(super) answers: HashMap<String, (Timestamp, u16, String)>,
    pub(super) retries: Vec<RetryOrder>,
    /// The ids of those that a worker took.
    pub(super) retried: HashSet<String>,
}

fn path(workspace: &Workspace) -> PathBuf {
    workspace.tables().join("submissions.jsonl")
}

impl Lines {
    /// Reads what was asked for so far; takes no lock.
    pub(super) fn read(workspace: &Workspace) -> Result<Self, StoreError> {
        let path = path(workspace);
        Ok(Self::of(&Notes::read(&path).context("read", &path)?))
    }

    /// Takes what whole lines say; one that was cut short says nothing.
    fn of(text: &[u8]) -> Self {
        let mut lines = Self::default();
        let read = text.split(|byte| *byte == b'\n');
        for line in read.filter_map(|line| serde_json::from_slice::<Line>(line).ok()) {
            lines.take(line);
        }
        lines
    }

    /// Returns the orders to retry that nobody took yet.
    pub(super) fn open_retries(&self) -> impl Iterator<Item = &RetryOrder> {
        self.retries
            .iter()
            .filter(|order| !self.retried.contains(&order.id))
    }

    fn take(&mut self, line: Line) {
        match line {
            Line::Intent(intent) => self.intents.push(*intent),
            Line::Made { at, run_id } => {
                self.made.insert(run_id, at);
            }
            Line::Answered {
                at,
                scope,
                status,
                body,
            } => {
                self.answers.insert(scope, (at, status, body));
            }
            Line::Retry(order) => self.retries.push(order),
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
        let taken = Notes::take(&path, PATIENCE).context("lock", &path)?;
        Ok(taken.map(|(notes, text)| Self {
            lines: Lines::of(&text),
            notes,
            path,
        }))
    }

    /// Adds a line that survives a power cut.
    pub(super) fn add(&mut self, line: Line) -> Result<(), StoreError> {
        let text = serde_json::to_vec(&line).expect("plain data can always be written");
        self.notes.add(text).context("write", &self.path)?;
        self.lines.take(line);
        Ok(())
    }
}
