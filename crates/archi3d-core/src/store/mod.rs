//! Where the records of a run live, behind one trait with a written contract.
//!
//! A [`WorkerStore`] is one worker's handle on one run. There are two kinds, [`files`]
//! and PostgreSQL; a strict one in memory, which tests hold the others against, is among
//! the tests. Time is always an argument.
//!
//! What every store promises:
//! - at most one live lease per job, and at most one published result per attempt;
//! - every write by a holder is checked against its lease; a holder that lost
//!   it publishes nothing over another claim or result;
//! - once [`WorkerStore::finish`] has returned, the ending survives the death of the
//!   process; once [`WorkerStore::close`] has returned, it survives a power loss and
//!   stands in the registry that people read;
//! - state moves only along [`JobState::apply`], and a job's attempt numbers rise
//!   whatever becomes of the attempts;
//! - a redo that brings nothing leaves the older result in force, and its open
//!   purchase reaches the next attempt;
//! - the files of a holder that lost its job are its own until it ends or dies;
//! - cells, rows and columns that no patch names keep their bytes.
//!
//! What no store promises: that an unfinished job runs only once.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::domain::content::ContentKey;
use crate::domain::id::{AlgoKey, JobId, WorkerId};
use crate::domain::job::{Entry, JobState};
use crate::domain::lease::{Lease, Verdict};
use crate::domain::patch::{Patch, WorkerFacts};
use crate::domain::purchase::{OpenPurchase, PurchaseEnd};
use crate::domain::retry::ErrorClass;
use crate::domain::select::Seen;
use crate::domain::time::Timestamp;

pub mod artifacts;
pub mod attempt;
pub mod backend;
pub mod bounds;
pub mod budget;
pub mod error;
pub mod files;
pub mod fleet;
mod made;
pub mod manifest;
#[cfg(feature = "objects")]
pub mod objects;
#[cfg(feature = "postgres")]
pub mod orders;
pub mod outbox;
pub mod overview;
#[cfg(feature = "postgres")]
pub mod postgres;
pub mod providers;
pub mod reuse;
pub mod runs;
mod shelf;
pub mod table_file;
pub mod upkeep;
mod worker;

pub use crate::workspace::artifact::Artifact;
pub use artifacts::{Artifacts, Blob};
pub use backend::{Backend, OpenRun, Opening, local};
pub use budget::{Billing, Budget};
pub use error::StoreError;
pub use fleet::Fleet;
pub use made::Made;
pub use outbox::Outbox;
pub use providers::Providers;
pub use runs::Runs;
pub use upkeep::Upkeep;
pub use worker::{Handing, Lane, Next, Trial, Want, WorkerStore};

/// One worker process, as records name it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkerIdentity {
    /// Its id, new at every start.
    pub worker_id: WorkerId,
    /// Its process id.
    pub pid: u32,
    /// The machine's current boot; empty where none can be told.
    pub boot_id: String,
    /// What goes into the registry.
    pub facts: WorkerFacts,
}

/// Every job of a run, in the order in which they are to run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RunJobs {
    /// Jobs of the manifest in its order, then finished jobs that only the registry has.
    pub jobs: Vec<JobRecord>,
    /// What looked wrong while reading, one sentence each.
    pub warnings: Vec<String>,
    /// How many rows contradict the manifest; neither they nor its jobs run.
    pub contradictions: usize,
}

/// One job as it stands.
#[derive(Debug, Clone, PartialEq)]
pub struct JobRecord {
    /// Its id.
    pub job_id: JobId,
    /// The product shown.
    pub product_id: String,
    /// Its variant; may be empty.
    pub variant: String,
    /// The algorithm asked for; text that is no key fails the job, not the run.
    pub algo: Result<AlgoKey, String>,
    /// The pictures, as the manifest names them.
    pub images: Vec<String>,
    /// Their bytes, one for one, where they lie in a bucket; nothing where they lie in the workspace.
    pub blobs: Vec<Blob>,
    /// Where it stands.
    pub snapshot: JobSnapshot,
}

/// Walks over a list and gives its memory back on the way, so that it is not
/// there twice while it is turned into another one.
pub fn consumed<T>(mut list: Vec<T>) -> impl Iterator<Item = T> {
    /// Between two moments at which memory is given back.
    const STRIDE: usize = 4096;
    list.reverse();
    std::iter::from_fn(move || {
        if list.len().is_multiple_of(STRIDE) {
            list.shrink_to_fit();
        }
        list.pop()
    })
}

/// Where a job stands, with what a person may want to know about it.
#[derive(Debug, Clone, PartialEq)]
pub enum JobSnapshot {
    /// The usual case.
    Known {
        /// Its state.
        state: JobState,
        /// Who holds it, if it runs.
        holder: Option<Box<Holder>>,
        /// Its last error, if it failed.
        error: Option<String>,
        /// The registry says `completed` but no marker vouches for it.
        unmarked: bool,
        /// Not before this moment (a retry that waits).
        not_before: Option<Timestamp>,
        /// It may have been billed, and no request id tells.
        doubtful: bool,
        /// It was about to be bought, and nobody knows whether it was.
        intended: bool,
        /// It was begun in earnest, or may have been, whatever became of that.
        tried: bool,
        /// A purchase that was made and has not brought its result yet.
        purchase: Option<String>,
        /// It waits or was taken out, its last holder died, and no attempt has begun since.
        holder_died: bool,
        /// How many failures were followed by another attempt.
        failures: u32,
    },
    /// The status cell holds a word we do not know; the job is left alone.
    Unknown(String),
    /// The manifest names it, the registry does not.
    NotRegistered,
    /// The registry has it, but the manifest does not name it and no marker vouches for it.
    NotInManifest,
    /// The same, and the manifest names its job by another id, which a spreadsheet has changed.
    Renamed,
}

impl JobSnapshot {
    /// Tells whether it waits or was taken out, its last holder died with it, and no
    /// attempt has begun since.
    pub fn holder_died(&self) -> bool {
        matches!(
            self,
            Self::Known {
                holder_died: true,
                ..
            }
        )
    }

    /// Returns what decides whether a worker takes the job; nothing for one that
    /// no worker takes.
    pub fn seen(&self) -> Option<Seen> {
        match self {
            Self::Known {
                state,
                holder,
                unmarked,
                doubtful,
                tried,
                ..
            } => Some(Seen {
                state: *state,
                unmarked: *unmarked,
                holder: holder.as_ref().map(|holder| holder.verdict),
                doubtful: *doubtful,
                findable: false,
                tried: *tried,
            }),
            _ => None,
        }
    }
}

/// How far a running job is, as its adapter says.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Progress {
    /// From 0 to 1.
    pub fraction: f64,
    /// What it is doing, on one line.
    pub message: Option<String>,
}

/// Who holds a running job.
#[derive(Debug, Clone, PartialEq)]
pub struct Holder {
    /// The worker, or the host and pid another tool wrote.
    pub worker: String,
    /// The machine, if known.
    pub host: Option<String>,
    /// When it took the job.
    pub since: Option<Timestamp>,
    /// Its last beat.
    pub last_beat: Option<Timestamp>,
    /// Whether it may be taken over.
    pub verdict: Verdict,
    /// Whether somebody asked for the job to be stopped and that has not happened yet.
    pub cancel_asked: bool,
}

/// The answer to a claim.
#[derive(Debug, Clone, PartialEq)]
pub enum Claim {
    /// The job is ours.
    Taken(Lease),
    /// Somebody is changing it this moment, or holds it and lives.
    Busy,
    /// It no longer is what the caller saw; this is what it is now.
    Changed(JobState),
    /// A dead holder had finished it: its result was published in its name.
    RolledForward(JobState),
    /// It cannot be told yet; ask again after this long.
    Later(Duration),
    /// A dead holder had finished it, and its result cannot be published: why.
    Stuck(String),
    /// Another program has held its lock for too long to go on waiting.
    Locked {
        /// The lock, relative to the workspace.
        lock: String,
        /// For how long.
        waited: Duration,
    },
}

/// What a beat found out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Beat {
    /// The lease is ours.
    Held,
    /// It is not ours any more.
    Lost,
    /// It is ours, and somebody asks for the job to be stopped.
    CancelAsked,
}

/// How an attempt ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Ending {
    /// With or without a result.
    pub outcome: Outcome,
    /// What goes into the row.
    pub patch: Patch,
    /// What it cost, if anything was billed or may have been.
    pub cost_usd: Option<f64>,
    /// What a real result was made from, so that it can be found again.
    pub content_key: Option<ContentKey>,
    /// When it ended.
    pub at: Timestamp,
}

/// With or without a result.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// The staging folder holds a checked result.
    Completed {
        /// Whether it was only rehearsed.
        simulated: bool,
        /// Every file of it.
        artifacts: Vec<Artifact>,
    },
    /// There is no result.
    Failed {
        /// What kind of failure.
        class: ErrorClass,
        /// The full text for `error.txt`.
        error_text: String,
        /// Whether its adapter did not live to say what it bought.
        cut_off: bool,
        /// What it means for the job's purchase.
        purchase: PurchaseEnd,
    },
}

/// What became of an ending.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Finish {
    /// It is the job's state now.
    Published,
    /// The lease was lost, but nobody else had it: published all the same.
    Adopted,
    /// A redo failed: the old result stands.
    OldResultKept,
    /// Somebody else has the job; a result was set aside there.
    Fenced {
        /// Where the result was put, relative to the workspace.
        kept_at: Option<String>,
    },
}

/// Why a job is given back unfinished.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReleaseReason {
    /// The worker was told to stop.
    Interrupted,
    /// It is to be tried again later.
    Retry,
    /// The store or the disk cannot take its result.
    StoreTrouble,
    /// The store could not be reached while it ran: as if its holder had died with it.
    Unreachable,
    /// Its money could not be reserved, because of a limit or the disk; nothing was started.
    Budget,
}

/// A failed attempt that is followed by another one.
#[derive(Debug, Clone, PartialEq)]
pub struct Setback {
    /// What kind of failure.
    pub class: ErrorClass,
    /// One line.
    pub message: String,
    /// The job is not to be taken before this moment.
    pub not_before: Option<Timestamp>,
    /// Whether it uses up one of the job's retries.
    pub counts: bool,
    /// Whether its adapter did not live to say what it bought.
    pub cut_off: bool,
    /// What it means for the job's purchase.
    pub purchase: PurchaseEnd,
    /// What the attempt cost all the same.
    pub cost_usd: Option<f64>,
}

/// What became of a wish to take a job out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cancellation {
    /// It will not run.
    Cancelled {
        /// A purchase that was made for it and may be billed; it is kept.
        request_id: Option<String>,
    },
    /// Its holder lives and was asked to stop.
    Asked,
    /// Nobody lived to make its result again: the older one stands.
    RedoStopped,
    /// It was out already.
    AlreadyCancelled,
    /// It has ended; this is how.
    Untouched(JobState),
}

/// What became of a wish to put a job back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Restored {
    /// It waits again.
    Waiting,
    /// Its holder had not stopped it yet and goes on.
    RequestRevoked,
    /// It waits or runs, and nobody had asked to stop it.
    NotCancelled,
    /// It has ended; this is how.
    Untouched(JobState),
}

/// A failed job that is to be tried again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobToRetry {
    /// The job.
    pub job_id: JobId,
    /// The attempt in which it failed; whichever it was if there is none.
    pub attempt: Option<u32>,
}

/// What is known of a job that comes from another store, beside what it is.
#[derive(Debug, Clone, PartialEq)]
pub struct JobPast {
    /// Where it stands; nobody holds it, so it never runs.
    pub state: JobState,
    /// What its next attempt begins.
    pub entry: Entry,
    /// Whether it has a result, also where it waits to be made again.
    pub has_result: bool,
    /// Whether that is a rehearsal.
    pub simulated: bool,
    /// Whether it was begun in earnest, whatever became of that.
    pub tried: bool,
    /// Whether its last holder died with it, and no attempt has begun since.
    pub holder_died: bool,
    /// How many failures were followed by another attempt.
    pub failures: u32,
    /// A purchase that was made and has not brought its result yet, an intent to buy of which nobody knows what came,
    /// and how many purchases are over.
    pub purchase: OpenPurchase,
    /// What kind of failure it ended with.
    pub class: Option<ErrorClass>,
    /// Its last error.
    pub error: Option<String>,
    /// Not before this moment.
    pub not_before: Option<Timestamp>,
    /// What names its last attempt.
    pub nonce: Option<String>,
}

/// What recovery found and did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Recovery {
    /// Results of dead workers that were published in their name.
    pub rolled_forward: Vec<JobId>,
    /// Rows that were behind their markers.
    pub rows_healed: usize,
    /// What looked wrong, one sentence each.
    pub warnings: Vec<String>,
}

/// Something worth telling a person while a store works.
#[derive(Debug, Clone, PartialEq)]
pub enum StoreNotice {
    /// A lock is held by somebody else.
    WaitingFor {
        /// The lock file, relative to the workspace.
        lock: String,
        /// For how long.
        waited: Duration,
    },
    /// The registry cannot be written now; results are safe and it is tried again.
    RegistryBlocked {
        /// What the system said.
        reason: String,
    },
    /// Anything else worth a warning.
    Warning(String),
}

/// Where notices go.
pub type NoticeSink = Arc<dyn Fn(StoreNotice) + Send + Sync>;
