//! How an attempt went: what an adapter's answer means, and what is in doubt.
//! Used by `job`, which makes attempts, and `settle`, which draws the conclusions;
//! nothing in here talks to a store.

use std::time::Duration;

use crate::adapter::AdapterError;
use crate::cancel::StopReason;
use crate::domain::budget::{Bill, plain_usd};
use crate::domain::job::Entry;
use crate::domain::lease::Lease;
use crate::domain::purchase::{Billed, OpenIntent, PurchaseEnd, RequestFate};
use crate::domain::retry::{ErrorClass, OnInterrupt};
use crate::engine::Algorithm;
use crate::engine::output::Checked;
use crate::store::StoreError;
use crate::store::artifacts::NoInputs;

/// What is said of a job that may have been bought without anybody knowing.
const IN_DOUBT: &str = "interrupted before the provider's answer was noted: it may have been billed. \
     Look for this job at the provider; if nothing was bought, run it again with";

/// What is said of a failure that may have been billed without anybody knowing.
const NO_REQUEST: &str = "it may have been billed: look for this job at the provider; \
     if nothing was bought, run it again with";

/// Returns what makes a worker buy a job again that may have been billed: a redo that
/// failed leaves its job completed.
fn again(entry: Entry) -> &'static str {
    match entry {
        Entry::Redo => "--redo",
        _ => "--only-status failed --resubmit-unknown",
    }
}

/// Returns the failure of a job that may have been bought without anybody knowing.
pub(super) fn asked_about(entry: Entry) -> Failure {
    let message = format!("{IN_DOUBT} {}", again(entry));
    Failure::new(ErrorClass::Unknown, message)
}

/// Returns the failure of a job that was about to be bought, if nobody knows whether
/// it was.
pub(super) fn asked_about_intent(intent: &OpenIntent, entry: Entry) -> Failure {
    let message = format!("{} {}", intended(&intent.correlation), again(entry));
    Failure::new(ErrorClass::Unknown, message)
}

/// What is said of a job that was about to be bought.
fn intended(correlation: &str) -> String {
    let shown: String = correlation.chars().take(200).collect();
    format!(
        "interrupted while it was buying: it may have been billed. Look for {shown} at the \
         provider; if nothing was bought, run it again with"
    )
}

/// What an attempt bought or meant to buy, as far as it said.
pub(super) struct Trade<'a> {
    /// The id of a purchase that can be asked about.
    pub(super) request: Option<&'a str>,
    /// Whether this attempt said it.
    pub(super) submitted: bool,
    /// What was meant to be bought, if no id came after that.
    pub(super) intent: Option<Intent<'a>>,
}

/// An intent after which no id came.
#[derive(Clone, Copy)]
pub(super) enum Intent<'a> {
    /// This attempt said it.
    Said(&'a str),
    /// An earlier one said it.
    Inherited(&'a str),
}

impl<'a> Intent<'a> {
    fn correlation(self) -> &'a str {
        match self {
            Self::Said(correlation) | Self::Inherited(correlation) => correlation,
        }
    }
}

impl Trade<'_> {
    /// Tells whether nothing was bought: what the adapter announces before it buys, it did not
    /// announce.
    fn is_none(&self, algorithm: &Algorithm) -> bool {
        algorithm.adapter.announces() && self.intent.is_none() && self.request.is_none()
    }

    /// Tells whether the next attempt cannot find out what came of this one, so that
    /// it would buy once more.
    fn is_blind(&self, algorithm: &Algorithm) -> bool {
        self.intent.is_some() && !algorithm.adapter.reconciles()
    }
}

/// How an attempt went, before the store has heard of it.
pub(super) enum Attempt {
    Made(Box<Checked>),
    /// This machine cannot fetch its pictures; nothing has begun.
    Unable(StoreError),
    /// It is made, and our own disk keeps it from being checked and recorded now.
    Unrecorded(String),
    Failed(Failure),
    Stopped {
        reason: StopReason,
        /// Whether the adapter had begun and may have bought something.
        begun: bool,
        /// Whether what it had bought was cancelled before anything of it was made.
        unbilled: bool,
    },
}

pub(super) struct Failure {
    pub(super) class: ErrorClass,
    pub(super) message: String,
    pub(super) detail: Option<String>,
    pub(super) retry_after: Option<Duration>,
    /// Whether a request id is known that the next attempt can ask about.
    pub(super) can_be_looked_up: bool,
    /// Whether a provider had accepted the request.
    pub(super) purchase: bool,
    /// What it cost all the same.
    pub(super) cost_usd: Option<f64>,
    /// What it means for the job's purchase.
    pub(super) end: PurchaseEnd,
    /// Whether the adapter had begun and did not live to say what it bought.
    pub(super) cut_off: bool,
    /// Whether the purchase of earlier attempts was given up.
    pub(super) forgotten: bool,
    /// Whether it is our own disk's fault, which may have room again by now.
    pub(super) no_room: bool,
    /// Whether it only tells what came of an order of an earlier attempt, and that nobody
    /// knows: that says nothing about the algorithm.
    pub(super) looked: bool,
    /// Whether the provider refuses the account's key, which is no fault of the job.
    pub(super) denied: bool,
    /// Whether the adapter had said that it succeeded: then it is paid for.
    pub(super) made: bool,
    /// Whether the store took no word of a purchase before it was made, which is no fault of
    /// the job.
    pub(super) away: bool,
}

impl Failure {
    pub(super) fn new(class: ErrorClass, message: impl Into<String>) -> Self {
        Self {
            class,
            message: message.into(),
            detail: None,
            retry_after: None,
            can_be_looked_up: false,
            purchase: false,
            cost_usd: None,
            end: PurchaseEnd::Open,
            cut_off: false,
            forgotten: false,
            no_room: false,
            looked: false,
            denied: false,
            made: false,
            away: false,
        }
    }

    /// Makes a failure that is nobody's but our disk's.
    pub(super) fn no_room(message: impl Into<String>) -> Self {
        Self {
            no_room: true,
            ..Self::new(ErrorClass::Transient, message)
        }
    }

    /// Tells what becomes of the money that was reserved.
    pub(super) fn bill(&self, lease: &Lease) -> Bill {
        let inherited = lease.request_id.is_some() && !self.forgotten;
        let purchase_open = (self.purchase || inherited) && self.end != PurchaseEnd::Void;
        if self.cut_off {
            return Bill::InDoubt;
        }
        Bill::of_failure(self.class, self.cost_usd, purchase_open)
    }

    pub(super) fn error_text(&self) -> String {
        match &self.detail {
            Some(detail) => format!("Error: {}\n\n{detail}\n", self.message),
            None => format!("Error: {}\n", self.message),
        }
    }
}

pub(super) fn from_adapter_error(
    error: AdapterError,
    trade: &Trade<'_>,
    algorithm: &Algorithm,
) -> Attempt {
    match error {
        AdapterError::Failed {
            class,
            message,
            detail,
            retry_after,
            request,
            billed,
            cost_usd,
        } => {
            let bill = Said {
                void: request == RequestFate::Void,
                billed: billed.or(cost_usd.map(|_| Billed::Yes)),
            };
            let end = bill.end(class, trade);
            let open_intent = trade.intent.is_some() && end == PurchaseEnd::Open;
            let usual = algorithm.price.unit_usd.unwrap_or_default();
            Attempt::Failed(Failure {
                detail,
                retry_after,
                end,
                cost_usd: match bill.billed {
                    Some(Billed::Yes) => Some(cost_usd.and_then(plain_usd).unwrap_or(usual)),
                    _ => None,
                },
                cut_off: open_intent || bill.billed == Some(Billed::Maybe),
                looked: open_intent && matches!(trade.intent, Some(Intent::Inherited(_))),
                ..Failure::new(bill.class(class, open_intent, trade, algorithm), message)
            })
        }
        AdapterError::CutOff {
            class,
            message,
            detail,
        } => Attempt::Failed(Failure {
            detail,
            cut_off: !trade.is_none(algorithm),
            ..Failure::new(cut_off_class(class, algorithm, trade), message)
        }),
        AdapterError::NoRoom { message } => Attempt::Failed(Failure::no_room(message)),
        AdapterError::Denied { message } => Attempt::Failed(Failure {
            denied: true,
            end: match trade.intent {
                Some(Intent::Said(_)) => PurchaseEnd::NotMade,
                _ => PurchaseEnd::Open,
            },
            cut_off: matches!(trade.intent, Some(Intent::Inherited(_))),
            ..Failure::new(ErrorClass::Transient, message)
        }),
        AdapterError::CancelledUnbilled => Attempt::Stopped {
            reason: StopReason::CancelAsked,
            begun: true,
            unbilled: true,
        },
        AdapterError::Stopped(StopReason::TimedOut) => {
            // Once a provider took the request, it may bill although we left.
            let class = if trade.submitted {
                ErrorClass::Unknown
            } else {
                cut_off_class(ErrorClass::Transient, algorithm, trade)
            };
            let limit = algorithm.timeout.unwrap_or_default().as_secs_f64();
            Attempt::Failed(Failure {
                cut_off: !trade.is_none(algorithm),
                ..Failure::new(class, format!("timed out after {limit} s"))
            })
        }
        AdapterError::Stopped(reason) => Attempt::Stopped {
            reason,
            begun: !trade.is_none(algorithm),
            unbilled: false,
        },
    }
}

/// Returns the class of an attempt that was cut off: where the adapter's entry
/// asks for it, nobody can say whether something was bought.
pub(super) fn cut_off_class(
    usual: ErrorClass,
    algorithm: &Algorithm,
    trade: &Trade<'_>,
) -> ErrorClass {
    let reconciles = algorithm.adapter.reconciles();
    match trade.intent {
        // The next attempt finds out what came of it; an ending asks a person.
        Some(_) if reconciles && usual == ErrorClass::Transient => usual,
        Some(_) => ErrorClass::Unknown,
        None if reconciles || trade.is_none(algorithm) => usual,
        None if trade.request.is_some() => usual,
        None if algorithm.on_interrupt == OnInterrupt::Ask => ErrorClass::Unknown,
        // To try again is to buy again.
        None if usual == ErrorClass::Transient && algorithm.is_paid() => ErrorClass::Unknown,
        None => usual,
    }
}

/// What an adapter says of its purchase when it fails.
struct Said {
    void: bool,
    billed: Option<Billed>,
}

impl Said {
    /// Decides what the failure means for the job's purchase. Every class but
    /// `unknown` says that what this attempt meant to buy was not billed; of what an
    /// earlier one meant to buy only a plain word says so.
    fn end(&self, class: ErrorClass, trade: &Trade<'_>) -> PurchaseEnd {
        let not_made = match trade.intent {
            Some(_) if self.billed.is_some() => self.billed == Some(Billed::No),
            Some(Intent::Said(_)) => class != ErrorClass::Unknown,
            None | Some(Intent::Inherited(_)) => false,
        };
        match (self.void, not_made) {
            (true, _) => PurchaseEnd::Void,
            (false, true) => PurchaseEnd::NotMade,
            (false, false) => PurchaseEnd::Open,
        }
    }

    /// Returns the class to go by: what may have been billed and cannot be asked about
    /// is never just tried again.
    fn class(
        &self,
        class: ErrorClass,
        open_intent: bool,
        trade: &Trade<'_>,
        algorithm: &Algorithm,
    ) -> ErrorClass {
        use ErrorClass::{BadInput, Permanent, Transient, Unknown};
        let kept = trade.request.is_some() && !self.void;
        let maybe_billed = matches!(self.billed, Some(Billed::Maybe | Billed::Yes));
        match class {
            Unknown if self.billed == Some(Billed::No) && !kept && !open_intent => Permanent,
            Transient if open_intent && !algorithm.adapter.reconciles() => Unknown,
            Transient if maybe_billed && !kept && !self.void && !open_intent => Unknown,
            BadInput | Permanent if open_intent => Unknown,
            class => class,
        }
    }
}

/// Turns an interruption before the provider answered into a question for a
/// person, where the adapter's entry asks for that, and says what to check.
pub(super) fn in_doubt(
    mut attempt: Attempt,
    trade: &Trade<'_>,
    algorithm: &Algorithm,
    entry: Entry,
) -> Attempt {
    if let Attempt::Failed(failure) = &mut attempt {
        failure.purchase = trade.request.is_some();
        let open = trade.intent.filter(|_| failure.end == PurchaseEnd::Open);
        let void = failure.end == PurchaseEnd::Void;
        let asked = trade.request.filter(|_| !void && open.is_none());
        failure.can_be_looked_up = asked.is_some();
        if failure.class == ErrorClass::Unknown {
            let advice = match (open, asked) {
                (Some(intent), _) => format!("{} {}", intended(intent.correlation()), again(entry)),
                (None, Some(id)) => format!(
                    "request {id} may have been billed; --only-status failed asks \
                     for its result instead of buying again"
                ),
                (None, None) => format!("{NO_REQUEST} {}", again(entry)),
            };
            failure.message = format!("{} ({advice})", failure.message);
        }
    }
    let asks = algorithm.on_interrupt == OnInterrupt::Ask
        && trade.request.is_none()
        && !trade.is_none(algorithm);
    match (&attempt, trade.intent) {
        (
            Attempt::Stopped {
                reason: StopReason::Killed | StopReason::CancelAsked | StopReason::Unreachable,
                ..
            },
            intent,
        ) if trade.is_blind(algorithm) || asks && !algorithm.adapter.reconciles() => {
            let message = intent.map(|intent| intended(intent.correlation()));
            let message = message.map(|text| format!("{text} {}", again(entry)));
            Attempt::Failed(message.map_or_else(
                || asked_about(entry),
                |message| Failure::new(ErrorClass::Unknown, message),
            ))
        }
        _ => attempt,
    }
}

pub(super) fn not_begun(reason: StopReason) -> Attempt {
    Attempt::Stopped {
        reason,
        begun: false,
        unbilled: false,
    }
}

/// What comes of an attempt whose pictures could not be had.
pub(super) fn without_inputs(no_inputs: NoInputs) -> Attempt {
    match no_inputs {
        NoInputs::Unusable(reason) => Attempt::Failed(Failure::new(ErrorClass::BadInput, reason)),
        NoInputs::Stopped => not_begun(StopReason::Killed),
        NoInputs::Trouble(error) => Attempt::Unable(error),
    }
}
