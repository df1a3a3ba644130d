//! Programs with everything they start: a group that is stopped as a whole.
//!
//! `adapter` runs programs through [`Group`], `ops` guards a worker through
//! [`guard_worker`]. On Linux nothing a program starts can get away, not even a
//! daemon in a session of its own; elsewhere only its own group is stopped
//! (macOS) or only the program itself (Windows).

#[cfg(unix)]
use super::process_unix as imp;
#[cfg(windows)]
use super::process_windows as imp;

use std::io;
use std::process::{Child, ChildStdin, Command, ExitStatus};
use std::time::Duration;

/// The variable by which processes are recognised as belonging to one group.
pub const MARK_VARIABLE: &str = "ARCHI3D_ATTEMPT_MARK";

/// How a program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// It returned this code.
    Code(i32),
    /// This signal ended it.
    Signal(i32),
}

/// A running program and everything it started.
#[derive(Debug)]
pub struct Group(imp::Group);

impl Group {
    /// Starts `command` as the first process of a new group.
    pub fn spawn(command: &mut Command) -> io::Result<Self> {
        let mark = uuid::Uuid::new_v4().simple().to_string();
        command.env(MARK_VARIABLE, &mark);
        imp::Group::spawn(command, &mark).map(Self)
    }

    /// Takes the pipes, which are there once if the command asked for all three.
    pub fn take_pipes(&mut self) -> Option<(ChildStdin, Pipes)> {
        let child = self.0.child();
        let (stdin, stdout, stderr) = (
            child.stdin.take()?,
            child.stdout.take()?,
            child.stderr.take()?,
        );
        Some((stdin, Pipes(self.0.pipes(stdout, stderr))))
    }

    /// Tells whether the program itself has ended; what it started may live on.
    pub fn has_ended(&mut self) -> io::Result<bool> {
        self.0.has_ended()
    }

    /// Asks the whole group to end.
    pub fn terminate(&mut self) {
        self.0.terminate();
    }

    /// Ends whatever of the group still lives and tells how the program ended.
    pub fn finish(mut self) -> io::Result<Ended> {
        self.0.finish().map(imp::ended)
    }
}

/// Where something was said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pipe {
    /// On stdout.
    Out,
    /// On stderr.
    Err,
}

/// The two pipes by which a program speaks, for one thread to listen to.
pub struct Pipes(imp::Pipes);

impl Pipes {
    /// Waits until the program says something, closes a pipe or ends, but not longer
    /// than `limit`. Gives `said` what there is, at most a piece of each pipe; an
    /// empty piece means that the pipe is closed. Where the system cannot tell the
    /// end of a program, that is not waited for.
    pub fn read(&mut self, limit: Duration, mut said: impl FnMut(Pipe, &[u8])) {
        self.0.read(limit, &mut said);
    }

    /// Tells whether nothing more can come.
    pub fn are_closed(&self) -> bool {
        self.0.are_closed()
    }

    /// Makes only the pipes count from now on: the program has ended.
    pub fn forget_program(&mut self) {
        self.0.forget_program();
    }
}

/// How much of a pipe is read at once.
pub(super) const PIECE_BYTES: usize = 16 << 10;

/// Makes this process the parent of everything its programs leave behind, so
/// that [`Group::finish`] finds daemons too. Returns `false` where the system
/// has no such thing.
pub fn adopt_orphans() -> io::Result<bool> {
    imp::adopt_orphans()
}

/// Returns how the worker ended that ran as the child of this process: started
/// with the arguments of this process, `variable` set to its id and `also` set to
/// what it says. Signals are passed on, and when the worker is gone so is everything it started. Returns
/// nothing where a worker cannot be guarded.
pub fn guard_worker(variable: &str, also: &[(&str, &str)]) -> io::Result<Option<Ended>> {
    imp::guard_worker(variable, also)
}

/// Starts a program that does not hear the signals of this process's terminal.
pub fn spawn_apart(command: &mut Command) -> io::Result<Child> {
    imp::spawn_apart(command)
}

/// Asks a program to end, where the system can ask; else ends it.
pub fn ask_to_end(child: &mut Child) {
    imp::ask_to_end(child);
}

/// Returns the id of the process that started this one, where that is known.
pub fn parent_id() -> Option<u32> {
    imp::parent_id()
}

/// Reads how a program ended from its status; no status means a signal we sent.
pub(super) fn code_or(status: ExitStatus, signal: Option<i32>) -> Ended {
    match (status.code(), signal) {
        (Some(code), _) => Ended::Code(code),
        (None, signal) => Ended::Signal(signal.unwrap_or(9)),
    }
}
