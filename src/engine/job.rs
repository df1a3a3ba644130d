//! One job, from claim to ending, on one thread of the pool.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use serde_json::Map;

use crate::adapter::{AdapterError, GenerationRequest, GenerationResult, JobContext, JobReporter};
use crate::cancel::{JobStop, StopReason};
use crate::domain::job::Entry;
use crate::domain::lease::Lease;
use crate::domain::patch::{self, Span};
use crate::domain::retry::ErrorClass;
use crate::domain::text::one_line;
use crate::engine::event::EventKind;
use crate::engine::output::{self, Checked};
use crate::engine::{Carrier, Halt, PlannedJob, Pool};
use crate::store::{Beat, Claim, Ending, Finish, JobRecord, Outcome, ReleaseReason};

/// Below this a failure to write is blamed on the disk, not on the job.
const FULL_DISK_BYTES: u64 = 1 << 20;

/// How an attempt went, before the store has heard of it.
enum Attempt {
    Made(Box<Checked>),
    Failed(Failure),
    Stopped(StopReason),
}

struct Failure {
    class: ErrorClass,
    message: String,
    detail: Option<String>,
}

impl Failure {
    fn new(class: ErrorClass, message: impl Into<String>) -> Self {
        Self {
            class,
            message: message.into(),
            detail: None,
        }
    }

    fn error_text(&self) -> String {
        match &self.detail {
            Some(detail) => format!("Error: {}\n\n{detail}\n", self.message),
            None => format!("Error: {}\n", self.message),
        }
    }
}

impl Pool<'_> {
    pub(super) fn run_job(&self, planned: PlannedJob) {
        let job_id = planned.job.job_id.clone();
        match self.store.claim(&job_id, planned.entry, self.clock.now()) {
            Ok(Claim::Taken(lease)) => {
                self.started.fetch_add(1, Ordering::SeqCst);
                self.carry_out(&planned.job, &lease);
            }
            Ok(Claim::Busy) => {
                self.count(|tally| {
                    tally.summary.busy += 1;
                    tally.summary.skipped += 1;
                });
                self.report(EventKind::JobBusy { job_id });
            }
            Ok(Claim::Changed(_)) => self.count(|tally| tally.summary.skipped += 1),
            Ok(Claim::RolledForward(_)) => {
                self.count(|tally| tally.summary.rolled_forward += 1);
                self.report(EventKind::RolledForward { job_id });
            }
            Ok(Claim::Later(time)) => self.queue.put_back(planned, time),
            Err(error) => {
                self.queue.put_back(planned, Duration::ZERO);
                self.store_failed(&format!("cannot take job {job_id}"), &error);
            }
        }
    }

    fn carry_out(&self, job: &JobRecord, lease: &Lease) {
        let started = Instant::now();
        let carrier = self.carrier_of(job);
        let algo = self.algo_of(job);
        let timeout = carrier.as_ref().ok().and_then(|carrier| carrier.timeout);
        let stop = JobStop::new(self.cancel.clone(), timeout.map(|time| started + time));
        self.report(EventKind::JobStarted {
            job_id: job.job_id.clone(),
            attempt: lease.attempt,
            algo: algo.clone(),
            entry: lease.entry,
        });
        self.heartbeat.add(lease, &stop, self.clock.steady());
        let attempt = self.attempt(job, lease, carrier, &algo, &stop);
        self.heartbeat.remove(&job.job_id);
        let span = Span {
            start: lease.claimed_at,
            duration: started.elapsed(),
        };
        self.settle(lease, attempt, span);
    }

    fn algo_of(&self, job: &JobRecord) -> String {
        match (&self.conditions.forced, &job.algo) {
            (Some(forced), _) => forced.to_string(),
            (None, Ok(key)) => key.to_string(),
            (None, Err(_)) => String::new(),
        }
    }

    fn carrier_of(&self, job: &JobRecord) -> Result<&Carrier, String> {
        let key = match (&self.conditions.forced, &job.algo) {
            (Some(forced), _) => forced,
            (None, Ok(key)) => key,
            (None, Err(reason)) => return Err(reason.clone()),
        };
        match self.carriers.get(key) {
            Some(Ok(carrier)) => Ok(carrier),
            Some(Err(reason)) => Err(reason.clone()),
            None => Err(format!("algo {key} is not configured")),
        }
    }

    fn attempt(
        &self,
        job: &JobRecord,
        lease: &Lease,
        carrier: Result<&Carrier, String>,
        algo: &str,
        stop: &JobStop,
    ) -> Attempt {
        // The pause between claim and start may have been long: a laptop closed
        // its lid, a process was stopped. Nothing is bought on a lost lease.
        match self.store.beat(lease, self.clock.now()) {
            Ok(Beat::Held) | Err(_) => {}
            Ok(Beat::Lost) => return Attempt::Stopped(StopReason::LeaseLost),
            Ok(Beat::CancelAsked) => return Attempt::Stopped(StopReason::CancelAsked),
        }
        let carrier = match carrier {
            Ok(carrier) => carrier,
            Err(reason) => return Attempt::Failed(Failure::new(ErrorClass::Permanent, reason)),
        };
        let workspace = &self.conditions.workspace;
        let used_images = match output::resolve_images(workspace, &job.images) {
            Ok(images) => images,
            Err(reason) => return Attempt::Failed(Failure::new(ErrorClass::BadInput, reason)),
        };
        let request = GenerationRequest {
            job_id: job.job_id.to_string(),
            product_id: job.product_id.clone(),
            variant: job.variant.clone(),
            algo: algo.to_owned(),
            used_images,
            out_dir: lease.staging.clone(),
            workspace: workspace.root().to_owned(),
            extra: Map::new(),
        };
        self.call(carrier, &request, lease, stop)
    }

    fn call(
        &self,
        carrier: &Carrier,
        request: &GenerationRequest,
        lease: &Lease,
        stop: &JobStop,
    ) -> Attempt {
        let mut reporter = Reporter {
            pool: self,
            lease,
            submitted: false,
        };
        let outcome = {
            let mut context = JobContext {
                attempt: lease.attempt,
                idempotency_key: lease.idempotency_key.clone(),
                resume_request_id: lease.request_id.clone(),
                stop: stop.clone(),
                reporter: &mut reporter,
            };
            catch_unwind(AssertUnwindSafe(|| {
                carrier.adapter.generate(request, &mut context)
            }))
        };
        let submitted = reporter.submitted;
        let result = match outcome {
            Ok(Ok(result)) if result.success => result,
            Ok(Ok(_)) => {
                return Attempt::Failed(Failure::new(
                    ErrorClass::Permanent,
                    "the adapter reported no success and gave no reason",
                ));
            }
            Ok(Err(error)) => return from_adapter_error(error, submitted, carrier.timeout),
            Err(panic) => {
                let message = format!("the adapter panicked: {}", panic_text(panic.as_ref()));
                return Attempt::Failed(Failure::new(ErrorClass::Permanent, message));
            }
        };
        self.check(result, lease, carrier)
    }

    fn check(&self, result: GenerationResult, lease: &Lease, carrier: &Carrier) -> Attempt {
        let workspace = &self.conditions.workspace;
        let checked = output::check(
            result,
            &lease.staging,
            workspace,
            self.store,
            &lease.job_id,
            &carrier.price,
        );
        match checked {
            Ok(checked) => Attempt::Made(Box::new(checked)),
            Err(error) => Attempt::Failed(Failure::new(ErrorClass::Permanent, error.to_string())),
        }
    }

    /// Tells the store how the attempt went, and everybody else what became of it.
    fn settle(&self, lease: &Lease, attempt: Attempt, span: Span) {
        match attempt {
            Attempt::Made(checked) => self.settle_made(lease, *checked, span),
            Attempt::Failed(_) if self.disk_is_full() => {
                self.give_back(lease, ReleaseReason::StoreTrouble, "the disk is full");
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
            Attempt::Failed(failure) => self.settle_failed(lease, &failure, span),
            Attempt::Stopped(StopReason::CancelAsked) => self.settle_cancelled(lease),
            Attempt::Stopped(StopReason::LeaseLost) => {
                self.give_back(
                    lease,
                    ReleaseReason::Interrupted,
                    "another worker has taken it over",
                );
                self.count(|tally| tally.summary.fenced += 1);
                self.report(EventKind::JobFenced {
                    job_id: lease.job_id.clone(),
                    kept_at: None,
                });
            }
            Attempt::Stopped(StopReason::Killed | StopReason::TimedOut) => {
                self.give_back(lease, ReleaseReason::Interrupted, "interrupted");
            }
        }
    }

    fn settle_made(&self, lease: &Lease, checked: Checked, span: Span) {
        let Checked { product, artifacts } = checked;
        let ending = Ending {
            patch: patch::completed(span, &self.conditions.worker, &product),
            outcome: Outcome::Completed {
                simulated: self.conditions.dry_run,
                artifacts,
            },
            cost_usd: product.price.estimated_usd,
            at: self.clock.now(),
        };
        match self.store.finish(lease, ending) {
            Ok(Finish::Published | Finish::Adopted) => {
                self.count(|tally| {
                    tally.summary.processed += 1;
                    tally.summary.completed += 1;
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
            Err(error) => self.store_failed(
                &format!("cannot record the result of job {}", lease.job_id),
                &error,
            ),
        }
    }

    fn settle_failed(&self, lease: &Lease, failure: &Failure, span: Span) {
        let ending = Ending {
            patch: patch::failed(span, &self.conditions.worker, &failure.message),
            outcome: Outcome::Failed {
                class: failure.class,
                error_text: failure.error_text(),
            },
            cost_usd: None,
            at: self.clock.now(),
        };
        match self.store.finish(lease, ending) {
            Ok(Finish::Published | Finish::Adopted | Finish::OldResultKept) => {
                self.count(|tally| {
                    tally.summary.processed += 1;
                    tally.summary.failed += 1;
                    tally.total_duration += span.duration;
                });
                self.report(EventKind::JobFailed {
                    job_id: lease.job_id.clone(),
                    duration: span.duration,
                    class: failure.class,
                    error: one_line(&failure.message).chars().take(2000).collect(),
                    redo: lease.entry == Entry::Redo,
                });
                if self.conditions.fail_fast {
                    self.halt(Halt::FailFast);
                }
            }
            Ok(finish) => self.settle_fenced(lease, finish),
            Err(error) => self.store_failed(
                &format!("cannot record the failure of job {}", lease.job_id),
                &error,
            ),
        }
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
        match self.store.cancel(lease, self.clock.now()) {
            Ok(()) => {
                self.count(|tally| tally.summary.cancelled += 1);
                self.report(EventKind::JobCancelled {
                    job_id: lease.job_id.clone(),
                });
            }
            Err(error) => self.store_failed(&format!("cannot cancel job {}", lease.job_id), &error),
        }
    }

    fn give_back(&self, lease: &Lease, reason: ReleaseReason, words: &str) {
        if let Err(error) = self.store.release(lease, reason, None, self.clock.now()) {
            self.store_failed(&format!("cannot give job {} back", lease.job_id), &error);
        }
        if words == "another worker has taken it over" {
            return;
        }
        self.count(|tally| tally.summary.released += 1);
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

fn from_adapter_error(error: AdapterError, submitted: bool, timeout: Option<Duration>) -> Attempt {
    match error {
        AdapterError::Failed {
            class,
            message,
            detail,
            ..
        } => Attempt::Failed(Failure {
            class,
            message,
            detail,
        }),
        AdapterError::Stopped(StopReason::TimedOut) => {
            // Once a provider took the request, it may bill although we left.
            let class = if submitted {
                ErrorClass::Unknown
            } else {
                ErrorClass::Transient
            };
            let limit = timeout.unwrap_or_default().as_secs_f64();
            Attempt::Failed(Failure::new(class, format!("timed out after {limit} s")))
        }
        AdapterError::Stopped(reason) => Attempt::Stopped(reason),
    }
}

fn panic_text(panic: &(dyn Any + Send)) -> String {
    panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no reason given".to_owned())
}

/// Passes on what an adapter reports while it works.
struct Reporter<'a> {
    pool: &'a Pool<'a>,
    lease: &'a Lease,
    submitted: bool,
}

impl JobReporter for Reporter<'_> {
    fn progress(&mut self, fraction: f64, message: Option<&str>) {
        self.pool.report(EventKind::JobProgress {
            job_id: self.lease.job_id.clone(),
            fraction: fraction.clamp(0.0, 1.0),
            message: message.map(one_line),
        });
    }

    fn submitted(&mut self, request_id: &str, cost_usd: Option<f64>) -> Result<(), AdapterError> {
        let now = self.pool.clock.now();
        self.submitted = true;
        self.pool
            .store
            .submitted(self.lease, request_id, cost_usd, now)
            .map_err(|error| {
                self.pool.store_failed("cannot note a purchase", &error);
                AdapterError::Failed {
                    class: ErrorClass::Unknown,
                    message: format!("the purchase {request_id} could not be noted: {error}"),
                    detail: None,
                    retry_after: None,
                }
            })
    }
}
