//! Earlier results of the whole fleet, found by what went into them, and who makes such a one now.

use uuid::Uuid;

use super::claim::Hold;
use super::connect::Connection;
use super::ending::File;
use super::error::PgResult;
use super::reader::{Reader, small};
use super::statements;

/// An earlier result that can be copied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// The run it belongs to.
    pub run_id: String,
    /// The job that has it.
    pub job_id: String,
    /// The attempt that made it.
    pub hold: Hold,
    /// What made it.
    pub algo_version: Option<String>,
    /// What it wrote into the registry's row, as JSON.
    pub patch: String,
    /// Where it is.
    pub result_ref: Option<String>,
    /// Its files.
    pub files: Vec<File>,
}

/// Returns the newest real result made from the same inputs, of this version if one is given, that none of the attempts
/// `but` made.
pub fn find(
    connection: &mut Connection,
    content_key: &[u8],
    version: Option<&str>,
    but: &[Uuid],
) -> PgResult<Option<Source>> {
    let sql = &statements::REUSE;
    let Some(row) = connection.row(sql, &[&content_key, &version, &but])? else {
        return Ok(None);
    };
    let mut cells = Reader::new(&row, sql);
    let (run_id, job_id) = (cells.take()?, cells.take()?);
    let hold = Hold {
        job_no: cells.take()?,
        number: cells.number()?,
        attempt_id: cells.take()?,
    };
    let (algo_version, patch, result_ref) = (cells.take()?, cells.take()?, cells.take()?);
    let files = files(connection, &hold)?;
    Ok(Some(Source {
        run_id,
        job_id,
        hold,
        algo_version,
        patch,
        result_ref,
        files,
    }))
}

/// Returns the files of an attempt.
pub fn files(connection: &mut Connection, hold: &Hold) -> PgResult<Vec<File>> {
    let sql = &statements::ARTIFACTS;
    let rows = connection.rows(sql, &[&hold.job_no, &small(hold.number)])?;
    let read = |row| {
        let mut cells = Reader::new(row, sql);
        let (name, size): (String, i64) = (cells.take()?, cells.take()?);
        let size = u64::try_from(size).map_err(|_| cells.odd("a size is negative"))?;
        Ok(File {
            name,
            size,
            sha256: cells.take()?,
            url: cells.take()?,
        })
    };
    rows.iter().map(read).collect()
}

/// Tells whether this attempt is the one that makes these inputs now; if not, another live one does.
pub fn make(connection: &mut Connection, content_key: &[u8], hold: &Hold) -> PgResult<bool> {
    let row = connection.row(
        &statements::MAKING,
        &[&content_key, &hold.job_no, &hold.attempt_id],
    )?;
    Ok(row.is_some())
}

/// Lets others make these inputs.
pub fn made(connection: &mut Connection, content_key: &[u8], hold: &Hold) -> PgResult<()> {
    connection
        .rows(&statements::MAKING_OVER, &[&content_key, &hold.attempt_id])
        .map(drop)
}
