//! What a batch consists of, for the person, the log and machines.

use serde_json::{Map, Value, json};

use crate::domain::id::{AlgoKey, RunId};
use crate::domain::plan::{AlgoSelection, Plan, SkipReason};
use crate::domain::time::Timestamp;
use crate::ops::batch::IMAGE_POLICY;
use crate::store::table_file::RiskyCell;
use crate::workspace::log::append_record;
use crate::workspace::paths::Workspace;

/// What a batch consists of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BatchReport {
    /// When it was created.
    pub timestamp: Timestamp,
    /// The run it belongs to.
    pub run_id: RunId,
    /// The algorithms.
    pub algos: AlgoSelection,
    /// How many items passed every filter.
    pub candidates: usize,
    /// How many jobs are new.
    pub enqueued: usize,
    /// How many items and jobs were left out.
    pub skipped: usize,
    /// How many of them, by reason.
    pub skip_reasons: Vec<(SkipReason, usize)>,
    /// Whether nothing was written.
    pub dry_run: bool,
    /// How many jobs the run's manifest has now; nothing is known of it in a dry run.
    pub manifest_jobs: Option<usize>,
    /// Outside text that a spreadsheet would run.
    pub risky_cells: Vec<RiskyCell>,
    /// What a person should know, one sentence each.
    pub notices: Vec<String>,
    /// What looked wrong, one sentence each.
    pub warnings: Vec<String>,
}

impl BatchReport {
    pub(super) fn new(
        timestamp: Timestamp,
        run_id: RunId,
        algos: AlgoSelection,
        plan: &Plan<'_>,
    ) -> Self {
        Self {
            timestamp,
            run_id,
            algos,
            candidates: plan.candidates,
            enqueued: plan.jobs.len(),
            skipped: plan.skipped(),
            skip_reasons: plan
                .skips
                .iter()
                .map(|(why, count)| (*why, *count))
                .collect(),
            dry_run: false,
            manifest_jobs: None,
            risky_cells: Vec::new(),
            notices: Vec::new(),
            warnings: Vec::new(),
        }
    }

    pub(super) fn log(&mut self, workspace: &Workspace) {
        let trouble = append_record(&workspace.log("batch_create"), &self.log_record());
        self.warnings.extend(trouble);
    }

    /// Returns the record of the log.
    pub fn log_record(&self) -> Map<String, Value> {
        let names = |keys: &[AlgoKey]| keys.iter().map(AlgoKey::to_string).collect::<Vec<_>>();
        let reasons: Map<String, Value> = self
            .skip_reasons
            .iter()
            .map(|(why, count)| (why.word().to_owned(), (*count).into()))
            .collect();
        let record = json!({
            "event": "batch_create",
            "timestamp": self.timestamp,
            "run_id": self.run_id,
            "algos": names(&self.algos.algos),
            "algo_by_images": self.algos.by_images,
            "single_algos": names(&self.algos.single),
            "multi_algos": names(&self.algos.multi),
            "image_policy": IMAGE_POLICY,
            "candidates": self.candidates,
            "enqueued": self.enqueued,
            "skipped": self.skipped,
            "skip_reasons": reasons,
            "dry_run": self.dry_run,
        });
        match record {
            Value::Object(record) => record,
            _ => Map::new(),
        }
    }

    /// Returns everything, as machines read it.
    pub fn to_json(&self) -> Value {
        let mut record = self.log_record();
        record.insert("manifest_jobs".into(), json!(self.manifest_jobs));
        record.insert("risky_cells".into(), json!(self.risky_cells));
        record.insert("notices".into(), json!(self.notices));
        record.insert("warnings".into(), json!(self.warnings));
        record.into()
    }
}
