//! Earlier results that `run worker --reuse` would copy, for those who look ahead.
//!
//! [`Forecast`] answers for one job at a time and writes nothing; the pictures of
//! every job asked about are read once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::adapter::registry;
use crate::domain::content::{ContentKey, Recipe};
use crate::domain::id::{AlgoKey, JobId, RunId};
use crate::domain::job::Entry;
use crate::engine::QueuedJob;
use crate::ops::{OpsContext, OpsError};
use crate::store::reuse::ReuseIndex;
use crate::store::{JobRecord, JobSnapshot};
use crate::workspace::artifact;

/// As long are pictures read before the first job starts, to find what can be copied.
const LONGEST_LOOK: Duration = Duration::from_secs(10);

/// Where a result would be copied from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReusedFrom {
    /// The run.
    pub run_id: RunId,
    /// The job.
    pub job_id: JobId,
}

/// Tells which jobs would be copied instead of bought.
pub struct Forecast<'a> {
    context: &'a OpsContext,
    index: Arc<dyn ReuseIndex>,
    algos: Mutex<HashMap<AlgoKey, Option<Known>>>,
    /// The hashes of pictures that were read; jobs of several algorithms share theirs.
    pictures: Mutex<HashMap<String, Option<String>>>,
}

/// What an algorithm does with pictures, and what it says of its version.
#[derive(Debug, Clone)]
struct Known {
    recipe: Recipe,
    version: Option<String>,
}

impl<'a> Forecast<'a> {
    /// Makes a forecast by what an index knows; reads nothing yet.
    pub fn new(context: &'a OpsContext, index: Arc<dyn ReuseIndex>) -> Self {
        Self {
            context,
            index,
            algos: Mutex::default(),
            pictures: Mutex::default(),
        }
    }

    /// Tells whether there is no earlier result at all, or none can be read.
    pub fn is_empty(&self) -> bool {
        self.index.is_empty().unwrap_or(true)
    }

    /// Returns the job whose result would be copied for one with these inputs, if
    /// one would. A redo is never copied: the caller does not ask about one.
    pub fn source_of(
        &self,
        key: &ContentKey,
        version: Option<&str>,
    ) -> Result<Option<ReusedFrom>, OpsError> {
        let source = self.index.find(key, version, false)?;
        Ok(source.map(|source| ReusedFrom {
            run_id: source.run_id,
            job_id: source.job_id,
        }))
    }

    /// Returns what goes into a job, and the version that its algorithm says it has;
    /// nothing where that cannot be read, which is told when the job runs. `forced` is
    /// the algorithm of `--adapter`. Jobs with the same key are made once.
    pub fn key_of(
        &self,
        job: &JobRecord,
        forced: Option<&AlgoKey>,
    ) -> Option<(ContentKey, Option<String>)> {
        let known = self.known(forced.or(job.algo.as_ref().ok())?)?;
        let hashes = job.images.iter().map(|stored| self.hash_of(stored));
        let hashes = hashes.collect::<Option<Vec<_>>>()?;
        Some((known.recipe.key(&hashes), known.version))
    }

    fn hash_of(&self, stored: &str) -> Option<String> {
        let known = |one: &Self| {
            let pictures = one.pictures.lock().unwrap_or_else(PoisonError::into_inner);
            pictures.get(stored).cloned()
        };
        if let Some(hash) = known(self) {
            return hash;
        }
        let path = self.context.workspace.absolute(stored);
        let hash = path.and_then(|path| artifact::hash_file(&path).ok());
        let mut pictures = self.pictures.lock().unwrap_or_else(PoisonError::into_inner);
        pictures.insert(stored.to_owned(), hash.clone());
        hash
    }

    /// Puts the jobs that would be copied before those that are made, each in its order. Copies take no time, so
    /// what is left after them is what a forecast is about. Pictures are read for ten seconds at most; what was
    /// not looked at by then counts as made.
    pub fn put_copies_first(&self, jobs: &mut [QueuedJob], forced: Option<&AlgoKey>) {
        if self.is_empty() {
            return;
        }
        let until = Instant::now() + LONGEST_LOOK;
        jobs.sort_by_cached_key(|planned| {
            let bought = matches!(
                planned.job.snapshot,
                JobSnapshot::Known {
                    purchase: Some(_),
                    ..
                }
            );
            if planned.entry == Entry::Redo || bought || Instant::now() > until {
                return true;
            }
            let source = self
                .key_of(&planned.job, forced)
                .and_then(|(key, version)| self.source_of(&key, version.as_deref()).ok()?);
            source.is_none()
        });
    }

    fn known(&self, algo: &AlgoKey) -> Option<Known> {
        let mut algos = self.algos.lock().unwrap_or_else(PoisonError::into_inner);
        let found = algos.entry(algo.clone()).or_insert_with(|| {
            let settings = self.context.settings.algo(algo.as_str())?;
            let adapter = registry::build(settings, None, &self.context.variables());
            Some(Known {
                recipe: Recipe::of(settings)?,
                version: adapter.ok()?.version().map(str::to_owned),
            })
        });
        found.clone()
    }
}
