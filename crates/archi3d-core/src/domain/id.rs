//! Names that become part of a path: validated once, then carried as types.
//!
//! A value of one of these types is safe to use as a file name on every system
//! we run on. Nothing else in the program builds a path from text that came
//! from outside.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// The longest name we accept, in bytes: leaves room for our own endings.
const MAX_BYTES: usize = 128;

/// Endings that name our own files; an id with one of them would collide.
const RESERVED_ENDINGS: &[&str] = &[
    ".inprogress",
    ".completed",
    ".failed",
    ".released",
    ".cancelled",
    ".cancel",
    ".lock",
    ".error.txt",
    ".tmp",
];

const WINDOWS_DEVICES: &[&str] = &["con", "prn", "aux", "nul"];

/// Why a text cannot be an id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{kind} {shown:?} {reason}")]
pub struct IdError {
    kind: &'static str,
    shown: String,
    reason: String,
}

/// Returns why `text` is no safe name, or nothing if it is one.
pub fn name_fault(text: &str) -> Option<String> {
    if is_plain_word(text.as_bytes()) {
        return None;
    }
    if text.is_empty() {
        return Some("is empty".into());
    }
    if text.len() > MAX_BYTES {
        return Some(format!("is longer than {MAX_BYTES} bytes"));
    }
    if let Some(bad) = text.chars().find(|c| is_refused(*c)) {
        return Some(format!("contains {bad:?}, which is not allowed in a name"));
    }
    if text.starts_with(['.', '-', ' ']) {
        return Some("starts with a dot, a dash or a space".into());
    }
    if text.ends_with(['.', ' ']) {
        return Some("ends with a dot or a space".into());
    }
    if text.contains("..") {
        return Some("contains `..`".into());
    }
    let lower = text.to_lowercase();
    if let Some(ending) = RESERVED_ENDINGS.iter().find(|e| lower.ends_with(**e)) {
        return Some(format!("ends with {ending}, which is reserved"));
    }
    if is_windows_device(&lower) {
        return Some("is a device name on Windows".into());
    }
    None
}

/// Tells whether a name needs no closer look: most are words of letters and
/// digits that are too long for a device and have no ending.
pub(crate) fn is_plain_word(name: &[u8]) -> bool {
    let word = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    (5..=MAX_BYTES).contains(&name.len()) && name[0] != b'-' && name.iter().all(word)
}

fn is_windows_device(lower: &str) -> bool {
    let stem = lower.split('.').next().unwrap_or(lower).trim_end();
    let numbered = |prefix: &str| {
        stem.strip_prefix(prefix)
            .is_some_and(|n| n.len() == 1 && n.bytes().all(|b| b.is_ascii_digit()))
    };
    WINDOWS_DEVICES.contains(&stem) || numbered("com") || numbered("lpt")
}

fn is_refused(c: char) -> bool {
    matches!(c, '/' | '\\' | ':' | '*' | '?' | '"' | '<' | '>' | '|')
        || c.is_control()
        || (c.is_whitespace() && c != ' ')
        // Zero-width, direction and other invisible format characters.
        || matches!(c,
            '\u{00AD}' | '\u{061C}' | '\u{180E}' | '\u{200B}'..='\u{200F}'
            | '\u{202A}'..='\u{202E}' | '\u{2060}'..='\u{206F}' | '\u{FEFF}'
            | '\u{FFF9}'..='\u{FFFB}' | '\u{E0000}'..='\u{E007F}')
}

/// A text that is only looked at: journals have millions of ids.
#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

// Shared, not copied: an id is kept in many places at once.
macro_rules! id_type {
    ($(#[$doc:meta])* $name:ident, $kind:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(try_from = "Text<'_>", into = "String")]
        pub struct $name(Arc<str>);

        impl $name {
            /// Checks `text` and takes it as it is, byte for byte.
            pub fn parse(text: &str) -> Result<Self, IdError> {
                match name_fault(text) {
                    None => Ok(Self(text.into())),
                    Some(reason) => Err(IdError {
                        kind: $kind,
                        shown: text.chars().take(80).collect(),
                        reason,
                    }),
                }
            }

            /// Returns the id as it was given.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl TryFrom<Text<'_>> for $name {
            type Error = IdError;
            fn try_from(text: Text<'_>) -> Result<Self, IdError> {
                Self::parse(&text.0)
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> String {
                id.0.as_ref().to_owned()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl std::borrow::Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }
    };
}

id_type!(
    /// The name of a run: a folder under `runs/`.
    RunId, "run id"
);
id_type!(
    /// The name of a job within its run: a folder under `outputs/`.
    JobId, "job id"
);
id_type!(
    /// The key of an algorithm in `adapters.yaml`.
    AlgoKey, "algo key"
);
id_type!(
    /// One start of one worker process; never reused.
    WorkerId, "worker id"
);

impl WorkerId {
    /// Takes a name that a person gave or a record holds.
    pub fn named(name: &str) -> Self {
        Self(name.into())
    }

    /// Builds the id of a process from its host, its pid and a random part.
    pub fn compose(host: &str, pid: u32, random: &str) -> Self {
        let host: String = host
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
            .take(40)
            .collect();
        let host = host.trim_matches('-');
        let host = if host.is_empty() { "host" } else { host };
        Self(format!("{host}-{pid}-{random}").into())
    }
}

/// The random identity of one attempt: whoever holds it may write its result.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Nonce(String);

impl Nonce {
    /// Wraps 128 random bits written as hexadecimal digits.
    pub fn new(hex: impl Into<String>) -> Self {
        Self(hex.into())
    }

    /// Returns the digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Nonce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn ordinary_ids_are_kept_verbatim() {
        for text in [
            "001",
            "1e5",
            "True",
            "nan",
            "20250101",
            "2025.10",
            "8e2811250859",
            "rk",
            "run 1",
            "Già speciale",
            "2026-01-01T00-00-00Z",
            "a=b",
            "=cmd",
        ] {
            assert_eq!(RunId::parse(text).expect(text).as_str(), text);
        }
    }

    #[test]
    fn ids_that_are_paths_devices_options_or_invisible_are_refused() {
        for text in [
            "",
            ".",
            "..",
            "../../etc/passwd",
            "/abs",
            "C:\\x",
            "\\\\srv\\x",
            "a/b",
            "a\\b",
            "CON",
            "nul.txt",
            "com1",
            "LPT9.log",
            "x.",
            "x ",
            " x",
            "-rf",
            "--help",
            ".hidden",
            "a\nb",
            "a\tb",
            "a\u{1b}[0m",
            "x.failed",
            "x.lock",
            "x.inprogress.tmp",
            "x.error.txt",
            "x.Completed",
            "a\u{202e}b",
            "a\u{200b}b",
            "a..b",
            "a*b",
            "a?b",
            "=cmd|x",
        ] {
            assert!(JobId::parse(text).is_err(), "{text:?} was accepted");
        }
        assert!(JobId::parse(&"x".repeat(128)).is_ok());
        assert!(JobId::parse(&"x".repeat(129)).is_err());
    }

    #[test]
    fn the_error_names_the_text_and_the_reason() {
        let error = RunId::parse("../x").expect_err("refused");
        assert_eq!(
            error.to_string(),
            "run id \"../x\" contains '/', which is not allowed in a name"
        );
    }

    proptest! {
        #[test]
        fn an_accepted_id_is_a_single_plain_path_component(text in "\\PC{0,140}") {
            if let Ok(id) = JobId::parse(&text) {
                let path = std::path::Path::new(id.as_str());
                let parts: Vec<_> = path.components().collect();
                prop_assert_eq!(parts.len(), 1);
                prop_assert!(matches!(parts[0], std::path::Component::Normal(_)));
            }
        }
    }
}
