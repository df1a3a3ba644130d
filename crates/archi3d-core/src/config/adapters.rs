//! `adapters.yaml`: what is configured for every algorithm.
//!
//! The shipped file first, the workspace's own over it, key by key. Files of
//! existing workspaces are accepted as they are.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::config::error::ConfigError;
use crate::config::layer::Layers;
use crate::config::origin::Origin;
use crate::config::prices::Prices;
use crate::config::schema::{self, ADAPTER_KEYS};
use crate::config::yaml::Document;
use crate::domain::algo::{AlgoSettings, ImageMode};
use crate::domain::id::AlgoKey;
use crate::domain::kind;
use crate::domain::nearest::suggestion;

/// The key everything else stands under.
const ROOT: &str = "adapters";

/// Lays `documents` over each other and reads every algorithm, in file order.
/// Listed prices lie between the shipped ones and those of a workspace.
pub(super) fn load(
    documents: &[Document],
    prices: &Prices,
) -> Result<(Vec<AlgoSettings>, Layers), ConfigError> {
    let mut layers = Layers::default();
    for document in documents {
        for (key, entry) in checked_entries(document, ROOT)? {
            drop_options_of_another_kind(&mut layers, key, entry);
        }
        layers.lay(&document.root, &document.origin);
    }
    for document in documents {
        check_options(document, &layers)?;
    }
    let mut algos: Vec<AlgoSettings> = match layers.get(&[ROOT]).and_then(Value::as_object) {
        Some(entries) => entries.iter().filter_map(read_entry).collect(),
        None => Vec::new(),
    };
    for algo in &mut algos {
        take_listed_price(algo, &mut layers, prices);
    }
    Ok((algos, layers))
}

/// Returns the entries of one file after checking everything but the kinds' options.
pub(super) fn checked_entries<'d>(
    document: &'d Document,
    root: &str,
) -> Result<Vec<(&'d str, &'d Value)>, ConfigError> {
    if let Some((key, entry)) = document.root.iter().find(|(key, _)| *key != root) {
        if entry.is_object() && suggestion(key, [root]).is_empty() {
            let said = format!("unknown key `{key}`; entries belong under `{root}:`, indented");
            return Err(document.fault(&[key], said));
        }
        return Err(schema::unknown_key(document, &[key], [root]));
    }
    let Some(all) = document.root.get(root) else {
        return Ok(Vec::new());
    };
    schema::check_value(document, &[root], all, schema::Shape::AnyMap)?;
    let entries = entries_of(document, root);
    for (key, entry) in &entries {
        let path = [root, key];
        if let Err(error) = AlgoKey::parse(key) {
            return Err(document.fault(&path, error.to_string()));
        }
        schema::check_value(document, &path, entry, schema::Shape::AnyMap)?;
        for (name, shape) in ADAPTER_KEYS {
            if let Some(value) = entry.get(name) {
                schema::check_value(document, &[root, key, name], value, *shape)?;
            }
        }
    }
    Ok(entries)
}

fn entries_of<'d>(document: &'d Document, root: &str) -> Vec<(&'d str, &'d Value)> {
    let root = document.root.get(root).and_then(Value::as_object);
    root.into_iter()
        .flatten()
        .map(|(key, entry)| (key.as_str(), entry))
        .collect()
}

/// Options belong to their kind: a file that gives an algorithm another kind
/// does not inherit the options of the old one.
fn drop_options_of_another_kind(layers: &mut Layers, key: &str, entry: &Value) {
    let Some(new) = entry.get("kind").filter(|kind| !kind.is_null()) else {
        return;
    };
    if layers
        .get(&[ROOT, key, "kind"])
        .is_none_or(|old| old == new)
    {
        return;
    }
    if let Some(old) = layers.map_mut(&[ROOT, key]) {
        old.retain(|name, _| is_common(name));
    }
}

fn is_common(name: &str) -> bool {
    ADAPTER_KEYS.iter().any(|(known, _)| *known == name)
}

/// Refuses keys that the effective kind does not have, and values that they cannot
/// have. What a kind that does not exist could have is nobody's to say: its jobs are
/// left alone with the list of kinds.
fn check_options(document: &Document, layers: &Layers) -> Result<(), ConfigError> {
    for (key, entry) in entries_of(document, ROOT) {
        let name = layers.get(&[ROOT, key, "kind"]).and_then(Value::as_str);
        let kind = name.and_then(kind::find);
        if name.is_some() && kind.is_none() {
            continue;
        }
        for (name, value) in entry.as_object().into_iter().flatten() {
            let path = [ROOT, key, name];
            let dropped = layers.get(&path).is_none();
            if dropped || is_common(name) {
                continue;
            }
            let mut options = kind::options_of(kind);
            let Some(option) = options.find(|option| option.name == name) else {
                let options = kind::options_of(kind).map(|option| option.name);
                let known = ADAPTER_KEYS.iter().map(|(name, _)| *name).chain(options);
                return Err(schema::unknown_key(document, &path, known));
            };
            if !option.value.accepts(value) {
                let (name, wanted) = (path.join("."), option.value.wanted());
                return Err(document.fault(&path, format!("`{name}` must be {wanted}")));
            }
        }
    }
    Ok(())
}

pub(super) fn read_entry((key, entry): (&String, &Value)) -> Option<AlgoSettings> {
    let text = |name: &str| entry.get(name).and_then(Value::as_str).map(str::to_owned);
    let options: BTreeMap<String, Value> = entry
        .as_object()
        .into_iter()
        .flatten()
        .filter(|(name, value)| !is_common(name) && !value.is_null())
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    Some(AlgoSettings {
        key: AlgoKey::parse(key).ok()?,
        kind: text("kind"),
        image_mode: image_mode(key, text("image_mode").as_deref()),
        endpoint: text("endpoint"),
        unit_price_usd: entry.get("unit_price_usd").and_then(Value::as_f64),
        price_source: text("price_source"),
        listed_price: None,
        defaults: entry
            .get("defaults")
            .and_then(Value::as_object)
            .cloned()
            .unwrap_or_default(),
        options,
    })
}

/// Puts the service's own price in the place of the shipped one. A price that a
/// workspace's file has stays.
fn take_listed_price(algo: &mut AlgoSettings, layers: &mut Layers, prices: &Prices) {
    let key = algo.key.to_string();
    let path = [ROOT, key.as_str(), "unit_price_usd"];
    let is_own = layers.get(&path).is_some() && layers.origin(&path) != Some(&Origin::Shipped);
    let Some(listed) = prices.of(algo).filter(|_| !is_own) else {
        return;
    };
    if listed.unit_usd().is_none() {
        return;
    }
    algo.listed_price = Some(listed.clone());
    let Some(usd) = listed.generation_usd(algo.units()) else {
        return;
    };
    let source = listed.source_of_day();
    let origin = Origin::File(prices.path.clone());
    layers.set(&path, usd.into(), &origin);
    let path = [ROOT, key.as_str(), "price_source"];
    layers.set(&path, source.as_str().into(), &origin);
    algo.unit_price_usd = Some(usd);
    algo.price_source = Some(source);
}

fn image_mode(key: &str, word: Option<&str>) -> ImageMode {
    match word {
        Some("multi") => ImageMode::Multi,
        None if key.ends_with("_multi") => ImageMode::Multi,
        Some(_) | None => ImageMode::Single,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::config::SHIPPED_ADAPTERS;

    fn shipped() -> Document {
        Document::shipped("shipped.yaml", SHIPPED_ADAPTERS).expect("YAML")
    }

    fn with(text: &str) -> Result<Vec<AlgoSettings>, String> {
        let own = Document::shipped("own.yaml", text).map_err(|error| error.to_string())?;
        load(&[shipped(), own], &Prices::default())
            .map(|(algos, _)| algos)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn an_option_that_cannot_be_is_refused_with_its_line() {
        for (limit, wanted) in [
            ("timeout_s: 0", "a number of seconds, from 0.001 to a year"),
            (
                "timeout_s: 1e300",
                "a number of seconds, from 0.001 to a year",
            ),
            ("retries: -1", "a whole number, 0 or more"),
            (
                "provider: a/b",
                "a name without slashes, such as fal, or left out",
            ),
            ("on_interrupt: never", "rerun or ask"),
            (
                "command: []",
                "a list of texts, such as [\"python\", \"make.py\"]",
            ),
            ("max_parallel: 0", "a whole number, 1 or more"),
            ("rate_per_min: -3", "a number above 0"),
            ("breaker_failures: often", "a whole number, 0 or more"),
        ] {
            let name = limit.split(':').next().expect("a name");
            let text = format!("adapters:\n  mine:\n    kind: process\n    {limit}\n");
            assert_eq!(
                with(&text).expect_err("refused"),
                format!("own.yaml:4: `adapters.mine.{name}` must be {wanted}")
            );
        }
        let good = "{kind: mock, max_parallel: 2, rate_per_min: 0.5, breaker_failures: 0}";
        assert!(with(&format!("adapters:\n  mine: {good}\n")).is_ok());
    }

    fn algo(algos: &[AlgoSettings], key: &str) -> AlgoSettings {
        let found = algos.iter().find(|algo| algo.key.as_str() == key);
        found.expect(key).clone()
    }

    #[test]
    fn the_shipped_file_lists_the_known_algorithms_with_mode_price_and_endpoint() {
        use ImageMode::{Multi, Single};
        let (algos, _) = load(&[shipped()], &Prices::default()).expect("valid");
        for (key, mode, price, endpoint) in [
            (
                "trellis_multi_stochastic",
                Multi,
                0.02,
                "fal-ai/trellis/multi",
            ),
            (
                "trellis_multi_multidiffusion",
                Multi,
                0.02,
                "fal-ai/trellis/multi",
            ),
            (
                "tripo3d_v2p5_multi",
                Multi,
                0.40,
                "tripo3d/tripo/v2.5/multiview-to-3d",
            ),
            ("rodin_multi", Multi, 0.40, "fal-ai/hyper3d/rodin"),
            (
                "hunyuan3d_v2_multi",
                Multi,
                0.051,
                "fal-ai/hunyuan3d/v2/multi-view",
            ),
            ("trellis_single", Single, 0.02, "fal-ai/trellis"),
            (
                "tripo3d_v2p5_single",
                Single,
                0.40,
                "tripo3d/tripo/v2.5/image-to-3d",
            ),
            ("tripoSR_single", Single, 0.07, "fal-ai/triposr"),
            ("hunyuan3d_v2_single", Single, 0.48, "fal-ai/hunyuan3d/v2"),
            (
                "hunyuan3d_v2p1_single",
                Single,
                0.90,
                "fal-ai/hunyuan3d-v21",
            ),
        ] {
            let algo = algo(&algos, key);
            assert_eq!(algo.image_mode, mode, "{key}");
            assert_eq!(algo.unit_price_usd, Some(price), "{key}");
            assert_eq!(algo.endpoint.as_deref(), Some(endpoint), "{key}");
            assert_eq!(algo.price_source.as_deref(), Some("static_table"), "{key}");
            assert_eq!(algo.kind.as_deref(), Some("fal"), "{key}");
        }
        let defaults = |key: &str| Value::Object(algo(&algos, key).defaults);
        assert_eq!(
            defaults("trellis_multi_stochastic"),
            json!({"multiimage_algo": "stochastic", "texture_size": 2048})
        );
        assert_eq!(
            defaults("trellis_multi_multidiffusion"),
            json!({"multiimage_algo": "multidiffusion", "texture_size": 2048})
        );
        for key in ["tripo3d_v2p5_multi", "tripo3d_v2p5_single"] {
            assert_eq!(
                defaults(key),
                json!({"pbr": true, "texture": "HD"}),
                "{key}"
            );
        }
        assert_eq!(
            defaults("rodin_multi"),
            json!({"condition_mode": "concat", "material": "PBR", "quality": "high", "use_hyper": true})
        );
        for key in [
            "hunyuan3d_v2_multi",
            "hunyuan3d_v2_single",
            "hunyuan3d_v2p1_single",
        ] {
            assert_eq!(defaults(key), json!({"textured_mesh": true}), "{key}");
        }
        assert_eq!(defaults("trellis_single"), json!({"texture_size": 2048}));
        assert_eq!(defaults("tripoSR_single"), json!({}));
        let old = algo(&algos, "hunyuan3d_v2p1_single");
        assert!(old.options.contains_key("deprecated"));
        // Its `model_mesh` is a ZIP.
        assert_eq!(old.options["model"], json!(["model_glb_pbr", "model_glb"]));
        let mock = algo(&algos, "mock");
        assert_eq!(mock.kind.as_deref(), Some("mock"));
        assert_eq!((mock.image_mode, mock.unit_price_usd), (Multi, Some(0.0)));
        for key in ["relief", "relief_flat"] {
            let relief = algo(&algos, key);
            assert_eq!(relief.kind.as_deref(), Some("relief"), "{key}");
            assert_eq!(relief.image_mode, Single, "{key}");
            assert_eq!(relief.unit_price_usd, Some(0.0), "{key}");
            assert_eq!(relief.price_source.as_deref(), Some("builtin"), "{key}");
        }
        let shipped = algos.len();
        assert!(shipped > 13, "{shipped}");
    }

    #[test]
    fn a_workspace_file_changes_single_keys_and_adds_algorithms() {
        let algos = with(
            "adapters:\n  trellis_single:\n    unit_price_usd: 0.03\n    defaults: {seed: 1}\n  \
             mock:\n    sleep_ms: 5\n  chairs_multi:\n    kind: mock\n",
        )
        .expect("valid");
        let trellis = algo(&algos, "trellis_single");
        assert_eq!(trellis.unit_price_usd, Some(0.03));
        assert_eq!(trellis.endpoint.as_deref(), Some("fal-ai/trellis"));
        assert_eq!(trellis.defaults.get("seed"), Some(&json!(1)));
        assert_eq!(algo(&algos, "mock").options["sleep_ms"], json!(5));
        let chairs = algo(&algos, "chairs_multi");
        assert_eq!(chairs.image_mode, ImageMode::Multi);
        assert_eq!(chairs.unit_price_usd, None);
        let (of_shipped, _) = load(&[shipped()], &Prices::default()).expect("valid");
        assert_eq!(algos.len(), of_shipped.len() + 1);
    }

    #[test]
    fn defaults_are_laid_over_each_other_key_by_key() {
        let document = |text| Document::shipped("x.yaml", text).expect("YAML");
        let lower = document("adapters: {a: {defaults: {x: 1, y: {p: 1}}}}");
        let upper = document("adapters: {a: {defaults: {z: 3, y: {q: 2}}}}");
        let (algos, _) = load(&[lower, upper], &Prices::default()).expect("valid");
        let defaults = Value::Object(algos[0].defaults.clone());
        assert_eq!(defaults, json!({"x": 1, "y": {"p": 1, "q": 2}, "z": 3}));
    }

    #[test]
    fn files_of_existing_workspaces_are_accepted_as_they_are() {
        let dir = tempfile::tempdir().expect("dir");
        let path = dir.path().join("adapters.yaml");
        let lines = [
            "\u{feff}adapters:",
            "  rodin_multi:",
            "    endpoint: \"fal-ai/hyper3d/rodin\"",
            "    image_mode: multi",
            "    unit_price_usd: 0.40",
            "    price_source: static_table",
            "    defaults:",
            "      quality: high",
            "      addons: []",
            "  plain:",
            "    endpoint: x",
            "",
        ];
        std::fs::write(&path, lines.join("\r\n")).expect("written");
        let own = Document::read(&path).expect("read").expect("there");
        let (algos, _) = load(&[shipped(), own], &Prices::default()).expect("valid");
        assert_eq!(algo(&algos, "rodin_multi").defaults["quality"], "high");
        assert_eq!(algo(&algos, "plain").image_mode, ImageMode::Single);
    }

    #[test]
    fn an_unknown_key_is_refused_with_file_line_and_nearest_name() {
        assert_eq!(
            with("adapters:\n  a:\n    endpoint: x\n    image_mod: multi\n").expect_err("unknown"),
            "own.yaml:4: unknown key `adapters.a.image_mod` (did you mean `image_mode`?)"
        );
        assert_eq!(
            with("adapters:\n  mock:\n    slep_ms: 3\n").expect_err("unknown"),
            "own.yaml:3: unknown key `adapters.mock.slep_ms` (did you mean `sleep_ms`?)"
        );
        assert_eq!(
            with("adaptors:\n  a: {}\n").expect_err("unknown"),
            "own.yaml:1: unknown key `adaptors` (did you mean `adapters`?)"
        );
    }

    #[test]
    fn a_price_that_is_no_amount_is_refused_with_its_line() {
        for price in ["-0.1", "free", "'0.2'", ".nan", ".inf", "[1]", "true"] {
            let text = format!("adapters:\n  a:\n    unit_price_usd: {price}\n");
            let message = with(&text).expect_err(price);
            assert!(message.starts_with("own.yaml:3: "), "{message}");
        }
        let algos = with("adapters:\n  trellis_single:\n    unit_price_usd:\n").expect("valid");
        assert_eq!(algo(&algos, "trellis_single").unit_price_usd, None);
    }

    #[test]
    fn other_wrong_values_are_refused_with_their_line() {
        for (text, wanted) in [
            ("adapters:\n  a: {image_mode: dual}\n", "single or multi"),
            ("adapters:\n  a: 3\n", "a map"),
            ("adapters:\n  ../a: {}\n", "not allowed in a name"),
            ("adapters:\n  a: {defaults: 3}\n", "a map"),
        ] {
            let message = with(text).expect_err(text);
            assert!(message.starts_with("own.yaml:2: "), "{message}");
            assert!(message.contains(wanted), "{message}");
        }
        assert!(with("adapters: [a]\n").is_err());
    }

    #[test]
    fn options_are_dropped_with_the_kind_they_belong_to() {
        let document = |text| Document::shipped("x.yaml", text).expect("YAML");
        let lower = document("adapters: {a: {kind: mock, sleep_ms: 5, unit_price_usd: 1}}");
        let upper = document("adapters: {a: {kind: process, command: [run]}}");
        let (algos, _) = load(&[lower, upper], &Prices::default()).expect("valid");
        assert_eq!(algos[0].options.keys().collect::<Vec<_>>(), ["command"]);
        assert_eq!(algos[0].unit_price_usd, Some(1.0));
    }

    #[test]
    fn a_kind_that_does_not_exist_is_left_to_the_jobs_that_need_it() {
        let algos = with("adapters: {a: {kind: mok, sleep_ms: 5}}").expect("valid");
        assert_eq!(algo(&algos, "a").kind.as_deref(), Some("mok"));
    }
}
