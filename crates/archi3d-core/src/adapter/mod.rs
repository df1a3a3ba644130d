//! The outside programs and services that make models.
//!
//! An adapter gets a request and a context, writes only inside the request's
//! `out_dir`, and returns what it made or why it could not. It never touches
//! tables, markers or journals; whoever calls it does.

pub mod endpoint;
pub mod http;
pub mod mock;
mod preview;
pub mod process;
pub mod registry;
pub mod relief;
mod sample;
pub mod simulate;
#[cfg(test)]
mod testing;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Map, Value};

use crate::cancel::{JobStop, StopReason};
use crate::domain::purchase::{Billed, OpenIntent, RequestFate};
use crate::domain::retry::ErrorClass;
use crate::domain::time::Timestamp;

/// What is to be made.
#[derive(Debug, Clone, PartialEq)]
pub struct GenerationRequest {
    /// The job.
    pub job_id: String,
    /// The product shown.
    pub product_id: String,
    /// Its variant; may be empty.
    pub variant: String,
    /// The algorithm asked for.
    pub algo: String,
    /// The pictures, as absolute paths, in order.
    pub used_images: Vec<PathBuf>,
    /// The only folder the adapter may write in.
    pub out_dir: PathBuf,
    /// The workspace.
    pub workspace: PathBuf,
    /// Room for later additions.
    pub extra: Map<String, Value>,
}

/// What an adapter made.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct GenerationResult {
    /// Whether it worked; `false` is treated like an error.
    pub success: bool,
    /// The model, inside `out_dir`.
    pub generated_glb: Option<PathBuf>,
    /// Up to three pictures of it, inside `out_dir`.
    pub previews: Vec<PathBuf>,
    /// What made it.
    pub algo_version: Option<String>,
    /// The price of one generation, if the adapter knows better than the config.
    pub unit_price_usd: Option<f64>,
    /// What this one cost.
    pub estimated_cost_usd: Option<f64>,
    /// Whether the adapter named a cost that can be none: it costs at least the price.
    pub unclear_cost: bool,
    /// Where the price comes from.
    pub price_source: Option<String>,
    /// Whatever the provider said, kept in `metadata.json`.
    pub raw_metadata: Option<Map<String, Value>>,
    /// What helps to find the cause if the result cannot be taken.
    pub detail: Option<String>,
}

/// Why an adapter brought no result.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum AdapterError {
    /// It failed.
    #[error("{message}")]
    Failed {
        /// What kind of failure.
        class: ErrorClass,
        /// One sentence for the person.
        message: String,
        /// Everything else worth keeping, for `error.txt`.
        detail: Option<String>,
        /// How long the provider asks to be left alone.
        retry_after: Option<Duration>,
        /// Whether what was bought can be asked about again.
        request: RequestFate,
        /// Whether it was billed, where the class does not say it all.
        billed: Option<Billed>,
        /// What it cost, where it was billed.
        cost_usd: Option<f64>,
    },
    /// Something cut it off in the middle of its work, such as a crash of its
    /// program: nobody can say whether something was bought.
    #[error("{message}")]
    CutOff {
        /// What kind of failure, where nobody wants to be asked.
        class: ErrorClass,
        /// One sentence for the person.
        message: String,
        /// Everything else worth keeping, for `error.txt`.
        detail: Option<String>,
    },
    /// There was no room on our own disk for what it made.
    #[error("{message}")]
    NoRoom {
        /// One sentence for the person.
        message: String,
    },
    /// The provider refuses the account's key. Nothing was bought, what was bought before
    /// goes on, and no job of this provider can be made until somebody sets another key.
    #[error("{message}")]
    Denied {
        /// One sentence for the person.
        message: String,
    },
    /// It was told to stop, and what it had bought was cancelled before anything of it
    /// was made: nothing is billed.
    #[error("cancelled before it was begun")]
    CancelledUnbilled,
    /// It was told to stop and did.
    #[error("stopped before it was finished")]
    Stopped(StopReason),
}

impl AdapterError {
    /// Makes a failure of a file that could not be written.
    pub fn unwritten(path: &Path, error: &io::Error) -> Self {
        let message = format!("cannot write {}: {error}", path.display());
        if error.kind() == io::ErrorKind::StorageFull {
            return Self::NoRoom { message };
        }
        Self::failed(ErrorClass::Transient, message)
    }

    /// Makes a failure of a class of which nothing else is to be said.
    pub fn failed(class: ErrorClass, message: impl Into<String>) -> Self {
        Self::Failed {
            class,
            message: message.into(),
            detail: None,
            retry_after: None,
            request: RequestFate::Kept,
            billed: None,
            cost_usd: None,
        }
    }

    /// Makes a failure that trying again will not mend.
    pub fn permanent(message: impl Into<String>) -> Self {
        Self::failed(ErrorClass::Permanent, message)
    }

    /// Adds what is worth keeping in `error.txt`.
    #[must_use]
    pub fn with_detail(mut self, text: impl Into<Option<String>>) -> Self {
        if let Self::Failed { detail, .. } | Self::CutOff { detail, .. } = &mut self {
            *detail = text.into();
        }
        self
    }

    /// Adds how long the provider asks to be left alone.
    #[must_use]
    pub fn with_retry_after(mut self, time: impl Into<Option<Duration>>) -> Self {
        if let Self::Failed { retry_after, .. } = &mut self {
            *retry_after = time.into();
        }
        self
    }

    /// Says that the purchase is over: the next attempt buys anew, under another
    /// idempotency key. It was not billed unless [`Self::with_bill`] says so.
    #[must_use]
    pub fn void(mut self) -> Self {
        if let Self::Failed { request, .. } = &mut self {
            *request = RequestFate::Void;
        }
        self
    }

    /// Says whether it was billed, and with how much.
    #[must_use]
    pub fn with_bill(mut self, word: Billed, usd: Option<f64>) -> Self {
        if let Self::Failed {
            billed, cost_usd, ..
        } = &mut self
        {
            *billed = Some(word);
            *cost_usd = usd;
        }
        self
    }
}

/// What an adapter can ask of its caller while it works.
pub struct JobContext<'a> {
    /// Which attempt this is, from 1.
    pub attempt: u32,
    /// Stays the same until a purchase of this job has succeeded.
    pub idempotency_key: String,
    /// A purchase to re-attach to instead of buying again.
    pub resume_request_id: Option<String>,
    /// What an earlier attempt meant to buy, if nobody knows whether it did. Only an
    /// adapter that [reconciles](Adapter::reconciles) is started with one: it looks at
    /// the provider and goes on with the id it finds (`submitted`), says a new intent
    /// if nothing was bought, or fails as [`ErrorClass::Unknown`] if it cannot tell.
    pub open_intent: Option<OpenIntent>,
    /// Whether a person gave that intent up: what is not found may be bought again.
    pub given_up: bool,
    /// When the attempt began.
    pub started_at: Timestamp,
    /// Where whatever the adapter's programs say can be kept.
    pub log_path: Option<PathBuf>,
    /// When to stop, and why.
    pub stop: JobStop,
    /// Where reports go.
    pub reporter: &'a mut dyn JobReporter,
}

/// Takes what an adapter reports while it works.
pub trait JobReporter {
    /// Notes how far the work is, from 0 to 1.
    fn progress(&mut self, fraction: f64, message: Option<&str>);

    /// Notes that something is about to be bought, and what it can be found by at the
    /// provider. When this returns, the intent survives a crash and a power loss and
    /// the next attempt sees it; the adapter may buy only then. After an error it must
    /// not buy and passes the error on.
    fn intent(&mut self, correlation: &str) -> Result<(), AdapterError>;

    /// Notes that the provider accepted the request. When this returns, the id
    /// survives a crash and a power loss; the adapter may go on only then.
    fn submitted(&mut self, request_id: &str, cost_usd: Option<f64>) -> Result<(), AdapterError>;

    /// Notes that the provider accepted a request that nobody can ask about.
    fn submitted_nameless(&mut self, cost_usd: Option<f64>) {
        let _ = cost_usd;
    }

    /// Tells a person something about the adapter that its author should mend.
    fn warn(&mut self, message: &str) {
        let _ = message;
    }

    /// Notes that the adapter says it has succeeded, before anything of it is
    /// checked: from here on its files outlive the worker. An adapter that lingers
    /// after its answer tells this itself; for others the caller does when
    /// [`Adapter::generate`] returns.
    fn made(&mut self, result: &GenerationResult);
}

/// Where adapters find variables such as the key of an account. Asked before every
/// job, because people change a key while a worker runs.
pub trait Variables: Send + Sync {
    /// Returns those of `names` that are set at this moment.
    fn now(&self, names: &[&str]) -> BTreeMap<String, String>;
}

impl<F: Fn(&str) -> Option<String> + Send + Sync> Variables for F {
    fn now(&self, names: &[&str]) -> BTreeMap<String, String> {
        let set = |name: &&str| Some(((*name).to_owned(), self(name)?));
        names.iter().filter_map(set).collect()
    }
}

/// Something that turns pictures into a model.
pub trait Adapter: Send + Sync {
    /// Returns what keeps it from making anything at this moment, one sentence each: no
    /// program, a variable that is not set. Its jobs are left alone then, not failed.
    fn obstacles(&self, workspace: &Path) -> Vec<String> {
        let _ = workspace;
        Vec::new()
    }

    /// Returns what will stand in `algo_version`, where that is known beforehand.
    fn version(&self) -> Option<&str> {
        None
    }

    /// Tells whether it can find out at the provider what came of an open intent.
    /// Where it cannot, a person is asked instead.
    fn reconciles(&self) -> bool {
        false
    }

    /// Tells whether it buys nothing before it has said an intent: an attempt that was cut off before that
    /// costs nothing.
    fn announces(&self) -> bool {
        false
    }

    /// Tells whether it pays to look again for what an ended attempt may have bought.
    fn finds(&self) -> bool {
        self.reconciles()
    }

    /// Tells whether making a model may cost money where no price says so.
    fn may_buy(&self) -> bool {
        true
    }

    /// Tells whether it reads pictures and makes files. Only what measures the fleet itself does neither.
    fn uses_files(&self) -> bool {
        true
    }

    /// Returns what stands in `algo_version` where nobody tells a version: the provider's
    /// address or the program.
    fn maker(&self) -> Option<String> {
        None
    }

    /// Makes the model. May panic: the caller turns that into a failure.
    fn generate(
        &self,
        request: &GenerationRequest,
        context: &mut JobContext<'_>,
    ) -> Result<GenerationResult, AdapterError>;
}
