//! Draws pictures of a finished mesh: a small rasteriser with a depth buffer, the
//! texture and soft light, four samples per pixel. Pure; one thread, no state.

use image::codecs::png::{CompressionType, FilterType, PngEncoder};
use image::{ExtendedColorType, ImageEncoder, ImageError, Rgb, RgbImage};

use crate::adapter::relief::mesh::{Mesh, dot, unit};
use crate::adapter::relief::number::{byte, ceil, floor};

/// The side of a preview, in pixels.
pub(super) const SIDE: u32 = 512;

/// Samples per pixel along one side.
const SAMPLES: usize = 2;

/// How much of the picture the model fills along its longer side.
const FILL: f32 = 0.86;

/// How far away the camera stands; the model is one metre.
const DISTANCE: f32 = 3.4;

/// From where the model is seen, in degrees: around, and from above.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct View {
    pub(super) around: f32,
    pub(super) above: f32,
}

/// The previews, in the order of their numbers: front, three-quarter, side.
pub(super) const VIEWS: [View; 3] = [
    View {
        around: 0.0,
        above: 0.0,
    },
    View {
        around: 38.0,
        above: 16.0,
    },
    View {
        around: 82.0,
        above: 6.0,
    },
];

/// A vertex as the camera sees it.
#[derive(Clone, Copy)]
struct Corner {
    x: f32,
    y: f32,
    /// Larger is nearer.
    near: f32,
    texture: [f32; 2],
    light: f32,
    gloss: f32,
}

/// Draws one view.
pub(super) fn draw(mesh: &Mesh, texture: &RgbImage, view: View) -> RgbImage {
    let corners = project(mesh, view);
    let mut canvas = Canvas::new(texture);
    for triangle in &mesh.triangles {
        canvas.fill(triangle.map(|vertex| corners[vertex as usize]));
    }
    canvas.finish()
}

/// Returns a picture as a PNG file.
pub(super) fn encode(picture: &RgbImage) -> Result<Vec<u8>, ImageError> {
    let mut bytes = Vec::new();
    PngEncoder::new_with_quality(&mut bytes, CompressionType::Fast, FilterType::Adaptive)
        .write_image(
            picture.as_raw(),
            picture.width(),
            picture.height(),
            ExtendedColorType::Rgb8,
        )?;
    Ok(bytes)
}

/// Turns the model, lights it, and fits it into the picture.
fn project(mesh: &Mesh, view: View) -> Vec<Corner> {
    let (sin_a, cos_a) = (-view.around.to_radians()).sin_cos();
    let (sin_b, cos_b) = view.above.to_radians().sin_cos();
    let turn = |[x, y, z]: [f32; 3]| {
        let (x, z) = (x * cos_a + z * sin_a, z * cos_a - x * sin_a);
        [x, y * cos_b - z * sin_b, y * sin_b + z * cos_b]
    };
    let mut corners: Vec<Corner> = mesh
        .positions
        .iter()
        .zip(&mesh.normals)
        .zip(&mesh.texture_places)
        .map(|((position, normal), texture)| {
            let [x, y, z] = turn(*position);
            let scale = 1.0 / (DISTANCE - z);
            let (light, gloss) = shade(turn(*normal));
            Corner {
                x: x * scale,
                y: -y * scale,
                near: z,
                texture: *texture,
                light,
                gloss,
            }
        })
        .collect();
    centre(&mut corners);
    corners
}

/// Scales and moves the corners into the samples of the canvas.
fn centre(corners: &mut [Corner]) {
    let (mut low, mut high) = ([f32::MAX; 2], [f32::MIN; 2]);
    for corner in corners.iter() {
        low = [low[0].min(corner.x), low[1].min(corner.y)];
        high = [high[0].max(corner.x), high[1].max(corner.y)];
    }
    let side = SIDE as f32 * SAMPLES as f32;
    let long = (high[0] - low[0])
        .max(high[1] - low[1])
        .max(f32::MIN_POSITIVE);
    let scale = side * FILL / long;
    for corner in corners {
        corner.x = (corner.x - f32::midpoint(low[0], high[0])) * scale + side / 2.0;
        corner.y = (corner.y - f32::midpoint(low[1], high[1])) * scale + side / 2.0;
    }
}

/// Returns how strongly a surface is lit, and how much it shines.
fn shade(normal: [f32; 3]) -> (f32, f32) {
    let key = unit([-0.5, 0.7, 0.75]);
    let fill = unit([0.8, 0.1, 0.5]);
    let halfway = unit([key[0], key[1], key[2] + 1.0]);
    let sky = 0.5 + 0.5 * normal[1];
    let wrapped = ((dot(normal, key) + 0.25) / 1.25).max(0.0);
    let light = 0.34 + 0.14 * sky + 0.66 * wrapped + 0.12 * dot(normal, fill).max(0.0);
    let gloss = 0.05 * dot(normal, halfway).max(0.0).powi(28);
    (light, gloss)
}

/// A picture in the making, with [`SAMPLES`]² samples per pixel.
struct Canvas<'a> {
    texture: &'a RgbImage,
    side: usize,
    near: Vec<f32>,
    colours: Vec<[u8; 3]>,
    /// Brightness that adds up, for each value of a file.
    linear: [f32; 256],
    /// The value of a file, for each of 1024 steps of brightness.
    stored: Vec<u8>,
}

impl<'a> Canvas<'a> {
    fn new(texture: &'a RgbImage) -> Self {
        let side = SIDE as usize * SAMPLES;
        let mut linear = [0.0; 256];
        for (value, slot) in (0_u8..=255).zip(&mut linear) {
            *slot = (f32::from(value) / 255.0).powf(2.2);
        }
        let stored = |step: u16| byte(255.0 * (f32::from(step) / 1023.0).powf(1.0 / 2.2));
        Self {
            texture,
            side,
            near: vec![f32::MIN; side * side],
            colours: vec![[0; 3]; side * side],
            linear,
            stored: (0..1024).map(stored).collect(),
        }
    }

    /// Fills one triangle, if it faces the camera.
    fn fill(&mut self, [a, b, c]: [Corner; 3]) {
        // With Y down, what turns counter-clockwise on the model has a negative area here.
        let area = (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x);
        if area >= -1e-9 {
            return;
        }
        let range = |p: f32, q: f32, r: f32| {
            let low = floor(p.min(q).min(r) - 0.5);
            low..ceil(p.max(q).max(r) + 0.5).min(self.side)
        };
        let (columns, rows) = (range(a.x, b.x, c.x), range(a.y, b.y, c.y));
        let share = area.recip();
        let weight = |from: Corner, to: Corner, (x, y): (f32, f32)| {
            ((to.x - from.x) * (y - from.y) - (to.y - from.y) * (x - from.x)) * share
        };
        for row in rows {
            for column in columns.clone() {
                let at = (column as f32 + 0.5, row as f32 + 0.5);
                let (wa, wb) = (weight(b, c, at), weight(c, a, at));
                let wc = 1.0 - wa - wb;
                // A little wider than exact, so that rounding leaves no pinholes between two.
                if wa < -1e-5 || wb < -1e-5 || wc < -1e-5 {
                    continue;
                }
                let mix = |p: f32, q: f32, r: f32| wa * p + wb * q + wc * r;
                let near = mix(a.near, b.near, c.near);
                let sample = row * self.side + column;
                if near <= self.near[sample] {
                    continue;
                }
                self.near[sample] = near;
                let place = [0, 1].map(|i| mix(a.texture[i], b.texture[i], c.texture[i]));
                let light = mix(a.light, b.light, c.light);
                let gloss = mix(a.gloss, b.gloss, c.gloss);
                self.colours[sample] = self.lit(self.look_up(place), light, gloss);
            }
        }
    }

    fn lit(&self, colour: [f32; 3], light: f32, gloss: f32) -> [u8; 3] {
        colour.map(|value| {
            let step = floor((value * light + gloss) * 1023.0 + 0.5);
            self.stored[step.min(1023)]
        })
    }

    /// Returns the texture's brightness between its four nearest pixels.
    fn look_up(&self, [u, v]: [f32; 2]) -> [f32; 3] {
        let (wide, high) = (
            self.texture.width() as usize,
            self.texture.height() as usize,
        );
        let place = |share: f32, length: usize| {
            let at = (share * length as f32 - 0.5).clamp(0.0, (length - 1) as f32);
            let first = floor(at);
            (first, (first + 1).min(length - 1), at - first as f32)
        };
        let ((left, right, across), (top, bottom, down)) = (place(u, wide), place(v, high));
        let raw = self.texture.as_raw();
        let pixel = |x: usize, y: usize| {
            let at = (y * wide + x) * 3;
            [0, 1, 2].map(|i| self.linear[usize::from(raw[at + i])])
        };
        let (first, second) = (pixel(left, top), pixel(right, top));
        let (third, fourth) = (pixel(left, bottom), pixel(right, bottom));
        [0, 1, 2].map(|i| {
            let upper = first[i] + (second[i] - first[i]) * across;
            let lower = third[i] + (fourth[i] - third[i]) * across;
            upper + (lower - upper) * down
        })
    }

    /// Averages the samples over the background.
    fn finish(self) -> RgbImage {
        RgbImage::from_fn(SIDE, SIDE, |x, y| {
            let background = backdrop(x, y);
            let mut sums = [0.0_f32; 3];
            for down in 0..SAMPLES {
                for across in 0..SAMPLES {
                    let row = y as usize * SAMPLES + down;
                    let sample = row * self.side + x as usize * SAMPLES + across;
                    let colour = if self.near[sample] > f32::MIN {
                        self.colours[sample].map(f32::from)
                    } else {
                        background
                    };
                    for (sum, value) in sums.iter_mut().zip(colour) {
                        *sum += value;
                    }
                }
            }
            let samples = (SAMPLES * SAMPLES) as f32;
            Rgb(sums.map(|sum| byte(sum / samples)))
        })
    }
}

/// Returns the background: light, a little darker towards the corners and the floor.
pub(super) fn backdrop(x: u32, y: u32) -> [f32; 3] {
    let place = |at: u32| (at as f32 + 0.5) / SIDE as f32 - 0.5;
    let (across, down) = (place(x), place(y));
    let shade = 30.0 * (across * across + down * down) + 10.0 * down;
    [242.0 - shade, 244.0 - shade, 247.0 - shade]
}
