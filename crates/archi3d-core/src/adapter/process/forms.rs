//! The ways in which a secret can be written down, as one pattern of bytes.
//!
//! Every letter may stand as it is, as `%XX` of an address (in capitals or not, also
//! twice), as an escape of JSON or HTML, and the whole may stand in base64 at any
//! offset, as in `Authorization: Basic`, or in hexadecimal digits.

use std::fmt::Write as _;

/// Longer values are looked for as they are and line by line only.
const MAX_SPELLED_BYTES: usize = 4096;

/// Shorter pieces occur by chance.
const MIN_BYTES: usize = 8;

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Returns the patterns that find `value`, each with how long a match can be.
pub(super) fn patterns(value: &str) -> Vec<(String, usize)> {
    let mut found = Vec::new();
    let value = value.trim();
    for piece in std::iter::once(value).chain(value.lines().map(str::trim)) {
        if piece.len() < MIN_BYTES || (piece == value && !found.is_empty()) {
            continue;
        }
        if piece.len() > MAX_SPELLED_BYTES {
            found.push((bytes(piece.as_bytes()), piece.len()));
        } else {
            found.push((
                piece.chars().map(letter).collect(),
                piece.len() * LONGEST_LETTER,
            ));
            found.extend(in_base64(piece.as_bytes()));
            found.push((digits(piece.as_bytes()), piece.len() * 2));
        }
    }
    found
}

/// How long one byte of a value can become: `%252541` or half of `\u00e4`.
const LONGEST_LETTER: usize = 8;

/// Returns a pattern for these bytes as they are.
fn bytes(bytes: &[u8]) -> String {
    let mut pattern = String::new();
    for byte in bytes {
        let _ = write!(pattern, "\\x{byte:02x}");
    }
    pattern
}

/// Returns a pattern for hexadecimal digits in capitals or not.
fn digits(bytes: &[u8]) -> String {
    let mut pattern = String::new();
    for byte in bytes {
        for digit in format!("{byte:02x}").chars() {
            if digit.is_ascii_digit() {
                pattern.push(digit);
            } else {
                let _ = write!(pattern, "[{digit}{}]", digit.to_ascii_uppercase());
            }
        }
    }
    pattern
}

/// Returns a pattern for one letter in every way to write it.
fn letter(c: char) -> String {
    let mut buffer = [0; 4];
    let raw = c.encode_utf8(&mut buffer).as_bytes();
    let mut pattern = format!("(?:{}|", bytes(raw));
    for byte in raw {
        let _ = write!(pattern, "%(?:25){{0,2}}{}", digits(&[*byte]));
    }
    let mut units = [0; 2];
    pattern.push('|');
    for unit in c.encode_utf16(&mut units) {
        let _ = write!(pattern, "\\\\u{}", digits(&unit.to_be_bytes()));
    }
    let others: &[&str] = match c {
        '\n' => &["\\n"],
        '\r' => &["\\r"],
        '\t' => &["\\t"],
        ' ' => &["+"],
        '/' => &["\\/"],
        '\\' => &["\\\\"],
        '"' => &["\\\"", "&quot;", "&#34;"],
        '\'' => &["\\'", "&#39;", "&#x27;"],
        '&' => &["&amp;", "&#38;"],
        '<' => &["&lt;"],
        '>' => &["&gt;"],
        _ => &[],
    };
    for other in others {
        let _ = write!(pattern, "|{}", bytes(other.as_bytes()));
    }
    pattern.push(')');
    pattern
}

/// Returns patterns for the value within base64: what stands before it shifts its
/// bits by 0, 2 or 4, what stands after it changes only its last letter.
fn in_base64(value: &[u8]) -> impl Iterator<Item = (String, usize)> {
    (0..3).map(|before| {
        let mut shifted = vec![0; before];
        shifted.extend_from_slice(value);
        let letters = shifted.len() * 8 / 6;
        // Letters that hold bits of what stands before.
        let first = [0, 2, 3][before];
        let mut pattern = String::new();
        for index in first..letters {
            pattern.push_str(&base64_letter(&shifted, index));
        }
        pattern.push_str("[A-Za-z0-9+/_=-]{0,4}");
        (pattern, letters * 4 + 4)
    })
}

/// Returns the letter at `index` of the base64 of `bytes`, in either alphabet.
fn base64_letter(bytes: &[u8], index: usize) -> String {
    let bit = index * 6;
    let two = |at: usize| u16::from(bytes.get(at).copied().unwrap_or_default());
    let window = two(bit / 8) << 8 | two(bit / 8 + 1);
    let place = usize::from(window >> (10 - bit % 8)) & 0x3f;
    match BASE64[place] {
        b'+' => "(?:[+-]|%2[bB])".to_owned(),
        b'/' => "(?:\\\\?/|_|%2[fF])".to_owned(),
        letter => char::from(letter).to_string(),
    }
}
