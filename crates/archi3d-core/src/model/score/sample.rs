//! Points spread evenly over a surface, always the same ones.

use crate::model::Model;
use crate::model::score::ScoreError;
use crate::model::score::tree::{Triangle, dot, minus};

/// A model as triangles around the origin, one diagonal long.
pub(super) struct Surface {
    pub(super) triangles: Vec<Triangle>,
    /// The middle of its box, in its own coordinates.
    pub(super) centre: [f64; 3],
    /// The diagonal of its box.
    pub(super) diagonal: f64,
}

impl Surface {
    /// Brings a model to one size; `what` names it.
    pub(super) fn of(model: &Model, what: &'static str) -> Result<Self, ScoreError> {
        let (low, high) = model.bounds();
        let (low, high) = (low.map(f64::from), high.map(f64::from));
        let centre = [0, 1, 2].map(|axis| f64::midpoint(low[axis], high[axis]));
        let size = minus(high, low);
        let diagonal = dot(size, size).sqrt();
        if !diagonal.is_normal() {
            return Err(ScoreError::NoExtent(what));
        }
        let mut triangles = Vec::with_capacity(model.triangles());
        for part in &model.parts {
            let place = |corner: u32| {
                let at = part.positions[corner as usize].map(f64::from);
                minus(at, centre).map(|value| value / diagonal)
            };
            triangles.extend(part.triangles.iter().map(|corners| corners.map(place)));
        }
        Ok(Self {
            triangles,
            centre,
            diagonal,
        })
    }

    /// Spreads `count` points: every equal share of the area gets one, and within the
    /// triangles they follow a sequence that leaves no gaps. It begins at `phase`, from 0 to
    /// 1: two models with the same triangles must not get the same points by that alone.
    pub(super) fn points(&self, count: usize, phase: f64) -> Result<Vec<[f64; 3]>, ScoreError> {
        let areas: Vec<f64> = self.triangles.iter().map(area).collect();
        let total: f64 = areas.iter().sum();
        if !total.is_normal() {
            return Err(ScoreError::NoArea);
        }
        let mut points = Vec::with_capacity(count);
        let mut covered = 0.0;
        for (triangle, area) in self.triangles.iter().zip(&areas) {
            covered += area / total;
            while points.len() < count && (points.len() as f64 + phase) < covered * count as f64 {
                points.push(place_in(triangle, points.len(), phase));
            }
        }
        // Sums of many areas may end a little below the whole.
        while let (true, Some(last)) = (points.len() < count, self.triangles.last()) {
            points.push(place_in(last, points.len(), phase));
        }
        Ok(points)
    }
}

fn area([a, b, c]: &Triangle) -> f64 {
    let (ab, ac) = (minus(*b, *a), minus(*c, *a));
    let normal = [
        ab[1] * ac[2] - ab[2] * ac[1],
        ab[2] * ac[0] - ab[0] * ac[2],
        ab[0] * ac[1] - ab[1] * ac[0],
    ];
    dot(normal, normal).sqrt() / 2.0
}

/// Returns the place of point `number` in its triangle, by the R2 sequence.
fn place_in([a, b, c]: &Triangle, number: usize, phase: f64) -> [f64; 3] {
    // The powers of 1 / 1.3247…, the plastic number.
    const STEPS: [f64; 2] = [0.754_877_666_246_692_8, 0.569_840_290_998_053_3];
    let mut along = STEPS.map(|step| (phase + number as f64 * step).fract());
    if along[0] + along[1] > 1.0 {
        along = along.map(|part| 1.0 - part);
    }
    [0, 1, 2].map(|i| a[i] + along[0] * (b[i] - a[i]) + along[1] * (c[i] - a[i]))
}
