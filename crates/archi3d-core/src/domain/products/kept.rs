//! A field of a product, kept only as far as [`super::field`] looks at it.
//!
//! Everything else in it is passed over unstored, so that a field of any size
//! costs little.

use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// The keys that are looked at, on any level.
const KEYS: [&str; 4] = ["Name", "Value", "it", "en"];

/// How many entries of a list are looked at.
const MAX_ENTRIES: usize = 10_000;

/// How deep the keys are looked for.
const MAX_DEPTH: usize = 5;

/// What is kept of a value.
#[derive(Debug, Clone, Copy)]
pub(super) enum Keep {
    /// Text and what may hold it, this many levels deep.
    Text(usize),
    /// Whether it is an id; a list or an object is one, but no product's.
    Id,
}

impl Keep {
    /// Keeps what a text field may need.
    pub(super) const TEXT: Self = Self::Text(MAX_DEPTH);

    fn inner(self) -> Option<Self> {
        match self {
            Self::Text(depth) => depth.checked_sub(1).map(Self::Text),
            Self::Id => None,
        }
    }
}

impl<'de> DeserializeSeed<'de> for Keep {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Keep {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut kept = Map::new();
        let mut any = false;
        while let Some(key) = map.next_key::<Key>()? {
            any = true;
            match (key.0, self.inner()) {
                (Some(key), Some(inner)) => {
                    kept.insert(key.to_owned(), map.next_value_seed(inner)?);
                }
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(match self {
            Self::Text(_) => Value::Object(kept),
            Self::Id if any => Value::String("{…}".to_owned()),
            Self::Id => Value::Null,
        })
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        let mut kept = Vec::new();
        let mut any = false;
        while let Some(inner) = self.inner().filter(|_| kept.len() < MAX_ENTRIES) {
            let Some(value) = list.next_element_seed(inner)? else {
                return Ok(Value::Array(kept));
            };
            kept.push(value);
        }
        while list.next_element::<IgnoredAny>()?.is_some() {
            any = true;
        }
        Ok(match self {
            Self::Text(_) => Value::Array(kept),
            Self::Id if any => Value::String("[…]".to_owned()),
            Self::Id => Value::Null,
        })
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(Value::String(text.to_owned()))
    }
}

/// One of [`KEYS`], or any other.
struct Key(Option<&'static str>);

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OfText;
        impl Visitor<'_> for OfText {
            type Value = Key;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a key")
            }

            fn visit_str<E>(self, text: &str) -> Result<Key, E> {
                Ok(Key(KEYS.into_iter().find(|key| *key == text)))
            }
        }
        deserializer.deserialize_str(OfText)
    }
}
