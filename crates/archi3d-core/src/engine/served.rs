//! Jobs that the store hands out, claimed for the threads that wait and for no more.
//!
//! A store that many machines share does not list its jobs. Before it is asked, every
//! algorithm says how many of its jobs may start now: what is closed, paused, out of money or
//! without a place is not asked for, so nothing is claimed only to be given back. One thread
//! asks for all that wait.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::cancel::Stage;
use crate::domain::id::{AlgoKey, JobId};
use crate::domain::lease::Lease;
use crate::engine::breaker::PAUSE;
use crate::engine::budget::Funding;
use crate::engine::event::EventKind;
use crate::engine::lanes::Admitted;
use crate::engine::places::Place;
use crate::engine::queue::Waiting;
use crate::engine::waits::Cause;
use crate::engine::{Halt, PlannedJob, Pool};
use crate::store::providers::{Closable, Permit};
use crate::store::{JobRecord, Lane, Next, ReleaseReason, Want};

/// No thread waits longer than this at a time, so that it notices a stop.
pub(super) const LONGEST_WAIT: Duration = Duration::from_millis(200);

/// Whoever asks waits no longer than this for others that are about to.
const LONGEST_GATHERING: Duration = Duration::from_millis(1);

/// For so long an algorithm that was found open is not looked at again.
const OPEN_FOR: Duration = Duration::from_millis(50);

/// What the threads of a pool know of the jobs they are handed.
#[derive(Default)]
pub(super) struct Served {
    buffer: Mutex<Buffer>,
    /// Told when whoever asked the store has its answer.
    answered: Condvar,
    /// Told when another thread waits.
    joined: Condvar,
    /// When lanes were last found open, and not paused.
    open: Mutex<HashMap<usize, Instant>>,
}

#[derive(Default)]
pub(super) struct Buffer {
    /// Jobs that are ours and that a thread will start at once, or in its turn.
    pub(super) ready: VecDeque<Handed>,
    /// How many threads wait for one.
    waiting: usize,
    /// Whether one of them asks the store this moment.
    pub(super) asking: bool,
    /// For how many was asked the last time, and how long that took.
    last: (usize, Duration),
    /// Nobody need ask before this moment.
    pub(super) again: Option<Instant>,
    /// Since when the store has had nothing for us.
    idle_since: Option<Instant>,
    /// Since when providers have refused a job without a pause of ours.
    refused_since: HashMap<JobId, Instant>,
}

/// A job that is ours, with its place at its provider.
pub(super) struct Handed {
    waiting: Waiting,
    pub(super) lease: Lease,
    admitted: Admitted,
    /// Its place among the jobs of all runs, where pools share them.
    place: Option<Place>,
}

/// The places that were taken for the jobs of one lane.
struct Room {
    lane: usize,
    want: Lane,
    places: Vec<Admitted>,
    probe: Option<Arc<Permit>>,
}

/// What came of asking the store.
enum Asked {
    Some,
    Nothing(Duration),
    Drained,
}

impl Served {
    pub(super) fn buffer(&self) -> MutexGuard<'_, Buffer> {
        self.buffer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn open(&self) -> MutexGuard<'_, HashMap<usize, Instant>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until whoever asks the store has an answer for all that wait.
    fn await_answer(&self, mut buffer: MutexGuard<'_, Buffer>) {
        buffer.waiting += 1;
        self.joined.notify_one();
        let waited = self.answered.wait_timeout(buffer, LONGEST_WAIT);
        let (mut buffer, _) = waited.unwrap_or_else(PoisonError::into_inner);
        buffer.waiting -= 1;
    }

    /// Notes since when a provider has refused a job; it is handed out again later.
    pub(super) fn refused(&self, job: &JobId, since: Option<Instant>) {
        if let Some(since) = since {
            let mut buffer = self.buffer();
            buffer.refused_since.entry(job.clone()).or_insert(since);
        }
    }

    /// Lets whoever waits ask the store at once.
    pub(super) fn wake(&self) {
        self.buffer().again = None;
    }
}

impl Pool<'_> {
    /// What every thread does where the store hands jobs out.
    pub(super) fn take_served(&self, served: &Served) {
        loop {
            if self.cancel.stage() != Stage::Go || self.halted().is_some() {
                break;
            }
            if self.runs_short(served) {
                self.ask_for_waiting(served);
            }
            let next = served.buffer().ready.pop_front();
            if let Some(handed) = next {
                self.run_handed(served, handed);
                continue;
            }
            if self.limit_is_reached() {
                self.halt(Halt::Limit);
                break;
            }
            let pause = match self.ask_for_waiting(served) {
                Asked::Some => continue,
                Asked::Nothing(pause) => pause,
                Asked::Drained if self.heartbeat.has_jobs() => LONGEST_WAIT,
                Asked::Drained if self.stays(served) => LONGEST_WAIT,
                Asked::Drained => break,
            };
            self.tell_of_waits();
            self.cancel.wait_for(Stage::Drain, pause.min(LONGEST_WAIT));
        }
        self.give_back_ready(served);
    }

    /// Gives jobs back that are ours and that no thread will begin.
    pub(super) fn give_back_ready(&self, served: &Served) {
        let left: Vec<Handed> = served.buffer().ready.drain(..).collect();
        let leases: Vec<&Lease> = left.iter().map(|handed| &handed.lease).collect();
        if !leases.is_empty()
            && let Err(error) = self.store.release_unbegun(&leases, self.clock.now())
        {
            self.store_failed("cannot give jobs back that nobody has begun", &error);
        }
        for handed in left {
            handed.admitted.refund();
        }
    }

    /// Tells whether the worker stays although there is nothing to do.
    fn stays(&self, served: &Served) -> bool {
        let since = *served.buffer().idle_since.get_or_insert_with(Instant::now);
        let until_idle = self.conditions.until_idle;
        until_idle.is_some_and(|most| since.elapsed() < most)
    }

    fn limit_is_reached(&self) -> bool {
        let limit = self.conditions.limit;
        limit.is_some_and(|limit| self.starts().started >= limit)
    }

    /// Asks the store for the jobs of all threads that wait, unless another thread does.
    fn ask_for_waiting(&self, served: &Served) -> Asked {
        let most = {
            let mut buffer = served.buffer();
            if buffer.asking {
                served.await_answer(buffer);
                return Asked::Some;
            }
            let now = Instant::now();
            if self.store.has_news() {
                buffer.again = None;
            }
            if let Some(again) = buffer.again.filter(|again| *again > now) {
                return Asked::Nothing(again - now);
            }
            buffer.asking = true;
            // Whoever came along the last time is likely to come again.
            let (before, took) = buffer.last;
            let pause = (took / 4).min(LONGEST_GATHERING);
            let pause = if buffer.ready.is_empty() {
                pause
            } else {
                Duration::ZERO
            };
            let gathered = served
                .joined
                .wait_timeout_while(buffer, pause, |buffer| 1 + buffer.waiting < before);
            let (buffer, _) = gathered.unwrap_or_else(PoisonError::into_inner);
            let ahead = self.ahead().saturating_sub(buffer.ready.len());
            (1 + buffer.waiting, ahead, buffer.ready.len())
        };
        let (mut most, mut ahead, ready) = most;
        if let Some(limit) = self.conditions.limit {
            let left = limit.saturating_sub(self.starts().started + ready);
            most = most.min(left);
            ahead = ahead.min(left - most);
        }
        let began = Instant::now();
        let asked = self.ask_within_share(served, most, ahead);
        let mut buffer = served.buffer();
        buffer.asking = false;
        buffer.last = (most, began.elapsed());
        match asked {
            Asked::Some => (buffer.again, buffer.idle_since) = (None, None),
            Asked::Nothing(pause) => buffer.again = Some(Instant::now() + pause),
            Asked::Drained => buffer.again = Some(Instant::now() + LONGEST_WAIT),
        }
        drop(buffer);
        served.answered.notify_all();
        asked
    }

    /// Asks the store for as many jobs as there are places that the pools of other runs leave. What is taken ahead has
    /// no place, so nothing is where places are shared.
    fn ask_within_share(&self, served: &Served, most: usize, ahead: usize) -> Asked {
        let Some(share) = &self.conditions.share else {
            return self.ask_store(served, (most, ahead), &mut Vec::new());
        };
        let mut places = share.take(most);
        if places.is_empty() {
            return Asked::Nothing(LONGEST_WAIT);
        }
        let asked = self.ask_store(served, (places.len(), 0), &mut places);
        if !places.is_empty() {
            share.is_content();
        }
        asked
    }

    fn ask_store(
        &self,
        served: &Served,
        (most, ahead): (usize, usize),
        shared: &mut Vec<Place>,
    ) -> Asked {
        let mut rooms = self.rooms(most, ahead);
        if rooms.is_empty() {
            return Asked::Drained;
        }
        let lanes: Vec<Lane> = rooms.iter().map(|room| room.want.clone()).collect();
        let want = Want {
            lanes: &lanes,
            most: most + ahead,
        };
        let next = self.store.claim_next(&want, self.clock.now());
        let asked = match next {
            Ok(Next::Jobs(jobs)) => {
                let mut buffer = served.buffer();
                for (job, lease) in jobs {
                    if let Some(mut handed) = self.handed(&mut rooms, &buffer, job, lease) {
                        handed.place = shared.pop();
                        buffer.ready.push_back(handed);
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
        rooms: &mut [Room],
        buffer: &Buffer,
        job: JobRecord,
        lease: Lease,
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
            refused_since: buffer.refused_since.get(&job.job_id).copied(),
            probe: room.probe.clone(),
            planned: PlannedJob {
                entry: lease.entry,
                job,
            },
        };
        Some(Handed {
            waiting,
            lease,
            admitted,
            place: None,
        })
    }

    /// Takes the places that algorithms have for at most `most` jobs each, and `ahead` more of those that cost nothing:
    /// none where they wait for a moment. What only a person can open is left out.
    fn rooms(&self, most: usize, ahead: usize) -> Vec<Room> {
        let lanes: Vec<(usize, AlgoKey)> = self
            .lanes
            .algos()
            .filter_map(|(lane, algo)| Some((lane, AlgoKey::parse(algo).ok()?)))
            .collect();
        lanes
            .into_iter()
            .filter_map(|(lane, algo)| self.room(lane, algo, most, ahead))
            .collect()
    }

    fn room(&self, lane: usize, algo: AlgoKey, most: usize, ahead: usize) -> Option<Room> {
        let carrier = match self.carriers.get(&algo) {
            Some(Ok(carrier)) => carrier,
            Some(Err(reason)) => {
                self.note_unusable(algo.as_str(), reason.clone());
                return None;
            }
            None => {
                self.note_unusable(algo.as_str(), format!("algo {algo} is not configured"));
                return None;
            }
        };
        let obstacle = carrier.obstacle_now(self.conditions.workspace.root());
        if let Some(reason) = obstacle.or_else(|| self.denied_to(carrier, algo.as_str())) {
            self.note_unusable(algo.as_str(), reason);
            return None;
        }
        let costs_nothing = self.is_free(&algo, carrier) && !self.lanes.is_limited(lane);
        let most = most + if costs_nothing { ahead } else { 0 };
        let (most, probe) = self.unless_closed(lane, &algo, carrier.breaker_failures, most)?;
        let trial = self.trial_of(&algo)?;
        let most = if trial == Some(0) { 0 } else { most };
        let bought_only = !self.lane_is_affordable(&algo, carrier);
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
                trial,
            },
            places,
            probe,
        })
    }

    /// Returns how many jobs of an algorithm its provider and its breaker let start.
    fn unless_closed(
        &self,
        lane: usize,
        algo: &AlgoKey,
        breaker_failures: u32,
        most: usize,
    ) -> Option<(usize, Option<Arc<Permit>>)> {
        let served = self.served.as_ref();
        let seen = served.and_then(|served| served.open().get(&lane).copied());
        if seen.is_some_and(|seen| seen.elapsed() < OPEN_FOR) {
            return Some((most, None));
        }
        let most = if self.provider_is_open(lane)? {
            most
        } else {
            0
        };
        let (most, probe) = self.unless_paused(lane, algo, breaker_failures, most)?;
        if let Some(served) = served.filter(|_| most > 0 && probe.is_none()) {
            served.open().insert(lane, Instant::now());
        }
        Some((most, probe))
    }

    /// Has every lane looked at again before the next job starts.
    pub(super) fn look_again(&self) {
        if let Some(served) = &self.served {
            served.open().clear();
        }
    }

    /// Returns how many jobs of an algorithm are on trial, if they are; nothing at all where the
    /// rest waits for somebody to look at how they did.
    #[expect(clippy::option_option, reason = "as `room`: nothing means no room")]
    fn trial_of(&self, algo: &AlgoKey) -> Option<Option<usize>> {
        let Some(canary) = self.conditions.canary else {
            return Some(None);
        };
        match self.store.trial(algo, canary.per_algo) {
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

    /// Tells whether the provider of a lane is open; nothing where only a person can open it.
    fn provider_is_open(&self, lane: usize) -> Option<bool> {
        let Some(gate) = self.lanes.gate_of(lane) else {
            return Some(true);
        };
        if !gate.waits.may_look() {
            return Some(false);
        }
        let now = self.clock.now();
        let providers = &self.conditions.providers;
        match providers.closed_to_worker(Closable::Provider, &gate.provider, now) {
            Ok(None) => Some(true),
            Ok(Some(closure)) => match closure.until {
                Some(until) => {
                    gate.waits.refused(Cause::Closed(until, closure.reason));
                    Some(false)
                }
                None => self.note_closed(&gate.provider, closure.reason),
            },
            Err(error) if error.is_away() => Some(false),
            Err(error) => {
                let reason = format!("whether it is open cannot be read: {}", error.in_full());
                self.note_closed(&gate.provider, reason)
            }
        }
    }

    /// Returns how many jobs of an algorithm may start; of a paused one at most one, on trial.
    fn unless_paused(
        &self,
        lane: usize,
        algo: &AlgoKey,
        breaker_failures: u32,
        most: usize,
    ) -> Option<(usize, Option<Arc<Permit>>)> {
        if breaker_failures == 0 {
            return Some((most, None));
        }
        let providers = &self.conditions.providers;
        let now = self.clock.now();
        let pause = match providers.closed(Closable::Algo, algo, now) {
            Ok(None) => return Some((most, None)),
            Ok(Some(pause)) => pause,
            Err(error) if error.is_away() => return Some((0, None)),
            Err(error) => {
                let reason = format!("whether it is paused cannot be read: {}", error.in_full());
                self.note_paused(algo, &reason);
                return None;
            }
        };
        if now < pause.closed_at.plus(PAUSE) {
            self.note_paused(algo, &pause.reason);
            return None;
        }
        if let Ok(Some(probe)) = providers.try_probe(algo) {
            self.report(EventKind::Notice {
                message: format!("algo {algo} was paused; one job tries whether it works again"),
            });
            return Some((1, Some(Arc::new(probe))));
        }
        if let Some(gate) = self.lanes.gate_of(lane) {
            gate.waits.refused(Cause::Probe(algo.to_string()));
        }
        Some((0, None))
    }

    fn note_closed(&self, provider: &AlgoKey, reason: String) -> Option<bool> {
        self.count(|tally| drop(tally.closed.insert(provider.clone(), reason)));
        None
    }

    fn note_paused(&self, algo: &AlgoKey, reason: &str) {
        self.count(|tally| drop(tally.paused.insert(algo.clone(), (reason.to_owned(), 0))));
    }

    fn note_unusable(&self, algo: &str, reason: String) {
        self.count(|tally| drop(tally.unusable.insert(algo.to_owned(), (reason, 0))));
    }

    /// Counts the jobs that nobody took of algorithms that could not start.
    pub(super) fn count_unclaimed(&self, unclaimed: &BTreeMap<String, usize>) {
        for (algo, jobs) in unclaimed {
            let key = AlgoKey::parse(algo).ok();
            let carrier = key
                .as_ref()
                .and_then(|key| self.carriers.get(key)?.as_ref().ok());
            let provider = carrier.and_then(|carrier| carrier.provider.as_ref());
            self.count(|tally| {
                let closed = provider.is_some_and(|key| tally.closed.contains_key(key));
                let paused = key.and_then(|key| tally.paused.get_mut(&key));
                let counts = tally.unusable.get_mut(algo).into_iter().chain(paused);
                let told = counts.map(|(_, count)| *count = *jobs).count() > 0;
                tally.summary.blocked += if closed || told { *jobs } else { 0 };
            });
        }
    }

    /// Runs a job that is ours already.
    fn run_handed(&self, served: &Served, handed: Handed) {
        let Handed {
            waiting,
            lease,
            admitted,
            place: _until_it_ended,
        } = handed;
        self.starts().started += usize::from(lease.failures == 0);
        let bare = self.carrier_of(&waiting.planned.job);
        let bare = bare.is_ok_and(|carrier| self.is_bare(carrier));
        if let Err(error) = if bare {
            Ok(())
        } else {
            self.store.open_folder(&lease)
        } {
            admitted.refund();
            self.give_back(&lease, ReleaseReason::StoreTrouble, "it has no folder");
            self.store_failed("cannot make the folder of a job", &error);
            return;
        }
        let Some((waiting, _first)) = self.copy_handed(waiting, &lease) else {
            admitted.refund();
            return;
        };
        match self.fund(&waiting.planned.job, &lease) {
            Funding::Granted => self.carry_out(waiting, &lease),
            funding => {
                admitted.refund();
                self.give_back_unfunded(waiting, &lease, funding);
                return;
            }
        }
        served.wake();
    }
}
