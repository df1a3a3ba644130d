//! What is known of the money: what is reserved, which jobs no limit allows, and what was
//! bought for each job until it has its result.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::{Dispatch, Waiting};
use crate::domain::budget::Level;
use crate::domain::id::{JobId, Nonce};

/// What a run knows of its money.
#[derive(Debug, Default)]
pub(in crate::engine) struct Money {
    /// Jobs that a limit did not allow.
    pub(in crate::engine) waiting: Vec<Waiting>,
    /// The cheapest price that was refused; what costs as much need not ask.
    refused_usd: Option<f64>,
    /// The limit that refused it.
    pub(in crate::engine) limit: Option<Level>,
    /// Whether a job turned out cheaper than reserved since then.
    freed: bool,
    /// Algorithms whose jobs are not asked for, because a limit does not allow them.
    pub(in crate::engine) short: BTreeSet<String>,
    /// How many jobs were refused because their price is unknown.
    pub(in crate::engine) unpriced: usize,
    /// What this run has reserved and not settled.
    reserved: HashMap<Nonce, f64>,
    /// The most that a job of each algorithm turned out to cost.
    highest_cost: HashMap<String, f64>,
    /// Attempts whose provider has accepted the request.
    bought: HashSet<Nonce>,
    warned: bool,
    told_of_unpriced: bool,
}

/// What this run has bought for a job, or meant to; only older purchases are ever given up.
#[derive(Debug, Default)]
pub(super) struct Purchases {
    /// Each id with what it is said to cost.
    bought: Vec<(String, Option<f64>)>,
    intended: bool,
}

impl Money {
    /// Begins with what is known from before.
    pub(in crate::engine) fn with_costs(highest_cost: HashMap<String, f64>) -> Self {
        Self {
            highest_cost,
            ..Self::default()
        }
    }

    /// Tells whether jobs wait for money and some was freed.
    pub(super) fn can_afford_again(&self) -> bool {
        self.freed && !self.waiting.is_empty()
    }

    /// Returns the jobs that wait for money, if some was freed.
    pub(super) fn afford_again(&mut self) -> Vec<Waiting> {
        if !self.can_afford_again() {
            return Vec::new();
        }
        self.freed = false;
        self.refused_usd = None;
        std::mem::take(&mut self.waiting)
    }
}

impl Dispatch {
    /// Returns what is known of the money, with the jobs that wait for it; only prices are left.
    pub(in crate::engine) fn take_money(&self) -> Money {
        let money = &mut self.state().money;
        let left = Money::with_costs(money.highest_cost.clone());
        std::mem::replace(money, left)
    }

    /// Returns the most that a job of an algorithm turned out to cost.
    pub(in crate::engine) fn highest_cost(&self, algo: &str) -> Option<f64> {
        self.state().money.highest_cost.get(algo).copied()
    }

    /// Notes what a job really cost: the next ones of its algorithm may cost as
    /// much, whatever its entry says.
    pub(in crate::engine) fn learn_price(&self, algo: String, usd: f64) {
        let mut state = self.state();
        let highest_cost = state.money.highest_cost.entry(algo).or_default();
        *highest_cost = highest_cost.max(usd);
    }

    /// Tells whether a price as low was refused, so that the limits need not be asked.
    pub(in crate::engine) fn is_refused(&self, usd: f64) -> bool {
        let refused = self.state().money.refused_usd;
        refused.is_some_and(|refused| usd >= refused)
    }

    /// Notes that a limit does not allow a price; tells whether it is the first one refused.
    pub(in crate::engine) fn refuse(&self, usd: f64, limit: Level) -> bool {
        let money = &mut self.state().money;
        let cheapest = money.refused_usd.map_or(usd, |other| other.min(usd));
        money.refused_usd = Some(cheapest);
        money.limit.replace(limit).is_none()
    }

    /// Counts jobs that are refused because their price is unknown; tells whether it was not
    /// yet told that an algorithm has none.
    pub(in crate::engine) fn refuse_unpriced(&self, jobs: usize) -> bool {
        let money = &mut self.state().money;
        money.unpriced += jobs;
        !std::mem::replace(&mut money.told_of_unpriced, true)
    }

    /// Tells whether it was not yet told that a limit is near.
    pub(in crate::engine) fn may_warn_of_limit(&self) -> bool {
        !std::mem::replace(&mut self.state().money.warned, true)
    }

    /// Notes whether a limit keeps the jobs of an algorithm from being asked for; tells whether one did before.
    pub(in crate::engine) fn note_short(&self, algo: &str, short: bool) -> bool {
        let algos = &mut self.state().money.short;
        if short {
            !algos.insert(algo.to_owned())
        } else {
            algos.remove(algo)
        }
    }

    /// Notes what is reserved for an attempt.
    pub(in crate::engine) fn note_reserved(&self, attempt: &Nonce, usd: f64) {
        self.state().money.reserved.insert(attempt.clone(), usd);
    }

    /// Returns what is reserved for an attempt.
    pub(in crate::engine) fn reserved_usd(&self, attempt: &Nonce) -> Option<f64> {
        self.state().money.reserved.get(attempt).copied()
    }

    /// Notes that a provider accepted the request of an attempt.
    pub(in crate::engine) fn note_accepted(&self, attempt: &Nonce) {
        self.state().money.bought.insert(attempt.clone());
    }

    /// Tells whether a provider accepted the request of an attempt.
    pub(in crate::engine) fn is_accepted(&self, attempt: &Nonce) -> bool {
        self.state().money.bought.contains(attempt)
    }

    /// Ends what is known of an attempt; returns what was reserved for it.
    pub(in crate::engine) fn end_reservation(&self, attempt: &Nonce) -> Option<f64> {
        let money = &mut self.state().money;
        money.bought.remove(attempt);
        money.reserved.remove(attempt)
    }

    /// Notes that a job turned out cheaper than reserved.
    pub(in crate::engine) fn note_freed(&self) {
        self.state().money.freed = true;
    }
}

/// What this run bought.
impl Dispatch {
    /// Notes that a job is about to be bought.
    pub(in crate::engine) fn note_intent(&self, job: &JobId) {
        let mut state = self.state();
        state.purchases.entry(job.clone()).or_default().intended = true;
    }

    /// Tells whether this run meant to buy a job.
    pub(in crate::engine) fn has_intended(&self, job: &JobId) -> bool {
        let state = self.state();
        state.purchases.get(job).is_some_and(|of| of.intended)
    }

    /// Notes a purchase, and what it is said to cost.
    pub(in crate::engine) fn note_bought(&self, job: &JobId, request_id: &str, usd: Option<f64>) {
        let mut state = self.state();
        let bought = &mut state.purchases.entry(job.clone()).or_default().bought;
        match bought.iter_mut().find(|(id, _)| id == request_id) {
            Some((_, known)) => *known = usd.or(*known),
            None => bought.push((request_id.to_owned(), usd)),
        }
    }

    /// Forgets a purchase that came to nothing.
    pub(in crate::engine) fn note_void(&self, job: &JobId, request_id: &str) {
        if let Some(of) = self.state().purchases.get_mut(job) {
            of.bought.retain(|(id, _)| id != request_id);
        }
    }

    /// Returns what this run bought for a job, each id with what it is said to cost.
    pub(in crate::engine) fn bought_for(&self, job: &JobId) -> Vec<(String, Option<f64>)> {
        let state = self.state();
        let of = state.purchases.get(job);
        of.map(|of| of.bought.clone()).unwrap_or_default()
    }

    /// Forgets what was bought for a job that has its result.
    pub(in crate::engine) fn forget_purchases(&self, job: &JobId) {
        self.state().purchases.remove(job);
    }
}
