//! Amounts as people and providers write them: signs before or behind, credits in
//! parentheses, thousands in groups, a comma or a dot before the cents.
//!
//! What can be read in two ways is read by what the other amounts of its column
//! show, and not at all where they disagree.

use crate::domain::money::Usd;

/// Which sign stands before the cents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mark {
    Dot,
    Comma,
}

/// What the amounts of a column show about how they are written.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Style {
    dot: bool,
    comma: bool,
}

impl Style {
    /// Looks at every amount of a column.
    pub(super) fn of<'a>(amounts: impl Iterator<Item = &'a str>) -> Self {
        let mut style = Self::default();
        for amount in amounts {
            match split(amount).and_then(|(_, digits)| shown(&digits)) {
                Some(Mark::Dot) => style.dot = true,
                Some(Mark::Comma) => style.comma = true,
                None => {}
            }
        }
        style
    }

    /// Decides about an amount that does not show it: `1,234` or `1.234`. Where no
    /// other one does either, dollars are written with a dot.
    fn decide(self) -> Option<Mark> {
        match (self.dot, self.comma) {
            (true, true) => None,
            (false, true) => Some(Mark::Comma),
            _ => Some(Mark::Dot),
        }
    }
}

/// Reads an amount; a credit is less than nothing.
pub(super) fn parse(text: &str, style: Style) -> Option<Usd> {
    let (negative, digits) = split(text)?;
    let mark = match shown(&digits) {
        Some(mark) => mark,
        None if digits.contains(['.', ',']) => style.decide()?,
        None => Mark::Dot,
    };
    let (group, decimal) = match mark {
        Mark::Dot => (',', '.'),
        Mark::Comma => ('.', ','),
    };
    let (whole, cents) = digits.split_once(decimal).unwrap_or((&digits, ""));
    let whole = ungrouped(whole, group)?;
    let plain = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_digit());
    if !plain(cents) || (whole.is_empty() && cents.is_empty()) {
        return None;
    }
    let usd: f64 = format!("{whole}.{cents}0").parse().ok()?;
    let usd = Usd::of(usd);
    Some(if negative { -usd } else { usd })
}

/// Parts the sign and the currency from the digits; nothing if there are two signs,
/// another currency, or anything else.
fn split(text: &str) -> Option<(bool, String)> {
    let text: String = text
        .chars()
        .map(|c| match c {
            '\u{2212}' | '\u{2013}' | '\u{2010}' | '\u{2011}' | '\u{FE63}' | '\u{FF0D}' => '-',
            c if c.is_whitespace() => ' ',
            c => c.to_ascii_lowercase(),
        })
        .collect();
    let mut rest = text.as_str();
    let mut negative = None;
    let mut sign = |is_credit: bool| negative.replace(is_credit).is_none();
    let mut units = 0;
    loop {
        rest = rest.trim();
        let inner = rest.strip_prefix('(').and_then(|r| r.strip_suffix(')'));
        let without = |mark: &str| rest.strip_prefix(mark).or_else(|| rest.strip_suffix(mark));
        let unit = || ["us$", "usd", "$"].into_iter().find_map(without);
        let (left, fine) = if let Some(inner) = inner {
            (inner, sign(true))
        } else if let Some(left) = without("-").or_else(|| without("cr")) {
            (left, sign(true))
        } else if let Some(left) = without("+").or_else(|| without("dr")) {
            (left, sign(false))
        } else if let Some(left) = unit() {
            units += 1;
            // `$1.50 USD` names it twice.
            (left, units <= 2)
        } else {
            break;
        };
        if !fine {
            return None;
        }
        rest = left;
    }
    let numeric = |c: char| c.is_ascii_digit() || ".,' \u{2019}".contains(c);
    let fine = rest.chars().all(numeric) && rest.contains(|c: char| c.is_ascii_digit());
    fine.then(|| (negative == Some(true), rest.to_owned()))
}

/// Returns which sign stands before the cents, if the digits show it.
fn shown(digits: &str) -> Option<Mark> {
    let (dots, commas) = (digits.matches('.').count(), digits.matches(',').count());
    let mark = |dot: bool| Some(if dot { Mark::Dot } else { Mark::Comma });
    match (dots, commas) {
        (0, 0) => None,
        (0, 1) | (1, 0) => {
            let (whole, cents) = digits.split_once(['.', ','])?;
            // Three digits behind it may be thousands, unless nothing stands before it.
            let grouped = whole.contains([' ', '\'', '\u{2019}']);
            let thousands = cents.len() == 3 && !whole.is_empty() && !whole.starts_with('0');
            if thousands && !grouped {
                return None;
            }
            mark(dots == 1)
        }
        // Several of one kind are groups; the other one is the mark.
        (0, _) => mark(true),
        (_, 0) => mark(false),
        _ => mark(digits.rfind('.') > digits.rfind(',')),
    }
}

/// Takes the signs between groups of three digits out; nothing if the groups are
/// others than that.
fn ungrouped(whole: &str, group: char) -> Option<String> {
    let signs = [group, ' ', '\'', '\u{2019}'];
    let Some(used) = whole.chars().find(|c| signs.contains(c)) else {
        let plain = whole.bytes().all(|byte| byte.is_ascii_digit());
        return plain.then(|| whole.to_owned());
    };
    let mut groups = whole.split(used);
    let first = groups.next()?;
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let fine = (1..=3).contains(&first.len())
        && digits(first)
        && groups.all(|group| group.len() == 3 && digits(group));
    fine.then(|| whole.replace(used, ""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_read_as_people_write_them() {
        for (text, micros) in [
            ("0.30", Some(300_000)),
            (".30", Some(300_000)),
            ("$0.30", Some(300_000)),
            ("0.30 USD", Some(300_000)),
            ("0,30", Some(300_000)),
            ("0,300", Some(300_000)),
            ("USD 1,234.50", Some(1_234_500_000)),
            ("1.234,50", Some(1_234_500_000)),
            ("1,234", Some(1_234_000_000)),
            ("1,234,567", Some(1_234_567_000_000)),
            ("1.234.567", Some(1_234_567_000_000)),
            ("1 234.5", Some(1_234_500_000)),
            ("1\u{a0}234,5", Some(1_234_500_000)),
            ("1'234.50", Some(1_234_500_000)),
            ("+0.30", Some(300_000)),
            ("12.50 DR", Some(12_500_000)),
            ("", None),
            ("$", None),
            ("free", None),
            ("1,2,3", None),
            ("12 50", None),
            ("1,23.50", None),
            ("1.2.3", None),
            ("€ 0.30", None),
            ("1e3", None),
        ] {
            let usd = micros.map(Usd::from_micros);
            assert_eq!(parse(text, Style::default()), usd, "{text:?}");
        }
    }

    #[test]
    fn a_credit_is_never_read_as_a_charge() {
        for text in [
            "-12.50",
            "12.50-",
            "12.50 -",
            "(12.50)",
            "\u{2212}12.50",
            "-$12.50",
            "$-12.50",
            "$12.50-",
            "($12.50)",
            "$(12.50)",
            "(12.50) USD",
            "12.50 CR",
            "12,50-",
            "(12,50 $)",
        ] {
            assert_eq!(
                parse(text, Style::default()),
                Some(Usd::of(-12.5)),
                "{text:?}"
            );
        }
        for text in [
            "-12.50-",
            "-(12.50)",
            "--12.50",
            "+12.50-",
            "(12.50",
            "12.50)",
            "12.50 CR DR",
            "12-50",
        ] {
            assert_eq!(parse(text, Style::default()), None, "{text:?}");
        }
    }

    #[test]
    fn an_amount_with_two_readings_is_read_as_its_column_shows() {
        let read = |column: &[&str]| parse("1,234", Style::of(column.iter().copied()));
        assert_eq!(read(&["1,234"]), Some(Usd::of(1234.0)));
        assert_eq!(read(&["1,234", "0.30"]), Some(Usd::of(1234.0)));
        assert_eq!(read(&["1,234", "0,30"]), Some(Usd::of(1.234)));
        assert_eq!(read(&["1,234", "0,30", "0.30"]), None);
    }
}
