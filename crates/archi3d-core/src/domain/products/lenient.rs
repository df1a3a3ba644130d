//! The bytes of a products file as strict JSON: what Python's `json` writes
//! beyond the standard is replaced on the way.
//!
//! `NaN` and the infinities become empty text, halves of surrogate pairs become
//! U+FFFD, each of the same length, so that lines and columns stay right. Texts
//! far beyond what a table cell takes are cut, so that none costs memory.
//! It judges nothing else: broken JSON stays broken.

use std::io::{self, Read};

use memchr::{memchr2, memchr3};

/// How many bytes of one text are passed on.
const MAX_TEXT: usize = 1 << 20;

const CHUNK: usize = 1 << 16;

/// The longest thing that is looked at as a whole: two escapes of a pair.
const LOOK_AHEAD: usize = 12;

/// What is replaced outside texts, each by empty text as long.
const NO_NUMBERS: [(&[u8], &[u8]); 3] = [
    (b"NaN", b"\"\" "),
    (b"-Infinity", b"\"\"       "),
    (b"Infinity", b"\"\"      "),
];

/// Reads strict JSON out of what is almost JSON.
pub(super) struct Lenient<R> {
    input: R,
    raw: Vec<u8>,
    at: usize,
    ended: bool,
    ready: Vec<u8>,
    given: usize,
    /// The length of the text we are in so far.
    text: Option<usize>,
    /// How many texts were cut.
    pub(super) cut: usize,
}

impl<R: Read> Lenient<R> {
    pub(super) fn new(input: R) -> Self {
        Self {
            input,
            raw: Vec::new(),
            at: 0,
            ended: false,
            ready: Vec::new(),
            given: 0,
            text: None,
            cut: 0,
        }
    }

    fn refill(&mut self) -> io::Result<()> {
        self.raw.drain(..self.at);
        self.at = 0;
        let before = self.raw.len();
        let mut input = (&mut self.input).take(CHUNK as u64);
        input.read_to_end(&mut self.raw)?;
        self.ended = self.raw.len() == before;
        Ok(())
    }

    /// Passes on everything that can be judged without the next chunk.
    fn convert(&mut self) {
        let keep = if self.ended { 0 } else { LOOK_AHEAD };
        let end = self.raw.len().saturating_sub(keep);
        while self.at < end {
            match self.text {
                None => self.outside(end),
                Some(length) => self.inside(length, end),
            }
        }
    }

    fn outside(&mut self, end: usize) {
        let rest = &self.raw[self.at..];
        let replaced = NO_NUMBERS.iter().find(|(word, _)| rest.starts_with(word));
        if let Some((word, text)) = replaced {
            self.ready.extend_from_slice(text);
            self.at += word.len();
            return;
        }
        let here = rest[0];
        if here == b'"' {
            self.text = Some(0);
        }
        let after = self.at + 1;
        let plain = if here == b'"' {
            0
        } else {
            let rest = &self.raw[after..end.max(after)];
            let plain = memchr3(b'"', b'N', b'I', rest).unwrap_or(rest.len());
            memchr::memchr(b'-', &rest[..plain]).unwrap_or(plain)
        };
        self.ready
            .extend_from_slice(&self.raw[self.at..after + plain]);
        self.at = after + plain;
    }

    fn inside(&mut self, length: usize, end: usize) {
        let rest = &self.raw[self.at..];
        let (taken, shown): (usize, &[u8]) = match rest[0] {
            b'"' => {
                self.text = None;
                self.ready.push(b'"');
                self.at += 1;
                return;
            }
            b'\\' => escape(rest),
            _ => {
                let plain = memchr2(b'"', b'\\', rest).unwrap_or(rest.len());
                let plain = plain.min(end - self.at).max(1);
                (plain, &rest[..plain])
            }
        };
        let room = MAX_TEXT.saturating_sub(length);
        if taken <= room {
            self.ready.extend_from_slice(shown);
            self.text = Some(length + taken);
        } else if length <= MAX_TEXT {
            if shown[0] != b'\\' {
                let shown = &shown[..char_boundary(shown, room)];
                self.ready.extend_from_slice(shown);
            }
            self.cut += 1;
            // Once something was left out, everything after it is, too.
            self.text = Some(MAX_TEXT + 1);
        }
        self.at += taken;
    }
}

/// Returns how long the escape at the start is, and what stands for it.
fn escape(rest: &[u8]) -> (usize, &[u8]) {
    const REPLACEMENT: &[u8] = br"\uFFFD";
    match unit(rest) {
        Some(0xD800..=0xDBFF) => match rest.get(6..).and_then(unit) {
            Some(0xDC00..=0xDFFF) => (12, &rest[..12]),
            _ => (6, REPLACEMENT),
        },
        Some(0xDC00..=0xDFFF) => (6, REPLACEMENT),
        Some(_) => (6, &rest[..6]),
        None => {
            let length = rest.len().min(2);
            (length, &rest[..length])
        }
    }
}

/// Returns the number of a `\uXXXX` at the start.
fn unit(rest: &[u8]) -> Option<u16> {
    let digits = rest.strip_prefix(br"\u")?.get(..4)?;
    let all = digits.iter().all(u8::is_ascii_hexdigit);
    let digits = all.then(|| str::from_utf8(digits).ok()).flatten()?;
    u16::from_str_radix(digits, 16).ok()
}

/// Returns the last place up to `at` where no letter is cut in two; behind the
/// rest of a letter that began earlier, if there is none.
fn char_boundary(bytes: &[u8], at: usize) -> usize {
    let continues = |byte: &u8| byte & 0xC0 == 0x80;
    let starts = |at: &usize| bytes.get(*at).is_some_and(|byte| !continues(byte));
    let last = (0..=at).rev().find(starts);
    last.unwrap_or_else(|| bytes.iter().take_while(|byte| continues(byte)).count())
}

impl<R: Read> Read for Lenient<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.given == self.ready.len() {
            if self.ended && self.at == self.raw.len() {
                return Ok(0);
            }
            self.ready.clear();
            self.given = 0;
            self.refill()?;
            self.convert();
        }
        let count = buffer.len().min(self.ready.len() - self.given);
        buffer[..count].copy_from_slice(&self.ready[self.given..][..count]);
        self.given += count;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Gives one byte at a time, as the worst input would.
    struct Slowly<'a>(&'a [u8]);

    impl Read for Slowly<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let count = buffer.len().min(self.0.len()).min(1);
            buffer[..count].copy_from_slice(&self.0[..count]);
            self.0 = &self.0[count..];
            Ok(count)
        }
    }

    fn strict(text: &[u8]) -> (Vec<u8>, usize) {
        let mut reader = Lenient::new(Slowly(text));
        let mut out = Vec::new();
        reader.read_to_end(&mut out).expect("readable");
        (out, reader.cut)
    }

    #[test]
    fn what_is_no_number_becomes_empty_text_of_the_same_length() {
        for (given, expected) in [
            ("[NaN,-Infinity]", r#"["" ,""       ]"#),
            (r#"{"a":Infinity}"#, r#"{"a":""      }"#),
            (
                r#"["NaN","-Infinity \"NaN"]"#,
                r#"["NaN","-Infinity \"NaN"]"#,
            ),
            ("[-1, null, 2e-5]", "[-1, null, 2e-5]"),
            ("[Nan", "[Nan"),
        ] {
            assert_eq!(
                String::from_utf8_lossy(&strict(given.as_bytes()).0),
                expected
            );
        }
    }

    #[test]
    fn half_a_surrogate_pair_is_replaced_and_a_whole_one_kept() {
        for (given, expected) in [
            (r#""\ud83e\ude91""#, r#""\ud83e\ude91""#),
            (r#""\ud83e x""#, r#""\uFFFD x""#),
            (r#""\ude91""#, r#""\uFFFD""#),
            (r#""\ud83e\ud83e\ude91""#, r#""\uFFFD\ud83e\ude91""#),
            (r#""\\ud83e""#, r#""\\ud83e""#),
            (r#""\ud83e"#, r#""\uFFFD"#),
            (r#""\"#, r#""\"#),
        ] {
            assert_eq!(
                String::from_utf8_lossy(&strict(given.as_bytes()).0),
                expected
            );
        }
    }

    #[test]
    fn a_text_beyond_any_cell_is_cut_between_letters_and_counted() {
        for first in ["", "x"] {
            let long = first.to_owned() + &"è".repeat(MAX_TEXT) + "\\n\\\"";
            let (out, cut) = strict(format!("[\"{long}\", 1]").as_bytes());
            let value: serde_json::Value = serde_json::from_slice(&out).expect("JSON");
            let kept = value[0].as_str().expect("text").len();
            assert!((MAX_TEXT - 1..MAX_TEXT + 2).contains(&kept), "{kept}");
            assert_eq!((value[1].as_u64(), cut), (Some(1), 1));
        }
    }

    proptest! {
        #[test]
        fn strict_json_stays_as_it_is(text in "(\\PC|\\\\|\"){0,40}") {
            let json = serde_json::json!([text, {text.clone(): [-1.5, null]}]).to_string();
            prop_assert_eq!(strict(json.as_bytes()), (json.into_bytes(), 0));
        }
    }
}
