//! How many jobs of a provider run at once and how many start in a minute, kept
//! by all workers of the workspace together.
//!
//! A slot is a locked file, so it is free again when its holder dies. The rate is
//! one moment in a small file, before which nothing starts. Nobody waits in here:
//! the caller is told when to ask again.

use std::fs::{self, OpenOptions};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::domain::id::AlgoKey;
use crate::domain::limits::{Limits, Pace};
use crate::domain::time::Timestamp;
use crate::platform::{self, fault};
use crate::store::providers::{Admission, Permit, Wait};
use crate::workspace::durable;
use crate::workspace::lock::FileLock;
use crate::workspace::paths::Workspace;

/// So many slots are looked at when none was free the last time.
const FEW_SLOTS: usize = 8;

/// The limits of one provider, as all workers of a workspace keep them.
#[derive(Debug)]
pub(super) struct ProviderLimits {
    folder: PathBuf,
    provider: AlgoKey,
    slots: Option<usize>,
    pace: Option<Pace>,
    /// The slot from which the next few are looked at.
    next: AtomicUsize,
}

impl ProviderLimits {
    /// Names the limits of a provider; nothing is created.
    pub(super) fn new(workspace: &Workspace, provider: AlgoKey, limits: Limits) -> Self {
        Self {
            folder: workspace.providers(),
            provider,
            slots: limits.max_parallel,
            pace: limits.rate_per_min.map(Pace::per_minute),
            next: AtomicUsize::new(0),
        }
    }

    /// Takes a slot and a place in the minute, or tells what it waits for. Who asks
    /// again and again looks at a few slots at a time.
    pub(super) fn admit(&self, now: Timestamp, again: bool) -> io::Result<Admission> {
        fs::create_dir_all(&self.folder).map_err(|error| named(&self.folder, &error))?;
        if let Some(pace) = self.pace
            && let Some(wait) = pace.wait(self.read_next()?, micros(now))
        {
            return Ok(Admission::Wait(Wait::Rate(wait)));
        }
        let slot = self.free_slot(again)?;
        if let Some(slots) = self.slots.filter(|_| slot.is_none()) {
            return Ok(Admission::Wait(Wait::Slots(slots)));
        }
        match self.take_place(now)? {
            Some(wait) => Ok(Admission::Wait(wait)),
            None => Ok(Admission::Go(slot.map(Permit::of).unwrap_or_default())),
        }
    }

    /// Gives back the place of a job that did not start after all.
    pub(super) fn refund(&self) -> io::Result<()> {
        let Some(pace) = self.pace else {
            return Ok(());
        };
        let path = self.path("rate.lock");
        let patience = Duration::from_secs(1);
        // A place that cannot be given back makes the rate lower, never higher.
        if let Some(_lock) = FileLock::acquire_within(&path, patience)?
            && let Some(next) = self.read_next()?
        {
            self.write_next(pace.refunded(next))?;
        }
        Ok(())
    }

    fn free_slot(&self, again: bool) -> io::Result<Option<FileLock>> {
        let slots = self.slots.unwrap_or(0);
        let looks = if again { slots.min(FEW_SLOTS) } else { slots };
        let from = if again {
            self.next.fetch_add(looks, Ordering::Relaxed)
        } else {
            0
        };
        for number in (from..from + looks).map(|number| number % slots + 1) {
            let path = self.path(&format!("slot-{number}.lock"));
            if let Some(slot) = try_lock(&path)? {
                return Ok(Some(slot));
            }
        }
        Ok(None)
    }

    /// Takes a place in the minute; returns what to wait for if there is none.
    fn take_place(&self, now: Timestamp) -> io::Result<Option<Wait>> {
        let Some(pace) = self.pace else {
            return Ok(None);
        };
        let Some(_lock) = try_lock(&self.path("rate.lock"))? else {
            return Ok(Some(Wait::Busy));
        };
        match pace.take(self.read_next()?, micros(now)) {
            Ok(next) => self.write_next(next).map(|()| None),
            Err(refusal) => {
                if let Some(next) = refusal.repaired {
                    self.write_next(next)?;
                }
                Ok(Some(Wait::Rate(refusal.wait)))
            }
        }
    }

    /// Reads the moment before which nothing starts; a file that holds anything
    /// else is one of the distant future, which nobody believes.
    fn read_next(&self) -> io::Result<Option<i64>> {
        let path = self.path("rate");
        let file = match durable::open_plain(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(named(&path, &error)),
        };
        let mut bytes = Vec::new();
        file.take(64).read_to_end(&mut bytes)?;
        let text = String::from_utf8_lossy(&bytes);
        Ok(Some(text.trim().parse().unwrap_or(i64::MAX)))
    }

    fn write_next(&self, next: i64) -> io::Result<()> {
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false);
        let path = self.path("rate");
        let opened = platform::without_waiting(&mut options).open(&path);
        let file = durable::plain(opened, &path).map_err(|error| named(&path, &error))?;
        let text = format!("{next:020}\n");
        platform::write_at(&file, text.as_bytes(), 0)?;
        fault::io("limits.written")?;
        file.set_len(text.len() as u64)
    }

    fn path(&self, ending: &str) -> PathBuf {
        self.folder.join(format!("{}.{ending}", self.provider))
    }
}

fn try_lock(path: &Path) -> io::Result<Option<FileLock>> {
    FileLock::try_acquire(path).map_err(|error| named(path, &error))
}

fn named(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

fn micros(at: Timestamp) -> i64 {
    at.as_datetime().timestamp_micros()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(folder: &tempfile::TempDir, limits: Limits) -> ProviderLimits {
        let key = AlgoKey::parse("fal").unwrap();
        ProviderLimits::new(&Workspace::new(folder.path()), key, limits)
    }

    fn at(millis: u64) -> Timestamp {
        let start = Timestamp::parse("2026-01-01T00:00:00Z").unwrap();
        start.plus(Duration::from_millis(millis))
    }

    fn goes(admission: &Admission) -> bool {
        matches!(admission, Admission::Go(_))
    }

    #[test]
    fn slots_are_shared_and_free_again_when_their_holder_lets_go() {
        let folder = tempfile::tempdir().unwrap();
        let two = Limits {
            max_parallel: Some(2),
            rate_per_min: None,
        };
        let (one, other) = (limits(&folder, two), limits(&folder, two));
        let first = one.admit(at(0), false).unwrap();
        let second = other.admit(at(0), false).unwrap();
        assert!(goes(&first) && goes(&second));
        assert!(!goes(&one.admit(at(0), false).unwrap()));
        drop(first);
        assert!(goes(&other.admit(at(0), false).unwrap()));
    }

    #[test]
    fn a_rate_is_shared_and_a_place_given_back_can_be_taken_again() {
        let folder = tempfile::tempdir().unwrap();
        let six = Limits {
            max_parallel: None,
            rate_per_min: Some(6.0),
        };
        let (one, other) = (limits(&folder, six), limits(&folder, six));
        assert!(goes(&one.admit(at(0), false).unwrap()));
        assert!(!goes(&other.admit(at(1_000), false).unwrap()));
        one.refund().unwrap();
        assert!(goes(&other.admit(at(1_000), false).unwrap()));
        assert!(goes(&other.admit(at(11_200), false).unwrap()));
    }

    #[test]
    fn garbage_where_the_rate_is_kept_costs_one_interval_and_no_more() {
        for garbage in ["", "x", "99999999999999999999", "\u{0}\u{0}\u{0}"] {
            let folder = tempfile::tempdir().unwrap();
            let sixty = Limits {
                max_parallel: None,
                rate_per_min: Some(60.0),
            };
            let limits = limits(&folder, sixty);
            fs::create_dir_all(&limits.folder).unwrap();
            fs::write(limits.path("rate"), garbage).unwrap();
            assert!(!goes(&limits.admit(at(0), false).unwrap()), "{garbage:?}");
            assert!(
                goes(&limits.admit(at(1_100), false).unwrap()),
                "{garbage:?}"
            );
        }
    }
}
