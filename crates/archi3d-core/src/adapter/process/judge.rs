//! Holds what a program says against the schema that is shipped with us, so that a
//! word that is misspelt is told and not just left out.
//!
//! Knows the part of JSON Schema that our own schema uses, and no more.

use std::sync::OnceLock;

use serde_json::{Map, Value};

use crate::domain::nearest::suggestion;

const SCHEMA: &str = include_str!("../../../../../docs/adapter-protocol.schema.json");

/// Names of values that are shown in a complaint are cut after so many letters.
const MAX_SHOWN_CHARS: usize = 60;

fn definitions() -> &'static Map<String, Value> {
    static DEFINITIONS: OnceLock<Map<String, Value>> = OnceLock::new();
    DEFINITIONS.get_or_init(|| {
        let schema: Value = serde_json::from_str(SCHEMA).expect("our own schema is JSON");
        let definitions = schema["$defs"].as_object().cloned();
        definitions.expect("our own schema has definitions")
    })
}

/// Returns the events that the schema knows, each with its definition.
fn events() -> impl Iterator<Item = (&'static str, &'static Value)> {
    let definitions = definitions().values();
    definitions.filter_map(|definition| {
        let event = definition["properties"]["event"]["const"].as_str()?;
        Some((event, definition))
    })
}

/// Returns what is wrong with something a program said, one sentence each.
pub(super) fn complaints(said: &Map<String, Value>) -> Vec<String> {
    let name = match said.get("event") {
        Some(Value::String(name)) => name,
        Some(other) => return vec![format!("`event` is {}, not a name", shown(other))],
        None => {
            let near = suggestion_of("event", said.keys());
            return near.map_or_else(Vec::new, |key| {
                vec![format!("`{key}` is not known (did you mean `event`?)")]
            });
        }
    };
    let Some((_, definition)) = events().find(|(event, _)| event == name) else {
        let near = suggestion(name, events().map(|(event, _)| event));
        return vec![format!("no event is called `{}`{near}", short(name))];
    };
    let mut complaints = Vec::new();
    let properties = definition["properties"].as_object();
    let known = || properties.into_iter().flatten();
    for required in definition["required"].as_array().into_iter().flatten() {
        let key = required.as_str().unwrap_or_default();
        if !said.contains_key(key) {
            let near = suggestion_of(key, said.keys());
            let near = near.map_or_else(String::new, |near| format!(" (`{near}` is not known)"));
            complaints.push(format!("`{name}` lacks `{key}`{near}"));
        }
    }
    for (key, value) in said {
        if let Some((_, rule)) = known().find(|(property, _)| *property == key) {
            let wish = broken(rule, value).into_iter();
            let told = wish.map(|wish| format!("`{key}` of `{name}` is {}; {wish}", shown(value)));
            complaints.extend(told);
        } else {
            let near = suggestion(key, known().map(|(property, _)| property.as_str()));
            if !near.is_empty() {
                complaints.push(format!("`{name}` has no `{}`{near}", short(key)));
            }
        }
    }
    complaints
}

/// Returns a key that was most likely meant as `wanted`.
fn suggestion_of<'a>(
    wanted: &str,
    keys: impl IntoIterator<Item = &'a String>,
) -> Option<&'a String> {
    let known = std::iter::once(wanted);
    let mut keys = keys.into_iter();
    keys.find(|key| key.as_str() != wanted && !suggestion(key, known.clone()).is_empty())
}

/// Says what a rule wants of a value that breaks it.
fn broken(rule: &Value, value: &Value) -> Option<String> {
    if let Some(words) = rule["enum"].as_array() {
        let known = || words.iter().filter_map(Value::as_str);
        let near = value.as_str().map(|word| suggestion(word, known()));
        let list: Vec<&str> = known().collect();
        let wish = format!("it must be one of {}", list.join(", "));
        return (!words.contains(value)).then(|| wish + &near.unwrap_or_default());
    }
    let types: Vec<&str> = match &rule["type"] {
        Value::String(one) => vec![one],
        Value::Array(several) => several.iter().filter_map(Value::as_str).collect(),
        _ => return None,
    };
    if !types.iter().any(|name| is_a(value, name)) {
        let names: Vec<&str> = types
            .iter()
            .copied()
            .filter(|name| *name != "null")
            .collect();
        return Some(format!("it must be {}", names.join(" or ")));
    }
    let (low, high) = (rule["minimum"].as_f64(), rule["maximum"].as_f64());
    if let Some(number) = value.as_f64() {
        let fits = low.is_none_or(|low| number >= low) && high.is_none_or(|high| number <= high);
        let wish = match (low, high) {
            (Some(low), Some(high)) => format!("it must be from {low} to {high}"),
            (Some(low), None) => format!("it must be {low} or more"),
            _ => String::new(),
        };
        return (!fits).then_some(wish);
    }
    if let Some(text) = value.as_str() {
        let (short, long) = (rule["minLength"].as_u64(), rule["maxLength"].as_u64());
        let length = text.len() as u64;
        let fits =
            short.is_none_or(|short| length >= short) && long.is_none_or(|long| length <= long);
        return (!fits).then(|| "it is too short or too long".to_owned());
    }
    let list = value.as_array()?;
    if let Some(most) = rule["maxItems"]
        .as_u64()
        .filter(|most| list.len() as u64 > *most)
    {
        return Some(format!("only the first {most} count"));
    }
    list.iter().find_map(|item| broken(&rule["items"], item))
}

fn is_a(value: &Value, name: &str) -> bool {
    match name {
        "string" => value.is_string(),
        "number" => value.is_number(),
        "integer" => value.is_i64() || value.is_u64(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "null" => value.is_null(),
        _ => true,
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => format!("the text \"{}\"", short(text)),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "an object".to_owned(),
        other => short(&other.to_string()),
    }
}

fn short(text: &str) -> String {
    text.chars().take(MAX_SHOWN_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn judged(said: &Value) -> Vec<String> {
        complaints(said.as_object().unwrap())
    }

    #[test]
    fn what_the_page_shows_is_right() {
        for said in [
            json!({"event": "intent", "correlation": "a3d-9c5c"}),
            json!({"event": "submitted", "request_id": "req-8f2c", "cost_usd": 0.40}),
            json!({"event": "submitted", "request_id": 12}),
            json!({"event": "progress", "fraction": 0.5, "message": "texturing"}),
            json!({"event": "result", "success": true, "previews": ["front.png"], "raw_metadata": 7}),
            json!({"event": "error", "class": "transient", "message": "busy", "retry_after_s": 30}),
            json!({"event": "error", "class": "transient", "message": 503, "request": "void",
                   "billed": "no", "cost_usd": null, "trace": []}),
        ] {
            assert_eq!(judged(&said), Vec::<String>::new(), "{said}");
        }
    }

    #[test]
    fn what_is_wrong_is_told_with_the_word_that_was_meant() {
        for (said, words) in [
            (
                json!({"event": "submited", "request_id": "r"}),
                "did you mean `submitted`?",
            ),
            (
                json!({"event": "error", "class": "temporary", "message": "x"}),
                "one of transient",
            ),
            (
                json!({"event": "error", "class": "transiet", "message": "x"}),
                "did you mean `transient`?",
            ),
            (
                json!({"event": "submitted", "reqest_id": "r"}),
                "lacks `request_id` (`reqest_id` is not known)",
            ),
            (
                json!({"event": "submitted", "request_id": "r", "cost_usd": "0.40"}),
                "must be number",
            ),
            (
                json!({"event": "submitted", "request_id": "r", "cost_usd": -1}),
                "from 0 to 100000",
            ),
            (
                json!({"event": "submitted", "request_id": "r", "cost_usd": 1e308}),
                "from 0 to 100000",
            ),
            (
                json!({"event": "result", "success": "true"}),
                "must be boolean",
            ),
            (
                json!({"event": "result", "success": true, "preview": ["a"]}),
                "did you mean `previews`?",
            ),
            (json!({"event": "progress", "fraction": 7}), "from 0 to 1"),
            (json!({"evnt": "result"}), "did you mean `event`?"),
            (json!({"event": 7}), "not a name"),
        ] {
            let found = judged(&said);
            assert!(
                found.iter().any(|text| text.contains(words)),
                "{said}: {found:?}"
            );
        }
    }
}
