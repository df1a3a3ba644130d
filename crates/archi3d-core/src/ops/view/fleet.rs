//! What `fleet` commands answer.

use std::time::Duration;

use chrono::{DateTime, Utc};
use serde::Serialize;

use crate::domain::money::Usd;
use crate::engine::event::Summary;

pub use crate::store::fleet::{
    FleetRun, MissingResult, PruneReport, Pulled, Pushed, Schema, SweepReport,
};

/// What a worker of many runs did.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Served {
    /// Jobs that got a result.
    pub completed: usize,
    /// Of these, copies of earlier results.
    pub reused: usize,
    /// Jobs that failed.
    pub failed: usize,
    /// Jobs that were given back.
    pub released: usize,
    /// Jobs that others took over.
    pub fenced: usize,
    /// What they cost.
    pub spent_usd: f64,
}

impl Served {
    /// Adds what came of one run.
    pub(in crate::ops) fn count(&mut self, summary: &Summary) {
        self.completed += summary.completed;
        self.reused += summary.reused;
        self.failed += summary.failed;
        self.released += summary.released;
        self.fenced += summary.fenced;
        self.spent_usd = (Usd::of(self.spent_usd) + Usd::of(summary.spent_usd)).dollars();
    }
}

/// The runs of a store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FleetRuns {
    /// The server, without any password.
    pub server: String,
    /// Its runs, oldest first.
    pub runs: Vec<FleetRun>,
}

/// The workers of a store.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Workers {
    /// The server, without any password.
    pub server: String,
    /// In the order in which they came up.
    pub workers: Vec<WorkerLine>,
}

/// A worker as others see it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WorkerLine {
    /// Its name.
    pub worker_id: String,
    /// Its machine.
    pub host: String,
    /// Its process id.
    pub pid: u32,
    /// The program's version.
    pub version: String,
    /// The run it serves; nothing means every run.
    pub run_id: Option<String>,
    /// `alive`, `slow`, `silent` or `ended`.
    pub health: &'static str,
    /// What it said it was doing.
    pub state: String,
    /// How many jobs it runs at once.
    pub slots: u32,
    /// How many jobs it holds.
    pub holds: usize,
    /// When it came up.
    pub started: DateTime<Utc>,
    /// How long ago it was heard of.
    #[serde(rename = "silent_s", serialize_with = "super::micro_seconds")]
    pub silent: Duration,
    /// How long its leases last without a beat.
    #[serde(rename = "lease_s", serialize_with = "super::micro_seconds")]
    pub lease: Duration,
}
