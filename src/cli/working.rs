//! Shows that something goes on while work without steps of its own takes long.
//!
//! Used by commands that do one thing; the worker has a progress bar of its own.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use indicatif::ProgressBar;

use crate::cli::ui::Ui;

/// Shorter work is over before anybody wonders.
const PATIENCE: Duration = Duration::from_secs(1);

const TICK: Duration = Duration::from_millis(100);

/// Does the work; on a terminal, `what` is shown while it takes more than a second.
pub fn while_working<T>(ui: &Ui, what: &'static str, work: impl FnOnce() -> T) -> T {
    if !ui.has_terminal() {
        return work();
    }
    thread::scope(|scope| {
        let (working, ended) = mpsc::channel::<()>();
        scope.spawn(move || {
            if ended.recv_timeout(PATIENCE) != Err(RecvTimeoutError::Timeout) {
                return;
            }
            let bar = ProgressBar::new_spinner().with_message(what);
            bar.enable_steady_tick(TICK);
            ui.set_bar(Some(bar.clone()));
            // Nothing is ever sent: this returns when the other end is dropped.
            let _ = ended.recv();
            ui.set_bar(None);
            bar.finish_and_clear();
        });
        let result = work();
        drop(working);
        result
    })
}
