//! One lane per algorithm: the limits of its provider, its failures in a row, and
//! how its canaries did.
//!
//! Jobs that a limit holds wait in the queue without a claim, and the jobs of
//! other providers go past them.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::domain::id::AlgoKey;
use crate::domain::order;
use crate::engine::event::EventKind;
use crate::engine::queue::{Hold, Waiting};
use crate::engine::{Carriers, Conditions, Halt, PlannedJob, Pool};
use crate::store::{JobRecord, consumed};
use crate::workspace::limits::{Admission, Permit, ProviderLimits};

/// The lanes of a pool.
pub(super) struct Lanes {
    lanes: Vec<Lane>,
    gates: Vec<Gate>,
}

/// One algorithm.
struct Lane {
    algo: String,
    gate: Option<usize>,
    record: Mutex<Record>,
}

/// How the jobs of one algorithm did so far.
#[derive(Debug, Clone, Default)]
pub(super) struct Record {
    /// Failures that speak about the algorithm, since the last success.
    pub(super) failures_in_a_row: u32,
    /// How its canaries did.
    pub(super) canaries: Trial,
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

/// The limits of one provider, which several algorithms may share.
struct Gate {
    provider: AlgoKey,
    limits: ProviderLimits,
    held_until: Mutex<Option<Instant>>,
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
                .or_insert_with_key(|algo| lanes.add(algo, carriers, conditions));
            waiting.push(Waiting {
                planned,
                failures: 0,
                tried: false,
                plain: false,
                lane,
                canary,
            });
        }
        (lanes, waiting)
    }

    fn add(&mut self, algo: &str, carriers: &Carriers, conditions: &Conditions) -> usize {
        let key = AlgoKey::parse(algo).ok();
        let carrier = key.and_then(|key| carriers.get(&key)?.as_ref().ok());
        let limited = carrier.filter(|carrier| carrier.limits.any());
        let gate = limited.and_then(|carrier| carrier.provider.as_ref().zip(Some(carrier.limits)));
        let gate = gate.map(|(provider, limits)| {
            let known = self
                .gates
                .iter()
                .position(|gate| gate.provider == *provider);
            known.unwrap_or_else(|| {
                let workspace = &conditions.workspace;
                self.gates.push(Gate {
                    provider: provider.clone(),
                    limits: ProviderLimits::new(workspace, provider.clone(), limits),
                    held_until: Mutex::new(None),
                });
                self.gates.len() - 1
            })
        });
        self.lanes.push(Lane {
            algo: algo.to_owned(),
            gate,
            record: Mutex::default(),
        });
        self.lanes.len() - 1
    }

    fn gate_of(&self, lane: usize) -> Option<&Gate> {
        self.gates.get(self.lanes.get(lane)?.gate?)
    }

    /// Returns how the jobs of a lane did so far.
    pub(super) fn record(&self, lane: usize) -> MutexGuard<'_, Record> {
        let record = &self.lanes[lane].record;
        record.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the algorithms with their lanes.
    pub(super) fn algos(&self) -> impl Iterator<Item = (usize, &str)> {
        let names = self.lanes.iter().map(|lane| lane.algo.as_str());
        names.enumerate()
    }
}

impl Gate {
    fn held_until(&self) -> MutexGuard<'_, Option<Instant>> {
        self.held_until
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// The right to run a job under its provider's limits.
pub(super) struct Admitted<'a> {
    gate: Option<&'a Gate>,
    _permit: Option<Permit>,
}

impl Admitted<'_> {
    /// Gives everything back because the job did not start.
    pub(super) fn refund(self) {
        if let Some(gate) = self.gate {
            // A place that is lost makes the rate lower, never higher.
            let _ = gate.limits.refund();
        }
    }
}

impl Drop for Admitted<'_> {
    fn drop(&mut self) {
        if let Some(gate) = self.gate {
            // Whoever waits in this process need not wait for the next look.
            *gate.held_until() = None;
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
                .and_then(|gate| *self.lanes.gates[gate].held_until()),
            canaries_only: !self.is_released(index),
        };
        lanes.map(hold).collect()
    }

    /// Lets a job in under its provider's limits, or puts it back in front.
    pub(super) fn admit(&self, waiting: Waiting) -> Option<(Waiting, Admitted<'_>)> {
        let Some(gate) = self.lanes.gate_of(waiting.lane) else {
            let free = Admitted {
                gate: None,
                _permit: None,
            };
            return Some((waiting, free));
        };
        let pause = match gate.limits.admit(self.clock.now()) {
            Ok(Admission::Go(permit)) => {
                let admitted = Admitted {
                    gate: Some(gate),
                    _permit: Some(permit),
                };
                return Some((waiting, admitted));
            }
            Ok(Admission::Wait(pause)) => pause,
            Err(error) => {
                // A limit that cannot be kept is no limit to go past, and who waits for
                // somebody to mend a file must be told.
                self.halt(Halt::Store);
                self.report(EventKind::Warning {
                    message: format!(
                        "the limits of provider {} cannot be kept: {error}",
                        gate.provider
                    ),
                });
                Duration::ZERO
            }
        };
        *gate.held_until() = Some(Instant::now() + pause);
        self.queue.put_first(waiting);
        None
    }
}
