//! What a job is made from, by which rows are told apart whatever their ids say: a
//! spreadsheet that sorts or changes one column gives a row the id of another job.

use std::cell::LazyCell;
use std::collections::HashMap;

use sha2::{Digest, Sha256};

use crate::domain::id::RunId;
use crate::domain::plan::or_empty;
use crate::domain::spreadsheet::is_same_number;

use crate::store::manifest::ManifestRow;
use crate::table::Table;
use crate::table::codec::decode;

/// Product, variant, algorithm and pictures of a job, as a table has them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Subject {
    /// The product shown.
    pub product_id: String,
    /// Its variant; may be empty.
    pub variant: String,
    /// The algorithm asked for.
    pub algo: String,
    /// The pictures, empty cells left out.
    pub images: Vec<String>,
}

impl Subject {
    /// Returns what the manifest says of a job.
    pub fn listed(row: &ManifestRow) -> Self {
        Self {
            product_id: row.product_id.clone(),
            variant: row.variant.clone(),
            algo: row.algo.clone(),
            images: row.images.clone(),
        }
    }

    /// Tells whether both may be the same job: what one of them leaves empty, or has in
    /// another encoding, disagrees with nothing.
    pub fn agrees(&self, other: &Self) -> bool {
        self.is_same_product(other) && self.has_same_pictures(other)
    }

    fn is_same_product(&self, other: &Self) -> bool {
        may_be_same(&self.product_id, &other.product_id)
            && may_be_same(&self.variant, &other.variant)
            && may_be_same(&self.algo, &other.algo)
    }

    /// Tells whether one of them names no picture that the other lacks.
    pub fn has_same_pictures(&self, other: &Self) -> bool {
        let (mut fewer, mut more) = (&self.images, &other.images);
        if fewer.len() > more.len() {
            (fewer, more) = (more, fewer);
        }
        let named = |image: &String| more.iter().any(|known| may_be_same(image, known));
        fewer.iter().all(named)
    }

    /// Returns what no two jobs of a run share; nothing if a part is unknown.
    pub fn key(&self) -> Option<SubjectKey> {
        if self.product_id.is_empty() || self.algo.is_empty() || self.images.is_empty() {
            return None;
        }
        let texts = [&self.product_id, &self.variant, &self.algo].map(|text| bare(text));
        let all = [texts.join("\n"), self.images.join("\n")].join("\n\n");
        let digest = Sha256::digest(all);
        Some(SubjectKey(std::array::from_fn(|at| digest[at])))
    }
}

/// Stands for what a job is made from: there may be hundreds of thousands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SubjectKey([u8; 16]);

/// Returns a text without blanks around it, and nothing for the words that say so elsewhere.
fn bare(text: &str) -> &str {
    or_empty(text.trim())
}

fn may_be_same(a: &str, b: &str) -> bool {
    let (a, b) = (bare(a), bare(b));
    let unreadable = |text: &str| text.contains(char::REPLACEMENT_CHARACTER);
    a == b || a.is_empty() || b.is_empty() || unreadable(a) || unreadable(b) || is_same_number(a, b)
}

/// Where a table has what its jobs are made from.
pub struct SubjectColumns {
    /// The columns, rising, each with its place among the parts.
    rising: Vec<(usize, usize)>,
    parts: usize,
}

impl SubjectColumns {
    /// Finds the columns of `table`.
    pub fn of(table: &Table) -> Self {
        let facts = ["product_id", "variant", "algo"].map(|name| table.column(name));
        let images = (1..).map_while(|n| table.column(&format!("used_image_{n}_path")));
        let places: Vec<Option<usize>> = facts.into_iter().chain(images.map(Some)).collect();
        let rising = places.iter().enumerate();
        let rising = rising.filter_map(|(place, column)| Some(((*column)?, place)));
        let mut rising: Vec<(usize, usize)> = rising.collect();
        rising.sort_unstable();
        Self {
            rising,
            parts: places.len(),
        }
    }

    /// Reads a row, in one pass over its cells.
    pub fn read(&self, table: &Table, row: usize) -> Subject {
        let mut spans = vec![0..0; self.parts];
        table.spans(row, &self.rising, &mut spans);
        let cells = spans.into_iter().map(|span| decode(&table.bytes()[span]));
        let mut texts = cells.map(|cell| String::from_utf8_lossy(&cell).into_owned());
        let mut next = || texts.next().unwrap_or_default();
        Subject {
            product_id: next(),
            variant: next(),
            algo: next(),
            images: texts.filter(|path| !path.is_empty()).collect(),
        }
    }
}

/// Rows of a run that contradict its manifest.
#[derive(Debug, Default)]
pub struct Contradictions {
    /// Jobs whose row is of another product, variant, algorithm or picture.
    pub mixed_up: Vec<(String, usize)>,
    /// Ids that the manifest lacks, of rows whose job it has, and the id it has there.
    pub renamed: Vec<(String, String, usize)>,
}

impl Contradictions {
    /// Compares the rows of a run with the jobs it lists. The manifest decides about the
    /// pictures, so other pictures count only where they are those of another job.
    pub fn find(table: &mut Table, run: &RunId, listed: &[ManifestRow]) -> Self {
        Self::find_among(table, run, &|take| listed.iter().for_each(take))
    }

    /// Does the same with jobs that `each` tells one by one, and once more where a row
    /// contradicts: all of them at once may take more room than the table.
    pub fn find_among(table: &mut Table, run: &RunId, each: Listing<'_>) -> Self {
        let columns = SubjectColumns::of(table);
        let job_column = table.column("job_id");
        let index = table.index(run.as_str());
        let table = index.table();
        let known = LazyCell::new(|| by_key(each));
        let other_job = |subject: &Subject, id: &str| {
            let job = known.get(&subject.key()?);
            job.filter(|job| ***job != *id)
        };
        let mut found = Self::default();
        let mut met = vec![false; table.len()];
        each(&mut |entry| {
            let id = entry.job_id.as_str();
            let mut wanted = None;
            for row in index.rows_of(id) {
                met[row] = true;
                let wanted = wanted.get_or_insert_with(|| Subject::listed(entry));
                let subject = columns.read(table, row);
                let is_mixed_up = || {
                    !subject.is_same_product(wanted)
                        || !subject.has_same_pictures(wanted) && other_job(&subject, id).is_some()
                };
                if subject != *wanted && is_mixed_up() {
                    found.mixed_up.push((id.to_owned(), row));
                }
            }
        });
        for row in index.rows().filter(|row| !met[*row]) {
            let cell = job_column.map(|column| table.cell(row, column));
            let cell = String::from_utf8_lossy(&cell.unwrap_or_default()).into_owned();
            if let Some(job) = other_job(&columns.read(table, row), &cell) {
                found.renamed.push((cell, job.to_string(), row));
            }
        }
        found
    }
}

/// Tells the jobs of a manifest one by one, as often as it is asked.
type Listing<'a> = &'a dyn Fn(&mut dyn FnMut(&ManifestRow));

/// Returns the jobs of a manifest by what they are made from.
fn by_key(each: Listing<'_>) -> HashMap<SubjectKey, Box<str>> {
    let mut jobs = HashMap::new();
    each(&mut |entry| {
        if let Some(key) = Subject::listed(entry).key() {
            jobs.insert(key, entry.job_id.as_str().into());
        }
    });
    jobs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subject(product: &str, variant: &str, images: &[&str]) -> Subject {
        Subject {
            product_id: product.into(),
            variant: variant.into(),
            algo: "a".into(),
            images: images.iter().map(ToString::to_string).collect(),
        }
    }

    #[test]
    fn what_is_empty_or_only_written_in_another_way_agrees() {
        let job = subject("00123", "red", &["x.jpg", "y.jpg"]);
        for other in [
            subject("00123", " red ", &["x.jpg"]),
            subject("123", "", &[]),
            subject("123.0", "nan", &["y.jpg"]),
            subject("", "r\u{fffd}d", &["x.jpg", "y.jpg", "z.jpg"]),
        ] {
            assert!(job.agrees(&other) && other.agrees(&job), "{other:?}");
        }
        for other in [
            subject("124", "red", &["x.jpg"]),
            subject("00123", "blue", &[]),
            subject("00123", "red", &["z.jpg"]),
            subject("8001234567890", "red", &[]),
        ] {
            assert!(!job.agrees(&other) && !other.agrees(&job), "{other:?}");
        }
    }
}
