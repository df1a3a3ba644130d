//! What is configured for an algorithm: plain data, read by `config`, used by
//! `adapter` to build the code that runs it and by the engine for prices.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::domain::id::AlgoKey;
use crate::domain::price::ListedPrice;
use crate::domain::service;

/// How many pictures an algorithm takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ImageMode {
    /// One.
    Single,
    /// Several.
    Multi,
}

/// One entry of `adapters.yaml`.
#[derive(Debug, Clone, PartialEq)]
pub struct AlgoSettings {
    /// Its key.
    pub key: AlgoKey,
    /// What carries it out (`simulate`, `mock`, …); `None` for an entry with only an endpoint.
    pub kind: Option<String>,
    /// How many pictures it takes.
    pub image_mode: ImageMode,
    /// The provider's address, as existing workspaces have it.
    pub endpoint: Option<String>,
    /// The price of one generation.
    pub unit_price_usd: Option<f64>,
    /// Where the price comes from.
    pub price_source: Option<String>,
    /// The service's own price of a unit, where no price of the workspace stands against it.
    pub listed_price: Option<ListedPrice>,
    /// Arguments handed to the provider as they are.
    pub defaults: serde_json::Map<String, serde_json::Value>,
    /// The kind's own options that stand beside the others.
    pub options: BTreeMap<String, serde_json::Value>,
}

impl AlgoSettings {
    /// Returns the listed price that the price of a generation was made of, if it was.
    pub fn listed_in_use(&self) -> Option<&ListedPrice> {
        self.listed_price
            .as_ref()
            .filter(|listed| self.price_source.as_deref() == Some(&listed.source_of_day()))
    }

    /// Puts what a run asks for in the place of defaults. What has no default is nobody's to choose.
    pub fn choose(&mut self, options: &serde_json::Map<String, serde_json::Value>) {
        let listed = self.listed_in_use().cloned();
        for (name, value) in options {
            if let Some(usual) = self.defaults.get_mut(name) {
                usual.clone_from(value);
            }
        }
        if let Some(listed) = listed {
            self.unit_price_usd = listed.generation_usd(self.units());
        }
    }

    /// Returns how many billing units its entry says one generation has.
    pub fn units(&self) -> Option<f64> {
        let units = self.options.get("units")?;
        service::units(units, &self.defaults)
    }
}
