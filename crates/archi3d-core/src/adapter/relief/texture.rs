//! The picture as the model wears it: cut to the object, opaque, with the
//! object's colours continued beyond its edge so that nothing of the background
//! shows at the rim, however the texture is filtered.

use image::codecs::jpeg::JpegEncoder;
use image::{ExtendedColorType, ImageError, Rgb, RgbImage, RgbaImage};

use crate::adapter::relief::frame::Frame;
use crate::adapter::relief::silhouette::{INSIDE, Origin, Silhouette};
use crate::model::number::byte;

const JPEG_QUALITY: u8 = 90;

/// Makes the texture of what is inside `frame`.
pub(super) fn make(picture: &RgbaImage, silhouette: &Silhouette, frame: Frame) -> RgbImage {
    let margin = match silhouette.origin {
        Origin::Rectangle => return on_white(picture),
        Origin::Alpha => 1,
        // Pixels on the edge are mixed with the background.
        Origin::Background => 2,
    };
    let trusted = trusted(picture.width(), silhouette, frame, margin);
    fill(picture, frame, &trusted)
}

/// Returns the texture as a JPEG file.
pub(super) fn encode(texture: &RgbImage) -> Result<Vec<u8>, ImageError> {
    let mut bytes = Vec::new();
    JpegEncoder::new_with_quality(&mut bytes, JPEG_QUALITY).encode(
        texture.as_raw(),
        texture.width(),
        texture.height(),
        ExtendedColorType::Rgb8,
    )?;
    Ok(bytes)
}

fn on_white(picture: &RgbaImage) -> RgbImage {
    let mut texture = RgbImage::new(picture.width(), picture.height());
    for (target, source) in texture.pixels_mut().zip(picture.pixels()) {
        let [r, g, b, a] = source.0;
        let mix = |colour: u8| {
            let sum = u32::from(colour) * u32::from(a) + 255 * u32::from(255 - a);
            u8::try_from(sum / 255).unwrap_or(u8::MAX)
        };
        *target = if a == 255 {
            Rgb([r, g, b])
        } else {
            Rgb([mix(r), mix(g), mix(b)])
        };
    }
    texture
}

/// Tells which pixels of the frame are inside with all pixels up to `margin` away.
fn trusted(width: u32, silhouette: &Silhouette, frame: Frame, margin: usize) -> Vec<bool> {
    let (wide, high) = (frame.width as usize, frame.height as usize);
    let mut inside = Vec::with_capacity(wide * high);
    for y in 0..high {
        let start = (y + frame.y as usize) * width as usize + frame.x as usize;
        let row = &silhouette.mask[start..start + wide];
        inside.extend(row.iter().map(|value| *value >= INSIDE));
    }
    // Along rows, then along columns; beyond the frame counts as inside.
    let mut rows = inside.clone();
    for (target, source) in rows.chunks_mut(wide).zip(inside.chunks(wide)) {
        for (x, slot) in target.iter_mut().enumerate() {
            let reach = x.saturating_sub(margin)..(x + margin + 1).min(wide);
            *slot = source[reach].iter().all(|inside| *inside);
        }
    }
    let mut both = rows.clone();
    for y in 0..high {
        for near in y.saturating_sub(margin)..(y + margin + 1).min(high) {
            let (target, source) = (y * wide, near * wide);
            for x in 0..wide {
                both[target + x] &= rows[source + x];
            }
        }
    }
    if both.contains(&true) { both } else { inside }
}

/// One step of a pyramid: colours times their weight, and the weight.
struct Level {
    wide: usize,
    high: usize,
    cells: Vec<[f32; 4]>,
}

impl Level {
    /// Averages four cells to one; a cell that has any colour counts as full.
    fn above(&self) -> Self {
        let (wide, high) = (self.wide.div_ceil(2), self.high.div_ceil(2));
        let mut cells = vec![[0.0_f32; 4]; wide * high];
        for (y, row) in self.cells.chunks(self.wide).enumerate() {
            for (x, cell) in row.iter().enumerate() {
                add(&mut cells[y / 2 * wide + x / 2], *cell);
            }
        }
        for cell in &mut cells {
            normalize(cell);
        }
        Self { wide, high, cells }
    }

    /// Fills cells without colour from the level above.
    fn fill_from(&mut self, above: &Self) {
        for (y, row) in self.cells.chunks_mut(self.wide).enumerate() {
            for (x, cell) in row.iter_mut().enumerate() {
                if cell[3] <= 0.0 {
                    *cell = above.cells[y / 2 * above.wide + x / 2];
                }
            }
        }
    }
}

fn add(sum: &mut [f32; 4], value: [f32; 4]) {
    for (slot, value) in sum.iter_mut().zip(value) {
        *slot += value;
    }
}

fn normalize(cell: &mut [f32; 4]) {
    let weight = cell[3];
    if weight > 0.0 {
        for value in cell {
            *value /= weight;
        }
    }
}

/// Gives every pixel that is not trusted the colour of trusted ones near it.
fn fill(picture: &RgbaImage, frame: Frame, trusted: &[bool]) -> RgbImage {
    let (wide, high) = (frame.width as usize, frame.height as usize);
    let mut texture = RgbImage::new(frame.width, frame.height);
    let mut first = Level {
        wide: wide.div_ceil(2),
        high: high.div_ceil(2),
        cells: vec![[0.0; 4]; wide.div_ceil(2) * high.div_ceil(2)],
    };
    for y in 0..frame.height {
        for x in 0..frame.width {
            let (column, row) = (x as usize, y as usize);
            if trusted[row * wide + column] {
                let [r, g, b, _] = picture.get_pixel(frame.x + x, frame.y + y).0;
                texture.put_pixel(x, y, Rgb([r, g, b]));
                let [r, g, b] = [r, g, b].map(f32::from);
                add(
                    &mut first.cells[row / 2 * first.wide + column / 2],
                    [r, g, b, 1.0],
                );
            }
        }
    }
    first.cells.iter_mut().for_each(normalize);
    let mut levels = vec![first];
    while let Some(last) = levels.last().filter(|level| level.wide * level.high > 1) {
        levels.push(last.above());
    }
    for index in (1..levels.len()).rev() {
        let (below, above) = levels.split_at_mut(index);
        below[index - 1].fill_from(&above[0]);
    }
    for (x, y, pixel) in texture.enumerate_pixels_mut() {
        if !trusted[y as usize * wide + x as usize] {
            let [r, g, b, _] = levels[0].cells[y as usize / 2 * levels[0].wide + x as usize / 2];
            *pixel = Rgb([byte(r), byte(g), byte(b)]);
        }
    }
    texture
}
