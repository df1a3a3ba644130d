//! The bytes of a table: where a record ends, where its fields are, what a
//! field says, and how we write one.
//!
//! Used by [`super::table`] alone. It knows nothing of headers or columns, and
//! it never guesses: a quote that stays open is an error, not a long field.

use std::borrow::Cow;
use std::ops::Range;

use memchr::{memchr, memchr2, memchr3};

/// The byte order mark that every table of ours starts with.
pub(crate) const BOM: &[u8] = b"\xEF\xBB\xBF";

/// A quoted field without an end; holds the position of its opening quote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct UnclosedQuote(pub(crate) usize);

/// Returns where the record or blank line that starts at `start` is over, its
/// line end included.
pub(crate) fn record_end(bytes: &[u8], start: usize) -> Result<usize, UnclosedQuote> {
    let mut position = start;
    while let Some(found) = memchr2(b'\n', b'"', &bytes[position..]) {
        let at = position + found;
        position = at + 1;
        if bytes[at] == b'\n' {
            return Ok(position);
        }
        // Outside quotes every comma ends a field, so this is the field's first byte.
        let opens = at == start || bytes[at - 1] == b',';
        if opens {
            position = after_quoted(bytes, at).ok_or(UnclosedQuote(at))?;
        }
    }
    Ok(bytes.len())
}

/// Returns the position after the quote that closes the one at `open`.
fn after_quoted(bytes: &[u8], open: usize) -> Option<usize> {
    let mut position = open + 1;
    loop {
        let quote = position + memchr(b'"', bytes.get(position..)?)?;
        if bytes.get(quote + 1) != Some(&b'"') {
            return Some(quote + 1);
        }
        position = quote + 2;
    }
}

/// Tells whether a line holds nothing but its end.
pub(crate) fn is_blank(line: &[u8]) -> bool {
    matches!(line, b"" | b"\n" | b"\r\n")
}

/// Returns how long a record is without its line end and the blank lines after it.
pub(crate) fn content_len(slot: &[u8]) -> usize {
    // A record never ends in a line feed of its own: inside quotes one is
    // followed by the closing quote. So every one at the end is a line end.
    let mut content = slot;
    while let Some(rest) = content.strip_suffix(b"\n") {
        content = rest.strip_suffix(b"\r").unwrap_or(rest);
    }
    content.len()
}

/// The fields of one record, as ranges of its content.
#[derive(Debug, Clone)]
pub(crate) struct Fields<'a> {
    content: &'a [u8],
    next: Option<usize>,
}

impl<'a> Fields<'a> {
    /// Walks over `content`, a record without its line end.
    pub(crate) fn new(content: &'a [u8]) -> Self {
        Self {
            content,
            next: Some(0),
        }
    }
}

impl Iterator for Fields<'_> {
    type Item = Range<usize>;

    fn next(&mut self) -> Option<Range<usize>> {
        let start = self.next?;
        let plain_from = if self.content.get(start) == Some(&b'"') {
            after_quoted(self.content, start).unwrap_or(self.content.len())
        } else {
            start
        };
        let comma = memchr(b',', &self.content[plain_from..]).map(|found| plain_from + found);
        self.next = comma.map(|at| at + 1);
        Some(start..comma.unwrap_or(self.content.len()))
    }
}

/// Returns the number of fields of a record.
pub(crate) fn field_count(content: &[u8]) -> usize {
    if memchr(b'"', content).is_none() {
        memchr::memchr_iter(b',', content).count() + 1
    } else {
        Fields::new(content).count()
    }
}

/// Returns what a field says, without its quotes.
pub(crate) fn decode(raw: &[u8]) -> Cow<'_, [u8]> {
    if raw.first() != Some(&b'"') {
        return Cow::Borrowed(raw);
    }
    let Some(after) = after_quoted(raw, 0) else {
        return Cow::Borrowed(raw);
    };
    let (quoted, tail) = (&raw[1..after - 1], &raw[after..]);
    if tail.is_empty() && memchr(b'"', quoted).is_none() {
        return Cow::Borrowed(quoted);
    }
    let mut text = Vec::with_capacity(raw.len());
    let mut rest = quoted;
    while let Some(quote) = memchr(b'"', rest) {
        text.extend_from_slice(&rest[..=quote]);
        rest = &rest[quote + 2..];
    }
    text.extend_from_slice(rest);
    text.extend_from_slice(tail);
    Cow::Owned(text)
}

/// Writes a field, quoted only if it must be.
pub(crate) fn encode(value: &str, out: &mut Vec<u8>) {
    let bytes = value.as_bytes();
    // A lone carriage return ends a row for some readers, so it is quoted too.
    let plain = memchr3(b',', b'\n', b'\r', bytes).is_none() && memchr(b'"', bytes).is_none();
    if plain {
        out.extend_from_slice(bytes);
        return;
    }
    out.push(b'"');
    for &byte in bytes {
        if byte == b'"' {
            out.push(b'"');
        }
        out.push(byte);
    }
    out.push(b'"');
}

/// Writes a record from its values, without a line end.
pub(crate) fn encode_record<'a>(values: impl Iterator<Item = &'a str>, out: &mut Vec<u8>) {
    let start = out.len();
    for (position, value) in values.enumerate() {
        if position > 0 {
            out.push(b',');
        }
        encode(value, out);
    }
    if out.len() == start {
        // A lone empty field would read as a blank line.
        out.extend_from_slice(b"\"\"");
    }
}

/// Returns the 1-based number of the line that `position` is on.
pub(crate) fn line_at(bytes: &[u8], position: usize) -> usize {
    line_breaks(&bytes[..position]) + 1
}

/// Returns how many lines end in `bytes`.
pub(crate) fn line_breaks(bytes: &[u8]) -> usize {
    memchr::memchr_iter(b'\n', bytes).count()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn fields(content: &[u8]) -> Vec<&[u8]> {
        Fields::new(content).map(|range| &content[range]).collect()
    }

    fn encoded(value: &str) -> String {
        let mut out = Vec::new();
        encode(value, &mut out);
        String::from_utf8(out).expect("text in, text out")
    }

    #[test]
    fn a_record_ends_at_a_line_feed_outside_quotes_only() {
        assert_eq!(record_end(b"a,b\nc", 0), Ok(4));
        assert_eq!(record_end(b"a,\"x\ny\"\r\nc", 0), Ok(9));
        assert_eq!(record_end(b"a\rb\nc", 0), Ok(4));
        assert_eq!(record_end(b"a,b", 0), Ok(3));
    }

    #[test]
    fn a_quote_inside_an_unquoted_field_opens_nothing() {
        assert_eq!(record_end(b"5\" disk,x\ny", 0), Ok(10));
        assert_eq!(record_end(b"\"a\"b\"c,d\ne", 0), Ok(9));
        assert_eq!(fields(b"5\" disk,x"), [b"5\" disk".as_slice(), b"x"]);
    }

    #[test]
    fn a_quote_that_stays_open_is_reported_where_it_opened() {
        assert_eq!(record_end(b"a,\"b\nc", 0), Err(UnclosedQuote(2)));
        assert_eq!(record_end(b"a,\"b\"\"", 0), Err(UnclosedQuote(2)));
        assert_eq!(record_end(b"\"", 0), Err(UnclosedQuote(0)));
    }

    #[test]
    fn the_content_of_a_record_is_without_its_line_end_and_later_blank_lines() {
        assert_eq!(content_len(b"a,b\r\n\n\r\n"), 3);
        assert_eq!(content_len(b"a\r\r\n"), 2);
        assert_eq!(content_len(b"a\r"), 2);
        assert_eq!(content_len(b"\"a\n\"\n"), 4);
    }

    #[test]
    fn quotes_are_taken_off_and_doubled_ones_become_one() {
        assert_eq!(&*decode(b"\"say \"\"hi\"\", you\""), b"say \"hi\", you");
        assert_eq!(&*decode(b"\"\""), b"");
        assert_eq!(&*decode(b"\"\"\"\""), b"\"");
        assert_eq!(&*decode(b" \"a\""), b" \"a\"");
    }

    #[test]
    fn text_after_a_closing_quote_belongs_to_the_field() {
        assert_eq!(&*decode(b"\"a,b\"cd"), b"a,bcd");
        assert_eq!(&*decode(b"\"a\"c\"d"), b"ac\"d");
        assert_eq!(fields(b"\"a,b\"c\"d,e"), [b"\"a,b\"c\"d".as_slice(), b"e"]);
    }

    #[test]
    fn only_a_comma_a_quote_or_a_line_break_makes_us_quote() {
        assert_eq!(encoded("10%\r20%"), "\"10%\r20%\"");
        assert_eq!(encoded("a,b"), "\"a,b\"");
        assert_eq!(encoded("a\nb"), "\"a\nb\"");
        assert_eq!(encoded("5\""), "\"5\"\"\"");
        for plain in ["", " a ", "a;b", "a\tb", "it's", "nan"] {
            assert_eq!(encoded(plain), plain);
        }
    }

    #[test]
    fn a_lone_empty_field_is_not_written_as_a_blank_line() {
        let mut out = Vec::new();
        encode_record([""].into_iter(), &mut out);
        assert_eq!(out, b"\"\"");
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(value in ".{0,12}|[,\"\r\na]{0,8}") {
            let text = encoded(&value);
            prop_assert_eq!(fields(text.as_bytes()).len(), 1);
            prop_assert_eq!(&*decode(text.as_bytes()), value.as_bytes());
        }

        #[test]
        fn fields_and_commas_make_up_the_whole_record(
            bytes in proptest::collection::vec(
                prop::sample::select(b"a,,\"\"\r\n\xFF".to_vec()), 0..40),
        ) {
            let Ok(end) = record_end(&bytes, 0) else { return Ok(()) };
            let content = &bytes[..content_len(&bytes[..end])];
            prop_assert_eq!(fields(content).join(b",".as_slice()), content);
            prop_assert_eq!(fields(content).len(), field_count(content));
        }
    }
}
