//! One worker's handle on one run that lives in PostgreSQL.
//!
//! State, attempts and money are rows; files are folders of the workspace that the workers
//! share. The commit decides: an attempt's folder takes the job's name only after its ending is
//! in the database, and whoever finds a folder whose ending is there finishes the move. What cannot be sent waits in the spool of this machine.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::claim::{self, Hold};
use super::ending::{self, Ended, Failure, PutOff, Release, Stopped};
use super::following::Following;
use super::handing::{Cursors, Rare};
use super::link::Link;
use super::record;
use super::spool::{SpoolEntry as Spooled, Tidy};
use super::together::Endings;
use super::unanswered::Unanswered;
use super::{buying, view};
use crate::domain::budget::AttemptKey;
use crate::domain::id::{AlgoKey, JobId, RunId};
use crate::domain::job::{Entry, JobState};
use crate::domain::lease::Lease;
use crate::domain::money::Usd;
use crate::domain::text::counted;
use crate::domain::time::Timestamp;
use crate::store::error::{IoContext, StoreError};
use crate::store::{
    Artifacts, Beat, Billing, Cancellation, Claim, Ending, Finish, Handing, JobToRetry, Made, Next,
    Outcome, Progress, Recovery, ReleaseReason, Restored, RunJobs, Setback, Trial, Want,
    WorkerIdentity, WorkerStore,
};
use crate::workspace::artifact;
use crate::workspace::paths::{RunPaths, Workspace};

/// So many jobs are read at a time.
const PAGE: usize = 5_000;

/// Nothing is taken ahead while so many endings wait to be sent.
const BACKLOG: usize = 5_000;

/// How often an idle worker asks, where nobody tells it of news.
pub(super) const POLL: Duration = Duration::from_secs(1);

/// One worker's handle on one run, in PostgreSQL.
pub struct PgStore {
    pub(super) link: Arc<Link>,
    /// Whether its worker serves other runs too, and ends without it.
    pub(super) shared: bool,
    pub(super) workspace: Workspace,
    pub(super) paths: RunPaths,
    pub(super) artifacts: Arc<dyn Artifacts>,
    pub(super) identity: WorkerIdentity,
    pub(super) rehearsal: bool,
    pub(super) cursors: Mutex<Cursors>,
    pub(super) progress: Mutex<HashMap<Hold, Progress>>,
    pub(super) endings: Endings,
    pub(super) following: Following,
    pub(super) sending: Mutex<()>,
    /// How long a lease lasts that is only held ahead, if any are.
    pub(super) ahead: Option<Duration>,
    /// The folder of the spools of all workers of the run on this machine.
    pub(super) spools: PathBuf,
    pub(super) spools_before: Option<PathBuf>,
    pub(super) news: Arc<AtomicBool>,
    pub(super) rare: Mutex<Rare>,
    /// Whoever claims holds it.
    pub(super) unanswered: Mutex<Unanswered>,
    pub(super) ended: Arc<AtomicBool>,
    pub(super) closed: AtomicBool,
}

impl Handing for PgStore {
    fn algos(&self) -> Result<Vec<(String, usize)>, StoreError> {
        self.waiting_algos()
    }

    fn claim_next(&self, want: &Want<'_>, now: Timestamp) -> Result<Next, StoreError> {
        if self.closed.load(Ordering::SeqCst) {
            return Ok(Next::Drained);
        }
        if self.ahead.is_some() {
            if self.spool().len() > BACKLOG {
                return Ok(Next::Nothing(Duration::from_millis(5)));
            }
        } else if !self.send_spooled(Duration::ZERO)? {
            return Ok(Next::Nothing(POLL));
        }
        let taken = self.taken_along(want);
        if !taken.is_empty() {
            return Ok(Next::Jobs(taken));
        }
        let found = match self.claim_some(want) {
            Ok(found) => found,
            // While the server is away nothing new starts, and nobody gives up.
            Err(error) if error.is_retryable() => return Ok(Next::Nothing(POLL)),
            Err(error) => return Err(error.into()),
        };
        self.following.note(want, found.len() >= want.most);
        if found.is_empty() {
            return match self.left_for(want) {
                Ok(next) => Ok(next),
                Err(error) if error.is_retryable() => Ok(Next::Nothing(POLL)),
                Err(error) => Err(error.into()),
            };
        }
        match self.all_claimed(found, now) {
            // All of it is over already.
            Ok(jobs) if jobs.is_empty() => Ok(Next::Nothing(Duration::from_millis(10))),
            Ok(jobs) => Ok(Next::Jobs(jobs)),
            Err(error) if error.is_away() => Ok(Next::Nothing(POLL)),
            Err(error) => Err(error),
        }
    }

    fn open_folder(&self, lease: &Lease) -> Result<(), StoreError> {
        std::fs::create_dir_all(&lease.staging).context("create", &lease.staging)
    }

    fn trial(&self, algo: &AlgoKey, most: usize) -> Result<Trial, StoreError> {
        self.trial_of(algo, most)
    }

    fn perform_rehearsed(&self, algos: &[AlgoKey]) -> Result<usize, StoreError> {
        self.perform(algos)
    }

    fn keep_ahead(&self, leases: &[&Lease]) {
        self.renew_ahead(leases);
    }

    fn release_unbegun(&self, leases: &[&Lease], _now: Timestamp) -> Result<(), StoreError> {
        self.give_back_ahead(leases)
    }

    fn send_kept(&self) -> Result<Option<usize>, StoreError> {
        (!self.spool().is_empty())
            .then(|| self.send_waiting())
            .transpose()
    }

    fn has_news(&self) -> bool {
        self.news.load(Ordering::SeqCst) || self.following.is_ready()
    }

    fn unclaimed(&self) -> Result<BTreeMap<String, usize>, StoreError> {
        self.give_back_following(true);
        let run_no = self.link.run_no;
        let counts = self
            .link
            .ask(self.patience(), |c| view::counts(c, run_no))?;
        let waiting = counts.into_iter().map(|count| {
            let jobs = count.pending + count.retryable;
            (count.algo, jobs)
        });
        Ok(waiting.filter(|(_, jobs)| *jobs > 0).collect())
    }
}

impl WorkerStore for PgStore {
    fn handing(&self) -> Option<&dyn Handing> {
        Some(self)
    }

    fn run_id(&self) -> &RunId {
        &self.link.run_id
    }

    fn recover(&self, _now: Timestamp) -> Result<Recovery, StoreError> {
        let (sent, finished) = self.take_over_left()?;
        self.settle_left()?;
        let said =
            |what, count, noun| (count > 0).then(|| format!("{what}: {}", counted(count, noun)));
        let sent_for = said("sent for an earlier worker", sent.count, "record");
        let warnings = sent_for
            .into_iter()
            .chain(said("put in place", finished, "result"));
        Ok(Recovery {
            rolled_forward: sent.published,
            warnings: warnings.collect(),
            ..Recovery::default()
        })
    }

    fn jobs(&self, _now: Timestamp) -> Result<RunJobs, StoreError> {
        let mut jobs = Vec::new();
        let mut after = -1;
        loop {
            let run_no = self.link.run_no;
            let page = self
                .link
                .ask(self.patience(), |c| view::jobs(c, run_no, after, PAGE))?;
            let Some(last) = page.last() else { break };
            after = last.position;
            jobs.extend(page.into_iter().filter_map(record::of_view));
        }
        Ok(RunJobs {
            jobs,
            ..RunJobs::default()
        })
    }

    fn keeps_bare_results(&self) -> bool {
        true
    }

    fn counts_successes(&self) -> bool {
        true
    }

    fn claim(&self, job: &JobId, entry: Entry, now: Timestamp) -> Result<Claim, StoreError> {
        if self.closed.load(Ordering::SeqCst) {
            return Err(StoreError::Closed {
                run_id: self.link.run_id.to_string(),
                reason: "it was closed".to_owned(),
            });
        }
        self.claim_named(job, entry, now)
    }

    fn beat(&self, lease: &Lease, now: Timestamp) -> Result<Beat, StoreError> {
        let mut beats = self.beat_all(&[lease], now);
        beats.pop().unwrap_or(Ok(Beat::Lost))
    }

    fn beat_all(&self, leases: &[&Lease], _now: Timestamp) -> Vec<Result<Beat, StoreError>> {
        let holds: Result<Vec<Hold>, StoreError> =
            leases.iter().map(|lease| self.link.hold(lease)).collect();
        let beaten = holds.and_then(|holds| {
            let progress = self.progress.lock().unwrap_or_else(PoisonError::into_inner);
            let pulses: Vec<claim::Pulse> = holds
                .into_iter()
                .map(|hold| record::pulse(hold, progress.get(&hold)))
                .collect();
            drop(progress);
            let (worker, lease) = (self.link.worker.as_str(), self.link.lease);
            let beaten = self.link.beat(|c| claim::beat(c, &pulses, worker, lease));
            beaten.map_err(StoreError::from)
        });
        // Afterwards: it waits for the connection of the work, which a beat never does.
        self.give_back_following(false);
        match beaten {
            Ok(beaten) => beaten
                .into_iter()
                .map(|one| Ok(record::beat(one)))
                .collect(),
            Err(error) => {
                let hint = error.hint().unwrap_or_default().to_owned();
                let (what, away) = (error.to_string(), error.is_away());
                let again = |_: &&Lease| {
                    let (what, hint) = (what.clone(), hint.clone());
                    Err(if away {
                        StoreError::Away { what, hint }
                    } else {
                        let setup = false;
                        StoreError::Server { what, hint, setup }
                    })
                };
                leases.iter().map(again).collect()
            }
        }
    }

    fn intent(
        &self,
        lease: &Lease,
        correlation: &str,
        _now: Timestamp,
    ) -> Result<Beat, StoreError> {
        let (hold, length) = (self.link.hold(lease)?, self.link.lease);
        let beaten = self.link.ask(self.patience(), |c| {
            buying::intent(c, &hold, correlation, length)
        })?;
        Ok(record::beat(beaten))
    }

    fn submitted(
        &self,
        lease: &Lease,
        request_id: &str,
        cost_usd: Option<f64>,
        _now: Timestamp,
    ) -> Result<(), StoreError> {
        let hold = self.link.hold(lease)?;
        let cost = cost_usd.map(Usd::of);
        let told = self.link.ask(self.patience(), |c| {
            buying::submitted(c, &hold, request_id, cost)
        });
        match told {
            Ok(_) => Ok(()),
            // One that the server refuses is on this disk at least.
            Err(_) => self.spool_up(Spooled::Submitted {
                hold,
                request_id: request_id.to_owned(),
                cost_micros: cost.map(Usd::micros),
            }),
        }
    }

    fn made(
        &self,
        lease: &Lease,
        made: &Made,
        durably: bool,
        _now: Timestamp,
    ) -> Result<(), StoreError> {
        self.note_made(lease, made, durably)
    }

    fn adopt_by_hand(
        &self,
        job: &JobId,
        from: &Path,
        entry: Entry,
        now: Timestamp,
    ) -> Result<Option<String>, StoreError> {
        self.adopt_for_a_person(job, from, entry, now)
    }

    fn note_progress(
        &self,
        lease: &Lease,
        progress: &Progress,
        _now: Timestamp,
    ) -> Result<(), StoreError> {
        let hold = self.link.hold(lease)?;
        let all = self.progress.lock();
        let mut all = all.unwrap_or_else(PoisonError::into_inner);
        all.insert(hold, progress.clone());
        Ok(())
    }

    fn finish(&self, lease: &Lease, ending: Ending) -> Result<Finish, StoreError> {
        let hold = self.link.hold(lease)?;
        let seconds = Some(ending.at.since(lease.claimed_at).as_secs_f64());
        let (class, error_text, cut_off, purchase) = match ending.outcome {
            Outcome::Completed { .. } => {
                let at = ending.at;
                let success = record::success(lease, hold, ending, seconds);
                return self.finish_made(lease, hold, success, at);
            }
            Outcome::Failed {
                class,
                ref error_text,
                cut_off,
                purchase,
            } => (class, error_text.clone(), cut_off, purchase),
        };
        self.write_error_text(&lease.job_id, &error_text);
        let failure = Failure {
            hold,
            class,
            message: record::message_of(&ending.patch, &error_text),
            cost_micros: ending.cost_usd.map(|usd| Usd::of(usd).micros()),
            cut_off,
            purchase,
            patch: ending.patch,
            seconds,
        };
        let ended = self
            .link
            .ask(self.patience(), |c| ending::fail(c, &failure));
        let ended = match ended {
            Ok(ended) => ended,
            Err(error) if !error.is_of_one() => {
                self.spool_up(Spooled::Failed { failure })?;
                Ended::Yes
            }
            Err(error) => return Err(error.into()),
        };
        let ended = match ended {
            // Perhaps it was told before, and only the answer was lost.
            Ended::Fenced => self.ended_before(hold)?,
            ended => ended,
        };
        self.clear(lease);
        self.over(lease, hold);
        Ok(match ended {
            Ended::Yes | Ended::Cancelled => Finish::Published,
            Ended::OldResultKept => Finish::OldResultKept,
            Ended::Fenced => Finish::Fenced { kept_at: None },
        })
    }

    fn release(
        &self,
        lease: &Lease,
        reason: ReleaseReason,
        not_before: Option<Timestamp>,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let hold = self.link.hold(lease)?;
        let how = Release {
            reason: record::reason_word(reason).into(),
            pause: not_before.map(|at| at.since(now)).unwrap_or_default(),
            as_if_died: reason == ReleaseReason::Unreachable,
            redo_waits: matches!(reason, ReleaseReason::Retry | ReleaseReason::Budget),
        };
        let released = self
            .link
            .ask(self.patience(), |c| ending::release(c, &[hold], &how));
        match released {
            Ok(_) => {}
            // Left to its lease, it would look as if we had died with it.
            Err(error) if !error.is_of_one() => self.spool_up(Spooled::Released { hold, how })?,
            Err(error) => return Err(error.into()),
        }
        self.clear(lease);
        self.over(lease, hold);
        Ok(())
    }

    fn requeue(&self, lease: &Lease, setback: Setback, now: Timestamp) -> Result<(), StoreError> {
        let hold = self.link.hold(lease)?;
        let setback = PutOff {
            hold,
            class: setback.class,
            message: setback.message,
            pause: setback
                .not_before
                .map(|at| at.since(now))
                .unwrap_or_default(),
            counts: setback.counts,
            cut_off: setback.cut_off,
            purchase: setback.purchase,
            cost_micros: setback.cost_usd.map(|usd| Usd::of(usd).micros()),
            redo_waits: true,
            patch: None,
        };
        let told = self
            .link
            .ask(self.patience(), |c| ending::requeue(c, &setback));
        match told {
            Ok(_) => {}
            Err(error) if !error.is_of_one() => self.spool_up(Spooled::PutOff { setback })?,
            Err(error) => return Err(error.into()),
        }
        self.clear(lease);
        self.over(lease, hold);
        Ok(())
    }

    fn set_aside(&self, lease: &Lease) -> Result<Option<String>, StoreError> {
        self.aside(&lease.staging, &lease.job_id, lease.attempt, &lease.nonce)
    }

    fn is_safe(&self, lease: &Lease) -> bool {
        artifact::sync_files(&lease.staging).is_ok()
    }

    fn secure(&self, _lease: &Lease) -> Result<(), StoreError> {
        // The claim was committed.
        Ok(())
    }

    fn cancel(&self, lease: &Lease, _now: Timestamp) -> Result<(), StoreError> {
        let hold = self.link.hold(lease)?;
        let how = Release {
            reason: record::reason_word(ReleaseReason::Interrupted).into(),
            pause: Duration::ZERO,
            as_if_died: false,
            redo_waits: false,
        };
        let stopped = self.link.ask(self.patience(), |c| {
            if ending::cancel(c, &hold)? == Stopped::NotAsked {
                ending::release(c, &[hold], &how)?;
            }
            Ok(())
        });
        match stopped {
            Ok(()) => {}
            // Whoever was asked to stop is out when it gives the job back.
            Err(error) if !error.is_of_one() => self.spool_up(Spooled::Released { hold, how })?,
            Err(error) => return Err(error.into()),
        }
        self.clear(lease);
        self.over(lease, hold);
        Ok(())
    }

    fn cancel_job(&self, job: &JobId, _now: Timestamp) -> Result<Cancellation, StoreError> {
        let told = self.cancel_many(std::slice::from_ref(job))?.pop();
        Ok(told.unwrap_or(Cancellation::Untouched(JobState::Enqueued { attempt: 0 })))
    }

    fn restore(&self, job: &JobId, _now: Timestamp) -> Result<Restored, StoreError> {
        let told = self.restore_many(std::slice::from_ref(job))?.pop();
        Ok(told.unwrap_or(Restored::NotCancelled))
    }

    fn cancel_jobs(
        &self,
        jobs: &[JobId],
        _now: &dyn Fn() -> Timestamp,
    ) -> Result<Vec<Cancellation>, StoreError> {
        self.cancel_many(jobs)
    }

    fn try_again(
        &self,
        jobs: &[JobToRetry],
        resubmit: bool,
        _now: &dyn Fn() -> Timestamp,
    ) -> Result<usize, StoreError> {
        self.try_many_again(jobs, resubmit)
    }

    fn restore_all(
        &self,
        jobs: &[JobId],
        _now: &dyn Fn() -> Timestamp,
    ) -> Result<Vec<Restored>, StoreError> {
        self.restore_many(jobs)
    }

    fn endings_not_shown(&self) -> Result<usize, StoreError> {
        // Their rows are written when the run is pulled.
        Ok(0)
    }

    fn close(&self, _now: Timestamp) -> Result<(), StoreError> {
        if self.closed.swap(true, Ordering::SeqCst) {
            return Ok(());
        }
        self.give_back_following(true);
        let sent = self.send_spooled(self.patience());
        self.ended.store(true, Ordering::SeqCst);
        let ended = self.leave();
        let waiting = self.spool().len();
        if waiting == 0 {
            // What a file still tells of is told again by the next start, to no effect.
            let _ = self.spool().forget(0, Tidy::Now);
        } else {
            return Err(StoreError::Server {
                what: format!(
                    "{} not sent yet, on this machine's disk",
                    counted(waiting, "record")
                ),
                hint: "start a worker on this machine once the server is back: it sends them first"
                    .to_owned(),
                setup: false,
            });
        }
        sent?;
        match ended {
            Err(error) if !error.is_retryable() => Err(error.into()),
            _ => Ok(()),
        }
    }

    fn billings(&self, attempt_keys: &[AttemptKey]) -> Result<Vec<Billing>, StoreError> {
        let mut keys = Vec::new();
        for attempt_key in attempt_keys {
            let hold = self.link.hold_of(attempt_key, self.patience())?;
            keys.push(hold.map_or((0, uuid::Uuid::nil()), |hold| {
                (hold.job_no, hold.attempt_id)
            }));
        }
        let told = self.link.ask(self.patience(), |c| ending::bills(c, &keys));
        Ok(told?)
    }

    fn purchases(&self, job: &JobId) -> Result<Vec<(String, Option<f64>)>, StoreError> {
        let Some(job_no) = self.link.job_no(self.patience(), job)? else {
            return Ok(Vec::new());
        };
        let open = self
            .link
            .ask(self.patience(), |c| buying::purchases(c, job_no))?;
        let open = open.into_iter();
        Ok(open
            .map(|one| (one.request_id, one.cost.map(Usd::dollars)))
            .collect())
    }

    fn hurry(&self) {
        self.link.hurry();
        self.artifacts.hurry();
    }

    fn output_dir(&self, job: &JobId) -> PathBuf {
        self.paths.output(job)
    }
}

impl Drop for PgStore {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::SeqCst);
    }
}
