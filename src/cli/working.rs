//! Shows that something goes on while work without steps of its own takes long.
//!
//! Used by commands that do one thing; the worker has a progress bar of its own.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

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

/// A bar for work whose steps are counted; nothing is shown where nobody looks.
pub struct Counted<'u> {
    ui: &'u Ui,
    bar: Option<ProgressBar>,
}

impl<'u> Counted<'u> {
    /// Shows the bar, on a terminal.
    pub fn new(ui: &'u Ui, what: &'static str) -> Self {
        let bar = ui.has_terminal().then(|| {
            let style = ProgressStyle::with_template("{msg} [{bar:30}] {pos}/{len} {eta}");
            let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
            let bar = ProgressBar::new(0).with_style(style.progress_chars("=> "));
            bar.set_message(what);
            ui.set_bar(Some(bar.clone()));
            bar
        });
        Self { ui, bar }
    }

    /// Says how far the work is.
    pub fn at(&self, done: usize, total: usize) {
        if let Some(bar) = &self.bar {
            bar.set_length(total as u64);
            bar.set_position(done as u64);
        }
    }

    /// Takes the bar away.
    pub fn finish(&self) {
        if let Some(bar) = &self.bar {
            self.ui.set_bar(None);
            bar.finish_and_clear();
        }
    }
}
