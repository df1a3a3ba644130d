//! Asks a person on a terminal before something expensive starts.
//!
//! Elsewhere nobody is asked: the answer is no, and the error says what to add.

use std::io::{self, IsTerminal};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use crate::cancel::{Cancel, Stage};
use crate::cli::ui::Ui;
use crate::ops::budget::Question;

/// How soon a signal ends the wait for an answer.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Asks and waits for the answer; anything but yes is no, and so is a signal.
pub(super) fn ask(question: &Question, cancel: &Cancel, ui: &Ui) -> bool {
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        return false;
    }
    ui.say(&question.figures());
    ui.say("Run them? Type yes to go on, anything else stops here:");
    let (answer, heard) = mpsc::channel();
    // Left behind when a signal comes first; it ends with the process.
    thread::spawn(move || {
        let mut line = String::new();
        let read = io::stdin().read_line(&mut line);
        let _ = answer.send(read.is_ok() && is_yes(&line));
    });
    loop {
        match heard.recv_timeout(LOOK_EVERY) {
            Ok(yes) => return yes,
            Err(RecvTimeoutError::Disconnected) => return false,
            Err(RecvTimeoutError::Timeout) if cancel.stage() != Stage::Go => return false,
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
}

fn is_yes(line: &str) -> bool {
    matches!(line.trim().to_ascii_lowercase().as_str(), "y" | "yes")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_yes_is_yes() {
        for (line, yes) in [
            ("y\n", true),
            ("YES\n", true),
            ("\n", false),
            ("no\n", false),
            ("yesterday\n", false),
        ] {
            assert_eq!(is_yes(line), yes, "{line:?}");
        }
    }
}
