//! Replicate: predictions with their inputs in a list, so a lost order is found by
//! the address of its picture. What a prediction put out is removed after an hour.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::client::{Answer, Content};
use super::form::Form;
use super::provider::{
    Cancelled, Desk, Fault, Found, Intent, Order, OrderState, Output, Picture, Provider, Rejection,
    Settled, Ticket, class_before_purchase, refused, settled, unanswered,
};
use super::row::Row;
use crate::domain::purchase::Billed;
use crate::domain::retry::ErrorClass;
use crate::domain::service;
use crate::domain::time::Timestamp;

/// How many pages of the list are looked through.
const PAGES: usize = 20;

pub(super) struct Replicate {
    base: String,
}

impl Replicate {
    pub(super) fn new(env: &dyn Fn(&str) -> Option<String>) -> Self {
        let service = service::find("replicate");
        Self {
            base: service.map_or_else(String::new, |service| {
                service.address("ARCHI3D_REPLICATE_URL", env)
            }),
        }
    }
}

/// Returns how long it asks to wait in words ("resets in ~30s").
fn pause_in_words(answer: &Answer) -> Option<Duration> {
    let said = answer.said();
    let (_, rest) = said.split_once("resets in ~")?;
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok().map(Duration::from_secs)
}

impl Provider for Replicate {
    fn name(&self) -> &'static str {
        "Replicate"
    }

    fn images(&self, several: bool) -> &'static [&'static str] {
        if several { &["images[]"] } else { &["image"] }
    }

    fn models(&self) -> &'static [&'static str] {
        &["*"]
    }

    fn previews(&self) -> &'static [&'static str] {
        &[]
    }

    fn upload(&self, desk: &Desk<'_>, picture: &Picture) -> Result<String, Fault> {
        let form = Form::new("content", picture);
        let url = format!("{}/files", self.base);
        let answer = desk.call("POST", &url, Content::Bytes(&form.kind, &form.bytes))?;
        let body = answer
            .json()
            .filter(|_| answer.is_success())
            .unwrap_or_default();
        match body["urls"]["get"].as_str() {
            Some(url) => Ok(url.to_owned()),
            None => Err(refused(
                "Replicate",
                "a picture",
                &answer,
                class_before_purchase,
            )),
        }
    }

    /// `owner/name` is asked by its name, `owner/name:version` and a bare version by that.
    fn order(&self, row: &Row, input: Map<String, Value>, _: &str) -> Order {
        let version = match row.endpoint.split_once(':') {
            Some((_, version)) => Some(version),
            None if !row.endpoint.contains('/') => Some(row.endpoint.as_str()),
            None => None,
        };
        let (url, body) = match version {
            Some(version) => (
                format!("{}/predictions", self.base),
                json!({"version": version, "input": input}),
            ),
            None => (
                format!("{}/models/{}/predictions", self.base, row.endpoint),
                json!({"input": input}),
            ),
        };
        Order {
            url,
            headers: Vec::new(),
            body,
        }
    }

    fn settle(&self, _: &Row, answer: &Answer) -> Settled {
        let body = answer.json().unwrap_or_default();
        match settled(
            "Replicate",
            answer,
            body["id"].as_str().and_then(Ticket::named),
        ) {
            Settled::Refused(mut verdict) if answer.status == 429 => {
                let asked = answer.retry_after().or_else(|| pause_in_words(answer));
                verdict.retry_after = asked.or(verdict.retry_after);
                Settled::Refused(verdict)
            }
            settled => settled,
        }
    }

    fn order_state(&self, desk: &Desk<'_>, _: &Row, ticket: &Ticket) -> Result<OrderState, Fault> {
        let answer = desk.get(&format!("{}/predictions/{}", self.base, ticket.id))?;
        let prediction = answer
            .json()
            .filter(|_| answer.is_success())
            .unwrap_or_default();
        let ended = |class, word: &str, billed| {
            let reason = prediction["error"].as_str().unwrap_or("no reason given");
            let message = format!("Replicate could not make it: {word}: {reason}");
            Err(Rejection::new(class, message)
                .void(billed)
                .with(&answer)
                .into())
        };
        match prediction["status"].as_str() {
            Some("succeeded") if prediction["output"].is_null() => {
                let message = format!(
                    "Replicate made prediction {} and has removed what it put out, as it does after \
                     an hour: it is paid for and gone",
                    ticket.id
                );
                Err(Rejection::new(ErrorClass::Unknown, message)
                    .with(&answer)
                    .into())
            }
            Some("succeeded") => Ok(OrderState::Done(Some(Output {
                root: prediction["output"].clone(),
                cost: None,
            }))),
            Some("starting") => Ok(OrderState::Queued("starting".to_owned())),
            Some("aborted") => ended(ErrorClass::Transient, "aborted", Billed::No),
            // Models that are billed by the second bill these too: a person decides.
            Some(word @ ("failed" | "canceled")) => ended(ErrorClass::Unknown, word, Billed::Maybe),
            Some(word) => Ok(OrderState::Running(None, word.to_owned())),
            None => Err(unanswered("Replicate", &answer, ticket)),
        }
    }

    fn find(&self, desk: &Desk<'_>, _: &Row, intent: &Intent) -> Result<Found, Fault> {
        let since = Timestamp::parse(&intent.since);
        let mut url = format!("{}/predictions", self.base);
        let mut read = Vec::new();
        for _ in 0..PAGES {
            let answer = desk.get(&url)?;
            let page = answer
                .json()
                .filter(|_| answer.is_success())
                .unwrap_or_default();
            let Some(items) = page["results"].as_array() else {
                return Err(refused(
                    "Replicate",
                    "its list of predictions",
                    &answer,
                    |_| ErrorClass::Unknown,
                ));
            };
            if let Some(id) = intent.on_page(items, ["id", "input", "created_at"])? {
                return Ok(Found::Yes(id));
            }
            // The newest come first.
            let last = items.last().and_then(|item| item["created_at"].as_str());
            let older = last.and_then(Timestamp::parse).zip(since);
            if older.is_some_and(|(last, since)| last < since) {
                return Ok(Found::No);
            }
            // Whatever host it names, the key goes to our own.
            let next = match &page["next"] {
                Value::Null => return Ok(Found::No),
                next => next.as_str().and_then(|next| next.split_once('?')),
            };
            let next = next.map(|(_, query)| format!("{}/predictions?{query}", self.base));
            match next.filter(|next| !read.contains(next)) {
                Some(next) => read.push(std::mem::replace(&mut url, next)),
                None => {
                    return Err(Fault::again(
                        "Replicate's list of predictions cannot be read to its end",
                    ));
                }
            }
        }
        Err(Fault::again("Replicate's list of predictions has no end"))
    }

    fn cancel(&self, desk: &Desk<'_>, _: &Row, ticket: &Ticket) -> Option<Cancelled> {
        let url = format!("{}/predictions/{}/cancel", self.base, ticket.id);
        let answer = desk.call("POST", &url, Content::None).ok()?;
        let body = answer.json().unwrap_or_default();
        Some(match body["status"].as_str() {
            Some("aborted") => Cancelled::Gone,
            _ => Cancelled::GoesOn,
        })
    }
}
