//! Which variables and settings hold secrets, judged by their names.
//!
//! One list for everything that shows or stores text: `config` masks settings
//! with it, adapters take such values out of whatever a program says.

const WORDS: [&str; 5] = ["KEY", "TOKEN", "SECRET", "PASSWORD", "CREDENTIAL"];

/// Tells whether a value with this name must not be shown.
pub fn is_secret(name: &str) -> bool {
    let name = name.to_uppercase();
    WORDS.iter().any(|word| name.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_secrets_in_any_case() {
        for name in ["FAL_KEY", "api_token", "Client-Secret", "credentials"] {
            assert!(is_secret(name), "{name}");
        }
        assert!(!is_secret("endpoint"));
    }
}
