//! Tripo, version 3 of its interface: everything comes in an envelope with a code.
//! It lists no inputs, so an order whose answer was lost cannot be found again.

use serde_json::{Map, Value};

use super::client::{Answer, Content};
use super::provider::{
    Desk, Fault, Found, Intent, Order, OrderState, Output, Picture, Provider, Rejection, Settled,
    Ticket, class_before_purchase, dollars, refused, settled, unanswered,
};
use super::row::Row;
use crate::domain::purchase::Billed;
use crate::domain::retry::ErrorClass;
use crate::domain::service;

/// What a credit costs where a row says nothing.
const CREDIT_USD: f64 = 0.01;

pub(super) struct Tripo {
    base: String,
}

impl Tripo {
    pub(super) fn new(env: &dyn Fn(&str) -> Option<String>) -> Self {
        let tripo = service::find("tripo");
        Self {
            base: tripo.map_or_else(String::new, |tripo| tripo.address("ARCHI3D_TRIPO_URL", env)),
        }
    }
}

/// Returns what is in the envelope of a success.
fn data(answer: &Answer) -> Option<Value> {
    let body = answer.json().filter(|_| answer.is_success())?;
    (body["code"] == 0).then(|| body["data"].clone())
}

fn code(answer: &Answer) -> Option<i64> {
    answer.json()?["code"].as_i64()
}

/// Says what a code means that the answer has in place of what was asked for: it
/// decides, whatever the status says.
fn coded(answer: &Answer) -> Option<Rejection> {
    let code = code(answer).filter(|_| answer.status < 500)?;
    let verdict = |class| {
        let text = format!("Tripo answered {code}: {}", answer.said());
        Rejection::new(class, text).with(answer)
    };
    match code {
        2010 => Some(verdict(ErrorClass::OutOfCredit)),
        2000 | 1007 => Some(verdict(ErrorClass::Transient).busy(answer)),
        // These say what is wrong with the order: it was not taken.
        1000..=2999 if answer.is_success() => Some(verdict(ErrorClass::Permanent)),
        _ => None,
    }
}

impl Provider for Tripo {
    fn name(&self) -> &'static str {
        "Tripo"
    }

    fn images(&self, several: bool) -> &'static [&'static str] {
        if several {
            &["inputs[2-4]"]
        } else {
            &["input"]
        }
    }

    fn models(&self) -> &'static [&'static str] {
        &["model_url", "pbr_model_url", "base_model_url"]
    }

    fn previews(&self) -> &'static [&'static str] {
        &["rendered_image_url"]
    }

    fn upload(&self, desk: &Desk<'_>, picture: &Picture) -> Result<String, Fault> {
        let form = super::form::Form::new("file", picture);
        let url = format!("{}/files", self.base);
        let answer = desk.call("POST", &url, Content::Bytes(&form.kind, &form.bytes))?;
        match data(&answer) {
            Some(data) if data["file_token"].is_string() => {
                Ok(data["file_token"].as_str().unwrap_or_default().to_owned())
            }
            _ => Err(coded(&answer).map_or_else(
                || refused("Tripo", "a picture", &answer, class_before_purchase),
                Fault::from,
            )),
        }
    }

    fn order(&self, row: &Row, input: Map<String, Value>, _: &str) -> Order {
        Order {
            url: format!("{}/generation/{}", self.base, row.endpoint),
            headers: Vec::new(),
            body: Value::Object(input),
        }
    }

    fn settle(&self, _: &Row, answer: &Answer) -> Settled {
        let task = data(answer);
        match coded(answer) {
            Some(verdict) if task.is_none() => Settled::Refused(verdict),
            _ => {
                let id = task.as_ref().and_then(|task| task["task_id"].as_str());
                settled("Tripo", answer, id.and_then(Ticket::named))
            }
        }
    }

    fn order_state(
        &self,
        desk: &Desk<'_>,
        row: &Row,
        ticket: &Ticket,
    ) -> Result<OrderState, Fault> {
        let id = &ticket.id;
        let answer = desk.get(&format!("{}/tasks/{id}", self.base))?;
        let Some(task) = data(&answer) else {
            return Err(unanswered("Tripo", &answer, ticket));
        };
        let error = task["error_message"]
            .as_str()
            .or_else(|| task["error_msg"].as_str());
        let error = error.unwrap_or("no reason given");
        let spent = task["credits_consumed"].as_f64();
        let ended = |class, word: &str| {
            let text = format!("Tripo could not make it: {word}: {error}");
            let mut verdict = Rejection::new(class, text).with(&answer);
            verdict = match spent {
                Some(credits) if credits > 0.0 => verdict.void(Billed::Yes),
                _ if class == ErrorClass::Unknown => verdict.void(Billed::Maybe),
                _ => verdict.void(Billed::No),
            };
            verdict.cost_usd = spent
                .filter(|credits| *credits > 0.0)
                .map(|credits| dollars(credits * row.credit_usd.unwrap_or(CREDIT_USD)));
            Err(verdict.into())
        };
        match task["status"].as_str() {
            Some("success") => {
                let credit = row.credit_usd.unwrap_or(CREDIT_USD);
                Ok(OrderState::Done(Some(Output {
                    cost: spent.map(|credits| (dollars(credits * credit), "credits_consumed")),
                    root: task["output"].clone(),
                })))
            }
            Some("queued") => Ok(OrderState::Queued("queued".to_owned())),
            // What was billed all the same is not bought again by itself, nor what would
            // end the same way.
            Some(word @ ("failed" | "cancelled")) => match spent {
                Some(credits) if credits > 0.0 => ended(ErrorClass::Permanent, word),
                _ => ended(ErrorClass::Transient, word),
            },
            Some(word @ ("banned" | "expired")) => ended(ErrorClass::Unknown, word),
            Some(word) => {
                let fraction = task["progress"].as_f64().map(|percent| percent / 100.0);
                Ok(OrderState::Running(fraction, word.to_owned()))
            }
            None => Err(Fault::again("Tripo's answer names no status")),
        }
    }

    fn find(&self, _: &Desk<'_>, _: &Row, _: &Intent) -> Result<Found, Fault> {
        Ok(Found::Cannot(
            "Tripo lists no inputs: look at the tasks of that time in your account".to_owned(),
        ))
    }
}
