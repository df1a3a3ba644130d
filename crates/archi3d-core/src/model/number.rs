//! From computed numbers to array positions and colour values, saturating.
//!
//! The one place of this room where a float becomes an integer, so that
//! no other file has to argue why its casts are harmless.

/// Returns the nearest whole number in `0..=255`.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a cast from float saturates, which is what is wanted"
)]
pub(crate) fn byte(value: f32) -> u8 {
    (value + 0.5) as u8
}

/// Returns the whole part as a position; below 0 and not-a-number count as 0.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a cast from float saturates, which is what is wanted"
)]
pub(crate) fn floor(value: f32) -> usize {
    value as usize
}

/// Returns the whole number above, as a position.
pub(crate) fn ceil(value: f32) -> usize {
    floor(value.ceil())
}

/// Returns a position as the number that files store; nothing here comes near the end.
pub(crate) fn index(position: usize) -> u32 {
    u32::try_from(position).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_saturate_instead_of_wrapping() {
        assert_eq!(
            [byte(-3.0), byte(1.5), byte(254.4), byte(900.0)],
            [0, 2, 254, 255]
        );
        assert_eq!(byte(f32::NAN), 0);
        assert_eq!([floor(-0.5), floor(2.9), floor(f32::NAN)], [0, 2, 0]);
        assert_eq!([ceil(-0.5), ceil(2.1), ceil(3.0)], [0, 3, 3]);
        assert_eq!(index(7), 7);
    }
}
