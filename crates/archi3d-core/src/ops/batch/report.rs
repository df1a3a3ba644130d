//! What a batch consists of, for the person, the log and machines.

use std::collections::BTreeMap;

use serde::Serialize;

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

    fn log_record(&self) -> Record<'_> {
        Record {
            event: "batch_create",
            timestamp: self.timestamp,
            run_id: &self.run_id,
            algos: &self.algos.algos,
            algo_by_images: self.algos.by_images,
            single_algos: &self.algos.single,
            multi_algos: &self.algos.multi,
            image_policy: IMAGE_POLICY,
            candidates: self.candidates,
            enqueued: self.enqueued,
            skipped: self.skipped,
            skip_reasons: self.skip_reasons.iter().copied().collect(),
            dry_run: self.dry_run,
        }
    }

    /// Returns everything, as machines read it.
    pub fn told(&self) -> impl Serialize {
        Told {
            record: self.log_record(),
            manifest_jobs: self.manifest_jobs,
            risky_cells: &self.risky_cells,
            notices: &self.notices,
            warnings: &self.warnings,
        }
    }
}

/// What the log keeps.
#[derive(Serialize)]
struct Record<'a> {
    event: &'static str,
    timestamp: Timestamp,
    run_id: &'a RunId,
    algos: &'a [AlgoKey],
    algo_by_images: bool,
    single_algos: &'a [AlgoKey],
    multi_algos: &'a [AlgoKey],
    image_policy: &'static str,
    candidates: usize,
    enqueued: usize,
    skipped: usize,
    skip_reasons: BTreeMap<SkipReason, usize>,
    dry_run: bool,
}

/// Everything, as machines read it.
#[derive(Serialize)]
struct Told<'a> {
    #[serde(flatten)]
    record: Record<'a>,
    manifest_jobs: Option<usize>,
    risky_cells: &'a [RiskyCell],
    notices: &'a [String],
    warnings: &'a [String],
}
