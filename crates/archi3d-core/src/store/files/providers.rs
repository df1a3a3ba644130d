//! What workers share about providers, as small files in `runs/.providers`.

use std::collections::HashMap;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use crate::domain::id::AlgoKey;
use crate::domain::limits::Limits;
use crate::domain::time::Timestamp;
use crate::store::StoreError;
use crate::store::error::IoContext;
use crate::store::providers::{Admission, Closable, Closure, Permit, Providers};
use crate::workspace::paths::Workspace;

use super::closures::Closures;
use super::limits::ProviderLimits;

/// The providers of one workspace. Nothing is created before something is to be shared.
pub struct FileProviders {
    workspace: Workspace,
    limits: Mutex<HashMap<AlgoKey, Arc<ProviderLimits>>>,
    /// Failures in a row of this worker: a job that fails leaves nothing beside its run.
    failures: Mutex<HashMap<AlgoKey, u32>>,
}

impl FileProviders {
    /// Names the providers of a workspace.
    pub fn new(workspace: &Workspace) -> Self {
        Self {
            workspace: workspace.clone(),
            limits: Mutex::default(),
            failures: Mutex::default(),
        }
    }

    fn folder(&self) -> PathBuf {
        self.workspace.providers()
    }

    fn closures(&self, what: Closable) -> Closures {
        match what {
            Closable::Provider => Closures::new(&self.workspace),
            Closable::Algo => Closures::breakers(&self.workspace),
        }
    }

    fn limits_of(&self, provider: &AlgoKey, limits: Limits) -> Arc<ProviderLimits> {
        let mut known = self.limits.lock().unwrap_or_else(PoisonError::into_inner);
        let new = || ProviderLimits::new(&self.workspace, provider.clone(), limits);
        let known = known.entry(provider.clone());
        Arc::clone(known.or_insert_with(|| Arc::new(new())))
    }

    fn told<T>(&self, action: &'static str, done: io::Result<T>) -> Result<T, StoreError> {
        done.context(action, &self.folder())
    }
}

impl Providers for FileProviders {
    fn closed(
        &self,
        what: Closable,
        key: &AlgoKey,
        now: Timestamp,
    ) -> Result<Option<Closure>, StoreError> {
        self.told("read", self.closures(what).closed(key, now))
    }

    fn closed_to_worker(
        &self,
        what: Closable,
        key: &AlgoKey,
        now: Timestamp,
    ) -> Result<Option<Closure>, StoreError> {
        self.told("read", self.closures(what).closed_for(key, now))
    }

    fn all_closed(&self, what: Closable, now: Timestamp) -> Result<Vec<Closure>, StoreError> {
        self.told("read", self.closures(what).all_closed(now))
    }

    fn close(&self, what: Closable, closure: &Closure) -> Result<bool, StoreError> {
        self.told("write in", self.closures(what).close(closure))
    }

    fn open(&self, what: Closable, key: &AlgoKey) -> Result<bool, StoreError> {
        if what == Closable::Algo {
            self.ended(key, false)?;
        }
        self.told("write in", self.closures(what).open(key))
    }

    fn try_probe(&self, algo: &AlgoKey) -> Result<Option<Permit>, StoreError> {
        let probe = self.closures(Closable::Algo).try_probe(algo);
        Ok(self.told("lock in", probe)?.map(Permit::of))
    }

    fn admit(
        &self,
        provider: &AlgoKey,
        limits: Limits,
        again: bool,
        now: Timestamp,
    ) -> Result<Admission, StoreError> {
        if !limits.any() {
            return Ok(Admission::Go(Permit::default()));
        }
        let admission = self.limits_of(provider, limits).admit(now, again);
        self.told("use", admission)
    }

    fn refund(&self, provider: &AlgoKey, limits: Limits) -> Result<(), StoreError> {
        if !limits.any() {
            return Ok(());
        }
        self.told("use", self.limits_of(provider, limits).refund())
    }

    fn ended(&self, algo: &AlgoKey, failed: bool) -> Result<u32, StoreError> {
        let failures = self.failures.lock();
        let mut failures = failures.unwrap_or_else(PoisonError::into_inner);
        let in_a_row = failures.entry(algo.clone()).or_default();
        *in_a_row = if failed { *in_a_row + 1 } else { 0 };
        Ok(*in_a_row)
    }

    fn sweep(&self) -> Result<(), StoreError> {
        self.told("sweep", self.closures(Closable::Provider).sweep())
    }
}
