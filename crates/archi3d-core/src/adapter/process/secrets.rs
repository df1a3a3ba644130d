//! Takes secrets out of whatever a program says, before anything is kept.
//!
//! A secret is the value of a variable with a telling name. Text is searched
//! for the value and each of its lines in every form that `forms` knows.
//! What follows the `?` of a signed address is a secret too.

use std::borrow::Cow;
use std::sync::LazyLock;

use memchr::memmem;
use regex::bytes::{Regex, RegexBuilder};
use serde_json::{Map, Number, Value};

use super::forms::patterns;
use crate::domain::secret::is_secret;

/// What stands where a secret stood.
pub(in crate::adapter) const MASK: &str = "***";

/// Shorter values are no secrets but words that occur everywhere.
const MIN_BYTES: usize = 8;

/// How much of a line without end is kept back, in search of a secret in it.
const MAX_LINE_BYTES: usize = 64 * 1024;

/// The most memory that the compiled pattern may take, in bytes.
const MAX_COMPILED_BYTES: usize = 256 << 20;

/// An address whose query grants something.
static SIGNED: LazyLock<Regex> = LazyLock::new(|| {
    let word = "(?:sig|signature|token|key|credential|secret|password|expires|policy)";
    let pattern = format!(
        r#"(?i)(https?://[^\s"'<>?]{{1,2000}})\?(?-u:[^\s"'<>])*?{word}(?-u:[^\s"'<>=])*=(?-u:[^\s"'<>])*"#
    );
    Regex::new(&pattern).expect("the pattern is a constant")
});

/// Lists every text below `value` with the name that tells what it is: a telling
/// one stands for everything below it.
pub(in crate::adapter) fn named_texts(
    name: &str,
    value: &Value,
    found: &mut Vec<(String, String)>,
) {
    match value {
        Value::String(text) => found.push((name.to_owned(), text.clone())),
        Value::Number(number) => found.push((name.to_owned(), number.to_string())),
        Value::Array(list) => list
            .iter()
            .for_each(|value| named_texts(name, value, found)),
        Value::Object(object) => {
            for (own, value) in object {
                let telling = if is_secret(name) { name } else { own };
                named_texts(telling, value, found);
            }
        }
        Value::Null | Value::Bool(_) => {}
    }
}

/// Compiles patterns into one, without those that are too large for that.
fn compiled(patterns: &[(String, usize)]) -> Option<Regex> {
    let build = |pattern: &str| {
        RegexBuilder::new(pattern)
            .unicode(false)
            .size_limit(MAX_COMPILED_BYTES)
            .build()
    };
    let all: Vec<&str> = patterns
        .iter()
        .map(|(pattern, _)| pattern.as_str())
        .collect();
    if all.is_empty() {
        return None;
    }
    build(&all.join("|")).ok()
}

/// The secrets of one program.
#[derive(Debug, Clone, Default)]
pub(in crate::adapter) struct Secrets {
    /// Finds every one of them, however it is written.
    pattern: Option<Regex>,
    /// Those that are numbers, which JSON may write in several ways.
    numbers: Vec<f64>,
    /// How long a match can be.
    longest: usize,
}

impl Secrets {
    /// Picks the secrets out of a program's variables.
    pub(in crate::adapter) fn of<'a>(
        variables: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Self {
        let secrets = variables.into_iter().filter(|(name, _)| is_secret(name));
        let values: Vec<&str> = secrets.map(|(_, value)| value).collect();
        let mut found: Vec<(String, usize)> =
            values.iter().flat_map(|value| patterns(value)).collect();
        // The longest first: one secret may be part of another.
        found.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        found.dedup();
        let longest = found.iter().map(|(_, length)| *length).max();
        let long_enough = values.iter().filter(|value| value.len() >= MIN_BYTES);
        Self {
            pattern: compiled(&found),
            numbers: long_enough.filter_map(|value| value.parse().ok()).collect(),
            longest: longest.unwrap_or_default(),
        }
    }

    /// Tells whether there are none.
    pub(in crate::adapter) fn is_empty(&self) -> bool {
        self.pattern.is_none()
    }

    /// Tells whether `text` holds one of them.
    pub(in crate::adapter) fn are_in(&self, text: &str) -> bool {
        let pattern = self.pattern.as_ref();
        pattern.is_some_and(|pattern| pattern.is_match(text.as_bytes()))
    }

    /// Returns `bytes` without secrets.
    pub(in crate::adapter) fn mask<'a>(&self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        let mut masked = match &self.pattern {
            Some(pattern) => pattern.replace_all(bytes, MASK.as_bytes()),
            None => Cow::Borrowed(bytes),
        };
        if memmem::find(&masked, b"://").is_some() {
            let plain = SIGNED.replace_all(&masked, b"$1?***");
            if let Cow::Owned(plain) = plain {
                masked = Cow::Owned(plain);
            }
        }
        masked
    }

    /// Returns `text` without secrets.
    pub(in crate::adapter) fn mask_text(&self, text: &str) -> String {
        String::from_utf8_lossy(&self.mask(text.as_bytes())).into_owned()
    }

    /// Takes secrets out of every text in `object`, names included.
    pub(in crate::adapter) fn mask_map(&self, object: Map<String, Value>) -> Map<String, Value> {
        object
            .into_iter()
            .map(|(name, value)| (self.mask_text(&name), self.mask_value(value)))
            .collect()
    }

    fn mask_value(&self, value: Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.mask_text(&text)),
            Value::Array(list) => list
                .into_iter()
                .map(|value| self.mask_value(value))
                .collect(),
            Value::Object(object) => Value::Object(self.mask_map(object)),
            Value::Number(number) if self.is_number(&number) => MASK.into(),
            value => value,
        }
    }

    fn is_number(&self, number: &Number) -> bool {
        let value = number.as_f64();
        let same = |secret: &f64| value.is_some_and(|value| value.to_bits() == secret.to_bits());
        self.numbers.iter().any(same) || self.are_in(&number.to_string())
    }
}

/// Masks a stream that comes in pieces: no secret slips through between two.
#[derive(Debug)]
pub(in crate::adapter) struct MaskedStream<'a> {
    secrets: &'a Secrets,
    kept: Vec<u8>,
    /// Whether anything was masked so far.
    masked: bool,
}

impl<'a> MaskedStream<'a> {
    pub(in crate::adapter) fn new(secrets: &'a Secrets) -> Self {
        Self {
            secrets,
            kept: Vec::new(),
            masked: false,
        }
    }

    /// Tells whether anything was masked so far.
    pub(in crate::adapter) fn has_masked(&self) -> bool {
        self.masked
    }

    fn mask<'b>(&mut self, bytes: &'b [u8]) -> Cow<'b, [u8]> {
        let masked = self.secrets.mask(bytes);
        self.masked |= matches!(masked, Cow::Owned(_));
        masked
    }

    /// Takes a piece and hands on what is certain.
    pub(in crate::adapter) fn feed(&mut self, piece: &[u8], mut pass: impl FnMut(&[u8])) {
        self.kept.extend_from_slice(piece);
        let certain = match memchr::memrchr(b'\n', &self.kept) {
            Some(end) => end + 1,
            None if self.kept.len() < MAX_LINE_BYTES => return,
            None => {
                // What was masked cannot be found again; only its end may be
                // the start of a secret.
                let kept = std::mem::take(&mut self.kept);
                self.kept = self.mask(&kept).into_owned();
                self.kept.len().saturating_sub(self.secrets.longest)
            }
        };
        let mut whole = std::mem::take(&mut self.kept);
        self.kept = whole.split_off(certain);
        pass(&self.mask(&whole));
    }

    /// Hands on what was kept back.
    pub(in crate::adapter) fn end(&mut self, mut pass: impl FnMut(&[u8])) {
        let kept = std::mem::take(&mut self.kept);
        if !kept.is_empty() {
            pass(&self.mask(&kept));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn secrets() -> Secrets {
        Secrets::of([
            ("FAL_KEY", "canary-1234"),
            ("PEM_SECRET", "line one \"x\"\nline two is long"),
            ("SHORT_KEY", "abc"),
            ("HOME", "/home/somebody"),
        ])
    }

    fn streamed(secrets: &Secrets, pieces: &[&[u8]]) -> String {
        let mut stream = MaskedStream::new(secrets);
        let mut out = Vec::new();
        for piece in pieces {
            stream.feed(piece, |bytes| out.extend_from_slice(bytes));
        }
        stream.end(|bytes| out.extend_from_slice(bytes));
        String::from_utf8(out).expect("text")
    }

    #[test]
    fn values_of_telling_names_are_masked_in_every_form() {
        let secrets = secrets();
        assert_eq!(secrets.mask_text("key=canary-1234!"), "key=***!");
        assert_eq!(
            secrets.mask_text("abc /home/somebody"),
            "abc /home/somebody"
        );
        assert_eq!(secrets.mask_text("line two is long"), "***");
        assert_eq!(
            secrets.mask_text(r#"{"a":"line one \"x\"\nline two is long"}"#),
            r#"{"a":"***"}"#
        );
        let object = json!({"canary-1234": ["canary-1234", {"n": 3}]});
        let Value::Object(object) = object else {
            unreachable!()
        };
        assert_eq!(
            Value::Object(secrets.mask_map(object)),
            json!({"***": ["***", {"n": 3}]})
        );
    }

    #[test]
    fn a_secret_is_found_in_the_letters_of_other_programs() {
        let secrets = Secrets::of([("FAL_KEY", "käy/12345")]);
        for form in [
            "käy/12345",
            "k\\u00e4y/12345",
            "k\\u00e4y\\/12345",
            "k%C3%A4y%2F12345",
        ] {
            assert_eq!(secrets.mask_text(&format!("<{form}>")), "<***>");
        }
    }

    #[test]
    fn a_secret_is_found_in_addresses_base64_and_digits() {
        let secret = "id-7:s3cret/value+x";
        let secrets = Secrets::of([("FAL_KEY", secret), ("PIN_SECRET", "1234567890")]);
        for form in [
            "id-7%3As3cret/value%2Bx",
            "id-7%3as3cret%2fvalue%2bx",
            "id-7%253As3cret%252Fvalue%252Bx",
            "69642d373a7333637265742f76616c75652b78",
            "id-7:s3cret\\/value+x",
            "id-7:s3cret\\u002Fvalue\\u002bx",
        ] {
            assert_eq!(secrets.mask_text(&format!("<{form}>")), "<***>", "{form}");
        }
        // base64 of `id-7:s3cret/value+x`, of `u:` and of `me:` with it, in both alphabets.
        for form in [
            "aWQtNzpzM2NyZXQvdmFsdWUreA==",
            "dTppZC03OnMzY3JldC92YWx1ZSt4",
            "bWU6aWQtNzpzM2NyZXQvdmFsdWUreA",
            "dTppZC03OnMzY3JldC92YWx1ZSt4Cg",
        ] {
            let masked = secrets.mask_text(&format!("Authorization: Basic {form} end"));
            assert!(
                !masked.contains("zM2NyZXQ") && !masked.contains("3JldC92"),
                "{masked}"
            );
            assert!(
                masked.contains("***") && masked.ends_with(" end"),
                "{masked}"
            );
        }
        let number = json!({"pin": 1_234_567_890, "same": 1.234_567_89e9, "other": 1234});
        let Value::Object(number) = number else {
            unreachable!()
        };
        assert_eq!(
            Value::Object(secrets.mask_map(number)),
            json!({"pin": "***", "same": "***", "other": 1234})
        );
    }

    #[test]
    fn a_secret_cut_by_a_piece_or_in_an_endless_line_is_masked() {
        let secrets = secrets();
        assert_eq!(
            streamed(&secrets, &[b"a cana", b"ry-12", b"34 b\n"]),
            "a *** b\n"
        );
        let long = vec![b'x'; MAX_LINE_BYTES - 5];
        let out = streamed(&secrets, &[&long, b"canary", b"-1234", b"yyyy"]);
        assert!(out.ends_with("xxx***yyyy"), "{}", &out[out.len() - 30..]);
        assert!(!out.contains("canary"));
    }

    #[test]
    fn signed_addresses_lose_what_signs_them() {
        let none = Secrets::default();
        for (text, masked) in [
            (
                "got https://cdn.x/a.glb?X-Amz-Signature=abc&e=1 at once",
                "got https://cdn.x/a.glb?*** at once",
            ),
            (
                r#"{"url":"https://cdn.x/a.glb?a=1&Expires=9","n":1}"#,
                r#"{"url":"https://cdn.x/a.glb?***","n":1}"#,
            ),
            (
                "https://x.y/list?page=2 key=3",
                "https://x.y/list?page=2 key=3",
            ),
            ("what? a key=value", "what? a key=value"),
        ] {
            assert_eq!(none.mask_text(text), masked);
        }
    }
}
