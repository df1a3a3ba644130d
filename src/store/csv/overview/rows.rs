//! The rows of one run, read in one pass by all cores: a few numbers of each.

use std::ops::Range;

use rayon::prelude::*;

use crate::domain::id::{JobId, RunId};
use crate::domain::job::Status;
use crate::domain::patch::DRY_RUN;
use crate::store::csv::codec::decode;
use crate::store::csv::table::Table;

use super::{hash_of, is_plain};

/// Rows that one core reads at a time.
const CHUNK: usize = 4096;

/// What is kept of a row.
#[derive(Debug, Clone, Copy)]
pub(super) struct RowSeen {
    /// Of its job's id.
    pub(super) hash: u64,
    /// Its number.
    pub(super) row: u32,
    /// Nothing for a word we do not know.
    pub(super) status: Option<Status>,
    pub(super) rehearsal: bool,
    /// The position of its algorithm.
    pub(super) algo: u16,
}

impl RowSeen {
    /// Returns how much the row counts among copies, as in the registry.
    pub(super) fn weight(&self) -> u8 {
        match self.status {
            Some(Status::Completed) if !self.rehearsal => 5,
            Some(Status::Failed) => 4,
            Some(Status::Running) => 3,
            Some(Status::Cancelled) | None => 2,
            Some(Status::Completed) => 1,
            Some(Status::Enqueued) => 0,
        }
    }
}

/// A row that tells of an end.
#[derive(Debug, Clone)]
pub(super) struct Ending {
    pub(super) algo: u16,
    /// Where in the table its time stands.
    pub(super) ended: Range<usize>,
    pub(super) took_s: f64,
    pub(super) completed: bool,
    pub(super) simulated: bool,
    pub(super) cost_micros: Option<u64>,
}

/// The rows of a run.
#[derive(Debug, Default)]
pub(super) struct Rows {
    /// By hash, equal ones in the order of the table.
    pub(super) jobs: Vec<RowSeen>,
    pub(super) endings: Vec<Ending>,
    pub(super) algos: Vec<Vec<u8>>,
    /// A row cannot be a job.
    pub(super) odd: bool,
}

/// The columns that are read, in the order of [`Cells`].
const COLUMNS: [&str; 8] = [
    "run_id",
    "job_id",
    "algo",
    "status",
    "generation_end",
    "generation_duration_s",
    "price_source",
    "estimated_cost_usd",
];

/// Where one row has the columns that are read; empty where it has none.
type Cells = [Range<usize>; COLUMNS.len()];

impl Rows {
    /// Reads the rows of `run`, or those of all runs.
    pub(super) fn read(table: &Table, run: Option<&RunId>) -> Self {
        let mut wanted: Vec<(usize, usize)> = (0..COLUMNS.len())
            .filter_map(|place| Some((table.column(COLUMNS[place])?, place)))
            .collect();
        wanted.sort_unstable();
        let chunks = table.len().div_ceil(CHUNK);
        let parts: Vec<Self> = (0..chunks)
            .into_par_iter()
            .map(|chunk| {
                let mut part = Self::default();
                for row in chunk * CHUNK..((chunk + 1) * CHUNK).min(table.len()) {
                    part.take(table, row, &wanted, run);
                }
                part
            })
            .collect();
        let mut all = Self::default();
        for part in parts {
            all.add(part);
        }
        all.jobs.par_sort_by_key(|row| row.hash);
        all
    }

    fn take(&mut self, table: &Table, row: usize, wanted: &[(usize, usize)], run: Option<&RunId>) {
        let mut cells = Cells::default();
        table.spans(row, wanted, &mut cells);
        let bytes = table.bytes();
        let cell = |place: usize| decode(&bytes[cells[place].clone()]);
        if run.is_some_and(|run| *cell(0) != *run.as_str().as_bytes()) {
            return;
        }
        let id = cell(1);
        let usable =
            is_plain(&id) || std::str::from_utf8(&id).is_ok_and(|id| JobId::parse(id).is_ok());
        if !usable {
            self.odd = true;
            return;
        }
        let text = |place: usize| String::from_utf8_lossy(&bytes[cells[place].clone()]);
        let status = status_of(&cell(3));
        let rehearsal = *cell(6) == *DRY_RUN.as_bytes();
        let algo = self.algo(&cell(2));
        self.jobs.push(RowSeen {
            hash: hash_of(&id),
            row: u32::try_from(row).unwrap_or(u32::MAX),
            status,
            rehearsal,
            algo,
        });
        let took_s = text(5)
            .parse::<f64>()
            .ok()
            .filter(|s| s.is_finite() && *s >= 0.0);
        let over = matches!(status, Some(Status::Completed | Status::Failed));
        if let Some(took_s) = took_s.filter(|_| over) {
            self.endings.push(Ending {
                algo,
                ended: cells[4].clone(),
                took_s,
                completed: status == Some(Status::Completed),
                simulated: rehearsal,
                cost_micros: text(7).parse::<f64>().ok().map(micros),
            });
        }
    }

    fn algo(&mut self, name: &[u8]) -> u16 {
        let known = self.algos.iter().position(|algo| algo == name);
        let place = known.unwrap_or_else(|| {
            // Nobody has so many; the last one stands for all further ones.
            if self.algos.len() < usize::from(u16::MAX) {
                self.algos.push(name.to_vec());
            }
            self.algos.len() - 1
        });
        u16::try_from(place).unwrap_or(u16::MAX)
    }

    fn add(&mut self, part: Self) {
        let places: Vec<u16> = part.algos.iter().map(|algo| self.algo(algo)).collect();
        let place = |algo: u16| places[usize::from(algo)];
        self.jobs.extend(part.jobs.into_iter().map(|row| RowSeen {
            algo: place(row.algo),
            ..row
        }));
        self.endings
            .extend(part.endings.into_iter().map(|ending| Ending {
                algo: place(ending.algo),
                ..ending
            }));
        self.odd |= part.odd;
    }
}

fn status_of(cell: &[u8]) -> Option<Status> {
    // By far the most; anything else is read with more patience.
    let usual = Status::ALL
        .into_iter()
        .find(|status| status.word().as_bytes() == cell);
    usual.or_else(|| Status::parse(&String::from_utf8_lossy(cell)))
}

fn micros(usd: f64) -> u64 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "clamped to what fits"
    )]
    let micros = (usd * 1e6).round().clamp(0.0, 9e15) as u64;
    micros
}
