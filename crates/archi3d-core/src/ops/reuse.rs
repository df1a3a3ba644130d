//! Earlier results that `run worker --reuse` would copy, for those who look ahead.
//!
//! [`Forecast`] answers for one job at a time and writes nothing; the pictures of
//! every job asked about are read once.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use crate::adapter::registry;
use crate::domain::content::{ContentKey, Recipe};
use crate::domain::id::{AlgoKey, JobId, RunId};
#[cfg(feature = "postgres")]
use crate::domain::lease::Lease;
use crate::ops::{OpsContext, OpsError};
use crate::store::JobRecord;
#[cfg(feature = "postgres")]
use crate::store::StoreError;
use crate::store::files::FileReuse;
use crate::store::reuse::ReuseIndex;
#[cfg(feature = "postgres")]
use crate::store::reuse::Source;
use crate::workspace::artifact;

/// Returns the index of all earlier results of the workspace.
pub(super) fn index(context: &OpsContext) -> Arc<dyn ReuseIndex> {
    Arc::new(FileReuse::new(context.workspace.clone()))
}

/// Several indexes, asked one after the other.
#[cfg(feature = "postgres")]
pub(super) struct Chain(pub(super) Vec<Arc<dyn ReuseIndex>>);

#[cfg(feature = "postgres")]
impl ReuseIndex for Chain {
    fn find(
        &self,
        key: &ContentKey,
        version: Option<&str>,
        fresh: bool,
    ) -> Result<Option<Source>, StoreError> {
        for index in &self.0 {
            if let Some(found) = index.find(key, version, fresh)? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    fn make(&self, key: &ContentKey, lease: &Lease) -> Result<bool, StoreError> {
        for index in &self.0 {
            if !index.make(key, lease)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn made(&self, key: &ContentKey, lease: &Lease) {
        self.0.iter().for_each(|index| index.made(key, lease));
    }

    fn is_empty(&self) -> Result<bool, StoreError> {
        for index in &self.0 {
            if !index.is_empty()? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn refuse(&self, source: &Source) {
        self.0.iter().for_each(|index| index.refuse(source));
    }
}

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
        let hashes = job.images.iter().map(|stored| {
            let path = self.context.workspace.absolute(stored);
            artifact::hash_file(&path.ok_or(io::ErrorKind::InvalidInput)?)
        });
        let hashes = hashes.collect::<io::Result<Vec<_>>>().ok()?;
        Some((known.recipe.key(&hashes), known.version))
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
