//! The guard of a worker: its parent, which passes signals on, waits for its end
//! and then ends everything that the worker started. One thread, no locks, no files.
//!
//! The worker has a group of its own, so a signal from the terminal or to the
//! guard's group reaches it exactly once, through the guard. Elsewhere than on
//! Linux a worker runs without one: what a dead worker leaves behind could not
//! be found.

use std::io;

use super::process::Ended;

#[cfg(not(target_os = "linux"))]
pub(super) fn guard_worker(_variable: &str, _also: &[(&str, &str)]) -> io::Result<Option<Ended>> {
    Ok(None)
}

#[cfg(target_os = "linux")]
pub(super) fn guard_worker(variable: &str, also: &[(&str, &str)]) -> io::Result<Option<Ended>> {
    linux::guard_worker(variable, also).map(Some)
}

#[cfg(target_os = "linux")]
mod linux {
    use std::io;
    use std::os::unix::process::CommandExt;
    use std::process::Command;
    use std::time::{Duration, Instant};

    use rustix::process::{
        Pid, Signal, WaitOptions, WaitStatus, getpid, kill_process, set_child_subreaper, wait,
    };
    use signal_hook::consts::{SIGCHLD, SIGCONT, SIGHUP, SIGINT, SIGTERM, SIGTSTP};
    use signal_hook::iterator::Signals;

    use super::super::process_tree;
    use super::Ended;

    /// How long what a worker left behind is chased.
    const CHASE: Duration = Duration::from_secs(5);

    pub(super) fn guard_worker(variable: &str, also: &[(&str, &str)]) -> io::Result<Ended> {
        set_child_subreaper(Some(getpid()))?;
        let mut wanted = vec![SIGCHLD, SIGINT, SIGTERM, SIGTSTP, SIGCONT];
        // `nohup` asks us to live on when the terminal goes away.
        if !process_tree::ignores(SIGHUP) {
            wanted.push(SIGHUP);
        }
        let mut signals = Signals::new(wanted)?;
        let worker = start(variable, also)?;
        for number in signals.forever() {
            match number {
                SIGCHLD => {
                    if let Some(status) = reap(worker)? {
                        end_all();
                        return Ok(ended(status));
                    }
                }
                SIGTSTP => {
                    to_all(worker, Signal::STOP);
                    let _ = kill_process(getpid(), Signal::STOP);
                    to_all(worker, Signal::CONT);
                }
                SIGCONT => to_all(worker, Signal::CONT),
                number => {
                    if let Some(signal) = Signal::from_named_raw(number) {
                        let _ = kill_process(worker, signal);
                    }
                }
            }
        }
        Err(io::Error::other("the signals of the guard came to an end"))
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "a guard starts the program it is itself"
    )]
    fn start(variable: &str, also: &[(&str, &str)]) -> io::Result<Pid> {
        let mut arguments = std::env::args_os();
        // The name of the running file survives its replacement by an update.
        let mut command = Command::new("/proc/self/exe");
        if let Some(name) = arguments.next() {
            command.arg0(name);
        }
        let child = command
            .args(arguments)
            .env(variable, std::process::id().to_string())
            .envs(also.iter().copied())
            .process_group(0)
            .spawn()?;
        Ok(Pid::from_child(&child))
    }

    /// Notices every child that ended; returns the worker's status if it is one.
    fn reap(worker: Pid) -> io::Result<Option<WaitStatus>> {
        let mut found = None;
        loop {
            match wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) if pid == worker => found = Some(status),
                Ok(Some(_)) | Err(rustix::io::Errno::INTR) => {}
                Ok(None) | Err(rustix::io::Errno::CHILD) => return Ok(found),
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Kills whatever became a child of ours, until nothing comes any more.
    fn end_all() {
        let own = getpid().as_raw_nonzero().get();
        let end = Instant::now() + CHASE;
        loop {
            while let Ok(Some(_)) = wait(WaitOptions::NOHANG) {}
            let left: Vec<Pid> = process_tree::descendants(own)
                .iter()
                .filter(|entry| entry.parent == own && !entry.is_dead)
                .filter_map(|entry| Pid::from_raw(entry.pid))
                .collect();
            if left.is_empty() || Instant::now() >= end {
                return;
            }
            for pid in left {
                let _ = kill_process(pid, Signal::KILL);
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Sends a signal to the worker and everything else below this process.
    fn to_all(worker: Pid, signal: Signal) {
        let _ = kill_process(worker, signal);
        for entry in process_tree::descendants(getpid().as_raw_nonzero().get()) {
            if let Some(pid) = Pid::from_raw(entry.pid) {
                let _ = kill_process(pid, signal);
            }
        }
    }

    fn ended(status: WaitStatus) -> Ended {
        match status.exit_status() {
            Some(code) => Ended::Code(code),
            None => Ended::Signal(status.terminating_signal().unwrap_or(9)),
        }
    }
}
