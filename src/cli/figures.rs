//! `run worker --metrics-file`: figures for Prometheus, written while a worker runs.

use std::path::PathBuf;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use archi3d_core::ops::OpsContext;
use archi3d_core::ops::measures::{Seen, write_file};

/// How often they are written.
const EVERY: Duration = Duration::from_secs(15);

/// Writes figures until it is dropped, and once more then. A file that cannot be written keeps no
/// job from running.
pub struct Figures {
    end: Option<Sender<()>>,
    writer: Option<JoinHandle<()>>,
}

impl Figures {
    /// Begins to write.
    pub fn start(context: &OpsContext, path: PathBuf) -> Self {
        let (end, ended) = mpsc::channel::<()>();
        let context = context.clone();
        let writer = thread::spawn(move || {
            // Runs that are over are read once.
            let mut seen = Seen::default();
            loop {
                let _ = write_file(&context, &mut seen, &path);
                match ended.recv_timeout(EVERY) {
                    Err(RecvTimeoutError::Timeout) => {}
                    _ => break,
                }
            }
            let _ = write_file(&context, &mut seen, &path);
        });
        Self {
            end: Some(end),
            writer: Some(writer),
        }
    }
}

impl Drop for Figures {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(writer) = self.writer.take() {
            let _ = writer.join();
        }
    }
}
