//! How a worker gets jobs: by lane, from where it was, and what is due or was left by the dead.

use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::sync::{MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::act;
use super::claim::{self, Claimer, Hold};
use super::connect::Connection;
use super::ending::{self, Ended, Release};
use super::error::PgResult;
use super::gate;
use super::keep;
use super::left::Sent;
use super::record;
use super::unanswered::Unanswered;
use super::view;
use super::worker::{POLL, PgStore};
use crate::domain::id::{AlgoKey, JobId};
use crate::domain::job::{Entry, JobState};
use crate::domain::lease::Lease;
use crate::domain::naming;
use crate::domain::time::Timestamp;
use crate::store::error::StoreError;
use crate::store::{
    Claim, Handing as _, JobRecord, JobSnapshot, Lane, Next, ReleaseReason, Trial, Want,
};

/// So many expired leases are taken back at a time.
const SWEPT: usize = 5_000;

/// How long cursors are followed before claims begin anew: at least, and at most.
const FOLLOWED: (Duration, Duration) = (Duration::from_secs(2), Duration::from_secs(60));

/// How often is looked for what is due and what the dead left, at least.
const RARELY: Duration = Duration::from_secs(5);

/// When is looked next for what is due and what the dead left.
#[derive(Debug)]
pub(super) struct Rare {
    next: Instant,
    /// When is looked next for money that nobody settled.
    settle: Instant,
    /// Whether something that dead workers of this machine ended could not be sent.
    waits: bool,
    /// Jobs whose results lie here and could not be told: nobody here takes them over.
    pub(super) stuck: Vec<i64>,
}

impl Default for Rare {
    fn default() -> Self {
        Self {
            next: Instant::now(),
            settle: Instant::now(),
            waits: false,
            stuck: Vec::new(),
        }
    }
}

/// Where the next claim of each algorithm begins.
#[derive(Debug)]
pub(super) struct Cursors {
    after: HashMap<String, i64>,
    /// Since when they are followed, and for how long.
    since: Instant,
    long: Duration,
}

impl Default for Cursors {
    fn default() -> Self {
        Self {
            after: HashMap::new(),
            since: Instant::now(),
            long: FOLLOWED.0,
        }
    }
}

impl PgStore {
    pub(super) fn claimer<'a>(&'a self, held: &'a [i64]) -> Claimer<'a> {
        Claimer {
            worker: &self.link.worker,
            lease: self.ahead.unwrap_or(self.link.lease),
            rehearsal: self.rehearsal,
            held,
        }
    }

    /// Has jobs of these algorithms performed that were only rehearsed; tells how many.
    pub(super) fn perform(&self, algos: &[AlgoKey]) -> Result<usize, StoreError> {
        if self.rehearsal {
            return Ok(0);
        }
        let run_no = self.link.run_no;
        let algos: Vec<&str> = algos.iter().map(AlgoKey::as_str).collect();
        let performed = self
            .link
            .ask(self.patience(), |c| act::perform(c, run_no, &algos))?;
        Ok(performed)
    }

    /// Returns the algorithms of the run, in the order of their first jobs, with how many are to be made.
    pub(super) fn waiting_algos(&self) -> Result<Vec<(String, usize)>, StoreError> {
        let run_no = self.link.run_no;
        let counts = self
            .link
            .ask(self.patience(), |c| view::counts(c, run_no))?;
        let algos = counts.into_iter();
        Ok(algos
            .map(|count| {
                let rehearsed = if self.rehearsal { 0 } else { count.rehearsed };
                (count.algo, count.pending + count.retryable + rehearsed)
            })
            .collect())
    }

    /// Claims what is due or was left by the dead now and then, else by lane, and where that comes up short both.
    pub(super) fn claim_some(&self, want: &Want<'_>) -> PgResult<Vec<claim::Claimed>> {
        let unanswered = self.unanswered.lock();
        let mut unanswered = unanswered.unwrap_or_else(PoisonError::into_inner);
        self.give_back_unanswered(&mut unanswered)?;
        let on_trial = want.lanes.iter().any(|lane| lane.trial.is_some());
        // First of all now and then, because there may be other jobs without end.
        let first = self.is_rare_due(true);
        let mut found = Vec::new();
        if first {
            self.look_for_left();
            if !on_trial {
                let lanes = self.lanes(want, false);
                found = self.claim_rare(&mut unanswered, &lanes, want.most)?;
                if found.len() >= want.most {
                    // There may be more of it.
                    self.rare().next = Instant::now();
                    return Ok(found);
                }
            }
            // Whom nobody may take over, is out or has failed for good.
            if !self.rare().waits
                && self
                    .sweep_within(Duration::ZERO, None, &[])
                    .is_ok_and(|swept| swept.requeued > 0)
            {
                // They wait before the cursors.
                self.news.store(true, Ordering::SeqCst);
            }
        }
        // Before the claim: what is said while it runs is news again.
        let news = self.news.swap(false, Ordering::SeqCst);
        let lanes = less(&self.lanes(want, news), &found);
        let most = want.most - found.len();
        let waiting = self.claim_waiting(&mut unanswered, want, &lanes, most);
        let waiting = match waiting {
            Err(error) if found.is_empty() => return Err(error),
            // What was lost is given back before the next claim.
            Err(_) => return Ok(found),
            Ok(waiting) => waiting,
        };
        let lanes = less(&lanes, &waiting);
        found.extend(waiting);
        if found.len() < want.most && (!first || on_trial) {
            match self.claim_rare(&mut unanswered, &lanes, want.most - found.len()) {
                Ok(rare) => found.extend(rare),
                Err(error) if found.is_empty() => return Err(error),
                Err(_) => {}
            }
        }
        Ok(found)
    }

    /// Returns the jobs that this worker takes from nobody: those that it runs, also where their leases are lost, and those whose results wait here to be told.
    pub(super) fn not_taken(&self) -> Vec<i64> {
        let mut jobs = self.link.held();
        jobs.extend_from_slice(&self.rare().stuck);
        jobs
    }

    pub(super) fn rare(&self) -> MutexGuard<'_, Rare> {
        self.rare.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells whether it is time to look for what is due and what the dead left; if so and `begin`, the next time is set.
    pub(super) fn is_rare_due(&self, begin: bool) -> bool {
        let mut rare = self.rare();
        let due = rare.next <= Instant::now();
        if due && begin {
            rare.next = Instant::now() + (self.link.lease / 6).min(RARELY);
        }
        due
    }

    /// Sends what the dead of this machine ended, which is not to be made again: where that fails, nothing is taken from
    /// the dead.
    fn look_for_left(&self) {
        let sent = self.look_after_left();
        if let Err(error) = &sent {
            let what = error.to_string();
            self.link
                .warn(format!("nothing is taken over from the dead: {what}"));
        }
        let mut rare = self.rare();
        (rare.waits, rare.stuck) = match sent {
            Ok(sent) => (sent.waits, sent.stuck),
            Err(_) => (true, Vec::new()),
        };
    }

    /// Claims what is due and what was left by the dead.
    fn claim_rare(
        &self,
        unanswered: &mut Unanswered,
        lanes: &[claim::Lane],
        most: usize,
    ) -> PgResult<Vec<claim::Claimed>> {
        if self.rare().waits || lanes.iter().all(|lane| lane.most == 0) {
            return Ok(Vec::new());
        }
        let held = self.not_taken();
        let by = self.claimer(&held);
        let found = self.link.ask(Duration::ZERO, |c| {
            unanswered.ask();
            claim::claim_rare(c, self.link.run_no, lanes, most, &by)
        })?;
        self.know(&found);
        unanswered.answer();
        Ok(found)
    }

    /// Claims what waits, by lane.
    fn claim_waiting(
        &self,
        unanswered: &mut Unanswered,
        want: &Want<'_>,
        lanes: &[claim::Lane],
        most: usize,
    ) -> PgResult<Vec<claim::Claimed>> {
        let held = self.not_taken();
        let by = self.claimer(&held);
        let anew = lanes.iter().all(|lane| lane.after == claim::Lane::START);
        let began = Instant::now();
        // Asked once: a claim that was committed without an answer is given back before the next one.
        let found = self.link.ask(Duration::ZERO, |c| {
            unanswered.ask();
            if want.lanes.iter().any(|lane| lane.trial.is_some()) {
                let lanes = from_the_start(lanes);
                return self.claim_on_trial(c, want, lanes, &by);
            }
            let mut found = claim::claim(c, self.link.run_no, lanes, most, &by)?;
            if found.len() < most && lanes.iter().any(|lane| lane.after > claim::Lane::START) {
                // What was given back stands before the cursors.
                let anew = from_the_start(&less(lanes, &found));
                let rest = most - found.len();
                found.extend(claim::claim(c, self.link.run_no, &anew, rest, &by)?);
            }
            Ok(found)
        })?;
        self.know(&found);
        unanswered.answer();
        if anew {
            // Where many jobs have ended that the server may not forget yet, beginning anew is what costs.
            let mut cursors = self.cursors.lock().unwrap_or_else(PoisonError::into_inner);
            cursors.long = (began.elapsed() * 20).clamp(FOLLOWED.0, FOLLOWED.1);
        }
        self.move_cursors(&found, found.len() < most);
        Ok(found)
    }

    /// Claims where the first jobs of algorithms are on trial: as many as all workers together may begin.
    fn claim_on_trial(
        &self,
        connection: &mut Connection,
        want: &Want<'_>,
        mut lanes: Vec<claim::Lane>,
        by: &Claimer<'_>,
    ) -> PgResult<Vec<claim::Claimed>> {
        let run_no = self.link.run_no;
        connection.transaction(|connection| {
            // In one order, so that nobody waits for somebody who waits.
            lanes.sort_by(|a, b| a.algo.cmp(&b.algo));
            for lane in &mut lanes {
                let wanted = want.lanes.iter().find(|one| one.algo.as_str() == lane.algo);
                if let Some(most) = wanted.and_then(|one| one.trial) {
                    let room =
                        gate::trial_room(connection, run_no, &lane.algo, most, self.rehearsal)?;
                    lane.most = lane.most.min(u32::try_from(room).unwrap_or(u32::MAX));
                }
            }
            claim::claim(connection, run_no, &lanes, want.most, by)
        })
    }

    /// Takes one job that its caller saw as `entry` describes.
    pub(super) fn claim_named(
        &self,
        job: &JobId,
        entry: Entry,
        now: Timestamp,
    ) -> Result<Claim, StoreError> {
        let patience = self.patience();
        if self.ahead.is_none() && !self.send_spooled(Duration::ZERO)? {
            return Ok(Claim::Later(POLL));
        }
        let Some(job_no) = self.link.job_no(patience, job)? else {
            return Ok(Claim::Changed(JobState::Enqueued { attempt: 0 }));
        };
        let mut sent = Sent::default();
        if entry == Entry::Takeover {
            // Its dead holder may have ended it, or been asked to stop it.
            sent = self.send_left()?;
            self.sweep(Some(job_no), &[])?;
        }
        let held = self.not_taken();
        let by = self.claimer(&held);
        let unanswered = self.unanswered.lock();
        let mut unanswered = unanswered.unwrap_or_else(PoisonError::into_inner);
        let claimed = self.link.ask(patience, |c| {
            if unanswered.is_open() {
                // A claim that was committed without an answer.
                self.release_unknown(c)?;
                unanswered.look(self.link.lease);
            }
            unanswered.ask();
            claim::claim_one(c, job_no, entry, &by)
        })?;
        self.know(claimed.as_slice());
        unanswered.answer();
        drop(unanswered);
        if let Some(claimed) = claimed {
            let hold = claimed.hold;
            let mut claimed = self.all_claimed(vec![claimed], now)?;
            if let Some((_, lease)) = claimed.pop() {
                if let Err(error) = self.open_folder(&lease) {
                    self.give_back_unbegun(&[hold]);
                    return Err(error);
                }
                return Ok(Claim::Taken(lease));
            }
            sent.published.push(job.clone());
        }
        let run_id = self.link.run_id.as_str();
        let found = self
            .link
            .ask(patience, |c| view::jobs_named(c, run_id, job.as_str(), 2))?;
        let found = found.into_iter().find(|view| view.job_no == job_no);
        let snapshot = found.and_then(record::of_view).map(|job| job.snapshot);
        let Some(JobSnapshot::Known {
            state, not_before, ..
        }) = snapshot
        else {
            return Ok(Claim::Busy);
        };
        Ok(match (state, not_before) {
            (JobState::Completed { .. }, _) if sent.published.contains(job) => {
                Claim::RolledForward(state)
            }
            (JobState::Failed { .. }, _) if sent.failed.contains(&job_no) => {
                Claim::RolledForward(state)
            }
            (JobState::Running { .. }, _) if entry == Entry::Takeover => Claim::Busy,
            (JobState::Enqueued { .. }, Some(at)) => {
                // By the clock that set it.
                let now = self.link.ask(patience, keep::now)?;
                Claim::Later(at.since(Timestamp::new(now)).max(POLL / 10))
            }
            _ => Claim::Changed(state),
        })
    }

    /// Returns how the first jobs of an algorithm do.
    pub(super) fn trial_of(&self, algo: &AlgoKey, most: usize) -> Result<Trial, StoreError> {
        let (run_no, rehearsal) = (self.link.run_no, self.rehearsal);
        let trial = self.link.ask(self.patience(), |c| {
            gate::trial(c, run_no, algo.as_str(), most, rehearsal)
        })?;
        Ok(Trial {
            completed: trial.completed,
            failed: trial.failed,
        })
    }

    /// Takes expired leases back, all or that of one job, and those of processes that are dead for certain.
    pub(super) fn sweep(&self, job_no: Option<i64>, dead: &[&str]) -> PgResult<act::Swept> {
        self.sweep_within(self.patience(), job_no, dead)
    }

    fn sweep_within(
        &self,
        patience: Duration,
        job_no: Option<i64>,
        dead: &[&str],
    ) -> PgResult<act::Swept> {
        let only = job_no.map(|job_no| vec![job_no]);
        let sweeper = act::Sweeper {
            lease: self.link.lease,
            worker: Some(&self.link.worker),
            held: &self.not_taken(),
            dead,
            run_no: self.link.run_no,
        };
        self.link.ask(patience, |c| {
            act::sweep_as(c, SWEPT, &sweeper, only.as_deref())
        })
    }

    /// Returns claimed jobs without those that are over with what a dead holder had made. If one cannot be had, all of them
    /// wait again.
    pub(super) fn all_claimed(
        &self,
        found: Vec<claim::Claimed>,
        now: Timestamp,
    ) -> Result<Vec<(JobRecord, Lease)>, StoreError> {
        let holds: Vec<Hold> = found.iter().map(|one| one.hold).collect();
        let jobs: Result<Vec<_>, StoreError> = found
            .into_iter()
            .map(|claimed| self.claimed(claimed, now))
            .collect();
        let jobs = jobs.and_then(|jobs| self.heed_lost(jobs));
        if jobs.is_err() {
            self.give_back_unbegun(&holds);
        }
        jobs
    }

    fn give_back_unbegun(&self, holds: &[Hold]) {
        let how = given_back(ReleaseReason::StoreTrouble);
        // If that fails too, their leases run out.
        let _ = self
            .link
            .ask(Duration::ZERO, |c| ending::release(c, holds, &how));
        self.link.forget(holds);
    }

    fn claimed(
        &self,
        claimed: claim::Claimed,
        now: Timestamp,
    ) -> Result<(JobRecord, Lease), StoreError> {
        let of_claim = record::of_claim(claimed, &self.link, &self.identity.worker_id, now);
        let (record, mut lease) = of_claim.map_err(|reason| StoreError::Closed {
            run_id: self.link.run_id.to_string(),
            reason,
        })?;
        let name = naming::staging_dir(&lease.job_id, lease.attempt, &lease.nonce);
        lease.staging = self.paths.staging().join(name);
        if lease.entry == Entry::Perform {
            self.clear_rehearsal(&lease)?;
        }
        Ok((record, lease))
    }

    /// Tells what became of an ending that was told again after its answer was lost.
    pub(super) fn ended_before(&self, hold: Hold) -> PgResult<Ended> {
        let attempts = self
            .link
            .ask(self.patience(), |c| view::attempts(c, &[hold.job_no]))?;
        let own = attempts.iter().find(|attempt| attempt.hold == hold);
        if own.is_none_or(|attempt| attempt.status != "failed") {
            return Ok(Ended::Fenced);
        }
        let redo = own.is_some_and(|attempt| attempt.entry == Entry::Redo);
        let older = attempts
            .iter()
            .any(|attempt| attempt.hold.number < hold.number && attempt.status == "succeeded");
        Ok(if redo && older {
            Ended::OldResultKept
        } else {
            Ended::Yes
        })
    }

    /// Notes jobs as ours, before anybody looks for some that nobody here knows of.
    pub(super) fn know(&self, found: &[claim::Claimed]) {
        for one in found {
            if let Ok(job) = JobId::parse(&one.job_id) {
                self.link.note_job(&job, one.hold);
            }
        }
    }

    pub(super) fn lanes(&self, want: &Want<'_>, news: bool) -> Vec<claim::Lane> {
        let mut cursors = self.cursors.lock().unwrap_or_else(PoisonError::into_inner);
        // Jobs that were given back stand before the cursor; who begins anew finds them.
        if cursors.since.elapsed() > cursors.long || news {
            cursors.after.clear();
            cursors.since = Instant::now();
        }
        let lane = |lane: &Lane| claim::Lane {
            algo: lane.algo.to_string(),
            most: u32::try_from(lane.most).unwrap_or(u32::MAX),
            after: cursors
                .after
                .get(lane.algo.as_str())
                .copied()
                .unwrap_or(claim::Lane::START),
            bought_only: lane.bought_only,
            free: lane.free,
        };
        want.lanes
            .iter()
            .filter(|one| one.most > 0)
            .map(lane)
            .collect()
    }

    pub(super) fn move_cursors(&self, found: &[claim::Claimed], short: bool) {
        let mut cursors = self.cursors.lock().unwrap_or_else(PoisonError::into_inner);
        if short {
            cursors.after.clear();
        }
        for one in found {
            let cursor = cursors.after.entry(one.algo.clone());
            let cursor = cursor.or_insert(claim::Lane::START);
            *cursor = (*cursor).max(one.claim_key);
        }
    }

    /// Tells whether anything is left for the lanes that were asked for.
    pub(super) fn left_for(&self, want: &Want<'_>) -> PgResult<Next> {
        let run_no = self.link.run_no;
        let lanes = want.lanes.iter().filter(|lane| !lane.bought_only);
        let algos: Vec<&str> = lanes.map(|lane| lane.algo.as_str()).collect();
        let left = self
            .link
            .ask(Duration::ZERO, |c| claim::is_left(c, run_no, &algos))?;
        if !left {
            // What the dead ended and did not settle may be all that keeps a lane short. Whoever stays asks now and then.
            if self.rare().settle > Instant::now() {
                return Ok(Next::Drained);
            }
            if self.settle_left()? > 0 {
                return Ok(Next::Nothing(Duration::from_millis(10)));
            }
            self.rare().settle = Instant::now() + RARELY;
            return Ok(Next::Drained);
        }
        let lanes = want.lanes.iter().filter(|lane| lane.most > 0);
        let algos: Vec<&str> = lanes.map(|lane| lane.algo.as_str()).collect();
        let retry = self
            .link
            .ask(Duration::ZERO, |c| claim::next_due(c, run_no, &algos))?;
        let chance = f64::from(uuid::Uuid::new_v4().as_bytes()[0]) / 255.0;
        let poll = POLL.mul_f64(0.7 + 0.6 * chance);
        let soon = retry.map_or(poll, |retry| retry.min(poll));
        Ok(Next::Nothing(soon.max(Duration::from_millis(10))))
    }
}

fn from_the_start(lanes: &[claim::Lane]) -> Vec<claim::Lane> {
    let begin = |lane: &claim::Lane| claim::Lane {
        after: claim::Lane::START,
        ..lane.clone()
    };
    lanes.iter().map(begin).collect()
}

/// Returns the lanes with the room that is left after these jobs.
fn less(lanes: &[claim::Lane], found: &[claim::Claimed]) -> Vec<claim::Lane> {
    let left = |lane: &claim::Lane| {
        let taken = found.iter().filter(|one| one.algo == lane.algo).count();
        let taken = u32::try_from(taken).unwrap_or(u32::MAX);
        claim::Lane {
            most: lane.most.saturating_sub(taken),
            ..lane.clone()
        }
    };
    lanes.iter().map(left).collect()
}

/// How a job is given back that was not begun.
pub(super) fn given_back(reason: ReleaseReason) -> Release {
    Release {
        reason: record::reason_word(reason).into(),
        pause: Duration::ZERO,
        as_if_died: false,
        redo_waits: true,
    }
}
