//! Runs that go back into a table: rows as they came, what was written into them since, and the files of results.

use uuid::Uuid;

use super::connect::Connection;
use super::ending::File;
use super::error::PgResult;
use super::reader::{Reader, large};
use super::statements;

/// A row of the registry: as it was, and what became of its job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExportedRow {
    /// The job's place in the manifest; the next page begins after it.
    pub position: i64,
    /// The job.
    pub job_id: String,
    /// Its state, in the words of the schema.
    pub status: String,
    /// The row as it was, verbatim.
    pub row: Vec<u8>,
    /// Its last error.
    pub error: Option<String>,
    /// What every published ending wrote into it, in order, as JSON of [`crate::domain::patch::Patch`].
    pub patches: Vec<String>,
    /// Its result, if it has one.
    pub result: Option<ExportedResult>,
}

/// The result of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExportedResult {
    /// The attempt that brought it.
    pub number: u32,
    /// What names that attempt; nothing for one that was made in files.
    pub attempt_id: Option<Uuid>,
    /// Its files; none for one that was made in files.
    pub files: Vec<File>,
}

/// Returns one page of a run's rows in the order of its manifest; -1 begins.
pub fn page(
    connection: &mut Connection,
    run_no: i64,
    after: i64,
    most: usize,
) -> PgResult<Vec<ExportedRow>> {
    let sql = &statements::EXPORT;
    let rows = connection.rows(sql, &[&run_no, &after, &large(most)])?;
    let read = |row| {
        let mut cells = Reader::new(row, sql);
        let mut exported = ExportedRow {
            position: cells.take()?,
            job_id: cells.take()?,
            status: cells.take()?,
            row: cells.take()?,
            error: cells.take()?,
            patches: cells.take()?,
            result: None,
        };
        let number: Option<i32> = cells.take()?;
        let attempt_id = cells.take()?;
        let files = files(&mut cells)?;
        exported.result = number.map(|number| ExportedResult {
            number: u32::try_from(number).unwrap_or_default(),
            attempt_id,
            files,
        });
        Ok(exported)
    };
    rows.iter().map(read).collect()
}

/// A result that came too late, or was kept aside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LateResult {
    /// The job.
    pub job_id: String,
    /// Where it belongs, relative to the workspace.
    pub kept_at: String,
    /// Its files.
    pub files: Vec<File>,
}

/// Returns the results of a run that came too late and whose bytes lie elsewhere.
pub fn late(connection: &mut Connection, run_no: i64) -> PgResult<Vec<LateResult>> {
    let sql = &statements::LATE;
    let rows = connection.rows(sql, &[&run_no])?;
    let read = |row| {
        let mut cells = Reader::new(row, sql);
        Ok(LateResult {
            job_id: cells.take()?,
            kept_at: cells.take()?,
            files: files(&mut cells)?,
        })
    };
    rows.iter().map(read).collect()
}

/// Reads files whose names, sizes and hashes came as three lists.
fn files(cells: &mut Reader<'_>) -> PgResult<Vec<File>> {
    let (names, sizes, sums): (Vec<String>, Vec<i64>, Vec<Vec<u8>>) =
        (cells.take()?, cells.take()?, cells.take()?);
    let files = names.into_iter().zip(sizes).zip(sums);
    let file = |((name, size), sha256)| File {
        name,
        size: u64::try_from(size).unwrap_or_default(),
        sha256,
        url: None,
    };
    Ok(files.map(file).collect())
}
