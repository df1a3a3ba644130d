//! Several rows with one key → one row: which of them stays, and what it takes
//! over from the others.

use crate::domain::job::Status;
use crate::domain::reconcile::{Cells, Problem};

/// What becomes of rows with the same key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Merge {
    /// Which of the rows stays, by its place among those given.
    pub keep: usize,
    /// Its cells that were blank, with what another row had there.
    pub filled: Vec<(String, String)>,
    /// Cells in which a row that goes says something else.
    pub conflicts: Vec<Problem>,
}

/// Chooses among rows with the same key, in table order: the one that is furthest
/// (completed, failed, running, then the others), and of equals the first. Its
/// blank cells are filled from the others in the same order.
///
/// # Panics
/// If there is no row.
pub fn merge(rows: &[Cells]) -> Merge {
    let mut order: Vec<usize> = (0..rows.len()).collect();
    order.sort_by_key(|place| rank(rows[*place].get("status")));
    let keep = order[0];
    let mut kept = rows[keep].clone();
    let mut filled = Vec::new();
    let mut conflicts = Vec::new();
    for place in &order[1..] {
        for (column, value) in &rows[*place].0 {
            if value.trim().is_empty() || kept.get(column) == value {
                continue;
            }
            if kept.is_blank(column) {
                kept.set(column, value.clone());
                filled.push((column.clone(), value.clone()));
            } else if column != "status" {
                let text = format!(
                    "{column}: {:?} stays, {value:?} of another row with the same key goes",
                    kept.get(column)
                );
                conflicts.push(Problem::Conflict(text));
            }
        }
    }
    Merge {
        keep,
        filled,
        conflicts,
    }
}

/// A word of somebody else's goes last: nothing is known of it.
fn rank(word: &str) -> u8 {
    match Status::parse(word) {
        Some(Status::Completed) => 0,
        Some(Status::Failed) => 1,
        Some(Status::Running) => 2,
        Some(Status::Cancelled) => 3,
        Some(Status::Enqueued) => 4,
        None => 5,
    }
}
