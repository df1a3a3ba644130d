//! One worker's handle on one run: the trait that the engine knows.
//!
//! See [`crate::store`] for what all stores promise.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::domain::budget::AttemptKey;
use crate::domain::id::{AlgoKey, JobId, RunId};
use crate::domain::job::Entry;
use crate::domain::lease::Lease;
use crate::domain::time::Timestamp;
use crate::store::{
    Beat, Billing, Cancellation, Claim, Ending, Finish, JobRecord, JobToRetry, Made, Progress,
    Recovery, ReleaseReason, Restored, RunJobs, Setback, StoreError,
};

/// What a worker would start now.
#[derive(Debug, Clone, Copy)]
pub struct Want<'a> {
    /// The algorithms that may start, with the room each has.
    pub lanes: &'a [Lane],
    /// At most so many jobs in all.
    pub most: usize,
    /// Whether whoever ends a job asks for another one at once: a store may have it ready by then.
    pub follows: bool,
}

/// One algorithm and how many of its jobs may start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lane {
    /// The algorithm.
    pub algo: AlgoKey,
    /// At most so many; with 0 it only counts for whether anything is left.
    pub most: usize,
    /// Only jobs for which something was bought already: they cost nothing new.
    pub bought_only: bool,
    /// Its jobs cost nothing: a claim that is forgotten in a crash of the server only means that they run again.
    pub free: bool,
    /// Its first jobs are on trial: no more than so many are begun by all workers together.
    pub trial: Option<usize>,
}

/// How the first jobs of an algorithm do, over all workers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Trial {
    /// How many brought a result of their own.
    pub completed: usize,
    /// How many failed in a way that speaks of the algorithm.
    pub failed: usize,
}

/// What a worker that asked for jobs gets.
#[derive(Debug)]
pub enum Next {
    /// Jobs that are its own now; never none.
    Jobs(Vec<(JobRecord, Lease)>),
    /// Nothing now; jobs of the run may be free later, so ask again after this long at most.
    Nothing(Duration),
    /// Nothing any more: no job of these algorithms waits or is to be tried again.
    Drained,
}

/// How a store hands out the jobs of a run instead of having them picked from a list.
pub trait Handing: Send + Sync {
    /// Returns the algorithms of the run, in the order of their first jobs, with how many are to be made.
    fn algos(&self) -> Result<Vec<(String, usize)>, StoreError>;

    /// Hands out jobs that are claimed for the caller: no more than it wants, in the store's
    /// order, each to one worker. Their folders are made by [`Handing::open_folder`].
    fn claim_next(&self, want: &Want<'_>, now: Timestamp) -> Result<Next, StoreError>;

    /// Makes the folder of a job that was handed out, unless there is one: not every job needs it.
    fn open_folder(&self, lease: &Lease) -> Result<(), StoreError>;

    /// Returns how the first jobs of an algorithm do; more than `most` are not counted.
    fn trial(&self, algo: &AlgoKey, most: usize) -> Result<Trial, StoreError>;

    /// Has jobs that were only rehearsed handed out too, and tells how many.
    fn perform_rehearsed(&self, algos: &[AlgoKey]) -> Result<usize, StoreError>;

    /// Keeps leases a while longer of jobs that were handed out and have not begun.
    fn keep_ahead(&self, leases: &[&Lease]);

    /// Gives jobs back that were handed out and have not begun.
    fn release_unbegun(&self, leases: &[&Lease], now: Timestamp) -> Result<(), StoreError>;

    /// Sends endings that were kept to be sent together; returns how many, or nothing where none
    /// waits.
    fn send_kept(&self) -> Result<Option<usize>, StoreError>;

    /// Tells whether the store has heard since the last question that there may be jobs again.
    fn has_news(&self) -> bool;

    /// Counts the jobs that wait to be handed out, by algorithm.
    fn unclaimed(&self) -> Result<BTreeMap<String, usize>, StoreError>;
}

/// One worker's handle on one run. See the module for what all stores promise. A method has a body here only where it
/// follows from others: a store that forgets one does not compile.
pub trait WorkerStore: Send + Sync {
    /// Returns the run this handle is for.
    fn run_id(&self) -> &RunId;

    /// Repairs what dead workers left. Must be called, and must return, before
    /// the first claim. Calling it again changes nothing.
    fn recover(&self, now: Timestamp) -> Result<Recovery, StoreError>;

    /// Returns every job as it stands now. Takes no lock for longer than a read.
    fn jobs(&self, now: Timestamp) -> Result<RunJobs, StoreError>;

    /// Returns how jobs are handed out; nothing where the store only lists them.
    fn handing(&self) -> Option<&dyn Handing>;

    /// Makes what is kept in a folder the result of a job that the caller saw as `entry` describes, because a person says so.
    /// Returns why not, if so.
    fn adopt_by_hand(
        &self,
        _job: &JobId,
        _from: &Path,
        _entry: Entry,
        _now: Timestamp,
    ) -> Result<Option<String>, StoreError> {
        Ok(Some("its store cannot take it in".to_owned()))
    }

    /// Tells whether a result without files can be kept.
    fn keeps_bare_results(&self) -> bool;

    /// Tells whether [`WorkerStore::finish`] itself ends the failures in a row of the algorithm whose
    /// job brought a result of its own.
    fn counts_successes(&self) -> bool;

    /// Tries to take `job`, which the caller saw as `entry` describes. When this
    /// returns [`Claim::Taken`], nobody else can take it, the lease's staging
    /// folder exists and is empty, and the death of this process makes the job
    /// free for a takeover. Whoever takes a dead redo or performance over goes on
    /// with one: the lease's entry says so.
    fn claim(&self, job: &JobId, entry: Entry, now: Timestamp) -> Result<Claim, StoreError>;

    /// Shows that the holder lives.
    fn beat(&self, lease: &Lease, now: Timestamp) -> Result<Beat, StoreError>;

    /// Shows that the holder of all these leases lives; one answer for each.
    fn beat_all(&self, leases: &[&Lease], now: Timestamp) -> Vec<Result<Beat, StoreError>> {
        leases.iter().map(|lease| self.beat(lease, now)).collect()
    }

    /// Notes that something is about to be bought. When this returns [`Beat::Held`],
    /// the intent survives a power loss and the job's next attempt will carry it,
    /// unless an id or an ending explains it before. Anything else means that nothing
    /// may be bought.
    fn intent(&self, lease: &Lease, correlation: &str, now: Timestamp) -> Result<Beat, StoreError>;

    /// Notes that a provider accepted the request. When this returns, the id
    /// survives a power loss and the job's next attempt will carry it.
    fn submitted(
        &self,
        lease: &Lease,
        request_id: &str,
        cost_usd: Option<f64>,
        now: Timestamp,
    ) -> Result<(), StoreError>;

    /// Notes that the adapter says it has succeeded. When this returns, the result
    /// is published or kept whatever becomes of this process; with `durably` also
    /// after a power loss. Told again, the later words count.
    fn made(
        &self,
        lease: &Lease,
        made: &Made,
        durably: bool,
        now: Timestamp,
    ) -> Result<(), StoreError>;

    /// Notes how far a running job is, for whoever watches; losing it loses nothing.
    fn note_progress(
        &self,
        lease: &Lease,
        progress: &Progress,
        now: Timestamp,
    ) -> Result<(), StoreError>;

    /// Ends an attempt. When this returns, the ending survives the death of the
    /// process. A result is published only if nobody else holds or finished the
    /// job; otherwise it is kept aside.
    fn finish(&self, lease: &Lease, ending: Ending) -> Result<Finish, StoreError>;

    /// Gives a job back unfinished: it waits again and its attempt is not a failure.
    fn release(
        &self,
        lease: &Lease,
        reason: ReleaseReason,
        not_before: Option<Timestamp>,
        now: Timestamp,
    ) -> Result<(), StoreError>;

    /// Gives a job back after a failure that is not its end: it waits, the failure
    /// is on record, and the next attempt knows how many there were.
    fn requeue(&self, lease: &Lease, setback: Setback, now: Timestamp) -> Result<(), StoreError>;

    /// Moves what an attempt made out of the way, so that ending it as failed does
    /// not throw it away. Returns where it is, relative to the workspace.
    fn set_aside(&self, lease: &Lease) -> Result<Option<String>, StoreError>;

    /// Leaves what an attempt made where it is, because it cannot be recorded now: the
    /// next start publishes it. Tells whether it survives a power loss until then.
    fn leave(&self, lease: &Lease) -> bool {
        self.is_safe(lease)
    }

    /// Tells whether what an attempt made survives a power loss, by trying.
    fn is_safe(&self, lease: &Lease) -> bool;

    /// Makes the claim itself survive a power loss. When this returns, the job
    /// cannot be taken for one that never started.
    fn secure(&self, lease: &Lease) -> Result<(), StoreError>;

    /// Takes a running job out because somebody asked for it.
    fn cancel(&self, lease: &Lease, now: Timestamp) -> Result<(), StoreError>;

    /// Takes a job out on behalf of a person who does not hold it. A job that nobody
    /// works on is out when this returns; a live holder is only asked, and whatever
    /// becomes of that holder, the request reaches whoever would go on with the job.
    /// Must come after [`WorkerStore::recover`].
    fn cancel_job(&self, job: &JobId, now: Timestamp) -> Result<Cancellation, StoreError>;

    /// Puts a job back that was taken out, or takes the request to stop it back. An
    /// open purchase reaches its next attempt. Must come after [`WorkerStore::recover`].
    fn restore(&self, job: &JobId, now: Timestamp) -> Result<Restored, StoreError>;

    /// Has failed jobs wait again because a person says so, each if it failed in the attempt named; returns how many wait
    /// now. Whoever takes one enters it as a retry. Jobs that may have been billed, and of which nobody can be asked, are
    /// left alone unless they are to be bought again (`resubmit`). Must come after [`WorkerStore::recover`].
    fn try_again(
        &self,
        jobs: &[JobToRetry],
        resubmit: bool,
        now: &dyn Fn() -> Timestamp,
    ) -> Result<usize, StoreError>;

    /// Takes many jobs out, as [`WorkerStore::cancel_job`] does, and tells of each what became of it.
    fn cancel_jobs(
        &self,
        jobs: &[JobId],
        now: &dyn Fn() -> Timestamp,
    ) -> Result<Vec<Cancellation>, StoreError> {
        jobs.iter().map(|job| self.cancel_job(job, now())).collect()
    }

    /// Puts many jobs back, as [`WorkerStore::restore`] does, and tells of each what became of it.
    fn restore_all(
        &self,
        jobs: &[JobId],
        now: &dyn Fn() -> Timestamp,
    ) -> Result<Vec<Restored>, StoreError> {
        jobs.iter().map(|job| self.restore(job, now())).collect()
    }

    /// Brings everything into the registry and makes it durable. After this the
    /// handle takes no more claims. Calling it again does nothing.
    fn close(&self, now: Timestamp) -> Result<(), StoreError>;

    /// Returns how many endings of this handle the registry does not show although it was
    /// closed: somebody has removed their rows or changed their status.
    fn endings_not_shown(&self) -> Result<usize, StoreError>;

    /// Returns, one for one, what is on record about the money of attempts that
    /// their workers may not have come to settle.
    fn billings(&self, attempt_keys: &[AttemptKey]) -> Result<Vec<Billing>, StoreError>;

    /// Returns what attempts of a job bought that brought no result and is not void, by
    /// whomever: each id with what it is said to cost.
    fn purchases(&self, job: &JobId) -> Result<Vec<(String, Option<f64>)>, StoreError>;

    /// Stops waiting for other tools: what is not in the registry yet stays where
    /// the next start finds it, and [`WorkerStore::close`] says so.
    fn hurry(&self);

    /// Returns the final folder of a job's result.
    fn output_dir(&self, job: &JobId) -> PathBuf;
}
