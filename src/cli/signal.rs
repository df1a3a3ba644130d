//! Signals: the first lets running jobs land, the second stops them, the third
//! ends the program at once.
//!
//! Used by commands that run jobs. What the stages mean is the engine's
//! business; here they are only raised and told.

use std::io;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use crate::cli::ui::Ui;
use archi3d_core::cancel::{Cancel, Stage};

/// How long after a request to end the jobs are stopped without a second one, where nobody says otherwise.
/// Service managers kill after 30 s.
const GRACE: Duration = Duration::from_secs(20);

/// Names that time for the program and what it starts, in seconds.
pub const STOP_GRACE: &str = "ARCHI3D_STOP_GRACE";

/// A request to stop, from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    /// Ctrl-C.
    Interrupt,
    /// `kill`, or a service manager.
    Terminate,
    /// The terminal went away.
    Hangup,
}

impl Signal {
    /// Returns the exit code of a program that ended because of it.
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Hangup => 129,
            Self::Interrupt => 130,
            Self::Terminate => 143,
        }
    }
}

/// What a signal leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Drain,
    Kill,
    Exit(u8),
}

/// Listens to signals until the program ends.
#[derive(Debug, Clone)]
pub struct Signals(Arc<Listener>);

#[derive(Debug)]
struct Listener {
    cancel: Cancel,
    grace: Duration,
    first: Mutex<Option<Signal>>,
    count: AtomicU8,
}

/// Calls `handle` for every signal until the program ends, on a thread of its own.
pub fn listen(handle: impl Fn(Signal) + Send + 'static) -> io::Result<()> {
    source::listen(handle)
}

impl Signals {
    /// Starts to listen: signals raise `cancel` and are told through `ui`.
    pub fn listen(cancel: &Cancel, ui: &Ui) -> io::Result<Self> {
        Self::listen_with(cancel, None, ui)
    }

    /// The same, with the time that running jobs have after a request to end.
    pub fn listen_with(cancel: &Cancel, grace: Option<Duration>, ui: &Ui) -> io::Result<Self> {
        let signals = Self::new(cancel, grace.unwrap_or(GRACE));
        let (listener, ui) = (signals.clone(), ui.clone());
        source::listen(move |signal| listener.receive(signal, &ui))?;
        Ok(signals)
    }

    /// Returns the signal that came first, if one came.
    pub fn first(&self) -> Option<Signal> {
        *self.0.first.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn new(cancel: &Cancel, grace: Duration) -> Self {
        Self(Arc::new(Listener {
            cancel: cancel.clone(),
            grace,
            first: Mutex::new(None),
            count: AtomicU8::new(0),
        }))
    }

    fn receive(&self, signal: Signal, ui: &Ui) {
        match self.step(signal) {
            Step::Drain => {
                ui.say(
                    "stopping: no new job starts, running jobs may finish \
                     (a second signal stops them and gives them back)",
                );
                if signal == Signal::Terminate {
                    self.kill_after_grace(ui.clone());
                }
            }
            Step::Kill => ui.say(
                "stopping now: running jobs are stopped and given back \
                 (a third signal exits at once)",
            ),
            Step::Exit(code) => exit_at_once(code),
        }
    }

    /// Counts the signal, raises the ladder and says what that means.
    fn step(&self, signal: Signal) -> Step {
        let mut first = self.0.first.lock().unwrap_or_else(PoisonError::into_inner);
        let first = *first.get_or_insert(signal);
        let earlier = self
            .0
            .count
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |count| {
                Some(count.saturating_add(1))
            })
            .unwrap_or(u8::MAX);
        match earlier {
            0 => {
                self.0.cancel.raise(Stage::Drain);
                Step::Drain
            }
            1 => {
                self.0.cancel.raise(Stage::Kill);
                Step::Kill
            }
            _ => Step::Exit(first.exit_code()),
        }
    }

    fn kill_after_grace(&self, ui: Ui) {
        let (cancel, grace) = (self.0.cancel.clone(), self.0.grace);
        thread::spawn(move || {
            if !cancel.wait_for(Stage::Kill, grace) {
                ui.say("the time to finish is over: running jobs are stopped and given back");
                cancel.raise(Stage::Kill);
            }
        });
    }
}

#[expect(
    clippy::exit,
    reason = "a third signal must end the program whatever its threads do"
)]
fn exit_at_once(code: u8) {
    std::process::exit(i32::from(code));
}

#[cfg(unix)]
mod source {
    use std::{fs, io, thread};

    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    use signal_hook::iterator::Signals;

    use super::Signal;

    /// Calls `handle` for every signal, on a thread of its own.
    pub(super) fn listen(handle: impl Fn(Signal) + Send + 'static) -> io::Result<()> {
        let mut wanted = vec![SIGINT, SIGTERM];
        // `nohup` asks us to live on when the terminal goes away.
        if !is_ignored(SIGHUP) {
            wanted.push(SIGHUP);
        }
        let mut signals = Signals::new(wanted)?;
        thread::Builder::new()
            .name("signals".into())
            .spawn(move || {
                for number in signals.forever() {
                    handle(match number {
                        SIGTERM => Signal::Terminate,
                        SIGHUP => Signal::Hangup,
                        _ => Signal::Interrupt,
                    });
                }
            })
            .map(drop)
    }

    /// Tells whether whoever started us had the signal ignored; where the
    /// system does not say, it was not.
    fn is_ignored(signal: i32) -> bool {
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let mask = status
            .lines()
            .find_map(|line| line.strip_prefix("SigIgn:"))
            .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
        mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
    }
}

#[cfg(not(unix))]
mod source {
    use std::io;

    use super::Signal;

    /// Calls `handle` for every Ctrl-C, on a thread of its own.
    pub(super) fn listen(handle: impl Fn(Signal) + Send + 'static) -> io::Result<()> {
        ctrlc::set_handler(move || handle(Signal::Interrupt)).map_err(io::Error::other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_climb_the_ladder_and_the_first_one_gives_the_exit_code() {
        let cancel = Cancel::new();
        let signals = Signals::new(&cancel, GRACE);
        assert_eq!(signals.first(), None);
        assert_eq!(signals.step(Signal::Terminate), Step::Drain);
        assert_eq!(cancel.stage(), Stage::Drain);
        assert_eq!(signals.step(Signal::Interrupt), Step::Kill);
        assert_eq!(cancel.stage(), Stage::Kill);
        assert_eq!(signals.step(Signal::Interrupt), Step::Exit(143));
        assert_eq!(signals.first(), Some(Signal::Terminate));
    }
}
