//! Writes what happens in a run into a log of the workspace, one JSON object a line.
//!
//! Progress reports stay out of it. That a job starts or has ended well is written
//! within milliseconds, many lines at a time; everything else at once, with what
//! waits. Trouble with the log is told once, through the sink given, and never
//! harms a job.

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::domain::id::{JobId, RunId, WorkerId};
use crate::domain::time::Timestamp;
use crate::engine::event::{Event, EventKind, Sink};
use crate::trace;
use crate::workspace::log::{self, LogFile};

/// How long a line waits for others.
const GATHER: Duration = Duration::from_millis(10);

/// A sink that keeps every event but progress in a log file.
pub struct RunLog {
    writer: Arc<Writer>,
    flusher: Option<JoinHandle<()>>,
}

struct Writer {
    log: Result<LogFile, String>,
    /// Stands in every line: several workers write into one log.
    worker: WorkerId,
    /// Which attempt of a job is at work: what becomes of it is told with that.
    attempts: Mutex<HashMap<JobId, u32>>,
    waiting: Mutex<Waiting>,
    /// Tells of the first line that waits, and of the end.
    news: Condvar,
    /// Held while lines are written, so that they keep their order.
    writing: Mutex<()>,
    reporter: Arc<dyn Sink>,
    told: AtomicBool,
    told_of_lock: AtomicBool,
}

#[derive(Default)]
struct Waiting {
    lines: String,
    /// When and in which run the last of them came.
    last: Option<(Timestamp, RunId)>,
    closed: bool,
}

impl RunLog {
    /// Opens the log at `path` for what `worker` does; if that fails, `reporter` hears of
    /// it with the first event.
    pub fn open(path: &Path, worker: &WorkerId, reporter: Arc<dyn Sink>) -> Self {
        let log =
            LogFile::open(path).map_err(|error| format!("cannot open {}: {error}", path.display()));
        let writer = Arc::new(Writer {
            log,
            worker: worker.clone(),
            attempts: Mutex::default(),
            waiting: Mutex::default(),
            news: Condvar::new(),
            writing: Mutex::new(()),
            reporter,
            told: AtomicBool::new(false),
            told_of_lock: AtomicBool::new(false),
        });
        // Without the thread every line is written at once.
        let flusher = thread::Builder::new().name("log".into()).spawn({
            let writer = writer.clone();
            move || writer.flush_until_closed()
        });
        Self {
            writer,
            flusher: flusher.ok(),
        }
    }
}

impl RunLog {
    /// Says that the lines of another program were moved, if that was done just now.
    pub fn moved(&self) -> Option<String> {
        let name = self.writer.moved()?.file_name()?.to_string_lossy();
        Some(format!(
            "logs/worker.log held lines of another program in another format; they are in logs/{name} now"
        ))
    }
}

impl Sink for RunLog {
    fn report(&self, event: &Event) {
        let can_wait = match event.kind {
            EventKind::JobProgress { .. } => return,
            EventKind::JobStarted { .. } | EventKind::JobCompleted { .. } => true,
            _ => false,
        };
        self.writer.add(event);
        if !can_wait || self.flusher.is_none() {
            self.writer.flush();
        }
    }
}

impl Drop for RunLog {
    fn drop(&mut self) {
        self.writer.waiting().closed = true;
        self.writer.news.notify_one();
        if let Some(flusher) = self.flusher.take() {
            let _ = flusher.join();
        }
        self.writer.flush();
    }
}

impl Writer {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, event: &Event) {
        let mut object = event.to_json();
        object.insert("worker_id".into(), self.worker.as_str().into());
        if let Some((job, attempt)) = self.attempt_of(&event.kind) {
            object.insert("job_id".into(), job.as_str().into());
            object.insert("attempt".into(), attempt.into());
        }
        if let Some(place) = trace::here() {
            object.insert("trace_id".into(), place.trace_id().into());
        }
        let line = match log::line_of(&object) {
            Ok(line) => line,
            Err(error) => {
                let last = (event.at, event.run_id.clone());
                return self.incomplete(last, &error.to_string());
            }
        };
        let mut waiting = self.waiting();
        let first = waiting.lines.is_empty();
        waiting.lines.push_str(&line);
        waiting.last = Some((event.at, event.run_id.clone()));
        drop(waiting);
        if first {
            self.news.notify_one();
        }
    }

    /// Returns which attempt of which job an event is about, if it is about one.
    fn attempt_of(&self, kind: &EventKind) -> Option<(JobId, u32)> {
        let mut attempts = self.attempts.lock().unwrap_or_else(PoisonError::into_inner);
        match kind {
            EventKind::JobStarted {
                job_id, attempt, ..
            }
            | EventKind::JobReused {
                job_id, attempt, ..
            } => {
                attempts.insert(job_id.clone(), *attempt);
                Some((job_id.clone(), *attempt))
            }
            EventKind::JobCompleted { job_id, .. }
            | EventKind::JobFailed { job_id, .. }
            | EventKind::JobPutOff { job_id, .. }
            | EventKind::JobReleased { job_id, .. }
            | EventKind::JobCancelled { job_id }
            | EventKind::JobFenced { job_id, .. } => attempts.remove_entry(job_id),
            _ => None,
        }
    }

    /// Returns where lines of another program were put, if that was done just now.
    fn moved(&self) -> Option<&Path> {
        self.log.as_ref().ok()?.moved()
    }

    fn flush_until_closed(&self) {
        loop {
            let idle = |waiting: &mut Waiting| waiting.lines.is_empty() && !waiting.closed;
            let waiting = self.news.wait_while(self.waiting(), idle);
            let waiting = waiting.unwrap_or_else(PoisonError::into_inner);
            let open = |waiting: &mut Waiting| !waiting.closed;
            let waiting = self.news.wait_timeout_while(waiting, GATHER, open);
            let closed = waiting.unwrap_or_else(PoisonError::into_inner).0.closed;
            self.flush();
            if closed {
                return;
            }
        }
    }

    /// Writes every line that waits.
    fn flush(&self) {
        let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut waiting = self.waiting();
        let lines = std::mem::take(&mut waiting.lines);
        let Some(last) = waiting.last.take() else {
            return;
        };
        drop(waiting);
        let trouble = match &self.log {
            Ok(log) => log.append_lines(lines),
            Err(reason) => Some(reason.clone()),
        };
        if let Some(trouble) = trouble {
            self.incomplete(last, &trouble);
        } else if let Some(lock) = self.log.as_ref().ok().and_then(LogFile::busy_lock) {
            let message = format!(
                "another program holds {}; the log is written without waiting for it",
                lock.display()
            );
            self.tell_once(&self.told_of_lock, last, message);
        }
    }

    fn incomplete(&self, last: (Timestamp, RunId), trouble: &str) {
        let message = format!("the log is incomplete; jobs continue: {trouble}");
        self.tell_once(&self.told, last, message);
    }

    fn tell_once(&self, told: &AtomicBool, last: (Timestamp, RunId), message: String) {
        if told.swap(true, Ordering::SeqCst) {
            return;
        }
        let (at, run_id) = last;
        self.reporter.report(&Event {
            at,
            run_id,
            kind: EventKind::Warning { message },
        });
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::Mutex;

    use super::*;
    use crate::domain::id::JobId;

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

    fn worker() -> WorkerId {
        WorkerId::compose("host", 7, "abcd")
    }

    #[test]
    fn progress_stays_out_of_the_log_and_everything_else_is_one_line() {
        let folder = tempfile::tempdir().expect("temp folder");
        let path = folder.path().join("logs").join("worker.log");
        let job_id = JobId::parse("j").expect("valid");
        let log = RunLog::open(&path, &worker(), Arc::new(Heard::default()));
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
             \"run_id\":\"r\",\"job_id\":\"j\",\"worker_id\":\"host-7-abcd\"}\n"
        );
    }

    #[test]
    fn lines_that_may_wait_keep_their_order_and_are_all_there_in_the_end() {
        let folder = tempfile::tempdir().expect("temp folder");
        let path = folder.path().join("worker.log");
        let job = |number: u32| JobId::parse(&format!("j{number}")).expect("valid");
        let log = RunLog::open(&path, &worker(), Arc::new(Heard::default()));
        for number in 0..3 {
            log.report(&event(EventKind::JobStarted {
                job_id: job(number),
                attempt: 1,
                algo: "mock".into(),
                entry: crate::domain::job::Entry::Fresh,
            }));
        }
        log.report(&event(EventKind::JobBusy { job_id: job(3) }));
        let names = |text: &str| -> Vec<String> {
            let lines = text.lines().map(|line| {
                let line: serde_json::Value = serde_json::from_str(line).expect("whole");
                line["job_id"].as_str().expect("a text").to_owned()
            });
            lines.collect()
        };
        let text = fs::read_to_string(&path).expect("written at once");
        assert_eq!(names(&text), ["j0", "j1", "j2", "j3"]);
        log.report(&event(EventKind::JobStarted {
            job_id: job(4),
            attempt: 1,
            algo: "mock".into(),
            entry: crate::domain::job::Entry::Fresh,
        }));
        drop(log);
        let text = fs::read_to_string(&path).expect("written");
        assert_eq!(names(&text)[4..], ["j4"]);
    }

    #[test]
    fn a_log_that_cannot_be_opened_is_told_once() {
        let folder = tempfile::tempdir().expect("temp folder");
        let heard = Arc::new(Heard::default());
        let log = RunLog::open(folder.path(), &worker(), heard.clone());
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
