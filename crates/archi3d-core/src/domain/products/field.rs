//! How the fields of a product are read from the shapes that occur in practice.
//!
//! Every function takes the value as the file has it and returns the text for
//! the table, or nothing where the value says nothing. Text is kept verbatim.

use serde_json::{Map, Value};

/// What stands between the levels of a category path.
const LEVEL_SEPARATOR: &str = " > ";

/// The languages a text is taken from, best first.
const LANGUAGES: [&str; 2] = ["it", "en"];

/// Returns an id as text; empty text, zero, `false` and `null` are none.
pub fn id_text(value: &Value) -> Option<String> {
    match value {
        Value::Null | Value::Bool(false) => None,
        Value::Bool(true) => Some("True".to_owned()),
        Value::Number(number) if number.as_f64() == Some(0.0) => None,
        Value::Number(number) => Some(number.to_string()),
        Value::String(text) => said(text),
        Value::Array(list) => (!list.is_empty()).then(|| value.to_string()),
        Value::Object(map) => (!map.is_empty()).then(|| value.to_string()),
    }
}

/// Returns who makes a product: the name of an object, or the text itself.
pub fn manufacturer(value: &Value) -> Option<String> {
    match value {
        Value::Object(map) => map.get("Name").and_then(localized),
        other => plain(other),
    }
}

/// Returns a text that may be given by language: `Value.it`, `Value.en`, a
/// plain `Value`, then `it`, `en`; or the value itself where it is plain text.
pub fn localized(value: &Value) -> Option<String> {
    let Value::Object(map) = value else {
        return plain(value);
    };
    let inner = map.get("Value").and_then(|inner| match inner {
        Value::Object(by_language) => by_languages(by_language),
        other => plain(other),
    });
    inner.or_else(|| by_languages(map))
}

fn by_languages(map: &Map<String, Value>) -> Option<String> {
    LANGUAGES
        .iter()
        .find_map(|language| map.get(*language).and_then(plain))
}

/// Returns up to three category levels.
///
/// Each entry is a path such as `Furniture > Chairs`; the deepest one is taken,
/// the first of equals. Where no entry has more than one level, the entries
/// themselves are the levels. Repeated levels count once.
pub fn categories(value: &Value) -> [String; 3] {
    let entries = match value {
        Value::Array(list) => list.as_slice(),
        Value::Null => &[],
        single => std::slice::from_ref(single),
    };
    let paths: Vec<Vec<String>> = entries
        .iter()
        .filter_map(category_text)
        .map(|text| {
            text.split(LEVEL_SEPARATOR)
                .filter(|level| !level.is_empty())
                .map(str::to_owned)
                .collect()
        })
        .collect();
    let deepest = paths.iter().map(Vec::len).max().unwrap_or(0);
    let levels: Vec<String> = if deepest > 1 {
        let path = paths.into_iter().find(|path| path.len() == deepest);
        path.unwrap_or_default()
    } else {
        paths.into_iter().flatten().collect()
    };
    let mut kept: Vec<String> = Vec::new();
    for level in levels {
        if !kept.contains(&level) {
            kept.push(level);
        }
    }
    let mut kept = kept.into_iter();
    std::array::from_fn(|_| kept.next().unwrap_or_default())
}

fn category_text(entry: &Value) -> Option<String> {
    match entry {
        Value::Object(map) => map
            .get("Name")
            .and_then(localized)
            .or_else(|| localized(entry)),
        other => plain(other),
    }
}

fn plain(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => said(text),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

fn said(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_name_is_found_in_every_shape_it_comes_in() {
        for (value, text) in [
            (json!("plain"), Some("plain")),
            (json!({"Value": {"it": "a", "en": "b"}}), Some("a")),
            (json!({"Value": {"it": "", "en": "b"}}), Some("b")),
            (json!({"Value": {}, "it": "c"}), Some("c")),
            (json!({"Value": "d"}), Some("d")),
            (json!({"it": "e"}), Some("e")),
            (json!({"en": "f"}), Some("f")),
            (json!(214), Some("214")),
            (json!("  kept\n verbatim "), Some("  kept\n verbatim ")),
            (json!({"Value": {"de": "g"}}), None),
            (json!(""), None),
            (json!(null), None),
        ] {
            assert_eq!(localized(&value).as_deref(), text, "{value}");
        }
    }

    #[test]
    fn a_manufacturer_is_an_object_with_a_name_or_a_text() {
        assert_eq!(manufacturer(&json!({"Name": "M"})).as_deref(), Some("M"));
        assert_eq!(manufacturer(&json!("M")).as_deref(), Some("M"));
        assert_eq!(manufacturer(&json!({"name": "M"})), None);
    }

    #[test]
    fn the_deepest_category_path_is_taken() {
        let value = json!([
            "Offers",
            {"Name": {"it": "Arredo > Sedie > Poltrone > Sedie"}},
            {"Name": "Casa > Sedie"}
        ]);
        assert_eq!(categories(&value), ["Arredo", "Sedie", "Poltrone"]);
    }

    #[test]
    fn entries_of_one_level_are_the_levels() {
        let value = json!(["Arredo", {"Name": {"en": "Sedie"}}, "Arredo", "Blu", "Extra"]);
        assert_eq!(categories(&value), ["Arredo", "Sedie", "Blu"]);
        assert_eq!(categories(&json!("A > B")), ["A", "B", ""]);
        assert_eq!(categories(&json!(null)), ["", "", ""]);
    }
}
