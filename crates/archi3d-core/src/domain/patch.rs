//! What a change of state writes into a job's row of the registry.
//!
//! A patch names only the columns it means; every other cell keeps its bytes.

use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::domain::job::Status;
use crate::domain::text::{error_cell, formula_safe, number_cell, seconds_cell};
use crate::domain::time::Timestamp;

/// Columns the worker adds to a registry that lacks them, in this order.
pub const WORKER_COLUMNS: &[&str] = &[
    "generation_start",
    "generation_end",
    "generation_duration_s",
    "unit_price_usd",
    "price_source",
    "gen_object_path",
    "preview_1_path",
    "preview_2_path",
    "preview_3_path",
    "error_msg",
    "worker_host",
    "worker_user",
    "worker_gpu",
    "worker_env",
    "worker_commit",
    "estimated_cost_usd",
];

/// The word in `price_source` and `algo_version` that marks a rehearsal.
pub const DRY_RUN: &str = "dry-run";

/// The word in `price_source` that marks a copy of an earlier result.
pub const REUSED: &str = "reused";

/// One cell to write.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CellPatch {
    /// The column's name.
    #[serde(deserialize_with = "column_name")]
    pub column: Cow<'static, str>,
    /// The new text.
    pub value: String,
    /// Write only where the cell is empty (or holds a rehearsal's mark).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub only_if_empty: bool,
}

/// Reads the name of a column; those of ours are not kept a second time.
fn column_name<'de, D: Deserializer<'de>>(from: D) -> Result<Cow<'static, str>, D::Error> {
    struct Name;
    impl Visitor<'_> for Name {
        type Value = Cow<'static, str>;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("the name of a column")
        }
        fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
            let ours = WORKER_COLUMNS.iter().chain(&["status", "algo_version"]);
            let known = ours.copied().find(|name| *name == text);
            Ok(known.map_or_else(|| Cow::Owned(text.to_owned()), Cow::Borrowed))
        }
    }
    from.deserialize_str(Name)
}

/// The cells a change of state writes. Copies share them: a patch goes into the
/// journal, the marker and the committer's hands unchanged.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Patch(Arc<Vec<CellPatch>>);

impl Patch {
    /// Starts a patch that sets the status.
    pub fn status(status: Status) -> Self {
        let mut patch = Self::default();
        patch.set("status", status.word());
        patch
    }

    /// Returns the cells in the order in which they were added.
    pub fn cells(&self) -> &[CellPatch] {
        &self.0
    }

    /// Adds a cell.
    pub fn set(&mut self, column: impl Into<Cow<'static, str>>, value: impl Into<String>) {
        self.add(column.into(), value.into(), false);
    }

    /// Adds a cell that is written only where nothing stands yet.
    pub fn fill(&mut self, column: impl Into<Cow<'static, str>>, value: impl Into<String>) {
        self.add(column.into(), value.into(), true);
    }

    fn add(&mut self, column: Cow<'static, str>, value: String, only_if_empty: bool) {
        Arc::make_mut(&mut self.0).push(CellPatch {
            column,
            value,
            only_if_empty,
        });
    }

    /// Writes every cell whatever stands there: the row tells of a new result now.
    pub fn insist(&mut self) {
        for cell in Arc::make_mut(&mut self.0) {
            cell.only_if_empty = false;
        }
    }

    /// Blanks what a rehearsal wrote, for a job whose rehearsal is void.
    pub fn forget_rehearsal(&mut self) {
        for column in [
            "gen_object_path",
            "preview_1_path",
            "preview_2_path",
            "preview_3_path",
            "unit_price_usd",
            "estimated_cost_usd",
            "price_source",
        ] {
            self.set(column, "");
        }
        self.fill("algo_version", "");
    }

    /// Returns the value this patch writes into `column`.
    pub fn get(&self, column: &str) -> Option<&str> {
        self.0
            .iter()
            .rev()
            .find(|cell| cell.column == column)
            .map(|cell| cell.value.as_str())
    }
}

impl CellPatch {
    /// Tells whether the cell is to be written over `current`.
    pub fn applies_to(&self, current: &str) -> bool {
        !self.only_if_empty || current.is_empty() || current == DRY_RUN
    }
}

/// Who runs the jobs: one per worker process.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerFacts {
    /// The machine's name.
    pub host: String,
    /// The user's name.
    pub user: String,
    /// The graphics card, if one answers.
    pub gpu: String,
    /// Program version and environment name.
    pub env: String,
    /// The commit in `ARCHI3D_COMMIT`, if set.
    pub commit: String,
}

impl WorkerFacts {
    fn write_into(&self, patch: &mut Patch) {
        patch.set("worker_host", formula_safe(&self.host));
        patch.set("worker_user", formula_safe(&self.user));
        patch.set("worker_gpu", formula_safe(&self.gpu));
        patch.set("worker_env", formula_safe(&self.env));
        patch.set("worker_commit", formula_safe(&self.commit));
    }
}

/// Returns the patch of a job that starts.
pub fn running(start: Timestamp, worker: &WorkerFacts) -> Patch {
    let mut patch = Patch::status(Status::Running);
    patch.set("generation_start", start.iso());
    for column in ["generation_end", "generation_duration_s", "error_msg"] {
        patch.set(column, "");
    }
    worker.write_into(&mut patch);
    patch
}

/// When an attempt ran, by the wall clock at its start and the steady clock after.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// When it started.
    pub start: Timestamp,
    /// How long it took.
    pub duration: Duration,
}

impl Span {
    fn write_into(self, patch: &mut Patch) {
        patch.set("generation_start", self.start.iso());
        patch.set("generation_end", self.start.plus(self.duration).iso());
        patch.set("generation_duration_s", seconds_cell(self.duration));
    }
}

/// What a generation cost, as far as anybody knows.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Price {
    /// The price of one generation.
    pub unit_usd: Option<f64>,
    /// What this one is believed to have cost.
    pub estimated_usd: Option<f64>,
    /// Where the figure comes from.
    pub source: Option<String>,
}

/// What a completed job leaves behind, by workspace-relative path.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Product {
    /// The model.
    pub object: String,
    /// Up to three previews.
    pub previews: Vec<String>,
    /// What made it.
    pub algo_version: Option<String>,
    /// What it cost.
    pub price: Price,
}

/// Returns the patch of a job that has a result.
pub fn completed(span: Span, worker: &WorkerFacts, product: &Product) -> Patch {
    let mut patch = Patch::status(Status::Completed);
    span.write_into(&mut patch);
    let number = |value: Option<f64>| value.map(number_cell).unwrap_or_default();
    patch.set("unit_price_usd", number(product.price.unit_usd));
    patch.set("estimated_cost_usd", number(product.price.estimated_usd));
    let source = product.price.source.as_deref().unwrap_or("unknown");
    patch.set("price_source", formula_safe(source));
    patch.set("gen_object_path", product.object.as_str());
    for n in 0..3 {
        let path = product
            .previews
            .get(n)
            .map(String::as_str)
            .unwrap_or_default();
        patch.set(format!("preview_{}_path", n + 1), path);
    }
    patch.set("error_msg", "");
    if let Some(version) = &product.algo_version {
        patch.fill("algo_version", formula_safe(version));
    }
    worker.write_into(&mut patch);
    patch
}

/// Returns the patch of a job that failed.
pub fn failed(span: Span, worker: &WorkerFacts, message: &str) -> Patch {
    let mut patch = Patch::status(Status::Failed);
    span.write_into(&mut patch);
    patch.set("error_msg", error_cell(message));
    worker.write_into(&mut patch);
    patch
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span() -> Span {
        Span {
            start: Timestamp::parse("2026-01-01T00:00:00Z").expect("valid"),
            duration: Duration::from_millis(1500),
        }
    }

    #[test]
    fn the_end_is_start_plus_duration_so_a_clock_step_cannot_make_it_absurd() {
        let patch = failed(span(), &WorkerFacts::default(), "x");
        assert_eq!(
            patch.get("generation_end"),
            Some("2026-01-01T00:00:01.500000+00:00")
        );
        assert_eq!(patch.get("generation_duration_s"), Some("1.5"));
    }

    #[test]
    fn a_failure_leaves_version_price_and_old_outputs_alone() {
        let patch = failed(span(), &WorkerFacts::default(), "x");
        for column in [
            "algo_version",
            "gen_object_path",
            "unit_price_usd",
            "preview_1_path",
        ] {
            assert_eq!(patch.get(column), None, "{column}");
        }
    }

    #[test]
    fn a_version_is_written_only_where_none_stands() {
        let product = Product {
            algo_version: Some("v2".into()),
            ..Product::default()
        };
        let patch = completed(span(), &WorkerFacts::default(), &product);
        let cell = patch
            .0
            .iter()
            .find(|c| c.column == "algo_version")
            .expect("there");
        assert!(cell.applies_to(""));
        assert!(cell.applies_to("dry-run"));
        assert!(!cell.applies_to("v1"));
    }

    #[test]
    fn an_unknown_price_is_blank_and_not_zero() {
        let patch = completed(span(), &WorkerFacts::default(), &Product::default());
        assert_eq!(patch.get("unit_price_usd"), Some(""));
        assert_eq!(patch.get("price_source"), Some("unknown"));
    }
}
