//! `fleet worker`: one worker for all runs of a store, until it is stopped.
//!
//! Each run that has something to do is worked on as `run worker` would, in a pool of its own. All pools go over the same two
//! connections and share the same places, and the most urgent run goes first.

use std::collections::HashMap;
use std::sync::Arc;
use std::thread::{self, Scope, ScopedJoinHandle};
use std::time::{Duration, Instant};

use crate::cancel::{Cancel, Stage};
use crate::domain::filter::{JobQuery, JobsFilter};
use crate::domain::id::{AlgoKey, RunId};
use crate::domain::text::counted;
use crate::engine::event::{Sink, Summary};
use crate::engine::{Places, Rank};
use crate::ops::select::{FleetRequest, Spending, WorkerRequest, algorithm, known_algo};
use crate::ops::submit::{self, Following, Terms};
use crate::ops::view::fleet::Served;
use crate::ops::{OpsContext, OpsError, capacity, identity};
use crate::store::WorkerIdentity;
use crate::store::fleet::{Hand, RunToServe};
use crate::workspace::fleet::{FleetMark, FleetState};

use super::{Task, work_on};

/// How often it looks for runs.
const LOOK: Duration = Duration::from_secs(1);

/// How often it looks whether a run is over.
const GLANCE: Duration = Duration::from_millis(50);

/// How long a run is left alone that led to something, and to nothing; the second grows up to the third.
const RESTS: (Duration, Duration, Duration) = (
    Duration::from_millis(500),
    Duration::from_secs(15),
    Duration::from_secs(300),
);

/// How long a lease of a worker without jobs lasts where nobody says.
const LEASE: Duration = Duration::from_secs(60);

/// So many runs are worked on side by side, unless a more urgent one comes.
const MOST_RUNS: usize = 32;

/// What is asked of a worker that serves many runs.
#[derive(Debug, Clone, PartialEq)]
pub struct ServeRequest {
    /// Only these runs; all if there are none.
    pub runs: Vec<RunId>,
    /// Only these algorithms; all that can be carried out here if there are none.
    pub algos: Vec<AlgoKey>,
    /// How many jobs run at once, of whichever run.
    pub max_parallel: usize,
    /// How it takes part.
    pub fleet: FleetRequest,
    /// The most that each run may have spent, beside the limits in `global.yaml`.
    pub budget_usd: Option<f64>,
    /// A person agreed to whatever runs are expected to cost.
    pub confirmed: bool,
    /// Copies results of earlier identical jobs.
    pub reuse: bool,
}

/// Who hears of it: a sink for each run, and what concerns none.
pub struct Hearers<'a> {
    /// Makes the sink of a run.
    pub of_run: &'a (dyn Fn(&RunId) -> Arc<dyn Sink> + Sync),
    /// Says something.
    pub say: &'a (dyn Fn(String) + Sync),
    /// Says that something is not as it should be.
    pub warn: &'a (dyn Fn(String) + Sync),
}

/// Serves runs until somebody asks to stop, or nothing was to be done for as long as the request says.
pub fn serve(
    context: &OpsContext,
    request: &ServeRequest,
    cancel: &Cancel,
    hearers: &Hearers<'_>,
) -> Result<Served, OpsError> {
    let algos = usable(context, request)?;
    let fleet = context.required_fleet()?;
    let identity = identity::worker_identity(&context.settings);
    let identity = request.fleet.name(identity);
    let most = capacity::jobs_at_once(request.max_parallel, |text| (hearers.warn)(text));
    let lease = request.fleet.lease.unwrap_or(LEASE);
    let hand = fleet.hire(&identity, most, lease, request.fleet.wake.as_deref())?;
    if let Some(warning) = hand.unheard() {
        (hearers.warn)(warning.to_owned());
    }
    let keys: Vec<&str> = algos.iter().map(AlgoKey::as_str).collect();
    (hearers.say)(format!(
        "{} serves {} of {}, {} at a time, with {}",
        identity.worker_id,
        which(&request.runs),
        fleet.server(),
        counted(most, "job"),
        keys.join(", ")
    ));
    let place = Place {
        context,
        request,
        cancel,
        hearers,
        algos: &algos,
        identity: &identity,
        hand: &*hand,
        places: Places::new(most),
    };
    let served = thread::scope(|scope| place.attend(scope, most));
    // Nobody is told that it ended where the server is away: it falls silent.
    let _ = hand.end();
    served
}

fn which(runs: &[RunId]) -> String {
    match runs {
        [] => "all runs".to_owned(),
        [one] => format!("run {one}"),
        several => counted(several.len(), "run"),
    }
}

/// Returns the algorithms that can be carried out here.
fn usable(context: &OpsContext, request: &ServeRequest) -> Result<Vec<AlgoKey>, OpsError> {
    let plain = WorkerRequest::plain(RunId::parse("any").map_err(|error| OpsError::Setup {
        message: error.to_string(),
        hint: None,
    })?);
    let why_not = |key: &AlgoKey| match algorithm(context, &plain, key) {
        Ok(algorithm) => algorithm.obstacle,
        Err(reason) => Some(reason),
    };
    for key in &request.algos {
        known_algo(context, key)?;
        if let Some(reason) = why_not(key) {
            return Err(OpsError::Setup {
                message: format!("algo {key} cannot be carried out here: {reason}"),
                hint: Some("`archi3d adapters list` shows what can run".to_owned()),
            });
        }
    }
    if !request.algos.is_empty() {
        return Ok(request.algos.clone());
    }
    let known = context.settings.algos.iter();
    let usable: Vec<AlgoKey> = known
        .filter_map(|algo| AlgoKey::parse(algo.key.as_str()).ok())
        .filter(|key| why_not(key).is_none())
        .collect();
    if usable.is_empty() {
        return Err(OpsError::Setup {
            message: "no algorithm can be carried out here".to_owned(),
            hint: Some("`archi3d adapters list` shows what each of them lacks".to_owned()),
        });
    }
    Ok(usable)
}

/// Everything that a worker of many runs knows.
struct Place<'a> {
    context: &'a OpsContext,
    request: &'a ServeRequest,
    cancel: &'a Cancel,
    hearers: &'a Hearers<'a>,
    algos: &'a [AlgoKey],
    identity: &'a WorkerIdentity,
    hand: &'a dyn Hand,
    places: Arc<Places>,
}

/// A run that is worked on.
struct Pool<'scope> {
    rank: Rank,
    run_id: RunId,
    handle: ScopedJoinHandle<'scope, Result<Summary, OpsError>>,
}

/// What is remembered from one look to the next.
#[derive(Default)]
struct Memory {
    /// When a run may be tried again, and how long it was left alone.
    resting: HashMap<i64, (Instant, Duration)>,
    /// Runs that people were told of: they are not to be reached from here, or cannot be worked on.
    told: HashMap<i64, String>,
    /// Whether the server is known to be away.
    away: bool,
    served: Served,
}

impl Place<'_> {
    /// Starts a pool for every run that has something to do, until the end.
    fn attend<'scope>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
        most: usize,
    ) -> Result<Served, OpsError> {
        let mut pools: Vec<Pool<'scope>> = Vec::new();
        let mut memory = Memory::default();
        let (mut idle_since, mut looked, mut beaten) = (Instant::now(), None, Instant::now());
        let lease = self.request.fleet.lease.unwrap_or(LEASE);
        loop {
            let over;
            (over, pools) = pools
                .into_iter()
                .partition(|pool| pool.handle.is_finished());
            for pool in over {
                self.note_end(pool, &mut memory);
                (idle_since, looked) = (Instant::now(), None);
            }
            if beaten.elapsed() > lease / 6 {
                // One that is missed is no harm: the lease is longer.
                let _ = self.hand.beat();
                beaten = Instant::now();
            }
            if self.cancel.stage() == Stage::Go {
                if looked.is_none_or(|at: Instant| at.elapsed() > LOOK) {
                    looked = Some(Instant::now());
                    for run in self.look(&mut memory)? {
                        self.take(scope, run, &mut pools, &mut memory, most);
                    }
                }
                if !pools.is_empty() || memory.away {
                    idle_since = Instant::now();
                }
                let until = self.request.fleet.until_idle;
                if until.is_some_and(|most| idle_since.elapsed() >= most) {
                    return Ok(memory.served);
                }
                self.cancel.wait_for(Stage::Drain, GLANCE);
            } else if pools.is_empty() {
                return Ok(memory.served);
            } else {
                thread::sleep(GLANCE);
            }
        }
    }

    /// Returns the runs that have something to do; none while the server is away.
    fn look(&self, memory: &mut Memory) -> Result<Vec<RunToServe>, OpsError> {
        match self.hand.runs_to_serve(self.algos, &self.request.runs) {
            Ok(runs) => {
                if std::mem::take(&mut memory.away) {
                    (self.hearers.say)("the server is back".to_owned());
                }
                Ok(runs)
            }
            Err(error) if error.is_away() => {
                if !std::mem::replace(&mut memory.away, true) {
                    (self.hearers.warn)(format!("{error}; it is tried again"));
                }
                Ok(Vec::new())
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Starts a pool for a run, unless it has one, rests, cannot be reached, or would get no place.
    fn take<'scope>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
        run: RunToServe,
        pools: &mut Vec<Pool<'scope>>,
        memory: &mut Memory,
        most: usize,
    ) {
        let rank = (run.urgency, run.run_no);
        let resting = memory.resting.get(&run.run_no);
        if pools.iter().any(|pool| pool.rank.1 == run.run_no)
            || resting.is_some_and(|(until, _)| *until > Instant::now())
        {
            return;
        }
        let outranks = pools.iter().any(|pool| pool.rank > rank);
        if !outranks && (!self.places.has_room_for(rank) || pools.len() >= MOST_RUNS) {
            return;
        }
        let run_id = match self.reach(&run) {
            Ok(run_id) => run_id,
            Err(reason) => {
                self.tell_once(memory, run.run_no, reason);
                return;
            }
        };
        let (request, following) = match self.request_for(&run_id, most) {
            Ok(Some(wanted)) => wanted,
            waits => {
                if let Err(error) = waits {
                    self.tell_once(memory, run.run_no, format!("run {run_id}: {error}"));
                }
                let rest = (Instant::now() + RESTS.1, RESTS.1);
                memory.resting.insert(run.run_no, rest);
                return;
            }
        };
        let share = Arc::new(self.places.share(rank));
        let handle = scope.spawn(move || {
            let _following = following;
            let sink = (self.hearers.of_run)(&request.run_id);
            let task = Task {
                context: self.context,
                request: &request,
                cancel: self.cancel,
                sink: &sink,
                ask: &|_| false,
            };
            let open = |opening| self.hand.open(opening);
            work_on(task, self.identity.clone(), &open, Some(share))
        });
        pools.push(Pool {
            rank,
            run_id,
            handle,
        });
    }

    /// Returns the run if its pictures can be read and its results written from here: they lie in a bucket, or its folder is
    /// in this workspace. A folder of that name that is of another run stands in the way of both.
    fn reach(&self, run: &RunToServe) -> Result<RunId, String> {
        let elsewhere = || {
            let known: serde_json::Value =
                serde_json::from_str(&run.parameters).unwrap_or_default();
            let place = known["workspace"].as_str().unwrap_or("another workspace");
            format!(
                "run {} is left to others: it was pushed from {place}, which is not this workspace",
                run.run_id
            )
        };
        let run_id = RunId::parse(&run.run_id).map_err(|error| error.to_string())?;
        let folder = self.context.workspace.run(&run_id);
        let Some(mark) = FleetMark::read(&folder).ok().flatten() else {
            let free = !folder.fleet().exists() && !folder.manifest().exists();
            return if run.in_bucket && free {
                Ok(run_id)
            } else {
                Err(elsewhere())
            };
        };
        let known: serde_json::Value = serde_json::from_str(&run.parameters).unwrap_or_default();
        let here = mark.state == FleetState::Pushed && known["push"] == mark.push.as_str();
        if here { Ok(run_id) } else { Err(elsewhere()) }
    }

    /// Says what is to be done with a run: what the worker was started with and, where it was asked for over the network, not
    /// more than was asked for. Nothing: it is not to be started, or another worker has it.
    fn request_for(
        &self,
        run_id: &RunId,
        max_parallel: usize,
    ) -> Result<Option<(WorkerRequest, Option<Following>)>, OpsError> {
        let mut request = WorkerRequest {
            query: JobQuery {
                algo: self.algos.to_vec(),
                ..JobQuery::default()
            },
            max_parallel,
            fleet: FleetRequest {
                until_idle: None,
                ..self.request.fleet.clone()
            },
            reuse: self.request.reuse,
            spending: Spending {
                budget_usd: self.request.budget_usd,
                confirmed: self.request.confirmed,
                ..Spending::default()
            },
            ..WorkerRequest::plain(run_id.clone())
        };
        let order = match submit::terms(self.context, run_id)? {
            Terms::Open => return Ok(Some((request, None))),
            Terms::Waits => return Ok(None),
            Terms::Order(order) => order,
        };
        let Some(following) = order.take(self.context)? else {
            return Ok(None);
        };
        let limits = [request.spending.budget_usd, order.max_cost_usd];
        request.spending.budget_usd = limits.into_iter().flatten().reduce(f64::min);
        request.reuse |= order.reuse;
        if let Some(jobs) = order.pattern() {
            let jobs = JobsFilter::parse(&jobs);
            request.query.jobs = Some(jobs.map_err(|error| OpsError::Setup {
                message: error.to_string(),
                hint: None,
            })?);
        }
        if let Some(most) = order.max_parallel {
            request.max_parallel = most.min(max_parallel);
        }
        Ok(Some((request, Some(following))))
    }

    /// Counts what came of a run, and decides when it may be tried again.
    fn note_end(&self, pool: Pool<'_>, memory: &mut Memory) {
        let run_no = pool.rank.1;
        let led_to_something = match pool.handle.join() {
            Ok(Ok(summary)) => {
                memory.told.remove(&run_no);
                memory.served.count(&summary);
                summary.processed > 0
            }
            Ok(Err(error)) => {
                let hint = error.hint().map(|hint| format!("; {hint}"));
                let text = format!("run {}: {error}{}", pool.run_id, hint.unwrap_or_default());
                self.tell_once(memory, run_no, text);
                false
            }
            Err(_) => {
                let text = format!(
                    "run {}: its pool ended by a bug; it is tried again",
                    pool.run_id
                );
                self.tell_once(memory, run_no, text);
                false
            }
        };
        let rest = if led_to_something {
            RESTS.0
        } else {
            let before = memory.resting.get(&run_no).map(|(_, rest)| *rest);
            before.map_or(RESTS.1, |rest| (rest * 2).clamp(RESTS.1, RESTS.2))
        };
        memory.resting.insert(run_no, (Instant::now() + rest, rest));
    }

    fn tell_once(&self, memory: &mut Memory, run_no: i64, text: String) {
        if memory.told.get(&run_no) != Some(&text) {
            (self.hearers.warn)(text.clone());
            memory.told.insert(run_no, text);
        }
    }
}
