//! Which pixels belong to the object: alpha where a picture has it, else the
//! plain background around a product is found and cut away, else everything.
//!
//! Pure. The cut is by colour and grows from the border inwards, so that a part
//! of the object in the background's colour stays.

use image::RgbaImage;

/// How the object was told from its surroundings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    Alpha,
    Background,
    Rectangle,
}

impl Origin {
    /// Returns the word for metadata.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Alpha => "alpha",
            Self::Background => "background",
            Self::Rectangle => "rectangle",
        }
    }
}

/// How much each pixel belongs to the object, from 0 to 255.
#[derive(Debug)]
pub(super) struct Silhouette {
    pub(super) origin: Origin,
    pub(super) mask: Vec<u8>,
}

/// From here on a pixel belongs to the object.
pub(super) const INSIDE: u8 = 128;

/// Outside these shares of the picture a cut has failed.
const LEAST_SHARE: f64 = 0.004;
const MOST_SHARE: f64 = 0.985;

/// So much of the border must look like one background.
const PLAIN_BORDER: f64 = 0.6;

/// Tells whether no pixel can be seen.
pub(super) fn is_invisible(picture: &RgbaImage) -> bool {
    picture.pixels().all(|pixel| pixel[3] < INSIDE)
}

/// Finds the object.
pub(super) fn find(picture: &RgbaImage) -> Silhouette {
    let cut = by_alpha(picture).or_else(|| by_background(picture));
    cut.unwrap_or_else(|| Silhouette::rectangle(picture))
}

impl Silhouette {
    /// Returns the silhouette of a picture in which everything counts.
    pub(super) fn rectangle(picture: &RgbaImage) -> Self {
        Self {
            origin: Origin::Rectangle,
            mask: vec![u8::MAX; picture.pixels().len()],
        }
    }
}

fn by_alpha(picture: &RgbaImage) -> Option<Silhouette> {
    let mask: Vec<u8> = picture.pixels().map(|pixel| pixel[3]).collect();
    is_useful(&mask).then_some(Silhouette {
        origin: Origin::Alpha,
        mask,
    })
}

fn by_background(picture: &RgbaImage) -> Option<Silhouette> {
    // Where alpha was no silhouette, hidden colours are nobody's background.
    if picture.pixels().any(|pixel| pixel[3] < INSIDE) {
        return None;
    }
    let background = Background::estimate(picture)?;
    let mask = background.cut(picture);
    is_useful(&mask).then_some(Silhouette {
        origin: Origin::Background,
        mask,
    })
}

fn is_useful(mask: &[u8]) -> bool {
    let inside = mask.iter().filter(|value| **value >= INSIDE).count();
    let share = inside as f64 / mask.len() as f64;
    (LEAST_SHARE..=MOST_SHARE).contains(&share)
}

/// A backdrop whose colour may change slowly from corner to corner.
struct Background {
    corners: [[f32; 3]; 4],
    size: (f32, f32),
    tolerance: f32,
}

impl Background {
    /// Estimates the backdrop from the border; `None` where the border is not plain.
    fn estimate(picture: &RgbaImage) -> Option<Self> {
        let (width, height) = picture.dimensions();
        if width < 8 || height < 8 {
            return None;
        }
        let border = border(width, height);
        let overall = median(picture, border.iter().copied());
        let near = |x: u32, y: u32| {
            let reach = (width.min(height) / 10).max(2);
            let close =
                move |(bx, by): &(u32, u32)| bx.abs_diff(x) < reach && by.abs_diff(y) < reach;
            median(picture, border.iter().copied().filter(close))
        };
        let corners = [
            near(0, 0),
            near(width - 1, 0),
            near(0, height - 1),
            near(width - 1, height - 1),
        ];
        let size = ((width - 1) as f32, (height - 1) as f32);
        [[overall; 4], corners]
            .into_iter()
            .filter_map(|corners| Self::judged(picture, &border, corners, size))
            .max_by(|(a, _), (b, _)| a.total_cmp(b))
            .map(|(_, background)| background)
    }

    /// Returns the backdrop with the share of the border that it explains, if that is enough.
    fn judged(
        picture: &RgbaImage,
        border: &[(u32, u32)],
        corners: [[f32; 3]; 4],
        size: (f32, f32),
    ) -> Option<(f64, Self)> {
        let mut background = Self {
            corners,
            size,
            tolerance: 40.0,
        };
        let fitting: Vec<f32> = border
            .iter()
            .map(|(x, y)| background.difference(picture, *x, *y))
            .filter(|difference| *difference <= background.tolerance)
            .collect();
        let share = fitting.len() as f64 / border.len() as f64;
        let noise = fitting.iter().sum::<f32>() / fitting.len().max(1) as f32;
        background.tolerance = (14.0 + 3.0 * noise).clamp(18.0, 40.0);
        (share >= PLAIN_BORDER).then_some((share, background))
    }

    fn colour(&self, x: u32, y: u32) -> [f32; 3] {
        let (right, down) = (x as f32 / self.size.0, y as f32 / self.size.1);
        let [first, second, third, fourth] = &self.corners;
        [0, 1, 2].map(|i| {
            let top = first[i] + (second[i] - first[i]) * right;
            let bottom = third[i] + (fourth[i] - third[i]) * right;
            top + (bottom - top) * down
        })
    }

    fn difference(&self, picture: &RgbaImage, x: u32, y: u32) -> f32 {
        distance(self.colour(x, y), rgb(picture, x, y))
    }

    /// Returns a mask without everything that the backdrop reaches from the border.
    fn cut(&self, picture: &RgbaImage) -> Vec<u8> {
        let (width, height) = picture.dimensions();
        let at = |x: u32, y: u32| y as usize * width as usize + x as usize;
        let mut mask = vec![u8::MAX; width as usize * height as usize];
        let mut pending = Vec::new();
        for (x, y) in border(width, height) {
            if mask[at(x, y)] != 0 && self.difference(picture, x, y) <= self.tolerance {
                mask[at(x, y)] = 0;
                pending.push((x, y));
            }
        }
        while let Some((x, y)) = pending.pop() {
            let here = rgb(picture, x, y);
            let mut visit = |x: u32, y: u32| {
                if mask[at(x, y)] == 0 {
                    return;
                }
                let there = rgb(picture, x, y);
                let difference = distance(self.colour(x, y), there);
                // Soft shadows drift away from the backdrop in small steps; edges jump.
                let drifts = difference <= 2.0 * self.tolerance && distance(here, there) <= 3.0;
                if difference <= self.tolerance || drifts {
                    mask[at(x, y)] = 0;
                    pending.push((x, y));
                }
            };
            if x > 0 {
                visit(x - 1, y);
            }
            if y > 0 {
                visit(x, y - 1);
            }
            if x + 1 < width {
                visit(x + 1, y);
            }
            if y + 1 < height {
                visit(x, y + 1);
            }
        }
        mask
    }
}

fn rgb(picture: &RgbaImage, x: u32, y: u32) -> [f32; 3] {
    let pixel = picture.get_pixel(x, y).0;
    [pixel[0], pixel[1], pixel[2]].map(f32::from)
}

fn distance(a: [f32; 3], b: [f32; 3]) -> f32 {
    let channel = |i: usize| (a[i] - b[i]).abs();
    channel(0).max(channel(1)).max(channel(2))
}

/// Returns the outermost pixels, each once.
fn border(width: u32, height: u32) -> Vec<(u32, u32)> {
    let rows = (0..width).flat_map(|x| [(x, 0), (x, height - 1)]);
    let columns = (1..height - 1).flat_map(|y| [(0, y), (width - 1, y)]);
    rows.chain(columns).collect()
}

fn median(picture: &RgbaImage, places: impl Iterator<Item = (u32, u32)>) -> [f32; 3] {
    let colours: Vec<[f32; 3]> = places.map(|(x, y)| rgb(picture, x, y)).collect();
    [0, 1, 2].map(|i| {
        let mut channel: Vec<f32> = colours.iter().map(|colour| colour[i]).collect();
        channel.sort_unstable_by(f32::total_cmp);
        channel.get(channel.len() / 2).copied().unwrap_or_default()
    })
}

#[cfg(test)]
mod tests {
    use image::Rgba;

    use super::*;

    fn picture(colour: impl Fn(u32, u32) -> [u8; 3]) -> RgbaImage {
        RgbaImage::from_fn(100, 80, |x, y| {
            let [r, g, b] = colour(x, y);
            Rgba([r, g, b, 255])
        })
    }

    fn in_box(x: u32, y: u32) -> bool {
        (30..70).contains(&x) && (20..60).contains(&y)
    }

    fn inside(silhouette: &Silhouette) -> usize {
        silhouette
            .mask
            .iter()
            .filter(|value| **value >= INSIDE)
            .count()
    }

    #[test]
    fn an_object_on_a_plain_background_is_cut_out() {
        let found = find(&picture(
            |x, y| if in_box(x, y) { [40, 60, 90] } else { [250; 3] },
        ));
        assert_eq!((found.origin, inside(&found)), (Origin::Background, 1600));
    }

    #[test]
    fn a_background_may_be_grainy_and_change_from_corner_to_corner() {
        let shade = |x: u32, y: u32| {
            let grain = (x * 7 + y * 13) % 5;
            u8::try_from(150 + x / 2 + y / 2 + grain).unwrap_or(u8::MAX)
        };
        let found = find(&picture(|x, y| {
            if in_box(x, y) {
                [90, 20, 20]
            } else {
                [shade(x, y); 3]
            }
        }));
        assert_eq!((found.origin, inside(&found)), (Origin::Background, 1600));
    }

    #[test]
    fn a_part_of_the_object_in_the_backgrounds_colour_stays() {
        let label = |x: u32, y: u32| (40..60).contains(&x) && (30..50).contains(&y);
        let found = find(&picture(|x, y| match (in_box(x, y), label(x, y)) {
            (true, false) => [10, 120, 30],
            _ => [250; 3],
        }));
        assert_eq!(inside(&found), 1600);
    }

    #[test]
    fn a_cut_that_leaves_nothing_or_everything_is_not_made() {
        let plain = find(&picture(|_, _| [250; 3]));
        assert_eq!((plain.origin, inside(&plain)), (Origin::Rectangle, 8000));
        let busy = find(&picture(|x, y| {
            let shade = |n: u32| u8::try_from((x * n + y * y * 3) % 250).unwrap_or(0);
            [shade(29), shade(53), shade(71)]
        }));
        assert_eq!(busy.origin, Origin::Rectangle);
        let hidden = RgbaImage::from_pixel(50, 50, Rgba([9, 9, 9, 0]));
        assert_eq!(find(&hidden).origin, Origin::Rectangle);
    }

    #[test]
    fn alpha_wins_over_colours() {
        let mut alpha = picture(|_, _| [250; 3]);
        for (x, y, pixel) in alpha.enumerate_pixels_mut() {
            pixel.0[3] = if in_box(x, y) { 255 } else { 0 };
        }
        let found = find(&alpha);
        assert_eq!((found.origin, inside(&found)), (Origin::Alpha, 1600));
    }
}
