//! Meshy: pictures go inside the order, as data. Its list of tasks does not show
//! them, so an order whose answer was lost can only be narrowed down by its time.

use serde_json::{Map, Value};

use super::client::Answer;
use super::picture::data_uri;
use super::provider::{
    Desk, Fault, Found, Intent, Order, OrderState, Output, Picture, Provider, Rejection, Settled,
    Ticket, dollars, refused, settled, unanswered,
};
use super::row::Row;
use crate::domain::purchase::Billed;
use crate::domain::retry::ErrorClass;
use crate::domain::service;
use crate::domain::time::Timestamp;

/// What a credit costs where a row says nothing; it depends on the plan.
const CREDIT_USD: f64 = 0.02;

/// How many tasks of an unknown purpose are named.
const NAMED: usize = 5;

pub(super) struct Meshy {
    base: String,
}

impl Meshy {
    pub(super) fn new(env: &dyn Fn(&str) -> Option<String>) -> Self {
        let meshy = service::find("meshy");
        Self {
            base: meshy.map_or_else(String::new, |meshy| meshy.address("ARCHI3D_MESHY_URL", env)),
        }
    }
}

impl Provider for Meshy {
    fn name(&self) -> &'static str {
        "Meshy"
    }

    fn images(&self, several: bool) -> &'static [&'static str] {
        if several {
            &["image_urls[1-4]"]
        } else {
            &["image_url"]
        }
    }

    fn models(&self) -> &'static [&'static str] {
        &["model_urls.glb"]
    }

    fn previews(&self) -> &'static [&'static str] {
        &["thumbnail_url"]
    }

    fn upload(&self, _: &Desk<'_>, picture: &Picture) -> Result<String, Fault> {
        data_uri(picture, &["image/png", "image/jpeg"])
            .map_err(|reason| Rejection::new(ErrorClass::BadInput, reason).into())
    }

    fn order(&self, row: &Row, input: Map<String, Value>, _: &str) -> Order {
        Order {
            url: format!("{}/{}", self.base, row.endpoint),
            headers: Vec::new(),
            body: Value::Object(input),
        }
    }

    fn settle(&self, _: &Row, answer: &Answer) -> Settled {
        let body = answer.json().unwrap_or_default();
        settled(
            "Meshy",
            answer,
            body["result"].as_str().and_then(Ticket::named),
        )
    }

    fn order_state(
        &self,
        desk: &Desk<'_>,
        row: &Row,
        ticket: &Ticket,
    ) -> Result<OrderState, Fault> {
        let url = format!("{}/{}/{}", self.base, row.endpoint, ticket.id);
        let answer = desk.get(&url)?;
        let task = answer
            .json()
            .filter(|_| answer.is_success())
            .unwrap_or_default();
        let credit = row.credit_usd.unwrap_or(CREDIT_USD);
        let spent = task["consumed_credits"]
            .as_f64()
            .map(|credits| dollars(credits * credit));
        match task["status"].as_str() {
            Some("SUCCEEDED") => Ok(OrderState::Done(Some(Output {
                cost: spent.map(|usd| (usd, "consumed_credits")),
                root: task,
            }))),
            Some("PENDING") => Ok(OrderState::Queued("pending".to_owned())),
            Some(word @ ("FAILED" | "CANCELED" | "EXPIRED")) => {
                let reason = task["task_error"]["message"]
                    .as_str()
                    .unwrap_or("no reason given");
                let message = format!("Meshy could not make it: {word}: {reason}");
                let paid = spent.filter(|usd| *usd > 0.0);
                // A failure is refunded; nothing is said of the other two.
                let (class, billed) = match (word, paid) {
                    (_, Some(_)) => (ErrorClass::Permanent, Billed::Yes),
                    ("FAILED", None) => (ErrorClass::Transient, Billed::No),
                    (_, None) => (ErrorClass::Permanent, Billed::Maybe),
                };
                let mut verdict = Rejection::new(class, message).void(billed).with(&answer);
                verdict.cost_usd = paid;
                Err(verdict.into())
            }
            Some(word) => {
                let fraction = task["progress"].as_f64().map(|percent| percent / 100.0);
                Ok(OrderState::Running(fraction, word.to_lowercase()))
            }
            None => Err(unanswered("Meshy", &answer, ticket)),
        }
    }

    fn find(&self, desk: &Desk<'_>, row: &Row, intent: &Intent) -> Result<Found, Fault> {
        let url = format!(
            "{}/{}?sort_by=-created_at&page_size=50",
            self.base, row.endpoint
        );
        let answer = desk.get(&url)?;
        let body = answer
            .json()
            .filter(|_| answer.is_success())
            .unwrap_or_default();
        let Some(tasks) = body.as_array().or_else(|| body["result"].as_array()) else {
            return Err(refused("Meshy", "its list of tasks", &answer, |_| {
                ErrorClass::Unknown
            }));
        };
        let id = |task: &Value| task["id"].as_str().map(str::to_owned);
        // It may show what was sent some day.
        if let Some(found) = tasks.iter().find(|task| intent.is_in(task)).and_then(id) {
            return Ok(Found::Yes(found));
        }
        let since = Timestamp::parse(&intent.since).map(|at| at.as_datetime().timestamp_millis());
        let is_later = |task: &&Value| {
            let made = task["created_at"].as_i64();
            made.zip(since).is_none_or(|(made, since)| made >= since)
        };
        let later: Vec<String> = tasks
            .iter()
            .filter(is_later)
            .filter_map(id)
            .take(NAMED)
            .collect();
        Ok(Found::Cannot(if later.is_empty() {
            "Meshy lists no task since then: nothing was bought as far as it can say".to_owned()
        } else {
            format!(
                "Meshy shows no pictures in its list; tasks since then: {}",
                later.join(", ")
            )
        }))
    }
}
