//! What would become of each job, asked in the order in which a worker asks:
//! selection, `--limit`, canaries, an earlier result, the adapter, its provider,
//! its breaker, the money, the pictures.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::domain::budget::Caps;
use crate::domain::content::ContentKey;
use crate::domain::filter::JobFilter;
use crate::domain::id::{AlgoKey, JobId};
use crate::domain::job::Entry;
use crate::domain::money::Usd;
use crate::domain::reason::ReasonCode;
use crate::domain::retry::OnInterrupt;
use crate::domain::select::{Decision, Seen as State, SkipReason};
use crate::domain::time::Timestamp;
use crate::engine::{Algorithm, Algorithms, BREAKER_PAUSE, QueuedJob, unusable_picture};
use crate::ops::find::JobName;
use crate::ops::money::{Limit, Money};
use crate::ops::reuse::Forecast;
use crate::ops::select::{
    self, WorkerRequest, algorithm, arrange, copies_go_first, finds, is_findable, on_trial,
};
use crate::ops::{OpsContext, OpsError, budget};
use crate::store::providers::{Closable, Closure};
use crate::store::runs::{RunMoney, Runs};
use crate::store::{JobRecord, JobSnapshot};
use crate::workspace::pictures::PictureMarks;

use super::words::{entered, left_out, unusable};
use crate::ops::view::plan::{Identical, JobPlan, PlannedAction, PlannedCost, Reason};

/// Everything that decides about a job.
pub(in crate::ops) struct Planner<'a> {
    pub(super) context: &'a OpsContext,
    pub(super) request: &'a WorkerRequest,
    pub(super) runs: Arc<dyn Runs>,
    pub(super) money: RunMoney,
    pub(super) now: Timestamp,
    pub(super) caps: Caps,
    pub(super) limits: Vec<Limit>,
    pub(super) algorithms: Algorithms,
    /// What the jobs planned so far would add to the ledger.
    pub(super) planned: Usd,
    /// The same of this day.
    pub(super) planned_today: Usd,
    /// What jobs of an algorithm turned out to cost, where that is more than its price.
    pub(super) highest_cost: HashMap<String, f64>,
    pub(super) warnings: Vec<String>,
    /// Whether what cannot start now has the price that it has later.
    pub(super) prices_blocked: bool,
    /// How the pictures looked when the jobs were made.
    marks: PictureMarks,
    /// Those that are other pictures now.
    pub(super) replaced: BTreeSet<String>,
    closed: Vec<Closure>,
    paused: Vec<Closure>,
    unpublished: HashMap<JobId, u32>,
    /// Earlier results, with `--reuse`.
    reuse: Option<Forecast<'a>>,
    /// The same without it, to tell what it would save.
    offered: Option<Offered<'a>>,
    pub(super) identical: Identical,
    /// What goes into the jobs that would be made.
    keys: HashSet<ContentKey>,
    /// What is wrong with pictures that were looked at.
    pictures: HashMap<Vec<String>, Option<String>>,
    started: usize,
}

/// As long are pictures read only to tell what `--reuse` would save.
const LONGEST_LOOK: Duration = Duration::from_secs(3);

/// Earlier results that were not asked for.
struct Offered<'a> {
    forecast: Forecast<'a>,
    until: Instant,
}

/// What a look at a job's state tells.
enum Seen {
    Left(JobPlan),
    Selected(QueuedJob),
}

type Decided = (PlannedAction, Reason, PlannedCost);

impl<'a> Planner<'a> {
    pub(in crate::ops) fn new(
        context: &'a OpsContext,
        request: &'a WorkerRequest,
        runs: Arc<dyn Runs>,
        is_new: bool,
    ) -> Result<Self, OpsError> {
        let (run_id, spending) = (&request.run_id, &request.spending);
        let caps = budget::caps(&context.settings, spending);
        // A run that is only planned has no money yet, and a fleet does not know it.
        let money = if is_new {
            runs.money(run_id).unwrap_or_default()
        } else {
            runs.money(run_id)?
        };
        // What cannot be read closes nothing.
        let all = |what| runs.closed(what).unwrap_or_default();
        let limited = caps.any() && !request.dry_run;
        Ok(Self {
            context,
            request,
            now: runs.now()?,
            limits: Money::of(&money.balance, &context.settings, spending).limits,
            money,
            caps,
            closed: all(Closable::Provider),
            paused: all(Closable::Algo),
            unpublished: if is_new {
                HashMap::new()
            } else {
                runs.unpublished(run_id)?
            },
            algorithms: HashMap::new(),
            reuse: (request.reuse && !request.dry_run)
                .then(|| Forecast::new(context, runs.reuse())),
            offered: None,
            identical: Identical::default(),
            keys: HashSet::new(),
            pictures: HashMap::new(),
            marks: PictureMarks::read(&context.workspace.run(&request.run_id).pictures()),
            replaced: BTreeSet::new(),
            started: 0,
            planned: Usd::ZERO,
            planned_today: Usd::ZERO,
            highest_cost: if limited && !is_new {
                runs.highest_costs(run_id)?
            } else {
                HashMap::new()
            },
            warnings: Vec::new(),
            prices_blocked: false,
            runs,
        })
    }

    /// From now on looks whether identical results exist that `--reuse` would copy.
    pub(super) fn looking_for_copies(mut self) -> Self {
        if self.reuse.is_none() && !self.request.dry_run {
            self.offered = Some(Offered {
                forecast: Forecast::new(self.context, self.runs.reuse()),
                until: Instant::now() + LONGEST_LOOK,
            });
        }
        self
    }

    /// Counts a job that would be bought although an identical result exists.
    fn count_identical(&mut self, planned: &QueuedJob, price: &PlannedCost) {
        let Some(offered) = &self.offered else {
            return;
        };
        let forecast = &offered.forecast;
        if planned.entry == Entry::Redo || price.expected <= Usd::ZERO || forecast.is_empty() {
            return;
        }
        if Instant::now() > offered.until {
            self.identical.at_least = true;
            return;
        }
        let key = forecast.key_of(&planned.job, self.request.adapter.as_ref());
        let source = key.and_then(|(key, version)| {
            let found = forecast.source_of(&key, version.as_deref());
            found.ok().flatten()
        });
        if source.is_some() {
            self.identical.results += 1;
            self.identical.saves_usd += price.expected;
        }
    }

    /// Returns what carries a job out that was decided about.
    pub(in crate::ops) fn algorithm_of(&self, job: &JobRecord) -> Option<&Algorithm> {
        self.algorithms.get(self.key_of(job)?)?.as_ref().ok()
    }

    /// Returns how the money of the run stands.
    pub(in crate::ops) fn money(&self) -> &RunMoney {
        &self.money
    }

    /// Returns the same, with what the limits leave.
    pub(in crate::ops) fn limited_money(&self) -> Money {
        Money::of(
            &self.money.balance,
            &self.context.settings,
            &self.request.spending,
        )
    }

    /// Returns the moment that it plans for.
    pub(in crate::ops) fn now(&self) -> Timestamp {
        self.now
    }

    /// Returns why the provider of a job is closed, if it is.
    pub(in crate::ops) fn closure_for(&self, job: &JobRecord) -> Option<&Closure> {
        self.closure_of(self.algorithm_of(job)?)
    }

    /// Returns why the algorithm of a job is paused, if it is.
    pub(in crate::ops) fn pause_of(&self, job: &JobRecord) -> Option<&Closure> {
        let kept = self.algorithm_of(job)?.breaker_failures > 0;
        let key = self.key_of(job).filter(|_| kept)?;
        self.paused.iter().find(|pause| pause.provider == *key)
    }

    /// Decides about every job that the filters match.
    pub(in crate::ops) fn plan_all(
        &mut self,
        jobs: Vec<JobRecord>,
        filter: &JobFilter<'_>,
    ) -> Vec<JobPlan> {
        let mut places = Vec::with_capacity(jobs.len());
        let mut selected = Vec::new();
        for job in jobs {
            if select::is_meant(filter, &job) {
                places.push(match self.look(job) {
                    Seen::Left(plan) => Some(plan),
                    Seen::Selected(planned) => {
                        selected.push(planned);
                        None
                    }
                });
            }
        }
        arrange(self.request, &mut selected, &self.algorithms);
        if let Some(forecast) = self
            .reuse
            .as_ref()
            .filter(|_| copies_go_first(self.request))
        {
            forecast.put_copies_first(&mut selected, self.request.adapter.as_ref());
        }
        let may_start = on_trial(self.request, &selected);
        let planned: Vec<JobPlan> = selected
            .into_iter()
            .zip(may_start)
            .map(|(planned, may_start)| self.decide(planned, may_start))
            .collect();
        let mut planned = planned.into_iter();
        places
            .into_iter()
            .filter_map(|left| left.or_else(|| planned.next()))
            .collect()
    }

    /// Decides about one job alone.
    pub(in crate::ops) fn plan(&mut self, job: JobRecord) -> JobPlan {
        match self.look(job) {
            Seen::Left(plan) => plan,
            Seen::Selected(planned) => self.decide(planned, true),
        }
    }

    fn look(&mut self, job: JobRecord) -> Seen {
        if let Some(key) = self.key_of(&job).cloned()
            && !self.algorithms.contains_key(&key)
        {
            let built = algorithm(self.context, self.request, &key);
            self.algorithms.insert(key, built);
        }
        let asked = matches!(
            &job.snapshot,
            JobSnapshot::Known { holder: Some(holder), .. } if holder.cancel_asked
        );
        let (fate, reason) = match job.snapshot.seen() {
            None => (PlannedAction::Skip, left_out(&job.snapshot)),
            Some(_) if self.unpublished.contains_key(&job.job_id) => {
                let words = "finished by a worker that died; the next start publishes them";
                (
                    PlannedAction::Skip,
                    Reason::new(ReasonCode::FinishedUnpublished, words),
                )
            }
            Some(seen) => match self.request.selection().decide(State {
                findable: self.is_findable(&job),
                ..seen
            }) {
                Decision::Run(Entry::Takeover) if asked => {
                    let words = "with a cancel requested; the next worker cancels them";
                    (
                        PlannedAction::Skip,
                        Reason::new(ReasonCode::CancelAsked, words),
                    )
                }
                Decision::Run(entry) => return Seen::Selected(QueuedJob { job, entry }),
                Decision::Skip(reason) => {
                    let held = reason == SkipReason::Held;
                    let fate = if held {
                        PlannedAction::Busy
                    } else {
                        PlannedAction::Skip
                    };
                    (fate, Reason::new(reason.code(), reason.words()))
                }
            },
        };
        Seen::Left(self.told(job, (fate, reason, PlannedCost::default())))
    }

    fn decide(&mut self, planned: QueuedJob, may_start: bool) -> JobPlan {
        let decided = self.fate(&planned, may_start);
        self.told(planned.job, decided)
    }

    fn told(&self, job: JobRecord, (fate, reason, price): Decided) -> JobPlan {
        let mut name = JobName::of(&job);
        if let Some(key) = self.key_of(&job) {
            name.algo = key.to_string();
        }
        let price = if self.prices_blocked && fate == PlannedAction::Blocked {
            self.price_later(&job)
        } else {
            price
        };
        JobPlan {
            job_id: job.job_id,
            name,
            fate,
            reason,
            price,
        }
    }

    pub(super) fn key_of<'j>(&'j self, job: &'j JobRecord) -> Option<&'j AlgoKey> {
        self.request.adapter.as_ref().or(job.algo.as_ref().ok())
    }

    /// Counts a job that is taken, whatever comes of it: `--limit` counts it too.
    fn taken(&mut self, fate: PlannedAction, reason: Reason, price: PlannedCost) -> Decided {
        self.started += 1;
        self.planned += price.new;
        self.planned_today += price.new_today;
        (fate, reason, price)
    }

    fn fate(&mut self, planned: &QueuedJob, may_start: bool) -> Decided {
        let nothing = PlannedCost::default();
        let limit = self.request.limit;
        if limit.is_some_and(|limit| self.started >= limit) {
            let reason = Reason::new(ReasonCode::OverLimit, "beyond --limit");
            return (PlannedAction::Skip, reason, nothing);
        }
        if !may_start {
            let words = "waiting for the canaries of their algorithm to be looked at";
            return (
                PlannedAction::Blocked,
                Reason::new(ReasonCode::AfterCanary, words),
                nothing,
            );
        }
        let (copied, key) = self.reuse(planned);
        if let Some(reason) = copied {
            return self.taken(PlannedAction::Reuse, reason, nothing);
        }
        if let Some(blocked) = self.blocked_before_claim(planned) {
            return blocked;
        }
        let (fate, reason) = self.entered(planned);
        let price = self.price(&planned.job, fate);
        if let Some(reason) = self.too_dear(fate, &price) {
            return (PlannedAction::Blocked, reason, nothing);
        }
        if let Some(reason) = self.fails_at_once(planned) {
            return self.taken(PlannedAction::Blocked, reason, nothing);
        }
        self.keys.extend(key);
        if fate == PlannedAction::Run {
            self.count_identical(planned, &price);
        }
        self.taken(fate, reason, price)
    }

    /// Returns why a job's result would be copied, with `--reuse`, from an earlier
    /// job or from one of this plan; otherwise what goes into it.
    fn reuse(&mut self, planned: &QueuedJob) -> (Option<Reason>, Option<ContentKey>) {
        let wanted = planned.entry != Entry::Redo && !self.reattaches(&planned.job);
        let Some(forecast) = &self.reuse else {
            return (None, None);
        };
        let forced = self.request.adapter.as_ref();
        let Some((key, version)) = forecast.key_of(&planned.job, forced) else {
            return (None, None);
        };
        if !wanted {
            return (None, Some(key));
        }
        match forecast.source_of(&key, version.as_deref()) {
            Ok(Some(from)) => {
                let from = format!("identical to job {} of run {}", from.job_id, from.run_id);
                let reason = Reason::new(ReasonCode::Identical, "identical to an earlier job");
                (Some(reason.with_detail(from)), None)
            }
            Ok(None) if self.keys.contains(&key) => {
                let words = "identical to an earlier job of this plan";
                (Some(Reason::new(ReasonCode::Twin, words)), None)
            }
            Ok(None) => (None, Some(key)),
            Err(error) => {
                let warning = format!("cannot look for earlier results: {error}");
                self.warnings.push(warning);
                (None, Some(key))
            }
        }
    }

    /// Returns why the algorithm of a job keeps it back; some time after its last failure
    /// one job tries it.
    fn blocked_by_breaker(&self, job: &JobRecord) -> Option<Decided> {
        let pause = self.pause_of(job)?;
        if self.now >= pause.closed_at.plus(BREAKER_PAUSE) {
            return None;
        }
        let words = format!(
            "of algo {}, which is paused after failures until `archi3d adapters resume {0}`",
            pause.provider
        );
        let reason = Reason::new(ReasonCode::Paused, words);
        Some((PlannedAction::Blocked, reason, PlannedCost::default()))
    }

    fn blocked_before_claim(&mut self, planned: &QueuedJob) -> Option<Decided> {
        let job = &planned.job;
        let why = match self.key_of(job).map(|key| &self.algorithms[key]) {
            Some(Ok(algorithm)) if algorithm.obstacle.is_some() => {
                algorithm.obstacle.clone().unwrap_or_default()
            }
            Some(Ok(algorithm)) => {
                let until_opened = |closure: &&Closure| closure.until.is_none();
                let Some(closure) = self.closure_of(algorithm).filter(until_opened) else {
                    return self.blocked_by_breaker(job);
                };
                let words = format!(
                    "of provider {}, which is closed until `archi3d adapters resume {0}`",
                    closure.provider
                );
                let reason = Reason::new(ReasonCode::ProviderClosed, words);
                return Some((PlannedAction::Blocked, reason, PlannedCost::default()));
            }
            Some(Err(_)) if self.request.dry_run => return None,
            Some(Err(why)) => why.clone(),
            None => job.algo.as_ref().err().cloned().unwrap_or_default(),
        };
        Some((
            PlannedAction::Blocked,
            unusable(&why),
            PlannedCost::default(),
        ))
    }

    /// Tells whether an earlier attempt bought it and its result would be asked for.
    pub(super) fn reattaches(&self, job: &JobRecord) -> bool {
        let bought = matches!(
            &job.snapshot,
            JobSnapshot::Known {
                purchase: Some(_),
                ..
            }
        );
        let looks = !self.request.resubmit_unknown && self.is_findable(job);
        (bought || looks) && !self.request.dry_run && !self.request.forget_requests
    }

    fn is_findable(&self, job: &JobRecord) -> bool {
        is_findable(
            job,
            |key| matches!(self.algorithms.get(key), Some(Ok(algorithm)) if finds(algorithm)),
        )
    }

    fn entered(&self, planned: &QueuedJob) -> (PlannedAction, Reason) {
        let job = &planned.job;
        let not_before = match &job.snapshot {
            JobSnapshot::Known { not_before, .. } => *not_before,
            _ => None,
        };
        let (fate, plain) = if self.reattaches(job) {
            let reason = if self.is_findable(job) {
                let words = "possibly bought by an earlier attempt; their provider is asked";
                Reason::new(ReasonCode::PossiblyBought, words)
            } else {
                Reason::new(ReasonCode::Bought, "bought by an earlier attempt")
            };
            (PlannedAction::Reattach, reason)
        } else {
            (PlannedAction::Run, entered(planned.entry))
        };
        let closure = self.closure_for(job);
        let reason = if let Some(closure) = closure {
            let until = closure.until.map(Timestamp::iso).unwrap_or_default();
            let words = format!("waiting for provider {} until {until}", closure.provider);
            Reason::new(ReasonCode::WaitsForProvider, words)
        } else if not_before.is_some_and(|at| at > self.now) {
            Reason::new(ReasonCode::WaitsToRetry, "waiting for their next attempt")
        } else if let Some(pause) = self.pause_of(job) {
            let words = format!(
                "of algo {}, which is paused after failures and is tried with one job first",
                pause.provider
            );
            Reason::new(ReasonCode::PausedBefore, words)
        } else {
            plain
        };
        (fate, reason)
    }

    /// Tells whether a worker asks a person about a job whose holder died, instead of buying again.
    pub(crate) fn asks_first(&self, job: &JobRecord) -> bool {
        let JobSnapshot::Known {
            purchase: None,
            intended,
            ..
        } = job.snapshot
        else {
            return false;
        };
        self.algorithm_of(job).is_some_and(|algorithm| {
            let adapter = &algorithm.adapter;
            let costs = algorithm
                .price
                .unit_usd
                .map_or_else(|| adapter.may_buy(), |usd| usd > 0.0);
            let asks = algorithm.on_interrupt == OnInterrupt::Ask && !adapter.announces();
            (asks || intended && costs) && !adapter.reconciles()
        })
    }

    /// Returns why a job would be taken and fail before its adapter starts.
    fn fails_at_once(&mut self, planned: &QueuedJob) -> Option<Reason> {
        let job = &planned.job;
        let died = planned.entry == Entry::Takeover || job.snapshot.holder_died();
        if died && self.asks_first(job) && !self.request.dry_run {
            let words = "interrupted and possibly billed; they would end as failed to be looked at";
            return Some(Reason::new(ReasonCode::AskFirst, words));
        }
        if !self.pictures.contains_key(&job.images) {
            let workspace = &self.context.workspace;
            let replaced = self.marks.replaced(workspace, &job.images);
            self.replaced
                .extend(replaced.into_iter().map(str::to_owned));
            let why = unusable_picture(workspace, &job.images);
            self.pictures.insert(job.images.clone(), why);
        }
        let why = self.pictures[&job.images].clone();
        let words = "which would fail: a picture is missing or cannot be used";
        why.map(|why| {
            Reason::new(ReasonCode::UnusablePicture, words)
                .with_detail(format!("would fail: {why}"))
        })
    }

    fn closure_of(&self, algorithm: &Algorithm) -> Option<&Closure> {
        let provider = algorithm.provider.as_ref()?;
        self.closed.iter().find(|c| c.provider == *provider)
    }
}
