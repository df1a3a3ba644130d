//! Asking a person yes or no, where there is one to ask.
//!
//! Used by commands that stop or spend something. Never asks programs: where no
//! terminal is on both ends, the caller decides what silence means.

use std::io::{self, BufRead, IsTerminal, Write};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use crate::cli::ui::{Ui, clean};
use archi3d_core::ops::budget::Question;

/// How soon a wait for an answer is stopped.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Tells whether a person can be asked.
pub fn can_ask(ui: &Ui) -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal() && !ui.is_json()
}

/// Returns what is asked before something expensive runs.
pub fn to_run(question: &Question) -> String {
    format!("{}. Run them?", question.figures())
}

/// Asks on the terminal; anything but a clear yes means no.
pub fn ask(question: &str) -> bool {
    // The lock on stderr ends here: whoever stops the wait for an answer says so.
    let asked = {
        let mut stderr = io::stderr().lock();
        write!(stderr, "{} [y/N] ", clean(question)).and_then(|()| stderr.flush())
    };
    let mut answer = String::new();
    asked.is_ok() && io::stdin().lock().read_line(&mut answer).is_ok() && means_yes(&answer)
}

/// The same, but `stopped` ends the wait for an answer, which then is no.
pub fn ask_unless(question: &str, stopped: impl Fn() -> bool) -> bool {
    let question = question.to_owned();
    let (answer, heard) = mpsc::channel();
    // Left behind when the wait is stopped; it ends with the process.
    thread::spawn(move || answer.send(ask(&question)));
    loop {
        match heard.recv_timeout(LOOK_EVERY) {
            Ok(yes) => return yes,
            Err(RecvTimeoutError::Timeout) if !stopped() => {}
            Err(_) => return false,
        }
    }
}

fn means_yes(answer: &str) -> bool {
    matches!(answer.trim().to_lowercase().as_str(), "y" | "yes")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_clear_yes_means_yes() {
        for yes in ["y\n", "YES\n", " yes "] {
            assert!(means_yes(yes), "{yes:?}");
        }
        for no in ["", "\n", "n\n", "yep\n", "ja\n"] {
            assert!(!means_yes(no), "{no:?}");
        }
    }
}
