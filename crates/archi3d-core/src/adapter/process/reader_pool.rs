//! Threads that listen to programs, used again when a program has ended.
//!
//! To start and end two threads for every program costs as much as to write all
//! its records. A thread that a runaway keeps busy is simply never used again.

use std::io;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::thread;

type Work = Box<dyn FnOnce() + Send>;

/// The threads that have nothing to do.
static IDLE: Mutex<Vec<Sender<Work>>> = Mutex::new(Vec::new());

/// These threads keep little on their stack, and there may be many.
const STACK_BYTES: usize = 256 << 10;

/// Lets an idle thread do `work`, or a new one if all are busy.
pub(super) fn start(work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    let mut work: Work = Box::new(work);
    while let Some(idle) = take_idle() {
        match idle.send(work) {
            Ok(()) => return Ok(()),
            // It ended by a panic of what it did before.
            Err(back) => work = back.0,
        }
    }
    let (sender, receiver) = channel::<Work>();
    thread::Builder::new()
        .name("adapter-listener".to_owned())
        .stack_size(STACK_BYTES)
        .spawn(move || {
            work();
            idle().push(sender.clone());
            for work in receiver {
                work();
                idle().push(sender.clone());
            }
        })
        .map(drop)
}

fn take_idle() -> Option<Sender<Work>> {
    idle().pop()
}

fn idle() -> std::sync::MutexGuard<'static, Vec<Sender<Work>>> {
    IDLE.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn work_is_done_by_a_thread_that_is_free_and_never_waits_for_one_that_is_not() {
        let (release, wait) = mpsc::channel::<()>();
        let (done, heard) = mpsc::channel();
        let first = done.clone();
        start(move || {
            let _ = wait.recv();
            let _ = first.send(1);
        })
        .expect("started");
        start(move || {
            let _ = done.send(2);
        })
        .expect("started");
        assert_eq!(heard.recv(), Ok(2));
        release.send(()).expect("waits");
        assert_eq!(heard.recv(), Ok(1));
    }
}
