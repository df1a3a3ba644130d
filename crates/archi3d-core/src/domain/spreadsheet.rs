//! What spreadsheets make of job ids when they save a table: an id that looks like a
//! number comes back as another number, or as the same one written in another way.

use std::collections::HashMap;

/// Tells whether a spreadsheet may take this id for a number: it has nothing but digits,
/// or digits and one `e`.
pub fn looks_like_number(id: &str) -> bool {
    let letters = id.bytes().filter(|byte| !byte.is_ascii_digit());
    let letters: Vec<u8> = letters.collect();
    !id.is_empty() && (letters.is_empty() || letters.eq_ignore_ascii_case(b"e"))
}

/// Ids that are known, to find again what a spreadsheet made of them.
#[derive(Debug, Default)]
pub struct KnownIds<'a> {
    /// Those that are numbers, by size.
    numbers: Vec<(f64, &'a str)>,
    /// All of them, without what a spreadsheet adds or drops; nothing where two are alike.
    texts: HashMap<String, Option<&'a str>>,
}

impl<'a> KnownIds<'a> {
    /// Takes the ids that are known.
    pub fn new(ids: impl IntoIterator<Item = &'a str>) -> Self {
        let mut known = Self::default();
        for id in ids {
            if let Some((value, _)) = number(id) {
                known.numbers.push((value, id));
            }
            let alike = known.texts.entry(plain(id)).or_insert(Some(id));
            if alike.is_some_and(|other| other != id) {
                *alike = None;
            }
        }
        known.numbers.sort_by(|a, b| a.0.total_cmp(&b.0));
        known
    }

    /// Returns the id that a spreadsheet has turned into `cell`; nothing if there is none
    /// or more than one, or if `cell` is an id itself.
    pub fn original_of(&self, cell: &str) -> Option<&'a str> {
        match self.texts.get(&plain(cell)) {
            Some(Some(id)) => return Some(*id).filter(|id| *id != cell),
            Some(None) => return None,
            None => {}
        }
        let (value, within) = number(cell)?;
        let from = self
            .numbers
            .partition_point(|(known, _)| *known < value - within);
        let alike = self.numbers[from..].iter();
        let mut alike = alike.take_while(|(known, _)| *known <= value + within);
        let (_, id) = alike.next()?;
        alike.next().is_none().then_some(*id)
    }
}

/// Tells whether two cells hold the same number, one of them as a spreadsheet saves it:
/// without leading zeros, with a decimal point, or rounded to a power of ten.
pub fn is_same_number(a: &str, b: &str) -> bool {
    let digits = |text: &str| {
        let text = plain(text);
        let whole = text.strip_suffix(".0").unwrap_or(&text);
        let digits = whole.trim_start_matches('0').to_owned();
        let is_number = !whole.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then_some(digits)
    };
    if let (Some(a), Some(b)) = (digits(a), digits(b)) {
        return a == b;
    }
    match (number(a), number(b)) {
        (Some((a, a_within)), Some((b, b_within))) => (a - b).abs() <= a_within.max(b_within),
        _ => false,
    }
}

/// Returns a text without case, blanks and quotes.
fn plain(text: &str) -> String {
    let kept = text
        .chars()
        .filter(|c| !c.is_whitespace() && !matches!(c, '\'' | '"' | '\u{feff}' | '\u{200b}'));
    kept.collect::<String>().to_ascii_lowercase()
}

/// Reads a number as spreadsheets write them, and how far it may be off.
fn number(text: &str) -> Option<(f64, f64)> {
    let text = plain(text);
    let (mantissa, exponent) = match text.split_once('e') {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (text.as_str(), None),
    };
    let exponent: i32 = exponent.unwrap_or("0").parse().ok()?;
    let (whole, fraction) = split(mantissa)?;
    let value: f64 = format!("{whole}.{fraction}e{exponent}").parse().ok()?;
    let digits = i32::try_from(fraction.len()).ok()?;
    // Half of the last digit that is shown, and what a binary number loses.
    let last = 10f64.powi(exponent.saturating_sub(digits));
    let within = 0.5 * last + value * 1e-12;
    (value.is_finite() && within.is_finite()).then_some((value, within))
}

/// Splits digits at the point or comma that is no separator of thousands.
fn split(mantissa: &str) -> Option<(String, &str)> {
    let marks: Vec<usize> = mantissa
        .bytes()
        .enumerate()
        .filter_map(|(at, byte)| (!byte.is_ascii_digit()).then_some(at))
        .collect();
    let is_mark = |at: &usize| matches!(mantissa.as_bytes()[*at], b'.' | b',');
    if mantissa.is_empty() || !marks.iter().all(is_mark) {
        return None;
    }
    let last = marks.last().copied();
    let thousands = marks.len() > 1 && last.is_some_and(|at| mantissa.len() - at == 4);
    let (whole, fraction) = match last.filter(|_| !thousands) {
        Some(at) => (&mantissa[..at], &mantissa[at + 1..]),
        None => (mantissa, ""),
    };
    let whole: String = whole.chars().filter(char::is_ascii_digit).collect();
    (!whole.is_empty()).then_some((whole, fraction))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_digits_and_one_e_look_like_numbers() {
        for id in [
            "123456789012",
            "1e5",
            "12E34",
            "e12345678901",
            "123456e78901",
        ] {
            assert!(looks_like_number(id), "{id}");
        }
        for id in ["", "12345678901a", "1ee5", "d610ebfd455b", "1.5"] {
            assert!(!looks_like_number(id), "{id}");
        }
    }

    #[test]
    fn what_a_spreadsheet_made_of_an_id_is_found_again() {
        let known = KnownIds::new([
            "123456789012",
            "001234567890",
            "d610ebfd455b",
            "00000012e345",
            "1234567e8901",
        ]);
        for (cell, id) in [
            ("1.23457E+11", "123456789012"),
            ("1,23457E+11", "123456789012"),
            ("1.23456789012E+11", "123456789012"),
            ("123456789012.0", "123456789012"),
            ("123,456,789,012", "123456789012"),
            ("123.456.789.012", "123456789012"),
            ("123 456 789 012", "123456789012"),
            ("'123456789012", "123456789012"),
            ("1234567890", "001234567890"),
            ("1.23457E+09", "001234567890"),
            ("D610EBFD455B", "d610ebfd455b"),
            (" d610ebfd455b ", "d610ebfd455b"),
        ] {
            assert_eq!(known.original_of(cell), Some(id), "{cell}");
        }
        for cell in [
            "123456789012",
            "1.3E+11",
            "a1b2",
            "",
            "Jan 23",
            "inf",
            "nan",
        ] {
            assert_eq!(known.original_of(cell), None, "{cell}");
        }
    }

    #[test]
    fn an_id_that_could_be_two_is_none() {
        let known = KnownIds::new(["123456789012", "123456789013"]);
        assert_eq!(known.original_of("1.23457E+11"), None);
        assert_eq!(known.original_of("123456789013.0"), Some("123456789013"));
    }
}
