//! Finds the rows of a run's jobs without reading the whole table each time.
//!
//! Holds row numbers and short hashes only, never the ids: the table's own
//! bytes are the truth, and a match is always checked against them.

use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};

use super::Table;
use crate::table::codec::{Fields, decode};

/// The column that names the run of a row.
const RUN_COLUMN: &str = "run_id";

/// The column that names the job of a row within its run.
const JOB_COLUMN: &str = "job_id";

/// Twelve bytes for each row of one run.
#[derive(Debug, Default)]
pub(super) struct RunRows {
    in_order: Vec<u32>,
    by_hash: Vec<(u32, u32)>,
}

/// The rows of one run, found by job id.
#[derive(Clone, Copy)]
pub struct RunIndex<'a> {
    table: &'a Table,
    rows: &'a RunRows,
    job_column: Option<usize>,
}

impl fmt::Debug for RunIndex<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunIndex")
            .field("rows", &self.len())
            .finish_non_exhaustive()
    }
}

impl<'a> RunIndex<'a> {
    /// Returns the table this is the index of.
    pub fn table(&self) -> &'a Table {
        self.table
    }

    /// Returns how many rows the run has.
    pub fn len(&self) -> usize {
        self.rows.in_order.len()
    }

    /// Tells whether the run has no row.
    pub fn is_empty(&self) -> bool {
        self.rows.in_order.is_empty()
    }

    /// Returns the rows of the run in table order.
    pub fn rows(&self) -> impl Iterator<Item = usize> + use<'a> {
        self.rows.in_order.iter().map(|row| *row as usize)
    }

    /// Returns every row of a job in table order; ids are equal only byte for byte.
    pub fn rows_of<'k>(&self, job_id: &'k str) -> impl Iterator<Item = usize> + use<'a, 'k> {
        let Self { table, rows, .. } = *self;
        let job_column = self.job_column;
        let hash = short_hash(job_id.as_bytes());
        let first = rows.by_hash.partition_point(|entry| entry.0 < hash);
        rows.by_hash[first..]
            .iter()
            .take_while(move |entry| entry.0 == hash)
            .map(|entry| entry.1 as usize)
            .filter(move |row| {
                job_column.is_some_and(|column| *table.cell(*row, column) == *job_id.as_bytes())
            })
    }

    /// Returns the first row of a job.
    pub fn first_of(&self, job_id: &str) -> Option<usize> {
        self.rows_of(job_id).next()
    }

    /// Returns the rows that repeat the job id of an earlier row, in table order.
    pub fn repeated(&self) -> Vec<usize> {
        let Some(column) = self.job_column else {
            return Vec::new();
        };
        let mut repeated = Vec::new();
        for same_hash in self.rows.by_hash.chunk_by(|a, b| a.0 == b.0) {
            for (position, (_, row)) in same_hash.iter().enumerate() {
                let id = self.table.cell(*row as usize, column);
                let seen = same_hash[..position]
                    .iter()
                    .any(|(_, earlier)| self.table.cell(*earlier as usize, column) == id);
                if seen {
                    repeated.push(*row as usize);
                }
            }
        }
        repeated.sort_unstable();
        repeated
    }
}

impl Table {
    /// Returns the rows of a run; built on first use and kept until a key
    /// changes or rows are added. Empty if the table has no key columns.
    pub fn index(&mut self, run_id: &str) -> RunIndex<'_> {
        if !self.indexes.contains_key(run_id) {
            let rows = self.rows_of_run(run_id);
            self.indexes.insert(run_id.to_owned(), rows);
        }
        RunIndex {
            table: self,
            rows: &self.indexes[run_id],
            job_column: self.column(JOB_COLUMN),
        }
    }

    fn rows_of_run(&self, run_id: &str) -> RunRows {
        let mut rows = RunRows::default();
        let (Some(run), Some(job)) = (self.column(RUN_COLUMN), self.column(JOB_COLUMN)) else {
            return rows;
        };
        for number in 0..self.len() {
            let content = self.content(number);
            let (mut run_field, mut job_field) = (0..0, 0..0);
            for (column, field) in Fields::new(content).enumerate().take(run.max(job) + 1) {
                if column == run {
                    run_field = field;
                } else if column == job {
                    job_field = field;
                }
            }
            if *decode(&content[run_field]) != *run_id.as_bytes() {
                continue;
            }
            let hash = short_hash(&decode(&content[job_field]));
            let number = u32::try_from(number).expect("the row count was checked when parsing");
            rows.in_order.push(number);
            rows.by_hash.push((hash, number));
        }
        rows.by_hash.sort_unstable();
        rows.in_order.shrink_to_fit();
        rows.by_hash.shrink_to_fit();
        rows
    }

    /// Returns the columns that make up the key of a row, as far as they are there.
    pub(super) fn key_columns(&self) -> [Option<usize>; 2] {
        [self.column(RUN_COLUMN), self.column(JOB_COLUMN)]
    }
}

fn short_hash(bytes: &[u8]) -> u32 {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    // Half of it will do: matches are checked anyway.
    let [a, b, c, d, ..] = hasher.finish().to_le_bytes();
    u32::from_le_bytes([a, b, c, d])
}
