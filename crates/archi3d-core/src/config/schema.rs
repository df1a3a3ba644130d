//! The shape of the configuration files: which keys exist and what they take.

use serde_json::Value;

use crate::config::error::ConfigError;
use crate::config::yaml::Document;
use crate::domain::id::AlgoKey;
use crate::domain::nearest::suggestion;
use crate::domain::notice::NOTICES;

/// What stands behind a key. `null` is accepted everywhere and means "not set".
#[derive(Debug, Clone, Copy)]
pub(super) enum Shape {
    /// A map with these keys and no others.
    Map(&'static [(&'static str, Shape)]),
    /// A map with any keys.
    AnyMap,
    /// Text.
    Text,
    /// One of these words.
    Word(&'static [&'static str]),
    /// A list of words, at least one.
    Words,
    /// A list of some of these words.
    Some(&'static [&'static str]),
    /// A list of algorithm keys.
    Algos,
    /// The price of something: a number, 0 or more.
    Price,
    /// An amount of money: a number, 0 or more.
    Money,
    /// A number above 0.
    Positive,
    /// A number between 0 and 1, both excluded.
    Between0And1,
    /// A whole number, 1 or more.
    Count,
    /// A limit that is heeded elsewhere. One that is read and ignored is worse
    /// than none.
    InAdapters,
}

use Shape::{Algos, Between0And1, Count, InAdapters, Map, Money, Positive, Price, Text};

/// `global.yaml`.
pub(super) const GLOBAL: Shape = Map(&[
    ("algorithms", Algos),
    (
        "thresholds",
        Map(&[("lpips_max", Positive), ("fscore_min", Between0And1)]),
    ),
    ("batch", Map(&[("single_image_policy", Text)])),
    ("tools", Map(&[("blender_exe", Text)])),
    (
        "metrics",
        Map(&[
            (
                "fscore",
                Map(&[("default_n_points", Count), ("default_timeout_s", Positive)]),
            ),
            (
                "vfscore",
                Map(&[("default_repeats", Count), ("default_timeout_s", Positive)]),
            ),
        ]),
    ),
    ("budget", Map(&[("run_usd", Money), ("day_usd", Money)])),
    ("confirm_above_usd", Money),
    ("store", Text),
    (
        "notify",
        Map(&[
            ("command", Shape::Words),
            ("webhook", Text),
            ("secret_env", Text),
            ("events", Shape::Some(&NOTICES)),
            ("timeout_s", Positive),
        ]),
    ),
    ("breaker_failures", InAdapters),
    ("max_parallel", InAdapters),
    ("rate_per_min", InAdapters),
]);

/// The user's own file.
pub(super) const USER: Shape = Map(&[
    ("workspace", Text),
    ("tools", Map(&[("blender_exe", Text)])),
]);

/// The keys every entry of `adapters.yaml` can have.
pub(super) const ADAPTER_KEYS: &[(&str, Shape)] = &[
    ("kind", Text),
    ("image_mode", Shape::Word(&["single", "multi"])),
    ("endpoint", Text),
    ("unit_price_usd", Price),
    ("price_source", Text),
    ("defaults", Shape::AnyMap),
];

/// Checks a whole file.
pub(super) fn check_document(document: &Document, shape: Shape) -> Result<(), ConfigError> {
    let Map(keys) = shape else {
        return Ok(());
    };
    for (key, value) in &document.root {
        check_key(document, &[], key, value, keys)?;
    }
    Ok(())
}

/// Checks the value that `path` leads to.
pub(super) fn check_value(
    document: &Document,
    path: &[&str],
    value: &Value,
    shape: Shape,
) -> Result<(), ConfigError> {
    if value.is_null() {
        return Ok(());
    }
    if matches!(shape, InAdapters) {
        return Err(in_adapters(document, path));
    }
    if let (Map(keys), Value::Object(map)) = (shape, value) {
        for (key, value) in map {
            check_key(document, path, key, value, keys)?;
        }
        return Ok(());
    }
    match fault(value, shape) {
        None => Ok(()),
        Some(wanted) => {
            let name = path.join(".");
            Err(document.fault(path, format!("`{name}` must be {wanted}")))
        }
    }
}

fn check_key(
    document: &Document,
    path: &[&str],
    key: &str,
    value: &Value,
    keys: &'static [(&'static str, Shape)],
) -> Result<(), ConfigError> {
    let path = [path, &[key]].concat();
    if let Some((_, shape)) = keys.iter().find(|(name, _)| *name == key) {
        return check_value(document, &path, value, *shape);
    }
    let usable = |(_, shape): &&(&str, Shape)| !matches!(shape, InAdapters);
    if let Some(parent) = parent_of(key, keys) {
        let said = format!(
            "unknown key `{}`; `{key}` belongs under `{parent}:`",
            path.join(".")
        );
        return Err(document.fault(&path, said));
    }
    let names = keys.iter().filter(usable).map(|(name, _)| *name);
    Err(unknown_key(document, &path, names))
}

/// Returns the key under which `key` would be known, one level down.
fn parent_of(key: &str, keys: &[(&'static str, Shape)]) -> Option<&'static str> {
    let has = |(_, shape): &&(&str, Shape)| match shape {
        Map(inner) => inner.iter().any(|(name, _)| *name == key),
        _ => false,
    };
    keys.iter().find(has).map(|(name, _)| *name)
}

fn in_adapters(document: &Document, path: &[&str]) -> ConfigError {
    let name = path.join(".");
    document.fault(
        path,
        format!("`{name}` would be ignored here; give it to an entry of adapters.yaml"),
    )
}

/// Keys that people look for under another one.
const TOP_LEVEL_ONLY: [&str; 1] = ["confirm_above_usd"];

/// Makes the error for a key that does not exist; the last of `path` is the key.
pub(super) fn unknown_key<'a>(
    document: &Document,
    path: &[&str],
    known: impl IntoIterator<Item = &'a str>,
) -> ConfigError {
    let known: Vec<&str> = known.into_iter().collect();
    let key = path.last().copied().unwrap_or_default();
    let hint = suggestion(key, known.iter().copied());
    let hint = if path.len() > 1 && TOP_LEVEL_ONLY.contains(&key) {
        format!(
            "; `{key}` belongs at the top level of global.yaml, not under `{}`",
            path[0]
        )
    } else if hint.is_empty() {
        format!("; known here: {}", known.join(", "))
    } else {
        hint
    };
    document.fault(path, format!("unknown key `{}`{hint}", path.join(".")))
}

/// Returns what is wanted, if `value` is not it.
fn fault(value: &Value, shape: Shape) -> Option<String> {
    let number = value.as_f64();
    let (fits, wanted) = match shape {
        Map(_) | Shape::AnyMap => (value.is_object(), "a map of `key: value`"),
        Text => (
            value.as_str().is_some_and(|text| !text.trim().is_empty()),
            "text (put it in quotes if it looks like a number)",
        ),
        Shape::Word(words) => {
            let fits = value.as_str().is_some_and(|word| words.contains(&word));
            return (!fits).then(|| words.join(" or "));
        }
        Shape::Words => (
            value.as_array().is_some_and(|words| {
                let word = |word: &Value| word.as_str().is_some_and(|word| !word.is_empty());
                !words.is_empty() && words.iter().all(word)
            }),
            "a list of words, such as [notify-send, archi3d]",
        ),
        Shape::Some(words) => {
            let known = |word: &Value| word.as_str().is_some_and(|word| words.contains(&word));
            let fits = value.as_array().is_some_and(|list| list.iter().all(known));
            return (!fits).then(|| format!("a list of some of {}", words.join(", ")));
        }
        Algos => return algos_fault(value),
        Price => (
            number.is_some_and(|price| price >= 0.0 && price.is_finite()),
            "a number of US dollars, 0 or more (leave the key out if the price is unknown)",
        ),
        Money => (
            number.is_some_and(|usd| usd >= 0.0 && usd.is_finite()),
            "a number of US dollars, 0 or more",
        ),
        Positive => (number.is_some_and(|n| n > 0.0), "a number above 0"),
        Between0And1 => (
            number.is_some_and(|n| n > 0.0 && n < 1.0),
            "a number between 0 and 1",
        ),
        InAdapters => (false, "left out"),
        Count => (
            value.as_u64().is_some_and(|count| count > 0),
            "a whole number, 1 or more",
        ),
    };
    (!fits).then(|| wanted.to_owned())
}

fn algos_fault(value: &Value) -> Option<String> {
    let wanted = || "a list of algorithm keys, such as [trellis_single, mock]".to_owned();
    let Some(list) = value.as_array() else {
        return Some(wanted());
    };
    list.iter().find_map(|key| match key.as_str() {
        Some(key) => AlgoKey::parse(key)
            .err()
            .map(|error| format!("{}; {error}", wanted())),
        None => Some(wanted()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(text: &str) -> String {
        let document = Document::shipped("global.yaml", text).expect("YAML");
        check_document(&document, GLOBAL)
            .expect_err("refused")
            .to_string()
    }

    #[test]
    fn an_unknown_key_is_refused_with_line_and_nearest_name() {
        assert_eq!(
            refusal("# x\nthresholds:\n  lpips_max: 0.2\n  fscor_min: 0.5\n"),
            "global.yaml:4: unknown key `thresholds.fscor_min` (did you mean `fscore_min`?)"
        );
        assert_eq!(
            refusal("zebra: 1\n"),
            "global.yaml:1: unknown key `zebra`; known here: algorithms, thresholds, batch, \
             tools, metrics, budget, confirm_above_usd, store, notify"
        );
    }

    #[test]
    fn a_limit_that_nobody_would_heed_is_refused() {
        for key in ["breaker_failures", "max_parallel", "rate_per_min"] {
            assert_eq!(
                refusal(&format!("batch: {{}}\n{key}: 5\n")),
                format!(
                    "global.yaml:2: `{key}` would be ignored here; give it to an entry of \
                     adapters.yaml"
                )
            );
        }
    }

    #[test]
    fn a_key_under_the_wrong_one_is_told_where_it_belongs() {
        assert_eq!(
            refusal("budget: {confirm_above_usd: 5}\n"),
            "global.yaml:1: unknown key `budget.confirm_above_usd`; `confirm_above_usd` belongs at \
             the top level of global.yaml, not under `budget`"
        );
    }

    #[test]
    fn a_value_that_cannot_be_is_refused_with_line_and_what_is_wanted() {
        for (text, wanted) in [
            ("thresholds: 3\n", "a map"),
            ("thresholds: {fscore_min: 1}\n", "between 0 and 1"),
            ("thresholds: {lpips_max: 0}\n", "above 0"),
            (
                "metrics: {fscore: {default_n_points: 0.5}}\n",
                "whole number",
            ),
            ("algorithms: mock\n", "a list of algorithm keys"),
            ("algorithms: [mock, 3]\n", "a list of algorithm keys"),
            ("algorithms: [../x]\n", "not allowed in a name"),
            ("tools: {blender_exe: 3}\n", "text"),
            ("budget: 25\n", "a map"),
            ("budget: {run_usd: -1}\n", "0 or more"),
            ("budget: {day_usd: much}\n", "a number of US dollars"),
            ("confirm_above_usd: '5'\n", "a number of US dollars"),
        ] {
            let message = refusal(text);
            assert!(message.starts_with("global.yaml:1: `"), "{message}");
            assert!(message.contains(wanted), "{message}");
        }
    }
}
