//! What the driver needs to know of a service, and the words both speak.

use std::time::Duration;

use serde_json::{Map, Value};

use super::client::{Answer, Call, Client, Content, Trouble};
use super::row::Row;
use crate::domain::money::Usd;
use crate::domain::purchase::Billed;
use crate::domain::retry::ErrorClass;
use crate::domain::time::Timestamp;

/// How long to leave a service alone when it is busy and does not say for how long.
const BUSY: Duration = Duration::from_secs(10);

/// A picture that is about to be sent.
#[derive(Debug)]
pub(super) struct Picture {
    /// A name of plain letters that holds the purchase's key.
    pub(super) name: String,
    /// `image/png`, `image/jpeg` or `image/webp`.
    pub(super) kind: &'static str,
    pub(super) bytes: Vec<u8>,
}

/// The call that buys.
#[derive(Debug)]
pub(super) struct Order {
    pub(super) url: String,
    pub(super) headers: Vec<(&'static str, String)>,
    pub(super) body: Value,
}

/// A purchase that the service has taken.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Ticket {
    pub(super) id: String,
    /// Addresses that the service gave for it, by name; only from the answer to the order.
    pub(super) links: Map<String, Value>,
}

impl Ticket {
    /// Makes the ticket of a purchase of which only the id is known.
    pub(super) fn known(id: &str) -> Self {
        Self {
            id: id.to_owned(),
            links: Map::new(),
        }
    }

    /// Makes the ticket of a purchase if its id is one.
    pub(super) fn named(id: &str) -> Option<Self> {
        (!id.is_empty()).then(|| Self::known(id))
    }
}

/// What the answer to an order means.
#[derive(Debug)]
pub(super) enum Settled {
    /// It was taken.
    Accepted(Ticket),
    /// It was refused, and nothing was bought.
    Refused(Rejection),
    /// The account's key was refused, and nothing was bought.
    Denied(String),
    /// It seems to be refused, but may have been taken: worth a look.
    Unsure(Rejection),
    /// Nobody can tell from this answer.
    Unclear(String),
}

/// How far a purchase is.
#[derive(Debug)]
pub(super) enum OrderState {
    /// Nothing has begun; `cancel` would save the money.
    Queued(String),
    /// It is being made: how far, if the service says, and a remark.
    Running(Option<f64>, String),
    /// The service is done; some give the result at once.
    Done(Option<Output>),
}

/// What the service made, in its own words.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Output {
    /// Where a row's pointers look.
    pub(super) root: Value,
    /// What it cost in dollars, and the figure that says so.
    pub(super) cost: Option<(f64, &'static str)>,
}

/// Whether a service lists a purchase of which the id was lost.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// It does, under this id.
    Yes(String),
    /// It does not.
    No,
    /// It cannot be asked; what a person can look at instead.
    Cannot(String),
}

/// What a cancellation brought.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Cancelled {
    /// It had not begun and costs nothing.
    Gone,
    /// It goes on, for a while at least.
    GoesOn,
}

/// A failure that asking again will not change.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Rejection {
    pub(super) class: ErrorClass,
    pub(super) message: String,
    pub(super) detail: Option<String>,
    /// Whether the purchase is over and will never bring anything.
    pub(super) void: bool,
    pub(super) billed: Option<Billed>,
    pub(super) cost_usd: Option<f64>,
    pub(super) retry_after: Option<Duration>,
}

impl Rejection {
    pub(super) fn new(class: ErrorClass, message: impl Into<String>) -> Self {
        Self {
            class,
            message: message.into(),
            detail: None,
            void: false,
            billed: None,
            cost_usd: None,
            retry_after: None,
        }
    }

    /// The purchase is over.
    pub(super) fn void(mut self, billed: Billed) -> Self {
        self.void = true;
        self.billed = Some(billed);
        self
    }

    /// Tells whether the next attempt buys anew.
    pub(super) fn is_bought_anew(&self) -> bool {
        self.void && self.class == ErrorClass::Transient
    }

    /// The service is to be left alone, as long as it asks for.
    pub(super) fn busy(mut self, answer: &Answer) -> Self {
        self.retry_after = Some(answer.retry_after().unwrap_or(BUSY));
        self
    }

    /// Keeps the answer for whoever looks for the cause.
    pub(super) fn with(mut self, answer: &Answer) -> Self {
        self.detail = Some(answer.text());
        self
    }
}

/// Why a call that costs nothing did not bring what it should.
#[derive(Debug)]
pub(super) enum Fault {
    /// The call can be made again.
    Again {
        text: String,
        /// How long the service asks to be left alone.
        after: Option<Duration>,
    },
    /// The account's key is refused; another one may be set at any time.
    Denied(String),
    /// The service does not know the purchase, or not yet.
    Missing(Box<Rejection>),
    /// Asking again changes nothing.
    Final(Box<Rejection>),
}

impl Fault {
    pub(super) fn again(text: impl Into<String>) -> Self {
        Self::Again {
            text: text.into(),
            after: None,
        }
    }
}

impl From<Rejection> for Fault {
    fn from(verdict: Rejection) -> Self {
        Self::Final(Box::new(verdict))
    }
}

impl From<Trouble> for Fault {
    fn from(trouble: Trouble) -> Self {
        Self::again(trouble.text())
    }
}

/// What was noted before an order went out.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Intent {
    /// The key that every picture's name holds.
    pub(super) key: String,
    /// The pictures as the service knows them.
    pub(super) pictures: Vec<String>,
    /// When it was noted, as the service writes times.
    pub(super) since: String,
}

impl Intent {
    /// Tells whether a text of `value` names one of the pictures.
    pub(super) fn is_in(&self, value: &Value) -> bool {
        match value {
            Value::String(text) => {
                text.contains(&picture_stem(&self.key)) || self.pictures.contains(text)
            }
            Value::Array(list) => list.iter().any(|value| self.is_in(value)),
            Value::Object(object) => object.values().any(|value| self.is_in(value)),
            _ => false,
        }
    }

    /// Looks for the purchase on a page of a list; what may be it and does not show its
    /// input leaves the question open.
    pub(super) fn on_page(
        &self,
        items: &[Value],
        [id, input, at]: [&str; 3],
    ) -> Result<Option<String>, Fault> {
        if let Some(item) = items.iter().find(|item| self.is_in(&item[input])) {
            return match item[id].as_str() {
                Some(id) => Ok(Some(id.to_owned())),
                None => Err(Fault::again("it is listed without its id")),
            };
        }
        let since = Timestamp::parse(&self.since);
        let may_be_it = |item: &&Value| {
            let made = item[at].as_str().and_then(Timestamp::parse);
            made.zip(since).is_none_or(|(made, since)| made >= since) && !has_text(&item[input])
        };
        match items.iter().find(may_be_it) {
            None => Ok(None),
            Some(item) => Err(Fault::again(format!(
                "{} is listed without its input and may be it",
                item[id].as_str().unwrap_or("a request")
            ))),
        }
    }
}

/// Tells whether a text is anywhere in `value`.
fn has_text(value: &Value) -> bool {
    match value {
        Value::String(text) => !text.is_empty(),
        Value::Array(list) => list.iter().any(has_text),
        Value::Object(object) => object.values().any(has_text),
        _ => false,
    }
}

/// Returns the amount of money without what arithmetic adds: to a millionth of a dollar.
pub(super) fn dollars(usd: f64) -> f64 {
    Usd::of(usd).dollars()
}

/// Returns how the names of a purchase's pictures begin.
pub(super) fn picture_stem(key: &str) -> String {
    format!("a3d{key}-")
}

/// Calls with the account's key.
pub(super) struct Desk<'a> {
    pub(super) client: &'a Client,
    /// Returns what stands after `Authorization:` at this moment.
    pub(super) auth: &'a dyn Fn() -> String,
    /// How long one call may take.
    pub(super) limit: Duration,
}

impl Desk<'_> {
    pub(super) fn get(&self, url: &str) -> Result<Answer, Trouble> {
        self.call("GET", url, Content::None)
    }

    pub(super) fn post(&self, url: &str, body: &Value) -> Result<Answer, Trouble> {
        let bytes = body.to_string().into_bytes();
        self.call("POST", url, Content::Bytes("application/json", &bytes))
    }

    pub(super) fn call(
        &self,
        method: &str,
        url: &str,
        content: Content<'_>,
    ) -> Result<Answer, Trouble> {
        self.call_with(method, url, &[], content)
    }

    pub(super) fn call_with(
        &self,
        method: &str,
        url: &str,
        more: &[(&'static str, String)],
        content: Content<'_>,
    ) -> Result<Answer, Trouble> {
        let auth = (self.auth)();
        let mut headers = vec![
            ("authorization", auth.as_str()),
            ("accept", "application/json"),
        ];
        headers.extend(more.iter().map(|(name, value)| (*name, value.as_str())));
        let call = Call {
            method,
            url,
            headers: &headers,
            content,
        };
        self.client.call(call, self.limit)
    }
}

/// A service that makes models.
pub(super) trait Provider: Send + Sync {
    /// Its name, as people say it.
    fn name(&self) -> &'static str;

    /// Returns the value of `Authorization:`.
    fn auth(&self, key: &str) -> String {
        format!("Bearer {key}")
    }

    /// Which arguments pictures go to where a row says nothing.
    fn images(&self, several: bool) -> &'static [&'static str];

    /// Where the model is where a row says nothing.
    fn models(&self) -> &'static [&'static str];

    /// Where previews are where a row says nothing.
    fn previews(&self) -> &'static [&'static str];

    /// Hands a picture over; returns what stands for it in the order.
    fn upload(&self, desk: &Desk<'_>, picture: &Picture) -> Result<String, Fault>;

    /// Makes the call that buys.
    fn order(&self, row: &Row, input: Map<String, Value>, key: &str) -> Order;

    /// Says what the answer to an order means.
    fn settle(&self, row: &Row, answer: &Answer) -> Settled;

    /// Asks how far a purchase is.
    fn order_state(&self, desk: &Desk<'_>, row: &Row, ticket: &Ticket)
    -> Result<OrderState, Fault>;

    /// Asks for what a purchase brought.
    fn result(&self, desk: &Desk<'_>, row: &Row, ticket: &Ticket) -> Result<Output, Fault> {
        match self.order_state(desk, row, ticket)? {
            OrderState::Done(Some(output)) => Ok(output),
            _ => Err(Fault::again("the service has the result no more")),
        }
    }

    /// Looks for a purchase of which the id was lost.
    fn find(&self, desk: &Desk<'_>, row: &Row, intent: &Intent) -> Result<Found, Fault>;

    /// Cancels a purchase that has not begun; nothing where that is not known to save money.
    fn cancel(&self, _: &Desk<'_>, _: &Row, _: &Ticket) -> Option<Cancelled> {
        None
    }
}

/// Says what an answer to a call that costs nothing means when it is no success:
/// `doing` says what was asked, `lasting` what a refusal means.
pub(super) fn refused(
    service: &str,
    doing: &str,
    answer: &Answer,
    lasting: impl FnOnce(u16) -> ErrorClass,
) -> Fault {
    let (status, said) = (answer.status, answer.said());
    let text = format!("{service} answered {status} to {doing}: {said}");
    match status {
        401 | 403 => Fault::Denied(text),
        408 | 425 | 429 | 500.. | 300..=399 | 200..=299 => Fault::Again {
            text,
            after: answer.retry_after(),
        },
        _ => Rejection::new(lasting(status), text).with(answer).into(),
    }
}

/// The same for a question about a purchase.
pub(super) fn unanswered(service: &str, answer: &Answer, ticket: &Ticket) -> Fault {
    if matches!(answer.status, 404 | 410) {
        return unheard_of(service, ticket);
    }
    let doing = format!("the question for {}", ticket.id);
    refused(service, &doing, answer, |_| ErrorClass::Unknown)
}

/// The service does not know a purchase.
pub(super) fn unheard_of(service: &str, ticket: &Ticket) -> Fault {
    let id = &ticket.id;
    let message = format!(
        "{service} does not know request {id}, or not any more: it may be paid for and expired"
    );
    Fault::Missing(Box::new(Rejection::new(ErrorClass::Unknown, message)))
}

/// Says what the answer to an order means, where `id` is what a success names it by.
pub(super) fn settled(service: &str, answer: &Answer, id: Option<Ticket>) -> Settled {
    let (status, said) = (answer.status, answer.said());
    let text = format!("{service} answered {status}: {said}");
    let verdict = |class| Rejection::new(class, text.clone()).with(answer);
    match status {
        200..=299 => match id {
            Some(ticket) => Settled::Accepted(ticket),
            None => Settled::Unclear(format!("{service}'s answer names no purchase")),
        },
        401 => Settled::Denied(text),
        403 if speaks_of_the_key(&said) => Settled::Denied(text),
        408 | 425 => Settled::Unsure(verdict(ErrorClass::Transient)),
        429 => Settled::Refused(verdict(ErrorClass::Transient).busy(answer)),
        400..=499 => Settled::Refused(verdict(class_before_purchase(status))),
        _ => Settled::Unclear(format!("{service} answered {status} to the order: {said}")),
    }
}

/// Tells whether a refusal is about the account's key rather than about what was ordered.
fn speaks_of_the_key(said: &str) -> bool {
    let said = said.to_lowercase();
    let words = [
        "key",
        "credential",
        "scope",
        "token",
        "unauthori",
        "authenticat",
        "permission",
    ];
    words.iter().any(|word| said.contains(word))
}

/// The class of a refusal while a picture is handed over or an order is placed.
pub(super) fn class_before_purchase(status: u16) -> ErrorClass {
    match status {
        402 => ErrorClass::OutOfCredit,
        400 | 413 | 415 | 422 => ErrorClass::BadInput,
        _ => ErrorClass::Permanent,
    }
}
