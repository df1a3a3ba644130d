//! `run plan`: what `run worker` would do with the same options, what it would
//! cost and how long it would take.
//!
//! Asks the same functions as the worker (`domain::select`, the carriers, the
//! ledger), job by job in the order in which it would start them. Takes no lock
//! and writes nothing.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Duration;

use crate::domain::budget::{Caps, Ledger};
use crate::domain::content::ContentKey;
use crate::domain::forecast::{self, Portion};
use crate::domain::id::{AlgoKey, JobId, RunId};
use crate::domain::job::Entry;
use crate::domain::select::{Decision, SkipReason};
use crate::domain::time::Timestamp;
use crate::engine::Carrier;
use crate::ops::money::{self, Limit, Money};
use crate::ops::reuse::Forecast;
use crate::ops::run::{WorkerRequest, carrier, known_algo, matches_filters, selection};
use crate::ops::{OpsContext, OpsError};
use crate::store::{JobRecord, Standing, csv};
use crate::workspace::provider::{Closure, ProviderGate};

mod cost;

pub use cost::{Price, Sums, usd};

/// What would become of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fate {
    /// It would run.
    Run,
    /// Its result would be asked for; it is bought already.
    Reattach,
    /// The result of an identical job would be copied.
    Reuse,
    /// Somebody works on it.
    Busy,
    /// It is selected, but something keeps it from starting or succeeding.
    Blocked,
    /// It would be left alone.
    Skip,
}

impl Fate {
    /// Every fate, in the order people want to see them.
    pub const ALL: [Self; 6] = [
        Self::Run,
        Self::Reattach,
        Self::Reuse,
        Self::Busy,
        Self::Blocked,
        Self::Skip,
    ];

    /// Returns the word for people and programs.
    pub fn word(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Reattach => "re-attach",
            Self::Reuse => "reuse",
            Self::Busy => "busy",
            Self::Blocked => "blocked",
            Self::Skip => "skip",
        }
    }

    /// Tells whether the worker would carry it out.
    pub fn starts(self) -> bool {
        matches!(self, Self::Run | Self::Reattach | Self::Reuse)
    }
}

/// Why a job has its fate.
#[derive(Debug, Clone, PartialEq)]
pub struct Reason {
    /// In a word that programs can rely on.
    pub code: &'static str,
    /// In words that follow a number of jobs.
    pub words: String,
}

impl Reason {
    fn new(code: &'static str, words: impl Into<String>) -> Self {
        Self {
            code,
            words: words.into(),
        }
    }
}

/// One job of a plan.
#[derive(Debug, Clone, PartialEq)]
pub struct JobPlan {
    /// The job.
    pub job_id: JobId,
    /// The algorithm that carries it out.
    pub algo: String,
    /// What would become of it.
    pub fate: Fate,
    /// Why.
    pub reason: Reason,
    /// What it would cost.
    pub price: Price,
}

/// The jobs of one algorithm.
#[derive(Debug, Clone, PartialEq)]
pub struct AlgoPlan {
    /// Its key.
    pub algo: String,
    /// How many jobs have each fate, by [`Fate::ALL`].
    pub fates: [usize; Fate::ALL.len()],
    /// What one generation costs.
    pub unit_usd: Option<f64>,
    /// The costs of those that would start.
    pub cost: Sums,
    /// Half of its earlier jobs took no longer than this.
    pub median_s: Option<f64>,
    /// How long its jobs take with the parallelism given.
    pub time: Option<Duration>,
}

/// What a worker would do.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The run.
    pub run_id: RunId,
    /// When this was read.
    pub at: Timestamp,
    /// Whether it is about a rehearsal.
    pub dry_run: bool,
    /// How many jobs would run at once.
    pub max_parallel: usize,
    /// Every job that the filters match, in the order of the manifest.
    pub jobs: Vec<JobPlan>,
    /// The same by algorithm.
    pub algos: Vec<AlgoPlan>,
    /// The costs of all that would start.
    pub cost: Sums,
    /// How long it takes; nothing if some algorithm has no past.
    pub time: Option<Duration>,
    /// The money of the run as it stands before.
    pub money: Money,
    /// What looked wrong while reading, one sentence each.
    pub warnings: Vec<String>,
}

impl Plan {
    /// Returns how many jobs have this fate.
    pub fn count(&self, fate: Fate) -> usize {
        self.jobs.iter().filter(|job| job.fate == fate).count()
    }

    /// Returns what the ledger of the run says afterwards if every job that
    /// starts costs what it is expected to.
    pub fn after_usd(&self) -> f64 {
        usd(cost::micros(self.money.spent_usd)
            + cost::micros(self.money.reserved_usd)
            + self.cost.new_micros)
    }

    /// Returns the reasons of each fate with their counts, the most first.
    pub fn reasons(&self) -> Vec<(Fate, &Reason, usize)> {
        let mut counted: BTreeMap<(Fate, &str, &str), (&Reason, usize)> = BTreeMap::new();
        for job in &self.jobs {
            let key = (job.fate, job.reason.code, job.reason.words.as_str());
            counted.entry(key).or_insert((&job.reason, 0)).1 += 1;
        }
        let mut reasons: Vec<_> = counted
            .into_iter()
            .map(|((fate, ..), (reason, count))| (fate, reason, count))
            .collect();
        reasons.sort_by_key(|(fate, _, count)| (*fate, std::cmp::Reverse(*count)));
        reasons
    }
}

/// Reads a run and says what a worker would do with it.
pub fn run_plan(context: &OpsContext, request: &WorkerRequest) -> Result<Plan, OpsError> {
    if let Some(key) = &request.adapter {
        known_algo(context, key)?;
    }
    let now = context.clock.now();
    let run = csv::read_run(&context.workspace, &request.run_id, request.rhythm, now)?;
    let ledger = money::ledger(context)?;
    let mut planner = Planner::new(context, request, &ledger, now)?;
    let mut warnings = run.warnings;
    planner.take_all(run.jobs);
    warnings.append(&mut planner.warnings);
    let money = money::in_ledger(&ledger, &request.run_id, planner.caps, now);
    Ok(planner.finish(money, warnings))
}

/// Everything that decides about a job.
pub(super) struct Planner<'a> {
    context: &'a OpsContext,
    request: &'a WorkerRequest,
    ledger: &'a Ledger,
    now: Timestamp,
    caps: Caps,
    limits: Vec<Limit>,
    closed: Vec<Closure>,
    unpublished: HashMap<JobId, u32>,
    carriers: HashMap<AlgoKey, Result<Carrier, String>>,
    /// Earlier results, with `--reuse`.
    reuse: Option<Forecast<'a>>,
    /// What goes into the jobs that would run.
    keys: HashSet<ContentKey>,
    started: usize,
    /// What the jobs planned so far would add to the ledger, in millionths.
    planned_micros: i64,
    jobs: Vec<JobPlan>,
    warnings: Vec<String>,
}

impl<'a> Planner<'a> {
    pub(super) fn new(
        context: &'a OpsContext,
        request: &'a WorkerRequest,
        ledger: &'a Ledger,
        now: Timestamp,
    ) -> Result<Self, OpsError> {
        let gate = ProviderGate::new(&context.workspace);
        let caps = money::caps(context, request);
        Ok(Self {
            context,
            request,
            ledger,
            now,
            limits: money::in_ledger(ledger, &request.run_id, caps, now).limits,
            caps,
            // A folder that cannot be read closes nothing.
            closed: gate.all_closed(now).unwrap_or_default(),
            unpublished: csv::unpublished(&context.workspace, &request.run_id)?,
            carriers: HashMap::new(),
            reuse: (request.reuse && !request.dry_run).then(|| Forecast::new(context)),
            keys: HashSet::new(),
            started: 0,
            planned_micros: 0,
            jobs: Vec::new(),
            warnings: Vec::new(),
        })
    }

    /// Returns what carries a job out that was decided about.
    pub(super) fn carrier_of(&self, job: &JobRecord) -> Option<&Carrier> {
        let own = job.algo.as_ref().ok();
        let key = self.request.adapter.as_ref().or(own)?;
        self.carriers.get(key)?.as_ref().ok()
    }

    pub(super) fn run_id(&self) -> &RunId {
        &self.request.run_id
    }

    pub(super) fn caps(&self) -> Caps {
        self.caps
    }

    fn take_all(&mut self, jobs: Vec<JobRecord>) {
        for job in jobs {
            if matches_filters(self.request, &job) {
                let planned = self.plan(job);
                self.jobs.push(planned);
            }
        }
    }

    /// Decides about one job; those before it have been decided about already.
    pub(super) fn plan(&mut self, job: JobRecord) -> JobPlan {
        let key = self.request.adapter.clone().or(job.algo.clone().ok());
        let algo = match (&key, &job.algo) {
            (Some(key), _) | (None, Ok(key)) => key.to_string(),
            (None, Err(text)) => text.clone(),
        };
        if let Some(key) = &key
            && !self.carriers.contains_key(key)
        {
            let built = carrier(self.context, self.request, key);
            self.carriers.insert(key.clone(), built);
        }
        let (fate, reason) = self.decide(&job, key.as_ref());
        let (fate, reason) = self.reuse(&job, fate, reason);
        let price = self.price(&job, key.as_ref(), fate);
        let (fate, reason) = self.afford(fate, reason, &price);
        let price = if fate.starts() {
            price
        } else {
            Price::default()
        };
        self.started += usize::from(fate.starts());
        self.planned_micros += price.new_micros;
        JobPlan {
            job_id: job.job_id,
            algo,
            fate,
            reason,
            price,
        }
    }

    fn decide(&self, job: &JobRecord, key: Option<&AlgoKey>) -> (Fate, Reason) {
        let Some(seen) = job.standing.seen() else {
            return (Fate::Skip, left_out(&job.standing));
        };
        if self.unpublished.contains_key(&job.job_id) {
            let words = "finished by a worker that died; the next start publishes them";
            return (Fate::Skip, Reason::new("finished_unpublished", words));
        }
        let entry = match selection(self.request).decide(seen) {
            Decision::Run(entry) => entry,
            Decision::Skip(SkipReason::Held) => {
                let reason = SkipReason::Held;
                return (Fate::Busy, Reason::new(reason.code(), reason.words()));
            }
            Decision::Skip(reason) => {
                return (Fate::Skip, Reason::new(reason.code(), reason.words()));
            }
        };
        if self
            .request
            .limit
            .is_some_and(|limit| self.started >= limit)
        {
            return (Fate::Skip, Reason::new("over_limit", "beyond --limit"));
        }
        let carrier = match key.map(|key| &self.carriers[key]) {
            Some(Ok(carrier)) => carrier,
            Some(Err(_)) if self.request.dry_run => {
                return (Fate::Run, Reason::new("waiting", "waiting"));
            }
            Some(Err(why)) => return (Fate::Blocked, unusable(why)),
            None => {
                let why = job.algo.as_ref().err().cloned().unwrap_or_default();
                return (Fate::Blocked, unusable(&why));
            }
        };
        self.decide_started(job, entry, carrier)
    }

    fn decide_started(&self, job: &JobRecord, entry: Entry, carrier: &Carrier) -> (Fate, Reason) {
        if let Some(closure) = self.closure_of(carrier)
            && closure.until.is_none()
        {
            let words = format!(
                "of provider {}, which is closed until `archi3d adapters resume {0}`",
                closure.provider
            );
            return (Fate::Blocked, Reason::new("provider_closed", words));
        }
        let Standing::Known {
            purchase,
            not_before,
            ..
        } = &job.standing
        else {
            return (Fate::Skip, left_out(&job.standing));
        };
        let asks = carrier.on_interrupt == crate::domain::retry::OnInterrupt::Ask;
        if entry == Entry::Takeover && asks && purchase.is_none() && !self.request.dry_run {
            let words = "interrupted and possibly billed; they would end as failed to be looked at";
            return (Fate::Blocked, Reason::new("ask_first", words));
        }
        let bought = purchase.is_some() && !self.request.dry_run;
        let fate = if bought && !self.request.forget_requests {
            Fate::Reattach
        } else {
            Fate::Run
        };
        let reason = match (self.closure_of(carrier), not_before) {
            (Some(closure), _) => {
                let until = closure.until.map(Timestamp::iso).unwrap_or_default();
                let words = format!("waiting for provider {} until {until}", closure.provider);
                Reason::new("waits_for_provider", words)
            }
            (None, Some(at)) if *at > self.now => {
                Reason::new("waits_to_retry", "waiting for their next attempt")
            }
            _ => entered(entry, fate == Fate::Reattach),
        };
        (fate, reason)
    }

    /// Turns a job that would run into one whose result would be copied, with
    /// `--reuse`: from an earlier job, or from one of this plan with the same inputs.
    fn reuse(&mut self, job: &JobRecord, fate: Fate, reason: Reason) -> (Fate, Reason) {
        let redo = reason.code == "made_again";
        let Some(forecast) = self.reuse.as_ref().filter(|_| fate == Fate::Run && !redo) else {
            return (fate, reason);
        };
        let forced = self.request.adapter.as_ref();
        match forecast.source_of(job, forced) {
            Ok(Some(from)) => {
                let words = format!("identical to job {} of run {}", from.job_id, from.run_id);
                (Fate::Reuse, Reason::new("identical", words))
            }
            Ok(None) => match forecast.key_of(job, forced) {
                Some((key, _)) if !self.keys.insert(key.clone()) => {
                    let words = "identical to an earlier job of this plan";
                    (Fate::Reuse, Reason::new("twin", words))
                }
                _ => (fate, reason),
            },
            Err(error) => {
                self.warnings
                    .push(format!("cannot look for earlier results: {error}"));
                (fate, reason)
            }
        }
    }

    fn closure_of(&self, carrier: &Carrier) -> Option<&Closure> {
        let provider = carrier.provider.as_ref()?;
        self.closed.iter().find(|c| c.provider == *provider)
    }

    fn finish(self, money: Money, warnings: Vec<String>) -> Plan {
        let past = past_medians(self.context, &mut Vec::new());
        let mut algos = Vec::new();
        let mut places: HashMap<String, usize> = HashMap::new();
        for job in &self.jobs {
            let place = *places.entry(job.algo.clone()).or_insert_with(|| {
                algos.push(self.algo(&job.algo, &past));
                algos.len() - 1
            });
            let algo: &mut AlgoPlan = &mut algos[place];
            algo.fates[job.fate as usize] += 1;
            algo.cost.add(job.fate, &job.price);
        }
        let mut cost = Sums::default();
        let parallel = self.request.max_parallel as f64;
        let mut portions = Vec::new();
        for algo in &mut algos {
            cost.join(&algo.cost);
            let portion = Self::portion(algo);
            algo.time = portion.map(|portion| forecast::time_for(&[portion], parallel));
            portions.push(portion);
        }
        let portions: Option<Vec<Portion>> = portions.into_iter().collect();
        Plan {
            run_id: self.request.run_id.clone(),
            at: self.now,
            dry_run: self.request.dry_run,
            max_parallel: self.request.max_parallel,
            cost,
            time: portions.map(|portions| forecast::time_for(&portions, parallel)),
            algos,
            jobs: self.jobs,
            money,
            warnings,
        }
    }

    fn algo(&self, algo: &str, past: &HashMap<String, f64>) -> AlgoPlan {
        let settings = self.context.settings.algo(algo);
        let rehearsed = self.request.simulate_ms.unwrap_or_default() as f64 / 1e3;
        AlgoPlan {
            algo: algo.to_owned(),
            fates: [0; Fate::ALL.len()],
            unit_usd: settings.and_then(|settings| settings.unit_price_usd),
            cost: Sums::default(),
            median_s: if self.request.dry_run {
                Some(rehearsed)
            } else {
                past.get(algo).copied()
            },
            time: None,
        }
    }

    /// Returns the work of an algorithm; nothing if it has some and no past.
    fn portion(algo: &AlgoPlan) -> Option<Portion> {
        let jobs = algo.fates[Fate::Run as usize] + algo.fates[Fate::Reattach as usize];
        Some(Portion {
            jobs,
            each_s: if jobs == 0 { 0.0 } else { algo.median_s? },
            at_once: None,
            per_min: None,
        })
    }
}

fn unusable(why: &str) -> Reason {
    Reason::new("unusable_algo", format!("which would fail at once: {why}"))
}

/// Says why a job is left out that no worker takes.
fn left_out(standing: &Standing) -> Reason {
    match standing {
        Standing::Unknown(word) => Reason::new(
            "unknown_status",
            format!("with the status {word:?}, which is none of ours"),
        ),
        Standing::NotRegistered => Reason::new(
            "not_registered",
            "without a row in tables/generations.csv (`archi3d batch create` makes it)",
        ),
        _ => Reason::new(
            "not_in_manifest",
            "waiting but not in the manifest (`archi3d batch create` puts them in)",
        ),
    }
}

/// Says in which way a job is entered.
fn entered(entry: Entry, bought: bool) -> Reason {
    if bought {
        return Reason::new("bought", "bought by an earlier attempt");
    }
    match entry {
        Entry::Fresh => Reason::new("waiting", "waiting"),
        Entry::Takeover => Reason::new("left_behind", "left by a worker that died"),
        Entry::Retry => Reason::new("failed_before", "failed before"),
        Entry::Redo => Reason::new("made_again", "completed, to be made again"),
        Entry::Perform => Reason::new("rehearsed_only", "only rehearsed so far"),
    }
}

/// Returns how long jobs of each algorithm took so far, over all runs.
pub(super) fn past_medians(
    context: &OpsContext,
    warnings: &mut Vec<String>,
) -> HashMap<String, f64> {
    match csv::past_durations(&context.workspace) {
        Ok(algos) => algos
            .into_iter()
            .filter_map(|mut algo| Some((algo.algo, forecast::median(&mut algo.took_s)?)))
            .collect(),
        Err(error) => {
            warnings.push(format!("earlier times cannot be read: {error}"));
            HashMap::new()
        }
    }
}
