//! Money in US dollars, kept in whole millionths so that three times $0.1 is $0.3.

use std::iter::Sum;
use std::ops::{Add, AddAssign, Neg, Sub};

use serde::{Serialize, Serializer};

/// An amount of US dollars. Sums stop at the largest amount; machines read dollars.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Usd(i64);

impl Usd {
    /// Nothing.
    pub const ZERO: Self = Self(0);

    /// Takes dollars, to the nearest millionth; what is no number is nothing.
    pub fn of(dollars: f64) -> Self {
        #[expect(clippy::cast_possible_truncation, reason = "clamped to what fits")]
        let micros = (dollars * 1e6).round().clamp(-9e15, 9e15) as i64;
        Self(micros)
    }

    /// Takes millionths of a dollar.
    pub const fn from_micros(micros: i64) -> Self {
        Self(micros)
    }

    /// Returns the amount in millionths of a dollar.
    pub const fn micros(self) -> i64 {
        self.0
    }

    /// Returns the amount in dollars.
    pub fn dollars(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// Returns so many times the amount.
    #[must_use]
    pub fn times(self, count: usize) -> Self {
        Self(
            self.0
                .saturating_mul(i64::try_from(count).unwrap_or(i64::MAX)),
        )
    }

    /// Returns the amount, or nothing where it is a debt.
    #[must_use]
    pub fn or_nothing(self) -> Self {
        self.max(Self::ZERO)
    }
}

impl Add for Usd {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Usd {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for Usd {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Neg for Usd {
    type Output = Self;

    fn neg(self) -> Self {
        Self(self.0.saturating_neg())
    }
}

impl Sum for Usd {
    fn sum<I: Iterator<Item = Self>>(amounts: I) -> Self {
        amounts.fold(Self::ZERO, Add::add)
    }
}

impl Serialize for Usd {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.dollars())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_dimes_are_thirty_cents_and_no_sum_turns_around() {
        assert_eq!([0.1; 3].map(Usd::of).into_iter().sum::<Usd>(), Usd::of(0.3));
        assert_eq!(Usd::of(f64::NAN), Usd::ZERO);
        assert!(Usd::from_micros(i64::MAX) + Usd::of(1.0) > Usd::of(1.0));
        assert_eq!((Usd::of(0.1) - Usd::of(0.4)).or_nothing(), Usd::ZERO);
        assert_eq!(serde_json::json!(Usd::ZERO).to_string(), "0.0");
    }
}
