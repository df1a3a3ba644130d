//! What the page of a report is made of. The field names are those of `web/src/data.ts`.

use serde::Serialize;

use crate::ops::report::folder::ASSIGNMENT;

/// The version of this shape.
pub(super) const SCHEMA: u32 = 1;

/// Everything that a report shows.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Data {
    pub(super) schema: u32,
    pub(super) made_at: String,
    pub(super) archi3d: &'static str,
    pub(super) title: String,
    pub(super) runs: Vec<Run>,
    pub(super) against: Option<String>,
    pub(super) algos: Vec<Algo>,
    pub(super) items: Vec<Item>,
    pub(super) jobs: Vec<Job>,
    pub(super) costs: Vec<Cost>,
    pub(super) accepts: Vec<Accept>,
    pub(super) rankings: Vec<Ranking>,
    pub(super) left_out: Vec<LeftOut>,
    /// Jobs of which there are only rehearsals.
    pub(super) rehearsed: Vec<Rehearsed>,
    /// What was odd when it was built, one sentence each.
    pub(super) notes: Vec<String>,
}

/// What the votes on pairs in one run came to, drawn in one way.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Ranking {
    pub(super) run_id: String,
    pub(super) mode: String,
    pub(super) votes: usize,
    pub(super) both_unusable: usize,
    pub(super) agreement: Option<f64>,
    pub(super) unconnected: Vec<String>,
    /// Best first.
    pub(super) algos: Vec<Ranked>,
}

#[derive(Debug, Clone, Serialize)]
pub(super) struct Ranked {
    pub(super) algo: String,
    pub(super) points: f64,
    pub(super) interval: Option<(f64, f64)>,
    pub(super) best: Option<f64>,
    pub(super) votes: usize,
}

#[derive(Debug, Clone, Serialize)]
pub(super) struct Rehearsed {
    pub(super) run_id: String,
    pub(super) product_id: String,
    pub(super) variant: String,
    pub(super) algo: String,
}

#[derive(Debug, Clone, Serialize)]
pub(super) struct Run {
    pub(super) run_id: String,
    pub(super) created_at: Option<String>,
}

#[derive(Debug, Clone, Serialize)]
pub(super) struct Algo {
    pub(super) algo: String,
    pub(super) unit_price_usd: Option<f64>,
}

#[derive(Debug, Clone, Default, Serialize)]
pub(super) struct Item {
    pub(super) product_id: String,
    pub(super) variant: String,
    pub(super) name: String,
    pub(super) category: String,
    pub(super) pictures: Vec<Picture>,
    /// Pictures that cannot be read.
    pub(super) missing: usize,
    pub(super) truth: Option<Model>,
}

#[derive(Debug, Clone, Serialize)]
pub(super) struct Picture {
    pub(super) name: String,
    pub(super) sha256: String,
}

#[derive(Debug, Clone, Serialize)]
#[expect(clippy::struct_field_names, reason = "tables call it so")]
pub(super) struct Job {
    pub(super) run_id: String,
    pub(super) job_id: String,
    pub(super) item: usize,
    pub(super) algo: String,
    pub(super) state: String,
    pub(super) error_class: Option<String>,
    pub(super) error: Option<String>,
    pub(super) seconds: Option<f64>,
    pub(super) cost_micros: Option<i64>,
    pub(super) attempts: usize,
    pub(super) model: Option<Model>,
    pub(super) score: Option<Score>,
    /// What programs of the workspace measured.
    pub(super) measures: Vec<Measure>,
}

#[derive(Debug, Clone, Serialize)]
pub(super) struct Measure {
    pub(super) name: String,
    pub(super) value: String,
    /// The file that was measured; another one has no such value.
    #[serde(skip)]
    pub(super) of: String,
}

#[derive(Debug, Clone, Default, Serialize)]
pub(super) struct Model {
    pub(super) sha256: String,
    pub(super) bytes: u64,
    pub(super) path: String,
    pub(super) triangles: Option<usize>,
    pub(super) vertices: Option<usize>,
    pub(super) materials: Option<usize>,
    pub(super) texture: Option<(usize, usize)>,
    pub(super) poster: bool,
    pub(super) payload: bool,
    /// The service's own picture, where none was drawn.
    pub(super) preview: Option<String>,
    pub(super) note: Option<String>,
}

#[derive(Debug, Clone, Serialize)]
pub(super) struct Score {
    pub(super) fscore: Option<f64>,
    pub(super) precision: Option<f64>,
    pub(super) recall: Option<f64>,
    pub(super) chamfer_l2: Option<f64>,
    pub(super) status: String,
    /// Why there is no score.
    pub(super) error: Option<String>,
    pub(super) pose: Option<Pose>,
    /// How the model stands: `upright` or `turned`.
    pub(super) stands: Option<String>,
    /// How much worse the next different pose is.
    pub(super) margin: Option<f64>,
    /// The file that was measured; another one has no score.
    #[serde(skip)]
    pub(super) of: String,
}

#[derive(Debug, Clone, Serialize)]
pub(super) struct Pose {
    pub(super) scale: f64,
    pub(super) turn: [f64; 4],
    pub(super) shift: [f64; 3],
}

#[derive(Debug, Clone, Serialize)]
pub(super) struct Cost {
    pub(super) run_id: String,
    pub(super) algo: String,
    pub(super) spent_micros: i64,
    pub(super) reserved_micros: i64,
    /// Attempts that may have been billed with nobody knows what.
    pub(super) unknown: usize,
}

#[derive(Debug, Clone, Serialize)]
pub(super) struct Accept {
    pub(super) job_id: String,
    pub(super) run_id: String,
    pub(super) judge: String,
    pub(super) accepted: bool,
}

/// Jobs that a report does not show, and why.
#[derive(Debug, Clone, Serialize)]
pub struct LeftOut {
    /// Why.
    pub reason: String,
    /// How many.
    pub jobs: usize,
}

impl Data {
    /// Returns the script that a page on a disk can load. Nothing in it can end the
    /// script or begin markup, whatever products are called.
    pub(super) fn script(&self) -> String {
        let json = serde_json::to_string(self).expect("plain data can always be written");
        format!("{ASSIGNMENT}{};\n", harmless(&json))
    }
}

/// Writes what HTML or old scripts would take for their own as escapes.
fn harmless(json: &str) -> String {
    json.replace('<', "\\u003c")
        .replace('\u{2028}', "\\u2028")
        .replace('\u{2029}', "\\u2029")
}
