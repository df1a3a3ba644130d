//! Bugs: a panic becomes one error that asks to be reported.
//!
//! Panics of adapters are caught elsewhere and fail their jobs, so nothing is
//! printed when a panic happens; where it happened is remembered for the case
//! that it reaches the top.

use std::any::Any;
use std::backtrace::{Backtrace, BacktraceStatus};
use std::sync::{Mutex, PoisonError};

use crate::cli::error::{CliError, ErrorKind};

static LAST_PLACE: Mutex<Option<String>> = Mutex::new(None);

/// Makes panics silent and remembers where the last one happened.
pub fn keep_reports() {
    std::panic::set_hook(Box::new(|info| {
        let mut place = info
            .location()
            .map_or_else(|| "an unknown place".to_owned(), ToString::to_string);
        let backtrace = Backtrace::capture();
        if backtrace.status() == BacktraceStatus::Captured {
            place = format!("{place}\n{backtrace}");
        }
        *LAST_PLACE.lock().unwrap_or_else(PoisonError::into_inner) = Some(place);
    }));
}

/// Turns a caught panic into an error that asks to be reported.
pub fn into_error(payload: &(dyn Any + Send)) -> CliError {
    let message = payload
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no message".to_owned());
    let place = LAST_PLACE
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .take()
        .unwrap_or_else(|| "an unknown place".to_owned());
    let source = anyhow::anyhow!("archi3d has a bug: {message}, at {place}");
    CliError::new(ErrorKind::Internal, source).hint(format!(
        "please report this line and what you typed; this is version {}. \
         What finished is kept, and the same command continues",
        env!("CARGO_PKG_VERSION")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_exit_code_70_and_keeps_its_message() {
        let payload: Box<dyn Any + Send> = Box::new("index out of range");
        let error = into_error(payload.as_ref());
        assert_eq!(error.exit().code(), 70);
        assert!(error.render().contains("index out of range"));
        assert!(error.render().contains("please report"));
    }
}
