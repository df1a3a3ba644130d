//! What workers share about providers, as small files in `runs/.providers`.

use std::collections::HashMap;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::domain::id::AlgoKey;
use crate::domain::limits::Limits;
use crate::domain::time::Timestamp;
use crate::platform;
use crate::store::StoreError;
use crate::store::error::IoContext;
use crate::store::providers::{Admission, Closable, Closure, Permit, Providers};
use crate::workspace::durable;
use crate::workspace::lock::FileLock;
use crate::workspace::paths::Workspace;

use super::closures::Closures;
use super::limits::ProviderLimits;

/// Counting takes moments; who waits this long goes by what it can read.
const PATIENCE: Duration = Duration::from_secs(1);

/// A longer file is not a count.
const MAX_BYTES: u64 = 64;

/// The providers of one workspace. Nothing is created before something is to be shared.
pub struct FileProviders {
    workspace: Workspace,
    limits: Mutex<HashMap<AlgoKey, Arc<ProviderLimits>>>,
}

impl FileProviders {
    /// Names the providers of a workspace.
    pub fn new(workspace: &Workspace) -> Self {
        Self {
            workspace: workspace.clone(),
            limits: Mutex::default(),
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

    fn failures(&self, algo: &AlgoKey) -> PathBuf {
        self.folder().join(format!("{algo}.failures"))
    }

    fn count(&self, algo: &AlgoKey, failed: bool) -> io::Result<u32> {
        let path = self.failures(algo);
        let read = || match durable::read_plain(&path, MAX_BYTES) {
            Ok(bytes) => Ok(String::from_utf8_lossy(&bytes).trim().parse().unwrap_or(0)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(0),
            Err(error) => Err(error),
        };
        if !failed {
            // Most jobs succeed and have nothing to put right.
            return match fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
                _ => Ok(0),
            };
        }
        fs::create_dir_all(self.folder())?;
        let lock = self.folder().join(format!("{algo}.failures.lock"));
        let _lock = FileLock::acquire_within(&lock, PATIENCE)?;
        let failures: u32 = read()?;
        let failures = failures.saturating_add(1);
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true);
        let opened = platform::without_waiting(&mut options).open(&path);
        // Not synced: after a power loss counting begins again.
        let text = format!("{failures}\n");
        durable::plain(opened, &path)?.write_all(text.as_bytes())?;
        Ok(failures)
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
            self.told("write in", self.count(key, false))?;
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
        self.told("count in", self.count(algo, failed))
    }

    fn sweep(&self) -> Result<(), StoreError> {
        self.told("sweep", self.closures(Closable::Provider).sweep())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_in_a_row_are_counted_by_all_workers_together() {
        let folder = tempfile::tempdir().unwrap();
        let workspace = Workspace::new(folder.path());
        let (one, other) = (
            FileProviders::new(&workspace),
            FileProviders::new(&workspace),
        );
        let algo = AlgoKey::parse("trellis").unwrap();
        assert_eq!(one.ended(&algo, true).unwrap(), 1);
        assert_eq!(other.ended(&algo, true).unwrap(), 2);
        assert_eq!(one.ended(&algo, false).unwrap(), 0);
        assert_eq!(one.ended(&algo, false).unwrap(), 0);
        fs::write(one.failures(&algo), "many").unwrap();
        assert_eq!(other.ended(&algo, true).unwrap(), 1);
    }
}
