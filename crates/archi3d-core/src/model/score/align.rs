//! Finds how a made model lies on the real one.
//!
//! From many starts, each fitted again and again to the nearest points of the other
//! surface, both ways and without the worst tenth; the best are fitted with more points.
//! Everything happens between two models that are one diagonal long each.

use std::f64::consts::PI;

use rayon::prelude::*;

use crate::model::score::pose::{self, Similarity, Turn, after, around, transposed};
use crate::model::score::tree::{Shape, Tree, Triangle, minus};
use crate::model::score::{Pose, ScoreError};

/// How many points take part, how often they are fitted at most, and how many poses go on.
struct Round {
    points: usize,
    fits: usize,
    kept: usize,
}

const ROUNDS: [Round; 3] = [
    Round {
        points: 200,
        fits: 10,
        kept: 5,
    },
    Round {
        points: 1000,
        fits: 20,
        kept: 2,
    },
    Round {
        points: 4000,
        fits: 25,
        kept: 2,
    },
];

/// The share of pairs that counts; the worst are parts that only one of them has.
const TRUSTED: f64 = 0.9;

/// A fit that gains less than this share has arrived.
const ARRIVED: f64 = 1e-4;

/// Poses that put the model nearer to itself than this share of the diagonal are one.
const SAME: f64 = 0.01;

/// Another pose than upright must be so much better.
const MUCH_BETTER: f64 = 0.8;

/// An upright pose this good needs no other search, in diagonals.
const GOOD: f64 = 0.002;

/// Nearer than this is the same place.
const NOTHING: f64 = 1e-6;

/// Points of a surface, and ways to find the nearest of them and the nearest triangle.
pub(super) struct Cloud {
    pub(super) points: Vec<[f64; 3]>,
    pub(super) tree: Tree<[f64; 3]>,
    pub(super) surface: Tree<Triangle>,
}

impl Cloud {
    pub(super) fn of(points: Vec<[f64; 3]>, triangles: Vec<Triangle>) -> Self {
        let tree = Tree::of(points.clone());
        let surface = Tree::of(triangles);
        Self {
            points,
            tree,
            surface,
        }
    }

    /// Returns about `count` of the points, as evenly spread as all of them.
    fn some(&self, count: usize) -> Vec<[f64; 3]> {
        let step = (self.points.len() / count).max(1);
        self.points.iter().step_by(step).copied().collect()
    }
}

/// A pose and how far both surfaces are from each other in it, in diagonals.
#[derive(Debug, Clone, Copy)]
struct Candidate {
    pose: Similarity,
    cost: f64,
}

/// The pose that was found.
#[derive(Debug, Clone, Copy)]
pub(super) struct Found {
    pub(super) pose: Similarity,
    pub(super) kind: Pose,
    /// How much worse the next different pose is; nothing if there is none.
    pub(super) margin: Option<f64>,
}

/// Says that nobody waits for the answer any more.
pub(super) type Stop<'a> = &'a (dyn Fn() -> bool + Sync);

/// Finds the pose of `model` on `truth`: upright unless another is much better.
pub(super) fn align(model: &Cloud, truth: &Cloud, stop: Stop<'_>) -> Result<Found, ScoreError> {
    let search = Search { model, truth, stop };
    let upright = search.best_of(&upright_turns(), true)?;
    let found = |list: &[Candidate], kind| Found {
        pose: list[0].pose,
        kind,
        margin: list
            .get(1)
            .map(|next| next.cost / list[0].cost.max(NOTHING)),
    };
    if upright[0].cost < GOOD {
        return Ok(found(&upright, Pose::Upright));
    }
    let free = search.best_of(&search.all_turns(), false)?;
    if free[0].cost < MUCH_BETTER * upright[0].cost {
        return Ok(found(&free, Pose::Turned));
    }
    Ok(found(&upright, Pose::Upright))
}

/// Turns around the upright axis, 15° apart.
fn upright_turns() -> Vec<Turn> {
    let turn = |step: u32| around([0.0, 1.0, 0.0], f64::from(step) * PI / 12.0);
    (0..24).map(turn).collect()
}

/// The 24 turns that bring a cube onto itself.
fn cube_turns() -> Vec<Turn> {
    let orders: [[usize; 3]; 6] = [
        [0, 1, 2],
        [1, 2, 0],
        [2, 0, 1],
        [0, 2, 1],
        [2, 1, 0],
        [1, 0, 2],
    ];
    let mut turns = Vec::new();
    for (number, order) in orders.iter().enumerate() {
        for signs in 0..8_u32 {
            let odd = (signs.count_ones() % 2 == 1) != (number >= 3);
            if odd {
                continue; // a mirror image
            }
            let mut turn = [[0.0; 3]; 3];
            for row in 0..3 {
                let negative = signs >> row & 1 == 1;
                turn[row][order[row]] = if negative { -1.0 } else { 1.0 };
            }
            turns.push(turn);
        }
    }
    turns
}

struct Search<'a> {
    model: &'a Cloud,
    truth: &'a Cloud,
    stop: Stop<'a>,
}

impl Search<'_> {
    /// Upright turns, turns of a cube, and turns that bring main directions onto each
    /// other; around the most distinct one in small steps too.
    fn all_turns(&self) -> Vec<Turn> {
        let (from, _) = pose::main_axes(&self.model.some(5000));
        let (to, spreads) = pose::main_axes(&self.truth.some(5000));
        let back = transposed(&to);
        let mut turns = upright_turns();
        turns.extend(cube_turns());
        let along = cube_turns().into_iter();
        turns.extend(along.map(|turn| after(&back, &after(&turn, &from))));
        let long = spreads[0] * spreads[2] > spreads[1] * spreads[1];
        let axis = if long {
            [1.0, 0.0, 0.0]
        } else {
            [0.0, 0.0, 1.0]
        };
        for flip in [0.0, PI] {
            let flipped = after(&around([0.0, 1.0, 0.0], flip), &from);
            turns.extend((0..12).map(|step| {
                let spin = around(axis, f64::from(step) * PI / 6.0);
                after(&back, &after(&spin, &flipped))
            }));
        }
        turns
    }

    /// Fits from all starts and returns what is left after the last round, best first.
    fn best_of(&self, starts: &[Turn], upright: bool) -> Result<Vec<Candidate>, ScoreError> {
        let mut poses: Vec<Similarity> = starts.iter().map(|turn| self.start(turn)).collect();
        let mut best = Vec::new();
        for (number, round) in ROUNDS.iter().enumerate() {
            let points = (self.model.some(round.points), self.truth.some(round.points));
            // Points hold a pose where it is once they are farther apart than it is off.
            let is_last = number + 1 == ROUNDS.len();
            let fitted = poses.par_iter().map(|pose| {
                if is_last {
                    let trees = (&self.model.surface, &self.truth.surface);
                    self.fit(*pose, &points, trees, round.fits, upright)
                } else {
                    let trees = (&self.model.tree, &self.truth.tree);
                    self.fit(*pose, &points, trees, round.fits, upright)
                }
            });
            let mut candidates: Vec<Candidate> = fitted.collect::<Result<_, _>>()?;
            candidates.sort_by(|a, b| a.cost.total_cmp(&b.cost));
            best = self.different(&candidates, round.kept);
            poses = best.iter().map(|candidate| candidate.pose).collect();
        }
        Ok(best)
    }

    /// Puts the middles onto each other and makes both equally large.
    fn start(&self, turn: &Turn) -> Similarity {
        let (model, truth) = (&self.model.points, &self.truth.points);
        let (from, to) = (pose::mean(model), pose::mean(truth));
        let spread = |points: &[[f64; 3]], middle: [f64; 3]| -> f64 {
            let away = points.iter().map(|point| minus(*point, middle));
            away.map(|at| at.iter().map(|v| v * v).sum::<f64>())
                .sum::<f64>()
                / points.len() as f64
        };
        let scale = (spread(truth, to) / spread(model, from)).sqrt();
        let middle = pose::turned(turn, from);
        Similarity {
            turn: *turn,
            scale,
            shift: [0, 1, 2].map(|axis| to[axis] - scale * middle[axis]),
        }
    }

    fn fit<S: Shape>(
        &self,
        start: Similarity,
        (model, truth): &(Vec<[f64; 3]>, Vec<[f64; 3]>),
        (model_tree, truth_tree): (&Tree<S>, &Tree<S>),
        fits: usize,
        upright: bool,
    ) -> Result<Candidate, ScoreError> {
        let mut best = Candidate {
            pose: start,
            cost: f64::MAX,
        };
        let mut pose = start;
        let mut guesses = (vec![0; model.len()], vec![0; truth.len()]);
        for _ in 0..fits {
            if (self.stop)() {
                return Err(ScoreError::Stopped);
            }
            let back = pose.inverse();
            let mut pairs = Vec::with_capacity(model.len() + truth.len());
            let mut cost = 0.0;
            let mut near = Vec::with_capacity(model.len());
            for (at, guess) in model.iter().zip(&mut guesses.0) {
                let there = pose.apply(*at);
                let (number, squared) = truth_tree.nearest(there, *guess);
                *guess = number;
                near.push((squared, *at, truth_tree.closest(number, there)));
            }
            cost += keep_near(&mut near, &mut pairs);
            near.clear();
            for (at, guess) in truth.iter().zip(&mut guesses.1) {
                let there = back.apply(*at);
                let (number, squared) = model_tree.nearest(there, *guess);
                *guess = number;
                near.push((squared, model_tree.closest(number, there), *at));
            }
            cost += keep_near(&mut near, &mut pairs) * pose.scale;
            cost /= 2.0;
            let gain = 1.0 - cost / best.cost;
            if cost < best.cost {
                best = Candidate { pose, cost };
            }
            if gain < ARRIVED {
                break;
            }
            let Some(next) = pose::fit(&pairs, upright) else {
                break;
            };
            pose = next;
        }
        Ok(best)
    }

    /// Returns the first few that put the model into truly different places: a pose that
    /// a symmetry of the model turns into a better one is none of its own.
    fn different(&self, sorted: &[Candidate], most: usize) -> Vec<Candidate> {
        let points = self.model.some(200);
        let mut kept: Vec<Candidate> = Vec::new();
        for candidate in sorted {
            let is_known = |other: &Candidate| {
                let back = other.pose.inverse();
                let apart = points.iter().map(|at| {
                    let at = back.apply(candidate.pose.apply(*at));
                    self.model.tree.nearest(at, 0).1.sqrt()
                });
                let apart: f64 = apart.sum::<f64>() / points.len() as f64;
                apart * other.pose.scale < SAME
            };
            if !kept.iter().any(is_known) {
                kept.push(*candidate);
            }
            if kept.len() == most {
                break;
            }
        }
        kept
    }
}

/// Hands the trusted pairs over and returns their mean distance.
fn keep_near(near: &mut [(f64, [f64; 3], [f64; 3])], pairs: &mut Vec<([f64; 3], [f64; 3])>) -> f64 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a share of a length"
    )]
    let trusted = ((near.len() as f64 * TRUSTED) as usize).clamp(1, near.len());
    near.select_nth_unstable_by(trusted - 1, |a, b| a.0.total_cmp(&b.0));
    let near = &near[..trusted];
    pairs.extend(near.iter().map(|(_, from, to)| (*from, *to)));
    near.iter().map(|(squared, ..)| squared.sqrt()).sum::<f64>() / trusted as f64
}
