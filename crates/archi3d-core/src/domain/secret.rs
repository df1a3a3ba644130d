//! Which variables and settings hold secrets, judged by names and by values.
//!
//! One list for everything that shows or stores text: `config` masks settings
//! with it, adapters take such values out of whatever a program says.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

const WORDS: [&str; 11] = [
    "KEY",
    "TOKEN",
    "SECRET",
    "PASSWORD",
    "CREDENTIAL",
    "AUTH",
    "BEARER",
    "COOKIE",
    "PASS",
    "PWD",
    "SIGNATURE",
];

/// Every shell sets these to folders.
const FOLDERS: [&str; 2] = ["PWD", "OLDPWD"];

/// How values begin that are sent to be let in.
const SCHEMES: [&str; 3] = ["bearer ", "basic ", "key "];

/// What is shown instead of a secret.
pub const MASK: &str = "********";

/// Tells whether a value with this name must not be shown.
pub fn is_secret(name: &str) -> bool {
    let name = name.to_uppercase();
    !FOLDERS.contains(&name.as_str()) && WORDS.iter().any(|word| name.contains(word))
}

/// Returns `value` as it may be shown: texts as [`shown_text`] has them, nothing under
/// a telling name, and in a list not what follows an option such as `--token`.
pub fn shown_value(value: &Value) -> Value {
    match value {
        Value::String(text) => shown_text(text).into(),
        Value::Array(list) => {
            let mut follows_option = false;
            let shown = list.iter().map(|item| {
                let masked = std::mem::replace(&mut follows_option, is_secret_option(item));
                if masked && !item.is_null() {
                    MASK.into()
                } else {
                    shown_value(item)
                }
            });
            shown.collect()
        }
        Value::Object(map) => map
            .iter()
            .map(|(name, value)| match value {
                Value::Null => (name.clone(), Value::Null),
                _ if is_secret(name) => (name.clone(), MASK.into()),
                value => (name.clone(), shown_value(value)),
            })
            .collect(),
        value => value.clone(),
    }
}

/// Tells whether the next word of a command is the value of an option that holds a secret.
fn is_secret_option(word: &Value) -> bool {
    let word = word.as_str().unwrap_or_default();
    word.starts_with('-') && !word.contains(['=', ' ']) && is_secret(word)
}

/// A name that tells a secret with its value behind `=`, or an option with its value
/// behind a blank, or a header with its value behind a colon.
static NAMED: LazyLock<Regex> = LazyLock::new(|| {
    let name = format!(r"[\w.-]*(?:{})[\w.-]*", WORDS.join("|"));
    let value = r#"(?:"[^"]*"|'[^']*'|[^\s"'&;,]+)"#;
    let pattern = format!(
        r"(?i)(?P<name>(?:^|[^\w.-])(?:{name}=|--?{name}[ \t]+|{name}:[ \t]+(?:(?:bearer|basic|key)[ \t]+)?)){value}"
    );
    Regex::new(&pattern).expect("the pattern is a constant")
});

/// What a server is told to be let in, wherever it stands.
static GRANT: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)\b(?P<name>(?:bearer|basic)[ \t]+)[\w+/=.~-]{4,}").expect("a constant")
});

/// Returns `text` as it may be shown whatever its name is: without what a server
/// is told to be let in, without names and passwords in addresses, and without the
/// values of names that tell a secret.
pub fn shown_text(text: &str) -> String {
    let shown = without_users(text);
    if shown == MASK {
        return shown;
    }
    // To compile the patterns takes longer than most commands: only for a text that may need them.
    let folded = shown.to_lowercase().to_uppercase();
    let mut telling = WORDS.iter().chain(&["BASIC"]);
    if !telling.any(|word| folded.contains(word)) {
        return shown;
    }
    let replacement = format!("${{name}}{MASK}");
    let shown = NAMED.replace_all(&shown, replacement.as_str());
    GRANT.replace_all(&shown, replacement.as_str()).into_owned()
}

fn without_users(text: &str) -> String {
    let start = text.trim_start().to_lowercase();
    let start = start.strip_prefix("authorization:").unwrap_or(&start);
    if SCHEMES
        .iter()
        .any(|scheme| start.trim_start().starts_with(scheme))
    {
        return MASK.to_owned();
    }
    let mut parts = text.split("://");
    let mut shown = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let is_end = |c: char| c.is_whitespace() || "/?#\"'<>".contains(c);
        let host = &part[..part.find(is_end).unwrap_or(part.len())];
        let rest = match host.rfind('@') {
            Some(at) => &part[at..],
            None => part,
        };
        shown.push_str("://");
        if rest.len() < part.len() {
            shown.push_str(MASK);
        }
        shown.push_str(rest);
    }
    shown
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn names_tell_secrets_in_any_case() {
        for name in [
            "FAL_KEY",
            "api_token",
            "Client-Secret",
            "credentials",
            "Authorization",
            "bearer",
            "session_cookie",
            "DB_PASS",
            "db_pwd",
            "signature",
        ] {
            assert!(is_secret(name), "{name}");
        }
        for name in ["endpoint", "PWD", "price_source"] {
            assert!(!is_secret(name), "{name}");
        }
    }

    #[test]
    fn values_tell_secrets_whatever_their_name() {
        for text in [
            "Bearer abc",
            "basic dTpw",
            "Key id:s3cret",
            "Authorization: Key x",
        ] {
            assert_eq!(shown_text(text), MASK, "{text}");
        }
        for (text, shown) in [
            ("https://me:pw@host/a@b", "https://********@host/a@b"),
            (
                "see https://t0ken@host:8/ and x://a",
                "see https://********@host:8/ and x://a",
            ),
            ("https://p@ss@host", "https://********@host"),
            ("https://host/a@b", "https://host/a@b"),
            ("fal-ai/trellis", "fal-ai/trellis"),
            (
                "https://x.y/z?api_key=abc&page=2",
                "https://x.y/z?api_key=********&page=2",
            ),
            ("--token=abc --fast", "--token=******** --fast"),
            ("--api-token abc --fast", "--api-token ******** --fast"),
            ("FAL_KEY=abc run", "FAL_KEY=******** run"),
            (
                "curl -H 'Authorization: Bearer abcd.efg'",
                "curl -H 'Authorization: Bearer ********'",
            ),
            ("X-Api-Key: abc", "X-Api-Key: ********"),
            ("keyboard", "keyboard"),
            ("", ""),
        ] {
            assert_eq!(shown_text(text), shown);
        }
    }

    #[test]
    fn lists_and_maps_in_lists_are_shown_without_secrets() {
        let value = json!([
            "tool", "--token", "s3cret", "--fast", {"user": "me", "password": 12},
            ["-p", {"deep": {"api_key": "x"}}], "--password", "-x"
        ]);
        let shown = json!([
            "tool", "--token", MASK, "--fast", {"user": "me", "password": MASK},
            ["-p", {"deep": {"api_key": MASK}}], "--password", MASK
        ]);
        assert_eq!(shown_value(&value), shown);
    }
}
