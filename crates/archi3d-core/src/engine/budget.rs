//! Money: reserved after a job is claimed and before its adapter
//! starts, settled when the attempt is over.
//!
//! A job that does not fit under a limit is put aside and the others go on; it
//! gets another chance when a job of this worker turns out cheaper than reserved.
//! What other workers free is used by the next start. Where the ledger is, and
//! how it is shared, is the store's business.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use crate::domain::budget::{AttemptKey, Bill, Caps, Grant, Level, WARN_FROM};
use crate::domain::id::{AlgoKey, JobId};
use crate::domain::lease::Lease;
use crate::domain::money::Usd;
use crate::engine::Algorithm;
use crate::engine::dispatcher::{Answer, Waiting};
use crate::engine::event::{EventKind, Summary};
use crate::engine::executor::Executor;
use crate::store::{Billing, Budget, Finish, JobRecord, JobSnapshot, ReleaseReason, StoreError};
use crate::trace;

/// Where money is accounted, and how much may be spent.
#[derive(Clone)]
pub struct Funds {
    /// The ledger.
    pub budget: Arc<dyn Budget>,
    /// The limits.
    pub caps: Caps,
    /// The most that earlier jobs of each algorithm turned out to cost, where that
    /// is more than their entry says.
    pub highest_cost: HashMap<String, f64>,
}

/// What a job costs.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Cost {
    /// Nothing.
    Free,
    /// So much.
    Usd(f64),
    /// Nobody knows.
    Unknown,
}

/// How long a job waits that was handed out because money is reserved for it, and for which more would be needed.
const UNFUNDED_PAUSE: Duration = Duration::from_secs(60);

/// What came of reserving the money of a job that was claimed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Funding {
    /// It may start.
    Granted,
    /// A limit does not allow it.
    Refused,
    /// The ledger cannot be used.
    Trouble,
    /// Somebody else has the job by now.
    Lost,
}

impl Executor<'_> {
    fn money(&self) -> Option<&Funds> {
        self.conditions.money.as_ref()
    }

    fn cost_of(&self, job: &JobRecord) -> Cost {
        self.cost_of_algo(&self.algo_of(job), self.algorithm_of(job).ok())
    }

    fn cost_of_algo(&self, algo: &str, algorithm: Option<&Algorithm>) -> Cost {
        let highest_cost = self.dispatch.highest_cost(algo);
        // What cannot run costs nothing.
        let Some(algorithm) = algorithm.filter(|algorithm| algorithm.obstacle.is_none()) else {
            return Cost::Free;
        };
        let highest_cost = highest_cost.unwrap_or(0.0);
        match algorithm.price.unit_usd {
            Some(usd) if usd.max(highest_cost) > 0.0 => Cost::Usd(usd.max(highest_cost)),
            Some(_) => Cost::Free,
            None => Cost::Unknown,
        }
    }

    /// Tells whether the jobs of an algorithm cost nothing, so that they may be taken ahead.
    pub(super) fn is_free(&self, algo: &AlgoKey, algorithm: &Algorithm) -> bool {
        self.conditions.dry_run || self.cost_of_algo(algo.as_str(), Some(algorithm)) == Cost::Free
    }

    /// Tells whether a job only asks for what was bought for it already, which costs
    /// nothing new.
    fn has_purchase(&self, job: &JobRecord) -> bool {
        let JobSnapshot::Known { purchase, .. } = &job.snapshot else {
            return false;
        };
        (purchase.is_some() && !self.conditions.forget_requests)
            || !self.dispatch.bought_for(&job.job_id).is_empty()
    }

    /// Notes what a job really cost: the next ones of its algorithm may cost as
    /// much, whatever its entry says.
    pub(super) fn learn_price(&self, job: &JobRecord, usd: Option<f64>) {
        if let Some(usd) = usd.filter(|usd| usd.is_finite() && *usd > 0.0) {
            self.dispatch.learn_price(self.algo_of(job), usd);
        }
    }

    /// Returns the job if the limits seem to allow it; otherwise puts it aside.
    /// Takes no lock: it only keeps most jobs from being claimed for nothing.
    pub(super) fn seems_affordable(&self, waiting: Waiting) -> Result<Waiting, Answer> {
        let Some(money) = self.money().filter(|money| money.caps.any()) else {
            return Ok(waiting);
        };
        if self.has_purchase(&waiting.planned.job) {
            return Ok(waiting);
        }
        let usd = match self.cost_of(&waiting.planned.job) {
            Cost::Free => return Ok(waiting),
            Cost::Unknown => {
                self.refuse_unpriced(&self.algo_of(&waiting.planned.job), 1);
                return Err(Answer::Over);
            }
            Cost::Usd(usd) => usd,
        };
        if self.dispatch.is_refused(usd) {
            return Err(Answer::Unaffordable(Box::new(waiting)));
        }
        match self.ask(money, &waiting, usd) {
            Ok(Some(limit)) => {
                self.note_refusal(usd, limit);
                Err(Answer::Unaffordable(Box::new(waiting)))
            }
            // What cannot be read is told by whoever needs to write it.
            Ok(None) | Err(_) => Ok(waiting),
        }
    }

    /// Tells whether the limits seem to allow another job of an algorithm. Takes no lock.
    pub(super) fn lane_is_affordable(&self, algo: &AlgoKey, algorithm: &Algorithm) -> bool {
        let Some(money) = self.money().filter(|money| money.caps.any()) else {
            return true;
        };
        let usd = match self.cost_of_algo(algo.as_str(), Some(algorithm)) {
            Cost::Free => return true,
            Cost::Unknown => {
                let _ = self.dispatch.note_short(algo.as_str(), true);
                self.refuse_unpriced(algo.as_str(), 0);
                return false;
            }
            Cost::Usd(usd) => usd,
        };
        let run = self.store.run_id();
        let levels = money.budget.levels(run, money.caps, self.clock.now());
        // What cannot be read is told by whoever needs to write it.
        let short = levels.unwrap_or_default().into_iter();
        match short.min_by(|a, b| a.left_usd().total_cmp(&b.left_usd())) {
            Some(level) if Usd::of(level.left_usd()) < Usd::of(usd) => {
                let _ = self.dispatch.note_short(algo.as_str(), true);
                self.note_refusal(usd, level);
                false
            }
            _ => {
                let _ = self.dispatch.note_short(algo.as_str(), false);
                true
            }
        }
    }

    /// Returns the limit that does not allow a job, as far as can be seen.
    fn ask(&self, money: &Funds, waiting: &Waiting, usd: f64) -> Result<Option<Level>, StoreError> {
        let run = self.store.run_id();
        let job = &waiting.planned.job;
        let gives_up = matches!(
            &job.snapshot,
            JobSnapshot::Known {
                purchase: Some(_),
                ..
            }
        ) || self.buys_blindly(job)
            && !(self.announces(job) && is_unsaid(&job.snapshot));
        let now = self.clock.now();
        let of = (run, &job.job_id);
        let grant = money
            .budget
            .would_grant(of, usd, money.caps, gives_up, now)?;
        Ok(match grant {
            Grant::No(limit) => Some(limit),
            Grant::Yes(_) => None,
        })
    }

    /// Tells whether a job is bought without a look at what earlier attempts bought:
    /// where one of them left its money reserved, it may have been billed, and both
    /// bills may come. An adapter that can look at its provider buys only what was not
    /// bought.
    fn buys_blindly(&self, job: &JobRecord) -> bool {
        !self.algorithm_of(job).is_ok_and(|c| c.adapter.reconciles())
    }

    /// Tells whether an attempt of a job that said no intent has bought nothing.
    fn announces(&self, job: &JobRecord) -> bool {
        self.algorithm_of(job).is_ok_and(|c| c.adapter.announces())
    }

    /// Reserves the money of a job that was claimed.
    pub(super) fn fund(&self, job: &JobRecord, lease: &Lease) -> Funding {
        let Some(money) = self.money() else {
            return Funding::Granted;
        };
        let _span = trace::span("reserve");
        if self.only_asks(job, lease) {
            return Funding::Granted;
        }
        let cost = self.cost_of(job);
        let usd = match cost {
            Cost::Usd(usd) => usd,
            Cost::Free | Cost::Unknown => 0.0,
        };
        match self.reserve(money, job, lease, cost) {
            Ok(Grant::Yes(level)) => {
                self.warn_of(level);
                Funding::Granted
            }
            Ok(Grant::No(limit)) => {
                self.note_refusal(usd, limit);
                Funding::Refused
            }
            Err(StoreError::Fenced { .. }) => Funding::Lost,
            Err(error) => {
                let what = format!("cannot reserve the money of job {}", lease.job_id);
                self.store_failed(&what, &error);
                Funding::Trouble
            }
        }
    }

    fn reserve(
        &self,
        money: &Funds,
        job: &JobRecord,
        lease: &Lease,
        cost: Cost,
    ) -> Result<Grant, StoreError> {
        let now = self.clock.now();
        let key = AttemptKey::from(lease);
        let bought = lease.request_id.is_some() && !self.forgets(lease);
        // What is given up may be billed all the same, and what is over is not looked for.
        let over = lease.purchases > 0 && lease.intent.is_none();
        let anew = !bought && (lease.request_id.is_some() || over || self.buys_blindly(job));
        let earlier = if lease.attempt > 1 {
            money
                .budget
                .reserved_for(self.store.run_id(), &lease.job_id)?
        } else {
            None
        };
        if !bought && earlier.is_some() {
            // What is on record may tell that nothing was billed: then nothing is taken over that only a bill would free.
            let announces = self.announces(job);
            self.try_settle_what_others_left(money, Some(&lease.job_id), announces)?;
        }
        let Cost::Usd(usd) = cost else {
            if anew && earlier.is_some() {
                money.budget.write_off(&key, now)?;
            }
            return Ok(Grant::Yes(None));
        };
        if !bought && usd > 0.0 {
            // A power cut must not leave a reservation of which no other record tells: that is a doubt.
            self.store.secure(lease)?;
        }
        let (grant, usd) = match earlier {
            // The reservation of what is asked for stays as it is.
            Some((_, reserved)) if bought => (Grant::Yes(None), reserved),
            // What is bought already costs nothing new to ask for.
            _ if bought => {
                let caps = Caps::default();
                (money.budget.reserve(&key, usd, caps, now)?, usd)
            }
            _ if anew => (
                money
                    .budget
                    .reserve_additional(&key, usd, money.caps, now)?,
                usd,
            ),
            _ => (money.budget.reserve(&key, usd, money.caps, now)?, usd),
        };
        if matches!(grant, Grant::Yes(_)) {
            self.dispatch.note_reserved(&lease.nonce, usd);
        }
        Ok(grant)
    }

    /// Gives a job back that was claimed and may not start; nothing was used up.
    pub(super) fn give_back_unfunded(
        &self,
        waiting: Waiting,
        lease: &Lease,
        funding: Funding,
    ) -> Answer {
        trace::set("outcome", "unfunded");
        let now = self.clock.now();
        let reason = ReleaseReason::Budget;
        let refused = self.handing.is_some() && funding == Funding::Refused;
        let algo = self.algo_of(&waiting.planned.job);
        // Handed out although nothing of its algorithm may be bought, because money is reserved for it: not at once again.
        let again = refused && self.dispatch.note_short(&algo, true);
        let not_before = again.then(|| now.plus(UNFUNDED_PAUSE));
        if let Err(error) = self.store.release(lease, reason, not_before, now) {
            self.store_failed(&format!("cannot give job {} back", lease.job_id), &error);
        }
        let waiting = Box::new(waiting.after(lease, 0));
        match funding {
            Funding::Lost => {
                self.tell_fenced(lease);
                Answer::Over
            }
            // The store hands it out again.
            _ if self.handing.is_some() => Answer::Over,
            Funding::Trouble => Answer::Again(waiting, Duration::ZERO),
            Funding::Granted | Funding::Refused => Answer::Unaffordable(waiting),
        }
    }

    fn note_refusal(&self, usd: f64, limit: Level) {
        if self.dispatch.refuse(usd, limit) {
            self.report(EventKind::BudgetReached(limit));
        }
    }

    fn refuse_unpriced(&self, algo: &str, jobs: usize) {
        if !self.dispatch.refuse_unpriced(jobs) {
            return;
        }
        self.report(EventKind::Warning {
            message: format!(
                "algo {algo} has no price; its jobs do not start while a budget is set; give it a unit_price_usd in adapters.yaml (0 if it is free)"
            ),
        });
    }

    fn warn_of(&self, level: Option<Level>) {
        let Some(level) = level.filter(|level| level.used() >= WARN_FROM) else {
            return;
        };
        if self.dispatch.may_warn_of_limit() {
            self.report(EventKind::BudgetWarning(level));
        }
    }

    /// Notes that a provider accepted the request, and what it says that costs.
    pub(super) fn note_purchase(&self, lease: &Lease, usd: Option<f64>) {
        self.dispatch.note_accepted(&lease.nonce);
        self.note_cost(lease, usd);
    }

    /// Notes what the purchases of an attempt are said to cost.
    pub(super) fn note_cost(&self, lease: &Lease, usd: Option<f64>) {
        let Some(money) = self.money() else { return };
        let usd = usd.unwrap_or_default();
        let known = self.dispatch.reserved_usd(&lease.nonce);
        // Until the attempt is over it may buy more, so what is reserved never falls.
        let covered = known.is_some_and(|known| usd <= known);
        if !usd.is_finite() || usd <= 0.0 || covered {
            return;
        }
        // It is bought already, so no limit is asked.
        let (key, now) = (AttemptKey::from(lease), self.clock.now());
        match money.budget.raise(&key, usd, now) {
            Ok(()) => self.dispatch.note_reserved(&lease.nonce, usd),
            Err(error) => self.store_failed("cannot note the price of a purchase", &error),
        }
    }

    /// Ends the reservation of an attempt that brought a result. A late result of
    /// a purchase that another attempt re-attached to is that attempt's bill.
    pub(super) fn bill_made(&self, lease: &Lease, finish: &Finish, usd: Option<f64>) {
        let bought = self.dispatch.is_accepted(&lease.nonce);
        let purchase = bought || lease.request_id.is_some();
        if matches!(finish, Finish::Fenced { .. }) && purchase {
            return;
        }
        self.bill(lease, Bill::Settled(usd.unwrap_or_default()));
    }

    /// Ends the reservation of an attempt, or leaves it where that is in doubt.
    pub(super) fn bill(&self, lease: &Lease, bill: Bill) {
        let Some(money) = self.money() else { return };
        let Bill::Settled(usd) = bill else { return };
        let reserved = self.dispatch.end_reservation(&lease.nonce);
        if reserved.is_none() && usd <= 0.0 {
            return;
        }
        if let Err(error) = self.settle_reserved(money, lease, usd) {
            let what = format!(
                "cannot settle the money of job {}; it stays reserved until the next start",
                lease.job_id
            );
            self.store_failed(&what, &error);
            return;
        }
        self.dispatch.count(|tally| tally.summary.spent_usd += usd);
        if reserved.is_some_and(|reserved| usd < reserved) {
            self.dispatch.note_freed();
        }
    }

    /// Settles an attempt. One that asked for what an earlier attempt bought, and hears
    /// that it costs nothing, ends the reservation of that one.
    fn settle_reserved(&self, money: &Funds, lease: &Lease, usd: f64) -> Result<(), StoreError> {
        let mut key = AttemptKey::from(lease);
        if usd <= 0.0
            && lease.request_id.is_some()
            && let Some((earlier, _)) = money
                .budget
                .reserved_for(self.store.run_id(), &lease.job_id)?
        {
            key = earlier;
        }
        money.budget.settle(&key, usd, self.clock.now())
    }

    /// Settles what dead workers reserved where their journals tell what was
    /// billed: for the whole run, or for one job. A limit of the day is one of all
    /// runs, so under one theirs is settled too.
    pub(super) fn settle_what_others_left(&self, only: Option<&JobId>) {
        let Some(money) = self.money() else { return };
        if let Err(error) = self.try_settle_what_others_left(money, only, false) {
            self.store_failed("cannot settle what other workers reserved", &error);
        }
    }

    fn try_settle_what_others_left(
        &self,
        money: &Funds,
        only: Option<&JobId>,
        announces: bool,
    ) -> Result<(), StoreError> {
        let shared = only.is_none() && money.caps.day_usd.is_some();
        let today = shared.then(|| self.clock.now());
        let mut open = money.budget.open(self.store.run_id(), today)?;
        open.retain(|(key, _)| only.is_none_or(|job| key.job_id == *job));
        let (keys, amounts): (Vec<AttemptKey>, Vec<f64>) = open.into_iter().unzip();
        if keys.is_empty() {
            return Ok(());
        }
        let billings = self.store.billings(&keys)?;
        for ((key, reserved), billing) in keys.iter().zip(amounts).zip(billings) {
            let usd = match billing {
                Billing::Unsaid if announces => 0.0,
                Billing::Unsaid | Billing::Open => continue,
                Billing::Billed(usd) => usd.unwrap_or(reserved),
                Billing::NotBilled => 0.0,
            };
            money.budget.settle(key, usd, self.clock.now())?;
        }
        Ok(())
    }

    /// Tells what waits for money when the run is over.
    pub(super) fn close_budget(&self, summary: &mut Summary, unclaimed: &BTreeMap<String, usize>) {
        let known = self.dispatch.take_money();
        let waiting = known.waiting.iter();
        let mut costs: Vec<(Cost, usize)> =
            waiting.map(|w| (self.cost_of(&w.planned.job), 1)).collect();
        summary.unpriced_blocked = known.unpriced;
        summary.blocked_by_budget = known.unpriced + known.waiting.len();
        for (algo, jobs) in unclaimed.iter().filter(|(a, _)| known.short.contains(*a)) {
            let algorithm = AlgoKey::parse(algo).ok();
            let algorithm = algorithm.and_then(|key| self.algorithms.get(&key)?.as_ref().ok());
            let cost = self.cost_of_algo(algo, algorithm);
            summary.blocked_by_budget += jobs;
            summary.unpriced_blocked += if cost == Cost::Unknown { *jobs } else { 0 };
            costs.push((cost, *jobs));
        }
        for job in &known.waiting {
            summary.left.note_waiting(job);
        }
        summary.spent_usd = Usd::of(summary.spent_usd).dollars();
        let costs = costs.into_iter().map(|(cost, jobs)| match cost {
            Cost::Usd(usd) => Usd::of(usd).times(jobs),
            Cost::Free | Cost::Unknown => Usd::ZERO,
        });
        summary.blocked_cost_usd = costs.sum::<Usd>().dollars();
        let Some(money) = self.money().filter(|_| summary.blocked_by_budget > 0) else {
            return;
        };
        let (run, now) = (self.store.run_id(), self.clock.now());
        // What cannot be read now is shown as it was last seen.
        let levels = money
            .budget
            .levels(run, money.caps, now)
            .unwrap_or_default();
        let kind = known.limit.map(|limit| limit.cap);
        let same = levels.iter().find(|level| Some(level.cap) == kind);
        summary.budget = same.or(levels.first()).copied().or(known.limit);
    }
}

/// Tells whether nothing is on record that an earlier attempt of a job may have bought.
fn is_unsaid(snapshot: &JobSnapshot) -> bool {
    matches!(
        snapshot,
        JobSnapshot::Known {
            doubtful: false,
            intended: false,
            ..
        }
    )
}
