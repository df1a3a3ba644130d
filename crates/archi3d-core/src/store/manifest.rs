//! The ordered job list of a run, read from its manifest table, which every run has in the workspace.
//!
//! One bad row never fails the file: it is reported and the others stand.

use std::collections::HashSet;

use crate::domain::id::JobId;
use crate::store::StoreError;
use crate::store::files::registry;
use crate::store::runs::JobName;
use crate::table::codec::decode;
use crate::table::{Table, TableError};
use crate::workspace::paths::RunPaths;

const IMAGE_PREFIX: &str = "used_image_";
const IMAGE_SUFFIX: &str = "_path";

/// One job as the manifest has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ManifestRow {
    /// The job.
    pub job_id: JobId,
    /// The product shown.
    pub product_id: String,
    /// Its variant; may be empty.
    pub variant: String,
    /// The algorithm asked for, unchecked.
    pub algo: String,
    /// The pictures in the order of their numbers, empty ones left out.
    pub images: Vec<String>,
}

impl ManifestRow {
    /// Returns the job and what it is known by.
    pub fn named(self) -> (JobId, JobName) {
        let name = JobName {
            product_id: self.product_id,
            variant: self.variant,
            algo: self.algo,
        };
        (self.job_id, name)
    }
}

/// A row that cannot be a job.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {reason}")]
pub struct ManifestFault {
    /// Its line in the file.
    pub line: usize,
    /// What is wrong with it.
    pub reason: String,
}

/// The jobs of a run in their order, and what looked wrong.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Manifest {
    /// The usable rows in file order, each job once.
    pub rows: Vec<ManifestRow>,
    /// Rows that are left out because they cannot be jobs.
    pub faults: Vec<ManifestFault>,
    /// What is odd but harmless, one sentence each.
    pub warnings: Vec<String>,
}

impl Manifest {
    /// Reads the rows of a manifest table. Fails only if there is no `job_id` column.
    pub fn read(table: &Table) -> Result<Self, TableError> {
        let mut rows = Vec::new();
        let manifest = Self::read_rows(table, |row| rows.push(row))?;
        Ok(Self { rows, ..manifest })
    }

    /// Does the same, and hands the rows to `take` instead of keeping them.
    pub(super) fn read_rows(
        table: &Table,
        mut take: impl FnMut(ManifestRow),
    ) -> Result<Self, TableError> {
        table.require(&["job_id"])?;
        let columns = Columns::of(table);
        let mut manifest = Self::default();
        let mut seen = HashSet::new();
        for (row, line) in table.rows_with_lines() {
            match columns.read_row(table, row) {
                Err(reason) => manifest.faults.push(ManifestFault { line, reason }),
                Ok(entry) if seen.contains(&entry.job_id) => manifest.warnings.push(format!(
                    "line {line}: job {} is listed again; its first line counts",
                    entry.job_id
                )),
                Ok(entry) => {
                    seen.insert(entry.job_id.clone());
                    take(entry);
                }
            }
        }
        Ok(manifest)
    }
}

/// Reads the manifest of a run.
pub fn read(paths: &RunPaths) -> Result<Manifest, StoreError> {
    let table = table(paths)?;
    Manifest::read(&table).map_err(|error| registry::content_error(&error, &paths.manifest()))
}

/// Reads which jobs the manifest of a run lists, and how many of its lines cannot be used.
pub(super) fn listed_jobs(paths: &RunPaths) -> Result<(Vec<JobId>, usize), StoreError> {
    let table = table(paths)?;
    let mut jobs = Vec::new();
    let manifest = Manifest::read_rows(&table, |row| jobs.push(row.job_id));
    let manifest = manifest.map_err(|error| registry::content_error(&error, &paths.manifest()))?;
    Ok((jobs, manifest.faults.len()))
}

/// Reads the table itself.
pub(super) fn table(paths: &RunPaths) -> Result<Table, StoreError> {
    registry::read_table(&paths.manifest()).map_err(|error| match error {
        StoreError::Setup { what, path, .. } if what.contains("no such table") => {
            StoreError::Setup {
                what: "the run has no manifest".into(),
                path,
                hint: "check --run-id; `archi3d doctor` names the command that makes it again"
                    .into(),
            }
        }
        other => other,
    })
}

/// The columns that are not pictures.
const FACTS: [&str; 4] = ["job_id", "product_id", "variant", "algo"];

/// Where in the table everything is.
struct Columns {
    /// The columns in the order in which a row is read: the facts, then the pictures.
    places: Vec<Option<usize>>,
    /// The same columns, rising, each with its place in that order.
    rising: Vec<(usize, usize)>,
}

impl Columns {
    fn of(table: &Table) -> Self {
        let mut images: Vec<_> = table
            .columns()
            .iter()
            .enumerate()
            .filter_map(|(column, name)| Some((image_number(name)?, column)))
            .collect();
        images.sort_unstable();
        let facts = FACTS.iter().map(|name| table.column(name));
        let images = images.into_iter().map(|(_, column)| Some(column));
        let places: Vec<Option<usize>> = facts.chain(images).collect();
        let rising = places.iter().enumerate();
        let rising = rising.filter_map(|(place, column)| Some(((*column)?, place)));
        let mut rising: Vec<(usize, usize)> = rising.collect();
        rising.sort_unstable();
        Self { places, rising }
    }

    fn read_row(&self, table: &Table, row: usize) -> Result<ManifestRow, String> {
        let mut spans = vec![0..0; self.places.len()];
        table.spans(row, &self.rising, &mut spans);
        let text = |place: usize| {
            let cell = decode(&table.bytes()[spans[place].clone()]);
            String::from_utf8(cell.into_owned()).map_err(|_| {
                let name = self.places[place].map(|column| &table.columns()[column]);
                format!(
                    "column {:?} is not valid UTF-8",
                    name.map_or("", |name| name)
                )
            })
        };
        let id = text(0)?;
        let filled = (FACTS.len()..self.places.len()).filter(|place| !spans[*place].is_empty());
        // Exactly as long as it gets: there may be a hundred thousand of them.
        let mut images = Vec::with_capacity(filled.clone().count());
        for place in filled {
            images.push(text(place)?);
        }
        images.retain(|image| !image.is_empty());
        Ok(ManifestRow {
            job_id: JobId::parse(&id).map_err(|error| error.to_string())?,
            product_id: text(1)?,
            variant: text(2)?,
            algo: text(3)?,
            images,
        })
    }
}

/// Returns the number in an image column's name in a form that sorts by value.
fn image_number(name: &str) -> Option<(usize, &str)> {
    let digits = name
        .strip_prefix(IMAGE_PREFIX)?
        .strip_suffix(IMAGE_SUFFIX)?;
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let digits = digits.trim_start_matches('0');
    Some((digits.len(), digits))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &[u8]) -> Manifest {
        let table = Table::parse(text.to_vec()).expect("a table");
        Manifest::read(&table).expect("a manifest")
    }

    #[test]
    fn rows_come_in_file_order_with_their_texts_verbatim() {
        let manifest = read(
            b"\xEF\xBB\xBFjob_id,product_id,variant,algo,used_n_images,used_image_1_path,\
              used_image_2_path\r\n\
              b2,00123,\"Gi\xC3\xA0 \"\"speciale\"\", blu\",trellis_single,2,a.jpg,b c.jpg\r\n\
              1e5,7,,x,0,,\r\n",
        );
        assert_eq!(manifest.rows.len(), 2);
        assert!(manifest.faults.is_empty() && manifest.warnings.is_empty());
        let first = &manifest.rows[0];
        assert_eq!(first.job_id.as_str(), "b2");
        assert_eq!(first.product_id, "00123");
        assert_eq!(first.variant, "Già \"speciale\", blu");
        assert_eq!(first.algo, "trellis_single");
        assert_eq!(first.images, ["a.jpg", "b c.jpg"]);
        assert_eq!(manifest.rows[1].job_id.as_str(), "1e5");
        assert!(manifest.rows[1].images.is_empty());
    }

    #[test]
    fn pictures_are_ordered_by_number_and_empty_ones_left_out() {
        let manifest = read(
            b"used_image_10_path,used_image_2_path,used_image_200_path,job_id,\
              used_image_1_path,used_image_x_path,used_image__path,used_image_3_path\n\
              ten,two,last,j,one,no,no,\n",
        );
        assert_eq!(manifest.rows[0].images, ["one", "two", "ten", "last"]);
    }

    #[test]
    fn a_job_listed_twice_is_taken_once_and_reported() {
        let manifest = read(b"job_id,algo\nj,a\nk,b\nj,c\n");
        let ids: Vec<_> = manifest
            .rows
            .iter()
            .map(|row| row.job_id.as_str())
            .collect();
        assert_eq!(ids, ["j", "k"]);
        assert_eq!(manifest.rows[0].algo, "a");
        assert_eq!(
            manifest.warnings,
            ["line 4: job j is listed again; its first line counts"]
        );
    }

    #[test]
    fn a_row_whose_id_cannot_be_used_is_reported_and_the_others_stand() {
        let manifest = read(b"job_id,algo\n../x,a\n\xFF,b\n,c\nx.failed,d\nok,e\n");
        assert_eq!(manifest.rows.len(), 1);
        assert_eq!(manifest.rows[0].job_id.as_str(), "ok");
        let lines: Vec<_> = manifest.faults.iter().map(|fault| fault.line).collect();
        assert_eq!(lines, [2, 3, 4, 5]);
        assert_eq!(
            manifest.faults[1].to_string(),
            "line 3: column \"job_id\" is not valid UTF-8"
        );
    }

    #[test]
    fn a_header_alone_has_no_jobs_and_a_header_without_job_id_is_refused() {
        assert!(read(b"job_id,algo\n").rows.is_empty());
        let table = Table::parse(b"id,algo\n".to_vec()).expect("a table");
        assert!(Manifest::read(&table).is_err());
    }

    #[test]
    fn columns_that_are_absent_and_cells_of_short_rows_read_as_empty() {
        let manifest = read(b"algo,job_id,variant\na,j\n");
        assert_eq!(manifest.rows[0].variant, "");
        assert_eq!(manifest.rows[0].product_id, "");
    }
}
