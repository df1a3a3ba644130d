//! Prices as a service's own list has them: per unit of billing, with their date.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::domain::money::Usd;
use crate::domain::time::Timestamp;

/// No unit costs more; what is more is no price.
const MOST_USD: f64 = 100_000.0;

/// The longest word for a unit.
const MAX_UNIT_CHARS: usize = 60;

/// Prices by endpoint.
pub type PriceList = BTreeMap<String, ListedPrice>;

/// What a service lists for one unit of a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ListedPrice {
    /// What one unit costs.
    pub unit_price: f64,
    /// What is counted: generations, credits, seconds.
    pub unit: String,
    /// In which money.
    pub currency: String,
    /// When the service said so.
    pub fetched_at: Timestamp,
    /// Who said so: `fal api`.
    pub source: String,
}

impl ListedPrice {
    /// Tells whether this can be a price. Nothing is not: a service that names no price
    /// for a model does not give it away.
    pub fn is_usable(&self) -> bool {
        let amount = self.unit_price > 0.0 && self.unit_price <= MOST_USD;
        let word = |text: &str| {
            !text.trim().is_empty()
                && text.chars().count() <= MAX_UNIT_CHARS
                && !text.chars().any(char::is_control)
        };
        amount && word(&self.unit) && word(&self.currency) && word(&self.source)
    }

    /// Returns what one unit costs in dollars; nothing if it is listed in other money.
    pub fn unit_usd(&self) -> Option<f64> {
        let dollars = self.currency.trim().eq_ignore_ascii_case("USD");
        dollars.then_some(self.unit_price)
    }

    /// Returns what one generation of so many units costs. Where nobody says how many,
    /// it is known only if the unit is a generation.
    pub fn generation_usd(&self, units: Option<f64>) -> Option<f64> {
        let units = units.or_else(|| self.is_by_generation().then_some(1.0))?;
        // Prices are decimal: 40 × 0.01 is 0.4 and nothing else.
        let usd = self.unit_usd()? * units;
        Some(Usd::of(usd).dollars()).filter(|usd| *usd <= MOST_USD)
    }

    /// Tells whether a unit is one generation by its own name.
    fn is_by_generation(&self) -> bool {
        let word = self.unit.trim().to_lowercase();
        let word = word.trim_start_matches("3d ");
        matches!(
            word.strip_suffix("es")
                .filter(|word| *word == "mesh")
                .or_else(|| word.strip_suffix('s'))
                .unwrap_or(word),
            "generation" | "model" | "mesh" | "request"
        )
    }

    /// Returns where the price comes from, with its day: `fal api 2026-11-17`.
    pub fn source_of_day(&self) -> String {
        let day = self.fetched_at.as_datetime().format("%Y-%m-%d");
        format!("{} {day}", self.source)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(unit_price: f64, unit: &str, currency: &str) -> ListedPrice {
        ListedPrice {
            unit_price,
            unit: unit.to_owned(),
            currency: currency.to_owned(),
            fetched_at: Timestamp::parse("2026-11-17T10:00:00+00:00").expect("a time"),
            source: "fal api".to_owned(),
        }
    }

    #[test]
    fn a_generation_costs_its_units_and_nobody_guesses_how_many_these_are() {
        for (unit_price, unit, currency, units, usd) in [
            (0.03, "generations", "USD", None, Some(0.03)),
            (0.017, "generations", "USD", Some(3.0), Some(0.051)),
            (0.01, "credits", "USD", Some(40.0), Some(0.4)),
            (0.01, "credits", "USD", None, None),
            (0.001, "compute seconds", "USD", None, None),
            (0.2, "3D meshes", "usd", None, Some(0.2)),
            (0.2, "generations", "EUR", Some(1.0), None),
        ] {
            let price = listed(unit_price, unit, currency).generation_usd(units);
            assert_eq!(price, usd, "{unit_price} {currency} a {unit}, {units:?}");
        }
        assert_eq!(
            listed(1.0, "x", "USD").source_of_day(),
            "fal api 2026-11-17"
        );
    }

    #[test]
    fn what_is_no_price_is_not_used() {
        assert!(listed(0.02, "generations", "USD").is_usable());
        for (unit_price, unit) in [
            (0.0, "x"),
            (-1.0, "x"),
            (f64::NAN, "x"),
            (1e9, "x"),
            (1.0, " "),
            (1.0, "a\nb"),
        ] {
            assert!(
                !listed(unit_price, unit, "USD").is_usable(),
                "{unit_price} {unit}"
            );
        }
    }
}
