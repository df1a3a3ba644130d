//! fal: a queue. An order has no key of its own there, so every order that is
//! taken is paid for; a lost one is found again by the names of its pictures.
//!
//! There is no status for a failure: a request is COMPLETED, and its result is the
//! failure's own status and text. What the network between answers in its place
//! (HTML, nothing) says nothing about the request.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use super::client::{Answer, Call, Content, Trouble};
use super::provider::{
    Cancelled, Desk, Fault, Found, Intent, Order, OrderState, Output, Picture, Provider, Rejection,
    Settled, Ticket, class_before_purchase, refused, settled, unanswered, unheard_of,
};
use super::row::Row;
use crate::domain::purchase::Billed;
use crate::domain::retry::ErrorClass;
use crate::domain::service;

/// How many pages of the history are looked through.
const PAGES: usize = 20;

pub(super) struct Fal {
    queue: String,
    rest: String,
    api: String,
}

impl Fal {
    pub(super) fn new(env: &dyn Fn(&str) -> Option<String>) -> Self {
        let address = |variable| {
            let fal = service::find("fal");
            fal.map_or_else(String::new, |fal| fal.address(variable, env))
        };
        Self {
            queue: address("ARCHI3D_FAL_QUEUE_URL"),
            rest: address("ARCHI3D_FAL_REST_URL"),
            api: address("ARCHI3D_FAL_API_URL"),
        }
    }

    /// Returns where a request is asked about: the service's own word if it came from
    /// the host that took the order, else the app's address.
    fn place(&self, row: &Row, ticket: &Ticket, link: &str, ending: &str) -> String {
        let own = ticket.links.get(link).and_then(Value::as_str);
        if let Some(own) = own.filter(|url| url.starts_with(&format!("{}/", self.queue))) {
            return own.to_owned();
        }
        let words = row.endpoint.split('/');
        let owner_and_app = match row.endpoint.split('/').next() {
            Some("workflows" | "comfy") => 3,
            _ => 2,
        };
        let app: Vec<&str> = words.take(owner_and_app).collect();
        let id = &ticket.id;
        format!("{}/{}/requests/{id}{ending}", self.queue, app.join("/"))
    }

    /// Asks the interface for what is no model: lists, prices.
    pub(super) fn ask(&self, desk: &Desk<'_>, path: &str) -> Result<Answer, Trouble> {
        let answer = desk.get(&format!("{}{path}", self.api))?;
        // The version is part of the address, and easily left out of one's own.
        if answer.status == 404 && !self.api.ends_with("/v1") {
            return desk.get(&format!("{}/v1{path}", self.api));
        }
        Ok(answer)
    }

    /// Asks the history for one page of requests.
    fn history(&self, desk: &Desk<'_>, row: &Row, more: &[(&str, &str)]) -> Result<Value, Fault> {
        let mut path = format!(
            "/models/requests/by-endpoint?endpoint_id={}&expand=payloads&limit=100",
            encoded(&row.endpoint)
        );
        for (name, value) in more {
            let _ = write!(path, "&{name}={}", encoded(value));
        }
        let answer = self.ask(desk, &path)?;
        match answer.json().filter(|page| page["items"].is_array()) {
            Some(page) if answer.is_success() => Ok(page),
            _ => Err(refused("fal", "its list of requests", &answer, |_| {
                ErrorClass::Unknown
            })),
        }
    }

    /// Returns what the history says of one request.
    fn past_request(&self, desk: &Desk<'_>, row: &Row, id: &str) -> Result<Option<Value>, Fault> {
        let page = self.history(desk, row, &[("request_id", id)])?;
        let items = page["items"].as_array().into_iter().flatten();
        Ok(items
            .into_iter()
            .find(|item| item["request_id"] == id)
            .cloned())
    }

    /// How a request ended by the history, where it is there with its ending.
    fn recorded(
        &self,
        desk: &Desk<'_>,
        row: &Row,
        ticket: &Ticket,
    ) -> Option<Result<Output, Fault>> {
        let item = self.past_request(desk, row, &ticket.id).ok()??;
        match item["status_code"].as_u64()? {
            200 if item["json_output"].is_object() => Some(Ok(Output {
                root: item["json_output"].clone(),
                cost: None,
            })),
            status @ 500.. => {
                let message = format!("fal ended request {} with {status}", ticket.id);
                Some(Err(void(message).into()))
            }
            _ => None,
        }
    }

    /// What is known of a request that the queue does not know, or not yet.
    fn gone(&self, desk: &Desk<'_>, row: &Row, ticket: &Ticket) -> Result<Output, Fault> {
        let id = &ticket.id;
        let item = match self.past_request(desk, row, id) {
            Err(fault @ Fault::Again { .. }) => return Err(fault),
            item => item.ok().flatten(),
        };
        if item.is_some_and(|item| item["ended_at"].is_null() && item["status_code"].is_null()) {
            return Err(Fault::again(format!("fal still works on request {id}")));
        }
        let recorded = self.recorded(desk, row, ticket);
        recorded.unwrap_or_else(|| Err(unheard_of("fal", ticket)))
    }
}

/// What a result that is no success means.
fn failure(row: &Row, ticket: &Ticket, answer: &Answer) -> Fault {
    let id = &ticket.id;
    let body = answer.json();
    let detail = body.as_ref().map(|body| &body["detail"]);
    let text = answer.said();
    let kind = error_type(answer, body.as_ref());
    // What stands between us and the queue speaks JSON too, at times.
    let own_word = kind.is_some()
        || detail.is_some_and(Value::is_array)
        || detail.is_some_and(Value::is_string) && answer.header("x-fal-request-id").is_some();
    // What a model leans on failed, which older models answer as they answer bad input.
    let is_downstream = detail.is_some_and(|detail| {
        let mut each = detail.as_array().into_iter().flatten();
        each.any(|item| {
            let kind = item["type"].as_str().unwrap_or_default();
            kind.starts_with("downstream_service_")
        })
    });
    match answer.status {
        400 if text.contains("still in progress") => Fault::again(text),
        499 => cancelled(id).into(),
        _ if kind
            .as_deref()
            .is_some_and(|kind| kind.starts_with("client_")) =>
        {
            cancelled(id).into()
        }
        _ if is_downstream => void(format!("fal could not make it: {text}"))
            .with(answer)
            .into(),
        422 | 400 | 413 | 415 if own_word => {
            let paid = cost(row, answer).filter(|cost| *cost > 0.0);
            let billed = if paid.is_some() {
                Billed::Yes
            } else {
                Billed::Maybe
            };
            let mut verdict = Rejection::new(ErrorClass::BadInput, text)
                .void(billed)
                .with(answer);
            verdict.cost_usd = paid;
            verdict.into()
        }
        500.. if own_word => void(format!("fal could not make it: {text}"))
            .with(answer)
            .into(),
        _ => unanswered("fal", answer, ticket),
    }
}

/// Returns what the service says that it billed.
fn cost(row: &Row, answer: &Answer) -> Option<f64> {
    let units = answer.header("x-fal-billable-units")?.trim();
    let units: f64 = units.parse().ok()?;
    row.cost_of(units)
        .filter(|cost| cost.is_finite() && *cost >= 0.0)
}

fn void(message: String) -> Rejection {
    Rejection::new(ErrorClass::Transient, message).void(Billed::No)
}

fn cancelled(id: &str) -> Rejection {
    let message = format!("request {id} was cancelled at fal, not by archi3d");
    Rejection::new(ErrorClass::Unknown, message).void(Billed::Maybe)
}

fn error_type(answer: &Answer, body: Option<&Value>) -> Option<String> {
    let named = body.and_then(|body| body["error_type"].as_str());
    named
        .or_else(|| answer.header("x-fal-error-type"))
        .map(str::to_owned)
}

/// Tells whether the account has no money.
fn is_out_of_credit(answer: &Answer) -> bool {
    let text = answer.text().to_lowercase();
    answer.status == 402
        || answer.status == 403 && (text.contains("balance") || text.contains("locked"))
}

/// Returns text as it stands in a query.
pub(super) fn encoded(text: &str) -> String {
    let mut encoded = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~/:".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
}

impl Provider for Fal {
    fn name(&self) -> &'static str {
        "fal"
    }

    fn auth(&self, key: &str) -> String {
        format!("Key {key}")
    }

    fn images(&self, several: bool) -> &'static [&'static str] {
        if several {
            &["image_urls[]"]
        } else {
            &["image_url"]
        }
    }

    fn models(&self) -> &'static [&'static str] {
        &[
            "model_glb",
            "model_urls.glb",
            "pbr_model",
            "model_mesh",
            "model_meshes",
            "base_model",
        ]
    }

    fn previews(&self) -> &'static [&'static str] {
        &["rendered_image", "thumbnail"]
    }

    fn upload(&self, desk: &Desk<'_>, picture: &Picture) -> Result<String, Fault> {
        let url = format!(
            "{}/storage/upload/initiate?storage_type=fal-cdn-v3",
            self.rest
        );
        let asked = json!({"content_type": picture.kind, "file_name": picture.name});
        let answer = desk.post(&url, &asked)?;
        if is_out_of_credit(&answer) {
            return Err(Rejection::new(ErrorClass::OutOfCredit, answer.said()).into());
        }
        let places = answer
            .json()
            .filter(|_| answer.is_success())
            .unwrap_or_default();
        let (Some(put), Some(place)) = (places["upload_url"].as_str(), places["file_url"].as_str())
        else {
            return Err(refused("fal", "a picture", &answer, class_before_purchase));
        };
        // The address is signed: it says by itself who may write there.
        let call = Call {
            method: "PUT",
            url: put,
            headers: &[],
            content: Content::Bytes(picture.kind, &picture.bytes),
        };
        let answer = desk.client.call(call, desk.limit)?;
        match answer.status {
            200..=299 => Ok(place.to_owned()),
            // The address may have expired: start over.
            401 | 403 => Err(Fault::again(
                "fal's address for the picture was not valid any more",
            )),
            _ => Err(refused(
                "fal's storage",
                "a picture",
                &answer,
                class_before_purchase,
            )),
        }
    }

    fn order(&self, row: &Row, input: Map<String, Value>, key: &str) -> Order {
        let mut headers = vec![
            ("x-app-fal-disable-fallback", "true".to_owned()),
            ("x-fal-tags", format!("archi3d={key}")),
        ];
        if let Some(seconds) = row.start_timeout {
            headers.push(("x-fal-request-start-timeout", seconds.to_string()));
        }
        Order {
            url: format!("{}/{}", self.queue, row.endpoint),
            headers,
            body: Value::Object(input),
        }
    }

    fn settle(&self, _: &Row, answer: &Answer) -> Settled {
        if is_out_of_credit(answer) {
            let verdict = Rejection::new(ErrorClass::OutOfCredit, answer.said());
            return Settled::Refused(verdict.with(answer));
        }
        let body = answer.json().unwrap_or_default();
        let named = body["request_id"].as_str();
        // A body that was cut by something between us still has its header.
        let named = named.or_else(|| answer.header("x-fal-request-id"));
        let ticket = named.and_then(Ticket::named).map(|ticket| Ticket {
            links: body.as_object().cloned().unwrap_or_default(),
            ..ticket
        });
        settled("fal", answer, ticket)
    }

    fn order_state(
        &self,
        desk: &Desk<'_>,
        row: &Row,
        ticket: &Ticket,
    ) -> Result<OrderState, Fault> {
        let mut url = self.place(row, ticket, "status_url", "/status");
        url.push_str(if url.contains('?') {
            "&logs=1"
        } else {
            "?logs=1"
        });
        let answer = desk.get(&url)?;
        let body = answer.json().unwrap_or_default();
        match (answer.status, body["status"].as_str()) {
            // The result may be there all the same, and asks the history if it is not.
            (404, _) => Ok(OrderState::Done(None)),
            (200 | 202, Some("IN_QUEUE")) => {
                let place = body["queue_position"].as_u64().unwrap_or_default();
                Ok(OrderState::Queued(format!("queue {place}")))
            }
            (200 | 202, Some("IN_PROGRESS")) => {
                let logs = body["logs"].as_array();
                let last = logs.and_then(|logs| logs.last());
                let last = last.and_then(|line| line["message"].as_str());
                Ok(OrderState::Running(
                    None,
                    last.unwrap_or("running").to_owned(),
                ))
            }
            (200 | 202, Some("COMPLETED")) => match body["error_type"].as_str() {
                Some(kind) if kind.starts_with("client_") => Err(cancelled(&ticket.id).into()),
                Some("bad_request") => {
                    let text = body["error"].as_str().unwrap_or("the request is bad");
                    let verdict = Rejection::new(ErrorClass::BadInput, text).void(Billed::Maybe);
                    Err(verdict.with(&answer).into())
                }
                Some(kind) => {
                    let text = body["error"].as_str().unwrap_or_default();
                    Err(void(format!("fal could not make it: {kind}: {text}")).into())
                }
                None => Ok(OrderState::Done(None)),
            },
            // A word of a later day: it is not over.
            (200 | 202, Some(word)) => Ok(OrderState::Running(None, word.to_owned())),
            _ => Err(unanswered("fal", &answer, ticket)),
        }
    }

    fn result(&self, desk: &Desk<'_>, row: &Row, ticket: &Ticket) -> Result<Output, Fault> {
        let answer = desk.get(&self.place(row, ticket, "response_url", ""))?;
        if answer.status == 404 {
            return self.gone(desk, row, ticket);
        }
        let Some(root) = answer.json().filter(|_| answer.status == 200) else {
            let fault = failure(row, ticket, &answer);
            return match fault {
                // Whether the request failed or only this call did, the history knows.
                Fault::Again { .. } if answer.status >= 500 => {
                    self.recorded(desk, row, ticket).unwrap_or(Err(fault))
                }
                fault => Err(fault),
            };
        };
        let cost = cost(row, &answer);
        Ok(Output {
            root,
            cost: cost.map(|usd| (usd, "X-Fal-Billable-Units")),
        })
    }

    fn find(&self, desk: &Desk<'_>, row: &Row, intent: &Intent) -> Result<Found, Fault> {
        let mut cursor = String::new();
        let mut read = Vec::new();
        for _ in 0..PAGES {
            let mut more = vec![("start", intent.since.as_str())];
            if !cursor.is_empty() {
                more.push(("cursor", cursor.as_str()));
            }
            let page = self.history(desk, row, &more)?;
            let items = page["items"].as_array().map_or(&[][..], Vec::as_slice);
            if let Some(id) = intent.on_page(items, ["request_id", "json_input", "sent_at"])? {
                return Ok(Found::Yes(id));
            }
            let next = match &page["next_cursor"] {
                Value::String(text) => text.clone(),
                Value::Number(number) => number.to_string(),
                _ => String::new(),
            };
            let has_more = page["has_more"].as_bool();
            if !has_more.unwrap_or(!next.is_empty()) {
                return Ok(Found::No);
            }
            if next.is_empty() || read.contains(&next) {
                return Err(Fault::again(
                    "fal's list of requests cannot be read to its end",
                ));
            }
            read.push(next.clone());
            cursor = next;
        }
        Err(Fault::again("fal's list of requests has no end"))
    }

    fn cancel(&self, desk: &Desk<'_>, row: &Row, ticket: &Ticket) -> Option<Cancelled> {
        let url = self.place(row, ticket, "cancel_url", "/cancel");
        let answer = desk.call("PUT", &url, Content::None).ok()?;
        let body = answer.json().unwrap_or_default();
        match (answer.status, body["status"].as_str()) {
            (200, Some("OK")) => Some(Cancelled::Gone),
            _ => Some(Cancelled::GoesOn),
        }
    }
}
