//! What a service lists as the price of a unit of its models. Free; with the account's
//! key, because prices may be the account's own.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use serde_json::Value;

use super::client::{Answer, Client, Masks, Trouble};
use super::fal::{Fal, encoded};
use super::pace::Pace;
use super::provider::{Desk, Provider};
use crate::adapter::Variables;
use crate::adapter::process::log::AttemptLog;
use crate::domain::price::{ListedPrice, PriceList};
use crate::domain::service::Service;
use crate::domain::time::Timestamp;

/// How many models one question may name.
const AT_ONCE: usize = 50;

/// How many pages of one answer are read.
const PAGES: usize = 20;

/// How often a question is put.
const TRIES: u32 = 4;

/// The longest pause that a service can ask for.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// Asks fal what it lists for these endpoints, at this moment. Endpoints for which it
/// names no price are left out; whatever else goes wrong is an error as a whole.
pub fn listed_prices(
    service: &Service,
    endpoints: &BTreeSet<&str>,
    env: &dyn Variables,
    now: Timestamp,
) -> Result<PriceList, String> {
    let set = super::variables(service, env);
    let env: super::Lookup<'_> = &|name| set.get(name).cloned();
    let key = service
        .key(env)
        .ok_or_else(|| super::missing_key(service))?;
    let (fal, pace) = (Fal::new(env), Pace::new(env));
    let log = Arc::new(AttemptLog::new(None));
    let masks = Arc::new(Masks::default());
    masks.add(service.key_name(), &key);
    let client = Client::new(pace.limit, &masks, log);
    let auth = || fal.auth(&key);
    let asked = Asked {
        fal: &fal,
        desk: Desk {
            client: &client,
            auth: &auth,
            limit: pace.limit,
        },
        source: format!("{} api", service.name),
        now,
    };
    let endpoints: Vec<&str> = endpoints.iter().copied().collect();
    let mut list = PriceList::new();
    for some in endpoints.chunks(AT_ONCE) {
        let found = asked.prices(some, &mut list);
        found.map_err(|reason| client.mask(&reason))?;
    }
    Ok(list)
}

struct Asked<'a> {
    fal: &'a Fal,
    desk: Desk<'a>,
    source: String,
    now: Timestamp,
}

impl Asked<'_> {
    /// Adds the prices of some endpoints. One that the service does not know may spoil
    /// the answer for all, so the others are then asked for without it.
    fn prices(&self, endpoints: &[&str], list: &mut PriceList) -> Result<(), String> {
        let names: Vec<String> = endpoints.iter().map(|name| encoded(name)).collect();
        let question = format!("/models/pricing?endpoint_id={}", names.join(","));
        let mut cursor = String::new();
        for _ in 0..PAGES {
            let path = if cursor.is_empty() {
                question.clone()
            } else {
                format!("{question}&cursor={}", encoded(&cursor))
            };
            let answer = self.answer(&path)?;
            if matches!(answer.status, 400 | 404 | 422) {
                let (some, others) = endpoints.split_at(endpoints.len() / 2);
                if some.is_empty() {
                    return Ok(());
                }
                self.prices(some, list)?;
                return self.prices(others, list);
            }
            let page = answer.json().filter(|_| answer.is_success());
            let Some(page) = page.filter(|page| page["prices"].is_array()) else {
                return Err(refusal(&answer));
            };
            for item in page["prices"].as_array().into_iter().flatten() {
                let endpoint = item["endpoint_id"].as_str().unwrap_or_default();
                if let Some(price) = self.price(item).filter(|_| endpoints.contains(&endpoint)) {
                    list.insert(endpoint.to_owned(), price);
                }
            }
            match page["next_cursor"].as_str() {
                Some(next) if page["has_more"] == true && next != cursor => {
                    next.clone_into(&mut cursor);
                }
                _ => return Ok(()),
            }
        }
        Err("fal's list of prices has no end".to_owned())
    }

    fn price(&self, item: &Value) -> Option<ListedPrice> {
        let price = ListedPrice {
            unit_price: item["unit_price"].as_f64()?,
            unit: item["unit"].as_str()?.to_owned(),
            currency: item["currency"].as_str()?.to_owned(),
            fetched_at: self.now,
            source: self.source.clone(),
        };
        price.is_usable().then_some(price)
    }

    /// Puts a question until there is an answer to it, a few times.
    fn answer(&self, path: &str) -> Result<Answer, String> {
        let mut tries = 0;
        loop {
            tries += 1;
            let outcome = self.fal.ask(&self.desk, path);
            let passing = match &outcome {
                Ok(answer) => matches!(answer.status, 408 | 425 | 429 | 500..),
                Err(Trouble::Lost(_)) => true,
                Err(Trouble::Unsent(_)) => false,
            };
            if !passing || tries == TRIES {
                return outcome
                    .map_err(|trouble| format!("fal cannot be asked: {}", trouble.text()));
            }
            let asked = outcome.ok().and_then(|answer| answer.retry_after());
            thread::sleep(asked.unwrap_or(Pace::again(tries)).min(LONGEST_PAUSE));
        }
    }
}

fn refusal(answer: &Answer) -> String {
    let (status, text) = (answer.status, answer.said());
    match status {
        401 | 403 => format!("fal does not take the key ({status}): {text}"),
        200..=299 => format!("fal's answer has no list of prices: {text:?}"),
        _ => format!("fal answered {status} to the question for prices: {text}"),
    }
}
