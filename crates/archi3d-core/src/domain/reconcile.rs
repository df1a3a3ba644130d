//! Evidence on disk and what a row says → what the row should say, and why.
//!
//! Used by `consolidate` for one row at a time. It names only cells that must
//! change, and what it asks for settles: with the same evidence a corrected row
//! needs no further correction. It reads no files and removes no rows.

use crate::domain::glb::GlbFault;
use crate::domain::job::Status;
use crate::domain::patch::{DRY_RUN, Patch};
use crate::domain::text::{error_cell, seconds_cell};
use crate::domain::time::Timestamp;

mod evidence;
mod merge;
#[cfg(test)]
mod property;
#[cfg(test)]
mod tests;

pub use evidence::{Cells, Evidence, LeaseSign, ModelFile, OwnRecord, Sign};
pub use merge::{Merge, merge};

/// How the error text of a row ends that was downgraded, here or by the original.
pub const DOWNGRADED: &str = "downgraded by consolidate";

/// What is written into a row whose model is gone.
pub const MISSING_MODEL: &str = "missing generated.glb; downgraded by consolidate";

/// A stored duration up to this, in seconds, does not keep blank times from being filled.
const SHORT_SECONDS: f64 = 1.0;

/// What a row should say.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Correction {
    /// The status before; nothing if its word is none of ours.
    pub before: Option<Status>,
    /// The status after.
    pub after: Option<Status>,
    /// The cells that must change, with their new text.
    pub cells: Vec<(String, String)>,
    /// Why, one sentence each; also why something was left as it is.
    pub reasons: Vec<String>,
    /// What nobody but a person can set right.
    pub problems: Vec<Problem>,
    /// Whether a completed row lost its status because its model is gone or broken.
    pub is_downgrade: bool,
}

/// What nobody but a person can set right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Problem {
    /// A result was promised and no usable model is there.
    MissingOutput(String),
    /// A file that may be the model cannot be looked at.
    UnreadableOutput(String),
    /// A preview that the row names is not there.
    InvalidPreview(String),
    /// A marker cannot be understood.
    DamagedMarker(String),
    /// The status is a word of somebody else's.
    UnknownStatus(String),
    /// Markers say another status and it may not be changed.
    Mismatch(String),
    /// Several rows have the same key and different texts in a cell.
    Conflict(String),
}

impl Problem {
    /// Returns what is wrong.
    pub fn text(&self) -> &str {
        match self {
            Self::MissingOutput(text)
            | Self::UnreadableOutput(text)
            | Self::InvalidPreview(text)
            | Self::DamagedMarker(text)
            | Self::UnknownStatus(text)
            | Self::Mismatch(text)
            | Self::Conflict(text) => text,
        }
    }
}

/// Says what the row should say. Without `fix_status` the status stays and only
/// blank or outdated cells that fit it are filled.
pub fn reconcile(row: &Cells, evidence: &Evidence, fix_status: bool) -> Correction {
    let word = row.get("status");
    let mut work = Work {
        row: row.clone(),
        evidence,
        correction: Correction::default(),
    };
    work.note_damage();
    let Some(status) = Status::parse(word) else {
        let text = format!("unknown status {word:?}; the row is skipped");
        work.problem(Problem::UnknownStatus(text));
        return work.correction;
    };
    let wanted = work.wanted(status);
    let status = work.take_status(status, wanted, fix_status);
    work.fill(status);
    work.finish(row, status)
}

/// Which status the evidence asks for, and why.
struct Wanted {
    status: Status,
    reason: String,
    downgrade: Option<String>,
    /// The cells to write with it.
    patch: Option<Patch>,
}

impl Wanted {
    fn new(status: Status, reason: impl Into<String>) -> Self {
        Self {
            status,
            reason: reason.into(),
            downgrade: None,
            patch: None,
        }
    }
}

struct Work<'a> {
    row: Cells,
    evidence: &'a Evidence,
    correction: Correction,
}

impl<'a> Work<'a> {
    fn reason(&mut self, reason: impl Into<String>) {
        self.correction.reasons.push(reason.into());
    }

    fn problem(&mut self, problem: Problem) {
        self.reason(problem.text().to_owned());
        self.correction.problems.push(problem);
    }

    fn note_damage(&mut self) {
        for text in &self.evidence.damaged {
            self.problem(Problem::DamagedMarker(text.clone()));
        }
    }

    /// Returns the file that is the job's model.
    fn model(&self) -> Option<&'a ModelFile> {
        let evidence = self.evidence;
        evidence.models.iter().find(|file| self.is_usable(file))
    }

    /// Another tool's rehearsal leaves a placeholder for a model; its row says so,
    /// or says nothing if the tool died before it wrote the row.
    fn is_usable(&self, file: &ModelFile) -> bool {
        let ours = matches!(&self.evidence.own, Some(own) if own.status == Status::Completed);
        match file.fault {
            None => true,
            Some(GlbFault::Placeholder) => {
                !ours && (self.row.is_rehearsal() || self.row.is_blank("price_source"))
            }
            Some(_) => false,
        }
    }

    /// Says what is wrong with the model; nothing if it is there.
    fn model_fault(&self) -> Option<String> {
        if self.model().is_some() {
            return None;
        }
        let first = self.evidence.models.first();
        Some(
            match first.and_then(|file| file.fault.map(|fault| (file, fault))) {
                Some((file, fault)) => format!("{} is no usable model: {fault}", file.path),
                None => "no generated.glb is there".to_owned(),
            },
        )
    }

    /// Says which file may be the model but cannot be looked at; nothing if a
    /// usable one is there.
    fn unreadable_model(&self) -> Option<String> {
        if self.model().is_some() {
            return None;
        }
        self.evidence.models.iter().find_map(|file| {
            let fault = file.fault.filter(|fault| fault.is_undecided())?;
            Some(format!("{}: {fault}; left as it is", file.path))
        })
    }

    fn wanted(&mut self, status: Status) -> Option<Wanted> {
        let evidence = self.evidence;
        let model_fault = self.model_fault();
        let claims_result = status == Status::Completed
            || evidence.completed.is_some()
            || matches!(&evidence.own, Some(own) if own.status == Status::Completed);
        let is_live = evidence.lease.is_some_and(|lease| lease.is_fresh);
        let failed_since = matches!(&evidence.own, Some(own) if own.status == Status::Failed);
        let unreadable = self.unreadable_model();
        if let Some(text) = unreadable.filter(|_| claims_result && !is_live && !failed_since) {
            // A disk that answers badly today says nothing about the result.
            self.problem(Problem::UnreadableOutput(text));
            return None;
        }
        if let Some(fault) = model_fault.clone().filter(|_| claims_result && !is_live) {
            self.problem(Problem::MissingOutput(fault));
        }
        if status == Status::Completed && model_fault.is_some() && !is_live && !failed_since {
            if evidence.is_changing {
                self.reason("another program is changing the job at this moment; skipped");
                return None;
            }
            return Some(self.downgrade());
        }
        if let Some(own) = &evidence.own {
            return self.wanted_by_own(own, status, model_fault.is_none());
        }
        self.wanted_by_signs(status, model_fault.is_none())
    }

    fn downgrade(&self) -> Wanted {
        let found = self.evidence.models.first().and_then(|file| file.fault);
        let message = match found {
            None => MISSING_MODEL.to_owned(),
            Some(fault) => format!("invalid generated.glb ({fault}); downgraded by consolidate"),
        };
        Wanted {
            downgrade: Some(message),
            ..Wanted::new(Status::Failed, "a completed job without a usable model")
        }
    }

    fn wanted_by_own(
        &mut self,
        own: &OwnRecord,
        status: Status,
        has_model: bool,
    ) -> Option<Wanted> {
        let reason = match own.status {
            // Giving a job back or taking it out never undoes an end it already had.
            Status::Enqueued if status != Status::Running => return None,
            Status::Cancelled if !matches!(status, Status::Enqueued | Status::Running) => {
                return None;
            }
            Status::Completed if !has_model => return None,
            Status::Running if !self.evidence.lease.is_some_and(|lease| lease.is_fresh) => {
                self.reason(STALE);
                return None;
            }
            Status::Completed => "marker .completed and a model",
            Status::Failed => "marker .failed",
            Status::Running => "marker .inprogress of a worker that lives",
            Status::Enqueued => "marker .released: the job was given back",
            Status::Cancelled => "marker .cancelled",
        };
        Some(Wanted {
            patch: Some(own.patch.clone()),
            ..Wanted::new(own.status, reason)
        })
    }

    fn wanted_by_signs(&mut self, status: Status, has_model: bool) -> Option<Wanted> {
        let evidence = self.evidence;
        if evidence.completed.is_some() && has_model {
            let reason = "marker .completed and a model";
            return Some(Wanted::new(Status::Completed, reason));
        }
        if evidence.failed.is_some() {
            return Some(Wanted::new(Status::Failed, "marker .failed"));
        }
        match evidence.lease {
            Some(lease) if lease.is_fresh => {
                let reason = "a fresh marker .inprogress";
                Some(Wanted::new(Status::Running, reason))
            }
            Some(_) => {
                self.reason(STALE);
                None
            }
            None if status == Status::Running && has_model && evidence.is_whole => {
                let reason = "a complete result, and no worker holds the job";
                Some(Wanted::new(Status::Completed, reason))
            }
            None => None,
        }
    }

    /// Writes the status that is wanted and its cells; returns the one that holds.
    fn take_status(&mut self, status: Status, wanted: Option<Wanted>, fix: bool) -> Status {
        self.correction.before = Some(status);
        let Some(wanted) = wanted else {
            return status;
        };
        if wanted.status == status {
            if let Some(patch) = &wanted.patch {
                self.fill_from(patch);
            }
            return status;
        }
        if !fix {
            let text = format!(
                "{}, so the status should be {}; it is left as it is",
                wanted.reason, wanted.status
            );
            self.problem(Problem::Mismatch(text));
            return status;
        }
        self.reason(wanted.reason);
        self.row.set("status", wanted.status.word());
        if wanted.status == Status::Completed {
            // An old failure's message must not stand beside a result.
            self.row.set("error_msg", "");
        }
        if let Some(patch) = &wanted.patch {
            self.apply(patch);
        }
        if let Some(message) = wanted.downgrade {
            self.row.set("error_msg", message);
            self.correction.is_downgrade = true;
        }
        wanted.status
    }

    fn apply(&mut self, patch: &Patch) {
        for cell in patch.cells() {
            if cell.applies_to(self.row.get(&cell.column)) {
                self.row.set(&cell.column, cell.value.clone());
            }
        }
    }

    fn fill_from(&mut self, patch: &Patch) {
        for cell in patch.cells() {
            let value = patch.get(&cell.column).unwrap_or_default();
            if !value.is_empty() && self.row.is_blank(&cell.column) {
                self.row.set(&cell.column, value);
            }
        }
    }

    fn fill(&mut self, status: Status) {
        if self.row.is_blank("status") {
            self.row.set("status", status.word());
            self.reason("a blank status means enqueued");
        }
        match status {
            Status::Completed => {
                self.take_model();
                self.take_previews();
                self.fill_times(self.evidence.completed);
            }
            Status::Failed => {
                self.take_error();
                self.fill_times(self.evidence.failed);
            }
            _ => {}
        }
        for path in &self.evidence.lost_previews {
            let text = format!("the preview {path} is not there");
            self.problem(Problem::InvalidPreview(text));
        }
    }

    fn take_model(&mut self) {
        let Some(model) = self.model() else { return };
        if self.row.get("gen_object_path") != model.path {
            self.row.set("gen_object_path", model.path.clone());
            self.reason(format!("the model is {}", model.path));
        }
        if model.fault == Some(GlbFault::Placeholder) && !self.row.is_rehearsal() {
            self.reason("the model is a dry run's placeholder");
            for column in ["price_source", "algo_version"] {
                if self.row.is_blank(column) {
                    self.row.set(column, DRY_RUN);
                }
            }
        }
    }

    fn take_previews(&mut self) {
        for (number, path) in (1..).zip(&self.evidence.previews) {
            let column = format!("preview_{number}_path");
            if let Some(path) = path
                && self.row.is_blank(&column)
            {
                self.row.set(&column, path.clone());
                self.reason(format!("{path} is there"));
            }
        }
    }

    fn take_error(&mut self) {
        let text = self.evidence.error_text.as_deref().map(error_summary);
        if let Some(text) = text.filter(|text| !text.is_empty())
            && self.row.is_blank("error_msg")
        {
            self.row.set("error_msg", text);
            self.reason("error.txt says why");
        }
    }

    /// Fills blank times from markers. One marker alone tells the end only: a
    /// start taken from it, or from the age of a file, would be invented.
    fn fill_times(&mut self, terminal: Option<Sign>) {
        let stored = self.row.get("generation_duration_s").trim().to_owned();
        if !stored.is_empty() && stored.parse().is_ok_and(|s: f64| s > SHORT_SECONDS) {
            return;
        }
        let end = terminal.and_then(|sign| sign.at);
        let start = self.evidence.lease.and_then(|lease| lease.at);
        let start = start.filter(|start| end.is_some_and(|end| *start <= end));
        let mut filled = false;
        for (column, time) in [("generation_start", start), ("generation_end", end)] {
            if let Some(time) = time
                && self.row.is_blank(column)
            {
                self.row.set(column, time.iso());
                self.reason(format!("{column} by its marker"));
                filled = true;
            }
        }
        let time = |column| Timestamp::parse(self.row.get(column));
        if let (true, Some(start), Some(end)) =
            (filled, time("generation_start"), time("generation_end"))
            && start <= end
        {
            let duration = seconds_cell(end.since(start));
            self.row.set("generation_duration_s", duration);
        }
    }

    fn finish(mut self, before: &Cells, status: Status) -> Correction {
        self.correction.after = Some(status);
        let changed = self.row.0.into_iter();
        self.correction.cells = changed
            .filter(|(column, value)| before.get(column) != value)
            .collect();
        self.correction
    }
}

/// Why a stale lease changes nothing here.
const STALE: &str = "marker .inprogress is stale; left as it is, \
                     `run worker --only-status enqueued,running` resumes the job";

/// Returns what an `error.txt` says in short: the message without its traceback.
fn error_summary(text: &str) -> String {
    let text = text.strip_prefix("Error: ").unwrap_or(text);
    let message = text.split("\n\nTraceback:").next().unwrap_or(text);
    error_cell(message)
}
