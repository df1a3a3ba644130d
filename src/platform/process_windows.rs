//! Windows: the program itself is ended. What it started lives on, because the
//! job object that would catch it cannot be had without unsafe code.

use std::io;
use std::process::{Child, Command, ExitStatus};
use std::time::Duration;

use super::process::{Ended, code_or};

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

    pub(super) fn wait_at_most(&mut self, time: Duration) {
        std::thread::sleep(time);
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

pub(super) fn guard_worker(
    _variable: &str,
    _also: Option<(&str, &str)>,
) -> io::Result<Option<Ended>> {
    Ok(None)
}

pub(super) fn parent_id() -> Option<u32> {
    None
}
