//! Jobs that the store hands out, claimed for the threads that wait and for no more.
//!
//! A store that many machines share does not list its jobs. Before it is asked, every
//! algorithm says how many of its jobs may start now: what is closed, paused, out of money or
//! without a place is not asked for, so nothing is claimed only to be given back. One thread
//! asks for all that wait.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use crate::cancel::Stage;
use crate::domain::id::AlgoKey;
use crate::domain::lease::Lease;
use crate::engine::QueuedJob;
use crate::engine::budget::Funding;
use crate::engine::dispatcher::{
    Answer, Asked, Dispatch, Halt, Handed, LONGEST_WAIT, Lead, Waiting,
};
use crate::engine::executor::Executor;
use crate::engine::gate::Look;
use crate::engine::lanes::Admitted;
use crate::engine::places::Place;
use crate::store::providers::Permit;
use crate::store::{Handing, JobRecord, Lane, Next, ReleaseReason, Want};

/// The places that were taken for the jobs of one lane.
struct Room<'a> {
    lane: usize,
    want: Lane,
    places: Vec<Admitted<'a>>,
    probe: Option<Arc<Permit>>,
}

/// A question to the store, which is answered also by a panic: other threads wait for it.
struct Asking<'a> {
    dispatch: &'a Dispatch,
    most: usize,
    began: Instant,
    asked: Asked,
}

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        let took = self.began.elapsed();
        self.dispatch.answered(&self.asked, self.most, took);
    }
}

impl Executor<'_> {
    /// What every thread does where the store hands jobs out.
    pub(super) fn take_served(&self, source: &dyn Handing) {
        loop {
            if self.cancel.stage() != Stage::Go || self.dispatch.halted().is_some() {
                break;
            }
            if self.dispatch.runs_short(self.ahead()) {
                self.ask_for_waiting(source);
            }
            if let Some((handed, taken)) = self.dispatch.next_handed() {
                taken.answer(self.run_handed(source, handed));
                continue;
            }
            if self.dispatch.limit_is_reached() {
                self.dispatch.halt(Halt::Limit);
                break;
            }
            let pause = match self.ask_for_waiting(source) {
                Asked::Some => continue,
                Asked::Nothing(pause) => pause,
                Asked::Drained if self.dispatch.is_busy() || self.stays() => LONGEST_WAIT,
                Asked::Drained => break,
            };
            self.tell_of_waits();
            let pause = pause.min(LONGEST_WAIT);
            if !self.dispatch.await_others(pause) {
                self.cancel.wait_for(Stage::Drain, pause);
            }
        }
        self.give_back_ready(source);
    }

    /// Gives jobs back that are ours and that no thread will begin.
    pub(super) fn give_back_ready(&self, source: &dyn Handing) {
        let left = self.dispatch.take_ready();
        let leases: Vec<&Lease> = left.iter().map(|handed| &handed.lease).collect();
        if !leases.is_empty()
            && let Err(error) = source.release_unbegun(&leases, self.clock.now())
        {
            self.store_failed("cannot release jobs that were not started", &error);
        }
        for handed in left {
            Admitted::with(self, handed.slot).refund();
        }
    }

    /// Tells whether the worker stays although there is nothing to do.
    fn stays(&self) -> bool {
        let since = self.dispatch.idle_since();
        let until_idle = self.conditions.until_idle;
        until_idle.is_some_and(|most| since.elapsed() < most)
    }

    /// Asks the store for the jobs of all threads that wait, unless another thread does.
    fn ask_for_waiting(&self, source: &dyn Handing) -> Asked {
        let stays = self.conditions.until_idle.is_some();
        let (most, ahead) = match self.dispatch.lead(source.has_news(), stays, self.ahead()) {
            Lead::Answered => return Asked::Some,
            Lead::Wait(time) => return Asked::Nothing(time),
            Lead::Ask { most, ahead } => (most, ahead),
        };
        let mut asking = Asking {
            dispatch: self.dispatch,
            most,
            began: Instant::now(),
            asked: Asked::Drained,
        };
        asking.asked = self.ask_within_share(source, most, ahead);
        asking.asked
    }

    /// Asks the store for as many jobs as there are places that the pools of other runs leave. What is taken ahead has
    /// no place, so nothing is where places are shared.
    fn ask_within_share(&self, source: &dyn Handing, most: usize, ahead: usize) -> Asked {
        let Some(share) = &self.conditions.share else {
            return self.ask_store(source, (most, ahead), &mut Vec::new());
        };
        let mut places = share.take(most);
        if places.is_empty() {
            return Asked::Nothing(LONGEST_WAIT);
        }
        let asked = self.ask_store(source, (places.len(), 0), &mut places);
        if !places.is_empty() {
            share.is_content();
        }
        asked
    }

    fn ask_store(
        &self,
        source: &dyn Handing,
        (most, ahead): (usize, usize),
        shared: &mut Vec<Place>,
    ) -> Asked {
        let mut rooms = self.rooms(source, most, ahead);
        if rooms.is_empty() {
            return Asked::Drained;
        }
        let lanes: Vec<Lane> = rooms.iter().map(|room| room.want.clone()).collect();
        let want = Want {
            lanes: &lanes,
            most: most + ahead,
            follows: self.conditions.limit.is_none()
                && self.conditions.share.is_none()
                && self.ahead() == 0,
        };
        let before = Instant::now();
        let next = source.claim_next(&want, self.clock.now());
        let claimed = (before, Instant::now());
        let asked = match next {
            Ok(Next::Jobs(jobs)) => {
                for job in jobs {
                    if let Some(mut handed) = self.handed(&mut rooms, job, claimed) {
                        handed.place = shared.pop();
                        self.dispatch.keep_handed(handed);
                    }
                }
                Asked::Some
            }
            Ok(Next::Nothing(pause)) => Asked::Nothing(pause),
            Ok(Next::Drained) => Asked::Drained,
            Err(error) => {
                self.store_failed("cannot ask for jobs", &error);
                Asked::Drained
            }
        };
        for place in rooms.into_iter().flat_map(|room| room.places) {
            place.refund();
        }
        asked
    }

    fn handed(
        &self,
        rooms: &mut [Room<'_>],
        (job, lease): (JobRecord, Lease),
        claimed: (Instant, Instant),
    ) -> Option<Handed> {
        let algo = self.algo_of(&job);
        let room = rooms
            .iter_mut()
            .find(|room| room.want.algo.as_str() == algo);
        let Some((room, admitted)) = room.and_then(|room| {
            let place = room.places.pop()?;
            Some((room, place))
        }) else {
            // More than was asked for: nobody starts it here.
            self.give_back(&lease, ReleaseReason::Retry, "not asked for");
            return None;
        };
        let waiting = Waiting {
            failures: lease.failures,
            tried: false,
            plain: false,
            lane: room.lane,
            canary: room.want.trial.is_some(),
            place: 0,
            refused_since: None,
            probe: room.probe.clone(),
            planned: QueuedJob {
                entry: lease.entry,
                job,
            },
        };
        Some(Handed {
            waiting,
            lease,
            slot: admitted.into_slot(),
            claimed,
            place: None,
        })
    }

    /// Takes the places that algorithms have for at most `most` jobs each, and `ahead` more of those that cost nothing:
    /// none where they wait for a moment. What only a person can open is left out.
    fn rooms(&self, source: &dyn Handing, most: usize, ahead: usize) -> Vec<Room<'_>> {
        let lanes: Vec<(usize, AlgoKey)> = self
            .lanes
            .algos()
            .filter_map(|(lane, algo)| Some((lane, AlgoKey::parse(algo).ok()?)))
            .collect();
        lanes
            .into_iter()
            .filter_map(|(lane, algo)| self.room(source, lane, algo, (most, ahead)))
            .collect()
    }

    fn room(
        &self,
        source: &dyn Handing,
        lane: usize,
        algo: AlgoKey,
        (most, ahead): (usize, usize),
    ) -> Option<Room<'_>> {
        let algorithm = self.algorithm(&algo);
        if let Some(reason) = self.obstacle_to(algorithm.clone(), algo.as_str()) {
            self.dispatch
                .count(|tally| tally.unusable(algo.as_str(), reason, 0));
            return None;
        }
        let algorithm = algorithm.ok()?;
        let free = self.is_free(&algo, algorithm);
        let costs_nothing = free && !self.lanes.is_limited(lane);
        let most = most + if costs_nothing { ahead } else { 0 };
        let (most, probe) = self.open_to(lane, &algo, algorithm.breaker_failures, most)?;
        let trial = self.trial_of(source, &algo)?;
        let most = if trial == Some(0) { 0 } else { most };
        let bought_only = !self.lane_is_affordable(&algo, algorithm);
        let mut places = Vec::new();
        while places.len() < most {
            match self.place(lane) {
                Some(place) => places.push(place),
                None => break,
            }
        }
        Some(Room {
            lane,
            want: Lane {
                algo,
                most: places.len(),
                bought_only,
                free,
                trial,
            },
            places,
            probe,
        })
    }

    /// Returns how many jobs of an algorithm its provider and its breaker let start; of a paused
    /// one at most one, on trial.
    fn open_to(
        &self,
        lane: usize,
        algo: &AlgoKey,
        breaker_failures: u32,
        most: usize,
    ) -> Option<(usize, Option<Arc<Permit>>)> {
        if self.dispatch.was_open(lane) {
            return Some((most, None));
        }
        match self.look(lane, Some(algo).filter(|_| breaker_failures > 0)) {
            Look::Open => {
                self.dispatch.found_open(lane);
                Some((most, None))
            }
            Look::Probe(probe) => Some((most.min(1), Some(probe))),
            Look::Wait => Some((0, None)),
            Look::Blocked(blocked) => {
                self.dispatch.count(|tally| blocked.count(tally, 0));
                None
            }
        }
    }

    /// Returns how many jobs of an algorithm are on trial, if they are; nothing at all where the
    /// rest waits for somebody to look at how they did.
    #[expect(clippy::option_option, reason = "as `room`: nothing means no room")]
    fn trial_of(&self, source: &dyn Handing, algo: &AlgoKey) -> Option<Option<usize>> {
        let Some(canary) = self.conditions.canary else {
            return Some(None);
        };
        match source.trial(algo, canary.per_algo) {
            Ok(trial) if trial.completed + trial.failed < canary.per_algo => {
                Some(Some(canary.per_algo))
            }
            Ok(trial) => (canary.release && trial.failed == 0).then_some(None),
            Err(error) if error.is_away() => Some(Some(0)),
            Err(error) => {
                self.store_failed("cannot ask how the first jobs did", &error);
                None
            }
        }
    }

    /// Counts the jobs that nobody took of algorithms that could not start.
    pub(super) fn count_unclaimed(&self, unclaimed: &BTreeMap<String, usize>) {
        for (algo, jobs) in unclaimed {
            let key = AlgoKey::parse(algo).ok();
            let algorithm = key
                .as_ref()
                .and_then(|key| self.algorithms.get(key)?.as_ref().ok());
            let provider = algorithm.and_then(|algorithm| algorithm.provider.as_ref());
            self.dispatch.count(|tally| {
                let closed = provider.is_some_and(|key| tally.closed.contains_key(key));
                let paused = key.and_then(|key| tally.paused.get_mut(&key));
                let counts = tally.unusable.get_mut(algo).into_iter().chain(paused);
                let told = counts.map(|(_, count)| *count = *jobs).count() > 0;
                tally.summary.blocked += if closed || told { *jobs } else { 0 };
            });
        }
    }

    /// Runs a job that is ours already.
    fn run_handed(&self, source: &dyn Handing, handed: Handed) -> Answer {
        let Handed {
            waiting,
            mut lease,
            slot,
            claimed,
            place: _until_it_ended,
        } = handed;
        let admitted = Admitted::with(self, slot);
        let _span = self.enter(&waiting.planned.job, &lease, claimed);
        let bare = self.algorithm_of(&waiting.planned.job);
        let bare = bare.is_ok_and(|algorithm| self.is_bare(algorithm));
        if let Err(error) = if bare {
            Ok(())
        } else {
            source.open_folder(&lease)
        } {
            admitted.refund();
            self.give_back(&lease, ReleaseReason::StoreTrouble, "it has no folder");
            self.store_failed("cannot make the folder of a job", &error);
            return Answer::Over;
        }
        let (waiting, _first) = match self.copy_handed(waiting, &lease) {
            Ok(to_make) => to_make,
            Err(answer) => {
                admitted.refund();
                return answer;
            }
        };
        if let Err(error) = self.note_doubt(&waiting.planned.job, &mut lease) {
            admitted.refund();
            self.store_failed("cannot note what may have been billed", &error);
            return Answer::Over;
        }
        match self.fund(&waiting.planned.job, &lease) {
            Funding::Granted => {
                let answer = self.carry_out(waiting, &lease);
                self.dispatch.ask_at_once();
                answer
            }
            funding => {
                admitted.refund();
                self.give_back_unfunded(waiting, &lease, funding)
            }
        }
    }
}
