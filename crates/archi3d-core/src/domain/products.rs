//! What the products file says about products, in the few fields a table takes.
//!
//! The file is read as a stream, one product at a time, and only the products
//! asked for are kept: a file of hundreds of megabytes costs no more memory
//! than a small one. The shape of its fields is judged in [`field`].

use std::collections::HashMap;
use std::fmt;
use std::io::{self, BufReader, Read};

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

pub mod field;
mod kept;
mod lenient;

use kept::Keep;
use lenient::Lenient;

const BOM: &[u8] = b"\xEF\xBB\xBF";

/// How much strict JSON is handed over at a time.
const READ_AHEAD: usize = 1 << 16;

/// What is known about a product; unknown fields are empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Enrichment {
    /// Who makes it.
    pub manufacturer: String,
    /// What it is called.
    pub product_name: String,
    /// What is said about it.
    pub description: String,
    /// Up to three levels of categories.
    pub categories: [String; 3],
}

/// What a products file says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Products {
    /// The products that were asked for, by id.
    pub found: HashMap<String, Enrichment>,
    /// How many entries the file has, products or not.
    pub entries: usize,
    /// How many texts were too long to be kept whole.
    pub cut_texts: usize,
}

/// Why a products file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ProductsError {
    /// It could not be read to its end.
    #[error("cannot be read to its end")]
    Unreadable(#[source] io::Error),
    /// It is not JSON, or not a list or object of products.
    #[error("broken JSON at line {line}, column {column}: {what}")]
    Broken {
        /// The line, from 1.
        line: usize,
        /// The column, from 1.
        column: usize,
        /// What the parser expected.
        what: String,
    },
}

impl From<serde_json::Error> for ProductsError {
    fn from(error: serde_json::Error) -> Self {
        if error.is_io() {
            return Self::Unreadable(error.into());
        }
        let (line, column) = (error.line(), error.column());
        let text = error.to_string();
        let place = format!(" at line {line} column {column}");
        let what = text.strip_suffix(&place).unwrap_or(&text).to_owned();
        Self::Broken { line, column, what }
    }
}

/// Reads a products file and returns the products whose id is `wanted`.
///
/// The file is a list of products or an object keyed by product id; a byte
/// order mark is accepted, and so is what Python's `json` writes beyond the
/// standard. The last entry of an id wins; entries that are no objects or have
/// no id are passed over.
pub fn read_products(
    mut input: impl Read,
    wanted: &dyn Fn(&str) -> bool,
) -> Result<Products, ProductsError> {
    let mut head = Vec::with_capacity(BOM.len());
    (&mut input)
        .take(BOM.len() as u64)
        .read_to_end(&mut head)
        .map_err(ProductsError::Unreadable)?;
    let start = head.strip_prefix(BOM).unwrap_or(&head);
    let mut strict = Lenient::new(start.chain(input));
    let buffered = BufReader::with_capacity(READ_AHEAD, &mut strict);
    let mut json = serde_json::Deserializer::from_reader(buffered);
    let mut products = Products::default();
    let whole = Whole {
        products: &mut products,
        wanted,
    };
    whole.deserialize(&mut json)?;
    json.end()?;
    drop(json);
    products.cut_texts = strict.cut;
    Ok(products)
}

/// The file as a whole: puts each product it meets where it belongs.
struct Whole<'a> {
    products: &'a mut Products,
    wanted: &'a dyn Fn(&str) -> bool,
}

impl Whole<'_> {
    fn keep(&mut self, id: String, entry: &Record) {
        if (self.wanted)(&id) {
            self.products.found.insert(id, entry.enrichment());
        }
    }
}

impl<'de> DeserializeSeed<'de> for Whole<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Whole<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of products or an object keyed by product id")
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut list: A) -> Result<(), A::Error> {
        while let Some(Entry(entry)) = list.next_element()? {
            self.products.entries += 1;
            if let Some(entry) = entry
                && let Some(id) = entry.id()
            {
                self.keep(id, &entry);
            }
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
        while let Some(id) = map.next_key::<String>()? {
            self.products.entries += 1;
            if !(self.wanted)(&id) {
                map.next_value::<IgnoredAny>()?;
            } else if let Entry(Some(entry)) = map.next_value()? {
                self.keep(id, &entry);
            }
        }
        Ok(())
    }
}

/// One product with the fields we read; everything else is passed over unstored.
#[derive(Default)]
struct Record {
    ids: [Value; 3],
    manufacturer: Value,
    name: Value,
    short_description: Value,
    description: Value,
    categories: Value,
}

impl Record {
    fn id(&self) -> Option<String> {
        self.ids.iter().find_map(field::id_text)
    }

    fn enrichment(&self) -> Enrichment {
        let short = field::localized(&self.short_description);
        Enrichment {
            manufacturer: field::manufacturer(&self.manufacturer).unwrap_or_default(),
            product_name: field::localized(&self.name).unwrap_or_default(),
            description: short
                .or_else(|| field::localized(&self.description))
                .unwrap_or_default(),
            categories: field::categories(&self.categories),
        }
    }
}

/// An element of the file: a record, or something that is none.
struct Entry(Option<Record>);

impl<'de> Deserialize<'de> for Entry {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(EntryVisitor)
    }
}

struct EntryVisitor;

impl<'de> Visitor<'de> for EntryVisitor {
    type Value = Entry;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a product")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Entry, A::Error> {
        let mut record = Record::default();
        while let Some(key) = map.next_key::<String>()? {
            let slot = match key.as_str() {
                "_id" => &mut record.ids[0],
                "ProductId" => &mut record.ids[1],
                "product_id" => &mut record.ids[2],
                "Manufacturer" => &mut record.manufacturer,
                "Name" => &mut record.name,
                "ShortDescription" => &mut record.short_description,
                "Description" => &mut record.description,
                "Categories" => &mut record.categories,
                _ => {
                    map.next_value::<IgnoredAny>()?;
                    continue;
                }
            };
            let keep = if key.to_ascii_lowercase().ends_with("id") {
                Keep::Id
            } else {
                Keep::TEXT
            };
            *slot = map.next_value_seed(keep)?;
        }
        Ok(Entry(Some(record)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Entry, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Entry(None))
    }

    fn visit_unit<E>(self) -> Result<Entry, E> {
        Ok(Entry(None))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Entry, E> {
        Ok(Entry(None))
    }

    fn visit_i64<E>(self, _: i64) -> Result<Entry, E> {
        Ok(Entry(None))
    }

    fn visit_u64<E>(self, _: u64) -> Result<Entry, E> {
        Ok(Entry(None))
    }

    fn visit_f64<E>(self, _: f64) -> Result<Entry, E> {
        Ok(Entry(None))
    }

    fn visit_str<E>(self, _: &str) -> Result<Entry, E> {
        Ok(Entry(None))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> HashMap<String, Enrichment> {
        let products = read_products(json.as_bytes(), &|_| true);
        products.expect("valid").found
    }

    #[test]
    fn a_list_and_an_object_keyed_by_id_are_both_understood() {
        let list = read(r#"[{"_id":"1","Name":"a"}, 7, null, "x", [1], {"Name":"no id"}]"#);
        let object = read(r#"{"1":{"Name":"a"}, "2": "x"}"#);
        assert_eq!(list, object);
        assert_eq!(list["1"].product_name, "a");
    }

    #[test]
    fn a_byte_order_mark_is_accepted() {
        assert_eq!(read("\u{feff}[{\"_id\":\"1\"}]").len(), 1);
        assert_eq!(read("{}").len(), 0);
    }

    #[test]
    fn the_id_is_the_first_that_says_something_and_the_last_duplicate_wins() {
        let found = read(
            r#"[{"_id":"","ProductId":0,"product_id":"7","Name":"old"},
                {"_id":null,"ProductId":7,"product_id":"8","Name":"new"},
                {"_id":"00123"}]"#,
        );
        assert_eq!(found["7"].product_name, "new");
        assert!(found.contains_key("00123") && !found.contains_key("123"));
    }

    #[test]
    fn a_key_that_stands_twice_is_no_error() {
        assert_eq!(
            read(r#"[{"_id":"1","Name":"a","Name":"b"}]"#)["1"].product_name,
            "b"
        );
    }

    #[test]
    fn a_short_description_that_says_nothing_falls_back_to_the_long_one() {
        let found = read(
            r#"[{"_id":"1","ShortDescription":{"Value":{"it":""}},"Description":{"en":"long"}},
                {"_id":"2","ShortDescription":"short","Description":"long"}]"#,
        );
        assert_eq!(found["1"].description, "long");
        assert_eq!(found["2"].description, "short");
    }

    #[test]
    fn what_python_writes_beyond_the_standard_is_understood() {
        let found = read(
            r#"[NaN, {"_id":"1","Name":"a\ud83e","Manufacturer":NaN,"Price":-Infinity,
                "Categories":[NaN,"A > B"]}]"#,
        );
        assert_eq!(found["1"].product_name, "a\u{fffd}");
        assert_eq!(found["1"].manufacturer, "");
        assert_eq!(found["1"].categories, ["A", "B", ""]);
    }

    #[test]
    fn only_wanted_products_are_kept() {
        let found = read_products(r#"[{"_id":"1"},{"_id":"2"}]"#.as_bytes(), &|id| id == "2");
        let found = found.expect("valid").found;
        assert_eq!(found.into_keys().collect::<Vec<_>>(), ["2"]);
    }

    #[test]
    fn broken_json_is_named_by_line_and_column() {
        for (json, message) in [
            (
                "[\n {\"_id\": \"1\" \"Name\"}]",
                "broken JSON at line 2, column 14: expected `,` or `}`",
            ),
            (
                "[{\"_id\":\"1\"}",
                "broken JSON at line 1, column 12: EOF while parsing a list",
            ),
            (
                "[] []",
                "broken JSON at line 1, column 4: trailing characters",
            ),
            (
                "7",
                "broken JSON at line 1, column 1: invalid type: integer `7`, \
                 expected a list of products or an object keyed by product id",
            ),
            (
                "",
                "broken JSON at line 1, column 0: EOF while parsing a value",
            ),
        ] {
            let error = read_products(json.as_bytes(), &|_| true).expect_err("broken");
            assert_eq!(error.to_string(), message, "{json:?}");
        }
    }
}
