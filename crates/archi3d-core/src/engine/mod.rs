//! Runs jobs; knows the `Store` and `Adapter` traits, never a backend.
//!
//! - [`event`]: everything that happens, as plain data;
//! - `dispatcher`: the one owner of the run's state, which decides what a free thread does;
//! - `executor`: what a thread does: it takes one job, carries it out and answers;
//! - `heartbeat`: the one thread that shows that all running jobs are alive.
//!
//! A bounded pool of threads asks the dispatcher for jobs until there are none or
//! somebody asks to stop. Nothing in here prints or touches the tables.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::adapter::Adapter;
use crate::cancel::Cancel;
use crate::domain::content::Recipe;
use crate::domain::id::AlgoKey;
use crate::domain::job::Entry;
use crate::domain::lease::Rhythm;
use crate::domain::limits::Limits;
use crate::domain::patch::{Price, WorkerFacts};
use crate::domain::retry::{OnInterrupt, RetryPolicy};
use crate::domain::time::Clock;
use crate::domain::traceparent::TraceParent;
use crate::store::reuse::ReuseIndex;
use crate::store::{Artifacts, Handing, JobRecord, Providers, WorkerStore};
use crate::workspace::paths::Workspace;
use crate::workspace::pictures::PictureMarks;

mod ahead;
mod attempt;
mod breaker;
mod budget;
mod checking;
mod claim;
mod dispatcher;
pub mod event;
mod executor;
mod gate;
mod heartbeat;
mod job;
mod lanes;
mod output;
mod places;
mod reporter;
mod reuse;
mod served;
mod settle;
mod spans;

pub use breaker::{Canary, PAUSE as BREAKER_PAUSE};
pub use budget::Funds;
use dispatcher::{Dispatch, Money, Rules};
use event::{Sink, Summary};
use executor::Executor;
use heartbeat::Heartbeat;
use lanes::Lanes;
pub use output::unusable_picture;
pub use places::{Places, Rank, Share};

/// A job that is to be run, and why.
#[derive(Debug, Clone, PartialEq)]
pub struct QueuedJob {
    /// The job.
    pub job: JobRecord,
    /// What was seen.
    pub entry: Entry,
}

/// What carries one algorithm out.
pub struct Algorithm {
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

impl Algorithm {
    /// Makes an algorithm with everything but the code left at its usual value.
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

    /// Tells whether each of its jobs is known to cost something.
    fn is_paid(&self) -> bool {
        self.price.unit_usd.is_some_and(|usd| usd > 0.0)
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

/// Finds the algorithm of a job, or says why there is none.
pub type Algorithms = HashMap<AlgoKey, Result<Algorithm, String>>;

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
    pub money: Option<Funds>,
    /// Where earlier results are found, if they are to be copied instead of bought.
    pub reuse: Option<Arc<dyn ReuseIndex>>,
    /// Whether some jobs of each algorithm go first on trial.
    pub canary: Option<Canary>,
    /// How the pictures looked when the jobs were made.
    pub pictures: PictureMarks,
    /// The places that it shares with the pools of other runs.
    pub share: Option<Arc<Share>>,
    /// The span that led to the run, which those of its jobs are linked to.
    pub trace: Option<TraceParent>,
}

/// Where the jobs of a run come from.
pub enum Source<'a> {
    /// They are listed, in the order in which they are to run.
    Listed(Vec<QueuedJob>),
    /// The store hands those of these algorithms out.
    Served(&'a dyn Handing, Vec<AlgoKey>),
}

/// Runs the jobs of `source` and returns the counts. The caller has recovered
/// the store; afterwards the store is closed, whatever happened.
pub fn run(
    store: &dyn WorkerStore,
    source: Source<'_>,
    algorithms: &Algorithms,
    conditions: &Conditions,
    clock: &Arc<dyn Clock>,
    cancel: &Cancel,
    sink: &dyn Sink,
) -> Summary {
    let start = Instant::now();
    let (lanes, jobs, handing) = match source {
        Source::Listed(jobs) => {
            let (lanes, jobs) = Lanes::new(jobs, algorithms, conditions);
            (lanes, Some(jobs), None)
        }
        Source::Served(source, algos) => (Lanes::of_algos(&algos, algorithms), None, Some(source)),
    };
    let may_retry = |algorithm: &Result<Algorithm, String>| {
        let algorithm = algorithm.as_ref();
        algorithm.is_ok_and(|algorithm| algorithm.retry.retries > 0)
    };
    let rules = Rules {
        limit: conditions.limit,
        canary: conditions.canary,
        retries: algorithms.values().any(may_retry),
    };
    let costs = conditions.money.as_ref().map(|m| m.highest_cost.clone());
    let money = Money::with_costs(costs.unwrap_or_default());
    let dispatch = Dispatch::new(rules, jobs, lanes.gates(), money);
    let heartbeat = Heartbeat::default();
    let executor = Executor {
        store,
        algorithms,
        conditions,
        clock: clock.as_ref(),
        cancel,
        sink,
        lanes: &lanes,
        handing,
        dispatch: &dispatch,
        heartbeat: &heartbeat,
    };
    executor.settle_what_others_left(None);
    std::thread::scope(|scope| {
        scope.spawn(|| heartbeat.run(&executor));
        if let Some(source) = handing.filter(|_| conditions.ahead > 0) {
            let executor = &executor;
            scope.spawn(move || executor.send_kept(source));
        }
        // Also when a thread of ours panics: the scope waits for the heartbeat.
        let _end = EndOnDrop(&heartbeat);
        executor.run_threads();
    });
    executor.close(start)
}

/// Ends the heartbeat when it goes out of scope.
struct EndOnDrop<'a>(&'a Heartbeat);

impl Drop for EndOnDrop<'_> {
    fn drop(&mut self) {
        self.0.end();
    }
}
