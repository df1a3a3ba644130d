//! `adapters prices`: what a generation of each algorithm costs and who says so, and
//! asking the services that tell their prices.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use serde::Serialize;

use crate::adapter::http::listed_prices;
use crate::config::{Origin, PRICES_FILE};
use crate::domain::algo::AlgoSettings;
use crate::domain::id::AlgoKey;
use crate::domain::price::{ListedPrice, PriceList};
use crate::domain::service::{self, SERVICES};
use crate::ops::{OpsContext, OpsError};
use crate::store::bounds::refuse_link_outside;
use crate::store::error::IoContext;
use crate::workspace::durable;

/// What one generation of an algorithm costs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PriceEntry {
    /// The algorithm.
    #[serde(rename = "algo")]
    pub key: AlgoKey,
    /// What carries it out.
    pub kind: Option<String>,
    /// The model's name at its service.
    pub endpoint: Option<String>,
    /// The price, if anybody knows.
    #[serde(rename = "unit_price_usd")]
    pub usd: Option<f64>,
    /// What the price says of itself.
    #[serde(rename = "price_source")]
    pub source: Option<String>,
    /// The file it stands in, seen from the workspace; `shipped` for the program's own.
    pub from: Option<String>,
    /// How old it is in seconds, if a service was asked for it.
    pub age_s: Option<u64>,
    /// How many billing units its entry says one generation has.
    pub units: Option<f64>,
    /// Whether its service tells prices.
    #[serde(rename = "has_price_list")]
    pub has_list: bool,
    /// What its service listed when it was asked last.
    pub listed: Option<ListedPrice>,
    /// Why the listed price is not the price, if it is not.
    pub note: Option<String>,
}

/// Returns what every algorithm costs, in file order. Asks nobody and changes nothing.
pub fn prices(context: &OpsContext) -> Vec<PriceEntry> {
    let origins: BTreeMap<String, Origin> = context
        .settings
        .entries()
        .into_iter()
        .map(|entry| (entry.name, entry.origin))
        .collect();
    let algos = context.settings.algos.iter();
    algos.map(|algo| entry(context, algo, &origins)).collect()
}

fn entry(
    context: &OpsContext,
    algo: &AlgoSettings,
    origins: &BTreeMap<String, Origin>,
) -> PriceEntry {
    let origin = origins.get(&format!("adapters.{}.unit_price_usd", algo.key));
    let from = origin.map(|origin| match origin {
        Origin::File(path) => {
            let inside = context.workspace.relative(path);
            inside.unwrap_or_else(|| path.display().to_string())
        }
        origin => origin.to_string(),
    });
    let listed = context.settings.prices.of(algo);
    let in_use = algo.listed_in_use();
    let now = context.clock.now();
    PriceEntry {
        key: algo.key.clone(),
        kind: algo.kind.clone(),
        endpoint: algo.endpoint.clone(),
        usd: algo.unit_price_usd,
        source: algo.price_source.clone(),
        from: from.filter(|_| algo.unit_price_usd.is_some()),
        age_s: in_use.map(|listed| now.since(listed.fetched_at).as_secs()),
        units: algo.units(),
        has_list: service::of(algo).is_some_and(|service| service.lists_prices),
        listed: listed.cloned(),
        note: listed
            .filter(|_| in_use.is_none())
            .map(|listed| why_not(algo, listed)),
    }
}

fn why_not(algo: &AlgoSettings, listed: &ListedPrice) -> String {
    let (price, unit) = (listed.unit_price, &listed.unit);
    let (currency, source) = (&listed.currency, listed.source_of_day());
    let said = format!("{source}: {price} {currency} (unit: {unit})");
    match (listed.unit_usd(), &algo.listed_price) {
        (None, _) => format!("{said}; not used: only US dollars are counted"),
        (Some(_), None) => format!("{said}; not used: the workspace's own price holds"),
        (Some(_), Some(_)) => format!(
            "{said}; not known: how many units one generation has; `units` in its entry would say"
        ),
    }
}

/// What asking a service brought.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Refreshed {
    /// The service.
    pub service: &'static str,
    /// How many models it was asked for.
    pub asked: usize,
    /// For how many it named a price.
    pub priced: usize,
    /// The models for which it named none; what it named earlier stays.
    pub unlisted: Vec<String>,
    /// Where the prices are kept, seen from the workspace.
    pub kept_in: String,
}

/// Asks every service that tells its prices and keeps what it says. Nothing changes
/// unless all of them answer.
pub fn refresh_prices(context: &OpsContext) -> Result<Vec<Refreshed>, OpsError> {
    context.expect_workspace()?;
    refuse_link_outside(&context.workspace, &context.workspace.config())?;
    let mut lists = context.settings.prices.lists.clone();
    let mut refreshed = Vec::new();
    for service in SERVICES.iter().filter(|service| service.lists_prices) {
        let algos = context.settings.algos.iter();
        let endpoints: BTreeSet<&str> = algos
            .filter(|algo| algo.kind.as_deref() == Some(service.kind))
            .filter_map(|algo| algo.endpoint.as_deref())
            .filter(|endpoint| !endpoint.trim().is_empty())
            .collect();
        if endpoints.is_empty() {
            continue;
        }
        let env = context.variables();
        let now = context.clock.now();
        let fresh = listed_prices(service, &endpoints, env.as_ref(), now)
            .and_then(|fresh| {
                let none = format!("{} names no price for any model", service.name);
                (!fresh.is_empty()).then_some(fresh).ok_or(none)
            })
            .map_err(|reason| OpsError::Setup {
                message: format!("{reason}; no price was changed"),
                hint: Some("`archi3d adapters prices` shows the prices that hold".into()),
            })?;
        let unlisted = endpoints.iter().filter(|name| !fresh.contains_key(**name));
        refreshed.push(Refreshed {
            service: service.name,
            asked: endpoints.len(),
            priced: fresh.len(),
            unlisted: unlisted.map(|name| (*name).to_owned()).collect(),
            kept_in: format!("config/{PRICES_FILE}"),
        });
        let list: &mut PriceList = lists.entry(service.kind.to_owned()).or_default();
        list.retain(|endpoint, _| endpoints.contains(endpoint.as_str()));
        list.extend(fresh);
    }
    keep(context, &lists)?;
    Ok(refreshed)
}

fn keep(context: &OpsContext, lists: &BTreeMap<String, PriceList>) -> Result<(), OpsError> {
    let folder = context.workspace.config();
    fs::create_dir_all(&folder).context("create", &folder)?;
    let path = folder.join(PRICES_FILE);
    let mut text = serde_json::to_string_pretty(lists).expect("prices have only plain fields");
    text.push('\n');
    let tag = uuid::Uuid::new_v4().simple().to_string();
    durable::replace(&path, text.as_bytes(), &tag).context("write", &path)?;
    Ok(())
}
