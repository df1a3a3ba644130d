//! What was made and is on its way to where it belongs: to a bucket, or to a server that is away while the spool is full.
//!
//! Before the first byte leaves, the ending is written beside the folder of the attempt. So whatever dies, the next start in
//! this folder knows all that is to be told, puts the bytes, and tells it. What came too late is put as well.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::claim::Hold;
use super::ending::{self, Became, File, Published, Success};
use super::error::PgResult;
use super::keep;
use super::left::{Dead, Sent};
use super::record;
use super::spool::SpoolEntry as Spooled;
use super::view;
use super::worker::PgStore;
use crate::domain::budget::AttemptKey;
use crate::domain::id::{JobId, Nonce};
use crate::domain::lease::Lease;
use crate::domain::naming;
use crate::platform::fault;
use crate::store::WorkerStore as _;
use crate::store::artifacts::{INPUTS, Patience};
use crate::store::error::{IoContext, StoreError};
use crate::workspace::paths::RunPaths;
use crate::workspace::{artifact, durable};

/// An ending is small; a larger file is none.
const LONGEST: u64 = 16 << 20;

const ENDING: &str = ".ending";

/// An ending that could not be told yet.
#[derive(Serialize, Deserialize)]
struct Waiting {
    worker: String,
    success: Success,
}

/// Why what a spool tells of cannot be told yet.
pub(super) enum NotPut {
    /// The server or the bucket is away.
    Waits,
    /// The bytes are neither here nor in the bucket: what is missing.
    Gone(String),
}

/// Returns the endings that wait in the folder of a run, with the names of their attempts' folders.
fn staged_endings(paths: &RunPaths) -> Vec<(String, PathBuf)> {
    let entries = fs::read_dir(paths.staging());
    let entries = entries.into_iter().flatten().flatten();
    entries
        .filter_map(|entry| {
            let name = entry.file_name().to_str()?.strip_suffix(ENDING)?.to_owned();
            Some((name, entry.path()))
        })
        .collect()
}

/// Tells whether a result waits in the folder of a run on this machine.
pub(super) fn waits_in(paths: &RunPaths) -> bool {
    !staged_endings(paths).is_empty()
}

impl PgStore {
    fn ending_path(&self, name: &str) -> PathBuf {
        self.paths.staging().join(format!("{name}{ENDING}"))
    }

    pub(super) fn has_ending(&self, name: &str) -> bool {
        self.ending_path(name).exists()
    }

    /// Writes an ending beside the folder of its attempt, durably.
    pub(super) fn note_ending(&self, lease: &Lease, success: &Success) -> Result<(), StoreError> {
        let Some(name) = &success.result_ref else {
            return Ok(());
        };
        let waiting = Waiting {
            worker: self.link.worker.clone(),
            success: success.clone(),
        };
        let path = self.ending_path(name);
        let text = serde_json::to_vec(&waiting).unwrap_or_default();
        durable::replace(&path, &text, lease.nonce.as_str()).context("write", &path)
    }

    /// Returns what an ending beside the folder of an attempt says that was made.
    pub(super) fn ending_of(&self, name: &str) -> Option<Success> {
        let bytes = durable::read_plain(&self.ending_path(name), LONGEST).ok()?;
        let waiting: Waiting = serde_json::from_slice(&bytes).ok()?;
        Some(waiting.success)
    }

    pub(super) fn forget_ending(&self, name: &str) {
        // One that stays is told again, which changes nothing.
        let _ = fs::remove_file(self.ending_path(name));
    }

    /// Makes a result outlive this machine, before it is told. What cannot be put stays here, and its job is left to
    /// the next start in this folder, or to whoever can fetch what was bought.
    pub(super) fn publish(&self, lease: &Lease, success: &Success) -> Result<(), StoreError> {
        let files = record::artifacts(&success.files);
        let folder = &lease.staging;
        if !self.artifacts.is_remote() {
            if success.simulated {
                return Ok(());
            }
            return self.artifacts.publish(folder, &files, Patience::None);
        }
        artifact::sync_files(folder).context("sync", folder)?;
        self.note_ending(lease, success)?;
        fault::here("objects.ending_written");
        let published = self.while_beating(lease, || {
            self.artifacts
                .publish(folder, &files, Patience::UntilStopped)
        });
        published.map_err(|error| self.left_behind(lease, success, &error))
    }

    /// Looks, now that a record names them, whether the files of a paid result are still there, and puts what is not: somebody
    /// who removes what nothing refers to may have looked before the commit. The folder here is the last copy else.
    pub(super) fn put_once_more(&self, folder: &Path, success: &Success) -> Result<(), StoreError> {
        let free = success.simulated || success.cost_micros == Some(0);
        if !self.artifacts.is_remote() || free || !folder.is_dir() {
            return Ok(());
        }
        let files = record::artifacts(&success.files);
        self.artifacts.publish(folder, &files, Patience::None)
    }

    /// Does something that may take longer than a lease, and shows meanwhile that the holder lives.
    pub(super) fn while_beating<T>(&self, lease: &Lease, act: impl FnOnce() -> T) -> T {
        let (over, heard) = channel::<()>();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                while heard.recv_timeout(self.link.lease / 6) == Err(RecvTimeoutError::Timeout) {
                    // A lease that was lost meanwhile is found out by the ending.
                    let _ = self.beat(lease, lease.claimed_at);
                }
            });
            let done = act();
            drop(over);
            done
        })
    }

    /// Removes the pictures that were fetched for attempts that are over: their workers did not live to do it.
    pub(super) fn tidy_inputs(&self, dead: &HashSet<String>) -> Result<(), StoreError> {
        if !self.artifacts.is_remote() {
            return Ok(());
        }
        let mut over = Vec::new();
        let mut holds = Vec::new();
        let folder = self.paths.outputs().join(INPUTS);
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let Some((job_id, attempt, nonce)) = record::split_staging(&name) else {
                continue;
            };
            let attempt_key = AttemptKey {
                run_id: self.link.run_id.clone(),
                job_id,
                attempt,
                nonce,
                worker_id: self.identity.worker_id.clone(),
            };
            match self.link.hold_of(&attempt_key, self.patience())? {
                Some(hold) => holds.push((hold, entry.path())),
                None => over.push(entry.path()),
            }
        }
        let asked: Vec<Hold> = holds.iter().map(|(hold, _)| *hold).collect();
        let jobs: Vec<i64> = asked.iter().map(|hold| hold.job_no).collect();
        let (known, attempts) = self.link.ask(self.patience(), |c| {
            Ok((ending::became(c, &asked)?, view::attempts(c, &jobs)?))
        })?;
        let is_over = |hold: &Hold| match known.get(hold) {
            Some(Became::Running) => false,
            // Its holder may be at it still.
            Some(Became::Lost) => self.is_of_dead(*hold, &attempts, dead),
            _ => true,
        };
        let ended = holds.into_iter().filter(|(hold, _)| is_over(hold));
        for path in over.into_iter().chain(ended.map(|(_, path)| path)) {
            let _ = artifact::discard(&path);
        }
        Ok(())
    }

    /// Says of a job that its result is made and lies here.
    fn left_behind(&self, lease: &Lease, success: &Success, error: &StoreError) -> StoreError {
        let (what, told) = self.tell_left_behind(&lease.staging, success, error);
        if told.is_ok() {
            self.over(lease, success.hold);
        }
        StoreError::Server {
            what,
            hint: "start a worker in the same folder once the bucket answers: it puts them first"
                .to_owned(),
            setup: false,
        }
    }

    fn tell_left_behind(
        &self,
        folder: &Path,
        success: &Success,
        error: &StoreError,
    ) -> (String, PgResult<bool>) {
        let host = &self.identity.facts.host;
        let line = format!(
            "made, and its files could not be put: {error}; they wait in {} on {host}",
            folder.display()
        );
        let free = success.simulated || success.cost_micros == Some(0);
        let told = self.link.ask(Duration::ZERO, |c| {
            ending::left_behind(c, &success.hold, &line, free)
        });
        (line, told)
    }

    /// Puts the files of results from a spool once more, before the commit that names them: since they were put, so long may have
    /// passed that `prune` took them. Returns how many of the entries can be told, from the first on.
    pub(super) fn put_again(
        &self,
        entries: &[Arc<Spooled>],
        patience: Option<Duration>,
    ) -> Result<usize, NotPut> {
        let success = |entry: &Arc<Spooled>| match &**entry {
            Spooled::Succeeded { success } => Some(success.clone()),
            _ => None,
        };
        // What cost nothing and is kept on purpose was put moments ago.
        let is_fresh =
            |success: &Success| patience.is_none() && success.cost_micros.is_none_or(|c| c == 0);
        let results: Vec<Success> = entries.iter().filter_map(success).collect();
        if !self.artifacts.is_remote() || results.iter().all(is_fresh) {
            return Ok(entries.len());
        }
        // While the server is away the bucket need not be asked time and again.
        let answers = self.link.ask(patience.unwrap_or_default(), keep::now);
        answers.map_err(|_| NotPut::Waits)?;
        for (at, success) in results.iter().enumerate() {
            let name = success.result_ref.as_deref().unwrap_or_default();
            let folder = self.paths.staging().join(name);
            let files = record::artifacts(&success.files);
            let Err(error) = self.artifacts.publish(&folder, &files, Patience::None) else {
                continue;
            };
            if at > 0 {
                return Ok(at);
            }
            if !folder.exists() && matches!(self.artifacts.holds(&files), Ok(false)) {
                return Err(NotPut::Gone(error.to_string()));
            }
            let shown = folder.display();
            self.link
                .warn(format!("a result waits in {shown}: {error}"));
            return Err(NotPut::Waits);
        }
        Ok(entries.len())
    }

    /// Puts and tells what workers that are gone had made in this folder.
    pub(super) fn send_endings(&self, dead: &Dead, sent: &mut Sent) -> Result<(), StoreError> {
        for (name, path) in staged_endings(&self.paths) {
            let read = durable::read_plain(&path, LONGEST);
            let Some(waiting) = read
                .ok()
                .and_then(|bytes| serde_json::from_slice::<Waiting>(&bytes).ok())
            else {
                self.link
                    .warn(format!("{} cannot be read and is left", path.display()));
                continue;
            };
            if self.is_at_work(&waiting.worker, dead) {
                continue;
            }
            let success = waiting.success;
            let folder = self.paths.staging().join(&name);
            if !self.artifacts.is_remote() && !folder.is_dir() {
                // Whoever put it in its place did not live to forget this.
                self.forget_ending(&name);
                continue;
            }
            let files = record::artifacts(&success.files);
            if let Err(error) = self.artifacts.publish(&folder, &files, Patience::None) {
                // As its worker would have, had it been stopped: nobody makes it again unasked.
                let (_, told) = self.tell_left_behind(&folder, &success, &error);
                told?;
                self.link
                    .warn(format!("a result waits in {}: {error}", folder.display()));
                continue;
            }
            let answers = self.link.ask(self.patience(), |c| {
                ending::succeed(c, std::slice::from_ref(&success))
            })?;
            let published = answers.first().is_some_and(|one| *one != Published::Fenced);
            self.shelve(&success, published)?;
            sent.count += 1;
            if published {
                let job = record::split_staging(&name).map(|(job, ..)| job);
                sent.published.extend(job);
            }
        }
        Ok(())
    }

    /// Tells whether another worker of this folder lives: it holds the lock of its spool, which nobody else could open. What
    /// has our own name is of an earlier start: we have begun nothing yet.
    fn is_at_work(&self, worker: &str, dead: &Dead) -> bool {
        let folder = self.spools.join(naming::spool_dir(worker));
        worker != self.link.worker && folder.is_dir() && !dead.has(&folder)
    }

    /// Moves what an attempt made out of the way, never away; returns where it is, relative to the workspace.
    pub(super) fn aside(
        &self,
        folder: &Path,
        job: &JobId,
        attempt: u32,
        nonce: &Nonce,
    ) -> Result<Option<String>, StoreError> {
        let kept = self.artifacts.set_aside(folder, job, attempt, nonce)?;
        if let Some(path) = &kept {
            self.send_one_late(path);
        }
        Ok(kept.and_then(|path| self.workspace.relative(&path)))
    }

    /// Puts what was kept aside in this folder.
    pub(super) fn send_late(&self) {
        let entries = fs::read_dir(self.paths.late());
        for entry in entries.into_iter().flatten().flatten() {
            self.send_one_late(&entry.path());
        }
    }

    fn send_one_late(&self, path: &Path) {
        if !self.artifacts.is_remote() {
            return;
        }
        if let Err(error) = self.try_one_late(path) {
            self.link.warn(format!(
                "a late result stays in {}: {error}",
                path.display()
            ));
        }
    }

    fn try_one_late(&self, path: &Path) -> Result<(), StoreError> {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let Some(hold) = self.hold_of_late(&name)? else {
            return Ok(());
        };
        let files = artifact::inventory(path).map_err(|error| StoreError::Content {
            what: error.to_string(),
            path: path.to_owned(),
            hint: "look at it by hand".to_owned(),
        })?;
        self.artifacts.publish(path, &files, Patience::None)?;
        let kept_at = self.workspace.relative(path);
        let files: Vec<File> = files.iter().map(record::file).collect();
        self.link.ask(self.patience(), |c| {
            ending::keep(c, &hold, kept_at.as_deref(), &files)
        })?;
        let _ = artifact::discard(path);
        Ok(())
    }

    /// Finds the attempt whose files were kept under a name.
    pub(super) fn hold_of_late(&self, name: &str) -> Result<Option<Hold>, StoreError> {
        let parts = name.rsplit_once('-').and_then(|(rest, short)| {
            let (job, number) = rest.rsplit_once('.')?;
            Some((JobId::parse(job).ok()?, number.parse::<u32>().ok()?, short))
        });
        let Some((job, number, short)) = parts else {
            return Ok(None);
        };
        let Some(job_no) = self.link.job_no(self.patience(), &job)? else {
            return Ok(None);
        };
        let attempts = self
            .link
            .ask(self.patience(), |c| view::attempts(c, &[job_no]))?;
        let short: String = short.chars().take(8).collect();
        let is_it = |hold: &Hold| {
            hold.number == number && hold.attempt_id.simple().to_string().starts_with(&short)
        };
        Ok(attempts.into_iter().map(|one| one.hold).find(is_it))
    }
}
