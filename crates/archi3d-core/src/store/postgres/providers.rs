//! What workers share about providers, in PostgreSQL, as the engine asks for it.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

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

/// Closings, slots, paces and breakers of the whole fleet.
#[derive(Debug)]
pub struct PgProviders(Arc<Link>, Arc<Mutex<Places>>);

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
        Self(link, Arc::default())
    }

    fn all(&self, what: Closable, now: Timestamp) -> PgResult<Vec<Closure>> {
        self.0.ask(PATIENCE, |c| all_closed(c, what, now))
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
    let closure = |key: &str, since, until, reason| {
        Some(Closure {
            provider: AlgoKey::parse(key).ok()?,
            closed_at: Timestamp::new(since),
            until,
            reason,
        })
    };
    Ok(match what {
        Closable::Provider => {
            let closed = gate::closed(connection)?.into_iter().filter_map(|one| {
                let until = one.wait.map(|wait| now.plus(wait));
                closure(&one.provider, one.since, until, one.reason)
            });
            closed.collect()
        }
        Closable::Algo => {
            let paused = gate::paused(connection)?.into_iter();
            let paused = paused.filter_map(|one| closure(&one.algo, one.since, None, one.reason));
            paused.collect()
        }
    })
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
        let all = self.all(what, now)?;
        Ok(all.into_iter().find(|closure| closure.provider == *key))
    }

    fn all_closed(&self, what: Closable, now: Timestamp) -> Result<Vec<Closure>, StoreError> {
        Ok(self.all(what, now)?)
    }

    fn close(&self, what: Closable, closure: &Closure) -> Result<bool, StoreError> {
        let (key, reason) = (closure.provider.as_str(), closure.reason.as_str());
        let wait = closure.until.map(|until| until.since(closure.closed_at));
        let changed = self.0.ask(PATIENCE, |c| match what {
            Closable::Provider => gate::close(c, key, wait, reason),
            Closable::Algo => gate::trip(c, key, 1, reason).map(|breaker| breaker.paused),
        });
        Ok(changed?)
    }

    fn open(&self, what: Closable, key: &AlgoKey) -> Result<bool, StoreError> {
        let opened = self.0.ask(PATIENCE, |c| match what {
            Closable::Provider => gate::open(c, key.as_str()),
            Closable::Algo => gate::resume(c, key.as_str()),
        });
        Ok(opened?)
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
        let counted = self.0.ask(PATIENCE, |c| {
            if failed {
                gate::trip(c, algo.as_str(), u32::MAX, "").map(|breaker| breaker.failures)
            } else {
                gate::worked(c, algo.as_str()).map(|()| 0)
            }
        });
        Ok(counted?)
    }
}
