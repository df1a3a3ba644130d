//! Providers that are closed for every worker of the workspace: one small file
//! each, so that a person can see and remove it.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use crate::domain::id::AlgoKey;
use crate::domain::time::Timestamp;
use crate::platform::fault;
use crate::store::providers::{Closure, SKEW};
use crate::workspace::durable;
use crate::workspace::lock::FileLock;
use crate::workspace::paths::Workspace;

/// Whoever closes a provider holds it.
const LOCK: &str = "closing.lock";

/// Closing takes moments; who waits this long goes on without the lock.
const PATIENCE: Duration = Duration::from_secs(10);

/// A larger file is not ours.
const MAX_BYTES: u64 = 64 * 1024;

/// The closed providers, or the paused algorithms, of one workspace.
#[derive(Debug, Clone)]
pub(super) struct Closures {
    folder: PathBuf,
    ending: &'static str,
}

impl Closures {
    /// Looks at the workspace's providers; nothing is created.
    pub(super) fn new(workspace: &Workspace) -> Self {
        Self {
            folder: workspace.providers(),
            ending: ".closed.json",
        }
    }

    /// Looks at the workspace's algorithms that a breaker has paused, which are
    /// named like providers; nothing is created.
    pub(super) fn breakers(workspace: &Workspace) -> Self {
        Self {
            ending: ".paused.json",
            ..Self::new(workspace)
        }
    }

    fn path(&self, provider: &AlgoKey) -> PathBuf {
        self.folder.join(format!("{provider}{}", self.ending))
    }

    /// Closes a provider for everyone; tells whether that changes anything. A closing
    /// never ends sooner because of another one, and no time opens what only a person
    /// does.
    pub(super) fn close(&self, closure: &Closure) -> io::Result<bool> {
        fs::create_dir_all(&self.folder)?;
        fault::io("provider.closing")?;
        let _lock = self.lock()?;
        let now = closure.closed_at;
        let closed = self.closed(&closure.provider, now)?;
        if let (Some(until), Some(closed)) = (closure.until, closed)
            && closed.until.is_none_or(|longer| longer >= until)
        {
            return Ok(false);
        }
        self.write(closure).map(|()| true)
    }

    /// Keeps others from closing one meanwhile, and `sweep` away from what is written.
    fn lock(&self) -> io::Result<Option<FileLock>> {
        FileLock::acquire_within(&self.folder.join(LOCK), PATIENCE)
    }

    fn write(&self, closure: &Closure) -> io::Result<()> {
        let text = serde_json::to_vec_pretty(closure).expect("a closure has only plain fields");
        let tag = uuid::Uuid::new_v4().simple().to_string();
        durable::replace(&self.path(&closure.provider), &text, &tag)?;
        fault::here("provider.closed");
        Ok(())
    }

    /// Removes what workers left that died while closing a provider.
    pub(super) fn sweep(&self) -> io::Result<()> {
        if !self.folder.is_dir() {
            return Ok(());
        }
        let Some(_lock) = FileLock::try_acquire(&self.folder.join(LOCK))? else {
            return Ok(()); // Somebody closes one this moment.
        };
        for entry in fs::read_dir(&self.folder)? {
            let entry = entry?;
            if entry
                .file_name()
                .to_str()
                .is_some_and(durable::is_temporary)
            {
                fs::remove_file(entry.path())?;
            }
        }
        Ok(())
    }

    /// Takes the right to try a paused one; nothing if another worker has it.
    pub(super) fn try_probe(&self, provider: &AlgoKey) -> io::Result<Option<FileLock>> {
        FileLock::try_acquire(&self.folder.join(format!("{provider}.probe.lock")))
    }

    /// Opens a provider again; tells whether it was closed.
    pub(super) fn open(&self, provider: &AlgoKey) -> io::Result<bool> {
        match fs::remove_file(self.path(provider)) {
            Ok(()) => {
                fault::here("provider.opened");
                Ok(true)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Returns why a provider is closed at `now`, if it is. A file that cannot
    /// be read closes it: somebody put it there.
    pub(super) fn closed(&self, provider: &AlgoKey, now: Timestamp) -> io::Result<Option<Closure>> {
        let path = self.path(provider);
        let bytes = match durable::read_plain(&path, MAX_BYTES) {
            Ok(bytes) => bytes,
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
                ) =>
            {
                return Ok(None);
            }
            Err(error) => return Err(error),
        };
        let closure: Closure = serde_json::from_slice(&bytes).unwrap_or_else(|error| Closure {
            provider: provider.clone(),
            closed_at: now,
            until: None,
            reason: format!("{} cannot be read: {error}", path.display()),
        });
        Ok(Some(closure.seen_at(now)).filter(|closure| closure.holds(now)))
    }

    /// Returns the same, and sees to it that a closure noted under a clock far ahead
    /// ends: from now on it lasts as long as was meant.
    pub(super) fn closed_for(
        &self,
        provider: &AlgoKey,
        now: Timestamp,
    ) -> io::Result<Option<Closure>> {
        let closure = self.closed(provider, now)?;
        if closure.as_ref().is_none_or(|c| c.until.is_none()) || !self.noted_ahead(provider, now)? {
            return Ok(closure);
        }
        let _lock = self.lock()?;
        let closure = self.closed(provider, now)?;
        if let Some(closure) = &closure {
            self.write(closure)?;
        }
        Ok(closure)
    }

    fn noted_ahead(&self, provider: &AlgoKey, now: Timestamp) -> io::Result<bool> {
        let bytes = durable::read_plain(&self.path(provider), MAX_BYTES)?;
        let noted: Option<Closure> = serde_json::from_slice(&bytes).ok();
        Ok(noted.is_some_and(|noted| noted.closed_at > now.plus(SKEW)))
    }

    /// Returns every provider that is closed at `now`, by name.
    pub(super) fn all_closed(&self, now: Timestamp) -> io::Result<Vec<Closure>> {
        let entries = match fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let mut closed = Vec::new();
        for entry in entries {
            let name = entry?.file_name();
            let key = name
                .to_str()
                .and_then(|name| name.strip_suffix(self.ending));
            if let Some(key) = key.and_then(|key| AlgoKey::parse(key).ok()) {
                closed.extend(self.closed(&key, now)?);
            }
        }
        closed.sort_by(|a, b| a.provider.cmp(&b.provider));
        Ok(closed)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_closed_provider_stays_closed_until_its_time_or_until_it_is_opened() {
        let folder = tempfile::tempdir().unwrap();
        let gate = Closures::new(&Workspace::new(folder.path()));
        let key = AlgoKey::parse("fal").unwrap();
        let now = Timestamp::parse("2026-01-01T00:00:00Z").unwrap();
        let later = now.plus(Duration::from_secs(60));
        assert_eq!(gate.closed(&key, now).unwrap(), None);
        assert!(gate.all_closed(now).unwrap().is_empty());
        let mut closure = Closure {
            provider: key.clone(),
            closed_at: now,
            until: Some(later),
            reason: "402".into(),
        };
        gate.close(&closure).unwrap();
        assert_eq!(gate.closed(&key, now).unwrap(), Some(closure.clone()));
        assert_eq!(gate.closed(&key, later).unwrap(), None);
        closure.until = None;
        gate.close(&closure).unwrap();
        assert_eq!(gate.all_closed(later).unwrap(), [closure]);
        assert!(gate.open(&key).unwrap());
        assert!(!gate.open(&key).unwrap());
        assert_eq!(gate.closed(&key, now).unwrap(), None);
    }

    #[test]
    fn a_short_closing_that_had_to_wait_leaves_a_longer_one() {
        let folder = tempfile::tempdir().unwrap();
        let gate = Closures::new(&Workspace::new(folder.path()));
        let now = Timestamp::parse("2026-01-01T00:00:00Z").unwrap();
        let lasting = Closure {
            provider: AlgoKey::parse("fal").unwrap(),
            closed_at: now,
            until: None,
            reason: "402".into(),
        };
        let short = Closure {
            until: Some(now.plus(Duration::from_secs(1))),
            ..lasting.clone()
        };
        fs::create_dir_all(&gate.folder).unwrap();
        let lock = gate.lock().unwrap();
        std::thread::scope(|scope| {
            let closing = scope.spawn(|| gate.close(&short).unwrap());
            gate.write(&lasting).unwrap();
            drop(lock);
            assert!(!closing.join().unwrap());
        });
        assert_eq!(gate.all_closed(now).unwrap(), [lasting]);
    }

    #[test]
    fn a_file_that_cannot_be_read_keeps_its_provider_closed() {
        let folder = tempfile::tempdir().unwrap();
        let workspace = Workspace::new(folder.path());
        fs::create_dir_all(workspace.providers()).unwrap();
        fs::write(workspace.providers().join("fal.closed.json"), "{").unwrap();
        let now = Timestamp::parse("2026-01-01T00:00:00Z").unwrap();
        let closed = Closures::new(&workspace).all_closed(now).unwrap();
        assert_eq!(closed.len(), 1);
        assert!(closed[0].reason.contains("cannot be read"));
    }
}
