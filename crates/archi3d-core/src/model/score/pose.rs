//! A similarity: a turn, one scale and a shift, and the best one between pairs of points.

use crate::model::score::tree::{dot, minus};

/// Three rows of a turn.
pub(super) type Turn = [[f64; 3]; 3];

/// Moves a point to `scale · turn · point + shift`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Similarity {
    pub(super) turn: Turn,
    pub(super) scale: f64,
    pub(super) shift: [f64; 3],
}

impl Similarity {
    pub(super) fn apply(&self, at: [f64; 3]) -> [f64; 3] {
        let turned = turned(&self.turn, at);
        [
            self.scale * turned[0] + self.shift[0],
            self.scale * turned[1] + self.shift[1],
            self.scale * turned[2] + self.shift[2],
        ]
    }

    pub(super) fn inverse(&self) -> Self {
        let turn = transposed(&self.turn);
        let scale = 1.0 / self.scale;
        let shift = turned(&turn, self.shift).map(|value| -value * scale);
        Self { turn, scale, shift }
    }
}

pub(super) fn turned(turn: &Turn, at: [f64; 3]) -> [f64; 3] {
    [dot(turn[0], at), dot(turn[1], at), dot(turn[2], at)]
}

pub(super) fn transposed(turn: &Turn) -> Turn {
    [0, 1, 2].map(|row| [0, 1, 2].map(|column| turn[column][row]))
}

/// Returns the turn that does `second` after `first`.
pub(super) fn after(second: &Turn, first: &Turn) -> Turn {
    let columns = transposed(first);
    [0, 1, 2].map(|row| [0, 1, 2].map(|column| dot(second[row], columns[column])))
}

/// Returns the turn around an axis of length 1.
pub(super) fn around(axis: [f64; 3], angle: f64) -> Turn {
    let half = (angle / 2.0).sin();
    let [x, y, z] = axis.map(|value| value * half);
    from_quaternion([(angle / 2.0).cos(), x, y, z])
}

fn from_quaternion([w, x, y, z]: [f64; 4]) -> Turn {
    [
        [
            1.0 - 2.0 * (y * y + z * z),
            2.0 * (x * y - z * w),
            2.0 * (x * z + y * w),
        ],
        [
            2.0 * (x * y + z * w),
            1.0 - 2.0 * (x * x + z * z),
            2.0 * (y * z - x * w),
        ],
        [
            2.0 * (x * z - y * w),
            2.0 * (y * z + x * w),
            1.0 - 2.0 * (x * x + y * y),
        ],
    ]
}

/// Returns the turn as a quaternion w, x, y, z with w ≥ 0.
pub(super) fn quaternion(turn: &Turn) -> [f64; 4] {
    let [[xx, xy, xz], [yx, yy, yz], [zx, zy, zz]] = *turn;
    // The best turn between a frame and its turned self is the turn itself.
    let found = strongest([
        [xx + yy + zz, zy - yz, xz - zx, yx - xy],
        [zy - yz, xx - yy - zz, xy + yx, xz + zx],
        [xz - zx, xy + yx, yy - xx - zz, yz + zy],
        [yx - xy, xz + zx, yz + zy, zz - xx - yy],
    ]);
    if found[0] < 0.0 {
        found.map(|value| -value)
    } else {
        found
    }
}

/// How far a model may lean if it is to stay upright, in radians.
const MOST_LEAN: f64 = 15.0 * std::f64::consts::PI / 180.0;

/// Finds the similarity that brings the first of each pair nearest to the second (Horn
/// 1987); never a mirror image. Kept `upright`, the Y axis leans 15° at most.
pub(super) fn fit(pairs: &[([f64; 3], [f64; 3])], upright: bool) -> Option<Similarity> {
    let count = pairs.len() as f64;
    let mut means = [[0.0; 3]; 2];
    for (from, to) in pairs {
        for axis in 0..3 {
            means[0][axis] += from[axis] / count;
            means[1][axis] += to[axis] / count;
        }
    }
    let mut m = [[0.0; 3]; 3];
    let (mut from_spread, mut to_spread) = (0.0, 0.0);
    for (from, to) in pairs {
        let (from, to) = (minus(*from, means[0]), minus(*to, means[1]));
        from_spread += dot(from, from);
        to_spread += dot(to, to);
        for row in 0..3 {
            for column in 0..3 {
                m[row][column] += to[row] * from[column];
            }
        }
    }
    let mut turn = from_quaternion(quaternion(&m));
    if upright {
        turn = straightened(&turn);
    }
    // The same both ways, so that a poor fit does not shrink the model.
    let scale = (to_spread / from_spread).sqrt();
    if !scale.is_normal() {
        return None;
    }
    let middle = turned(&turn, means[0]);
    let shift = [0, 1, 2].map(|axis| means[1][axis] - scale * middle[axis]);
    Some(Similarity { turn, scale, shift })
}

/// Turns back what leans more than is allowed.
fn straightened(turn: &Turn) -> Turn {
    let up = [turn[0][1], turn[1][1], turn[2][1]];
    let lean = up[1].clamp(-1.0, 1.0).acos();
    if lean <= MOST_LEAN {
        return *turn;
    }
    // From where up points now to the Y axis, around what is at right angles to both.
    let axis = [-up[2], 0.0, up[0]];
    let length = dot(axis, axis).sqrt();
    let axis = if length > 0.0 {
        axis.map(|value| value / length)
    } else {
        [1.0, 0.0, 0.0]
    };
    after(&around(axis, lean - MOST_LEAN), turn)
}

/// Returns the main directions of points around their middle, most spread first, as rows
/// of a turn, and the spreads.
pub(super) fn main_axes(points: &[[f64; 3]]) -> (Turn, [f64; 3]) {
    let middle = mean(points);
    let mut spread = [[0.0; 3]; 3];
    for point in points {
        let away = minus(*point, middle);
        for row in 0..3 {
            for column in 0..3 {
                spread[row][column] += away[row] * away[column] / points.len() as f64;
            }
        }
    }
    let (values, vectors) = eigen(spread);
    let mut order = [0, 1, 2];
    order.sort_by(|a, b| values[*b].total_cmp(&values[*a]));
    let [first, second] = [order[0], order[1]].map(|at| vectors[at]);
    let third = [
        first[1] * second[2] - first[2] * second[1],
        first[2] * second[0] - first[0] * second[2],
        first[0] * second[1] - first[1] * second[0],
    ];
    ([first, second, third], order.map(|at| values[at]))
}

pub(super) fn mean(points: &[[f64; 3]]) -> [f64; 3] {
    let mut sum = [0.0; 3];
    for point in points {
        for axis in 0..3 {
            sum[axis] += point[axis];
        }
    }
    sum.map(|value| value / points.len() as f64)
}

/// Returns the vector of length 1 that a symmetric matrix stretches most.
fn strongest(matrix: [[f64; 4]; 4]) -> [f64; 4] {
    let (values, vectors) = eigen(matrix);
    let best = (0..4).max_by(|a, b| values[*a].total_cmp(&values[*b]));
    vectors[best.unwrap_or_default()]
}

/// Returns the eigenvalues and eigenvectors of a symmetric matrix, by Jacobi's rotations.
fn eigen<const N: usize>(mut a: [[f64; N]; N]) -> ([f64; N], [[f64; N]; N]) {
    let mut vectors = [[0.0; N]; N];
    for (at, row) in vectors.iter_mut().enumerate() {
        row[at] = 1.0;
    }
    for _ in 0..32 {
        let mut off = 0.0;
        for p in 0..N {
            for q in p + 1..N {
                off += a[p][q] * a[p][q];
                if a[p][q].abs() < f64::MIN_POSITIVE {
                    continue;
                }
                let theta = (a[q][q] - a[p][p]) / (2.0 * a[p][q]);
                let t = theta.signum() / (theta.abs() + (theta * theta + 1.0).sqrt());
                let cos = 1.0 / (t * t + 1.0).sqrt();
                let sin = t * cos;
                for row in &mut a {
                    (row[p], row[q]) = (cos * row[p] - sin * row[q], sin * row[p] + cos * row[q]);
                }
                for k in 0..N {
                    (a[p][k], a[q][k]) =
                        (cos * a[p][k] - sin * a[q][k], sin * a[p][k] + cos * a[q][k]);
                    (vectors[p][k], vectors[q][k]) = (
                        cos * vectors[p][k] - sin * vectors[q][k],
                        sin * vectors[p][k] + cos * vectors[q][k],
                    );
                }
            }
        }
        if off < 1e-30 {
            break;
        }
    }
    let mut values = [0.0; N];
    for (at, value) in values.iter_mut().enumerate() {
        *value = a[at][at];
    }
    (values, vectors)
}
