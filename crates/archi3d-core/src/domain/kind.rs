//! The kinds an entry of `adapters.yaml` can have, with the options of each.
//!
//! One table for both sides: `config` refuses keys that are not in it, with
//! file and line, and `adapter` checks values against it before it builds.

use serde_json::{Map, Value};

use crate::domain::id::AlgoKey;
use crate::domain::retry::{ErrorClass, OnInterrupt};
use crate::domain::service::{self, ImageField};

/// What carries an algorithm out.
#[derive(Debug, PartialEq, Eq)]
pub struct Kind {
    /// The word after `kind:`.
    pub name: &'static str,
    /// What it does, in one line.
    pub summary: &'static str,
    /// Its own options, beside the ones every entry has.
    pub options: &'static [KindOption],
}

/// One option of a kind.
#[derive(Debug, PartialEq, Eq)]
pub struct KindOption {
    /// Its key.
    pub name: &'static str,
    /// What its value must be.
    pub value: OptionType,
}

/// What an option's value must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OptionType {
    /// `true` or `false`.
    Flag,
    /// A whole number from 0.
    Count,
    /// A whole number from 1.
    Natural,
    /// A whole number from 0, or `true` or `false`.
    CountOrFlag,
    /// A whole number from 8 to 512.
    GridSize,
    /// A number from 0 to 1.
    Fraction,
    /// A number above 0.
    Positive,
    /// A number of seconds that a clock can measure.
    Seconds,
    /// Text.
    Text,
    /// A name as algorithms have one.
    Key,
    /// What becomes of a job that is interrupted.
    OnInterrupt,
    /// The word of a class of failures.
    Class,
    /// A list of texts with at least one.
    Texts,
    /// A list of names of variables; may be empty.
    Names,
    /// A list of texts; may be empty.
    Pointers,
    /// A list of arguments that take pictures.
    Images,
    /// A number above 0, or a map of such numbers.
    Units,
    /// A version of the adapter protocol.
    Protocol,
}

const fn option(name: &'static str, value: OptionType) -> KindOption {
    KindOption { name, value }
}

/// The options every kind has.
pub const SHARED_OPTIONS: &[KindOption] = &[
    option("timeout_s", OptionType::Seconds),
    option("retries", OptionType::Count),
    option("provider", OptionType::Key),
    option("on_interrupt", OptionType::OnInterrupt),
    option(MAX_PARALLEL, OptionType::Natural),
    option(RATE_PER_MIN, OptionType::Positive),
    option(BREAKER_FAILURES, OptionType::Count),
];

/// How many jobs of the provider run at once.
pub const MAX_PARALLEL: &str = "max_parallel";

/// How many jobs of the provider start in a minute.
pub const RATE_PER_MIN: &str = "rate_per_min";

/// After how many failures in a row the algorithm pauses.
pub const BREAKER_FAILURES: &str = "breaker_failures";

/// The longest time that can be asked for.
const MAX_SECONDS: f64 = 365.0 * 86_400.0;

/// Every kind.
pub const KINDS: &[Kind] = &[
    Kind {
        name: "simulate",
        summary: "writes a small valid model and two previews, as a dry run does",
        options: &[option("simulate_ms", OptionType::Count)],
    },
    Kind {
        name: "mock",
        summary: "sleeps, fails and crashes on demand; for rehearsals and tests",
        options: &[
            option("sleep_ms", OptionType::Count),
            option("fail_first", OptionType::Count),
            option("fail_rate", OptionType::Fraction),
            option("seed", OptionType::Count),
            option("panic", OptionType::Flag),
            option("empty_output", OptionType::Flag),
            option("files", OptionType::Flag),
            option("large_error", OptionType::CountOrFlag),
            option("fail", OptionType::Text),
            option("fail_class", OptionType::Class),
            option("retry_after_s", OptionType::Positive),
            option("submit", OptionType::Flag),
            option("intent", OptionType::Flag),
            option("wait_file", OptionType::Text),
            option("count_file", OptionType::Text),
            option("stamp_file", OptionType::Text),
        ],
    },
    Kind {
        name: "relief",
        summary: "makes a textured relief from one picture, on this machine and at no cost",
        options: &[
            option("resolution", OptionType::GridSize),
            option("depth", OptionType::Fraction),
            option("smooth", OptionType::Fraction),
        ],
    },
    Kind {
        name: "process",
        summary: "runs a program of yours",
        options: &[
            option("command", OptionType::Texts),
            option("env", OptionType::Names),
            option("stall_s", OptionType::Seconds),
            option("version", OptionType::Text),
            option("protocol", OptionType::Protocol),
            option("reconciles", OptionType::Flag),
        ],
    },
    Kind {
        name: "fal",
        summary: "a model of fal; needs FAL_KEY",
        options: SERVICE_OPTIONS,
    },
    Kind {
        name: "tripo",
        summary: "a model of Tripo; needs TRIPO_API_KEY",
        options: SERVICE_OPTIONS,
    },
    Kind {
        name: "meshy",
        summary: "a model of Meshy; needs MESHY_API_KEY",
        options: SERVICE_OPTIONS,
    },
    Kind {
        name: "replicate",
        summary: "a model of Replicate; needs REPLICATE_API_TOKEN",
        options: SERVICE_OPTIONS,
    },
];

/// The options of a service's model.
const SERVICE_OPTIONS: &[KindOption] = &[
    option("images", OptionType::Images),
    option("model", OptionType::Texts),
    option("previews", OptionType::Pointers),
    option("units", OptionType::Units),
    option("credit_usd", OptionType::Positive),
    option("deprecated", OptionType::Text),
    option("start_timeout_s", OptionType::Positive),
    option("patience_s", OptionType::Positive),
];

/// Returns the kind called `name`.
pub fn find(name: &str) -> Option<&'static Kind> {
    KINDS.iter().find(|kind| kind.name == name)
}

/// Returns the options of an entry; an entry without a kind has the shared ones.
pub fn options_of(kind: Option<&'static Kind>) -> impl Iterator<Item = &'static KindOption> {
    let own: &[KindOption] = kind.map_or(&[], |kind| kind.options);
    own.iter().chain(SHARED_OPTIONS)
}

impl OptionType {
    /// Tells whether `value` is one.
    pub fn accepts(self, value: &Value) -> bool {
        match self {
            Self::Flag => value.is_boolean(),
            Self::Count => value.is_u64(),
            Self::Natural => value.as_u64().is_some_and(|n| n > 0),
            Self::CountOrFlag => value.is_u64() || value.is_boolean(),
            Self::GridSize => value.as_u64().is_some_and(|n| (8..=512).contains(&n)),
            Self::Fraction => value.as_f64().is_some_and(|n| (0.0..=1.0).contains(&n)),
            Self::Positive => value.as_f64().is_some_and(|n| n > 0.0),
            Self::Seconds => value
                .as_f64()
                .is_some_and(|n| (0.001..=MAX_SECONDS).contains(&n)),
            Self::Text => value.is_string(),
            Self::Key => value
                .as_str()
                .is_some_and(|key| AlgoKey::parse(key).is_ok()),
            Self::OnInterrupt => value.as_str().and_then(OnInterrupt::parse).is_some(),
            Self::Class => value.as_str().and_then(ErrorClass::parse).is_some(),
            Self::Texts => value
                .as_array()
                .is_some_and(|list| !list.is_empty() && list.iter().all(Value::is_string)),
            Self::Protocol => value.as_u64().is_some_and(|n| n == 1 || n == 2),
            Self::Names => value
                .as_array()
                .is_some_and(|list| list.iter().all(is_variable_name)),
            Self::Pointers => value
                .as_array()
                .is_some_and(|list| list.iter().all(Value::is_string)),
            Self::Images => value.as_array().is_some_and(|list| {
                let field = |value: &Value| value.as_str().and_then(ImageField::parse);
                !list.is_empty() && list.iter().all(|value| field(value).is_some())
            }),
            Self::Units => {
                service::units(value, &Map::new()).is_some()
                    || value.as_object().is_some_and(|map| {
                        !map.is_empty() && map.values().all(|units| Self::Positive.accepts(units))
                    })
            }
        }
    }

    /// Says what is wanted, ready to follow "must be".
    pub fn wanted(self) -> &'static str {
        match self {
            Self::Flag => "true or false",
            Self::Count => "a whole number, 0 or more",
            Self::Natural => "a whole number, 1 or more",
            Self::CountOrFlag => "a whole number, or true or false",
            Self::GridSize => "a whole number from 8 to 512",
            Self::Fraction => "a number from 0 to 1",
            Self::Positive => "a number above 0",
            Self::Seconds => "a number of seconds, from 0.001 to a year",
            Self::Text => "text (put it in quotes)",
            Self::Key => "a name without slashes, such as fal, or left out",
            Self::OnInterrupt => "rerun or ask",
            Self::Class => "transient, bad_input, permanent, out_of_credit or unknown",
            Self::Texts => "a list of texts, such as [\"python\", \"make.py\"]",
            Self::Protocol => "1 or 2",
            Self::Names => "a list of names of variables, such as [FAL_KEY]",
            Self::Pointers => "a list of texts, such as [thumbnail]",
            Self::Images => "a list of arguments, such as [front, \"left?\"] or [\"image_urls[]\"]",
            Self::Units => "a number above 0, or a map such as {base: 1, textured_mesh: 3}",
        }
    }
}

fn is_variable_name(value: &Value) -> bool {
    value
        .as_str()
        .is_some_and(|name| !name.is_empty() && !name.contains(['=', '\0']))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_option_type_takes_its_own_values_and_no_others() {
        for (wanted, good, bad) in [
            (OptionType::Flag, json!(true), json!("true")),
            (OptionType::Protocol, json!(2), json!(3)),
            (OptionType::Count, json!(0), json!(-1)),
            (OptionType::Natural, json!(1), json!(0)),
            (OptionType::CountOrFlag, json!(5), json!(0.5)),
            (OptionType::GridSize, json!(512), json!(7)),
            (OptionType::Fraction, json!(1), json!(1.01)),
            (OptionType::Positive, json!(0.5), json!(0)),
            (OptionType::Seconds, json!(3600), json!(0)),
            (OptionType::Text, json!("a"), json!(404)),
            (OptionType::Key, json!("fal"), json!("a/b")),
            (OptionType::OnInterrupt, json!("ask"), json!("never")),
            (OptionType::Class, json!("bad_input"), json!("bad")),
            (OptionType::Texts, json!(["a"]), json!([])),
            (OptionType::Names, json!(["FAL_KEY"]), json!(["FAL_KEY=1"])),
            (OptionType::Pointers, json!([]), json!([1])),
            (OptionType::Images, json!(["a?", "b[]"]), json!(["a b"])),
            (OptionType::Units, json!({"base": 1}), json!({"base": 0})),
        ] {
            assert!(wanted.accepts(&good), "{good} is {}", wanted.wanted());
            assert!(!wanted.accepts(&bad), "{bad} is not {}", wanted.wanted());
        }
    }

    #[test]
    fn no_kind_has_two_options_of_one_name() {
        for kind in KINDS {
            let mut names: Vec<_> = options_of(Some(kind)).map(|o| o.name).collect();
            names.sort_unstable();
            let all = names.len();
            names.dedup();
            assert_eq!(names.len(), all, "{}", kind.name);
        }
    }
}
