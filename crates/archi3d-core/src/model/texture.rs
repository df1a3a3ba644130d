//! A picture on a surface, in ever smaller copies, so that a large one drawn small
//! does not flicker.

use image::{ImageReader, Limits, RgbaImage};

use crate::model::number::floor;

/// No picture of a model is larger.
const MAX_SIDE: u32 = 16_384;

/// Decoding may take this much memory.
const MAX_BYTES: u64 = 1 << 30;

/// What lies beyond the edge of a texture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Wrap {
    /// The texture again.
    #[default]
    Repeat,
    /// Its last pixel.
    Clamp,
    /// The texture turned over.
    Mirror,
}

impl Wrap {
    /// Brings a place into 0 to 1.
    fn place(self, at: f32) -> f32 {
        match self {
            Self::Repeat => at - at.floor(),
            Self::Clamp => at.clamp(0.0, 1.0),
            Self::Mirror => {
                let twice = at - 2.0 * (at / 2.0).floor();
                if twice > 1.0 { 2.0 - twice } else { twice }
            }
        }
    }

    /// Returns a neighbouring pixel of the last one.
    fn next(self, pixel: usize, side: usize) -> usize {
        match self {
            Self::Repeat => (pixel + 1) % side,
            Self::Clamp | Self::Mirror => (pixel + 1).min(side - 1),
        }
    }
}

/// A picture that surfaces can show.
#[derive(Debug, Clone)]
pub struct Texture {
    /// The picture, and copies of half the size each.
    levels: Vec<Level>,
    /// Across and down.
    wrap: [Wrap; 2],
}

#[derive(Debug, Clone)]
struct Level {
    width: usize,
    height: usize,
    pixels: Vec<[u8; 4]>,
}

impl Texture {
    /// Takes a picture.
    pub fn new(picture: &RgbaImage, wrap: [Wrap; 2]) -> Option<Self> {
        let (width, height) = (picture.width() as usize, picture.height() as usize);
        if width == 0 || height == 0 {
            return None;
        }
        let mut levels = vec![Level {
            width,
            height,
            pixels: picture.pixels().map(|pixel| pixel.0).collect(),
        }];
        while let Some(last) = levels.last().filter(|last| last.width.max(last.height) > 1) {
            let half = last.half();
            levels.push(half);
        }
        Some(Self { levels, wrap })
    }

    /// Decodes a PNG, JPEG or WebP file.
    pub(super) fn decode(bytes: &[u8], wrap: [Wrap; 2]) -> Result<Self, String> {
        let mut reader = ImageReader::new(std::io::Cursor::new(bytes))
            .with_guessed_format()
            .map_err(|error| error.to_string())?;
        let mut limits = Limits::default();
        limits.max_image_width = Some(MAX_SIDE);
        limits.max_image_height = Some(MAX_SIDE);
        limits.max_alloc = Some(MAX_BYTES);
        reader.limits(limits);
        let picture = reader.decode().map_err(|error| error.to_string())?;
        Self::new(&picture.into_rgba8(), wrap).ok_or_else(|| "it is empty".to_owned())
    }

    /// Returns its width and height in pixels.
    pub fn size(&self) -> (usize, usize) {
        (self.levels[0].width, self.levels[0].height)
    }

    /// Returns which copy suits a surface that shows `pixels` of it per drawn sample.
    pub(super) fn level(&self, pixels: f32) -> usize {
        let level = floor(0.5 * pixels.max(1.0).log2() + 0.5);
        level.min(self.levels.len() - 1)
    }

    /// Returns the linear colour and the opacity between the four nearest pixels.
    pub(super) fn look_up(&self, [u, v]: [f32; 2], level: usize, linear: &[f32; 256]) -> [f32; 4] {
        let level = &self.levels[level];
        let place = |wrap: Wrap, at: f32, side: usize| {
            let at = wrap.place(at) * side as f32 - 0.5;
            if at < 0.0 && wrap == Wrap::Repeat {
                return (side - 1, 0, at + 1.0);
            }
            let at = at.max(0.0);
            let first = floor(at).min(side - 1);
            (first, wrap.next(first, side), at - first as f32)
        };
        let (left, right, across) = place(self.wrap[0], u, level.width);
        let (top, bottom, down) = place(self.wrap[1], v, level.height);
        let pixel = |x: usize, y: usize| {
            let [red, green, blue, opacity] = level.pixels[y * level.width + x];
            let light = |value: u8| linear[usize::from(value)];
            [
                light(red),
                light(green),
                light(blue),
                f32::from(opacity) / 255.0,
            ]
        };
        let (first, second) = (pixel(left, top), pixel(right, top));
        let (third, fourth) = (pixel(left, bottom), pixel(right, bottom));
        [0, 1, 2, 3].map(|i| {
            let upper = first[i] + (second[i] - first[i]) * across;
            let lower = third[i] + (fourth[i] - third[i]) * across;
            upper + (lower - upper) * down
        })
    }
}

impl Level {
    fn half(&self) -> Self {
        let (width, height) = (self.width.div_ceil(2), self.height.div_ceil(2));
        let mut pixels = Vec::with_capacity(width * height);
        for y in 0..height {
            for x in 0..width {
                let row = |down: usize| (2 * y + down).min(self.height - 1) * self.width;
                let column = |across: usize| (2 * x + across).min(self.width - 1);
                let four = [
                    self.pixels[row(0) + column(0)],
                    self.pixels[row(0) + column(1)],
                    self.pixels[row(1) + column(0)],
                    self.pixels[row(1) + column(1)],
                ];
                pixels.push([0, 1, 2, 3].map(|i| {
                    let sum: u16 = four.iter().map(|pixel| u16::from(pixel[i])).sum();
                    u8::try_from((sum + 2) / 4).unwrap_or(u8::MAX)
                }));
            }
        }
        Self {
            width,
            height,
            pixels,
        }
    }
}
