//! What becomes of an attempt: told to the store, to everybody who listens, and
//! to the queue if there is to be another one.

use std::time::{Duration, Instant};

use crate::cancel::StopReason;
use crate::domain::budget::Bill;
use crate::domain::job::Entry;
use crate::domain::lease::Lease;
use crate::domain::patch::{self, Span};
use crate::domain::purchase::PurchaseEnd;
use crate::domain::retry::{self, ErrorClass, RetryPolicy, Verdict};
use crate::domain::text::{number_cell, one_line};
use crate::engine::attempt::{Attempt, Failure};
use crate::engine::breaker::Ended;
use crate::engine::event::{EventKind, Left};
use crate::engine::output::Checked;
use crate::engine::queue::Waiting;
use crate::engine::{Halt, Pool};
use crate::store::{Ending, Finish, Outcome, ReleaseReason, Setback, StoreError};
use crate::workspace::artifact;

/// Below this a failure to write is blamed on the disk, not on the job.
const FULL_DISK_BYTES: u64 = 1 << 20;

impl Pool<'_> {
    /// Tells the store how the attempt went, and everybody else what became of it.
    pub(super) fn settle(&self, waiting: Waiting, lease: &Lease, attempt: Attempt, span: Span) {
        match attempt {
            Attempt::Made(checked) => self.settle_made(&waiting, lease, *checked, span),
            Attempt::Unrecorded(reason) => self.leave_unrecorded(lease, &reason),
            // A missing picture is missing however full the disk is, and what may
            // have been billed is never just given back.
            Attempt::Failed(failure)
                if failure.no_room
                    || !matches!(failure.class, ErrorClass::BadInput | ErrorClass::Unknown)
                        && (!failure.made || failure.purchase)
                        && self.disk_is_full() =>
            {
                self.give_back(lease, ReleaseReason::StoreTrouble, "the disk is full");
                self.bill(lease, failure.bill(lease));
                self.halt(Halt::Store);
                self.report(EventKind::Warning {
                    message: format!(
                        "the disk of {} is full; job {} was given back and nothing new starts. \
                         Free some space and run the same command again",
                        self.conditions.workspace.root().display(),
                        lease.job_id
                    ),
                });
            }
            Attempt::Failed(failure) => self.settle_failed(waiting, lease, &failure, span),
            Attempt::Stopped {
                withdrawn: true, ..
            } => self.settle_withdrawn(lease),
            Attempt::Stopped { reason, begun, .. } => self.settle_stopped(lease, reason, begun),
        }
    }

    fn settle_stopped(&self, lease: &Lease, reason: StopReason, begun: bool) {
        match reason {
            StopReason::CancelAsked => self.settle_cancelled(lease),
            StopReason::LeaseLost => {
                self.give_back(
                    lease,
                    ReleaseReason::Interrupted,
                    "another worker has taken it over",
                );
                self.tell_fenced(lease);
            }
            StopReason::Unreachable => {
                self.give_back(
                    lease,
                    ReleaseReason::Unreachable,
                    "its lease could not be renewed",
                );
            }
            StopReason::Killed | StopReason::TimedOut => {
                self.give_back(lease, ReleaseReason::Interrupted, "interrupted");
            }
        }
        // Whether an adapter that was stopped has bought something, nobody knows.
        if !begun && lease.request_id.is_none() {
            self.bill(lease, Bill::Settled(0.0));
        }
    }

    /// Notes that somebody else has a job.
    pub(super) fn tell_fenced(&self, lease: &Lease) {
        self.count(|tally| tally.summary.fenced += 1);
        self.report(EventKind::JobFenced {
            job_id: lease.job_id.clone(),
            kept_at: None,
        });
    }

    pub(super) fn settle_made(
        &self,
        waiting: &Waiting,
        lease: &Lease,
        checked: Checked,
        span: Span,
    ) {
        let Checked {
            ignored,
            product,
            artifacts,
            content_key,
            reused,
        } = checked;
        if !ignored.is_empty() {
            self.report(EventKind::Warning {
                message: format!(
                    "job {}: left out of its result: {}",
                    lease.job_id,
                    ignored.join(", ")
                ),
            });
        }
        let mut patch = patch::completed(span, &self.conditions.worker, &product);
        if lease.entry == Entry::Redo {
            patch.insist();
        }
        let ending = Ending {
            patch,
            outcome: Outcome::Completed {
                simulated: self.conditions.dry_run,
                artifacts,
            },
            cost_usd: product.price.estimated_usd,
            content_key,
            at: self.clock.now(),
        };
        let cost_usd = ending.cost_usd;
        let finish = self.store.finish(lease, ending);
        if let Ok(finish) = &finish {
            self.bill_made(lease, finish, cost_usd);
            // A copy says nothing about how the algorithm fares.
            if !reused {
                self.learn_price(&waiting.planned.job, cost_usd);
                self.lane_ended(waiting, &Ended::Completed, span, cost_usd);
            } else if waiting.canary {
                self.queue.next_canary(waiting.lane);
            }
        }
        match finish {
            Ok(Finish::Published | Finish::Adopted) => {
                self.count(|tally| {
                    tally.summary.processed += 1;
                    tally.summary.completed += 1;
                    tally.summary.reused += usize::from(reused);
                    tally.total_duration += span.duration;
                });
                self.report(EventKind::JobCompleted {
                    job_id: lease.job_id.clone(),
                    duration: span.duration,
                    object: product.object,
                    previews: product.previews,
                    simulated: self.conditions.dry_run,
                });
            }
            Ok(finish) => self.settle_fenced(lease, finish),
            Err(error) => self.not_published(lease, &error),
        }
    }

    /// Leaves a result that cannot be checked or recorded now to the next start.
    fn leave_unrecorded(&self, lease: &Lease, reason: &str) {
        let safe = self.store.leave(lease);
        self.count_unrecorded(safe);
        self.halt(Halt::Store);
        self.report(EventKind::Warning {
            message: format!(
                "job {} is made and could not be recorded: {reason}; {}",
                lease.job_id,
                self.left_words(lease, safe)
            ),
        });
    }

    /// Notes a result that could not be put in its place. Unless all of them would
    /// meet the same, that is the trouble of one job.
    fn not_published(&self, lease: &Lease, error: &StoreError) {
        let safe = self.store.is_safe(lease);
        self.count_unrecorded(safe);
        let words = self.left_words(lease, safe);
        let what = format!(
            "job {} is made and could not be published ({words})",
            lease.job_id
        );
        let outputs = self.conditions.workspace.run(self.store.run_id()).outputs();
        if error.is_of_one_file() && artifact::takes_folders(&outputs) {
            self.report(EventKind::Warning {
                message: format!("{what}: {}", error.in_full()),
            });
        } else {
            self.store_failed(&what, error);
        }
    }

    fn count_unrecorded(&self, safe: bool) {
        self.count(|tally| {
            tally.summary.unrecorded += 1;
            tally.summary.unconfirmed += usize::from(!safe);
        });
    }

    /// Says what is true of a result that the next start is to publish.
    fn left_words(&self, lease: &Lease, safe: bool) -> String {
        let place = self.conditions.workspace.relative(&lease.staging);
        let place = place.unwrap_or_default();
        if safe {
            format!("it is kept in {place} and the next start publishes it")
        } else {
            format!(
                "it is in {place}, but the disk has not confirmed that it keeps it; the next \
                 start publishes it if it is still whole"
            )
        }
    }

    /// Lets `domain::retry` decide what follows a failure, and does it.
    fn settle_failed(&self, waiting: Waiting, lease: &Lease, failure: &Failure, span: Span) {
        if failure.denied {
            self.deny(&waiting.planned.job, &failure.message);
            self.try_again(waiting, lease, failure, Duration::ZERO, false);
            return;
        }
        if failure.away {
            self.try_again(waiting, lease, failure, Duration::ZERO, false);
            return;
        }
        let carrier = self.carrier_of(&waiting.planned.job).ok();
        let policy = carrier.map_or_else(RetryPolicy::default, |carrier| carrier.retry);
        let earlier = lease.failures.max(waiting.failures);
        let jitter = f64::from(uuid::Uuid::new_v4().as_bytes()[0]) / 255.0;
        let refused_for = waiting.refused_since.map(|since| since.elapsed());
        let verdict = retry::after_failure(
            failure.class,
            earlier,
            failure.retry_after,
            refused_for.unwrap_or_default(),
            policy,
            jitter,
        );
        match verdict {
            Verdict::Again(pause) if self.may_try_again() => {
                self.try_again(waiting, lease, failure, pause, true);
            }
            Verdict::CloseProvider(time)
                if carrier
                    .and_then(|carrier| carrier.provider.as_ref())
                    .is_some_and(|provider| self.close_provider(provider, failure, time)) =>
            {
                // The provider's own file says when the job may go on.
                self.try_again(waiting, lease, failure, Duration::ZERO, false);
            }
            Verdict::LeaveAlone(time) if self.may_try_again() => {
                let provider = carrier.and_then(|carrier| carrier.provider.as_ref());
                let closed = provider
                    .is_some_and(|provider| self.close_provider(provider, failure, Some(time)));
                let since = waiting.refused_since.unwrap_or_else(Instant::now);
                let waiting = Waiting {
                    refused_since: Some(since),
                    ..waiting
                };
                // Where nobody can be told, the job itself waits.
                let pause = if closed { Duration::ZERO } else { time };
                self.try_again(waiting, lease, failure, pause, false);
            }
            _ => self.record_failure(&waiting, lease, failure, span),
        }
    }

    /// Gives the job back with its failure on record and queues it again; while
    /// it waits it holds no thread.
    fn try_again(
        &self,
        waiting: Waiting,
        lease: &Lease,
        failure: &Failure,
        pause: Duration,
        counts: bool,
    ) {
        let now = self.clock.now();
        let message = one_line(&failure.message);
        let setback = Setback {
            class: failure.class,
            message: message.clone(),
            not_before: (!pause.is_zero()).then(|| now.plus(pause)),
            counts,
            cut_off: failure.cut_off,
            purchase: failure.end,
            cost_usd: failure.cost_usd,
        };
        // First, so that whoever takes the job next finds nothing reserved that is not owed.
        self.bill(lease, failure.bill(lease));
        if let Err(error) = self.store.put_off(lease, setback, now) {
            self.store_failed(&format!("cannot give job {} back", lease.job_id), &error);
            return;
        }
        self.count(|tally| tally.summary.retried += usize::from(counts));
        self.report(EventKind::JobPutOff {
            job_id: lease.job_id.clone(),
            class: failure.class,
            error: message.chars().take(2000).collect(),
            after: pause,
        });
        let waiting = Waiting {
            tried: true,
            ..waiting.after(lease, u32::from(counts))
        };
        self.requeue(waiting, pause);
    }

    /// Has a job taken again after a pause: by this pool, or by whom the store hands it to.
    pub(super) fn requeue(&self, waiting: Waiting, pause: Duration) {
        match &self.served {
            Some(served) => {
                served.refused(&waiting.planned.job.job_id, waiting.refused_since);
                served.wake();
            }
            None => self.queue.put_back(waiting, pause),
        }
    }

    fn record_failure(&self, waiting: &Waiting, lease: &Lease, failure: &Failure, span: Span) {
        let job = &waiting.planned.job;
        let mut patch = patch::failed(span, &self.conditions.worker, &failure.message);
        if lease.entry == Entry::Perform {
            patch.forget_rehearsal();
        }
        if let Some(usd) = failure.cost_usd {
            patch.set("estimated_cost_usd", number_cell(usd));
        }
        let ending = Ending {
            patch,
            outcome: Outcome::Failed {
                class: failure.class,
                error_text: failure.error_text(),
                cut_off: failure.cut_off,
                purchase: failure.end,
            },
            cost_usd: failure.cost_usd,
            content_key: None,
            at: self.clock.now(),
        };
        let in_doubt = failure.class == ErrorClass::Unknown && !failure.can_be_looked_up;
        let finish = self.store.finish(lease, ending);
        let bill = failure.bill(lease);
        let billed = match bill {
            Bill::Settled(usd) => usd > 0.0,
            Bill::InDoubt => failure.end == PurchaseEnd::Void && !in_doubt,
        };
        if finish.is_ok() {
            self.bill(lease, bill);
        }
        match finish {
            Ok(finish @ (Finish::Published | Finish::Adopted | Finish::OldResultKept)) => {
                self.count(|tally| {
                    tally.summary.processed += 1;
                    tally.summary.failed += 1;
                    tally.summary.in_doubt += usize::from(in_doubt);
                    tally.summary.left.billed += usize::from(billed);
                    if in_doubt && finish == Finish::OldResultKept {
                        let left = &mut tally.summary.left;
                        left.redos_in_doubt.push(lease.job_id.clone());
                    }
                    tally.total_duration += span.duration;
                });
                self.report(EventKind::JobFailed {
                    job_id: lease.job_id.clone(),
                    duration: span.duration,
                    product_id: job.product_id.clone(),
                    algo: self.algo_of(job),
                    class: failure.class,
                    error: one_line(&failure.message).chars().take(2000).collect(),
                    redo: lease.entry == Entry::Redo,
                });
                if !failure.looked {
                    let ended = Ended::Failed(failure.class, &failure.message);
                    self.lane_ended(waiting, &ended, span, failure.cost_usd);
                } else if waiting.canary {
                    self.queue.next_canary(waiting.lane);
                }
                if self.conditions.fail_fast {
                    self.halt(Halt::FailFast);
                }
            }
            Ok(finish) => self.settle_fenced(lease, finish),
            Err(error) => self.not_recorded(lease, &error),
        }
    }

    /// Notes an ending that is safe in the journal but not published yet.
    fn not_recorded(&self, lease: &Lease, error: &StoreError) {
        self.count(|tally| tally.summary.unrecorded += 1);
        let what = format!(
            "the ending of job {} is noted but not published; the next start does that",
            lease.job_id
        );
        self.store_failed(&what, error);
    }

    fn settle_fenced(&self, lease: &Lease, finish: Finish) {
        let kept_at = match finish {
            Finish::Fenced { kept_at } => kept_at,
            _ => None,
        };
        self.count(|tally| tally.summary.fenced += 1);
        self.report(EventKind::JobFenced {
            job_id: lease.job_id.clone(),
            kept_at,
        });
    }

    fn settle_cancelled(&self, lease: &Lease) {
        self.tell_cancelled(lease, self.store.cancel(lease, self.clock.now()));
    }

    /// Takes a job out whose purchase is over and costs nothing. If it is put back one day,
    /// it is bought anew.
    fn settle_withdrawn(&self, lease: &Lease) {
        let now = self.clock.now();
        let setback = Setback {
            class: ErrorClass::Transient,
            message: "cancelled at the provider before it began; not billed".to_owned(),
            not_before: None,
            counts: false,
            cut_off: false,
            purchase: PurchaseEnd::Void,
            cost_usd: None,
        };
        // Somebody has asked for it to be stopped, so this takes it out.
        let outcome = self.store.put_off(lease, setback, now);
        if outcome.is_ok() {
            self.bill(lease, Bill::Settled(0.0));
        }
        self.tell_cancelled(lease, outcome);
    }

    fn tell_cancelled(&self, lease: &Lease, outcome: Result<(), StoreError>) {
        match outcome {
            Ok(()) => {
                self.count(|tally| tally.summary.cancelled += 1);
                self.report(EventKind::JobCancelled {
                    job_id: lease.job_id.clone(),
                });
            }
            Err(error) => self.store_failed(&format!("cannot cancel job {}", lease.job_id), &error),
        }
    }

    pub(super) fn give_back(&self, lease: &Lease, reason: ReleaseReason, words: &str) {
        if let Err(error) = self.store.release(lease, reason, None, self.clock.now()) {
            self.store_failed(&format!("cannot give job {} back", lease.job_id), &error);
            self.count(|tally| Left::note(&mut tally.summary.left.begun, &lease.job_id));
            return;
        }
        if words == "another worker has taken it over" {
            return;
        }
        self.count(|tally| {
            tally.summary.released += 1;
            Left::note(&mut tally.summary.left.begun, &lease.job_id);
        });
        self.report(EventKind::JobReleased {
            job_id: lease.job_id.clone(),
            reason: words.to_owned(),
        });
    }

    fn disk_is_full(&self) -> bool {
        fs4::available_space(self.conditions.workspace.root())
            .is_ok_and(|free| free < FULL_DISK_BYTES)
    }
}
