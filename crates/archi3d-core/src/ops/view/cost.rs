//! What was paid, and how an invoice compares.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};

use crate::domain::id::{JobId, RunId};
use crate::domain::money::Usd;
use crate::ops::find::JobName;

/// What the lines of a report are about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum By {
    /// One line for each algorithm.
    Algo,
    /// One for each day, in UTC.
    Day,
    /// One for each worker process.
    Worker,
    /// One for each run.
    Run,
}

impl By {
    /// Returns the word for people and machines.
    pub fn word(self) -> &'static str {
        match self {
            Self::Algo => "algo",
            Self::Day => "day",
            Self::Worker => "worker",
            Self::Run => "run",
        }
    }
}

/// What was paid.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CostReport {
    /// What the lines are about.
    pub by: By,
    /// The lines, by name.
    pub lines: Vec<CostLine>,
    /// All of them together.
    pub total: Tally,
    /// What the ledger says, for the same runs.
    pub ledger: LedgerSums,
    /// How an invoice compares, if one was given.
    #[serde(rename = "match", skip_serializing_if = "Option::is_none")]
    pub invoice: Option<Comparison>,
    /// Every purchase, by the provider's name for it.
    #[serde(skip)]
    pub purchases: BTreeMap<String, Purchase>,
    /// What could not be read, one sentence each.
    pub warnings: Vec<String>,
}

/// What the ledger says of some runs.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct LedgerSums {
    /// What was spent.
    pub spent_usd: f64,
    /// What is set aside.
    pub reserved_usd: f64,
    /// Of this, what is set aside for jobs that nobody works on.
    pub open: Vec<OpenReservation>,
}

/// Money that is set aside for a job that nobody works on.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OpenReservation {
    /// The run.
    pub run_id: RunId,
    /// The job.
    pub job_id: JobId,
    /// What it is known by.
    #[serde(skip)]
    pub name: JobName,
    /// How much.
    pub usd: f64,
    /// The job's state in a word.
    pub state: String,
    /// The purchase that was made for it, if one is known.
    pub request_id: Option<String>,
}

/// One line of a report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CostLine {
    /// What it is about: `(By::Run, "r1")` stands as `"run": "r1"`.
    #[serde(flatten, serialize_with = "named")]
    pub name: (By, String),
    /// What it comes to.
    #[serde(flatten)]
    pub tally: Tally,
}

fn named<S: Serializer>((by, name): &(By, String), serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map([(by, name)])
}

/// Attempts and what they cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// How many attempts.
    pub attempts: usize,
    /// Those that brought a result.
    pub completed: usize,
    /// Those that failed, whether another one followed or not.
    pub failed: usize,
    /// Of these, those that another one followed or is to follow.
    pub retried: usize,
    /// The jobs whose last attempt is among them.
    pub jobs: usize,
    /// Of these, those that have a result.
    pub completed_jobs: usize,
    /// Of these, those whose last attempt failed for good.
    pub failed_jobs: usize,
    /// Those that were given back, cut off, or go on.
    pub unfinished: usize,
    /// Results that were copied instead of bought.
    pub reused: usize,
    /// What is known to have been billed.
    pub billed_usd: Usd,
    /// Attempts that were or may have been billed, amount unknown.
    #[serde(rename = "unknown_cost_attempts")]
    pub unknown: usize,
}

impl Tally {
    /// Adds another tally.
    pub fn join(&mut self, other: &Self) {
        self.attempts += other.attempts;
        self.completed += other.completed;
        self.failed += other.failed;
        self.retried += other.retried;
        self.jobs += other.jobs;
        self.completed_jobs += other.completed_jobs;
        self.failed_jobs += other.failed_jobs;
        self.unfinished += other.unfinished;
        self.reused += other.reused;
        self.billed_usd += other.billed_usd;
        self.unknown += other.unknown;
    }
}

/// Something that was bought.
#[derive(Debug, Clone, PartialEq)]
pub struct Purchase {
    /// The run it was bought for.
    pub run_id: RunId,
    /// The job.
    pub job_id: JobId,
    /// What it cost, if that is known.
    pub usd: Option<Usd>,
}

/// How our purchases and an invoice agree.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Comparison {
    /// Whether both sides say the same.
    pub agrees: bool,
    /// The name of the column of ids.
    pub id_column: String,
    /// The name of the column of amounts.
    pub amount_column: String,
    /// Ids with the same amount on both sides.
    pub equal: Vec<Billed>,
    /// Ids with another amount.
    pub different: Vec<BilledOtherwise>,
    /// Ids that only the invoice has.
    #[serde(rename = "only_in_invoice")]
    pub only_theirs: Vec<Billed>,
    /// Ids that only we have.
    pub only_ours: Vec<Billed>,
    /// Ids that stand on several lines of the invoice; their amounts are added up.
    #[serde(rename = "repeated_in_invoice")]
    pub repeated: Vec<String>,
}

/// A request and what it cost.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Billed {
    /// What the provider calls the purchase.
    pub request_id: String,
    /// The amount, if it is known.
    pub usd: Option<Usd>,
}

/// A request with two amounts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BilledOtherwise {
    /// What the provider calls the purchase.
    pub request_id: String,
    /// What we know of.
    pub ours_usd: Option<Usd>,
    /// What the invoice says.
    pub invoice_usd: Usd,
}
