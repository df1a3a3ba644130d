//! Takes secrets out of whatever a program says, before anything is kept.
//!
//! A secret is the value of a variable with a telling name. Text is searched
//! for the value as it is, for each of its lines, and for its form in JSON.
//! What follows the `?` of a signed address is a secret too.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::sync::LazyLock;

use memchr::memmem;
use regex::bytes::Regex;
use serde_json::{Map, Value};

use crate::domain::secret::is_secret;

/// What stands where a secret stood.
pub(super) const MASK: &str = "***";

/// Shorter values are no secrets but words that occur everywhere.
const MIN_BYTES: usize = 8;

/// How much of a line without end is kept back, in search of a secret in it.
const MAX_LINE_BYTES: usize = 64 * 1024;

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
pub(super) fn named_texts(name: &str, value: &Value, found: &mut Vec<(String, String)>) {
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

/// Returns text in JSON with other letters than plain ones written as numbers.
fn plain_letters(escaped: &str) -> String {
    let mut plain = String::new();
    for c in escaped.chars() {
        if c.is_ascii() {
            plain.push(c);
        } else {
            let mut units = [0; 2];
            for unit in c.encode_utf16(&mut units) {
                let _ = write!(plain, "\\u{unit:04x}");
            }
        }
    }
    plain
}

/// Returns text as it stands in the address of a page.
fn in_address(text: &str) -> String {
    let mut address = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            address.push(char::from(byte));
        } else {
            let _ = write!(address, "%{byte:02X}");
        }
    }
    address
}

/// The secrets of one program.
#[derive(Debug, Clone, Default)]
pub(super) struct Secrets(Vec<Vec<u8>>);

impl Secrets {
    /// Picks the secrets out of a program's variables.
    pub(super) fn of<'a>(variables: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let mut found = Vec::new();
        for (name, value) in variables {
            if !is_secret(name) {
                continue;
            }
            let quoted = Value::from(value).to_string();
            let escaped = quoted[1..quoted.len() - 1].to_owned();
            // Many programs write JSON in plain letters only, some also escape slashes.
            let plain = plain_letters(&escaped);
            let (slashed, both) = (escaped.replace('/', "\\/"), plain.replace('/', "\\/"));
            let address = in_address(value);
            let written = [value, &escaped, &plain, &slashed, &both, &address];
            let forms = value.lines().chain(written);
            found.extend(
                forms
                    .map(str::trim)
                    .filter(|form| form.len() >= MIN_BYTES)
                    .map(|form| form.as_bytes().to_vec()),
            );
        }
        // The longest first: one secret may be part of another.
        found.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        found.dedup();
        Self(found)
    }

    /// Tells whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Tells whether `text` holds one of them.
    pub(super) fn are_in(&self, text: &str) -> bool {
        let holds = |secret: &Vec<u8>| memmem::find(text.as_bytes(), secret).is_some();
        self.0.iter().any(holds)
    }

    /// Returns `bytes` without secrets.
    pub(super) fn mask<'a>(&self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        let mut masked = Cow::Borrowed(bytes);
        for secret in &self.0 {
            let finder = memmem::Finder::new(secret);
            let mut rest = 0;
            let mut clean = Vec::new();
            for at in finder.find_iter(&masked) {
                clean.extend_from_slice(&masked[rest..at]);
                clean.extend_from_slice(MASK.as_bytes());
                rest = at + secret.len();
            }
            if rest > 0 {
                clean.extend_from_slice(&masked[rest..]);
                masked = Cow::Owned(clean);
            }
        }
        if memmem::find(&masked, b"://").is_some() {
            let plain = SIGNED.replace_all(&masked, b"$1?***");
            if let Cow::Owned(plain) = plain {
                masked = Cow::Owned(plain);
            }
        }
        masked
    }

    /// Returns `text` without secrets.
    pub(super) fn mask_text(&self, text: &str) -> String {
        String::from_utf8_lossy(&self.mask(text.as_bytes())).into_owned()
    }

    /// Takes secrets out of every text in `object`, names included.
    pub(super) fn mask_map(&self, object: Map<String, Value>) -> Map<String, Value> {
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
            value => value,
        }
    }

    fn longest(&self) -> usize {
        self.0.first().map_or(0, Vec::len)
    }
}

/// Masks a stream that comes in pieces: no secret slips through between two.
#[derive(Debug)]
pub(super) struct MaskedStream<'a> {
    secrets: &'a Secrets,
    kept: Vec<u8>,
}

impl<'a> MaskedStream<'a> {
    pub(super) fn new(secrets: &'a Secrets) -> Self {
        Self {
            secrets,
            kept: Vec::new(),
        }
    }

    /// Takes a piece and hands on what is certain.
    pub(super) fn feed(&mut self, piece: &[u8], mut pass: impl FnMut(&[u8])) {
        self.kept.extend_from_slice(piece);
        let certain = match memchr::memrchr(b'\n', &self.kept) {
            Some(end) => end + 1,
            None if self.kept.len() < MAX_LINE_BYTES => return,
            None => {
                // What was masked cannot be found again; only its end may be
                // the start of a secret.
                let masked = self.secrets.mask(&self.kept).into_owned();
                self.kept = masked;
                self.kept.len().saturating_sub(self.secrets.longest())
            }
        };
        let rest = self.kept.split_off(certain);
        pass(&self.secrets.mask(&self.kept));
        self.kept = rest;
    }

    /// Hands on what was kept back.
    pub(super) fn end(&mut self, mut pass: impl FnMut(&[u8])) {
        let kept = std::mem::take(&mut self.kept);
        if !kept.is_empty() {
            pass(&self.secrets.mask(&kept));
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
