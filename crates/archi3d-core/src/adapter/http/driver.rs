//! One job at a service: buy or find or re-attach, wait, fetch.

use std::time::{Duration, Instant};

use super::client::{Content, Trouble, shown};
use super::pace::{PATIENCE, Pace};
use super::picture;
use super::provider::{
    Cancelled, Desk, Fault, Found, Intent, Order, OrderState, Output, Provider, Rejection, Settled,
    Ticket,
};
use super::row::Row;
use crate::adapter::{AdapterError, GenerationRequest, GenerationResult, JobContext};
use crate::cancel::StopReason;
use crate::domain::purchase::OpenIntent;
use crate::domain::retry::ErrorClass;
use crate::domain::time::Timestamp;

/// How often a call that costs nothing is tried before the attempt is given up.
const TRIES: u32 = 5;

/// How often a request must be called dead in a row before it is believed.
const SURE: u32 = 3;

/// By how much clocks may differ: a purchase is looked for from this long before its intent.
const CLOCKS: Duration = Duration::from_secs(600);

/// No id of a service is longer.
const MAX_ID_BYTES: usize = 200;

/// How often at least a purchase is looked for that may be listed by now.
const LOOKS: u32 = 3;

/// Why nobody knows whether something was bought.
#[derive(Clone, Copy)]
enum Doubt {
    /// The answer to the order says nothing.
    Lost,
    /// The answer says that it was not taken, in words that also come too late.
    Refused,
    /// An earlier attempt ended so long ago; `given_up` by a person or not.
    Inherited { age: Duration, given_up: bool },
}

/// A job on its way through a service.
pub(super) struct Driver<'a, 'c> {
    pub(super) provider: &'a dyn Provider,
    pub(super) row: &'a Row,
    pub(super) pace: &'a Pace,
    pub(super) request: &'a GenerationRequest,
    pub(super) context: &'a mut JobContext<'c>,
    /// The variable that holds the account's key.
    pub(super) key_name: &'static str,
    /// For questions; its calls end when the job must stop.
    pub(super) desk: Desk<'a>,
    /// For orders and cancellations, which are never cut short.
    pub(super) buying_desk: Desk<'a>,
}

impl Driver<'_, '_> {
    pub(super) fn run(mut self) -> Result<GenerationResult, AdapterError> {
        let ticket = match (
            self.context.resume_request_id.clone(),
            self.context.open_intent.clone(),
        ) {
            (Some(id), _) => Ticket::known(&id),
            (None, Some(intent)) => match self.find_again(&intent)? {
                Some(ticket) => ticket,
                None => self.buy()?,
            },
            (None, None) => self.buy()?,
        };
        let output = self.wait(&ticket)?;
        self.fetch(&ticket, output)
    }

    /// Hands the pictures over, notes the intent and places the one order.
    fn buy(&mut self) -> Result<Ticket, AdapterError> {
        let images = &self.request.used_images;
        let bad = |reason| AdapterError::failed(ErrorClass::BadInput, reason);
        let count = self.row.pictures(images.len()).map_err(bad)?;
        let key = self.context.idempotency_key.clone();
        let mut pictures = Vec::new();
        for (index, path) in images[..count].iter().enumerate() {
            let picture = picture::read(path, &key, index + 1).map_err(bad)?;
            self.say(0.01, "uploading");
            let provider = self.provider;
            pictures.push(self.free(|desk| provider.upload(desk, &picture))?);
        }
        let order = self
            .provider
            .order(self.row, self.row.input(&pictures), &key);
        pictures.retain(|text| !text.starts_with("data:"));
        let intent = Intent {
            key,
            pictures,
            since: since(self.context.started_at),
        };
        self.unless_stopped()?;
        let text = written(&self.row.endpoint, &intent);
        self.context.reporter.intent(&text)?;
        self.buying_desk.client.note("intent noted");
        match self.place(&order) {
            Settled::Accepted(ticket) => self.bought(ticket),
            Settled::Refused(verdict) => Err(self.failed(verdict)),
            Settled::Denied(text) => Err(self.denied(&text)),
            Settled::Unsure(verdict) => {
                let why = verdict.message.clone();
                let refused = self.failed(verdict);
                let found = self.look(&intent, Doubt::Refused, &why)?;
                found.ok_or(refused)
            }
            Settled::Unclear(why) => {
                let found = self.look(&intent, Doubt::Lost, &why)?;
                found.ok_or_else(|| self.unknown(&why))
            }
        }
    }

    /// Sends the order, once.
    fn place(&self, order: &Order) -> Settled {
        let body = order.body.to_string();
        let content = Content::Bytes("application/json", body.as_bytes());
        let answer = self
            .buying_desk
            .call_with("POST", &order.url, &order.headers, content);
        match answer {
            Ok(answer) => match self.provider.settle(self.row, &answer) {
                Settled::Accepted(ticket) if !is_plain(&ticket.id) => Settled::Unclear(
                    "the answer names the purchase in a way that cannot be used".to_owned(),
                ),
                settled => settled,
            },
            Err(Trouble::Unsent(text)) => {
                let text = format!("cannot reach {}: {text}", shown(&order.url));
                Settled::Refused(Rejection::new(ErrorClass::Transient, text))
            }
            Err(Trouble::Lost(text)) => {
                Settled::Unclear(format!("the answer to the order was lost: {text}"))
            }
        }
    }

    fn bought(&mut self, ticket: Ticket) -> Result<Ticket, AdapterError> {
        self.context.reporter.submitted(&ticket.id, None)?;
        self.buying_desk
            .client
            .note(&format!("bought as {}", ticket.id));
        Ok(ticket)
    }

    /// Looks for what an earlier attempt may have bought; nothing if it is to be bought again.
    fn find_again(&mut self, open: &OpenIntent) -> Result<Option<Ticket>, AdapterError> {
        let mut intent = read(&open.correlation);
        intent.since = since(open.at);
        let doubt = Doubt::Inherited {
            age: self.context.started_at.since(open.at),
            given_up: self.context.given_up,
        };
        let why = "an earlier attempt ended before the answer to its order came";
        self.look(&intent, doubt, why)
    }

    /// Looks for a purchase for a while. What is not found is never bought again by
    /// itself: a person is asked. Who has given it up has answered, but even then a service
    /// that lists purchases must have had the time to list this one. Nothing is found where
    /// the service says that it refused the order and does not list it either.
    fn look(
        &mut self,
        intent: &Intent,
        doubt: Doubt,
        why: &str,
    ) -> Result<Option<Ticket>, AdapterError> {
        let name = self.provider.name();
        let began = Instant::now();
        let (earlier, given_up) = match doubt {
            Doubt::Inherited { age, given_up } => (age, given_up),
            _ => (Duration::ZERO, false),
        };
        let enough = match doubt {
            Doubt::Refused => Some(self.pace.look_for()),
            _ => given_up.then_some(self.pace.doubt),
        };
        let mut looks = 0;
        let mut last;
        self.buying_desk
            .client
            .note(&format!("looking for the order: {why}"));
        loop {
            self.unless_stopped()?;
            self.say(0.02, "looking for the order");
            let mut complete = false;
            match self.provider.find(&self.desk, self.row, intent) {
                Ok(Found::Yes(id)) if is_plain(&id) => {
                    self.buying_desk.client.note(&format!("found as {id}"));
                    return self.bought(Ticket::known(&id)).map(Some);
                }
                Ok(Found::Yes(_)) => last = "it is listed in a way that cannot be used".to_owned(),
                Ok(Found::No) => {
                    looks += 1;
                    complete = true;
                    last = format!("{name} does not list it");
                }
                Ok(Found::Cannot(_)) if given_up => return Ok(None),
                Ok(Found::Cannot(evidence)) => {
                    return Err(self.unknown(&format!("{why}; {evidence}")));
                }
                Err(Fault::Final(verdict) | Fault::Missing(verdict)) => {
                    return Err(self.unknown(&format!("{why}; {}", verdict.message)));
                }
                // Nothing was asked for yet: with another key the job goes on from here.
                Err(Fault::Denied(text)) if looks == 0 && !earlier.is_zero() => {
                    return Err(self.denied(&text));
                }
                Err(Fault::Denied(text) | Fault::Again { text, .. }) => last = text,
            }
            self.unless_stopped()?;
            let (looked, age) = (began.elapsed(), earlier + began.elapsed());
            if complete && enough.is_some_and(|enough| age >= enough) {
                self.buying_desk
                    .client
                    .note("not found, and to be bought again");
                return Ok(None);
            }
            if complete && age >= self.pace.doubt {
                let minutes = age.as_secs() / 60;
                return Err(self.unknown(&format!(
                    "{why}; {name} does not list it {minutes} min later: most likely it was not bought"
                )));
            }
            let long = self.pace.look_for();
            if looked >= long || looks >= LOOKS && age >= long && enough.is_none() {
                if age >= self.pace.doubt {
                    return Err(
                        self.unknown(&format!("{why}; whether it was bought is unknown: {last}"))
                    );
                }
                let wait = (self.pace.doubt.as_secs() / 60).max(1);
                return Err(self.unknown(&format!(
                    "{why}; looked for {looks} times: {last}. Only {wait} min after the order does \
                     that mean anything"
                )));
            }
            self.sleep(self.pace.look())?;
        }
    }

    /// Asks until the purchase has ended.
    fn wait(&mut self, ticket: &Ticket) -> Result<Output, AdapterError> {
        let began = Instant::now();
        let mut answered = Instant::now();
        let mut missing: Option<Instant> = None;
        let mut running: Option<Instant> = None;
        let (mut failures, mut dead, mut queued) = (0, 0, None);
        let patience = self.row.patience.unwrap_or(PATIENCE);
        loop {
            if let Some(reason) = self.context.stop.reason() {
                return Err(self.leave(ticket, reason, queued));
            }
            let outcome = match self.provider.order_state(&self.desk, self.row, ticket) {
                Ok(OrderState::Done(Some(output))) => Ok(Some(output)),
                Ok(OrderState::Done(None)) => {
                    let result = self.provider.result(&self.desk, self.row, ticket);
                    result.map(Some)
                }
                Ok(OrderState::Queued(remark)) => {
                    (queued, running) = (Some(true), None);
                    self.say(0.05, &remark);
                    Ok(None)
                }
                Ok(OrderState::Running(fraction, remark)) => {
                    queued = Some(false);
                    let since = *running.get_or_insert_with(Instant::now);
                    let fraction = fraction.unwrap_or_else(|| guessed(since.elapsed()));
                    self.say(0.1 + 0.8 * fraction.clamp(0.0, 1.0), &remark);
                    Ok(None)
                }
                Err(fault) => Err(fault),
            };
            let mut asked = None;
            match outcome {
                Ok(Some(output)) => return Ok(output),
                Ok(None) => {
                    answered = Instant::now();
                    (failures, dead, missing) = (0, 0, None);
                }
                // A dead request is bought anew: one answer is not enough for that.
                Err(Fault::Final(verdict)) if verdict.is_bought_anew() && dead + 1 < SURE => {
                    dead += 1;
                }
                // What was ordered a moment ago may not be known everywhere yet.
                Err(Fault::Missing(_))
                    if missing.get_or_insert_with(Instant::now).elapsed()
                        < self.pace.look_for() =>
                {
                    failures += 1;
                }
                Err(Fault::Final(verdict) | Fault::Missing(verdict)) => {
                    return match self.context.stop.reason() {
                        Some(reason) => Err(self.leave(ticket, reason, queued)),
                        None => Err(self.failed(*verdict)),
                    };
                }
                Err(Fault::Denied(text)) => {
                    failures += 1;
                    if answered.elapsed() >= patience {
                        return Err(self.denied(&text));
                    }
                    self.say(0.05, &format!("{} is refused", self.key_name));
                }
                Err(Fault::Again { text, after }) => {
                    dead = 0;
                    failures += 1;
                    asked = after;
                    if answered.elapsed() >= patience {
                        let message = format!(
                            "{} gave no usable answer for {} s; the last: {text}",
                            self.provider.name(),
                            patience.as_secs()
                        );
                        return Err(self.failed(Rejection::new(ErrorClass::Transient, message)));
                    }
                }
            }
            let pause = self.pace.poll(began.elapsed(), failures);
            let pause = asked.map_or(pause, |asked| asked.min(patience).max(pause));
            // A stop is dealt with at the top, where the ticket is known.
            let _ = self.context.stop.sleep(pause);
        }
    }

    /// Leaves a purchase behind. It goes on at the service and the next attempt asks about it,
    /// unless the job is cancelled and nothing has begun.
    fn leave(&self, ticket: &Ticket, reason: StopReason, queued: Option<bool>) -> AdapterError {
        let waits = || {
            let order_state = self
                .provider
                .order_state(&self.buying_desk, self.row, ticket);
            matches!(order_state, Ok(OrderState::Queued(_)))
        };
        if reason != StopReason::CancelAsked || !queued.unwrap_or_else(waits) {
            return AdapterError::Stopped(reason);
        }
        let outcome = self.provider.cancel(&self.buying_desk, self.row, ticket);
        self.buying_desk.client.note(match outcome {
            Some(Cancelled::Gone) => "cancelled before it began",
            Some(Cancelled::GoesOn) => "it had begun and was not cancelled",
            None => "it cannot be cancelled",
        });
        match outcome {
            Some(Cancelled::Gone) => AdapterError::CancelledUnbilled,
            _ => AdapterError::Stopped(reason),
        }
    }

    /// Makes a call that costs nothing until it works, or gives the attempt up.
    pub(super) fn free<T>(
        &self,
        mut call: impl FnMut(&Desk<'_>) -> Result<T, Fault>,
    ) -> Result<T, AdapterError> {
        let mut failures = 0;
        loop {
            self.unless_stopped()?;
            let outcome = call(&self.desk);
            self.unless_stopped()?;
            match outcome {
                Ok(value) => return Ok(value),
                Err(Fault::Final(verdict) | Fault::Missing(verdict)) => {
                    return Err(self.failed(*verdict));
                }
                Err(Fault::Denied(text)) => return Err(self.denied(&text)),
                Err(Fault::Again { text, after }) => {
                    failures += 1;
                    // Who says how long to wait wants everybody to wait.
                    if failures >= TRIES || after.is_some() {
                        let mut verdict = Rejection::new(ErrorClass::Transient, text);
                        verdict.retry_after = after;
                        return Err(self.failed(verdict));
                    }
                    self.sleep(Pace::again(failures))?;
                }
            }
        }
    }

    pub(super) fn say(&mut self, fraction: f64, remark: &str) {
        let remark = self.desk.client.mask(remark);
        self.context.reporter.progress(fraction, Some(&remark));
    }

    pub(super) fn unless_stopped(&self) -> Result<(), AdapterError> {
        match self.context.stop.reason() {
            Some(reason) => Err(AdapterError::Stopped(reason)),
            None => Ok(()),
        }
    }

    pub(super) fn sleep(&self, time: Duration) -> Result<(), AdapterError> {
        match self.context.stop.sleep(time) {
            Some(reason) => Err(AdapterError::Stopped(reason)),
            None => Ok(()),
        }
    }

    /// The account's key is refused: another one helps every job, and none of them failed.
    fn denied(&self, said: &str) -> AdapterError {
        let message = format!("{} is not taken: {said}", self.key_name);
        self.desk.client.note(&message);
        AdapterError::Denied {
            message: self.desk.client.mask(&message),
        }
    }

    fn unknown(&self, message: &str) -> AdapterError {
        self.failed(Rejection::new(ErrorClass::Unknown, message))
    }

    pub(super) fn failed(&self, verdict: Rejection) -> AdapterError {
        let client = self.desk.client;
        client.note(&verdict.message);
        let mut error = AdapterError::failed(verdict.class, client.mask(&verdict.message))
            .with_detail(verdict.detail.map(|text| client.mask(&text)))
            .with_retry_after(verdict.retry_after);
        if verdict.void {
            error = error.void();
        }
        match verdict.billed {
            Some(billed) => error.with_bill(billed, verdict.cost_usd),
            None => error,
        }
    }
}

/// How far a request is of which nobody says it.
fn guessed(elapsed: Duration) -> f64 {
    1.0 - (-elapsed.as_secs_f64() / 60.0).exp()
}

fn since(at: Timestamp) -> String {
    let earlier = at.as_datetime() - CLOCKS;
    earlier.format("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// Tells whether an id can stand in an address and in a table.
fn is_plain(id: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.:~".contains(c);
    !id.is_empty() && id.len() <= MAX_ID_BYTES && id.chars().all(plain) && !id.contains("..")
}

/// Writes down what a purchase can be found by: `a3d<key> (endpoint; pictures)`.
fn written(endpoint: &str, intent: &Intent) -> String {
    format!(
        "a3d{} ({endpoint}; {})",
        intent.key,
        intent.pictures.join(" ")
    )
}

fn read(correlation: &str) -> Intent {
    let key = correlation.split(' ').next().unwrap_or_default();
    let pictures = correlation.split_once("; ");
    let pictures = pictures.map_or("", |(_, pictures)| pictures.trim_end_matches(')'));
    Intent {
        key: key.strip_prefix("a3d").unwrap_or(key).to_owned(),
        pictures: pictures.split_whitespace().map(str::to_owned).collect(),
        since: String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_intent_is_read_as_it_was_written() {
        for pictures in [
            vec![],
            vec!["https://a/1_x.png".to_owned(), "https://a/2".to_owned()],
        ] {
            let intent = Intent {
                key: "0f3-1".to_owned(),
                pictures,
                since: String::new(),
            };
            assert_eq!(read(&written("fal-ai/trellis", &intent)), intent);
        }
    }

    #[test]
    fn only_plain_ids_are_used() {
        assert!(is_plain("01a0a301-f64d-7671"));
        for id in ["", "../x", "a/b", "a?b", "a b", "a..b", &"x".repeat(201)] {
            assert!(!is_plain(id), "{id}");
        }
    }
}
