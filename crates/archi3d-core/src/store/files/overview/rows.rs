//! The rows of one run, read in one pass: a few numbers of each.

use std::ops::Range;

use rayon::prelude::*;

use crate::domain::forecast;
use crate::domain::id::{JobId, RunId, is_plain_word};
use crate::domain::job::Status;
use crate::domain::patch::{DRY_RUN, REUSED};
use crate::domain::time::Timestamp;
use crate::store::overview::{AlgoOverview, EndedJob, Took};
use crate::store::runs::id_hash;
use crate::table::codec::decode;
use crate::table::spans_in;

use super::records::{Place, Records};

/// How many of the latest endings tell the pace.
const RECENT: usize = 200;

/// What is kept of a row.
#[derive(Debug, Clone, Copy)]
pub(super) struct RowSeen {
    /// Of its job's id.
    pub(super) hash: u64,
    /// Where it stands.
    pub(super) place: Place,
    /// Nothing for a word we do not know.
    pub(super) status: Option<Status>,
    pub(super) rehearsal: bool,
    /// The position of its algorithm.
    pub(super) algo: u16,
    /// Why more of it must be read, if so.
    pub(super) closer: Closer,
}

/// Why more of a row must be read than is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Closer {
    /// To tell why its job failed.
    Failure,
    /// Its markers say something else, or somebody holds the job.
    Markers,
    /// Its status is a word we do not know.
    Word,
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
#[derive(Debug)]
struct Ending {
    /// Times of our own making sort like their texts, so only those that are
    /// kept are read.
    ended: Vec<u8>,
    algo: usize,
    took_s: f64,
    simulated: bool,
}

/// The rows that ended last.
#[derive(Debug, Default)]
struct Latest {
    endings: Vec<Ending>,
    /// Nothing that ended before this is among them.
    floor: Vec<u8>,
}

impl Latest {
    fn take(&mut self, ended: &[u8], ending: impl FnOnce(Vec<u8>) -> Ending) {
        if ended <= self.floor.as_slice() {
            return;
        }
        self.endings.push(ending(ended.to_vec()));
        if self.endings.len() >= 4 * RECENT {
            self.cut();
        }
    }

    fn cut(&mut self) {
        self.endings.sort_by(|a, b| b.ended.cmp(&a.ended));
        if self.endings.len() > RECENT {
            self.endings.truncate(RECENT);
            self.floor.clone_from(&self.endings[RECENT - 1].ended);
        }
    }
}

/// The rows of a run.
#[derive(Debug, Default)]
pub(super) struct Rows {
    /// By hash, equal ones in the order of the table.
    pub(super) jobs: Vec<RowSeen>,
    /// The names of their algorithms as the table has them.
    names: Vec<Vec<u8>>,
    /// What completed jobs of each took.
    took_s: Vec<Vec<f64>>,
    latest: Latest,
    /// The earliest time at which a row was made; times of our own making sort like their texts.
    created: Vec<u8>,
    /// A row cannot be a job.
    pub(super) odd: bool,
}

/// The columns that are read, in the order of [`Cells`].
pub(super) const COLUMNS: [&str; 8] = [
    "run_id",
    "job_id",
    "algo",
    "status",
    "generation_end",
    "generation_duration_s",
    "price_source",
    "created_at",
];

/// Where one row has the columns that are read; empty where it has none.
type Cells = [Range<usize>; COLUMNS.len()];

impl Rows {
    /// Reads the rows of `run`, or those of all runs; nothing if the file cannot
    /// be read to its end.
    pub(super) fn read(records: &Records, run: Option<&RunId>) -> Option<Self> {
        let header = records.header();
        let mut wanted: Vec<(usize, usize)> = (0..COLUMNS.len())
            .filter_map(|place| Some((header.column(COLUMNS[place])?, place)))
            .collect();
        wanted.sort_unstable();
        let mut rows = Self::default();
        records.each(&mut |place, record| rows.take(place, record, &wanted, run))?;
        rows.jobs
            .par_sort_unstable_by_key(|row| (row.hash, row.place));
        Some(rows)
    }

    /// Returns the algorithms, with what completed jobs of each took.
    pub(super) fn algos(&mut self) -> Vec<AlgoOverview> {
        let algos = self.names.iter().zip(&mut self.took_s);
        algos
            .map(|(name, took_s)| AlgoOverview {
                algo: String::from_utf8_lossy(name).into_owned(),
                took: forecast::mean(took_s)
                    .zip(forecast::median(took_s))
                    .map(|(mean_s, median_s)| Took { mean_s, median_s }),
                ..AlgoOverview::default()
            })
            .collect()
    }

    /// Returns when the first row was made.
    pub(super) fn created(&self) -> Option<Timestamp> {
        Timestamp::parse(std::str::from_utf8(&self.created).ok()?)
    }

    /// Returns the latest endings, newest first.
    pub(super) fn recent(&mut self) -> Vec<EndedJob> {
        self.latest.cut();
        let read = |ending: &Ending| {
            Some(EndedJob {
                algo: ending.algo,
                ended: Timestamp::parse(std::str::from_utf8(&ending.ended).ok()?)?,
                took_s: ending.took_s,
                simulated: ending.simulated,
            })
        };
        self.latest.endings.iter().filter_map(read).collect()
    }

    fn take(
        &mut self,
        place: Place,
        record: &[u8],
        wanted: &[(usize, usize)],
        run: Option<&RunId>,
    ) {
        let mut cells = Cells::default();
        spans_in(record, 0, wanted, &mut cells);
        let cell = |place: usize| decode(&record[cells[place].clone()]);
        if run.is_some_and(|run| *cell(0) != *run.as_str().as_bytes()) {
            return;
        }
        let id = cell(1);
        let usable =
            is_plain_word(&id) || std::str::from_utf8(&id).is_ok_and(|id| JobId::parse(id).is_ok());
        if !usable {
            self.odd = true;
            return;
        }
        let number = |place: usize| -> Option<f64> {
            std::str::from_utf8(&record[cells[place].clone()])
                .ok()?
                .parse()
                .ok()
        };
        let created = &record[cells[7].clone()];
        if self.created.is_empty() || !created.is_empty() && created < self.created.as_slice() {
            self.created = created.to_vec();
        }
        let status = status_of(&cell(3));
        let rehearsal = *cell(6) == *DRY_RUN.as_bytes();
        let algo = self.algo(&cell(2));
        self.jobs.push(RowSeen {
            hash: id_hash(&id),
            place,
            status,
            rehearsal,
            algo: u16::try_from(algo).unwrap_or(u16::MAX),
            closer: Closer::Markers,
        });
        if *cell(6) == *REUSED.as_bytes() {
            // A copy tells nothing of how long making takes.
            return;
        }
        let took_s = number(5).filter(|s| s.is_finite() && *s >= 0.0);
        let over = matches!(status, Some(Status::Completed | Status::Failed));
        let Some(took_s) = took_s.filter(|_| over) else {
            return;
        };
        self.latest.take(&record[cells[4].clone()], |ended| Ending {
            ended,
            algo,
            took_s,
            simulated: rehearsal,
        });
        if status == Some(Status::Completed) && !rehearsal {
            self.took_s[algo].push(took_s);
        }
    }

    fn algo(&mut self, name: &[u8]) -> usize {
        let known = self.names.iter().position(|algo| algo == name);
        known.unwrap_or_else(|| {
            // Nobody has so many; the last one stands for all further ones.
            if self.names.len() < usize::from(u16::MAX) {
                self.names.push(name.to_vec());
                self.took_s.push(Vec::new());
            }
            self.names.len() - 1
        })
    }
}

fn status_of(cell: &[u8]) -> Option<Status> {
    // By far the most; anything else is read with more patience.
    let usual = Status::ALL
        .into_iter()
        .find(|status| status.word().as_bytes() == cell);
    usual.or_else(|| Status::parse(&String::from_utf8_lossy(cell)))
}
