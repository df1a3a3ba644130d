//! How an attempt went: what an adapter's answer means, and what is in doubt.
//! Used by `job`, which makes attempts, and `settle`, which draws the conclusions;
//! nothing in here talks to a store.

use std::time::Duration;

use crate::adapter::AdapterError;
use crate::cancel::StopReason;
use crate::domain::budget::Bill;
use crate::domain::job::Entry;
use crate::domain::lease::Lease;
use crate::domain::retry::{ErrorClass, OnInterrupt};
use crate::engine::Carrier;
use crate::engine::output::Checked;

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

/// How an attempt went, before the store has heard of it.
pub(super) enum Attempt {
    Made(Box<Checked>),
    Failed(Failure),
    Stopped {
        reason: StopReason,
        /// Whether the adapter had begun.
        begun: bool,
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
    /// Whether the adapter had begun and did not live to say what it bought.
    pub(super) cut_off: bool,
    /// Whether the purchase of earlier attempts was given up.
    pub(super) forgotten: bool,
    /// Whether it is our own disk's fault, which may have room again by now.
    pub(super) no_room: bool,
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
            cut_off: false,
            forgotten: false,
            no_room: false,
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
        let purchase_open = self.purchase || (lease.request_id.is_some() && !self.forgotten);
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
    submitted: bool,
    purchase: Option<&str>,
    carrier: &Carrier,
) -> Attempt {
    match error {
        AdapterError::Failed {
            class,
            message,
            detail,
            retry_after,
        } => Attempt::Failed(Failure {
            detail,
            retry_after,
            can_be_looked_up: purchase.is_some(),
            ..Failure::new(class, message)
        }),
        AdapterError::CutOff {
            class,
            message,
            detail,
        } => Attempt::Failed(Failure {
            detail,
            cut_off: true,
            ..Failure::new(cut_off_class(class, carrier, purchase), message)
        }),
        AdapterError::NoRoom { message } => Attempt::Failed(Failure::no_room(message)),
        AdapterError::Stopped(StopReason::TimedOut) => {
            // Once a provider took the request, it may bill although we left.
            let class = if submitted {
                ErrorClass::Unknown
            } else {
                cut_off_class(ErrorClass::Transient, carrier, purchase)
            };
            let limit = carrier.timeout.unwrap_or_default().as_secs_f64();
            Attempt::Failed(Failure {
                cut_off: true,
                ..Failure::new(class, format!("timed out after {limit} s"))
            })
        }
        AdapterError::Stopped(reason) => Attempt::Stopped {
            reason,
            begun: true,
        },
    }
}

/// Returns the class of an attempt that was cut off: where the adapter's entry
/// asks for it, nobody can say whether something was bought.
pub(super) fn cut_off_class(
    usual: ErrorClass,
    carrier: &Carrier,
    purchase: Option<&str>,
) -> ErrorClass {
    if carrier.on_interrupt == OnInterrupt::Ask && purchase.is_none() {
        ErrorClass::Unknown
    } else {
        usual
    }
}

/// Turns an interruption before the provider answered into a question for a
/// person, where the adapter's entry asks for that, and says what to check.
pub(super) fn in_doubt(
    mut attempt: Attempt,
    purchase: Option<&str>,
    carrier: &Carrier,
    entry: Entry,
) -> Attempt {
    if let Attempt::Failed(failure) = &mut attempt {
        failure.purchase = purchase.is_some();
    }
    match attempt {
        Attempt::Stopped {
            reason: StopReason::Killed | StopReason::CancelAsked,
            ..
        } if carrier.on_interrupt == OnInterrupt::Ask && purchase.is_none() => {
            Attempt::Failed(asked_about(entry))
        }
        Attempt::Failed(mut failure) if failure.class == ErrorClass::Unknown => {
            let advice = purchase.map_or_else(
                || format!("{NO_REQUEST} {}", again(entry)),
                |id| {
                    format!(
                        "request {id} may have been billed; --only-status failed asks \
                         for its result instead of buying again"
                    )
                },
            );
            failure.message = format!("{} ({advice})", failure.message);
            failure.can_be_looked_up = purchase.is_some();
            Attempt::Failed(failure)
        }
        attempt => attempt,
    }
}

pub(super) fn not_begun(reason: StopReason) -> Attempt {
    Attempt::Stopped {
        reason,
        begun: false,
    }
}
