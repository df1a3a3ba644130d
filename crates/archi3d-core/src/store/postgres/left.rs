//! What waits to be sent, and what dead workers of this machine left: endings in their spools, folders of their attempts.
//!
//! A worker holds the lock of its spool for life. Whose spool on this machine is free is dead; of workers elsewhere only
//! their leases tell, and their folders are left alone.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::ending::{self, Became};
use super::error::PgResult;
use super::money;
use super::record;
use super::spool::{Entry as Spooled, ReplayError, Replayed, Spool};
use super::view;
use super::worker::PgStore;
use crate::domain::budget::Stake;
use crate::domain::id::JobId;
use crate::domain::naming;
use crate::store::error::{IoContext, StoreError};
use crate::store::shelf;
use crate::workspace::artifact;

/// What became of the entries of a spool.
#[derive(Debug, Default)]
pub(super) struct Sent {
    /// Whether some still wait.
    pub(super) waits: bool,
    /// How many were sent.
    pub(super) count: usize,
    /// The jobs that got a result.
    pub(super) published: Vec<JobId>,
    /// The jobs that ended without one, as the database numbers them.
    pub(super) failed: HashSet<i64>,
}

/// The spools of dead workers of this machine; ours as long as we have them open.
#[derive(Debug, Default)]
pub(super) struct Dead(Vec<(PathBuf, Spool)>);

impl Dead {
    fn names(&self) -> HashSet<&str> {
        // Whose endings are all sent: nothing of theirs will be asked for any more.
        let told = self.0.iter().filter(|(_, spool)| is_told(spool));
        let names = told.filter_map(|(path, _)| path.file_name());
        names.filter_map(|name| name.to_str()).collect()
    }

    /// Removes those that are empty and whole.
    fn remove(self) {
        for (folder, spool) in self.0 {
            if is_told(&spool) {
                // Only what is empty goes.
                drop(fs::remove_file(folder.join("spool.jsonl")));
                drop(fs::remove_file(folder.join("spool.lock")));
                drop(fs::remove_dir(&folder));
            }
        }
    }
}

fn is_told(spool: &Spool) -> bool {
    spool.waiting().is_empty() && spool.damaged() == 0
}

impl PgStore {
    /// Sends what waits in our own spool; tells whether all of it is sent.
    pub(super) fn send_spooled(&self, patience: Duration) -> Result<bool, StoreError> {
        let mut sent = Sent::default();
        self.send(&mut self.spool(), patience, &mut sent)?;
        Ok(!sent.waits)
    }

    /// Sends what dead workers of this machine left in their spools.
    pub(super) fn send_left(&self) -> Result<Sent, StoreError> {
        let waits = |folder: &Path| {
            let file = fs::metadata(folder.join("spool.jsonl"));
            file.is_ok_and(|file| file.len() > 0)
        };
        let mut dead = self.dead(waits);
        self.send_all(&mut dead)
    }

    /// Sends what the dead of this machine left, and tidies the folders of attempts. The second number says how many
    /// results were put in their place.
    pub(super) fn take_over_left(&self) -> Result<(Sent, usize), StoreError> {
        let mut dead = self.dead(|_| true);
        for (folder, spool) in &dead.0 {
            if spool.damaged() > 0 {
                self.link.warn(format!(
                    "{} lines of the spool in {} could not be read and lie beside it",
                    spool.damaged(),
                    folder.display()
                ));
            }
        }
        let sent = self.send_all(&mut dead)?;
        self.sweep(None)?;
        let finished = self.tidy_staging(&dead)?;
        dead.remove();
        Ok((sent, finished))
    }

    /// Settles what workers of the run ended and did not live to settle; tells how many that were.
    pub(super) fn settle_left(&self) -> PgResult<usize> {
        if self.rehearsal {
            return Ok(0);
        }
        let run_no = self.link.run_no;
        self.link
            .ask(self.patience(), |c| money::settle_ended(c, Some(run_no)))
    }

    fn dead(&self, is_of_interest: impl Fn(&Path) -> bool) -> Dead {
        let entries = fs::read_dir(&self.spools).into_iter().flatten().flatten();
        let folders = entries.map(|entry| entry.path());
        let open = |folder: PathBuf| {
            // Whose worker lives sends it itself.
            let spool = Spool::open(&folder).ok()?;
            Some((folder, spool))
        };
        Dead(
            folders
                .filter(|folder| is_of_interest(folder))
                .filter_map(open)
                .collect(),
        )
    }

    fn send_all(&self, dead: &mut Dead) -> Result<Sent, StoreError> {
        let mut sent = Sent::default();
        for (_, spool) in &mut dead.0 {
            self.send(spool, Duration::ZERO, &mut sent)?;
        }
        Ok(sent)
    }

    fn send(
        &self,
        spool: &mut Spool,
        patience: Duration,
        sent: &mut Sent,
    ) -> Result<(), StoreError> {
        if spool.waiting().is_empty() {
            return Ok(());
        }
        let before = spool.waiting().len();
        let mut results = Vec::new();
        let told = self.link.ask(patience, |connection| {
            let mut told = |entry: &Spooled, replayed: Replayed| match entry {
                Spooled::Succeeded { success } => results.push((success.clone(), replayed)),
                Spooled::Failed { failure } if replayed == Replayed::Sent => {
                    sent.failed.insert(failure.hold.job_no);
                }
                _ => {}
            };
            match spool.replay(connection, &mut told) {
                Ok(_) => Ok(Ok(())),
                Err(ReplayError::Server(error)) => Err(error),
                Err(error) => Ok(Err(error)),
            }
        });
        sent.count += before - spool.waiting().len();
        sent.waits |= !spool.waiting().is_empty();
        for (success, replayed) in results {
            self.shelve(&success, replayed != Replayed::Fenced)?;
            if replayed == Replayed::Sent {
                let name = success.result_ref.as_deref().unwrap_or_default();
                let job = record::split_staging(name).map(|(job, ..)| job);
                sent.published.extend(job);
            }
        }
        match told {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(io::Error::other(error.to_string()))
                .context("write the spool of", &self.paths.outputs()),
            Err(error) if error.is_retryable() => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Finishes moves that died, and ends what the dead left in their folders.
    fn tidy_staging(&self, dead: &Dead) -> Result<usize, StoreError> {
        let folders: Vec<(PathBuf, String)> = fs::read_dir(self.paths.staging())
            .into_iter()
            .flatten()
            .flatten()
            .filter_map(|entry| Some((entry.path(), entry.file_name().to_str()?.to_owned())))
            .collect();
        let names = dead.names();
        let mut finished = 0;
        for (path, name) in folders {
            finished += usize::from(self.tidy_folder(&path, &name, &names)?);
        }
        Ok(finished)
    }

    fn tidy_folder(
        &self,
        path: &Path,
        name: &str,
        dead: &HashSet<&str>,
    ) -> Result<bool, StoreError> {
        let Some((job, attempt, nonce)) = record::split_staging(name) else {
            return Ok(false);
        };
        if attempt == 0 {
            // A rehearsal that was on its way out.
            self.drop_folder(path, &job, attempt, &nonce)?;
            return Ok(false);
        }
        let stake = Stake {
            run_id: self.link.run_id.clone(),
            job_id: job.clone(),
            attempt,
            nonce: nonce.clone(),
            worker_id: self.identity.worker_id.clone(),
        };
        let Some(hold) = self.link.hold_of(&stake, self.patience())? else {
            return Ok(false);
        };
        let (known, attempts) = self.link.ask(self.patience(), |c| {
            let known = ending::became(c, &[hold])?;
            Ok((known, view::attempts(c, &[hold.job_no])?))
        })?;
        match known.get(&hold) {
            Some(Became::Succeeded) => {
                let is_newer = |other: &view::AttemptView| {
                    other.hold.number > attempt && other.status == "succeeded"
                };
                if attempts.iter().any(is_newer) {
                    // Its move died, and the job was made again since.
                    shelf::keep_late(&self.paths, path, &job, attempt, &nonce)?;
                    return Ok(false);
                }
                let kept = naming::kept_dir(&job, attempt.saturating_sub(1), &nonce);
                shelf::place(&self.paths, path, &job, &kept, false)?;
                Ok(true)
            }
            Some(Became::Lost) => {
                let host = Some(self.identity.facts.host.as_str());
                let is_dead = |other: &view::AttemptView| {
                    other.hold == hold
                        && other.host.as_deref() == host
                        && dead.contains(other.worker.as_str())
                };
                if !attempts.iter().any(is_dead) {
                    // Its holder may come back and tell.
                    return Ok(false);
                }
                if artifact::may_hold_model(path) {
                    self.keep_late(path, &job, &nonce, hold)?;
                } else {
                    let _ = artifact::discard(path);
                }
                Ok(false)
            }
            Some(Became::Running) | None => Ok(false),
            Some(Became::Over) => {
                self.drop_folder(path, &job, attempt, &nonce)?;
                Ok(false)
            }
        }
    }
}
