//! The F-score: how near a made model comes to the real one, measured here.

use serde_json::{Map, Value, json};

use crate::cancel::StopReason;
use crate::model::score::{self, Comparison, Near, ScoreError, THRESHOLDS, TOOL_VERSION};
use crate::model::{self, Model};
use crate::ops::compute::{Case, Measured, Metric, Subject, Unmeasured};

/// Measures how near models come to the real ones.
#[derive(Debug, Clone, Copy)]
pub struct Fscore {
    /// How many points each surface gets.
    pub points: usize,
}

impl Metric for Fscore {
    fn name(&self) -> &'static str {
        "fscore"
    }

    fn prefix(&self) -> &'static str {
        "fscore"
    }

    fn settings(&self) -> String {
        format!("{TOOL_VERSION} {} {THRESHOLDS:?}", self.points)
    }

    fn measure(&self, case: &Case<'_>) -> Result<Measured, Unmeasured> {
        let truth = match &case.truth {
            Ok(Some(truth)) => truth,
            Ok(None) => return Err(Unmeasured::NoTruth),
            Err(reason) => return Err(Unmeasured::Failed(reason.clone())),
        };
        let truth = shape("the real model", truth)?;
        let made = shape("the made model", &case.model)?;
        let stop = || case.stop.reason().is_some();
        let compared = score::compare(&made, &truth, self.points, &stop);
        match compared {
            Ok(compared) => Ok(self.measured(&compared)),
            Err(ScoreError::Stopped) => Err(match case.stop.reason() {
                Some(StopReason::TimedOut) => Unmeasured::Failed("it took too long".to_owned()),
                _ => Unmeasured::Stopped,
            }),
            Err(error) => Err(Unmeasured::Failed(error.to_string())),
        }
    }
}

fn shape(what: &str, subject: &Subject) -> Result<Model, Unmeasured> {
    let is_glb = subject.path.extension();
    if !is_glb.is_some_and(|end| end.eq_ignore_ascii_case("glb")) {
        let name = subject.path.file_name().unwrap_or_default();
        return Err(Unmeasured::Failed(format!(
            "{what} {} is no GLB; convert it to GLB",
            name.to_string_lossy()
        )));
    }
    let read = model::read_shape(&subject.bytes);
    read.map_err(|error| Unmeasured::Failed(format!("{what}: {error}")))
}

impl Fscore {
    fn measured(self, found: &Comparison) -> Measured {
        let [half, one, two] = found.near;
        let [w, x, y, z] = found.turn;
        let [tx, ty, tz] = found.shift;
        let [mean, median, p95, p99, max] = found.distances;
        let cells = [
            ("fscore", json!(one.fscore())),
            ("precision", json!(one.precision)),
            ("recall", json!(one.recall)),
            ("chamfer_l2", json!(found.chamfer_l2)),
            ("fscore_n_points", json!(self.points)),
            ("fscore_scale", json!(found.scale)),
            ("fscore_rot_w", json!(w)),
            ("fscore_rot_x", json!(x)),
            ("fscore_rot_y", json!(y)),
            ("fscore_rot_z", json!(z)),
            ("fscore_tx", json!(tx)),
            ("fscore_ty", json!(ty)),
            ("fscore_tz", json!(tz)),
            ("fscore_dist_mean", json!(mean)),
            ("fscore_dist_median", json!(median)),
            ("fscore_dist_p95", json!(p95)),
            ("fscore_dist_p99", json!(p99)),
            ("fscore_dist_max", json!(max)),
            ("fscore_0p5", json!(half.fscore())),
            ("fscore_2", json!(two.fscore())),
            ("fscore_surface", json!(found.near_surface[1].fscore())),
            ("fscore_chamfer_l1", json!(found.chamfer_l1)),
            ("fscore_pose", json!(found.pose.word())),
            ("fscore_pose_margin", json!(found.margin)),
        ];
        let mut detail = Map::new();
        detail.insert("between_points".into(), thresholds(&found.near));
        detail.insert("to_surface".into(), thresholds(&found.near_surface));
        Measured {
            status: if found.is_ambiguous() {
                "ambiguous"
            } else {
                "ok"
            },
            cells: cells.map(|(name, value)| (name.to_owned(), value)).to_vec(),
            detail,
            tool_version: TOOL_VERSION.to_owned(),
        }
    }
}

fn thresholds(near: &[Near; 3]) -> Value {
    let lines = THRESHOLDS.iter().zip(near).map(|(threshold, near)| {
        json!({
            "threshold_of_diagonal": threshold,
            "fscore": near.fscore(),
            "precision": near.precision,
            "recall": near.recall,
        })
    });
    lines.collect()
}
