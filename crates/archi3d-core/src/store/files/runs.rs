//! Every run that the registry has rows of, counted in one pass.

use std::collections::HashMap;

use crate::domain::job::Status;
use crate::domain::patch::DRY_RUN;
use crate::domain::time::Timestamp;
use crate::store::error::StoreError;
use crate::store::overview::RunCounts;
use crate::workspace::paths::Workspace;

use super::registry::Registry;

/// Counts the rows of every run, in the order of their first row. Reads only.
pub(super) fn runs(workspace: &Workspace) -> Result<Vec<RunCounts>, StoreError> {
    let mut registry = Registry::new(workspace.registry(), "reader");
    let table = registry.load()?;
    let (run, status) = (table.column("run_id"), table.column("status"));
    let (created, source) = (table.column("created_at"), table.column("price_source"));
    let Some(run) = run else {
        return Ok(Vec::new());
    };
    let mut places: HashMap<Vec<u8>, usize> = HashMap::new();
    let mut runs: Vec<RunCounts> = Vec::new();
    for row in 0..table.len() {
        let name = table.cell(row, run);
        let place = if let Some(place) = places.get(&*name) {
            *place
        } else {
            places.insert(name.to_vec(), runs.len());
            runs.push(RunCounts {
                run: String::from_utf8_lossy(&name).into_owned(),
                ..RunCounts::default()
            });
            runs.len() - 1
        };
        let word = status.map(|column| table.cell(row, column));
        let word = word.as_deref().and_then(|word| str::from_utf8(word).ok());
        match word.and_then(Status::parse) {
            Some(status) => {
                runs[place].counts[status as usize] += 1;
                let source = source.map(|column| table.cell(row, column));
                let rehearsed = source.is_some_and(|source| *source == *DRY_RUN.as_bytes());
                runs[place].rehearsed += usize::from(status == Status::Completed && rehearsed);
            }
            None => runs[place].other += 1,
        }
        let made = created.map(|column| table.cell(row, column));
        let made = made.as_deref().and_then(|text| str::from_utf8(text).ok());
        let made = made.and_then(Timestamp::parse);
        runs[place].created = match (runs[place].created, made) {
            (Some(known), Some(made)) => Some(known.min(made)),
            (known, made) => known.or(made),
        };
    }
    Ok(runs)
}
