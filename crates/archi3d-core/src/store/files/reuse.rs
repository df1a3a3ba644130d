//! The index of earlier results, read from the journals of all runs.
//!
//! Used only with `--reuse`. Journals are read once and then only
//! where they have grown; markers are opened only for results that fit. Results
//! without a content key, as earlier versions wrote them, are never offered.

use std::collections::{HashMap, HashSet};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::domain::content::ContentKey;
use crate::domain::id::{JobId, Nonce, RunId};
use crate::domain::patch::{DRY_RUN, REUSED};
use crate::domain::text::formula_safe;
use crate::domain::time::Timestamp;
use crate::store::error::{IoContext, StoreError};
use crate::store::reuse::{ReuseIndex, Source, are_in};
use crate::workspace::durable;
use crate::workspace::paths::Workspace;

use super::journal::{self, Line, What};
use super::marker::{Marker, RecordKind};

/// Without haste, journals are not looked at more often than this.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// What every line that matters contains.
const MARK: &[u8] = b"\"content_key\"";

/// Earlier results of a workspace.
pub struct FileReuse {
    workspace: Workspace,
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    /// Up to where each journal was read.
    read: HashMap<PathBuf, u64>,
    results: HashMap<ContentKey, Vec<Made>>,
    /// The version of the newest result of each recipe.
    newest: HashMap<String, (Timestamp, Option<String>)>,
    refused: HashSet<Nonce>,
    looked: Option<Instant>,
}

/// A result that a journal tells of.
#[derive(Debug, Clone)]
struct Made {
    run_id: RunId,
    job_id: JobId,
    nonce: Nonce,
    attempt: u32,
    at: Timestamp,
    version: Option<String>,
}

impl FileReuse {
    /// Makes an index of all runs of `workspace`; reads nothing yet.
    pub fn new(workspace: Workspace) -> Self {
        Self {
            workspace,
            known: Mutex::default(),
        }
    }

    fn look(&self, known: &mut Known, fresh: bool) -> Result<(), StoreError> {
        if !fresh && known.looked.is_some_and(|at| at.elapsed() < LOOK_EVERY) {
            return Ok(());
        }
        let runs = self.workspace.runs();
        for run_id in self.workspace.run_ids().context("list", &runs)? {
            let folder = self.workspace.run(&run_id).journals();
            for found in journal::all(&folder).context("list", &folder)? {
                known
                    .read_on(&run_id, &found.path)
                    .context("read", &found.path)?;
            }
        }
        known.looked = Some(Instant::now());
        Ok(())
    }

    /// Returns the result if its marker and its files are still in their place.
    fn in_place(&self, made: &Made) -> Result<Option<Source>, StoreError> {
        let paths = self.workspace.run(&made.run_id);
        let kind = RecordKind::Completed;
        let path = paths.state_file(&made.job_id, kind.file());
        let mut marker = Marker::read(&path, kind, &made.job_id).context("read", &path)?;
        // Of a run that was handed over they are kept there; what was made again since has other files.
        if let (None, Some(name)) = (&marker, path.file_name()) {
            let path = paths.before_fleet().join(name);
            marker = Marker::read(&path, kind, &made.job_id).context("read", &path)?;
        }
        let Some(record) = marker.as_ref().and_then(Marker::record) else {
            return Ok(None);
        };
        if record.nonce != made.nonce || record.simulated {
            return Ok(None);
        }
        let folder = paths.output(&made.job_id);
        Ok(are_in(&folder, &record.outputs).then(|| Source {
            in_bucket: false,
            run_id: made.run_id.clone(),
            job_id: made.job_id.clone(),
            attempt: made.attempt,
            nonce: made.nonce.clone(),
            algo_version: made.version.clone(),
            folder,
            artifacts: record.outputs.clone(),
        }))
    }
}

impl ReuseIndex for FileReuse {
    fn is_empty(&self) -> Result<bool, StoreError> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.looked.is_none() {
            self.look(&mut known, false)?;
        }
        Ok(known.results.is_empty())
    }

    fn find(
        &self,
        key: &ContentKey,
        version: Option<&str>,
        fresh: bool,
    ) -> Result<Option<Source>, StoreError> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        self.look(&mut known, fresh)?;
        let in_force = match version {
            // As the table has it.
            Some(version) => Some(formula_safe(version)),
            None => known
                .newest
                .get(key.recipe())
                .and_then(|(_, version)| version.clone()),
        };
        let mut fitting: Vec<Made> = known.results.get(key).cloned().unwrap_or_default();
        fitting.retain(|made| made.version == in_force && !known.refused.contains(&made.nonce));
        drop(known);
        fitting.sort_by_key(|made| std::cmp::Reverse(made.at));
        for made in fitting {
            if let Some(source) = self.in_place(&made)? {
                return Ok(Some(source));
            }
        }
        Ok(None)
    }

    fn refuse(&self, source: &Source) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.refused.insert(source.nonce.clone());
    }
}

impl Known {
    /// Reads what was appended to a journal since the last time.
    fn read_on(&mut self, run_id: &RunId, path: &Path) -> io::Result<()> {
        let start = self.read.get(path).copied().unwrap_or(0);
        let mut file = match durable::open_plain(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error),
        };
        if file.metadata()?.len() <= start {
            return Ok(());
        }
        file.seek(SeekFrom::Start(start))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        // A line without its end may still be growing.
        let whole = memchr::memrchr(b'\n', &bytes).map_or(0, |at| at + 1);
        let finder = memchr::memmem::Finder::new(MARK);
        for line in bytes[..whole].split(|byte| *byte == b'\n') {
            if finder.find(line).is_some()
                && let Ok(line) = Line::parse(line)
            {
                self.take(run_id, line);
            }
        }
        self.read.insert(path.to_owned(), start + whole as u64);
        Ok(())
    }

    fn take(&mut self, run_id: &RunId, line: Line) {
        let What::Finished(finished) = line.what else {
            return;
        };
        let Some(key) = finished.content_key else {
            return;
        };
        let version = finished.patch.get("algo_version").map(str::to_owned);
        if !finished.completed || finished.simulated || version.as_deref() == Some(DRY_RUN) {
            return;
        }
        // A copy says nothing of what would be made today.
        let copied = finished.patch.get("price_source") == Some(REUSED);
        let newest = self.newest.entry(key.recipe().to_owned());
        newest
            .and_modify(|newest| {
                if line.at > newest.0 && !copied {
                    *newest = (line.at, version.clone());
                }
            })
            .or_insert_with(|| (line.at, version.clone()));
        self.results.entry(key).or_default().push(Made {
            run_id: run_id.clone(),
            job_id: finished.job_id,
            nonce: finished.nonce,
            attempt: finished.attempt,
            at: line.at,
            version,
        });
    }
}
