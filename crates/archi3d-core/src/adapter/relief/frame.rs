//! The part of the picture that the object fills. Pure.

use crate::adapter::relief::silhouette::{INSIDE, Origin, Silhouette};

/// A rectangle of pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Frame {
    pub(super) x: u32,
    pub(super) y: u32,
    pub(super) width: u32,
    pub(super) height: u32,
}

/// Room around the object, as a share of its longest side, so that its edge is not cut.
const MARGIN: u32 = 32;

impl Frame {
    /// Returns the frame of the object in a picture of `width` × `height`.
    pub(super) fn around(silhouette: &Silhouette, width: u32, height: u32) -> Self {
        let whole = Self {
            x: 0,
            y: 0,
            width,
            height,
        };
        if silhouette.origin == Origin::Rectangle {
            return whole;
        }
        let (mut left, mut top, mut right, mut bottom) = (width, height, 0, 0);
        for (y, row) in (0..).zip(silhouette.mask.chunks(width as usize)) {
            let Some(first) = row.iter().position(|value| *value >= INSIDE) else {
                continue;
            };
            let last = row
                .iter()
                .rposition(|value| *value >= INSIDE)
                .unwrap_or(first);
            left = left.min(u32::try_from(first).unwrap_or(0));
            right = right.max(u32::try_from(last).unwrap_or(0) + 1);
            top = top.min(y);
            bottom = y + 1;
        }
        if left >= right {
            return whole;
        }
        let margin = (right - left).max(bottom - top) / MARGIN + 2;
        let (left, top) = (left.saturating_sub(margin), top.saturating_sub(margin));
        Self {
            x: left,
            y: top,
            width: (right + margin).min(width) - left,
            height: (bottom + margin).min(height) - top,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn silhouette(mask: Vec<u8>) -> Silhouette {
        Silhouette {
            origin: Origin::Alpha,
            mask,
        }
    }

    #[test]
    fn the_frame_holds_the_object_and_a_margin_inside_the_picture() {
        let mut mask = vec![0; 20 * 10];
        mask[3 * 20 + 9] = 255;
        mask[4 * 20 + 10] = 255;
        let frame = Frame::around(&silhouette(mask), 20, 10);
        let wanted = Frame {
            x: 7,
            y: 1,
            width: 6,
            height: 6,
        };
        assert_eq!(frame, wanted);
        let everything = Frame::around(&silhouette(vec![255; 200]), 20, 10);
        assert_eq!((everything.width, everything.height), (20, 10));
        let nothing = Frame::around(&silhouette(vec![0; 200]), 20, 10);
        assert_eq!(nothing, everything);
    }
}
