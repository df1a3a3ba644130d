//! The sums of a plan by algorithm, and how long it takes: from past medians, the
//! parallelism asked for and the limits of the providers.

use std::collections::HashMap;
use std::time::Duration;

use crate::domain::algo::AlgoSettings;
use crate::domain::finding::such_as;
use crate::domain::forecast::{self, Portion};
use crate::domain::id::AlgoKey;
use crate::domain::limits::Limits;
use crate::domain::money::Usd;
use crate::ops::view::plan::{self, AlgoPlan, JobPlan, ListedPrices, Plan, PlannedAction, Sums};

use super::Planner;

impl Planner<'_> {
    /// Sums the jobs up.
    pub(super) fn finish(mut self, mut jobs: Vec<JobPlan>, mut warnings: Vec<String>) -> Plan {
        warnings.append(&mut self.warnings);
        let replaced: Vec<String> = std::mem::take(&mut self.replaced).into_iter().collect();
        if !replaced.is_empty() {
            let names = such_as(replaced.len(), "picture", &replaced);
            warnings.push(format!("{names}: replaced since the batch was made"));
        }
        let past = self.runs.medians().unwrap_or_else(|error| {
            warnings.push(format!("earlier times cannot be read: {error}"));
            HashMap::new()
        });
        let mut algos = Vec::new();
        let mut places: HashMap<String, usize> = HashMap::new();
        for job in &jobs {
            let place = *places.entry(job.name.algo.clone()).or_insert_with(|| {
                algos.push(self.algo(&job.name.algo, &past));
                algos.len() - 1
            });
            let algo: &mut AlgoPlan = &mut algos[place];
            algo.fates[job.fate as usize] += 1;
            if job.fate.starts() || self.prices_blocked && job.fate == PlannedAction::Blocked {
                algo.cost.add(&job.price);
            }
        }
        let mut cost = Sums::default();
        let mut fates = [0; PlannedAction::ALL.len()];
        for algo in &algos {
            cost.join(&algo.cost);
            for (all, own) in fates.iter_mut().zip(algo.fates) {
                *all += own;
            }
        }
        let most = self.most(&jobs);
        cost.cap(most);
        for algo in &mut algos {
            algo.cost.cap(most);
        }
        for job in &mut jobs {
            let worst = job.price.worst;
            job.price.worst = most.map_or(worst, |most| worst.min(most));
        }
        let time = self.time(&mut algos);
        let request = self.request;
        let money = self.limited_money();
        Plan {
            reading: None,
            identical: self.identical,
            listed: self.listed(&algos),
            run_id: request.run_id.clone(),
            at: self.now,
            dry_run: request.dry_run,
            max_parallel: request.max_parallel,
            order: request.spending.order,
            after_usd: Usd::of(money.spent_usd) + Usd::of(money.reserved_usd) + cost.new_usd,
            reasons: plan::reasons(&jobs),
            fates,
            cost,
            time,
            algos,
            jobs,
            money,
            warnings,
        }
    }

    fn algo(&self, algo: &str, past: &HashMap<String, f64>) -> AlgoPlan {
        let settings = self.context.settings.algo(algo);
        let rehearsed = self.request.simulate_ms.unwrap_or_default() as f64 / 1e3;
        AlgoPlan {
            algo: algo.to_owned(),
            fates: [0; PlannedAction::ALL.len()],
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

    /// Returns the listed prices of the algorithms of which jobs would start.
    fn listed(&self, algos: &[AlgoPlan]) -> Option<ListedPrices> {
        let starts = |algo: &&AlgoPlan| plan::starting(&algo.fates) > 0;
        let mut listed: Option<ListedPrices> = None;
        for algo in algos.iter().filter(starts) {
            let settings = self.context.settings.algo(&algo.algo);
            let Some(price) = settings.and_then(AlgoSettings::listed_in_use) else {
                continue;
            };
            let sum = listed.get_or_insert_with(|| ListedPrices {
                algos: Vec::new(),
                fetched_at: price.fetched_at,
                age_s: 0,
                source: price.source.clone(),
            });
            sum.algos.push(algo.algo.clone());
            sum.fetched_at = sum.fetched_at.min(price.fetched_at);
            sum.age_s = self.now.since(sum.fetched_at).as_secs();
        }
        listed
    }

    /// Fills in how long each algorithm takes and returns how long all take;
    /// nothing if one has no past. Algorithms of one provider share its limits.
    fn time(&self, algos: &mut [AlgoPlan]) -> Option<Duration> {
        let parallel = self.request.max_parallel as f64;
        let mut shared: HashMap<Option<AlgoKey>, Portion> = HashMap::new();
        let mut longest = Some(Duration::ZERO);
        for algo in algos {
            let (provider, limits) = self.provider_of(&algo.algo);
            let portion = portion(algo, limits);
            algo.time = portion.map(|portion| forecast::time_for(&[portion], parallel));
            longest = longest.zip(algo.time).map(|(one, other)| one.max(other));
            if let Some(portion) = portion {
                let joined = shared.entry(provider);
                let joined = joined.and_modify(|known| *known = joint(*known, portion));
                joined.or_insert(portion);
            }
        }
        let shared: Vec<Portion> = shared.into_values().collect();
        longest.map(|longest| forecast::time_for(&shared, parallel).max(longest))
    }

    /// Returns whose limits an algorithm keeps, if anybody's; a rehearsal none.
    fn provider_of(&self, algo: &str) -> (Option<AlgoKey>, Limits) {
        let key = AlgoKey::parse(algo).ok();
        let algorithm = key.and_then(|key| self.algorithms.get(&key)?.as_ref().ok());
        let limited = algorithm.filter(|algorithm| algorithm.limits.any());
        match limited.and_then(|algorithm| Some((algorithm.provider.clone()?, algorithm.limits))) {
            Some((provider, limits)) => (Some(provider), limits),
            None => (None, Limits::default()),
        }
    }
}

/// Returns the work of an algorithm; nothing if it has some and no past.
fn portion(algo: &AlgoPlan, limits: Limits) -> Option<Portion> {
    let jobs =
        algo.fates[PlannedAction::Run as usize] + algo.fates[PlannedAction::Reattach as usize];
    Some(Portion {
        jobs,
        each_s: if jobs == 0 { 0.0 } else { algo.median_s? },
        at_once: limits.max_parallel,
        per_min: limits.rate_per_min,
    })
}

/// Returns the work of two algorithms under the same limits.
fn joint(one: Portion, other: Portion) -> Portion {
    let work = |p: Portion| p.jobs as f64 * p.each_s;
    let jobs = one.jobs + other.jobs;
    Portion {
        jobs,
        each_s: (work(one) + work(other)) / (jobs.max(1) as f64),
        ..one
    }
}
