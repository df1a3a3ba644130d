//! A place in a trace, as W3C's `traceparent` writes it: `00-<trace>-<span>-<flags>`.

use std::fmt;

/// A span of a trace, which others may go on from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceParent {
    /// The trace; never 0.
    pub trace: u128,
    /// The span; never 0.
    pub span: u64,
    /// Whether somebody records it, and what later versions add.
    pub flags: u8,
}

impl TraceParent {
    /// Reads one; nothing if it is none. Later versions may have more at their end.
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.trim().split('-');
        let mut digits = |length: usize| {
            let part = parts.next()?;
            let plain = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
            (part.len() == length && part.bytes().all(plain)).then_some(part)
        };
        let version = digits(2)?;
        let read = Self {
            trace: u128::from_str_radix(digits(32)?, 16).ok()?,
            span: u64::from_str_radix(digits(16)?, 16).ok()?,
            flags: u8::from_str_radix(digits(2)?, 16).ok()?,
        };
        let whole = version != "ff" && (version != "00" || parts.next().is_none());
        (whole && read.trace != 0 && read.span != 0).then_some(read)
    }

    /// Returns the name of the trace, as logs have it.
    pub fn trace_id(&self) -> String {
        format!("{:032x}", self.trace)
    }
}

impl fmt::Display for TraceParent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "00-{:032x}-{:016x}-{:02x}",
            self.trace, self.span, self.flags
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    #[test]
    fn a_place_is_read_and_written_as_the_standard_has_it() {
        let place = TraceParent::parse(GOOD).expect("the standard's own example");
        assert_eq!(place.to_string(), GOOD);
        assert_eq!(place.trace_id(), "4bf92f3577b34da6a3ce929d0e0e4736");
        let later = GOOD.replacen("00", "cc", 1) + "-what-comes-later";
        assert_eq!(TraceParent::parse(&later), Some(place));
    }

    #[test]
    fn what_is_no_place_is_none() {
        for text in [
            String::new(),
            GOOD.to_uppercase(),
            GOOD.replacen("00", "ff", 1),
            format!("{GOOD}-more"),
            GOOD.replace("4bf92f3577b34da6a3ce929d0e0e4736", &"0".repeat(32)),
            GOOD.replace("00f067aa0ba902b7", &"0".repeat(16)),
            GOOD.replace("4bf9", "+bf9"),
            GOOD.replace("4bf9", "4bf"),
        ] {
            assert_eq!(TraceParent::parse(&text), None, "{text}");
        }
    }
}
