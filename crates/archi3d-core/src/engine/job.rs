//! One job, from claim to ending, on one thread of the pool.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::PoisonError;
use std::time::{Duration, Instant};

use serde_json::Map;
use sha2::{Digest, Sha256};

use crate::adapter::{GenerationRequest, JobContext, JobReporter};
use crate::cancel::{JobStop, StopReason};
use crate::domain::content::ContentKey;
use crate::domain::id::JobId;
use crate::domain::job::{Entry, JobState};
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
use crate::engine::budget::Funding;
use crate::engine::event::EventKind;
use crate::engine::queue::Waiting;
use crate::engine::reporter::Reporter;
use crate::engine::reuse::{self, Turned};
use crate::engine::{Carrier, Pool, lanes};
use crate::store::{Beat, Claim, JobRecord, StoreError};

/// A claim that is no older than this needs no second look before the job starts.
const FRESH_CLAIM: Duration = Duration::from_millis(500);

impl Pool<'_> {
    pub(super) fn run_job(&self, waiting: Waiting) {
        let (waiting, _first) = match self.try_reuse(waiting) {
            Turned::Make(waiting, first) => (*waiting, first),
            Turned::Done => return,
        };
        let job_id = waiting.planned.job.job_id.clone();
        let open = self
            .unless_unusable(waiting)
            .and_then(|waiting| self.wait_for_provider(waiting))
            .and_then(|waiting| self.wait_for_breaker(waiting))
            .and_then(|waiting| self.seems_affordable(waiting))
            .and_then(|waiting| self.admit(waiting));
        let Some((waiting, admitted)) = open else {
            self.claim_answered(false);
            return;
        };
        let entry = waiting.planned.entry;
        let claim = self.store.claim(&job_id, entry, self.clock.now());
        let claim = claim.and_then(|claim| self.unless_redone(&waiting, claim));
        let claim = claim.map(|claim| self.doubt_if_lost(&waiting.planned.job, claim));
        let funding = match &claim {
            Ok(Claim::Taken(lease)) => self.fund(&waiting.planned.job, lease),
            _ => Funding::Refused,
        };
        let starts = funding == Funding::Granted;
        self.claim_answered(starts && !waiting.tried);
        // Held until the job has ended, and given back where it does not start.
        let _admitted = if starts {
            Some(admitted)
        } else {
            admitted.refund();
            None
        };
        match claim {
            Ok(Claim::Taken(lease)) if funding != Funding::Granted => {
                self.give_back_unfunded(waiting, &lease, funding);
            }
            Ok(Claim::Taken(lease)) => self.carry_out(waiting, &lease),
            other => self.claim_refused(waiting, other),
        }
    }

    /// Deals with a job that could not be taken.
    pub(super) fn claim_refused(&self, waiting: Waiting, claim: Result<Claim, StoreError>) {
        let job_id = waiting.planned.job.job_id.clone();
        match claim {
            Ok(Claim::Later(time)) => self.queue.put_back(waiting, time),
            Ok(other) => self.not_taken(job_id, &other),
            Err(error) => {
                self.queue.put_back(waiting, Duration::ZERO);
                self.store_failed(&format!("cannot take job {job_id}"), &error);
            }
        }
    }

    fn not_taken(&self, job_id: JobId, claim: &Claim) {
        match claim {
            Claim::Busy => {
                self.count(|tally| {
                    tally.summary.busy += 1;
                    tally.summary.skipped += 1;
                });
                self.report(EventKind::JobBusy { job_id });
            }
            Claim::Locked { lock, waited } => {
                self.count(|tally| {
                    tally.summary.busy += 1;
                    tally.summary.skipped += 1;
                    tally.summary.locked += 1;
                });
                self.report(EventKind::Warning {
                    message: format!(
                        "job {job_id} is left out: another program has held {lock} for {} s. \
                         Run the same command again when it has ended",
                        waited.as_secs()
                    ),
                });
                self.report(EventKind::JobBusy { job_id });
            }
            Claim::RolledForward(_) => {
                self.settle_what_others_left(Some(&job_id));
                self.count(|tally| tally.summary.rolled_forward += 1);
                self.report(EventKind::RolledForward { job_id });
            }
            Claim::Stuck(reason) => {
                self.count(|tally| {
                    tally.summary.unrecorded += 1;
                    tally.summary.skipped += 1;
                });
                self.report(EventKind::Warning {
                    message: format!(
                        "job {job_id} was finished by a worker that died, and cannot be \
                         published: {reason}. Nothing of it is removed and nothing is bought again"
                    ),
                });
            }
            Claim::Changed(JobState::Cancelled { .. }) => {
                self.count(|tally| tally.summary.skipped += 1);
                self.report(EventKind::Notice {
                    message: format!("job {job_id} was cancelled on request; skipped"),
                });
            }
            _ => self.count(|tally| tally.summary.skipped += 1),
        }
    }

    pub(super) fn carry_out(&self, waiting: Waiting, lease: &Lease) {
        let started = Instant::now();
        let job = &waiting.planned.job;
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
        self.settle(waiting, lease, attempt, span);
    }

    pub(super) fn algo_of(&self, job: &JobRecord) -> String {
        lanes::algo_of(self.conditions, job)
    }

    pub(super) fn carrier_of(&self, job: &JobRecord) -> Result<&Carrier, String> {
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
        if let Some(reason) = self.lost_since_the_claim(lease) {
            return not_begun(reason);
        }
        let carrier = match carrier {
            Ok(carrier) => carrier,
            Err(reason) => return Attempt::Failed(Failure::new(ErrorClass::Permanent, reason)),
        };
        if let Some(failure) = self.ask_first(lease, carrier) {
            return Attempt::Failed(failure);
        }
        let workspace = &self.conditions.workspace;
        let (images, inputs): (&[String], _) = if self.is_bare(carrier) {
            (&[], Ok(Vec::new()))
        } else {
            (&job.images, self.conditions.artifacts.inputs(lease, job))
        };
        let used_images = match inputs {
            Ok(images) => images,
            Err(no_inputs) => return without_inputs(no_inputs),
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
            reuse::content_key(carrier, &request.used_images)
        };
        if carrier.one_picture {
            request.used_images.truncate(1);
        }
        let mut attempt = self.call(carrier, &request, content_key.as_ref(), lease, stop);
        self.conditions.artifacts.let_go(lease);
        if let Attempt::Made(checked) = &mut attempt {
            checked.content_key = content_key;
        }
        attempt
    }

    /// Tells why the job must not be begun after all. The pause between claim and start
    /// may have been long: a laptop closed its lid, a process was stopped. Nothing is
    /// bought on a lost lease.
    fn lost_since_the_claim(&self, lease: &Lease) -> Option<StopReason> {
        let now = self.clock.now();
        if now >= lease.claimed_at && now.since(lease.claimed_at) < FRESH_CLAIM {
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
    fn ask_first(&self, lease: &Lease, carrier: &Carrier) -> Option<Failure> {
        if self.conditions.dry_run || carrier.adapter.reconciles() {
            return None;
        }
        if let Some(intent) = self.open_intent(lease) {
            return Some(asked_about_intent(intent, lease.entry));
        }
        let in_doubt = is_in_doubt(lease);
        if carrier.on_interrupt != OnInterrupt::Ask {
            if in_doubt && carrier.price.unit_usd != Some(0.0) {
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
        self.carrier_of(job).is_ok_and(|carrier| {
            let asks = is_in_doubt(lease) && carrier.on_interrupt == OnInterrupt::Ask;
            (intended || asks) && !carrier.adapter.reconciles()
        })
    }

    /// Returns what an earlier attempt meant to buy, if nobody knows whether it did. A
    /// person who has a job made again that was in doubt has given it up.
    pub(super) fn open_intent<'l>(&self, lease: &'l Lease) -> Option<&'l OpenIntent> {
        let by_person = !lease.took_over && matches!(lease.entry, Entry::Retry | Entry::Redo);
        let intent = lease.intent.as_deref()?;
        let given_up = by_person || self.conditions.forget_requests;
        // What this pool meant to buy, nobody can have looked for.
        let intended = self.intended.lock();
        let intended = intended.unwrap_or_else(PoisonError::into_inner);
        (!given_up || intended.contains(&lease.job_id)).then_some(intent)
    }

    fn call(
        &self,
        carrier: &Carrier,
        request: &GenerationRequest,
        content_key: Option<&ContentKey>,
        lease: &Lease,
        stop: &JobStop,
    ) -> Attempt {
        let forgotten = self.forgets(lease);
        let resumed = lease.request_id.clone().filter(|_| !forgotten);
        let mut reporter = Reporter {
            pool: self,
            lease,
            carrier,
            request,
            content_key,
            inherited: self.inherited(lease, carrier, resumed.as_deref()),
            bought: Vec::new(),
            nameless: Vec::new(),
            announced: false,
            settled: false,
            intent: None,
            away: false,
        };
        let kept = self.open_intent(lease);
        // Who can look for it always does, also where a person would have it bought again.
        let inherited = kept.or(lease
            .intent
            .as_deref()
            .filter(|_| carrier.adapter.reconciles()));
        let by_person = self.conditions.resubmit_unknown
            || self.conditions.forget_requests
            || lease.entry == Entry::Redo;
        let outcome = {
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
            catch_unwind(AssertUnwindSafe(|| {
                carrier.adapter.generate(request, &mut context)
            }))
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
                return self.check(result, request, lease, carrier, trade.request.is_some());
            }
            Ok(Ok(_)) => Attempt::Failed(Failure::new(
                ErrorClass::Permanent,
                "the adapter reported no success and gave no reason",
            )),
            Ok(Err(error)) => from_adapter_error(error, &trade, carrier),
            Err(panic) => {
                let message = format!("the adapter panicked: {}", panic_text(panic.as_ref()));
                let class = cut_off_class(ErrorClass::Permanent, carrier, &trade);
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
                let bought = self.bought.lock();
                let mut bought = bought.unwrap_or_else(PoisonError::into_inner);
                bought.remove(&(lease.job_id.clone(), id.to_owned()));
            }
            failure.forgotten = forgotten;
            failure.made = reporter.announced;
            reporter.mark_away(failure);
            if reporter.announced {
                failure.message = format!("{}{}", failure.message, self.kept_words(lease));
            }
        }
        self.keep_files(in_doubt(attempt, &trade, carrier, lease.entry), lease)
    }

    /// Returns what earlier attempts of the job bought that is not over, each id with
    /// what it is said to cost.
    fn inherited(
        &self,
        lease: &Lease,
        carrier: &Carrier,
        resumed: Option<&str>,
    ) -> Vec<(String, Option<f64>)> {
        let bought = self.bought.lock().unwrap_or_else(PoisonError::into_inner);
        let of_job = bought.iter().filter(|((of, _), _)| *of == lease.job_id);
        let mut inherited: Vec<_> = of_job.map(|((_, id), cost)| (id.clone(), *cost)).collect();
        let knows = |inherited: &[(String, _)], id: &str| inherited.iter().any(|(of, _)| of == id);
        let Some(id) = resumed.filter(|id| !knows(&inherited, id)) else {
            return inherited;
        };
        // Not the price is reserved where another worker bought more, or heard of a cost.
        let reserved = self.reserved_usd(lease);
        if reserved != carrier.price.unit_usd {
            let mut bought = self.store.purchases(&lease.job_id).unwrap_or_default();
            bought.retain(|(id, _)| !knows(&inherited, id));
            inherited.extend(bought);
        }
        if !knows(&inherited, id) {
            let price = carrier.price.unit_usd.unwrap_or_default();
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
            && let Ok(Some(kept)) = self.store.set_aside(lease)
        {
            failure.message = format!("{}; what it made is kept in {kept}", failure.message);
        }
        attempt
    }

    /// Tells whether the purchase of an earlier attempt is given up. What this
    /// pool bought is no older purchase: its next attempt asks about it.
    pub(super) fn forgets(&self, lease: &Lease) -> bool {
        let bought = self.bought.lock().unwrap_or_else(PoisonError::into_inner);
        self.conditions.forget_requests
            && lease
                .request_id
                .clone()
                .is_some_and(|id| !bought.contains_key(&(lease.job_id.clone(), id)))
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

/// Tells whether an earlier attempt may have bought something nobody knows of.
fn is_in_doubt(lease: &Lease) -> bool {
    lease.took_over && lease.request_id.is_none()
}

fn panic_text(panic: &(dyn Any + Send)) -> String {
    panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no reason given".to_owned())
}
