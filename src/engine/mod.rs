//! Runs jobs; knows the `Store` and `Adapter` traits, never a backend.
//!
//! - [`event`]: everything that happens, as plain data;
//! - `queue`: the jobs still to take, in order, some not before a moment;
//! - `job`: one job from claim to ending;
//! - `heartbeat`: the one thread that shows that all running jobs are alive.
//!
//! A bounded pool of threads takes jobs from the queue until it is empty or
//! somebody asks to stop. Nothing in here prints or touches the tables.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::adapter::Adapter;
use crate::cancel::{Cancel, Stage};
use crate::domain::id::AlgoKey;
use crate::domain::job::Entry;
use crate::domain::lease::Rhythm;
use crate::domain::patch::{Price, WorkerFacts};
use crate::domain::time::Clock;
use crate::store::{JobRecord, Store, StoreError};
use crate::workspace::paths::Workspace;

pub mod event;
mod heartbeat;
mod job;
mod output;
mod queue;

use event::{Event, EventKind, Sink, Summary};
use heartbeat::Heartbeat;
use queue::Queue;

/// A job that is to be run, and why.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedJob {
    /// The job.
    pub job: JobRecord,
    /// What was seen.
    pub entry: Entry,
}

/// What carries one algorithm out.
pub struct Carrier {
    /// The code.
    pub adapter: Box<dyn Adapter>,
    /// What a generation costs, unless the adapter says otherwise.
    pub price: Price,
    /// The longest a job may take.
    pub timeout: Option<Duration>,
}

/// Finds the carrier of a job's algorithm, or says why there is none.
pub type Carriers = HashMap<AlgoKey, Result<Carrier, String>>;

/// How jobs are to be run.
pub struct Conditions {
    /// The folder everything is in.
    pub workspace: Workspace,
    /// Who runs the jobs.
    pub worker: WorkerFacts,
    /// How many jobs run at once.
    pub max_parallel: usize,
    /// Whether this is a rehearsal.
    pub dry_run: bool,
    /// Whether the first failure stops everything.
    pub fail_fast: bool,
    /// At most this many jobs start.
    pub limit: Option<usize>,
    /// The algorithm that carries out every job, whatever the manifest says.
    pub forced: Option<AlgoKey>,
    /// How often running jobs beat.
    pub rhythm: Rhythm,
}

/// Everything the threads of a pool share.
struct Pool<'a> {
    store: &'a dyn Store,
    carriers: &'a Carriers,
    conditions: &'a Conditions,
    clock: &'a dyn Clock,
    cancel: &'a Cancel,
    sink: &'a dyn Sink,
    queue: Queue,
    heartbeat: Heartbeat,
    started: AtomicUsize,
    /// Raised when nothing new may start for a reason of our own.
    halt: Mutex<Option<Halt>>,
    tally: Mutex<Tally>,
}

/// Why the pool stops taking jobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Halt {
    FailFast,
    Store,
    Limit,
}

#[derive(Debug, Default)]
struct Tally {
    summary: Summary,
    total_duration: Duration,
}

/// Runs `jobs` in their order and returns the counts. The caller has recovered
/// the store; afterwards the store is closed, whatever happened.
pub fn run(
    store: &dyn Store,
    jobs: Vec<PlannedJob>,
    carriers: &Carriers,
    conditions: &Conditions,
    clock: &Arc<dyn Clock>,
    cancel: &Cancel,
    sink: &dyn Sink,
) -> Summary {
    let start = Instant::now();
    let pool = Pool {
        store,
        carriers,
        conditions,
        clock: clock.as_ref(),
        cancel,
        sink,
        queue: Queue::new(jobs),
        heartbeat: Heartbeat::default(),
        started: AtomicUsize::new(0),
        halt: Mutex::new(None),
        tally: Mutex::default(),
    };
    std::thread::scope(|scope| {
        scope.spawn(|| pool.heartbeat.run(&pool));
        pool.run_threads();
        pool.heartbeat.end();
    });
    pool.close(start)
}

impl Pool<'_> {
    fn run_threads(&self) {
        let threads = rayon::ThreadPoolBuilder::new()
            .num_threads(self.conditions.max_parallel)
            .thread_name(|number| format!("job-{number}"))
            .build();
        match threads {
            Ok(threads) => {
                threads.broadcast(|_| self.take_jobs());
            }
            Err(error) => {
                self.report(EventKind::Warning {
                    message: format!(
                        "cannot start {} threads ({error}); going on with one",
                        self.conditions.max_parallel
                    ),
                });
                self.take_jobs();
            }
        }
    }

    /// What every thread does: take the next job, until there is none.
    fn take_jobs(&self) {
        while self.may_start() {
            match self.queue.next() {
                queue::Next::Job(planned) => self.run_job(*planned),
                queue::Next::Wait(time) => {
                    self.cancel.wait_for(Stage::Drain, time);
                }
                queue::Next::Empty => return,
            }
        }
    }

    fn may_start(&self) -> bool {
        if let Some(limit) = self.conditions.limit
            && self.started.load(Ordering::SeqCst) >= limit
            && !self.queue.is_empty()
        {
            self.halt(Halt::Limit);
        }
        self.cancel.stage() == Stage::Go && self.halted().is_none()
    }

    fn halt(&self, why: Halt) {
        let mut halt = self.halt.lock().unwrap_or_else(PoisonError::into_inner);
        // Trouble with the store outranks every other reason.
        if halt.is_none() || why == Halt::Store {
            *halt = Some(why);
        }
    }

    fn halted(&self) -> Option<Halt> {
        *self.halt.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn report(&self, kind: EventKind) {
        self.sink.report(&Event {
            at: self.clock.now(),
            run_id: self.store.run_id().clone(),
            kind,
        });
    }

    fn count(&self, change: impl FnOnce(&mut Tally)) {
        change(&mut self.tally.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Notes trouble with the store: nothing new starts, what is recorded stays.
    fn store_failed(&self, what: &str, error: &StoreError) {
        self.halt(Halt::Store);
        let mut message = format!("{what}: {error}");
        let mut source = std::error::Error::source(error);
        while let Some(cause) = source {
            message = format!("{message}: {cause}");
            source = cause.source();
        }
        self.report(EventKind::Warning { message });
    }

    fn close(&self, start: Instant) -> Summary {
        if self.cancel.stage() == Stage::Kill {
            self.store.hurry();
        }
        if let Err(error) = self.store.close(self.clock.now()) {
            let what = "not everything is in the registry yet; finished results are safe in the run's \
                        state folder and the next `archi3d run worker` brings them in";
            self.store_failed(what, &error);
        }
        let tally = std::mem::take(&mut *self.tally.lock().unwrap_or_else(PoisonError::into_inner));
        let mut summary = tally.summary;
        summary.not_started = self.queue.remaining();
        if summary.processed > 0 {
            let mean = tally.total_duration.as_secs_f64() / summary.processed as f64;
            summary.avg_duration_s = (mean * 1e6).round() / 1e6;
        }
        summary.elapsed_s = (start.elapsed().as_secs_f64() * 1e6).round() / 1e6;
        summary.max_parallel = self.conditions.max_parallel;
        summary.dry_run = self.conditions.dry_run;
        summary.stopped_by = self.stopped_by();
        summary
    }

    fn stopped_by(&self) -> Option<String> {
        let interrupted = self.cancel.stage() != Stage::Go;
        let word = match self.halted() {
            Some(Halt::Store) => "store",
            _ if interrupted => "interrupted",
            Some(Halt::FailFast) => "fail_fast",
            Some(Halt::Limit) => "limit",
            None => return None,
        };
        Some(word.to_owned())
    }
}
