//! Where a value comes from, and how it is shown without its secrets.

use std::fmt;
use std::path::PathBuf;

use serde::{Serialize, Serializer};
use serde_json::Value;

pub use crate::domain::secret::is_secret;
use crate::domain::secret::{MASK, shown_value};

/// Where a value comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// Embedded in the program.
    Shipped,
    /// A configuration file.
    File(PathBuf),
    /// A variable of the real environment.
    Environment(String),
    /// A `.env` file.
    DotEnv(PathBuf),
    /// An option of the command line.
    CommandLine(&'static str),
    /// The folder the program was started in, or one above it.
    Surroundings,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shipped => f.write_str("shipped"),
            Self::File(path) | Self::DotEnv(path) => write!(f, "{}", path.display()),
            Self::Environment(name) => write!(f, "environment variable {name}"),
            Self::CommandLine(option) => f.write_str(option),
            Self::Surroundings => f.write_str("the current folder or one above it"),
        }
    }
}

/// One effective value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SettingEntry {
    /// Its full name, such as `adapters.mock.image_mode`.
    pub name: String,
    /// Its value as text; a secret is masked.
    pub value: String,
    /// Where it comes from.
    #[serde(serialize_with = "as_text")]
    pub origin: Origin,
}

fn as_text<S: Serializer>(origin: &Origin, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(origin)
}

/// Shows `value`, which `names` lead to; the names tell whether it is a secret,
/// and so may its own words.
pub(super) fn shown<'a>(names: impl IntoIterator<Item = &'a str>, value: &Value) -> String {
    if names.into_iter().any(is_secret) && !value.is_null() {
        return MASK.to_owned();
    }
    match shown_value(value) {
        Value::String(text) => text,
        value => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_with_secret_names_are_masked() {
        for name in [
            "FAL_KEY",
            "api_token",
            "Client-Secret",
            "db_password",
            "credentials",
        ] {
            assert_eq!(shown([name], &json!("s3cret")), "********", "{name}");
        }
        assert_eq!(shown(["env", "auth_keys", "a"], &json!("x")), "********");
        assert_eq!(
            shown(["endpoint"], &json!("fal-ai/trellis")),
            "fal-ai/trellis"
        );
        assert_eq!(shown(["price"], &json!(0.02)), "0.02");
        assert_eq!(
            shown(["endpoint"], &json!("https://me:pw@host/x")),
            "https://********@host/x"
        );
        assert_eq!(
            shown(["command"], &json!(["curl", "Bearer s3cret"])),
            r#"["curl","********"]"#
        );
    }
}
