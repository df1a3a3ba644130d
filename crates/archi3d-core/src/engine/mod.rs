//! Runs jobs; knows the `Store` and `Adapter` traits, never a backend.
//!
//! - [`event`]: everything that happens, as plain data;
//! - `queue`: the jobs still to take, in order, some not before a moment;
//! - `job`: one job from claim to ending; `reuse`: a copy instead of a purchase;
//! - `heartbeat`: the one thread that shows that all running jobs are alive.
//!
//! A bounded pool of threads takes jobs from the queue until it is empty or
//! somebody asks to stop. Nothing in here prints or touches the tables.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::adapter::Adapter;
use crate::cancel::{Cancel, Stage};
use crate::domain::content::Recipe;
use crate::domain::id::{AlgoKey, JobId};
use crate::domain::job::Entry;
use crate::domain::lease::Rhythm;
use crate::domain::limits::Limits;
use crate::domain::patch::{Price, WorkerFacts};
use crate::domain::retry::{OnInterrupt, RetryPolicy};
use crate::domain::text::plural;
use crate::domain::time::Clock;
use crate::store::reuse::ReuseIndex;
use crate::store::{Artifacts, JobRecord, Providers, StoreError, WorkerStore};
use crate::workspace::paths::Workspace;
use crate::workspace::pictures::PictureMarks;

mod ahead;
mod attempt;
mod breaker;
mod budget;
mod checking;
pub mod event;
mod gate;
mod heartbeat;
mod job;
mod lanes;
mod lost;
mod output;
mod places;
mod queue;
mod redo;
mod reporter;
mod reuse;
mod served;
mod settle;
mod tally;
mod waits;

pub use breaker::{Canary, PAUSE as BREAKER_PAUSE};
pub use budget::Money;
use budget::Till;
use event::{Event, EventKind, Sink, Summary};
use heartbeat::Heartbeat;
use lanes::Lanes;
pub use output::unusable_picture;
pub use places::{Places, Rank, Share};
use queue::Queue;
use reuse::Twins;
use served::Served;
use tally::Tally;

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
    /// Whether it wants the first picture only.
    pub one_picture: bool,
    /// The longest a job may take.
    pub timeout: Option<Duration>,
    /// How often and how patiently its jobs are tried again.
    pub retry: RetryPolicy,
    /// Whose account it uses; nothing for what costs nothing.
    pub provider: Option<AlgoKey>,
    /// What becomes of a job that is interrupted before its provider answered.
    pub on_interrupt: OnInterrupt,
    /// What is done with pictures; nothing if results are not worth reusing.
    pub recipe: Option<Recipe>,
    /// What its provider bears, shared by all algorithms that use it.
    pub limits: Limits,
    /// After so many failures in a row the algorithm pauses; 0 means never.
    pub breaker_failures: u32,
    /// What keeps it from making anything; what was made earlier can still be reused.
    pub obstacle: Option<String>,
}

impl Carrier {
    /// Makes a carrier with everything but the code left at its usual value.
    pub fn new(adapter: Box<dyn Adapter>) -> Self {
        Self {
            adapter,
            price: Price::default(),
            one_picture: false,
            timeout: None,
            retry: RetryPolicy::default(),
            provider: None,
            on_interrupt: OnInterrupt::default(),
            recipe: None,
            limits: Limits::default(),
            breaker_failures: 0,
            obstacle: None,
        }
    }

    /// Returns what keeps it from making anything: what did when the worker began, whose
    /// plan and price did without it, or what has come up since.
    fn obstacle_now(&self, workspace: &Path) -> Option<String> {
        let came_up = || self.adapter.obstacles(workspace).into_iter().next();
        self.obstacle.clone().or_else(came_up)
    }

    /// Returns what a generation costs, if known; what cannot be made costs nothing.
    pub fn unit_usd(&self) -> Option<f64> {
        match self.obstacle {
            Some(_) => Some(0.0),
            None => self.price.unit_usd,
        }
    }
}

/// Finds the carrier of a job's algorithm, or says why there is none.
pub type Carriers = HashMap<AlgoKey, Result<Carrier, String>>;

/// How jobs are to be run.
pub struct Conditions {
    /// The folder everything is in.
    pub workspace: Workspace,
    /// Where pictures and results lie.
    pub artifacts: Arc<dyn Artifacts>,
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
    /// How long a worker stays that a store has nothing for.
    pub until_idle: Option<Duration>,
    /// The algorithm that carries out every job, whatever the manifest says.
    pub forced: Option<AlgoKey>,
    /// How often running jobs beat.
    pub rhythm: Rhythm,
    /// So many jobs that cost nothing are taken ahead of the threads that will run them.
    pub ahead: usize,
    /// Whether a person wants jobs made again that may have been bought.
    pub resubmit_unknown: bool,
    /// Whether purchases of earlier attempts are given up instead of asked about.
    pub forget_requests: bool,
    /// What workers share about providers and algorithms.
    pub providers: Arc<dyn Providers>,
    /// Where money is accounted and how much may be spent; nothing for rehearsals.
    pub money: Option<Money>,
    /// Where earlier results are found, if they are to be copied instead of bought.
    pub reuse: Option<Arc<dyn ReuseIndex>>,
    /// Whether some jobs of each algorithm go first on trial.
    pub canary: Option<Canary>,
    /// How the pictures looked when the jobs were made.
    pub pictures: PictureMarks,
    /// The places that it shares with the pools of other runs.
    pub share: Option<Arc<Share>>,
}

/// Everything the threads of a pool share.
struct Pool<'a> {
    store: &'a dyn WorkerStore,
    carriers: &'a Carriers,
    conditions: &'a Conditions,
    clock: &'a dyn Clock,
    cancel: &'a Cancel,
    sink: &'a dyn Sink,
    queue: Queue,
    /// What is known of jobs that the store hands out; nothing where they are listed.
    served: Option<Served>,
    lanes: Lanes,
    till: Till,
    twins: Twins,
    /// Purchases of this pool; only older ones are ever given up.
    bought: Mutex<HashMap<(JobId, String), Option<f64>>>,
    /// Jobs that this pool meant to buy; only older intents are ever given up.
    intended: Mutex<HashSet<JobId>>,
    /// Providers that refuse the account's key, and what they say.
    denied: Mutex<HashMap<String, String>>,
    /// What people were told once.
    told: Mutex<HashSet<String>>,
    heartbeat: Heartbeat,
    starts: Mutex<Starts>,
    /// Raised when nothing new may start for a reason of our own.
    halt: Mutex<Option<Halt>>,
    tally: Mutex<Tally>,
}

/// How many jobs started, and how many claims have no answer yet.
#[derive(Debug, Default)]
struct Starts {
    started: usize,
    claiming: usize,
}

/// What a thread that is free may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Turn {
    /// Claim one job, and report how that went.
    Claim,
    /// The same, but only with a job that was started before: the limit is reached.
    ClaimTried,
    /// Ask again: a claim of another thread may use the limit up or not.
    AskAgain,
    /// Take nothing more.
    End,
}

/// How long a thread waits for other threads' claims; they take no longer.
const CLAIM_PAUSE: Duration = Duration::from_millis(1);

/// How long a thread with nothing to do waits for jobs that may come back.
const EMPTY_PAUSE: Duration = Duration::from_millis(20);

/// So many different things are warned of that are the same for many jobs.
const MOST_TOLD: usize = 50;

/// Why the pool stops taking jobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Halt {
    FailFast,
    Store,
    Limit,
}

/// Where the jobs of a pool come from.
pub enum Source {
    /// They are listed, in the order in which they are to run.
    Listed(Vec<PlannedJob>),
    /// The store hands those of these algorithms out.
    Served(Vec<AlgoKey>),
}

/// Runs the jobs of `source` and returns the counts. The caller has recovered
/// the store; afterwards the store is closed, whatever happened.
pub fn run(
    store: &dyn WorkerStore,
    source: Source,
    carriers: &Carriers,
    conditions: &Conditions,
    clock: &Arc<dyn Clock>,
    cancel: &Cancel,
    sink: &dyn Sink,
) -> Summary {
    let start = Instant::now();
    let (lanes, jobs, served) = match source {
        Source::Listed(jobs) => {
            let (lanes, jobs) = Lanes::new(jobs, carriers, conditions);
            (lanes, jobs, None)
        }
        Source::Served(algos) => {
            let lanes = Lanes::of_algos(&algos, carriers);
            (lanes, Vec::new(), Some(Served::default()))
        }
    };
    let pool = Pool {
        store,
        carriers,
        conditions,
        clock: clock.as_ref(),
        cancel,
        sink,
        queue: Queue::new(jobs),
        served,
        lanes,
        till: Till::of(conditions.money.as_ref()),
        twins: Twins::default(),
        bought: Mutex::default(),
        intended: Mutex::default(),
        denied: Mutex::default(),
        told: Mutex::default(),
        heartbeat: Heartbeat::default(),
        starts: Mutex::default(),
        halt: Mutex::new(None),
        tally: Mutex::default(),
    };
    pool.settle_what_others_left(None);
    std::thread::scope(|scope| {
        scope.spawn(|| pool.heartbeat.run(&pool));
        if conditions.ahead > 0 {
            scope.spawn(|| pool.send_kept());
        }
        // Also when a thread of ours panics: the scope waits for the heartbeat.
        let _end = EndOnDrop(&pool.heartbeat);
        pool.run_threads();
    });
    pool.close(start)
}

/// Ends the heartbeat when it goes out of scope.
struct EndOnDrop<'a>(&'a Heartbeat);

impl Drop for EndOnDrop<'_> {
    fn drop(&mut self) {
        self.0.end();
    }
}

impl Pool<'_> {
    fn run_threads(&self) {
        let most = self.conditions.max_parallel;
        let wanted = match &self.served {
            Some(_) => most,
            None => most.min(self.queue.remaining()),
        };
        if wanted == 0 {
            return;
        }
        let threads = rayon::ThreadPoolBuilder::new()
            .num_threads(wanted)
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
        if let Some(served) = &self.served {
            self.take_served(served);
            return;
        }
        loop {
            let turn = self.turn();
            match turn {
                Turn::End => return,
                Turn::AskAgain => {
                    self.cancel.wait_for(Stage::Drain, CLAIM_PAUSE);
                    continue;
                }
                Turn::Claim | Turn::ClaimTried => {}
            }
            match self.queue.next(turn == Turn::ClaimTried, &self.holds()) {
                queue::Next::Job(waiting) => {
                    let canary_of = waiting.canary.then_some(waiting.lane);
                    self.run_job(*waiting);
                    if let Some(lane) = canary_of {
                        self.queue.canary_done(lane);
                    }
                }
                queue::Next::Wait(time) => {
                    self.claim_answered(false);
                    self.tell_of_waits();
                    self.cancel.wait_for(Stage::Drain, time);
                }
                queue::Next::Empty => {
                    self.claim_answered(false);
                    if self.afford_again() {
                        continue;
                    }
                    if !self.jobs_may_come_back() {
                        return;
                    }
                    self.cancel.wait_for(Stage::Drain, EMPTY_PAUSE);
                }
            }
        }
    }

    /// Tells whether a job that runs now may be queued again for a retry, or may
    /// leave money for one that waits.
    fn jobs_may_come_back(&self) -> bool {
        let retries = |carrier: &Result<Carrier, String>| {
            carrier
                .as_ref()
                .is_ok_and(|carrier| carrier.retry.retries > 0)
        };
        (self.carriers.values().any(retries) || self.till.has_waiting())
            && self.heartbeat.has_jobs()
    }

    /// Decides what a free thread may do. A claim counts against the limit from
    /// here on, so that threads which ask at once cannot exceed it together.
    fn turn(&self) -> Turn {
        if self.cancel.stage() != Stage::Go || !self.may_try_again() {
            return Turn::End;
        }
        let mut starts = self.starts();
        if let Some(limit) = self.conditions.limit
            && starts.started + starts.claiming >= limit
        {
            if self.queue.is_empty() {
                return Turn::End;
            }
            if starts.started < limit {
                return Turn::AskAgain;
            }
            self.halt(Halt::Limit);
            if !self.queue.has_tried() && !self.jobs_may_come_back() {
                return Turn::End;
            }
            starts.claiming += 1;
            return Turn::ClaimTried;
        }
        starts.claiming += 1;
        Turn::Claim
    }

    /// Notes whether the claim that a [`Turn::Claim`] allowed started a job.
    fn claim_answered(&self, started: bool) {
        let mut starts = self.starts();
        starts.claiming -= 1;
        starts.started += usize::from(started);
    }

    fn starts(&self) -> MutexGuard<'_, Starts> {
        self.starts.lock().unwrap_or_else(PoisonError::into_inner)
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

    /// Tells whether jobs that were started may be tried again. A limit is on
    /// jobs, not on their attempts.
    fn may_try_again(&self) -> bool {
        self.halted().is_none_or(|why| why == Halt::Limit)
    }

    fn report(&self, kind: EventKind) {
        self.sink.report(&Event {
            at: self.clock.now(),
            run_id: self.store.run_id().clone(),
            kind,
        });
    }

    /// Warns of something that is the same for many jobs, once.
    fn warn_once(&self, message: String) {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if told.len() < MOST_TOLD && told.insert(message.clone()) {
            drop(told);
            self.report(EventKind::Warning { message });
        }
    }

    fn count(&self, change: impl FnOnce(&mut Tally)) {
        change(&mut self.tally.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Notes trouble with the store: nothing new starts, what is recorded stays.
    fn store_failed(&self, what: &str, error: &StoreError) {
        // Waiting that a second signal cut short is no trouble with the store.
        let cut_short =
            matches!(error, StoreError::Closed { .. }) && self.cancel.stage() == Stage::Kill;
        if error.is_away() {
            // Nothing new starts while nobody answers; that is no reason to give up.
            self.warn_once(format!("{what}: {error}"));
            return;
        }
        if !cut_short {
            self.halt(Halt::Store);
        }
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
        // What a store hands out and nobody took, by algorithm.
        let unclaimed = match &self.served {
            Some(_) => self.store.unclaimed().unwrap_or_default(),
            None => BTreeMap::new(),
        };
        self.count_unclaimed(&unclaimed);
        if let Err(error) = self.store.close(self.clock.now()) {
            let what = "not everything is in the registry yet; finished results are safe in the run's \
                        state folder and the next `archi3d run worker` brings them in";
            self.store_failed(what, &error);
        }
        // What cannot be read was told by the closing.
        let without_row = self.store.endings_not_shown().unwrap_or_default();
        self.count(|tally| tally.summary.without_row = without_row);
        let tally = std::mem::take(&mut *self.tally.lock().unwrap_or_else(PoisonError::into_inner));
        for (provider, reason) in &tally.closed {
            self.report(EventKind::Warning {
                message: format!(
                    "provider {provider} is closed ({reason}); its jobs wait. \
                     When it can be used again: archi3d adapters resume {provider}"
                ),
            });
        }
        for (reason, jobs) in tally.unusable.values() {
            self.report(EventKind::Warning {
                message: format!(
                    "skipped: {}, because nothing can make it now: {reason}",
                    plural(*jobs, "job stays as it was", "jobs stay as they were")
                ),
            });
        }
        for (algo, (reason, jobs)) in &tally.paused {
            self.report(EventKind::Warning {
                message: format!(
                    "algo {algo} is paused ({reason}); {}. When it works again: archi3d adapters \
                     resume {algo}; {} minutes after its last failure one job tries it again",
                    plural(*jobs, "of its jobs waits", "of its jobs wait"),
                    breaker::PAUSE.as_secs() / 60
                ),
            });
        }
        let mut summary = tally.summary;
        summary.canaries = self.tell_of_canaries(&unclaimed);
        summary.not_started = self.queue.remaining() + unclaimed.values().sum::<usize>();
        self.queue.name_left(&mut summary.left);
        self.close_till(&mut summary, &unclaimed);
        if summary.processed > 0 {
            let mean = tally.total_duration.as_secs_f64() / summary.processed as f64;
            summary.avg_duration_s = (mean * 1e6).round() / 1e6;
        }
        summary.elapsed_s = (start.elapsed().as_secs_f64() * 1e6).round() / 1e6;
        summary.max_parallel = self.conditions.max_parallel;
        summary.dry_run = self.conditions.dry_run;
        summary.stopped_by = self.stopped_by(&summary);
        summary
    }

    fn stopped_by(&self, summary: &Summary) -> Option<String> {
        let interrupted = self.cancel.stage() != Stage::Go;
        let word = match self.halted() {
            Some(Halt::Store) => "store",
            _ if interrupted => "interrupted",
            Some(Halt::FailFast) => "fail_fast",
            _ if summary.blocked_by_budget > 0 => "budget",
            Some(Halt::Limit) => "limit",
            None if summary.canaries.iter().any(|canary| canary.waiting > 0) => "canary",
            None => return None,
        };
        Some(word.to_owned())
    }
}
