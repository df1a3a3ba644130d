//! Why one job is where it is, and what to type next.

use serde::Serialize;

use super::plan::{PlannedAction, Reason};
use crate::domain::id::{AlgoKey, JobId, RunId};
use crate::domain::job::Status;
use crate::domain::limits::Limits;
use crate::domain::reason::ReasonCode;
use crate::domain::time::Timestamp;
use crate::ops::find::JobName;
use crate::ops::money::Money;
use crate::store::Holder;
use crate::store::attempt::AttemptRecord;
use crate::store::providers::Closure;

/// What is known of a job.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Explanation {
    /// The run.
    pub run_id: RunId,
    /// The job.
    pub job_id: JobId,
    /// What it is known by.
    #[serde(flatten)]
    pub name: JobName,
    /// Its state in a word.
    pub state: String,
    /// The last attempt made.
    pub attempt: u32,
    /// Why it is where it is, in a word that programs can rely on.
    pub code: ReasonCode,
    /// The same in sentences.
    pub why: Vec<String>,
    /// What a worker without further options would do with it.
    pub plan: PlannedStep,
    /// What to do next, with the reason.
    #[serde(skip)]
    pub next: Vec<NextStep>,
    /// What was tried so far.
    pub attempts: Vec<AttemptRecord>,
    /// The numbers that decide.
    pub numbers: Numbers,
    /// Who holds it.
    #[serde(skip)]
    pub holder: Option<Holder>,
    /// What looked wrong while reading, one sentence each.
    pub warnings: Vec<String>,
}

/// The numbers that decide about a job.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Numbers {
    /// How many failures may be followed by another attempt.
    pub retries: u32,
    /// How many were.
    pub failures: u32,
    /// Not before this moment.
    pub not_before: Option<Timestamp>,
    /// What one generation costs.
    #[serde(rename = "unit_price_usd")]
    pub unit_usd: Option<f64>,
    /// What is reserved for it.
    pub reserved_usd: Option<f64>,
    /// The open purchase.
    pub request_id: Option<String>,
    /// Whose account it uses.
    pub provider: Option<String>,
    /// Why that provider is closed, if it is.
    #[serde(rename = "provider_closed")]
    pub closed: Option<Closure>,
    /// How many of its jobs run at once and start in a minute.
    #[serde(flatten)]
    pub limits: Limits,
    /// Why its algorithm is paused, if it is.
    pub paused: Option<Closure>,
    /// After how many failures in a row the algorithm pauses; 0 means never.
    pub breaker_failures: u32,
    /// Somebody asked its holder to stop it.
    pub cancel_asked: bool,
    /// How long its like take, over all runs.
    pub median_s: Option<f64>,
    /// The money of the run.
    pub money: Money,
}

/// What a worker would do with a job, and why.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PlannedStep {
    /// What would become of it.
    pub fate: PlannedAction,
    /// Why.
    #[serde(flatten)]
    pub reason: Reason,
}

/// Something that a person may do next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NextStep {
    /// What it is good for.
    pub what: String,
    /// The step itself; `cli` renders it as a command.
    pub step: Step,
}

/// A step that can be taken with a job of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Run a worker on the job alone.
    Run(RunOptions),
    /// Show what a worker would do with it.
    Plan,
    /// Make a kept result its own.
    Adopt,
    /// Take back that it was cancelled, or is to be.
    UndoCancel,
    /// Record what the provider billed.
    Settle,
    /// Watch the run.
    Watch,
    /// Bring manifest and registry of the run together.
    CompleteBatch,
    /// Make the rows of the run again from its records.
    RebuildRows,
    /// Open a provider, or let a paused algorithm continue.
    Resume(AlgoKey),
    /// Show what is configured and what is missing.
    ListAdapters,
}

/// How a worker is to take a job.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RunOptions {
    /// Only if it is in this state; the usual ones if none is named.
    pub only_status: Option<Status>,
    /// Make it again although it has a result.
    pub redo: bool,
    /// How many failures that may pass are followed by another attempt.
    pub retries: Option<u32>,
    /// Buy it again although it may have been billed.
    pub resubmit_unknown: bool,
    /// Under another limit than the run was ordered with.
    pub raises: bool,
}
