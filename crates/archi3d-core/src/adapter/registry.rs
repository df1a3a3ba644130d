//! From an entry of `adapters.yaml` to the code that carries it out.
//!
//! A new kind is one entry in `domain::kind` and one arm in [`build`]. What is
//! wrong with an entry is an error of the jobs that need it, not of the program.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use crate::adapter::endpoint::Endpoint;
use crate::adapter::http::Http;
use crate::adapter::mock::Mock;
use crate::adapter::process::Process;
use crate::adapter::relief::Relief;
use crate::adapter::simulate::Simulate;
use crate::adapter::{Adapter, AdapterError, Variables};
use crate::domain::algo::AlgoSettings;
use crate::domain::id::AlgoKey;
use crate::domain::kind::{self, Kind};
use crate::domain::nearest::suggestion;
use crate::domain::service;

/// Why an entry cannot be carried out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BuildError {
    /// There is no such kind.
    #[error("algo {algo} has the unknown kind `{kind}`{hint}; the kinds are: {known}")]
    UnknownKind {
        /// The algorithm.
        algo: AlgoKey,
        /// What its entry says.
        kind: String,
        /// The kind that was probably meant, as a remark.
        hint: String,
        /// All kinds.
        known: String,
    },
    /// The kind exists, but this build cannot carry it out.
    #[error("algo {algo}: kind {kind} is not available in this version; `--dry-run` rehearses it")]
    Unavailable {
        /// The algorithm.
        algo: AlgoKey,
        /// Its kind.
        kind: &'static str,
    },
    /// The kind has no such option.
    #[error("algo {algo}: {owner} has no option `{option}`{hint}")]
    UnknownOption {
        /// The algorithm.
        algo: AlgoKey,
        /// Whose options were looked at.
        owner: String,
        /// What its entry says.
        option: String,
        /// The option that was probably meant, as a remark.
        hint: String,
    },
    /// There is no program to run.
    #[error("algo {algo}: kind process needs `command: [...]`, the program and its arguments")]
    NoCommand {
        /// The algorithm.
        algo: AlgoKey,
    },
    /// A service does not know which of its models is meant.
    #[error("algo {algo}: kind {kind} needs `endpoint: …`, the name of the model there")]
    NoEndpoint {
        /// The algorithm.
        algo: AlgoKey,
        /// Its kind.
        kind: &'static str,
    },
    /// The option has a value it cannot have.
    #[error("algo {algo}: option `{option}` is {found}; it must be {wanted}")]
    WrongOption {
        /// The algorithm.
        algo: AlgoKey,
        /// The option.
        option: String,
        /// What its entry says, shortened.
        found: String,
        /// What it must be.
        wanted: &'static str,
    },
}

impl From<BuildError> for AdapterError {
    fn from(error: BuildError) -> Self {
        Self::permanent(error.to_string())
    }
}

/// Builds what carries `settings` out, or with `rehearsal` what pretends to, in
/// that time per job. A rehearsal refuses the same mistakes in the entry. `env`
/// looks up the variables that a program may see.
pub fn build(
    settings: &AlgoSettings,
    rehearsal: Option<Duration>,
    env: &Arc<dyn Variables>,
) -> Result<Box<dyn Adapter>, BuildError> {
    let kind = kind_of(settings)?;
    check_options(settings, kind)?;
    check_command(settings, kind)?;
    if let Some(duration) = rehearsal {
        return Ok(Box::new(Simulate::new(duration)));
    }
    let Some(kind) = kind else {
        return Ok(Box::new(Endpoint::new(settings)));
    };
    match kind.name {
        "simulate" => Ok(Box::new(Simulate::new(simulate_duration(settings)))),
        "mock" => Ok(Box::new(Mock::new(settings))),
        "process" => Ok(Box::new(Process::new(settings, Arc::clone(env)))),
        "relief" => Ok(Box::new(Relief::new(settings))),
        name => match Http::new(settings, Arc::clone(env)) {
            Some(http) => Ok(Box::new(http)),
            None => Err(BuildError::Unavailable {
                algo: settings.key.clone(),
                kind: name,
            }),
        },
    }
}

fn simulate_duration(settings: &AlgoSettings) -> Duration {
    let millis = settings.options.get("simulate_ms").and_then(Value::as_u64);
    Duration::from_millis(millis.unwrap_or_default())
}

fn kind_of(settings: &AlgoSettings) -> Result<Option<&'static Kind>, BuildError> {
    let Some(name) = &settings.kind else {
        return Ok(None);
    };
    let known = || kind::KINDS.iter().map(|kind| kind.name);
    match kind::find(name) {
        Some(kind) => Ok(Some(kind)),
        None => Err(BuildError::UnknownKind {
            algo: settings.key.clone(),
            kind: name.clone(),
            hint: suggestion(name, known()),
            known: known().collect::<Vec<_>>().join(", "),
        }),
    }
}

fn check_options(settings: &AlgoSettings, kind: Option<&'static Kind>) -> Result<(), BuildError> {
    for (name, value) in &settings.options {
        let Some(option) = kind::options_of(kind).find(|option| option.name == name) else {
            return Err(BuildError::UnknownOption {
                algo: settings.key.clone(),
                owner: kind.map_or_else(
                    || "an entry without a kind".to_owned(),
                    |kind| format!("kind {}", kind.name),
                ),
                option: name.clone(),
                hint: suggestion(name, kind::options_of(kind).map(|option| option.name)),
            });
        };
        if !option.value.accepts(value) {
            return Err(BuildError::WrongOption {
                algo: settings.key.clone(),
                option: name.clone(),
                found: shown(name, value),
                wanted: option.value.wanted(),
            });
        }
    }
    Ok(())
}

fn check_command(settings: &AlgoSettings, kind: Option<&'static Kind>) -> Result<(), BuildError> {
    let needs_one = kind.is_some_and(|kind| kind.name == "process");
    if needs_one && !settings.options.contains_key("command") {
        return Err(BuildError::NoCommand {
            algo: settings.key.clone(),
        });
    }
    let without = settings
        .endpoint
        .as_deref()
        .is_none_or(|name| name.trim().is_empty());
    match kind.filter(|kind| service::find(kind.name).is_some() && without) {
        Some(kind) => Err(BuildError::NoEndpoint {
            algo: settings.key.clone(),
            kind: kind.name,
        }),
        None => Ok(()),
    }
}

/// Shows a value, but never one that may hold a secret.
fn shown(name: &str, value: &Value) -> String {
    match value {
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "a map".to_owned(),
        Value::String(_) if name == "env" => "text".to_owned(),
        value => value.to_string().chars().take(80).collect(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::adapter::testing::{Bench, entry};

    fn nothing() -> Arc<dyn Variables> {
        Arc::new(|_: &str| None)
    }

    fn refusal(kind: Option<&str>, options: Value) -> String {
        match build(&entry(kind, options), None, &nothing()) {
            Ok(_) => panic!("the entry was accepted"),
            Err(error) => error.to_string(),
        }
    }

    fn version(settings: &AlgoSettings, rehearsal: Option<Duration>) -> Option<String> {
        let adapter = build(settings, rehearsal, &nothing()).expect("built");
        let result = Bench::new().run(adapter.as_ref(), 1).expect("made");
        result.algo_version
    }

    #[test]
    fn the_kind_chooses_the_adapter() {
        let mock = entry(Some("mock"), json!({"sleep_ms": 0}));
        assert_eq!(version(&mock, None).as_deref(), Some("mock-1"));
        let simulate = entry(Some("simulate"), json!({"simulate_ms": 0}));
        assert_eq!(version(&simulate, None).as_deref(), Some("dry-run"));
    }

    #[test]
    fn a_rehearsal_replaces_every_kind() {
        for settings in [
            entry(Some("mock"), json!({"fail_first": 9})),
            entry(Some("process"), json!({"command": ["make-model"]})),
            entry(None, json!({})),
        ] {
            let rehearsed = version(&settings, Some(Duration::ZERO));
            assert_eq!(rehearsed.as_deref(), Some("dry-run"));
        }
    }

    #[test]
    fn an_unknown_kind_is_refused_with_the_known_ones() {
        assert_eq!(
            refusal(Some("mok"), json!({})),
            "algo chairs_multi has the unknown kind `mok` (did you mean `mock`?); \
             the kinds are: simulate, mock, relief, process, fal, tripo, meshy, replicate"
        );
    }

    #[test]
    fn an_unknown_option_is_refused_with_the_nearest_one() {
        assert_eq!(
            refusal(Some("mock"), json!({"sleep": 5})),
            "algo chairs_multi: kind mock has no option `sleep` (did you mean `sleep_ms`?)"
        );
        assert_eq!(
            refusal(None, json!({"zebra": 5})),
            "algo chairs_multi: an entry without a kind has no option `zebra`"
        );
    }

    #[test]
    fn a_value_of_the_wrong_type_is_refused_with_what_is_wanted() {
        assert_eq!(
            refusal(Some("mock"), json!({"sleep_ms": "fast"})),
            "algo chairs_multi: option `sleep_ms` is \"fast\"; it must be a whole number, 0 or more"
        );
        assert_eq!(
            refusal(Some("mock"), json!({"fail_rate": 1.5})),
            "algo chairs_multi: option `fail_rate` is 1.5; it must be a number from 0 to 1"
        );
    }

    #[test]
    fn a_program_takes_every_option_and_needs_a_command() {
        let every_option = json!({
            "command": ["make-model", "--fast"], "env": ["FAL_KEY"], "timeout_s": 480,
            "stall_s": 60, "retries": 2, "provider": "fal", "on_interrupt": "ask",
        });
        assert!(build(&entry(Some("process"), every_option), None, &nothing()).is_ok());
        assert_eq!(
            refusal(Some("process"), json!({"env": ["FAL_KEY"]})),
            "algo chairs_multi: kind process needs `command: [...]`, the program and its arguments"
        );
        assert_eq!(
            refusal(
                Some("process"),
                json!({"command": ["x"], "env": {"FAL_KEY": "s3cret"}})
            ),
            "algo chairs_multi: option `env` is a map; it must be a list of names of variables, \
             such as [FAL_KEY]"
        );
    }
}
