//! JSON, strictly: names that stand twice and numbers that no double holds are refused, and equal
//! things have one form (RFC 8785) and one hash.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use sha2::{Digest as _, Sha256};

use crate::problem::{INVALID, MALFORMED_JSON, Problem};

/// The largest whole number that every reader of JSON takes for the same.
const MOST: u64 = (1 << 53) - 1;

/// Reads a body.
pub(crate) fn parse(body: &[u8]) -> Result<Value, Problem> {
    let mut reader = serde_json::Deserializer::from_slice(body);
    let read = Strict.deserialize(&mut reader).and_then(|value| {
        reader.end()?;
        Ok(value)
    });
    read.map_err(|error| {
        let kind = if error.is_data() {
            INVALID
        } else {
            MALFORMED_JSON
        };
        Problem::new(kind, error.to_string())
    })
}

/// Returns the hash of a value in its canonical form, with the name of the method in front.
pub(crate) fn hash(value: &Value) -> String {
    let canonical = serde_json_canonicalizer::to_vec(value).unwrap_or_default();
    format!("sha256:{}", hex(&canonical))
}

/// Returns the SHA-256 of some bytes.
pub(crate) fn hex(bytes: &[u8]) -> String {
    archi3d_core::domain::text::hex(&Sha256::digest(bytes))
}

struct Strict;

impl<'de> DeserializeSeed<'de> for Strict {
    type Value = Value;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<Value, E> {
        if value > MOST {
            return Err(too_large());
        }
        Ok(value.into())
    }

    fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<Value, E> {
        if value.unsigned_abs() > MOST {
            return Err(too_large());
        }
        Ok(value.into())
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Value, E> {
        if value.fract() == 0.0 && value.abs() > MOST as f64 {
            return Err(too_large());
        }
        let number = Number::from_f64(value);
        number.map(Value::Number).ok_or_else(too_large)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = seq.next_element_seed(Strict)? {
            values.push(value);
        }
        Ok(Value::Array(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(name) = map.next_key::<String>()? {
            if object.contains_key(&name) {
                return Err(A::Error::custom(format!(
                    "the name {name:?} is given twice"
                )));
            }
            let value = map.next_value_seed(Strict)?;
            object.insert(name, value);
        }
        Ok(Value::Object(object))
    }
}

fn too_large<E: serde::de::Error>() -> E {
    E::custom("a whole number beyond 2^53-1 is not the same everywhere; write it as a string")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hashed(text: &str) -> String {
        hash(&parse(text.as_bytes()).unwrap())
    }

    #[test]
    fn equal_payloads_have_one_hash() {
        for (a, b) in [
            (r#"{"b":1,"a":2}"#, r#"{"a":2,"b":1}"#),
            (r#"{"n":2}"#, r#"{"n":2.0}"#),
            (r#"{"n":1}"#, r#"{"n":10e-1}"#),
            (r#"{"n":0}"#, r#"{"n":-0.0}"#),
            ("{\"a\":[1,2]}", "{ \"a\" : [ 1 , 2 ] }"),
        ] {
            assert_eq!(hashed(a), hashed(b), "{a} {b}");
        }
        assert_ne!(hashed(r#"{"a":[1,2]}"#), hashed(r#"{"a":[2,1]}"#));
        assert_ne!(hashed("\"\u{e9}\""), hashed("\"e\u{301}\""));
    }

    #[test]
    fn what_a_client_cannot_have_meant_is_refused() {
        for (text, status) in [
            (r#"{"a":1,"a":2}"#, 422),
            ("9007199254740993", 422),
            ("18446744073709551615", 422),
            ("-9007199254740993", 422),
            ("1e400", 400),
            ("{", 400),
            ("", 400),
            ("1 2", 400),
            (r#""\ud800""#, 400),
        ] {
            let refused = parse(text.as_bytes()).expect_err(text);
            assert_eq!(refused.kind.status, status, "{text}: {}", refused.detail);
        }
    }

    #[test]
    fn the_canonical_form_is_that_of_the_standard() {
        let canonical = |text: &str| {
            let value = parse(text.as_bytes()).unwrap();
            serde_json_canonicalizer::to_string(&value).unwrap()
        };
        assert_eq!(canonical("1e-7"), "1e-7");
        assert_eq!(canonical("333333333.33333329"), "333333333.3333333");
        assert_eq!(
            canonical("{\"\u{fb33}\":1,\"\u{1f600}\":2}"),
            "{\"\u{1f600}\":2,\"\u{fb33}\":1}"
        );
    }
}
