//! A row of the registry, as far as a report reads it.

use crate::ops::report::data::{Pose, Score};
use crate::store::table_file::Columns;
use crate::table::Table;

/// The levels of a category, the closest first.
pub(super) const CATEGORIES: [&str; 3] = ["category_l3", "category_l2", "category_l1"];

/// The cells that are read of a row.
pub(super) const COLUMNS: &[&str] = &[
    "run_id",
    "job_id",
    "product_id",
    "variant",
    "product_name",
    "category_l3",
    "category_l2",
    "category_l1",
    "algo",
    "status",
    "generation_duration_s",
    "gen_object_path",
    "preview_1_path",
    "error_msg",
    "price_source",
    "gt_object_path",
    "created_at",
    "used_image_1_path",
    "used_image_2_path",
    "used_image_3_path",
    "used_image_4_path",
    "used_image_5_path",
    "used_image_6_path",
    "fscore",
    "precision",
    "recall",
    "chamfer_l2",
    "fscore_status",
    "fscore_scale",
    "fscore_rot_w",
    "fscore_rot_x",
    "fscore_rot_y",
    "fscore_rot_z",
    "fscore_tx",
    "fscore_ty",
    "fscore_tz",
    "fscore_error",
    "fscore_pose",
    "fscore_pose_margin",
    "fscore_model_sha256",
];

/// One row of the registry by column name.
pub(super) struct Row<'t> {
    pub(super) table: &'t Table,
    pub(super) columns: &'t Columns,
    pub(super) number: usize,
}

impl Row<'_> {
    pub(super) fn text(&self, name: &str) -> String {
        let index = COLUMNS.iter().position(|column| *column == name);
        let text = index.and_then(|index| {
            let cell = self.columns.text(self.table, self.number, index);
            cell.ok().map(std::borrow::Cow::into_owned)
        });
        text.unwrap_or_default()
    }

    pub(super) fn number(&self, name: &str) -> Option<f64> {
        let value: f64 = self.text(name).trim().parse().ok()?;
        value.is_finite().then_some(value)
    }

    /// Returns the run and the job.
    pub(super) fn key(&self) -> (String, String) {
        (self.text("run_id"), self.text("job_id"))
    }

    /// Reads what `compute fscore` wrote.
    pub(super) fn score(&self) -> Option<Score> {
        let status = self.text("fscore_status");
        if status.is_empty() {
            return None;
        }
        let all = |names: &[&str]| -> Option<Vec<f64>> {
            names.iter().map(|name| self.number(name)).collect()
        };
        let turn = all(&[
            "fscore_rot_w",
            "fscore_rot_x",
            "fscore_rot_y",
            "fscore_rot_z",
        ]);
        let shift = all(&["fscore_tx", "fscore_ty", "fscore_tz"]);
        let pose = self.number("fscore_scale").zip(turn).zip(shift);
        let told = |name: &str| Some(self.text(name)).filter(|text| !text.is_empty());
        Some(Score {
            error: told("fscore_error"),
            stands: told("fscore_pose"),
            margin: self.number("fscore_pose_margin"),
            of: self.text("fscore_model_sha256"),
            fscore: self.number("fscore"),
            precision: self.number("precision"),
            recall: self.number("recall"),
            chamfer_l2: self.number("chamfer_l2"),
            status,
            pose: pose.and_then(|((scale, turn), shift)| {
                Some(Pose {
                    scale,
                    turn: turn.try_into().ok()?,
                    shift: shift.try_into().ok()?,
                })
            }),
        })
    }
}
