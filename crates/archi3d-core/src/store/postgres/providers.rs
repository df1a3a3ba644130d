//! What workers share about providers, in PostgreSQL, as the engine asks for it.

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::act;
use super::connect::Connection;
use super::error::PgResult;
use super::gate::{self, Admitted};
use super::link::Link;
use crate::domain::id::AlgoKey;
use crate::domain::limits::Limits;
use crate::domain::time::Timestamp;
use crate::store::StoreError;
use crate::store::providers::{Admission, Closable, Closure, Permit, Providers, Wait};

/// How long a question waits for a server that is away.
const PATIENCE: Duration = Duration::from_secs(5);

/// For so long what was closed or open stays so, unless we hear otherwise.
const SEEN_FOR: Duration = Duration::from_secs(1);

/// Closings, slots, paces and breakers of the whole fleet.
#[derive(Debug)]
pub struct PgProviders(Arc<Link>, Arc<Mutex<Places>>, Mutex<Option<Seen>>);

/// What was closed when somebody looked.
#[derive(Debug)]
struct Seen {
    at: Instant,
    providers: Vec<Closure>,
    algos: Vec<Closure>,
}

/// The places at providers that this worker has.
#[derive(Debug, Default)]
struct Places {
    held: BTreeSet<(String, u32)>,
    /// An answer was lost: the server may have given us a place that nobody here knows of.
    unsure: bool,
}

impl PgProviders {
    /// Asks over a worker's link.
    pub fn new(link: Arc<Link>) -> Self {
        Self(link, Arc::default(), Mutex::default())
    }

    fn seen(&self) -> MutexGuard<'_, Option<Seen>> {
        self.2.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes what is closed, and has the next look ask the server, and that of other workers of the run too. What was
    /// seen is dropped only when the connection is free again: whoever looks holds it while waiting for the connection.
    fn change<T>(&self, act: impl Fn(&mut Connection) -> PgResult<T>) -> PgResult<T> {
        let changed = self.0.ask(PATIENCE, |connection| {
            let changed = act(connection)?;
            act::wake(connection, self.0.run_no, "gates")?;
            Ok(changed)
        });
        *self.seen() = None;
        changed
    }

    fn take(&self, provider: &str, limits: gate::Limits) -> PgResult<(Admitted, Option<Permit>)> {
        let (worker, lease) = (self.0.worker.as_str(), self.0.lease);
        let mut places = self.1.lock().unwrap_or_else(PoisonError::into_inner);
        let admitted = self.0.ask(PATIENCE, |c| {
            if places.unsure {
                // Our beats would keep it for ever.
                gate::keep_slots(c, worker, &places.held)?;
            }
            places.unsure = true;
            gate::admit(c, provider, limits, worker, lease)
        })?;
        places.unsure = false;
        let Admitted::Yes { slot } = &admitted else {
            return Ok((admitted, None));
        };
        let place = slot.map(|slot| (provider.to_owned(), slot));
        places.held.extend(place.clone());
        let permit = Permit::of(Slot {
            link: Arc::clone(&self.0),
            places: Arc::clone(&self.1),
            place,
            limits,
        });
        Ok((admitted, Some(permit)))
    }
}

/// Returns everything that is closed. How long it lasts is told by the clock of `now`, however wrong that is.
pub(super) fn all_closed(
    connection: &mut Connection,
    what: Closable,
    now: Timestamp,
) -> PgResult<Vec<Closure>> {
    let (closed, paused) = gate::shut(connection)?;
    let (providers, algos) = closures(closed, paused, now, |one| Timestamp::new(one.since));
    Ok(match what {
        Closable::Provider => providers,
        Closable::Algo => algos,
    })
}

/// Returns what is closed in the words of the store: providers, and algorithms.
fn closures(
    closed: Vec<gate::ClosedProvider>,
    paused: Vec<gate::PausedAlgo>,
    now: Timestamp,
    paused_at: impl Fn(&gate::PausedAlgo) -> Timestamp,
) -> (Vec<Closure>, Vec<Closure>) {
    let closure = |key: &str, closed_at, until, reason| {
        Some(Closure {
            provider: AlgoKey::parse(key).ok()?,
            closed_at,
            until,
            reason,
        })
    };
    let closed = closed.into_iter().filter_map(|one| {
        let until = one.wait.map(|wait| now.plus(wait));
        closure(&one.provider, Timestamp::new(one.since), until, one.reason)
    });
    let paused = paused.into_iter();
    let paused = paused.filter_map(|one| closure(&one.algo, paused_at(&one), None, one.reason));
    (closed.collect(), paused.collect())
}

/// A place at a provider, given back when it is dropped. If that fails it goes before the next one is taken.
struct Slot {
    link: Arc<Link>,
    places: Arc<Mutex<Places>>,
    place: Option<(String, u32)>,
    limits: gate::Limits,
}

impl Drop for Slot {
    fn drop(&mut self) {
        let Some(place) = self.place.take() else {
            return;
        };
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        places.held.remove(&place);
        let (provider, slot) = place;
        let (limits, worker) = (self.limits, self.link.worker.as_str());
        let refunded = self.link.ask(Duration::ZERO, |c| {
            gate::refund(c, &provider, Some(slot), limits, worker, false)
        });
        places.unsure |= refunded.is_err();
    }
}

fn limits_of(limits: Limits) -> gate::Limits {
    gate::Limits {
        slots: limits
            .max_parallel
            .map(|slots| u32::try_from(slots).unwrap_or(u32::MAX)),
        interval: limits
            .rate_per_min
            .filter(|rate| *rate > 0.0)
            .map(|rate| Duration::from_secs_f64((60.0 / rate).min(86_400.0))),
    }
}

impl Providers for PgProviders {
    fn closed(
        &self,
        what: Closable,
        key: &AlgoKey,
        now: Timestamp,
    ) -> Result<Option<Closure>, StoreError> {
        let mut seen = self.seen();
        if self.0.gates.swap(false, Ordering::SeqCst) {
            *seen = None;
        }
        let known = match seen.take() {
            Some(known) if known.at.elapsed() < SEEN_FOR => known,
            _ => {
                let at = Instant::now();
                let (closed, paused) = self.0.ask(PATIENCE, gate::shut)?;
                // How long a pause lasts is measured, whatever the clock here says.
                let (providers, algos) = closures(closed, paused, now, |one| now.minus(one.age));
                Seen {
                    at,
                    providers,
                    algos,
                }
            }
        };
        let known = seen.insert(known);
        let all = match what {
            Closable::Provider => &known.providers,
            Closable::Algo => &known.algos,
        };
        let is_it =
            |one: &&Closure| one.provider == *key && one.until.is_none_or(|until| until > now);
        Ok(all.iter().find(is_it).cloned())
    }

    fn all_closed(&self, what: Closable, now: Timestamp) -> Result<Vec<Closure>, StoreError> {
        Ok(self.0.ask(PATIENCE, |c| all_closed(c, what, now))?)
    }

    fn close(&self, what: Closable, closure: &Closure) -> Result<bool, StoreError> {
        let (key, reason) = (closure.provider.as_str(), closure.reason.as_str());
        let wait = closure.until.map(|until| until.since(closure.closed_at));
        Ok(self.change(|c| match what {
            Closable::Provider => gate::close(c, key, wait, reason),
            Closable::Algo => gate::trip(c, key, 1, reason).map(|breaker| breaker.paused),
        })?)
    }

    fn open(&self, what: Closable, key: &AlgoKey) -> Result<bool, StoreError> {
        Ok(self.change(|c| match what {
            Closable::Provider => gate::open(c, key.as_str()),
            Closable::Algo => gate::resume(c, key.as_str()),
        })?)
    }

    fn try_probe(&self, algo: &AlgoKey) -> Result<Option<Permit>, StoreError> {
        let one = gate::Limits {
            slots: Some(1),
            interval: None,
        };
        let (_, permit) = self.take(&format!("probe:{algo}"), one)?;
        Ok(permit)
    }

    fn admit(
        &self,
        provider: &AlgoKey,
        limits: Limits,
        _again: bool,
        now: Timestamp,
    ) -> Result<Admission, StoreError> {
        if !limits.any() {
            return Ok(Admission::Go(Permit::default()));
        }
        let (admitted, permit) = self.take(provider.as_str(), limits_of(limits))?;
        let slots = limits.max_parallel.unwrap_or_default();
        Ok(match admitted {
            Admitted::Yes { .. } => Admission::Go(permit.unwrap_or_default()),
            Admitted::Wait(wait) if limits.rate_per_min.is_some() => {
                Admission::Wait(Wait::Rate(wait))
            }
            Admitted::Wait(_) => Admission::Wait(Wait::Slots(slots)),
            // Somebody closed it since we looked; the next look tells why.
            Admitted::Closed { wait, .. } => {
                let _ = now;
                Admission::Wait(Wait::Rate(wait.unwrap_or(Duration::from_secs(1))))
            }
        })
    }

    fn refund(&self, provider: &AlgoKey, limits: Limits) -> Result<(), StoreError> {
        if limits.rate_per_min.is_none() {
            return Ok(());
        }
        let worker = self.0.worker.as_str();
        let refunded = self.0.ask(Duration::ZERO, |c| {
            gate::refund(c, provider.as_str(), None, limits_of(limits), worker, true)
        });
        Ok(refunded?)
    }

    fn ended(&self, algo: &AlgoKey, failed: bool) -> Result<u32, StoreError> {
        let mut told = false;
        let counted = self.0.ask(PATIENCE, |c| {
            if !failed {
                return gate::worked(c, algo.as_str()).map(|()| 0);
            }
            if std::mem::replace(&mut told, true) {
                // The answer was lost: told again, it would count twice.
                return Ok(0);
            }
            gate::trip(c, algo.as_str(), u32::MAX, "").map(|breaker| breaker.failures)
        });
        Ok(counted?)
    }
}
