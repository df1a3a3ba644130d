//! The folders of attempts, and what waits to be sent: decided by the commit, moved after it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::PoisonError;
use std::time::Duration;

use super::claim::Hold;
use super::ending::{self, Published, Success};
use super::record;
use super::spool::{Entry as Spooled, ReplayError, Replayed, Spool};
use super::worker::PgStore;
use crate::domain::budget::Stake;
use crate::domain::id::JobId;
use crate::domain::lease::Lease;
use crate::domain::naming::{self, StateFile};
use crate::store::Finish;
use crate::store::error::{IoContext, StoreError};
use crate::store::shelf;
use crate::workspace::artifact;
use crate::workspace::durable;

impl PgStore {
    /// Sends what waits in the spool; tells whether all of it is sent.
    pub(super) fn send_spooled(&self) -> Result<bool, StoreError> {
        self.send(&mut self.spool())
    }

    /// Sends what dead workers of this machine left in their spools. Returns how much.
    pub(super) fn send_left(&self) -> Result<usize, StoreError> {
        let mut sent = 0;
        for entry in fs::read_dir(&self.spools).into_iter().flatten().flatten() {
            let folder = entry.path();
            // Whose worker lives sends it itself.
            let Ok(mut left) = Spool::open(&folder) else {
                continue;
            };
            let waiting = left.waiting().len();
            if left.damaged() > 0 {
                self.link.warn(format!(
                    "{} lines of the spool in {} could not be read and lie beside it",
                    left.damaged(),
                    folder.display()
                ));
            }
            if self.send(&mut left)? && left.damaged() == 0 {
                // Only what is empty goes.
                drop(fs::remove_file(folder.join("spool.jsonl")));
                drop(fs::remove_file(folder.join("spool.lock")));
                drop(fs::remove_dir(&folder));
            }
            sent += waiting - left.waiting().len().min(waiting);
        }
        Ok(sent)
    }

    fn send(&self, spool: &mut Spool) -> Result<bool, StoreError> {
        if spool.waiting().is_empty() {
            return Ok(true);
        }
        let mut late = Vec::new();
        let sent = self.link.ask(Duration::ZERO, |connection| {
            let mut told = |entry: &Spooled, replayed: Replayed| {
                if let Spooled::Succeeded { success } = entry {
                    late.push((success.clone(), replayed));
                }
            };
            match spool.replay(connection, &mut told) {
                Ok(sent) => Ok(Ok(sent)),
                Err(ReplayError::Server(error)) => Err(error),
                Err(error) => Ok(Err(error)),
            }
        });
        let all = match sent {
            Ok(Ok(_)) => spool.waiting().is_empty(),
            Ok(Err(error)) => {
                return Err(io::Error::other(error.to_string()))
                    .context("write the spool of", &self.paths.outputs());
            }
            Err(error) if error.is_retryable() => false,
            Err(error) => return Err(error.into()),
        };
        for (success, replayed) in late {
            self.shelve(&success, replayed != Replayed::Fenced)?;
        }
        Ok(all)
    }

    /// Puts the folder of a result whose ending was decided where it belongs.
    pub(super) fn shelve(&self, success: &Success, published: bool) -> Result<(), StoreError> {
        let Some(name) = success.result_ref.as_deref() else {
            return Ok(());
        };
        let folder = self.paths.staging().join(name);
        let Some((job, attempt, nonce)) = record::split_staging(name) else {
            return Ok(());
        };
        if published {
            let kept = naming::kept_dir(&job, attempt.saturating_sub(1), &nonce);
            return shelf::place(&self.paths, &folder, &job, &kept, success.simulated);
        }
        let kept = shelf::keep_late(&self.paths, &folder, &job, attempt, &nonce)?;
        let kept = kept.and_then(|path| self.workspace.relative(&path));
        self.link
            .ask(self.patience(), |c| {
                ending::fenced(c, &[(success.hold, kept.clone())])
            })
            .map_err(StoreError::from)
    }

    pub(super) fn finish_made(
        &self,
        lease: &Lease,
        hold: Hold,
        success: Success,
    ) -> Result<Finish, StoreError> {
        if !success.simulated {
            artifact::sync_files(&lease.staging).context("sync", &lease.staging)?;
        }
        match self
            .endings
            .succeed(&self.link, self.patience(), success.clone())
        {
            Ok(published) => {
                let late = published == Published::Fenced;
                self.shelve(&success, !late)?;
                self.over(lease, hold);
                Ok(match published {
                    Published::Yes | Published::Already => Finish::Published,
                    Published::Adopted => Finish::Adopted,
                    Published::Fenced => Finish::Fenced {
                        kept_at: self.kept_at(lease),
                    },
                })
            }
            Err(error) if error.is_retryable() => {
                self.spool_up(Spooled::Succeeded { success })?;
                self.over(lease, hold);
                Ok(Finish::Published)
            }
            Err(error) => Err(error.into()),
        }
    }

    pub(super) fn kept_at(&self, lease: &Lease) -> Option<String> {
        let name = naming::kept_dir(&lease.job_id, lease.attempt, &lease.nonce);
        self.workspace.relative(&self.paths.late().join(name))
    }

    pub(super) fn spool_up(&self, entry: Spooled) -> Result<(), StoreError> {
        let path = self.paths.outputs();
        self.spool().add(entry).context("write the spool of", &path)
    }

    /// Forgets an attempt that is over.
    pub(super) fn over(&self, lease: &Lease, hold: Hold) {
        let progress = self.progress.lock();
        progress
            .unwrap_or_else(PoisonError::into_inner)
            .remove(&hold);
        self.link.forget_job(&lease.job_id);
    }

    /// Ends the folder of an attempt that brought nothing; any whole model is kept.
    pub(super) fn clear(&self, lease: &Lease) {
        let folder = &lease.staging;
        if artifact::may_hold_model(folder) && !self.rehearsal {
            let (job, nonce) = (&lease.job_id, &lease.nonce);
            let _ = shelf::keep_late(&self.paths, folder, job, lease.attempt, nonce);
        } else {
            let _ = artifact::discard(folder);
        }
    }

    pub(super) fn write_error_text(&self, job: &JobId, text: &str) {
        let path = self.paths.state_file(job, StateFile::ErrorText);
        let state = self.paths.state();
        // For people who look; the row has the line that matters.
        let _ = fs::create_dir_all(&state).and_then(|()| {
            durable::replace_unsynced(&path, text.as_bytes(), self.identity.worker_id.as_str())
        });
    }

    /// Finishes moves that died, and keeps what the dead left in their folders.
    pub(super) fn tidy_staging(&self) -> Result<usize, StoreError> {
        let folders: Vec<(PathBuf, String)> = fs::read_dir(self.paths.staging())
            .into_iter()
            .flatten()
            .flatten()
            .filter_map(|entry| Some((entry.path(), entry.file_name().to_str()?.to_owned())))
            .collect();
        let mut finished = 0;
        for (path, name) in folders {
            finished += usize::from(self.tidy_folder(&path, &name)?);
        }
        Ok(finished)
    }

    pub(super) fn tidy_folder(&self, path: &Path, name: &str) -> Result<bool, StoreError> {
        let Some((job, attempt, nonce)) = record::split_staging(name) else {
            return Ok(false);
        };
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
        let known = self
            .link
            .ask(self.patience(), |c| ending::became(c, &[hold]))?;
        match known.get(&hold) {
            Some(ending::Became::Succeeded) => {
                let kept = naming::kept_dir(&job, attempt.saturating_sub(1), &nonce);
                shelf::place(&self.paths, path, &job, &kept, false)?;
                return Ok(true);
            }
            // Its holder may come back and tell.
            Some(ending::Became::Running | ending::Became::Lost) | None => {}
            Some(ending::Became::Over) if artifact::may_hold_model(path) => {
                shelf::keep_late(&self.paths, path, &job, attempt, &nonce)?;
            }
            Some(ending::Became::Over) => drop(artifact::discard(path)),
        }
        Ok(false)
    }
}
