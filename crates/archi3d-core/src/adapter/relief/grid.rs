//! The picture on the points of a coarse grid: how much of the object is around
//! each point, and how bright it is there. Pure; heights come later.

use image::RgbaImage;

use crate::adapter::relief::frame::Frame;
use crate::adapter::relief::silhouette::{Origin, Silhouette};
use crate::model::number::floor;

/// From here on a point belongs to the object; a little low, so that thin parts stay.
pub(super) const EDGE: f32 = 0.45;

/// Parts smaller than this share of the largest one are dust.
const DUST: f64 = 0.01;

/// Points in rows, `columns` × `rows` of them.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Grid {
    pub(super) columns: usize,
    pub(super) rows: usize,
    /// The distance between points, where the longest side of the frame is 1.
    pub(super) step: (f32, f32),
    /// How much of the surroundings is object, from 0 to 1; at least [`EDGE`] inside.
    pub(super) coverage: Vec<f32>,
    /// The brightness of the object there, from 0 to 1.
    pub(super) brightness: Vec<f32>,
    /// Whether every point is inside and nothing was cut.
    pub(super) is_plate: bool,
}

impl Grid {
    /// Lays about `resolution` cells along the longest side of the frame, but never more than
    /// there are pixels.
    pub(super) fn new(
        picture: &RgbaImage,
        silhouette: &Silhouette,
        frame: Frame,
        resolution: usize,
    ) -> Self {
        let (width, height) = (frame.width as usize, frame.height as usize);
        let long = width.max(height);
        let cells = resolution.min(long);
        let along = |length: usize| {
            (length * cells + long / 2)
                .checked_div(long)
                .unwrap_or(1)
                .max(1)
        };
        let (across, down) = (along(width), along(height));
        let mut grid = Self {
            columns: across + 1,
            rows: down + 1,
            step: (
                width as f32 / long as f32 / across as f32,
                height as f32 / long as f32 / down as f32,
            ),
            coverage: Vec::new(),
            brightness: Vec::new(),
            is_plate: silhouette.origin == Origin::Rectangle,
        };
        grid.gather(picture, silhouette, frame);
        grid.drop_dust();
        if !grid.coverage.iter().any(|value| *value >= EDGE) {
            // Too thin to survive on this grid: the rectangle is better than nothing.
            grid.is_plate = true;
        }
        grid.is_plate |= grid.coverage.iter().all(|value| *value >= EDGE);
        if grid.is_plate {
            grid.coverage.fill(1.0);
        }
        grid
    }

    /// Tells whether the point belongs to the object.
    pub(super) fn is_inside(&self, point: usize) -> bool {
        self.coverage[point] >= EDGE
    }

    /// Returns where between two neighbours, one of them inside, the edge runs, from 0 to 1.
    /// Never close to either, so that no triangle shrinks to nothing.
    pub(super) fn crossing(&self, from: usize, to: usize) -> f32 {
        let (a, b) = (self.coverage[from], self.coverage[to]);
        ((EDGE - a) / (b - a)).clamp(0.1, 0.9)
    }

    /// Spreads every pixel over the four points around it.
    fn gather(&mut self, picture: &RgbaImage, silhouette: &Silhouette, frame: Frame) {
        let (width, height) = (frame.width as usize, frame.height as usize);
        // Weight of all pixels, weight of the object's, and their brightness.
        let mut sums = vec![[0.0_f32; 3]; self.columns * self.rows];
        let places = |length: usize, points: usize| -> Vec<(usize, f32)> {
            let scale = (points - 1) as f32 / length as f32;
            let place = |pixel: usize| {
                let at = (pixel as f32 + 0.5) * scale;
                let point = floor(at).min(points - 2);
                (point, at - point as f32)
            };
            (0..length).map(place).collect()
        };
        let (across, down) = (places(width, self.columns), places(height, self.rows));
        let full_width = picture.width() as usize;
        for (y, (row, low)) in down.into_iter().enumerate() {
            let start = (y + frame.y as usize) * full_width + frame.x as usize;
            let mask = &silhouette.mask[start..start + width];
            let pixels = &picture.as_raw()[start * 4..(start + width) * 4];
            for ((pixel, mask), (column, right)) in pixels.chunks_exact(4).zip(mask).zip(&across) {
                let part = f32::from(*mask) / 255.0;
                let value = part * brightness(pixel);
                let point = row * self.columns + column;
                let corners = [
                    (point, (1.0 - right) * (1.0 - low)),
                    (point + 1, right * (1.0 - low)),
                    (point + self.columns, (1.0 - right) * low),
                    (point + self.columns + 1, right * low),
                ];
                for (corner, weight) in corners {
                    let sum = &mut sums[corner];
                    sum[0] += weight;
                    sum[1] += weight * part;
                    sum[2] += weight * value;
                }
            }
        }
        let share = |part: f32, whole: f32| if whole > 0.0 { part / whole } else { 0.0 };
        self.coverage = sums.iter().map(|sum| share(sum[1], sum[0])).collect();
        self.brightness = sums.iter().map(|sum| share(sum[2], sum[1])).collect();
    }

    /// Takes small separate parts away.
    fn drop_dust(&mut self) {
        let mut part_of = vec![0_usize; self.coverage.len()];
        let mut sizes = vec![0_usize];
        for seed in 0..part_of.len() {
            if part_of[seed] != 0 || !self.is_inside(seed) {
                continue;
            }
            let part = sizes.len();
            part_of[seed] = part;
            let mut pending = vec![seed];
            let mut size = 0;
            while let Some(point) = pending.pop() {
                size += 1;
                for near in self.neighbours(point).into_iter().flatten() {
                    if part_of[near] == 0 && self.is_inside(near) {
                        part_of[near] = part;
                        pending.push(near);
                    }
                }
            }
            sizes.push(size);
        }
        let least = sizes.iter().max().copied().unwrap_or_default() as f64 * DUST;
        for (coverage, part) in self.coverage.iter_mut().zip(part_of) {
            if part != 0 && (sizes[part] as f64) < least {
                *coverage = 0.0;
            }
        }
    }

    /// Returns the points left, right, above and below; `None` beyond the frame.
    pub(super) fn neighbours(&self, point: usize) -> [Option<usize>; 4] {
        let (column, row) = (point % self.columns, point / self.columns);
        [
            (column > 0).then(|| point - 1),
            (column + 1 < self.columns).then_some(point + 1),
            (row > 0).then(|| point - self.columns),
            (row + 1 < self.rows).then_some(point + self.columns),
        ]
    }
}

fn brightness(pixel: &[u8]) -> f32 {
    let [r, g, b] = [pixel[0], pixel[1], pixel[2]].map(f32::from);
    (0.299 * r + 0.587 * g + 0.114 * b) / 255.0
}
