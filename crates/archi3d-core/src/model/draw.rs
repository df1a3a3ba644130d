//! Draws pictures of a model: a small rasteriser with a depth buffer, textures and
//! soft light, four samples per pixel. Pure; one thread, no state.
//!
//! Every model stands in the same light and is seen by the same cameras, so pictures
//! of different makers can be compared. Both sides of a surface are shown: what
//! services deliver is often turned inside out.

use image::codecs::png::{CompressionType, FilterType, PngEncoder};
use image::{ExtendedColorType, ImageEncoder, ImageError, RgbImage};

use crate::model::number::{byte, ceil, floor};
use crate::model::vector::{cross, difference, dot, unit};
use crate::model::{Model, Part};

/// The side of a preview, in pixels.
pub const PREVIEW_SIDE: u32 = 512;

/// Samples per pixel along one side.
const SAMPLES: usize = 2;

/// How much of the picture the model fills along its longer side.
const FILL: f32 = 0.86;

/// How far away the camera stands; the longest side of the model is 1.
const DISTANCE: f32 = 3.4;

/// A sample that shows nothing.
const NOTHING: u32 = u32::MAX;

/// From where the model is seen, in degrees: around, and from above.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct View {
    /// Counter-clockwise seen from above, from the front.
    pub around: f32,
    /// Upwards from the horizon.
    pub above: f32,
}

/// The previews, in the order of their numbers: front, three-quarter, side.
pub const PREVIEW_VIEWS: [View; 3] = [
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

/// How large the model is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fit {
    /// As large as this view allows.
    View,
    /// As large as every view allows, so that it keeps its size while it turns.
    AllRound,
}

/// A vertex as the camera sees it.
#[derive(Clone, Copy)]
struct Corner {
    x: f32,
    y: f32,
    /// One over the distance: larger is nearer, and even across a picture.
    near: f32,
}

/// Draws one view on a square of `side` pixels.
pub fn draw(model: &Model, view: View, side: u32, fit: Fit) -> RgbImage {
    let camera = Camera::new(model, view);
    let mut canvas = Canvas::new(side);
    let mut corners: Vec<Vec<Corner>> = model
        .parts
        .iter()
        .map(|part| {
            part.positions
                .iter()
                .map(|at| camera.project(*at))
                .collect()
        })
        .collect();
    camera.fit(model, &mut corners, canvas.side, fit);
    let mut first = 0;
    for (part, corners) in model.parts.iter().zip(&corners) {
        for (number, triangle) in (first..).zip(&part.triangles) {
            canvas.cover(number, part, *triangle, corners);
        }
        first += u32::try_from(part.triangles.len()).unwrap_or(NOTHING);
    }
    canvas.finish(model, &corners, &camera)
}

/// Returns a picture as a PNG file.
pub fn encode_png(picture: &RgbImage) -> Result<Vec<u8>, ImageError> {
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

/// Where the camera stands, and what brings the model before it.
struct Camera {
    middle: [f32; 3],
    scale: f32,
    around: (f32, f32),
    above: (f32, f32),
}

impl Camera {
    fn new(model: &Model, view: View) -> Self {
        let (low, high) = model.bounds();
        let sides = difference(high, low);
        let longest = sides.iter().copied().fold(f32::MIN_POSITIVE, f32::max);
        Self {
            middle: [0, 1, 2].map(|axis| f32::midpoint(low[axis], high[axis])),
            scale: longest.recip(),
            around: (-view.around.to_radians()).sin_cos(),
            above: view.above.to_radians().sin_cos(),
        }
    }

    fn turn(&self, [x, y, z]: [f32; 3]) -> [f32; 3] {
        let ((sin_a, cos_a), (sin_b, cos_b)) = (self.around, self.above);
        let (x, z) = (x * cos_a + z * sin_a, z * cos_a - x * sin_a);
        [x, y * cos_b - z * sin_b, y * sin_b + z * cos_b]
    }

    fn project(&self, position: [f32; 3]) -> Corner {
        let centred = difference(position, self.middle).map(|value| value * self.scale);
        let [x, y, z] = self.turn(centred);
        let near = (DISTANCE - z).max(0.01).recip();
        Corner {
            x: x * near,
            y: -y * near,
            near,
        }
    }

    /// Scales and moves the corners into the samples of a canvas.
    fn fit(&self, model: &Model, corners: &mut [Vec<Corner>], side: usize, fit: Fit) {
        let side = side as f32;
        let (middle, extent) = match fit {
            Fit::AllRound => ([0.0; 2], self.all_round(model)),
            Fit::View => {
                let (mut low, mut high) = ([f32::MAX; 2], [f32::MIN; 2]);
                for (part, corners) in model.parts.iter().zip(corners.iter()) {
                    for vertex in part.triangles.iter().flatten() {
                        let corner = corners[*vertex as usize];
                        low = [low[0].min(corner.x), low[1].min(corner.y)];
                        high = [high[0].max(corner.x), high[1].max(corner.y)];
                    }
                }
                let middle = [0, 1].map(|i| f32::midpoint(low[i], high[i]));
                (middle, (high[0] - low[0]).max(high[1] - low[1]))
            }
        };
        let scale = side * FILL / extent.max(f32::MIN_POSITIVE);
        for corner in corners.iter_mut().flatten() {
            corner.x = (corner.x - middle[0]) * scale + side / 2.0;
            corner.y = (corner.y - middle[1]) * scale + side / 2.0;
        }
    }

    /// Returns how wide the sphere around the model appears.
    fn all_round(&self, model: &Model) -> f32 {
        let (low, high) = model.bounds();
        let diagonal = difference(high, low).map(|side| side * self.scale);
        let radius = dot(diagonal, diagonal).sqrt() / 2.0;
        let distance = DISTANCE.mul_add(DISTANCE, -(radius * radius)).max(0.01);
        2.0 * radius / distance.sqrt()
    }
}

/// A picture in the making, with [`SAMPLES`]² samples per pixel: which triangle each
/// sample shows, and where in it.
struct Canvas {
    pixels: u32,
    side: usize,
    near: Vec<f32>,
    triangle: Vec<u32>,
    weights: Vec<[f32; 2]>,
    tones: Tones,
}

impl Canvas {
    fn new(pixels: u32) -> Self {
        let side = pixels as usize * SAMPLES;
        Self {
            pixels,
            side,
            near: vec![0.0; side * side],
            triangle: vec![NOTHING; side * side],
            weights: vec![[0.0; 2]; side * side],
            tones: Tones::new(),
        }
    }

    /// Notes where a triangle is the nearest one so far.
    fn cover(&mut self, number: u32, part: &Part, triangle: [u32; 3], corners: &[Corner]) {
        let [a, b, c] = triangle.map(|vertex| corners[vertex as usize]);
        let area = area(triangle, corners);
        if area.abs() < 1e-9 {
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
                let near = wa * a.near + wb * b.near + wc * c.near;
                let sample = row * self.side + column;
                if near <= self.near[sample] {
                    continue;
                }
                // From shares of the picture to shares of the surface.
                let weights = [wa * a.near / near, wb * b.near / near];
                if let Some(cutoff) = part.material.cutoff {
                    let level = texture_level(part, triangle, area);
                    let seen = self.tones.colour(part, triangle, weights, level);
                    if seen[3] < cutoff {
                        continue;
                    }
                }
                self.near[sample] = near;
                self.triangle[sample] = number;
                self.weights[sample] = weights;
            }
        }
    }

    /// Lights what every sample shows and averages them over the background.
    fn finish(self, model: &Model, corners: &[Vec<Corner>], camera: &Camera) -> RgbImage {
        let mut faces = Faces::new(model, corners, camera, &self.tones);
        let mut picture = RgbImage::new(self.pixels, self.pixels);
        let samples = (SAMPLES * SAMPLES) as f32;
        for (x, y, pixel) in picture.enumerate_pixels_mut() {
            let background = backdrop(x, y, self.pixels);
            let mut sums = [0.0_f32; 3];
            for down in 0..SAMPLES {
                let row = (y as usize * SAMPLES + down) * self.side;
                for across in 0..SAMPLES {
                    let sample = row + x as usize * SAMPLES + across;
                    let number = self.triangle[sample];
                    let colour = if number == NOTHING {
                        background
                    } else {
                        faces.colour(number, self.weights[sample], &self.tones)
                    };
                    for (sum, value) in sums.iter_mut().zip(colour) {
                        *sum += value;
                    }
                }
            }
            pixel.0 = sums.map(|sum| byte(sum / samples));
        }
        picture
    }
}

/// The triangles of a model, lit. Neighbouring samples mostly show the same one, so what
/// is known of the last is kept.
struct Faces<'a> {
    model: &'a Model,
    corners: &'a [Vec<Corner>],
    camera: &'a Camera,
    /// The number of each part's first triangle.
    starts: Vec<usize>,
    /// How each vertex is lit, and how it shines; empty for parts without normals.
    lights: Vec<Vec<[f32; 2]>>,
    last: Option<(u32, Face<'a>)>,
}

#[derive(Clone, Copy)]
struct Face<'a> {
    part: &'a Part,
    triangle: [u32; 3],
    /// Which copy of its texture it shows.
    level: usize,
    lights: [[f32; 2]; 3],
}

impl<'a> Faces<'a> {
    fn new(
        model: &'a Model,
        corners: &'a [Vec<Corner>],
        camera: &'a Camera,
        tones: &Tones,
    ) -> Self {
        let mut first = 0;
        let starts = model.parts.iter().map(|part| {
            first += part.triangles.len();
            first - part.triangles.len()
        });
        let starts = starts.collect();
        let lights = model.parts.iter().map(|part| {
            let normals = part.normals.iter();
            normals
                .map(|normal| tones.light(*normal, camera, part))
                .collect()
        });
        Self {
            model,
            corners,
            camera,
            starts,
            lights: lights.collect(),
            last: None,
        }
    }

    /// Returns the colour of a point of a triangle, as files store it.
    fn colour(&mut self, number: u32, weights: [f32; 2], tones: &Tones) -> [f32; 3] {
        let face = match self.last {
            Some((last, face)) if last == number => face,
            _ => self.face(number, tones),
        };
        self.last = Some((number, face));
        let [red, green, blue, _] = tones.colour(face.part, face.triangle, weights, face.level);
        let [light, gloss] = mix(face.lights, weights);
        [red, green, blue].map(|value| tones.stored(value * light + gloss))
    }

    fn face(&self, number: u32, tones: &Tones) -> Face<'a> {
        let number = number as usize;
        let at = self.starts.partition_point(|start| *start <= number) - 1;
        let part = &self.model.parts[at];
        let triangle = part.triangles[number - self.starts[at]];
        let lights = &self.lights[at];
        let flat = || {
            let [a, b, c] = triangle.map(|vertex| part.positions[vertex as usize]);
            let normal = unit(cross(difference(b, a), difference(c, a)));
            [tones.light(normal, self.camera, part); 3]
        };
        Face {
            part,
            triangle,
            level: texture_level(part, triangle, area(triangle, &self.corners[at])),
            lights: if lights.is_empty() {
                flat()
            } else {
                triangle.map(|vertex| lights[vertex as usize])
            },
        }
    }
}

/// Returns twice the area that a triangle covers, negative where it is seen from behind.
fn area(triangle: [u32; 3], corners: &[Corner]) -> f32 {
    let [a, b, c] = triangle.map(|vertex| corners[vertex as usize]);
    (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x)
}

/// Mixes three values by the shares of the first two.
fn mix<const N: usize>(values: [[f32; N]; 3], [wa, wb]: [f32; 2]) -> [f32; N] {
    let wc = 1.0 - wa - wb;
    let mut mixed = [0.0; N];
    for (i, slot) in mixed.iter_mut().enumerate() {
        *slot = wa * values[0][i] + wb * values[1][i] + wc * values[2][i];
    }
    mixed
}

/// Returns which copy of its texture suits a triangle that covers `area` twice in samples.
fn texture_level(part: &Part, triangle: [u32; 3], area: f32) -> usize {
    let Some(texture) = part.material.texture.as_ref() else {
        return 0;
    };
    if part.texture_places.is_empty() {
        return 0;
    }
    let [a, b, c] = triangle.map(|vertex| part.texture_places[vertex as usize]);
    let (wide, high) = texture.size();
    let pixels = ((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])).abs();
    texture.level(pixels * wide as f32 * high as f32 / area.abs())
}

/// Brightness that adds up, and the bytes that files store of it.
struct Tones {
    /// For each value of a file.
    linear: [f32; 256],
    /// For each of 1024 steps of brightness.
    stored: Vec<u8>,
    key: [f32; 3],
    fill: [f32; 3],
    halfway: [f32; 3],
}

impl Tones {
    fn new() -> Self {
        let mut linear = [0.0; 256];
        for (value, slot) in (0_u8..=255).zip(&mut linear) {
            *slot = (f32::from(value) / 255.0).powf(2.2);
        }
        let stored = |step: u16| byte(255.0 * (f32::from(step) / 1023.0).powf(1.0 / 2.2));
        let key = unit([-0.5, 0.7, 0.75]);
        Self {
            linear,
            stored: (0..1024).map(stored).collect(),
            key,
            fill: unit([0.8, 0.1, 0.5]),
            halfway: unit([key[0], key[1], key[2] + 1.0]),
        }
    }

    /// Returns the linear colour of a point of a triangle.
    fn colour(&self, part: &Part, triangle: [u32; 3], weights: [f32; 2], level: usize) -> [f32; 4] {
        let mut colour = part.material.colour;
        let multiply = |colour: &mut [f32; 4], by: [f32; 4]| {
            for (value, factor) in colour.iter_mut().zip(by) {
                *value *= factor;
            }
        };
        if !part.colours.is_empty() {
            let own = mix(
                triangle.map(|vertex| part.colours[vertex as usize]),
                weights,
            );
            multiply(&mut colour, own);
        }
        if let Some(texture) = part.material.texture.as_ref()
            && !part.texture_places.is_empty()
        {
            let place = mix(
                triangle.map(|vertex| part.texture_places[vertex as usize]),
                weights,
            );
            multiply(&mut colour, texture.look_up(place, level, &self.linear));
        }
        colour
    }

    /// Returns how strongly a surface that looks there is lit, and how much it shines;
    /// its back is lit as its front.
    fn light(&self, normal: [f32; 3], camera: &Camera, part: &Part) -> [f32; 2] {
        if part.material.unlit {
            return [1.0, 0.0];
        }
        let mut normal = camera.turn(unit(normal));
        if normal[2] < 0.0 {
            normal = normal.map(|value| -value);
        }
        let (light, gloss) = self.shade(normal);
        [light, gloss]
    }

    /// Returns a brightness as files store it.
    fn stored(&self, brightness: f32) -> f32 {
        let step = floor(brightness * 1023.0 + 0.5);
        f32::from(self.stored[step.min(1023)])
    }

    /// Returns how strongly a surface is lit, and how much it shines.
    fn shade(&self, normal: [f32; 3]) -> (f32, f32) {
        let sky = 0.5 + 0.5 * normal[1];
        let wrapped = ((dot(normal, self.key) + 0.25) / 1.25).max(0.0);
        let light = 0.34 + 0.14 * sky + 0.66 * wrapped + 0.12 * dot(normal, self.fill).max(0.0);
        let gloss = 0.05 * dot(normal, self.halfway).max(0.0).powi(28);
        (light, gloss)
    }
}

/// Returns the background of a picture of `side` pixels: light, a little darker towards
/// the corners and the floor.
pub fn backdrop(x: u32, y: u32, side: u32) -> [f32; 3] {
    let place = |at: u32| (at as f32 + 0.5) / side as f32 - 0.5;
    let (across, down) = (place(x), place(y));
    let shade = 30.0 * (across * across + down * down) + 10.0 * down;
    [242.0 - shade, 244.0 - shade, 247.0 - shade]
}
