//! Windows: the program itself is ended. What it started lives on, because the
//! job object that would catch it cannot be had without unsafe code.

use std::io::{self, Read};
use std::process::{Child, ChildStderr, ChildStdout, Command, ExitStatus};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use super::process::{Ended, PIECE_BYTES, Pipe, code_or};

#[derive(Debug)]
pub(super) struct Group {
    child: Child,
}

impl Group {
    pub(super) fn spawn(command: &mut Command, _mark: &str) -> io::Result<Self> {
        command.spawn().map(|child| Self { child })
    }

    pub(super) fn child(&mut self) -> &mut Child {
        &mut self.child
    }

    pub(super) fn has_ended(&mut self) -> io::Result<bool> {
        Ok(self.child.try_wait()?.is_some())
    }

    pub(super) fn pipes(&self, stdout: ChildStdout, stderr: ChildStderr) -> Pipes {
        let (sender, heard) = sync_channel(1);
        listen(stdout, Pipe::Out, sender.clone());
        listen(stderr, Pipe::Err, sender);
        Pipes { heard, open: 2 }
    }

    pub(super) fn terminate(&mut self) {
        // There is no polite request that a program without a window hears.
        let _ = self.child.kill();
    }

    pub(super) fn finish(&mut self) -> io::Result<ExitStatus> {
        if !self.has_ended()? {
            let _ = self.child.kill();
        }
        self.child.wait()
    }
}

/// What two threads hear: a pipe cannot be asked whether it holds something.
pub(super) struct Pipes {
    heard: Receiver<(Pipe, Vec<u8>)>,
    open: usize,
}

impl Pipes {
    pub(super) fn are_closed(&self) -> bool {
        self.open == 0
    }

    pub(super) fn forget_program(&mut self) {}

    pub(super) fn read(&mut self, limit: Duration, said: &mut dyn FnMut(Pipe, &[u8])) {
        match self.heard.recv_timeout(limit) {
            Ok((which, piece)) => {
                self.open -= usize::from(piece.is_empty());
                said(which, &piece);
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                self.open = 0;
                thread::sleep(limit);
            }
        }
    }
}

/// Reads a pipe to its end on a thread of its own; an empty piece tells the end. A
/// thread that cannot be started drops the sender, which closes the pipe.
fn listen(mut pipe: impl Read + Send + 'static, which: Pipe, sender: SyncSender<(Pipe, Vec<u8>)>) {
    let work = move || {
        let mut buffer = [0; PIECE_BYTES];
        loop {
            let read = match pipe.read(&mut buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                other => other.unwrap_or(0),
            };
            if sender.send((which, buffer[..read].to_vec())).is_err() || read == 0 {
                return;
            }
        }
    };
    let _ = thread::Builder::new()
        .name("adapter-listener".to_owned())
        .spawn(work);
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = self.finish();
    }
}

pub(super) fn ended(status: ExitStatus) -> Ended {
    code_or(status, None)
}

pub(super) fn adopt_orphans() -> io::Result<bool> {
    Ok(false)
}

pub(super) fn guard_worker(_variable: &str, _also: &[(&str, &str)]) -> io::Result<Option<Ended>> {
    Ok(None)
}

pub(super) fn spawn_apart(command: &mut Command) -> io::Result<Child> {
    command.spawn()
}

pub(super) fn ask_to_end(child: &mut Child) {
    let _ = child.kill();
}

pub(super) fn parent_id() -> Option<u32> {
    None
}
