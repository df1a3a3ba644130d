//! Linux and macOS: a program has a process group of its own. On Linux this
//! process adopts what the group loses, recognises it by its mark or by the
//! folder it works in, and ends it.
//!
//! Only unreaped children of this process are ever killed by id, and a group
//! only while its leader is unreaped: such ids cannot have gone to others.

use std::collections::HashSet;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, ChildStdout, Command, ExitStatus};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, WaitOptions, kill_process, kill_process_group, waitid,
    waitpid,
};

use super::process::{Ended, MARK_VARIABLE, PIECE_BYTES, Pipe, code_or};
use super::process_tree::{self, Entry};
use rustix::time::Timespec;

pub(super) use super::guard_unix::guard_worker;

/// How long lost processes are chased before they are left to the guard.
const CHASE: Duration = Duration::from_secs(1);

/// The leaders of all running groups.
static LEADERS: Mutex<Option<HashSet<i32>>> = Mutex::new(None);

/// Shared while a program starts and held alone while lost processes are judged,
/// so that a new leader is never taken for a lost one.
static STARTING: RwLock<()> = RwLock::new(());

/// Whether this process adopts what its programs leave behind.
static ADOPTS: AtomicBool = AtomicBool::new(false);

#[derive(Debug)]
pub(super) struct Group {
    child: Child,
    leader: Pid,
    mark: String,
    /// Where it works; nobody else has a reason to be there.
    folder: Option<PathBuf>,
    finished: bool,
}

impl Group {
    pub(super) fn spawn(command: &mut Command, mark: &str) -> io::Result<Self> {
        command.process_group(0);
        let starting = STARTING.read().unwrap_or_else(PoisonError::into_inner);
        let child = command.spawn()?;
        let leader = Pid::from_child(&child);
        leaders()
            .get_or_insert_default()
            .insert(leader.as_raw_nonzero().get());
        drop(starting);
        Ok(Self {
            child,
            leader,
            mark: mark.to_owned(),
            folder: command.get_current_dir().map(Path::to_owned),
            finished: false,
        })
    }

    pub(super) fn child(&mut self) -> &mut Child {
        &mut self.child
    }

    pub(super) fn has_ended(&mut self) -> io::Result<bool> {
        // Looking without reaping keeps the id, so the group can still be killed.
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
        match waitid(WaitId::Pid(self.leader), options) {
            Ok(status) => Ok(status.is_some()),
            Err(rustix::io::Errno::INTR) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    pub(super) fn pipes(&self, stdout: ChildStdout, stderr: ChildStderr) -> Pipes {
        Pipes {
            stdout: Some(stdout),
            stderr: Some(stderr),
            program: end_of(self.leader),
        }
    }

    pub(super) fn terminate(&mut self) {
        let _ = kill_process_group(self.leader, Signal::TERM);
        // A stopped process hears nothing else.
        let _ = kill_process_group(self.leader, Signal::CONT);
    }

    pub(super) fn finish(&mut self) -> io::Result<ExitStatus> {
        let _ = kill_process_group(self.leader, Signal::KILL);
        let status = self.child.wait();
        self.finished = true;
        let last = {
            let mut leaders = leaders();
            let set = leaders.get_or_insert_default();
            set.remove(&self.leader.as_raw_nonzero().get());
            set.is_empty()
        };
        if ADOPTS.load(Ordering::SeqCst) {
            self.end_lost(last);
        }
        status
    }

    /// Ends the adopted processes of this group, and those of nobody when no
    /// other group could miss them.
    fn end_lost(&self, last: bool) {
        let mark = format!("{MARK_VARIABLE}={}", self.mark);
        let end = Instant::now() + CHASE;
        let mut pause = Duration::from_micros(200);
        loop {
            let killed = kill_children(|entry| {
                let variables = process_tree::environment(entry.pid).unwrap_or_default();
                let is_marked = |prefix: &str| {
                    variables
                        .split(|byte| *byte == 0)
                        .any(|variable| variable.starts_with(prefix.as_bytes()))
                };
                let folder = self.folder.as_ref();
                is_marked(&mark)
                    || folder.is_some_and(|folder| process_tree::works_in(entry.pid, folder))
                    || last && !is_marked(MARK_VARIABLE)
            });
            if killed == 0 || Instant::now() >= end {
                return;
            }
            thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(10));
        }
    }
}

/// Returns a descriptor of the program that tells its end, where there is one.
fn end_of(leader: Pid) -> Option<OwnedFd> {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{PidfdFlags, pidfd_open};
        pidfd_open(leader, PidfdFlags::empty()).ok()
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = leader;
        None
    }
}

pub(super) struct Pipes {
    stdout: Option<ChildStdout>,
    stderr: Option<ChildStderr>,
    program: Option<OwnedFd>,
}

impl Pipes {
    pub(super) fn are_closed(&self) -> bool {
        self.stdout.is_none() && self.stderr.is_none()
    }

    pub(super) fn forget_program(&mut self) {
        self.program = None;
    }

    pub(super) fn read(&mut self, limit: Duration, said: &mut dyn FnMut(Pipe, &[u8])) {
        let (out, err) = self.wait(limit);
        if out {
            read_piece(&mut self.stdout, Pipe::Out, said);
        }
        if err {
            read_piece(&mut self.stderr, Pipe::Err, said);
        }
    }

    /// Waits and tells which of the pipes can be read without waiting.
    fn wait(&self, limit: Duration) -> (bool, bool) {
        let out = self.stdout.as_ref().map(AsFd::as_fd);
        let err = self.stderr.as_ref().map(AsFd::as_fd);
        let program = self.program.as_ref().map(AsFd::as_fd);
        let watched = [out, err, program].into_iter().flatten();
        let mut watched: Vec<_> = watched
            .map(|pipe| PollFd::from_borrowed_fd(pipe, PollFlags::IN))
            .collect();
        let Ok(timespec) = Timespec::try_from(limit) else {
            return (false, false);
        };
        match poll(&mut watched, Some(&timespec)) {
            Ok(_) => {}
            // Whoever listens comes again.
            Err(rustix::io::Errno::INTR) => return (false, false),
            Err(_) => {
                thread::sleep(limit);
                return (out.is_some(), err.is_some());
            }
        }
        let mut heard = watched.iter().map(|pipe| !pipe.revents().is_empty());
        let out = out.is_some() && heard.next().unwrap_or_default();
        let err = err.is_some() && heard.next().unwrap_or_default();
        (out, err)
    }
}

/// Reads what a pipe holds; one that is closed or broken is let go.
fn read_piece(pipe: &mut Option<impl Read>, which: Pipe, said: &mut dyn FnMut(Pipe, &[u8])) {
    let Some(open) = pipe else { return };
    let mut buffer = [0; PIECE_BYTES];
    match open.read(&mut buffer) {
        Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
        Ok(read) if read > 0 => said(which, &buffer[..read]),
        Ok(_) | Err(_) => {
            *pipe = None;
            said(which, &[]);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if !self.finished {
            let _ = self.finish();
        }
    }
}

fn leaders() -> MutexGuard<'static, Option<HashSet<i32>>> {
    LEADERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Kills every adopted child that `is_meant` chooses and reaps the dead ones.
/// Returns how many were still alive.
fn kill_children(is_meant: impl Fn(&Entry) -> bool) -> usize {
    let own = i32::try_from(std::process::id()).unwrap_or_default();
    if process_tree::adopted(own).is_empty() {
        return 0;
    }
    let _nobody_starts = STARTING.write().unwrap_or_else(PoisonError::into_inner);
    let leaders = leaders();
    let mut alive = 0;
    for entry in process_tree::adopted(own) {
        let known = leaders.as_ref().is_some_and(|set| set.contains(&entry.pid));
        let Some(pid) = Pid::from_raw(entry.pid).filter(|_| !known) else {
            continue;
        };
        if entry.is_dead {
            let _ = waitpid(Some(pid), WaitOptions::NOHANG);
        } else if is_meant(&entry) {
            let _ = kill_process(pid, Signal::KILL);
            alive += 1;
        }
    }
    alive
}

pub(super) fn ended(status: ExitStatus) -> Ended {
    code_or(status, status.signal())
}

pub(super) fn adopt_orphans() -> io::Result<bool> {
    #[cfg(target_os = "linux")]
    {
        if !process_tree::is_ours() {
            return Err(io::Error::other("/proc shows another PID namespace"));
        }
        rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
        ADOPTS.store(true, Ordering::SeqCst);
        Ok(true)
    }
    #[cfg(not(target_os = "linux"))]
    Ok(false)
}

pub(super) fn spawn_apart(command: &mut Command) -> io::Result<Child> {
    command.process_group(0).spawn()
}

pub(super) fn ask_to_end(child: &mut Child) {
    let _ = kill_process(Pid::from_child(child), Signal::TERM);
}

pub(super) fn parent_id() -> Option<u32> {
    let parent = rustix::process::getppid()?;
    u32::try_from(parent.as_raw_nonzero().get()).ok()
}
