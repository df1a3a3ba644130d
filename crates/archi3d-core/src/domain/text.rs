//! How text and numbers that we write ourselves look in a table cell.
//!
//! Other people's cells never pass through here: they keep their bytes.

/// The longest error text a cell takes, in characters.
const MAX_ERROR_CHARS: usize = 2000;

/// What is added to an error text that was cut.
const CUT_NOTE: &str = " (truncated; see error.txt)";

/// Returns `text` on one line, without control characters, cut for the table.
pub fn error_cell(text: &str) -> String {
    let line = one_line(text);
    let cut: String = line.chars().take(MAX_ERROR_CHARS).collect();
    let cut = if cut.len() < line.len() {
        cut + CUT_NOTE
    } else {
        cut
    };
    formula_safe(&cut)
}

/// Replaces every run of line breaks and control characters by one blank.
pub fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    let mut gap = false;
    for c in text.chars() {
        if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') {
            gap = true;
            continue;
        }
        if gap && !line.is_empty() && !line.ends_with(' ') && c != ' ' {
            line.push(' ');
        }
        gap = false;
        line.push(c);
    }
    line.truncate(line.trim_end().len());
    line
}

/// Returns a message with every word that has a digit in it (a number, an id, a
/// time) replaced by `#`, so that messages that say the same are equal.
pub fn pattern_of(message: &str) -> String {
    let mut pattern = String::with_capacity(message.len());
    let mut word = String::new();
    let end = |word: &mut String, pattern: &mut String| {
        if !word.contains(|c: char| c.is_ascii_digit()) {
            pattern.push_str(word);
        } else if !pattern.ends_with('#') {
            pattern.push('#');
        }
        word.clear();
    };
    for c in message.chars() {
        if c.is_alphanumeric() {
            word.push(c);
            continue;
        }
        end(&mut word, &mut pattern);
        // `1.5`, `12:30` and `a1-b2` are one thing.
        if !(pattern.ends_with('#') && matches!(c, '.' | ':' | '-' | '_' | ',')) {
            pattern.push(c);
        }
    }
    end(&mut word, &mut pattern);
    pattern
}

/// Returns `text` so that a shell takes it as one word.
pub fn shell_word(text: &str) -> String {
    let plain =
        |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | ',' | '/' | ':');
    if !text.is_empty() && text.chars().all(plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

/// Returns `count` with the words that fit one or many: `1 job is`, `2 jobs are`.
pub fn plural(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// Returns a count with its noun: `1 job`, `2 jobs`.
pub fn counted(count: usize, noun: &str) -> String {
    let ending = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{ending}")
}

/// Puts an apostrophe before text that a spreadsheet would run as a formula.
pub fn formula_safe(text: &str) -> String {
    let risky = text.starts_with(['=', '+', '-', '@', '\t', '\r', '＝', '＋', '－', '＠']);
    if risky {
        format!("'{text}")
    } else {
        text.to_owned()
    }
}

/// Writes a number the way the existing tables have it (`0.0`, `0.02`, `1e-05`).
pub fn number_cell(value: f64) -> String {
    let text = format!("{value:?}");
    let Some((digits, exponent)) = text.split_once('e') else {
        return if value != 0.0 && value.abs() < 1e-4 {
            scientific(value)
        } else {
            text
        };
    };
    with_padded_exponent(digits, exponent)
}

fn scientific(value: f64) -> String {
    let text = format!("{value:e}");
    match text.split_once('e') {
        Some((digits, exponent)) => with_padded_exponent(digits, exponent),
        None => text,
    }
}

fn with_padded_exponent(digits: &str, exponent: &str) -> String {
    let digits = digits.strip_suffix(".0").unwrap_or(digits);
    let (sign, number) = match exponent.strip_prefix('-') {
        Some(number) => ('-', number),
        None => ('+', exponent),
    };
    format!("{digits}e{sign}{number:0>2}")
}

/// Writes bytes as lower-case hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    bytes
        .iter()
        .flat_map(|byte| [byte >> 4, byte & 15])
        .map(|half| char::from(DIGITS[usize::from(half)]))
        .collect()
}

/// Writes a duration in seconds with microsecond digits.
pub fn seconds_cell(duration: std::time::Duration) -> String {
    let micros = duration.as_micros();
    let seconds = micros as f64 / 1e6;
    number_cell(seconds)
}

/// Returns an amount as people write it; cents are too coarse for one model.
pub fn dollars(amount: f64) -> String {
    if amount < 0.0 {
        return format!("-{}", dollars(-amount));
    }
    let text = format!("{amount:.4}");
    let whole = text.trim_end_matches('0');
    let decimals = whole.rsplit('.').next().map_or(0, str::len);
    match decimals {
        0..=2 => format!("${amount:.2}"),
        _ => format!("${whole}"),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn messages_that_differ_only_in_numbers_and_ids_have_one_pattern() {
        for (message, pattern) in [
            ("timed out after 1.5 s", "timed out after # s"),
            ("request a1-b2-c3 is gone", "request # is gone"),
            ("out of memory", "out of memory"),
        ] {
            assert_eq!(pattern_of(message), pattern, "{message}");
        }
        assert_eq!(pattern_of("exit 1 of 2"), pattern_of("exit 33 of 4"));
        assert_ne!(pattern_of("no face"), pattern_of("no file"));
    }

    #[test]
    fn an_error_is_one_line_whatever_the_adapter_said() {
        assert_eq!(error_cell("10%\r20%\r30% failed"), "10% 20% 30% failed");
        assert_eq!(error_cell("a\r\n\n b\0c\n"), "a b c");
    }

    #[test]
    fn a_long_error_is_cut_and_says_so() {
        let cell = error_cell(&"é".repeat(3000));
        assert_eq!(cell.chars().count(), 2000 + 27);
        assert!(cell.ends_with(" (truncated; see error.txt)"));
    }

    #[test]
    fn text_of_ours_never_starts_a_formula() {
        assert_eq!(error_cell("=cmd|' /C calc'!A0"), "'=cmd|' /C calc'!A0");
        assert_eq!(error_cell("404"), "404");
    }

    #[test]
    fn numbers_look_like_the_ones_already_in_the_tables() {
        for (value, text) in [
            (0.0, "0.0"),
            (0.02, "0.02"),
            (1.0, "1.0"),
            (0.101_875, "0.101875"),
            (1e-5, "1e-05"),
            (0.000_25, "0.00025"),
            (1e16, "1e+16"),
            (1.5e-7, "1.5e-07"),
        ] {
            assert_eq!(number_cell(value), text);
        }
    }

    #[test]
    fn a_duration_keeps_microseconds() {
        assert_eq!(
            seconds_cell(Duration::from_nanos(2_000_345_999)),
            "2.000345"
        );
    }
}
