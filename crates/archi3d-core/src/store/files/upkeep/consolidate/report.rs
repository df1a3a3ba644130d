//! What `consolidate` found and did, for the person, the log and machines.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::domain::id::{JobId, RunId};
use crate::domain::job::Status;
use crate::domain::reconcile::Problem;
use crate::domain::time::Timestamp;
use crate::store::files::upkeep::consolidate::ConsolidateRequest;
use crate::store::files::upkeep::consolidate::plan::{Decision, Plan};
use crate::workspace::log::append_record;
use crate::workspace::paths::Workspace;

/// What `consolidate` found and did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConsolidateReport {
    /// When it looked.
    pub timestamp: Timestamp,
    /// The run.
    pub run_id: RunId,
    /// Whether nothing was to be written.
    pub dry_run: bool,
    /// Whether a problem keeps everything from being written.
    pub strict: bool,
    /// Whether the table was written.
    pub written: bool,
    /// How many rows were looked at.
    pub considered: usize,
    /// How many rows change.
    pub updated: usize,
    /// How many rows stay as they are.
    pub unchanged: usize,
    /// How many keys had several rows, which become one.
    pub conflicts_resolved: usize,
    /// How many rows get another status because of their markers.
    pub marker_mismatches_fixed: usize,
    /// How many completed rows become failed because their model is gone or broken.
    pub downgraded_missing_output: usize,
    /// How many jobs promise a result that is not there.
    pub missing_outputs: usize,
    /// How many previews that rows name are not there.
    pub invalid_previews: usize,
    /// How many rows have each status before.
    pub status_before: BTreeMap<String, usize>,
    /// How many rows have each status after.
    pub status_after: BTreeMap<String, usize>,
    /// The rows that change.
    pub changes: Vec<RowChange>,
    /// Rows that stay as they are although something is odd.
    pub notes: Vec<JobNote>,
    /// What only a person can set right.
    pub problems: Vec<JobNote>,
    /// The rows that are merged into others, as they stood.
    pub merged_rows: Vec<MergedRow>,
    /// What looked wrong besides, one sentence each.
    pub warnings: Vec<String>,
}

/// A row that changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RowChange {
    /// The job.
    pub job_id: JobId,
    /// The status before.
    pub before: String,
    /// The status after.
    pub after: String,
    /// The cells that change, with their new text.
    pub cells: BTreeMap<String, String>,
    /// Why, one sentence each.
    pub reasons: Vec<String>,
}

/// Something about one job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct JobNote {
    /// The job.
    pub job_id: String,
    /// What is to be said.
    pub text: String,
}

/// A row that is merged into another with the same key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MergedRow {
    /// The job.
    pub job_id: JobId,
    /// The line on which it stood.
    pub line: usize,
    /// The row itself.
    pub text: String,
}

impl ConsolidateReport {
    pub(super) fn new(timestamp: Timestamp, request: &ConsolidateRequest, plan: &Plan) -> Self {
        let mut report = Self {
            timestamp,
            run_id: request.run_id.clone(),
            dry_run: request.dry_run,
            strict: request.strict,
            written: false,
            considered: plan.considered,
            updated: 0,
            unchanged: plan.unusable.len(),
            conflicts_resolved: 0,
            marker_mismatches_fixed: 0,
            downgraded_missing_output: 0,
            missing_outputs: 0,
            invalid_previews: 0,
            status_before: BTreeMap::new(),
            status_after: BTreeMap::new(),
            changes: Vec::new(),
            notes: Vec::new(),
            problems: Vec::new(),
            merged_rows: Vec::new(),
            warnings: plan.warnings.clone(),
        };
        for word in &plan.unusable {
            count_word(&mut report.status_before, word);
            count_word(&mut report.status_after, word);
        }
        for decision in &plan.decisions {
            report.count(decision);
        }
        report
            .problems
            .extend(plan.rowless.iter().map(|job| JobNote {
                job_id: job.clone(),
                text: "has markers and no row in tables/generations.csv".into(),
            }));
        report
    }

    fn count(&mut self, decision: &Decision) {
        let correction = &decision.correction;
        let after = decision.word_after();
        count_word(&mut self.status_before, &decision.word_before);
        count_word(&mut self.status_after, &after);
        for gone in &decision.merged {
            count_word(&mut self.status_before, &gone.word);
            self.merged_rows.push(MergedRow {
                job_id: decision.job.clone(),
                line: gone.line,
                text: gone.text.clone(),
            });
        }
        self.conflicts_resolved += usize::from(!decision.merged.is_empty());
        let is_fixed = correction.before != correction.after;
        self.downgraded_missing_output += usize::from(correction.is_downgrade);
        self.marker_mismatches_fixed += usize::from(is_fixed && !correction.is_downgrade);
        self.missing_outputs += decision.count(|p| matches!(p, Problem::MissingOutput(_)));
        self.invalid_previews += decision.count(|p| matches!(p, Problem::InvalidPreview(_)));
        let finding = |text: &str| JobNote {
            job_id: decision.job.to_string(),
            text: text.to_owned(),
        };
        let problems = correction.problems.iter();
        self.problems.extend(problems.map(|p| finding(p.text())));
        if decision.is_change() {
            self.updated += 1;
            self.changes.push(row_change(decision, after));
        } else {
            self.unchanged += 1;
            let known: Vec<&str> = correction.problems.iter().map(Problem::text).collect();
            let odd = correction.reasons.iter();
            let odd = odd.filter(|reason| !known.contains(&reason.as_str()));
            self.notes.extend(odd.map(|reason| finding(reason)));
        }
    }

    pub(super) fn log(&mut self, workspace: &Workspace) {
        // A row that is merged away must be found again if that was a mistake.
        let merged = self.written && !self.merged_rows.is_empty();
        let record = Record {
            counts: self.counts(self.problems.len()),
            merged_rows: merged.then_some(self.merged_rows.as_slice()),
        };
        let trouble = append_record(&workspace.log("metrics"), &record);
        self.warnings.extend(trouble);
    }

    /// Tells whether problems kept everything from being written.
    pub fn is_refused(&self) -> bool {
        self.strict && !self.problems.is_empty()
    }

    fn counts<P>(&self, problems: P) -> Counts<'_, P> {
        let refused = self.is_refused();
        Counts {
            considered: self.considered,
            upsert_inserted: 0,
            upsert_updated: if refused { 0 } else { self.updated },
            unchanged: if refused {
                self.considered
            } else {
                self.unchanged
            },
            conflicts_resolved: self.conflicts_resolved,
            marker_mismatches_fixed: self.marker_mismatches_fixed,
            downgraded_missing_output: self.downgraded_missing_output,
            missing_outputs: self.missing_outputs,
            invalid_previews: self.invalid_previews,
            status_histogram_before: &self.status_before,
            status_histogram_after: &self.status_after,
            event: "consolidate",
            timestamp: self.timestamp,
            run_id: &self.run_id,
            dry_run: self.dry_run,
            strict: self.strict,
            problems,
            written: self.written,
        }
    }

    /// Returns everything, as machines read it.
    pub fn told(&self) -> impl Serialize {
        Told {
            counts: self.counts(self.problems.as_slice()),
            changes: &self.changes,
            notes: &self.notes,
            merged_rows: &self.merged_rows,
            warnings: &self.warnings,
        }
    }
}

/// What the log keeps.
#[derive(Serialize)]
struct Record<'a> {
    #[serde(flatten)]
    counts: Counts<'a, usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    merged_rows: Option<&'a [MergedRow]>,
}

/// Everything, as machines read it.
#[derive(Serialize)]
struct Told<'a> {
    #[serde(flatten)]
    counts: Counts<'a, &'a [JobNote]>,
    changes: &'a [RowChange],
    notes: &'a [JobNote],
    merged_rows: &'a [MergedRow],
    warnings: &'a [String],
}

/// What was found, counted.
#[derive(Serialize)]
struct Counts<'a, P> {
    considered: usize,
    upsert_inserted: usize,
    upsert_updated: usize,
    unchanged: usize,
    conflicts_resolved: usize,
    marker_mismatches_fixed: usize,
    downgraded_missing_output: usize,
    missing_outputs: usize,
    invalid_previews: usize,
    status_histogram_before: &'a BTreeMap<String, usize>,
    status_histogram_after: &'a BTreeMap<String, usize>,
    event: &'static str,
    timestamp: Timestamp,
    run_id: &'a RunId,
    dry_run: bool,
    strict: bool,
    problems: P,
    written: bool,
}
fn row_change(decision: &Decision, after: String) -> RowChange {
    let mut reasons = decision.correction.reasons.clone();
    if !decision.merged.is_empty() {
        let count = decision.merged.len() + 1;
        reasons.insert(0, format!("{count} rows with the same key become one"));
    }
    RowChange {
        job_id: decision.job.clone(),
        before: decision.word_before.clone(),
        after,
        cells: decision.cells.iter().cloned().collect(),
        reasons,
    }
}

fn count_word(counts: &mut BTreeMap<String, usize>, word: &str) {
    let word = match Status::parse(word) {
        Some(status) => status.word(),
        None => word,
    };
    *counts.entry(word.to_owned()).or_default() += 1;
}
