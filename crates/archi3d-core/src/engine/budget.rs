//! Money in the pool: reserved after a job is claimed and before its adapter
//! starts, settled when the attempt is over.
//!
//! A job that does not fit under a limit is put aside and the others go on; it
//! gets another chance when a job of this pool turns out cheaper than reserved.
//! What other workers free is used by the next start. Where the ledger is, and
//! how it is shared, is the store's business.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::domain::budget::{Bill, Caps, Grant, Level, Stake, WARN_FROM};
use crate::domain::id::{AlgoKey, JobId, Nonce};
use crate::domain::lease::Lease;
use crate::domain::money::Usd;
use crate::engine::event::{EventKind, Summary};
use crate::engine::queue::Waiting;
use crate::engine::{Carrier, Pool};
use crate::store::{Billing, Budget, Finish, JobRecord, ReleaseReason, Standing, StoreError};

/// Where money is accounted, and how much may be spent.
#[derive(Clone)]
pub struct Money {
    /// The ledger.
    pub budget: Arc<dyn Budget>,
    /// The limits.
    pub caps: Caps,
    /// The most that earlier jobs of each algorithm turned out to cost, where that
    /// is more than their entry says.
    pub highest_cost: HashMap<String, f64>,
}

/// What the threads of a pool know of the money.
#[derive(Debug, Default)]
pub(super) struct Till(Mutex<Drawer>);

#[derive(Debug, Default)]
struct Drawer {
    /// Jobs that a limit did not allow.
    waiting: Vec<Waiting>,
    /// The cheapest price that was refused; what costs as much need not ask.
    refused_usd: Option<f64>,
    /// The limit that refused it.
    limit: Option<Level>,
    /// Whether a job turned out cheaper than reserved since then.
    freed: bool,
    /// Algorithms whose jobs are not asked for, because a limit does not allow them.
    short: BTreeSet<String>,
    /// How many jobs were refused because nobody knows their price.
    unpriced: usize,
    /// What this pool has reserved and not settled.
    reserved: HashMap<Nonce, f64>,
    /// The most that a job of each algorithm turned out to cost.
    highest_cost: HashMap<String, f64>,
    /// Attempts whose provider has accepted the request.
    bought: HashSet<Nonce>,
    warned: bool,
    told_of_unpriced: bool,
}

impl Till {
    /// Opens with what is known from before.
    pub(super) fn of(money: Option<&Money>) -> Self {
        let highest_cost = money.map(|money| money.highest_cost.clone());
        Self(Mutex::new(Drawer {
            highest_cost: highest_cost.unwrap_or_default(),
            ..Drawer::default()
        }))
    }

    fn open(&self) -> MutexGuard<'_, Drawer> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells whether jobs wait for money.
    pub(super) fn has_waiting(&self) -> bool {
        !self.open().waiting.is_empty()
    }
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

impl Pool<'_> {
    fn money(&self) -> Option<&Money> {
        self.conditions.money.as_ref()
    }

    fn cost_of(&self, job: &JobRecord) -> Cost {
        self.cost_of_algo(&self.algo_of(job), self.carrier_of(job).ok())
    }

    fn cost_of_algo(&self, algo: &str, carrier: Option<&Carrier>) -> Cost {
        let highest_cost = self.till.open().highest_cost.get(algo).copied();
        // What cannot run costs nothing.
        let Some(carrier) = carrier.filter(|carrier| carrier.obstacle.is_none()) else {
            return Cost::Free;
        };
        let highest_cost = highest_cost.unwrap_or(0.0);
        match carrier.price.unit_usd {
            Some(usd) if usd.max(highest_cost) > 0.0 => Cost::Usd(usd.max(highest_cost)),
            Some(_) => Cost::Free,
            None => Cost::Unknown,
        }
    }

    /// Tells whether the jobs of an algorithm cost nothing, so that they may be taken ahead.
    pub(super) fn is_free(&self, algo: &AlgoKey, carrier: &Carrier) -> bool {
        self.conditions.dry_run || self.cost_of_algo(algo.as_str(), Some(carrier)) == Cost::Free
    }

    /// Tells whether a job only asks for what was bought for it already, which costs
    /// nothing new.
    fn has_purchase(&self, job: &JobRecord) -> bool {
        let Standing::Known { purchase, .. } = &job.standing else {
            return false;
        };
        let bought = self.bought.lock().unwrap_or_else(PoisonError::into_inner);
        (purchase.is_some() && !self.conditions.forget_requests)
            || bought.keys().any(|(of, _)| *of == job.job_id)
    }

    /// Notes what a job really cost: the next ones of its algorithm may cost as
    /// much, whatever its entry says.
    pub(super) fn learn_price(&self, job: &JobRecord, usd: Option<f64>) {
        if let Some(usd) = usd.filter(|usd| usd.is_finite() && *usd > 0.0) {
            let mut drawer = self.till.open();
            let highest_cost = drawer.highest_cost.entry(self.algo_of(job)).or_default();
            *highest_cost = highest_cost.max(usd);
        }
    }

    /// Returns the job if the limits seem to allow it; otherwise puts it aside.
    /// Takes no lock: it only keeps most jobs from being claimed for nothing.
    pub(super) fn seems_affordable(&self, waiting: Waiting) -> Option<Waiting> {
        let Some(money) = self.money().filter(|money| money.caps.any()) else {
            return Some(waiting);
        };
        if self.has_purchase(&waiting.planned.job) {
            return Some(waiting);
        }
        match self.cost_of(&waiting.planned.job) {
            Cost::Free => Some(waiting),
            Cost::Unknown => {
                self.refuse_unpriced(&waiting);
                None
            }
            Cost::Usd(usd) => {
                {
                    let mut drawer = self.till.open();
                    if drawer.refused_usd.is_some_and(|refused| usd >= refused) {
                        drawer.waiting.push(waiting);
                        return None;
                    }
                }
                match self.ask(money, &waiting, usd) {
                    Ok(Some(limit)) => {
                        self.put_aside(waiting, usd, limit);
                        None
                    }
                    // What cannot be read is told by whoever needs to write it.
                    Ok(None) | Err(_) => Some(waiting),
                }
            }
        }
    }

    /// Tells whether the limits seem to allow another job of an algorithm. Takes no lock.
    pub(super) fn lane_is_affordable(&self, algo: &AlgoKey, carrier: &Carrier) -> bool {
        let Some(money) = self.money().filter(|money| money.caps.any()) else {
            return true;
        };
        let usd = match self.cost_of_algo(algo.as_str(), Some(carrier)) {
            Cost::Free => return true,
            Cost::Unknown => {
                self.till.open().short.insert(algo.to_string());
                self.tell_of_unpriced(algo.as_str());
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
                self.till.open().short.insert(algo.to_string());
                self.note_refusal(usd, level);
                false
            }
            _ => {
                self.till.open().short.remove(algo.as_str());
                true
            }
        }
    }

    /// Returns the limit that does not allow a job, as far as can be seen.
    fn ask(&self, money: &Money, waiting: &Waiting, usd: f64) -> Result<Option<Level>, StoreError> {
        let run = self.store.run_id();
        let job = &waiting.planned.job;
        let gives_up = matches!(
            &job.standing,
            Standing::Known {
                purchase: Some(_),
                ..
            }
        ) || self.buys_blindly(job);
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
        !self.carrier_of(job).is_ok_and(|c| c.adapter.reconciles())
    }

    /// Returns whose money is reserved for a job, and how much.
    fn reserved_for(&self, money: &Money, job: &JobId) -> Result<Option<(Stake, f64)>, StoreError> {
        money.budget.reserved_for(self.store.run_id(), job)
    }

    /// Reserves the money of a job that was claimed.
    pub(super) fn fund(&self, job: &JobRecord, lease: &Lease) -> Funding {
        let Some(money) = self.money() else {
            return Funding::Granted;
        };
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
        money: &Money,
        job: &JobRecord,
        lease: &Lease,
        cost: Cost,
    ) -> Result<Grant, StoreError> {
        let now = self.clock.now();
        let stake = Stake::from(lease);
        let bought = lease.request_id.is_some() && !self.forgets(lease);
        // What is given up may be billed all the same, and what is over is not looked for.
        let over = lease.purchases > 0 && lease.intent.is_none();
        let anew = !bought && (lease.request_id.is_some() || over || self.buys_blindly(job));
        let earlier = if lease.attempt > 1 {
            self.reserved_for(money, &lease.job_id)?
        } else {
            None
        };
        if anew && earlier.is_some() {
            // Its journal may tell that nothing was billed.
            self.try_settle_what_others_left(money, Some(&lease.job_id))?;
        }
        let Cost::Usd(usd) = cost else {
            if anew && earlier.is_some() {
                money.budget.write_off(&stake, now)?;
            }
            return Ok(Grant::Yes(None));
        };
        let (grant, usd) = match earlier {
            // The reservation of what is asked for stays as it is.
            Some((_, reserved)) if bought => (Grant::Yes(None), reserved),
            // What is bought already costs nothing new to ask for.
            _ if bought => {
                let caps = Caps::default();
                (money.budget.reserve(&stake, usd, caps, now)?, usd)
            }
            _ if anew => (
                money
                    .budget
                    .reserve_additional(&stake, usd, money.caps, now)?,
                usd,
            ),
            _ => (money.budget.reserve(&stake, usd, money.caps, now)?, usd),
        };
        if matches!(grant, Grant::Yes(_)) {
            let mut drawer = self.till.open();
            drawer.reserved.insert(lease.nonce.clone(), usd);
        }
        Ok(grant)
    }

    /// Gives a job back that was claimed and may not start; nothing was used up.
    pub(super) fn give_back_unfunded(&self, waiting: Waiting, lease: &Lease, funding: Funding) {
        let now = self.clock.now();
        let reason = ReleaseReason::Budget;
        if let Err(error) = self.store.release(lease, reason, None, now) {
            self.store_failed(&format!("cannot give job {} back", lease.job_id), &error);
        }
        if funding == Funding::Lost {
            self.tell_fenced(lease);
            return;
        }
        let waiting = waiting.after(lease, 0);
        if self.served.is_some() {
            if funding == Funding::Refused {
                let algo = self.algo_of(&waiting.planned.job);
                self.till.open().short.insert(algo);
            }
        } else if funding == Funding::Trouble {
            self.queue.put_back(waiting, Duration::ZERO);
        } else {
            self.till.open().waiting.push(waiting);
        }
    }

    fn put_aside(&self, waiting: Waiting, usd: f64, limit: Level) {
        self.note_refusal(usd, limit);
        self.till.open().waiting.push(waiting);
    }

    fn note_refusal(&self, usd: f64, limit: Level) {
        let mut drawer = self.till.open();
        let first = drawer.limit.replace(limit).is_none();
        let cheapest = drawer.refused_usd.map_or(usd, |other| other.min(usd));
        drawer.refused_usd = Some(cheapest);
        drop(drawer);
        if first {
            self.report(EventKind::BudgetReached(limit));
        }
    }

    fn refuse_unpriced(&self, waiting: &Waiting) {
        self.till.open().unpriced += 1;
        self.tell_of_unpriced(&self.algo_of(&waiting.planned.job));
    }

    fn tell_of_unpriced(&self, algo: &str) {
        let mut drawer = self.till.open();
        if std::mem::replace(&mut drawer.told_of_unpriced, true) {
            return;
        }
        drop(drawer);
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
        if !std::mem::replace(&mut self.till.open().warned, true) {
            self.report(EventKind::BudgetWarning(level));
        }
    }

    /// Queues the jobs that wait for money again, if some was freed.
    pub(super) fn afford_again(&self) -> bool {
        let mut drawer = self.till.open();
        if drawer.waiting.is_empty() || !drawer.freed {
            return false;
        }
        drawer.freed = false;
        drawer.refused_usd = None;
        let waiting = std::mem::take(&mut drawer.waiting);
        drop(drawer);
        self.queue.put_back_all(waiting);
        true
    }

    /// Notes that a provider accepted the request, and what it says that costs.
    pub(super) fn note_purchase(&self, lease: &Lease, usd: Option<f64>) {
        self.till.open().bought.insert(lease.nonce.clone());
        self.note_cost(lease, usd);
    }

    /// Returns what was reserved for an attempt.
    pub(super) fn reserved_usd(&self, lease: &Lease) -> Option<f64> {
        self.till.open().reserved.get(&lease.nonce).copied()
    }

    /// Notes what the purchases of an attempt are said to cost.
    pub(super) fn note_cost(&self, lease: &Lease, usd: Option<f64>) {
        let Some(money) = self.money() else { return };
        let usd = usd.unwrap_or_default();
        let known = self.reserved_usd(lease);
        // What earlier attempts bought is in what they reserved.
        let covered = lease.request_id.is_some() && known.is_some_and(|known| usd < known);
        if !usd.is_finite() || usd <= 0.0 || known == Some(usd) || covered {
            return;
        }
        // It is bought already, so no limit is asked.
        let (stake, now) = (Stake::from(lease), self.clock.now());
        match money.budget.raise(&stake, usd, now) {
            Ok(()) => drop(self.till.open().reserved.insert(lease.nonce.clone(), usd)),
            Err(error) => self.store_failed("cannot note the price of a purchase", &error),
        }
    }

    /// Ends the reservation of an attempt that brought a result. A late result of
    /// a purchase that another attempt re-attached to is that attempt's bill.
    pub(super) fn bill_made(&self, lease: &Lease, finish: &Finish, usd: Option<f64>) {
        let bought = self.till.open().bought.contains(&lease.nonce);
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
        let reserved = {
            let mut drawer = self.till.open();
            drawer.bought.remove(&lease.nonce);
            drawer.reserved.remove(&lease.nonce)
        };
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
        self.count(|tally| tally.summary.spent_usd += usd);
        if reserved.is_some_and(|reserved| usd < reserved) {
            self.till.open().freed = true;
        }
    }

    /// Settles an attempt. One that asked for what an earlier attempt bought, and hears
    /// that it costs nothing, ends the reservation of that one.
    fn settle_reserved(&self, money: &Money, lease: &Lease, usd: f64) -> Result<(), StoreError> {
        let mut stake = Stake::from(lease);
        if usd <= 0.0
            && lease.request_id.is_some()
            && let Some((earlier, _)) = self.reserved_for(money, &lease.job_id)?
        {
            stake = earlier;
        }
        money.budget.settle(&stake, usd, self.clock.now())
    }

    /// Settles what dead workers reserved where their journals tell what was
    /// billed: for the whole run, or for one job. A limit of the day is one of all
    /// runs, so under one theirs is settled too.
    pub(super) fn settle_what_others_left(&self, only: Option<&JobId>) {
        let Some(money) = self.money() else { return };
        if let Err(error) = self.try_settle_what_others_left(money, only) {
            self.store_failed("cannot settle what other workers reserved", &error);
        }
    }

    fn try_settle_what_others_left(
        &self,
        money: &Money,
        only: Option<&JobId>,
    ) -> Result<(), StoreError> {
        let shared = only.is_none() && money.caps.day_usd.is_some();
        let today = shared.then(|| self.clock.now());
        let mut open = money.budget.open(self.store.run_id(), today)?;
        open.retain(|(stake, _)| only.is_none_or(|job| stake.job_id == *job));
        let (stakes, amounts): (Vec<Stake>, Vec<f64>) = open.into_iter().unzip();
        if stakes.is_empty() {
            return Ok(());
        }
        let billings = self.store.billings(&stakes)?;
        for ((stake, reserved), billing) in stakes.iter().zip(amounts).zip(billings) {
            let usd = match billing {
                Billing::Open => continue,
                Billing::Billed(usd) => usd.unwrap_or(reserved),
                Billing::NotBilled => 0.0,
            };
            money.budget.settle(stake, usd, self.clock.now())?;
        }
        Ok(())
    }

    fn costs_of_waiting(&self) -> Vec<Cost> {
        let waiting = self.till.open().waiting.clone();
        let costs = waiting.iter().map(|w| self.cost_of(&w.planned.job));
        costs.collect()
    }

    /// Tells what waits for money when the pool is done.
    pub(super) fn close_till(&self, summary: &mut Summary, unclaimed: &BTreeMap<String, usize>) {
        let mut costs = self.costs_of_waiting();
        let drawer = std::mem::take(&mut *self.till.open());
        summary.unpriced_blocked = drawer.unpriced;
        summary.blocked_by_budget = drawer.unpriced + drawer.waiting.len();
        for (algo, jobs) in unclaimed.iter().filter(|(a, _)| drawer.short.contains(*a)) {
            let carrier = AlgoKey::parse(algo).ok();
            let carrier = carrier.and_then(|key| self.carriers.get(&key)?.as_ref().ok());
            let cost = self.cost_of_algo(algo, carrier);
            summary.blocked_by_budget += jobs;
            summary.unpriced_blocked += if cost == Cost::Unknown { *jobs } else { 0 };
            costs.extend(std::iter::repeat_n(cost, *jobs));
        }
        for job in &drawer.waiting {
            summary.left.note_waiting(job);
        }
        summary.spent_usd = Usd::of(summary.spent_usd).dollars();
        let known = costs.into_iter().map(|cost| match cost {
            Cost::Usd(usd) => usd,
            Cost::Free | Cost::Unknown => 0.0,
        });
        summary.blocked_cost_usd = known.map(Usd::of).sum::<Usd>().dollars();
        let Some(money) = self.money().filter(|_| summary.blocked_by_budget > 0) else {
            return;
        };
        let (run, now) = (self.store.run_id(), self.clock.now());
        // What cannot be read now is shown as it was last seen.
        let levels = money
            .budget
            .levels(run, money.caps, now)
            .unwrap_or_default();
        let kind = drawer.limit.map(|limit| limit.cap);
        let same = levels.iter().find(|level| Some(level.cap) == kind);
        summary.budget = same.or(levels.first()).copied().or(drawer.limit);
    }
}
