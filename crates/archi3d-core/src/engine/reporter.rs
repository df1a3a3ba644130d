//! What an adapter reports while it works, passed on to the store and to whoever watches.

use crate::adapter::{AdapterError, GenerationRequest, GenerationResult, JobReporter};
use crate::cancel::StopReason;
use crate::domain::budget::plain_usd;
use crate::domain::content::ContentKey;
use crate::domain::lease::Lease;
use crate::domain::purchase::PurchaseEnd;
use crate::domain::retry::ErrorClass;
use crate::domain::text::one_line;
use crate::engine::attempt::Failure;
use crate::engine::event::EventKind;
use crate::engine::executor::Executor;
use crate::engine::{Algorithm, output};
use crate::store::{Beat, Made, Progress};
use crate::trace;

/// Passes on what an adapter reports while it works.
pub(super) struct Reporter<'a> {
    pub(super) executor: &'a Executor<'a>,
    pub(super) lease: &'a Lease,
    pub(super) algorithm: &'a Algorithm,
    pub(super) request: &'a GenerationRequest,
    pub(super) content_key: Option<&'a ContentKey>,
    /// What earlier attempts bought that is not over: each id with what it is said to cost.
    pub(super) inherited: Vec<(String, Option<f64>)>,
    /// What it bought: each id once, with what it is said to cost.
    pub(super) bought: Vec<(String, Option<f64>)>,
    /// What it bought without an id that can be used.
    pub(super) nameless: Vec<Option<f64>>,
    /// Whether the adapter has said that it succeeded,
    pub(super) announced: bool,
    /// and whether it has returned.
    pub(super) settled: bool,
    /// What is about to be bought, until an id comes.
    pub(super) intent: Option<String>,
    /// Whether the store took no word of a purchase before it was made.
    pub(super) unasked: bool,
}

impl JobReporter for Reporter<'_> {
    fn progress(&mut self, fraction: f64, message: Option<&str>) {
        let progress = Progress {
            fraction: if fraction.is_finite() {
                fraction.clamp(0.0, 1.0)
            } else {
                0.0
            },
            message: message.map(|text| one_line(text).chars().take(200).collect()),
        };
        let job_id = &self.lease.job_id;
        let attempt = &self.lease.nonce;
        self.executor.heartbeat.progress(attempt, progress.clone());
        self.executor.report(EventKind::JobProgress {
            job_id: job_id.clone(),
            fraction: progress.fraction,
            message: progress.message,
        });
    }

    fn intent(&mut self, correlation: &str) -> Result<(), AdapterError> {
        let now = self.executor.clock.now();
        match self.executor.store.intent(self.lease, correlation, now) {
            Ok(Beat::Held) => {
                self.intent = Some(correlation.to_owned());
                self.executor.dispatch.note_intent(&self.lease.job_id);
                Ok(())
            }
            Ok(Beat::Lost) => Err(AdapterError::Stopped(StopReason::LeaseLost)),
            Ok(Beat::CancelAsked) => Err(AdapterError::Stopped(StopReason::CancelAsked)),
            Err(error) => {
                self.unasked = self.intent.is_none();
                self.executor.store_failed("cannot note an intent", &error);
                let message = format!("that it is about to buy cannot be noted: {error}");
                Err(AdapterError::failed(ErrorClass::Transient, message))
            }
        }
    }

    fn submitted(&mut self, request_id: &str, cost_usd: Option<f64>) -> Result<(), AdapterError> {
        let now = self.executor.clock.now();
        let cost_usd = cost_usd.and_then(plain_usd);
        self.note_bought(request_id, cost_usd);
        trace::event("submitted", [("request_id", request_id.into())]);
        self.intent = None;
        let job_id = &self.lease.job_id;
        self.executor
            .dispatch
            .note_bought(job_id, request_id, cost_usd);
        self.executor
            .note_purchase(self.lease, self.cost(None, None));
        self.executor
            .store
            .submitted(self.lease, request_id, cost_usd, now)
            .map_err(|error| {
                self.executor.store_failed("cannot note a purchase", &error);
                let message = format!("the purchase {request_id} could not be noted: {error}");
                AdapterError::failed(ErrorClass::Unknown, message)
            })
    }

    fn submitted_nameless(&mut self, cost_usd: Option<f64>) {
        self.nameless.push(cost_usd.and_then(plain_usd));
        self.executor.note_cost(self.lease, self.cost(None, None));
    }

    fn warn(&mut self, message: &str) {
        let text = format!(
            "the adapter of {}: {}",
            self.request.algo,
            one_line(message)
        );
        self.executor.warn_once(text);
    }

    fn made(&mut self, result: &GenerationResult) {
        // A rehearsal is worth nothing, and what has no files leaves nothing to be found.
        if self.executor.conditions.dry_run || self.executor.is_bare(self.algorithm) {
            return;
        }
        self.announced = true;
        let lease = self.lease;
        let adapter = &self.algorithm.adapter;
        let version = || {
            let version = adapter.version().map(str::to_owned);
            version.or_else(|| adapter.maker())
        };
        let about = output::about_request(&lease.run_id, &lease.job_id, self.request);
        let made = Made {
            model: result
                .generated_glb
                .as_deref()
                .map(|path| Made::inside(path, &lease.staging)),
            previews: result
                .previews
                .iter()
                .map(|path| Made::inside(path, &lease.staging))
                .collect(),
            algo_version: result.algo_version.clone().or_else(version),
            price: output::settle_price(&self.algorithm.price, &self.with_cost(result.clone())),
            about: Some(about),
            told: result.raw_metadata.clone(),
            content_key: self.content_key.cloned(),
            free: false,
            settled: self.settled,
        };
        let made = Made {
            free: match made.price.estimated_usd {
                Some(usd) => usd <= 0.0,
                None => !self.algorithm.adapter.may_buy(),
            },
            ..made
        };
        let paid = made.price.estimated_usd.is_some_and(|usd| usd > 0.0)
            || !self.bought.is_empty()
            || lease.request_id.is_some();
        let now = self.executor.clock.now();
        if let Err(error) = self.executor.store.made(lease, &made, paid, now) {
            let what = format!("cannot write down what job {} made", lease.job_id);
            self.executor.store_failed(&what, &error);
        }
    }
}

impl Reporter<'_> {
    /// Notes that a failure came of a store that took no word of a purchase, so that none was made.
    pub(super) fn mark_away(&self, failure: &mut Failure) {
        let bought = failure.class != ErrorClass::Transient || !self.bought.is_empty();
        if self.unasked && !bought {
            failure.away = true;
            if self.lease.intent.is_none() {
                // That it was about to be bought may stand there all the same.
                failure.end = PurchaseEnd::NotMade;
            }
        }
    }

    /// Notes an id; one that is said again is the same purchase.
    fn note_bought(&mut self, request_id: &str, cost_usd: Option<f64>) {
        let known = self.bought.iter().position(|(id, _)| id == request_id);
        let earlier = known.and_then(|place| self.bought.remove(place).1);
        // The last one said is the one to ask about.
        self.bought
            .push((request_id.to_owned(), cost_usd.or(earlier)));
    }

    /// Returns what the attempt cost, where `said` is its adapter's last word: several
    /// purchases add up, and of one that nobody knows the cost of the price counts.
    fn cost(&self, said: Option<f64>, unit: Option<f64>) -> Option<f64> {
        let is_new = |id: &String| self.bought.iter().all(|(bought, _)| bought != id);
        let inherited = self.inherited.iter().filter(|(id, _)| is_new(id));
        let named = inherited.chain(&self.bought).map(|(_, cost)| *cost);
        let costs: Vec<_> = named.chain(self.nameless.iter().copied()).collect();
        match &costs[..] {
            [] => said,
            [cost] => said.or(*cost),
            several => {
                let price = self.algorithm.price.unit_usd;
                let known = several.iter().filter_map(|cost| cost.or(price));
                let sum = known.fold(0.0, |sum, usd| sum + usd);
                Some(said.or(unit).unwrap_or_default().max(sum)).filter(|usd| *usd > 0.0)
            }
        }
    }

    /// Returns a result with what it really cost.
    pub(super) fn with_cost(&self, mut result: GenerationResult) -> GenerationResult {
        let said = result.estimated_cost_usd.and_then(plain_usd);
        let unit = result.unit_price_usd.and_then(plain_usd);
        let price = self.algorithm.price.unit_usd;
        let at_least = price.filter(|_| result.unclear_cost);
        let at_least = at_least.map(|price| price.max(unit.unwrap_or_default()));
        result.estimated_cost_usd = self.cost(said, unit).or(at_least);
        result
    }
}
