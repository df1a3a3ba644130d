//! How far the relief stands out at each point of the grid. Pure.
//!
//! A cut-out object is blown up like a balloon: the height solves `Δu = -1` with
//! `u = 0` on the edge, whose root is a half circle over a long strip, so objects
//! bulge by their own width and without creases. Brightness adds the detail. A
//! picture that was not cut becomes a plate whose bright parts stand out.

use crate::adapter::relief::grid::Grid;

/// Half the thickness of the thinnest place, where the longest side is 1.
const RIM: f32 = 0.006;

/// Half the thickness of the plate under a picture that was not cut.
const PLATE: f32 = 0.02;

/// How far brightness alone lifts a plate at depth 1.
const PLATE_RELIEF: f32 = 0.4;

/// How far detail stands out of a bulging object at depth 1.
const DETAIL: f32 = 0.16;

/// The width of the surroundings that detail is compared with.
const SURROUNDINGS: f32 = 0.1;

/// How wide `smooth: 1` blurs.
const WIDEST_SMOOTHING: f32 = 0.05;

/// Where detail has its full height: so high the object stands there.
const DETAIL_FROM: f32 = 0.06;

/// The two surfaces, as distances from the middle plane at the grid's points.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Heights {
    pub(super) front: Vec<f32>,
    pub(super) back: Vec<f32>,
    /// The distance of both where the edge of the object runs.
    pub(super) rim: f32,
}

/// Computes both surfaces; `depth` and `smooth` go from 0 to 1.
pub(super) fn heights(grid: &Grid, depth: f32, smooth: f32) -> Heights {
    let fine = blurred(grid, smooth * WIDEST_SMOOTHING);
    if grid.is_plate {
        return plate(&fine, depth);
    }
    let coarse = blurred(grid, SURROUNDINGS);
    let bulge = inflated(grid);
    let mut front = Vec::with_capacity(bulge.len());
    let mut back = Vec::with_capacity(bulge.len());
    for (index, bulge) in bulge.into_iter().enumerate() {
        let body = RIM + 2.0 * depth * bulge;
        let fade = (bulge / DETAIL_FROM).min(1.0);
        let detail = (fine[index] - coarse[index]).clamp(-0.5, 0.5);
        front.push((body + depth * DETAIL * fade * detail).max(RIM));
        back.push(body);
    }
    Heights {
        front,
        back,
        rim: RIM,
    }
}

fn plate(brightness: &[f32], depth: f32) -> Heights {
    let low = brightness.iter().copied().fold(1.0, f32::min);
    let high = brightness.iter().copied().fold(0.0, f32::max);
    // A picture of one colour is a flat plate, not amplified noise.
    let span = (high - low).max(0.1);
    let lift = |value: &f32| PLATE + depth * PLATE_RELIEF * (value - low) / span;
    Heights {
        front: brightness.iter().map(lift).collect(),
        back: vec![PLATE; brightness.len()],
        rim: PLATE,
    }
}

/// Returns half the thickness of a balloon in the shape of the object.
fn inflated(grid: &Grid) -> Vec<f32> {
    let stiffness = [grid.step.0, grid.step.0, grid.step.1, grid.step.1].map(|h| 1.0 / (h * h));
    // One ring of zeros around, so that every point has four neighbours.
    let stride = grid.columns + 2;
    let padded = |point: usize| (point / grid.columns + 1) * stride + point % grid.columns + 1;
    let mut points = Vec::new();
    for point in (0..grid.coverage.len()).filter(|point| grid.is_inside(*point)) {
        let mut total = 0.0;
        for (near, stiffness) in grid.neighbours(point).into_iter().zip(stiffness) {
            total += match near {
                // The object goes on beyond the frame: no pull from there.
                None => 0.0,
                Some(near) if grid.is_inside(near) => stiffness,
                Some(near) => stiffness / grid.crossing(point, near),
            };
        }
        points.push((padded(point), total.max(f32::MIN_POSITIVE).recip()));
    }
    let mut u = vec![0.0_f32; stride * (grid.rows + 2)];
    let sweeps = grid.columns.max(grid.rows) * 3 / 2 + 20;
    let relaxation =
        2.0 / (1.0 + (std::f32::consts::PI / grid.columns.min(grid.rows) as f32).sin());
    let relaxation = relaxation.min(1.97);
    for _ in 0..sweeps {
        for (at, share) in &points {
            let at = *at;
            let pull = stiffness[0] * (u[at - 1] + u[at + 1])
                + stiffness[2] * (u[at - stride] + u[at + stride]);
            u[at] += relaxation * ((pull + 1.0) * share - u[at]);
        }
    }
    (0..grid.coverage.len())
        .map(|point| (2.0 * u[padded(point)].max(0.0)).sqrt())
        .collect()
}

/// Returns the brightness blurred within the object, `width` wide where the longest side is 1.
fn blurred(grid: &Grid, width: f32) -> Vec<f32> {
    use crate::model::number::floor;
    let weight = |point: usize| if grid.is_inside(point) { 1.0 } else { 0.0 };
    let mut weights: Vec<f32> = (0..grid.coverage.len()).map(weight).collect();
    let mut values: Vec<f32> = grid
        .brightness
        .iter()
        .zip(&weights)
        .map(|(value, weight)| value * weight)
        .collect();
    let reach = |step: f32| floor(width / step + 0.5);
    let (across, down) = (reach(grid.step.0), reach(grid.step.1));
    // Three running means come close to the bell curve.
    for _ in 0..3 {
        for field in [&mut values, &mut weights] {
            mean_along(field, grid.rows, grid.columns, (grid.columns, 1), across);
            mean_along(field, grid.columns, grid.rows, (1, grid.columns), down);
        }
    }
    values
        .iter()
        .zip(&weights)
        .map(|(value, weight)| if *weight > 1e-6 { value / weight } else { 0.0 })
        .collect()
}

/// Replaces values by the mean of those up to `reach` away, along each of `lines`.
fn mean_along(
    field: &mut [f32],
    lines: usize,
    length: usize,
    (line_step, step): (usize, usize),
    reach: usize,
) {
    if reach == 0 {
        return;
    }
    let mut sums = vec![0.0_f64; length + 1];
    for line in 0..lines {
        let start = line * line_step;
        for at in 0..length {
            sums[at + 1] = sums[at] + f64::from(field[start + at * step]);
        }
        for at in 0..length {
            let (low, high) = (at.saturating_sub(reach), (at + reach + 1).min(length));
            let mean = (sums[high] - sums[low]) / (high - low) as f64;
            #[expect(clippy::cast_possible_truncation, reason = "only precision is lost")]
            let mean = mean as f32;
            field[start + at * step] = mean;
        }
    }
}
