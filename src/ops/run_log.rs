//! Writes what happens in a run into a log of the workspace, one JSON object a line.
//!
//! Progress reports stay out of it. Trouble with the log is told once, through
//! the sink given, and never harms a job.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::engine::event::{Event, EventKind, Sink};
use crate::workspace::log::LogFile;

/// A sink that keeps every event but progress in a log file.
pub struct RunLog {
    log: Result<LogFile, String>,
    teller: Arc<dyn Sink>,
    told: AtomicBool,
    told_of_lock: AtomicBool,
}

impl RunLog {
    /// Opens the log at `path`; if that fails, `teller` hears of it with the first event.
    pub fn open(path: &Path, teller: Arc<dyn Sink>) -> Self {
        let log =
            LogFile::open(path).map_err(|error| format!("cannot open {}: {error}", path.display()));
        Self {
            log,
            teller,
            told: AtomicBool::new(false),
            told_of_lock: AtomicBool::new(false),
        }
    }

    fn tell_once(&self, told: &AtomicBool, event: &Event, message: String) {
        if told.swap(true, Ordering::SeqCst) {
            return;
        }
        self.teller.report(&Event {
            at: event.at,
            run_id: event.run_id.clone(),
            kind: EventKind::Warning { message },
        });
    }
}

impl Sink for RunLog {
    fn report(&self, event: &Event) {
        if matches!(event.kind, EventKind::JobProgress { .. }) {
            return;
        }
        let trouble = match &self.log {
            Ok(log) => log.append_json(&event.to_json()),
            Err(reason) => Some(reason.clone()),
        };
        if let Some(trouble) = trouble {
            let message = format!("the log is incomplete, the jobs go on: {trouble}");
            self.tell_once(&self.told, event, message);
        } else if let Some(lock) = self.log.as_ref().ok().and_then(LogFile::busy_lock) {
            let message = format!(
                "another program holds {}; the log is written without waiting for it",
                lock.display()
            );
            self.tell_once(&self.told_of_lock, event, message);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::Mutex;

    use super::*;
    use crate::domain::id::{JobId, RunId};
    use crate::domain::time::Timestamp;

    #[derive(Default)]
    struct Heard(Mutex<Vec<Event>>);

    impl Sink for Heard {
        fn report(&self, event: &Event) {
            self.0.lock().expect("not poisoned").push(event.clone());
        }
    }

    fn event(kind: EventKind) -> Event {
        Event {
            at: Timestamp::parse("2026-01-01T00:00:00Z").expect("valid"),
            run_id: RunId::parse("r").expect("valid"),
            kind,
        }
    }

    #[test]
    fn progress_stays_out_of_the_log_and_everything_else_is_one_line() {
        let folder = tempfile::tempdir().expect("temp folder");
        let path = folder.path().join("logs").join("worker.log");
        let job_id = JobId::parse("j").expect("valid");
        let log = RunLog::open(&path, Arc::new(Heard::default()));
        log.report(&event(EventKind::JobProgress {
            job_id: job_id.clone(),
            fraction: 0.5,
            message: None,
        }));
        log.report(&event(EventKind::JobBusy { job_id }));
        let text = fs::read_to_string(&path).expect("written");
        assert_eq!(
            text,
            "{\"event\":\"job_busy\",\"timestamp\":\"2026-01-01T00:00:00+00:00\",\
             \"run_id\":\"r\",\"job_id\":\"j\"}\n"
        );
    }

    #[test]
    fn a_log_that_cannot_be_opened_is_told_once() {
        let folder = tempfile::tempdir().expect("temp folder");
        let heard = Arc::new(Heard::default());
        let log = RunLog::open(folder.path(), heard.clone());
        for _ in 0..3 {
            log.report(&event(EventKind::Notice {
                message: "x".into(),
            }));
        }
        let heard = heard.0.lock().expect("not poisoned");
        assert_eq!(heard.len(), 1);
        assert!(matches!(&heard[0].kind, EventKind::Warning { .. }));
    }
}
