//! `global.yaml`: what holds for the whole workspace.

use serde_json::Value;

use crate::config::error::ConfigError;
use crate::config::layer::Layers;
use crate::config::schema::{self, GLOBAL};
use crate::config::yaml::Document;
use crate::domain::id::AlgoKey;

/// The settings of a workspace; a value that is not set is `None`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct GlobalSettings {
    /// The algorithms of the benchmark; the first is the default.
    pub algorithms: Vec<AlgoKey>,
    /// How many points the F-score samples.
    pub fscore_n_points: Option<u64>,
    /// How long one F-score may take, in seconds.
    pub fscore_timeout_s: Option<f64>,
    /// The most that one run may spend.
    pub budget_run_usd: Option<f64>,
    /// The most that all runs together may spend in one day, in UTC.
    pub budget_day_usd: Option<f64>,
    /// Where runs live that many machines work on: the URL of a PostgreSQL database.
    pub store: Option<String>,
    /// Where pictures and results of such runs lie, such as `s3://bucket/prefix`; nothing means in the workspace.
    pub artifacts: Option<String>,
    /// Who is told of what happens.
    pub notify: NotifySettings,
    /// What is expected to cost more is confirmed by a person first.
    pub confirm_above_usd: Option<f64>,
}

/// Who is told of what happens; without a command and a webhook nobody is.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NotifySettings {
    /// A program and its arguments, which gets the event on its standard input.
    pub command: Vec<String>,
    /// An address that the event is sent to.
    pub webhook: Option<String>,
    /// The variable that has the secret with which that is signed.
    pub secret_env: Option<String>,
    /// Which events; empty means all.
    pub events: Vec<String>,
    /// How long either may take, in seconds.
    pub timeout_s: Option<f64>,
}

/// Lays `documents` over each other.
pub(super) fn lay(documents: &[Document]) -> Result<Layers, ConfigError> {
    let mut layers = Layers::default();
    for document in documents {
        schema::check_document(document, GLOBAL)?;
        let notify = document.root.get("notify");
        let is_set = |key: &str| notify.is_some_and(|notify| !notify[key].is_null());
        if is_set("webhook") && !is_set("secret_env") {
            let said = "`notify.webhook` is signed: name the variable that has the secret with \
                        `notify.secret_env`";
            return Err(document.fault(&["notify", "webhook"], said.to_owned()));
        }
        layers.lay(&document.root, &document.origin);
    }
    Ok(layers)
}

/// Settings that existing workspaces have for other tools, and that nothing here reads: accepted, and said to have no effect.
const UNREAD: [&[&str]; 4] = [
    &["thresholds"],
    &["metrics", "vfscore"],
    &["tools"],
    &["batch", "single_image_policy"],
];

/// Says which settings of a file have no effect on this program.
pub(super) fn unread(document: &Document) -> Vec<String> {
    let is_set = |keys: &&&[&str]| {
        let first = document.root.get(keys[0]);
        let value = keys[1..]
            .iter()
            .try_fold(first?, |value, key| value.get(key));
        value.filter(|value| !value.is_null()).map(|_| ())
    };
    let set = UNREAD.iter().filter(|keys| is_set(keys).is_some());
    set.map(|keys| {
        let name = keys.join(".");
        let message = format!("`{name}` is not used by archi3d; it has no effect here");
        document.fault(keys, message).to_string()
    })
    .collect()
}

/// Reads the effective values.
pub(super) fn read(layers: &Layers) -> GlobalSettings {
    let number = |keys: &[&str]| layers.get(keys).and_then(Value::as_f64);
    let count = |keys: &[&str]| layers.get(keys).and_then(Value::as_u64);
    let text = |keys: &[&str]| layers.get(keys).and_then(Value::as_str).map(str::to_owned);
    let words = |keys: &[&str]| {
        let list = layers.get(keys).and_then(Value::as_array).into_iter();
        let words = list.flatten().filter_map(Value::as_str);
        words.map(str::to_owned).collect()
    };
    let algorithms = layers.get(&["algorithms"]).and_then(Value::as_array);
    GlobalSettings {
        algorithms: algorithms
            .into_iter()
            .flatten()
            .filter_map(|key| AlgoKey::parse(key.as_str()?).ok())
            .collect(),
        fscore_n_points: count(&["metrics", "fscore", "default_n_points"]),
        fscore_timeout_s: number(&["metrics", "fscore", "default_timeout_s"]),
        budget_run_usd: number(&["budget", "run_usd"]),
        budget_day_usd: number(&["budget", "day_usd"]),
        store: text(&["store"]),
        artifacts: text(&["artifacts"]),
        notify: NotifySettings {
            command: words(&["notify", "command"]),
            webhook: text(&["notify", "webhook"]),
            secret_env: text(&["notify", "secret_env"]),
            events: words(&["notify", "events"]),
            timeout_s: number(&["notify", "timeout_s"]),
        },
        confirm_above_usd: number(&["confirm_above_usd"]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::SHIPPED_GLOBAL;

    fn shipped() -> Document {
        Document::shipped("shipped.yaml", SHIPPED_GLOBAL).expect("YAML")
    }

    #[test]
    fn the_shipped_file_has_what_every_workspace_needs() {
        let settings = read(&lay(&[shipped()]).expect("valid"));
        assert_eq!(settings.algorithms.len(), 10);
        assert!(settings.fscore_n_points.is_some() && settings.fscore_timeout_s.is_some());
    }

    #[test]
    fn a_workspace_file_changes_single_values() {
        let own = "algorithms: [mock]\nmetrics: {fscore: {default_n_points: 7}}\n";
        let own = Document::shipped("own.yaml", own).expect("YAML");
        let settings = read(&lay(&[shipped(), own]).expect("valid"));
        let before = read(&lay(&[shipped()]).expect("valid"));
        assert_eq!(settings.algorithms.len(), 1);
        assert_eq!(settings.fscore_n_points, Some(7));
        assert_eq!(settings.fscore_timeout_s, before.fscore_timeout_s);
    }
}
