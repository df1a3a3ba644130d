//! What becomes of an attempt: told to the store, to everybody who listens, and
//! to the queue if there is to be another one.

use std::time::{Duration, Instant};

use crate::cancel::StopReason;
use crate::domain::budget::Bill;
use crate::domain::job::Entry;
use crate::domain::lease::Lease;
use crate::domain::patch::{self, Span};
use crate::domain::purchase::PurchaseEnd;
use crate::domain::retry::{self, ErrorClass, RetryDecision, RetryPolicy};
use crate::domain::text::{number_cell, one_line};
use crate::engine::attempt::{Attempt, Failure};
use crate::engine::breaker::Ended;
use crate::engine::dispatcher::{Answer, Halt, Waiting};
use crate::engine::event::{EventKind, Left};
use crate::engine::executor::Executor;
use crate::engine::output::Checked;
use crate::store::{Ending, Finish, Outcome, ReleaseReason, Setback, StoreError};
use crate::workspace::artifact;

/// Below this a failure to write is blamed on the disk, not on the job.
const FULL_DISK_BYTES: u64 = 1 << 20;

impl Executor<'_> {
    /// Tells the store how the attempt went, and everybody else what became of it.
    pub(super) fn settle(
        &self,
        waiting: Waiting,
        lease: &Lease,
        attempt: Attempt,
        span: Span,
    ) -> Answer {
        match attempt {
            Attempt::Made(checked) => self.settle_made(&waiting, lease, *checked, span),
            Attempt::Unrecorded(reason) => self.leave_unrecorded(lease, &reason),
            Attempt::Unable(error) => self.settle_unable(lease, &error),
            // A missing picture is missing however full the disk is, and what may
            // have been billed is never just given back.
            Attempt::Failed(failure)
                if failure.no_room
                    || !matches!(failure.class, ErrorClass::BadInput | ErrorClass::Unknown)
                        && (!failure.made || failure.purchase)
                        && self.disk_is_full() =>
            {
                self.bill(lease, failure.bill(lease));
                self.give_back(lease, ReleaseReason::StoreTrouble, "the disk is full");
                self.dispatch.halt(Halt::Store);
                self.report(EventKind::Warning {
                    message: format!(
                        "the disk of {} is full; job {} was given back and nothing new starts. \
                         Free some space and run the same command again",
                        self.conditions.workspace.root().display(),
                        lease.job_id
                    ),
                });
            }
            Attempt::Failed(failure) => return self.settle_failed(waiting, lease, &failure, span),
            Attempt::Stopped { unbilled: true, .. } => self.settle_cancelled_unbilled(lease),
            Attempt::Stopped { reason, begun, .. } => self.settle_stopped(lease, reason, begun),
        }
        Answer::Over
    }

    fn settle_stopped(&self, lease: &Lease, reason: StopReason, begun: bool) {
        // Whether an adapter that was stopped has bought something, nobody knows. Bills come before the job is given back,
        // here and below: whoever takes it next finds nothing reserved that is not owed.
        if !begun && lease.request_id.is_none() {
            self.bill(lease, Bill::Settled(0.0));
        }
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
    }

    /// Leaves a job to others that nothing is wrong with: this machine starts nothing new.
    fn settle_unable(&self, lease: &Lease, error: &StoreError) {
        let words = "its pictures cannot be fetched here";
        if lease.request_id.is_none() {
            self.bill(lease, Bill::Settled(0.0));
        }
        self.give_back(lease, ReleaseReason::StoreTrouble, words);
        let what = format!("job {} was given back, nothing new starts", lease.job_id);
        self.store_failed(&what, error);
    }

    /// Notes that somebody else has a job.
    pub(super) fn tell_fenced(&self, lease: &Lease) {
        self.dispatch.count(|tally| tally.summary.fenced += 1);
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
        let finish = self.publish(lease, ending);
        if let Ok(finish) = &finish {
            self.bill_made(lease, finish, cost_usd);
            // A copy says nothing about how the algorithm fares.
            if !reused {
                self.learn_price(&waiting.planned.job, cost_usd);
                self.lane_ended(waiting, &Ended::Completed, span, cost_usd);
            } else if waiting.canary {
                self.dispatch.next_canary(waiting.lane);
            }
        }
        match finish {
            Ok(Finish::Published | Finish::Adopted) => {
                self.dispatch.forget_purchases(&lease.job_id);
                self.dispatch.count(|tally| {
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
        self.dispatch.halt(Halt::Store);
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
        self.dispatch.count(|tally| {
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
    fn settle_failed(
        &self,
        waiting: Waiting,
        lease: &Lease,
        failure: &Failure,
        span: Span,
    ) -> Answer {
        if failure.denied {
            self.deny(&waiting.planned.job, &failure.message);
        }
        if failure.denied || failure.away {
            return self.try_again(waiting, lease, failure, Duration::ZERO, false);
        }
        let algorithm = self.algorithm_of(&waiting.planned.job).ok();
        let policy = algorithm.map_or_else(RetryPolicy::default, |algorithm| algorithm.retry);
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
            RetryDecision::Again(pause) if self.dispatch.may_try_again() => {
                self.try_again(waiting, lease, failure, pause, true)
            }
            RetryDecision::CloseProvider(time)
                if algorithm
                    .and_then(|algorithm| algorithm.provider.as_ref())
                    .is_some_and(|provider| self.close_provider(provider, failure, time)) =>
            {
                // The provider's own file says when the job may go on.
                self.try_again(waiting, lease, failure, Duration::ZERO, false)
            }
            RetryDecision::LeaveAlone(time) if self.dispatch.may_try_again() => {
                let provider = algorithm.and_then(|algorithm| algorithm.provider.as_ref());
                let closed = provider
                    .is_some_and(|provider| self.close_provider(provider, failure, Some(time)));
                let since = waiting.refused_since.unwrap_or_else(Instant::now);
                let waiting = Waiting {
                    refused_since: Some(since),
                    ..waiting
                };
                // Where nobody can be told, the job itself waits.
                let pause = if closed { Duration::ZERO } else { time };
                self.try_again(waiting, lease, failure, pause, false)
            }
            _ => {
                self.record_failure(&waiting, lease, failure, span);
                Answer::Over
            }
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
    ) -> Answer {
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
        self.bill(lease, failure.bill(lease));
        if let Err(error) = self.store.requeue(lease, setback, now) {
            self.store_failed(&format!("cannot give job {} back", lease.job_id), &error);
            return Answer::Over;
        }
        self.dispatch
            .count(|tally| tally.summary.retried += usize::from(counts));
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
        // By this run, or by whom the store hands it to.
        Answer::Again(Box::new(waiting), pause)
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
        let finish = self.publish(lease, ending);
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
                self.dispatch.count(|tally| {
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
                    self.dispatch.next_canary(waiting.lane);
                }
                if self.conditions.fail_fast {
                    self.dispatch.halt(Halt::FailFast);
                }
            }
            Ok(finish) => self.settle_fenced(lease, finish),
            Err(error) => self.not_recorded(lease, &error),
        }
    }

    /// Notes an ending that is safe in the journal but not published yet.
    fn not_recorded(&self, lease: &Lease, error: &StoreError) {
        self.dispatch.count(|tally| tally.summary.unrecorded += 1);
        let words = if self.handing.is_some() {
            "could be told to nobody; it is begun again when its lease has expired"
        } else {
            "is noted but not published; the next start does that"
        };
        let what = format!("the ending of job {} {words}", lease.job_id);
        self.store_failed(&what, error);
    }

    fn settle_fenced(&self, lease: &Lease, finish: Finish) {
        let kept_at = match finish {
            Finish::Fenced { kept_at } => kept_at,
            _ => None,
        };
        self.dispatch.count(|tally| tally.summary.fenced += 1);
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
    fn settle_cancelled_unbilled(&self, lease: &Lease) {
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
        self.bill(lease, Bill::Settled(0.0));
        let outcome = self.store.requeue(lease, setback, now);
        self.tell_cancelled(lease, outcome);
    }

    fn tell_cancelled(&self, lease: &Lease, outcome: Result<(), StoreError>) {
        match outcome {
            Ok(()) => {
                self.dispatch.count(|tally| tally.summary.cancelled += 1);
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
            self.dispatch
                .count(|tally| Left::note(&mut tally.summary.left.begun, &lease.job_id));
            return;
        }
        if words == "another worker has taken it over" {
            return;
        }
        self.dispatch.count(|tally| {
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
