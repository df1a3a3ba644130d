//! What the parts of one worker share: two connections, who it is, and what it holds.
//!
//! `work` carries claims and endings, `pulse` beats and news. Either is made again when it is
//! lost, and the same question is asked again: every question must bear that.

use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use uuid::Uuid;

use super::claim::Hold;
use super::connect::Connection;
use super::error::{PgError, PgResult};
use super::lines::Lines;
use super::listen::Pulse;
use super::spool::{self, Spool, SpoolEntry};
use super::telling;
use super::together::Together;
use super::view;
use crate::domain::budget::AttemptKey;
use crate::domain::id::{JobId, Nonce, RunId};
use crate::domain::lease::Lease;
use crate::store::error::IoContext as _;
use crate::store::{NoticeSink, StoreError, StoreNotice};

/// Whether an entry is on the disk; every thread that waited for it is told the same.
type Kept = Result<(), (io::ErrorKind, String)>;

/// The first pause before a lost connection is made again, and the longest.
const PAUSES: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(1));

/// So many jobs are known by number after they have ended.
const ENDED: usize = 1024;

/// One worker's way to the server.
pub struct Link {
    pub(super) run_no: i64,
    pub(super) run_id: RunId,
    pub(super) worker: String,
    pub(super) lease: Duration,
    lines: Lines,
    /// Jobs that have just ended: their money may still be on its way.
    ended: Mutex<VecDeque<(JobId, i64)>>,
    spool: Spool,
    /// The lock of our name on this machine, if this is the only run we serve.
    name: Mutex<Option<Spool>>,
    /// What several threads want kept goes to the disk in one piece.
    keeping: Together<(SpoolEntry, Vec<u8>), Kept>,
    notices: NoticeSink,
    hurry: AtomicBool,
    away: AtomicBool,
    /// Raised when something was heard: what is closed may be open, and the other way round.
    pub(super) gates: Arc<AtomicBool>,
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Link({} on run {})", self.worker, self.run_id)
    }
}

impl Link {
    /// Makes a worker's way to the server for one run, over lines that others may share.
    pub(super) fn new(
        lines: Lines,
        spool: Spool,
        (run_no, run_id): (i64, RunId),
        worker: String,
        lease: Duration,
        notices: NoticeSink,
    ) -> Self {
        let gates = Arc::new(AtomicBool::new(false));
        lines.tell(&gates);
        Self {
            run_no,
            run_id,
            worker,
            lease,
            lines,
            ended: Mutex::default(),
            spool,
            name: Mutex::default(),
            keeping: Together::default(),
            notices,
            hurry: AtomicBool::new(false),
            away: AtomicBool::new(false),
            gates,
        }
    }

    /// Asks the server; while it cannot be reached it is asked again, for as long as `patience`.
    pub(super) fn ask<T>(
        &self,
        patience: Duration,
        mut ask: impl FnMut(&mut Connection) -> PgResult<T>,
    ) -> PgResult<T> {
        let end = Instant::now() + patience;
        let mut pause = PAUSES.0;
        loop {
            let mut work = self.lines.work();
            let answer = Self::open(&mut work).and_then(|()| ask(&mut work));
            drop(work);
            match answer {
                Err(error) if error.is_retryable() && Instant::now() + pause < end => {
                    self.tell_away(&error);
                    if self.hurry.load(Ordering::SeqCst) {
                        return Err(error);
                    }
                    std::thread::sleep(pause);
                    pause = (pause * 2).min(PAUSES.1);
                }
                answer => {
                    self.tell(&answer);
                    return answer;
                }
            }
        }
    }

    /// Waits until nobody asks the server.
    pub(super) fn await_turn(&self) {
        drop(self.lines.work());
    }

    /// Asks over the connection that beats, and once more if that was lost.
    pub(super) fn beat<T>(
        &self,
        mut ask: impl FnMut(&mut Connection) -> PgResult<T>,
    ) -> PgResult<T> {
        let mut pulse = self.pulse();
        let mut answer = pulse.open().and_then(|()| ask(pulse.connection()));
        if matches!(answer, Err(PgError::Lost { .. })) {
            answer = pulse.reopen().and_then(|()| ask(pulse.connection()));
        }
        drop(pulse);
        self.tell(&answer);
        answer
    }

    pub(super) fn pulse(&self) -> MutexGuard<'_, Pulse> {
        self.lines.pulse()
    }

    /// Returns what waits to be sent.
    pub(super) fn spool(&self) -> &Spool {
        &self.spool
    }

    /// Keeps what could not be sent, durably.
    pub(super) fn keep(&self, entry: SpoolEntry) -> Result<(), StoreError> {
        let line = spool::line(&entry);
        let line = line.context("write the spool", self.spool.path())?;
        let add = |all: Vec<_>| {
            let count = all.len();
            let kept = self.spool.add_all(all);
            let kept = kept.map_err(|error| (error.kind(), error.to_string()));
            vec![kept; count]
        };
        let kept = self.keeping.join((entry, line), || (), add);
        let kept = kept.unwrap_or(Err((io::ErrorKind::Other, "no answer".to_owned())));
        let kept = kept.map_err(|(kind, text)| io::Error::new(kind, text));
        kept.context("write the spool", self.spool.path())
    }

    /// Sends what waits in a spool, over either connection; tells what became of each, and what stopped it.
    pub(super) fn send_some(
        &self,
        some: &[Arc<SpoolEntry>],
        patience: Option<Duration>,
    ) -> PgResult<Vec<spool::Replayed>> {
        let send = |connection: &mut Connection| match telling::send_some(connection, some) {
            (_, Some(error)) => Err(error),
            (answers, None) => Ok(answers),
        };
        match patience {
            Some(patience) => self.ask(patience, send),
            // What is kept on purpose is sent beside the claims.
            None => self.beat(send),
        }
    }

    /// Connects again if the connection is known to be gone.
    pub(super) fn open(work: &mut Connection) -> PgResult<()> {
        if work.is_closed() {
            work.reopen()?;
            work.note_serving()?;
        }
        Ok(())
    }

    fn tell<T>(&self, answer: &PgResult<T>) {
        match answer {
            Err(error) if error.is_retryable() => self.tell_away(error),
            Err(_) => {}
            Ok(_) => {
                if self.away.swap(false, Ordering::SeqCst) {
                    self.warn("the server is back".to_owned());
                }
            }
        }
    }

    fn tell_away(&self, error: &PgError) {
        if !self.away.swap(true, Ordering::SeqCst) {
            self.warn(format!(
                "{error}; nothing new starts, results are kept on this machine, and it is tried again"
            ));
        }
    }

    /// Returns who hears what is not as it should be.
    pub(super) fn notices(&self) -> NoticeSink {
        self.notices.clone()
    }

    pub(super) fn warn(&self, message: String) {
        (self.notices)(StoreNotice::Warning(message));
    }

    /// Keeps the lock of our name until we are gone.
    pub(super) fn keep_name(&self, name: Spool) {
        *self.name.lock().unwrap_or_else(PoisonError::into_inner) = Some(name);
    }

    /// Gives our name up: another may have it.
    pub(super) fn give_name_up(&self) {
        let name = self
            .name
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(name) = name {
            name.remove();
        }
    }

    /// From now on does not wait for a server that is away.
    pub(super) fn hurry(&self) {
        self.hurry.store(true, Ordering::SeqCst);
    }

    /// Tells whether an attempt is in our hands.
    pub(super) fn has(&self, hold: &Hold) -> bool {
        self.lines.held().has(hold)
    }

    /// Returns the jobs that this process has in its hands, of all runs.
    pub(super) fn held(&self) -> Vec<i64> {
        let held = self.lines.held();
        held.attempts().map(|hold| hold.job_no).collect()
    }

    /// Remembers an attempt as ours, and how the database numbers its job.
    pub(super) fn note_job(&self, job: &JobId, hold: Hold) {
        self.lines.held().add(self.run_no, job, hold);
    }

    /// Forgets an attempt that has ended.
    pub(super) fn forget_one(&self, job: &JobId, hold: Hold) {
        self.lines.held().remove(self.run_no, job, hold);
        let mut ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        ended.truncate(ENDED - 1);
        ended.push_front((job.clone(), hold.job_no));
    }

    /// The same for several.
    pub(super) fn forget(&self, holds: &[Hold]) {
        self.lines.held().forget(holds);
    }

    /// Returns how the database numbers a job of the run.
    pub(super) fn job_no(&self, patience: Duration, job: &JobId) -> PgResult<Option<i64>> {
        if let Some(job_no) = self.lines.held().job_no(self.run_no, job) {
            return Ok(Some(job_no));
        }
        let ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, job_no)) = ended.iter().find(|(known, _)| known == job) {
            return Ok(Some(*job_no));
        }
        drop(ended);
        let run_id = self.run_id.as_str();
        let found = self.ask(patience, |c| view::jobs_named(c, run_id, job.as_str(), 2))?;
        let found = found.into_iter().find(|view| view.job_id == job.as_str());
        Ok(found.map(|view| view.job_no))
    }

    /// Returns what every write of an attempt names; nothing for an attempt of another store.
    pub(super) fn hold_of(
        &self,
        attempt_key: &AttemptKey,
        patience: Duration,
    ) -> PgResult<Option<Hold>> {
        let (Ok(attempt_id), Some(job_no)) = (
            Uuid::parse_str(attempt_key.nonce.as_str()),
            self.job_no(patience, &attempt_key.job_id)?,
        ) else {
            return Ok(None);
        };
        Ok(Some(Hold {
            job_no,
            number: attempt_key.attempt,
            attempt_id,
        }))
    }

    /// Returns what every write of a lease names.
    pub(super) fn hold(&self, lease: &Lease) -> Result<Hold, StoreError> {
        let hold = self.hold_of(&AttemptKey::from(lease), self.lease / 2)?;
        hold.ok_or_else(|| StoreError::Closed {
            run_id: self.run_id.to_string(),
            reason: format!("job {} is not in the database", lease.job_id),
        })
    }
}

/// Returns an attempt's id as leases carry it.
pub(super) fn nonce(attempt_id: Uuid) -> Nonce {
    Nonce::new(attempt_id.simple().to_string())
}

impl From<PgError> for StoreError {
    fn from(error: PgError) -> Self {
        let (what, hint) = (error.to_string(), error.hint());
        if error.is_retryable() {
            return Self::Away { what, hint };
        }
        Self::Server {
            what,
            hint,
            setup: error.is_setup(),
        }
    }
}
