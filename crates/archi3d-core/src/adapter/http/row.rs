//! One model of a service, as its entry in `adapters.yaml` describes it.

use std::time::Duration;

use serde_json::{Map, Value};

use super::provider::Provider;
use crate::domain::algo::{AlgoSettings, ImageMode};
use crate::domain::price::ListedPrice;
use crate::domain::service::ImageField;

/// Stands for whatever in an output is a model.
const ANY_MODEL: &str = "*";

/// A model and how to ask for it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Row {
    pub(super) endpoint: String,
    fields: Vec<ImageField>,
    model: Vec<String>,
    previews: Vec<String>,
    pub(super) arguments: Map<String, Value>,
    /// What one generation costs, if anybody knows.
    pub(super) price_usd: Option<f64>,
    /// How many of the service's billing units one generation has.
    units: f64,
    /// What the service itself lists for a unit.
    pub(super) listed: Option<ListedPrice>,
    /// What a credit costs.
    pub(super) credit_usd: Option<f64>,
    pub(super) start_timeout: Option<f64>,
    pub(super) patience: Option<Duration>,
}

/// A file that a service made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Made {
    pub(super) url: String,
    /// Its size, where the service says it.
    pub(super) size: Option<u64>,
    /// Whether its name or its type says that it is a GLB.
    is_glb: bool,
}

impl Row {
    /// Reads an entry that the registry has checked.
    pub(super) fn new(settings: &AlgoSettings, provider: &dyn Provider) -> Self {
        let option = |name: &str| settings.options.get(name);
        let texts = |name: &str, usual: &[&str]| -> Vec<String> {
            match option(name).and_then(Value::as_array) {
                Some(list) => list
                    .iter()
                    .filter_map(Value::as_str)
                    .map(str::to_owned)
                    .collect(),
                None => usual.iter().map(|text| (*text).to_owned()).collect(),
            }
        };
        let number = |name: &str| option(name).and_then(Value::as_f64);
        let several = settings.image_mode == ImageMode::Multi;
        let fields = texts("images", provider.images(several));
        Self {
            endpoint: settings.endpoint.clone().unwrap_or_default(),
            fields: fields
                .iter()
                .filter_map(|text| ImageField::parse(text))
                .collect(),
            model: texts("model", provider.models()),
            previews: texts("previews", provider.previews()),
            arguments: settings.defaults.clone(),
            price_usd: settings.unit_price_usd,
            units: settings.units().unwrap_or(1.0),
            listed: settings.listed_price.clone(),
            credit_usd: number("credit_usd"),
            start_timeout: number("start_timeout_s"),
            patience: number("patience_s").and_then(|s| Duration::try_from_secs_f64(s).ok()),
        }
    }

    /// Returns how many of `there` pictures are sent, or why these are not enough.
    pub(super) fn pictures(&self, there: usize) -> Result<usize, String> {
        let least: usize = self.fields.iter().map(|field| field.least).sum();
        let most: usize = self
            .fields
            .iter()
            .map(|field| field.most)
            .fold(0, usize::saturating_add);
        if there < least {
            let names: Vec<&str> = self
                .fields
                .iter()
                .map(|field| field.name.as_str())
                .collect();
            return Err(format!(
                "{} takes at least {least} pictures ({}), and the job has {there}",
                self.endpoint,
                names.join(", ")
            ));
        }
        Ok(there.min(most))
    }

    /// Returns the arguments with the pictures in their places.
    pub(super) fn input(&self, pictures: &[String]) -> Map<String, Value> {
        let mut input = self.arguments.clone();
        let mut rest = pictures.iter();
        for field in &self.fields {
            let own: Vec<&String> = rest.by_ref().take(field.most).collect();
            let value = match own.as_slice() {
                [] => continue,
                [one] if !field.list => Value::from(one.as_str()),
                several => several
                    .iter()
                    .map(|text| Value::from(text.as_str()))
                    .collect(),
            };
            input.insert(field.name.clone(), value);
        }
        input
    }

    /// Returns the arguments that take pictures.
    pub(super) fn picture_arguments(&self) -> impl Iterator<Item = &str> {
        self.fields.iter().map(|field| field.name.as_str())
    }

    /// Returns the models that an output names, the best first.
    pub(super) fn models(&self, root: &Value) -> Vec<Made> {
        files(&self.model, root)
    }

    /// Returns the previews that an output names.
    pub(super) fn previews(&self, root: &Value) -> Vec<Made> {
        files(&self.previews, root)
    }

    /// Returns what a number of billing units costs.
    pub(super) fn cost_of(&self, units: f64) -> Option<f64> {
        let listed = self.listed.as_ref().and_then(ListedPrice::unit_usd);
        let unit = listed.or_else(|| self.price_usd.map(|price| price / self.units));
        // To a billionth: prices are decimal.
        unit.map(|price| (price * units * 1e9).round() / 1e9)
    }
}

fn files(pointers: &[String], root: &Value) -> Vec<Made> {
    let mut found = Vec::new();
    for pointer in pointers {
        if pointer == ANY_MODEL {
            any_model(root, &mut found);
            continue;
        }
        let pointer = pointer.trim_end_matches("[]");
        let value = if pointer.is_empty() || pointer.starts_with('/') {
            root.pointer(pointer)
        } else {
            root.pointer(&format!("/{}", pointer.replace('.', "/")))
        };
        let mut own = Vec::new();
        collect(value.unwrap_or(&Value::Null), &mut own);
        // Of a list of files those come first that are called what is wanted.
        own.sort_by_key(|made| !made.is_glb);
        found.append(&mut own);
    }
    let mut seen = Vec::new();
    found.retain(|made: &Made| {
        let new = !seen.contains(&made.url);
        seen.push(made.url.clone());
        new
    });
    found
}

/// Lists what ends as a model does in an output of any shape, else its only address.
fn any_model(root: &Value, found: &mut Vec<Made>) {
    fn addresses(value: &Value, found: &mut Vec<Made>) {
        match value {
            Value::Object(map) => map.values().for_each(|value| addresses(value, found)),
            Value::Array(list) => list.iter().for_each(|value| addresses(value, found)),
            value => collect(value, found),
        }
    }
    let mut all = Vec::new();
    addresses(root, &mut all);
    if all.len() > 1 {
        all.retain(|made| made.is_glb);
    }
    found.append(&mut all);
}

/// Lists the addresses in `value`: a text, an object with an `url`, or a list of these.
fn collect(value: &Value, found: &mut Vec<Made>) {
    match value {
        Value::String(url) if url.starts_with("https://") || url.starts_with("http://") => {
            found.push(Made {
                url: url.clone(),
                size: None,
                is_glb: is_glb(url),
            });
        }
        Value::Array(list) => list.iter().for_each(|value| collect(value, found)),
        Value::Object(object) => {
            if let Some(url) = object.get("url").and_then(Value::as_str) {
                let named = |name| object.get(name).and_then(Value::as_str).is_some_and(is_glb);
                found.push(Made {
                    is_glb: is_glb(url) || named("file_name") || named("content_type"),
                    url: url.to_owned(),
                    size: object
                        .get("file_size")
                        .and_then(Value::as_u64)
                        .filter(|size| *size > 0),
                });
            }
        }
        _ => {}
    }
}

/// Tells whether an address, a name or a type is that of a GLB.
fn is_glb(text: &str) -> bool {
    let path = text.split(['?', '#']).next().unwrap_or_default();
    path.eq_ignore_ascii_case("model/gltf-binary") || path.to_ascii_lowercase().ends_with(".glb")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::adapter::http::fal::Fal;
    use crate::adapter::testing::entry;

    fn row(options: Value) -> Row {
        let fal = Fal::new(&|_| None);
        Row::new(&entry(Some("fal"), options), &fal)
    }

    fn texts(list: &[&str]) -> Vec<String> {
        list.iter().map(|text| (*text).to_owned()).collect()
    }

    #[test]
    fn pictures_go_to_their_arguments_in_order() {
        let tripo = row(json!({"images": ["front", "left?", "back?"]}));
        assert_eq!(tripo.pictures(5), Ok(3));
        assert_eq!(
            Value::Object(tripo.input(&texts(&["a", "b"]))),
            json!({"front": "a", "left": "b"})
        );
        let list = row(json!({"images": ["main", "more[]?"]}));
        assert_eq!(
            Value::Object(list.input(&texts(&["a", "b", "c"]))),
            json!({"main": "a", "more": ["b", "c"]})
        );
        assert_eq!(list.pictures(1), Ok(1));
        let usual = row(json!({}));
        assert_eq!(
            Value::Object(usual.input(&texts(&["a"]))),
            json!({"image_urls": ["a"]})
        );
    }

    #[test]
    fn too_few_pictures_are_named() {
        let hunyuan = row(json!({"images": ["front", "left", "back"]}));
        let reason = hunyuan.pictures(2).expect_err("too few");
        assert!(
            reason.contains("at least 3 pictures (front, left, back), and the job has 2"),
            "{reason}"
        );
        let list = row(json!({"images": ["image_urls[2-5]"]}));
        assert!(list.pictures(1).is_err());
        assert_eq!(list.pictures(9), Ok(5));
    }

    #[test]
    fn files_are_found_as_text_as_objects_and_deep_inside() {
        let row = row(json!({"model": ["model_urls.glb", "/output/0", "model_mesh"]}));
        let output = json!({
            "model_mesh": {"url": "https://c/m.glb", "file_size": 7},
            "model_urls": {"glb": {"url": "https://c/u.glb"}},
            "output": ["https://c/o.glb"],
        });
        let urls: Vec<String> = row
            .models(&output)
            .into_iter()
            .map(|made| made.url)
            .collect();
        assert_eq!(
            urls,
            ["https://c/u.glb", "https://c/o.glb", "https://c/m.glb"]
        );
        assert_eq!(row.models(&output)[2].size, Some(7));
    }
}
