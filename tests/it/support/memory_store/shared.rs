//! What workers share, in memory: the money over the pure sums of `domain::budget`, the providers over the pure
//! rules of `domain::limits`. Strict: a caller that settles less than nothing, or gives back what it did not take, panics.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use archi3d_core::domain::budget::{
    AttemptKey, Caps, Change, Grant, Ledger, LedgerEntry, Level, Usage,
};
use archi3d_core::domain::id::{AlgoKey, JobId, RunId};
use archi3d_core::domain::limits::{Limits, Pace};
use archi3d_core::domain::time::Timestamp;
use archi3d_core::store::providers::{Admission, Closable, Closure, Permit, Wait};
use archi3d_core::store::{Budget, Providers, StoreError};

fn lock<T>(state: &Mutex<T>) -> MutexGuard<'_, T> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The money of all runs.
#[derive(Debug, Default)]
pub struct MemoryBudget(Mutex<Ledger>);

/// Adds a line to a ledger.
fn note(ledger: &mut Ledger, key: &AttemptKey, change: Change, at: Timestamp) {
    let (Change::Reserved { usd } | Change::Settled { usd }) = change;
    assert!(usd >= 0.0, "no attempt costs less than nothing");
    ledger.take(&LedgerEntry {
        at,
        attempt_key: key.clone(),
        change,
        by_hand: false,
    });
}

/// Counts what is reserved for the job of an attempt as spent.
fn spend_earlier(ledger: &mut Ledger, key: &AttemptKey, at: Timestamp) {
    let open = ledger.open(&key.run_id).into_iter();
    let mut of_job = open.filter(|(earlier, _)| earlier.job_id == key.job_id);
    if let Some((earlier, usd)) = of_job.next() {
        note(ledger, &earlier, Change::Settled { usd }, at);
    }
}

impl Budget for MemoryBudget {
    fn levels(&self, run: &RunId, caps: Caps, now: Timestamp) -> Result<Vec<Level>, StoreError> {
        Ok(lock(&self.0).balance(run, now).levels(caps))
    }

    fn usage(&self, run: &RunId) -> Result<Usage, StoreError> {
        Ok(lock(&self.0).usage(run))
    }

    fn would_grant(
        &self,
        (run, job): (&RunId, &JobId),
        usd: f64,
        caps: Caps,
        beside: bool,
        now: Timestamp,
    ) -> Result<Grant, StoreError> {
        let ledger = lock(&self.0);
        Ok(if beside {
            ledger.grant_additional(run, usd, caps, now)
        } else {
            ledger.grant(run, job, usd, caps, now)
        })
    }

    fn open(
        &self,
        run: &RunId,
        today: Option<Timestamp>,
    ) -> Result<Vec<(AttemptKey, f64)>, StoreError> {
        let ledger = lock(&self.0);
        let others = today.map(|now| ledger.open_today(now)).unwrap_or_default();
        let others = others.into_iter().filter(|(key, _)| key.run_id != *run);
        Ok(ledger.open(run).into_iter().chain(others).collect())
    }

    fn reserve(
        &self,
        key: &AttemptKey,
        usd: f64,
        caps: Caps,
        now: Timestamp,
    ) -> Result<Grant, StoreError> {
        let mut ledger = lock(&self.0);
        let grant = ledger.grant(&key.run_id, &key.job_id, usd, caps, now);
        if matches!(grant, Grant::Yes(_)) {
            note(&mut ledger, key, Change::Reserved { usd }, now);
        }
        Ok(grant)
    }

    fn settle(&self, key: &AttemptKey, usd: f64, now: Timestamp) -> Result<(), StoreError> {
        note(&mut lock(&self.0), key, Change::Settled { usd }, now);
        Ok(())
    }

    fn reserve_additional(
        &self,
        key: &AttemptKey,
        usd: f64,
        caps: Caps,
        now: Timestamp,
    ) -> Result<Grant, StoreError> {
        let mut ledger = lock(&self.0);
        let grant = ledger.grant_additional(&key.run_id, usd, caps, now);
        if matches!(grant, Grant::Yes(_)) {
            spend_earlier(&mut ledger, key, now);
            note(&mut ledger, key, Change::Reserved { usd }, now);
        }
        Ok(grant)
    }

    fn write_off(&self, key: &AttemptKey, now: Timestamp) -> Result<(), StoreError> {
        spend_earlier(&mut lock(&self.0), key, now);
        Ok(())
    }
}

/// The providers and algorithms of all runs.
#[derive(Debug, Default)]
pub struct MemoryProviders(Arc<Mutex<Shared>>);

#[derive(Debug, Default)]
struct Shared {
    closed: HashMap<(Closable, AlgoKey), Closure>,
    running: HashMap<AlgoKey, usize>,
    next_start: HashMap<AlgoKey, i64>,
    probed: HashSet<AlgoKey>,
    failures: HashMap<AlgoKey, u32>,
}

/// Does something when it is dropped.
struct Over<F: FnMut()>(F);

impl<F: FnMut()> Drop for Over<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

impl MemoryProviders {
    /// Makes a right that ends with a change of what is shared.
    fn permit(&self, end: impl Fn(&mut Shared) + Send + Sync + 'static) -> Permit {
        let shared = Arc::clone(&self.0);
        Permit::of(Over(move || end(&mut lock(&shared))))
    }
}

impl Providers for MemoryProviders {
    fn closed(
        &self,
        what: Closable,
        key: &AlgoKey,
        now: Timestamp,
    ) -> Result<Option<Closure>, StoreError> {
        let shared = lock(&self.0);
        let found = shared.closed.get(&(what, key.clone()));
        Ok(found.filter(|closure| closure.holds(now)).cloned())
    }

    fn all_closed(&self, what: Closable, now: Timestamp) -> Result<Vec<Closure>, StoreError> {
        let shared = lock(&self.0);
        let all = shared
            .closed
            .iter()
            .filter(|((kind, _), closure)| *kind == what && closure.holds(now));
        let mut all: Vec<Closure> = all.map(|(_, closure)| closure.clone()).collect();
        all.sort_by(|a, b| a.provider.cmp(&b.provider));
        Ok(all)
    }

    fn close(&self, what: Closable, closure: &Closure) -> Result<bool, StoreError> {
        let known = self.closed(what, &closure.provider, closure.closed_at)?;
        let longer = |known: Closure| {
            known
                .until
                .is_none_or(|end| closure.until.is_some_and(|until| end >= until))
        };
        if closure.until.is_some() && known.is_some_and(longer) {
            return Ok(false);
        }
        let key = (what, closure.provider.clone());
        lock(&self.0).closed.insert(key, closure.clone());
        Ok(true)
    }

    fn open(&self, what: Closable, key: &AlgoKey) -> Result<bool, StoreError> {
        let mut shared = lock(&self.0);
        if what == Closable::Algo {
            shared.failures.remove(key);
        }
        Ok(shared.closed.remove(&(what, key.clone())).is_some())
    }

    fn try_probe(&self, algo: &AlgoKey) -> Result<Option<Permit>, StoreError> {
        if !lock(&self.0).probed.insert(algo.clone()) {
            return Ok(None);
        }
        let algo = algo.clone();
        Ok(Some(self.permit(move |shared| {
            shared.probed.remove(&algo);
        })))
    }

    fn admit(
        &self,
        provider: &AlgoKey,
        limits: Limits,
        _again: bool,
        now: Timestamp,
    ) -> Result<Admission, StoreError> {
        let mut shared = lock(&self.0);
        let running = shared.running.get(provider).copied().unwrap_or_default();
        if let Some(slots) = limits.max_parallel.filter(|slots| running >= *slots) {
            return Ok(Admission::Wait(Wait::Slots(slots)));
        }
        if let Some(rate) = limits.rate_per_min {
            let next = shared.next_start.get(provider).copied();
            let now = now.as_datetime().timestamp_micros();
            match Pace::per_minute(rate).take(next, now) {
                Ok(next) => shared.next_start.insert(provider.clone(), next),
                Err(refusal) => return Ok(Admission::Wait(Wait::Rate(refusal.wait))),
            };
        }
        shared.running.insert(provider.clone(), running + 1);
        drop(shared);
        let provider = provider.clone();
        let end =
            move |shared: &mut Shared| *shared.running.get_mut(&provider).expect("it runs") -= 1;
        Ok(Admission::Go(self.permit(end)))
    }

    fn refund(&self, provider: &AlgoKey, limits: Limits) -> Result<(), StoreError> {
        if let Some(rate) = limits.rate_per_min {
            let mut shared = lock(&self.0);
            let next = shared.next_start.get_mut(provider);
            let next = next.expect("only what was taken is given back");
            *next = Pace::per_minute(rate).refunded(*next);
        }
        Ok(())
    }

    fn ended(&self, algo: &AlgoKey, failed: bool) -> Result<u32, StoreError> {
        let mut shared = lock(&self.0);
        let in_a_row = shared.failures.entry(algo.clone()).or_default();
        *in_a_row = if failed { *in_a_row + 1 } else { 0 };
        Ok(*in_a_row)
    }
}
