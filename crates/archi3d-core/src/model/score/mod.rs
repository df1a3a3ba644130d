//! How near a made model comes to the real one.
//!
//! Both surfaces get the same number of points, always the same ones. The made model is
//! brought onto the real one by a turn, one scale and a shift, then the distances from
//! each to the nearest point of the other are counted. Distances are in the units of the
//! real model, thresholds are shares of its diagonal.

mod align;
mod pose;
mod sample;
mod tree;

use rayon::prelude::*;

use crate::model::Model;
use align::Cloud;
use pose::Similarity;
use sample::Surface;
use tree::{Shape, Tree};

/// Names this way of measuring; numbers of different ones are not compared.
pub const TOOL_VERSION: &str = "archi3d-fscore-1";

/// What the made model may be away from the real one, as shares of its diagonal. The
/// middle one is the F-score.
pub const THRESHOLDS: [f64; 3] = [0.005, 0.01, 0.02];

/// A pose is doubtful if the next different one is not this much worse.
pub const LEAST_MARGIN: f64 = 1.05;

/// How a made model was found to stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pose {
    /// Upright, as glTF demands.
    Upright,
    /// Turned over: that fits better by a fifth or more.
    Turned,
}

impl Pose {
    /// Returns the word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Upright => "upright",
            Self::Turned => "turned",
        }
    }
}

/// Shares of points that are near enough, and their harmonic mean.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Near {
    /// Of the made model's points.
    pub precision: f64,
    /// Of the real model's points.
    pub recall: f64,
}

impl Near {
    /// Returns the F-score.
    pub fn fscore(self) -> f64 {
        let sum = self.precision + self.recall;
        if sum > 0.0 {
            2.0 * self.precision * self.recall / sum
        } else {
            0.0
        }
    }
}

/// How two models compare.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// At each of the [`THRESHOLDS`], between points.
    pub near: [Near; 3],
    /// At each of the [`THRESHOLDS`], from points to the other's surface.
    pub near_surface: [Near; 3],
    /// The mean distances of both ways, added.
    pub chamfer_l1: f64,
    /// The mean squared distances of both ways, added.
    pub chamfer_l2: f64,
    /// Mean, median, 95th and 99th of a hundred, and largest distance, both ways together.
    pub distances: [f64; 5],
    /// What brings the made model onto the real one: `scale · turn · point + shift`.
    pub scale: f64,
    /// The turn as a quaternion w, x, y, z.
    pub turn: [f64; 4],
    /// See `scale`.
    pub shift: [f64; 3],
    /// How the made model stands.
    pub pose: Pose,
    /// How much worse the next different pose is; nothing if there is none.
    pub margin: Option<f64>,
}

impl Comparison {
    /// Tells whether another pose is nearly as good.
    pub fn is_ambiguous(&self) -> bool {
        self.margin.is_some_and(|margin| margin < LEAST_MARGIN)
    }
}

/// Why two models cannot be compared.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScoreError {
    /// A model is a single point, or has places that are no numbers.
    #[error("{0} has no extent")]
    NoExtent(&'static str),
    /// A model has no surface.
    #[error("all triangles are without area")]
    NoArea,
    /// Nobody waits for the answer any more.
    #[error("stopped")]
    Stopped,
}

/// Compares a made model with the real one by `count` points each. `stop` is asked again
/// and again whether to give up.
pub fn compare(
    made: &Model,
    real: &Model,
    count: usize,
    stop: &(dyn Fn() -> bool + Sync),
) -> Result<Comparison, ScoreError> {
    let made = Surface::of(made, "the made model")?;
    let real = Surface::of(real, "the real model")?;
    let made_cloud = Cloud::of(made.points(count, 0.5)?, made.triangles);
    let real_cloud = Cloud::of(real.points(count, 0.0)?, real.triangles);
    let found = align::align(&made_cloud, &real_cloud, stop)?;
    let (there, back) = (found.pose, found.pose.inverse());
    let to_real = distances(&made_cloud.points, &there, &real_cloud.tree, 1.0, stop)?;
    let to_made = distances(
        &real_cloud.points,
        &back,
        &made_cloud.tree,
        there.scale,
        stop,
    )?;
    let near = THRESHOLDS.map(|limit| Near {
        precision: share(&to_real, limit),
        recall: share(&to_made, limit),
    });
    let square = |list: &[f64]| list.iter().map(|d| d * d).sum::<f64>() / list.len() as f64;
    let unit = real.diagonal;
    let (chamfer_l1, chamfer_l2) = (
        (mean(&to_real) + mean(&to_made)) * unit,
        (square(&to_real) + square(&to_made)) * unit * unit,
    );
    let distances_all = summary(to_real, to_made).map(|distance| distance * unit);
    let surface_to_real = distances(&made_cloud.points, &there, &real_cloud.surface, 1.0, stop)?;
    let surface_to_made = distances(
        &real_cloud.points,
        &back,
        &made_cloud.surface,
        there.scale,
        stop,
    )?;
    let near_surface = THRESHOLDS.map(|limit| Near {
        precision: share(&surface_to_real, limit),
        recall: share(&surface_to_made, limit),
    });
    // From diagonals back to the units of both files.
    let scale = there.scale * real.diagonal / made.diagonal;
    let moved = pose::turned(&there.turn, made.centre);
    let shift = [0, 1, 2]
        .map(|axis| real.centre[axis] + real.diagonal * there.shift[axis] - scale * moved[axis]);
    Ok(Comparison {
        near,
        near_surface,
        chamfer_l1,
        chamfer_l2,
        distances: distances_all,
        scale,
        turn: pose::quaternion(&there.turn),
        shift,
        pose: found.kind,
        margin: found.margin,
    })
}

/// Returns how far each point is, once moved, from the nearest shape, in `unit`s.
fn distances<S: Shape>(
    points: &[[f64; 3]],
    pose: &Similarity,
    shapes: &Tree<S>,
    unit: f64,
    stop: &(dyn Fn() -> bool + Sync),
) -> Result<Vec<f64>, ScoreError> {
    let parts = points.par_chunks(4096).map(|part| {
        if stop() {
            return Err(ScoreError::Stopped);
        }
        let mut guess = 0;
        let mut far = Vec::with_capacity(part.len());
        for point in part {
            let (number, squared) = shapes.nearest(pose.apply(*point), guess);
            guess = number;
            far.push(squared.sqrt() * unit);
        }
        Ok(far)
    });
    Ok(parts.collect::<Result<Vec<_>, _>>()?.concat())
}

fn share(distances: &[f64], limit: f64) -> f64 {
    let near = distances.iter().filter(|distance| **distance <= limit);
    near.count() as f64 / distances.len() as f64
}

fn mean(list: &[f64]) -> f64 {
    list.iter().sum::<f64>() / list.len() as f64
}

fn summary(to_real: Vec<f64>, to_made: Vec<f64>) -> [f64; 5] {
    let mut all = to_real;
    all.extend(to_made);
    all.sort_by(f64::total_cmp);
    let last = all.len() - 1;
    let at = |hundredth: usize| all[last * hundredth / 100];
    [mean(&all), at(50), at(95), at(99), all[last]]
}

#[cfg(test)]
mod tests;
