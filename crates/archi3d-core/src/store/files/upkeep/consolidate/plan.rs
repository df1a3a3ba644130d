//! Decides about every selected row before anything is written, and writes what
//! was decided into the table.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::domain::id::JobId;
use crate::domain::job::Status;
use crate::domain::patch::WORKER_COLUMNS;
use crate::domain::reconcile::{Cells, Correction, Problem, merge, reconcile};
use crate::domain::time::Timestamp;
use crate::store::error::StoreError;
use crate::store::files::Inspector;
use crate::store::files::upkeep::consolidate::ConsolidateRequest;
use crate::store::files::upkeep::consolidate::evidence::gather;
use crate::table::{RowEdit, Table};
use crate::workspace::paths::Workspace;

/// Columns beside the worker's that a decision looks at or changes.
const OTHER_COLUMNS: [&str; 5] = ["status", "algo_version", "product_id", "variant", "algo"];

/// What will become of one job's selected rows.
pub(super) struct Decision {
    pub(super) job: JobId,
    /// All its selected rows.
    rows: Vec<usize>,
    /// The row that stays.
    pub(super) row: usize,
    /// Rows with the same key that are merged into it, with their lines and bytes.
    pub(super) merged: Vec<Gone>,
    /// What the row says now.
    pub(super) word_before: String,
    /// The cells that change, with their new text.
    pub(super) cells: Vec<(String, String)>,
    pub(super) correction: Correction,
}

/// A row that is merged into another.
pub(super) struct Gone {
    pub(super) row: usize,
    /// Found for all rows at once, later.
    pub(super) line: usize,
    pub(super) text: String,
    pub(super) word: String,
}

/// Everything that was decided.
pub(super) struct Plan {
    /// How many rows were looked at.
    pub(super) considered: usize,
    pub(super) decisions: Vec<Decision>,
    /// The words of selected rows whose job id cannot be one.
    pub(super) unusable: Vec<String>,
    /// Jobs that have markers and no row at all.
    pub(super) rowless: Vec<String>,
    /// What a person should know, one sentence each.
    pub(super) warnings: Vec<String>,
}

impl Plan {
    /// Decides about the rows that are selected.
    pub(super) fn make(decider: &Decider<'_>, table: &Table) -> Result<Self, StoreError> {
        let all = table.rows_of("run_id", decider.request.run_id.as_str());
        let known: HashSet<String> = all.iter().map(|row| text(table, *row, "job_id")).collect();
        let rowless = decider.inspector.jobs().filter(|job| !known.contains(*job));
        let selected = select(table, &all, decider.request);
        let mut plan = Self {
            considered: selected.len(),
            decisions: Vec::new(),
            unusable: Vec::new(),
            rowless: rowless.map(str::to_owned).collect(),
            warnings: Vec::new(),
        };
        for (job, rows) in plan.by_job(table, &selected) {
            plan.decisions.push(decider.decide(table, job, rows)?);
        }
        plan.find_lines(table);
        Ok(plan)
    }

    /// Decides again about the rows that are to change; the table must be the same.
    pub(super) fn renew(&mut self, decider: &Decider<'_>, table: &Table) -> Result<(), StoreError> {
        for decision in self.decisions.iter_mut().filter(|d| d.is_change()) {
            let rows = std::mem::take(&mut decision.rows);
            *decision = decider.decide(table, decision.job.clone(), rows)?;
        }
        self.find_lines(table);
        Ok(())
    }

    /// Tells whether any row is to change.
    pub(super) fn has_changes(&self) -> bool {
        self.decisions.iter().any(Decision::is_change)
    }

    /// Returns how many completed rows become failed.
    pub(super) fn downgrades(&self) -> usize {
        let decisions = self.decisions.iter();
        decisions.filter(|d| d.correction.is_downgrade).count()
    }

    /// Finds the lines of rows that go, all in one walk through the table.
    fn find_lines(&mut self, table: &Table) {
        let gone = self.decisions.iter_mut().flat_map(|d| &mut d.merged);
        let mut gone: HashMap<usize, &mut Gone> = gone.map(|gone| (gone.row, gone)).collect();
        if gone.is_empty() {
            return;
        }
        for (row, line) in table.rows_with_lines() {
            if let Some(gone) = gone.get_mut(&row) {
                gone.line = line;
            }
        }
    }

    /// Groups rows by their job, in table order.
    fn by_job(&mut self, table: &Table, selected: &[usize]) -> Vec<(JobId, Vec<usize>)> {
        let mut groups: Vec<(JobId, Vec<usize>)> = Vec::new();
        let mut places: HashMap<JobId, usize> = HashMap::new();
        for row in selected {
            match JobId::parse(&text(table, *row, "job_id")) {
                Ok(job) => {
                    let place = *places.entry(job.clone()).or_insert(groups.len());
                    if place == groups.len() {
                        groups.push((job, Vec::new()));
                    }
                    groups[place].1.push(*row);
                }
                Err(error) => {
                    self.unusable.push(text(table, *row, "status"));
                    self.warnings.push(format!("{error}; its row is skipped"));
                }
            }
        }
        groups
    }

    /// Writes what was decided into the table and tells whether that changed a byte.
    pub(super) fn apply(&self, table: &mut Table) -> bool {
        let changes = || self.decisions.iter().flat_map(|decision| &decision.cells);
        let is_needed =
            |name: &&str| changes().any(|(column, value)| column == name && !value.is_empty());
        let needed = WORKER_COLUMNS.iter().chain(&["algo_version"]).copied();
        let needed: Vec<&str> = needed.filter(is_needed).collect();
        let mut changed = table.ensure_columns(&needed);
        let edits: Vec<RowEdit> = self
            .decisions
            .iter()
            .filter(|decision| !decision.cells.is_empty())
            .map(|decision| RowEdit {
                row: decision.row,
                cells: decision
                    .cells
                    .iter()
                    .filter_map(|(name, value)| Some((table.column(name)?, value.clone())))
                    .collect(),
            })
            .collect();
        changed |= table.patch(&edits);
        let gone = self.decisions.iter().flat_map(|decision| &decision.merged);
        let gone: Vec<usize> = gone.map(|gone| gone.row).collect();
        table.remove(&gone);
        changed || !gone.is_empty()
    }
}

fn select(table: &Table, all: &[usize], request: &ConsolidateRequest) -> Vec<usize> {
    let wanted = |row: &usize| match &request.only_status {
        None => true,
        Some(statuses) => Status::parse(&text(table, *row, "status"))
            .is_some_and(|status| statuses.contains(&status)),
    };
    let selected = all.iter().copied().filter(|row| wanted(row));
    selected
        .take(request.max_rows.unwrap_or(usize::MAX))
        .collect()
}

/// Looks at the disk and decides about one job at a time.
pub(super) struct Decider<'a> {
    pub(super) workspace: &'a Workspace,
    pub(super) inspector: Inspector,
    pub(super) request: &'a ConsolidateRequest,
    /// The time by which leases are judged.
    pub(super) now: Timestamp,
}

impl Decider<'_> {
    fn decide(&self, table: &Table, job: JobId, rows: Vec<usize>) -> Result<Decision, StoreError> {
        let (row, filled, conflicts) = if let [row] = rows[..] {
            (row, Vec::new(), Vec::new())
        } else {
            let whole: Vec<Cells> = rows.iter().map(|row| whole_row(table, *row)).collect();
            let merge = merge(&whole);
            (rows[merge.keep], merge.filled, merge.conflicts)
        };
        let before = used_cells(table, row);
        let mut merged = before.clone();
        merged.0.extend(filled.iter().cloned());
        let mut correction = self.correct(&job, &merged)?;
        if correction.is_downgrade {
            // A worker may have been exchanging the result just then: look again.
            correction = self.correct(&job, &merged)?;
        }
        let mut cells: BTreeMap<String, String> = filled.into_iter().collect();
        cells.extend(correction.cells.iter().cloned());
        correction.problems.extend(conflicts);
        let gone = rows.iter().filter(|other| **other != row);
        Ok(Decision {
            merged: gone.map(|row| gone_row(table, *row)).collect(),
            rows,
            word_before: before.get("status").to_owned(),
            row,
            job,
            cells: cells.into_iter().collect(),
            correction,
        })
    }

    fn correct(&self, job: &JobId, row: &Cells) -> Result<Correction, StoreError> {
        let paths = self.workspace.run(&self.request.run_id);
        let evidence = gather(self.workspace, &paths, &self.inspector, job, row)?;
        Ok(reconcile(row, &evidence, self.request.fix_status))
    }
}

impl Decision {
    /// Returns the word the row has afterwards.
    pub(super) fn word_after(&self) -> String {
        let changed = self.cells.iter().find(|(column, _)| column == "status");
        changed.map_or_else(|| self.word_before.clone(), |(_, word)| word.clone())
    }

    /// Tells whether the row changes in any way.
    pub(super) fn is_change(&self) -> bool {
        !self.cells.is_empty() || !self.merged.is_empty()
    }

    /// Returns how many problems of one kind there are.
    pub(super) fn count(&self, kind: fn(&Problem) -> bool) -> usize {
        let problems = self.correction.problems.iter();
        problems.filter(|problem| kind(problem)).count()
    }
}

fn text(table: &Table, row: usize, column: &str) -> String {
    table.column(column).map_or_else(String::new, |column| {
        String::from_utf8_lossy(&table.cell(row, column)).into_owned()
    })
}

fn used_cells(table: &Table, row: usize) -> Cells {
    let columns = OTHER_COLUMNS.iter().chain(WORKER_COLUMNS);
    Cells(
        columns
            .map(|name| ((*name).to_owned(), text(table, row, name)))
            .collect(),
    )
}

fn whole_row(table: &Table, row: usize) -> Cells {
    let columns = table.columns().iter().enumerate();
    let named = columns.filter(|(_, name)| !name.is_empty());
    Cells(
        named
            .map(|(column, name)| {
                let cell = table.cell(row, column);
                (name.clone(), String::from_utf8_lossy(&cell).into_owned())
            })
            .collect(),
    )
}

fn gone_row(table: &Table, row: usize) -> Gone {
    Gone {
        row,
        line: 0,
        text: String::from_utf8_lossy(table.raw(row)).into_owned(),
        word: text(table, row, "status"),
    }
}
