//! YAML as plain data, read strictly: no key twice, no tags, no alias bombs.
//!
//! The parser reports positions only with errors, so the line of a key is found
//! by reading the text once more and failing on purpose when the key comes.

use std::cell::Cell;
use std::fmt;
use std::path::{Path, PathBuf};

use serde::de::{self, DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use serde_yaml::Deserializer;

use crate::config::error::ConfigError;
use crate::config::file;
use crate::config::origin::Origin;
use crate::config::syntax;
use crate::domain::text::one_line;

/// How many values a file may have once its aliases are written out.
const MAX_NODES: usize = 200_000;

/// How many bytes its texts may have then.
const MAX_TEXT_BYTES: usize = 8 << 20;

/// How many brackets may be open at once.
const MAX_OPEN_BRACKETS: usize = 500;

/// How much of a message is shown.
const MAX_MESSAGE_CHARS: usize = 400;

/// One configuration file.
#[derive(Debug)]
pub(super) struct Document {
    path: PathBuf,
    text: String,
    /// What it says; a file without content is an empty map.
    pub(super) root: Map<String, Value>,
    /// What it is called in `config show`.
    pub(super) origin: Origin,
}

impl Document {
    /// Reads `path`, if it exists.
    pub(super) fn read(path: &Path) -> Result<Option<Self>, ConfigError> {
        file::read_text(path)?
            .map(|text| Self::parse(path, text, Origin::File(path.to_owned())))
            .transpose()
    }

    /// Reads a file that is embedded in the program.
    pub(super) fn shipped(name: &str, text: &str) -> Result<Self, ConfigError> {
        Self::parse(Path::new(name), text.to_owned(), Origin::Shipped)
    }

    fn parse(path: &Path, text: String, origin: Origin) -> Result<Self, ConfigError> {
        let invalid = |line, message: String| ConfigError::Invalid {
            path: path.to_owned(),
            line,
            message,
        };
        if let Some(line) = too_deep(&text) {
            let message = "brackets are nested too deeply here".to_owned();
            return Err(invalid(Some(line), message));
        }
        let root = if has_content(&text) {
            let budget = Budget::default();
            Node(&budget)
                .deserialize(Deserializer::from_str(&text))
                .map_err(|error| {
                    let said = error.to_string();
                    match syntax::explain(&text, &said, line(&error)) {
                        Some((line, message)) => invalid(Some(line), presentable(&message)),
                        None => invalid(line(&error), message(&error)),
                    }
                })?
        } else {
            Value::Null
        };
        let root = match root {
            Value::Object(map) => map,
            Value::Null => Map::new(),
            _ => {
                return Err(invalid(
                    Some(1),
                    "the file must be a map of `key: value`".into(),
                ));
            }
        };
        Ok(Self {
            path: path.to_owned(),
            text,
            root,
            origin,
        })
    }

    /// Returns the folder the file is in.
    pub(super) fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new(""))
    }

    /// Makes the error that says `message` about the key at `keys`.
    pub(super) fn fault(&self, keys: &[&str], message: impl Into<String>) -> ConfigError {
        ConfigError::Invalid {
            path: self.path.clone(),
            line: line_of(&self.text, keys),
            message: presentable(&message.into()),
        }
    }
}

/// Keys come from outside: they may be long or hold control characters.
fn presentable(message: &str) -> String {
    let line = one_line(message);
    match line.char_indices().nth(MAX_MESSAGE_CHARS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

/// Tells whether there is more than comments, blank lines and document marks.
fn has_content(text: &str) -> bool {
    text.lines()
        .map(str::trim)
        .any(|line| !(line.is_empty() || line.starts_with('#') || line == "---" || line == "..."))
}

/// Returns the line where brackets are nested so deeply that the parser, whose
/// time grows with the square of the depth, would seem to hang. Brackets in
/// texts and remarks are counted too: no real file has that many open.
fn too_deep(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    for (number, line) in (1..).zip(text.lines()) {
        for byte in line.bytes() {
            match byte {
                b'[' | b'{' => depth += 1,
                b']' | b'}' => depth = depth.saturating_sub(1),
                _ => {}
            }
            if depth > MAX_OPEN_BRACKETS {
                return Some(number);
            }
        }
    }
    None
}

fn line(error: &serde_yaml::Error) -> Option<usize> {
    error.location().map(|location| location.line())
}

fn message(error: &serde_yaml::Error) -> String {
    let text = error.to_string();
    // The line stands before the message already.
    presentable(text.split(" at line ").next().unwrap_or(&text))
}

/// Returns the line of the key that `keys` lead to.
fn line_of(text: &str, keys: &[&str]) -> Option<usize> {
    let found = Search(keys).deserialize(Deserializer::from_str(text));
    found.err().and_then(|error| line(&error))
}

/// What is left of what a document may unfold to.
#[derive(Default)]
struct Budget {
    nodes: Cell<usize>,
    bytes: Cell<usize>,
}

impl Budget {
    fn spend<E: de::Error>(&self, bytes: usize) -> Result<(), E> {
        self.nodes.set(self.nodes.get() + 1);
        self.bytes.set(self.bytes.get() + bytes);
        if self.nodes.get() > MAX_NODES || self.bytes.get() > MAX_TEXT_BYTES {
            return Err(E::custom("the file unfolds to too much; use fewer aliases"));
        }
        Ok(())
    }
}

struct Node<'b>(&'b Budget);

impl<'de> DeserializeSeed<'de> for Node<'_> {
    type Value = Value;

    fn deserialize<D: de::Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Node<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("text, a number, true or false, a list or a map")
    }

    fn visit_unit<E: de::Error>(self) -> Result<Value, E> {
        self.0.spend(0).map(|()| Value::Null)
    }

    fn visit_none<E: de::Error>(self) -> Result<Value, E> {
        self.visit_unit()
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<Value, E> {
        self.0.spend(0).map(|()| Value::Bool(value))
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Value, E> {
        self.0.spend(0).map(|()| value.into())
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Value, E> {
        self.0.spend(0).map(|()| value.into())
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Value, E> {
        self.0.spend(0)?;
        match Number::from_f64(value) {
            Some(number) => Ok(Value::Number(number)),
            None => Err(E::custom("the number must be finite")),
        }
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<Value, E> {
        self.0.spend(value.len()).map(|()| value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        self.0.spend(0)?;
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(Node(self.0))? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        self.0.spend(0)?;
        let mut map = Map::new();
        while let Some(key) = entries.next_key_seed(NewKey(self.0, &map))? {
            map.insert(key, entries.next_value_seed(Node(self.0))?);
        }
        Ok(Value::Object(map))
    }

    fn visit_enum<A: de::EnumAccess<'de>>(self, _: A) -> Result<Value, A::Error> {
        Err(de::Error::custom(
            "tags that start with `!` are not supported",
        ))
    }
}

/// A key that must not stand in the map yet; taken as it is written.
struct NewKey<'a>(&'a Budget, &'a Map<String, Value>);

impl<'de> DeserializeSeed<'de> for NewKey<'_> {
    type Value = String;

    fn deserialize<D: de::Deserializer<'de>>(self, deserializer: D) -> Result<String, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for NewKey<'_> {
    type Value = String;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a plain key")
    }

    fn visit_str<E: de::Error>(self, key: &str) -> Result<String, E> {
        self.0.spend(key.len())?;
        if key == "<<" {
            return Err(E::custom(
                "merge keys (`<<`) are not supported; write the keys out",
            ));
        }
        if self.1.contains_key(key) {
            return Err(E::custom(format!("duplicate key `{key}`; keep one")));
        }
        Ok(key.to_owned())
    }
}

/// Walks down a path of keys and fails where the last one stands.
struct Search<'a>(&'a [&'a str]);

impl<'de> DeserializeSeed<'de> for Search<'_> {
    type Value = ();

    fn deserialize<D: de::Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Search<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<(), A::Error> {
        while let Some(on_path) = entries.next_key_seed(SoughtKey(self.0))? {
            if on_path {
                entries.next_value_seed(Search(&self.0[1..]))?;
            } else {
                entries.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }
}

struct SoughtKey<'a>(&'a [&'a str]);

impl<'de> DeserializeSeed<'de> for SoughtKey<'_> {
    type Value = bool;

    fn deserialize<D: de::Deserializer<'de>>(self, deserializer: D) -> Result<bool, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for SoughtKey<'_> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E: de::Error>(self, key: &str) -> Result<bool, E> {
        match self.0 {
            [last] if *last == key => Err(E::custom("found")),
            [next, _, ..] => Ok(*next == key),
            _ => Ok(false),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parse(text: &str) -> Result<Value, String> {
        Document::shipped("x.yaml", text)
            .map(|document| Value::Object(document.root))
            .map_err(|error| error.to_string())
    }

    #[test]
    fn values_keep_their_types_and_keys_their_text() {
        assert_eq!(
            parse("a: 1\nb: [x, 0.5, true, null]\n007: {c: '1'}\nyes: -3\n"),
            Ok(json!({"a": 1, "b": ["x", 0.5, true, null], "007": {"c": "1"}, "yes": -3}))
        );
    }

    #[test]
    fn a_file_without_content_is_an_empty_map() {
        for text in ["", "\n", "# only a remark\n", "---\n# x\n...\n"] {
            assert_eq!(parse(text), Ok(json!({})), "{text:?}");
        }
        assert!(parse("- a\n").is_err());
    }

    #[test]
    fn a_key_that_stands_twice_is_refused_with_its_line() {
        assert_eq!(
            parse("a:\n  b: 1\n  c: 2\n  b: 3\n").expect_err("twice"),
            "x.yaml:4: a: duplicate key `b`; keep one"
        );
        assert!(parse("a: {b: 1, b: 2}").is_err());
        assert!(parse("a: {b: 1}\nc: {b: 1}\n").is_ok());
    }

    #[test]
    fn a_message_about_a_hostile_key_is_short_and_plain() {
        let key = format!("\"\\e[31m{}\"", "x".repeat(100_000));
        let message = parse(&format!("{key}: 1\n{key}: 2\n")).expect_err("twice");
        assert!(message.len() < 500 && !message.contains('\u{1b}'));
    }

    #[test]
    fn broken_yaml_is_refused_with_its_line() {
        let message = parse("a: 1\nb: }\nc: 2\n").expect_err("broken");
        assert!(message.starts_with("x.yaml:2: "), "{message}");
        let message = parse("a: 1\n\tb: 2\n").expect_err("a tab");
        assert!(message.starts_with("x.yaml:2: "), "{message}");
        assert!(parse("a: !python/object x\n").is_err());
        assert!(parse("a: 1\n---\nb: 2\n").is_err());
        assert!(parse("a: *missing\n").is_err());
        assert!(parse("a: .inf\n").is_err());
        assert!(parse("? [a, b]\n: 1\n").is_err());
        assert!(parse("a: &x {b: 1}\nc:\n  <<: *x\n").is_err());
    }

    #[test]
    fn an_alias_bomb_is_refused_before_it_unfolds() {
        let level = |n: usize| match n {
            0 => "a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned(),
            n => format!(
                "a{n}: &a{n} [{}]\n",
                vec![format!("*a{}", n - 1); 9].join(", ")
            ),
        };
        let bomb: String = (0..10).map(level).collect();
        assert!(parse(&bomb).is_err());
        let wide = format!(
            "a: &a {}\nb: [{}]\n",
            "x".repeat(100_000),
            "*a, ".repeat(1000)
        );
        assert!(parse(&wide).expect_err("too much").contains("aliases"));
        let deep = parse(&"[".repeat(1_000_000)).expect_err("too deep");
        assert_eq!(deep, "x.yaml:1: brackets are nested too deeply here");
        assert!(parse(&"{a: ".repeat(400)).is_err());
        assert!(parse("a: &a {b: 1}\nc: *a\n").is_ok());
    }

    #[test]
    fn the_line_of_a_key_is_found_wherever_it_stands() {
        let text = "# x\na:\n  b: 'c: 1'\n\n  c:\n    d: 1\nflow: {e: 1,\n  f: 2}\n\"q\": 1\n";
        for (keys, line) in [
            (&["a"] as &[&str], 2),
            (&["a", "c"], 5),
            (&["a", "c", "d"], 6),
            (&["flow", "f"], 8),
            (&["q"], 9),
        ] {
            assert_eq!(line_of(text, keys), Some(line), "{keys:?}");
        }
        assert_eq!(line_of(text, &["d"]), None);
    }
}
