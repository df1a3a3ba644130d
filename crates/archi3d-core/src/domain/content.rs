//! What makes two jobs the same: the bytes of their pictures and what is done
//! with them, never where these lie or when they were made.
//!
//! Used to find an earlier result instead of buying it again. The version of what
//! made a result is compared beside the key: many adapters tell it only afterwards.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use crate::domain::algo::AlgoSettings;
use crate::domain::text::hex;

/// Options that change when, how often or for whom something runs, or how a
/// rehearsal misbehaves, but not what comes out. `version` is compared by itself.
const WITHOUT_EFFECT: &[&str] = &[
    "breaker_failures",
    "count_file",
    "credit_usd",
    "deprecated",
    "empty_output",
    "env",
    "fail",
    "fail_class",
    "fail_first",
    "fail_rate",
    "files",
    "intent",
    "large_error",
    "max_parallel",
    "on_interrupt",
    "panic",
    "patience_s",
    "previews",
    "protocol",
    "provider",
    "rate_per_min",
    "reconciles",
    "retries",
    "retry_after_s",
    "simulate_ms",
    "sleep_ms",
    "stall_s",
    "stamp_file",
    "start_timeout_s",
    "submit",
    "timeout_s",
    "units",
    "version",
    "wait_file",
];

/// The kind whose results are placeholders and never worth reusing.
const PLACEHOLDERS: &str = "simulate";

/// What is done with pictures: the algorithm and every parameter that counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recipe(String);

/// The same for jobs that must have the same result, as far as their inputs tell.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ContentKey(String);

impl Recipe {
    /// Returns the recipe of an entry of `adapters.yaml`; nothing for one that
    /// makes placeholders only.
    pub fn of(settings: &AlgoSettings) -> Option<Self> {
        if settings.kind.as_deref() == Some(PLACEHOLDERS) {
            return None;
        }
        let options: Map<String, Value> = settings
            .options
            .iter()
            .filter(|(name, _)| !WITHOUT_EFFECT.contains(&name.as_str()))
            .map(|(name, value)| (name.clone(), sorted(value)))
            .collect();
        let text = json!([
            "archi3d-recipe-1",
            settings.key,
            settings.kind,
            settings.endpoint,
            sorted(&Value::Object(settings.defaults.clone())),
            options,
        ])
        .to_string();
        Some(Self(hex(&Sha256::digest(text.as_bytes())[..16])))
    }

    /// Returns the key of a job with these pictures, by their hashes in order.
    pub fn key(&self, pictures: &[String]) -> ContentKey {
        let mut hash = Sha256::new();
        for picture in pictures {
            hash.update(picture.as_bytes());
            hash.update(b"\n");
        }
        ContentKey(format!("{}-{}", self.0, hex(&hash.finalize())))
    }
}

impl ContentKey {
    /// Returns the part that all jobs of one recipe have in common.
    pub fn recipe(&self) -> &str {
        self.0.split('-').next().unwrap_or_default()
    }
}

impl fmt::Display for ContentKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Returns the value with the keys of every map in order: their order in a file
/// means nothing.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<_> = map.iter().map(|(k, v)| (k.clone(), sorted(v))).collect();
            entries.sort_by(|a, b| a.0.cmp(&b.0));
            Value::Object(entries.into_iter().collect())
        }
        Value::Array(list) => Value::Array(list.iter().map(sorted).collect()),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::domain::algo::ImageMode;
    use crate::domain::id::AlgoKey;
    use crate::domain::kind;

    fn settings(options: &[(&str, Value)]) -> AlgoSettings {
        AlgoSettings {
            key: AlgoKey::parse("tool").expect("valid"),
            kind: Some("process".into()),
            image_mode: ImageMode::Multi,
            endpoint: None,
            unit_price_usd: None,
            price_source: None,
            listed_price: None,
            defaults: Map::new(),
            options: options
                .iter()
                .map(|(name, value)| ((*name).to_owned(), value.clone()))
                .collect::<BTreeMap<_, _>>(),
        }
    }

    #[test]
    fn every_option_of_every_kind_is_known_to_count_or_not() {
        let mut counting: Vec<&str> = kind::KINDS
            .iter()
            .flat_map(|kind| kind::options_of(Some(kind)))
            .map(|option| option.name)
            .filter(|name| !WITHOUT_EFFECT.contains(name))
            .collect();
        counting.sort_unstable();
        counting.dedup();
        assert_eq!(
            counting,
            [
                "command",
                "depth",
                "images",
                "model",
                "resolution",
                "seed",
                "smooth"
            ]
        );
    }

    #[test]
    fn prices_and_limits_make_no_other_recipe_but_parameters_do() {
        let plain = Recipe::of(&settings(&[("command", json!(["a"]))]));
        let mut dear = settings(&[("command", json!(["a"])), ("retries", json!(3))]);
        dear.unit_price_usd = Some(0.9);
        dear.price_source = Some("contract".into());
        assert_eq!(Recipe::of(&dear), plain);
        let mut other = dear.clone();
        other.defaults.insert("steps".into(), json!(50));
        assert_ne!(Recipe::of(&other), plain);
        assert_ne!(Recipe::of(&settings(&[("command", json!(["b"]))])), plain);
        let mut elsewhere = dear;
        elsewhere.endpoint = Some("fal-ai/x".into());
        assert_ne!(Recipe::of(&elsewhere), plain);
    }

    #[test]
    fn the_order_of_keys_means_nothing_and_that_of_pictures_does() {
        let with = |text: &str| {
            let mut settings = settings(&[]);
            settings.defaults = serde_json::from_str(text).expect("JSON");
            Recipe::of(&settings).expect("a recipe")
        };
        let recipe = with(r#"{"a": {"x": 1, "y": 2}, "b": 3}"#);
        assert_eq!(recipe, with(r#"{"b": 3, "a": {"y": 2, "x": 1}}"#));
        let (one, two) = ("1".repeat(64), "2".repeat(64));
        let key = recipe.key(&[one.clone(), two.clone()]);
        assert_ne!(key, recipe.key(&[two, one.clone()]));
        assert_ne!(key, recipe.key(&[one]));
        assert_eq!(key.recipe(), recipe.0);
    }

    #[test]
    fn placeholders_have_no_recipe() {
        let mut settings = settings(&[]);
        settings.kind = Some("simulate".into());
        assert_eq!(Recipe::of(&settings), None);
    }
}
