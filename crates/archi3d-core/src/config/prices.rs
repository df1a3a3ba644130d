//! `config/prices.json`: what services listed when `adapters prices --refresh` asked
//! them. Written by the program, plain to read; without it the shipped prices hold.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::config::file::read_text;
use crate::domain::algo::AlgoSettings;
use crate::domain::price::{ListedPrice, PriceList};
use crate::domain::service;

/// Its name in the folder of configuration.
pub const PRICES_FILE: &str = "prices.json";

/// The prices of a workspace, with the file they are in.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Prices {
    /// Where they are kept.
    pub path: PathBuf,
    /// The prices, by service and endpoint.
    pub lists: BTreeMap<String, PriceList>,
    /// Why some or all of the file is not used.
    pub problem: Option<String>,
}

impl Prices {
    /// Reads what is there. What cannot be used is told and not used: it can be fetched
    /// again at any time.
    pub(super) fn read(config: &Path) -> Self {
        let path = config.join(PRICES_FILE);
        let (lists, problem) = match read_text(&path).map_err(|error| error.to_string()) {
            Ok(None) => (BTreeMap::new(), None),
            Ok(Some(text)) => match serde_json::from_str::<Value>(&text) {
                Ok(value) => lists_of(&value),
                Err(error) => (
                    BTreeMap::new(),
                    Some(format!("{}: {error}", path.display())),
                ),
            },
            Err(error) => (BTreeMap::new(), Some(error)),
        };
        let problem = problem.map(|problem| {
            format!(
                "{problem}; the prices in it are not used. To fetch them again: \
                 archi3d adapters prices --refresh"
            )
        });
        Self {
            path,
            lists,
            problem,
        }
    }

    /// Returns what a service lists for the model of an entry.
    pub fn of(&self, algo: &AlgoSettings) -> Option<&ListedPrice> {
        let list = self.lists.get(service::of(algo)?.kind)?;
        list.get(algo.endpoint.as_deref()?)
    }
}

/// Reads the lists of the services; one entry that cannot be used does not spoil the rest.
fn lists_of(value: &Value) -> (BTreeMap<String, PriceList>, Option<String>) {
    let mut lists = BTreeMap::new();
    let mut bad = Vec::new();
    if !value.is_object() {
        return (
            lists,
            Some(format!("config/{PRICES_FILE} is no list of prices")),
        );
    }
    for service in &service::SERVICES {
        let entries = value[service.kind].as_object().into_iter().flatten();
        let mut list = PriceList::new();
        for (endpoint, entry) in entries {
            match serde_json::from_value::<ListedPrice>(entry.clone()) {
                Ok(price) if price.is_usable() => {
                    list.insert(endpoint.clone(), price);
                }
                _ => bad.push(endpoint.as_str()),
            }
        }
        if !list.is_empty() {
            lists.insert(service.kind.to_owned(), list);
        }
    }
    let problem = (!bad.is_empty()).then(|| {
        let names = bad.join(", ");
        format!("config/{PRICES_FILE} has no usable price for {names}")
    });
    (lists, problem)
}
