//! One lane per algorithm: the limits of its provider, its failures in a row, and
//! how its canaries did.
//!
//! Jobs that a limit holds wait in the queue without a claim, and the jobs of
//! other providers go past them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::domain::id::AlgoKey;
use crate::domain::limits::Limits;
use crate::domain::order;
use crate::engine::event::EventKind;
use crate::engine::queue::{Hold, Waiting};
use crate::engine::waits::{Cause, Waits};
use crate::engine::{Carriers, Conditions, Halt, PlannedJob, Pool};
use crate::store::providers::{Admission, Permit, Wait};
use crate::store::{JobRecord, Providers, consumed};

/// The lanes of a pool.
pub(super) struct Lanes {
    lanes: Vec<Lane>,
    gates: Vec<Arc<Gate>>,
}

/// One algorithm.
struct Lane {
    algo: String,
    gate: Option<usize>,
    trial: Mutex<Trial>,
}

/// How the canaries of one algorithm did.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Trial {
    pub(super) completed: usize,
    pub(super) failed: usize,
    /// Of the failed, those that speak about the algorithm.
    pub(super) telling: usize,
    pub(super) spent_usd: f64,
    /// Of the failed, those that may have been billed with nobody knows what.
    pub(super) possibly_billed: usize,
    pub(super) duration: Duration,
}

/// What one provider allows, which several algorithms may share.
pub(super) struct Gate {
    pub(super) provider: AlgoKey,
    limits: Limits,
    pub(super) waits: Waits,
}

/// Returns the name of the algorithm that carries a job out.
pub(super) fn algo_of(conditions: &Conditions, job: &JobRecord) -> String {
    match (&conditions.forced, &job.algo) {
        (Some(forced), _) => forced.to_string(),
        (None, Ok(key)) => key.to_string(),
        (None, Err(_)) => String::new(),
    }
}

impl Lanes {
    /// Makes the lanes of `jobs`, and the jobs ready to be queued in them.
    pub(super) fn new(
        jobs: Vec<PlannedJob>,
        carriers: &Carriers,
        conditions: &Conditions,
    ) -> (Self, Vec<Waiting>) {
        let mut lanes = Self {
            lanes: Vec::new(),
            gates: Vec::new(),
        };
        let mut by_algo: HashMap<String, usize> = HashMap::new();
        let algos: Vec<String> = jobs.iter().map(|p| algo_of(conditions, &p.job)).collect();
        let canaries = match conditions.canary {
            Some(canary) => order::canaries(algos.iter().map(String::as_str), canary.per_algo),
            None => vec![false; jobs.len()],
        };
        let mut waiting = Vec::with_capacity(jobs.len());
        for ((planned, algo), canary) in consumed(jobs).zip(algos).zip(canaries) {
            let lane = *by_algo
                .entry(algo)
                .or_insert_with_key(|algo| lanes.add(algo, carriers));
            waiting.push(Waiting {
                planned,
                failures: 0,
                tried: false,
                plain: false,
                lane,
                canary,
                place: 0,
                refused_since: None,
                probe: None,
            });
        }
        (lanes, waiting)
    }

    /// Makes the lanes of algorithms whose jobs a store hands out.
    pub(super) fn of_algos(algos: &[AlgoKey], carriers: &Carriers) -> Self {
        let mut lanes = Self {
            lanes: Vec::new(),
            gates: Vec::new(),
        };
        for algo in algos {
            lanes.add(algo.as_str(), carriers);
        }
        lanes
    }

    fn add(&mut self, algo: &str, carriers: &Carriers) -> usize {
        let key = AlgoKey::parse(algo).ok();
        let carrier = key.and_then(|key| carriers.get(&key)?.as_ref().ok());
        let gate = carrier.and_then(|carrier| Some((carrier.provider.as_ref()?, carrier.limits)));
        let gate = gate.map(|(provider, limits)| {
            let known = self
                .gates
                .iter()
                .position(|gate| gate.provider == *provider);
            known.unwrap_or_else(|| {
                self.gates.push(Arc::new(Gate {
                    provider: provider.clone(),
                    limits,
                    waits: Waits::default(),
                }));
                self.gates.len() - 1
            })
        });
        self.lanes.push(Lane {
            algo: algo.to_owned(),
            gate,
            trial: Mutex::default(),
        });
        self.lanes.len() - 1
    }

    pub(super) fn gate_of(&self, lane: usize) -> Option<&Arc<Gate>> {
        self.gates.get(self.lanes.get(lane)?.gate?)
    }

    /// Tells whether the provider of a lane takes only so many jobs at once or in a minute.
    pub(super) fn is_limited(&self, lane: usize) -> bool {
        self.gate_of(lane).is_some_and(|gate| gate.limits.any())
    }

    /// Returns how the canaries of a lane did so far.
    pub(super) fn trial(&self, lane: usize) -> MutexGuard<'_, Trial> {
        let trial = &self.lanes[lane].trial;
        trial.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns what the providers allow.
    pub(super) fn gates(&self) -> &[Arc<Gate>] {
        &self.gates
    }

    /// Returns the algorithms with their lanes.
    pub(super) fn algos(&self) -> impl Iterator<Item = (usize, &str)> {
        let names = self.lanes.iter().map(|lane| lane.algo.as_str());
        names.enumerate()
    }
}

/// The right to run a job under its provider's limits.
pub(super) struct Admitted {
    gate: Option<Arc<Gate>>,
    providers: Arc<dyn Providers>,
    _permit: Permit,
}

impl Admitted {
    /// Gives everything back because the job did not start.
    pub(super) fn refund(self) {
        if let Some(gate) = &self.gate {
            // A place that is lost makes the rate lower, never higher.
            let _ = self.providers.refund(&gate.provider, gate.limits);
        }
    }
}

impl Drop for Admitted {
    fn drop(&mut self) {
        if let Some(gate) = &self.gate {
            // Whoever waits in this process need not wait for the next look.
            gate.waits.left();
        }
    }
}

impl Pool<'_> {
    /// Returns what holds each lane now.
    pub(super) fn holds(&self) -> Vec<Hold> {
        let lanes = self.lanes.lanes.iter().enumerate();
        let hold = |(index, lane): (usize, &Lane)| Hold {
            until: lane
                .gate
                .and_then(|gate| self.lanes.gates[gate].waits.until()),
            canaries_only: !self.is_released(index),
        };
        lanes.map(hold).collect()
    }

    /// Lets a job in under its provider's limits, or puts it back in front.
    pub(super) fn admit(&self, waiting: Waiting) -> Option<(Waiting, Admitted)> {
        if let Some(admitted) = self.place(waiting.lane) {
            return Some((waiting, admitted));
        }
        self.queue.put_first(waiting);
        None
    }

    /// Takes a place for one job of a lane under its provider's limits, if there is one.
    pub(super) fn place(&self, lane: usize) -> Option<Admitted> {
        let providers = &self.conditions.providers;
        let admitted = |gate, permit| Admitted {
            gate,
            providers: Arc::clone(providers),
            _permit: permit,
        };
        let Some(gate) = self.lanes.gate_of(lane) else {
            return Some(admitted(None, Permit::default()));
        };
        let again = gate.waits.are_known();
        match providers.admit(&gate.provider, gate.limits, again, self.clock.now()) {
            Ok(Admission::Go(permit)) => {
                gate.waits.entered();
                return Some(admitted(Some(Arc::clone(gate)), permit));
            }
            Ok(Admission::Wait(Wait::Slots(slots))) => gate.waits.refused(Cause::Slots(slots)),
            Ok(Admission::Wait(Wait::Rate(time))) => gate.waits.refused(Cause::Rate(time)),
            Ok(Admission::Wait(Wait::Busy)) => gate.waits.refused(Cause::Busy),
            Err(error) if error.is_away() => gate.waits.refused(Cause::Busy),
            Err(error) => {
                // A limit that cannot be kept is no limit to go past, and who waits for
                // somebody to mend a file must be told.
                self.halt(Halt::Store);
                self.report(EventKind::Warning {
                    message: format!(
                        "the limits of provider {} cannot be kept: {}",
                        gate.provider,
                        error.in_full()
                    ),
                });
            }
        }
        None
    }
}
