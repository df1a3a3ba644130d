//! One job that was taken, from its start to its ending, on one thread.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::Map;
use sha2::{Digest, Sha256};

use crate::adapter::{GenerationRequest, JobContext, JobReporter};
use crate::cancel::{JobStop, StopReason};
use crate::domain::content::ContentKey;
use crate::domain::id::AlgoKey;
use crate::domain::job::Entry;
use crate::domain::lease::Lease;
use crate::domain::naming;
use crate::domain::patch::Span;
use crate::domain::purchase::{OpenIntent, PurchaseEnd};
use crate::domain::retry::{ErrorClass, OnInterrupt};
use crate::domain::text::hex;
use crate::engine::attempt::{
    Attempt, Failure, Intent, Trade, asked_about, asked_about_intent, cut_off_class,
    from_adapter_error, in_doubt, not_begun, without_inputs,
};
use crate::engine::dispatcher::{Answer, Waiting};
use crate::engine::event::EventKind;
use crate::engine::executor::Executor;
use crate::engine::reporter::Reporter;
use crate::engine::reuse;
use crate::engine::{Algorithm, lanes};
use crate::store::{Beat, JobRecord, StoreError};
use crate::trace;

/// A claim that is no older than this needs no second look before the job starts.
const FRESH_CLAIM: Duration = Duration::from_millis(500);

/// The same where jobs that cost nothing are taken ahead: nothing is bought on a lost lease, and none is that short.
const FRESH_AHEAD: Duration = Duration::from_secs(2);

impl Executor<'_> {
    /// Has the adapter make what a job asks for, and tells everybody how that went.
    pub(super) fn carry_out(&self, waiting: Waiting, lease: &Lease) -> Answer {
        let started = Instant::now();
        let job = &waiting.planned.job;
        let algorithm = self.algorithm_of(job);
        let algo = self.algo_of(job);
        let timeout = algorithm
            .as_ref()
            .ok()
            .and_then(|algorithm| algorithm.timeout);
        let stop = JobStop::new(self.cancel.clone(), timeout.map(|time| started + time));
        self.report(EventKind::JobStarted {
            job_id: job.job_id.clone(),
            attempt: lease.attempt,
            algo: algo.clone(),
            entry: lease.entry,
        });
        self.heartbeat.add(lease, &stop, self.clock.steady());
        let attempt = self.attempt(job, lease, algorithm, &algo, &stop);
        self.heartbeat.remove(lease);
        let span = Span {
            start: lease.claimed_at,
            duration: started.elapsed(),
        };
        self.settle(waiting, lease, attempt, span)
    }

    pub(super) fn algo_of(&self, job: &JobRecord) -> String {
        lanes::algo_of(self.conditions, job)
    }

    pub(super) fn algorithm_of(&self, job: &JobRecord) -> Result<&Algorithm, String> {
        let key = match (&self.conditions.forced, &job.algo) {
            (Some(forced), _) => forced,
            (None, Ok(key)) => key,
            (None, Err(reason)) => return Err(reason.clone()),
        };
        self.algorithm(key)
    }

    pub(super) fn algorithm(&self, key: &AlgoKey) -> Result<&Algorithm, String> {
        match self.algorithms.get(key) {
            Some(Ok(algorithm)) => Ok(algorithm),
            Some(Err(reason)) => Err(reason.clone()),
            None => Err(format!("algo {key} is not configured")),
        }
    }

    fn attempt(
        &self,
        job: &JobRecord,
        lease: &Lease,
        algorithm: Result<&Algorithm, String>,
        algo: &str,
        stop: &JobStop,
    ) -> Attempt {
        let free = match (&algorithm, &job.algo) {
            (Ok(algorithm), Ok(key)) => self.is_free(key, algorithm),
            _ => false,
        };
        if let Some(reason) = self.lost_since_the_claim(lease, free) {
            return not_begun(reason);
        }
        let algorithm = match algorithm {
            Ok(algorithm) => algorithm,
            Err(reason) => return Attempt::Failed(Failure::new(ErrorClass::Permanent, reason)),
        };
        if let Some(failure) = self.ask_first(lease, algorithm) {
            return Attempt::Failed(failure);
        }
        let workspace = &self.conditions.workspace;
        let (images, inputs): (&[String], _) = if self.is_bare(algorithm) {
            (&[], Ok(Vec::new()))
        } else {
            (&job.images, self.conditions.artifacts.inputs(lease, job))
        };
        let used_images = match inputs {
            Ok(images) => images,
            Err(no_inputs) => {
                self.conditions.artifacts.let_go(lease);
                return without_inputs(no_inputs);
            }
        };
        for picture in self.conditions.pictures.replaced(workspace, images) {
            self.warn_once(format!(
                "picture {picture} was replaced since the batch was made; the new one is used"
            ));
        }
        let mut request = GenerationRequest {
            job_id: job.job_id.to_string(),
            product_id: job.product_id.clone(),
            variant: job.variant.clone(),
            algo: algo.to_owned(),
            used_images,
            out_dir: lease.staging.clone(),
            workspace: workspace.root().to_owned(),
            extra: Map::new(),
        };
        let content_key = if self.conditions.dry_run || images.is_empty() {
            None
        } else {
            reuse::content_key(algorithm, &request.used_images)
        };
        if algorithm.one_picture {
            request.used_images.truncate(1);
        }
        let mut attempt = self.call(algorithm, &request, content_key.as_ref(), lease, stop);
        self.conditions.artifacts.let_go(lease);
        if let Attempt::Made(checked) = &mut attempt {
            checked.content_key = content_key;
        }
        attempt
    }

    /// Tells why the job must not be begun after all. The pause between claim and start
    /// may have been long: a laptop closed its lid, a process was stopped. Nothing is
    /// bought on a lost lease.
    fn lost_since_the_claim(&self, lease: &Lease, free: bool) -> Option<StopReason> {
        let now = self.clock.now();
        let fresh = if free && self.conditions.ahead > 0 {
            FRESH_AHEAD
        } else {
            FRESH_CLAIM
        };
        if now >= lease.claimed_at && now.since(lease.claimed_at) < fresh {
            return None;
        }
        match self.store.beat(lease, now) {
            Ok(Beat::Held) => None,
            Ok(Beat::Lost) => Some(StopReason::LeaseLost),
            Ok(Beat::CancelAsked) => Some(StopReason::CancelAsked),
            // Whose it is cannot be asked, so it is given back as it was.
            Err(error) => {
                let what = format!("cannot ask whether job {} is still ours", lease.job_id);
                self.store_failed(&what, &error);
                Some(StopReason::Killed)
            }
        }
    }

    /// Asks a person instead of buying again where an earlier attempt may have
    /// bought something, if the adapter's entry says so. Where it does, the claim
    /// is made durable before anything can be bought. What was about to be bought is
    /// asked about in any case, unless the adapter can find out itself.
    fn ask_first(&self, lease: &Lease, algorithm: &Algorithm) -> Option<Failure> {
        if self.conditions.dry_run || algorithm.adapter.reconciles() {
            return None;
        }
        if let Some(intent) = self.open_intent(lease) {
            return Some(asked_about_intent(intent, lease.entry));
        }
        let in_doubt = is_in_doubt(lease, algorithm);
        if algorithm.on_interrupt != OnInterrupt::Ask {
            if in_doubt && algorithm.price.unit_usd != Some(0.0) {
                self.report(EventKind::Warning {
                    message: format!(
                        "job {} was cut off before its provider's answer was noted and runs again; \
                         it may have been billed before (`on_interrupt: ask` in adapters.yaml asks first)",
                        lease.job_id
                    ),
                });
            }
            return None;
        }
        if in_doubt {
            return Some(asked_about(lease.entry));
        }
        let secured = self.store.secure(lease);
        secured.err().map(|error| {
            self.store_failed("cannot make a claim durable", &error);
            Failure::new(
                ErrorClass::Transient,
                format!("the claim could not be made durable: {error}"),
            )
        })
    }

    /// Tells whether the attempt will not start its adapter but ask a person.
    pub(super) fn only_asks(&self, job: &JobRecord, lease: &Lease) -> bool {
        let intended = self.open_intent(lease).is_some();
        self.algorithm_of(job).is_ok_and(|algorithm| {
            let asks = is_in_doubt(lease, algorithm) && algorithm.on_interrupt == OnInterrupt::Ask;
            (intended || asks) && !algorithm.adapter.reconciles()
        })
    }

    /// Returns what an earlier attempt meant to buy, if nobody knows whether it did. A
    /// person who has a job made again that was in doubt has given it up.
    pub(super) fn open_intent<'l>(&self, lease: &'l Lease) -> Option<&'l OpenIntent> {
        let by_person = !lease.took_over
            && match lease.entry {
                Entry::Retry => self.conditions.resubmit_unknown || lease.resubmit,
                entry => entry == Entry::Redo,
            };
        let intent = lease.intent.as_deref()?;
        let given_up = by_person || self.conditions.forget_requests;
        // What this run meant to buy, nobody can have looked for.
        (!given_up || self.dispatch.has_intended(&lease.job_id)).then_some(intent)
    }

    fn call(
        &self,
        algorithm: &Algorithm,
        request: &GenerationRequest,
        content_key: Option<&ContentKey>,
        lease: &Lease,
        stop: &JobStop,
    ) -> Attempt {
        let forgotten = self.forgets(lease);
        let resumed = lease.request_id.clone().filter(|_| !forgotten);
        let mut reporter = Reporter {
            executor: self,
            lease,
            algorithm,
            request,
            content_key,
            inherited: self.inherited(lease, algorithm, resumed.as_deref()),
            bought: Vec::new(),
            nameless: Vec::new(),
            announced: false,
            settled: false,
            intent: None,
            unasked: false,
        };
        let kept = self.open_intent(lease);
        // Who can look for it always does, also where a person would have it bought again.
        let inherited = kept.or(lease
            .intent
            .as_deref()
            .filter(|_| algorithm.adapter.reconciles()));
        let by_person = self.conditions.resubmit_unknown
            || lease.resubmit
            || self.conditions.forget_requests
            || lease.entry == Entry::Redo;
        let outcome = {
            let _span = trace::span("generate");
            let mut context = JobContext {
                attempt: lease.attempt,
                idempotency_key: idempotency_key(lease, forgotten),
                resume_request_id: resumed.clone(),
                open_intent: inherited.cloned(),
                given_up: kept.is_none() && by_person,
                started_at: self.clock.now(),
                log_path: Some(self.log_path(lease)),
                stop: stop.clone(),
                reporter: &mut reporter,
            };
            let outcome = catch_unwind(AssertUnwindSafe(|| {
                algorithm.adapter.generate(request, &mut context)
            }));
            if !matches!(&outcome, Ok(Ok(result)) if result.success) {
                trace::failed("no result");
            }
            outcome
        };
        if let Ok(Ok(result)) = &outcome
            && result.success
        {
            reporter.settled = true;
            reporter.made(result);
        }
        let submitted = reporter.bought.last().map(|(id, _)| id.as_str());
        let inherited = inherited.filter(|_| submitted.is_none());
        let trade = Trade {
            submitted: submitted.is_some(),
            request: submitted.or(resumed.as_deref()),
            intent: match &reporter.intent {
                Some(correlation) => Some(Intent::Said(correlation)),
                None => inherited.map(|intent| Intent::Inherited(&intent.correlation)),
            },
        };
        let mut attempt = match outcome {
            Ok(Ok(result)) if result.success => {
                let result = reporter.with_cost(result);
                return self.check(result, request, lease, algorithm, trade.request.is_some());
            }
            Ok(Ok(_)) => Attempt::Failed(Failure::new(
                ErrorClass::Permanent,
                "the adapter reported no success and gave no reason",
            )),
            Ok(Err(error)) => from_adapter_error(error, &trade, algorithm),
            Err(panic) => {
                let message = format!("the adapter panicked: {}", panic_text(panic.as_ref()));
                let class = cut_off_class(ErrorClass::Permanent, algorithm, &trade);
                Attempt::Failed(Failure {
                    cut_off: true,
                    ..Failure::new(class, message)
                })
            }
        };
        if let Attempt::Failed(failure) = &mut attempt {
            if failure.end == PurchaseEnd::Void
                && let Some(id) = trade.request
            {
                self.dispatch.note_void(&lease.job_id, id);
            }
            failure.forgotten = forgotten;
            failure.made = reporter.announced;
            reporter.mark_away(failure);
            if reporter.announced {
                failure.message = format!("{}{}", failure.message, self.kept_words(lease));
            }
        }
        self.keep_files(in_doubt(attempt, &trade, algorithm, lease.entry), lease)
    }

    /// Returns what earlier attempts of the job bought that is not over, each id with
    /// what it is said to cost.
    fn inherited(
        &self,
        lease: &Lease,
        algorithm: &Algorithm,
        resumed: Option<&str>,
    ) -> Vec<(String, Option<f64>)> {
        let mut inherited = self.dispatch.bought_for(&lease.job_id);
        let knows = |inherited: &[(String, _)], id: &str| inherited.iter().any(|(of, _)| of == id);
        let Some(id) = resumed.filter(|id| !knows(&inherited, id)) else {
            return inherited;
        };
        // Not the price is reserved where another worker bought more, or heard of a cost.
        let reserved = self.dispatch.reserved_usd(&lease.nonce);
        if reserved != algorithm.price.unit_usd {
            let mut bought = self.store.purchases(&lease.job_id).unwrap_or_default();
            bought.retain(|(id, _)| !knows(&inherited, id));
            inherited.extend(bought);
        }
        if !knows(&inherited, id) {
            let price = algorithm.price.unit_usd.unwrap_or_default();
            inherited.push((id.to_owned(), reserved.filter(|usd| *usd > price)));
        }
        inherited
    }

    /// Keeps what an attempt left of which nobody knows whether it was paid for.
    fn keep_files(&self, mut attempt: Attempt, lease: &Lease) -> Attempt {
        if let Attempt::Failed(failure) = &mut attempt
            && failure.class == ErrorClass::Unknown
            && !failure.made
            && !self.conditions.dry_run
            && lease.staging.join(naming::GENERATED_GLB).exists()
        {
            let kept = match self.store.set_aside(lease) {
                Ok(Some(kept)) => kept,
                Ok(None) => return attempt,
                // The next start keeps it and asks.
                Err(error @ StoreError::Io { .. }) if !error.is_of_one_file() => {
                    return Attempt::Unrecorded(error.in_full());
                }
                Err(error) => {
                    self.report(EventKind::Warning {
                        message: format!(
                            "what job {} made stays where it is: {}",
                            lease.job_id,
                            error.in_full()
                        ),
                    });
                    let place = self.conditions.workspace.relative(&lease.staging);
                    place.unwrap_or_default()
                }
            };
            failure.message = format!("{}; what it made is kept in {kept}", failure.message);
        }
        attempt
    }

    /// Tells whether the purchase of an earlier attempt is given up. What this
    /// run bought is no older purchase: its next attempt asks about it.
    pub(super) fn forgets(&self, lease: &Lease) -> bool {
        let request = lease.request_id.as_ref();
        request
            .filter(|_| self.conditions.forget_requests)
            .is_some_and(|request| {
                let bought = self.dispatch.bought_for(&lease.job_id);
                bought.iter().all(|(id, _)| id != request)
            })
    }

    fn log_path(&self, lease: &Lease) -> PathBuf {
        let run = self.conditions.workspace.run(self.store.run_id());
        run.attempt_log(&lease.job_id, lease.attempt)
    }
}

/// Returns the key of the purchase; a person who gave an old request up wants a
/// new one, which the old key would not bring. It is the same for every attempt
/// that gives the same request up, so that a retry does not buy once more.
fn idempotency_key(lease: &Lease, forgotten: bool) -> String {
    match lease.request_id.as_ref().filter(|_| forgotten) {
        Some(request) => {
            let digest = Sha256::digest(request.as_bytes());
            format!("{}-{}", lease.idempotency_key, hex(&digest[..8]))
        }
        None => lease.idempotency_key.clone(),
    }
}

/// Tells whether an earlier attempt may have bought something nobody knows of. A program
/// that announces what it buys and announced nothing has bought nothing.
fn is_in_doubt(lease: &Lease, algorithm: &Algorithm) -> bool {
    lease.took_over && lease.request_id.is_none() && !algorithm.adapter.announces()
}

fn panic_text(panic: &(dyn Any + Send)) -> String {
    panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no reason given".to_owned())
}
