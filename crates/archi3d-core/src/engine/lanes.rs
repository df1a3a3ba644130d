//! One lane per algorithm, and the provider whose limits it keeps.
//!
//! Jobs that a limit holds wait in the queue without a claim, and the jobs of
//! other providers go past them.

use std::collections::HashMap;

use crate::domain::id::AlgoKey;
use crate::domain::limits::Limits;
use crate::domain::order;
use crate::engine::dispatcher::{Answer, Cause, Halt, Waiting};
use crate::engine::event::EventKind;
use crate::engine::executor::Executor;
use crate::engine::{Algorithms, Conditions, QueuedJob};
use crate::store::providers::{Admission, Permit, Wait};
use crate::store::{JobRecord, consumed};

/// The lanes of a run; what their jobs wait for is known to the dispatcher.
#[derive(Default)]
pub(super) struct Lanes {
    lanes: Vec<Lane>,
    gates: Vec<Gate>,
}

/// One algorithm.
struct Lane {
    algo: String,
    gate: Option<usize>,
}

/// What one provider allows, which several algorithms may share.
pub(super) struct Gate {
    pub(super) provider: AlgoKey,
    limits: Limits,
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
        jobs: Vec<QueuedJob>,
        algorithms: &Algorithms,
        conditions: &Conditions,
    ) -> (Self, Vec<Waiting>) {
        let mut lanes = Self::default();
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
                .or_insert_with_key(|algo| lanes.add(algo, algorithms));
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
    pub(super) fn of_algos(algos: &[AlgoKey], algorithms: &Algorithms) -> Self {
        let mut lanes = Self::default();
        for algo in algos {
            lanes.add(algo.as_str(), algorithms);
        }
        lanes
    }

    fn add(&mut self, algo: &str, algorithms: &Algorithms) -> usize {
        let key = AlgoKey::parse(algo).ok();
        let algorithm = key.and_then(|key| algorithms.get(&key)?.as_ref().ok());
        let gate =
            algorithm.and_then(|algorithm| Some((algorithm.provider.as_ref()?, algorithm.limits)));
        let gate = gate.map(|(provider, limits)| {
            let known = self
                .gates
                .iter()
                .position(|gate| gate.provider == *provider);
            known.unwrap_or_else(|| {
                self.gates.push(Gate {
                    provider: provider.clone(),
                    limits,
                });
                self.gates.len() - 1
            })
        });
        self.lanes.push(Lane {
            algo: algo.to_owned(),
            gate,
        });
        self.lanes.len() - 1
    }

    /// Returns the provider of a lane and its number.
    pub(super) fn gate_of(&self, lane: usize) -> Option<(usize, &Gate)> {
        let gate = self.lanes.get(lane)?.gate?;
        Some((gate, self.gates.get(gate)?))
    }

    /// Returns the number of each lane's provider.
    pub(super) fn gates(&self) -> Vec<Option<usize>> {
        self.lanes.iter().map(|lane| lane.gate).collect()
    }

    /// Tells whether the provider of a lane takes only so many jobs at once or in a minute.
    pub(super) fn is_limited(&self, lane: usize) -> bool {
        self.gate_of(lane)
            .is_some_and(|(_, gate)| gate.limits.any())
    }

    /// Returns the algorithms with their lanes.
    pub(super) fn algos(&self) -> impl Iterator<Item = (usize, &str)> {
        let names = self.lanes.iter().map(|lane| lane.algo.as_str());
        names.enumerate()
    }
}

/// A place for one job under its provider's limits.
#[derive(Default)]
pub(super) struct Slot {
    gate: Option<usize>,
    permit: Permit,
}

/// The right to run a job under its provider's limits; the place is free when it is dropped.
pub(super) struct Admitted<'a> {
    executor: &'a Executor<'a>,
    slot: Slot,
}

impl<'a> Admitted<'a> {
    /// Holds a place that was kept with its job.
    pub(super) fn with(executor: &'a Executor<'a>, slot: Slot) -> Self {
        Self { executor, slot }
    }

    /// Keeps the place with a job that no thread has begun.
    pub(super) fn into_slot(mut self) -> Slot {
        std::mem::take(&mut self.slot)
    }

    /// Gives everything back because the job did not start.
    pub(super) fn refund(self) {
        let gates = &self.executor.lanes.gates;
        if let Some(gate) = self.slot.gate.and_then(|gate| gates.get(gate)) {
            let providers = &self.executor.conditions.providers;
            // A place that is lost makes the rate lower, never higher.
            let _ = providers.refund(&gate.provider, gate.limits);
        }
    }
}

impl Drop for Admitted<'_> {
    fn drop(&mut self) {
        let Slot { gate, permit } = std::mem::take(&mut self.slot);
        drop(permit);
        if let Some(gate) = gate {
            // Whoever waits in this process need not wait for the next look.
            self.executor.dispatch.left(gate);
        }
    }
}

impl Executor<'_> {
    /// Lets a job in under its provider's limits, or has it wait in front.
    pub(super) fn admit(&self, waiting: Waiting) -> Result<(Waiting, Admitted<'_>), Answer> {
        match self.place(waiting.lane) {
            Some(admitted) => Ok((waiting, admitted)),
            None => Err(Answer::Held(Box::new(waiting))),
        }
    }

    /// Takes a place for one job of a lane under its provider's limits, if there is one.
    pub(super) fn place(&self, lane: usize) -> Option<Admitted<'_>> {
        let Some((number, gate)) = self.lanes.gate_of(lane) else {
            return Some(Admitted::with(self, Slot::default()));
        };
        let providers = &self.conditions.providers;
        let again = self.dispatch.waits_for(number);
        let cause = match providers.admit(&gate.provider, gate.limits, again, self.clock.now()) {
            Ok(Admission::Go(permit)) => {
                self.dispatch.entered(number);
                let slot = Slot {
                    gate: Some(number),
                    permit,
                };
                return Some(Admitted::with(self, slot));
            }
            Ok(Admission::Wait(Wait::Slots(slots))) => Cause::Slots(slots),
            Ok(Admission::Wait(Wait::Rate(time))) => Cause::Rate(time),
            Ok(Admission::Wait(Wait::Busy)) => Cause::Busy,
            Err(error) if error.is_away() => Cause::Busy,
            Err(error) => {
                // A limit that cannot be kept is no limit to go past, and who waits for
                // somebody to repair a file must be told.
                self.dispatch.halt(Halt::Store);
                self.report(EventKind::Warning {
                    message: format!(
                        "the limits of provider {} cannot be kept: {}",
                        gate.provider,
                        error.in_full()
                    ),
                });
                return None;
            }
        };
        self.dispatch.refused(number, cause);
        None
    }

    /// Tells what jobs wait for, once for each cause.
    pub(super) fn tell_of_waits(&self) {
        for (number, cause) in self.dispatch.news_of_waits() {
            let message = cause.text(self.lanes.gates[number].provider.as_str());
            self.report(EventKind::Notice { message });
        }
    }
}
