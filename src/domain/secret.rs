//! Which variables and settings hold secrets, judged by names and by values.
//!
//! One list for everything that shows or stores text: `config` masks settings
//! with it, adapters take such values out of whatever a program says.

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

/// Returns `text` as it may be shown whatever its name is: without what a server
/// is told to be let in, and without names and passwords in addresses.
pub fn shown_text(text: &str) -> String {
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
            ("keyboard", "keyboard"),
            ("", ""),
        ] {
            assert_eq!(shown_text(text), shown);
        }
    }
}
